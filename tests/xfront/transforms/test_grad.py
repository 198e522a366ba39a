"""grad, value_and_grad, jvp, linearize, Jacobians: arguments, aux, dtypes, errors."""

import functools

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp

FLOAT0 = np.zeros((), jax.float0)


def f(x, y, z):
    return x * y + z * z


def test_argnums():
    assert jax.grad(f, (0, 2))(1.0, 2.0, 3.0) == (2, 6)
    assert jax.grad(f, -1)(1.0, 2.0, 3.0) == 6
    assert jax.value_and_grad(f, [1])(1.0, 2.0, 3.0) == (11, (1,))
    assert jax.grad(f, np.int64(1))(1.0, 2.0, 3.0) == 1
    assert jax.grad(f, np.array([1, 0]))(1.0, 2.0, 3.0) == (1, 2)
    assert jax.jacfwd(f, np.uint8(1))(1.0, 2.0, 3.0) == 1
    assert jax.jacrev(f, np.int8(1))(1.0, 2.0, 3.0) == 1
    for wrong in (1.0, None, "x", (0, 1.0)):
        with pytest.raises(TypeError, match="argnums must be an int"):
            jax.grad(f, wrong)


@pytest.mark.parametrize(("argnums", "kind"), [
    (1, TypeError), (-2, ValueError), ((0, 0), TypeError), ((0, -1), TypeError)])
def test_argnums_that_do_not_exist_or_repeat(argnums, kind):
    """The classes are those of JAX."""
    with pytest.raises(kind, match="argnums"):
        jax.grad(lambda x: x, argnums)(1.0)


def test_keyword_arguments_are_not_differentiated():
    assert jax.grad(lambda x, *, k=1: x * k)(1.0, k=3) == 3
    with pytest.raises(TypeError, match="positional"):
        jax.grad(lambda x: x)(x=1.0)


def test_aux_may_hold_anything():
    g, aux = jax.grad(lambda x: (x * x, {"a": x * 2, "s": "text", "n": None, "o": object}),
                      has_aux=True)(2.0)
    assert g == 4 and aux["a"] == 4 and aux["s"] == "text" and aux["o"] is object
    value, pull, aux = jax.vjp(lambda x: (x * x, ["s", x]), 2.0, has_aux=True)
    assert value == 4 and pull(1.0) == (4,) and aux[0] == "s" and aux[1] == 2
    assert jax.jvp(lambda x: (x * x, "s"), (2.0,), (1.0,), has_aux=True) == (4, 4, "s")
    value, move, aux = jax.linearize(lambda x: [x * x, "s"], 2.0, has_aux=True)
    assert value == 4 and move(1.0) == 4 and aux == "s"
    with pytest.raises(TypeError, match="pair"):
        jax.grad(lambda x: x, has_aux=True)(1.0)


def test_integer_arguments():
    with pytest.raises(TypeError, match="int32"):
        jax.grad(lambda x: x * 2.0)(1)
    got = jax.grad(lambda x, y: x * 2.0 * y, (0, 1), allow_int=True)(1, 2.0)
    assert got[0].dtype == jax.float0 and got[1] == 2


def test_results_must_be_real_scalars():
    for bad in (lambda x: jnp.int32(3), lambda x: [x], lambda x: None, lambda x: x * jnp.ones(2),
                lambda x: x * 1j):
        with pytest.raises(TypeError):
            jax.grad(bad)(1.0)
    assert jax.grad(lambda x: 3.0)(1.0) == 0


def test_complex_arguments_give_the_conjugate_gradient():
    z = jnp.complex64(1 + 2j)
    np.testing.assert_allclose(jax.grad(lambda x: jnp.abs(x) ** 2)(z), 2 - 4j, rtol=1e-6)
    assert jax.grad(lambda x: x * x, holomorphic=True)(1 + 2j) == 2 + 4j
    with pytest.raises(TypeError, match="holomorphic"):
        jax.grad(lambda x: x * x, holomorphic=True)(1.0)


def test_abs_at_zero_rises():
    assert [float(jax.grad(jnp.abs)(x)) for x in (0.0, -1.0, 2.0)] == [1, -1, 1]


def test_narrow_floats_keep_their_dtype():
    got = jax.grad(lambda x: jnp.sum(x * x))(jnp.ones(3, jnp.bfloat16))
    assert got.dtype == jnp.bfloat16
    np.testing.assert_array_equal(got.astype(jnp.float32), [2, 2, 2])


def test_tangents_have_the_dtype_of_primals():
    for tangent in (1, jnp.float16(1), jnp.int32(1)):
        with pytest.raises(TypeError, match="dtype"):
            jax.jvp(jnp.sin, (1.0,), (tangent,))
    with pytest.raises(TypeError):
        jax.jvp(jnp.sin, (jnp.bfloat16(1),), (1.0,))
    with pytest.raises(ValueError, match="shape"):
        jax.jvp(jnp.sin, (jnp.ones(3),), (1.0,))
    with pytest.raises(TypeError, match="structure"):
        jax.jvp(jnp.sin, (1.0,), (1.0, 2.0))
    with pytest.raises(ValueError):
        jax.linearize(jnp.sin, 1.0)[1](1)


