"""Arrays for generated programs: `draw(dtype, shape, kind, seed)`, the same for the same arguments.

Floating-point numbers are small whole numbers where a program computes with them, so that sums and
products are exact in any order and a result is either right or wrong. Kinds:

    small       whole numbers from -3 to 3 (unsigned: 0 to 3); bools
    sparse      zeros, but for sixteen of -2 to 2: sums of many stay exact in narrow types
    signs       -1 and 1, whose products stay exact
    nan         `sparse` with one NaN in any place
    nans        NaN alone
    infinities  `sparse` with some infinities
    mixed       `sparse` with NaN, both infinities and -0.0
    zeros       0.0 and -0.0
    huge        the largest and smallest numbers of the type, NaN and infinities among them
    subnormal   subnormal numbers among small ones, which XLA on CPU may take for zeros
    normal      normally distributed numbers, whose sums round
    full        integers of the whole range
    extreme     the least and greatest integers, 0, 1 and -1
    nonzero     integers from 1 to 7
    index n out integers about 0 to n, with some below and above (`in`: none; `far`: extreme ones)
    distinct n  distinct integers of 0 to n + 3
    exactly n   n everywhere
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

DTYPES: dict[str, np.dtype] = {
    name: np.dtype(kind) for name, kind in {
        "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
        "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
        "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
        "c64": np.complex64, "c128": np.complex128}.items()}
FLOATS = ("f16", "bf16", "f32", "f64")
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
COMPLEX = ("c64", "c128")

DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53, "c64": 24, "c128": 53}
"""Whole numbers of so many binary digits are exact."""

SPECIAL = ("nan", "nans", "infinities", "mixed")
ORDERED = ("zeros", "huge", "subnormal", "normal")
"""Kinds of floats that no sums are taken of where results are to be exact."""

Rng = np.random.Generator


def draw(dtype: str, shape: tuple[int, ...], kind: str, seed: int) -> np.ndarray:
    """An array of this dtype (`f32`), shape and kind."""
    rng = np.random.default_rng([seed, *shape])
    made = DTYPES[dtype]
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if kind.startswith("exactly"):
        return np.full(shape, int(kind.split()[1]), made)
    if kind.startswith(("index", "distinct")):
        return np.asarray(_places(rng, shape, np.iinfo(made), *kind.split())).astype(made)
    if dtype in INTEGERS:
        return np.asarray(_INTEGERS[kind](rng, shape, np.iinfo(made))).astype(made)
    if dtype in COMPLEX:
        real, imaginary = (_FLOATS[kind](rng, shape, np.finfo(made)) for _ in range(2))
        return np.asarray(real + 1j * imaginary).astype(made)
    with np.errstate(all="ignore"):
        return np.asarray(_FLOATS[kind](rng, shape, ml_dtypes.finfo(made))).astype(made)


# --- floating point -------------------------------------------------------------------------

def _small(rng: Rng, shape: tuple[int, ...], info: object) -> np.ndarray:
    return np.asarray(rng.integers(-3, 4, shape).astype(float))


def _sparse(rng: Rng, shape: tuple[int, ...], info: object) -> np.ndarray:
    x = np.zeros(shape)
    return _with(rng, x, [-2.0, -1.0, 1.0, 2.0], 16)


def _with(rng: Rng, x: np.ndarray, values: list[float], count: int) -> np.ndarray:
    """x with some of the values in up to `count` places, the first and the last place often."""
    if x.size:
        places = [*rng.integers(0, x.size, count - 1), rng.choice([0, x.size - 1])]
        x.reshape(-1)[places] = rng.choice(values, len(places))
    return x


def _huge(rng: Rng, shape: tuple[int, ...], info: object) -> np.ndarray:
    top, tiny = float(info.max), float(info.tiny)        # type: ignore[attr-defined]
    values = [top, -top, tiny, -tiny, 1.0, -1.0, 0.0, -0.0, np.inf, -np.inf, np.nan]
    return np.asarray(rng.choice(values, shape))


def _subnormal(rng: Rng, shape: tuple[int, ...], info: object) -> np.ndarray:
    tiny = float(info.tiny)                              # type: ignore[attr-defined]
    return np.asarray(rng.choice([tiny / 2, -tiny / 2, tiny / 4, 0.0, 1.0, -1.0], shape))


_FLOATS: dict[str, Callable[..., np.ndarray]] = {
    "small": _small,
    "sparse": _sparse,
    "signs": lambda rng, shape, info: rng.choice([-1.0, 1.0], shape),
    "nan": lambda rng, shape, info: _with(rng, _sparse(rng, shape, info), [np.nan], 1),
    "nans": lambda rng, shape, info: np.full(shape, np.nan),
    "infinities": lambda rng, shape, info: _with(
        rng, _sparse(rng, shape, info), [np.inf, -np.inf], 3),
    "mixed": lambda rng, shape, info: _with(
        rng, _sparse(rng, shape, info), [np.nan, np.inf, -np.inf, -0.0], 6),
    "zeros": lambda rng, shape, info: rng.choice([0.0, -0.0], shape),
    "huge": _huge,
    "subnormal": _subnormal,
    "normal": lambda rng, shape, info: rng.normal(size=shape),
}


# --- integers -------------------------------------------------------------------------------

def _extreme(rng: Rng, shape: tuple[int, ...], info: np.iinfo) -> np.ndarray:
    values = np.array([info.min, info.max, 0, 1, max(info.min, -1)], info.dtype)
    return np.asarray(rng.choice(values, shape))


_INTEGERS: dict[str, Callable[..., np.ndarray]] = {
    "small": lambda rng, shape, info: rng.integers(max(-3, info.min), 4, shape),
    "sparse": lambda rng, shape, info: _with(
        rng, np.zeros(shape), [max(-2, info.min), 1.0, 2.0], 16),
    "signs": lambda rng, shape, info: rng.choice([max(-1, info.min), 1], shape),
    "full": lambda rng, shape, info: rng.integers(
        info.min, info.max, shape, dtype=info.dtype, endpoint=True),
    "extreme": _extreme,
    "nonzero": lambda rng, shape, info: rng.integers(1, 8, shape),
}


def _places(rng: Rng, shape: tuple[int, ...], info: np.iinfo, kind: str, n: str, how: str = "in"
            ) -> np.ndarray:
    """Indices along an axis of n elements."""
    size = int(n)
    if kind == "distinct":
        return rng.permutation(min(size + 4, info.max + 1))[:shape[0]]
    low, high = {"in": (0, size - 1), "out": (-3, size + 3), "far": (-3, size + 3)}[how]
    x = rng.integers(max(low, info.min), min(high, info.max), shape, endpoint=True)
    if how == "far":
        far = rng.integers(info.min, info.max, shape, dtype=info.dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.5, far, x.astype(info.dtype))
    return x
