"""Custom derivative rules and checkpoints.

    custom_jvp(*operands) {body, rule, name}
    custom_vjp(*operands) {body, rule, name}
    custom_vjp_tangent(*residuals, *tangents) {rule, n_residuals, types, perturbed}
        the linear part of a custom_vjp that is differentiated; `tangents` are those of its own
        inexact operands that are perturbed; results: tangents of the inexact results
    checkpoint(*operands) {body, policy, prevent_cse, differentiated}
        differentiated: the body computes again what another checkpoint computes
    checkpoint_name(x) {name}: x, with a name that policies see

A `rule` is a Deferred: it gives the Function for a role when a pass asks. If its `symbolic_zeros`
is set, requests for fwd and bwd say which operands are perturbed, and requests for bwd also which
cotangents are not zero. Only the first `n_own` operands are the rule's own; the others are captured
values, which have the derivative of the body. The rule's Function is emitted in place of the op, so
a later derivative sees plain ops, and no two perturbations can be confused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..builder import Builder
from ..core import Function, Op, Value
from ..definition import LINEAR, lookup
from ..errors import IRTypeError
from ..opdef import (
    BOOL,
    BOOLS,
    DERIVATIVE,
    FUNCTION,
    INT,
    PYTHON,
    STR,
    TYPES,
    Request,
    define,
    optional,
)
from ..passes.bodies import (
    Flags,
    Names,
    axis_names,
    batched,
    divide_checkpoint,
    expand,
    inline_calls,
    invariants,
    join,
    jvp,
    like_body,
    linear_transpose,
    remembered,
    rule_fingerprint,
    select,
    strong,
    strong_body,
    unzip,
    varying,
    vectorize,
)
from ..placed_builder import PlacedBuilder
from ..regions import ALL, REST, Regions, cut
from ..spreading import alike, anyhow, refuse_other_sums, spreads
from ..types import TensorType, plain

if TYPE_CHECKING:
    from ..passes.varying import Varying
    from ..rules import (
        Attrs,
        Axis,
        Batched,
        NewTangents,
        Positions,
        Tangents,
        Values,
        Varied,
        WithTangents,
    )
    from ..split_builder import SplitBuilder

Types = tuple[TensorType, ...]


def infer_body(name: str) -> Any:
    """The type rule of an op whose operands and results are those of its body."""
    def infer(types: Types, attrs: Attrs) -> Types:
        params = attrs["body"].param_types
        if params != types and plain(params) != plain(types):
            raise IRTypeError(f"{name}: operands are {', '.join(map(str, types))}, but the body "
                              f"takes {', '.join(map(str, params))}")
        if params != types:
            refuse_other_sums(name, "operand", params, types)
        return attrs["body"].return_types

    return infer


def _types(values: Sequence[Value]) -> Types:
    return tuple([v.type for v in values])


def _n_own(rule: Any, n_operands: int) -> int:
    own = getattr(rule, "n_own", None)
    return n_operands if own is None else own


def _perturbed(rule: Any, tangents: Sequence[Value | None]) -> Flags:
    """Which operands the rule must differentiate by; captured ones are never among them."""
    own = _n_own(rule, len(tangents))
    return tuple([t is not None and i < own for i, t in enumerate(tangents)])


def _tangents_of(results: Sequence[Value], tangents: Sequence[Value | None]
                 ) -> list[Value | None]:
    """The tangents of the inexact results, with None for the other results."""
    given = iter(tangents)
    return [next(given) if v.type.is_inexact else None for v in results]


def _by_captures(b: Builder, attrs: Any, operands: Sequence[Value], tangents: Sequence[Any],
                 results: Sequence[Value | None]) -> list[Value | None]:
    """The tangents that a rule gave, plus those of the body by captured operands."""
    own = _n_own(attrs["rule"], len(operands))
    flags = tuple([t is not None and i >= own for i, t in enumerate(tangents)])
    if not any(flags):
        return list(results)
    moved, active = jvp(attrs["body"], flags)
    made = iter(b.inline(moved, (*operands, *select(tangents, flags)))[len(active):])
    more = [next(made) if a else None for a in active]
    return [x if y is None else y if x is None else b.emit(lookup("add"), x, y)
            for x, y in zip(results, more, strict=True)]


# --- rules under vectorize ----------------------------------------------------------------

def _example(types: Sequence[TensorType], positions: Positions) -> Types:
    """The types of one example of a batch."""
    return tuple([t if p is None else t.with_shape((*t.shape[:p], *t.shape[p + 1:]))
                  for t, p in zip(types, positions, strict=True)])


def _is_symbolic(rule: Any) -> bool:
    return getattr(rule, "symbolic_zeros", False)


def _own_inexact(rule: Any, types: Sequence[TensorType], flags: Flags) -> Flags:
    """The flags of a rule's own inexact operands."""
    own = _n_own(rule, len(types))
    return tuple([f for f, t in zip(flags[:own], types, strict=False) if t.is_inexact])


