"""Values of a library's own types on their way into programs and out of them.

Where a front door takes arguments apart, a value of such a type is a node around its parts, with
its type beside them (and its state, where it changes); so programs, their keys and all passes know
arrays alone. Inside, the node becomes a `HiTracer`, or an object of its class where it changes;
outside, a value.

A value that changes belongs to the trace in which it was made. A function further in that uses it
reads and writes references to its parts, so what it does to the value is recorded in order, in
loops and branches too. The parts of a value outside all traces are such references from the start
(`Part`): when a program that closes over one has run, the value holds what the program wrote.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from xfront_ir import ops

from .. import binding
from ..base.trees import register_pytree_node, tree_leaves, tree_map, tree_structure, tree_unflatten
from ..running.programs import to_array
from ..tracing.trace import Trace, emit, state
from ..tracing.tracer import Tracer
from ..values.high import TYPES, HiTracer, MappingSpec, is_high, type_of_high
from ..values.refs import REFS, Ref
from .float0 import HIDES
from .structs import ShapeDtypeStruct
from .symbolic import SymbolicZero
from .vmappable import RULES, Rules

# --- nodes ----------------------------------------------------------------------------------


class Node:
    """A value in a tree that is flattened for a trace: its type, state, parts and carriers."""

    __slots__ = ("aval", "carriers", "parts", "state")

    def __init__(self, aval: Any, parts: Sequence[Any], carriers: Sequence[Any] | None = None,
                 state: Any = None) -> None:
        self.aval, self.parts, self.carriers, self.state = aval, tuple(parts), carriers, state


class Dot(NamedTuple):
    """A tangent or cotangent in place of a value: a leaf of a tree that becomes that of tangents.
    """

    of: Any


def node_of(x: Any) -> Node:
    """The node for a value. Raises: TypeError where its parts are not those of its type."""
    aval = type_of_high(x)
    if type(x) is HiTracer:
        return Node(aval, x.parts, x.carriers)
    if aval.has_qdd:
        found = read(x)
        return Node(aval, found.parts, None, found.state)
    return Node(aval, aval.lower_val(x))


def _children(x: Node) -> tuple[tuple, tuple]:
    return (*x.parts, *(x.carriers or ())), (x.aval, x.state, len(x.parts), x.carriers is not None)


def _shown(aux: tuple, children: Any) -> Any:
    aval, kept, n, carried = aux
    parts = tuple(children[:n])
    carriers = tuple(children[n:]) if carried else None
    kinds = {*map(type, children)}
    if kinds == {Dot}:
        return Dot(tangent_of(aval, [d.of for d in parts],
                              None if carriers is None else [d.of for d in carriers]))
    if kinds and kinds <= {ShapeDtypeStruct}:
        return aval
    if not kinds <= _VALUES:
        return Node(aval, parts, carriers, kept)
    if aval.has_qdd:
        made = aval.new_from_loval(kept, *parts)
        if state.stack:
            belongs(made, state.stack[-1])
        return made
    if Tracer in kinds:
        return HiTracer(aval, parts, carriers)
    return aval.raise_val(*parts)


_VALUES = {Tracer, binding.ArrayImpl, int, float, bool, complex, np.ndarray}
register_pytree_node(Node, _children, _shown)


class _Hides:
    """The classes whose values are hidden in nodes: those that are registered."""

    def __contains__(self, kind: object) -> bool:
        return kind is HiTracer or kind in TYPES

    def node(self, x: Any, carriers: bool | None) -> Node:
        """The node for a value."""
        made = node_of(x)
        if carriers is False:
            made.carriers = None
        elif carriers and made.carriers is None and made.state is None:
            made.carriers = zeros(layout(made.aval).carriers)
        return made

    def tangents(self, tree: Any, dots: Sequence[Any]) -> Any:
        """As `shown_tangents`."""
        return shown_tangents(tree, dots)


def one_of(tree: Any, size: int) -> Any:
    """The structure of a tree with nodes for batches along the first axes, for one example."""
    return _retyped(tree, lambda aval: aval.dec_rank(size, aval.leading_axis_spec()))


def batch_of(tree: Any, size: int) -> Any:
    """The structure of a tree with nodes for one example, for batches along the first axes."""
    return _retyped(tree, lambda aval: aval.inc_rank(size, aval.leading_axis_spec()))


def _retyped(tree: Any, change: Callable[[Any], Any]) -> Any:
    made = tree_unflatten(tree, [object()] * tree.num_leaves)
    return tree_structure(tree_map(
        lambda x: Node(change(x.aval), x.parts, x.carriers, x.state) if type(x) is Node else x,
        made, is_leaf=lambda x: type(x) is Node))


# --- types of tangents ------------------------------------------------------------------------


class Layout(NamedTuple):
    """The operands of an op by which it takes a value of a type: parts, and carriers of tangents.

    `parts` and `carriers` are their types. Tangents of the value are those of its carriers. If the
    type is its own type of tangents, they are those of its parts, and there are no carriers."""

    parts: tuple[Any, ...]
    carriers: tuple[Any, ...]
    moves_itself: bool


def lo_types(aval: Any) -> tuple[Any, ...]:
    """Types of the parts; of an array, its own."""
    return tuple(aval.lo_ty()) if hasattr(aval, "is_high") and aval.is_high else (aval,)


def layout(aval: Any) -> Layout:
    """The layout of a type."""
    parts = lo_types(aval)
    try:
        moved = lo_types(aval.to_tangent_aval())
    except NotImplementedError:                  # a type without tangents
        return Layout(parts, (), False)
    moved = tuple([t for t in moved if t.to_tangent_aval() == t])
    if [(t.shape, t.dtype) for t in moved] == [(t.shape, t.dtype) for t in parts]:
        return Layout(parts, (), True)
    return Layout(parts, moved, False)


def zeros(types: Sequence[Any]) -> tuple[Any, ...]:
    """Zeros of these types."""
    return tuple([np.zeros(t.shape, t.dtype) for t in types])


def tangent_of(aval: Any, parts: Sequence[Any], carriers: Sequence[Any] | None) -> Any:
    """The tangent of a value of a type, of the tangents of its parts and carriers."""
    found = layout(aval)
    moved = parts if found.moves_itself else zeros(found.carriers) if carriers is None else carriers
    return raised(aval.to_tangent_aval(), moved)


def raised(aval: Any, parts: Sequence[Any]) -> Any:
    """The value of a type of these parts: a `HiTracer` where one of them is traced."""
    if not getattr(aval, "is_high", False):
        return parts[0]
    if Tracer in map(type, parts):
        return HiTracer(aval, parts, None)
    return aval.raise_val(*parts)


def lowered(aval: Any, x: Any) -> tuple[Any, ...]:
    """The parts of a value of a type, which for an array is the value itself."""
    if not getattr(aval, "is_high", False):
        return (x,)
    return tuple(x.parts if type(x) is HiTracer else aval.lower_val(x))


def shown_tangents(tree: Any, dots: Sequence[Any]) -> Any:
    """The tree of tangents, from those of the leaves of a tree with nodes."""
    made = tree_unflatten(tree, [Dot(d) for d in dots])
    return tree_map(lambda d: d.of, made, is_leaf=lambda x: type(x) is Dot)


def hidden_tangents(tree: Any, made: Any, zero: Callable[[Any], Any]) -> Any:
    """The tree `made` of tangents or cotangents, which a rule returned for a tree with nodes, with
    nodes in the same places. `zero(type)` is the one of a part. Trees that do not fit are returned
    unchanged, for the caller to refuse."""
    def node(x: Any, d: Any) -> Any:
        if type(x) is not Node or d is None:
            return d
        found, none = layout(x.aval), tuple([zero(t) for t in lo_types(x.aval)])
        kind = x.aval.to_tangent_aval()
        moved = zeros(lo_types(kind)) if type(d) is SymbolicZero else lowered(kind, d)
        if found.moves_itself:
            return Node(x.aval, moved, x.carriers, x.state)
        return Node(x.aval, none, None if x.carriers is None else moved, x.state)

    def is_node(x: Any) -> bool:
        return type(x) is Node

    whole = tree_unflatten(tree, [object()] * tree.num_leaves)
    if not any(map(is_node, tree_leaves(whole, is_leaf=is_node))):
        return made
    try:
        structure = tree_structure(whole, is_leaf=is_node)
        return tree_unflatten(structure, [node(x, d) for x, d in zip(
            tree_leaves(whole, is_leaf=is_node), structure.flatten_up_to(made), strict=True)])
    except ValueError:
        return made


class Moving:
    """Arguments with values of own types among them, and the arrays of them to differentiate: of
    such a value its carriers, or its parts if it is its own type of tangents."""

    def __init__(self, name: str, args: Any) -> None:
        leaves = tree_leaves(args)
        for x in leaves:
            if is_high(x) and type_of_high(x).has_qdd:
                raise NotImplementedError(
                    f"{name}: a value of type {type_of_high(x)} changes, so it is not "
                    "differentiated: pass a value that does not change, or close over it")
        self.args = args

    def starts(self) -> Any:
        """The tree of the arrays to differentiate, with a tuple for each value of an own type."""
        return tree_map(_start, self.args)

    def completed(self, moved: Any) -> Any:
        """The complete arguments of the function, from the tracers in place of `starts()`."""
        return tree_map(_completed, self.args, moved)

    def lower(self, tangents: Any) -> Any:
        """The tree of tangents that belongs to `starts()`."""
        return tree_map(lambda x, t: lowered(type_of_high(x).to_tangent_aval(), t)
                        if is_high(x) else t, self.args, tangents)

    def cotangents(self, found: Any) -> Any:
        """The cotangents of the arguments, from those of `starts()`."""
        return tree_map(lambda x, ct: raised(type_of_high(x).to_ct_aval(), ct)
                        if is_high(x) else ct, self.args, found)


def _start(x: Any) -> Any:
    if not is_high(x):
        return x
    found, node = layout(type_of_high(x)), node_of(x)
    if found.moves_itself:
        return node.parts
    return zeros(found.carriers) if node.carriers is None else tuple(node.carriers)


def _completed(x: Any, moved: Any) -> Any:
    if not is_high(x):
        return moved
    node = node_of(x)
    if layout(node.aval).moves_itself:
        return HiTracer(node.aval, moved, None)
    return HiTracer(node.aval, node.parts, tuple(moved))


def axes_of(whole: Any, one: Any, spec: Any) -> list[int | None]:
    """The mapped axis of each part of a batch: the axis whose removal leaves the shape that the
    part has in one example.

    Raises: ValueError where there is no such axis, or where there are several and `spec` does not
      say that the first one is meant.
    """
    if spec is None:
        return [None] * len(lo_types(whole))
    return _axes(whole, one, _leads(one, spec))


def _leads(one: Any, spec: Any) -> bool:
    try:
        return spec == one.leading_axis_spec()
    except NotImplementedError:
        return False


def _axes(whole: Any, one: Any, leads: bool) -> list[int | None]:
    found: list[int | None] = []
    for t, u in zip(lo_types(whole), lo_types(one), strict=True):
        fits = [i for i in range(len(t.shape))
                if (*t.shape[:i], *t.shape[i + 1:]) == tuple(u.shape)]
        if (leads and fits[:1] == [0]) or len(fits) == 1:
            found.append(fits[0])
        elif tuple(t.shape) == tuple(u.shape):
            found.append(None)
        else:
            why = "has no axis without which it is" if not fits else (
                f"could be mapped over each of the axes {fits} to be")
            raise ValueError(f"vmap: a part of type {t} of a value of type {whole} {why} the part "
                             f"of type {u} of {one}: give a spec equal to its leading_axis_spec()")
    return found


def _to_elt(cont: Callable[..., Any], index: Any, x: Any, spec: Any) -> Any:
    """The value of one example, by the rules of `vmappable.py`."""
    node = node_of(x)
    if node.state is not None:
        raise NotImplementedError(f"vmap: a value of type {node.aval} changes, so it is not "
                                  "mapped: close over it")
    if spec is None:
        return x
    one = node.aval.dec_rank(None, spec)
    return _mapped(node, one, cont, axes_of(node.aval, one, spec), _tangent_axes(node.aval, one,
                                                                               spec))


def _from_elt(cont: Callable[..., Any], size: int, x: Any, spec: Any) -> Any:
    """The value of all examples, likewise."""
    node = node_of(x)
    whole = node.aval if spec is None else node.aval.inc_rank(size, spec)
    return _mapped(node, whole, lambda part, axis: cont(size, part, axis),
                   axes_of(whole, node.aval, spec), _tangent_axes(whole, node.aval, spec))


def _tangent_axes(whole: Any, one: Any, spec: Any) -> list[int | None]:
    if layout(one).moves_itself or not layout(one).carriers:
        return []
    if spec is None:
        return [None] * len(layout(one).carriers)
    return _axes(whole.to_tangent_aval(), one.to_tangent_aval(), _leads(one, spec))


def _mapped(node: Node, aval: Any, cont: Callable[..., Any], axes: list[int | None],
            more: list[int | None]) -> Any:
    parts = [cont(p, a) for p, a in zip(node.parts, axes, strict=True)]
    carriers = None if node.carriers is None else [
        cont(c, a) for c, a in zip(node.carriers, more, strict=True)]
    if Tracer in map(type, parts):
        return HiTracer(aval, parts, carriers)
    return aval.raise_val(*parts)


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Declare a class as that of values of a type of one's own; `typeof_fn(value)` is the type.

    Raises: TypeError where `val_cls` is not a class.
    """
    if not isinstance(val_cls, type):
        raise TypeError(f"register_hitype: expected a class, got {val_cls!r}")
    TYPES[val_cls] = typeof_fn
    HIDES[:] = [_Hides()]
    for cls in (val_cls, HiTracer):
        RULES[cls] = Rules(MappingSpec, _to_elt, _from_elt)


