"""A row of the table: a function, how it is called, and what is expected of it.

Calls are expressions of `f` (ours, or the reference), of operands and of numbers:

    f(a[3, 4], axis=0)      a, b, c, d: operands of the row's dtype, drawn from its domains, of the
                            shape in brackets
    f(a[5], i[2])           i: int32 from 0 to 2;  k: bools
    f(e[9, 1], e[9])        e: zeros of both signs, infinities, NaN, ends of the range; for reals
    f(s[3, 3])              s: positive definite matrices, of the row's dtype
    f(np.sort(a[5]))        np: NumPy, or ours;  N: NumPy in both
    f(a[5], 1.5)  # fc      after the sign the kinds of dtypes (b, u, i, f, c) that it is for
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

NARROW = ("bool", "uint8", "uint16", "uint32", "int8", "int16", "int32", "float16", "bfloat16",
          "float32", "complex64")
WIDE = ("uint64", "int64", "float64", "complex128")
DTYPES = NARROW + WIDE
REAL = ("float16", "bfloat16", "float32", "float64")
INEXACT = (*REAL, "complex64", "complex128")
FULL = ("float32", "complex64", "float64", "complex128")
"""What linear algebra takes."""
Calls = Sequence[str]


@dataclass(frozen=True)
class Row:
    """A function with its calls.

    Args:
      name: package and public name.
      calls: expressions of `f` and operands.
      domains: of a, b, c, d where their numbers lie, a name in `DOMAINS`.
      reference: what `f` means in the reference where that is not the function of its name; called
        with NumPy's arrays, of the wide type as well as of the row's.
      dtypes: which the row is for.
      refused: dtypes that ours refuses and the reference takes, by the reason.
      beyond: dtypes that the reference refuses and ours takes, by the reason; not compared.
      ulps: how far values may be from the reference, in units in the last place.
      backward: how much farther, as the reference moves when operands move by so many units.
      scale: what the units belong to: "value"; "terms", the value for the operands' magnitudes;
        "largest", the largest number of the result.
      floor: how large numbers inside the function are at least, whatever its value.
      why: the reason for ulps, backward or dtypes of results that are not the common ones.
      result: dtypes of results where they are not by the common rule: of the operand's dtype their
        names, the last of which stands for all that follow.
      typed: results have the dtypes of the reference's, as the call asks for them.
      exact: the reference computes in the row's dtype, whose neighbours are the result.
      grad: whether it has a gradient to look at.
      close: relative tolerance of the gradient's elements, where it is not the common one.
      static: its result is no array; compared as it is, outside of programs.
      scope: further names of its calls: pairs of ours and the reference's.
      jit: False where the function needs its operands' values.
      vmap: False where the function has nothing to be mapped over.
    """

    name: str
    calls: Calls
    domains: Sequence[str] = ("any",)
    reference: Callable[..., Any] | None = None
    dtypes: Sequence[str] = DTYPES
    refused: Mapping[str, str] = field(default_factory=dict)
    beyond: Mapping[str, str] = field(default_factory=dict)
    ulps: float = 8.0
    backward: float = 0.0
    scale: str = "value"
    floor: float = 0.0
    why: str = ""
    result: Callable[[str], str] | None = None
    typed: bool = False
    exact: bool = False
    grad: bool = True
    close: float = 0.0
    static: bool = False
    scope: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    jit: bool = True
    vmap: bool = True

    def domain(self, letter: str) -> str:
        place = "abcd".index(letter)
        return self.domains[min(place, len(self.domains) - 1)]

    def listed(self, dtype: str) -> list[str]:
        """The calls for a dtype."""
        kind = kind_of(dtype)
        made = []
        for call in self.calls:
            text, _, kinds = call.partition("#")
            if kinds.strip() and kind not in kinds or "e[" in text and kind != "f":
                continue
            made.append(text.strip())
        return made


def as_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def kind_of(dtype: Any) -> str:
    """b, u, i, f or c."""
    kind = np.dtype(dtype).kind if dtype != "bfloat16" else "f"
    return "f" if kind == "V" else kind


def default_float(dtype: str) -> str:
    """What integers become; floats stay."""
    if kind_of(dtype) in "fc":
        return dtype
    return "float64" if dtype in WIDE else "float32"


# --- operands -------------------------------------------------------------------------------

def _any(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Of sizes about 3, each eighth 100 times smaller or larger."""
    sizes = rng.choice([0.01, 1, 1, 1, 1, 1, 1, 100], shape)
    return rng.normal(0, 3, shape) * sizes


