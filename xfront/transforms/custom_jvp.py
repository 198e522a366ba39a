"""Functions with their own rule for tangents: custom_jvp."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
from xfront_ir import ops
from xfront_ir.core import Function
from xfront_ir.opdef import Request

from ..base.dtypes import float0
from ..base.trees import tree_flatten, tree_map, tree_unflatten
from .custom_rules import (
    Rule,
    Ruled,
    is_zero,
    kinds_like,
    order_params,
    zero_tangent,
)
from .flat import Flat, kind_of, trace_call, typed
from .float0 import HIDES, flat_values, tangent_tree

P = ParamSpec("P")
R = TypeVar("R")


class JvpRule(Rule):
    """The Deferred of a custom_jvp."""

    def request(self) -> Request:
        """The jvp role for the tangents of all operands that can have one."""
        return Request("jvp", self.all_types, self.flags)

    def ahead(self) -> Function:
        """The jvp rule itself."""
        if self.recording and self.home is None:
            self.find_captures()
        found = self.function(self.probe)
        self.full_jvp = None if self.symbolic_zeros else found
        return found

    def widened(self) -> Function:
        """Its parameters stand in the same order."""
        (found,) = self.parts
        self.memo[self.probe] = found
        return found

    def jvp(self, types: tuple, perturbed: tuple) -> Function:
        """The results and tangents, of the operands and the tangents of those perturbed."""
        n_own = self.n_own
        own = kinds_like(types[:n_own], self.kinds)
        moved = [(t, w) for (t, w), p in zip(own, perturbed, strict=False) if p]

        def call(tracers: list) -> Any:
            dots = iter(tracers[n_own:])
            tangents = [next(dots) if p else self.zero(t)
                        for (t, _), p in zip(own, perturbed, strict=False)]
            made = self.custom.jvp(*self.static, tuple(tree_unflatten(self.tree, tracers[:n_own])),
                                   tuple(tangent_tree(self.tree, tangents)))
            checked, self.out_tree = check_jvp_result(self.name, made, self.flat)
            return checked

        traced = trace_call(call, [*own, *moved], name=f"{self.name}_jvp", kind="custom_jvp rule",
                            staging=True, inputs=self.inputs(len(moved)),
                            origins=[self] * (n_own + len(moved)), of_rule=True,
                            reached=[*self.reached, *[0] * len(moved)])
        self.traced = traced.trace
        made = order_params(traced, self, types[n_own:], f"{self.name}.jvp")
        self.parts = (made,)
        return made


class custom_jvp(Ruled[P, R]):
    """A function with its own rule for tangents.

    Args:
      fun: a function of arrays and trees, without keyword-only parameters.
      nondiff_argnums, nondiff_argnames: positions and names of arguments that are passed to the
        rule unchanged, before primals and tangents; none by default.
    Raises: AttributeError at a call where no rule was set; TypeError at a differentiated call where
      the result of the rule does not fit that of `fun`.

    >>> @xfront.custom_jvp
    ... def f(x): return jnp.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents): return f(*primals), 2.0 * tangents[0]
    """

    definition, rule = ops.custom_jvp, JvpRule
    no_rule = "No JVP defined for custom_jvp function {} using defjvp."
    jvp: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: `jvp(*nondiff, primals, tangents) -> (value, tangent)`.

        With `symbolic_zeros` the tangents of arguments that are not differentiated are
        `SymbolicZero`s, and the rule may return them too.

        Returns: the rule itself, so that this method can be a decorator.
        """
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: `rule(tangent, value, *primals) -> tangent`; None is zero.

        The tangent of the value is the sum of what the rules return.
        """
        def rule(primals: Any, tangents: Any) -> Any:
            value: Any = self(*primals)  # type: ignore[call-arg]  any arguments
            parts = [f(t, value, *primals) for f, t in zip(jvps, tangents, strict=True) if f]
            if not parts:
                return value, tree_map(lambda x: 0.0 * x, value)
            return value, tree_map(lambda *each: functools.reduce(operator.add, each), *parts)

        self.defjvp(rule)

    @property
    def python(self) -> tuple:
        """The functions of the rule."""
        return (self.jvp,)


def check_jvp_result(name: str, made: Any, flat: Flat | None) -> tuple[list, Any]:
    """Values, then tangents of the inexact results; and the tree of the value. `flat` is the
    function, where it has been traced. Raises: TypeError."""
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise TypeError(f"Custom JVP rule for function {name} must produce a pair (list or tuple "
                        f"of length two) representing primal and tangent outputs, got {made}.")
    outs, out_tree = tree_flatten(made[0])
    dots, dot_tree = tree_flatten(made[1])
    if HIDES:
        from .high import hidden_tangents  # loaded already

        outs, out_tree = flat_values(made[0], carriers=True)
        dots, dot_tree = tree_flatten(hidden_tangents(
            out_tree, made[1], lambda t: np.zeros(t.shape, float0)))
    if out_tree != dot_tree:
        raise TypeError(f"Custom JVP rule for function {name} must produce primal and tangent "
                        f"outputs with equal container (pytree) structures, but got {out_tree} "
                        f"and {dot_tree} respectively.")
    if flat is not None and out_tree != flat.out_tree:
        raise TypeError(f"Custom JVP rule for function {name} must produce a pair with the primal "
                        f"output's structure {flat.out_tree}, but got {out_tree}.")
    moved = []
    types = [kind_of(name, x)[0] for x in outs]
    for x_type, d, t in zip(types, dots, types if flat is None else flat.function.return_types,
                            strict=True):
        if is_zero(d):
            if t.is_inexact:
                moved.append(zero_tangent(x_type))
            continue
        if t.is_inexact and kind_of(name, d)[0].plain is not x_type.plain:
            raise TypeError(f"Custom JVP rule for function {name} must produce primal and tangent "
                            f"outputs with corresponding shapes and dtypes. Expected {x_type}, got "
                            f"tangent {kind_of(name, d)[0]}; write tangent.astype(out.dtype).")
        if t.is_inexact:
            moved.append(typed(d, x_type))
    return [*outs, *moved], out_tree


__all__ = ["custom_jvp"]
