"""The questions that Python asks of a tracer: its truth value, its integer, its elements.

Under grad, jvp and linearize with concrete arguments, `bool`, `int` and `__index__` of a tracer
answer, because their results have no derivative anyway. `float`, `complex`, `.item()`, `.tolist()`
and `np.asarray` of an inexact tracer answer only where no tangent reaches it, or where a custom
rule computes the tangent. Elsewhere the derivative would be lost in silence, so they raise and
name `stop_gradient`. Under jit and vmap all of them raise.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import numpy as np
from xfront_ir.core import Function, Op, Value
from xfront_ir.passes.discharge import holds_refs

from ..base.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from ..binding.tracebacks import front_door
from ..tracing.perturbed import reaching
from ..tracing.trace import Trace, concretely, leak_error, state
from ..tracing.tracer import Tracer, install
from .programs import bind

P = ParamSpec("P")
R = TypeVar("R")


def truth(x: Tracer) -> bool:
    """`bool(x)`. Raises: TracerBoolConversionError, ValueError where x has several elements."""
    if x.size != 1:
        raise ValueError("The truth value of an array with more than one element is ambiguous: "
                         f"write x.any() or x.all(). This is {described(x)}")
    return bool(_value(x, TracerBoolConversionError, "Python needs to know whether a value is true "
                       "(for `if`, `while`, `and`, `or`, `not` or bool())",
                       "jnp.where, lax.cond or lax.while_loop, or make the argument static"))


def integer(x: Tracer, what: str) -> int:
    """`int(x)`. Raises: ConcretizationTypeError, TypeError where x has several elements."""
    if x.size != 1:
        raise TypeError("Only scalar arrays can be converted to Python scalars; "
                        f"got arr.ndim={x.ndim}: {described(x)}")
    return int(_value(x, ConcretizationTypeError, f"{what} needs the value",
                      "x.astype(int), or make the argument static").reshape(()))


def index(x: Tracer) -> int:
    """`operator.index(x)`. Raises: TracerIntegerConversionError, TypeError for other dtypes."""
    if not x.value.type.dtype.is_integer or x.ndim:
        raise TypeError("Only integer scalar arrays can be converted to a scalar index; this is "
                        f"{described(x)}")
    return int(_value(x, TracerIntegerConversionError, "Python needs an integer (the index of a "
                      "list, a shape, a range)",
                      "jnp.asarray(values)[i] for an index and lax.fori_loop for a range, or make "
                      "the argument static (static_argnums)"))


def number(x: Tracer, what: str) -> np.ndarray:
    """The elements of x, where no derivative would be lost.

    Raises: ConcretizationTypeError, TracerArrayConversionError under a transformation that has no
      values, or where a tangent reaches x.
    """
    if what in ("float()", "complex()") and x.size != 1:
        raise TypeError("Only scalar arrays can be converted to Python scalars; "
                        f"got arr.ndim={x.ndim}: {described(x)}")
    error = (TracerArrayConversionError if what == "numpy.asarray()" else ConcretizationTypeError)
    state.asked += 1
    if x.home.inputs is not None and reaching(x):
        raise error(f"{what} of a value that is being differentiated would lose its derivative: "
                    f"{described(x)}. Keep it an array (functions of xfront.numpy instead of math "
                    "and numpy); if no derivative is wanted, read lax.stop_gradient(x) instead.")
    instead = ("x.astype(float)" if what == "float()" else "x.astype(complex)" if
               what == "complex()" else "a function of xfront.numpy")
    return _value(x, error, f"{what} needs the value",
                  f"{instead}, which stays an array, or make the argument static; "
                  "debug.print and pure_callback see values when the program runs")


def described(x: Tracer) -> str:
    """A text about a tracer for its user: its type, its transformation, and where it was made."""
    return f"a value of type {x.value.type} traced by {x.home.kind}, made at {origin(x)}"


def origin(x: Tracer) -> str:
    """The place in the user's program that made a tracer."""
    home = x.home
    for op in home.builder.ops:
        if x.value in op.results:
            return f"{op.loc} by {op.definition.name}"
    for i, v in enumerate(home.builder.params):
        if v is x.value:
            name = home.builder.param_names[i]
            return f"the call of {home.builder.name}: argument {name or i}"
    return str(home.started_at)


@front_door
@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """A context in which operations on known arrays run at once, also while jit traces.

    >>> @xfront.jit
    ... def f(x):
    ...     with xfront.ensure_compile_time_eval():
    ...         rows = int(jnp.sum(jnp.arange(3)))
    ...     return jnp.full(rows, x)
    >>> f(2.0)
    Array([2., 2., 2.], dtype=float32, weak_type=True)
    """
    with concretely():
        yield


