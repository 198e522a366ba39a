"""Estimates of what a function costs, from its operations and sizes alone, before XLA sees it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NoReturn

from xfront_ir.cost import cost, size_in_bytes
from xfront_ir.passes.inline import inline_calls

from ..base.on_demand import shown as _shown
from ..transforms.autodiff import vjp as _vjp
from ..transforms.flat import name_of
from ..transforms.inspection import shapes_of, trace_for
from ..values.arguments import only


@dataclasses.dataclass(frozen=True, kw_only=True)
class RooflineShape:
    """A shape and a dtype, and how large arrays of these are.

    >>> roofline.RooflineShape(shape=(2, 3), dtype=np.dtype("float32")).bytes
    24
    """

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def from_aval(cls, aval: Any) -> RooflineShape:
        """Those of a type of arrays. Raises: TypeError for another type."""
        if not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
            raise TypeError(f"Expected a type of arrays, got {aval!r}.")
        return cls(shape=tuple(aval.shape), dtype=aval.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return functools.reduce(lambda n, d: n * d, self.shape, 1)

    @property
    def bytes(self) -> int:
        """The size in bytes."""
        return self.size * self.dtype.itemsize

    @classmethod
    def total_bytes(cls, avals: Any) -> int:
        """The bytes of arrays of these types together."""
        return sum(cls.from_aval(aval).bytes for aval in avals)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RooflineResult:
    """The estimated costs of a call.

    Fields: `flops`, scalar operations; `hbm_bytes`, bytes of the arguments and the results, which a
    program that is one fusion reads and writes; `unfused_flops` and `unfused_hbm_bytes`, where each
    operation reads its operands and writes its results; `peak_hbm_bytes`, bytes alive at the worst
    moment. `ici_bytes` and `ici_latency`, of exchanges between devices, are empty.

    >>> (roofline.RooflineResult(flops=2) + roofline.RooflineResult(flops=3)).flops
    5
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: dict[str, int] = dataclasses.field(default_factory=dict)
    ici_latency: dict[str, int] = dataclasses.field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0

    @classmethod
    def zeros(cls) -> RooflineResult:
        """That of nothing."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        """That of one call after the other."""
        sums = {f: getattr(self, f) + getattr(other, f) for f in (
            "flops", "unfused_flops", "hbm_bytes", "unfused_hbm_bytes")}
        return RooflineResult(**sums, peak_hbm_bytes=max(self.peak_hbm_bytes,
                                                         other.peak_hbm_bytes))


def roofline(f: Callable[..., Any], mesh: None = None, in_specs: None = None,
             out_specs: None = None, *, pin_lhs_in_vmem: bool = False,
             pin_rhs_in_vmem: bool = False, vjp: bool = False, print_jaxpr: bool = False
             ) -> Callable[..., tuple[Any, RooflineResult]]:
    """A function of the arguments of `f` that returns what `f` returns, as ShapeDtypeStructs, and
    what it costs. The estimate is that of `xfront_ir.cost`: a loop counts once a turn where the
    number of turns is known, and of branches the dearest counts.

    Args:
      f: a function of arrays and trees; ShapeDtypeStructs may stand for its arguments.
      mesh, in_specs, out_specs: None only; exchanges between devices are not estimated.
      pin_lhs_in_vmem, pin_rhs_in_vmem: False only; XLA chooses what is in fast memory.
      vjp: whether the cost is that of the gradient by all arguments, of `f` and back.
      print_jaxpr: whether the program is printed.
    Raises: NotImplementedError for another mesh, specs and pins.

    >>> shape, found = roofline.roofline(jnp.matmul)(jnp.ones((4, 8)), jnp.ones((8, 2)))
    >>> shape.shape, found.flops, found.hbm_bytes
    ((4, 2), 128, 224)
    """
    only("roofline", None, "exchanges between devices are not estimated: give the function of one "
         "device's part", mesh=mesh, in_specs=in_specs, out_specs=out_specs)
    only("roofline", False, "XLA chooses what is in fast memory", pin_lhs_in_vmem=pin_lhs_in_vmem,
         pin_rhs_in_vmem=pin_rhs_in_vmem)

    def estimated(*args: Any) -> tuple[Any, RooflineResult]:
        def back(*args: Any) -> Any:
            value, pull = _vjp(f, *args)
            return pull(value)

        flat, leaves = trace_for(back if vjp else f, args, {}, set(), "roofline")
        if print_jaxpr:
            print(flat.function)
        return shapes_of(flat, leaves), _result(flat.function)

    estimated.__name__ = name_of(f)
    return estimated


def _result(function: Any) -> RooflineResult:
    made = inline_calls(function)
    found = cost(made)
    ends = sum([size_in_bytes(v.type) for v in (*made.params, *made.returns)])
    return RooflineResult(flops=found.flops, unfused_flops=found.flops, hbm_bytes=ends,
                          peak_hbm_bytes=found.peak, unfused_hbm_bytes=found.bytes)


def roofline_and_grad(f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any,
                      **_: Any) -> NoReturn:
    """Refuse an estimate for several devices. Raises: NotImplementedError."""
    raise NotImplementedError("roofline_and_grad: exchanges between devices are not estimated; "
                              "write roofline(f)(*args) and roofline(f, vjp=True)(*args) for the "
                              "function of one device's part")


def register_roofline(prim: Any) -> NoReturn:
    """Refuse a rule for the cost of an operation. Raises: NotImplementedError."""
    raise NotImplementedError(f"register_roofline: what {prim} costs is part of its definition; an "
                              "operation of your own costs what its lower_fun does")


register_standard_roofline = register_roofline

__all__ = ["RooflineResult", "RooflineShape", "register_roofline", "register_standard_roofline",
           "roofline", "roofline_and_grad"]
__dir__ = _shown(globals())
