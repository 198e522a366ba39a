"""A program as data: statements of Python source, with the type of each value that they name.

    def program(x0, x1):  # f64[3], f64[]
        v1 = jnp.sin(x0)  # f64[3]
        def f2(c, y):  # f64[], f64[3]
            v3 = c * 0.5 + jnp.sum(y)  # f64[]
            return v3, y
        v4, v5 = jax.lax.scan(f2, x1, v1)  # f64[], f64[3]
        return v4, v5

Its text is Python that runs after `import xfront as jax, xfront.numpy as jnp`, and with any other
library of the same API in that place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.typed import Typed

DTYPES = {"f64": np.float64, "f32": np.float32, "i32": np.int32, "bool": np.bool_,
          "c128": np.complex128}


@dataclass(frozen=True)
class Type(Typed):
    """A dtype, by its name in `DTYPES`, and a shape."""

    dtype: str
    shape: tuple[int, ...] = ()

    @property
    def real(self) -> bool:
        """Whether it is f32 or f64."""
        return self.dtype in ("f32", "f64")


@dataclass(frozen=True)
class Var:
    """A named value.

    `exact` says that no f32 went into it: a decision (a comparison, a rounding) that is taken of
    such a value does not depend on the order of sums. `moving` says that the derivative with
    respect to an input of the program or of a transformed function may reach it.
    """

    name: str
    type: Type
    exact: bool = True
    moving: bool = True


@dataclass(frozen=True)
class Assign:
    """`a, b = expression`; of a tuple of one, `a, = expression`."""

    targets: tuple[Var, ...]
    expression: str
    packed: bool = False

    def lines(self) -> Iterator[str]:
        """Its source."""
        names = ", ".join(v.name for v in self.targets)
        names += "," if self.packed and len(self.targets) == 1 else ""
        yield f"{names} = {self.expression}  # {', '.join(str(v.type) for v in self.targets)}"


@dataclass(frozen=True)
class Plain:
    """Any one line: a call for its effect, a carry taken apart."""

    line: str

    def lines(self) -> Iterator[str]:
        """Its source."""
        yield self.line


@dataclass(frozen=True)
class Define:
    """A function: its parameters as written and by type, statements, what it returns."""

    name: str
    names: str
    params: tuple[Var, ...]
    body: tuple[Any, ...]
    returns: str

    def lines(self) -> Iterator[str]:
        """Its source."""
        yield f"def {self.name}({self.names}):  # {', '.join(str(v.type) for v in self.params)}"
        for statement in self.body:
            for line in statement.lines():
                yield f"    {line}"
        yield f"    return {self.returns}"


@dataclass(frozen=True)
class Program:
    """A function of arrays, where the arrays come from, and how a batch of it is laid out.

    `active` marks the inputs to differentiate in; `in_axes` the axis of each under vmap. Lane `k`
    of the inputs comes from a generator of its own, seeded by `seed` and k.
    """

    main: Define
    active: tuple[bool, ...]
    in_axes: tuple[int | None, ...]
    seed: int
    count: int
    narrow: bool

    @property
    def source(self) -> str:
        """Its text, which defines `program`."""
        return "\n".join(self.main.lines()) + "\n"

    def __repr__(self) -> str:
        given = [f"    {v.name} = jnp.array({x.tolist()!r}, np.{x.dtype})"
                 if x.size else f"    {v.name} = jnp.zeros({x.shape}, np.{x.dtype})"
                 for v, x in zip(self.main.params, self.inputs(0), strict=True)]
        names = ", ".join(v.name for v in self.main.params)
        return "\n".join([
            f"\n# {self.count} ops; in_axes = {self.in_axes}; active = {self.active}",
            "import numpy as np", "import xfront as jax", "import xfront.numpy as jnp", "",
            self.source, "with jax.enable_x64(True):", *given, f"    print(program({names}))", ""])

    def function(self, jax: Any) -> Callable[..., Any]:
        """The function, over `jax` (xfront, or what has its API)."""
        names: dict[str, Any] = {"jax": jax, "jnp": jax.numpy}
        exec(compile(self.source, "<generated program>", "exec"), names)
        return names["program"]

    def inputs(self, lane: int) -> list[np.ndarray]:
        """The inputs of one lane; those that a batch shares are the same in every lane."""
        shared, own = (np.random.default_rng([self.seed, k]) for k in (0, 1 + lane))
        return [_drawn(own if axis is not None else shared, v.type)
                for v, axis in zip(self.main.params, self.in_axes, strict=True)]

    def batch(self, lanes: int) -> list[np.ndarray]:
        """The inputs of all lanes, stacked where `in_axes` says."""
        each = [self.inputs(k) for k in range(lanes)]
        return [each[0][i] if axis is None else np.stack([lane[i] for lane in each], axis)
                for i, axis in enumerate(self.in_axes)]


def _drawn(rng: np.random.Generator, t: Type) -> np.ndarray:
    if t.dtype == "bool":
        return rng.random(t.shape) < 0.5
    if t.dtype == "i32":
        return rng.integers(0, 7, t.shape).astype(np.int32)
    return np.asarray(rng.uniform(-1.5, 1.5, t.shape)).astype(DTYPES[t.dtype])
