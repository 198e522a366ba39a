"""Users' objects that stand for an array: their method `__jax_array__` returns it."""

from __future__ import annotations

from typing import Any

_MOST = 16


def held_by(x: Any) -> Any:
    """The array that an object stands for, also where its `__jax_array__` returns such an object.

    Raises: TypeError where no array comes of it, as when an object returns itself.
    """
    made = x
    for _ in range(_MOST):
        made = made.__jax_array__()
        if not hasattr(made, "__jax_array__"):
            return made
    raise TypeError(f"{type(x).__name__}.__jax_array__ must return an array, but it returned an "
                    f"object of type {type(made).__name__} that has __jax_array__ itself, "
                    f"{_MOST} times over")


__all__ = ["held_by"]
