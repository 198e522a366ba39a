"""Writes programs to a folder when they are lowered, so that people can read them."""

from __future__ import annotations

import itertools
import os
import re
from typing import Any

_settings: dict[str, str] = {"folder": "", "modes": "stablehlo"}
_numbers = itertools.count()


def choose(*, folder: str | None = None, modes: str | None = None) -> None:
    """Set the folder to write to ("" for none) and the modes: `stablehlo` and `jaxpr` (the IR)."""
    given = {"folder": folder, "modes": modes}
    _settings.update({k: v for k, v in given.items() if v is not None})


def is_on() -> bool:
    """Whether programs are written."""
    return bool(_settings["folder"])


def write(lowered: Any) -> None:
    """Write one lowered program. Raises: OSError where the files cannot be written."""
    folder = os.path.expanduser(_settings["folder"])
    os.makedirs(folder, exist_ok=True)
    name = re.sub(r"\W", "_", lowered.name)
    stem = os.path.join(folder, f"jax_ir{next(_numbers):04d}_jit_{name}")
    modes = [mode.strip() for mode in _settings["modes"].split(",")]
    if "stablehlo" in modes:
        with open(f"{stem}_compile.mlir", "w") as f:
            f.write(lowered.as_text(debug_info=True))
    if "jaxpr" in modes:
        with open(f"{stem}_ir.txt", "w") as f:
            f.write(str(lowered.function))


__all__ = ["choose", "is_on", "write"]
