"""Reductions, running reductions, windows, sorting, and the places of extrema.

Axes are known while tracing and not negative, unless a docstring says so. Nothing is promoted.
Sources: StableHLO spec, `reduce`, `reduce_window`, `sort`; CHLO spec, `top_k`.
"""

from __future__ import annotations

import builtins
import itertools
from builtins import max as max_of
from builtins import min as min_of
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from xfront_ir import ops
from xfront_ir.dtypes import DType, from_numpy, greatest, has_infinity, least

from ..base.docstrings import with_example
from ..base.trees import tree_flatten, tree_unflatten
from ..binding.annotations import Array, ArrayLike, DTypeLike, ShardingLike
from ..eager.dispatch import eager, takes_out_sharding
from ..eager.operands import SCALARS
from ..eager.operands import operand as tracer
from ..running.programs import bind
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from ..transforms.closing import with_constants
from ..transforms.flat import as_operand, kind_of
from ..values.arguments import at_home, only
from .contractions import padtype_to_pads
from .control_flow import record, trace_body
from .elementwise import floating, select
from .shape import along, convert_element_type, full, pad
from .strict import axis_in, dtype_of, ints, listed, static_int, weakly

# --- reductions -----------------------------------------------------------------------------


def _reducer(name: str, definition: Any, doc: str, shows: str) -> Callable[..., Any]:
    def body(operand: ArrayLike, axes: Sequence[int], *, out_sharding: ShardingLike = None
            ) -> Array:
        at_home(name, out_sharding)
        x = tracer(name, operand)
        kinds = x.value.type.dtype
        if name in ("reduce_and", "reduce_or", "reduce_xor") and kinds.is_inexact:
            raise TypeError(f"{name} takes integers and bools, got {x.value.type}")
        return emit(definition, x, axes=_axes(axes, x))

    body.__name__ = body.__qualname__ = name
    body.__doc__ = with_example(
        f"{doc}\n\nRaises: TypeError for other dtypes; ValueError where an axis is out of bounds "
        "or named twice.", f"lax.{name}", shows)
    return eager(static=("axes", "out_sharding"))(body)


def _axes(axes: Any, x: Any) -> tuple[int, ...]:
    made = ints("reduction axes", axes)
    if len(set(made)) != len(made):
        raise ValueError(f"reduction axes {made} name the same axis twice")
    if any(not 0 <= a < x.ndim for a in made):
        raise ValueError(f"reduction axes {made} are out of bounds for {x.value.type}")
    return tuple(sorted(made))


reduce_sum = _reducer("reduce_sum", ops.reduce_sum, "Sum over axes, of numbers.",
                      "[1, 2, 3], (0,) -> 6 int32")
reduce_prod = _reducer("reduce_prod", ops.reduce_prod, "Product over axes, of numbers.",
                       "[2, 3, 4], (0,) -> 24 int32")
reduce_max = _reducer("reduce_max", ops.reduce_max, "The greatest over axes; -inf (or the least "
                                                    "number) of no elements.",
                      "[1, 3, 2], (0,) -> 3 int32")
reduce_min = _reducer("reduce_min", ops.reduce_min, "The smallest over axes; inf (or the greatest "
                                                    "number) of no elements.",
                      "[3, 1, 2], (0,) -> 1 int32")
reduce_and = _reducer("reduce_and", ops.reduce_and, "Bits of all, over axes.",
                      "[6, 3], (0,) -> 2 int32")
reduce_or = _reducer("reduce_or", ops.reduce_or, "Bits of any, over axes.",
                     "[6, 3], (0,) -> 7 int32")
reduce_xor = _reducer("reduce_xor", ops.reduce_xor, "Bits of an odd number, over axes.",
                      "[6, 3], (0,) -> 5 int32")


