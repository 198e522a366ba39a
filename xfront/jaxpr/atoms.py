"""The parts of jaxprs: Vars, Literals, effects, and the source information of eqns."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..binding.abstract import AbstractArray

no_effects: frozenset[Any] = frozenset()


class OpEffect:
    """The effect of an op; two are equal where the names of their primitives are."""

    __slots__ = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name = name or type(self).__name__

    def __repr__(self) -> str:
        return f"{self.name}Effect"

    def __eq__(self, other: object) -> bool:
        return type(other) is OpEffect and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class Var:
    """A value of a program, with its type `aval`; it is equal only to itself."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """A result that nothing reads."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


class Literal:
    """An operand with a known value.

    Args:
      val: a NumPy scalar or array.
      aval: its type.
    """

    __slots__ = ("aval", "val")

    def __init__(self, val: Any, aval: Any = None) -> None:
        if aval is None:
            aval = AbstractArray(np.shape(val), np.asarray(val).dtype)
        self.val, self.aval = val, aval

    def __repr__(self) -> str:
        return f"{self.val}:{self.aval.str_short(short_dtypes=True)}"


Atom = Var | Literal


def gensym(suffix: str = "") -> Callable[[Any], Var]:
    """A function that makes a new Var of a type; Vars get their names when a program is printed."""
    if suffix:
        raise NotImplementedError("gensym: suffix must be empty: Vars have no names of their own")
    return Var


class SourceInfo(NamedTuple):
    """The source of an eqn: the `location` of its op in the IR, with the scopes around it."""

    location: Any

    @property
    def name_stack(self) -> str:
        """Names of scopes and transformations, outermost first, with slashes between."""
        return "/".join(self.location.scope) if self.location is not None else ""

    @property
    def traceback(self) -> None:
        """None: an op keeps a location and no traceback."""

    def __str__(self) -> str:
        return "?" if self.location is None else str(self.location)


class EqnContext:
    """The settings under which an eqn was recorded, for interpreters that run eqns as JAX's do:
    `with eqn.ctx.manager: eqn.primitive.bind(...)`.

    The params of an eqn hold all that it depends on, so `manager` sets nothing.
    """

    __slots__ = ()

    compute_type = xla_metadata = None
    threefry_partitionable = True
    remove_size_one_mesh_axis = False
    manager = contextlib.nullcontext()

    def __repr__(self) -> str:
        return "EqnContext()"


CONTEXT = EqnContext()


class DebugInfo(NamedTuple):
    """The transformation and the function for which a program was traced."""

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None = None
    result_paths: tuple[str, ...] | None = None

    @property
    def func_name(self) -> str:
        """Name of the function, without the line of its definition."""
        return self.func_src_info.split(" ")[0]
