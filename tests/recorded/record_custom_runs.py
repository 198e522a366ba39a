"""Records how often JAX runs the Python of functions with rules. Run with a real JAX from the root:

    PYTHONPATH=. python tests/recorded/record_custom_runs.py tests/recorded/custom_runs.json

By function and use of `tests/samples/custom_runs.py`: what ran at each of three calls, or the class
of the error.
"""

import importlib
import json
import sys

from tests.samples.custom_runs import FUNCTIONS, observed

# The system under observation; nothing in the project imports it.
jax = importlib.import_module("jax")


def main() -> None:
    """Writes the file named on the command line."""
    with open(sys.argv[1], "w") as file:
        json.dump({name: observed(jax, name) for name in FUNCTIONS}, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
