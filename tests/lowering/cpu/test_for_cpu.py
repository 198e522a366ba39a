"""The pass for the CPU: what each form writes, as text; that programs mean the same after it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lowering
from lowering import compat
from lowering.context import mlir_context
from lowering.cpu import fences
from lowering.forms.conditions import Condition
from lowering.forms.extras import NOTHING, Extras
from lowering.forms.facts import NO_FACTS
from lowering.forms.places import Place
from lowering.forms.placing import form_of, place_forms, taken
from lowering.forms.registry import FORMS_OF, forms_of, written
from lowering.platforms import for_platform
from tests.op_table import all_rows
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Op, Value, bodies_of
from xfront_ir.ops import REGISTRY
from xfront_ir.parser import parse
from xfront_ir.passes.pipeline import simplify
from xfront_ir.reference import evaluate, physical_shape
from xfront_ir.types import tensor
from xfront_ir.verifier import verify

FILES = sorted((Path(__file__).parent / "golden" / "forms").glob("*.ir"))
HEAD = re.compile(r"// pass: forms( without fences)?, jaxlib (\d+\.\d+)")
MARK = "// ---- expect\n"
ALL = Extras(1, 1)
LARGE = tensor((2 ** 15,), dtypes.f32)


@pytest.fixture
def at_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`at_version("0.10")`: forms are those of that jaxlib."""
    def set_version(text: str) -> None:
        written.cache_clear()
        monkeypatch.setattr(compat, "VERSION", (*map(int, text.split(".")), 0))

    yield set_version
    written.cache_clear()


# --- each form ----------------------------------------------------------------------------

class Example(NamedTuple):
    """A program that takes a form: the version of jaxlib, whether it has fences, the text up to the
    mark, what is expected."""

    version: str
    has_fences: bool
    fn: Function
    given: str
    expected: str

    def placed(self) -> Function:
        return place_forms(self.fn, has_fences=self.has_fences)


def read(path: Path) -> Example:
    given, _, expected = path.read_text().partition(MARK)
    head, program = given.split("\n", 1)
    found = HEAD.fullmatch(head)
    assert found is not None
    return Example(found[2], found[1] is None, parse(program), given, expected)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden(path: Path, at_version: Any, update_golden: bool) -> None:
    """`// pass: forms`, a program in which the form of that name is taken, and what it becomes."""
    example = read(path)
    at_version(example.version)
    made = example.placed()
    verify(made)
    assert [form.name for _, form in taken(made)][0] == path.stem
    if update_golden:
        path.write_text(f"{example.given}{MARK}{made}\n")
    else:
        assert f"{made}\n" == example.expected, (
            "pytest --update-golden writes what the forms write now")


def test_every_form_has_its_text() -> None:
    for definition in REGISTRY.values():
        forms_of(definition)
    names = sorted({form.name for forms in FORMS_OF["cpu"].values() for form in forms})
    assert names == [path.stem for path in FILES]


def drawn(v: Value, rng: np.random.Generator) -> np.ndarray:
    t = v.type
    if t.dtype.is_key:
        return rng.integers(0, 2 ** 32, physical_shape(t), np.uint32)
    if t.dtype.kind == "bool":
        return rng.random(t.shape) < 0.5
    if t.dtype.is_integer:
        return rng.integers(1, 9, t.shape).astype(t.dtype.numpy)
    made = rng.uniform(0.1, 0.9, t.shape)
    if t.dtype.is_complex:
        made = made + 1j * rng.uniform(0.1, 0.9, t.shape)
    if t.ndim > 2 and t.shape[-1] == t.shape[-2]:        # factors of it exist
        made = (made + np.swapaxes(made, -1, -2)) / 2 + t.shape[-1] * np.eye(t.shape[-1])
    return made.astype(t.dtype.numpy)


@pytest.mark.parametrize("path", [path for path in FILES if path.stem != "control.scan"],
                         ids=lambda p: p.stem)      # which only says how many turns are one
