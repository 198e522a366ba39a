"""Programs as data: every op's view prints and evaluates back; what views say; bodies."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from tests.op_table import all_rows
from tests.xfront_ir.samples import has_row
from xfront import lax
from xfront.extend import core
from xfront.jaxpr.evaluating import eval_jaxpr, traced
from xfront.jaxpr.views import ClosedJaxpr
from xfront.tracing.trace import state, trace_function
from xfront.transforms.structs import struct_kind
from xfront_ir import reference
from xfront_ir.analysis import axis_names

ROWS = all_rows()
X = jnp.array([0.5, 1.0, 2.0])


def retraced(closed):
    """The Function of binding the eqns of a view one after another."""
    kinds = [struct_kind("view", aval) for aval in closed.in_avals]
    axes = {(name, 2) for name in axis_names(closed.ir)}
    outer, state.axes = state.axes, tuple(axes)
    try:
        made = trace_function(lambda xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs),
                              [t for t, _ in kinds], [w for _, w in kinds], name="again",
                              kind="test", staging=True)
    finally:
        state.axes = outer
    assert not made.captures
    return made.function


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_view_prints_and_evaluates_back(name):
    with jax.enable_x64(True):
        for sample, dtype in ROWS[name].cases()[:6]:
            function, arrays = sample.made(name, dtype)
            closed = ClosedJaxpr.of(function)
            assert str(closed).startswith("{ lambda ") and str(closed).count("{") > 0
            again = retraced(closed)
            assert again.return_types == function.return_types

            if name == "literal" or not has_row(name):
                continue
            with np.errstate(all="ignore"):
                one, two = (reference.evaluate(f, *arrays) for f in (function, again))
            for a, b in zip(one, two, strict=True):
                np.testing.assert_array_equal(a, b)


# --- what views say ---------------------------------------------------------------------------

W = jnp.ones((40, 40))


def program(x):
    total, ys = lax.scan(lambda c, y: (c + y, c * 2.0), 0.0, x)
    return lax.cond(total > 0, lambda a: jax.jit(jnp.sin)(a) + 1.0, lambda a: a * ys, x) @ W[:3]


def test_parts_of_a_program():
    closed = jax.make_jaxpr(program)(X)
    jaxpr = closed.jaxpr
    assert isinstance(closed, core.ClosedJaxpr) and isinstance(jaxpr, core.Jaxpr)
    assert [v.aval.shape for v in jaxpr.constvars] == [(40, 40)] and closed.consts[0] is W
    assert [a.str_short() for a in (*closed.in_avals, *closed.out_avals)] == [
        "float32[3]", "float32[40]"]
    names = [e.primitive.name for e in jaxpr.eqns]
    assert names[-1] == "dot_general" and "scan" in names and "cond" in names
    made = {v: e for e in jaxpr.eqns for v in e.outvars}
    assert made[jaxpr.outvars[0]] is jaxpr.eqns[-1]
    scan = next(e for e in jaxpr.eqns if e.primitive is lax.scan_p)
    assert scan.params["length"] == 3 and scan.params["num_carry"] == 1
    assert [e.primitive for e in scan.params["jaxpr"].eqns] == [lax.add_p, lax.mul_p]
    branches = next(e for e in jaxpr.eqns if e.primitive is lax.cond_p).params["branches"]
    inner = branches[1].eqns[0]
    assert inner.primitive is core.primitives.jit_p and inner.params["name"] == "sin"
    assert {j for j in core.subjaxprs(jaxpr)} and len([*core.subjaxprs(jaxpr)]) == 3
    assert len([*core.jaxprs_in_params(scan.params)]) == 1
    assert "test_views.py" in str(scan.source_info) and not closed.effects
    core.check_jaxpr(jaxpr)


def test_the_line_of_an_eqn_in_words():
    from xfront.extend.source_info_util import summarize

    (eqn,) = jax.make_jaxpr(lambda x: x + 1)(1.0).eqns
    file, line, column, _ = summarize(eqn.source_info).replace(" ", ":").rsplit(":", 3)
    with open(__file__) as text:
        there = text.readlines()[int(line) - 1][int(column):]
    assert file == __file__ and there.startswith("x + 1")
    with pytest.raises(ValueError, match="num_frames"):
        summarize(eqn.source_info, 0)


def test_each_tracer_from_outside_is_a_constant_of_its_own() -> None:
    counts = []

    def outer(x):
        a, b, c = jnp.zeros((2, 3)), jnp.zeros((2, 3)), x + 0.5       # a and b are one literal

        def inner(y):
            return (a + b) * c * (a - b) @ y + c

        closed = jax.make_jaxpr(inner)(X[:3])
        counts.append(len(closed.consts))
        return eval_jaxpr(closed.jaxpr, closed.consts, X[:3])[0] + inner(X[:3])

    made = jax.jit(outer)(0.5)
    assert counts == [3] and made.tolist() == [2, 2]

    @jax.jit
    def branches(p, x):
        a, b, c = jnp.zeros(3), jnp.zeros(3), jnp.zeros(3)
        first = lax.cond(p, lambda: (a + 1, b + x), lambda: (c, x * c))
        return lax.while_loop(lambda s: s[0] < 2 + c[0], lambda s: (s[0] + 1, s[1] + a - b),
                              (b[0], first[0] + first[1]))[1]

    assert branches(True, X).tolist() == (X + 1).tolist()
    assert jax.grad(lambda x: branches(True, x).sum())(X).tolist() == [1, 1, 1]
    assert jax.vmap(branches)(np.array([True, False]), jnp.stack([X, X])).tolist() == [
        (X + 1).tolist(), [0, 0, 0]]


def test_literals_and_unread_results():
    closed = jax.make_jaxpr(lambda x: (x * 2.0 + jnp.zeros(3), lax.top_k(x, 2)[0], 1.5))(X)
    mul = closed.eqns[0]
    assert type(mul.invars[1]) is core.Literal and mul.invars[1].val == 2.0
    assert mul.invars[1].aval.shape == ()
    top = next(e for e in closed.eqns if e.primitive is lax.top_k_p)
    assert type(top.outvars[1]) is core.DropVar and type(closed.jaxpr.outvars[2]) is core.Literal
    with pytest.raises(TypeError, match="open Jaxpr"):
        eval_jaxpr(closed, [], X)
    with pytest.raises(TypeError, match="2 values for 1 invars"):
        eval_jaxpr(closed.jaxpr, closed.consts, X, X)


def test_text():
    closed = jax.make_jaxpr(lambda x: jax.jit(lambda a: jnp.sin(a) * 2.0)(x) @ jnp.eye(3))(X)
    lines = str(jax.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(X)).splitlines()
    assert lines == ["{ lambda ; a:f32[3]. let", "    b:f32[3] = sin a",
                     "    c:f32[3] = mul b 2.0:f32[]", "  in (c,) }"]
    assert "c:f32[3] = jit[\n      name=<lambda>\n      jaxpr={ lambda ; " in str(closed)


def test_effects_and_axes():
    closed = jax.make_jaxpr(lambda x: (jax.debug.print("{}", x), lax.psum(x, "i"))[1],
                            axis_env=[("i", 2)])(X)
    assert len(closed.effects) == 1 and closed.eqns[-1].params["axes"] == ("i",)
    with pytest.raises(NameError, match="unbound axis name"):
        jax.jit(core.jaxpr_as_fun(closed))(X)


@pytest.mark.parametrize("f", [
    program, jax.nn.relu, jnp.cumsum, jnp.fft.fft, lambda x: x[jnp.array([2, 0])],
    lambda x: lax.while_loop(lambda c: c[0] < 10, lambda c: c * 2, x),
    jax.grad(lambda x: jax.checkpoint(program)(x).sum()),
    lambda x: jax.random.normal(jax.random.key(0), (3,)) * x], ids=range(8))
def test_programs_run_again(f):
    closed = jax.make_jaxpr(f)(X)
    wanted = jax.tree.leaves(f(X))
    for again in (core.jaxpr_as_fun(closed), jax.jit(core.jaxpr_as_fun(closed))):
        for a, b in zip(again(X), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_programs_of_parts():
    closed = jax.make_jaxpr(lambda c, y: (c + y, c * 2.0))(0.0, 1.0)
    swapped = core.ClosedJaxpr(closed.jaxpr.replace(
        eqns=[e.replace(primitive=lax.sub_p) if e.primitive is lax.add_p else e
              for e in closed.eqns[::-1]]), [])
    carry, ys = lax.scan_p.bind(0.0, X, jaxpr=swapped, length=3, num_consts=0, num_carry=1,
                                reverse=False, unroll=1)
    assert float(carry) == -3.5 and ys.tolist() == [0, -1, -3]
    v = core.Var(closed.in_avals[0])
    w = core.gensym()(closed.in_avals[0])
    made = core.Jaxpr([], [v], [w], [core.new_jaxpr_eqn([v, core.Literal(np.float32(3))], [w],
                                                        lax.mul_p, {})])
    assert eval_jaxpr(made, [], 2.0)[0] == 6 and traced(made).param_types
    with pytest.raises(core.JaxprTypeError):
        core.check_jaxpr(made.replace(invars=[]))
    with pytest.raises(ValueError, match="0 constvars, got 1"):
        core.ClosedJaxpr(made, [X])


def test_bind():
    assert lax.add_p.bind(X, 1.0).tolist() == [1.5, 2, 3]
    assert lax.reduce_sum_p.bind(X, axes=(0,), out_sharding=None) == 3.5
    assert lax.convert_element_type_p.bind(X, new_dtype=np.int32, weak_type=False,
                                           sharding=None).dtype == np.int32
    assert lax.scatter_sub_p.bind is not None
    for error, message, call in (
            (TypeError, "takes axes", lambda: lax.reduce_sum_p.bind(X, axes=(0,), nonsense=3)),
            (TypeError, "missing params: axes", lambda: lax.reduce_sum_p.bind(X)),
            (TypeError, "missing params: dimension_numbers", lambda: lax.dot_general_p.bind(X, X)),
            (TypeError, "missing params: padding_config", lambda: lax.pad_p.bind(X, 1.0)),
            (NotImplementedError, "no operation is recorded", lambda: lax.after_all_p.bind())):
        with pytest.raises(error, match=message):
            call()


def test_interpreter_of_ones_own():
    """The inverse of a program, by walking its eqns backwards."""
    inverses = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh}

    def inverse(f):
        def run(y):
            closed = jax.make_jaxpr(f)(y)
            env = dict(zip(closed.jaxpr.outvars, [y], strict=True))
            for eqn in closed.eqns[::-1]:
                env[eqn.invars[0]] = inverses[eqn.primitive](env[eqn.outvars[0]])
            return env[closed.jaxpr.invars[0]]
        return run

    f = inverse(lambda x: jnp.exp(jnp.tanh(x)))
    for transform in (lambda f: f, jax.jit, jax.vmap):
        np.testing.assert_allclose(transform(f)(jnp.exp(jnp.tanh(X))), X, rtol=1e-5)
    assert "atanh" in str(jax.make_jaxpr(f)(1.5))


# --- what libraries ask of traces -------------------------------------------------------------

def test_traces():
    from xfront.interpreters import ad, batching, partial_eval

    before = core.get_opaque_trace_state(convention="flax")
    assert core.find_top_trace([X]) is None and jax.core.trace_state_clean()
    seen = []

    def look(x):
        seen.append([core.get_opaque_trace_state() == before, isinstance(x, jax.core.Tracer),
                     isinstance(x, partial_eval.DynamicJaxprTracer), isinstance(x, ad.JVPTracer),
                     isinstance(x, batching.BatchTracer), core.find_top_trace([x]) is not None])
        with core.take_current_trace(), core.set_current_trace(None):
            assert not isinstance(jnp.ones(2) * 2, jax.core.Tracer)
        return x.sum()

    jax.jit(look)(X), jax.grad(look)(X), jax.vmap(look)(X)
    assert seen == [[False, True, True, False, False, True],
                    [False, True, False, True, False, True],
                    [False, True, False, False, True, True]]
    assert core.get_opaque_trace_state() == before
    assert isinstance(X.aval, jax.core.AbstractValue) and core.valid_jaxtype(1.0)
    assert not core.valid_jaxtype("a")
    jax.jvp(lambda x: (seen.append(x._trace.main is core.find_top_trace([x]).main), x)[1],
            (X,), (X,))
    assert seen[-1] is True
    assert X.aval.to_tangent_aval() is X.aval
    assert jnp.arange(2).aval.to_tangent_aval().dtype == jax.dtypes.float0
    assert core.mapped_aval(3, 0, X.aval).shape == () and core.unmapped_aval(
        2, 1, X.aval).shape == (3, 2)
    assert core.concrete_or_error(int, 3.0) == 3
    assert jax.grad(lambda x: x * core.concrete_or_error(int, jax.lax.stop_gradient(x)))(3.0) == 3
    with pytest.raises(jax.errors.ConcretizationTypeError, match="lose its derivative"):
        jax.grad(lambda x: x * core.concrete_or_error(float, x))(3.0)
    with pytest.raises(jax.errors.ConcretizationTypeError, match="the size needs the value"):
        jax.jit(lambda x: core.concrete_or_error(None, x, "the size"))(3.0)
    with pytest.raises(AttributeError, match="calls of functions are recorded as jit_p"):
        core.CallPrimitive  # noqa: B018


def test_wrapped_functions():
    from xfront.interpreters import partial_eval as pe

    jaxpr, avals, consts = pe.trace_to_jaxpr_dynamic(lambda x: [x @ W[:3], x], [X.aval])
    assert [a.shape for a in avals] == [(40,), (3,)] and consts[0] is W
    one, used = pe.dce_jaxpr(jaxpr, [False, True])
    assert not one.eqns and used == [True]
    assert len(pe.convert_constvars_jaxpr(jaxpr).invars) == 2
    known = [pe.PartialVal.known(2.0), pe.PartialVal.unknown(X.aval)]
    jaxpr, pvals, consts = pe.trace_to_jaxpr_nounits(lambda a, x: [a * x], known, True)
    assert eval_jaxpr(jaxpr, consts, X)[0].tolist() == [1, 2, 4] and not pvals[0].is_known()


def test_names_of_arguments_and_results():
    def f(p, *rest, rate=1.0, **options):
        return {"u": p["w"] * rate, "v": (rest, None)}

    info = jax.make_jaxpr(f)({"w": 1.0, "b": (2.0, 3)}, 4.0, rate=2.0, z=5.0).jaxpr.debug_info
    assert info.arg_names == ("p['b'][0]", "p['b'][1]", "p['w']", "rest[0]", "rate",
                              "options['z']")
    assert info.result_paths == ("result['u']", "result['v'][0][0]") and info.func_name == "f"
    info = jax.make_jaxpr(lambda n, x: x, static_argnums=0)("a", 2.0).jaxpr.debug_info
    assert info.arg_names == ("x",) and info.result_paths == ("result",)
    info = jax.jit(lambda x, y: [x, (y,)]).trace(1.0, 2.0).jaxpr.jaxpr.debug_info
    assert info.arg_names == ("x", "y") and info.result_paths == ("result[0]", "result[1][0]")


def test_an_interpreter_runs_eqns_in_their_context():
    closed = jax.make_jaxpr(lambda x: jnp.sin(x) + 1.0)(1.0)
    env = dict(zip(closed.jaxpr.invars, [2.0], strict=True))
    for eqn in closed.eqns:
        with eqn.ctx.manager:
            out = eqn.primitive.bind(*[v.val if isinstance(v, core.Literal) else env[v]
                                       for v in eqn.invars], **eqn.params)
        env[eqn.outvars[0]] = out
    np.testing.assert_allclose(out, np.sin(2.0) + 1, rtol=1e-6)
    eqn = closed.eqns[0]
    made = core.new_jaxpr_eqn(eqn.invars, eqn.outvars, eqn.primitive, eqn.params, ctx=eqn.ctx)
    assert made.ctx is eqn.ctx
    with pytest.raises(TypeError, match="ctx"):
        core.new_jaxpr_eqn(eqn.invars, eqn.outvars, eqn.primitive, eqn.params, ctx=1)


def test_a_shard_map_is_shown_as_itself():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    f = jax.shard_map(lambda x: x * 2, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))
    (eqn,) = jax.make_jaxpr(f)(X).eqns
    assert eqn.primitive.name == "shard_map"


def test_evaluated_control_flow_is_as_weak_as_its_bodies():
    def f(x):
        _, ys = lax.scan(lambda c, x: (c + x, c), 0.0, x)
        return ys, lax.cond(x[0] > 0, lambda: 1.0, lambda: 2.0), lax.fori_loop(
            0, 2, lambda i, c: 2 * c, 1.0)

    closed = jax.make_jaxpr(f)(X)
    for run in (core.jaxpr_as_fun(closed), jax.jit(core.jaxpr_as_fun(closed))):
        ys, one, four = run(X)
        assert ys.weak_type and one.weak_type and four.weak_type and one == 1 and four == 4


def test_a_tracer_of_a_derivative_has_a_primal_outside_and_can_be_referenced_weakly():
    from xfront.interpreters.ad import JVPTracer

    def known(x):
        """Whether x is known, as PhiFlow asks, and of how many derivatives it is a tracer."""
        levels = 0
        while isinstance(x, JVPTracer):
            x, levels = x.primal, levels + 1
        return not isinstance(x, jax.core.Tracer), levels

    found = []

    def look(x):
        y = x * 2.0
        assert weakref.ref(y)() is y
        found.extend([known(x), known(y)])
        return y * y

    jax.grad(look)(1.0), jax.jvp(look, (1.0,), (1.0,)), jax.vjp(look, 1.0), jax.linearize(look, 1.0)
    assert found == [(True, 1)] * 8
    found.clear()
    jax.grad(jax.grad(look))(1.0)
    assert found == [(True, 2)] * 2
    found.clear()
    jax.jit(jax.grad(look))(1.0), jax.vmap(jax.grad(look))(X)
    assert found == [(False, 1)] * 4
    found.clear()
    jax.jit(look)(1.0), jax.vmap(look)(X), jax.grad(jax.jit(look))(1.0)
    assert found == [(False, 0)] * 4             # the jitted function is traced once
    for run in (jax.grad, lambda f: jax.jit(jax.grad(f))):
        assert run(lambda x: (x * x).primal * x)(3.0) == 9.0
    for run in (jax.jit, jax.vmap):
        run(lambda x: pytest.raises(AttributeError, getattr, x, "primal") and x)(X)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        leaked = []
        jax.grad(lambda x: leaked.append(x) or x)(1.0)
        _ = leaked[0].primal


def test_programs_are_printed_with_lines_scopes_and_effects_where_asked():
    def f(x):
        with jax.named_scope("layer"):
            y = jnp.sin(x)
        return jax.lax.cond(y > 0, jnp.cos, lambda x: x, y)

    program = jax.make_jaxpr(f)(1.0)
    assert program.pretty_print() == str(program) == program.jaxpr.pretty_print(use_color=False)
    first = program.pretty_print(source_info=True, name_stack=True).splitlines()[1]
    assert first.startswith("    b:f32[] = sin") and "test_views.py:" in first
    assert first.endswith(".f)  # [layer]")
    assert "f32" not in program.pretty_print(print_shapes=False).partition("0.0:f32[]")[0]
    assert program.pretty_print(print_effects=True).endswith(") : {  } }")
    inner = jax.make_jaxpr(jax.jit(f))(1.0)
    assert "keep_unused" not in inner.pretty_print()
    assert "keep_unused=False" in inner.pretty_print(custom_pp_eqn_rules=False)
    with pytest.raises(NotImplementedError, match="without colours"):
        program.pretty_print(use_color=True)
