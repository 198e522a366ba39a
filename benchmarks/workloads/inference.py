"""Inference: samplers, filters, hidden states, variational bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, part, workload


def regression(jax: Any, jnp: Any) -> tuple[Any, Any]:
    """The log density of a logistic regression of 200 rows and 8 columns, and a start."""
    x = normal(jnp, 200, 8)
    y = (between(jnp, 0, 1, 200) < 0.5).astype(jnp.float32)

    def logp(w: Any) -> Any:
        logit = x @ w
        return jnp.sum(y * logit - jnp.logaddexp(0.0, logit)) - 0.5 * jnp.sum(w**2)

    return logp, 0.1 * normal(jnp, 8, seed=2)


@workload("HMC of a logistic regression, four chains")
def hmc(jax: Any, jnp: Any) -> Program:
    """Ten draws of ten leapfrog steps."""
    logp, start = regression(jax, jnp)

    def draw(w: Any, key: Any) -> Any:
        push, accept = jax.random.split(key)
        p0 = jax.random.normal(push, w.shape)

        def leap(_: Any, s: Any) -> Any:
            w, p = s
            p = p + 0.025 * jax.grad(logp)(w)
            w = w + 0.05 * p
            return w, p + 0.025 * jax.grad(logp)(w)

        new, p1 = jax.lax.fori_loop(0, 10, leap, (w, p0))
        gain = logp(new) - logp(w) - 0.5 * (jnp.sum(p1**2) - jnp.sum(p0**2))
        taken = jnp.log(jax.random.uniform(accept)) < gain
        w = jnp.where(taken, new, w)
        return w, (w, taken)

    def step(key: Any, start: Any) -> Any:
        def chain(key: Any) -> Any:
            return jax.lax.scan(draw, start, jax.random.split(key, 10))[1]

        return jax.vmap(chain)(jax.random.split(key, 4))

    return step, (jax.random.key(0), start)


@workload("NUTS of a logistic regression")
def nuts(jax: Any, jnp: Any) -> Program:
    """Twenty draws; a trajectory doubles until it turns, in a while_loop, up to 32 leaps."""
    logp, start = regression(jax, jnp)
    slope = jax.grad(logp)

    def leap(w: Any, p: Any, way: Any) -> Any:
        p = p + 0.05 * way * slope(w)
        w = w + 0.1 * way * p
        return w, p + 0.05 * way * slope(w)

    def draw(w0: Any, key: Any) -> Any:
        push, key = jax.random.split(key)
        p0 = jax.random.normal(push, w0.shape)
        energy0 = logp(w0) - 0.5 * p0 @ p0

        def going(s: Any) -> Any:
            return (s["depth"] < 5) & ~s["turned"]

        def double(s: Any) -> Any:
            key, a, b = jax.random.split(s["key"], 3)
            right = jax.random.bernoulli(a)
            way = jnp.where(right, 1.0, -1.0)
            w = jnp.where(right, s["wr"], s["wl"])
            p = jnp.where(right, s["pr"], s["pl"])

            def extend(i: Any, t: Any) -> Any:
                w, p, pick, total = t
                w, p = leap(w, p, way)
                weight = logp(w) - 0.5 * p @ p - energy0
                total = jnp.logaddexp(total, weight)
                u = jax.random.uniform(jax.random.fold_in(b, i))
                return w, p, jnp.where(jnp.log(u) < weight - total, w, pick), total

            w, p, pick, total = jax.lax.fori_loop(
                0, 2 ** s["depth"], extend, (w, p, s["pick"], jnp.float32(-1e30)))
            wl, pl = jnp.where(right, s["wl"], w), jnp.where(right, s["pl"], p)
            wr, pr = jnp.where(right, w, s["wr"]), jnp.where(right, p, s["pr"])
            u = jax.random.uniform(jax.random.fold_in(b, 1000))
            pick = jnp.where(jnp.log(u) < total - s["total"], pick, s["pick"])
            turned = ((wr - wl) @ pl < 0) | ((wr - wl) @ pr < 0)
            return {"depth": s["depth"] + 1, "turned": turned, "key": key, "wl": wl, "pl": pl,
                    "wr": wr, "pr": pr, "pick": pick,
                    "total": jnp.logaddexp(total, s["total"])}

        state = {"depth": 0, "turned": False, "key": key, "wl": w0, "pl": p0, "wr": w0, "pr": p0,
                 "pick": w0, "total": jnp.float32(0.0)}
        end = jax.lax.while_loop(going, double, state)
        return end["pick"], (end["pick"], end["depth"])

    def step(key: Any, start: Any) -> Any:
        return jax.lax.scan(draw, start, jax.random.split(key, 20))[1]

    return step, (jax.random.key(1), start)


@workload("particle filter of stochastic volatility")
def particle_filter(jax: Any, jnp: Any) -> Program:
    """A thousand particles over 60 days, sampled anew by systematic resampling."""
    def step(key: Any, returns: Any) -> Any:
        def day(carry: Any, at: Any) -> Any:
            h, total = carry
            key, y = at
            move, pick = jax.random.split(key)
            h = -0.5 + 0.95 * (h + 0.5) + 0.2 * jax.random.normal(move, h.shape)
            logw = -0.5 * (h + y**2 * jnp.exp(-h)) - 0.919
            total = total + jax.nn.logsumexp(logw) - jnp.log(1.0 * h.shape[0])
            points = (jax.random.uniform(pick) + jnp.arange(h.shape[0])) / h.shape[0]
            chosen = jnp.searchsorted(jnp.cumsum(jax.nn.softmax(logw)), points)
            h = h[jnp.minimum(chosen, h.shape[0] - 1)]
            return (h, total), h.mean()

        start = jax.random.normal(key, (1000,)) * 0.5 - 0.5
        keys = jax.random.split(key, returns.shape[0])
        (_, total), means = jax.lax.scan(day, (start, jnp.float32(0.0)), (keys, returns))
        return total, means

    return step, (jax.random.key(2), 0.5 * normal(jnp, 60))


@workload("Kalman filter and smoother, gradient of the likelihood")
def kalman(jax: Any, jnp: Any) -> Program:
    """Four states, two measurements, 100 times; derivatives with respect to the noises."""
    a = np.array([[1, 0.1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]], np.float32)
    c = np.array([[1, 0, 0, 0], [0, 0, 1, 0]], np.float32)

    def loss(noises: Any, ys: Any) -> Any:
        q, r = jnp.exp(noises[0]) * jnp.eye(4), jnp.exp(noises[1]) * jnp.eye(2)

        def forward(carry: Any, y: Any) -> Any:
            m, p = carry
            m1, p1 = a @ m, a @ p @ a.T + q
            s = c @ p1 @ c.T + r
            gain = jnp.linalg.solve(s, c @ p1).T
            miss = y - c @ m1
            m, p = m1 + gain @ miss, p1 - gain @ s @ gain.T
            logp = -0.5 * (miss @ jnp.linalg.solve(s, miss) + jnp.linalg.slogdet(s)[1])
            return (m, p), (m, p, m1, p1, logp)

        def backward(carry: Any, at: Any) -> Any:
            later, _ = carry
            m, p, m1, p1 = at
            gain = jnp.linalg.solve(p1, a @ p).T
            return (m + gain @ (later - m1), p), None

        _, (m, p, m1, p1, logp) = jax.lax.scan(forward, (jnp.zeros(4), jnp.eye(4)), ys)
        (first, _), _ = jax.lax.scan(
            backward, (m[-1], p[-1]), (m[:-1], p[:-1], m1[1:], p1[1:]), reverse=True)
        return -jnp.sum(logp) + 0.01 * jnp.sum(first**2)

    return jax.value_and_grad(loss), (jnp.array([-2.0, -1.0]), normal(jnp, 100, 2))


@workload("hidden Markov model: Viterbi and a step of Baum-Welch")
def hidden(jax: Any, jnp: Any) -> Program:
    """Sixteen states, 20 symbols, eight sequences of 100."""
    def step(start: Any, move: Any, emit: Any, seen: Any) -> Any:
        def likelihood(p: Any) -> Any:
            logs = [jax.nn.log_softmax(x) for x in p]

            def one(seen: Any) -> Any:
                def turn(alpha: Any, s: Any) -> Any:
                    return jax.nn.logsumexp(alpha[:, None] + logs[1], 0) + logs[2][:, s], None

                alpha, _ = jax.lax.scan(turn, logs[0] + logs[2][:, seen[0]], seen[1:])
                return jax.nn.logsumexp(alpha)

            return jnp.sum(jax.vmap(one)(seen))

        def best(seen: Any) -> Any:
            logs = [jax.nn.log_softmax(x) for x in (start, move, emit)]

            def turn(score: Any, s: Any) -> Any:
                paths = score[:, None] + logs[1]
                return paths.max(0) + logs[2][:, s], paths.argmax(0)

            score, came = jax.lax.scan(turn, logs[0] + logs[2][:, seen[0]], seen[1:])
            last = jnp.argmax(score)
            _, path = jax.lax.scan(lambda i, c: (c[i], i), last, came, reverse=True)
            return path

        value, counts = jax.value_and_grad(likelihood)((start, move, emit))
        return value, counts, jax.vmap(best)(seen)

    return step, (normal(jnp, 16), normal(jnp, 16, 16, seed=1), normal(jnp, 16, 20, seed=2),
                  between(jnp, 0, 20, 8, 100, dtype=np.int32))


@workload("walkers of an affine-invariant ensemble")
def walkers(jax: Any, jnp: Any) -> Program:
    """Four hundred walkers in a banana of ten dimensions, 40 stretch moves."""
    def logp(x: Any) -> Any:
        return -jnp.sum(5.0 * (x[1:] - x[:-1] ** 2) ** 2 + 0.5 * (1 - x[:-1]) ** 2)

    def step(key: Any, x: Any) -> Any:
        def half(key: Any, mine: Any, others: Any) -> Any:
            a, b, c = jax.random.split(key, 3)
            z = (1 + jax.random.uniform(a, (len(mine),))) ** 2 / 2
            partner = others[jax.random.randint(b, (len(mine),), 0, len(others))]
            new = partner + z[:, None] * (mine - partner)
            gain = 9 * jnp.log(z) + jax.vmap(logp)(new) - jax.vmap(logp)(mine)
            taken = jnp.log(jax.random.uniform(c, z.shape)) < gain
            return jnp.where(taken[:, None], new, mine)

        def turn(x: Any, key: Any) -> Any:
            a, b = jax.random.split(key)
            first, second = x[:200], x[200:]
            first = half(a, first, second)
            second = half(b, second, first)
            x = jnp.concatenate([first, second])
            return x, x.mean(0)

        return jax.lax.scan(turn, x, jax.random.split(key, 40))

    return step, (jax.random.key(3), 0.3 * normal(jnp, 400, 10))


@workload("variational inference of a hierarchy, gradient")
def variational(jax: Any, jnp: Any) -> Program:
    """Groups of a regression with 256 draws by reparametrisation; 12 groups, 600 rows."""
    stats = part(jax, "scipy.stats")
    group, x = between(jnp, 0, 12, 600, dtype=np.int32), normal(jnp, 600)
    y = 0.5 * x + 0.3 * normal(jnp, 600, seed=1)

    def logp(z: Any) -> Any:
        mean, spread, noise, slopes = z[0], jnp.exp(z[1]), jnp.exp(z[2]), z[3:]
        prior = stats.norm.logpdf(z[:3]).sum() + stats.norm.logpdf(slopes, mean, spread).sum()
        return prior + stats.t.logpdf(y, 4.0, slopes[group] * x, noise).sum()

    def loss(q: Any, key: Any) -> Any:
        mean, log_spread = q
        draws = mean + jnp.exp(log_spread) * jax.random.normal(key, (256, 15))
        return -jnp.mean(jax.vmap(logp)(draws)) - jnp.sum(log_spread)

    return jax.value_and_grad(loss), ((jnp.zeros(15), jnp.full(15, -2.0)), jax.random.key(4))
