"""Traces that serve several calls of a function.

The trace of an earlier call serves a new one if everything that Python read then is the same now
(`reads.py`), and if the types of the arguments, the options, and the named axes and scopes around
the call are the same. A function that captures tracers or gets references is traced for each call.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from xfront_ir.locations import is_library

from ..base.config import trace_key
from ..binding import ArrayImpl
from ..running import programs
from ..tracing.following import sets_of
from ..tracing.trace import state
from .flat import Flat
from .reads import reads

_TRACES: weakref.WeakKeyDictionary[Any, dict[Any, tuple[list[Any], Flat]]] = (
    weakref.WeakKeyDictionary())
_MOST_TRACES = 64
programs.TABLES.append(_TRACES.clear)


def shared(what: Hashable, fun: Any, known: Sequence[Any], tree: Any,
           kinds: Sequence[tuple[Any, bool]], leaves: Sequence[Any] | None,
           trace: Callable[[], Flat], at_first: bool = True) -> Flat:
    """The trace of an earlier call, or that of `trace()`.

    Args:
      what: the purpose of the trace. How it calls `fun` may depend on that and on the arguments
        below, and on nothing else.
      fun, known: the function, and other objects that the trace reads and that are no arguments.
      tree, kinds: the tree of the arguments, and the type and weakness of each leaf.
      leaves: the arguments, where they are known.
      at_first: whether to keep the trace of a function's first call. Most bodies of loops are new
        functions in each call, so that to find what they read would be work for nothing.
    """
    try:
        traces = _TRACES.get(fun)
        if traces is None:
            traces = _TRACES[fun] = {}
            if not at_first:
                return trace()
    except TypeError:                            # `fun` has no hash or no weak references
        return trace()
    code = getattr(fun, "__code__", None)
    if state.place is not None or code is not None and is_library(code):
        return trace()                           # shared, it would show its first caller's lines
    if not is_plain(tree) or (read := reads(fun, *known)) is None:
        return trace()
    key = (what, tuple(map(id, read)), tree, tuple(kinds), trace_key(), state.axes, state.scope,
           sets_of(leaves or ()))
    if (held := traces.get(key)) is not None:
        return held[1]
    flat = trace()
    if all([type(x) is ArrayImpl for x in flat.captures]) and not any(
            [t.dtype.is_ref for t, _ in kinds]):
        if len(traces) >= _MOST_TRACES:
            traces.clear()
        traces[key] = [x for x in read if x is not fun], flat     # so that each keeps its id
    return flat


def is_plain(tree: Any) -> bool:
    """Whether all nodes of a tree are tuple, list, dict or None. To flatten a user's class runs the
    user's code, and what that reads is not seen here."""
    data = tree.node_data()
    return data is None or (data[0] in (tuple, list, dict, type(None))
                            and all(map(is_plain, tree.children())))


__all__ = ["is_plain", "shared"]
