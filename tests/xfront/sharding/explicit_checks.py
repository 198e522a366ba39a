"""Checks on eight CPU devices, run by `test_on_eight_devices.py`: types over explicit axes.

The types and the classes of errors are JAX's, for the same functions. Most are asked of the trace
alone.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, for_seeds, report
from xfront import lax
from xfront.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    SingleDeviceSharding,
    auto_axes,
    explicit_axes,
    get_abstract_mesh,
    reshard,
    set_mesh,
    use_abstract_mesh,
)
from xfront.sharding import PartitionSpec as P
from xfront.sharding.errors import ShardingTypeError

from . import checks
from .checks import grid, raises

DEVICES = 8


def mesh() -> Mesh:
    return xfront.make_mesh((4, 2), ("x", "y"))


def put(shape: tuple[int, ...], *spec: Any, dtype: Any = np.float32) -> Any:
    """An array on the explicit mesh."""
    return xfront.device_put((grid(*shape) % 7).astype(dtype), NamedSharding(mesh(), P(*spec)))


def agrees(name: str, f: Callable[..., Any], args: Any, expected: str) -> None:
    """The text of the result's type, or a part of the error where it begins with its class."""
    try:
        leaves = xfront.tree.leaves(xfront.eval_shape(f, *args))
        found = " ".join([str(x.aval) for x in leaves])
    except (ShardingTypeError, TypeError, ValueError, AssertionError, NotImplementedError) as e:
        found = f"{type(e).__name__}: {e}"
        kind, _, part = expected.partition(": ")
        assert found.startswith(kind) and part in found, (name, found)
        return
    assert found == expected, (name, found)


def check_what_is_told_where_it_lies_has_the_same_values() -> None:
    key, x = xfront.random.key(0), jnp.arange(8.0)
    made = xfront.nn.initializers
    calls: list[Callable[..., Any]] = [
        lambda s: xfront.random.uniform(key, (8, 4), out_sharding=s),
        lambda s: made.glorot_normal()(key, (8, 4), np.float32, s),
        lambda s: made.orthogonal()(key, (8, 4), out_sharding=s),
        lambda s: made.constant(2.0)(key, (8, 4), out_sharding=s),
        lambda s: jnp.repeat(x, 2, out_sharding=s),
        lambda s: lax.ragged_dot(jnp.sin(jnp.outer(x, x)), jnp.ones((2, 8, 4)),
                                 jnp.array([3, 5]), out_sharding=s)]
    with set_mesh(mesh()):
        for call in calls:
            for f in (call, lambda s, call=call: xfront.jit(lambda: call(s))()):
                found = f(P("x"))
                assert found.sharding.spec[0] == "x", found.sharding
                np.testing.assert_allclose(found, call(None), rtol=1e-5, atol=1e-6)


