"""Mutable references as values: `Ref` and its type; `xfront/ref` reads and writes them.

Outside traces a Ref holds an array, which a write replaces; in a trace it holds a tracer of
reference type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from xfront_ir.dtypes import from_numpy, ref_dtype, referred
from xfront_ir.types import TensorType, tensor

from ..binding.abstract import AbstractArray
from .keys import key_dtype


class AbstractRef:
    """The type of a reference; `inner_aval` is the type of its content.

    >>> xfront.ref.AbstractRef(xfront.typeof(jnp.ones(2))).inner_aval
    ShapedArray(float32[2])
    """

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
        """The type in the IR."""
        dtype = self.inner_aval.dtype
        of = dtype.ir if hasattr(dtype, "ir") else from_numpy(dtype)
        return tensor(self.inner_aval.shape, ref_dtype(of))

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type as text, `Ref{float32[3]}`."""
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def update(self, weak_type: bool | None = None, **changes: Any) -> AbstractRef:
        """The type of references to content with other fields; references are never weak."""
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

    `ref[...]` reads, `ref[index] = x` writes and `ref[index] += x` adds; `jax.freeze(ref)` returns
    the array and ends the use of the reference. Indices are those of arrays, without boolean masks.
    A written value must have the shape and the dtype of its place; Python's numbers take the dtype.

    >>> ref = xfront.new_ref(jnp.array([1., 2.]))
    >>> ref[0] += 5
    >>> ref[...]
    Array([6., 2.], dtype=float32)
    """

    __slots__ = ("__weakref__", "held", "is_frozen")

    def __init__(self, held: Any) -> None:
        self.held, self.is_frozen = held, False  # an array, or a tracer of reference type

    # --- type ----------------------------------------------------------------------------

    @property
    def aval(self) -> AbstractRef:
        """The type of the reference."""
        if is_traced(self):
            content = content_type(self.held.value.type)
            dtype = content.dtype
            return AbstractRef(AbstractArray(
                content.shape, key_dtype(dtype) if dtype.is_key else dtype.numpy))
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
        if is_traced(self):
            return f"Ref<{self.aval.inner_aval.str_short()}>"
        return repr(self.held).replace("Array(", "Ref(", 1)

    def __bool__(self) -> bool:
        raise TypeError("a reference has no truth value; read it with ref[...]")

    def __iter__(self) -> Any:
        if not self.shape:
            raise TypeError("iteration over a 0-d reference")
        return iter([self[i] for i in range(self.shape[0])])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("a reference is not an array; read it with "
                        "ref[...]"
                        f"{'' if dtype is None and copy is None else ', then convert the result'}")

    def __reduce__(self) -> Any:
        raise TypeError("a reference cannot be pickled or copied; pickle ref[...]")

    # --- reading and writing -------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return _does[0].read(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _does[0].exchange(self, index, value, "set")

    def addupdate(self, value: Any, index: Any = ...) -> None:
        """Add to the elements at `index`."""
        _does[0].add(self, index, value)

    def refuse_frozen(self, name: str) -> None:
        """Raise ValueError where `freeze` has ended the use of the reference."""
        if self.is_frozen:
            raise ValueError(f"{name}: the reference was frozen; use the array that freeze "
                             "returned")


REFS: set[type] = {Ref}
"""`Ref`, and the classes derived from it."""


class Does(NamedTuple):
    """The functions that read and write references."""

    read: Callable[[Ref, Any], Any]
    exchange: Callable[[Ref, Any, Any, str], Any]
    add: Callable[[Ref, Any, Any], None]


_does: list[Does] = []


def install(does: Does) -> None:
    """Set the functions that read and write references."""
    _does[:] = [does]


def is_traced(ref: Ref) -> bool:
    """Whether a reference is a value of a trace."""
    return hasattr(ref.held, "home")


def content_type(type: TensorType) -> TensorType:
    """The type of the content of references of this type."""
    return type.with_dtype(referred(type.dtype))
