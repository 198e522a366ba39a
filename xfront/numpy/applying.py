"""Functions of functions: vectorize, apply_along_axis, apply_over_axes, piecewise."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ..binding.annotations import Array, ArrayLike
from ..binding.tracebacks import front_door_of
from ..eager.operands import array_like, check_ranks, is_array_like, normalize_axis
from ..transforms.vmap import vmap
from .creation import asarray
from .manipulation import broadcast_shapes, broadcast_to, expand_dims, reshape
from .ufuncs import where

# --- vectorize ----------------------------------------------------------------------------

_DIMENSIONS = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(f"^{_DIMENSIONS}(?:,{_DIMENSIONS})*->{_DIMENSIONS}(?:,{_DIMENSIONS})*$")

Core = tuple[str, ...]


def _parse(signature: str) -> tuple[list[Core], list[Core]]:
    """Core dimensions of the arguments and results of `(n,m),(m)->(n)`."""
    text = "".join(signature.split())
    if not _SIGNATURE.match(text):
        raise ValueError(f"vectorize: not a valid gufunc signature: {signature}")

    def side(part: str) -> list[Core]:
        return [tuple([d for d in term.strip("()").split(",") if d])
                for term in re.findall(_DIMENSIONS, part)]

    left, right = text.split("->")
    return side(left), side(right)


def vectorize(pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = (),
              signature: str | None = None) -> Callable[..., Any]:
    """A function that applies `pyfunc` to the elements of arrays, broadcast together.

    Args:
      pyfunc: a function of scalars, or of arrays with the core dimensions of `signature`.
      excluded: positions and names of arguments that are passed as they are.
      signature: core dimensions of arguments and results, such as `(n,m),(m)->(n)`; None for
        scalars.
    Raises: ValueError for signatures that cannot be read and, at the call, sizes that do not fit;
      TypeError where the number of arguments differs from that of the signature.
    Source: `numpy.vectorize`.

    >>> jnp.vectorize(jnp.dot, signature='(n),(n)->()')(jnp.ones((2, 3)), jnp.ones(3))
    Array([3., 3.], dtype=float32)
    """
    if any(not isinstance(e, (int, str)) for e in excluded):
        raise TypeError("jax.numpy.vectorize can only exclude integer or string arguments, but "
                        f"excluded={set(excluded)!r}")
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"vectorize: excluded={set(excluded)!r} contains negative numbers")
    cores = None if signature is None else _parse(signature)

    @front_door_of(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        by_name = {k: v for k, v in kwargs.items() if k not in excluded}
        fixed = {k: v for k, v in kwargs.items() if k in excluded}
        names = list(by_name)
        mapped = [i for i in range(len(args)) if i not in excluded]
        given = [args[i] for i in mapped] + list(by_name.values())
        where_ = f"on vectorized function with signature={signature!r}"

        def call(*arrays: Any) -> Any:
            full = list(args)
            for i, x in zip(mapped, arrays, strict=False):
                full[i] = x
            return pyfunc(*full, **fixed, **dict(zip(names, arrays[len(mapped):], strict=True)))

        if not all(is_array_like(x) for x in given):
            given = [asarray(x) for x in given]
        arrays = [asarray(x) for x in given]
        inner = [()] * len(arrays) if cores is None else cores[0]
        if len(inner) != len(arrays):
            raise TypeError(f"wrong number of positional arguments: expected {len(inner)}, got "
                            f"{len(arrays)} {where_}")
        sizes: dict[str, int] = {}
        for x, core in zip(arrays, inner, strict=True):
            _check(x.shape, core, sizes, "input", where_)
        check_ranks("vectorized", *[x.shape for x in arrays], cores=[len(core) for core in inner])
        checked = call if cores is None else _checked(call, cores[1], sizes, where_)
        return _mapped(checked, arrays, [len(core) for core in inner])

    return vectorized


def _check(shape: tuple[int, ...], core: Core, sizes: dict[str, int], what: str, where_: str
           ) -> None:
    """Compare the last axes with the sizes of core dimensions, which become known."""
    if len(shape) < len(core):
        raise ValueError(f"{what} with shape {shape} does not have enough dimensions for all core "
                         f"dimensions {core} {where_}")
    for name, n in zip(core, shape[len(shape) - len(core):], strict=True):
        known = int(name) if name.isdigit() else sizes.setdefault(name, n)
        if known != n:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {known} "
                             f"{where_}")


def _checked(call: Callable[..., Any], cores: Sequence[Core], sizes: dict[str, int], where_: str
             ) -> Callable[..., Any]:
    def checked(*arrays: Any) -> Any:
        made = call(*arrays)
        results = made if isinstance(made, tuple) else (made,)
        if len(results) != len(cores) or isinstance(made, tuple) != (len(cores) > 1):
            raise TypeError(f"wrong number of results: expected {len(cores)}, got "
                            f"{len(results)} {where_}")
        known = dict(sizes)
        for x, core in zip(results, cores, strict=True):
            shape = asarray(x).shape
            if len(shape) != len(core):
                raise ValueError(f"output shape {shape} does not match core dimensions {core} "
                                 f"{where_}")
            _check(shape, core, known, "output", where_)
        return made

    return checked


def _mapped(call: Callable[..., Any], arrays: Sequence[Any], n_core: Sequence[int]) -> Any:
    """`call` on the core axes, mapped over the leading axes, which broadcast."""
    leads = [x.shape[:x.ndim - n] for x, n in zip(arrays, n_core, strict=True)]
    outer = broadcast_shapes(*leads)
    ndim = len(outer)
    has = [[False] * (ndim - len(lead)) + [n != 1 for n in lead] for lead in leads]
    squeezed = [reshape(x, tuple([n for n in lead if n != 1]) + x.shape[len(lead):])
                for x, lead in zip(arrays, leads, strict=True)]
    mapped = [any(h[axis] for h in has) for axis in range(ndim)]
    for axis in reversed(range(ndim)):
        if mapped[axis]:
            call = vmap(call, in_axes=tuple([0 if h[axis] else None for h in has]))
    made = call(*squeezed)
    missing = tuple([axis for axis in range(ndim) if not mapped[axis]])
    if not missing:
        return made
    if isinstance(made, tuple):
        return tuple([_with_axes(x, mapped, missing, outer) for x in made])
    return _with_axes(made, mapped, missing, outer)


def _with_axes(x: Any, mapped: Sequence[bool], missing: tuple[int, ...], outer: tuple[int, ...]
               ) -> Any:
    """`x` with the leading axes added along which no argument varies."""
    x = asarray(x)
    core = x.shape[sum(mapped):]
    return broadcast_to(expand_dims(x, missing), (*outer, *core))


def of_scalars(func: Callable[..., Any], nargs: int, name: str) -> Callable[..., Any]:
    """A function that applies `func`, a function of `nargs` scalars, to the elements of arrays."""
    vectorized = vectorize(func)

    def call(*args: Any) -> Any:
        if len(args) != nargs:
            raise TypeError(f"{name} takes {nargs} arguments, got {len(args)}")
        return vectorized(*args)

    return call


# --- along axes ---------------------------------------------------------------------------

def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any,
                     **kwargs: Any) -> Array:
    """`arr` with each vector along an axis replaced by `func1d(vector, *args, **kwargs)`.

    Raises: ValueError for axes out of range.
    Source: `numpy.apply_along_axis`.

    >>> jnp.apply_along_axis(jnp.sum, 1, jnp.array([[1, 2], [3, 4]]))
    Array([3, 7], dtype=int32)
    """
    arr = asarray(array_like("apply_along_axis", arr))
    at = normalize_axis("apply_along_axis", axis, arr.ndim)

    def call(vector: Any) -> Any:
        return func1d(vector, *args, **kwargs)

    for i in range(1, arr.ndim - at):
        call = vmap(call, in_axes=i, out_axes=-1)
    for _ in range(at):
        call = vmap(call, in_axes=0, out_axes=0)
    return call(arr)


def apply_over_axes(func: Callable[[Any, int], Any], a: ArrayLike,
                    axes: int | Sequence[int]) -> Array:
    """`func` applied along each axis in turn; axes that it removes are kept with size 1.

    Raises: ValueError where a result has another number of axes.
    Source: `numpy.apply_over_axes`.

    >>> jnp.apply_over_axes(jnp.sum, jnp.array([[1, 2], [3, 4]]), [0])
    Array([[4, 6]], dtype=int32)
    """
    x = array_like("apply_over_axes", a)
    for axis in (axes,) if isinstance(axes, (int, np.integer)) else axes:
        made = func(x, axis)
        if made.ndim == x.ndim - 1:
            made = expand_dims(made, normalize_axis("apply_over_axes", axis, x.ndim))
        elif made.ndim != x.ndim:
            raise ValueError("apply_over_axes: function is not returning an array of the correct "
                             f"shape: it must have {x.ndim} or {x.ndim - 1} axes, got shape "
                             f"{made.shape}")
        x = made
    return x


# --- piecewise ----------------------------------------------------------------------------

def piecewise(x: ArrayLike, condlist: Array | Sequence[ArrayLike], funclist: Sequence[Any],
              *args: Any, **kw: Any) -> Array:
    """For each element, the result of the function whose condition is true there; of the last one
    where several are.

    Args:
      condlist: a sequence of bool arrays that broadcast with `x`.
      funclist: a function or number for each condition, and one more for where none is true (0
        without one). Each function takes all of `x`, `args` and `kw`.
    Returns: array in x's shape and dtype.
    Raises: ValueError where there are not as many functions.
    Source: `numpy.piecewise`.

    >>> jnp.piecewise(jnp.array([-1., 2.]), [jnp.array([True, False])], [lambda v: -v, 0.])
    Array([1., 0.], dtype=float32)
    """
    x = asarray(array_like("piecewise", x))
    conditions = list(condlist) if isinstance(condlist, (tuple, list)) or (
        getattr(condlist, "ndim", 0)) else [condlist]
    n, given = len(conditions), list(funclist)
    if len(given) == n:
        given.append(0)
    elif len(given) != n + 1:
        raise ValueError(f"piecewise: with {n} condition(s), either {n} or {n + 1} functions are "
                         f"expected; got {len(given)}")

    def value(function: Any) -> Any:
        made = function(x, *args, **kw) if callable(function) else function
        return broadcast_to(asarray(made).astype(x.dtype), x.shape)

    made = value(given[-1])
    for condition, function in zip(conditions, given[:-1], strict=True):
        made = where(asarray(condition), value(function), made)
    return made


__all__ = ["apply_along_axis", "apply_over_axes", "piecewise", "vectorize"]
