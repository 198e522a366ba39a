"""What libraries import from `jax._src.api_util` beside the names of `jax.api_util`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable


def infer_argnums_and_argnames(
        sig: inspect.Signature, argnums: int | Iterable[int] | None,
        argnames: str | Iterable[str] | None) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of the same parameters, where only one of the two is given.

    Args:
      sig: the function's signature.
      argnums: positions, an int or several, or None.
      argnames: names, a str or several, or None.
    Returns: both as tuples: as given where both are; the missing one otherwise holds what can be
      given both by position and by name.
    """
    numbers = None if argnums is None else (
        (argnums,) if isinstance(argnums, int) else tuple(argnums))
    names = None if argnames is None else (
        (argnames,) if isinstance(argnames, str) else tuple(argnames))
    places = {p.name: i for i, p in enumerate(sig.parameters.values())
              if p.kind is p.POSITIONAL_OR_KEYWORD}
    if numbers is None:
        numbers = tuple([i for n, i in places.items() if n in (names or ())])
    if names is None:
        names = tuple([n for n, i in places.items() if i in numbers])
    return numbers, names


__all__ = ["infer_argnums_and_argnames"]
