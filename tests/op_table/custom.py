"""Rows of `ops/custom.py`. Rules that differ from the derivative, captures, what a policy saves:
`tests/xfront_ir/passes/test_custom.py`."""

from __future__ import annotations

from typing import Any

from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.types import tensor

from .control import WIDE, sample, trace
from .row import Bad, Draw, Row, Sample


class SineTimes:
    """The derivative rules of sin(x) * y, as they are."""

    name = "sine_times"
    n_own = 2

    def function(self, request: Any) -> Any:
        """The Function for a request."""
        return getattr(self, f"_{request.role}")(*request.details)

    def _jvp(self, types: Any, perturbed: Any) -> Any:
        b = Builder("jvp")
        x, y = (b.param(t) for t in types)
        dots = [b.param(t) if p else b.zeros(t) for t, p in zip(types, perturbed, strict=True)]
        s = b.emit(ops.sin, x)
        t = b.emit(ops.mul, b.emit(ops.mul, b.emit(ops.cos, x), y), dots[0])
        return b.close([b.emit(ops.mul, s, y),
                        b.emit(ops.add, t, b.emit(ops.mul, s, dots[1]))])

    def _fwd(self, types: Any) -> Any:
        b = Builder("fwd")
        x, y = (b.param(t) for t in types)
        s = b.emit(ops.sin, x)
        return b.close([b.emit(ops.mul, s, y), b.emit(ops.mul, b.emit(ops.cos, x), y), s])

    def _bwd(self, residuals: Any, cts: Any) -> Any:
        b = Builder("bwd")
        c, s = (b.param(t) for t in residuals)
        ct = b.param(cts[0])
        return b.close([b.emit(ops.mul, ct, c), b.emit(ops.mul, ct, s)])


def _body(type: Any) -> Any:
    return trace(lambda b, x, y: [b.emit(ops.mul, b.emit(ops.sin, x), y)], type, type)


def _custom(name: str) -> Any:
    def make(b: Any, x: Any, y: Any) -> Any:
        return b.emit(ops.REGISTRY[name], x, y, body=_body(x.type), rule=SineTimes(), name="sine")
    return make


def _tangent(b: Any, c: Any, s: Any, x: Any, y: Any) -> Any:
    return b.emit(ops.custom_vjp_tangent, c, s, x, y, rule=SineTimes(), n_residuals=2,
                  types=(c.type,), perturbed=(True, True))


def _checkpoint(b: Any, x: Any, y: Any) -> Any:
    return b.emit(ops.checkpoint, x, y, body=_body(x.type), policy=None, prevent_cse=True)


_F32 = tensor((), dtypes.f32)
_WRONG = [Bad([("f32", (3,))], "the body takes",
               {"body": _body(_F32), "rule": SineTimes(), "name": "sine"})]

ROWS = [
    Row("custom_jvp", [sample(_custom("custom_jvp"), (3,), (3,))], WIDE, _WRONG),
    Row("custom_vjp", [sample(_custom("custom_vjp"), (3,), (3,))], WIDE, _WRONG),
    Row("custom_vjp_tangent", [sample(_tangent, (3,), (3,), (3,), (3,))], WIDE, [
        Bad([("f32", ())], "takes 1 residuals and 1 tangents", {
            "rule": SineTimes(), "n_residuals": 1, "types": (_F32,), "perturbed": (True,)})]),
    Row("checkpoint", [sample(_checkpoint, (3,), (3,))], WIDE, [
        Bad([("f32", (3,))], "the body takes",
            {"body": _body(_F32), "policy": None, "prevent_cse": True})]),
    Row("checkpoint_name", [Sample([Draw()], {"name": "s"})],
        bad=[Bad([("f32", ()), ("f32", ())], "takes 1 operands", {"name": "s"})]),
]
