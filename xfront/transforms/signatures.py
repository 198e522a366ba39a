"""The types of transformed functions, for type checkers.

A gradient has the type of the argument with respect to which it is taken. `Callable` cannot express
that, so each class here reads it off the parameters of the function. Type checkers read this file;
a program imports it only for `xfront.stages.Wrapped`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload
from typing import runtime_checkable as _runtime_checkable

if TYPE_CHECKING:
    from ..binding.annotations import Array
    from .stages import Lowered, Traced

P = ParamSpec("P")
Q = ParamSpec("Q")
A = TypeVar("A")
B = TypeVar("B")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")


@_runtime_checkable
class Wrapped(Protocol[P, R_co]):
    """A function under `jit`: it is called like the function, and has the stages as methods."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The result, computed by the compiled function."""
        ...

    if TYPE_CHECKING:
        @overload
        def __get__(self, instance: None, owner: Any = None, /) -> Wrapped[P, R_co]: ...
        @overload
        def __get__(self: Wrapped[Concatenate[S, Q], R_co], instance: S, owner: Any = None, /
                    ) -> Wrapped[Q, R_co]: ...
        def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Traced:
        """The traced program for these arguments; ShapeDtypeStructs may stand for arrays."""
        ...

    @overload
    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """The program for these arguments in StableHLO."""
        ...

    @overload
    def lower(self, *args: object, passes: tuple[()] | None, **kwargs: object) -> Lowered:
        """The same; `passes=()` leaves out the passes of the platform."""
        ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program for these arguments in StableHLO, with the passes of the platform unless
        `passes=()` is given."""
        ...

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """The shapes and dtypes of the result."""
        ...

    def clear_cache(self) -> None:
        """Drop all traces and programs of this function."""
        ...


class Gradient(Protocol[P]):
    """A function whose result has the type of its first argument."""

    def __call__(self: Gradient[Concatenate[A, Q]], x: A, /, *args: Q.args, **kwargs: Q.kwargs
                 ) -> A: ...


class GradientBySecond(Protocol[P]):
    """A function whose result has the type of its second argument."""

    def __call__(self: GradientBySecond[Concatenate[A, B, Q]], x: A, y: B, /, *args: Q.args,
                 **kwargs: Q.kwargs) -> B: ...


class GradientByBoth(Protocol[P]):
    """A function whose result is a pair with the types of its first two arguments."""

    def __call__(self: GradientByBoth[Concatenate[A, B, Q]], x: A, y: B, /, *args: Q.args,
                 **kwargs: Q.kwargs) -> tuple[A, B]: ...


class GradientAndAux(Protocol[P, R_co]):
    """A function that returns a value of the type of its first argument, and aux."""

    def __call__(self: GradientAndAux[Concatenate[A, Q], S], x: A, /, *args: Q.args,
                 **kwargs: Q.kwargs) -> tuple[A, S]: ...


class ValueAndGradient(Protocol[P, R_co]):
    """A function that returns a value, and a gradient of the type of its first argument."""

    def __call__(self: ValueAndGradient[Concatenate[A, Q], S], x: A, /, *args: Q.args,
                 **kwargs: Q.kwargs) -> tuple[S, A]: ...


class ValueAndGradientBySecond(Protocol[P, R_co]):
    """A function that returns a value, and a gradient of the type of its second argument."""

    def __call__(self: ValueAndGradientBySecond[Concatenate[A, B, Q], S], x: A, y: B, /,
                 *args: Q.args, **kwargs: Q.kwargs) -> tuple[S, B]: ...


class ValueAndGradientByBoth(Protocol[P, R_co]):
    """A function that returns a value, and gradients of the types of its first two arguments."""

    def __call__(self: ValueAndGradientByBoth[Concatenate[A, B, Q], S], x: A, y: B, /,
                 *args: Q.args, **kwargs: Q.kwargs) -> tuple[S, tuple[A, B]]: ...


class Jacobian(Protocol[P, R_co]):
    """A function whose result is like its first argument where the original returns an array."""

    @overload
    def __call__(self: Jacobian[Concatenate[A, Q], Array], x: A, /, *args: Q.args,
                 **kwargs: Q.kwargs) -> A: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...


class Hessian(Protocol[P, R_co]):
    """A function that returns an array where the original takes and returns one."""

    @overload
    def __call__(self: Hessian[Concatenate[Array, Q], Array], x: Array, /, *args: Q.args,
                 **kwargs: Q.kwargs) -> Array: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...


__all__ = ["Gradient", "GradientAndAux", "GradientByBoth", "GradientBySecond", "Hessian",
           "Jacobian", "ValueAndGradient", "ValueAndGradientByBoth", "ValueAndGradientBySecond",
           "Wrapped"]
