"""A model of the kernels that XLA's CPU compiler makes of a region, as far as fences depend on it.

The compiler merges operations from the last to the first, and copies each into every kernel that
reads it. Within a kernel an operation is computed once for the same indices; where indices change
on the way, as in a slice or a sum over windows, everything before is computed again. So each value
has a set of *places*, each a pair of a kernel and indices. Kernels end at operations that are not
copied:

  - div, exp, log, tanh, … , sums, if several kernels read them, or a reader repeats their elements;
  - operations on two full arrays with several readers, if they are expensive, if one reader needs
    them in memory, or if a path from them to a reader passes an expensive operation with several
    readers (approximately: such operations are counted before and after, not traced);
  - all other operations that are read by an op which merges nothing.
"""

# hot: benchmarks/fences.py

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lowering.context import body_of
from lowering.forms.places import INLINED
from lowering.forms.registry import forms_of
from xfront_ir import ops
from xfront_ir.core import Function, Op, Value
from xfront_ir.definition import OpDef
from xfront_ir.literal import literal
from xfront_ir.traits import CHEAP, EXPENSIVE, IN_ORDER, MERGED, MOVES, REDUCES

MANY = 8
"""The most places of a value that are distinguished; more become one, with the sum of their counts.
"""

MOST_ROWS = 1_000_000
"""Calls in longer regions are not expanded: their results count as written."""

FORMED_SIZE = 2 ** 13
"""From this size on, expensive ops with a form of cheap ops count as cheap."""


class Kind:
    """The properties of an op that follow from its definition.

    `merged`: XLA merges it into its readers. `weight`: how many operations it counts as.
    `expensive`: XLA does not copy it into several kernels. `formed`: it has a form of cheap ops.
    `ends`: 1 where it may end a kernel, else 0.
    `moves`: it reads operands at other indices than its own; `broadcasts`: it reads each element
    several times. `free`: it is never fenced, but the values that it reads may be.
    """

    __slots__ = ("broadcasts", "ends", "expensive", "formed", "free", "merged", "moves", "weight")

    def __init__(self, definition: OpDef) -> None:
        traits = definition.traits
        self.merged, self.weight = MERGED in traits, definition.work
        self.expensive = EXPENSIVE in traits
        self.ends = int(self.expensive or not self.merged)
        self.formed = any([form.is_cheap for form in forms_of(definition)])
        self.moves = REDUCES in traits or (MOVES in traits and IN_ORDER not in traits)
        self.broadcasts = definition is ops.broadcast_in_dim
        self.free = IN_ORDER in traits or (self.merged and definition.n_operands == 0) or (
            MOVES in traits and CHEAP in traits)


_KINDS: dict[OpDef, Kind] = {}
_DIV = ops.div
_BY_CONSTANT = Kind(ops.mul)
"""The kind of a quotient by a constant, which XLA computes as a product with the inverse."""

Row = tuple[Kind, Op, list[int], int, int]
"""The op's kind, the op, the numbers of its operands except constants, the number of its first
result, the level of its operands: how many ops on the longest path to them may end a kernel."""
Handed = tuple[tuple[int, int], ...]
"""Pairs of a parameter and the return that becomes it the next time, by their positions."""
Places = frozenset[int]
IN_MEMORY: Places = frozenset((-1,))
"""The places of a reader that merges nothing, for which the value must be written."""
NOWHERE = 1 << 60


def kernel_kind(definition: OpDef) -> Kind:
    """The kind of an op, remembered."""
    found = _KINDS.get(definition)
    if found is None:
        found = Kind(definition)
        if definition not in INLINED:
            _KINDS[definition] = found
    return found


def heaviest() -> int:
    """The most operations that any op met so far counts as."""
    return max([kind.weight for kind in _KINDS.values()], default=0)


