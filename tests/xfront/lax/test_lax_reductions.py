"""Reductions, windows, running reductions, sorting, associative_scan."""

import numpy as np
import pytest
import scipy.special

import xfront
from xfront import lax

M = np.random.RandomState(0).randn(4, 5).astype(np.float32)


def close(made, wanted, **kw):
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-5, **kw)


@pytest.mark.parametrize(("name", "reference"), [
    ("reduce_sum", np.sum), ("reduce_prod", np.prod), ("reduce_max", np.max),
    ("reduce_min", np.min)])
def test_reductions(name, reference):
    f = getattr(lax, name)
    close(f(M, (0,)), reference(M, 0))
    close(f(M, (0, 1)), reference(M))


def test_logical_reductions():
    i = (M * 9).astype(np.int32)
    close(lax.reduce_and(i, (0,)), np.bitwise_and.reduce(i, 0))
    close(lax.reduce_or(M > 0, (1,)), (M > 0).any(1))
    close(lax.reduce_xor(i, (1,)), np.bitwise_xor.reduce(i, 1))


def test_any_reduction():
    close(lax.reduce(M, 2.0, lax.add, (0,)), M.sum(0) + 2)
    total, product = lax.reduce((M, M), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,))
    close(total, M.sum(1))
    close(product, M.prod(1))
    with pytest.raises(ValueError, match="tree"):
        lax.reduce((M,), 0.0, lax.add, (0,))


def windows(x, fold):
    return np.array([[fold(x[i:i + 2, j:j + 2]) for j in range(x.shape[1] - 1)]
                     for i in range(x.shape[0] - 1)])


@pytest.mark.parametrize(("init", "f", "fold"), [
    (0.0, lax.add, np.sum), (1.0, lax.add, lambda w: w.sum() + 1), (-np.inf, lax.max, np.max),
    (1.0, lax.mul, np.prod), (0.5, lax.min, lambda w: min(w.min(), 0.5)),
    (0.0, lambda a, b: lax.log(lax.exp(a) + lax.exp(b)),
     lambda w: scipy.special.logsumexp(np.append(w.ravel(), 0.0)))])
def test_windows(init, f, fold):
    close(lax.reduce_window(M, init, f, (2, 2), (1, 1), "VALID"), windows(M, fold))
    padded = lax.reduce_window(M, init, f, (2, 2), (1, 1), ((0, 1), (0, 1)))
    close(padded[:-1, :-1], windows(M, fold))
    close(padded[-1, -1], fold(M[-1:, -1:]))


def test_windows_with_gaps_and_derivative():
    made = lax.reduce_window(M, 0.0, lax.add, (2, 1), (2, 1), "VALID", None, (2, 1))
    close(made, (M[:2] + M[2:])[::2])
    slope = xfront.grad(lambda m: lax.reduce_window(m, -np.inf, lax.max, (4, 5), (1, 1),
                                                    "VALID").sum())(M)
    close(slope, M == M.max())
    with pytest.raises(TypeError):
        lax.reduce_window(M, 0.0, lax.add, (2,), (1,), "VALID")


def test_running():
    close(lax.cumsum(M, 1), np.cumsum(M, 1))
    close(lax.cumprod(M, 0, reverse=True), np.cumprod(M[::-1], 0)[::-1])
    close(lax.cummax(M, 1), np.maximum.accumulate(M, 1))
    close(lax.cummin(M), np.minimum.accumulate(M, 0))
    close(lax.cumlogsumexp(M, 1), np.logaddexp.accumulate(M, 1))
    with pytest.raises(ValueError, match="negative"):
        lax.cumsum(M, -1)


def test_places_and_order():
    close(lax.argmax(M, 1, "int32"), M.argmax(1))
    close(lax.sort(M, 0), np.sort(M, 0))
    keys, values = lax.sort_key_val(M, np.arange(20).reshape(4, 5))
    close(keys, np.sort(M))
    close(np.asarray(values) % 5, np.argsort(M))
    best, at = lax.top_k(M, 2)
    close(best, -np.sort(-M)[:, :2])
    close(at, np.argsort(-M)[:, :2])
    close(lax.approx_min_k(M, 1)[0][:, 0], M.min(1))
    nan = np.array([1, np.nan, -np.inf], np.float32)
    close(lax.sort(nan), [-np.inf, 1, np.nan])


@pytest.mark.parametrize(("error", "call"), [
    (ValueError, lambda: lax.reduce_sum(M, (-1,))), (TypeError, lambda: lax.reduce_sum(M, 0)),
    (TypeError, lambda: lax.reduce_sum(M > 0, (0,))), (TypeError, lambda: lax.reduce_and(M, (0,))),
    (ValueError, lambda: lax.argmax(M, 2, int)), (TypeError, lambda: lax.argmax(M, 0, float)),
    (ValueError, lambda: lax.top_k(M, 6)),
    (ValueError, lambda: xfront.eval_shape(
        lambda x: lax.top_k(x, 1), xfront.ShapeDtypeStruct((2 ** 31,), np.int8))),
    (ValueError, lambda: lax.sort((M, M), num_keys=3)),
    (ValueError, lambda: lax.sort(M, dimension=2)),
    (TypeError, lambda: lax.reduce_precision(1, 5, 10))])
def test_errors(error, call):
    with pytest.raises(error):
        call()


def test_associative_scan():
    close(lax.associative_scan(lax.add, M), np.cumsum(M, 0))
    close(lax.associative_scan(lax.mul, M, reverse=True, axis=1),
          np.cumprod(M[:, ::-1], 1)[:, ::-1])

    def affine(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    gains, values = lax.associative_scan(affine, (M, M))
    x, wanted = np.zeros(5), []
    for row in M:
        x = x * row + row
        wanted.append(x)
    close(values, wanted)
    close(gains, np.cumprod(M, 0))
    halves = xfront.numpy.full(3, 0.5)
    assert halves.weak_type
    assert not any(lax.associative_scan(lax.add, halves[:n]).weak_type for n in (2, 3))
    close(xfront.grad(lambda m: lax.associative_scan(lax.add, m)[-1].sum())(M), np.ones_like(M))
    with pytest.raises(ValueError, match="the same size along"):
        lax.associative_scan(lax.add, (M, M[:2]))
    with pytest.raises(TypeError):
        lax.associative_scan(3, M)
