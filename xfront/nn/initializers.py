"""Initializers of parameters: functions of (key, shape, dtype), and makers of them.

Sources: Glorot and Bengio (2010) for glorot (xavier); He et al., arXiv:1502.01852, for he
(kaiming); Klambauer et al., arXiv:1706.02515, for lecun; Saxe et al., arXiv:1312.6120, for
orthogonal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from .. import lax
from ..base.dtypes import canonicalize_dtype
from ..base.on_demand import shown as _shown
from ..binding.annotations import Array, ArrayLike, DTypeLike
from ..binding.tracebacks import front_door
from ..eager.dispatch import takes_out_sharding
from ..eager.operands import index_of, listed
from ..values.arguments import at_home

Axes = int | Sequence[int]


class Initializer(Protocol):
    """A function that makes parameters.

    >>> make: nn.initializers.Initializer = nn.initializers.constant(2)
    >>> make(xfront.random.key(0), (3,), jnp.float32)
    Array([2., 2., 2.], dtype=float32)
    """

    def __call__(self, key: Any, shape: Sequence[int] | int, dtype: Any = ...,
                 out_sharding: Any = ...) -> Any:
        """Parameters of this shape and dtype from a key."""
        ...


def _dims(shape: Sequence[int] | int) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int | np.integer) else tuple(shape)


def _dtype(dtype: Any) -> Any:
    return canonicalize_dtype(float if dtype is None else dtype)


@front_door
@takes_out_sharding("zeros")
def zeros(key: ArrayLike, shape: Sequence[int] | int, dtype: DTypeLike | None = None,
          out_sharding: Any = None) -> Array:
    """Zeros; the key is not used.

    >>> nn.initializers.zeros(xfront.random.key(0), (2,))
    Array([0., 0.], dtype=float32)
    """
    at_home("zeros", out_sharding)
    return lax.full(_dims(shape), 0, _dtype(dtype))


@front_door
@takes_out_sharding("ones")
def ones(key: ArrayLike, shape: Sequence[int] | int, dtype: DTypeLike | None = None,
         out_sharding: Any = None) -> Array:
    """Ones; the key is not used.

    >>> nn.initializers.ones(xfront.random.key(0), (2,))
    Array([1., 1.], dtype=float32)
    """
    at_home("ones", out_sharding)
    return lax.full(_dims(shape), 1, _dtype(dtype))


def constant(value: Any, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that gives `value`, which broadcasts to the shape.

    >>> nn.initializers.constant(2.)(xfront.random.key(0), (2,))
    Array([2., 2.], dtype=float32)
    """
    default = dtype

    @front_door
    @takes_out_sharding("initializers.constant")
    def init(key: Any, shape: Sequence[int] | int, dtype: Any = default,
             out_sharding: Any = None) -> Any:
        at_home("initializers.constant", out_sharding)
        x = lax.convert_element_type(value, _dtype(dtype))
        return lax.broadcast_like(x, lax.full(_dims(shape), 0, _dtype(dtype)))

    return init


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer with uniform numbers in [0, scale).

    >>> nn.initializers.uniform(0.1)(xfront.random.key(0), (2, 3)).shape
    (2, 3)
    """
    default = dtype

    @front_door
    @takes_out_sharding("initializers.uniform")
    def init(key: Any, shape: Sequence[int] | int, dtype: Any = default,
             out_sharding: Any = None) -> Any:
        at_home("initializers.uniform", out_sharding)
        from .. import random

        kind = _dtype(dtype)
        return _scaled(random.uniform(key, _dims(shape), kind), scale)

    return init


def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer with normal numbers of this standard deviation.

    >>> nn.initializers.normal(0.1)(xfront.random.key(0), (2, 3)).shape
    (2, 3)
    """
    default = dtype

    @front_door
    @takes_out_sharding("initializers.normal")
    def init(key: Any, shape: Sequence[int] | int, dtype: Any = default,
             out_sharding: Any = None) -> Any:
        at_home("initializers.normal", out_sharding)
        from .. import random

        return _scaled(random.normal(key, _dims(shape), _dtype(dtype)), stddev)

    return init


def truncated_normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike | None = None, lower: float = -2.0,
                     upper: float = 2.0) -> Initializer:
    """An initializer with normal numbers between `lower` and `upper`, times `stddev`.

    >>> nn.initializers.truncated_normal(0.1)(xfront.random.key(0), (2, 3)).shape
    (2, 3)
    """
    default = dtype

    @front_door
    @takes_out_sharding("initializers.truncated_normal")
    def init(key: Any, shape: Sequence[int] | int, dtype: Any = default,
             out_sharding: Any = None) -> Any:
        at_home("initializers.truncated_normal", out_sharding)
        from .. import random

        return _scaled(random.truncated_normal(key, lower, upper, _dims(shape), _dtype(dtype)),
                       stddev)

    return init


