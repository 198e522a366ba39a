"""The width of vectors: which programs get 512 bits, on which CPUs; numbers are the same."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from lowering import compat, compile, disk_cache
from lowering.cpu import width
from lowering.forms.extras import NOTHING, Extras
from tests.lowering.cpu.against_plain import named
from xfront_ir import ops

WIDE = "vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f avx512vl"
CHOSEN = ((width.OPTION, 512),)


@pytest.fixture(autouse=True)
def on_wide_cpu(monkeypatch) -> None:
    monkeypatch.setattr(disk_cache, "cpu_text", lambda: WIDE)
    monkeypatch.setattr(disk_cache, "xla_flags", str)


@pytest.mark.parametrize("text, wide", (
    (WIDE, True), (WIDE.replace("AuthenticAMD", "GenuineIntel"), False),
    (WIDE.replace(" avx512vl", ""), False), (WIDE.replace("avx512vl", "avx512vlx"), False),
    ("CPU implementer\t: 0x41\nFeatures\t: fp asimd", False), ("", False)))
def test_which_cpus(text, wide) -> None:
    assert width.has_wide(text) == wide


def elementwise(func, size, definition=ops.exp):
    return func([named("f32", size)], lambda b, x: [b.emit(definition, x)])


def in_call(func, size):
    body = func([named("f32", size)], lambda b, x: [b.emit(ops.exp, x)])
    return func([named("f32", size)], lambda b, x: [b.emit(ops.call, x, body=body, name="f")[0]])


def test_which_programs(func, monkeypatch) -> None:
    least = width.LEAST
    for make in (elementwise, in_call):
        assert width.options(make(func, least)) == CHOSEN
        assert width.options(make(func, least - 1)) == ()
    assert width.options(elementwise(func, least, ops.erf_inv)) == CHOSEN
    assert width.options(func([named("f32", least)], lambda b, x: [x])) == ()
    monkeypatch.setattr(disk_cache, "xla_flags", lambda: f"--{width.OPTION}=256")
    assert width.options(elementwise(func, least)) == ()


def test_arctangents_before_0_12_keep_narrow_vectors(func, monkeypatch) -> None:
    """XLA's own are wrong in half of the lanes of 512 bits; small ones beside large arrays too."""
    alone = elementwise(func, width.LEAST, ops.atan)
    beside = func([named("f32", 8), named("f32", width.LEAST)], lambda b, x, y: [
        b.emit(ops.atan2, x, x), b.emit(ops.exp, y)])
    for version, expected in (((0, 11), ()), ((0, 12), CHOSEN)):
        monkeypatch.setattr(compat, "VERSION", version)
        assert width.options(alone) == width.options(beside) == expected


def test_arctangents_are_right() -> None:
    x, small = np.linspace(-3, 3, width.LEAST, dtype=np.float32), np.linspace(-3, 3, 100)
    small = small.astype(np.float32)
    made = xfront.jit(lambda x, y: (jnp.arctan(x), jnp.arctan(y), jnp.sin(x)))(x, small)
    for got, given in zip(made, (x, small), strict=False):
        np.testing.assert_allclose(got, np.arctan(given), rtol=1e-6)


def test_it_is_an_option_of_forms(func) -> None:
    """It is left out without forms, on other platforms, and where the user says otherwise."""
    fn = elementwise(func, width.LEAST)
    for effort in compile.EFFORTS:
        assert CHOSEN[0] in compile.all_options(effort, fn, "cpu", {}, Extras(forms=1))
    assert CHOSEN[0] not in compile.all_options("jit", fn, "cpu", {}, NOTHING)
    assert CHOSEN[0] not in compile.all_options("jit", fn, "tpu", {}, Extras(forms=1))
    told = compile.all_options("jit", fn, "cpu", {width.OPTION: 128}, Extras(forms=1))
    assert (width.OPTION, 128) in told and CHOSEN[0] not in told


FUNCTIONS = {
    "polynomial": lambda x: (x * 0.5 + 1) * x - 2, "exp": jnp.exp, "tanh": jnp.tanh,
    "log": lambda x: jnp.log(jnp.abs(x)), "quotient": lambda x: 1 / (1 + x * x),
    "bits": lambda x: x.view(jnp.int32) ^ 12345, "rows": lambda x: x.reshape(-1, 24) - 1,
    "chosen": lambda x: jnp.where(x > 0, x, -x * 0.1), "sine": jnp.sin,
    "integers": lambda x: (x * 100).astype(jnp.int32) // 7, "bool": lambda x: (x > 0) & (x < 1),
    "half": lambda x: x.astype(jnp.bfloat16) * 3, "double": lambda x: x.astype("float16") + 1,
    "sums": lambda x: x.reshape(-1, 24).sum(1), "running": jnp.cumsum,
    "moved": lambda x: x.reshape(24, -1).T + 1, "largest": lambda x: x.reshape(-1, 24).max(0)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_of_both_widths(name) -> None:
    """Lengths that are no multiples of 16 too; sums of rows may be added in another order."""
    for size in (24 * 2048, 24 * 2051):
        x = np.random.default_rng(0).normal(size=size).astype(np.float32)
        x[:4] = 0, -0.0, np.inf, np.nan
        wide, narrow = (np.asarray(xfront.jit(
            FUNCTIONS[name], compiler_options={width.OPTION: bits})(x)) for bits in (512, 256))
        if wide.dtype.itemsize == 2:
            wide, narrow = wide.astype(np.float32), narrow.astype(np.float32)
        if name in ("sums", "running"):
            np.testing.assert_allclose(wide, narrow, rtol=1e-5, atol=1e-4)
        else:
            np.testing.assert_array_equal(wide, narrow)
