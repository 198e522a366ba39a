"""The signatures of an op's rules, for type checkers; `opdef` says what the rules mean.

No program imports this file while it runs. A tangent or a cotangent is a value, or None where it
is zero. A rule is not called where all of them are zero, so a rule of a single operand never gets
None. `known` of a transpose rule holds values and LINEAR.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Required, TypedDict

from .core import Function, Op, Value
from .definition import AttrKind, Attrs, Infer, Marker, OpDef
from .definition import Types as Types
from .regions import Regions

# What stands above this file: a `builder.Builder`, a `builder.SplitBuilder`, a `varying.Varying`.
Builder = Any
SplitBuilder = Any
Varying = Any

Axis = tuple[str, int]
Tangents = Sequence[Any]
"""What a rule takes: values, and None for zero. Which of them a rule never finds None follows from
the number of the op's operands, which no type says."""
NewTangents = Sequence[Value | None]
"""What a rule gives: a value for each operand or result, None for zero."""
Positions = Sequence[int | None]
Values = Sequence[Value]
Batched = tuple[Values, Positions]
Varied = tuple[Values, Sequence[frozenset[str]]]
Discharged = tuple[Values, Mapping[int, Value]]
WithTangents = tuple[Values, NewTangents]


Jvp = Callable[[Builder, Op, Tangents], NewTangents]
"""A tangent rule: the tangents of the results of an op that was just emitted."""
OwnPrimal = Callable[[Builder, dict[str, Any], Values, Tangents], WithTangents]
"""A tangent rule that emits the op too: results and their tangents."""
Transpose = Callable[[Builder, Op, Tangents, Sequence[Any]], NewTangents]
"""A transpose rule: the cotangents of the operands."""
Batch = Callable[[Builder, Op, Values, Positions, Axis], Batched]
"""A batching rule: the results for a batch, and the positions of their batch axes."""
Split = Callable[[SplitBuilder, dict[str, Any], Values, tuple[bool, ...]], Iterable[Value]]
"""A rule by which linearize divides an op with bodies: the results."""
Strong = Callable[[Op, tuple[bool, ...]], tuple[OpDef, dict[str, Any], Sequence[bool]]]
"""The op's form with strong zeros, its attributes, and which results depend on linear operands."""
Discharge = Callable[[Builder, Op, Values], Discharged]
"""A discharge rule: values in place of the results, and new contents of operand references."""
VaryingRule = Callable[[Varying, Op, Values], Varied]
"""The results, and over which axes each varies."""


class Rules(TypedDict, total=False):
    """The arguments of `define`, except the name of the op and `single`."""

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
