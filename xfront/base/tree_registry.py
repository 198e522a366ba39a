"""The users' registry of trees, the keys of paths, and one level of a tree with its keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..binding import make_registry, pytree

SequenceKey = pytree.SequenceKey
DictKey = pytree.DictKey
GetAttrKey = pytree.GetAttrKey
FlattenedIndexKey = pytree.FlattenedIndexKey

default_registry = make_registry()
# structures are pickled with a reference to their registry, which is found by these names
default_registry.__name__, default_registry.__module__ = "default_registry", "xfront.tree_util"


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """The children of a node with their keys, and its aux data. Raises: ValueError for a leaf.

    >>> flatten_one_level_with_keys({"a": 1, "b": [2, 3]})
    (((DictKey(key='a'), 1), (DictKey(key='b'), [2, 3])), ('a', 'b'))
    """
    found = default_registry.flatten_one_level_with_keys(tree)
    if found is None:
        raise ValueError(f"an object of {type(tree)} is a leaf, so it cannot be flattened one "
                         "level")
    fields = getattr(tree, "_fields", ()) if isinstance(tree, tuple) else ()
    if fields and found[1] is type(tree):
        # jaxlib 0.10 gives every child the first field's name
        return [(GetAttrKey(name), child) for name, child in zip(fields, tree)], found[1]
    return found


def keystr(keys: Sequence[Any], *, simple: bool = False, separator: str = "") -> str:
    """A path as text.

    Args:
      keys: a path, a tuple of keys such as `tree_flatten_with_path` returns.
      simple: whether brackets, dots and quotes are left out.
      separator: text between keys, by default none; most useful with `simple`.

    >>> path = tree_leaves_with_path({"w": [0]})[0][0]
    >>> keystr(path), keystr(path, simple=True, separator="/")
    ("['w'][0]", 'w/0')
    """
    return separator.join(map(_simple_key if simple else str, keys))


def _simple_key(key: Any) -> str:
    if isinstance(key, SequenceKey):
        return str(key.idx)
    if isinstance(key, DictKey | FlattenedIndexKey):
        return str(key.key)
    return str(key.name) if isinstance(key, GetAttrKey) else str(key)
