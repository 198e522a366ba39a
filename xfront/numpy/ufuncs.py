"""Makers of elementwise functions: one or two arrays in, no options.

They are leaner than `dispatch.eager`: met with tracers of one type they record their op at once,
met with arrays they call C++; the body is for everything else.
"""

# hot: benchmarks/trace.py

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.definition import OpDef
from xfront_ir.dtypes import DType
from xfront_ir.types import tensor

from ..binding.annotations import Array, ArrayLike
from ..binding.tracebacks import shorten
from ..eager.dispatch import Front
from ..eager.operands import (
    array_like,
    broadcast_shapes,
    broadcast_to,
    convert,
    default_int,
    filled,
    held_array,
    in_shape,
    inexact_dtype,
    ir_dtype,
    operand,
    promoted_dtype,
    scalar,
    strong,
)
from ..tracing.trace import emit, emit_alike, is_open, leak_error, state
from ..tracing.tracer import Tracer

INEXACT = frozenset(("float", "complex"))
FLOAT = frozenset(("float",))
REAL = frozenset(("int", "uint", "float"))
NUMERIC = REAL | INEXACT
LOGICAL = frozenset(("bool", "int", "uint"))
ANY = NUMERIC | LOGICAL


class Unary(Protocol):
    """A function of one array."""

    __name__: str

    def __call__(self, x: ArrayLike, /, out: None = None, where: None = None) -> Array: ...


class Binary(Protocol):
    """A function of two arrays, broadcast together."""

    __name__: str

    def __call__(self, x: ArrayLike, y: ArrayLike, /, out: None = None, where: None = None
                 ) -> Array: ...


def traced(body: Callable[..., Any], *args: Any) -> Any:
    """Run a body for the deepest of the traces of `args` and the current one."""
    target = before = state.current
    args = tuple([x if type(x) is Tracer else held_array(x) for x in args])
    for x in args:
        if type(x) is Tracer:
            if target is None or x.home.level > target.level:
                target = x.home
    assert target is not None
    if target.closed:
        raise leak_error(next(x for x in args if type(x) is Tracer and x.home is target))
    state.current = target
    try:
        return body(*args)
    finally:
        state.current = before


def _unsupported(name: str, out: Any) -> NotImplementedError:
    """The error of an argument that NumPy's universal functions take and arrays here do not."""
    return NotImplementedError(
        f"{name}: arrays are immutable, so `out` is not supported" if out is not None else
        f"{name}: `where` is not supported; write jnp.where(mask, jnp.{name}(...), other)")


def unary(fast: OpDef | None = None, kinds: frozenset[str] = NUMERIC
          ) -> Callable[[Callable[[Any], Any]], Unary]:
    """Make a body of one operand a public function.

    Args:
      fast: the op that the function is for dtypes of these kinds.
    """
    def decorate(body: Any) -> Any:
        compiled: Any = None

        def public(x: Any, /, out: None = None, where: None = None) -> Any:
            nonlocal compiled
            try:
                if out is not None or where is not None:
                    raise _unsupported(public.__name__, out)
                if type(x) is Tracer:
                    if fast is not None and x.value.type.dtype.kind in kinds:
                        return emit_alike(fast, x)
                    return traced(body, x)
                if state.current is not None:
                    return traced(body, x)
                if compiled is None:
                    compiled = Front(body, body.__name__, ()).compiled
                return compiled(x)
            except BaseException as error:
                shorten(error)
                raise

        functools.update_wrapper(public, body)
        public.body = body  # type: ignore[attr-defined]
        return public

    return decorate


# A Python number beside a traced array of these kinds takes the array's dtype and weakness.
_ADAPTS = {float: INEXACT, int: NUMERIC, complex: frozenset(("complex",)),
           bool: frozenset(("bool",))}


def adapts(number: Any, x: Tracer) -> bool:
    """Whether `number` is a Python number that takes the type and weakness of `x`, which is not
    divided over a mesh, in an op that is recorded in the trace of `x`."""
    type_ = x.value.type
    return (type_.dtype.kind in _ADAPTS.get(type(number), ()) and type_.sharding is None
            and is_open(x.home))


def number(y: ArrayLike, dtype: DType) -> Tracer:
    """A Python number as a scalar of a dtype."""
    target = state.current
    assert target is not None
    return filled(target, y, tensor((), dtype), False)


def _emit_broadcast(definition: OpDef, name: str, x: Tracer, y: Tracer) -> Tracer:
    """An op of two operands of one dtype and several shapes."""
    shape = broadcast_shapes(name, (x.value.type.shape, y.value.type.shape))
    x, y = broadcast_to(x, shape), broadcast_to(y, shape)
    if x.value.type is y.value.type:
        return emit_alike(definition, x, y)
    return emit(definition, x, y)                # the operands differ in sharding


