"""Dtypes of results for arrays of every dtype are those that JAX was seen to give."""

import json
import sys
from pathlib import Path

import pytest

import xfront

RECORDED = Path(__file__).parents[2] / "recorded"
sys.path.insert(0, str(RECORDED))
from record_result_dtypes import DTYPES, EXPRESSIONS, HALF, WIDE, names  # noqa: E402

sys.path.remove(str(RECORDED))

COMPLEX = ("complex64", "complex128")
EVERY = tuple(DTYPES)
INTEGERS = tuple(d for d in DTYPES if "int" in d)
# Where ours is another answer: (beginning of the expression, dtypes): why.
OTHERWISE = {
    ("argmax(", COMPLEX): "JAX's fail when they run; NumPy orders them, we refuse them",
    ("argmin(", COMPLEX): "as argmax",
    ("nanargmax(", COMPLEX): "as argmax",
    ("nanargmin(", COMPLEX): "as argmax",
    ("cumulative_prod(x", INTEGERS): "the array API widens narrow integers, as cumulative_sum does",
    ("round(", ("bool",)): "bools are round",
    ("deg2rad(", COMPLEX): "NumPy refuses them",
    ("arctan2(", COMPLEX): "NumPy refuses them",
    ("digitize(", COMPLEX): "NumPy refuses them",
    ("linalg.vector_norm(x)", ("bool", *INTEGERS)): "as norm, whose dtype JAX's is not",
    ("var(x, dtype='float16')", COMPLEX): "a variance is real",
    ("partition(", ("bool",)): "bools have an order",
    ("argpartition(", ("bool",)): "bools have an order",
    ("square(", ("bool",)): "the default integer in 64-bit mode too",
    ("x ** 2", ("bool",)): "the default integer in 64-bit mode too",
    ("interp(x, s, x)", HALF): "JAX fails",
    ("quantile(x, s[0])", EVERY): "0 and 1 may be integers",
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("x64", [False, True])
def test_dtypes_of_results_are_as_recorded(x64):
    record = json.loads((RECORDED / "result_dtypes.json").read_text())[f"x64={x64}"]
    dtypes = [d for d in DTYPES if x64 or d not in WIDE]
    wrong, used = [], set()
    with xfront.enable_x64(x64):
        for expression in EXPRESSIONS:
            for dtype, want in zip(dtypes, record[expression].split(), strict=True):
                got = names(xfront, expression, dtype)
                if got == want or got.endswith("Error") and want.endswith("Error"):
                    continue
                known = {k for k in OTHERWISE if expression.startswith(k[0]) and dtype in k[1]}
                used |= known
                if not known:
                    wrong.append(f"{expression} of {dtype}: {got}, recorded {want}")
    assert not wrong, "\n".join(wrong[:30])
    if x64:
        assert used == set(OTHERWISE), "no longer different"
