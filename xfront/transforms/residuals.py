"""The residuals that reverse mode keeps of a function, and where each comes from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from xfront_ir import ops
from xfront_ir.core import Function, Op, Value
from xfront_ir.passes.linearize import linearize

from ..base.trees import keystr, tree_flatten_with_path
from ..eager.primitives import AbstractArray, aval_of, primitive_of
from .flat import Arguments, name_of


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any
                    ) -> list[tuple[AbstractArray, str]]:
    """The values that `vjp` and `linearize` of `f` at these arguments keep for the backward pass.

    Args:
      f: any function of arrays and trees.
      args, kwargs: its arguments.
    Returns: a list with, for each kept value, its shape and dtype, and a text that says where it
      comes from: an argument, a constant, an op with the user's line, or a `checkpoint_name`.

    >>> kept = ad_checkpoint.saved_residuals(lambda x: jnp.sin(x) * 2, jnp.ones(3))
    >>> [aval for aval, _ in kept]
    [ShapedArray(float32[3])]
    """
    name = name_of(f)
    given = Arguments("saved_residuals", (args, kwargs))
    flat = given.trace(lambda args, named: f(*args, **named), name=name, kind="linearize",
                       staging=False, inputs=given.leaves)
    active = (*[t.is_inexact for t, _ in given.kinds], *[False] * len(flat.captures))
    split = linearize(flat.function, active)
    forward = split.forward
    names = _argument_names(f, args, kwargs)
    made = {v: op for op in forward.ops for v in op.results}
    arguments = {v: f"from the argument {n}" for v, n in zip(forward.params, names, strict=False)}
    found = []
    for v in dict.fromkeys(split.pick(forward.params, forward.returns)):
        origin = arguments.get(v) or (_origin(v, made[v]) if v in made else "from a constant")
        found.append((v not in arguments, (aval_of(v.type), origin)))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the values that reverse mode of `f` keeps, one per line; see `saved_residuals`.

    >>> ad_checkpoint.print_saved_residuals(lambda x, y: x * y, 1.0, 2.0)
    f32[] from the argument y
    f32[] from the argument x
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short(short_dtypes=True)} {origin}")


def _argument_names(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
                    ) -> list[str]:
    """The name of each leaf: that of its parameter, then its path inside."""
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except (TypeError, ValueError):
        tops = [f"args[{i}]" for i in range(len(args))]
    else:
        tops = []
        for key, value in bound.arguments.items():
            kind = bound.signature.parameters[key].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                tops += [f"{key}[{i}]" for i in range(len(value))]
            elif kind is not inspect.Parameter.VAR_KEYWORD:
                tops.append(key)
    tops = [*tops[:len(args)], *sorted(kwargs)]
    values = [*args, *[kwargs[k] for k in sorted(kwargs)]]
    return [top + keystr(path) for top, value in zip(tops, values, strict=True)
            for path, _ in tree_flatten_with_path(value)[0]]


def _origin(value: Value, op: Op) -> str:
    """Where a kept value was computed, inside the body of its op where it has one."""
    while len(bodies := [op.attrs[k] for k in op.definition.body_attrs]) == 1:
        body, place = bodies[0], op.results.index(value)
        if not isinstance(body, Function) or len(body.returns) != len(op.results):
            break
        made = {v: o for o in body.ops for v in o.results}
        kept = body.returns[place]
        if kept in made and made[kept].definition is ops.reshard:      # the value was offloaded
            kept = made[kept].operands[0]
        if kept not in made:
            break
        value, op = kept, made[kept]
    loc = op.loc
    where = f" from {loc.file}:{loc.line} ({loc.function})" if loc is not None else ""
    if op.definition is ops.checkpoint_name:
        return f"named {op.attrs['name']!r}{where}"
    return f"output of {primitive_of(op.definition).name}{where}"
