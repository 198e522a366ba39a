"""Checks of shard_map on eight CPU devices, run by `test_on_eight_devices.py`."""

from __future__ import annotations

import gc
import random
import weakref
from functools import partial, wraps
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, report
from xfront import lax
from xfront.experimental import checkify
from xfront.sharding import AbstractMesh, ManualAxisType, Mesh, NamedSharding, set_mesh
from xfront.sharding import PartitionSpec as P
from xfront.sharding.errors import DuplicateSpecError, IndivisibleError

from .checks import DEVICES, grid, mesh, on, put, raises
from .mapped_programs import agree

W = np.float32(3)
X = np.arange(8, dtype=np.float32)
SLOPES = np.float32(6) * np.sin(X).sum(), 9 * np.cos(X)


def mapped(f: Any, in_specs: Any, out_specs: Any, **options: Any) -> Any:
    return xfront.shard_map(f, mesh=mesh(), in_specs=in_specs, out_specs=out_specs, **options)


def loss(check_vma: bool) -> Any:
    return mapped(lambda w, a: lax.psum((w * jnp.sin(a) * w).sum(), "x"), (P(), P("x")), P(),
                  check_vma=check_vma)


def close(made: Any, expected: Any) -> None:
    np.testing.assert_allclose(made, expected, rtol=2e-5, atol=1e-5)


# --- values ---------------------------------------------------------------------------------

def check_parts_and_results_lie_as_specs_say() -> None:
    double = mapped(lambda a: 2 * a, P("x"), P("x"))
    for x in (X, jnp.asarray(X), put(X, "x"), put(X, "y"), put(X)):
        for f in (double, xfront.jit(double)):
            made = f(x)
            close(made, 2 * X)
            assert made.sharding.is_equivalent_to(on("x"), 1) and made.committed
    total = mapped(lambda a: lax.psum(a, "x"), P("x"), P())(X)
    close(total, [12, 16])
    assert total.sharding.is_equivalent_to(on(), 1)
    close(mapped(lambda a: a, None, P("x"))(X), np.tile(X, 4))
    close(mapped(lambda: lax.axis_index(("y", "x"))[None], (), P(("x", "y")))(),
          [0, 4, 1, 5, 2, 6, 3, 7])
    c = jnp.asarray(3.0)
    tree = mapped(lambda t: {"b": t["a"] * c + 1}, ({"a": P("x")},), {"b": P("x")})
    close(tree({"a": X})["b"], 3 * X + 1)


def check_partial_and_nested_regions() -> None:
    part = mapped(lambda a: lax.psum(a, "x") + lax.axis_index("x"), P("x"), P("x"),
                  axis_names={"x"})
    expected = np.repeat(np.arange(4), 2) + np.tile([12, 16], 4)
    for f in (part, xfront.jit(part)):
        close(f(X), expected)
        close(f(put(X, "y")), expected)

    def outer(check_vma: bool) -> Any:
        def f(a: Any) -> Any:
            assert xfront.sharding.get_abstract_mesh().manual_axes == ("x",)
            inner = xfront.shard_map(lambda b: lax.psum(b, ("x", "y")) * lax.axis_index("x"),
                                     in_specs=P("y"), out_specs=P(), axis_names={"y"},
                                     check_vma=check_vma)
            return lax.psum(inner(a), "x")
        return mapped(f, P("x"), P(), axis_names={"x"}, check_vma=check_vma)

    for check_vma in (True, False):
        nested = outer(check_vma)
        close(nested(X), [28 * 6])
        close(xfront.grad(lambda x, f=nested: f(x)[0])(X), np.full(8, 6))


def check_axis_names_may_repeat_those_around() -> None:
    """Such axes are the outer function's: specs do not mention them, and sums over them are of its
    devices."""
    def nested(names: Any, outer: Any, spec: P) -> Any:
        def f(a: Any) -> Any:
            return xfront.shard_map(lambda b: lax.psum(b, "x") * b, in_specs=spec,
                                    out_specs=spec, axis_names=names)(a)
        return xfront.jit(mapped(f, P("x"), P("x"), axis_names=outer))

    expected = X * np.tile([12, 16], 4)
    for names, outer, spec in (({"x"}, {"x"}, P()), ({"x"}, {"x", "y"}, P()),
                               ({"x", "y"}, {"x"}, P("y")), ({"x", "y"}, {"x", "y"}, P())):
        f = nested(names, outer, spec)
        close(f(X), expected)
        close(xfront.grad(lambda x, f=f: f(x).sum())(X), 2 * np.tile([12, 16], 4))
    raises(ValueError, ["marked as manual", "'x'"], lambda: nested({"x"}, {"x"}, P("x"))(X))


def check_axes_that_are_not_manual_divide_as_they_did() -> None:
    """Nothing is gathered where a function of some axes begins and ends."""
    mesh = Mesh(np.array(xfront.devices()).reshape(4, 2), ("x", "y"))
    a = xfront.device_put(np.ones((8, 8), np.float32), NamedSharding(mesh, P("x", "y")))
    f = xfront.shard_map(lambda a: a * 2 + lax.axis_index("x"), mesh=mesh, in_specs=P("x"),
                         out_specs=P("x"), axis_names={"x"})
    for g in (f, lambda a: xfront.grad(lambda a: (f(a) ** 2).sum())(a)):
        made = xfront.jit(g).lower(a).compile()
        assert made.output_shardings.spec == P("x", "y"), made.output_shardings
        assert "all-gather" not in made.as_text()
        np.testing.assert_array_equal(made(a), g(np.ones((8, 8), np.float32)))


