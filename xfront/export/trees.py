"""Structures of trees as JSON, and the classes that users register for it.

    leaf "*"    None null    ["tuple", ...]    ["list", ...]    ["dict", [keys], ...]
    ["OrderedDict", [keys], ...]    ["named", name, ...]    ["node", name, auxiliary data, ...]
"""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ..base.trees import PyTreeDef, default_registry, is_tree_node, tree_structure, tree_unflatten

T = TypeVar("T")

MAX_DEPTH = 200
"""The deepest structure that is read or written."""


class _Registered(NamedTuple):
    """A class of nodes under a name; named tuples have no functions."""

    nodetype: type
    name: str
    serialize: Callable[[Any], bytes] | None = None
    deserialize: Callable[[bytes], Any] | None = None
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None


_BY_TYPE: dict[type, _Registered] = {}
_BY_NAME: dict[str, _Registered] = {}


def register_namedtuple_serialization(nodetype: type[T], *, serialized_name: str) -> type[T]:
    """Make the structure of a named tuple part of what `Exported.serialize` writes.

    Args:
      nodetype: class that `collections.namedtuple` or `typing.NamedTuple` made.
      serialized_name: stands for the class in the bytes; the process that reads them registers its
        class under the same name.
    Returns: `nodetype`.
    Raises: ValueError where it is no named tuple, or where the class or the name is registered.

    >>> import collections
    >>> Point = collections.namedtuple("Point", "x y")
    >>> kept = export.register_namedtuple_serialization(Point, serialized_name="docs.Point")
    >>> double = export.export(jax.jit(lambda p: Point(2 * p.x, p.y)))(Point(1., 2.))
    >>> export.deserialize(double.serialize()).call(Point(3., 4.))
    Point(x=Array(6., dtype=float32, weak_type=True), y=Array(4., dtype=float32, weak_type=True))
    """
    if not _is_namedtuple(nodetype):
        raise ValueError("Use `export.register_pytree_node_serialization` for types other than "
                         f"`collections.namedtuple`, got {nodetype!r}")
    _register(_Registered(nodetype, serialized_name))
    return nodetype


def register_pytree_node_serialization(
        nodetype: type[T], *, serialized_name: str, serialize_auxdata: Callable[[Any], bytes],
        deserialize_auxdata: Callable[[bytes], Any],
        from_children: Callable[[Any, Sequence[Any]], Any] | None = None) -> type[T]:
    """Make the structure of a registered class part of what `Exported.serialize` writes.

    Args:
      nodetype: class that was registered as a node of trees.
      serialized_name: stands for the class in the bytes; the process that reads them registers its
        class under the same name.
      serialize_auxdata: function that gives the bytes of the auxiliary data that flattening gave.
      deserialize_auxdata: function that gives the data of those bytes.
      from_children: `from_children(data, children)` gives a node of the class; None means that the
        structure is made without one. The children are placeholders.
    Returns: `nodetype`.
    Raises: ValueError where the class is no node of trees, or the class or the name is registered;
      TypeError where one of the three is not a function.

    >>> @jax.tree_util.register_pytree_node_class
    ... class Scaled:
    ...     def __init__(self, x, by):
    ...         self.x, self.by = x, by
    ...     def tree_flatten(self):
    ...         return (self.x,), self.by
    ...     @classmethod
    ...     def tree_unflatten(cls, by, children):
    ...         return cls(*children, by)
    >>> kept = export.register_pytree_node_serialization(
    ...     Scaled, serialized_name="docs.Scaled", serialize_auxdata=str.encode,
    ...     deserialize_auxdata=bytes.decode)
    >>> first = export.export(jax.jit(lambda s: s.x))(Scaled(jnp.ones(2), "m"))
    >>> export.deserialize(first.serialize()).call(Scaled(jnp.zeros(2), "m"))
    Array([0., 0.], dtype=float32)
    """
    if not (isinstance(nodetype, type) and is_tree_node(nodetype)):
        raise ValueError(f"{nodetype!r} is no node of trees: call first "
                         "`jax.tree_util.register_pytree_node` for it")
    given = (serialize_auxdata, deserialize_auxdata, from_children or serialize_auxdata)
    if not all(map(callable, given)):
        raise TypeError("register_pytree_node_serialization: serialize_auxdata, "
                        "deserialize_auxdata and from_children must be functions")
    _register(_Registered(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata,
                          from_children))
    return nodetype


