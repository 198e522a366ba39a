"""Random programs of parts, under `shard_map` and on one device.

`agree(seed)` writes a program over a random mesh with collectives of every kind, in scan, cond,
jit, checkpoint and vmap, and compares values and gradients of `shard_map`, with `check_vma` and
without, with the same program under one `vmap` for each axis of the mesh, on one device. `python -m
tests.xfront.sharding.mapped_programs 1000 2` does so for as many seeds in two processes, others
every day.
"""

from __future__ import annotations

import datetime
import multiprocessing
import random
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from lowering import compat
from xfront import lax
from xfront.sharding import Mesh
from xfront.sharding import PartitionSpec as P

MESHES = (((8,), ("x",)), ((4, 2), ("x", "y")), ((2, 4), ("x", "y")), ((2, 2, 2), ("x", "y", "z")),
          ((2, 2), ("x", "y")), ((1, 4), ("x", "y")))
N = 8
"""Parts are N by N: a multiple of all sizes there are."""

FAST = {"xla_backend_optimization_level": 0,
        **({"xla_cpu_use_fusion_emitters": False} if compat.HAS_FUSION_EMITTER_OPTION else {})}
"""XLA's options: programs that run once compile in a quarter of the time. What is lowered is the
same."""

Step = Callable[[Any, Any], Any]


