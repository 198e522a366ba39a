"""Trees: taking apart, putting together, registering, paths, errors."""

from __future__ import annotations

import collections
import copy
import dataclasses
import doctest
import functools
import inspect
import pickle
import sys
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import xfront
import xfront.numpy as jnp
from xfront import tree
from xfront import tree_util as tu
from xfront.base.trees import register_dispatch_node
from xfront.binding import dispatch_registry

Point = collections.namedtuple("Point", "x y")


@tu.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any = 2
    name: str = tree.static(default="n")


TREES = st.recursive(
    st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
        | st.builds(Point, inner, inner)
        | st.builds(Layer, inner, inner)
        | st.builds(collections.OrderedDict, st.just([("z", 1), ("a", 2)]))
    ),
    max_leaves=12,
)


def dispatch_structure(value: Any) -> Any:
    return dispatch_registry.flatten(value)[1]


@hypothesis.given(TREES)
def test_round_trip_through_flatten(value: Any) -> None:
    leaves, structure = tu.tree_flatten(value)
    assert tu.tree_unflatten(structure, leaves) == value
    assert [leaf for _, leaf in tu.tree_leaves_with_path(value)] == leaves
    assert dispatch_structure(value) == structure
    assert pickle.loads(pickle.dumps(structure)) == structure == copy.deepcopy(structure)
    assert hash(structure) == hash(tu.tree_structure(tu.tree_map(lambda x: x, value)))


@pytest.mark.parametrize("module", [tu, tree])
def test_examples_in_docstrings(module: Any) -> None:
    assert doctest.testmod(module, extraglobs={"jnp": jnp}).failed == 0


