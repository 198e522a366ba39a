"""Runs of programs under options that look for reused keys, or for the op that made a NaN."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xfront_ir.core import Function

from ..base.config import debug_key_reuse


def run(name: str, function: Function, operands: Sequence[Any], located: bool,
        run_: Callable[[], list[Any]]) -> list[Any]:
    """The results of `run_()`, a run of a program whose keys and numbers the options check.

    Raises: KeyReuseError where a consumed key is used again; FloatingPointError that names the
      operation which made a NaN or an infinity.
    """
    follow = None
    if debug_key_reuse.value:
        from . import key_reuse  # seldom needed

        uses = key_reuse.before(name, function, operands)
        follow = functools.partial(key_reuse.after, uses)
    try:
        results = run_()
    except FloatingPointError:
        from . import blame  # seldom needed

        blame.explain(name, function, operands, located)
        raise
    if follow is not None:
        follow(operands, results)
    return results
