"""What builders give: types found again, attributes shared, numbers made once."""

from __future__ import annotations

import numpy as np
import pytest

from xfront_ir import Builder, dtypes, opdef, ops, tensor
from xfront_ir.errors import IRTypeError
from xfront_ir.opdef import FLOAT, define
from xfront_ir.passes.common_subexpressions import common_subexpressions

V = tensor((3,), dtypes.f32)


def test_ops_of_equal_attributes_share_them() -> None:
    b = Builder()
    x = b.param(V)
    for _ in range(2):
        b.emit(ops.reshape, x, shape=(3, 1))
        b.emit(ops.sin, x)
    first, plain, second, plain_again = b.ops
    assert first.attrs is second.attrs and first.attrs == {"shape": (3, 1)}
    assert plain.attrs is plain_again.attrs and plain.attrs == {}


def test_ops_with_floats_keep_the_sign_of_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opdef, "REGISTRY", dict(opdef.REGISTRY))
    scaled = define("scaled", attrs={"by": FLOAT}, infer=lambda types, attrs: types)
    b = Builder()
    x = b.param(V)
    for by in (0.0, -0.0, 0.0):
        b.emit(scaled, x, by=by)
    assert [str(op.attrs["by"]) for op in b.ops] == ["0.0", "-0.0", "0.0"]
    assert len(common_subexpressions(b.close([v for op in b.ops for v in op.results])).ops) == 2


@pytest.mark.parametrize("value", [0, 1, -1, True, 0.0, -0.0, 0.5, float("nan"), float("inf"),
                                   np.float32(0.1), np.float64(-0.0), 3e9, 3000000000, 1j])
@pytest.mark.parametrize("dtype", [dtypes.f32, dtypes.bf16, dtypes.i32, dtypes.bool_, dtypes.c64],
                         ids=str)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
def test_numbers_are_what_numpy_casts_them_to(value, dtype) -> None:
    expected = np.asarray(value).astype(dtype.numpy)
    for _ in range(2):
        b = Builder()
        b.full(tensor((2,), dtype), value)
        made = b.ops[0].attrs["value"].array
        assert made.dtype == dtype.numpy and made.tobytes() == expected.tobytes()


def test_attributes_are_checked_at_each_new_key() -> None:
    b = Builder()
    x = b.param(V)
    b.emit(ops.reshape, x, shape=(1, 3))
    with pytest.raises(IRTypeError, match="elements"):
        b.emit(ops.reshape, x, shape=(1, 2))