def _scaled(x: Any, scale: Any) -> Any:
    """x times a scalar, in x's dtype."""
    return lax.mul(x, lax.convert_element_type(scale, x.dtype))


# --- scaled by the number of inputs and outputs ---------------------------------------------

def _axes(axes: Axes, shape: tuple[int, ...]) -> list[int]:
    """Axes counted from the front. Raises: ValueError for axes that the weights do not have."""
    named, ndim = [index_of(a, "an axis of the weights") for a in listed(axes)], len(shape)
    for a in named:
        if not -ndim <= a < ndim:
            raise ValueError(f"weights of shape {shape} have no axis {a}; in_axis, out_axis and "
                             "batch_axis must name axes of the weights")
    return [a % ndim for a in named]


def _fans(shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
          ) -> tuple[float, float]:
    """(how many inputs an output has, how many outputs an input has)."""
    inputs, outputs, batch = [_axes(axes, _dims(shape))
                              for axes in (in_axis, out_axis, batch_axis)]
    n_in = math.prod(shape[a] for a in inputs)
    n_out = math.prod(shape[a] for a in outputs)
    if not math.prod(shape):
        return 1, 1              # the weights have no elements
    field = math.prod(shape) / (n_in * n_out * math.prod(shape[a] for a in batch))
    return n_in * field, n_out * field


def variance_scaling(scale: ArrayLike, mode: str, distribution: str, in_axis: Axes = -2,
                     out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike | None = None
                     ) -> Initializer:
    """An initializer whose variance is `scale` divided by a number of inputs or outputs.

    Args:
      mode: "fan_in", "fan_out", "fan_avg" (their mean) or "fan_geo_avg" (geometric mean).
      distribution: "truncated_normal", "normal" or "uniform".
      in_axis, out_axis: axes of the weights for inputs and outputs; axes that are neither form a
        receptive field, whose size multiplies both numbers.
      batch_axis: axes of the weights that are not counted.
    Raises: ValueError, from the initializer, for other modes and distributions.

    >>> nn.initializers.variance_scaling(1., 'fan_in', 'normal')(xfront.random.key(0), (2, 3)).shape
    (2, 3)
    """
    default = dtype

    @front_door
    @takes_out_sharding("initializers.variance_scaling")
    def init(key: Any, shape: Sequence[int] | int, dtype: Any = default,
             out_sharding: Any = None) -> Any:
        at_home("initializers.variance_scaling", out_sharding)
        from .. import random

        kind, shape = _dtype(dtype), _dims(shape)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        fans = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2,
                "fan_geo_avg": math.sqrt(fan_in * fan_out)}
        if mode not in fans:
            raise ValueError(f"variance_scaling: mode must be one of {list(fans)}, got {mode!r}")
        variance = np.asarray(scale / fans[mode], np.float64)
        if distribution == "normal":
            return _scaled(random.normal(key, shape, kind), np.sqrt(variance))
        if distribution == "uniform":
            if kind.kind == "c":
                return _scaled(_in_disc(key, shape, kind), np.sqrt(2 * variance))
            return _scaled(random.uniform(key, shape, kind, -1), np.sqrt(3 * variance))
        if distribution == "truncated_normal":
            if kind.kind == "c":
                return _scaled(_normal_in_disc(key, 2, shape, kind),
                               np.sqrt(variance) / 0.95311164380491208)
            # a normal variable cut at two deviations has this standard deviation
            deviation = np.sqrt(variance) / 0.87962566103423978
            return _scaled(random.truncated_normal(key, -2, 2, shape, kind), deviation)
        raise ValueError("variance_scaling: distribution must be 'normal', 'truncated_normal' or "
                         f"'uniform', got {distribution!r}")

    return init


