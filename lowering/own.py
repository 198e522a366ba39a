"""Lowerings that programs write for their own ops, in MLIR's Python bindings.

`written_in_mlir(definition, write)`: `write(place, op, values)` creates ops at the current
insertion point and returns the MLIR values of the op's results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from xfront_ir.core import Op
from xfront_ir.definition import OpDef
from xfront_ir.types import TensorType

from .attributes import attribute_text
from .context import RuleContext, element_text, mlir_context, rule


class Place(NamedTuple):
    """The place at which an op is lowered. `require` is `RuleContext.require`, and `call_host(
    function, has_effect, values, types, result types)` returns the values of a call of the host."""

    platform: str
    location: Any
    type_of: Callable[[TensorType], Any]
    require: Callable[[str], None]
    call_host: Callable[..., list[Any]]


def written_in_mlir(definition: OpDef, write: Callable[[Place, Op, Sequence[Any]], Any]) -> None:
    """Register `write` as the lowering of an op."""
    @rule(definition)
    def lower(ctx: RuleContext, op: Op, *operands: Any) -> list[Any]:
        with ctx.ip, ctx.loc:
            place = Place(ctx.platform, ctx.loc, ctx.type, ctx.require, partial(_call_host, ctx))
            made = _values(write(place, op, operands))
        wanted = [ctx.type(v) for v in op.results]
        given = [v.type for v in made]
        if given != wanted:
            raise TypeError(f"the lowering of {definition.name} returned values of types "
                            f"{[str(t) for t in given]}, but its results have types "
                            f"{[str(t) for t in wanted]}")
        return made


def _call_host(ctx: RuleContext, function: Callable[..., Any], has_effect: bool,
               values: Sequence[Any], types: Sequence[TensorType],
               result_types: Sequence[TensorType]) -> list[Any]:
    from .rules.effects import CallbackSpec, host_call  # rules are loaded when first needed

    spec = CallbackSpec(-1, tuple(types), tuple(result_types), False, function=function)
    return host_call(ctx, spec, has_effect, values)


def _values(made: Any) -> list[Any]:
    """The MLIR values that a lowering returned as values, ops, and lists of these."""
    if isinstance(made, (list, tuple)):
        return [v for x in made for v in _values(x)]
    results = getattr(made, "results", None)
    return [made] if results is None else list(results)


def bindings(name: str) -> Any:
    """A module of MLIR's bindings: `ir`, `dialects.stablehlo`, ..."""
    return import_module(f"jaxlib.mlir.{name}")


def element_type(dtype: Any) -> Any:
    """The MLIR type of an element. Only for use in a lowering, where the context is current."""
    return bindings("ir").Type.parse(element_text(dtype))


def tensor_type(shape: Sequence[int], dtype: Any) -> Any:
    """The MLIR type of an array. Only for use in a lowering, where the context is current."""
    return bindings("ir").RankedTensorType.get(tuple(shape), element_type(dtype))


def constant(array: np.ndarray, dtype: Any) -> Any:
    """The MLIR value of an array. Only for use in a lowering, where the context is current."""
    ir = bindings("ir")
    kept = np.ascontiguousarray(array)
    if kept.dtype == bool:
        kept = np.packbits(kept, bitorder="little")
    attr = ir.DenseElementsAttr.get(kept, type=element_type(dtype), shape=array.shape)
    return bindings("dialects.stablehlo").constant(attr)


def attribute(value: Any) -> Any:
    """The MLIR attribute of a Python value. Only for use in a lowering: its context is current.

    Raises: TypeError where the value has none.
    """
    ir = bindings("ir")
    if isinstance(value, (list, tuple)):
        return ir.ArrayAttr.get([attribute(v) for v in value])
    return ir.Attribute.parse(attribute_text(value))


def custom_call(target: str, operands: Sequence[Any], result_types: Sequence[Any], api: int,
                config: Any, layouts: Sequence[Any], aliases: Mapping[int, int],
                has_side_effect: bool, more: Mapping[str, Any]) -> Any:
    """The MLIR op that calls a function by name. Only for use in a lowering.

    Args:
      config: a dict of MLIR attributes for `api` 4, else a text.
      layouts: axes from the fastest to the slowest, of all operands and of all results; or None.
      aliases: by number of operand the number of the result that takes its memory.
      more: further attributes.
    """
    ir = bindings("ir")
    attrs = {"call_target_name": ir.StringAttr.get(target),
             "api_version": integer_attribute(api, 32),
             "has_side_effect": ir.BoolAttr.get(has_side_effect),
             "backend_config": ir.StringAttr.get(config) if isinstance(config, str)
             else ir.DictAttr.get(dict(config)), **more}
    for name, listed in zip(("operand_layouts", "result_layouts"), layouts, strict=True):
        if listed is not None:
            attrs[name] = ir.ArrayAttr.get([ir.Attribute.parse(
                f"dense<{list(order) or ''}> : tensor<{len(order)}xindex>") for order in listed])
    if aliases:
        alone = len(result_types) == 1
        attrs["output_operand_aliases"] = ir.ArrayAttr.get([ir.Attribute.parse(
            f"#stablehlo.output_operand_alias<output_tuple_indices = {[] if alone else [k]}, "
            f"operand_index = {i}, operand_tuple_indices = []>") for i, k in aliases.items()])
    return ir.Operation.create("stablehlo.custom_call", results=list(result_types),
                               operands=list(operands), attributes=attrs)


def integer_attribute(value: int, bits: int) -> Any:
    """The MLIR attribute of an integer with `bits` bits."""
    ir = bindings("ir")
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), value)


def integers(values: Sequence[int]) -> Any:
    """The dense MLIR elements attribute of 64-bit integers."""
    return bindings("ir").DenseIntElementsAttr.get(np.asarray(values, np.int64))


def integer_array(values: Sequence[int]) -> Any:
    """The dense MLIR array attribute of 64-bit integers."""
    return bindings("ir").DenseI64ArrayAttr.get([int(v) for v in values])


def context() -> Any:
    """The MLIR context of lowerings, with its dialects loaded."""
    return mlir_context().context
