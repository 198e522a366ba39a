"""Calls of the host under transformations: what is batched, what is refused, what has effects."""

from __future__ import annotations

from typing import Any

import pytest

from xfront_ir import dtypes, ops
from xfront_ir.analysis import has_effects
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.errors import IRValueError
from xfront_ir.ops.effects import NoBatching
from xfront_ir.passes.jvp import jvp
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.types import tensor

X = tensor((3,), dtypes.f32)


def called(kind: str, ordered: bool = False, method: str | None = None) -> Function:
    b = Builder("f")
    x = b.param(X)
    results = () if kind == "debug" else (X,)
    made = b.emit(ops.callback, x, slot=0, kind=kind, ordered=ordered, vmap_method=method,
                  result_types=results)
    return b.close([*made, b.emit(ops.sin, x)])


def names(fn: Function) -> list[str]:
    return [op.definition.name for op in fn.ops]


def test_pure_calls_have_no_effect() -> None:
    """The others are not dropped where nothing reads them."""
    assert [has_effects(called(kind)) for kind in ("pure", "io", "debug")] == [False, True, True]


def test_a_debug_call_sees_values_alone_under_jvp() -> None:
    """It is called once, and has no tangent."""
    moved, active = jvp(called("debug"), (True,))
    assert names(moved).count("callback") == 1 and active == (True,)
    (op,) = [op for op in moved.ops if op.definition is ops.callback]
    assert op.operands == moved.params[:1]


@pytest.mark.parametrize("kind", ["pure", "io"])
def test_others_have_no_derivative(kind: str) -> None:
    """The message says which kind it is, and what to do."""
    with pytest.raises(IRValueError, match=f"{kind.capitalize()} callbacks do not support JVP"):
        jvp(called(kind), (True,))


@pytest.mark.parametrize("kind,ordered,error", [
    ("io", True, IRValueError), ("pure", False, NoBatching), ("io", False, None),
    ("debug", True, None), ("debug", False, None)])
def test_batches(kind: str, ordered: bool, error: Any) -> None:
    """Calls in order cannot be batched unless they only print; a pure one has to say how."""
    fn = called(kind, ordered)
    if error is None:
        moved, places = vectorize(fn, (0,), ("i", 2), (0,) * len(fn.returns))
        assert places == (0,) * len(fn.returns) and has_effects(moved)
        assert moved.return_types == (tensor((2, 3), dtypes.f32),) * len(fn.returns)
        assert not any([op.attrs["reverse"] for op in moved.ops if op.definition is ops.scan])
    else:
        with pytest.raises(error, match="Cannot vmap an ordered|vmap of a pure callback"):
            vectorize(fn, (0,), ("i", 2))


def test_a_pure_call_is_batched_as_it_says() -> None:
    """All lanes in one call, or one call after the other."""
    for method in ("expand_dims", "broadcast_all", "sequential"):
        moved, places = vectorize(called("pure", method=method), (0,), ("i", 2), (0, 0))
        assert places == (0, 0) and moved.return_types[0] is tensor((2, 3), dtypes.f32)