class RuleOf:
    """The base of Deferreds that ask another one, the rule, and transform its Functions.

    `settings` are the names of the attributes on which the transformation depends.
    """

    __slots__ = ("memo", "n_own", "name", "rule", "symbolic_zeros")
    settings: tuple[str, ...] = ()

    def __init__(self, rule: Any, n_own: int | None = None) -> None:
        self.rule, self.n_own = rule, n_own
        self.name, self.symbolic_zeros = getattr(rule, "name", "rule"), _is_symbolic(rule)
        self.memo: dict[Request, Function] = {}

    def function(self, request: Request) -> Function:
        """The Function for `request`."""
        found = self.memo.get(request)
        if found is None:
            found = self.memo[request] = self.changed(request)
        return found

    def changed(self, request: Request) -> Function:
        """The transformed Function for `request`, which `function` keeps."""
        raise NotImplementedError

    def fingerprint(self) -> bytes:
        """The part of this rule in the fingerprints of programs."""
        settings = tuple([getattr(self, key) for key in self.settings])
        return f"{type(self).__name__} {settings}".encode() + rule_fingerprint(self.rule)


class BatchedRule(RuleOf):
    """A Deferred for a batch: it asks the rule for one example and vectorises the Function.

    `operands` are batch positions of the op's operands, `inputs` those of the operands that get a
    cotangent. Results have their batch axis in front. `residuals` are batch positions of the values
    that the forward role saves; they are known once that role has been asked for.
    """

    __slots__ = ("axis", "given", "inputs", "n_out", "operands", "residuals")
    settings = ("operands", "inputs", "axis", "n_out", "given")

    def __init__(self, rule: Any, operands: Positions, inputs: Positions, n_out: int, axis: Any,
                 residuals: Positions = ()) -> None:
        super().__init__(rule, _n_own(rule, len(operands)))
        self.axis, self.n_out = axis, n_out
        self.operands, self.inputs = tuple(operands), tuple(inputs)
        self.residuals: dict[Flags, Positions] = {}      # by which operands are perturbed
        self.given = tuple(residuals)

    def changed(self, request: Request) -> Function:
        """The Function for `request`, whose types have the batch."""
        return getattr(self, f"_{request.role}")(*request.details)

    def _jvp(self, types: Types, perturbed: Flags) -> Function:
        one = self.rule.function(Request("jvp", _example(types, self.operands), perturbed))
        positions = (*self.operands, *select(self.operands, perturbed))
        return vectorize(one, positions, self.axis, (0,) * len(one.returns))[0]

    def _fwd(self, types: Types, *perturbed: Flags) -> Function:
        one = self.rule.function(Request("fwd", _example(types, self.operands), *perturbed))
        natural = vectorize(one, self.operands, self.axis)[1]
        saved = natural[self.n_out:]
        self.residuals[_own_inexact(self, types, *perturbed) if perturbed else ()] = saved
        return vectorize(one, self.operands, self.axis, (*(0,) * self.n_out, *saved))[0]

    def _bwd(self, residuals: Types, cts: Types, *zeros: Flags) -> Function:
        """The backward role; cotangents of unbatched operands are summed over the batch."""
        in_front = (0,) * len(cts)
        saved = self.residuals.get(zeros[0] if zeros else (), self.given)
        one = self.rule.function(Request("bwd", _example(residuals, saved),
                                         _example(cts, in_front), *zeros))
        many, out = vectorize(one, (*saved, *in_front), self.axis, self.inputs)
        b = PlacedBuilder(many.name)
        b.ops = list(many.ops)
        returns: list[Value] = []
        for v, wanted, p in zip(many.returns, self.inputs, out, strict=True):
            if wanted is None:
                v = (b.emit(lookup("reduce_sum"), v, axes=(p,)) if p is not None else
                     b.emit(lookup("mul"), v, b.full(v.type, self.axis[1])))
            returns.append(v)
        return Function(many.name, many.params, b.ops, returns)


