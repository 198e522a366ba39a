"""Operators and methods of arrays, of tracers, and of arrays mixed with other things."""

import operator

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp

F = np.array([1.0, -2.5, 3.0], np.float32)
I = np.array([7, -3, 2], np.int32)
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq",
          "ne"]
BITS = ["and_", "or_", "xor"]


def pairs():
    return [(getattr(operator, n), x, y) for n in BINARY
            for x, y in ((F, np.array([2.0, 2.0, 0.5], np.float32)), (F, 2.0), (I, 3))
            if not (n == "pow" and y is F)]


def test_operators_of_arrays_match_numpy():
    for function, x, y in pairs():
        with np.errstate(all="ignore"):
            want = function(x, y)
        got = function(jnp.asarray(x), y)
        np.testing.assert_allclose(np.asarray(got), want, rtol=2e-6, err_msg=function.__name__)
        assert np.dtype(got.dtype).kind == np.asarray(want).dtype.kind


def test_operators_of_tracers_match_numpy():
    results = xfront.jit(lambda: [f(jnp.asarray(x) + np.zeros((), x.dtype), y)
                                  for f, x, y in pairs()])()
    for (function, x, y), got in zip(pairs(), results, strict=True):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(np.asarray(got), function(x, y), rtol=2e-6,
                                       err_msg=function.__name__)