DOMAINS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "any": _any,
    "usual": lambda r, s: r.normal(0, 2, s),
    "small": lambda r, s: r.uniform(-1.5, 1.5, s),
    "positive": lambda r, s: np.exp(r.normal(0, 1.2, s)),
    "nonzero": lambda r, s: r.choice([-1, 1], s) * np.exp(r.normal(0, 1.2, s)),
    "unit": lambda r, s: r.uniform(-0.95, 0.95, s),
    "share": lambda r, s: r.uniform(0.03, 0.97, s),
    "above 1": lambda r, s: 1.05 + np.exp(r.normal(0, 1.2, s)),
    "apart": lambda r, s: (r.permutation(int(np.prod(s))) * 1.25 - np.prod(s) / 2).reshape(s),
    "ordered": lambda r, s: np.sort(r.permutation(int(np.prod(s)) * 2)[:int(np.prod(s))] * 1.25
                                    - np.prod(s) / 2).reshape(s),
    "ties": lambda r, s: r.integers(-2, 3, s) * 0.5,
    "even": lambda r, s: r.integers(-6, 7, s) * 2.0,
    "powers": lambda r, s: r.integers(0, 4, s) * 1.0,
    "middle": lambda r, s: r.uniform(0.5, 4.0, s),
    "exponents": lambda r, s: r.uniform(-1.5, 1.5, s),
}
"""By name, where numbers lie; of complex numbers both parts."""
_INTEGERS = {"any": (-9, 10), "usual": (-9, 10), "small": (-2, 3), "positive": (1, 9),
             "nonzero": (1, 9), "unit": (0, 2), "share": (0, 2), "above 1": (2, 9),
             "ties": (-2, 3), "even": (-9, 10), "powers": (0, 4),
             "exponents": (0, 4), "middle": (1, 5)}
_EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.5)


def _seed(*parts: Any) -> int:
    return zlib.crc32(repr(parts).encode())


def integers(domain: str, rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype
             ) -> np.ndarray:
    if domain in ("apart", "ordered"):
        return (DOMAINS[domain](rng, shape) / 1.25 + np.prod(shape)).astype(dtype)
    low, high = _INTEGERS[domain]
    drawn = rng.integers(max(low, 0) if dtype.kind == "u" else low, high, shape)
    if domain == "nonzero" and dtype.kind == "i":
        drawn = drawn * rng.choice([-1, 1], shape)
    return drawn.astype(dtype)


def operand(row: Row, letter: str, shape: tuple[int, ...], dtype: str, member: int = 0
            ) -> np.ndarray:
    """What a letter stands for: the same for the same names."""
    kind, name = kind_of(dtype), as_dtype(dtype)
    rng = np.random.default_rng(_seed(row.name, letter, shape, member))
    if letter == "i":
        return np.asarray(rng.integers(0, 3, shape), np.int32)
    if letter == "k":
        return np.asarray(rng.random(shape) < 0.6)
    if letter == "e":
        return np.resize(np.array(_EDGES, name), shape)
    if letter == "s":
        return _definite(rng, shape, name)
    domain = row.domain(letter)
    if kind == "b":
        return np.asarray((rng.random(shape) < 0.5) | (domain in ("nonzero", "positive")))
    if kind in "ui":
        return np.asarray(integers(domain, rng, shape, name))
    drawn = DOMAINS[domain](rng, shape)
    if kind == "c":
        drawn = drawn + 1j * DOMAINS[domain](rng, shape)
    return np.asarray(drawn, name)


def _definite(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    x = rng.normal(0, 1, shape)
    if dtype.kind == "c":
        x = x + 1j * rng.normal(0, 1, shape)
    made = x @ np.swapaxes(x.conj(), -1, -2) + np.eye(shape[-1])
    return made.astype(dtype)
