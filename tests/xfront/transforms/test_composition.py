"""All orders of jit, grad, vmap, scan and cond, nested three deep, over functions with closures.

Each nesting is a function of a vector; its value and gradient are compared with the same function
written as Python loops, and with central differences in float64.
"""

import itertools

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax

FREE = 0.7                                        # closed over by every function


def f_sin(x):
    return jnp.sin(x) * x + FREE


def f_ratio(x):
    return x / (1.5 + jnp.cos(x * FREE))


def f_where(x):
    return jnp.where(x > 0.1, x * x, FREE * x)


FUNCTIONS = {"sin": f_sin, "ratio": f_ratio, "where": f_where}


# Each wrapper takes a function of a scalar to a function of a scalar.

def w_jit(f, c):
    return jax.jit(lambda x: f(x) * c)


def w_grad(f, c):
    return lambda x: jax.grad(lambda y: f(y) * c)(x)


def w_vmap(f, c):
    return lambda x: jnp.sum(jax.vmap(lambda s: f(x * s) * c)(jnp.array([0.5, 1.0, 1.5])))


def w_scan(f, c):
    def run(x):
        def body(carry, s):
            return carry * 0.5 + f(x * s) * c, carry
        last, all_ = lax.scan(body, x * 0.1, jnp.array([0.5, 1.0]))
        return last + jnp.sum(all_)
    return run


def w_cond(f, c):
    return lambda x: lax.cond(x > 0.3, lambda y: f(y) * c, lambda y: y * x, x)


def w_jvp(f, c):
    return lambda x: jax.jvp(lambda y: f(y * c), (x,), (x,))[1]


def w_while(f, c):
    def run(x):
        return lax.fori_loop(0, 3, lambda i, v: v * 0.5 + f(x) * c, x)
    return run


def w_checkpoint(f, c):
    return jax.checkpoint(lambda x: f(x) * c)


WRAPPERS = {w.__name__[2:]: w for w in
            (w_jit, w_grad, w_vmap, w_scan, w_cond, w_jvp, w_while, w_checkpoint)}

# The same in plain Python on float64, with derivatives by complex or central differences.

def n_base(name):
    return {"sin": lambda x: np.sin(x) * x + FREE,
            "ratio": lambda x: x / (1.5 + np.cos(x * FREE)),
            "where": lambda x: x * x if x > 0.1 else FREE * x}[name]


def derivative(f, x):
    h = 1e-3                                      # five points: error of order h^4
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


def n_scan(f, c):
    def run(x):
        carry, total = x * 0.1, 0.0
        for s in (0.5, 1.0):
            total += carry
            carry = carry * 0.5 + f(x * s) * c
        return carry + total
    return run


def n_while(f, c):
    def run(x):
        v = x
        for _ in range(3):
            v = v * 0.5 + f(x) * c
        return v
    return run


NUMPY = {
    "jit": lambda f, c: lambda x: f(x) * c,
    "grad": lambda f, c: lambda x: derivative(f, x) * c,
    "vmap": lambda f, c: lambda x: sum(f(x * s) * c for s in (0.5, 1.0, 1.5)),
    "scan": n_scan,
    "cond": lambda f, c: lambda x: f(x) * c if x > 0.3 else x * x,
    "jvp": lambda f, c: lambda x: derivative(lambda y: f(y * c), x) * x,
    "while": n_while,
    "checkpoint": lambda f, c: lambda x: f(x) * c,
}

POINT = 0.83
NESTINGS = list(itertools.product(WRAPPERS, repeat=3))


def build(names, base, table):
    f = base
    for k, name in enumerate(names):
        f = table[name](f, 0.9 + 0.1 * k)
    return f


