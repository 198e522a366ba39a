"""Generators that a program defines, the names of `extend.random`, and arrays of keys."""

from __future__ import annotations

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax, random
from xfront.extend import random as generators


def _split(words, shape):
    counts = jnp.arange(int(np.prod(shape)), dtype="uint32").reshape(*shape, 1)
    return jnp.broadcast_to(words, (*shape, 2)) + counts


MINE = generators.define_prng_impl(
    key_shape=(2,), seed=lambda seed: jnp.stack([jnp.uint32(7), seed.astype("uint32")]),
    split=_split, random_bits=lambda words, width, shape: jnp.full(shape, words[1], f"uint{width}"),
    fold_in=lambda words, data: words + data, name="mine", tag="my")


def words(key) -> list:
    return random.key_data(key).tolist()


def test_own_generator() -> None:
    key = random.key(5, impl=MINE)
    assert words(key) == [7, 5] and key.dtype.name == "key<my>" and key.dtype.impl == "mine"
    assert random.key_impl(key) is MINE and random.key(5, dtype=key.dtype).dtype is key.dtype
    assert words(random.split(key)) == [[7, 5], [8, 6]]
    assert random.split(key, (2, 2)).shape == (2, 2)
    assert words(random.fold_in(key, 2)) == [9, 7]
    assert random.bits(key, (3,)).tolist() == [5, 5, 5]
    assert random.uniform(key) == 0
    assert random.PRNGKey(5, impl=MINE).tolist() == [7, 5]
    assert words(random.wrap_key_data(np.array([1, 2], "uint32"), impl=MINE)) == [1, 2]


def test_own_generator_under_transformations() -> None:
    key = random.key(5, impl=MINE)
    assert jax.vmap(random.bits)(random.split(key)).tolist() == [5, 6]
    assert jax.jit(lambda k: random.bits(random.split(k)[1]))(key) == 6
    assert words(lax.fori_loop(0, 3, lambda i, k: random.fold_in(k, 1), key)) == [10, 8]
    assert words(jax.jit(lambda k: jnp.stack([k, k]))(key)) == [[7, 5], [7, 5]]
    assert generators.random_seed(np.arange(6).reshape(2, 3), MINE).shape == (2, 3)
    assert 0 <= random.gamma(key, 2.0) < 100


def test_wrong_generators_are_refused_where_they_are_used() -> None:
    wrong = generators.define_prng_impl(
        key_shape=(3,), seed=lambda seed: jnp.zeros(2, "uint32"), split=lambda words, shape: words,
        random_bits=lambda words, width, shape: words, fold_in=lambda words, data: words)
    with pytest.raises(TypeError, match="seed returned"):
        random.key(0, impl=wrong)
    key = random.wrap_key_data(np.zeros(3, "uint32"), impl=wrong)
    for use in (random.split, random.bits):
        with pytest.raises(TypeError, match="but must return"):
            use(key)
    with pytest.raises(TypeError, match="split must be a function"):
        generators.define_prng_impl(key_shape=(2,), seed=print, split=3,  # type: ignore[arg-type]
                                    random_bits=print, fold_in=print)


def test_names_of_extend() -> None:
    assert repr(generators.seed_with_impl(generators.threefry_prng_impl, 3)) == repr(random.key(3))
    assert words(generators.random_seed(np.int32(3), generators.rbg_prng_impl)) == [0, 3, 0, 3]
    assert random.key(1, impl=generators.unsafe_rbg_prng_impl).dtype.name == "key<urbg>"
    key = np.array([1, 2], "uint32")
    five = generators.threefry_2x32(key, np.arange(5, dtype="uint32"))
    assert five.tolist() == [2052595727, 3504730591, 2527474599, 1880214352, 1914734168]
    six = generators.threefry_2x32(tuple(key), np.arange(6, dtype="uint32").reshape(2, 3))
    assert six.tolist() == [[2052595727, 3504730591, 1038787879],
                            [1880214352, 1914734168, 1027009547]]
    with pytest.raises(TypeError, match="all uint32"):
        generators.threefry_2x32(key, np.arange(5))
    assert generators.threefry2x32_p.name == "threefry2x32"