def _batch_custom(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                  ) -> Batched:
    attrs, n_out = op.attrs, len(op.results)
    own = _n_own(attrs["rule"], len(operands))
    inputs = [p for v, p in zip(op.operands[:own], positions, strict=False) if v.type.is_inexact]
    body, natural = vectorize(attrs["body"], positions, axis)
    if natural != (0,) * n_out:
        body, _ = vectorize(attrs["body"], positions, axis, (0,) * n_out)
    rule = BatchedRule(attrs["rule"], positions, inputs, n_out, axis)
    made = b.emit(op.definition, *operands, body=body, rule=rule, name=attrs["name"])
    if None not in natural or axis[1] == 0:
        return made, (0,) * n_out
    same = _same_for_all(op, natural, positions, axis)
    return ([_of_first_example(b, v) if s else v for v, s in zip(made, same, strict=True)],
            tuple([None if s else 0 for s in same]))


def _of_first_example(b: Builder, v: Value) -> Value:
    shape = v.type.shape
    one = b.emit(lookup("slice"), v, starts=(0,) * len(shape), limits=(1, *shape[1:]),
                 strides=(1,) * len(shape))
    return b.emit(lookup("reshape"), one, shape=shape[1:])


def _same_for_all(op: Op, natural: Positions, positions: Positions, axis: Axis) -> Flags:
    """Which results may stay without the batch axis: those of which neither the value nor the
    tangent depends on the example. The tangent is that of the user's rule, which need not agree
    with the body. Where the rule raises, none may."""
    own = _n_own(op.attrs["rule"], len(op.operands))
    active = tuple([i < own and v.type.is_inexact for i, v in enumerate(op.operands)])
    try:
        alone, moving = _with_tangents(op, active)
    except Exception:                            # whatever the user's rule raises, it raises again
        return (False,) * len(natural)           # where a derivative is asked for
    if axis[0] in axis_names(alone):
        return (False,) * len(natural)
    same = invariants(alone, [p is None for p in (*positions, *select(positions, active))])
    values, dots = cut(alone.returns, len(natural))
    given = iter(dots)
    tangents = [next(given) if m else v for v, m in zip(values, moving, strict=True)]
    return tuple([p is None and same.issuperset((v, t))
                  for p, v, t in zip(natural, values, tangents, strict=True)])


def _with_tangents(op: Op, active: Flags) -> tuple[Function, Flags]:
    """A Function of the results of an op and, by its rule, of their tangents that are not zero; and
    which results have one. Calls and ops with rules are replaced by their bodies, because a rule
    that calls its own function would otherwise be asked without end."""
    b = PlacedBuilder(op.attrs["name"])
    operands = [b.param(v.type) for v in op.operands]
    tangents = [b.param(v.type) if a else None for v, a in zip(operands, active, strict=True)]
    results, dots = op.definition.jvp(b, op.attrs, operands, tangents)
    if op.definition is custom_vjp:
        dots = _tangents_of(results, _pushed(b, b.ops.pop()))
    alone = b.close([*results, *[t for t in dots if t is not None]])
    return inline_calls(expand(inline_calls(alone))), tuple([t is not None for t in dots])


