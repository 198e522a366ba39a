"""The rows of an array, for `for row in x` and `a, b = x`.

Each row is copied from the host to the device of the array. Once many numbers (or short rows) have
been read, a program makes several rows at once. That takes half the time, but the program takes as
long to compile as tens of thousands of rows take to read.
"""

# hot: benchmarks/eager.py

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import binding
from .abstract import AbstractArray

AT_ONCE = 16
ENOUGH = 2 ** 15
"""The number of rows of one type after which a program makes the next ones."""
MOST_ELEMENTS = 4
"""The most elements of a row: programs of larger rows use another thread, which saves no time."""

Kind = tuple[AbstractArray, Any]
"""The type of a row, and its sharding."""

_read: dict[Kind, int] = {}
_programs: dict[Kind, Any] = {}


def rows(x: binding.ArrayImpl) -> Iterator[binding.ArrayImpl]:
    """The rows of an array on one device, one after the other.

    The rows are copies: a row must neither keep the array alive nor change when that is donated.
    """
    value, sharding, committed = binding.to_numpy(x), x._sharding, x._committed
    aval = AbstractArray(value.shape[1:], value.dtype, x.aval.weak_type)
    kind, put, count = (aval, sharding), binding.put_copy, value.shape[0]
    small = (count >= AT_ONCE and aval.size <= MOST_ELEMENTS
             and sharding is binding.default_sharding())
    for start in range(0, count, AT_ONCE):
        end = start + AT_ONCE
        if small and end <= count and (program := _program(kind)) is not None:
            whole = AbstractArray((AT_ONCE, *aval.shape), aval.dtype, aval.weak_type)
            yield from program.run([put(whole, sharding, value[start:end], committed)], committed)
        else:
            for i in range(start, min(end, count)):
                yield put(aval, sharding, value[i, ...], committed)
        if small:
            _read[kind] = _read.get(kind, 0) + AT_ONCE


def _program(kind: Kind) -> Any:
    """The program that makes rows of a type; None where too few of them have been read."""
    found = _programs.get(kind)
    if found is None and _read.get(kind, 0) >= ENOUGH:
        found = _programs[kind] = _compiled(kind[0])
    return found


def _compiled(aval: AbstractArray) -> Any:
    """The program on the default device from AT_ONCE stacked rows to as many arrays."""
    from xfront_ir import ops  # most processes have no such program
    from xfront_ir.builder import Builder
    from xfront_ir.dtypes import from_numpy
    from xfront_ir.types import tensor

    from ..tracing import programs  # stands on this folder
    from .placement import default_placement

    if _programs.clear not in programs.TABLES:
        programs.TABLES.append(_programs.clear)
    b = Builder("rows")
    whole = b.param(tensor((AT_ONCE, *aval.shape), from_numpy(aval.dtype)))
    behind = (0,) * aval.ndim
    made = [b.emit(ops.reshape, b.emit(ops.slice, whole, starts=(i, *behind),
                                       limits=(i + 1, *aval.shape), strides=(1,) * (aval.ndim + 1)),
                   shape=aval.shape) for i in range(AT_ONCE)]
    function = b.close(made, [aval.weak_type] * AT_ONCE)
    return programs.compile_body(function, name="rows", place=default_placement(), effort="fast")
