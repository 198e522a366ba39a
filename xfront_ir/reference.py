"""The NumPy evaluator, which defines the meaning of each op by one row of plain NumPy.

It is the oracle of the tests and the arithmetic of scalar folding. A row is written

    @reference("sin")
    def _sin(attrs, types, x):          # types: the result types
        return np.sin(x)                # an array, or a tuple of arrays

and stands in `reference_ops/<family>.py`. A row may compute in a wider dtype than the op's: what
it returns is rounded to the result type, but must have its shape. Several names may share a row.
The row of an op with bodies is a generator, so that nesting takes no recursion: it yields a body
with its operands and is sent what the body returns. Keys are `u32` arrays with the physical
dimensions at the end.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from .core import Function, Op
from .definition import REGISTRY, OpDef
from .errors import IRTypeError, MissingRule
from .types import TensorType

Row = Callable[..., Any]
Arrays = list[np.ndarray]
Steps = Generator[tuple[Function, Sequence[np.ndarray]], Arrays, Any]
"""A row that is waiting for what a body returns."""

_ROWS: dict[str, Row] = {}


def reference(*names: str) -> Callable[[Row], Row]:
    """Enter `f(attrs, types, *operands) -> array or tuple` as the meaning of the named ops."""
    def enter(row: Row) -> Row:
        for name in names:
            known = _ROWS.get(name)              # an interrupted import may enter its rows again
            if known is not None and (known is row or _place(known) != _place(row)):
                raise IRTypeError(f"reference: op {name!r} has two rows")
            _ROWS[name] = row
        return row

    return enter


def plain(function: Callable[..., Any]) -> Row:
    """The row that calls `function` on the operands alone."""
    def row(attrs: Any, types: Any, *operands: Any) -> Any:
        return function(*operands)

    return row


def _place(row: Row) -> tuple[str, str]:
    return row.__module__, row.__qualname__


def row_of(name: str) -> Row:
    """The row of the op called `name`.

    Raises: MissingRule where there is none.
    """
    found = _ROWS.get(name)
    if found is None:
        _load_family(name)
        found = _ROWS.get(name)
        if found is None:
            raise MissingRule(f"op {name!r} has no reference row; the row belongs in "
                              "xfront_ir/reference_ops/<family>.py")
    return found


def _load_family(name: str) -> None:
    """Import the rows of the op's family, which most processes do not need."""
    definition = REGISTRY.get(name)
    if definition is None or not definition.room:
        return
    place = f"{__package__}.reference_ops.{definition.room}"
    if importlib.util.find_spec(place) is not None:
        importlib.import_module(place)


def evaluate(fn: Function, *arrays: Any) -> list[np.ndarray]:
    """The values that `fn` returns for `arrays`, computed by NumPy, op by op.

    Args:
      fn: any Function whose ops have rows.
      arrays: one for each parameter; converted to its dtype, of exactly its shape.
    Returns: one array for each returned value, of its shape and dtype.
    Raises: IRTypeError where the arrays do not fit the parameters; MissingRule where an op has
      no row.
    """
    if len(arrays) != len(fn.params):
        raise IRTypeError(f"evaluate: @{fn.name} takes {len(fn.params)} arrays, got {len(arrays)}")
    fitted = [_fitted(a, p.type, f"parameter {i} of @{fn.name}")
              for i, (a, p) in enumerate(zip(arrays, fn.params, strict=True))]
    return run(fn, fitted)


def meaning(op: Op, operands: Sequence[np.ndarray]) -> Any:
    """The results of an op for these operands, by its row. Raises: MissingRule without a row."""
    return row_of(op.definition.name)(op.attrs, tuple([v.type for v in op.results]), *operands)


def run(fn: Function, arrays: Sequence[np.ndarray],
        result: Callable[[Op, Sequence[np.ndarray]], Any] = meaning) -> Arrays:
    """As `evaluate`, for arrays that are known to fit; `result` computes each op, as a row does."""
    open_bodies = [_steps(fn, arrays, result)]
    returned: Any = None                         # the results of the body that ended last
    with np.errstate(all="ignore"):
        while open_bodies:
            try:
                body, operands = open_bodies[-1].send(returned)
            except StopIteration as end:
                open_bodies.pop()
                returned = end.value
            else:
                open_bodies.append(_steps(body, operands, result))
                returned = None
    return returned


def _steps(fn: Function, arrays: Sequence[np.ndarray], result: Callable[..., Any]) -> Steps:
    """Evaluate the ops of one Function, leaving their bodies to `run`."""
    env = dict(zip(fn.params, arrays, strict=True))
    for op in fn.ops:
        made = result(op, [env[v] for v in op.operands])
        if _waits(made):
            made = yield from made
        types = tuple([v.type for v in op.results])
        env.update(zip(op.results, _results(op.definition, types, made), strict=True))
    return [env[v] for v in fn.returns]


def _waits(made: Any) -> TypeGuard[Steps]:
    return isinstance(made, Generator)


def _results(definition: OpDef, types: tuple[TensorType, ...], made: Any) -> Arrays:
    """The return value `made` of a row, as a list of results of these types."""
    given: list[Any] = [made] if definition.single and not isinstance(made, tuple) else [*made]
    if len(given) != len(types):
        raise IRTypeError(f"reference: {definition.name} has {len(types)} results, but its row "
                          f"returned {len(given)}")
    return [_fitted(x, t, f"a result of {definition.name}")
            for x, t in zip(given, types, strict=True)]


def _fitted(x: Any, type: TensorType, what: str) -> np.ndarray:
    array = np.asarray(x)
    if array.dtype != type.dtype.numpy:
        array = array.astype(type.dtype.numpy)
    if array.shape != physical_shape(type):
        raise IRTypeError(f"reference: {what} has type {type}, but got an array of shape "
                          f"{array.shape}")
    return array


def physical_shape(type: TensorType) -> tuple[int, ...]:
    """The shape in memory: that of the type, with the words of a key at the end."""
    return (*type.shape, *type.dtype.physical)


@reference("literal")
def _literal(attrs: Mapping[str, Any], types: Any) -> Any:
    return np.broadcast_to(attrs["value"].array, attrs["shape"])
