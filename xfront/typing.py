"""Types for annotations: what functions here take as an array or as a dtype.

`Array`, in `xfront` itself, is the class of results; `isinstance(x, Array)` holds for tracers too.
"""

from __future__ import annotations

from typing import Any, Protocol, Union

import numpy as _np

from .arrays.binding import Array as _Array
from .on_demand import shown as _shown


class SupportsDType(Protocol):
    """Anything with a dtype."""

    @property
    def dtype(self) -> _np.dtype: ...


ArrayLike = Union[_Array, _np.ndarray, _np.bool_, _np.number, bool, int, float, complex]  # noqa: UP007
"""An array, a NumPy array or number, or a number of Python's. Lists are none."""

DTypeLike = Union[str, type[Any], _np.dtype, SupportsDType]  # noqa: UP007
"""What names a dtype: a string, a class such as `jnp.float32`, a NumPy dtype, what has a dtype."""

__all__ = ["ArrayLike", "DTypeLike"]
__dir__ = _shown(globals())
