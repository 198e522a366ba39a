"""Lowering of host calls.

On CPU and GPU they are custom calls whose index picks a callable given at compile time. A TPU sends
the operands to its host and receives the results from it, each by a channel of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lowering.context import RuleContext, rule
from lowering.partitioning import FIRST_DEVICE
from lowering.rules.control import open_token
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.sharding import Sharding, replicated
from xfront_ir.types import TensorType, tensor

TARGETS = {"cpu": "xla_ffi_python_cpu_callback", "cuda": "xla_ffi_python_gpu_callback",
           "rocm": "xla_ffi_python_gpu_callback"}


TO_HOST, FROM_HOST = 2, 3
"""Channel types of the StableHLO specification, `send` and `recv`."""

NO_OPERAND, NO_RESULT = tensor((1,), dtypes.f32), tensor((), dtypes.f32)
"""What is sent and received where a host call has no operands, or no results."""


Channels = tuple[tuple[int, TensorType], ...]
"""The number of each channel and the type of what goes through it."""


@dataclass(frozen=True)
class CallbackSpec:
    """The facts about one host call that the runtime needs: its slot, its types, its ordering.
    `sends` and `receives` are the channels of a call by transfers, at least one each. A call that
    the lowering of a user's primitive makes has its `function` here, and no slot."""

    slot: int
    operand_types: tuple[TensorType, ...]
    result_types: tuple[TensorType, ...]
    ordered: bool
    sends: Channels = ()
    receives: Channels = ()
    function: Callable[..., Any] | None = None


def _row_major(types: tuple[TensorType, ...], ordered: bool) -> str:
    ranks = [t.ndim + len(t.dtype.physical) for t in types]
    layouts = [f"dense<{list(range(r - 1, -1, -1)) if r else ''}> : tensor<{r}xindex>"
               for r in ([0, *ranks] if ordered else ranks)]
    return f"[{', '.join(layouts)}]"


@rule(ops.callback)
def _callback(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    attrs = op.attrs
    spec = CallbackSpec(int(attrs["slot"]), tuple([v.type for v in op.operands]),
                        tuple([v.type for v in op.results]), attrs["ordered"])
    return host_call(ctx, spec, attrs["kind"] != "pure", operands)


def host_call(ctx: RuleContext, spec: CallbackSpec, has_effect: bool, operands: Sequence[Any]
              ) -> list[Any]:
    """The results of a host call. Raises: NotImplementedError where the platform has none, and for
    ordered ones on several devices."""
    if ctx.is_shared and spec.ordered:
        raise NotImplementedError("ordered host callbacks are not supported in programs on several "
                                  "devices; leave out ordered=True")
    if ctx.platform == "tpu":
        made = _transferred(ctx, spec, operands)
    elif ctx.platform in TARGETS:
        made = _called(ctx, spec, has_effect, operands)
    else:
        raise NotImplementedError(f"host callbacks are not supported on {ctx.platform}")
    return [_for_all_devices(ctx, x, t) for x, t in zip(made, spec.result_types, strict=True)
            ] if ctx.is_shared else made


def _called(ctx: RuleContext, spec: CallbackSpec, has_effect: bool, operands: Sequence[Any]
            ) -> list[Any]:
    """The results of a custom call."""
    given, wanted = list(operands), list(spec.result_types)
    if spec.ordered:
        given.insert(0, open_token(ctx))
        wanted.insert(0, ctx.token_type)
    index = ctx.add_callback(spec)
    made = ctx.create(
        "stablehlo.custom_call", given, wanted, call_target_name=ctx.string(TARGETS[ctx.platform]),
        api_version=ctx.i32(4), has_side_effect=ctx.bool(has_effect),
        backend_config=ctx.attr(f"{{index = {index} : ui64}}"),
        operand_layouts=ctx.attr(_row_major(spec.operand_types, spec.ordered)),
        result_layouts=ctx.attr(_row_major(spec.result_types, spec.ordered)),
        **(_first_device(ctx, len(spec.result_types)) if ctx.is_shared else {}))
    made = made if isinstance(made, list) else [made]
    if spec.ordered:
        ctx.token = made.pop(0)
    return made


def _transferred(ctx: RuleContext, spec: CallbackSpec, operands: Sequence[Any]) -> list[Any]:
    """The results that the host sends back when it has received all operands.

    One token goes through all transfers of a call, which keeps their order; calls that are ordered
    among each other share it.
    """
    token = open_token(ctx) if spec.ordered else ctx.create(
        "stablehlo.create_token", [], [ctx.token_type])
    sends = tuple([(ctx.next_channel(), t) for t in spec.operand_types or [NO_OPERAND]])
    receives = tuple([(ctx.next_channel(), t) for t in spec.result_types or [NO_RESULT]])
    given = operands or [ctx.constant(0.0, NO_OPERAND)]
    for x, (channel, _) in zip(given, sends, strict=True):
        token = ctx.create("stablehlo.send", [x, token], [ctx.token_type],
                           **_transfer(ctx, channel, TO_HOST, 1))
    made = []
    for channel, wanted in receives:
        x, token = ctx.create("stablehlo.recv", [token], [wanted, ctx.token_type],
                              **_transfer(ctx, channel, FROM_HOST, 2))
        made.append(x)
    if spec.ordered:
        ctx.token = token
    ctx.add_callback(replace(spec, sends=sends, receives=receives))
    return made[:len(spec.result_types)]


def _transfer(ctx: RuleContext, channel: int, kind: int, results: int) -> dict[str, Any]:
    """The attributes of a transfer, by which the runtime finds the host's function."""
    return {
        "channel_handle": ctx.attr(
            f"#stablehlo.channel_handle<handle = {channel}, type = {kind}>"),
        "is_host_transfer": ctx.bool(True),
        "mhlo.frontend_attributes": ctx.attr(
            '{_xla_host_transfer_handler_name = "pjrt_rendezvous", '
            f'_xla_host_transfer_rendezvous = "{channel}"}}'),
        **(_first_device(ctx, results) if ctx.is_shared else {})}


def _first_device(ctx: RuleContext, results: int) -> dict[str, Any]:
    """The attribute by which the first of several devices makes a call, with undivided values."""
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
