"""Custom derivative rules: custom_jvp, custom_vjp, and what is built on them.

A rule is Python that is traced when a pass asks for it. The op holds a `Rule` (a Deferred of the
IR), which remembers the names of axes, the scopes and the options of the place where the op was
recorded, and traces under them. Rules that close over live tracers are traced when the op is
recorded, and what they capture joins the operands. The rule says nothing of the derivative in what
is captured: it is that of the function itself.
"""

from __future__ import annotations

import functools
import inspect
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.fingerprint import fingerprint, identity, skeleton
from xfront_ir.opdef import Request
from xfront_ir.passes.literals import abstract
from xfront_ir.types import TensorType

from ..arrays.dispatch import deepest
from ..dtypes import float0
from ..errors import UnexpectedTracerError
from ..tracebacks import front_door
from ..tracing import concrete
from ..tracing.compiled import to_array
from ..tracing.programs import bind
from ..tracing.trace import Trace, emit, state
from ..tracing.tracer import Tracer
from ..tree_util import Partial, keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from .closing import closes_over_tracer, closes_over_value, constant_value, told_apart
from .flat import Flat, as_operand, kind_of, name_of, trace_call

P = ParamSpec("P")
R = TypeVar("R")


# --- rules --------------------------------------------------------------------------------------

class _Open(threading.local):
    """What this thread is doing with rules.

    `asked`: owners of those being told apart or recorded; in themselves their names stand for them.
    `recorded`: those that are traced while their op is recorded, by identity of the custom function
    and of its nondiff arguments, and by types; a call in them with these holds the same rule.
    """

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.recorded: dict[tuple, Rule] = {}


_OPEN = _Open()


class Rule:
    """The Deferred of a custom rule. `roles` maps a role to the function that traces it.

    `n_own` operands come first, captures after; `fingerprint` tells rules apart where programs are
    told apart.
    """

    def __init__(self, name: str, n_own: int, roles: dict[str, Callable[..., Function]],
                 probe: Request, owner: int, types: tuple[TensorType, ...]) -> None:
        self.owner = owner                       # identity of the custom function
        self.types = types                       # of own operands and the body's captures
        self.print: bytes | None = None
        self.symbolic_zeros = False              # whether Python sees which tangents are zero
        self.told_apart = ""                     # by what, beside the Function for the probe
        self.name, self.n_own, self.roles, self.probe = name, n_own, roles, probe
        self.captures: list[Any] = []
        self.saved: list[int] = []               # captures that bwd reads: residuals behind fwd's
        self.home: Trace | None = None           # from which its numbers and arrays are captured
        self.values: dict[tuple[str, int], Tracer] = {}      # these, by role and place
        self.memo: dict[Request, Function] = {}
        self.place = (state.axes, state.scope)
        self.recording = True                    # until its op has been recorded
        self.holds_others = False                # rules of its function that are not traced yet
        self.refusal: Exception | None = None    # what it raised while its op was recorded
        self.whole: Function | None = None       # jvp by all operands, of a rule with captures
        self.known: list[Any] | None = None      # own operands, where Python may ask for values

    def inputs(self, n_more: int) -> list[Any] | None:
        """What Python may ask for of the own operands and `n_more` (co)tangents, which it may not;
        None where nothing is known."""
        return None if self.known is None else [*self.known, *[None] * n_more]

    def function(self, request: Request) -> Function:
        """The Function for a request; traced once, where the op was recorded."""
        if self.refusal is not None:
            raise self.refusal
        found = self.memo.get(request)
        if found is None and self.whole is not None and request.role == "jvp":
            found = self.memo[request] = restricted(self.whole, request.details[0],
                                                    request.details[1], self.n_own)
        if found is None:
            outer = state.axes, state.scope, state.current
            state.axes, state.scope = self.place
            state.current = None
            try:
                found = self.roles[request.role](*request.details)
            finally:
                state.axes, state.scope, state.current = outer
            self.memo[request] = found
        return found

    def fingerprint(self) -> bytes:
        """What distinguishes this rule: the Functions that a derivative will ask it for.

        A rule that calls its own function holds itself again; there its name stands for it.
        """
        if self.owner in _OPEN.asked:
            return f"again {self.name} {self.probe}".encode()
        if self.print is None:
            _OPEN.asked.append(self.owner)
            try:
                self.print = self.told_apart.encode() + fingerprint(self.function(self.probe))
            except Exception:                    # it refuses: whoever asks for it will be told
                self.print = (self.told_apart or identity(self)).encode()
            finally:
                _OPEN.asked.pop()
        return self.print

    def close(self, live: bool, called: tuple) -> None:
        """Trace now a rule that closes over live tracers, or whose values have a home."""
        if live or self.home is not None:
            _OPEN.recorded[called] = self
            _OPEN.asked.append(self.owner)
            try:
                self._find(live)
            finally:
                _OPEN.asked.pop()
                del _OPEN.recorded[called]
        self.recording = False

    def _find(self, live: bool) -> None:
        probe = self.probe
        try:
            self.find_captures()
        except Exception as error:               # it refuses: whoever asks for it will be told
            self.memo.clear()
            self.probe, self.captures, self.saved, self.values = probe, [], [], {}
            if self.home is not None:
                self.home = None
                if live:
                    self._find(live)
            else:
                self.refusal = error             # its tracers will have ended

    def find_captures(self) -> None:
        """Trace the rule to see what it captures, then once more with that among its operands."""
        self.function(self.probe)
        if not self.captures:
            return
        self.memo.clear()
        if self.probe.details:
            _, flags, *rest = self.probe.details
            types = (*self.probe.details[0], *[x.value.type for x in self.captures])
            self.probe = Request(self.probe.role, types,
                                 (*flags, *[False] * len(self.captures)), *rest)
        n = len(self.captures)
        again = self.function(self.probe)
        if len(self.captures) != n or self.home is not None and self.holds_others:
            raise UnexpectedTracerError(f"the rule of {self.name} captures other values each time; "
                                        "pass them to the function as arguments")
        self.whole = again if self.probe.role == "jvp" else None


