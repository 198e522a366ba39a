"""Rows of `ops/random_gamma.py`. Streams, narrow dtypes and the derivative, which is that of the
quantile and not of the sampler, are checked in `tests/xfront/random/test_distributions.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from xfront_ir import dtypes
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.definition import lookup
from xfront_ir.dtypes import DType
from xfront_ir.types import tensor

from .row import Bad, Row, Sample


def _sample(values: Any, log_space: bool) -> Sample:
    """Samples of given shapes of the distribution, from random keys."""
    def build(dtype: DType, rng: np.random.Generator) -> tuple[Function, list[np.ndarray]]:
        a, b = np.asarray(values).astype(dtype.numpy), Builder("f")
        keys = rng.integers(0, 2 ** 32, (*a.shape, 2), np.uint32)
        params = b.param(tensor(a.shape, dtypes.key_fry)), b.param(tensor(a.shape, dtype))
        made = b.emit(lookup("random_gamma"), *params, log_space=log_space)
        return b.close((made,)), [keys, a]

    return Sample(build=build, smooth=False)


ROWS = [
    Row("random_gamma", [
        *[_sample([[0.2, 0.5, 1.0], [1.5, 4.0, 30.0]], log_space) for log_space in (False, True)],
        _sample([0.0, -1.0, np.inf, np.nan, 2.0], False), _sample(np.zeros((0, 2)), False),
        _sample(2.5, True)], (dtypes.f64, dtypes.f32),
        [*[Bad([("key<fry>", (n,)), ("f32", (3,))], "of the same shape", {"log_space": False})
           for n in (2, 4)],
         Bad([("key<rbg>", (2,)), ("f32", (2,))], "takes key<fry>", {"log_space": False}),
         Bad([("key<fry>", (2,)), ("i32", (2,))], "takes key<fry>", {"log_space": False})],
        differentiable=False),
]
