"""Definitions of ops: the one registry.

`define` makes an `OpDef` from everything that is true of an op: its attributes, type rule,
tangent, transpose and batching. Rules have these shapes (`b` is a builder):

    infer(types, attrs) -> tuple of types
    jvp(b, op, tangents) -> tuple of tangents              op was just emitted in b; None: zero
    jvp(b, attrs, operands, tangents) -> (results, tangents)      ops whose `own_primal` is set
    transpose(b, op, cotangents, known) -> tuple           known[i]: a value, or LINEAR
    batch(b, op, operands, positions, axis) -> (results, positions)      axis = (name, size)
    split(b, attrs, operands, linear) -> results           ops with bodies, under linearize
    strong(op, linear) -> (definition, attrs, flags)       its form with strong zeros; which results
                                                           depend on the linear operands
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

from collections.abc import Callable, Collection, Mapping
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, overload

from .core import Function, Value
from .dtypes import DType
from .errors import (
    IRTypeError,
    IRValueError,
    MemorySpaceError,
    MissingRule,
    ShardingTypeError,
)
from .fixed import Named
from .sharding import HOST, MeshAxes, Sharding, Spec
from .spreading import spread_types
from .traits import Traits
from .types import TensorType

if TYPE_CHECKING:
    from typing_extensions import TypeVar, Unpack

    from .core import Op
    from .passes.requests import Transformation
    from .rules import (
        Attrs,
        Discharge,
        Infer,
        Rules,
        Split,
        Strong,
        Types,
        VaryingRule,
    )

    R = TypeVar("R", default=Any)
else:
    from typing import TypeVar

    R = TypeVar("R")                   # what `emit` gives: a Value, or the tuple of them


class Marker(Named):
    """A named object that stands in place of a rule or of a value."""

    __slots__ = ()


class _Linear(Marker):
    """Stands for a linear operand, which has no value. A rule reads it as a value only where it
    transposes something that is not linear."""

    __slots__ = ()

    @property
    def type(self) -> TensorType:
        """It has no type. Raises: MissingRule."""
        raise MissingRule("the function is not linear: it computes a product or quotient of two "
                          "values that both depend on the input, or selects by such a value")


LINEAR = _Linear("LINEAR")
"""In `known` of a transpose rule: this operand is linear; it has a cotangent and no value."""

ZERO = Marker("ZERO")
"""As a jvp: the derivative is zero everywhere (comparisons, integer ops, sign)."""

NONE = Marker("NONE")
"""As a rule: the op declares that it has none, and says so when the rule is asked for."""

LINEAR_OP = Marker("LINEAR_OP")
"""As a jvp: the op is linear in all its operands together, so its tangent is itself."""


# --- attributes -----------------------------------------------------------------------------

class AttrKind:
    """What an attribute may hold. `check` decides; `text` names the form that the printer uses."""

    __slots__ = ("check", "choices", "optional", "text")

    def __init__(self, text: str, check: Callable[[Any], bool], *, optional: bool = False,
                 choices: tuple[str, ...] = ()) -> None:
        self.text, self.check, self.optional, self.choices = text, check, optional, choices

    def __repr__(self) -> str:
        return f"optional {self.text}" if self.optional else self.text

    def accepts(self, value: Any) -> bool:
        """Whether `value` is a legal value of this attribute."""
        return (self.optional and value is None) or self.check(value)


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
                 transform: Transformation, param_types: Types | None = None,
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

@dataclass(slots=True, eq=False, repr=False)
class OpDef(Generic[R]):
    """Everything that is true of an op; complete once the file that defines it is imported.

    Its type parameter is what `emit` returns: `OpDef[Value]`, `OpDef[tuple[Value, ...]]`.

    Args:
      name: as in text; letters, digits and underscores.
      infer: type rule; the only rule that refuses.
      attrs: schema, name to kind, in the order in which they print.
      jvp: tangent rule, `ZERO`, `LINEAR_OP` or `NONE`.
      transpose, batch, split: rules as in this file's first lines; `NONE` declares absence.
      strong: as there; None: the op is its own form with strong zeros.
      regions: of an op with bodies or groups of operands, what they are.
      effects: None, True, or a function of the attributes.
      cost: function of an op giving (flops, bytes), or None for the default from sizes.
      operands: how many, or None for any number (then `infer` checks).
      single: whether the op has exactly one result; `emit` then returns it bare.
      own_primal: whether `jvp` emits the primal itself (ops with bodies, custom rules).
      mentions_axis: function of the attributes giving the named axes the op reads (collectives).
      varying: as in this file's first lines; None: results vary over all that an operand does.
      family: the file where the op is defined; given as a module where that is not `infer`'s.
      written: as in this file's first lines; None: the op has a lowering.
      discharge: as there; None: the op takes no reference.
      apart: not in the registry: the op belongs to this process, its text is not parsed, and others
        may have its name.
    """

    name: str
    infer: Infer
    attrs: Mapping[str, AttrKind] = field(default_factory=dict[str, AttrKind])
    jvp: Any = None
    transpose: Any = None
    batch: Any = None
    split: Split | None = None
    strong: Strong | None = None
    regions: Any = None
    effects: bool | Callable[[Attrs], bool] | None = None
    cost: Callable[[Op], tuple[int, int]] | None = None
    operands: InitVar[int | None] = None
    single: bool = True
    own_primal: bool = False
    mentions_axis: Callable[[Attrs], Collection[str]] | None = None
    varying: VaryingRule | None = None
    family: str = ""
    written: Callable[[Op], Function | None] | None = None
    discharge: Discharge | None = None
    apart: bool = False
    spread: Any = field(init=False, default=None)       # set by `spreads` in spreading.py
    traits: Traits = field(init=False, default=frozenset())          # set by `mark` in traits.py
    work: int = field(init=False, default=1)            # how many operations it takes per element
    memo: dict[Any, Any] = field(init=False, default_factory=dict[Any, Any])
    """What `infer` gave, by types and attributes."""
    alike: dict[TensorType, TensorType] = field(
        init=False, default_factory=dict[TensorType, TensorType])
    """What `of_alike` gave, by the type of the operands."""
    n_operands: int | None = field(init=False)
    body_attrs: tuple[str, ...] = field(init=False)
    has_bodies: bool = field(init=False)
    is_call: bool = field(init=False)          # its body's ops may replace it at any time
    holds_mesh: bool = field(init=False)       # an attribute names a mesh, which may have devices
    holds_python: bool = field(init=False)     # bodies or Python, which a memo must not keep alive
    has_numbers: bool = field(init=False)      # some attribute may be a number: 2 and 2.0 differ
    has_floats: bool = field(init=False)       # some may be a float: 0.0 and -0.0 differ
    room: str = field(init=False)              # the name of its family's files, or ""

    def __post_init__(self, operands: int | None) -> None:
        """Raises: IRValueError where regions are missing."""
        self.n_operands = operands
        kinds = {key: kind.text for key, kind in self.attrs.items()}
        held, regions = {*kinds.values()}, self.regions
        self.body_attrs = tuple([k for k, text in kinds.items()
                                 if text in ("function", "functions", "body")])
        self.has_bodies = bool(self.body_attrs)
        if {*self.body_attrs} != {*(() if regions is None else regions.bodies)}:
            raise IRValueError(f"op {self.name!r} does not declare the regions of "
                               f"{self.body_attrs}")
        self.is_call = regions is not None and regions.is_call
        self.holds_python = self.has_bodies or not held.isdisjoint(("python", "slot"))
        self.holds_mesh = not held.isdisjoint(("mesh", "sharding"))
        self.has_numbers = not held.isdisjoint(("int", "float", "bool", "tree", "python"))
        self.has_floats = not held.isdisjoint(("float", "python"))
        module = self.family or getattr(self.infer, "__module__", "?")
        self.family = module.replace(".", "/") + ".py"
        package, _, room = module.rpartition(".")
        self.room = room if package.endswith("xfront_ir.ops") else ""

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (lookup, (self.name,))

    def __call__(self, *operands: Any, **attrs: Any) -> Any:
        """Apply this op in a formula to Terms and numbers; numbers take the last Term's type."""
        return [v for v in operands if hasattr(v, "apply")][-1].apply(self, operands, attrs)

    def rule(self, which: str) -> Any:
        """The rule called `which`, or the error that says where to add it.

        Raises: MissingRule.
        """
        found = getattr(self, which)
        if found is None or found is NONE:
            declared = " (it is declared not to have one)" if found is NONE else ""
            why = f"{self.name} is not linear: " if which == "transpose" else ""
            raise MissingRule(f"{why}op {self.name!r} has no {which} rule{declared}; the rule "
                              f"belongs where the op is defined, in {self.family}")
        return found

    def of_alike(self, kind: TensorType) -> TensorType:
        """The result type where all operands are of type `kind`, for an op without attributes, with
        a fixed number of operands and one result. Raises: IRTypeError."""
        assert self.n_operands is not None, self
        (found,) = infer_types(self, (kind,) * self.n_operands, {})
        self.alike[kind] = found
        return found

    def has_effects(self, attrs: Mapping[str, Any]) -> bool:
        """Whether an op with these attributes has an effect of its own; bodies do not count."""
        effects = self.effects
        return bool(effects(attrs) if callable(effects) else effects)


REGISTRY: dict[str, OpDef] = {}


def lookup(name: str) -> OpDef:
    """The definition of the op called `name`. Raises: IRValueError where there is none."""
    try:
        return REGISTRY[name]
    except KeyError:
        raise IRValueError(f"there is no op called {name!r}") from None


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


def infer_anyway(definition: OpDef, types: tuple[TensorType, ...],
                 attrs: Mapping[str, Any]) -> tuple[TensorType, ...]:
    """As `infer_types`, but where the op's rule cannot tell axes of the results they have none, and
    results are in the host's memory where one of the operands is."""
    try:
        return infer_types(definition, types, attrs)
    except MemorySpaceError:
        return infer_anyway(definition, tuple([t.in_memory(HOST) for t in types]), attrs)
    except ShardingTypeError:
        memory = HOST if HOST in [t.memory for t in types] else None
        found = infer_types(definition, tuple([t.plain for t in types]), attrs)
        return tuple([t.in_memory(memory) for t in found])
