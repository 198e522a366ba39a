"""Facts beyond a program's ops that the passes of platforms need: how its bodies are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from xfront_ir.core import Function


class Facts(NamedTuple):
    """How the bodies of one Function will be written.

    `first(body)` is the one body that stands for all bodies of the same content, so that a function
    that is called several times stays one. `is_private(body)` says whether a body will be a
    function of its own in the module.
    """

    first: Callable[[Function], Function] = lambda body: body
    is_private: Callable[[Function], bool] = lambda body: False


NO_FACTS = Facts()
