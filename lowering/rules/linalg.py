"""Lowering of linear algebra: LAPACK's kernels on CPU, StableHLO's ops elsewhere.

StableHLO has only cholesky and triangular_solve; the other ops raise MissingRule elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.context import RuleContext, rule
from lowering.rules.compare import compare
from xfront_ir import dtypes, ops
from xfront_ir.core import Op
from xfront_ir.errors import MissingRule
from xfront_ir.types import I32, TensorType, scalar, tensor

_LETTERS = {dtypes.f32: "s", dtypes.f64: "d", dtypes.c64: "c", dtypes.c128: "z"}
_OF_COMPLEX = {"orgqr": "ungqr", "syevd": "heevd", "sytrd": "hetrd", "ormqr": "unmqr"}


# --- LAPACK -------------------------------------------------------------------------------

def lapack(ctx: RuleContext, name: str, operands: Sequence[Any], types: Sequence[TensorType],
           results: Sequence[TensorType], lead: int, *, target: str = "",
           **attrs: str | int) -> list[Any]:
    """The results of LAPACK's `name` (without the letter for the dtype) for each matrix.

    Args:
      types: IR types of the operands; the first one has the dtype.
      results: types of the results, including `info`.
      lead: number of batch axes; arrays with two more axes are matrices, column by column in
        memory.
      target: the full name of the kernel, if it does not follow from `name` and the dtype.
      attrs: letters as strings, flags as bools, numbers as ints.
    Raises: MissingRule on other platforms than CPU.
    """
    if ctx.platform != "cpu":
        raise MissingRule(f"LAPACK's {name} only runs on CPU, not on {ctx.platform}")
    ctx.require("lapack")
    dtype = types[0].dtype
    kernel = _OF_COMPLEX.get(name, name) if dtype.is_complex else name
    config = ", ".join(f"{key} = {_attribute(v)}" for key, v in attrs.items())
    made = ctx.create("stablehlo.custom_call", operands, results,
                      call_target_name=ctx.string(
                          target or f"lapack_{_LETTERS[dtype]}{kernel}_ffi"),
                      api_version=ctx.i32(4), backend_config=ctx.attr(f"{{{config}}}"),
                      operand_layouts=ctx.array([layout(ctx, t, lead) for t in types]),
                      result_layouts=ctx.array([layout(ctx, t, lead) for t in results]))
    return made if isinstance(made, list) else [made]


def _attribute(value: str | int) -> str:
    if isinstance(value, str):
        return f"{ord(value)} : ui8"
    return str(value).lower() if isinstance(value, bool) else f"{value} : i32"


def layout(ctx: RuleContext, type: TensorType, lead: int) -> Any:
    """The layout of an array in memory. Matrices, with two axes after `lead`, are column by column.
    """
    order = list(range(type.ndim))[::-1]
    if type.ndim - lead == 2:
        order[0], order[1] = order[1], order[0]
    listed = str(order) if order else ""
    return ctx.attr(f"dense<{listed}> : tensor<{type.ndim}xindex>")


def info_type(type: TensorType, lead: int) -> TensorType:
    """The type of `info`: one integer per matrix, 0 where the kernel succeeded."""
    return tensor(type.shape[:lead], dtypes.i32)


def nan_unless(ctx: RuleContext, info: Any, lead: int, values: Sequence[Any],
               types: Sequence[TensorType]) -> list[Any]:
    """The values, replaced by NaN for each matrix whose `info` is not 0."""
    shape = types[0].shape[:lead]
    zero = ctx.constant(0, tensor(shape, dtypes.i32))
    good = compare(ctx, "EQ", info, zero, tensor(shape, dtypes.bool_), "SIGNED")
    made = []
    for value, type in zip(values, types, strict=True):
        nan = complex("nan+nanj") if type.dtype.is_complex else float("nan")
        wide = broadcast(ctx, good, tensor(type.shape, dtypes.bool_), range(lead))
        made.append(ctx.create("stablehlo.select", [wide, value, ctx.constant(nan, type)], [type]))
    return made


# --- helpers ------------------------------------------------------------------------------

def broadcast(ctx: RuleContext, x: Any, type: TensorType, dims: Sequence[int]) -> Any:
    """`x` broadcast to `type`, with its axes at `dims`."""
    return ctx.create("stablehlo.broadcast_in_dim", [x], [type],
                      broadcast_dimensions=ctx.int_array(list(dims)))


def conjugate(ctx: RuleContext, x: Any, type: TensorType) -> Any:
    """The complex conjugate; `x` itself where it is real."""
    return ctx.create("chlo.conj", [x], [type]) if type.dtype.is_complex else x


def eye(ctx: RuleContext, type: TensorType) -> Any:
    """An identity matrix for each matrix of `type`."""
    return _chosen(ctx, "EQ", ctx.constant(1, type), type)


def triangle(ctx: RuleContext, x: Any, type: TensorType, lower: bool) -> Any:
    """`x` with zeros above its diagonal if `lower`, else below."""
    return _chosen(ctx, "GE" if lower else "LE", x, type)


def _chosen(ctx: RuleContext, direction: str, x: Any, type: TensorType) -> Any:
    one, lead = type.shape[-2:], type.ndim - 2
    rows, columns = (ctx.create("stablehlo.iota", [], [tensor(one, dtypes.i32)],
                                iota_dimension=ctx.i64(d)) for d in (0, 1))
    mask = compare(ctx, direction, rows, columns, tensor(one, dtypes.bool_), "SIGNED")
    if lead:
        mask = ctx.create("stablehlo.broadcast_in_dim", [mask], [tensor(type.shape, dtypes.bool_)],
                          broadcast_dimensions=ctx.int_array([lead, lead + 1]))
    return ctx.create("stablehlo.select", [mask, x, ctx.constant(0, type)], [type])


def block(ctx: RuleContext, x: Any, type: TensorType, wanted: TensorType) -> Any:
    """The upper left block of each matrix of `type`."""
    if type is wanted:
        return x
    return ctx.create("stablehlo.slice", [x], [wanted],
                      start_indices=ctx.int_array([0] * type.ndim),
                      limit_indices=ctx.int_array(wanted.shape),
                      strides=ctx.int_array([1] * type.ndim))


# --- cholesky, triangular_solve -----------------------------------------------------------

@rule(ops.cholesky)
def _cholesky(ctx: RuleContext, op: Op, x: Any) -> Any:
    type, lead = op.operands[0].type, op.operands[0].type.ndim - 2
    if type.size == 0:
        return x
    if ctx.platform == "cpu":
        x, info = lapack(ctx, "potrf", [x], [type], [type, info_type(type, lead)], lead, uplo="L")
        x = nan_unless(ctx, info, lead, [x], [type])[0]
    else:
        x = ctx.create("stablehlo.cholesky", [x], [type], lower=ctx.bool(True))
    return triangle(ctx, x, type, lower=True)


@rule(ops.triangular_solve)
def _triangular_solve(ctx: RuleContext, op: Op, a: Any, rhs: Any) -> Any:
    a_type, type, attrs = op.operands[0].type, op.operands[1].type, op.attrs
    if type.size == 0:
        return rhs
    flipped, conjugated = attrs["transpose_a"], attrs["conjugate_a"]
    if conjugated and not flipped:
        a = conjugate(ctx, a, a_type)
    adjoint = flipped and conjugated
    if ctx.platform == "cpu":
        return lapack(ctx, "trsm", [a, rhs], [a_type, type], [type], type.ndim - 2,
                      side="L" if attrs["left_side"] else "R", uplo="L" if attrs["lower"] else "U",
                      trans_x="C" if adjoint else "T" if flipped else "N",
                      diag="U" if attrs["unit_diagonal"] else "N")
    how = "ADJOINT" if adjoint else "TRANSPOSE" if flipped else "NO_TRANSPOSE"
    return ctx.create("stablehlo.triangular_solve", [a, rhs], [type],
                      left_side=ctx.bool(attrs["left_side"]), lower=ctx.bool(attrs["lower"]),
                      unit_diagonal=ctx.bool(attrs["unit_diagonal"]),
                      transpose_a=ctx.attr(f"#stablehlo<transpose {how}>"))


# --- lu -----------------------------------------------------------------------------------

@rule(ops.lu)
def _lu(ctx: RuleContext, op: Op, x: Any) -> Any:
    type, pivot_type, order_type = (v.type for v in op.results)
    lead = type.ndim - 2
    if type.size == 0:
        return [x, ctx.constant(0, pivot_type), _counted(ctx, order_type)]
    results = [type, pivot_type, info_type(type, lead)]
    x, pivots, _ = lapack(ctx, "getrf", [x], [type], results, lead)
    one = ctx.constant(1, pivot_type)
    pivots = ctx.create("stablehlo.subtract", [pivots, one], [pivot_type])
    return [x, pivots, permutation(ctx, pivots, pivot_type, order_type)]


@rule(ops.lu_pivots_to_permutation)
def _permutation(ctx: RuleContext, op: Op, pivots: Any) -> Any:
    return permutation(ctx, pivots, op.operands[0].type, op.results[0].type)


def _counted(ctx: RuleContext, type: TensorType) -> Any:
    """0, 1, 2, ... along the last axis."""
    return ctx.create("stablehlo.iota", [], [type], iota_dimension=ctx.i64(type.ndim - 1))


def permutation(ctx: RuleContext, pivots: Any, pivot_type: TensorType, type: TensorType) -> Any:
    """The permutation that the pivots' row exchanges make, in a loop of one turn per exchange."""
    order = _counted(ctx, type)
    if pivot_type.size == 0:
        return order
    last = type.ndim - 1
    one_each, mask = type.with_shape((*type.shape[:-1], 1)), type.with_dtype(dtypes.bool_)

    def at(ctx: RuleContext, values: Any, i: Any) -> Any:
        starts = [ctx.constant(0, I32)] * last
        found = ctx.create("stablehlo.dynamic_slice", [values, *starts, i], [one_each],
                           slice_sizes=ctx.int_array(one_each.shape))
        return broadcast(ctx, found, type, range(type.ndim))

    def more(ctx: RuleContext, i: Any, order: Any, pivots: Any) -> Any:
        return compare(ctx, "LT", i, ctx.constant(pivot_type.shape[-1], I32), scalar(dtypes.bool_),
                       "SIGNED")

    def turn(ctx: RuleContext, i: Any, order: Any, pivots: Any) -> Any:
        places = _counted(ctx, type)
        here = compare(ctx, "EQ", places, broadcast(ctx, i, type, ()), mask, "SIGNED")
        there = compare(ctx, "EQ", places, at(ctx, pivots, i), mask, "SIGNED")
        zero = ctx.constant(0, I32)
        picked = ctx.create("stablehlo.select", [there, order, ctx.constant(0, type)], [type])
        less = type.with_shape(type.shape[:-1])
        other = ctx.create("stablehlo.reduce", [picked, zero], [less],
                           [lambda ctx, x, y: ctx.create("stablehlo.add", [x, y], [I32])],
                           [I32, I32], dimensions=ctx.int_array([last]))
        other = broadcast(ctx, other, type, range(last))
        made = ctx.create("stablehlo.select", [there, at(ctx, order, i), order], [type])
        made = ctx.create("stablehlo.select", [here, other, made], [type])
        return [ctx.create("stablehlo.add", [i, ctx.constant(1, I32)], [I32]), made, pivots]

    types = [I32, type, pivot_type]
    return ctx.create("stablehlo.while", [ctx.constant(0, I32), order, pivots], types,
                      [more, turn], types)[1]


