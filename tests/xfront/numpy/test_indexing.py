"""Indexing and updates against NumPy, eagerly, while tracing, and under derivatives."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import xfront
import xfront.numpy as jnp
from xfront.base.config import check_static_indices
from xfront.errors import ConcretizationTypeError, NonConcreteBooleanIndexError
from xfront_ir import evaluate

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
MASK = X[:, :, 0] % 2 == 0
INDICES = [
    0, -1, np.int64(2), (1, 2), (1, -2, 3), (), ..., (..., 0), (0, ..., 1), None, (None, 1),
    (slice(None), None, 2), slice(1, 3), slice(None, None, -1), slice(3, 1), slice(None, None, 2),
    (slice(None), slice(3, 0, -2), slice(1, 4, 2)), (0, slice(1, 3), None), (..., None),
    np.array([0, 2]), np.array([[0, -1], [1, 1]]), (np.array([0, 2]), np.array([1, 3])),
    (slice(None), np.array([0, 2])), (np.array([0, 2]), slice(None), np.array([1, 3])),
    (np.array([0, 2]), slice(1, 3)), (0, np.array([1, 2])), (np.array([1, 2]), slice(None), 0),
    (slice(None), 1, np.array([0, 4])), (slice(None, None, -1), np.array([1, 2]), None),
    (np.array([[0], [2]]), np.array([1, 3])), MASK, (MASK, 1), (slice(None), np.arange(4) > 1),
    np.array([], int), (None, np.array([0, 1]), slice(None, None, 2)), True, False,
    (..., np.array([0, 1])), (np.array([0, 1]), ..., np.array([0, 1])),
    (slice(0, 2), np.array([0, 1]), slice(4, None, -2)), X > 30,
]


@pytest.mark.parametrize("index", INDICES, ids=[repr(i)[:60] for i in INDICES])
def test_reading_matches_numpy(index):
    np.testing.assert_array_equal(np.asarray(jnp.asarray(X)[index]), X[index])


def test_reading_while_tracing_matches_numpy():
    results = xfront.jit(lambda x: [x[i] for i in INDICES])(X)
    for index, got in zip(INDICES, results, strict=True):
        np.testing.assert_array_equal(np.asarray(got), X[index], err_msg=repr(index))


def test_derivative_of_reading_counts_each_element():
    def total(x):
        return sum((x[i] * w).sum() for w, i in enumerate(INDICES, 1))

    want = np.zeros_like(X)
    for w, index in enumerate(INDICES, 1):
        np.add.at(want, index, np.float32(w))
    np.testing.assert_allclose(np.asarray(xfront.jit(xfront.grad(total))(X)), want)


def test_setting_and_adding_match_numpy():
    def changed(x):
        return [(x.at[i].set(-1.0), x.at[i].add(2.0)) for i in INDICES]

    for index, (was_set, added) in zip(INDICES, xfront.jit(changed)(X), strict=True):
        want = X.copy()
        want[index] = -1
        np.testing.assert_array_equal(np.asarray(was_set), want, err_msg=repr(index))
        want = X.copy()
        np.add.at(want, index, np.float32(2))
        np.testing.assert_array_equal(np.asarray(added), want, err_msg=repr(index))


@st.composite
def basic_or_advanced(draw):
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    if draw(st.booleans()):
        return shape, draw(hnp.basic_indices(shape, allow_newaxis=True))
    return shape, draw(hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(
        min_dims=1, max_dims=2, max_side=3)))


@settings(max_examples=40, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.too_slow])
@given(basic_or_advanced())
def test_random_indices_match_numpy(case):
    shape, index = case
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    got = xfront.jit(lambda v: v[index])(x)
    np.testing.assert_array_equal(np.asarray(got), x[index])


def test_positions_outside_are_clamped_or_dropped():
    x = jnp.arange(4)
    assert [int(x[i]) for i in (4, 100, -100)] == [3, 3, 0]
    assert x[np.array([-9, 9])].tolist() == [0, 3]
    assert xfront.jit(lambda v, i: v[i])(x, 100) == 3
    assert x.at[9].set(5).tolist() == x.at[-9].set(5).tolist() == [0, 1, 2, 3]
    assert x.at[9].set(5, mode="clip").tolist() == [0, 1, 2, 5]
    assert x.at[9].get(mode="fill") == -2 ** 31
    assert x.at[9].get(mode="fill", fill_value=7) == 7
    assert np.isnan(float(jnp.arange(4.0).at[9].get(mode="fill")))


def test_slopes_of_reads_by_arrays_leave_out_what_lies_outside():
    x, at = jnp.arange(4.0), jnp.array([1, -9, 7])
    numbers = xfront.lax.GatherDimensionNumbers((1,), (), (0,))
    reads = {                                    # name: the read, and its slope
        "array": (lambda x, i: x[i], [0, 1, 0, 0]),
        "get": (lambda x, i: x.at[i].get(), [0, 1, 0, 0]),
        "promise": (lambda x, i: x.at[i].get(mode="promise_in_bounds"), [0, 1, 0, 0]),
        "fill": (lambda x, i: x.at[i].get(mode="fill"), [0, 1, 0, 0]),
        "clip": (lambda x, i: x.at[i].get(mode="clip"), [1, 1, 0, 1]),
        "gather": (lambda x, i: xfront.lax.gather(x, i[:, None], numbers, (1,)), [0, 1, 0, 0]),
        "number": (lambda x, i: x[i[0]] + x[i[1]] + x[i[2]], [1, 1, 0, 1]),
        "slice": (lambda x, i: xfront.lax.dynamic_slice(x, i[2:], (1,)), [0, 0, 0, 1]),
    }

    def slopes(x, i):
        return {name: xfront.grad(lambda x, read=read: read(x, i).sum())(x)
                for name, (read, _) in reads.items()}

    once, compiled, known = slopes(x, at), xfront.jit(slopes)(x, at), slopes(x, np.array(at))
    for name, (read, wanted) in reads.items():
        for made in (once, compiled, known):
            np.testing.assert_array_equal(made[name], wanted, name)
        ir = xfront.make_ir(xfront.grad(lambda x, i, read=read: read(x, i).sum()))(x, at)
        found = evaluate(ir.ir, np.asarray(x), np.asarray(at))[0]
        np.testing.assert_array_equal(found, wanted, name)


@pytest.mark.parametrize("index, error", [
    (1.5, TypeError), ([0, 1], TypeError), ("x", TypeError), (np.ones(2), TypeError),
    ((0, 0), IndexError), ((..., ...), IndexError), (np.array([True]), IndexError),
    (slice(None, 2.0), TypeError), ((np.array([0, 1]), np.array([0, 1, 2])), IndexError),
])
def test_index_errors(index, error):
    with pytest.raises(error):
        jnp.arange(4)[index]


def test_masks_and_bounds_that_are_traced():
    with pytest.raises(NonConcreteBooleanIndexError):
        xfront.jit(lambda x: x[x > 1])(X)
    with pytest.raises(IndexError):
        xfront.jit(lambda x, n: x[:n])(X, 2)
    np.testing.assert_allclose(xfront.grad(lambda x: x[x > 1].sum())(np.arange(4.0)), [0, 0, 1, 1])


def test_one_compilation_serves_all_offsets():
    x = jnp.arange(10.0)
    assert [float(x[i]) for i in range(10)] == list(range(10))
    assert [x[i:i + 2].tolist() for i in range(3)] == [[0, 1], [1, 2], [2, 3]]


def test_updates():
    x = jnp.asarray(np.array([1.0, 2.0, 3.0], np.float32))
    at = x.at[np.array([0, 0, 2])]
    assert at.add(1).tolist() == [3, 2, 4]
    assert at.subtract(1).tolist() == [-1, 2, 2]
    assert at.multiply(2).tolist() == at.mul(2).tolist() == [4, 2, 6]
    assert at.divide(2).tolist() == [0.25, 2, 1.5]
    assert at.power(2).tolist() == [1, 2, 9]
    assert at.min(0).tolist() == [0, 2, 0] and at.max(9).tolist() == [9, 2, 9]
    assert at.apply(lambda v: v + 1).tolist() == [3, 2, 4]
    assert x.at[1].apply(jnp.negative).tolist() == [1, -2, 3]
    assert x.at[0:2].set(np.array([7, 8])).tolist() == [7, 8, 3]
    assert x.at[x > 1].set(0).tolist() == [1, 0, 0]
    assert (x > 1).at[0].set(True).tolist() == [True, True, True]
    with pytest.raises(ValueError):
        x.at[0].set(np.ones(2))
    assert x.at[0:2].set([7, 8]).tolist() == [7, 8, 3]
    with pytest.raises(TypeError):
        x.at[0].set("1")
    with pytest.warns(FutureWarning):
        jnp.arange(2).at[0].add(1.5)


def test_derivatives_of_updates():
    def loss(x, y):
        return (x.at[np.array([0, 1])].set(y) ** 2).sum() + (x.at[1].add(y[0]) ** 2).sum()

    of_x, of_y = xfront.grad(loss, argnums=(0, 1))(np.arange(3.0), np.array([2.0, 3.0]))
    np.testing.assert_allclose(of_x, [0, 6, 8])
    np.testing.assert_allclose(of_y, [4 + 6, 6])


def test_indexing_under_vmap():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    got = xfront.vmap(lambda row, i: (row[i], row.at[i].set(9.0)))(x, np.array([2, 0]))
    assert got[0].tolist() == [2, 3]
    assert got[1].tolist() == [[0, 1, 9], [9, 4, 5]]


def test_take_and_along_axis():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(jnp.take(x, np.array([2, 0]), axis=1), x[:, [2, 0]])
    assert jnp.take(x, -1) == 5 and np.isnan(float(jnp.take(x, 6)))
    assert jnp.take(x, 7, mode="wrap") == 1 and jnp.take(x, 7, mode="clip") == 5
    order = np.argsort(-x, axis=1)
    got = jnp.take_along_axis(x, order, axis=1)
    np.testing.assert_array_equal(got, np.take_along_axis(x, order, 1))
    put = jnp.put_along_axis(x, np.array([[0], [2]]), 7.0, 1, inplace=False)
    assert put.tolist() == [[7, 1, 2], [3, 4, 7]]
    with pytest.raises(ValueError):
        jnp.put_along_axis(x, np.array([[0], [2]]), 7.0, 1)


def test_select_and_choose():
    x = np.arange(4)
    got = jnp.select([x < 1, x > 2], [x, x * 10], default=-1)
    assert got.tolist() == [0, -1, -1, 30]
    which, choices = np.array([0, 1]), [np.array([1, 2]), np.array([3, 4])]
    assert jnp.choose(which, choices).tolist() == [1, 4]
    assert jnp.choose(which + 4, choices, mode="wrap").tolist() == [1, 4]
    with pytest.raises(ValueError):
        jnp.choose(which + 4, choices)


def test_nonzero_of_a_value_that_is_differentiated():
    def f(x):
        (i,) = jnp.nonzero(x)
        rows = jnp.argwhere(x)
        return (x[i] ** 2).sum() + rows.sum() + jnp.flatnonzero(x)[0] + jnp.where(x)[0].sum()

    x = jnp.array([0.0, 3.0, 0.0, 4.0])
    assert f(x) == 25 + 4 + 1 + 4
    assert xfront.grad(f)(x).tolist() == [0, 6, 0, 8]
    with pytest.raises(ConcretizationTypeError, match="size"):
        xfront.jit(xfront.grad(f))(x)


def test_nonzero():
    x = np.array([[0, 1, 0], [2, 0, 3]])
    for got, want in zip(jnp.nonzero(x), np.nonzero(x), strict=True):
        np.testing.assert_array_equal(got, want)
    sized = xfront.jit(lambda v: jnp.nonzero(v, size=5, fill_value=-1))(x)
    assert [i.tolist() for i in sized] == [[0, 1, 1, -1, -1], [1, 0, 2, -1, -1]]
    assert [i.tolist() for i in jnp.nonzero(x, size=2)] == [[0, 1], [1, 0]]
    assert jnp.flatnonzero(x).tolist() == [1, 3, 5]
    assert jnp.argwhere(x).tolist() == [[0, 1], [1, 0], [1, 2]]
    assert [i.tolist() for i in jnp.where(x)] == [[0, 1, 1], [1, 0, 2]]
    with pytest.raises(ValueError):
        jnp.nonzero(np.float32(3))


def test_positions_as_numbers():
    flat = np.array([5, 0, 3])
    for got, want in zip(jnp.unravel_index(flat, (2, 3)), np.unravel_index(flat, (2, 3)),
                         strict=True):
        np.testing.assert_array_equal(got, want)
    assert jnp.ravel_multi_index((1, 2), (2, 3)) == 5
    with pytest.raises(ValueError):
        jnp.ravel_multi_index((np.array([5]), np.array([0])), (2, 3))
    assert [i.shape for i in jnp.ix_(np.arange(2), np.arange(3))] == [(2, 1), (1, 3)]
    for name in ("tril_indices", "triu_indices", "diag_indices"):
        for got, want in zip(getattr(jnp, name)(3), getattr(np, name)(3), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("read", [
    lambda x: x[1], lambda x: x[-1], lambda x: x[1:3], lambda x: x[::2], lambda x: x[..., 1:3],
    lambda x: x[np.array([0, 2])], lambda x: x[jnp.int32(1)], lambda x: x.at[7].get(mode="fill"),
    lambda x: jnp.take(x, np.array([1, 2])), lambda x: jnp.roll(x, jnp.int32(1)),
    lambda x: jnp.take_along_axis(x, np.array([0, 1]), 0), lambda x: xfront.lax.top_k(x, 2)[0]])
def test_weak_arrays_read_as_weak(read):
    for x, weak in ((jnp.full(4, 2.0), True), (jnp.ones(4), False)):
        assert x.weak_type == weak == read(x).weak_type == xfront.jit(read)(x).weak_type


def test_no_examples_and_empty_axes() -> None:
    none, i = jnp.ones((0, 3)), jnp.zeros(0, int)
    for f in (lambda x, i: x[i], lambda x, i: x.at[i].add(1.0)[i], lambda x, i: jnp.take(x, i),
              lambda x, i: jnp.take_along_axis(x, i[None], 0)[0],
              lambda x, i: xfront.lax.dynamic_slice(x, (i,), (1,))[0],
              xfront.grad(lambda x, i: x[i])):
        got = xfront.vmap(f)(none, i)
        assert got.size == 0 and got.shape[0] == 0 and got.dtype == np.float32
    some = jnp.array([0, 1])
    np.testing.assert_array_equal(none.at[some].add(1.0), none)
    for f in (lambda: none[some], lambda: none[0], lambda: jnp.take(none, some, 0),
              lambda: none.at[0].set(1.0)):
        with pytest.raises(IndexError):
            f()


def test_slices_of_known_length() -> None:
    x, ds = np.arange(20.0, dtype=np.float32).reshape(4, 5), xfront.ds
    for i, low in ((1, 1), (3, 2), (-1, 2), (-9, 0)):
        for way in (lambda f: f, xfront.jit):
            np.testing.assert_array_equal(way(lambda x, i: jnp.asarray(x)[ds(i, 2)])(x, i),
                                          x[low:low + 2])
    y = jnp.array(x)
    np.testing.assert_array_equal(y[1, ds(0, 3, 2)], x[1, ::2])
    np.testing.assert_array_equal(y[ds(2), ds(3, 2)], x[:2, 3:])
    np.testing.assert_array_equal(y[jnp.array([0, 2]), ds(jnp.int32(3), 2)], x[[0, 2], 3:])
    np.testing.assert_array_equal(y.at[ds(1, 2), ds(3, 2)].set(0), np.where(y[ds(None)] > 0, [
        [*row[:3], *(row[3:] * (i not in (1, 2)))] for i, row in enumerate(x)], 0))
    np.testing.assert_array_equal(xfront.vmap(lambda i: y[0, ds(i, 2)])(jnp.array([1, 9])),
                                  [[1, 2], [3, 4]])

    def written(i):
        r = xfront.new_ref(y)
        r[ds(i, 2)] = jnp.zeros((2, 5))
        return r[...]

    np.testing.assert_array_equal(xfront.jit(written)(2)[2:], np.zeros((2, 5)))
    assert ds(1, 2) == ds(1, 2) and repr(ds(3)) == "Slice(start=0, size=3, stride=1)"
    assert xfront.tree.leaves(ds(1, 2)) == [1] and ds(None) == slice(None)
    for error, f in ((TypeError, lambda: ds(0, 1.5)), (ValueError, lambda: y[ds(0, 9)])):
        with pytest.raises(error):
            f()


def test_modes_that_do_not_exist_are_refused():
    x, i = jnp.arange(3.0), jnp.array([0, 9])
    for call in (lambda: jnp.take(x, i, mode="raise"),
                 lambda: jnp.put(x, i, 1.0, mode="raise", inplace=False)):
        with pytest.raises(NotImplementedError, match="no value of an index"):
            call()
    for mode in ("wrap", "raise", "bogus"):
        with pytest.raises(ValueError, match="put_along_axis: mode must be"):
            jnp.put_along_axis(x, i, 1.0, 0, inplace=False, mode=mode)
    made = jnp.put_along_axis(x, i, 1.0, 0, inplace=False, mode="clip")
    assert made.tolist() == [1.0, 1.0, 1.0]


def test_diagonals_are_counted_in_python():
    for k in (np.uint8(250), np.int8(-1), jnp.array(1)):
        for name in ("tril_indices", "triu_indices"):
            want = getattr(np, name)(3, int(k))
            for made, expected in zip(getattr(jnp, name)(3, k), want, strict=True):
                np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("dtype", ["int2", "uint2", "int4", "uint4", "int8", "uint8"])
def test_indices_narrower_than_the_axis_count_as_numbers(dtype: str) -> None:
    x = np.arange(300.0, dtype=np.float32)
    numbers = np.array([1, 0, 1] if dtype.startswith("u") else [1, -2, -1])
    i = jnp.array(numbers, dtype)
    looks = (lambda i: jnp.asarray(x)[i], lambda i: jnp.take(x, i),
             lambda i: jnp.take_along_axis(x, i, 0), lambda i: jnp.asarray(x).at[i].get(),
             lambda i: xfront.lax.index_take(x, (i,), (0,)), lambda i: jnp.take(x, i, mode="wrap"))
    for made in xfront.jit(lambda i: [look(i) for look in looks])(i):
        np.testing.assert_array_equal(made, x[numbers])
    np.testing.assert_array_equal(jnp.asarray(x)[np.asarray(i)], x[numbers])
    wanted = x.copy()
    wanted[numbers] = -7
    np.testing.assert_array_equal(jnp.asarray(x).at[i].set(-7), wanted)
    np.testing.assert_array_equal(jnp.put(x, i, -7.0, mode="wrap", inplace=False), wanted)
    np.testing.assert_array_equal(jnp.delete(x, i), np.delete(x, numbers))
    assert jnp.asarray(x)[i[0]] == 1
    counts = np.abs(numbers) % 2
    np.testing.assert_array_equal(jnp.bincount(jnp.array(counts, dtype)), np.bincount(counts))
    np.testing.assert_array_equal(jnp.repeat(x[:3], jnp.array(counts, dtype)),
                                  np.repeat(x[:3], counts))
    np.testing.assert_array_equal(jnp.choose(jnp.array(counts, dtype), [x[:3], x[3:6]]),
                                  np.choose(counts, [x[:3], x[3:6]]))


@pytest.mark.parametrize("read", [
    lambda x: x[5], lambda x: x[-6], lambda x: x[np.int32(7)], lambda x: x.at[5].get(),
    lambda x: x.at[-1].get(wrap_negative_indices=False), lambda x: jnp.outer(x, x)[..., 9],
    lambda x: jnp.outer(x, x)[jnp.array([0, 1]), 9], lambda x: jnp.outer(x, x)[5, 0:2],
    lambda x: x.at[9].get(mode="promise_in_bounds")])
def test_known_indices_outside_raise_where_the_option_asks_for_it(read):
    x = jnp.arange(5.0)
    for run in (read, xfront.jit(read)):
        run(x)
        with check_static_indices(True), pytest.raises(
                IndexError, match="is out of bounds for axis . with size 5"):
            run(x)


def test_other_indices_outside_are_taken_under_that_option():
    x = jnp.arange(5.0)
    with check_static_indices(True):
        assert (x[4], x[-5], x.at[5].get(mode="clip"), x[jnp.array([7])][0]) == (4, 0, 4, 4)
        assert x[3:9].shape == (2,) and jnp.isnan(x.at[5].get(mode="fill"))
        assert (x.at[5].set(1.0) == x).all() and jnp.isnan(jnp.take(x, 7))
