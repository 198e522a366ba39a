"""The first runs of small un-jitted programs, computed by NumPy where every bit is certain.

XLA takes 10 to 50 ms to compile the smallest program, and most programs with which a user's program
begins (keys, their splits, a product with a number, an element of an array) run a few times. NumPy
computes them in a tenth of a millisecond. So a program is compiled when it has run `RUNS` times.

`is_exact` says for which programs the results are known to be those of the compiled one:

- integers, booleans and keys of threefry: whatever the compiler makes of them is the same;
- ops that move elements, and those that the IR knows to be exact (`EXACT`);
- at most one op that rounds, with no constant beside it: a compiler may contract two of them, or
  multiply by the reciprocal of a constant.

`results` looks at the numbers too: it computes nothing with infinities, NaN and subnormal numbers,
which compiled programs take for zeros.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops, reference
from xfront_ir.core import Function, Op
from xfront_ir.traits import ELEMENTWISE, EXACT, MIXES_BITS, REARRANGES
from xfront_ir.types import TensorType

from ..arrays import binding

RUNS = 16
"""How often NumPy runs a program before it is compiled; it takes less time for that than XLA takes
to compile the smallest."""

MOST_ELEMENTS = 4096
MOST_OPS = 16

LONGEST_WAIT = 0.01
"""Seconds for which a program waits for its operands: compiling it takes as long. Where they take
longer, it is compiled, and its user need not wait for it."""

_NUMBERS = frozenset((dtypes.bool_, dtypes.i32, dtypes.u32, dtypes.i64, dtypes.u64, dtypes.f32,
                      dtypes.f64))
_DTYPES = _NUMBERS | {dtypes.key_fry}
_MOVING = frozenset((ops.literal, ops.iota, ops.pad, ops.concatenate, ops.dynamic_slice,
                     ops.dynamic_update_slice))
_ROUNDING = frozenset((ops.add, ops.sub, ops.mul, ops.div, ops.square, ops.sqrt))
_OF_INTEGERS = frozenset((ops.max, ops.min))
"""Of floats, compilers may take either of two zeros."""


def is_exact(function: Function) -> bool:
    """Whether NumPy gives every bit of the results of this program on a CPU, for finite numbers."""
    if len(function.ops) > MOST_OPS or not all([_is_small(v.type) for v in function.params]):
        return False
    roundings, constants = 0, False
    for op in function.ops:
        if not all([_is_small(v.type) for v in op.results]):
            return False
        kind = _kind(op)
        if kind is None:
            return False
        roundings += kind
        constants = constants or (op.definition is ops.literal
                                  and op.results[0].type.dtype.is_inexact)
    return roundings == 0 or (roundings == 1 and not constants)


def _is_small(type: TensorType) -> bool:
    return (type.size <= MOST_ELEMENTS and type.dtype in _DTYPES and type.sharding is None
            and type.memory is None)


def _kind(op: Op) -> int | None:
    """How often an op rounds; None where it may not be computed here."""
    definition, (result, *_) = op.definition, op.results
    traits, is_float = definition.traits, result.type.dtype.is_inexact
    if definition in _MOVING or REARRANGES in traits:
        return 0
    if MIXES_BITS in traits:
        return None if is_float or definition.effects else 0
    if EXACT not in traits:
        return None
    of_floats = op.operands[0].type.dtype.is_inexact
    if definition is ops.convert:
        if of_floats:                            # integers of a float out of range are the device's
            return int(is_float) if is_float or result.type.dtype is dtypes.bool_ else None
        return 0
    if definition in _OF_INTEGERS:
        return None if is_float else 0
    if definition is ops.div and not is_float:
        return None                              # what n // 0 is
    return int(is_float and definition in _ROUNDING)


def results(function: Function, arrays: Sequence[Any]) -> list[np.ndarray] | None:
    """What an exact program returns for arrays on the CPU; None where it is not certain, or the
    arrays are not there yet. Nothing of the results is memory of the arrays."""
    if not _are_ready(arrays):
        return None
    try:
        values = [np.array(memoryview(x)) for x in arrays]
    except (BufferError, RuntimeError, ValueError, NotImplementedError):
        return None                              # its computation failed: the program says so
    try:
        return reference.run(function, values, _certain)
    except _UncertainError:
        return None


class _UncertainError(Exception):
    """A number is not finite, or subnormal."""


def _certain(op: Op, operands: Sequence[np.ndarray]) -> Any:
    made = reference.meaning(op, operands)
    if ELEMENTWISE in op.definition.traits or op.definition is ops.convert:
        rounded = np.asarray(made, op.results[0].type.dtype.numpy)
        if not all(map(_is_usual, (*operands, rounded))):
            raise _UncertainError
    return made


def _is_usual(x: np.ndarray) -> bool:
    """Whether all elements are zeros or finite normal numbers."""
    if x.dtype.kind != "f":
        return True
    size = np.abs(x)
    return bool(np.all((size == 0) | ((size >= np.finfo(x.dtype).tiny) & (size < np.inf))))


def _are_ready(arrays: Sequence[Any]) -> bool:
    end: float | None = None
    for x in arrays:
        while not x.is_ready():
            now = time.monotonic()
            if end is None:
                end = now + LONGEST_WAIT
            elif now > end:
                return False
            time.sleep(1e-4)
    return True


def put(values: Sequence[np.ndarray], avals: Sequence[Any], sharding: Any, committed: bool
        ) -> list[Any]:
    """Arrays of these values and types at a place."""
    return [binding.put_copy(a, sharding, np.asarray(x, order="C"), committed)
            for x, a in zip(values, avals, strict=True)]
