"""What is special about the CPU, as one pass over the IR, between the caches and the lowering.

Fences come first, for they are chosen by what XLA makes of the plain operations, which a form is in
their eyes; then forms, which may ask how much is computed behind the fences. Keys hold the Function
before and the version of both (`extras.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from xfront_ir.core import Function

from .extras import Extras
from .facts import NO_FACTS, Facts


def for_cpu(fn: Function, extras: Extras, facts_of: Callable[[Function], Facts] = lambda _: NO_FACTS
            ) -> Function:
    """`fn` as XLA's CPU compiler gets it; the same object where nothing is special about it.

    Not idempotent: a form may write ops that have one themselves.

    Args:
      fn: a clean Function.
      extras: what it gets.
      facts_of: what becomes of the bodies of a Function; asked again where fences made new ones.
    """
    facts, given = facts_of(fn), fn
    if extras.fences:
        from .fences import fence_pass  # what is switched off is not imported

        fn = fence_pass(fn, facts)
    if extras.forms:
        from .placing import place_forms

        fn = place_forms(fn, facts if fn is given else facts_of(fn), has_fences=extras.fences != 0)
    return fn
