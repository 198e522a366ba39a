"""Libraries that build on JAX, unmodified, each in a real use: `make ecosystem`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random

KEY = random.key(0)
X = random.normal(KEY, (32, 8))
Y = (X.sum(1) > 0).astype(jnp.int32)


def cross_entropy(logits):
    import optax

    return optax.softmax_cross_entropy_with_integer_labels(logits, Y).mean()


@pytest.mark.parametrize("name", """adam adamw sgd rmsprop adagrad lamb lion adabelief adamax nadam
    radam yogi novograd noisy_sgd fromage lars rprop amsgrad adan sign_sgd""".split())
def test_optax_optimisers_lower_a_loss(name):
    import optax

    params = {"w": random.normal(KEY, (8, 2)) * 0.5, "b": jnp.zeros(2)}
    loss = lambda p: cross_entropy(X @ p["w"] + p["b"])
    optimiser = getattr(optax, name)(1e-2)

    @jax.jit
    def step(p, s):
        updates, s = optimiser.update(jax.grad(loss)(p), s, p)
        return optax.apply_updates(p, updates), s

    p, s = params, optimiser.init(params)
    for _ in range(20):
        p, s = step(p, s)
    assert loss(p) < loss(params)


def test_chex_dataclasses_asserts_and_counted_traces():
    import chex

    @chex.dataclass
    class Pair:
        x: chex.Array
        y: float = 2.0

    assert jnp.all(jax.jit(lambda p: p.x * p.y)(Pair(x=jnp.ones(3))) == 2.0)
    chex.assert_shape(jnp.ones((2, 3)), (2, 3))
    with pytest.raises(AssertionError):
        chex.assert_shape(jnp.ones(2), (3,))
    chex.assert_trees_all_close({"a": jnp.ones(2)}, {"a": np.ones(2)})
    counted = jax.jit(chex.assert_max_traces(lambda x: x + 1, n=1))
    counted(1.0)
    with pytest.raises(AssertionError):
        counted(jnp.ones(2))


def test_chex_restricts_the_platforms_that_programs_are_compiled_for():
    import chex
    from chex._src.restrict_backends import RestrictedBackendError

    def fresh():                                 # no program of this run or an earlier one
        chosen = np.random.default_rng().integers(0, 3, 24)

        def f(x):
            for i in chosen:
                x = (jnp.sin, jnp.cos, jnp.tanh)[i](x)
            return x

        return jax.jit(f)(1.0)

    with chex.restrict_backends(forbidden=["cpu"]), pytest.raises(RestrictedBackendError):
        fresh()
    with chex.restrict_backends(allowed=["cpu"]):
        fresh()
    fresh()


def test_jaxtyping_and_einops():
    from einops import rearrange, reduce
    from jaxtyping import Array, Float, Int, PyTree

    x = jnp.ones((2, 3))
    assert isinstance(x, Float[Array, "2 3"]) and not isinstance(x, Int[Array, "2 3"])
    assert isinstance({"a": x}, PyTree[Float[Array, "..."]])
    assert jax.jit(lambda x: rearrange(x, "a b -> b a"))(x).shape == (3, 2)
    assert jax.grad(lambda x: reduce(x, "a b ->", "mean"))(x).shape == (2, 3)


def test_equinox_model_with_dropout_and_batch_norm_and_its_file(tmp_path):
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(8, 2, 16, 2, key=KEY)
    optimiser = optax.adam(1e-2)
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state):
        loss = lambda m: cross_entropy(jax.vmap(m)(X))
        value, grads = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimiser.update(grads, state, model)
        return eqx.apply_updates(model, updates), state, value

    values = []
    for _ in range(20):
        model, state, value = step(model, state)
        values.append(float(value))
    assert values[-1] < 0.2 * values[0]
    eqx.tree_serialise_leaves(tmp_path / "model.eqx", model)
    other = eqx.nn.MLP(8, 2, 16, 2, key=random.key(1))
    assert eqx.tree_equal(model, eqx.tree_deserialise_leaves(tmp_path / "model.eqx", other))
    norm, kept = eqx.nn.make_with_state(eqx.nn.BatchNorm)(8, "batch", mode="batch")
    out, _ = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(X, kept)
    np.testing.assert_allclose(out.std(), 1.0, atol=1e-3)
    assert eqx.nn.Dropout(0.5)(jnp.ones(100), key=KEY).shape == (100,)
    with pytest.raises(eqx.EquinoxRuntimeError, match="too large"):
        eqx.filter_jit(lambda x: eqx.error_if(x, x > 0, "too large"))(jnp.array(1.0))


def test_haiku_model_with_state():
    import haiku as hk
    import optax

    def forward(x, train):
        x = hk.BatchNorm(True, True, 0.9)(hk.Linear(16)(x), train)
        return hk.Linear(2)(hk.dropout(hk.next_rng_key(), 0.2, jax.nn.relu(x)))

    model = hk.transform_with_state(forward)
    params, state = model.init(KEY, X, True)
    optimiser = optax.adam(1e-2)

    @jax.jit
    def step(p, s, o, key):
        def loss(p):
            logits, after = model.apply(p, s, key, X, True)
            return cross_entropy(logits), after
        (value, s), g = jax.value_and_grad(loss, has_aux=True)(p)
        updates, o = optimiser.update(g, o)
        return optax.apply_updates(p, updates), s, o, value

    values, o = [], optimiser.init(params)
    for i in range(20):
        params, state, o, value = step(params, state, o, random.fold_in(KEY, i))
        values.append(float(value))
    assert values[-1] < 0.7 * values[0]


def test_linen_model_with_dropout_and_batch_norm():
    import flax.linen as nn
    import optax

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            x = nn.relu(nn.BatchNorm(use_running_average=not train)(nn.Dense(16)(x)))
            return nn.Dense(2)(nn.Dropout(0.2, deterministic=not train)(x))

    model, optimiser = Model(), optax.adam(1e-2)
    held = model.init({"params": KEY, "dropout": KEY}, X, True)

    @jax.jit
    def step(params, stats, o, key):
        def loss(p):
            logits, after = model.apply({"params": p, "batch_stats": stats}, X, True,
                                        rngs={"dropout": key}, mutable=["batch_stats"])
            return cross_entropy(logits), after
        (value, after), g = jax.value_and_grad(loss, has_aux=True)(params)
        updates, o = optimiser.update(g, o)
        return optax.apply_updates(params, updates), after["batch_stats"], o, value

    params, stats, o, values = held["params"], held["batch_stats"], None, []
    o = optimiser.init(params)
    for i in range(20):
        params, stats, o, value = step(params, stats, o, random.fold_in(KEY, i))
        values.append(float(value))
    assert values[-1] < 0.7 * values[0]
    rnn = nn.RNN(nn.LSTMCell(4))
    assert rnn.apply(rnn.init(KEY, jnp.ones((2, 5, 3))), jnp.ones((2, 5, 3))).shape == (2, 5, 4)


def test_nnx_model_with_dropout_and_batch_norm():
    import optax
    from flax import nnx

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.first, self.last = nnx.Linear(8, 16, rngs=rngs), nnx.Linear(16, 2, rngs=rngs)
            self.norm, self.drop = nnx.BatchNorm(16, rngs=rngs), nnx.Dropout(0.2, rngs=rngs)

        def __call__(self, x):
            return self.last(self.drop(nnx.relu(self.norm(self.first(x)))))

    model = Model(nnx.Rngs(0))
    optimiser = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimiser):
        value, grads = nnx.value_and_grad(lambda m: cross_entropy(m(X)))(model)
        optimiser.update(model, grads)
        return value

    values = [float(step(model, optimiser)) for _ in range(20)]
    assert values[-1] < 0.7 * values[0]


def test_numpyro_nuts_recovers_what_made_the_data():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    data = np.random.default_rng(0).normal(size=(50, 2))
    seen = data @ np.array([1.0, -2.0]) + 0.5 + 0.1 * np.random.default_rng(1).normal(size=50)

    def model(x, y):
        w = numpyro.sample("w", dist.Normal(0, 1).expand([2]).to_event(1))
        b = numpyro.sample("b", dist.Normal(0, 1))
        s = numpyro.sample("s", dist.HalfNormal(1.0))
        numpyro.sample("y", dist.Normal(x @ w + b, s), obs=y)

    chain = MCMC(NUTS(model), num_warmup=200, num_samples=200, progress_bar=False)
    chain.run(random.PRNGKey(0), jnp.array(data), jnp.array(seen))
    found = chain.get_samples()
    np.testing.assert_allclose(found["w"].mean(0), [1.0, -2.0], atol=0.1)
    np.testing.assert_allclose(found["b"].mean(), 0.5, atol=0.1)


def test_diffrax_stiff_equation_and_gradient():
    import diffrax as dx

    def robertson(t, y, k):
        a, b, c = -k[0] * y[0] + k[2] * y[1] * y[2], k[1] * y[1]**2, k[2] * y[1] * y[2]
        return jnp.stack([a, -a - b, b]) if c is not None else None

    solved = dx.diffeqsolve(
        dx.ODETerm(robertson), dx.Kvaerno5(), 0.0, 100.0, 2e-4, jnp.array([1.0, 0.0, 0.0]),
        args=(0.04, 3e7, 1e4), stepsize_controller=dx.PIDController(rtol=1e-5, atol=1e-7))
    np.testing.assert_allclose(solved.ys[-1], [0.617235, 6.1535e-6, 0.382759], rtol=1e-3)
    decay = lambda y0: dx.diffeqsolve(
        dx.ODETerm(lambda t, y, _: -y), dx.Tsit5(), 0.0, 1.0, 0.1, y0).ys[0]
    np.testing.assert_allclose(jax.grad(decay)(1.0), np.exp(-1.0), rtol=1e-5)


def test_lineax_and_optimistix():
    import lineax as lx
    import optimistix as ox

    a = jnp.array([[3.0, 1.0], [1.0, 2.0]])
    solve = lambda b: lx.linear_solve(lx.MatrixLinearOperator(a), b).value
    np.testing.assert_allclose(solve(jnp.array([1.0, 2.0])), [0.0, 1.0], atol=1e-5)
    np.testing.assert_allclose(jax.grad(lambda b: solve(b).sum())(jnp.ones(2)), [0.2, 0.4],
                               rtol=1e-5)
    assert jax.vmap(solve)(jnp.ones((3, 2))).shape == (3, 2)
    root = lambda c: ox.root_find(lambda x, c: x**2 - c, ox.Newton(1e-6, 1e-6), jnp.array(1.0),
                                  args=c).value
    np.testing.assert_allclose(jax.grad(root)(2.0), 0.5 / np.sqrt(2.0), rtol=1e-4)


def test_distrax_blackjax_and_jraph():
    import blackjax
    import distrax
    import jraph

    normal = distrax.Normal(0.0, 1.0)
    np.testing.assert_allclose(normal.kl_divergence(distrax.Normal(1.0, 1.0)), 0.5, rtol=1e-5)
    sampler = blackjax.nuts(lambda x: -0.5 * jnp.sum((x - 1.0)**2), 0.3, jnp.ones(2))
    step = lambda s, k: (lambda made: (made, made.position))(sampler.step(k, s)[0])
    _, drawn = jax.lax.scan(step, sampler.init(jnp.zeros(2)), random.split(KEY, 500))
    np.testing.assert_allclose(drawn.mean(0), [1.0, 1.0], atol=0.25)
    graph = jraph.GraphsTuple(
        nodes=jnp.ones((3, 2)), edges=jnp.ones((2, 1)), senders=jnp.array([0, 1]),
        receivers=jnp.array([1, 2]), n_node=jnp.array([3]), n_edge=jnp.array([2]), globals=None)
    net = jraph.GraphNetwork(lambda e, s, r, g: e + s.sum(1, keepdims=True),
                             lambda n, s, r, g: n + r.sum(1, keepdims=True))
    np.testing.assert_allclose(jax.jit(net)(graph).nodes[1], [4.0, 4.0])


@pytest.fixture
def mesh():
    return jax.sharding.Mesh(np.array(jax.devices()[:4]), ("x",))


def test_orbax_saves_and_restores_a_sharded_tree(tmp_path, mesh):
    import orbax.checkpoint as ocp

    P = jax.sharding.PartitionSpec
    on = lambda *spec: jax.sharding.NamedSharding(mesh, P(*spec))
    tree = {"w": jax.device_put(np.arange(32.0, dtype=np.float32).reshape(8, 4), on("x")),
            "b": [jax.device_put(np.ones(3, np.float32), on()), jnp.arange(5)],
            "half": jax.device_put(jnp.ones((4, 4), jnp.bfloat16), on("x", None)), "step": 3}
    kinds = jax.tree.map(ocp.utils.to_shape_dtype_struct, tree)

    def same(a, b):
        assert type(a) is type(b) and np.array_equal(a, b)
        assert getattr(a, "sharding", None) == getattr(b, "sharding", None)

    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "all", tree)
        checkpointer.wait_until_finished()
        jax.tree.map(same, checkpointer.restore(tmp_path / "all", kinds), tree)
        turned = {**kinds, "w": jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=on(None, "x"))}
        found = checkpointer.restore(tmp_path / "all", turned)["w"]
        assert found.sharding == on(None, "x") and np.array_equal(found, tree["w"])
    options = ocp.CheckpointManagerOptions(max_to_keep=2)
    with ocp.CheckpointManager(tmp_path / "steps", options=options) as manager:
        for step in range(3):
            manager.save(step, args=ocp.args.StandardSave({**tree, "step": step}))
        manager.wait_until_finished()
        assert manager.all_steps() == [1, 2]
        found = manager.restore(2, args=ocp.args.StandardRestore(kinds))
        jax.tree.map(same, found, {**tree, "step": 2})