def check_the_first_device_of_several_has_the_value() -> None:
    """Without `check_vma`, devices may hold different parts where the specs say that they agree."""
    mesh = Mesh(np.array(xfront.devices()).reshape(4, 2), ("x", "y"))
    for spec in (P("y"), P()):
        f = xfront.shard_map(lambda a: a + lax.axis_index("x"), mesh=mesh, in_specs=spec,
                             out_specs=spec, check_vma=False)
        np.testing.assert_array_equal(f(np.zeros(2, np.float32)), np.zeros(2))


def check_the_mesh_in_context() -> None:
    f = xfront.shard_map(lambda a: lax.psum(a, "x"), in_specs=P("x"), out_specs=P())
    raises(ValueError, ["context mesh cannot be empty"], lambda: f(X))
    with set_mesh(mesh()):
        close(f(X), [12, 16])
        close(xfront.smap(lambda a: a + lax.axis_index("y"), in_axes=0, out_axes=0,
                          axis_name="y")(X), X + np.repeat([0, 1], 4))
        named = xfront.shard_map(lambda a: a * 2, mesh=mesh().abstract_mesh, in_specs=P("x"),
                                 out_specs=P("x"))
        close(named(X), 2 * X)


# --- transformations ------------------------------------------------------------------------

def check_gradients_with_and_without_check() -> None:
    for check_vma in (True, False):
        f = loss(check_vma)
        for g in (xfront.grad(f, (0, 1)), xfront.jit(xfront.grad(f, (0, 1)))):
            for made, expected in zip(g(W, X), SLOPES, strict=True):
                close(made, expected)
        back: Any
        value, back = xfront.vjp(f, W, X)
        close(value, 9 * np.sin(X).sum())
        close(back(np.float32(1))[1], SLOPES[1])
        close(xfront.jvp(f, (W, X), (np.float32(1), np.zeros_like(X)))[1], SLOPES[0])
        close(xfront.hessian(f)(W, X), 2 * np.sin(X).sum())
        close(xfront.vmap(f, (0, None))(np.arange(3, dtype=np.float32), X),
              np.arange(3) ** 2 * np.sin(X).sum())
        close(xfront.grad(xfront.checkpoint(f))(W, X), SLOPES[0])
        close(xfront.grad(lambda w, f=f: lax.scan(
            lambda c, x: (c + f(w, x), None), 0.0, jnp.stack([X, X]))[0])(W), 2 * SLOPES[0])


def check_gradients_inside() -> None:
    def inside(w: Any, a: Any) -> Any:
        return xfront.grad(lambda w: (w * jnp.sin(a) * w).sum())(w)

    close(mapped(inside, (P(), P("x")), P())(W, X), SLOPES[0])      # summed where w was cast
    own = 6 * np.sin(X).reshape(4, 2).sum(1)
    close(mapped(lambda w, a: inside(w, a)[None], (P(), P("x")), P("x"), check_vma=False)(W, X),
          own)
    cast = mapped(lambda w, a: inside(lax.pcast(w, "x", to="varying"), a)[None], (P(), P("x")),
                  P("x"))
    close(cast(W, X), own)
    tangent = mapped(lambda w, a: xfront.jvp(lambda w: lax.psum((w * a).sum(), "x"), (w,), (w,))[1],
                     (P(), P("x")), P())
    close(tangent(W, X), 3 * X.sum())

    @xfront.custom_vjp
    def product(w: Any, a: Any) -> Any:
        return w * a

    product.defvjp(lambda w, a: (w * a, (w, a)),
                   lambda saved, ct: ((ct * saved[1]).sum(), ct * saved[0]))
    close(mapped(lambda w, a: xfront.grad(lambda w: product(w, a).sum())(w), (P(), P("x")),
                 P())(W, X), X.sum())


def pulled(f: Any, w: Any, a: Any) -> tuple[Any, Any]:
    """Cotangents of both, of what f gives, by vjp inside."""
    back: Any
    value, back = xfront.vjp(f, w, a)
    return back(jnp.ones_like(value))


def check_cotangents_inside_are_those_of_the_whole_function() -> None:
    a2 = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    w2 = np.linspace(0.5, 1.5, 4, dtype=np.float32)
    ring = [(i, (i + 1) % 4) for i in range(4)]
    inside: dict[str, tuple[Any, Any]] = {       # what a device computes, and what all do
        "sum": (lambda w, a: lax.psum(jnp.sin(w * a).sum(), "x"),
                lambda w, a: jnp.sin(w * a).sum()),
        "mean": (lambda w, a: lax.pmean(((a @ w - 1) ** 2).mean(), "x"),
                 lambda w, a: ((a @ w - 1) ** 2).mean()),
        "own": (lambda w, a: jnp.sin(w * a).sum(), lambda w, a: jnp.sin(w * a).sum()),
        "permuted": (lambda w, a: (lax.ppermute(w * a, "x", ring) * a).sum(),
                     lambda w, a: (jnp.roll(w * a, 2, 0) * a).sum()),
        "gathered": (lambda w, a: lax.psum((lax.all_gather(w * a, "x", tiled=True) ** 2).sum()
                                           / 4, "x"), lambda w, a: ((w * a) ** 2).sum()),
        "scanned": (lambda w, a: lax.psum(lax.scan(
            lambda c, r: (c + jnp.sin(w * r), None), jnp.zeros_like(a[0]), a)[0].sum(), "x"),
            lambda w, a: jnp.sin(w * a).sum()),
        "again": (xfront.checkpoint(lambda w, a: lax.psum(jnp.sin(w * a).sum(), "x")),
                  lambda w, a: jnp.sin(w * a).sum()),
        "jitted": (xfront.jit(lambda w, a: lax.psum(jnp.sin(w * a).sum(), "x")),
                   lambda w, a: jnp.sin(w * a).sum()),
        "mapped": (lambda w, a: xfront.vmap(lambda r: lax.psum((w * r).sum(), "x"))(a).sum(),
                   lambda w, a: (w * a).sum())}

    def every(w: Any, a: Any) -> Any:
        return {name: pulled(f, w, a) for name, (f, _) in inside.items()}

    def alone(w: Any, a: Any) -> Any:
        return {name: xfront.grad(f, (0, 1))(w, a) for name, (_, f) in inside.items()}

    def weighed(f: Any) -> Any:
        return lambda w, a: sum([(jnp.cos(g) * g).sum() for g in xfront.tree_util.tree_leaves(
            f(w, a))])

    whole = mapped(every, (P(), P("x")), {k: (P(), P("x")) for k in inside})
    expected = xfront.jit(alone)(w2, a2)
    for name, found in xfront.jit(whole)(w2, a2).items():
        for x, y in zip(found, expected[name], strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-5, err_msg=name)
    for x, y in zip(xfront.jit(xfront.grad(weighed(whole), (0, 1)))(w2, a2),
                    xfront.jit(xfront.grad(weighed(alone), (0, 1)))(w2, a2), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-4)
    close(mapped(lambda w, a: xfront.vjp(lambda w: (w * jnp.sin(a)).sum(), w)[1](W)[0][None],
                 (P(), P("x")), P("x"), check_vma=False)(W, X),      # without check each its own
          3 * np.sin(X).reshape(4, 2).sum(1))


