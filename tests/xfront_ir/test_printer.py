"""Text of Functions: what it looks like, that it is stable, that nothing stops it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.xfront_ir import samples
from tests.xfront_ir.samples import F32, SAMPLES, V3
from xfront_ir import Builder, Function, Op, Value, ops, parse, print_function, tensor
from xfront_ir.dtypes import f32
from xfront_ir.locations import capture
from xfront_ir.opdef import Pending, Request

ROOT = Path(__file__).resolve().parents[2]


def test_a_function_reads_as_in_the_docs() -> None:
    """Names, types, attributes and literals in their places."""
    assert str(samples.chain(weak=True)) == """\
func @chain(%x: weak f32[3]) -> (weak f32[3]) {
  %0: f32[3] = sin(%x)
  %1: f32[3] = literal() {value = f32[] 2.0, shape = [3]}
  %2: f32[3] = mul(%0, %1)
  return %2
}"""


def test_bodies_stand_inside_their_op() -> None:
    """A single body follows its name; several stand in a list."""
    text = print_function(samples.branches())
    assert text.splitlines()[1:4] == [
        "  %2: f32[3] = cond(%0, %1) {branches = [",
        "    func @chain(%x: f32[3]) -> (f32[3]) {",
        "      %0: f32[3] = sin(%x)"]
    assert 'func @"<lambda>"(%x: f32[3])' in text
    loop = print_function(samples.loop()).splitlines()
    assert loop[1] == ("  %0: f32[], %1: f32[4] = scan(%init, %xs) {body = "
                       "func @step(%0: f32[], %1: f32[3]) -> (f32[], f32[]) {")
    assert loop[7] == "  }, n_consts = 0, n_carry = 1, length = 4, reverse = false, unroll = 1}"


def test_a_shared_body_is_written_once() -> None:
    """Twice-nested calls of one body grow the text by a line each, not by a factor."""
    text = print_function(samples.shared())
    assert text.count("func @chain#1") == 1 and text.count("@chain#1") == 3
    fn = samples.chain()
    for _ in range(60):
        b = Builder("twice")
        (y,) = b.emit(ops.call, b.param(V3), body=fn, name="g")
        fn = b.close(b.emit(ops.call, y, body=fn, name="g"))
    text = print_function(fn)
    assert len(text) < 100_000
    again = parse(text)
    assert print_function(again) == text
    assert again.ops[0].attrs["body"] is again.ops[1].attrs["body"]


def test_tuples_of_tuples_have_round_brackets() -> None:
    """As in `contract = ([0], [0])`."""
    text = print_function(samples.products())
    assert "{contract = ([0], [0]), batch = ([], [])}" in text


def test_python_is_named_and_numbered() -> None:
    """One number an object, in the order of mention."""
    text = print_function(samples.custom())
    assert text.count(r'rule = py"my.rule \"quoted\"#0"') == 2
    assert 'policy = py"policy#1"' in text


def test_locations_only_when_asked() -> None:
    """A trailing comment that the parser skips."""
    b = Builder("f")
    x = b.param(F32)
    b.loc = capture(("jvp", "scope"))
    fn = b.close([b.emit(ops.sin, x)])
    assert "//" not in print_function(fn)
    text = print_function(fn, locations=True)
    assert "= sin(%0)   // jvp/scope test_printer.py:" in text
    assert "(test_locations_only_when_asked)" in text
    assert print_function(parse(text)) == print_function(fn)


def test_a_pending_body_prints_as_what_it_becomes() -> None:
    """And one that cannot be carried out prints by name: printing is total."""
    def pending(transform: object) -> Function:
        b = Builder("f")
        body = Pending(samples.chain(), Request("vectorize", (0,)), transform, (V3,), (V3,))
        return b.close(b.emit(ops.call, b.param(V3), body=body, name="g"))

    def fails(fn: Function, request: Request) -> Function:
        raise NotImplementedError

    assert "body = func @chain(%x: f32[3])" in str(pending(lambda fn, request: fn))
    assert 'body = py"Pending#0"' in str(pending(fails))


def test_broken_functions_print() -> None:
    """What the verifier refuses can still be looked at."""
    x, foreign = Value(F32), Value(V3)
    op = Op(ops.sin, (foreign,), {"no": object(), "axes": [1]}, (Value(F32),))
    text = str(Function("f", [x], [op], [foreign], param_names=("a", "b"),
                        weak_returns=(True,) * 3))
    assert "sin(%?" in text and 'no = py"object#0"' in text


def test_names_are_stable() -> None:
    """Text does not depend on the process: hashes seeds, ids, what was printed before."""
    script = ("from tests.xfront_ir.samples import SAMPLES\n"
              "for f in SAMPLES.values(): print(str(f()).encode('utf-8', 'surrogatepass'))")
    run = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT,
                          env={"PYTHONHASHSEED": seed, "PATH": ""}, check=True).stdout
           for seed in ("1", "2")]
    assert run[0] == run[1] and len(run[0].splitlines()) == len(SAMPLES)


def test_depth_is_no_recursion() -> None:
    """400 calls in one another print and parse."""
    fn = samples.chain()
    for _ in range(400):
        b = Builder("f")
        fn = b.close(b.emit(ops.call, b.param(V3), body=fn, name="g"))
    text = print_function(fn)
    assert print_function(parse(text)) == text


@pytest.mark.parametrize("held", [SimpleNamespace(name="n"), len, 3, "text"])
def test_any_python_has_a_name(held: object) -> None:
    """`name`, else the qualified name, else that of the type."""
    text = print_function(samples.custom(held))
    assert 'rule = py"' in text
    assert tensor((), f32) is F32
