"""Fingerprints: what is the same program is the same hash, and nothing else is."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.work import calls
from tests.xfront_ir import samples
from tests.xfront_ir.samples import F32, SAMPLES, V3, Rule
from xfront_ir import (
    Builder,
    Function,
    Literal,
    fingerprint,
    ops,
    same_structure,
    skeleton,
    tensor,
)
from xfront_ir.dtypes import bf16, f32, i32
from xfront_ir.fingerprint import _signature, _walk
from xfront_ir.locations import capture
from xfront_ir.opdef import FLOAT, Pending, Request, define, optional

ROOT = Path(__file__).resolve().parents[2]


def of(*values: object, dtype: object = f32, name: str = "f") -> Function:
    b = Builder(name)
    return b.close([b.literal(v, dtype) for v in values])       # type: ignore[arg-type]


@pytest.mark.parametrize("name", SAMPLES)
def test_equal_programs_meet(name: str) -> None:
    """Built twice, from nothing shared."""
    a, b = SAMPLES[name](), SAMPLES[name]()
    if name == "custom":        # its policy and rule have fingerprints of their own
        assert fingerprint(a) == fingerprint(b)
    assert same_structure(a, b) and skeleton(a) == skeleton(b)


def test_different_programs_do_not() -> None:
    """All samples, all prefixes of one, all variants of a loop."""
    made = [make() for make in SAMPLES.values()]
    fn = samples.chain()
    made += [Function("f", fn.params, fn.ops[:i], fn.params) for i in range(len(fn.ops) + 1)]
    made += [samples.chain(weak=True), fn.replace(returns=fn.returns * 2),
             fn.replace(returns=fn.ops[0].results), fn.replace(ops=(*fn.ops, fn.ops[0]))]
    for attrs in ({"reverse": True}, {"unroll": 2}):
        loop = samples.loop()
        op = loop.ops[0]
        changed = type(op)(op.definition, op.operands, {**op.attrs, **attrs}, op.results)
        made.append(loop.replace(ops=(changed,)))
    for a, b in itertools.combinations(made, 2):
        assert not same_structure(a, b), (str(a), str(b))
        assert skeleton(a)[0] != skeleton(b)[0]


def test_names_and_locations_are_left_out() -> None:
    """Of Functions, parameters and ops."""
    b = Builder("another")
    b.loc = capture(("jvp",))
    x = b.param(V3, "other")
    y = b.emit(ops.mul, b.emit(ops.sin, x), b.literal(2.0, f32, (3,)))
    assert same_structure(b.close([y]), samples.chain())


def test_what_is_remembered_of_signatures_is_what_they_are() -> None:
    """Functions that differ in types, weakness, and numbers of ops and results alone, in pairs."""
    kinds = [F32, V3, tensor((3,), bf16), tensor((3, 1), f32)]
    made = []
    for params in [(), *itertools.product(kinds), *itertools.product(kinds, repeat=2)]:
        for weak in itertools.product((False, True), repeat=len(params)):
            for n_ops, n_out in itertools.product((0, 1), repeat=2):
                b = Builder()
                values = [b.param(t, "", w) for t, w in zip(params, weak, strict=True)]
                made_here = [b.literal(0.0, f32) for _ in range(n_ops)]
                returns = [*made_here, *values][:n_out]
                made.append((b.close(returns), (params, weak if any(weak) else (), n_ops,
                                                len(returns))))
    by_signature: dict[bytes, object] = {}
    for _ in range(2):                            # the second time all are remembered
        for fn, meaning in made:
            assert by_signature.setdefault(_signature(fn), meaning) == meaning
    assert len(by_signature) == len({meaning for _, meaning in made})


def test_order_of_operands_and_attributes() -> None:
    """Of operands it counts, of attributes it does not; None is absence."""
    def sub(swap: bool) -> Function:
        b = Builder()
        x, y = b.param(F32), b.param(F32)
        return b.close([b.emit(ops.add, *((y, x) if swap else (x, y)))])

    assert not same_structure(sub(False), sub(True))
    x = Builder().param(tensor((2, 1), f32))
    attrs = {"shape": (2, 3), "dims": (0, 1)}
    turned = dict(reversed(attrs.items()))
    results = (Builder().param(tensor((2, 3), f32)),)
    made = [Function("f", [x], [type(samples.chain().ops[0])(
        ops.broadcast_in_dim, (x,), a, results)], results) for a in (attrs, turned)]
    assert same_structure(*made)


def test_literals_by_content_never_by_equality() -> None:
    """0.0 and -0.0, NaNs, True and 1 and 1.0, an array and a scalar."""
    payload = np.array(0x7FC00001, np.uint32).view(np.float32)
    made = [of(0.0), of(-0.0), of(np.nan), of(payload[()]), of(1.0), of(1, dtype=i32),
            of(True, dtype=None), of(1.0, dtype=bf16), of([1.0]), of(1.0, 1.0)]
    for a, b in itertools.combinations(made, 2):
        assert fingerprint(a) != fingerprint(b), (str(a), str(b))
    assert same_structure(of(np.nan), of(np.nan))


def test_the_skeleton_leaves_values_out() -> None:
    """Not dtypes, not shapes; the literals come in order, those of bodies at their place."""
    assert skeleton(of(1.0))[0] == skeleton(of(2.0))[0] != skeleton(of([1.0]))[0]
    assert skeleton(of(1.0))[0] != skeleton(of(1, dtype=i32))[0]
    assert skeleton(of(1.0, 2.0))[1] == (Literal(1.0, f32), Literal(2.0, f32))
    loops = samples.loop(0.5), samples.loop(0.25)
    assert skeleton(loops[0])[0] == skeleton(loops[1])[0]
    assert not same_structure(*loops)
    assert skeleton(loops[1])[1] == (Literal(0.25, f32),)
    assert [float(x.array) for x in skeleton(samples.branches())[1]] == [3.0, 4.0]
    b = Builder()
    first = b.literal(7.0, f32, (3,))
    (y,) = b.emit(ops.call, first, body=samples.shared(), name="g")
    made = b.close([b.emit(ops.mul, y, b.literal(8.0, f32, (3,)))])
    assert [float(x.array) for x in skeleton(made)[1]] == [7.0, 2.0, 2.0, 2.0, 8.0]


class Asked(Rule):
    """A rule that counts how often it is asked what it is."""

    asked = 0

    def fingerprint(self) -> bytes:
        Asked.asked += 1
        return super().fingerprint()


def never(fn: Function, request: Request) -> Function:
    raise AssertionError("a hash carries nothing out")


def _called(fn: Function) -> Function:
    b = Builder()
    return b.close(b.emit(ops.call, b.param(V3), body=fn, name="f"))


def _repeated(fn: Function) -> Function:
    b, inner = Builder(), Builder()
    i, x = inner.param(tensor((), i32)), inner.param(V3)
    body = inner.close([i, *inner.emit(ops.call, x, body=fn, name="f")])
    first = b.literal(0, i32)
    test = Builder()
    j, _ = test.param(tensor((), i32)), test.param(V3)
    cond = test.close([test.emit(ops.lt, j, test.literal(3, i32))])
    return b.close(b.emit(ops.while_, first, b.param(V3), cond=cond, body=body, n_cond_consts=0,
                          n_body_consts=0)[1:])


def _pending(fn: Function, *request: object) -> Function:
    body = Pending(fn, Request(*request), never, (V3,), (V3,))    # type: ignore[arg-type]
    b = Builder()
    return b.close(b.emit(ops.call, b.param(V3), body=body, name="f"))


WRAPS = {"call": _called, "while": _repeated, "rule": lambda fn: _ruled(fn, Rule("outer")),
         "batch": lambda fn: _pending(fn, "vectorize", (0,)),
         "grad": lambda fn: _pending(fn, "grad", (True,)),
         "jvp": lambda fn: _pending(fn, "jvp", (True,))}


def _ruled(fn: Function, rule: Rule) -> Function:
    b = Builder()
    return b.close(b.emit(ops.custom_jvp, b.param(V3), body=fn, rule=rule, name="f"))


def ruled_and_wrapped(wraps: tuple[str, ...]) -> list[Function]:
    """The same program twice, with different rules inside."""
    made = []
    for content in (b"a", b"b"):
        fn = _ruled(samples.chain(), Asked("rule", content))
        for wrap in wraps:
            fn = WRAPS[wrap](fn)
        made.append(fn)
    return made


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("depth", range(4))
def test_rules_count_where_something_is_differentiated(depth, first) -> None:
    """`forward`, that is; without it they always count, whatever was asked first."""
    for wraps in itertools.product(WRAPS, repeat=depth):
        matters = bool({"grad", "jvp"}.intersection(wraps))
        fns = ruled_and_wrapped(wraps)
        Asked.asked = 0
        for forward in (first, not first):
            one, other = (skeleton(fn, forward) for fn in fns)
            assert one[1] == other[1], wraps
            assert (one[0] != other[0]) == (matters or not forward), wraps
            if first and forward:
                assert (Asked.asked > 0) == matters, wraps
        assert fingerprint(fns[0]) != fingerprint(fns[1]), wraps
        both = {skeleton(fns[0], forward)[0] for forward in (False, True)}
        assert len(both) == 1 + fns[0].memo["forward fingerprint"].rules, wraps


def test_a_rule_in_a_body_that_takes_nothing_from_outside_counts() -> None:
    """Such a body stands in the hash as a whole."""
    def reduced(content: bytes) -> Function:
        inner, b = Builder(), Builder()
        x, y = inner.param(F32), inner.param(F32)
        plain = Builder()
        double = plain.close([plain.emit(ops.sin, plain.param(F32))])
        (z,) = inner.emit(ops.custom_jvp, x, body=double, rule=Rule("r", content), name="f")
        body = inner.close([inner.emit(ops.add, z, y)])
        return b.close(b.emit(ops.reduce, b.param(V3), b.literal(0.0, f32), body=body, axes=(0,)))

    for forward in (True, False, True):
        assert skeleton(reduced(b"a"), forward)[0] != skeleton(reduced(b"b"), forward)[0]
    fn, gn = reduced(b"a"), reduced(b"b")
    assert skeleton(fn, True)[0] != skeleton(gn, True)[0]
    assert skeleton(fn)[0] != skeleton(gn)[0]


def test_pending_bodies_count_by_function_and_request() -> None:
    """Floats of a request by their bits; carrying it out changes nothing."""
    def held(request: Request, scale: float = 2.0) -> Function:
        b = Builder()
        body = Pending(samples.chain(scale), request, lambda fn, r: fn, (V3,), (V3,))
        return b.close(b.emit(ops.call, b.param(V3), body=body, name="g"))

    requests = [Request("jvp", (True,)), Request("jvp", (False,)), Request("grad", (True,)),
                Request("jvp", 1), Request("jvp", True), Request("jvp", 1.0), Request("jvp", 0.0),
                Request("jvp", -0.0), Request("jvp", V3), Request("jvp", f32), Request("jvp", "1")]
    for a, b in itertools.combinations(requests, 2):
        assert not same_structure(held(a), held(b)), (a, b)
    a, b = held(requests[0]), held(requests[0], 3.0)
    assert skeleton(a)[0] == skeleton(b)[0] and not same_structure(a, b)
    assert same_structure(a, held(requests[0]))
    a.ops[0].attrs["body"].force()
    assert same_structure(a.replace(), held(requests[0]))


def test_rules_count_by_their_own_fingerprint() -> None:
    """It is asked again each time: a rule that has been traced since is another program."""
    a, b = Rule("r", b"one"), Rule("r", b"one")
    first, second = samples.custom(a), samples.custom(b)
    assert same_structure(first, second)
    outer = Builder()
    held = outer.close(outer.emit(ops.call, outer.param(V3), body=first, name="g"))
    before = fingerprint(held)
    a.content = b"two"
    assert not same_structure(first, second)
    assert fingerprint(held) != before
    a.content = b"one"
    assert same_structure(first, second) and fingerprint(held) == before


def test_python_without_a_fingerprint_counts_by_identity() -> None:
    """As long as it lives; a new object never takes the place of an old one."""
    class Plain:
        name = "plain"

    rule = Plain()
    assert same_structure(samples.custom(rule), samples.custom(rule))
    seen = {fingerprint(samples.custom(Plain())) for _ in range(50)}
    assert len(seen) == 50
    assert same_structure(samples.custom(len), samples.custom(len))


def test_float_attributes_by_their_bits() -> None:
    """0.0 and -0.0 differ, NaN is itself; an optional attribute that is None is absent."""
    held = define("fingerprint_test_op", attrs={"value": FLOAT, "extra": optional(FLOAT)},
                  infer=lambda types, attrs: types, operands=1)
    try:
        def fn(**attrs: object) -> Function:
            b = Builder()
            return b.close([b.emit(held, b.param(F32), **attrs)])

        assert not same_structure(fn(value=0.0), fn(value=-0.0))
        assert same_structure(fn(value=float("nan")), fn(value=float("nan")))
        assert same_structure(fn(value=1.0), fn(value=1.0, extra=None))
        assert not same_structure(fn(value=1.0), fn(value=1.0, extra=1.0))
    finally:
        del ops.REGISTRY["fingerprint_test_op"]


def test_sharing_costs_nothing() -> None:
    """100 levels of two calls of the same body."""
    bare = Builder("g")
    x = bare.param(V3)
    fn = bare.close([bare.emit(ops.sin, x)])
    for _ in range(100):
        b = Builder("f")
        (y,) = b.emit(ops.call, b.param(V3), body=fn, name="g")
        fn = b.close(b.emit(ops.call, y, body=fn, name="g"))
    assert len(fingerprint(fn)) == 16 and skeleton(fn)[1] == ()


def test_depth_is_no_recursion() -> None:
    """2,000 calls in one another."""
    fn = samples.chain()
    for _ in range(2000):
        b = Builder("f")
        fn = b.close(b.emit(ops.call, b.param(V3), body=fn, name="g"))
    assert skeleton(fn)[1] == (Literal(2.0, f32),)


def test_hashes_are_the_same_in_every_process() -> None:
    """Under any hash seed."""
    names = [n for n in SAMPLES]
    script = ("from tests.xfront_ir.samples import SAMPLES\nfrom xfront_ir import fingerprint\n"
              "for f in SAMPLES.values(): print(fingerprint(f()).hex())")
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                           cwd=ROOT, env={"PYTHONHASHSEED": "7", "PATH": ""}, check=True).stdout
    assert found.split() == [fingerprint(SAMPLES[n]()).hex() for n in names]


def test_its_work_is_linear_in_the_program() -> None:
    """A handful of calls an op, as many in a large program as in a small one."""
    def program(n: int) -> Function:
        b = Builder()
        y = b.param(V3)
        for i in range(n):
            y = b.emit(ops.sin, b.emit(ops.mul, y, b.literal(float(i), f32, (3,))))
        return b.close([y])

    def per_op(fn: Function) -> float:
        _walk(fn)
        return calls(lambda: _walk(fn)) / len(fn.ops)

    small, large = per_op(program(300)), per_op(program(10_000))
    assert large < 8 and large < 1.5 * small
