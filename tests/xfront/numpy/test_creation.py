"""Arrays from values, ranges and grids against NumPy; their dtypes and errors."""

import enum

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax
from xfront.errors import ConcretizationTypeError


@pytest.mark.parametrize("value, dtype, weak", [
    (1, "int32", True), (1.0, "float32", True), (1j, "complex64", True), (True, "bool", False),
    ([1, 2], "int32", False), ([1, 2.0], "float32", False), ([True, 1], "int32", False),
    ([], "float32", False), ([[1], [2]], "int32", False), (np.float64(1), "float32", False),
    (np.arange(3), "int32", False), (np.int8(3), "int8", False), (range(3), "int32", False),
    ([np.float16(1), 2.0], "float16", False), ((1, 2), "int32", False),
])
def test_dtype_of_values(value, dtype, weak):
    made = jnp.array(value)
    assert (made.dtype.name, made.weak_type) == (dtype, weak)
    np.testing.assert_array_equal(np.asarray(made), np.array(value))


@pytest.mark.parametrize("call, error", [
    (lambda: jnp.array("text"), TypeError), (lambda: jnp.array(None), ValueError),
    (lambda: jnp.array([None]), ValueError), (lambda: jnp.array(object()), TypeError),
    (lambda: jnp.array([[1], [1, 2]]), ValueError), (lambda: jnp.array(2 ** 31), OverflowError),
    (lambda: jnp.array([3000000000]), OverflowError),
    (lambda: jnp.array(-1, dtype="uint8"), OverflowError),
    (lambda: jnp.array({1: 2}), TypeError), (lambda: jnp.zeros(2.0), TypeError),
    (lambda: jnp.zeros(-1), TypeError), (lambda: jnp.full(2, [1, 2]), TypeError),
    (lambda: jnp.zeros_like([1]), TypeError), (lambda: jnp.arange(3, dtype=bool), TypeError),
    (lambda: jnp.arange(0, 3, 0), ZeroDivisionError), (lambda: jnp.arange(3j), ValueError),
    (lambda: jnp.fromiter([1], dtype=int), NotImplementedError),
    (lambda: jnp.linspace(0, 1, -1), ValueError),
    (lambda: xfront.jit(jnp.arange)(3), ConcretizationTypeError),
])
def test_errors(call, error):
    with pytest.raises(error):
        call()


def test_asarray_keeps_and_array_copies():
    x = jnp.arange(3)
    assert jnp.asarray(x) is x
    assert jnp.array(x) is not x and jnp.copy(x) is not x
    host = np.arange(3, dtype=np.int32)
    made = jnp.asarray(host)
    host[0] = 7
    assert made.tolist() == [0, 1, 2]


def test_filled_arrays():
    assert jnp.zeros(3).tolist() == [0, 0, 0] and jnp.zeros(3).dtype == np.float32
    assert jnp.ones((2, 1), bool).tolist() == [[True], [True]]
    assert jnp.full(2, 1).weak_type and not jnp.full(2, 1, float).weak_type
    assert jnp.full((2, 2), np.array([1, 2])).tolist() == [[1, 2], [1, 2]]
    assert jnp.full(2, 2**32 - 1, "uint32").tolist() == [2**32 - 1] * 2
    assert jnp.full_like(jnp.zeros(2, "uint32"), 2**32 - 1).tolist() == [2**32 - 1] * 2
    assert jnp.zeros_like(jnp.full(2, 1.0)).weak_type
    assert jnp.ones_like(np.arange(2), dtype=float, shape=(1,)).tolist() == [1.0]
    assert jnp.full_like(np.arange(2), 1.5).tolist() == [1, 1]
    assert jnp.zeros(5000).shape == (5000,)
    assert xfront.jit(lambda x: jnp.zeros_like(x) + jnp.ones(2, x.dtype))(
        np.arange(2)).tolist() == [1, 1]


@pytest.mark.parametrize("args", [
    (3,), (3.0,), (1, 4), (1, 4, 2), (4, 1, -1), (0, 1, 0.25), (0,), (5, 1), (1.5,), (-3, 3)])
