"""Discrete Fourier transforms of the last axes. Source: StableHLO spec, `fft`."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from xfront_ir import dtypes, ops

from ..binding.annotations import Array, ArrayLike
from ..eager.dispatch import eager
from ..eager.operands import convert, operand
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from .strict import ints

AT_ONCE = 3
"""Axes that one op transforms."""


class FftType(enum.IntEnum):
    """Kinds of transform: complex, inverse complex, real, inverse real.

    >>> lax.fft(jnp.array([1., 2., 3.]), lax.FftType.RFFT, (3,))
    Array([ 6. +0.j   , -1.5+0.866j], dtype=complex64)
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def transform_kind(fft_type: Any) -> str:
    """The name of a kind that is given as a FftType or a string. Raises: ValueError."""
    name = (fft_type.name if isinstance(fft_type, FftType) else str(fft_type)).lower()
    if name not in ("fft", "ifft", "rfft", "irfft"):
        raise ValueError("fft: fft_type must be one of fft, ifft, rfft and irfft, got "
                         f"{fft_type!r}")
    return name


def as_complex(x: Tracer) -> Tracer:
    """`x` in the complex dtype of its precision; 16-bit floats in c64."""
    dtype = x.value.type.dtype
    if dtype.is_complex:
        return x
    return convert(x, dtypes.c128 if dtype is dtypes.f64 else dtypes.c64)


def transform(x: Tracer, kind: str, lengths: tuple[int, ...]) -> Tracer:
    """The transform of the last axes, three at a time."""
    if kind != "rfft":
        x = as_complex(x)
    elif x.value.type.dtype not in (dtypes.f32, dtypes.f64):
        x = convert(x, dtypes.f32)
    rest, last = lengths[:-AT_ONCE], lengths[-AT_ONCE:]
    if not rest:
        return emit(ops.fft, x, kind=kind, lengths=last)
    if kind == "irfft":                          # the halved axis, transformed last, makes it real
        return emit(ops.fft, _earlier(x, "ifft", rest), kind=kind, lengths=last)
    made = emit(ops.fft, x, kind=kind, lengths=last)
    return _earlier(made, "ifft" if kind == "ifft" else "fft", rest)


def _earlier(x: Tracer, kind: str, lengths: tuple[int, ...]) -> Tracer:
    """The transform of the axes before the last three."""
    n = x.ndim
    swapped = (*range(n - len(lengths) - AT_ONCE), *range(n - AT_ONCE, n),
               *range(n - len(lengths) - AT_ONCE, n - AT_ONCE))
    back = tuple(sorted(range(n), key=swapped.__getitem__))
    made = transform(emit(ops.transpose, x, permutation=swapped), kind, lengths)
    return emit(ops.transpose, made, permutation=back)


@eager(static=("fft_type", "fft_lengths"))
def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The transform of the last `len(fft_lengths)` axes.

    Args:
      fft_type: a FftType or its name: "fft", "ifft", "rfft" or "irfft".
      fft_lengths: sizes of these axes; for rfft and irfft those of the real array, since the
        complex one has n // 2 + 1 elements in the last axis.
    Returns: a complex array, for irfft a real one; ifft and irfft divide by the number of points.
    Raises: ValueError where sizes do not match, for other kinds, and for rfft of complex numbers.

    >>> lax.fft(jnp.array([1., 0.]), 'rfft', (2,))
    Array([1.+0.j, 1.+0.j], dtype=complex64)
    """
    x, kind = operand("fft", x), transform_kind(fft_type)
    if kind == "rfft" and x.value.type.dtype.is_complex:
        raise ValueError(f"only real valued inputs supported for rfft, got {x.value.type}")
    lengths = ints("fft_lengths", fft_lengths)
    wanted = (*lengths[:-1], lengths[-1] // 2 + 1) if kind == "irfft" and lengths else lengths
    if len(lengths) > x.ndim or x.shape[x.ndim - len(lengths):] != wanted:
        raise ValueError(f"fft: {kind} of fft_lengths {lengths} takes last axes of sizes {wanted}, "
                         f"got {x.value.type}")
    return transform(x, kind, lengths)


__all__ = [
    "FftType", "fft",
]  # fmt: skip
