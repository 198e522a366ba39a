"""Programs that XLA's compilers get wrong as they stand, and right as the rules write them: against
the NumPy evaluator, and the text that is written for every platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lowering
from tests.lowering.conftest import get, handlers_of, put
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.dtypes import BY_NAME
from xfront_ir.reference import evaluate
from xfront_ir.types import TensorType, tensor

Make = Callable[..., Any]
Part = tuple[Sequence[TensorType], Make]
"""Types of operands, and what writes results of them."""


def of(dtype: str, *shape: int) -> TensorType:
    return tensor(shape, BY_NAME[dtype])


def together(parts: Sequence[Part]) -> Function:
    """One program of several parts, for compiling is what costs."""
    b, returns = Builder("f"), []
    for types, make in parts:
        made = make(b, *[b.param(t) for t in types])
        returns += made if isinstance(made, (list, tuple)) else [made]
    return b.close(returns)


def numbers(t: TensorType, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers, whose sums and products are exact in every order."""
    return rng.integers(-9, 10, t.shape).astype(t.dtype.numpy)


def check(parts: Sequence[Part], *arrays: np.ndarray, **how: Any) -> None:
    """What compiled programs return is what the evaluator does, in each result."""
    fn, rng = together(parts), np.random.default_rng(0)
    xs = arrays or [numbers(v.type, rng) for v in fn.params]
    executable = lowering.compile_function(fn, **how)
    got = [get(r) for r in executable.execute([put(x) for x in xs], handlers_of(fn))]
    for number, (value, wanted) in enumerate(zip(got, evaluate(fn, *xs), strict=True)):
        np.testing.assert_array_equal(value, wanted, err_msg=f"result {number}")


def text(types: Sequence[TensorType], make: Make) -> str:
    return lowering.lower(together([(types, make)])).as_text()