def check_types_of_results_are_those_of_jax() -> None:
    x, a, r = put((8, 4), "x", "y"), put((8, 4), "x"), put((8, 4))
    b, z = put((8, 4), None, "y"), put((8, 4), "y", "x")
    xy, v, w = put((8, 4), ("x", "y")), put((8,), "x"), put((8,), "y")
    sq, c = put((8, 8), "x", "y"), put((8, 8, 8), "x", None, "y")
    i = put((8,), "x", dtype=np.int32)
    refused = "ShardingTypeError: "
    table: list[tuple[Callable[..., Any], Any, str]] = [
        (jnp.sin, (x,), "float32[8@x,4@y]"), (jnp.add, (a, b), "float32[8@x,4@y]"),
        (jnp.add, (x, r), "float32[8@x,4@y]"), (lambda x: x + 1, (xy,), "float32[8@(x,y),4]"),
        (jnp.add, (x, z), refused + "incompatible shardings for broadcasting: ('x', 'y'), ('y', "),
        (jnp.add, (xy, a), refused + "(('x', 'y'), None), ('x', None)"),
        (jnp.add, (v, w), refused + "('x',), ('y',)"),
        (lambda v, w: v[:, None] * w[None], (v, w), "float32[8@x,8@y]"),
        (lambda v: v[:, None] * v[None], (v,), refused + "illegally sharded result"),
        (lambda x, a: jnp.where(x > 0, x, a), (x, a), refused + "the same shardings"),
        (lambda x: jnp.where(x > 0, x, 0.), (x,), "float32[8@x,4@y]"),
        (lambda a, b: a @ b.T, (a, b), "float32[8@x,8]"),
        (lambda r, b: r.T @ b, (r, b), "float32[4,4@y]"),
        (lambda x: x @ x.T, (x,), refused + "out_sharding"),
        (lambda s: s @ s, (sq,), refused + "consistent sharding"),
        (lambda a: a @ a.T, (a,), refused + "illegally sharded result: f32[8@x,8@x]"),
        (lambda a: jnp.matmul(a.T, a, out_sharding=P("x")), (a,), "float32[4@x,4]"),
        (lambda a: jnp.einsum("ij,ik->jk", a, a, out_sharding=P()), (a,), "float32[4,4]"),
        (lambda c: jnp.einsum("bij,bkj->bik", c, c[:, :4]), (put((8, 8, 8), "x"),),
         "float32[8@x,8,4]"),
        (jnp.sum, (x,), "float32[]"), (lambda x: x.max(0), (x,), "float32[4@y]"),
        (lambda x: x.sum(0, keepdims=True), (x,), "float32[1,4@y]"),
        (lambda x: x.argmax(1), (x,), "int32[8@x]"), (lambda x: (x > 0).any(0), (x,), "bool[4@y]"),
        (lambda a: jnp.cumsum(a, 1), (a,), "float32[8@x,4]"),
        (lambda a: jnp.cumsum(a, 0), (a,), refused + "unsharded over"),
        (lambda a: jnp.sort(a, 1), (a,), "float32[8@x,4]"),
        (lambda a: jnp.sort(a, 0), (a,), refused + "unsharded over"),
        (lambda a: lax.top_k(a, 2), (a,), "float32[8@x,2] int32[8@x,2]"),
        (lambda x: x.T, (x,), "float32[4@y,8@x]"),
        (lambda x: x.reshape(32), (x,), "float32[32@(x,y)]"),
        (lambda x: x.reshape(4, 2, 4), (x,), "float32[4@x,2,4@y]"),
        (lambda x: x.reshape(1, 8, 2, 2), (x,), "float32[1,8@x,2@y,2]"),
        (lambda x: x.reshape(2, 4, 4), (x,), refused + "This reshape is not supported"),
        (lambda c: c.reshape(8, 64), (c,), refused + "new sizes: (8, 64)"),
        (lambda c: c.reshape(64, 8), (c,), "float32[64@x,8@y]"),
        (lambda x: jnp.reshape(x, (2, 16), out_sharding=P(None, "x")), (x,), "float32[2,16@x]"),
        (lambda x: jnp.broadcast_to(x, (3, 8, 4)), (x,), "float32[3,8@x,4@y]"),
        (lambda x: x[:4], (x,), "float32[4@x,4@y]"), (lambda a: a[:, 1:], (a,), "float32[8@x,3]"),
        (lambda a: a[:, 1], (a,), "float32[8@x]"), (lambda a: a[::-1], (a,), "float32[8@x,4]"),
        (lambda x: x[3], (x,), refused + "is not divisible by mesh axes (4)"),
        (lambda x: x[2:3], (x,), refused + "is not divisible"),
        (lambda a: a[jnp.array([0, 1])], (a,), refused + ".at[...].get(out_sharding=)"),
        (lambda a: a[:, jnp.array([0, 1])], (a,), "float32[8@x,2]"),
        (lambda r, i: r[i], (r, i), refused + ".at[...].get(out_sharding=)"),
        (lambda r, i: r.at[i].get(out_sharding=P("x")), (r, i), "float32[8@x,4]"),
        (lambda a, i: jnp.take_along_axis(a, i[:, None], 1), (a, i), "float32[8@x,1]"),
        (lambda x: x.at[0].set(1.), (x,), refused + "set/add/mul/...(out_sharding=)"),
        (lambda x: x.at[0].set(1., out_sharding=P("x", "y")), (x,), "float32[8@x,4@y]"),
        (lambda a: lax.dynamic_slice_in_dim(a, 1, 2, 1), (a,), "float32[8@x,2]"),
        (lambda a: lax.dynamic_update_slice_in_dim(a, a[:, :2], 1, 1), (a,), "float32[8@x,4]"),
        (lambda x: jnp.concatenate([x, x]), (x,), "float32[16@x,4@y]"),
        (lambda a, r: jnp.concatenate([a, r]), (a, r), refused + "the same sharding"),
        (lambda x: jnp.stack([x, x]), (x,), "float32[2,8@x,4@y]"),
        (lambda a: jnp.pad(a, ((0, 0), (1, 1))), (a,), "float32[8@x,6]"),
        (lambda a: jnp.pad(a, ((1, 1), (0, 0))), (a,), refused + "not divisible"),
        (lambda x: jnp.split(x, 2), (x,), "float32[4@x,4@y] float32[4@x,4@y]"),
        (jnp.fft.fft, (a,), "complex64[8@x,4]"), (xfront.nn.softmax, (a,), "float32[8@x,4]"),
        (jnp.linalg.cholesky, (put((4, 3, 3), "x"),), "float32[4@x,3,3]"),
        (jnp.linalg.qr, (put((4, 4), "x"),), refused + "last 2 dimensions are not divided"),
        (lambda a: lax.conv_general_dilated(a[:, None], jnp.ones((1, 1, 3)), (1,), "SAME"), (a,),
         "float32[8@x,1,4]"),
        (lambda a: lax.reduce_window(a, 0., lax.add, (1, 2), (1, 2), "VALID"), (a,),
         "float32[8@x,2]"),
        (lambda x: lax.reduce_window(x, 0., lax.add, (2, 3), (1, 1), "SAME"), (x,),
         "float32[8@x,4@y]"),
        (lambda x: lax.reduce_window(x, 0., lax.max, (3, 1), (1, 1), "VALID"), (x,),
         refused + "not divisible"),
        (lambda b: lax.conv_general_dilated(b[None], jnp.ones((3, 8, 3)), (1,), "SAME"), (b,),
         "float32[1,3,4@y]"),
        (lambda a: lax.conv_general_dilated(a[None], jnp.ones((3, 8, 3)), (1,), "SAME"), (a,),
         refused + "sums over dimension 1"),
        (jnp.fft.fft, (x,), "complex64[8@x,4@y]"), (jnp.fft.rfft, (x,), refused + "not divisible"),
        (jnp.fft.fft2, (x,), "complex64[8@x,4@y]"),
        (lambda v: jnp.vander(v, 3), (v,), "float32[8@x,3]"),
        (jnp.linalg.inv, (put((4, 3, 3), "x"),), "float32[4@x,3,3]"),
        (jnp.ones_like, (x,), "float32[8@x,4@y]"),
        (lambda x: x.astype(int), (x,), "int32[8@x,4@y]"),
        (lambda v: xfront.nn.one_hot(v.astype(int), 4), (v,), "float32[8@x,4]"),
        (lambda x: lax.cond(True, lambda x: x, lambda x: x * 2, x), (x,), "float32[8@x,4@y]"),
        (lambda x, z: lax.cond(True, lambda: x, lambda: z), (x, z), "TypeError: sharding"),
        (lambda x: lax.while_loop(lambda x: x.sum() < 3, lambda x: x + 1, x), (x,),
         "float32[8@x,4@y]"),
        (lambda b: lax.scan(lambda c, r: (c + r.sum(), r * 2), 0., b), (b,),
         "float32[] float32[8,4@y]"),
        (lambda b: lax.scan(lambda c, r: (c + r, None), jnp.zeros(4), b), (b,),
         "TypeError: f32[4@y]"),
        (lambda x: lax.scan(lambda c, r: (c, r), 0., x), (x,), "ValueError: 0th dimension"),
        (xfront.vmap(lambda r: r * 2), (x,), "float32[8@x,4@y]"),
        (xfront.vmap(jnp.sum), (x,), "float32[8@x]"),
        (xfront.vmap(lambda r: r * 2, 1, 1), (x,), "float32[8@x,4@y]"),
        (xfront.vmap(jnp.add), (x, z), "ValueError: should be sharded the same"),
        (xfront.vmap(jnp.add), (a, r), "ValueError: x vs None"),
        (xfront.grad(lambda x: jnp.sin(x).sum()), (x,), "float32[8@x,4@y]"),
        (xfront.jacrev(lambda v: v * v), (v,), "float32[8,8@x]"),
        (lambda x: reshard(x, P(None, "x")), (x,), "float32[8,4@x]"),
        (lambda x: lax.with_sharding_constraint(x, P("x", "y")), (x,), "float32[8@x,4@y]"),
        (lambda x: lax.with_sharding_constraint(x, P("x")), (x,), "AssertionError: reshard"),
        (lambda x: xfront.random.normal(xfront.random.key(0), (8, 4), out_sharding=P("x", "y")),
         (x,), "float32[8@x,4@y]"),
        (lambda x: jnp.repeat(x, 2, 0, out_sharding=P("x")), (x,), "float32[16@x,4]"),
        (lambda a: jnp.repeat(a, 2, 0), (a,), "ValueError: out_sharding"),
        (lambda a: jnp.repeat(a, 2), (a,), "ValueError: out_sharding"),
        (lambda a: jnp.repeat(a, 2, 1), (a,), "float32[8@x,8]"),
        (lambda x: lax.ragged_dot(x, jnp.ones((1, 4, 2)), jnp.array([8]), out_sharding=P("x")),
         (x,), "float32[8@x,2]"),
        (lambda a: lax.ragged_dot(a, jnp.ones((1, 4, 2)), jnp.array([8])), (a,),
         "NotImplementedError: out_sharding"),
        (lambda x: xfront.random.uniform(xfront.random.key(0), (8, 4), out_sharding=P("x", "y")),
         (x,), "float32[8@x,4@y]"),
        (lambda x: xfront.nn.initializers.normal()(xfront.random.key(0), (8, 4), None, P("x")),
         (x,), "float32[8@x,4]"),
        (lambda x: xfront.nn.initializers.orthogonal()(
            xfront.random.key(0), (8, 4), out_sharding=P("x")), (x,), "float32[8@x,4]"),
        (lambda x: xfront.nn.initializers.zeros(
            xfront.random.key(0), (8, 4), out_sharding=P("x", "y")), (x,), "float32[8@x,4@y]"),
        (lambda x: jnp.zeros((8, 4), out_sharding=P("x")), (x,), "float32[8@x,4]"),
        (xfront.jit(lambda x: x * 2), (x,), "float32[8@x,4@y]"),
        (xfront.checkpoint(lambda x: jnp.sin(x)), (x,), "float32[8@x,4@y]")]
    with set_mesh(mesh()):
        for k, (f, args, expected) in enumerate(table):
            agrees(f"row {k}, {expected}", f, args, expected)