def known_at_once(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, which must read its arrays to know the size of its result. Without a `size` and
    without tracers among its arguments it runs at once, also while a program is traced."""
    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if state.current is None or kwargs.get("size") is not None or any(
                [type(x) is Tracer for x in (*args, *kwargs.values())]):
            return function(*args, **kwargs)
        with concretely():
            return function(*args, **kwargs)

    return called


# --- evaluation -------------------------------------------------------------------------------

def _value(x: Tracer, error: type[Exception], question: str, instead: str) -> np.ndarray:
    """The elements of x, computed once from the slice of its trace on which it depends.

    Raises: `error`, with the question and what to write instead, where they are not known.
    """
    home = x.home
    state.asked += 1
    if home.closed:
        raise leak_error(x)
    found = None if home.inputs is None else _remembered(home, x.value)
    if found is None or (type(found) is Tracer and found.home.inputs is None):
        raise error(f"{question}, but it is not known while tracing: this is {described(x)}. Write "
                    f"{instead}.")
    if type(found) is Tracer:
        return _value(found, error, question, instead)
    return np.asarray(found)


class Later:
    """An input of a trace whose value is computed only when Python asks for it."""

    __slots__ = ("trace", "value")

    def __init__(self, trace: Trace, value: Value) -> None:
        self.trace, self.value = trace, value


def may_be_known(x: Any) -> bool:
    """Whether x is an array, or a tracer whose trace and all traces around it have known inputs."""
    return type(x) is not Tracer or x.home.known


def evaluate(trace: Trace, value: Value) -> Any:
    """One value of a trace as an array or a tracer of an outer trace; None where it depends on an
    input that is not known."""
    function, places = slice_for(trace, value)
    if trace.has_refs and holds_refs(function):  # the slice does not have earlier writes
        return None
    sources = [*trace.inputs, *trace.sources]  # type: ignore[misc]
    operands = [_looked_up(sources[i]) for i in places]
    if any(x is None or type(x) is Tracer and x.home.closed for x in operands):
        return None
    with concretely():                           # not in a rule that is being recorded
        return bind(function, operands, name="value")[0]


def _looked_up(x: Any) -> Any:
    """The value of `x` where it is a `Later`, or a tracer of a trace that has ended; else `x`. A
    custom rule may be traced after the function that called it, and read the call's arguments."""
    while True:
        if type(x) is Later:
            x = _remembered(x.trace, x.value)
        elif type(x) is Tracer and x.home.closed and x.home.inputs is not None:
            x = _remembered(x.home, x.value)
        else:
            return x


def _remembered(trace: Trace, value: Value) -> Any:
    found = trace.evaluated.get(value)
    if found is None:
        found = trace.evaluated[value] = evaluate(trace, value)
    return found


def slice_for(trace: Trace, value: Value) -> tuple[Function, list[int]]:
    """The Function that computes `value`, and which parameters of the trace it takes."""
    needed = {value}
    ops: list[Op] = []
    for op in reversed(trace.builder.ops):
        if not needed.isdisjoint(op.results):
            ops.append(op)
            needed.update(op.operands)
    params = [(i, v) for i, v in enumerate(trace.builder.params) if v in needed]
    made = Function("value", [v for _, v in params], ops[::-1], (value,))
    return made, [i for i, _ in params]


def known(x: Tracer) -> np.ndarray | None:
    """The elements of x where its trace and all traces around it have known inputs, else None."""
    state.asked += 1
    trace = x.home
    if trace.closed:
        raise leak_error(x)
    if trace.inputs is None or trace.staging:
        return None
    found = _remembered(trace, x.value)
    return known(found) if type(found) is Tracer else np.asarray(found)


def primal(x: Tracer) -> Any:
    """The value of x without the derivative that is being taken: an array or an outer tracer.

    Raises: AttributeError for a tracer of another transformation, and where x is not known outside.
    """
    trace = x.home
    if trace.closed:
        raise leak_error(x)
    state.asked += 1
    if trace.inputs is None or trace.staging or trace.axis is not None:
        raise AttributeError(f"only what grad, jvp and the like trace has a primal: {described(x)}")
    found = _remembered(trace, x.value)
    if found is None:
        raise AttributeError(f"the primal is not known while tracing: {described(x)}")
    return found


# --- what tracers answer ----------------------------------------------------------------------

class Answers:
    """Members of Tracer that answer Python's questions about a value."""

    _described = described

    def __format__(self: Any, spec: str) -> str:
        return format(repr(self) if not spec else number(self, "A format specification"), spec)

    @front_door
    def __bool__(self: Any) -> bool:
        return truth(self)

    @front_door
    def __int__(self: Any) -> int:
        return integer(self, "int()")

    @front_door
    def __index__(self: Any) -> int:
        return index(self)

    @front_door
    def __float__(self: Any) -> float:
        return float(number(self, "float()"))

    @front_door
    def __complex__(self: Any) -> complex:
        return complex(number(self, "complex()"))

    @front_door
    def item(self: Any, *args: int) -> Any:
        """The element as a Python number, where it may be known."""
        return number(self, ".item()").item(*args)

    @front_door
    def tolist(self: Any) -> Any:
        """The elements as nested lists, where they may be known."""
        return number(self, ".tolist()").tolist()

    @front_door
    def __array__(self: Any, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(number(self, "numpy.asarray()"), dtype=dtype)


def _on_devices(name: str) -> Any:
    """A property for a member that only an array on a device has: for a tracer it raises."""
    def read(self: Any, *_: Any, **__: Any) -> Any:
        raise ConcretizationTypeError(self, f"x.{name} is of an array on a device: ask "
                                            "outside of the traced function")

    read.__name__ = name
    return front_door(read)


install({name: member for name, member in vars(Answers).items()
         if callable(member) and name not in ("__dict__", "__weakref__")})
install({"primal": property(front_door(primal))})
install({name: _on_devices(name) for name in (
    "__dlpack__", "addressable_data", "delete", "devices", "on_device_size_in_bytes", "tobytes",
    "unsafe_buffer_pointer")})
install({name: property(_on_devices(name)) for name in (
    "addressable_shards", "global_shards", "is_fully_addressable", "is_fully_replicated")})
