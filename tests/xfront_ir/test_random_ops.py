"""The random ops give the streams of JAX, bit for bit: `recorded/record_random.py` wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.op_table.checks import run_compiled
from xfront_ir import dtypes
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.definition import lookup
from xfront_ir.ops.random import KEY_DTYPES
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.reference import evaluate
from xfront_ir.types import tensor

RECORDED = json.loads((Path(__file__).parent.parent / "recorded/random_streams.json").read_text())


def _function(name: str, *types: Any, **attrs: Any) -> Function:
    b = Builder("f")
    return b.close([b.emit(lookup(name), *[b.param(t) for t in types], **attrs)])


def _uses(impl: str) -> list[tuple[Function, list[np.ndarray], Any]]:
    """Programs, their arguments and what JAX gave."""
    found, key = RECORDED[impl], KEY_DTYPES[impl]
    one, u32, seed = tensor((), key), tensor((), dtypes.u32), tensor((), dtypes.i64)
    k, three = (np.array(found[n], np.uint32) for n in ("key", "three"))

    def each(fn: Function, *positions: int) -> Function:
        return vectorize(fn, positions, ("", 3))[0]

    return [
        *[(_function("random_seed", seed, impl=impl), [np.array(int(s))], words)
          for s, words in found["seeds"].items()],
        (_function("random_split", one, shape=(2, 3)), [k], found["split"]),
        (_function("random_split", one, shape=(3,)), [k], found["three"]),
        (_function("random_fold_in", one, u32), [k, np.uint32(7)], found["fold_in"]),
        *[(_function("random_bits", one, bit_width=int(w), shape=(2, 3)), [k], bits)
          for w, bits in found["bits"].items()],
        (each(_function("random_split", one, shape=(2,)), 0), [three], found["split_each"]),
        (each(_function("random_fold_in", one, u32), 0, 0), [three, np.arange(3, dtype=np.uint32)],
         found["fold_in_each"]),
        (each(_function("random_bits", one, bit_width=32, shape=(2,)), 0), [three],
         found["bits_each"]),
    ]


@pytest.mark.parametrize("impl", sorted(KEY_DTYPES))
def test_streams_are_those_of_jax(impl: str) -> None:
    b, given = Builder("uses"), []
    returns, expected = [], []
    for fn, arrays, recorded in _uses(impl):
        (value,) = evaluate(fn, *arrays)
        assert np.array_equal(value, np.array(recorded, value.dtype)), fn
        returns += b.inline(fn, [b.param(v.type) for v in fn.params])
        given += arrays
        expected.append(value)
    for got, value in zip(run_compiled(b.close(returns), given), expected, strict=True):
        assert np.array_equal(got, value)


def test_a_part_of_the_bits_does_not_depend_on_the_whole() -> None:
    key = np.array(RECORDED["fry"]["key"], np.uint32)
    few, many = (evaluate(_function("random_bits", tensor((), dtypes.key_fry), bit_width=32,
                                    shape=(n,)), key)[0] for n in (5, 9))
    assert np.array_equal(few, many[:5])


def test_lanes_of_xla_generator_take_bits_from_the_first_state() -> None:
    state = tensor((4,), dtypes.u32)
    b = Builder("f")
    fn = b.close(b.emit(lookup("rng_bit_generator"), b.param(state), algorithm="default",
                        shape=(5,), dtype=dtypes.u32))
    states = np.arange(12, dtype=np.uint32).reshape(3, 4)
    after, bits = evaluate(vectorize(fn, (0,), ("", 3))[0], states)
    b = Builder("whole")
    whole = b.close(b.emit(lookup("rng_bit_generator"), b.param(state), algorithm="default",
                           shape=(3, 5), dtype=dtypes.u32))
    first, expected = evaluate(whole, states[0])
    assert np.array_equal(bits, expected)
    assert np.array_equal(after, [first, *states[1:]])


ROWS = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "operand_batching_dims": (),
        "start_indices_batching_dims": (), "start_index_map": (0,), "slice_sizes": (1, 4),
        "fill_value": None, "indices_are_sorted": False, "unique_indices": False}
PLACES = {"update_window_dims": (1,), "inserted_window_dims": (0,), "operand_batching_dims": (),
          "scatter_indices_batching_dims": (), "scatter_dims_to_operand_dims": (0,),
          "mode": "fill", "indices_are_sorted": False, "unique_indices": False}
MOVES: list[tuple[str, list[tuple[int, ...]], dict[str, Any]]] = [
    ("slice", [(5,)], {"starts": (1,), "limits": (5,), "strides": (2,)}),
    ("concatenate", [(2,), (3,)], {"dimension": 0}),
    ("broadcast_in_dim", [(2,)], {"shape": (3, 2), "dims": (1,)}),
    ("transpose", [(2, 3)], {"permutation": (1, 0)}),
    ("reshape", [(2, 3)], {"shape": (6,)}),
    ("reverse", [(3,)], {"axes": (0,)}),
    ("dynamic_slice", [(5,), ()], {"sizes": (2,)}),
    ("dynamic_update_slice", [(5,), (2,), ()], {}),
    ("gather", [(5, 4), (3, 1)], {**ROWS, "mode": "clip"}),
    ("gather", [(5, 4), (3, 1)], {**ROWS, "mode": "fill"}),
    ("scatter", [(5, 4), (3, 1), (3, 4)], PLACES),
]


def test_keys_move_like_other_elements() -> None:
    """Compiled, a key's words stay together whatever moves the keys."""
    rng, b, given, expected, returns = np.random.default_rng(0), Builder("moves"), [], [], []
    for name, shapes, attrs in MOVES:
        indices = {"dynamic_slice": 1, "dynamic_update_slice": 2, "gather": 1, "scatter": 1}
        types = [tensor(s, dtypes.i32 if i == indices.get(name) else dtypes.key_fry)
                 for i, s in enumerate(shapes)]
        arrays = [rng.integers(-2, 7, t.shape, np.int32) if t.dtype is dtypes.i32 else
                  rng.integers(0, 2**32, (*t.shape, 2), np.uint32) for t in types]
        fn = _function(name, *types, **attrs)
        expected += evaluate(fn, *arrays)
        returns += b.inline(fn, [b.param(t) for t in types])
        given += arrays
    for got, value in zip(run_compiled(b.close(returns), given), expected, strict=True):
        assert np.array_equal(got, value)
