"""Distinguishes users' frames from libraries': a library names its own files, so that errors and
the locations of operations point at the code that called it. An interpreter of jaxprs records an
eqn again under the scopes where it was first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

from xfront_ir.locations import register_library

from ..base.on_demand import shown as _shown
from ..tracing.trace import state


def register_exclusion(path: str) -> None:
    """Declare the files whose path begins with `path` as a library's: their frames are left out of
    shortened tracebacks and are never the location of an operation."""
    if not isinstance(path, str):
        raise TypeError(f"register_exclusion: path must be a string, got {path!r}")
    register_library(path)


@contextlib.contextmanager
def user_context(traceback: None, *, name_stack: str | None = None) -> Iterator[None]:
    """A context in which operations are recorded as those of an eqn.

    Args:
      traceback: `eqn.source_info.traceback`, which is None here: an op keeps a location.
      name_stack: `eqn.source_info.name_stack`, the scopes in which to record; None for those of
        this place.
    Raises: NotImplementedError for another traceback; TypeError where `name_stack` is no string.

    >>> from xfront.extend.source_info_util import user_context
    >>> (eqn,) = xfront.make_jaxpr(xfront.named_scope("layer")(jnp.sin))(1.0).eqns
    >>> def again(x):
    ...     with user_context(eqn.source_info.traceback, name_stack=eqn.source_info.name_stack):
    ...         return eqn.primitive.bind(x)
    >>> xfront.make_jaxpr(again)(1.0).eqns[0].source_info.name_stack
    'layer'
    """
    if traceback is not None:
        raise NotImplementedError("user_context: operations keep the location where they are "
                                  f"recorded, no traceback; got {traceback!r}. Write "
                                  "user_context(eqn.source_info.traceback)")
    if name_stack is not None and not isinstance(name_stack, str):
        raise TypeError("user_context: name_stack must be the text of eqn.source_info.name_stack, "
                        f"got {name_stack!r}")
    outer = state.scope
    if name_stack is not None:
        state.scope = tuple(name_stack.split("/")) if name_stack else ()
    try:
        yield
    finally:
        state.scope = outer


def summarize(source_info: Any, num_frames: int = 1) -> str:
    """Where an operation was recorded: file, line, column from 0 and function.

    Args:
      source_info: `eqn.source_info`.
      num_frames: at most so many callers, a line each; an op keeps one.
    Raises: ValueError for fewer frames than one.

    >>> (eqn,) = xfront.make_jaxpr(lambda x: jnp.sin(x))(1.0).eqns
    >>> xfront.extend.source_info_util.summarize(eqn.source_info).endswith("(<lambda>)")
    True
    """
    if num_frames < 1:
        raise ValueError(f"summarize: num_frames must be at least 1, got {num_frames}")
    place = source_info.location
    if place is None or place.code is None:
        return "unknown"
    positions = next(islice(place.code.co_positions(), place.lasti // 2, None), (None,) * 4)
    column = "" if positions[2] is None else f":{positions[2]}"
    return f"{place.file}:{place.line}{column} ({place.function})"


__all__ = ["register_exclusion", "summarize", "user_context"]
__dir__ = _shown(globals())
