"""What the reference gives for a call: exact for integers, in a wide type for the others.

The kind of each result is NumPy's for the operands as they are. Its value is NumPy's for the same
operands, rounded to the dtype in which ours computes, in double precision; those of 64 bits in long
doubles, where NumPy has the function for them.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from .compare import leaves, unit
from .row import Row, as_dtype, kind_of, operand

HOMES = {"numpy": "numpy", "numpy.linalg": "numpy.linalg", "numpy.fft": "numpy.fft",
         "scipy.special": "scipy.special", "scipy.linalg": "scipy.linalg",
         "scipy.stats": "scipy.stats", "scipy.signal": "scipy.signal", "scipy.fft": "scipy.fft",
         "scipy.ndimage": "scipy.ndimage", "scipy.integrate": "scipy.integrate",
         "scipy.cluster.vq": "scipy.cluster.vq"}
LETTERS = "abcdikes"


class Taken(NamedTuple):
    """An operand that a call names."""

    letter: str
    shape: tuple[int, ...]


class Letter:
    """What a letter of a call is: indexed by a shape it gives an operand."""

    def __init__(self, letter: str, give: Callable[[Taken], Any]) -> None:
        self.letter, self.give = letter, give

    def __getitem__(self, shape: int | tuple[int, ...]) -> Any:
        return self.give(Taken(self.letter, shape if isinstance(shape, tuple) else (shape,)))


def call(text: str, f: Callable[..., Any], np_: Any, scope: Mapping[str, Any],
         give: Callable[[Taken], Any]) -> Any:
    """The value of a call."""
    names = {"f": f, "np": np_, "N": np, **scope, **{name: Letter(name, give) for name in LETTERS}}
    return eval(text, names)


def function(row: Row) -> Callable[..., Any]:
    """The function of the reference."""
    if row.reference is not None:
        return row.reference
    home, _, name = row.name.rpartition(".")
    return getattr(importlib.import_module(HOMES[home]), name)


class Refused(Exception):
    """The reference takes no such operands."""


class Expected(NamedTuple):
    """A result of the reference: its value, and its kind for operands as they are."""

    value: np.ndarray
    dtype: str


def _evaluate(row: Row, text: str, give: Callable[[Taken], Any]) -> list[np.ndarray]:
    scope = {name: theirs for name, (_, theirs) in row.scope.items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [np.asarray(x) for x in leaves(call(text, function(row), np, scope, give))]


def operands(row: Row, text: str, dtype: str) -> list[Taken]:
    """Which operands a call names, each once; `Refused` where it does not take them."""
    found: dict[Taken, np.ndarray] = {}

    def give(taken: Taken) -> np.ndarray:
        return found.setdefault(taken, as_numpy(operand(row, *taken, dtype)))

    try:
        _evaluate(row, text, give)
    except TypeError as error:
        raise Refused(str(error)) from error
    return list(found)


def as_numpy(x: np.ndarray) -> np.ndarray:
    """bfloat16 as float16, of the same kind: NumPy has no functions of the former."""
    return x.astype(np.float16) if x.dtype.name == "bfloat16" else x


def _rounded(dtype: str) -> str:
    """The dtype in which ours computes what is no integer."""
    if kind_of(dtype) in "fc":
        return dtype
    return "float64" if dtype in ("int64", "uint64") else "float32"


def _wide(x: np.ndarray, letter: str, dtype: str, long: bool) -> np.ndarray:
    if letter in "ik":
        return x
    rounded = x.astype(as_dtype(_rounded(dtype)))
    if kind_of(dtype) == "c":
        return rounded.astype(np.clongdouble if long else np.complex128)
    return rounded.astype(np.longdouble if long else np.float64)


def wide(row: Row, text: str, dtype: str, change: Callable[[np.ndarray, str], np.ndarray],
         member: int | Mapping[str, int] = 0) -> list[np.ndarray]:
    """The results in a wide type; `change` is applied to each operand of the row's dtype."""
    def give(taken: Taken, long: bool) -> np.ndarray:
        x = operand(row, *taken, dtype, member if isinstance(member, int) else
                    member[taken.letter])
        made = _wide(x, taken.letter, dtype, long)
        return made if taken.letter in "ik" else change(made, taken.letter)

    if dtype in ("float64", "complex128", "int64", "uint64"):
        try:
            return _evaluate(row, text, lambda taken: give(taken, True))
        except Exception:       # of many classes: it has no loop for long doubles
            pass
    return _evaluate(row, text, lambda taken: give(taken, False))


