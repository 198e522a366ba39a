"""PJRT plugins (CUDA, ROCm, TPU, others): found by their files and loaded once, without the
packages around them.

A plugin's own Python package may import frameworks; only its shared library is used here. Plugins
of other platforms are found by the entry points `jax_plugins`, or named in the environment:

    PJRT_NAMES_AND_LIBRARY_PATHS=name:/path/to/plugin.so,other:/path
"""

from __future__ import annotations

import ctypes
import glob
import os
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .processes import Processes

_PRELOADED = ("cuda_runtime", "cuda_nvrtc", "nvjitlink", "cublas", "nccl", "cuda_cupti", "cusparse",
              "cusolver", "cufft", "nvshmem", "cudnn")
_DEVICE_FILES = {"cuda": ("/dev/nvidiactl", "/dev/dxg"), "rocm": ("/dev/kfd",),
                 "tpu": ("/dev/accel0", "/dev/vfio/0")}
_STEMS = {"cuda_runtime": "cudart", "cuda_nvrtc": "nvrtc", "nvjitlink": "nvJitLink",
          "cuda_cupti": "cupti"}
_GOOGLE = "0x1ae0"
_REGISTERED: dict[str, str] = {}
_LOADED: dict[str, Any] = {}
"""The C interface of each plugin in this process; None where other code had loaded the plugin."""

EXTRAS = {"cuda": "'.[cuda12]' or '.[cuda13]' in a clone of xfront",
          "tpu": "'.[tpu]' in a clone of xfront", "rocm": "jax-rocm7-plugin"}
"""What `pip install` takes for a platform."""

_WITHOUT_CHIPS = {"TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v5litepod-4",
                  "TPU_WORKER_ID": "0", "TPU_WORKER_HOSTNAMES": "localhost",
                  "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
"""Environment for libtpu where there is no TPU. Without it libtpu queries a metadata server for
minutes, and two processes that compile block each other with a lock file."""


def register(platform: str, library: str) -> None:
    """Add a PJRT plugin: `library` is the path of its shared object."""
    _REGISTERED[platform] = library


def is_known(platform: str) -> bool:
    """Whether a plugin of that name was registered, named in the environment, or is installed."""
    return platform in _REGISTERED or platform in _named() or platform in _installed()


def _named() -> dict[str, str]:
    """The plugins that the environment names. Raises: ValueError where it cannot be read."""
    given = os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "")
    pairs = [entry.strip().partition(":") for entry in given.split(",") if entry.strip()]
    for name, colon, path in pairs:
        if not (name and colon and path):
            raise ValueError("PJRT_NAMES_AND_LIBRARY_PATHS must hold name:path pairs separated by "
                             f"commas, got {given!r}")
    return {name: path for name, _, path in pairs}


def _installed() -> dict[str, str]:
    """The shared libraries of other platforms' plugins, by the name of their entry point."""
    found: dict[str, str] = {}
    from importlib import metadata  # it takes a tenth of the library's start

    for point in metadata.entry_points(group="jax_plugins"):
        package, _, module = point.module.rpartition(".")
        if point.name.startswith(("xla_cuda", "xla_rocm")) or not module:
            continue
        libraries = [path for suffix in ("so", "dylib")
                     for path in _found(package, f"{module}/*pjrt*.{suffix}")]
        if libraries:
            found[point.name] = libraries[0]
    return found


def present() -> list[str]:
    """Platforms whose plugin is installed and whose device files exist, best first; then the
    platforms that the environment names."""
    known = [name for name in ("tpu", "cuda", "rocm") if _has_device(name) and library_of(name)]
    return [*known, *(name for name in _named() if name not in known)]


def _has_device(platform: str) -> bool:
    """Whether there is a device of a platform. Chips of other vendors use the same device files as
    TPUs, so for a TPU the PCI vendor is checked too."""
    if not any(map(os.path.exists, _DEVICE_FILES[platform])):
        return False
    if platform != "tpu" or os.path.exists("/dev/accel0"):
        return True
    return any(_text(path) == _GOOGLE for path in glob.glob("/sys/bus/pci/devices/*/vendor"))


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""


def library_of(platform: str) -> str | None:
    """Path of the plugin's shared library, or None where it is not installed."""
    if (given := _REGISTERED.get(platform) or _named().get(platform)) is not None:
        return given
    if platform == "tpu":
        given = os.environ.get("TPU_LIBRARY_PATH")
        return given or next(_found("libtpu", "libtpu.so"), None)
    pattern = {"cuda": "xla_cuda*/xla_cuda_plugin.so", "rocm": "xla_rocm*/xla_rocm_plugin.so"}
    if platform not in pattern:
        return _installed().get(platform)
    return next(_found("jax_plugins", pattern[platform]), None)


def _found(package: str, pattern: str) -> Any:
    """Yield files of an installed package without importing it, the greatest name first."""
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(glob.glob(os.path.join(folder, pattern)), reverse=True)


