"""Linearise: divide a Function into a part that is computed now and one linear in the tangents.

    // linearize(active = [true])
    func @f(%x: f32[3]) -> (f32[3]) {          func @f(%x: f32[3]) -> (f32[3], f32[3]) {
      %0: f32[3] = sin(%x)                       %0: f32[3] = sin(%x)
      return %0                                  %1: f32[3] = cos(%x)
    }                                            return %0, %1
                                               }
                                               func @f_linear(%x_dot: f32[3], %c: f32[3])
                                                   -> (f32[3]) {
                                                 %0: f32[3] = mul(%x_dot, %c)
                                                 return %0
                                               }

The pass is `jvp` into a builder with two sides. A forward value that the linear side reads is a
residual. Residuals are saved only where they must be: parameters and results are named by index;
literals, and ops that merely enlarge a value (a broadcast, a wider dtype), are repeated where they
are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from ..core import Function, Op, Value, remembered
from ..definition import LINEAR_OP
from ..literal import literal
from ..placed_builder import PlacedBuilder
from ..split_builder import SplitBuilder
from .dead_code import dead_code, unread_code
from .inline import settle
from .jvp import Flags, check_active, push_forward
from .strong import strengthened
from .strong import strong as with_strong_zeros
from .transpose import push_back, transpose

Source = tuple[str, int]
T = TypeVar("T")


class Linearized(NamedTuple):
    """The two parts of a divided Function.

    `forward`: the parameters of the Function; returns its results, then what is saved.
    `linear`: parameters are the tangents of the active parameters, then the residuals; returns the
      tangents of the results with `active_out`.
    `residuals`: where each residual parameter of `linear` comes from, in their order:
      `("param", i)` parameter i of the Function, `("out", i)` its result i,
      `("residual", k)` what `forward` returns at place `n_out + k`, n_out results coming first.
    `active_out`: for each result, whether it has a tangent.
    `n_out`: how many returns of `forward` are results.
    """

    forward: Function
    linear: Function
    residuals: tuple[Source, ...]
    active_out: Flags
    n_out: int

    def pick(self, params: Sequence[T], returned: Sequence[T]) -> tuple[T, ...]:
        """The residuals for `linear`, from the arguments of `forward` and from its returns."""
        shift = {"out": 0, "residual": self.n_out}
        return tuple([params[i] if kind == "param" else returned[i + shift[kind]]
                      for kind, i in self.residuals])


def linearize(fn: Function, active: Flags, strong: bool = False, out: Flags | None = None
              ) -> Linearized:
    """Divide `fn` into what computes its values and the linear map of its tangents.

    Args:
      fn: any Function.
      active: for each parameter, whether it has a tangent (float and complex ones may).
      strong: whether the linear map has strong zeros.
      out: results that have a tangent even where it is always zero.
    Returns: `(forward, linear, residuals, active_out)`, see `Linearized`.
    Raises: IRTypeError where an active parameter is no float or complex number; MissingRule.
    """
    active = tuple(active)
    return remembered(fn, ("linearize", active, strong, out), _linearize, fn, active, strong, out)


def _linearize(fn: Function, active: Flags, strong: bool, out: Flags | None) -> Linearized:
    if out is not None and (natural := linearize(fn, active, strong)).active_out == out:
        return natural
    check_active(fn, active)
    fn = settle(fn)
    b = SplitBuilder(fn.name)
    b.params = list(fn.params)
    tangents = {v: b.tangent_param(v.type) for v, a in zip(fn.params, active, strict=True) if a}
    returns, moved = push_forward(b, fn, tangents)
    for i, wanted in enumerate(out or ()):
        if wanted and moved[i] is None:
            moved[i] = zero = b.linear.zeros(returns[i].type)
            b.tangents.add(zero)
    found = close_split(b, fn, returns, moved)
    if not strong:
        return found
    flags = tuple([i < sum(active) for i in range(len(found.linear.params))])
    return found._replace(linear=with_strong_zeros(found.linear, flags)[0])


def divide(fn: Function, linear: Flags, out: Flags | None = None) -> Linearized:
    """Divide a Function that is linear in some of its parameters (as it stands, without `jvp`).

    Args:
      fn: any Function.
      linear: for each parameter, whether it stays on the linear side.
      out: results that must be on the linear side even where they do not depend on it.
    Returns: as `linearize`, where `forward` takes the other parameters and `("param", i)` counts
      among these; `forward` returns only the results that are not on the linear side; `("out", i)`
      counts among these; `linear` takes the linear ones, then residuals, and returns the results
      with `active_out`.
    """
    return remembered(fn, ("divide", linear, out), _divide, fn, linear, out)


def _divide(fn: Function, linear: Flags, out: Flags | None) -> Linearized:
    if out is not None and (natural := divide(fn, linear)).active_out == out:
        return natural
    b = SplitBuilder(fn.name)
    env = [b.tangent_param(v.type) if a else b.param(v.type)
           for v, a in zip(fn.params, linear, strict=True)]
    results = b.inline(fn, env)
    wanted = out or (False,) * len(results)
    moved = [v if w or v in b.tangents else None for v, w in zip(results, wanted, strict=True)]
    known = tuple([v for v, m in zip(results, moved, strict=True) if m is None])
    return close_split(b, fn, known, moved, named=False)


def close_split(b: SplitBuilder, fn: Function, returns: tuple[Value, ...],
                moved: list[Value | None], *, named: bool = True) -> Linearized:
    """Close both sides; `moved` are the linear results (None: not linear)."""
    out = [b.residual(t) for t in moved if t is not None]
    recomputed = _recomputed(b, set(returns))
    side = dead_code(Function(b.linear.name, b.linear.params, [*recomputed, *b.linear.ops], out))
    read = {v for op in side.ops for v in op.operands}.union(side.returns)
    again = {op.results[0] for op in recomputed}
    taken = [(v, r) for v, r in b.residuals.items() if r in read and r not in again]

    places: dict[Value, Source] = {v: ("out", i) for i, v in reversed(list(enumerate(returns)))}
    places.update({v: ("param", i) for i, v in enumerate(b.params)})
    saved: list[Value] = []
    residuals: list[Source] = []
    for v, _ in taken:
        if v not in places:
            places[v] = ("residual", len(saved))
            saved.append(v)
        residuals.append(places[v])
    linear = side.replace(params=(*side.params, *[r for _, r in taken]))
    forward = Function(fn.name, b.params, b.ops, (*returns, *saved),
                       param_names=fn.param_names if named else (),
                       weak_params=fn.weak_params if named else ())
    return Linearized(unread_code(forward), linear, tuple(residuals),
                      tuple([t is not None for t in moved]), len(returns))


def _recomputed(b: SplitBuilder, kept: Iterable[Value]) -> list[Op]:
    """Ops of the forward side that the linear side repeats instead of reading their results."""
    if not b.residuals:
        return []
    cheap = {op.results[0]: op for op in b.ops if is_cheap(op) and op.results[0] not in kept}
    made: dict[Value, Op] = {}
    pending = [v for v in b.residuals if v in cheap]
    while pending:
        v = pending.pop()
        if v in made:
            continue
        op = cheap[v]
        made[v] = Op(op.definition, tuple([b.residual(u) for u in op.operands]), op.attrs,
                     (b.residual(v),), op.loc)
        pending.extend([u for u in op.operands if u in cheap])
    order = [op.results[0] for op in b.ops if op.definition.single and op.results[0] in made]
    return [made[v] for v in order]


def is_cheap(op: Op) -> bool:
    """Whether computing an op again costs less than saving its result: literals, enlargements."""
    definition = op.definition
    if definition is literal:
        return True
    if definition.jvp is not LINEAR_OP or len(op.operands) != 1 or definition.has_bodies:
        return False
    source, result = op.operands[0].type, op.results[0].type
    return result.size * result.dtype.bits > source.size * source.dtype.bits


def linear_transpose(fn: Function, linear: Flags, active_ct: Flags) -> tuple[Function, Flags]:
    """The transpose of a Function that is linear in some parameters, whatever else it computes.

    Args:
      fn: linear in the flagged parameters together, the others being constants.
      linear: for each parameter, whether it is linear in it.
      active_ct: for each result, whether it has a cotangent.
    Returns: `(function, active_in)`: parameters are the constants, then the active cotangents; it
      returns cotangents of those linear parameters that get one.
    Raises: MissingRule.
    """
    return remembered(fn, ("linear_transpose", linear, active_ct), _linear_transpose, fn, linear,
                      active_ct)


def _linear_transpose(fn: Function, linear: Flags, active_ct: Flags) -> tuple[Function, Flags]:
    parts = divide(fn, linear)
    reached = [g for a, g in zip(parts.active_out, active_ct, strict=True) if a]
    back, active_in = transpose(parts.linear, len(parts.residuals), tuple(reached))
    b = PlacedBuilder(fn.name)
    b.ops = list(parts.forward.ops)
    cts = [Value(v.type.cotangent) if g else None
           for v, g in zip(fn.returns, active_ct, strict=True)]
    residuals = parts.pick(parts.forward.params, parts.forward.returns)
    returns = b.inline(back, (*residuals, *[
        ct for ct, a in zip(cts, parts.active_out, strict=True) if a and ct is not None]))
    given = [ct for ct in cts if ct is not None]
    return dead_code(Function(fn.name, (*parts.forward.params, *given), b.ops, returns)), active_in


class _OneSided(SplitBuilder):
    """Both sides in one Function: the linear side reads forward values as they are."""

    __slots__ = ()

    def residual(self, value: Value) -> Value:
        """The value itself."""
        return value

    def read_there(self, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        """The operands themselves."""
        return operands


def gradient(fn: Function, active: Flags, cotangents: Flags | None = None, strong: bool = False
             ) -> Function:
    """Values and cotangents in one Function: linearise, then transpose, for whole programs.

    Args:
      fn: any Function.
      active: for each parameter, whether its cotangent is wanted (float and complex ones).
      cotangents: for each result, whether it is given a cotangent; by default the float and
        complex ones are.
      strong: whether zero times anything is zero in what the cotangents go through.
    Returns: a Function of fn's parameters, then the given cotangents; it returns fn's results, then
      one cotangent for each active parameter (zeros where nothing reaches it). So its types follow
      from those of `fn` alone.
    Raises: as linearize and transpose.
    """
    active = tuple(active)
    given = tuple([v.type.is_inexact for v in fn.returns] if cotangents is None else cotangents)
    return remembered(fn, ("gradient", active, given, strong), _gradient, fn, active, given, strong)


def _gradient(fn: Function, active: Flags, given: Flags, strong: bool) -> Function:
    check_active(fn, active)
    fn = settle(fn)
    b = _OneSided(fn.name)
    b.params = list(fn.params)
    inputs = [v for v, a in zip(fn.params, active, strict=True) if a]
    tangents = {v: b.tangent_param(v.type) for v in inputs}
    linear_inputs = list(tangents.values())
    returns, moved = push_forward(b, fn, tangents)
    seeds = {i: Value(v.type.cotangent) for i, v in enumerate(fn.returns) if given[i]}
    back = PlacedBuilder(fn.name)
    back.ops = b.ops
    reached = [(t, seeds[i]) for i, t in enumerate(moved) if t is not None and i in seeds]
    linear_ops = b.linear.ops
    if strong:
        linear_ops = strengthened(linear_ops, set(linear_inputs), b.ops)
    made = push_back(back, linear_ops, linear_inputs, [t for t, _ in reached],
                     [ct for _, ct in reached])
    grads = [back.zeros(v.type.cotangent) if ct is None else ct
             for v, ct in zip(inputs, made, strict=True)]
    weak = fn.weak_params
    return unread_code(Function(
        fn.name, (*fn.params, *seeds.values()), back.ops, (*returns, *grads),
        param_names=fn.param_names and (*fn.param_names, *[f"ct{i}" for i in seeds]),
        weak_params=weak and (*weak, *[bool(fn.weak_returns) and fn.weak_returns[i]
                                       for i in seeds]),
        weak_returns=(*(fn.weak_returns or (False,) * len(fn.returns)),
                      *[bool(weak) and weak[i] for i, a in enumerate(active) if a])))
