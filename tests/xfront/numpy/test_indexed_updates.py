"""`x.at[index]`: every operation under every mode, against loops; dtypes that meet."""

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest

import xfront
import xfront.numpy as jnp

X = np.array([[3.0, -1.0, 2.0, 5.0], [0.5, 4.0, -2.0, 1.0], [2.5, 1.5, 6.0, -3.0]], np.float32)
ROWS = np.array([1, -1, 1, 7, -3, -9], np.int32)
COLUMNS = np.array([2, 0, 2, 1, -4, 3], np.int32)
VALUES = np.array([2.0, 0.5, 3.0, 1.5, -1.0, 4.0], np.float32)
INDICES = {"rows": lambda i, j: i, "points": lambda i, j: (i, j), "columns": lambda i, j: (..., j),
           "behind a new axis": lambda i, j: (None, i), "beside a slice": lambda i, j: (
               slice(2, None, -1), j)}
MODES = (None, "drop", "fill", "clip")
CASES = list(itertools.product(MODES, (True, False)))
STEPS = {
    "set": lambda old, new: new, "add": np.add, "subtract": np.subtract, "multiply": np.multiply,
    "divide": np.divide, "power": np.power, "min": np.minimum, "max": np.maximum,
    "apply": lambda old, new: old * old + 1,
}


def resolved(i: int, size: int, mode: str | None, wrap: bool) -> int | None:
    """The position that an index means, None outside."""
    if wrap and i < 0:
        i += size
    if mode == "clip":
        return min(max(i, 0), size - 1)
    return i if 0 <= i < size else None


def places(name: str, mode: str | None, wrap: bool):
    """For each index vector: which part of X it names, or None."""
    for i, j in zip(ROWS.tolist(), COLUMNS.tolist(), strict=True):
        row, column = resolved(i, 3, mode, wrap), resolved(j, 4, mode, wrap)
        if name in ("rows", "behind a new axis"):
            yield None if row is None else (row,)
        elif name == "points":
            yield None if row is None or column is None else (row, column)
        else:
            yield None if column is None else (slice(None), column)


def looped(name: str, how: str, mode: str | None, wrap: bool, x: np.ndarray, y: np.ndarray):
    """The update as a loop over index vectors."""
    made, exponent = x.copy(), np.ones_like(x)
    for k, at in enumerate(places(name, mode, wrap)):
        if at is None:
            continue
        if how == "power":                 # repeated exponents multiply
            exponent[at] *= y[k]
        else:
            made[at] = STEPS[how](made[at], y[k])
    with np.errstate(invalid="ignore"):
        return np.power(made, exponent) if how == "power" else made


def updated(x, how, mode, wrap, index, y):
    """The update by xfront."""
    to = {"mode": mode, "wrap_negative_indices": wrap}
    at = x.at[index]
    if how == "apply":
        return at.apply(lambda v: v * v + 1, **to)
    shaped = y.reshape(-1, 1) if at.get().ndim == 2 and at.get().shape[0] == y.shape[0] else (
        y.reshape(1, -1, 1) if at.get().ndim == 3 else y)
    return getattr(at, how)(shaped, **to)


def values_of(how: str) -> np.ndarray:
    return np.full_like(VALUES, 9.0) if how == "set" else VALUES


@pytest.mark.parametrize("name", INDICES)
def test_every_update_is_a_loop_under_every_mode(name):
    index = INDICES[name]

    def all_of(x, i, j):
        return [updated(x, how, mode, wrap, index(i, j), values_of(how))
                for how in STEPS for mode, wrap in CASES]

    got = iter(xfront.jit(all_of)(X, ROWS, COLUMNS))
    for how, (mode, wrap) in itertools.product(STEPS, CASES):
        want = looped(name, how, mode, wrap, X, values_of(how))
        np.testing.assert_allclose(np.asarray(next(got)), want, rtol=1e-6,
                                   err_msg=f"{how} {mode} {wrap}")


@pytest.mark.parametrize("name", ["rows", "points"])
def test_every_reading_is_a_loop_under_every_mode(name):
    modes = [*CASES[2:], (None, True), (None, False)]
    got = xfront.jit(lambda x, i, j: [
        x.at[INDICES[name](i, j)].get(mode=mode, wrap_negative_indices=wrap, fill_value=-7)
        for mode, wrap in modes])(X, ROWS, COLUMNS)
    for read, (mode, wrap) in zip(got, modes, strict=True):
        clip = mode in (None, "clip")
        for row, at in zip(np.asarray(read), places(name, "clip" if clip else mode, wrap),
                           strict=True):
            np.testing.assert_array_equal(row, -7 if at is None else X[at], f"{mode} {wrap}")


