"""Custom rules: over tracers of several levels, holding a jit or a scan, told apart by rule."""

import concurrent.futures
import functools

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax


def tripled(f=jnp.sin):
    g = jax.custom_jvp(lambda x: f(x))
    g.defjvp(lambda p, t: (g(*p), 3.0 * t[0]))
    return g


def test_jvp_rule_under_every_transformation():
    g = tripled()
    assert jax.grad(g)(1.0) == 3.0
    assert jax.jvp(g, (1.0,), (2.0,))[1] == 6.0
    np.testing.assert_array_equal(jax.vmap(jax.grad(g))(np.ones(2, "f")), [3, 3])
    np.testing.assert_array_equal(jax.jit(jax.vmap(jax.grad(g)))(np.ones(2, "f")), [3, 3])
    assert jax.grad(jax.grad(g))(1.0) == 0.0
    assert jax.grad(jax.jit(g))(1.0) == 3.0


def test_two_rules_over_one_primal_are_two_programs():
    def make(c):
        @jax.custom_jvp
        def f(x):
            return x * 2.0
        f.defjvp(lambda p, t: (f(*p), c * t[0]))
        return f
    assert [float(jax.grad(make(c))(1.0)) for c in (1.0, 5.0, 7.0)] == [1.0, 5.0, 7.0]


def _holds_itself():
    found: list = [1]
    found.append(found)
    return found


@pytest.mark.parametrize("captured", [
    {"a": 1, ("b",): 2}, [{1: 1, "a": 2}], _holds_itself(), [np.array([object()], object), {}],
    [jax.tree_util.Partial(max, {"a": 1, 2: 3})]], ids=range(5))
def test_what_rules_close_over_is_no_argument(captured):
    f = jax.custom_jvp(lambda x: (captured, x * 2.0)[1])
    f.defjvp(lambda p, t: (captured, f(*p), 3.0 * t[0])[1:])
    g = jax.custom_vjp(lambda x: (captured, x * 2.0)[1])
    g.defvjp(lambda x: (captured, g(x), None)[1:], lambda _, ct: (captured, (5.0 * ct,))[1])
    h = jax.custom_gradient(lambda x: (captured, x, lambda ct: 7.0 * ct)[1:])
    for rule, slope in ((f, 3.0), (g, 5.0), (h, 7.0)):
        assert jax.grad(rule)(1.0) == slope
        np.testing.assert_array_equal(jax.vmap(jax.grad(rule))(jnp.ones(2)), [slope] * 2)


def test_a_rule_finds_tracers_in_nodes_of_a_list():
    def slope(a):
        held = [jax.tree_util.Partial(max, {"a": a, 1: 2}), (a,)][:1]
        f = jax.custom_jvp(lambda x: held[0].args[0]["a"] * x)
        f.defjvp(lambda p, t: (f(*p), held[0].args[0]["a"] * 3.0 * t[0]))
        return jax.grad(f)(1.0)

    assert slope(2.0) == 6.0 and jax.jit(slope)(2.0) == 6.0
    assert jax.grad(slope)(2.0) == 3.0


def test_a_rule_that_closes_over_tracers_of_two_levels():
    def outer(a, b):
        @jax.custom_jvp
        def f(x):
            return x * a
        f.defjvp(lambda p, t: (f(*p), t[0] * b * 10.0))
        return jax.grad(f)(2.0)
    assert outer(3.0, 4.0) == 40.0
    assert jax.grad(outer, 1)(3.0, 4.0) == 10.0
    np.testing.assert_array_equal(jax.vmap(outer)(np.ones(3, "f"), np.arange(3.0)), [0, 10, 20])
    inner = lambda a: jax.jit(lambda b: outer(a, b))(4.0)
    assert jax.jit(inner)(3.0) == 40.0


def scaled(a, x, captured):
    """sin(x) a by a rule that says three times the derivative in x."""
    if captured == "jvp":
        f = jax.custom_jvp(lambda x: jnp.sin(x) * a)
        f.defjvp(lambda p, t: (f(*p), 3.0 * t[0] * jnp.cos(p[0]) * a))
    else:
        f = jax.custom_vjp(lambda x: jnp.sin(x) * a)
        f.defvjp(lambda x: (f(x), (x, a)) if captured == "fwd" else (f(x), (x,)),
                 lambda res, ct: (3.0 * ct * jnp.cos(res[0]) * (res[1] if res[1:] else a),))
    return f(x)


