"""Functions with their own rule for cotangents: custom_vjp, and functions built on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from xfront_ir import ops
from xfront_ir.core import Function
from xfront_ir.opdef import Request
from xfront_ir.placed_builder import PlacedBuilder

from ..base.dtypes import float0
from ..base.errors import UnexpectedTracerError
from ..base.trees import (
    Partial,
    broadcast_prefix,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from ..binding.tracebacks import front_door
from ..running import concrete
from ..running.programs import bind
from ..tracing.perturbed import reaching
from ..tracing.tracer import Tracer
from ..values.arguments import only
from .closing import arranged
from .custom_rules import (
    ResultOf,
    Rule,
    Ruled,
    is_zero,
    joined_captures,
    kinds_like,
    order_params,
    with_params,
    with_values,
    zero_tangent,
)
from .flat import Arguments, Flat, as_operand, kind_of, name_of, trace_call, typed
from .float0 import HIDES, flat_values, tangent_tree
from .structs import filled
from .symbolic import CustomVJPPrimal

P = ParamSpec("P")
R = TypeVar("R")


class VjpRule(Rule):
    """The Deferred of a custom_vjp. The role bwd needs what fwd left in `residuals`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.residuals: dict[tuple, _Residuals] = {}     # key: types, and what is perturbed

    def request(self) -> Request:
        """Both roles in one Function."""
        return Request("both")

    def ahead(self) -> Function:
        """The fwd rule."""
        first = self._forward()
        found = self.function(first)
        made = self._forward()                   # with what was captured
        if made != first:
            self.memo[made] = found
        return found

    def widened(self) -> Function:
        """The fwd rule takes all captures, and returns those that bwd reads."""
        ahead, back = self.parts
        more = self.all_types[len(ahead.params):]
        made = with_saved(with_params(ahead, more), self)
        n_out = self.out_tree.num_leaves
        for (types, flags), held in [*self.residuals.items()]:
            if types == ahead.return_types[n_out:]:
                self.residuals[made.return_types[n_out:], flags] = held
        self.memo[self._forward()] = made
        self.memo[self._backward(made)] = back
        return self.function(self.probe)

    def _forward(self) -> Request:
        return Request("fwd", self.all_types, *([self.flags] if self.symbolic_zeros else []))

    def _backward(self, ahead: Function) -> Request:
        """The request for bwd, behind the Function that answered `_forward`."""
        n_out = self.out_tree.num_leaves
        out_types, facts = ahead.return_types[:n_out], []
        if self.symbolic_zeros:
            facts = [tuple([f for f, (t, _) in zip(self.flags, self.kinds, strict=False)
                           if t.is_inexact]), tuple([t.is_inexact for t in out_types])]
        return Request("bwd", ahead.return_types[n_out:], out_types, *facts)

    def fwd(self, types: tuple, perturbed: tuple = ()) -> Function:
        """The results, then the residuals, of the operands."""
        n_own = self.n_own
        held: dict[str, Any] = {}

        def call(tracers: list) -> Any:
            if self.symbolic_zeros:
                tracers = [CustomVJPPrimal(x, p) for x, p in
                           zip(tracers, perturbed, strict=False)]
            args: list[Any] = list(tree_unflatten(self.tree, tracers))
            for i, x in sorted(zip(self.custom.nondiff_argnums, self.static, strict=True)):
                args.insert(i, x)
            outs, self.out_tree, residuals = check_fwd_result(
                self.name, self.custom.fwd(*args), self.flat)
            held["residuals"], held["tree"] = (
                flat_values(residuals, carriers=True) if HIDES else tree_flatten(residuals))
            return [*outs, *held["residuals"]]

        traced = trace_call(call, kinds_like(types[:n_own], self.kinds), name=f"{self.name}_fwd",
                            kind="custom_vjp fwd rule", staging=True, inputs=self.inputs(0),
                            origins=[self] * n_own, of_rule=True, reached=self.reached)
        self.traced, n_out = traced.trace, self.out_tree.num_leaves
        made = with_saved(order_params(traced, self, types[n_own:], f"{self.name}.fwd"), self)
        flags = tuple([p for p, t in zip(perturbed, types[:n_own], strict=False) if t.is_inexact])
        trace, values = traced.trace, traced.function.returns[n_out:]
        self.residuals[made.return_types[n_out:], flags] = _Residuals(
            held["tree"], traced.function.weak_returns[n_out:],
            {i: x for i, x in enumerate(held["residuals"]) if type(x) in (bool, int)},
            None if self.known is None else [concrete.Later(trace, v) for v in values],
            None if trace.following is None else [Tracer(trace, v, False) for v in values],
            [reaching(Tracer(trace, v, False)) for v in values] if any(self.reached) else [])
        return made

    def bwd(self, residual_types: tuple, ct_types: tuple, perturbed: tuple = (), live: tuple = ()
            ) -> Function:
        """The cotangents of the inexact operands, of the residuals and the cotangents."""
        held = self.residuals.get((residual_types, perturbed))
        if held is None:
            raise UnexpectedTracerError(f"the bwd rule of {self.name} cannot be traced before its "
                                        "fwd rule")
        n, n_cts = len(held.weaks), len(ct_types)
        kinds = [*zip(residual_types[:n], held.weaks, strict=True), *[(t, False) for t in ct_types]]

        def call(tracers: list) -> Any:
            residuals = tree_unflatten(
                held.tree, [held.plain.get(i, x) for i, x in enumerate(tracers[:n])])
            cts = [x if t.is_inexact else np.zeros(t.shape, float0)
                   for x, t in zip(tracers[n:], ct_types, strict=True)]
            cts = [x if a else self.zero(t) for x, t, a in zip(
                cts, ct_types, live or (True,) * n_cts, strict=True)]
            made = self.custom.bwd(*self.static, residuals, tangent_tree(self.out_tree, cts))
            if HIDES and isinstance(made, (tuple, list)):
                from .high import hidden_tangents  # loaded already

                children = self.tree.children()
                if len(children) == len(made):   # another number is refused below
                    made = [hidden_tangents(child, ct, lambda _: None)
                            for child, ct in zip(children, made, strict=True)]
            return check_bwd_result(self.name, made, self.tree, self.kinds)

        traced = trace_call(
            call, kinds, name=f"{self.name}_bwd", kind="custom_vjp bwd rule", staging=True,
            of_rule=True, reached=[*held.reached, *[0] * n_cts] if held.reached else (),
            inputs=None if held.known is None else [*held.known, *[None] * n_cts],
            origins=None if held.origins is None else [
                *held.origins, *[ResultOf(self, i) for i in range(n_cts)]])
        return back_params(traced, self, n, f"{self.name}.bwd")

    def both(self) -> Function:
        """One Function that stands for fwd and bwd together, for fingerprints."""
        ahead = self.function(self._forward())
        n_out = self.out_tree.num_leaves
        back = self.function(self._backward(ahead))
        self.parts = ahead, back
        if len(back.params) != len(ahead.returns):
            return back                          # bwd captures: fwd must save that
        b = PlacedBuilder(self.name)
        made = b.inline(ahead, [b.param(v.type) for v in ahead.params])
        cts = [b.param(v.type) for v in ahead.returns[:n_out]]
        return b.close((*made, *b.inline(back, (*made[n_out:], *cts))))


