"""Forms of convolutions against the plain rule: sums of integers, infinities and NaNs are equal,
those of other numbers as near as the error of such a sum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lowering
import xfront
import xfront.numpy as jnp
from lowering.cpu import conv
from lowering.forms.extras import extras
from tests.lowering.cpu.against_plain import Case, form_taken, named, program, variants
from xfront_ir import ops

LAST = {"lhs_spec": (0, 3, 1, 2), "rhs_spec": (3, 2, 0, 1), "out_spec": (0, 3, 1, 2)}
GRADIENT = {"lhs_spec": (3, 0, 1, 2), "rhs_spec": (3, 0, 1, 2), "out_spec": (2, 3, 0, 1)}
GRADIENT_FIRST = {"lhs_spec": (1, 0, 2, 3), "rhs_spec": (1, 0, 2, 3), "out_spec": (1, 0, 2, 3)}


def attrs(n: int, pad: Any = 0, **given: Any) -> dict[str, Any]:
    axes, ones = tuple(range(n + 2)), (1,) * n
    return {"lhs_spec": axes, "rhs_spec": axes, "out_spec": axes, "strides": ones,
            "padding": ((pad, pad),) * n, "lhs_dilation": ones, "rhs_dilation": ones,
            "feature_groups": 1, "batch_groups": 1, "precision": None, "preferred": None, **given}


def square(name: str | None, dtype: str, batch: int, size: int, groups: int, depth: int,
           width: int, k: int = 3, last: bool = True, **given: Any) -> Case:
    """A convolution over two axes with a filter of k x k; `name` of its form, if any."""
    features, out = groups * depth, groups * width
    shapes = ((batch, size, size, features), (k, k, depth, out)) if last else (
        (batch, features, size, size), (out, depth, k, k))
    how = attrs(2, **{"pad": k // 2, "feature_groups": groups, **(LAST if last else {}), **given})
    text = (f"{name} {dtype} {batch}x{size} {groups} groups {depth} to {width} k {k} "
            f"{'last' if last else 'first'} {' '.join(given)}")
    return text, ops.conv_general_dilated, tuple(named(dtype, *s) for s in shapes), how, name


def line(name: str | None, size: int, k: int, pad: int, batch: int = 1, **given: Any) -> Case:
    return (f"{name} line {batch}x{size} {k} {pad} {' '.join(given)}", ops.conv_general_dilated,
            (named("f32", batch, 1, size), named("f32", 1, 1, k)), attrs(1, pad, **given), name)


def shifted() -> Iterator[Case]:
    form = "shifted"
    for last in (True, False):
        for dtype in ("f16", "bf16", "f32", "f64", "c64"):
            yield square(form, dtype, 2, 9, 8, 1, 1, last=last)
            yield square(form, dtype, 2, 6, 8, 1, 1, last=last, lhs_dilation=(2, 3))
            yield square(form, dtype, 2, 9, 8, 1, 4, last=last, strides=(2, 1))
            yield square(form, dtype, 2, 9, 8, 1, 8, last=last, rhs_dilation=(2, 2))
            yield square(form if dtype in ("f16", "bf16", "f32") else None, dtype, 2, 12, 1, 3, 4,
                         last=last)
        yield square(form, "f32", 1, 9, 2, 8, 8, last=last)
        yield square(form, "f32", 1, 9, 2, 4, 32, last=last)
        yield square(None, "f32", 1, 9, 2, 8, 16, last=last)
        yield square(None, "f32", 1, 9, 2, 9, 1, last=last)
        yield square(form, "f32", 1, 20, 1, 4, 16, last=last)
        yield square(None, "f32", 1, 20, 1, 4, 17, last=last)
        yield square(None, "f32", 1, 20, 1, 5, 4, last=last)
        yield square(None, "f32", 1, 20, 1, 4, 16, last=last, lhs_dilation=(2, 2))
        yield square(None, "f32", 1, 20, 1, 4, 16, last=last, strides=(2, 2))
        yield square(form, "f32", 2, 20, 1, 4, 8, last=last, strides=(2, 2))
        yield square(form, "f32", 1, 11, 8, 1, 1, last=last, padding=((-1, 2), (3, -2)))
    yield square(None, "i32", 1, 16, 8, 1, 1)
    for size, pad in ((200, 30), (201, 30)):
        yield line(form, size, 31, pad)
    yield line(form, 2001, 5, 2, strides=(2,))
    yield line(form, 120, 32, 31, batch=2)
    cube = attrs(3, 1, feature_groups=4)
    yield ("cube", ops.conv_general_dilated, (named("f32", 1, 4, 7, 8, 9),
                                              named("f32", 4, 1, 3, 3, 3)), cube, form)


def others() -> Iterator[Case]:
    for dtype in ("f32", "f64"):
        for shapes, how, taken in (
                (((2, 9, 9, 32), (1, 1, 32, 64)), attrs(2, **LAST), True),
                (((2, 9, 9, 64), (1, 1, 64, 1)), attrs(2, **LAST), True),
                (((2, 9, 9, 31), (1, 1, 31, 30)), attrs(2, **LAST), False),
                (((2, 9, 9, 32), (1, 1, 32, 64)), attrs(2, 1, **LAST), False),
                (((2, 9, 9, 32), (1, 1, 32, 64)), attrs(2, strides=(2, 2), **LAST), False),
                (((2, 32, 9, 9), (64, 32, 1, 1)), attrs(2), False),
                (((1, 64, 9, 9), (32, 64, 1, 1)), attrs(2), True),
                (((2, 5, 5, 64), (1, 1, 32, 64)),
                 attrs(2, **{**LAST, "rhs_spec": (2, 3, 0, 1)}), False),
                (((2, 9, 9, 64), (1, 1, 32, 64)),
                 attrs(2, **{**LAST, "rhs_spec": (2, 3, 0, 1)}), True)):
            yield (f"1x1 {dtype} {shapes} {how['lhs_spec']}", ops.conv_general_dilated,
                   tuple(named(dtype, *s) for s in shapes), how, "pointwise" if taken else None)
        for shapes, how, taken in (
                (((4, 6, 6, 32), (4, 6, 6, 8)), attrs(2, **GRADIENT), True),
                (((4, 6, 6, 32), (4, 6, 6, 8)), attrs(2, strides=(3, 3), **GRADIENT), True),
                (((4, 32, 6, 6), (4, 8, 6, 6)), attrs(2, **GRADIENT_FIRST), False),
                (((1, 64, 8, 8), (1, 8, 8, 8)), attrs(2, **GRADIENT_FIRST), True),
                (((4, 6, 6, 32), (4, 5, 6, 8)), attrs(2, **GRADIENT), False)):
            yield (f"once {dtype} {shapes} {how['lhs_spec']} {how['strides']}",
                   ops.conv_general_dilated, tuple(named(dtype, *s) for s in shapes), how,
                   "product" if taken else None)
        for shapes, how, taken in (
                (((2, 16, 16, 8), (2, 16, 16, 8)), attrs(2, 1, **GRADIENT), True),
                (((2, 8, 16, 16), (2, 8, 16, 16)), attrs(2, 1, **GRADIENT_FIRST), True),
                (((2, 16, 16, 8), (2, 16, 16, 8)), attrs(2, 2, **GRADIENT), True),
                (((2, 17, 17, 8), (2, 17, 17, 8)), attrs(2, 2, **GRADIENT), False),
                (((1, 32, 32, 8), (1, 32, 32, 8)), attrs(2, 1, **GRADIENT), True),
                (((1, 33, 32, 8), (1, 33, 32, 8)), attrs(2, 1, **GRADIENT), False),
                (((9, 16, 17, 8), (9, 8, 8, 8)),
                 attrs(2, 1, rhs_dilation=(2, 2), strides=(1, 2), **GRADIENT), True)):
            how = {**how, "batch_groups": 8}
            yield (f"summed {dtype} {shapes} {how['lhs_spec']} {how['padding']}",
                   ops.conv_general_dilated, tuple(named(dtype, *s) for s in shapes), how,
                   "summed" if taken and dtype == "f32" else None)
    for last in (True, False):
        yield square("one_by_one", "f32", 8, 28, 2, 16, 16, last=last)
        yield square("one_by_one", "f32", 8, 14, 8, 8, 48, last=last)
        yield square(None, "f32", 2, 14, 9, 16, 16, last=last)
        yield square(None, "f64", 8, 14, 4, 16, 16, last=last)
        yield square("in_rows", "f32", 1, 80, 1, 1, 1, 7, last=last)
        yield square("in_rows", "f32", 2, 41, 1, 1, 1, 10, last=last)
        yield square(None, "f32", 1, 80, 1, 1, 1, 7, last=last, strides=(2, 2))
    for size, k in ((8000, 33), (8001, 40), (1400, 256)):
        for pad in (0, k - 1):
            yield line("in_chunks", size, k, pad)
    for size, k in ((2000, 257), (2001, 300)):
        for pad in (0, k - 1):
            yield line("in_rows", size, k, pad)
    yield line("in_chunks", 4000, 64, 3, batch=2)
    yield line("in_rows", 1600, 288, 3, batch=2)
    yield line(None, 4000, 64, 3, strides=(2,))


def name_of_form(fn: Any) -> str | None:
    name = form_taken(fn, ops.conv_general_dilated)
    return None if name is None else name.removeprefix("conv.")


def by_group(case: Case, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plain rule for one group at a time: for 64-bit numbers it makes a filter of all groups
    that has zeros where they do not meet, and so spreads infinities over all channels."""
    name, definition, types, how, _ = case
    n = how["feature_groups"]
    axes = how["lhs_spec"][1], how["rhs_spec"][0]
    shapes = [tuple(m // n if d == axis else m for d, m in enumerate(t.shape))
              for t, axis in zip(types, axes, strict=True)]
    one = (name, definition, tuple(t.with_shape(s) for t, s in zip(types, shapes, strict=True)),
           {**how, "feature_groups": 1}, None)
    _, plain = variants(program(one), monkeypatch)

    def run(x, k):
        parts = zip(np.split(x, n, axes[0]), np.split(k, n, axes[1]), strict=True)
        return [np.concatenate([plain(*map(np.ascontiguousarray, pair))[0] for pair in parts],
                               how["out_spec"][1])]

    return run


@pytest.mark.parametrize("case", [*shifted(), *others()], ids=lambda c: c[0].replace(" ", "-"))
def test_sums_of_products(monkeypatch, case) -> None:
    monkeypatch.setattr(conv, "LEAST", 16)
    fn = program(case)
    assert name_of_form(fn) == case[4]
    if case[4] is None:
        return
    fast, plain = variants(fn, monkeypatch)
    rng = np.random.default_rng(0)
    dtypes = [v.type.dtype.numpy for v in fn.params]
    whole = [rng.integers(-4, 5, v.type.shape).astype(d)
             for v, d in zip(fn.params, dtypes, strict=True)]
    np.testing.assert_array_equal(fast(*whole)[0], plain(*whole)[0])
    wide = case[4] == "shifted" and case[2][0].dtype.name == "f64"
    expected = by_group(case, monkeypatch) if wide else plain
    for side, number in ((0, np.inf), (1, np.inf), (1, np.nan), (0, -np.inf)):
        if np.iscomplexobj(whole[0]):
            break                       # what inf * (a + 0i) is, XLA decides by the kernel
        special = [x.copy() for x in whole]
        places = rng.random(special[side].shape) < 0.02
        places.flat[[0, -1]] = True
        special[side][places] = number
        np.testing.assert_array_equal(fast(*special)[0], expected(*special)[0])
    narrow = case[2][0].dtype.name in ("f16", "bf16")
    given = [rng.normal(size=x.shape).astype(x.dtype) for x in whole]
    if not narrow:
        eps, products = np.finfo(dtypes[0]).eps, given[1].size
        sizes = plain(*[np.abs(x).astype(x.dtype) for x in given])[0].real
        bound = 2 * eps * min(products, 600) * sizes
    else:
        bound = 2.0 ** (-7 if case[2][0].dtype.name == "bf16" else -10) * np.abs(plain(*given)[0])
        bound = bound + 2e-6 * np.abs(given[0].astype(np.float32)).max() * np.abs(
            given[1].astype(np.float32)).max() * 72
    assert (np.abs(fast(*given)[0].astype(np.complex128) - plain(*given)[0]) <= bound).all()


@pytest.mark.parametrize("case", (
    square("shifted", "f32", 1, 64, 1, 1, 1), square(None, "f32", 1, 60, 1, 1, 1),
    square("shifted", "f32", 1, 32, 4, 1, 1), square(None, "f32", 1, 30, 4, 1, 1),
    square("shifted", "f32", 2, 32, 4, 2, 2), square(None, "f32", 2, 30, 4, 2, 1),
    square("shifted", "f32", 1, 32, 8, 8, 8), square(None, "f32", 1, 32, 4, 8, 4),
    square("in_rows", "f32", 1, 49, 1, 1, 1, 15), square(None, "f32", 1, 48, 1, 1, 1, 15),
    line("in_chunks", 16384, 64, 32), line(None, 16382, 64, 32),
    square("shifted", "f32", 1, 45, 1, 1, 8), square(None, "f32", 1, 42, 1, 1, 8)),
    ids=lambda c: c[0].replace(" ", "-"))
def test_from_how_many_products(case) -> None:
    assert name_of_form(program(case)) == case[4]


def both(monkeypatch: pytest.MonkeyPatch, f: Any, *args: Any) -> None:
    made = []
    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        made.append(xfront.jit(lambda *a: f(*a)).lower(*args).compile()(*args))
    for a, b in zip(*map(xfront.tree.leaves, made), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-4)


def test_under_grad_and_vmap(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 12, 12, 16)).astype(np.float32)     # 41,472 products
    k = rng.normal(size=(3, 3, 1, 16)).astype(np.float32)

    def loss(x, k):
        y = xfront.lax.conv_general_dilated(x, k, (1, 1), "SAME", feature_group_count=16,
                                            dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.sum(jnp.tanh(y) * jnp.sin(x))

    both(monkeypatch, xfront.grad(loss, (0, 1)), x, k)
    monkeypatch.setattr(conv, "LEAST", 16)
    signals, taps = (rng.normal(size=(4, n)).astype(np.float32) for n in (300, 21))
    both(monkeypatch, xfront.vmap(jnp.convolve), signals, taps)
    both(monkeypatch, xfront.grad(lambda t: jnp.sum(jnp.convolve(signals[0], t) ** 2)), taps[0])


def test_what_makes_the_input_is_computed_once(func) -> None:
    """Nine places of a filter do not repeat the exponential."""
    _, _, types, how, _ = square("shifted", "f32", 2, 16, 32, 1, 1)
    fn = func(types, lambda b, x, k: [
        b.emit(ops.conv_general_dilated, b.emit(ops.exp, x), k, **how)])
    text = lowering.lower(fn, extras=extras("jit", "cpu", 1)).as_text()
    at = text.index("stablehlo.exponential")
    assert "inlineable" in text[at:text.index("stablehlo.multiply", at)]
