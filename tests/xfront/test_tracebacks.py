"""Tracebacks show the user's frames and hardly one of the library's, under any nest.

For every nest and error the frames that are not the library's are, in order, those of the
unfiltered traceback. What the option `jax_traceback_filtering` says is done to the traceback
itself, so that whoever formats it (Python, pytest, logging, futures) sees the same.
"""

from __future__ import annotations

import concurrent.futures
import logging
import os
import subprocess
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.base.config import traceback_filtering
from xfront.binding import tracebacks

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = tuple(str(ROOT / package) + os.sep for package in ("xfront", "xfront_ir", "lowering"))
X = jnp.ones(3)
FLOAT = jax.ShapeDtypeStruct((), np.float32)

# --- what fails ---------------------------------------------------------------------------


class Mine(Exception):
    pass


def own(x: Any) -> Any:
    raise Mine("of the user's program")


def wrong_matmul(x: Any) -> Any:
    return (x[:, None] * jnp.ones((1, 3)) @ jnp.ones((4, 2))).sum()


def wrong_axis(x: Any) -> Any:
    return jnp.sum(x, axis=5)


def wrong_shapes(x: Any) -> Any:
    return x + jnp.ones((4,))


def wrong_index(x: Any) -> Any:
    return x[0, 0, 0, 0]


ERRORS = {"own": (own, Mine), "matmul": (wrong_matmul, TypeError), "axis": (wrong_axis, ValueError),
          "shapes": (wrong_shapes, TypeError), "index": (wrong_index, IndexError)}

# --- inside of what -----------------------------------------------------------------------

Fun = Callable[[Any], Any]


def with_vjp(f: Fun) -> Fun:
    made = jax.custom_vjp(lambda x: (x * x).sum())
    made.defvjp(lambda x: ((x * x).sum(), x), lambda r, ct: (f(r) * ct,))
    return made


def with_jvp(f: Fun) -> Fun:
    made = jax.custom_jvp(lambda x: (x * x).sum())
    made.defjvp(lambda p, t: (made(p[0]), f(p[0])))
    return made


def with_vmap(f: Fun) -> Fun:
    made = jax.custom_batching.custom_vmap(lambda x: x)
    made.def_vmap(lambda size, batched, x: (f(x), True))
    return made


def each(f: Fun) -> Fun:
    return lambda x: jax.vmap(f)(jnp.stack([x, x]))


def scanned(f: Fun) -> Fun:
    return lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=3)


def chosen(f: Fun) -> Fun:
    return lambda x: lax.cond(jnp.sum(x) > 0, f, jnp.sum, x)


NESTS: dict[str, Callable[[Fun], Fun]] = {
    "nothing": lambda f: f,
    "jit": jax.jit,
    "grad": jax.grad,
    "jit, value_and_grad": lambda f: jax.jit(jax.value_and_grad(f)),
    "vmap": each,
    "jit, grad, vmap": lambda f: jax.jit(jax.grad(lambda x: each(f)(x).sum())),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: jax.vjp(f, x),
    "linearize": lambda f: lambda x: jax.linearize(f, x),
    "linear_transpose": lambda f: lambda x: jax.linear_transpose(f, x)(1.0),
    "jacfwd": jax.jacfwd, "jacrev": jax.jacrev, "hessian": jax.hessian,
    "scan": scanned,
    "jit, scan": lambda f: jax.jit(scanned(f)),
    "cond": chosen,
    "jit, cond": lambda f: jax.jit(chosen(f)),
    "switch": lambda f: lambda x: lax.switch(1, [f, f], x),
    "while_loop": lambda f: lambda x: lax.while_loop(
        lambda c: c.sum() < 3, lambda c: f(c) + c, x),
    "while_loop's test": lambda f: lambda x: lax.while_loop(lambda c: f(c) < 3, lambda c: c, x),
    "fori_loop": lambda f: lambda x: lax.fori_loop(0, 3, lambda i, c: f(c) + c, x),
    "map": lambda f: lambda x: lax.map(lambda y: f(X), x),
    "associative_scan": lambda f: lambda x: lax.associative_scan(lambda a, b: f(x), x),
    "reduce": lambda f: lambda x: lax.reduce(x, np.float32(0), lambda a, b: f(X), (0,)),
    "checkpoint": jax.checkpoint,
    "grad, checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "grad, scan, checkpoint": lambda f: jax.grad(lambda x: scanned(jax.checkpoint(f))(x)[1].sum()),
    "custom_jvp": lambda f: jax.grad(with_jvp(f)),
    "custom_vjp": lambda f: jax.grad(with_vjp(f)),
    "jit, custom_vjp": lambda f: jax.jit(jax.grad(with_vjp(f))),
    "jit, scan, grad, custom_vjp": lambda f: jax.jit(scanned(jax.grad(with_vjp(f)))),
    "custom_vmap": lambda f: each(with_vmap(f)),
    "custom_gradient": jax.custom_gradient,
    "custom_root": lambda f: lambda x: lax.custom_root(f, x, lambda g, y: g(y), lambda g, y: y),
    "custom_linear_solve": lambda f: lambda x: lax.custom_linear_solve(f, x, lambda g, y: g(y)),
    "closure_convert": lambda f: lambda x: jax.closure_convert(f, x),
    "pure_callback": lambda f: jax.jit(lambda x: jax.pure_callback(f, FLOAT, x)),
    "eval_shape": lambda f: lambda x: jax.eval_shape(f, x),
    "lower": lambda f: lambda x: jax.jit(f).lower(x),
    "make_jaxpr": jax.make_jaxpr,
    "tree.map": lambda f: lambda x: jax.tree.map(f, [x]),
    "named_call": jax.named_call,
    "vectorize": lambda f: jnp.vectorize(f, signature="(n)->()"),
    "apply_along_axis": lambda f: lambda x: jnp.apply_along_axis(f, 0, x),
    "piecewise": lambda f: lambda x: jnp.piecewise(x, [x > 0], [f, 0]),
    "fromfunction": lambda f: lambda x: jnp.fromfunction(lambda i: f(X), (3,)),
    "jit, jit": lambda f: jax.jit(lambda x: jax.jit(f)(x)),
}  # fmt: skip


