"""What must hold for every generated program.

Every law is checked on IR that the NumPy evaluator runs: that costs no compiling. The same
transformed programs are then compiled and run, those of each program that its seed says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from tests.op_table.checks import check_text
from xfront_ir.core import Function
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.reference import evaluate
from xfront_ir.verifier import verify

from .program import DTYPES, Program

LANES = 3
STEP = 1e-4
SMOOTH = 1e-5
"""Where slopes to the left and to the right of a point differ by more, the program has a kink there
or too near. One-sided slopes are of second order in the step: their error is far smaller."""

Arrays = list[np.ndarray]


class Examined:
    """One program under check: its function, its derivatives as functions, its arrays."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.f = program.function(jax)
        self.args = program.inputs(0)
        self.places = [i for i, a in enumerate(program.active) if a]
        self.primals = [self.args[i] for i in self.places]
        rng = np.random.default_rng(program.seed)
        self.tangents = [_direction(rng, x) for x in self.primals]
        self.others = [_direction(rng, x) for x in self.primals]
        self.ir = Traced(self.f, *self.args)
        self.values = self.ir(*self.args)
        self.weights = [_direction(rng, x) for x in self.values if x.dtype.kind == "f"]
        self.tolerance = 2e-3 if program.narrow else 1e-8

    def real(self, *primals: Any) -> list[Any]:
        """The real results, as a function of the active inputs."""
        args = list(map(jnp.asarray, self.args))
        for i, x in zip(self.places, primals, strict=True):
            args[i] = x
        return [y for y in self.f(*args) if y.dtype.kind == "f"]

    def loss(self, *primals: Any) -> Any:
        """The real results, weighted and summed."""
        return sum(jnp.sum(w * y) for w, y in zip(self.weights, self.real(*primals), strict=True))

    def pushed(self, *given: Any) -> Any:
        """Values and tangents, of primals followed by tangents."""
        n = len(self.places)
        return jax.jvp(self.real, tuple(given[:n]), tuple(given[n:]))

    def pulled(self, *primals: Any) -> Any:
        """The value and gradient of the loss."""
        return jax.value_and_grad(self.loss, tuple(range(len(primals))))(*primals)

    def linearized(self, *given: Any) -> Any:
        """As `pushed`, the tangents by the linear function."""
        n = len(self.places)
        values, linear = jax.linearize(self.real, *given[:n])
        return values, linear(*given[n:])

    def forward_over_reverse(self, *given: Any) -> Any:
        """The derivative of the gradient along the tangents."""
        n = len(self.places)
        gradient = jax.grad(self.loss, tuple(range(n)))
        return jax.jvp(gradient, tuple(given[:n]), tuple(given[n:]))[1]

    def reverse_over_forward(self, *given: Any) -> Any:
        """The gradient of the derivative along the tangents."""
        n = len(self.places)

        def along(*primals: Any) -> Any:
            return jax.jvp(self.loss, primals, tuple(given[n:]))[1]
        return jax.grad(along, tuple(range(n)))(*given[:n])

    def batched(self, *batch: Any) -> Any:
        """The function of a batch."""
        return jax.vmap(self.f, self.program.in_axes)(*batch)

    def batched_gradient(self, *batch: Any) -> Any:
        """The gradients of the first real result's sum, of a batch."""
        def total(*args: Any) -> Any:
            return sum(jnp.sum(y) for y in self.f(*args) if y.dtype.kind == "f")
        return jax.vmap(jax.grad(total, tuple(self.places)), self.program.in_axes)(*batch)


