"""ffi_call: a compiled function that a program registered with XLA under a name.

    ffi_call(*operands) {target_name, result_types, config, ...} -> results

The IR does not know what the function computes, so the op has no derivative, and a batch is passed
to it as `vmap_method` says (`batch_methods.py`).

`config` holds the attributes of the call besides its operands: MLIR's text of a dictionary for
`custom_call_api_version` 4, any text for earlier versions. `input_layouts` and `output_layouts`
list the axes of each operand and result from the slowest to the fastest in memory.
`input_output_aliases` has pairs (operand, result) that share their memory. A call without
`has_side_effect` may be dropped or shared like any other op.

Source: StableHLO spec, `custom_call`; XLA, "Custom calls".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..builder import Builder
from ..core import Op
from ..definition import NONE
from ..errors import IRTypeError, IRValueError
from ..opdef import BOOL, INT, INTS, STR, TREE, TYPES, define, enum, optional
from ..spreading import anyhow, spreads
from .batch_methods import METHODS, by_method
from .effects import NoBatching

if TYPE_CHECKING:
    from ..rules import Attrs, Axis, Batched, NewTangents, Tangents, Types, Values

APIS = (1, 2, 3, 4)


def _infer_ffi_call(types: Types, attrs: Attrs) -> Types:
    target, results = attrs["target_name"], attrs["result_types"]
    if not target or attrs["custom_call_api_version"] not in APIS:
        raise IRTypeError(f"ffi_call takes a target and a custom_call_api_version of {APIS}, got "
                          f"{target!r} and {attrs['custom_call_api_version']}")
    _check_layouts("input_layouts", attrs["input_layouts"], types)
    _check_layouts("output_layouts", attrs["output_layouts"], results)
    seen: set[Any] = set()
    for pair in attrs["input_output_aliases"]:
        i, k = pair if INTS.accepts(pair) and len(pair) == 2 else (-1, -1)
        if not (0 <= i < len(types) and 0 <= k < len(results) and types[i] is results[k]) or (
                not seen.isdisjoint((("in", i), ("out", k)))):
            raise IRTypeError(f"ffi_call @{target}: input_output_aliases must have pairs of an "
                              f"operand and a result of the same type, each at most once; got "
                              f"{pair} for {_listed(types)} and {_listed(results)}")
        seen |= {("in", i), ("out", k)}
    return results


def _listed(types: Sequence[Any]) -> str:
    return f"({', '.join(map(str, types))})"


def _check_layouts(name: str, layouts: Any, types: Types) -> None:
    if len(layouts) != len(types):
        raise IRTypeError(f"ffi_call: {name} has {len(layouts)} layouts for {len(types)} arrays")
    for layout, t in zip(layouts, types, strict=True):
        if not INTS.accepts(layout) or sorted(layout) != list(range(t.ndim)):
            raise IRTypeError(f"ffi_call: {name} must have a permutation of the {t.ndim} axes of "
                              f"{t}, got {layout}")


def _jvp_ffi_call(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    where = f" (at {op.loc})" if op.loc is not None else ""
    raise IRValueError(f"The FFI call to `{op.attrs['target_name']}` cannot be differentiated"
                       f"{where}: wrap it in a function with custom_jvp or custom_vjp, or apply "
                       "stop_gradient to its inputs")


def _batch_ffi_call(b: Builder, op: Op, operands: Values, positions: Any, axis: Axis) -> Batched:
    attrs = op.attrs
    method, target = attrs.get("vmap_method"), attrs["target_name"]
    if method is None:
        raise NoBatching(f"vmap of the FFI call to `{target}` needs to know how the function takes "
                         "a batch: pass vmap_method, one of " + ", ".join(map(repr, METHODS)))

    def changed(longer: list[bool]) -> dict[str, Any]:
        for i, k in attrs["input_output_aliases"]:
            if positions[i] is None and method != "broadcast_all":
                raise IRValueError(
                    f"vmap of the FFI call to `{target}`: operand {i} shares its memory with "
                    f"result {k}, but has no batch with vmap_method={method!r}; write "
                    "'broadcast_all' or 'sequential'")
        return {"input_layouts": tuple([_behind_batch(x) if new else x for x, new in zip(
                    attrs["input_layouts"], longer, strict=True)]),
                "output_layouts": tuple(map(_behind_batch, attrs["output_layouts"]))}

    return by_method(b, op, operands, positions, axis[1], method, changed)


def _behind_batch(layout: tuple[int, ...]) -> tuple[int, ...]:
    """The layout of an array of such arrays, one behind the other."""
    return (0, *[d + 1 for d in layout])


ffi_call = define("ffi_call", attrs={
    "target_name": STR, "result_types": TYPES, "config": STR, "has_side_effect": BOOL,
    "vmap_method": optional(enum(*METHODS)), "input_layouts": TREE, "output_layouts": TREE,
    "input_output_aliases": TREE, "custom_call_api_version": INT},
    infer=_infer_ffi_call, single=False, jvp=_jvp_ffi_call, transpose=NONE, batch=_batch_ffi_call,
    effects=lambda attrs: attrs["has_side_effect"])

spreads(anyhow, ffi_call)
