"""Questions about arrays and dtypes that need no computation, and constants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.dtypes import (
    as_dtype,
    dtype_and_weakness,
    finfo,
    iinfo,
    is_extended,
    issubdtype,
    promote_types,
    result_type,
)
from ..binding import Array as ndarray
from ..binding.annotations import ArrayLike, AxisLike, DTypeLike
from ..binding.tracebacks import front_door, shorten
from ..eager.operands import is_array_like, listed, normalize_axis

# --- constants ----------------------------------------------------------------------------

pi, e, inf, nan, euler_gamma = np.pi, np.e, np.inf, np.nan, np.euler_gamma
newaxis = None
dtype = np.dtype
index_exp, s_ = np.index_exp, np.s_
ComplexWarning = np.exceptions.ComplexWarning
generic, number, character, flexible = np.generic, np.number, np.character, np.flexible
integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger
inexact, floating, complexfloating = np.inexact, np.floating, np.complexfloating
object_ = np.object_
printoptions, get_printoptions = np.printoptions, np.get_printoptions
set_printoptions = np.set_printoptions
array_repr, array_str = np.array_repr, np.array_str
iterable = np.iterable
save, savez = np.save, np.savez


# --- of arrays ----------------------------------------------------------------------------

def shape(a: ArrayLike) -> tuple[int, ...]:
    """Shape of an array, a scalar or nested lists. Source: `numpy.shape`.

    >>> jnp.shape(jnp.zeros((2, 3)))
    (2, 3)
    """
    found = getattr(a, "shape", None)
    return found if type(found) is tuple else np.shape(a)


def ndim(a: ArrayLike) -> int:
    """Number of axes. Source: `numpy.ndim`.

    >>> jnp.ndim(jnp.zeros((2, 3)))
    2
    """
    found = getattr(a, "shape", None)
    return len(found) if type(found) is tuple else np.ndim(a)


def size(a: ArrayLike, axis: AxisLike = None) -> int:
    """Number of elements, or of those along an axis or axes. Source: `numpy.size`.

    >>> jnp.size(jnp.zeros((2, 3)))
    6
    """
    try:
        found = shape(a)
        if axis is None:
            return math.prod(found)
        axes = [normalize_axis("size", i, len(found)) for i in listed(axis)]
        if len(set(axes)) != len(axes):
            raise ValueError(f"size: the same axis is given twice in axis={axis}")
        return math.prod(found[i] for i in axes)
    except BaseException as error:
        shorten(error)
        raise


def isscalar(element: object) -> bool:
    """Whether it is a number or an array without axes. Source: `numpy.isscalar`.

    >>> jnp.isscalar(1.5)
    True
    """
    if np.isscalar(element):
        return True
    return is_array_like(element) and np.ndim(getattr(element, "shape", ())) == 1 \
        and not getattr(element, "shape", ())


def _kind(x: Any) -> str:
    if isinstance(x, str):          # is text, and does not name a dtype
        return "U"
    found = dtype_and_weakness(x)[0] if not isinstance(x, (list, tuple)) else np.asarray(x).dtype
    return "V" if is_extended(found) else found.kind


def iscomplexobj(x: ArrayLike) -> bool:
    """Whether the dtype is complex. Source: `numpy.iscomplexobj`.

    >>> jnp.iscomplexobj(jnp.array([1j]))
    True
    """
    try:
        return x is not None and _kind(x) == "c"
    except BaseException as error:
        shorten(error)
        raise


def isrealobj(x: ArrayLike) -> bool:
    """Whether the dtype is not complex. Source: `numpy.isrealobj`.

    >>> jnp.isrealobj(jnp.array([1j]))
    False
    """
    return not iscomplexobj(x)


# --- of dtypes ----------------------------------------------------------------------------

@front_door
def can_cast(from_: DTypeLike | ArrayLike, to: DTypeLike, casting: str = "safe") -> bool:
    """Whether NumPy's rule lets a dtype become another. Source: `numpy.can_cast`.

    >>> jnp.can_cast('int32', 'int64')
    True
    """
    source = getattr(from_, "dtype", None) or as_dtype(from_)
    return np.can_cast(source, as_dtype(to), casting=casting)  # type: ignore[arg-type]


_KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu",
          "real floating": "f", "complex floating": "c", "numeric": "iufc"}


@front_door
def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Whether a dtype is of a kind of the array API (`"integral"`, ...), or of one of several.

    Raises: ValueError for a text that is not a kind.
    Source: `numpy.isdtype`.

    >>> jnp.isdtype(jnp.float32, 'real floating')
    True
    """
    found = as_dtype(dtype)
    for option in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(option, str) and option in _KINDS:
            from ..binding.promotion import dtype_kind

            if not is_extended(found) and dtype_kind(found) in _KINDS[option]:
                return True
            continue
        try:
            if as_dtype(option) == found:
                return True
        except TypeError:
            if isinstance(option, type) and issubdtype(found, option):
                return True
            raise ValueError(f"isdtype: kind must be a dtype or one of {sorted(_KINDS)}, got "
                             f"{option!r}"
                             ) from None
    return False


__all__ = [
    "ComplexWarning", "array_repr", "array_str", "can_cast",
    "character", "complexfloating", "dtype", "e", "euler_gamma", "finfo",
    "flexible", "floating", "generic", "get_printoptions", "iinfo", "index_exp", "inexact", "inf",
    "integer", "iscomplexobj", "isdtype", "isrealobj", "isscalar", "issubdtype", "iterable", "nan",
    "ndarray", "ndim", "newaxis", "number", "object_", "pi", "printoptions", "promote_types",
    "result_type", "s_", "save", "savez", "set_printoptions", "shape", "signedinteger", "size",
    "unsignedinteger",
]  # fmt: skip
