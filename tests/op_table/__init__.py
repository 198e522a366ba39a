"""The table of all ops: one module a family, one `Row` an op, in lists called `ROWS`."""

from __future__ import annotations

import importlib
import pkgutil

from .row import Row


def all_rows() -> dict[str, Row]:
    """Every row by the name of its op. Raises: ValueError where an op has two."""
    rows: dict[str, Row] = {}
    for module in pkgutil.iter_modules(__path__):
        for row in getattr(importlib.import_module(f"{__name__}.{module.name}"), "ROWS", ()):
            if row.name in rows:
                raise ValueError(f"op {row.name!r} has two rows in the op table")
            rows[row.name] = row
    return rows
