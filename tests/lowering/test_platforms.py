"""What lowers for accelerators: every op of the table, or an error that names the platform."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from lowering import needed
from lowering.module import build_module
from tests.op_table import all_rows
from xfront_ir.definition import lookup
from xfront_ir.errors import MissingRule

LAPACK = {"eig", "eigh", "geqrf", "hessenberg", "householder_product", "lu", "ormqr", "qr", "schur",
          "svd", "tridiagonal", "tridiagonal_solve"}
"""Ops that are LAPACK's, which runs on CPU; forms write most of them for accelerators."""
REFUSED = {"cuda": {"hessenberg", "schur"}, "tpu": {"eig", "hessenberg", "schur", "tridiagonal"},
           "rocm": LAPACK}
"""Ops that a platform cannot do."""


def ops_to_lower() -> list[str]:
    """Those with samples; what a pass takes away before programs are lowered has no rule."""
    return [name for name, row in all_rows().items()
            if row.samples and row.lowered and lookup(name).discharge is None]


@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
@pytest.mark.parametrize("plain", [True, False])
def test_every_op_lowers_or_names_the_platform(platform: str, plain: bool) -> None:
    refused = set()
    extras = None if plain else needed(platform)
    for name in ops_to_lower():
        sample, dtype = next(iter(all_rows()[name].cases()))
        function, _ = sample.made(name, dtype)
        try:
            text = str(build_module(function, platform=platform, extras=extras).module)
        except (MissingRule, NotImplementedError) as e:
            assert platform in str(e), (name, e)
            refused.add(name)
        else:
            assert "lapack_" not in text and "_cpu_callback" not in text, name
    assert refused == (LAPACK if plain else REFUSED[platform])


def test_a_program_for_another_platform_is_text() -> None:
    x = np.ones(3, np.float32)
    traced = xfront.jit(lambda x: jnp.sin(x) + 1).trace(x)
    lowered = traced.lower(lowering_platforms=("tpu",))
    assert "stablehlo.sine" in lowered.as_text()
    with pytest.raises(NotImplementedError, match="lowered for tpu, but its devices belong to cpu"):
        lowered.compile()
    assert traced.lower(lowering_platforms=("cpu",)).compile()(x).shape == (3,)
    decomposed = xfront.jit(jnp.linalg.qr).trace(np.eye(3, dtype=np.float32))
    assert "@cusolver_geqrf_ffi" in decomposed.lower(lowering_platforms=("gpu",)).as_text()
    assert "@Qr" in decomposed.lower(lowering_platforms=("tpu",)).as_text()
    with pytest.raises(MissingRule, match="not on cuda"):
        decomposed.lower(lowering_platforms=("gpu",), passes=())
    with pytest.raises(MissingRule, match="not on rocm"):
        decomposed.lower(lowering_platforms=("rocm",))


def test_the_plain_program_is_lowered_without_passes() -> None:
    x = np.ones((4, 4), np.float32)
    grown = xfront.jit(lambda x, **more: x + sum(more.values()))
    assert "stablehlo.add" in grown.lower(x, passes=x).as_text()      # an argument of the function
    alone = xfront.jit(lambda x: jnp.sin(x))
    assert alone.lower(x, passes=()).as_text() == alone.lower(x).as_text()
    with pytest.raises(ValueError, match="passes must be None"):
        alone.lower(x, passes=("fences",))
