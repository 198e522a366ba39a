"""A Function of the IR as a Python function: it runs, transforms, refuses what cannot fit."""

from __future__ import annotations

import numpy as np
import pytest

import xfront as jax
import xfront_ir

WAVE = """func @wave(%x: f32[3]) -> (f32[]) {
  %0: f32[3] = tanh(%x)
  %1: f32[3] = mul(%0, %x)
  %2: f32[] = reduce_sum(%1) {axes = [0]}
  return %2
}"""
X = np.array([0.5, 1.0, 1.5], np.float32)


def test_runs_and_transforms() -> None:
    """By itself, jitted, differentiated, vectorised, and inside another trace."""
    wave = jax.from_ir(xfront_ir.parse(WAVE))
    assert wave.__name__ == "wave"
    expected, slope = np.sum(np.tanh(X) * X), np.tanh(X) + X * (1 - np.tanh(X) ** 2)
    np.testing.assert_allclose(wave(X), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(wave)(X), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(wave)(X), slope, rtol=1e-5)
    rows = np.stack([X, -X])
    np.testing.assert_allclose(jax.vmap(jax.grad(wave))(rows), [slope, -slope], rtol=1e-5)


def test_several_results_are_a_tuple() -> None:
    """One value comes as it is, several as a tuple, none as an empty one."""
    two = jax.from_ir(xfront_ir.parse("func @two(%a: f32[], %b: i32[]) -> (i32[], f32[]) {\n"
                                      "  return %b, %a\n}"))
    b, a = two(np.float32(1.5), np.int32(7))
    assert (float(a), int(b)) == (1.5, 7)
    assert jax.from_ir(xfront_ir.parse("func @none() -> () {\n  return\n}"))() == ()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "@wave takes 1 arguments, but got 0"),
        ((X, X), "@wave takes 1 arguments, but got 2"),
        ((X[:2],), r"argument 0 has type f32\[2\], but its parameter has type f32\[3\]"),
        ((X.astype(np.int32),),
         r"argument 0 has type i32\[3\], but its parameter has type f32\[3\]"),
    ],
)
def test_refuses_what_does_not_fit(args: tuple, message: str) -> None:
    """The error names the Function, the argument and both types."""
    with pytest.raises(TypeError, match=message):
        jax.from_ir(xfront_ir.parse(WAVE))(*args)


def test_refuses_an_invalid_program() -> None:
    """A Function is verified before it can run."""
    wave = xfront_ir.parse(WAVE)
    with pytest.raises(xfront_ir.VerifyError):
        jax.from_ir(wave.replace(returns=[xfront_ir.Value(wave.return_types[0])]))
