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
    window((3,), (2,), (1,), ((6, -3),)), window((4096, 1), (1, 1), (1, 2), ((0, 0), (0, 2))),
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


def test_windows_of_what_is_padded_between_elements() -> None:
    """XLA makes the padding a dilation, also behind a conversion."""
    def part(dtype: str, sizes: Sequence[int], interior: Sequence[int]) -> Part:
        def make(b: Builder, x: Any) -> Any:
            made = b.emit(ops.pad, x, b.literal(0, x.type.dtype), low=(0, 1, 0), high=(0, 1, 0),
                          interior=tuple(interior))
            made = b.emit(ops.convert, made, dtype=BY_NAME["f32"]) if dtype != "f32" else made
            return b.emit(ops.reduce_window_sum, made, window=tuple(sizes), strides=tuple(sizes),
                          padding=((0, 0),) * 3, base_dilation=(1,) * 3, window_dilation=(1,) * 3)

        return [of(dtype, 3, 176, 17)], make

    parts = [part(dtype, sizes, interior) for dtype in ("f32", "f16", "i32")
             for sizes, interior in (((3, 1, 2), (0, 2, 0)), ((1, 2, 1), (0, 0, 1)),
                                     ((3, 1, 1), (1, 0, 2)))]
    for _ in range(3):
        check(parts)


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


def test_axes_of_convolutions_that_look_like_batches_when_operands_are_exchanged() -> None:
    def part(x: Sequence[int], kernel: Sequence[int], **how: Any) -> Part:
        return [of("f32", 1, 2, *x), of("f32", 1, 2, *kernel)], lambda b, x, k: b.emit(
            ops.conv_general_dilated, x, k, rhs_dilation=(1, 1), feature_groups=1, batch_groups=1,
            lhs_spec=(0, 1, 2, 3), rhs_spec=(0, 1, 2, 3), out_spec=(0, 1, 2, 3), precision=None,
            **how)

    check([part((1, 4), (2, 2), padding=((1, 0), (0, 0)), lhs_dilation=(1, 2), strides=(1, 1)),
           part((1, 4), (5, 3), padding=((2, 2), (0, 0)), lhs_dilation=(2, 3), strides=(1, 2))])


def test_negative_padding_is_written_as_slices() -> None:
    written = "".join([text(*part) for part in (*CROPPED, *SCATTERED, *PADDED)])
    assert "stablehlo.slice" in written
    assert "low = [-" not in written and "high = [-" not in written and ", -" not in written
    assert "[-" not in written.replace("[-inf", "")


def test_padding_that_only_takes_away_is_a_slice() -> None:
    assert "stablehlo.pad" not in text(*padded(LINE, ((-1,), (-2,), (0,))))


# --- starts and indices -------------------------------------------------------------------

