"""Element types: one interned `DType` each, compared with `is`.

A `DType` says how an element is named in IR text, which NumPy dtype holds it, and what kind of
number it is. Key types (`key<fry>`) are element types without a NumPy dtype: a key is one element
of the IR and `physical` words of `u32` in memory. `ref<f32>` is the element type of a reference to
an array of `f32`, whose content changes; only the ops on references take it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .errors import IRTypeError
from .fixed import Fixed


class DType(Fixed):
    """An element type. Kinds: bool, int, uint, float, complex, key, ref."""

    __slots__ = (
        "bits",
        "is_complex",
        "is_float",
        "is_inexact",
        "is_integer",
        "is_key",
        "is_numeric",
        "is_ref",
        "is_unsigned",
        "kind",
        "name",
        "numpy",
        "physical",
    )

    name: str
    numpy: np.dtype
    kind: str
    bits: int
    physical: tuple[int, ...]

    def __init__(self, name: str, numpy: Any, kind: str, bits: int,
                 physical: tuple[int, ...] = ()) -> None:
        self.name, self.kind, self.bits, self.physical = name, kind, bits, physical
        self.numpy = np.dtype(numpy)
        self.is_float = kind == "float"
        self.is_complex = kind == "complex"
        self.is_inexact = self.is_float or self.is_complex
        self.is_unsigned = kind == "uint"
        self.is_integer = kind in ("int", "uint")
        self.is_key = kind == "key"
        self.is_ref = kind == "ref"
        self.is_numeric = self.is_inexact or self.is_integer

    @property
    def implementation(self) -> str:
        """The random implementation of a key type: what stands in `key<...>`."""
        return self.name.removeprefix("key<").removesuffix(">")

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (named, (self.name,))


BY_NAME: dict[str, DType] = {}
_BY_NUMPY: dict[np.dtype, DType] = {}


def _define(name: str, numpy: Any, kind: str, bits: int) -> DType:
    dtype = BY_NAME[name] = DType(name, numpy, kind, bits)
    _BY_NUMPY[dtype.numpy] = dtype
    return dtype


bool_ = _define("bool", np.bool_, "bool", 8)
i2 = _define("i2", ml_dtypes.int2, "int", 2)
i4 = _define("i4", ml_dtypes.int4, "int", 4)
i8 = _define("i8", np.int8, "int", 8)
i16 = _define("i16", np.int16, "int", 16)
i32 = _define("i32", np.int32, "int", 32)
i64 = _define("i64", np.int64, "int", 64)
u2 = _define("u2", ml_dtypes.uint2, "uint", 2)
u4 = _define("u4", ml_dtypes.uint4, "uint", 4)
u8 = _define("u8", np.uint8, "uint", 8)
u16 = _define("u16", np.uint16, "uint", 16)
u32 = _define("u32", np.uint32, "uint", 32)
u64 = _define("u64", np.uint64, "uint", 64)
f16 = _define("f16", np.float16, "float", 16)
bf16 = _define("bf16", ml_dtypes.bfloat16, "float", 16)
f32 = _define("f32", np.float32, "float", 32)
f64 = _define("f64", np.float64, "float", 64)
c64 = _define("c64", np.complex64, "complex", 64)
c128 = _define("c128", np.complex128, "complex", 128)
for _name in ("float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz",
              "float8_e4m3b11fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"):
    _define(_name.replace("float", "f"), getattr(ml_dtypes, _name), "float", 8)
f4_e2m1fn = _define("f4_e2m1fn", ml_dtypes.float4_e2m1fn, "float", 4)
f8_e4m3fn = BY_NAME["f8_e4m3fn"]
f8_e5m2 = BY_NAME["f8_e5m2"]


def key_dtype(implementation: str, physical: tuple[int, ...]) -> DType:
    """The key type of a random implementation; `physical` is its trailing u32 shape."""
    name = f"key<{implementation}>"
    found = BY_NAME.get(name)
    if found is None:
        found = DType(name, np.uint32, "key", 32, tuple(physical))
        found = BY_NAME.setdefault(name, found)
    return found


key_fry = key_dtype("fry", (2,))
key_rbg = key_dtype("rbg", (4,))
key_urbg = key_dtype("urbg", (4,))


_REFS: dict[str, DType] = {}


def ref_dtype(of: DType) -> DType:
    """The element type of references to arrays of `of`."""
    found = _REFS.get(of.name)
    if found is None:
        made = DType(f"ref<{of.name}>", of.numpy, "ref", of.bits, of.physical)
        found = _REFS.setdefault(of.name, made)
    return found


def referred(dtype: DType) -> DType:
    """The element type that a reference type refers to: `f32` for `ref<f32>`."""
    return named(dtype.name.removeprefix("ref<").removesuffix(">"))


def find(name: str) -> DType | None:
    """The element type that IR text calls `name`; None where there is none."""
    if name.startswith("ref<"):
        of = BY_NAME.get(name[4:-1])
        return None if of is None else ref_dtype(of)
    return BY_NAME.get(name)


def named(name: str) -> DType:
    """As `find`. Raises: IRTypeError where there is none."""
    found = find(name)
    if found is None:
        raise IRTypeError(f"there is no element type called {name!r}")
    return found


def from_numpy(dtype: Any) -> DType:
    """The element type of a NumPy dtype (or of anything `np.dtype` takes).

    Raises: IRTypeError for object, string, datetime and other dtypes without an element type.
    """
    found = _BY_NUMPY.get(dtype)
    if found is None:
        as_numpy = np.dtype(dtype)
        found = _BY_NUMPY.get(as_numpy.newbyteorder("="))
        if found is None:
            raise IRTypeError(f"the NumPy dtype {as_numpy} has no element type in the IR")
    return found


def real_of(dtype: DType) -> DType:
    """The dtype of the real part: f32 for c64, f64 for c128, itself for a real dtype."""
    return {c64: f32, c128: f64}.get(dtype, dtype)


def least(dtype: DType) -> Any:
    """The least value of `dtype`: -inf, or the least number of a dtype without infinities.

    Complex numbers are ordered lexicographically. The least bool is False.
    """
    return _ends(dtype)[0]


def greatest(dtype: DType) -> Any:
    """The greatest value of `dtype`, in the order of `least`."""
    return _ends(dtype)[1]


_limits: Callable[[Any], Any] = ml_dtypes.finfo


@functools.cache
def _ends(dtype: DType) -> tuple[Any, Any]:
    if dtype.kind == "bool":
        return False, True
    if dtype.is_integer:
        signed = dtype.kind == "int"
        return -(1 << dtype.bits - 1) if signed else 0, (1 << dtype.bits - signed) - 1
    if dtype.is_complex:
        return complex(-math.inf, -math.inf), complex(math.inf, math.inf)
    if has_infinity(dtype):
        return -math.inf, math.inf
    return float(_limits(dtype.numpy).min), greatest_finite(dtype)


@functools.cache
def greatest_finite(dtype: DType) -> float:
    """The greatest number of a float dtype."""
    return float(_limits(dtype.numpy).max)


@functools.cache
def epsilon(dtype: DType) -> float:
    """The distance from 1 to the next number of a float dtype."""
    return float(_limits(dtype.numpy).eps)


@functools.cache
def has_infinity(dtype: DType) -> bool:
    """Whether a float dtype holds infinities; most of the 8-bit ones do not."""
    return bool(np.isinf(np.asarray(math.inf).astype(dtype.numpy)))


def complex_of(dtype: DType) -> DType:
    """The complex dtype whose parts are `dtype` (c64 for anything narrower than f64)."""
    return dtype if dtype.is_complex else c128 if dtype is f64 else c64
