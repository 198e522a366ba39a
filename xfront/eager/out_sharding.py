"""Functions with an argument that says where their result lies: `out_sharding=`.

The function's ops do not carry that sharding, so they may exchange data as they need to; the result
is resharded. On arrays all of this is one program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xfront_ir.ops.sharding import brought

from .. import binding
from ..base.trees import tree_flatten, tree_unflatten
from ..running.programs import bind
from ..sharding.context import as_sharding, of_explicit_axes
from ..sharding.named import ir_sharding
from ..tracing.trace import state, trace_function
from ..tracing.tracer import Tracer
from .constraint import resharded


def asked_for(name: str, out_sharding: Any) -> Any:
    """The NamedSharding that `out_sharding` means; None for a sharding of another kind.

    Args:
      name: name of the function, for errors.
      out_sharding: a Sharding or PartitionSpec.
    Raises: TypeError for anything else; RuntimeError for a spec without a mesh in context;
      ValueError for a spec with axes that are not explicit.
    """
    found = of_explicit_axes(name, as_sharding(name, out_sharding, "out_sharding"))
    return found if type(found) is binding.NamedSharding and found.mesh.axis_names else None


def with_out_sharding(name: str, sharding: Any, function: Callable[..., Any], args: tuple,
                      kwargs: dict) -> Any:
    """`function(*args, **kwargs)` with the arrays in its result placed as the sharding says."""
    def run(args: tuple, kwargs: dict) -> Any:
        before, state.out_sharding_given = state.out_sharding_given, True
        try:
            leaves, tree = tree_flatten(function(*args, **kwargs))
        finally:
            state.out_sharding_given = before
        return tree_unflatten(tree, [_resharded(x, sharding) for x in leaves])

    return in_a_trace(name, run, args, kwargs)


def _resharded(x: Any, sharding: Any) -> Any:
    if not sharding.spec.unreduced or type(x) is not Tracer:
        return resharded(x, sharding)
    sharding.shard_shape(x.shape)
    made = brought(x.home.builder, x.value, ir_sharding(sharding, x.ndim), strict=True)
    return Tracer(x.home, made, x.weak)


def in_a_trace(name: str, run: Callable[[tuple, dict], Any], args: tuple, kwargs: dict) -> Any:
    """The result of `run(args, kwargs)`, recorded in the open trace, or else in a trace of its own
    whose program runs at once."""
    leaves = tree_flatten((args, kwargs))[0]
    if state.current is not None or any([type(x) is Tracer for x in leaves]):
        return run(args, kwargs)
    tree: Any = None

    def flat(_: list[Any]) -> list[Any]:
        nonlocal tree
        found, tree = tree_flatten(run(args, kwargs))
        return found

    traced = trace_function(flat, [], [], name=name, kind=name, staging=True)
    return tree_unflatten(tree, bind(traced.function, traced.captures, name=name))


__all__ = ["asked_for", "in_a_trace", "with_out_sharding"]