def check_types_tell_the_sharding() -> None:
    x = put((8, 4), "x", "y")
    kind = xfront.typeof(x)
    assert str(kind) == "float32[8@x,4@y]" and repr(kind) == "ShapedArray(float32[8@x,4@y])"
    assert kind.sharding.mesh == mesh().abstract_mesh and kind.sharding.spec == P("x", "y")
    met: list[Any] = []
    xfront.jit(lambda x: met.append(xfront.typeof(x.sum(0))))(x)
    assert met[0].sharding.spec == P("y") and met[0].sharding.mesh == mesh().abstract_mesh
    assert met[0] != xfront.typeof(jnp.ones(4)) and str(xfront.typeof(1.)) == "~float32[]"
    auto = xfront.device_put(grid(8, 4), checks.on("x"))
    assert str(xfront.typeof(auto)) == "float32[8,4]"
    keys = xfront.random.split(xfront.random.key(0), 8)
    keys = xfront.device_put(keys, NamedSharding(mesh(), P("x")))
    made = xfront.vmap(lambda k: xfront.random.uniform(k, (2,)))(keys)
    assert str(xfront.typeof(made)) == "float32[8@x,2]", xfront.typeof(made)
    text = str(xfront.make_jaxpr(lambda x: x.T)(x))
    assert "f32[4@y,8@x] = transpose" in text, text


