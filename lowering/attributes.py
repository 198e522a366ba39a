"""The attributes of a call of a function by name: Python values as MLIR's text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from xfront_ir.dtypes import from_numpy

from .context import element_text

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def attribute_text(value: Any, where: str = "the attribute") -> str:
    """MLIR's text of an attribute: a bool, number, NumPy scalar or array, string, or a dict of
    these. Python's ints and floats become numbers of 64 bits.

    Raises: TypeError for other values; OverflowError for an int of more than 64 bits.
    """
    kind = type(value)
    if kind is bool:
        return str(value).lower()
    if kind is int:
        if not -(1 << 63) <= value < 1 << 63:
            raise OverflowError(f"{where} must have at most 64 bits, got {value}; write np.uint64 "
                                "for one without a sign")
        return f"{value} : i64"
    if kind is float:
        return _number_text(np.float64(value), True)
    if isinstance(value, (str, bytes)):
        return _string_text(value, where)
    if isinstance(value, Mapping):
        return dict_text(value, lambda key: f"{where}[{key!r}]", where)
    if isinstance(value, (np.ndarray, np.generic)):
        found = _element(value.dtype)
        if found is not None:
            if isinstance(value, np.generic):
                return _number_text(value, True)
            shape = "".join([f"{d}x" for d in value.shape])
            return f"dense<{_list_text(value)}> : tensor<{shape}{found}>"
    raise TypeError(f"{where} must be a bool, a real number, a NumPy scalar or array of these, a "
                    f"string or a dict, got {value!r} of type {kind.__name__}; write np.array(...) "
                    "for a list, and pass values that are traced as operands")


def dict_text(values: Mapping[str, Any], where: Callable[[str], str],
              what: str = "the attributes") -> str:
    """MLIR's text of a dict of attributes; `where` names one of them in errors, `what` the dict.

    Raises: as `attribute_text`; TypeError for a name that is no string; ValueError for an empty
      one.
    """
    for key in values:
        if not isinstance(key, str):
            raise TypeError(f"{what} must be a dict with strings as keys, got the key {key!r}")
        if not key:
            raise ValueError(f"{what} must have names, got {key!r} as one")
    listed = [f"{key if _BARE.match(key) else _string_text(key, where(key))} = "
              f"{attribute_text(values[key], where(key))}" for key in sorted(values)]
    return f"{{{', '.join(listed)}}}"


def _element(dtype: Any) -> str | None:
    """MLIR's name of the type of real elements; None for others."""
    try:
        found = from_numpy(np.dtype(dtype))
    except (TypeError, ValueError):
        return None
    return None if found.is_complex or found.is_key else element_text(found)


def _number_text(x: Any, typed: bool) -> str:
    """A number exactly; with the name of its type where `typed`."""
    dtype = x.dtype
    if dtype == np.bool_:
        return str(bool(x)).lower()
    name = f" : {_element(dtype)}" if typed else ""
    if dtype.kind in "iu" or "int" in dtype.name:
        return f"{int(x)}{name}"
    if not np.isfinite(x):
        bits = int.from_bytes(x.tobytes(), sys.byteorder)
        return f"0x{bits:0{2 * dtype.itemsize}X}{name}"
    mantissa, e, exponent = repr(float(x)).partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{e}{exponent}{name}"


def _list_text(x: np.ndarray) -> str:
    if x.ndim == 0:
        return _number_text(x[()], False)
    if x.size == 0:
        return ""
    return f"[{', '.join(map(_list_text, map(np.asarray, x)))}]"


def utf8(value: str, where: str) -> bytes:
    """The bytes of a text. Raises: ValueError where it has half a surrogate pair, and so none."""
    try:
        return value.encode()
    except UnicodeEncodeError as e:
        raise ValueError(f"{where} must be text that UTF-8 can hold, got {value!r}: {e}") from None


def _string_text(value: str | bytes, where: str) -> str:
    data = utf8(value, where) if isinstance(value, str) else value
    return '"' + "".join([chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}"
                          for c in data]) + '"'
