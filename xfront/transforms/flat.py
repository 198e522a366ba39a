"""From a call to a traced Function and back: what every front door shares."""

# hot: benchmarks/transforms.py

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from xfront_ir.core import Function
from xfront_ir.passes.dead_code import dead_code

from ..arrays import binding
from ..arrays.dispatch import abstract
from ..arrays.keys import KeyArray
from ..arrays.operands import is_array_like
from ..arrays.refs import Ref
from ..tracing.compiled import prune
from ..tracing.trace import Traced, trace_function, type_of, used_as
from ..tracing.tracer import Tracer
from ..tree_util import keystr, tree_flatten, tree_flatten_with_path
from .float0 import hidden, is_float0


def name_of(fun: Any) -> str:
    """A name for functions, partials and callable objects."""
    while not hasattr(fun, "__name__"):
        inner = getattr(fun, "func", None) or getattr(fun, "__wrapped__", None)
        if inner is None:
            return type(fun).__name__
        fun = inner
    return fun.__name__


def placed(fun: Any) -> str:
    """Name of a function and the line where it stands, for errors."""
    name, inner = name_of(fun), fun
    while not hasattr(inner, "__code__"):
        inner = getattr(inner, "func", None) or getattr(inner, "__wrapped__", None)
        if inner is None:
            return name
    return f"{name} at {inner.__code__.co_filename}:{inner.__code__.co_firstlineno}"


def positional_names(fun: Any) -> list[str]:
    """Names of the arguments that may be given by position; none where unknown."""
    inner = fun
    while not hasattr(inner, "__signature__") and hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    if type(inner) is FunctionType and not hasattr(inner, "__signature__"):
        return list(inner.__code__.co_varnames[:inner.__code__.co_argcount])
    import inspect  # methods, partials, callable objects

    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return []
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in by_position]


def kind_of(name: str, x: Any) -> tuple[Any, bool]:
    """IR type and weakness of a tracer or of a concrete leaf. Raises: TypeError."""
    kind = type(x)
    if kind is Tracer:
        return x.value.type, x.weak
    if kind is binding.ArrayImpl:
        aval = x.aval
        return aval.ir or type_of(x)[0], aval.weak_type
    if kind is KeyArray:
        return abstract(name, x)
    if hasattr(x, "__jax_array__"):
        return kind_of(name, x.__jax_array__())
    if is_array_like(x):
        return abstract(name, x)
    if kind is Ref:
        x.refuse_frozen(name)
        return x.aval.ir, False
    raise TypeError(
        f"{name}: value {x!r} of type {type(x)} is not a valid array type; arguments are arrays, "
        "numbers and trees of them (mark others static, or bind them with functools.partial)")


def as_operand(x: Any) -> Any:
    """A leaf as `bind` takes it."""
    if type(x) is binding.ArrayImpl or type(x) is Tracer:
        return x
    if type(x) is Ref:
        return used_as(x)
    return x.__jax_array__() if hasattr(x, "__jax_array__") else x


class Flat:
    """A traced call: the Function with what it captured, and the structure of its result."""

    __slots__ = ("_read", "captures", "function", "out_tree", "trace")

    def __init__(self, traced: Traced, out_tree: Any) -> None:
        self.function: Function = traced.function
        self.captures, self.trace, self.out_tree = traced.captures, traced.trace, out_tree
        self._read: list[bool] | None = None

    def read(self) -> list[bool]:
        """For each parameter, whether a result or an effect depends on it."""
        if self._read is None:
            self._read = prune(dead_code(self.function))[1]
        return self._read


def trace_call(call: Callable[[list[Tracer]], Any], kinds: Sequence[tuple[Any, bool]], *,
               name: str, kind: str, staging: bool, axis: Any = None,
               inputs: list[Any] | None = None, param_names: Sequence[str] = ()) -> Flat:
    """Trace `call(tracers) -> tree` and flatten what it returns.

    Raises: TypeError where a returned leaf is no array.
    """
    out_tree: Any = None
    has_refs = False
    for t, _ in kinds:
        has_refs = has_refs or t.dtype.is_ref

    def run(tracers: list[Tracer]) -> list[Any]:
        nonlocal out_tree
        if has_refs:
            tracers = [Ref(x) if x.value.type.dtype.is_ref else x for x in tracers]  # type: ignore
        result = call(tracers)
        flat, out_tree = tree_flatten(result)
        for x in flat:
            if type(x) is not Tracer:
                if not is_array_like(x):
                    refuse_output(name, result)
                if is_float0(x):
                    flat, out_tree = tree_flatten(hidden(result))
                    break
        return flat

    traced = trace_function(run, [t for t, _ in kinds], [w for _, w in kinds], name=name, kind=kind,
                            staging=staging, axis=axis, inputs=inputs, param_names=param_names)
    return Flat(traced, out_tree)


def refuse_output(name: str, result: Any) -> None:
    """Raise the TypeError that says which returned leaf is no array."""
    for path, x in tree_flatten_with_path(result)[0]:
        if type(x) is Ref:
            raise ValueError(f"function {name} returned a mutable array reference of type {x.aval} "
                             f"at result{keystr(path)}, but mutable array references cannot be "
                             "returned; return ref[...]")
        if not is_array_like(x):
            raise TypeError(f"{name} returned {x!r} of type {type(x)} at result{keystr(path)}, "
                            "which is not a valid array type; return arrays, numbers or None")


def fill(args: Sequence[Any], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """`args` with those at `places` replaced."""
    filled = list(args)
    for i, v in zip(places, values, strict=True):
        filled[i] = v
    return filled
