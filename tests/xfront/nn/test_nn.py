"""nn: values against NumPy and SciPy, derivatives against differences, corners."""

import numpy as np
import pytest
import scipy.special as sp

import xfront
import xfront as jax
import xfront.numpy as jnp
from xfront import nn

X = np.array([-6.5, -2.0, -0.4, 0.3, 0.8, 2.5, 7.0], np.float32)

FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "softplus": lambda x: np.logaddexp(x, 0), "log_sigmoid": lambda x: -np.logaddexp(-x, 0),
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip(x + 1, 0, 2) / 2,
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))),
    "silu": lambda x: x * sp.expit(x), "sigmoid": sp.expit, "tanh": np.tanh,
    "soft_sign": lambda x: x / (1 + np.abs(x)), "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6, "identity": lambda x: x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name):
    f, reference = getattr(nn, name), FUNCTIONS[name]
    np.testing.assert_allclose(f(X), reference(X), rtol=1e-5, atol=1e-6)
    wide = X.astype(np.float64)
    slope = (reference(wide + 1e-5) - reference(wide - 1e-5)) / 2e-5
    np.testing.assert_allclose(xfront.jit(xfront.vmap(xfront.grad(f)))(X), slope, rtol=1e-4,
                               atol=1e-5)


def test_exact_gelu():
    np.testing.assert_allclose(nn.gelu(X, approximate=False), X * sp.ndtr(X), rtol=1e-5, atol=1e-6)


def test_gelu_at_its_ends_and_in_narrow_floats():
    far = np.array([20.5, 1e10, 3e38, np.inf], np.float32)
    first, second = xfront.grad(nn.gelu), xfront.grad(xfront.grad(nn.gelu))
    np.testing.assert_array_equal(nn.gelu(far), far)
    for x, slope in ((far, 1), (-far, 0)):
        np.testing.assert_array_equal(xfront.vmap(first)(x), np.full(4, slope))
        np.testing.assert_array_equal(xfront.vmap(second)(x), np.zeros(4))
    assert all(np.isnan(f(np.float32(np.nan))) for f in (nn.gelu, first, second))
    for dtype, eps in ((np.float16, 2 ** -10), (jnp.bfloat16, 2 ** -7)):
        x = np.linspace(-4, 4, 401).astype(dtype)
        z = x.astype(np.float64)
        u = np.sqrt(2 / np.pi) * (z + 0.044715 * z ** 3)
        chance = 1 / (1 + np.exp(-2 * u))
        slope = chance + 2 * z * chance * (1 - chance) * np.sqrt(2 / np.pi) * (1 + 0.134145 * z * z)
        for got, expected in ((nn.gelu(x), z * chance), (xfront.vmap(first)(x), slope)):
            np.testing.assert_allclose(np.asarray(got).astype(float), expected, rtol=0.6 * eps,
                                       atol=1e-6)


@pytest.mark.parametrize(("name", "slope"), [("relu", 0.0), ("relu6", 0.0), ("softplus", 0.5),
                                             ("elu", 1.0), ("leaky_relu", 1.0), ("silu", 0.5)])
def test_derivative_at_zero(name, slope):
    assert xfront.grad(getattr(nn, name))(0.0) == slope


@pytest.mark.parametrize(("name", "curvature"), [("softplus", 0.25), ("log_sigmoid", -0.25)])
def test_second_derivative_at_zero(name, curvature):
    """Of the logistic function: 1/4, and 0 the third."""
    second = xfront.grad(xfront.grad(getattr(nn, name)))
    assert second(0.0) == curvature
    assert xfront.grad(second)(0.0) == 0


