"""The rows of an array, for `for row in x` and `a, b = x`.

Each row is copied from the host to the device of the array. Once many numbers (or short rows) have
been read, a program makes several rows at once, or all rows of a small array. That takes half the
time. But to compile the program takes as long as to read thousands of rows without it.
"""

# hot: benchmarks/eager.py

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import binding
from ..binding.abstract import AbstractArray
from .keys import emptied

AT_ONCE = 16
ENOUGH = 2 ** 15
"""The number of rows of one type after which a program makes the next ones."""
ENOUGH_OF_SMALL = 2 ** 13
"""As ENOUGH, where one program makes all rows of an array."""
MOST_ELEMENTS = 4
"""The most elements of a row: programs of larger rows use another thread, which saves no time."""
MOST_OF_SMALL = 128
"""The most elements of an array whose rows one program makes, for the same reason."""

Kind = tuple[AbstractArray, Any, int]
"""The type of a row, its sharding, and how many rows there are, 0 where AT_ONCE of more."""

_read: dict[Kind, int] = {}
_programs: dict[Kind, Any] = {}


def rows(x: binding.ArrayImpl) -> Iterator[binding.ArrayImpl]:
    """The rows of an array on one device, one after the other.

    The rows are copies: a row must neither keep the array alive nor change when that is donated.
    """
    whole, sharding = x.aval, x._sharding
    count, aval = whole.shape[0], AbstractArray(whole.shape[1:], whole.dtype, whole.weak_type)
    if 1 < count <= AT_ONCE and whole.size <= MOST_OF_SMALL and (
            sharding is binding.default_sharding()) and not x.is_deleted():
        kind = (aval, sharding, count)
        if (program := _program(kind, count, ENOUGH_OF_SMALL)) is not None:
            return iter(program.run([x], x._committed))
        _read[kind] = _read.get(kind, 0) + count
    return _one_by_one(x, aval)


def _one_by_one(x: binding.ArrayImpl, aval: AbstractArray) -> Iterator[binding.ArrayImpl]:
    """Yield the rows, copied one by one from the host, or made AT_ONCE at a time by a program."""
    value, sharding, committed = binding.to_numpy(x), x._sharding, x._committed
    kind, put, count = (aval, sharding, 0), binding.put_copy, value.shape[0]
    small = (count > AT_ONCE and aval.size <= MOST_ELEMENTS
             and sharding is binding.default_sharding())
    for start in range(0, count, AT_ONCE):
        end = start + AT_ONCE
        if small and end <= count and (program := _program(kind, AT_ONCE, ENOUGH)) is not None:
            whole = AbstractArray((AT_ONCE, *aval.shape), aval.dtype, aval.weak_type)
            yield from program.run([put(whole, sharding, value[start:end], committed)], committed)
        else:
            for i in range(start, min(end, count)):
                yield put(aval, sharding, value[i, ...], committed)
        if small:
            _read[kind] = _read.get(kind, 0) + AT_ONCE


def _program(kind: Kind, count: int, enough: int) -> Any:
    """The program that makes rows of a type; None where too few of them have been read."""
    found = _programs.get(kind)
    if found is None and _read.get(kind, 0) >= enough:
        found = _programs[kind] = _compiled(kind[0], count)
    return found


def _compiled(aval: AbstractArray, count: int) -> Any:
    """The program on the default device from stacked rows to as many arrays."""
    from xfront_ir import ops  # most processes have no such program
    from xfront_ir.dtypes import from_numpy
    from xfront_ir.placed_builder import PlacedBuilder
    from xfront_ir.types import tensor

    from .compiling import compile_body  # as these
    from .placement import default_placement

    b = PlacedBuilder("rows")
    whole = b.param(tensor((count, *aval.shape), from_numpy(aval.dtype)))
    behind = (0,) * aval.ndim
    made = [b.emit(ops.reshape, b.emit(ops.slice, whole, starts=(i, *behind),
                                       limits=(i + 1, *aval.shape), strides=(1,) * (aval.ndim + 1)),
                   shape=aval.shape) for i in range(count)]
    function = b.close(made, [aval.weak_type] * count)
    return compile_body(function, name="rows", place=default_placement(), effort="fast")


emptied(_programs.clear)