def has_high(args: Any) -> bool:
    """Whether a value of an own type is among the leaves of a tree."""
    return bool(TYPES) and any(map(is_high, tree_leaves(args)))


# --- values that change -----------------------------------------------------------------------


class _Direct(threading.local):
    """The values whose parts a type is reading or setting in this thread. Operations on these come
    from the type itself."""

    def __init__(self) -> None:
        self.values: list[Any] = []


_direct = _Direct()


def _parts_of(x: Any, kept: Any) -> tuple[Any, ...]:
    """The parts that a value holds."""
    _direct.values.append(x)
    try:
        return tuple(TYPES[type(x)](x).read_loval(kept, x))
    finally:
        _direct.values.pop()


def _set_parts(x: Any, kept: Any, parts: Sequence[Any]) -> None:
    _direct.values.append(x)
    try:
        TYPES[type(x)](x).update_from_loval(kept, x, *parts)
    finally:
        _direct.values.pop()


class Held(NamedTuple):
    """The state and the parts of a value that changes."""

    state: Any
    parts: tuple[Any, ...]


class _Member:
    """A value that was made in a trace: that trace, its `home`; and, once an inner function has
    used the value, the references to its parts and its state at that time."""

    __slots__ = ("home", "of", "refs", "state")

    def __init__(self, of: Any, home: Trace) -> None:
        self.of, self.home = of, home
        self.refs: tuple[Any, ...] | None = None
        self.state: Any = None