class _Residuals(NamedTuple):
    """Facts about the residuals that a fwd rule leaves for bwd.

    `tree` is their tree, `weaks` their weakness, and `plain` has those that are bools and ints of
    Python, by number. `known` has their values and `origins` the tracers that they were, if these
    are known. `reached` has the outer derivatives that reach each of them."""

    tree: Any
    weaks: Sequence[bool]
    plain: dict[int, Any]
    known: list[Any] | None
    origins: list[Any] | None
    reached: list[int]


class custom_vjp(Ruled[P, R]):
    """A function with its own rule for cotangents.

    Args:
      fun: a function of arrays and trees, without keyword-only parameters.
      nondiff_argnums, nondiff_argnames: positions and names of arguments that are passed to `bwd`
        unchanged, before the residuals; none by default.
    Raises: AttributeError at a call where no rule was set; TypeError, ValueError at a
      differentiated call where the results of the rule do not fit `fun`.

    `defvjp(fwd, bwd)` sets the rule: `fwd(*args) -> (value, residuals)`, and `bwd(*nondiff,
    residuals, cotangent)` returns a tuple with a cotangent for each differentiable argument, a
    tree like the argument or a prefix of it, where None is zero.

    >>> @xfront.custom_vjp
    ... def kept(x):
    ...     return x
    >>> kept.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1, 1),))
    >>> xfront.grad(lambda x: 5 * kept(x))(2.0)
    Array(1., dtype=float32, weak_type=True)
    """

    definition, rule = ops.custom_vjp, VjpRule
    no_rule = "No VJP defined for custom_vjp function {} using defvjp."
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any],
               symbolic_zeros: bool = False, optimize_remat: bool = False) -> None:
        """Set the rule.

        Args:
          fwd: `fwd(*args) -> (value, residuals)`.
          bwd: `bwd(*nondiff, residuals, cotangent) -> cotangents`, a tuple.
          symbolic_zeros: whether the leaves of the arguments of `fwd` are `CustomVJPPrimal`s, which
            say whether they are differentiated, and cotangents that are known to be zero come to
            `bwd` as `SymbolicZero`s; `bwd` may return them too.
          optimize_remat: a permission that changes nothing: under `checkpoint`, the part of `fwd`
            that computes the value runs again unchanged.
        """
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros = symbolic_zeros

    @property
    def python(self) -> tuple:
        """The functions of the rule."""
        return self.fwd, self.bwd


