"""What a template records is what the body would have recorded.

Every public function of the numeric packages is called as in `tests/samples`, several times in one
program, with templates and without: text, locations, weakness, structure of results, warnings and
errors must agree. The settings and surroundings in which a function is called change from one call
to the next, so that a template that was made in one is there to be misused in another.

    XFRONT_GENERATED=1 pytest tests/xfront/eager/test_templates.py       every call everywhere
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from tests.samples import calls, numpy_rows
from tests.samples.calls import Call
from xfront import lax
from xfront.eager import templates
from xfront.eager.templates import Template
from xfront.running import keys
from xfront.tracing.trace import trace_function, type_of
from xfront.tracing.tracer import Tracer
from xfront_ir.printer import print_function

Run = Callable[..., Any]


@contextlib.contextmanager
def without_templates() -> Iterator[None]:
    """Every body runs."""
    tries, templates.TRIES = templates.TRIES, -10 ** 6
    try:
        yield
    finally:
        templates.TRIES = tries


def made() -> int:
    """How many templates there are."""
    return sum(type(found) is Template for one in keys.tables() for found in [*one.values()])


def text_of(run: Run, operands: tuple, weak: bool = False, known: bool = False) -> str:
    """The program of a function with all that a user can see of it, or its error."""
    notes: list[Any] = []

    def flat(given: list) -> list:
        result = run(*given)
        leaves = jax.tree.leaves(result)
        notes.append(jax.tree.structure(result))
        notes.extend(x.weak if type(x) is Tracer else type_of(x) if isinstance(x, jax.Array)
                     else repr(x) for x in leaves)
        return [x for x in leaves if hasattr(x, "dtype") and hasattr(x, "shape")]

    arrays = list(map(jnp.asarray, operands))
    kinds = [type_of(x) for x in arrays]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            found = trace_function(flat, [t for t, _ in kinds], [w or weak for _, w in kinds],
                                   name="call", kind="jit", staging=not known,
                                   inputs=arrays if known else None)
            text = print_function(found.function, locations=True)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
    return "\n".join([text, *map(str, notes), *[str(w.message) for w in warned]])


def repeated(run: Run) -> Run:
    """A function called three times, at first with each operand in place of the next one where
    their types agree, and between other operations with literals."""
    def calls(*given: Any) -> Any:
        alike = list(given)
        for i in range(len(given) - 1):
            if given[i].dtype == given[i + 1].dtype and given[i].shape == given[i + 1].shape:
                alike[i + 1] = alike[i]
        around = [x * 0.5 for x in given if x.dtype == "float32"]
        return run(*given), run(*alike), around, run(*given)

    return calls


# --- where a function is called ---------------------------------------------------------------

MESH = jax.make_mesh((1,), ("d",))
EXPLICIT = jax.make_mesh((1,), ("e",), axis_types=(jax.sharding.AxisType.Explicit,))


def under(*settings: Callable[[], Any]) -> Callable[[Run, tuple], str]:
    """A program that is traced under settings."""
    def text(run: Run, operands: tuple) -> str:
        with contextlib.ExitStack() as stack:
            for setting in settings:
                stack.enter_context(setting())
            return text_of(run, operands)

    return text


def within(around: Callable[[Run], Run]) -> Callable[[Run, tuple], str]:
    """A program in which the function is called inside another."""
    return lambda run, operands: text_of(around(run), operands)


def in_scan(run: Run) -> Run:
    return lambda *given: lax.scan(lambda c, _: (c + 1.0, arrays_of(run(*given))), 0.0, None,
                                   length=2)


def arrays_of(result: Any) -> list[Any]:
    return [x for x in jax.tree.leaves(result) if hasattr(x, "dtype")]


def in_scope(run: Run) -> Run:
    def scoped(*given: Any) -> Any:
        with jax.named_scope("room"):
            return run(*given)

    return scoped


def after_literals(run: Run) -> Run:
    """Called with zeros and ones first, which the body may ask for too."""
    def calls(*given: Any) -> Any:
        for number in (0, 1):
            for _ in range(2):
                with contextlib.suppress(Exception):       # a row's operands may be keys or masks
                    run(*[jnp.full(x.shape, number, x.dtype) for x in given])
        return arrays_of(run(*given))

    return calls


def with_outer_values(run: Run) -> Run:
    """The last operand belongs to the outer trace, the others are mapped."""
    def outer(*given: Any) -> Any:
        stacked = [jnp.stack([x, x]) for x in given[:-1]]
        if not stacked:
            return jax.vmap(lambda _: arrays_of(run(*given)))(jnp.zeros(2))
        return jax.vmap(lambda *mapped: arrays_of(run(*mapped, *given[-1:])))(*stacked)

    return outer


def named(run: Run) -> Run:
    """Under a named axis."""
    return lambda *given: jax.vmap(lambda _: arrays_of(run(*given)), axis_name="i")(jnp.zeros(2))


def in_region(check_vma: bool) -> Callable[[Run], Run]:
    spec = jax.sharding.PartitionSpec()

    def around(run: Run) -> Run:
        return lambda *given: jax.shard_map(lambda *given: arrays_of(run(*given)), mesh=MESH,
                                            in_specs=spec, out_specs=spec,
                                            check_vma=check_vma)(*given)

    return around


def explicitly(run: Run, operands: tuple) -> str:
    """With operands that lie along explicit axes."""
    def laid(x: Any) -> Any:
        spec = jax.sharding.PartitionSpec(*["e"] * bool(np.ndim(x)))
        return jax.device_put(x, jax.sharding.NamedSharding(EXPLICIT, spec))

    with jax.set_mesh(EXPLICIT):
        return text_of(run, tuple(map(laid, operands)))


PLACES: dict[str, Callable[[Run, tuple], str]] = {
    "as it is": text_of,
    "weak": lambda run, operands: text_of(run, operands, weak=True),
    "values are known": lambda run, operands: text_of(run, operands, known=True),
    "x64": under(lambda: jax.enable_x64(True)),
    "precision": under(lambda: jax.default_matmul_precision("highest")),
    "ranks": under(lambda: jax.numpy_rank_promotion("warn")),
    "refused ranks": under(lambda: jax.numpy_rank_promotion("raise")),
    "dtypes": under(lambda: jax.numpy_dtype_promotion("strict")),
    "scope": within(in_scope),
    "jit": within(lambda run: jax.jit(lambda *given: arrays_of(run(*given)))),
    "scan": within(in_scan),
    "outer values": within(with_outer_values),
    "after literals": within(after_literals),
    "named axis": within(named),
    "shard_map": within(in_region(True)),
    "shard_map without vma": within(in_region(False)),
    "explicit axes": explicitly,
}


def wrong(row: Call, places: list[str]) -> Iterator[str]:
    """Where a row's program depends on templates."""
    run = repeated(row.run)
    with without_templates():
        expected = {place: PLACES[place](run, row.operands) for place in places}
    for _ in range(3):
        for place in places:
            found = PLACES[place](run, row.operands)
            if found != expected[place]:
                yield (f"{row.way} of {row.row}, {place}:\n{found}\n--- without templates:\n"
                       f"{expected[place]}")