def check_training_inside() -> None:
    a2 = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    w2 = np.linspace(0.5, 1.5, 4, dtype=np.float32)

    def step(mean: Any) -> Any:
        def one(w: Any, a: Any) -> Any:
            value, back = xfront.vjp(lambda w: mean(((a @ w - 1) ** 2).mean()), w)
            return w - 0.1 * back(jnp.ones_like(value))[0]
        return one

    own, alone = step(lambda x: lax.pmean(x, "x")), step(lambda x: x)
    expected = w2
    for _ in range(3):
        expected = alone(expected, a2)
    loops = (lambda w, a: lax.scan(lambda w, _: (own(w, a), None), w, None, length=3)[0],
             lambda w, a: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, own(c[1], a)),
                                         (0, w))[1],
             lambda w, a: own(lax.cond(w[0] > 0, own, lambda w, a: w, own(w, a), a), a))
    for loop in loops:
        close(mapped(loop, (P(), P("x")), P())(w2, a2), expected)
    for f in (xfront.jacrev, xfront.jacfwd):
        close(mapped(lambda a, f=f: f(lambda b: jnp.sin(b) * lax.psum(b.sum(), "x"))(a).sum(1),
                     P("x"), P("x"), check_vma=f is xfront.jacrev)(X).shape, (8,))
    second = xfront.hessian(lambda w, a: lax.psum((w * w * jnp.sin(a)).sum(), "x"))
    close(mapped(second, (P(), P("x")), P())(W, X), 2 * np.sin(X).sum())
    moved = mapped(lambda w, a: xfront.linearize(lambda w: lax.psum((w * a).sum(), "x"), w)[1](w),
                   (P(), P("x")), P())
    close(moved(W, X), 3 * X.sum())
    back = mapped(lambda a: xfront.linear_transpose(lambda b: lax.psum(2 * b, "x"), a)(
        lax.psum(a, "x"))[0], P("x"), P("x"))
    close(back(X), np.tile(2 * X.reshape(4, 2).sum(0), 4))


def ruled(f: Any) -> Any:
    """The function with its own derivative as a rule."""
    made = xfront.custom_vjp(f)
    made.defvjp(lambda w, a: xfront.vjp(f, w, a), lambda back, ct: back(ct))
    return made


def check_gradients_of_what_each_device_chooses() -> None:
    """No device waits in a branch, or in a turn, for one that does not come there."""
    mesh = Mesh(np.array(xfront.devices()).reshape(4, 2), ("x", "y"))
    a = np.sin(np.arange(32, dtype=np.float32)).reshape(8, 4)

    def chosen(a: Any) -> Any:
        return lax.cond(lax.axis_index("y") == 0, lambda v: v * 2, lambda v: v, a)

    def captured(a: Any) -> Any:
        return lax.switch(lax.axis_index("y"), [lambda: jnp.sin(a), lambda: a * a.sum()])

    def asked(a: Any) -> Any:                     # of data: along x too
        return lax.cond(a.sum() + lax.axis_index("y") > 1, lambda v: v * v, lambda v: v * 3, a)

    def turned(a: Any) -> Any:
        return lax.while_loop(lambda c: c[1] <= lax.axis_index("y"), lambda c: (c[0] * a, c[1] + 1),
                              (a, 0))[0]

    def looped(a: Any) -> Any:
        return lax.scan(lambda c, _: (chosen(c) * a, None), a, None, length=2)[0]

    for f in (chosen, captured, asked, turned, looped):
        for check in (True, False):
            def spread(a: Any, f: Any = f, check: bool = check) -> Any:
                return xfront.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x", "y"),
                                        check_vma=check)(a)

            def alone(a: Any, f: Any = f) -> Any:
                parts = xfront.vmap(xfront.vmap(lambda p, _: f(p), (None, 0), axis_name="y"),
                                    (0, None), axis_name="x")(a.reshape(4, 2, 4), jnp.arange(2))
                return jnp.concatenate([parts[:, 0], parts[:, 1]], 2).reshape(8, 8)

            for found, expected in (
                    (spread, alone),
                    (xfront.grad(lambda a: (spread(a) ** 2).sum()),
                     xfront.grad(lambda a: (alone(a) ** 2).sum()))):
                np.testing.assert_allclose(xfront.jit(found)(a), expected(a), rtol=1e-5, atol=1e-5,
                                           err_msg=f.__name__)