@takes_out_sharding("reduce")
def reduce(operands: Any, init_values: Any, computation: Callable[[Any, Any], Any],
           dimensions: Sequence[int], out_sharding: ShardingLike = None) -> Any:
    """A tree of arrays reduced over axes by any associative function.

    Args:
      operands: a tree of arrays of the same shape.
      init_values: a tree of scalars like `operands`, combined once with each result.
      computation: an associative function from two trees of scalars to one.
      dimensions: the axes to reduce.
    Raises: ValueError where trees or axes do not match; TypeError where `computation` changes
      types.

    >>> lax.reduce(jnp.array([1, 2, 3]), 0, lax.add, (0,))
    Array(6, dtype=int32)
    """
    at_home("reduce", out_sharding)
    leaves, tree = tree_flatten(operands)
    inits, init_tree = tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(f"reduce: operands have tree structure {tree}, but init_values have "
                         f"{init_tree}")
    if not leaves:
        raise ValueError("reduce: at least one operand is required")
    types = [kind_of("reduce", x)[0] for x in leaves]
    if any(t.shape != types[0].shape for t in types):
        raise ValueError("reduce: operands must have the same shape, got "
                         f"{', '.join(map(str, types))}")
    inits = [_initial(x, t.dtype) for x, t in zip(inits, types, strict=True)]
    axes = ints("reduce dimensions", dimensions)
    if any(not 0 <= a < types[0].ndim for a in axes) or len(set(axes)) != len(axes):
        raise ValueError(f"reduction axes {axes} do not fit {types[0]}.")
    body = _body("reduce", computation, tree, types)
    known = _simple(body, {ops.add: reduce_sum, ops.mul: reduce_prod, ops.max: reduce_max,
                           ops.min: reduce_min, ops.and_: reduce_and, ops.or_: reduce_or,
                           ops.xor: reduce_xor})
    if known is not None:
        reduced = known(leaves[0], axes)
        return tree_unflatten(tree, [_joined(body.ops[0].definition, reduced, inits[0])])
    given = [*[as_operand(x) for x in leaves], *inits]
    made = record(ops.reduce, given, [False] * len(types), body=body, axes=tuple(sorted(axes)))
    return tree_unflatten(tree, made)


def _initial(x: Any, dtype: DType) -> Any:
    """An initial value in a dtype; a number stays on the host, unseen by checks for infinities.

    In a dtype without infinities an infinite number becomes its greatest or least.
    """
    if type(x) in SCALARS or isinstance(x, np.floating):
        if dtype.is_float and not has_infinity(dtype) and np.isinf(x):
            x = min_of(max_of(float(x), least(dtype)), greatest(dtype))
        with np.errstate(all="ignore"):
            return np.asarray(x).astype(dtype.numpy)
    return convert_element_type(x, dtype.numpy)


def _body(name: str, computation: Callable[..., Any], tree: Any, types: Sequence[Any]) -> Any:
    """The computation on scalars as a closed Function. Raises: TypeError."""
    scalars = [(t.with_shape(()), False) for t in types]

    def call(lefts: Any, rights: Any) -> Any:
        return computation(lefts, rights)

    _, pair = tree_flatten([tree_unflatten(tree, range(len(types)))] * 2)
    flat = trace_body(call, pair, scalars * 2, name, None)
    body = with_constants(flat, 2 * len(types), name)
    if flat.out_tree != tree or body.return_types != tuple([t for t, _ in scalars]):
        raise TypeError(f"{name}: the computation must return values of the types that it takes, "
                        f"{[str(t) for t, _ in scalars]}, got "
                        f"{[str(t) for t in body.return_types]}")
    return body


def _simple(body: Any, table: dict[Any, Any]) -> Any:
    """The entry for a body that is one op of its two parameters, or None."""
    if len(body.ops) != 1 or len(body.params) != 2:
        return None
    op = body.ops[0]
    if set(op.operands) != set(body.params) or body.returns != op.results:
        return None
    return table.get(op.definition)


@eager(static=("definition",))
def _combined(definition: Any, x: Any, init: Any) -> Any:
    x, init = tracer("reduce", x), tracer("reduce", init)
    wide = emit(ops.broadcast_in_dim, init, shape=x.shape, dims=()) if x.shape else init
    return emit(definition, wide, x)


def _joined(definition: Any, reduced: Any, init: Any) -> Any:
    """A reduced value combined with the initial one, unless that is known to change nothing."""
    return reduced if _is_identity(definition, init) else _combined(definition, reduced, init)


def _is_identity(definition: Any, init: Any) -> bool:
    if type(init) is Tracer:
        return False
    value = np.asarray(init)
    dtype = from_numpy(value.dtype)
    neutral = {ops.add: 0, ops.mul: 1, ops.max: least(dtype), ops.min: greatest(dtype),
               ops.and_: greatest(dtype), ops.or_: 0, ops.xor: 0}[definition]
    if definition is ops.and_ and value.dtype.kind == "i":
        neutral = -1
    return value.shape == () and bool(value == neutral)


# --- windows --------------------------------------------------------------------------------

