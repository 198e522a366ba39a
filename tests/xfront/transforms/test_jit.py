"""jit: static and donated arguments, how often it traces, what may go in and come out."""

import collections
import functools
import inspect
import warnings
from typing import Any, cast

import numpy as np
import pytest

import lowering
import xfront as jax
import xfront.numpy as jnp
from xfront import lax


def counted(fun):
    """`fun` jitted, and the list that grows by one at each trace."""
    traces = []

    @functools.wraps(fun)
    def traced(*args, **kwargs):
        traces.append(None)
        return fun(*args, **kwargs)

    return jax.jit(traced), traces


def test_same_types_are_traced_once():
    f, traces = counted(lambda x: x + 1)
    for x in (np.float32(1), jnp.float32(2), np.zeros(())):
        f(x)
    assert len(traces) == 1                      # one f32 scalar, not weak
    f(1.0)
    f(2.0)
    assert len(traces) == 2                      # weak
    f(np.zeros(2))
    f(jnp.zeros(2))
    assert len(traces) == 3


def test_a_trace_serves_inside_jit_vmap_and_outside():
    f, traces = counted(lambda x: x * 2)
    jax.jit(lambda x: f(x) + f(x))(1.0)
    f(2.0)
    jax.grad(f)(3.0)
    assert len(traces) == 1
    jax.vmap(f)(jnp.arange(3.0))
    f(jnp.float32(1))
    assert len(traces) == 2


def test_static_arguments_by_position_name_and_from_the_end():
    seen = []

    def f(x, n=2):
        seen.append(n)
        return x * n

    by_name = jax.jit(f, static_argnames="n")
    assert by_name(2.0, n=3) == by_name(2.0, 3) == 6 and by_name(2.0) == 4
    by_last = jax.jit(f, static_argnums=-1)
    assert by_last(2.0, 5) == 10
    assert all(type(n) is int for n in seen)


def test_static_arguments_must_hash():
    f = jax.jit(lambda x, n: x * n[0], static_argnums=1)
    with pytest.raises(ValueError, match="[Nn]on-hashable"):
        f(2.0, [3])
    assert f(2.0, (3,)) == 6


def test_static_numbers_out_of_range_and_unknown_names():
    with pytest.raises(ValueError, match="static_argnums"):
        jax.jit(lambda x: x, static_argnums=3)
    with pytest.raises(ValueError, match="static_argnames"):
        jax.jit(lambda x: x, static_argnames="q")
    with pytest.raises(ValueError, match="intersect"):
        jax.jit(lambda x: x, static_argnums=0, donate_argnums=0)


def test_methods_with_static_self():
    class Scaled:
        factor = 3.0

        @functools.partial(jax.jit, static_argnums=0)
        def of(self, x):
            return x * self.factor

    assert Scaled().of(2.0) == 6


