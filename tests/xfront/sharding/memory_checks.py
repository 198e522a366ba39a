"""Checks on eight CPU devices, run by `test_on_eight_devices.py`: values in the host's memory.

Types, memories of results and classes of errors are JAX's, for the same functions.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, for_seeds, report
from xfront import lax
from xfront.ad_checkpoint import Offloadable, checkpoint_name
from xfront.memory import Space
from xfront.sharding import AxisType, NamedSharding, SingleDeviceSharding
from xfront_ir.parser import parse
from xfront_ir.printer import print_function

from .checks import drawn, raises

DEVICES = 8
OFFLOAD = xfront.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=[], names_which_can_be_offloaded=["h"], offload_src="device",
    offload_dst="pinned_host")

Move = Callable[[Any, Space], Any]


def vector() -> Any:
    return jnp.arange(4.0)


def parked() -> Any:
    return xfront.device_put(vector(), Space.Host)


def pinned(device: int = 0, kind: str = "pinned_host") -> Any:
    return SingleDeviceSharding(xfront.devices()[device], memory_kind=kind)


def is_in(x: Any, kind: str) -> bool:
    return x.sharding.memory_kind == kind and (
        str(xfront.typeof(x)).startswith(f"{x.dtype.name}<host>") == (kind == "pinned_host"))


def check_one_function_under_two_jits() -> None:
    """Where one of them tells results to be in the host's memory, the other does not."""
    for first in (True, False):
        def double(x: Any) -> Any:
            return x * 2

        plain, told = xfront.jit(double), xfront.jit(double, out_shardings=pinned())
        for f in (told, plain) if first else (plain, told):
            for _ in range(2):
                assert is_in(f(vector()), "pinned_host" if f is told else "device")


def check_arrays_move_and_types_tell_where_they_are() -> None:
    x, h = vector(), parked()
    assert is_in(x, "device") and is_in(h, "pinned_host") and h.committed
    assert str(xfront.typeof(h)) == "float32<host>[4]"
    assert xfront.typeof(h).memory_space is Space.Host
    assert xfront.typeof(x).memory_space is Space.Device
    assert is_in(xfront.device_put(h, Space.Device), "device")
    assert is_in(xfront.device_put(h, xfront.devices()[1]), "device")
    assert xfront.device_put(jnp.ones(3), pinned(2)).devices() == {xfront.devices()[2]}
    unpinned = xfront.device_put(x, pinned(0, "unpinned_host"))
    assert xfront.typeof(unpinned).memory_space is Space.Device
    raises(ValueError, ["Space.Any"], lambda: xfront.device_put(x, Space.Any))
    raises(ValueError, ["Space.Any"], lambda: xfront.jit(lambda x: xfront.device_put(
        x, Space.Any))(x))
    raises(NotImplementedError, ["unpinned_host"], lambda: xfront.jit(
        lambda x: xfront.device_put(x, pinned(0, "unpinned_host")))(x))
    raises(NotImplementedError, ["unpinned_host"], lambda: xfront.jit(
        lambda x: x, out_shardings=pinned(0, "unpinned_host"))(x))
    assert [s.name for s in Space] == ["Device", "Host", "Any"]


def check_results_are_where_their_operands_are() -> None:
    h = parked()
    same: list[Callable[[Any], Any]] = [
        lambda a: a + a, jnp.sin, lambda a: a + 1, lambda a: 2 * a, lambda a: a @ a,
        lambda a: a.sum(), lambda a: a[0], lambda a: a[1:], lambda a: a.reshape(2, 2),
        lambda a: a.astype(int), lambda a: a.at[0].set(3.0), lambda a: a * np.float32(2),
        lambda a: a + jnp.float32(2), lambda a: jnp.where(a > 1, a, 0), lambda a: a > 1,
        lambda a: jnp.concatenate([a, a]), lambda a: jnp.stack([a, a]).T,
        lambda a: lax.scan(lambda c, x: (c, c + x), a[0], a)[1],
        lambda a: lax.while_loop(lambda c: c.sum() < 30, lambda c: c + 1, a),
        lambda a: lax.cond(True, lambda a: a + 1, lambda a: a, a), xfront.vmap(jnp.sin),
        lambda a: xfront.jvp(jnp.sin, (a,), (a,))[1], xfront.grad(lambda a: jnp.sin(a).sum()),
        lambda a: lax.fori_loop(0, 3, lambda i, c: c + i, a), lambda a: a[jnp.int32(1)]]
    for f in same:
        for run in (f, xfront.jit(f)):
            for _ in range(2):
                made = run(h)
                assert is_in(made, "pinned_host"), f
                np.testing.assert_allclose(made, f(vector()), rtol=1e-6)
    both = xfront.jit(lambda a: (a * 2, xfront.device_put(a, Space.Device)))
    for _ in range(3):
        first, second = both(h)
        assert is_in(first, "pinned_host") and is_in(second, "device")