def test_arange(args):
    want = np.arange(*args)
    got = jnp.arange(*args)
    np.testing.assert_allclose(np.asarray(got), want)
    assert got.dtype.kind == want.dtype.kind


def test_linspace_logspace_geomspace():
    got = xfront.jit(lambda: [
        jnp.linspace(0, 1, 5), jnp.linspace(0, 1, 5, endpoint=False), jnp.linspace(0, 10, 4),
        jnp.linspace(0, 1, 1), jnp.linspace(0, 1, 0), jnp.logspace(0, 2, 3, base=2),
        jnp.geomspace(1, 1000, 4), jnp.geomspace(-1, -100, 3)])()
    want = [np.linspace(0, 1, 5), np.linspace(0, 1, 5, endpoint=False), np.linspace(0, 10, 4),
            np.linspace(0, 1, 1), np.linspace(0, 1, 0), np.logspace(0, 2, 3, base=2),
            np.geomspace(1, 1000, 4), np.geomspace(-1, -100, 3)]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-6)
    assert jnp.linspace(0, 10, 4, dtype=int).tolist() == [0, 3, 6, 10]
    values, step = jnp.linspace(0, 1, 5, retstep=True)
    assert float(step) == 0.25 and values.shape == (5,)
    ends = np.array([0.0, 1.0], np.float32), np.array([2.0, 5.0], np.float32)
    np.testing.assert_allclose(jnp.linspace(*ends, 3, axis=1), np.linspace(*ends, 3, axis=1))
    assert float(xfront.grad(lambda s: jnp.linspace(s, 2.0, 3)[1])(1.0)) == 0.5


def test_matrices_and_grids():
    np.testing.assert_array_equal(jnp.eye(2, 3, 1), np.eye(2, 3, 1))
    np.testing.assert_array_equal(jnp.eye(70), np.eye(70))
    np.testing.assert_array_equal(jnp.tri(70, 60, -3), np.tri(70, 60, -3))
    np.testing.assert_array_equal(jnp.identity(2, int), np.identity(2, int))
    for options in ({}, {"indexing": "ij"}, {"sparse": True}):
        got = jnp.meshgrid(np.arange(2), np.arange(3.0), **options)
        for g, w in zip(got, np.meshgrid(np.arange(2), np.arange(3.0), **options), strict=True):
            np.testing.assert_array_equal(g, w)
    np.testing.assert_array_equal(jnp.mgrid[0:2, 0:3], np.mgrid[0:2, 0:3])
    np.testing.assert_allclose(jnp.mgrid[0:1:3j], np.mgrid[0:1:3j])
    assert [g.shape for g in jnp.ogrid[0:2, 0:3]] == [(2, 1), (1, 3)]
    np.testing.assert_array_equal(jnp.fromfunction(lambda i, j: i + j, (2, 2), dtype=int),
                                  [[0, 1], [1, 2]])


def test_array_of_traced_values():
    made = xfront.jit(lambda x: jnp.array([[1.0, x[0]], [x[1], 2]]))(np.arange(2))
    np.testing.assert_array_equal(made, [[1, 0], [1, 2]])
    assert float(xfront.grad(lambda x: jnp.array([x, x * x])[1])(3.0)) == 6.0
    x = jnp.arange(2)
    assert jnp.array([x, x]).shape == (2, 2)
    assert jnp.array([1.0, x[0]]).dtype == np.float32


def test_scalar_types_and_constants():
    assert jnp.float32(1).dtype == np.float32 and isinstance(jnp.float32(1), jnp.ndarray)
    assert jnp.bfloat16(1).dtype == jnp.bfloat16
    assert jnp.finfo(jnp.float32).eps == np.finfo(np.float32).eps
    assert (jnp.pi, jnp.inf, jnp.newaxis) == (np.pi, np.inf, None)
    assert jnp.issubdtype(jnp.int8, jnp.integer) and jnp.isdtype(jnp.int8, "integral")
    assert jnp.shape(jnp.zeros((2, 3))) == (2, 3) and jnp.size(jnp.zeros((2, 3)), 1) == 3
    assert jnp.result_type(1, jnp.float16) == np.float16


