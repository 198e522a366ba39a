"""The type of an array: shape, dtype, weakness."""
# hot: benchmarks/eager.py

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from xfront_ir.dtypes import from_numpy
from xfront_ir.errors import IRTypeError
from xfront_ir.sharding import Sharding, explicit
from xfront_ir.types import TensorType, tensor

from .manual_axes import INVARYING, ManualAxisType
from .memory_space import MemorySpace

_AVALS: dict[tuple, AbstractArray] = {}
_FLOAT0 = np.dtype([("float0", np.void, 0)])
"""The dtype of elements without content."""


def _ir_type(shape: tuple[int, ...], dtype: Any) -> TensorType | None:
    try:
        return tensor(shape, from_numpy(dtype))
    except (IRTypeError, TypeError):
        return None


class AbstractArray:
    """The type of an array: `shape`, NumPy `dtype`, `weak_type`, `ndim`, `size`, and on meshes with
    explicit axes how these divide the array.

    It is immutable and interned, so that equal types are usually one object.

    >>> hijax.ShapedArray((2, 3), np.float32)
    ShapedArray(float32[2,3])
    """

    __slots__ = ("__weakref__", "_mesh", "_varies", "dtype", "ir", "ndim", "shape", "size",
                 "weak_type")

    ir: TensorType | None    # the type in the IR; None for dtypes that the IR does not have
    shape: tuple[int, ...]
    dtype: np.dtype
    weak_type: bool
    ndim: int
    size: int
    _mesh: Any      # the mesh of an array replicated on it, no part of the type; mostly None
    _varies: Any    # a ManualAxisType or an object with `varies`; None for most types

    def __new__(cls, shape: Sequence[int], dtype: Any, weak_type: bool = False, *,
                sharding: Any = None) -> AbstractArray:
        if sharding is not None:
            return AbstractArray(shape, dtype, weak_type).placed(sharding)
        try:
            return _AVALS[shape, dtype, weak_type]  # type: ignore[index]
        except (KeyError, TypeError):
            pass
        shape = tuple([int(d) for d in shape])    # True and np.int64(1) are found as 1
        kept = dtype if type(dtype).__name__ == "KeyDType" else np.dtype(dtype)
        key = (shape, kept, bool(weak_type))
        self = _AVALS.get(key)
        if self is None:
            self = object.__new__(cls)
            put_field = object.__setattr__
            put_field(self, "shape", shape)
            put_field(self, "dtype", kept)
            put_field(self, "weak_type", bool(weak_type))
            put_field(self, "ndim", len(shape))
            put_field(self, "size", math.prod(shape))
            put_field(self, "ir", _ir_type(shape, kept))
            put_field(self, "_varies", None)
            put_field(self, "_mesh", None)
            if len(_AVALS) > 100_000:  # an unbounded number of shapes; `==` still holds
                _AVALS.clear()
            self = _AVALS.setdefault(key, self)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"the type of an array cannot be changed: {name!r} of {self}")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not AbstractArray:
            return NotImplemented
        return (self.shape, self.weak_type) == (other.shape, other.weak_type) and (
            self.dtype == other.dtype and self.axes is other.axes
        ) and (self._varies is other._varies or self.manual_axis_type == other.manual_axis_type)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))

    def __reduce__(self) -> tuple:
        return _divided, (self.shape, self.dtype, self.weak_type, self.axes,
                          None if self._varies is None else self.manual_axis_type)

    @property
    def axes(self) -> Sharding | None:
        """The explicit mesh axes that divide arrays of the type: a sharding of the IR, or None."""
        return None if self.ir is None else self.ir.sharding

    @property
    def memory_space(self) -> MemorySpace:
        """The memory in which arrays of the type are."""
        return MemorySpace.Host if self.axes is not None and self.axes.memory_kind is not None \
            else MemorySpace.Device

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """The axes of the `shard_map`s around over which values of the type vary.

        Raises: NotImplementedError where the axes are not known yet.
        """
        held = self._varies
        if type(held) is ManualAxisType:
            return held
        if self.ir is None or not self.ir.is_manual or self.axes is None:
            return INVARYING if held is None else ManualAxisType(varying=held.varies)
        spec = self.axes.spec
        return ManualAxisType(varying=frozenset() if held is None else held.varies,
                              unreduced=frozenset(spec.unreduced), reduced=frozenset(spec.reduced))

    mat = manual_axis_type

    def varying_as(self, held: Any) -> AbstractArray:
        """The same type for values that vary over other axes: those of a `ManualAxisType`, or those
        that `held.varies` gives when they are first read."""
        made = _copied(self)
        object.__setattr__(made, "_varies", held)
        return made

    def on_mesh(self, mesh: Any) -> AbstractArray:
        """A copy that remembers on which abstract mesh the array is replicated, for `typeof`."""
        made = _copied(self)
        object.__setattr__(made, "_mesh", mesh)
        return made

    def placed(self, sharding: Any) -> AbstractArray:
        """The type of arrays that lie as a sharding says; only its explicit axes are part of it."""
        axes = sharding if type(sharding) is Sharding else sharding._explicit(self.ndim) if hasattr(
            sharding, "_explicit") else None
        return self._over(None if axes is None else explicit(axes))

    def _over(self, axes: Sharding | None) -> AbstractArray:
        if axes is self.axes or self.ir is None:
            return self
        return _divided(self.shape, self.dtype, self.weak_type, axes, self._varies)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short()}{weak})"

    def __str__(self) -> str:
        return f"{'~' if self.weak_type else ''}{self.str_short()}"

    def __bool__(self) -> bool:    # `__len__` is that of the first axis
        return True

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of the type of an unsized object")
        return self.shape[0]

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type as text, `float32[3,4]`; with `short_dtypes` as in IR text, `f32[3,4]`."""
        is_float0 = getattr(self.dtype, "names", None) is not None    # dtypes of keys have none
        name = "float0" if is_float0 else (
            short_dtype_name(self.dtype) if short_dtypes else self.dtype.name)
        varies = "" if self._varies is None else self.manual_axis_type.text
        if self.ir is None or self.axes is None or self.ir.is_manual:
            varies = varies or self.manual_axis_type.text
            return f"{name}[{','.join(map(str, self.shape))}]{varies}"
        return name + str(self.ir).removeprefix(self.ir.dtype.name) + varies

    def update(
        self, shape: Sequence[int] | None = None, dtype: Any = None, weak_type: bool | None = None,
        sharding: Any = None
    ) -> AbstractArray:
        """The same type with some fields replaced."""
        made = AbstractArray(
            self.shape if shape is None else tuple(shape),
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
        )
        if sharding is not None or shape is None:
            made = made.placed(sharding or self.axes)
        return made if self._varies is None else made.varying_as(self._varies)

    @property
    def sharding(self) -> Any:
        """How explicit axes divide arrays of the type: a `NamedSharding` on the type's abstract
        mesh, or else on the one in context."""
        return import_module("xfront.sharding.named").of_type(self)     # it stands on this file

    def to_tangent_aval(self) -> AbstractArray:
        """The type of tangents: the same, or with dtype float0 where the dtype is not inexact."""
        inexact = self.ir is not None and self.ir.is_inexact
        made = self if inexact else AbstractArray(self.shape, _FLOAT0)
        return made if inexact or self._varies is None else made.varying_as(self._varies)

    at_least_vspace = to_ct_aval = to_tangent_aval
    is_high = has_qdd = False

    def normalize(self) -> AbstractArray:
        """The type itself."""
        return self

    def lo_ty(self) -> list[AbstractArray]:
        """The types of the parts of an array: its own."""
        return [self]

    def lower_val(self, val: Any) -> list[Any]:
        """The parts of an array: itself."""
        return [val]

    def raise_val(self, val: Any) -> Any:
        """The array of these parts: the one part."""
        return val

    def strip_weak_type(self) -> AbstractArray:
        """The same type, not weak."""
        return self.update(weak_type=False) if self.weak_type else self


_DIVIDED: dict[tuple, AbstractArray] = {}


def _divided(shape: tuple[int, ...], dtype: Any, weak_type: bool, axes: Sharding | None,
             varies: Any = None) -> AbstractArray:
    """The type of arrays that are divided over these axes; equal types are one object, except those
    of values that vary."""
    plain = AbstractArray(shape, dtype, weak_type)
    if varies is not None:
        return _divided(shape, dtype, weak_type, axes).varying_as(varies)
    if axes is None or plain.ir is None:
        return plain
    ir = plain.ir.over(axes)
    found = _DIVIDED.get((ir, plain.dtype, plain.weak_type))
    if found is None:
        found = _copied(plain)
        object.__setattr__(found, "ir", ir)
        found = _DIVIDED.setdefault((ir, plain.dtype, plain.weak_type), found)
    return found


def _copied(kind: AbstractArray) -> AbstractArray:
    made = object.__new__(AbstractArray)
    for name in ("shape", "dtype", "weak_type", "ndim", "size", "ir", "_mesh", "_varies"):
        object.__setattr__(made, name, getattr(kind, name))
    return made


def short_dtype_name(dtype: Any) -> str:
    """The short form of a dtype's name, such as `f32`; a name without a short form stays."""
    name = str(dtype.name)
    for long, short in (
        ("bfloat", "bf"),
        ("float", "f"),
        ("uint", "u"),
        ("int", "i"),
        ("complex", "c"),
    ):
        if name.startswith(long):
            return short + name[len(long) :]
    return name