_MEMBERS: dict[int, _Member] = {}
"""Values made in traces that are open, by identity."""


def belongs(x: Any, home: Trace) -> None:
    """Note that a value was made in a trace."""
    forget_closed()
    _MEMBERS[id(x)] = _Member(x, home)


def forget_closed() -> None:
    """Forget the values of traces that are closed."""
    for key, member in [*_MEMBERS.items()]:
        if member.home.closed:
            _MEMBERS.pop(key, None)


def _member(x: Any) -> _Member | None:
    found = _MEMBERS.get(id(x))
    return found if found is not None and found.of is x and not found.home.closed else None


class Part(Ref):
    """A reference to one part of a value outside all traces."""

    __slots__ = ("kept", "of", "place")

    def __init__(self, of: Any, place: int, kept: Any) -> None:
        self.of, self.place, self.kept = of, place, kept
        self.is_frozen = False

    @property
    def held(self) -> Any:  # type: ignore[override]
        """The part, as an array. Raises: TypeError where the value has another state by now."""
        aval = TYPES[type(self.of)](self.of)
        if (now := self.of.cur_qdd()) != self.kept:
            raise TypeError(f"a function that closes over a value of type {aval} was traced when "
                            f"its state was {self.kept}, and is called when it is {now}: pass the "
                            "value as an argument of the jitted function")
        return to_array(_parts_of(self.of, self.kept)[self.place])

    @held.setter
    def held(self, value: Any) -> None:
        parts = [*_parts_of(self.of, self.kept)]
        parts[self.place] = value
        _set_parts(self.of, self.kept, parts)