def test_frombuffer_and_fromstring():
    assert jnp.frombuffer(b"\x01\x00\x00\x00", dtype="int32").tolist() == [1]
    assert jnp.fromstring("1 2", sep=" ").tolist() == [1.0, 2.0]


@pytest.mark.parametrize("low, high, n", [(0, 25, 6), (-5, 5, 11), (0, 7, 8), (0, 255, 256),
                                          (5, -5, 11), (-1999, 1, 401), (0, 3000, 3001)])
def test_evenly_spaced_integers_are_exact(low, high, n):
    for endpoint, stop in ((True, high), (False, high + (high - low) // (n - 1))):
        want = np.linspace(low, stop, n, endpoint=endpoint)
        assert (want == np.round(want)).all()
        args = np.float32(low), np.float32(stop), n, endpoint
        np.testing.assert_array_equal(jnp.linspace(*args), want)
        np.testing.assert_array_equal(jnp.linspace(*args, dtype=int), want)
        np.testing.assert_array_equal(
            xfront.jit(lambda stop: jnp.linspace(low, stop, n, endpoint))(args[1]),  # noqa: B023
            want)
    with xfront.enable_x64(True):
        np.testing.assert_array_equal(jnp.linspace(float(low), high, n), np.linspace(low, high, n))


def test_ranges_meet_their_ends_and_stay_between():
    for low, high in ((-3e38, 3e38), (0.1, 0.7), (1e-30, 1e30), (np.float16(0.1), np.float16(7))):
        made = np.asarray(jnp.linspace(low, high, 13))
        np.testing.assert_allclose(made, np.linspace(low, high, 13), rtol=1e-3 if made.itemsize < 4
                                   else 3e-7, atol=abs(high) * 1e-7)
        assert made[0] == made.dtype.type(low) and made[-1] == made.dtype.type(high)
    made = np.asarray(jnp.linspace(1 + 1j, 3 - 5j, 5))
    np.testing.assert_array_equal(made, np.linspace(1 + 1j, 3 - 5j, 5))
    np.testing.assert_array_equal(jnp.linspace(np.array([0.0, 1]), np.array([25.0, 7]), 6, axis=1),
                                  np.linspace([0, 1], [25, 7], 6, axis=1).astype(np.float32))
    slope = xfront.jacobian(lambda ends: jnp.linspace(*ends, 5))((np.float32(2), np.float32(9)))
    np.testing.assert_allclose(np.stack(slope), [[1, 0.75, 0.5, 0.25, 0], [0, 0.25, 0.5, 0.75, 1]])
    np.testing.assert_array_equal(jnp.logspace(0, 3, 4), [1, 10, 100, 1000])
    np.testing.assert_allclose(jnp.geomspace(1j, 1000j, 4), np.geomspace(1j, 1000j, 4), rtol=1e-6)
    np.testing.assert_allclose(jnp.geomspace(-1000, -1, 4), [-1000, -100, -10, -1], rtol=1e-6)
    values = np.array([0.0, 5, 10, 15, 20, 25, 3, 15], np.float32)
    np.testing.assert_array_equal(jnp.histogram(values, 5, (0, 25))[0],
                                  np.histogram(values, 5, (0, 25))[0])


def test_values_between_known_numbers_are_one_literal_each_rounded_once():
    draw = np.random.default_rng(5)
    for n in (0, 1, 2, 3, 7, 50, 1024):
        for endpoint in (True, False):
            low, high = (float(x) for x in draw.normal(size=2) * 10.0 ** draw.integers(-20, 20, 2))
            made = xfront.jit(lambda: jnp.linspace(low, high, n, endpoint))()  # noqa: B023
            ends = float(np.float32(low)), float(np.float32(high))
            right = np.linspace(*ends, n, endpoint=endpoint)
            np.testing.assert_array_equal(made, right.astype(np.float32))
            np.testing.assert_array_equal(jnp.linspace(low, high, n, endpoint), made)
            by_array = jnp.linspace(jnp.float32(low), high, n, endpoint)
            np.testing.assert_allclose(by_array, made, rtol=3e-7, atol=2e-7 * max(map(abs, ends)))
            assert (by_array.dtype, by_array.weak_type) == (made.dtype, made.weak_type)
    text = str(xfront.make_ir(lambda: jnp.linspace(0.0, 1.0, 5, dtype=np.float32))())
    assert text.count("=") == text.count("literal() {value =") * 3
    with xfront.enable_x64(True):
        assert jnp.linspace(0, 1, 3).dtype == np.float64
    for low, high in ((0, 1 << 40), (1 << 31, 0)):
        with pytest.raises(OverflowError):
            jnp.linspace(low, high, 3)
    assert np.isnan(jnp.linspace(0.0, float("nan"), 3)[1])


@pytest.mark.parametrize(("first", "last"), [(1, 1000), (-7.3, -1e-3), (1e-30, 1e30), (5, 0.1)])
def test_geomspace_is_right_to_three_units_in_the_last_place(first, last):
    first, last = float(np.float32(first)), float(np.float32(last))
    exact = np.sign(first) * np.exp(np.linspace(np.log(abs(first)), np.log(abs(last)), 50))
    got = np.asarray(jnp.geomspace(first, last, 50), np.float64)
    assert (np.abs(got - exact) <= 3 * np.spacing(np.abs(exact).astype(np.float32))).all()
    assert got[0] == first and got[-1] == last


def test_an_array_is_no_dtype_and_has_one_order() -> None:
    x = jnp.ones(3, jnp.int8)
    for f in (jnp.asarray, jnp.zeros, jnp.astype):
        with pytest.raises(ValueError, match="pass its dtype, int8"):
            f(x if f is not jnp.zeros else 3, x)
    for order in ("F", "A"):
        with pytest.raises(NotImplementedError, match=order):
            jnp.asarray(x, order=order)


class Sizes:
    """A sequence of sizes of its own class, as TensorFlow Probability has one."""

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return (2, 3)[i]


def test_a_shape_is_a_sequence_of_any_class():
    x, key, shape = jnp.ones(6), xfront.random.key(0), Sizes()
    made = [jnp.zeros(shape), jnp.full(shape, 1), jnp.reshape(x, shape), x.reshape(shape),
            jnp.broadcast_to(x[:3], shape), jnp.full_like(x, 1, shape=shape),
            xfront.random.normal(key, shape), xfront.random.randint(key, shape, 0, 3)]
    assert {y.shape for y in made} == {(2, 3)}
    assert jnp.tile(x[:3], shape).shape == (2, 9)
    for wrong in ("23", {2: 3}, b"ab"):
        with pytest.raises(TypeError):
            jnp.zeros(wrong)
        with pytest.raises(TypeError):
            xfront.random.normal(key, wrong)


@pytest.mark.parametrize("dtype", [">f4", ">i2", np.longdouble, "clongdouble"])
def test_dtypes_that_arrays_cannot_have_are_refused(dtype):
    x = jnp.ones(2)
    for make in (lambda: jnp.zeros(2, dtype), lambda: x.astype(dtype), lambda: x.view(dtype),
                 lambda: jnp.fromstring("1 2", dtype, sep=" "), lambda: jnp.sum(x, dtype=dtype)):
        with pytest.raises(TypeError, match="byte order"):
            make()


def test_an_array_of_keys_is_filled_with_keys():
    keys = xfront.random.split(xfront.random.key(0))
    assert (jnp.full_like(keys, keys[1]) == keys[1]).all()
    for wrong in (2.5, 1j, jnp.ones(2), xfront.random.key(0, impl="rbg")):
        with pytest.raises(TypeError, match="filled with"):
            jnp.full_like(keys, wrong)
    for wrong in (-1, 2**32):
        with pytest.raises(OverflowError, match="words of keys"):
            jnp.full_like(keys, wrong)


def test_an_array_of_keys_is_filled_with_words():
    keys = xfront.random.split(xfront.random.key(0, impl="rbg"), 3)
    words = xfront.random.key_data
    for make, word in [
            (lambda k: jnp.zeros_like(k), 0), (lambda k: jnp.empty_like(k), 0),
            (lambda k: jnp.ones_like(k), 1), (lambda k: jnp.full_like(k, 7), 7),
            (lambda k: jnp.zeros(k.shape, k.dtype), 0), (lambda k: jnp.ones(k.shape, k.dtype), 1),
            (lambda k: jnp.empty(k.shape, k.dtype), 0), (lambda k: lax.full_like(k, 7), 7),
            (lambda k: jnp.full(k.shape, 2**32 - 1, k.dtype), 2**32 - 1),
            (lambda k: lax.full(k.shape, 7, k.dtype), 7),
            (lambda k: jnp.zeros_like(xfront.ShapeDtypeStruct(k.shape, k.dtype)), 0)]:
        for made in (make(keys), xfront.jit(make)(keys)):
            assert made.dtype == keys.dtype and made.shape == (3,)
            assert np.array_equal(words(made), np.full((3, 4), word, np.uint32))
    assert xfront.vmap(jnp.zeros_like)(keys).shape == (3,)
    assert jnp.zeros_like(keys, shape=(2, 2)).shape == (2, 2)


def test_keys_are_no_numbers_that_could_be_nan():
    keys = xfront.random.split(xfront.random.key(0))
    for f, answer in ((jnp.isnan, False), (jnp.isinf, False), (jnp.isfinite, True)):
        for made in (f(keys), xfront.jit(f)(keys), xfront.vmap(f)(keys)):
            assert made.dtype == bool and np.array_equal(made, [answer] * 2)


def test_keys_do_not_promote():
    key = xfront.random.key(0)
    for wrong in (lambda: jnp.where(True, key, 0), lambda: jnp.asarray(key, dtype=int),
                  lambda: jnp.concatenate([key[None], jnp.zeros(2)]),
                  lambda: jnp.asarray(0, key.dtype),
                  lambda: jnp.stack([key, xfront.random.key(0, impl="rbg")])):
        with pytest.raises(ValueError, match=r"key<fry>"):
            wrong()


def test_masked_arrays_are_refused_before_and_after_programs_are_known():
    plain, masked = np.array([1.0, 2.0], np.float32), np.ma.masked_array([1.0, 2.0], [True, False])
    masked = masked.astype(np.float32)
    calls = (jnp.asarray, jnp.array, jnp.sin, xfront.jit(lambda x: x * 2), xfront.device_put,
             xfront.grad(lambda x: x.sum()), xfront.vmap(lambda x: x), lambda x: jnp.ones(2) + x,
             lambda x: x * jnp.ones(2), lambda x: jnp.concatenate([x, x]), lambda x: lax.add(x, x),
             lambda x: jnp.ones(2).at[0].set(x[0]), lambda x: lax.scan(lambda c, v: (c, v), 0.0, x),
             lambda x: xfront.eval_shape(lambda v: v, x))
    for call in calls:
        for _ in range(3):
            with pytest.raises(ValueError, match="lose their mask"):
                call(masked)
            call(plain)
    assert jnp.asarray(masked.filled(0.0)).tolist() == [0.0, 2.0]


def test_numbers_in_rows_without_arrays_are_weak():
    small, half = jnp.int8(3), jnp.float16(3)
    for rows, dtype in (([[1, 2], [small, 4]], "int8"), ([[1, 2], [half, 4]], "float16"),
                        ([[1, 2.5], [small, 4]], "float32"), ([[1j, 2], [half, 2]], "complex64"),
                        ([[True, False], [small, 4]], "int8")):
        made = jnp.array(rows)
        assert made.dtype == dtype and not made.weak_type
        assert np.array_equal(made, np.array([[float(v) if type(v) is not complex else v for v in r]
                                              for r in rows]))
    traced = xfront.jit(lambda x: jnp.array([[1, 2], [x, 4]]))(small)
    assert traced.dtype == jnp.int8
    with pytest.raises(OverflowError):
        jnp.array([[1, 300], [small, 4]])


class Level(enum.IntEnum):
    LOW, HIGH = 1, 2


class Metres(float):
    pass


def test_numbers_of_classes_of_their_own_are_numbers() -> None:
    x = jnp.arange(3)
    for n, plain in ((Level.HIGH, 2), (Metres(2.5), 2.5)):
        for f in (lambda n: x * n, lambda n: jnp.where(x > 1, n, 0), lambda n: jnp.stack([n, n]),
                  lambda n: xfront.jit(lambda a: jnp.where(a > 1, n, n))(x), jnp.asarray,
                  lambda n: xfront.grad(lambda a: a * n)(1.0), lambda n: jnp.full(2, n),
                  lambda n: xfront.vmap(lambda _: n)(x), lambda n: xfront.lax.cond(
                      True, lambda: n, lambda: n), lambda n: xfront.jit(jnp.sin)(n)):
            found, wanted = f(n), f(plain)
            assert found.aval == wanted.aval and found.tolist() == wanted.tolist()
    assert x[Level.HIGH] == 2 and jnp.asarray(np.float64(1.0)).weak_type is False


@pytest.mark.parametrize(("dtype", "number"), [
    ("uint32", 2 ** 32 - 1), ("float32", 2 ** 32 - 1), ("float32", 2 ** 70),
    ("bfloat16", -2 ** 40), ("complex64", 2 ** 63), ("bool", 2 ** 70)])
def test_integers_beyond_the_default_in_a_dtype_that_holds_them(dtype: str, number: int) -> None:
    wanted = np.full(2, number if "int" in dtype else float(number)).astype(jnp.dtype(dtype))
    x = jnp.array([1, 2], dtype)
    for make in (lambda: lax.full((2,), number, dtype), lambda: jnp.full((2,), number, dtype),
                 lambda: lax.full_like(x, number), lambda: jnp.full_like(x, number),
                 lambda: jnp.stack([lax.convert_element_type(number, dtype)] * 2)):
        for made in (make(), xfront.jit(make)()):
            assert made.dtype == dtype
            np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32"])
def test_integers_of_64_bits_wrap_in_a_dtype_that_does_not_hold_them(dtype: str) -> None:
    """As smaller ones do where they are converted, and as in JAX; greater ones are refused."""
    x = jnp.zeros(2, dtype)
    makes = [lambda n: lax.full((2,), n, dtype), lambda n: jnp.full((2,), n, dtype),
             lambda n: jnp.full_like(x, n),
             lambda n: jnp.stack([lax.convert_element_type(n, dtype)] * 2)]
    for number in (300, 2 ** 31 + 5, 2 ** 32 + 7, -2 ** 40 - 3, 2 ** 64 - 1, -2 ** 63):
        wanted = np.full(2, number % 2 ** 64, np.uint64).astype(dtype)
        for make in makes:
            np.testing.assert_array_equal(make(number), wanted)
    for make in makes:
        with pytest.raises(OverflowError):
            make(2 ** 64)
        with pytest.raises(OverflowError):
            x.at[0].set(2 ** 32)


def test_arrays_of_float0_have_a_shape_alone():
    float0, x, held = xfront.dtypes.float0, jnp.ones(2), np.zeros(2, xfront.dtypes.float0)
    made = [jnp.zeros(2, float0), jnp.ones(2, float0), jnp.empty(2, float0),
            jnp.full(2, 3, float0), jnp.zeros_like(x, float0), jnp.ones_like(held),
            jnp.full_like(held, 1), jnp.asarray(held), jnp.array(x, float0), x.astype(float0),
            lax.full((2,), 0, float0), xfront.jit(lambda x: jnp.zeros_like(x, float0))(x)]
    assert all((one.dtype, one.shape) == (float0, (2,)) for one in made)


def test_an_object_that_holds_itself_is_refused_and_one_that_holds_a_holder_is_taken():
    class Holder:
        def __init__(self, held=None):
            self.held = held

        def __jax_array__(self):
            return self if self.held is None else self.held

    for f in (jnp.asarray, jnp.sin, lambda x: jnp.ones(2) + x, lambda x: jnp.ones(2)[x], jnp.arange,
              jnp.result_type):
        with pytest.raises(TypeError, match="Holder.__jax_array__ must return an array"):
            f(Holder())
    assert jnp.sin(Holder(Holder(jnp.zeros(())))) == 0
