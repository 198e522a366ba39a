"""A program whose numbers come from outside: captured values that may change from call to call.

    def program(x0):  # f64[3]
        v1 = jnp.sin(x0) * k0  # f64[3]
        return v1,

`k0` is what was written there, as a Python number, a NumPy one or an array without axes, in three
values: one after the other they are what a learning rate in a closure is.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .program import Program

FACTORS = (1.0, 0.75, 0.5)
"""What the numbers are multiplied by, one factor for each set of values: none leaves the range in
which the values of a program stay."""


@dataclasses.dataclass(frozen=True)
class Captured(Program):
    """A program over captured numbers: `numbers` as written, `chosen` which set of their values."""

    numbers: tuple[float | int, ...] = ()
    kinds: tuple[str, ...] = ()
    chosen: int = 0
    text: str = ""

    @property
    def source(self) -> str:
        """Its text, which defines `program` where `k0`, `k1`, ... are defined."""
        return self.text

    def __repr__(self) -> str:
        given = "".join(f"    # k{i} = {v!r}\n" for i, v in enumerate(self.values()))
        return super().__repr__() + given

    def values(self) -> list[Any]:
        """The captured numbers of the chosen set."""
        return [_made(kind, x, i, self.chosen)
                for i, (kind, x) in enumerate(zip(self.kinds, self.numbers, strict=True))]

    def function(self, jax: Any) -> Callable[..., Any]:
        """The function, over `jax` (xfront, or what has its API)."""
        names: dict[str, Any] = {"jax": jax, "jnp": jax.numpy}
        names |= {f"k{i}": jax.numpy.asarray(v) if kind == "array" else v
                  for i, (v, kind) in enumerate(zip(self.values(), self.kinds, strict=True))}
        exec(compile(self.text, "<generated program>", "exec"), names)
        return names["program"]


def captured(program: Program) -> list[Captured]:
    """The program over captured numbers, once for each set of their values."""
    found = _Numbers()
    text = ast.unparse(found.visit(ast.parse(program.source)))
    rng = np.random.default_rng(program.seed)
    kinds = [_kind(rng, x, program.narrow) for x in found.numbers]
    parts = {f.name: getattr(program, f.name) for f in dataclasses.fields(Program)}
    return [Captured(**parts, numbers=tuple(found.numbers), kinds=tuple(kinds), chosen=k, text=text)
            for k in range(len(FACTORS))]


class _Numbers(ast.NodeTransformer):
    """Puts names for floats, and for the integers that become arrays."""

    def __init__(self) -> None:
        self.numbers: list[float | int] = []

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self._named(node.value) if type(node.value) is float else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        of_int = isinstance(node.func, ast.Attribute) and node.func.attr == "int32"
        if of_int and isinstance(node.args[0], ast.Constant):
            node.args = [self._named(node.args[0].value)]  # type: ignore[arg-type]
            return node
        return self.generic_visit(node)

    def _named(self, value: Any) -> ast.AST:
        self.numbers.append(value)
        return ast.Name(f"k{len(self.numbers) - 1}", ast.Load())


def _kind(rng: np.random.Generator, x: float | int, narrow: bool) -> str:
    """What a number is captured as: an f64 would make an f32 that it meets an f64."""
    if type(x) is int or narrow:
        return "number"
    return ("number", "number", "numpy", "without axes", "array")[rng.integers(5)]


def _made(kind: str, x: float | int, i: int, chosen: int) -> Any:
    if type(x) is int:
        return max(x - chosen, 0)
    value = x * FACTORS[chosen] * (1 - 1e-5 * (i + 1))   # equal ones would be one literal, and so
                                                         # would 0.5 and a 0.5 of the library
    return {"number": value, "numpy": np.float64(value)}.get(kind, np.array(value))


def changed(a: Sequence[Any], b: Sequence[Any]) -> list[int]:
    """The places where two lists differ."""
    return [i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
