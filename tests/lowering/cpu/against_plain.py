"""What tests of forms share: an op as a program, both its variants, special values, distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowering
from lowering.forms.placing import place_forms, taken
from tests.lowering.conftest import get, handlers_of, put
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.dtypes import BY_NAME
from xfront_ir.types import TensorType, tensor

Case = tuple[str, Any, tuple[Any, ...], dict[str, Any], Any]
"""Name, op, types of its operands, attributes, whether (or which) form is taken."""


def named(dtype: str, *shape: int) -> TensorType:
    return tensor(shape, BY_NAME[dtype])


def program(case: Case) -> Function:
    """The op of a case alone. bf16 has no buffer protocol: it comes and goes as f32."""
    _, definition, types, attrs, _ = case
    b = Builder(definition.name)
    params = [b.param(t.with_dtype(dtypes.f32) if t.dtype is dtypes.bf16 else t, f"x{i}")
              for i, t in enumerate(types)]
    made = b.emit(definition, *[b.emit(ops.convert, x, dtype=t.dtype)
                                for x, t in zip(params, types, strict=True)], **attrs)
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    return b.close([b.emit(ops.convert, v, dtype=dtypes.f32)
                    if v.type.dtype is dtypes.bf16 else v for v in made])


def takes_a_form(fn: Function, definition: Any) -> bool:
    return form_taken(fn, definition) is not None


def form_taken(fn: Function, definition: Any, **how: Any) -> str | None:
    """The name of the form that the one op of a definition in a program takes."""
    (op,) = [op for op in fn.ops if op.definition is definition]
    names = [form.name for before, form in taken(place_forms(fn, **how))
             if before.results == op.results]
    return names[0] if names else None


def variants(fn: Function, monkeypatch: pytest.MonkeyPatch) -> Sequence[Callable[..., Any]]:
    """`fn` compiled with forms and without: two functions of NumPy arrays to NumPy arrays."""
    made = []
    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        executable = lowering.compile_function(fn)
        made.append(lambda *xs, e=executable: [
            get(r) for r in e.execute([put(x) for x in xs], handlers_of(fn))])
    monkeypatch.setenv("XFRONT_CPU_FORMS", "1")
    return made


def compared(case: Case, monkeypatch: pytest.MonkeyPatch,
             make: Callable[[Case], Function] = program) -> Sequence[Callable[..., Any]] | None:
    """The variants of a case that takes a form, None of one that does not, as it says."""
    fn = make(case)
    assert takes_a_form(fn, case[1]) == case[-1]
    return variants(fn, monkeypatch) if case[-1] else None


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """How many numbers of their dtype lie between the two, elementwise: 0 where equal or both NaN,
    infinite where one is NaN; zeros of both signs are equal."""
    places = []
    for x in (got, want):
        bits = np.where(x == 0, x.dtype.type(0), x).view(f"i{x.dtype.itemsize}").astype(np.int64)
        flipped = np.iinfo(f"i{x.dtype.itemsize}").max
        places.append(np.where(bits < 0, (bits ^ flipped) + 1, bits))
    high, low = np.maximum(*places), np.minimum(*places)
    far = (high.view(np.uint64) - low.view(np.uint64)).astype(np.float64)
    far = np.where(np.isnan(got) != np.isnan(want), np.inf, far)
    return np.where(np.isnan(got) & np.isnan(want), 0, far)


def samples(type: Any, seed: int) -> np.ndarray:
    """Random elements with ties, and the special ones: both zeros, infinities, NaNs of both signs,
    denormal and huge numbers, the ends of the integers."""
    rng = np.random.default_rng(seed)
    dtype = type.dtype
    if dtype is dtypes.bool_:
        return rng.random(type.shape) < (0.5, 0.001, 0.999)[seed % 3]
    if dtype.is_complex:
        part = tensor(type.shape, dtypes.real_of(dtype))
        made = np.empty(type.shape, dtype.numpy)
        made.real, made.imag = samples(part, seed), samples(part, seed + 9)
        return made
    x = rng.integers(0, 20, type.shape) - (0 if dtype.is_unsigned else 10)
    if not dtype.is_float:
        x = x.astype(dtype.numpy)
        ends = np.iinfo(dtype.numpy)
        special = np.array([ends.min, ends.max, 0], dtype.numpy)
    else:
        x = x.astype(dtype.numpy)
        ends = ml_dtypes.finfo(dtype.numpy)
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, ends.max, -ends.max,
                            ends.tiny, -ends.tiny, ends.smallest_subnormal], dtype.numpy)
        if seed % 3 == 2:                                   # zeros, infinities and nothing greater
            special, x = special[:2], np.where(x > 0, -np.inf, x).astype(dtype.numpy)
    places = rng.random(type.shape) < 0.3
    return np.where(places, rng.choice(special, type.shape), x).astype(dtype.numpy)
