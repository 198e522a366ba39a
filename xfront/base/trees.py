"""What `xfront.tree_util` offers, whose file says how it is used."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

from ..binding import dispatch_registry, pytree
from ..binding.tracebacks import front_door, shorten
from .on_demand import public as _public
from .tree_errors import first_difference
from .tree_registry import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    SequenceKey,
    default_registry,
    flatten_one_level_with_keys,
    keystr,
)

T = TypeVar("T")

PyTreeDef = pytree.PyTreeDef
KeyEntry = TypeVar("KeyEntry")
KeyPath = tuple[KeyEntry, ...]
IsLeaf = Callable[[Any], bool] | None
_Class = TypeVar("_Class", bound=type)
_ABSENT: Any = object()

_flatten = default_registry.flatten
_nodes: set[Any] = {tuple, list, dict, type(None)}

# ---- registering


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make a class a node of trees.

    Args:
      nodetype: the class; its subclasses stay leaves.
      flatten_func: function from an object to (children, aux); aux is compared with `==`, and
        hashed by jit.
      unflatten_func: function from (aux, children) to an object.
      flatten_with_keys_func: function from an object to ((key, child) pairs, aux), for paths; with
        None, children are numbered.
    Raises: ValueError where the class is registered already; TypeError where it is not a class or
      a function is missing.
    Source: `jax.tree_util.register_pytree_node`.

    >>> class Pair:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> register_pytree_node(
    ...     Pair, lambda p: ((p.x, p.y), None), lambda _, children: Pair(*children))
    >>> tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if not isinstance(nodetype, type):
        raise TypeError(f"register_pytree_node: nodetype must be a class, got {nodetype!r}")
    for name, function in (("flatten_func", flatten_func), ("unflatten_func", unflatten_func)):
        if not callable(function):
            raise TypeError(
                f"register_pytree_node: {name} of {nodetype} must be a function, got {function!r}"
            )
    for registry in (default_registry, dispatch_registry):
        registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)
    _nodes.add(nodetype)


def register_dispatch_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
) -> None:
    """Make a class a node for the compiled front doors only; in users' trees it is a leaf. Its aux
    data is part of the key of programs."""
    dispatch_registry.register_node(nodetype, flatten_func, unflatten_func, None)


def register_pytree_node_class(cls: _Class) -> _Class:
    """Class decorator that makes a class a node of trees, by its method `tree_flatten()`, which
    returns (children, aux), and its class method `tree_unflatten(aux, children)`.

    >>> @register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    ...     def tree_flatten(self): return (self.a, self.b), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children): return cls(*children)
    >>> tree_leaves(Pair(1, 2))
    [1, 2]
    """
    register_pytree_node(cls, _method(cls, "tree_flatten"), _method(cls, "tree_unflatten"))
    return cls


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a class a node of trees whose children have keys.

    Args:
      nodetype, unflatten_func: as for `register_pytree_node`.
      flatten_with_keys: function from an object to ((key, child) pairs, aux).
      flatten_func: faster function from an object to (children, aux), or None.
    Raises: the errors of `register_pytree_node`.

    >>> class Box:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> register_pytree_with_keys(
    ...     Box, lambda b: (((GetAttrKey("x"), b.x),), None), lambda _, children: Box(*children))
    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path([Box(1), 2])]
    [('[0].x', 1), ('[1]', 2)]
    """

    def without_keys(node: Any) -> tuple[Iterable[Any], Any]:
        pairs, aux = flatten_with_keys(node)
        return [child for _, child in pairs], aux

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: _Class) -> _Class:
    """Class decorator that makes a class a node of trees, by its methods
    `tree_flatten_with_keys()`, which returns ((key, child) pairs, aux), `tree_unflatten(aux,
    children)` and, if it has one, `tree_flatten()`.

    >>> @register_pytree_with_keys_class
    ... class Case:
    ...     def __init__(self, x):
    ...         self.x = x
    ...
    ...     def tree_flatten_with_keys(self):
    ...         return ((GetAttrKey("x"), self.x),), None
    ...
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children):
    ...         return cls(*children)
    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path([Case(1), 2])]
    [('[0].x', 1), ('[1]', 2)]
    """
    register_pytree_with_keys(
        cls,
        _method(cls, "tree_flatten_with_keys"),
        _method(cls, "tree_unflatten"),
        getattr(cls, "tree_flatten", None),
    )
    return cls


