"""The checks that every row of the op table goes through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowering import compile_function
from xfront import binding
from xfront.base.config import enable_x64
from xfront.binding.abstract import AbstractArray
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.definition import lookup
from xfront_ir.dtypes import named
from xfront_ir.errors import IRTypeError
from xfront_ir.fingerprint import fingerprint
from xfront_ir.parser import parse
from xfront_ir.passes.jvp import jvp
from xfront_ir.passes.linearize import linearize
from xfront_ir.passes.transpose import transpose
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.printer import print_function
from xfront_ir.reference import evaluate
from xfront_ir.types import tensor
from xfront_ir.verifier import verify

from .row import Bad, Row

Arrays = list[np.ndarray]


# --- comparing ----------------------------------------------------------------------------

def compare(got: Any, expected: Any, tolerance: float, what: str) -> None:
    """Fail where arrays differ by more than `tolerance` times max(1, |expected|)."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    assert got.dtype == expected.dtype, f"{what}: dtype {got.dtype}, expected {expected.dtype}"
    if tolerance == 0 and got.dtype.kind in "biu":
        assert np.array_equal(got, expected), f"{what}:\n{got}\nexpected\n{expected}"
        return
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    g, e = got.astype(wide), expected.astype(wide)
    for a, c in ((g.real, e.real), (g.imag, e.imag)) if wide is np.complex128 else ((g, e),):
        same = (a == c) | (np.isnan(a) & np.isnan(c))
        with np.errstate(all="ignore"):
            close = np.abs(a - c) <= tolerance * np.maximum(1, np.abs(e))
        assert (same | close).all(), f"{what}:\n{got}\nexpected\n{expected}"


# --- text and types -----------------------------------------------------------------------

def check_text(fn: Function) -> None:
    """`parse(print(f))` is f again, and the verifier takes both."""
    verify(fn)
    text = print_function(fn)
    again = parse(text)
    verify(again)
    assert print_function(again) == text
    for a, c in zip(fn.ops, again.ops, strict=True):
        assert a.definition is c.definition
        assert [v.type for v in a.results] == [v.type for v in c.results]


def check_refused(name: str, bad: Bad) -> None:
    """The type rule refuses, with a message that says why."""
    b = Builder()
    types = [tensor(shape, named(dtype)) for dtype, shape in bad.types]
    try:
        b.emit(lookup(name), *[b.param(t) for t in types], **bad.attrs)
    except IRTypeError as e:
        assert bad.message in str(e), f"{name}: the message is {e}, expected {bad.message!r}"
        assert name in str(e)
        return
    raise AssertionError(f"{name} takes {types} with {bad.attrs}")


# --- derivatives --------------------------------------------------------------------------

def _tangents(arrays: Sequence[np.ndarray], active: Sequence[bool], rng: np.random.Generator
              ) -> Arrays:
    made = []
    for x, a in zip(arrays, active, strict=True):
        if a:
            t = rng.uniform(-1, 1, x.shape)
            made.append((t + 1j * rng.uniform(-1, 1, x.shape)).astype(x.dtype)
                        if x.dtype.kind == "c" else t.astype(x.dtype))
    return made


def _along(arrays: Sequence[np.ndarray], active: Sequence[bool], tangents: Arrays, h: float
           ) -> Arrays:
    left = iter(tangents)
    return [x + h * next(left) if a else x for x, a in zip(arrays, active, strict=True)]


def differences(fn: Function, arrays: Sequence[np.ndarray], active: Sequence[bool],
                tangents: Arrays, h: float = 1e-3) -> Arrays:
    """Derivatives of the results along the tangents, to fourth order in `h`."""
    at = {k: evaluate(fn, *_along(arrays, active, tangents, k * h)) for k in (-2, -1, 1, 2)}
    with np.errstate(all="ignore"):
        return [(8 * (p - m) - (pp - mm)) / (12 * h) if p.dtype.kind in "fc" else np.zeros(())
                for pp, p, m, mm in zip(at[2], at[1], at[-1], at[-2], strict=True)]


def check_forward(fn: Function, arrays: Sequence[np.ndarray], active: Sequence[bool],
                  tolerance: float, rng: np.random.Generator, what: str, order: int = 2) -> None:
    """Tangents against differences; then the same of the function that gives them."""
    moved, active_out = jvp(fn, tuple(active))
    verify(moved)
    tangents = _tangents(arrays, active, rng)
    results = evaluate(moved, *arrays, *tangents)
    n = len(fn.returns)
    for got, expected in zip(results, evaluate(fn, *arrays)):
        compare(got, expected, 0, f"{what}: primal under jvp")
    given = iter(results[n:])
    expected = differences(fn, arrays, active, tangents)
    for v, has, e in zip(fn.returns, active_out, expected, strict=True):
        got = next(given) if has else np.zeros(v.type.shape, v.type.dtype.numpy)
        if v.type.is_inexact:
            compare(got, e, tolerance, f"{what}: tangent of order {3 - order}")
    if order > 1 and any(active_out):
        flags = (*active, *[True] * len(tangents))
        check_forward(moved, [*arrays, *tangents], flags, 10 * tolerance, rng, what, order - 1)