def caught(call: Callable[[], Any], kind: type[BaseException]) -> BaseException:
    with pytest.raises(kind) as info:
        call()
    return info.value


def frames(error: BaseException) -> list[tuple[str, int | None, str]]:
    """File, line and name of every frame of a traceback."""
    return [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__)]


def of_user(listed: list[tuple[str, int | None, str]]) -> list[tuple[str, int | None, str]]:
    return [f for f in listed if not f[0].startswith(LIBRARY)]


@pytest.mark.parametrize("nest", NESTS)
def test_frames_of_nests(nest: str) -> None:
    """All of the user's frames, in order, and none of the library's."""
    for name in ERRORS if nest in ("nothing", "jit", "jit, grad, vmap") else ("own", "matmul"):
        fails, kind = ERRORS[name]
        call = lambda fails=fails: NESTS[nest](fails)(X)
        with traceback_filtering("off"):
            whole = frames(caught(call, kind))
        shown = frames(caught(call, kind))
        assert shown == [f for f in whole if f[0] == __file__], name
        assert shown[-1][2] == fails.__name__, name
        assert len(whole) > len(shown) or (nest, name) == ("nothing", "own"), name


QUICK = {
    # they take less than a microsecond or two; see the calls below
    "asarray", "broadcast_shapes", "iscomplexobj", "isrealobj", "isscalar", "issubdtype", "ndim",
    "result_type", "shape", "size", "stop_gradient",
    # of the process, not of arrays
    "checking_leaks", "clear_caches", "copy_to_host_async", "disable_jit", "effects_barrier",
    "host_ids", "live_arrays", "print_environment_info", "process_indices", "transfer_guard",
}  # fmt: skip


def test_every_public_function_is_a_front_door() -> None:
    """What a package hands out takes the library's frames out of tracebacks."""
    wrong = []
    for package in (jax, jnp, lax, jax.nn, jax.random):
        for name in getattr(package, "__all__", dir(package)):
            f = getattr(package, name)
            if (isinstance(f, types.FunctionType) and not name.startswith("_") and name not in QUICK
                    and f.__module__.partition(".")[0] == "xfront"
                    and not hasattr(f, "body") and not tracebacks.is_front_door(f)):
                wrong.append(f"{package.__name__}.{name}")
    assert not wrong, wrong


