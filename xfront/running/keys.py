"""What makes two calls the same, and the tables of traces and programs that are keyed by it.

What was traced for one call serves another call of the same function if they agree in

- structure: the tree of their arguments;
- types: type and weakness of each leaf. A type has dtype, shape, explicit axes of a mesh, and
  memory;
- statics: the arguments that are no arrays, compared with their Python types;
- options: `trace_key`, those that a trace may depend on;
- surroundings: the named axes around the call, and the axes over which its leaves vary.

`signature` puts these together, where the user's function is called; `templates.signature` and
`Direct.find` inline it, because they run at every call. Functions are compared by identity: what
one reads besides its arguments is taken to stay the same. A call that captures tracers is the same
as no other call.

A program serves a Function if they agree in

- content: ops, attributes, bodies, effects and types (`skeleton`), and the literals that are no
  parameters; `fingerprint` has both. Python in attributes counts by `identity_text`;
- request: the transformation that is pending, options of the compiler, what is donated;
- placement: a `Placement` or `Spread`, which are one object where they are equal.

    table                         its key                              what empties it
    C++'s, of `jit` and `@eager`  structure, types, statics, options,  `clear`; the least recent
                                  shardings of arguments               go first
    `jit`, `checkpoint`: traces   signature, for each function         `clear`; the function dies;
                                                                       the oldest go first
    `Front.memo`: programs        signature, placement                 the same
    `Direct.table`: functions     statics, for each function           the same
    `Templates.table`             signature, which operands are equal  the same
    `_ENTRIES` of `programs`      skeleton, request, placement         `clear`; bytes (`capacity`)
    `_OPS`, `_UNITS`              one op's content, placement          `clear`
    `_DRAWS`; `_programs` of      content, placement                   `clear`
    `rows`, `_program` of `moving`
    `_LITERALS`: arrays           a literal, its shape, placement      `clear`; when it is full
    on disk: programs             fingerprint, request, extras,        its size and age
                                  devices, versions
    on disk: notes                the same of what was traced          the same

`clear` also runs where the process has no room for more programs, and where an option changes how
programs are compiled. What is remembered on an object and dies with it is no table of this list:
`Function.memo`, `memo` of rules and primitives, `pmap`'s functions by number of devices.
"""

# hot: benchmarks/call.py

from __future__ import annotations

import itertools
from _blake2 import blake2b  # hashlib has it too, and loads OpenSSL
from collections.abc import Callable, Hashable, Mapping
from struct import pack
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

import numpy as np
from xfront_ir.fingerprint import identity

from .. import binding
from ..base.config import trace_key, when_compiled_otherwise
from ..values.keys import KeyArray

K = TypeVar("K")
V = TypeVar("V")


# --- calls --------------------------------------------------------------------------------

def signature(statics: Hashable, tree: Any, kinds: tuple[Any, ...], *around: Hashable) -> tuple:
    """The key of a call of a function.

    Args:
      statics: the arguments that are no arrays, each with its type.
      tree, kinds: the tree of the others, and the type and weakness of each leaf.
      around: the surroundings on which what is made for the call depends.
    """
    return statics, tree, kinds, trace_key(), *around


SIMPLE = frozenset((int, bool, str, type(None), type))
"""Types of arguments that are equal where type and value are."""

_HASHABLE = SIMPLE | {np.dtype, complex}


class FrozenFloat(float):
    """A static float that is compared by its bits: 0.0 differs from -0.0, and NaN equals itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is FrozenFloat and self.hex() == other.hex()

    def __hash__(self) -> int:
        return hash(self.hex())


class FrozenTuple(tuple):
    """A static tuple that contains bools: unlike a plain tuple, (True,) differs from (1,) here."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return (type(other) is FrozenTuple and tuple.__eq__(self, other)
                and [*map(type, self)] == [*map(type, other)])

    __hash__ = tuple.__hash__


