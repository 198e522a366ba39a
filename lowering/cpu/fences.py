"""Fences: where XLA's CPU compiler must not merge an operation into those that read it.

Its fusion copies the operations behind a value into every reader, without limit. In a residual
network x + f(norm(x)) each norm adds all earlier branches again, and an unrolled integrator costs
2 ** steps. A fence on the few values where that would be dear is a call of the identity which
must not be inlined:

    func.func private @fence(%x: tensor<64x128xf32>) -> tensor<64x128xf32> { return %x }
    %y = call @fence(%x) {mhlo.frontend_attributes = {inlineable = "false"}}

It moves no data: the call's result is its operand's buffer. (`optimization_barrier` would not do:
the CPU compiler deletes it before fusion.)

Which values those are is found in one walk of each region over an estimate of how many operations
a reader would repeat: 0 for what is never merged (parameters, products, convolutions, loops,
fences), otherwise one more than that of all operands together: along every path, for where indices
change on the way, as in sums over windows, a kernel does compute an element again on each.
Small arrays are repeated faster than a kernel starts, so they are fenced much later. What users
fence, by the op `fence`, is fenced whatever it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lowering.context import INLINED, body_of
from lowering.rules import control, custom  # noqa: F401  (they fill INLINED)
from xfront_ir.core import Function, Op, Value, bodies_of
from xfront_ir.opdef import OpDef
from xfront_ir.types import TensorType

SHARED_COST = 64
"""A value with several readers is fenced where each would repeat this many operations."""
LONGEST_COST = 300
"""Any value is, from here on: kernels compile in more than linear time."""
SMALL_SIZE = 4096
SMALL_LONGEST_COST = 1_000_000
"""Smaller arrays are fenced where readers end in different kernels, or repeat exponentially."""

_MERGED = frozenset(f"xfront_ir/ops/{room}.py" for room in (
    "bits", "compare", "convert", "elementwise", "gathering", "indexing", "random", "reduce",
    "shape", "special"))
_NEVER_MERGED = frozenset((
    "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "dynamic_update_slice",
    "fence", "rng_bit_generator", "rng_uniform", "scatter", "scatter_add", "scatter_mul",
    "scatter_min", "scatter_max",
    "igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "betainc"))
_COSTS = {"reshape": 0, "broadcast_in_dim": 0, "convert": 0, "bitcast": 0, "copy": 0,
          "stop_gradient": 0, "random_wrap": 0, "random_unwrap": 0,
          "threefry2x32": 110, "random_bits": 110, "random_split": 110, "random_fold_in": 110,
          "sin": 30, "cos": 30, "tan": 40, "asin": 20, "acos": 20, "atan": 20, "atan2": 30,
          "cbrt": 20, "sinh": 20,
          "erf_inv": 40, "lgamma": 80, "digamma": 80, "polygamma": 200, "zeta": 200}
_READS_OFTEN = frozenset(("erf_inv", "lgamma", "digamma", "polygamma", "zeta"))
"""One op here, many that read the operand there."""
_UNFENCED = frozenset(("reshape", "broadcast_in_dim", "convert", "bitcast", "copy", "iota",
                       "stop_gradient", "slice", "pad", "literal", "random_wrap",
                       "random_unwrap"))

Row = tuple[Op, list[int], int]
"""An op, the numbers of its operands, the number of its first result."""
Held = Callable[[Function], "Function | None"]


def fenced_values(function: Function, held: Held) -> frozenset[Value]:
    """The values to be fenced in `function` and in all bodies inside it.

    Args:
      function: what is lowered.
      held: gives the private Function that a body is a call of; None where it is emitted in place.
    """
    walk = _Walk(held)
    walk.queue.append((function, 1, 0, 0))
    while walk.queue:
        walk.region(*walk.queue.pop())
    return frozenset(walk.chosen)


class _Walk:
    """The walk over one program; `queue` has the regions still to be walked."""

    def __init__(self, held: Held) -> None:
        self.held, self.chosen = held, set[Value]()
        self.queue: list[tuple[Function, int, int, int]] = []
        self.regions: set[Function] = set()
        self.summaries: dict[Function, tuple[list[int], list[int]]] = {}

    def region(self, function: Function, times: int, n_consts: int, n_carry: int) -> None:
        """Choose in a body; one that is emitted `times` in a row hands its carry on."""
        if function not in self.regions:
            self.regions.add(function)
            self._choose(function, times, n_consts, n_carry)

    def summary(self, function: Function) -> tuple[list[int], list[int]]:
        """Of a private function: how often each parameter is read, what each result costs."""
        found = self.summaries.get(function)
        if found is None:
            self.regions.add(function)
            found = self.summaries[function] = self._choose(function, 1, 0, 0)
        return found

    def _choose(self, function: Function, times: int, n_consts: int, n_carry: int
                ) -> tuple[list[int], list[int]]:
        rows, returned, count = self._rows(function, times, n_consts, n_carry)
        n_params = len(function.params)
        reads, costs = [0] * count, [0] * count
        for op, operands, _ in rows:
            for i, n in zip(operands, self._reads(op), strict=True):
                reads[i] += n
        for i in returned:
            reads[i] += 1
        kernels = _kernels(rows, returned, count)
        for op, operands, first in rows:
            made = self._costs(op, operands, costs)
            for at, value in enumerate(op.results, first):
                cost = made[at - first]
                if _is_fenced(op.definition, value.type, reads[at], cost, kernels[at] == SEVERAL):
                    self.chosen.add(value)
                    cost = 0
                costs[at] = cost
        return reads[:n_params], [costs[i] for i in returned]

    def _reads(self, op: Op) -> Sequence[int]:
        if op.definition in INLINED and (body := self.held(body_of(op))) is not None:
            return self.summary(body)[0]
        return (1 + (op.definition.name in _READS_OFTEN),) * len(op.operands)

    def _costs(self, op: Op, operands: Sequence[int], costs: Sequence[int]) -> Sequence[int]:
        """What a reader of each result of `op` would repeat."""
        definition = op.definition
        before = min(sum([costs[i] for i in operands]), 10 * SMALL_LONGEST_COST)
        if definition in INLINED:
            body = self.held(body_of(op))
            assert body is not None            # the others are rows of their own
            return [c and c + before for c in self.summary(body)[1]]
        if definition.has_bodies:
            self._enter(op)
        if not is_merged(definition):
            return (0,) * len(op.results)
        return (_COSTS.get(definition.name, 1) + before,) * len(op.results)

    def _enter(self, op: Op) -> None:
        name, attrs = op.definition.name, op.attrs
        if name == "scan":
            length, unroll = attrs["length"], max(1, attrs["unroll"])
            times = length if length // unroll <= 1 else unroll
            self._queue(attrs["body"], min(times, 64), attrs["n_consts"], attrs["n_carry"])
        elif name in ("cond", "while"):
            for body in bodies_of(op):
                self._queue(body)

    def _queue(self, body: Function, times: int = 1, n_consts: int = 0, n_carry: int = 0) -> None:
        self.queue.append((self.held(body) or body, times, n_consts, n_carry))

    def _rows(self, function: Function, times: int, n_consts: int, n_carry: int
              ) -> tuple[list[Row], list[int], int]:
        """(op, numbers of its operands, of its first result), calls emitted in place included;
        the numbers of what is returned; how many numbers there are."""
        rows: list[Row] = []
        count, given = len(function.params), list(range(len(function.params)))
        returned: list[int] = []
        for _ in range(times):
            at, returned, count = len(rows), *self._inlined(function, given, rows, count)
            given[n_consts:n_consts + n_carry] = returned[:n_carry]
            if len(rows) == at:
                break
        return rows, returned, count

    def _inlined(self, function: Function, given: Sequence[int],
                 rows: list[Row], count: int) -> tuple[list[int], int]:
        env = dict(zip(function.params, given, strict=True))
        ops: Iterator[Op] = iter(function.ops)
        stack: list[tuple[Iterator[Op], dict[Value, int], Function, Op]] = []
        while True:
            for op in ops:
                operands = [env[v] for v in op.operands]
                if op.definition in INLINED and self.held(body := body_of(op)) is None:
                    stack.append((ops, env, function, op))
                    env, ops = dict(zip(body.params, operands, strict=True)), iter(body.ops)
                    function = body
                    break
                rows.append((op, operands, count))
                for v in op.results:
                    env[v] = count
                    count += 1
            else:
                returned = [env[v] for v in function.returns]
                if not stack:
                    return returned, count
                ops, env, function, op = stack.pop()
                env.update(zip(op.results, returned, strict=True))


SEVERAL = -1


def _kernels(rows: Sequence[Row], returned: Sequence[int], count: int) -> list[int]:
    """The kernel in which all readers of each value end, by the number of its row or result, or
    SEVERAL. What is returned ends in a kernel of its own."""
    unread = count + len(rows)
    found = [unread] * count
    for i in returned:
        found[i] = i if found[i] == unread else SEVERAL
    for place in range(len(rows) - 1, -1, -1):
        op, operands, first = rows[place]
        kernel = count + place
        if is_merged(op.definition) and len(op.results) == 1 and found[first] != unread:
            kernel = found[first]
        for i in operands:
            before = found[i]
            if before != kernel:
                found[i] = kernel if before == unread else SEVERAL
    return found


def _is_fenced(definition: OpDef, type: TensorType, reads: int, cost: int, several: bool) -> bool:
    if definition.name == "fence":
        return True
    if cost < SHARED_COST or definition.name in _UNFENCED or reads == 0:
        return False
    if type.size < SMALL_SIZE:
        return (reads >= 2 and several) or cost >= SMALL_LONGEST_COST
    return reads >= 2 or cost >= LONGEST_COST


def is_merged(definition: OpDef) -> bool:
    """Whether readers repeat the op rather than wait for its result."""
    return definition.family in _MERGED and definition.name not in _NEVER_MERGED
