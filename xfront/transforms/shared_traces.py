"""Traces that serve several calls of a function.

A trace of an earlier call stands for a new one where all that Python read then is the same now
(`reads.py`), and so are the types of the arguments, the options, and where the call stands: the
axes and scopes around it. A function that captures tracers or is given references is traced anew.
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
      what: what the trace is for; how it calls `fun` depends on that and on the further arguments
        alone.
      fun, known: the function, and what else its calls read that is no argument.
      tree, kinds: the tree of the arguments, and the type and weakness of each leaf.
      leaves: the arguments, where they are known.
      at_first: whether to look at what a function reads when it is met for the first time; most
        bodies of loops are new functions at each call, for which that would be in vain.
    """
    try:
        traces = _TRACES.get(fun)
        if traces is None:
            traces = _TRACES[fun] = {}
            if not at_first:
                return trace()
    except TypeError:                            # it has no hash, or takes no weak references
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
