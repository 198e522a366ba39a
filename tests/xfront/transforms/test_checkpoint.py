"""checkpoint: what is kept, asked of policies and seen in residuals; values stay the same."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import ad_checkpoint, lax
from xfront.ad_checkpoint import (
    Offloadable,
    Recompute,
    Saveable,
    checkpoint_name,
    print_saved_residuals,
    saved_residuals,
)
from xfront.transforms.flat import Arguments

policies = xfront.checkpoint_policies
X, W = jnp.ones((2, 3)), jnp.full((3, 3), 0.1)


def layer(w, x, options):
    h = checkpoint_name(jnp.sin(x @ w), "h")
    return jnp.sum(jnp.exp(h) * options["k"])


def origins(policy=None, **given):
    f = xfront.checkpoint(layer, policy=policy) if policy or given else layer
    return [origin.split(" from /")[0] for _, origin in saved_residuals(f, W, X, {"k": 2.0})]


ARGUMENTS = [f"from the argument {name}" for name in ("w", "x", "options['k']")]


def test_residuals_without_checkpoint():
    found = saved_residuals(layer, W, X, {"k": 2.0})
    assert [origin.split(" from /")[0] for _, origin in found] == [
        *ARGUMENTS, "output of cos", "output of exp"]
    assert [aval.shape for aval, _ in found] == [(3, 3), (2, 3), (), (2, 3), (2, 3)]
    assert found[3][1].endswith("(layer)") and "test_checkpoint.py:" in found[3][1]


def saved_names(policy):
    return origins(policy)[len(ARGUMENTS):]


@pytest.mark.parametrize(("policy", "kept"), [
    (policies.nothing_saveable, []),
    (policies.everything_saveable, ["output of cos", "output of exp"]),
    (policies.dots_saveable, ["output of dot_general"]),
    (policies.checkpoint_dots_with_no_batch_dims, ["output of dot_general"]),
    (policies.save_only_these_names("h"), ["named 'h'"]),
    (policies.save_only_these_names("g"), []),
    (policies.save_any_names_but_these("h"), []),
    (policies.save_any_names_but_these("g"), ["named 'h'"]),
    (policies.save_from_both_policies(policies.dots_saveable, lambda *_, **__: Recompute),
     ["output of dot_general"]),
    (policies.offload_dot_with_no_batch_dims("device", "pinned_host"), ["output of dot_general"]),
    (policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["g"], names_which_can_be_offloaded=["h"], offload_src="device",
        offload_dst="pinned_host"), ["named 'h'"]),
    (policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["h"], names_which_can_be_offloaded=["g"], offload_src="device",
        offload_dst="pinned_host"), ["named 'h'"]),
    (lambda *_, **__: Saveable, ["output of cos", "output of exp"]),
    (lambda *_, **__: Recompute, []),
    (lambda prim, *_, **__: prim is lax.sin_p, ["output of sin"]),
    (lambda prim, *_, **__: prim.name == "exp" and Offloadable("device", "pinned_host"),
     ["output of exp"]),
])
def test_policies_are_seen_in_residuals_and_change_no_value(policy, kept):
    found = saved_names(policy)
    assert [k for k in kept if k not in found] == [] and len(found) <= max(len(kept), 1)
    expected = xfront.grad(layer)(W, X, {"k": 2.0})
    got = xfront.grad(xfront.checkpoint(layer, policy=policy))(W, X, {"k": 2.0})
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_no_policy_keeps_arguments_alone():
    assert origins(prevent_cse=True) == ARGUMENTS


def test_a_policy_sees_primitives_types_and_parameters():
    seen = {}

    def policy(prim, *avals, **params):
        seen[prim] = avals, params
        return False

    xfront.grad(xfront.checkpoint(layer, policy=policy))(W, X, {"k": 2.0})
    (x, w), given = seen[lax.dot_general_p]
    assert (x.shape, w.shape, x.dtype) == ((2, 3), (3, 3), np.float32)
    assert given["dimension_numbers"] == (((1,), (0,)), ((), ()))
    assert seen[lax.name_p][1] == {"name": "h"}


@pytest.mark.parametrize("answer", [3, None, "yes"])
def test_other_answers_of_policies_are_refused(answer):
    f = xfront.checkpoint(layer, policy=lambda *_, **__: answer)
    with pytest.raises(TypeError, match="must return a bool"):
        xfront.grad(f)(W, X, {"k": 2.0})


def test_a_name_saved_and_offloaded_is_refused():
    with pytest.raises(ValueError, match=r"\['h'\]"):
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["h"], names_which_can_be_offloaded=["h", "g"],
            offload_src="device", offload_dst="pinned_host")


def test_print_saved_residuals(capsys):
    c = jnp.arange(3.0)

    def f(x, *rest, scale):
        return jnp.sum(jnp.sin(c * x) * rest[0]["a"][1]) * scale

    print_saved_residuals(f, X, {"a": (1.0, X)}, scale=2.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["f32[2,3] from the argument rest[0]['a'][1]",
                         "f32[] from the argument scale"]
    assert "f32[3] from a constant" in lines
    assert any(line.startswith("f32[2,3] output of cos from ") for line in lines)
    assert ad_checkpoint.print_saved_residuals is print_saved_residuals


def test_residuals_inside_jit_and_scan_name_the_op_inside():
    found = saved_residuals(xfront.jit(lambda x: jnp.sum(jnp.sin(x))), X)
    assert [o.split(" from ")[0] for _, o in found] == ["output of cos"]

    def stepped(x):
        return lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=5)[0].sum()

    (aval, origin), = saved_residuals(stepped, X)
    assert aval.shape == (5, 2, 3) and "cos" in origin


def test_checkpoint_bounds_what_a_chain_keeps():
    """32 layers keep 32 activations, or with checkpoints over each 8 the 4 between them."""
    size = 1000
    w = jnp.full((size,), 0.9)

    def chain(n, x):
        for _ in range(n):
            x = jnp.sin(x * w) + jnp.exp(-x)
        return x

    def whole(x):
        return chain(32, x).sum()

    def parts(x):
        for _ in range(4):
            x = xfront.checkpoint(lambda y: chain(8, y))(x)
        return x.sum()

    def kept(f):
        return sum(aval.size for aval, _ in saved_residuals(f, jnp.ones(size)))

    assert kept(whole) >= 32 * size and kept(parts) <= 5 * size
    np.testing.assert_allclose(xfront.grad(parts)(jnp.ones(size)),
                               xfront.grad(whole)(jnp.ones(size)), rtol=2e-5)


def test_prevent_cse_is_a_tree_of_bools_too():
    def f(x, tree):
        return jnp.sin(x) * tree["a"]

    def text(prevent_cse):
        g = xfront.checkpoint(f, prevent_cse=prevent_cse)
        return xfront.jit(xfront.grad(g)).lower(1.0, {"a": 2.0}).as_text()

    assert "optimization_barrier" in text((True, {"a": False}))
    assert "optimization_barrier" not in text((False, {"a": False}))
    with pytest.raises(ValueError, match="tuple"):
        text((True,))
    with pytest.raises(TypeError, match="prevent_cse"):
        text(("x", True))


def test_static_values_are_part_of_the_trace_and_the_same_ones_trace_once(monkeypatch):
    traces = []
    f = xfront.checkpoint(lambda x, k: jnp.sin(x) * k, static_argnums=1)
    trace = Arguments.trace
    monkeypatch.setattr(Arguments, "trace", lambda self, *args, **given: (
        traces.append(given["kind"]), trace(self, *args, **given))[1])
    for k in (2, 2, 3, 2):
        assert xfront.grad(f)(0.0, k) == k
    assert traces.count("checkpoint") == 2


def test_a_captured_object_may_refuse_questions():
    class Closed:
        def __getattr__(self, name):
            raise RuntimeError(name)

    closed = Closed()
    assert xfront.grad(xfront.checkpoint(lambda x: (closed, jnp.sin(x))[1]))(0.0) == 1


def test_static_positions_that_are_not_given_are_refused():
    f = xfront.checkpoint(lambda a, b=2: a * b, static_argnums=1)
    assert f(3.0, 2) == 6
    with pytest.raises(ValueError, match="static_argnums"):
        f(3.0)
    with pytest.raises(ValueError, match="static_argnums"):
        f(3.0, b=2)


def by_scan(x):
    def step(c, w):
        return jnp.sin(jnp.sin(c @ w) @ w), c

    y, ys = lax.scan(step, x, jnp.stack([S] * 3))
    return y.sum() + ys.sum()


def by_cond(x):
    return lax.cond(x.sum() > 0, lambda x: jnp.sin(x @ S) @ S, lambda x: jnp.cos(x) @ S, x).sum()


def by_cond_in_scan(x):
    def step(c, i):
        return lax.cond(i > 1, lambda c: jnp.sin(c @ S), lambda c: jnp.cos(c @ S) @ S, c), None

    return lax.scan(step, x, jnp.arange(4))[0].sum()


def by_checkpoint(inner):
    def f(x):
        return xfront.checkpoint(lambda x: jnp.sin(jnp.sin(x @ S) @ S), policy=inner)(x).sum()

    return f


def by_jit_in_scan(x):
    step = xfront.jit(lambda c: jnp.sin(c @ S))
    return lax.scan(lambda c, _: (step(c), None), x, None, length=4)[0].sum()


S = jnp.eye(3) * 0.9
SQUARE, CUBE, STACK = (3, 3), (3, 3, 3), (4, 3, 3)
sines = lambda prim, *_, **__: prim is lax.sin_p


@pytest.mark.parametrize(("f", "policy", "products", "kept"), [
    (by_scan, None, 6, []),
    (by_scan, policies.dots_saveable, 4, [CUBE, CUBE]),
    (by_scan, policies.everything_saveable, 4, [CUBE, CUBE, CUBE]),
    (by_cond, None, 7, []),
    (by_cond, policies.dots_saveable, 6, [SQUARE]),
    (by_cond, policies.save_only_these_names("h"), 7, []),
    (by_cond_in_scan, None, 9, []),
    (by_cond_in_scan, policies.dots_saveable, 6, [STACK]),
    (by_cond_in_scan, policies.everything_saveable, 6, [(4,), STACK]),
    (by_cond_in_scan, policies.offload_dot_with_no_batch_dims("device", "pinned_host"), 6, [STACK]),
    (by_jit_in_scan, policies.dots_saveable, 2, [STACK]),
    (by_checkpoint(None), policies.dots_saveable, 4, [SQUARE, SQUARE]),
    (by_checkpoint(policies.nothing_saveable), sines, 6, [SQUARE]),
    (by_checkpoint(sines), policies.dots_saveable, 4, [SQUARE, SQUARE]),
    (by_checkpoint(policies.dots_saveable), policies.nothing_saveable, 6, []),
])
def test_policies_decide_inside_of_loops_branches_and_checkpoints(f, policy, products, kept):
    """As many products and residuals as JAX has, beside the argument and the constant."""
    g, x = xfront.checkpoint(f, policy=policy), jnp.full((3, 3), 0.3)
    found = [aval.shape for aval, origin in saved_residuals(g, x)
             if "argument" not in origin and "constant" not in origin]
    assert sorted(found, key=lambda shape: (len(shape), shape)) == kept
    assert str(xfront.make_jaxpr(xfront.grad(g))(x)).count("dot_general[") == products
    np.testing.assert_allclose(xfront.grad(g)(x), xfront.grad(f)(x), rtol=1e-5)
    if policy is policies.dots_saveable and f in (by_scan, by_cond):
        along = [xfront.jvp(xfront.grad(h), (x,), (x,))[1] for h in (f, g)]
        np.testing.assert_allclose(*along, rtol=1e-4)


def by_devices(x):
    mesh = xfront.make_mesh((1,), ("i",), axis_types=(xfront.sharding.AxisType.Auto,))
    part = xfront.shard_map(lambda x: jnp.sin(jnp.sin(x @ S) @ S), mesh=mesh,
                            in_specs=xfront.P("i"), out_specs=xfront.P("i"))
    return part(x).sum()


@pytest.mark.parametrize("f", [
    by_devices, lambda x: xfront.pmap(lambda x: jnp.sin(jnp.sin(x @ S) @ S))(x[None]).sum()])
def test_policies_decide_inside_of_functions_of_parts(f):
    x = jnp.full((3, 3), 0.3)
    for policy, products, n_saved in ((None, 6, 0), (policies.dots_saveable, 4, 2),
                                      (sines, 6, 1)):
        g = xfront.checkpoint(f, policy=policy)
        found = [o for _, o in saved_residuals(g, x) if "argument" not in o and "constant" not in o]
        assert len(found) == n_saved, (policy, found)
        assert str(xfront.make_jaxpr(xfront.grad(g))(x)).count("dot_general[") == products
        np.testing.assert_allclose(xfront.grad(g)(x), xfront.grad(f)(x), rtol=1e-5)


@pytest.mark.parametrize("prevent_cse", [True, False])
def test_a_barrier_stands_where_values_are_computed_again(prevent_cse):
    f = xfront.checkpoint(lambda x: jnp.sin(jnp.sin(x)), prevent_cse=prevent_cse)

    def barriers(g):
        return xfront.jit(g).lower(1.0).as_text().count("optimization_barrier")

    again = [xfront.grad(f), lambda x: xfront.linearize(f, x)[1](x)]
    assert [barriers(g) for g in again] == [int(prevent_cse)] * 2
    assert [barriers(g) for g in (f, lambda x: xfront.jvp(f, (x,), (x,)))] == [0, 0]
    shown = str(xfront.make_jaxpr(xfront.grad(f))(1.0))
    assert shown.count("differentiated=True") == 1 and f"prevent_cse={prevent_cse}" in shown
