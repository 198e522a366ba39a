"""Functions that carry the transformations to apply to them, for libraries that write their own.

    @transformation_with_aux2
    def flattened(f, store, in_tree, *flat):
        args = tree_unflatten(in_tree, flat)
        out, tree = tree_flatten(f(*args))
        store.store(tree)
        return out

    fun, out_tree = flattened(wrap_init(f), in_tree)
    fun.call_wrapped(*flat), out_tree()

A transformation of the second kind (`transformation2`) takes the function and calls it. One of the
first kind is a generator: it yields the arguments for the function, receives the result of the
function from that `yield`, and then yields its own result.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from ..base.on_demand import shown as _shown


class StoreException(Exception):
    """The error where an empty store is read, or a full one is filled again."""


_EMPTY = object()


class Store:
    """A place for one value that a transformation returns beside its result; it is filled once."""

    def __init__(self) -> None:
        self._value: Any = _EMPTY

    def store(self, value: Any) -> None:
        """Keep `value`. Raises: StoreException where a value is kept already."""
        if self._value is not _EMPTY:
            raise StoreException("Store occupied: the function has been called twice")
        self._value = value

    def reset(self) -> None:
        """Empty the store."""
        self._value = _EMPTY

    @property
    def val(self) -> Any:
        """The value that is kept. Raises: StoreException where the store is empty."""
        if self._value is _EMPTY:
            raise StoreException("Store empty: the function has not been called yet")
        return self._value

    def __bool__(self) -> bool:
        return self._value is not _EMPTY


class EqualStore(Store):
    """A store that may be filled again with an equal value."""

    def store(self, value: Any) -> None:
        """Keep `value`. Raises: StoreException where a different value is kept."""
        if self and self._value != value:
            raise StoreException(f"Store occupied by {self._value!r}, which is not {value!r}")
        self._value = value


Transform = Callable[..., Any]


class WrappedFun:
    """A function and the transformations to apply to it, the last one outermost.

    Fields: `f`, the function; `transforms`, pairs of a transformation and its static arguments;
    `stores`, a store or None for each transformation; `params`, keyword arguments for the function;
    `debug_info`, which may be None.
    """

    __slots__ = ("__weakref__", "debug_info", "f", "in_type", "params", "stores", "transforms")

    def __init__(self, f: Callable[..., Any], transforms: tuple[tuple[Transform, tuple], ...],
                 stores: tuple[Store | None, ...], params: tuple[tuple[str, Any], ...],
                 in_type: Any = None, debug_info: Any = None) -> None:
        self.f, self.transforms, self.stores = f, transforms, stores
        self.params, self.in_type, self.debug_info = params, in_type, debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", type(self.f).__name__)

    @property
    def f_transformed(self) -> Callable[..., Any]:
        """The function with its transformations applied."""
        call = functools.partial(self.f, **dict(self.params)) if self.params else self.f
        for (transform, static), store in zip(reversed(self.transforms), reversed(self.stores)):
            parts = static if store is None else (store, *static)
            call = functools.partial(transform, call, *parts)
        return call

    def wrap(self, transform: Transform, static: tuple, store: Store | None) -> WrappedFun:
        """The function with one more transformation around it."""
        return WrappedFun(self.f, ((transform, static), *self.transforms), (store, *self.stores),
                          self.params, None, self.debug_info)

    def with_unknown_names(self) -> WrappedFun:
        """The same without `debug_info`, whose names of arguments no longer hold."""
        return WrappedFun(self.f, self.transforms, self.stores, self.params, self.in_type)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the transformed function."""
        return self.f_transformed(*args, **kwargs)

    def populate_stores(self, stores: tuple[Store | None, ...]) -> None:
        """Fill the stores with the values in those of an equal function."""
        for own, other in zip(self.stores, stores):
            if own is not None and other is not None:
                own.store(other.val)

    def _key(self) -> tuple:
        return self.f, self.transforms, self.params, self.in_type

    def __eq__(self, other: object) -> bool:
        return type(other) is WrappedFun and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        around = "".join(f"{i}: {t.__name__} {static}\n"
                         for i, (t, static) in enumerate(self.transforms))
        return f"Wrapped function:\n{around}Core: {self.__name__}\n"


