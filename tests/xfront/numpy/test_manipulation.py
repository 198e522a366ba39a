"""Shapes, joins, splits, repeats, padding, edits and diagonals against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from tests.against import agree, check, weakly

X = np.arange(12, dtype=np.float32).reshape(3, 4)
V = np.arange(1, 6, dtype=np.int32)


def test_shapes_and_axes() -> None:
    check({
        "reshape": lambda m, x, v: m.reshape(x, (2, -1)),
        "reshape F": lambda m, x, v: m.reshape(x, (2, 6), order="F"),
        "ravel": lambda m, x, v: m.ravel(x, order="F"),
        "transpose": lambda m, x, v: m.transpose(x[None], (2, 0, -2)),
        "matrix_transpose": lambda m, x, v: m.matrix_transpose(x[None]),
        "swapaxes": lambda m, x, v: m.swapaxes(x[None], 0, -1),
        "moveaxis": lambda m, x, v: m.moveaxis(x[None, None], (0, 3), (2, 0)),
        "rollaxis": lambda m, x, v: m.rollaxis(x[None], 2, 1),
        "expand_dims": lambda m, x, v: m.expand_dims(x, (0, -1)),
        "squeeze": lambda m, x, v: m.squeeze(x[None, :, None], 0),
        "broadcast_to": lambda m, x, v: m.broadcast_to(x[:, :1], (2, 3, 5)),
        "broadcast_arrays": lambda m, x, v: m.broadcast_arrays(x, x[:1], x[:, :1]),
        "atleast": lambda m, x, v: [m.atleast_1d(v[0]), m.atleast_2d(v), m.atleast_3d(v, x)],
        "flip": lambda m, x, v: [m.flip(x), m.flip(x, 1), m.fliplr(x), m.flipud(x)],
        "rot90": lambda m, x, v: [m.rot90(x, k) for k in range(-1, 3)],
        "roll": lambda m, x, v: [m.roll(x, 5), m.roll(x, (1, -2), (0, 1)), m.roll(x, 1, (0, 1))],
        "tile": lambda m, x, v: [m.tile(x, (2, 1, 3)), m.tile(v, 2), m.tile(x, (2, 1))],
        "unstack": lambda m, x, v: [x[i] for i in range(3)] if m is np else m.unstack(x),
    }, X, V, eagerly=18)
    assert jnp.broadcast_shapes((2, 1), (3,)) == np.broadcast_shapes((2, 1), (3,))


def test_joins_and_splits() -> None:
    check({
        "concatenate": lambda m, x, v: m.concatenate([x, x[:1], v[:4][None]], 0),
        "concatenate flat": lambda m, x, v: m.concatenate([x, v], None),
        "stack": lambda m, x, v: m.stack([x, x + 1], -1),
        "stacks": lambda m, x, v: [m.vstack([v, v]), m.hstack([v, v]), m.dstack([x, x]),
                                   m.column_stack([v[:3], x]), m.hstack([x, x])],
        "block": lambda m, x, v: m.block([[x, x[:, :1]], [x[:1], v[:1]]]),
        "split": lambda m, x, v: [m.split(x, 2, 1), m.split(v, [1, 3]), m.array_split(v, 3),
                                  m.hsplit(x, 2), m.vsplit(x, 3), m.dsplit(x[None], 2)],
        "append": lambda m, x, v: [m.append(v, 7), m.append(x, x, 0)],
        "repeat": lambda m, x, v: [m.repeat(x, 2, 1), m.repeat(v, 3),
                                   m.repeat(x, np.array([1, 0, 2]), 0)],
        "delete": lambda m, x, v: [m.delete(v, 1), m.delete(x, np.array([0, -1]), 1),
                                   m.delete(v, slice(0, 4, 2))],
        "insert": lambda m, x, v: [m.insert(v, 2, 9), m.insert(x, 1, v[:3], 1),
                                   m.insert(v, np.array([1, 1, 4]), np.array([7, 8, 9]))],
        "resize": lambda m, x, v: [m.resize(v, (3, 4)), m.resize(x, 5)],
    }, X, V)
    agree("trim_zeros", jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0])), np.array([1, 0, 2]))


def test_repeat_of_traced_counts() -> None:
    f = xfront.jit(lambda n, total: jnp.repeat(jnp.array(V), n, total_repeat_length=total),
                   static_argnums=1)
    counts = np.array([1, 0, 2, 0, 1])
    agree("exact", f(counts, 4), np.repeat(V, counts))
    agree("filled", f(counts, 6), np.array([1, 3, 3, 5, 5, 5], np.int32))
    agree("cut", f(counts, 2), np.array([1, 3], np.int32))
    with pytest.raises(xfront.errors.ConcretizationTypeError):
        xfront.jit(lambda n: jnp.repeat(jnp.array(V), n))(counts)


def test_roll_by_traced_shifts() -> None:
    f = xfront.jit(lambda x, s: [jnp.roll(x, s), jnp.roll(x, s, 1), jnp.roll(x, (s, 1), (0, 1))])
    for s in (-5, 0, 2):
        agree(f"roll {s}", f(X, s), [np.roll(X, s), np.roll(X, s, 1), np.roll(X, (s, 1), (0, 1))])


def test_pad() -> None:
    cases = {
        "constant": lambda m, x, v: m.pad(x, ((1, 2), (0, 3)), constant_values=7),
        "constants": lambda m, x, v: m.pad(x, 1, constant_values=((1, 2), (3, 4))),
        "edge": lambda m, x, v: m.pad(x, (1, 2), mode="edge"),
        "ramp": lambda m, x, v: m.pad(x, 2, mode="linear_ramp", end_values=5.0),
        "wrap": lambda m, x, v: m.pad(v, (7, 9), mode="wrap"),
        "mean": lambda m, x, v: m.pad(x, 2, mode="mean"),
        "maximum": lambda m, x, v: m.pad(x, (1, 2), mode="maximum", stat_length=2),
        "minimum": lambda m, x, v: m.pad(v, 1, mode="minimum"),
        "median": lambda m, x, v: m.pad(x, 1, mode="median"),
        "mean of bools": lambda m, x, v: m.pad(v == v[0], (1, 2), mode="mean"),
        "median of bools": lambda m, x, v: m.pad(v == v[0], 1, mode="median", stat_length=2),
    }
    for mode in ("reflect", "symmetric"):
        cases[mode] = lambda m, x, v, mode=mode: m.pad(v, (6, 11), mode=mode)
        cases[mode + " odd"] = lambda m, x, v, mode=mode: m.pad(v, (3, 2), mode=mode,
                                                                 reflect_type="odd")
    check(cases, X, V)


def test_diagonals() -> None:
    check({
        "tri": lambda m, x, v: [m.tril(x), m.tril(x, -1), m.triu(x, 1), m.triu(x[None])],
        "diag": lambda m, x, v: [m.diag(v), m.diag(v, 2), m.diag(v, -1)],
        "diag of": lambda m, x, v: [m.diag(x), m.diag(x, 2), m.diag(x, -2), m.diag(x, 9)],
        "diagonal": lambda m, x, v: [m.diagonal(x[None], 1, 1, 2), m.diagonal(x[..., None], 0, 2)],
        "diagflat": lambda m, x, v: m.diagflat(x[:2, :2], -1),
        "trace": lambda m, x, v: [m.trace(x), m.trace(x, 1), m.trace(x[None], -1, 2, 1)],
    }, X, V)
    made = jnp.fill_diagonal(jnp.array(X), jnp.array([7.0, 8.0]), inplace=False)
    agree("fill_diagonal", made, np.where(np.eye(3, 4) > 0, np.array([[7], [8], [7]]), X)
          .astype(np.float32))


def test_weak_types_stay() -> None:
    w = jnp.asarray(3)
    made = [jnp.reshape(w, (1,)), jnp.stack([w, w]), jnp.tile(w, 2), jnp.expand_dims(w, 0),
            jnp.pad(w[None], 1), jnp.append(w, 1), jnp.concatenate([w[None], jnp.int8(1)[None]])]
    assert [weakly(x) for x in made] == ["int32*"] * 6 + ["int8"]


@pytest.mark.parametrize(("call", "error"), [
    (lambda x: jnp.reshape(x, (5, -1)), TypeError),
    (lambda x: jnp.reshape(x, (-1, -1)), TypeError),
    (lambda x: jnp.reshape([1, 2], (2,)), TypeError),
    (lambda x: jnp.reshape(x, (4, 3), order="A"), NotImplementedError),
    (lambda x: jnp.transpose(x, (0, 0)), TypeError),
    (lambda x: jnp.moveaxis(x, 0, 5), ValueError),
    (lambda x: jnp.squeeze(x, 0), ValueError),
    (lambda x: jnp.expand_dims(x, (0, 0)), ValueError),
    (lambda x: jnp.broadcast_to(x, (3, 5)), ValueError),
    (lambda x: jnp.concatenate([]), ValueError),
    (lambda x: jnp.concatenate([x, x[0]]), TypeError),
    (lambda x: jnp.concatenate([[1], [2]]), TypeError),
    (lambda x: jnp.stack([x, x[0]]), ValueError),
    (lambda x: jnp.split(x, 2), ValueError),
    (lambda x: jnp.split(x, [2, 1]), ValueError),
    (lambda x: jnp.repeat(x, [1, 2, 3], 0), TypeError),
    (lambda x: jnp.repeat(x, -1), TypeError),
    (lambda x: jnp.rot90(x, axes=(0, 0)), ValueError),
    (lambda x: jnp.pad(x, -1), ValueError),
    (lambda x: jnp.pad(x, 1.5), TypeError),
    (lambda x: jnp.pad(x, 1, mode="best"), NotImplementedError),
    (lambda x: jnp.pad(x, 1, mode="edge", constant_values=1), ValueError),
    (lambda x: jnp.delete(x, [0]), TypeError),
    (lambda x: jnp.delete(x, 99), ValueError),
    (lambda x: jnp.triu(x[0]), ValueError),
    (lambda x: jnp.diag(x[None]), ValueError),
    (lambda x: jnp.fill_diagonal(x, 1), NotImplementedError),
    (lambda x: jnp.resize(x, -1), ValueError),
])
def test_refusals(call, error) -> None:
    with pytest.raises(error):
        call(jnp.array(X))


def test_gradients_and_batches() -> None:
    def mixed(x):
        parts = [jnp.pad(x, 2, mode="reflect"), jnp.tile(jnp.roll(x, 1, 0), (3, 2))[:7, :8],
                 jnp.concatenate([x, x[::-1], x[:1]], 0).repeat(2, axis=1)]
        return sum((i + 1) * jnp.tril(p) for i, p in enumerate(parts))

    weights = np.cos(np.arange(56.0, dtype=np.float32)).reshape(7, 8)
    got = xfront.jit(xfront.grad(lambda x: jnp.sum(weights * mixed(x))))(X)
    basis = np.eye(12, dtype=np.float32).reshape(12, 3, 4)
    columns = xfront.jit(xfront.vmap(mixed))(basis)               # the function is linear
    np.testing.assert_allclose(got, np.einsum("kij,ij->k", columns, weights).reshape(3, 4),
                               rtol=1e-5, atol=1e-5)


def test_delete_refuses_positions_out_of_range() -> None:
    x = jnp.arange(3)
    for gone, error in ((7, ValueError), (-4, ValueError), (jnp.array([0, 7]), IndexError),
                        (np.array([-4]), IndexError), (0.5, TypeError),
                        (np.array([True, False]), ValueError)):
        with pytest.raises(error, match="delete|out of bounds"):
            jnp.delete(x, gone)
    agree("delete", jnp.delete(x, jnp.array([0, -1])), np.array([1]))
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        jnp.delete(0.5, x, 2)


def test_shapes_as_arrays() -> None:
    assert jnp.broadcast_shapes(np.array([1, 2]), (3, 1)) == (3, 2)
    assert jnp.broadcast_shapes((), jnp.array([3])) == (3,)


def test_offsets_of_diagonals_are_integers() -> None:
    x = jnp.arange(4).reshape(2, 2)
    agree("diag", jnp.diag(x, True), np.array([1]))
    for f in (jnp.diag, jnp.diagonal, jnp.diagflat, jnp.trace, jnp.round):
        with pytest.raises(TypeError, match="must be an integer, got 1.5"):
            f(x * 1.0, 1.5)


def test_insert_takes_integers() -> None:
    for where in (0.5, jnp.array([0.5, 1.2])):
        with pytest.raises(ValueError, match="positions must be integers"):
            jnp.insert(jnp.arange(3), where, 2)


def test_gradient_has_the_dtype_of_values_and_coordinates_together() -> None:
    x, f = jnp.array([1.0, 2, 4]), jnp.array([1, 4, 9], jnp.float16)
    agree("f16 along f32", jnp.gradient(f, x), np.gradient(np.array([1.0, 4, 9]), np.asarray(x))
          .astype(np.float32))
    assert jnp.gradient(jnp.arange(3), x.astype(jnp.float16)).dtype == jnp.float16
    with pytest.raises(ValueError, match="along axis 0"):
        jnp.gradient(jnp.ones((2, 3)), x)


def test_flat_positions_in_narrow_and_unsigned_dtypes() -> None:
    for dtype in (np.uint8, np.uint32, np.int8):
        i = np.array([1, 12, 100], dtype)
        agree(f"clamped {dtype}", jnp.unravel_index(jnp.asarray(i), (3, 4)),
              [a.astype(dtype) for a in np.unravel_index([1, 11, 11], (3, 4))])
        agree(f"of many {dtype}", jnp.unravel_index(jnp.asarray(i), (20, 30)),
              [a.astype(dtype) for a in np.unravel_index(i, (20, 30))])
    agree("bools", jnp.take(jnp.array([4, 5]), jnp.array([True, False])), np.array([5, 4]))
    for f, error in ((lambda: jnp.trim_zeros(jnp.arange(3), "x"), "trim must be"),
                     (lambda: jnp.roll(jnp.ones((2, 2)), jnp.ones((2, 2), int), (0, 1)), "1-d"),
                     (lambda: jnp.tril_indices_from(3), "2-d")):
        with pytest.raises(ValueError, match=error):
            f()
    for f in (lambda z: jnp.nextafter(z, 1), lambda z: jnp.interp(z, z, z)):
        with pytest.raises(TypeError, match="complex64"):
            f(jnp.array([1j, 2]))


class Members:
    """A sequence of another class, also as a tree."""

    dtype = np.dtype(np.float32)

    def __init__(self, *arrays):
        self.arrays = arrays

    def __len__(self):
        return len(self.arrays)

    def __getitem__(self, i):
        return self.arrays[i]


class Blocks(Members):
    pass


xfront.tree_util.register_pytree_node(Blocks, lambda b: (b.arrays, None), lambda _, a: Blocks(*a))


@pytest.mark.parametrize("join", [jnp.concatenate, jnp.concat, jnp.stack, jnp.hstack, jnp.vstack,
                                  jnp.dstack, jnp.column_stack])
def test_sequences_of_any_class_are_joined(join):
    a, b = jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])
    wanted = np.asarray(join([a, b]))
    for made in (Members, Blocks, lambda *x: dict(enumerate(x)).values()):
        np.testing.assert_array_equal(join(made(a, b)), wanted)
        np.testing.assert_array_equal(
            xfront.jit(lambda a, b, made=made: join(made(a, b)))(a, b), wanted)
    x, y = xfront.vjp(lambda a, b: join(Blocks(a, b)), a, b)[1](join([a, b]))
    assert (x.tolist(), y.tolist()) == (a.tolist(), b.tolist())
    with pytest.raises(TypeError):
        join("ab")
