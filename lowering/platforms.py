"""The extras of a platform, as a pass over the IR between the caches and the lowering.

    cpu     fences, and forms that run faster, or give the right values where XLA does not
    tpu     forms of ops that its compiler has no rule for, or computes with more work
    cuda    such forms too, with NVIDIA's libraries

`lowering/rules/` is the plain StableHLO of every op, for every platform. Fences are placed first,
for they depend on how XLA fuses the plain ops; then forms, whose conditions may depend on how much
is computed behind a fence. Cache keys hold the Function before this pass, and the versions of
fences and forms (`forms/extras.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from xfront_ir.core import Function

from .forms.extras import Extras
from .forms.facts import NO_FACTS, Facts


def for_platform(fn: Function, platform: str, extras: Extras,
                 facts_of: Callable[[Function], Facts] = lambda _: NO_FACTS) -> Function:
    """`fn` with the extras of a platform; the same object where nothing changes.

    The pass is not idempotent: a form may write ops that have a form themselves.

    Args:
      fn: a simplified Function.
      platform: `cpu`, `tpu`, `cuda`; others have no extras.
      extras: which fences and forms to place.
      facts_of: how the bodies of a Function will be written; called again where fences made new
        bodies.
    """
    facts, given = facts_of(fn), fn
    if extras.fences:
        from .cpu.fences import fence_pass  # imported only where fences are on

        fn = fence_pass(fn, facts)
    if extras.forms or extras.needed:
        from .forms.placing import place_forms

        fn = place_forms(fn, facts if fn is given else facts_of(fn), platform=platform,
                         has_fences=extras.fences != 0, needed_only=not extras.forms)
    return fn
