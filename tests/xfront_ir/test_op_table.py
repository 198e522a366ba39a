"""Every op, checked from its row in the op table: see `tests/op_table/`."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.op_table import all_rows, checks
from tests.xfront_ir.samples import has_row
from xfront_ir import dtypes, ops
from xfront_ir.definition import NONE, REGISTRY
from xfront_ir.reference import evaluate

ROWS = all_rows()

every_op = pytest.mark.parametrize("name", sorted(ROWS))


def _rng(name: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(name.encode()))


def test_the_page_on_the_ir_names_every_family_and_op_with_bodies() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "ir.md").read_text()
    rooms = {d.family.rpartition("/")[2].removesuffix(".py") for d in REGISTRY.values()}
    assert not [room for room in rooms if f"`{room}`" not in page]
    assert not [d.name for d in REGISTRY.values() if d.has_bodies and not re.search(
        rf"(^|  ){d.name}\(", page, re.MULTILINE)]


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_op_is_complete(name: str) -> None:
    from lowering.context import INLINED, RULES, SIMPLE, load_family

    definition = REGISTRY[name]
    row = ROWS.get(name)
    assert row is not None, f"{name} has no row in tests/op_table/"
    assert has_row(name) or not row.samples, f"{name} has no reference row"
    load_family(definition)
    lowered = any(definition in kind for kind in (RULES, SIMPLE, INLINED))
    assert lowered or not row.lowered, f"{name}: no lowering"
    assert definition.jvp is not None, f"{name}: no derivative, none declared"
    assert definition.batch is not None or definition.n_operands == 0, f"{name}: no batch rule"
    assert row.batch == (definition.batch is not NONE) or definition.n_operands == 0
    assert (definition.jvp is NONE) <= (not row.differentiable), f"{name}: derivative is NONE"
    assert definition.family.startswith("xfront_ir/"), name


@every_op
def test_types_and_text(name: str) -> None:
    row = ROWS[name]
    for sample, dtype in row.cases():
        fn, arrays = sample.made(name, dtype)
        checks.check_text(fn)
        evaluate(fn, *arrays)                    # refuses results of other shapes than inferred


@every_op
def test_refuses(name: str) -> None:
    for bad in ROWS[name].bad:
        checks.check_refused(name, bad)


@every_op
def test_derivatives(name: str) -> None:
    row, rng = ROWS[name], _rng(name)
    if not row.differentiable:
        return
    for sample, dtype in row.smooth_cases():
        fn, arrays = sample.made(name, dtype)
        for active in checks.flags_of(row, fn):
            what = f"{name} {dtype} active {active}"
            checks.check_forward(fn, arrays, active, row.differences, rng, what)
            checks.check_reverse(fn, arrays, active, rng, what)


@every_op
def test_batching(name: str) -> None:
    row = ROWS[name]
    if not row.batch or not row.lanes_alone:
        return
    seen = set()
    for sample, dtype in row.cases():
        if id(sample) in seen:
            continue                             # one dtype a sample: batching knows no dtypes
        seen.add(id(sample))
        fn, _ = sample.made(name, dtype)
        lanes = [_lane(sample, name, dtype, k) for k in range(checks.LANES)]
        for positions in checks.placements(fn):
            checks.check_batch(fn, lanes, positions, row.tolerance_of, f"{name} {dtype}")


def _lane(sample: object, name: str, dtype: dtypes.DType, k: int) -> list[np.ndarray]:
    """Operands like the sample's: its own, moved around by k places."""
    _, arrays = sample.made(name, dtype)
    return [np.roll(a, k) for a in arrays]


@pytest.mark.parametrize("name", sorted(n for n, row in ROWS.items() if row.lowered))
def test_compiled_values(name: str) -> None:
    row = ROWS[name]
    programs = [sample.made(name, dtype) for sample, dtype in row.cases()]
    whole, arrays = checks.joined(programs)
    results = iter(checks.run_compiled(whole, arrays))
    for (_, dtype), (fn, given) in zip(row.cases(), programs, strict=True):
        for v, expected in zip(fn.returns, evaluate(fn, *given), strict=True):
            tolerance = max(row.tolerance_of(v.type.dtype),
                            row.tolerance_of(dtype) if v.type.is_inexact else 0)
            checks.compare(next(results), expected, tolerance, f"{name} {dtype} {given}")


def test_missing_rules_name_their_file() -> None:
    assert ops.sin.family == "xfront_ir/ops/elementwise.py"
    assert ops.eq.family == "xfront_ir/ops/compare.py"
    assert ops.erf.family == "xfront_ir/ops/special.py"
