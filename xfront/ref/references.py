"""What `xfront.ref` offers, whose file says how it is used."""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir import ops

from ..base.on_demand import public as _public
from ..binding.annotations import Array, ArrayLike
from ..binding.tracebacks import front_door
from ..numpy import asarray
from ..running.programs import returned, to_array
from ..tracing.trace import emit, state, used_as
from ..tracing.tracer import Tracer
from ..transforms.flat import as_operand, kind_of
from ..transforms.structs import ShapeDtypeStruct
from ..values.arguments import only
from ..values.refs import AbstractRef, Does, Ref, install


@front_door
def new_ref(init_val: ArrayLike, *, memory_space: None = None, kind: None = None,
            pin: bool = False) -> Ref:
    """A reference to an array of its own, which starts as `init_val`.

    Args:
      init_val: array, traced array or number.
      memory_space, kind: None only.
      pin: False only; no platform here has pinned buffers in programs.
    Returns: a `Ref` of the shape and dtype of `init_val`; its dtype is not weak.
    Raises: TypeError where `init_val` is not an array; ValueError where it is a reference;
      NotImplementedError for `memory_space`, `kind` and `pin`.

    >>> ref = xfront.new_ref(jnp.zeros(3))
    >>> ref[1] = 2.0
    >>> ref[...]
    Array([0., 2., 0.], dtype=float32)
    """
    _only_default("new_ref", memory_space, kind, pin)
    if isinstance(init_val, Ref):
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


def _only_default(name: str, memory_space: Any, kind: Any, pin: Any) -> None:
    if memory_space is not None or kind is not None:
        raise NotImplementedError(f"{name}: memory_space and kind must be None")
    only(name, False, "where its values lie is chosen by XLA", pin=pin)


def empty_ref(ty: Array | ShapeDtypeStruct, *, memory_space: None = None, pin: bool = False
              ) -> Ref:
    """A reference of the shape and dtype of `ty`, which refers to zeros until it is written.

    >>> ref = xfront.empty_ref(xfront.ShapeDtypeStruct((2,), jnp.float32))
    >>> ref[0] = 3
    >>> ref[...]
    Array([3., 0.], dtype=float32)
    """
    from ..numpy import zeros

    _only_default("empty_ref", memory_space, None, pin)
    return new_ref(zeros(ty.shape, ty.dtype))


@front_door
def freeze(ref: Ref) -> Array:
    """The array that a reference refers to; the reference cannot be used afterwards.

    Raises: TypeError where `ref` is not a reference; ValueError where it was frozen before.

    >>> ref = xfront.new_ref(jnp.array([1., 2.]))
    >>> ref[0] = 5
    >>> xfront.freeze(ref)
    Array([5., 2.], dtype=float32)
    """
    _checked("freeze", ref)
    ref.refuse_frozen("freeze")
    source = used_as(ref)
    traced = type(source) is Tracer or state.current is not None
    found = emit(ops.freeze, source) if traced else ref.held
    ref.is_frozen = True
    return found


def free_ref(ref: Ref) -> None:
    """End the use of a reference. Raises: TypeError, ValueError, as `freeze`.

    >>> ref = xfront.new_ref(1.0)
    >>> xfront.free_ref(ref)
    >>> ref[...]
    Traceback (most recent call last):
        ...
    ValueError: get: the reference was frozen; use the array that freeze returned
    """
    freeze(ref)


def _checked(name: str, ref: Any) -> Ref:
    if not isinstance(ref, Ref):
        raise TypeError(f"{name} takes a Ref, got {ref!r} of type {type(ref).__name__}")
    return ref


@front_door
def get(ref: Ref, idx: Any = ...) -> Any:
    """The elements at an index: `ref[idx]`.

    >>> ref.get(xfront.new_ref(jnp.array([1., 2.])), 1)
    Array(2., dtype=float32)
    """
    return _checked("get", ref)[_index(idx)]


@front_door
def set(ref: Ref, idx: Any, value: Any) -> None:
    """Write the elements at an index: `ref[idx] = value`.

    >>> x = xfront.new_ref(jnp.array([1., 2.]))
    >>> ref.set(x, 0, 5.0)
    >>> x[...]
    Array([5., 2.], dtype=float32)
    """
    _checked("set", ref)[_index(idx)] = value


@front_door
def swap(ref: Ref, idx: Any, value: Any) -> Any:
    """Write the elements at an index; return the elements that were there before.

    >>> x = xfront.new_ref(jnp.array([1., 2.]))
    >>> ref.swap(x, 0, 5.0), x[...]
    (Array(1., dtype=float32), Array([5., 2.], dtype=float32))
    """
    return exchange(_checked("swap", ref), _index(idx), value, "swap")


