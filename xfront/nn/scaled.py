"""Products of matrices in narrow dtypes, in which each block has a scale."""

from __future__ import annotations

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import from_numpy

from ..base.dtypes import requested_dtype
from ..binding.annotations import Array, ArrayLike, DTypeLike
from ..eager.dispatch import eager
from ..eager.operands import convert, operand
from ..lax.precision import precision_attr
from ..tracing.trace import emit
from ..tracing.tracer import Tracer


@eager(static=("preferred_element_type",))
def scaled_matmul(lhs: ArrayLike, rhs: ArrayLike, lhs_scales: ArrayLike, rhs_scales: ArrayLike,
                  preferred_element_type: DTypeLike = np.float32) -> Array:
    """Products of rows of `lhs` and `rhs`, after each block of a row is multiplied by its scale.

    Computed in float32 on every device.

    Args:
      lhs, rhs: arrays [batch, m, k] and [batch, n, k].
      lhs_scales, rhs_scales: arrays [batch, m, blocks] and [batch, n, blocks], with one scale for
        each k / blocks elements of a row.
      preferred_element_type: dtype of the result.
    Returns: array [batch, m, n].
    Raises: ValueError where shapes do not match.
    Source: Open Compute Project, Microscaling Formats (MX) Specification, version 1.0.

    >>> lhs, rhs = jnp.ones((1, 1, 4)), jnp.ones((1, 2, 4))
    >>> nn.scaled_matmul(lhs, rhs, jnp.array([[[1., 10.]]]), jnp.ones((1, 2, 2)))
    Array([[[22., 22.]]], dtype=float32)
    """
    x, y, of_x, of_y = [operand("scaled_matmul", v) for v in (lhs, rhs, lhs_scales, rhs_scales)]
    shapes = f"lhs {x.shape}, rhs {y.shape}, scales {of_x.shape} and {of_y.shape}"
    if {v.ndim for v in (x, y, of_x, of_y)} != {3}:
        raise ValueError(f"scaled_matmul: all arrays must have three axes, got shapes {shapes}")
    if (x.shape[::2] != y.shape[::2] or of_x.shape[:2] != x.shape[:2]
            or of_y.shape[:2] != y.shape[:2] or of_x.shape[2] != of_y.shape[2]
            or not of_x.shape[2] or x.shape[2] % of_x.shape[2]):
        raise ValueError("scaled_matmul: lhs must be [batch, m, k], rhs [batch, n, k], and the "
                         "scales [batch, m, blocks] and [batch, n, blocks], where blocks divides "
                         f"k, got shapes {shapes}")
    made = emit(ops.dot_general, _scaled(x, of_x), _scaled(y, of_y), contract=((2,), (2,)),
                batch=((0,), (0,)), precision=precision_attr("highest"), preferred=None)
    return convert(made, from_numpy(requested_dtype("scaled_matmul", preferred_element_type)))


def _scaled(x: Tracer, scales: Tracer) -> Tracer:
    """Rows in float32, their blocks multiplied by their scales."""
    *rows, k = x.shape
    blocks = scales.shape[2]
    shape = (*rows, blocks, k // blocks)
    wide = emit(ops.broadcast_in_dim, convert(scales, dtypes.f32), shape=shape, dims=(0, 1, 2))
    parts = emit(ops.reshape, convert(x, dtypes.f32), shape=shape)
    return emit(ops.reshape, parts * wide, shape=x.shape)


__all__ = ["scaled_matmul"]
