"""What the rules of an op take and give, for type checkers; what they mean is said in `opdef`.

No program reads this file while it runs. A tangent or a cotangent is a value, or None where it is
zero; a rule is not called where all are, so one of a single operand meets no None. `known` of a
transpose rule holds values and LINEAR.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Required, TypedDict

if TYPE_CHECKING:
    from .builder import Builder, SplitBuilder
    from .core import Function, Op, Value
    from .opdef import AttrKind, Marker, OpDef, Pending, Request
    from .passes.varying import Names, Varying
    from .regions import Regions
    from .types import TensorType

Attrs = Mapping[str, Any]
Types = tuple["TensorType", ...]
Axis = tuple[str, int]
Tangents = Sequence[Any]
Positions = Sequence["int | None"]
Values = Sequence["Value"]
Batched = tuple[Values, Positions]
Varied = tuple[Values, Sequence["Names"]]
Discharged = tuple[Values, Mapping[int, "Value"]]
WithTangents = tuple[Values, Tangents]


class Infer(Protocol):
    """A type rule. Raises: IRTypeError."""

    def __call__(self, types: Types, attrs: Attrs, /) -> Types: ...


class Jvp(Protocol):
    """A tangent rule: the tangents of the results of an op that was just emitted."""

    def __call__(self, b: Builder, op: Op, tangents: Tangents, /) -> Tangents: ...


class OwnPrimal(Protocol):
    """A tangent rule that emits the op too: results and their tangents."""

    def __call__(self, b: Builder, attrs: dict[str, Any], operands: Values, tangents: Tangents, /
                 ) -> WithTangents: ...


class Transpose(Protocol):
    """The cotangents of the operands."""

    def __call__(self, b: Builder, op: Op, cotangents: Tangents, known: Sequence[Any], /
                 ) -> Tangents: ...


class Batch(Protocol):
    """The results of a batch, and where their batch axes are."""

    def __call__(self, b: Builder, op: Op, operands: Values, positions: Any, axis: Axis, /
                 ) -> Batched: ...


class Split(Protocol):
    """The results of an op with bodies that linearize divides."""

    def __call__(self, b: SplitBuilder, attrs: dict[str, Any], operands: Values,
                 linear: tuple[bool, ...], /) -> Iterable[Value]: ...


class Strong(Protocol):
    """The form with strong zeros, its attributes, and which results depend on linear operands."""

    def __call__(self, op: Op, linear: tuple[bool, ...], /
                 ) -> tuple[OpDef, dict[str, Any], Sequence[bool]]: ...


class Discharge(Protocol):
    """What stands for the results, and the contents of the references among the operands."""

    def __call__(self, b: Builder, op: Op, operands: Values, /) -> Discharged: ...


class VaryingRule(Protocol):
    """The results, and over which axes each varies."""

    def __call__(self, v: Varying, op: Op, operands: Values, /) -> Varied: ...


class Rules(TypedDict, total=False):
    """What `define` takes beside the name of an op and `single`."""

    infer: Required[Infer]
    attrs: Mapping[str, AttrKind] | None
    jvp: Jvp | OwnPrimal | Marker | None
    transpose: Transpose | Marker | None
    batch: Batch | Marker | None
    split: Split | None
    strong: Strong | None
    regions: Regions | None
    effects: bool | Callable[[Attrs], bool] | None
    cost: Callable[[Op], tuple[int, int]] | None
    operands: int | None
    own_primal: bool
    mentions_axis: Callable[[Attrs], Collection[str]] | None
    varying: VaryingRule | None
    family: str | None
    written: Callable[[Op], Function | None] | None
    discharge: Discharge | None
    apart: bool


class Transformation(Protocol):
    """What carries out the requests of one kind, and knows of the result what it can without."""

    def __call__(self, function: Function, request: Request, /) -> Function: ...

    def pending(self, function: Function, request: Request, /) -> Pending:
        """The body of this request on `function`, which may have got further parameters."""
        ...

    def types(self, function: Function, request: Request, /) -> tuple[Types, Types]:
        """Of the parameters and of the results."""
        ...

    def weak_returns(self, function: Function, request: Request, /) -> tuple[bool, ...]:
        """Weakness of the results."""
        ...

    def discharged(self, function: Function, request: Request, /
                   ) -> tuple[Pending, tuple[int, ...], tuple[int, ...]]:
        """The request on contents in place of references; see `Pending.discharged`."""
        ...

    def own_sets(self, request: Request, sets: Sequence[Names], /) -> Sequence[Names]:
        """Over which axes the Function's parameters vary, from those of the transformed one."""
        ...

    def all_sets(self, request: Request, function: Function, sets: Sequence[Names],
                 results: Sequence[Names], /) -> tuple[Sequence[Names], Sequence[Names]]:
        """The same of the transformed parameters and results, from those of the Function's."""
        ...

    def binds(self, request: Request, /) -> tuple[Any, ...]:
        """The named axes that it binds."""
        ...