def check_rules_that_differentiate_inside() -> None:
    def plain(w: Any, a: Any) -> Any:
        return jnp.sin(w * a).sum()

    for names in ((), ("x",)):
        value = (lambda w, a: lax.psum(plain(w, a), "x")) if names else plain
        rule = ruled(value)
        for f in (value, rule):
            def own(w: Any, a: Any, f: Any = f) -> Any:
                return xfront.grad(f, (0, 1))(lax.pcast(w, "x", to="varying"), a)[0][None]
            found = mapped(own, (P(), P("x")), P("x"))(W, X)
            close(found, (X * np.cos(W * X)).reshape(4, 2).sum(1))
        outside = xfront.grad(lambda w, f=rule: mapped(
            lambda w, a: lax.pmean(f(w, a), "x"), (P(), P("x")), P())(w, X))(W)
        close(outside, (X * np.cos(W * X)).sum() / (1 if names else 4))


def check_types_show_over_which_axes_values_vary() -> None:
    seen: dict[str, str] = {}

    def note(name: str, x: Any) -> Any:
        seen[name] = str(xfront.typeof(x))
        return x

    def body(w: Any, a: Any) -> Any:
        for name, x in {"whole": w, "part": a, "both": w + a, "made": jnp.ones(3),
                        "sum": lax.psum(a, "x"), "index": lax.axis_index("y")}.items():
            note(name, x)
        xfront.jit(lambda b: note("jitted", b))(a)
        xfront.vmap(lambda b: note("mapped", b))(a)
        xfront.grad(lambda b: note("differentiated", b.sum()))(a)
        lax.scan(lambda c, r: (note("carry", c), note("row", r)), w, a)
        kind = xfront.typeof(a)
        assert kind.mat == kind.manual_axis_type == ManualAxisType(varying={"x"})
        assert kind == xfront.typeof(a * 2) != xfront.typeof(lax.psum(a, "x"))
        assert kind.update(shape=(3,)).mat.varying == {"x"}
        struct = xfront.eval_shape(lambda b: b * 2, a)
        assert struct == xfront.ShapeDtypeStruct((2,), np.float32, vma={"x"}) and "varying" in repr(
            struct)
        assert xfront.eval_shape(jnp.sin, struct) == struct
        assert xfront.eval_shape(lambda b: lax.psum(b, "x"), struct).manual_axis_type.empty
        return lax.pcast(w, tuple(kind.mat.varying), to="varying") * a

    close(mapped(body, (P(), P("x")), P("x"))(W, X), 3 * X)
    part, whole = "float32[2]{V:x}", "float32[]"
    assert seen == {
        "whole": whole, "part": part, "both": part, "made": "float32[3]", "sum": "float32[2]",
        "index": "int32[]{V:y}", "jitted": part, "mapped": "float32[]{V:x}",
        "differentiated": "float32[]{V:x}", "carry": whole, "row": "float32[]{V:x}"}, seen
    mapped(lambda a: note("unchecked", a), P("x"), P("x"), check_vma=False)(X)
    assert seen["unchecked"] == "float32[2]"
    outside: Any = xfront.ShapeDtypeStruct((2,), np.float32, vma={"x"})
    raises(ValueError, ["varies over 'x'", "inside a shard_map"],
           lambda: xfront.jit(jnp.sin).lower(outside))


def check_casts() -> None:
    cast = mapped(lambda w, a: lax.psum((lax.pcast(w, "x", to="varying") * a).sum(), "x"),
                  (P(), P("x")), P())
    close(xfront.grad(cast)(W, X), X.sum())
    raises(ValueError, ["from=varying", "'x' already"],
           lambda: mapped(lambda a: lax.pcast(a, "x", to="varying"), P("x"), P("x"))(X))
    raises(ValueError, ["cotangent varies over {x}", "lax.psum"], lambda: mapped(
        lambda w, a: xfront.vjp(jnp.sin, w)[1](a[0])[0], (P(), P("x")), P("x"))(W, X))
    rows = X.reshape(8, 1)
    grown = mapped(lambda w, a: lax.scan(lambda c, r: (
        xfront.vjp(lambda c: (c * r).sum(), c)[1](W)[0] + r, None), w, a)[0], (P(), P("x")), P("x"))
    close(grown(np.ones(1, np.float32), rows), 4 * X[1::2])      # each device its own carry

    def turn(c: Any) -> Any:
        return xfront.vjp(jnp.sin, c)[1](c)[0]

    raises(TypeError, ["carry", "varies over 'x'", "lax.pcast"], lambda: mapped(
        lambda w, a: lax.while_loop(lambda c: c < a[0], turn, w), (P(), P("x")), P())(W, X))
    raises(ValueError, ["can only be used for axes of a shard_map"], lambda: mapped(
        lambda a: lax.pcast(a, "z", to="varying"), P("x"), P("x"))(X))
    raises(ValueError, ["from=varying, to='reduced'"], lambda: mapped(
        lambda a: lax.pcast(a, "x", to="reduced"), P("x"), P("x"))(X))
    raises(NotImplementedError, ["check_vma=True"], lambda: mapped(
        lambda a: lax.pcast(a, "x", to="unreduced"), P("x"), P("x"), check_vma=False)(X))
    raises(ValueError, ["possibly varying over {x}", "check_vma=False"],
           lambda: mapped(lambda a: lax.pvary(a, "x"), P(), P())(X))
    close(mapped(lambda a: lax.pvary(a, "x"), P(), P(), check_vma=False)(X), X)