def reduce_window(operand: Any, init_value: Any, computation: Callable[[Any, Any], Any],
                  window_dimensions: Sequence[int], window_strides: Sequence[int] | None = None,
                  padding: str | Sequence[tuple[int, int]] = "VALID",
                  base_dilation: Sequence[int] | None = None,
                  window_dilation: Sequence[int] | None = None) -> Any:
    """A reduction over windows that move across the operand.

    Args:
      operand: an array, or a tree of arrays of the same shape.
      init_value: a scalar (or a tree of them), combined once with each window.
      computation: an associative function of two scalars (or trees of them).
      window_dimensions: the size of a window along each axis.
      window_strides: the distance between neighbouring windows along each axis; None for 1.
      padding: a pair (low, high) for each axis, or "VALID", "SAME", "SAME_LOWER"; padded elements
        take no part.
      base_dilation, window_dilation: the distance between neighbouring elements of the operand and
        of a window, along each axis; None for 1.
    Returns: an array (or tree of arrays) with one element for each window.
    Raises: TypeError where the numbers do not match the operand.

    >>> lax.reduce_window(jnp.array([1., 3., 2.]), 0., lax.add, (2,), (1,), 'VALID')
    Array([4., 5.], dtype=float32)
    """
    leaves, tree = tree_flatten(operand)
    inits, init_tree = tree_flatten(init_value)
    if tree != init_tree or not leaves:
        raise ValueError("reduce_window: operands and initial values must be trees of the same "
                         f"structure with at least one array, got {tree} and {init_tree}")
    types = [kind_of("reduce_window", x)[0] for x in leaves]
    inits = [_initial(x, t.dtype) for x, t in zip(inits, types, strict=True)]
    attrs = window_attrs("reduce_window", types[0].shape, window_dimensions, window_strides,
                         padding, base_dilation, window_dilation)
    body = _body("reduce_window", computation, tree, types)
    known = _simple(body, {ops.add: ops.reduce_window_sum, ops.mul: ops.reduce_window_prod,
                           ops.max: ops.reduce_window_max, ops.min: ops.reduce_window_min})
    if known is not None and types[0].dtype.is_numeric and not (
            types[0].dtype.is_complex and body.ops[0].definition in (ops.max, ops.min)):
        made = windowed(known, leaves[0], *attrs)
        return tree_unflatten(tree, [_joined(body.ops[0].definition, made, inits[0])])
    return tree_unflatten(tree, _folded_windows(leaves, inits, body, attrs))


def window_attrs(name: str, shape: tuple[int, ...], window: Any, strides: Any, padding: Any,
                 base: Any, inner: Any) -> tuple[Any, ...]:
    """(window, strides, padding, base dilation, window dilation) as ints. Raises: TypeError."""
    n = len(shape)
    window = ints(f"{name} window_dimensions", window)
    made = [window]
    for what, given in (("window_strides", strides), ("base_dilation", base),
                        ("window_dilation", inner)):
        made.append((1,) * n if given is None else ints(f"{name} {what}", given))
    for what, given in zip(("window_dimensions", "window_strides", "base_dilation",
                            "window_dilation"), made, strict=True):
        if len(given) != n:
            raise TypeError(f"{name}: {what} must have one entry for each axis of shape {shape}, "
                            f"got {given}")
        if any(i < 1 for i in given):
            raise TypeError(f"{name}: {what} must be positive, got {given}")
    if isinstance(padding, str):
        of_base = tuple(max_of(0, 1 + (d - 1) * b) for d, b in zip(shape, made[2], strict=True))
        of_window = tuple(1 + (d - 1) * w for d, w in zip(window, made[3], strict=True))
        padding = padtype_to_pads(of_base, of_window, made[1], padding)
    pairs = tuple([ints(f"{name} padding", p) for p in listed("padding", padding)])
    return made[0], made[1], pairs, made[2], made[3]


@eager(static=("definition", "window", "strides", "padding", "base", "inner"))
def windowed(definition: Any, x: Any, window: Any, strides: Any, padding: Any, base: Any,
             inner: Any) -> Any:
    """One of the window ops on an array."""
    return emit(definition, tracer("reduce_window", x), window=window, strides=strides,
                padding=padding, base_dilation=base, window_dilation=inner)


