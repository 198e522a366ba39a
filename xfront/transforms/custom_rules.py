"""The base of functions with rules of their own: how they are called, and how passes get the rule.

A rule is Python that is traced when a pass asks for it. The op holds a `Rule` (a Deferred of the
IR), which remembers the named axes, the scopes and the `shard_map`s around the place where the op
was recorded, and traces under them. A rule that closes over live tracers is traced when its op is
recorded, and its captures join the operands. The rule does not define the derivative with respect
to its captures: that derivative is the function's own.

If an argument is being differentiated when the function is called, only the rule runs, as it would
if each operation ran at once. It is traced then, and its computation of the value is the body of
the op.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np
from xfront_ir.core import Function, Value
from xfront_ir.definition import OpDef
from xfront_ir.fingerprint import fingerprint, identity, skeleton
from xfront_ir.opdef import Request
from xfront_ir.passes.dead_code import dead_code
from xfront_ir.passes.inline import expand
from xfront_ir.passes.literals import abstract
from xfront_ir.passes.varying import NOWHERE, varying
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType

from ..base.dtypes import float0
from ..base.errors import UnexpectedTracerError
from ..base.trees import tree_unflatten
from ..binding.tracebacks import front_door, without_stages
from ..eager.dispatch import deepest
from ..running import concrete
from ..running.compiled import to_array
from ..running.programs import bind
from ..tracing.following import Following, varies
from ..tracing.perturbed import innermost, reaching
from ..tracing.regions import open_regions
from ..tracing.trace import Recorded, Trace, emit, state
from ..tracing.tracer import Tracer
from .closing import arranged, closes_over_tracer, closes_over_value, rule_apart
from .flat import Arguments, Flat, as_operand, fill, name_of, positions
from .pickling import name_in_module
from .symbolic import SymbolicZero, zero_aval

P = ParamSpec("P")
R = TypeVar("R")


class _Open(threading.local):
    """The rules that this thread is tracing, or whose fingerprints it is computing.

    `asked`: owners of the rules whose fingerprint is being computed or whose op is being recorded;
    a call of such a function by its own rule counts by its name.
    `recorded`: the rules that are traced while their op is recorded. The keys are the identity of
    the custom function and of its nondiff arguments, and the types; a call inside such a rule with
    the same key holds the same rule.
    """

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.recorded: dict[tuple, Rule] = {}


_OPEN = _Open()

DEEPEST = 5
"""How many rules of a function are traced inside one another, each while its op is recorded. One
whose functions close over other values at each call would be traced without end; each is traced
twice, and only a derivative of a higher order asks for the next."""


class Rule:
    """The Deferred of a call of a custom function. A method of each role's name traces that role.

    `n_own` operands come first, captures after them; `fingerprint` is the rule's part in the
    fingerprint of a program.
    """

    def __init__(self, custom: Ruled, name: str, static: list, given: Arguments,
                 flat: Flat | None, reached: Sequence[int]) -> None:
        self.name, self.static = name, static
        self.flat: Any = flat                    # None while a rule is traced before its function
        self.custom: Any = custom
        self.owner = id(custom)
        self.tree, self.kinds, self.n_own = given.tree, given.kinds, len(given.kinds)
        top = innermost(reached)
        self.reached = [x & ~top for x in reached]       # outer derivatives of each leaf
        self.perturbed = tuple([bool(x & top) for x in reached])
        self.types = (tuple([t for t, _ in self.kinds]) if flat is None else
                      flat.function.param_types)   # own operands, then the body's captures
        self.symbolic_zeros = custom.symbolic_zeros    # whether Python sees which tangents are zero
        self.print: bytes | None = None
        self.identity_text = rule_apart(custom, static) if self.symbolic_zeros else ""
        self.captures: list[Any] = []
        self.saved: list[int] = []               # captures that bwd reads: residuals behind fwd's
        self.home: Trace | None = None           # the trace that has its numbers and arrays
        self.values: dict[tuple[str, int], Tracer] = {}      # those, by role and place
        self.memo: dict[Request, Function] = {}
        self.out_tree: Any = None                # the tree of its value, once that is traced
        self.traced: Any = None                  # the trace in which it was traced
        self.parts: tuple[Function, ...] = ()    # the latest Function of each of its roles
        self.place = (state.axes, state.scope, open_regions.regions)
        self.operands: Sequence[Any] = ()        # those of its op, and the captures of the body
        self.recording = True                    # until its op has been recorded
        self.holds_others = False                # whether it holds untraced rules of its function
        self.holds_itself = False                # whether a call inside it has this same rule
        self.holds_more = False                  # ... and its body captures more than the rule does
        self.refusal: Exception | None = None    # the error it raised while its op was recorded
        self.full_jvp: Function | None = None    # jvp for all operands, of a rule with captures
        self.known: list[Any] | None = None      # own operands, where Python may read their values
        self.probe = self.request()

    def request(self) -> Request:
        """The request whose Function stands for the rule in fingerprints; its captures join it."""
        raise NotImplementedError

    @property
    def flags(self) -> tuple[bool, ...]:
        """For each operand and capture, whether the rule must give a derivative with respect to it.
        If Python sees which operands are differentiated, it is these; else all that can be."""
        own = self.perturbed if self.symbolic_zeros and any(self.perturbed) else tuple(
            [t.is_inexact for t, _ in self.kinds])
        return (*own, *[False] * (len(self.types) + len(self.captures) - self.n_own))

    @property
    def all_types(self) -> tuple[TensorType, ...]:
        """The types of its operands and captures."""
        return (*self.types, *[x.value.type for x in self.captures])

    def ahead(self) -> Function:
        """The Function by which the rule computes the value from the operands and captures, among
        its first results. To trace it finds the captures of the rule."""
        raise NotImplementedError

    def widened(self) -> Function:
        """Store `parts`, which were traced before the captures were known, under the requests that
        include the captures. Returns: the Function for the request that stands for the rule."""
        raise NotImplementedError

    def zero(self, t: TensorType) -> Any:
        """The zero that Python gets for a tangent or cotangent of type t that is known to be zero.
        """
        return SymbolicZero(zero_aval(t)) if self.symbolic_zeros else zero_tangent(t)

    def inputs(self, n_more: int) -> list[Any] | None:
        """The values that Python may read: own operands, and None for each of `n_more` tangents or
        cotangents; None altogether where no value is known."""
        return None if self.known is None else [*self.known, *[None] * n_more]

    def function(self, request: Request) -> Function:
        """The Function for a request; traced once, where the op was recorded."""
        if self.refusal is not None:
            raise self.refusal
        found = self.memo.get(request)
        if found is None and self.full_jvp is not None and request.role == "jvp":
            found = self.memo[request] = restricted(self.full_jvp, request.details[0],
                                                    request.details[1], self.n_own)
        if found is None:
            outer = state.axes, state.scope, open_regions.regions
            current, state.current = state.current, None
            state.axes, state.scope, open_regions.regions = self.place
            try:
                found = getattr(self, request.role)(*request.details)
            finally:
                state.axes, state.scope, open_regions.regions = outer
                state.current = current
            self.memo[request] = found
        return found

    @property
    def varies(self) -> frozenset[str]:
        """The mesh axes over which an operand of its op varies; each operand counts as doing so."""
        return NOWHERE.union(*map(varies, self.operands))

    def fingerprint(self) -> bytes:
        """What distinguishes this rule: the Functions that a derivative will ask it for.

        A rule that calls its own function refers to itself; that reference counts by its name.
        """
        if self.owner in _OPEN.asked:
            return f"again {self.name} {self.probe}".encode()
        if self.print is None:
            _OPEN.asked.append(self.owner)
            try:
                self.print = self.identity_text.encode() + fingerprint(self.function(self.probe))
            except Exception:                    # the pass that asks for the rule gets the error
                self.print = (self.identity_text or identity(self)).encode()
            finally:
                _OPEN.asked.pop()
        return self.print

    def close(self, python: Sequence[Any], called: tuple, home: Trace | None) -> None:
        """Trace the rule now if it closes over live tracers, or over numbers and arrays that may
        change before a pass asks for it. These numbers then belong to a trace, the rule's home:
        that of its op."""
        live = any(map(closes_over_tracer, python))
        around = [r for r in _OPEN.recorded.values() if r.owner == self.owner]
        for other in around:
            other.holds_others = True
        if not (around or self.identity_text or self.custom.is_for_batches) and any(
                [trace.differentiates for trace in state.stack]) and any(
                map(closes_over_value, python)):
            self.home = home
        if live and len(around) == DEEPEST:
            self.refusal = RecursionError(
                f"the rule of {self.name} calls {self.name} with functions that close over values "
                f"of the rule, which gives derivatives up to order {DEEPEST}; pass these values as "
                "arguments for higher ones")
        elif live or self.home is not None:
            _OPEN.recorded[called] = self
            _OPEN.asked.append(self.owner)
            try:
                self._find(live)
            finally:
                _OPEN.asked.pop()
                del _OPEN.recorded[called]
        self.recording = self.flat is None       # then it is traced for its value now

    def _find(self, live: bool) -> None:
        probe = self.probe
        try:
            self.find_captures()
        except Exception as error:               # the pass that asks for the rule gets the error
            self.memo.clear()
            self.probe, self.captures, self.saved, self.values = probe, [], [], {}
            if self.home is not None:
                self.home = None
                if live:
                    self._find(live)
            else:
                self.refusal = error             # later its tracers are dead: nothing to try again

    def find_captures(self) -> None:
        """Trace the rule to find its captures, which join its operands. A rule that refers to
        itself is traced once more, so that the inner call has the captures as operands too."""
        self.function(self.probe)
        if not self.captures:
            return
        self.memo.clear()
        self.probe, n = self.request(), len(self.captures)
        found = self.function(self.probe) if self.holds_itself else self.widened()
        if len(self.captures) != n or self.home is not None and self.holds_others:
            raise UnexpectedTracerError(f"the rule of {self.name} captures different values each "
                                        "time it is traced; pass them to the function as arguments")
        self.full_jvp = found if self.probe.role == "jvp" and not self.symbolic_zeros else None

    def valued(self) -> Flat:
        """The Function of the value as the rule computes it, from operands and captures. It is the
        body of the op."""
        found = self.ahead()
        self.recording = False
        n, n_out = len(self.types) + len(self.captures), self.out_tree.num_leaves
        made = dead_code(Function(self.name, found.params, found.ops, found.returns[:n_out]))
        if self.home is not None or not self.captures:   # nothing differentiates it
            made = expand(made)
        read = {v for op in made.ops for v in op.operands}.union(made.returns)
        b = PlacedBuilder(self.name)               # a value may depend on tangents, which are zero
        operands = [b.param(v.type) for v in made.params[:n]]
        zeros = {v: b.zeros(v.type) for v in made.params[n:] if v in read}
        made = made.replace(params=(*made.params[:n], *zeros), param_names=(), weak_params=())
        made = b.close(b.inline(made, (*operands, *zeros.values())),
                       (found.weak_returns or (False,) * len(found.returns))[:n_out])
        self.flat = Flat(Recorded(made, [], self.traced), self.out_tree)
        return self.flat


class ResultOf:
    """A stand-in for a result of the op of a rule, which knows over which mesh axes it varies."""

    __slots__ = ("place", "rule")

    def __init__(self, rule: Rule, place: int) -> None:
        self.rule, self.place = rule, place

    @property
    def varies(self) -> frozenset[str]:
        """The mesh axes over which the result varies."""
        function = self.rule.flat.function
        following: Following | None = self.rule.flat.trace.following
        if following is None:
            return NOWHERE
        sets = [self.rule.varies] * len(function.params)
        return varying(function, sets, following.axes)[1][self.place]


def restricted(whole: Function, types: tuple, perturbed: tuple, n_own: int) -> Function:
    """A jvp rule for all inexact operands, restricted to `perturbed`: other tangents are zero."""
    b = PlacedBuilder(whole.name)
    operands = [b.param(t) for t in types]
    dots = [b.param(t) if p else b.zeros(t)
            for t, p in zip(types[:n_own], perturbed, strict=False) if t.is_inexact]
    return b.close(b.inline(whole, (*operands, *dots)), whole.weak_returns)


class Ruled(Generic[P, R]):
    """A function with a rule of its own: the base of custom_jvp, custom_vjp and custom_vmap."""

    definition: OpDef
    rule: type[Rule]
    no_rule: str                                 # the message where a rule is missing
    symbolic_zeros = False
    is_for_batches = False                       # whether vmap asks for the rule, not derivatives

    @front_door
    def __init__(self, fun: Callable[P, R], nondiff_argnums: Sequence[int] = (),
                 nondiff_argnames: Sequence[str] = ()) -> None:
        # With the attributes of `fun`, but for those that this class or a compiled `fun` has.
        without_stages(functools.update_wrapper(self, fun))
        for name in [n for n in vars(self) if hasattr(type(self), n) and not n.startswith("__")]:
            delattr(self, name)
        self.fun = fun
        self.nondiff_argnums = named_argnums("nondiff", fun, nondiff_argnums, nondiff_argnames)

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = name_in_module(self)
        return super().__reduce_ex__(protocol) if name is None else name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @front_door
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if None in self.python:
            raise AttributeError(self.no_rule.format(name_of(self.fun)))
        return call_custom(self, args, kwargs)

    @property
    def python(self) -> tuple[Callable[..., Any] | None, ...]:
        """The functions of the rule."""
        raise NotImplementedError

    def deferred(self, name: str, static: list, given: Arguments, flat: Flat | None,
                 reached: Sequence[int]) -> Rule:
        """The Deferred of one call."""
        return self.rule(self, name, static, given, flat, reached)


def named_argnums(what: str, fun: Any, argnums: int | Sequence[int], argnames: str | Sequence[str]
                  ) -> tuple[int, ...]:
    """Positions of the arguments that are given by position or by name.

    Args:
      what: `static` or `nondiff`, for errors.
      fun: the function whose arguments they are.
      argnums, argnames: what the user gave.
    Raises: ValueError for a position or a name that `fun` does not have; TypeError for a position
      that is no integer.
    """
    _, argnums = positions(f"{what}_argnums", argnums)
    argnames = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if not argnums and not argnames:
        return ()
    try:
        params = inspect.signature(fun).parameters
    except (TypeError, ValueError):
        return argnums
    names = list(params)
    unknown = [n for n in argnames if n not in params]
    if unknown:
        raise ValueError(f"{name_of(fun)} has no argument called {unknown[0]!r}, which "
                         f"{what}_argnames={argnames} names")
    kinds = [p.kind for p in params.values()]
    n = sum(kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds)
    if inspect.Parameter.VAR_POSITIONAL not in kinds and any(not -n <= i < n for i in argnums):
        raise ValueError(f"{name_of(fun)} has only {n} positional arguments, but "
                         f"{what}_argnums={argnums} names others")
    return tuple(sorted({*argnums, *[names.index(name) for name in argnames]}))


def within(what: str, fun: Any, argnums: Sequence[int], n: int) -> tuple[int, ...]:
    """The positions in [0, n) of arguments of a call. Raises: ValueError for others."""
    if any(not -n <= i < n for i in argnums):
        raise ValueError(f"{name_of(fun)} was called with {n} positional arguments, but "
                         f"{what}_argnums={tuple(argnums)} names others")
    return tuple([i % n for i in argnums])


def positional_args(fun: Any, args: tuple, kwargs: dict) -> tuple:
    """All arguments by position, with defaults filled in. Raises: TypeError where a keyword-only
    one is given; one with a default is the function's own."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        if kwargs:
            raise TypeError(f"{name_of(fun)} has no signature that Python can read; pass its "
                            "arguments by position") from None
        return args
    bound = signature.bind(*args, **kwargs)
    if bound.kwargs and (named := [
            k for k in bound.kwargs if signature.parameters.get(k) is None
            or signature.parameters[k].kind is inspect.Parameter.KEYWORD_ONLY]):
        raise TypeError(f"{name_of(fun)}: a function with a custom derivative cannot take "
                        f"keyword-only arguments, but got {', '.join(named)}")
    bound.apply_defaults()
    return bound.args


