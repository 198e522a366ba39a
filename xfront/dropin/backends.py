"""The clients that exist, as libraries look into JAX's private table of them."""

from __future__ import annotations

from typing import Any

from lowering import clients


def __getattr__(name: str) -> Any:
    if name == "_backends":                      # computed anew each time: clients come and go
        return clients.existing()
    raise AttributeError(name)


__all__: list[str] = []
