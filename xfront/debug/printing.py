"""`debug.print` and `debug.log`: text with values from within a traced program."""

from __future__ import annotations

import logging
import string
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.trees import tree_map
from ..binding.tracebacks import front_door
from ..lax.callbacks import debug_callback
from ..methods.of_arrays import text_of
from ..values.arguments import only


class _Formatter(string.Formatter):
    """Refuses arguments that the format does not mention."""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [k for k in kwargs if k not in used_args]
        extra = [i for i in range(len(args)) if i not in used_args]
        if unused or extra:
            raise ValueError(f"debug.print: unused arguments {extra + unused}; name them in the "
                             "format, for instance '{x}'")


_FORMATTER = _Formatter()


@front_door
def print(fmt: str | None = None, *args: Any, ordered: bool = False, partitioned: bool = False,
          skip_format_check: bool = False, **kwargs: Any) -> Callable[..., None] | None:
    """Print `fmt.format(*args, **kwargs)` when the program gets there.

    Args:
      fmt: a format string with names or numbers of the values, not an f-string. None gives a
        function of the format and the values, with the options given here.
      args, kwargs: trees of arrays; other values are printed as they are.
      ordered: whether the print keeps its order among ordered prints.
      partitioned: False only.
      skip_format_check: whether the check that the format has all arguments is left out.
    Raises: ValueError where an argument is not in the format; TypeError where `fmt` is not a
      string.

    >>> xfront.debug.print("x = {}", 3)
    x = 3
    """
    return _output("print", _write, fmt, args, kwargs, ordered, partitioned, skip_format_check)


@front_door
def log(fmt: str | None = None, *args: Any, ordered: bool = False, partitioned: bool = False,
        skip_format_check: bool = False, **kwargs: Any) -> Callable[..., None] | None:
    """Log `fmt.format(*args, **kwargs)` at level INFO of the logger "xfront.debug" when the program
    gets there. Arguments and errors are those of `print`.

    >>> xfront.debug.log("x = {}", 3)
    """
    return _output("log", logging.getLogger("xfront.debug").info, fmt, args, kwargs, ordered,
                 partitioned, skip_format_check)


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _output(name: str, tell: Callable[[str], Any], fmt: str | None, args: tuple,
          kwargs: dict[str, Any], ordered: bool, partitioned: bool, skip_format_check: bool
          ) -> Callable[..., None] | None:
    """Have the program call `tell` with the text, or make the function that does so."""
    only(f"debug.{name}", False, "the whole array is always shown", partitioned=partitioned)
    if fmt is None:
        if args or kwargs:
            raise TypeError(f"debug.{name}: values need a format, which is None")

        def formatted(fmt: str, *args: Any, **kwargs: Any) -> None:
            _output(name, tell, fmt, args, kwargs, ordered, partitioned, skip_format_check)

        return front_door(formatted)
    if not isinstance(fmt, str):
        raise TypeError(f"The first argument to `debug.{name}` must be a string, got {fmt!r}")
    if not skip_format_check:
        try:
            _FORMATTER.vformat(fmt, [_Anything()] * len(args), dict.fromkeys(kwargs, _Anything()))
        except (IndexError, KeyError) as error:
            raise type(error)(f"debug.{name}: the format {fmt!r} names more than the {len(args)} "
                              f"positional and {len(kwargs)} keyword arguments given") from None

    def show(*values: Any, **named: Any) -> None:
        values, named = tree_map(_shown, (values, named))
        tell(_FORMATTER.format(fmt, *values, **named))

    debug_callback(show, *args, ordered=ordered, **kwargs)
    return None


class _Shown:
    """A value of a program for printing: alone in NumPy's form, inside a tree as an array."""

    def __init__(self, value: np.ndarray) -> None:
        self.value = value

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return text_of(self.value, f"dtype={self.value.dtype.name})")

    def __format__(self, spec: str) -> str:
        return format(self.value[()] if self.value.ndim == 0 else self.value, spec)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value, name)

    def __getitem__(self, index: Any) -> Any:
        return _shown(self.value[index])


def _shown(x: Any) -> Any:
    return _Shown(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x


class _Anything:
    """A value that takes any format specification, to check a format without values."""

    def __format__(self, spec: str) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return self