def canonical(x: Any) -> Any:
    """A static argument in a form that has a hash, and is equal where the program is the same."""
    kind = type(x)
    if kind is float:
        return FrozenFloat(x)
    if kind in _HASHABLE:
        return x
    if kind in (list, tuple):
        made = tuple([canonical(i) for i in x])
        has_bools = any([type(i) is bool or type(i) is FrozenTuple for i in made])
        return FrozenTuple(made) if has_bools else made
    if isinstance(x, np.generic):
        return canonical(x.item())
    if isinstance(x, np.ndarray):
        return canonical(x.tolist())
    if isinstance(x, dict):
        return tuple(sorted((k, canonical(v)) for k, v in x.items()))
    if isinstance(x, binding.Array):
        if kind is KeyArray:
            raise TypeError("a random key cannot be used as a shape, an axis, a dtype or another "
                            f"argument that is not an array, got {x!r}")
        return canonical(np.asarray(x).tolist())
    if kind is range or kind.__hash__ in (None, object.__hash__):
        return _listed(x)
    return x


def _listed(x: Any) -> Any:
    """`x`, a range or an object that has no hash or is hashed by identity, in a form that is
    compared by content: a sequence as a tuple, an index as an int."""
    kind: Any = type(x)
    if hasattr(kind, "__len__") and hasattr(kind, "__getitem__") and not isinstance(x, Mapping):
        return canonical(tuple(x))
    return kind.__index__(x) if hasattr(kind, "__index__") else x


def plain(x: Any) -> Any:
    """A static argument in the form that bodies take."""
    kind = type(x)
    if kind is FrozenTuple:
        return tuple(map(plain, x))
    return float(x) if kind is FrozenFloat else x


# --- Python in programs -------------------------------------------------------------------

_TOKENS: dict[Any, int] = {}
_COUNT = itertools.count()


def identity_text(x: Any) -> str:
    """A text that is the same for two values only if they are equal, or the same object. It is
    part of the fingerprint of what holds the values, in this process."""
    kind = type(x)
    if kind in SIMPLE and kind is not type or kind is bytes:
        return f"{kind.__name__} {x!r}"
    if kind is float or kind is complex:
        return f"{kind.__name__} {pack('2d', x.real, x.imag).hex()}"
    if isinstance(x, Mapping):
        inside = [f"{identity_text(k)}:{identity_text(v)}" for k, v in x.items()]
        return f"{kind.__name__}{{{','.join(inside)}}}"
    if isinstance(x, (tuple, list)):
        return f"{kind.__qualname__}({','.join(map(identity_text, x))})"
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype != object:
        return f"array {x.dtype} {x.shape} {blake2b(x.tobytes()).hexdigest()}"
    if (own := getattr(kind, "_identity_text", None)) is not None:
        return own(x)
    if kind.__hash__ is object.__hash__ or callable(x):
        return identity(x)
    try:
        token = _TOKENS.get((kind, x))
    except TypeError:                            # not hashable
        return identity(x)
    if token is None:
        if len(_TOKENS) >= MOST_TOKENS:
            _TOKENS.clear()
        token = _TOKENS.setdefault((kind, x), next(_COUNT))
    return f"{kind.__qualname__} {token}"


MOST_TOKENS = 4096


# --- tables -------------------------------------------------------------------------------

MOST = 1024
"""How many traces, or programs of signatures, are kept for one function."""


class Latest(dict[K, V]):
    """A table for one function, which `clear` empties; the oldest of `most` entries are forgotten.
    """

    __slots__ = ("__weakref__", "most")
    __eq__, __hash__ = object.__eq__, object.__hash__        # type: ignore[assignment]

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        _LATEST.add(ref(self, _LATEST.discard))

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self.most:
            for old in [*self][:self.most // 4]:     # other threads may forget some too
                self.pop(old, None)
        dict.__setitem__(self, key, value)


_LATEST: set[ref[Latest]] = set()


def latest(held: WeakKeyDictionary[Any, Latest], function: Any) -> Latest:
    """The table of a function, which dies with it; a new one where it has no hash or no weak
    references."""
    try:
        return held[function]
    except KeyError:
        return held.setdefault(function, Latest())
    except TypeError:
        return Latest()


_TABLES: list[Callable[[], None]] = []


def emptied(*clear: Callable[[], None]) -> None:
    """Have `clear()` call these, which empty tables of traces and programs."""
    _TABLES.extend(clear)


def tables() -> list[Latest]:
    """The tables of all functions, though other threads may add some meanwhile."""
    return [table for held in [*_LATEST] if (table := held()) is not None]


def clear() -> None:
    """Forget every program of this process, and every trace (those on disk stay)."""
    binding.clear_pjit_caches()
    for table in tables():
        table.clear()
    for empty in _TABLES:
        empty()


when_compiled_otherwise(clear)