def test_reflected_and_bitwise_operators():
    i, b = jnp.asarray(I), jnp.asarray(I > 0)
    assert (10 - i).tolist() == (10 - I).tolist() and (10 // i).tolist() == (10 // I).tolist()
    assert (10 % i).tolist() == (10 % I).tolist() and (2.0 / i).dtype == np.float32
    assert (2 ** jnp.asarray(np.array([0, 3]))).tolist() == [1, 8]
    assert (np.arange(3) + i).tolist() == (np.arange(3) + I).tolist()
    assert isinstance(np.float32(2) * i, jnp.ndarray)
    for name in BITS:
        function = getattr(operator, name)
        assert function(i, 6).tolist() == function(I, 6).tolist()
        assert function(True, b).tolist() == function(True, I > 0).tolist()
    assert (i << 1).tolist() == (I << 1).tolist() and (i >> 1).tolist() == (I >> 1).tolist()
    assert (~i).tolist() == (~I).tolist() and (-i).tolist() == (-I).tolist()
    assert abs(i).tolist() == abs(I).tolist() and (+i).tolist() == I.tolist()
    assert [v.tolist() for v in divmod(i, 2)] == [v.tolist() for v in divmod(I, 2)]
    assert round(jnp.asarray(F), 1).tolist() == np.round(F, 1).tolist()
    for dtype in ("float32", "bfloat16", "float16", "int8", "uint16"):
        assert round(jnp.asarray([2, 3], dtype)).dtype == np.int32, dtype


@pytest.mark.parametrize("foreign", [[1], "s", None, object(), {}])
def test_foreign_operands_raise(foreign):
    x = jnp.asarray(F)
    for call in (lambda: x + foreign, lambda: foreign - x, lambda: x < foreign,
                 lambda: x ** foreign, lambda: xfront.jit(lambda v: v * foreign)(x)):
        with pytest.raises(TypeError):
            call()


def test_equality_with_foreign_operands():
    x = jnp.asarray(F)
    assert (x == None) is False and (x != None) is True and (x == "s") is False  # noqa: E711
    for other in ([1], (1,), {1}, {}):
        with pytest.raises(TypeError):
            x == other  # noqa: B015
        with pytest.raises(TypeError):
            other != x  # noqa: B015


class Doubling:
    """Takes over when an array does not know it."""

    def __radd__(self, other):
        return "taken over"


class Items(Doubling, list):
    """A list with an operator of its own."""


@pytest.mark.parametrize("other", [Doubling(), Items([1])])
def test_other_classes_may_take_over(other):
    assert jnp.asarray(F) + other == "taken over"
    assert xfront.jit(lambda x: x if x + other == "taken over" else None)(F) is not None


def test_static_powers_are_multiplications():
    text = str(xfront.make_ir(lambda x: x ** 3)(1.0))
    assert "integer_pow" in text
    with pytest.raises(TypeError):
        jnp.asarray(I) ** -2


def test_tracers_are_arrays():
    seen = []
    xfront.jit(lambda x: seen.append(isinstance(x, xfront.Array)) or x)(F)
    assert seen == [True]


def test_methods():
    x = jnp.asarray(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    host = np.asarray(x)
    for name, args in [("sum", ()), ("mean", (0,)), ("max", (1,)), ("min", ()), ("prod", (0,)),
                       ("std", ()), ("var", (1,)), ("any", ()), ("all", (0,)), ("argmax", (1,)),
                       ("argmin", ()), ("cumsum", (1,)), ("reshape", (3, 2)), ("reshape", (-1,)),
                       ("transpose", ()), ("transpose", (1, 0)), ("ravel", ()), ("flatten", ()),
                       ("swapaxes", (0, 1)), ("squeeze", ()), ("clip", (1, 3)), ("round", (1,)),
                       ("take", (np.array([1, 0]),)), ("repeat", (2,)), ("diagonal", ()),
                       ("trace", ()), ("sort", ()), ("argsort", ()), ("conj", ()), ("copy", ()),
                       ("compress", (np.array([True, False]), 0))]:
        got = getattr(x, name)(*args)
        want = host.copy() if name == "copy" else (
                np.sort(host) if name == "sort" else getattr(host, name)(*args))
        want = np.sort(host) if name == "sort" else want
        np.testing.assert_allclose(np.asarray(got), want, err_msg=name)
    np.testing.assert_array_equal(x.T, host.T)
    np.testing.assert_array_equal(x.mT, host.T)
    np.testing.assert_allclose(x @ x.T, host @ host.T)
    np.testing.assert_array_equal(x.astype(int), host.astype(int))
    assert x.real is x or x.real.tolist() == host.tolist()
    assert x.imag.tolist() == np.zeros((2, 3)).tolist()
    assert [i.tolist() for i in x.nonzero()] == [i.tolist() for i in host.nonzero()]
    assert [row.tolist() for row in x] == host.tolist()


def test_view_reads_the_same_bytes():
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    for dtype in ("int32", "int8", "uint16", "complex64"):
        np.testing.assert_array_equal(np.asarray(jnp.asarray(x).view(dtype)), x.view(dtype))
    c = x.view(np.complex64)
    np.testing.assert_array_equal(np.asarray(jnp.asarray(c).view("float32")), x)
    assert jnp.asarray(I).byteswap().tolist() == I.byteswap().tolist()


def test_methods_of_tracers():
    got = xfront.jit(lambda x: (x.sum(), x.T, x.reshape(-1), x.at[0].set(1.0), x[0].astype(int),
                                len(x), x.mean(axis=0)))(np.ones((2, 3), np.float32))
    assert got[0] == 6 and got[1].shape == (3, 2) and got[2].shape == (6,)
    assert got[4].dtype == np.int32 and got[5] == 2


def test_complex_to_real_warns():
    with pytest.warns(DeprecationWarning):
        assert jnp.asarray(np.array([1 + 2j])).astype(float).tolist() == [1.0]


@pytest.mark.parametrize("n", [np.int32(3), np.int64(3), np.uint8(3), np.array(3), jnp.int32(3),
                               jnp.uint8(3), jnp.asarray(3)], ids=range(7))
def test_powers_by_a_known_integer_are_those_by_an_int(n):
    for x in (jnp.array([2, 3], "int8"), jnp.array([2j, -1.5j]), jnp.array(-2), jnp.array([True])):
        for made in (x ** n, jnp.power(x, n), xfront.jit(lambda x: x ** n)(x)):
            want = x ** 3
            assert (made.dtype, made.weak_type) == (want.dtype, want.weak_type)
            np.testing.assert_array_equal(made, want)
    with pytest.raises(TypeError, match="negative"):
        jnp.arange(3) ** np.int32(-3)
    with pytest.raises(TypeError, match="negative"):
        2 ** jnp.int32(-3)
    for base in (2, 2.0, 1j, np.int8(2), np.float16(2), np.arange(3)):
        for made in (base ** jnp.asarray(n), jnp.power(base, n)):
            want = jnp.asarray(base) ** 3
            assert made.dtype == want.dtype
            np.testing.assert_array_equal(made, want)
    assert 2 ** jnp.uint8(9) == 512              # in the dtype of 2
