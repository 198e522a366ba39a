"""Dtypes: scalar types, canonical dtypes, questions about dtypes, key types."""

from __future__ import annotations

import copy
import doctest
import pickle
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xfront
from xfront import enable_x64, numpy
from xfront.base import dtypes
from xfront.base.dtypes import SCALAR_TYPES
from xfront.binding import x64_state

i32, f32 = np.dtype("int32"), np.dtype("float32")


@pytest.fixture
def x64():
    """64-bit mode, for this thread."""
    before = x64_state.swap_local(True)
    yield
    x64_state.set_local(before)


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(xfront.dtypes, extraglobs={
        "jnp": numpy, "np": np, "xfront": xfront}).failed == 0


@pytest.mark.parametrize("name", SCALAR_TYPES)
def test_scalar_types_stand_for_their_dtype(name: str) -> None:
    kind = SCALAR_TYPES[name]
    assert np.dtype(kind) == kind.dtype == np.zeros(2, kind).dtype
    assert kind == kind.dtype and kind == kind.dtype.type and kind.dtype.name == name
    assert hash(kind) == hash(kind.dtype.type) and kind != name and kind is not kind.dtype
    assert isinstance(kind.dtype.type(1), kind) and not isinstance(1, kind)
    assert pickle.loads(pickle.dumps(kind)) is kind and copy.deepcopy(kind) is kind
    assert dtypes.as_dtype(name) == dtypes.as_dtype(kind) == kind.dtype


@pytest.mark.parametrize("name", SCALAR_TYPES)
def test_scalar_types_make_arrays(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = SCALAR_TYPES[name](1)
    assert made.dtype == dtypes.canonicalize_dtype(name) and made.shape == ()
    assert not made.weak_type and made.item() == 1


def test_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OverflowError):
        dtypes.int8(1000)
    with pytest.raises(TypeError):
        dtypes.float32(1j)
    assert dtypes.int32(3.7).item() == 3


def test_64_bit_dtypes_need_the_mode() -> None:
    assert dtypes.canonicalize_dtype("float64") == f32 == dtypes.canonicalize_dtype(None)
    assert dtypes.canonicalize_dtype(int) == i32
    with pytest.warns(UserWarning, match="64-bit dtypes are off"):
        assert dtypes.float64(3).dtype == f32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dtypes.requested_dtype("zeros", float) == f32  # Python's own mean the default


def test_with_the_mode(x64: None) -> None:
    assert dtypes.canonicalize_dtype("float64") == np.dtype("float64")
    assert dtypes.float64(3).dtype == np.dtype("float64")
    assert dtypes.result_type(1, 2.0) == np.dtype("float64")


@pytest.mark.parametrize("dtype", ["O", "U3", "M8[s]"])
def test_what_arrays_do_not_hold_is_refused(dtype: str) -> None:
    with pytest.raises(TypeError, match="arrays cannot have the dtype"):
        dtypes.requested_dtype("zeros", dtype)


@pytest.mark.parametrize(
    ("args", "dtype", "weak"),
    [
        ((1, 2.0), "float32", True),
        ((True,), "bool", False),
        ((True, 1), "int32", True),
        ((1, dtypes.float16), "float16", False),
        (("i4", float), "float32", True),
        ((np.float64(1),), "float32", False),
        ((np.ones(3), 1), "float32", False),
        ((int,), "int32", True),
        ((None,), "float32", False),
        (("bfloat16", "float16"), "float32", False),
        ((np.int8(1), np.uint8(1)), "int16", False),
    ],
)
def test_result_type(args: tuple, dtype: str, weak: bool) -> None:
    assert dtypes.result_type(*args, return_weak_type_flag=True) == (np.dtype(dtype), weak)


def test_what_has_no_dtype() -> None:
    for wrong in ([1, 2], object()):
        with pytest.raises(TypeError, match="has no dtype"):
            dtypes.result_type(wrong)
    with pytest.raises(ValueError, match="at least one"):
        dtypes.result_type()