def test_integers_have_tangents_of_float0():
    (a, n), (da, dn) = jax.jvp(lambda x, n: (x * n, n), (2.0, 3), (1.0, FLOAT0))
    assert (a, n, da) == (6, 3, 3) and dn.dtype == jax.float0
    with pytest.raises(TypeError, match="float0"):
        jax.jvp(lambda x, n: x * n, (2.0, 3), (1.0, 1))


def test_jacobians():
    def g(x):
        return jnp.stack([x[0] * x[1], x[1] ** 2])

    x = jnp.array([1.0, 2.0])
    for jac in (jax.jacfwd, jax.jacrev, jax.jacobian):
        np.testing.assert_array_equal(jac(g)(x), [[2, 1], [0, 4]])
    np.testing.assert_array_equal(jax.hessian(lambda x: x[0] * x[1] ** 2)(x), [[0, 4], [4, 2]])
    tree = jax.jacrev(lambda d, y: {"o": d["a"] * y}, (0, 1))({"a": x}, x)
    np.testing.assert_array_equal(tree["o"][0]["a"], [[1, 0], [0, 2]])
    np.testing.assert_array_equal(tree["o"][1], [[1, 0], [0, 2]])
    made = jax.jacfwd(lambda x: {"n": (2 * x).astype("int8"), "is": x > 1, "x": x})(x)
    assert {k: (v.dtype, v.any()) for k, v in made.items()} == {
        "n": (np.int8, False), "is": (np.bool_, False), "x": (np.float32, True)}


def test_jacobians_refuse_integers_and_complex_results():
    for jac in (jax.jacfwd, jax.jacrev):
        with pytest.raises(TypeError):
            jac(lambda x: x * 2.0)(1)
        with pytest.raises(TypeError):
            jac(lambda x: x * x)(1j)
        assert jac(lambda x: x * x, holomorphic=True)(1j) == 2j
    with pytest.raises(TypeError, match="i32"):
        jax.jacrev(lambda x: x.astype(int))(1.0)


def test_linear_transpose():
    def linear(x):
        return 2 * x + jnp.sum(x)

    spec = jax.ShapeDtypeStruct((3,), jnp.float32)
    for given in (jnp.arange(3.0), spec):
        (got,) = jax.linear_transpose(linear, given)(jnp.arange(3.0))
        np.testing.assert_array_equal(got, [3, 5, 7])
    assert jax.linear_transpose(lambda a, b: (a + b, a * 2), 1.0, 1.0)((1.0, 2.0)) == (5, 1)
    with pytest.raises(NotImplementedError):
        jax.linear_transpose(jnp.sin, spec)(jnp.arange(3.0))


def test_linear_transpose_of_integers_to_integers():
    i = jnp.arange(3)
    transposed = functools.partial(jax.linear_transpose, lambda x: jnp.array([[0, 1, 2]]) @ x * 3)
    for run in (lambda f: f, jax.jit):
        (got,) = run(transposed(i))(jnp.array([2]))
        assert got.dtype == jnp.int32 and got.tolist() == [0, 6, 12]
        (got,) = run(jax.linear_transpose(
            lambda x: jax.lax.scan(lambda c, a: (c + a, c), jnp.int32(0), x), i))((1, i))
        assert got.tolist() == [4, 3, 1]
    assert jax.linear_transpose(lambda x: x.astype(jnp.int8), 1)(jnp.int8(5)) == (5,)
    for fun, x in ((lambda x: x * 1.0, i), (lambda x: x > 1, i), (lambda p: p, (i, 1.0)),
                   (lambda x: x, i > 1)):
        with pytest.raises(TypeError, match="integer -> integer functions"):
            jax.linear_transpose(fun, x)


def test_forward_and_backward_as_two_functions():
    fwd, bwd = jax.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    value, saved = fwd(2.0, 3.0)
    assert value == 6 and bwd(saved, 1.0) == (3, 2)


def test_checkpoint_policies():
    policies = jax.checkpoint_policies
    for policy in (None, policies.everything_saveable, policies.nothing_saveable,
                   policies.dots_saveable, policies.save_only_these_names("a"),
                   policies.save_any_names_but_these("a"),
                   lambda prim, *types, **attrs: prim.name == "sin"):
        g = jax.checkpoint(lambda x: jax.ad_checkpoint.checkpoint_name(jnp.sin(x), "a") ** 2,
                           policy=policy)
        np.testing.assert_allclose(jax.jit(jax.grad(g))(1.0), np.sin(2.0), rtol=1e-6)


def test_a_jacobian_by_integers_has_zeros_of_their_dtype():
    for f, rows in ((lambda x, i: jnp.sum(x) * i, ()), (lambda x, i: x * i, (2,))):
        by_x, by_i = jax.jacrev(f, argnums=(0, 1), allow_int=True)(jnp.ones(2), 2)
        assert by_x.shape == (*rows, 2)
        assert by_i.shape == rows and by_i.dtype == np.int32 and not np.any(by_i)