def _method(cls: type, name: str) -> Any:
    found = getattr(cls, name, None)
    if found is None:
        raise AttributeError(f"{cls} has no method {name!r}, which it needs to be registered as a "
                             "node of trees")
    if name != "tree_unflatten":  # looked up again at each call, so that a patched method counts
        return lambda node: getattr(node, name)()
    return found


@front_door
def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T]:
    """Make a class whose fields are attributes, such as a dataclass, a node of trees.

    Args:
      nodetype: the class; it takes every data and meta field as a keyword argument.
      data_fields: names of the fields that are children. Without `data_fields` and `meta_fields`,
        they are the fields of the dataclass except those with `metadata={"static": True}`.
      meta_fields: names of the fields that are part of the structure; their values are hashable and
        compared with `==`.
      drop_fields: names of fields of the dataclass that are neither; none by default.
    Returns: the class.
    Raises: TypeError where only one of `data_fields` and `meta_fields` is given, or neither for a
      class that is not a dataclass; ValueError where they overlap or are not the dataclass's
      fields, or where the class is registered already.
    Source: `jax.tree_util.register_dataclass`.

    >>> import dataclasses
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: object
    ...     name: str = dataclasses.field(metadata={"static": True})
    >>> tree_map(lambda x: 2 * x, Layer(jnp.array([1., 2.]), "first"))
    Layer(weight=Array([2., 4.], dtype=float32), name='first')
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must be given together, got "
            f"data_fields={data_fields} meta_fields={meta_fields} for {nodetype}"
        )
    own = dataclasses.fields(nodetype) if dataclasses.is_dataclass(nodetype) else None
    if data_fields is None or meta_fields is None:
        if own is None:
            raise TypeError(
                f"register_dataclass: {nodetype} is not a dataclass, so data_fields and "
                "meta_fields must name its fields"
            )
        kept = [field for field in own if field.init and field.name not in drop_fields]
        data_fields = [f.name for f in kept if not f.metadata.get("static", False)]
        meta_fields = [f.name for f in kept if f.metadata.get("static", False)]
    data, meta = tuple(data_fields), tuple(meta_fields)
    both = set(data) & set(meta)
    if both:
        raise ValueError(f"register_dataclass: {sorted(both)} are both data and meta fields")
    if own is not None:
        wanted = {field.name for field in own if field.init} - set(drop_fields)
        given = set(data) | set(meta)
        if wanted - given:
            raise ValueError(
                f"register_dataclass: the fields {sorted(wanted - given)} of {nodetype} are "
                "neither data nor meta fields; name fields that are not part of the tree in "
                "drop_fields"
            )
        if given - wanted:
            raise ValueError(
                f"register_dataclass: {sorted(given - wanted)} are not fields of {nodetype} that "
                "its constructor takes"
            )
    for registry in (default_registry, dispatch_registry):
        registry.register_dataclass_node(nodetype, list(data), list(meta))
    _nodes.add(nodetype)
    return nodetype


def register_static(cls: _Class) -> _Class:
    """Class decorator that makes instances of a class part of the structure, without leaves; the
    class needs `==` and a hash.

    >>> @register_static
    ... class Name(str):
    ...     pass
    >>> tree_leaves([Name("a"), 1])
    [1]
    """
    register_pytree_node(cls, lambda node: ((), node), lambda aux, _: aux, lambda node: ((), node))
    return cls


def is_tree_node(typ: type[Any]) -> bool:
    """Whether instances of a class are nodes of trees: those of registered classes, built-in
    containers and named tuples.

    >>> is_tree_node(dict), is_tree_node(int)
    (True, False)
    """
    if not isinstance(typ, type):
        return False
    return typ in _nodes or (issubclass(typ, tuple) and hasattr(typ, "_fields"))


# ---- taking apart and putting together


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree and its structure.

    Args:
      tree: any object; an object that is not a node is a single leaf, and None has no leaves.
      is_leaf: function that is called with each subtree and returns whether it is to be a leaf;
        None makes only other objects than nodes leaves.
    Returns: (leaves, structure), a list and a PyTreeDef; entries of dicts come in the order of
      their sorted keys.
    Raises: ValueError where the keys of a dict cannot be sorted; RecursionError where the tree is
      nested too deeply, or is its own part.
    Source: `jax.tree_util.tree_flatten`.

    >>> tree_flatten({"b": [1, 2], "a": 3})
    ([3, 1, 2], PyTreeDef({'a': *, 'b': [*, *]}))
    """
    try:
        return _flatten(tree, is_leaf)
    except SystemError as error:
        raise _meant(error) from None