def wrap_init(f: Callable[..., Any], params: dict[str, Any] | None = None, *,
              debug_info: Any = None) -> WrappedFun:
    """A WrappedFun of `f` without transformations.

    Args:
      f: the function.
      params: dict of keyword arguments for `f`, or None.
      debug_info: an object that describes the function, or None.
    """
    if not callable(f):
        raise TypeError(f"wrap_init: expected a function, got {f!r}")
    return WrappedFun(f, (), (), tuple(sorted((params or {}).items())), None, debug_info)


class _Driven:
    """A generator function as a transformation of the second kind; all of one are equal."""

    def __init__(self, generator: Callable[..., Any], has_aux: bool) -> None:
        self.generator, self.has_aux = generator, has_aux
        self.__name__ = generator.__name__

    def __eq__(self, other: object) -> bool:
        return type(other) is _Driven and (self.generator, self.has_aux) == (
            other.generator, other.has_aux)

    def __hash__(self) -> int:
        return hash((self.generator, self.has_aux))

    def __call__(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        store = None
        if self.has_aux:
            store, *rest = args
            args = tuple(rest)
        running = self.generator(*args, **kwargs)
        inner_args, inner_kwargs = next(running)
        try:
            out = running.send(f(*inner_args, **inner_kwargs))
        finally:
            running.close()
        if store is not None:
            out, aux = out
            store.store(aux)
        return out


def transformation(gen: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Make `gen(*static, *args, **kwargs)`, a generator, a transformation `(fun, *static)`."""
    return transformation2(_Driven(gen, False))


def transformation_with_aux(gen: Callable[..., Any]) -> Callable[..., tuple[WrappedFun, Any]]:
    """Make `gen` a transformation as `transformation` does, with a second value.

    The last `yield` of `gen` yields the result and that value. The transformation returns a
    WrappedFun and a function that returns the value after the call.
    """
    return transformation_with_aux2(_Driven(gen, True))


def transformation2(gen: Callable[..., Any]) -> Callable[..., WrappedFun]:
    """Make `gen(f, *static, *args, **kwargs)` a transformation `(fun, *static)`."""
    def apply(fun: WrappedFun, *static: Any) -> WrappedFun:
        return fun.wrap(gen, static, None)

    return apply


def transformation_with_aux2(gen: Callable[..., Any]) -> Callable[..., tuple[WrappedFun, Any]]:
    """Make `gen(f, store, *static, *args, **kwargs)` a transformation with a second value.

    The transformation returns a WrappedFun and a function that returns the stored value.
    """
    def apply(fun: WrappedFun, *static: Any, use_eq_store: bool = False) -> tuple[WrappedFun, Any]:
        store = EqualStore() if use_eq_store else Store()
        return fun.wrap(gen, static, store), lambda: store.val

    return apply


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Whether the first of two stores is filled, and the value in the filled one.

    Raises: StoreException where neither is filled, or both are.
    """
    found = []
    for first, aux in ((True, aux1), (False, aux2)):
        try:
            found.append((first, aux()))
        except StoreException:
            pass
    if len(found) != 1:
        raise StoreException("neither store occupied" if not found else "both stores occupied")
    return found[0]


def cache(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call(fun, *args)` with its results cached, by the innermost function, its transformations
    and the arguments, as long as that function lives. A cached result fills the stores too."""
    held: weakref.WeakKeyDictionary[Any, dict] = weakref.WeakKeyDictionary()

    @functools.wraps(call)
    def remembered(fun: WrappedFun, *args: Any) -> Any:
        of_core = held.setdefault(fun.f, {})
        key = (fun.transforms, fun.params, fun.in_type, args)
        if key in of_core:
            answer, stores = of_core[key]
            fun.populate_stores(stores)
        else:
            answer = call(fun, *args)
            of_core[key] = answer, fun.stores
        return answer

    remembered.cache_clear = held.clear  # type: ignore[attr-defined]
    return remembered


__all__ = [
    "EqualStore", "Store", "StoreException", "WrappedFun", "cache", "merge_linear_aux",
    "transformation", "transformation2", "transformation_with_aux", "transformation_with_aux2",
    "wrap_init",
]  # fmt: skip
__dir__ = _shown(globals())
