"""LSTMs against a loop in NumPy, and the layout of their weights."""

from __future__ import annotations

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront.experimental import rnn

SIZES = (3, 4, 2)


def by_loop(x, h_0, c_0, weights, lengths, bidirectional):
    W_ih, W_hh, b_ih, b_hh = (
        {k: np.asarray(w, np.float64) for k, w in part.items()} for part in
        rnn.unpack_lstm_weights(weights, *SIZES, bidirectional))
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    directions = 1 + bidirectional
    h, c = np.array(h_0, np.float64), np.array(c_0, np.float64)
    y = np.array(x, np.float64)
    for layer in range(SIZES[2]):
        out = np.zeros((*y.shape[:2], SIZES[1] * directions))
        for way in range(directions):
            k = layer * directions + way
            for row, n in enumerate(lengths):
                for t in (range(n), reversed(range(n)))[way]:
                    i, f, g, o = np.split(
                        W_ih[k] @ y[row, t] + b_ih[k] + W_hh[k] @ h[k, row] + b_hh[k], 4)
                    c[k, row] = sigmoid(f) * c[k, row] + sigmoid(i) * np.tanh(g)
                    h[k, row] = sigmoid(o) * np.tanh(c[k, row])
                    out[row, t, way * SIZES[1]:(way + 1) * SIZES[1]] = h[k, row]
        y = out
    return y, h, c


@pytest.mark.parametrize("bidirectional", [False, True])
def test_lstm(bidirectional):
    key = jax.random.key(0)
    weights = rnn.init_lstm_weight(key, *SIZES, bidirectional)
    layers, lengths = SIZES[2] * (1 + bidirectional), jnp.array([5, 3])
    x = jax.random.normal(key, (2, 5, 3))
    h_0 = jax.random.normal(key, (layers, 2, 4))
    run = lambda w, x: rnn.lstm(x, h_0, -h_0, w, lengths, *SIZES, 0.0, bidirectional)
    for got, want in zip(jax.jit(run)(weights, x),
                         by_loop(x, h_0, -h_0, weights, [5, 3], bidirectional), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)
    slopes = jax.grad(lambda w, x: run(w, x)[0].sum(), (0, 1))(weights, x)
    assert slopes[0].shape == weights.shape and not slopes[1][1, 3:].any()
    jax.test_util.check_grads(lambda x: run(weights, x), (x,), 1, atol=0.02, rtol=0.02)


def test_the_layout_of_weights():
    n = rnn.get_num_params_in_lstm(*SIZES, True)
    assert n == 736 and rnn.get_num_params_in_lstm(3, 4, 1, False) == 144
    firsts = [{k: int(w.ravel()[0]) for k, w in part.items()}
              for part in rnn.unpack_lstm_weights(jnp.arange(n), *SIZES, True)]
    assert firsts == [{0: 0, 1: 112, 2: 224, 3: 416}, {0: 48, 1: 160, 2: 352, 3: 544},
                      {0: 608, 1: 640, 2: 672, 3: 704}, {0: 624, 1: 656, 2: 688, 3: 720}]
    swapped = rnn.swap_lstm_gates(jnp.arange(n), *SIZES, True)
    np.testing.assert_array_equal(swapped[:48], [*range(24), *range(36, 48), *range(24, 36)])
    np.testing.assert_array_equal(rnn.swap_lstm_gates(swapped, *SIZES, True), np.arange(n))
    with pytest.raises(NotImplementedError, match="dropout"):
        rnn.lstm(jnp.ones((2, 5, 3)), None, None, swapped, None, *SIZES, 0.5, True)
    with pytest.raises(ValueError, match="h_0 must have shape"):
        rnn.lstm(jnp.ones((2, 5, 3)), jnp.ones(3), None, swapped, None, *SIZES, 0.0, True)