def _meant(error: SystemError) -> BaseException:
    """The RecursionError for which jaxlib gives a SystemError, as it may be near the end of the
    stack; another error as it is."""
    cause = error.__cause__
    return cause if isinstance(cause, RecursionError) else error


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves. Raises: ValueError where their number differs.

    >>> tree_unflatten(tree_structure([0, (0, 0)]), "abc")
    ['a', ('b', 'c')]
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree: see `tree_flatten`.

    >>> tree_leaves({"b": [1, 2], "a": 3})
    [3, 1, 2]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a tree: see `tree_flatten`.

    >>> tree_structure((1, [2, 3]))
    PyTreeDef((*, [*, *]))
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree with the structure of `tree` whose leaves are `f(leaf, ...)`.

    Args:
      f: function that is called with a leaf of `tree` and the value at its place in each of `rest`.
      tree: any tree; the result has its structure.
      *rest: trees of which `tree` is a prefix: they may have subtrees in place of its leaves.
      is_leaf: see `tree_flatten`.
    Raises: ValueError that names the place where a tree of `rest` has another structure.
    Source: `jax.tree_util.tree_map`.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
    {'a': 11, 'b': (22, 33)}
    """
    try:
        leaves, structure = tree_flatten(tree, is_leaf)
        if not rest:
            return structure.unflatten(map(f, leaves))
        others = _alongside("tree_map", tree, structure, rest, is_leaf)
        return structure.unflatten(map(f, leaves, *others))
    except BaseException as error:
        shorten(error)
        raise


def _alongside(
    name: str, tree: Any, structure: PyTreeDef, rest: Sequence[Any], is_leaf: Any
) -> list[list[Any]]:
    """For each tree of `rest`, its values at the places of the leaves of `tree`."""
    found = []
    for position, other in enumerate(rest):
        try:
            found.append(structure.flatten_up_to(other))
        except ValueError:
            text = first_difference(tree, other, is_leaf)
            raise ValueError(
                f"{name}: the trees differ: {text} (`tree` is the first argument, the other "
                f"tree is number {position + 2})"
            ) from None
    return found


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether every leaf is true; True for a tree without leaves.

    >>> tree_all({"a": True, "b": [1, 0]})
    False
    """
    return all(tree_flatten(tree, is_leaf)[0])


@overload
def tree_reduce(function: Callable[[T, Any], T], tree: Any, initializer: T,
                is_leaf: IsLeaf = None) -> T: ...
@overload
def tree_reduce(function: Callable[[T, T], T], tree: Any, *, is_leaf: IsLeaf = None) -> T: ...
@front_door
def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _ABSENT,
    is_leaf: IsLeaf = None,
) -> Any:
    """The fold of `function` over the leaves from the left.

    Args:
      function: function from an accumulated value and a leaf to the next value.
      tree: any tree.
      initializer: the first accumulated value; without it, that is the first leaf.
      is_leaf: see `tree_flatten`.
    Raises: TypeError where there are no leaves and no initializer.

    >>> tree_reduce(lambda x, y: x + y, {"a": 1, "b": (2, 3)})
    6
    """
    leaves = tree_flatten(tree, is_leaf)[0]
    if initializer is _ABSENT:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


@front_door
def tree_reduce_associative(
    operation: Callable[[T, T], T],
    tree: Any,
    *,
    identity: T = _ABSENT,
    is_leaf: IsLeaf = None,
) -> T:
    """The result of an associative operation over the leaves, in pairs, so in logarithmic depth.

    Args:
      operation: function of two leaves or results.
      tree: any tree; its leaves are combined in order.
      identity: the result for a tree without leaves.
      is_leaf: see `tree_flatten`.
    Raises: TypeError where there are no leaves and no identity.

    >>> tree_reduce_associative(lambda x, y: x + y, [1, (2, 3)])
    6
    """
    leaves = tree_flatten(tree, is_leaf)[0]
    if not leaves:
        if identity is _ABSENT:
            raise TypeError("tree_reduce_associative: the tree has no leaves, so identity must be "
                            "given")
        return identity

    def halves(items: Sequence[Any]) -> Any:
        if len(items) == 1:
            return items[0]
        middle = len(items) // 2
        return operation(halves(items[:middle]), halves(items[middle:]))

    return halves(leaves)