@pytest.mark.parametrize(("f", "shapes", "left"), [
    (lambda x: x.sum(), [(3,)], "f32[3]"),
    (lambda x, y: x + y, [(6,), (6,)], "f32[6]"),
    (lambda d: {"k": d["k"] + d["n"].sum()}, [{"k": (2,), "n": (5,)}], "f32[5]"),
    (lambda x: x.reshape(2, 3), [(6,)], None),
    (lambda x: x.astype(jnp.int32), [(6,)], None),
    (lambda x: x.astype(jnp.float16), [(6,)], "f32[6]"),
    (lambda x, y: y * 2, [(7,), (6,)], None),                # an unread one is no part of it
])
def test_donated_buffers_that_no_result_can_take_are_named(f, shapes, left):
    args = jax.tree.map(jnp.ones, shapes, is_leaf=lambda x: type(x) is tuple)
    g = jax.jit(f, donate_argnums=tuple(range(len(args))))
    lowered = g.trace(*args)
    for use in (lambda: lowered.lower(), lambda: g(*args)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            use()
        said = [str(w.message) for w in seen]
        if left is None:
            assert not said
        else:
            assert len(said) == 1 and f"not usable: {left}. " in said[0], said
            assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g(*jax.tree.map(jnp.ones, shapes, is_leaf=lambda x: type(x) is tuple))    # told once


def test_donated_arguments_are_deleted():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(5.0)
    np.testing.assert_array_equal(f(x), np.arange(5.0) + 1)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1


@pytest.mark.parametrize("read", [
    lambda gone: jax.jit(lambda x: x * 2)(gone), lambda gone: gone - 1,
    lambda gone: jax.grad(lambda x: (x * gone).sum())(1.0),
    lambda gone: jax.jit(lambda x: x * gone)(1.0),
])  # fmt: skip
def test_a_program_new_to_an_array_that_is_gone_is_not_run(read, capfd):
    """The runtime, if asked, writes a line of its own to stderr."""
    gone = jnp.ones((7, 1, 2))                   # no other test's: C++ alone runs what it knows
    jax.jit(lambda x: x + 1, donate_argnums=0)(gone)
    with pytest.raises(RuntimeError, match="donate_argnums"):
        read(gone)
    assert capfd.readouterr().err == ""


def test_results_of_all_kinds():
    Pair = collections.namedtuple("Pair", "x y")
    made = jax.jit(lambda p: Pair(p.y, (None, 2, True, np.float32(3))))(Pair(1.0, jnp.ones(2)))
    assert type(made) is Pair and made.y[0] is None
    assert [str(v.dtype) for v in made.y[1:]] == ["int32", "bool", "float32"]
    assert made.y[1].weak_type and not made.y[3].weak_type
    assert jax.jit(lambda: None)() is None
    with pytest.raises(TypeError, match="'a'"):
        jax.jit(lambda x: [x, "a"])(1)


def test_disable_jit_runs_python():
    with jax.disable_jit():
        assert jax.jit(lambda x: x if x > 0 else -x)(-1.0) == 1
        np.testing.assert_array_equal(jax.jit(lambda x: x * 2 + 1)(jnp.arange(2.0)), [1, 3])


def test_x64_context_traces_apart():
    f, traces = counted(lambda x: x + 1)
    assert f(np.ones(2)).dtype == np.float32
    with jax.enable_x64(True):
        assert f(np.ones(2)).dtype == np.float64 and f(1).dtype == np.int64
    assert f(np.ones(2)).dtype == np.float32
    assert len(traces) == 3


def test_a_jit_without_arguments_reads_the_mapped_axis():
    f = jax.jit(lambda: lax.axis_index("i"))
    np.testing.assert_array_equal(
        jax.vmap(lambda x: x + f(), axis_name="i")(jnp.zeros(3)), [0, 1, 2])
    size = jax.jit(lambda x: x * lax.axis_size("i"))
    for n in (3, 4):
        made = jax.vmap(lambda x: x + size(2), axis_name="i")(jnp.zeros(n))
        np.testing.assert_array_equal(made, np.full(n, 2.0 * n))


def test_debug_nans_raises_at_every_call():
    with jax.debug_nans(True):
        f = jax.jit(lambda x: jnp.log(x))
        for _ in range(3):
            with pytest.raises(FloatingPointError, match="nan"):
                f(-1.0)
        assert f(1.0) == 0
    with jax.debug_infs(True), pytest.raises(FloatingPointError, match="inf"):
        jnp.divide(1.0, 0.0)
    assert np.isnan(jnp.log(-1.0))


def test_rank_promotion_raises_where_asked():
    x, y = jnp.ones((2, 3)), jnp.ones(3)
    with jax.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match="rank"):
            x + y
        assert (x + 1).shape == (2, 3)
    assert (x + y).shape == (2, 3)


def test_compile_time_evaluation_inside_jit():
    def f(x):
        with jax.ensure_compile_time_eval():
            n = int(jnp.sum(jnp.arange(3)))
        return x * n

    assert jax.jit(f)(2.0) == 6