def check_fwd_result(name: str, made: Any, flat: Flat | None) -> tuple[list, Any, Any]:
    """The flat results with their tree, and the tree of residuals. `flat` is the function, where it
    has been traced. Raises: TypeError."""
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise TypeError(f"Custom VJP fwd rule for function {name} must produce a pair "
                        f"(value, residuals), got {made}.")
    outs, out_tree = flat_values(made[0], carriers=True) if HIDES else tree_flatten(made[0])
    if flat is not None and out_tree != flat.out_tree:
        raise TypeError(f"Custom VJP fwd rule for function {name} must produce a pair "
                        "whose first element has the structure of the function's result "
                        f"{flat.out_tree}, got {out_tree}.")
    return outs, out_tree, made[1]


def check_bwd_result(name: str, made: Any, tree: Any, kinds: list) -> list:
    """One cotangent for each inexact leaf of the arguments. Raises: TypeError, ValueError."""
    n_args = len(tree.children())
    if not isinstance(made, (tuple, list)) or len(made) != n_args:
        got = len(made) if isinstance(made, (tuple, list)) else type(made).__name__
        raise TypeError(f"Custom VJP bwd rule for function {name} must produce a tuple with one "
                        f"cotangent for each of the {n_args} differentiable arguments, got {got}.")
    flat: list[Any] = []
    for child, ct in zip(tree.children(), made, strict=True):
        try:
            flat += _cotangents(child, ct)
        except ValueError as e:
            raise TypeError(f"Custom VJP bwd rule for function {name} must produce cotangents in "
                            "the tree of its arguments, or in a prefix of it, where None is zero: "
                            f"{e}") from None
    out = []
    for k, (ct, (t, _)) in enumerate(zip(flat, kinds, strict=True)):
        if not t.is_inexact:
            continue
        if ct is None or is_zero(ct):
            out.append(zero_tangent(t))
            continue
        ct_type, _ = kind_of(name, ct)
        if ct_type.shape != t.shape:
            path = tree_flatten_with_path(filled(tree, [t for t, _ in kinds]))[0][k][0]
            raise ValueError(f"Custom VJP bwd rule for function {name} must produce cotangents of "
                             "the shapes of its arguments: argument "
                             f"{path[0].idx}{keystr(path[1:])} is {t}, but its cotangent is "
                             f"{ct_type}.")
        out.append(typed(ct, t))
    return out


def _cotangents(tree: Any, made: Any) -> list:
    """A cotangent or None for each leaf of `tree`, from the tree prefix `made`. Raises: ValueError
    where it is not a prefix."""
    try:
        return tree.flatten_up_to(made)
    except ValueError:
        leaves, structure = tree_flatten(made, is_leaf=lambda x: x is None)
    spread = broadcast_prefix(tree_unflatten(structure, [*range(len(leaves))]),
                              tree_unflatten(tree, [object()] * tree.num_leaves))
    return [leaves[i] for i in spread]


def with_saved(function: Function, rule: Rule) -> Function:
    """A forward rule that also returns the captures that the backward rule reads."""
    if not rule.saved:
        return function
    held = [function.params[len(rule.types) + i] for i in rule.saved]
    weaks = function.weak_returns or (False,) * len(function.returns)
    return function.replace(returns=[*function.returns, *held], weak_returns=(
        *weaks, *[rule.captures[i].weak for i in rule.saved]))


def back_params(traced: Flat, rule: Rule, n_residuals: int, label: str) -> Function:
    """A backward rule's Function with parameters residuals, saved captures, cotangents."""
    function, captures = with_values(traced, rule, label)
    known = joined_captures(captures, rule, label)
    for x in captures:
        if type(x) is Tracer and known[x.value] not in rule.saved:
            rule.saved.append(known[x.value])
    saved = [rule.captures[i].value for i in rule.saved]
    return arranged(function, captures, n_residuals, [v.type for v in saved],
                    {v: i for i, v in enumerate(saved)})


