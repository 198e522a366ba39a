"""What `test_on_eight_devices.py` runs in a process of its own: branches and loops over terms of a
sum and reduced values, whose derivatives ended the process or read a whole value as a term."""

from __future__ import annotations

from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, report
from xfront import lax
from xfront.sharding import PartitionSpec as P
from xfront.sharding import reshard, set_mesh
from xfront_ir.errors import ParseError
from xfront_ir.parser import parse

from .checks import raises
from .explicit_checks import mesh, put
from .sum_programs import DEVICES, agree

WHOLE = P(reduced={"x"})

SEEDS = (14, 117, 119, 141)
"""Programs of which tangents, cotangents, batches and carries had the types of other values."""


def check_gradients_of_branches_that_read_one_of_two_reduced_values() -> None:
    def one(r: Any, q: Any, p: Any) -> Any:
        return lax.cond(p, lambda: q, lambda: r).sum()

    def both(r: Any, q: Any, p: Any) -> Any:
        return lax.cond(p, lambda: (q, r), lambda: (r, r))[0].sum()

    def turns(r: Any, q: Any, p: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: lax.cond(i > 1, lambda: c * r, lambda: c), q).sum()

    given = np.arange(24, dtype=np.float32).reshape(4, 6) / 7
    with set_mesh(mesh()):
        held = reshard(put((4, 6)) * 0 + given, WHOLE)
        for f in (one, both, turns):
            slope = xfront.grad(f, (0, 1))
            for which in (True, False):
                wanted = slope(given, given, which)
                for call in (slope, xfront.jit(slope)):
                    for found, right in zip(call(held, held, which), wanted, strict=True):
                        assert str(xfront.typeof(found)) == "float32[4,6]{U:x}"
                        np.testing.assert_allclose(reshard(found, P()), right, rtol=1e-5)


def check_branches_that_differ_in_sums_are_refused_before_xla() -> None:
    text = """func @f(%p: bool[], %x: f32[2]) -> (f32[2]) {
      %0: f32[2] = cond(%p, %x) {branches = [
        func @no(%x: f32[2]) -> (f32[2]) {
          return %x
        },
        func @yes(%x: f32[2]) -> (f32[2] over ["x" = 2 explicit] [{}] unreduced {"x"}) {
          %0: f32[2] over ["x" = 2 explicit] [{}] unreduced {"x"} = reshard(%x) {
            sharding = ["x" = 2 explicit] [{}] unreduced {"x"}}
          return %0
        }
      ]}
      return %0
    }"""
    raises(ParseError, ["result of branch 1", "reshard"], lambda: parse(text))
    with set_mesh(mesh()):
        terms = reshard(jnp.ones((4, 6)), P(unreduced={"x"}))
        raises(TypeError, ["differ in sharding"], lambda: lax.cond(
            True, lambda: terms, lambda: jnp.ones((4, 6))))


def check_random_programs_agree_with_one_device() -> None:
    for seed in SEEDS:
        agree(seed)


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, DEVICES)
