"""Small functions on sequences that libraries take from JAX's private modules."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def safe_map(f: Callable[..., Any], *sequences: Iterable[Any]) -> list[Any]:
    """A list of the results of `f` on the elements of sequences of equal length.

    Raises: ValueError where the lengths differ.
    """
    return [f(*xs) for xs in zip(*map(list, sequences), strict=True)]


def safe_zip(*sequences: Iterable[Any]) -> list[tuple]:
    """A list of tuples with the elements of sequences of equal length.

    Raises: ValueError where the lengths differ.
    """
    return list(zip(*map(list, sequences), strict=True))


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple, tuple]:
    """The first and the second parts of pairs, two tuples."""
    held = list(pairs)
    return tuple([a for a, _ in held]), tuple([b for _, b in held])


def unzip3(triples: Iterable[tuple[Any, Any, Any]]) -> tuple[tuple, tuple, tuple]:
    """The first, second and third parts of triples, three tuples."""
    held = list(triples)
    return tuple([t[0] for t in held]), tuple([t[1] for t in held]), tuple([t[2] for t in held])


def split_list(values: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
    """Consecutive pieces of a sequence of the given sizes, and the rest, a list of lists.

    Raises: ValueError where the sizes exceed the sequence.
    """
    made, start = [], 0
    for size in sizes:
        if start + size > len(values):
            raise ValueError(f"split_list: sizes {list(sizes)} add up to more than the "
                             f"{len(values)} values")
        made.append(list(values[start:start + size]))
        start += size
    return [*made, list(values[start:])]


def partition_list(chosen: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The values that are not chosen, and those that are, two lists. Raises: ValueError where the
    lengths of the arguments differ."""
    pairs = safe_zip(chosen, values)
    return [v for c, v in pairs if not c], [v for c, v in pairs if c]


def merge_lists(chosen: Sequence[bool], others: Sequence[Any], picked: Sequence[Any]) -> list[Any]:
    """The list whose parts `partition_list` returned. Raises: ValueError where numbers differ."""
    rest, taken = iter(others), iter(picked)
    made = [next(taken) if c else next(rest) for c in chosen]
    if any(True for _ in rest) or any(True for _ in taken):
        raise ValueError(f"merge_lists: got {len(others)} and {len(picked)} values for "
                         f"{len(chosen)} places")
    return made


def concatenate(lists: Iterable[Sequence[Any]]) -> list[Any]:
    """A list of the elements of all sequences, one after the other."""
    return [x for xs in lists for x in xs]


def prod(values: Iterable[Any]) -> Any:
    """The product of numbers."""
    return functools.reduce(operator.mul, values, 1)


def wrap_name(transform_name: str, name: str) -> str:
    """The name of a transformed function: `jvp(f)`."""
    return f"{transform_name}({name})"


class HashableFunction:
    """A function that is equal to others with the same `closure`."""

    def __init__(self, f: Callable[..., Any], closure: Any) -> None:
        self.f, self.closure = f, closure

    def __eq__(self, other: object) -> bool:
        return type(other) is HashableFunction and (
            self.f.__code__ is other.f.__code__ and self.closure == other.closure)

    def __hash__(self) -> int:
        return hash((self.f.__code__, self.closure))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)


def as_hashable_function(closure: Any) -> Callable[[Callable[..., Any]], HashableFunction]:
    """A decorator for functions: the result is equal to others of its code and `closure`."""
    return lambda f: HashableFunction(f, closure)


__all__ = [
    "HashableFunction", "as_hashable_function", "concatenate", "merge_lists", "partition_list",
    "prod", "safe_map", "safe_zip", "split_list", "unzip2", "unzip3", "wrap_name",
]  # fmt: skip
