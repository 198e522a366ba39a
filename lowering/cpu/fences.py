"""Fences: values that XLA's CPU compiler must not merge into the operations that read them.

Its fusion copies the operations that compute a value into every reader, without limit. In a
residual network x + f(norm(x)) each norm adds all earlier branches again, and an unrolled
integrator costs 2 ** steps. Where that would be expensive, the op `fence` is put on a few values;
the lowering writes it as a call of the identity that must not be inlined:

    func @f(%x: f32[64,64]) -> … {            func @f(%x: f32[64,64]) -> … {
      …                                         …
      %70: f32[64,64] = tanh(%69)               %70: f32[64,64] = tanh(%69)
      %71: f32[64,64] = dot(%70, %70)           %71: f32[64,64] = fence(%70)
      %72: f32[64,64] = neg(%70)                %72: f32[64,64] = dot(%71, %71)
                                                %73: f32[64,64] = neg(%71)

    func.func private @fence(%x: tensor<64x64xf32>) -> tensor<64x64xf32> { return %x }
    %71 = call @fence(%70) {mhlo.frontend_attributes = {inlineable = "false"}}

The call moves no data: its result is its operand's buffer. (`optimization_barrier` does not
help: the CPU compiler deletes it before fusion.)

A fence saves the operations that several places (`kernels.py`) repeat for this one value: the set
of different operations that compute it and that the places do not need anyway, times the elements
computed again. It costs the start of one more kernel, and a write and a read of the value. Of a
chain of values that the same places share, the last one is fenced. Long kernels are cut where later
operations read few values of the earlier ones, whoever reads the kernel. Fences of the user are
always kept.
"""

# hot: benchmarks/fences.py

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from lowering.cpu.kernels import (
    IN_MEMORY,
    Handed,
    Kind,
    Places,
    Region,
    Row,
    heaviest,
)
from lowering.forms.facts import NO_FACTS, Facts
from xfront_ir import ops
from xfront_ir.core import Function, Op, Value, bodies_of
from xfront_ir.regions import with_bodies

START = 4000
"""The cost of starting a kernel, in operations on one element."""
STORE = 12
"""The cost of writing an element and reading it again, in operations."""
LEAST = 12
"""Fewer operations than this may be repeated, for any number of elements."""
MOST = 128
"""This many operations are not repeated in another kernel, even for few elements, because they take
time to compile."""
FAR = 2
"""A value is fenced itself, not only its readers, where computing it again in all places costs this
many times as much as the kernels that the fence adds."""
LONGEST = 1500
"""Kernels more than twice as long are cut, for their code does not fit the instruction cache."""
FEW = 64
"""Kernels of fewer elements run their code once or twice, and are cut only if more than five times
LONGEST."""
NARROW = 3
"""The most values that are written at a cut."""
HUGE = 3250
"""Kernels with this many operations are cut however many values are read behind the cut. Of the
gradients of chains, some with 3,300 operations run ten times as long in one kernel, and some with
4,500 do not compile in a minute."""
PART = 30
"""The number of operations in the parts of such kernels. Values that the next part reads are
written; other values are computed again in the later parts that read them."""
_BITS = 4096
"""Sets of operations are integers with this many bits, in which an operation has as many bits as
its weight. Operations so far apart that they share bits count once."""
_LONGEST_UNROLLED = 64


def fence_pass(fn: Function, facts: Facts = NO_FACTS) -> Function:
    """`fn` with `fence` ops on the values that XLA's CPU compiler must compute once, bodies
    included; the same object where there are none.

    Readers stay as they are: the result of the fence is the value that they read, and the op before
    the fence gets a new result.
    """
    chosen: set[Value] = set()
    queue: list[tuple[Function, int, Handed]] = [(fn, 1, ())]
    seen = {fn}
    while queue:
        region = Region(*queue.pop(), facts.first)
        for kind, op, _, _, _ in region.rows:
            if not kind.merged and op.definition.has_bodies:
                for body, times, handed in _bodies(op):
                    body = facts.first(body)
                    if body not in seen:
                        seen.add(body)
                        queue.append((body, times, handed))
        _choose(region, chosen)
    return _written(fn, chosen, facts, {}) if chosen else fn


