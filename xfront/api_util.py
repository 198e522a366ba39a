"""Helpers that flatten arguments, for libraries that write transformations of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .base.on_demand import shown as _shown
from .base.trees import (
    PyTreeDef,
    broadcast_prefix,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from .core import ShapedArray
from .dropin.sequences import safe_map
from .extend.core import DebugInfo
from .extend.linear_util import Store, WrappedFun, transformation2, transformation_with_aux2
from .transforms.flat import placed, positional_names
from .transforms.inspection import typeof


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any) -> list[Any]:
    """One entry of `axis_tree`, a prefix of the structure, for each leaf of a structure.

    Args:
      name: name of the entries, for errors.
      treedef: the structure.
      axis_tree: tree prefix of entries, each for all leaves below its place; None is an entry.
    Raises: ValueError where `axis_tree` is not a prefix of the structure.
    """
    whole = treedef.unflatten([object()] * treedef.num_leaves)
    try:
        return broadcast_prefix(axis_tree, whole, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise ValueError(f"{name} must be a prefix of the arguments' structure {treedef}: {error}"
                         ) from None


def shaped_abstractify(x: Any) -> ShapedArray:
    """The type of an array or number: shape, dtype and weakness."""
    return typeof(x)


def rebase_donate_argnums(donate_argnums: Sequence[int], static_argnums: Sequence[int]
                          ) -> tuple[int, ...]:
    """The positions of donated arguments among those that are not static.

    Raises: ValueError where an argument is both donated and static.
    """
    static = sorted(set(static_argnums))
    both = set(static) & set(donate_argnums)
    if both:
        raise ValueError(f"static_argnums and donate_argnums cannot both contain {sorted(both)}")
    return tuple(sorted(n - sum(s < n for s in static) for n in donate_argnums))


@transformation_with_aux2
def flatten_fun(f: Callable[..., Any], store: Store, in_tree: PyTreeDef, *flat: Any) -> list[Any]:
    """Turn a function of arguments and keyword arguments into a function of their leaves.

    Args:
      f: a `linear_util.WrappedFun`.
      in_tree: the structure of `(args, kwargs)`.
    Returns: a WrappedFun from the leaves to the leaves of the result, and a function that returns
      the structure of the result after the call.
    """
    args, kwargs = tree_unflatten(in_tree, flat)
    leaves, tree = tree_flatten(f(*args, **kwargs))
    store.store(tree)
    return leaves


@transformation_with_aux2
def flatten_fun_nokwargs(f: Callable[..., Any], store: Store, in_tree: PyTreeDef, *flat: Any
                         ) -> list[Any]:
    """Turn a function of arguments into one of their leaves, as `flatten_fun`; `in_tree` is the
    structure of `args` alone."""
    leaves, tree = tree_flatten(f(*tree_unflatten(in_tree, flat)))
    store.store(tree)
    return leaves


def argnums_partial(f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any],
                    require_static_args_hashable: bool = True) -> tuple[WrappedFun, tuple]:
    """A function of the arguments at `dyn_argnums` alone, and those arguments.

    Args:
      f: a `linear_util.WrappedFun`.
      dyn_argnums: position or positions of the arguments that stay.
      args: all arguments.
      require_static_args_hashable: whether the other arguments must be hashable.
    Raises: ValueError where another argument must be hashable and is not.
    """
    wanted = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    places = tuple(sorted(n % len(args) for n in wanted))
    fixed = []
    for i, x in enumerate(args):
        if i in places:
            continue
        if require_static_args_hashable:
            try:
                hash(x)
            except TypeError:
                raise ValueError(f"the argument {x!r} at position {i} is static, but it cannot be "
                                 "hashed") from None
        fixed.append((i, x))
    return _with_fixed(f, places, _Fixed(fixed)), tuple(args[i] for i in places)


class _Fixed:
    """Fixed arguments at given positions; those without a hash are compared by identity."""

    def __init__(self, held: list[tuple[int, Any]]) -> None:
        self.held = held


@transformation2
def _with_fixed(f: Callable[..., Any], places: tuple[int, ...], fixed: _Fixed, *args: Any,
                **kwargs: Any) -> Any:
    whole = dict(fixed.held) | dict(zip(places, args, strict=True))
    return f(*[whole[i] for i in range(len(whole))], **kwargs)


def debug_info(traced_for: str, fun: Callable[..., Any], args: Sequence[Any],
               kwargs: dict[str, Any], *, static_argnums: Sequence[int] = (),
               static_argnames: Sequence[str] = (), result_paths_thunk: Any = None,
               sourceinfo: str | None = None, signature: Any = None) -> DebugInfo:
    """The names that messages use: of a function, of its arguments and of its line in the source.

    Args:
      traced_for: name of the transformation.
      fun: the function.
      args, kwargs: trees with the structure of the arguments.
      static_argnums, static_argnames: positions and names of arguments that have no leaves.
      result_paths_thunk, sourceinfo, signature: the names of results, the line in the source and
        the signature; those that are None are looked up.
    """
    names = list(signature.parameters) if signature is not None else positional_names(fun)
    named = [(names[i] if i < len(names) else f"args[{i}]", x) for i, x in enumerate(args)
             if i not in static_argnums]
    named += [(k, x) for k, x in kwargs.items() if k not in static_argnames]
    paths = tuple(name + keystr(path) for name, x in named
                  for path, _ in tree_flatten_with_path(x)[0])
    return DebugInfo(traced_for, sourceinfo or placed(fun), paths, result_paths_thunk)


__all__ = ["argnums_partial", "debug_info", "flatten_axes", "flatten_fun", "flatten_fun_nokwargs",
           "rebase_donate_argnums", "safe_map", "shaped_abstractify"]
__dir__ = _shown(globals())