def lies(made: Any, kind: str, values: Any) -> None:
    """Its type, and that it lies so."""
    assert str(xfront.typeof(made)) == kind, (xfront.typeof(made), kind)
    spec = xfront.typeof(made).sharding.spec
    assert made.sharding.is_equivalent_to(NamedSharding(mesh(), spec), made.ndim), made.sharding
    np.testing.assert_allclose(made, values, rtol=1e-5, atol=1e-4)


def check_results_lie_as_their_types_say() -> None:
    """Eagerly, under jit, and their derivatives."""
    a, w = put((8, 4), "x"), put((4, 8), None, "y")
    x, y = np.asarray(a), np.asarray(w)

    def loss(a: Any, w: Any) -> Any:
        return jnp.sin(a @ w).sum()

    slope = np.cos(x @ y)
    for f in (lambda f: f, xfront.jit):
        lies(f(jnp.matmul)(a, w), "float32[8@x,8@y]", x @ y)
        da, dw = f(xfront.grad(loss, (0, 1)))(a, w)
        lies(da, "float32[8@x,4]", slope @ y.T)
        lies(dw, "float32[4,8@y]", x.T @ slope)
        lies(f(lambda a: a.sum(0))(a), "float32[4]", x.sum(0))
        lies(f(lambda a: xfront.vmap(xfront.grad(lambda r: (r ** 2).sum()))(a))(a),
             "float32[8@x,4]", 2 * x)
    with set_mesh(mesh()):
        def told(a: Any) -> Any:
            return jnp.einsum("ij,ik->jk", a, a, out_sharding=P("x"))

        for f in (lambda f: f, xfront.jit):
            lies(f(told)(a), "float32[4@x,4]", x.T @ x)
            lies(f(xfront.grad(lambda a: told(a).sum()))(a), "float32[8@x,4]",
                 np.repeat(2 * x.sum(1, keepdims=True), 4, 1))
            lies(f(lambda a: a[::2])(put((16, 4), "x")), "float32[8@x,4]",
                 np.asarray(put((16, 4), "x"))[::2])
    step = xfront.jit(xfront.grad(lambda w: loss(a, w)))
    assert "all-reduce" in step.lower(w).compile().as_text()


