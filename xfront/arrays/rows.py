"""The rows of an array, as `for row in x` and `a, b = x` give them.

Each row is put from the host by itself, beside the original. Once many numbers (or short rows) have
been read, a program takes several rows apart at once. That takes half the time, but compiling the
program takes as long as reading tens of thousands of rows.
"""

# hot: benchmarks/eager.py

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import binding
from .abstract import AbstractArray

AT_ONCE = 16
ENOUGH = 2 ** 15
"""Rows of one type after which the next are taken apart by a program."""
MOST_ELEMENTS = 4
"""Of a row: programs of larger ones run on another thread, which takes as long as their copies."""

Kind = tuple[AbstractArray, Any]
"""Type of a row and where it lies."""

_read: dict[Kind, int] = {}
_programs: dict[Kind, Any] = {}


def rows(x: binding.ArrayImpl) -> Iterator[binding.ArrayImpl]:
    """The rows of an array on one device, one after the other.

    They are copies: a row must neither keep the whole alive nor change when that is donated.
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
    """What takes rows of a type apart; None where too few have been read."""
    found = _programs.get(kind)
    if found is None and _read.get(kind, 0) >= ENOUGH:
        found = _programs[kind] = _compiled(kind[0])
    return found


def _compiled(aval: AbstractArray) -> Any:
    """The program of the default device: rows of `aval`, AT_ONCE of them on top of each other, as
    as many arrays."""
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