def test_effort_and_options_decide_the_program(monkeypatch):
    """Each has its own program, by the same function and the same types; values agree."""
    given = []
    real = lowering.compile_function

    def compiling(*args, **how):
        given.append((how["effort"], dict(how["options"])))
        return real(*args, **how)

    monkeypatch.setattr(lowering, "compile_function", compiling)

    def f(x):
        return jnp.sin(x) * 3.25 + x[::-1]

    x = jnp.arange(7.0)
    chosen = {"xla_cpu_enable_fast_math": False}
    made = [jax.jit(f)(x), jax.jit(f, compile_effort="fast")(x),
            jax.jit(f, compiler_options=chosen)(x), jax.jit(f, compile_effort="fast")(x),
            jax.jit(f, compile_effort="fast").lower(x).compile()(x),
            jax.jit(f).lower(x).compile(compiler_options=chosen)(x)]
    assert given == [("jit", {}), ("fast", {}), ("jit", chosen), ("fast", {}), ("jit", chosen)]
    for y in made:
        np.testing.assert_allclose(y, made[0], rtol=1e-6)
    with pytest.raises(ValueError, match="compile_effort must be one of full, fast, got 'slow'"):
        jax.jit(f, compile_effort="slow")
    with pytest.raises(Exception, match="xla_no_such"):
        jax.jit(f).lower(x).compile(compiler_options={"xla_no_such": 1})


def which(x, y=0, z=0):
    """Which of the arguments are known."""
    return [float(isinstance(v, int)) for v in (x, y, z)]


@pytest.mark.parametrize("options, args, kwargs, wanted", [
    ({"static_argnums": 1, "static_argnames": "z"}, (1.0, 2, 3), {}, [0, 1, 0]),
    ({"static_argnums": 1, "static_argnames": "z"}, (1.0,), {"y": 2, "z": 3}, [0, 0, 1]),
    ({"static_argnames": "z"}, (1.0, 2, 3), {}, [0, 0, 1]),
    ({"static_argnums": 2}, (1.0, 2), {"z": 3}, [0, 0, 1]),
    ({"static_argnums": 1, "static_argnames": "x"}, (1, 2, 3), {}, [0, 1, 0]),
    ({"static_argnums": 1, "static_argnames": ()}, (1.0,), {"y": 2}, [0, 0, 1]),
    ({"static_argnums": (), "static_argnames": "y"}, (1.0, 2), {}, [0, 0, 1]),
    ({"static_argnums": -1}, (1.0, 2, 3), {}, [0, 0, 1])])
def test_numbers_and_names_of_static_arguments(options, args, kwargs, wanted):
    assert [float(v) for v in jax.jit(which, **options)(*args, **kwargs)] == wanted


def test_numbers_of_arguments_may_be_numpys():
    def head(n, x):
        return x[:n]

    x, n = jnp.arange(3.0), np.int64(0)
    numbers: Any
    for numbers in (n, [n], (np.uint8(0),)):
        assert list(jax.jit(head, static_argnums=numbers)(2, x)) == [0, 1]
        assert list(jax.checkpoint(head, static_argnums=numbers)(2, x)) == [0, 1]
        assert list(jax.pmap(head, static_broadcasted_argnums=numbers)(2, x[None])[0]) == [0, 1]
        assert str(jax.make_jaxpr(head, static_argnums=numbers)(2, x))
        y = jnp.ones(2)
        jax.jit(lambda y: y + 1, donate_argnums=numbers)(y)
        assert y.is_deleted()
    for transform in (jax.jit, jax.checkpoint):
        with pytest.raises(TypeError, match="static_argnums must be an int or a sequence of ints"):
            transform(head, static_argnums=cast(Any, ("x",)))(2, x)


def test_negative_numbers_count_from_the_arguments_that_are_given():
    f = jax.jit(lambda *xs: [float(isinstance(x, int)) for x in xs], static_argnums=-1)
    assert [float(v) for v in f(1, 2, 3)] == [0, 0, 1]
    assert [float(v) for v in f(1, 2)] == [0, 1]
    assert jax.make_jaxpr(lambda x, n: x * n, static_argnums=-1)(1.0, 2) is not None
    g = jax.jit(lambda *xs: xs[0] + xs[1], donate_argnums=-1)
    x, y = jnp.ones(3), jnp.ones(3)
    g(x, y)
    assert y.is_deleted() and not x.is_deleted()


