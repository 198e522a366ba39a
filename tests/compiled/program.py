"""A program as data, and the writer that its operations use.

    def program(x0, x1):
        v2 = lax.pad(x0, jnp.array(0, jnp.float32), ((-1, 2, 0),))  # f32[4098]
        v3 = lax.reduce_max(v2, (0,))  # f32[]
        return v3,

What is known of the numbers of each value says which operations give results that are certain.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.typed import Typed

from .data import COMPLEX, DIGITS, DTYPES, FLOATS, INTEGERS, ORDERED, SPECIAL, draw

SIZES = (1, 2, 3, 7, 16, 60, 120, 257, 1000, 2047, 2048, 2049, 4095, 4096, 4096, 4097, 5000, 6144,
         8192, 9000)
LARGE = (16_385, 65_537)
FACTORS = (1, 1, 2, 2, 3, 4, 5, 7, 8, 8, 16, 17, 32, 64)
LARGEST = 70_000
"""Elements of a value; what is broadcast to be summed has up to MOST."""
MOST = 1 << 22

Shape = tuple[int, ...]
Test = Callable[["Value"], bool]


@dataclass(frozen=True)
class Value(Typed):
    """A named value and what is known of its numbers.

    Attributes:
      top: the greatest finite absolute value, `total` a bound of the sum of all of them.
      special: NaN or infinities may be among them.
      whole: finite numbers are whole, so that sums and products below 2**digits are exact.
      rough: it was rounded, so that results are compared by a bound of the error and no decision
        is taken of it.
      moved: it holds elements of inputs as they were, so that signs of zeros are certain.

    Of bools and integers everything is exact.
    """

    name: str
    dtype: str
    shape: Shape
    top: float = 0.0
    total: float = 0.0
    special: bool = False
    whole: bool = True
    rough: bool = False
    moved: bool = False

    @property
    def floating(self) -> bool:
        """Whether it is a real floating-point number."""
        return self.dtype in FLOATS

    @property
    def inexact(self) -> bool:
        """Whether it is real or complex floating point."""
        return self.dtype in FLOATS or self.dtype in COMPLEX

    @property
    def certain(self) -> bool:
        """Whether decisions may be taken of it."""
        return not self.rough

    @property
    def computes(self) -> bool:
        """Whether sums and products are taken of it."""
        return self.dtype != "bool" and (not self.inexact or self.whole or self.rough)


@dataclass(frozen=True)
class Input:
    """An array that a program is given, or that it holds as a constant."""

    value: Value
    kind: str
    seed: int
    parts: tuple[tuple[str, ...], ...] = ()

    def array(self) -> np.ndarray:
        """Its numbers."""
        return draw(self.value.dtype, self.value.shape, self.kind, self.seed)

    @property
    def text(self) -> str:
        """The expression that draws it."""
        v = self.value
        return f"draw({v.dtype!r}, {v.shape}, {self.kind!r}, {self.seed})"


@dataclass(frozen=True)
class Statement:
    """Lines of Python, and the values that they name."""

    lines: tuple[str, ...]
    values: tuple[Value, ...]


@dataclass
class Program:
    """A function of arrays.

    Attributes:
      wide: whether 64-bit types are on.
      mesh: sizes of the axes `x`, `y` of a mesh of devices, over which inputs are divided; empty
        on one device.
    """

    seed: int
    wide: bool
    mesh: tuple[int, ...] = ()
    inputs: list[Input] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    returned: tuple[Value, ...] = ()

    @property
    def source(self) -> str:
        """Its text, which defines `program` after the lines of `PRELUDE`."""
        lines = [f"def program({', '.join(i.value.name for i in self.inputs)}):"]
        for statement in self.statements:
            types = ", ".join(map(str, statement.values))
            *before, last = statement.lines
            lines += [f"    {line}" for line in before] + [f"    {last}  # {types}"]
        names = ", ".join(v.name for v in self.returned)
        return "\n".join([*lines, f"    return {names},", ""])

    def placed(self, i: Input) -> str:
        """The expression that draws an input and divides it."""
        if not self.mesh:
            return i.text
        spec = ", ".join(repr(axes[0]) if axes else "None" for axes in i.parts)
        return f"jax.device_put({i.text}, NamedSharding(mesh, P({spec})))"

    def __str__(self) -> str:
        """Its text as a script, which prints what the compiled program and the evaluator give."""
        mesh = [f"mesh = mesh_of({self.mesh})"]
        given = [f"    {i.value.name} = {self.placed(i)}" for i in self.inputs]
        names = ", ".join(i.value.name for i in self.inputs)
        return "\n".join([
            f"# seed {self.seed}" + (", on 8 devices" if self.mesh else ""), PRELUDE,
            *(mesh if self.mesh else []), self.source,
            f"with jax.enable_x64({self.wide}):", *given,
            f"    print(jax.jit(program)({names}))",
            f"    made = jax.make_ir(program)({names})",
            f"    print(evaluate(made.ir, {names}, *made.consts))", ""])

    def function(self) -> Callable[..., Any]:
        """The function, over xfront."""
        names: dict[str, Any] = {}
        exec(PRELUDE, names)
        if self.mesh:
            names["mesh"] = mesh_of(self.mesh)
        exec(compile(self.source, "<generated program>", "exec"), names)
        return names["program"]

    def placed_inputs(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        """The inputs, divided over the mesh."""
        if not self.mesh:
            return [*arrays]
        import xfront as jax
        from xfront.sharding import NamedSharding, PartitionSpec

        mesh = mesh_of(self.mesh)
        return [jax.device_put(x, NamedSharding(mesh, PartitionSpec(
            *[axes[0] if axes else None for axes in i.parts])))
            for x, i in zip(arrays, self.inputs, strict=True)]

    def up_to(self, statement: int) -> Program:
        """The program that returns what one of its statements names, with what that needs."""
        needed = {v.name for v in self.statements[statement].values}
        kept: list[Statement] = []
        for s in reversed(self.statements[:statement + 1]):
            if any(v.name in needed for v in s.values):
                kept.insert(0, s)
                needed |= set(names_in("\n".join(s.lines)))
        return replace(self, statements=kept, returned=self.statements[statement].values,
                       inputs=[i for i in self.inputs if i.value.name in needed])


PRELUDE = """import numpy as np
import xfront as jax
import xfront.numpy as jnp
from tests.compiled.data import draw
from tests.compiled.program import mesh_of
from xfront import lax
from xfront.sharding import NamedSharding, PartitionSpec as P
from xfront_ir.reference import evaluate
"""


def mesh_of(sizes: tuple[int, ...]) -> Any:
    """A mesh of the first devices, whose axes `x`, `y`, `z` the compiler divides values over."""
    from xfront import devices
    from xfront.sharding import AxisType, Mesh

    chosen = np.array(devices()[:math.prod(sizes)]).reshape(sizes)
    return Mesh(chosen, tuple("xyz"[:len(sizes)]), axis_types=(AxisType.Auto,) * len(sizes))


def names_in(text: str) -> list[str]:
    """The words of lines of Python."""
    for mark in "()[]{},=:+-*&|^<>@. \n":
        text = text.replace(mark, " ")
    return text.split()


class Refused(Exception):
    """An operation that does not fit the values that there are: another one is written."""


class Writer:
    """The program being written, and the choices."""

    def __init__(self, seed: int, mesh: tuple[int, ...] = (), rough: bool = False) -> None:
        self.draw = random.Random(seed)
        self.rough = rough
        self.program = Program(seed, wide=self.draw.random() < 0.5, mesh=mesh)
        self.seen: list[Value] = []
        self.count = 0
        self.left = LARGEST
        self.special = not rough and self.chance(2)

    # --- choices ------------------------------------------------------------------------

    def chance(self, n: int) -> bool:
        """True once in n."""
        return self.draw.randrange(n) == 0

    def choice(self, options: Sequence[Any]) -> Any:
        """One of them."""
        return self.draw.choice(options)

    def number(self, low: int, high: int) -> int:
        """One of low to high."""
        return self.draw.randint(low, high)

    def dtypes(self, names: Sequence[str]) -> list[str]:
        """Those that exist without 64-bit types where these are off."""
        return [n for n in names if self.program.wide or n not in ("i64", "u64", "f64", "c128")]

    def shape(self, size: int | None = None) -> Shape:
        """A shape of about `size` elements."""
        if size is None:
            return self.shape(self.choice(LARGE) if self.chance(12) else self.choice(SIZES))
        rank = self.choice((1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 8))
        if rank > 5 and size > 1000 and self.chance(2):
            return self.deep(rank)
        dims: list[int] = []
        for _ in range(rank - 1):
            d = self.choice(FACTORS)
            dims.append(d if math.prod(dims) * d <= size else 1)
        rest: int = max(1, size // math.prod(dims))
        dims.insert(self.number(0, len(dims)), rest)
        return tuple(dims)

    def deep(self, rank: int) -> Shape:
        """A shape of many axes of which most are short, of 4,000 to 20,000 elements."""
        dims = [self.choice((1, 2, 2, 3, 8, 8)) for _ in range(rank)]
        return tuple(dims) if 4_000 <= math.prod(dims) <= 20_000 else self.deep(rank)

    def need(self, holds: bool) -> None:
        """Give the operation up unless it `holds`."""
        if not holds:
            raise Refused

    # --- values -------------------------------------------------------------------------

    def fresh(self, letter: str) -> str:
        """A new name."""
        self.count += 1
        return f"{letter}{self.count}"

    def pick(self, test: Test = lambda v: True) -> Value:
        """A value that passes the test, mostly the last one."""
        fitting = [v for v in self.seen if test(v)]
        self.need(bool(fitting))
        back = 0 if not self.chance(3) else self.number(0, len(fitting) - 1)
        return fitting[-1 - back]

    def kind(self, dtype: str, size: int) -> str:
        """What an input of this dtype is drawn as."""
        if dtype == "bool":
            return "small"
        if dtype in INTEGERS:
            return self.choice(("small", "full", "full", "extreme"))
        if self.rough:
            return "normal"
        if dtype in COMPLEX:
            return "sparse"
        if self.special:
            return self.choice((*SPECIAL, "nan", "mixed", self.choice(ORDERED)))
        return "sparse" if size > 40 or dtype == "bf16" else self.choice(("small", "sparse"))

    def input(self, dtype: str, shape: Shape, kind: str | None = None,
              constant: bool | None = None) -> Value:
        """A new array: a parameter, or once in six a constant."""
        kind = kind or self.kind(dtype, math.prod(shape))
        name = self.fresh("x")
        seed = self.number(0, 2**16)
        if constant is None:
            constant = self.chance(6)
        value = known(Value(name, dtype, shape), draw(dtype, shape, kind, seed),
                      rough=self.rough and (dtype in FLOATS or dtype in COMPLEX))
        made = Input(value, kind, seed)
        if constant and kind != "subnormal":
            self.program.statements.append(
                Statement((f"{name} = jnp.asarray({made.text})",), (value,)))
        else:
            self.program.inputs.append(replace(made, parts=self._parts(shape)))
        return value

    def _parts(self, shape: Shape) -> tuple[tuple[str, ...], ...]:
        """Over which axes of the mesh the dimensions of an input are divided."""
        mesh = self.program.mesh
        if not mesh:
            return ()
        parts: list[tuple[str, ...]] = [() for _ in shape]
        for name, size in zip("xyz", mesh, strict=False):
            at = [d for d, n in enumerate(shape) if n % size == 0 and not parts[d]]
            if at and not self.chance(4):
                parts[self.choice(at)] = (name,)
        return tuple(parts)

    def other(self, like: Value, test: Test = lambda v: True) -> Value:
        """A value of the same type, a new one if there is none or sometimes."""
        fitting = [v for v in self.seen
                   if v.dtype == like.dtype and v.shape == like.shape and test(v)]
        if fitting and not self.chance(3):
            return self.choice(fitting)
        made = self.input(like.dtype, like.shape)
        self.seen.insert(0, made)
        self.need(test(made))
        return made

    def scalar(self, dtype: str, value: Any) -> str:
        """An expression of a scalar that is written down, of exactly this dtype."""
        kind = DTYPES[dtype]
        of = f"jnp.{kind.name}" if dtype != "bool" else "jnp.bool_"
        text = f"float('{value}')" if isinstance(value, float) and not math.isfinite(value) \
            else repr(value)
        return f"jnp.array({text}, {of})"

    def emit(self, text: str, dtype: str, shape: Shape, *sources: Value, **facts: Any) -> Value:
        """A new value of one expression, of which is known what `facts` say or its sources are."""
        name = self.fresh("v")
        return self.say((f"{name} = {text}",), (self.value(name, dtype, shape, *sources, **facts),)
                        )[0]

    def value(self, name: str, dtype: str, shape: Shape, *sources: Value, **facts: Any) -> Value:
        """A value with what is known of its sources.

        Raises: Refused where it is too large, or its numbers too large to be exact.
        """
        made = Value(name, dtype, shape, top=max((s.top for s in sources), default=0.0),
                     total=max((s.total for s in sources), default=0.0),
                     special=any(s.special for s in sources),
                     whole=all(s.whole for s in sources), rough=any(s.rough for s in sources),
                     moved=all(s.moved for s in sources))
        made = replace(made, **facts)
        if self.program.mesh:                    # devices add what each has to the others' zeros
            made = replace(made, moved=False)
        if dtype == "bool" or dtype in INTEGERS:
            made = replace(made, special=False, whole=True, rough=False)
        if made.size <= 4096:
            made = replace(made, total=min(made.total, made.top * made.size))
        self.need(made.size <= self.left)
        return made

    def say(self, lines: Sequence[str], values: Sequence[Value]) -> Sequence[Value]:
        """Lines that name new values."""
        self.program.statements.append(Statement(tuple(lines), tuple(values)))
        self.seen += values
        return values

    def exact(self, dtype: str, bound: float, *sources: Value) -> None:
        """Give up unless numbers up to `bound` are exact, where the sources are."""
        if dtype in DIGITS and not any(s.rough for s in sources):
            self.need(all(s.whole for s in sources) and bound <= 2 ** DIGITS[dtype])
        elif dtype in ("f16",):
            self.need(bound < 1000)


def known(value: Value, x: np.ndarray, rough: bool = False) -> Value:
    """The value with what is true of these numbers."""
    if value.dtype == "bool":
        return replace(value, top=1.0, total=float(value.size), moved=True)
    if value.dtype in INTEGERS:
        top = float(max(abs(int(x.max())), abs(int(x.min())))) if x.size else 0.0
        return replace(value, top=top, total=float(np.abs(x.astype(float)).sum()), moved=True)
    wide = np.abs(x.astype(np.complex128 if value.dtype in COMPLEX else np.float64))
    finite = wide[np.isfinite(wide)]
    with np.errstate(over="ignore"):
        both = finite.sum() if value.dtype not in COMPLEX else 2 * finite.sum()
    top = float(finite.max(initial=0.0)) * (2 if value.dtype in COMPLEX else 1)
    whole = value.dtype in COMPLEX or bool(np.all(finite == np.rint(finite)))
    whole = whole and top <= 2 ** DIGITS[value.dtype] and not rough
    return replace(value, top=top, total=float(both), special=finite.size < wide.size,
                   whole=whole, rough=rough, moved=True)