def _is_namedtuple(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def _register(made: _Registered) -> None:
    if not isinstance(made.name, str):
        raise TypeError(f"serialized_name must be a string, got {made.name!r}")
    if (held := _BY_TYPE.get(made.nodetype)) is not None:
        raise ValueError(f"Duplicate serialization registration for type `{made.nodetype}`. "
                         f"Previous registration was with serialized_name `{held.name}`.")
    if (held := _BY_NAME.get(made.name)) is not None:
        raise ValueError(f"Duplicate serialization registration for serialized_name `{made.name}`. "
                         f"Previous registration was for type `{held.nodetype}`.")
    _BY_TYPE[made.nodetype] = _BY_NAME[made.name] = made


# --- writing ------------------------------------------------------------------------------

def written(tree: PyTreeDef, depth: int = 0) -> Any:
    """The structure as JSON.

    Raises: ValueError for a class that is not registered, or for a structure that is too deep;
      TypeError for a dict whose keys are not strings, or auxiliary data that do not become bytes.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"Cannot serialize a PyTreeDef that is more than {MAX_DEPTH} deep")
    data = tree.node_data()
    if data is None:
        return "*" if tree.num_leaves else None
    kind, aux = data
    below = [written(c, depth + 1) for c in tree.children()]
    if kind is type(None):
        return None
    if kind in (tuple, list):
        return [kind.__name__, *below]
    if kind in (dict, OrderedDict):
        for key in aux:
            if not isinstance(key, str):
                raise TypeError("Serialization is supported only for dictionaries with string "
                                f"keys. Found key {key} of type {type(key)}.")
        return [kind.__name__, list(aux), *below]
    found = _BY_TYPE.get(kind)
    if found is None:
        raise ValueError(
            f"Cannot serialize PyTreeDef containing an unregistered type `{kind}`. Use "
            "`export.register_pytree_node_serialization` or "
            "`export.register_namedtuple_serialization`.")
    if found.serialize is None:
        return ["named", found.name, *below]
    made = found.serialize(aux)
    if not isinstance(made, (bytes, bytearray)):
        raise TypeError(f"serialize_auxdata of {kind} must return bytes, got {made!r} of type "
                        f"{type(made).__name__}")
    return ["node", found.name, base64.b64encode(made).decode(), *below]


# --- reading ------------------------------------------------------------------------------

def read(node: Any, depth: int = 0) -> PyTreeDef:
    """The structure that JSON spells. Raises: ValueError where it spells none, or names a class
    that is not registered here."""
    if node == "*":
        return tree_structure(0)
    if node is None:
        return tree_structure(None)
    if depth > MAX_DEPTH or not isinstance(node, list) or not node:
        raise ValueError(f"malformed structure of a tree: {str(node)[:80]}")
    kind, rest = node[0], node[1:]
    if kind in ("tuple", "list"):
        return _node(tuple if kind == "tuple" else list, None, rest, depth)
    if kind in ("dict", "OrderedDict") and rest and isinstance(rest[0], list) and (
            len({*map(repr, rest[0])}) == len(rest) - 1
            and all(isinstance(k, str) for k in rest[0])):
        keys: Any = sorted(rest[0]) if kind == "dict" else tuple(rest[0])
        return _node(dict if kind == "dict" else OrderedDict, keys, rest[1:], depth)
    if kind not in ("named", "node") or not rest or not isinstance(rest[0], str):
        raise ValueError(f"malformed structure of a tree: {str(node)[:80]}")
    found = _BY_NAME.get(rest[0])
    if found is None or (found.serialize is None) != (kind == "named"):
        raise ValueError(
            f"Cannot deserialize a PyTreeDef with the serialized_name `{rest[0]}`, which is not "
            "registered here. Use `export.register_pytree_node_serialization` or "
            "`export.register_namedtuple_serialization`.")
    if found.deserialize is None:
        fields = found.nodetype._fields  # type: ignore[attr-defined]
        if len(fields) != len(rest) - 1:
            raise ValueError(f"`{rest[0]}` was written with {len(rest) - 1} fields, but "
                             f"{found.nodetype} has the fields {fields}")
        return _node(found.nodetype, found.nodetype, rest[1:], depth)
    aux = found.deserialize(base64.b64decode(rest[1]))
    if found.from_children is None:
        return _node(found.nodetype, aux, rest[2:], depth)
    below = [read(c, depth + 1) for c in rest[2:]]
    children = [tree_unflatten(t, [object()] * t.num_leaves) for t in below]
    return tree_structure(found.from_children(aux, children))


def _node(kind: type, aux: Any, children: Sequence[Any], depth: int) -> PyTreeDef:
    return PyTreeDef.from_node_data_and_children(
        default_registry, (kind, aux), [read(c, depth + 1) for c in children])


__all__ = ["read", "register_namedtuple_serialization", "register_pytree_node_serialization",
           "written"]
