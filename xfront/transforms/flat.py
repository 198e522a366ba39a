"""From a call to a traced Function and back: the code that all front doors share."""

# hot: benchmarks/transforms.py

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from xfront_ir.core import Function
from xfront_ir.passes.dead_code import dead_code

from .. import binding
from ..base.holders import held_by
from ..base.trees import keystr, tree_flatten, tree_flatten_with_path, tree_map, tree_unflatten
from ..eager.dispatch import abstract
from ..eager.operands import SCALARS, held_array, is_array_like
from ..running.compiling import prune
from ..tracing.trace import Recorded, state, trace_function, type_of, used_as
from ..tracing.tracer import Tracer
from ..values.high import HiTracer
from ..values.keys import KeyArray
from ..values.refs import REFS, Ref
from .float0 import HIDES, flat_values, hidden, is_hidden


def name_of(fun: Any) -> str:
    """A name for functions, partials and callable objects."""
    while not isinstance(getattr(fun, "__name__", None), str):
        inner = getattr(fun, "func", None) or getattr(fun, "__wrapped__", None)
        if inner is None:
            return type(fun).__name__
        fun = inner
    return fun.__name__


def placed(fun: Any) -> str:
    """Name of a function and the line of its definition, for errors."""
    name, inner = name_of(fun), fun
    while not hasattr(inner, "__code__"):
        inner = getattr(inner, "func", None) or getattr(inner, "__wrapped__", None)
        if inner is None:
            return name
    return f"{name} at {inner.__code__.co_filename}:{inner.__code__.co_firstlineno}"


def positional_names(fun: Any) -> list[str]:
    """Names of the parameters that take arguments by position; none where unknown."""
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


def positions(what: str, argnums: Any) -> tuple[bool, tuple[int, ...]]:
    """Whether an option names one argument, and the positions of those that it names, which may be
    integers of NumPy. `what` is the option in the error. Raises: TypeError."""
    one = hasattr(argnums, "__index__") and not getattr(argnums, "ndim", 0)
    try:
        return one, tuple([operator.index(i) for i in ((argnums,) if one else argnums)])
    except TypeError:
        raise TypeError(f"{what} must be an int or a sequence of ints, got {argnums!r}") from None


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
        return kind_of(name, held_by(x))
    if is_array_like(x):
        return abstract(name, x)
    if kind in REFS:
        x.refuse_frozen(name)
        return x.aval.ir, False
    raise TypeError(
        f"{name}: value {x!r} of type {type(x)} is not a valid array type; arguments must be "
        "arrays, numbers or trees of them (mark other arguments static, or bind them with "
        "functools.partial)")


def as_operand(x: Any) -> Any:
    """A leaf in the form that `bind` takes."""
    if type(x) is binding.ArrayImpl or type(x) is Tracer:
        return x
    if type(x) in REFS:
        return used_as(x)
    return held_array(x)


_TRACED: Any = object()
"""Stands for a tracer in a result that outlives its trace."""


class Aux:
    """The second part of a has_aux result: its tracers are traced, other values pass unchanged."""

    __slots__ = ("leaves", "tree")

    def strip(self, name: str, result: Any) -> tuple[Any, list[Any]]:
        """(value, tracers of aux). Raises: TypeError where the result is not a pair."""
        check_pair(name, result)
        leaves, self.tree = tree_flatten(result[1])
        if HIDES and HiTracer in map(type, leaves):
            leaves, self.tree = tree_flatten(tree_map(
                lambda x: HIDES[0].node(x, None) if type(x) is HiTracer else x, result[1]))
        self.leaves = [_TRACED if type(x) is Tracer else x for x in leaves]
        return result[0], [x for x in leaves if type(x) is Tracer]

    def restore(self, result: tuple[Any, list[Any]]) -> tuple[Any, Any]:
        """(value, aux), from the value and the results for which the tracers stood."""
        traced = iter(result[1])
        return result[0], tree_unflatten(self.tree, [next(traced) if x is _TRACED else x
                                                     for x in self.leaves])


