"""The first step of the functions of `lax`: check that operands have one dtype, promote nothing.

Python numbers and other weak values count with their own default dtype: `lax.add(x, 1)` for a float
x is an error, `lax.add(x, 1.0)` is not. A scalar fits any shape, and size 1 any size.
"""

# hot: benchmarks/trace.py

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir.dtypes import DType, from_numpy

from .. import binding
from ..base.dtypes import requested_dtype
from ..base.errors import ConcretizationTypeError
from ..eager.operands import (
    array_like,
    broadcast_to,
    convert,
    filled,
    index_of,
    ir_dtype,
    scalar,
)
from ..tracing.trace import WEAK_KINDS, is_open, state
from ..tracing.tracer import Tracer


def are_alike(x: Any, y: Any) -> bool:
    """Whether two operands are tracers of one trace, type and weakness."""
    return (type(x) is Tracer and type(y) is Tracer and x.home is y.home
            and x.value.type is y.value.type and x.weak == y.weak)


def alike(name: str, *xs: Any) -> list[Tracer]:
    """Tracers of the same dtype and one shape. Raises: TypeError where they are not alike."""
    x, y = xs[0], xs[-1]
    if len(xs) == 2:
        if are_alike(x, y) and x.home is state.current:
            return [x, y]
        if type(y) is Tracer and goes_with(x, y):
            return [filled(y.home, x, y.value.type, y.weak), y]
    made = same_dtype(name, *xs)
    shapes = [x.value.type.shape for x in made]
    if any(s != shapes[0] for s in shapes):
        shape = common_shape(name, shapes)
        made = [broadcast_to(x, shape) for x in made]
    return made


def goes_with(x: Any, traced: Tracer) -> bool:
    """Whether `x` is a Python number of a tracer's dtype, and an op on both is in its trace."""
    if (type(x) not in WEAK_KINDS
            or traced.value.type.dtype.numpy is not binding.scalar_dtype(type(x))):
        return False
    return is_open(traced.home)


def same_dtype(name: str, *xs: Any) -> list[Tracer]:
    """Tracers of the same dtype, each in its own shape. Raises: TypeError where dtypes differ."""
    xs = tuple([array_like(name, x) for x in xs])
    found = [ir_dtype(x) for x in xs]
    dtype = agreed_dtype(name, found)
    weak = all(w for _, w in found)
    target = state.current
    assert target is not None, "a public function's body runs inside a trace"
    return [target.literal(scalar(x, dtype), (), weak) if type(x) in WEAK_KINDS
            else convert(target.lift(x), dtype, weak) for x in xs]


def agreed_dtype(name: str, found: Sequence[tuple[DType, bool]]) -> DType:
    """The dtype that all operands have. Raises: TypeError where they have several."""
    first = found[0][0]
    if all(d is first for d, _ in found):
        return first
    listed = ", ".join([d.name if d.is_key else d.numpy.name for d, _ in found])
    raise TypeError(f"lax.{name}: operands must have the same dtype, got {listed}; convert them "
                    "first, or use the function of xfront.numpy, which promotes")


def common_shape(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of operands some of which are scalars, or of size 1 along an axis.

    Raises: TypeError.
    """
    arrays = [s for s in shapes if s]
    if not arrays:
        return ()
    if len({len(s) for s in arrays}) > 1:
        raise TypeError(f"lax.{name}: arrays must have the same number of axes, got shapes "
                        f"{', '.join(map(str, shapes))}; add axes with lax.expand_dims")
    result = []
    for sizes in zip(*arrays, strict=True):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            raise TypeError(f"lax.{name}: shapes {', '.join(map(str, shapes))} must be equal, or 1 "
                            "where they differ")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def listed(name: str, values: Any) -> tuple[Any, ...]:
    """A sequence of axes or sizes as a tuple. Raises: TypeError where it is a single number."""
    if isinstance(values, tuple):
        return values
    try:
        return tuple(values)
    except TypeError:
        raise TypeError(f"{name} must be a sequence, got {values!r}; write ({values!r},)") from None


def ints(name: str, values: Any) -> tuple[int, ...]:
    """A sequence of Python ints. Raises: TypeError where it is none, or has traced elements."""
    return tuple([static_int(name, v) for v in listed(name, values)])


def static_int(name: str, value: Any) -> int:
    """A Python int. Raises: ConcretizationTypeError for a tracer, TypeError for no integer."""
    if type(value) is int:
        return value
    if type(value) is Tracer:
        raise ConcretizationTypeError(value, f"{name} must be known while tracing: make the "
                                      "argument static (static_argnums), or take it from a shape.")
    return index_of(value, name)


def sizes(name: str, values: Any) -> tuple[int, ...]:
    """Sizes of a shape. Raises: TypeError where one is negative."""
    made = ints(name, (values,) if isinstance(values, (int, np.integer)) else values)
    if any(n < 0 for n in made):
        raise TypeError(f"{name} must not be negative, got {made}")
    return made


def axis_in(name: str, axis: Any, ndim: int) -> int:
    """One axis in [0, ndim), negative ones counted from the end. Raises: ValueError."""
    a = static_int(name, axis)
    if not -ndim <= a < ndim:
        raise ValueError(f"{name}: axis {a} is out of bounds for array of dimension {ndim}")
    return a % ndim


def dtype_of(name: str, dtype: Any) -> DType:
    """The IR dtype that a user wrote. Raises: TypeError."""
    found = requested_dtype(name, dtype)
    ir = getattr(found, "ir", None)
    return ir if ir is not None else from_numpy(found)


def weakly(x: Tracer, weak: bool) -> Tracer:
    """`x` with this weakness."""
    return x if x.weak == weak else Tracer(x.home, x.value, weak)
