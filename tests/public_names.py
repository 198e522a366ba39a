"""Which names and parameters that users expect are there: `python -m tests.public_names` lists all
that are not, each with the reason where it is absent on purpose.

`recorded/public_names.json` has the names, and the parameters that can be given by name.
"""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded" / "public_names.json"

_ONE_BIT = "jaxlib has no arrays of it on any platform here; the library of reference makes bools"
_SIX_BITS = "XLA compiles nothing of this dtype for CPUs"
_QUANTISED = ("it quantises as cuDNN's kernels do, and runs on GPUs alone; quantise by astype and "
              "write nn.scaled_matmul")
_REFUSED = "refused by the library of reference too: arrays are immutable; write jnp.where"
ABSENT = {
    "nn.get_scaled_dot_general_config": _QUANTISED,
    "nn.scaled_dot_general": _QUANTISED,
    "numpy.modf(out)": _REFUSED,
    **{f"numpy.{name}({argument})": _REFUSED for argument in ("out", "where") for name in (
        "add bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2 logical_and logical_or "
        "logical_xor maximum minimum multiply negative subtract").split()},
    "numpy.int1": _ONE_BIT,
    "numpy.uint1": _ONE_BIT,
    "numpy.float6_e2m3fn": _SIX_BITS,
    "numpy.float6_e3m2fn": _SIX_BITS,
}
"""Why a name, or `name(parameter)`, is absent."""


def names_of(function: Any) -> frozenset[str] | None:
    """The parameters that a function takes by name; None where it takes any, or is no function."""
    if not callable(function) or isinstance(function, type):
        return None
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in given):
        return None
    return frozenset(p.name for p in given
                     if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))


def missing() -> list[str]:
    """Names and `name(parameter)` that are recorded and not there."""
    found = []
    for module, names in json.loads(RECORDED.read_text()).items():
        try:
            held = importlib.import_module(f"xfront.{module}")
        except ImportError:
            found += [f"{module}.{name}" for name in names]
            continue
        for name, parameters in names.items():
            if not hasattr(held, name):
                found.append(f"{module}.{name}")
                continue
            own = names_of(getattr(held, name))
            if own is not None:
                found += [f"{module}.{name}({p})" for p in parameters if p not in own]
    return found


if __name__ == "__main__":
    for name in missing():
        print(f"{name}: {ABSENT.get(name, 'missing')}")
