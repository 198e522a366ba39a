"""Record the random streams that users expect, as hexadecimal bytes.

Run with an interpreter that has the library of reference:

    python tests/recorded/record_random_api.py LIBRARY > tests/recorded/random_api.json
"""

import importlib
import json
import sys

import numpy as np

CASES = {
    "key_data": "R.key_data(k)",
    "raw": "R.PRNGKey(3)",
    "negative seed": "R.key_data(R.key(-1))",
    "large seed": "R.key_data(R.key(2**31 + 5))",
    "split": "R.key_data(R.split(k))",
    "split raw": "R.split(R.PRNGKey(7), (2, 3))",
    "fold_in": "R.key_data(R.fold_in(k, 5))",
    **{f"uniform {d}": f"R.uniform(k, (5,), {d!r})" for d in ("float32", "float16", "bfloat16")},
    **{f"normal {d}": f"R.normal(k, (3, 2), {d!r})"
       for d in ("float32", "float16", "bfloat16", "complex64")},
    "uniform range": "R.uniform(k, (4,), minval=-3.0, maxval=7.0)",
    **{f"bits {d}": f"R.bits(k, (3,), {d!r})" for d in ("uint32", "uint16", "uint8")},
    "randint": "R.randint(k, (7,), 0, 10)",
    "randint wide": "R.randint(k, (7,), -5, 2**31 - 1)",
    "randint uint8": "R.randint(k, (7,), 3, 100, 'uint8')",
    "bernoulli": "R.bernoulli(k, 0.3, (9,))",
    "permutation": "R.permutation(k, 10)",
    "truncated_normal": "R.truncated_normal(k, -2.0, 2.0, (5,))",
    "gumbel": "R.gumbel(k, (3,))",
    "exponential": "R.exponential(k, (3,))",
    "categorical": "R.categorical(k, np.ones((4, 5), 'f'))",
    "vmap": "lib.vmap(lambda k: R.normal(k, (2,)))(R.split(k, 3))",
    "jit": "lib.jit(lambda k: R.normal(R.split(k)[0], (2,)))(k)",
}


def evaluate(lib):
    """Dtype name and bytes of every case."""
    scope = {"lib": lib, "R": lib.random, "np": np, "k": lib.random.key(42)}
    made = {}
    for name, code in CASES.items():
        value = np.asarray(eval(code, scope))
        made[name] = [value.dtype.name, value.tobytes().hex()]
    return made


if __name__ == "__main__":
    json.dump(evaluate(importlib.import_module(sys.argv[1])), sys.stdout, indent=1)
