"""Runs of programs that options look at: which keys are used again, and what made a NaN."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xfront_ir.core import Function

from ..config import debug_key_reuse


def run(name: str, function: Function, operands: Sequence[Any], located: bool,
        run_: Callable[[], list[Any]]) -> list[Any]:
    """The results of a program, with its keys followed and NaN blamed on an operation.

    Raises: KeyReuseError, FloatingPointError.
    """
    follow = None
    if debug_key_reuse.value:
        from . import key_reuse  # seldom asked for

        uses = key_reuse.before(name, function, operands)
        follow = functools.partial(key_reuse.after, uses)
    try:
        results = run_()
    except FloatingPointError:
        from . import blame  # seldom asked for

        blame.explain(name, function, operands, located)
        raise
    if follow is not None:
        follow(operands, results)
    return results