@pytest.mark.parametrize("i", [-1, -4, 2, 9, -9])
def test_numbers_as_indices_obey_the_mode_eagerly_and_traced(i):
    x = jnp.arange(1.0, 5.0)
    staged = xfront.jit(lambda x: [
        (x.at[i].set(9.0, mode=m, wrap_negative_indices=w),
         x.at[i].get(mode=m, wrap_negative_indices=w)) for m, w in CASES])(x)
    for (mode, wrap), (was_set, read) in zip(CASES, staged, strict=True):
        at = resolved(i, 4, mode, wrap)
        want = np.arange(1.0, 5.0)
        if at is not None:
            want[at] = 9
        inside = resolved(i, 4, mode or "clip", wrap)
        number = np.nan if inside is None else inside + 1.0
        own = x.at[i]
        for a in (was_set, own.set(9.0, mode=mode, wrap_negative_indices=wrap)):
            np.testing.assert_array_equal(a, want, f"{mode} {wrap}")
        for a in (read, own.get(mode=mode, wrap_negative_indices=wrap)):
            np.testing.assert_array_equal(a, number, f"{mode} {wrap}")


def test_every_update_batches_as_a_loop():
    rows = np.stack([ROWS, ROWS[::-1]])
    cases = list(itertools.product(STEPS, (("drop", True), ("clip", False))))

    def all_of(x, i):
        return [updated(x, how, mode, wrap, i, values_of(how)) for how, (mode, wrap) in cases]

    together = xfront.vmap(all_of)(np.stack([X, -X]), rows)
    alone = xfront.jit(all_of)
    first, second = alone(X, rows[0]), alone(-X, rows[1])
    for (how, _), both, one, two in zip(cases, together, first, second, strict=True):
        np.testing.assert_allclose(both, np.stack([one, two]), rtol=1e-6, err_msg=how)


@pytest.mark.parametrize("wrap", [True, False])
def test_derivatives_of_every_update_agree_with_differences(wrap):
    i = np.array([1, -1, 5], np.int32)                       # no two meet
    y = np.array([[2.0, 0.5, 3.0, 1.5]], np.float64).repeat(3, 0) * [[1.0], [1.1], [1.2]]
    x = np.abs(X).astype(np.float64) + 0.3
    weight = np.arange(12.0).reshape(3, 4) + 1

    def loss(how, mode):
        def of(x, y):
            made = x.at[i].apply(jnp.sin) if how == "apply" else getattr(x.at[i], how)(
                y, mode=mode, wrap_negative_indices=wrap, unique_indices=mode == "drop")
            return (made * weight).sum()
        return of

    cases = [(how, mode) for how in STEPS for mode in ("drop",)] + [
        (how, "clip") for how in ("set", "add", "subtract")]

    def derivatives(x, y, of_x, of_y):
        return [(xfront.grad(f, (0, 1))(x, y), xfront.jvp(f, (x, y), (of_x, of_y))[1], f(x, y))
                for f in (loss(how, mode) for how, mode in cases)]

    rng = np.random.default_rng(0)
    of_x, of_y, h = rng.normal(size=x.shape), rng.normal(size=y.shape), 1e-6
    with xfront.enable_x64(True):
        run = xfront.jit(derivatives)
        at, up, down = (run(x + s * of_x, y + s * of_y, of_x, of_y) for s in (0, h, -h))
        for case, ((by_x, by_y), forward, _), (_, _, high), (_, _, low) in zip(
                cases, at, up, down, strict=True):
            want = (float(high) - float(low)) / (2 * h)
            np.testing.assert_allclose(float(forward), want, rtol=1e-6, err_msg=str(case))
            backward = np.vdot(by_x, of_x) + np.vdot(by_y, of_y)
            np.testing.assert_allclose(backward, want, rtol=1e-6, err_msg=str(case))


# --- dtypes that meet ---------------------------------------------------------------------

