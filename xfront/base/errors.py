"""What `xfront.errors` offers, whose file says how it is used."""

from __future__ import annotations

from typing import Any

from ..binding import JaxRuntimeError
from .on_demand import public as _public


def _described(what: Any, sentence: str) -> str:
    """`what` itself where it is a message; for a tracer, `sentence` with its description."""
    if isinstance(what, str):
        return what
    described = getattr(type(what), "_described", repr)
    return f"{sentence}: {described(what)}"


class JAXTypeError(TypeError):
    """A value of the wrong kind; the base of the errors about tracers.

    >>> issubclass(xfront.errors.TracerBoolConversionError, xfront.errors.JAXTypeError)
    True
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class JAXIndexError(IndexError):
    """An index of the wrong kind.

    >>> isinstance(xfront.errors.JAXIndexError("an index"), IndexError)
    True
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where Python needs a known one.

    Inside `jit`, `vmap` and the like an array has no value yet. Values that Python needs while
    tracing (a shape, an axis, a branch) must come from static arguments
    (`jit(f, static_argnums=…)`) or from shapes.

    >>> xfront.jit(jnp.arange)(3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    xfront.errors.ConcretizationTypeError: A known value is needed here, but this one is...
    """

    def __init__(self, tracer: Any, context: str = "") -> None:
        message = _described(tracer, "A known value is needed here, but this one is traced")
        super().__init__(f"{message}. {context}" if context else message)


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index, so that the result's shape is not known.

    Write `where(mask, x, fill)`, or give the shape: `nonzero(mask, size=n)`. An update
    `x.at[mask].set(value)` needs no known mask where the value's shape does not depend on it, nor
    does a reduction of the elements, `x[mask].sum()`.

    >>> xfront.jit(lambda x: x[x > 0])(jnp.arange(3))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    xfront.errors.NonConcreteBooleanIndexError: A boolean index must be known while...
    """

    def __init__(self, tracer: Any, *, instead: str = "") -> None:
        message = _described(tracer, "A boolean index must be known while tracing, because the "
                             "shape of the result depends on it, but this one is traced")
        instead = instead or (
            "Write jnp.where(mask, x, fill) to keep the shape, a reduction's argument "
            "`where=mask`, or x[jnp.nonzero(mask, size=n, fill_value=i)] for a known number of "
            "elements")
        super().__init__(message if isinstance(tracer, str) else f"{message}. {instead}")


class TracerArrayConversionError(JAXTypeError):
    """A traced value was passed to NumPy.

    Use `xfront.numpy` in place of `numpy` there, or `pure_callback` to run NumPy when the program
    runs.

    >>> xfront.jit(lambda x: np.sin(x))(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    xfront.errors.TracerArrayConversionError: numpy.asarray() needs the value, but it is...
    """

    def __init__(self, tracer: Any) -> None:
        super().__init__(_described(tracer, "A traced value cannot be converted to a NumPy array"))


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used as a Python integer, for instance to index a list or as a shape.

    Make the argument static, or index an array instead of a list.

    >>> xfront.jit(lambda n: [1, 2, 3][n])(1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    xfront.errors.TracerIntegerConversionError: Python needs an integer (the index of a...
    """

    def __init__(self, tracer: Any) -> None:
        super().__init__(_described(tracer, "A traced value cannot be converted to a Python "
                                            "integer"))


class TracerBoolConversionError(ConcretizationTypeError):
    """Python asked a traced value whether it is true, for instance in `if` or `while`.

    Write `where`, `lax.cond` or `lax.while_loop`, or make the argument static.

    >>> xfront.jit(lambda x: x if x > 0 else -x)(1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    xfront.errors.TracerBoolConversionError: Python needs to know whether a value is true...
    """

    def __init__(self, tracer: Any) -> None:
        JAXTypeError.__init__(
            self, _described(tracer, "Python cannot know whether a traced value is true")
        )


class UnexpectedTracerError(JAXTypeError):
    """A traced value was used after its trace had ended: it leaked through a global, an attribute
    or a generator. Return it from the traced function instead.

    >>> leaked = []
    >>> result = xfront.jit(lambda x: leaked.append(x))(1.0)
    >>> leaked[0] + 1  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    xfront.errors.UnexpectedTracerError: a tracer of type f32[] escaped from a function...
    """

    def __init__(self, msg: str) -> None:
        super().__init__(msg)


class KeyReuseError(JAXTypeError):
    """A random key was consumed twice; split it with `random.split` first.

    >>> key = xfront.random.key(0)
    >>> with xfront.debug_key_reuse(True):  # doctest: +ELLIPSIS
    ...     numbers = xfront.random.normal(key), xfront.random.normal(key)
    Traceback (most recent call last):
        ...
    xfront.errors.KeyReuseError: Previously-consumed key passed to normal at index 0; split...
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class BroadcastError(TypeError, ValueError):
    """Shapes that do not broadcast together. In JAX this is a TypeError in operators, and a
    ValueError in `where`, `broadcast_shapes` and the like, as in NumPy.

    >>> jnp.ones(2) + jnp.ones(3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    xfront.errors.BroadcastError: add: shapes (2,), (3,) do not broadcast: axis -1 has...
    """


class IndexBroadcastError(IndexError, ValueError):
    """Index arrays that do not broadcast together: an IndexError as in NumPy, a ValueError as in
    JAX.

    >>> jnp.ones((3, 3))[jnp.arange(2), jnp.arange(3)]
    Traceback (most recent call last):
        ...
    xfront.errors.IndexBroadcastError: index arrays do not broadcast together: [(2,), (3,)]
    """


class MatrixShapeError(TypeError, ValueError):
    """Arrays that are no matrices, or none of the shapes that fit. In JAX this is a TypeError in
    some functions of linear algebra, and a ValueError in others.

    >>> jnp.linalg.cholesky(jnp.ones((2, 3)))
    Traceback (most recent call last):
        ...
    xfront.errors.MatrixShapeError: Argument to cholesky must have shape [..., n, n], got (2, 3).
    """


class MatrixDtypeError(NotImplementedError, TypeError):
    """Matrices of a dtype that no factorization takes, such as those of 16 bits. In JAX this is a
    NotImplementedError up to 0.10, and a TypeError in 0.12.

    >>> jnp.linalg.inv(jnp.ones((2, 2), "float16"))
    Traceback (most recent call last):
        ...
    xfront.errors.MatrixDtypeError: inv takes f32, f64, c64 or c128, got f16[2,2]; convert it first
    """


class JaxprTypeError(TypeError):
    """A program of the IR is not well typed."""


class InconclusiveDimensionOperation(Exception):
    """A comparison of symbolic dimensions that is true for some of their values and false for
    others, or the use of one as a number.

    >>> from xfront import export
    >>> a, = export.symbolic_shape("a")
    >>> try:
    ...     a > 3
    ... except xfront.errors.InconclusiveDimensionOperation:
    ...     print("it depends")
    it depends
    """


__all__ = [
    "BroadcastError",
    "ConcretizationTypeError",
    "InconclusiveDimensionOperation",
    "IndexBroadcastError",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "MatrixDtypeError", "MatrixShapeError",
    "NonConcreteBooleanIndexError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
]
_public("xfront.errors", globals())