def test_a_rule_that_holds_a_tracer_through_many_functions():
    def g(a):
        def held():
            return a

        def within(f):
            return lambda: f()

        for _ in range(6):
            held = within(held)
        f = jax.custom_jvp(lambda x: jnp.sin(x) * held())
        f.defjvp(lambda p, t: (f(*p), jnp.cos(p[0]) * held() * t[0]))
        return f(2.0 * a)

    slope = np.sin(1.4) + 1.4 * np.cos(1.4)
    np.testing.assert_allclose(jax.grad(jax.jit(g))(0.7), slope, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(g))(0.7), slope, rtol=1e-6)


@pytest.mark.parametrize("captured", ["jvp", "fwd", "bwd"])
def test_rules_capture_tracers_and_what_is_captured_is_differentiated(captured):
    f = functools.partial(scaled, captured=captured)
    wanted = 3 * 2 * np.cos(3.0)
    for g in (jax.grad(f, 1), jax.jit(jax.grad(f, 1)), jax.grad(jax.jit(f), 1)):
        np.testing.assert_allclose(g(2.0, 3.0), wanted, rtol=1e-6)
    for g in (jax.grad(f, (0, 1)), jax.jit(jax.grad(f, (0, 1)))):
        np.testing.assert_allclose(g(2.0, 3.0), (np.sin(3.0), wanted), rtol=1e-6)
    value, dot = jax.jvp(f, (2.0, 3.0), (1.0, 10.0))
    np.testing.assert_allclose(value, 2 * np.sin(3.0), rtol=1e-6)
    np.testing.assert_allclose(dot, np.sin(3.0) + 10 * wanted, rtol=1e-6)
    many = jax.vmap(jax.grad(f, (0, 1)), (0, None))
    for g in (many, jax.jit(many)):
        da, dx = g(jnp.array([2.0, 4.0]), 3.0)
        np.testing.assert_allclose(da, [np.sin(3.0)] * 2, rtol=1e-6)
        np.testing.assert_allclose(dx, [wanted, 2 * wanted], rtol=1e-6)