# array, values, what comes of element and value, as the array's dtype holds it
WIDE = [
    ("multiply", np.full(3, 10, np.int32), 0.5, 5), ("subtract", np.full(3, 10, np.int32), 0.5, 9),
    ("add", np.full(3, 10, np.int32), np.float32(2.75), 12),
    ("min", np.full(3, 3, np.int32), 2.5, 2), ("max", np.full(3, 3, np.int32), 7.5, 7),
    ("power", np.full(3, 16, np.int32), 0.5, 4), ("divide", np.full(3, 10, np.int32), 0.5, 20),
    ("divide", np.full(3, 10, np.uint8), -1, -10),
    ("multiply", np.full(3, 200, np.uint8), np.float16(0.25), 50),
    ("subtract", np.full(3, 10, np.int32), np.uint8(3), 7),
    ("subtract", np.full(3, 10, np.uint8), np.int8(3), 7),
    ("min", np.full(3, 10, np.uint8), np.int8(-1), 255),
    ("add", np.full(3, 256, ml_dtypes.bfloat16), np.float32(1.5), 258),
    ("multiply", np.full(3, 3, np.float16), np.float32(1e-5), np.float16(3e-5)),
    ("divide", np.full(3, 2, np.float16), np.float32(1e-3), 2000),
    ("multiply", np.full(3, 2, np.float32), np.complex64(3 + 1j), 6),
    ("add", np.full(3, False), 0.5, True), ("add", np.full(3, True), np.int32(-1), False),
    ("add", np.full(3, 1 + 1j, np.complex64), 2, 3 + 1j),
    ("min", np.full(3, 1 + 1j, np.complex64), np.complex64(1 - 1j), 1 - 1j),
    ("max", np.full(3, 1 + 1j, np.complex64), 2.0, 2), ("set", np.full(3, 7, np.int32), 2.5, 2),
    ("set", np.full(3, 7, np.uint8), 300, 44), ("set", np.full(3, True), 0.5, True),
    ("subtract", np.full(3, 2, np.float32), True, 1),
]


@pytest.mark.parametrize("how, x, y, want", WIDE, ids=[
    f"{how} {x.dtype} {np.asarray(y).dtype}" for how, x, y, _ in WIDE])
@pytest.mark.filterwarnings("ignore:scatter inputs have incompatible:FutureWarning")
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_values_of_other_dtypes_are_computed_with_as_they_are(how, x, y, want):
    def change(x):
        return getattr(x.at[0], how)(y)

    dtype = np.dtype(np.float32) if how == "divide" and x.dtype.kind in "iu" else x.dtype
    for got in (change(jnp.asarray(x)), xfront.jit(change)(x)):
        assert got.dtype == dtype
        np.testing.assert_array_equal(np.asarray(got), np.array([want, x[1], x[2]], dtype))


@pytest.mark.filterwarnings("ignore:scatter inputs have incompatible:FutureWarning")
def test_elements_that_stay_do_not_pass_through_the_wider_dtype():
    x = np.array([2 ** 24 + 1, 70_001, -5], np.int32)
    for how, y in (("add", 0.5), ("multiply", np.float16(2)), ("power", 0.5),
                   ("set", np.float16(1))):
        got = getattr(jnp.asarray(x).at[2], how)(y)
        assert got[:2].tolist() == x[:2].tolist() and got.dtype == np.int32
    weak = jnp.full(3, 300).at[0].add(np.int8(3))
    assert weak.tolist() == [303, 300, 300]


def test_derivatives_pass_through_the_wider_dtype():
    x, y = np.full(3, 2, np.float16), np.float32(3)
    with pytest.warns(FutureWarning):
        of_x, of_y = xfront.grad(lambda x, y: x.at[1].multiply(y).astype(np.float32).sum(),
                                 (0, 1))(x, y)
    assert of_x.dtype == np.float16 and of_x.tolist() == [1, 3, 1]
    assert of_y.dtype == np.float32 and of_y == 2


def test_a_loss_is_warned_of_each_time_and_where_it_is_written():
    x = jnp.arange(3)
    for _ in range(2):
        with pytest.warns(FutureWarning, match="incompatible types.*float32") as caught:
            x.at[0].multiply(0.5)
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.at[0].add(True)
        x.at[0].set(np.int8(3))
        jnp.ones(3).at[0].add(3)
        jnp.full(3, 300).at[0].add(np.int8(3))
        jnp.ones(3, np.float16).at[0].divide(2.0)


