"""linear_call: a linear function with its own transpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xfront_ir import ops

from ..base.trees import tree_flatten, tree_unflatten
from ..binding.annotations import ArrayLike
from ..transforms.flat import as_operand, kind_of, name_of, trace_call, typed
from .control_flow import join_captures, record_groups


def linear_call(fun: Callable[[Any, Any], Any], fun_transpose: Callable[[Any, Any], Any],
                residual_args: ArrayLike, linear_args: ArrayLike) -> Any:
    """`fun(residual_args, linear_args)`, transposed by `fun_transpose`.

    Args:
      fun: a function that must be linear in its second argument; with respect to the first it is
        differentiated as usual.
      fun_transpose: `fun_transpose(residual_args, cotangent)` returns the cotangent of
        `linear_args` for a cotangent of the result.
      residual_args, linear_args: trees of arrays; those of `linear_args` and of the result must be
        float or complex.
    Raises: TypeError where dtypes do not match, or the result of `fun_transpose` does not match
      `linear_args`.

    >>> share = lambda r, x: x / r
    >>> f = lambda r, x: custom_derivatives.linear_call(share, share, r, x)
    >>> xfront.grad(f, 1)(4.0, 1.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    name = name_of(fun)
    residuals, residual_tree = tree_flatten(residual_args)
    linear, linear_tree = tree_flatten(linear_args)
    of_residuals = [kind_of(name, x) for x in residuals]
    of_linear = [kind_of(name, x) for x in linear]
    n, k = len(linear), len(residuals)
    forward = trace_call(lambda ts: fun(tree_unflatten(residual_tree, ts[n:]),
                                        tree_unflatten(linear_tree, ts[:n])),
                         [*of_linear, *of_residuals], name=name, kind="linear_call", staging=True)
    out = forward.function.return_types
    for what, types in (("argument", [t for t, _ in of_linear]), ("result", out)):
        for t in types:
            if not t.is_inexact:
                raise TypeError(f"linear_call of {name}: a linear {what} has type {t}, but only "
                                "float and complex values can be linear")
    weak = forward.function.weak_returns

    def pulled(tracers: list) -> Any:
        made = fun_transpose(tree_unflatten(residual_tree, tracers[len(out):]),
                             tree_unflatten(forward.out_tree, tracers[:len(out)]))
        leaves, tree = tree_flatten(made)
        if tree != linear_tree:
            raise TypeError(f"transpose output pytree structure must match that of linear inputs, "
                            f"got output structure {tree} and input structure {linear_tree}.")
        for x, (t, _) in zip(leaves, of_linear, strict=True):
            if kind_of(name, x)[0].shape != t.shape:
                raise TypeError(f"linear_call: the transpose of {name} gives a cotangent of type "
                                f"{kind_of(name, x)[0]} to an argument of type {t}")
        return [typed(x, t) for x, (t, _) in zip(leaves, of_linear, strict=True)]

    back = trace_call(pulled, [*zip(out, weak, strict=True), *of_residuals],
                      name=name_of(fun_transpose), kind="linear_call", staging=True)
    captures, (body, transposed) = join_captures([forward, back], [n + k, len(out) + k])
    groups = [*map(as_operand, linear)], [*map(as_operand, residuals), *captures]
    results = record_groups(ops.linear_call, groups, weak, body=body, transposed=transposed)
    return tree_unflatten(forward.out_tree, results)


__all__ = ["linear_call"]