TABLES = {**calls.TABLES, "indexing": numpy_rows.INDEXING}


@pytest.mark.parametrize("package", TABLES)
def test_programs_are_those_of_the_bodies(package: str) -> None:
    others = itertools.cycle(list(PLACES)[1:])
    found = [each for text in calls.texts(TABLES[package])
             for each in wrong(calls.value(text), ["as it is", next(others)])]
    assert not found, "\n".join(found[:3])


ONE_OF = 1 if "XFRONT_GENERATED" in os.environ else 4
"""Of so many places one for each plain call, and of so many calls one in its other ways."""


@pytest.mark.slow
@pytest.mark.parametrize("package", TABLES)
def test_programs_are_those_of_the_bodies_everywhere(package: str) -> None:
    first, *others = PLACES
    found: list[str] = []
    for k, text in enumerate(calls.texts(TABLES[package])):
        plain, *ways = calls.ways(text)
        found += wrong(plain, [first, *others[k % ONE_OF::ONE_OF]])
        if k % ONE_OF == 0:
            found += [each for way in ways for each in wrong(way, [first, "x64"])]
    assert not found, "\n".join(found[:3])


# --- what has a template, and what has none ---------------------------------------------------

X, Y = jnp.arange(6.0).reshape(2, 3), jnp.ones((2, 3))