def check_windows_and_transforms_along_divided_dimensions() -> None:
    """Devices exchange edges. Without whole parts, XLA ends the process in a transform along eight
    parts of three dimensions."""
    def all_of(x: Any) -> Any:
        return (lax.reduce_window(x, 0., lax.add, (1, 1, 3), (1, 1, 1), "SAME"),
                lax.conv_general_dilated(x, jnp.ones((2, 8, 3)), (1,), "SAME"),
                jnp.fft.fft(x), jnp.fft.ifft2(x))

    plain = np.asarray(grid(4, 8, 8)) % 7
    for auto in (False, True):
        kinds = (AxisType.Auto if auto else AxisType.Explicit,) * 2
        over = xfront.make_mesh((4, 2), ("x", "y"), axis_types=kinds)
        for spec in (P(None, None, "x"), P(None, None, ("x", "y")), P("x", None, "y")):
            x = xfront.device_put(plain.astype(np.float32), NamedSharding(over, spec))
            for found, expected in zip(xfront.jit(all_of)(x), all_of(jnp.asarray(plain * 1.)),
                                       strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def check_rows_of_a_divided_array() -> None:
    """Iteration gathers the rows, once; the other dimensions stay divided."""
    for spec, kind in ((("x",), "float32[4]"), ((("x", "y"),), "float32[4]"),
                       (("x", "y"), "float32[4@y]")):
        a = put((8, 4), *spec)
        for row, value in zip(a, np.asarray(a), strict=True):
            lies(row, kind, value)


def check_arrays_that_are_made_like_a_divided_one() -> None:
    a = put((8, 4), "x")
    for like in (jnp.zeros_like, jnp.ones_like, lambda x: jnp.full_like(x, 3.0),
                 lambda x: lax.full_like(x, 3.0)):
        n = np.asarray(like(np.asarray(a)))
        for f in (lambda f: f, xfront.jit):
            with set_mesh(mesh()):                # the type is all that is read of the array
                lies(f(like)(a), "float32[8@x,4]", n)
            lies(f(xfront.grad(lambda a, like=like: (like(a) * a).sum()))(a), "float32[8@x,4]", n)


def check_derivatives_that_are_zero_lie_as_what_they_are_of() -> None:
    """Zeros that no op made, of a value that nothing reads or of `stop_gradient`."""
    a, w = put((8, 4), "x"), put((4, 8), None, "y")
    kinds, zeros = ("float32[8@x,4]", "float32[4,8@y]"), (np.zeros((8, 4)), np.zeros((4, 8)))

    def loss(a: Any, w: Any) -> Any:
        return (a * a).sum()

    def held(w: Any) -> Any:
        return lax.stop_gradient(w)

    rule = xfront.custom_vjp(lambda a, w: a * w.sum())
    rule.defvjp(lambda a, w: (a * w.sum(), None), lambda _, ct: (ct, None))
    with set_mesh(mesh()):
        for f in (lambda f: f, xfront.jit):
            for made in (f(xfront.grad(loss, (0, 1)))(a, w)[1],
                         f(xfront.grad(xfront.checkpoint(loss), 1))(a, w),
                         f(xfront.grad(lambda a, w: rule(a, w).sum(), 1))(a, w),
                         f(lambda a, w: xfront.vjp(lambda a, w: a * a, a, w)[1](a)[1])(a, w),
                         f(lambda w: xfront.jvp(held, (w,), (w,))[1])(w),
                         f(lambda w: xfront.linearize(held, w)[1](w))(w),
                         f(lambda a, w: xfront.linear_transpose(lambda a, w: a, a, w)(a)[1])(a, w)):
                lies(made, kinds[1], zeros[1])
            lies(f(xfront.jacrev(lambda a: w.sum(1)))(a), "float32[4,8@x,4]", np.zeros((4, 8, 4)))
            lies(f(lambda a: lax.full_like(a, 2.0))(a), kinds[0], zeros[0] + 2)
        reduced = reshard(w, P(reduced={"y"}))
        slopes = xfront.jit(xfront.grad(loss, 1))(a, reduced)
        assert str(xfront.typeof(slopes)) == "float32[4,8]{U:y}", xfront.typeof(slopes)
    host = xfront.device_put(w, w.sharding.with_memory_kind("pinned_host"))
    found = xfront.jit(xfront.grad(loss, 1))(a, host)
    assert found.sharding.memory_kind == "pinned_host"


def check_resharding_and_its_derivative() -> None:
    a, z = put((8, 4), "x"), put((8, 4), "y", "x")
    with set_mesh(mesh()):
        moved = reshard(a, P("y", "x"))
        lies(moved, "float32[8@y,4@x]", a)
        found = xfront.grad(lambda a: (reshard(a, P("y", "x")) * z).sum())(a)
        lies(found, "float32[8@x,4]", z)
        lies(xfront.jit(lambda a: xfront.device_put(a, P(None, "y")))(a), "float32[8,4@y]", a)
        lies(xfront.jit(lambda a: a * 1, in_shardings=P("y"))(np.asarray(a)), "float32[8@y,4]", a)


def check_axes_made_auto_and_explicit() -> None:
    a = put((8, 4), "x")
    value = np.asarray(a)
    with set_mesh(mesh()):
        def third(a: Any) -> Any:
            assert xfront.typeof(a).sharding.mesh.axis_types == (AxisType.Auto,) * 2
            return a[3]

        gram = auto_axes(lambda a: a.T @ a, out_sharding=P("x"))
        for f in (lambda f: f, xfront.jit):
            lies(f(auto_axes(third, out_sharding=P()))(a), "float32[4]", value[3])
            lies(f(gram)(a), "float32[4@x,4]", value.T @ value)
            lies(f(xfront.grad(lambda a: gram(a).sum()))(a), "float32[8@x,4]",
                 np.repeat(2 * value.sum(1, keepdims=True), 4, 1))
    raises(TypeError, ["out_sharding"], lambda: auto_axes(lambda a: a)(a))
    auto = xfront.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    with set_mesh(auto):
        met: list[str] = []

        def inner(x: Any) -> Any:
            met.append(str(xfront.typeof(x)))
            return x * 2

        x = xfront.device_put(value, P("x"))
        made = xfront.jit(explicit_axes(inner, in_sharding=P("x", "y")))(x)
        assert met == ["float32[8@x,4@y]"] and str(xfront.typeof(made)) == "float32[8,4]"
        np.testing.assert_array_equal(made, 2 * value)
        assert get_abstract_mesh() == auto.abstract_mesh


def check_errors_stand_at_the_users_line() -> None:
    x = put((8, 4), "x")
    for f in (lambda: x + x.T.reshape(8, 4), xfront.jit(lambda: x @ x.T @ x)):
        try:
            f()
        except ShardingTypeError as e:
            frames = traceback.extract_tb(e.__traceback__)
            assert frames[-1].filename == __file__, frames
        else:
            raise AssertionError("nothing was raised")


def check_specs_of_shard_map_from_types() -> None:
    x = put((8, 4), "x", "y")
    with set_mesh(mesh()):
        met: list[str] = []

        def body(x: Any) -> Any:
            met.append(str(xfront.typeof(x)))
            return x * 2

        twice = 2 * np.asarray(x)
        lies(xfront.shard_map(body, out_specs=P("x", "y"))(x), "float32[8@x,4@y]", twice)
        lies(xfront.shard_map(body, out_specs=P("x"), axis_names={"x"})(x), "float32[8@x,4@y]",
             2 * np.asarray(x))
        assert [m.partition("{")[0] for m in met] == ["float32[2,2]", "float32[2,4@y]"], met
        lies(xfront.smap(lambda r: r * 2, out_axes=0, axis_name="x")(x), "float32[8@x,4@y]",
             2 * np.asarray(x))
        raises(ValueError, ["does not match the specs"], lambda: xfront.shard_map(
            body, in_specs=P("y"), out_specs=P("y"))(x))
        raises(ValueError, ["closes over"], lambda: xfront.shard_map(
            lambda: x.sum(1), in_specs=(), out_specs=P())())
    raises(TypeError, ["AxisType.Explicit"], lambda: xfront.shard_map(
        body, mesh=checks.mesh(), out_specs=P("x"))(x))


def check_specs_of_shard_map_that_differ_from_types() -> None:
    """Refused where all axes are explicit and the function's, resharded elsewhere."""
    def double(a: Any) -> Any:
        return a * 2

    def mapped(mesh: Any, spec: P, **options: Any) -> Any:
        return xfront.shard_map(double, mesh=mesh, in_specs=spec, out_specs=spec, **options)

    value = np.asarray(put((8, 4)))
    rows = mapped(mesh(), P("x"))
    for x in (value, jnp.asarray(value), put((8, 4)), put((8, 4), "y"), put((8, 4), ("x", "y"))):
        for f in (rows, xfront.jit(rows)):
            raises(ValueError, ["does not match the specs", "reshard"], lambda f=f, x=x: f(x))
    raises(ValueError, ["does not match the specs"],
           lambda: mapped(mesh(), P(("x", "y")))(put((8, 4), ("y", "x"))))
    raises(ValueError, ["does not match the specs"],
           lambda: rows(xfront.random.split(xfront.random.key(0), 8)))

    for spec, options, expected in ((P("y"), {"axis_names": {"y"}}, "float32[8@(y,x),4]"),
                                    (P(None, "y"), {"axis_names": {"y"}}, "float32[8@x,4@y]"),
                                    (P(), {"axis_names": {"x"}}, "float32[8,4]"),
                                    (P(None, "x"), {"axis_names": {"x"}}, "float32[8,4@x]")):
        f, x = mapped(mesh(), spec, **options), put((8, 4), "x")
        lies(f(x), expected, 2 * value)
        lies(xfront.grad(lambda x, f=f: (f(x) * x).sum())(x) if expected == "float32[8@x,4@y]" else
             xfront.vjp(f, x)[1](f(x))[0], "float32[8@x,4]", 4 * value)
    half = xfront.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))
    x = xfront.device_put(value, NamedSharding(half, P("x")))
    np.testing.assert_array_equal(mapped(half, P("y"))(x), 2 * value)
    auto = mapped(checks.mesh(), P("x"))
    np.testing.assert_array_equal(auto(put((8, 4), "y")), 2 * value)