@pytest.mark.parametrize("fun, names", [
    (lambda *a: 1.0, "a"), (lambda x, /: 1.0, "x"), (lambda x: 1.0, ("x", "q"))])
def test_names_that_no_argument_has(fun, names):
    with pytest.raises(ValueError, match="takes no argument called"):
        jax.jit(fun, static_argnames=names)


def test_a_struct_stands_for_an_argument_that_is_not_read() -> None:
    """Its shape and dtype may be asked for, in every transformation; its elements may not."""
    s = jax.ShapeDtypeStruct((3,), np.float32)
    f = jax.jit(lambda s, x: x * s["a"].shape[0])
    assert [f({"a": s}, 1.0), f({"a": s}, 2.0)] == [3.0, 6.0]
    assert f({"a": jnp.ones(3)}, 1.0) == 3.0 and f({"a": jax.ShapeDtypeStruct((2,), int)}, 1) == 2
    assert jax.jit(lambda x: f({"a": s}, x))(1.0) == 3.0
    assert jax.grad(lambda x: f({"a": s}, x))(1.0) == 3.0
    assert list(jax.vmap(lambda x: f({"a": s}, x))(jnp.ones(2))) == [3.0, 3.0]
    for g in (lambda s, x: x + s, lambda s, x: (s, x)):
        with pytest.raises(TypeError, match="at path s"):
            jax.jit(g)(s, 1.0)
    with pytest.raises(TypeError, match="at path s"):
        jax.jit(lambda s, x: x, keep_unused=True)(s, 1.0)
    with pytest.raises(TypeError, match="at path s"):
        jax.jit(lambda x: jax.jit(lambda s, x: x + s)(s, x))(1.0)


def test_an_inline_says_whether_a_call_is_recorded_as_its_ops():
    for inline in jax.Inline:
        f = jax.jit(jnp.sin, inline=inline)
        (eqn,) = jax.make_jaxpr(lambda x, f=f: f(x))(1.0).eqns
        assert eqn.primitive.name == ("sin" if inline is jax.Inline.JAX_EARLY else "jit")
    with pytest.raises(ValueError, match="inline must be a bool or an xfront.Inline"):
        jax.jit(jnp.sin, inline=3)


def test_an_inlined_call_is_recorded_as_its_ops():
    f = jax.jit(lambda x: (jnp.sin(x) * 2, x, None), inline=True)

    def names(fun):
        return [e.primitive.name for e in jax.make_jaxpr(fun)(1.0).eqns]

    assert names(f) == ["sin", "mul"] and names(jax.jit(f)) == ["jit"]
    assert names(lambda x: jax.jit(f)(x)[0]) == ["jit"]
    (call,) = jax.make_jaxpr(jax.jit(lambda x: f(x)[0] + 1))(1.0).eqns
    assert [e.primitive.name for e in call.params["jaxpr"].eqns] == ["sin", "mul", "add"]
    assert jax.jit(lambda x: f(x)[1])(2.0) == 2 and f(0.0)[0] == 0
    assert jax.grad(lambda x: f(x)[0] if f(x)[0] > -1 else x)(0.0) == 2
    assert jax.vmap(f)(jnp.zeros(2))[0].tolist() == [0, 0]
    within = jax.jit(lambda y: jax.jit(lambda x: x * y, inline=True)(3.0))
    assert within(2.0) == 6 and jax.grad(within)(2.0) == 3


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap, jax.checkpoint, jax.jacfwd,
                                       jax.pmap, jax.named_call])
def test_names_of_what_is_made_of_partials_and_objects(transform):
    def scaled(x, by):
        return x * by

    class Twice:
        def __call__(self, x):
            return x * 2

    assert transform(functools.partial(scaled, by=2.0)).__name__ == "scaled"
    assert transform(Twice()).__name__ == "<unnamed function>"
    assert list(inspect.signature(transform(scaled)).parameters) == ["x", "by"]
