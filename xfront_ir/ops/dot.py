"""dot_general: sums of products over pairs of axes of two arrays.

    contract = ((lhs axes), (rhs axes))      axes that are summed over
    batch    = ((lhs axes), (rhs axes))      axes that are paired; they come first in the result

The result has the batch axes, then the other axes of lhs, then those of rhs, as in the StableHLO
spec. `preferred` is the result's dtype where it is not that of the operands; `precision` is None, a
pair of `default`, `high`, `highest`, or the name of an algorithm such as `BF16_BF16_F32_X3`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..core import Op, Value
from ..definition import LINEAR, lookup
from ..errors import IRTypeError
from ..opdef import DTYPE, INTS, TREE, define, optional
from ..sharding import Sharding, Spec
from ..spreading import SUMS, Dims, met, refuse, spreads
from ..traits import CONTRACTS, mark
from ..types import TensorType, tensor
from .families import becomes
from .shape import transpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..builder import Builder
    from ..definition import OpDef
    from ..dtypes import DType
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values

Ints = tuple[int, ...]
Pair = tuple[Ints, Ints]

Precision = str | tuple[str, str] | None

PRECISIONS = ("default", "high", "highest")


def check_precision(name: str, precision: Any) -> None:
    """Refuse a value that is no precision. Raises: IRTypeError."""
    parts: Any = precision
    fits = precision is None or type(precision) is str or (
        type(precision) is tuple and len(parts) == 2 and all(p in PRECISIONS for p in parts))
    if not fits:
        raise IRTypeError(f"{name}: precision must be None, the name of an algorithm or a pair of "
                          f"{', '.join(PRECISIONS)}, got {precision!r}")


def product_dtype(name: str, lhs: TensorType, rhs: TensorType, preferred: DType | None) -> DType:
    """The dtype of sums of products of two arrays. Raises: IRTypeError."""
    if preferred is None and lhs.dtype is not rhs.dtype:
        raise IRTypeError(f"{name}: {lhs} and {rhs} have different dtypes; name the dtype of the "
                          "result with preferred_element_type")
    found = preferred or lhs.dtype
    for dtype in (lhs.dtype, rhs.dtype, found):
        if dtype.is_key or dtype.kind == "bool" and found is not dtype:
            raise IRTypeError(f"{name}: the result cannot have dtype {found} for {lhs} and {rhs}")
    if found.is_complex != (lhs.dtype.is_complex or rhs.dtype.is_complex) and not found.is_complex:
        raise IRTypeError(f"{name}: the result cannot have dtype {found} for {lhs} and {rhs}")
    return found


def _free(ndim: int, contract: Ints, batch: Ints) -> Ints:
    return tuple(d for d in range(ndim) if d not in contract and d not in batch)


def _is_pair(x: Any) -> bool:
    parts: list[Any] = [*x] if type(x) is tuple else []
    return len(parts) == 2 and all(map(INTS.accepts, parts))


def infer_products(name: str) -> Any:
    """The type rule of sums of products, for the op called `name`."""
    def infer(types: Types, attrs: Attrs) -> Types:
        lhs, rhs = types
        contract: Pair = attrs["contract"]
        batch: Pair = attrs["batch"]
        if not (_is_pair(contract) and _is_pair(batch)):
            raise IRTypeError(f"{name}: contract and batch must be pairs of tuples of axes, got "
                              f"{contract} and {batch}")
        for t, c, k, side in zip(types, contract, batch, ("lhs", "rhs")):
            named = (*c, *k)
            if len(set(named)) != len(named) or not all(0 <= a < t.ndim for a in named):
                raise IRTypeError(f"{name}: contracted axes {c} and batch axes {k} of {side} must "
                                  f"be distinct and in [0, {t.ndim}), for {t}")
        for what, (left, right) in (("contracted", contract), ("batch", batch)):
            sizes = [tuple(lhs.shape[a] for a in left), tuple(rhs.shape[a] for a in right)]
            if sizes[0] != sizes[1]:
                raise IRTypeError(f"{name}: {what} sizes differ: lhs is {lhs} (axes {left} have "
                                  f"{sizes[0]}), but rhs is {rhs} (axes {right} have {sizes[1]})")
        check_precision(name, attrs.get("precision"))
        dtype = product_dtype(name, lhs, rhs, attrs.get("preferred"))
        shape = (*(lhs.shape[a] for a in batch[0]),
                 *(lhs.shape[a] for a in _free(lhs.ndim, contract[0], batch[0])),
                 *(rhs.shape[a] for a in _free(rhs.ndim, contract[1], batch[1])))
        return (tensor(shape, dtype),)

    return infer


def jvp_dot_general(b: Builder, op: Op, tangents: Tangents) -> NewTangents:
    """The tangent of a product, written with the same op."""
    (lhs, rhs), (of_lhs, of_rhs) = op.operands, tangents
    total = None
    if of_lhs is not None:
        total = b.emit(op.definition, of_lhs, rhs, **op.attrs)
    if of_rhs is not None:
        second = b.emit(op.definition, lhs, of_rhs, **op.attrs)
        total = second if total is None else b.emit(lookup("add"), total, second)
    return (total,)


def transpose_dot_general(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    """The transpose of a product, written with the same op."""
    (ct,) = cotangents
    if known[0] is LINEAR:
        return _cotangent(b, op, ct, known[1], 0), None
    return None, _cotangent(b, op, ct, known[0], 1)


def _cotangent(b: Builder, op: Op, ct: Value, other: Value, side: int) -> Value:
    """The cotangent of operand `side`: the product of `ct` and the other operand over its axes."""
    own, precision = op.operands[side].type, op.attrs.get("precision")
    other_first, contract, batch, permutation = _turned(
        own.ndim, other.type.ndim, op.attrs["contract"], op.attrs["batch"], side)
    kept = other.type.dtype is ct.type.dtype and own.dtype is ct.type.dtype
    made = b.emit(op.definition, *((other, ct) if other_first else (ct, other)),
                  contract=contract, batch=batch,
                  precision=_swapped(precision) if other_first is not bool(side) else precision,
                  preferred=None if kept else ct.type.dtype)
    if permutation is not None:
        made = b.emit(transpose, made, permutation=permutation)
    if made.type.plain is not own.plain:
        made = b.emit(lookup("convert"), made, dtype=own.dtype)
    return made


@lru_cache(maxsize=4096)
def _turned(own_ndim: int, other_ndim: int, contract: Pair, batch: Pair, side: int
            ) -> tuple[bool, Pair, Pair, Ints | None]:
    """How a product gives the cotangent of operand `side`: whether the other operand comes before
    `ct`, the contracted and batch axes, and the permutation of the product's axes."""
    of_other = 1 - side
    own_free = _free(own_ndim, contract[side], batch[side])
    other_free = _free(other_ndim, contract[of_other], batch[of_other])
    n_batch = len(batch[0])
    first = n_batch + (len(own_free) if side == 0 else 0)       # where other's axes begin in ct
    of_ct = tuple(range(first, first + len(other_free)))
    # the product has the axes of `own`: its batch axes, then its free ones, which come with ct, and
    # its contracted ones, which come with the other operand in that operand's order
    by_other = tuple(own_axis for _, own_axis in sorted(zip(contract[of_other], contract[side])))
    pairs: tuple[Pair, Pair] = (of_ct, other_free), (tuple(range(n_batch)), batch[of_other])
    axes = (*batch[side], *own_free, *by_other)
    swapped = (*batch[side], *by_other, *own_free)
    other_first = list(axes) != sorted(axes) and list(swapped) == sorted(swapped)
    if other_first:
        (left, right), (left_batch, right_batch) = pairs
        pairs, axes = ((right, left), (right_batch, left_batch)), swapped
    turned = list(axes) != sorted(axes)
    return other_first, *pairs, (
        tuple(sorted(range(own_ndim), key=axes.__getitem__)) if turned else None)


