"""composite, platform_dependent, tokens, and XLA's generator."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax


def test_a_composite_computes_its_decomposition_under_its_name():
    cubed = lax.composite(lambda x, *, scale=1.0: scale * x ** 3, "my.cube", version=2)
    assert cubed(2.0, scale=3.0) == 24.0 and isinstance(cubed(2.0), xfront.Array)
    assert xfront.grad(cubed)(2.0) == 12.0
    np.testing.assert_array_equal(xfront.vmap(cubed)(jnp.arange(3.0)), [0.0, 1.0, 8.0])
    text = xfront.jit(cubed).lower(2.0).as_text(debug_info=True)
    assert "my.cube.v2" in text
    with pytest.raises(TypeError, match="function"):
        lax.composite(3, "my.three")


def test_the_platform_chooses():
    def chosen(x, **options):
        return lax.platform_dependent(x, **options)

    twice = {"cpu": lambda x: 2 * x, "default": lambda x: 3 * x}
    assert chosen(1.0, **twice) == 2.0
    assert xfront.grad(lambda x: chosen(x, **twice))(1.0) == 2.0
    assert xfront.jit(lambda x: chosen(x, tpu=lambda x: x, default=lambda x: 3 * x))(1.0) == 3.0
    with pytest.raises(NotImplementedError, match="only for tpu"):
        chosen(1.0, tpu=lambda x: x)


def test_tokens():
    token = lax.create_token()
    assert isinstance(lax.after_all(token, lax.create_token()), type(token))
    x, after = xfront.jit(lambda x, t: (x + 1, lax.after_all(t)))(1.0, token)
    assert x == 2.0 and isinstance(after, type(token))
    with pytest.raises(TypeError, match="must be tokens, got float"):
        lax.after_all(token, 1.0)  # type: ignore[arg-type]


def test_rng_bit_generator():
    key = jnp.array([1, 2, 3, 4], np.uint32)
    state, bits = lax.rng_bit_generator(key, (3, 2))
    assert bits.shape == (3, 2) and bits.dtype == np.uint32 and state.dtype == np.uint32
    again = xfront.jit(lambda k: lax.rng_bit_generator(k, (3, 2)))(key)
    np.testing.assert_array_equal(again[1], bits)
    np.testing.assert_array_equal(again[0], state)
    _, later = lax.rng_bit_generator(state, (3, 2))
    assert (np.asarray(later) != np.asarray(bits)).all()
    philox = lax.rng_bit_generator(key, (5,), algorithm=lax.RandomAlgorithm.RNG_PHILOX)
    np.testing.assert_array_equal(philox[0], [1, 2, 5, 4])      # observed of JAX
    for dtype in ("uint8", "uint16", "uint32"):
        assert lax.rng_bit_generator(key, (4,), dtype)[1].dtype.name == dtype
    _, many = lax.rng_bit_generator(key, (40_000,))
    mean = np.asarray(many, np.float64).mean() / 2 ** 32
    assert abs(mean - 0.5) < 5 * np.sqrt(1 / 12 / 40_000)


@pytest.mark.parametrize(("given", "error", "says"), [
    ({"dtype": np.int32}, TypeError, "int32"),
    ({"key": np.zeros(3, np.uint32)}, TypeError, r"u32\[3\]"),
    ({"algorithm": 7}, ValueError, "RandomAlgorithm"),
    ({"algorithm": lax.RandomAlgorithm.RNG_THREE_FRY}, NotImplementedError, "random.bits"),
])
def test_refusals_of_the_generator(given, error, says):
    with pytest.raises(error, match=says):
        lax.rng_bit_generator(**{"key": np.zeros(4, np.uint32), "shape": (2,), **given})
