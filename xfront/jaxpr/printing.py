"""Programs as text, in JAX's notation.

    { lambda ; a:f32[3]. let
        b:f32[3] = sin a
        c:f32[3] = mul b 2.0:f32[]
      in (c,) }
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, product
from string import ascii_lowercase
from typing import Any, NamedTuple, Protocol

import numpy as np

from .atoms import DropVar, Literal, Var

WIDTH = 80


class Eqn(Protocol):
    """The type of an eqn for this file, with the attributes that it reads: see `views.JaxprEqn`."""

    @property
    def primitive(self) -> Any: ...
    @property
    def invars(self) -> Any: ...
    @property
    def outvars(self) -> Any: ...
    @property
    def params(self) -> Any: ...
    @property
    def source_info(self) -> Any: ...


class Program(Protocol):
    """The type of a program for this file, with the attributes that it reads: see `views.Jaxpr`."""

    @property
    def constvars(self) -> Any: ...
    @property
    def invars(self) -> Any: ...
    @property
    def outvars(self) -> Any: ...
    @property
    def eqns(self) -> Any: ...
    @property
    def effects(self) -> Any: ...


class Shown(NamedTuple):
    """Options of the text of a program: whether it shows the user's line of each operation, the
    scopes around it, the types of values, all parameters (even those of no interest), effects."""

    lines: bool = False
    scopes: bool = False
    types: bool = True
    all_params: bool = False
    effects: bool = False


PLAIN = Shown()


class _Names:
    """The names of the Vars of one program and of the programs inside it, and the options of the
    text."""

    def __init__(self, shown: Shown = PLAIN) -> None:
        self.shown = shown
        self.free = _letters()
        self.known: dict[Var, str] = {}

    def of(self, atom: Any) -> str:
        if isinstance(atom, Literal):
            return _literal(atom)
        if isinstance(atom, DropVar):
            return "_"
        found = self.known.get(atom)
        if found is None:
            found = self.known[atom] = next(self.free)
        return found

    def typed(self, atom: Any) -> str:
        if not self.shown.types:
            return self.of(atom)
        return f"{self.of(atom)}:{atom.aval.str_short(short_dtypes=True)}"


def _letters() -> Iterator[str]:
    for n in count(1):
        for letters in product(ascii_lowercase, repeat=n):
            yield "".join(letters)


def _literal(atom: Literal) -> str:
    value = atom.val
    short = atom.aval.str_short(short_dtypes=True)
    return f"{value}:{short}" if np.ndim(value) == 0 else f"[...]:{short}"


def print_jaxpr(jaxpr: Program, shown: Shown = PLAIN) -> str:
    """The text of a program."""
    return _jaxpr(jaxpr, _Names(shown), "")


def print_eqn(eqn: Eqn) -> str:
    """The text of one eqn; its Vars are named from `a` on."""
    return "\n".join(_eqn(eqn, _Names(), ""))


def _jaxpr(jaxpr: Program, names: _Names, indent: str) -> str:
    consts = " ".join(map(names.typed, jaxpr.constvars))
    params = " ".join(map(names.typed, jaxpr.invars))
    head = f"{{ lambda {consts}; {params}. let"
    lines = [line for eqn in jaxpr.eqns for line in _eqn(eqn, names, indent + "    ")]
    outs = ", ".join(map(names.of, jaxpr.outvars)) + ("," if len(jaxpr.outvars) == 1 else "")
    end = f"in ({outs}){_effects(jaxpr)} }}" if names.shown.effects else f"in ({outs}) }}"
    noted = names.shown.lines or names.shown.scopes
    short = f"{head} {' '.join([line.strip() for line in lines])} {end}"
    if not noted and len(lines) <= 1 and len(indent) + len(short) <= WIDTH and indent:
        return " ".join(short.split())
    return "\n".join([head, *lines, f"{indent}  {end}"])


def _effects(jaxpr: Program) -> str:
    return f" : {{ {', '.join(sorted(map(str, jaxpr.effects)))} }}"


def _eqn(eqn: Eqn, names: _Names, indent: str) -> list[str]:
    first, *rest = _text_of(eqn, names, indent)
    return [first + _notes(eqn, names.shown), *rest]


def _notes(eqn: Eqn, shown: Shown) -> str:
    """The user's line and the scopes of an eqn, as a comment."""
    found = []
    if shown.lines and (place := eqn.source_info.location) is not None:
        found.append(f"{place.file}:{place.line} ({place.function})")
    if shown.scopes:
        found.append(f"[{eqn.source_info.name_stack}]")
    return "".join([f"  # {note}" for note in found])


def _text_of(eqn: Eqn, names: _Names, indent: str) -> list[str]:
    read = " ".join(map(names.of, eqn.invars))
    made = " ".join(map(names.typed, eqn.outvars))       # named before the Vars inside the eqn
    params = _params(eqn, names, indent + "  ")
    start = f"{indent}{made} = {eqn.primitive.name}" if made else f"{indent}{eqn.primitive.name}"
    end = f" {read}" if read else ""
    if not params:
        return [start + end]
    one = f"{start}[{' '.join(params)}]{end}"
    if len(one) <= WIDTH and "\n" not in one and not any("{ lambda" in p for p in params):
        return [one]
    inner = [f"{indent}  {p}" for p in params]
    return [f"{start}[", *"\n".join(inner).split("\n"), f"{indent}]{end}"]


_PLAIN = (None, False)


def _is_plain(value: Any) -> bool:
    """Whether a parameter of jit has the value that it has by default."""
    return all(map(_is_plain, value)) if type(value) is tuple else value in _PLAIN


def _params(eqn: Eqn, names: _Names, indent: str) -> list[str]:
    params = eqn.params
    if names.shown.all_params:
        pass
    elif eqn.primitive.name == "jit":              # leave out params with their usual values
        params = {k: v for k, v in params.items() if k in ("name", "jaxpr") or not _is_plain(v)}
    elif eqn.primitive.name == "broadcast_in_dim" and not params.get("broadcast_dimensions", 1):
        params = {} if not eqn.invars[0].aval.shape else params
    keys = sorted(params, key=lambda k: (k != "name" or eqn.primitive.name != "jit", k))
    return [f"{k}={_value(params[k], names, indent)}" for k in keys]


def _value(value: Any, names: _Names, indent: str) -> str:
    if hasattr(value, "eqns"):                   # a Jaxpr, closed or not
        return _jaxpr(getattr(value, "jaxpr", value), names, indent)
    if type(value) in (tuple, list) and any(hasattr(x, "eqns") for x in value):
        inner = "\n".join([f"{indent}  {_value(x, names, indent + '  ')}" for x in value])
        return f"(\n{inner}\n{indent})"
    if isinstance(value, np.dtype):
        return value.name
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return str(value)
