"""Lowering of host calls, to custom calls whose index picks a callable given at compile time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lowering.context import RuleContext, rule
from lowering.partitioning import FIRST_DEVICE
from lowering.rules.control import open_token
from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.sharding import Sharding, replicated
from xfront_ir.types import TensorType

TARGETS = {"cpu": "xla_ffi_python_cpu_callback", "cuda": "xla_ffi_python_gpu_callback",
           "rocm": "xla_ffi_python_gpu_callback"}


@dataclass(frozen=True)
class CallbackSpec:
    """What the runtime must know of one host call: its slot, its result types, its ordering."""

    slot: int
    result_types: tuple[TensorType, ...]
    ordered: bool


def _row_major(types: tuple[TensorType, ...], ordered: bool) -> str:
    ranks = [t.ndim + len(t.dtype.physical) for t in types]
    layouts = [f"dense<{list(range(r - 1, -1, -1)) if r else ''}> : tensor<{r}xindex>"
               for r in ([0, *ranks] if ordered else ranks)]
    return f"[{', '.join(layouts)}]"


@rule(ops.callback)
def _callback(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    attrs = op.attrs
    target = TARGETS.get(ctx.platform)
    if target is None:
        raise NotImplementedError(f"host callbacks are not supported on {ctx.platform}")
    ordered, types = attrs["ordered"], tuple([v.type for v in op.results])
    given, wanted = list(operands), list(types)
    if ordered:
        given.insert(0, open_token(ctx))
        wanted.insert(0, ctx.token_type)
    shared = ctx.is_shared
    if shared and ordered:
        raise NotImplementedError("ordered host callbacks are not supported in programs on several "
                                  "devices; leave out ordered=True")
    index = ctx.add_callback(CallbackSpec(int(attrs["slot"]), types, ordered))
    made = ctx.create(
        "stablehlo.custom_call", given, wanted, call_target_name=ctx.string(target),
        api_version=ctx.i32(4), has_side_effect=ctx.bool(attrs["kind"] != "pure"),
        backend_config=ctx.attr(f"{{index = {index} : ui64}}"),
        operand_layouts=ctx.attr(_row_major(tuple([v.type for v in op.operands]), ordered)),
        result_layouts=ctx.attr(_row_major(types, ordered)),
        **(_first_device(ctx, len(types)) if shared else {}))
    made = made if isinstance(made, list) else [made]
    if ordered:
        ctx.token = made.pop(0)
    return [_for_all_devices(ctx, x, t)
            for x, t in zip(made, types, strict=True)] if shared else made


def _first_device(ctx: RuleContext, results: int) -> dict[str, Any]:
    """The attribute that has the first of several devices make a call, with whole values."""
    first = f"<@{ctx.module.mesh(FIRST_DEVICE)}, []>"
    return {"sdy.sharding": ctx.shardings([first] * max(results, 1))}


def _for_all_devices(ctx: RuleContext, x: Any, type: TensorType) -> Any:
    """A value of the first device, replicated to all devices."""
    everywhere = Sharding(ctx.module.partition.mesh, replicated(type.ndim))
    return ctx.create("sdy.sharding_constraint", [x], [type],
                      sharding=ctx.sharding(everywhere, type))


@rule(ops.dce_sink)
def _dce_sink(ctx: RuleContext, op: Op, x: Any) -> Any:
    if op.attrs["prevent_mlir_dce"]:
        ctx.create("stablehlo.custom_call", [x], [], call_target_name=ctx.string("dce_sink"),
                   api_version=ctx.i32(4), has_side_effect=ctx.bool(True),
                   backend_config=ctx.attr("{}"))
    return []
