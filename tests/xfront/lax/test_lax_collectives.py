"""Collectives under vmap."""

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax

M = np.random.RandomState(0).randn(3, 4).astype(np.float32)


def mapped(f, *args, **kw):
    return np.asarray(xfront.vmap(f, axis_name="i", **kw)(*args))


def close(made, wanted):
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6)


def test_sums_and_extrema():
    close(mapped(lambda x: lax.psum(x, "i"), M), np.tile(M.sum(0), (3, 1)))
    close(mapped(lambda x: lax.pmean(x, "i"), M), np.tile(M.mean(0), (3, 1)))
    close(mapped(lambda x: lax.pmax(x, "i"), M), np.tile(M.max(0), (3, 1)))
    close(mapped(lambda x: lax.pmin(x, "i"), M), np.tile(M.min(0), (3, 1)))
    close(mapped(lambda x: lax.psum(x, ("i", 0)), M), np.full(3, M.sum()))
    close(mapped(xfront.jit(lambda x: lax.psum(x, "i")), M), np.tile(M.sum(0), (3, 1)))
    assert mapped(lambda x: lax.psum(x > 0, "i"), M).dtype == np.int32
    assert mapped(lambda x: lax.pmean(x, "i"), np.arange(3)).dtype == np.float32


def test_numbers_stay_numbers():
    def f(x):
        assert lax.psum(1, "i") == 3 and type(lax.psum(1, "i")) is int
        assert lax.axis_size("i") == 3
        return x * lax.axis_index("i")

    close(mapped(f, M), M * np.arange(3)[:, None])


def test_trees_and_two_axes():
    made = xfront.vmap(lambda x: lax.psum({"a": x, "b": 2.0}, "i"), axis_name="i")(M)
    close(made["a"], np.tile(M.sum(0), (3, 1)))
    close(made["b"], np.full(3, 6.0))

    def both(x):
        return lax.psum(x, ("i", "j"))

    inner = xfront.vmap(both, axis_name="j")
    close(mapped(inner, M), np.full((3, 4), M.sum()))


def test_moves():
    close(mapped(lambda x: lax.all_gather(x, "i"), M), np.tile(M, (3, 1, 1)))
    close(mapped(lambda x: lax.all_gather(x, "i", tiled=True), M), np.tile(M.ravel(), (3, 1)))
    cube = np.arange(27, dtype=np.float32).reshape(3, 3, 3)
    close(mapped(lambda x: lax.all_to_all(x, "i", 0, 0), cube), cube.swapaxes(0, 1))
    close(mapped(lambda x: lax.pswapaxes(x, "i", 1), cube), cube.swapaxes(0, 2))
    close(mapped(lambda x: lax.psum_scatter(x, "i"), cube), cube.sum(0))
    close(mapped(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]), M), [M[0] * 0, M[0], M[1]])
    close(mapped(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), M), M[[2, 0, 1]])
    close(mapped(lambda x: lax.pbroadcast(x, "i", 1), M), np.tile(M[1], (3, 1)))


def test_derivatives():
    def loss(m):
        return xfront.vmap(lambda x: (lax.psum(x, "i") * x).sum(), axis_name="i")(m).sum()

    close(xfront.grad(loss)(M), 2 * np.tile(M.sum(0), (3, 1)))


@pytest.mark.parametrize("f", [
    lambda: lax.psum(1, "i"), lambda: lax.axis_index("i"), lambda: lax.axis_size("i"),
    lambda: mapped(lambda x: lax.psum(x, "j"), M), lambda: mapped(lambda x: lax.pmax(x, None), M)])
def test_unbound_names(f):
    with pytest.raises(NameError, match="unbound axis name"):
        f()


def test_sizes_must_fit():
    with pytest.raises(ValueError, match="split_axis"):
        mapped(lambda x: lax.all_to_all(x, "i", 0, 0), M)
    with pytest.raises(ValueError, match="permutation"):
        mapped(lambda x: lax.pshuffle(x, "i", [1, 2, 2]), M)


# --- several axes of vmap at once -----------------------------------------------------------

GRID = np.random.default_rng(2).normal(size=(2, 3, 6, 12)).astype(np.float32)
ALL = GRID.reshape(6, 6, 12)


def over_grid(f, x=GRID):
    return xfront.vmap(xfront.vmap(f, axis_name="j"), axis_name="i")(x)


