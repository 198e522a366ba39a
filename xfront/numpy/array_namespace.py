"""The inspection functions of the array API standard: devices, dtypes, capabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import binding
from ..base.dtypes import SCALAR_TYPES, canonicalize_dtype

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class ArrayNamespaceInfo:
    """Facts about `xfront.numpy` as a namespace of the array API standard.

    Source: https://data-apis.org/array-api/2024.12/API_specification/inspection.html
    """

    def capabilities(self) -> dict[str, Any]:
        """What programs may rely on even while they are traced; results whose size depends on
        values are not supported there."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> Any:
        """None: arrays are made where the options and the other operands say."""
        return None

    def devices(self) -> list[Any]:
        """None, and the devices of the process."""
        from ..eager.devices import devices  # late: it starts a client

        return [None, *devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes that arrays have by default; they are the same on all devices."""
        self._known(device)
        return {"real floating": canonicalize_dtype(float),
                "complex floating": canonicalize_dtype(complex),
                "integral": canonicalize_dtype(int), "indexing": canonicalize_dtype(int)}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """The dtypes of the standard that arrays may have now, by name.

        Args:
          device: one of `devices()`; all have the same dtypes.
          kind: a kind of the standard ("integral", ...) or several; None for all.
        Raises: ValueError for other kinds and devices.
        """
        self._known(device)
        kinds = (("bool", "numeric") if kind is None else
                 kind if isinstance(kind, tuple) else (kind,))
        for option in kinds:
            if option not in _KINDS:
                raise ValueError(f"dtypes: kind must be one of {sorted(_KINDS)}, got {option!r}")
        names = [name for option in kinds for name in _KINDS[option]]
        found = {name: SCALAR_TYPES[name].dtype for name in names}
        return {name: dtype for name, dtype in found.items()
                if binding.canonical_dtype(dtype) == dtype}

    def _known(self, device: Any) -> None:
        if device not in self.devices():
            raise ValueError(f"device must be one of {self.devices()}, got {device!r}")


__all__ = ["ArrayNamespaceInfo"]