@front_door
def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """A tree of trees turned inside out.

    Args:
      outer_treedef: structure of the outer tree.
      inner_treedef: structure of the trees at its leaves; None takes that of the first one.
      pytree_to_transpose: tree of structure `outer_treedef` with trees of structure `inner_treedef`
        at its leaves.
    Returns: tree of structure `inner_treedef` with trees of structure `outer_treedef` at its
      leaves.
    Raises: TypeError or ValueError where the tree has another structure.

    >>> outer, inner = tree_structure([0, 0]), tree_structure({"a": 0, "b": 0})
    >>> tree_transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    leaves, structure = tree_flatten(pytree_to_transpose)
    inner: Any = inner_treedef
    if inner is None:
        subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
        inner = tree_structure(subtrees[0]) if subtrees else tree_structure(0)
    n = inner.num_leaves
    expected = outer_treedef.compose(inner)
    if structure != expected:
        raise TypeError(
            f"tree_transpose: the tree has the structure\n  {structure}\nbut outer_treedef and "
            f"inner_treedef make\n  {expected}"
        )
    columns = [leaves[i::n] for i in range(n)]
    return inner.unflatten([outer_treedef.unflatten(column) for column in columns])


@front_door
def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree like `full_tree` with the leaves of `prefix_tree`, each repeated for all leaves of
    `full_tree` below it.

    Args:
      prefix_tree: a tree prefix of `full_tree`.
      full_tree: any tree.
      is_leaf: see `tree_flatten`; it holds for both trees.
    Raises: ValueError that names the place where `prefix_tree` is not a prefix.

    >>> tree_broadcast([1, 2], [(0, 0), {"a": 0}])
    [(1, 1), {'a': 2}]
    """
    return tree_structure(full_tree, is_leaf).unflatten(
        _repeated(prefix_tree, full_tree, is_leaf, is_leaf)
    )


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """For each leaf of `full_tree`, the leaf of `prefix_tree` at or above it.

    `is_leaf` holds for the prefix alone, so a None in `full_tree` has no leaf. Raises: ValueError
    where `prefix_tree` is not a tree prefix of `full_tree`.

    >>> broadcast_prefix((0, None), ([1, 2], 3), is_leaf=lambda x: x is None)
    [0, 0, None]
    """
    return _repeated(prefix_tree, full_tree, is_leaf, None)


def _repeated(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf, below: IsLeaf) -> list[Any]:
    leaves, structure = tree_flatten(prefix_tree, is_leaf)
    [subtrees] = _alongside("tree_broadcast", prefix_tree, structure, [full_tree], is_leaf)
    flat: list[Any] = []
    for leaf, subtree in zip(leaves, subtrees, strict=True):
        flat.extend([leaf] * tree_flatten(subtree, below)[1].num_leaves)
    return flat


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """The tree of a structure from nested iterables of its shape. Raises: ValueError where lengths
    differ.

    >>> build_tree(tree_structure((0, [0, 0])), (1, [2, 3]))
    (1, [2, 3])
    """
    return treedef.from_iterable_tree(xs)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every item is a leaf, by `is_leaf` or because it is no node of trees; None is a node.

    >>> all_leaves([1, 2.0]), all_leaves([1, [2]])
    (True, False)
    >>> all_leaves([(1, 2)], is_leaf=lambda x: isinstance(x, tuple))
    True
    """
    if is_leaf is None:
        return pytree.all_leaves(default_registry, iterable)
    return all(treedef_is_strict_leaf(tree_flatten(item, is_leaf)[1]) for item in iterable)


# ---- structures


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of a tree with this structure.

    >>> treedef_children(tree_structure((1, [2, 3])))
    [PyTreeDef(*), PyTreeDef([*, *])]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure has one node: that of a leaf, of None, or of an empty container.

    >>> treedef_is_leaf(tree_structure(1)), treedef_is_leaf(tree_structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


def treedef_is_strict_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is that of a leaf; False for None and for empty containers.

    >>> treedef_is_strict_leaf(tree_structure(1)), treedef_is_strict_leaf(tree_structure(None))
    (True, False)
    """
    return treedef.num_nodes == 1 and treedef.num_leaves == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees with these structures.

    >>> treedef_tuple([tree_structure(1), tree_structure([2])])
    PyTreeDef((*, [*]))
    """
    return pytree.treedef_tuple(default_registry, list(treedefs))


# ---- one level


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """The children of a node and its aux data. Raises: ValueError for a leaf.

    >>> flatten_one_level({"a": 1, "b": [2, 3]})
    ((1, [2, 3]), ('a', 'b'))
    """
    found = default_registry.flatten_one_level(tree)
    if found is None:
        raise ValueError(f"an object of {type(tree)} is a leaf, so it cannot be flattened one "
                         "level")
    return found


tree_flatten_one_level = flatten_one_level


# ---- paths


@front_door
def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[tuple, Any]], PyTreeDef]:
    """The leaves of a tree with their paths, and its structure.

    Args:
      tree: see `tree_flatten`.
      is_leaf: as for `tree_flatten`; with `is_leaf_takes_path`, it is called with (path, subtree).
      is_leaf_takes_path: whether `is_leaf` takes a path too.
    Returns: ((path, leaf) pairs, structure); a path is a tuple of keys, and `keystr` is its text.

    >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": [1, 2]})[0]]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    ends = is_leaf if is_leaf is None or is_leaf_takes_path else lambda path, node: is_leaf(node)
    try:
        return default_registry.flatten_with_path(tree, ends)
    except SystemError as error:
        raise _meant(error) from None


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[tuple, Any]]:
    """The (path, leaf) pairs of a tree: see `tree_flatten_with_path`.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path([1, (2,)])]
    [('[0]', 1), ('[1][0]', 2)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


@front_door
def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """A tree with the structure of `tree` whose leaves are `f(path, leaf, ...)`; see `tree_map`.

    >>> tree_map_with_path(lambda path, x: keystr(path) + str(x), {"a": [1]})
    {'a': ["['a'][0]1"]}
    """
    pairs, structure = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    others = _alongside("tree_map_with_path", tree, structure, rest, None) if rest else []
    return structure.unflatten(map(f, paths, leaves, *others))


# ---- classes that are registered from the start


class Partial(functools.partial):
    """`functools.partial` as a node of trees, which can be passed to a compiled function.

    Arguments and keyword arguments are children; the function is part of the structure, so two
    structures agree where the functions are the same.

    >>> tree_leaves(Partial(max, 1, default=2))
    [1, 2]
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kw: Any) -> Partial:
        # a partial object does not compare by its function, so it stays whole inside a shell
        inner = _Opaque(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, inner, *args, **kw)