REFS.add(Part)
_PARTS: weakref.WeakValueDictionary[tuple[int, int], Part] = weakref.WeakValueDictionary()


def _part(x: Any, place: int, kept: Any) -> Part:
    found = _PARTS.get((id(x), place))
    if found is None or found.of is not x or found.kept != kept:
        found = _PARTS[id(x), place] = Part(x, place, kept)
    return found


def _refs(x: Any, target: Trace | None) -> tuple[Any, tuple[Any, ...]] | None:
    """The state of a value and references to its parts, through which an operation in `target`
    reads and writes it; None if the operation reads and writes the value directly."""
    member = _member(x)
    if member is None:
        if target is None:
            return None
        kept = x.cur_qdd()
        parts = _parts_of(x, kept)
        if any([type(p) is Tracer and p.home is target for p in parts]):
            return None                          # the value was made in `target` itself
        return kept, tuple([_part(x, i, kept) for i in range(len(parts))])
    if member.refs is None and (target is None or target.level <= member.home.level):
        return None
    if member.refs is None:
        member.state = x.cur_qdd()
        parts = _parts_of(x, member.state)
        member.refs = tuple([_new_ref(member.home, p) for p in parts])
    return member.state, member.refs


def _new_ref(home: Trace, part: Any) -> Ref:
    outer, state.current = state.current, home if home.staging else None
    try:
        home.has_refs = True
        return Ref(emit(ops.new_ref, home.lift(part)))
    finally:
        state.current = outer


