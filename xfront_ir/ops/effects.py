"""Calls of host functions from within a program, and an op that keeps a value from being dropped.

    callback(*operands) {slot, result_types, kind, ordered, vmap_method}

`slot` numbers the host function among those handed over when the program is compiled: the functions
themselves are no part of a program. Kinds: `pure` may be dropped or run twice; `io` runs as often
as the program says; `debug` has no results and no derivative. `ordered` calls run in the order of
the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..builder import Builder
from ..core import Op
from ..definition import NONE, ZERO
from ..errors import IRTypeError, IRValueError
from ..opdef import BOOL, SLOT, TYPES, define, enum, optional
from ..spreading import anyhow, spreads
from .batch_methods import METHODS, by_method

if TYPE_CHECKING:
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values


class NoBatching(IRValueError, NotImplementedError):
    """The error for a callback without a `vmap_method` that meets a batch."""


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


def _batch_callback(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                    ) -> Batched:
    kind, method = op.attrs["kind"], op.attrs.get("vmap_method")
    if op.attrs["ordered"] and kind == "io":      # `debug` calls run for each example, in order
        raise IRValueError(f"Cannot vmap an ordered {kind} callback: the examples of a batch have "
                           "no order. Use a scan, or make the callback unordered")
    if method is None and kind == "pure":
        raise NoBatching("vmap of a pure callback needs to know how the host function takes a "
                         "batch: pass vmap_method, one of " + ", ".join(map(repr, METHODS)))
    return by_method(b, op, operands, positions, axis[1], method)


callback = define("callback", attrs={"slot": SLOT, "result_types": TYPES,
                                     "kind": enum("pure", "io", "debug"), "ordered": BOOL,
                                     "vmap_method": optional(enum(*METHODS))},
                  infer=_infer_callback, single=False, jvp=_jvp_callback, transpose=NONE,
                  batch=_batch_callback, effects=lambda attrs: attrs["kind"] != "pure")


# --- dce_sink -----------------------------------------------------------------------------

def _batch_sink(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    b.emit(dce_sink, *operands, **op.attrs)
    return (), ()


dce_sink = define("dce_sink", attrs={"prevent_mlir_dce": BOOL}, operands=1, single=False,
                  infer=lambda types, attrs: (), jvp=ZERO, transpose=NONE, batch=_batch_sink,
                  effects=True, family=__name__)
"""Uses a value, so that programs keep it; with `prevent_mlir_dce` compilers keep it too."""


spreads(anyhow, callback, dce_sink)
