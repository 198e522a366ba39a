"""Lowering of svd, eigh and eig: LAPACK's kernels, on CPU."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from lowering.rules.linalg import eye, info_type, lapack, nan_unless
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.types import tensor


@rule(ops.svd)
def _svd(ctx: RuleContext, op: Op, x: Any) -> Any:
    type, wanted = op.operands[0].type, [v.type for v in op.results]
    (m, n), lead = type.shape[-2:], type.ndim - 2
    if type.size == 0:
        return [ctx.constant(0, wanted[0]), *[eye(ctx, t) for t in wanted[1:]]]
    vectors = wanted[1:]
    if not vectors:                              # the kernel has these results in every mode
        vectors = [type.with_shape((*type.shape[:-2], k, k)) for k in (m, n)]
    mode = "N" if len(wanted) == 1 else "A" if op.attrs["full_matrices"] else "S"
    results = [type, wanted[0], *vectors, info_type(type, lead)]
    _, *made, info = lapack(ctx, "gesdd", [x], [type], results, lead, mode=mode)
    return nan_unless(ctx, info, lead, made[:len(wanted)], wanted)


@rule(ops.eigh)
def _eigh(ctx: RuleContext, op: Op, x: Any) -> Any:
    type, wanted = op.operands[0].type, [v.type for v in op.results]
    if type.size == 0:
        return [x, ctx.constant(0, wanted[1])]
    lead = type.ndim - 2
    *made, info = lapack(ctx, "syevd", [x], [type], [*wanted, info_type(type, lead)], lead,
                         mode="V", uplo="L" if op.attrs["lower"] else "U")
    return nan_unless(ctx, info, lead, made, wanted)


@rule(ops.eig)
def _eig(ctx: RuleContext, op: Op, x: Any) -> Any:
    type, wanted = op.operands[0].type, [v.type for v in op.results]
    values, lead = wanted[0], type.ndim - 2
    if type.size == 0:
        return [ctx.constant(0, t) for t in wanted]
    vectors = tensor(type.shape, values.dtype)
    flags = [op.attrs["left"], op.attrs["right"]]
    part = values.with_dtype(dtypes.real_of(values.dtype))
    first = [values] if type.dtype.is_complex else [part, part]
    results = [*first, vectors, vectors, info_type(type, lead)]
    *made, left, right, info = lapack(ctx, "geev", [x], [type], results, lead,
                                      compute_left="V" if flags[0] else "N",
                                      compute_right="V" if flags[1] else "N")
    found = made[0] if type.dtype.is_complex else ctx.create("stablehlo.complex", made, [values])
    kept = [v for v, flag in zip((left, right), flags, strict=True) if flag]
    return nan_unless(ctx, info, lead, [found, *kept], wanted)