def restricted(whole: Function, types: tuple, perturbed: tuple, n_own: int) -> Function:
    """A jvp rule by all inexact operands, for fewer: the others' tangents are zero."""
    b = Builder(whole.name)
    operands = [b.param(t) for t in types]
    dots = [b.param(t) if p else b.zeros(t)
            for t, p in zip(types[:n_own], perturbed, strict=False) if t.is_inexact]
    return b.close(b.inline(whole, (*operands, *dots)), whole.weak_returns)


# --- custom_jvp ----------------------------------------------------------------------------------

class custom_jvp(Generic[P, R]):
    """A function with its own rule for tangents.

    Args:
      fun: the function; `nondiff_argnums` are handed to the rule as they are, before primals and
        tangents.

    >>> @xfront.custom_jvp
    ... def f(x): return jnp.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents): return f(*primals), 2.0 * tangents[0]
    """

    @front_door
    def __init__(self, fun: Callable[P, R], nondiff_argnums: Sequence[int] = (),
                 nondiff_argnames: Sequence[str] = ()) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = named_argnums(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule: `jvp(*nondiff, primals, tangents) -> (value, tangent)`.

        With `symbolic_zeros` the tangents of what is not differentiated are `SymbolicZero`s, and
        the rule may give such.
        """
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set a rule for each argument: `rule(tangent, value, *primals) -> tangent`, or None."""
        def rule(primals: Any, tangents: Any) -> Any:
            value: Any = self(*primals)  # type: ignore[call-arg]  any arguments
            parts = [f(t, value, *primals) for f, t in zip(jvps, tangents, strict=True) if f]
            return value, functools.reduce(operator.add, parts) if parts else 0.0 * value

        self.defjvp(rule)

    @property
    def python(self) -> tuple:
        """The functions of the rule."""
        return (self.jvp,)

    def deferred(self, *call: Any) -> Rule:
        """The Deferred of one call."""
        return jvp_rule(self, *call)

    @front_door
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {name_of(self.fun)} "
                                 "using defjvp.")
        return call_custom(ops.custom_jvp, self, args, kwargs)  # type: ignore[return-value]


