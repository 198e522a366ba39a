"""Tracebacks of the user's program, without the library's own frames.

A front door is a function that users' programs call. It catches every exception that passes through
it, takes the library's frames out of the traceback itself (so that code that prints, logs or stores
it later sees the same), and raises it again. The last line shown is then the user's own. Where the
library raised by accident (a KeyError, say, or an error of the runtime), its innermost frame stays,
so that a report can name it.

The option `jax_traceback_filtering` chooses how this is done: see `xfront.config`.
"""

from __future__ import annotations

import functools
import operator
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from dis import opmap
from types import FunctionType, TracebackType
from typing import Any, TypeVar

import numpy
from xfront_ir.locations import is_library, register_library

F = TypeVar("F", bound=Callable[..., Any])

_ABOVE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
for _package in ("xfront", "xfront_ir", "lowering"):
    register_library(os.path.join(_ABOVE, _package, ""))
_STANDARD, _NUMPY = (os.path.join(os.path.dirname(str(m.__file__)), "") for m in (os, numpy))
_RAISE = opmap["RAISE_VARARGS"]
_ACCIDENT = "_xfront_accident"
_SIGNATURE = re.compile(r"\S+\(\) (missing|takes|got) ")   # how Python refuses arguments of a call
_NOTE = ("Frames of xfront are left out of this traceback, but for the last one; "
         "XFRONT_TRACEBACK_FILTERING=off shows them all.")


def front_door(body: F, named: Any = None) -> F:
    """`body` with the library's frames left out of the tracebacks of its exceptions.

    Args:
      body: the function.
      named: function whose name, signature and documentation the result has; by default `body`.
    """
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return body(*args, **kwargs)
        except BaseException as error:
            shorten(error)
            raise

    return dressed(call, body if named is None else named)


_GENERIC = sys.version_info >= (3, 12)
_type_params = operator.attrgetter("__type_params__")


def dressed(call: Any, named: Any) -> Any:
    """`call` with the name, signature and documentation of another function, as after
    `functools.update_wrapper`, but faster for a plain function."""
    if type(named) is not FunctionType:
        if not hasattr(named, "__name__") or isinstance(named.__name__, str):
            return named_after(call, named)
        # an object whose class has a field of this name
        call.__name__ = call.__qualname__ = type(named).__name__
        return functools.update_wrapper(call, named, ("__module__", "__doc__"))
    call.__module__, call.__name__ = named.__module__, named.__name__
    call.__qualname__, call.__doc__ = named.__qualname__, named.__doc__
    call.__annotations__ = named.__annotations__
    if _GENERIC:
        call.__type_params__ = _type_params(named)
    call.__dict__.update(named.__dict__)
    call.__wrapped__ = named
    return without_stages(call)


_OF_COMPILED = ("_jitted", "_stages", "trace", "lower", "eval_shape", "clear_cache",
                "_clear_cache", "_cache_size")


def without_stages(call: Any) -> Any:
    """`call` without the stages that came with the attributes of a compiled function: they are
    those of that function, not of what was made of it."""
    own = call.__dict__
    if "_stages" in own:
        for name in _OF_COMPILED:
            own.pop(name, None)
    return call


def named_after(call: Any, named: Any) -> Any:
    """`call` with the attributes of another function, but for its stages; where that has no name,
    with that of the function in a partial object, or a word."""
    functools.update_wrapper(call, named)
    if not hasattr(named, "__name__"):
        inner = named
        while isinstance(inner, functools.partial):
            inner = inner.func
        call.__name__ = getattr(inner, "__name__", "<unnamed function>")
        call.__qualname__ = getattr(inner, "__qualname__", "<unnamed function>")
    return without_stages(call)


_CALL = front_door(lambda: None).__code__


def is_front_door(function: Any) -> bool:
    """Whether `front_door` made a function."""
    return function.__code__ is _CALL


def front_door_of(fun: Any) -> Callable[[F], F]:
    """A decorator that does what `functools.wraps(fun)` does and makes a front door."""
    return lambda body: front_door(body, fun)


class _Warned(threading.local):
    """How often the library has warned in this thread; while `held`, nothing is shown."""

    count = 0
    held = False


warned = _Warned()


def warn(message: str, category: type[Warning]) -> None:
    """Warn about the line of the user's program that called the library."""
    warned.count += 1
    if warned.held:
        return
    frame, level = sys._getframe(1), 2
    while frame is not None and is_library(frame.f_code):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


_asked: list[Callable[[], str]] = [lambda: "auto"]


def filter_as(how: Callable[[], str]) -> None:
    """Have `how()` called at each shortening; it returns the value of the option."""
    _asked[0] = how


