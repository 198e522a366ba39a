"""Text to IR: the inverse of `printer.print_function`; the grammar is in docs/ir.md.

Any text gives a Function whose ops have passed their type rules, or a ParseError with line, column
and the offending line; nothing else, whatever the bytes. Size, nesting, shapes and literals are
bounded by the limits below, and no recursion follows the nesting of bodies.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import numpy as np

from .core import Function, Op, Value
from .definition import AttrKind, OpDef
from .dtypes import BY_NAME, DType, find, real_of
from .errors import IRError, MissingRule, ParseError
from .literal import Literal
from .opdef import Request, infer_anyway
from .ops import REGISTRY  # from `ops`, so that it is full before text is read
from .sharding import MeshAxes, Sharding, Spec
from .types import TensorType, tensor

T = TypeVar("T")

MAX_TEXT = 1 << 26            # characters
MAX_DEPTH = 500               # bodies in bodies
MAX_TREE = 32                 # brackets in brackets of one attribute
MAX_RANK = 64
MAX_ELEMENTS = 1 << 48        # in an array of one type
MAX_LITERAL = 1 << 22         # bytes of one literal
MAX_DIGITS = 20               # in one integer

_SKIP = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*")
_STRING = r'"(?:[^"\\\n]|\\[^\n])*"'
_TOKEN = re.compile(rf"""
    (?P<value>%(?:[A-Za-z0-9_.]+|{_STRING}))
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*(?:<[A-Za-z0-9_]+(?:<[A-Za-z0-9_]+>)?>)?(?!["A-Za-z0-9_]))
  | (?P<number>0x[0-9a-f]+(?![A-Za-z0-9_.])
      | -?(?:inf|nan|[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.]))
  | (?P<symbol>@(?:[A-Za-z_][A-Za-z0-9_.]*|{_STRING}))
  | (?P<string>{_STRING})
  | (?P<python>py{_STRING})
  | (?P<hex>hex"[0-9a-f]*")
  | (?P<mark>->|[(){{}}\[\],:=\#])
""", re.VERBOSE)
_KINDS = {"value": "a value", "word": "a word", "number": "a number", "symbol": "a function's name",
          "string": "a string", "python": "Python", "hex": "digits"}


class Unbound:
    """A Python rule that the text mentions and for which no binding was given: a name alone.

    An op that holds one runs forward; asking it for a derivative raises MissingRule.
    """

    __slots__ = ("__weakref__", "name", "number")

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number

    def __repr__(self) -> str:
        return f"<unbound {self.name}#{self.number}>"

    @property
    def n_own(self) -> int:
        """How many operands are the rule's own. Raises: MissingRule."""
        self._missing("n_own")

    def function(self, request: Request) -> Function:
        """Raises: MissingRule."""
        self._missing(request.role)

    def fingerprint(self) -> bytes:
        """A fingerprint that is the same for the same mention."""
        return hashlib.blake2b(f"{self.name}#{self.number}".encode("utf-8", "surrogatepass"),
                               digest_size=16).digest()

    def _missing(self, role: str) -> NoReturn:
        mention = f"{self.name}#{self.number}"
        raise MissingRule(f"rule {mention} was read from text and has no {role}; bind it with "
                          f"parse(text, bindings={{{mention!r}: rule}})")


def parse(text: str | bytes, bindings: Mapping[str, Any] | None = None) -> Function:
    """The Function that `text` spells.

    Args:
      text: one function as `print_function` writes it; bytes are UTF-8.
      bindings: the Python objects that the text mentions as `py"name#n"`, by `name#n` or `name`. A
        mention without a binding becomes an `Unbound` rule.
    Returns: a Function whose ops have passed their type rules, without locations.
    Raises: ParseError, with line, column and the offending line, for any other text.
    """
    if isinstance(text, bytes | bytearray | memoryview):
        text = _decoded(bytes(text))
    parser = _Parser(text, bindings or {})
    try:
        return parser.module()
    except (RecursionError, MemoryError) as error:
        parser.fail(f"the text is too large to be read ({type(error).__name__})")


def parse_type(text: str) -> TensorType:
    """The type that `repr` of a type spells. Raises: ParseError for any other text."""
    return _alone(text, _Parser.type)


def parse_sharding(text: str) -> Sharding:
    """The sharding that `repr` of a sharding spells. Raises: ParseError for any other text."""
    return _alone(text, _Parser.sharding)


def parse_mesh(text: str) -> MeshAxes:
    """The axes that `repr` of the axes of a mesh spells. Raises: ParseError for any other text."""
    return _alone(text, _Parser.mesh)


def _alone(text: str, read: Callable[[_Parser], T]) -> T:
    parser = _Parser(text, {})
    found = read(parser)
    if parser.kind != "end":
        parser.expected("the end of the text")
    return found


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[:error.start]
        line_start = before.rfind(b"\n") + 1
        end = data.find(b"\n", error.start)
        line = data[line_start:end if end >= 0 else len(data)].decode("utf-8", "replace")
        column = len(data[line_start:error.start].decode("utf-8", "replace")) + 1
        raise ParseError(f"byte 0x{data[error.start]:02x} is not UTF-8", before.count(b"\n") + 1,
                         column, line) from None


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")       # lone surrogates become `?`


_Parsing = Generator[bool, Function, Any]
"""Parses a part; yields True where a function stands, and is sent that function."""


class _Parser:
    __slots__ = ("bindings", "kind", "labels", "pos", "python", "text", "token", "token_end")

    def __init__(self, text: str, bindings: Mapping[str, Any]) -> None:
        self.text, self.bindings = text, bindings
        self.labels: dict[str, Function] = {}
        self.python: dict[str, Any] = {}
        self.pos = self.token_end = 0
        self.kind = self.token = ""
        if len(text) > MAX_TEXT:
            self.fail(f"the text has {len(text)} characters, more than {MAX_TEXT}")
        self.advance()

    # --- tokens ---------------------------------------------------------------------------

    def advance(self) -> None:
        """Go to the next token; at the end its kind is `end`."""
        pos = self.pos = _SKIP.match(self.text, self.token_end).end()  # type: ignore[union-attr]
        found = _TOKEN.match(self.text, pos)
        if found is not None:
            self.kind, self.token, self.token_end = found.lastgroup, found.group(), found.end()
        elif pos == len(self.text):
            self.kind, self.token, self.token_end = "end", "", pos
        else:
            self.kind, self.token, self.token_end = "?", self.text[pos], pos
            hint = " (a string ends on its own line)" if self.token == '"' else ""
            self.fail(f"unexpected {self.token!r}{hint}")

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise the error at the current token, or at position `at`."""
        pos = self.pos if at is None else at
        start = self.text.rfind("\n", 0, pos) + 1
        end = self.text.find("\n", pos)
        source = self.text[start:end if end >= 0 else len(self.text)]
        raise ParseError(_printable(message), self.text.count("\n", 0, pos) + 1, pos - start + 1,
                         _printable(source))

    def expected(self, what: str) -> NoReturn:
        """Raise the error that says what should stand here."""
        shown = self.token if len(self.token) <= 40 else self.token[:37] + "..."
        self.fail(f"expected {what}, got {shown if self.kind != 'end' else 'the end of the text'}")

    def take(self, mark: str) -> None:
        """Read the token `mark`."""
        if self.token != mark:
            self.expected(f"'{mark}'")
        self.advance()

    def took(self, mark: str) -> bool:
        """Read the token `mark` if it is next."""
        if self.token == mark:
            self.advance()
            return True
        return False

    def items(self, end: str) -> Iterator[None]:
        """Yield before each item of a list, and read the commas and the mark `end`."""
        if not self.took(end):
            yield
            while not self.took(end):
                if not self.took(","):
                    self.expected(f"',' or '{end}'")
                yield

    def next(self, kind: str) -> str:
        """Read a token of a kind and give its text."""
        if self.kind != kind:
            self.expected(_KINDS[kind])
        token = self.token
        self.advance()
        return token

    def string_in(self, token: str) -> str:
        """The string whose JSON text is `token`, the token just before this one."""
        try:
            return json.loads(token)
        except ValueError:
            self.fail(f"bad escape in the string {token[:40]}", self.text.rfind(token, 0, self.pos))

    def name(self, token: str) -> str:
        """What `%name` or `@name` spells, quoted or plain."""
        return self.string_in(token[1:]) if token[1] == '"' else token[1:]

    # --- functions ------------------------------------------------------------------------

    def module(self) -> Function:
        """The one function of the text; a stack of parts takes the place of recursion."""
        stack: list[_Parsing] = [self.function()]
        given: Function | None = None
        while True:
            try:
                stack[-1].send(given)      # type: ignore[arg-type]
                if len(stack) > MAX_DEPTH:
                    self.fail(f"bodies nest more than {MAX_DEPTH} deep")
                stack.append(self.function())
                given = None
            except StopIteration as done:
                stack.pop()
                given = done.value
                if not stack:
                    break
        if self.kind != "end":
            self.expected("the end of the text")
        return given                       # type: ignore[return-value]

    def function(self) -> _Parsing:
        """`func @name#label(%a: type, ...) -> (type, ...) { ops return values }`."""
        self.take("func")
        name_at = self.pos
        symbol = self.next("symbol")
        name = self.name(symbol)
        label = f"{symbol}#{self.integer()}" if self.took("#") else None
        if label in self.labels:
            self.fail(f"{label} is defined twice", name_at)
        values: dict[str, Value] = {}
        params: list[Value] = []
        names: list[str] = []
        weak: list[bool] = []
        self.take("(")
        for _ in self.items(")"):
            at, token = self.pos, self.next("value")
            self.take(":")
            weak.append(self.took("weak"))
            params.append(self.define(values, token, self.type(), at))
            names.append("" if token[1:].isdecimal() else self.name(token))
        self.take("->")
        returns_at = self.pos
        types, weak_returns = self.returned_types()
        self.take("{")
        body: list[Op] = []
        while not self.took("return"):
            body.append((yield from self.op(values)))
        returns = [self.read(values) for _ in self.items("}")]
        if [v.type for v in returns] != types:
            given = ", ".join([str(v.type) for v in returns])
            self.fail(f"@{name} returns ({given})", returns_at)
        fn = Function(name, params, body, returns, param_names=names if any(names) else (),
                      weak_params=weak if any(weak) else (),
                      weak_returns=weak_returns if any(weak_returns) else ())
        if label is not None:
            self.labels[label] = fn
        return fn

    def returned_types(self) -> tuple[list[TensorType], list[bool]]:
        """`(type, weak type, ...)`."""
        types: list[TensorType] = []
        weak: list[bool] = []
        self.take("(")
        for _ in self.items(")"):
            weak.append(self.took("weak"))
            types.append(self.type())
        return types, weak

    def define(self, values: dict[str, Value], token: str, type: TensorType, at: int) -> Value:
        """A new value under the name `token`."""
        if token in values:
            self.fail(f"{token} is defined twice", at)
        made = values[token] = Value(type)
        return made

    def read(self, values: dict[str, Value]) -> Value:
        """The value whose name comes next."""
        found = values.get(self.token)
        if found is None:
            if self.kind != "value":
                self.expected("a value")
            self.fail(f"{self.token[:40]} is not defined before this")
        self.advance()
        return found

    # --- ops ------------------------------------------------------------------------------

    def op(self, values: dict[str, Value]) -> _Parsing:
        """`%0: type, ... = name(%a, ...) {attribute = value, ...}`."""
        start = self.pos
        declared: list[tuple[str, TensorType, int]] = []
        if self.kind == "value":
            while True:
                at, token = self.pos, self.next("value")
                self.take(":")
                declared.append((token, self.type(), at))
                if not self.took(","):
                    break
            self.take("=")
        name_at, name = self.pos, self.next("word")
        definition = REGISTRY.get(name)
        if definition is None:
            self.fail(f"there is no op called {name!r}", name_at)
        self.take("(")
        operands = [self.read(values) for _ in self.items(")")]
        attrs = yield from self.attrs(definition)
        found = self.inferred(definition, tuple([v.type for v in operands]), attrs, name_at)
        if len(found) != len(declared):
            self.fail(f"{name} has {len(found)} results, but got names for {len(declared)}", start)
        results: list[Value] = []
        for (token, type, at), wanted in zip(declared, found, strict=True):
            if type.plain is not wanted.plain:
                self.fail(f"{name} gives {wanted} here, not {type}", at)
            results.append(self.define(values, token, type, at))
        return Op(definition, tuple(operands), attrs, tuple(results))

    def inferred(self, definition: OpDef, types: tuple[TensorType, ...], attrs: dict[str, Any],
                 at: int) -> tuple[TensorType, ...]:
        """Result types, every refusal turned into this parser's error."""
        try:
            found = infer_anyway(definition, types, attrs)
        except IRError as error:
            self.fail(str(error), at)
        except Exception as error:
            self.fail(f"{definition.name}: the type rule cannot read this "
                      f"({type(error).__name__}: {error})", at)
        for t in found:
            if t.size > MAX_ELEMENTS:
                self.fail(f"the type {t} has more than {MAX_ELEMENTS} elements", at)
        return found

    def attrs(self, definition: OpDef) -> _Parsing:
        """`{name = value, ...}`, by the schema; optional ones that are left out are None."""
        schema = definition.attrs
        found: dict[str, Any] = {}
        if self.took("{"):
            for _ in self.items("}"):
                at, key = self.pos, self.next("word")
                kind = schema.get(key)
                if kind is None:
                    listed = ", ".join(schema) or "none"
                    self.fail(f"{definition.name} has no attribute {key!r} (it has: {listed})", at)
                if key in found:
                    self.fail(f"attribute {key!r} is given twice", at)
                self.take("=")
                value_at = self.pos
                read = _READERS.get(kind.text)
                if read is not None:
                    found[key] = read(self)
                elif self.token == "[":
                    found[key] = yield from self.functions()
                elif self.kind == "python":
                    found[key] = self.mention()
                else:
                    found[key] = yield from self.body()
                self.check(definition, key, kind, found[key], value_at)
        for key, kind in schema.items():
            if key not in found:
                if not kind.optional:
                    self.fail(f"{definition.name} needs the attribute {key!r} ({kind})")
                found[key] = None
        return found

    def check(self, definition: OpDef, key: str, kind: AttrKind, value: Any, at: int) -> None:
        """Refuse a value outside the schema."""
        if not kind.accepts(value):
            one_of = f" ({', '.join(kind.choices)})" if kind.choices else ""
            self.fail(f"{definition.name}: {key!r} must be {kind}{one_of}", at)

    def functions(self) -> _Parsing:
        """`[body, ...]`."""
        found: list[Function] = []
        self.take("[")
        for _ in self.items("]"):
            found.append((yield from self.body()))
        return tuple(found)

    def body(self) -> _Parsing:
        """`func ...`, or `@name#label` of a function that stands before it in the text."""
        if self.token == "func":
            return (yield True)
        at, symbol = self.pos, self.next("symbol")
        self.take("#")
        label = f"{symbol}#{self.integer()}"
        found = self.labels.get(label)
        if found is None:
            self.fail(f"{label[:40]} is not defined before this", at)
        return found

    # --- values of attributes -------------------------------------------------------------

    def integer(self) -> int:
        """An integer of at most 64 bits."""
        token = self.token
        digits = token.removeprefix("-")
        if self.kind != "number" or not digits.isdecimal():
            self.expected("an integer")
        if len(digits) > MAX_DIGITS or not -(1 << 63) <= (value := int(token)) < 1 << 64:
            self.fail("the integer has more than 64 bits")
        self.advance()
        return value

    def boolean(self) -> bool:
        """`true` or `false`."""
        if self.token not in ("true", "false"):
            self.expected("true or false")
        value = self.token == "true"
        self.advance()
        return value

    def float(self) -> float:
        """A float64: decimal, `inf`, `nan`, or its bits as `0x...`."""
        return float(self.float_element(BY_NAME["f64"]))

    def string(self) -> str:
        """A JSON string."""
        return self.string_in(self.next("string"))

    def word(self) -> str:
        """A word, plain or quoted."""
        return self.string() if self.kind == "string" else self.next("word")

    def listed(self, read: Callable[[_Parser], T]) -> tuple[T, ...]:
        """`[item, ...]`."""
        self.take("[")
        return tuple([read(self) for _ in self.items("]")])

    def tree(self, depth: int = 0) -> Any:
        """Nested tuples of integers and strings, in either kind of brackets."""
        if self.kind == "string":
            return self.string()
        if self.token not in ("(", "["):
            return self.integer()
        if depth == MAX_TREE:
            self.fail(f"brackets nest more than {MAX_TREE} deep")
        close = ")" if self.token == "(" else "]"
        self.advance()
        return tuple([self.tree(depth + 1) for _ in self.items(close)])

    # --- shardings ------------------------------------------------------------------------

    def construct(self, at: int, make: Callable[..., Any], *parts: Any) -> Any:
        """The result of `make()`, whose error becomes one of this parser."""
        try:
            return make(*parts)
        except IRError as error:
            self.fail(str(error), at)

    def mesh(self) -> MeshAxes:
        """`["x" = 4, "y" = 2 explicit] on "cpu" [0, ...]`; an abstract mesh has no devices."""
        at = self.pos
        axes = self.listed(_Parser.mesh_axis)
        place = (self.string(), self.listed(_Parser.integer)) if self.took("on") else ("", ())
        return self.construct(at, MeshAxes, *[[a[i] for a in axes] for i in range(3)], *place)

    def mesh_axis(self) -> tuple[str, int, str]:
        """`"x" = 4`, followed by the axis's type where that is not auto."""
        name = self.string()
        self.take("=")
        size = self.integer()
        return name, size, self.next("word") if self.kind == "word" else "auto"

    def axis_set(self) -> tuple[list[str], bool]:
        """`{"x", "y", open}`: axes, and whether `open` stands at their end."""
        names: list[str] = []
        is_open = False
        self.take("{")
        for _ in self.items("}"):
            if self.took("open"):
                is_open = True
            else:
                names.append(self.string())
        return names, is_open

    def spec(self) -> Spec:
        """`[{"x"}, {}, {open}]`, followed by `unreduced` and `reduced` axes if there are any."""
        at = self.pos
        dims = self.listed(_Parser.axis_set)
        sums = [self.axis_set()[0] if self.took(word) else [] for word in ("unreduced", "reduced")]
        return self.construct(at, Spec, [d for d, _ in dims],
                              [i for i, d in enumerate(dims) if d[1]], *sums)

    def sharding(self) -> Sharding:
        """A mesh, a spec and, where given, a kind of memory."""
        at = self.pos
        parts = self.mesh(), self.spec(), self.string() if self.kind == "string" else None
        return self.construct(at, Sharding, *parts)

    def dtype(self) -> DType:
        """The name of an element type."""
        found = find(self.token)
        if found is None:
            self.expected("an element type")
        self.advance()
        return found

    def type(self) -> TensorType:
        """`f32[2,3]`; `f32[2,3] over ["x" = 2 explicit] [{"x"}, {}]`."""
        at, dtype = self.pos, self.dtype()
        self.take("[")
        shape: list[int] = []
        size = 1
        for _ in self.items("]"):
            if self.token.startswith("-"):
                self.fail("a dimension cannot be negative")
            shape.append(self.integer())
            size *= shape[-1] or 1
            if size > MAX_ELEMENTS:
                self.fail(f"the type has more than {MAX_ELEMENTS} elements", at)
            if len(shape) > MAX_RANK:
                self.fail(f"the type has more than {MAX_RANK} dimensions", at)
        made = tensor(tuple(shape), dtype)
        if not self.took("over"):
            return made
        at = self.pos
        sharding = self.sharding()
        self.construct(at, sharding.spec.check, sharding.mesh, made.shape)
        return made.over(sharding)

    def mention(self) -> Any:
        """`py"name#n"`: the object bound to it, or an unbound rule, one for all equal mentions."""
        at = self.pos
        token = self.string_in(self.next("python")[2:])
        name, mark, number = token.rpartition("#")
        if not mark or not (number.isdecimal() and number.isascii() and len(number) <= MAX_DIGITS):
            self.fail('Python is mentioned as py"name#n"', at)
        found = self.python.get(token)
        if found is None:
            bound = self.bindings.get(token, self.bindings.get(name))
            found = self.python[token] = Unbound(name, int(number)) if bound is None else bound
        return found

    # --- literals -------------------------------------------------------------------------

    def literal(self) -> Literal:
        """`f32[] 2.0`, `f32[2] [1.0, 2.0]` or `f32[100] hex"..."`."""
        at, type = self.pos, self.type()
        dtype = type.dtype
        if dtype.is_key or dtype.is_ref:
            self.fail(f"a {dtype.kind} cannot be a literal", at)
        n_bytes = type.size * dtype.numpy.itemsize
        if n_bytes > MAX_LITERAL:
            self.fail(f"the literal has more than {MAX_LITERAL} bytes", at)
        if self.kind == "hex":
            return Literal(self.hexadecimal(n_bytes, dtype).reshape(type.shape))
        if not type.shape:
            return Literal(self.element(dtype))
        elements: list[bytes] = []              # bytes: an assignment would quiet a NaN
        self.take("[")
        for i in range(type.size):
            if i:
                self.take(",")
            elements.append(self.element(dtype).tobytes())
        self.take("]")
        return Literal(np.frombuffer(b"".join(elements), dtype.numpy).reshape(type.shape))

    def hexadecimal(self, n_bytes: int, dtype: DType) -> np.ndarray:
        """The elements whose bytes come next."""
        at, digits = self.pos, self.next("hex")[4:-1]
        if len(digits) != 2 * n_bytes:
            self.fail(f"expected {n_bytes} bytes, got {len(digits) / 2:g}", at)
        data = bytes.fromhex(digits)
        if dtype.bits < 8 or dtype.kind == "bool":        # only the low bits of a byte count
            limit = 1 << (1 if dtype.kind == "bool" else dtype.bits)
            plain = np.frombuffer(data, np.uint8)
            if plain.size and int(plain.max()) >= limit and dtype.kind != "int":
                self.fail(f"a byte is out of range for {dtype}", at)
            if dtype.kind == "int":
                return plain.view(np.int8).astype(dtype.numpy)
        return np.frombuffer(data, dtype.numpy)

    def element(self, dtype: DType) -> np.ndarray:
        """One element, as an array without dimensions."""
        if dtype.kind == "bool":
            return np.asarray(self.boolean())
        if dtype.is_complex:
            part = real_of(dtype)
            self.take("(")
            real = self.float_element(part).tobytes()
            self.take(",")
            imag = self.float_element(part).tobytes()
            self.take(")")
            return np.frombuffer(real + imag, dtype.numpy).reshape(())
        if dtype.is_float:
            return self.float_element(dtype)
        at, value = self.pos, self.integer()
        low, high = (0, 1 << dtype.bits) if dtype.is_unsigned else (
            -(1 << dtype.bits - 1), 1 << dtype.bits - 1)
        if not low <= value < high:
            self.fail(f"{value} is out of range for {dtype}", at)
        return np.asarray(value, dtype.numpy)

    def float_element(self, dtype: DType) -> np.ndarray:
        """One float, which must not overflow its type."""
        at, token = self.pos, self.token
        if self.kind == "word" and token in ("inf", "nan"):
            self.advance()
        else:
            self.next("number")
        if token.startswith("0x"):
            width = dtype.numpy.itemsize
            if len(token) != 2 + 2 * width:
                self.fail(f"the bits of {dtype} take {2 * width} hexadecimal digits", at)
            data = bytes.fromhex(token[2:])[::-1]
            if dtype.bits < 8 and data[0] >> dtype.bits:
                self.fail(f"{token} is out of range for {dtype}", at)
            return np.frombuffer(data, dtype.numpy).reshape(())
        value = float(token)
        if math.isinf(value) and token.lstrip("-") != "inf":
            self.fail(f"{token[:40]} is out of range for {dtype}", at)
        with np.errstate(all="ignore"):
            made = np.asarray(value).astype(dtype.numpy)
            exact = float(made)
        if exact != value and not (math.isfinite(exact) and math.isfinite(value)
                                   or math.isnan(exact) and math.isnan(value)):
            self.fail(f"{token[:40]} is out of range for {dtype}", at)
        return made


_READERS: dict[str, Callable[[_Parser], Any]] = {
    "int": _Parser.integer, "slot": _Parser.integer, "ints": lambda p: p.listed(_Parser.integer),
    "bool": _Parser.boolean, "bools": lambda p: p.listed(_Parser.boolean),
    "float": _Parser.float, "str": _Parser.string, "tree": _Parser.tree, "word": _Parser.word,
    "dtype": _Parser.dtype, "types": lambda p: p.listed(_Parser.type),
    "literal": _Parser.literal, "mesh": _Parser.mesh, "specs": lambda p: p.listed(_Parser.spec),
    "sharding": _Parser.sharding}
