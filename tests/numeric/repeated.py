"""Calls without `jit`, again and again: each gives the bits of the jitted call.

The first calls of a small function may be computed by NumPy, later ones by its compiled program,
and those after the next by C++ alone. So calls 1, 2, 16, 17 and 40 are looked at, with the operands
of a row and others made of these: special values, Python's scalars, NumPy's, arrays of no axes.
The jitted function is compiled with the options of calls without `jit`, for a program's last bits
may depend on these; functions of integers are compared with `jit` as it is, too. A number or an
array of NumPy that a call names is a constant of the jitted program and a parameter of the others,
so what rounds may differ there by a few units in the last place.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

import xfront
import xfront.numpy as jnp
from xfront.transforms import jit

from . import reference
from .checks import Fault, function
from .compare import leaves
from .reference import Refused, Taken
from .row import Row, as_dtype, operand

LOOKED_AT = (1, 2, 16, 17, 40)
_CONSTANT = re.compile(r"\d\.\d|\d\.|\dj|\de-?\d|\bnp?\.|\bN\.")
_SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3.0, -0.5, 7.0)


def special(shape: tuple[int, ...], dtype: np.dtype, seed: int) -> np.ndarray:
    """Zeros of both signs, infinities, NaN and the ends of the range, at random places."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        values = np.array([0, 1, 3, ends.max, ends.min, ends.max - 1, ends.max // 3], dtype)
        return rng.choice(values, shape)
    if dtype.kind == "c":
        parts = np.dtype(f"f{dtype.itemsize // 2}")
        both = [special(shape, parts, seed + part) for part in (0, 1)]
        return np.stack(both, axis=-1).view(dtype)[..., 0]
    largest = float(np.finfo(dtype).max) if dtype.kind == "f" else 3e38
    return rng.choice(np.array([*_SPECIAL, largest, -largest]), shape).astype(dtype)


def _variants(row: Row, taken: list[Taken], dtype: str) -> Iterator[tuple[str, list[Any]]]:
    """The operands of a call: those of the row, special ones, and scalars in place of one."""
    usual = [operand(row, *t, dtype) for t in taken]
    yield "arrays", [jnp.asarray(x) for x in usual]
    free = [k for k, t in enumerate(taken) if t.letter in "abcd"]
    if not free:
        return
    odd = list(usual)
    for k in free:
        odd[k] = special(taken[k].shape, as_dtype(dtype), k)
    yield "special values", [jnp.asarray(x) for x in odd]
    for k in free:
        if usual[k].size:
            first = usual[k].ravel()[-1]
            for kind, scalar in (("Python's", first.item()), ("NumPy's", first),
                                 ("of no axes", jnp.asarray(first))):
                yield f"operand {k} a scalar, {kind}", [
                    scalar if n == k else jnp.asarray(x) for n, x in enumerate(usual)]


def _bits(tree: Any) -> list[tuple[Any, ...]]:
    """What leaves are: shape, dtype, weakness, bits (all NaNs alike)."""
    made = []
    for leaf in leaves(tree):
        x = np.asarray(leaf)
        if x.dtype.kind in "fcV":
            wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
            x = np.where(np.isnan(wide), np.array(np.nan, wide.dtype), wide) if wide.size else wide
        made.append((np.shape(leaf), str(np.asarray(leaf).dtype), getattr(leaf, "weak_type", None),
                     x.tobytes()))
    return made


def jitted(run: Callable[..., Any]) -> Callable[..., Any]:
    """`run` as one program with the options of programs without `jit`; nothing runs by NumPy."""
    usual = jit.EFFORTS["full"]
    jit.EFFORTS["full"] = "eager"
    try:
        return xfront.jit(run, keep_unused=True)
    finally:
        jit.EFFORTS["full"] = usual


def _near(x: Any, y: Any) -> bool:
    """Whether leaves are alike but for rounding: shapes, dtypes, weakness, values."""
    if isinstance(x, type) or isinstance(y, type):
        return x is y
    if [a[:3] for a in x] != [b[:3] for b in y]:
        return False
    for (shape, dtype, _, a), (_, _, _, b) in zip(x, y, strict=True):
        kind = as_dtype(dtype).kind
        if kind in "biu" and a != b:
            return False
        wide = np.dtype(np.complex128 if kind == "c" else np.float64)
        if kind in "fcV" and not np.allclose(
                np.frombuffer(a, wide).reshape(shape), np.frombuffer(b, wide).reshape(shape),
                rtol=8 * float(ml_dtypes.finfo(as_dtype(dtype)).eps), atol=0, equal_nan=True):
            return False
    return True


def _tried(run: Callable[..., Any], given: list[Any]) -> Any:
    try:
        return _bits(run(*given))
    except (TypeError, ValueError, NotImplementedError, IndexError) as error:
        return type(error)


def faults(row: Row, dtype: str, most: int | None = None) -> Iterator[Fault]:
    """Where one of the calls differs from the jitted one; of at most so many of the row's calls,
    each with at most so many sets of operands."""
    if not row.jit or row.static or dtype in row.refused:
        return
    for text in row.listed(dtype)[:most]:
        try:
            taken = reference.operands(row, text, dtype)
        except (Refused, ValueError):
            continue
        for kind, given in list(_variants(row, taken, dtype))[:most]:
            for way, what in _differing(function(row, text, taken), given, text):
                yield Fault(row.name, dtype, way, f"{text}, {kind}", what)


def _differing(run: Callable[..., Any], given: list[Any], text: str) -> Iterator[tuple[str, str]]:
    """The first call that gives something else, and what."""
    wanted = _tried(jitted(run), given)
    if _are_integers(wanted) and (other := _tried(xfront.jit(run), given)) != wanted:
        yield "jit", f"{wanted}, but {other}"
    calls = max(LOOKED_AT) if not isinstance(wanted, type) else 2
    alike = _near if _CONSTANT.search(text) else operator.eq
    for call in range(1, calls + 1):
        found = _tried(run, given)
        if call in LOOKED_AT and not alike(found, wanted):
            yield f"call {call} without jit", _difference(run, given)
            return


def _are_integers(found: Any) -> bool:
    return not isinstance(found, type) and all(
        [np.dtype(dtype).kind in "biu" for _, dtype, _, _ in found])


def _difference(run: Callable[..., Any], given: list[Any]) -> str:
    def shown(f: Callable[..., Any]) -> str:
        try:
            return str([np.asarray(x).ravel()[:6].tolist() for x in leaves(f(*given))])
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    operands = [np.asarray(x).ravel()[:6].tolist() for x in given]
    return f"{shown(run)}, jitted {shown(jitted(run))}, of {operands}"

