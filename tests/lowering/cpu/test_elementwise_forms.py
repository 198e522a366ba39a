"""Elementwise forms: errors against f64, exact quotients, special values, where they are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from lowering import compat
from lowering.cpu import elementwise, trigonometric
from tests.lowering.cpu.against_plain import (
    Case,
    compared,
    named,
    program,
    samples,
    takes_a_form,
    variants,
)
from xfront_ir import ops
from xfront_ir.builder import Builder

OLD = compat.VERSION < (0, 11)
N = 2 ** 20
TINY = np.finfo(np.float32).tiny

FUNCTIONS: dict[str, tuple[Any, Callable[..., Any], bool, int]] = {
    "sin": (ops.sin, np.sin, True, trigonometric.LEAST),
    "cos": (ops.cos, np.cos, True, trigonometric.LEAST),
    "tan": (ops.tan, np.tan, True, trigonometric.LEAST),
    "asin": (ops.asin, np.arcsin, True, trigonometric.SIMPLE_LEAST),
    "acos": (ops.acos, np.arccos, True, trigonometric.SIMPLE_LEAST),
    "atan": (ops.atan, np.arctan, OLD, trigonometric.SIMPLE_LEAST),
    "cbrt": (ops.cbrt, np.cbrt, True, elementwise.LEAST),
    "log1p": (ops.log1p, np.log1p, True, elementwise.LOGARITHM_LEAST),
    "sinh": (ops.sinh, np.sinh, True, elementwise.VECTOR_LEAST),
    "rsqrt": (ops.rsqrt, lambda x: 1 / np.sqrt(x), OLD, elementwise.VECTOR_LEAST)}

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, TINY, -TINY, 3.4e38,
                    -3.4e38, 1e-40, -1e-40, 2.0 ** 100, 2.0 ** 127, np.pi, np.pi / 2, 88.8, 89.4,
                    1.0000001, 0.99999994, -0.99999994, -1.0000001, 1e-7, -1e-7], np.float32)


def everywhere(seed: int, n: int = N) -> np.ndarray:
    """f32 of all exponents and signs, the special ones first."""
    x = np.random.default_rng(seed).integers(0, 2 ** 32, n, np.uint32).view(np.float32)
    x[np.isnan(x)] = np.nan
    x[:len(SPECIAL)] = SPECIAL
    return x


def near(seed: int, n: int = N) -> np.ndarray:
    """f32 of the sizes at which such functions change most, and about multiples of pi / 2."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) * np.exp(rng.uniform(-3, 4, n))
    x[::3] = rng.integers(-2 ** 30, 2 ** 30, len(x[::3])) * (np.pi / 2)
    x[1::3] = rng.uniform(-1, 1, len(x[1::3]))
    x[:len(NEAR_ZEROS)] = NEAR_ZEROS
    return x.astype(np.float32)


NEAR_ZEROS = (7.729179e28, 2.1999385e10, 1.5458358e29, 4.399877e10, 3.0916716e29, 4.6381834e25,
              1.522789e12, 8.117627e22)
"""The f32 that lie nearest to multiples of pi / 2 (from its continued fraction times powers of 2):
what a reduction loses is seen there."""


