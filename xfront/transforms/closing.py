"""Finds the values that a custom rule closes over: live tracers, and values that may change."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Value
from xfront_ir.literal import Literal, literal
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType

from ..base.errors import UnexpectedTracerError
from ..base.trees import default_registry
from ..binding import Array
from ..running.keys import identity_text
from ..tracing.tracer import Tracer
from ..values.keys import key_base
from .flat import Flat


def closes_over_tracer(fun: Any) -> bool:
    """Whether a live tracer is in a rule's closure cells, partial arguments or bound self, or in
    those of functions that these hold, at any depth."""
    return _closes_over(fun, _held, lambda x: type(x) is Tracer, _ALL)


def closes_over_value(fun: Any) -> bool:
    """Whether a rule is a float or complex number or an array, or holds one, or reads a global that
    is one.

    Such values may change from call to call.
    """
    return is_value(fun) or _closes_over(fun, _held_and_named, is_value, 3)


def is_value(x: Any) -> bool:
    """Whether this is a float or complex number of Python's or NumPy's, or an array."""
    return isinstance(x, (float, complex, np.inexact, np.ndarray, Array))


_ALL = 1000
"""A depth of functions in functions that no program reaches."""


def _closes_over(fun: Any, held: Callable[[Any], list], wanted: Callable[[Any], bool],
                 depth: int) -> bool:
    """Whether `wanted` is true of a value that `fun` holds, or of one that a function among these
    holds, down to `depth` functions."""
    level, seen = [fun], {id(fun)}
    for _ in range(depth):
        below: list[Any] = []
        for x in [x for f in level for x in held(f)]:
            inside = _inside(x)
            if any(map(wanted, inside)):
                return True
            new = [y for y in inside if callable(y) and id(y) not in seen]
            seen.update(map(id, new))
            below += new
        if not below:
            return False
        level = below
    return False


def _inside(x: Any) -> list[Any]:
    """A list of `x` and, if it is a list, tuple or dict, of all nodes and leaves in it.

    `tree_flatten` would not do: a function may close over a dict whose keys have no order, or over
    a list that holds itself.
    """
    if not isinstance(x, (list, tuple, dict)):
        return [x]
    found: list[Any] = []
    pending, seen = [x], {id(x): x}
    while pending:
        y = pending.pop()
        for part in _parts(y):
            if id(part) not in seen:
                seen[id(part)] = part
                pending.append(part)
        found.append(y)
    return found


def _parts(x: Any) -> Sequence[Any]:
    """The children of a node; none for a leaf."""
    if isinstance(x, dict):
        return list(x.values())
    if isinstance(x, (list, tuple)):
        return x
    try:
        one_level = default_registry.flatten_one_level(x)
    except Exception:  # a class may refuse such an object, which then holds nothing for a rule
        return ()
    return () if one_level is None else list(one_level[0])


def _held(fun: Any) -> list[Any]:
    found: list[Any] = []
    if isinstance(fun, functools.partial):
        found += [*fun.args, *fun.keywords.values(), fun.func]
    return [*found, getattr(fun, "__self__", None), getattr(fun, "__wrapped__", None), *_cells(fun)]


def _cells(fun: Any) -> list[Any]:
    """The values in the cells of a function's closure."""
    found: list[Any] = []
    for cell in getattr(fun, "__closure__", None) or ():
        with contextlib.suppress(ValueError):    # an empty cell: defined later
            found.append(cell.cell_contents)
    return found


def _held_and_named(fun: Any) -> list[Any]:
    """The values that a function holds, and those of its globals that are numbers or arrays. To
    follow all globals would lead through half the library."""
    code, known = getattr(fun, "__code__", None), getattr(fun, "__globals__", {})
    named = [] if code is None else map(known.get, _names(code))
    return [*_held(fun), *filter(is_value, named)]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def rule_apart(custom: Any, static: Sequence[Any]) -> str:
    """A text that is the same for two rules only if their Python is. It is part of the fingerprint
    of rules that may behave differently although their Functions for one request are equal."""
    return identity_text([custom, *static, *[x for f in custom.python for x in (f, *_cells(f))]])


def with_constants(flat: Flat, n_own: int, rule: str) -> Function:
    """The Function with its captured arrays as literals, so that it is closed.

    Raises: UnexpectedTracerError where it captured a tracer.
    """
    for x in flat.captures:
        if type(x) is Tracer:
            raise UnexpectedTracerError(
                f"{rule} uses a tracer of type {x.value.type} that was not passed to its function; "
                "pass the value to the function as an argument")
    return arranged(flat.function, flat.captures, n_own, (), {}) if flat.captures else flat.function


def arranged(function: Function, captures: Sequence[Any], n_own: int, types: Sequence[TensorType],
             place: Mapping[Value, int]) -> Function:
    """A rule's Function with parameters own, one for each of `types`, rest. `place` gives the index
    in `types` of each captured tracer; captured arrays become literals."""
    b = PlacedBuilder(function.name)
    n_given = len(function.params) - len(captures)
    own = [b.param(v.type) for v in function.params[:n_own]]
    given = [b.param(t) for t in types]
    rest = [b.param(v.type) for v in function.params[n_own:n_given]]
    held = [given[place[x.value]] if type(x) is Tracer else _constant(b, v, x)
            for v, x in zip(function.params[n_given:], captures, strict=True)]
    return b.close(b.inline(function, (*own, *rest, *held)), function.weak_returns)


def _constant(b: Builder, v: Any, x: Any) -> Any:
    """A captured array as a literal inside a rule's Function."""
    array = np.asarray(key_base(x))
    made = b.emit(literal, value=Literal(array), shape=array.shape)
    if not v.type.dtype.is_key:
        return made
    return b.emit(ops.random_wrap, made, impl=v.type.dtype.implementation)


__all__ = ["arranged", "closes_over_tracer", "closes_over_value", "rule_apart", "with_constants"]
