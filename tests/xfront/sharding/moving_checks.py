"""Checks of random programs that move values between shardings, run with eight CPU devices.

`agree(seed)` writes a program of `device_put`, `reshard`, constraints, `shard_map`, `auto_axes` and
arithmetic over two meshes of the same devices, whose axes are auto, explicit or both. A program is
refused when it is traced, or gives NumPy's values where its type says, at each of its calls.
`python -m tests.xfront.sharding.moving_checks 1000` runs as many, others every day.
"""

from __future__ import annotations

import datetime
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, for_seeds, report
from xfront import lax
from xfront.sharding import AxisType, Mesh, NamedSharding, auto_axes, reshard
from xfront.sharding import PartitionSpec as P
from xfront.sharding.errors import ShardingTypeError

SIZES = ((8,), (4, 2), (2, 4), (2, 2, 2))
SHAPES = ((8,), (8, 8), (16, 8), (8, 2, 8))
Step = tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]


class Program:
    """Steps, each as a function of xfront and one of NumPy, and the sharding of the argument."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        devices = np.array(self.draw.sample(xfront.devices(), 8))
        self.meshes = [self.mesh(devices, names) for names in ("xyz", "abc")]
        self.shape = self.draw.choice(SHAPES)
        self.first = self.sharding(self.shape)
        shape = self.shape
        self.steps: list[Step] = []
        for _ in range(self.draw.randint(1, 4)):
            f, g = self.step(shape)
            shape = g(np.zeros(shape, np.float32)).shape
            self.steps.append((f, g))

    def mesh(self, devices: np.ndarray, names: str) -> Mesh:
        sizes = self.draw.choice(SIZES)
        kinds = self.draw.choice([[AxisType.Auto], [AxisType.Explicit], [*AxisType][:2]])
        return Mesh(devices.reshape(sizes), tuple(names[:len(sizes)]),
                    tuple([self.draw.choice(kinds) for _ in sizes]))

    def sharding(self, shape: tuple[int, ...], mesh: Mesh | None = None) -> NamedSharding:
        """A spec that divides the shape, on one of the meshes."""
        mesh = mesh or self.draw.choice(self.meshes)
        entries: list[list[str]] = [[] for _ in shape]
        left = list(shape)
        for name in self.draw.sample(mesh.axis_names, len(mesh.axis_names)):
            at = self.draw.randrange(-1, len(shape))
            if at >= 0 and left[at] % mesh.shape[name] == 0:
                left[at] //= mesh.shape[name]
                entries[at].append(name)
        return NamedSharding(mesh, P(*[tuple(e) or None for e in entries]))

    def step(self, shape: tuple[int, ...]) -> Step:
        told = self.sharding(shape)
        axis = self.draw.randrange(len(shape))
        moves: list[Callable[[Any], Any]] = [
            lambda v: reshard(v, told), lambda v: xfront.device_put(v, told),
            lambda v: lax.with_sharding_constraint(v, told)]
        kinds: list[Callable[[], Step]] = [
            lambda: (self.draw.choice(moves), lambda v: v),
            lambda: (lambda v: jnp.sin(v) * 2, lambda v: np.sin(v) * 2),
            lambda: (lambda v: v + v[..., :1], lambda v: v + v[..., :1]),
            lambda: (lambda v: jnp.flip(v, axis), lambda v: np.flip(v, axis)),
            lambda: (lambda v: v.sum(axis, keepdims=True) + v * 0,
                     lambda v: v.sum(axis, keepdims=True) + v * 0),
            lambda: (lambda v: jnp.moveaxis(v, 0, -1), lambda v: np.moveaxis(v, 0, -1)),
            lambda: (auto_axes(lambda v: v * 3, out_sharding=told), lambda v: v * 3),
            lambda: self.mapped(told), lambda: self.mapped(told)]
        return self.draw.choice(kinds)()

    def mapped(self, told: NamedSharding) -> Step:
        """A `shard_map` over all axes of a mesh, or over those that its spec names."""
        axes = [a for e in told.spec if e for a in ((e,) if isinstance(e, str) else e)]
        own = {} if not axes or self.draw.random() < 0.5 else {"axis_names": {*axes}}
        if not axes or self.draw.random() < 0.5:
            f, g = lambda v: v * 0.5, lambda v: v * 0.5
        else:
            f, g = lambda v: v + lax.psum(v.sum(), tuple(axes)), lambda v: v + v.sum()
        return xfront.shard_map(f, mesh=told.mesh, in_specs=told.spec, out_specs=told.spec,
                                **own), g

    def run(self, v: Any) -> Any:
        for f, _ in self.steps:
            v = f(v)
        return v

    def expected(self, v: np.ndarray) -> np.ndarray:
        for _, g in self.steps:
            v = g(v)
        return v


def agree(seed: int) -> None:
    """A random program is refused by its types, or does what NumPy does, where its type says."""
    program = Program(seed)
    value = np.random.default_rng(seed).standard_normal(program.shape).astype(np.float32)
    x = xfront.device_put(value, program.first)
    try:
        kind = xfront.eval_shape(program.run, x).aval
    except (ShardingTypeError, ValueError, TypeError, AssertionError):
        return
    expected = program.expected(value)
    jitted, total = xfront.jit(program.run), xfront.jit(lambda v: v.sum())
    try:
        jitted(x)
    except NotImplementedError as e:                 # functions of parts over two meshes
        assert "XLA cannot write a part of one axis" in str(e)
        return
    for _ in range(2):                               # the second time C++ runs what it knows
        made = jitted(x)
        np.testing.assert_allclose(made, expected, rtol=1e-3, atol=1e-3)
        assert isinstance(made.sharding, NamedSharding), made.sharding
        assert xfront.typeof(made) == kind, (xfront.typeof(made), kind)
        np.testing.assert_allclose(total(made), expected.sum(), rtol=1e-3, atol=1e-2)


def check_random_programs_lie_as_their_types_say() -> None:
    for_seeds(agree, 40)


CHECKS = checks_in(globals())


def main(count: int) -> None:
    """As many programs as the command line says; the first seed is of the day."""
    xfront.config.update("jax_num_cpu_devices", 8)
    first = datetime.date.today().toordinal() * 10_000
    for seed in range(first, first + count):
        agree(seed)
    print(f"{count} programs from {first} agree")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(int(sys.argv[1]))
    else:
        report(CHECKS, devices=8)