def test_far_ends_have_no_nan():
    x = np.array([-1e4, 1e4, -np.inf, np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(nn.softplus(x), [0, 1e4, 0, np.inf, np.nan])
    np.testing.assert_array_equal(nn.relu(x), [0, 1e4, 0, np.inf, np.nan])
    slopes = xfront.vmap(xfront.grad(nn.softplus))(x[:4])
    np.testing.assert_array_equal(slopes, [0, 1, 0, 1])
    assert np.isfinite(np.asarray(xfront.vmap(xfront.grad(nn.elu))(x[:2]))).all()


def test_dtypes_and_refusals():
    assert nn.relu(np.int32(-3)).dtype == np.int32
    assert nn.relu(1.0).weak_type
    weak = xfront.jit(lambda: jnp.exp(1.0))()
    assert weak.weak_type
    for f in (nn.gelu, nn.logsumexp, nn.softmax, nn.log_softmax, jnp.nan_to_num, jnp.angle):
        given = xfront.lax.broadcast(weak, (3,))
        assert given.weak_type and not f(given).weak_type, f
    assert nn.gelu(np.float16(1)).dtype == np.float16
    for f in (nn.relu, nn.softmax, nn.gelu, nn.logsumexp):
        with pytest.raises(TypeError):
            f([1.0])
    with pytest.raises(TypeError):
        nn.sigmoid(1)


M = np.array([[1.0, 2.0, -np.inf], [0.0, 0.5, 3.0]], np.float32)


def test_softmax_and_logsumexp():
    np.testing.assert_allclose(nn.softmax(M), sp.softmax(M, -1), rtol=1e-6)
    np.testing.assert_allclose(nn.softmax(M, axis=(0, 1)), sp.softmax(M), rtol=1e-6)
    np.testing.assert_allclose(nn.log_softmax(M), sp.log_softmax(M, -1), rtol=1e-6)
    np.testing.assert_allclose(nn.logsumexp(M, axis=1), sp.logsumexp(M, 1), rtol=1e-6)
    np.testing.assert_allclose(nn.logsumexp(M, axis=0, keepdims=True),
                               sp.logsumexp(M, 0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(nn.logmeanexp(M, axis=1), sp.logsumexp(M, 1) - np.log(3), rtol=1e-6)
    assert nn.logsumexp(np.full(2, -np.inf, np.float32)) == -np.inf
    assert nn.logsumexp(np.array([1e4, 1e4], np.float32)) == np.float32(1e4 + np.log(2))
    np.testing.assert_allclose(xfront.grad(nn.logsumexp)(M), sp.softmax(M), rtol=1e-5)
    b = np.array([[1.0, -2.0, 3.0], [0.0, 1.0, 2.0]], np.float32)
    value, sign = nn.logsumexp(M, axis=1, b=b, return_sign=True)
    wanted = sp.logsumexp(M, 1, b=b, return_sign=True)
    np.testing.assert_allclose(value, wanted[0], rtol=1e-6)
    np.testing.assert_array_equal(sign, wanted[1])


def test_masks():
    mask = np.array([[True, False, True], [False, True, True]])
    made = np.asarray(nn.softmax(M, where=mask))
    np.testing.assert_allclose(made[1], [0, *sp.softmax(M[1, 1:])], rtol=1e-6)
    np.testing.assert_allclose(nn.logsumexp(M, axis=1, where=mask)[1], sp.logsumexp(M[1, 1:]),
                               rtol=1e-6)
    assert np.asarray(nn.log_softmax(M, where=mask))[0, 1] == -np.inf


def test_standardize_and_one_hot():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    wanted = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.standardize(x), wanted, rtol=1e-5)
    large = (1e4 * x).astype(np.float16)         # the squares are infinite in f16
    made = nn.standardize(large)
    assert made.dtype == np.float16
    np.testing.assert_allclose(made, wanted, rtol=2e-3, atol=1e-3)
    np.testing.assert_array_equal(nn.one_hot(np.array([1, 5, -1]), 3),
                                  [[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    assert nn.one_hot(np.array([1, 0], np.uint8), 300, dtype=bool, axis=0).shape == (300, 2)
    with pytest.raises(ValueError, match="even size"):
        nn.glu(np.ones(3, np.float32))


def attention(q, k, v, seen):
    k, v = (np.repeat(x, q.shape[2] // x.shape[2], 2) for x in (k, v))
    logits = np.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.shape[-1])
    weights = sp.softmax(np.where(seen, logits, -1e30), -1)
    return np.einsum("bnts,bsnh->btnh", weights, v)


def test_attention():
    r = np.random.RandomState(0)
    q, k, v = (r.randn(2, t, n, 8).astype(np.float32) for t, n in ((5, 4), (6, 2), (6, 2)))
    t, s = np.arange(5)[:, None], np.arange(6)
    cases = [({}, True), ({"is_causal": True}, t >= s),
             ({"local_window_size": (2, 0)}, (s >= t - 2) & (s <= t)),
             ({"mask": np.ones((5, 6), bool)}, True),
             ({"key_value_seq_lengths": np.array([4, 6])},
              s < np.array([4, 6])[:, None, None, None])]
    for options, seen in cases:
        made = nn.dot_product_attention(q, k, v, **options)
        np.testing.assert_allclose(made, attention(q, k, v, seen), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError):
        nn.dot_product_attention(q, k[:, :, :1, :4], v)
    assert nn.dot_product_attention(q[..., :0], k[..., :0], v[..., :0]).size == 0
    half = [x.astype(np.float16) for x in (q, k, v)]
    made = nn.dot_product_attention(*half, return_residual=True)
    assert [x.dtype for x in made] == ["float16", "float16"]


@pytest.mark.parametrize(("options", "match"), [
    ({"query_seq_lengths": np.array([3.0, 5.0])}, "integers of shape"),
    ({"key_value_seq_lengths": np.array([True, True])}, "integers of shape"),
    ({"key_value_seq_lengths": np.array([3])}, "integers of shape"),
    ({"query_seq_lengths": 3}, "integers of shape"),
    ({"key": np.ones((2, 6, 2, 8), np.float16)}, "dtype of query"),
    ({"value": np.ones((2, 6, 2, 8), np.float16)}, "dtype of query")])
def test_operands_of_attention_that_are_refused(options, match):
    k = np.ones((2, 6, 2, 8), np.float32)
    with pytest.raises(ValueError, match=match):
        nn.dot_product_attention(np.ones((2, 5, 4, 8), np.float32), **{"key": k, "value": k,
                                                                       **options})


def test_attention_of_long_sequences_in_blocks(monkeypatch):
    from xfront.nn import attention as module

    r = np.random.RandomState(0)
    q, k, v = (r.randn(2, t, n, 4).astype(np.float32) for t, n in ((37, 4), (23, 2), (23, 2)))
    bias, ways = r.randn(4, 37, 23).astype(np.float32), {
        "causal": {"is_causal": True}, "window": {"local_window_size": (3, 1)},
        "lengths": {"query_seq_lengths": np.array([30, 3]),
                    "key_value_seq_lengths": np.array([4, 23])},
        "mask": {"mask": r.rand(2, 1, 37, 23) > 0.3}, "rows": {"mask": r.rand(23) > 0.3}}

    def all_ways(q, k, v, bias):
        def one(q, k, v, bias, **options):
            made, residual = nn.dot_product_attention(q, k, v, bias, return_residual=True,
                                                      **options)
            return (made * np.cos(np.arange(4))).sum(), (made, residual)

        return {name: jax.grad(one, (0, 1, 2, 3), has_aux=True)(q, k, v, bias, **options)
                for name, options in ways.items()}

    whole = jax.jit(all_ways)(q, k, v, bias)
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    monkeypatch.setattr(module, "_IN_A_BLOCK", 1)
    assert module.block_of(8, 37, 23) == 16
    in_blocks = jax.jit(lambda *a: all_ways(*a))(q, k, v, bias)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6), in_blocks,
                 whole)


def test_attention_needs_no_memory_for_all_logits():
    def loss(q):
        return nn.dot_product_attention(q, q, q, is_causal=True).sum()

    q = jax.ShapeDtypeStruct((1, 8192, 1, 8), "float32")
    used = jax.jit(jax.grad(loss)).lower(q).compile().memory_analysis().temp_size_in_bytes
    assert used < 8192 ** 2 * 4 / 2              # all logits once would be twice as much


@pytest.mark.parametrize(("maker", "variance"), [
    ("glorot_normal", 2 / 150), ("glorot_uniform", 2 / 150), ("he_normal", 2 / 100),
    ("lecun_uniform", 1 / 100), ("he_uniform", 2 / 100), ("lecun_normal", 1 / 100)])
def test_scaled_initializers(maker, variance):
    w = np.asarray(getattr(nn.initializers, maker)()(xfront.random.key(0), (100, 50)))
    assert w.dtype == np.float32
    assert abs(w.var() / variance - 1) < 0.1 and abs(w.mean()) < 0.01


def test_plain_initializers():
    key, init = xfront.random.key(1), nn.initializers
    np.testing.assert_array_equal(init.zeros(key, (2, 3)), np.zeros((2, 3)))
    np.testing.assert_array_equal(init.ones(key, (2,), np.int32), [1, 1])
    np.testing.assert_array_equal(init.constant(2.5)(key, (2,)), [2.5, 2.5])
    assert 0 <= np.asarray(init.uniform(0.1)(key, (50,))).min()
    assert np.asarray(init.normal(2.0)(key, (4000,))).std() == pytest.approx(2.0, rel=0.1)
    assert np.abs(np.asarray(init.truncated_normal(1.0)(key, (500,)))).max() <= 2.0
    with pytest.raises(ValueError):
        init.glorot_normal()(key, (3,))


def test_scaled_matmul() -> None:
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(2, 3, 8)), jnp.float8_e4m3fn)
    y = jnp.asarray(rng.normal(size=(2, 5, 8)), jnp.float8_e4m3fn)
    of_x = jnp.asarray(2.0 ** rng.integers(-3, 4, (2, 3, 2)), jnp.float8_e8m0fnu)
    of_y = jnp.asarray(2.0 ** rng.integers(-3, 4, (2, 5, 2)), jnp.float8_e8m0fnu)
    wide = [np.asarray(v, np.float32) for v in (x, y, of_x, of_y)]
    wanted = np.einsum("bmk,bnk->bmn", wide[0] * np.repeat(wide[2], 4, 2),
                       wide[1] * np.repeat(wide[3], 4, 2))
    made = xfront.jit(nn.scaled_matmul)(x, y, of_x, of_y)
    np.testing.assert_allclose(made, wanted, rtol=1e-5)
    narrow = nn.scaled_matmul(x, y, of_x, of_y, jnp.bfloat16)
    assert narrow.dtype == jnp.bfloat16
    with pytest.raises(ValueError, match="blocks divides k"):
        nn.scaled_matmul(x, y, of_x[..., :1], of_y)
    with pytest.raises(ValueError, match="three axes"):
        nn.scaled_matmul(x[0], y, of_x, of_y)


def test_complex_softplus_no_elements_and_no_classes() -> None:
    x = np.array([1 + 2j, -3j, 0.5], np.complex64)
    np.testing.assert_allclose(nn.softplus(x), np.log1p(np.exp(x.astype(complex))), rtol=1e-5)
    np.testing.assert_allclose(nn.log_sigmoid(x), -np.log1p(np.exp(-x.astype(complex))), rtol=1e-5)
    assert np.isnan(nn.logmeanexp(jnp.zeros(0)))
    with pytest.raises(TypeError, match="num_classes must not be negative"):
        nn.one_hot(jnp.array([1]), -1)


@pytest.mark.parametrize("make", [
    nn.initializers.zeros, nn.initializers.ones, nn.initializers.constant(2.0),
    nn.initializers.normal(), nn.initializers.uniform(), nn.initializers.truncated_normal()])
def test_initializers_take_a_number_for_a_shape(make):
    key = jax.random.key(0)
    np.testing.assert_array_equal(make(key, 3), make(key, (3,)))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
def test_weights_without_elements_are_initialized(shape: tuple[int, ...]) -> None:
    key = xfront.random.key(0)
    assert nn.initializers.glorot_normal()(key, shape).shape == shape
    assert nn.initializers.orthogonal(column_axis=0)(key, shape).shape == shape
    spread = nn.initializers.variance_scaling(1.0, "fan_geo_avg", "uniform")
    assert spread(key, shape).shape == shape