def _polar(radius: Any, key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Complex numbers with these magnitudes and random angles."""
    from .. import random

    angle = lax.mul(random.uniform(key, shape, radius.dtype),
                    lax.full_like(radius, 2 * math.pi))
    return lax.convert_element_type(lax.mul(
        lax.complex(radius, lax.full_like(radius, 0)),
        lax.complex(lax.cos(angle), lax.sin(angle))), dtype)


def _in_disc(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Complex numbers evenly spread over the unit disc."""
    from .. import random

    of_size, of_angle = random.split(key)
    part = np.zeros((), dtype).real.dtype
    return _polar(lax.sqrt(random.uniform(of_size, shape, part)), of_angle, shape, dtype)


def _normal_in_disc(key: Any, radius: float, shape: tuple[int, ...], dtype: Any) -> Any:
    """Complex normal numbers of variance 1, restricted to a disc."""
    from .. import random

    of_size, of_angle = random.split(key)
    part = np.zeros((), dtype).real.dtype
    share = random.uniform(of_size, shape, part)
    share = lax.mul(share, lax.full_like(share, 1 - math.exp(-radius ** 2)))
    size = lax.sqrt(lax.neg(lax.log(lax.sub(lax.full_like(share, 1), share))))
    return _polar(size, of_angle, shape, dtype)


def _family(name: str, scale: float, mode: str, distribution: str) -> Callable[..., Initializer]:
    def maker(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (),
              dtype: Any = None) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    maker.__name__ = maker.__qualname__ = name
    maker.__doc__ = (f"`variance_scaling` with scale {scale}, mode {mode!r} and distribution "
                     f"{distribution!r}.\n\n>>> nn.initializers.{name}()(xfront.random.key(0), "
                     "(2, 3)).shape\n(2, 3)")
    return maker


glorot_uniform = _family("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = _family("glorot_normal", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _family("lecun_uniform", 1.0, "fan_in", "uniform")
lecun_normal = _family("lecun_normal", 1.0, "fan_in", "truncated_normal")
he_uniform = _family("he_uniform", 2.0, "fan_in", "uniform")
he_normal = _family("he_normal", 2.0, "fan_in", "truncated_normal")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# --- orthogonal -----------------------------------------------------------------------------

def orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
               ) -> Initializer:
    """An initializer of matrices with orthonormal rows or columns (whichever are fewer), times
    `scale`.

    Args:
      column_axis: the axis of the columns; the other axes together are the rows.

    >>> nn.initializers.orthogonal()(xfront.random.key(0), (2, 2)).shape
    (2, 2)
    """
    default = dtype

    @front_door
    @takes_out_sharding("initializers.orthogonal")
    def init(key: Any, shape: Sequence[int] | int, dtype: Any = default,
             out_sharding: Any = None) -> Any:
        at_home("initializers.orthogonal", out_sharding)
        from .. import random
        from ..numpy.linalg import qr

        kind, shape = _dtype(dtype), _dims(shape)
        if len(shape) < 2:
            raise ValueError(f"orthogonal: the shape must have at least two axes, got {shape}")
        columns = shape[column_axis]
        rows = math.prod(shape) // max(columns, 1)
        wide = (rows, columns) if rows > columns else (columns, rows)
        q, r = qr(random.normal(key, wide, kind))
        n = min(wide)
        diagonal = lax.reduce_sum(lax.mul(r, lax.convert_element_type(np.eye(n), kind)), (0,))
        q = lax.mul(q, lax.broadcast_in_dim(lax.sign(diagonal), wide, (1,)))
        if rows < columns:
            q = lax.transpose(q, (1, 0))
        others = list(shape)
        others.pop(column_axis)
        q = lax.reshape(q, (*others, columns))
        order = list(range(len(shape) - 1))
        order.insert(column_axis % len(shape), len(shape) - 1)
        return _scaled(lax.transpose(q, tuple(order)), scale)

    return init


def delta_orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
                     ) -> Initializer:
    """An initializer of filters [*window, inputs, outputs] of 3 to 5 axes: an orthogonal matrix in
    the middle of the window, zeros around. Source: arXiv:1806.05393.

    Raises: ValueError, from the initializer, where there are more inputs than outputs.

    >>> nn.initializers.delta_orthogonal()(xfront.random.key(0), (3, 2, 2)).shape
    (3, 2, 2)
    """
    default = dtype

    @front_door
    @takes_out_sharding("initializers.delta_orthogonal")
    def init(key: Any, shape: Sequence[int] | int, dtype: Any = default,
             out_sharding: Any = None) -> Any:
        at_home("initializers.delta_orthogonal", out_sharding)
        kind, shape = _dtype(dtype), _dims(shape)
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"delta_orthogonal: the shape must have 3, 4 or 5 axes, got {shape}")
        if shape[-1] < shape[-2]:
            raise ValueError("delta_orthogonal: the last axis (outputs) must be at least as large "
                             f"as the one before it (inputs), got shape {shape}")
        matrix = orthogonal(scale, column_axis, kind)(key, shape[-2:])
        block = lax.reshape(matrix, (*[1] * (len(shape) - 2), *shape[-2:]))
        middle = [((n - 1) // 2, n - 1 - (n - 1) // 2, 0) for n in shape[:-2]]
        return lax.pad(block, lax.full((), 0, kind), (*middle, (0, 0, 0), (0, 0, 0)))

    return init


__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal",
    "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal",
    "ones", "orthogonal", "truncated_normal", "uniform", "variance_scaling", "xavier_normal",
    "xavier_uniform", "zeros",
]  # fmt: skip
__dir__ = _shown(globals())
