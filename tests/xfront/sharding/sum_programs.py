"""Random programs of values of which devices hold terms of a sum, and of reduced and divided ones.

`agree(seed)` writes a program with `cond`, `switch`, `scan`, `while_loop`, `fori_loop`, `jit` and
`checkpoint` in one another, and compares its value, gradients, tangents and batches, jitted, with
those of the same program on one device, where nothing is resharded. Branches and turns read some of
the values and hand the others on, so cotangents of many are zero in places.
`python -m tests.xfront.sharding.sum_programs 100 7` does so for the seeds from 7 on, each in a
process that may end.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import xfront
import xfront.numpy as jnp
from xfront import lax
from xfront.sharding import AxisType, reshard, set_mesh
from xfront.sharding import PartitionSpec as P

N = 4
DEVICES = 8
AXES = (("x",), ("y",), ("x", "y"))


class State(NamedTuple):
    """The values that a step takes and gives: two that are reduced, two that are terms of a sum, a
    whole one, and one whose rows are divided."""

    r: Any
    q: Any
    u: Any
    v: Any
    w: Any
    x: Any


Step = Callable[[State], State]


class Program:
    """A random program `run(state) -> state`; `on_mesh` says whether it reshards."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        over = self.draw.choice(AXES)
        self.whole, self.terms = P(reduced={*over}), P(unreduced={*over})
        self.rows = P(over)
        self.on_mesh = False
        self.steps = [self.step(2) for _ in range(self.draw.randint(1, 3))]
        self.kind = self.draw.choice(["value", "grad", "jvp", "vmap", "grad", "hessian",
                                      "held"])

    def placed(self, v: Any, spec: P) -> Any:
        return reshard(v, spec) if self.on_mesh else v

    def gram(self, x: Any) -> Any:
        """A product that devices hold as terms, where they hold rows."""
        return jnp.einsum("ij,ik->jk", x, x, out_sharding=self.terms if self.on_mesh else None)

    # --- steps ------------------------------------------------------------------------------

    def step(self, depth: int) -> Step:
        nested: list[Callable[[int], Step]] = [
            self.cond, self.cond, self.switch, self.scan, self.turns, self.wrapped, self.ruled]
        kinds = [self.moved, *nested] if depth else [self.moved]
        return self.draw.choice(kinds)(depth)

    def moved(self, depth: int) -> Step:
        """One value or two are computed from others; the rest is handed on."""
        rules: list[Callable[[State], dict[str, Any]]] = [
            lambda s: {"r": jnp.sin(s.r) + s.q}, lambda s: {"q": s.r * s.q},
            lambda s: {"r": s.q, "q": s.r}, lambda s: {"r": s.r.T},
            lambda s: {"u": s.u + s.v}, lambda s: {"u": s.u * s.r}, lambda s: {"v": s.u},
            lambda s: {"v": (s.v - s.u).T}, lambda s: {"u": s.v * jnp.sin(s.q), "v": -s.u},
            lambda s: {"u": self.gram(jnp.tanh(s.x))}, lambda s: {"v": s.v + self.gram(s.x)},
            lambda s: {"u": jnp.where(s.w.sum() > 0, s.u, s.v)},
            lambda s: {"w": jnp.tanh(s.w + self.placed(s.u, P()))},
            lambda s: {"w": jnp.tanh(s.w * self.placed(s.q, P()))},
            lambda s: {"r": self.placed(jnp.tanh(s.w), self.whole)},
            lambda s: {"u": self.placed(jnp.tanh(self.placed(s.u, P())), self.terms)},
            lambda s: {"x": jnp.tanh(s.x @ s.r)}, lambda s: {"x": jnp.sin(s.x @ s.w) + s.x},
            lambda s: {"u": jnp.concatenate([s.u[:2], s.v[2:]])},
            lambda s: {"u": self.placed(jnp.zeros((N, N)), self.terms)},
            lambda s: {"r": self.placed(jnp.zeros((N, N)), self.whole)}]
        chosen = self.draw.sample(rules, self.draw.randint(1, 2))

        def step(s: State) -> State:
            for rule in chosen:
                s = s._replace(**rule(s))
            return s

        return step

    def cond(self, depth: int) -> Step:
        first, second = self.step(depth - 1), self.step(depth - 1)
        which = self.draw.choice([lambda s: s.w.sum() > 0, lambda s: s.w.sum() < 0,
                                  lambda s: jnp.asarray(True)])
        return lambda s: lax.cond(which(s), first, second, s)

    def switch(self, depth: int) -> Step:
        branches = [self.step(depth - 1) for _ in range(3)]
        return lambda s: lax.switch((s.w.sum() > 0).astype(int) + 1, branches, s)

    def scan(self, depth: int) -> Step:
        inner, stacked = self.step(depth - 1), self.draw.choice(["w", "r", "u", None])

        def step(s: State) -> State:
            def turn(c: State, scale: Any) -> tuple[State, Any]:
                c = inner(c)
                return c._replace(w=c.w * scale), None if stacked is None else getattr(c, stacked)

            s, rows = lax.scan(turn, s, np.array([0.5, 1.5], np.float32))
            return s if stacked is None else s._replace(**{stacked: rows.sum(0)})

        return step

    def turns(self, depth: int) -> Step:
        """As many turns as a value says, or two."""
        inner = self.step(depth - 1)
        if self.draw.random() < 0.5:
            return lambda s: lax.fori_loop(0, 2, lambda i, c: inner(c), s)
        return lambda s: lax.fori_loop(0, (s.w.sum() > 0).astype(int) + 1,
                                       lambda i, c: inner(c), s)

    def wrapped(self, depth: int) -> Step:
        return self.draw.choice([xfront.jit, xfront.checkpoint])(self.step(depth - 1))

    def ruled(self, depth: int) -> Step:
        """A function with a rule of its own, which gives what would be there without."""
        inner = self.step(depth - 1)
        if self.draw.random() < 0.5:
            pushed = xfront.custom_jvp(inner)
            pushed.defjvp(lambda primals, tangents: xfront.jvp(inner, primals, tangents))
            return pushed
        pulled = xfront.custom_vjp(inner)
        pulled.defvjp(lambda s: xfront.vjp(inner, s), lambda pull, cotangents: pull(cotangents))
        return pulled

    # --- the whole --------------------------------------------------------------------------

    def specs(self) -> State:
        """How the arguments lie."""
        return State(self.whole, self.whole, self.terms, self.terms, P(), self.rows)

    def run(self, s: State) -> State:
        for step in self.steps:
            s = step(s)
        return s

    def loss(self, s: State) -> Any:
        return sum([(i + 1) * jnp.sin(self.placed(v, P())).sum() for i, v in enumerate(
            self.run(s))])

    def asked(self, s: State, dots: State) -> Any:
        """What is compared: values, gradients, tangents, or values of a batch."""
        if self.kind == "grad":
            return xfront.grad(self.loss)(s)
        if self.kind == "hessian":
            return xfront.jvp(xfront.grad(self.loss), (s,), (dots,))
        if self.kind == "held":
            return xfront.grad(lambda s: self.run(s).r.sum())(s)
        if self.kind == "jvp":
            return xfront.jvp(self.loss, (s,), (dots,))
        if self.kind == "vmap":
            both = xfront.tree.map(lambda *v: jnp.stack(v), s, dots)
            return xfront.vmap(lambda s: tuple(self.run(s)))(both)
        return self.run(s)


