"""Ragged exchanges, sends and receipts under vmap; placement on one device."""

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax
from xfront.test_util import check_grads

RNG = np.random.default_rng(0)


def exchanged(x, out, starts, sizes, places):
    """What each participant has, by a loop."""
    made = out.copy()
    for sender in range(len(x)):
        for receiver in range(len(x)):
            a, n, at = (v[sender][receiver] for v in (starts, sizes, places))
            made[receiver, at:at + n] = x[sender, a:a + n]
    return made


def case(n=3, rows=7, room=9, width=()):
    sizes = RNG.integers(0, 3, (n, n))
    starts = np.concatenate([np.zeros((n, 1), int), sizes.cumsum(1)[:, :-1]], 1)
    places = np.concatenate([np.zeros((1, n), int), sizes.cumsum(0)[:-1]], 0)
    x = RNG.normal(size=(n, rows, *width)).astype(np.float32)
    out = RNG.normal(size=(n, room, *width)).astype(np.float32)
    return x, out, starts, sizes, places


def ragged(x, out, starts, sizes, places, **kw):
    return xfront.vmap(lambda x, o, s, n, p, r: lax.ragged_all_to_all(
        x, o, s, n, p, r, axis_name="i", **kw), axis_name="i")(
            x, out, starts, sizes, places, sizes)


@pytest.mark.parametrize("width", [(), (2,), (2, 0)])
def test_ragged_rows_arrive(width):
    given = case(width=width)
    made = ragged(*given)
    np.testing.assert_array_equal(made, exchanged(*given))
    np.testing.assert_array_equal(xfront.jit(ragged)(*given), made)
    assert made.dtype == np.float32


def test_rows_outside_are_lost():
    x, out = np.arange(6, dtype=np.float32).reshape(2, 3) + 1, np.zeros((2, 2), np.float32)
    zero = np.zeros((2, 2), int)
    made = ragged(x, out, zero, np.array([[3, 0], [0, 3]]), zero)
    np.testing.assert_array_equal(made, x[:, :2])
    made = ragged(x, out, np.array([[2, 0], [0, 2]]), np.array([[3, 0], [0, 3]]), zero)
    np.testing.assert_array_equal(made, [[3, 0], [6, 0]])


def test_derivatives_of_ragged_exchanges():
    x, out, *where = case(2, 5, 5)
    check_grads(lambda x, out: ragged(x, out, *where), (x, out), order=1)


def test_what_does_not_fit_is_refused():
    x, out, starts, sizes, places = case()
    with pytest.raises(TypeError, match="input_offsets must be integers"):
        ragged(x, out, starts + 0.5, sizes, places)
    with pytest.raises(ValueError, match="send_sizes must have 3 elements"):
        ragged(x, out, starts, sizes[:, :2], places)
    with pytest.raises(ValueError, match="may only differ in the size of their first axis"):
        ragged(x, out[..., None], starts, sizes, places)
    with pytest.raises(NotImplementedError, match="axis_index_groups"):
        ragged(x, out, starts, sizes, places, axis_index_groups=[[0, 1, 2]])
    with pytest.raises(NameError, match="unbound axis name: k"):
        lax.ragged_all_to_all(x, out, *[[0]] * 4, axis_name="k")


def test_what_is_sent_is_received():
    tree = {"a": np.arange(3.0, dtype=np.float32), "b": np.arange(6).reshape(3, 2)}
    perm = [(0, 1), (1, 2)]

    def f(x):
        token = lax.after_all(lax.create_token(), lax.create_token())
        assert not isinstance(token, type(lax.psend(x, "i", perm)))
        return lax.precv(lax.psend(x, "i", perm), x, "i", perm)

    made = xfront.vmap(f, axis_name="i")(tree)
    np.testing.assert_array_equal(made["a"], [0, 0, 1])
    np.testing.assert_array_equal(made["b"], [[0, 0], [0, 1], [2, 3]])
    grad = xfront.grad(lambda a: xfront.vmap(f, axis_name="i")({"a": a})["a"][1] * 5.0)(tree["a"])
    np.testing.assert_array_equal(grad, [5, 0, 0])


def test_receipts_that_do_not_fit_are_refused():
    def receive(make, shape=None, perm=((0, 1),)):
        def f(x):
            return lax.precv(make(x), shape or xfront.ShapeDtypeStruct((), np.float32), "i", perm)

        return xfront.vmap(f, axis_name="i")(np.ones(2, np.float32))

    def send(x):
        return lax.psend(x, "i", ((0, 1),))

    with pytest.raises(TypeError, match="must come from the psend"):
        receive(lax.create_token)
    with pytest.raises(ValueError, match="must be that of the psend"):
        receive(send, perm=((1, 0),))
    with pytest.raises(ValueError, match="must describe what was sent"):
        receive(send, xfront.ShapeDtypeStruct((2,), np.float32))
    with pytest.raises(NameError, match="psend"):
        lax.psend(1.0, "i", ())


def test_placement_on_one_device():
    x = jnp.arange(3.0)
    here = x.sharding
    made = lax.with_sharding_constraint({"a": x, "b": (x, 2.0)}, {"a": here, "b": here})
    np.testing.assert_array_equal(made["a"], x)
    assert made["b"][1].sharding == here

    def f(x):
        return lax.with_sharding_constraint(x * 2, here).sum()

    np.testing.assert_array_equal(xfront.grad(f)(x), [2, 2, 2])
    assert xfront.jit(xfront.vmap(f))(jnp.ones((2, 3))).tolist() == [6, 6]
    with pytest.raises(ValueError, match="None is not a sharding"):
        lax.with_sharding_constraint(x, None)
    with pytest.raises(TypeError, match=r"x\.sharding, got 3"):
        lax.with_sharding_constraint(x, 3)
    with pytest.raises(TypeError, match="valid array type|abstract array"):
        lax.with_sharding_constraint("a", here)
