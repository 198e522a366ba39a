"""Bessel functions. Sources: NIST DLMF chapter 10; `scipy.special`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xfront_ir import ops

from ...nn.parts import mul
from ...tracing.trace import emit
from .parts import one, public, real

i0e = one("i0e", ops.bessel_i0e, "Modified Bessel function of order 0, times exp(-|x|).")
i1e = one("i1e", ops.bessel_i1e, "Modified Bessel function of order 1, times exp(-|x|).")


def _unscaled(name: str, definition: Any, doc: str) -> Callable[[Any], Any]:
    def body(x: Any) -> Any:
        x = real(name, x)
        size = mul(x, emit(ops.sign, x))         # its slope at 0 is 0, as that of the Bessel ops
        return mul(emit(ops.exp, size), emit(definition, x))

    return public(body, name, doc)


i0 = _unscaled("i0", ops.bessel_i0e, "Modified Bessel function of order 0.")
i1 = _unscaled("i1", ops.bessel_i1e, "Modified Bessel function of order 1.")

__all__ = ["i0", "i0e", "i1", "i1e"]