def _swapped(precision: Precision) -> Precision:
    return (precision[1], precision[0]) if isinstance(precision, tuple) else precision


def _up(axes: Ints, p: int) -> Ints:
    return tuple(a + (a >= p) for a in axes)


def batch_dot_general(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                      ) -> Batched:
    """The batching of a product."""
    (p, q), a = positions, dict(op.attrs)
    (left, right), (left_batch, right_batch) = a["contract"], a["batch"]
    if p is not None:
        left, left_batch = _up(left, p), _up(left_batch, p)
    if q is not None:
        right, right_batch = _up(right, q), _up(right_batch, q)
    lhs, rhs = operands
    n_batch = len(left_batch)
    if p is not None and q is not None:
        left_batch, right_batch, at = (p, *left_batch), (q, *right_batch), 0
    elif p is not None:                         # one more free axis of the batched operand
        at = n_batch + _free(lhs.type.ndim, left, left_batch).index(p)
    elif _free(rhs.type.ndim, right, right_batch) == (q,):
        # vectors times one matrix: as the left operand they stay rows, so that the next product
        # contracts them without a transpose
        lhs, rhs, at = rhs, lhs, n_batch
        left, right, left_batch, right_batch = right, left, right_batch, left_batch
        a["precision"] = _swapped(a.get("precision"))
    else:
        before = n_batch + len(_free(lhs.type.ndim, left, left_batch))
        at = before + _free(rhs.type.ndim, right, right_batch).index(q)
    a["contract"], a["batch"] = (left, right), (left_batch, right_batch)
    return (b.emit(op.definition, lhs, rhs, **a),), (at,)


