"""Uses of libraries that need one or two each: optimal transport, Gaussian processes, tree search,
reinforcement learning, splines, rigid bodies. Each function gives a tree of arrays and numbers, the
same with JAX as here."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import random

KEY = random.PRNGKey(0)


def jaxopt_minima_and_their_slopes():
    import jaxopt

    x = random.normal(KEY, (20, 3))
    y = x @ jnp.arange(3.0)

    def ridge(w, strength):
        return jnp.mean((x @ w - y)**2) + strength * jnp.sum(w**2)

    def summed(strength):
        solver = jaxopt.LBFGS(fun=ridge, implicit_diff=True, maxiter=30)
        return solver.run(jnp.zeros(3), strength).params.sum()

    simplex = jaxopt.ProjectedGradient(fun=ridge, projection=jaxopt.projection.projection_simplex)
    return jax.grad(summed)(0.1), simplex.run(jnp.ones(3) / 3, strength=0.1).params


def tinygp_likelihood_and_conditional():
    from tinygp import GaussianProcess, kernels

    x = jnp.linspace(0, 10, 12)

    def loss(t):
        kernel = jnp.exp(t["a"]) * kernels.Matern32(jnp.exp(t["s"]))
        return -GaussianProcess(kernel, x, diag=1e-2).log_probability(jnp.sin(x))

    smooth = GaussianProcess(kernels.quasisep.Matern32(1.0), x, diag=1e-2)
    found = smooth.condition(jnp.sin(x), jnp.array([2.5])).gp.loc
    return jax.jit(jax.value_and_grad(loss))({"a": 0.1, "s": 0.2}), found


def ott_distances_between_clouds():
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    x, y = random.normal(KEY, (6, 2)), random.normal(random.PRNGKey(1), (5, 2)) + 1

    def cost(x):
        geometry = pointcloud.PointCloud(x, y, epsilon=0.5)
        return sinkhorn.Sinkhorn()(linear_problem.LinearProblem(geometry)).reg_ot_cost

    return jax.jit(jax.value_and_grad(cost))(x)


def mctx_search():
    import mctx

    def step(params, key, action, state):
        reward = jnp.where(action == 2, 1.0, 0.0)
        return mctx.RecurrentFnOutput(reward=reward, discount=jnp.full(2, 0.9),
                                      prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2)), state

    root = mctx.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2),
                             embedding=jnp.zeros((2, 1)))
    found = mctx.gumbel_muzero_policy(None, KEY, root, step, num_simulations=8)
    return found.action, found.action_weights


def interpax_splines():
    import interpax

    x = jnp.linspace(0, 3, 8)

    def at(q, method):
        return interpax.interp1d(q, x, jnp.sin(x), method=method)

    q = jnp.array([0.3, 1.7])
    return [(at(q, m), jax.vmap(jax.grad(lambda q, m=m: at(q, m)))(q)) for m in ("cubic", "akima")]


def mjx_bodies_that_touch():
    import mujoco
    from mujoco import mjx

    model = mujoco.MjModel.from_xml_string("""<mujoco><option timestep="0.01"/><worldbody>
        <geom type="plane" size="5 5 .1"/>
        <body pos="0 0 .3"><joint name="slide" type="slide" axis="1 0 0"/>
          <geom type="box" size=".1 .1 .1" mass="1"/>
          <body pos="0 0 .1"><joint type="hinge" axis="0 1 0"/>
            <geom type="capsule" fromto="0 0 0 0 0 .5" size=".03" mass=".1"/></body></body>
        <body pos="1 0 .099"><freejoint/><geom type="sphere" size=".1" mass=".5"/></body>
        </worldbody><actuator><motor joint="slide" gear="10"/></actuator></mujoco>""")
    start, there = mujoco.MjData(model), mjx.put_model(model)
    start.qpos[1] = 0.2

    def after(force):
        def one(data, _):
            data = mjx.step(there, data.replace(ctrl=force))
            return data, data.qpos

        return jax.lax.scan(one, mjx.put_data(model, start), None, length=3)[1]

    batch = jax.jit(jax.vmap(after))(jnp.array([[0.0], [1.0], [-1.0]]))
    return batch, jax.jit(jax.jacfwd(lambda f: after(f)[-1, :2]))(jnp.array([1.0]))


def penzai_model_learns():
    import optax
    from penzai import pz
    from penzai.models import simple_mlp
    from penzai.toolshed import basic_training

    model = simple_mlp.MLP.from_config(name="mlp", init_base_rng=random.key(0),
                                       feature_sizes=[3, 8, 2])

    def through(model, x):
        return model(pz.nx.wrap(x).tag("batch", "features")).unwrap("batch", "features")

    def loss(model, rng, state, x, y):
        value = jnp.mean((through(model, x) - y)**2)
        return value, state, {"loss": value}

    trainer = basic_training.StatefulTrainer.build(
        root_rng=random.key(1), model=model, optimizer_def=optax.adam(1e-2), loss_fn=loss)
    first = through(model, jnp.ones((4, 3)))
    return first, [trainer.step(x=jnp.ones((4, 3)), y=jnp.zeros((4, 2)))["loss"] for _ in range(3)]


def kfac_steps():
    """The library wants `get_bind_params` as it was before JAX 0.9.2, a pair: with JAX 0.10.2 the
    values were recorded with a dict in its place that can be taken apart."""
    import kfac_jax

    def loss(p, batch):
        x, y = batch
        out = jnp.tanh(x @ p["first"]) @ p["second"]
        kfac_jax.register_squared_error_loss(out, y)
        return jnp.mean(jnp.sum((out - y)**2, -1))

    params = {"first": random.normal(random.key(0), (3, 4)),
              "second": random.normal(random.key(1), (4, 2))}
    batch = jnp.ones((8, 3)), jnp.ones((8, 2))
    optimizer = kfac_jax.Optimizer(
        jax.value_and_grad(loss), l2_reg=1e-3, use_adaptive_learning_rate=True,
        use_adaptive_momentum=True, use_adaptive_damping=True, initial_damping=1.0,
        multi_device=False, num_burnin_steps=0)
    state, losses = optimizer.init(params, random.key(2), batch), []
    for i in range(3):
        params, state, told = optimizer.step(params, state, random.key(i), batch=batch,
                                             global_step_int=i)
        losses.append(told["loss"])
    return losses
