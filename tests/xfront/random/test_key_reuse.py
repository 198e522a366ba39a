"""Keys that are consumed twice, in a program and between programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax, random
from xfront.errors import KeyReuseError

X = np.arange(3, dtype=np.float32)

CONSUMES: dict[str, Callable[[Any], Any]] = {
    "normal": random.normal, "split": random.split, "bits": random.bits,
    "jit": jax.jit(random.uniform), "permutation": lambda k: random.permutation(k, 3),
    "vmap of split": lambda k: jax.vmap(random.bits)(random.split(k)),
    "grad": lambda k: jax.grad(lambda x: x * random.uniform(k))(1.0),
    "stack": lambda k: jnp.stack([k, k]),
}
LEAVES: dict[str, Callable[[Any], Any]] = {
    "fold_in": lambda k: random.fold_in(k, 1), "data": random.key_data, "clone": random.clone,
    "equal": lambda k: k == k, "reshape": lambda k: jnp.reshape(k, (1,)), "repr": repr,
    "handed through": jax.jit(lambda k: k), "unread": jax.jit(lambda k: 1.0),
}


@pytest.fixture(autouse=True)
def watched():
    with jax.debug_key_reuse(True):
        yield


@pytest.mark.parametrize("name", CONSUMES)
def test_a_key_is_gone(name: str) -> None:
    k = random.key(0)
    CONSUMES[name](k)
    with pytest.raises(KeyReuseError, match="Previously-consumed key passed to"):
        random.normal(k)
    random.normal(random.clone(k))
    random.fold_in(k, 1)


@pytest.mark.parametrize("name", LEAVES)
def test_a_key_stays(name: str) -> None:
    k = random.key(0)
    LEAVES[name](k)
    random.normal(k)


def draws(k: Any) -> Any:
    return random.bits(k) + random.bits(k)


@pytest.mark.parametrize("call", [
    lambda k: jax.jit(draws)(k),
    lambda k: jax.jit(lambda: draws(k))(),
    lambda k: jax.jit(lambda: draws(random.key(0)))(),
    lambda k: jax.vmap(draws)(random.split(k)),
    lambda k: jax.grad(lambda x: x * (random.uniform(k) + random.uniform(k)))(1.0),
    lambda k: jax.jit(lambda k: jax.jit(random.bits)(k) + random.bits(k))(k),
    lambda k: jax.jit(lambda k: lax.cond(True, random.bits, lambda _: jnp.uint32(0), k)
                      + random.bits(k))(k),
    lambda k: lax.scan(lambda c, x: (c + random.uniform(k), x), 0.0, X),
    lambda k: lax.scan(lambda k, x: (k, random.uniform(k)), k, X),
    lambda k: lax.while_loop(lambda c: c < 3, lambda c: c + random.uniform(k), 0.0),
    lambda k: jax.jit(lambda ks: random.bits(ks[0]) + random.bits(ks[0]))(random.split(k)),
    lambda k: jax.jit(lambda k: random.split(k)[random.randint(k, (), 0, 2)])(k)])
def test_twice_in_one_program(call: Any) -> None:
    with pytest.raises(KeyReuseError, match=r"consume"):
        call(random.key(1))


@pytest.mark.parametrize("call", [
    lambda k: lax.cond(True, random.bits, random.bits, k),
    lambda k: lax.scan(lambda c, k: (c, random.uniform(k)), 0.0, random.split(k, 3)),
    lambda k: lax.scan(lambda k, x: tuple(random.split(k)), k, X),
    lambda k: jax.jit(lambda ks: random.bits(ks[0]) + random.bits(ks[1]))(random.split(k)),
    lambda k: jax.grad(jax.checkpoint(lambda x: x * random.uniform(k)))(1.0),
    lambda k: jax.vjp(lambda x: jnp.sin(x * random.uniform(k)), 1.0)[1](1.0)])
def test_once_in_one_program(call: Any) -> None:
    call(random.key(1))


def test_parts_of_key_arrays() -> None:
    keys = random.split(random.key(0), 3)
    random.bits(keys[0])
    with pytest.raises(KeyReuseError):
        random.bits(keys[0])
    random.bits(keys[1])
    with pytest.raises(KeyReuseError):
        jax.vmap(random.bits)(keys)
    a, b, _ = keys = random.split(random.key(0), 3)
    random.bits(a)
    random.bits(b)
    with pytest.raises(KeyReuseError):
        random.bits(a)


def test_keys_that_programs_give_back() -> None:
    k, _ = jax.jit(lambda k: (k, random.bits(k)))(random.key(0))
    with pytest.raises(KeyReuseError):
        random.bits(k)
    wrapped = random.wrap_key_data(jnp.zeros(2, "uint32"))
    random.bits(wrapped)
    with pytest.raises(KeyReuseError):
        random.bits(wrapped)


def test_raw_keys_are_not_followed() -> None:
    draws(random.PRNGKey(0))
    jax.jit(draws)(random.PRNGKey(0))


def test_switched_off_nothing_is_looked_at() -> None:
    with jax.debug_key_reuse(False):
        draws(random.key(0))
    k, f = random.key(3), jax.jit(random.bits)
    f(k)
    with pytest.raises(KeyReuseError):
        f(k)
