"""Rows of `ops/random.py`. Streams are pinned to recorded numbers in `test_random_ops.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from xfront_ir import dtypes
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.definition import lookup
from xfront_ir.dtypes import DType
from xfront_ir.reference import physical_shape
from xfront_ir.types import TensorType, tensor

from .row import FLOATS, SIGNED, UNSIGNED, Bad, Row, Sample

FRY, RBG, URBG, U32 = dtypes.key_fry, dtypes.key_rbg, dtypes.key_urbg, dtypes.u32


def _words(rng: np.random.Generator, type: TensorType) -> np.ndarray:
    if type.dtype is dtypes.bool_:
        return rng.random(type.shape) < 0.5
    return rng.integers(0, 2 ** min(type.dtype.bits, 63), physical_shape(type), np.int64).astype(
        type.dtype.numpy)


def of_words(name: str, *types: TensorType, **attrs: Any) -> Sample:
    """A use of the op on random words of the given types."""
    def build(dtype: DType, rng: np.random.Generator) -> tuple[Function, list[np.ndarray]]:
        definition, b = lookup(name), Builder("f")
        made = b.emit(definition, *[b.param(t) for t in types], **attrs)
        return b.close((made,) if definition.single else made), [_words(rng, t) for t in types]

    return Sample(build=build, dtypes=(U32,))


def _keys(name: str, of: tuple[int, ...], *keys: DType, **attrs: Any) -> list[Sample]:
    return [of_words(name, tensor(of, dtype), **attrs) for dtype in keys]


ROWS = [
    Row("threefry2x32", [of_words("threefry2x32", *[tensor(shape, U32)] * 4)
                         for shape in ((3,), (), (2, 0))], (U32,),
        [Bad([("u32", (3,))] * 3 + [("u32", (2,))], "of the same shape"),
         Bad([("i32", (3,))] * 4, "four u32 arrays")]),
    Row("random_wrap", [of_words("random_wrap", tensor(shape, U32), impl=impl)
                        for shape, impl in (((3, 2), "fry"), ((2,), "fry"), ((3, 4), "rbg"))],
        (U32,), [Bad([("u32", (3,))], "are made from u32[...,2]", {"impl": "fry"}),
                 Bad([("i32", (2,))], "are made from u32[...,2]", {"impl": "fry"})]),
    Row("random_unwrap", [
        *_keys("random_unwrap", (3,), FRY, RBG), *_keys("random_unwrap", (), FRY)],
        (U32,), [Bad([("u32", (2,))], "takes keys")]),
    Row("random_seed", [of_words("random_seed", tensor(shape, dtype), impl=impl)
                        for shape, impl in (((3,), "fry"), ((), "fry"), ((2,), "rbg"))
                        for dtype in (*SIGNED, *UNSIGNED)],
        (U32,), [Bad([("f32", ())], "seeds must be integers", {"impl": "fry"})]),
    Row("random_fold_in", [
        of_words("random_fold_in", tensor(shape, dtype), tensor(shape, U32))
        for shape in ((3,), ()) for dtype in (FRY, RBG)],
        (U32,), [Bad([("key<fry>", ()), ("u32", (2,))], "of the keys' shape"),
                 Bad([("u32", (2,)), ("u32", (2,))], "takes keys")]),
    Row("random_split", [
        *_keys("random_split", (), FRY, RBG, shape=(2, 3)),
        *_keys("random_split", (4,), FRY, shape=(2,)),
        *_keys("random_split", (2,), RBG, shape=()), *_keys("random_split", (), FRY, shape=(0,))],
        (U32,), [Bad([("u32", (2,))], "takes keys", {"shape": (2,)})]),
    Row("random_bits", [
        sample for width in (8, 16, 32, 64) for shape in ((), (2, 3), (0,))
        for sample in (*_keys("random_bits", (), FRY, bit_width=width, shape=shape),
                       *_keys("random_bits", (2,), FRY, bit_width=width, shape=shape))],
        (U32,), [Bad([("u32", (2,))], "takes keys", {"bit_width": 32, "shape": ()}),
                 Bad([("key<fry>", ())], "bit_width must be", {"bit_width": 4, "shape": ()})]),
    # A batch of these generators takes its bits from the first lane's state: see its own test.
    Row("rng_bit_generator", [
        of_words("rng_bit_generator", state, algorithm=algorithm, shape=shape, dtype=dtype)
        for state in (tensor((4,), U32), tensor((2,), dtypes.u64))
        for algorithm in ("default", "philox")
        for shape, dtype in (((3, 5), U32), ((7,), dtypes.u8), ((2, 2), dtypes.u64))],
        (U32,), [Bad([("u32", (2,))], "state must be", {"algorithm": "default", "shape": (),
                                                       "dtype": U32}),
                 Bad([("u32", (4,))], "must be u8", {"algorithm": "default", "shape": (),
                                                   "dtype": dtypes.i32})], lanes_alone=False),
    # Its numbers are nobody's to predict: the tests of lax draw them.
    Row("rng_uniform", [], FLOATS, [
        Bad([("f32", ()), ("f16", ())], "two scalars of the same dtype", {"shape": (2,)}),
        Bad([("f32", (2,)), ("f32", (2,))], "two scalars of the same dtype", {"shape": (2,)}),
        Bad([("i8", ()), ("i8", ())], "two scalars of the same dtype", {"shape": (2,)}),
    ], differentiable=False, batch=False),
]