def check_numbers_that_change_from_call_to_call() -> None:
    for c in (1.0, 2.0, 3.0, 4.0):
        for check_vma in (True, False):
            f = mapped(lambda a, c=c: lax.psum(c * jnp.sin(a) + 0.5, "x"), P("x"), P(),
                       check_vma=check_vma)
            close(f(X), (c * np.sin(X) + 0.5).reshape(4, 2).sum(0))
            close(xfront.grad(lambda x, f=f: f(x).sum())(X), c * np.cos(X))


def check_random_programs_agree_with_one_device() -> None:
    for seed in (2, 7, 22):
        agree(seed)


def check_batches_over_axes_of_the_mesh() -> None:
    rows = np.arange(64, dtype=np.float32).reshape(4, 16)

    def held(r: Any) -> Any:
        return lax.with_sharding_constraint(r * 2, on("y"))

    for f in (xfront.jit, lambda f: f):
        made = f(xfront.vmap(held, spmd_axis_name="x"))(rows)
        close(made, 2 * rows)
        assert made.sharding.is_equivalent_to(on("x", "y"), 2)
    looped = xfront.vmap(lambda r: lax.scan(lambda c, _: (held(c), None), r, None, length=2)[0],
                         spmd_axis_name="x")
    assert xfront.jit(looped)(rows).sharding.is_equivalent_to(on("x", "y"), 2)
    for check_vma in (True, False):
        total = mapped(lambda a, w: lax.psum(jnp.sin(a) * w, "y"), (P("y"), P("y")), P(),
                       check_vma=check_vma)
        many = xfront.vmap(total, in_axes=(0, None), spmd_axis_name="x")
        waves = np.sin(rows).reshape(4, 2, 8)
        close(many(rows, rows[1]), (waves * rows[1].reshape(2, 8)).sum(1))
        assert many(rows, rows[1]).sharding.is_equivalent_to(on("x"), 2)
        slopes = xfront.grad(lambda w, many=many: many(rows, w).sum())
        close(slopes(rows[1]), np.sin(rows).sum(0))
        text = xfront.jit(many).lower(rows, rows[1]).as_text()
        assert "(%arg2: tensor<1x8xf32>, %arg3: tensor<8xf32>)" in text, text
    raises(ValueError, ["spmd_axis_name", "with_sharding_constraint"],
           lambda: xfront.vmap(held, spmd_axis_name="y")(rows))
    raises(ValueError, ["spmd_axis_name", "'z'"],
           lambda: xfront.vmap(held, spmd_axis_name="z")(rows))
    double = mapped(lambda a: 2 * a, P("x"), P("x"))
    raises(ValueError, ["spmd_axis_name", "'z'", "the mesh of a shard_map"],
           lambda: xfront.vmap(double, spmd_axis_name="z")(rows))
    raises(ValueError, ["spmd_axis_name", "in_specs"],
           lambda: xfront.vmap(double, spmd_axis_name="x")(rows))
    indexed = mapped(lambda a: a + lax.axis_index("x"), P("y"), P("y"), check_vma=False)
    raises(ValueError, ["spmd_axis_name", "reads"],
           lambda: xfront.vmap(indexed, spmd_axis_name="x")(rows))
    raises(ValueError, ["batch of 3", "4 devices"],
           lambda: xfront.vmap(mapped(jnp.sin, P("y"), P("y")), spmd_axis_name="x")(rows[:3]))


def check_divided_batches_have_a_name_and_come_in_chunks() -> None:
    rows = np.arange(128, dtype=np.float32).reshape(8, 16)

    def held(r: Any) -> Any:
        return lax.with_sharding_constraint(r + lax.psum(r, "i"), on("y"))

    made = xfront.jit(xfront.vmap(held, axis_name="i", spmd_axis_name="x"))(rows)
    close(made, rows + rows.sum(0))
    assert made.sharding.is_equivalent_to(on("x", "y"), 2)
    total = mapped(lambda r: lax.psum(r, "y"), P("y"), P())
    for name in ("i", "x"):
        close(xfront.vmap(total, axis_name=name, spmd_axis_name="x")(rows),
              rows.reshape(8, 2, 8).sum(1))
    raises(ValueError, ["over 'i'", "part of the examples"], lambda: xfront.vmap(
        mapped(lambda r: lax.psum(r, "i"), P("y"), P("y")), axis_name="i", spmd_axis_name="x")(
            rows))
    chunked = xfront.vmap(total, chunk=4, spmd_axis_name="x")
    close(chunked(rows), rows.reshape(8, 2, 8).sum(1))
    assert "(%arg1: tensor<1x8xf32>)" in xfront.jit(chunked).lower(rows).as_text()


def check_results_of_callbacks_vary_as_declared() -> None:
    def call(r: Any, *axes: str) -> Any:
        kind = xfront.ShapeDtypeStruct(
            (2,), np.float32, manual_axis_type=xfront.sharding.ManualAxisType(varying={*axes}))
        made = xfront.pure_callback(lambda v: np.ones(2, np.float32), kind, r)
        met.append(xfront.typeof(made).mat.varying)
        return made

    met: list[frozenset[str]] = []
    for axes in ((), ("x",), ("x", "y")):
        mapped(lambda r, axes=axes: call(r, *axes), P("x"), P(("x", "y")))(X)
    assert met == [{"x"}, {"x"}, {"x", "y"}], met
    mapped(lambda r: call(r, "y"), P(), P("y"))(X)
    raises(ValueError, ["['y']", "vary over ['x']"],
           lambda: mapped(lambda r: call(r, "y"), P("x"), P())(X))
    raises(ValueError, ["shard_map", "'q'"], lambda: call(X, "q"))


