"""The width of the vectors in compiled code.

XLA has LLVM use 256 bits also where a CPU knows 512, for older Intel CPUs run slower for a while
after wide instructions. AMD's do not, and LLVM's own choice for them is 512: functions of large
arrays take half the time on those that compute 512 bits at once (Zen 5).
"""

from __future__ import annotations

from functools import cache

from lowering import compat, disk_cache
from xfront_ir import ops
from xfront_ir.analysis import functions
from xfront_ir.core import Function, bodies_of
from xfront_ir.traits import MERGED

OPTION = "xla_cpu_prefer_vector_width"
LEAST = 2 ** 15
"""The least elements of an array for whose sake a program gets wide vectors: kernels of smaller
ones take as long to start as to run."""

_WRONG = (ops.atan, ops.atan2)
"""Before jaxlib 0.12, XLA's own arctangent of vectors of 512 bits is wrong in half of the lanes."""


def options(function: Function) -> tuple[tuple[str, int], ...]:
    """XLA's option for a program, bodies included; none where its default is as good, or where
    `XLA_FLAGS` says it."""
    if not has_wide(disk_cache.cpu_text()) or OPTION in disk_cache.xla_flags():
        return ()
    if compat.VERSION < (0, 12) and any([
            op.definition in _WRONG for fn in functions(function) for op in fn.ops]):
        return ()
    seen, left = {function}, [function]
    while left:
        for op in left.pop().ops:
            definition = op.definition
            if MERGED in definition.traits and op.results[0].type.size >= LEAST:
                return ((OPTION, 512),)
            if definition.has_bodies:
                inside = {body for body in bodies_of(op) if body not in seen}
                seen |= inside
                left.extend(inside)
    return ()


@cache
def has_wide(cpu: str) -> bool:
    """Whether vectors of 512 bits do not slow a CPU down, which `disk_cache.cpu_text` describes."""
    return "AuthenticAMD" in cpu and "avx512vl" in cpu.split()
