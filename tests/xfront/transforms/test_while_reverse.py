"""Reverse mode through while_loop and dynamic fori_loop, against Python loops that are unrolled."""

from __future__ import annotations

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax


def looped(x, n):
    return lax.fori_loop(0, n, lambda i, c: jnp.sin(c) * x + 0.1, x)


def unrolled(x, n):
    c = x
    for _ in range(n):
        c = jnp.sin(c) * x + 0.1
    return c


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_dynamic_fori_loop_of_any_order(n):
    x = 1.1
    np.testing.assert_allclose(jax.grad(looped)(x, n), jax.grad(unrolled)(x, n), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(looped))(x, n), jax.grad(unrolled)(x, n),
                               rtol=1e-6)
    second = jax.grad(jax.grad(unrolled))(x, n)
    for twice in (jax.grad(jax.grad(looped)), jax.hessian(looped), jax.jacrev(jax.jacfwd(looped))):
        np.testing.assert_allclose(twice(x, n), second, rtol=1e-5, atol=1e-6)


def test_third_order():
    third = jax.grad(jax.grad(jax.grad(looped)))(1.1, 3)
    np.testing.assert_allclose(third, jax.grad(jax.grad(jax.grad(unrolled)))(1.1, 3), rtol=1e-5)


def test_more_turns_than_checkpoints():
    """The product of 5,000 turns has a derivative that is known, and far fewer are kept."""
    def f(x, n):
        return lax.fori_loop(0, n, lambda i, c: c * (1.0 + x / (i + 1.0) ** 2), 1.0)

    def known(x, n):
        k = np.arange(1.0, n + 1)
        product = np.prod(1 + x / k ** 2)
        return product * np.sum(1 / k ** 2 / (1 + x / k ** 2))

    gradient = jax.jit(jax.grad(f))
    for n in (63, 64, 65, 66, 129, 5000):
        np.testing.assert_allclose(gradient(0.7, n), known(0.7, n), rtol=max(n, 100) * 6e-8)


def test_lanes_with_their_own_number_of_turns():
    xs, ns = jnp.array([1.1, 0.7, 0.3, 1.3]), jnp.array([3, 0, 90, 1])
    each = [jax.grad(looped)(x, n) for x, n in zip(xs, ns, strict=True)]
    np.testing.assert_allclose(jax.vmap(jax.grad(looped))(xs, ns), each, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(lambda xs: jax.vmap(looped)(xs, ns).sum())(xs), each,
                               rtol=1e-5)
    np.testing.assert_allclose(
        jax.vmap(lambda x, n: jax.linearize(lambda x: looped(x, n), x)[1](1.0))(xs, ns), each,
        rtol=1e-5)
    np.testing.assert_allclose(
        jax.vmap(lambda n: jax.jacrev(lambda x: looped(x * jnp.ones(2), n))(0.7))(ns),
        [[jax.grad(looped)(0.7, n)] * 2 for n in ns], rtol=1e-5)
    few = jnp.array([2, 0, 4])
    second = [jax.grad(jax.grad(unrolled))(x, int(n)) for x, n in zip(xs, few, strict=False)]
    np.testing.assert_allclose(jax.vmap(jax.grad(jax.grad(looped)))(xs[:3], few), second,
                               rtol=1e-5, atol=1e-6)


def test_a_lane_that_is_done_gives_no_nan():
    """sqrt has no finite derivative where the first lane ends."""
    def f(x):
        return lax.while_loop(lambda c: c > 0.5, lambda c: jnp.maximum(jnp.sqrt(c) - 0.9, 0.0), x)

    g = jax.vmap(jax.grad(f))(jnp.array([0.6, 50.0]))
    assert np.isfinite(g).all()
    both = jax.grad(lambda x: jax.vmap(f)(x).sum())(jnp.array([0.6, 50.0]))
    np.testing.assert_allclose(both, g, rtol=1e-6)