MOVES = {
    "reshape": lambda x: jnp.reshape(x, (3, 2)), "ravel": jnp.ravel, "T": lambda x: x.T,
    "transpose": lambda x: jnp.transpose(x, (1, 0)), "squeeze": lambda x: jnp.squeeze(x[None]),
    "expand_dims": lambda x: jnp.expand_dims(x, 1), "swapaxes": lambda x: jnp.swapaxes(x, 0, 1),
    "moveaxis": lambda x: jnp.moveaxis(x, 0, 1), "stack": lambda x: jnp.stack([x, x], 1),
    "concatenate": lambda x: jnp.concatenate([x, x], 1), "hstack": lambda x: jnp.hstack([x, x]),
    "vstack": lambda x: jnp.vstack([x, x]), "flip": lambda x: jnp.flip(x, 1),
    "roll": lambda x: jnp.roll(x, 1, 0), "rot90": jnp.rot90, "tile": lambda x: jnp.tile(x, (2, 1)),
    "repeat": lambda x: jnp.repeat(x, 2, 1), "take": lambda x: jnp.take(x, np.array([1, 0, 1]), 0),
    "take_along_axis": lambda x: jnp.take_along_axis(x, np.array([[2], [0]]), 1),
    "broadcast_to": lambda x: jnp.broadcast_to(x, (4, 2, 3)), "split": lambda x: jnp.split(x, 3, 1),
    "where": lambda x: jnp.where(np.array([True, False, True]), x, x[:, ::-1]),
    "full_like": lambda x: jnp.full_like(x, x[0, 1]), "index": lambda x: x[1, ::2],
    "gather": lambda x: x[np.array([1, 0, 1])], "mask": lambda x: x[np.array([True, False])],
    "atleast_3d": jnp.atleast_3d, "array_split": lambda x: jnp.array_split(x, 2, 1),
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (0, 1), (2, 2)),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, x[:1], (1, 0)),
    "select": lambda x: lax.select(np.array([[True, False, True]] * 2), x, x[::-1]),
    "at.set": lambda x: x.at[0, 1].set(x[1, 2]), "copy": jnp.copy, "asarray": jnp.asarray,
    "delete": lambda x: jnp.delete(x, 1, 1), "append": lambda x: jnp.append(x, x, 0),
    "unstack": lambda x: jnp.unstack(x), "column_stack": lambda x: jnp.column_stack([x[0], x[1]]),
    "lax.broadcast": lambda x: lax.broadcast(x, (2,)), "lax.rev": lambda x: lax.rev(x, (1,)),
    "dstack": lambda x: jnp.dstack([x, x]), "insert": lambda x: jnp.insert(x, 1, x[0, 0], 1),
    "fliplr": jnp.fliplr, "diagonal": jnp.diagonal, "choose": lambda x: jnp.select(
        [np.array([True, False, False])], [x], x[:, ::-1]),
}


def moved(x) -> dict:
    """What every move gives, in one program, keys as words."""
    def run(x):
        made = {}
        for name, move in MOVES.items():
            try:
                made[name] = move(x)
            except Exception as error:
                raise AssertionError(f"{name}: {error!r}") from error
        return made

    return jax.jit(run)(x)


def test_key_arrays_move_as_numbers_do() -> None:
    """Each key of an array is followed by a number that moves with it."""
    keys, places = random.split(random.key(0), (2, 3)), np.arange(6).reshape(2, 3)
    table = np.asarray(random.key_data(keys)).reshape(6, 2)
    ours, wanted = moved(keys), moved(places)
    for name in MOVES:
        for got, index in zip(jax.tree.leaves(ours[name]), jax.tree.leaves(wanted[name]),
                              strict=True):
            assert got.dtype is keys.dtype, name
            np.testing.assert_array_equal(random.key_data(got), table[np.asarray(index)], name)
