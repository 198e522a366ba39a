"""Which explicit axes divide the results of an op, found from those that divide its operands.

A rule has this shape. `spreads(rule, op, ...)` enters it where the op is defined; elementwise ops
have the rule `alike` by their trait:

    rule(op, types, attrs, results) -> for each result the axes of each dimension

`results` are the types that the op's type rule gave, without axes. A rule calls `refuse` where the
op would need an exchange between devices that the program does not ask for, and says what to write
instead. An op without a rule takes only operands that no explicit axis divides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from .definition import OpDef
from .errors import MemorySpaceError, ShardingTypeError
from .sharding import NO_MESH, MeshAxes, Sharding, Spec
from .traits import CHOOSES, ELEMENTWISE, TERMWISE
from .types import TensorType

Types = tuple[TensorType, ...]
Dims = tuple[tuple[str, ...], ...]
Rule = Callable[[OpDef, Types, Mapping[str, Any], Types], Sequence[Dims]]

RESHARD = "reshard it first, `xfront.sharding.reshard(x, P(...))`"


def spreads(rule: Rule, *definitions: OpDef) -> None:
    """Enter a rule on definitions; the file that defines the ops calls it."""
    for definition in definitions:
        definition.spread = rule


def refuse(message: str) -> NoReturn:
    """Raise a ShardingTypeError, for a program that does not say how a result is divided."""
    raise ShardingTypeError(message)


def spread_types(definition: OpDef, types: Types, attrs: Mapping[str, Any], *, linear: bool
                 ) -> Types:
    """Result types of an op some of whose operands are divided. `linear` says that it is linear in
    all its operands together.

    Raises: IRTypeError from the type rule; ShardingTypeError.
    """
    name = definition.name
    mesh = one_mesh(name, types)
    found = tuple(definition.infer(tuple([t.plain for t in types]), attrs))
    rule = definition.spread or (alike if ELEMENTWISE in definition.traits else undivided)
    made: list[TensorType] = []
    if rule is as_inferred:
        return found
    if rule is each_as_it_is:
        return types
    memory = one_memory(name, types)
    sums = summed(definition, types, linear, rule is alike or ELEMENTWISE in definition.traits)
    for t, dims in zip(found, rule(definition, types, attrs, found), strict=True):
        names = [a for d in dims for a in d]
        if len({*names}) != len(names):
            shown = ",".join([f"{n}@{','.join(d)}" if d else str(n)
                              for n, d in zip(t.shape, dims, strict=True)])
            refuse(f"{name} operation with inputs: {listed(types)} produces an illegally sharded "
                   f"result: {t.dtype.name}[{shown}]. A mesh axis can divide only one dimension: "
                   f"{RESHARD}, or pass `out_sharding=`")
        for n, d in zip(t.shape, dims, strict=True):
            if n % mesh.size_of(d):
                refuse(f"{name} on sharded dims where out dim ({n}) is not divisible by mesh axes "
                       f"({mesh.size_of(d)}) with spec ({','.join(d)}) is not implemented. Got "
                       f"input type={listed(types)} and output shape={t.shape}: {RESHARD}")
        if sums[0] and not t.is_inexact:
            refuse(f"{name} of terms of a sum, {listed(types)}, to {t}: take the sum first, by "
                   "`xfront.sharding.reshard(x, P(...))`")
        made.append(t.over(Sharding(mesh, Spec(dims, (), *sums), memory))
                    if names or any(sums) or memory else t)
    return tuple(made)


def refuse_other_sums(name: str, what: str, wanted: Sequence[TensorType],
                      got: Sequence[TensorType]) -> None:
    """Refuse values that are unreduced or reduced over other axes than a body expects or another
    branch returns, because XLA would end the process. Raises: ShardingTypeError."""
    for w, g in zip(wanted, got, strict=True):
        if w.sharding is not g.sharding and w.sums != g.sums:
            refuse(f"{name}: {what} must be {w}, got {g}: devices hold it as terms of a sum, or "
                   f"reduced, over other axes; {RESHARD}")


def one_mesh(name: str, types: Sequence[TensorType]) -> MeshAxes:
    """The mesh of all operands that are divided. Raises: ShardingTypeError where there are two."""
    meshes = [t.sharding.mesh for t in types if t.sharding is not None and t.sharding.mesh.names]
    if other := [m for m in meshes if m != meshes[0]]:
        refuse(f"{name}: operands are divided over different meshes, {meshes[0]} and {other[0]}; "
               "reshard one of them")
    return meshes[0] if meshes else NO_MESH


def one_memory(name: str, types: Sequence[TensorType]) -> str | None:
    """The memory of all operands. Raises: MemorySpaceError where there are two."""
    memory = types[0].memory
    for t in types:
        if t.memory != memory:
            raise MemorySpaceError(
                f"memory_space of all inputs passed to `{name}` must be the same. Got one operand "
                f"with type: {types[0]} and another operand with type: {t}. Bring one to the "
                "memory of the other: xfront.device_put(x, xfront.memory.Space.Device), or "
                ".Host")
    return memory


def listed(types: Sequence[TensorType]) -> str:
    """The text of types in messages."""
    return ", ".join(map(str, types))


# --- sums that are still to be taken --------------------------------------------------------

Names = tuple[str, ...]
PRODUCTS: dict[OpDef, tuple[int, ...]] = {}
"""Elementwise ops of two operands, with the places of the operands in which they are linear. If
such an operand is unreduced and the other one is not, each device multiplies its own term."""
SUMS: dict[OpDef, Callable[[Types, Mapping[str, Any]], tuple[tuple[str, ...] | None, Types]]] = {}
"""Ops that sum over dimensions. The function of each returns the axes that divide these dimensions,
or None if operands disagree, and the operands' types without them. The result may be unreduced over
these axes."""


def summed(op: OpDef, types: Types, linear: bool, by_element: bool) -> tuple[Names, Names]:
    """The `unreduced` and `reduced` axes of results. Raises: ShardingTypeError where an operand of
    an op that is not linear is unreduced, or operands are reduced over different axes."""
    linear, chooses = linear or TERMWISE in op.traits, CHOOSES in op.traits
    found = {(t.sharding.spec.unreduced, t.sharding.spec.reduced) for t in types
             if t.sharding is not None}
    if not any([u for u, _ in found]):
        return (), _reduced(op, types, {r for _, r in found}, linear or by_element)
    if op in PRODUCTS:
        sums = [t.sharding.spec if t.sharding is not None else None for t in types]
        for place in PRODUCTS[op]:
            mine, other = sums[place], sums[1 - place]
            if mine and mine.unreduced and not mine.reduced and other and (
                    not other.unreduced and other.reduced == mine.unreduced):
                return mine.unreduced, ()
        refuse(f"{op.name}: the devices hold terms of a sum of one operand, and the other must be "
               f"whole and `reduced` over the same axes, got {listed(types)}: reshard it, "
               "`xfront.sharding.reshard(x, P(reduced={...}))`, or take the sum")
    summands = types[1:] if chooses else types
    sums = {(t.sharding.spec.unreduced, t.sharding.spec.reduced) if t.sharding else None
            for t in summands}
    if len(sums) == 1 and (linear or chooses) and not _unreduced(types[0], chooses):
        (agreed,) = sums
        if agreed is not None and all([t.is_inexact for t in summands]):
            return agreed
    take = "lax.psum(x, axes)" if any([t.is_manual for t in types]) else (
        "xfront.sharding.reshard(x, P(...))")
    refuse(f"{op.name} operation does not accept unreduced inputs like {listed(types)}: "
           f"the devices hold terms of a sum. Take the sum by `{take}`")


def _unreduced(t: TensorType, asked: bool) -> bool:
    return asked and t.sharding is not None and bool(t.sharding.spec.unreduced)


def _reduced(op: OpDef, types: Types, found: set[Names], kept: bool) -> Names:
    """The `reduced` axes of results if no operand is unreduced."""
    if found == {()} or not (kept or len(types) == 1):
        if found != {()} and any([t.is_manual for t in types]):
            refuse(f"{op.name} takes no reduced values inside shard_map, got {listed(types)}: cast "
                   "them with lax.pcast(x, axes, to='varying')")
        return ()                                 # values are whole; only their derivatives differ
    if len(found) > 1:
        refuse(f"{op.name}: inputs cannot be sharded or replicated over axes along which another "
               f"input is reduced, got {listed(types)}: reshard one to the other's")
    return found.pop()


def repairs(op: OpDef, types: Types) -> list[Sharding | None]:
    """For each operand of an op that was refused, the sharding to which it is moved first, or None.
    An unreduced operand is summed; but of a product it stays, and the other operand becomes
    reduced over the same axes."""
    held = [t.sharding for t in types]
    terms = [i for i, s in enumerate(held) if s is not None and s.spec.unreduced]
    if len(terms) == 1 and terms[0] in PRODUCTS.get(op, ()):
        term = held[terms[0]]
        if term is not None and not term.spec.reduced:
            factor = term.on(Spec(term.spec.dims, (), (), term.spec.unreduced))
            return [None if s is term else factor for s in held]
    if CHOOSES in op.traits and 0 not in terms and len({held[i] for i in terms}) == 1:
        return [None if i == 0 or s is held[terms[0]] else held[terms[0]]
                for i, s in enumerate(held)]
    return [s.on(Spec(s.spec.dims)) if s is not None and s.spec.unreduced else None
            for s in held]


# --- rules of families ----------------------------------------------------------------------

def met(name: str, dims: Sequence[Dims], ndim: int) -> Dims:
    """The axes of each dimension of a result: those of the operands that divide this dimension.

    Raises: ShardingTypeError where two operands divide it over different axes.
    """
    found: list[tuple[str, ...]] = []
    for i in range(ndim):
        named = {d[i] for d in dims if d[i]}
        if len(named) > 1:
            shown = ", ".join([_entries(d) for d in dims])
            refuse(f"{name} got incompatible shardings for broadcasting: {shown}. Reshard one of "
                   "them like the other with `xfront.sharding.reshard(x, "
                   "xfront.typeof(y).sharding)`")
        found.append(named.pop() if named else ())
    return tuple(found)


def _entries(dims: Dims) -> str:
    return str(tuple([None if not d else d[0] if len(d) == 1 else d for d in dims]))


def alike(op: OpDef, types: Types, attrs: Mapping[str, Any], results: Types) -> Sequence[Dims]:
    """Operands of the results' rank must agree where they are divided; results are divided so."""
    ndim = results[0].ndim if results else 0
    return (met(op.name, [t.dims for t in types if t.ndim == ndim], ndim),) * len(results)