def _folded_windows(leaves: list[Any], inits: list[Any], body: Any, attrs: tuple) -> list[Any]:
    """Windows reduced by any computation: one place of a window at a time, in all windows."""
    from ..transforms.vmap import vmap  # vmap imports the arrays' methods, which import lax

    window, strides, padding, base, inner = attrs
    config = tuple([(low, high, by - 1) for (low, high), by in zip(padding, base, strict=True)])
    wide = [pad(x, init, config) for x, init in zip(leaves, inits, strict=True)]
    there = _inside(np.shape(leaves[0]), config)
    shape = tuple([(n - (w - 1) * by - 1) // s + 1 if n > (w - 1) * by else 0 for n, w, by, s
                   in zip(there.shape, window, inner, strides, strict=True)])
    total = [full(shape, init) for init in inits]
    if 0 in shape:
        return total

    def combine(*scalars: Any) -> Any:
        return bind(body, scalars, name="reduce_window")

    for _ in shape:
        combine = vmap(combine)
    for place in itertools.product(*map(range, window)):
        cuts = tuple([builtins.slice(i * apart, i * apart + (n - 1) * by + 1, by)
                      for i, n, by, apart in zip(place, shape, strides, inner, strict=True)])
        taken, held = there[cuts], [_place(x, place, shape, strides, inner) for x in wide]
        made = combine(*total, *held)
        total = made if taken.all() else [select(taken, y, x)
                                          for x, y in zip(total, made, strict=True)]
    return total


def _inside(shape: tuple[int, ...], config: Any) -> Any:
    """Which elements of a padded array are elements of the array."""
    there = np.ones(shape, bool)
    for axis, (low, high, interior) in enumerate(config):
        n = there.shape[axis]
        rest = list(there.shape)
        rest[axis] = max_of(n + (n - 1) * interior, 0)
        spread = np.zeros(rest, bool)
        np.moveaxis(spread, axis, 0)[::interior + 1] = np.moveaxis(there, axis, 0)
        around = [(0, 0)] * there.ndim
        around[axis] = (max_of(low, 0), max_of(high, 0))
        there = np.moveaxis(np.pad(spread, around), axis, 0)
        there = np.moveaxis(there[max_of(-low, 0):there.shape[0] - max_of(-high, 0)], 0, axis)
    return there


@eager(static=("place", "shape", "strides", "inner"))
def _place(x: Any, place: Any, shape: Any, strides: Any, inner: Any) -> Any:
    x = tracer("reduce_window", x)
    for axis, (i, n, by, apart) in enumerate(zip(place, shape, strides, inner, strict=True)):
        x = along(x, axis, i * apart, i * apart + (n - 1) * by + 1, by)
    return x


