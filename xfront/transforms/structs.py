"""Shapes and dtypes that stand for arrays: `ShapeDtypeStruct`, and functions to trace with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes
from xfront_ir.types import TensorType, tensor

from .. import binding
from ..base.trees import tree_map, tree_unflatten
from ..binding.manual_axes import INVARYING, ManualAxisType
from ..binding.partition_spec import PartitionSpec
from ..eager.operands import shape_of
from ..sharding.context import context_mesh, get_abstract_mesh
from ..tracing.following import varies
from ..tracing.regions import regions
from ..tracing.trace import state
from ..values.arguments import only
from ..values.formats import Format, Layout, check_layout
from ..values.keys import key_dtype
from ..values.refs import Ref
from .flat import kind_of


class ShapeDtypeStruct:
    """A shape and a dtype without elements: an argument of `eval_shape`, `lower` and `trace`.

    Args:
      shape: sequence of ints.
      dtype: a dtype, or anything that `numpy.dtype` takes.
      sharding: how such an array lies, a Sharding, a Format, or a PartitionSpec on the mesh in
        context; None leaves it open.
      weak_type: whether the dtype gives way in promotion.
      manual_axis_type: the ManualAxisType with the axes of `shard_map` over which the array varies;
        None means no axes.
      vma: the set of those axes, as an older spelling.
      is_ref: False only.
    Raises: ValueError without a dtype, or for another `sharding`; TypeError for a PartitionSpec
      without a mesh in context, and for another `manual_axis_type`; NotImplementedError for
      `is_ref`.

    >>> xfront.ShapeDtypeStruct((2, 3), np.float32).ndim
    2
    """

    __slots__ = ("_layout", "dtype", "manual_axis_type", "shape", "sharding", "weak_type")

    def __init__(self, shape: Sequence[int], dtype: Any, *, sharding: Any = None,
                 weak_type: bool = False, manual_axis_type: ManualAxisType | None = None,
                 vma: Any = None, is_ref: bool = False) -> None:
        if vma is not None:                      # the older spelling
            manual_axis_type = ManualAxisType(varying=vma)
        if manual_axis_type is not None and not isinstance(manual_axis_type, ManualAxisType):
            raise TypeError("`manual_axis_type` argument passed to ShapeDtypeStruct should be of "
                            "type `xfront.sharding.ManualAxisType`. Got type "
                            f"{type(manual_axis_type)}")
        only("ShapeDtypeStruct", False, "use xfront.ref for mutable arrays", is_ref=is_ref)
        self._layout = None
        if isinstance(sharding, Format):
            self._layout, sharding = sharding.layout, sharding.sharding
        if isinstance(sharding, PartitionSpec):
            mesh = context_mesh() or get_abstract_mesh()
            if mesh.empty:
                raise TypeError(f"ShapeDtypeStruct: {sharding!r} is of no mesh, and none is in "
                                "context; write sharding=NamedSharding(mesh, spec), or `with "
                                "xfront.set_mesh(mesh)`")
            sharding = binding.NamedSharding(mesh, sharding)
        if sharding is not None and not isinstance(sharding, binding.Sharding):
            raise ValueError(f"ShapeDtypeStruct: sharding must be a Sharding or None, got "
                             f"{sharding!r} of type {type(sharding).__name__}")
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape = tuple(shape)
        self.dtype = dtype if hasattr(dtype, "ir") else binding.canonical_dtype(np.dtype(dtype))
        self.sharding, self.weak_type = sharding, weak_type
        self.manual_axis_type = manual_axis_type or INVARYING
        if type(sharding) is binding.NamedSharding and len(sharding.spec) > len(self.shape):
            sharding.shard_shape(self.shape)     # raises: the spec has too many entries
        if sharding is not None and isinstance(self._layout, Layout):
            check_layout("ShapeDtypeStruct", self._layout, sharding, self.shape, self.dtype)

    @staticmethod
    def like(x: Any) -> ShapeDtypeStruct:
        """The shape and the dtype of an array, or of any object that has both."""
        placed = getattr(x, "sharding", None)
        kept = placed if isinstance(placed, binding.Sharding) and getattr(
            x, "committed", True) else None
        return ShapeDtypeStruct(x.shape, x.dtype, sharding=kept,
                                weak_type=bool(getattr(x, "weak_type", False)),
                                manual_axis_type=ManualAxisType(varying=varies(x)))

    @property
    def varies(self) -> frozenset[str]:
        """The axes of `shard_map`s over which such an array varies."""
        return self.manual_axis_type.varying

    @property
    def format(self) -> Format:
        """The layout and the sharding that were given."""
        return Format(self._layout, self.sharding)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return binding.AbstractArray(self.shape, self.dtype).size

    @property
    def aval(self) -> Any:
        """The same facts as the type of an array."""
        made = binding.AbstractArray(self.shape, self.dtype, self.weak_type, sharding=self.sharding)
        return made if self.manual_axis_type.empty else made.varying_as(self.manual_axis_type)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """A copy with some fields changed."""
        placed = self.sharding if self._layout is None else self.format
        fields = {"shape": self.shape, "dtype": self.dtype, "sharding": placed,
                  "weak_type": self.weak_type, "manual_axis_type": self.manual_axis_type, **changes}
        return ShapeDtypeStruct(**fields)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        placed = f", sharding={self.sharding}" if self.sharding is not None else ""
        if self._layout is not None:
            placed += f", format={self._layout}"
        name = getattr(self.dtype, "name", self.dtype)
        manual = self.manual_axis_type
        varied = "" if manual.empty else f", manual_axis_type={manual!r}"
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name}{placed}{weak}{varied})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (
            self.shape, self.dtype, self.sharding, self.weak_type, self.manual_axis_type,
            self._layout) == (other.shape, other.dtype, other.sharding, other.weak_type,
                              other.manual_axis_type, other._layout)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.sharding, self.weak_type))


def shape_struct(ir_type: Any, weak: bool) -> ShapeDtypeStruct:
    """The struct of an IR type."""
    dtype = key_dtype(ir_type.dtype) if ir_type.dtype.is_key else ir_type.dtype.numpy
    axes = ir_type.sharding
    place = None
    if axes is not None and axes.mesh.names:
        place = binding.AbstractArray(ir_type.shape, dtype, sharding=axes).sharding
    return ShapeDtypeStruct(ir_type.shape, dtype, weak_type=weak, sharding=place)


def filled(tree: Any, types: Sequence[TensorType]) -> Any:
    """The tree with leaves of these types, for a look at its structure where there are no values.

    Classes of users may look at what they are made of, or convert it: it has a shape, a dtype and
    elements, which are zeros in one place of memory.
    """
    return tree_unflatten(tree, [
        shape_struct(t, False) if t.dtype.is_key else
        np.broadcast_to(np.zeros((), t.dtype.numpy), t.shape) for t in types])


def with_arrays(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun` with an array for each `ShapeDtypeStruct` that it returns."""
    if not callable(fun):
        return fun

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        return tree_map(_empty_like, fun(*args, **kwargs))

    return call


