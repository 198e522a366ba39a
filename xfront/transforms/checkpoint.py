"""checkpoint (remat): recompute instead of saving, with policies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xfront_ir import ops

from ..tracing.programs import bind
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from ..tree_util import tree_flatten, tree_unflatten
from .custom import named_argnums
from .flat import as_operand, kind_of, name_of, trace_call


def checkpoint(fun: Callable[..., Any] | None = None, *, prevent_cse: bool = True,
               policy: Callable[..., bool] | None = None,
               static_argnums: int | Sequence[int] = (), concrete: bool = False) -> Any:
    """A function whose intermediate values are computed again in the backward pass, not saved.

    Args:
      fun: any function of arrays and trees.
      prevent_cse: keep the second computation apart from the first by a barrier.
      policy: which intermediate values are saved after all, see `checkpoint_policies`.
      static_argnums: arguments that are no arrays.
    Source: Griewank and Walther, "Revolve", ACM TOMS 26 (2000).
    """
    if fun is None:
        return functools.partial(checkpoint, prevent_cse=prevent_cse, policy=policy,
                                 static_argnums=static_argnums)
    name = name_of(fun)
    statics = named_argnums(fun, static_argnums if not isinstance(static_argnums, int)
                            else (static_argnums,), ())

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        chosen = {i % len(args) for i in statics} if args else set()
        places = [i for i in range(len(args)) if i not in chosen]
        leaves, tree = tree_flatten(([args[i] for i in places], kwargs))
        kinds = [kind_of(name, x) for x in leaves]

        def call(tracers: list) -> Any:
            given, named = tree_unflatten(tree, tracers)
            full = list(args)
            for i, x in zip(places, given, strict=True):
                full[i] = x
            return fun(*full, **named)

        flat = trace_call(call, kinds, name=name, kind="checkpoint", staging=True)
        operands = [*map(as_operand, leaves), *flat.captures]
        if state.current is None and not any(type(x) is Tracer for x in operands):
            results = bind(flat.function, operands, name=name)
        else:
            results = emit(ops.checkpoint, *operands, body=flat.function, policy=policy,
                           prevent_cse=prevent_cse)
            for t, w in zip(results, flat.function.weak_returns, strict=True):
                t.weak = w
        return tree_unflatten(flat.out_tree, results)

    return wrapped


remat = checkpoint
