"""Custom rules with symbolic_zeros=True: they are told what is not differentiated."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import custom_derivatives as cd
from xfront import lax

X = np.arange(1, 4, dtype="f")


def kinds(tangents):
    return "".join("0" if isinstance(t, cd.SymbolicZero) else "t" for t in tangents)


def product(seen):
    f = jax.custom_jvp(lambda x, y: x * y)

    def rule(primals, tangents):
        seen.append(kinds(tangents))
        (x, y), (dx, dy) = primals, tangents
        total = 0.0
        if not isinstance(dx, cd.SymbolicZero):
            total = total + dx * y
        if not isinstance(dy, cd.SymbolicZero):
            total = total + x * dy
        return f(x, y), total

    f.defjvp(rule, symbolic_zeros=True)
    return f


def test_the_type_of_a_zero_of_integers_in_words():
    zero = cd.zero_from_primal(np.arange(2), symbolic_zeros=True)
    assert str(zero.aval) == "float0[2]" and str(jax.random.key(0).aval) == "key<fry>[]"


def test_jvp_rule_is_told_which_tangents_are_zero():
    seen = []
    f = product(seen)
    assert jax.jvp(lambda x: f(x, 2.0), (3.0,), (1.0,))[1] == 2.0
    assert seen[-1] == "t0"
    assert jax.grad(f, 1)(3.0, 2.0) == 3.0
    assert seen[-1] == "0t"
    assert jax.jit(jax.grad(f, (0, 1)))(3.0, 2.0) == (2.0, 3.0)
    assert seen[-1] == "tt"
    np.testing.assert_array_equal(jax.vmap(jax.grad(f), (0, None))(X, 2.0), [2, 2, 2])
    assert seen[-1] == "t0"
    steps = lambda x: lax.scan(lambda c, y: (f(c, y), None), x, X)[0]
    assert jax.grad(steps)(1.0) == 6.0
    assert jax.grad(jax.grad(lambda x: f(x, x)))(1.0) == 2.0


def test_a_rule_may_give_symbolic_zeros_and_integers_have_none():
    f = jax.custom_jvp(lambda x, n: (x * n, x + n))

    def rule(primals, tangents):
        assert tangents[1].dtype == jax.float0 and tangents[1].shape == ()
        return f(*primals), (5.0 * tangents[0], cd.zero_from_primal(primals[0], True))

    f.defjvp(rule, symbolic_zeros=True)
    assert jax.jvp(lambda x: f(x, 2), (3.0,), (1.0,)) == ((6.0, 5.0), (5.0, 0.0))
    assert jax.grad(lambda x: sum(f(x, 2)))(3.0) == 5.0


def test_rules_that_differ_only_where_a_tangent_is_zero_are_two_programs():
    def make(c):
        f = jax.custom_jvp(lambda x, y: x * y)
        f.defjvp(lambda p, t: (f(*p), c * t[0] if kinds(t) == "t0" else t[0] + t[1]),
                 symbolic_zeros=True)
        return f
    assert [float(jax.grad(make(c))(1.0, 1.0)) for c in (1.0, 5.0, 7.0)] == [1.0, 5.0, 7.0]


def test_a_rule_that_refuses_some_derivatives():
    f = jax.custom_jvp(lambda x, y: x * y)

    def rule(primals, tangents):
        if kinds(tangents) != "t0":
            raise NotImplementedError("by x only")
        return f(*primals), tangents[0] * primals[1]

    f.defjvp(rule, symbolic_zeros=True)
    assert jax.grad(f)(3.0, 2.0) == 2.0
    with pytest.raises(NotImplementedError, match="by x only"):
        jax.grad(f, 1)(3.0, 2.0)


# --- custom_vjp ---------------------------------------------------------------------------------

def pair(seen):
    f = jax.custom_vjp(lambda t, y: (t["x"] * y, t["x"] + y))

    def fwd(t, y):
        seen.append(("fwd", t["x"].perturbed, y.perturbed))
        values = cd.custom_vjp_primal_tree_values((t, y))
        saved = values if y.perturbed else (None, values[1])
        return f(*values), saved

    def bwd(saved, cts):
        t, y = saved
        seen.append(("bwd", kinds(cts)))
        first = not isinstance(cts[0], cd.SymbolicZero)
        second = not isinstance(cts[1], cd.SymbolicZero)
        dx = (cts[0] * y if first else 0.0) + (cts[1] if second else 0.0)
        if t is None:
            return {"x": dx}, None
        return {"x": dx}, (cts[0] * t["x"] if first else 0.0) + (cts[1] if second else 0.0)

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return f


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_fwd_knows_what_is_perturbed_and_bwd_what_has_a_cotangent(wrap):
    seen = []
    f = pair(seen)
    assert wrap(jax.grad(lambda x: f({"x": x}, 2.0)[0]))(3.0) == 2.0
    assert ("fwd", True, False) in seen and seen[-1] == ("bwd", "t0")
    assert wrap(jax.grad(lambda x: f({"x": x}, 2.0)[1]))(3.0) == 1.0
    assert seen[-1] == ("bwd", "0t")
    both = wrap(jax.grad(lambda x, y: sum(f({"x": x}, y)), (0, 1)))(3.0, 2.0)
    assert both == (3.0, 4.0)
    assert ("fwd", True, True) in seen and seen[-1] == ("bwd", "tt")


def test_vjp_rule_batched_before_and_after_the_derivative():
    f = pair([])
    loss = lambda x, y: f({"x": x}, y)[0]
    np.testing.assert_array_equal(jax.vmap(jax.grad(loss, (0, 1)), (0, None))(X, 2.0),
                                  [[2, 2, 2], X])
    total = lambda x, y: jnp.sum(jax.vmap(loss, (0, None))(x, y))
    np.testing.assert_array_equal(jax.grad(total)(X, 2.0), [2, 2, 2])
    assert jax.jit(jax.grad(total, 1))(X, 2.0) == 6.0
    assert jax.grad(lambda x: jax.grad(loss)(x, x))(3.0) == 1.0
    moved = jax.jvp(lambda x: f({"x": x}, 2.0), (3.0,), (1.0,))[1]
    assert moved == (2.0, 1.0)


def test_bwd_may_give_symbolic_zeros():
    f = jax.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x.value * y.value, x.value),
             lambda x, ct: (cd.zero_from_primal(x, symbolic_zeros=True), ct), symbolic_zeros=True)
    assert jax.grad(f, (0, 1))(3.0, 2.0) == (0.0, 1.0)


def test_the_classes():
    zero = cd.SymbolicZero(jax.typeof(X))
    assert zero.shape == (3,) and zero.dtype == np.float32 and zero.ndim == 1
    assert jax.tree.leaves(zero) == [zero]
    np.testing.assert_array_equal(cd.zero_from_primal(X), np.zeros(3))
    assert cd.zero_from_primal(np.arange(2)).dtype == jax.float0
    assert cd.custom_vjp_primal_tree_values({"a": cd.CustomVJPPrimal(1.0, True)}) == {"a": 1.0}
    with pytest.raises(TypeError, match="must be CustomVJPPrimal"):
        cd.custom_vjp_primal_tree_values({"a": 1.0})
    with pytest.raises(TypeError, match="not a valid"):
        jnp.add(zero, 1)


def test_names_where_rules_are_written():
    assert cd.custom_jvp is jax.custom_jvp and cd.custom_vjp is jax.custom_vjp
    assert cd.custom_gradient is jax.custom_gradient
    assert cd.closure_convert is jax.closure_convert
    f = cd.custom_gradient(lambda x, y: (jnp.sin(x), lambda ct: (ct * 2, ct * x)))
    assert jax.grad(f, (0, 1))(1.0, 5.0) == (2.0, 1.0)

    def outer(w):
        closed, captured = cd.closure_convert(lambda x: jnp.sum(x * w), 1.0)
        assert len(captured) == 1
        return closed(2.0, *captured)
    assert jax.grad(outer)(3.0) == 2.0
