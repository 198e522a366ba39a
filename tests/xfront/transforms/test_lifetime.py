"""What a jitted function holds: it goes with it, and is no part of what is pickled."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import make_ir
from xfront_ir.core import Function
from xfront_ir.passes.inline import settle
from xfront_ir.passes.pipeline import simplify

ROOT = Path(__file__).resolve().parents[3]

HOLDERS: dict[str, Callable[[Any], Any]] = {
    "called": lambda big: jax.jit(lambda x: x + big)(1.0),
    "gradient": lambda big: jax.grad(lambda x: jnp.sum(x * big))(1.0),
    "jitted gradient": lambda big: jax.jit(jax.grad(lambda x: jnp.sum(x * big)))(1.0),
    "batch": lambda big: jax.vmap(lambda x: x * big)(jnp.ones(2)),
    "loop": lambda big: jax.lax.fori_loop(0, 3, lambda i, x: x * big, big),
    "inner": lambda big: jax.grad(lambda x: jnp.sum(jax.jit(lambda x: x + big)(x)))(1.0),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_captured_arrays_go_with_their_function(name: str) -> None:
    big = jnp.arange(5000.0) + 1
    gone = weakref.ref(big)
    gc.collect()
    gc.disable()
    try:
        HOLDERS[name](big)
        del big
        assert gone() is None
    finally:
        gc.enable()


def test_functions_of_the_ir_die_by_reference_count() -> None:
    def alive() -> set[int]:
        return {id(x) for x in gc.get_objects() if type(x) is Function}

    def transform() -> None:
        def inner(c: Any, x: Any) -> tuple[Any, None]:
            return c + jax.grad(lambda y: jax.jit(jnp.sin)(y) * 2)(x), None

        function = make_ir(jax.jit(lambda x: jax.lax.scan(inner, 0.0, x)[0]))(jnp.ones(3)).ir
        simple = simplify(function)
        assert simplify(simple) is simple and simplify(function) is simple
        assert settle(function) is settle(settle(function))

    transform()
    gc.collect()
    gc.disable()
    try:
        known = alive()
        transform()
        assert alive() <= known
    finally:
        gc.enable()


def test_a_jitted_function_goes_with_its_last_reference() -> None:
    def f(x: Any) -> Any:
        return x + 1

    compiled = jax.jit(f)
    compiled(1.0)
    gone = weakref.ref(compiled)
    gc.disable()
    try:
        del compiled
        assert gone() is None
    finally:
        gc.enable()


@jax.jit
def named(x: Any) -> Any:
    return x * 2


def test_functions_with_a_name_are_pickled_by_it() -> None:
    assert pickle.loads(pickle.dumps(named)) is named
    assert pickle.loads(pickle.dumps(jnp.sin)) is jnp.sin
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(jax.jit(lambda x: x))


RATE = 3.0
PICKLED: dict[str, tuple[Any, tuple, Any]] = {
    "jit": (jax.jit(lambda x: x * RATE), (2.0,), 6.0),
    "static": (jax.jit(lambda x, n: x * len(n), static_argnums=1), (2.0, "abc"), 6.0),
    "donated": (jax.jit(lambda x: x + 1, donate_argnums=0), (np.float32(1),), 2.0),
    "jit of grad": (jax.jit(jax.grad(lambda x: x ** 3)), (2.0,), 12.0),
    "grad": (jax.grad(lambda x: x ** 3), (2.0,), 12.0),
    "vmap": (jax.vmap(lambda x: x * 2), (np.ones(2, np.float32),), [2.0, 2.0]),
    "checkpoint": (jax.checkpoint(lambda x: x * 2), (2.0,), 4.0),
    "partial": (jax.tree_util.Partial(jax.jit(lambda x, y: x + y), 1.0), (2.0,), 3.0),
    "closure": (lambda x: named(x) + 1, (2.0,), 5.0),
}


def test_functions_without_a_name_are_pickled_by_content(tmp_path: Path) -> None:
    def content(value: Any) -> bytes:
        return cloudpickle.dumps(value)

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        (tmp_path / "functions").write_bytes(content(
            {name: (f, args) for name, (f, args, _) in PICKLED.items()}))
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    script = ("import pickle, numpy as np\n"
              f"for n, (f, a) in pickle.load(open({str(tmp_path / 'functions')!r}, 'rb')).items():"
              "\n    print(n, np.asarray(f(*a)).tolist(), sep=': ')")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(f"{n}: {y}\n" for n, (_, _, y) in PICKLED.items())


def by_a_rule(host: Callable[..., Any], type_: Any) -> Any:
    """A function whose backward rule alone calls the host."""
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return 2 * x

    f.defvjp(lambda x: (2 * x, x), lambda x, ct: (ct * jax.pure_callback(host, type_, x),))
    return f


CALLERS: dict[str, Callable[[Callable[..., Any], Any], Any]] = {
    "now": lambda f, t: jax.pure_callback(f, t, 1.0),
    "jit": lambda f, t: jax.jit(lambda x: jax.pure_callback(f, t, x))(1.0),
    "vmap": lambda f, t: jax.vmap(
        lambda x: jax.pure_callback(f, t, x, vmap_method="sequential"))(jnp.ones(2)),
    "loop": lambda f, t: jax.lax.fori_loop(0, 2, lambda i, x: jax.pure_callback(f, t, x), 1.0),
    "gradient": lambda f, t: jax.grad(
        lambda x: x * jax.pure_callback(f, t, jax.lax.stop_gradient(x)))(1.0),
    "rule": lambda f, t: jax.grad(by_a_rule(f, t))(1.0),
    "jitted_rule": lambda f, t: jax.jit(jax.grad(by_a_rule(f, t)))(1.0),
    "io": lambda f, t: jax.jit(lambda x: jax.experimental.io_callback(f, t, x))(1.0),
    "debug": lambda f, t: jax.jit(lambda x: jax.debug.callback(f, x))(1.0),
}


@pytest.mark.parametrize("name", CALLERS)
def test_host_functions_go_with_what_calls_them(name: str) -> None:
    type_ = jax.ShapeDtypeStruct((), np.float32)
    gone = []
    for _ in range(16):                          # a function's later programs run by units
        big = np.zeros(50_000)

        def host(x: Any, big: Any = big) -> Any:
            return np.float32(x + big[0])

        gone.append(weakref.ref(host))
        jax.block_until_ready(CALLERS[name](host, type_))
        jax.effects_barrier()
        del host, big
    gc.collect()
    assert [ref() for ref in gone].count(None) >= 15   # that of the last run may be under way


def test_a_jitted_function_keeps_its_host_function() -> None:
    f = jax.jit(lambda x: jax.pure_callback(lambda y: y * np.float32(2),
                                            jax.ShapeDtypeStruct((), np.float32), x))
    for i in range(3):
        gc.collect()
        assert float(f(float(i))) == 2 * i
    jax.clear_caches()
    gc.collect()
    assert float(f(3.0)) == 6.0