def named_argnums(fun: Any, argnums: int | Sequence[int], argnames: str | Sequence[str]
                  ) -> tuple[int, ...]:
    """Positions of arguments named by number or name."""
    argnums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    argnames = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if not argnames:
        return argnums
    names = list(inspect.signature(fun).parameters)
    return tuple(sorted({*argnums, *[names.index(n) for n in argnames]}))


def positional_args(fun: Any, args: tuple, kwargs: dict) -> tuple:
    """All arguments positionally, defaults included. Raises: TypeError."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        if kwargs:
            raise TypeError(f"{name_of(fun)} has no signature; give its arguments by position"
                            ) from None
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"{name_of(fun)}: keyword-only arguments cannot be given to a function "
                        f"with a custom derivative: {', '.join(bound.kwargs)}")
    return bound.args


def call_custom(definition: Any, custom: Any, args: tuple, kwargs: dict) -> Any:
    """Trace the primal, and record or run the op with its rule."""
    fun, name = custom.fun, name_of(custom.fun)
    args = positional_args(fun, args, kwargs)
    nondiff = tuple(i % len(args) for i in custom.nondiff_argnums)
    static = [args[i] for i in nondiff]
    places = [i for i in range(len(args)) if i not in nondiff]
    leaves, tree = tree_flatten([args[i] for i in places])
    kinds = [kind_of(name, x) for x in leaves]

    def call(tracers: Sequence[Any]) -> Any:
        given = list(args)
        for i, x in zip(places, tree_unflatten(tree, tracers), strict=True):
            given[i] = x
        return fun(*given)

    if definition is not ops.custom_vmap and state.current is None and not any(
            type(x) is Tracer for x in leaves):
        return call([to_array(as_operand(x)) for x in leaves])    # nobody asks for its rule
    known = leaves if all(map(concrete.may_be_known, leaves)) else None
    flat = trace_call(call, kinds, name=name, kind=definition.name, staging=False, inputs=known)
    called = (id(custom), *map(id, static), flat.function.param_types)
    outer = _OPEN.recorded.get(called)
    if outer is not None:
        return finish_custom(definition, flat, leaves, outer, name)
    rule = custom.deferred(name, static, tree, kinds, flat)
    rule.known = known
    python = (*custom.python, *static)
    around = [r for r in _OPEN.recorded.values() if r.owner == rule.owner]
    for other in around:
        other.holds_others = True
    if not (around or rule.told_apart or definition is ops.custom_vmap) and any(
            map(closes_over_value, python)):
        rule.home = deepest((*leaves, *flat.captures), state.current)
    rule.close(any(map(closes_over_tracer, python)), called)
    return finish_custom(definition, flat, leaves, rule, name)


def finish_custom(definition: Any, flat: Flat, leaves: list, rule: Rule, name: str) -> Any:
    """Record or run the op over its own operands and all captures."""
    captures = [*flat.captures, *rule.captures]
    body = flat.function
    if rule.captures:
        body = with_params(body, [t for t, _ in map(type_pair, rule.captures)])
    operands = [*map(as_operand, leaves), *captures]
    results = record_custom(definition, operands, body, rule, name)
    for t, w in zip(results, flat.function.weak_returns, strict=True):
        if type(t) is Tracer:
            t.weak = w
    return tree_unflatten(flat.out_tree, results)


def type_pair(x: Any) -> tuple[TensorType, bool]:
    """Type and weakness of a captured value."""
    return kind_of("capture", x)


def with_params(function: Function, types: Sequence[TensorType]) -> Function:
    """The Function with further parameters that it does not read."""
    b = Builder(function.name)
    own = [b.param(v.type) for v in function.params]
    for t in types:
        b.param(t)
    return b.close(b.inline(function, own), function.weak_returns)


def record_custom(definition: Any, operands: list, body: Function, rule: Rule, name: str) -> list:
    """The op on tracers; on arrays its body alone (nothing is being differentiated)."""
    if state.current is None and not any(type(x) is Tracer for x in operands):
        return bind(body, operands, name=name)
    return emit(definition, *operands, body=body, rule=rule, name=name)


def jvp_rule(custom: custom_jvp, name: str, static: list, tree: Any, kinds: list,
             flat: Flat) -> Rule:
    """The Deferred of a custom_jvp."""
    n_own = len(kinds)
    n_body = n_own + len(flat.captures)
    out_types = flat.function.return_types

    def trace(types: tuple, perturbed: tuple) -> Function:
        own = kinds_like(types[:n_own], kinds)
        moved = [(t, w) for (t, w), p in zip(own, perturbed, strict=False) if p]

        def call(tracers: list) -> Any:
            primals, dots = tracers[:n_own], iter(tracers[n_own:])
            tangents = [next(dots) if p else zero(t)
                        for (t, _), p in zip(own, perturbed, strict=False)]
            assert custom.jvp is not None
            made = custom.jvp(*static, tuple(tree_unflatten(tree, primals)),
                              tuple(tree_unflatten(tree, tangents)))
            return check_jvp_result(name, made, flat, out_types)

        traced = trace_call(call, [*own, *moved], name=f"{name}_jvp", kind="custom_jvp rule",
                            staging=True, inputs=rule.inputs(len(moved)))
        return order_params(traced, rule, n_own, types[n_own:], n_body, f"{name}.jvp")

    probe = Request("jvp", flat.function.param_types,
                    (*[t.is_inexact for t, _ in kinds], *[False] * len(flat.captures)))
    rule = Rule(name, n_own, {"jvp": trace}, probe, id(custom),
                flat.function.param_types)
    zero = zero_tangent
    if custom.symbolic_zeros:
        zero = mark_symbolic(rule, custom, static)
    return rule


def mark_symbolic(rule: Rule, custom: Any, static: list) -> Callable[[TensorType], Any]:
    """Note that a rule has symbolic zeros; gives what makes them."""
    from .symbolic import SymbolicZero, zero_aval  # where a rule asks for them

    rule.symbolic_zeros, rule.told_apart = True, told_apart(custom, static)
    return lambda t: SymbolicZero(zero_aval(t))


def is_zero(x: Any) -> bool:
    """Whether a tangent or cotangent is known to be zero."""
    return type(x).__name__ == "SymbolicZero" or getattr(x, "dtype", None) == float0


def kinds_like(types: Sequence[TensorType], kinds: Sequence[tuple[TensorType, bool]]) -> list:
    """The types asked for with the weakness of the operands."""
    return [(t, w) for t, (_, w) in zip(types, kinds, strict=True)]


def joined_captures(captures: Sequence[Any], rule: Rule, label: str) -> dict[Any, int]:
    """The place of each captured tracer among the rule's captures.

    They are allowed while the op is being recorded: they join its operands.
    """
    known = {x.value: i for i, x in enumerate(rule.captures)}
    for x in captures:
        if type(x) is Tracer and x.value not in known:
            if not rule.recording:
                raise UnexpectedTracerError(
                    f"the rule {label} met a tracer of type {x.value.type} that its function was "
                    "not given; pass the value to the function as an argument")
            known[x.value] = len(rule.captures)
            rule.captures.append(x)
    return known


def with_values(traced: Flat, rule: Rule, label: str) -> tuple[Function, list[Any]]:
    """The Function of a role and what it captured; where the rule has a home, as tracers of that:
    its numbers too, which are literals there like those of the program, and its arrays."""
    function, captures = traced.function, list(traced.captures)
    home, known = rule.home, rule.values
    if home is None:
        return function, captures
    arrays = [i for i, x in enumerate(captures) if type(x) is not Tracer]
    for n, i in enumerate(arrays):
        if (label, ~n) not in known:
            known[label, ~n] = home.lift(captures[i])
        captures[i] = known[label, ~n]
    literals = skeleton(function)[1]
    places = [i for i, x in enumerate(literals) if x.dtype.is_inexact]
    for i in places:
        if (label, i) not in known:
            known[label, i] = home.literal(literals[i], literals[i].type.shape)
        captures.append(known[label, i])
    return abstract(function, places), captures


def order_params(traced: Flat, rule: Rule, n_own: int, capture_types: Sequence[TensorType],
                 n_body: int, label: str) -> Function:
    """The rule's Function with parameters own, captures, rest."""
    function, captures = with_values(traced, rule, label)
    known = joined_captures(captures, rule, label)
    b = Builder(function.name)
    own = [b.param(v.type) for v in function.params[:n_own]]
    own_captures = [b.param(t) for t in capture_types]
    missing = rule.captures[len(own_captures) - (n_body - n_own):]
    own_captures += [b.param(x.value.type) for x in missing]
    n_given = len(function.params) - len(captures)
    rest = [b.param(v.type) for v in function.params[n_own:n_given]]
    held = []
    offset = n_body - n_own
    for v, x in zip(function.params[n_given:], captures, strict=True):
        if type(x) is Tracer:
            held.append(own_captures[offset + known[x.value]])
        else:
            held.append(constant_value(b, v, x))
    return b.close(b.inline(function, (*own, *rest, *held)), function.weak_returns)


