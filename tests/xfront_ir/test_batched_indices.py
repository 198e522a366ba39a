"""Batches of dynamic slices, gathers and scatters whose lanes differ in everything.

The op table moves the same indices around; here each lane draws its own, for random dimension
numbers, and every subset of operands is batched at random places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.op_table.checks import check_batch
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.definition import lookup
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.types import tensor

F64, I32 = dtypes.f64, dtypes.i32
LANES = 3


def _function(name: str, types: list[Any], attrs: dict[str, Any]) -> Function:
    b = Builder("f")
    return b.close([b.emit(lookup(name), *[b.param(t) for t in types], **attrs)])


def _draw(rng: np.random.Generator, type: Any) -> np.ndarray:
    if type.dtype.is_integer:
        return rng.integers(-2, 6, type.shape).astype(type.dtype.numpy)
    return rng.normal(size=type.shape)


def _numbers(rng: np.random.Generator) -> dict[str, Any]:
    """Random dimension numbers: operand, indices and window shapes, and what each axis is."""
    n_batching, n_indexed, n_window = rng.integers(0, 3), rng.integers(1, 3), rng.integers(0, 3)
    roles = rng.permutation(["batching"] * n_batching + ["removed"] * n_indexed
                            + ["window"] * n_window)
    shape = tuple(int(n) for n in rng.integers(2, 5, len(roles)))
    batching = tuple(d for d, role in enumerate(roles) if role == "batching")
    removed = tuple(d for d, role in enumerate(roles) if role == "removed")
    windows = [d for d, role in enumerate(roles) if role == "window"]
    index_map = tuple(int(d) for d in rng.permutation([
        d for d in (*removed, *windows) if d in removed or rng.random() < 0.5]))
    n_free = int(rng.integers(0, 3))
    of_indices = tuple(int(d) for d in rng.permutation(n_batching + n_free)[:n_batching])
    sizes = [int(n) for n in rng.integers(1, 4, n_batching + n_free)]
    for d, i in zip(batching, of_indices, strict=True):
        sizes[i] = shape[d]
    ndim = len(sizes) + len(windows)
    offsets = tuple(sorted(int(d) for d in rng.permutation(ndim)[:len(windows)]))
    slice_sizes = tuple(int(rng.integers(1, n + 1)) if d in windows else 1
                        for d, n in enumerate(shape))
    return {"shape": shape, "indices": (*sizes, len(index_map)), "offsets": offsets,
            "removed": removed, "batching": batching, "of_indices": of_indices,
            "index_map": index_map, "slice_sizes": slice_sizes,
            "mode": str(rng.choice(["clip", "fill"]))}


def _gather_attrs(n: dict[str, Any]) -> dict[str, Any]:
    return {"offset_dims": n["offsets"], "collapsed_slice_dims": n["removed"],
            "operand_batching_dims": n["batching"],
            "start_indices_batching_dims": n["of_indices"], "start_index_map": n["index_map"],
            "slice_sizes": n["slice_sizes"], "mode": n["mode"], "fill_value": None,
            "indices_are_sorted": False, "unique_indices": False}


def _check(rng: np.random.Generator, fn: Function, what: str) -> None:
    lanes = [[_draw(rng, v.type) for v in fn.params] for _ in range(LANES)]
    positions = tuple(None if rng.random() < 0.3 else int(rng.integers(0, v.type.ndim + 1))
                      for v in fn.params)
    if any(p is not None for p in positions):
        check_batch(fn, lanes, positions, lambda dtype: 1e-13, f"{what} {positions}")


@pytest.mark.parametrize("seed", range(60))
def test_gather_and_scatter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = _numbers(rng)
    x, indices = tensor(n["shape"], F64), tensor(n["indices"], I32)
    gather = _function("gather", [x, indices], _gather_attrs(n))
    updates = gather.returns[0].type
    scatter = {"update_window_dims": n["offsets"], "inserted_window_dims": n["removed"],
               "operand_batching_dims": n["batching"],
               "scatter_indices_batching_dims": n["of_indices"],
               "scatter_dims_to_operand_dims": n["index_map"], "mode": n["mode"],
               "indices_are_sorted": False, "unique_indices": False}
    for _ in range(4):
        _check(rng, gather, f"gather {n}")
        _check(rng, _function("scatter_add", [x, indices, updates], scatter), f"scatter_add {n}")
        _check(rng, _function("scatter_max", [x, indices, updates], scatter), f"scatter_max {n}")


@pytest.mark.parametrize("seed", range(20))
def test_dynamic_slices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 4)))
    sizes = tuple(int(rng.integers(1, n + 1)) for n in shape)
    starts = [tensor((), I32)] * len(shape)
    x, update = tensor(shape, F64), tensor(sizes, F64)
    for _ in range(4):
        _check(rng, _function("dynamic_slice", [x, *starts], {"sizes": sizes}), f"{shape} {sizes}")
        _check(rng, _function("dynamic_update_slice", [x, update, *starts], {}), f"{shape} {sizes}")


def test_batches_do_not_loop_or_transpose() -> None:
    """Rows of a table picked by each lane's index: one gather, whatever is batched."""
    attrs = {"sizes": (1, 4)}
    fn = _function("dynamic_slice", [tensor((5, 4), F64), tensor((), I32), tensor((), I32)], attrs)
    many, places = vectorize(fn, (0, 0, None), ("", 3))
    assert [op.definition for op in many.ops] == [ops.broadcast_in_dim, ops.gather]
    assert places == (0,)
    n = {"shape": (5, 4), "offsets": (1,), "removed": (0,), "batching": (), "of_indices": (),
         "index_map": (0,), "slice_sizes": (1, 4), "mode": "clip"}
    fn = _function("gather", [tensor((5, 4), F64), tensor((2, 1), I32)], _gather_attrs(n))
    for positions in ((0, None), (1, None), (None, 0), (None, 1), (0, 0), (1, 1), (2, 0)):
        many, _ = vectorize(fn, positions, ("", 3))
        assert [op.definition for op in many.ops] == [ops.gather], positions
