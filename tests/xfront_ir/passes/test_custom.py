"""Custom rules and checkpoints in nestings."""

from __future__ import annotations

import numpy as np

from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.opdef import Request
from xfront_ir.ops.custom import tangent_function
from xfront_ir.passes.inline import expand
from xfront_ir.passes.jvp import jvp
from xfront_ir.passes.linearize import gradient, linearize
from xfront_ir.passes.literals import abstract
from xfront_ir.passes.varying import varying
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.reference import evaluate
from xfront_ir.verifier import verify


class Rule:
    """A rule whose derivative is plainly its own: d sin(x)*y is called 3*cos(x)*y."""

    name = "sine"

    def __init__(self, n_own=None):
        self.asked: list[Request] = []
        if n_own is not None:
            self.n_own = n_own

    def function(self, request):
        self.asked.append(request)
        return getattr(self, request.role)(*request.details)

    def jvp(self, types, perturbed):
        b = Builder("rule")
        x, y = (b.param(t) for t in types)
        dots = [b.param(t) if p else None for t, p in zip(types, perturbed, strict=True)]
        s = b.emit(ops.sin, x)
        t = b.zeros(s.type)
        if dots[0] is not None:
            t = b.emit(ops.mul, b.emit(ops.mul, b.full(x.type, 3.0), b.emit(ops.cos, x)),
                       b.emit(ops.mul, dots[0], y))
        if dots[1] is not None:
            t = b.emit(ops.add, t, b.emit(ops.mul, s, dots[1]))
        return b.close([b.emit(ops.mul, s, y), t])

    def fwd(self, types):
        b = Builder("fwd")
        x, y = (b.param(t) for t in types)
        s = b.emit(ops.sin, x)
        return b.close([b.emit(ops.mul, s, y), b.emit(ops.cos, x), s, y])

    def bwd(self, residual_types, cts):
        b = Builder("bwd")
        c, s, y = (b.param(t) for t in residual_types)
        ct = b.param(cts[0])
        three = b.full(c.type, 3.0)
        dx = b.emit(ops.mul, b.emit(ops.mul, ct, three), b.emit(ops.mul, c, y))
        return b.close([dx, b.emit(ops.mul, ct, s)])


class OwnRule(Rule):
    """The same, where the second operand is captured."""

    def bwd(self, residual_types, cts):
        fn = Rule.bwd(self, residual_types, cts)
        return fn.replace(returns=fn.returns[:1])


def program(ir, op, rule, shape=(3,)):
    body = ir.trace(lambda b, x, y: b.emit(ops.mul, b.emit(ops.sin, x), y), ir.f64(*shape),
                    ir.f64(*shape))

    def f(b, x, y):
        (z,) = b.emit(op, b.emit(ops.exp, x), y, body=body, rule=rule, name="sine")
        return b.emit(ops.mul, z, x)
    return ir.trace(f, ir.f64(*shape), ir.f64(*shape))


def wanted(ir, args, ct):
    """The same program where the derivative of sin is 3 cos, by the chain rule on paper."""
    x, y = args
    e = np.exp(x)
    return ct * (3 * np.cos(e) * y * e * x + np.sin(e) * y), ct * np.sin(e) * x


def test_custom_jvp_and_vjp_give_their_own_derivative(ir):
    for op in (ops.custom_jvp, ops.custom_vjp):
        fn = program(ir, op, Rule())
        args = ir.samples(fn)
        ct = np.array([1.0, 2.0, 3.0])
        value, dx, dy = evaluate(gradient(fn, (True, True)), *args, ct)
        np.testing.assert_array_equal(value, evaluate(fn, *args)[0])
        for got, want in zip((dx, dy), wanted(ir, args, ct), strict=True):
            np.testing.assert_allclose(got, want)
        ir.check_reverse(jvp(fn, (True, True))[0] if op is ops.custom_jvp else fn)


