"""Names for libraries that build on xfront: its primitives, and generators of random bits."""

from typing import TYPE_CHECKING

from ..base.on_demand import on_demand as _on_demand
from . import core

if TYPE_CHECKING:
    from . import backend, linear_util, random, source_info_util

_NAMES, __getattr__, __dir__ = _on_demand(
    __name__, {}, ("backend", "linear_util", "random", "source_info_util"))
__all__ = ["backend", "core", "linear_util", "random", "source_info_util"]
