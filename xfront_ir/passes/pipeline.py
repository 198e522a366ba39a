"""Named lists of passes, and what every program goes through before it is lowered."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..core import Function, remembered, stays
from .bypass import bypass
from .common_subexpressions import common_subexpressions
from .dead_code import dead_code
from .fold_constants import fold_constants
from .hoist import hoist
from .if_conversion import if_conversion
from .inline import expand, inline, inline_calls, settle
from .inside import everywhere
from .written_out import written_out

Pass = Callable[[Function], Function]

PASSES: Mapping[str, Pass] = {
    "bypass": bypass, "common_subexpressions": common_subexpressions, "dead_code": dead_code,
    "expand": expand, "fold_constants": fold_constants, "hoist": hoist,
    "if_conversion": if_conversion, "inline": inline, "inline_calls": inline_calls}
"""The passes that take a Function and nothing else."""

CLEAN: tuple[str, ...] = ("expand", "inline", "fold_constants", "inline", "if_conversion", "bypass",
                          "hoist", "bypass", "common_subexpressions", "dead_code")
"""The passes that every program goes through; bodies first, then the Function that holds them.
Inline runs twice, since folding turns a branch with a known index into a call; bypass runs twice,
since hoist leaves constants that nobody reads."""


WITHOUT_BODIES: tuple[str, ...] = ("fold_constants", "common_subexpressions", "dead_code")
"""The passes of `CLEAN` that can change a Function whose ops have no bodies."""


def _clean_one(fn: Function) -> Function:
    """The Function after the passes; they run on it alone, not on its bodies."""
    for name in CLEAN if any([op.definition.has_bodies for op in fn.ops]) else WITHOUT_BODIES:
        fn = PASSES[name](fn)
    return fn


_clean = everywhere(_clean_one, "simplify")


def simplify(fn: Function) -> Function:
    """The Function as it is lowered: pending bodies are carried out, custom rules and checkpoints
    replaced by their bodies, small calls inlined, constants folded, and loops carry only what they
    change.

    It is idempotent; each body is simplified once however often it is used.
    """
    return remembered(fn, "simple", _simplified, fn)


def _simplified(fn: Function) -> Function:
    return stays(_clean(written_out(settle(fn))), "simple")
