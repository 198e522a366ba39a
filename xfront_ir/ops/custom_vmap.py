"""A function with its own rule for batches.

    custom_vmap(*operands) {body, rule, name}

The `rule` is a Deferred: its Function for a batch (role batch: types, which operands are batched,
size) takes the operands with their batch axis in front and gives each result with or without a
batch axis in front; the rank of the result tells which. It is emitted in place of the op. A pass
that differentiates the op differentiates the rule too, so that a gradient that is batched later
still uses it: `Pushed`, `Part`, `Pulled` and `Strong` are the rules of the resulting ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..builder import Builder
from ..core import Function, Op, Value
from ..definition import LINEAR
from ..opdef import FUNCTION, PYTHON, STR, Request, define
from ..passes.bodies import (
    Flags,
    batched,
    dead_code,
    divide,
    join,
    jvp,
    jvp_to,
    linear_transpose,
    remembered,
    select,
    strong,
    strong_body,
    unzip,
    vectorize,
)
from ..placed_builder import PlacedBuilder
from ..types import TensorType
from .custom import RULED, RuleOf, infer_body
from .families import move_batch

if TYPE_CHECKING:
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Values, WithTangents
    from ..split_builder import SplitBuilder

Types = tuple[TensorType, ...]


def _batch_custom_vmap(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                       ) -> Batched:
    attrs, size = op.attrs, axis[1]
    flags = tuple([p is not None for p in positions])
    if not any(flags):                           # only its body reads the axis
        body, out = vectorize(attrs["body"], positions, axis)
        return b.inline(body, operands), out
    operands = [v if p is None else move_batch(b, v, p, 0, size)
                for v, p in zip(operands, positions, strict=True)]
    types = tuple([v.type for v in operands])
    made = b.inline(attrs["rule"].function(Request("batch", types, flags, size)), operands)
    return made, tuple([0 if v.type.ndim > r.type.ndim else None
                        for v, r in zip(made, op.results, strict=True)])


# --- rules of the ops that derivatives leave ---------------------------------------------------

class _Derived(RuleOf):
    """A Deferred that makes its Functions for batches from those of another Deferred."""

    __slots__ = ()

    def changed(self, request: Request) -> Function:
        """The Function for a batch."""
        return self._batch(*request.details)

    def _batch(self, types: Types, flags: Flags, size: int) -> Function:
        raise NotImplementedError

    def _asked(self, types: Types, flags: Flags, size: int) -> Function:
        return self.rule.function(Request("batch", types, flags, size))


class Pushed(_Derived):
    """The rule of a jvp. It takes operands, then tangents of the active ones, and gives results,
    then tangents.

    Where an operand or its tangent is batched, both get a batch axis; so do a result and its
    tangent.
    """

    __slots__ = ("active", "out")
    settings = ("active", "out")

    def __init__(self, rule: Any, active: Flags, out: Flags) -> None:
        super().__init__(rule)
        self.active, self.out = active, out

    def _batch(self, types: Types, flags: Flags, size: int) -> Function:
        n = len(self.active)
        of_dots = join(self.active, flags[n:], [False] * (n - sum(self.active)))
        either = tuple([f or d for f, d in zip(flags[:n], of_dots, strict=True)])
        b = PlacedBuilder(self.name)
        operands = [b.param(t) for t in types]
        wanted = (*either, *select(either, self.active))
        whole = [_with_batch(b, v, size) if w and not f else v
                 for v, f, w in zip(operands, flags, wanted, strict=True)]
        inner = self._asked(tuple([v.type for v in whole[:n]]), either, size)
        return b.close(b.inline(jvp_to(inner, self.active, self.out), whole))


class Part(_Derived):
    """The rule of the results `kept`, which read only the operands `given` among those of `types`.
    """

    __slots__ = ("given", "kept", "types")
    settings = ("given", "kept", "types")

    def __init__(self, rule: Any, types: Types, given: tuple[int, ...], kept: tuple[int, ...]
                 ) -> None:
        super().__init__(rule)
        self.types, self.given, self.kept = types, given, kept

    def _batch(self, types: Types, flags: Flags, size: int) -> Function:
        b = PlacedBuilder(self.name)
        operands = dict(zip(self.given, [b.param(t) for t in types], strict=True))
        batched = dict(zip(self.given, flags, strict=True))
        whole = [operands[i] if i in operands else b.zeros(t) for i, t in enumerate(self.types)]
        inner = self._asked(tuple([v.type for v in whole]),
                            tuple([batched.get(i, False) for i in range(len(whole))]), size)
        made = b.inline(inner, whole)
        return dead_code(b.close([made[i] for i in self.kept]))


class Pulled(_Derived):
    """The rule of a transpose. It takes constants, then cotangents, and gives cotangents of the
    linear operands.

    All linear operands and results have a batch axis, since each example has its own cotangents.
    """

    __slots__ = ("active_ct", "active_in", "linear", "types")
    settings = ("active_ct", "active_in", "linear", "types")

    def __init__(self, rule: Any, types: Types, linear: Flags, active_ct: Flags, active_in: Flags
                 ) -> None:
        super().__init__(rule)
        self.types, self.linear = types, linear
        self.active_ct, self.active_in = active_ct, active_in

    def _batch(self, types: Types, flags: Flags, size: int) -> Function:
        n = len(self.linear) - sum(self.linear)
        moved = [batched(t, 0, size) for t in select(self.types, self.linear)]
        of_operands = tuple(join(self.linear, [True] * len(moved), flags[:n]))
        inner = self._asked(tuple(join(self.linear, moved, types[:n])), of_operands, size)
        ranks = [t.ndim - f for t, f in zip(types[n:], flags[n:], strict=True)]
        of_one = join(self.active_ct, ranks, [None] * (len(inner.returns) - len(ranks)))
        outer = PlacedBuilder(self.name)
        params = [outer.param(v.type) for v in inner.params]
        outer_results = [_with_batch(outer, v, size) if v.type.ndim == rank else v
                         for v, rank in zip(outer.inline(inner, params), of_one, strict=True)]
        back, active = linear_transpose(outer.close(outer_results), self.linear, self.active_ct)
        b = PlacedBuilder(self.name)
        operands = [b.param(t) for t in types]
        cts = [v if f else _with_batch(b, v, size)
               for v, f in zip(operands[n:], flags[n:], strict=True)]
        made = iter(b.inline(back, (*operands[:n], *cts)))
        received = [next(made) if a else None for a in active]
        return b.close([b.zeros(t) if ct is None else ct for t, ct, wanted in
                        zip(moved, received, self.active_in, strict=True) if wanted])


class Strong(_Derived):
    """The rule of a Function with strong zeros."""

    __slots__ = ("linear",)
    settings = ("linear",)

    def __init__(self, rule: Any, linear: Flags) -> None:
        super().__init__(rule)
        self.linear = linear

    def _batch(self, types: Types, flags: Flags, size: int) -> Function:
        return strong(self._asked(types, flags, size), self.linear)[0]


def _with_batch(b: Builder, value: Value, size: int) -> Value:
    return move_batch(b, value, None, 0, size)


# --- derivatives --------------------------------------------------------------------------------

def _jvp_custom_vmap(b: Builder, attrs: Attrs, operands: Values, tangents: Tangents
                     ) -> WithTangents:
    active = tuple([t is not None for t in tangents])
    moved, out = jvp(attrs["body"], active)
    made = b.emit(custom_vmap, *operands, *select(tangents, active), body=moved,
                  rule=Pushed(attrs["rule"], active, out), name=attrs["name"])
    n = len(out)
    given = iter(made[n:])
    return made[:n], [next(given) if a else None for a in out]


def _split_custom_vmap(b: SplitBuilder, attrs: Attrs, operands: Values, linear: Flags) -> Values:
    """Two ops, one on each side. Both compute what they share: residuals would have no batch rule.
    """
    body, name = attrs["body"], attrs["name"]
    types = tuple([v.type for v in operands])
    of_results = divide(body, linear).active_out
    places = range(len(operands))
    known = tuple([i for i in places if not linear[i]])
    moved, ahead = unzip(tuple(range(len(of_results))), of_results)
    known_results: Sequence[Value] = ()
    if ahead:
        known_results = b.emit(
            custom_vmap, *[operands[i] for i in known], body=_part(body, known, tuple(ahead)),
            rule=Part(attrs["rule"], types, known, tuple(ahead)), name=name)
    results: Sequence[Value] = ()
    if moved:
        results = b.emit_linear(
            custom_vmap, *operands, body=_part(body, tuple(places), tuple(moved)),
            rule=Part(attrs["rule"], types, tuple(places), tuple(moved)), name=name)
    return join(of_results, results, known_results)


def _part(body: Function, given: tuple[int, ...], kept: tuple[int, ...]) -> Function:
    """The part of a body that computes the results `kept`, which read only the parameters `given`.
    """
    def make() -> Function:
        slim = dead_code(body.replace(returns=[body.returns[i] for i in kept], weak_returns=()))
        return slim.replace(params=[body.params[i] for i in given], param_names=(),
                            weak_params=())

    return remembered(body, ("part", given, kept), make)


def _transpose_custom_vmap(b: Builder, op: Op, cotangents: Tangents, known: Tangents
                          ) -> NewTangents:
    linear = tuple([k is LINEAR for k in known])
    active_ct = tuple([ct is not None for ct in cotangents])
    back, active_in = linear_transpose(op.attrs["body"], linear, active_ct)
    types = tuple([v.type for v in op.operands])
    values = [k for k in known if k is not LINEAR]
    rule = Pulled(op.attrs["rule"], types, linear, active_ct, active_in)
    made = iter(b.emit(custom_vmap, *values, *select(cotangents, active_ct), body=back, rule=rule,
                       name=op.attrs["name"]))
    return join(linear, [next(made) if a else None for a in active_in], [None] * len(values))


def _strong_custom_vmap(op: Op, linear: Flags) -> Any:
    definition, attrs, out = strong_body(op, linear)
    return definition, {**attrs, "rule": Strong(attrs["rule"], linear)}, out


custom_vmap = define("custom_vmap", attrs={"body": FUNCTION, "rule": PYTHON, "name": STR},
                     infer=infer_body("custom_vmap"), single=False, own_primal=True,
                     jvp=_jvp_custom_vmap, split=_split_custom_vmap,
                     transpose=_transpose_custom_vmap, batch=_batch_custom_vmap,
                     strong=_strong_custom_vmap, regions=RULED,
                     family=__name__)


__all__ = ["Part", "Pulled", "Pushed", "Strong", "custom_vmap"]
