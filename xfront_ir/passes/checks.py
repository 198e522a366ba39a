"""Checks: the first check that fails becomes a result of the program.

    func @f(%x: f32[]) -> (f32[]) {            func @f(%x: f32[]) -> (f32[], i32[], f32[]) {
      %0: f32[] = log(%x)                        %0: f32[] = log(%x)
      %1: bool[] = gt(%x, 0)                     %1: bool[] = gt(%x, 0)
      callback(%1, %x) {check}                   %2: i32[] = select(%1, 0, 1)
      return %0                                  %3: f32[] = select(%1, 0, %x)
    }                                            return %0, %2, %3
                                               }

The number of a check is its place in `Checked.sites`, from one; 0 says that all hold. The values
that a check reports beside its number stand in results that all checks with values of that type
share. Bodies write to references, which `discharge` carries through control flow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import dtypes
from ..builder import Builder
from ..core import Function, Op, Value, bodies_of
from ..dtypes import ref_dtype
from ..ops.control import call
from ..ops.convert import convert
from ..ops.elementwise import rem
from ..ops.formulas import Term, of_values, where
from ..ops.gathering import gather
from ..ops.indexing import concatenate, dynamic_slice, dynamic_update_slice
from ..ops.reduce import reduce_and, reduce_min
from ..ops.refs import get, new_ref, swap
from ..ops.shape import broadcast_in_dim, iota, reshape
from ..ops.shard_map import shard_map
from ..placed_builder import PlacedBuilder
from ..regions import add, with_bodies
from ..sharding import replicated
from ..types import TensorType, tensor
from .discharge import discharge

NUMBER = tensor((), dtypes.i32)


class Failure(NamedTuple):
    """A check: whether it holds (a bool scalar), what identifies it, and the values it reports."""

    holds: Value
    site: Any
    reported: Sequence[Value]


class Checked(NamedTuple):
    """A Function whose last results are the number of the first failed check and values of the
    types `reported`; and for each check what identifies it, and which of these it reports."""

    function: Function
    reported: tuple[TensorType, ...]
    sites: tuple[tuple[Any, tuple[int, ...]], ...]


Checks = Callable[[Builder, Op], Sequence[Failure]]


def with_checks(fn: Function, checks: Checks) -> Checked:
    """The Function with its checks as results.

    Args:
      checks: function that emits, for an op, the values of the checks to make after it. An op
        without results for which it returns a check is itself a check, and is dropped.
    Raises: NotImplementedError where a function with a custom rule checks something, and has other
      effects that would come twice.
    """
    walk = _Walk(checks)
    inner, used = walk.body(fn)
    b = PlacedBuilder(fn.name)
    b.params = [Value(v.type) for v in fn.params]
    types = [NUMBER, *walk.reported]
    refs = [b.emit(new_ref, b.zeros(t)) for t in types]
    results = b.inline(inner, [*b.params, *[refs[k] for k in used]])
    last = [b.emit(get, r) for r in refs]
    whole = Function(fn.name, b.params, b.ops, [*results, *last])
    return Checked(discharge(whole)[0], tuple(walk.reported), tuple(walk.sites))


class _Walk:
    """The walk through the Functions, which adds parameters for references. Reference 0 holds the
    number of the first check that failed."""

    def __init__(self, checks: Checks) -> None:
        self.checks = checks
        self.reported: list[TensorType] = []
        self.sites: list[tuple[Any, tuple[int, ...]]] = []
        self.done: dict[int, tuple[Function, tuple[int, ...], Function]] = {}

    def body(self, fn: Function) -> tuple[Function, tuple[int, ...]]:
        """The Function with a parameter for each reference that it writes, and their keys."""
        found = self.done.get(id(fn))
        if found is None:
            made, used = self._body(fn)
            found = self.done[id(fn)] = made, used, fn       # fn is held, so that its id stays
        return found[0], found[1]

    def _body(self, fn: Function) -> tuple[Function, tuple[int, ...]]:
        b = PlacedBuilder(fn.name)
        refs: dict[int, Value] = {}
        for op in fn.ops:
            b.loc = op.loc
            before = len(b.ops)
            failures = self.checks(b, op)
            emitted, b.ops[before:] = b.ops[before:], []
            if not (failures and not op.results):
                b.ops.extend(self._ops(op, refs))
            b.ops.extend(emitted)
            for failure in failures:
                self._record(b, failure, refs)
        if not refs:
            return fn, ()
        return fn.replace(params=(*fn.params, *refs.values()), ops=b.ops, param_names=(),
                          weak_params=()), tuple(refs)

    def _ops(self, op: Op, refs: dict[int, Value]) -> list[Op]:
        """The op, with the references that its bodies write as operands. An op with a custom rule
        stays beside a call of its body that writes them. Bodies of other ops are left alone."""
        definition = op.definition
        ruled, parted = has_rule(op), definition is shard_map
        if not (ruled or parted or definition.has_bodies and definition.discharge is not None):
            return [op]
        made = [self.body(body) for body in bodies_of(op)]
        if not any(used for _, used in made):
            return [op]
        if ruled:
            ((checked, used),) = made
            called = Op(call, (*op.operands, *[self._ref(k, refs) for k in used]),
                        {"body": checked, "name": checked.name},
                        tuple([Value(v.type) for v in op.results]), op.loc)
            return [called, silent(op)]
        if parted:
            return self._of_parts(op, *made[0], refs)
        return [add(op, [f for f, _ in made], [[self._ref(k, refs) for k in used]
                                               for _, used in made])]

    def _of_parts(self, op: Op, checked: Function, used: tuple[int, ...], refs: dict[int, Value]
                  ) -> list[Op]:
        """A `shard_map` that also returns the reports of all devices as rows, and ops that write
        the row of the first device whose checks failed."""
        axes, outs = op.attrs["axes"], op.attrs["out_specs"]
        n = op.attrs["mesh"].size_of(axes)
        inner = PlacedBuilder(checked.name)
        params = [Value(v.type) for v in checked.params[:len(op.operands)]]
        types = [self._type(k) for k in used]
        own = [inner.emit(new_ref, inner.zeros(t)) for t in types]
        results = inner.inline(checked, [*params, *own])
        rows = [inner.emit(reshape, inner.emit(get, r), shape=(1, *t.shape))
                for r, t in zip(own, types, strict=True)]
        body, _ = discharge(Function(checked.name, params, inner.ops, [*results, *rows]))
        found = [Value(t.with_shape((n, *t.shape))) for t in types]
        specs = [replicated(t.ndim).insert(0, axes) for t in types]
        made = Op(op.definition, op.operands, {**op.attrs, "body": body,
                  "out_specs": (*outs, *specs)}, (*op.results, *found), op.loc)
        b = PlacedBuilder(checked.name)
        numbers = found[used.index(0)]
        failed = Term(b, numbers) != 0
        place = Term(b, b.emit(iota, dtype=dtypes.i32, shape=(n,), dimension=0))
        device = reduce_min(where(failed, place, n - 1), axes=(0,)).value
        number = self._ref(0, refs)
        holds = (get(Term(b, number)) == 0).value
        for key, rows_of, type in zip(used, found, types, strict=True):
            starts = [device, *[b.zeros(NUMBER) for _ in type.shape]]
            row = b.emit(dynamic_slice, rows_of, *starts, sizes=(1, *type.shape))
            _put_where(b, holds, self._ref(key, refs), b.emit(reshape, row, shape=type.shape))
        return [made, *b.ops]

    def _type(self, key: int) -> TensorType:
        return NUMBER if key == 0 else self.reported[key - 1]

    def _ref(self, key: int, refs: dict[int, Value]) -> Value:
        if key not in refs:
            type = self._type(key)
            refs[key] = Value(tensor(type.shape, ref_dtype(type.dtype)))
        return refs[key]

    def _record(self, b: Builder, failure: Failure, refs: dict[int, Value]) -> None:
        """Write the number and the values of a check if it is the first to fail."""
        places = self._places([v.type for v in failure.reported])
        self.sites.append((failure.site, places))
        number = self._ref(0, refs)
        of_number = Term(b, number)
        before = get(of_number)
        first = (before == 0) & ~Term(b, failure.holds)
        own = before.like(len(self.sites))
        swap(of_number, where(first, own, before))
        for v, place in zip(failure.reported, places, strict=True):
            _put_where(b, first.value, self._ref(place + 1, refs), v)

    def _places(self, types: Sequence[TensorType]) -> tuple[int, ...]:
        """The places in `reported` for values of these types; values of one check share none."""
        places: list[int] = []
        for type in types:
            free = [i for i, t in enumerate(self.reported) if t is type and i not in places]
            if not free:
                self.reported.append(type)
                free = [len(self.reported) - 1]
            places.append(free[0])
        return tuple(places)


def _put_where(b: Builder, holds: Value, ref: Value, v: Value) -> None:
    """Write a value to a reference where a bool scalar holds."""
    chosen, of_ref = Term(b, holds), Term(b, ref)
    if v.type.shape:
        chosen = broadcast_in_dim(chosen, shape=v.type.shape, dims=())
    swap(of_ref, where(chosen, Term(b, v), get(of_ref)))


def has_rule(op: Op) -> bool:
    """Whether an op is a function with a custom derivative rule."""
    return op.definition.has_bodies and "rule" in op.definition.attrs


def silent(op: Op) -> Op:
    """The op after those ops in its bodies that have effects and no results, such as checks, are
    dropped."""
    return with_bodies(op, [*map(_silent_body, bodies_of(op))])


def _silent_body(body: Function) -> Function:
    kept = [silent(op) if op.definition.has_bodies else op for op in body.ops
            if op.results or not op.definition.has_effects(op.attrs)]
    for op in kept:
        if op.definition.has_effects(op.attrs):
            raise NotImplementedError(
                f"checks inside @{body.name}, a function with a custom rule, are not supported, "
                f"because it also has a {op.definition.name}, which would run twice. Move the "
                "checks outside that function")
    return body.with_ops(kept)


# --- what ops can be checked for --------------------------------------------------------------

def _all_of(holds: Term) -> Term:
    """Whether all elements of a bool array hold."""
    return reduce_and(holds, axes=tuple(range(holds.type.ndim)))



@of_values
def no_nan(x: Term) -> Term:
    """Whether no element is NaN."""
    return _all_of(x == x)


@of_values
def no_zero(x: Term) -> Term:
    """Whether no element is zero."""
    return _all_of(x != 0)


def index_inside(b: Builder, op: Op) -> tuple[Value, list[Value], tuple[int, ...]] | None:
    """For an op that reads or writes blocks at positions: whether all blocks lie inside, the first
    index that does not and its place in an index vector, and the axes that an index vector names.

    None for another op.
    """
    found = _positions(b, op)
    if found is None:
        return None
    rows, limits, axes = found
    indices = convert(Term(b, rows), dtype=dtypes.i32)
    n, k = indices.type.shape
    one = tensor((1,), dtypes.i32)
    limit = broadcast_in_dim(concatenate(*[indices.like(limit, one) for limit in limits],
                                         dimension=0), shape=(n, k), dims=(1,))
    inside = (indices >= 0) & (indices <= limit)
    place = Term(b, b.emit(iota, dtype=dtypes.i32, shape=(n * k,), dimension=0))
    good = reshape(inside, shape=(n * k,))
    first = reduce_min(where(good, n * k, place), axes=(0,))
    listed = reshape(indices, shape=(n * k,))
    index = reshape(dynamic_slice(listed, first, sizes=(1,)), shape=())
    column = rem(first, k)
    return _all_of(inside).value, [index.value, column.value], axes


def _positions(b: Builder, op: Op) -> tuple[Value, list[int], tuple[int, ...]] | None:
    """Index vectors as rows, the largest index of each column, and the axes that they name."""
    definition, attrs = op.definition, op.attrs
    shape = op.operands[0].type.shape if op.operands else ()
    if definition in (dynamic_slice, dynamic_update_slice):
        n = 1 if definition is dynamic_slice else 2
        starts = op.operands[n:]
        sizes = attrs["sizes"] if n == 1 else op.operands[1].type.shape
        axes = tuple(range(len(starts)))
        columns = [b.emit(reshape, s, shape=(1, 1)) for s in starts]
        rows = b.emit(concatenate, *columns, dimension=1) if columns else None
    elif definition is gather:
        sizes, axes, rows = attrs["slice_sizes"], attrs["start_index_map"], op.operands[1]
    elif attrs.get("mode") == "drop":
        return None
    elif "scatter_dims_to_operand_dims" in definition.attrs:
        axes, rows = attrs["scatter_dims_to_operand_dims"], op.operands[1]
        taken = (*attrs["inserted_window_dims"], *attrs["operand_batching_dims"])
        windows = iter(attrs["update_window_dims"])
        sizes = [              # pyright: ignore[reportUnknownVariableType]
            1 if d in taken else op.operands[2].type.shape[next(windows)]
            for d in range(len(shape))]
    else:
        return None
    if rows is None or not axes or 0 in rows.type.shape:
        return None
    n = rows.type.size // len(axes)
    return (b.emit(reshape, rows, shape=(n, len(axes))),
            [shape[d] - sizes[d] for d in axes], axes)