def _pushed(b: Builder, op: Op) -> list[Value | None]:
    """The results of a custom_vjp_tangent, None where they are zero: by the transpose of the
    derivative of its backward rule at zero, since the rule itself need not be linear."""
    residuals, tangents = TANGENT.split(op.attrs, op.operands)
    backward = _backward(_types(op.operands), op.attrs)
    cts = backward.params[len(residuals):]
    moved, reached = jvp(backward, (*[False] * len(residuals), *[v.type.is_inexact for v in cts]))
    n, m = len(backward.params), len(backward.returns)
    pulled = Function(backward.name, moved.params, moved.ops, moved.returns[m:])
    linear = tuple([i >= n for i in range(len(moved.params))])
    map_, active = linear_transpose(pulled, linear, (True,) * sum(reached))
    made = iter(b.inline(map_, (*residuals, *[b.zeros(v.type) for v in cts],
                                *select(tangents, reached))))
    return [next(made) if a else None for a in active]


def _split_custom(b: SplitBuilder, attrs: Attrs, operands: Values, linear: Flags) -> Values:
    return b.inline(attrs["body"], operands)     # the op acts on a tangent: only its value matters


# --- further operands ---------------------------------------------------------------------

def _first(n: int, x: Any) -> Any:
    parts: Any = x
    return parts[:n] if type(x) is tuple else x


class WidenedRule(RuleOf):
    """A Deferred whose op has gained operands that the original rule does not know or read."""

    __slots__ = ("extra", "n_operands")
    settings = ("n_operands", "extra")

    def __init__(self, rule: Any, n_operands: int, extra: Types) -> None:
        super().__init__(rule, _n_own(rule, n_operands))
        self.n_operands, self.extra = n_operands, extra

    def changed(self, request: Request) -> Function:
        """The rule's Function with parameters for the added operands."""
        if request.role == "bwd":                # bwd reads what fwd saved
            return self.rule.function(request)
        n = self.n_operands
        types: Types = request.details[0]
        rest: Sequence[Any] = [_first(n, x) for x in request.details[1:]]
        inner = self.rule.function(Request(request.role, types[:n], *rest))
        return inner.replace(
            params=(*inner.params[:n], *[Value(t) for t in types[n:]], *inner.params[n:]),
            param_names=(), weak_params=())


def _widened(op: Op, attrs: Any, extra: Types) -> dict[str, Any]:
    """The attributes of an op with a rule once it has gained operands of the types `extra`."""
    return {**attrs, "rule": WidenedRule(attrs["rule"], len(op.operands), extra)}


RULED = Regions({"operands": REST}, {"results": REST}, {"body": ALL}, value="body",
                widened=_widened)
"""The regions of ops with a body and a rule, both of which take the operands."""


# --- rules on the axes of a mesh -------------------------------------------------------------

class VaryingRule(RuleOf):
    """A Deferred whose operands all vary over the same axes of a mesh; it adds the casts that this
    needs to the rule's Functions. `results` are the axes over which the results vary."""

    __slots__ = ("axes", "operands", "residuals", "results")

    def __init__(self, rule: Any, axes: Any, operands: Names, n_operands: int,
                 results: Sequence[Names]) -> None:
        super().__init__(rule, _n_own(rule, n_operands))
        self.axes, self.operands, self.results = axes, operands, tuple(results)
        self.residuals: dict[Flags, Sequence[Names]] = {}     # by which operands are perturbed

    def changed(self, request: Request) -> Function:
        """The rule's Function with casts."""
        inner = self.rule.function(request)
        found, sets = varying(inner, self._sets(request, inner), self.axes)
        if request.role == "fwd":
            self.residuals[self._perturbed(request)] = sets[len(self.results):]
        return found

    def _perturbed(self, request: Request) -> Flags:
        if request.role == "fwd":
            types, *flags = request.details
            return _own_inexact(self, types, *flags) if flags else ()
        return request.details[2] if len(request.details) > 2 else ()

    def _sets(self, request: Request, inner: Function) -> Sequence[Names]:
        if request.role != "bwd":
            return (self.operands,) * len(inner.params)
        return (*self.residuals[self._perturbed(request)], *self.results)

    def fingerprint(self) -> bytes:
        """The part of this rule in the fingerprints of programs."""
        what = (self.axes, sorted(self.operands), [sorted(s) for s in self.results])
        return f"varying {what}".encode() + rule_fingerprint(self.rule)