def with_saved(function: Function, n_body: int, rule: Rule) -> Function:
    """A forward rule that also returns the captures that the backward rule reads."""
    if not rule.saved:
        return function
    held = [function.params[n_body + i] for i in rule.saved]
    weaks = function.weak_returns or (False,) * len(function.returns)
    return Function(function.name, function.params, function.ops, [*function.returns, *held],
                    weak_params=function.weak_params,
                    weak_returns=(*weaks, *[rule.captures[i].weak for i in rule.saved]))


def back_params(traced: Flat, rule: Rule, n_residuals: int, label: str) -> Function:
    """A backward rule's Function with parameters residuals, saved captures, cotangents."""
    function, captures = with_values(traced, rule, label)
    known = joined_captures(captures, rule, label)
    for x in captures:
        if type(x) is Tracer and known[x.value] not in rule.saved:
            rule.saved.append(known[x.value])
    b = Builder(function.name)
    n_given = len(function.params) - len(captures)
    own = [b.param(v.type) for v in function.params[:n_residuals]]
    saved = [b.param(rule.captures[i].value.type) for i in rule.saved]
    cts = [b.param(v.type) for v in function.params[n_residuals:n_given]]
    place = {rule.captures[i].value: v for i, v in zip(rule.saved, saved, strict=True)}
    held = [place[x.value] if type(x) is Tracer else constant_value(b, v, x)
            for v, x in zip(function.params[n_given:], captures, strict=True)]
    return b.close(b.inline(function, (*own, *cts, *held)), function.weak_returns)


