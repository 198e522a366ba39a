"""Callbacks under transformations: pure_callback, io_callback, debug.print."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.experimental import io_callback

X = jnp.arange(3.0)
SCALAR = jax.ShapeDtypeStruct((), jnp.float32)


def test_results_of_64_bits_are_narrowed():
    spec = jax.ShapeDtypeStruct((3,), jnp.float32)
    made = jax.jit(lambda x: jax.pure_callback(lambda v: np.ones(3), spec, x))(1.0)
    assert made.dtype == np.float32 and made.tolist() == [1, 1, 1]


def test_trees_and_keywords():
    made = jax.pure_callback(lambda a, k: {"r": a + k}, {"r": jax.ShapeDtypeStruct((), np.int32)},
                             1, k=2)
    assert made == {"r": 3}


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_vmap_methods(method):
    def f(x):
        return jax.pure_callback(lambda v: np.asarray(v) * 2, SCALAR, x, vmap_method=method)

    np.testing.assert_array_equal(jax.vmap(f)(X), [0, 2, 4])


def test_vmap_without_a_method_and_unknown_methods():
    with pytest.raises(NotImplementedError, match="vmap_method"):
        jax.vmap(lambda x: jax.pure_callback(lambda v: v, SCALAR, x))(X)
    with pytest.raises(ValueError, match="vmap_method"):
        jax.pure_callback(lambda v: v, SCALAR, 1.0, vmap_method="foo")


def test_derivatives_need_a_rule():
    def call(x):
        return jax.pure_callback(np.sin, SCALAR, x)

    for f in (jax.grad(call), jax.jit(jax.grad(call))):
        with pytest.raises(ValueError, match="custom_jvp"):
            f(1.0)
    sin = jax.custom_jvp(call)
    sin.defjvp(lambda p, t: (sin(p[0]), jnp.cos(p[0]) * t[0]))
    np.testing.assert_allclose(jax.jit(jax.grad(sin))(1.0), np.cos(1.0), rtol=1e-6)


def test_ordered_effects_keep_their_order():
    seen = []

    def step(c, x):
        io_callback(lambda v: seen.append(float(v)), None, x, ordered=True)
        return c, None

    jax.jit(lambda x: lax.scan(step, 0.0, x))(X)
    jax.effects_barrier()
    assert seen == [0, 1, 2]
    with pytest.raises(ValueError, match="ordered"):
        jax.vmap(lambda x: io_callback(lambda v: v, SCALAR, x, ordered=True))(X)


def test_debug_print_under_transformations(capsys):
    def f(x):
        jax.debug.print("x = {x:.1f} {}", 1, x=x)
        return x * x

    f(1.0)
    jax.jit(f)(2.0)
    jax.grad(f)(3.0)
    jax.effects_barrier()
    assert capsys.readouterr().out == "x = 1.0 1\nx = 2.0 1\nx = 3.0 1\n"


def test_results_are_told_by_their_number_and_named_where_they_do_not_fit():
    spec = jax.ShapeDtypeStruct((3,), jnp.float32)
    made = jax.jit(lambda x: jax.pure_callback(lambda v: [v, v + 1], {"a": spec, "b": spec}, x))(X)
    assert made["b"].tolist() == [1, 2, 3]
    assert jax.pure_callback(lambda v: [v], spec, X).tolist() == [0, 1, 2]

    def odd(v):
        return v[:2]

    def none(v):
        return None

    for call in (lambda x: jax.pure_callback(odd, spec, x), lambda x: io_callback(odd, spec, x)):
        for run in (call, jax.jit(call)):
            with pytest.raises(ValueError, match=r"odd at .*test_callbacks.py:\d+ returned float32"
                                                 r"\[2\] as result 0"):
                np.asarray(run(X))
    with pytest.raises(ValueError, match="none at .* returned"):
        jax.pure_callback(none, spec, X)


def test_print_shows_values_of_trees_as_arrays(capfd):
    def show(x, k):
        jax.debug.print("{} {t} {k} {x[1]:.1f} {t[a].dtype} {x!r}", x, k=k, x=x,
                        t={"a": x, "b": "c"})

    key = "Array((), dtype=key<fry>) overlaying:\n"
    for run, before in ((show, key), (jax.jit(show), "")):
        run(X, jax.random.key(3))
        jax.effects_barrier()
        assert capfd.readouterr().out == (
            f"[0. 1. 2.] {{'a': Array([0., 1., 2.], dtype=float32), 'b': 'c'}} {before}[0 3] 1.0 "
            "float32 Array([0., 1., 2.], dtype=float32)\n")


def test_callbacks_are_given_keys_and_in_compiled_programs_their_words():
    keys, seen = jax.random.split(jax.random.key(0), 2), []

    def note(k):
        seen.append((str(k.dtype), k.shape, jax.random.key_data(k).tolist()))

    words = jax.random.key_data(keys).tolist()
    jax.debug.callback(note, keys)
    jax.vmap(lambda k: jax.debug.callback(note, k))(keys)
    jax.jit(lambda k: jax.debug.callback(note, k))(keys)
    jax.effects_barrier()
    assert seen[0] == ("key<fry>", (2,), words)
    assert sorted(seen[1:3]) == sorted([("key<fry>", (), w) for w in words])
    assert seen[3] == ("uint32", (2, 2), words)


def test_vmap_of_an_ordered_debug_callback_goes_example_by_example(capfd):
    def show(x):
        jax.debug.print("a {}", x, ordered=True)
        jax.debug.print("b {}", x, ordered=True)
        return x * x

    for run in (jax.vmap(show), jax.jit(jax.vmap(jax.grad(show)))):
        run(X)
        jax.effects_barrier()
        assert capfd.readouterr().out.split("\n")[:-1] == [
            f"{c} {x}" for c in "ab" for x in (0.0, 1.0, 2.0)]


def test_python_numbers_reach_the_host_as_arrays_of_the_mode(capfd):
    jax.debug.print("{} {}", [1, 2.5], np.int64(4))
    jax.effects_barrier()
    assert capfd.readouterr().out == "[Array(1, dtype=int32), Array(2.5, dtype=float32)] 4\n"
    seen = []
    for way in (lambda f: f, jax.jit):
        way(lambda: jax.debug.callback(lambda x, y: seen.append((x.dtype, y.dtype)), 3,
                                       np.float64(2)))()
    jax.effects_barrier()
    assert seen == [(np.int32, np.float32)] * 2


def test_logs_and_formats_given_later(caplog, capsys):
    say = jax.debug.print(ordered=True)
    with caplog.at_level("INFO", logger="xfront.debug"):
        jax.jit(lambda x: [jax.debug.log("x = {x}", x=x), say("{} {}", x, 2)] and x)(3)
        jax.effects_barrier()
    assert [r.getMessage() for r in caplog.records] == ["x = 3"]
    assert capsys.readouterr().out == "3 2\n"
    with pytest.raises(KeyError, match="debug.log: the format"):
        jax.debug.log("{y}", x=1)
    with pytest.raises(TypeError, match="values need a format"):
        jax.debug.print(None, 1)


def test_io_callbacks_have_no_derivative_outside_of_jit_either():
    def through(x):
        return io_callback(lambda v: v, SCALAR, x) * x

    for wrong in (lambda: jax.grad(through)(2.0), lambda: jax.jit(jax.grad(through))(2.0),
                  lambda: jax.jvp(through, (2.0,), (1.0,)), lambda: jax.jacfwd(through)(2.0),
                  lambda: jax.grad(jax.grad(through))(2.0)):
        with pytest.raises(ValueError, match="do not support JVP"):
            wrong()
    for right in (lambda x: x * io_callback(lambda: np.float32(3.0), SCALAR),
                  lambda x: x * io_callback(lambda v: v, SCALAR, lax.stop_gradient(x) + 1.0),
                  lambda x: x * io_callback(np.float32, SCALAR, 3.0)):
        assert jax.grad(right)(2.0) == 3.0


class Own(Exception):
    def __init__(self, a, b):
        super().__init__(a)
        self.b = b


def failing(error):
    def fails(v):
        raise error

    return fails


@pytest.mark.parametrize(("host", "kind", "text"), [
    (failing(KeyError("inside")), KeyError, "'inside'"),
    (failing(Own(1, 2)), Own, "1"),
    (failing(RuntimeError("plain")), RuntimeError, "plain"),
    (failing(Exception("any")), Exception, "any"),
    (failing(OSError(2, "gone")), FileNotFoundError, "[Errno 2] gone"),
    (lambda: 1, TypeError, "takes 0 positional arguments but 1 was given"),
    (lambda v: (v, v), ValueError, "returned PyTreeDef((*, *))"),
])
def test_exceptions_are_of_their_class_and_of_that_of_failed_programs(host, kind, text):
    """Programs written for JAX catch JaxRuntimeError; the note names the host function."""
    def call(x):
        return jax.pure_callback(host, SCALAR, x)

    def effect(x):
        return io_callback(host, SCALAR, x)

    def known(x):                                # a check: it stands where it is not mapped
        return jax.vmap(lambda y: y + call(x))(X[:1])[0]

    for run in (call, effect, jax.jit(call), jax.jit(effect), known, jax.jit(known),
                jax.value_and_grad(lambda x: x * call(lax.stop_gradient(x)))):
        with pytest.raises(kind) as caught:
            run(1.0)
        error = caught.value
        assert isinstance(error, jax.errors.JaxRuntimeError) and text in str(error)
        assert type(error).__name__ == kind.__name__ and f"{kind.__name__}: " in str(error)
        assert getattr(error, "b", 2) == 2
        assert "test_callbacks.py:" in str(error) + "".join(getattr(error, "__notes__", ()))


def test_exceptions_that_cannot_be_made_again_stay_as_they_are():
    class Closed(Exception):
        def __new__(cls):
            return super().__new__(cls, "closed", 1)

    with pytest.raises(Closed):
        jax.jit(lambda x: jax.pure_callback(failing(Closed()), SCALAR, x))(1.0)
    with pytest.raises(SystemExit):
        jax.jit(lambda x: jax.pure_callback(failing(SystemExit(3)), SCALAR, x))(1.0)


def test_numbers_are_printed_as_numpy_is_told_to(capfd):
    with np.printoptions(precision=2):
        for run in (lambda f: f, jax.jit):
            run(lambda x: jax.debug.print("{x}", x=x))(jnp.float32([1.23456]))
            jax.effects_barrier()
    assert capfd.readouterr().out == "[1.23]\n[1.23]\n"
