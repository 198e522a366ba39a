"""What is special about TPUs, as one pass over the IR, between the caches and the lowering.

Forms write what the compiler has no rule for, or refuses, as other ops of the IR; kernels that it
knows by name are `platform_call`s. What it cannot do at all keeps its op, whose rule refuses and
names the platform.
"""

from __future__ import annotations

from collections.abc import Callable

from lowering.cpu.extras import ALWAYS, Extras
from lowering.cpu.facts import NO_FACTS, Facts
from lowering.cpu.placing import place_forms
from xfront_ir.core import Function


def for_tpu(fn: Function, extras: Extras = ALWAYS["tpu"],
            facts_of: Callable[[Function], Facts] = lambda _: NO_FACTS) -> Function:
    """`fn` as XLA's TPU compiler gets it; the same object where it is nothing special.

    Args: as `lowering.cpu.for_cpu.for_cpu`.
    """
    if not extras.forms:
        return fn
    return place_forms(fn, facts_of(fn), has_fences=False, platform="tpu")