def zero_tangent(t: TensorType) -> Any:
    """The zero that a rule is given for an operand without tangent."""
    if not t.is_inexact:
        return np.zeros(t.shape, float0)
    return state.current.literal(np.zeros((), t.dtype.numpy), t.shape)  # type: ignore[union-attr]


def check_jvp_result(name: str, made: Any, flat: Flat, out_types: Sequence[TensorType]) -> list:
    """Values, then tangents of the inexact results. Raises: TypeError."""
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise TypeError(f"Custom JVP rule for function {name} must produce a pair (list or tuple "
                        f"of length two) representing primal and tangent outputs, got {made}.")
    outs, out_tree = tree_flatten(made[0])
    dots, dot_tree = tree_flatten(made[1])
    if out_tree != dot_tree:
        raise TypeError(f"Custom JVP rule for function {name} must produce primal and tangent "
                        f"outputs with equal container (pytree) structures, but got {out_tree} "
                        f"and {dot_tree} respectively.")
    if out_tree != flat.out_tree:
        raise TypeError(f"Custom JVP rule for function {name} must produce a pair with the primal "
                        f"output's structure {flat.out_tree}, but got {out_tree}.")
    from .autodiff import typed

    moved = []
    for x, d, t in zip(outs, dots, out_types, strict=True):
        x_type = kind_of(name, x)[0]
        if is_zero(d):
            if t.is_inexact:
                moved.append(zero_tangent(x_type))
            continue
        if t.is_inexact and kind_of(name, d)[0].shape != x_type.shape:
            raise TypeError(f"Custom JVP rule for function {name} must produce primal and tangent "
                            f"outputs with corresponding shapes and dtypes. Expected {x_type}, got "
                            f"tangent {kind_of(name, d)[0]}.")
        if t.is_inexact:
            moved.append(typed(d, x_type))
    return [*outs, *moved]


