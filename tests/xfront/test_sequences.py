"""Shapes, axes, strides and the like are any sequence of integers, for every public function.

Each parameter that is documented as a sequence of integers is given a tuple, and then what `tuple`
and `operator.index` take: NumPy arrays, ranges, and sequences of users, which have no hash. All of
them record the same program.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from tests.samples import calls, numpy_rows
from tests.samples.operands import OPERANDS
from xfront.tracing.trace import trace_function, type_of

SEQUENCES = re.compile(
    r"Sequence\[int\]|ShapeLike|AxisLike|Axes|Sizes|tuple\[int|Sequence\[tuple\[int")

CANDIDATES = (
    (0,), (0, 1), (1, 0), (1,), (3,), (3, 3), (1, 1), (9,), (2, 2), (3, 1, 3), (2, 3, 3),
    ((0, 0),), ((0, 0), (1, 1)), ((0, 0), (0, 0)), ((0, 1),),
)

ARRAYS = {
    ("einsum_path", "optimize"): "the last test has it",
    ("delete", "obj"): "it is an array, or a slice",
    ("insert", "obj"): "it is an array, or a slice",
    ("roll", "shift"): "it is an array, which may be traced",
    ("padtype_to_pads", "padding"): "it is one of three names",
    ("rng_uniform", "shape"): "each draw is another one",
}
"""Parameters that are left out, and why."""

AT_ONCE = ("numpy", "numpy.fft", "numpy.linalg", "lax", "lax.linalg")
"""Packages whose functions run un-jitted too; random numbers would have to be compiled."""


class Repeated:
    """Integers as the messages of a protocol hold them: a length and elements, and no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *held: Any) -> None:
        self._held = held

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, i: Any) -> Any:
        return self._held[i]

    def __eq__(self, other: object) -> bool:
        raise TypeError("compared")


