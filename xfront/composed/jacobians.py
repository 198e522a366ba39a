"""Jacobians and Hessians: derivative maps applied to a basis, all columns or rows at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

import numpy as np
from xfront_ir.types import TensorType

from ..base.dtypes import float0
from ..base.trees import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_unflatten,
)
from ..binding.tracebacks import front_door_of
from ..tracing.trace import state
from ..tracing.tracer import Tracer
from ..transforms.autodiff import Argnums, jvp, resolve, vjp
from ..transforms.flat import fill, kind_of, name_of, positions
from ..transforms.vmap import vmap

if TYPE_CHECKING:
    from ..transforms.signatures import Hessian, Jacobian

P = ParamSpec("P")
R = TypeVar("R")


@overload
def jacfwd(fun: Callable[P, R], argnums: Literal[0] = 0, has_aux: Literal[False] = False,
           holomorphic: bool = False) -> Jacobian[P, R]: ...
@overload
def jacfwd(fun: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False,
           holomorphic: bool = False) -> Callable[P, Any]: ...
def jacfwd(fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
           holomorphic: bool = False) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun` by forward mode, one column per input element.

    Args:
      fun: any function of arrays and trees, or with `has_aux` one that returns a pair of a tree of
        arrays and any tree.
      argnums, has_aux, holomorphic: as for `grad`.
    Returns: a function of the same arguments. It returns a tree with, for each leaf of the result,
      a tree like the argument of arrays of shape `result.shape + argument.shape`; with `has_aux`,
      a pair of that and aux.
    Raises: TypeError at the call where an argument is not real and floating (not complex, with
      `holomorphic`).

    >>> xfront.jacfwd(lambda x: x ** 2)(jnp.array([1., 2.]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    one, places = _places("jacfwd", fun, argnums)

    @front_door_of(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        chosen = resolve(name_of(fun), places, args, ValueError)
        given = [args[i] for i in chosen]
        _check("jacfwd", given, holomorphic)

        def push(*dots: Any) -> Any:
            value, moved, *aux = jvp(lambda *xs: fun(*fill(args, chosen, xs), **kwargs), given,
                                     dots, has_aux)
            return tree_map(_as_number, moved, value), *aux

        made = vmap(push, out_axes=(-1, None) if has_aux else (-1,))(*_basis(given))
        tangents, example = made[0], given[0] if one else tuple(given)
        jacobian = tree_map(lambda j: _divided(j, example, -1), tangents)
        return (jacobian, made[1]) if has_aux else jacobian

    return wrapped


@overload
def jacrev(fun: Callable[P, R], argnums: Literal[0] = 0, has_aux: Literal[False] = False,
           holomorphic: bool = False, allow_int: bool = False) -> Jacobian[P, R]: ...
@overload
def jacrev(fun: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False,
           holomorphic: bool = False, allow_int: bool = False) -> Callable[P, Any]: ...
def jacrev(fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
           holomorphic: bool = False, allow_int: bool = False) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun` by reverse mode, one row per result element.

    Args:
      fun, argnums, has_aux, holomorphic: as for `jacfwd`.
      allow_int: whether integer arguments are accepted; their entries are zeros of their dtype.
    Returns: a function of the same arguments that returns the same as that of `jacfwd`.
    Raises: TypeError at the call where an argument is neither floating nor complex, or a result is
      not real and floating (with `holomorphic`, where either is not complex).

    >>> xfront.jacrev(lambda x: x ** 2)(jnp.array([1., 2.]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    one, places = _places("jacrev", fun, argnums)

    @front_door_of(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        chosen = resolve(name_of(fun), places, args, ValueError)
        given = [args[i] for i in chosen]
        if not allow_int:
            _check("jacrev", given, holomorphic, "is_inexact")
        made = vjp(lambda *xs: fun(*fill(args, chosen, xs), **kwargs), *given, has_aux=has_aux)
        value, pull = made[0], made[1]
        _check("jacrev", [value], holomorphic, what="outputs")

        def pull_numbers(cotangent: Any) -> Any:
            return tree_map(_as_number, pull(cotangent), tuple(given))

        rows = _rows(pull_numbers if allow_int else pull, _basis([value])[0])
        picked = rows[0] if one else rows
        jacobian = _transposed(value, picked)
        return (jacobian, made[2]) if has_aux else jacobian

    return wrapped


jacobian = jacrev


@overload
def hessian(fun: Callable[P, R], argnums: Literal[0] = 0, has_aux: Literal[False] = False,
            holomorphic: bool = False) -> Hessian[P, R]: ...
@overload
def hessian(fun: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False,
            holomorphic: bool = False) -> Callable[P, Any]: ...
def hessian(fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
            holomorphic: bool = False) -> Callable[..., Any]:
    """A function that returns the Hessian of `fun`, by forward over reverse mode.

    Args: as for `jacfwd`.
    Returns: the function `jacfwd(jacrev(fun))`; its arrays have the shape of the result followed by
      the shapes of both arguments.
    Raises: TypeError at the call, as `jacfwd` and `jacrev`.

    >>> xfront.hessian(lambda x: x[0] ** 2 * x[1])(jnp.array([1., 2.]))
    Array([[4., 2.],
           [2., 0.]], dtype=float32)
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def _places(name: str, fun: Any, argnums: Argnums) -> tuple[bool, tuple[int, ...]]:
    if not callable(fun):
        raise TypeError(f"{name}: expected a function, got {fun!r}")
    return positions(f"{name}: argnums", argnums)


