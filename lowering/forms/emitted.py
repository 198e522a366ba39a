"""The number of StableHLO operations that an op is lowered to, as far as forms depend on it.

Forms depend on whether fewer than eight operations stand between an operand and memory, so greater
numbers are not told apart. The tests compare these numbers with what the rules write.
"""

from __future__ import annotations

from collections.abc import Callable

from xfront_ir import dtypes, ops
from xfront_ir.core import Op, Value
from xfront_ir.ops.convert import convert
from xfront_ir.ops.sort import sort

MANY = 8

Count = tuple[int, int]
"""The number of operations of an op, and how often they read each of its operands."""

_IN_MEMORY = frozenset((
    ops.fence, ops.optimization_barrier, ops.dot_general, ops.conv_general_dilated, ops.while_,
    sort, ops.triangular_solve))
"""XLA fuses nothing with these ops."""

_RENAMES = frozenset((ops.copy, ops.stop_gradient, ops.idle, ops.checkpoint_name, ops.random_wrap,
                      ops.random_unwrap))
_SAME_TYPE = frozenset((convert, ops.bitcast, ops.reshape, ops.broadcast_in_dim, ops.transpose))


def renamed(op: Op) -> Value | None:
    """The operand that is the result of an op, where the op is lowered to nothing; else None."""
    definition, first, a = op.definition, op.operands[0] if op.operands else None, op.attrs
    if definition in _RENAMES:
        return first
    if definition in _REDUCTIONS:
        return None if op.attrs["axes"] else first
    if definition is ops.pad:
        return None if any([*a["low"], *a["high"], *a["interior"]]) else first
    if definition is ops.select_n:
        return op.operands[1] if len(op.operands) == 2 else None
    if definition not in _SAME_TYPE or op.operands[0].type is not op.results[0].type:
        return None
    order = op.attrs.get("dims", op.attrs.get("permutation", ()))
    return first if order == tuple(range(len(order))) else None


def emitted(op: Op) -> tuple[int, tuple[Value, ...]]:
    """How many operations an op is lowered to, and the values that they read, once per read."""
    definition = op.definition
    if definition in _IN_MEMORY:
        return 0, ()
    if definition.has_bodies:
        return _of_bodies(op)
    if definition is ops.pad:
        return _of_pad(op)
    if definition in _PLACED:                # starts are computed once, not for each element
        return 1, op.operands[:_PLACED[definition]]
    if definition in _MANY or (definition in _MANY_IF_COMPLEX
                               and op.operands[0].type.dtype.is_complex):
        return MANY, ()
    counted = _COUNTS.get(definition, (1, 1))
    count, times = counted if isinstance(counted, tuple) else counted(op)
    return count, op.operands if times == 1 else op.operands * times


def _of_bodies(op: Op) -> tuple[int, tuple[Value, ...]]:
    """The same for an op with bodies: the results of loops and private calls are in memory."""
    if op.definition is ops.cond:
        return (1, op.operands[:1]) if op.operands[0].type.dtype.kind == "bool" else (
            3, op.operands[:1])
    if op.definition is ops.scan and op.attrs["length"] // max(1, op.attrs["unroll"]) <= 1:
        return MANY, ()
    return (1, op.operands) if op.definition in _WITH_COMBINER else (0, ())


def _of_convert(op: Op) -> Count:
    source, target = op.operands[0].type.dtype, op.results[0].type.dtype
    if target.kind == "bool":
        return 2, 1
    if source.is_complex and not target.is_complex:
        return 1 + (dtypes.real_of(source) is not target), 1
    return 1, 1


def _of_power(op: Op) -> Count:
    n = op.attrs["exponent"]
    return max(abs(n) - 1, 0) + 2 * (n < 0) + (n == 0), abs(n)


def _of_choice(op: Op) -> Count:
    """The count of a choice; one between keys is also broadcast to their words."""
    spread = op.operands[-1].type.dtype.is_key and op.operands[0].type.ndim > 0
    if op.operands[0].type.dtype.kind == "bool":
        return 1 + spread, 1
    return (3 + spread) * (len(op.operands) - 2), 1


def _of_special(op: Op) -> Count:
    """The count of a special function: narrow floats are converted to wider ones and back."""
    return 1 + (op.results[0].type.dtype.bits < 32) * (1 + len(op.operands)), 1


def _of_digamma(op: Op) -> Count:
    """The count of digamma: CHLO's op, and a choice for 0."""
    return 4 + _of_special(op)[0], 2


