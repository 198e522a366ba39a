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


def test_static_positions_that_are_not_given_are_refused():
    f = xfront.checkpoint(lambda a, b=2: a * b, static_argnums=1)
    assert f(3.0, 2) == 6
    with pytest.raises(ValueError, match="static_argnums"):
        f(3.0)
    with pytest.raises(ValueError, match="static_argnums"):
        f(3.0, b=2)
