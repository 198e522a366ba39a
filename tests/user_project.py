"""A user's program: what type checkers say of it is compared in `test_types.py`."""

from functools import partial
from typing import Any, assert_type

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront import lax, random
from xfront.numpy import linalg
from xfront.sharding import Mesh, NamedSharding, PartitionSpec, Sharding
from xfront.typing import ArrayLike, DTypeLike

Params = dict[str, jax.Array]


def init(key: jax.Array, size: int, dtype: DTypeLike = jnp.float32) -> Params:
    return {"w": random.normal(key, (size,), dtype), "b": jnp.zeros((), dtype)}


def loss(params: Params, x: jax.Array, y: ArrayLike) -> jax.Array:
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


@jax.jit
def step(params: Params, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Params]:
    value, slope = jax.value_and_grad(loss)(params, x, y)
    return value, {name: p - 0.1 * slope[name] for name, p in params.items()}


@partial(jax.jit, static_argnums=1)
def scaled(x: jax.Array, n: int) -> jax.Array:
    return x.at[0].set(1.0).astype(jnp.bfloat16) * n


@jax.jit(static_argnames="n")
def repeated(x: jax.Array, n: int) -> jax.Array:
    return jnp.concatenate([x] * n).reshape(n, -1).sum(axis=0)


def total(x: jax.Array) -> jax.Array:
    final, each = lax.scan(lambda c, v: (c + v, c), jnp.zeros(()), x)
    assert_type(final, jax.Array)
    return final + each.sum()


params, x = init(random.key(0), 3), jnp.arange(6.0).reshape(2, 3)
assert_type(step(params, x, x[:, 0]), tuple[jax.Array, Params])
assert_type(step.lower(params, x, x[:, 0]), jax.stages.Lowered)
assert_type(step.lower(params, x, x[:, 0], passes=()), jax.stages.Lowered)
assert_type(step.trace(params, x, x[:, 0]), jax.stages.Traced)
assert_type(jax.grad(loss)(params, x, 1.0), Params)
assert_type(jax.grad(loss, argnums=1)(params, x, 1.0), jax.Array)
assert_type(jax.grad(loss, argnums=(0, 1))(params, x, 1.0), tuple[Params, jax.Array])
assert_type(jax.grad(step, has_aux=True)(params, x, x[:, 0]), tuple[Params, Params])
assert_type(jax.value_and_grad(loss)(params, x, 1.0), tuple[jax.Array, Params])
assert_type(jax.jit(jax.grad(loss))(params, x, 1.0), Params)
assert_type(jax.vmap(loss, in_axes=(None, 0, 0))(params, x, x[:, 0]), jax.Array)
assert_type(jax.checkpoint(loss)(params, x, 1.0), jax.Array)
assert_type(jax.jacfwd(total)(x[0]), jax.Array)
assert_type(jax.jacrev(total)(x[0]), jax.Array)
assert_type(jax.hessian(total)(x[0]), jax.Array)
assert_type(jax.jvp(total, (x[0],), (x[1],)), tuple[jax.Array, jax.Array])
assert_type(jax.vjp(total, x[0])[1](jnp.ones(())), tuple[jax.Array])
doubled: jax.Array = scaled(x, 2)
assert_type(repeated(x[0], 2), jax.Array)
assert_type(1.0 + x, jax.Array)
assert_type(jnp.sum(x, axis=0), jax.Array)
assert_type(jnp.linalg.norm(x), jax.Array)
half: jax.Array = jnp.float32(0.5)


def spread(x: jax.Array, mesh: Mesh) -> jax.Array:
    where = NamedSharding(mesh, PartitionSpec("data"))
    return jnp.zeros_like(jax.device_put(x, where), out_sharding=where)


def lies(x: jax.Array) -> tuple[Sharding, jax.Device]:
    device = jax.devices()[0]
    assert_type(device, jax.Device)
    return NamedSharding(jax.make_mesh((1,), ("data",)), PartitionSpec()), device


def shared(x: Params, n: jax.Array) -> tuple[Params, jax.Array]:
    return lax.psum(x, "i"), lax.all_gather(n, "i")


assert_type(jnp.where(x > 0, x, 0.0), jax.Array)
assert_type(jnp.where(x > 0), tuple[jax.Array, ...])
assert_type(jnp.average(x), jax.Array)
assert_type(jnp.average(x, returned=True), tuple[jax.Array, jax.Array])
assert_type(jnp.linspace(0.0, 1.0, 3), jax.Array)
assert_type(jnp.unique(x), jax.Array)
assert_type(jnp.gcd(4, 6), jax.Array)
assert_type(linalg.svd(x).S, jax.Array)
assert_type(linalg.svd(x, compute_uv=False), jax.Array)
assert_type(linalg.svd(x, True, False), jax.Array)
assert_type(linalg.qr(x).Q, jax.Array)
assert_type(linalg.qr(x, "r"), jax.Array)
assert_type(lax.sort(x), jax.Array)
assert_type(jax.nn.logsumexp(x), jax.Array)
assert_type(jnp.result_type(x, 1.0), np.dtype[Any])
