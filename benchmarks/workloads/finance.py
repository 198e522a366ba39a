"""Finance: options by paths, trees and transforms, portfolios."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import normal
from benchmarks.workloads.measured import Program, part, workload


@workload("Asian option with its Greeks by paths")
def asian(jax: Any, jnp: Any) -> Program:
    """Four thousand paths of 52 weeks, with antithetic ones, differentiated by four inputs."""
    def price(spot: Any, vol: Any, rate: Any, strike: Any, key: Any) -> Any:
        z = jax.random.normal(key, (4096, 52))
        z = jnp.concatenate([z, -z])
        moves = (rate - 0.5 * vol**2) / 52 + vol / 52**0.5 * z
        path = spot * jnp.exp(jnp.cumsum(moves, 1))
        return jnp.exp(-rate) * jnp.mean(jnp.maximum(path.mean(1) - strike, 0.0))

    def step(spot: Any, vol: Any, rate: Any, strike: Any, key: Any) -> Any:
        return jax.value_and_grad(price, (0, 1, 2, 3))(spot, vol, rate, strike, key)

    return step, (*map(jnp.float32, (100.0, 0.2, 0.03, 102.0)), jax.random.key(0))


@workload("American option by regressions on paths")
def american(jax: Any, jnp: Any) -> Program:
    """Longstaff and Schwartz: 4,000 paths, 25 dates, powers up to three."""
    def step(key: Any, spot: Any) -> Any:
        z = jax.random.normal(key, (25, 4000))
        path = spot * jnp.exp(jnp.cumsum((0.03 - 0.02) / 25 + 0.2 / 5 * z, 0))
        paid = jnp.maximum(100.0 - path, 0.0)

        def date(cash: Any, at: Any) -> Any:
            s, now = at
            cash = cash * jnp.exp(-0.03 / 25)
            x = s / 100.0 - 1.0
            basis = jnp.stack([jnp.ones_like(x), x, x**2, x**3], 1)
            open_ = (now > 0).astype(jnp.float32)
            left = (basis * open_[:, None]).T @ basis + 1e-3 * jnp.eye(4)
            later = basis @ jnp.linalg.solve(left, basis.T @ (cash * open_))
            return jnp.where((now > later) & (now > 0), now, cash), jnp.mean(later)

        cash, means = jax.lax.scan(date, paid[-1], (path[:-1], paid[:-1]), reverse=True)
        return cash.mean(), means

    return step, (jax.random.key(1), jnp.float32(100.0))


@workload("options on a binomial tree, implied volatilities, float64", x64=True)
def tree(jax: Any, jnp: Any) -> Program:
    """American puts of 32 strikes on 200 levels; Newton's method on Black and Scholes."""
    norm = part(jax, "scipy.stats").norm
    levels = 200

    def put(strike: Any, vol: Any) -> Any:
        up = jnp.exp(vol * (1 / levels) ** 0.5)
        chance = (jnp.exp(0.03 / levels) - 1 / up) / (up - 1 / up)
        k = jnp.arange(levels + 1)

        def back(values: Any, level: Any) -> Any:
            held = jnp.exp(-0.03 / levels) * (
                chance * jnp.roll(values, -1) + (1 - chance) * values)
            now = strike - 100.0 * up ** (2.0 * k - level)
            return jnp.where(k <= level, jnp.maximum(held, now), 0.0), None

        start = jnp.maximum(strike - 100.0 * up ** (2.0 * k - levels), 0.0)
        return jax.lax.scan(back, start, jnp.arange(levels - 1, -1, -1))[0][0]

    def call(vol: Any, strike: Any) -> Any:
        d = (jnp.log(100.0 / strike) + 0.03 + 0.5 * vol**2) / vol
        return 100.0 * norm.cdf(d) - strike * jnp.exp(-0.03) * norm.cdf(d - vol)

    def implied(price: Any, strike: Any) -> Any:
        def turn(_: Any, vol: Any) -> Any:
            value, slope = jax.value_and_grad(call)(vol, strike)
            return jnp.clip(vol - (value - price) / jnp.maximum(slope, 1e-6), 0.01, 3.0)

        return jax.lax.fori_loop(0, 8, turn, jnp.full((), 0.3))

    def step(strikes: Any, vols: Any) -> Any:
        puts = jax.vmap(put)(strikes, vols)
        return puts, jax.vmap(implied)(jax.vmap(call)(vols, strikes), strikes)

    strikes, vols = np.linspace(90.0, 110.0, 32), np.linspace(0.15, 0.3, 32)
    return step, (jnp.asarray(strikes), jnp.asarray(vols))


@workload("Heston's prices by characteristic functions, Jacobian")
def heston(jax: Any, jnp: Any) -> Program:
    """Forty calls by an integral of 128 points, differentiated by five parameters forward."""
    u = np.linspace(1e-3, 60.0, 128, dtype=np.float32)

    def prices(p: Any, strikes: Any) -> Any:
        kappa, theta, sigma, rho, v0 = p

        def phi(u: Any) -> Any:
            b = kappa - rho * sigma * 1j * u
            d = jnp.sqrt(b**2 + sigma**2 * (1j * u + u**2))
            g = (b - d) / (b + d)
            e = jnp.exp(-d)
            c = kappa * theta / sigma**2 * (b - d - 2 * jnp.log((1 - g * e) / (1 - g)))
            return jnp.exp(c + v0 / sigma**2 * (b - d) * (1 - e) / (1 - g * e))

        x = jnp.log(100.0 / strikes)[:, None]
        shifted = phi(u - 0.5j) * jnp.exp(1j * u * x) / (u**2 + 0.25)
        return 100.0 - jnp.sqrt(100.0 * strikes) / jnp.pi * jnp.trapezoid(shifted.real, u)

    def step(p: Any, strikes: Any) -> Any:
        return prices(p, strikes), jax.jacfwd(prices)(p, strikes)

    return step, (jnp.array([1.5, 0.04, 0.3, -0.7, 0.04]), jnp.linspace(80.0, 120.0, 40))


@workload("portfolio with bounds, and a backtest")
def portfolio(jax: Any, jnp: Any) -> Program:
    """Weights of 50 assets by projected steps in each of 24 windows, then drawdowns."""
    def onto(w: Any) -> Any:
        """The nearest point whose parts are positive and add up to one."""
        ordered = jnp.sort(w)[::-1]
        total = jnp.cumsum(ordered) - 1.0
        count = jnp.sum(ordered > total / jnp.arange(1, len(w) + 1))
        return jnp.maximum(w - total[count - 1] / count, 0.0)

    def step(returns: Any) -> Any:
        def window(start: Any) -> Any:
            past = jax.lax.dynamic_slice(returns, (start, 0), (60, 50))
            mean, cov = past.mean(0), jnp.cov(past, rowvar=False)
            slope = jax.grad(lambda w: 5.0 * w @ cov @ w - mean @ w)
            w = jax.lax.fori_loop(0, 30, lambda _, w: onto(w - 20.0 * slope(w)), jnp.full(50, 0.02))
            after = jax.lax.dynamic_slice(returns, (start + 60, 0), (20, 50)) @ w
            return w, after

        weights, after = jax.lax.map(window, 20 * jnp.arange(24))
        wealth = jnp.cumprod(1.0 + after.ravel())
        return weights, wealth[-1], jnp.max(1 - wealth / jax.lax.cummax(wealth))

    return step, (0.01 * normal(jnp, 540, 50),)