def innermost(values: Sequence[Any]) -> Trace | None:
    """The trace in which an operation on these operands is recorded."""
    found = state.current
    for x in values:
        if type(x) is Tracer and (found is None or x.home.level > found.level):
            found = x.home
    return found


def _opened(x: Any) -> list[Trace]:
    """The open traces that have read or written a value from outside them, innermost last."""
    return [t for t in state.stack
            if any([type(s) is Part and s.of is x for s in t.sources])]


def target_of(x: Any, values: Sequence[Any]) -> Trace | None:
    """The trace in which an operation on `x`, a value that changes, and on `values` is recorded."""
    found = innermost(values)
    for trace in _opened(x):
        if found is None or trace.level > found.level:
            found = trace
    return found


def read(x: Any, values: Sequence[Any] = ()) -> Held:
    """The current state and parts of a value, for an operation that also reads `values`."""
    refs = _refs(x, target_of(x, values))
    if refs is not None:
        return Held(refs[0], tuple([r[...] for r in refs[1]]))
    kept = x.cur_qdd()
    return Held(kept, _parts_of(x, kept))


def state_of(x: Any) -> Any:
    """The state of a value that changes. Raises: TypeError for a value of another type."""
    if type(x) not in TYPES or not TYPES[type(x)](x).has_qdd:
        raise TypeError(f"cur_qdd takes a value of a type that changes, got {x!r} of type "
                        f"{type(x)}")
    refs = None if any([x is y for y in _direct.values]) else _refs(x, target_of(x, ()))
    return x.cur_qdd() if refs is None else refs[0]


