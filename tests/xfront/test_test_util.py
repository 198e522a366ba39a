"""check_grads, check_jvp, check_vjp: right derivatives pass, wrong ones do not."""

import functools

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront.test_util import check_grads, check_jvp, check_vjp


def wrong():
    f = jax.custom_jvp(lambda x: jnp.sin(x))
    f.defjvp(lambda p, t: (f(*p), 1.5 * jnp.cos(p[0]) * t[0]))
    return f


def wrong_second():
    f = jax.custom_jvp(lambda x: jnp.sin(x))
    g = jax.custom_jvp(lambda x: jnp.cos(x))
    f.defjvp(lambda p, t: (f(*p), g(p[0]) * t[0]))
    g.defjvp(lambda p, t: (g(*p), jnp.sin(p[0]) * t[0]))
    return f


def test_right_derivatives_of_three_orders():
    x = np.linspace(0.2, 1.1, 5, dtype="f")
    check_grads(lambda x: jnp.sin(x) * jnp.exp(x[0]), (x,), 3)
    check_grads(lambda t, n: {"a": t["x"] * n, "b": n}, ({"x": x}, 3), 2)
    check_grads(lambda z: z * z * (1 + 2j), (np.array([0.3 + 0.2j, -1j], "F"),), 2)
    check_grads(jnp.tanh, (0.5,), 2, modes="rev")


def test_wide_types_have_narrow_tolerances():
    with jax.enable_x64(True):
        check_grads(lambda x: jnp.sum(jnp.log(x) * x), (np.linspace(0.5, 2.0, 4),), 2)
        with pytest.raises(AssertionError):
            check_grads(nearly(), (np.float64(0.5),), 1, modes="fwd")


def nearly():
    f = jax.custom_jvp(lambda x: jnp.sin(x))
    f.defjvp(lambda p, t: (f(*p), 1.0003 * jnp.cos(p[0]) * t[0]))
    return f


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_a_wrong_rule_is_found(mode):
    with pytest.raises(AssertionError, match=mode):
        check_grads(wrong(), (0.5,), 1, modes=(mode,))


def test_a_wrong_second_derivative_is_found_at_order_two_only():
    check_grads(wrong_second(), (0.5,), 1)
    with pytest.raises(AssertionError, match="fwd of fwd|rev of fwd"):
        check_grads(wrong_second(), (0.5,), 2)


def test_single_checks():
    f = lambda x, y: x * jnp.sin(y)
    check_jvp(f, functools.partial(jax.jvp, f), (0.3, 0.4))
    check_vjp(f, functools.partial(jax.vjp, f), (0.3, 0.4))
    with pytest.raises(AssertionError, match="mine"):
        check_jvp(f, lambda p, t: (f(*p), t[0] + t[1]), (0.3, 0.4), err_msg="mine")
    with pytest.raises(AssertionError, match="mine"):
        check_vjp(f, lambda *p: (f(*p), lambda ct: (ct, ct)), (0.3, 0.4), err_msg="mine")


def test_differences_are_taken_at_one_step():
    bent = lambda x: jnp.where(x < 1.002, x, 3 * x - 2.004)
    check_grads(bent, (1.0,), 1)                           # 1e-4 away from 1 there is no kink
    with pytest.raises(AssertionError):
        check_grads(bent, (1.0,), 1, eps=1e-2)
    ripple = jax.custom_jvp(lambda x: x + 3e-3 * jnp.sin(100 * x))
    ripple.defjvp(lambda p, t: (ripple(*p), t[0]))         # of the mean, not at the point
    with pytest.raises(AssertionError):
        check_grads(ripple, (0.0,), 1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_narrow_types_have_their_steps(dtype):
    check_grads(lambda x: x * jnp.sin(x), (jnp.asarray([1.25, 0.5], dtype),), 1)
    twice = jax.custom_jvp(lambda x: x * 1)
    twice.defjvp(lambda p, t: (twice(*p), 2 * t[0]))
    with pytest.raises(AssertionError):
        check_grads(twice, (jnp.asarray(1.25, dtype),), 1)


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="'fwd' and 'rev'"):
        check_grads(jnp.sin, (1.0,), 1, modes=("forward",))
