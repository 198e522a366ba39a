"""NumPy rows of custom rules and checkpoints, and of the ops that their derivatives leave."""

from __future__ import annotations

from typing import Any

from ..dtypes import from_numpy
from ..reference import Steps, reference
from ..types import tensor


@reference("custom_jvp", "custom_vjp", "checkpoint")
def _value(attrs: Any, types: Any, *operands: Any) -> Steps:
    return tuple((yield attrs["body"], operands))


@reference("checkpoint_name")
def _checkpoint_name(attrs: Any, types: Any, x: Any) -> Any:
    return x


@reference("custom_vjp_tangent")
def _custom_vjp_tangent(attrs: Any, types: Any, *operands: Any) -> Steps:
    from ..ops.custom import tangent_function  # ops may be loaded after this module

    operand_types = tuple([tensor(x.shape, from_numpy(x.dtype)) for x in operands])
    return tuple((yield tangent_function(operand_types, attrs), operands))