@pytest.mark.parametrize("call", [
    lambda: jnp.asarray("a"), lambda: jnp.broadcast_shapes((2,), (3,)), lambda: jnp.size(X, axis=4),
    lambda: jnp.iscomplexobj(object()), lambda: jnp.issubdtype("a", 3),
    lambda: jnp.result_type([1]),
    lambda: lax.stop_gradient("a"), lambda: X.astype("none"),
    lambda: X.sum(axis=7), lambda: X.reshape(7), lambda: float(X), lambda: X.at["a"].set(1.0),
    lambda: X @ jnp.ones(4), lambda: X[1.5], lambda: jnp.ones((2, 2)).T.reshape(3),
    lambda: jax.config.update("jax_enable_x46", True),
    lambda: jax.config.update("jax_enable_x64", "q"),
    lambda: jax.default_matmul_precision("none"), lambda: jax.devices("none"),
    lambda: jax.jit(lambda x: x, static_argnums="x"), lambda: jax.jit(jnp.sin).lower("a"),
    lambda: jax.vjp(jnp.sin, X)[1](1.0), lambda: jax.nn.softmax(X, axis=4),
    lambda: jax.random.key("a"), lambda: jax.random.normal(0), lambda: jnp.fft.fft(1.0),
    lambda: jax.tree.map(lambda x, y: x, [1], [1, 2]), lambda: jnp.linalg.inv(X),
    lambda: jax.nn.initializers.he_normal()(jax.random.key(0), (3,)),
    lambda: jax.scipy.linalg.block_diag(jnp.ones((2, 2, 2))), lambda: jax.debug.print("{} {}", X),
])  # fmt: skip
def test_one_frame_of_the_library_at_most(call: Callable[[], Any]) -> None:
    """Calls outside of any transformation."""
    error = caught(call, Exception)
    assert len(frames(error)) - len([f for f in frames(error) if f[0] == __file__]) <= 1
    assert error.__context__ is None or error.__suppress_context__


# --- one frame of the library -------------------------------------------------------------

def test_what_nobody_meant_to_raise_keeps_the_library_s_last_frame() -> None:
    """An error of NumPy inside the library shows where it came from, and says how to see more."""
    error = caught(lambda: jax.jit(lambda x: jnp.array([[1, 2], [3]]))(X), ValueError)
    assert [f for f in frames(error) if f[0].startswith(LIBRARY)] == frames(error)[-1:]
    assert error.__notes__ == [
        "Frames of xfront are left out of this traceback, but for the last one; "
        "XFRONT_TRACEBACK_FILTERING=off shows them all."]


@pytest.mark.parametrize("call", [
    lambda: jax.jit(lambda x, y: x)(X), lambda: jax.grad(lambda x: x)(X, X),
    lambda: jnp.sum(X, nonsense=1), lambda: jax.jit(lambda x: jnp.sin())(X),
    lambda: jnp.zeros(), lambda: jax.jit(lambda x: x, nonsense=1), lambda: lax.map(lambda: 1.0, X),
])  # fmt: skip
def test_arguments_that_a_signature_refuses(call: Callable[[], Any]) -> None:
    """Python's own TypeError of a call, of the library's functions and of the user's."""
    error = caught(call, TypeError)
    assert not [f for f in frames(error) if f[0] != __file__]
    assert not hasattr(error, "__notes__")


# --- chains -------------------------------------------------------------------------------

def test_exceptions_that_others_came_from() -> None:
    """Cause, context and the parts of groups are shortened too."""
    def chained(x: Any) -> Any:
        try:
            wrong_axis(x)
        except ValueError as e:
            raise Mine("outer") from e

    error = caught(lambda: jax.jit(jax.grad(chained))(X), Mine)
    assert [f[2] for f in frames(error)] == ["caught", "<lambda>", "chained"]
    assert error.__cause__ is not None
    assert [f[2] for f in frames(error.__cause__)] == ["chained", "wrong_axis"]

    def grouped(x: Any) -> Any:
        errors = []
        for fails in (own, wrong_axis):
            try:
                jax.vmap(fails)(x[None])
            except Exception as e:
                errors.append(e)
        raise ExceptionGroup("two", errors)

    group = caught(lambda: jax.jit(grouped)(X), ExceptionGroup)
    assert isinstance(group, ExceptionGroup)
    assert [[f[2] for f in frames(e)] for e in group.exceptions] == [
        ["grouped", "own"], ["grouped", "wrong_axis"]]


def test_an_error_while_another_is_handled() -> None:
    def handles(x: Any) -> Any:
        try:
            jax.vmap(own)(x)
        except Mine:
            return wrong_shapes(x)

    error = caught(lambda: jax.jit(handles)(X), TypeError)
    assert error.__context__ is not None
    assert [f[2] for f in frames(error.__context__)] == ["handles", "own"]


def test_what_the_library_caught_itself_is_no_context() -> None:
    error = caught(lambda: X @ jax.jit(lambda x: jnp.zeros(2.5))(X), TypeError)
    assert error.__context__ is None or error.__suppress_context__


# --- who formats it -----------------------------------------------------------------------

