"""The extras, fences and forms, that a program gets on its platform, as part of its key.

    XFRONT_CPU_FENCES=0       no fences
    XFRONT_CPU_FORMS=0        no forms that exist for speed alone, on CPU

Forms without which XLA computes wrong values on CPU are in every program there, those for several
devices and exported ones included. On TPU and on CUDA every program gets all forms, most of them
for ops that their compilers lack.
"""

from __future__ import annotations

import os
from typing import NamedTuple

FENCES = 7
"""Version of the fence pass: a change of its rule must change this number."""

FORMS = 45
"""Version of the forms for CPU and of their conditions."""

NEEDED = 12
"""Version of those among them that are needed for right values, and of the options that are."""


class Extras(NamedTuple):
    """The version of each extra, 0 where the program does not get it."""

    fences: int = 0
    forms: int = 0
    needed: int = 0
    """Of the forms that are `needed`, which are also among `forms`."""


NOTHING = Extras()

ALWAYS = {"cpu": Extras(needed=NEEDED), "tpu": Extras(forms=8), "cuda": Extras(forms=1)}
"""The extras of every program on a platform: a change of a form must change its number."""


def extras(effort: str, platform: str, devices: int, *, tiny: bool = False) -> Extras:
    """The extras of a program of this effort; on CPU, programs for several devices get those that
    are always there.

    Tiny programs of effort `eager` get no fences, for they have nothing to repeat.
    """
    always = ALWAYS.get(platform, NOTHING)
    if platform != "cpu" or devices != 1:
        return always
    return always._replace(
        fences=0 if effort == "eager" and tiny or not _is_on("XFRONT_CPU_FENCES") else FENCES,
        forms=FORMS if _is_on("XFRONT_CPU_FORMS") else 0)


def _is_on(name: str) -> bool:
    return os.environ.get(name, "1").lower() not in ("0", "false", "off")
