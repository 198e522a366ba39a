"""Estimates of what functions cost."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.experimental.roofline import (
    RooflineResult,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
    roofline,
    roofline_and_grad,
)

X, Y = jnp.ones((4, 8)), jax.ShapeDtypeStruct((8, 2), np.float32)


def test_a_product_costs_what_its_sizes_say():
    shape, found = roofline(jnp.matmul)(X, Y)
    assert (shape.shape, shape.dtype) == ((4, 2), np.float32)
    assert (found.flops, found.hbm_bytes, found.unfused_hbm_bytes) == (128, 224, 224)
    assert found.peak_hbm_bytes == 224 and found.ici_bytes == {}


def test_a_loop_costs_its_turns_and_a_gradient_more_than_its_function():
    def f(x):
        return lax.scan(lambda c, _: (c * x, None), x, None, length=5)[0]

    forward = roofline(f)(X)[1]
    assert forward.flops == 5 * 32 and forward.hbm_bytes == 256
    shapes, back = roofline(f, vjp=True)(X)
    assert shapes[0].shape == (4, 8) and back.flops > 2 * forward.flops


def test_results_are_added_and_shapes_have_sizes():
    total = RooflineResult(flops=2, peak_hbm_bytes=5) + RooflineResult(flops=3, peak_hbm_bytes=4)
    assert (total.flops, total.peak_hbm_bytes, RooflineResult.zeros().flops) == (5, 5, 0)
    assert RooflineShape.from_aval(jax.typeof(X)).bytes == 128
    assert RooflineShape.total_bytes([jax.typeof(X)] * 2) == 256


def test_what_is_not_estimated_is_refused():
    with pytest.raises(NotImplementedError, match="exchanges between devices are not estimated"):
        roofline(jnp.sin, mesh=3)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="XLA chooses what is in fast memory"):
        roofline(jnp.sin, pin_lhs_in_vmem=True)
    with pytest.raises(NotImplementedError, match="exchanges between devices"):
        roofline_and_grad(jnp.sin, None, None, None)
    for register in (register_roofline, register_standard_roofline):
        with pytest.raises(NotImplementedError, match="part of its definition"):
            register(lax.sin_p)
