"""Arrays shared with other libraries by the DLPack protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base.on_demand import shown as _shown
from .numpy.creation import from_dlpack as _from_dlpack

_SHARED = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 "
                    "float32 float64 complex64 complex128".split())


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """An array over the memory of an object with `__dlpack__`, as `xfront.numpy.from_dlpack`.

    >>> from xfront import dlpack
    >>> dlpack.from_dlpack(np.array([1, 2], np.int32))
    Array([1, 2], dtype=int32)
    """
    return _from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be shared by DLPack.

    >>> from xfront import dlpack
    >>> dlpack.is_supported_dtype(jnp.float32), dlpack.is_supported_dtype(jnp.int4)
    (True, False)
    """
    return np.dtype(dtype).name in _SHARED


__all__ = ["from_dlpack", "is_supported_dtype"]
__dir__ = _shown(globals())
