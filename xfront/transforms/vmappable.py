"""Types that tell vmap by rules of their own which of their arrays have the mapped axis.

    to_elt(cont, index, value, spec) -> the value of one example, with cont(x, axis) for arrays x
    from_elt(cont, size, example, spec) -> the values of all, with cont(size, x, axis)

The rules are called twice: once to learn which arrays they hand to `cont`, when they get
`ShapeDtypeStruct`s back, and once to build the value from the arrays of the trace or its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from ..base.trees import broadcast_prefix, tree_flatten, tree_structure, tree_unflatten
from .flat import kind_of
from .structs import shape_struct


class Rules(NamedTuple):
    """What was registered for a type."""

    spec_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]


RULES: dict[type, Rules] = {}
"""The rules by the type itself: a class derived from it has none."""

Step = tuple[Any, "int | None"]
"""An array that a rule handed to `cont`, and the axis that it gave with it."""


def is_vmappable(x: Any) -> bool:
    """Whether the type of `x` has rules of its own by which `vmap` takes its values apart."""
    return type(x) in RULES


def is_spec(x: Any) -> bool:
    """Whether `x` stands in `in_axes` or `out_axes` for a value of a registered type."""
    return any([isinstance(x, rules.spec_type) for rules in RULES.values()])


def holds_vmappable(tree: Any) -> bool:
    """Whether a value of a registered type is in `tree`."""
    return bool(RULES) and any(map(is_vmappable, tree_flatten(tree, is_leaf=is_vmappable)[0]))


class Apart:
    """A tree taken apart into arrays and an axis (or None) for each.

    Args:
      tree: arrays, trees of them and values of registered types.
      axes: a tree prefix of axes, None and specs.
      size: the size of the batch where `tree` is a result, None where it is an argument.
      what, name: `in_axes` or `out_axes`, and the function's name, for errors.
    Raises: ValueError where `axes` is no prefix of `tree`; TypeError where an entry is no axis of
      an array, or no spec of the value's type.
    """

    def __init__(self, tree: Any, axes: Any, size: int | None, what: str, name: str) -> None:
        self.leaves, self.tree = tree_flatten(tree, is_leaf=is_vmappable)
        self.size = size
        self.specs = _specs_of(axes, self.tree, what, name)
        self.steps: list[Step] = []
        for x, spec in zip(self.leaves, self.specs, strict=True):
            if is_vmappable(x):
                _check_spec(x, spec, what, name)
                self._through(x, spec, self._learn)
            elif spec is None or hasattr(spec, "__index__"):
                self.steps.append((x, spec if spec is None else int(spec)))
            else:
                raise TypeError(f"vmap {what} of {name}: an array has an int or None for its axis, "
                                f"got {spec!r}, which is for values of a registered type")

    def together(self, arrays: Sequence[Any]) -> Any:
        """The tree again, with `arrays` where its own were."""
        left = iter(zip(arrays, self.steps, strict=True))

        def give(_: Any, axis: Any) -> Any:
            return _next(left, axis)

        made = [self._through(x, spec, give) if is_vmappable(x) else next(left)[0]
                for x, spec in zip(self.leaves, self.specs, strict=True)]
        if next(left, None) is not None:
            _refuse_other_calls()
        return tree_unflatten(self.tree, made)

    def _through(self, x: Any, spec: Any, use: Callable[[Any, Any], Any]) -> Any:
        """What the rule of `x` makes, where `use` stands behind `cont` for arrays."""
        rules = RULES[type(x)]
        if self.size is None:
            def cont(x: Any, axis: Any) -> Any:
                return self._through(x, axis, use) if is_vmappable(x) else use(x, axis)

            return rules.to_elt(cont, _refuse_index, x, spec)

        def back(size: int, x: Any, axis: Any) -> Any:
            if size != self.size:
                raise ValueError(f"the batching rule of {type(x).__name__} handed on an axis of "
                                 f"size {size}, but the batch has size {self.size}")
            return self._through(x, axis, use) if is_vmappable(x) else use(x, axis)

        return rules.from_elt(back, self.size, x, spec)

    def _learn(self, x: Any, axis: Any) -> Any:
        if axis is None:
            self.steps.append((x, None))
            return x
        t, weak = kind_of("vmap", x)
        extra = self.size is not None
        ndim = t.ndim + extra
        if not hasattr(axis, "__index__") or not -ndim <= axis < ndim:
            raise ValueError(f"a registered batching rule gave the axis {axis!r} for an array of "
                             f"type {t}; it must be None or an int in [{-ndim}, {ndim})")
        at = int(axis) % ndim
        self.steps.append((x, int(axis)))
        shape = (*t.shape[:at], self.size, *t.shape[at:]) if extra else t.without(at).shape
        return shape_struct(t.with_shape(shape), weak)


class Results:
    """What a mapped function returns: as it is, or taken apart where it holds such values.

    Args:
      axes: `out_axes`; after `arrays` they are those of what that returned.
      name: the function's name, for errors.
    """

    def __init__(self, axes: Any, name: str) -> None:
        self.axes, self.name = axes, name
        self.apart: Apart | None = None

    def arrays(self, made: Any, size: int) -> Any:
        """The result as a tree of arrays."""
        if not holds_vmappable(made):
            return made
        self.apart = Apart(made, self.axes, size, "out_axes", self.name)
        self.axes = [axis for _, axis in self.apart.steps]
        return [x for x, _ in self.apart.steps]

    def together(self, arrays: Any) -> Any:
        """The result again, of a tree of arrays as from `arrays`, over all examples."""
        return arrays if self.apart is None else self.apart.together(arrays)


def _next(left: Iterator[tuple[Any, Step]], axis: Any) -> Any:
    found = next(left, None)
    if found is None or found[1][1] != axis:
        _refuse_other_calls()
    return found[0]


def _refuse_other_calls() -> NoReturn:
    raise ValueError("a registered batching rule handed other arrays to `cont` in its second call "
                     "than in its first; it must do the same for the same value and spec")


def _refuse_index(*_: Any) -> NoReturn:
    raise NotImplementedError("register_vmappable: the second argument of to_elt, the index of the "
                              "example, is not supported; name the axis and write lax.axis_index")


def _check_spec(x: Any, spec: Any, what: str, name: str) -> None:
    wanted = RULES[type(x)].spec_type
    if spec is not None and not isinstance(spec, wanted):
        raise TypeError(f"vmap {what} of {name}: a {type(x).__name__} is mapped by a "
                        f"{wanted.__name__} or None, got {spec!r}")


def _specs_of(axes: Any, tree: Any, what: str, name: str) -> list[Any]:
    full = tree_unflatten(tree, [object()] * tree.num_leaves)
    try:
        return broadcast_prefix(axes, full, is_leaf=lambda x: x is None or is_spec(x))
    except ValueError:
        raise ValueError(f"vmap {what} specification must be a tree prefix of the corresponding "
                         f"value, in which a value of a registered type is a leaf, got {axes!r} "
                         f"for {name}, whose value has the structure {tree_structure(full)}"
                         ) from None
