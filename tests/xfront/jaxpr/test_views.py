"""Programs as data: every op's view prints and evaluates back; what views say; bodies."""

from __future__ import annotations

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from tests.op_table import all_rows
from xfront.jaxpr.evaluating import eval_jaxpr
from xfront.jaxpr.views import ClosedJaxpr
from xfront.stages import struct_kind
from xfront.tracing.trace import trace_function
from xfront_ir import reference
from xfront_ir.analysis import axis_names

ROWS = all_rows()
X = jnp.array([0.5, 1.0, 2.0])


def retraced(closed):
    """The Function of binding the eqns of a view one after another."""
    kinds = [struct_kind("view", aval) for aval in closed.in_avals]
    axes = {(name, 2) for name in axis_names(closed.ir)}
    outer, jax.tracing.trace.state.axes = jax.tracing.trace.state.axes, tuple(axes)
    try:
        made = trace_function(lambda xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs),
                              [t for t, _ in kinds], [w for _, w in kinds], name="again",
                              kind="test", staging=True)
    finally:
        jax.tracing.trace.state.axes = outer
    assert not made.captures
    return made.function


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_view_prints_and_evaluates_back(name):
    with jax.enable_x64(True):
        for sample, dtype in ROWS[name].cases()[:6]:
            function, arrays = sample.made(name, dtype)
            closed = ClosedJaxpr.of(function)
            assert str(closed).startswith("{ lambda ") and str(closed).count("{") > 0
            again = retraced(closed)
            assert again.return_types == function.return_types

            if name == "literal" or not reference.has_row(name):
                continue
            with np.errstate(all="ignore"):
                one, two = (reference.evaluate(f, *arrays) for f in (function, again))
            for a, b in zip(one, two, strict=True):
                np.testing.assert_array_equal(a, b)
