"""Promotion agrees with what JAX was seen to answer, for every pair of types."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from xfront.binding import canonical_dtype, promotion, scalar_dtype, x64_state
from xfront.binding.promotion import TypePromotionError, dtype_named, promote, promote_all

MODES = list(itertools.product(("standard", "strict"), (False, True)))
RECORD = json.loads((Path(__file__).parent.parent / "recorded" / "promotion.json").read_text())
PYTHON = {"bool": bool, "int": int, "float": float, "complex": complex}


def typed(kind: str, last: bool) -> tuple[np.dtype, bool]:
    """(dtype, weak) of a column of the record; the last four columns are Python's scalars."""
    if last:
        return scalar_dtype(PYTHON[kind]), kind != "bool"
    return canonical_dtype(dtype_named(kind.rstrip("*"))), kind.endswith("*")


@pytest.fixture
def mode(request: pytest.FixtureRequest):
    """64-bit mode and the mode of promotion, for this thread."""
    mode, x64 = request.param
    with_x64, with_mode = x64_state.swap_local(x64), promotion.mode_state.swap_local(mode)
    yield mode, x64
    x64_state.set_local(with_x64)
    promotion.mode_state.set_local(with_mode)


@pytest.mark.parametrize("mode", MODES, indirect=True)
def test_every_pair_is_as_recorded(mode: tuple[str, bool]) -> None:
    record = RECORD[f"{mode[0]} x64={mode[1]}"]
    kinds = record["kinds"]
    wrong = []
    for first, row in zip(kinds, record["rows"], strict=False):
        for place, (second, want) in enumerate(zip(kinds, row.split(), strict=True)):
            one, two = typed(first, False), typed(second, place >= len(kinds) - 4)
            for a, b in ((one, two), (two, one)):
                try:
                    dtype, weak = promote(*a, *b)
                    got = dtype.name + "*" * weak
                except TypePromotionError:
                    got = "-"
                if got != want:
                    wrong.append(f"{first} with {second}: {got}, want {want}")
    assert not wrong, "\n".join(wrong[:20])


def test_many_types_meet_together() -> None:
    i32, u8, f16 = np.dtype("int32"), np.dtype("uint8"), np.dtype("float16")
    assert promote_all("add", [(i32, True), (u8, False), (u8, False)]) == (u8, False)
    assert promote_all("add", [(i32, True), (f16, False), (np.dtype(bool), False)]) == (f16, False)
    assert promote_all("add", [(u8, False)]) == (u8, False)
    with pytest.raises(ValueError, match="at least one"):
        promote_all("add", [])


def test_refusals_name_the_types_and_the_way_out() -> None:
    with pytest.raises(TypePromotionError, match=r"float8_e5m2.*float8_e4m3.*astype|astype"):
        promote(dtype_named("float8_e5m2"), False, dtype_named("float8_e4m3"), False)
    before = promotion.mode_state.swap_local("strict")
    try:
        with pytest.raises(TypePromotionError, match=r"strict.*would be promoted to float32"):
            promote(np.dtype("int32"), False, np.dtype("float32"), False)
    finally:
        promotion.mode_state.set_local(before)


def test_types_that_no_array_has_are_refused() -> None:
    with pytest.raises(TypePromotionError, match="not a dtype that arrays can have"):
        promote(np.dtype("M8[s]"), False, np.dtype("int32"), False)
