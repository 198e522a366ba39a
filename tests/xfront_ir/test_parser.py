"""The parser: text comes back as the Function it spells, anything else as a ParseError."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.op_table import all_rows
from tests.work import calls
from tests.xfront_ir import samples
from tests.xfront_ir.samples import SAMPLES, V3, Rule
from xfront_ir import (
    Builder,
    Function,
    MissingRule,
    ParseError,
    VerifyError,
    dtypes,
    parse,
    print_function,
    same_structure,
    verify,
)
from xfront_ir.opdef import Request
from xfront_ir.parser import MAX_DEPTH


@pytest.mark.parametrize("name", SAMPLES)
def test_parse_is_the_inverse_of_print(name: str) -> None:
    """Text, structure and flags come back."""
    fn = SAMPLES[name]()
    text = print_function(fn)
    again = parse(text)
    assert print_function(again) == text
    verify(again)
    if name != "custom":                       # its rules are bound to nothing
        assert same_structure(again, fn)
    held = text.encode("utf-8", "surrogatepass")
    if "\ud800" not in text:
        assert print_function(parse(held)) == text


def test_elements_of_literals_come_back_to_the_last_bit() -> None:
    """-0.0, NaN payloads, subnormals, narrow types."""
    fn = samples.literals()
    for a, b in zip(fn.ops, parse(print_function(fn)).ops, strict=True):
        assert a.attrs["value"] == b.attrs["value"]


def test_every_bit_pattern_of_narrow_floats_comes_back() -> None:
    """All f16, bf16 and 8-bit and 4-bit floats, through text."""
    for dtype in dtypes.BY_NAME.values():
        if dtype.kind != "float" or dtype.bits > 16:
            continue
        count = 1 << dtype.bits
        if dtype.bits == 16:
            bits = np.arange(0, count, 37, np.uint16)
        else:
            bits = np.arange(count, dtype=np.uint8)
        array = bits.view(dtype.numpy)
        b = Builder()
        found = [b.literal(array[i:i + 50], dtype) for i in range(0, len(array), 50)]
        fn = b.close(found)
        for op, again in zip(fn.ops, parse(print_function(fn)).ops, strict=True):
            assert op.attrs["value"] == again.attrs["value"], dtype


def test_names_come_back() -> None:
    """Quoted where they are no identifiers, told apart where they are the same."""
    again = parse(print_function(samples.named()))
    assert again.name == 'a "name"\n'
    assert again.param_names == ("x", "x_2", "x_1", "0", "", "params['w']", "é\ud800", "return")


def test_python_is_bound_by_name() -> None:
    """By `name#n` or by `name`; what is not bound raises when it is asked for."""
    rule = Rule("bound")
    fn = samples.custom()
    text = print_function(fn)
    again = parse(text, {'my.rule "quoted"#0': rule, "policy": fn.ops[2].attrs["policy"]})
    assert again.ops[0].attrs["rule"] is again.ops[1].attrs["rule"] is rule
    assert same_structure(parse(text, {'my.rule "quoted"': fn.ops[0].attrs["rule"],
                                       "policy": fn.ops[2].attrs["policy"]}), fn)
    unbound = parse(text).ops[0].attrs["rule"]
    with pytest.raises(MissingRule, match="no jvp; bind it with"):
        unbound.function(Request("jvp"))
    assert same_structure(parse(text), parse(text))


def test_an_optional_attribute_may_be_left_out() -> None:
    """It is None."""
    text = print_function(samples.custom()).replace(', policy = py"policy#1"', "")
    assert parse(text).ops[2].attrs["policy"] is None


GOOD = """func @f(%x: f32[3], %y: f32[]) -> (f32[3]) {
  %0: f32[3] = sin(%x)
  %1: f32[3] = literal() {value = f32[] 2.0, shape = [3]}
  %2: f32[3] = mul(%0, %1)
  return %2
}"""

REFUSED = [
    ("", 1, 1, "expected 'func', got the end"),
    ("// nothing\n\n", 3, 1, "expected 'func'"),
    (GOOD + " x", 6, 3, "expected the end of the text, got x"),
    (GOOD.replace("sin(%x)", "sinn(%x)"), 2, 16, "there is no op called 'sinn'"),
    (GOOD.replace("sin(%x)", "sin(%z)"), 2, 20, "%z is not defined before this"),
    (GOOD.replace("sin(%x)", "sin(%2)"), 2, 20, "%2 is not defined before this"),
    (GOOD.replace("sin(%x)", "sin(%x"), 3, 3, "expected ',' or ')', got %1"),
    (GOOD.replace("sin(%x)", "sin(%x, %x)"), 2, 16, "sin takes 1 operands, got 2"),
    (GOOD.replace("mul(%0, %1)", "mul(%0, %y)"), 4, 16, "mul: operand types must be equal"),
    (GOOD.replace("%0: f32[3]", "%0: f32[4]"), 2, 3, "sin gives f32[3] here, not f32[4]"),
    (GOOD.replace("%1: f32[3]", "%0: f32[3]"), 3, 3, "%0 is defined twice"),
    (GOOD.replace("-> (f32[3])", "-> (f32[2])"), 1, 35, "@f returns (f32[3])"),
    (GOOD.replace("%y: f32[]", "%x: f32[]"), 1, 21, "%x is defined twice"),
    (GOOD.replace("f32[] 2.0", "f32[] 1e99"), 3, 41, "1e99 is out of range for f32"),
    (GOOD.replace("f32[] 2.0", "f32[] -1e999"), 3, 41, "-1e999 is out of range for f32"),
    (GOOD.replace("f32[] 2.0", "i8[] 128"), 3, 40, "128 is out of range for i8"),
    (GOOD.replace("f32[] 2.0", "key<fry>[] 1"), 3, 35, "a key cannot be a literal"),
    (GOOD.replace("f32[] 2.0", "f32[2] [1, 2]"), 3, 16, "cannot fill shape (3,)"),
    (GOOD.replace("shape = [3]", "shape = [-3]"), 3, 54, "'shape' must be ints"),
    (GOOD.replace("shape = [3]", "size = [3]"), 3, 46, "has no attribute 'size'"),
    (GOOD.replace(", shape = [3]", ""), 4, 3, "literal needs the attribute 'shape'"),
    (GOOD.replace("%x: f32[3]", "%x: f33[3]"), 1, 13, "expected an element type, got f33"),
    (GOOD.replace("%x: f32[3]", "%x: f32[9,999999999999999]"), 1, 13, "elements"),
    (GOOD.replace("%x: f32[3]", "%x: f32[" + "9" * 5000 + "]"), 1, 17, "more than 64 bits"),
    (GOOD.replace("%x: f32[3]", "%x: f32[" + "1," * 99 + "1]"), 1, 13, "64 dimensions"),
    (GOOD.replace("@f(", '@"f('), 1, 6, "unexpected '@'"),
    (GOOD.replace("@f(", r'@"\q"('), 1, 7, "bad escape"),
    (GOOD.replace("sin", "sïn"), 2, 17, "unexpected"),
    (GOOD + "\n\0", 7, 1, "unexpected"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), REFUSED)
def test_errors_say_where_and_why(text: str, line: int, column: int, message: str) -> None:
    """Line, column, the line itself, and what is wrong with it."""
    with pytest.raises(ParseError) as caught:
        parse(text)
    error = caught.value
    assert message in error.message
    assert (error.line, error.column) == (line, column)
    assert error.source == (text.split("\n")[line - 1])
    assert len(str(error)) < 1000


def test_bytes_that_are_no_text() -> None:
    """The place of the first bad byte, counted in characters."""
    with pytest.raises(ParseError) as caught:
        parse("func @é".encode() + b"\xff")
    assert (caught.value.line, caught.value.column) == (1, 8)
    assert "byte 0xff" in caught.value.message


def nested(depth: int) -> str:
    return ("func @f(%x: f32[]) -> (f32[]) { %0: f32[] = call(%x) {name = \"\", body = " * depth
            + "func @f(%x: f32[]) -> (f32[]) { return %x }" + "} return %0 }" * depth)


def test_nesting_is_bounded() -> None:
    """Up to the limit it parses; beyond it is refused, however deep, without recursion."""
    parse(nested(MAX_DEPTH - 1))
    for text in (nested(MAX_DEPTH + 1), nested(20_000), "func @f() -> () {" * 50_000,
                 GOOD.replace("[3]}", "[" * 100_000)):
        with pytest.raises(ParseError):
            parse(text)
    tree = "func @f(%x: f32[]) -> () { %0: f32[] = dot_general(%x, %x) {contract = "
    with pytest.raises(ParseError, match="brackets nest more than"):
        parse(tree + "(" * 100_000)


def test_sizes_are_bounded() -> None:
    """Literals by bytes before they are read, text by characters."""
    with pytest.raises(ParseError, match="the literal has more than"):
        parse(GOOD.replace("f32[] 2.0", "f32[100000000] [1.0"))
    with pytest.raises(ParseError, match="characters, more than"):
        parse(" " * ((1 << 26) + 1))


def test_a_body_is_not_used_before_it_stands() -> None:
    """So no Function can hold itself."""
    text = ('func @f#1(%x: f32[]) -> (f32[]) { %0: f32[] = call(%x) {body = @f#1, name = ""} '
            "return %0 }")
    with pytest.raises(ParseError, match="@f#1 is not defined before this"):
        parse(text)


def test_the_work_of_parsing_is_linear() -> None:
    """20,000 ops in one Function."""
    def text(n: int) -> str:
        lines = "\n".join(f"  %{i + 1}: f32[3] = sin(%{i})" for i in range(n))
        return f"func @f(%0: f32[3]) -> (f32[3]) {{\n{lines}\n  return %{n}\n}}"

    fn = parse(text(20_000))
    assert len(fn.ops) == 20_000 and fn.params[0].type is V3
    small, large = text(500), text(5_000)
    assert calls(lambda: parse(large)) < 10 * 1.5 * calls(lambda: parse(small))


# --- mutations ----------------------------------------------------------------------------

TOKENS = ["{", "}", "(", ")", "[", "]", ",", ":", "=", "->", "%0", "%x", "@f", "@chain#1", "func",
          "return", "f32[3]", "f32[]", "i32[]", "key<fry>[]", "0", "-1", "99999999999", "1e400",
          "nan", "inf", "0x7fc00000", '"', '"a"', 'py"a#0"', 'hex"00"', "//", "true", "weak",
          "sin", "scan", "cond", "call", "while", "literal", "\\", "\0", "é", "\ud800"]


def flip_byte(text: str, rng: random.Random) -> str | bytes:
    data = bytearray(text.encode("utf-8", "replace"))
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _pieces(text: str) -> list[str]:
    return re.findall(r"\s+|\w+|.", text, re.DOTALL)


def delete_token(text: str, rng: random.Random) -> str:
    pieces = _pieces(text)
    at = rng.randrange(len(pieces))
    del pieces[at:at + rng.randint(1, 5)]
    return "".join(pieces)


def repeat_token(text: str, rng: random.Random) -> str:
    pieces = _pieces(text)
    at = rng.randrange(len(pieces))
    pieces[at:at] = pieces[at:at + rng.randint(1, 20)]
    return "".join(pieces)


def swap_tokens(text: str, rng: random.Random) -> str:
    pieces = _pieces(text)
    words = [i for i, p in enumerate(pieces) if not p.isspace()] or [0]
    i, j = rng.choice(words), rng.choice(words)
    pieces[i], pieces[j] = pieces[j], pieces[i]
    return "".join(pieces)


def truncate(text: str, rng: random.Random) -> str:
    return text[:rng.randrange(len(text))]


def change_number(text: str, rng: random.Random) -> str:
    pieces = _pieces(text)
    numbers = [i for i, p in enumerate(pieces) if p.isdecimal()] or [0]
    pieces[rng.choice(numbers)] = str(rng.choice(
        [0, 1, 2, 3, 5, -1, 2 ** 31, 2 ** 40, 2 ** 63, 10 ** 30, rng.randrange(100)]))
    return "".join(pieces)


def insert_token(text: str, rng: random.Random) -> str:
    pieces = _pieces(text)
    at = rng.randrange(len(pieces))
    pieces[at:at + rng.randint(0, 1)] = [rng.choice(TOKENS)]
    return "".join(pieces)


MUTATIONS: list[Callable[[str, random.Random], str | bytes]] = [
    flip_byte, delete_token, repeat_token, swap_tokens, truncate, change_number, insert_token]


def corpus() -> list[str]:
    """Valid text: the samples as often as the samples of the op table."""
    texts = [print_function(make()) for make in SAMPLES.values()]
    of_ops = [print_function(sample.made(name, (sample.dtypes or row.dtypes)[0])[0])
              for name, row in all_rows().items() for sample in row.samples]
    return texts * (len(of_ops) // len(texts) + 1) + of_ops


def mutate(count: int, seed: int) -> None:
    """Mutations give a Function that prints and parses again, or one of the two errors."""
    rng = random.Random(seed)
    texts = corpus()
    outcomes = {"read": 0, "refused": 0}
    for i in range(count):
        text: str | bytes = rng.choice(texts)
        for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 3))):
            if isinstance(text, bytes):
                break
            text = rng.choice(MUTATIONS)(text, rng) or " "
        try:
            fn = parse(text)
            verify(fn)
            outcomes["read"] += 1
            printed = print_function(fn)
            assert print_function(parse(printed)) == printed
        except (ParseError, VerifyError) as error:
            outcomes["refused"] += 1
            assert isinstance(error, VerifyError) or error.line >= 1, (i, text)
            str(error).encode()
        except Exception as error:
            raise AssertionError(f"mutation {i}, seed {seed}: {error!r}\n{text!r}") from error
    assert min(outcomes.values()) > count // 50, outcomes


def test_mutated_text_gives_a_function_or_the_error() -> None:
    """1,500 of them."""
    mutate(1500, seed=1)


@pytest.mark.slow
def test_much_mutated_text_gives_a_function_or_the_error() -> None:
    """10,000 of them."""
    mutate(10_000, seed=2)


def test_a_function_is_returned() -> None:
    """The plain case, from a str and from bytes."""
    assert isinstance(parse(GOOD), Function)
    assert same_structure(parse(GOOD), parse(GOOD.encode()))


def test_examples_of_the_docs() -> None:
    """They parse, and print as they stand there."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "ir.md").read_text()
    blocks = re.findall(r"```ir\n(.*?)\n```", page, re.DOTALL)
    assert blocks
    for block in blocks:
        fn = parse(block)
        verify(fn)
        assert print_function(fn) == block
    (program,) = re.findall(r"```python\n(.*?)\n```", page, re.DOTALL)
    exec(compile(program, "docs/ir.md", "exec"), {})
