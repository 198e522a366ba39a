"""Calls of host functions from within a program, and an op that keeps a value from being dropped.

    callback(*operands) {slot, result_types, kind, ordered, vmap_method}

`slot` numbers the host function among those handed over when the program is compiled: the functions
themselves are no part of a program. Kinds: `pure` may be dropped or run twice; `io` runs as often
as the program says; `debug` has no results and no derivative. `ordered` calls run in the order of
the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..builder import Builder
from ..core import Op, Value
from ..errors import IRTypeError, IRValueError
from ..opdef import BOOL, NONE, SLOT, TYPES, ZERO, define, enum, lookup, optional
from ..spreading import anyhow, spreads
from ..types import tensor
from .families import move_batch

if TYPE_CHECKING:
    from ..rules import Attrs, Axis, Batched, NewTangents, Tangents, Types, Values

METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all")
"""How a batch reaches the host: one call per example, or one call with the batch axis in front. In
that call the axis has size 1 or full size for unbatched operands."""


class NoBatching(IRValueError, NotImplementedError):
    """A callback that was not told how to treat a batch."""


def _infer_callback(types: Types, attrs: Attrs) -> Types:
    if attrs["kind"] == "debug" and attrs["result_types"]:
        raise IRTypeError("callback: a debug callback cannot have results")
    if attrs["kind"] == "pure" and attrs["ordered"]:
        raise IRTypeError("callback: a pure callback cannot be ordered")
    return attrs["result_types"]


def _jvp_callback(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    kind = op.attrs["kind"]
    if kind == "debug":
        return ()
    where = f" (at {op.loc})" if op.loc is not None else ""
    raise IRValueError(
        f"{kind.capitalize()} callbacks do not support JVP: the derivative of a host function is "
        f"not known{where}. Define one with custom_jvp or custom_vjp, or apply stop_gradient to "
        "its inputs")


def _batch_callback(b: Builder, op: Op, operands: Values, positions: Any, axis: Axis) -> Batched:
    kind, method = op.attrs["kind"], op.attrs.get("vmap_method")
    if op.attrs["ordered"]:
        raise IRValueError(f"Cannot vmap an ordered {kind} callback: the examples of a batch have "
                           "no order. Use a scan, or make the callback unordered")
    if method is None and kind == "pure":
        raise NoBatching("vmap of a pure callback needs to know how the host function takes a "
                         "batch: pass vmap_method, one of " + ", ".join(map(repr, METHODS)))
    if method in ("expand_dims", "broadcast_all"):
        return _batch_at_once(b, op, operands, positions, axis[1], method == "expand_dims")
    unroll = axis[1] if method == "sequential_unrolled" else 1
    return _batch_by_example(b, op, operands, positions, axis[1], unroll)


def _batch_at_once(b: Builder, op: Op, operands: Any, positions: Any, size: int, expand: bool
                   ) -> Any:
    given = [_in_front(b, v, p, 1 if expand else size) for v, p in
             zip(operands, positions, strict=True)]
    types = tuple([tensor((size, *t.shape), t.dtype) for t in op.attrs["result_types"]])
    made = b.emit(callback, *given, **{**op.attrs, "result_types": types})
    return made, (0,) * len(types)


def _in_front(b: Builder, value: Value, position: int | None, size: int) -> Value:
    if position is None:
        return move_batch(b, value, None, 0, size)
    return move_batch(b, value, position, 0, value.type.shape[position])


def _batch_by_example(b: Builder, op: Op, operands: Any, positions: Any, size: int, unroll: int
                      ) -> Any:
    inner = Builder("example")
    inner.loc = op.loc
    params = [inner.param(v.type) for v, p in zip(operands, positions, strict=True) if p is None]
    batched = [inner.param(v.type) for v in op.operands]
    own = iter(params)
    kept = [next(own) if p is None else v for v, p in zip(batched, positions, strict=True)]
    inner.params = [*params, *[v for v, p in zip(batched, positions, strict=True)
                               if p is not None]]
    inner.param_names, inner.weak_params = [], []
    body = inner.close(inner.emit(callback, *kept, **op.attrs))
    consts = [v for v, p in zip(operands, positions, strict=True) if p is None]
    xs = [move_batch(b, v, p, 0, size) for v, p in zip(operands, positions, strict=True)
          if p is not None]
    scan = lookup("scan")
    made = scan.regions.emit(b.emit, scan, (consts, (), xs), body=body, length=size, reverse=False,
                             unroll=unroll)
    return made, (0,) * len(made)


callback = define("callback", attrs={"slot": SLOT, "result_types": TYPES,
                                     "kind": enum("pure", "io", "debug"), "ordered": BOOL,
                                     "vmap_method": optional(enum(*METHODS))},
                  infer=_infer_callback, single=False, jvp=_jvp_callback, transpose=NONE,
                  batch=_batch_callback, effects=lambda attrs: attrs["kind"] != "pure")


# --- dce_sink -----------------------------------------------------------------------------

def _batch_sink(b: Builder, op: Op, operands: Values, positions: Any, axis: Axis) -> Batched:
    b.emit(dce_sink, *operands, **op.attrs)
    return (), ()


dce_sink = define("dce_sink", attrs={"prevent_mlir_dce": BOOL}, operands=1, single=False,
                  infer=lambda types, attrs: (), jvp=ZERO, transpose=NONE, batch=_batch_sink,
                  effects=True, family=__name__)
"""Uses a value, so that programs keep it; with `prevent_mlir_dce` compilers keep it too."""


spreads(anyhow, callback, dce_sink)