def load(platform: str) -> Any:
    """The C interface of a plugin, which the first call loads; None where other code in the process
    had loaded it.

    Raises: RuntimeError where the plugin is not installed, and any exception of the loader.
    """
    import jaxlib._jax as jax_extension

    if platform in _LOADED:
        return _LOADED[platform]
    library = library_of(platform)
    if library is None:
        raise RuntimeError(f"no {platform} plugin is installed; install "
                           f"{EXTRAS.get(platform, 'the package of its maker')}")
    if platform == "tpu":
        _tell_libtpu(_has_device("tpu"))
    c_api = None
    if not jax_extension.pjrt_plugin_loaded(platform):
        if platform == "cuda":
            _preload_cuda()
        c_api = jax_extension.load_pjrt_plugin(platform, library, None)
    if not jax_extension.pjrt_plugin_initialized(platform):
        jax_extension.initialize_pjrt_plugin(platform)
    if platform in ("cuda", "rocm") and c_api is not None:
        _register_gpu_calls(platform, library, c_api)
    _LOADED[platform] = c_api
    return c_api


def _tell_libtpu(has_chips: bool) -> None:
    """Set the environment variables that libtpu reads, but keep those that the user has set."""
    if not has_chips:
        for name, value in _WITHOUT_CHIPS.items():
            os.environ.setdefault(name, value)
        return
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    flags = os.environ.get("LIBTPU_INIT_ARGS", "")
    if _BARRIER not in flags:
        os.environ["LIBTPU_INIT_ARGS"] = f"{flags} --{_BARRIER}=true".strip()


_BARRIER = "xla_tpu_use_enhanced_launch_barrier"


def make_client(platform: str, visible: str = "all", processes: Processes | None = None) -> Any:
    """Load the plugin and make its client.

    Args:
      visible: numbers of the devices to use, comma-separated; "all" for all.
      processes: this process among others; None where it is alone.
    Raises: RuntimeError, and any exception of the loader.
    """
    import jaxlib._jax as jax_extension

    load(platform)
    options: dict[str, Any] = {}
    if platform in ("cuda", "rocm"):
        options = {"platform_name": platform, **gpu_options(os.environ)}
        if visible != "all":
            options["visible_devices"] = [int(number) for number in visible.split(",")]
        if processes is not None:
            options["node_id"], options["num_nodes"] = processes.index, processes.count
    return jax_extension.get_c_api_client(
        platform, options, None if processes is None else processes.client)


def gpu_options(env: Any) -> dict[str, Any]:
    """The options of a GPU client that the XLA_* variables of `env` ask for."""
    options: dict[str, Any] = {}
    if allocator := env.get("XLA_PYTHON_CLIENT_ALLOCATOR", "").lower():
        if allocator not in _ALLOCATORS:
            raise ValueError(f"XLA_PYTHON_CLIENT_ALLOCATOR must be one of {', '.join(_ALLOCATORS)},"
                             f" got {allocator!r}")
        if allocator != "default":
            options["allocator"] = allocator
    fraction = env.get("XLA_CLIENT_MEM_FRACTION") or env.get("XLA_PYTHON_CLIENT_MEM_FRACTION")
    if fraction:
        options["memory_fraction"] = float(fraction)
    if preallocate := env.get("XLA_PYTHON_CLIENT_PREALLOCATE"):
        options["preallocate"] = preallocate.lower() not in ("0", "false")
    if collective := env.get("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"):
        options["collective_memory_size"] = int(collective) << 20
    if abort := env.get("XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE"):
        options["abort_collectives_on_failure"] = abort.lower() not in ("0", "false")
    return options


_ALLOCATORS = ("default", "platform", "bfc", "cuda_async", "vmm", "address")


def _preload_cuda() -> None:
    """Open the CUDA libraries of the nvidia wheels, so that the plugin finds them."""
    for name in _PRELOADED:
        stem = _STEMS.get(name, name)           # since CUDA 13 many libraries share a folder
        for pattern in (f"*{name}/lib/lib*.so.*", f"cu1[0-9]/lib/lib{stem}*.so.*"):
            for path in _found("nvidia", pattern):
                try:
                    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
                except OSError:
                    continue                # may need another library first; the plugin reports it


def _register_gpu_calls(platform: str, library: str, c_api: Any) -> None:
    """Register the host callbacks and linear algebra kernels of the plugin's companion package."""
    plugin = os.path.basename(os.path.dirname(library)).removeprefix("xla_")
    target = {"cuda": "CUDA", "rocm": "ROCM"}[platform]
    try:
        ext = import_module(f"jax_{plugin}_plugin.{platform}_plugin_extension")
    except ModuleNotFoundError:
        return
    import_module("jaxlib.gpu_solver").initialize_hybrid_kernels()     # the kernels of eig
    for name, made in ext.ffi_types().items():
        ext.register_custom_type(c_api, name, made)
    for name, handler in ext.ffi_handlers().items():
        ext.register_custom_call_target(c_api, name, handler, target, 1)
    for module in ("gpu_solver", "gpu_linalg", "gpu_prng", "gpu_sparse"):
        kernels = import_module(f"jaxlib.{module}").registrations().get(target, ())
        for name, handler, api in kernels:
            ext.register_custom_call_target(c_api, name, handler, target, api)
    from .targets import plugin_loaded  # only where a plugin is loaded

    plugin_loaded(target, ext, c_api)
