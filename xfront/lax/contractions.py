"""Products: dot, dot_general, batch_matmul, and convolutions in any layout.

Source: StableHLO spec, `dot_general` and `convolution`. Dimension numbers of convolutions name the
axes of input, filter and result by letters: N batch, C feature, O and I output and input feature of
the filter, any other letters spatial axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import ops

from ..base.dimension_numbers import ConvDimensionNumbers
from ..binding.annotations import Array, ArrayLike, DTypeLike, ShardingLike
from ..eager.dispatch import eager
from ..eager.operands import are_sizes, array_like, convert, index_of, promoted_dtype
from ..eager.operands import operand as tracer
from ..lax.precision import PrecisionLike
from ..tracing.trace import emit
from ..values.arguments import at_home
from .precision import conv_precision, precision_attr
from .shape import convert_element_type, tile, transpose
from .strict import dtype_of, ints, same_dtype, weakly

DotDimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]],
                            tuple[Sequence[int], Sequence[int]]]


# --- dot ------------------------------------------------------------------------------------

def _preferred(name: str, dtype: Any) -> Any:
    return None if dtype is None else dtype_of(name, dtype)


def product(x: Any, y: Any, contract: Any, batch: Any, precision: Any, preferred: Any) -> Any:
    """dot_general of two tracers. Integers with a preferred dtype are converted to it first, and
    operands of different dtypes to the dtype that they promote to, if none is preferred. Floats are
    multiplied and summed as floats where integers are preferred, and converted then."""
    dtype_x, dtype_y = x.value.type.dtype, y.value.type.dtype
    if preferred is not None and not preferred.is_inexact and (
            dtype_x.is_inexact or dtype_y.is_inexact):
        return convert(product(x, y, contract, batch, precision, None), preferred)
    weak = x.weak and y.weak
    if dtype_x is not dtype_y:
        if preferred is None:
            preferred, weak = promoted_dtype("product", [(dtype_x, x.weak), (dtype_y, y.weak)])
        x, y = convert(x, preferred), convert(y, preferred)
    elif preferred is not None and not (dtype_x.is_inexact and preferred.is_inexact):
        x, y = convert(x, preferred), convert(y, preferred)
    if x.value.type.dtype is preferred:
        preferred = None
    if type(precision) is str and precision.startswith("ANY_F8"):
        _check_f8(precision, x.value.type.dtype, y.value.type.dtype)
    made = emit(ops.dot_general, x, y, contract=contract, batch=batch, precision=precision,
                preferred=preferred)
    return weakly(made, weak and preferred is None)


def _check_f8(algorithm: str, x: Any, y: Any) -> None:
    for dtype in (x, y):
        if not (dtype.is_inexact and dtype.bits == 8):
            raise ValueError(f"the algorithm {algorithm} multiplies floats of 8 bits, but was "
                             f"given {x} and {y}; convert both, for instance with "
                             "x.astype(jnp.float8_e4m3fn)")


@eager(static=("dimension_numbers", "precision", "preferred_element_type", "out_sharding"))
def dot_general(lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: DotDimensionNumbers,
                precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None, *,
                out_sharding: ShardingLike = None) -> Array:
    """Sums of products over pairs of axes.

    Args:
      dimension_numbers: ((contracted axes of lhs, of rhs), (batch axes of lhs, of rhs)).
      precision: a Precision, its name, a pair for lhs and rhs, or an algorithm.
      preferred_element_type: dtype of the sums and the result; None for that of the operands.
    Returns: an array with the batch axes, then the other axes of lhs, then those of rhs.
    Raises: TypeError where axes or sizes do not match; ValueError for an invalid precision, or for
      other operands of an algorithm that multiplies floats of 8 bits.

    >>> lax.dot_general(jnp.ones((2, 3)), jnp.ones((3, 2)), (((1,), (0,)), ((), ())))
    Array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    at_home("dot_general", out_sharding)
    x, y = tracer("dot_general", lhs), tracer("dot_general", rhs)
    contract, batch = [tuple([ints("dot_general dimension_numbers", axes) for axes in pair])
                       for pair in dimension_numbers]
    return product(x, y, contract, batch, precision_attr(precision),
                   _preferred("dot_general", preferred_element_type))


