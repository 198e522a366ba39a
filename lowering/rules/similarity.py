"""Lowering of schur, hessenberg, tridiagonal and ormqr: LAPACK's kernels, on CPU."""

from __future__ import annotations

from typing import Any

from lowering.context import RuleContext, rule
from lowering.rules.linalg import eye, info_type, lapack, nan_unless
from xfront_ir import ops
from xfront_ir.core import Op


@rule(ops.schur)
def _schur(ctx: RuleContext, op: Op, x: Any) -> Any:
    type, wanted = op.operands[0].type, [v.type for v in op.results]
    lead = type.ndim - 2
    if type.size == 0:
        return [x, eye(ctx, type)][:len(wanted)]
    values = type.with_shape(type.shape[:-1])
    info = info_type(type, lead)
    parts = [values] if type.dtype.is_complex else [values, values]
    t, q, *_, info = lapack(ctx, "gees", [x], [type], [type, type, *parts, info, info], lead,
                            mode="V" if op.attrs["vectors"] else "N", sort="N")
    return nan_unless(ctx, info, lead, [t, q][:len(wanted)], wanted)


@rule(ops.hessenberg)
def _hessenberg(ctx: RuleContext, op: Op, x: Any) -> Any:
    type, taus = (v.type for v in op.results)
    n, lead = type.shape[-1], type.ndim - 2
    if taus.size == 0:
        return [x, ctx.constant(0, taus)]
    whole, taus, _ = lapack(ctx, "gehrd", [x], [type], [type, taus, info_type(type, lead)], lead,
                            low=1, high=n)
    return [whole, taus]


@rule(ops.tridiagonal)
def _tridiagonal(ctx: RuleContext, op: Op, x: Any) -> Any:
    type, of_diagonal, beside, taus = (v.type for v in op.results)
    lead = type.ndim - 2
    if taus.size == 0:
        diagonal = ctx.create("stablehlo.reshape", [x], [of_diagonal.with_dtype(type.dtype)])
        if type.dtype.is_complex:
            diagonal = ctx.create("stablehlo.real", [diagonal], [of_diagonal])
        return [x, diagonal, ctx.constant(0, beside), ctx.constant(0, taus)]
    results = [type, of_diagonal, beside, taus, info_type(type, lead)]
    return lapack(ctx, "sytrd", [x], [type], results, lead,
                  uplo="L" if op.attrs["lower"] else "U")[:4]


@rule(ops.ormqr)
def _ormqr(ctx: RuleContext, op: Op, a: Any, taus: Any, c: Any) -> Any:
    types, type = [v.type for v in op.operands], op.results[0].type
    if type.size == 0 or types[1].size == 0:
        return c
    return lapack(ctx, "ormqr", [a, taus, c], types, [type], type.ndim - 2,
                  left=op.attrs["left"], transpose=op.attrs["transpose"])[0]