def check_operands_in_two_memories_are_refused() -> None:
    x, h = vector(), parked()
    words = ["memory_space of all inputs", "<host>[4]", "f32[4]", "device_put"]
    for f in (lambda: h + x, lambda: x * h, lambda: xfront.jit(lambda a, b: a @ b)(h, x),
              lambda: jnp.concatenate([h, x]), lambda: jnp.where(h > 1, h, x),
              lambda: h + np.ones(4, np.float32), lambda: h + jnp.arange(4.0),
              lambda: lax.dynamic_update_slice(h, x, (0,)), lambda: jnp.clip(h, x, h)):
        raises(ValueError, words, f)
    raises(ValueError, ["gather"], lambda: h[jnp.array([0, 1])])
    raises(TypeError, ["f32<host>[4]"], lambda: lax.cond(True, lambda: h, lambda: x))
    raises(TypeError, ["f32<host>[4]"], lambda: lax.while_loop(
        lambda c: c[0] < 1, lambda c: x, h))


def check_options_of_jit() -> None:
    x, h = vector(), parked()
    for told, made in ((pinned(), "pinned_host"), (pinned(0, "device"), "device")):
        for f in (lambda a: a * 2, lambda a: xfront.device_put(a, Space.Host),
                  lambda a: xfront.device_put(a, Space.Device)):
            for given in (x, h):
                assert is_in(xfront.jit(f, out_shardings=told)(given), made)
    double = xfront.jit(lambda a: a * 2, in_shardings=pinned())
    assert is_in(double(h), "pinned_host")
    raises(ValueError, ["Memory kinds", "pinned_host", "device"], lambda: double(x))
    raises(ValueError, ["Memory kinds", "pinned_host"],
           lambda: xfront.jit(lambda a: a, in_shardings=pinned(0, "device"))(h))
    inner = xfront.jit(lambda a: a * 2, out_shardings=pinned())
    assert is_in(xfront.jit(lambda a: inner(a) + 1)(x), "pinned_host")
    of_host = xfront.jit(lambda a, n: xfront.device_put(a, Space.Device) + xfront.device_put(
        n, Space.Device), in_shardings=(pinned(), pinned()))
    value = np.asarray(x)
    for way in (of_host, of_host, lambda a, n: xfront.jit(lambda: of_host(a, n))(),
                lambda a, n: xfront.jit(of_host)(a, n)):
        for given in (value, value + 1):
            found = way(given, 2.0)
            assert is_in(found, "device")
            np.testing.assert_array_equal(found, given + 2)
    np.testing.assert_array_equal(of_host(h, 1.0), np.asarray(h) + 1)
    raises(ValueError, ["Memory kinds", "pinned_host", "device"], lambda: of_host(x, 2.0))
    struct = xfront.ShapeDtypeStruct((4,), np.float32, sharding=pinned())
    lowered = xfront.jit(lambda a: xfront.device_put(a, Space.Device) + 1).lower(struct)
    assert re.search(r'%arg0: tensor<4xf32> {mhlo.memory_kind = "pinned_host"}\) -> tensor<4xf32>',
                     lowered.as_text()), lowered.as_text()
    assert is_in(lowered.compile()(h), "device")
    raises(TypeError, ["f32<host>[4]"], lambda: lowered.compile()(x))
    open_struct = xfront.ShapeDtypeStruct((4,), np.float32)      # lies where in_shardings say
    lowered = double.lower(open_struct)
    assert lowered.as_text().count("pinned_host") == 2, lowered.as_text()
    assert is_in(lowered.compile()(h), "pinned_host")
    device = xfront.ShapeDtypeStruct((4,), np.float32, sharding=pinned(0, "device"))
    raises(ValueError, ["Memory kinds", "pinned_host", "device"], lambda: double.lower(device))


