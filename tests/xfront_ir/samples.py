"""Functions that the tests of text, verifier and fingerprint share; between them they use every
kind of attribute and of op with bodies."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from xfront_ir import Builder, Function, Value, dtypes, ops, tensor
from xfront_ir.analysis import functions
from xfront_ir.dtypes import bf16, bool_, c64, f32, f64, i32
from xfront_ir.errors import MissingRule
from xfront_ir.opdef import Request
from xfront_ir.reference import row_of

F32 = tensor((), f32)
V3 = tensor((3,), f32)


class Rule:
    """A Deferred that is never asked."""

    n_own = 1

    def __init__(self, name: str, content: bytes = b"rule") -> None:
        self.name, self.content = name, content

    def function(self, request: Request) -> Function:
        raise AssertionError(f"asked for {request}")

    def fingerprint(self) -> bytes:
        return self.content


def op_counts(fn: Function) -> Counter[str]:
    """How many ops of each name there are, every Function inside `fn` counted once."""
    return Counter([op.definition.name for f in functions(fn) for op in f.ops])


def has_row(name: str) -> bool:
    """Whether the NumPy evaluator knows the op called `name`."""
    try:
        return row_of(name) is not None
    except MissingRule:
        return False


def chain(scale: float = 2.0, weak: bool = False, name: str = "chain") -> Function:
    b = Builder(name)
    x = b.param(V3, "x", weak)
    y = b.emit(ops.mul, b.emit(ops.sin, x), b.literal(scale, f32, (3,)))
    return b.close([y], [weak])


def step(scale: float = 0.5) -> Function:
    b = Builder("step")
    c, x = b.param(F32), b.param(V3)
    total = b.emit(ops.add, c, b.emit(ops.reduce_sum, x, axes=(0,)))
    return b.close([b.emit(ops.mul, total, b.literal(scale, f32)), total])


def loop(scale: float = 0.5) -> Function:
    b = Builder("loop")
    c, xs = b.param(F32, "init"), b.param(tensor((4, 3), f32), "xs")
    made = b.emit(ops.scan, c, xs, body=step(scale), n_consts=0, n_carry=1, length=4,
                  reverse=False, unroll=1)
    return b.close(made)


def branches() -> Function:
    b = Builder("branches")
    p, x = b.param(tensor((), bool_)), b.param(V3)
    return b.close(b.emit(ops.cond, p, x, branches=(chain(3.0), chain(4.0, name="<lambda>"))))


def shared() -> Function:
    """One body at two places, and in a body."""
    inner = chain()
    middle = Builder("middle")
    y = middle.param(V3)
    held = middle.close(middle.emit(ops.call, y, body=inner, name="inner"))
    b = Builder("shared")
    (y,) = b.emit(ops.call, b.param(V3, "x"), body=inner, name="one")
    (y,) = b.emit(ops.call, y, body=held, name="two")
    return b.close(b.emit(ops.call, y, body=inner, name="three"))


def counting() -> Function:
    """While i < n: i + 1, x * 2."""
    cond, body, b = Builder("cond"), Builder("body"), Builder("counting")
    n, i, _ = cond.param(tensor((), i32)), cond.param(tensor((), i32)), cond.param(F32)
    test = cond.close([cond.emit(ops.lt, i, n)])
    i, x = body.param(tensor((), i32)), body.param(F32)
    again = body.close([body.emit(ops.add, i, body.literal(1, i32)),
                        body.emit(ops.mul, x, body.literal(2.0, f32))])
    operands = [b.param(tensor((), i32), "n"), b.literal(0, i32), b.param(F32, "x")]
    return b.close(b.emit(ops.while_, *operands, cond=test, body=again,
                          n_cond_consts=1, n_body_consts=0))


def custom(rule: Any = None) -> Function:
    b = Builder("custom")
    rule = rule or Rule("my.rule \"quoted\"")
    (y,) = b.emit(ops.custom_jvp, b.param(V3), body=chain(), rule=rule, name="relu")
    (y,) = b.emit(ops.custom_vjp, y, body=chain(5.0), rule=rule, name="relu")
    return b.close(b.emit(ops.checkpoint, y, body=chain(), policy=Rule("policy"),
                          prevent_cse=True))


def literals() -> Function:
    """Every element type that a literal can have, and the elements that are hard to spell."""
    b = Builder("literals")
    found: list[Value] = [b.literal(v, f32) for v in (0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45)]
    found += [b.literal(v, t) for v, t in (
        (0.1, f64), (0.1, bf16), (True, bool_), (-1, i32), (2 ** 63 - 1, dtypes.i64),
        (2 ** 64 - 1, dtypes.u64), (-8, dtypes.i4), (3, dtypes.u2), (0.5, dtypes.f8_e5m2),
        (1.0, dtypes.f4_e2m1fn), (complex(-0.0, np.nan), c64), (1e-300, f64))]
    payload = np.array([0x7FC00001, 0xFFC00000, 0x7F800001], np.uint32).view(np.float32)
    found.append(b.literal(payload, shape=(3,)))
    found.append(b.literal(np.zeros((0, 2), np.float32)))
    found.append(b.literal(np.arange(100, dtype=np.int16).reshape(10, 10)))
    found.append(b.literal(np.arange(6, dtype=np.complex64).reshape(2, 3)))
    return b.close(found)


def named() -> Function:
    """Parameters and Functions whose names are no identifiers, or not unique."""
    b = Builder('a "name"\n')
    for name in ("x", "x", "x_1", "0", "", "params['w']", "é\ud800", "return"):
        b.param(F32, name)
    return b.close(list(reversed(b.params)))


def products() -> Function:
    b = Builder("products")
    w, x = b.param(tensor((4, 2), f32), "W"), b.param(tensor((4,), f32), "x")
    y = b.emit(ops.dot_general, x, w, contract=((0,), (0,)), batch=((), ()))
    t = b.emit(ops.transpose, w, permutation=(1, 0))
    return b.close([y, b.emit(ops.convert, t, dtype=bf16)])


SAMPLES = {f.__name__: f for f in (chain, loop, branches, shared, counting, custom, literals, named,
                                   products)}