def check_pair(name: str, result: Any) -> None:
    """Refuse a has_aux result that is not a pair. Raises: TypeError."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(f"{name} was differentiated with has_aux=True, so it must return a pair "
                        f"(value, aux), got {type(result).__name__}")


class Flat:
    """A traced call: the Function with its captures, and the structure of its result."""

    __slots__ = ("_read", "aux", "captures", "function", "hides", "is_bare", "out_tree", "trace")

    def __init__(self, recorded: Recorded, out_tree: Any) -> None:
        self.function: Function = recorded.function
        self.captures, self.trace, self.out_tree = recorded.captures, recorded.trace, out_tree
        self.aux: Aux | None = None              # where the function was traced with has_aux
        self.hides = False                       # whether `out_tree` has nodes for such leaves
        self.is_bare = False                     # whether they are without their carriers
        self._read: list[bool] | None = None

    def read(self) -> list[bool]:
        """For each parameter, whether a result or an effect depends on it."""
        if self._read is None:
            self._read = prune(dead_code(self.function))[1]
        return self._read


_AS_THEY_ARE = frozenset(("jit", "grad", "jvp", "vjp", "linearize", "vmap"))
"""Kinds of traces whose results of own types have carriers where the values do. Of others, such as
branches, several results have to agree."""


def trace_call(call: Callable[[list[Tracer]], Any], kinds: Sequence[tuple[Any, bool]], *,
               name: str, kind: str, staging: bool, axis: Any = None,
               inputs: list[Any] | None = None, param_names: Sequence[str] = (),
               origins: Sequence[Any] | None = None, of_rule: bool | None = None,
               reached: Sequence[int] = ()) -> Flat:
    """Trace `call(tracers) -> tree` and flatten its result.

    Raises: TypeError where a leaf of the result is not an array.
    """
    out_tree: Any = None
    has_refs = hides = False
    # nothing is differentiated around a function that is compiled by itself
    carried = True
    if kind in _AS_THEY_ARE:
        carried = False if kind == "jit" and not state.stack else None
    for t, _ in kinds:
        has_refs = has_refs or t.dtype.is_ref

    def run(tracers: list[Tracer]) -> list[Any]:
        nonlocal out_tree, hides
        if has_refs:
            tracers = [Ref(x) if x.value.type.dtype.is_ref else x for x in tracers]  # type: ignore
        result = call(tracers)
        flat, out_tree = tree_flatten(result)
        for x in flat:
            if type(x) is not Tracer:
                if type(x) not in SCALARS and is_hidden(x):
                    flat, out_tree = tree_flatten(hidden(result, carried))
                    hides = True
                    break
                if not is_array_like(x):
                    refuse_output(name, result)
        return flat

    types, weaks = zip(*kinds, strict=True) if kinds else ((), ())
    recorded = trace_function(run, types, weaks, name=name, kind=kind, staging=staging, axis=axis,
                              inputs=inputs, param_names=param_names, origins=origins,
                              of_rule=of_rule, reached=reached)
    flat = Flat(recorded, out_tree)
    flat.hides, flat.is_bare = hides, hides and carried is False
    return flat


class Arguments:
    """Flat arguments of a call: their leaves and tree, and the type and weakness of each leaf."""

    __slots__ = ("kinds", "leaves", "tree")

    def __init__(self, name: str, args: Any, carriers: bool | None = None) -> None:
        self.leaves, self.tree = tree_flatten(args)
        if HIDES:
            self.leaves, self.tree = flat_values(args, carriers)
        self.kinds = [kind_of(name, x) for x in self.leaves]

    def trace(self, fun: Callable[..., Any], *, name: str, kind: str, staging: bool,
              inputs: list[Any] | None = None, has_aux: bool = False,
              of_rule: bool | None = None) -> Flat:
        """Trace `fun(*args)`; with `has_aux` the result is a pair with an `Aux` as second part."""
        aux = Aux() if has_aux else None

        def call(tracers: list[Tracer]) -> Any:
            result = fun(*tree_unflatten(self.tree, tracers))
            return result if aux is None else aux.strip(name, result)

        flat = trace_call(call, self.kinds, name=name, kind=kind, staging=staging, inputs=inputs,
                          origins=self.leaves, of_rule=of_rule)
        flat.aux = aux
        return flat

    def operands(self, flat: Flat) -> list[Any]:
        """The operands of the traced Function: the leaves, then its captures."""
        return [*map(as_operand, self.leaves), *flat.captures]


def is_plain(tree: Any) -> bool:
    """Whether all nodes of a tree are tuple, list, dict or None."""
    data = tree.node_data()
    return data is None or (data[0] in (tuple, list, dict, type(None))
                            and all(map(is_plain, tree.children())))


def refuse_output(name: str, result: Any) -> None:
    """Raise the TypeError that says which leaf of the result is not an array."""
    for path, x in tree_flatten_with_path(result)[0]:
        if isinstance(x, Ref):
            raise ValueError(f"function {name} returned a mutable array reference of type {x.aval} "
                             f"at result{keystr(path)}, but mutable array references cannot be "
                             "returned; return ref[...]")
        if not is_array_like(x):
            raise TypeError(f"{name} returned {x!r} of type {type(x)} at result{keystr(path)}, "
                            "which is not a valid array type; return arrays, numbers or None")


def fill(args: Sequence[Any], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """`args` with the arguments at `places` replaced by `values`."""
    filled = list(args)
    for i, v in zip(places, values, strict=True):
        filled[i] = v
    return filled


def typed(x: Any, t: Any) -> Any:
    """A tangent or cotangent as an operand of the dtype of `t`."""
    if type(x) is Tracer or isinstance(x, binding.ArrayImpl):
        if kind_of("jvp", x)[0].dtype is t.dtype:
            return x
        return x.astype(t.dtype.numpy)
    return np.asarray(x, t.dtype.numpy)          # in a trace it becomes a literal