def _in_doubles(op: Op) -> Count:
    """The count of an op that is XLA's own, except that for f64 it is a formula."""
    return (MANY if op.results[0].type.dtype is dtypes.f64 else 1), 1


def _of_cube_root(op: Op) -> Count:
    """The count of cbrt: XLA's op; on CPU also the choice of the operand, which is read three
    times."""
    return (1, 1) if op.results[0].type.dtype is dtypes.f16 else (5, 3)


def _of_upper_half(op: Op) -> Count:
    return (MANY if op.results[0].type.dtype.bits == 64 else 6), 1


def _of_sign(op: Op) -> Count:
    return 1 + op.results[0].type.dtype.is_unsigned, 1


def _of_square(op: Op) -> Count:
    return 1, 1 if op.results[0].type.dtype.is_complex else 2


def _of_pad(op: Op) -> tuple[int, tuple[Value, ...]]:
    """The count of pad: a slice if amounts are negative, and padding with a number if some are not.
    """
    amounts = (*op.attrs["low"], *op.attrs["high"])
    cuts, pads = min(amounts, default=0) < 0, max((*amounts, *op.attrs["interior"]), default=0) > 0
    return int(cuts) + int(pads), op.operands if pads else op.operands[:1]


def _of_gather(op: Op) -> Count:
    return (MANY, 0) if op.attrs["mode"] == "fill" else (0, 0)


def _of_scatter(op: Op) -> Count:
    return 4 if op.attrs["mode"] == "clip" else 1, 1


_REDUCTIONS = frozenset((ops.reduce_sum, ops.reduce_prod, ops.reduce_max, ops.reduce_min,
                         ops.reduce_and, ops.reduce_or, ops.reduce_xor))
_WITH_COMBINER = frozenset((ops.reduce, ops.reduce_window))
_PLACED = {ops.dynamic_slice: 1, ops.dynamic_update_slice: 2}
"""Ops with starts, and how many operands stand before these."""
_MANY = frozenset((
    ops.threefry2x32, ops.bessel_i0e, ops.betainc, ops.igamma, ops.igammac, ops.igamma_grad_a,
    ops.lgamma, ops.random_gamma_grad, ops.gelu, ops.cholesky, ops.cosh, ops.sinh))
_MANY_IF_COMPLEX = frozenset((
    ops.abs, ops.acos, ops.acosh, ops.asin, ops.asinh, ops.atan, ops.atanh, ops.cos, ops.exp,
    ops.exp2, ops.expm1, ops.log, ops.log1p, ops.max, ops.min, ops.sin, ops.sqrt, ops.tan,
    ops.tanh))

_COUNTS: dict[object, Count | Callable[[Op], Count]] = {
    **dict.fromkeys(_REDUCTIONS, (2, 1)),
    **dict.fromkeys((ops.cumsum, ops.cumprod, ops.cummax, ops.cummin, ops.cumlogsumexp,
                     ops.reduce_window_sum, ops.reduce_window_prod, ops.reduce_window_max,
                     ops.reduce_window_min), (2, 1)),
    **dict.fromkeys((ops.argmax, ops.argmin), (4, 1)),
    **dict.fromkeys((ops.erf, ops.erfc, ops.erf_inv, ops.bessel_i1e,
                     ops.polygamma, ops.zeta), _of_special),
    **dict.fromkeys((ops.scatter, ops.scatter_add, ops.scatter_mul, ops.scatter_min,
                     ops.scatter_max), _of_scatter),
    **dict.fromkeys((ops.eig, ops.eigh, ops.svd, ops.qr, ops.schur, ops.hessenberg, ops.geqrf,
                     ops.householder_product, ops.ormqr, ops.tridiagonal), (5, 0)),
    ops.one_minus_square: (5, 2), ops.log2: (8, 1), ops.lu: (2, 0),
    ops.rng_bit_generator: (3, 1), ops.select_and_scatter_add: (2, 1),
    convert: _of_convert, ops.integer_pow: _of_power, ops.exp2: (2, 1), ops.conj: (4, 2),
    ops.log1p: _in_doubles, ops.atanh: _in_doubles, ops.mulhi: _of_upper_half,
    ops.cbrt: _of_cube_root, ops.digamma: _of_digamma, ops.sign: _of_sign,
    ops.square: _of_square, ops.select: _of_choice,
    ops.select_n: _of_choice, ops.gather: _of_gather}