def _varying_custom(v: Varying, op: Op, operands: Values) -> Varied:
    """The op after all operands are cast to vary over the same axes, so that a cotangent from the
    rule varies as its operand does; and the axes of its results."""
    wanted = v.union(operands)
    operands = [v.cast(x, wanted) for x in operands]
    body, results = v.body(op.attrs["body"], [wanted] * len(operands))
    rule = VaryingRule(op.attrs["rule"], v.all, wanted, len(operands), results)
    return v.b.emit(op.definition, *operands, **{**op.attrs, "body": body, "rule": rule}), results


# --- custom_jvp ---------------------------------------------------------------------------

def _jvp_custom_jvp(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents) -> WithTangents:
    rule, n = attrs["rule"], len(attrs["body"].returns)
    perturbed = _perturbed(rule, tangents)
    if not any(perturbed):
        made = b.emit(custom_jvp, *operands, **attrs)
        return made, _by_captures(b, attrs, operands, tangents, [None] * n)
    moved = rule.function(Request("jvp", _types(operands), perturbed))
    made = b.inline(moved, (*operands, *select(tangents, perturbed)))
    dots = _tangents_of(made[:n], made[n:])
    return made[:n], _by_captures(b, attrs, operands, tangents, dots)


custom_jvp = define("custom_jvp", attrs={"body": FUNCTION, "rule": DERIVATIVE, "name": STR},
                    infer=infer_body("custom_jvp"), single=False, own_primal=True,
                    jvp=_jvp_custom_jvp, split=_split_custom, batch=_batch_custom,
                    strong=strong_body, regions=RULED, varying=_varying_custom,
                    family=__name__)


# --- custom_vjp ---------------------------------------------------------------------------

def _jvp_custom_vjp(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents) -> WithTangents:
    rule, n = attrs["rule"], len(attrs["body"].returns)
    perturbed = _perturbed(rule, tangents)
    if not any(perturbed):
        made = b.emit(custom_vjp, *operands, **attrs)
        return made, _by_captures(b, attrs, operands, tangents, [None] * n)
    forward = rule.function(Request("fwd", _types(operands),
                                    *([perturbed] if _is_symbolic(rule) else [])))
    made = b.inline(forward, operands)
    results, residuals = made[:n], made[n:]
    flags = _own_inexact(rule, _types(operands), perturbed)
    dots = TANGENT.emit(b.emit, custom_vjp_tangent, (residuals, select(tangents, perturbed)),
                        rule=rule, types=_types(results), perturbed=flags)
    return results, _by_captures(b, attrs, operands, tangents, _tangents_of(results, dots))


custom_vjp = define("custom_vjp", attrs={"body": FUNCTION, "rule": DERIVATIVE, "name": STR},
                    infer=infer_body("custom_vjp"), single=False, own_primal=True,
                    jvp=_jvp_custom_vjp, split=_split_custom, batch=_batch_custom,
                    strong=strong_body, regions=RULED, varying=_varying_custom,
                    family=__name__)


TANGENT = Regions({"residuals": "n_residuals", "tangents": REST}, {"results": REST}, {})


def _infer_tangent(types: Types, attrs: Attrs) -> Types:
    n_residuals, n_tangents = map(len, TANGENT.split(attrs, types))
    if not TANGENT.fits(attrs, types) or n_tangents != sum(attrs["perturbed"]):
        raise IRTypeError(f"custom_vjp_tangent takes {n_residuals} residuals and "
                          f"{sum(attrs['perturbed'])} tangents, got {len(types)} operands")
    return tuple([t for t in attrs["types"] if t.is_inexact])


def _backward(types: Types, attrs: Any, live: Flags | None = None) -> Function:
    """The backward rule. `live` flags results with a cotangent; by default all inexact ones."""
    rule, outs = attrs["rule"], tuple([t.cotangent for t in attrs["types"]])
    facts = []
    if _is_symbolic(rule):
        facts = [attrs["perturbed"], tuple([t.is_inexact for t in outs]) if live is None else live]
    residuals, _ = TANGENT.split(attrs, types)
    return rule.function(Request("bwd", tuple(residuals), outs, *facts))


