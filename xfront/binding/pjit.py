"""Functions whose known signatures run in C++, and the records that C++ needs for them."""
# hot: benchmarks/eager.py

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .abstract import AbstractArray
from .buffers import WEAK_SCALARS, host_array, put_sharded, refuse_mask
from .classes import ArrayImpl, PjitFunction, cpp, pytree
from .tracebacks import shorten


class FastPath(NamedTuple):
    """The record that C++ needs to run a call without Python: see `fastpath`."""

    xla_executable: Any
    out_pytree_def: Any
    in_shardings: Sequence[Any]
    out_shardings: Sequence[Any]
    out_avals: Sequence[AbstractArray]
    out_committed: Sequence[bool]
    kept_var_bitvec: Iterable[bool]
    in_device_local_layouts: Sequence[Any]
    const_args: Sequence[ArrayImpl]


def fastpath(
    executable: Any,
    out_tree: Any,
    in_shardings: Sequence[Any],
    out_shardings: Sequence[Any],
    out_avals: Sequence[AbstractArray],
    out_committed: Sequence[bool],
    kept: Sequence[bool],
    const_args: Sequence[ArrayImpl] = (),
    in_layouts: Sequence[Any] | None = None,
) -> FastPath:
    """The record that lets later calls of a signature stay in C++.

    Args:
      executable: the loaded executable; its arguments are `const_args`, then the kept arguments.
      out_tree: structure of the result, from the dispatch registry.
      in_shardings, in_layouts: one entry per kept argument; a layout of None is the default one.
      out_shardings, out_avals, out_committed: one entry per flat output.
      kept: for each of `const_args` and each flat argument, whether the executable takes it.
      const_args: arrays that are passed before the arguments at every call.
    """
    layouts = [None] * len(in_shardings) if in_layouts is None else list(in_layouts)
    return FastPath(
        executable, out_tree, list(in_shardings), list(out_shardings), list(out_avals),
        list(out_committed), list(kept), layouts, list(const_args),
    )  # fmt: skip


def make_registry() -> Any:
    """A new registry of tree nodes that knows None, tuple, named tuple, list and dict."""
    return pytree.PyTreeRegistry(
        enable_none=True, enable_tuple=True, enable_namedtuple=True, enable_list=True,
        enable_dict=True,
    )  # fmt: skip


# The trees of the C++ dispatcher: the users' registry, and nodes that only front doors take apart.
dispatch_registry = make_registry()
dispatch_registry.__name__, dispatch_registry.__module__ = "dispatch_registry", __name__

pjit_cache = cpp.PjitFunctionCache(8192)


def _shard_arg(x: Any, sharding: Any, layout: Any) -> ArrayImpl:
    if isinstance(x, ArrayImpl):
        return put_sharded(x, sharding, x.aval.weak_type)
    return put_sharded(host_array(x), sharding, type(x) in WEAK_SCALARS)


_REFUSED: list[type] = []


def _refuse_masks() -> None:
    """Once NumPy's masked arrays are loaded, let C++ refuse them: it would take them for arrays."""
    if not _REFUSED and "numpy.ma" in sys.modules:
        _REFUSED.extend((np.ma.MaskedArray, type(np.ma.masked)))
        for kind in _REFUSED:
            dispatch_registry.register_node(kind, refuse_mask, lambda _, children: children[0])


def make_pjit(
    name: str,
    fun: Callable[..., Any],
    cache_miss: Callable[..., tuple],
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    donate_argnums: Sequence[int] = (),
    donate_argnames: Sequence[str] = (),
    global_cache_key: Any = (),
    shard_arg: Callable[[Any, Any, Any], ArrayImpl] = _shard_arg,
) -> Any:
    """A function whose known signatures run in C++; new ones go to `cache_miss`.

    Args:
      name: name of the function, for profiles and its repr.
      fun: the Python function, which runs where jit is disabled; cached entries live no longer than
        it does.
      cache_miss: function that is called with the caller's arguments and returns (result, FastPath
        or None, whether to forget this entry). If it raises, the function's entries are dropped, so
        that no signature stays on the slow path.
      static_argnums, static_argnames: arguments that are compared by `==` and hash.
      donate_argnums, donate_argnames, global_cache_key: parts of the key. Two functions of one
        `fun` with equal keys share their entries, so `global_cache_key` has the kind of front door.
      shard_arg: function that C++ calls to move an argument that it cannot move itself.
    """
    made: Any = None

    def guarded(*args: Any, **kwargs: Any) -> tuple:
        try:
            _refuse_masks()
            return cache_miss(*args, **kwargs)
        except BaseException as error:
            function = made() if made is not None else None
            if function is not None:
                function._clear_cache()
            shorten(error)
            raise

    key = (
        global_cache_key,
        tuple(static_argnums),
        tuple(static_argnames),
        tuple(donate_argnums),
        tuple(donate_argnames),
    )
    function = cpp.pjit(
        name, weakly_referenced(fun), guarded, list(static_argnums), list(static_argnames), key,
        dispatch_registry, shard_arg, pjit_cache,
    )  # fmt: skip
    made = weakref.ref(function)
    return function


class _Stage:
    """A method of those dispatched functions that have stages. It is an attribute of the class,
    because `functools.wraps` copies a function's own attributes, and with them the method of
    another function."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, made: Any, owner: type) -> Any:
        if made is None:
            return self
        try:
            return made.__dict__["_stages"][self.name]
        except KeyError:
            raise AttributeError(f"{made!r} has no attribute {self.name!r}") from None


for _name in ("trace", "lower", "eval_shape", "clear_cache"):
    setattr(PjitFunction, _name, _Stage(_name))


def give_stages(made: Any, **stages: Callable[..., Any]) -> None:
    """Give a compiled function its methods `trace`, `lower`, `eval_shape` and `clear_cache`, which
    replace those that were copied with the attributes of the original function."""
    made._stages = stages
    if type(made) is not PjitFunction:
        made.__dict__.update(stages)


def clear_pjit_caches() -> None:
    """Forget the compiled signatures of every front door of the process."""
    cpp.PjitFunctionCache.clear_all()


def weakly_referenced(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun` itself, or a function that calls it where it has no weak references, which C++ needs (a
    ufunc, a callable with slots)."""
    try:
        weakref.ref(fun)
        return fun
    except TypeError:

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return fun(*args, **kwargs)

        return wrapper
