"""The distribution `jax` in the form that `importlib.metadata` knows: its name and its version."""

from __future__ import annotations

import os
from importlib.metadata import Distribution
from pathlib import Path


class Jax(Distribution):
    """A distribution that has metadata and no files."""

    def __init__(self, version: str) -> None:
        self._version = version

    def read_text(self, filename: str) -> str | None:
        """The text of `METADATA`; None for other files."""
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: jax\nVersion: {self._version}\n"

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        """Where a file would be."""
        return Path(__file__).resolve().parents[2] / path


__all__ = ["Jax"]
