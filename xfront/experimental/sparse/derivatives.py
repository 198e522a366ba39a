"""Derivatives with respect to the elements of sparse arguments; coordinates are constant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import numpy as jnp
from ...base.trees import tree_flatten, tree_map, tree_unflatten
from ...composed import jacobians
from ...transforms import autodiff
from .coordinates import BCOO, JAXSparse
from .rows import BCSR


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _of_elements(transform: Callable[..., Any], fun: Callable[..., Any],
                 argnums: int | Sequence[int], args: tuple, kwargs: dict, has_aux: bool) -> Any:
    """The result of `transform(fun)` on the elements of sparse arguments, and the differentiated
    leaves in the form that users give them."""
    places = [argnums] if isinstance(argnums, int) else list(argnums)
    places = [i % len(args) if -len(args) <= i < len(args) else i for i in places]
    held = {i: tree_flatten(args[i], is_leaf=_is_sparse) for i in set(places) if i < len(args)}

    def call(*given: Any, **named: Any) -> Any:
        filled = list(given)
        for i, (leaves, tree) in held.items():
            elements = tree_flatten(given[i])[0]
            filled[i] = tree_unflatten(tree, [_with_data(x, d) for x, d in
                                              zip(leaves, elements, strict=True)])
        return fun(*filled, **named)

    elements = list(args)
    for i, (leaves, _) in held.items():
        elements[i] = [x.data if _is_sparse(x) else x for x in leaves]
    made = transform(call, argnums=argnums, has_aux=has_aux)(*elements, **kwargs)
    return made, held, places


def _with_data(x: Any, data: Any) -> Any:
    return x.with_data(data) if isinstance(x, JAXSparse) else data


def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0,
                   has_aux: bool = False, **kwargs: Any) -> Callable[..., tuple[Any, Any]]:
    """A function that returns value and gradient of `fun`; arguments as `xfront.value_and_grad`.

    The gradient with respect to a sparse argument is sparse and has its coordinates.

    >>> mat = sparse.BCOO.fromdense(jnp.array([0., 2., 3.]))
    >>> value, gradient = sparse.value_and_grad(lambda m: m @ jnp.array([1., 10., 100.]))(mat)
    >>> value, gradient.data
    (Array(320., dtype=float32), Array([ 10., 100.], dtype=float32))
    """
    def transform(call: Any, **options: Any) -> Any:
        return autodiff.value_and_grad(call, **options, **kwargs)

    def wrapped(*args: Any, **named: Any) -> tuple[Any, Any]:
        (value, grads), held, places = _of_elements(transform, fun, argnums, args, named, has_aux)
        grads = [grads] if isinstance(argnums, int) else list(grads)
        made = []
        for i, found in zip(places, grads, strict=True):
            leaves, tree = held[i]
            made.append(tree_unflatten(tree, [_with_data(x, g) for x, g in
                                              zip(leaves, found, strict=True)]))
        return value, (made[0] if isinstance(argnums, int) else tuple(made))

    return wrapped


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
         **kwargs: Any) -> Callable[..., Any]:
    """A function that returns the gradient of `fun`; arguments as `xfront.grad`.

    The gradient with respect to a sparse argument is sparse and has its coordinates.

    >>> mat = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> sparse.grad(lambda m: (m @ jnp.array([1., 10.])).sum())(mat).todense()
    Array([[ 0., 10.],
           [ 1.,  0.]], dtype=float32)
    """
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    def wrapped(*args: Any, **named: Any) -> Any:
        value, gradient = both(*args, **named)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def _jacobian(transform: Callable[..., Any], fun: Callable[..., Any],
              argnums: int | Sequence[int], has_aux: bool) -> Callable[..., Any]:
    def wrapped(*args: Any, **named: Any) -> Any:
        made, held, places = _of_elements(transform, fun, argnums, args, named, has_aux)
        jacobian, aux = made if has_aux else (made, None)

        def of_place(i: int, found: Any) -> Any:
            leaves, tree = held[i]
            return tree_unflatten(tree, [_sparse_jacobian(x, d) for x, d in
                                         zip(leaves, found, strict=True)])

        def of_output(found: Any) -> Any:
            if isinstance(argnums, int):
                return of_place(places[0], found)
            return tuple([of_place(i, f) for i, f in zip(places, found, strict=True)])

        counts = [len(held[i][0]) for i in places]

        def is_output(x: Any) -> bool:
            parts = [x] if isinstance(argnums, int) else x
            return (type(x) is (list if isinstance(argnums, int) else tuple)
                    and len(parts) == len(counts)
                    and all(type(p) is list and len(p) == n and not any(
                        isinstance(d, (list, tuple, dict)) for d in p)
                        for p, n in zip(parts, counts, strict=True)))

        result = tree_map(of_output, jacobian, is_leaf=is_output)
        return (result, aux) if has_aux else result

    return wrapped


def _sparse_jacobian(x: Any, found: Any) -> Any:
    """The Jacobian [*out, *data] for the elements of x, as a sparse array [*out, *shape]."""
    if not _is_sparse(x):
        return found
    out = found.shape[:found.ndim - x.data.ndim]

    def widened(array: Any) -> Any:
        return jnp.broadcast_to(array, (*out, *array.shape))

    if isinstance(x, BCSR):
        return BCSR((found, widened(x.indices), widened(x.indptr)), shape=(*out, *x.shape),
                    indices_sorted=x.indices_sorted, unique_indices=x.unique_indices)
    x = x._bcoo()                                # has the elements in their order
    return BCOO((found, widened(x.indices)), shape=(*out, *x.shape),
                indices_sorted=x.indices_sorted, unique_indices=x.unique_indices)


def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
           **kwargs: Any) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun`; arguments as `xfront.jacfwd`.

    The Jacobian with respect to a sparse argument is sparse: the axes of the result are batch axes
    in front of the argument's own.

    >>> mat = sparse.BCOO.fromdense(jnp.array([0., 2., 3.]))
    >>> sparse.jacfwd(lambda m: (m @ jnp.array([1., 10., 100.])) ** 2)(mat).todense()
    Array([    0.,  6400., 64000.], dtype=float32)
    """
    return _jacobian(lambda call, **o: jacobians.jacfwd(call, **o, **kwargs), fun, argnums, has_aux)


def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
           **kwargs: Any) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun`, as `jacfwd`; arguments as `xfront.jacrev`.

    >>> mat = sparse.BCOO.fromdense(jnp.array([0., 2., 3.]))
    >>> sparse.jacobian(lambda m: m @ jnp.array([1., 10., 100.]))(mat).todense()
    Array([  0.,  10., 100.], dtype=float32)
    """
    return _jacobian(lambda call, **o: jacobians.jacrev(call, **o, **kwargs), fun, argnums, has_aux)


jacobian = jacrev

__all__ = ["grad", "jacfwd", "jacobian", "jacrev", "value_and_grad"]