# --- refusals -------------------------------------------------------------------------------

def check_what_does_not_fit_is_refused() -> None:
    def same(a: Any) -> Any:
        return a

    raises(ValueError, ["possibly varying over {x}", "check_vma=False"],
           lambda: mapped(same, P("x"), P())(X))
    raises(ValueError, ["axis sizes", "(4, 2)", "parameter 'a'", "f32[7]"],
           lambda: mapped(same, P("x"), P("x"))(np.ones(7, np.float32)))
    raises(ValueError, ["too long", "rank 1"], lambda: mapped(same, P("x", "y"), P("x"))(X))
    raises(ValueError, ["out_specs", "rank 0", "x[None]"],
           lambda: mapped(lambda a: a.sum(), P("x"), P("x"))(X))
    for f, words in ((mapped(same, P("z"), P("x")), ["marked as manual", "'z'", "of 'same'"]),
                     (mapped(same, P("x"), {"a": P("z")}), ["marked as manual", "'z'"]),
                     (mapped(same, P("y"), P("x"), axis_names={"x"}), ["marked as manual", "'y'"]),
                     (mapped(same, P("x"), P("x"), axis_names={"z"}), ["axis_names", "'z'"]),
                     (mapped(same, P(P.UNCONSTRAINED), P("x")), ["in_specs", "UNCONSTRAINED"])):
        raises(ValueError, words, lambda f=f: f(X))      # it may be made for another mesh
    raises(DuplicateSpecError, ["'x' twice"], lambda: mapped(same, P("x", "x"), P("x"))(X))
    raises(TypeError, ["PartitionSpec", "'x'"], lambda: mapped(same, "x", P("x")))
    raises(TypeError, ["Mesh"], lambda: xfront.shard_map(same, mesh=3, in_specs=P(), out_specs=P()))
    raises(ValueError, ["in_specs"], lambda: mapped(same, (P("x"), P("x")), P("x"))(X))
    raises(TypeError, ["in_specs", "AxisType.Explicit"],
           lambda: xfront.shard_map(same, mesh=mesh(), out_specs=P("x"))(X))
    raises(NameError, ["unbound axis name: z"],
           lambda: mapped(lambda a: lax.psum(a, "z"), P("x"), P("x"))(X))
    other = xfront.make_mesh((2,), ("q",))
    raises(ValueError, ["same mesh"], lambda: mapped(lambda a: xfront.shard_map(
        same, mesh=other, in_specs=P("q"), out_specs=P("q"))(a), P("x"), P("x"))(X))
    abstract = AbstractMesh((4,), ("x",))
    f = xfront.shard_map(same, mesh=abstract, in_specs=P("x"), out_specs=P("x"))
    assert xfront.jit(f).eval_shape(X).shape == (8,)


def check_some_axes_of_one_of_two_meshes() -> None:
    """XLA ends the process where it would write a part of one axis as another."""
    value = grid(8, 8)
    first, second = (Mesh(np.array(xfront.devices()).reshape(sizes), names) for sizes, names in (
        ((4, 2), ("x", "y")), ((2, 4), ("a", "b"))))

    def double(over: Mesh, axis: str) -> Any:
        return xfront.shard_map(lambda a: a * 2, mesh=over, in_specs=P(axis), out_specs=P(axis),
                                axis_names={axis})

    def placed(a: Any, over: Mesh, axis: str) -> Any:
        return lax.with_sharding_constraint(a, NamedSharding(over, P(axis)))

    for over, other in ((first, second), (second, first)):
        for start in (first, second):
            x = xfront.device_put(value, NamedSharding(start, P()))
            for axis in over.axis_names:
                f, move = double(over, axis), partial(placed, over=other, axis=other.axis_names[0])
                for g, h in ((f, move), (move, f)):
                    close(xfront.jit(lambda a, g=g, h=h: h(g(a)))(x), 2 * value)
    raises(NotImplementedError, ["shard_map over", "a part of one axis"],
           lambda: xfront.jit(lambda a: double(first, "x")(double(second, "b")(a)))(value))


# --- pmap -----------------------------------------------------------------------------------

class Doubled:
    """A function as an object, with an attribute of a name that pmap has too."""

    def __init__(self) -> None:
        self.in_axes = "its own"

    def __call__(self, a: Any) -> Any:
        kept = xfront.random.bernoulli(xfront.random.key(0), 1.0, a.shape,
                                       out_sharding=xfront.typeof(a).sharding)
        return 2 * a * kept


