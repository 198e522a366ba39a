"""Checks on eight CPU devices, run by `test_on_eight_devices.py`: unreduced and reduced values
inside `shard_map`.

The types and the casts that there are are JAX's, for the same functions.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, for_seeds, report
from xfront import lax
from xfront.sharding import AxisType, reshard, set_mesh
from xfront.sharding import PartitionSpec as P
from xfront_ir.errors import ShardingTypeError
from xfront_ir.parser import parse
from xfront_ir.printer import print_function

from .checks import raises
from .explicit_checks import mesh, put

DEVICES = 8

TERMS, WHOLE = P(unreduced={"x"}), P(reduced={"x"})
HELD = {"varying": P("x"), "invarying": P(), "unreduced": TERMS, "reduced": WHOLE}


def seen(f: Callable[[Any], Any], kind: str, shape: tuple[int, ...] = (8, 4)) -> str:
    """The type in a body of what `f` makes of a value that devices hold so, or an error."""
    found = []

    def body(a: Any) -> Any:
        found.append(str(xfront.typeof(f(a))))
        return a

    spec = HELD[kind]
    x = put(shape, "x") if kind == "varying" else reshard(put(shape), spec)
    try:
        xfront.eval_shape(xfront.shard_map(body, in_specs=spec, out_specs=spec), x)
    except (ValueError, ShardingTypeError, NotImplementedError) as e:
        return type(e).__name__
    return found[0]


def check_casts_and_collectives_give_the_types_of_jax() -> None:
    to: Callable[[str], Callable[[Any], Any]] = lambda k: lambda a: lax.pcast(a, "x", to=k)
    gather: Callable[[str], Callable[[Any], Any]] = lambda k: lambda a: lax.all_gather(
        a, "x", tiled=True, to=k)
    E, S = "ValueError", "ShardingTypeError"
    v, i, u, r = "varying", "invarying", "unreduced", "reduced"
    table: list[tuple[Callable[[Any], Any], dict[str, str]]] = [
        (to(v), {v: E, i: "float32[8,4]{V:x}", u: E, r: "float32[8,4]{V:x}"}),
        (to(u), {v: "float32[2,4]{U:x}", i: E, u: E, r: E}),
        (to(r), {v: E, i: "float32[8,4]{R:x}", u: E, r: E}),
        (lambda a: lax.psum(a, "x"), {v: "float32[2,4]", u: "float32[8,4]", r: E}),
        (lambda a: lax.pmean(a, "x"), {v: "float32[2,4]", u: "float32[8,4]", r: E}),
        (lambda a: lax.psum_scatter(a, "x", tiled=True), {u: "float32[2,4]{V:x}", r: E}),
        (gather(v), {v: "float32[8,4]{V:x}", u: E, r: E}),
        (gather(r), {v: "float32[8,4]{R:x}", i: E, u: E, r: E}),
        (gather("invarying"), {v: "float32[8,4]", i: "float32[32,4]", u: E, r: E}),
        (lambda a: lax.pmax(a, "x"), {v: "float32[2,4]", u: E, r: E}),
        (lambda a: lax.ppermute(a, "x", [(0, 1)]), {v: "float32[2,4]{V:x}", u: E, r: E}),
        (lambda a: lax.psum(a, "y"), {u: "float32[8,4]{U:x}", r: "float32[8,4]{R:x}"}),
        (jnp.sin, {u: S, r: "float32[8,4]{R:x}"}),
        (lambda a: a * a, {u: S, r: "float32[8,4]{R:x}"}),
        (lambda a: a + a, {u: "float32[8,4]{U:x}", r: "float32[8,4]{R:x}"}),
        (lambda a: a + 1, {u: S}), (lambda a: a * 2, {u: S}), (lambda a: a.T @ a, {u: S, r: S}),
        (lambda a: a.T, {u: "float32[4,8]{U:x}", r: "float32[4,8]{R:x}"}),
        (lambda a: a.sum(0), {u: "float32[4]{U:x}", r: "float32[4]{R:x}"}),
        (lambda a: lax.scan(lambda c, _: (c + c, None), a, None, length=2)[0],
         {u: "float32[8,4]{U:x}", r: "float32[8,4]{R:x}"}),
        (lambda a: xfront.jit(lambda a: a + a)(a), {u: "float32[8,4]{U:x}"}),
        (lambda a: lax.cond(True, lambda a: a, lambda a: a + a, a), {u: "float32[8,4]{U:x}"})]
    with set_mesh(mesh()):
        for n, (f, expected) in enumerate(table):
            assert {k: seen(f, k) for k in expected} == expected, (
                n, {k: seen(f, k) for k in expected})
        both = xfront.shard_map(lambda a: lax.pcast(a, ("x", "y"), to="unreduced"),
                                in_specs=P("x", "y"), out_specs=P(unreduced={"x", "y"}))
        assert str(xfront.eval_shape(both, put((8, 4), "x", "y")).sharding.spec) == (
            "P(None, None, unreduced={'x', 'y'})")


def check_what_specs_say_must_be_so() -> None:
    same: Callable[[Any], Any] = lambda a: a
    with set_mesh(mesh()):
        w, x = put((8, 4)), put((8, 4), "x")
        u, r = reshard(w, TERMS), reshard(w, WHOLE)

        def run(given: Any, held: Any, left: Any, **options: Any) -> Any:
            return xfront.shard_map(same, in_specs=held, out_specs=left, **options)(given)

        for given, held, left in ((u, P(), P()), (w, TERMS, TERMS), (r, P(), P()), (
                w, WHOLE, WHOLE), (u, TERMS, P()), (r, WHOLE, P()), (w, P(), WHOLE)):
            raises(ValueError, ["shard_map"], partial(run, given, held, left))
        raises(ShardingTypeError, ["does not vary over 'x'"], lambda: run(w, P(), TERMS))
        raises(NotImplementedError, ["all axes"], lambda: run(u, TERMS, TERMS, axis_names={"x"}))
        raises(ShardingTypeError, ["pcast(x, axes, to='varying')"], lambda: xfront.shard_map(
            lambda a, b: a[:2] * b, in_specs=(WHOLE, P("x")), out_specs=WHOLE)(r, x))
        auto = xfront.make_mesh((4, 2), ("x", "y"), (AxisType.Auto, AxisType.Auto))
        raises(ValueError, ["Explicit"], lambda: xfront.shard_map(
            same, mesh=auto, in_specs=TERMS, out_specs=TERMS)(w))
        inferred = xfront.shard_map(same, out_specs=TERMS)(u)
        assert str(xfront.typeof(inferred)) == "float32[8,4]{U:x}"
        np.testing.assert_array_equal(reshard(inferred, P()), w)
        np.testing.assert_array_equal(reshard(run(x, P("x"), TERMS), P()),
                                      np.asarray(w).reshape(4, 2, 4).sum(0))
        text = print_function(xfront.make_ir(lambda x: run(x, P("x"), TERMS))(x).ir)
        assert "manual_cast" in text and print_function(parse(text)) == text


def check_terms_and_copies_are_plain_without_check_vma() -> None:
    """Values and gradients are those of the function of whole values."""
    def mapped(f: Any, ins: Any, outs: Any) -> Any:
        return xfront.shard_map(f, in_specs=ins, out_specs=outs, check_vma=False)

    with set_mesh(mesh()):
        w, x = put((8, 4)), put((8, 4), "x")
        u, r = reshard(w, TERMS), reshard(w, WHOLE)
        types = []
        twice = mapped(lambda a: (types.append(xfront.typeof(a)), 2 * a)[1], TERMS, TERMS)(u)
        assert str(types[0]) == "float32[8,4]" and str(xfront.typeof(twice)) == "float32[8,4]{U:x}"
        np.testing.assert_array_equal(reshard(twice, P()), 2 * w)
        np.testing.assert_array_equal(mapped(lambda a: lax.psum(a, "x"), TERMS, P())(u), w)

        loss = mapped(lambda w, x: jnp.sin(x @ w.T), (WHOLE, P("x")), P("x"))
        by_w, by_x = xfront.grad(lambda w, x: jnp.sin(x @ w.T).sum(), (0, 1))(
            np.asarray(w), np.asarray(x))
        found = xfront.jit(xfront.grad(lambda w, x: loss(w, x).sum(), (0, 1)))(r, x)
        assert str(xfront.typeof(found[0])) == "float32[8,4]{U:x}"
        np.testing.assert_allclose(reshard(found[0], P()), by_w, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found[1], by_x, rtol=1e-4, atol=1e-4)

        # each device's term is a value of its own: JAX's gradients are others here
        terms = mapped(jnp.sin, P("x"), TERMS)
        whole = np.asarray(x).reshape(4, 2, 4)
        np.testing.assert_allclose(reshard(terms(x), P()), np.sin(whole).sum(0), rtol=1e-5)
        slope = xfront.jit(xfront.grad(lambda x: (reshard(terms(x), P()) ** 2).sum()))(x)
        np.testing.assert_allclose(slope, (2 * np.sin(whole).sum(0) * np.cos(whole)).reshape(8, 4),
                                   rtol=1e-4, atol=1e-5)
        squares = mapped(lambda a: lax.psum(a * a, "x"), TERMS, P())
        slope = xfront.grad(lambda x: squares(mapped(lambda a: a, P("x"), TERMS)(x)).sum())(x)
        np.testing.assert_allclose(slope, 2 * x)


def check_gradients_of_reduced_weights_are_not_summed() -> None:
    with set_mesh(mesh()):
        w, x = put((8, 4)), put((8, 4), "x")

        def local(w: Any, x: Any) -> Any:
            return jnp.sin(x @ lax.pcast(w, "x", to="varying").T).sum()

        loss = xfront.shard_map(lambda w, x: lax.psum(local(w, x), "x"),
                                in_specs=(WHOLE, P("x")), out_specs=P())
        inside = xfront.shard_map(xfront.grad(local), in_specs=(WHOLE, P("x")), out_specs=TERMS)
        expected = xfront.grad(lambda w, x: jnp.sin(x @ w.T).sum())(np.asarray(w), np.asarray(x))
        for f in (xfront.grad(loss), inside):
            found = xfront.jit(f)(reshard(w, WHOLE), x)
            assert str(xfront.typeof(found)) == "float32[8,4]{U:x}"
            np.testing.assert_allclose(reshard(found, P()), expected, rtol=1e-4, atol=1e-4)
        assert "all-reduce" not in xfront.jit(inside).lower(
            reshard(w, WHOLE), x).compile().as_text()
        square = xfront.shard_map(lambda u: lax.psum(u + u, "x") ** 2, in_specs=TERMS,
                                  out_specs=P())
        slope = xfront.grad(lambda u: square(u).sum())(reshard(w, TERMS))
        assert str(xfront.typeof(slope)) == "float32[8,4]{R:x}"
        np.testing.assert_allclose(reshard(slope, P()), 8 * w)
        mapped = xfront.shard_map(
            lambda a: lax.psum(xfront.vmap(lambda r: lax.pcast(r, "x", to="unreduced"))(a), "x"),
            in_specs=P("x"), out_specs=P())
        np.testing.assert_array_equal(mapped(x), np.asarray(w).reshape(4, 2, 4).sum(0))
        batch = xfront.vmap(xfront.grad(loss), in_axes=(None, 1))(
            reshard(w, WHOLE), jnp.stack([x, 2 * x], 1))
        np.testing.assert_allclose(reshard(batch, P())[0], expected, rtol=1e-4, atol=1e-4)


# --- at random ------------------------------------------------------------------------------

MESHES = (((8,), ("x",)), ((4, 2), ("x", "y")), ((2, 2, 2), ("x", "y", "z")), ((1, 4), ("x", "y")))
N = 8

ON_WHOLE: list[Callable[[Any], Any]] = [
    jnp.sin, lambda w: w + w, lambda w: w.T, lambda w: w * w, lambda w: w.reshape(N, N),
    lambda w: lax.scan(lambda c, _: (jnp.cos(c), None), w, None, length=2)[0],
    xfront.jit(lambda w: w - jnp.tanh(w)), xfront.checkpoint(lambda w: jnp.sin(w) * w)]
"""What weights go through while all devices have them alike."""


class Program:
    """A random network of square weights, on parts of the examples or on all of them."""

    def __init__(self, seed: int) -> None:
        draw = self.draw = random.Random(seed)
        sizes, self.names = draw.choice(MESHES)
        self.mesh = xfront.make_mesh(sizes, self.names)
        self.axes = tuple(sorted(draw.sample(self.names, draw.randint(1, len(self.names)))))
        self.over = frozenset(self.axes)
        self.kinds = [draw.choice(["invarying", "reduced", "cast", "gathered", "shared"])
                      for _ in range(draw.randint(1, 3))]
        self.first = [[draw.choice(ON_WHOLE) for _ in range(draw.randint(0, 2))]
                      for _ in self.kinds]
        self.left = draw.choice(["psum", "terms", "scatter", "auto"])

    def spec(self, kind: str) -> P:
        """How a weight of this kind comes in."""
        return (P(reduced=self.over) if kind == "reduced" else
                P(self.axes) if kind in ("gathered", "shared") else P())

    def held(self, w: Any, kind: str) -> Any:
        """The whole weight, on each device."""
        if kind in ("gathered", "shared"):
            to = "reduced" if kind == "gathered" else "invarying"
            return lax.all_gather(w, self.axes, tiled=True, to=to)
        return lax.pcast(w, self.axes, to="reduced") if kind == "cast" else w

    def loss(self, weights: Any, x: Any, divided: bool) -> Any:
        """The sum over examples of a function of each, for each column."""
        for w, kind, first in zip(weights, self.kinds, self.first, strict=True):
            if divided:
                w = self.held(w, kind)
            for f in first:
                w = f(w)
            if divided and kind in ("reduced", "cast", "gathered"):
                w = lax.pcast(w, self.axes, to="varying")
            x = jnp.tanh(x @ w) + x
        return x.sum(0)

    def body(self, *given: Any) -> Any:
        """The loss on a device's part of the examples."""
        made = self.loss(given[:-1], given[-1], True)
        if self.left == "psum":
            return lax.psum(made, self.axes)
        if self.left in ("terms", "scatter"):
            made = lax.pcast(made, self.axes, to="unreduced")
            made = made + made
        return lax.psum_scatter(made, self.axes, tiled=True) if self.left == "scatter" else made

    def out(self) -> P:
        """How the result goes out; "auto" becomes terms there."""
        return {"psum": P(), "scatter": P(self.axes)}.get(self.left, P(unreduced=self.over))


