"""Modules that files below them need; each is imported when such a file first asks for it.

A file below a module must not import it, so it calls `on_demand.above("views")`. This file is above
all of these modules.
"""

from __future__ import annotations

from types import ModuleType

from .on_demand import offer


def _binding() -> ModuleType:
    from .jaxpr import binding

    return binding


def _chunks() -> ModuleType:
    from .transforms import chunks

    return chunks


def _creation() -> ModuleType:
    from .numpy import creation

    return creation


def _own() -> ModuleType:
    from .jaxpr import own

    return own


def _precision() -> ModuleType:
    from .lax import precision

    return precision


def _sparse_arithmetic() -> ModuleType:
    from .experimental.sparse import arithmetic

    return arithmetic


def _sparse_moving() -> ModuleType:
    from .experimental.sparse import moving

    return moving


def _sparse_products() -> ModuleType:
    from .experimental.sparse import products

    return products


def _views() -> ModuleType:
    from .jaxpr import views

    return views


offer(_binding, _chunks, _creation, _own, _precision, _sparse_arithmetic, _sparse_moving,
      _sparse_products, _views)