@front_door
def addupdate(ref: Ref, idx: Any, x: Any) -> None:
    """Add to the elements at an index: `ref[idx] += x`.

    >>> x = xfront.new_ref(jnp.array([1., 2.]))
    >>> ref.addupdate(x, 0, 5.0)
    >>> x[...]
    Array([6., 2.], dtype=float32)
    """
    _checked("addupdate", ref).addupdate(x, _index(idx))


def _index(idx: Any) -> Any:
    return ... if idx is None else idx



# --- reading and writing ----------------------------------------------------------------------

def value_of(ref: Ref, name: str) -> Any:
    """The array that a reference refers to."""
    ref.refuse_frozen(name)
    source = used_as(ref)
    if source is ref and state.current is None:
        return ref.held
    return emit(ops.get, source)


def put(ref: Ref, value: Any) -> None:
    """Make a reference refer to another value of the same type."""
    source = used_as(ref)
    if source is ref and state.current is None and type(value) is not Tracer:
        ref.held = value
    else:
        emit(ops.swap, source, value)


def read(ref: Ref, index: Any) -> Any:
    """The elements at an index."""
    whole = value_of(ref, "get")
    return whole if _selects_all(index) else whole[checked(index, ref.shape)]


def exchange(ref: Ref, index: Any, value: Any, name: str) -> Any:
    """Write `value` at an index; return the elements that were there before."""
    whole = value_of(ref, name)
    if _selects_all(index):
        put(ref, fitting(name, ref, value, whole.shape))
        return whole
    index = checked(index, ref.shape)
    old = whole[index]
    put(ref, whole.at[index].set(fitting(name, ref, value, old.shape)))
    return old


def add(ref: Ref, index: Any, value: Any) -> None:
    """Add to the elements at an index."""
    whole = value_of(ref, "addupdate")
    if _selects_all(index):
        put(ref, whole + fitting("addupdate", ref, value, whole.shape))
        return
    index = checked(index, ref.shape)
    value = fitting("addupdate", ref, value, whole[index].shape)
    put(ref, whole.at[index].add(value))


install(Does(read, exchange, add))


def _selects_all(index: Any) -> bool:
    return index is Ellipsis or (type(index) is tuple and (not index or index == (Ellipsis,)))


def checked(index: Any, shape: tuple[int, ...]) -> Any:
    """The index itself, after a check that a reference of this shape can take it.

    Raises: ValueError for an int outside the shape; TypeError for a boolean mask.
    """
    parts = index if type(index) is tuple else (index,)
    if any(type(i) is bool or str(getattr(i, "dtype", "")) == "bool" for i in parts):
        raise TypeError("references cannot be indexed by boolean masks; write ref[...] = "
                        "jnp.where(mask, value, ref[...])")
    if Ellipsis not in [i for i in parts if i is Ellipsis] and None not in [
            i for i in parts if i is None]:
        for i, d in zip(parts, shape, strict=False):
            if type(i) is int and not -d <= i < d:
                raise ValueError(f"Out of bound indexer: idx={i}, dim={d}.")
    return index


def fitting(name: str, ref: Ref, value: Any, shape: tuple[int, ...]) -> Any:
    """The value to be written, as an array of the dtype of the reference.

    Raises: ValueError where its shape is not `shape`, or its dtype does not fit the reference's.
    """
    if isinstance(value, Ref):
        raise TypeError(f"{name}: a reference cannot be stored in a reference; pass its value, "
                        "other[...]")
    dtype = ref.dtype
    if type(value) in (bool, int, float, complex):
        kinds = "biufcV"                         # V: bfloat16 and the narrow floats
        wanted = {bool: "b", int: kinds[1:], float: "fcV", complex: "c"}[type(value)]
        if getattr(dtype, "kind", "") in wanted:
            value = asarray(value, dtype)
    else:
        value = asarray(value)
    given = np.shape(value)
    if tuple(given) != tuple(shape):
        raise ValueError(f"Invalid shape for `{name}`. Ref shape: {ref.shape}. Expected shape: "
                         f"{tuple(shape)}. Value shape: {given}.")
    found = getattr(value, "dtype", type(value).__name__)
    if found != dtype:
        raise ValueError(f"Invalid dtype for `{name}`. Ref dtype: {dtype}. Value dtype: {found}.")
    return value


__all__ = ["AbstractRef", "Ref", "addupdate", "empty_ref", "free_ref", "freeze", "get", "new_ref",
           "set", "swap"]
_public("xfront.ref", globals())