def _paired(cotangents: Arrays, values: Arrays) -> float:
    return sum(float(np.real(np.sum(c * v))) for c, v in zip(cotangents, values, strict=True))


def check_reverse(fn: Function, arrays: Sequence[np.ndarray], active: Sequence[bool],
                  rng: np.random.Generator, what: str) -> None:
    """The tangent that linearize gives is jvp's, and its transpose pairs with it."""
    split = linearize(fn, tuple(active))
    verify(split.forward)
    verify(split.linear)
    returned = evaluate(split.forward, *arrays)
    for got, expected in zip(returned, evaluate(fn, *arrays)):
        compare(got, expected, 0, f"{what}: primal under linearize")
    residuals = split.pick(tuple(arrays), tuple(returned))
    tangents = _tangents(arrays, active, rng)
    pushed = evaluate(split.linear, *tangents, *residuals)
    moved, active_out = jvp(fn, tuple(active))
    assert active_out == split.active_out
    for got, e in zip(pushed, evaluate(moved, *arrays, *tangents)[len(fn.returns):], strict=True):
        compare(got, e, 1e-12, f"{what}: linearize against jvp")
    if not pushed:
        return
    cotangents = _tangents(pushed, [True] * len(pushed), rng)
    back, active_in = transpose(split.linear, len(residuals), (True,) * len(pushed))
    verify(back)
    pulled = iter(evaluate(back, *residuals, *cotangents))
    full = [next(pulled) if a else np.zeros_like(t)
            for a, t in zip(active_in, tangents, strict=True)]
    left, right = _paired(cotangents, pushed), _paired(full, tangents)
    size = sum(float(np.sum(np.abs(c * v))) for c, v in zip(cotangents, pushed, strict=True))
    assert abs(left - right) <= 1e-12 * max(1.0, size), f"{what}: <ct, J t> {left}, other {right}"


def flags_of(row: Row, fn: Function) -> list[tuple[bool, ...]]:
    """Sets of operands to differentiate in: all that can be, then each of them alone."""
    can = tuple(v.type.is_inexact and (row.active is None or row.active[i])
                for i, v in enumerate(fn.params))
    alone = [tuple(i == j for j in range(len(can))) for i, c in enumerate(can) if c]
    return [can, *(alone if len(alone) > 1 else [])] if any(can) else []


# --- batching -----------------------------------------------------------------------------

LANES = 3


def placements(fn: Function) -> list[tuple[int | None, ...]]:
    """Each operand batched alone, first and last; then all of them, both ways and mixed."""
    n, last = len(fn.params), [v.type.ndim for v in fn.params]
    made: list[tuple[int | None, ...]] = []
    for i in range(n):
        for at in {0, last[i]}:
            made.append(tuple(at if j == i else None for j in range(n)))
    if n > 1:
        made += [(0,) * n, tuple(last), tuple(0 if i % 2 else last[i] for i in range(n))]
    return made


def check_batch(fn: Function, lanes: list[Arrays], positions: tuple[int | None, ...],
                tolerance: Any, what: str) -> None:
    """A batch gives in each lane what the function gives for that lane alone."""
    batched, out = vectorize(fn, positions, ("", LANES))
    verify(batched)
    stacked = [lanes[0][i] if p is None else np.stack([lane[i] for lane in lanes], p)
               for i, p in enumerate(positions)]
    results = evaluate(batched, *stacked)
    for k, lane in enumerate(lanes):
        alone = [lanes[0][i] if p is None else lane[i] for i, p in enumerate(positions)]
        for v, got, p, expected in zip(fn.returns, results, out, evaluate(fn, *alone),
                                       strict=True):
            picked = got if p is None else np.take(got, k, p)
            compare(picked, expected, tolerance(v.type.dtype), f"{what}: lane {k} of {positions}")


# --- compiled programs --------------------------------------------------------------------

def run_compiled(fn: Function, arrays: Sequence[np.ndarray]) -> Arrays:
    """The values of `fn`, compiled for the CPU; programs are kept on disk between runs."""
    sharding = binding.default_sharding()
    executable = compile_function(fn, fingerprint=fingerprint(fn), effort="fast")
    handlers = [binding.result_handler(AbstractArray(v.type.shape, v.type.dtype.numpy), sharding)
                for v in fn.returns]
    with enable_x64(True):
        return [np.array(binding.to_numpy(x))
                for x in executable.execute([binding.put(a) for a in arrays], handlers)]


def joined(programs: Sequence[tuple[Function, Arrays]]) -> tuple[Function, Arrays]:
    """Many programs side by side in one, so that they are compiled together."""
    b = Builder("samples")
    returns, arrays = [], []
    for fn, given in programs:
        returns += b.inline(fn, [b.param(v.type) for v in fn.params])
        arrays += given
    return b.close(returns), arrays