class _Opaque:
    """A callable that is equal to others that hold the same callable."""

    __slots__ = ("fun",)

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun

    def __call__(self, *args: Any, **kw: Any) -> Any:
        try:
            return self.fun(*args, **kw)
        except BaseException as error:
            shorten(error)
            raise

    def __getattr__(self, name: str) -> Any:
        if name == "fun":    # not there yet, in a copy that is being made
            raise AttributeError(name)
        return getattr(self.fun, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Opaque) and self.fun == other.fun

    def __hash__(self) -> int:
        return hash(self.fun)

    def __repr__(self) -> str:
        return repr(self.fun)


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
register_pytree_node(
    collections.OrderedDict,
    lambda d: (tuple(d.values()), tuple(d)),
    lambda keys, values: collections.OrderedDict(zip(keys, values, strict=True)),
    lambda d: (tuple((DictKey(key), value) for key, value in d.items()), tuple(d)),
)


def _sorted_items(d: dict) -> list[tuple[Any, Any]]:
    return sorted(d.items(), key=lambda item: item[0])


register_pytree_node(
    collections.defaultdict,
    lambda d: (
        tuple(value for _, value in _sorted_items(d)),
        (d.default_factory, tuple(key for key, _ in _sorted_items(d))),
    ),
    lambda aux, values: collections.defaultdict(aux[0], zip(aux[1], values, strict=True)),
    lambda d: (
        tuple((DictKey(key), value) for key, value in _sorted_items(d)),
        (d.default_factory, tuple(key for key, _ in _sorted_items(d))),
    ),
)


__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef",
    "SequenceKey", "all_leaves", "broadcast_prefix", "build_tree", "default_registry",
    "flatten_one_level", "flatten_one_level_with_keys", "is_tree_node", "keystr",
    "register_dataclass", "register_pytree_node", "register_pytree_node_class",
    "register_pytree_with_keys", "register_pytree_with_keys_class", "register_static",
    "tree_all", "tree_broadcast", "tree_flatten", "tree_flatten_one_level",
    "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_with_path", "tree_reduce", "tree_reduce_associative", "tree_structure",
    "tree_transpose", "tree_unflatten", "treedef_children", "treedef_is_leaf",
    "treedef_is_strict_leaf", "treedef_tuple",
]  # fmt: skip
_public("xfront.tree_util", globals())
