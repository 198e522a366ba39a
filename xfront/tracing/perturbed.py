"""Which of the derivatives that are being taken reach a value of an open trace, found on request.

A set of derivatives is a number with a bit for the level of each trace that differentiates. A
request goes through the ops recorded so far, and the next one continues where it ended. The ops of
a staging trace are differentiated later, as one program: no derivative reaches a value there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xfront_ir.core import Value
from xfront_ir.definition import ZERO

from .tracer import Tracer

if TYPE_CHECKING:
    from .recording import Recording


class Reached:
    """The derivatives that reach the values of one trace.

    `Recording.given` has an entry for each parameter with which the trace was opened: the outer
    value for which it stands, or the derivatives that reach it. It is empty if none reaches any.
    """

    __slots__ = ("found", "n_ops", "n_params", "trace")

    def __init__(self, trace: Recording) -> None:
        self.trace = trace
        self.found: dict[Value, int] = {}
        self.n_params = self.n_ops = 0

    def of(self, value: Value) -> int:
        """The derivatives that reach a value of the trace."""
        trace, found = self.trace, self.found
        params, ops, given = trace.builder.params, trace.builder.ops, trace.given or ()
        n = len(params) - len(trace.sources)
        own = 1 << trace.level if trace.differentiates else 0
        for i in range(self.n_params, len(params)):
            v = params[i]
            if i < n:
                reached = own | (_outside(given[i]) if given else 0)
            else:
                reached = reaching(trace.sources[i - n])
            if reached and v.type.is_inexact:
                found[v] = reached
        for op in ops[self.n_ops:]:
            reached = 0
            for x in op.operands:
                reached |= found.get(x, 0)
            if reached and op.definition.jvp is not ZERO:
                for v in op.results:
                    if v.type.is_inexact:
                        found[v] = reached
        self.n_params, self.n_ops = len(params), len(ops)
        return found.get(value, 0)


def _outside(x: Any) -> int:
    return x if type(x) is int else reaching(x)


def reaching(x: Any) -> int:
    """The derivatives that reach a value; none reaches an array."""
    if type(x) is not Tracer or x.home.given is None:
        return 0
    home = x.home
    if home.reached is None:
        home.reached = Reached(home)
    return home.reached.of(x.value)


def innermost(reached: Sequence[int]) -> int:
    """The innermost derivative that reaches any of several values; 0 where there is none."""
    every = 0
    for x in reached:
        every |= x
    return 1 << every.bit_length() - 1 if every else 0


__all__ = ["Reached", "innermost", "reaching"]