def test_all_gather_over_two_axes():
    for names, order in ((("i", "j"), ALL), (("j", "i"), GRID.swapaxes(0, 1).reshape(6, 6, 12))):
        plain = over_grid(lambda x, names=names: lax.all_gather(x, names, axis=1))
        np.testing.assert_array_equal(plain[1, 2], order.swapaxes(0, 1))
        tiled = over_grid(lambda x, names=names: lax.all_gather(x, names, axis=1, tiled=True))
        np.testing.assert_array_equal(tiled[0, 1], np.concatenate(list(order), 1))


def test_psum_scatter_takes_numbers():
    for x in (np.eye(4) > 0, np.ones(4) > 0):
        with pytest.raises(TypeError, match="psum_scatter takes numbers, got bool"):
            mapped(lambda _, x=x: lax.psum_scatter(x, "i", tiled=True), np.ones(4))


def test_psum_scatter_over_two_axes():
    total = ALL.sum(0)
    plain = over_grid(lambda x: lax.psum_scatter(x, ("i", "j")))
    np.testing.assert_allclose(plain.reshape(6, 12), total, rtol=1e-5, atol=1e-5)
    tiled = over_grid(lambda x: lax.psum_scatter(x, ("i", "j"), scatter_dimension=1, tiled=True))
    np.testing.assert_allclose(tiled.reshape(6, 6, 2),
                               np.stack(np.split(total, 6, axis=1)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("split", "concat"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_all_to_all_over_two_axes(split, concat):
    tiled = over_grid(lambda x: lax.all_to_all(x, ("i", "j"), split, concat, tiled=True))
    parts = [np.split(source, 6, axis=split) for source in ALL]
    expected = [np.concatenate([parts[s][d] for s in range(6)], concat) for d in range(6)]
    np.testing.assert_array_equal(tiled.reshape(6, *tiled.shape[2:]), expected)
    if split == 0:
        plain = over_grid(lambda x: lax.all_to_all(x, ("i", "j"), split, concat))
        expected = [np.stack([ALL[s][d] for s in range(6)], concat) for d in range(6)]
        np.testing.assert_array_equal(plain.reshape(6, *plain.shape[2:]), expected)


def test_derivatives_over_two_axes():
    def f(x):
        return over_grid(lambda x: lax.all_gather(jnp.sin(x), ("i", "j")) * x, x).sum()

    x = GRID[..., :2, :2]
    total = np.sin(x).sum((0, 1))
    np.testing.assert_allclose(xfront.grad(f)(x), total + x.sum((0, 1)) * np.cos(x), rtol=1e-4,
                               atol=1e-4)


def test_what_does_not_work_over_axes_of_vmap_says_so():
    with pytest.raises(NotImplementedError, match="axis_index_groups"):
        xfront.vmap(lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2, 3]]),
                    axis_name="i")(jnp.arange(4.0))
    with pytest.raises(NotImplementedError, match="one call for each axis"):
        over_grid(lambda x: lax.ppermute(x, ("i", "j"), [(0, 5)]))


def test_casts_are_for_shard_map():
    x = jnp.ones(3)
    assert lax.pcast(x, (), to="varying") is x and lax.pcast({}, "i", to="reduced") == {}
    with pytest.raises(ValueError, match="axes of a shard_map, and 'i'"):
        lax.pcast(x, "i", to="varying")
    with pytest.raises(ValueError, match="axes of a shard_map, and 'i'"):
        xfront.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(x)
    with pytest.raises(ValueError, match="'unreduced'"):
        lax.pcast(x, "i", to="elsewhere")
    with pytest.raises(TypeError, match="pcast"):
        lax.pcast(object(), "i", to="varying")


@pytest.mark.parametrize("groups, error", [
    ([[0, 1], [1, 2]], ValueError), ([[0, 1], [2, 7]], ValueError), ([[0, 1], [2, -1]], ValueError),
    ([[0, 1]], ValueError), ([[0], [1, 2, 3]], ValueError), ([], ValueError),
    ([0, 1, 2, 3], TypeError), ([[0.0, 1.0], [2.0, 3.0]], TypeError), ("ab", TypeError)])
def test_wrong_groups_are_refused(groups, error):
    for op in (lax.psum, lax.pmax, lax.pmean, lax.all_gather):
        with pytest.raises(error, match="groups"):
            xfront.vmap(lambda x, op=op: op(x, "i", axis_index_groups=groups),
                        axis_name="i")(np.arange(4.0, dtype=np.float32))
