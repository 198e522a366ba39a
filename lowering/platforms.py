"""What is special about a platform, as a pass over the IR, between the caches and the lowering.

    cpu     fences, and forms that run faster
    tpu     forms of what its compiler has no rule for
    cuda    the same, by NVIDIA's libraries

`lowering/rules/` is the plain StableHLO of every op, for every platform. Fences come first, for
they are chosen by what XLA makes of the plain operations, which a form is in their eyes; then
forms, which may ask how much is computed behind the fences. Keys hold the Function before and the
version of both (`forms/extras.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from xfront_ir.core import Function

from .forms.extras import Extras
from .forms.facts import NO_FACTS, Facts


def for_platform(fn: Function, platform: str, extras: Extras,
                 facts_of: Callable[[Function], Facts] = lambda _: NO_FACTS) -> Function:
    """`fn` as a platform's compiler gets it; the same object where it is nothing special.

    Not idempotent: a form may write ops that have one themselves.

    Args:
      fn: a clean Function.
      platform: `cpu`, `tpu`, `cuda`; on others nothing is special.
      extras: what it gets.
      facts_of: what becomes of the bodies of a Function; asked again where fences made new ones.
    """
    facts, given = facts_of(fn), fn
    if extras.fences:
        from .cpu.fences import fence_pass  # what is switched off is not imported

        fn = fence_pass(fn, facts)
    if extras.forms:
        from .forms.placing import place_forms

        fn = place_forms(fn, facts if fn is given else facts_of(fn), platform=platform,
                         has_fences=extras.fences != 0)
    return fn
