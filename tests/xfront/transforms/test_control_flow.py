"""cond, switch, while_loop, fori_loop, scan, map: values, types, errors, derivatives."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax

X = jnp.arange(3.0)


def test_cond_operands():
    assert lax.cond(True, lambda x: x + 1, lambda x: x, operand=3.0) == 4
    assert lax.cond(True, lambda _: 1, lambda _: 2, operand=None) == 1
    assert lax.cond(False, lambda _: 1, lambda _: 2, None) == 2
    assert lax.cond(np.bool_(True), lambda: 1, lambda: 2) == 1
    assert lax.cond(0.0, lambda: 1, lambda: 2) == 2
    assert lax.switch(1, [lambda x: x, lambda x: x + 1], operand=1) == 2


def test_the_true_branch_is_traced_first():
    seen = []
    lax.cond(X[0] > 0, lambda: seen.append("true"), lambda: seen.append("false"))
    assert seen == ["true", "false"]


@pytest.mark.parametrize("pred", [None, "a", X > 1])
def test_predicates_are_scalars(pred):
    with pytest.raises(TypeError):
        lax.cond(pred, lambda: 1, lambda: 2)


def test_branches_agree():
    for other in (lambda: (1.0,), lambda: X, lambda: jnp.int32(1)):
        with pytest.raises(TypeError, match="output must have"):
            lax.cond(True, lambda: jnp.float32(1), other)


def test_switch_clamps():
    branches = [lambda x: x, lambda x: x * 2, lambda x: -x]
    assert [float(lax.switch(i, branches, 3.0)) for i in (-5, 0, 1, 2, 7)] == [3, 3, 6, -3, -3]
    for index in (1.0, True, jnp.arange(2)):
        with pytest.raises(TypeError):
            lax.switch(index, branches, 3.0)
    with pytest.raises(ValueError):
        lax.switch(0, [], 3.0)


def test_all_carries_and_results_of_other_types_are_listed():
    x = jnp.ones(3)

    def step(c, _=None):
        return (c[0].astype(jnp.float16), c[1], jnp.ones(2)), None

    for loop, first in (
            (lambda: lax.scan(step, (x, x, x), None, length=2), "carry"),
            (lambda: lax.while_loop(lambda c: True, lambda c: step(c)[0], (x, x, x)), "carry"),
            (lambda: lax.fori_loop(0, 3, lambda i, c: step(c)[0], (x, x, x)), "init_val")):
        with pytest.raises(TypeError, match="identical types, but these differ:") as caught:
            loop()
        lines = str(caught.value).splitlines()
        assert len(lines) == 4 and lines[3].startswith("Convert the initial value")
        assert f"in dtype: {first}[0] has type f32[3]" in lines[1]
        assert f"in shape: {first}[2] has type f32[3]" in lines[2]
    with pytest.raises(TypeError, match="but these differ:") as caught:
        lax.cond(True, lambda: (x, x, 1), lambda: (x.astype(jnp.float16), jnp.ones(2), 1))
    assert "at result[0] they differ in dtype" in str(caught.value)
    assert "at result[1] they differ in shape" in str(caught.value)


def test_while_promotes_weak_carries_only():
    assert lax.while_loop(lambda c: c < 5, lambda c: c + jnp.float32(1), 0.0).dtype == np.float32
    with pytest.raises(TypeError, match="identical types"):
        lax.while_loop(lambda c: c < 5, lambda c: c + 1.5, jnp.int32(0))
    with pytest.raises(TypeError, match="structure"):
        lax.while_loop(lambda c: c < 5, lambda c: (c, c), 0)
    for test in (lambda c: c, lambda c: (c < 5,), lambda c: jnp.ones(2) < 1):
        with pytest.raises(TypeError, match="boolean scalar"):
            lax.while_loop(test, lambda c: c + 1, 0)
    assert jax.grad(lambda x: lax.while_loop(lambda c: c < 5, lambda c: c * 2, x))(1.0) == 8


def test_the_index_of_fori_loop_is_weak():
    kinds = []

    def body(i, c):
        kinds.append((str(i.dtype), i.weak_type))
        return c + i

    assert lax.fori_loop(0, 4, body, jnp.int8(0)).dtype == np.int8
    assert lax.fori_loop(0, 4, body, jnp.float16(0)).dtype == np.float16
    assert jax.jit(lambda n: lax.fori_loop(0, n, body, jnp.int16(0)))(4).dtype == np.int16
    assert set(kinds) == {("int32", True)}
    for bounds in ((jnp.int32(0), jnp.int8(3)), (0, 2.0), (0.0, 2), (jnp.float32(0), 2)):
        with pytest.raises(TypeError, match="equal types"):
            lax.fori_loop(*bounds, body, 0)


def test_bounds_of_fori_loop_may_be_floats():
    def add(i, c):
        assert i.dtype == np.float32
        return c + i

    for low, high in ((0.0, 3.0), (0.5, 3.2), (np.float32(-1), np.float32(1.5)), (2.0, 1.0)):
        want = np.arange(low, high).sum()
        assert lax.fori_loop(low, high, add, 0.0) == want
        assert jax.jit(lambda n, m: lax.fori_loop(n, m, add, 0.0))(low, high) == want
    assert jax.grad(lambda x: lax.fori_loop(0.0, 3.0, lambda i, c: c * x, x))(2.0) == 32
    with pytest.raises(ValueError, match="finite"):
        lax.fori_loop(0.0, np.inf, add, 0.0)
    with pytest.raises(TypeError, match="integer or float"):
        lax.fori_loop(False, True, add, 0.0)


def test_fori_loop_in_reverse_mode():
    def f(x, n):
        return lax.fori_loop(0, n, lambda i, c: c * x, 1.0)

    assert jax.grad(lambda x: f(x, 3))(2.0) == 12
    assert jax.jit(jax.grad(lambda x: f(x, 3)))(2.0) == 12
    assert jax.jit(jax.grad(f))(2.0, 3) == 12


def test_scan_forms():
    last, ys = lax.scan(lambda c, x: (c + x, c), 0.0, X, reverse=True)
    assert last == 3
    np.testing.assert_array_equal(ys, [3, 2, 0])
    for unroll in (2, True, 100):
        np.testing.assert_array_equal(lax.scan(lambda c, x: (c + x, c), 0.0, X, unroll=unroll)[1],
                                      [0, 0, 1])
    assert lax.scan(lambda c, _: (c + 1, None), 0, None, 3) == (3, None)
    none, ys = lax.scan(lambda c, x: (c, x * 2), None, X)
    assert none is None
    np.testing.assert_array_equal(ys, [0, 2, 4])
    assert lax.scan(lambda c, x: (c + x, c), 0.0, jnp.zeros(0))[1].shape == (0,)
    keys = jax.random.split(jax.random.key(0), 3)
    assert lax.scan(lambda c, k: (c, jax.random.normal(k)), 0, keys)[1].shape == (3,)


def test_scan_errors():
    def same(c, x):
        return c, x

    for call in (lambda: lax.scan(same, 0.0, X, length=4), lambda: lax.scan(same, 0.0, None),
                 lambda: lax.scan(same, 0.0, (X, jnp.ones((2, 3)))),
                 lambda: lax.scan(same, 0.0, 1.0)):
        with pytest.raises(ValueError):
            call()
    for body in (lambda c, x: (c + 0.5, c), lambda c, x: ((c, c), c), lambda c, x: c,
                 lambda c, x: (X, c)):
        with pytest.raises(TypeError):
            lax.scan(body, jnp.int32(0), X)


def test_closures_over_several_levels():
    def f(x):
        def g(y):
            inner = lambda c, z: (c + x * y * z, lax.cond(z > 0, lambda: x * y, lambda: y))
            last, ys = lax.scan(inner, 0.0, X)
            return last + jnp.sum(ys)
        return jax.grad(g)(x)

    # g(y) = 3 x y + 2 x y + y
    assert f(2.0) == 11 and jax.jit(f)(2.0) == 11 and jax.grad(f)(2.0) == 5
    np.testing.assert_array_equal(jax.vmap(f)(X), [1, 6, 11])


def test_map_by_batches():
    np.testing.assert_array_equal(lax.map(lambda x: x * 2, jnp.arange(5.0), batch_size=2),
                                  [0, 2, 4, 6, 8])


def test_control_flow_without_jit():
    with jax.disable_jit():
        assert lax.cond(True, lambda: 1, lambda: 2) == 1
        assert lax.fori_loop(0, 3, lambda i, c: c + i, 0) == 3
        np.testing.assert_array_equal(lax.scan(lambda c, x: (c + x, c), 0.0, X)[1], [0, 0, 1])
        assert jax.grad(lambda x: lax.cond(x > 0, lambda: x * 2, lambda: x))(1.0) == 2


def test_bodies_read_complex_constants_of_what_is_around_them():
    @jax.jit
    def f(p, x):
        z, w = jnp.full((2,), 4 + 2j), jnp.complex64(2j)
        chosen = lax.cond(p, lambda: x * z * w, lambda: z - w * x)
        scanned = lax.scan(lambda c, _: (c * z + w, None), x + 0j, length=2)[0]
        looped = lax.while_loop(lambda s: jnp.abs(s[0]) < 10, lambda s: s * z + w, x + 0j)
        return chosen, scanned, looped

    z, twice = 4 + 2j, (4 + 2j) * (4 + 4j) + 2j
    for p, chosen in ((True, z * 2j), (False, z - 2j)):
        for got, wanted in zip(f(p, jnp.ones(2)), (chosen, twice, twice), strict=True):
            np.testing.assert_allclose(got, [wanted] * 2, rtol=1e-6)


@pytest.mark.parametrize("one, other", [
    (1, 2.0), (2.0, 1), (1.0, 1j), (True, 1), (1, np.int8(2)), (1.0, np.float16(2)),
    (1, np.float32(2))])
def test_results_of_different_dtypes_are_refused(one, other):
    for call in (lambda: lax.cond(True, lambda: jnp.asarray(one), lambda: other),
                 lambda: lax.cond(X[0] < 1, lambda: one, lambda: other),
                 lambda: lax.switch(0, [lambda: one, lambda: one, lambda: other]),
                 lambda: jax.jit(lambda p: lax.cond(p, lambda: {"a": one}, lambda: {"a": other}))(
                     True)):
        with pytest.raises(TypeError, match="identical types"):
            call()


def test_weak_results_of_one_dtype_are_one_type():
    made = lax.cond(True, lambda: 1.0, lambda: jnp.float32(2))
    assert made == 1 and not made.weak_type
    assert lax.cond(True, lambda: 1.0, lambda: 2.0).weak_type
    assert lax.cond(True, lambda: jnp.float32(1), lambda: 2.0).weak_type
    assert lax.switch(1, [lambda: 1.0, lambda: jnp.float32(2)]).weak_type
    assert not lax.switch(1, [lambda: jnp.float32(1), lambda: 2.0]).weak_type


@pytest.mark.parametrize("run", [lambda f: f, jax.jit])
def test_results_of_loops_are_as_weak_as_those_of_the_body(run):
    """The body is traced again for another dtype alone, so a number stays one in ys, as in JAX."""
    strong = jnp.float32(0)
    (last, other), (a, b) = run(lambda z: lax.scan(
        lambda c, x: ((c[0] + x, c[0] * c[1]), (c[0], c[0] + x)), (0.0, 0.0), X))(strong)
    assert (last.weak_type, other.weak_type) == (False, True)
    assert (a.weak_type, b.weak_type) == (True, False)
    assert a.tolist() == [0, 0, 1] and (a + jnp.ones(3, jnp.bfloat16)).dtype == jnp.bfloat16
    last, ys = run(lambda z: lax.scan(lambda c, x: (c + x, (c, 2 * c)), 0, X))(strong)
    assert not last.weak_type and not any(y.weak_type for y in ys)    # traced again, for f32
    for made in (run(lambda z: lax.scan(lambda c, x: (1.0, x), z, X)[0])(strong),
                 run(lambda z: lax.while_loop(lambda c: c < 0.5, lambda c: 1.0, z))(strong),
                 run(lambda z: lax.fori_loop(0, 2, lambda i, c: 1.0, z))(strong)):
        assert made == 1 and made.weak_type and made.dtype == np.float32

@pytest.mark.parametrize("init, body", [
    (0.0, lambda c: 5), (np.float32(0), lambda c: 5), (0, lambda c: True),
    (np.int32(0), lambda c: c + 1.0), (np.float16(0), lambda c: c + np.float32(1))])
def test_a_carry_that_changes_its_dtype_is_refused(init, body):
    for call in (lambda: lax.while_loop(lambda c: c < 3, body, init),
                 lambda: lax.scan(lambda c, x: (body(c), x), init, X),
                 lambda: lax.fori_loop(0, 3, lambda i, c: body(c), init)):
        with pytest.raises(TypeError, match="identical types"):
            call()


def test_a_weak_carry_takes_the_dtype_of_what_is_returned():
    assert lax.while_loop(lambda c: c < 3, lambda c: c + 1.5, 0) == 3
    assert lax.scan(lambda c, x: (c + x, x), 0, X)[0].dtype == np.float32
    assert lax.while_loop(lambda c: c < 3, lambda c: c + np.float16(1), 0.0).dtype == np.float16


def test_a_loop_without_jit_carries_arrays():
    with jax.disable_jit():
        n, x = lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1]), (0, np.ones(2)))
    assert isinstance(n, jax.Array) and n.weak_type and n == 5
    assert isinstance(x, jax.Array) and x.shape == (2,)


def test_a_scan_without_steps_has_its_results_without_jit_too():
    with jax.disable_jit():
        carry, ys = lax.scan(lambda c, x: (c, {"y": x * 2}), 1.0, jnp.ones((0, 3)))
    assert carry == 1 and ys["y"].shape == (0, 3)


@pytest.mark.parametrize("bounds", [(0, 2 ** 31), (-2 ** 40, 0), (0, 2 ** 63)])
def test_bounds_of_a_loop_that_its_index_cannot_hold_are_refused(bounds):
    with pytest.raises(OverflowError, match="does not fit"):
        lax.fori_loop(*bounds, lambda i, x: x, 0)
    with pytest.raises(OverflowError, match="does not fit"):
        jax.jit(lambda n: lax.fori_loop(n, bounds[bounds[0] == 0], lambda i, x: x, 0))(0)


def test_the_length_of_a_scan_is_a_whole_number_of_any_kind():
    for length in (3.0, np.float32(3), np.int8(3), jnp.array(3)):
        assert lax.scan(lambda c, _: (c + 1, None), 0, None, length)[0] == 3
    for wrong in (2.5, "3"):
        with pytest.raises(TypeError, match="must be an integer"):
            lax.scan(lambda c, _: (c + 1, None), 0, None, wrong)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda n: lax.scan(lambda c, _: (c + 1, None), 0, None, n))(3)