# --- custom_vjp ----------------------------------------------------------------------------------

class custom_vjp(Generic[P, R]):
    """A function with its own rule for cotangents.

    Args:
      fun: the function; `nondiff_argnums` are handed to `bwd` as they are, first.

    `defvjp(fwd, bwd)`: `fwd(*args) -> (value, residuals)`, `bwd(*nondiff, residuals, cotangent) ->`
    a tuple with a cotangent (or None: zero) for each differentiable argument.
    """

    @front_door
    def __init__(self, fun: Callable[P, R], nondiff_argnums: Sequence[int] = (),
                 nondiff_argnames: Sequence[str] = ()) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = named_argnums(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any],
               symbolic_zeros: bool = False, optimize_remat: bool = False) -> None:
        """Set the rule.

        With `symbolic_zeros` the leaves of the arguments of `fwd` are `CustomVJPPrimal`s, which
        say whether they are differentiated; cotangents that are known to be zero come to `bwd` as
        `SymbolicZero`s, and it may give such. `optimize_remat` is a permission that is not made
        use of: under `checkpoint`, what `fwd` does for the value alone runs again as it is.
        """
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros = symbolic_zeros

    @property
    def python(self) -> tuple:
        """The functions of the rule."""
        return self.fwd, self.bwd

    def deferred(self, *call: Any) -> Rule:
        """The Deferred of one call."""
        return vjp_rule(self, *call)

    @front_door
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {name_of(self.fun)} "
                                 "using defvjp.")
        return call_custom(ops.custom_vjp, self, args, kwargs)  # type: ignore[return-value]


