"""`core`: whether a value is traced, and its type; jaxprs, and functions that evaluate them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .binding import AbstractArray as ShapedArray
from .running.concrete import ensure_compile_time_eval
from .tracing.trace import Trace
from .tracing.tracer import Tracer

if TYPE_CHECKING:
    from .jaxpr.atoms import DebugInfo, DropVar, Literal, Var, no_effects
    from .jaxpr.context import (
        AbstractValue,
        concrete_or_error,
        find_top_trace,
        get_aval,
        get_opaque_trace_state,
        mapped_aval,
        max_dim,
        min_dim,
        set_current_trace,
        take_current_trace,
        trace_state_clean,
        unmapped_aval,
        valid_jaxtype,
    )
    from .jaxpr.evaluating import eval_jaxpr, jaxpr_as_fun, jaxprs_in_params, subjaxprs
    from .jaxpr.views import ClosedJaxpr, Jaxpr, JaxprEqn, new_jaxpr_eqn

_CONTEXT = """AbstractValue Effect Effects ParamDict Value array_types axis_frame concrete_or_error
eval_context find_top_trace full_lower get_aval get_opaque_trace_state get_type is_concrete
is_constant_dim mapped_aval max_dim min_dim nonempty_axis_env_DO_NOT_USE
primal_dtype_to_tangent_dtype raise_to_shaped set_current_trace take_current_trace
trace_state_clean unmapped_aval unsafe_am_i_under_a_jit_DO_NOT_USE
unsafe_am_i_under_a_vmap_DO_NOT_USE unsafe_get_axis_names_DO_NOT_USE valid_jaxtype"""
_EVALUATING = """JaxprTypeError check_jaxpr eval_jaxpr jaxpr_as_fun jaxprs_in_params subjaxprs"""
_ATOMS = """Atom DebugInfo DropVar Literal Var gensym no_effects"""
_VIEWS = """ClosedJaxpr Jaxpr JaxprEqn new_jaxpr_eqn"""
_HOMES = {
    **dict.fromkeys(_ATOMS.split(), "atoms"),
    **dict.fromkeys(_CONTEXT.split(), "context"),
    **dict.fromkeys(_EVALUATING.split(), "evaluating"),
    **dict.fromkeys(_VIEWS.split(), "views"),
}
_ABSENT = {
    "Sublevel": "traces have levels of their own",
    "cur_sublevel": "traces have levels of their own",
    "thread_local_state": "ask take_current_trace() or trace_state_clean()",
    "TraceTag": "traces are told apart by identity",
    "InconclusiveDimensionOperation": "write xfront.errors.InconclusiveDimensionOperation",
    "AbstractToken": "effects are ordered by their place in programs, not by tokens",
    "Token": "effects are ordered by their place in programs, not by tokens",
    "CallPrimitive": "calls of functions are recorded as jit_p",
    "call_impl": "calls of functions are recorded as jit_p",
}


def __getattr__(name: str) -> Any:
    """The names of programs as data, which are imported when they are first read."""
    home = _HOMES.get(name)
    if home is None:
        if name == "Primitive":
            from .eager.primitives import Primitive

            globals()[name] = Primitive
            return Primitive
        if name == "pytype_aval_mappings":
            from .interpreters.xla import pytype_aval_mappings

            globals()[name] = pytype_aval_mappings
            return pytype_aval_mappings
        why = f": {_ABSENT[name]}" if name in _ABSENT else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{why}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"xfront.jaxpr.{home}"), name)
    return found


def __dir__() -> list[str]:
    dunders = [name for name in globals() if name.startswith("__")]
    return sorted({*__all__, *dunders, *_HOMES})


__all__ = [
    "AbstractValue", "ClosedJaxpr", "DebugInfo", "DropVar", "Jaxpr", "JaxprEqn", "Literal",
    "ShapedArray", "Trace", "Tracer", "Var", "concrete_or_error", "ensure_compile_time_eval",
    "eval_jaxpr", "find_top_trace", "get_aval", "get_opaque_trace_state", "jaxpr_as_fun",
    "jaxprs_in_params", "mapped_aval", "max_dim", "min_dim", "new_jaxpr_eqn", "no_effects",
    "set_current_trace", "subjaxprs", "take_current_trace", "trace_state_clean", "unmapped_aval",
    "valid_jaxtype",
]
