"""Facts about a Function, each from one walk: liveness, effects, counts, axis names.

Nothing is stored on values or ops. Facts about bodies that are often asked for are kept in the
Function's `memo` and die with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from .core import Function, Op, Value, bodies_of
from .opdef import Pending
from .sharding import MeshAxes, Sharding

T = TypeVar("T")


def functions(fn: Function, bodies: Callable[[Function], Iterator[Function]] = Function.bodies
              ) -> list[Function]:
    """`fn` and every Function inside it, each once, bodies before those that hold them.

    Args:
      fn: where to start.
      bodies: what a Function holds; `Function.bodies` carries pending transformations out,
        `standing_bodies` does not.
    """
    found: list[Function] = []
    met = {fn}
    stack = [(fn, bodies(fn))]
    while stack:
        holder, held = stack[-1]
        for body in held:
            if body not in met:
                met.add(body)
                stack.append((body, bodies(body)))
                break
        else:
            stack.pop()
            found.append(holder)
    return found


def standing_bodies(fn: Function) -> Iterator[Function]:
    """Functions held by the ops of `fn`; for a transformation not yet carried out, the Function
    that it starts from."""
    for op in fn.ops:
        if op.definition.has_bodies:
            yield from _standing(op)


def _standing(op: Op) -> Iterator[Function]:
    for key in op.definition.body_attrs:
        held = op.attrs.get(key)
        if isinstance(held, Function):
            yield held
        elif isinstance(held, Pending):
            yield held.forced or held.function
        elif isinstance(held, tuple):
            yield from held


def last_uses(fn: Function) -> dict[Value, int]:
    """For each value, the number of the op that reads it last: `len(fn.ops)` if it is returned; if
    nobody reads it, the number of its own op for a result and -1 for a parameter."""
    last = dict.fromkeys(fn.params, -1)
    for i, op in enumerate(fn.ops):
        for v in op.operands:
            last[v] = i
        for v in op.results:
            last[v] = i
    for v in fn.returns:
        last[v] = len(fn.ops)
    return last


def has_effects(fn: Function) -> bool:
    """Whether `fn` or a body in it holds an op that must be kept even if nobody reads its results.
    """
    return derived(fn, "effects", _own_effects, any)


def op_has_effects(op: Op) -> bool:
    """As `has_effects`, for one op with its bodies."""
    definition = op.definition
    if definition.effects is not None and definition.has_effects(op.attrs):
        return True
    return definition.has_bodies and any(map(has_effects, bodies_of(op)))


def axis_names(fn: Function) -> frozenset[str]:
    """Names of the axes that the ops of `fn` and of its bodies read.

    A transformation may resolve a name and adds none, so a pending one is carried out only where
    the program reads a name at all.
    """
    standing = derived(fn, "axes_standing", _own_axes, union, standing_bodies)
    return derived(fn, "axes", _own_axes, union) if standing else standing


def belongs_to_process(fn: Function) -> bool:
    """Whether an op of `fn` or of its bodies was defined by the user's program, so that its name
    means nothing in another process."""
    return derived(fn, "of_process", _own_to_process, any)


def _own_to_process(fn: Function) -> bool:
    return any([op.definition.written is not None for op in fn.ops])


def meshes(fn: Function) -> frozenset[MeshAxes]:
    """The meshes with devices that the ops of `fn` and of its bodies name."""
    if not MeshAxes.placed:
        return frozenset()
    return derived(fn, "meshes", _own_meshes, union, standing_bodies)


def _own_meshes(fn: Function) -> frozenset[MeshAxes]:
    named = [value.mesh if type(value) is Sharding else value
             for op in fn.ops if op.definition.holds_mesh for value in op.attrs.values()]
    return frozenset([mesh for mesh in named if type(mesh) is MeshAxes and mesh.devices])


def _own_effects(fn: Function) -> bool:
    for op in fn.ops:
        definition = op.definition
        if definition.effects is not None and definition.has_effects(op.attrs):
            return True
    return False


def _own_axes(fn: Function) -> frozenset[str]:
    found: set[str] = set()
    for op in fn.ops:
        if op.definition.mentions_axis is not None:
            found.update(op.definition.mentions_axis(op.attrs))
    return frozenset(found)


def union(parts: Iterable[frozenset[T]]) -> frozenset[T]:
    """The union of the sets."""
    nothing: frozenset[T] = frozenset()
    return nothing.union(*parts)


def derived(fn: Function, key: str, own: Callable[[Function], Any],
            join: Callable[[list[Any]], Any],
            bodies: Callable[[Function], Iterator[Function]] = Function.bodies) -> Any:
    """`join` of `own(fn)` and of the same fact about each body; kept in the memo of each Function.

    With `standing_bodies` the fact is that of the Function when it was first asked for.
    """
    memo_key = ("analysis", key)
    found = fn.memo.get(memo_key)
    if found is None:
        for op in fn.ops:
            if op.definition.has_bodies:
                break
        else:                                    # there is nothing to walk
            found = fn.memo[memo_key] = join([own(fn)])
            return found
        for f in functions(fn, bodies):
            if memo_key not in f.memo:
                f.memo[memo_key] = join([own(f), *[b.memo[memo_key] for b in bodies(f)]])
        found = fn.memo[memo_key]
    return found
