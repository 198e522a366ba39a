"""Universal functions as objects: their methods against NumPy's, and functions made from Python."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import xfront as xf
import xfront.numpy as jnp

X = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [0, 5, 3, 5]])
F = (X / 4 - 1).astype(np.float32)
MASK = X > 1
NAMES = ("add bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2 logical_and logical_or "
         "logical_xor maximum minimum multiply subtract").split()
IDENTITIES = {"add": 0, "multiply": 1, "bitwise_and": -1, "bitwise_or": 0, "bitwise_xor": 0,
              "logical_and": True, "logical_or": False, "logical_xor": False,
              "logaddexp": -np.inf, "logaddexp2": -np.inf}


def operand(name: str) -> np.ndarray:
    return F if name.startswith("logadd") else X


def same(made, wanted, name):
    assert np.shape(made) == np.shape(wanted), name
    np.testing.assert_allclose(made, wanted, rtol=2e-6, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_methods(name):
    mine, theirs, x = getattr(jnp, name), getattr(np, name), operand(name)
    initial = x.dtype.type(2)
    places = np.array([0, 2, 0])
    calls = {
        "call": lambda f, x: f(x, x[0]),
        "reduce": lambda f, x: f.reduce(x),
        "axis": lambda f, x: f.reduce(x, axis=-1),
        "keepdims": lambda f, x: f.reduce(x, 1, keepdims=True),
        "initial": lambda f, x: f.reduce(x, 1, initial=initial),
        "where": lambda f, x: f.reduce(x, 1, initial=initial, where=MASK),
        "accumulate": lambda f, x: f.accumulate(x, 1),
        "outer": lambda f, x: f.outer(x[0], x),
        "reduceat": lambda f, x: f.reduceat(x, np.array([0, 3, 1, 1]), 1),
    }
    if name != "subtract":
        calls["axes"] = lambda f, x: f.reduce(x, (0, 1))
        calls["flat"] = lambda f, x: f.reduce(x, axis=None, keepdims=True)
    traced = xf.jit(lambda x: {k: call(mine, x) for k, call in calls.items()})(x)
    for k, call in calls.items():
        same(traced[k], call(theirs, x), f"{name} {k}")
    wanted = x.astype(float) if x is F else x.copy()
    if wanted.dtype == x.dtype or x is F:
        if not name.startswith("logical"):
            theirs.at(wanted, (places, places), x.dtype.type(3))
            same(mine.at(x, (places, places), x.dtype.type(3), inplace=False), wanted, f"{name} at")
    same(mine.reduce(x), calls["reduce"](theirs, x), f"{name} eagerly")
    assert mine.identity == IDENTITIES.get(name)
    assert (mine.nin, mine.nout, mine.nargs, mine.__name__) == (2, 1, 2, name)


def test_they_are_objects():
    for name in (*NAMES, "negative"):
        f = getattr(jnp, name)
        assert isinstance(f, jnp.ufunc) and repr(f) == f"<jnp.ufunc '{name}'>" and f.__doc__
        assert pickle.loads(pickle.dumps(f)) is f and copy.deepcopy(f) is f
    assert not isinstance(jnp.sin, jnp.ufunc)

    class Model:
        combine = jnp.add

    assert Model().combine(1, 2) == 3            # it is no method
    np.testing.assert_array_equal(xf.vmap(jnp.maximum)(F, -F), np.abs(F))
    np.testing.assert_array_equal(xf.jit(jnp.negative)(F), -F)
    slope = xf.grad(lambda x: jnp.multiply.reduce(x) + jnp.subtract.reduce(x))(F[0])
    np.testing.assert_allclose(slope, xf.grad(lambda x: x.prod() + 2 * x[0] - x.sum())(F[0]))


def test_dtypes_of_reductions():
    narrow = X.astype(np.int8)
    assert jnp.add.reduce(narrow).dtype == np.int32
    assert jnp.add.reduce(X, dtype="float32").dtype == np.float32
    assert jnp.add.accumulate(narrow).dtype == np.int8
    assert jnp.subtract.reduce(narrow).dtype == np.int8
    assert jnp.logical_xor.reduce(X).dtype == np.bool_
    assert jnp.maximum.reduce(X, dtype=np.float32).dtype == np.float32
    same(jnp.bitwise_and.reduce(X.astype(np.uint8)), np.bitwise_and.reduce(X), "unsigned")


def test_what_they_refuse():
    nothing = np.zeros((0, 3))
    for call, error, message in (
            (lambda: jnp.subtract.reduce(nothing), ValueError, "no identity"),
            (lambda: jnp.subtract.reduce(X, 1, where=MASK), ValueError, "identity"),
            (lambda: jnp.subtract.reduce(X, (0, 1)), NotImplementedError, "single axis"),
            (lambda: jnp.add.reduce(X, out=X), NotImplementedError, "out"),
            (lambda: jnp.negative.reduce(X), ValueError, "two arguments"),
            (lambda: jnp.negative.outer(X, X), ValueError, "two arguments"),
            (lambda: jnp.add.accumulate(np.float32(1)), ValueError, "must have an axis"),
            (lambda: jnp.add.at(X, 0, 1), NotImplementedError, "inplace=False"),
            (lambda: jnp.add.at(X, 0, inplace=False), ValueError, "cannot be applied to"),
            (lambda: jnp.add.reduceat(X, [0, 1]), TypeError, "jnp.array"),
            (lambda: jnp.add.reduceat(X, np.array([0, 9])), IndexError, "out of range"),
            (lambda: jnp.add.reduceat(X, np.array([0.0])), ValueError, "1-d integers"),
            (lambda: jnp.frompyfunc(3, 1, 1), TypeError, "callable"),
            (lambda: jnp.frompyfunc(abs, 1, 1)(1, 2), TypeError, "takes 1 arguments"),
            (lambda: jnp.add(1, 2, where=True), NotImplementedError, "jnp.where"),
            (lambda: jnp.negative(X, out=X), NotImplementedError, "`out`"),
            (lambda: jnp.modf(X, X), NotImplementedError, "`out`")):
        with pytest.raises(error, match=message):
            call()
    np.testing.assert_array_equal(jnp.add(X, 1, out=None, where=None), X + 1)
    assert jnp.add.reduce(nothing).shape == (3,)
    assert jnp.subtract.accumulate(nothing).shape == (0, 3)
    np.testing.assert_array_equal(
        jnp.negative.at(F, (np.array([1, 1, 2]), 0), inplace=False)[:, 0], F[:, 0] * [1, 1, -1])


def test_functions_from_python():
    def weigh(a, b):
        return a + 2 * b if a.shape == () else 1 / 0

    mine = jnp.frompyfunc(weigh, 2, 1, identity=0)
    theirs = np.frompyfunc(lambda a, b: a + 2 * b, 2, 1)
    for call in (lambda f: f(X, X[0]), lambda f: f.reduce(X), lambda f: f.reduce(X, axis=1),
                 lambda f: f.accumulate(X, 1), lambda f: f.outer(X[0], X[1])):
        same(call(mine), np.asarray(call(theirs), np.int64), "frompyfunc")
    for f, fixed in itertools.product((mine, jnp.add), ("nin", "nout", "nargs", "identity")):
        with pytest.raises(AttributeError, match=fixed):
            setattr(f, fixed, 1)
    assert mine.identity == 0 and mine.reduce(np.zeros(0)) == 0
    low, high = jnp.frompyfunc(lambda a: (a, a + 1), 1, 2)(X)
    np.testing.assert_array_equal(high - low, np.ones_like(X))
    indices = xf.jit(lambda i: mine.reduceat(X[0], i))(np.array([0, 2]))
    np.testing.assert_array_equal(indices, [3 + 2 * 1, 4 + 2 * 1])


def test_running_extremes_of_bools():
    x = np.array([False, True, False])
    assert jnp.maximum.accumulate(x).tolist() == [False, True, True]
    assert jnp.minimum.accumulate(~x).tolist() == [True, False, False]
    assert jnp.maximum.accumulate(x[:0]).dtype == bool
