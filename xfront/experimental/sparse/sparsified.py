"""`sparsify`: functions of dense arrays, applied to sparse ones.

The function is traced as if its arguments were dense, without making dense arrays. Then its
operations run one by one, each by the sparse function that does the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xfront_ir.core import Function, Op
from xfront_ir.passes.dead_code import dead_code
from xfront_ir.types import tensor

from ... import numpy as jnp
from ...base.trees import tree_flatten, tree_unflatten
from ...eager.operands import from_numpy
from ...tracing.trace import emit
from ...transforms.flat import as_operand, kind_of, name_of, trace_call
from ...values.arguments import only
from .arithmetic import added, bcoo_reduce_sum, multiplied
from .arithmetic import divided as _quotient
from .coordinates import BCOO, JAXSparse, bcoo_sum_duplicates, bcoo_todense
from .moving import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_transpose,
)
from .products import bcoo_dot_general


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """A function that computes the same as `f`, also for sparse arrays (BCOO, BCSR).

    A result is sparse where the operation keeps the zeros of its sparse operands.

    Args:
      f: a function of trees of arrays; it is traced with dense arrays.
      use_tracer: False only.
    Returns: a function of the same arguments. It raises NotImplementedError where the result of an
      operation on a sparse array would be dense, or where the operation has no sparse rule.
    Raises: NotImplementedError for `use_tracer`.

    >>> f = sparse.sparsify(lambda m, v: jnp.sin(m) @ v)
    >>> f(sparse.BCOO.fromdense(jnp.zeros((2, 2)).at[0, 1].set(1.0)), jnp.ones(2))
    Array([0.841, 0.   ], dtype=float32)
    """
    only("sparsify", False, "functions are always traced first", use_tracer=use_tracer)
    name = name_of(f)

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs), is_leaf=lambda x: isinstance(x, JAXSparse))
        leaves = [x._bcoo() if isinstance(x, JAXSparse) else x for x in leaves]
        kinds = [(tensor(x.shape, from_numpy(x.dtype)), False) if isinstance(x, BCOO)
                 else kind_of("sparsify", x) for x in leaves]

        def call(tracers: list[Any]) -> Any:
            given, named = tree_unflatten(tree, tracers)
            return f(*given, **named)

        flat = trace_call(call, kinds, name=name, kind="sparsify", staging=False)
        given = [x if isinstance(x, BCOO) else as_operand(x) for x in leaves]
        made = _run(dead_code(flat.function), [*given, *flat.captures])
        return tree_unflatten(flat.out_tree, [_materialized(x) for x in made])

    return wrapped


class _Wide:
    """A dense array that repeats a smaller one, and is made only when an operation needs it."""

    __slots__ = ("make", "small")

    def __init__(self, small: Any, make: Callable[[], Any]) -> None:
        self.small, self.make = small, make


def _materialized(x: Any) -> Any:
    return x.make() if isinstance(x, _Wide) else x


def _run(function: Function, operands: Sequence[Any]) -> list[Any]:
    values: dict[Any, Any] = dict(zip(function.params, operands, strict=True))
    for op in function.ops:
        given = [values[v] for v in op.operands]
        if any(isinstance(x, BCOO) for x in given):
            made = _sparse(op, given)
        else:
            made = _dense(op, given)
        for v, x in zip(op.results, made, strict=True):
            values[v] = x
    return [values[v] for v in function.returns]


def _dense(op: Op, given: list[Any]) -> Sequence[Any]:
    def make() -> Any:
        return emit(op.definition, *map(_materialized, given), **op.attrs)

    name = op.definition.name
    if name == "literal" and op.attrs["value"].array.ndim == 0:
        return [_Wide(jnp.asarray(op.attrs["value"].array), make)]
    if name == "broadcast_in_dim":
        (x,), dims = given, op.attrs["dims"]
        x = x.small if isinstance(x, _Wide) and np.ndim(x.small) == 0 else _materialized(x)
        sizes = dict(zip(dims, np.shape(x), strict=False))
        small = x if np.ndim(x) == 0 else jnp.reshape(
            x, [sizes.get(a, 1) for a in range(len(op.attrs["shape"]))])
        return [_Wide(small, make)]
    result = make()
    return [result] if op.definition.single else result


def _sparse(op: Op, given: list[Any]) -> Sequence[Any]:
    name, attrs = op.definition.name, op.attrs
    if name in _INLINED:
        return _run(attrs["body"], given)
    if name in _LINEAR or name in _RAYS or (name == "integer_pow" and attrs["exponent"] > 0):
        (mat,) = given
        if name not in _LINEAR and not mat.unique_indices:
            mat = bcoo_sum_duplicates(mat, nse=mat.nse)
        return [mat.with_data(emit(op.definition, mat.data, **attrs))]
    rule = _RULES.get(name)
    if rule is None:
        raise NotImplementedError(
            f"sparse rule for {name} is not implemented, or its result would be dense; call "
            "sparse.todense() on its operands if that is intended")
    return [rule(attrs, *given)]


_INLINED = frozenset(("call", "custom_jvp", "custom_vjp", "checkpoint"))
_LINEAR = frozenset(("neg", "convert", "real", "imag", "conj", "stop_gradient"))
_RAYS = frozenset((
    "abs", "sign", "square", "sqrt", "cbrt", "sin", "tan", "tanh", "asin", "atan", "sinh", "asinh",
    "atanh", "expm1", "log1p", "floor", "ceil", "round"))
"""Elementwise functions that are zero at zero."""

Attrs = Mapping[str, Any]


def _small(x: Any) -> Any:
    return x.small if isinstance(x, _Wide) else x


def _add(_: Attrs, x: Any, y: Any) -> Any:
    sparse, other = (x, y) if isinstance(x, BCOO) else (y, x)
    return added(sparse, other if isinstance(other, BCOO) else _materialized(other))


def _sub(attrs: Attrs, x: Any, y: Any) -> Any:
    return _add(attrs, x, -_materialized(y))


def _mul(_: Attrs, x: Any, y: Any) -> Any:
    return multiplied(x, _small(y)) if isinstance(x, BCOO) else multiplied(y, _small(x))


def _div(_: Attrs, x: Any, y: Any) -> Any:
    if not isinstance(x, BCOO):
        raise NotImplementedError("a quotient by a sparse array would be dense; call "
                                  "sparse.todense() on it if that is intended")
    return _quotient(x, _small(y))


def _dot(attrs: Attrs, x: Any, y: Any) -> Any:
    kind = attrs.get("preferred")
    return bcoo_dot_general(_materialized(x), _materialized(y),
                            dimension_numbers=(attrs["contract"], attrs["batch"]),
                            precision=attrs.get("precision"),
                            preferred_element_type=None if kind is None else kind.numpy)


def _total(attrs: Attrs, x: BCOO) -> Any:
    made = bcoo_reduce_sum(x, axes=attrs["axes"])
    return made if made.ndim else bcoo_todense(made)


def _concatenate(attrs: Attrs, *given: Any) -> Any:
    if not all(isinstance(x, BCOO) for x in given):
        raise NotImplementedError("sparse and dense arrays cannot be concatenated; use "
                                  "BCOO.fromdense(x, nse=...) or todense() to make them alike")
    return bcoo_concatenate(given, dimension=attrs["dimension"])


def _dynamic(attrs: Attrs, x: Any, *starts: Any) -> Any:
    if not isinstance(x, BCOO):
        raise NotImplementedError("sparse arrays cannot be start indices of dynamic_slice")
    return bcoo_dynamic_slice(x, [_materialized(s) for s in starts], attrs["sizes"])


_RULES: dict[str, Callable[..., Any]] = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "dot_general": _dot, "reduce_sum": _total,
    "concatenate": _concatenate, "dynamic_slice": _dynamic,
    "transpose": lambda a, x: bcoo_transpose(x, permutation=a["permutation"]),
    "reshape": lambda a, x: bcoo_reshape(x, new_sizes=a["shape"]),
    "reverse": lambda a, x: bcoo_rev(x, a["axes"]),
    "broadcast_in_dim": lambda a, x: bcoo_broadcast_in_dim(
        x, shape=a["shape"], broadcast_dimensions=a["dims"]),
    "slice": lambda a, x: bcoo_slice(x, start_indices=a["starts"], limit_indices=a["limits"],
                                     strides=a["strides"]),
}

__all__ = ["sparsify"]
