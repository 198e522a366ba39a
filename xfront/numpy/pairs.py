"""The product of two arrays whose axes have labels, by which einsum, matmul and others compute.

A label is any hashable; the same label in both arrays is the same axis. Labels that the result
does not have are summed over. An axis of size 1 goes with one of any size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from xfront_ir import ops
from xfront_ir.dtypes import DType, from_numpy

from ..base.dtypes import requested_dtype
from ..eager.operands import convert, promote
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from .diagonals import _diagonal
from .manipulation import moveaxis, permuted
from .reductions import wide
from .ufuncs import shaped

Labels = tuple[Hashable, ...]


@functools.cache
def _lax() -> tuple[Callable[..., Any], Callable[..., Tracer]]:
    """The functions of lax that products use; lax is imported with the first product."""
    from ..lax.contractions import product
    from ..lax.precision import precision_attr

    return precision_attr, product


class How:
    """Precision and result dtype of products."""

    __slots__ = ("precision", "preferred")

    def __init__(self, name: str, precision: Any, preferred: Any) -> None:
        self.precision = _lax()[0](precision)
        self.preferred: DType | None = (None if preferred is None else
                                        from_numpy(requested_dtype(name, preferred)))


def factors(name: str, *xs: Any) -> list[Tracer]:
    """Operands of a product, in one dtype."""
    return promote(name, *xs)


# --- one array ----------------------------------------------------------------------------

def distinct(x: Tracer, labels: Labels) -> tuple[Tracer, Labels]:
    """The diagonals of axes that share a label."""
    while len(set(labels)) != len(labels):
        label = next(one for one in labels if labels.count(one) > 1)
        i, j = [n for n, one in enumerate(labels) if one == label][:2]
        x = _diagonal(as_tracer(moveaxis(x, (i, j), (-2, -1))), 0)
        labels = (*[one for n, one in enumerate(labels) if n not in (i, j)], label)
    return x, labels


def summed(x: Tracer, labels: Labels, kept: Sequence[Hashable]) -> tuple[Tracer, Labels]:
    """`x` summed over labels that are not in `kept`; bools are or-ed, integers keep their width."""
    axes = tuple([i for i, one in enumerate(labels) if one not in kept])
    if not axes:
        return x, labels
    dtype, weak = x.value.type.dtype, x.weak
    left = tuple([one for one in labels if one in kept])
    if dtype.kind == "bool":
        return emit(ops.reduce_or, x, axes=axes), left
    made = convert(emit(ops.reduce_sum, convert(x, wide(dtype), weak), axes=axes), dtype)
    return Tracer(made.home, made.value, weak), left


def ordered(x: Tracer, labels: Labels, wanted: Labels) -> Tracer:
    """`x` with its axes in the order of `wanted`."""
    return permuted(x, [labels.index(one) for one in wanted])


# --- two arrays ---------------------------------------------------------------------------

def _without_ones(x: Tracer, labels: Labels, other: Tracer, others: Labels
                  ) -> tuple[Tracer, Labels]:
    """`x` without axes of size 1 that `other` has in another size."""
    if 1 not in x.shape:
        return x, labels
    sizes = dict(zip(others, other.shape, strict=True))
    gone = [i for i, one in enumerate(labels) if x.shape[i] == 1 and sizes.get(one, 1) != 1]
    if not gone:
        return x, labels
    shape = tuple([n for i, n in enumerate(x.shape) if i not in gone])
    return shaped(x, shape), tuple([one for i, one in enumerate(labels) if i not in gone])


def paired(x: Tracer, xs: Labels, y: Tracer, ys: Labels, wanted: Labels, how: How,
           exact: bool = True) -> tuple[Tracer, Labels]:
    """Sums of products of two arrays of the same dtype.

    Args:
      xs, ys: distinct labels of the axes.
      wanted: labels of the result.
      exact: the result has its axes in the order of `wanted`; else in one that costs nothing.
    Raises: TypeError where sizes differ.
    """
    x, xs = _without_ones(x, xs, y, ys)
    y, ys = _without_ones(y, ys, x, xs)
    x, xs = summed(x, xs, (*wanted, *ys))
    y, ys = summed(y, ys, (*wanted, *xs))
    contract, batch, order, swap = dimension_numbers(xs, ys, wanted)
    if not contract[0]:
        return _multiplied(x, xs, y, ys, wanted, how), wanted
    precision = how.precision
    if swap:
        x, y = y, x
        precision = precision[::-1] if type(precision) is tuple else precision
    made = dot_general(x, y, contract, batch, precision, how.preferred)
    return (ordered(made, order, wanted), wanted) if exact and order != wanted else (made, order)


@functools.lru_cache(maxsize=4096)
def dimension_numbers(xs: Labels, ys: Labels, wanted: Labels) -> Any:
    """(contract, batch, order of the result, whether to exchange the arrays) of a dot_general."""
    common = [one for one in xs if one in ys]
    contracted = [one for one in common if one not in wanted]
    batch = [one for one in wanted if one in common]
    order = _result_order(xs, ys, common, batch)
    swap = order != wanted and _result_order(ys, xs, common, batch) == wanted
    if swap:
        xs, ys, order = ys, xs, wanted
    return ((_places(xs, contracted), _places(ys, contracted)),
            (_places(xs, batch), _places(ys, batch)), order, swap)


def _places(labels: Labels, wanted: Sequence[Hashable]) -> tuple[int, ...]:
    return tuple([labels.index(one) for one in wanted])


def _result_order(xs: Labels, ys: Labels, common: Sequence[Hashable], batch: Sequence[Hashable]
                  ) -> Labels:
    return (*batch, *[one for one in xs if one not in common],
            *[one for one in ys if one not in common])


def dot_general(x: Tracer, y: Tracer, contract: Any, batch: Any, precision: Any,
                preferred: DType | None) -> Tracer:
    """dot_general of operands of the same dtype."""
    return _lax()[1](x, y, contract, batch, precision, preferred)


def _multiplied(x: Tracer, xs: Labels, y: Tracer, ys: Labels, wanted: Labels, how: How) -> Tracer:
    """The product of arrays broadcast by their labels; nothing is summed."""
    sizes = {**dict(zip(xs, x.shape, strict=True)), **dict(zip(ys, y.shape, strict=True))}
    shape = tuple([sizes[one] for one in wanted])
    if how.preferred is not None:
        x, y = convert(x, how.preferred), convert(y, how.preferred)
    x, y = (v if labels == wanted else
            emit(ops.broadcast_in_dim, v, shape=shape, dims=_places(wanted, labels))
            for v, labels in ((x, xs), (y, ys)))
    return emit(ops.and_ if x.value.type.dtype.kind == "bool" else ops.mul, x, y)
