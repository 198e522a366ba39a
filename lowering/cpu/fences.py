"""Fences: where XLA's CPU compiler must not merge an operation into those that read it.

Its fusion copies the operations behind a value into every reader, without limit. In a residual
network x + f(norm(x)) each norm adds all earlier branches again, and an unrolled integrator costs
2 ** steps. A fence on the few values where that would be dear is the op `fence`, which the lowering
writes as a call of the identity that must not be inlined:

    func @f(%x: f32[64,64]) -> … {            func @f(%x: f32[64,64]) -> … {
      …                                         …
      %70: f32[64,64] = tanh(%69)               %70: f32[64,64] = tanh(%69)
      %71: f32[64,64] = dot(%70, %70)           %71: f32[64,64] = fence(%70)
      %72: f32[64,64] = neg(%70)                %72: f32[64,64] = dot(%71, %71)
                                                %73: f32[64,64] = neg(%71)

    func.func private @fence(%x: tensor<64x64xf32>) -> tensor<64x64xf32> { return %x }
    %71 = call @fence(%70) {mhlo.frontend_attributes = {inlineable = "false"}}

It moves no data: the call's result is its operand's buffer. (`optimization_barrier` would not do:
the CPU compiler deletes it before fusion.)

What a fence saves is what several places (`kernels.py`) compute for the sake of this one value: the
set of different operations behind it that they do not need anyway, times the elements computed
again. It is set against what it costs to start one more kernel and to write and read the value. A
value is fenced as late as all its places share it. What users fence is fenced whatever it costs.
"""

# hot: benchmarks/fences.py

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lowering.cpu.kernels import Kind, Region
from xfront_ir import ops
from xfront_ir.core import Function, Op, Value, bodies_of
from xfront_ir.opdef import Pending

START = 4000
"""What it takes to start a kernel, in operations on one element."""
STORE = 12
"""What it takes to write an element and to read it again."""
LEAST = 12
"""So many operations are repeated, for however many elements."""
MOST = 128
"""So many are not repeated in another kernel, for however few: they take time to compile."""
_BITS = 4096
"""Sets of operations are integers of so many bits, an operation as many of them as it weighs: those
that stand so far apart that they share bits count once."""
_LONGEST_UNROLLED = 64


class Facts(NamedTuple):
    """What the pass must know beyond the program.

    `first` gives, of the bodies with the same content, the one that stands for all of them: what is
    called several times stays one function.
    """

    first: Callable[[Function], Function] = lambda body: body


NO_FACTS = Facts()


def fence_pass(fn: Function, facts: Facts = NO_FACTS) -> Function:
    """`fn` with `fence` ops on the values that XLA's CPU compiler must compute once, bodies
    included; the same object where there are none.

    Readers stay as they are: the fence has the value that they read, the op in front a new one.
    """
    chosen: set[Value] = set()
    queue: list[tuple[Function, int, int, int]] = [(fn, 1, 0, 0)]
    seen = {fn}
    while queue:
        region = Region(*queue.pop(), facts.first)
        for kind, op, _, _ in region.rows:
            if not kind.merged and op.definition.has_bodies:
                for body, times, n_consts, n_carry in _bodies(op):
                    body = facts.first(body)
                    if body not in seen:
                        seen.add(body)
                        queue.append((body, times, n_consts, n_carry))
        _choose(region, chosen)
    return _written(fn, chosen, facts, {}) if chosen else fn


def _bodies(op: Op) -> list[tuple[Function, int, int, int]]:
    """The bodies of an op that are computations of their own: how often each is emitted in a row,
    its constants and what it carries."""
    name, attrs = op.definition.name, op.attrs
    if name == "scan":
        length, unroll = attrs["length"], max(1, attrs["unroll"])
        times = min(length if length // unroll <= 1 else unroll, _LONGEST_UNROLLED)
        return [(attrs["body"], times, attrs["n_consts"], attrs["n_carry"])]
    if name in ("cond", "while"):
        return [(body, 1, 0, 0) for body in bodies_of(op)]
    return []


def _choose(region: Region, chosen: set[Value]) -> None:
    """Adds the values to be fenced in a region."""
    region.place(set())
    places, is_end, is_edge = region.places, region.is_end, region.is_edge
    readers, width, count = region.readers, region.width, region.count
    sets = [0] * region.size           # what readers repeat for a value's sake
    bit = 0
    for kind, op, operands, i in region.rows:
        found = places[i] if op.results else None
        if found is None or is_end[i]:
            continue
        type_ = op.results[0].type
        if len(found) == 1:
            (p,) = found
            if width[p] == 1 and count[p] <= type_.size:
                continue               # computed once
        weight = kind.weight
        mine = ((1 << weight) - 1) << bit
        bit = (bit + weight) % _BITS
        for j in operands:
            if sets[j] and _for_its_sake(kind, readers[j], found, width):
                mine |= sets[j]
        if mine and is_edge[i] and not kind.free and _is_dear(
                mine.bit_count(), type_.size, sum([count[p] for p in found]),
                sum([width[p] for p in found])):
            chosen.update(op.results)
            mine = 0
        for k in range(i, i + len(op.results)):
            sets[k] = mine


def _for_its_sake(kind: Kind, readers: frozenset[int] | list[frozenset[int]] | None,
                  found: frozenset[int], width: list[int]) -> bool:
    """Whether an operand with these readers is repeated at several of the places `found` of one of
    them for the sake of that reader alone."""
    if kind.moves or not isinstance(readers, list):
        return True
    others = frozenset().union(*[p for p in readers if p != found])
    return sum([width[p] for p in found - others]) > 1


def _is_dear(weight: int, size: int, computed: float, width: int) -> bool:
    """Whether it costs less to start a kernel than to repeat operations of this weight."""
    if weight * (width - 1) >= MOST:
        return True
    return weight >= LEAST and weight * (computed - size) >= START + STORE * size


def _written(fn: Function, chosen: set[Value], facts: Facts, done: dict[Function, Function]
             ) -> Function:
    """`fn` with its chosen values fenced."""
    found = done.get(fn)
    if found is not None:
        return found
    made: list[Op] = []
    for op in fn.ops:
        if op.definition.has_bodies:
            op = _with_bodies(op, lambda body: _written(facts.first(body), chosen, facts, done))
        if chosen.isdisjoint(op.results):
            made.append(op)
            continue
        results = tuple([Value(v.type) if v in chosen else v for v in op.results])
        made.append(Op(op.definition, op.operands, op.attrs, results, op.loc))
        made += [Op(ops.fence, (w,), {}, (v,), op.loc)
                 for v, w in zip(op.results, results, strict=True) if v is not w]
    if all(map(lambda a, b: a is b, made, fn.ops)):
        made_fn = fn
    else:
        made_fn = fn.replace(ops=made)
    done[fn] = made_fn
    return made_fn


def _with_bodies(op: Op, change: Callable[[Function], Function]) -> Op:
    """The op with its bodies changed; the same where none is."""
    attrs = dict(op.attrs)
    for name in op.definition.body_attrs:
        held = attrs[name]
        if isinstance(held, tuple):
            made = tuple([change(body) for body in held])
            attrs[name] = held if all(map(lambda a, b: a is b, made, held)) else made
        elif isinstance(held, (Function, Pending)):
            body = held if isinstance(held, Function) else held.force()
            made = change(body)
            attrs[name] = held if made is body else made
    if all([attrs[name] is op.attrs[name] for name in op.definition.body_attrs]):
        return op
    return Op(op.definition, op.operands, attrs, op.results, op.loc)