def expected(row: Row, text: str, dtype: str, member: int | Mapping[str, int] = 0
             ) -> list[Expected]:
    """Of each result its value and dtype."""
    exact = _evaluate(row, text, lambda taken: as_numpy(operand(
        row, *taken, dtype, member if isinstance(member, int) else member[taken.letter])))
    values = exact
    if any(x.dtype.kind in "fc" for x in exact) and not row.exact:
        values = wide(row, text, dtype, lambda x, _: x, member)
    if len(values) != len(exact):
        values = exact
    return [Expected(v if x.dtype.kind in "fc" else x, _dtype(row, text, x.dtype, dtype, k))
            for k, (v, x) in enumerate(zip(values, exact))]


def _dtype(row: Row, text: str, found: np.dtype, given: str, place: int) -> str:
    if row.result:
        names = row.result(given).split()
        return names[min(place, len(names) - 1)]
    if row.typed or "dtype='" in text:
        return found.name
    return named(found, given)


def named(found: np.dtype, given: str) -> str:
    """The dtype of a result that is `found` in NumPy for operands of a dtype.

    The kind is NumPy's. The width is the operand's where that is of the kind, and has its width in
    NumPy too if it is an integer; else the default one.
    """
    kind, large = found.kind, given in ("float64", "complex128", "int64", "uint64")
    if kind == "b":
        return "bool"
    if kind in "ui":
        if found.name == given:
            return given
        return {"i": "int", "u": "uint"}[kind] + ("64" if large else "32")
    if kind == "f":
        if kind_of(given) == "f":
            return given
        return "float64" if large else "float32"
    return "complex128" if large else "complex64"


def room(row: Row, text: str, dtype: str, results: list[Expected], members: Any = 0
         ) -> list[np.ndarray]:
    """How far each result may be from its value."""
    sizes = [np.abs(x.value) if x.value.dtype.kind in "fc" else np.zeros(x.value.shape)
             for x in results]
    if row.scale == "terms" and any(kind_of(x.dtype) in "fc" for x in results):
        terms = wide(row, text, dtype, lambda x, _: np.abs(x), members)
        sizes = [np.maximum(s, np.abs(t)) if t.shape == s.shape else s
                 for s, t in zip(sizes, terms)]
    if row.scale == "largest":
        sizes = [np.full(s.shape, np.nanmax(np.where(np.isinf(s), 0, s), initial=0)) for s in sizes]
    sizes = [np.maximum(s, row.floor) for s in sizes]
    made = [row.ulps * unit(s, x.dtype) if kind_of(x.dtype) in "fc" else s
            for s, x in zip(sizes, results)]
    if row.backward:
        for seed in (1, 2):
            moved = wide(row, text, dtype, _Moved(dtype, row.backward, seed), members)
            with np.errstate(all="ignore"):
                made = [m + np.nan_to_num(np.abs(v - x.value).astype(np.float64))
                        if kind_of(x.dtype) in "fc" and v.shape == x.value.shape else m
                        for m, v, x in zip(made, moved, results)]
    return made


class _Moved:
    """Moves operands by some units in the last place, up or down."""

    def __init__(self, dtype: str, ulps: float, seed: int) -> None:
        self.eps = float(_eps(_rounded(dtype))) * ulps
        self.rng = np.random.default_rng(seed)

    def __call__(self, x: np.ndarray, letter: str) -> np.ndarray:
        if letter == "e":
            return x
        by = self.rng.choice([-1, 1], x.shape) * self.eps
        if letter == "s":
            by = (by + np.swapaxes(by, -1, -2)) / 2
        return x * (1 + by)


def _eps(dtype: str) -> float:
    import ml_dtypes

    from .compare import REAL_OF

    return float(ml_dtypes.finfo(REAL_OF.get(dtype, dtype)).eps)


MODULES = SimpleNamespace(np=np)
