"""fft: discrete Fourier transforms over the last one to three axes.

    kind      operand                result                  divided by the number of points
    fft       complex                complex                 no
    ifft      complex                complex                 yes
    rfft      real                   complex, last n//2+1    no
    irfft     complex, last n//2+1   real                    yes

`lengths` are the sizes of the transformed axes, for rfft and irfft those of the real side. All
kinds are linear; irfft reads the imaginary parts of its first coefficient (and of the middle one
where n is even) as zero. Source: StableHLO spec, `fft`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..core import Op, Value
from ..definition import LINEAR_OP, lookup
from ..errors import IRTypeError
from ..literal import Literal
from ..opdef import SHAPE, define, enum
from ..spreading import resized, spreads
from .families import move_batch
from .indexing import pad
from .shape import broadcast_in_dim

if TYPE_CHECKING:

    from ..builder import Builder
    from ..rules import Attrs, Axis, Batched, NewTangents, Positions, Tangents, Types, Values

KINDS = ("fft", "ifft", "rfft", "irfft")


def _infer_fft(types: Types, attrs: Attrs) -> Types:
    (x,), kind, lengths = types, attrs["kind"], attrs["lengths"]
    n = len(lengths)
    if not 1 <= n <= min(3, x.ndim):
        raise IRTypeError(f"fft transforms the last one to three axes, got lengths {lengths} for "
                          f"{x}")
    wanted = ((dtypes.f32, dtypes.f64) if kind == "rfft" else (dtypes.c64, dtypes.c128))
    if x.dtype not in wanted:
        raise IRTypeError(f"fft of kind {kind} takes {wanted[0]} or {wanted[1]} operands, got {x}")
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    before = half if kind == "irfft" else lengths
    if x.shape[-n:] != before:
        raise IRTypeError(f"fft of kind {kind} and lengths {lengths} takes last axes of sizes "
                          f"{before}, got {x}")
    if min(lengths) < 1:
        raise IRTypeError(f"fft: lengths must be positive, got {lengths}")
    lead = x.shape[:-n]
    if kind == "rfft":
        return (x.with_shape((*lead, *half)).with_dtype(dtypes.complex_of(x.dtype)),)
    if kind == "irfft":
        return (x.with_shape((*lead, *lengths)).with_dtype(dtypes.real_of(x.dtype)),)
    return (x,)


def _transpose_fft(b: Builder, op: Op, cotangents: Tangents, known: Tangents) -> NewTangents:
    (ct,), kind, lengths = cotangents, op.attrs["kind"], op.attrs["lengths"]
    if kind == "rfft":                           # the coefficients that were left out are zero
        missing = lengths[-1] - ct.type.shape[-1]
        high = (*[0] * (ct.type.ndim - 1), missing)
        zero = b.zeros(ct.type.with_shape(()))
        whole = b.emit(pad, ct, zero, low=(0,) * ct.type.ndim, high=high,
                       interior=(0,) * ct.type.ndim)
        return (b.emit(lookup("real"), b.emit(fft, whole, kind="fft", lengths=lengths)),)
    if kind == "irfft":
        back = b.emit(lookup("conj"), b.emit(fft, ct, kind="rfft", lengths=lengths))
        return (b.emit(lookup("mul"), back, _weights(b, back, lengths)),)
    return (b.emit(fft, ct, **op.attrs),)        # the matrix of a Fourier transform is symmetric


def _weights(b: Builder, like: Value, lengths: tuple[int, ...]) -> Value:
    """How often irfft counts each coefficient (once, or twice as its mirror), over all points."""
    n = lengths[-1]
    counts = np.full(n // 2 + 1, 2.0)
    counts[0] = 1
    if n % 2 == 0:
        counts[-1] = 1
    made = Literal((counts / math.prod(lengths)).astype(like.type.dtype.numpy))
    vector = b.literal(made)
    return b.emit(broadcast_in_dim, vector, shape=like.type.shape, dims=(like.type.ndim - 1,))


def _batch_fft(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    x = move_batch(b, operands[0], positions[0], 0, axis[1])
    return (b.emit(fft, x, **op.attrs),), (0,)


def _cost_fft(op: Op) -> Any:
    x, y = op.operands[0].type, op.results[0].type
    points = math.prod(op.attrs["lengths"])
    flops = 5 * max(x.size, y.size) * max(1, math.ceil(math.log2(points)))
    return flops, sum(t.size * t.dtype.bits // 8 for t in (x, y))


fft = define("fft", attrs={"kind": enum(*KINDS), "lengths": SHAPE}, operands=1, infer=_infer_fft,
             jvp=LINEAR_OP, transpose=_transpose_fft, batch=_batch_fft, cost=_cost_fft)


# Devices exchange what a transform along a divided dimension needs; sizes must still divide.
spreads(resized, fft)