def test_carries_of_all_kinds_and_constants_of_condition_and_body():
    """Integers, bools, keys; constants add up; the condition reads traced values."""
    def f(w, limit, x):
        def test(c):
            return (c["x"].sum() < limit) & (c["i"] < 40)

        def body(c):
            key, noise = jax.random.split(c["key"])
            step = w @ c["x"] + jax.random.uniform(noise, (3,))
            return {"i": c["i"] + 1, "key": key, "odd": ~c["odd"],
                    "x": jnp.where(c["odd"], step, c["x"] + 0.1 * step * c["i"])}

        start = {"i": 1, "key": jax.random.key(3), "odd": jnp.array(False), "x": x}
        return (lax.while_loop(test, body, start)["x"] ** 2).sum()

    def python(w, x, more):
        i, key, odd = 1, jax.random.key(3), False
        while more(x, i):
            key, noise = jax.random.split(key)
            step = w @ x + jax.random.uniform(noise, (3,))
            x = step if odd else x + 0.1 * step * i
            i, odd = i + 1, not odd
        return (x ** 2).sum(), i

    w = jnp.array([[0.9, 0.2, 0.0], [0.1, 0.7, 0.3], [0.0, 0.2, 1.1]])
    x = jnp.array([0.1, 0.2, 0.3])
    got = jax.grad(f, argnums=(0, 1, 2))(w, 30.0, x)

    turns = python(w, x, lambda x, i: bool(x.sum() < 30.0) and i < 40)[1]
    assert turns > 3
    want = jax.grad(lambda w, x: python(w, x, lambda x, i: i < turns)[0], argnums=(0, 1))(w, x)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    assert got[1] == 0.0
    np.testing.assert_allclose(got[2], want[1], rtol=1e-5)


def test_nested_loops():
    def f(x, n):
        def outer(i, c):
            return lax.fori_loop(0, i, lambda j, d: jnp.sin(d) + x * d, c) * 0.9
        return lax.fori_loop(0, n, outer, x)

    def python(x, n):
        c = x
        for i in range(n):
            d = c
            for _ in range(i):
                d = jnp.sin(d) + x * d
            c = d * 0.9
        return c

    for n in (0, 1, 4):
        np.testing.assert_allclose(jax.grad(f)(0.3, n), jax.grad(python)(0.3, n), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(jax.grad(f))(0.3, 3), jax.grad(jax.grad(python))(0.3, 3),
                               rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(jax.grad(f), (None, 0))(0.3, jnp.array([4, 0, 2])),
                               [jax.grad(python)(0.3, n) for n in (4, 0, 2)], rtol=1e-5)


def test_scan_inside_while_and_while_inside_scan_and_cond():
    ws = jnp.array([0.5, 1.5, 0.8])

    def inside(x, n):
        def turn(i, c):
            return lax.scan(lambda c, w: (jnp.sin(c * w) + x, c), c, ws)[0]
        return lax.fori_loop(0, n, turn, x)

    def around(x, ns):
        return lax.scan(lambda c, n: (looped(c * x, n), c), x, ns)[0]

    def python(x, ns):
        c = x
        for n in ns:
            c = unrolled(c * x, n)
        return c

    def straight(x, n):
        c = x
        for _ in range(n):
            for w in (0.5, 1.5, 0.8):
                c = jnp.sin(c * w) + x
        return c

    np.testing.assert_allclose(jax.grad(inside)(0.4, 3), jax.grad(straight)(0.4, 3), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(around)(0.8, jnp.array([2, 0, 3])),
                               jax.grad(python)(0.8, (2, 0, 3)), rtol=1e-5)

    def chosen(x, n):
        return lax.cond(n > 2, looped, lambda x, n: x * 3.0, x, n)

    np.testing.assert_allclose(jax.grad(chosen)(1.1, 4), jax.grad(unrolled)(1.1, 4), rtol=1e-5)
    assert jax.grad(chosen)(1.1, 2) == 3.0
    np.testing.assert_allclose(
        jax.vmap(jax.grad(chosen), (None, 0))(1.1, jnp.array([4, 2])),
        [jax.grad(unrolled)(1.1, 4), 3.0], rtol=1e-5)


def test_captured_tracers_and_custom_rules_inside():
    @jax.custom_vjp
    def clipped(x):
        return jnp.sin(x)

    clipped.defvjp(lambda x: (clipped(x), x), lambda x, ct: (2.0 * ct * jnp.cos(x),))

    def f(x, y, n):
        z = x * y
        return lax.fori_loop(0, n, lambda i, c: clipped(c) + z * jax.checkpoint(jnp.cos)(c), x)

    def python(x, y, n):
        z, c = x * y, x
        for _ in range(n):
            c = clipped(c) + z * jnp.cos(c)
        return c

    got = jax.jit(jax.grad(f, argnums=(0, 1)))(0.5, 0.7, 4)
    np.testing.assert_allclose(got, jax.grad(python, argnums=(0, 1))(0.5, 0.7, 4), rtol=1e-5)


