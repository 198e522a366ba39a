"""What a row of the op table says of an op, and how its samples become programs and arrays.

A sample names attributes and operands. Operands are drawn (`Draw`) or listed (`Fixed`); where they
name no dtype they take each dtype of the row in turn. Attributes may be a function of that dtype.
A sample of an op with bodies gives its own `build`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xfront_ir import dtypes
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.definition import lookup
from xfront_ir.dtypes import DType, from_numpy
from xfront_ir.types import tensor

Shape = tuple[int, ...]

FLOATS = (dtypes.f64, dtypes.f32, dtypes.bf16, dtypes.f16)
COMPLEX = (dtypes.c128, dtypes.c64)
INEXACT = (*FLOATS, *COMPLEX)
SIGNED = (dtypes.i32, dtypes.i8, dtypes.i16, dtypes.i64)
UNSIGNED = (dtypes.u8, dtypes.u16, dtypes.u32, dtypes.u64)
INTEGERS = (*SIGNED, *UNSIGNED)
REAL = (*FLOATS, *INTEGERS)
NARROW = tuple([dtype for dtype in dtypes.BY_NAME.values()
                if dtype.is_float and dtype.bits <= 8])
"""Floats of 8 and 4 bits: most hold no infinity, one no zero and no sign, one no NaN."""
NUMERIC = (*INEXACT, *INTEGERS)
BOOL = (dtypes.bool_,)

TOLERANCE = {"f64": 1e-13, "f32": 3e-6, "bf16": 8e-3, "f16": 1e-3, "c128": 1e-13, "c64": 3e-6}
"""Relative to max(1, |expected|): a few units in the last place."""


# --- operands -----------------------------------------------------------------------------

@dataclass(frozen=True)
class Draw:
    """Random elements in [low, high]; parts of complex ones too. `distinct`: no two are near."""

    shape: Shape = (2, 3)
    low: float = -3.0
    high: float = 3.0
    dtype: DType | None = None
    distinct: bool = False

    def array(self, varied: DType, rng: np.random.Generator) -> np.ndarray:
        """The operand, of `varied` where no dtype is named."""
        dtype = self.dtype or varied
        if dtype.kind == "bool":
            return rng.random(self.shape) < 0.5
        if dtype.is_integer:
            low = 0 if dtype.is_unsigned else -(2 ** (dtype.bits - 1))
            low = max(low, int(np.ceil(self.low)))
            high = min(2 ** (dtype.bits - (not dtype.is_unsigned)) - 1, int(np.floor(self.high)))
            return rng.integers(low, max(low, high), self.shape, np.int64, endpoint=True).astype(
                dtype.numpy)
        made = self._floats(rng)
        if dtype.is_complex:
            made = made + 1j * self._floats(rng)
        return made.astype(dtype.numpy)

    def _floats(self, rng: np.random.Generator) -> np.ndarray:
        size = int(np.prod(self.shape))
        if not self.distinct:
            return rng.uniform(self.low, self.high, self.shape)
        steps = (rng.permutation(size) + rng.uniform(0.3, 0.7, size)) / max(size, 1)
        return (self.low + (self.high - self.low) * steps).reshape(self.shape)


@dataclass(frozen=True)
class Fixed:
    """Listed elements, as an array of a named dtype or of the varied one."""

    values: Any
    dtype: DType | None = None

    def array(self, varied: DType, rng: np.random.Generator) -> np.ndarray:
        """The operand, of `varied` where no dtype is named."""
        with np.errstate(all="ignore"):
            return np.asarray(self.values).astype((self.dtype or varied).numpy)


# --- samples ------------------------------------------------------------------------------

Build = Callable[[DType, np.random.Generator], tuple[Function, list[np.ndarray]]]


@dataclass(frozen=True)
class Sample:
    """One use of the op.

    Args:
      operands: one `Draw` or `Fixed` each.
      attrs: attributes, or a function of the varied dtype giving them.
      smooth: whether derivatives are checked here too (no kink, tie or edge of the domain near).
      dtypes: those of the row's dtypes that the sample takes; None: all.
      build: instead of operands and attrs, `build(dtype, rng) -> (Function, arrays)`.
    """

    operands: Sequence[Any] = ()
    attrs: Any = field(default_factory=dict)
    smooth: bool = True
    dtypes: Sequence[DType] | None = None
    build: Build | None = None

    def made(self, name: str, dtype: DType) -> tuple[Function, list[np.ndarray]]:
        """The program of this sample for a dtype, and its arguments; the same in every run."""
        rng = np.random.default_rng(zlib.crc32(f"{name} {dtype}".encode()))
        if self.build is not None:
            return self.build(dtype, rng)
        arrays = [operand.array(dtype, rng) for operand in self.operands]
        attrs = self.attrs(dtype) if callable(self.attrs) else self.attrs
        definition, b = lookup(name), Builder("f")
        params = [b.param(tensor(a.shape, from_numpy(a.dtype))) for a in arrays]
        made = b.emit(definition, *params, **attrs)
        return b.close((made,) if definition.single else made), arrays


@dataclass(frozen=True)
class Bad:
    """Operand types (as arrays would have them) and attributes that the type rule refuses.

    `message`: a part of what it says.
    """

    types: Sequence[Any]
    message: str
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """All that the table says of one op.

    Args:
      name: the op's.
      samples: its uses.
      dtypes: what operands without a named dtype take in turn.
      bad: uses that are refused; at least one.
      active: for each operand, whether it has a derivative to check; None: the inexact ones.
      differentiable: whether derivatives are checked at all (False: declared NONE).
      reverse: whether the tangent is linear in its input, as it always should be.
      batch: whether batching is checked (False: declared NONE).
      lanes_alone: whether a lane of a batch gives what it would give alone; generators that one
        state drives for all lanes do not.
      lowered: whether the op is lowered by itself.
      tolerance: by dtype name, where an op is known to give fewer digits, with the reason
        beside it in the table.
      differences: tolerance of derivatives against differences.
    """

    name: str
    samples: Sequence[Sample]
    dtypes: Sequence[DType] = FLOATS
    bad: Sequence[Bad] = ()
    active: Sequence[bool] | None = None
    differentiable: bool = True
    reverse: bool = True
    batch: bool = True
    lanes_alone: bool = True
    lowered: bool = True
    tolerance: Mapping[str, float] = field(default_factory=dict)
    differences: float = 1e-8

    def cases(self) -> list[tuple[Sample, DType]]:
        """Samples with each dtype that they take."""
        return [(sample, dtype) for sample in self.samples
                for dtype in (sample.dtypes or self.dtypes)]

    def smooth_cases(self) -> list[tuple[Sample, DType]]:
        """Samples in double precision, where differences are good to many digits."""
        return [(sample, dtype) for sample, dtype in self.cases()
                if sample.smooth and dtype in (dtypes.f64, dtypes.c128)]

    def tolerance_of(self, dtype: DType) -> float:
        """Accepted error relative to max(1, |expected|); 0 for integers and bool."""
        return self.tolerance.get(dtype.name, TOLERANCE.get(dtype.name, 0.0))


def elementwise(name: str, *domains: tuple[float, float], dtypes: Sequence[DType] = FLOATS,
                attrs: Any = None, edges: Sequence[Sequence[float]] = (),
                complex_domains: Sequence[tuple[float, float]] | None = None,
                bad: Sequence[Bad] = (), distinct: bool = False, **options: Any) -> Row:
    """The row of an op that treats every element alike.

    Args:
      domains: (low, high) of each operand.
      edges: for each operand, values where the function has an edge (zero, infinities, NaN); these
        are compared, not differentiated.
      complex_domains: (low, high) of both parts where those differ for complex dtypes.
    """
    attrs = attrs or {}
    real = tuple(d for d in dtypes if not d.is_complex)
    samples = [Sample([Draw(shape, *d, distinct=distinct) for d in domains], attrs, dtypes=real)
               for shape in ((2, 3), (), (0, 3))] if real else []
    whole = tuple(d for d in dtypes if d.is_complex)
    if whole:
        of_complex = complex_domains or domains
        samples += [Sample([Draw(shape, *d, distinct=distinct) for d in of_complex], attrs,
                           dtypes=whole) for shape in ((2, 3), ())]
    if edges:
        floats = tuple(d for d in dtypes if d.is_float)
        samples.append(Sample([Fixed(e) for e in edges], attrs, smooth=False, dtypes=floats))
    if not bad and len(domains) > 1:
        bad = [Bad([("f32", (3,)), *[("f32", (4,))] * (len(domains) - 1)], "must be equal", attrs)]
    return Row(name, samples, dtypes, bad, **options)