def reduce_window_shape_tuple(operand_shape: Sequence[int], window_dimensions: Sequence[int],
                              window_strides: Sequence[int],
                              padding: str | Sequence[tuple[int, int]],
                              base_dilation: Sequence[int] | None = None,
                              window_dilation: Sequence[int] | None = None) -> tuple[int, ...]:
    """The shape of `reduce_window`'s result.

    >>> lax.reduce_window_shape_tuple((8, 8), (2, 2), (2, 2), ((0, 0), (0, 0)))
    (4, 4)
    """
    shape = ints("operand_shape", operand_shape)
    window, strides, pairs, base, inner = window_attrs(
        "reduce_window", shape, window_dimensions, window_strides, padding, base_dilation,
        window_dilation)
    made = []
    for n, w, s, (low, high), by, apart in zip(shape, window, strides, pairs, base, inner,
                                               strict=True):
        room = (n - 1) * by + 1 + low + high - ((w - 1) * apart + 1)
        made.append(room // s + 1 if room >= 0 else 0)
    return tuple(made)


# --- places of extrema ----------------------------------------------------------------------

def _arg(name: str, definition: Any, doc: str, shows: str) -> Callable[..., Any]:
    def body(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
        x, a = tracer(name, operand), static_int(name, axis)
        if not 0 <= a < x.ndim:
            raise ValueError(f"{name}: axis {a} is out of bounds for {x.value.type}")
        if not x.shape[a]:
            raise ValueError(f"{name}: axis {a} of {x.value.type} has no elements")
        kind = dtype_of(name, index_dtype)
        if not kind.is_integer:
            raise TypeError(f"{name}: index_dtype must be an integer dtype, got {kind.numpy}")
        return emit(definition, x, axis=a, index_dtype=kind)

    body.__name__ = body.__qualname__ = name
    body.__doc__ = with_example(doc, f"lax.{name}", shows)
    return eager(static=("axis", "index_dtype"))(body)


argmax = _arg("argmax", ops.argmax, "Index of the greatest along an axis, the first of equals; a "
                                    "NaN counts as greatest.", "[1., 3., 2.], 0, int -> 1 int32")
argmin = _arg("argmin", ops.argmin, "Index of the smallest along an axis, the first of equals; a "
                                    "NaN counts as smallest.", "[2., 3., 1.], 0, int -> 2 int32")


# --- running reductions ---------------------------------------------------------------------

def _running(name: str, definition: Any, doc: str, shows: str) -> Callable[..., Any]:
    def body(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
        x, a = tracer(name, operand), static_int(name, axis)
        if a < 0:
            raise ValueError(f"{name}: axis must not be negative in lax, got {a}")
        if a >= x.ndim:
            raise ValueError(f"{name}: axis {a} is out of bounds for {x.value.type}")
        return emit(definition, x, axis=a, reverse=bool(reverse))

    body.__name__ = body.__qualname__ = name
    body.__doc__ = with_example(
        f"{doc} of all elements up to each one along an axis, from its end if `reverse`.",
        f"lax.{name}", shows)
    return eager(static=("axis", "reverse"))(body)


cumsum = _running("cumsum", ops.cumsum, "Sum", "[1, 2, 3] -> [1, 3, 6] int32")
cumprod = _running("cumprod", ops.cumprod, "Product", "[1, 2, 3] -> [1, 2, 6] int32")
cummax = _running("cummax", ops.cummax, "The greatest", "[1, 3, 2] -> [1, 3, 3] int32")
cummin = _running("cummin", ops.cummin, "The smallest", "[3, 1, 2] -> [3, 1, 1] int32")
cumlogsumexp = _running("cumlogsumexp", ops.cumlogsumexp, "log of the sum of exponentials",
                        "[0., 0., 0.] -> [0.   , 0.693, 1.099]")


# --- sorting --------------------------------------------------------------------------------

@overload
def sort(operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
        ) -> Array: ...
@overload
def sort(operand: Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True,
         num_keys: int = 1) -> tuple[Array, ...]: ...
@overload
def sort(operand: ArrayLike | Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True,
         num_keys: int = 1) -> Array | tuple[Array, ...]: ...
def sort(operand: ArrayLike | Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True,
         num_keys: int = 1) -> Array | tuple[Array, ...]:
    """An array in ascending order along an axis, or several in the order of the first.

    Args:
      operand: an array, or a sequence of arrays of the same shape.
      dimension: the axis to sort along; it may be negative.
      num_keys: how many of several arrays are compared, one after another.
    Returns: an array, or a tuple of them. NaN comes last; complex numbers are ordered by real part.

    >>> lax.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    if isinstance(operand, (list, tuple)):
        if not operand:
            raise TypeError("sort: at least one array is required")
        if not 1 <= num_keys <= len(operand):
            raise ValueError(f"sort: num_keys must be in [1, {len(operand)}], got {num_keys}")
        return tuple(_sort(list(operand), dimension, bool(is_stable), num_keys))
    if num_keys != 1:
        raise ValueError(f"sort: num_keys must be 1 for a single array, got {num_keys}")
    return _sort([operand], dimension, bool(is_stable), 1)[0]


@eager(static=("dimension", "is_stable", "num_keys"))
def _sort(xs: Any, dimension: int, is_stable: bool, num_keys: int) -> Any:
    xs = [tracer("sort", x) for x in xs]
    if any(x.shape != xs[0].shape for x in xs):
        raise TypeError(f"sort: arrays must have the same shape, got {[x.shape for x in xs]}")
    axis = axis_in("sort", dimension, xs[0].ndim)
    made = emit(ops.sort, *xs, dimension=axis, n_keys=num_keys, stable=is_stable)
    return [weakly(y, x.weak) for x, y in zip(xs, made, strict=True)]


def sort_key_val(keys: ArrayLike, values: ArrayLike, dimension: int = -1,
                 is_stable: bool = True) -> tuple[Array, Array]:
    """Keys in ascending order along an axis, and values in the order of their keys.

    >>> lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([10, 20, 30]))
    (Array([1, 2, 3], dtype=int32), Array([20, 30, 10], dtype=int32))
    """
    made = sort((keys, values), dimension, is_stable, 1)
    return made[0], made[1]


@eager(static=("k", "axis", "is_stable"))
def top_k(operand: ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Array]:
    """The k greatest along an axis, greatest first, and their indices (i32).

    Args:
      is_stable: whether equal elements keep their order. They keep it anyway: False is a
        permission that is not used.
    Raises: ValueError where the axis has fewer than k elements, or more than an i32 counts, and for
      complex arrays; TypeError where `is_stable` is no bool.

    >>> lax.top_k(jnp.array([1., 3., 2.]), 2)
    [Array([3., 2.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    x = tracer("top_k", operand)
    count, a = static_int("k", k), axis_in("top_k", axis, x.ndim)
    if not isinstance(is_stable, bool):
        raise TypeError(f"top_k: is_stable must be a bool, got {is_stable!r}")
    if count < 0:
        raise ValueError(f"top_k: k must not be negative, got {count}")
    if count > x.shape[a]:
        raise ValueError(f"top_k: k={count} is larger than the size of axis {a} of {x.value.type}")
    if x.value.type.dtype.is_complex:
        raise ValueError(f"top_k takes arrays that have an order, got {x.value.type}; take abs(x)")
    if x.shape[a] > np.iinfo(np.int32).max:
        raise ValueError(f"top_k: the indices are i32, and axis {a} of {x.value.type} has more "
                         "elements than these count; take top_k of its parts")
    values, indices = emit(ops.top_k, x, k=count, axis=a)
    return [weakly(values, x.weak), indices]


def approx_max_k(operand: ArrayLike, k: int, reduction_dimension: int = -1,
                 recall_target: float = 0.95, reduction_input_size_override: int = -1,
                 aggregate_to_topk: bool = True) -> list[Array]:
    """The k greatest along an axis and their indices; exact, whatever the recall target.

    Args:
      recall_target: a number in (0, 1], the share of the greatest that must be found.
      reduction_input_size_override: the size for which the recall is counted; all are found.
      aggregate_to_topk: True.
    Raises: ValueError for another recall; NotImplementedError for `aggregate_to_topk=False`.

    >>> lax.approx_max_k(jnp.array([1., 3., 2.]), 2)
    [Array([3., 2.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    only("approx_max_k", True, "the result always holds the k best elements",
         aggregate_to_topk=aggregate_to_topk)
    if not 0.0 < recall_target <= 1.0:
        raise ValueError(f"recall_target must be in (0, 1], got {recall_target}")
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(operand: ArrayLike, k: int, reduction_dimension: int = -1,
                 recall_target: float = 0.95, reduction_input_size_override: int = -1,
                 aggregate_to_topk: bool = True) -> list[Array]:
    """The k smallest along an axis and their indices; arguments and errors as in `approx_max_k`.

    >>> lax.approx_min_k(jnp.array([1., 3., 2.]), 2)
    [Array([1., 2.], dtype=float32), Array([0, 2], dtype=int32)]
    """
    values, places = approx_max_k(_negated(operand), k, reduction_dimension, recall_target,
                                  reduction_input_size_override, aggregate_to_topk)
    return [_negated(values), places]


@eager
def _negated(x: Any) -> Any:
    return emit(ops.neg, tracer("approx_min_k", x))


# --- precision ------------------------------------------------------------------------------

@eager(static=("exponent_bits", "mantissa_bits"))
def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Floats rounded to what a format of so many bits would hold, in their own dtype.

    Raises: TypeError where `operand` holds no floats; ValueError for less than one bit of exponent
      or a negative number of bits of mantissa.

    >>> lax.reduce_precision(jnp.array([0.1]), 8, 3)
    Array([0.102], dtype=float32)
    """
    x = floating("reduce_precision", operand)
    exponent_bits = static_int("exponent_bits", exponent_bits)
    mantissa_bits = static_int("mantissa_bits", mantissa_bits)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError("reduce_precision: exponent_bits must be at least 1 and mantissa_bits at "
                         f"least 0, got {exponent_bits} and {mantissa_bits}")
    return emit(ops.reduce_precision, x, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


__all__ = [
    "approx_max_k", "approx_min_k", "argmax", "argmin", "cumlogsumexp", "cummax", "cummin",
    "cumprod", "cumsum", "reduce", "reduce_and", "reduce_max", "reduce_min", "reduce_or",
    "reduce_precision", "reduce_prod", "reduce_sum", "reduce_window", "reduce_window_shape_tuple",
    "reduce_xor", "sort", "sort_key_val", "top_k",
]  # fmt: skip
