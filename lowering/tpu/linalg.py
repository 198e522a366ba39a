"""Factorisations on TPU: kernels that XLA knows by name, and loops where it has none."""

from __future__ import annotations

import functools
from typing import Any

from lowering import matrices
from lowering.cpu import registry
from lowering.cpu.conditions import f32
from lowering.matrices import block, filled, kernel, padded, upper_part
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, Value
from xfront_ir.types import TensorType

form = functools.partial(registry.form, platform="tpu")


# XLA knows a kernel for f32.
@form(ops.lu, when=filled & f32)
def lu(b: Builder, op: Op, x: Value) -> Any:
    """XLA's kernel."""
    type = x.type
    return kernel(b, "LuDecomposition", [x], _of_lu(type), type.ndim - 2, api=2)


@form(ops.lu, when=filled)
def lu_by_columns(b: Builder, op: Op, x: Value) -> Any:
    """Column after column in a loop."""
    return matrices.lu(b, x, _of_lu(x.type))


def _of_lu(x: TensorType) -> tuple[TensorType, ...]:
    return ops.lu.infer((x,), {})


def householder(b: Builder, x: Value) -> Any:
    """R with the vectors below it, and their factors."""
    return kernel(b, "Qr", [x], ops.geqrf.infer((x.type,), {}), x.type.ndim - 2)


def product(b: Builder, x: Value, taus: Value) -> Value:
    """The first columns of the product of the reflections."""
    return kernel(b, "ProductOfElementaryHouseholderReflectors", [x, taus], [x.type],
                  x.type.ndim - 2)[0]


def orthogonal(b: Builder, x: Value, full: bool) -> tuple[Value, Value]:
    """Q and R."""
    m, n = x.type.shape[-2:]
    k = m if full else min(m, n)
    factored, taus = householder(b, x)
    r = upper_part(b, block(b, factored, k, n))
    if k > n:
        factored = padded(b, factored, (0, 0), (0, k - n))
    else:
        factored = block(b, factored, m, k)
    return product(b, factored, taus), r


@form(ops.geqrf, when=filled)
def geqrf(b: Builder, op: Op, x: Value) -> Any:
    """XLA's kernel."""
    return householder(b, x)


@form(ops.householder_product, when=filled)
def householder_product(b: Builder, op: Op, x: Value, taus: Value) -> Any:
    """XLA's kernel."""
    return product(b, x, taus)


@form(ops.qr, when=filled)
def qr(b: Builder, op: Op, x: Value) -> Any:
    """XLA's kernels, one for R and the vectors, one for Q."""
    return orthogonal(b, x, op.attrs["full_matrices"])


@form(ops.tridiagonal_solve, when=filled)
def tridiagonal_solve(b: Builder, op: Op, below: Value, diagonal: Value, above: Value, rhs: Value
                      ) -> Any:
    """Elimination with partial pivoting, row after row in a loop."""
    return matrices.tridiagonal_solve(b, below, diagonal, above, rhs,
                                      op.attrs["perturb_singular"])