class Index:
    """What is an integer by `__index__` alone."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def kinds(value: Any) -> Iterator[tuple[str, Any]]:
    """A tuple of integers, or of such tuples, as other sequences."""
    def held(x: Any, of_integers: Any) -> Any:
        return Repeated(*[held(y, of_integers) for y in x]) if isinstance(x, tuple | list) else (
            of_integers(x))

    yield "a sequence of its own", held(value, int)
    yield "indices in a sequence of its own", held(value, Index)
    yield "NumPy's integers in a sequence of its own", held(value, np.int64)
    yield "a list of NumPy's integers", [held(x, np.int32) for x in value]
    if all([isinstance(x, int) for x in value]) or len({len(x) for x in value}) == 1:
        yield "an array", np.array(value)
    if all([isinstance(x, int) for x in value]):
        step = value[1] - value[0] if len(value) > 1 else 1
        if step and tuple(range(value[0], value[0] + step * len(value), step)) == tuple(value):
            yield "a range", range(value[0], value[0] + step * len(value), step)


def program(text: str, given: Any) -> str:
    """The text of the program that a call records, where `given_` stands for the value."""
    names = [n for n in OPERANDS if re.search(rf"\b{n}\b", text)]
    run = eval(f"lambda {', '.join(names)}: {text}", {**calls.NAMES, "given_": given})
    found = [type_of(jnp.asarray(OPERANDS[n])) for n in names]
    others: list[Any] = []

    def traced(xs: list) -> list:
        made = jax.tree.leaves(run(*xs), is_leaf=lambda x: x is None)
        others.extend(x for x in made if not hasattr(x, "dtype"))
        return [x for x in made if hasattr(x, "dtype")]

    function = trace_function(traced, [t for t, _ in found], [w for _, w in found], name="call",
                              kind="jit", staging=True).function
    return f"{function}{others}"


def places(rows: dict[str, Any]) -> Iterator[tuple[str, str, str, list[Any]]]:
    """The parameters of functions that are sequences of integers: name of the function, of the
    parameter, a call with `given_` in its place, and values to try."""
    for name in rows:
        for text in calls.texts({name: rows[name]}):
            for node in ast.walk(tree := ast.parse(text, mode="eval")):
                if not isinstance(node, ast.Call) or not (
                        ast.unparse(node.func).split(".")[-1] == name):
                    continue
                head = ast.unparse(node.func).split(".")[0]
                if head not in calls.NAMES:      # a method of an operand
                    continue
                function = eval(ast.unparse(node.func), dict(calls.NAMES))
                for p in inspect.signature(function).parameters.values():
                    if (SEQUENCES.search(str(p.annotation)) and p.kind is not p.VAR_POSITIONAL
                            and (name, p.name) not in ARRAYS):
                        yield name, p.name, *_given(tree, node, function, p.name)


def _given(tree: ast.Expression, node: ast.Call, function: Any, name: str
           ) -> tuple[str, list[Any]]:
    """The text of a call with `given_` as the parameter, and the values to try."""
    parameters = inspect.signature(function).parameters
    args, keywords = list(node.args), list(node.keywords)
    place = list(parameters).index(name)
    if parameters[name].kind is inspect.Parameter.KEYWORD_ONLY:
        place = len(args)
    here: Any = ast.Name("given_")
    old: ast.expr | None = None
    if place < len(args) and not any(isinstance(a, ast.Starred) for a in args[:place + 1]):
        old, node.args[place] = args[place], here
    else:
        old = next((k.value for k in keywords if k.arg == name), None)
        node.keywords = [*[k for k in keywords if k.arg != name], ast.keyword(name, here)]
    text = ast.unparse(tree)
    node.args, node.keywords = args, keywords
    values = list(CANDIDATES)
    if old is not None:
        try:
            value = ast.literal_eval(old)
        except ValueError:
            value = None
        if isinstance(value, tuple | list) and value:
            values.insert(0, tuple(value))
    return text, values


def at_once(text: str, given: Any) -> str:
    """What the call gives un-jitted, as text."""
    names = [n for n in OPERANDS if re.search(rf"\b{n}\b", text)]
    run = eval(f"lambda {', '.join(names)}: {text}", {**calls.NAMES, "given_": given})
    made = jax.tree.leaves(run(*[jnp.asarray(OPERANDS[n]) for n in names]))
    return str([jax.random.key_data(x) if jnp.issubdtype(jnp.result_type(x), jax.dtypes.prng_key)
                else np.asarray(x) for x in made])


def answer(run: Any, text: str, value: Any) -> Any:
    """The text, or the error."""
    try:
        return run(text, value)
    except Exception as error:
        return error


def differing(run: Any, rows: dict[str, Any]) -> list[str]:
    """The calls of a table that take a tuple and not another sequence, or do something else with
    it, and the parameters for which no call took a tuple."""
    wrong, without, taken = [], set(), set()
    for name, parameter, text, values in places(rows):
        if run is at_once and (name, parameter) in taken:
            continue
        for value in values:
            expected = answer(run, text, value)
            if isinstance(expected, Exception):
                continue
            taken.add((name, parameter))
            for kind, given in kinds(value):
                found = answer(run, text, given)
                if isinstance(found, Exception) or found != expected:
                    wrong.append(f"{text}, {parameter}={value} as {kind}: {found!r}"[:300])
            break
        else:
            without.add((name, parameter))
    return [*wrong, *[f"{name}: {parameter}" for name, parameter in sorted(without - taken)]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", calls.TABLES)
def test_sequences_of_all_kinds_record_what_a_tuple_does(package: str) -> None:
    assert not differing(program, calls.TABLES[package])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", AT_ONCE)
def test_sequences_of_all_kinds_do_at_once_what_a_tuple_does(package: str) -> None:
    rows = dict(calls.TABLES[package])
    if package == "numpy":
        rows |= {k: v for k, v in numpy_rows.CONCRETE.items() if k not in numpy_rows.INDEXING}
    assert not differing(at_once, rows)


@pytest.mark.filterwarnings("ignore")
def test_other_places_take_such_sequences() -> None:
    x = jnp.ones((2, 3))
    for axes in (Repeated(0, 1), Repeated(np.int64(0), 1), np.array([0, 1]), range(2)):
        assert x.sum(axes) == 6 and x.transpose(axes).shape == (2, 3)
        assert jnp.add.reduce(x, Repeated(0)).shape == (3,)
        assert jax.jit(lambda x, axes=axes: x.sum(axes))(x) == 6
    for shape in (Repeated(3, 2), Repeated(Index(3), 2), np.array([3, 2]), range(3, 1, -1)):
        assert x.reshape(shape).shape == (3, 2) == jax.random.normal(jax.random.key(0), shape).shape
        assert jax.image.resize(x, shape, "nearest").shape == (3, 2)
        assert jax.nn.initializers.ones(jax.random.key(0), shape).shape == (3, 2)
    assert jax.ShapeDtypeStruct(Repeated(3, 2), "float32").shape == (3, 2)
    image, filters = jnp.ones((1, 4, 4, 1)), jnp.ones((2, 2, 1, 1))
    for pair in (Repeated(2, 2), np.array([2, 2]), [np.int32(2)] * 2):
        made = jax.lax.conv_general_dilated(
            image, filters, pair, [Repeated(3, 3), pair], pair, pair,
            dimension_numbers=("NHWC", "HWIO", "NHWC"))
        assert made.shape == (1, 6, 5, 1)
    path = Repeated(Repeated(1, 2), Repeated(0, 1))
    assert jnp.einsum_path("ij,jk,k", x, x.T, x[:, 0], optimize=path)[0] == [(1, 2), (0, 1)]
    assert jnp.einsum("ij,jk,k", x, x.T, x[:, 0], optimize=path).shape == (2,)