def check_created_arrays_have_an_entry_for_each_dimension() -> None:
    key = xfront.random.key(0)
    whole = np.ones((8, 4), np.float32)
    makers: list[Callable[[P], Any]] = [
        lambda s: jnp.zeros((8, 4), out_sharding=s), lambda s: jnp.ones((8, 4), out_sharding=s),
        lambda s: jnp.full((8, 4), 2, out_sharding=s), lambda s: jnp.empty((8, 4), out_sharding=s),
        lambda s: jnp.zeros_like(whole, out_sharding=s), lambda s: jnp.array(whole, out_sharding=s),
        lambda s: jnp.full_like(whole, 2, out_sharding=s), lambda s: reshard(whole, s),
        lambda s: xfront.random.uniform(key, (8, 4), out_sharding=s)]
    with set_mesh(mesh()):
        for make in makers:
            assert make(P("x")).sharding.spec == P("x", None)
            assert make(P()).sharding.spec == P(None, None)
        assert jnp.arange(8, out_sharding=P()).sharding.spec == P(None)
        assert jnp.zeros((8, 4), device=NamedSharding(mesh(), P("x"))).sharding.spec == P("x")


def check_eval_shape_tells_where_whole_results_are() -> None:
    value = np.ones((8, 4), np.float32)
    with set_mesh(mesh()):
        for x, spec in ((value, P(None, None)), (put((8, 4)), P(None, None)),
                        (put((8, 4), "x"), P("x", None))):
            for f in (partial(xfront.eval_shape, jnp.sin), xfront.jit(jnp.sin).eval_shape):
                assert f(x).sharding == NamedSharding(get_abstract_mesh(), spec)
            assert jnp.zeros_like(xfront.eval_shape(jnp.sin, x)).shape == (8, 4)
            assert xfront.jit(jnp.cos).lower(xfront.eval_shape(jnp.sin, x)).compile()(x).shape
    assert xfront.eval_shape(jnp.sin, value).sharding is None
    for x, spec in ((put((8, 4)), P(None, None)), (put((8, 4), "x"), P("x", None))):
        there = NamedSharding(mesh().abstract_mesh, spec)        # without the mesh in context
        assert xfront.typeof(x).sharding == there
        for f in (partial(xfront.eval_shape, jnp.sin), xfront.jit(jnp.sin).eval_shape):
            assert f(x).sharding == f(f(x)).sharding == there
            assert xfront.eval_shape(jnp.sum, f(x)).sharding == NamedSharding(there.mesh, P())
    over = NamedSharding(checks.mesh(), P("x"))
    assert xfront.typeof(xfront.device_put(value, over)).sharding == NamedSharding(
        over.mesh.abstract_mesh, P(None, None))                  # types say nothing of auto axes
    assert xfront.typeof(put((8, 4))) == xfront.typeof(jnp.asarray(value))
    raises(TypeError, ["NamedSharding(mesh, spec)"],
           lambda: xfront.ShapeDtypeStruct((8, 4), np.float32, sharding=P("x")))


