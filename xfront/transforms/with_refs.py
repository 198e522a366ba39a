"""Calls of jitted functions that use references: their contents go in, and come back.

The program is an ordinary one, with the contents at its end as further results. Such calls always
go through Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xfront_ir.core import remembered
from xfront_ir.passes.discharge import discharge

from ..base.trees import tree_structure, tree_unflatten
from ..running.placement import placement
from ..running.programs import bind
from ..tracing.trace import Recorded, state
from ..tracing.tracer import Tracer
from ..values.refs import Ref
from .flat import Flat, as_operand
from .structs import filled


def uses_refs(flat: Flat, leaves: Sequence[Any]) -> bool:
    """Whether a call takes references, or its function closes over some."""
    return any([isinstance(x, Ref) for x in (*leaves, *flat.captures)])


def call_with_refs(jitted: Any, flat: Flat, leaves: Sequence[Any], donated: list[bool],
                   names: Sequence[str]) -> Any:
    """The result of a call.

    Raises: ValueError where one reference is given twice, or given and closed over;
      NotImplementedError where `jit` has shardings, a device or a backend.
    """
    refuse_aliases(jitted.name, flat, leaves, names)
    operands = [*map(as_operand, leaves), *map(as_operand, flat.captures)]
    if state.current is not None or Tracer in map(type, operands):
        return tree_unflatten(flat.out_tree, bind(flat.function, operands, name=jitted.name))
    if (placing := jitted.options.placing) is not None:
        if not placing.names_none():
            raise NotImplementedError(f"{jitted.name} takes references, so it cannot be told where "
                                      "to run: leave out its shardings, device and backend")
        placing.results(filled(flat.out_tree, flat.function.return_types))
    inner, order, written = remembered(
        flat.function, "on contents", _on_contents, flat, len(leaves))
    values = [operands[i].held if isinstance(operands[i], Ref) else operands[i] for i in order]
    place, committed = placement(values, jitted.name)
    flags = [*donated, *[False] * (len(order) - len(leaves))]
    flags = [f and not isinstance(operands[i], Ref) for f, i in zip(flags, order, strict=True)]
    (result, contents), _ = jitted.program(inner, flags, place).call(values, committed)
    for i, content in zip(written, contents, strict=True):
        operands[i].held = content
    return result


def _on_contents(flat: Flat, n: int) -> tuple[Flat, tuple[int, ...], tuple[int, ...]]:
    """The traced call with contents in place of references; captured contents are arguments too.

    Returns: the new call, the places of its arguments among all operands, and the places of the
      written references.
    """
    made, written = discharge(flat.function)
    held = [n + i for i, c in enumerate(flat.captures) if isinstance(c, Ref)]
    others = [n + i for i, c in enumerate(flat.captures) if not isinstance(c, Ref)]
    order = (*range(n), *held)
    params = [made.params[i] for i in (*order, *others)]
    function = made.replace(params=params, param_names=(), weak_params=())
    out_tree = tree_structure((filled(flat.out_tree, flat.function.return_types),
                               [0] * len(written)))
    captures = [flat.captures[i - n] for i in others]
    return Flat(Recorded(function, captures, flat.trace), out_tree), order, written


def refuse_aliases(name: str, flat: Flat, leaves: Sequence[Any], names: Sequence[str]) -> None:
    """Raise ValueError where a reference is given twice, or given and closed over."""
    seen: dict[int, str] = {}
    for x, path in zip(leaves, names, strict=True):
        if not isinstance(x, Ref):
            continue
        key = id(as_operand(x))
        if key in seen:
            raise ValueError(
                f"only one reference to a mutable array may be passed as an argument to a "
                f"function, but when tracing {name} for jit the mutable array reference of type "
                f"{x.aval} appeared at both {seen[key]} and {path}.")
        seen[key] = path
    for c in flat.captures:
        if id(c) in seen:
            raise ValueError(f"when tracing {name} for jit, a mutable array reference was both "
                             f"closed over and passed as the argument {seen[id(c)]}")
