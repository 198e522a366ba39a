"""Writes one program: a scope of typed values, and the choices of a hypothesis draw.

Every real value stays within [-2, 2], complex ones within a modulus of 3 and integers within
[0, 7): what an op gives is scaled so. No value overflows then, none comes near a pole, and the
error of rounding stays near that of the inputs, however long the program is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st

from .program import Assign, Define, Plain, Program, Type, Var

MAX_SIZE = 24
MAX_DEPTH = 3
F64, F32, I32, BOOL, C128 = "f64", "f32", "i32", "bool", "c128"
SHAPES = ((3,), (), (2,), (2, 3), (3, 2), (1,), (3, 3), (1, 3), (2, 1))
EMPTY = ((0,), (0, 2), (3, 0))

Test = Callable[[Var], bool]


class Writer:
    """What is the same throughout one program: the draw, fresh names, how many ops are left."""

    def __init__(self, draw: Callable[..., Any], count: int, narrow: bool) -> None:
        self.draw = draw
        self.left = count
        self.narrow = narrow
        self.used = 0

    def fresh(self, letter: str) -> str:
        """A name that no value has."""
        self.used += 1
        return f"{letter}{self.used}"

    def number(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return self.draw(st.integers(low, high)) if low < high else low

    def choice(self, options: Sequence[Any]) -> Any:
        """One of them."""
        return options[self.number(0, len(options) - 1)]

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.number(1, one_in) == one_in


class Scope:
    """The body of a function while it is written: what it sees, what it says.

    `sealed` bodies see of what is around them only what does not move: rules of derivatives do
    not close over what is differentiated. `depth` counts bodies, `order` the derivatives taken
    around this one.
    """

    def __init__(self, writer: Writer, params: Sequence[Var], outer: Scope | None = None,
                 sealed: bool = False, order: int = 0) -> None:
        self.writer = writer
        self.params = tuple(params)
        self.statements: list[Any] = []
        around = [] if outer is None else outer.seen
        self.seen = [v for v in around if not (sealed and v.moving)]
        self.seen += params
        self.inherited = len(self.seen) - len(self.params)
        self.depth = 0 if outer is None else outer.depth + 1
        self.axis = ""                       # the name of the axis of a vmap around this very body
        self.order = order + (0 if outer is None else outer.order)

    # --- reading --------------------------------------------------------------------------

    def pick(self, test: Test) -> Var | None:
        """A value that passes the test, mostly a recent one; None where there is none."""
        fitting = [v for v in self.seen if test(v)]
        if not fitting:
            return None
        return fitting[-1 - self.writer.number(0, min(len(fitting) - 1, 5))]

    def found(self, test: Test, otherwise: Var) -> Var:
        """As `pick`, with a value for the case that there is none."""
        found = self.pick(test)
        return otherwise if found is None else found

    def real(self) -> Var:
        """An f32 or f64."""
        return self.found(lambda v: v.type.real, self.constant())

    def wide(self) -> Var:
        """An f64."""
        return self.found(lambda v: v.type.dtype == F64, self.constant())

    def decisive(self) -> Var:
        """An f64 that decisions may be taken of."""
        return self.found(lambda v: v.type.dtype == F64 and v.exact, self.constant())

    def array(self, low: int = 1, high: int = 3) -> Var:
        """A real value of so many axes with at least one element; a new one where none is seen."""
        found = self.pick(lambda v: v.type.real and low <= v.type.ndim <= high and v.type.size > 0)
        return found or self.shaped((3,) if low <= 1 else (2, 3))

    def shaped(self, shape: tuple[int, ...]) -> Var:
        """An f64 of this shape, made of one that is seen."""
        found = self.pick(lambda v: v.type.dtype == F64 and v.type.shape == shape)
        if found is not None:
            return found
        v = self.wide()
        return self.emit(Type(F64, shape), self.fit(v, Type(F64, shape)), v)

    def integers(self, low: int = 0, high: int = 2) -> Var:
        """An i32 of so many axes with at least one element."""
        found = self.pick(lambda v: v.type.dtype == I32 and low <= v.type.ndim <= high
                          and v.type.size > 0)
        if found is not None:
            return found
        shape, text = ((3,), "jnp.arange(3, dtype=jnp.int32)") if low else ((), "jnp.int32(2)")
        return self.emit(Type(I32, shape), text, moving=False)

    def boolean(self) -> Var:
        """A bool."""
        found = self.pick(lambda v: v.type.dtype == BOOL and v.type.size > 0)
        if found is not None:
            return found
        v = self.decisive()
        return self.emit(Type(BOOL, v.type.shape), f"{v.name} > 0.137", v)

    def constant(self) -> Var:
        """A number that is written down, for bodies that see no other."""
        return Var("jnp.float64(0.731)", Type(F64), moving=False)

    # --- writing --------------------------------------------------------------------------

    def emit(self, t: Type, expression: str, *sources: Var, moving: bool | None = None) -> Var:
        """A new value; it moves where its type can and a source does."""
        return self.emit_all([t], expression, *sources, moving=moving)[0]

    def emit_all(self, types: Sequence[Type], expression: str, *sources: Var,
                 moving: bool | None = None, packed: bool = False) -> list[Var]:
        """New values of one expression that gives a tuple, be it of one (`packed`), or no tuple."""
        if moving is None:
            moving = any(v.moving for v in sources)
        exact = all(v.exact for v in sources)
        made = [Var(self.writer.fresh("v"), t, exact and t.dtype != F32,
                    moving and (t.real or t.dtype == C128)) for t in types]
        self.statements.append(Assign(tuple(made), expression, packed))
        self.seen += made
        self.writer.left -= 1
        return made

    def say(self, line: str) -> None:
        """A line that names no new value."""
        self.statements.append(Plain(line))

    def fit(self, v: Var, t: Type) -> str:
        """An expression of type `t` that depends on `v`, whatever v is."""
        text, shape = v.name, v.type.shape
        if v.type.dtype != t.dtype:
            text = _converted(text, v.type.dtype, t.dtype)
        if shape == t.shape:
            return text
        fits = len(shape) <= t.ndim and all(
            d in (1, e) for d, e in zip(reversed(shape), reversed(t.shape)))
        if not fits:
            text = _folded(text, t.dtype, max(1, v.type.size))
            if not t.shape:
                return text
        return f"jnp.broadcast_to({text}, {t.shape})"

    def result(self, t: Type) -> str:
        """An expression of type `t` that depends on what this body made last."""
        own = self.seen[self.inherited:]
        made = own[len(self.params):]
        kinds = {F32: (F64, F32, I32, BOOL), F64: (F64, F32, I32, BOOL), C128: (C128, F64),
                 I32: (I32, BOOL), BOOL: (BOOL, I32)}[t.dtype]
        for candidates in ([v for v in made if v.type == t],
                           [v for v in made if v.type.dtype in kinds],
                           [v for v in own if v.type.dtype in kinds]):
            if candidates:
                at = self.writer.number(0, min(len(candidates) - 1, 2))
                return self.fit(candidates[-1 - at], t)
        if t.dtype in (F64, F32, C128):
            return self.fit(self.wide(), Type(F64, t.shape)) if t.dtype == F64 else \
                _converted(self.fit(self.wide(), Type(F64, t.shape)), F64, t.dtype)
        return f"jnp.full({t.shape}, 1, {_NUMPY[t.dtype]})"

    def body(self, params: Sequence[Type], wants: Sequence[Type], ops: int, *,
             sealed: bool = False, order: int = 0, axis: str = "", opening: str | None = None,
             shown: str = "s", counter: bool = False,
             returns: Callable[[list[str]], str] | None = None) -> str:
        """Write a function of its own and give its name.

        Args:
          params: types of its parameters; with `opening`, of the names that this line takes out of
            parameters that are `shown` instead.
          axis: a name that collectives of the body may say.
          counter: whether it sees an integer `i`, the number of the turn.
          wants: types of what it returns; `returns` makes one expression of theirs.
          ops: how many statements at most.
        """
        from . import catalogue

        name = self.writer.fresh("f")
        exact = not self.writer.narrow
        own = [Var(self.writer.fresh("p"), t, exact, t.real or t.dtype == C128) for t in params]
        inner = Scope(self.writer, own, self, sealed, order)
        inner.axis = axis
        if counter:
            inner.seen.append(Var("i.astype(jnp.int32)", Type(I32), moving=False))
        if opening is not None:
            inner.say(opening.format(*[v.name for v in own]))
        for _ in range(ops):
            if self.writer.left <= 0:
                break
            catalogue.write_one(inner)
        results = [inner.result(t) for t in wants]
        text = (returns or _tuple)(results)
        names = shown if opening is not None else ", ".join(v.name for v in own)
        self.statements.append(Define(name, names, tuple(own), tuple(inner.statements), text))
        return name


_NUMPY = {F64: "jnp.float64", F32: "jnp.float32", I32: "jnp.int32", BOOL: "bool",
          C128: "jnp.complex128"}


def _tuple(texts: list[str]) -> str:
    return ", ".join(texts)


def _converted(text: str, old: str, new: str) -> str:
    if new in (F64, F32) and old in (F64, F32):
        return f"({text}).astype({_NUMPY[new]})"
    if new in (F64, F32):
        return f"({text}).astype({_NUMPY[new]}) * 0.25"
    if new == C128:
        return f"jax.lax.complex({text}, {text} * 0.5)"
    if new == BOOL:
        return f"({text} > 2)"
    return f"({text}).astype(jnp.int32)"


def _folded(text: str, dtype: str, size: int) -> str:
    if dtype == BOOL:
        return f"jnp.any({text})"
    if dtype == I32:
        return f"(jnp.sum({text}) % 7).astype(jnp.int32)"
    return f"(jnp.sum({text}) * {1 / size:.4})"


@st.composite
def programs(draw: Callable[..., Any], low: int = 5, high: int = 40) -> Program:
    """A program of `low` to `high` ops."""
    from . import catalogue

    count = draw(st.integers(low, high))
    narrow = draw(st.integers(0, 3)) == 3
    writer = Writer(draw, count, narrow)
    shapes = SHAPES + EMPTY if writer.chance(8) else SHAPES
    reals = [F64, F64, F32] if narrow else [F64]
    types = [Type(writer.choice(reals), writer.choice(shapes))
             for _ in range(writer.number(1, 3))]
    if not any(t.size and t.dtype == F64 for t in types):
        types.insert(0, Type(F64, (3,)))
    n_active = len(types)
    if writer.chance(2):
        types.append(Type(F64, writer.choice(SHAPES)))
    if writer.chance(2):
        types.append(Type(I32, writer.choice(((3,), (), (2,)))))
    if writer.chance(4):
        types.append(Type(BOOL, writer.choice(((3,), ()))))
    params = [Var(f"x{i}", t, t.dtype != F32, i < n_active) for i, t in enumerate(types)]
    scope = Scope(writer, params)
    while writer.left > 0:
        catalogue.write_one(scope)
    made = [v for v in scope.seen[len(params):] if v.type.dtype != C128]
    returned = [v for v in made if v.type.real][-3:]
    returned += [v for v in made if not v.type.real][-1:]
    if not any(v.type.real and v.type.size for v in returned):
        total = " + ".join(f"jnp.sum(jnp.tanh({v.name}))" for v in params[:n_active])
        returned.append(scope.emit(Type(F64), total, *params[:n_active]))
    names = ", ".join(v.name for v in params)
    main = Define("program", names, tuple(params), tuple(scope.statements),
                  "".join(f"{v.name}, " for v in returned).strip())
    axes = [writer.choice((0, 0, None, t.ndim)) if t.size else writer.choice((0, None))
            for t in types]
    if all(a is None for a in axes):
        axes[0] = 0
    return Program(main, tuple(i < n_active for i in range(len(types))), tuple(axes),
                   writer.number(0, 2**16), count - writer.left, narrow)