def tangent_function(types: Types, attrs: Attrs) -> Function:
    """The Function that a custom_vjp_tangent of such operands computes.

    A backward rule is linear in the cotangents, so the transpose of it is the tangent map.
    Raises: MissingRule where the rule holds something that cannot be transposed.
    """
    residuals, tangents = TANGENT.split(attrs, types)
    backward = _backward(types, attrs)

    def make() -> Function:
        saved, cts = cut(backward.params, len(residuals))
        linear = (*[False] * len(saved), *[v.type.is_inexact for v in cts])
        integers = [v.type for v in cts if not v.type.is_inexact]
        moved, active = linear_transpose(backward, linear, attrs["perturbed"])
        b = PlacedBuilder(backward.name)
        saved, dots = ([b.param(t) for t in group] for group in (residuals, tangents))
        zeros = [b.zeros(t) for t in integers]
        given = iter(b.inline(moved, (*saved, *zeros, *dots)))
        return b.close([next(given) if a else b.zeros(t)
                        for a, t in zip(active, _infer_tangent(types, attrs), strict=True)])

    return remembered(backward, ("tangent", attrs["perturbed"]), make)


def _jvp_tangent(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    residuals, linear = TANGENT.split(op.attrs, op.operands)
    of_residuals, moved = TANGENT.split(op.attrs, tangents)
    if all(t is None for t in of_residuals):
        dots = [b.zeros(v.type) if t is None else t for v, t in zip(linear, moved, strict=True)]
        return b.emit(custom_vjp_tangent, *residuals, *dots, **op.attrs)
    active = tuple([t is not None for t in tangents])
    moved, active_out = jvp(tangent_function(_types(op.operands), op.attrs), active)
    made = iter(b.inline(moved, (*op.operands, *select(tangents, active)))[len(op.results):])
    return [next(made) if a else None for a in active_out]


def _transpose_tangent(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    attrs, (residuals, _) = op.attrs, TANGENT.split(op.attrs, known)
    given = iter(cotangents)
    found = [next(given) if t.is_inexact else None for t in attrs["types"]]
    cts = [b.zeros(t.cotangent) if ct is None else ct
           for t, ct in zip(attrs["types"], found, strict=True)]
    live = tuple([ct is not None for ct in found])
    made = b.inline(_backward(_types(op.operands), attrs, live), (*residuals, *cts))
    if len(made) != len(attrs["perturbed"]):
        name = getattr(attrs["rule"], "name", "")
        raise IRTypeError(f"custom_vjp {name}: the backward rule returned {len(made)} cotangents "
                          f"for {len(attrs['perturbed'])} operands")
    return (*[None] * len(residuals), *select(made, attrs["perturbed"]))


def _batch_tangent(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                   ) -> Batched:
    attrs, (of_residuals, of_tangents) = op.attrs, TANGENT.split(op.attrs, positions)
    inputs = join(attrs["perturbed"], of_tangents,
                  [None] * (len(attrs["perturbed"]) - sum(attrs["perturbed"])))
    rule = BatchedRule(attrs["rule"], (), inputs, len(attrs["types"]), axis, of_residuals)
    types = tuple([batched(t, 0, axis[1]) for t in attrs["types"]])
    made = b.emit(custom_vjp_tangent, *operands, **{**attrs, "rule": rule, "types": types})
    return made, (0,) * len(made)


class StrongRule(RuleOf):
    """A Deferred whose backward rule has strong zeros; its other roles are those of the rule."""

    __slots__ = ()

    def __init__(self, rule: Any) -> None:
        super().__init__(rule, getattr(rule, "n_own", None))

    def changed(self, request: Request) -> Function:
        """The rule's Function, in the role bwd with strong zeros."""
        found = self.rule.function(request)
        if request.role != "bwd":
            return found
        n = len(request.details[0])
        return strong(found, tuple([i >= n for i in range(len(found.params))]))[0]


def _strong_tangent(op: Op, linear: Flags) -> Any:
    attrs = {**op.attrs, "rule": StrongRule(op.attrs["rule"])}
    return op.definition, attrs, (True,) * len(op.results)


custom_vjp_tangent = define(
    "custom_vjp_tangent", attrs={"rule": PYTHON, "n_residuals": INT, "types": TYPES,
                                 "perturbed": BOOLS},
    infer=_infer_tangent, single=False, jvp=_jvp_tangent, transpose=_transpose_tangent,
    batch=_batch_tangent, strong=_strong_tangent, regions=TANGENT)


# --- checkpoint ---------------------------------------------------------------------------

def _jvp_checkpoint(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents) -> WithTangents:
    active = tuple([t is not None for t in tangents])
    moved, active_out = jvp(attrs["body"], active)
    made = b.emit(checkpoint, *operands, *select(tangents, active), **{**attrs, "body": moved})
    n = len(active_out)
    given = iter(made[n:])
    return made[:n], [next(given) if a else None for a in active_out]


def _split_checkpoint(b: SplitBuilder, attrs: Attrs, operands: Values, linear: Flags) -> Values:
    body, policy = attrs["body"], attrs.get("policy")
    parts = remembered(body, ("checkpoint", linear, policy),
                       lambda: divide_checkpoint(body, linear, policy))
    tangents, known = unzip(operands, linear)
    ahead = b.emit(checkpoint, *known, **{**attrs, "body": parts.forward})
    made: tuple[Value, ...] = ()
    if parts.linear.returns:
        made = b.emit_linear(checkpoint, *tangents, *[known[i] for i in parts.read],
                             *ahead[parts.n_out:],
                             **{**attrs, "body": parts.linear, "policy": None,
                                "differentiated": True})
    return join(parts.active_out, made, ahead[:parts.n_out])


def _transpose_checkpoint(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    attrs, body = op.attrs, op.attrs["body"]
    linear = tuple([k is LINEAR for k in known])
    active_ct = tuple([ct is not None for ct in cotangents])
    back, active_in = linear_transpose(body, linear, active_ct)
    values = [k for k in known if k is not LINEAR]
    made = iter(b.emit(checkpoint, *values, *select(cotangents, active_ct),
                       **{**attrs, "body": back}))
    return join(linear, [next(made) if a else None for a in active_in], [None] * len(values))


def _expanded(op: Op) -> Function:
    """The body; where it computes again, with a barrier on its parameters if that is asked for, so
    that this is neither merged with the first computation nor done before its cotangents are there.
    """
    body = op.attrs["body"]
    if not (op.attrs["prevent_cse"] and op.attrs.get("differentiated")):
        return body
    return remembered(body, "fenced", _fenced, body)


def _fenced(fn: Function) -> Function:
    b = PlacedBuilder(fn.name)
    b.params = [Value(v.type) for v in fn.params]
    return b.close(b.inline(fn, b.emit(lookup("optimization_barrier"), *b.params)))


def _batch_checkpoint(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                      ) -> Batched:
    body, out = vectorize(op.attrs["body"], positions, axis)
    return b.emit(checkpoint, *operands, **{**op.attrs, "body": body}), out


checkpoint = define("checkpoint", attrs={"body": FUNCTION, "policy": optional(PYTHON),
                                         "prevent_cse": BOOL, "differentiated": optional(BOOL)},
                    infer=infer_body("checkpoint"), single=False, own_primal=True,
                    jvp=_jvp_checkpoint, split=_split_checkpoint, transpose=_transpose_checkpoint,
                    batch=_batch_checkpoint, strong=strong_body, regions=Regions(
                        {"operands": REST}, {"results": REST}, {"body": ALL}, value="body",
                        expanded=_expanded, free=True), varying=like_body,
                    family=__name__)


def _batch_same(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    return (b.emit(op.definition, *operands, **op.attrs),), positions


checkpoint_name = define("checkpoint_name", attrs={"name": STR}, operands=1,
                         infer=lambda types, attrs: types,
                         jvp=lambda b, op, tangents: tangents,
                         transpose=lambda b, op, cts, known: cts, batch=_batch_same,
                         family=__name__)


spreads(alike, checkpoint_name)
spreads(anyhow, custom_vjp_tangent)


__all__ = ["BatchedRule", "RuleOf", "checkpoint", "checkpoint_name", "custom_jvp", "custom_vjp",
           "custom_vjp_tangent", "tangent_function"]