@front_door
def custom_gradient(fun: Callable[..., Any] | None = None, *, with_logs: bool = False,
                    remat: bool = False, with_accums: None = None) -> Callable[..., Any]:
    """The function of which `fun` returns the value and the rule for cotangents.

    Args:
      fun: a function that returns `(value, vjp)`; `vjp(cotangent)` returns a tuple with a cotangent
        for each argument, or the cotangent itself for a single one. Without it, a decorator is
        returned.
      with_logs, remat: False only.
      with_accums: None only.
    Raises: TypeError where `fun` is no function; NotImplementedError for the other arguments.

    >>> @xfront.custom_gradient
    ... def kept(x):
    ...     return x, lambda ct: jnp.clip(ct, -1, 1)
    >>> xfront.grad(lambda x: 5 * kept(x))(2.0)
    Array(1., dtype=float32, weak_type=True)
    """
    only("custom_gradient", False, "return what is to be logged with has_aux=True",
         with_logs=with_logs)
    only("custom_gradient", False, "a function under jax.checkpoint is computed again as it is",
         remat=remat)
    only("custom_gradient", None, "return the cotangents", with_accums=with_accums)
    if fun is None:
        return custom_gradient
    if not callable(fun):
        raise TypeError(f"custom_gradient: expected a function, got {fun!r}")
    given = fun

    @custom_vjp
    def wrapped(*args: Any) -> Any:
        return given(*args)[0]

    def forward(*args: Any) -> Any:
        value, rule = given(*args)
        closed, captured = converted(rule, (value,), lambda x: True)
        return value, Partial(closed, captured, args)

    def backward(puller: Any, ct: Any) -> Any:
        captured, args = puller.args
        cts = puller.func(ct, *captured)
        return cts if isinstance(cts, (tuple, list)) and len(args) != 1 or isinstance(
            cts, tuple) else (cts,)

    wrapped.defvjp(forward, backward)
    return front_door(lambda *args: wrapped(*args), fun)


@front_door
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list]:
    """`(closed, captured)`: `fun` as a function of its arguments and of the values it captured by
    which a derivative may be taken: traced floats and complex numbers. Others stay captured.

    Args:
      fun: a function of arrays and trees, which may close over arrays and tracers.
      example_args: arguments of `fun`; only their structure, shapes and dtypes are read.
    Returns: a list of these values, and a function for which `closed(*args, *captured)`
      equals `fun(*args)`. It raises TypeError for arguments unlike `example_args`.

    >>> def f(x):
    ...     closed, captured = xfront.closure_convert(lambda y: x * y, 2.0)
    ...     return closed(5.0, *captured)
    >>> xfront.grad(f)(3.0)
    Array(5., dtype=float32, weak_type=True)
    """
    return converted(fun, example_args, lambda x: type(x) is Tracer and x.value.type.is_inexact)


def converted(fun: Callable[..., Any], example_args: tuple, moves: Callable[[Any], bool]
              ) -> tuple[Callable[..., Any], list]:
    """As `closure_convert`; `moves` says which of the captured values become arguments."""
    name, n = name_of(fun), len(example_args)
    given = Arguments("closure_convert", list(example_args))
    flat = given.trace(fun, name=name, kind="closure_convert", staging=True)
    function, out_tree = flat.function, flat.out_tree
    moved = [moves(x) for x in flat.captures]
    # in a list of their own, for rules are looked through for what they close over
    kept = [x for x, m in zip(flat.captures, moved, strict=True) if not m]

    @front_door
    def closed(*args: Any) -> Any:
        leaves, tree = tree_flatten(list(args[:n]))
        if tree != given.tree:
            raise TypeError(f"{name} was converted for arguments of structure {given.tree}, but "
                            f"was called with {tree}")
        own = []
        for x, (t, _) in zip(leaves, given.kinds, strict=True):
            own.append(np.zeros(t.shape, t.dtype.numpy) if is_zero(x) else as_operand(x))
            if kind_of(name, own[-1])[0] is not t:
                raise TypeError(f"{name} was converted for an argument of type {t}, but was called "
                                f"with {kind_of(name, x)[0]}")
        if len(args) - n != sum(moved):
            raise TypeError(f"{name} was converted with {sum(moved)} captured values, but was "
                            f"called with {max(0, len(args) - n)}")
        of_moved, of_kept = iter(args[n:]), iter(kept)
        held = [next(of_moved if m else of_kept) for m in moved]
        return tree_unflatten(out_tree, bind(function, [*own, *held], name=name))

    return closed, [x for x, m in zip(flat.captures, moved, strict=True) if m]


__all__ = ["closure_convert", "converted", "custom_gradient", "custom_vjp"]
