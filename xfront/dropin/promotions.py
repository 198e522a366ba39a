"""What libraries import from `jax._src.numpy.util`: arrays brought to one dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import Array, lax
from ..base.dtypes import issubdtype, result_type
from ..transforms.autodiff import reweak


def _together(args: tuple[Any, ...], change: Callable[[Any], Any]) -> list[Array]:
    """The arrays in the dtype that `change` makes of theirs; weak where all of them are."""
    dtype, weak = result_type(*args, return_weak_type_flag=True)
    return [reweak(lax.convert_element_type(x, change(dtype)), weak) for x in args]


def _inexact(dtype: Any) -> Any:
    if issubdtype(dtype, np.inexact):
        return dtype
    return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)


def _complex(dtype: Any) -> Any:
    if dtype.kind == "c":
        return dtype
    return np.dtype(np.complex128 if _inexact(dtype).itemsize == 8 else np.complex64)


def promote_dtypes(*args: Any) -> list[Array]:
    """The arrays in the dtype that they promote to."""
    return _together(args, lambda dtype: dtype) if args else []


def promote_dtypes_inexact(*args: Any) -> list[Array]:
    """As `promote_dtypes`, in a float or complex dtype."""
    return _together(args, _inexact) if args else []


def promote_dtypes_complex(*args: Any) -> list[Array]:
    """As `promote_dtypes`, in a complex dtype."""
    return _together(args, _complex) if args else []


__all__ = ["promote_dtypes", "promote_dtypes_complex", "promote_dtypes_inexact"]
