"""The differences between versions of jaxlib, and jaxlib's own set-up.

Tests of its version and of features by `hasattr` are here, so that no other file needs them.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")     # read when the first extension is imported

import jaxlib._jax as _jax
import numpy as np
from jaxlib.version import __version__ as JAXLIB_VERSION

if TYPE_CHECKING:
    from .processes import Processes

VERSION: tuple[int, ...] = tuple(int(p) for p in JAXLIB_VERSION.split(".")[:3] if p.isdigit())

RuntimeFailure: type[Exception] = _jax.JaxRuntimeError
"""What compilation and execution raise."""

EXECUTION_ERRORS: tuple[type[Exception], ...] = (_jax.JaxRuntimeError, ValueError)
"""What a failed execution raises: jaxlib 0.10 raises ValueError where C++ dispatched the call."""

API_OF_0_10 = VERSION < (0, 11)
"""Whether programs are written for JAX 0.10, where a later release gives another result."""

HAS_FUSION_EMITTER_OPTION = VERSION < (0, 11)
"""Whether `xla_cpu_use_fusion_emitters` is a compile option; unknown options are errors."""

CHOOSES_LIBRARY = VERSION < (0, 13)
"""Whether this jaxlib is known to have the compile option `xla_cpu_experimental_ynn_fusion_type`.
"""

YNNPACK_CONVOLVES = VERSION < (0, 11)
"""Whether YNNPACK is XLA's default for convolutions too."""

COLLECTIVES_NEED_THREADS = VERSION < (0, 12)
"""Whether collectives of unpaced runs deadlock where there are fewer threads than twice the CPU
devices. The number of threads is NPROC, or that of cores, or that of devices."""


def compile_options(replicas: int, partitions: int, device_ids: Sequence[int],
                    overrides: Sequence[tuple[str, Any]]) -> Any:
    """jaxlib's CompileOptions; `overrides` are XLA debug options by name."""
    options = _jax.CompileOptions()
    options.num_replicas, options.num_partitions = replicas, partitions
    build = options.executable_build_options
    build.num_replicas, build.num_partitions = replicas, partitions
    build.use_spmd_partitioning = build.use_shardy_partitioner = partitions > 1
    options.env_option_overrides = [pair for pair in overrides if pair[0] not in BUILD_OPTIONS]
    for name, value in overrides:
        if name == "xla_profile_version":
            options.profile_version = value
        elif name in BUILD_OPTIONS:
            _set_build_option(build, name, value)
    ids = np.array(device_ids, np.int32).reshape(replicas, partitions)
    options.device_assignment = _jax.DeviceAssignment.create(ids)   # default: the first devices
    return options


LEVELS = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}
BUILD_OPTIONS = frozenset(("exec_time_optimization_effort", "memory_fitting_effort",
                           "memory_fitting_level", "optimization_level", "xla_profile_version"))
"""Options that are fields of CompileOptions or its build options, not XLA debug options."""


def has_build_option(name: str) -> bool:
    """Whether this jaxlib has a build option of that name."""
    return hasattr(_jax.CompileOptions().executable_build_options, name)


def _set_build_option(build: Any, name: str, value: Any) -> None:
    if not hasattr(build, name):
        raise ValueError(f"compiler option {name}={value!r}: jaxlib {JAXLIB_VERSION} does not have "
                         "this option")
    if name.endswith("_level"):
        if isinstance(value, str) and value not in LEVELS:
            raise ValueError(f"compiler option {name} must be one of {', '.join(LEVELS)}, got "
                             f"{value!r}")
        value = LEVELS.get(value, value)
    setattr(build, name, value)


def device_list(devices: Sequence[Any]) -> Any:
    """jaxlib's DeviceList."""
    return _jax.DeviceList(tuple(devices))


def cpu_client(num_devices: int | None, asynchronous: bool = True,
               processes: Processes | None = None, *, collectives: str = "gloo",
               topology_minutes: tuple[int, int] = (2, 5)) -> Any:
    """A CPU client; `None` leaves the number of devices to XLA_FLAGS.

    Args:
      processes: this process among others, whose devices the client will know.
      collectives: the kind of collectives between the processes.
      topology_minutes: how long to wait for their devices, on this machine and on all machines.
    """
    among: dict[str, Any] = {}
    if processes is not None:
        from .processes import collectives as made  # most programs run in one process

        local, everywhere = topology_minutes
        among = {"distributed_client": processes.client, "node_id": processes.index,
                 "num_nodes": processes.count, "collectives": made(collectives, processes),
                 "get_local_topology_timeout_minutes": local,
                 "get_global_topology_timeout_minutes": everywhere}
    return _jax.get_tfrt_cpu_client(asynchronous=asynchronous, num_devices=num_devices, **among)


# --- what programs need before they are loaded --------------------------------------------

def _set_up_lapack() -> None:
    from jaxlib import lapack
    from jaxlib.cpu import _lapack  # type: ignore[attr-defined]

    for name, capsule, api in lapack.registrations()["cpu"]:
        _jax.register_custom_call_target(name, capsule, platform="Host", api_version=api)
    with _imported_alone("scipy.linalg", "cython_blas", "cython_lapack"):
        _lapack.initialize()       # a LAPACK call before this ends the process


