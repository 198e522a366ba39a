"""The values that the uses give with the jax package, for `test_uses.py`.

    PYTHON_WITH_JAX tests/ecosystem/uses/record.py [MODULE ...]
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
RECORDED = Path(__file__).resolve().parents[1] / "recorded"


def uses_of(module: ModuleType) -> dict[str, Any]:
    """The functions that a module writes and that take no arguments."""
    return {name: f for name, f in vars(module).items()
            if inspect.isfunction(f) and f.__module__ == module.__name__
            and not inspect.signature(f).parameters}


def flat(values: Any) -> list[Any]:
    """The leaves of a tree, each as nested lists of numbers with nine digits."""
    return [np.vectorize(lambda v: float(f"{v:.9g}"), otypes=[object])(
        np.asarray(leaf, np.float64)).tolist() for leaf in jax.tree.leaves(values)]


if __name__ == "__main__":
    import diffrax_uses
    import equinox_uses
    import small_uses

    modules = {"equinox": equinox_uses, "diffrax": diffrax_uses, "small": small_uses}
    for name, module in modules.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        found = {use: flat(f()) for use, f in uses_of(module).items()}
        text = ",\n".join(f'"{use}": {json.dumps(values)}' for use, values in found.items())
        (RECORDED / f"{name}.json").write_text("{\n" + text + "\n}\n")
        print(name, len(found), "uses, jax", jax.__version__)
