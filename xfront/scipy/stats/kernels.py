"""Estimates of densities by Gaussian kernels. Source: `scipy.stats.gaussian_kde`.

D. W. Scott, Multivariate Density Estimation, 1992, and B. W. Silverman, Density Estimation for
Statistics and Data Analysis, 1986, give the rules for the width of the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import numpy as jnp
from ...base.trees import register_pytree_node_class
from ...eager.operands import array_like
from ...lax.factorizations import cholesky, triangular_solve
from ...numpy.normalizers import logsumexp
from ...random import choice, multivariate_normal, split
from ..special.normal import ndtr


@register_pytree_node_class
class gaussian_kde:
    """An estimate of the density that a dataset samples: a sum of one Gaussian at each point.

    Args:
      dataset: the points, numbers or the columns of a matrix.
      bw_method: the width of the Gaussians, as a factor of the covariance of the data: "scott" (as
        None) or "silverman", a number, or a function of this object.
      weights: weights of the points, which are divided by their sum; None for equal ones.

    Attributes:
      dataset, weights, covariance, inv_cov, neff: the points as columns, their weights, the
        covariance of the Gaussians and its inverse, the effective number of points.

    It is a pytree of these.
    Raises: ValueError for weights of another length, another rule, or a dataset of more axes.

    >>> density = stats.gaussian_kde(jnp.array([0., 1., 2.]))
    >>> density(jnp.array([1., 3.]))
    Array([0.318, 0.084], dtype=float32)
    """

    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any
    neff: Any

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        data = jnp.atleast_2d(array_like("gaussian_kde", dataset))
        if data.ndim > 2:
            raise ValueError("gaussian_kde: the dataset must be a vector, or a matrix whose "
                             f"columns are the points, got shape {data.shape}")
        if jnp.issubdtype(data.dtype, jnp.complexfloating):
            raise NotImplementedError("gaussian_kde: complex data are not supported; pass the real "
                                      "and imaginary parts as rows")
        if not jnp.issubdtype(data.dtype, jnp.floating):
            data = data.astype(float)
        dim, count = data.shape
        if weights is None:
            shares = jnp.full(count, 1 / count if count else 0.0, data.dtype)
        else:
            shares = jnp.atleast_1d(array_like("gaussian_kde", weights)).astype(data.dtype)
            if shares.shape != (count,):
                raise ValueError(f"gaussian_kde: `weights` must be of length {count}, got shape "
                                 f"{shares.shape}")
            shares = shares / shares.sum()
        self.dataset, self.weights = data, shares
        self.neff = 1 / (shares * shares).sum()
        own = jnp.atleast_2d(jnp.cov(data, aweights=shares)).astype(data.dtype)
        self.covariance = own * self._factor(bw_method) ** 2
        self.inv_cov = jnp.linalg.inv(self.covariance)

    def _factor(self, bw_method: str | float | Callable[[Any], Any] | None) -> Any:
        power = -1 / (self.d + 4)
        if bw_method is None or isinstance(bw_method, str) and bw_method == "scott":
            return self.neff ** power
        if isinstance(bw_method, str) and bw_method == "silverman":
            return (self.neff * ((self.d + 2) / 4)) ** power
        if callable(bw_method):
            return bw_method(self)
        if isinstance(bw_method, str) or jnp.ndim(bw_method):
            raise ValueError("gaussian_kde: `bw_method` must be 'scott', 'silverman', a number or "
                             f"a function, got {bw_method!r}")
        return bw_method

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """The attributes."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, _: None, children: tuple[Any, ...]) -> gaussian_kde:
        """The object that has these attributes."""
        made = object.__new__(cls)
        made.neff, made.dataset, made.weights, made.covariance, made.inv_cov = children
        return made

    @property
    def d(self) -> int:
        """How many numbers a point has."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """How many points there are."""
        return self.dataset.shape[1]

    # --- densities --------------------------------------------------------------------------

    def evaluate(self, points: Any) -> Any:
        """The density at points, which are columns (or numbers if the dataset has numbers)."""
        return jnp.exp(self.logpdf(points))

    __call__ = evaluate

    def pdf(self, x: Any) -> Any:
        """As `evaluate`."""
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at points."""
        points = jnp.atleast_2d(array_like("gaussian_kde", x))
        if points.ndim > 2:
            raise ValueError("gaussian_kde: points must be a vector, or a matrix whose columns are "
                             f"the points, got shape {points.shape}")
        if points.shape[0] != self.d:
            if points.shape[::-1] != (self.d, 1):
                raise ValueError(f"gaussian_kde: points have dimension {points.shape[0]}, but the "
                                 f"dataset has dimension {self.d}")
            points = points.T                    # one point, given as a vector
        return _log_sum(self.dataset, self.weights, points, self.covariance)

    # --- integrals --------------------------------------------------------------------------

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the product with a normal density.

        Raises: ValueError where mean is not a vector or cov not a matrix of the dataset's
          dimension.
        """
        mean = jnp.atleast_1d(array_like("integrate_gaussian", mean))
        cov = jnp.atleast_2d(array_like("integrate_gaussian", cov))
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise ValueError(f"gaussian_kde: the mean must have shape {(self.d,)} and the "
                             f"covariance shape {(self.d, self.d)}, got shapes {mean.shape} and "
                             f"{cov.shape}")
        made = _log_sum(self.dataset, self.weights, mean[:, None], self.covariance + cov)
        return jnp.exp(made)[0]

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability of a number between low and high. Raises: ValueError for vectors."""
        if self.d != 1:
            raise ValueError("gaussian_kde: integrate_box_1d only supports datasets of dimension "
                             f"1, but this one has dimension {self.d}")
        spread = jnp.sqrt(self.covariance[0, 0])
        ends = [ndtr((end - self.dataset[0]) / spread) for end in (high, low)]
        return (self.weights * (ends[0] - ends[1])).sum()

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the product with another estimate. Raises: ValueError where the
        dimensions differ."""
        if other.d != self.d:
            raise ValueError("gaussian_kde: both estimates must have the same dimension, got "
                             f"{self.d} and {other.d}")
        made = _log_sum(self.dataset, self.weights, other.dataset,
                        self.covariance + other.covariance)
        return (other.weights * jnp.exp(made)).sum()

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        """Points of the estimated density, of shape (d, *shape), those that JAX draws."""
        for_places, for_noise = split(key)
        places = choice(for_places, self.n, shape, p=self.weights)
        noise = multivariate_normal(for_noise, jnp.zeros(self.d, self.dataset.dtype),
                                    self.covariance, shape[::-1], self.dataset.dtype)
        return self.dataset[:, places] + noise.T

    # --- what SciPy has and this library does not -------------------------------------------

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Not supported. Raises: NotImplementedError."""
        raise NotImplementedError("gaussian_kde: integrate_box is not supported; use "
                                  f"integrate_box_1d for data of dimension 1, got {low_bounds!r}, "
                                  f"{high_bounds!r} and maxpts={maxpts!r}")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Not supported. Raises: NotImplementedError."""
        raise NotImplementedError("gaussian_kde: an estimate cannot be changed; make a new "
                                  f"gaussian_kde with bw_method={bw_method!r}")


def _log_sum(data: Any, weights: Any, points: Any, cov: Any) -> Any:
    """log(sum_i weights_i N(points_j - data_i, cov)) for each j."""
    dim = data.shape[0]
    factor = cholesky(cov)
    apart = data[:, :, None] - points[:, None, :]
    white = triangular_solve(factor, apart.reshape(dim, -1), left_side=True, lower=True)
    squares = (white * white).sum(0).reshape(apart.shape[1:])
    norm = jnp.log(jnp.diagonal(factor)).sum() + 0.5 * dim * math.log(2 * math.pi)
    return logsumexp(-0.5 * squares, axis=0, b=weights[:, None]) - norm


__all__ = ["gaussian_kde"]