class Program:
    """A random program: `body(*parts) -> part`, with specs of its arguments."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.sizes, self.names = self.draw.choice(MESHES)
        self.size = dict(zip(self.names, self.sizes, strict=True))
        self.specs = [self.spec() for _ in range(self.draw.randint(1, 3))]
        self.steps = [self.step(2) for _ in range(self.draw.randint(2, 6))]

    # --- choices ------------------------------------------------------------------------

    def spec(self) -> P:
        """Some axes on some of the two dimensions."""
        dims: list[list[str]] = [[], []]
        for name in self.draw.sample(self.names, len(self.names)):
            at = self.draw.randint(0, 2)
            if at < 2:
                dims[at].append(name)
        return P(*[tuple(d) or None for d in dims])

    def axes(self) -> Any:
        """One axis of the mesh or several, in any order."""
        chosen = self.draw.sample(self.names, self.draw.randint(1, len(self.names)))
        return chosen[0] if len(chosen) == 1 else tuple(chosen)

    def count(self, axes: Any) -> int:
        return int(np.prod([self.size[a] for a in ((axes,) if isinstance(axes, str) else axes)]))

    def step(self, depth: int) -> Step:
        """A step of the program: from a part and the first argument to a part."""
        plain = [self.arithmetic, self.sums, self.extremum, self.gather, self.scatter,
                 self.exchange, self.permute, self.index, self.broadcast]
        nested = [self.scan, self.cond, self.chosen, self.turned, self.wrapped, self.batched,
                  self.custom, self.pulled]
        kinds = plain + nested if depth else plain
        return self.draw.choice(kinds)(depth)

    # --- plain steps ------------------------------------------------------------------------

    def arithmetic(self, depth: int) -> Step:
        c = self.draw.uniform(0.5, 1.5)
        return self.draw.choice([
            lambda v, w: jnp.sin(v) * c, lambda v, w: v * w + c, lambda v, w: jnp.tanh(v @ w) + v,
            lambda v, w: v - v.mean(0, keepdims=True), lambda v, w: jnp.where(v > 0, v, c * w)])

    def sums(self, depth: int) -> Step:
        axes, c = self.axes(), self.draw.uniform(0.5, 1.5)
        f = self.draw.choice([lax.psum, lax.pmean])
        return lambda v, w: c * v + jnp.sin(f(v * w, axes))

    def extremum(self, depth: int) -> Step:
        axes, f = self.axes(), self.draw.choice([lax.pmax, lax.pmin])
        return lambda v, w: v * jnp.tanh(f(lax.stop_gradient(w), axes))

    def gather(self, depth: int) -> Step:
        axes, d = self.axes(), self.draw.randint(0, 1)
        n = self.count(axes)
        weights = np.linspace(0.5, 1.5, n, dtype=np.float32)
        if self.draw.random() < 0.5:
            return lambda v, w: jnp.tensordot(weights, lax.all_gather(jnp.sin(v), axes), 1) / n
        shape = (n, N, N) if d == 0 else (N, n, N)

        def tiled(v: Any, w: Any) -> Any:
            whole = lax.all_gather(jnp.sin(v), axes, axis=d, tiled=True).reshape(shape)
            return jnp.tensordot(weights, whole, (0, d)) / n

        return tiled

    def scatter(self, depth: int) -> Step:
        axes, d = self.axes(), self.draw.randint(0, 1)
        n = self.count(axes)
        reps = (n, 1) if d == 0 else (1, n)
        return lambda v, w: v + jnp.tile(lax.psum_scatter(
            jnp.cos(v) * w, axes, scatter_dimension=d, tiled=True), reps)

    def exchange(self, depth: int) -> Step:
        axes, split, concat = self.axes(), self.draw.randint(0, 1), self.draw.randint(0, 1)
        return lambda v, w: v * w + lax.all_to_all(
            jnp.sin(v), axes, split, concat, tiled=True).reshape(N, N)

    def permute(self, depth: int) -> Step:
        axis = self.draw.choice(self.names)              # vmap takes one axis at a time
        n = self.size[axis]
        if self.draw.random() < 0.5:
            order = self.draw.sample(range(n), n)
            return lambda v, w: v * w + lax.pshuffle(jnp.sin(v), axis, order)
        pairs = list(zip(self.draw.sample(range(n), n), self.draw.sample(range(n), n), strict=True))
        pairs = pairs[:self.draw.randint(0, n)]
        return lambda v, w: v + jnp.cos(w) * lax.ppermute(v, axis, pairs)

    def index(self, depth: int) -> Step:
        axes = self.axes()
        return lambda v, w: v * (1 + 0.1 * lax.axis_index(axes)) / lax.axis_size(axes)

    def broadcast(self, depth: int) -> Step:
        axes = self.axes()
        source = self.draw.randrange(self.count(axes))
        return lambda v, w: v + jnp.sin(lax.pbroadcast(v * w, axes, source))

    # --- steps in steps ---------------------------------------------------------------------

    def scan(self, depth: int) -> Step:
        inner, n = self.step(depth - 1), self.draw.randint(1, 3)
        scales = np.linspace(0.8, 1.2, n, dtype=np.float32)

        def turn(v: Any, w: Any) -> Any:
            return lax.scan(lambda c, s: (0.5 * inner(c, w) * s + 0.1 * v, c.sum()), v, scales)[0]

        return turn

    def cond(self, depth: int) -> Step:
        first, second, which = self.step(depth - 1), self.step(0), self.draw.random() < 0.5
        return lambda v, w: lax.cond(jnp.asarray(which), first, second, v, w)

    def chosen(self, depth: int) -> Step:
        """A branch that each device chooses for itself, and so without exchanges."""
        first, second, axes = self.arithmetic(0), self.arithmetic(0), self.axes()
        if self.draw.random() < 0.5:
            return lambda v, w: lax.cond(lax.axis_index(axes) % 2 == 0, first, second, v, w)
        return lambda v, w: lax.cond(v.sum() > lax.axis_index(axes), first, second, v, w)

    def turned(self, depth: int) -> Step:
        """As many turns as each device chooses for itself."""
        inner, axes = self.arithmetic(0), self.axes()
        return lambda v, w: lax.while_loop(
            lambda c: c[1] <= lax.axis_index(axes) % 3,
            lambda c: (0.5 * inner(c[0], w) + 0.1 * v, c[1] + 1), (v, 0))[0]

    def wrapped(self, depth: int) -> Step:
        return self.draw.choice([xfront.jit, xfront.checkpoint])(self.step(depth - 1))

    def batched(self, depth: int) -> Step:
        inner = self.step(depth - 1)
        return lambda v, w: xfront.vmap(inner, (0, None))(jnp.stack([v, 0.5 * v]), w).sum(0)

    def custom(self, depth: int) -> Step:
        axes = self.axes()

        @xfront.custom_jvp
        def halved(v: Any) -> Any:
            return lax.psum(v, axes) / 2

        halved.defjvp(lambda p, t: (halved(*p), lax.psum(t[0], axes) / 2))
        return lambda v, w: v + jnp.sin(halved(v * w))

    def pulled(self, depth: int) -> Step:
        """A cotangent of what varies over all axes, by which all agree: without sums inside."""
        kinds = [self.arithmetic, self.gather, self.scatter, self.exchange, self.permute]
        inner, take = self.draw.choice(kinds)(0), self.draw.choice([xfront.vjp, xfront.linearize])

        def pulled(v: Any, w: Any) -> Any:
            own = v * (1 + 0 * lax.axis_index(self.names))
            return v + 0.1 * xfront.tree_util.tree_leaves(
                take(lambda v: inner(v, w), own)[1](jnp.cos(own)))[0]

        return pulled

    # --- the whole ----------------------------------------------------------------------------

    def body(self, *parts: Any) -> Any:
        """From parts of the arguments to the part of the result."""
        v = parts[0]
        for p in parts[1:]:
            v = v + jnp.sin(p)
        for step in self.steps:
            v = step(v, parts[0])
            v = v / (1 + jnp.abs(v))                     # keeps numbers near one
        return v

    def results(self, *parts: Any) -> tuple[Any, Any]:
        """The part, and one sum over all."""
        v = self.body(*parts)
        return v, lax.psum((v * v).sum(), self.names)

    def arguments(self) -> list[np.ndarray]:
        rng = np.random.default_rng(self.draw.randrange(1 << 30))
        shapes = [[N * self.count(e if isinstance(e, tuple) else (e,) if e else ()) for e in s]
                  for s in self.specs]
        return [rng.normal(size=s).astype(np.float32) for s in shapes]

    def mapped(self, check_vma: bool) -> Callable[..., Any]:
        """The program on the mesh."""
        devices = np.array(xfront.devices()[:int(np.prod(self.sizes))]).reshape(self.sizes)
        return xfront.shard_map(self.results, mesh=Mesh(devices, self.names), check_vma=check_vma,
                                in_specs=tuple(self.specs), out_specs=(P(self.names), P()))

    def alone(self, *args: Any) -> tuple[Any, Any]:
        """The program on one device: a batch axis for each axis of the mesh."""
        f: Any = self.results
        lanes = []
        for x, spec in zip(args, self.specs, strict=True):
            own = [e if isinstance(e, tuple) else (e,) if e else () for e in spec]
            own += [()] * (2 - len(own))
            shape = [n for d in own for n in (*[self.size[a] for a in d], N)]
            order = [a for d in own for a in (*d, None)]
            present = [a for a in self.names if a in order]
            x = x.reshape(shape).transpose(
                *[order.index(a) for a in present], *[i for i, a in enumerate(order) if a is None])
            lanes.append((x, present))
        for name in reversed(self.names):
            f = xfront.vmap(f, in_axes=tuple([0 if name in p else None for _, p in lanes]),
                            axis_name=name, axis_size=self.size[name])
        v, total = f(*[x for x, _ in lanes])
        return v.reshape(-1, N), total.reshape(-1)[0]


def agree(seed: int) -> None:
    """Values and gradients with and without `check_vma` are those of one device."""
    program = Program(seed)
    args = program.arguments()
    rows = int(np.prod(program.sizes)) * N
    weights = np.linspace(-1, 1, rows * N, dtype=np.float32).reshape(rows, N)

    def loss(f: Callable[..., Any]) -> Any:
        def of(*args: Any) -> Any:
            v, total = f(*args)
            return (v * weights).sum() + 0.1 * total, v

        return xfront.jit(xfront.value_and_grad(of, tuple(range(len(args))), has_aux=True),
                          compiler_options=FAST)

    expected = loss(program.alone)(*args)
    for check_vma in (True, False):
        found = loss(program.mapped(check_vma))(*args)
        for a, b in zip(xfront.tree_util.tree_leaves(found),
                        xfront.tree_util.tree_leaves(expected), strict=True):
            scale = max(1.0, float(np.abs(b).max()))
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-3, atol=2e-4 * scale,
                                       err_msg=f"agree({seed}), check_vma={check_vma}")


def attempt(seed: int) -> str:
    """What is wrong with the program of a seed; nothing where it agrees."""
    try:
        agree(seed)
    except Exception as e:
        return f"agree({seed}): {type(e).__name__}: {str(e)[:2000]}"
    return ""


def make_devices() -> None:
    xfront.config.update("jax_num_cpu_devices", 8)


def main(count: int, processes: int = 1) -> None:
    """As many programs as the command line says; the first seed is of the day."""
    first = datetime.date.today().toordinal() * 10_000
    print(f"seeds from {first}", flush=True)
    failed = 0
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), make_devices) as pool:
        for said in pool.map(attempt, range(first, first + count), chunksize=8):
            failed += bool(said)
            if said:
                print(said, flush=True)
    print(f"{count - failed} of {count} programs agree")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
