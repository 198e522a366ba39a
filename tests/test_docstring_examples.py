"""The examples in docstrings run, and print what they say, to three digits."""

from __future__ import annotations

import doctest
import importlib
import inspect
from collections.abc import Iterator

import numpy as np
import pytest

import xfront
import xfront.nn
import xfront.numpy as jnp
import xfront.random
import xfront.scipy.linalg
import xfront.scipy.special
import xfront_ir

PACKAGES = (
    "numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "nn.initializers", "random",
    "scipy.special", "scipy.linalg", "", "tree_util", "flatten_util", "ops", "image", "scipy.fft",
    "scipy.signal", "scipy.stats", "scipy.integrate", "scipy.cluster.vq", "scipy.interpolate",
    "scipy.ndimage", "scipy.optimize", "scipy.sparse.linalg", "scipy.spatial.transform",
    "ad_checkpoint", "custom_batching", "custom_derivatives", "debug", "dlpack", "dtypes", "errors",
    "example_libraries.optimizers", "example_libraries.stax", "experimental",
    "experimental.checkify", "experimental.hijax", "experimental.jet", "experimental.layout",
    "experimental.mesh_utils", "experimental.multihost_utils", "experimental.ode",
    "experimental.pjit", "experimental.rnn", "experimental.roofline",
    "experimental.serialize_executable", "experimental.shard_map", "experimental.sparse",
    "experimental.sparse.linalg", "experimental.topologies", "experimental.xla_metadata", "export",
    "ffi", "monitoring", "profiler", "ref", "sharding", "stages", "test_util",
)  # fmt: skip
DISTRIBUTIONS = (
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma",
    "gennorm", "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial",
    "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t", "truncnorm", "uniform",
    "vonmises", "wrapcauchy",
)  # fmt: skip
"""Modules of `scipy.stats`."""

NAMES = {"jax": xfront, "xfront": xfront, "jnp": jnp, "np": np, "lax": xfront.lax,
         "nn": xfront.nn, "xfront_ir": xfront_ir, "random": xfront.random,
         "special": xfront.scipy.special}
"""What an example finds; and its own package by its name, as `linalg`, `checkify`; and that of
SciPy's above it, as `stats` in `stats.norm`."""

BARE = {"tree_util", "flatten_util", "ops", "image"}
"""Packages whose examples find the names of the package itself."""

SKETCHES = {"lax.custom_root", "lax.with_sharding_constraint", ".make_array_from_callback",
            ".install_as_jax"}
"""Examples that name what the reader has, a solver or a mesh, and one that would change the imports
of all tests after it."""

WITHOUT = {
    "errors.JaxprTypeError": "raised for programs that libraries write",
    "experimental.cur_qdd": "of values that change, in docs/hijax.md",
    "experimental.hijax.GradAccum": "a base of classes",
    "experimental.hijax.HiPrimitive": "a base of classes, in docs/hijax.md",
    "experimental.hijax.HiPspec": "a base of classes",
    "experimental.hijax.MappingSpec": "a base of classes, in docs/hijax.md",
    "experimental.hijax.jvp_from_lin": "a rule for a class to hold, in docs/hijax.md",
    "experimental.hijax.register_hitype": "would have all tests after it look for such values",
    "experimental.multihost_utils.live_devices": "of several processes",
    "experimental.multihost_utils.reached_preemption_sync_point": "of several processes",
    "experimental.roofline.register_roofline": "refuses all",
    "experimental.roofline.register_standard_roofline": "refuses all",
    "experimental.roofline.roofline_and_grad": "refuses all",
    "experimental.xla_metadata.fuse_limit": "refuses all",
    "experimental.xla_metadata.set_xla_metadata": "refuses all",
    "monitoring.clear_event_listeners": "would take away the listeners of other tests",
    "profiler.device_memory_profile": "gives bytes that pprof reads",
    "profiler.export_profile_data": "writes a folder that TensorBoard reads",
    "profiler.save_device_memory_profile": "writes a file that pprof reads",
    "profiler.start_server": "opens a port",
    "profiler.start_trace": "writes a folder that TensorBoard reads",
    "profiler.stop_server": "opens a port",
    "profiler.stop_trace": "writes a folder that TensorBoard reads",
    "profiler.trace": "writes a folder that TensorBoard reads",
    "random.Key": "a type for annotations, documented by `NewType`",
}
"""Public names that have no example, and why."""


def documented(package: str) -> Iterator[tuple[str, str]]:
    """Public names of functions and classes of a package, with their documentation."""
    module = importlib.import_module(f"xfront.{package}" if package else "xfront")
    names = getattr(module, "_names", None) or getattr(module, "__all__", None) or dir(module)
    for name in sorted({n for n in names if not n.startswith("_")}):
        member = getattr(module, name)
        home = getattr(member, "__module__", None) or ""
        if callable(member) and home.startswith("xfront"):
            yield name, inspect.getdoc(member) or ""


def told_by(*packages: str) -> str:
    """What examples of packages print that they do not say."""
    runner, told = doctest.DocTestRunner(verbose=False), []
    with np.printoptions(precision=3, suppress=True):        # the last digits differ among CPUs
        for package in packages:
            names = found_in(package)
            for name, text in documented(package):
                if f"{package}.{name}" not in SKETCHES:
                    example = doctest.DocTestParser().get_doctest(
                        text, dict(names), f"{package}.{name}", None, 0)
                    runner.run(example, out=told.append)
    return "".join(told)


def found_in(package: str) -> dict[str, object]:
    """The names that an example of a package finds."""
    module = importlib.import_module(f"xfront.{package}" if package else "xfront")
    own = ("issubdtype", "result_type", "einsum")
    names = {**{n: getattr(module, n) for n in own if hasattr(module, n)}, **NAMES,
             **(vars(module) if package in BARE else {})}
    *above, name = package.split(".")
    if name:
        names[name] = module
    if above[:1] == ["scipy"] and len(above) > 1:
        names[above[1]] = importlib.import_module(f"xfront.scipy.{above[1]}")
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_examples_print_what_they_say(package: str) -> None:
    told = told_by(package)
    assert not told, told


def test_examples_of_distributions_print_what_they_say() -> None:
    told = told_by(*[f"scipy.stats.{name}" for name in DISTRIBUTIONS])
    assert not told, told


def test_every_public_function_has_an_example_or_a_reason_why_not() -> None:
    packages = (*PACKAGES, *[f"scipy.stats.{name}" for name in DISTRIBUTIONS])
    found = {f"{p}.{n}" for p in packages for n, text in documented(p) if ">>>" not in text}
    assert found == set(WITHOUT)
