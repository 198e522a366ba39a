"""IR to text: total and stable, the inverse of `parser.parse`; the grammar is in docs/ir.md.

    func @dense(%W: f32[4,2], %x: f32[4]) -> (f32[2]) {
      %0: f32[2] = dot_general(%x, %W) {contract = ([0], [0]), batch = ([], [])}
      return %0
    }

Text depends on the Function alone: values are numbered in order, and Python held by attributes is
numbered in the order of its first mention. A body that occurs more than once is written out the
first time, with a label (`@f#1`), and mentioned by that label afterwards.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from .core import Function, Op, Value
from .definition import AttrKind
from .dtypes import DType, real_of
from .literal import Literal
from .opdef import Pending

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
MAX_LISTED = 64
"""Literals with more elements than this print as the hexadecimal digits of their bytes."""


def print_function(fn: Function, *, locations: bool = False) -> str:
    """The text of `fn`, bodies included, without a newline at its end.

    Args:
      fn: any Function; one that breaks the IR's invariants prints as well as it can.
      locations: whether each op ends in a comment that says where it comes from.
    """
    printer = _Printer(locations, _shared(fn))
    stack = [printer.function(fn, 0)]
    while stack:                                    # one frame, however deep the bodies
        body = next(stack[-1], None)
        if body is None:
            stack.pop()
        else:
            stack.append(printer.function(*body))
    return "".join(printer.out)


def print_op(op: Op, names: dict[Value, str]) -> str:
    """One line for an op, with its bodies left out; for messages."""
    results = ", ".join(f"{names.get(v, '%?')}: {v.type!r}" for v in op.results)
    operands = ", ".join(names.get(v, "%?") for v in op.operands)
    return f"{results}{' = ' if results else ''}{op.definition.name}({operands})"


def value_names(fn: Function) -> dict[Value, str]:
    """The names in the text of the parameters and results of `fn` (not those of its bodies)."""
    names: dict[Value, str] = {}
    given = fn.param_names if len(fn.param_names) == len(fn.params) else ("",) * len(fn.params)
    taken = set(given)
    seen: set[str] = set()
    count = 0
    for value, name in zip(fn.params, given, strict=True):
        if type(name) is not str or not name:
            names[value] = f"%{count}"
            count += 1
            continue
        if name in seen:
            name = next(n for i in range(1, len(given) + 1) if (n := f"{name}_{i}") not in taken)
            taken.add(name)
        seen.add(name)
        names[value] = "%" + (name if PLAIN_NAME.match(name) else json.dumps(name))
    for op in fn.ops:
        for value in op.results:
            names[value] = f"%{count}"
            count += 1
    return names


def print_attr(kind: AttrKind | None, value: Any) -> str | None:
    """The text of an attribute that holds neither Functions nor Python; None where it does."""
    write = _WRITERS.get(kind.text) if kind is not None else None
    if write is None or not kind.accepts(value):      # type: ignore[union-attr]
        return None
    return write(value)


def print_literal(value: Literal) -> str:
    """`f32[2] [1.0, -0.0]`: type and elements; exact to the last bit."""
    array, dtype = value.array, value.dtype
    if array.size > MAX_LISTED:
        return f'{value.type} hex"{array.tobytes().hex()}"'
    flat = array.reshape(-1)                    # slices of it: NumPy scalars would quiet a NaN
    elements = ", ".join([_element(flat[i:i + 1], dtype) for i in range(flat.size)])
    return f"{value.type} [{elements}]" if array.ndim else f"{value.type} {elements}"


def print_float(value: float) -> str:
    """A float64 by its shortest text; a NaN with a payload by its bits."""
    if math.isnan(value):
        bits = struct.pack(">d", value).hex()
        return "nan" if bits == "7ff8000000000000" else f"0x{bits}"
    return repr(float(value))


# --- the walk -----------------------------------------------------------------------------

_Walk = Generator[tuple[Function, int], None, None]
"""Writes a part of the text; yields the bodies, with their indentation, to be written in it."""


class _Printer:
    __slots__ = ("locations", "out", "python", "shared", "written")

    def __init__(self, locations: bool, shared: dict[Function, int]) -> None:
        self.locations, self.shared = locations, shared
        self.out: list[str] = []
        self.python: dict[int, tuple[Any, int]] = {}     # id to (object, number); keeps it alive
        self.written: set[Function] = set()

    def function(self, fn: Function, depth: int) -> _Walk:
        """Writes `fn`, whose first line has been indented; yields bodies to be written now."""
        write = self.out.append
        names = value_names(fn)
        pad = "  " * depth
        self.written.add(fn)
        params = ", ".join([f"{names[v]}: {t}" for v, t in
                            zip(fn.params, _signature(fn.params, fn.weak_params), strict=True)])
        returns = ", ".join(_signature(fn.returns, fn.weak_returns))
        write(f"func {self.symbol(fn)}({params}) -> ({returns}) {{\n")
        for op in fn.ops:
            write(f"{pad}  ")
            if op.results:
                write(", ".join([f"{_name(names, v)}: {v.type!r}" for v in op.results]))
                write(" = ")
            write(f"{op.definition.name}({', '.join([_name(names, v) for v in op.operands])})")
            if op.attrs:
                yield from self.attrs(op, depth + 1)
            if self.locations and op.loc is not None:
                write(f"   // {' '.join(str(op.loc).split())}")
            write("\n")
        returned = ", ".join([_name(names, v) for v in fn.returns])
        write(f"{pad}  return{' ' if returned else ''}{returned}\n{pad}}}")

    def attrs(self, op: Op, depth: int) -> _Walk:
        """Writes ` {a = 1, body = func ...}` in the order of the schema."""
        write, schema, held = self.out.append, op.definition.attrs, op.attrs
        separator = " {"
        for key in [*schema, *[k for k in held if k not in schema]]:
            value = held.get(key)
            kind = schema.get(key)
            if value is None and (key not in held or (kind is not None and kind.optional)):
                continue
            write(f"{separator}{key} = ")
            separator = ", "
            bodies = _bodies(value)
            if bodies is None:
                text = print_attr(kind, value)
                write(text if text is not None else self.mention(value))
            elif isinstance(value, tuple):
                write("[")
                for i, body in enumerate(bodies):
                    write(f"{',' if i else ''}\n{'  ' * (depth + 1)}")
                    yield from self.body(body, depth + 1)
                write(f"\n{'  ' * depth}]" if bodies else "]")
            else:
                yield from self.body(bodies[0], depth)
        if separator != " {":
            write("}")

    def body(self, fn: Function, depth: int) -> _Walk:
        """Yields `fn` to be written at this place, or writes its label if it stands earlier."""
        if fn in self.written:
            self.out.append(self.symbol(fn))
        else:
            yield fn, depth

    def symbol(self, fn: Function) -> str:
        """`@name`, with a label where the Function occurs more than once."""
        name = fn.name if PLAIN_NAME.match(fn.name) else json.dumps(fn.name)
        label = self.shared.get(fn)
        return f"@{name}" if label is None else f"@{name}#{label}"

    def mention(self, held: Any) -> str:
        """`py"qualname#n"`, with one number for each object."""
        entry = self.python.setdefault(id(held), (held, len(self.python)))
        return f"py{json.dumps(f'{python_name(held)}#{entry[1]}')}"


def python_name(held: Any) -> str:
    """The name in the text of a Python object that an attribute holds."""
    for attribute in ("name", "__qualname__"):
        name = getattr(held, attribute, None)
        if type(name) is str:
            return name
    return type(held).__qualname__


def _bodies(value: Any) -> Sequence[Function] | None:
    """The Functions that an attribute holds, with pending transformations carried out; None for an
    attribute that holds something else."""
    if isinstance(value, Function):
        return (value,)
    if isinstance(value, Pending):
        try:
            return (value.force(),)
        except Exception:        # printing is total: a transformation that fails prints by name
            return None
    held: list[Any] = [*value] if type(value) is tuple else []
    return held if held and all(isinstance(f, Function) for f in held) else None


def _shared(fn: Function) -> dict[Function, int]:
    """Labels of the Functions that stand in the text more than once, in the order of first meeting.
    """
    met: dict[Function, int] = {fn: 0}
    repeated: set[Function] = set()
    stack = [fn]
    while stack:
        for op in stack.pop().ops:
            for value in op.attrs.values() if op.definition.has_bodies else ():
                for body in _bodies(value) or ():
                    if body in met:
                        repeated.add(body)
                    else:
                        met[body] = len(met)
                        stack.append(body)
    ordered = sorted(repeated, key=met.__getitem__)
    return {body: i for i, body in enumerate(ordered, 1)}


def _name(names: dict[Value, str], value: Value) -> str:
    found = names.get(value)
    if found is None:                    # a value that nothing defines: printed, never parsed
        found = names[value] = f"%?{len(names)}"
    return found


def _signature(values: Sequence[Value], weak: Sequence[bool]) -> list[str]:
    if len(weak) != len(values):
        return [repr(v.type) for v in values]
    return [f"weak {v.type!r}" if w else repr(v.type) for v, w in zip(values, weak, strict=True)]


# --- attributes ---------------------------------------------------------------------------

def _tree(value: Any) -> str:
    """Nested tuples: those that hold tuples in round brackets, the others in square ones."""
    if type(value) is tuple:
        parts: list[Any] = [*value]
        inner = ", ".join(map(_tree, parts))
        return f"({inner})" if any(type(v) is tuple for v in parts) else f"[{inner}]"
    return json.dumps(value) if type(value) is str else str(value)


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _list(write: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda values: f"[{', '.join(map(write, values))}]"


_WRITERS: dict[str, Callable[[Any], str]] = {
    "int": str, "slot": lambda x: str(int(x)), "ints": _list(str), "bool": _bool,
    "bools": _list(_bool), "float": print_float,
    "str": json.dumps, "tree": _tree, "dtype": str, "types": _list(repr),
    "word": lambda w: w if WORD.match(w) else json.dumps(w), "literal": print_literal,
    "mesh": str, "specs": _list(str), "sharding": str, "functions": lambda fs: "[]"}


def _element(x: np.ndarray, dtype: DType) -> str:
    """The text of an array's only element."""
    if dtype.is_complex:
        part = real_of(dtype)
        real, imag = np.split(x.view(part.numpy), 2)
        return f"({_float_element(real, part)}, {_float_element(imag, part)})"
    if dtype.is_float:
        return _float_element(x, dtype)
    return _bool(x[0]) if dtype.kind == "bool" else str(int(x[0]))


def _float_element(x: np.ndarray, dtype: DType) -> str:
    value = float(x[0])
    if not math.isfinite(value):
        plain = np.asarray(math.nan if math.isnan(value) else value).astype(dtype.numpy)
        if plain.tobytes() == x.tobytes():
            return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return f"0x{x.tobytes()[::-1].hex()}"
    short = str(x[0])                   # the shortest text of the narrow type, where that is exact
    if "." not in short and "e" not in short:
        return repr(value)
    return short if np.asarray(float(short)).astype(dtype.numpy) == x[0] else repr(value)