# --- qr -----------------------------------------------------------------------------------

def _householder(ctx: RuleContext, x: Any, type: TensorType) -> list[Any]:
    m, n = type.shape[-2:]
    taus = type.with_shape((*type.shape[:-2], min(m, n)))
    return lapack(ctx, "geqrf", [x], [type], [type, taus], type.ndim - 2)


def _product(ctx: RuleContext, x: Any, taus: Any, type: TensorType, of_taus: TensorType) -> Any:
    return lapack(ctx, "orgqr", [x, taus], [type, of_taus], [type], type.ndim - 2)[0]


@rule(ops.geqrf)
def _geqrf(ctx: RuleContext, op: Op, x: Any) -> Any:
    type, taus = (v.type for v in op.results)
    if type.size == 0:
        return [x, ctx.constant(0, taus)]
    return _householder(ctx, x, type)


@rule(ops.householder_product)
def _householder_product(ctx: RuleContext, op: Op, x: Any, taus: Any) -> Any:
    type, of_taus = (v.type for v in op.operands)
    if type.size == 0 or of_taus.size == 0:
        return eye(ctx, type)
    return _product(ctx, x, taus, type, of_taus)


@rule(ops.qr)
def _qr(ctx: RuleContext, op: Op, x: Any) -> Any:
    type = op.operands[0].type
    q_type, r_type = (v.type for v in op.results)
    if type.size == 0:
        return [eye(ctx, q_type), ctx.constant(0, r_type)]
    (m, n), k, lead = type.shape[-2:], q_type.shape[-1], type.ndim - 2
    x, taus = _householder(ctx, x, type)
    of_taus = type.with_shape((*type.shape[:-2], min(m, n)))
    r = triangle(ctx, block(ctx, x, type, r_type), r_type, lower=False)
    if k > n:
        zero = ctx.constant(0, scalar(type.dtype))
        sides = {"edge_padding_low": [0] * type.ndim, "interior_padding": [0] * type.ndim,
                 "edge_padding_high": [0] * (lead + 1) + [k - n]}
        x = ctx.create("stablehlo.pad", [x, zero], [q_type],
                       **{key: ctx.int_array(v) for key, v in sides.items()})
    else:
        x = block(ctx, x, type, q_type)
    return [_product(ctx, x, taus, q_type, of_taus), r]


# --- tridiagonal_solve --------------------------------------------------------------------

@rule(ops.tridiagonal_solve)
def _tridiagonal_solve(ctx: RuleContext, op: Op, below: Any, diagonal: Any, above: Any, rhs: Any
                       ) -> Any:
    of_diagonal, type = op.operands[1].type, op.results[0].type
    lead = type.ndim - 2
    if type.size == 0:
        return rhs
    types = [of_diagonal, of_diagonal, of_diagonal, type]
    if op.attrs["perturb_singular"]:
        return lapack(ctx, "", [below, diagonal, above, rhs], types, [type], lead,
                      target="tridiagonal_solve_perturbed_ffi")[0]
    if type.shape[-2] == 1:
        diagonal = broadcast(ctx, diagonal, type, range(lead + 1))
        return ctx.create("stablehlo.divide", [rhs, diagonal], [type])
    *_, x, info = lapack(ctx, "gtsv", [below, diagonal, above, rhs], types,
                         [*types, info_type(type, lead)], lead)
    return nan_unless(ctx, info, lead, [x], [type])[0]
