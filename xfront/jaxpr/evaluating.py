"""Running jaxprs: `eval_jaxpr`, `jaxpr_as_fun`, and functions that walk the jaxprs inside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xfront_ir.core import Function

from ..tracing.trace import trace_function
from ..tracing.tracer import Tracer
from ..transforms.closing import with_constants
from ..transforms.structs import struct_kind
from .atoms import Literal
from .views import ClosedJaxpr, Jaxpr, each_jaxpr


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any,
               propagate_source_info: bool = True) -> list[Any]:
    """The results of a program, by binding its eqns in order.

    Args:
      jaxpr: a view, or a program made of parts.
      consts: values of `jaxpr.constvars`.
      args: values of `jaxpr.invars`; they may be traced.
      propagate_source_info: True only; ops are recorded at the line that calls this function.
    Returns: a list of arrays.
    Raises: TypeError where the number of values is not that of the Vars.
    """
    if not propagate_source_info:
        raise NotImplementedError("eval_jaxpr: propagate_source_info must be True")
    if isinstance(jaxpr, ClosedJaxpr):
        raise TypeError("eval_jaxpr takes an open Jaxpr and its constants: pass closed.jaxpr and "
                        "closed.consts, or call jaxpr_as_fun(closed)")
    for what, variables, values in (("constvars", jaxpr.constvars, consts),
                                    ("invars", jaxpr.invars, args)):
        if len(variables) != len(values):
            raise TypeError(f"eval_jaxpr: got {len(values)} values for {len(variables)} {what}")
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else env[atom]

    last = _last_uses(jaxpr)
    for i, eqn in enumerate(jaxpr.eqns):
        made = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        results = made if eqn.primitive.multiple_results else [made]
        env.update(zip(eqn.outvars, results, strict=True))
        for v in last.get(i, ()):                # free values after their last use
            env.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


def _last_uses(jaxpr: Jaxpr) -> dict[int, list[Any]]:
    kept = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    last = {v: i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.invars
            if not isinstance(v, Literal)}
    found: dict[int, list[Any]] = {}
    for v, i in last.items():
        if v not in kept:
            found.setdefault(i, []).append(v)
    return found


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr, *args: Any) -> Any:
    """A function of arrays that returns the list of results; with `args`, that list itself."""
    def run(*values: Any) -> list[Any]:
        return eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *values)

    run.__name__ = closed_jaxpr.jaxpr.debug_info.func_name
    return run(*args) if args else run


def traced(program: Jaxpr | ClosedJaxpr) -> Function:
    """The Function of a program made of parts, with its constants as literals.

    Raises: UnexpectedTracerError where a constant is traced.
    """
    jaxpr, consts = (program, ()) if isinstance(program, Jaxpr) else (program.jaxpr, program.consts)
    kinds = [struct_kind("jaxpr", v.aval) for v in jaxpr.invars]

    def run(tracers: list[Tracer]) -> list[Any]:
        return eval_jaxpr(jaxpr, list(consts), *tracers)

    made = trace_function(run, [t for t, _ in kinds], [w for _, w in kinds],
                          name=jaxpr.debug_info.func_name, kind="eval_jaxpr", staging=True)
    return with_constants(made, len(kinds), "jaxpr")  # type: ignore[arg-type]


def jaxprs_in_params(params: Mapping[str, Any]) -> Iterator[Jaxpr]:
    """The Jaxprs among the params of an eqn."""
    return each_jaxpr(params)


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The Jaxprs that the eqns of a Jaxpr hold, without the Jaxprs inside these."""
    for eqn in jaxpr.eqns:
        yield from each_jaxpr(eqn.params)


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Check that each Var is defined before it is read, and that the program can be traced.

    Raises: JaxprTypeError where either fails.
    """
    known = {*jaxpr.constvars, *jaxpr.invars}
    for eqn in jaxpr.eqns:
        for v in eqn.invars:
            if not isinstance(v, Literal) and v not in known:
                raise JaxprTypeError(f"{eqn}: the equation reads a Var that no earlier equation "
                                     "defines")
        known.update(eqn.outvars)
    for v in jaxpr.outvars:
        if not isinstance(v, Literal) and v not in known:
            raise JaxprTypeError("a result is a Var that no equation defines")


class JaxprTypeError(TypeError):
    """A program whose eqns, Vars and types do not agree."""

