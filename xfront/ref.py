"""Mutable references to arrays, for programs that update in place; see docs/refs.md."""

from __future__ import annotations

from typing import Any

from xfront_ir import ops

from .arrays.refs import AbstractRef, Ref
from .tracebacks import front_door
from .tracing.programs import returned, to_array
from .tracing.trace import emit, state
from .tracing.tracer import Tracer
from .transforms.flat import as_operand, kind_of


@front_door
def new_ref(init_val: Any, *, memory_space: Any = None, kind: Any = None) -> Ref:
    """A reference to an array of its own, which starts as `init_val`.

    Args:
      init_val: array, traced array or number.
      memory_space, kind: None.
    Returns: a `Ref` of its shape and dtype, which is strong.
    Raises: TypeError where it is no array; ValueError for a reference.

    >>> ref = xfront.new_ref(jnp.zeros(3))
    >>> ref[1] = 2.0
    >>> ref[...]
    Array([0., 2., 0.], dtype=float32)
    """
    _only_default("new_ref", memory_space, kind)
    if type(init_val) is Ref:
        raise ValueError("new_ref: a reference cannot refer to a reference; read it with ref[...]")
    try:
        kind_of("new_ref", init_val)
    except TypeError:
        raise TypeError(f"Error interpreting argument to new_ref as a JAX value. The problematic "
                        f"value is of type {type(init_val)}; it must be an array") from None
    value = as_operand(init_val)
    if state.stack:
        home = state.stack[-1]
        home.has_refs = True
        return Ref(emit(ops.new_ref, home.lift(value)))
    array = to_array(value)
    return Ref(returned(array, False, bool(getattr(array, "_committed", False))))


def _only_default(name: str, memory_space: Any, kind: Any) -> None:
    if memory_space is not None or kind is not None:
        raise NotImplementedError(f"{name}: memory_space and kind must be None")


def empty_ref(ty: Any, *, memory_space: Any = None) -> Ref:
    """A reference of a shape and dtype; what it refers to is zeros until it is written."""
    from .numpy import zeros

    _only_default("empty_ref", memory_space, None)
    return new_ref(zeros(ty.shape, ty.dtype))


@front_door
def freeze(ref: Ref) -> Any:
    """The array that a reference refers to; the reference cannot be used afterwards.

    Raises: TypeError where it is no reference; ValueError where it was frozen before.
    """
    _checked("freeze", ref)
    ref.refuse_frozen("freeze")
    source = ref.operand()
    traced = type(source) is Tracer or state.current is not None
    found = emit(ops.freeze, source) if traced else ref.held
    ref.is_frozen = True
    return found


def free_ref(ref: Ref) -> None:
    """End the use of a reference. Raises: as `freeze`."""
    freeze(ref)


def _checked(name: str, ref: Any) -> Ref:
    if type(ref) is not Ref:
        raise TypeError(f"{name} takes a Ref, got {ref!r} of type {type(ref).__name__}")
    return ref


@front_door
def get(ref: Ref, idx: Any = ...) -> Any:
    """The elements at an index: `ref[idx]`."""
    return _checked("get", ref)[_index(idx)]


@front_door
def set(ref: Ref, idx: Any, value: Any) -> None:
    """Write the elements at an index: `ref[idx] = value`."""
    _checked("set", ref)[_index(idx)] = value


@front_door
def swap(ref: Ref, idx: Any, value: Any) -> Any:
    """Write the elements at an index; what was there before."""
    return _checked("swap", ref).exchange(_index(idx), value)


@front_door
def addupdate(ref: Ref, idx: Any, x: Any) -> None:
    """Add to the elements at an index: `ref[idx] += x`."""
    _checked("addupdate", ref).addupdate(x, _index(idx))


def _index(idx: Any) -> Any:
    return ... if idx is None else idx


__all__ = ["AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref",
           "set", "swap"]
