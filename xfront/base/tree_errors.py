"""Texts about the places where two trees differ, for the messages of `tree_util`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .tree_registry import default_registry, flatten_one_level_with_keys, keystr

LEAF = type("leaf", (), {})()


def skeleton(structure: Any) -> Any:
    """A tree of a structure whose leaves are all the same object."""
    return structure.unflatten([LEAF] * structure.num_leaves)


def first_difference(
    prefix: Any, full: Any, is_leaf: Callable[[Any], bool] | None = None, root: str = "tree"
) -> str:
    """A text about the first place where `full` does not have the structure of `prefix`."""
    for difference in differences(prefix, full, is_leaf, root):
        return difference
    return "their structures differ"


def differences(
    prefix: Any,
    full: Any,
    is_leaf: Callable[[Any], bool] | None = None,
    root: str = "tree",
    path: tuple = (),
) -> Iterator[str]:
    """A text about each place where `full` does not have the structure of `prefix`."""
    if is_leaf is not None and is_leaf(prefix):
        return
    if default_registry.flatten_one_level(prefix) is None:
        return
    where = f"at `{root}{keystr(path)}`"
    if type(prefix) is not type(full):
        yield f"{where} one tree has {_kind(prefix)} and the other has {_kind(full)}"
        return
    ours, aux = flatten_one_level_with_keys(prefix)
    theirs, other_aux = flatten_one_level_with_keys(full)
    ours, theirs = list(ours), list(theirs)
    if isinstance(prefix, dict) and {*prefix} != {*full}:
        missing, extra = [k for k in prefix if k not in full], [k for k in full if k not in prefix]
        parts = [f"keys {missing} are missing in the other tree"] * bool(missing)
        parts += [f"keys {extra} are in the other tree only"] * bool(extra)
        yield f"{where}, {_kind(prefix)}: Dict key mismatch: {' and '.join(parts)}"
        return
    if len(ours) != len(theirs):
        lengths = f"of length {len(ours)}, the other one of length {len(theirs)}"
        yield f"{where} one tree has {_kind(prefix)} {lengths}"
        return
    if not _same(aux, other_aux):
        yield f"{where}, {_kind(prefix)}, static parts differ: {aux!r} against {other_aux!r}"
        return
    for (key, child), (_, other) in zip(ours, theirs, strict=True):
        key_path = path + (key if isinstance(key, tuple) else (key,))
        yield from differences(child, other, is_leaf, root, key_path)


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # arrays as static parts cannot be compared; the registry has said why
        return False


def _kind(node: Any) -> str:
    if node is None:
        return "None"
    name = type(node).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"
