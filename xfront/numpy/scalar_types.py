"""The scalar types: each stands for a dtype and, called, makes an array of it."""

from __future__ import annotations

from ..base.dtypes import (
    bfloat16,
    bool_,
    cdouble,
    complex64,
    complex128,
    complex_,
    csingle,
    double,
    float4_e2m1fn,
    float8_e3m4,
    float8_e4m3,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    float_,
    int2,
    int4,
    int8,
    int16,
    int32,
    int64,
    int_,
    single,
    uint,
    uint2,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
)

bool = bool_

__all__ = [
    "bfloat16", "bool", "bool_", "cdouble", "complex64", "complex128", "complex_", "csingle",
    "double", "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
    "float16", "float32", "float64", "float_", "int2", "int4", "int8", "int16", "int32", "int64",
    "int_", "single", "uint", "uint2", "uint4", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