def call_custom(custom: Ruled, args: tuple, kwargs: dict) -> Any:
    """Trace the primal, and record or run the op with its rule."""
    definition, fun, name = custom.definition, custom.fun, name_of(custom.fun)
    args = positional_args(fun, args, kwargs)
    nondiff = within("nondiff", fun, custom.nondiff_argnums, len(args))
    static = [args[i] for i in nondiff]
    places = [i for i in range(len(args)) if i not in nondiff]
    given = Arguments(name, [args[i] for i in places], carriers=True)
    leaves = given.leaves

    def call(*values: Any) -> Any:
        return fun(*fill(args, places, values))

    if not custom.is_for_batches and state.current is None and not any(
            type(x) is Tracer for x in leaves):           # no pass asks for the rule
        return call(*tree_unflatten(given.tree, [to_array(as_operand(x)) for x in leaves]))
    known = leaves if all(map(concrete.may_be_known, leaves)) else None
    python = (*custom.python, *static)
    called = (id(custom), *map(id, static), tuple([t for t, _ in given.kinds]))
    rule = _OPEN.recorded.get(called)
    reached = reached_by(custom, leaves)
    flat: Flat | None = None
    if rule is None and any(reached) and not any(map(closes_over_tracer, (*python, fun))):
        rule = custom.deferred(name, static, given, None, reached)
        rule.known = known
        rule.close(python, called, deepest(leaves, state.current))
        flat = rule.valued()
        if rule.holds_more:
            rule = flat = None
    if flat is None:
        flat = given.trace(call, name=name, kind=definition.name, staging=False, inputs=known,
                           of_rule=None if custom.is_for_batches else False)
        if rule is None:
            rule = custom.deferred(name, static, given, flat, reached)
            rule.known = known
            if flat.trace.following is not None:
                rule.operands = [*leaves, *flat.captures]
            rule.close(python, called, deepest((*leaves, *flat.captures), state.current))
        else:
            rule.holds_itself = True
            rule.holds_more = bool(flat.captures) and rule.flat is None
        if rule.captures:
            flat.function = with_params(flat.function, [x.value.type for x in rule.captures])
    assert rule is not None
    body, operands = flat.function, [*given.operands(flat), *rule.captures]
    if state.current is None and not any(type(x) is Tracer for x in operands):
        results = bind(body, operands, name=name)        # nothing is being differentiated
    else:
        results = emit(definition, *operands, body=body, rule=rule, name=name)
    for t, w in zip(results, flat.function.weak_returns, strict=True):
        if type(t) is Tracer:
            t.weak = w
    return tree_unflatten(flat.out_tree, results)