def cost_dot_general(op: Op) -> Any:
    """Operations and bytes of a product."""
    lhs, rhs, result = op.operands[0].type, op.operands[1].type, op.results[0].type
    summed = 1
    a: int
    for a in op.attrs["contract"][0]:
        summed *= lhs.shape[a]
    moved = sum(t.size * t.dtype.bits // 8 for t in (lhs, rhs, result))
    return 2 * result.size * summed, moved


dot_general = define("dot_general", operands=2, infer=infer_products("dot_general"),
                     jvp=jvp_dot_general, transpose=transpose_dot_general, batch=batch_dot_general,
                     cost=cost_dot_general, strong=becomes("strong_dot_general"),
                     attrs={"contract": TREE, "batch": TREE, "precision": optional(TREE),
                            "preferred": optional(DTYPE)}, family=__name__)


# --- axes that divide ---------------------------------------------------------------------

def spread_products(op: OpDef, types: Types, attrs: Attrs, results: Types) -> Sequence[Dims]:
    """Batch and free axes stay divided. A contracted axis may be divided in one operand if it is
    not in the other. If both were divided, each device would hold a term of a sum, and the program
    must say whether the result is to be summed."""
    lhs, rhs = types
    contract: Pair = attrs["contract"]
    both_batch: Pair = attrs["batch"]
    (left, right), (left_batch, right_batch) = contract, both_batch
    ours, theirs = (tuple([t.dims[a] for a in axes])
                    for t, axes in ((lhs, left), (rhs, right)))
    both = [(a, c) for a, c in zip(ours, theirs, strict=True) if a and c]
    if any(a != c for a, c in both):
        refuse(f"{op.name} requires contracting dimensions to have consistent sharding, got {ours} "
               f"and {theirs}. Reshard one operand, `xfront.sharding.reshard(x, P(...))`")
    if both:
        refuse("Contracting dimensions are sharded and it is ambiguous how the output should be "
               "sharded. Please specify the output sharding via the `out_sharding` parameter. Got "
               f"lhs_contracting_spec={ours} and rhs_contracting_spec={theirs}")
    batch = met(op.name, [tuple([t.dims[a] for a in axes])
                          for t, axes in ((lhs, left_batch), (rhs, right_batch))], len(left_batch))
    free = [t.dims[a] for t, c, k in ((lhs, left, left_batch), (rhs, right, right_batch))
            for a in _free(t.ndim, c, k)]
    return ((*batch, *free),)


def summed_products(types: Types, attrs: Attrs) -> tuple[tuple[str, ...] | None, Types]:
    """The axes that divide contracted dimensions, and the operands without; no axes where both are
    not divided alike."""
    contract: Pair = attrs["contract"]
    ours, theirs = [[t.dims[a] for a in axes] for t, axes in zip(types, contract, strict=True)]
    axes = tuple([a for d in ours for a in d]) if ours == theirs else None
    return axes, tuple([_undivided(t, c) for t, c in zip(types, contract, strict=True)])


def _undivided(t: TensorType, axes: Ints) -> TensorType:
    if t.sharding is None:
        return t
    dims = [() if i in axes else d for i, d in enumerate(t.dims)]
    return t.over(Sharding(t.sharding.mesh, Spec(dims)))


spreads(spread_products, dot_general)
SUMS[dot_general] = summed_products
mark({CONTRACTS}, dot_general)