def test_adaptive_solver_of_a_differential_equation():
    """Heun and Euler with steps that are refused where they differ: y' = -k y, y(1) = y0 exp(-k).

    What the step size depends on has its part in the derivative, which is that of the numbers
    computed, so it is compared with the same steps taken by Python.
    """
    def attempt(k, t, y, h):
        slope = -k * y
        middle = y + h * slope
        better = y + 0.5 * h * (slope - k * middle)
        error = jnp.abs(better - middle)
        accept = error < 1e-3
        grown = h * jnp.clip(0.9 * jnp.sqrt(1e-3 / (error + 1e-12)), 0.3, 2.0)
        after = jnp.minimum(grown, 1.0 - jnp.where(accept, t + h, t))
        return jnp.where(accept, t + h, t), jnp.where(accept, better, y), after, accept

    def solve(k, y0):
        return lax.while_loop(lambda c: c[0] < 1.0 - 1e-6,
                              lambda c: attempt(k, c[0], c[1], c[2])[:3], (0.0, y0, 0.5))[1]

    def python(k, y0, more):
        t, y, h, accepted = 0.0, y0, 0.5, []
        while more(t, len(accepted)):
            t, y, h, accept = attempt(k, t, y, h)
            accepted.append(accept)
        return y, accepted

    value, (dk, dy) = jax.value_and_grad(solve, argnums=(0, 1))(2.0, 1.5)
    np.testing.assert_allclose(value, 1.5 * np.exp(-2.0), rtol=5e-3)
    np.testing.assert_allclose(dk, -value, rtol=5e-2)
    np.testing.assert_allclose(dy, value / 1.5, rtol=5e-2)
    accepted = python(2.0, 1.5, lambda t, n: t < 1.0 - 1e-6)[1]
    n = len(accepted)
    assert 0 < sum(map(bool, accepted)) < n
    same = jax.grad(lambda k, y0: python(k, y0, lambda t, i: i < n)[0], argnums=(0, 1))(2.0, 1.5)
    np.testing.assert_allclose((dk, dy), same, rtol=1e-4)
    np.testing.assert_allclose((dk, dy), jax.jacfwd(solve, argnums=(0, 1))(2.0, 1.5), rtol=1e-4)
    lanes = jax.vmap(jax.grad(solve), (0, None))(jnp.array([2.0, 0.3, 9.0]), 1.5)
    np.testing.assert_allclose(lanes, [jax.grad(solve)(k, 1.5) for k in (2.0, 0.3, 9.0)],
                               rtol=1e-4)


def test_complex_carries_and_vjp():
    def f(z, n):
        return lax.fori_loop(0, n, lambda i, c: c * c * 0.3 + z, z)

    def python(z, n):
        c = z
        for _ in range(n):
            c = c * c * 0.3 + z
        return c

    z = jnp.array(0.3 + 0.4j)
    got = jax.vjp(lambda z: f(z, 4), z)[1](jnp.ones_like(z))
    want = jax.vjp(lambda z: python(z, 4), z)[1](jnp.ones_like(z))
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_linear_transpose_of_loops():
    def turned(v, n):
        return lax.fori_loop(0, n, lambda i, c: c * (2.0 + i) + jnp.roll(c, 1), v)

    v, ct = jnp.ones(4), jnp.arange(4.0)
    want = jax.jacfwd(lambda v: turned(v, 3))(v).T @ ct
    as_scan = jax.linear_transpose(lambda v: turned(v, 3), v)(ct)[0]
    as_while = jax.linear_transpose(lambda v: turned(v, jnp.int32(3)), v)(ct)[0]
    np.testing.assert_array_equal(as_scan, want)
    np.testing.assert_array_equal(as_while, want)
    with pytest.raises(NotImplementedError):
        jax.linear_transpose(lambda v: turned(v, 3) * v, v)(ct)


def test_host_calls_of_the_body_run_once_each_turn():
    seen = []

    def f(x, n):
        def turn(i, c):
            jax.debug.callback(lambda i: seen.append(int(i)), i)
            return jnp.sin(c)
        return lax.fori_loop(0, n, turn, x)

    jax.grad(f)(1.0, 3)
    jax.effects_barrier()
    assert sorted(seen) == [0, 1, 2]


# --- the budget of checkpoints ------------------------------------------------------------------