def test_a_rule_that_holds_a_jit_and_a_scan():
    @jax.custom_vjp
    def f(x, n):
        return lax.scan(lambda c, y: (c * y, c), x, n)[0]

    def fwd(x, n):
        return f(x, n), (x, n)

    def bwd(saved, ct):
        x, n = saved
        total = lax.scan(lambda c, y: (c + y, None), 0.0, n)[0]
        return jax.jit(lambda t: t * ct)(total), jnp.zeros_like(n)

    f.defvjp(fwd, bwd)
    assert jax.grad(f)(2.0, jnp.array([1.0, 2.0, 3.0])) == 6.0
    batch = jax.vmap(jax.grad(f), (0, None))(jnp.ones(2), jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(batch, [3.0, 3.0])


def test_vjp_rule_with_nondiff_arguments_trees_and_none():
    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def f(scale, tree, i):
        return scale * tree["a"] * tree["b"]

    f.defvjp(lambda scale, tree, i: (f(scale, tree, i), tree),
             lambda scale, tree, ct: ({"a": ct * scale, "b": -ct}, None))
    g = jax.grad(lambda t: f(2.0, t, 3))({"a": 1.0, "b": 5.0})
    assert g == {"a": 2.0, "b": -1.0}


def test_forward_mode_of_a_custom_vjp_follows_its_backward_rule():
    f = jax.custom_vjp(lambda x: jnp.sin(x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (5.0 * x * ct,))
    assert jax.grad(f)(2.0) == 10.0
    assert jax.jvp(f, (2.0,), (3.0,))[1] == 30.0
    assert jax.jacfwd(f)(2.0) == jax.jit(jax.jacfwd(f))(2.0) == 10.0
    assert jax.hessian(f)(2.0) == jax.jacfwd(jax.jacfwd(f))(2.0) == 5.0
    x = jnp.array([1.0, 2.0])
    np.testing.assert_array_equal(jax.vmap(jax.jacfwd(f))(x), [5.0, 10.0])
    np.testing.assert_array_equal(jax.jit(jax.vmap(jax.jacfwd(f)))(x), [5.0, 10.0])
    np.testing.assert_array_equal(jax.jvp(jax.vmap(f), (x,), (x,))[1], [5.0, 20.0])
    np.testing.assert_array_equal(jax.hessian(lambda x: f(x).sum())(x), [[5.0, 0.0], [0.0, 5.0]])


def test_forward_mode_of_a_custom_vjp_of_several_arguments():
    @jax.custom_vjp
    def f(x, y, i):
        return x * y, i, {"s": jnp.sin(x)}

    f.defvjp(lambda x, y, i: (f(x, y, i), (x, y)),
             lambda r, ct: (3.0 * ct[0] * r[1] + ct[2]["s"] * jnp.cos(r[0]), 2.0 * ct[0] * r[0],
                            None))

    def g(x):
        product, i, rest = f(x, x + 1.0, 7)
        return product + rest["s"] * i

    want = 3.0 * 3.0 + 2.0 * 2.0 + 7.0 * jnp.cos(2.0)
    np.testing.assert_allclose(jax.grad(g)(2.0), want, rtol=1e-6)
    np.testing.assert_allclose(jax.jacfwd(g)(2.0), want, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.linearize(g, 2.0)[1])(1.0), want, rtol=1e-6)
    np.testing.assert_allclose(jax.jacfwd(jax.grad(g))(2.0), jax.grad(jax.jacfwd(g))(2.0),
                               rtol=1e-6)


def test_forward_mode_of_a_custom_vjp_that_is_not_linear_in_the_cotangent_is_refused():
    f = jax.custom_vjp(lambda x: jnp.sin(x))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (jnp.clip(ct, -1.0, 1.0),))
    assert jax.grad(lambda x: 5.0 * f(x))(1.0) == 1.0
    with pytest.raises(TypeError, match="forward-mode.*cannot be transposed"):
        jax.jvp(f, (1.0,), (1.0,))


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_a_function_among_nondiff_arguments_that_closes_over_a_tracer(mode):
    def program(x, n):
        scaled = lambda v: jnp.sin(v) * n
        if mode == "jvp":
            apply = jax.custom_jvp(lambda g, v: g(v), nondiff_argnums=(0,))
            apply.defjvp(lambda g, p, t: jax.jvp(g, p, t))
        else:
            apply = jax.custom_vjp(lambda g, v: g(v), nondiff_argnums=(0,))
            apply.defvjp(lambda g, v: (g(v), v), lambda g, v, ct: jax.vjp(g, v)[1](ct))
        return jax.checkpoint(lambda v: apply(scaled, v))(x)

    wanted = 2 * np.cos(3.0)
    np.testing.assert_allclose(jax.jit(jax.grad(program))(3.0, 2), wanted, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(jax.jit(program))(3.0, 2), wanted, rtol=1e-6)
    pushed = jax.jit(lambda x, n: jax.jvp(lambda x: program(x, n), (x,), (1.0,))[1])(3.0, 2)
    np.testing.assert_allclose(pushed, wanted, rtol=1e-6)


def test_a_rule_that_captures_and_calls_its_function_with_other_nondiff_arguments():
    def program(x, a):
        power = jax.custom_jvp(lambda n, v: v ** n * a, nondiff_argnums=(0,))
        power.defjvp(lambda n, p, t: (power(n, *p),
                                      (n * power(n - 1, *p) if n > 1 else a) * t[0]))
        return power(3, x)

    for wanted in (60.0, 60.0, 30.0):
        program = jax.grad(program)
        assert jax.jit(program)(2.0, 5.0) == wanted


@pytest.mark.parametrize("loop", [False, True])
def test_forward_mode_of_a_custom_vjp_whose_backward_rule_computes_again(loop):
    def f(x):
        step = jax.checkpoint(lambda c: jnp.sin(c) * x)
        return lax.scan(lambda c, _: (step(c), None), x, length=2)[0] if loop else step(x)

    g = jax.custom_vjp(f)
    g.defvjp(lambda x: jax.vjp(f, x), lambda pull, ct: pull(ct))
    wanted = jax.grad(f)(1.5)
    np.testing.assert_allclose(jax.jvp(g, (1.5,), (1.0,))[1], wanted, rtol=1e-6)
    pull = jax.vjp(f, 1.5)[1]
    (pushed,) = jax.linear_transpose(lambda ct: pull(ct)[0], 1.0)(1.0)
    np.testing.assert_allclose(pushed, wanted, rtol=1e-6)