def agree(seed: int) -> None:
    """A random program over a mesh and the same on one device."""
    program, numbers = Program(seed), np.random.default_rng(seed)
    given = [State(*[numbers.standard_normal((8 if i == 5 else N, N)).astype(np.float32) / 3
                     for i in range(6)]) for _ in range(2)]
    wanted = xfront.jit(program.asked)(*[xfront.tree.map(jnp.asarray, s) for s in given])
    mesh = xfront.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    program = Program(seed)
    program.on_mesh = True
    with set_mesh(mesh):
        args = [State(*[reshard(v, p) for v, p in zip(s, program.specs(), strict=True)])
                for s in given]
        found = xfront.jit(program.asked)(*args)
        for a, b in zip(xfront.tree.leaves(found), xfront.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(reshard(a, P()), b, rtol=2e-3, atol=2e-3)


def main(count: int, first: int = 0) -> None:
    """Each seed in a process of its own, since a program may end it."""
    failed = 0
    for seed in range(first, first + count):
        done = subprocess.run([sys.executable, "-c", (
            f"import xfront; xfront.config.update('jax_num_cpu_devices', {DEVICES})\n"
            f"from {__spec__.name} import agree; agree({seed})")], capture_output=True, text=True)
        if done.returncode:
            failed += 1
            print(f"agree({seed}) ended with {done.returncode}: {done.stderr[-600:]}", flush=True)
    print(f"{count - failed} of {count} programs agree")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
