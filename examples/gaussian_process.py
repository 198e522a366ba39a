"""A Gaussian process: its scales are fitted by `minimize`, its picture is drawn as SVG.

The logarithm of the evidence of noisy values, of a squared-exponential covariance, has a gradient
by automatic differentiation through a Cholesky factor; BFGS climbs it in the logarithms of length,
height and noise (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm
2.1). Run it: `python examples/gaussian_process.py [picture.svg]`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront.scipy.linalg import cho_solve, solve_triangular
from xfront.scipy.optimize import minimize

NOISE, LENGTH, HEIGHT = 0.2, 0.8, 1.5
LINE = np.linspace(-0.5, 6.5, 141, dtype=np.float32)


def covariance(scales: Any, x: Any, y: Any) -> Any:
    """exp(-distance^2 / 2 length^2) height^2 between all points of x and of y."""
    length, height, _ = jnp.exp(scales)
    return height ** 2 * jnp.exp(-0.5 * ((x[:, None] - y) / length) ** 2)


def factor(scales: Any, x: Any) -> Any:
    """The Cholesky factor of the covariance of noisy values at x."""
    noise = jnp.exp(scales[2]) ** 2 + 1e-5
    return jnp.linalg.cholesky(covariance(scales, x, x) + noise * jnp.eye(len(x)))


def surprise(scales: Any, x: Any, y: Any) -> Any:
    """Minus the logarithm of the evidence, for each value."""
    lower = factor(scales, x)
    half = y @ cho_solve((lower, True), y) / 2
    return (half + jnp.log(jnp.diagonal(lower)).sum()) / len(x) + jnp.log(2 * jnp.pi) / 2


@jax.jit
def fit(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Logarithms of length, height and noise of the greatest evidence; how surprising the values
    are at first and then."""
    start = jnp.zeros(3)
    found = minimize(surprise, start, (x, y), method="BFGS")
    return found.x, surprise(start, x, y), found.fun


@jax.jit
def predict(scales: Any, x: Any, y: Any, at: Any) -> tuple[Any, Any]:
    """Mean and standard deviation of the function, without noise, at points."""
    lower, across = factor(scales, x), covariance(scales, x, at)
    mean = across.T @ cho_solve((lower, True), y)
    seen = solve_triangular(lower, across, lower=True)
    variance = jnp.exp(scales[1]) ** 2 - (seen ** 2).sum(0)
    return mean, jnp.sqrt(jnp.maximum(variance, 0.0))


def values(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Points in [0, 6] with a gap, and noisy values of a draw of the process there."""
    random = np.random.default_rng(4)
    x = np.sort(random.uniform(0, 6, 2 * n))
    x = x[(x < 3) | (x > 4)][:n].astype(np.float32)
    true = np.log([LENGTH, HEIGHT, NOISE]).astype(np.float32)
    y = np.asarray(factor(true, x)) @ random.normal(size=len(x))
    return x, y.astype(np.float32)


def picture(x: Any, y: Any, mean: Any, deviation: Any) -> str:
    """The values, the mean, and two standard deviations around it, as SVG."""
    def at(a: Any, b: Any) -> str:
        return " ".join(f"{70 * (p + 0.5) + 20:.1f},{150 - 32 * q:.1f}"
                        for p, q in zip(a, b, strict=True))

    band = at([*LINE, *LINE[::-1]], [*(mean + 2 * deviation), *(mean - 2 * deviation)[::-1]])
    dots = "".join(f'<circle cx="{p}" cy="{q}" r="2.5"/>'
                   for p, q in (point.split(",") for point in at(x, y).split()))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 530 300" fill="none">'
            f'<rect width="530" height="300" fill="white"/><polygon points="{band}" '
            f'fill="#cfe3f5"/><polyline points="{at(LINE, mean)}" stroke="#1f5f99" '
            f'stroke-width="2"/><g fill="#222">{dots}</g></svg>\n')


def main() -> None:
    x, y = values()
    scales, before, after = fit(x, y)
    mean, deviation = map(np.asarray, predict(scales, x, y, LINE))
    length, height, noise = np.exp(scales)
    print(f"surprise for each of {len(x)} values: {before:.3f} before, {after:.3f} after the fit")
    print(f"length {length:.2f}, height {height:.2f}, noise {noise:.3f} "
          f"(drawn with {LENGTH}, {HEIGHT}, {NOISE})")
    print(f"standard deviation {deviation[LINE < 3].mean():.2f} among the values, "
          f"{deviation[(LINE > 3.4) & (LINE < 3.6)].mean():.2f} in their gap")
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(picture(x, y, mean, deviation))
        print(f"drawn in {sys.argv[1]}")


if __name__ == "__main__":
    main()