def binary(fast: OpDef | None = None, kinds: frozenset[str] = NUMERIC
           ) -> Callable[[Callable[[Any, Any], Any]], Binary]:
    """Make a body of two operands a public function; see `unary`."""
    def decorate(body: Any) -> Any:
        compiled: Any = None
        name = body.__name__.lstrip("_")

        def public(x: Any, y: Any, /, out: None = None, where: None = None) -> Any:
            nonlocal compiled
            try:
                if out is not None or where is not None:
                    raise _unsupported(name, out)
                if type(x) is Tracer:
                    if fast is not None:
                        mine = x.value.type
                        kind = mine.dtype.kind
                        if kind in kinds:
                            if type(y) is Tracer:
                                theirs = y.value.type
                                if theirs is mine and y.home is x.home:
                                    return emit_alike(fast, x if x.weak <= y.weak else strong(x), y)
                                if (theirs.dtype is mine.dtype and y.home is x.home
                                        and x.weak == y.weak and is_open(x.home)):
                                    return _emit_broadcast(fast, name, x, y)
                            elif kind in _ADAPTS.get(type(y), ()) and not x.home.closed:
                                return emit_alike(fast, x, y)
                    return traced(body, x, y)
                if type(y) is Tracer and fast is not None and (
                        y.value.type.dtype.kind in kinds and adapts(x, y)):
                    return emit_alike(fast, filled(y.home, x, y.value.type, y.weak), y)
                if type(y) is Tracer or state.current is not None:
                    return traced(body, x, y)
                if compiled is None:
                    compiled = Front(body, body.__name__, ()).compiled
                return compiled(x, y)
            except BaseException as error:
                shorten(error)
                raise

        functools.update_wrapper(public, body)
        public.body = body  # type: ignore[attr-defined]
        return public

    return decorate


# --- where --------------------------------------------------------------------------------

def where(condition: Any, x: Any, y: Any) -> Any:
    """`numpy.where` of three arguments."""
    model = x if type(x) is Tracer else y
    if type(condition) is not Tracer and type(model) is not Tracer and state.current is None:
        return _compiled_where()(condition, x, y)
    if (type(condition) is Tracer and type(model) is Tracer
            and condition.value.type.dtype is dtypes.bool_
            and condition.value.type.shape == model.value.type.shape):
        other = y if model is x else x
        if type(other) is Tracer:
            if other.value.type is model.value.type and other.home is model.home:
                return _chosen(condition, x, y)
        elif adapts(other, model):
            other = filled(model.home, other, model.value.type, model.weak)
            return _chosen(condition, x if model is x else other, other if model is x else y)
    return traced(_where, condition, x, y)


@functools.cache
def _compiled_where() -> Any:
    return Front(_where, "where", ()).compiled


def _where(condition: Any, x: Any, y: Any) -> Any:
    condition = convert(operand("where", condition), dtypes.bool_)
    x, y = array_like("where", x), array_like("where", y)
    dtype, weak = promoted_dtype("where", [ir_dtype(x), ir_dtype(y)])
    shape = broadcast_shapes("where", [getattr(v, "shape", ()) for v in (condition, x, y)])
    x, y = in_shape((x, y), dtype, weak, shape)
    if condition.shape:
        condition = broadcast_to(condition, shape)
    return _chosen(condition, x, y)


def _chosen(condition: Tracer, x: Tracer, y: Tracer) -> Tracer:
    made = emit(ops.select, condition, x, y)
    return Tracer(made.home, made.value, x.weak and y.weak)


# --- what bodies use ----------------------------------------------------------------------

def inexact(x: Tracer) -> Tracer:
    """`x` in its float dtype: integers and bools become the default float."""
    dtype = x.value.type.dtype
    return x if dtype.is_inexact else convert(x, inexact_dtype(dtype), x.weak)


def arithmetic(x: Tracer) -> Tracer:
    """`x` as a number: bools become the default integer."""
    return convert(x, default_int(), x.weak) if x.value.type.dtype.kind == "bool" else x


def like(x: Tracer, value: Any) -> Tracer:
    """The number `value` in every element of an array like `x`."""
    type_ = x.value.type
    target = state.current
    assert target is not None
    return target.literal(np.asarray(value, type_.dtype.numpy), type_.shape, x.weak)


def lying_like(made: Tracer, x: Tracer) -> Tracer:
    """`made`, of the shape of `x`, divided along explicit axes as `x` is."""
    held = x.value.type.sharding
    if held is None or x.value.type.is_manual:
        return made
    return emit(ops.reshard, made, sharding=held)


def refuse(name: str, x: Tracer, accepted: str) -> TypeError:
    """The error of a dtype that a function does not take."""
    dtype = x.value.type.dtype
    return TypeError(f"{name} does not accept dtype {dtype.numpy if not dtype.is_key else dtype}; "
                     f"it takes {accepted} arrays")


def shaped(x: Tracer, shape: tuple[int, ...]) -> Tracer:
    """`x` in another shape of as many elements."""
    return x if x.value.type.shape == shape else emit(ops.reshape, x, shape=shape)


__all__ = ["ANY", "FLOAT", "INEXACT", "LOGICAL", "NUMERIC", "REAL", "Binary", "Unary", "arithmetic",
           "array_like", "binary", "inexact", "like", "number", "refuse", "scalar", "traced",
           "unary", "where"]
