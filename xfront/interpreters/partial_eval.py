"""Tracing of wrapped functions, for libraries that write transformations of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.on_demand import shown as _shown
from ..jaxpr.atoms import Literal
from ..jaxpr.classes import DynamicJaxprTracer, absent
from ..jaxpr.evaluating import eval_jaxpr
from ..jaxpr.views import ClosedJaxpr, Jaxpr, JaxprEqn
from ..tracing.trace import trace_function
from ..transforms.flat import name_of
from ..transforms.structs import struct_kind


class PartialVal(tuple):
    """(type, None) of an unknown value, or (None, value) of a known one."""

    __slots__ = ()

    def __new__(cls, pair: Sequence[Any]) -> PartialVal:
        """The value of a pair (type, value) with one None. Raises: as the class."""
        return tuple.__new__(cls, pair)

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """The PartialVal of a known value."""
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: Any) -> PartialVal:
        """The PartialVal of an unknown value of a type."""
        return cls((aval, None))

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self[0] is None

    def get_known(self) -> Any:
        """The value; None where it is unknown."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> Any:
        """The type."""
        from ..transforms.inspection import typeof

        return typeof(self[1]) if self.is_known() else self[0]


def trace_to_jaxpr_dynamic(fun: Any, in_avals: Sequence[Any], *, keep_inputs: Any = None,
                           lower: bool = False, auto_dce: bool = False) -> tuple[
                               Jaxpr, list[Any], list[Any]]:
    """Trace a wrapped function of flat arguments on types.

    Args:
      fun: a `linear_util.WrappedFun` that returns a list of arrays.
      in_avals: types of the arguments.
      keep_inputs, lower, auto_dce: None and False only.
    Returns: (jaxpr, types of the results, values of `jaxpr.constvars`).
    """
    for name, value in (("keep_inputs", keep_inputs), ("lower", lower), ("auto_dce", auto_dce)):
        if value:
            raise NotImplementedError(f"trace_to_jaxpr_dynamic: {name} must be {value and None}")
    kinds = [struct_kind("trace_to_jaxpr_dynamic", a) for a in in_avals]
    call = getattr(fun, "call_wrapped", fun)
    made = trace_function(lambda tracers: list(call(*tracers)), [t for t, _ in kinds],
                          [w for _, w in kinds], name=name_of(fun), kind="jit", staging=True)
    closed = ClosedJaxpr.of(made.function, made.captures)
    return closed.jaxpr, closed.out_avals, closed.consts


def trace_to_jaxpr_nounits(fun: Any, pvals: Sequence[PartialVal],
                           instantiate: bool | Sequence[bool] = False) -> tuple[
                               Jaxpr, list[PartialVal], list[Any]]:
    """Trace a wrapped function of known and unknown arguments. Results that depend on unknown
    arguments are unknown.

    Args:
      fun: a `linear_util.WrappedFun` that returns a list of arrays.
      pvals: a PartialVal for each argument; known values reach `fun` unchanged.
      instantiate: whether known results count as unknown too, one bool for all or one for each.
    Returns: (jaxpr, a PartialVal for each result, constants). The jaxpr takes the unknown
      arguments and returns the unknown results.
    """
    unknown = [i for i, p in enumerate(pvals) if not p.is_known()]
    call = getattr(fun, "call_wrapped", fun)

    def run(*xs: Any) -> Any:
        given = [p.get_known() for p in pvals]
        for i, x in zip(unknown, xs, strict=True):
            given[i] = x
        return call(*given)

    jaxpr, avals, consts = trace_to_jaxpr_dynamic(run, [pvals[i][0] for i in unknown])
    n = len(avals)
    wanted = [instantiate] * n if isinstance(instantiate, bool) else list(instantiate)
    known = [k and not w for k, w in zip(_independent(jaxpr), wanted, strict=True)]
    if not any(known):
        return jaxpr, [PartialVal.unknown(a) for a in avals], consts
    apart, _ = dce_jaxpr(jaxpr, known)
    values = iter(eval_jaxpr(apart, consts))
    rest, _ = dce_jaxpr(jaxpr, [not k for k in known], True)
    return rest, [PartialVal.known(next(values)) if k else PartialVal.unknown(a)
                  for k, a in zip(known, avals, strict=True)], consts


def _independent(jaxpr: Jaxpr) -> list[bool]:
    """For each result, whether it depends on no argument and on no effect."""
    dependent = set(jaxpr.invars)
    for eqn in jaxpr.eqns:
        if eqn.effects or any(v in dependent for v in eqn.invars if not isinstance(v, Literal)):
            dependent.update(eqn.outvars)
    return [isinstance(v, Literal) or v not in dependent for v in jaxpr.outvars]


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The program with its constants as first arguments."""
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """The ClosedJaxpr of a program without constants."""
    return ClosedJaxpr(jaxpr, [])


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: bool | Sequence[bool],
              instantiate: bool | Sequence[bool] = False) -> tuple[Jaxpr, list[bool]]:
    """The program without the eqns that its used results do not need.

    Args:
      jaxpr: the program.
      used_outputs: whether each result is used, one bool for all or one for each.
      instantiate: whether each argument stays though nothing reads it, one bool for all or one for
        each.
    Returns: the program with the used results and the kept arguments, and for each argument
      whether it was kept.
    """
    n, m = len(jaxpr.outvars), len(jaxpr.invars)
    used = [used_outputs] * n if isinstance(used_outputs, bool) else list(used_outputs)
    kept = [instantiate] * m if isinstance(instantiate, bool) else list(instantiate)
    outvars = [v for v, u in zip(jaxpr.outvars, used, strict=True) if u]
    live = {v for v in outvars if not isinstance(v, Literal)}
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not live.isdisjoint(eqn.outvars):
            eqns.append(eqn)
            live.update([v for v in eqn.invars if not isinstance(v, Literal)])
    read = [k or v in live for v, k in zip(jaxpr.invars, kept, strict=True)]
    invars = [v for v, r in zip(jaxpr.invars, read, strict=True) if r]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=eqns[::-1],
                         debug_info=None), read


def abstract_eval_fun(fun: Any, *avals: Any, **params: Any) -> list[Any]:
    """Types of the results of a function that returns a list, from types of its arguments."""
    def run(*xs: Any) -> Any:
        return fun(*xs, **params)

    return trace_to_jaxpr_dynamic(run, avals)[1]


__getattr__ = absent(__name__, {
    "JaxprTracer": "an argument is traced or concrete; ask with isinstance(x, jax.core.Tracer)",
    "dce_rules": "what an eqn needs of its bodies is found by the passes",
    "partial_eval_jaxpr_custom_rules": "checkpoint divides programs by passes over the IR",
    "custom_partial_eval_rules": "linearize divides programs by passes over the IR",
})

__all__ = [
    "DynamicJaxprTracer", "Jaxpr", "PartialVal", "abstract_eval_fun", "close_jaxpr",
    "convert_constvars_jaxpr", "dce_jaxpr", "trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits",
]
__dir__ = _shown(globals())
