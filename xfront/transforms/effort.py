"""Options of `jit` about compilation: when a call is replaced by its ops, and the effort of XLA."""

from __future__ import annotations

import enum
from typing import Any


class Inline(enum.Enum):
    """When a call of a jitted function in the trace of another is replaced by its ops: when it is
    recorded, when it is lowered, early or late in XLA, or when XLA finds it best.

    >>> xfront.make_jaxpr(xfront.jit(jnp.sin, inline=xfront.Inline.JAX_EARLY))(1.0)
    { lambda ; a:f32[]. let
        b:f32[] = sin a
      in (b,) }
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


class CompilerEffortLevel(enum.Enum):
    """How long XLA may compile for faster programs, or for smaller ones; the options
    `optimization_level` and `memory_fitting_level` take the names, and those of `jit` the numbers.

    >>> xfront.CompilerEffortLevel.O2.value
    29
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


def is_early(inline: Any) -> bool:
    """Whether calls are recorded as their ops. Raises: ValueError for what is no bool or Inline."""
    if isinstance(inline, bool):
        return inline
    if not isinstance(inline, Inline):
        raise ValueError(f"jit: inline must be a bool or an xfront.Inline, got {inline!r}")
    return inline is Inline.JAX_EARLY


__all__ = ["CompilerEffortLevel", "Inline", "is_early"]
