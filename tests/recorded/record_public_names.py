"""Record the public names of modules and the parameters of their functions.

Run with an interpreter that has the library of reference:

    python tests/recorded/record_public_names.py LIBRARY > tests/recorded/public_names.json
"""

import functools
import importlib
import inspect
import json
import sys
import types

MODULES = """numpy numpy.fft numpy.linalg lax lax.linalg nn nn.initializers random
    image ops flatten_util
    scipy.cluster.vq scipy.fft scipy.integrate scipy.interpolate scipy.linalg scipy.ndimage
    scipy.optimize scipy.signal scipy.sparse.linalg scipy.spatial.transform scipy.special
    scipy.stats scipy.stats.bernoulli scipy.stats.beta scipy.stats.betabinom scipy.stats.binom
    scipy.stats.cauchy scipy.stats.chi2 scipy.stats.dirichlet scipy.stats.expon scipy.stats.gamma
    scipy.stats.gennorm scipy.stats.geom scipy.stats.gumbel_l scipy.stats.gumbel_r
    scipy.stats.laplace scipy.stats.logistic scipy.stats.multinomial
    scipy.stats.multivariate_normal scipy.stats.nbinom scipy.stats.norm scipy.stats.pareto
    scipy.stats.poisson scipy.stats.t scipy.stats.truncnorm scipy.stats.uniform
    scipy.stats.vonmises scipy.stats.wrapcauchy
    . ad_checkpoint core custom_batching custom_derivatives debug distributed dlpack dtypes errors
    example_libraries.optimizers example_libraries.stax experimental experimental.checkify
    experimental.jet experimental.layout experimental.mesh_utils experimental.multihost_utils
    experimental.ode experimental.rnn experimental.serialize_executable experimental.sparse
    experimental.topologies export extend.backend extend.core extend.core.primitives
    extend.linear_util extend.random ffi interpreters.ad interpreters.batching interpreters.mlir
    interpreters.partial_eval interpreters.pxla interpreters.xla monitoring profiler ref sharding
    stages test_util tree tree_util typing""".split()

ELSEWHERE = ("__future__", "builtins", "collections", "contextlib", "dataclasses", "enum",
             "functools", "itertools", "math", "numpy", "operator", "typing", "weakref")
"""Modules whose names are seen in those above since these need them."""


def parameters(found: object) -> list[str]:
    """The parameters that a function takes by name; none where it has no signature."""
    if not callable(found) or isinstance(found, type):
        return []
    try:
        given = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in given if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def recorded(library: str) -> dict[str, dict[str, list[str]]]:
    """Names and parameters by module."""
    made = {}
    for module in MODULES:
        held = importlib.import_module(f"{library}.{module}".rstrip("."))
        made[module] = {
            name: parameters(getattr(held, name)) for name in sorted(dir(held))
            if not name.startswith("_") and not isinstance(getattr(held, name), types.ModuleType)
            and not _is_from_elsewhere(getattr(held, name), module)}
    return made


def _is_from_elsewhere(found: object, module: str) -> bool:
    if isinstance(found, functools.partial):     # its module is that of its class
        return False
    home = str(getattr(found, "__module__", None)).partition(".")[0]
    return home in ELSEWHERE and module.partition(".")[0] not in ("numpy", "lax", "dtypes")


if __name__ == "__main__":
    lines = [f' "{module}": {{\n' + ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(given)}" for name, given in names.items()) + "}"
        for module, names in recorded(sys.argv[1]).items()]
    print("{\n" + ",\n".join(lines) + "}")
