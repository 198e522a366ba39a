"""Record first and second derivatives at special points, of the library of reference.

    python tests/recorded/record_second_derivatives.py       where jax is installed, and not xfront

It answers under the names of xfront: the rows of `tests/gradients/rows.py` are written with these.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

TARGET = Path(__file__).with_name("second_derivatives.json")
DIGITS = 10


class Renamed(ModuleType):
    """A module under another name; what it lacks is refused when it is called."""

    def __init__(self, name: str, held: ModuleType) -> None:
        super().__init__(name)
        self.held = held

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self.held, name)
        except AttributeError:
            return functools.partial(self.refuse, name)

    def refuse(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Raises: NotImplementedError."""
        raise NotImplementedError(name)


def under_our_names() -> Any:
    """The library of reference, and its modules as those of xfront."""
    for name in ("", ".numpy", ".lax", ".nn", ".scipy", ".scipy.special"):
        made = Renamed(f"xfront{name}", importlib.import_module(f"jax{name}"))
        sys.modules[made.__name__] = made
        above, _, last = made.__name__.rpartition(".")
        if above:
            setattr(sys.modules[above], last, made)
    return sys.modules["xfront"]


def text(x: float) -> float | str:
    """A number of few digits; what JSON has no number for as text."""
    return float(f"{x:.{DIGITS}g}") if np.isfinite(x) else str(x)


def main() -> None:
    jax = under_our_names()
    jax.config.update("jax_enable_x64", True)
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.gradients import rows, twice

    recorded, refused = {}, {}
    for name, (f, given) in twice.all_cases(rows).items():
        try:
            made = twice.at_special_points(jax, f, given)
        except Exception as error:
            refused[name] = type(error).__name__
            continue
        recorded[name] = [[[text(x) for x in row] for row in part.tolist()] for part in made]
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(made, separators=(',', ':'))}"
                       for name, made in recorded.items())
    TARGET.write_text("{\n" + lines + "\n}\n")
    print(f"{len(recorded)} recorded; refused: {refused}"[:2000])


if __name__ == "__main__":
    main()
