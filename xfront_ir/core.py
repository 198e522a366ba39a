"""Values, ops and functions: what a program is made of.

Nothing changes once a builder has closed. A `Value` is produced once, by a parameter or by one
op, and does not point back at it, so a program is acyclic and dies by reference count. A
`Function` is closed: its ops read its parameters and one another's results, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, TypeVarTuple

from .fixed import Fixed
from .types import TensorType

if TYPE_CHECKING:
    from .definition import OpDef
    from .locations import Location

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Value:
    """One SSA value; its identity is its name."""

    __slots__ = ("type",)

    def __init__(self, type: TensorType) -> None:
        self.type = type

    def __repr__(self) -> str:
        return f"<value {self.type}>"


class Op:
    """One operation: `results = definition(operands) {attrs}`."""

    __slots__ = ("attrs", "definition", "loc", "operands", "results")

    def __init__(self, definition: OpDef, operands: tuple[Value, ...], attrs: dict[str, Any],
                 results: tuple[Value, ...], loc: Location | None = None) -> None:
        self.definition, self.operands, self.attrs = definition, operands, attrs
        self.results, self.loc = results, loc

    def __repr__(self) -> str:
        operands = ", ".join(str(v.type) for v in self.operands)
        return f"<op {self.definition.name}({operands})>"


NO_ATTRS: dict[str, Any] = {}
"""The attributes of every op that has none."""


class Function(Fixed):
    """A closed program: parameters, ops in order, returned values.

    `param_names` are what the user called the parameters (paths into trees included), for text
    and errors. `weak_params` and `weak_returns` say which dtypes are weak for promotion; ops never
    see them. Either tuple may be empty, which means "all strong" or "no names".
    """

    __slots__ = ("__weakref__", "memo", "name", "ops", "param_names", "params", "returns",
                 "weak_params", "weak_returns")

    def __init__(self, name: str, params: Sequence[Value], ops: Sequence[Op],
                 returns: Sequence[Value], *, param_names: Sequence[str] = (),
                 weak_params: Sequence[bool] = (), weak_returns: Sequence[bool] = ()) -> None:
        self.name = name
        self.params, self.ops, self.returns = tuple(params), tuple(ops), tuple(returns)
        self.param_names = tuple(param_names)
        self.weak_params, self.weak_returns = tuple(weak_params), tuple(weak_returns)
        self.memo: dict[Any, Any] = {}     # facts derived by passes; dies with the Function

    def __repr__(self) -> str:
        ins = ", ".join(str(v.type) for v in self.params)
        outs = ", ".join(str(v.type) for v in self.returns)
        return f"<func @{self.name}({ins}) -> ({outs}), {len(self.ops)} ops>"

    @property
    def param_types(self) -> tuple[TensorType, ...]:
        """Types of the parameters."""
        return tuple([v.type for v in self.params])

    @property
    def return_types(self) -> tuple[TensorType, ...]:
        """Types of the returned values."""
        return tuple([v.type for v in self.returns])

    def replace(self, **changes: Any) -> Function:
        """A copy with some parts changed; derived facts are not carried over."""
        parts: dict[str, Any] = {
            "name": self.name, "params": self.params, "ops": self.ops, "returns": self.returns,
            "param_names": self.param_names, "weak_params": self.weak_params,
            "weak_returns": self.weak_returns}
        parts.update(changes)
        return Function(**parts)

    def with_ops(self, ops: Sequence[Op]) -> Function:
        """A copy with other ops; the Function itself where they are the same."""
        made = tuple(ops)
        return self if made == self.ops else self.replace(ops=made)

    def bodies(self) -> Iterator[Function]:
        """Functions held directly by the attributes of this one's ops."""
        for op in self.ops:
            if op.definition.has_bodies:
                yield from bodies_of(op)


_ITSELF: Any = object()


def remembered(fn: Function, key: Hashable, make: Callable[[*Ts], T], *args: *Ts) -> T:
    """The result of `make(*args)`, computed once for each Function and key. A memo never holds its
    own Function: with such a cycle, the Function would not die by reference count."""
    found: Any = fn.memo.get(key)
    if found is None:
        found = make(*args)
        fn.memo[key] = _ITSELF if found is fn else found
    itself: Any = fn
    return itself if found is _ITSELF else found


def stays(fn: Function, key: Hashable) -> Function:
    """`fn`; from now on `remembered(fn, key, ...)` returns it as well."""
    fn.memo[key] = _ITSELF
    return fn


def bodies_of(op: Op) -> Iterator[Function]:
    """Functions held by an op's attributes, in the order of its schema."""
    for name in op.definition.body_attrs:
        held = op.attrs[name]
        if isinstance(held, Function):
            yield held
        elif isinstance(held, tuple):
            yield from held
        elif held is not None:
            yield forced(held)


class Forcible(Protocol):
    """A body that a pass still has to make: see `opdef.Pending`."""

    def force(self) -> Function:
        """The Function."""
        ...


def forced(body: Function | Forcible) -> Function:
    """The Function of a body, after its transformation has been carried out if one is pending."""
    return body if isinstance(body, Function) else body.force()


def renamed(op: Op, names: Mapping[Value, Value]) -> Op:
    """The op with its operands replaced by their values in `names`; itself if none is in there.
    """
    if names.keys().isdisjoint(op.operands):
        return op
    return Op(op.definition, tuple([names.get(v, v) for v in op.operands]), op.attrs, op.results,
              op.loc)