class UnfilteredStackTrace(Exception):
    """The cause of a shortened exception under `remove_frames`: it has the whole traceback."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.shown: TracebackType | None = None      # the shortened traceback


def shorten(error: BaseException) -> None:
    """Take the library's frames out of the tracebacks of an exception and of its causes.

    A front door calls it in an `except` clause that ends with a bare `raise`, which adds no frame
    of its own.
    """
    how = _asked[0]()
    if how == "auto":
        how = "tracebackhide" if _in_ipython() else "quiet_remove_frames"
    if how == "off":
        return
    for e in _chain(error):
        nodes = _nodes(e)
        if how == "tracebackhide":
            _hide(nodes)
            continue
        kept = _joined(_shown(e, nodes))
        if how == "remove_frames" and e is error and kept is not e.__traceback__:
            _keep_unfiltered(e, nodes, kept)
        e.with_traceback(kept)
        _forget_inner(e)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception, its causes and contexts, and the members of groups, each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        e = waiting.pop()
        if e is not None and id(e) not in seen and not isinstance(e, UnfilteredStackTrace):
            seen.add(id(e))
            yield e
            waiting += e.__context__, e.__cause__
            if isinstance(e, BaseExceptionGroup):
                waiting += e.exceptions


def _nodes(error: BaseException) -> list[TracebackType]:
    found, node = [], error.__traceback__
    while node is not None:
        found.append(node)
        node = node.tb_next
    return found


def _joined(nodes: list[TracebackType], end: TracebackType | None = None) -> TracebackType | None:
    """The traceback of these nodes, followed by `end`."""
    for node in reversed(nodes):
        end = node if node.tb_next is end else TracebackType(
            end, node.tb_frame, node.tb_lasti, node.tb_lineno)
    return end


def _is_library(node: TracebackType) -> bool:
    return is_library(node.tb_frame.f_code)


def _helps(node: TracebackType) -> bool:
    """Whether a frame that the library called is to be left out too."""
    path = node.tb_frame.f_code.co_filename
    return path.startswith(_NUMPY) or (path.startswith(_STANDARD) and "-packages" not in path)


def _shown(error: BaseException, nodes: list[TracebackType]) -> list[TracebackType]:
    """The nodes that are not the library's, and the library's last one if it raised by accident."""
    kept: list[TracebackType] = []
    last: TracebackType | None = None                # the library's, if no user's comes after it
    for node in nodes:
        if _is_library(node):
            last = node
        elif last is None or not _helps(node):
            last = None
            kept.append(node)
    if last is not None and _by_accident(error, nodes[-1]):
        kept.append(last)
    return kept


def _by_accident(error: BaseException, raising: TracebackType) -> bool:
    """Whether the library raised by accident; decided once, because its frames are then removed."""
    facts = error.__dict__
    if _ACCIDENT not in facts:
        code = raising.tb_frame.f_code.co_code
        refused = isinstance(error, TypeError) and _SIGNATURE.match(str(error))
        facts[_ACCIDENT] = not refused and (
            not _is_library(raising) or code[raising.tb_lasti] != _RAISE
            or isinstance(error, AssertionError))
        if facts[_ACCIDENT]:
            error.add_note(_NOTE)
    return facts[_ACCIDENT]


def _forget_inner(error: BaseException) -> None:
    """Drop the contexts of an exception, which was raised while they were handled, if they never
    left the library."""
    while ((context := error.__context__) is not None and context is not error.__cause__
           and (nodes := _nodes(context)) and all(map(_is_library, nodes))):
        error.__context__ = context.__context__


def _keep_unfiltered(error: BaseException, nodes: list[TracebackType], kept: TracebackType | None
                     ) -> None:
    """Put the whole traceback, of which `kept` is the part shown, into the exception's cause."""
    cause = error.__cause__
    if not isinstance(cause, UnfilteredStackTrace):
        made = UnfilteredStackTrace(error)
        made.__cause__, made.__context__ = cause, error.__context__
        made.__suppress_context__ = error.__suppress_context__
        error.__cause__ = cause = made.with_traceback(error.__traceback__)
    else:                                            # an inner front door has removed some
        n = nodes.index(cause.shown) if cause.shown in nodes else len(nodes)
        cause.with_traceback(_joined(nodes[:n], cause.__traceback__))
    cause.shown = kept


def _hide(nodes: list[TracebackType]) -> None:
    """Mark the library's frames: pytest and IPython do not show frames with this variable."""
    for node in nodes:
        if _is_library(node):
            node.tb_frame.f_locals["__tracebackhide__"] = True


def _in_ipython() -> bool:
    """Whether IPython is running, which leaves hidden frames out."""
    ipython = sys.modules.get("IPython")
    return (ipython is not None and getattr(ipython, "version_info", ())[:2] >= (7, 17)
            and ipython.get_ipython() is not None)


__all__ = ["UnfilteredStackTrace", "filter_as", "front_door", "front_door_of", "is_front_door",
           "shorten", "warn"]