def check_pmap() -> None:
    close(xfront.pmap(Doubled(), in_axes=1)(grid(3, 4)), 2 * grid(3, 4).T)
    x = grid(4, 3)
    summed = xfront.pmap(lambda a: lax.psum(a, "i"), axis_name="i")
    made = summed(x)
    close(made, np.tile(x.sum(0), (4, 1)))
    assert isinstance(made.sharding, NamedSharding) and made.sharding.spec == P("i")
    close(summed(grid(8, 2)), np.tile(grid(8, 2).sum(0), (8, 1)))
    close(xfront.pmap(lambda a, b: a + b, in_axes=(0, None), out_axes=1)(x, np.float32(3)),
          (x + 3).T)
    close(xfront.pmap(lambda a, k: a * k, static_broadcasted_argnums=1)(x, 3), 3 * x)
    close(xfront.pmap(lambda t, *, b: {"s": t["a"] - b}, in_axes=({"a": 1},))(
        {"a": x.T}, b=np.arange(4, dtype=np.float32))["s"], x - np.arange(4)[:, None])
    close(xfront.pmap(lambda a: lax.pmean(a, "i"), axis_name="i", out_axes=None)(x), x.mean(0))
    close(xfront.pmap(lambda a: xfront.vmap(jnp.sin)(a))(x), np.sin(x))
    close(xfront.vmap(xfront.pmap(lambda a: lax.psum(a, "i"), axis_name="i"))(grid(2, 4, 3)),
          np.repeat(grid(2, 4, 3).sum(1, keepdims=True), 4, 1))
    close(xfront.grad(lambda a: (summed(a) * x).sum())(x), np.tile(x.sum(0), (4, 1)))
    given = xfront.devices()[2:6]
    assert xfront.pmap(lambda a: a, devices=given)(x).sharding.device_set == set(given)
    assert xfront.pmap(lambda a: a, devices=given)(x[:3]).sharding.device_set == set(given[:3])
    raises(IndivisibleError, ["inconsistent sizes", "4 and 3"],
           lambda: xfront.pmap(lambda a, b: a + b)(x, grid(3, 3)))
    raises(IndivisibleError, ["9 logical devices", "8 XLA devices"],
           lambda: xfront.pmap(jnp.sin)(grid(9)))
    raises(ValueError, ["5 logical devices", "4 XLA devices"],
           lambda: xfront.pmap(jnp.sin, devices=given)(grid(5)))
    raises(ValueError, ["at least one non-None"],
           lambda: xfront.pmap(jnp.sin, in_axes=None)(x))
    raises(TypeError, ["in_axes"], lambda: xfront.pmap(jnp.sin, in_axes="x"))
    raises(NotImplementedError, ["string"], lambda: xfront.pmap(jnp.sin, axis_name=3))


def check_pmap_of_changing_arguments() -> None:
    """C++ runs what it knows; each call gives what a new `pmap` gives, whatever came before."""
    draw, traced = random.Random(3), []

    def f(tree: Any, c: Any, *, d: Any) -> Any:
        traced.append(1)
        return {"sum": lax.psum(tree["a"] * c, "i"), "d": (tree["b"] + d, lax.axis_index("i"))}

    def spread(options: dict[str, Any]) -> Any:
        return xfront.pmap(f, axis_name="i", **options)

    shared = [(o, spread(o)) for o in ({"in_axes": (0, None)}, {"in_axes": (0, None), "out_axes": 0,
                                        "devices": xfront.devices()[::-2]})]
    seen: set[Any] = set()
    for _ in range(60):
        options, known = shared[draw.randrange(2)]
        n = 4 if "devices" in options else draw.choice((2, 4, 8))
        kind = draw.choice((np.float32, np.int32))
        a = draw.choice((grid(n, 3), grid(n, 2), jnp.asarray(grid(n, 3)))).astype(kind)
        if draw.random() < 0.3:
            over = Mesh(np.array(xfront.devices()[:n]), ("k",))
            a = xfront.device_put(a, NamedSharding(over, P(draw.choice((None, "k")))))
        c = draw.choice((2, 2.5, np.float32(3), jnp.float32(4)))
        args, named = ({"a": a, "b": grid(n)}, c), {"d": draw.choice((grid(n), jnp.arange(n)))}
        try:
            wanted = spread(options)(*args, **named)
        except ValueError as e:                  # committed to other devices than are given
            raises(ValueError, [str(e)[:40]], lambda k=known, a=args, n=named: k(*a, **n))
            continue
        made = known(*args, **named)
        for x, y in zip(xfront.tree.leaves(made), xfront.tree.leaves(wanted), strict=True):
            assert (x.aval, x.sharding) == (y.aval, y.sharding), (x.aval, y.aval)
            np.testing.assert_array_equal(x, y)
        seen.add(repr(wanted["sum"].aval))
    assert len(seen) > 5, seen
    traced.clear()
    known: Any = xfront.pmap(lambda a: traced.append(1) or a + 1)
    for _ in range(3):
        close(known(grid(4, 2)), grid(4, 2) + 1)
    assert traced == [1]
    known.clear_cache()
    close(known(grid(4, 2)), grid(4, 2) + 1)
    with xfront.disable_jit():
        close(known(grid(4, 2)), grid(4, 2) + 1)


def check_pmap_holds_its_function_no_longer_than_it_lives() -> None:
    def made() -> Any:
        def inner(x: Any) -> Any:
            return x + 1

        f = xfront.pmap(inner)
        for _ in range(2):
            f(X)
        return weakref.ref(inner)

    gone = made()
    gc.collect()
    assert gone() is None


# --- checks inside --------------------------------------------------------------------------

def check_checkify_hears_the_first_device_whose_checks_fail() -> None:
    def f(a, b):
        checkify.check(jnp.all(a > 0), "{a} is not positive", a=a)
        checkify.check(lax.psum(b[0], "x") > 0, "a sum of {}", b[0])
        return 2 * a

    checked = checkify.checkify(mapped(f, (P("x"), P("x")), P("x")))
    a = np.ones(8, np.float32)
    bad = np.where(np.arange(8) > 4, -a, a)
    for way in (checked, xfront.jit(checked)):
        assert way(a, a)[0].get() is None
        error, out = way(bad, a)
        assert "-1." in error.get() and "not positive" in error.get(), error.get()
        np.testing.assert_array_equal(out, 2 * bad)
        assert way(a, -a)[0].get() == "a sum of -1.0 (`check` failed)"
    np.testing.assert_array_equal(xfront.grad(lambda a: checked(a, a)[1].sum())(a), 2 * a)

    def g(x):
        checkify.check(x > 0, "{x} is not positive", x=x)
        return x

    error, _ = checkify.checkify(xfront.pmap(g))(bad)
    assert error.get() == "-1.0 is not positive (`check` failed)"


