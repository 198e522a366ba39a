"""Operations on values of a library's own types: ops of user-defined primitives over the parts.

A value of such a type is several operands of the op: its parts, then its carriers (see
`transforms/high.py`). The rules make values of these again, call the rule of the operation's class,
and take its results apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.trees import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ..eager.dispatch import deepest
from ..eager.primitives import Primitive
from ..tracing.trace import state
from ..transforms.autodiff import linear_transpose
from ..transforms.flat import as_operand
from ..transforms.high import Layout, axes_of, layout, lo_types, lowered, node_of, raised, zeros
from ..transforms.structs import ShapeDtypeStruct
from ..transforms.vmap import vmap
from ..values.high import HiTracer, is_high
from .accumulators import NullAccum, ValAccum
from .own import FANCY_BATCHERS, JVPS, TRANSPOSES, UndefinedPrimal, Zero

# --- operands -------------------------------------------------------------------------------


class Side:
    """The operands or the results of an operation: a tree of types, and for each its layout."""

    __slots__ = ("avals", "layouts", "tree")

    def __init__(self, avals: Any) -> None:
        self.avals, self.tree = tree_flatten(avals)
        self.layouts: list[Layout] = [layout(a) for a in self.avals]

    def types(self) -> list[Any]:
        """The types of all operands of the op."""
        return [t for made in self.layouts for t in (*made.parts, *made.carriers)]

    def lower(self, values: Any) -> list[Any]:
        """The operands of the op for a tree of values. Raises: ValueError for another tree."""
        found: list[Any] = []
        for aval, made, x in zip(self.avals, self.layouts, self.tree.flatten_up_to(values),
                                 strict=True):
            found += lowered(aval, x)
            if made.carriers:
                node = node_of(x) if is_high(x) else None
                found += (zeros(made.carriers) if node is None or node.carriers is None
                          else node.carriers)
        return found

    def split(self, flat: Sequence[Any]) -> list[tuple[Any, Layout, list[Any], list[Any]]]:
        """For each value its type, layout, parts and carriers."""
        at, found = 0, []
        for aval, made in zip(self.avals, self.layouts, strict=True):
            n, m = len(made.parts), len(made.carriers)
            found.append((aval, made, [*flat[at:at + n]], [*flat[at + n:at + n + m]]))
            at += n + m
        return found

    def raised(self, flat: Sequence[Any], *, traced: bool = True) -> Any:
        """The tree of values; where not `traced`, values of own types are those of their class."""
        made = []
        for aval, _, parts, carriers in self.split(flat):
            if not traced and getattr(aval, "is_high", False):
                made.append(aval.raise_val(*parts))
                continue
            x = raised(aval, parts)
            if type(x) is HiTracer and carriers:
                x.carriers = tuple(carriers)
            made.append(x)
        return tree_unflatten(self.tree, made)

    def moved(self, flat: Sequence[Any]) -> list[list[Any]]:
        """For each value, those of its operands that have tangents."""
        return [parts if made.moves_itself else carriers if made.carriers or not parts else parts
                for _, made, parts, carriers in self.split(flat)]

    def tangents(self, dots: Sequence[Any], cotangent: bool = False) -> Any:
        """The tree of tangents, or of cotangents, from those of the operands of the op."""
        made = []
        for aval, xs in zip(self.avals, self.moved(dots), strict=True):
            kind = aval.to_ct_aval() if cotangent else aval.to_tangent_aval()
            if all([type(x) is Zero or x is None for x in xs]):
                made.append(Zero(kind))
            else:
                made.append(raised(kind, [_instantiated(x, t) for x, t in zip(
                    xs, lo_types(kind), strict=True)]))
        return tree_unflatten(self.tree, made)

    def lower_tangents(self, dots: Any, cotangent: bool = False) -> list[Any]:
        """The tangents of the operands of the op, from a tree of them."""
        found: list[Any] = []
        for aval, made, d in zip(self.avals, self.layouts, self.tree.flatten_up_to(dots),
                                 strict=True):
            kind = aval.to_ct_aval() if cotangent else aval.to_tangent_aval()
            none = d is None or type(d) is Zero
            mine = [Zero(t) for t in lo_types(kind)] if none else [*lowered(kind, d)]
            still = [Zero(t.to_tangent_aval()) for t in made.parts]
            found += mine if made.moves_itself else [*still, *mine[:len(made.carriers)]]
        return found


def _instantiated(x: Any, aval: Any) -> Any:
    from ..numpy import zeros as zeros_of  # numpy stands above this file

    return zeros_of(aval.shape, aval.dtype) if x is None or type(x) is Zero else x


# --- recording --------------------------------------------------------------------------------

_PRIMITIVES: dict[tuple[type, bool], Primitive] = {}


def _primitive(prim: Any, linear: bool = False) -> Primitive:
    """The primitive of a class of operations, or of their linear maps of tangents."""
    found = _PRIMITIVES.get((type(prim), linear))
    if found is None:
        name = getattr(prim, "name", type(prim).__name__)
        found = _PRIMITIVES[type(prim), linear] = Primitive(f"{name}_lin" if linear else name)
        found.multiple_results = True
        rules = _LINEAR_RULES if linear else _RULES
        (found._abstract_eval, found._impl, JVPS[found], TRANSPOSES[found],
         FANCY_BATCHERS[found]) = rules
    return found


def record(prim: Any, args: Sequence[Any]) -> Any:
    """The result of an operation: recorded, or computed where nothing is traced."""
    ins, outs = sides(prim)
    operands = ins.lower(tuple(args))
    if deepest([as_operand(x) for x in operands], state.current) is None:
        return prim.expand(*args)
    return outs.raised(_primitive(prim).bind(*operands, prim=prim))


def sides(prim: Any) -> tuple[Side, Side]:
    """The operands and the results of an operation."""
    return Side(tuple(prim.in_avals)), Side(prim.out_aval)


# --- rules --------------------------------------------------------------------------------------

def _types(*_: Any, prim: Any) -> Any:
    return sides(prim)[1].types(), prim.effects


def _run(*flat: Any, prim: Any) -> list[Any]:
    ins, outs = sides(prim)
    return outs.lower(prim.expand(*ins.raised(flat, traced=False)))


def _jvp(primals: Sequence[Any], dots: Sequence[Any], prim: Any) -> Any:
    ins, outs = sides(prim)
    args, moving = ins.raised(primals), ins.tangents(dots)
    nzs = tree_map(lambda d: type(d) is not Zero, moving, is_leaf=lambda d: type(d) is Zero)
    if prim.has("vjp_fwd"):
        value, saved = prim.vjp_fwd(nzs, *args)
        made = _linear(prim, primals, saved, dots)
    elif prim.has("lin"):
        value, saved = prim.lin(nzs, *args)
        made = outs.lower_tangents(prim.linearized(saved, *moving))
    else:
        value, dot = prim.jvp(args, moving)
        made = outs.lower_tangents(dot)
    return outs.lower(value), made


def _transpose(cts: Any, *flat: Any, prim: Any) -> list[Any]:
    ins, outs = sides(prim)
    ct = outs.tangents(cts, cotangent=True)
    accums = []
    for (aval, _, parts, _), mine in zip(ins.split(flat), ins.moved(flat), strict=True):
        if any([type(x) is UndefinedPrimal for x in mine]):
            accums.append(ValAccum(aval.to_ct_aval()))
        else:
            accums.append(raised(aval, parts))
    if prim.has("transpose"):
        prim.transpose(ct, *tree_unflatten(ins.tree, accums))
        found = [a.freeze() if isinstance(a, ValAccum) else Zero(v.to_ct_aval())
                 for a, v in zip(accums, ins.avals, strict=True)]
        return _for_linear(flat, ins.lower_tangents(tree_unflatten(ins.tree, found), True))
    places = [i for i, x in enumerate(flat) if type(x) is UndefinedPrimal]

    def of_linear(*linear: Any) -> Any:
        given = [*flat]
        for i, x in zip(places, linear, strict=True):
            given[i] = x
        return _run(*given, prim=prim)

    shapes = [ShapeDtypeStruct(flat[i].aval.shape, flat[i].aval.dtype) for i in places]
    made = linear_transpose(of_linear, *shapes)(
        [_instantiated(x, t) for x, t in zip(cts, outs.types(), strict=True)])
    found = [None] * len(flat)
    for i, x in zip(places, made, strict=True):
        found[i] = x
    return found


def _for_linear(flat: Sequence[Any], found: Sequence[Any]) -> list[Any]:
    return [x if type(y) is UndefinedPrimal else None for y, x in zip(flat, found, strict=True)]


def _batch(data: Any, flat: Sequence[Any], dims: Sequence[Any], prim: Any) -> Any:
    ins, outs = sides(prim)
    if not prim.has("batch"):
        if not any([getattr(a, "is_high", False) for a in (*ins.avals, *outs.avals)]):
            made = vmap(lambda *xs: _run(*xs, prim=prim), tuple(dims), 0, data.name,
                        axis_size=data.size)(*flat)
            return made, [0] * len(made)
        raise NotImplementedError(f"for vmap support, subclass {type(prim)} must implement `batch`")
    from ..numpy import moveaxis  # numpy stands above this file

    args, specs = [], []
    for (aval, _, parts, _), (_, _, places, _) in zip(
            ins.split(flat), ins.split(dims), strict=True):
        if not getattr(aval, "is_high", False):
            args.append(parts[0])
            specs.append(places[0])
            continue
        if all([p is None for p in places]):
            args.append(raised(aval, parts))
            specs.append(None)
            continue
        spec = aval.leading_axis_spec()
        moved = [_instantiated_batch(x, p, data.size, moveaxis) for x, p in zip(
            parts, places, strict=True)]
        args.append(raised(aval.inc_rank(data.size, spec), moved))
        specs.append(spec)
    made, places = prim.batch(data, tree_unflatten(ins.tree, args),
                              tree_unflatten(ins.tree, specs))
    results: list[Any] = []
    at: list[Any] = []
    values = outs.tree.flatten_up_to(made)
    wanted = tree_leaves(places, is_leaf=lambda p: p is None)
    wanted = wanted * len(values) if len(wanted) == 1 else wanted
    for aval, made_of, x, spec in zip(outs.avals, outs.layouts, values, wanted, strict=True):
        if not getattr(aval, "is_high", False):
            results.append(x)
            at.append(spec)
            continue
        whole = aval if spec is None else aval.inc_rank(data.size, spec)
        parts = lowered(whole, x)
        results += [*parts, *zeros(made_of.carriers)]
        at += [*axes_of(whole, aval, spec), *[None] * len(made_of.carriers)]
    return results, at


def _instantiated_batch(x: Any, place: Any, size: int, moveaxis: Any) -> Any:
    if place is not None:
        return moveaxis(x, place, 0)
    from ..numpy import broadcast_to  # numpy stands above this file

    return broadcast_to(x, (size, *x.shape))


# --- linear maps of tangents --------------------------------------------------------------------

class Linear:
    """The linear map of tangents of an operation at a point, whose transpose is its `vjp_bwd`."""

    def __init__(self, prim: Any, saved: Any, nonzero: tuple[bool, ...], kinds: tuple) -> None:
        self.prim, self.saved, self.nonzero, self.kinds = prim, saved, nonzero, kinds
        self.key = (prim, saved, nonzero, kinds)

    def __eq__(self, other: object) -> bool:
        return type(other) is Linear and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _linear(prim: Any, primals: Sequence[Any], saved: Any, dots: Sequence[Any]) -> list[Any]:
    """The tangents of the results of an operation, from what its `vjp_fwd` saved."""
    outs = sides(prim)[1]
    kept, tree = tree_flatten(tree_map(lambda x: node_of(x) if is_high(x) else x, saved))
    nonzero = tuple([type(d) is not Zero for d in dots])
    given = [d for d, moving in zip(dots, nonzero, strict=True) if moving]
    kinds = tuple([t for made in outs.layouts
                   for t in (made.parts if made.moves_itself else made.carriers)])
    linear = Linear(prim, tree, nonzero, kinds)
    moved = iter(_primitive(prim, linear=True).bind(*primals, *kept, *given, linear=linear))
    found: list[Any] = []
    for made in outs.layouts:
        if made.moves_itself:
            found += [next(moved) for _ in made.parts]
        else:
            found += [Zero(t.to_tangent_aval()) for t in made.parts]
            found += [next(moved) for _ in made.carriers]
    return found


def _linear_parts(flat: Sequence[Any], linear: Linear) -> tuple[Any, Any, list[Any]]:
    n, m = len(linear.nonzero), linear.saved.num_leaves
    given = iter(flat[n + m:])
    ins = sides(linear.prim)[0]
    dots = [next(given) if moving else Zero(t.to_tangent_aval())
            for moving, t in zip(linear.nonzero, ins.types(), strict=True)]
    return flat[:n], flat[n:n + m], dots


def _linear_types(*_: Any, linear: Linear) -> Any:
    return list(linear.kinds), frozenset()


def _linear_run(*flat: Any, linear: Linear) -> list[Any]:
    prim = linear.prim
    ins, outs = sides(prim)
    primals, _, dots = _linear_parts(flat, linear)
    if not prim.has("jvp"):
        raise TypeError(f"can't apply forward-mode differentiation (jvp) to {prim}: it has a "
                        "`vjp_fwd` alone; give it a `jvp`")
    _, dot = prim.jvp(ins.raised(primals), ins.tangents(dots))
    found = outs.lower_tangents(dot)
    moved = [x for xs in outs.moved(found) for x in xs]
    return [_instantiated(x, t) for x, t in zip(moved, linear.kinds, strict=True)]


def _linear_jvp(*_: Any, linear: Linear) -> Any:
    raise NotImplementedError(f"second derivatives of {linear.prim} in forward mode need a `jvp`")


def _linear_transpose(cts: Any, *flat: Any, linear: Linear) -> list[Any]:
    prim = linear.prim
    ins, outs = sides(prim)
    _, kept, dots = _linear_parts(flat, linear)
    given, at = iter(cts), []
    for made in outs.layouts:
        if made.moves_itself:
            at += [next(given) for _ in made.parts]
        else:
            at += [Zero(t) for t in made.parts]
            at += [next(given) for _ in made.carriers]
    moving = [any([type(x) is UndefinedPrimal for x in xs]) for xs in ins.moved(dots)]
    accums = [ValAccum(a.to_ct_aval()) if m else NullAccum(a.to_ct_aval())
              for a, m in zip(ins.avals, moving, strict=True)]
    prim.vjp_bwd(tree_unflatten(linear.saved, kept), outs.tangents(at, cotangent=True),
                 *tree_unflatten(ins.tree, accums))
    found = tree_unflatten(ins.tree, [a.freeze() for a in accums])
    moved = iter([x for x, nz in zip(ins.lower_tangents(found, True), linear.nonzero, strict=True)
                  if nz])
    n = len(linear.nonzero) + linear.saved.num_leaves
    return [*[None] * n, *moved]


def _linear_batch(data: Any, flat: Sequence[Any], dims: Sequence[Any], linear: Linear) -> Any:
    made = vmap(lambda *xs: _linear_run(*xs, linear=linear), tuple(dims), 0, data.name,
                axis_size=data.size)(*flat)
    return made, [0] * len(made)


_RULES = (_types, _run, _jvp, _transpose, _batch)
_LINEAR_RULES = (_linear_types, _linear_run, _linear_jvp, _linear_transpose, _linear_batch)

__all__ = ["Side", "record", "sides"]