def check_gradients_of_transforms_of_divided_arrays() -> None:
    """XLA gave a transform the layout of what was gathered, and refused it when it ran."""
    value = (np.arange(64) % 7).astype(np.float32).reshape(4, 4, 4)

    def energy(name: str, x: Any) -> Any:
        return (jnp.abs(getattr(jnp.fft, name)(x, axes=(-2, -1))) ** 2).sum()

    slopes = xfront.grad(lambda x: sum([energy(n, x) for n in ("fft2", "rfft2", "irfft2")]))
    expected = slopes(value)
    for spec in (P("x", None, "y"), P(None, "x", "y"), P("y", None, "x")):
        x = xfront.device_put(value, NamedSharding(checks.mesh(), spec))
        np.testing.assert_allclose(slopes(x), expected, rtol=1e-5, atol=1e-4)
    x, fft2 = put((8, 4), "x", "y"), xfront.grad(partial(energy, "fft2"))
    lies(fft2(x), "float32[8@x,4@y]", fft2(np.asarray(x)))
    parts = xfront.shard_map(lambda x: xfront.grad(partial(energy, "fft2"))(x), mesh=checks.mesh(),
                             in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_allclose(parts(value), xfront.vmap(fft2)(value), rtol=1e-5, atol=1e-4)


# --- at random ----------------------------------------------------------------------------

def agree(seed: int) -> None:
    """A random program on a mesh with explicit axes is refused, or gives the values of one device
    where its type says, and slopes that lie as what they are slopes of."""
    rng = random.Random(seed)
    made, shape, first, second = checks.drawn(rng, (AxisType.Auto, AxisType.Explicit))
    values = np.random.default_rng(seed)
    a, b = [values.standard_normal(shape).astype(np.float32) for _ in range(2)]
    f = rng.choice(checks.FUNCTIONS)
    x = xfront.device_put(a, NamedSharding(made, first))
    y = xfront.device_put(b, NamedSharding(made, second))
    try:
        kind = xfront.eval_shape(f, x, y).aval
    except ShardingTypeError:
        return
    expected = f(jnp.asarray(a), jnp.asarray(b))
    for result in (xfront.jit(f)(x, y), f(x, y)):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
        assert xfront.typeof(result) == kind, (xfront.typeof(result), kind)
    if expected.dtype == np.float32:
        slope = xfront.grad(lambda a: f(a, y).sum())(x)
        assert xfront.typeof(slope) == xfront.typeof(x)
        np.testing.assert_allclose(
            slope, xfront.grad(lambda v: f(v, jnp.asarray(b)).sum())(jnp.asarray(a)),
            rtol=1e-3, atol=1e-3)


def check_random_programs_agree_or_are_refused() -> None:
    for_seeds(agree, 12)


def check_out_sharding_names_explicit_axes_alone() -> None:
    auto = xfront.make_mesh((4, 2), ("x", "y"), (AxisType.Auto, AxisType.Auto))
    mixed = xfront.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    a, key = jnp.ones((8, 8)), xfront.random.key(0)
    calls: list[Callable[[Any], Any]] = [
        lambda s: jnp.ones((8, 8), out_sharding=s), lambda s: jnp.dot(a, a, out_sharding=s),
        lambda s: a.at[jnp.arange(8)].get(out_sharding=s), lambda s: jnp.arange(8, out_sharding=s),
        lambda s: jnp.reshape(a, (8, 8), out_sharding=s), lambda s: jnp.array(a, out_sharding=s),
        lambda s: jnp.einsum("ij,jk", a, a, out_sharding=s),
        lambda s: xfront.random.normal(key, (8, 8), out_sharding=s),
        lambda s: lax.broadcasted_iota(np.float32, (8, 8), 0, out_sharding=s),
        lambda s: jnp.zeros_like(a, out_sharding=s)]
    for call in calls:
        for made, axis in ((auto, "x"), (mixed, "y")):
            sharding = NamedSharding(made, P(axis))
            for run in (call, lambda s, call=call: xfront.jit(lambda: call(s))()):
                raises(ValueError, ["type Auto or Manual", f"axis name: {axis}"],
                       partial(run, sharding))
            assert call(NamedSharding(made, P())).sharding.is_fully_replicated
    assert jnp.ones(8, device=NamedSharding(auto, P("x"))).sharding.spec == P("x")


def check_numbers_that_fill_an_array_on_a_device_are_strong() -> None:
    first = xfront.devices()[0]
    for place in (first, SingleDeviceSharding(first), NamedSharding(mesh(), P("x"))):
        for made in (jnp.full(8, 1.0, device=place), jnp.full(8, jnp.asarray(1.0), device=place),
                     jnp.full_like(jnp.asarray(1.0), 1.0, shape=(8,), device=place)):
            assert not made.aval.weak_type
        assert xfront.jit(lambda place=place: jnp.full(8, 1.0, device=place))().aval.weak_type
    assert jnp.full(8, 1.0).aval.weak_type


def check_results_of_shard_map_have_the_specs_that_were_written() -> None:
    explicit, auto = mesh(), xfront.make_mesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)
    one = xfront.make_mesh((1,), ("x",), (AxisType.Auto,))
    a = np.ones((8, 8), np.float32)
    for made, specs in ((auto, [P("x"), P("x", None), P(), P(("x", "y")), P(None, "x")]),
                        (explicit, [P("x"), P("x", None), P(), P(("x", "y"))]),
                        (one, [P("x"), P(None, "x"), P()])):
        for spec in specs:
            given = xfront.device_put(a, NamedSharding(made, spec))
            found = xfront.shard_map(lambda a: a * 2, mesh=made, in_specs=spec, out_specs=spec)(
                given)
            assert found.sharding == NamedSharding(made, spec), (made, spec, found.sharding)
            np.testing.assert_array_equal(found, 2 * a)
            np.testing.assert_array_equal(found + 1, 2 * a + 1)


