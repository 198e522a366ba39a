"""The typed SSA IR of xfront; see docs/ir.md. Needs numpy and ml_dtypes only."""

from typing import TYPE_CHECKING, Any

from . import dtypes, ops
from .builder import Builder
from .core import Function, Op, Value
from .cost import Cost, cost, cost_by_location
from .definition import REGISTRY, OpDef
from .dtypes import DType
from .errors import (
    IRError,
    IRTypeError,
    IRValueError,
    MissingRule,
    ParseError,
    VerifyError,
)
from .fingerprint import fingerprint, same_structure, skeleton
from .literal import Literal
from .locations import Location
from .opdef import define
from .types import TensorType, tensor

if TYPE_CHECKING:
    from .parser import parse
    from .printer import print_function
    from .reference import evaluate
    from .verifier import verify

__all__ = [
    "REGISTRY", "Builder", "Cost", "DType", "Function", "IRError", "IRTypeError", "IRValueError",
    "Literal", "Location", "MissingRule", "Op", "OpDef", "ParseError", "TensorType", "Value",
    "VerifyError", "cost", "cost_by_location", "define", "dtypes", "evaluate", "fingerprint",
    "ops", "parse", "print_function", "same_structure", "skeleton", "tensor", "verify"]

_LATE = {"parse": "parser", "print_function": "printer", "evaluate": "reference",
         "verify": "verifier"}


def __getattr__(name: str) -> Any:
    """Load a name that programs rarely need when it is first asked for."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # start-up time

    found = getattr(importlib.import_module(f".{_LATE[name]}", __name__), name)
    globals()[name] = found
    return found


def _text(self: Function) -> str:
    """The text of a Function; the printer is imported when text is first asked for."""
    return __getattr__("print_function")(self)


Function.__str__ = _text