def write(x: Any, new: Held, values: Sequence[Any] = ()) -> None:
    """Give a value another state and other parts.

    Raises: NotImplementedError where a function that closes over it changes its state.
    """
    refs = _refs(x, target_of(x, [*values, *new.parts]))
    if refs is None:
        _set_parts(x, new.state, new.parts)
        return
    if len(refs[1]) != len(new.parts) or any([
            np.shape(p) != r.shape for p, r in zip(new.parts, refs[1], strict=True)]):
        raise NotImplementedError(
            f"a function that closes over a value of type {type_of_high(x)} changes its "
            f"structure, from {refs[0]} to {new.state}: pass the value as an argument of the "
            "jitted function")
    for ref, part in zip(refs[1], new.parts, strict=True):
        ref[...] = part


def apply(run: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The result of `run(*args)`, an operation that reads or changes some of its arguments."""
    if any([x is y for x in args for y in _direct.values]):
        return run(*args)
    changing = [x for x in args if type(x) in TYPES and TYPES[type(x)](x).has_qdd]
    others = [x for x in args if not any([x is c for c in changing])]
    if all([_refs(x, target_of(x, others)) is None for x in changing]):
        return _claimed(run(*args))
    stands, before = {}, {}
    for x in changing:
        found = before[id(x)] = read(x, others)
        stands[id(x)] = TYPES[type(x)](x).new_from_loval(found.state, *found.parts)
    result = _claimed(run(*[stands.get(id(x), x) for x in args]))
    for x in changing:
        copy = stands[id(x)]
        kept = copy.cur_qdd()
        new = Held(kept, _parts_of(copy, kept))
        if any([p is not q for p, q in zip(new.parts, before[id(x)].parts, strict=False)]) or (
                len(new.parts) != len(before[id(x)].parts)):
            write(x, new, others)
    return result


def _claimed(x: Any) -> Any:
    """The result of such an operation, which belongs to the innermost trace if it changes."""
    if state.stack and type(x) in TYPES and TYPES[type(x)](x).has_qdd and _member(x) is None:
        belongs(x, state.stack[-1])
    return x


# --- jit ----------------------------------------------------------------------------------------

class Final(NamedTuple):
    """The state and parts of an argument that changes, at the end of a call."""

    state: Any
    parts: tuple[Any, ...]


register_pytree_node(Final, lambda x: (x.parts, x.state), lambda kept, parts: Final(
    kept, tuple(parts)))


def changing(tree: Any) -> list[Any]:
    """The values that change among the leaves of a tree. Raises: ValueError where one is there
    twice."""
    found = [x for x in tree_leaves(tree)
             if type(x) in TYPES and TYPES[type(x)](x).has_qdd]
    for i, x in enumerate(found):
        if any([x is y for y in found[:i]]):
            raise ValueError(f"a value of type {type_of_high(x)}, which changes, is an argument "
                             "twice: pass it once")
    return found


def with_finals(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function that also returns what its arguments that change hold at its end."""

    @functools.wraps(fun)
    def both(*args: Any, **kwargs: Any) -> Any:
        own = state.stack[-1]                    # others are static arguments
        mine = [x for x in changing((args, kwargs)) if (m := _member(x)) and m.home is own]
        result = fun(*args, **kwargs)
        return result, [Final(*read(x)) for x in mine]

    both.returns_finals = True  # type: ignore[attr-defined]
    return both


def call_and_write(call: Callable[..., Any], args: tuple, kwargs: dict[str, Any],
                   given: Any) -> Any:
    """The result of a call of a jitted `with_finals(fun)`. The arguments in `given` that change get
    the state and parts that the call returned for them."""
    result, finals = call(*args, **kwargs)
    forget_closed()
    for x, final in zip(changing(given), finals, strict=True):
        write(x, Held(*final))
    return result


__all__ = ["Moving", "call_and_write", "has_high", "node_of", "shown_tangents", "with_finals"]