@eager(static=("dimension_numbers", "precision", "preferred_element_type", "out_sharding"))
def dot(lhs: ArrayLike, rhs: ArrayLike, *, dimension_numbers: DotDimensionNumbers | None = None,
        precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
        out_sharding: ShardingLike = None) -> Array:
    """The product of two vectors, of matrix and vector, or of two matrices; `dot_general` where
    dimension numbers are given.

    Raises: ValueError for other shapes without dimension numbers.

    >>> lax.dot(jnp.array([1., 2.]), jnp.array([3., 4.]))
    Array(11., dtype=float32)
    """
    at_home("dot", out_sharding)
    x, y = tracer("dot", lhs), tracer("dot", rhs)
    if dimension_numbers is None:
        if not (1 <= x.ndim <= 2 and 1 <= y.ndim <= 2 and x.shape[-1] == y.shape[0]):
            raise ValueError("dot: the operands must be vectors or matrices whose inner sizes "
                             f"agree, got {x.value.type} and {y.value.type}; give "
                             "dimension_numbers for other products")
        dimension_numbers = (((x.ndim - 1,), (0,)), ((), ()))
    contract, batch = [tuple([ints("dot dimension_numbers", axes) for axes in pair])
                       for pair in dimension_numbers]
    return product(x, y, contract, batch, precision_attr(precision),
                   _preferred("dot", preferred_element_type))


@eager(static=("precision",))
def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Products of matrices in batches of the same shape. Raises: ValueError below two axes.

    >>> lax.batch_matmul(jnp.ones((1, 2, 2)), jnp.ones((1, 2, 2)))
    Array([[[2., 2.],
            [2., 2.]]], dtype=float32)
    """
    x, y = tracer("batch_matmul", lhs), tracer("batch_matmul", rhs)
    if min(x.ndim, y.ndim) < 2:
        raise ValueError("batch_matmul: both operands must have at least two axes, got shapes "
                         f"{x.shape} and {y.shape}")
    if x.ndim != y.ndim:
        raise ValueError("batch_matmul: operands must have the same number of axes, got shapes "
                         f"{x.shape} and {y.shape}")
    lead = tuple(range(x.ndim - 2))
    return product(x, y, ((x.ndim - 1,), (y.ndim - 2,)), (lead, lead), precision_attr(precision),
                   None)


# --- dimension numbers and padding of convolutions ------------------------------------------

ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The axes that three strings such as ("NHWC", "HWIO", "NHWC") name. Raises: TypeError.

    >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    lhs, rhs, out = dimension_numbers
    pairs = (("N", "C"), ("O", "I"), ("N", "C"))
    for i, (first, second) in enumerate(pairs):
        spec = dimension_numbers[i]
        if spec.count(first) != 1 or spec.count(second) != 1:
            raise TypeError(f"dimension_numbers[{i}] must have one {first} and one {second}, got "
                            f"{spec!r}")
        if len(set(spec)) != len(spec):
            raise TypeError(f"dimension_numbers[{i}] must not name an axis twice, got {spec!r}")
    spatial = [c for c in rhs if c not in "OI"]
    for i, spec in ((0, lhs), (2, out)):
        if sorted(c for c in spec if c not in "NC") != sorted(spatial):
            raise TypeError(f"dimension_numbers[{i}] and [1] must have the same spatial axes, got "
                            f"{spec!r} and {rhs!r}")
    return tuple([tuple([spec.index(c) for c in (*pair, *spatial)])
                  for spec, pair in zip((lhs, rhs, out), pairs, strict=True)])


def conv_dimension_numbers(lhs_shape: Sequence[int], rhs_shape: Sequence[int],
                           dimension_numbers: ConvGeneralDilatedDimensionNumbers
                          ) -> ConvDimensionNumbers:
    """Dimension numbers, given as such, as strings, or as None for ("NC...", "OI...", "NC...").

    Raises: TypeError where they do not fit the shapes.

    >>> lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC")).rhs_spec
    (3, 2, 0, 1)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    n = len(lhs_shape)
    if n != len(rhs_shape):
        raise TypeError(f"input and filter must have the same number of axes, got {n} and "
                        f"{len(rhs_shape)}")
    if dimension_numbers is None:
        own = tuple(range(n))
        return ConvDimensionNumbers(own, own, own)
    if not isinstance(dimension_numbers, (list, tuple)):
        raise TypeError("dimension_numbers must be None or a sequence of three strings, got "
                        f"{dimension_numbers!r}")
    if len(dimension_numbers) != 3:
        raise TypeError("dimension_numbers must have three entries (input, filter, result), got "
                        f"{dimension_numbers!r}")
    specs: Any = dimension_numbers               # strings, or the axes themselves
    for i, spec in enumerate(specs):
        if len(spec) != n:
            raise TypeError(f"dimension_numbers[{i}] names {len(spec)} axes, but input and filter "
                            f"have {n}: their shapes are {tuple(lhs_shape)} and "
                            f"{tuple(rhs_shape)}")
    if not isinstance(specs[0], str):
        return ConvDimensionNumbers(*[tuple(spec) for spec in specs])
    lhs_spec, rhs_spec, out_spec = conv_general_permutations(specs)
    return ConvDimensionNumbers(lhs_spec, rhs_spec, out_spec)