@pytest.mark.slow
@pytest.mark.parametrize("outer", WRAPPERS)
def test_nested_three_deep(outer):
    """64 nestings with one outermost wrapper, compiled as one program: values and gradients."""
    names = [n for n in NESTINGS if n[2] == outer]
    functions = [build(n, FUNCTIONS[list(FUNCTIONS)[i % 3]], WRAPPERS)
                 for i, n in enumerate(names)]
    with jax.enable_x64(True):
        x = jnp.asarray(POINT)
        found = jax.jit(lambda x: [jax.value_and_grad(f)(x) for f in functions])(x)
    for i, (n, (value, slope)) in enumerate(zip(names, found, strict=True)):
        expected = build(n, n_base(list(FUNCTIONS)[i % 3]), NUMPY)
        depth = sum(w in ("grad", "jvp") for w in n)
        tolerance = 10.0 ** (-7 + 2 * depth)      # each derivative by differences loses digits
        np.testing.assert_allclose(value, expected(POINT), rtol=tolerance, atol=tolerance,
                                   err_msg=str(n))
        np.testing.assert_allclose(slope, derivative(expected, POINT), rtol=10 * tolerance,
                                   atol=10 * tolerance, err_msg=str(n))


def test_unjitted_nestings_agree_with_jitted():
    for names in [("scan", "grad", "vmap"), ("cond", "vmap", "grad"), ("jit", "grad", "scan"),
                  ("grad", "jit", "grad"), ("while", "jvp", "cond")]:
        f = build(names, f_sin, WRAPPERS)
        np.testing.assert_allclose(f(POINT), jax.jit(f)(POINT), rtol=1e-5, err_msg=str(names))


# --- perturbation confusion ---------------------------------------------------------------------

def test_derivatives_of_different_levels_do_not_meet():
    d = jax.grad
    assert d(lambda x: x * d(lambda y: x + y)(1.0))(1.0) == 1.0
    assert d(lambda x: x * d(lambda y: x * y)(1.0))(3.0) == 6.0
    inner = lambda x: jax.jvp(lambda y: x + y, (1.0,), (1.0,))[1]
    assert jax.jvp(lambda x: x * inner(x), (1.0,), (1.0,))[1] == 1.0
    assert d(lambda x: d(lambda y: y * x * x)(x))(3.0) == 6.0


def test_a_closure_over_the_outer_variable_inside_vmap_of_grad():
    def f(x):
        return jnp.sum(jax.vmap(lambda y: jax.grad(lambda z: z * x * y)(y))(jnp.arange(3.0)))
    assert jax.grad(f)(2.0) == 3.0


def test_jit_in_grad_in_vmap_in_a_scan_body():
    g = jax.jit(lambda x, y: jnp.sin(x) * y)

    def body(c, x):
        slopes = jax.vmap(lambda y: jax.grad(g)(c, y))(x)
        return c + jnp.sum(slopes), slopes

    xs = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    c, ys = lax.scan(body, jnp.float32(0.5), xs)
    expected, rows = 0.5, []
    for x in xs:
        rows.append(np.cos(expected) * x)
        expected += rows[-1].sum()
    np.testing.assert_allclose(c, expected, rtol=1e-5)
    np.testing.assert_allclose(ys, rows, rtol=1e-5)


# --- cond and while under vmap ----------------------------------------------------------------

def test_a_loop_under_a_branch_ends_for_lanes_that_do_not_take_it():
    def f(x):                                     # from 0 the loop would never end
        return lax.cond(x > 0, lambda v: lax.while_loop(lambda s: s < 100.0, lambda s: s * 2.0, v),
                        lambda v: v, x)
    found = jax.vmap(f)(jnp.array([0.0, 1.0, 3.0, -1.0]))
    np.testing.assert_array_equal(found, [0.0, 128.0, 192.0, -1.0])


def test_batched_while_runs_each_lane_to_its_own_end():
    f = lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, 1))[1]
    np.testing.assert_array_equal(jax.vmap(f)(jnp.array([0, 3, 5])), [1, 8, 32])


def test_scan_reverse_gradients_match_a_loop():
    def f(w, xs):
        c, ys = lax.scan(lambda c, x: (jnp.tanh(c * w + x), c * x), 0.1, xs, reverse=True)
        return c + jnp.sum(ys)

    def loop(w, xs):
        c, total = 0.1, 0.0
        for x in list(xs)[::-1]:
            total = total + c * x
            c = jnp.tanh(c * w + x)
        return c + total

    xs = jnp.array([0.3, -0.2, 0.9])
    np.testing.assert_allclose(f(0.5, xs), loop(0.5, xs), rtol=1e-5)
    for ours, theirs in zip(jax.grad(f, (0, 1))(0.5, xs), jax.grad(loop, (0, 1))(0.5, xs),
                            strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)
