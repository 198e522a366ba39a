"""The passes of platforms: what is special about one is a pass over IR before the module is built.

    cpu     fences and forms that run faster        cpu/for_cpu.py
    tpu     what its compiler has no rule for       tpu/for_tpu.py
    cuda    the same, by NVIDIA's libraries         gpu/for_gpu.py

`lowering/rules/` is the plain StableHLO of every op, for every platform.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xfront_ir.core import Function

Pass = Callable[[Function, Any, Callable[[Function], Any]], Function]
"""(program, its extras, what becomes of its bodies) to the program as it is lowered."""

_PASSES = {"cpu": ("cpu.for_cpu", "for_cpu"), "tpu": ("tpu.for_tpu", "for_tpu"),
           "cuda": ("gpu.for_gpu", "for_gpu")}


def for_platform(platform: str) -> Pass:
    """The pass of a platform, which changes nothing where it has none."""
    if platform not in _PASSES:
        return lambda fn, extras, facts_of: fn
    module, name = _PASSES[platform]
    return getattr(import_module(f"{__package__}.{module}"), name)