def _empty_like(x: Any) -> Any:
    around = state.current
    if not isinstance(x, ShapeDtypeStruct) or around is None or hasattr(x.dtype, "ir"):
        return x
    return around.literal(np.zeros((), x.dtype), x.shape, x.weak_type)


def _sizes(name: str, shape: Any) -> tuple[int, ...]:
    """A shape as ints. Raises: as `shape_of`; what a symbolic dimension raises where its number is
    asked for."""
    try:
        return shape_of(shape, f"{name}: shape")
    except TypeError:
        for d in shape if isinstance(shape, tuple) else ():
            if not isinstance(d, str):
                int(d)
        raise


def struct_kind(name: str, x: Any) -> tuple[Any, bool]:
    """IR type and weakness of an array or of anything with shape and dtype."""
    if not isinstance(x, (binding.Array, Ref)) and hasattr(x, "shape") and hasattr(x, "dtype") \
            and not hasattr(x, "__array__"):
        ir = x.dtype.ir if hasattr(x.dtype, "ir") else dtypes.from_numpy(
            binding.canonical_dtype(np.dtype(x.dtype)))
        axes = getattr(getattr(x, "sharding", None), "_explicit", lambda ndim: None)(len(x.shape))
        if more := varies(x).difference([a for r in regions() for a in r.axes]):
            raise ValueError(f"{name}: {x} varies over {', '.join(map(repr, sorted(more)))}, but "
                             "only values inside a shard_map over these axes can vary over them")
        type_ = tensor(_sizes(name, x.shape), ir)
        return type_.over(axes), getattr(x, "weak_type", False)
    return kind_of(name, x)


__all__ = ["ShapeDtypeStruct", "filled", "shape_struct", "struct_kind", "with_arrays"]
