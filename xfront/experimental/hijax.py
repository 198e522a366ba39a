"""A library's own types in programs, so far that a library that declares them can be imported.

Such types and primitives can be declared, but not used: programs here hold only arrays, so an
operation on a value of such a type is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core import AbstractValue, ShapedArray
from ..interpreters.ad import Zero
from ..on_demand import shown as _shown
from ..ref import AbstractRef


class HiType:
    """The base of a library's own types, which are not types of arrays."""


class MutableHiType(HiType):
    """The base of a library's own types whose values change."""


class AvalQDD:
    """The type of a value together with other known facts about it, `qdd`."""

    def __init__(self, aval: Any, qdd: Any) -> None:
        self.aval, self.qdd = aval, qdd


class AvalMutableQDD(AvalQDD):
    """As `AvalQDD`, for a value that changes."""


class HiPrimitive:
    """The base of operations on a library's own types; they can be declared, but not used."""

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def bind(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to record the operation. Raises: NotImplementedError."""
        raise NotImplementedError(f"{self.name}: operations on user-defined types are not in "
                                  "xfront yet; programs only hold arrays")


class VJPHiPrimitive(HiPrimitive):
    """As `HiPrimitive`, with a derivative rule of its own."""


class aval_property:
    """A property of a type that its values have too."""

    def __init__(self, fget: Callable[[Any], Any]) -> None:
        self.fget = fget


class aval_method:
    """A method of a type that its values have too."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun


_TYPES: dict[type, Callable[[Any], Any]] = {}


def register_hitype(cls: type, to_type: Callable[[Any], Any]) -> None:
    """Declare `to_type(value)` as the type of the values of a class.

    Transformed functions refuse these values as arguments, like all values that are neither arrays
    nor trees.
    """
    _TYPES[cls] = to_type


class _Effects:
    """Classes of effects that a library declares as allowed. Nothing reads them, because operations
    with such effects are refused."""

    def __init__(self) -> None:
        self.types: list[type] = []

    def add_type(self, effect: type) -> None:
        """Add a class of effects."""
        self.types.append(effect)


control_flow_allowed_effects = _Effects()


def instantiate_zeros(x: Any) -> Any:
    """An array of zeros for a symbolic zero; any other value unchanged.

    >>> hijax.instantiate_zeros(hijax.Zero(hijax.ShapedArray((2,), np.float32)))
    Array([0., 0.], dtype=float32)
    """
    if type(x) is not Zero:
        return x
    from ..numpy import zeros

    return zeros(x.aval.shape, x.aval.dtype)


def is_undefined_primal(x: Any) -> bool:
    """Whether a value stands for an operand with respect to which an op is transposed.

    >>> hijax.is_undefined_primal(1.0)
    False
    """
    from ..interpreters.ad import is_undefined_primal as asked

    return asked(x)


__all__ = [
    "AbstractRef", "AbstractValue", "AvalMutableQDD", "AvalQDD", "HiPrimitive", "HiType",
    "MutableHiType", "ShapedArray", "VJPHiPrimitive", "Zero", "aval_method", "aval_property",
    "control_flow_allowed_effects", "instantiate_zeros", "is_undefined_primal", "register_hitype",
]  # fmt: skip
__dir__ = _shown(globals())