def each_as_it_is(op: OpDef, types: Types, attrs: Mapping[str, Any], results: Types
                  ) -> Sequence[Dims]:
    """Each result is divided as the operand at its place."""
    return [t.dims for t in types]


def anyhow(op: OpDef, types: Types, attrs: Mapping[str, Any], results: Types) -> Sequence[Dims]:
    """Operands may be divided in any way; results are not divided."""
    return [((),) * t.ndim for t in results]


def undivided(op: OpDef, types: Types, attrs: Mapping[str, Any], results: Types) -> Sequence[Dims]:
    """Operands must not be divided."""
    for t in types:
        if t.sharding is not None and t.sharding.mesh.names:
            refuse(f"{op.name} has no rule for an operand that is divided over devices, {t}: "
                   f"{RESHARD}")
    return anyhow(op, types, attrs, results)


def as_inferred(op: OpDef, types: Types, attrs: Mapping[str, Any], results: Types
                ) -> Sequence[Dims]:
    """The op's type rule says where results are."""
    return [t.dims for t in results]


def _axes(at: Any) -> list[int]:
    return [*at] if type(at) is tuple else [at]


def along(*names: str) -> Rule:
    """The dimensions that these attributes name must not be divided; the others stay divided."""
    def rule(op: OpDef, types: Types, attrs: Mapping[str, Any], results: Types) -> Sequence[Dims]:
        for name in names:
            for a in _axes(attrs[name]):
                if i := [i for i, t in enumerate(types) if t.ndim > a and t.dims[a]]:
                    refuse(f"Arguments to {op.name} must be unsharded over the dimension along "
                           f"which it computes. Got type {types[i[0]]} and dimension {a}: "
                           f"{RESHARD}")
        return alike(op, types, attrs, results)

    return rule