def _check(name: str, given: Sequence[Any], holomorphic: bool, fine: str = "is_float",
           what: str = "inputs") -> None:
    for path, x in tree_flatten_with_path(list(given))[0]:
        t, _ = kind_of(name, x)
        if not (t.dtype.is_complex if holomorphic else getattr(t.dtype, fine)):
            wanted = "complex" if holomorphic else "real"
            where = f" at differentiated argument {path[0].idx}{keystr(path[1:])}" if (
                what == "inputs") else keystr(path[1:])
            instead = ("convert it with .astype(complex), or leave holomorphic out" if holomorphic
                       else "pass holomorphic=True for a holomorphic function, or use xfront.jvp "
                       "or xfront.vjp" if t.dtype.is_complex else
                       "convert it with .astype(float)" + (
                           ", or pass allow_int=True" if name == "jacrev" else ""))
            raise TypeError(f"{name} requires {wanted}-valued {what}, but got {t}{where}; "
                            f"{instead}")


def _basis(trees: Sequence[Any]) -> list[Any]:
    """The standard basis of all leaves together, with a leading batch axis: a row per element."""
    leaves, tree = tree_flatten(list(trees))
    if not leaves:
        raise ValueError("a Jacobian needs an array on both sides, but there is none in "
                         f"{list(trees)}")
    kinds = [kind_of("jacobian", x)[0] for x in leaves]
    total = sum(t.size for t in kinds)
    traced = state.current is not None or any(type(x) is Tracer for x in leaves)
    block = _computed_block if traced and total > 1 else _stored_block
    starts = itertools.accumulate([0, *[t.size for t in kinds[:-1]]])
    return tree_unflatten(tree, [block(total, k, t) for k, t in zip(starts, kinds, strict=True)])


def _stored_block(total: int, start: int, t: TensorType) -> np.ndarray:
    """The part of the basis that belongs to a leaf, as an array: nothing is compiled for it."""
    block = np.zeros((total, t.size), t.dtype.numpy)
    block[np.arange(start, start + t.size), np.arange(t.size)] = 1
    return block.reshape(total, *t.shape)


def _computed_block(total: int, start: int, t: TensorType) -> Any:
    """The array of `_stored_block`, computed by ops that the compiler fuses with their readers."""
    from ..numpy import eye, reshape  # the public API stands on the transformations

    return reshape(eye(total, t.size, -start, t.dtype.numpy), (total, *t.shape))


def _rows(pull: Callable[[Any], Any], basis: Any) -> Any:
    """`pull` of each row of the basis, stacked along axis 0; a single row needs no mapping."""
    if any(x.shape[0] != 1 for x in tree_leaves(basis)):
        return vmap(pull)(basis)
    row = pull(tree_map(lambda x: x.reshape(x.shape[1:]), basis))
    return tree_map(lambda x: x.reshape(1, *x.shape), row)


def _as_number(gradient: Any, x: Any) -> Any:
    """The tangent of `x`, or the gradient with respect to it; zeros of x's dtype for a float0."""
    if gradient.dtype != float0:
        return gradient
    t, _ = kind_of("jacrev", x)
    return np.zeros(t.shape, t.dtype.numpy)


def _divided(x: Any, like: Any, axis: int) -> Any:
    """A tree like `like`, whose elements lie side by side along `axis` of x: each leaf is its part
    of x, with the leaf's shape in place of that axis."""
    from ..numpy import moveaxis, reshape  # the public API stands on the transformations

    leaves, tree = tree_flatten(like)
    whole = moveaxis(x, axis, -1)
    parts, start = [], 0
    for leaf in leaves:
        t, _ = kind_of("jacobian", leaf)
        part = whole[..., start:start + t.size]
        parts.append(reshape(part, (*whole.shape[:-1], *t.shape)))
        start += t.size
    return tree_unflatten(tree, parts)


def _transposed(value: Any, rows: Any) -> Any:
    """A tree of value's structure, from `rows`, whose leaves have an axis 0 over the elements of
    `value`."""
    from ..numpy import reshape  # the public API stands on the transformations

    leaves, tree = tree_flatten(value)
    made, start = [], 0
    for leaf in leaves:
        t, _ = kind_of("jacobian", leaf)
        stop = start + t.size

        def block(r: Any, start: int = start, stop: int = stop, t: Any = t) -> Any:
            part = r[start:stop]
            return reshape(part, (*t.shape, *part.shape[1:]))

        made.append(tree_map(block, rows))
        start = stop
    return tree_unflatten(tree, made)


__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]
