"""What Python may ask of a tracer: its truth, its integer, its elements.

Under grad, jvp and linearize with concrete arguments a tracer can be asked for `bool`, `int` and
`__index__`: what these give has no derivative anyway. `float`, `complex`, `.item()`, `.tolist()` and
`np.asarray` of an inexact tracer answer only where no tangent reaches it; elsewhere the derivative
would be lost in silence, so they raise and name `stop_gradient`. Under jit and vmap asking raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir.core import Function, Op, Value
from xfront_ir.opdef import ZERO

from ..errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from .trace import Trace, concretely, leak_error
from .tracer import Tracer


def truth(x: Tracer) -> bool:
    """`bool(x)`. Raises: TracerBoolConversionError, ValueError where x has several elements."""
    if x.size != 1:
        raise ValueError("The truth value of an array with more than one element is ambiguous. "
                         "Use a.any() or a.all()")
    return bool(_value(x, TracerBoolConversionError(x)))


def integer(x: Tracer, what: str) -> int:
    """`int(x)`. Raises: ConcretizationTypeError, TypeError where x has several elements."""
    if x.size != 1:
        raise TypeError("Only scalar arrays can be converted to Python scalars; "
                        f"got arr.ndim={x.ndim}")
    return int(_value(x, ConcretizationTypeError(x, f"It was asked for by {what}.")).reshape(()))


def index(x: Tracer) -> int:
    """`operator.index(x)`. Raises: TracerIntegerConversionError, TypeError for other dtypes."""
    if not x.value.type.dtype.is_integer or x.ndim:
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    return int(_value(x, TracerIntegerConversionError(x)))


def number(x: Tracer, what: str) -> np.ndarray:
    """The elements of x, where no derivative would be lost.

    Raises: ConcretizationTypeError, TracerArrayConversionError under a transformation that has no
      values, or where a tangent reaches x.
    """
    if what.startswith("numpy"):
        error: Exception = TracerArrayConversionError(x)
    else:
        error = ConcretizationTypeError(x, f"It was asked for by {what}.")
        if what in ("float()", "complex()") and x.size != 1:
            raise TypeError("Only scalar arrays can be converted to Python scalars; "
                            f"got arr.ndim={x.ndim}")
    if x.value.type.is_inexact and x.trace.inputs is not None and has_tangent(x):
        raise type(error)(x) if type(error) is TracerArrayConversionError else (
            ConcretizationTypeError(x, f"{what} of a value that is being differentiated would lose "
                                    "its derivative. Keep it an array (jnp functions instead of "
                                    "math and numpy), or write "
                                    f"{what.replace('()', '(jax.lax.stop_gradient(x))')} if no "
                                    "derivative is wanted."))
    return _value(x, error)


# --- evaluation -------------------------------------------------------------------------------

def _value(x: Tracer, error: Exception) -> np.ndarray:
    """The elements of x, computed once by the slice of its trace that it needs."""
    trace = x.trace
    if trace.closed:
        raise leak_error(x)
    if trace.inputs is None:
        raise error
    found = trace.evaluated.get(x.value)
    if found is None:
        found = trace.evaluated[x.value] = evaluate(trace, x.value)
    if type(found) is Tracer:
        if found.trace.inputs is None:
            raise error
        return _value(found, error)
    return np.asarray(found)


def evaluate(trace: Trace, value: Value) -> Any:
    """An array, or a tracer of an outer trace, of one value of an open trace."""
    from .programs import bind  # programs stands above the traces

    function, places = slice_for(trace, value)
    sources = [*trace.inputs, *trace.sources]  # type: ignore[misc]
    operands = [sources[i] for i in places]
    if any(type(s) is Tracer for s in operands):
        return bind(function, operands, name="value")[0]
    with concretely():
        return bind(function, operands, name="value")[0]


def slice_for(trace: Trace, value: Value) -> tuple[Function, list[int]]:
    """The Function of what `value` needs, and which parameters of the trace it takes."""
    needed = {value}
    ops: list[Op] = []
    for op in reversed(trace.builder.ops):
        if not needed.isdisjoint(op.results):
            ops.append(op)
            needed.update(op.operands)
    params = [(i, v) for i, v in enumerate(trace.builder.params) if v in needed]
    made = Function("value", [v for _, v in params], ops[::-1], (value,))
    return made, [i for i, _ in params]


def has_tangent(x: Tracer) -> bool:
    """Whether x depends on a parameter of its trace through ops that have a derivative."""
    trace = x.trace
    n = len(trace.inputs or ())
    active = {v for v in trace.builder.params[:n] if v.type.is_inexact}
    for op in trace.builder.ops:
        if op.definition.jvp is not ZERO and not active.isdisjoint(op.operands):
            active.update([v for v in op.results if v.type.is_inexact])
    if x.value in active:
        return True
    return any(type(s) is Tracer and s.trace.inputs is not None and s.value.type.is_inexact
               and has_tangent(s) and depends(trace, x.value, trace.builder.params[n + i])
               for i, s in enumerate(trace.sources))


def depends(trace: Trace, value: Value, on: Value) -> bool:
    """Whether `value` is computed from `on` through ops that have a derivative."""
    reached = {on}
    for op in trace.builder.ops:
        if op.definition.jvp is not ZERO and not reached.isdisjoint(op.operands):
            reached.update(op.results)
    return value in reached


def known(x: Tracer) -> np.ndarray | None:
    """The elements of x where its traces have values all the way out, else None."""
    trace = x.trace
    if trace.closed:
        raise leak_error(x)
    if trace.inputs is None or trace.staging:
        return None
    found = trace.evaluated.get(x.value)
    if found is None:
        found = trace.evaluated[x.value] = evaluate(trace, x.value)
    return known(found) if type(found) is Tracer else np.asarray(found)