class Region:
    """The operations that are compiled as one computation, with calls expanded, and their places.

    `rows` are in program order. Values are numbered, parameters first. Values in `cuts` are written
    to memory. After `place`:

      places[i]     where value i is computed, None where nobody reads it
      is_end[i]     whether it is written to memory, so that readers do not repeat it
      is_edge[i]    whether some reader has other places than value i
      readers[i]    the places of its readers: a set, or a list of different sets
                    (for an op with several results, all are at the first result)
      count[p]      how many elements are computed at place p
      width[p]      how many places p stands for
    """

    def __init__(self, function: Function, times: int, handed: Handed,
                 first: Callable[[Function], Function]) -> None:
        self.rows: list[Row] = []
        self.size, self._first = len(function.params), first
        self._levels = [0] * self.size   # the level of each value
        self._thin: set[int] = set()     # values that repeat a smaller array
        self.cuts: set[int] = set()
        given = list(range(self.size))
        self.returned: list[int] = []
        for _ in range(times):           # an unrolled loop hands its carry on
            at = len(self.rows)
            self.returned = self._inline(function, given)
            for param, result in handed:
                given[param] = self.returned[result]
            if len(self.rows) == at:
                break

    def _inline(self, function: Function, given: Sequence[int]) -> list[int]:
        env: dict[Value, int] = dict(zip(function.params, given, strict=True))
        rows, count, kinds = self.rows, self.size, _KINDS
        levels = self._levels
        stack: list[Any] = []
        todo: Iterator[Op] = iter(function.ops)
        while True:
            for op in todo:
                definition = op.definition
                kind = kinds.get(definition)
                if kind is None:                 # calls and literals are none
                    if definition is literal:
                        env[op.results[0]] = -1
                        continue
                    if definition in INLINED and count < MOST_ROWS:
                        body = self._first(body_of(op))
                        stack.append((todo, env, function, op))
                        env = dict(zip(body.params, [env[v] for v in op.operands], strict=True))
                        function, todo = body, iter(body.ops)
                        break
                    kind = kernel_kind(definition)
                operands, level = [], 0
                for v in op.operands:
                    i = env[v]
                    if i >= 0:
                        operands.append(i)
                        if levels[i] > level:
                            level = levels[i]
                if not operands and kind.free:
                    env[op.results[0]] = -1
                    continue
                if definition is _DIV and env[op.operands[1]] < 0:
                    kind = _BY_CONSTANT
                rows.append((kind, op, operands, count, level))
                if kind.broadcasts:
                    self._thin.add(count)
                level += kind.ends
                for v in op.results:
                    env[v] = count
                    count += 1
                    levels.append(level)
            else:
                returned = [env[v] for v in function.returns]
                if not stack:
                    self.size = count
                    return returned
                todo, env, function, op = stack.pop()
                env.update(zip(op.results, returned, strict=True))

    # --- the walk from the last operation to the first ------------------------------------------

    def place(self) -> None:
        """Find the places of all values; the values of `cuts` are written to memory."""
        self._begin()
        cuts, places, is_edge = self.cuts, self.places, self.is_edge
        several, readers = self._several, self.readers
        ahead, behind, levels = self._ahead, self._behind, self._levels
        found: Places
        for kind, op, operands, i, level in reversed(self.rows):
            if not kind.merged:
                found, mark = IN_MEMORY, True
                barriers = max(ahead[i:i + len(op.results)], default=0) + 1
            else:
                if len(op.results) > 1:
                    self._join(i, len(op.results))
                have = readers[i]
                if have is None:
                    continue
                barriers = ahead[i]
                if have is IN_MEMORY or i in cuts:
                    found, barriers = self._ended(op, i), barriers + 1
                elif several[i] or kind.expensive or isinstance(have, list):
                    found, ends = self._decide(kind, op, operands, i)
                    barriers += 1 if ends or (several[i] and kind.expensive) else 0
                else:
                    found = have
                places[i] = found
                mark = kind.free and is_edge[i]
                if kind.moves:
                    if len(operands) != 1:
                        self._moved_apart(kind, op, operands, found, mark, level, barriers)
                        continue
                    found, again = self._moved(kind, op, op.operands[0], found)
                    mark = mark or again
            for j in operands:
                have = readers[j]                     # self._read, in place
                if have is None:
                    readers[j] = found
                else:
                    several[j] = 1
                    if have is not found and have != found:
                        self._other(j, found)
                if barriers > ahead[j]:
                    ahead[j] = barriers
                if level > levels[j] and barriers < behind[j]:
                    behind[j] = barriers
                if mark:
                    is_edge[j] = 1

    def _begin(self) -> None:
        size = self.size
        self.places: list[Places | None] = [None] * size
        self.is_end, self.is_edge = bytearray(size), bytearray(size)
        self.readers: list[Places | list[Places] | None] = [None] * size
        self.count: list[float] = []
        self.width: list[int] = []
        self._repeats: list[bool] = []                # whether a place computes elements again
        self._several = bytearray(size)
        self._ahead = [0] * size                      # barriers on the longest path to the end
        self._behind = [NOWHERE] * size     # the least barriers ahead of readers of a later level
        for i in self.returned:
            if i >= 0:
                self._read(i, IN_MEMORY, 0, 0)

    def _new(self, count: float, width: int, repeats: bool) -> int:
        self.count.append(count)
        self.width.append(width)
        self._repeats.append(repeats)
        return len(self.count) - 1

    def _read(self, i: int, found: Places, level: int, barriers: int) -> None:
        """Record a reader of value i with its places; readers come from the program's end."""
        if self.readers[i] is None:
            self.readers[i] = found
        else:
            self._several[i] = 1
            if self.readers[i] != found:
                self._other(i, found)
        self._ahead[i] = max(self._ahead[i], barriers)
        if level > self._levels[i]:
            self._behind[i] = min(self._behind[i], barriers)

    def _other(self, i: int, found: Places) -> None:
        have = self.readers[i]
        if isinstance(have, frozenset):
            self.readers[i] = [have, found]
        elif have is not None and found not in have:
            have.append(found)

    def _join(self, i: int, n: int) -> None:
        """Record all readers of the n results of an op as readers of its first result, i."""
        for k in range(i + 1, i + n):
            found = self.readers[k]
            for places in found if isinstance(found, list) else [found] if found else []:
                self._read(i, places, 0, self._ahead[k])

    def _ended(self, op: Op, i: int) -> Places:
        """The place of a value that is written to memory."""
        self.is_end[i] = 1
        self.count.append(op.results[0].type.size)     # self._new, in place
        self.width.append(1)
        self._repeats.append(False)
        return frozenset((len(self.count) - 1,))

    def _decide(self, kind: Kind, op: Op, operands: list[int], i: int) -> tuple[Places, bool]:
        """The places of a value that has several readers or is expensive, and whether it ends a
        kernel."""
        read, type_, width = self.readers[i], op.results[0].type, self.width
        assert read is not None
        if isinstance(read, list):
            found, written = frozenset().union(*read) - IN_MEMORY, IN_MEMORY in read
            self.is_edge[i] = 1
        else:
            found, written = read, False
        expensive = kind.expensive and not (kind.formed and type_.size >= FORMED_SIZE)
        ends = expensive and (written or len(found) > 1 or any(
            [width[p] > 1 or self._repeats[p] for p in found]))
        if not ends and self._several[i] and (
                written or expensive or self._ahead[i] > self._behind[i]):
            ends = len({j for j in operands if j not in self._thin}) > 1
        if ends:
            return self._ended(op, i), True
        if written:
            found = found | {self._new(type_.size, 1, False)}
        if len(found) > MANY:
            found = frozenset((self._new(
                sum([self.count[p] for p in found]), sum([self.width[p] for p in found]),
                any([self._repeats[p] for p in found])),))
        return found, False

    def _moved_apart(self, kind: Kind, op: Op, operands: list[int], found: Places, mark: int,
                     level: int, barriers: int) -> None:
        """Record the reads of an op that reads several operands, each at indices of its own."""
        read = op.operands if len(op.operands) == len(operands) else op.operands[:1] * len(operands)
        for v, j in zip(read, operands, strict=True):
            there, again = self._moved(kind, op, v, found)
            self._read(j, there, level, barriers)
            if mark or again:
                self.is_edge[j] = 1

    def _moved(self, kind: Kind, op: Op, v: Value, found: Places) -> tuple[Places, bool]:
        """The new places of an operand that an op at `found` reads at other indices, and whether
        elements of it are computed more than once."""
        type_, source = op.results[0].type, v.type
        count, width, repeats = self.count, self.width, self._repeats
        ratio = source.size / max(type_.size, 1)
        if kind.broadcasts:                  # repeats along the last axis are computed once
            if source.ndim and source.shape[-1] > 1 and op.attrs["dims"][-1] == type_.ndim - 1:
                ratio = 1.0
        elif not kind.expensive:
            ratio = min(ratio, 1.0)
        start = len(count)
        for p in found:                      # self._new, in place
            count.append(count[p] * ratio)
            width.append(width[p])
            repeats.append(kind.broadcasts or repeats[p])
        return frozenset(range(start, len(count))), ratio > 1
