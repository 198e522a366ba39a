"""Convolutions and pooling, with their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.kernels.sized import Program, grad_of_sum, kernel, normal

IMAGES = ((8, 7, 7, 128), (8, 28, 28, 64), (8, 56, 56, 32))
"""Batch, height, width, channels."""
NHWC = ("NHWC", "HWIO", "NHWC")


def convolve(
    jax: Any, strides: int = 1, groups: int = 1, dilation: int = 1
) -> Callable[[Any, Any], Any]:
    """A convolution of images by kernels, padded to keep the size."""
    return lambda x, k: jax.lax.conv_general_dilated(
        x, k, (strides, strides), "SAME", rhs_dilation=(dilation, dilation),
        dimension_numbers=NHWC, feature_group_count=groups,
    )  # fmt: skip


def depthwise(name: str, **how: Any) -> None:
    """Registers the row of a depthwise 3x3 convolution."""

    @kernel(f"depthwise 3×3{name}", *IMAGES)
    def make(jax: Any, jnp: Any, n: int, h: int, w: int, c: int) -> Program:
        return convolve(jax, groups=c, **how), (normal(jnp, n, h, w, c), normal(jnp, 3, 3, 1, c))


depthwise("")
depthwise(", strides 2", strides=2)
depthwise(", dilation 2", dilation=2)


def gradient(name: str, argnum: int, size: int, is_depthwise: bool) -> None:
    """Registers the row of a convolution's gradient, by the image (0) or by the kernel (1)."""

    @kernel(f"gradient by {('image', 'kernel')[argnum]}, {name}", *IMAGES)
    def make(jax: Any, jnp: Any, n: int, h: int, w: int, c: int) -> Program:
        f = convolve(jax, groups=c if is_depthwise else 1)
        x, k = normal(jnp, n, h, w, c), normal(jnp, size, size, 1 if is_depthwise else c, c)
        return grad_of_sum(jax, jnp, f, argnum), (x, k, normal(jnp, n, h, w, c, seed=2))


gradient("depthwise 3×3", 0, 3, True)
gradient("depthwise 3×3", 1, 3, True)
gradient("conv 1×1", 1, 1, False)


def full(name: str, size: int, groups: int) -> None:
    """Registers the row of a convolution of all channels, or of groups of them."""

    @kernel(name, *IMAGES)
    def make(jax: Any, jnp: Any, n: int, h: int, w: int, c: int) -> Program:
        f = convolve(jax, groups=groups)
        return f, (normal(jnp, n, h, w, c), normal(jnp, size, size, c // groups, c))


full("conv 1×1", 1, 1)
full("conv 3×3", 3, 1)
full("conv 3×3 in 4 groups", 3, 4)


@kernel("conv_transpose, strides 2", (8, 7, 7, 64), (8, 14, 14, 32), (8, 28, 28, 16))
def conv_transpose(jax: Any, jnp: Any, n: int, h: int, w: int, c: int) -> Program:
    def run(x: Any, k: Any) -> Any:
        return jax.lax.conv_transpose(x, k, (2, 2), "SAME", dimension_numbers=NHWC)

    return run, (normal(jnp, n, h, w, c), normal(jnp, 3, 3, c, c))


@kernel("convolve with 31 taps", 1_000, 30_000, 300_000)
def convolve_1d(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x, k: jnp.convolve(x, k, mode="same"), (normal(jnp, n), normal(jnp, 31))


@kernel("convolve with 101 taps", 1_000, 30_000, 300_000)
def convolve_long(jax: Any, jnp: Any, n: int) -> Program:
    return lambda x, k: jnp.convolve(x, k, mode="same"), (normal(jnp, n), normal(jnp, 101))


@kernel("one channel, 31×31", 48, 96, 160)
def large_taps(jax: Any, jnp: Any, n: int) -> Program:
    return convolve(jax), (normal(jnp, 1, n, n, 1), normal(jnp, 31, 31, 1, 1))


@kernel("max-pool 2×2, strides 2", *IMAGES)
def pool(jax: Any, jnp: Any, n: int, h: int, w: int, c: int) -> Program:
    window = (1, 2, 2, 1)
    return (lambda x: jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, window, "VALID"),
            (normal(jnp, n, h, w, c),))


@kernel("min-pool 2×2, strides 2, channels first", *IMAGES)
def pool_planes(jax: Any, jnp: Any, n: int, h: int, w: int, c: int) -> Program:
    window = (1, 1, 2, 2)
    return (lambda x: jax.lax.reduce_window(x, np.inf, jax.lax.min, window, window, "VALID"),
            (normal(jnp, n, c, h, w),))


def pool_gradient(size: int, strides: int) -> None:
    """Registers the row of the gradient of max-pooling."""

    @kernel(f"gradient of max-pool {size}×{size}, strides {strides}", *IMAGES)
    def make(jax: Any, jnp: Any, n: int, h: int, w: int, c: int) -> Program:
        window, steps = (1, size, size, 1), (1, strides, strides, 1)
        f = lambda x: jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, steps, "VALID")
        out_h, out_w = ((side - size) // strides + 1 for side in (h, w))
        weights = normal(jnp, n, out_h, out_w, c, seed=1)
        return grad_of_sum(jax, jnp, f), (normal(jnp, n, h, w, c), weights)


pool_gradient(2, 2)
pool_gradient(3, 2)
