"""Reinforcement learning with environments that are part of the program."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, workload


def balanced(jnp: Any, state: Any, force: Any) -> Any:
    """The next state of a pole on a cart that is pushed."""
    x, v, angle, spin = state
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    push = (force + 0.05 * spin**2 * sin) / 1.1
    turn = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
    slide = push - 0.05 * turn * cos / 1.1
    return jnp.stack([x + 0.02 * v, v + 0.02 * slide, angle + 0.02 * spin, spin + 0.02 * turn])


@workload("policy gradient with a pole on a cart")
def reinforce(jax: Any, jnp: Any) -> Program:
    """Thirty-two games of 60 steps by vmap, returns to go, the gradient of log probabilities."""
    params = [normal(jnp, 4, 32) * 0.4, normal(jnp, 32, 2, seed=1) * 0.2]

    def logits(p: Any, state: Any) -> Any:
        return jnp.tanh(state @ p[0]) @ p[1]

    def game(p: Any, key: Any) -> Any:
        def turn(carry: Any, key: Any) -> Any:
            state, alive = carry
            action = jax.random.categorical(key, logits(p, state))
            new = balanced(jnp, state, jnp.where(action == 1, 10.0, -10.0))
            fell = (jnp.abs(new[0]) > 2.4) | (jnp.abs(new[2]) > 0.21)
            return (new, alive * (1.0 - fell)), (state, action, alive)

        start, *keys = jax.random.split(key, 61)
        state = jax.random.uniform(start, (4,), minval=-0.05, maxval=0.05)
        return jax.lax.scan(turn, (state, jnp.float32(1.0)), jnp.stack(keys))[1]

    def step(p: Any, key: Any) -> Any:
        states, actions, alive = jax.vmap(game, (None, 0))(p, jax.random.split(key, 32))
        gains = jax.lax.scan(
            lambda total, r: (r + 0.99 * total,) * 2, jnp.zeros(32), alive.T, reverse=True)[1].T
        gains = (gains - gains.mean()) / (gains.std() + 1e-6)

        def loss(p: Any) -> Any:
            logp = jax.nn.log_softmax(logits(p, states))
            chosen = jnp.take_along_axis(logp, actions[..., None], -1)[..., 0]
            return -jnp.mean(chosen * jax.lax.stop_gradient(gains) * alive)

        value, g = jax.value_and_grad(loss)(p)
        return [a - 0.05 * b for a, b in zip(p, g, strict=True)], value, alive.sum()

    return step, (params, jax.random.key(0))


@workload("PPO update of shuffled batches")
def ppo(jax: Any, jnp: Any) -> Program:
    """Two epochs of four batches over 1,024 transitions, with generalised advantages."""
    params = {"policy": [normal(jnp, 8, 64) * 0.3, normal(jnp, 64, 4, seed=1) * 0.1],
              "value": [normal(jnp, 8, 64, seed=2) * 0.3, normal(jnp, 64, 1, seed=3) * 0.1]}

    def net(p: Any, x: Any) -> Any:
        return jnp.tanh(x @ p[0]) @ p[1]

    def advantages(values: Any, rewards: Any, done: Any) -> Any:
        def back(carry: Any, at: Any) -> Any:
            later, next_value = carry
            value, reward, done = at
            delta = reward + 0.99 * next_value * (1 - done) - value
            later = delta + 0.99 * 0.95 * (1 - done) * later
            return (later, value), later

        zeros = jnp.zeros(values.shape[1])
        return jax.lax.scan(back, (zeros, zeros), (values, rewards, done), reverse=True)[1]

    def loss(p: Any, batch: Any) -> Any:
        x, action, old, gain, target = batch
        logp = jax.nn.log_softmax(net(p["policy"], x))
        new = jnp.take_along_axis(logp, action[:, None], 1)[:, 0]
        ratio = jnp.exp(new - old)
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        clipped = jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain)
        entropy = -jnp.sum(jnp.exp(logp) * logp, -1)
        error = (net(p["value"], x)[:, 0] - target) ** 2
        return -jnp.mean(clipped) + 0.5 * jnp.mean(error) - 0.01 * jnp.mean(entropy)

    def step(p: Any, key: Any, x: Any, action: Any, rewards: Any, done: Any) -> Any:
        values = net(p["value"], x)[..., 0]
        gain = advantages(values, rewards, done)
        logp = jax.nn.log_softmax(net(p["policy"], x))
        old = jnp.take_along_axis(logp, action[..., None], -1)[..., 0]
        data = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]),
                            (x, action, old, gain, gain + values))

        def epoch(p: Any, key: Any) -> Any:
            order = jax.random.permutation(key, 1024).reshape(4, 256)

            def batch(p: Any, rows: Any) -> Any:
                value, g = jax.value_and_grad(loss)(p, jax.tree.map(lambda a: a[rows], data))
                return jax.tree.map(lambda a, b: a - 0.01 * b, p, g), value

            return jax.lax.scan(batch, p, order)

        return jax.lax.scan(epoch, p, jax.random.split(key, 2))

    shape = (64, 16)
    done = (between(jnp, 0, 1, *shape) < 0.05).astype(jnp.float32)
    action = between(jnp, 0, 4, *shape, dtype=np.int32)
    return step, (params, jax.random.key(1), normal(jnp, *shape, 8), action,
                  normal(jnp, *shape, seed=4), done)


@workload("Q-learning in a grid world")
def q_learning(jax: Any, jnp: Any) -> Program:
    """Sixty-four agents with tables of their own take 200 steps in a maze of 8 x 8."""
    walls = np.random.default_rng(0).uniform(size=(8, 8)) < 0.2
    walls[0, 0] = walls[7, 7] = False
    moves = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]], np.int32)

    def agent(key: Any, walls: Any) -> Any:
        def turn(carry: Any, key: Any) -> Any:
            table, place = carry
            explore, choose = jax.random.split(key)
            best = jnp.argmax(table[place[0], place[1]])
            random = jax.random.randint(choose, (), 0, 4)
            action = jnp.where(jax.random.uniform(explore) < 0.2, random, best)
            new = jnp.clip(place + jnp.asarray(moves)[action], 0, 7)
            new = jnp.where(walls[new[0], new[1]], place, new)
            home = jnp.all(new == 7)
            reward = jnp.where(home, 1.0, -0.01)
            target = reward + 0.95 * jnp.max(table[new[0], new[1]]) * (1 - home)
            old = table[place[0], place[1], action]
            table = table.at[place[0], place[1], action].set(old + 0.3 * (target - old))
            return (table, jnp.where(home, 0, new)), reward

        start = jnp.zeros((8, 8, 4)), jnp.zeros(2, jnp.int32)
        (table, _), rewards = jax.lax.scan(turn, start, jax.random.split(key, 200))
        return table, rewards.sum()

    def step(key: Any, walls: Any) -> Any:
        return jax.vmap(agent, (0, None))(jax.random.split(key, 64), walls)

    return step, (jax.random.key(2), jnp.asarray(walls))


@workload("value iteration in a random decision process")
def value_iteration(jax: Any, jnp: Any) -> Program:
    """Two hundred states, eight actions, until the values move by less than a thousandth."""
    chances = np.random.default_rng(1).dirichlet(np.full(200, 0.1), (8, 200)).astype(np.float32)

    def step(chances: Any, rewards: Any) -> Any:
        def turn(state: Any) -> Any:
            values, _ = state
            q = rewards + 0.9 * jnp.einsum("ast,t->as", chances, values)
            new = q.max(0)
            return new, jnp.max(jnp.abs(new - values))

        start = jnp.zeros(200), jnp.float32(jnp.inf)
        values, _ = jax.lax.while_loop(lambda s: s[1] > 1e-3, turn, start)
        q = rewards + 0.9 * jnp.einsum("ast,t->as", chances, values)
        return values, jnp.argmax(q, 0)

    return step, (jnp.asarray(chances), between(jnp, 0, 1, 8, 200))


@workload("planning by cross entropy with a pole on a cart")
def planning(jax: Any, jnp: Any) -> Program:
    """Five rounds of 256 plans of 30 pushes; the best 32 give the next round's mean."""
    def cost(state: Any, plan: Any) -> Any:
        def turn(state: Any, force: Any) -> Any:
            new = balanced(jnp, state, force)
            return new, new[0] ** 2 + 10.0 * new[2] ** 2 + 1e-3 * force**2

        return jnp.sum(jax.lax.scan(turn, state, plan)[1])

    def step(key: Any, state: Any) -> Any:
        def turn(carry: Any, key: Any) -> Any:
            mean, spread = carry
            plans = jnp.clip(mean + spread * jax.random.normal(key, (256, 30)), -10.0, 10.0)
            costs = jax.vmap(cost, (None, 0))(state, plans)
            best = plans[jnp.argsort(costs)[:32]]
            return (best.mean(0), best.std(0) + 0.1), costs.min()

        start = jnp.zeros(30), jnp.full(30, 3.0)
        return jax.lax.scan(turn, start, jax.random.split(key, 5))

    return step, (jax.random.key(3), jnp.array([0.1, 0.0, 0.1, 0.0]))
