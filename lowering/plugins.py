"""PJRT plugins (CUDA, ROCm, TPU): found by their files and loaded without the packages around them.

A plugin's own Python package may import frameworks; only its shared library is used here.
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
_REGISTERED: dict[str, str] = {}


def register(platform: str, library: str) -> None:
    """Add a PJRT plugin: `library` is the path of its shared object."""
    _REGISTERED[platform] = library


def is_known(platform: str) -> bool:
    """Whether a plugin of that name was registered."""
    return platform in _REGISTERED


def present() -> list[str]:
    """Platforms whose plugin is installed and whose device files exist, best first."""
    return [name for name in ("tpu", "cuda", "rocm")
            if any(map(os.path.exists, _DEVICE_FILES[name])) and library_of(name)]


def library_of(platform: str) -> str | None:
    """Path of the plugin's shared library, or None where it is not installed."""
    if platform in _REGISTERED:
        return _REGISTERED[platform]
    if platform == "tpu":
        given = os.environ.get("TPU_LIBRARY_PATH")
        return given or next(_found("libtpu", "libtpu.so"), None)
    pattern = {"cuda": "xla_cuda*/xla_cuda_plugin.so", "rocm": "xla_rocm*/xla_rocm_plugin.so"}
    if platform not in pattern:
        return None
    return next(_found("jax_plugins", pattern[platform]), None)


def _found(package: str, pattern: str) -> Any:
    """Files of an installed package, found without importing it; the newest name first."""
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(glob.glob(os.path.join(folder, pattern)), reverse=True)


def make_client(platform: str, visible: str = "all", processes: Processes | None = None) -> Any:
    """Load the plugin and make its client, for all devices or those of the numbers given, in this
    process or among several.

    Raises: RuntimeError and whatever the loader raises.
    """
    import jaxlib._jax as jax_extension

    library = library_of(platform)
    if library is None:
        raise RuntimeError(f"no {platform} plugin is installed")
    options: dict[str, Any] = {}
    if platform in ("cuda", "rocm"):
        options = gpu_options(os.environ)
        if visible != "all":
            options["visible_devices"] = [int(number) for number in visible.split(",")]
        if processes is not None:
            options["node_id"], options["num_nodes"] = processes.index, processes.count
        if platform == "cuda":
            _preload_cuda()
    c_api = jax_extension.load_pjrt_plugin(platform, library, None)
    jax_extension.initialize_pjrt_plugin(platform)
    client = jax_extension.get_c_api_client(
        platform, options, None if processes is None else processes.client)
    if platform in ("cuda", "rocm"):
        _register_gpu_calls(platform, library, c_api)
    return client


def gpu_options(env: Any) -> dict[str, Any]:
    """Options of a GPU client from the XLA_* variables that users know."""
    options: dict[str, Any] = {}
    if allocator := env.get("XLA_PYTHON_CLIENT_ALLOCATOR", "").lower():
        if allocator not in ("default", "platform", "bfc", "cuda_async"):
            raise ValueError("XLA_PYTHON_CLIENT_ALLOCATOR must be default, platform, bfc or "
                             f"cuda_async, got {allocator!r}")
        if allocator != "default":
            options["allocator"] = allocator
    fraction = env.get("XLA_CLIENT_MEM_FRACTION") or env.get("XLA_PYTHON_CLIENT_MEM_FRACTION")
    if fraction:
        options["memory_fraction"] = float(fraction)
    if preallocate := env.get("XLA_PYTHON_CLIENT_PREALLOCATE"):
        options["preallocate"] = preallocate.lower() not in ("0", "false")
    if collective := env.get("XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB"):
        options["collective_memory_size"] = int(collective) << 20
    return options


def _preload_cuda() -> None:
    """Open the CUDA libraries of the nvidia wheels, so that the plugin finds them."""
    for name in _PRELOADED:
        for path in _found("nvidia", f"*{name}/lib/lib*.so.*"):
            try:
                ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue                    # helpers that want others first; the plugin tells


def _register_gpu_calls(platform: str, library: str, c_api: Any) -> None:
    """Give the plugin the host callbacks and linear algebra kernels of its companion package."""
    plugin = os.path.basename(os.path.dirname(library)).removeprefix("xla_")
    target = {"cuda": "CUDA", "rocm": "ROCM"}[platform]
    try:
        ext = import_module(f"jax_{plugin}_plugin.{platform}_plugin_extension")
    except ModuleNotFoundError:
        ext = import_module(f"jax_{plugin}_plugin.rocm_plugin_extension") \
            if platform == "rocm" else None
    if ext is None:
        return
    for name, made in ext.ffi_types().items():
        ext.register_custom_type(c_api, name, made)
    for name, handler in ext.ffi_handlers().items():
        ext.register_custom_call_target(c_api, name, handler, target, 1)
    for module in ("gpu_solver", "gpu_linalg", "gpu_prng", "gpu_sparse"):
        kernels = import_module(f"jaxlib.{module}").registrations().get(target, ())
        for name, handler, api in kernels:
            ext.register_custom_call_target(c_api, name, handler, target, api)