def test_map_reduce_all() -> None:
    value = {"a": 1, "b": (2, None, [3])}
    assert tree.map(lambda x: x + 1, value) == {"a": 2, "b": (3, None, [4])}
    assert tree.map(lambda x, y: (x, y), 1, [3, 4]) == (1, [3, 4])
    assert tree.reduce(lambda a, b: a + b, value) == 6
    assert tree.reduce(lambda a, b: a + b, [], 5) == 5
    assert tree.reduce_associative(lambda a, b: f"({a}{b})", [1, 2, 3, 4, 5]) == "((12)(3(45)))"
    assert tree.reduce_associative(lambda a, b: a + b, [], identity=7) == 7
    assert tree.all([]) and not tree.all([True, 0])
    with pytest.raises(TypeError):
        tree.reduce(lambda a, b: a + b, [])
    with pytest.raises(TypeError, match="identity"):
        tree.reduce_associative(lambda a, b: a + b, [])


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        ({"b": (2, [3])}, {"b": (2, [3, 4])}, r"tree\['b'\]\[1\].*length 1, the other one of .* 2"),
        ({"a": 1}, {"c": 1}, r"keys \['a'\] are missing.*keys \['c'\]"),
        ([(1, 2)], [[1, 2]], r"tree\[0\]. one tree has a tuple and the other has a list"),
        ([None], [3], r"one tree has None and the other has an int"),
        (Point(1, [2]), Point(1, 2), r"tree\.y"),
        (Layer(1), Layer(1, 2, "m"), r"static parts differ: \('n',\) against \('m',\)"),
    ],
)
def test_differences_are_named_with_their_place(one: Any, other: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tree.map(lambda *x: x, one, other)


def test_transpose_and_broadcast() -> None:
    outer, inner = tree.structure([0, 0]), tree.structure((0, 0, 0))
    value = [(1, 2, 3), (4, 5, 6)]
    assert tree.transpose(outer, inner, value) == ([1, 4], [2, 5], [3, 6])
    assert tree.transpose(outer, None, value) == ([1, 4], [2, 5], [3, 6])
    with pytest.raises(TypeError, match="structure"):
        tree.transpose(outer, tree.structure((0, 0)), value)
    assert tree.broadcast([1, None], [(2, 3), None]) == [(1, 1), None]
    with pytest.raises(ValueError, match="length 3, the other one of length 2"):
        tree.broadcast([1, 2, 3], [1, 2])


def test_paths() -> None:
    value = [Point(1, {"k": 2}), Layer(3), collections.OrderedDict(z=4), tu.Partial(max, 5, k=6)]
    paths = [path for path, _ in tree.leaves_with_path(value)]
    texts = ["[0].x", "[0].y['k']", "[1].weight", "[1].bias", "[2]['z']"]
    assert [tu.keystr(path) for path in paths][:5] == texts
    assert tu.keystr(paths[1], simple=True, separator="/") == "0/y/k"
    keys = (tu.FlattenedIndexKey(1), tu.GetAttrKey("a"), tu.DictKey("b"), tu.SequenceKey(2))
    assert tu.keystr(keys) == "[<flat index 1>].a['b'][2]"
    assert tu.keystr(keys, simple=True, separator=".") == "1.a.b.2"
    found = tree.flatten_with_path([1, [2]], lambda path, _: len(path) == 1, True)[0]
    assert [leaf for _, leaf in found] == [1, [2]]
    both = tree.map_with_path(
        lambda path, x, y: (tu.keystr(path), x, y), [1, {"a": 2}], [3, {"a": 4}]
    )
    assert both == [("[0]", 1, 3), {"a": ("[1]['a']", 2, 4)}]


def test_keys_of_named_tuples_have_their_own_names() -> None:
    pairs, aux = tu.flatten_one_level_with_keys(Point(1, 2))
    assert list(pairs) == [(tu.GetAttrKey("x"), 1), (tu.GetAttrKey("y"), 2)] and aux is Point


def test_one_level() -> None:
    assert tu.flatten_one_level({"a": [1]}) == (([1],), ("a",))
    assert tu.flatten_one_level(None) == ((), None)
    with pytest.raises(ValueError, match="leaf"):
        tu.flatten_one_level(3)


def test_registering_enters_both_registries() -> None:
    @tu.register_pytree_with_keys_class
    class Keyed:
        def __init__(self, a: Any) -> None:
            self.a = a

        def tree_flatten_with_keys(self) -> tuple:
            return ((tu.GetAttrKey("a"), self.a),), None

        @classmethod
        def tree_unflatten(cls, aux: Any, children: Any) -> Any:
            return cls(*children)

    assert tu.is_tree_node(Keyed) and tu.tree_leaves(Keyed([1, 2])) == [1, 2]
    assert dispatch_structure(Keyed(1)).num_leaves == 1
    assert tu.keystr(tu.tree_leaves_with_path(Keyed(1))[0][0]) == ".a"
    with pytest.raises(ValueError, match="Duplicate"):
        tu.register_pytree_with_keys_class(Keyed)
    with pytest.raises(AttributeError, match="tree_flatten"):
        tu.register_pytree_node_class(int)
    with pytest.raises(TypeError, match="must be a function"):
        tu.register_pytree_node(int, None, None)  # type: ignore[arg-type]


def test_a_node_of_the_dispatcher_alone_is_a_leaf_for_users() -> None:
    class Key:
        pass

    register_dispatch_node(Key, lambda k: ((1,), "fry"), lambda aux, c: Key())
    key = Key()
    assert tu.tree_leaves([key]) == [key]
    assert "fry" in str(dispatch_structure(key))


def test_dataclasses() -> None:
    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any

    for arguments, error, text in (
        ({"data_fields": ["a"]}, TypeError, "must be given together"),
        ({"data_fields": ["a"], "meta_fields": []}, ValueError, r"\['b'\].*drop_fields"),
        ({"data_fields": ["a", "z"], "meta_fields": ["b"]}, ValueError, r"\['z'\] are not fields"),
        ({"data_fields": ["a", "b"], "meta_fields": ["b"]}, ValueError, "both data and meta"),
    ):
        with pytest.raises(error, match=text):
            tu.register_dataclass(Pair, **arguments)
    with pytest.raises(TypeError, match="not a dataclass"):
        tu.register_dataclass(type("Plain", (), {}))
    assert tu.register_dataclass(Pair, ["a"], ["b"]) is Pair
    assert tu.tree_leaves(Pair(1, 2)) == [1]
    assert tu.tree_structure(Pair(1, 2)) != tu.tree_structure(Pair(1, 3))


def test_static_nodes_have_no_leaves() -> None:
    @tu.register_static
    class Name(str):
        pass

    assert tu.tree_leaves([Name("a"), 1]) == [1]
    assert (
        tu.tree_structure(Name("a")) == tu.tree_structure(Name("a")) != tu.tree_structure(Name("b"))
    )


def test_partial() -> None:
    part = tu.Partial(divmod, 7)
    assert part(2) == (3, 1) and tu.tree_leaves(part) == [7]
    assert tu.tree_map(lambda x: x + 1, part)(2) == (4, 0)
    assert tu.tree_structure(part) == tu.tree_structure(tu.Partial(divmod, 8))
    nested = tu.Partial(functools.partial(divmod, 7), 2)
    assert nested() == (3, 1) and tu.tree_leaves(nested) == [2]
    again = tu.tree_unflatten(tu.tree_structure(nested), [3])
    assert again() == (2, 1)
    assert nested.func.args == (7,)
    assert tu.Partial(xfront.numpy.add, 1.0).func.__name__ == "add"


def test_structures() -> None:
    structure = tu.tree_structure({"a": 1, "b": (2, None)})
    assert [c.num_leaves for c in tu.treedef_children(structure)] == [1, 1]
    assert tu.treedef_is_leaf(tu.tree_structure(1)) and tu.treedef_is_leaf(tu.tree_structure(None))
    assert not tu.treedef_is_strict_leaf(tu.tree_structure(None))
    assert tu.treedef_tuple([structure, structure]).num_leaves == 4
    assert tu.build_tree(structure, [10, [20, []]]) == {"a": 10, "b": (20, None)}
    assert tu.all_leaves([1, np.ones(2)]) and not tu.all_leaves([1, [2]])
    assert not tu.all_leaves([1, None])
    assert tu.all_leaves([1, (1, 2)], is_leaf=lambda x: isinstance(x, tuple))
    assert tu.all_leaves([None, 2], is_leaf=lambda x: x is None)
    assert not tu.all_leaves([None, 2], is_leaf=lambda x: isinstance(x, int))
    assert not tu.all_leaves([2, [3]], is_leaf=lambda x: isinstance(x, tuple))


def test_wrong_numbers_of_leaves_and_unsortable_keys() -> None:
    structure = tu.tree_structure([0, 0])
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="expected 2"):
            tu.tree_unflatten(structure, leaves)
    with pytest.raises(ValueError):
        tu.tree_flatten({1: 2, "a": 3})


