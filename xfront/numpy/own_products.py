"""`einsum` with a product of the caller's own in place of `lax.dot_general`. Layers that multiply
in eight bits pass one.

The product is called with the caller's own operands, arrays or tracers, so nothing here is compiled
around it. Steps on a single operand (its diagonals, sums, the order of its axes) call `one`, which
is einsum of one array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.dtypes import requested_dtype, result_type
from .pairs import Labels, dimension_numbers

One = Callable[[Any, Labels, Labels], Any]
"""`one(x, labels, wanted)`: the axes `wanted` of an array in that order, summed over the others."""


def contracted(product: Callable[..., Any], one: One, operands: Sequence[Any],
               terms: Sequence[Labels], result: Labels, path: Sequence[tuple[int, ...]],
               precision: Any, preferred: Any) -> Any:
    """The result of einsum, each pair of operands multiplied by
    `product(lhs, rhs, dimension_numbers, precision, preferred_element_type=dtype)`.

    Args:
      operands, terms: the arrays, and labels of their axes; the same label may occur twice.
      path: which operands each step takes; its result is appended to the operands.
      preferred: dtype of the products and the result; None for the common one of the operands.
    """
    dtype = requested_dtype("einsum", result_type(*operands) if preferred is None else preferred)
    given = list(zip(operands, terms, strict=True))
    for step in path:
        taken = [given.pop(i) for i in sorted(step, reverse=True)][::-1]
        x, labels = taken[0]
        for i, (y, others) in enumerate(taken[1:]):
            later = {a for _, rest in (*taken[i + 2:], *given) for a in rest} | set(result)
            last = not given and i == len(taken) - 2
            wanted = result if last else tuple(
                [a for a in dict.fromkeys((*labels, *others)) if a in later])
            x, labels = _pair(product, one, x, labels, y, others, wanted, precision, dtype)
        given.append((x, labels))
    x, labels = given[0]
    return (x if labels == result else one(x, labels, result)).astype(dtype)


def _pair(product: Callable[..., Any], one: One, x: Any, xs: Labels, y: Any, ys: Labels,
          wanted: Labels, precision: Any, dtype: Any) -> tuple[Any, Labels]:
    """The product of two arrays with the labels of its axes."""
    x, xs = _for_product(one, x, xs, y, ys, wanted)
    y, ys = _for_product(one, y, ys, x, xs, wanted)
    contract, batch, order, swap = dimension_numbers(xs, ys, wanted)
    lhs, rhs = (y, x) if swap else (x, y)
    if swap and isinstance(precision, (tuple, list)):
        precision = precision[::-1]
    made = product(lhs, rhs, (contract, batch), precision, preferred_element_type=dtype)
    return made.astype(dtype), order


def _for_product(one: One, x: Any, xs: Labels, other: Any, others: Labels, wanted: Labels
                 ) -> tuple[Any, Labels]:
    """An operand with distinct axes, those that the other one or the result has, without those of
    size 1 that the other one has in another size."""
    sizes = dict(zip(others, other.shape, strict=True))
    kept = tuple([a for a, n in dict(zip(xs, x.shape, strict=True)).items()
                  if (a in wanted or a in sizes) and not (n == 1 and sizes.get(a, 1) != 1)])
    return (x, xs) if kept == xs else (one(x, xs, kept), kept)


__all__ = ["contracted"]
