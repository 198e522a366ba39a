"""Compilation, where libraries look for it in JAX's private modules: a function that they put in
the place of this one is called instead, as `chex.restrict_backends` expects."""

from __future__ import annotations

from typing import Any

from lowering import compile as compiling


def backend_compile_and_load(backend: Any, *args: Any) -> Any:
    """The executable that a client makes of a module, devices, options and host callbacks."""
    return backend.compile_and_load(*args)


def _looked_up(backend: Any, *args: Any) -> Any:
    return backend_compile_and_load(backend, *args)


compiling.loaded_by = _looked_up

__all__ = ["backend_compile_and_load"]
