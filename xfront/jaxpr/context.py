"""The functions by which libraries inspect open traces and types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from xfront_ir.dtypes import from_numpy

from ..base.config import staging
from ..base.dtypes import float0
from ..binding.abstract import AbstractArray
from ..eager.operands import is_array_like
from ..running.compiled import to_array
from ..running.concrete import may_be_known, number
from ..tracing.trace import Trace, concretely, state
from ..tracing.tracer import Tracer
from ..transforms.inspection import typeof
from ..values.high import HiType
from .atoms import OpEffect

Effect = OpEffect
Effects = frozenset
ParamDict = dict[str, Any]
Value = Any
array_types = frozenset((np.ndarray, np.generic))


class _TypesOfArrays(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, (AbstractArray, HiType)) or cls in type(x).__mro__

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, (AbstractArray, HiType)) or cls in other.__mro__


class AbstractValue(metaclass=_TypesOfArrays):
    """The class of types of values: of arrays, which are `ShapedArray`s, and of a library's own.

    >>> isinstance(xfront.typeof(1.0), hijax.AbstractValue)
    True
    """


# --- traces -------------------------------------------------------------------------------------

class OpaqueTraceState:
    """The open traces of a thread with their bound axes, for comparison with a later state."""

    __slots__ = ("_axes", "_current", "_stack")

    def __init__(self) -> None:
        self._stack, self._current, self._axes = tuple(state.stack), state.current, state.axes

    def __eq__(self, other: object) -> bool:
        return type(other) is OpaqueTraceState and (
            (self._stack, self._current, self._axes)
            == (other._stack, other._current, other._axes))

    def __hash__(self) -> int:
        return hash((self._stack, self._axes))


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """A mark of the traces that are open, for comparison with a later mark.

    Args:
      convention: None or a text that names the purpose; neither changes the mark.
    Raises: TypeError where `convention` is neither.
    """
    if convention is not None and not isinstance(convention, str):
        raise TypeError("get_opaque_trace_state: convention must be a string or None, got "
                        f"{convention!r}")
    return OpaqueTraceState()


def trace_state_clean() -> bool:
    """Whether nothing is being traced in this thread."""
    return not state.stack


def find_top_trace(xs: Sequence[Any]) -> Trace | None:
    """The trace that would record an operation on these values; None where it would run."""
    found = state.current
    for x in xs:
        if type(x) is Tracer and (found is None or x.home.level > found.level):
            found = x.home
    return found


@contextmanager
def take_current_trace() -> Iterator[Trace | None]:
    """A context whose value is the trace that records operations without traced operands, or None.

    Inside the context such operations run at once.
    """
    current = state.current
    with concretely():
        yield current


@contextmanager
def set_current_trace(trace: Trace | None, check_leaks: bool = False) -> Iterator[None]:
    """A context in which operations without traced operands are recorded in `trace`.

    Args:
      trace: an open trace; with None, such operations run at once.
      check_leaks: False only; the option `jax_check_tracer_leaks` finds leaks.
    Raises: NotImplementedError for `check_leaks`.
    """
    if check_leaks:
        raise NotImplementedError("set_current_trace: check_leaks must be False; the option "
                                  "jax_check_tracer_leaks looks for leaks everywhere")
    if trace is None:
        with concretely():
            yield
        return
    before, bit = state.current, staging.value
    state.current = trace
    staging.set_local(trace.staging)
    try:
        yield
    finally:
        state.current = before
        staging.set_local(bit)


@contextmanager
def eval_context() -> Iterator[None]:
    """A context in which operations without traced operands run at once."""
    with concretely():
        yield


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """Names of the axes that are bound."""
    return [name for name, _ in state.axes if type(name) is not tuple]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether an axis is bound."""
    return bool(state.axes)


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether a staging trace is open."""
    return any(trace.staging for trace in state.stack)


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether a vmap is open."""
    return any(trace.axis is not None for trace in state.stack)


def axis_frame(name: Any) -> int:
    """Size of the axis that is bound under a name. Raises: NameError where there is none."""
    for known, size in reversed(state.axes):
        if known == name:
            return size
    raise NameError(f"unbound axis name: {name}")


# --- types --------------------------------------------------------------------------------------

def get_aval(x: Any) -> Any:
    """The type of an array, a traced array or a number. Raises: TypeError for anything else."""
    return typeof(x)


get_type = get_aval


def raise_to_shaped(aval: Any, weak_type: bool | None = None) -> Any:
    """The type `aval`, with the weakness `weak_type` if that is not None."""
    return aval if weak_type is None else aval.update(weak_type=weak_type)


def full_lower(x: Any) -> Any:
    """The value `x` itself."""
    return x


def valid_jaxtype(x: Any) -> bool:
    """Whether a value is an array, a traced array or a number."""
    if not is_array_like(x):
        return False
    try:
        typeof(x)
    except TypeError:
        return False
    return True


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """`force(val)`, or `val` where `force` is None; of a tracer whose value is known, of its array.

    Raises: ConcretizationTypeError where `val` is traced and not known, or a derivative by it would
      be lost; the message begins with `context`.
    """
    if type(val) is Tracer:
        val = to_array(number(val, context or "concrete_or_error"))
    return val if force is None else force(val)


def is_concrete(x: Any) -> bool:
    """Whether the elements of x can be asked for: it is no tracer, or one whose value is known, as
    in an un-jitted derivative."""
    return may_be_known(x)


def is_constant_dim(d: Any) -> bool:
    """Whether a size is a number."""
    return isinstance(d, (int, np.integer))


def mapped_aval(size: int, axis: int | None, aval: Any) -> Any:
    """The type of one element of a batch of type `aval` along `axis`; None is no batch axis.

    Raises: ValueError where the axis does not have that size.
    """
    if axis is None:
        return aval
    if aval.shape[axis] != size:
        raise ValueError(f"mapped_aval: axis {axis} of {aval} is not of size {size}")
    return aval.update(shape=tuple(np.delete(aval.shape, axis).tolist()))


def unmapped_aval(size: int, axis: int | None, aval: Any, explicit_mesh_axis: None = None) -> Any:
    """The type of a batch of values of type `aval` along a new `axis`; None adds no axis.

    Raises: NotImplementedError for an `explicit_mesh_axis`.
    """
    if explicit_mesh_axis is not None:
        raise NotImplementedError("unmapped_aval: explicit_mesh_axis must be None")
    if axis is None:
        return aval
    shape = list(aval.shape)
    shape.insert(axis, size)
    return aval.update(shape=tuple(shape))


def max_dim(d1: int, d2: int) -> int:
    """The larger of two sizes."""
    return max(d1, d2)


def min_dim(d1: int, d2: int) -> int:
    """The smaller of two sizes."""
    return min(d1, d2)


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> np.dtype:
    """The dtype of tangents of values of this dtype: the same where it is inexact, else float0."""
    dtype = np.dtype(primal_dtype)
    return dtype if from_numpy(dtype).is_inexact else float0