def _bodies(op: Op) -> list[tuple[Function, int, Handed]]:
    """The bodies of an op that are compiled as computations of their own. With each: how many times
    in succession it is emitted, and which of its returns become which parameters the next time."""
    regions, attrs = op.definition.regions, op.attrs
    if not regions.is_choice and not (regions.is_loop and regions.free):
        return []
    length = regions.turns(attrs)
    if length is None or not regions.is_loop:
        return [(body, 1, ()) for body in bodies_of(op)]
    unroll = max(1, attrs["unroll"])
    times = min(length if length // unroll <= 1 else unroll, _LONGEST_UNROLLED)
    return [(one.function, times, tuple(regions.handed(op, one))) for one in regions.held(op)]


def _choose(region: Region, chosen: set[Value]) -> None:
    """Add the values of a region that are to be fenced to `chosen`."""
    region.place()
    if _cut(region):
        region.place()
    if region.cuts:
        chosen.update([op.results[0] for kind, op, _, i, _ in region.rows
                       if kind.merged and i in region.cuts])
    places, is_end, is_edge = region.places, region.is_end, region.is_edge
    readers, width, count = region.readers, region.width, region.count
    sets = [0] * region.size           # the operations that places of readers repeat for a value
    bit = 0
    for kind, op, operands, i, _ in region.rows:
        results = op.results
        found = places[i] if results else None
        if found is None or is_end[i]:
            continue
        size, repeats = results[0].type.size, len(found) > 1
        if not repeats:
            (p,) = found
            repeats = width[p] > 1
            if not repeats and count[p] <= size:
                continue               # the value is computed once
        own = mine = ((1 << kind.weight) - 1) << bit
        bit = (bit + kind.weight) % _BITS
        for j in operands:
            if sets[j] and (kind.moves or (repeats if type(readers[j]) is not list else
                                           _left(readers[j], found, found, width) > 1)):
                mine |= sets[j]
        if is_edge[i] and not kind.free:
            repeated = mine.bit_count(), size, sum([count[p] for p in found]), sum(
                [width[p] for p in found])
            if _is_dear(*repeated) and (_is_dear(*repeated, FAR) or _is_dear_later(
                    region, kind, operands, i, size, sets, own)):
                chosen.update(results)
                continue
        sets[i] = mine
        if len(results) > 1:
            sets[i:i + len(results)] = [mine] * len(results)


def _left(readers: Places | list[Places] | None, reader: Places, found: Places,
          width: list[int]) -> int:
    """The number of the places `found` at which only the readers with places `reader` need a value.
    """
    if isinstance(readers, list):
        found = found.difference(*[p for p in readers if p != reader])
    return sum([width[p] for p in found])


def _is_dear_later(region: Region, kind: Kind, operands: list[int], i: int, size: int,
                   sets: list[int], own: int) -> bool:
    """Whether repeating value i stays expensive if those of its readers are fenced that repeat its
    operations at several places."""
    readers, width, count, found = region.readers, region.width, region.count, region.places[i]
    sets_of = readers[i]
    assert found is not None
    if not isinstance(sets_of, list):
        return True
    fenced = 0
    kept = found
    for reader in sets_of:
        if reader is not IN_MEMORY and _left(sets_of, reader, reader, width) > 1:
            fenced += 1
            kept = kept - reader
    mine = own
    for j in operands:
        if sets[j] and (kind.moves or _left(readers[j], found, kept, width) + fenced > 1):
            mine |= sets[j]
    return _is_dear(mine.bit_count(), size, sum([count[p] for p in kept]) + fenced * size,
                    sum([width[p] for p in kept]) + fenced)


def _cut(region: Region) -> bool:
    """Cut long kernels into parts of up to LONGEST operations, where few values are read behind the
    cut. A gradient reads all values computed before and has no such place; it is cut only if it is
    huge. Returns whether the places of other values have changed."""
    places = region.places
    most = heaviest()
    inside: dict[Places | None, list[Row]] = {
        found: [] for found, n in Counter(places).items()
        if found is not None and len(found) == 1 and (n * most > LONGEST * 2 or n >= HUGE)}
    if not inside:
        return False
    for row in region.rows:
        found = places[row[3]] if row[0].merged else None
        rows = inside.get(found)
        if rows is not None:
            rows.append(row)
    several = False
    for rows in inside.values():
        few = rows[-1][1].results[0].type.size < FEW
        weights = [row[0].weight for row in rows]
        is_long = sum(weights) > LONGEST * (5 if few else 2)
        if is_long or len(rows) >= HUGE:
            several |= _cut_kernel(region, rows, weights, is_long)
    return several


def _cut_kernel(region: Region, rows: list[Row], weights: list[int], is_long: bool) -> bool:
    """As `_cut`, for one kernel, that of these rows."""
    until = {row[3]: n for n, row in enumerate(rows)}      # the last row that reads a value
    shares = False                                         # whether other kernels compute it too
    for n, (_, _, operands, _, _) in enumerate(rows):
        for j in operands:
            if j in until:
                until[j] = n
            elif region.places[j] is not None and not region.is_end[j]:
                shares = True
    ending = [0] * len(rows)
    for n in until.values():
        ending[n] += 1
    at = [] if shares else _cuts(weights, ending, LONGEST, NARROW)
    written: set[int] | None = None                        # None: all that are read behind a cut
    if max([b - a for a, b in pairwise((0, *at, len(rows)))]) >= HUGE:
        at = _cuts([1] * len(rows), ending, PART, len(rows))
        written = _read_next(rows, at)
    elif not is_long:
        return False
    crossing = [0] * len(at)
    c = 0
    for n, (kind, _, _, i, _) in enumerate(rows):
        while c < len(at) and at[c] < n:
            c += 1
        if c == len(at):
            break
        if until[i] > at[c] and not kind.free and (written is None or i in written):
            crossing[c] += 1
            region.cuts.add(i)
            region.is_end[i] = 1
    return max(crossing, default=0) > 1


def _read_next(rows: list[Row], at: list[int]) -> set[int]:
    """The values that are computed in one part and read in the next one."""
    part_of: dict[int, int] = {}
    found: set[int] = set()
    c = 0
    for n, (_, op, operands, i, _) in enumerate(rows):
        if c < len(at) and at[c] < n:
            c += 1
        found.update([j for j in operands if part_of.get(j) == c - 1])
        for k in range(i, i + len(op.results)):
            part_of[k] = c
    return found


def _cuts(weights: list[int], ending: list[int], longest: int, narrow: int) -> list[int]:
    """The rows behind which to cut into parts of up to `longest`: those after which the fewest
    values, at most `narrow`, are read later."""
    total = sum(weights)
    at: list[int] = []
    weight = start = live = best_weight = 0
    best, fewest = -1, narrow
    for n, own in enumerate(weights):
        weight += own
        live += 1 - ending[n]
        if live <= fewest and weight - start >= longest // 2 and total - weight >= longest // 4:
            best, best_weight, fewest = n, weight, live
        if weight - start >= longest and best >= 0:
            at.append(best)
            start, best, fewest = best_weight, -1, narrow
    return at


def _is_dear(weight: int, size: int, computed: float, width: int, times: int = 1) -> bool:
    """Whether it costs less to start and store `times` kernels than to repeat the operations."""
    if weight * (width - 1) >= MOST * times:
        return True
    return weight >= LEAST and weight * (computed - size) >= (START + STORE * size) * times


def _written(fn: Function, chosen: set[Value], facts: Facts, done: dict[Function, Function]
             ) -> Function:
    """`fn` with fences on the chosen values, bodies included."""
    found = done.get(fn)
    if found is not None:
        return found
    made: list[Op] = []
    for op in fn.ops:
        if op.definition.has_bodies:
            op = with_bodies(op, [_written(facts.first(body), chosen, facts, done)
                                  for body in bodies_of(op)])
        if chosen.isdisjoint(op.results):
            made.append(op)
            continue
        results = tuple([Value(v.type) if v in chosen else v for v in op.results])
        made.append(Op(op.definition, op.operands, op.attrs, results, op.loc))
        made += [Op(ops.fence, (w,), {}, (v,), op.loc)
                 for v, w in zip(op.results, results, strict=True) if v is not w]
    done[fn] = fn.with_ops(made)
    return done[fn]
