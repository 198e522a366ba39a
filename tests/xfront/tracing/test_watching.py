"""What options ask of traces and programs: logs, explanations, refusals, leaks, checks."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.base.config import config
from xfront.errors import UnexpectedTracerError
from xfront_ir import verifier

X = np.arange(3, dtype=np.float32)


# --- logs -----------------------------------------------------------------------------------

def test_each_trace_and_compilation_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    jax.clear_caches()

    @jax.jit
    def named(x, y):
        return x * 2.125 + y

    with jax.log_compiles(), caplog.at_level(logging.WARNING, "jax"):
        named(X, 1)
        n = len(caplog.records)
        named(X, 2)
    assert len(caplog.records) == n, "what is known is not compiled"
    lines = [(r.name, r.getMessage()) for r in caplog.records]
    assert any(re.fullmatch(r"Finished tracing named for jit in [\d.]+ sec", m) for _, m in lines)
    assert ("jax._src.interpreters.pxla",
            "Compiling jit(named) with global shapes and types (f32[3], i32[]).") in lines
    assert any(name == "jax._src.dispatch" and re.fullmatch(
        r"Finished XLA compilation of jit\(named\) in [\d.]+ sec", m) for name, m in lines)


def test_what_is_lowered_and_compiled_is_logged_and_recorded(caplog: pytest.LogCaptureFixture
                                                              ) -> None:
    heard: list[tuple[str, Any]] = []

    def listener(event: str, seconds: float, **facts: Any) -> None:
        assert seconds >= 0
        heard.append((event.split("/")[-1], facts["fun_name"]))

    inner = jax.jit(jnp.cos)

    @jax.jit
    def asking(x):                               # such a program is on no disk
        return jax.pure_callback(np.sin, x, inner(x))

    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        with jax.log_compiles(), caplog.at_level(logging.WARNING, "jax"):
            asking(X)
        asking(X)
    finally:
        jax.monitoring.unregister_event_duration_listener(listener)
    jax.jit(lambda x: asking(x) + 1)(X)
    assert any(re.fullmatch(r"Finished jaxpr to MLIR module conversion jit\(asking\) in [\d.]+ sec",
                            r.getMessage()) for r in caplog.records)
    assert heard == [("jaxpr_trace_duration", "asking"),
                     ("jaxpr_to_mlir_module_duration", "jit(asking)"),
                     ("backend_compile_duration", "jit(asking)")]


def test_nothing_is_logged_unasked(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "jax"):
        jax.jit(lambda x: x * 2.25)(X)
    assert not caplog.records


def test_levels_and_loggers(capsys: pytest.CaptureFixture) -> None:
    config.update("jax_logging_level", "DEBUG")
    assert logging.getLogger("jax").level == logging.DEBUG
    config.update("jax_logging_level", "NOTSET")
    jax.clear_caches()
    config.update("jax_debug_log_modules", "jax._src.interpreters.pxla")
    try:
        jax.jit(lambda x: x * 2.375)(X)
    finally:
        config.update("jax_debug_log_modules", "")
    assert "DEBUG:jax._src.interpreters.pxla: Compiling jit(<lambda>)" in capsys.readouterr().err
    assert not logging.getLogger("jax._src.interpreters.pxla").handlers


def explained(caplog: pytest.LogCaptureFixture, call: Callable[[], Any]) -> str:
    caplog.clear()
    with jax.explain_cache_misses(), caplog.at_level(logging.WARNING, "jax"):
        call()
    return "\n".join(r.getMessage() for r in caplog.records)


def test_why_a_function_is_traced_again(caplog: pytest.LogCaptureFixture) -> None:
    f = jax.jit(lambda d, n: d["a"] + n, static_argnums=1)
    said = explained(caplog, lambda: f({"a": X}, 1))
    assert "never seen function" in said and __file__ in said
    assert "MISS at test_watching.py" in said
    assert "static arguments: now [(1, 2)] and before [(1, 1)]" in explained(
        caplog, lambda: f({"a": X}, 2))
    assert "* at d['a'], now f32[4] and before f32[3]" in explained(
        caplog, lambda: f({"a": np.ones(4, "f")}, 2))
    assert "different input pytree" in explained(caplog, lambda: f({"a": X, "b": X}, 2))
    with jax.default_matmul_precision("highest"):
        said = explained(caplog, lambda: f({"a": X}, 2))
    assert "jax_default_matmul_precision: now 'highest' and before None" in said
    assert "different input types" not in said, "the closest signature is what it is compared with"
    assert explained(caplog, lambda: f({"a": X}, 2)) == ""


# --- refusals -------------------------------------------------------------------------------

def test_no_tracing() -> None:
    f = jax.jit(lambda x: x + 1.5)
    f(X)
    with jax.no_tracing():
        np.testing.assert_array_equal(f(X), X + 1.5)
        for trace in (lambda: jax.jit(lambda x: x + 2.5)(X), lambda: f(np.ones(5, "f")),
                      lambda: jax.grad(lambda x: x * 2.5)(1.0), lambda: jax.make_jaxpr(f)(X),
                      lambda: lax.scan(lambda c, x: (c, x), 0.0, X)):
            with pytest.raises(RuntimeError, match="re-tracing function .* 'no_tracing' is set"):
                trace()
    np.testing.assert_array_equal(f(np.ones(5, "f")), 2.5)


def test_no_execution() -> None:
    f = jax.jit(lambda x: x + 1.75)
    f(X)
    f(X)
    with jax.no_execution():
        for run in (lambda: f(X), lambda: jnp.sin(X), lambda: jax.grad(f)(1.0)):
            with pytest.raises(RuntimeError, match="no_execution"):
                run()
        jax.make_jaxpr(f)(X)
        f.lower(X)
    np.testing.assert_array_equal(f(X), X + 1.75)


# --- leaks ----------------------------------------------------------------------------------

@pytest.mark.parametrize("transform", [
    jax.jit, jax.grad, lambda f: lambda x: jax.vmap(f)(jnp.ones(2) * x), jax.make_jaxpr,
    lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, X),
    lambda f: lambda x: lax.cond(x > 0, f, f, x)])
def test_leaked_tracers(transform: Any) -> None:
    kept: list[Any] = []
    with jax.checking_leaks(), pytest.raises(UnexpectedTracerError) as caught:
        transform(lambda x: [kept.append(x * 2.0), x * 1.0][1])(1.0)
    said = str(caught.value)
    assert "outlive the" in said and "test_watching.py" in said and "held by list" in said


def test_what_is_no_leak() -> None:
    with jax.checking_leaks():
        assert jax.jit(lambda x: x + 1)(1.0) == 2
        assert jax.grad(lambda x: (x * x, {"aux": x})[0])(3.0) == 6
        assert jax.value_and_grad(lambda x: (x * x, x), has_aux=True)(3.0)[0][1] == 3
        assert jax.jit(jax.grad(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x)))(0.0) == 0
        f = jax.custom_jvp(lambda x: x * 2.0)
        f.defjvp(lambda p, t: (f(*p), t[0] * 3.0))
        assert jax.jit(jax.grad(f))(1.0) == 3
        cycle: list[Any] = []

        def holds_itself(x: Any) -> Any:
            inner = [x]
            inner.append(inner)
            return x * 1.0

        assert jax.jit(holds_itself)(2.0) == 2 and not cycle


# --- checks ---------------------------------------------------------------------------------

def test_functions_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    jax.clear_caches()
    monkeypatch.setattr(verifier, "verify", lambda f: seen.append(f.name))
    with jax.enable_checks(True):
        jax.jit(lambda x: x * 3.875)(X)
    assert seen == ["<lambda>", "<lambda>"], "when traced, and before it is lowered"
    jax.jit(lambda x: x * 3.9375)(X)
    assert len(seen) == 2


# --- NaN ------------------------------------------------------------------------------------

def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.strip().endswith(text))


def found(call: Callable[[], Any], guard: Any = jax.debug_nans) -> str:
    with guard(True), pytest.raises(FloatingPointError) as caught:
        call()
    return str(caught.value)


def test_the_operation_that_made_a_nan() -> None:
    @jax.jit
    def f(x):
        y = x - x
        z = y / y  # here
        return jnp.sum(z) * 2.0

    said = found(lambda: f(X))
    assert "invalid value (nan) encountered in div(f32[3], f32[3]) -> f32[3]" in said
    assert f"test_watching.py:{line_of('# here')} (" in said and "in f;" in said
    assert "log(f32[3])" in found(lambda: jnp.log(-1 - X))


@pytest.mark.parametrize("wrap", [
    lambda f: jax.jit(lambda x: jax.jit(f)(x) * 2.0),
    lambda f: jax.jit(lambda x: lax.cond(x < 0, f, lambda x: x, x)),
    lambda f: jax.jit(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]),
    lambda f: jax.jit(lambda x: lax.while_loop(lambda c: c < 0, f, x)),
    lambda f: jax.grad(lambda x: f(x) * x), lambda f: jax.jit(jax.value_and_grad(f)),
    lambda f: jax.jit(jax.checkpoint(f))])
def test_inside_of_bodies(wrap: Any) -> None:
    def f(x):
        return jnp.log(x)  # inside

    said = found(lambda: wrap(f)(-1.0))
    assert "encountered in log" in said and f":{line_of('# inside')} " in said


def test_the_line_is_that_of_the_function_that_ran() -> None:
    def one(x):
        return jnp.sqrt(x)  # first

    def two(x):
        return jnp.sqrt(x)  # second

    for f, mark in ((one, "# first"), (two, "# second")):
        assert f":{line_of(mark)} " in found(lambda f=f: jax.jit(f)(-1.0))


def test_infinities_and_what_is_masked() -> None:
    assert "(inf) encountered in div" in found(lambda: jax.jit(lambda x: 1 / x)(0.0),
                                               jax.debug_infs)
    with jax.debug_nans(True):
        hidden = jax.jit(lambda x: jnp.where(x > 0, jnp.log(x), 0.0))
        np.testing.assert_array_equal(hidden(-1 - X), 0)


def test_what_cannot_run_twice_is_not_run_twice() -> None:
    calls: list[Any] = []

    def host(x):
        calls.append(x)
        return np.asarray(x)

    f = jax.jit(lambda x: jnp.log(jax.pure_callback(host, x, x)))
    assert "encountered in a result of type float32" in found(lambda: f(np.float32(-1)))
    assert len(calls) == 1