def test_threads_and_futures() -> None:
    seen: list[BaseException] = []

    def run() -> None:
        try:
            jax.jit(own)(X)
        except Mine as e:
            seen.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert [f[2] for f in frames(seen[0])] == ["run", "own"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        error = pool.submit(jax.jit(jax.grad(own)), X).exception()
    assert isinstance(error, Mine)
    assert not [f for f in frames(error) if f[0].startswith(LIBRARY)]


def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    try:
        jax.jit(jax.vmap(own))(X)
    except Mine:
        logging.getLogger("mine").exception("failed")
    assert "in own" in caplog.text and not any(path in caplog.text for path in LIBRARY)


@pytest.mark.parametrize("off", ["", "off"])
def test_what_python_prints(off: str) -> None:
    """An exception that nobody catches; the environment variable is read."""
    program = ("import xfront as jax, xfront.numpy as jnp\n"
               "def own(x):\n    raise KeyError('mine')\n"
               "jax.jit(jax.value_and_grad(own))(1.0)\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if off:
        environment["XFRONT_TRACEBACK_FILTERING"] = off
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=120, env=environment)
    printed = done.stderr.strip().splitlines()
    assert printed[-1] == "KeyError: 'mine'"
    assert bool(off) == any(path in done.stderr for path in LIBRARY)
    files = [line for line in printed if line.startswith("  File ")]
    assert off or len(files) == 2, done.stderr


def test_what_pytest_prints(tmp_path: Path) -> None:
    (tmp_path / "test_user.py").write_text(
        "import xfront as jax, xfront.numpy as jnp\n"
        "def own(x):\n    return x + jnp.ones(4)\n"
        "def test_one():\n    jax.jit(jax.vmap(own))(jnp.ones((2, 3)))\n"
        "def test_two():\n    jnp.zeros(2.5)\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path),
         "--tb=long", str(tmp_path / "test_user.py")], capture_output=True, text=True, timeout=120,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert "2 failed" in done.stdout, done.stdout + done.stderr
    assert "test_user.py:3: " in done.stdout
    assert "xfront" + os.sep not in done.stdout, done.stdout


# --- the option ---------------------------------------------------------------------------

@pytest.fixture
def deep() -> Iterator[Callable[[], Any]]:
    yield lambda: jax.jit(jax.grad(lambda x: jax.vmap(own)(x)))(X)


def test_tracebackhide_marks_frames(deep: Callable[[], Any]) -> None:
    with traceback_filtering("tracebackhide"):
        error = caught(deep, Mine)
    marked = {}
    for frame, _ in traceback.walk_tb(error.__traceback__):
        library = frame.f_code.co_filename.startswith(LIBRARY)
        marked.setdefault(library, set()).add(frame.f_locals.get("__tracebackhide__", False))
    assert marked == {True: {True}, False: {False}}


def test_remove_frames_keeps_the_whole_traceback_as_cause(deep: Callable[[], Any]) -> None:
    with traceback_filtering("off"):
        whole = frames(caught(deep, Mine))
    with traceback_filtering("remove_frames"):
        error = caught(deep, Mine)
    assert frames(error) == of_user(whole)
    cause = error.__cause__
    assert isinstance(cause, tracebacks.UnfilteredStackTrace)
    assert str(cause) == "Mine: of the user's program"
    missing = [f for f in whole if f not in frames(cause)]
    assert not of_user(missing[2:]) and len(missing) <= 2       # those outside of the front door


def test_auto_in_ipython(deep: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """There frames are marked, so that its debugger can still go to them."""
    shell = types.SimpleNamespace(version_info=(8, 12, 0, ""), get_ipython=object)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    error = caught(deep, Mine)
    assert any(f[0].startswith(LIBRARY) for f in frames(error))
    assert all(frame.f_locals.get("__tracebackhide__") or not
               frame.f_code.co_filename.startswith(LIBRARY)
               for frame, _ in traceback.walk_tb(error.__traceback__))
    monkeypatch.setattr(shell, "get_ipython", lambda: None)     # imported, but no shell runs
    assert not any(f[0].startswith(LIBRARY) for f in frames(caught(deep, Mine)))


def test_the_option_refuses_other_words() -> None:
    with pytest.raises(ValueError, match="jax_traceback_filtering.*quiet_remove_frames.*'none'"):
        jax.config.update("jax_traceback_filtering", "none")


def test_disabled_jit() -> None:
    with jax.disable_jit():
        error = caught(lambda: jax.jit(lambda x: jnp.ones(3) @ jnp.ones(4))(X), TypeError)
    assert not any(f[0].startswith(LIBRARY) for f in frames(error))