def check_programs_under_a_mesh_without_devices() -> None:
    """With explicit axes alone in context, a program runs where its arguments lie on several
    devices, and nowhere else."""
    x, numbers = put((8, 8), "x"), np.ones((8, 8), np.float32)
    values = np.asarray(x)
    whole, kept = jnp.asarray(numbers), xfront.device_put(numbers, xfront.devices()[1])
    add = xfront.jit(lambda a: a + 1)
    assert add(whole).devices() == {xfront.devices()[0]}
    for own in (mesh().abstract_mesh, AbstractMesh((1,), ("x",), axis_types=(AxisType.Explicit,))):
        with use_abstract_mesh(own):
            for f in (add, jnp.sin, xfront.vmap(lambda a: a * 2), lambda a: jnp.asarray(a) + 1):
                for a in (whole, numbers):
                    raises(ValueError, ["no devices", "set_mesh"], lambda f=f, a=a: f(a))
                raises(ValueError, ["committed to", "id=1"], lambda f=f: f(kept))
            assert add.eval_shape(whole).shape == (8, 8)
            text = add.trace(whole).lower(lowering_platforms=("cpu",)).as_text()
            assert ("num_partitions = 8" in text) == (own.size == 8), text
    auto = Mesh(np.array(xfront.devices()).reshape(4, 2), ("x", "y")).abstract_mesh
    with use_abstract_mesh(auto):                    # says nothing of where programs run
        assert add(whole).devices() == {xfront.devices()[0]}
    with use_abstract_mesh(mesh().abstract_mesh):
        lies(add(x), "float32[8@x,8]", values + 1)
        lies(reshard(x, P(None, "y")), "float32[8,8@y]", x)
        lies(xfront.jit(lambda a: a * 2, out_shardings=P("y"))(x), "float32[8@y,8]", 2 * values)
    told = NamedSharding(mesh().abstract_mesh, P("y"))   # on the devices of the argument
    lies(xfront.jit(lambda a: a * 2, out_shardings=told)(x), "float32[8@y,8]", 2 * values)
    raises(ValueError, ["abstract mesh"], lambda: xfront.jit(jnp.sin, out_shardings=told)(whole))


def check_meshes_with_explicit_and_auto_axes() -> None:
    """Types say along explicit axes how results lie; the compiler divides along the others."""
    mixed = xfront.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))
    value = grid(8, 8)

    def on(*spec: Any) -> Any:
        return NamedSharding(mixed, P(*spec))

    x = xfront.device_put(value, on("x", "y"))
    for f, kind, spec in (
            (lambda a: reshard(a, on()), "float32[8,8]", P(None, "y")),
            (lambda a: jnp.sin(reshard(a, on())), "float32[8,8]", P(None, "y")),
            (lambda a: jnp.dot(a, a.T, out_sharding=on()), "float32[8,8]", P(None, None)),
            (lambda a: jnp.sin(a), "float32[8@x,8]", P("x", "y")),
            (lambda a: a.sum(0), "float32[8]", P("y")),
            (lambda a: lax.with_sharding_constraint(a, on()), "float32[8@x,8]", P("x", None)),
            (lambda a: lax.with_sharding_constraint(a, on("y")), "float32[8@x,8]",
             P(("x", "y"), None)),
            (auto_axes(lambda a: a * 2, axes="x", out_sharding=on()), "float32[8,8]",
             P(None, "y"))):
        made = xfront.jit(f)(x)
        assert str(xfront.eval_shape(f, x).aval) == str(xfront.typeof(made)) == kind, (made, kind)
        assert made.sharding.spec == spec, (made.sharding, spec)
        np.testing.assert_allclose(made, f(x), rtol=1e-5)
    for spec in (P("x"), P(None, "x"), P("y", "x")):
        raises(ValueError, ["only refer to Auto axes", "reshard"], lambda spec=spec: xfront.jit(
            lambda a: lax.with_sharding_constraint(a, NamedSharding(mixed, spec)))(x))


def check_repeating_what_is_divided() -> None:
    """It stays divided, but with a mesh in context the program has to say so, as in JAX."""
    x = put((8, 4), "x", "y")
    for f, kind in ((lambda a: jnp.repeat(a, 3, 0), "float32[24@x,4@y]"),
                    (lambda a: jnp.repeat(a, 2), "float32[64@(x,y)]")):
        for run in (f, xfront.jit(f)):
            lies(run(x), kind, f(np.asarray(x)))
            with set_mesh(mesh()):
                raises(ValueError, ["out_sharding"], lambda run=run: run(x))
    raises(ValueError, ["out_sharding"], lambda: jnp.repeat(x, np.array([1, 3] * 4), 0))


def check_auto_axes_of_arrays_without_a_mesh_in_context() -> None:
    value = grid(8, 8)
    auto = checks.mesh()
    f = auto_axes(jnp.sin, out_sharding=P(None, "y"))
    for x, spec in ((put((8, 8), "x"), P(None, "y")), (put((8, 8)), P(None, "y")),
                    (xfront.device_put(value, NamedSharding(auto, P("x"))), P(None, "y"))):
        made = f(x)
        assert made.sharding == NamedSharding(x.sharding.mesh, spec), made.sharding
        np.testing.assert_allclose(made, np.sin(np.asarray(x)), rtol=1e-6)
    with set_mesh(auto):
        assert xfront.jit(f)(value).sharding.spec == P(None, "y")
    assert f(value).devices() == {xfront.devices()[0]}       # specs say nothing without a mesh


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, DEVICES)
