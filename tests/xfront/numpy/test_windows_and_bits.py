"""Windows, packed bits, `r_` and `c_`, unwrapped angles, placed values; against NumPy."""

import io
import math

import numpy as np
import pytest

import xfront as xf
import xfront.numpy as jnp
from tests.against import agree

BITS = np.array([[1, 0, 1, 1, 0, 0, 0, 1, 1, 0], [0, 0, 2, 0, 0, -1, 0, 0, 0, 1]])
BYTES = np.array([[177, 128, 3], [0, 255, 16]], np.uint8)
ANGLES = np.array([[0.0, 1.5, 3.0, -2.0, -0.5, 6.0], [6.2, 0.1, 3.3, 9.5, 0.0, -3.2]], np.float32)
STEPS = np.array([0, 2, 4, 6, 0, 5, 3, 1, 8])
VALUES = np.arange(12.0, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows(name):
    for n in (-1, 0, 1, 2, 5, 64):
        made = getattr(jnp, name)(n)
        assert made.dtype == np.float32
        np.testing.assert_allclose(made, getattr(np, name)(n), atol=1e-6, err_msg=f"{name}({n})")
    with pytest.raises(TypeError, match="M must be an integer"):
        getattr(jnp, name)(2.5)
    with pytest.raises(xf.errors.ConcretizationTypeError):
        xf.jit(getattr(jnp, name))(5)


def test_kaiser():
    for n, beta in ((0, 3.0), (1, 3.0), (6, 14.0), (9, 0.0), (9, 300.0)):
        np.testing.assert_allclose(jnp.kaiser(n, beta), np.kaiser(n, beta), rtol=3e-5, atol=1e-6)
    slope = xf.grad(lambda beta: jnp.kaiser(7, beta).sum())(2.0)
    by_difference = (np.kaiser(7, 2.001).sum() - np.kaiser(7, 1.999).sum()) / 0.002
    np.testing.assert_allclose(slope, by_difference, rtol=1e-3)


@pytest.mark.parametrize("order", ["big", "little"])
def test_bits(order):
    cases = {
        "packbits": lambda m: [m.packbits(BITS, axis, order) for axis in (None, 0, 1, -1)],
        "packbits of bools": lambda m: m.packbits(BITS > 0, 1, bitorder=order),
        "packbits of nothing": lambda m: m.packbits(np.zeros((2, 0), bool), 1, order),
        "unpackbits": lambda m: [m.unpackbits(BYTES, axis, None, order) for axis in (None, 0, -1)],
        "count": lambda m: [m.unpackbits(BYTES, 1, n, order) for n in (0, 5, 24, 30, -3)],
    }
    for name, call in cases.items():
        for made, wanted in zip(xf.tree.leaves(call(jnp)), xf.tree.leaves(call(np)), strict=True):
            assert made.dtype == np.uint8
            np.testing.assert_array_equal(made, wanted, err_msg=name)
    with pytest.raises(TypeError, match="integer or boolean"):
        jnp.packbits(VALUES)
    with pytest.raises(TypeError, match="uint8"):
        jnp.unpackbits(BITS)
    with pytest.raises(ValueError, match="more elements than the"):
        jnp.unpackbits(BYTES, count=-100)
    with pytest.raises(ValueError, match="bitorder"):
        jnp.packbits(BITS, bitorder="middle")


def test_bits_under_transformations():
    packed = xf.vmap(xf.jit(jnp.packbits))(BITS)
    np.testing.assert_array_equal(packed, np.packbits(BITS, 1))
    np.testing.assert_array_equal(xf.vmap(jnp.unpackbits)(packed)[:, :10], BITS != 0)


def test_arrays_in_brackets():
    for m in (np.r_, np.c_):
        mine = {id(np.r_): jnp.r_, id(np.c_): jnp.c_}[id(m)]
        for key in [(1, 2, 3), (np.arange(3), 0, 0, np.ones(2)), slice(1, 5), (slice(1, 9, 3), 7),
                    slice(0, 1, 5j), ("0,2", [1, 2], [3, 4]), ("-1", [1, 2], [3, 4]),
                    ("0,2,0", [1, 2], [3, 4]), ("1,2,0", [1, 2], [3, 4]),
                    ("1,3,1", [1, 2], [3, 4]), ("0,2,0", slice(3), slice(3)),
                    (np.eye(2), np.eye(2)), ("1", np.eye(2), np.eye(2))]:
            try:
                wanted = m[key]
            except (ValueError, IndexError):
                with pytest.raises((ValueError, TypeError)):
                    mine[key]
                continue
            np.testing.assert_allclose(mine[key], wanted, rtol=1e-6, err_msg=str(key))
    assert jnp.r_["r", 1, 2].shape == (1, 2) and jnp.r_["c", 1, 2].shape == (2, 1)
    traced = xf.jit(lambda x: jnp.c_[x, 2 * x])(jnp.arange(3))
    np.testing.assert_array_equal(traced, np.c_[np.arange(3), 2 * np.arange(3)])
    for wrong in ("abc", "1,2,3,4"):
        with pytest.raises(ValueError, match="directive"):
            jnp.r_[wrong, 1]
    with pytest.raises(ValueError, match="directive must be the first"):
        jnp.r_[1, "0,2"]


def test_unwrap():
    for axis in (0, 1, -1):
        agree("unwrap", jnp.unwrap(ANGLES, axis=axis), np.unwrap(ANGLES, axis=axis))
    for period in (3, 4, 7, 2.5):
        for discont in (None, 3):
            made = jnp.unwrap(STEPS, discont, period=period)
            np.testing.assert_allclose(made, np.unwrap(STEPS, discont, period=period), rtol=1e-5)
            assert (made.dtype == np.int32) == (type(period) is int)
    np.testing.assert_allclose(xf.jit(xf.vmap(jnp.unwrap))(ANGLES), np.unwrap(ANGLES), rtol=1e-5)
    # a step of the unwrapped angle is a step of the angle
    np.testing.assert_allclose(xf.grad(lambda x: jnp.unwrap(x)[-1])(ANGLES[0]), np.eye(6)[5])
    with pytest.raises(ValueError, match="axis"):
        jnp.unwrap(1.0)
    with pytest.raises(TypeError, match="real"):
        jnp.unwrap(1j * ANGLES)


def test_place():
    mask = np.arange(12).reshape(3, 4) % 3 == 1
    for vals in ([10.0, 20.0, 30.0], np.arange(20, dtype=np.float32), [7.0]):
        wanted = VALUES.copy()
        np.place(wanted, mask, vals)
        np.testing.assert_array_equal(jnp.place(VALUES, mask, vals, inplace=False), wanted)
        traced = xf.jit(lambda x, m, v: jnp.place(x, m, v, inplace=False))
        np.testing.assert_array_equal(traced(VALUES, mask, np.asarray(vals)), wanted)
    for arguments, message in (((VALUES, mask, [1.0]), "immutable"),):
        with pytest.raises(ValueError, match=message):
            jnp.place(*arguments)
    with pytest.raises(ValueError, match="size"):
        jnp.place(VALUES, mask[0], [1.0], inplace=False)
    with pytest.raises(ValueError, match="at least one value"):
        jnp.place(VALUES, mask, [], inplace=False)


def test_files():
    for x in (VALUES, jnp.arange(3, dtype=jnp.bfloat16)):
        file = io.BytesIO()
        jnp.save(file, x)
        file.seek(0)
        found = jnp.load(file)
        assert isinstance(found, jnp.ndarray) and found.dtype == x.dtype
        np.testing.assert_array_equal(found, x)


def test_diagonals_at_traced_places():
    for k in (-5, -1, 0, 2, 4):
        for name in ("eye", "tri"):
            made = xf.jit(getattr(jnp, name), static_argnums=(0, 1))(3, 4, k)
            np.testing.assert_array_equal(made, getattr(np, name)(3, 4, k))
        for name in ("tril", "triu"):
            made = xf.jit(getattr(jnp, name))(VALUES, k)
            np.testing.assert_array_equal(made, getattr(np, name)(VALUES, k))
    stack = xf.vmap(lambda k: jnp.tri(3, k=k))(jnp.arange(2))
    np.testing.assert_array_equal(stack, np.stack([np.tri(3), np.tri(3, k=1)]))


def test_positions():
    rows, columns = np.array([1, 2]), np.array([0, 3])
    made = jnp.ravel_multi_index((rows, columns), (3, 4), dtype="int8")
    assert made.dtype == np.int8
    np.testing.assert_array_equal(made, [4, 11])
    with pytest.raises(TypeError, match="integer dtype"):
        jnp.ravel_multi_index((rows, columns), (3, 4), dtype=float)
    traced = xf.jit(lambda i, n, m: jnp.unravel_index(i, (n, m)))
    for i in (np.array([5, 7, 11]), np.array([-1, 99, -99]), np.uint8(7)):
        for made, wanted in zip(traced(i, 3, 4), jnp.unravel_index(i, (3, 4)), strict=True):
            np.testing.assert_array_equal(made, wanted)


def test_take_along_axis_by_comparing():
    i = np.array([[0, 3], [-1, 9], [2, -9]])
    made = jnp.take_along_axis(VALUES, i, 1, "one_hot")
    np.testing.assert_array_equal(made, [[0, 3], [7, 0], [10, 0]])
    made = jnp.take_along_axis(VALUES, i, 1, "one_hot", wrap_negative_indices=False)
    np.testing.assert_array_equal(made, [[0, 3], [0, 0], [10, 0]])
    made = jnp.take_along_axis(VALUES, i, 1, wrap_negative_indices=False)
    np.testing.assert_array_equal(made, [[0, 3], [math.nan] * 2, [10, math.nan]])
    endless = np.array([1.0, math.inf, math.nan], np.float32)
    assert jnp.take_along_axis(endless, np.array([0]), 0, "one_hot") == 1.0
    slope = xf.grad(lambda x: jnp.take_along_axis(x, i, 1, "one_hot").sum())(VALUES)
    np.testing.assert_array_equal(slope, [[1, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 0]])
    for shape, places in (((2, 0), (2, 0)), ((2, 0), (2, 3)), ((0, 3), (0, 2))):
        made = jnp.take_along_axis(np.zeros(shape), np.zeros(places, int), 1)
        assert made.shape == places and np.isnan(made).all()
    with pytest.raises(IndexError, match="empty axis"):
        jnp.take_along_axis(np.zeros((2, 0)), np.zeros((2, 3), int), 1, "clip")


def test_indices_in_lists():
    for index in [(0, [0, 1]), ([0, 1], [0, 2]), ([0, 1],), (slice(None), [0, 1]),
                  (slice(None), (3, -1)), ([True, False, True],), (slice(None), [], None),
                  (Ellipsis, [])]:
        wanted = VALUES[index]
        np.testing.assert_array_equal(jnp.asarray(VALUES)[index], wanted)
        if wanted.size:
            written = VALUES.copy()
            written[index] = 7
            np.testing.assert_array_equal(jnp.asarray(VALUES).at[index].set(7), written)
    made = xf.jit(lambda x, i: x[:, [i, 0]])(VALUES, 2)
    np.testing.assert_array_equal(made, VALUES[:, [2, 0]])
    with pytest.raises(TypeError, match="non-tuple sequence"):
        jnp.asarray(VALUES)[[0, 1]]


def test_empty_arrays():
    nothing = jnp.zeros((0, 3))
    none = np.zeros(0, int)
    for index in [none.astype(bool), np.zeros((0, 3), bool), none, (none, 1),
                  (slice(None), np.array([2, 0]))]:
        wanted = np.zeros((0, 3))[index]
        assert nothing[index].shape == wanted.shape
        assert nothing.at[index].set(1).shape == nothing.shape
    assert jnp.repeat(jnp.zeros((2, 0)), np.zeros(0, int), axis=1).shape == (2, 0)
    with pytest.raises(IndexError):
        nothing[np.array([0])]
    for shape, other in (((0, 0), (0,)), ((0, 0), (0, 3)), ((0, 2, 2), (0, 2, 1)),
                         ((2, 2), (2, 0)), ((0, 2, 2), (2,)), ((2, 0, 0), (2, 0, 1))):
        a, b = np.zeros(shape) + (np.eye(2) if shape == (2, 2) else 0), np.zeros(other)
        assert jnp.linalg.solve(a, b).shape == np.linalg.solve(a, b).shape
        assert jnp.linalg.inv(a).shape == shape
    assert jnp.fft.fft(np.zeros((3, 0))).dtype == np.complex64
    assert jnp.fft.fftn(VALUES, axes=()).dtype == np.complex64
    assert jnp.fft.fftfreq(0).shape == (0,)