def templates_of(run: Run, *operands: Any) -> int:
    """How many templates four calls in one program make."""
    keys.clear()
    jax.make_ir(lambda *given: [run(*given) for _ in range(4)])(*operands)
    return made()


@pytest.mark.parametrize("name, run", [
    ("median", lambda x, y: jnp.median(x, axis=0)), ("cov", lambda x, y: jnp.cov(x)),
    ("take", lambda x, y: jnp.take(x, jnp.argmax(y, 0), axis=0)),
    ("read", lambda x, y: x[jnp.argmax(y, 0)]), ("write", lambda x, y: x.at[0].set(y[0])),
    ("linspace", lambda x, y: jnp.linspace(x[0], 1.0, 8)), ("split", lambda x, y: jnp.split(x, 2)),
    ("concatenate", lambda x, y: jnp.concatenate([x, y])),
    ("softmax", lambda x, y: jax.nn.softmax(x)),
])
def test_functions_of_several_operations_have_templates(name: str, run: Run) -> None:
    assert templates_of(run, X, Y) >= 1, name


def test_bodies_that_read_more_than_their_arguments_have_none() -> None:
    outside = jnp.ones((2, 3))
    keep = jnp.array([True, False])
    assert not templates_of(lambda x: jnp.maximum(jnp.sum(x), 0), X) > 1
    assert not templates_of(lambda x: jnp.concatenate([x, outside]), X)        # an array
    assert not templates_of(lambda x: jax.debug.print("{}", x), X)
    assert not templates_of(lambda x: lax.fori_loop(0, 3, lambda i, c: c, x), X)
    assert not templates_of(lambda x: jax.vmap(lambda r: jnp.concatenate([r, x[0]]))(x), X) > 1
    keys.clear()
    jax.grad(lambda x: sum(jnp.sum(x[keep]) for _ in range(4)))(X)             # a mask is read
    jax.grad(lambda x: sum(jnp.sum(x[x[:, 0] > 0]) for _ in range(4)))(X)


def test_a_body_that_warns_warns_at_each_call() -> None:
    def program(c: Any) -> Any:
        return [jnp.astype(c, "float32") for _ in range(4)]

    with pytest.warns(DeprecationWarning, match="imaginary") as warned:
        jax.make_ir(program)(jnp.ones(3, "complex64"))
    assert len(warned) == 4
    with pytest.warns(np.exceptions.ComplexWarning) as warned:
        jax.make_ir(lambda c: [jnp.mean(c, dtype="float32") for _ in range(4)])(
            jnp.ones(3, "complex64"))
    assert len(warned) == 4


def test_a_body_that_refuses_refuses_at_each_call() -> None:
    def program(x: Any) -> Any:
        for axis in (0, 5, 0, 5, 0, 5):
            if axis:
                with pytest.raises(np.exceptions.AxisError):
                    jnp.std(x, axis=axis)
            else:
                x = x + jnp.std(x, axis=axis)
        return x

    jax.make_ir(program)(X)


def test_each_call_has_its_own_line() -> None:
    def program(x: Any) -> Any:
        x = x + jnp.std(x, axis=0)
        x = x + jnp.std(x, axis=0)
        x = x + jnp.std(x, axis=0)
        with jax.named_scope("inner"):
            return x + jnp.std(x, axis=0)

    ops = [op for op in jax.make_ir(program)(X).ir.ops if op.definition.name == "sqrt"]
    first = program.__code__.co_firstlineno
    assert [op.loc.line - first for op in ops if op.loc] == [1, 2, 3, 5]
    assert [op.loc.scope for op in ops if op.loc] == [(), (), (), ("inner",)]


def test_statics_that_are_equal_in_python_differ() -> None:
    def program(x: Any) -> Any:
        return [[jnp.full_like(x, v), jnp.clip(x, v, None), jnp.where(x > v, x, v),
                 jnp.nan_to_num(x, nan=v), jnp.clip(x > 1, v, None)]
                for v in (0.0, -0.0, 0, False, 1, 1.0, True, np.nan, -np.nan) for _ in range(3)]

    with without_templates():
        expected = text_of(program, (X,))
    for _ in range(3):
        assert text_of(program, (X,)) == expected


