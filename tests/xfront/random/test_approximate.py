"""Samplers without loops: JAX's draws, their distributions, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import xfront.numpy as jnp
from tests.recorded.record_approximate import recorded
from xfront import random

RECORDED = Path(__file__).parents[2] / "recorded" / "approximate.json"


def test_draws_are_those_of_jax():
    own = recorded("xfront")
    for name, wanted in json.loads(RECORDED.read_text()).items():
        exact = name.startswith("poisson")
        np.testing.assert_allclose(own[name], wanted, rtol=0 if exact else 1e-4, err_msg=name)


def test_distributions():
    key, n = random.key(3), 20_000
    for a in (0.2, 1.0, 20.0):
        drawn = random.gamma(key, a, (n,), method="approximate")
        assert scipy.stats.kstest(np.asarray(drawn), scipy.stats.gamma(a).cdf).statistic < 0.015
    for rate in (0.5, 6.5, 7.5, 300.0):
        drawn = np.asarray(random.poisson(key, rate, (n,), method="approximate"))
        low, high = drawn.min(), drawn.max()
        counts = np.bincount(drawn - low) / n
        right = scipy.stats.poisson(rate).pmf(np.arange(low, high + 1))
        assert np.abs(counts - right).max() < 0.015, rate


def test_corners_and_refusals():
    key, odd = random.key(0), jnp.array([0.0, -1.0, np.inf, np.nan])
    np.testing.assert_array_equal(random.gamma(key, odd, method="approximate"),
                                  [0.0, np.nan, np.inf, np.nan])
    np.testing.assert_array_equal(random.loggamma(key, odd, method="approximate"),
                                  [-np.inf, np.nan, np.inf, np.nan])
    np.testing.assert_array_equal(random.poisson(key, odd, dtype="int8", method="approximate"),
                                  [0, -1, 127, -1])
    assert random.gamma(key, 2.0, (3,), "bfloat16", method="approximate").dtype == jnp.bfloat16
    for sampler, given in ((random.gamma, (2.0,)), (random.loggamma, (2.0,)),
                           (random.chisquare, (2.0,)), (random.beta, (2.0, 3.0)),
                           (random.poisson, (2.0,))):
        with pytest.raises(ValueError, match="method must be 'exact' or 'approximate'"):
            sampler(key, *given, method="fast")