def reverse_text(f, *args):
    return str(jax.make_ir(jax.grad(f))(*args))


def stepped(x, n, **options):
    return lax.fori_loop(0, n, lambda i, c: jnp.sin(c) * 1.1 + 0.1, x, **options).sum()


def temporary_bytes(f, *args):
    return jax.jit(jax.grad(f)).lower(*args).compile().memory_analysis().temp_size_in_bytes


@pytest.mark.parametrize("count", [1, 2, 5, 300])
def test_any_number_of_checkpoints_gives_the_same_gradient(count):
    expected = jax.grad(unrolled)(1.1, 40)

    def limited(x, n):
        return lax.fori_loop(0, n, lambda i, c: jnp.sin(c) * x + 0.1, x, checkpoints=count)

    np.testing.assert_allclose(jax.grad(limited)(1.1, 40), expected, rtol=1e-5)
    second = jax.grad(jax.grad(limited))(1.1, 6)
    np.testing.assert_allclose(second, jax.grad(jax.grad(unrolled))(1.1, 6), rtol=1e-5)
    xs, ns = jnp.array([1.1, 0.7]), jnp.array([9, 2])
    np.testing.assert_allclose(jax.vmap(jax.grad(limited))(xs, ns),
                               jax.vmap(jax.grad(looped))(xs, ns), rtol=1e-5)


def test_memory_follows_the_budget():
    """The temporary memory of the compiled gradient: rows of 40 kB for each checkpoint."""
    x, row = jnp.ones(10_000), 40_000
    few = temporary_bytes(lambda x, n: stepped(x, n, checkpoints=4), x, 1000)
    many = temporary_bytes(lambda x, n: stepped(x, n, checkpoints=200), x, 1000)
    usual = temporary_bytes(stepped, x, 1000)
    assert few < 20 * row
    assert 196 * row <= many - few <= 1.1 * 196 * row
    assert few < usual < many


def test_a_change_of_the_option_takes_effect():
    x = jnp.ones(8)
    compiled = jax.jit(jax.grad(stepped))
    usual = compiled(x, 20)
    assert "[65,8]" in reverse_text(stepped, x, 20)
    with jax.while_checkpoints(3):
        assert "[4,8]" in reverse_text(stepped, x, 20)
        assert "[4,8]" in str(compiled.trace(x, 20).ir)
        np.testing.assert_allclose(compiled(x, 20), usual, rtol=1e-6)
        with jax.while_checkpoint_bytes(2 * 36):
            assert "[3,8]" in reverse_text(stepped, x, 20)
    assert "[65,8]" in str(compiled.trace(x, 20).ir)
    before = jax.config.jax_while_checkpoints
    try:
        jax.config.update("jax_while_checkpoints", 5)
        assert "[6,8]" in reverse_text(stepped, x, 20)
    finally:
        jax.config.update("jax_while_checkpoints", before)


def test_budgets_that_are_none():
    with pytest.raises(ValueError, match="positive"):
        lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0, checkpoints=0)
    with pytest.raises(ValueError, match="positive"):
        jax.while_checkpoints(0)


def test_lanes_that_are_done_do_not_spoil_the_gradients_of_others() -> None:
    """The slope of the root is infinite where a lane is done; the scale is every lane's."""
    def summed(end, scale):
        return lax.while_loop(
            lambda s: s[0] < end,
            lambda s: (s[0] + 1.0, s[1] + scale * jnp.sqrt(end - s[0])), (0.0, end * scale))[1]

    ends, scale = np.array([0.0, 1.0, 3.0, 2.0, 0.0], np.float32), np.float32(1.5)
    roots = [np.sqrt(np.arange(1, n + 1)).sum() for n in ends]
    slopes = [scale * (1 + (0.5 / np.sqrt(np.arange(1, n + 1))).sum()) for n in ends]
    lanes = jax.vmap(summed, (0, None))
    np.testing.assert_allclose(lanes(ends, scale), scale * (ends + roots), rtol=1e-6)
    of_ends, of_scale = jax.grad(lambda e, s: lanes(e, s).sum(), (0, 1))(ends, scale)
    np.testing.assert_allclose(of_ends, slopes, rtol=1e-6)
    np.testing.assert_allclose(of_scale, (ends + roots).sum(), rtol=1e-6)
    text = jax.jit(lanes).lower(ends, scale).as_text()
    assert "dynamic_slice" not in text            # no search for a lane that runs