def test_promote_types_keeps_64_bits() -> None:
    assert dtypes.promote_types("int64", "uint32") == np.dtype("int64")
    assert dtypes.promote_types("uint32", "int32") == np.dtype("int32")
    with enable_x64(True):
        assert dtypes.promote_types("uint32", "int32") == np.dtype("int64")
    assert dtypes.promote_types(float, "int32") == np.dtype("float64")
    assert dtypes.promote_types(int, "float16") == np.dtype("float16")
    with pytest.raises(dtypes.TypePromotionError):
        dtypes.promote_types("float8_e5m2", "float16")


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ("bfloat16", np.floating, True),
        (dtypes.bfloat16, np.inexact, True),
        ("bfloat16", np.integer, False),
        ("bfloat16", "float32", False),
        ("bfloat16", dtypes.bfloat16, True),
        ("int4", np.signedinteger, True),
        ("uint4", np.signedinteger, False),
        ("float8_e4m3fn", np.floating, True),
        ("float8_e4m3fn", "float8_e5m2", False),
        (float, np.floating, True),
        (np.float32, float, False),
        (np.float64, float, True),
        (int, np.int64, True),
        (dtypes.float32, np.float32, True),
        (dtypes.float0, np.bool_, False),
        (dtypes.key_dtype("fry"), dtypes.prng_key, True),
        (dtypes.key_dtype("fry"), dtypes.extended, True),
        (dtypes.key_dtype("fry"), np.integer, False),
        (dtypes.prng_key, dtypes.extended, True),
        ("int32", dtypes.extended, False),
        (object, np.generic, True),
    ],
)
def test_issubdtype(a: Any, b: Any, answer: bool) -> None:
    assert dtypes.issubdtype(a, b) is answer


def test_finfo_and_iinfo_take_scalar_types() -> None:
    assert dtypes.finfo(dtypes.float32).max == np.finfo("float32").max
    assert dtypes.finfo(dtypes.bfloat16).bits == 16 and dtypes.iinfo(dtypes.int4).max == 7
    assert dtypes.finfo(dtypes.float32(1)).bits == 32 == dtypes.iinfo(dtypes.int32(1)).bits


def test_bits_and_python_classes() -> None:
    bits = {"int4": 4, "uint2": 2, "bool": 8, "float32": 32, "float4_e2m1fn": 4, "complex64": 64}
    assert {name: dtypes.itemsize_bits(name) for name in bits} == bits
    values = [
        True,
        1,
        1.0,
        1j,
        np.int8(1),
        np.zeros(1, ml_dtypes.bfloat16),
        "uint4",
        dtypes.float32(1),
    ]
    want = [bool, int, float, complex, int, float, int, float]
    assert [dtypes.scalar_type_of(value) for value in values] == want
    with pytest.raises(TypeError):
        dtypes.scalar_type_of("text")


def test_key_types() -> None:
    key = dtypes.key_dtype("threefry2x32")
    assert key is dtypes.key_dtype("fry") is pickle.loads(pickle.dumps(key))
    assert (key.name, key.itemsize, key.type) == ("key<fry>", 8, dtypes.prng_key)
    assert dtypes.canonicalize_dtype(key, allow_extended_dtype=True) is key
    with pytest.raises(ValueError, match="key type"):
        dtypes.canonicalize_dtype(key)
    assert dtypes.result_type(key, key) is key
    with pytest.raises(ValueError, match="cannot be promoted"):
        dtypes.result_type(key, 1)
    with pytest.raises(ValueError, match="no key implementation"):
        dtypes.key_dtype("nothing")


@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4"])
def test_integers_of_less_than_a_byte_are_moved_and_ordered_as_bytes(dtype):
    values = np.array([[1, 0, 1, -2], [-1, 1, -2, 0]])
    values = values % 4 if dtype[0] == "u" else values
    moved = {
        "concatenate": lambda n, x: n.concatenate([x, x[:, :1], x], 1),
        "stack": lambda n, x: n.stack([x, x]), "roll": lambda n, x: n.roll(x, 3),
        "tile": lambda n, x: n.tile(x, (2, 1)), "sort": lambda n, x: n.sort(x, axis=0),
        "argsort": lambda n, x: n.argsort(x, axis=1, stable=True), "flip": lambda n, x: n.flip(x),
        "argmax": lambda n, x: n.argmax(x, axis=1), "argmin": lambda n, x: n.argmin(x),
        "take": lambda n, x: n.take(x, np.array([1, 1, 0]), axis=0), "max": lambda n, x: x.max(0),
        "repeat": lambda n, x: n.repeat(x, 2), "pad": lambda n, x: n.pad(x, 1, mode="edge"),
        "lexsort": lambda n, x: n.lexsort((x[0], x[1])), "transpose": lambda n, x: x.T,
    }
    x = numpy.asarray(values, dtype)
    made = xfront.jit(lambda x: {k: f(numpy, x) for k, f in moved.items()})(x)
    for name, f in moved.items():
        np.testing.assert_array_equal(made[name].astype(int), f(np, values), err_msg=name)
    assert made["sort"].dtype == dtype and numpy.concatenate([x, x]).dtype == dtype
    np.testing.assert_array_equal(numpy.unique(x).astype(int), np.unique(values))