def test_the_evaluator_gives_the_same(path: Path, at_version: Any) -> None:
    example = read(path)
    at_version(example.version)
    xs = [drawn(v, np.random.default_rng(0)) for v in example.fn.params]
    with np.errstate(all="ignore"):
        want, got = evaluate(example.fn, *xs), evaluate(example.placed(), *xs)
    for w, g in zip(want, got, strict=True):
        assert g.dtype == w.dtype
        if w.dtype.kind in "iub":
            np.testing.assert_array_equal(g, w)
        else:
            wide = np.complex128 if w.dtype.kind == "c" else np.float64
            bound = 8e-3 if w.dtype.itemsize == 2 else 1e-5
            np.testing.assert_allclose(g.astype(wide), w.astype(wide), rtol=bound, atol=bound)


# --- programs -----------------------------------------------------------------------------

def sines(n: int) -> Function:
    b = Builder("f")
    x = b.param(LARGE)
    for _ in range(n):
        x = b.emit(ops.sin, x)
    return b.close([x])


def test_a_body_is_written_once_for_all_programs() -> None:
    bodies = {body for fn in (sines(2), sines(3)) for op in place_forms(fn).ops
              for body in bodies_of(op)}
    assert len(bodies) == 1


def test_conditions_are_asked_once_for_the_same_types_and_attributes(
        func: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, plain = [], Condition.__call__
    monkeypatch.setattr(Condition, "__call__", lambda self, op: asked.append(op) or plain(self, op))
    place_forms(sines(9))
    assert len(asked) == 1
    fn = func([tensor((31, 2000), dtypes.f32)], lambda b, x: [
        b.emit(ops.argmax, x, axis=axis, index_dtype=dtypes.i32) for axis in (0, 1, 0, 1)])
    places = [fn.returns.index(op.results[0]) for op, _ in taken(place_forms(fn))]
    assert places == [1, 3] and len(asked) == 3                    # 31 elements are too few


def test_a_program_without_forms_is_itself(func: Any) -> None:
    turn = func([LARGE], lambda b, x: [b.emit(ops.tanh, x)])
    fn = func([LARGE], lambda b, x: b.emit(
        ops.scan, *b.emit(ops.call, x, body=turn, name="turn"), body=turn, length=3, n_consts=0,
        n_carry=1, reverse=False, unroll=1))
    assert for_platform(fn, "cpu", ALL) is fn
    assert for_platform(sines(1), "cpu", NOTHING).ops[0].definition is ops.sin


def test_calls_are_walked_as_deep_as_they_nest(func: Any) -> None:
    body = sines(1)
    for _ in range(3000):
        body = func([LARGE], lambda b, x, body=body: b.emit(ops.call, x, body=body, name="f"))
    assert len(list(taken(place_forms(body)))) == 1


def test_what_a_form_writes_of_its_own_op_stays() -> None:
    (call,) = read(next(p for p in FILES if p.stem == "elementwise.rem")).placed().ops
    conds = [op for body in bodies_of(call) for op in body.ops if op.definition is ops.cond]
    inside = [op for cond in conds for branch in bodies_of(cond) for op in branch.ops]
    assert any(op.definition is ops.rem for op in inside)
    found = form_of(call)
    assert found is not None and found.definition is ops.rem


def test_fences_of_users_are_barriers_where_fences_are_off(func: Any) -> None:
    fn = func([LARGE], lambda b, x: [b.emit(ops.sin, b.emit(ops.fence, x))])
    kept, barrier = for_platform(fn, "cpu", ALL), for_platform(fn, "cpu", Extras(0, 1))
    assert kept.ops[0].definition is ops.fence
    assert barrier.ops[0].definition is ops.optimization_barrier
    assert kept.ops[1].attrs["body"] is barrier.ops[1].attrs["body"]


def test_generated_programs_mean_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a fence wherever two places read a value."""
    from tests.generated import checks
    from tests.generated.test_generated import drawn as drawn_programs
    from xfront import enable_x64

    for name in ("START", "STORE", "LEAST", "MOST"):
        monkeypatch.setattr(fences, name, 0)
    changed = []

    def body(program: Any) -> None:
        with enable_x64(True):
            x = checks.Examined(program)
        fn = simplify(x.ir.ir)
        made = for_platform(fn, "cpu", ALL)
        verify(made)
        changed.append(made is not fn)
        want, got = (evaluate(f, *x.args, *x.ir.captured) for f in (fn, made))
        for w, g in zip(want, got, strict=True):
            np.testing.assert_array_equal(g, w)

    drawn_programs(0, 4, body)
    assert any(changed)


# --- what forms ask of a place ------------------------------------------------------------

IN_MEMORY = frozenset(("func.call", "stablehlo.convolution", "stablehlo.custom_call",
                       "stablehlo.dot_general", "stablehlo.gather", "stablehlo.sort",
                       "stablehlo.while", "stablehlo.optimization_barrier"))
COUNTED = ("bits", "compare", "convert", "elementwise", "indexing", "shape", "special", "strong")


PLACED = {"stablehlo.dynamic_slice": 1, "stablehlo.dynamic_update_slice": 2}
"""Operations with starts, which are computed once, behind so many operands."""


def counted(value: Any) -> int:
    """How many operations of StableHLO compute an element of a value, up to 8."""
    made = value.owner
    if isinstance(made, mlir_context().ir.Block) or made.operation.name in IN_MEMORY:
        return 0
    total = 1
    operands = list(made.operation.operands)
    for operand in operands[:PLACED.get(made.operation.name, len(operands))]:
        total += counted(operand) if total < 8 else 0
    return min(total, 8)


def of_absolutes(fn: Function) -> Function:
    """The program with an op before each parameter that may have one."""
    made, params = [], []
    for v in fn.params:
        is_bool = v.type.dtype.kind == "bool"
        params.append(v if v.type.dtype.is_key else Value(v.type))
        if params[-1] is not v:
            before = ops.not_ if is_bool or v.type.dtype.is_unsigned else ops.neg
            made.append(Op(before, (params[-1],), {}, (v,)))
    return Function(fn.name, params, (*made, *fn.ops), fn.returns)


@pytest.mark.parametrize("family", COUNTED)
def test_work_is_what_is_lowered(family: str) -> None:
    rows = [row for name, row in all_rows().items()
            if REGISTRY[name].family.endswith(f"/{family}.py") and not REGISTRY[name].has_bodies]
    for row in rows:
        for sample in row.samples:
            dtype = (sample.dtypes or row.dtypes)[0]
            fn, _ = sample.made(row.name, dtype)
            for program in (fn, of_absolutes(fn)):
                module = lowering.lower(program).module
                block = module.body.operations[0].regions[0].blocks[0]
                values = list(block.operations)[-1].operands
                place = Place(program, {}, NO_FACTS.is_private)
                assert [place.work(v, 8) for v in program.returns] == [
                    counted(v) for v in values], (row.name, str(program))


def test_literals_are_known_in_loops_and_other_values_in_branches(func: Any) -> None:
    """A power stated outside of a loop is one that the program states."""
    inner = func([LARGE, LARGE], lambda b, e, x: [b.emit(ops.pow, x, e)])
    for wrap in ("scan", "cond", "call"):
        for literal in (True, False):
            b = Builder("f")
            p, x, y = b.param(tensor((), dtypes.bool_)), b.param(LARGE), b.param(LARGE)
            e = b.full(LARGE, 1.5) if literal else y
            if wrap == "scan":
                made = b.emit(ops.scan, e, x, body=inner, length=3, n_consts=1, n_carry=1,
                              reverse=False, unroll=1)
            elif wrap == "cond":
                made = b.emit(ops.cond, p, e, x, branches=(inner, inner))
            else:
                made = b.emit(ops.call, e, x, body=inner, name="inner")
            fn = b.close(made)
            assert bool(list(taken(place_forms(fn)))) == literal
