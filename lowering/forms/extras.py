"""Which extras of its platform a program gets, as part of its key.

    XFRONT_CPU_FENCES=0       no fences
    XFRONT_CPU_FORMS=0        the plain rule for every op there

On TPU and on CUDA every program gets forms: they are what their compilers lack.
"""

from __future__ import annotations

import os
from typing import NamedTuple

FENCES = 7
"""Version of the rule that places fences: a change of the rule is a change of the number."""

FORMS = 27
"""The same of the forms and their conditions."""


class Extras(NamedTuple):
    """The version of each extra, 0 where the program goes without it."""

    fences: int = 0
    forms: int = 0


NOTHING = Extras()

ALWAYS = {"tpu": Extras(forms=1), "cuda": Extras(forms=1)}
"""What programs get wherever and however they run: a change of a form is a change of its number."""


def extras(effort: str, platform: str, devices: int) -> Extras:
    """What a program of this effort on so many devices gets; for CPUs nothing but on one device.

    Programs of effort `eager` are single operations, with nothing to fence.
    """
    if platform != "cpu" or devices != 1:
        return ALWAYS.get(platform, NOTHING)
    return Extras(
        fences=FENCES if effort != "eager" and _is_on("XFRONT_CPU_FENCES") else 0,
        forms=FORMS if _is_on("XFRONT_CPU_FORMS") else 0)


def _is_on(name: str) -> bool:
    return os.environ.get(name, "1").lower() not in ("0", "false", "off")