def test_they_commute_with_vectorize(ir):
    for op in (ops.custom_jvp, ops.custom_vjp):
        for places in ((0, 0), (0, None), (None, 0), (1, 0)):
            fn = program(ir, op, Rule())
            ir.check_batch(fn, places)
            many, out = vectorize(fn, places, ("i", 4), (0,))
            args = ir.samples(many)
            ct = np.random.default_rng(3).normal(size=(4, 3))
            _, dx, dy = evaluate(gradient(many, (True, True)), *args, ct)
            each = [wanted(ir, [a if p is None else np.take(a, i, p)
                                for a, p in zip(args, places, strict=True)], ct[i])
                    for i in range(4)]
            for got, p, want in zip((dx, dy), places, zip(*each, strict=True), strict=True):
                expected = sum(want) if p is None else np.stack(want, p)
                np.testing.assert_allclose(got, expected)
            ir.check_batch(gradient(fn, (True, True)), (*places, 0))


def test_what_remains_of_custom_vjp_is_a_linear_map_that_batches(ir):
    fn = program(ir, ops.custom_vjp, Rule())
    linear = linearize(fn, (True, True)).linear
    assert "custom_vjp_tangent" in [op.definition.name for op in linear.ops]
    (op,) = [op for op in linear.ops if op.definition.name == "custom_vjp_tangent"]
    map_ = tangent_function(tuple(v.type for v in op.operands), op.attrs)
    args = ir.samples(map_)
    c, s, y, tx, ty = args
    np.testing.assert_allclose(evaluate(map_, *args)[0], 3 * c * y * tx + s * ty)
    many, _ = vectorize(linear, (0,) * len(linear.params), ("i", 2), (0,))
    (op,) = [op for op in many.ops if op.definition.name == "custom_vjp_tangent"]
    batched = tangent_function(tuple(v.type for v in op.operands), op.attrs)
    args = ir.samples(batched)
    c, s, y, tx, ty = args
    np.testing.assert_allclose(evaluate(batched, *args)[0], 3 * c * y * tx + s * ty)


def test_second_derivatives_differentiate_the_rule(ir):
    for op in (ops.custom_jvp, ops.custom_vjp):
        grad = gradient(program(ir, op, Rule()), (True, True))
        ir.check_forward(grad, tol=1e-5)
        ir.check_reverse(grad)


def test_captured_operands_get_the_derivative_of_the_body(ir):
    for op in (ops.custom_jvp, ops.custom_vjp):
        rule = OwnRule(n_own=1)
        fn = program(ir, op, rule)
        args, ct = ir.samples(fn), np.ones(3)
        _, dx, dy = evaluate(gradient(fn, (True, True)), *args, ct)
        np.testing.assert_allclose((dx, dy), wanted(ir, args, ct))


def test_rule_is_not_asked_where_nothing_is_differentiated(ir):
    rule = Rule()
    fn = program(ir, ops.custom_jvp, rule)
    vectorize(fn, (0, 0), ("i", 2))
    jvp(fn, (False, False))
    assert rule.asked == []


def test_linearity_of_a_rule_met_on_a_tangent(ir):
    """A custom function applied to a value that is itself linear: its body is what counts."""
    body = ir.trace(lambda b, x, y: b.emit(ops.mul, x, y), ir.f64(3), ir.f64(3))
    from xfront_ir.passes.linearize import linear_transpose

    def f(b, t, y):
        return b.emit(ops.custom_jvp, t, y, body=body, rule=Rule(), name="m")
    fn = ir.trace(f, ir.f64(3), ir.f64(3))
    back, active = linear_transpose(fn, (True, False), (True,))
    assert active == (True,)
    np.testing.assert_allclose(evaluate(back, np.full(3, 2.0), np.ones(3))[0], 2)


class Save:
    """Saves the results of the named ops."""

    name = "save"

    def __init__(self, *names):
        self.names = names

    def saveable(self, op):
        return op.definition.name in self.names

    def offloads(self, op):
        return False


def checkpointed(ir, policy=None, prevent_cse=True):
    body = ir.trace(lambda b, x, y: [b.emit(ops.sin, b.emit(ops.mul, b.emit(ops.exp, x), y)), y],
                    ir.f64(3), ir.f64(3))

    def f(b, x, y):
        z, y = b.emit(ops.checkpoint, x, b.emit(ops.cos, y), body=body, policy=policy,
                      prevent_cse=prevent_cse)
        return [b.emit(ops.mul, z, x), y]
    return ir.trace(f, ir.f64(3), ir.f64(3))


