"""What is checked of a row and a dtype: one compiled program of all its calls.

Each call is in it plainly; a few of them under `vmap`, whose members the reference computes one by
one; and, where the dtype is real, their gradients in reverse and forward mode. A few run without
`jit` too. Which ones is told by the names of the row and the dtype, so that over all dtypes every
call is looked at in every way.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import xfront
import xfront.numpy as jnp
from xfront.base.config import enable_x64

from . import reference, slopes
from .compare import leaves, misses
from .reference import Expected, Refused, Taken
from .row import REAL, WIDE, Row, _seed, as_dtype, kind_of, operand

MAPPED = 3
"""Calls of a program that are under `vmap` too."""
SLOPES = 2
"""Calls of a program whose gradients are looked at."""


@dataclass
class Fault:
    """A result that is not what it should be."""

    row: str
    dtype: str
    way: str
    call: str
    what: str

    def __str__(self) -> str:
        return f"{self.row} {self.dtype}, {self.way}: {self.call}: {self.what}"


@dataclass
class Report:
    """What was found of a row and a dtype, in how many cases."""

    faults: list[Fault]
    cases: int


class Entry(NamedTuple):
    """A part of the program: of these operands."""

    way: str
    text: str
    taken: list[Taken]
    given: list[np.ndarray]
    run: Callable[..., Any]
    judge: Callable[[Any], Iterator[str]]


def ours(row: Row) -> Callable[..., Any]:
    home, _, name = row.name.rpartition(".")
    return getattr(importlib.import_module(f"xfront.{home}"), name)


def function(row: Row, text: str, taken: list[Taken]) -> Callable[..., Any]:
    """A call of ours as a function of its operands."""
    f, scope = ours(row), {name: mine for name, (mine, _) in row.scope.items()}

    def run(*given: Any) -> Any:
        found = dict(zip(taken, given, strict=True))
        return reference.call(text, f, jnp, scope, found.__getitem__)

    return run


# --- judging a result -----------------------------------------------------------------------

def _values(row: Row, text: str, dtype: str, wanted: list[Expected], room: list[np.ndarray],
            got: Any) -> Iterator[str]:
    found = leaves(got)
    if len(found) != len(wanted):
        yield f"{len(found)} results for {len(wanted)}"
        return
    for place, (x, want, near) in enumerate(zip(found, wanted, room)):
        which = f"result {place}: " if len(wanted) > 1 else ""
        if np.shape(x) != want.value.shape:
            yield f"{which}shape {np.shape(x)}, wanted {want.value.shape}"
            continue
        name = np.asarray(x).dtype.name
        if name != want.dtype:
            yield f"{which}{name}, wanted {want.dtype}"
            continue
        wrong = misses(np.asarray(x), want.value, near, want.dtype)
        if wrong.any():
            k = np.unravel_index(np.argmax(wrong), wrong.shape)
            yield (f"{which}{np.asarray(x)[k]!s} at {tuple(map(int, k))}, wanted "
                   f"{want.value[k]!s} +- {near[k]:.3g} ({int(wrong.sum())} of {wrong.size})")


def _judge_values(row: Row, text: str, dtype: str) -> Callable[[Any], Iterator[str]]:
    wanted = reference.expected(row, text, dtype)
    room = reference.room(row, text, dtype, wanted)
    return lambda got: _values(row, text, dtype, wanted, room, got)


# --- ways of calling ------------------------------------------------------------------------

def _plain(row: Row, text: str, dtype: str, taken: list[Taken]) -> Entry:
    given = [operand(row, *t, dtype) for t in taken]
    return Entry("jit", text, taken, given, function(row, text, taken),
                 _judge_values(row, text, dtype))


def _mapped(row: Row, text: str, dtype: str, taken: list[Taken], mode: int) -> Entry:
    """Over the first axis of all operands, of the first one alone, over the last axis of all."""
    letters = [t.letter for t in taken]
    over = {letters[0]} if mode == 1 else set(letters)
    axis = -1 if mode == 2 else 0
    axes = tuple([axis if t.letter in over else None for t in taken])
    given = []
    for t in taken:
        members = [operand(row, *t, dtype, m) for m in (0, 1)]
        given.append(np.stack(members, axis) if t.letter in over else members[0])
    parts, rooms = [], []
    for m in (0, 1):
        members = {letter: m if letter in over else 0 for letter in reference.LETTERS}
        parts.append(reference.expected(row, text, dtype, members))
        rooms.append(reference.room(row, text, dtype, parts[-1], members))
    if len({tuple(x.value.shape for x in part) for part in parts}) != 1:
        raise ValueError(f"{row.name}: {text}: shapes of results depend on values")
    wanted = [Expected(np.stack([p[k].value for p in parts]), x.dtype)
              for k, x in enumerate(parts[0])]
    room = [np.stack([r[k] for r in rooms]) for k in range(len(wanted))]
    return Entry("vmap", text, taken, given, xfront.vmap(function(row, text, taken), axes),
                 lambda got: _values(row, text, dtype, wanted, room, got))


def _sloped(row: Row, text: str, dtype: str, taken: list[Taken]) -> Iterator[Entry]:
    """The gradient by each operand, and the derivative along one direction."""
    known = slopes.differences(row, text, dtype, taken)
    run, moved = function(row, text, taken), slopes.active(taken)
    places = tuple([k for k, t in enumerate(taken) if t in moved])
    given = [operand(row, *t, dtype) for t in taken]

    def number(*operands: Any) -> Any:
        return slopes.total(run(*operands), jnp)

    def judge(got: Any) -> Iterator[str]:
        for slope, g in zip(known, got, strict=True):
            wrong = slopes.misses(np.asarray(g), slope.values, dtype, row.close)
            if wrong.any():
                k = np.unravel_index(np.argmax(wrong), wrong.shape)
                yield (f"by {slope.taken.letter} {np.asarray(g)[k]!s} at {tuple(map(int, k))}, "
                       f"wanted {slope.values[k]:.7g} ({int(wrong.sum())} of {wrong.size})")

    yield Entry("grad", text, taken, given, xfront.grad(number, places), judge)
    along = [slopes.weights(s.values.shape, 5).astype(as_dtype(dtype)) for s in known]
    terms = [s.values * w.astype(np.float64) for s, w in zip(known, along)]
    if not all(np.isfinite(t).all() for t in terms):
        return
    slope = sum(float(t.sum()) for t in terms)
    size = max(sum(float(np.abs(t).sum()) for t in terms), 1e-30)

    def tangent(*operands: Any) -> Any:
        def of_moved(*some: Any) -> Any:
            every = list(operands)
            for k, x in zip(places, some, strict=True):
                every[k] = x
            return number(*every)

        return xfront.jvp(of_moved, tuple([operands[k] for k in places]), tuple(along))[1]

    def judge_tangent(got: Any) -> Iterator[str]:
        if size > slopes.most(dtype):
            return
        near = (row.close or slopes.CLOSE[dtype]) * size + slopes.rounding(dtype)
        if not abs(float(got) - slope) <= near:
            yield f"along a direction {float(got):.7g}, wanted {slope:.7g}"

    yield Entry("jvp", text, taken, given, tangent, judge_tangent)


# --- the program of a row -------------------------------------------------------------------

def _shape_of(entry: Entry) -> Any:
    return xfront.eval_shape(entry.run, *entry.given)


def _refuses(row: Row, text: str, dtype: str, taken: list[Taken]) -> str:
    """What is wrong where a call is to be refused."""
    given = [operand(row, *t, dtype) for t in taken]
    try:
        xfront.eval_shape(function(row, text, taken), *given)
    except (TypeError, ValueError, NotImplementedError):
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "taken"


def _named(row: Row, text: str, dtype: str) -> list[Taken]:
    """The operands of a call that the reference refuses."""
    found: list[Taken] = []

    def give(taken: Taken) -> np.ndarray:
        if taken not in found:
            found.append(taken)
        return reference.as_numpy(operand(row, *taken, dtype))

    anything = Row(row.name, row.calls, scope=row.scope, reference=lambda *_, **__: None)
    try:
        reference._evaluate(anything, text, give)
    except Exception:
        pass
    return found


def _chosen(items: list[Any], count: int, *names: Any) -> list[Any]:
    """Some of the items, by the names."""
    if len(items) <= count:
        return items
    start = _seed(*names) % len(items)
    return [items[(start + k) % len(items)] for k in range(count)]


def entries(row: Row, dtype: str, report: Report) -> list[Entry]:
    """The parts of the program; what the reference refuses is looked at here."""
    made, usual = [], []
    for text in row.listed(dtype):
        try:
            taken = reference.operands(row, text, dtype)
        except (Refused, ValueError):
            taken = None
        if taken is None or dtype in row.refused:
            report.cases += 1
            if dtype in row.beyond:
                continue
            wrong = _refuses(row, text, dtype, taken or _named(row, text, dtype))
            if wrong:
                report.faults.append(Fault(row.name, dtype, "refusal", text, wrong))
            continue
        made.append(_plain(row, text, dtype, taken))
        usual.append((text, taken))
    if row.vmap:
        named = [(text, taken) for text, taken in usual if taken]
        for k, (text, taken) in enumerate(_chosen(named, MAPPED, row.name, dtype)):
            made.append(_mapped(row, text, dtype, taken, (k + _seed(dtype)) % 3))
    if row.grad and dtype in REAL:
        small = [(text, taken) for text, taken in usual if slopes.is_small(taken) and any(
            kind_of(x.dtype) in "fc" for x in reference.expected(row, text, dtype))]
        for text, taken in _chosen(small, SLOPES, dtype, row.name):
            made.extend(_sloped(row, text, dtype, taken))
    return made


def _static(row: Row, dtype: str) -> Report:
    """Of a row whose results are no arrays."""
    report = Report([], 0)
    for text in row.listed(dtype):
        taken = reference.operands(row, text, dtype)
        found = {t: operand(row, *t, dtype) for t in taken}
        got = reference.call(text, ours(row), jnp, {}, found.__getitem__)
        wanted = reference.call(text, reference.function(row), np, {}, found.__getitem__)
        report.cases += 1
        if got != wanted:
            report.faults.append(Fault(row.name, dtype, "plain", text, f"{got}, wanted {wanted}"))
    return report


def look(row: Row, dtype: str) -> Report:
    """All cases of a row and a dtype."""
    if row.static:
        return _static(row, dtype)
    report = Report([], 0)
    with enable_x64(dtype in WIDE):
        parts = entries(row, dtype, report)
        report.cases += len(parts)
        results = _run(row, parts)
        for entry, got in zip(parts, results, strict=True):
            _judged(row, dtype, entry, entry.way, got, report)
        plain = [e for e in parts if e.way == "jit"]
        for entry in _chosen(plain, 1, "eagerly", dtype, row.name):
            report.cases += 1
            got = _attempt(entry, [jnp.asarray(x) for x in entry.given])
            _judged(row, dtype, entry, "eagerly", got, report)
    return report


def _run(row: Row, parts: list[Entry]) -> list[Any]:
    """The results of all parts, or the error of each."""
    if not row.jit:
        return [_attempt(entry, [jnp.asarray(x) for x in entry.given]) for entry in parts]
    try:
        return xfront.jit(lambda given: [e.run(*x) for e, x in zip(parts, given)])(
            [e.given for e in parts])
    except Exception:
        return [_attempt(entry._replace(run=xfront.jit(entry.run)), entry.given) for entry in parts]


def _attempt(entry: Entry, given: list[Any]) -> Any:
    try:
        return entry.run(*given)
    except Exception as error:
        return error


def _judged(row: Row, dtype: str, entry: Entry, way: str, got: Any, report: Report) -> None:
    said = ([f"{type(got).__name__}: {str(got)[:300]}"] if isinstance(got, Exception)
            else list(entry.judge(got)))
    report.faults += [Fault(row.name, dtype, way, entry.text, what) for what in said]


def unused(row: Row, dtypes: Mapping[str, Any] | None = None) -> list[str]:
    """Calls that the reference takes in no dtype: mistakes of the table."""
    left = set(row.calls)
    for dtype in row.dtypes:
        for call in list(left):
            if call.partition("#")[0].strip() in row.listed(dtype):
                try:
                    reference.operands(row, call.partition("#")[0].strip(), dtype)
                    left.discard(call)
                except (Refused, ValueError):
                    pass
    return sorted(left)
