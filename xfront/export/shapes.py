"""Shapes with symbolic dimensions from text."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ..base.trees import broadcast_prefix, tree_flatten, tree_unflatten
from ..transforms.flat import kind_of
from ..transforms.structs import ShapeDtypeStruct
from .dimensions import SymbolicScope, dimension, is_symbolic_dim
from .parsing import parsed_shape


def symbolic_shape(shape_spec: str | None, *, constraints: Sequence[str] = (),
                   scope: SymbolicScope | None = None, like: Sequence[int | None] | None = None
                   ) -> tuple[Any, ...]:
    """A shape with symbolic dimensions.

    Args:
      shape_spec: text such as "b, 2*b, mod(a, 4)"; `_` stands for the dimension of `like` in that
        place, and `...` at the end for the rest of it. None means all of `like`.
      constraints: strings such as "b >= 4" for a new scope; none by default.
      scope: a scope that exists, whose names and constraints hold.
      like: the shape that gives `_` and `...`, and that numbers must agree with.
    Returns: a tuple of ints and symbolic dimensions.
    Raises: ValueError for text that is no shape, for a number that differs from `like`, or where
      both `scope` and `constraints` are given; TypeError for another `scope`.

    >>> b, twice = export.symbolic_shape("b, 2*b")
    >>> twice - b == b, twice >= 2, (twice + 1) % 2
    (True, True, 1)
    """
    if scope is not None and not isinstance(scope, SymbolicScope):
        raise TypeError(f"symbolic_shape: scope must be a SymbolicScope, got {scope!r}")
    if scope is not None and constraints:
        raise ValueError("Cannot specify both a `scope` and `constraints`.")
    scope = scope or SymbolicScope(constraints)
    if shape_spec is None:
        shape_spec = "..."
    if not isinstance(shape_spec, str):
        raise TypeError(f"symbolic_shape: shape_spec must be a string or None, got {shape_spec!r}")
    made = tuple([dimension(d, scope) if isinstance(d, dict) else d
                  for d in parsed_shape(shape_spec, like)])
    for i, (d, known) in enumerate(zip(made, like or (), strict=False)):
        if not is_symbolic_dim(d) and known is not None and not is_symbolic_dim(known) and (
                operator.index(known) != d):
            raise ValueError(f"syntax error in symbolic shape {shape_spec!r} in dimension {i}: "
                             f"different size {d} for known dimension; like={tuple(like or ())}")
    return made


def symbolic_args_specs(args: Any, shapes_specs: Any, constraints: Sequence[str] = (),
                        scope: SymbolicScope | None = None) -> Any:
    """Structs with symbolic shapes for the arguments of a function.

    Args:
      args: tree of arrays, or of objects with a shape and a dtype.
      shapes_specs: text or None, or a tree prefix of `args` with them; see `symbolic_shape`, whose
        `like` is the shape of each argument.
      constraints, scope: as for `symbolic_shape`.
    Returns: the tree of `args` with `ShapeDtypeStruct`s.
    Raises: as `symbolic_shape`; ValueError where `shapes_specs` is no prefix.

    >>> export.symbolic_args_specs((np.ones((3, 4)),), "a, ...")
    (ShapeDtypeStruct(shape=(a, 4), dtype=float32),)
    """
    if scope is not None and constraints:
        raise ValueError("Cannot specify both a `scope` and `constraints`.")
    scope = scope or SymbolicScope(constraints)
    leaves, tree = tree_flatten(args)
    try:
        specs = broadcast_prefix(shapes_specs, args, is_leaf=lambda x: x is None)
    except ValueError as e:
        raise ValueError(f"symbolic_args_specs: shapes_specs is no prefix of args: {e}") from None
    made = []
    for x, spec in zip(leaves, specs, strict=True):
        if hasattr(x, "shape") and hasattr(x, "dtype"):
            shape, dtype = tuple(x.shape), x.dtype
        else:
            t, _ = kind_of("symbolic_args_specs", x)
            shape, dtype = t.shape, t.dtype.numpy
        made.append(ShapeDtypeStruct(symbolic_shape(spec, scope=scope, like=shape), dtype))
    return tree_unflatten(tree, made)


__all__ = ["symbolic_args_specs", "symbolic_shape"]
