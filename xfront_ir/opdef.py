"""Definitions of ops: the one registry.

`define` makes an `OpDef` from everything that is true of an op: its attributes, type rule,
tangent, transpose and batching. Rules have these shapes (`b` is a builder):

    infer(types, attrs) -> tuple of types
    jvp(b, op, tangents) -> tuple of tangents              op was just emitted in b; None: zero
    jvp(b, attrs, operands, tangents) -> (results, tangents)      ops whose `own_primal` is set
    transpose(b, op, cotangents, known) -> tuple           known[i]: a value, or LINEAR
    batch(b, op, operands, positions, axis) -> (results, positions)      axis = (name, size)
    split(b, attrs, operands, linear) -> results           ops with bodies, under linearize
    strong(op, linear) -> (definition, attrs, flags)       the op in which 0 * inf is 0; and which
                                                           results depend on the linear operands
    written(op) -> Function, or None                       what the op is written as before lowering
    discharge(b, op, operands) -> (results, contents)      ops on references, with contents in place
                                                           of references; contents[i]: the content
                                                           of operand i after the op
    varying(pass, op, operands) -> (results, sets)         over which axes of a mesh they vary: see
                                                           passes/varying.py
    spread(op, types, attrs, results) -> dims of results   which explicit axes divide them: see
                                                           spreading.py

Asking for an absent rule raises an error that names the op, the rule and the file where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

from .core import Function, Value
from .definition import LINEAR_OP, REGISTRY, AttrKind, OpDef, Types
from .dtypes import DType
from .errors import (
    IRTypeError,
    IRValueError,
    MemorySpaceError,
    ShardingTypeError,
)
from .sharding import HOST, MeshAxes, Sharding, Spec
from .spreading import spread_types
from .types import TensorType

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .rules import Rules


# --- attributes -----------------------------------------------------------------------------

def _exactly(kind: type) -> Callable[[Any], bool]:
    return lambda x: type(x) is kind


def _each(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def accepts(x: Any) -> bool:
        elements: Any = x
        return type(x) is tuple and all(map(check, elements))

    return accepts


def _is_size(x: Any) -> bool:
    return type(x) is int and x >= 0


def _is_tree(x: Any) -> bool:
    return type(x) is int or type(x) is str or _is_trees(x)


_is_trees = _each(_is_tree)


_is_int, _is_bool, _is_type, _is_spec, _is_function = map(
    _exactly, (int, bool, TensorType, Spec, Function))

INT = AttrKind("int", _is_int)
SLOT = AttrKind("slot", lambda x: isinstance(x, int) and x >= 0)   # an int that may hold an object
INTS = AttrKind("ints", _each(_is_int))                     # (1, -2, 3)
SHAPE = AttrKind("ints", _each(_is_size))
AXES = AttrKind("ints", _each(_is_size))
BOOL = AttrKind("bool", _is_bool)
BOOLS = AttrKind("bools", _each(_is_bool))
FLOAT = AttrKind("float", _exactly(float))
STR = AttrKind("str", _exactly(str))
NAMES = AttrKind("tree", _is_trees)                   # axis names
TREE = AttrKind("tree", _is_tree)                     # nested tuples of ints and strings
DTYPE = AttrKind("dtype", _exactly(DType))
TYPES = AttrKind("types", _each(_is_type))
MESH = AttrKind("mesh", _exactly(MeshAxes))            # its text: see sharding.py
SPECS = AttrKind("specs", _each(_is_spec))
SHARDING = AttrKind("sharding", _exactly(Sharding))
FUNCTION = AttrKind("function", _is_function)
BODY = AttrKind("body", lambda x: _is_function(x) or isinstance(x, Pending))
FUNCTIONS = AttrKind("functions", _each(_is_function))
LITERAL = AttrKind("literal", lambda x: hasattr(x, "key") and hasattr(x, "array"))
PYTHON = AttrKind("python", lambda x: True)           # Deferred and other Python: py"name#n"
DERIVATIVE = AttrKind("python", lambda x: True)       # a Deferred that only derivatives use


def enum(*choices: str) -> AttrKind:
    """An attribute that is one of a few words."""
    return AttrKind("word", lambda x: type(x) is str and x in choices, choices=choices)


def optional(kind: AttrKind) -> AttrKind:
    """The same attribute, where None is also a value (and the default)."""
    return AttrKind(kind.text, kind.check, optional=True, choices=kind.choices)


# --- Python that is traced later ------------------------------------------------------------

class Request:
    """A request to a Deferred or to a body: a role, and the details on which its answer depends.

    `role`: jvp, fwd, bwd, batch, transpose, policy for a Deferred; jvp, vectorize, grad, ... for a
    Pending body. `details` is hashable.
    """

    __slots__ = ("details", "role")

    def __init__(self, role: str, *details: Any) -> None:
        self.role, self.details = role, details

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Request) and self.role == other.role
                and self.details == other.details)

    def __hash__(self) -> int:
        return hash((self.role, self.details))

    def __repr__(self) -> str:
        return f"{self.role}{self.details}"


class Deferred(Protocol):
    """A custom rule: Python that is traced while a pass runs. The tracing side supplies it.

    `function(request)` gives a Function of the op's operands: the rule's own first, then captures.
    The result is memoised on the Deferred, never on the Python function.
    """

    name: str

    def function(self, request: Request) -> Function:
        """The Function for `request`."""
        ...


class Transform(Protocol):
    """How a body is transformed; `Transformation` in `passes/requests.py` says what each of these
    is."""

    def __call__(self, function: Function, request: Request) -> Function: ...
    def types(self, function: Function, request: Request) -> tuple[Types, Types]: ...
    def weak_returns(self, function: Function, request: Request) -> tuple[bool, ...]: ...
    def pending(self, function: Function, request: Request) -> Pending: ...
    def own_sets(self, request: Request, sets: Sequence[frozenset[str]]
                 ) -> Sequence[frozenset[str]]: ...
    def all_sets(self, request: Request, function: Function, sets: Sequence[frozenset[str]],
                 results: Sequence[frozenset[str]]
                 ) -> tuple[Sequence[frozenset[str]], Sequence[frozenset[str]]]: ...
    def binds(self, request: Request) -> tuple[Any, ...]: ...
    def discharged(self, function: Function, request: Request
                   ) -> tuple[Pending, tuple[int, ...], tuple[int, ...]]: ...


class Pending:
    """A body that is a transformation not yet carried out: (Function, request).

    Its types follow from the request, and so does its fingerprint; the pass runs when something
    first looks inside. `transform` carries it out: whoever makes the body supplies it, so that this
    file knows no pass. The types are supplied too, or `transform` is asked for them when they are
    first needed.
    """

    __slots__ = ("_types", "forced", "function", "request", "transform")

    forced: Function | None            # the transformed Function, once it has been computed

    def __init__(self, function: Function, request: Request,
                 transform: Transform, param_types: Types | None = None,
                 return_types: Types = ()) -> None:
        self.function, self.request, self.transform = function, request, transform
        self._types = None if param_types is None else (param_types, return_types)
        self.forced = None

    @property
    def param_types(self) -> Types:
        """Types of the parameters of the transformed Function."""
        return self._all_types()[0]

    @property
    def return_types(self) -> Types:
        """Types of the values that it returns."""
        return self._all_types()[1]

    def _all_types(self) -> tuple[Types, Types]:
        if self._types is None:
            self._types = self.transform.types(self.function, self.request)
        return self._types

    def discharged(self) -> tuple[Pending, tuple[int, ...], tuple[int, ...]]:
        """The same transformation of the Function with contents in place of references: (body,
        the parameters whose contents it returns, the order of its returns that puts these last)."""
        return self.transform.discharged(self.function, self.request)

    def force(self, function: Function | None = None) -> Function:
        """The transformed Function; computed once, from an equal `function` where one is given."""
        if self.forced is None:
            self.forced = self.transform(function or self.function, self.request)
        return self.forced


# --- definitions ----------------------------------------------------------------------------

@overload
def define(name: str, *, single: Literal[False], **rules: Unpack[Rules]
           ) -> OpDef[tuple[Value, ...]]: ...


@overload
def define(name: str, *, single: Literal[True] = True, **rules: Unpack[Rules]
           ) -> OpDef[Value]: ...


def define(name: str, **rules: Any) -> OpDef[Any]:
    """Define an op by the arguments of `OpDef`, and enter it in the registry.

    Raises: IRValueError where the name is taken, or regions are missing.
    """
    made: OpDef[Any] = OpDef(name, **rules)
    if not made.apart and REGISTRY.setdefault(name, made) is not made:
        raise IRValueError(f"op {name!r} is defined twice")
    return made


def check_attrs(definition: OpDef, attrs: Mapping[str, Any]) -> None:
    """Refuse attributes outside the schema. Raises: IRTypeError."""
    schema = definition.attrs
    for key, kind in schema.items():
        if key not in attrs:
            if kind.optional:
                continue
            raise IRTypeError(f"{definition.name}: attribute {key!r} ({kind}) is missing")
        value = attrs[key]
        if (value is not None or not kind.optional) and not kind.check(value):
            raise IRTypeError(f"{definition.name}: attribute {key!r} must be {kind}, got {value!r}")
    if extra := [key for key in attrs if key not in schema]:
        raise IRTypeError(f"{definition.name} has no attribute called {extra[0]!r}")


def infer_types(definition: OpDef, types: tuple[TensorType, ...],
                attrs: Mapping[str, Any]) -> tuple[TensorType, ...]:
    """Result types, with the schema and the number of operands checked.

    Raises: IRTypeError; ShardingTypeError where the axes of operands do not say a result's.
    """
    if definition.n_operands is not None and len(types) != definition.n_operands:
        raise IRTypeError(f"{definition.name} takes {definition.n_operands} operands, "
                          f"got {len(types)}")
    check_attrs(definition, attrs)
    for t in types:
        if t.sharding is not None and not definition.has_bodies:
            return spread_types(definition, types, attrs,
                                linear=definition.jvp is LINEAR_OP)
    return tuple(definition.infer(types, attrs))


def type_of_alike(definition: OpDef, kind: TensorType) -> TensorType:
    """The result type where all operands are of type `kind`, for an op without attributes, with a
    fixed number of operands and one result. Raises: IRTypeError."""
    assert definition.n_operands is not None, definition
    (found,) = infer_types(definition, (kind,) * definition.n_operands, {})
    definition.alike[kind] = found
    return found


def infer_anyway(definition: OpDef, types: tuple[TensorType, ...],
                 attrs: Mapping[str, Any]) -> tuple[TensorType, ...]:
    """As `infer_types`, without its refusals about places. Where it is ambiguous which axes divide
    the results, none does; and if an operand is in the host's memory, the results are there."""
    try:
        return infer_types(definition, types, attrs)
    except MemorySpaceError:
        return infer_anyway(definition, tuple([t.in_memory(HOST) for t in types]), attrs)
    except ShardingTypeError:
        memory = HOST if HOST in [t.memory for t in types] else None
        found = infer_types(definition, tuple([t.plain for t in types]), attrs)
        return tuple([t.in_memory(memory) for t in found])