def gone(*names: str) -> Rule:
    """Results lack the dimensions that these attributes name; the others stay divided."""
    def rule(op: OpDef, types: Types, attrs: Mapping[str, Any], results: Types) -> Sequence[Dims]:
        axes = {a for n in names for a in _axes(attrs[n])}
        left = tuple([d for i, d in enumerate(types[0].dims) if i not in axes])
        return (left,) * len(results)

    return rule


def leading(own: int) -> Rule:
    """The last `own` dimensions of operands must not be divided, and those of results are not. The
    dimensions before them must be divided alike in all operands, and stay so."""
    def rule(op: OpDef, types: Types, attrs: Mapping[str, Any], results: Types) -> Sequence[Dims]:
        n = max([t.ndim for t in types]) - own
        for t in types:
            if any(t.dims[n:]):
                refuse(f"{op.name} takes operands whose last {own} dimensions are not divided, got "
                       f"{t}: {RESHARD}")
        before = met(op.name, [t.dims[:n] for t in types if t.ndim >= n], n)
        return [(*before, *[()] * (t.ndim - n)) if t.ndim >= n else ((),) * t.ndim
                for t in results]

    return rule


def resized(op: OpDef, types: Types, attrs: Mapping[str, Any], results: Types) -> Sequence[Dims]:
    """Results are divided as the first operand; their sizes must still divide by the axes."""
    return (types[0].dims,) * len(results)


def unchanged(op: OpDef, types: Types, attrs: Mapping[str, Any], results: Types
              ) -> Sequence[Dims]:
    """Dimensions that change size must not be divided; the others stay as they are."""
    x, out = types[0], results[0]
    for a, (n, m, d) in enumerate(zip(x.shape, out.shape, x.dims, strict=False)):
        if n != m and d:
            refuse(f"{op.name} changes dimension {a} of {x}, which is divided: {RESHARD}")
    return [(*x.dims, *[()] * (t.ndim - x.ndim))[:t.ndim] for t in results]


__all__ = ["PRODUCTS", "RESHARD", "SUMS", "along", "alike", "anyhow",
           "as_inferred", "each_as_it_is", "gone", "leading", "listed", "met", "refuse",
           "refuse_other_sums", "repairs", "resized", "spread_types", "spreads", "unchanged",
           "undivided"]
