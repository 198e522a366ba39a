"""The definition of an op: its rules, attributes and traits, which `opdef.py` explains.

This file stands below values and ops, so a rule's type says here only what it is called with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from .errors import IRValueError, MissingRule
from .fixed import Named
from .types import TensorType

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R = TypeVar("R", default=Any)
else:
    from typing import TypeVar

    R = TypeVar("R")                   # the result of `emit`: a Value or a tuple of Values

Attrs = Mapping[str, Any]
Types = tuple[TensorType, ...]
Infer = Callable[[Types, Attrs], Types]
"""A type rule. Raises: IRTypeError."""


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


class Trait(Named):
    """A fact about an op."""

    __slots__ = ()


Traits = frozenset[Trait]


@dataclass(slots=True, eq=False, repr=False)
class OpDef(Generic[R]):
    """Everything that is true of an op; complete once the file that defines it is imported.

    Its type parameter is what `emit` returns: `OpDef[Value]`, `OpDef[tuple[Value, ...]]`.

    Args:
      name: as in text; letters, digits and underscores.
      infer: type rule; the only rule that refuses.
      attrs: schema, name to kind, in the order in which they print.
      jvp: tangent rule, `ZERO`, `LINEAR_OP` or `NONE`.
      transpose, batch, split: rules as in the first lines of `opdef.py`; `NONE` declares absence.
      strong: as there; None: the op itself serves where zeros are strong.
      regions: of an op with bodies or groups of operands, what they are.
      effects: None, True, or a function of the attributes.
      cost: function of an op giving (flops, bytes), or None for the default from sizes.
      operands: how many, or None for any number (then `infer` checks).
      single: whether the op has exactly one result; `emit` then returns it bare.
      own_primal: whether `jvp` emits the primal itself (ops with bodies, custom rules).
      mentions_axis: function of the attributes giving the named axes the op reads (collectives).
      varying: as in those lines; None: results vary over every axis over which an operand does.
      family: the file where the op is defined; given as a module where that is not `infer`'s.
      written: as in those lines; None: the op has a lowering.
      discharge: as there; None: the op takes no reference.
      apart: whether the op is left out of the registry: it belongs to this process, its text does
        not parse, and other ops may have its name.
    """

    name: str
    infer: Infer
    attrs: Mapping[str, AttrKind] = field(default_factory=dict[str, AttrKind])
    jvp: Any = None
    transpose: Any = None
    batch: Any = None
    split: Callable[..., Iterable[Any]] | None = None
    strong: Callable[..., tuple[OpDef, dict[str, Any], Sequence[bool]]] | None = None
    regions: Any = None
    effects: bool | Callable[[Attrs], bool] | None = None
    cost: Callable[[Any], tuple[int, int]] | None = None
    operands: InitVar[int | None] = None
    single: bool = True
    own_primal: bool = False
    mentions_axis: Callable[[Attrs], Collection[str]] | None = None
    varying: Callable[..., Any] | None = None
    family: str = ""
    written: Callable[[Any], Any] | None = None
    discharge: Callable[..., tuple[Sequence[Any], Mapping[int, Any]]] | None = None
    apart: bool = False
    spread: Any = field(init=False, default=None)       # set by `spreads` in spreading.py
    traits: Traits = field(init=False, default=frozenset())          # set by `mark` in traits.py
    work: int = field(init=False, default=1)            # how many operations it takes per element
    memo: dict[Any, Any] = field(init=False, default_factory=dict[Any, Any])
    """What `infer` gave, by types and attributes."""
    alike: dict[TensorType, TensorType] = field(
        init=False, default_factory=dict[TensorType, TensorType])
    """What `type_of_alike` gave, by the type of the operands."""
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
