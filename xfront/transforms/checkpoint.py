"""checkpoint (remat): recompute instead of saving, with policies.

`policies.py` says what a policy is and has the ready-made ones.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from xfront_ir import ops

from ..base.trees import broadcast_prefix, tree_map, tree_unflatten
from ..binding import ArrayImpl
from ..binding.tracebacks import front_door, front_door_of
from ..running.keys import Latest, latest, signature
from ..running.programs import bind
from ..tracing.following import sets_of
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from ..values.arguments import only
from .custom_rules import named_argnums, within
from .flat import Arguments, Flat, fill, name_of, positions
from .policies import asked_policy, checkpoint_policies

P = ParamSpec("P")
R = TypeVar("R")

_TRACES: weakref.WeakKeyDictionary[Any, Latest] = weakref.WeakKeyDictionary()


@overload
def checkpoint(fun: Callable[P, R], *, prevent_cse: Any = True,
               policy: Callable[..., bool] | None = None,
               static_argnums: int | Sequence[int] = (),
               static_argnames: str | Sequence[str] = (), concrete: bool = False
               ) -> Callable[P, R]: ...
@overload
def checkpoint(*, prevent_cse: Any = True, policy: Callable[..., bool] | None = None,
               static_argnums: int | Sequence[int] = (),
               static_argnames: str | Sequence[str] = (), concrete: bool = False
               ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@front_door
def checkpoint(fun: Callable[..., Any] | None = None, *, prevent_cse: Any = True,
               policy: Callable[..., bool] | None = None,
               static_argnums: int | Sequence[int] = (),
               static_argnames: str | Sequence[str] = (), concrete: bool = False) -> Any:
    """A function whose intermediate values are computed again in the backward pass, not saved.

    Args:
      fun: any function of arrays and trees. It is traced once for each signature of its arguments,
        as by `jit`: an array that it reads and that changes should be an argument. One that
        reads tracers is traced at each call.
      prevent_cse: keep the second computation apart from the first by a barrier: a bool, or a
        tree of them that is a prefix of the tuple of arguments. One barrier stands before all of
        the arguments; a False beside a True has no effect.
      policy: function that decides which intermediate values are saved after all, see
        `checkpoint_policies`; None saves none.
      static_argnums, static_argnames: positions and names of arguments that are not arrays, but
        known values for Python; none by default.
      concrete: False only; `static_argnums` are the way to give Python known values.
    Returns: a function of the same arguments with the same results. A call raises ValueError where
      `prevent_cse` is not a tree prefix of the arguments, TypeError where a leaf of it is not a
      bool.
    Raises: NotImplementedError for `concrete=True`; ValueError, at the call, where `static_argnums`
      names positions that are not given; TypeError where `fun` or `policy` is not a
      function.
    Source: Griewank and Walther, "Revolve", ACM TOMS 26 (2000).

    >>> xfront.grad(xfront.checkpoint(lambda x: jnp.sin(x) ** 2))(0.5)
    Array(0.841, dtype=float32, weak_type=True)
    """
    if fun is None:
        return functools.partial(checkpoint, prevent_cse=prevent_cse, policy=policy,
                                 static_argnums=static_argnums,
                                 static_argnames=static_argnames, concrete=concrete)
    only("checkpoint", False, "name the arguments whose values the function needs in "
                              "static_argnums", concrete=concrete)
    if not callable(fun):
        raise TypeError(f"checkpoint: expected a function, got {fun!r}")
    if policy is not None and not callable(policy):
        raise TypeError(f"checkpoint: policy must be a function or None, got {policy!r}")
    name = name_of(fun)
    asked = None if policy is None else asked_policy(policy)
    by_name = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    statics = named_argnums("static", fun, static_argnums, by_name)
    _, given_places = positions("checkpoint: static_argnums", static_argnums)

    @front_door_of(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        within("static", fun, given_places, len(args))
        chosen = {i % len(args) for i in statics if -len(args) <= i < len(args)}
        fixed = {k: kwargs.pop(k) for k in by_name if k in kwargs}
        places = [i for i in range(len(args)) if i not in chosen]
        fenced = _fenced(prevent_cse, tuple([args[i] for i in places]))
        given = Arguments(name, ([args[i] for i in places], kwargs))
        known = [(k, type(x), x) for k, x in (
            *[(i, args[i]) for i in sorted(chosen)], *fixed.items())]

        def call(values: Any, named: Any) -> Any:
            return fun(*fill(args, places, values), **named, **fixed)

        flat = _traced(fun, known, given, lambda: given.trace(call, name=name, kind="checkpoint",
                                                              staging=True))
        operands = given.operands(flat)
        if state.current is None and not any(type(x) is Tracer for x in operands):
            results = bind(flat.function, operands, name=name)
        else:
            results = emit(ops.checkpoint, *operands, body=flat.function, policy=asked,
                           prevent_cse=fenced)
            for t, w in zip(results, flat.function.weak_returns, strict=True):
                t.weak = w
        return tree_unflatten(flat.out_tree, results)

    return wrapped


def _traced(fun: Any, known: list[tuple], given: Arguments, trace: Callable[[], Flat]) -> Flat:
    """The trace of an earlier call with the same signature, or `trace()`. `known` are the static
    arguments, each with its place and type."""
    traces: Any = latest(_TRACES, fun)
    key = signature(tuple(known), given.tree, tuple(given.kinds), state.axes, state.scope,
                    sets_of(given.leaves))
    try:
        found = traces.get(key)
    except TypeError:                            # a static argument has no hash
        return trace()
    if found is None:
        found = trace()
        if {*map(type, found.captures)} <= {ArrayImpl} and not any(
                [t.dtype.is_ref for t, _ in given.kinds]):
            traces[key] = found
    return found


def _fenced(prevent_cse: Any, args: tuple) -> bool:
    """Whether `prevent_cse` asks for a barrier. Raises: ValueError where it is not a prefix of the
    arguments, TypeError where a leaf is not a bool."""
    flags = [prevent_cse] if isinstance(prevent_cse, bool) else broadcast_prefix(prevent_cse, args)
    if not all(isinstance(flag, bool) for flag in flags):
        raise TypeError(f"checkpoint: prevent_cse must be a bool or a tree of bools, got "
                        f"{prevent_cse!r}")
    return any(flags)


remat = checkpoint


def checkpoint_name(x: Any, name: str) -> Any:
    """The tree `x` with its arrays named `name`, for policies such as `save_only_these_names`.

    >>> def f(x):
    ...     return jnp.sin(ad_checkpoint.checkpoint_name(x ** 2, "square"))
    >>> named = xfront.checkpoint_policies.save_only_these_names("square")
    >>> xfront.grad(xfront.checkpoint(f, policy=named))(1.0)
    Array(1.081, dtype=float32, weak_type=True)
    """
    return tree_map(lambda a: emit(ops.checkpoint_name, a, name=name)
                    if type(a) is Tracer or state.current is not None else a, x)


__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "remat"]