def test_an_argument_that_is_a_literal_of_the_body_is_still_an_argument() -> None:
    def program(x: Any) -> Any:
        made = []
        zero, one = jnp.zeros((), "float32"), jnp.ones((), "float32")
        for operand in (zero, zero, x, one, x):
            made += [jax.nn.relu(operand), jax.nn.elu(operand), jnp.nansum(operand),
                     jnp.maximum(operand, 1.0), jnp.where(operand > 1, operand, 1.0)]
        return made

    with without_templates():
        expected = text_of(program, (np.float32(0.25),))
    keys.clear()
    for _ in range(3):
        assert text_of(program, (np.float32(0.25),)) == expected


def test_equal_literals_are_captured_while_a_template_is_made() -> None:
    @jax.jit
    def program(x: Any) -> Any:
        zeros = jnp.zeros((2, 2))
        made = [sylvester(zeros + 0, jnp.zeros((2, 2)), zeros) for _ in range(3)]
        return x, [sylvester(zeros, jnp.zeros((2, 2)), zeros) for _ in range(3)], made

    sylvester = jax.scipy.linalg.solve_sylvester
    keys.clear()
    program(1.0)


def test_results_are_the_callers_own() -> None:
    def program(x: Any) -> Any:
        for _ in range(4):
            parts = jnp.split(x, 2)
            assert len(parts) == 2
            parts.clear()
        assert all(lax.stop_gradient(y) is not None for y in (x,))
        return x

    jax.make_ir(program)(X)


def test_known_values_are_read_anew() -> None:
    def total(x: Any, axis: int) -> Any:
        number = (x[0, 0] * 0.0).astype(int) + axis
        return [jnp.sum(x, axis=number) for _ in range(4)]

    for axis in (0, 1, 0, 1):
        sizes = [y.shape for y in jax.jvp(lambda x, axis=axis: total(x, axis), (X,), (X,))[0]]
        assert sizes == [X.shape[:axis] + X.shape[axis + 1:]] * 4


def test_what_the_library_calls_is_not_refused_and_what_the_user_calls_is() -> None:
    """Under some options a check asks whose operands it sees."""
    file = str(Path(templates.__file__).parent.parent / "numpy" / "between.py")
    inner: dict[str, Any] = {}
    exec(compile("def between(call, *given): return call(*given)", file, "exec"), inner)
    between = inner["between"]
    for setting, operands in ((lambda: jax.numpy_rank_promotion("raise"), (X, X[0])),
                              (lambda: jax.numpy_dtype_promotion("strict"), (X, jnp.ones(3, int)))):
        def program(*given: Any) -> Any:
            for _ in range(4):
                between(jnp.cov, *given)
            with pytest.raises((ValueError, TypeError)):
                jnp.cov(*given)

        keys.clear()
        with setting():
            jax.make_ir(program)(*operands)


def test_tables_are_bounded_and_forgotten() -> None:
    def program(x: Any) -> Any:
        return [jnp.mean(jnp.ones(n) * x[0, 0]) for n in range(1, 2 * templates.MOST_OF_ONE)
                for _ in range(2)]

    jax.make_ir(program)(X)
    assert all(len(one) <= one.most for one in keys.tables())
    assert made()
    jax.clear_caches()
    assert not made()


def test_a_template_holds_nothing_of_the_program_that_made_it() -> None:
    class Held:
        pass

    def program(x: Any) -> Any:
        kept = Held()
        alive.append(weakref.ref(kept))
        seen = [jnp.median(x, axis=0) for _ in range(4)]
        assert isinstance(seen[0], Tracer)
        seen[0].home.sources.append(kept)
        return seen

    alive: list[Any] = []
    assert templates_of(program, X)
    gc.collect()
    assert alive and all(ref() is None for ref in alive)


def test_a_leaked_tracer_is_refused_as_before() -> None:
    leaked: list[Any] = []

    def program(x: Any) -> Any:
        leaked[:] = [x, *[jnp.std(x, axis=0) for _ in range(4)]]
        return x

    jax.make_ir(program)(X)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jnp.std(leaked[0], axis=0)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.make_ir(lambda x: jnp.std(leaked[0], axis=0))(X)
