"""The objects that a function reads besides its arguments, if none of them can change in place.

A trace may serve later calls if everything that Python read during tracing is still the same. A
function reads the values in its closure cells and defaults, the globals that its code names, and
what the functions among these read. Members of a library's modules count as well, because a program
may replace them. Numbers, strings, arrays and objects that libraries define cannot change; a list,
an object or a module of the user may, and then the answer is None.
"""

from __future__ import annotations

import builtins
import dis
import functools
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .. import binding
from ..base.on_demand import loaded_names

_LIBRARIES = {"xfront", "jax", "numpy", "ml_dtypes", "math", "operator", "functools", "itertools",
              "builtins"}
_FIXED = {type(None), bool, int, float, complex, str, bytes, np.dtype, type(...), range, CodeType,
          binding.ArrayImpl}
_CHANGING = {"globals", "vars", "open", "input", "eval", "exec", "__import__"}
_ABSENT: Any = object()


@functools.lru_cache(maxsize=4096)
def _globals_of(code: CodeType) -> frozenset[str] | None:
    """The names of the globals that code and its nested functions read; None if it imports, or
    draws random numbers from NumPy's global state."""
    names: set[str] = set()
    for step in dis.get_instructions(code):
        if step.opname in ("IMPORT_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
            return None
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(step.argval)
    for inner in code.co_consts:
        if type(inner) is CodeType:
            if (found := _globals_of(inner)) is None:
                return None
            names |= found
    return frozenset(names)


def reads(*start: Any) -> list[Any] | None:
    """The objects in `start` and all objects that they read; None if one of these may change."""
    found: list[Any] = []
    pending, seen = [*start], set()
    while pending:
        x = pending.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        found.append(x)
        kind = type(x)
        if kind in _FIXED or _is_of_library(x):
            continue
        if kind is tuple:
            pending += x
        elif kind is slice:
            pending += x.start, x.stop, x.step
        elif kind is functools.partial and not x.__dict__:
            pending += [x.func, *x.args, *x.keywords, *x.keywords.values()]
        elif kind is FunctionType and not x.__dict__:
            held = _held(x)
            if held is None:
                return None
            pending += held
            for member in _members(held, _names_of(x.__code__)):
                (found if _stays(member) else pending).append(member)
        else:
            return None
    return found


def _held(fun: FunctionType) -> list[Any] | None:
    """The code of a function, the values that it holds, and the globals that it names; None if one
    cannot be known."""
    names = _globals_of(fun.__code__)
    if names is None or not _CHANGING.isdisjoint(names):
        return None
    try:
        held = [cell.cell_contents for cell in fun.__closure__ or ()]
    except ValueError:                           # a variable that is not there yet
        return None
    around = fun.__globals__
    values = [around.get(n, getattr(builtins, n, _ABSENT)) for n in sorted(names)]
    named = {id(x) for x in values}              # `==` of a global may raise, or give an array
    if id(_ABSENT) in named or (id(np) in named and _draws(fun.__code__)):
        return None
    return [fun.__code__, *held, *(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values(),
            *values]


@functools.lru_cache(maxsize=4096)
def _names_of(code: CodeType) -> frozenset[str]:
    """All names in code and in its nested functions, those of attributes included."""
    return frozenset(code.co_names).union(
        *[_names_of(inner) for inner in code.co_consts if type(inner) is CodeType])


def _members(held: list[Any], names: frozenset[str]) -> list[Any]:
    """A flat list of module, name and value, for each of `names` that a module in `held`, or a
    module that is a member of one, defines. What a library defines under its own name is left out;
    a value that a program put in its place, as tests do, is listed."""
    found: list[Any] = []
    modules = [x for x in held if isinstance(x, ModuleType)]
    for module in modules:                       # the list grows during the loop
        around = loaded_names(module)
        for name in names:
            x = around.get(name, _ABSENT)
            if isinstance(x, ModuleType) and x not in modules:
                modules.append(x)
            if x is not _ABSENT and not (getattr(x, "__name__", None) == name
                                         and _is_of_library(x)):
                found += module, name, x
    return found


def _draws(code: CodeType) -> bool:
    """Whether code names `random`, which may be NumPy's."""
    return "random" in code.co_names or any(
        [_draws(inner) for inner in code.co_consts if type(inner) is CodeType])


def _stays(member: Any) -> bool:
    """Whether a member of a library's module has come with a library."""
    owner = member if type(member) is FunctionType else type(member)
    return str(owner.__module__).partition(".")[0] in _LIBRARIES


def _is_of_library(x: Any) -> bool:
    """Whether a library defines this object: one of its modules, or what a module has by name."""
    if isinstance(x, ModuleType):
        return x.__name__.partition(".")[0] in _LIBRARIES and x.__name__ != "numpy.random"
    try:
        module, name = getattr(x, "__module__", None), getattr(x, "__name__", None)
    except Exception:                            # a user's __getattr__ may raise anything
        return False
    if type(module) is not str or module.partition(".")[0] not in _LIBRARIES:
        return False
    return type(name) is str and loaded_names(sys.modules.get(module, builtins)).get(name) is x


__all__ = ["reads"]