def test_missing_rules_are_errors():
    with pytest.raises(AttributeError, match="defjvp"):
        jax.custom_jvp(lambda x: x)(1.0)
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda res, ct: ct)
    with pytest.raises(TypeError, match="tuple"):
        jax.grad(f)(1.0)


def test_a_tangent_has_the_dtype_of_its_result() -> None:
    f = jax.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (p[0], np.float32(3)))
    assert jax.jvp(f, (1.0,), (1.0,))[1] == 3
    with pytest.raises(TypeError, match=r"Expected f16\[\], got tangent f32\[\]"):
        jax.grad(f)(jnp.float16(1))


def test_custom_gradient_of_a_function_that_also_gives_an_integer() -> None:
    @jax.custom_gradient
    def f(x):
        return (x * 2.0, jnp.int32(3)), lambda cts: (cts[0] * 5 * x,)

    assert jax.grad(lambda x: f(x)[0])(2.0) == 10.0


def test_a_converted_function_refuses_other_types() -> None:
    closed, _ = jax.closure_convert(lambda x: x * 2, jnp.ones(3))
    with pytest.raises(TypeError, match=r"argument of type f32\[3\], but was called with i32\[3\]"):
        closed(jnp.ones(3, int))


def test_custom_gradient_and_closure_convert():
    @jax.custom_gradient
    def f(x):
        return x ** 2, lambda ct: ct * 7.0 * x
    assert jax.grad(f)(3.0) == 21.0

    def g(y):
        closed, held = jax.closure_convert(lambda x: x * y, 1.0)
        return closed(2.0, *held)
    assert jax.grad(g)(3.0) == 2.0


# --- Python that asks for values --------------------------------------------------------------

@jax.custom_jvp
def kinked(x):
    return x * 2 if x > 0 else x * 3


@kinked.defjvp
def kinked_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return kinked(x), t * (5.0 if x > 0 else 7.0)


@jax.custom_vjp
def bent(x):
    return x * 2 if x > 0 else x * 3


bent.defvjp(lambda x: (bent(x), jnp.sin(x)), lambda s, ct: (ct * (5.0 if s > 0 else 7.0),))


@pytest.mark.parametrize("f", [kinked, bent])
def test_functions_with_rules_may_branch_where_values_are_known(f):
    for x, value, slope in ((1.0, 2.0, 5.0), (-1.0, -3.0, 7.0)):
        assert float(f(x)) == value
        assert float(jax.grad(f)(x)) == slope
        assert [float(y) for y in jax.value_and_grad(lambda y: f(y) * f(y))(x)] == [
            value ** 2, 2 * value * slope]
        pulled = jax.vjp(lambda y: 2 * f(y - 0.0), x)[1](1.0)
        assert float(pulled[0]) == 2 * slope
        assert float(jax.grad(lambda y, x=x: jax.grad(lambda z: f(z) * y)(x))(1.0)) == slope
    for call in (lambda: jax.jit(f)(1.0), lambda: jax.vmap(f)(jnp.ones(2)),
                 lambda: jax.jit(jax.grad(f))(1.0), lambda: jax.vmap(jax.grad(f))(jnp.ones(2)),
                 lambda: jax.grad(jax.jit(f))(1.0)):
        with pytest.raises(jax.errors.TracerBoolConversionError):
            call()
    assert float(jax.jvp(kinked, (-1.0,), (1.0,))[1]) == 7.0


def test_a_tangent_is_never_asked_for_its_value():
    @jax.custom_jvp
    def f(x):
        return x

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * (1 if tangents[0] > 0 else 2)))
    assert float(f(1.0)) == 1.0
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.grad(f)(1.0)