def error(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """In ulp of f32 where `want` (f64) is normal; 0 where both are zero or denormal, NaN or the
    same infinity; infinite where only one is."""
    with np.errstate(all="ignore"):
        near = want.astype(np.float32)
        made = np.abs(got.astype(np.float64) - want) / np.spacing(np.abs(near)).astype(np.float64)
    small = (np.abs(want) <= TINY) & (np.abs(got) <= TINY)
    same = small | (np.isnan(want) & np.isnan(got)) | (np.isinf(near) & (near == got))
    return np.where(same, 0, np.where(np.isnan(made), np.inf, made))


def fits(x: np.ndarray) -> np.ndarray:
    """With zeros for denormal numbers, as all arithmetic of XLA's CPU programs has them."""
    return np.where(np.abs(x) < TINY, np.copysign(np.float32(0), x), x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_below_two_ulp(monkeypatch, name) -> None:
    definition, reference, taken, _ = FUNCTIONS[name]
    fn = program((name, definition, (named("f32", N),), {}, taken))
    assert takes_a_form(fn, definition) == taken
    fast = variants(fn, monkeypatch)[0]
    if not taken:
        return
    for x in (everywhere(1), near(2)):
        with np.errstate(all="ignore"):
            want = reference(fits(x).astype(np.float64))
        (got,) = fast(x)
        assert error(got, want).max() <= 2, x[error(got, want).argmax()]
        zeros = (want == 0) & (x == 0)
        assert (np.signbit(got) == np.signbit(want))[zeros].all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_from_which_functions_have_a_form(name) -> None:
    definition, _, taken, least = FUNCTIONS[name]
    for type, wanted in ((named("f32", least), taken), (named("f32", least - 1), False),
                         (named("f32", 4, least // 4), taken), (named("f32", 0), False),
                         (named("f64", least), False), (named("bf16", least), False)):
        fn = program((name, definition, (type,), {}, wanted))
        assert takes_a_form(fn, definition) == wanted


def test_angles_of_points(monkeypatch) -> None:
    fn = program(("atan2", ops.atan2, (named("f32", N),) * 2, {}, True))
    assert takes_a_form(fn, ops.atan2)
    fast, plain = variants(fn, monkeypatch)
    pairs = np.ones((2, N), np.float32)
    pairs[:, :SPECIAL.size ** 2] = np.reshape(np.meshgrid(SPECIAL, SPECIAL), (2, -1))
    small = np.float32([0, -0.0, 1e-45, -3e-39, 4e-39, TINY, -1e-30, 1])      # some subnormal
    least = np.resize(np.meshgrid(small, small), (2, N))
    for y, x in (pairs, least, (everywhere(3), everywhere(4)[::-1]), (near(5), near(6)[::-1])):
        want = np.arctan2(y.astype(np.float64), x.astype(np.float64))
        (got,), (usual,) = fast(y, x), plain(y, x)
        assert error(got, want).max() <= 2
        alike = (got == usual) & (np.signbit(got) == np.signbit(usual))
        exact = (usual == 0) & (np.abs(y) >= TINY) & (x > 0) | (y == 0) & (np.abs(x) >= TINY)
        assert alike[exact].all()


# --- powers -------------------------------------------------------------------------------

def power(dtype: str, exponent: float, n: int = N) -> Any:
    b = Builder("power")
    x = b.param(named(dtype, n))
    return b.close([b.emit(ops.pow, x, b.full(x.type, exponent))])


def has_logarithm(fn: Any) -> bool:
    import lowering
    from lowering.forms.extras import Extras

    return "stablehlo.power" in lowering.lower(fn, extras=Extras(forms=1)).as_text()


@pytest.mark.parametrize("exponent", [1.5, 2.5, 3.5, -1.5, -2.5])
def test_half_powers(monkeypatch, exponent) -> None:
    fn = power("f32", exponent)
    assert not has_logarithm(fn)
    fast, plain = variants(fn, monkeypatch)
    for x in (everywhere(7), np.abs(near(8))):
        with np.errstate(all="ignore"):
            want = fits(x).astype(np.float64) ** exponent
        (got,), (usual,) = fast(x), plain(x)
        normal = (x == 0) | (np.abs(x) >= TINY)
        assert error(got, want)[normal & ~np.isinf(x)].max() <= 2
        ends = (x == 0) | ~np.isfinite(x)
        np.testing.assert_array_equal(got[ends], usual[ends])
        assert not np.signbit(got[got == 0]).any()


def test_which_powers_have_a_form() -> None:
    for dtype, exponent, n, taken in (
            ("f32", 1.5, elementwise.POWER_LEAST, True), ("f32", 1.5, 8191, False),
            ("f64", 2.5, 9000, True), ("f64", 3.5, 9000, False), ("f32", 4.5, 9000, False),
            ("f32", 0.3, 9000, False), ("bf16", 1.5, 9000, False)):
        assert has_logarithm(power(dtype, exponent, n)) != taken
    b = Builder("power")
    x, y = b.param(named("f32", 9000)), b.param(named("f32", 9000))
    assert has_logarithm(b.close([b.emit(ops.pow, x, y)]))


def test_half_powers_of_doubles(monkeypatch) -> None:
    x = np.exp(np.random.default_rng(0).uniform(-200, 200, N))
    x[:5] = 0.0, -0.0, np.inf, -np.inf, -1.0
    for exponent in (1.5, 2.5):
        (got,), (usual,) = (f(x) for f in variants(power("f64", exponent), monkeypatch))
        np.testing.assert_allclose(got, usual, rtol=2 * np.finfo(np.float64).eps)


# --- remainders and quotients -------------------------------------------------------------

def quotients() -> Iterator[Case]:
    for dtype in ("i32", "u32"):
        for op in (ops.div, ops.rem):
            for n in (elementwise.LEAST - 1, elementwise.LEAST, 50_000):
                x = named(dtype, n)
                yield f"{op.name} {dtype} {n}", op, (x, x), {}, OLD and n >= elementwise.LEAST
            yield f"{op.name} {dtype} by one", op, (named(dtype, 50_000), named(dtype)), {}, OLD
    for op in (ops.div, ops.rem):
        for dtype in ("i16", "i64", "u8"):
            yield f"{op.name} {dtype}", op, (named(dtype, 4096),) * 2, {}, False
    for n in (elementwise.REMAINDER_LEAST - 1, elementwise.REMAINDER_LEAST, 50_000):
        yield (f"rem f32 {n}", ops.rem, (named("f32", n),) * 2, {},
               n >= elementwise.REMAINDER_LEAST)
    yield "rem f32 by one", ops.rem, (named("f32", 50_000), named("f32")), {}, True
    yield "rem f64", ops.rem, (named("f64", 4096),) * 2, {}, False
    yield "div f32", ops.div, (named("f32", 4096),) * 2, {}, False


def quotient(case: Case) -> Any:
    """The op of a case, a scalar divisor broadcast."""
    _, definition, types, _, _ = case
    b = Builder(definition.name)
    x, y = (b.param(t) for t in types)
    if y.type is not x.type:
        y = b.emit(ops.broadcast_in_dim, y, shape=x.type.shape, dims=())
    return b.close([b.emit(definition, x, y)])


def operands(type: Any, divisor: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    dtype, rng = type.dtype.numpy, np.random.default_rng(0)
    if type.dtype.is_integer:
        ends = np.iinfo(dtype)
        divisors = [1, 3, 77, 2 ** 16 + 1, ends.max, ends.min, ends.max // 3, 0] + (
            [] if ends.min == 0 else [-1, -3, -77])
        x = rng.integers(ends.min, ends.max, type.shape, dtype, endpoint=True)
        x[::5], x[1::50], x[2::50] = 0, ends.min, ends.max
        for d in divisors if divisor.ndim == 0 else [None]:
            y = rng.choice(np.array(divisors, dtype), type.shape) if d is None else np.array(
                d, dtype)
            yield x, y
            with np.errstate(all="ignore"):
                yield (rng.integers(0, 30000, type.shape).astype(dtype) * y).astype(dtype), y
        return
    for d in (6.2831855, 0.1, 1.0, 7e-21, -3.0):
        y = np.array(d, dtype) if divisor.ndim == 0 else (
            rng.uniform(0.01, 3, type.shape) * d).astype(dtype)
        x = (rng.normal(size=type.shape) * 100 * y).astype(dtype)
        yield x, y
        counts = rng.integers(-2 ** 27, 2 ** 27, type.shape)
        multiples = (counts * y.astype(np.float64)).astype(dtype)
        yield np.nextafter(multiples, dtype.type(0)), y
        yield multiples, y
        x[:5] = -0.0, 0.0, 1e-40, -y.flat[0], y.flat[0]
        yield x, y
    yield samples(type, 0), samples(divisor, 1)
    yield everywhere(9, type.size), near(10, type.size) if divisor.ndim else np.array(0.3, dtype)


@pytest.mark.parametrize("case", list(quotients()), ids=lambda case: case[0].replace(" ", "-"))
def test_quotients_are_those_of_the_plain_rule(monkeypatch, case) -> None:
    _, _, types, _, _ = case
    if (made := compared(case, monkeypatch, quotient)) is None:
        return
    fast, plain = made
    for x, y in operands(*types):
        (got,), (want,) = fast(x, y), plain(x, y)
        nan = want != want
        assert ((got != got) == nan).all()
        assert got[~nan].tobytes() == want[~nan].tobytes()


def test_quotients_by_what_the_program_states_stay_plain() -> None:
    import lowering
    from lowering.forms.extras import Extras

    for divisor in (lambda b, t: b.full(t, 7),
                    lambda b, t: b.emit(ops.select, b.emit(ops.eq, b.full(t, 7), b.full(t, 0)),
                                        b.full(t, 1), b.full(t, 7))):
        b = Builder("by_seven")
        x = b.param(named("i32", 4096))
        fn = b.close([b.emit(ops.rem, x, divisor(b, x.type))])
        assert "xf64>" not in lowering.lower(fn, extras=Extras(forms=1)).as_text()


# --- in programs --------------------------------------------------------------------------

def test_under_grad_and_vmap(monkeypatch) -> None:
    n = elementwise.VECTOR_LEAST
    x = (np.random.default_rng(0).normal(size=n) * 3).astype(np.float32).reshape(4, -1)

    def close(f: Callable[..., Any], x: np.ndarray) -> None:
        made = []
        for flag in ("1", "0"):
            monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
            made.append(np.asarray(xfront.jit(lambda x: f(x)).lower(x).compile()(x)))
        largest = np.abs(made[1]).max()             # terms of that size cancel in some elements
        np.testing.assert_allclose(*made, rtol=2e-6, atol=4e-7 * largest)

    def chain(x: Any) -> Any:
        x = jnp.sin(x) * jnp.cos(x + 0.5) + jnp.cbrt(x * x + 1) - jnp.remainder(x, 1.5)
        return jnp.sum(jnp.arctan2(x, 2.0) + (x * x + 1) ** 1.5 + jnp.sinh(0.1 * x))

    unit = np.clip(x / 20, -0.9, 0.9)
    close(xfront.grad(chain), x)
    close(xfront.vmap(lambda row: jnp.tan(0.1 * row)), x)
    close(xfront.grad(lambda x: jnp.sum(jnp.arcsin(x) * jnp.arccos(x) * jnp.arctan(x))), unit)
    counts = np.arange(n, dtype=np.int32).reshape(4, -1) - 1000
    close(xfront.vmap(lambda row: row // (row + 3) + row % (row + 7)), counts)
