"""Mutable references: `Ref`, what it holds, and reading and writing it.

Outside traces a Ref holds an array, which a write replaces. In a trace it holds a tracer of
reference type, and reads and writes are ops (`xfront_ir/ops/refs.py`). A Ref from outside becomes a
parameter of the trace that uses it, as an array does; from then on all that trace does with it is
recorded there, in order, whoever's values it is about.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xfront_ir.dtypes import from_numpy, ref_dtype
from xfront_ir.types import TensorType, tensor

from .abstract import AbstractArray


class AbstractRef:
    """The type of a reference; `inner_aval` is that of what it refers to."""

    __slots__ = ("inner_aval",)
    weak_type = False
    memory_space = kind = None

    def __init__(self, inner_aval: Any, memory_space: Any = None, kind: Any = None) -> None:
        if memory_space is not None or kind is not None:
            raise NotImplementedError("AbstractRef: memory_space and kind must be None")
        self.inner_aval = inner_aval.strip_weak_type()

    shape = property(lambda self: self.inner_aval.shape)
    dtype = property(lambda self: self.inner_aval.dtype)
    ndim = property(lambda self: self.inner_aval.ndim)
    size = property(lambda self: self.inner_aval.size)

    @property
    def ir(self) -> TensorType:
        """In the IR."""
        dtype = self.inner_aval.dtype
        of = dtype.ir if hasattr(dtype, "ir") else from_numpy(dtype)
        return tensor(self.inner_aval.shape, ref_dtype(of))

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type as text, `Ref{float32[3]}`."""
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def update(self, weak_type: bool | None = None, **changes: Any) -> AbstractRef:
        """The type of references to another type; a reference is never weak."""
        if weak_type:
            raise TypeError("the type of a reference is not weak")
        return AbstractRef(self.inner_aval.update(**changes))

    def __eq__(self, other: object) -> bool:
        return type(other) is AbstractRef and self.inner_aval == other.inner_aval

    def __hash__(self) -> int:
        return hash(("ref", self.inner_aval))

    def __repr__(self) -> str:
        return self.str_short()


class Ref:
    """A mutable reference to an array; made by `new_ref`.

    `ref[...]` reads, `ref[index] = x` writes and `ref[index] += x` adds; `jax.freeze(ref)` gives
    the array and ends its use. Indices are those of arrays, without boolean masks. What is written
    has the shape and the dtype of its place; Python's numbers take the dtype.
    """

    __slots__ = ("__weakref__", "held", "is_frozen")

    def __init__(self, held: Any) -> None:
        self.held, self.is_frozen = held, False  # an array, or a tracer of reference type

    # --- what is known -------------------------------------------------------------------

    @property
    def aval(self) -> AbstractRef:
        """Its type."""
        if _is_tracer(self.held):
            from ..primitives import aval_of

            return AbstractRef(aval_of(content_type(self.held.value.type)))
        return AbstractRef(AbstractArray(self.held.shape, self.held.dtype))

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        if _is_tracer(self.held):
            return f"Ref<{self.aval.inner_aval.str_short()}>"
        return repr(self.held).replace("Array(", "Ref(", 1)

    def __bool__(self) -> bool:
        raise TypeError("a reference has no truth value; read it with ref[...]")

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a 0-d reference")
        return iter([self[i] for i in range(self.shape[0])])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("a reference is no array; read it with ref[...]"
                        f"{'' if dtype is None and copy is None else ', then convert that'}")

    def __reduce__(self) -> Any:
        raise TypeError("a reference cannot be pickled or copied; pickle ref[...]")

    # --- reading and writing -------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        whole = self.read("get")
        return whole if _is_whole(index) else whole[checked(index, self.shape)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.exchange(index, value, "set")

    def addupdate(self, value: Any, index: Any = ...) -> None:
        """Add to the elements at `index`."""
        whole = self.read("addupdate")
        if _is_whole(index):
            self.write(whole + fitting("addupdate", self, value, whole.shape))
            return
        place = whole.at[checked(index, self.shape)]
        value = fitting("addupdate", self, value, _shape_at(whole, index))
        self.write(place.add(value))

    def exchange(self, index: Any, value: Any, name: str = "swap") -> Any:
        """Write `value` at `index`; what was there before."""
        whole = self.read(name)
        if _is_whole(index):
            self.write(fitting(name, self, value, whole.shape))
            return whole
        index = checked(index, self.shape)
        old = whole[index]
        self.write(whole.at[index].set(fitting(name, self, value, old.shape)))
        return old

    def operand(self) -> Any:
        """This in the innermost trace that uses it already: a tracer, or itself."""
        from ..tracing.trace import state

        source: Any = self.held if _is_tracer(self.held) else self
        for trace in state.stack:
            key = id(source) if source is self else source.value
            source = trace.captured.get(key, source)
        return source

    def read(self, name: str) -> Any:
        """The content."""
        from xfront_ir import ops

        from ..tracing.trace import emit, state

        self.refuse_frozen(name)
        source = self.operand()
        if source is self and state.current is None:
            return self.held
        return emit(ops.get, source)

    def write(self, value: Any) -> None:
        """Put a value of the content's type in its place."""
        from xfront_ir import ops

        from ..tracing.trace import emit, state

        source = self.operand()
        if source is self and state.current is None and not _is_tracer(value):
            self.held = value
        else:
            emit(ops.swap, source, value)

    def refuse_frozen(self, name: str) -> None:
        """Raise ValueError where `freeze` has ended its use."""
        if self.is_frozen:
            raise ValueError(f"{name}: the reference was frozen; use the array that freeze gave")


def _is_tracer(x: Any) -> bool:
    return hasattr(x, "home")


def content_type(type: TensorType) -> TensorType:
    """The type of what a reference of this type refers to."""
    from xfront_ir.passes.discharge import content_type as of  # passes are not for the start

    return of(type)


def _is_whole(index: Any) -> bool:
    return index is Ellipsis or (type(index) is tuple and (not index or index == (Ellipsis,)))


def checked(index: Any, shape: tuple[int, ...]) -> Any:
    """An index of a reference.

    Raises: ValueError for an int outside the shape; TypeError for a boolean mask.
    """
    parts = index if type(index) is tuple else (index,)
    if any(type(i) is bool or str(getattr(i, "dtype", "")) == "bool" for i in parts):
        raise TypeError("references take no boolean masks as indices; write ref[...] = "
                        "jnp.where(mask, value, ref[...])")
    if Ellipsis not in [i for i in parts if i is Ellipsis] and None not in [
            i for i in parts if i is None]:
        for i, d in zip(parts, shape, strict=False):
            if type(i) is int and not -d <= i < d:
                raise ValueError(f"Out of bound indexer: idx={i}, dim={d}.")
    return index


def _shape_at(whole: Any, index: Any) -> tuple[int, ...]:
    return tuple(whole[index].shape)


def fitting(name: str, ref: Ref, value: Any, shape: tuple[int, ...]) -> Any:
    """What is to be written, as an array of the content's dtype.

    Raises: ValueError where its shape is not that of its place, or its dtype not the content's.
    """
    from ..numpy import asarray  # numpy stands above this file

    if type(value) is Ref:
        raise TypeError(f"{name}: a reference cannot be written to a reference; write other[...]")
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
