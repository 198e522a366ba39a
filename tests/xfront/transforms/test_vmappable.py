"""Types that vmap takes apart by rules of their own."""

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront.interpreters import batching


class Held:
    """Arrays with the axis, and one without it."""

    def __init__(self, x, shared=None, note=""):
        self.x, self.shared, self.note = x, shared, note


class Along:
    def __init__(self, axis):
        self.axis = axis


class Node(Held):
    """The same, which is a tree too."""


xfront.tree_util.register_pytree_node(
    Node, lambda n: ((n.x, n.shared), n.note), lambda note, parts: Node(*parts, note))


@pytest.fixture(autouse=True)
def registered():
    def to_elt(cont, _, held, spec):
        return Held(cont(held.x, spec.axis), held.shared, held.note)

    def from_elt(cont, size, held, spec):
        return Held(cont(size, held.x, spec.axis), held.shared, "all")

    batching.register_vmappable(Held, Along, int, to_elt, from_elt, None)
    batching.register_vmappable(
        Node, int, int, lambda cont, _, n, axis: Node(cont(n.x, axis), n.shared, "one"),
        lambda cont, size, n, axis: Node(cont(size, n.x, axis), n.shared, n.note), None)
    yield
    batching.unregister_vmappable(Held)
    batching.unregister_vmappable(Node)


X = np.arange(6, dtype=np.float32).reshape(2, 3)
SHARED = np.arange(4, dtype=np.float32)


def test_the_rules_say_which_arrays_have_the_axis():
    def double(held, y):
        assert held.x.shape == (2,) and held.shared.shape == (4,)
        return {"held": Held(held.x * 2 + y, held.shared), "sum": held.shared.sum() + y}

    made = xfront.vmap(double, (Along(-1), 0), {"held": Along(1), "sum": 0})(
        Held(X, SHARED), np.arange(3, dtype=np.float32))
    np.testing.assert_array_equal(made["held"].x, X * 2 + np.arange(3))
    assert made["held"].shared is SHARED and made["held"].note == "all"
    np.testing.assert_array_equal(made["sum"], 6 + np.arange(3))


def test_a_type_that_is_a_tree_is_one_leaf_for_vmap_and_a_tree_for_the_others():
    def slope(x):
        def one(node):
            assert node.note == "one"
            return Node(node.x ** 2 * node.shared.sum(), node.shared)

        return xfront.vmap(one)(Node(x, SHARED)).x.sum()

    want = 12 * X
    np.testing.assert_array_equal(xfront.grad(slope)(X), want)
    np.testing.assert_array_equal(xfront.jit(xfront.grad(slope))(X), want)
    twice = xfront.jit(xfront.vmap(xfront.vmap(lambda n: Node(n.x + 1, n.shared))))(Node(X, SHARED))
    np.testing.assert_array_equal(twice.x, X + 1)
    np.testing.assert_array_equal(twice.shared, SHARED)


def test_a_value_that_is_not_mapped_or_that_holds_another():
    kept = xfront.vmap(lambda n, y: (Node(n.x * y), n), (None, 0), (1, None))(Node(X), np.ones(3))
    assert kept[0].x.shape == (2, 3, 3) and kept[1].x.shape == (2, 3)
    nested = xfront.vmap(lambda n: n, out_axes=1)(Node(Node(X)))
    np.testing.assert_array_equal(nested.x.x, X.T)
    repeated = xfront.vmap(lambda n, y: n, (None, 0))(Node(X), np.ones(2))
    np.testing.assert_array_equal(repeated.x, [X, X])


def test_what_does_not_fit_is_refused():
    held = Held(X, SHARED)
    with pytest.raises(TypeError, match="a Held is mapped by a Along or None, got 0"):
        xfront.vmap(lambda h: h.x)(held)
    with pytest.raises(TypeError, match="an array has an int or None"):
        xfront.vmap(lambda h: h, (Along(0),))(X)
    with pytest.raises(TypeError, match="out_axes of .*: a Held is mapped by a Along"):
        xfront.vmap(Held)(X)
    with pytest.raises(ValueError, match="inconsistent sizes"):
        xfront.vmap(lambda h, y: y, (Along(0), 0))(held, np.ones(3))
    with pytest.raises(ValueError, match=r"gave the axis 2 for an array of type f32\[2,3\]"):
        xfront.vmap(lambda h: h.x, Along(2))(held)
    with pytest.raises(ValueError, match="must be a tree prefix"):
        xfront.vmap(lambda n: n.x, (Node(0),))(Node(X))
    with pytest.raises(ValueError, match="got axis spec None but output was batched"):
        xfront.vmap(lambda x: Node(x), out_axes=None)(X)
    for given in (lambda x: x, Node):
        with pytest.raises(NotImplementedError, match="chunk=1 cannot be combined"):
            xfront.vmap(given, chunk=1)(X if given is Node else Node(X))


def test_rules_that_change_or_ask_for_the_index_are_refused():
    calls = []

    def changing(cont, _, n, axis):
        calls.append(axis)
        return Node(cont(n.x, axis if len(calls) == 1 else None))

    def back(cont, size, n, axis):
        return n

    batching.register_vmappable(Node, int, int, changing, back, None)
    with pytest.raises(ValueError, match="handed other arrays"):
        xfront.vmap(lambda n: n.x)(Node(X))
    batching.register_vmappable(Node, int, int, lambda cont, index, n, axis: index(), back, None)
    with pytest.raises(NotImplementedError, match="index of the example"):
        xfront.vmap(lambda n: n.x)(Node(X))
    batching.register_vmappable(Node, int, int, changing,
                                lambda cont, size, n, axis: cont(size + 1, n.x, axis), None)
    with pytest.raises(ValueError, match="size 3, but the batch has size 2"):
        xfront.vmap(Node)(X)


def test_what_is_registered_is_checked():
    def rule(*_):
        pass

    assert batching.is_vmappable(Held(X)) and not batching.is_vmappable(jnp.ones(2))
    with pytest.raises(TypeError, match="data_type must be a class"):
        batching.register_vmappable(3, int, int, rule, rule, None)
    with pytest.raises(TypeError, match="to_elt must be a function"):
        batching.register_vmappable(Held, int, int, None, rule, None)
    for size_type, iota in ((float, None), (int, rule)):
        with pytest.raises(NotImplementedError, match="axis_size_type must be int"):
            batching.register_vmappable(Held, int, size_type, rule, rule, iota)
    batching.unregister_vmappable(Held)
    batching.unregister_vmappable(Held)
    with pytest.raises(TypeError, match="not a valid array type"):
        xfront.vmap(lambda h: h.x)(Held(X))
