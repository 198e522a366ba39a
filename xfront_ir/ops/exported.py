"""call_exported: a call of a program that was exported, StableHLO that has left the IR.

Attributes: `module` holds the bytes of a portable artifact (`lowering/artifacts.py`), `platforms`
are those that it was written for, in its order, `params` and `results` its types. On another
platform the lowering refuses, unless `anywhere`: then the first one's program runs.

The program inside has no ops, so the call has neither derivative nor batching: who exported it may
store the program of its cotangents beside it (`xfront/export`), as a rule around the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..definition import NONE
from ..errors import IRTypeError
from ..opdef import BOOL, LITERAL, NAMES, STR, TYPES, define
from ..spreading import anyhow, spreads
from ..types import plain

if TYPE_CHECKING:
    from ..rules import Attrs, Types


def _infer_call_exported(types: Types, attrs: Attrs) -> Types:
    module = attrs["module"]
    if module.array.ndim != 1 or module.array.dtype.name != "uint8" or not attrs["platforms"]:
        raise IRTypeError("call_exported takes a module, which is a vector of bytes, and platforms,"
                          f" got {module.type} and {attrs['platforms']}")
    if plain(types) != plain(attrs["params"]):
        raise IRTypeError(f"call_exported: @{attrs['name']} takes {[*map(str, attrs['params'])]}, "
                          f"got {[*map(str, types)]}")
    return attrs["results"]


def _batch_call_exported(b: Any, op: Any, operands: Any, positions: Any, axis: Any) -> Any:
    raise NotImplementedError(
        f"Batching rule for 'call_exported' not implemented: {op.attrs['name']} was exported for "
        "arguments without the mapped axis. Export vmap of the function, or write lax.map")


call_exported = define("call_exported", infer=_infer_call_exported, single=False, jvp=NONE,
                       batch=_batch_call_exported, attrs={
                           "name": STR, "module": LITERAL, "platforms": NAMES, "params": TYPES,
                           "results": TYPES, "anywhere": BOOL})
"""(operands) -> the results of the exported program."""

spreads(anyhow, call_exported)