def test_containers_keep_their_kind_and_order() -> None:
    ordered = collections.OrderedDict(z=1, a=2)
    default = collections.defaultdict(int, {"q": 1, "b": 2})
    assert tu.tree_leaves(ordered) == [1, 2] and tu.tree_leaves(default) == [2, 1]
    again = tu.tree_map(lambda x: x, [ordered, default])
    assert list(again[0]) == ["z", "a"] and again[1].default_factory is int


@pytest.mark.parametrize(
    "kind", [tuple, list, dict, type(None), Point, Layer, collections.OrderedDict]
)
def test_classes_that_are_nodes(kind: type) -> None:
    assert tu.is_tree_node(kind)
    assert not tu.is_tree_node(int) and not tu.is_tree_node([])


def test_a_prefix_with_none_stands_for_the_leaves_below_it() -> None:
    none = lambda x: x is None
    assert tu.broadcast_prefix((1, None), (2, (3, None)), none) == [1, None]
    assert tu.broadcast_prefix((1, 2), (None, 3), none) == [2]


@pytest.mark.parametrize("take_apart", [
    tu.tree_flatten, tu.tree_leaves, tu.tree_structure,
    tu.tree_flatten_with_path, tu.tree_leaves_with_path,
    lambda x: tu.tree_map(abs, x)])
def test_a_tree_without_end_is_a_recursion_error(take_apart) -> None:
    tree: list = []
    tree.append(tree)
    with pytest.raises(RecursionError):
        take_apart(tree)


def test_the_end_of_the_stack_is_a_recursion_error() -> None:
    endless = xfront.checkpoint(lambda x: endless(x) + 1)

    def deeper(n: int) -> None:
        deeper(n - 1) if n else endless(1.0)

    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack(0)) + 120)
        for n in range(40):
            with pytest.raises(RecursionError):
                deeper(n)
    finally:
        sys.setrecursionlimit(limit)