@contextlib.contextmanager
def _imported_alone(package: str, *names: str) -> Iterator[None]:
    """Extension modules of a package, imported without the package itself, which takes ten times as
    long. They are forgotten afterwards, so that a later import of the package finds all of it."""
    above, _, below = package.rpartition(".")
    if package in sys.modules or importlib.util.find_spec(above) is None:
        yield
        return
    folder = [os.path.join(path, below) for path in importlib.import_module(above).__path__]
    full = [f"{package}.{name}" for name in names]
    try:
        for name in full:
            spec = importlib.machinery.PathFinder.find_spec(name, folder)
            if spec is not None and spec.loader is not None:
                sys.modules[name] = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(sys.modules[name])
        yield
    finally:
        for name in full:
            sys.modules.pop(name, None)


def _set_up_sparse() -> None:
    from jaxlib import cpu_sparse

    for name, capsule, api in cpu_sparse.registrations()["cpu"]:
        _jax.register_custom_call_target(name, capsule, platform="Host", api_version=api)


REQUIREMENTS: dict[str, Callable[[], None]] = {"lapack": _set_up_lapack, "sparse": _set_up_sparse}
_met: set[str] = set()
_MEETING = threading.Lock()


def meet(requirements: Sequence[str]) -> bool:
    """Set up what a program requires; False where a requirement is not known here, or names a
    function that is not registered (`targets.requirement`)."""
    if _met.issuperset(requirements):
        return True
    with _MEETING:
        for what in requirements:
            if what not in _met:
                if what in REQUIREMENTS:
                    REQUIREMENTS[what]()
                elif not _is_registered(what):
                    return False
                _met.add(what)
    return True


def _is_registered(what: str) -> bool:
    from .targets import is_met  # few programs call functions by name

    return is_met(what)


def by_transfers(client: Any, function: Callable[..., Any], sends: Sequence[tuple[int, Any]],
                 receives: Sequence[tuple[int, Any]]) -> Any:
    """The object that a client takes for a host function whose operands and results go through
    channels. `sends` and `receives` have each channel with the type of its values."""
    from jaxlib._hlo import Shape  # programs without such functions do not need it

    def shapes(channels: Sequence[tuple[int, Any]]) -> list[Any]:
        return [Shape.array_shape(np.dtype(t.dtype.numpy), (*t.shape, *t.dtype.physical))
                for _, t in channels]

    def serialized(function: Any) -> bytes:
        raise NotImplementedError("a program with host functions cannot leave its process")

    return client.make_python_callback_from_host_send_and_recv(
        function, shapes(sends), shapes(receives), [n for n, _ in sends],
        [n for n, _ in receives], serialized)


def optimized_hlo(loaded: Any) -> str:
    """HLO text after optimisation, one module after the other."""
    return "\n\n".join(m.to_string() for m in loaded.hlo_modules())


def unoptimized_hlo(module: Any) -> Any:
    """The XlaComputation of an MLIR module as XLA receives it."""
    return _jax.mlir.mlir_module_to_xla_computation(
        str(module), use_tuple_args=False, return_tuple=False)


# --- portable artifacts -------------------------------------------------------------------

def portable_artifact(module: Any) -> bytes:
    """The bytes of an MLIR module for other versions of jaxlib: the StableHLO of twelve weeks ago.

    Raises: NotImplementedError where the module holds what that version does not have.
    """
    from jaxlib.mlir._mlir_libs import _stablehlo  # type: ignore[attr-defined]

    asked = _stablehlo.StablehloCompatibilityRequirement.WEEK_12
    version = _stablehlo.get_version_from_compatibility_requirement(asked)
    try:
        return _jax.mlir.serialize_portable_artifact(module, version)
    except (ValueError, RuntimeFailure) as e:
        raise NotImplementedError(f"the program cannot be written as StableHLO {version}, the "
                                  f"version for artifacts: {e}") from None


def read_artifact(data: bytes, context: Any) -> Any:
    """The MLIR module of an artifact.

    Raises: ValueError where the bytes are none, or of a version of StableHLO that this jaxlib does
      not read.
    """
    from jaxlib.mlir._mlir_libs import _stablehlo  # type: ignore[attr-defined]

    latest = _stablehlo.get_current_version()
    refused = (f"jaxlib {JAXLIB_VERSION}, which reads StableHLO up to {latest}, cannot read the "
               "program")
    mark, _, rest = data[:40].partition(b"StableHLO_v")
    if not mark.startswith(b"ML\xefR") or not rest:      # MLIR would read other bytes as text
        raise ValueError(f"{refused}: it does not begin as an artifact does")
    written = rest.partition(b"\0")[0].decode(errors="replace")
    if _numbers(written) > _numbers(latest):
        raise ValueError(f"{refused}, which is StableHLO {written}: export it with an earlier "
                         "jaxlib, or read it with a later one")
    try:
        return _stablehlo.deserialize_portable_artifact(context, data)
    except Exception as e:
        raise ValueError(f"{refused}: {str(e)[:500]}") from None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple([int(n) for n in version.split(".") if n.isdigit()])
