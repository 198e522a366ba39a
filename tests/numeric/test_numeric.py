"""Every function over dtypes, shapes and ways of calling against NumPy, SciPy and formulas.

    pytest tests/numeric                           a sample of rows, one dtype each
    XFRONT_GENERATED=1 pytest tests/numeric        all rows in all dtypes
    python -m tests.numeric numpy.sum bfloat16     one row

`row.py` says what a row is, `checks.py` what is checked. A failure names the row, the dtype, the
way and the call, what came and what was wanted.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.generated import amount

from . import checks
from .declared import PACKAGES, WITHOUT, public
from .row import Row
from .rows import ROWS, chosen_rows

SAMPLE = 200
"""Rows in every run of the tests."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All rows, or the sample."""
    if "row" not in metafunc.fixturenames:
        return
    chosen = chosen_rows(amount.seed(metafunc.config), SAMPLE)
    metafunc.parametrize(("row", "dtypes"), chosen,
                         ids=[f"{row.name}-{k}" for k, (row, _) in enumerate(chosen)])


def test_values_dtypes_and_gradients(row: Row, dtypes: tuple[str, ...]) -> None:
    faults = [fault for dtype in dtypes for fault in checks.look(row, dtype).faults]
    assert not faults, f"{len(faults)} cases are wrong:\n" + "\n".join(map(str, faults[:20]))


def test_every_public_function_has_a_row() -> None:
    named = {row.name for row in ROWS}
    missed = [name for package in PACKAGES for name in public(package)
              if name not in named and name not in WITHOUT]
    assert not missed, f"neither a row in tests/numeric nor a line in declared.py: {missed}"
    assert not named & WITHOUT.keys(), sorted(named & WITHOUT.keys())
    every = {name for package in PACKAGES for name in public(package)}
    assert not (gone := (named | WITHOUT.keys()) - every), f"not public: {sorted(gone)}"


def test_what_differs_from_the_common_rules_has_a_reason() -> None:
    usual = Row("", ())
    silent = [row.name for row in ROWS if not row.why and (
        row.ulps > usual.ulps or row.backward or row.close or row.floor)]
    assert not silent, silent


def _ways(dtype: str = "float32", **options: object) -> set[str]:
    """In which ways a false row fails."""
    row = Row(**{"calls": ("f(a[3])", "f(a[0])"), "domains": ("positive",), **options})
    return {fault.way for fault in checks.look(row, dtype).faults}


def test_the_checks_find_what_is_wrong() -> None:
    assert _ways(name="numpy.sin") == set()
    assert _ways(name="numpy.sin", reference=np.cos) == {"jit", "vmap", "grad", "jvp", "eagerly"}
    assert {"jit", "vmap"} <= _ways(name="numpy.exp", reference=lambda x: np.exp(x) * (1 + 2e-6))
    assert _ways(name="lax.stop_gradient", reference=lambda x: x) == {"grad", "jvp"}
    assert {"jit", "vmap"} <= _ways(name="numpy.exp", result=lambda dtype: "float16")
    assert {"jit", "vmap"} <= _ways("int8", name="numpy.add", calls=("f(a[3], 100)",),
                                    reference=lambda x, y: np.add(x, y - 1))
    assert _ways("complex64", name="numpy.exp", reference=np.heaviside, calls=("f(a[3])",)
                 ) == {"refusal"}


@pytest.mark.slow
def test_every_call_is_taken_in_some_dtype() -> None:
    wrong = {row.name: found for row in ROWS if (found := checks.unused(row))}
    assert not wrong, wrong
