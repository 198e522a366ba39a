"""Records which calls JAX refuses under strict settings. Run with a real JAX, from the root:

    PYTHONPATH=. python -W ignore tests/recorded/record_refusals.py tests/recorded/refusals.json

By row of `tests/samples/disagreeing.py`: "R" where it is refused under numpy_rank_promotion
"raise", "D" where under numpy_dtype_promotion "strict". A row that JAX does not take under the
defaults is left out.
"""

import importlib
import json
import sys
from typing import Any

import numpy as np

from tests.samples.disagreeing import ROWS
from tests.samples.operands import OPERANDS

# The system under observation; nothing in the project imports it.
NAMES = {"np": np, **{name: importlib.import_module(f"jax{module}") for name, module in {
    "jax": "", "jnp": ".numpy", "lax": ".lax", "nn": ".nn", "special": ".scipy.special",
    "slinalg": ".scipy.linalg"}.items()}}
jax = NAMES["jax"]


def refused(text: str, setting: Any) -> bool:
    """Whether a call is refused under a setting."""
    run = eval(f"lambda {', '.join(OPERANDS)}: {text}", NAMES)
    given = [NAMES["jnp"].asarray(x) for x in OPERANDS.values()]
    try:
        with setting:
            jax.eval_shape(lambda *xs: run(*xs), *given)   # fresh each time: nothing is cached
    except Exception:
        return True
    return False


def main() -> None:
    """Writes the file named on the command line."""
    found = {}
    for text in ROWS:
        if not refused(text, jax.numpy_rank_promotion("allow")):
            found[text] = "R" * refused(text, jax.numpy_rank_promotion("raise")) + "D" * refused(
                text, jax.numpy_dtype_promotion("strict"))
    with open(sys.argv[1], "w") as file:
        json.dump(found, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