def test_checkpoint(ir):
    for policy in (None, Save("exp"), Save("mul", "cos"), Save("sin")):
        for prevent_cse in (True, False):
            ir.check(checkpointed(ir, policy, prevent_cse), second=policy is None or prevent_cse)


def test_only_what_is_computed_again_is_kept_apart(ir):
    """By a barrier, and only where it is asked for."""
    for prevent_cse in (True, False):
        fn = checkpointed(ir, prevent_cse=prevent_cse)
        back = gradient(fn, (True,) * len(fn.params))
        (first, again) = [op for op in back.ops if op.definition is ops.checkpoint]
        for op, fenced in ((first, False), (again, prevent_cse)):
            alone = expand(close_of(op))
            assert any([o.definition is ops.optimization_barrier for o in alone.ops]) is fenced


def close_of(op):
    b = Builder("alone")
    operands = [b.param(v.type) for v in op.operands]
    return b.close(b.emit(op.definition, *operands, **op.attrs))


def residuals_of(fn):
    parts = linearize(fn, (True,) * len(fn.params))
    return len(parts.forward.returns) - parts.n_out


def test_checkpoint_saves_its_operands_and_what_the_policy_names(ir):
    # sin(y) for cos; cos(y) is an operand and a result; x is a parameter
    base = residuals_of(checkpointed(ir))
    assert residuals_of(checkpointed(ir, Save("exp"))) == base + 1
    assert residuals_of(checkpointed(ir, Save("mul", "exp"))) == base + 2
    assert residuals_of(checkpointed(ir, Save("nothing"))) == base


def test_checkpoint_name_is_an_identity(ir):
    fn = ir.trace(lambda b, x: b.emit(ops.checkpoint_name, b.emit(ops.sin, x), name="s"),
                  ir.f64(3))
    ir.check(fn)


def test_literals_that_become_parameters_leave_the_rule_alone(ir):
    """The op gains an operand, whose cotangent is that of the body's literal: none."""
    def body(b, x, y):
        return b.emit(ops.mul, b.emit(ops.sin, x), b.emit(ops.mul, y, b.full(y.type, 1.0)))
    for op in (ops.custom_jvp, ops.custom_vjp):
        inner = ir.trace(body, ir.f64(3), ir.f64(3))

        def f(b, x, y, op=op, inner=inner):
            return b.emit(op, x, y, body=inner, rule=Rule(), name="sine")
        fn = ir.trace(f, ir.f64(3), ir.f64(3))
        general = abstract(fn, (0,))
        assert general.param_types == (ir.f64(3), ir.f64(3), ir.f64())
        args, ct = ir.samples(fn), np.ones(3)
        x, y = args
        value, *grads = evaluate(gradient(general, (True, True, False)), *args, 1.0, ct)
        np.testing.assert_allclose(value, np.sin(x) * y)
        for got, want in zip(grads, (3 * np.cos(x) * y, np.sin(x)), strict=True):
            np.testing.assert_allclose(got, want)


def test_rules_inside_parts_cast_what_they_mix(ir):
    """One operand varies over an axis of the mesh and one does not: both are cast before the op, so
    that a cotangent varies as its operand does."""
    for op in (ops.custom_jvp, ops.custom_vjp):
        rule = Rule()
        fn = program(ir, op, rule, ())
        moved, out = varying(fn, (frozenset(), frozenset("x")), (("x", 4),))
        assert out == (frozenset("x"),)
        (made,) = [o for o in moved.ops if o.definition is op]
        assert [o.definition.name for o in moved.ops].count("pcast") == 2   # exp(x), and x
        back = gradient(moved, (True, True))
        verify(back)
        asked = [request.role for request in rule.asked]
        assert asked == (["jvp"] if op is ops.custom_jvp else ["fwd", "bwd"])
        assert made.attrs["rule"].rule is rule