def check_donated_arrays() -> None:
    double = xfront.jit(lambda a: a * 2, donate_argnums=0)
    back = xfront.jit(lambda a: xfront.device_put(a, Space.Device) * 2, donate_argnums=0)
    away = xfront.jit(lambda a: xfront.device_put(a, Space.Host) * 2, donate_argnums=0)
    expected = 2 * np.arange(4.0)
    h = parked()
    made = double(h)
    assert h.is_deleted() and is_in(made, "pinned_host")
    np.testing.assert_array_equal(double(made), 2 * expected)
    for f, given, kind, unusable in (
            (back, parked(), "device", "f32<host>[4]"), (away, vector(), "pinned_host", "f32[4]"),
            (double, xfront.device_put(vector(), pinned(0, "unpinned_host")), "device", None)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = f(given)
        np.testing.assert_array_equal(made, expected)
        assert is_in(made, kind)
        said = [str(w.message) for w in caught]
        if unusable is None:
            assert said == []
        else:       # the result is in another memory
            assert len(said) == 1 and f"not usable: {unusable}. No result" in said[0], said


def check_text_parses_and_programs_for_accelerators_have_transfers() -> None:
    def f(a: Any) -> Any:
        return xfront.device_put(jnp.sin(xfront.device_put(a * 2, Space.Host)), Space.Device)

    text = print_function(xfront.make_ir(f)(vector()).ir)
    assert 'f32[4] over [] [{}] "pinned_host" = sin' in text, text
    assert print_function(parse(text)) == text
    traced = xfront.jit(f).trace(vector())
    for platform, count in (("cpu", 0), ("tpu", 2), ("cuda", 2)):
        text = traced.lower(lowering_platforms=(platform,)).as_text()
        found = re.findall(r'@annotate_device_placement.*_xla_buffer_placement = "(\w+)"', text)
        assert found == ["pinned_host", "device"][:count], text


def check_policies_offload() -> None:
    def layer(x: Any) -> Any:
        return jnp.cos(checkpoint_name(jnp.sin(x), "h"))

    def deep(x: Any) -> Any:
        for _ in range(3):
            x = layer(x)
        return x.sum()

    offloaded = xfront.checkpoint(deep, policy=OFFLOAD)
    slope = xfront.grad(offloaded)
    x = vector()
    np.testing.assert_allclose(slope(x), xfront.grad(deep)(x), rtol=1e-6)
    text = xfront.jit(slope).trace(x).lower(lowering_platforms=("tpu",)).as_text()
    assert text.count('"pinned_host"') == text.count('_placement = "device"') == 3, text
    _, vjp = xfront.vjp(offloaded, x)
    kept = [v for v in xfront.tree.leaves(vjp) if v.sharding.memory_kind == "pinned_host"]
    assert len(kept) == 3
    products = xfront.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    w = jnp.eye(3) * 0.5
    squared: Callable[[Any], Any] = lambda w: jnp.sin(jnp.sin(w @ w) @ w).sum()
    np.testing.assert_allclose(xfront.grad(xfront.checkpoint(squared, policy=products))(w),
                               xfront.grad(squared)(w), rtol=1e-6)
    strange: Any = lambda *_, **__: Offloadable("device", "unpinned_host")
    raises(NotImplementedError, ["'device' to 'pinned_host'"],
           lambda: xfront.grad(xfront.checkpoint(deep, policy=strange))(x))


# --- at random ------------------------------------------------------------------------------

class Program:
    """A random program that moves values between memories as it goes, of which each step is a
    function of a list of values, all in the devices' memory or all in the host's."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.steps = [rng.choice(STEPS)(rng) for _ in range(rng.randint(2, 6))]
        self.spaces = [rng.choice([Space.Host, Space.Device]) for _ in self.steps]
        self.last = rng.choice([Space.Host, Space.Device])

    def run(self, values: list[Any], move: Move) -> Any:
        for step, space in zip(self.steps, self.spaces, strict=True):
            values = [*values[1:], step([move(v, space) for v in values[-2:]])]
        return move(values[-1], self.last)


def _plain(rng: random.Random) -> Any:
    c = rng.uniform(0.5, 1.5)
    return rng.choice([
        lambda v: v[0] * v[1] + c, lambda v: jnp.tanh(v[0] * c) - v[1],
        lambda v: jnp.where(v[0] > 0, v[0], c * v[1]),
        lambda v: jnp.flip(v[0], 0) / (1 + v[1] ** 2)])


def _looped(rng: random.Random) -> Any:
    n = rng.randint(1, 3)

    def step(v: list[Any]) -> Any:
        return lax.scan(lambda c, _: (jnp.sin(c) + v[1], c.sum()), v[0], None, length=n)[0]

    return step


def _chosen(rng: random.Random) -> Any:
    take = rng.random() < 0.5
    return lambda v: lax.cond(take, lambda a, b: a * b, lambda a, b: jnp.cos(a) + b, *v)


def _inner(rng: random.Random) -> Any:
    return xfront.jit(lambda v: v[0] * jnp.exp(-v[1] ** 2))


def _offloaded(rng: random.Random) -> Any:
    def body(a: Any, b: Any) -> Any:
        return jnp.sin(checkpoint_name(a * b, "h")) * checkpoint_name(jnp.cos(b), "h")

    return lambda v: xfront.checkpoint(body, policy=OFFLOAD)(*v)


def _mapped(rng: random.Random) -> Any:
    return lambda v: xfront.vmap(lambda a, b: jnp.sin(a) * b)(*v)


STEPS = [_plain, _plain, _looped, _chosen, _inner, _offloaded, _mapped]


def agree(seed: int) -> None:
    """One random program with its moves, and without them on one device: values and gradients."""
    rng = random.Random(seed)
    made, shape, first, second = drawn(rng, rng.choice([(AxisType.Auto,), (AxisType.Explicit,)]))
    if made.explicit_axes:
        second = first
    numbers = np.random.default_rng(seed)
    a, b = [numbers.standard_normal(shape).astype(np.float32) for _ in range(2)]
    program = Program(rng)
    stay: Move = lambda x, space: x
    expected = program.run([jnp.asarray(a), jnp.asarray(b)], stay)

    def slope(move: Move) -> Callable[[Any, Any], Any]:
        return xfront.grad(lambda a, b: move(program.run([a, b], move), Space.Device).sum(), (0, 1))

    slopes = slope(stay)(jnp.asarray(a), jnp.asarray(b))
    kind = rng.choice(["device", "pinned_host"])
    if rng.random() < 0.4:
        places = [pinned(rng.randrange(DEVICES), kind)] * 2
    else:
        places = [NamedSharding(made, s, memory_kind=kind) for s in (first, second)]
    x, y = [xfront.device_put(v, s) for v, s in zip((a, b), places, strict=True)]
    assert is_in(x, kind)
    wanted = "pinned_host" if program.last is Space.Host else "device"
    run: Any = lambda x, y: program.run([x, y], xfront.device_put)

    def check(result: Any) -> None:
        assert is_in(result, wanted), (result.sharding, xfront.typeof(result), wanted)
        assert result.sharding.device_set == x.sharding.device_set
        np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-4)

    for f in (run, xfront.jit(run), xfront.jit(run)):
        check(f(x, y))
    for f in (slope(xfront.device_put), xfront.jit(slope(xfront.device_put))):
        for found, right in zip(f(x, y), slopes, strict=True):
            np.testing.assert_allclose(found, right, rtol=2e-3, atol=2e-3)
            assert is_in(found, kind), found.sharding


def check_random_programs_agree_with_those_that_move_nothing() -> None:
    for_seeds(agree, 8)


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, DEVICES)