def with_params(function: Function, types: Sequence[TensorType]) -> Function:
    """The Function with further parameters of these types, which it does not read."""
    return function.replace(params=(*function.params, *map(Value, types)), param_names=(),
                            weak_params=())


def reached_by(custom: Ruled, leaves: Sequence[Any]) -> list[int]:
    """For each argument, the derivatives that reach it; none do if the op is staged."""
    target = deepest(leaves, state.current)
    if custom.is_for_batches or open_regions.regions or target is None or target.given is None:
        return [0] * len(leaves)
    return [*map(reaching, leaves)]


def is_zero(x: Any) -> bool:
    """Whether a tangent or cotangent is known to be zero."""
    return type(x) is SymbolicZero or getattr(x, "dtype", None) == float0


def kinds_like(types: Sequence[TensorType], kinds: Sequence[tuple[TensorType, bool]]) -> list:
    """The `types` of a request, each with the weakness of its operand."""
    return [(t, w) for t, (_, w) in zip(types, kinds, strict=True)]


def joined_captures(captures: Sequence[Any], rule: Rule, label: str) -> dict[Any, int]:
    """The place of each captured tracer among the rule's captures.

    New captures are allowed while the op is being recorded, and join its operands.
    Raises: UnexpectedTracerError for a new one later.
    """
    known = {x.value: i for i, x in enumerate(rule.captures)}
    for x in captures:
        if type(x) is Tracer and x.value not in known:
            if not rule.recording:
                raise UnexpectedTracerError(
                    f"the rule {label} uses a tracer of type {x.value.type} that was not passed to "
                    "its function; pass the value to the function as an argument")
            known[x.value] = len(rule.captures)
            rule.captures.append(x)
    return known


def with_values(traced: Flat, rule: Rule, label: str) -> tuple[Function, list[Any]]:
    """The Function of a role and its captures. If the rule has a home, its arrays and inexact
    literals become captures as well, as tracers of the home, and so parameters of the program."""
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


def order_params(traced: Flat, rule: Rule, capture_types: Sequence[TensorType], label: str
                 ) -> Function:
    """The rule's Function with its parameters in the order own, captures, rest."""
    function, captures = with_values(traced, rule, label)
    known = joined_captures(captures, rule, label)
    offset = len(rule.types) - rule.n_own
    missing = rule.captures[len(capture_types) - offset:]
    types = [*capture_types, *[x.value.type for x in missing]]
    return arranged(function, captures, rule.n_own, types,
                    {v: offset + i for v, i in known.items()})


def zero_tangent(t: TensorType) -> Any:
    """The zero that a rule gets for an operand without a tangent."""
    if not t.is_inexact:
        return np.zeros(t.shape, float0)
    return state.current.literal(np.zeros((), t.dtype.numpy), t.shape)  # type: ignore[union-attr]
