"""Record draws by the samplers that have `method="approximate"`.

Run with an interpreter that has the library of reference, release 0.12 or later:

    python tests/recorded/record_approximate.py LIBRARY > tests/recorded/approximate.json
"""

import importlib
import json
import sys

CASES = {
    "gamma": "R.gamma(k,a,method='approximate')",
    "gamma of a shape": "R.gamma(k,2.5,(2,3),method='approximate')",
    "gamma f64": "R.gamma(k,a.astype('float64'),method='approximate')",
    "loggamma": "R.loggamma(k,a,method='approximate')",
    "chisquare": "R.chisquare(k,a,method='approximate')",
    "beta": "R.beta(k,a,a[::-1],method='approximate')",
    "poisson": "R.poisson(k,a,method='approximate')",
    "poisson f64 int64": "R.poisson(k,a.astype('float64'),dtype='int64',method='approximate')",
    "slope of gamma": "jax.grad(lambda a: R.gamma(k,a,method='approximate').sum())(a)",
}
"""Calls of a key `k` and parameters `a`."""
PARAMETERS = [0.01, 0.3, 1.0, 2.5, 6.9, 7.1, 30.0, 999.0, 123456.0]


def recorded(library: str) -> dict[str, list]:
    """What each call gives for two keys."""
    jax = importlib.import_module(library)
    random, jnp = (importlib.import_module(f"{library}.{name}") for name in ("random", "numpy"))
    with jax.enable_x64(True):
        given = {"R": random, "jax": jax, "a": jnp.array(PARAMETERS, "float32")}
        return {name: [eval(text, {**given, "k": random.key(seed)}).tolist() for seed in (0, 7)]
                for name, text in CASES.items()}


if __name__ == "__main__":
    print(json.dumps(recorded(sys.argv[1])))
