"""Draws at the ends of an interval."""

from __future__ import annotations

import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import random


def test_the_lowest_uniform_number_is_the_lower_bound():
    # all of the bits that this key draws for its last element make zero
    key = random.wrap_key_data(random.key_data(random.split(random.key(0), 1_000_000)[811_753]))
    assert random.uniform(key, (4,))[3] == 0.0
    tiny = float(jnp.finfo(jnp.float32).tiny)
    assert random.uniform(key, (4,), minval=tiny)[3] > 0.0
    assert jnp.isfinite(jax.jit(lambda k: random.gumbel(k, (4,)))(key)).all()


@pytest.mark.slow
def test_kin_of_gamma_in_eight_bits_are_rounded_draws_of_float32():
    key, draws = random.key(3), {}
    for dtype in ("float8_e4m3fn", "float8_e3m4", "float32"):
        draws[dtype] = jax.jit(lambda dtype=dtype: [
            random.gamma(key, 2.5, (9,), dtype), random.beta(key, 2.0, 3.0, (9,), dtype),
            random.t(key, 3.0, (9,), dtype), random.dirichlet(key, jnp.ones(3), (3,), dtype)])()
    for dtype, drawn in draws.items():
        for x, y in zip(drawn, draws["float32"], strict=True):
            assert x.dtype == dtype and (x == y.astype(dtype)).all()
    with pytest.raises(TypeError, match="random floats of dtype float4_e2m1fn are not supported"):
        random.gamma(key, 2.5, (9,), "float4_e2m1fn")


def test_placements_that_typeof_tells_are_taken():
    key, place = random.key(0), jax.typeof(jnp.ones(3)).sharding
    for draw in (random.normal, random.bits, random.rademacher, random.gumbel):
        assert draw(key, (3,), out_sharding=place).shape == (3,)


def test_keys_are_close_where_they_are_the_same():
    a, b = random.split(random.key(0))
    assert jnp.allclose(a, a) and not jnp.allclose(a, b)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_integers_of_four_bits(dtype):
    drawn = random.randint(random.key(0), (50,), -20, 50, dtype)
    info = jnp.iinfo(dtype)
    assert drawn.dtype == dtype
    assert (int(drawn.astype(int).min()), int(drawn.astype(int).max())) == (info.min, info.max)
    few = random.randint(random.key(0), (5,), 0, 5, dtype).astype(int)
    assert (few == random.randint(random.key(0), (5,), 0, 5)).all()
    assert random.poisson(random.key(0), 2.0, (3,), dtype).dtype == dtype


def test_shapes_of_draws_are_sequences_of_any_class():
    key = random.key(0)
    assert random.choice(key, 5, range(2, 4)).shape == (2, 3)