def vjp_rule(custom: custom_vjp, name: str, static: list, tree: Any, kinds: list,
             flat: Flat) -> Rule:
    """The Deferred of a custom_vjp."""
    n_own = len(kinds)
    n_body = n_own + len(flat.captures)
    residual_trees: dict[tuple, Any] = {}

    def forward(types: tuple, perturbed: tuple = ()) -> Function:
        own = kinds_like(types[:n_own], kinds)
        held: dict[str, Any] = {}

        def call(tracers: list) -> Any:
            if custom.symbolic_zeros:
                from .symbolic import CustomVJPPrimal

                tracers = [CustomVJPPrimal(x, p) for x, p in
                           zip(tracers, perturbed, strict=False)]
            given: list[Any] = list(tree_unflatten(tree, tracers))
            for i, x in sorted(zip(custom.nondiff_argnums, static, strict=True)):
                given.insert(i, x)
            made = custom.fwd(*given)  # type: ignore[misc]
            if not isinstance(made, (tuple, list)) or len(made) != 2:
                raise TypeError(f"Custom VJP fwd rule for function {name} must produce a pair "
                                f"(value, residuals), got {made}.")
            outs, out_tree = tree_flatten(made[0])
            if out_tree != flat.out_tree:
                raise TypeError(f"Custom VJP fwd rule for function {name} must produce a pair "
                                "whose first element has the structure of the function's result "
                                f"{flat.out_tree}, got {out_tree}.")
            residuals, held["tree"] = tree_flatten(made[1])
            held["plain"] = {i: x for i, x in enumerate(residuals) if type(x) in (bool, int)}
            return [*outs, *residuals]

        traced = trace_call(call, own, name=f"{name}_fwd", kind="custom_vjp fwd rule", staging=True,
                            inputs=rule.inputs(0))
        made = order_params(traced, rule, n_own, types[n_own:], n_body, f"{name}.fwd")
        n_out = len(flat.function.returns)
        weaks = traced.function.weak_returns[n_out:]
        made = with_saved(made, n_body, rule)
        flags = tuple([p for p, t in zip(perturbed, types[:n_own], strict=False) if t.is_inexact])
        saved = None if rule.known is None else [
            concrete.Later(traced.trace, v) for v in traced.function.returns[n_out:]]
        residual_trees[made.return_types[n_out:], flags] = (
            held["tree"], weaks, saved, held["plain"])
        return made

    def backward(residual_types: tuple, ct_types: tuple, perturbed: tuple = (), live: tuple = ()
                 ) -> Function:
        if (residual_types, perturbed) not in residual_trees:
            raise UnexpectedTracerError(f"the bwd rule of {name} was asked for before its fwd rule")
        residual_tree, weaks, saved, plain = residual_trees[residual_types, perturbed]
        n = len(weaks)
        given = [*zip(residual_types[:n], weaks, strict=True), *[(t, False) for t in ct_types]]

        def call(tracers: list) -> Any:
            residuals = tree_unflatten(
                residual_tree, [plain.get(i, x) for i, x in enumerate(tracers[:n])])
            cts = [x if t.is_inexact else np.zeros(t.shape, float0)
                   for x, t in zip(tracers[n:], ct_types, strict=True)]
            cts = [x if a else zero(t) for x, t, a in zip(
                cts, ct_types, live or (True,) * len(cts), strict=True)]
            made = custom.bwd(*static, residuals, tree_unflatten(flat.out_tree, cts))  # type: ignore[misc]
            return check_bwd_result(name, made, tree, kinds)

        inputs = None if saved is None else [*saved, *[None] * len(ct_types)]
        traced = trace_call(call, given, name=f"{name}_bwd", kind="custom_vjp bwd rule",
                            staging=True, inputs=inputs)
        return back_params(traced, rule, n, f"{name}.bwd")

    def both() -> Function:
        """One Function that stands for the pair, for fingerprints."""
        types = flat.function.param_types
        types = (*types, *[x.value.type for x in rule.captures])
        n_out = len(flat.function.returns)
        out_types = flat.function.return_types
        every: tuple = ()
        if custom.symbolic_zeros:
            every = (tuple([t.is_inexact for t in types[:n_own]]),)
        ahead = rule.function(Request("fwd", types, *every))
        if custom.symbolic_zeros:
            every = ((True,) * sum(every[0]), tuple([t.is_inexact for t in out_types]))
        back = rule.function(Request("bwd", ahead.return_types[n_out:],
                                     ahead.return_types[:n_out], *every))
        if len(back.params) != len(ahead.returns):
            return back                          # it captures: both are traced again, to save that
        b = Builder(name)
        made = b.inline(ahead, [b.param(v.type) for v in ahead.params])
        cts = [b.param(v.type) for v in ahead.returns[:n_out]]
        return b.close((*made, *b.inline(back, (*made[n_out:], *cts))))

    rule = Rule(name, n_own, {"fwd": forward, "bwd": backward, "both": both}, Request("both"),
                id(custom), flat.function.param_types)
    zero = zero_tangent
    if custom.symbolic_zeros:
        zero = mark_symbolic(rule, custom, static)
    return rule