def test_an_untransformed_call_runs_its_function_alone():
    ran = []

    @jax.custom_vjp
    def f(x):
        ran.append("f")
        return x + 1.0

    f.defvjp(lambda x: ran.append("fwd"), lambda s, ct: ran.append("bwd"))
    assert float(f(1.0)) == 2.0 and ran == ["f"]


def refusing(forward, number):
    """A function whose rule, which reads a number, says that there is no derivative."""
    def refuse(*args):
        raise NotImplementedError(f"no derivative at {number}")

    f = jax.custom_jvp(jnp.sin) if forward else jax.custom_vjp(jnp.sin)
    if forward:
        f.defjvp(refuse)
    else:
        f.defvjp(lambda x: (jnp.sin(x), x), refuse)
    return f


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("number", [0.5, 1])     # an integer is no operand of the rule
def test_a_rule_that_refuses_is_asked_for_derivatives_alone(forward, number):
    f, x = refusing(forward, number), jnp.linspace(0.0, 1.0, 3)
    for got in (f(x), jax.jit(f)(x), jax.vmap(f)(x), lax.map(f, x)):
        np.testing.assert_allclose(got, np.sin(x), rtol=1e-6)
    assert jax.eval_shape(f, x).shape == (3,)
    for ask in (jax.grad(lambda x: f(x).sum()), jax.jit(jax.grad(lambda x: f(x).sum()))):
        with pytest.raises(NotImplementedError, match=f"no derivative at {number}"):
            ask(x)


def test_a_rule_that_refuses_over_a_tracer():
    def f(x, c):
        g = jax.custom_jvp(lambda v: v * c)

        @g.defjvp
        def rule(primals, tangents):
            raise NotImplementedError(f"no derivative of {c * 2}")

        return g(x)

    assert jax.jit(f)(2.0, 3.0) == 6.0
    with pytest.raises(NotImplementedError, match="no derivative"):
        jax.jit(jax.grad(f))(2.0, 3.0)


def test_rules_that_call_each_other_by_other_types():
    """Traced while their op is recorded, each of two types finds itself again."""
    scale = 0.5
    f = jax.custom_jvp(lambda x: jnp.sin(x).sum())

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        other = f(x.reshape(()) if x.ndim else x[None])
        return f(x), (jnp.cos(x) * t).sum() * scale + 0.0 * other

    assert jax.jit(jax.grad(f))(1.0) == np.float32(np.cos(np.float32(1.0)) * 0.5)
    assert jax.grad(f)(jnp.ones(1)).shape == (1,)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def power(n, x):
    return x ** n


power.defjvp(lambda n, p, t: (power(n, p[0]), n * power(n - 1.0, p[0]) * t[0]))


def test_a_rule_that_calls_its_function_with_another_number():
    """What it holds is traced when it is asked for: no number of the first call is left in it."""
    second = jax.grad(jax.grad(power, 1), 1)
    for n in (3.5, 2.5, 4.5, 1.5):
        np.testing.assert_allclose(second(n, 2.0), n * (n - 1) * 2.0 ** (n - 2), rtol=1e-6)
        np.testing.assert_allclose(jax.jit(second, static_argnums=0)(n, 2.0),
                                   n * (n - 1) * 2.0 ** (n - 2), rtol=1e-6)