def agree(seed: int) -> None:
    """A random program of parts and the same on one device: values and gradients."""
    p, numbers = Program(seed), np.random.default_rng(seed)
    n = len(p.kinds)
    given = [numbers.standard_normal((N, N)).astype(np.float32) / 3 for _ in range(n + 1)]
    direction = numbers.standard_normal(N).astype(np.float32)
    twice = 2 if p.left in ("terms", "scatter") else 1
    wanted = p.loss(given[:-1], given[-1], False) * twice
    slopes = xfront.grad(lambda *a: (direction * p.loss(a[:-1], a[-1], False)).sum() * twice,
                         tuple(range(n + 1)))(*map(jnp.asarray, given))
    specs = tuple([*map(p.spec, p.kinds), P(p.axes)])
    with set_mesh(p.mesh):
        args = [reshard(jnp.asarray(v), s) for v, s in zip(given, specs, strict=True)]
        mapped = xfront.shard_map(p.body, in_specs=specs, out_specs=p.out())
        whole: Callable[..., Any] = lambda *a: reshard(mapped(*a), P())
        for f in (whole, xfront.jit(whole)):
            np.testing.assert_allclose(f(*args), wanted, rtol=1e-3, atol=1e-4)
        slope = xfront.grad(lambda *a: (direction * whole(*a)).sum(), tuple(range(n + 1)))
        for found, right, x in zip(xfront.jit(slope)(*args), slopes, args, strict=True):
            assert xfront.typeof(found).sharding.spec.unreduced == x.sharding.spec.reduced
            np.testing.assert_allclose(reshard(found, P()), right, rtol=1e-3, atol=1e-3)


def check_random_programs_agree_with_one_device() -> None:
    for_seeds(agree, 8)


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, DEVICES)
