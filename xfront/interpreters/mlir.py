"""Lowerings of users' own primitives: to the ops of a function, or written in MLIR.

    register_lowering(p, lower_fun(lambda x: jnp.sin(x) * 2, multiple_results=False))
    register_lowering(p, rule)        rule(ctx, *values, **params) -> values

Ops of the first kind are part of the program like any others: they are differentiated where there
is no rule, simplified, and kept on disk. Each process compiles programs with the second kind anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from lowering import own as mlir_own
from lowering import targets
from xfront_ir.core import Op
from xfront_ir.dtypes import from_numpy
from xfront_ir.types import TensorType

from ..base.on_demand import shown as _shown
from ..binding import default_device
from ..eager.primitives import Primitive, aval_of
from ..jaxpr.classes import absent
from ..jaxpr.own import LOWERINGS, LoweredFun, definition_of
from ..running.launching import holding
from ..values.arguments import only


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Any:
    """A lowering to the ops of `fun(*operands, **params)`.

    Args:
      fun: function of arrays and params.
      multiple_results: whether `fun` returns a list of results, as by default, or one result.
    """
    return LoweredFun(fun, multiple_results)


def register_lowering(prim: Primitive, rule: Callable[..., Any], platform: str | None = None,
                      inline: bool = True, cacheable: bool = True) -> Callable[..., Any]:
    """Enter how a primitive is lowered on a platform, or on all others.

    Args:
      prim: the primitive.
      rule: the result of `lower_fun`, or a function `rule(ctx, *values, **params)` that makes MLIR
        ops at the place of the operation and returns their values; `ctx` is a
        `LoweringRuleContext`.
      platform: `cpu`, `cuda`, `rocm` or `tpu`; None means all platforms without a rule of their
        own.
      inline: True only; the lowered ops replace the operation.
      cacheable: a permission to lower equal operations once, which changes nothing.
    Returns: `rule`.
    Raises: NotImplementedError for an op of the IR, and for `inline=False`.
    """
    if not prim.is_own:
        raise NotImplementedError(f"register_lowering: {prim} is a built-in operation, whose "
                                  "lowering is fixed; make a Primitive of your own")
    if not inline:
        raise NotImplementedError("register_lowering: inline must be True")
    LOWERINGS.setdefault(prim, {})[platform] = rule
    prim.changed()
    if not isinstance(rule, LoweredFun):
        mlir_own.written_in_mlir(definition_of(prim), _write)
    return rule


class ModuleContext(NamedTuple):
    """The facts about the module that a lowering may read."""

    platforms: tuple[str, ...]
    require: Callable[[str], None]
    call_host: Callable[..., list[Any]]

    def add_keepalive(self, keepalive: Any) -> None:
        """Do nothing with what `emit_python_callback` returned: the program keeps the function."""

    @property
    def context(self) -> Any:
        """The MLIR context."""
        return mlir_own.bindings("ir").Context.current


class LoweringRuleContext(NamedTuple):
    """The context of a lowering: the primitive, types of operands and results, and the module."""

    module_context: ModuleContext
    primitive: Primitive
    avals_in: Sequence[Any]
    avals_out: Sequence[Any]
    location: Any = None

    def replace(self, **changes: Any) -> LoweringRuleContext:
        """A copy with some fields changed."""
        return self._replace(**changes)

    def is_forward_compat(self) -> bool:
        """False: programs are compiled by the installed jaxlib."""
        return False


def _write(place: mlir_own.Place, op: Op, values: Sequence[Any]) -> Any:
    call = op.attrs["call"]
    known = LOWERINGS[call.primitive]
    rule = known.get(place.platform, known.get(None))
    if rule is None or isinstance(rule, LoweredFun):
        raise NotImplementedError(f"MLIR translation rule for primitive '{call.name}' not found "
                                  f"for platform {place.platform}")
    ctx = LoweringRuleContext(
        ModuleContext((place.platform,), place.require, place.call_host), call.primitive,
        [aval_of(v.type) for v in op.operands], [aval_of(v.type) for v in op.results],
        place.location)
    return rule(ctx, *values, **call.params)


def emit_python_callback(ctx: LoweringRuleContext, callback: Callable[..., Any], token: None,
                         operands: Sequence[Any], operand_avals: Sequence[Any],
                         result_avals: Sequence[Any], *, has_side_effect: bool,
                         returns_token: bool = True, partitioned: bool = False,
                         sharding: None = None) -> tuple[list[Any], None, Any]:
    """A call of a host function, in a lowering.

    Args:
      ctx, operands: the context and values that the lowering was given.
      callback: function of NumPy arrays that returns a sequence of arrays.
      token: None only; for an order among calls, write `lower_fun` of a function that calls
        `io_callback(..., ordered=True)`.
      operand_avals, result_avals: the types of operands and results.
      has_side_effect: whether the call stays where nothing reads its results.
      returns_token: a permission: the token that is returned is None in any case.
      partitioned, sharding: False and None only; of several devices, the first one calls the host.
    Returns: the values of the results, None for the token, and the function.
    Raises: NotImplementedError for a token, a sharding and `partitioned`, and where the platform
      has no host calls.
    """
    only("emit_python_callback", None, "write lower_fun of a function that calls io_callback with "
         "ordered=True", token=token)
    only("emit_python_callback", False, "the first of several devices calls the host",
         partitioned=partitioned)
    only("emit_python_callback", None, "the first of several devices calls the host",
         sharding=sharding)
    host = holding(callback, ctx.primitive.name, [default_device()])
    made = ctx.module_context.call_host(
        host, bool(has_side_effect), list(operands), [a.ir for a in operand_avals],
        [a.ir for a in result_avals])
    return made, None, callback


def custom_call_builder(target: str, operand_layouts: Any, result_layouts: Any, config: Any,
                        only_given: bool, more: dict[str, Any]) -> Callable[..., Any]:
    """See `ffi.build_ffi_lowering_function`, whose arguments these are."""
    if unknown := set(more) - _OF_CUSTOM_CALLS:
        raise TypeError(f"the lowering to a call of {target!r} takes "
                        f"{', '.join(sorted(_OF_CUSTOM_CALLS))}, got {', '.join(sorted(unknown))}")
    api = more.get("api_version", 4)
    if api not in (1, 2, 3, 4):
        raise ValueError(f"the lowering to a call of {target!r}: api_version must be 1, 2, 3 or 4, "
                         f"got {api!r}")
    if config is not None and isinstance(config, str) is (api == 4):
        raise ValueError(f"the lowering to a call of {target!r}: backend_config must be a dict of "
                         "MLIR attributes with api_version 4, and a text with earlier versions; "
                         f"got {config!r} with {api}")

    def build(ctx: LoweringRuleContext, *operands: Any, **params: Any) -> Any:
        if api != 4 and params:
            raise ValueError(f"the call of {target!r} with api_version {api} takes no params, got "
                             f"{', '.join(params)}")
        ctx.module_context.require(
            targets.requirement(ctx.module_context.platforms[0], target, api))
        settings = {**(config or {}), **{k: ir_attribute(v) for k, v in params.items()}} \
            if api == 4 else config or ""
        types = more.get("result_types") or [aval_to_ir_type(a) for a in ctx.avals_out]
        layouts = [_fastest_first(given, avals, only_given) for given, avals in (
            (operand_layouts, ctx.avals_in), (result_layouts, ctx.avals_out))]
        return mlir_own.custom_call(
            target, operands, types, api, settings, layouts,
            more.get("operand_output_aliases") or {},
            bool(more.get("has_side_effect", False)), more.get("extra_attributes") or {})

    return build


_OF_CUSTOM_CALLS = {"api_version", "extra_attributes", "has_side_effect", "operand_output_aliases",
                    "result_types"}


def _fastest_first(given: Any, avals: Sequence[Any], only_given: bool) -> Any:
    """The layout of each array. Raises: ValueError where their number differs."""
    if given is None:
        if only_given:
            return None
        given = [None] * len(avals)
    if len(given) != len(avals):
        raise ValueError(f"a call of a function by name has {len(given)} layouts for {len(avals)} "
                         "arrays")
    return [range(a.ndim)[::-1] if order is None else tuple(
        reversed(order.major_to_minor) if hasattr(order, "major_to_minor") else order)
        for order, a in zip(given, avals, strict=True)]


# --- values, types and attributes of MLIR ---------------------------------------------------------

def dtype_to_ir_type(dtype: Any) -> Any:
    """The MLIR type of an element, in a lowering."""
    return mlir_own.element_type(from_numpy(np.dtype(dtype)))


def aval_to_ir_type(ctx: Any, aval: Any = None) -> Any:
    """The MLIR type of an array, in a lowering; the only argument may also be the aval."""
    kind: TensorType = (ctx if aval is None else aval).ir
    return mlir_own.tensor_type((*kind.shape, *kind.dtype.physical), kind.dtype)


def aval_to_ir_types(ctx: Any, aval: Any = None) -> tuple[Any, ...]:
    """A tuple with the one MLIR type of an array; arguments as for `aval_to_ir_type`."""
    return (aval_to_ir_type(ctx, aval),)


def ir_constant(val: Any) -> Any:
    """The MLIR value of an array or number, in a lowering."""
    from .. import binding

    array = binding.host_array(val)
    return mlir_own.constant(array, from_numpy(array.dtype))


def ir_constants(val: Any) -> list[Any]:
    """A list with the one MLIR value of an array or number."""
    return [ir_constant(val)]


def ir_attribute(val: Any) -> Any:
    """The MLIR attribute of a number, a text, or a dict or list of these, in a lowering."""
    return mlir_own.attribute(val)


def i32_attr(i: int) -> Any:
    """The MLIR attribute of an integer of 32 bits."""
    return mlir_own.integer_attribute(i, 32)


def i64_attr(i: int) -> Any:
    """The MLIR attribute of an integer of 64 bits."""
    return mlir_own.integer_attribute(i, 64)


def dense_int_elements(xs: Sequence[int]) -> Any:
    """The MLIR elements attribute of integers."""
    return mlir_own.integers(xs)


def dense_int_array(xs: Sequence[int]) -> Any:
    """The MLIR array attribute of integers."""
    return mlir_own.integer_array(xs)


def make_ir_context() -> Any:
    """An MLIR context with the dialects of programs loaded."""
    return mlir_own.context()


def module_to_string(module: Any, enable_debug_info: bool | None = None) -> str:
    """A module as text, with locations where `enable_debug_info` is true."""
    return module.operation.get_asm(enable_debug_info=bool(enable_debug_info))


def module_to_bytecode(module: Any) -> bytes:
    """A module as bytes."""
    import io

    out = io.BytesIO()
    module.operation.write_bytecode(file=out)
    return out.getvalue()


_ABSENT = absent(__name__, {
    "core_call_lowering": "ops with bodies are lowered by the passes; write lower_fun",
    "jaxpr_subcomp": "write lower_fun(jaxpr_as_fun(closed))",
    "lower_jaxpr_to_fun": "write lower_fun(jaxpr_as_fun(closed))",
    "lower_jaxpr_to_module": "write jax.jit(f).lower(x).compiler_ir()",
    "merge_mlir_modules": "write jax.jit(f).lower(x).compiler_ir()",
    "register_constant_handler": "arrays are the only constants",
})


def __getattr__(name: str) -> Any:
    """MLIR's bindings, imported when first read: `ir`, and `hlo`, the dialect of StableHLO."""
    place = {"ir": "ir", "hlo": "dialects.stablehlo"}.get(name)
    if place is None:
        return _ABSENT(name)
    found = globals()[name] = mlir_own.bindings(place)
    return found


__all__ = [
    "LoweringRuleContext", "ModuleContext", "aval_to_ir_type", "aval_to_ir_types",
    "dense_int_array", "dense_int_elements", "dtype_to_ir_type", "emit_python_callback", "i32_attr",
    "i64_attr",
    "ir_attribute", "ir_constant", "ir_constants", "lower_fun", "make_ir_context",
    "module_to_bytecode", "module_to_string", "register_lowering",
]
__dir__ = _shown(globals())