@pytest.fixture(autouse=True)
def _no_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is right does not depend on what makes programs fast."""
    monkeypatch.setenv("XFRONT_CPU_FORMS", "0")


# --- windows ------------------------------------------------------------------------------

def window(shape: Sequence[int], sizes: Sequence[int], strides: Sequence[int],
           padding: Sequence[tuple[int, int]] = (), base: Sequence[int] = (),
           inner: Sequence[int] = (), op: Any = ops.reduce_window_sum, dtype: str = "f32") -> Part:
    n = len(shape)
    attrs: dict[str, Any] = {
        "window": tuple(sizes), "strides": tuple(strides),
        "padding": tuple(padding) or ((0, 0),) * n, "base_dilation": tuple(base) or (1,) * n,
        "window_dilation": tuple(inner) or (1,) * n}
    x = of(dtype, *shape)
    if op is ops.reduce_window:
        b = Builder("plus")
        plus = b.close([b.emit(ops.add, b.param(of(dtype)), b.param(of(dtype)))])
        return [x], lambda b, x: b.emit(op, x, b.literal(0, x.type.dtype), body=plus, **attrs)
    if op is ops.select_and_gather_add:
        return [x, x], lambda b, x, y: b.emit(op, x, y, select="ge", **attrs)
    return [x], lambda b, x: b.emit(op, x, **attrs)


DILATED = [window(shape, sizes, strides, padding, base, (), op, dtype)
           for op, dtype in ((ops.reduce_window_sum, "f32"), (ops.reduce_window_sum, "f64"),
                             (ops.reduce_window_max, "f32"), (ops.reduce_window_min, "f16"),
                             (ops.reduce_window, "f32"))
           for shape, sizes, strides, padding, base in (
               ((32, 128), (1, 4), (1, 4), (), (3, 1)),
               ((32, 128), (2, 1), (2, 1), ((0, 0), (-3, 2)), (1, 2)),
               ((5, 3), (1, 1), (1, 1), ((1, -2), (0, -1)), (2, 3)))]

CROPPED = [
    window((32,), (1,), (1,), ((-1, 0),)), window((5, 4), (1, 1), (1, 1), ((-1, 2), (0, -2))),
    window((5, 4), (1, 1), (2, 1), ((-2, -1), (0, 1)), op=ops.reduce_window_max),
    window((7,), (2,), (1,), ((-3, 5),), (3,)), window((7,), (2,), (2,), ((4, -5),), (2,), (2,)),
    window((2,), (1,), (1,), ((-1, -1),), (3,)), window((2,), (1,), (1,), ((-4, 6),), (2,)),
    window((3,), (2,), (1,), ((6, -3),)),
    window((7,), (2,), (2,), ((-2, -1),), op=ops.reduce_window),
    window((6, 3), (2, 1), (1, 1), ((-2, 1), (-1, 0)), op=ops.select_and_gather_add)]


def scattered(shape: Sequence[int], source: Sequence[int], sizes: Sequence[int],
              strides: Sequence[int], padding: Sequence[tuple[int, int]]) -> Part:
    return [of("f32", *source), of("f32", *shape)], lambda b, s, x: b.emit(
        ops.select_and_scatter_add, s, x, select="ge", window=tuple(sizes),
        strides=tuple(strides), padding=tuple(padding))


SCATTERED = [scattered((7, 2), (5, 2), (2, 1), (1, 1), ((-2, 1), (0, 0))),
             scattered((6,), (2,), (2,), (2,), ((-1, -1),)),
             scattered((1, 2), (1, 2), (2, 1), (1, 1), ((-3, 4), (0, 0)))]


def test_windows_of_dilated_arrays_and_negative_padding() -> None:
    check([*DILATED, *CROPPED, *SCATTERED])


def test_results_of_windows_of_one_element_are_spread_out() -> None:
    written = text(*window((32, 128), (2, 1), (2, 1), ((0, 0), (-3, 2)), (1, 2)))
    assert "stablehlo.slice %arg0 [0:32, 2:128]" in written
    assert "base_dilations = array<i64: 1, 1>" in written
    assert "stablehlo.pad" in written and "interior = [0, 1]" in written


# --- padding ------------------------------------------------------------------------------

def padded(x: TensorType, *pads: tuple[Any, Any, Any], then: Any = None) -> Part:
    """An array that is padded several times, and what is made of it."""
    def make(b: Builder, x: Any) -> Any:
        zero = b.literal(0, x.type.dtype)
        for low, high, interior in pads:
            x = b.emit(ops.pad, x, zero, low=low, high=high, interior=interior)
        return x if then is None else then(b, x)

    return [x], make


def summed(sizes: Sequence[int], padding: Sequence[tuple[int, int]]) -> Make:
    ones = (1,) * len(sizes)
    return lambda b, x: b.emit(ops.reduce_window_sum, x, window=tuple(sizes), strides=ones,
                               padding=tuple(padding), base_dilation=ones, window_dilation=ones)


def convolved(padding: tuple[int, int], dilation: int = 1) -> Make:
    def make(b: Builder, x: Any) -> Any:
        return b.emit(ops.conv_general_dilated, x, b.literal(np.arange(1, 4)[None, None],
                                                             x.type.dtype, (1, 1, 3)),
                      strides=(1,), padding=(padding,), lhs_dilation=(dilation,),
                      rhs_dilation=(1,), feature_groups=1, batch_groups=1, lhs_spec=(0, 1, 2),
                      rhs_spec=(0, 1, 2), out_spec=(0, 1, 2), precision=None)

    return make


LINE, ROW = of("f32", 9), of("f32", 1, 1, 9)
PADDED = [
    padded(LINE, ((-2,), (1,), (0,)), then=summed((3,), ((2, 2),))),
    padded(LINE, ((1,), (-3,), (1,)), then=summed((2,), ((1, 3),))),
    padded(LINE, ((-4,), (-4,), (0,)), ((3,), (2,), (1,))),
    padded(LINE, ((-1,), (-1,), (2,)), ((2,), (-3,), (1,))),
    padded(LINE, ((-20,), (9,), (1,))), padded(LINE, ((4,), (-13,), (0,)), ((2,), (2,), (0,))),
    padded(of("bool", 4, 5), ((-1, 2), (1, -3), (0, 1))),
    padded(ROW, ((0, 0, -2), (0, 0, 3), (0, 0, 0)), then=convolved((2, 1))),
    padded(ROW, ((0, 0, -1), (0, 0, -2), (0, 0, 1)), then=convolved((3, 0), 2)),
    padded(ROW, then=convolved((-2, -3), 2)), padded(ROW, then=convolved((-20, 8), 1))]


def test_negative_padding_before_windows_and_convolutions() -> None:
    check(PADDED)


def test_negative_padding_is_written_as_slices() -> None:
    written = "".join([text(*part) for part in (*CROPPED, *SCATTERED, *PADDED)])
    assert "stablehlo.slice" in written
    assert "low = [-" not in written and "high = [-" not in written and ", -" not in written
    assert "[-" not in written.replace("[-inf", "")


def test_padding_that_only_takes_away_is_a_slice() -> None:
    assert "stablehlo.pad" not in text(*padded(LINE, ((-1,), (-2,), (0,))))
