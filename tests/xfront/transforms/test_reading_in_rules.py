"""Custom rules and their functions read values with NumPy and `float`, as plain Python would.

What is read has no derivative, so where reading is allowed it gives what `stop_gradient` gives, and
where a derivative would be lost it raises.
"""

import itertools

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.errors import ConcretizationTypeError, TracerArrayConversionError

X = 1.5
ONCE = {
    "value": lambda f: f(X),
    "grad": lambda f: jax.grad(f)(X),
    "vjp": lambda f: jax.vjp(f, X)[1](2.0)[0],
    "by another": lambda f: jax.grad(lambda y: jax.value_and_grad(lambda x: f(x) * y)(X)[0])(2.0),
}
TWICE = {
    "grad of grad": lambda f: jax.grad(jax.grad(f))(X),
    "third": lambda f: jax.grad(jax.grad(jax.grad(f)))(X),
}
FORWARD = {
    "jvp": lambda f: jax.jvp(f, (X,), (1.0,))[1],
    "linearize": lambda f: jax.linearize(f, X)[1](1.0),
}
FORWARD_TWICE = {
    "hessian": lambda f: jax.hessian(f)(X),
    "jacrev of jacfwd": lambda f: jax.jacrev(jax.jacfwd(f))(X),
}
NOWHERE = {"jit": lambda f: jax.jit(jax.grad(f))(X),
           "checkpoint": lambda f: jax.grad(jax.checkpoint(f))(X),
           "vmap": lambda f: jax.vmap(jax.grad(f))(jnp.array([X, 2.0]))}
REFUSED = (TracerArrayConversionError, ConcretizationTypeError)


def read(x):
    return float(np.sum(np.asarray(x)))


def constant(x):
    return 2.0


def with_jvp(body, rule, _):
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x) * body(x)

    @f.defjvp
    def _(primals, tangents):
        (x,), (dx,) = primals, tangents
        return f(x), dx * (3 * jnp.cos(x) * rule(x * 2) + x * rule(f(x)))
    return f


def with_vjp(body, rule, back):
    @jax.custom_vjp
    def f(x):
        return jnp.sin(x) * body(x)

    f.defvjp(lambda x: (f(x), (x * rule(x), x)),
             lambda held, ct: (ct * (held[0] + back(held[0]) * held[1]),))
    return f


def cases():
    for make, body, rule, back in itertools.product(
            (with_jvp, with_vjp), (constant, read), (constant, read), (constant, read)):
        if read in (body, rule, back) and (make is with_vjp or back is constant):
            name = "-".join([make.__name__[5:], *(
                what for what, f in (("body", body), ("rule", rule), ("bwd", back)) if f is read)])
            yield pytest.param(make, (body, rule, back), id=name)


@pytest.mark.parametrize("make, parts", list(cases()))
def test_reading_is_stopping_the_gradient_or_refused(make, parts) -> None:
    reading = make(*parts)
    stopping = make(*[p if p is constant else jax.lax.stop_gradient for p in parts])
    in_rule = read in parts[1:]

    def around(f):
        return lambda x: f(jnp.cos(x)) * f(x)

    twice = TWICE if make is with_vjp else {**TWICE, **FORWARD_TWICE}
    for name, way in {**ONCE, **(FORWARD if make is with_jvp else {}), **twice}.items():
        wanted = way(around(stopping))
        if in_rule and name in twice:
            with pytest.raises(REFUSED):
                way(around(reading))
        else:
            np.testing.assert_allclose(way(around(reading)), wanted, rtol=1e-5, err_msg=name)
    for way in NOWHERE.values():
        with pytest.raises(REFUSED):
            way(around(reading))


def test_a_branch_of_a_function_with_a_rule_under_two_derivatives() -> None:
    @jax.custom_jvp
    def f(x):
        return x * 2 if x > 0 else x

    f.defjvp(lambda p, t: (f(*p), t[0] * (3 if p[0] > 0 else 5)))
    for x, wanted in ((2.0, 18.0), (-2.0, 50.0)):
        for outer, inner in (
                (jax.jacfwd, jax.jacrev), (jax.grad, jax.grad), (jax.jacfwd, jax.grad)):
            assert outer(inner(lambda x: f(x) ** 2))(x) == wanted


def test_a_rule_that_calls_another_function_whose_rule_reads() -> None:
    """The outer derivative goes through that rule, which loses none."""
    @jax.custom_jvp
    def inner(x):
        return x * read(x)

    @jax.custom_jvp
    def outer(x):
        return 2 * inner(x)

    inner.defjvp(lambda p, t: (inner(*p), 2 * read(p[0]) * t[0]))
    outer.defjvp(lambda p, t: (outer(*p), inner(p[0]) * t[0]))
    assert jax.grad(outer)(3.0) == 9.0 and jax.grad(jax.grad(outer))(3.0) == 6.0

    def capturing(x):
        product = jax.custom_jvp(lambda y: y * read(x * y))
        product.defjvp(lambda p, t: (product(*p), t[0]))
        return product(2.0)

    with pytest.raises(REFUSED, match="would lose its derivative"):
        jax.grad(capturing)(3.0)


def test_a_rule_calls_its_function_with_closures_over_its_own_values():
    """Each such call has another rule: they are traced to some depth, and not without end."""
    def run(f, a, start):
        return lax.while_loop(lambda c: jnp.abs(c[0] - c[1]).max() > 1e-6,
                              lambda c: (c[1], f(a, c[1])), (start, f(a, start)))[1]

    fixed = jax.custom_vjp(run, nondiff_argnums=(0,))

    def forward(f, a, start):
        z = fixed(f, a, start)
        return z, (a, z)

    def backward(f, held, g):
        a, z = held
        w = fixed(lambda _, u: g + jax.vjp(lambda z: f(a, z), z)[1](u)[0], a, jnp.zeros_like(g))
        return jax.vjp(lambda a: f(a, z), a)[1](w)[0], jnp.zeros_like(z)

    fixed.defvjp(forward, backward)
    total = lambda a: fixed(lambda a, z: jnp.tanh(a * z + 1), a, jnp.zeros(3)).sum()
    np.testing.assert_allclose(jax.grad(total)(0.3), 0.77331, rtol=1e-3)
    np.testing.assert_allclose(jax.jit(jax.grad(total))(0.3), 0.77331, rtol=1e-3)
    np.testing.assert_allclose(jax.grad(jax.grad(total))(0.3), -0.85958, rtol=1e-3)