def check_bwd_result(name: str, made: Any, tree: Any, kinds: list) -> list:
    """One cotangent for each inexact leaf of the arguments. Raises: TypeError, ValueError."""
    from .autodiff import typed

    n_args = len(tree.children())
    if not isinstance(made, (tuple, list)) or len(made) != n_args:
        got = len(made) if isinstance(made, (tuple, list)) else type(made).__name__
        raise TypeError(f"Custom VJP bwd rule for function {name} must produce a tuple with one "
                        f"cotangent for each of the {n_args} differentiable arguments, got {got}.")
    flat: list[Any] = []
    for child, ct in zip(tree.children(), made, strict=True):
        if ct is None:
            flat += [None] * child.num_leaves
        elif child.num_leaves:
            flat += child.flatten_up_to(ct)
    out = []
    for k, (ct, (t, _)) in enumerate(zip(flat, kinds, strict=True)):
        if not t.is_inexact:
            continue
        if ct is None or is_zero(ct):
            out.append(zero_tangent(t))
            continue
        ct_type, _ = kind_of(name, ct)
        if ct_type.shape != t.shape:
            path = tree_flatten_with_path(tree_unflatten(tree, [0] * len(kinds)))[0][k][0]
            raise ValueError(f"Custom VJP bwd rule for function {name} must produce cotangents of "
                             f"the shapes of its arguments: argument {path[0].idx}"
                             f"{keystr(path[1:])} is {t}, its cotangent {ct_type}.")
        out.append(typed(ct, t))
    return out


@front_door
def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function from one that returns `(value, vjp)`: the vjp takes the value's cotangent."""
    @custom_vjp
    def wrapped(*args: Any) -> Any:
        return fun(*args)[0]

    def forward(*args: Any) -> Any:
        value, rule = fun(*args)
        closed, captured = closure_convert_rule(rule, value)
        return value, Partial(closed, captured, args)

    def backward(puller: Any, ct: Any) -> Any:
        captured, args = puller.args
        cts = puller.func(captured, ct)
        return cts if isinstance(cts, (tuple, list)) and len(args) != 1 or isinstance(
            cts, tuple) else (cts,)

    wrapped.defvjp(forward, backward)
    return front_door(lambda *args: wrapped(*args), fun)


def closure_convert_rule(rule: Callable[..., Any], value: Any) -> tuple[Callable[..., Any], list]:
    """A rule as a function of what it captured and a cotangent like `value`."""
    leaves, tree = tree_flatten(value)
    kinds = [kind_of("custom_gradient", x) for x in leaves]
    flat = trace_call(lambda ts: rule(tree_unflatten(tree, ts)), kinds, name="rule",
                      kind="custom_gradient", staging=True)
    function, out_tree = flat.function, flat.out_tree

    def closed(captured: list, ct: Any) -> Any:
        from .autodiff import typed

        cts = [typed(x, t) for x, (t, _) in zip(tree_flatten(ct)[0], kinds, strict=True)]
        return tree_unflatten(out_tree, bind(function, [*cts, *captured], name="rule"))

    return closed, flat.captures


@front_door
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list]:
    """`(closed, captured)`: `fun` as a function of its arguments and the tracers it captured.

    `closed(*args, *captured)` equals `fun(*args)` for arguments like `example_args`.
    """
    leaves, tree = tree_flatten(list(example_args))
    kinds = [kind_of("closure_convert", x) for x in leaves]
    flat = trace_call(lambda ts: fun(*tree_unflatten(tree, ts)), kinds, name=name_of(fun),
                      kind="closure_convert", staging=True)
    n = len(example_args)

    @front_door
    def closed(*args: Any) -> Any:
        given, given_tree = tree_flatten(list(args[:n]))
        if given_tree != tree:
            raise TypeError(f"{name_of(fun)} was converted for arguments {tree}, got {given_tree}")
        results = bind(flat.function, [*map(as_operand, given), *args[n:]], name=name_of(fun))
        return tree_unflatten(flat.out_tree, results)

    return closed, list(flat.captures)


__all__ = ["Rule", "closure_convert", "custom_gradient", "custom_jvp", "custom_vjp"]
