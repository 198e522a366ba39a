"""Random order and choices: permutation, choice, categorical."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops
from xfront_ir.dtypes import DType

from ..base.dimension_numbers import ModeLike
from ..binding.annotations import Array, ArrayLike, ShapeLike, ShardingLike
from ..binding.tracebacks import front_door
from ..eager.dispatch import eager, takes_out_sharding
from ..eager.operands import (
    are_sizes,
    broadcast_to,
    convert,
    default_int,
    index_of,
    normalize_axis,
    operand,
    promote_inexact,
    shape_of,
)
from ..numpy.transcendental import log
from ..tracing.trace import emit
from ..tracing.tracer import Tracer, as_tracer
from ..values.arguments import at_home
from .bits import randint, uniform_in
from .distributions import check_mode, gumbel_noise
from .generators import draw
from .keys import typed_key
from .parameters import new_keys, size_of

# --- order ----------------------------------------------------------------------------------------

def shuffled(key: Tracer, x: Tracer, axis: int) -> Tracer:
    """`x` with the elements along one axis in random order, which differs from slice to slice.

    Each round sorts by 32 random bits; bits that are equal in one round are unlikely to be in all.
    """
    rounds = max(1, math.ceil(3 * math.log(max(1, x.size)) / math.log(2 ** 32 - 1)))
    for _ in range(rounds):
        key, sub = new_keys(key)
        _, x = emit(ops.sort, draw(sub, 32, x.shape), x, dimension=axis, n_keys=1, stable=True)
    return x


@eager(static=("axis", "independent"))
def _permuted(key: Any, x: Any, axis: int, independent: bool) -> Any:
    from ..numpy import take  # late: loaded on first use

    one = typed_key("permutation", key)
    given = operand("permutation", x)
    if not given.ndim:
        if not given.value.type.dtype.is_integer:
            raise TypeError("permutation: x must be an integer or at least 1-dimensional, got "
                            f"{given.value.type}")
        index_of(given, "permutation: the number of elements")
    axis = normalize_axis("permutation", axis, given.ndim)
    if not given.size:
        return given
    moves = given.value.type.dtype.is_key                # a sort takes no keys
    if not moves and (independent or given.ndim == 1):
        return shuffled(one, given, axis)
    if independent and given.ndim > 1:
        raise NotImplementedError("permutation: independent=True is not supported for key arrays "
                                  "of several axes; permute each row under vmap")
    return take(given, _order(one, given.shape[axis], dtypes.i32), axis=axis)


def _order(key: Tracer, n: int, dtype: DType) -> Tracer:
    return shuffled(key, emit(ops.iota, dtype=dtype, shape=(n,), dimension=0), 0)


@eager(static=("n",))
def _permuted_range(key: Any, n: int) -> Any:
    return _order(typed_key("permutation", key), n, default_int())


@front_door
@takes_out_sharding("permutation")
def permutation(key: ArrayLike, x: ArrayLike, axis: int = 0, independent: bool = False, *,
                out_sharding: ShardingLike = None) -> Array:
    """`x` with its slices along `axis` in random order; for an integer n, 0 … n-1 in random order.

    Args:
      key: a random key.
      x: an array, or an int or an array without axes that holds one; a negative one gives an
        empty result.
      axis: the axis of `x` along which slices are permuted.
      independent: whether each vector along the axis is permuted differently.
    Raises: TypeError for a float; AxisError, a ValueError, for an axis out of range.

    >>> random.permutation(random.key(0), 4).shape
    (4,)
    """
    at_home("permutation", out_sharding)
    n = _known_int(x)
    if n is not None:
        normalize_axis("permutation", axis, 1)
        return _permuted_range(key, max(0, n))
    return _permuted(key, x, axis, independent)


def _known_int(x: Any) -> int | None:
    """`x` as an int, if it is an integer or a known array of one without axes; None for anything
    else, traced integers included."""
    if isinstance(x, int):
        return None if isinstance(x, bool) else x
    if isinstance(x, Tracer) or getattr(x, "shape", None) != () or x.dtype.kind not in "iu":
        return None
    return int(x)


# --- choice ---------------------------------------------------------------------------------------

@eager(static=("n", "shape", "replace", "axis", "mode"))
def _chosen(key: Any, a: Any, p: Any, n: Any, shape: tuple[int, ...], replace: bool, axis: int,
            mode: Any) -> Any:
    from ..numpy import take

    one, n_draws = typed_key("choice", key), math.prod(shape)
    check_mode("choice", mode)
    whole = None
    if n is None:
        whole = operand("choice", a)
        if not whole.ndim:
            n, whole = index_of(whole, "choice: the number of elements"), None
        else:
            axis = normalize_axis("choice", axis, whole.ndim)
            n = whole.shape[axis]
    assert n is not None
    if n < 1 and n_draws:
        raise ValueError(f"choice: a must be greater than 0 unless no samples are taken, got {n}")
    if not replace and n_draws > n:
        raise ValueError(f"choice: Cannot take a larger sample (size {n_draws}) than population "
                         f"(size {n}) when 'replace=False'")
    if not n_draws:
        places = emit(ops.iota, dtype=default_int(), shape=(0,), dimension=0)
    elif p is None:
        if not replace and whole is not None and not whole.value.type.dtype.is_key:
            moved = permutation(one, whole, axis)    # saves a gather where x is a vector
            drawn = moved[(slice(None),) * axis + (slice(n_draws),)]
            return _reshaped(as_tracer(drawn), axis, shape)
        places = randint(one, (n_draws,), 0, n) if replace else _order(
            one, n, default_int())[:n_draws]
    else:
        places = _weighed(one, p, n, n_draws, replace, mode)
    if whole is None:
        return convert(emit(ops.reshape, places, shape=shape), default_int())
    if not whole.shape[axis]:
        return _reshaped(whole, axis, shape)
    return _reshaped(as_tracer(take(whole, places, axis=axis)), axis, shape)


def _reshaped(x: Tracer, axis: int, shape: tuple[int, ...]) -> Tracer:
    whole = (*x.shape[:axis], *shape, *x.shape[axis + 1:])
    return emit(ops.reshape, x, shape=whole)


def _weighed(key: Tracer, p: Any, n: int, n_draws: int, replace: bool, mode: Any) -> Tracer:
    """Numbers below n with probabilities p: by inverting their sums, or by adding Gumbel noise."""
    from ..numpy import cumsum, searchsorted

    weights = promote_inexact("choice", p)[0]
    if weights.shape != (n,):
        raise ValueError("choice: p must be None or a 1D vector with the same size as "
                         f"a.shape[axis]. p has shape {weights.shape} and a.shape[axis] is {n}.")
    made = weights.value.type.dtype
    if replace:
        sums = cumsum(weights)
        drawn = uniform_in(key, (n_draws,), made, 0, 1)
        return as_tracer(searchsorted(sums, sums[-1] * (1 - drawn)))
    noise = gumbel_noise("choice", key, (n,), made, mode)
    return _largest(noise + log(weights), n_draws)


def _largest(x: Any, n: int) -> Tracer:
    """Indices of the n largest elements of each vector along the last axis, the largest first."""
    from ..lax import top_k

    return as_tracer(top_k(x, n)[1])


@front_door
def choice(key: ArrayLike, a: ArrayLike, shape: ShapeLike = (), replace: bool = True,
           p: ArrayLike | None = None, axis: int = 0, mode: ModeLike = None
           ) -> Array:
    """Elements of an array, drawn at random.

    Args:
      key: a random key.
      a: an array, of which slices along `axis` are drawn; an integer n means 0 … n-1.
      shape: a tuple, the shape of the draws; it replaces the axis in the result.
      replace: whether an element may be drawn twice.
      p: floats of shape (n,), probabilities or weights, which need not add up to 1; without
        replacement zeros are drawn last. None for equal ones.
      mode: mode of `gumbel`, used where weighted elements are drawn without replacement.
    Raises: TypeError where the shape is not a sequence; ValueError where p has another shape, and
      where there are no elements to draw from, or too few.
    Source: with `p`, the inverse of the cumulative weights; without replacement, Gumbel-max.

    >>> random.choice(random.key(0), jnp.array([7, 7, 7]), (2,))
    Array([7, 7], dtype=int32)
    """
    if not are_sizes(shape):
        raise TypeError("shape argument of random.choice must be a sequence, got "
                        f"{shape!r}; write ({shape!r},)")
    n = int(a) if isinstance(a, (bool, float, np.generic)) else _known_int(a)
    if n is not None:
        return _chosen(key, None, p, n, shape_of(shape), replace, axis, mode)
    return _chosen(key, a, p, None, shape_of(shape), replace, axis, mode)


@eager(static=("axis", "shape", "replace", "mode", "out_sharding"))
def categorical(key: ArrayLike, logits: ArrayLike, axis: int = -1, shape: ShapeLike | None = None,
                replace: bool = True, mode: ModeLike = None, *,
                out_sharding: ShardingLike = None) -> Array:
    """Integers drawn with the probabilities softmax(logits) along `axis`.

    Args:
      key: a random key.
      logits: floats of any shape with at least one axis.
      axis: the axis of the categories.
      shape: shape of the result; it ends with the shape of the logits without `axis` (its default).
      replace: whether draws along the leading axes of `shape` may repeat a category.
      mode: mode of `gumbel`; None as there.
    Raises: ValueError where the logits are not floats, shape does not end so, or more are drawn
      without replacement than there are; AxisError, an IndexError, for a wrong axis.
    Source: the Gumbel-max trick; without replacement, the largest ones (Kool et al., ICML 2019).

    >>> random.categorical(random.key(0), jnp.array([[0., -jnp.inf], [-jnp.inf, 0.]]))
    Array([0, 1], dtype=int32)
    """
    at_home("categorical", out_sharding)
    x = operand("categorical", logits)
    made = x.value.type.dtype
    if not made.is_float:
        raise ValueError(f"categorical: logits must be floats, got {made.name}")
    place = normalize_axis("categorical", axis, x.ndim)
    n, batch = x.shape[place], x.shape[:place] + x.shape[place + 1:]
    size = size_of("categorical", shape, batch)
    front, own = size[:len(size) - len(batch)], size[len(size) - len(batch):]
    categories = (*own[:place], n, *own[place:])
    if not n and math.prod(size):
        raise ValueError("categorical: logits must have at least one category, got none along the "
                         "axis")
    one = typed_key("categorical", key)
    if replace:
        whole = (*front, *categories)
        total = gumbel_noise("categorical", one, whole, made, mode) + broadcast_to(x, whole)
        return emit(ops.argmax, total, axis=place + len(front), index_dtype=default_int())
    n_draws = math.prod(front)
    if n_draws > n:
        raise ValueError(f"categorical: Number of samples without replacement ({n_draws}) cannot "
                         f"exceed number of categories ({n}).")
    from ..numpy import moveaxis

    total = gumbel_noise("categorical", one, categories, made, mode) + x
    drawn = _largest(as_tracer(moveaxis(total, place, -1)), n_draws)
    return convert(emit(ops.reshape, moveaxis(drawn, -1, 0), shape=size), default_int())
