"""Random streams are bit for bit those that users of other libraries know."""

import json
from pathlib import Path

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
import xfront.random as random
from tests.recorded.record_random_api import CASES, evaluate
from xfront.base import dtypes

RECORDED = json.loads((Path(__file__).parents[2] / "recorded" / "random_api.json").read_text())


@pytest.fixture(scope="module")
def found():
    return evaluate(xfront)


@pytest.mark.parametrize("case", CASES)
def test_stream(found, case):
    dtype, data = RECORDED[case]
    assert found[case][0] == dtype
    if case.startswith(("normal", "truncated", "gumbel", "exponential", "vmap", "jit")):
        ours, theirs = (np.frombuffer(bytes.fromhex(x), as_dtype(dtype)).astype(np.complex128)
                        for x in (found[case][1], data))
        # transcendental functions of the same bits may differ in the last place by XLA's version
        np.testing.assert_allclose(ours, theirs, rtol=4 * eps(dtype))
    else:
        assert found[case][1] == data


def as_dtype(name):
    return dtypes.as_dtype(name)


def eps(name):
    return {"float32": 2.0 ** -23, "complex64": 2.0 ** -23, "float16": 2.0 ** -10,
            "bfloat16": 2.0 ** -7}[name]


def test_keys_are_typed_or_raw():
    key = random.key(0)
    assert repr(key) == "Array((), dtype=key<fry>) overlaying:\n[0 0]"
    assert random.split(key, 3).shape == (3,)
    assert random.PRNGKey(0).dtype == np.uint32
    assert random.wrap_key_data(random.PRNGKey(5)).dtype == key.dtype


def test_key_arrays_never_meet_their_words():
    f = xfront.jit(lambda k: k)
    assert f(random.key(1)).dtype == random.key(1).dtype
    assert f(random.PRNGKey(1)).dtype == np.uint32
    assert f(random.key(1)).dtype == random.key(1).dtype


def test_errors():
    with pytest.raises(TypeError, match="seed must be an integer"):
        random.key(0.5)
    for data in (-1, 2 ** 32):
        with pytest.raises(OverflowError, match="out of bounds for uint32"):
            random.fold_in(random.key(0), data)
    assert random.fold_in(random.key(0), 2 ** 31) == random.fold_in(
        random.key(0), np.uint32(2 ** 31))
    with pytest.raises(ValueError, match="single key"):
        random.normal(random.split(random.key(0)))
    with pytest.raises(ValueError, match="float"):
        random.uniform(random.key(0), (2,), np.int32)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_bounds_that_are_known_give_what_unknown_ones_give(dtype):
    key, bounds = random.key(3), [(0, 1), (-1.0, 1.0), (1e-3, 7.5), (2.0, 1.0), (3.0, 3.0),
                                  (-60000.0, 60000.0), (0.0, np.inf), (np.nan, 1.0)]
    draw = lambda low, high: random.uniform(key, (4096,), dtype, low, high)
    known = xfront.jit(lambda: [draw(*b) for b in bounds])()
    unknown = xfront.jit(lambda bs: [draw(*b) for b in bs])(bounds)
    for a, b in zip(known, unknown, strict=True):
        np.testing.assert_array_equal(np.asarray(a, np.float32), np.asarray(b, np.float32))


@pytest.mark.parametrize("wide", [False, True], ids=["32 bits", "64 bits"])
def test_bounds_outside_of_a_narrow_dtype_mean_its_ends(wide):
    with xfront.enable_x64(wide):
        drawn = xfront.jit(lambda key: {
            case: random.randint(key, (2000,), *case[1:], case[0]) for case in (
                ("int8", 125, 300), ("int8", -300, -126), ("int8", 300, 400), ("int8", 125, 128),
                ("int8", -400, -300), ("uint8", 253, 257), ("uint8", -5, 2),
                ("int16", 32766, 40000))})(random.key(2))
    for (dtype, low, high), made in drawn.items():
        ends = np.iinfo(dtype)
        first = min(max(low, ends.min), ends.max)
        numbers = set(range(first, min(high, ends.max + 1))) or {first}
        assert set(made.tolist()) == numbers, (dtype, low, high)


def test_integers_between_bounds_that_are_floats_or_bools():
    key = random.key(0)
    low, high = jnp.float16(1), jnp.float16(60000)
    drawn = xfront.jit(lambda start, end, ends: {
        "whole": random.randint(key, (4,), 0, 1e3),
        "fractions": random.randint(key, (4,), start, end),
        "infinite": random.randint(key, (4,), 0, jnp.inf),
        "bools": random.randint(key, (4,), 0, True),
        "half": random.randint(key, (4,), low, high),
        "ends": random.randint(key, (2000,), ends[0], ends[1], "int8"),
        "unsigned": random.randint(key, (4,), -1.5, 2.7, "uint32"),
    })(-1.5, 2.7, jnp.array([126.0, 1e9]))
    assert drawn["whole"].tolist() == [789, 0, 712, 373]
    assert drawn["fractions"].tolist() == [0, -1, 1, 0]
    assert drawn["infinite"].tolist() == [31327077, 89727312, 349724617, 1554082365]
    assert drawn["bools"].tolist() == [0, 0, 0, 0]
    assert drawn["half"].tolist() == [47208, 7410, 29526, 19435]
    assert set(drawn["ends"].tolist()) == {126, 127}
    assert drawn["unsigned"].tolist() == [1, 0, 0, 1]
    assert random.randint(key, (4,), 0.5, 3.5).tolist() == [1, 0, 2, 1]
    with pytest.raises(TypeError, match="must be integers or floats, got complex64"):
        random.randint(key, (4,), 0, 2j)


def test_streams_with_64_bits():
    key, f32 = random.key(5), np.float32
    with xfront.enable_x64(True):
        assert random.bits(random.key(7)) == np.uint64(15571024786774969728)
        counts = [random.binomial(key, *given) for given in (
            (9.0, 0.3, (4,), "float32"), (f32(9), f32(0.3), (4,), "float64"),
            (90.0, 0.3, (4,), "float32"))]
    # drawn in the dtype of the probability, whatever that of the result
    assert np.asarray(counts).tolist() == [[5, 4, 2, 3], [4, 4, 4, 3], [23, 27, 26, 30]]
    assert [c.dtype.name for c in counts] == ["float32", "float64", "float32"]


@pytest.mark.parametrize("n", [np.asarray(5), jnp.asarray(5), jnp.int32(5), np.int64(5)])
def test_numbers_of_elements_in_arrays_without_axes(n):
    key = random.key(0)
    np.testing.assert_array_equal(random.permutation(key, n), random.permutation(key, 5))
    np.testing.assert_array_equal(random.choice(key, n, (2,)), random.choice(key, 5, (2,)))
    assert random.permutation(key, jnp.int32(-2)).shape == (0,)
    with pytest.raises(TypeError, match="must be an integer"):
        random.permutation(key, jnp.asarray(5.0))
    with pytest.raises(xfront.errors.ConcretizationTypeError):
        xfront.jit(lambda n: random.permutation(key, n))(n)