def starting(dtype: str, n: int, *starts: int, constant: bool = False, update: int = 0) -> Part:
    """A slice of a slice of n numbers, or an update of one; of starts that are given or known."""
    start = of(dtype)

    def make(b: Builder, x: Any, *given: Any) -> Any:
        at = [b.literal(s, start.dtype) for s in starts] if constant else given
        for size, s in zip((n // 2, 4), at, strict=False):
            x = b.emit(ops.dynamic_slice, x, s, sizes=(size,))
        if update:
            x = b.emit(ops.dynamic_update_slice, x, b.full(of("f32", update), -1), at[-1])
        return x

    return [of("f32", n), *[start] * (0 if constant else len(starts))], make


PAIRS = ((3, -2), (5, 100), (25, 25), (-5, 3), (2, 3))


def test_starts_of_slices_of_slices_are_clamped_one_by_one() -> None:
    for pair in PAIRS:
        parts = [starting("i32", 20, *pair), starting("i32", 20, *pair, update=2),
                 starting("i32", 20, *pair, constant=True)]
        numbers = np.arange(20, dtype=np.float32)
        check(parts, *([numbers, *[np.int32(s) for s in pair]] * 2), numbers)


def windowed(n: int) -> Part:
    """A window at an index, of a window at another, whose indices are clamped."""
    def make(b: Builder, x: Any, *given: Any) -> Any:
        for size, at in zip((n // 2, 4), given, strict=True):
            x = b.emit(ops.gather, x, at, offset_dims=(0,), collapsed_slice_dims=(),
                       operand_batching_dims=(), start_indices_batching_dims=(),
                       start_index_map=(0,), slice_sizes=(size,), mode="clip", fill_value=None,
                       indices_are_sorted=False, unique_indices=False)
        return x

    return [of("f32", n), of("i32", 1), of("i32", 1)], make


def test_indices_of_windows_of_windows_are_clamped_one_by_one() -> None:
    for pair in PAIRS:
        check([windowed(20)], np.arange(20, dtype=np.float32),
              *[np.array([i], np.int32) for i in pair])


TOO_FAR = (("u8", 200), ("u16", 65535), ("u32", 2 ** 31), ("u64", 2 ** 64 - 1), ("i8", 100),
           ("i8", -3), ("i64", 2 ** 40), ("u8", 3))


def gathered(dtype: str, n: int, at: int, mode: str, op: Any = None) -> Part:
    """Elements of n numbers at one constant index, or that element changed."""
    def make(b: Builder, x: Any) -> Any:
        index = b.literal(np.array([[at]], BY_NAME[dtype].numpy), BY_NAME[dtype], (1, 1))
        shared: dict[str, Any] = {"operand_batching_dims": (), "mode": mode,
                                  "indices_are_sorted": False, "unique_indices": False}
        if op is None:
            return b.emit(ops.gather, x, index, offset_dims=(), collapsed_slice_dims=(0,),
                          start_indices_batching_dims=(), start_index_map=(0,), slice_sizes=(1,),
                          fill_value=None, **shared)
        return b.emit(op, x, index, b.full(of("f32", 1), 5), update_window_dims=(),
                      inserted_window_dims=(0,), scatter_indices_batching_dims=(),
                      scatter_dims_to_operand_dims=(0,), **shared)

    return [of("f32", n)], make


def test_constant_indices_of_any_dtype() -> None:
    check([part for dtype, at in TOO_FAR for n in (20, 300) for part in (
        starting(dtype, n, at, constant=True), starting(dtype, n, at, constant=True, update=3),
        *[gathered(dtype, n, at, mode, op) for mode in ("clip", "fill")
          for op in (None, ops.scatter, ops.scatter_add)])])


def test_given_indices_of_any_dtype() -> None:
    parts = [starting(dtype, 300, at, update=3) for dtype, at in TOO_FAR]
    numbers = np.arange(300, dtype=np.float32)
    check(parts, *[x for dtype, at in TOO_FAR for x in (
        numbers, np.array(at, BY_NAME[dtype].numpy))])


def test_starts_are_clamped_where_they_are_not_known() -> None:
    written = text(*starting("i32", 20, 1))
    assert written.count("stablehlo.clamp") == 1
    assert "clamp" not in text(*starting("i32", 20, 1, constant=True))
    whole = text([of("f32", 4, 5), of("i32")], lambda b, x, i: b.emit(
        ops.dynamic_slice, x, i, i, sizes=(4, 5)))
    assert "clamp" not in whole
    assert "minimum" in (unsigned := text(*starting("u8", 20, 1))) and "convert" in unsigned


def test_counters_of_scans_are_not_clamped() -> None:
    b = Builder("turn")
    total, row = b.param(of("f32")), b.param(of("f32"))
    body = b.close([b.emit(ops.add, total, row), row])
    written = text([of("f32"), of("f32", 9)], lambda b, c, xs: b.emit(
        ops.scan, c, xs, body=body, length=9, n_consts=0, n_carry=1, reverse=False, unroll=1))
    assert "dynamic_slice" in written and "dynamic_update_slice" in written
    assert "clamp" not in written


# --- loops --------------------------------------------------------------------------------

def counting(dtype: str, start: int, compare: Any, bound: int, step: int, op: Any = ops.add,
             test: Any = None) -> Part:
    """`while compare(i, bound): i = op(i, step)` from `start`, and how often it ran."""
    t, turns = of(dtype), of("i32")

    def literal(b: Builder, n: int) -> Any:
        return b.literal(n, t.dtype)

    b = Builder("test")
    i, _ = b.param(t), b.param(turns)
    goes = b.emit(compare, i, literal(b, bound))
    cond = b.close([goes if test is None else test(b, goes)])
    b = Builder("turn")
    i, count = b.param(t), b.param(turns)
    body = b.close([b.emit(op, i, literal(b, step)), b.emit(ops.add, count, b.literal(
        1, count.type.dtype))])
    return [], lambda b: b.emit(ops.while_, literal(b, start), literal_zero(b), cond=cond,
                                body=body, n_cond_consts=0, n_body_consts=0, budget=None)


def literal_zero(b: Builder) -> Any:
    return b.literal(0, of("i32").dtype)


def also(b: Builder, goes: Any) -> Any:
    return b.emit(ops.and_, goes, b.literal(True, goes.type.dtype))


COUNTED = [
    *[counting("i32", start, compare, bound, step)
      for start, bound, step in ((0, 1, 2), (0, 1, 5), (-3, 0, 2), (-3, 1, 3), (1, -2, 5),
                                 (2, 0, 3), (0, 6, 3), (2, 1, 1), (0, 3, 1))
      for compare in (ops.lt, ops.le)],
    *[counting("i32", start, compare, bound, 2, ops.sub)
      for start, bound in ((1, 0), (0, 1), (5, 1)) for compare in (ops.gt, ops.ge)],
    *[counting(dtype, 0, ops.lt, 1, 2) for dtype in ("u8", "i16", "u32", "i64")],
    counting("u8", 250, ops.lt, 255, 3), counting("i8", 120, ops.lt, 127, 5),
    counting("u8", 200, ops.ge, 100, 3), counting("u32", 0, ops.lt, 4000000000, 3000000000),
    counting("u8", 3, ops.lt, 250, 1, ops.sub), counting("i16", 0, ops.lt, 30000, 20000),
    counting("u8", 5, ops.ne, 3, 1), counting("u8", 3, ops.eq, 3, 1),
    counting("i32", 0, ops.lt, 1, 2, test=also)]


def test_loops_run_as_often_as_their_tests_say() -> None:
    check(COUNTED)


def test_tests_of_counters_are_two_comparisons() -> None:
    written = text(*counting("i32", 0, ops.lt, 5, 2))
    assert "LE," in written and "NE," in written and "stablehlo.and" in written


def test_the_test_of_a_counter_that_goes_by_one_stays() -> None:
    written = text(*counting("i32", 0, ops.lt, 5, 1))
    assert written.count("stablehlo.compare") == 1 and "LT," in written
    assert "stablehlo.and" in text(*counting("i32", 7, ops.lt, 5, 1))