def _direction(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    return np.asarray(rng.uniform(-1, 1, like.shape)).astype(like.dtype)


class Traced:
    """A function as IR, with the arrays that it captured; called, it is evaluated by NumPy."""

    def __init__(self, f: Callable[..., Any], *args: Any) -> None:
        closed = jax.make_ir(f)(*args)
        self.ir: Function = closed.ir
        self.captured = list(map(np.asarray, closed.consts))
        check_text(self.ir)

    def __call__(self, *args: Any) -> Arrays:
        return evaluate(self.ir, *args, *self.captured)


def leaves(x: Any) -> Arrays:
    """The arrays of a result."""
    return [np.asarray(y) for y in jax.tree.leaves(x)]


def close(got: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float, what: str
          ) -> None:
    """Fail where results differ by more than `tolerance` times max(1, largest of the array)."""
    assert len(got) == len(expected), f"{what}: {len(got)} results, expected {len(expected)}"
    for k, (g, e) in enumerate(zip(got, expected, strict=True)):
        where = f"{what}, result {k}"
        assert g.shape == e.shape, f"{where}: shape {g.shape}, expected {e.shape}"
        assert g.dtype == e.dtype, f"{where}: dtype {g.dtype}, expected {e.dtype}"
        if g.dtype.kind in "bi":
            assert np.array_equal(g, e), f"{where}:\n{g}\nexpected\n{e}"
            continue
        assert np.isfinite(e).all(), f"{where} is not finite:\n{e}"
        bound = tolerance * max(1.0, np.abs(e).max(initial=0))
        error = np.abs(g - e).max(initial=0)
        assert error <= bound, f"{where} is off by {error}:\n{g}\nexpected\n{e}"


# --- laws, by the NumPy evaluator -----------------------------------------------------------

def check_laws(x: Examined) -> bool:
    """All laws of one program; whether differences could be compared, the point being smooth."""
    types = [v.type for v in x.program.main.params]
    assert [(a.shape, a.dtype) for a in x.args] == [(t.shape, DTYPES[t.dtype]) for t in types]
    check_lanes(x)
    given = (*x.primals, *x.tangents)
    pushed = Traced(x.pushed, *given)(*given)
    tangents = pushed[len(x.weights):]
    close(pushed[:len(x.weights)], [v for v in x.values if v.dtype.kind == "f"], x.tolerance,
          "values under jvp")
    close(Traced(x.linearized, *given)(*given), pushed, x.tolerance, "linearize against jvp")
    _, *gradient = Traced(x.pulled, *x.primals)(*x.primals)
    close([_paired(gradient, x.tangents)], [_paired(x.weights, tangents)], x.tolerance,
          "<ct, J t> against <J^T ct, t>")
    one, other = (Traced(f, *given)(*given)
                  for f in (x.forward_over_reverse, x.reverse_over_forward))
    close(other, one, 100 * x.tolerance, "second derivatives both ways")
    return not x.program.narrow and compare_differences(x, tangents)


def _paired(cotangents: Arrays, tangents: Arrays) -> np.ndarray:
    total = sum(np.sum(c.astype(float) * t) for c, t in zip(cotangents, tangents, strict=True))
    return np.asarray(total, dtype=float)


def check_lanes(x: Examined) -> None:
    """A batch gives in each lane what the program gives for that lane alone."""
    shared = (None,) * len(x.ir.captured)
    many, out = vectorize(x.ir.ir, (*x.program.in_axes, *shared), ("", LANES))
    verify(many)
    results = evaluate(many, *x.program.batch(LANES), *x.ir.captured)
    for k in range(LANES):
        lane = [y if p is None else np.take(y, k, p) for y, p in zip(results, out, strict=True)]
        close(lane, x.ir(*x.program.inputs(k)), x.tolerance, f"lane {k}")


def compare_differences(x: Examined, tangents: Arrays) -> bool:
    """Tangents against differences, to fourth order in the step; False where there is a kink."""
    def at(k: int) -> Arrays:
        moved = list(x.args)
        for i, p, t in zip(x.places, x.primals, x.tangents, strict=True):
            moved[i] = p + k * STEP * t
        return [v for v in x.ir(*moved) if v.dtype.kind == "f"]

    for t, fbb, fb, f0, ff, fff in zip(tangents, *map(at, (-2, -1, 0, 1, 2)), strict=True):
        left, right = (3 * f0 - 4 * fb + fbb) / (2 * STEP), (4 * ff - 3 * f0 - fff) / (2 * STEP)
        size = max(1.0, np.abs(t).max(initial=0))
        if np.abs(left - right).max(initial=0) > SMOOTH * size:
            return False
        central = (8 * (ff - fb) - (fff - fbb)) / (12 * STEP)
        error = np.abs(central - t).max(initial=0)
        assert error <= SMOOTH * size, f"jvp off by {error}:\n{t}\ndifferences give\n{central}"
    return True


# --- the same, compiled ---------------------------------------------------------------------

def check_compiled(x: Examined) -> None:
    """Compiled results are those of the NumPy evaluator: of the program, and of its batch or one
    derivative, with jit and without; one program in four is run op by op as well."""
    seed = x.program.seed
    declared = [np.dtype(DTYPES[t.dtype]) for t in _returned(x.program)]
    results = leaves(jax.jit(x.f)(*x.args))
    assert [v.dtype for v in results] == declared
    close(results, x.values, x.tolerance, "jit")
    given = (*x.primals, *x.tangents)
    batch = x.program.batch(LANES)
    derivatives: list[tuple[str, Callable[..., Any], tuple]] = [
        ("jvp", x.pushed, given),
        ("grad", x.pulled, tuple(x.primals)), ("vmap of grad", x.batched_gradient, tuple(batch)),
        ("linearize", x.linearized, given),
        ("forward over reverse", x.forward_over_reverse, given),
        ("reverse over forward", x.reverse_over_forward, given)]
    if seed % 4 == 0:
        close(leaves(x.f(*map(jnp.asarray, x.args))), x.values, x.tolerance, "eager")
    batches = ("vmap", x.batched, tuple(batch))
    name, f, args = batches if seed % 2 else derivatives[seed // 2 % len(derivatives)]
    tolerance = x.tolerance * (100 if "over" in name else 1)
    expected = Traced(f, *args)(*args)
    close(leaves(jax.jit(f)(*args)), expected, tolerance, f"jit of {name}")
    close(leaves(f(*map(jnp.asarray, args))), expected, tolerance, f"{name}, not jitted")


def _returned(program: Program) -> list[Any]:
    types = {v.name: v.type for s in program.main.body for v in getattr(s, "targets", ())}
    return [types[name.strip()] for name in program.main.returns.split(",") if name.strip()]