def test_refusals():
    x = jnp.arange(3.0)
    with pytest.raises(TypeError, match="dtype bool"):
        (x > 1).at[0].subtract(True)
    with pytest.raises(TypeError,
                       match=r"dtype float32 for each element, but it returned complex64\[\]"):
        x.at[0].apply(lambda v: v + 1j)
    with pytest.raises(TypeError, match="key arrays"):
        keys = xfront.random.split(xfront.random.key(0), 2)
        keys.at[0].add(keys[1])
    with pytest.raises(ValueError, match="must be a scalar"):
        x.at[9].get(mode="fill", fill_value=np.ones(1))
    with pytest.raises(ValueError, match="mode of an update"):
        x.at[0].set(1.0, mode="wrap")


def test_a_function_is_applied_to_elements():
    x = jnp.arange(4.0)
    assert x.at[1:].apply(lambda v: v - v.sum() + 7).tolist() == [0, 7, 7, 7]
    assert x.at[np.array([1, 1, 2])].apply(lambda v: v + 1).tolist() == [0, 3, 3, 3]
    assert jnp.zeros((0,)).at[:].apply(jnp.sin).shape == (0,)


def test_far_positions_of_any_width_are_outside():
    x = np.arange(4, dtype=np.float32)
    for i in (np.uint32(2 ** 32 - 1), np.array([2 ** 32 - 1], np.uint32)):
        assert np.asarray(jnp.asarray(x)[i]).ravel().tolist() == [3]
        assert xfront.jit(lambda x, i: x.at[i].set(9.0))(x, i).tolist() == x.tolist()
    with xfront.enable_x64(True):
        for i in (2 ** 32, -2 ** 32, 2 ** 63 - 1, -2 ** 63):
            at = np.array([i], np.int64)
            want = [3.0 if i > 0 else 0.0]
            assert jnp.asarray(x)[at].tolist() == want
            assert xfront.jit(lambda x, i: x[i])(x, at).tolist() == want
            assert jnp.asarray(x).at[at].set(9.0).tolist() == x.tolist()


def test_rank_promotion_is_the_users_affair():
    with xfront.numpy_rank_promotion("raise"):
        made = jnp.ones((2, 3)).at[:].set(np.arange(3, dtype=np.float32))
    assert made.tolist() == [[0, 1, 2]] * 2


def test_taking_and_putting_far_away():
    x = np.arange(5, dtype=np.float32)
    far = np.array([2 ** 32 - 1, 2], np.uint32)
    assert jnp.take(x, far, mode="clip").tolist() == [4, 2]
    assert jnp.take(x, far, mode="wrap").tolist() == [0, 2]        # 2**32 - 1 is 0 modulo 5
    assert np.isnan(np.asarray(jnp.take(x, far))).tolist() == [True, False]
    assert np.isnan(np.asarray(jnp.take_along_axis(x, far, 0))).tolist() == [True, False]
    assert jnp.take_along_axis(x, far, 0, mode="clip").tolist() == [4, 2]
    many = np.arange(300, dtype=np.float32)
    assert jnp.take(many, np.array([-1, 100], np.int8), mode="clip").tolist() == [0, 100]
    assert jnp.take(many, np.array([-1, 100], np.int8), mode="wrap").tolist() == [299, 100]
    assert jnp.put(x, np.array([1, 7, -1]), np.array([9.0, 8, 7]), inplace=False).tolist() in (
        [0, 9, 2, 3, 8], [0, 9, 2, 3, 7])
    assert jnp.put(x, np.array([-2]), 9.0, mode="clip", inplace=False).tolist() == [9, 1, 2, 3, 4]


@pytest.mark.parametrize("how", ["set", "add", "multiply", "max", "min"])
def test_updates_by_integers_beyond_the_default(how: str) -> None:
    x, number = np.array([1, 2, 3], np.uint32), np.uint32(2 ** 32 - 1)
    ufunc = {"set": lambda _, y: y, "add": np.add, "multiply": np.multiply, "max": np.maximum,
             "min": np.minimum}[how]
    with np.errstate(all="ignore"):
        wanted = np.array([ufunc(x[0], number), 2, 3], np.uint32)
    update = lambda x: getattr(x.at[0], how)(2 ** 32 - 1)
    np.testing.assert_array_equal(update(jnp.array(x)), wanted)
    np.testing.assert_array_equal(xfront.jit(update)(x), wanted)
    with pytest.raises(OverflowError):
        getattr(jnp.array(x).at[0], how)(2 ** 32)
