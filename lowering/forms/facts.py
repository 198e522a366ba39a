"""What the pass of a platform must know beyond a program's ops: what becomes of its bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from xfront_ir.core import Function


class Facts(NamedTuple):
    """What becomes of the bodies of one Function.

    `first` gives, of the bodies with the same content, the one that stands for all of them: what is
    called several times stays one function. `is_private` says whether a body is a function of its
    own in the module.
    """

    first: Callable[[Function], Function] = lambda body: body
    is_private: Callable[[Function], bool] = lambda body: False


NO_FACTS = Facts()