# --- what is compiled -----------------------------------------------------------------------

def check_programs_hold_the_collectives_that_were_asked_for() -> None:
    compiled = xfront.jit(xfront.grad(loss(True))).lower(W, X).compile().as_text()
    assert compiled.count("all-reduce(") == 1, compiled       # of the slope; the value is not read
    text = xfront.jit(mapped(lambda a: lax.ppermute(a, "x", [(0, 1)]), P("x"), P("x"))).lower(
        X).compile().as_text()
    assert "collective-permute" in text and "all-gather" not in text


def check_many_programs_without_waiting_do_not_deadlock() -> None:
    step = xfront.jit(mapped(lambda a: a + lax.psum(a, "x") / 1e3, P("x"), P("x")))
    x = put(X, "x")
    for _ in range(500):
        x = step(x)
    assert np.isfinite(np.asarray(x)).all()


def check_many_programs_that_wait_for_one_exchange_do_not_deadlock() -> None:
    step = xfront.jit(mapped(lambda a: a + lax.psum(a, "x") / 1e3, P("x"), P("x")))
    add = xfront.jit(lambda a: a + 1)
    x = put(np.ones((1024, 512), np.float32), "x")
    for _ in range(5):
        x = step(x)
        for _ in range(100):
            x = add(x)
    assert np.isfinite(np.asarray(x)).all()


def check_functions_of_jitted_functions_are_none() -> None:
    """What is made of a jitted function has neither its stages nor its program."""
    value = grid(8, 2)

    def cube(x: Any) -> Any:
        return x ** 3

    def donated(x: Any) -> Any:
        return x * 3

    compiled: list[Any] = [xfront.jit(cube), xfront.jit(donated, donate_argnums=0)]
    wrappers: list[Any] = [xfront.grad, xfront.vmap, xfront.checkpoint, xfront.custom_jvp,
                           xfront.jacfwd, partial(xfront.shard_map, mesh=mesh(), in_specs=P("x"),
                                                  out_specs=P("x"))]
    for f in compiled:
        f.mine = 3
        made = xfront.pmap(f)(value)
        assert len(made.addressable_shards) == 8
        np.testing.assert_array_equal(made, f(value))
        np.testing.assert_array_equal(xfront.pmap(f, in_axes=1, out_axes=1)(value), f(value))
        np.testing.assert_array_equal(
            xfront.pmap(xfront.jit(lambda x, f=f: lax.psum(f(x), "i")), axis_name="i")(value)[0],
            f(value).sum(0))
        for wrapper in wrappers:
            g = wrapper(f)
            assert g.mine == 3 and not any([
                hasattr(g, stage) for stage in ("lower", "trace", "eval_shape", "clear_cache")])
        other: Any = xfront.jit(wraps(f)(lambda x: x + 100))
        assert "100" in other.lower(value).as_text("ir") and other.mine == 3
    slope = xfront.pmap(xfront.grad(xfront.jit(lambda x: cube(x).sum())))
    np.testing.assert_array_equal(slope(value), 3 * value ** 2)
    assert not hasattr(wraps(xfront.jit(cube))(lambda x: x), "lower")


def check_results_are_put_together_as_somebody_said() -> None:
    for check in (True, False):
        for f, specs in ((lambda x: lax.psum(x, "x"), None), (lambda x: (x, x), (P("x"), None))):
            g = xfront.shard_map(f, mesh=mesh(), in_specs=P("x"), out_specs=specs, check_vma=check)
            raises(ValueError, ["out_specs"], partial(g, grid(8)))
    again = [[0, 1], [1, 2], [2, 3], [3, 0]]
    raises(TypeError, ["exactly once"], lambda: xfront.shard_map(
        lambda x: x * lax.psum(1, "x", axis_index_groups=again), mesh=mesh(), in_specs=P("x"),
        out_specs=P("x"))(grid(8)))


def check_casts_are_written_under_auto_pcast_false() -> None:
    def cast(w: Any) -> Any:
        return lax.pcast(w, "x", to="varying")

    bodies: list[tuple[Any, Any]] = [
        (lambda w, a: w * a, lambda w, a: cast(w) * a),
        (lambda w, a: lax.scan(lambda c, _: (c * a, None), w * jnp.ones(2), None, length=2)[0],
         lambda w, a: lax.scan(lambda c, _: (c * a, None), cast(w * jnp.ones(2)), None,
                               length=2)[0])]
    for plain, written in bodies:
        for wrap in (lambda f: f, xfront.jit):
            f, g = [wrap(mapped(h, (P(), P("x")), P("x"))) for h in (plain, written)]
            wanted = f(W, X)
            with xfront.auto_pcast(False):
                raises(ValueError, ["does not vary over x", "lax.pcast(x, ('x',), to='varying')"],
                       partial(f, W, X))
                close(g(W, X), wanted)
                close(mapped(lambda w, a: a + 1, (P(), P("x")), P("x"))(W, X), X + 1)
                close(mapped(lambda w: w * jnp.ones(2), P(), P("x"))(W), np.full(8, 3))
    with xfront.auto_pcast(False):
        slope = xfront.grad(lambda w: mapped(bodies[0][1], (P(), P("x")), P("x"))(w, X).sum())
        close(slope(W), X.sum())


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, DEVICES)