def test_rules_of_one_function_in_several_threads():
    def second(rate):
        f = tripled()
        f.defjvp(lambda p, t: (f(*p), rate * p[0] * t[0]))
        return float(jax.grad(jax.grad(f))(1.5))

    rates = [0.1 * i for i in range(8)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        np.testing.assert_allclose([*pool.map(second, rates)], rates, atol=1e-6)


def counted(refuses=False):
    """A custom_jvp and a custom_vjp of sin, with how often their parts have run."""
    jvps, vjps = {"body": 0, "rule": 0}, {"body": 0, "rule": 0}

    def body(runs):
        def run(x):
            runs["body"] += 1
            return jnp.sin(x)
        return run

    def met(runs):
        runs["rule"] += 1
        if refuses:
            raise ValueError("there is no derivative")

    f, g = jax.custom_jvp(body(jvps)), jax.custom_vjp(body(vjps))
    f.defjvp(lambda p, t: (met(jvps), (jnp.sin(p[0]), jnp.cos(p[0]) * t[0]))[1])
    g.defvjp(lambda x: (met(vjps), (jnp.sin(x), x))[1], lambda x, ct: (jnp.cos(x) * ct,))
    return (f, jvps), (g, vjps)


X = np.ones(3, "f")
FORWARD = {
    "jit": lambda f: jax.jit(f)(X), "vmap": lambda f: jax.vmap(f)(X),
    "jit of vmap": lambda f: jax.jit(jax.vmap(f))(X),
    "scan": lambda f: lax.scan(lambda c, y: (f(c), y), X, jnp.ones(4))[0],
    "cond": lambda f: lax.cond(jnp.sum(X) > 0, f, f, X),
    "jit in jit": lambda f: jax.jit(lambda x: jax.jit(f)(x) * 2.0)(X),
    "call": lambda f: f(X), "lower": lambda f: jax.jit(f).lower(X).compile()(X)}
DERIVED = {
    "grad": lambda f: jax.grad(lambda x: f(x).sum())(X), "vjp": lambda f: jax.vjp(f, X)[1](X),
    "jit of grad": lambda f: jax.jit(jax.grad(lambda x: f(x).sum()))(X),
    "grad of jit": lambda f: jax.grad(lambda x: jax.jit(f)(x).sum())(X),
    "vmap of grad": lambda f: jax.vmap(jax.grad(f))(X),
    "grad of scan": lambda f: jax.grad(
        lambda x: lax.scan(lambda c, y: (f(c), y), x, jnp.ones(4))[0].sum())(X)}


@pytest.mark.parametrize("use", FORWARD)
def test_without_derivatives_a_rule_does_not_run(use):
    """Nor does it matter that it refuses."""
    for f, runs in (*counted(), *counted(refuses=True)):
        FORWARD[use](f)
        assert runs["rule"] == 0 and runs["body"] in (1, 2), runs   # cond: two branches


@pytest.mark.parametrize("use", DERIVED)
def test_with_derivatives_a_rule_runs_once(use):
    """In place of the body, unless that is staged."""
    for f, runs in counted():
        DERIVED[use](f)
        assert runs == {"body": use in ("grad of jit", "grad of scan"), "rule": 1}
    for f, _ in counted(refuses=True):
        with pytest.raises(ValueError, match="there is no derivative"):
            DERIVED[use](f)


def test_a_rule_that_refuses_does_not_matter_where_nothing_flows_through_it():
    for f, _ in counted(refuses=True):
        found = jax.grad(lambda x, f=f: (x * f(lax.stop_gradient(x))).sum())(X)
        np.testing.assert_allclose(found, np.sin(X), rtol=1e-6)


def test_functions_that_share_a_program_keep_their_own_derivatives():
    """The program of the value is one; in whatever order they are asked for."""
    def make(c):
        f = jax.custom_jvp(lambda x: x * 2.0)
        f.defjvp(lambda p, t: (p[0] * 2.0, t[0] * c))
        return jax.jit(f)

    fs = [make(float(c)) for c in range(1, 4)]
    for f in fs:
        assert f(1.5) == 3.0
    assert [float(jax.grad(f)(1.5)) for f in fs] == [1.0, 2.0, 3.0]
    assert [float(jax.jit(jax.grad(f))(1.5)) for f in reversed(fs)] == [3.0, 2.0, 1.0]
    for f in [make(4.0), make(5.0)]:
        rate = float(jax.grad(f)(1.5))
        assert f(1.5) == 3.0 and rate == float(jax.jvp(f, (1.5,), (1.0,))[1])


@pytest.mark.parametrize(("args", "cotangents", "wanted"), [
    ({"a": 1.0}, lambda g: (g,), {"a": 3.0}),
    ({"a": 1.0, "b": 2.0}, lambda g: (g,), {"a": 3.0, "b": 3.0}),
    ({"a": [1.0]}, lambda g: ({"a": g},), {"a": [3.0]}),
    ({"a": [1.0, 2.0], "b": 1.0}, lambda g: ({"a": g, "b": None},), {"a": [3.0, 3.0], "b": 0.0}),
    ({"a": [1.0, 2.0], "b": 1.0}, lambda g: ({"a": None, "b": g},), {"a": [0.0, 0.0], "b": 3.0}),
])
def test_cotangents_in_a_prefix_of_the_arguments(args, cotangents, wanted):
    f = jax.custom_vjp(lambda p: sum(jax.tree.leaves(p)))
    f.defvjp(lambda p: (f(p), None), lambda saved, g: cotangents(3.0 * g))
    assert jax.grad(f)(args) == wanted


@pytest.mark.parametrize("cotangents", [lambda g: ({"a": g},), lambda g: ([g],)])
def test_cotangents_in_another_tree_than_the_arguments(cotangents):
    f = jax.custom_vjp(lambda p: p["a"] + p["b"])
    f.defvjp(lambda p: (f(p), None), lambda saved, g: cotangents(g))
    with pytest.raises(TypeError, match="tree of its arguments"):
        jax.grad(f)({"a": 1.0, "b": 2.0})


def test_attributes_of_the_function_do_not_stand_for_its_own() -> None:
    def plain(x):
        return jnp.sin(x)

    plain.definition, plain.rule, plain.jvp, plain.note = 3, 4, 5, "kept"  # type: ignore
    f = jax.custom_jvp(plain)
    f.defjvp(lambda p, t: (f(*p), 2 * t[0]))
    assert float(jax.grad(f)(1.0)) == 2 and f.note == "kept"  # type: ignore
    with pytest.raises(AttributeError, match="No JVP defined"):
        jax.custom_jvp(f)(1.0)


def test_a_keyword_only_parameter_with_a_default_is_the_function_s_own():
    def f(x, *, k=2.0):
        return x * k

    for fun, wanted in ((f, 2.0), (functools.partial(f, k=3.0), 3.0)):
        made = jax.custom_jvp(fun)
        made.defjvp(lambda primals, tangents, fun=fun: (fun(*primals), tangents[0] * 7))
        assert made(1.0) == wanted and jax.grad(made)(1.0) == 7
        with pytest.raises(TypeError, match="keyword-only arguments, but got k"):
            made(1.0, k=5.0)


def test_rules_for_each_argument_of_a_function_with_a_tree_of_results():
    f = jax.custom_jvp(lambda x, y: {"a": x * y, "b": x})
    f.defjvps(lambda t, value, x, y: {"a": 10 * t, "b": t},
              lambda t, value, x, y: {"a": value["b"] * t, "b": 0 * t})
    made = jax.jit(jax.jacfwd(f, (0, 1)))(2.0, 3.0)
    assert made == {"a": (10, 2), "b": (1, 0)}
    f.defjvps(None, None)
    assert jax.jvp(f, (2.0, 3.0), (1.0, 1.0)) == ({"a": 6, "b": 2}, {"a": 0, "b": 0})


def test_closure_convert_moves_what_a_derivative_may_be_taken_by():
    i, key = jnp.arange(3), jax.random.key(0)

    def f(y, n):
        closed, captured = jax.closure_convert(
            lambda x: x * y + n + i.sum() + jax.random.uniform(key), 1.0)
        assert [(x.dtype, x.shape) for x in captured] == [(jnp.float32, ())]
        return closed(2.0, 3.0 * captured[0])

    plain, moved = jax.closure_convert(lambda x: x + i.sum(), 1.0)
    assert moved == [] and plain(2.0) == 5
    for run in (f, jax.jit(f)):
        np.testing.assert_allclose(jax.grad(run)(2.0, 3), 6.0)
    assert jax.vmap(jax.grad(f))(jnp.ones(3), i).tolist() == [6, 6, 6]


def test_custom_gradient_keeps_what_no_derivative_is_taken_by():
    @jax.custom_gradient
    def positive(x):
        mask, n = x > 0, jnp.argmax(x)
        return jnp.where(mask, x, 0), lambda ct: (jnp.where(mask, ct, 0) * n,)

    x = jnp.array([1.0, -2.0, 3.0])
    pulled = jax.grad(lambda x: positive(x).sum())
    for run in (pulled, jax.jit(pulled)):
        np.testing.assert_array_equal(run(x), [2, 0, 2])
    np.testing.assert_array_equal(jax.vmap(pulled)(jnp.stack([x, -x])), [[2, 0, 2], [0, 1, 0]])