def test_a_compiled_hessian_holds_no_basis():
    f = jax.jit(jax.hessian(lambda x: jnp.sum(x ** 3)))
    x = jnp.arange(5.0)
    np.testing.assert_allclose(f(x), np.diag(6 * np.arange(5.0)))
    assert [v.type.shape for v in f.trace(x).ir.params] == [(5,)]


def test_derivatives_by_python_numbers_are_weak():
    def f(t):
        return t["a"] ** 3 * t["b"]

    def weak(tree):
        return [x.weak_type for x in jax.tree.leaves(tree)]

    numbers, mixed = {"a": 1.5, "b": 2.0}, {"a": 1.5, "b": jnp.float32(2.0)}
    for of in (jax.hessian, lambda f: jax.jit(jax.hessian(f))):
        assert weak(of(f)(numbers)) == [True] * 4
        assert weak(of(f)(mixed)) == [True, True, False, False]
    for of in (jax.jacfwd, jax.jacrev, jax.grad):
        assert weak(of(f)(numbers)) == [True, True]

@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, lambda f: jax.jit(jax.jit(f))])
def test_gradients_of_integers_leave_programs(wrap):
    g = wrap(jax.grad(lambda n, x: x * n, (0, 1), allow_int=True))
    for _ in range(3):                             # traced, compiled, known to C++
        dn, dx = g(3, 2.0)
        assert dn.dtype == jax.float0 and dn.shape == () and dx == 3
    many = wrap(jax.vmap(jax.grad(lambda n: 2.0 * n, allow_int=True)))(jnp.arange(3))
    assert many.dtype == jax.float0 and many.shape == (3,)


def test_float0_goes_in_and_through():
    zero = np.zeros((2,), jax.float0)
    f = jax.jit(lambda z, x: {"z": z, "x": x + 1})
    for _ in range(3):
        made = f(zero, 1.0)
        assert made["z"].dtype == jax.float0 and made["z"].shape == (2,) and made["x"] == 2
    _, (stacked,) = jax.lax.scan(
        lambda c, n: (c, (jax.grad(lambda n: 2.0 * n, allow_int=True)(n),)), 0.0, jnp.arange(3))
    assert stacked.dtype == jax.float0 and stacked.shape == (3,)
    assert jax.jit(lambda n: jax.vjp(lambda n: 2.0 * n, n)[1](1.0))(3)[0].dtype == jax.float0
    struct = jax.eval_shape(lambda n: jax.grad(lambda n: 2.0 * n, allow_int=True)(n), 3)
    assert struct.shape == ()


def test_jacobians_of_what_is_no_function_or_has_no_array():
    for jacobian in (jax.jacfwd, jax.jacrev, jax.hessian):
        with pytest.raises(TypeError, match="expected a function"):
            jacobian(None)
    for jacobian in (jax.jacfwd, jax.hessian):
        with pytest.raises(ValueError, match="needs an array"):
            jacobian(lambda x: 1.0)(None)
    with pytest.raises(TypeError, match="sin requires ndarray.*inside a container"):
        jax.grad(lambda t: jnp.sin(t))({"a": 1.0})


def test_there_is_no_such_process():
    with pytest.raises(ValueError, match="process_index=3"):
        jax.local_devices(process_index=3)
    one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    with pytest.raises(TypeError, match="list or tuple"):
        jax.make_array_from_single_device_arrays((2,), one, jnp.ones(2))


MOVES = {
    "reshape": (lambda x: jnp.reshape(x, (3, 2)), (3, 2)), "ravel": (jnp.ravel, (6,)),
    "expand_dims": (lambda x: jnp.expand_dims(x, 0), (1, 2, 3)),
    "broadcast_to": (lambda x: jnp.broadcast_to(x, (4, 2, 3)), (4, 2, 3)),
    "concatenate": (lambda x: jnp.concatenate([x, x]), (4, 3)),
    "stack": (lambda x: jnp.stack([x, x]), (2, 2, 3)), "tile": (lambda x: jnp.tile(x, 2), (2, 6)),
    "transpose": (jnp.transpose, (3, 2)), "squeeze": (lambda x: jnp.squeeze(x[:1]), (3,)),
    "lax.reshape": (lambda x: jax.lax.reshape(x, (6,)), (6,)),
    "lax.slice": (lambda x: jax.lax.slice(x, (0, 0), (1, 2)), (1, 2)),
}


@pytest.mark.parametrize(("move", "shape"), MOVES.values(), ids=MOVES)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["un-jitted", "jit"])
def test_gradients_of_integers_are_moved_as_arrays_are(move, shape, wrap):
    x = jax.grad(lambda n: n.sum() * 1.0, allow_int=True)(jnp.ones((2, 3), jnp.int32))
    made = wrap(move)(x)
    assert (type(made), made.dtype, made.shape) == (np.ndarray, jax.float0, shape)


def test_gradients_of_integers_are_not_computed_with():
    with pytest.raises(TypeError, match="reshaped, joined and moved, and nothing else"):
        jnp.sum(np.zeros(3, jax.float0))