def padtype_to_pads(in_shape: Sequence[int], window_shape: Sequence[int],
                    window_strides: Sequence[int], padding: str | Sequence[tuple[int, int]]
                    ) -> list[tuple[int, int]]:
    """Padding by name as a pair for each spatial axis.

    "VALID" pads nothing. "SAME" pads so that there is one window for each stride, with the extra
    element of an odd padding at the end; "SAME_LOWER" has it at the beginning.
    Raises: RuntimeError for other names.

    >>> lax.padtype_to_pads((8, 8), (3, 3), (1, 1), "SAME")
    [(1, 1), (1, 1)]
    """
    name = padding.upper() if isinstance(padding, str) else padding
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(f"padding must be 'VALID', 'SAME' or 'SAME_LOWER', got {padding!r}")
    pads = []
    for n, w, s in zip(ints("in_shape", in_shape), ints("window_shape", window_shape),
                       ints("window_strides", window_strides), strict=True):
        total = max((-(-n // s) - 1) * s + w - n, 0)
        pair = (total // 2, total - total // 2)
        pads.append(pair if name == "SAME" else pair[::-1])
    return pads


# --- convolutions ---------------------------------------------------------------------------

@eager(static=("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers",
               "feature_group_count", "batch_group_count", "precision", "preferred_element_type",
               "out_sharding"))
def conv_general_dilated(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int],
                         padding: str | Sequence[tuple[int, int]],
                         lhs_dilation: Sequence[int] | None = None,
                         rhs_dilation: Sequence[int] | None = None,
                         dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
                         feature_group_count: int = 1, batch_group_count: int = 1,
                         precision: PrecisionLike = None,
                         preferred_element_type: DTypeLike | None = None, *,
                         out_sharding: ShardingLike = None) -> Array:
    """Convolution (without flipping the filter) with strides, padding, dilations and groups.

    Args:
      lhs, rhs: input and filter, arrays of the same dtype and number of axes.
      window_strides: one int for each spatial axis.
      padding: a pair (low, high) for each spatial axis, or "SAME", "SAME_LOWER", "VALID".
      lhs_dilation, rhs_dilation: for each spatial axis the distance between neighbouring elements
        of the input and of the filter; 1 where None.
      dimension_numbers: three strings, a ConvDimensionNumbers, or None for NC..., OI..., NC....
      feature_group_count, batch_group_count: the number of groups into which the features or the
        batch are divided.
      precision, preferred_element_type: as in `dot_general`.
    Raises: TypeError where dtypes differ or the dimension numbers do not match the shapes;
      ValueError where features, groups or numbers of strides do not, strides are not positive, or
      padding removes more than there is.

    >>> lax.conv_general_dilated(jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2)), (1,), "VALID")
    Array([[[2., 2.]]], dtype=float32)
    """
    at_home("conv_general_dilated", out_sharding)
    name = "conv_general_dilated"
    preferred = _preferred(name, preferred_element_type)
    if preferred is None:
        x, k = same_dtype(name, lhs, rhs)
    else:
        x, k = tracer(name, lhs), tracer(name, rhs)
        if not preferred.is_inexact and (x.value.type.is_inexact or k.value.type.is_inexact):
            raise TypeError(f"{name}: preferred_element_type must be a float or complex dtype for "
                            f"{x.value.type} and {k.value.type}, got {preferred}; convert the "
                            "result instead")
        if x.value.type.dtype is not k.value.type.dtype or not x.value.type.is_inexact:
            x, k = convert(x, preferred), convert(k, preferred)
        if x.value.type.dtype is preferred:
            preferred = None
    given: Any = dimension_numbers
    if isinstance(given, tuple) and given and not isinstance(given[0], str):
        dimension_numbers = ConvDimensionNumbers(*given)
    numbers = conv_dimension_numbers(x.shape, k.shape, dimension_numbers)
    lhs_spec, rhs_spec, out_spec = [ints("dimension_numbers", spec) for spec in numbers]
    n = x.ndim - 2
    strides = ints("window_strides", window_strides)
    of_x = (1,) * n if lhs_dilation is None else _dilations("lhs_dilation", lhs_dilation, n)
    of_k = (1,) * n if rhs_dilation is None else _dilations("rhs_dilation", rhs_dilation, n)
    if len(strides) != n:
        raise ValueError(f"{name}: window_strides must have one entry for each of the {n} spatial "
                         f"axes, got {strides}")
    if any(s < 1 for s in strides):
        raise ValueError(f"{name}: window_strides must be positive, got {strides}")
    features, batches = _groups(x.shape, k.shape, numbers, feature_group_count, batch_group_count)
    held = tuple([_dilated(x.shape[d], by) for d, by in zip(lhs_spec[2:], of_x, strict=True)])
    if isinstance(padding, str):
        window = tuple([_dilated(k.shape[d], by) for d, by in zip(rhs_spec[2:], of_k, strict=True)])
        padding = padtype_to_pads(held, window, strides, padding)
    else:
        padding = _pairs(name, padding)
    pads = tuple([ints("padding", p) for p in padding])
    if any([size + low + high < 0 for size, (low, high) in zip(held, pads, strict=False)]):
        raise ValueError(f"{name}: padding {pads} removes more elements than the spatial axes of "
                         f"{x.value.type} have, {held}")
    made = emit(ops.conv_general_dilated, x, k, lhs_spec=lhs_spec, rhs_spec=rhs_spec,
                out_spec=out_spec, strides=strides, padding=pads, lhs_dilation=of_x,
                rhs_dilation=of_k, feature_groups=features, batch_groups=batches,
                precision=conv_precision(precision), preferred=preferred)
    return weakly(made, x.weak and k.weak and preferred is None)


def _groups(x: Sequence[int], k: Sequence[int], numbers: ConvDimensionNumbers, features: Any,
            batches: Any) -> tuple[int, int]:
    """The numbers of groups of a convolution of these shapes. Raises: TypeError where one is no
    integer; ValueError where it does not divide the shapes, or the features do not fit."""
    features = index_of(features, "feature_group_count")
    batches = index_of(batches, "batch_group_count")
    if min(features, batches) < 1 or min(features, batches) > 1:
        raise ValueError("conv_general_dilated: feature_group_count and batch_group_count must be "
                         f"positive, and one of them 1, got {features} and {batches}")
    batch, inputs = (x[d] for d in numbers.lhs_spec[:2])
    outputs, depth = (k[d] for d in numbers.rhs_spec[:2])
    if inputs != features * depth:
        raise ValueError(f"conv_general_dilated: {inputs} features of the input (axis "
                         f"{numbers.lhs_spec[1]} of {tuple(x)}) do not fit {features} groups of "
                         f"{depth} of the filter (axis {numbers.rhs_spec[1]} of {tuple(k)})")
    if outputs % max(features, batches) or batches > 1 and batch % batches:
        raise ValueError(f"conv_general_dilated: {max(features, batches)} groups do not divide the "
                         f"batch of {batch} and the {outputs} output features")
    return features, batches


def _pairs(name: str, padding: Any) -> Any:
    """Padding as (low, high) pairs. Raises: ValueError for anything else."""
    listed_pairs = [ints(f"{name}: padding", p) if are_sizes(p) else () for p in padding] if (
        are_sizes(padding) or np.ndim(padding) == 2) else [()]
    if any(len(pair) != 2 for pair in listed_pairs):
        raise ValueError(f"padding argument to {name} should be a string or a sequence of (low, "
                         f"high) pairs, got {padding!r}; write [(1, 1), (2, 2)] to pad one axis by "
                         "1 and one by 2 on both sides")
    return tuple(listed_pairs)


def _dilations(name: str, value: Any, n: int) -> tuple[int, ...]:
    """One dilation for each spatial axis. Raises: ValueError where there are more or fewer."""
    spread = (value,) * n if isinstance(value, int) else ints(name, value)
    if len(spread) != n:
        raise ValueError(f"{name} must have one entry for each of the {n} spatial axes, got "
                         f"{spread}")
    return spread


def _dilated(size: int, by: int) -> int:
    return (size - 1) * by + 1 if size else 0


def conv(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int], padding: str,
         precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None) -> Array:
    """`conv_general_dilated` of NC... with OI... and padding by name.

    >>> lax.conv(jnp.ones((1, 1, 2, 2)), jnp.ones((1, 1, 2, 2)), (1, 1), 'VALID')
    Array([[[[4.]]]], dtype=float32)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, precision=precision,
                                preferred_element_type=preferred_element_type)


def conv_with_general_padding(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int],
                              padding: str | Sequence[tuple[int, int]],
                              lhs_dilation: Sequence[int] | None,
                              rhs_dilation: Sequence[int] | None, precision: PrecisionLike = None,
                              preferred_element_type: DTypeLike | None = None) -> Array:
    """`conv_general_dilated` of NC... with OI....

    >>> x, k = jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2))
    >>> lax.conv_with_general_padding(x, k, (1,), "VALID", None, None)
    Array([[[2., 2.]]], dtype=float32)
    """
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                                precision=precision, preferred_element_type=preferred_element_type)


def conv_transpose(lhs: ArrayLike, rhs: ArrayLike, strides: Sequence[int],
                   padding: str | Sequence[tuple[int, int]],
                   rhs_dilation: Sequence[int] | None = None,
                   dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
                   transpose_kernel: bool = False, precision: PrecisionLike = None,
                   preferred_element_type: DTypeLike | None = None,
                   use_consistent_padding: bool = False) -> Array:
    """The transpose of a strided convolution: a convolution of an input spread by the strides.

    Args:
      strides: the strides of the convolution whose transpose this is, one for each spatial axis.
      padding: "SAME" makes each result size the input size times the stride, "VALID" keeps all that
        the filter reaches; or pairs (low, high) for the spread input; "SAME_LOWER" only where all
        strides are 1.
      dimension_numbers: three strings; None means channels last with filters ...IO.
      transpose_kernel: whether the filter is that of the forward convolution, so that it is flipped
        and its feature axes are exchanged.
      use_consistent_padding: whether pairs in `padding` are those of the forward convolution.

    >>> lax.conv_transpose(jnp.ones((1, 3, 1)), jnp.ones((2, 1, 1)), (2,), "SAME").shape
    (1, 6, 1)
    """
    shape, filter_shape = np.shape(lhs), np.shape(rhs)
    n = len(shape) - 2
    if dimension_numbers is None:
        if n not in (0, 1, 2, 3):
            raise ValueError(f"conv_transpose: dimension_numbers must be given for {n} spatial "
                             "axes; they have a default for up to 3")
        letters = "DHW"[3 - n:] if n else ""
        dimension_numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    numbers = conv_dimension_numbers(shape, filter_shape, dimension_numbers)
    sizes = [filter_shape[d] for d in numbers.rhs_spec[2:]]
    strides = ints("strides", strides)
    if len(strides) != n:
        raise TypeError(f"conv_transpose: strides must have one entry for each of the {n} spatial "
                        f"axes, got {strides}")
    dilation = (1,) * n if rhs_dilation is None else ints("rhs_dilation", rhs_dilation)
    reach = [_dilated(k, by) for k, by in zip(sizes, dilation, strict=True)]
    if isinstance(padding, str) and padding in ("SAME", "VALID"):
        pads: Any = [_transposed_pads(k, s, padding) for k, s in zip(reach, strides, strict=True)]
    elif isinstance(padding, str):
        if any(s != 1 for s in strides):
            raise ValueError("conv_transpose: with strides other than 1, padding must be 'SAME', "
                             f"'VALID' or pairs (low, high), got {padding!r}")
        pads = padding
    else:
        pads = _pairs("conv_transpose", padding)
        if use_consistent_padding:
            pads = [(k - 1 - low, k - 1 - high)
                    for (low, high), k in zip(pads, reach, strict=True)]
    if transpose_kernel:
        rhs = _flipped(rhs, tuple(numbers.rhs_spec))
    if not isinstance(pads, str):
        pads = tuple(pads)
    return conv_general_dilated(lhs, rhs, (1,) * n, pads, tuple(strides), dilation, numbers,
                                precision=precision,
                                preferred_element_type=preferred_element_type)


def _transposed_pads(k: int, s: int, padding: str) -> tuple[int, int]:
    if padding == "SAME":
        total = k + s - 2
        low = k - 1 if s > k - 1 else math.ceil(total / 2)
    else:
        total = k + s - 2 + max(k - s, 0)
        low = k - 1
    return low, total - low


@eager(static=("spec",))
def _flipped(rhs: Any, spec: tuple[int, ...]) -> Any:
    """A filter reversed along its spatial axes, its two features exchanged."""
    k = tracer("conv_transpose", rhs)
    if spec[2:]:
        k = emit(ops.reverse, k, axes=spec[2:])
    order = list(range(k.ndim))
    order[spec[0]], order[spec[1]] = spec[1], spec[0]
    return emit(ops.transpose, k, permutation=tuple(order))


# --- shapes ---------------------------------------------------------------------------------

def conv_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int], strides: Sequence[int],
                     pads: Sequence[tuple[int, int]], batch_group_count: int = 1
                     ) -> tuple[int, ...]:
    """The shape of a convolution of NC... with OI.... Raises: TypeError.

    >>> lax.conv_shape_tuple((1, 3, 8, 8), (4, 3, 3, 3), (1, 1), ((0, 0), (0, 0)))
    (1, 4, 6, 6)
    """
    lhs_shape, rhs_shape = ints("lhs_shape", lhs_shape), ints("rhs_shape", rhs_shape)
    strides = ints("strides", strides)
    pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads) if isinstance(
        pads, str) else _pairs("conv_shape_tuple", pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(f"padding must have {len(lhs_shape) - 2} pairs, one for each spatial axis, "
                        f"got {pads}")
    if lhs_shape[0] % batch_group_count:
        raise TypeError(f"batch_group_count={batch_group_count} does not divide the batch size "
                        f"{lhs_shape[0]}")
    spatial = [max(0, (n + low + high - k) // s + 1) for n, k, s, (low, high)
               in zip(lhs_shape[2:], rhs_shape[2:], strides, pads, strict=True)]
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def conv_general_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int],
                             window_strides: Sequence[int],
                             padding: str | Sequence[tuple[int, int]],
                             dimension_numbers: ConvGeneralDilatedDimensionNumbers
                             ) -> tuple[int, ...]:
    """The shape of a convolution in any layout.

    >>> layout = "NCHW", "OIHW", "NCHW"
    >>> lax.conv_general_shape_tuple((1, 3, 8, 8), (4, 3, 3, 3), (1, 1), "VALID", layout)
    (1, 4, 6, 6)
    """
    lhs_shape, rhs_shape = ints("lhs_shape", lhs_shape), ints("rhs_shape", rhs_shape)
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    lhs, rhs = ([shape[d] for d in spec] for shape, spec in
                zip((lhs_shape, rhs_shape), numbers[:2], strict=True))
    made = conv_shape_tuple(lhs, rhs, window_strides, padding)  # type: ignore[arg-type]
    return tuple([made[numbers.out_spec.index(d)] for d in range(len(made))])


def conv_transpose_shape_tuple(lhs_shape: Sequence[int], rhs_shape: Sequence[int],
                               window_strides: Sequence[int],
                               padding: str | Sequence[tuple[int, int]],
                               dimension_numbers: ConvGeneralDilatedDimensionNumbers
                               ) -> tuple[int, ...]:
    """The shape of `conv_transpose`'s result.

    >>> layout = "NCHW", "OIHW", "NCHW"
    >>> lax.conv_transpose_shape_tuple((1, 3, 8, 8), (4, 3, 3, 3), (2, 2), "SAME", layout)
    (1, 4, 16, 16)
    """
    lhs_shape, rhs_shape = ints("lhs_shape", lhs_shape), ints("rhs_shape", rhs_shape)
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    lhs, rhs = ([shape[d] for d in spec] for shape, spec in
                zip((lhs_shape, rhs_shape), numbers[:2], strict=True))
    strides = ints("window_strides", window_strides)
    pads = [_transposed_pads(k, s, padding) for k, s in zip(rhs[2:], strides, strict=True)] \
        if isinstance(padding, str) else _pairs("conv_transpose_shape_tuple", padding)
    spread = [_dilated(n, s) for n, s in zip(lhs[2:], strides, strict=True)]
    made = conv_shape_tuple([*lhs[:2], *spread], rhs, (1,) * len(spread), pads)
    return tuple([made[numbers.out_spec.index(d)] for d in range(len(made))])


# --- patches --------------------------------------------------------------------------------

def conv_general_dilated_patches(lhs: ArrayLike, filter_shape: Sequence[int],
                                 window_strides: Sequence[int],
                                 padding: str | Sequence[tuple[int, int]],
                                 lhs_dilation: Sequence[int] | None = None,
                                 rhs_dilation: Sequence[int] | None = None,
                                 dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
                                 precision: PrecisionLike = None,
                                 preferred_element_type: DTypeLike | None = None) -> Array:
    """The patch that a filter of this shape sees at each place, as features.

    Returns: the features are (input feature, *filter places) in row-major order.

    >>> lax.conv_general_dilated_patches(jnp.ones((1, 2, 8, 8)), (3, 3), (1, 1), "SAME").shape
    (1, 18, 8, 8)
    """
    filter_shape = ints("filter_shape", filter_shape)
    ndim, places = np.ndim(lhs), math.prod(filter_shape)
    numbers = conv_dimension_numbers((0,) * ndim, (0,) * ndim, dimension_numbers)
    features = np.shape(lhs)[numbers.lhs_spec[1]]
    one_each = np.eye(places).reshape(places, 1, *filter_shape)
    dtype = array_like("conv_general_dilated_patches", lhs).dtype
    rhs = tile(convert_element_type(one_each, dtype), (features,) + (1,) * (ndim - 1))
    order = [0] * ndim
    for k, d in enumerate(numbers.rhs_spec):
        order[d] = k
    return conv_general_dilated(
        lhs, transpose(rhs, tuple(order)), tuple(window_strides), padding, lhs_dilation,
        rhs_dilation, numbers, feature_group_count=features, precision=precision,
        preferred_element_type=preferred_element_type)


def conv_general_dilated_local(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sequence[int],
                               padding: str | Sequence[tuple[int, int]],
                               filter_shape: Sequence[int],
                               lhs_dilation: Sequence[int] | None = None,
                               rhs_dilation: Sequence[int] | None = None,
                               dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
                               precision: PrecisionLike = None
                               ) -> Array:
    """A convolution with a filter of its own at each place of the result.

    Args:
      rhs: the filters. Their spatial axes are those of the result, and their input-feature axis
        holds (input feature, *filter positions) in row-major order.
      filter_shape: sizes of the spatial axes of a filter.
    Raises: TypeError where the axes of rhs are not those of the result.

    >>> x, k = jnp.ones((1, 1, 3)), jnp.ones((1, 2, 2))
    >>> lax.conv_general_dilated_local(x, k, (1,), "VALID", (2,)).shape
    (1, 1, 2)
    """
    numbers = conv_dimension_numbers(np.shape(lhs), np.shape(rhs), dimension_numbers)
    seen = conv_general_dilated_patches(
        lhs, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers, precision)
    lhs_spatial, rhs_spatial = numbers.out_spec[2:], numbers.rhs_spec[2:]
    contract = ((numbers.out_spec[1],), (numbers.rhs_spec[1],))
    made = dot_general(seen, rhs, (contract, (lhs_spatial, rhs_spatial)), precision)
    order = [0] * made.ndim                      # made is (*spatial, batch, feature)
    for k, d in enumerate((*lhs_spatial, *numbers.out_spec[:2])):
        order[d] = k
    return transpose(made, tuple(order))


__all__ = [
    "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "DotDimensionNumbers",
    "batch_matmul", "conv", "conv_dimension_numbers", "conv_general_dilated",
    "conv_general_dilated_local", "conv_general_dilated_patches",
    "conv_general_permutations", "conv_general_shape_tuple",
    "conv_shape_tuple", "conv_transpose", "conv_transpose_shape_tuple", "conv_with_general_padding",
    "dot", "dot_general", "padtype_to_pads",
]  # fmt: skip
