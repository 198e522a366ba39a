"""Devices that are described but not present: programs are compiled for them and inspected.

    described("v5e:2x2")          four chips of a TPU v5e
    described("v5p:2x2x1")        the names are those of libtpu
    described("h100:1x1x4")       slices x hosts x devices, of H100s
    described("h100")             one H100

The plugin of the platform compiles for them, on any machine. `is_described` tells such devices
from those that can run programs.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import plugins

COMPILE_ONLY = "compile_only_runtime"

TPUS = ("v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x")

_H100 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: 84942979072 shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 }
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA"
"""

GPUS = {"h100": _H100}
"""The text of XLA's `GpuTargetConfigProto` by name of the GPU, for the SXM modules."""


class Topology(NamedTuple):
    """Devices by description. `name` says their kind and number, `platform` is their platform."""

    name: str
    platform: str
    devices: tuple[Any, ...]


_LOCK = threading.Lock()
_TOPOLOGIES: dict[Any, Topology] = {}
_NAMES: dict[Any, str] = {}


def described(name: str = "", platform: str | None = None,
              options: Mapping[str, Any] | None = None) -> Topology:
    """The topology of that name; the same object for the same request.

    Args:
      name: `v5e:2x2`, `h100`, `h100:1x1x4`; with a platform, any name that its plugin knows.
      platform: `tpu`, `cuda` or `gpu`; None takes the platform of the name.
      options: further options of the plugin: `target_config` and `topology` for GPUs,
        `chips_per_host_bounds` for TPUs.
    Raises: ValueError where the name is not known; NotImplementedError for platforms that describe
      no devices; RuntimeError where the plugin is not installed, JaxRuntimeError where it refuses.
    """
    kind, _, layout = name.partition(":")
    if platform is None:
        platform = "tpu" if kind in TPUS else "cuda" if kind in GPUS else None
    if platform is None:
        raise ValueError(f"topology {name!r} is not known: it must be a TPU ({', '.join(TPUS)}) "
                         f"with its layout, as in 'v5e:2x2', or a GPU ({', '.join(GPUS)}), as in "
                         "'h100' or 'h100:1x1x4' (slices x hosts x devices)")
    platform = "cuda" if platform == "gpu" else platform
    if platform not in ("tpu", "cuda"):
        raise NotImplementedError(f"topology not implemented for {platform}, only for tpu and cuda")
    given = dict(options or {})
    if platform == "cuda" and kind in GPUS:
        if layout and not re.fullmatch(r"\d+x\d+x\d+", layout):
            raise ValueError(f"topology {name!r}: the part after the colon must be three numbers, "
                             "slices x hosts x devices of a host, as in 'h100:1x1x4'")
        given.setdefault("target_config", GPUS[kind])
        given.setdefault("topology", layout or "1x1x1")
        name = name if layout else f"{kind}:1x1x1"
    elif platform == "tpu" and kind in TPUS:
        layout = layout or "x".join("1" * _AXES.get(kind, 2))
        name = f"{kind}:{layout}"
        sizes = [int(n) for n in layout.split("x") if n.isdigit()]
        if math.prod(sizes) == 1:                # by default a host has more chips
            given.setdefault("chips_per_host_bounds", [1, 1, 1])
    key = (name, platform, repr(sorted(given.items())))
    with _LOCK:
        found = _TOPOLOGIES.get(key)
        if found is None:
            found = _TOPOLOGIES[key] = Topology(name, platform, _devices(name, platform, given))
            taken = name in _NAMES.values()
            _NAMES[found.devices[0].client] = f"{name} #{len(_NAMES)}" if taken else name
    return found


_AXES = {"v4": 3, "v5p": 3, "tpu7x": 3}
"""Number of axes of the torus, for TPUs whose layout does not have two."""


def _devices(name: str, platform: str, options: dict[str, Any]) -> tuple[Any, ...]:
    import jaxlib._jax as jax_extension

    c_api = plugins.load(platform)
    plain = "" if platform == "cuda" else name
    if c_api is None:
        made = jax_extension.get_default_c_api_topology(platform, plain, options)
    else:
        made = jax_extension.get_c_api_topology(c_api, plain, options)
    return tuple(made._make_compile_only_devices())


def is_described(device: Any) -> bool:
    """Whether a device is only described, not present."""
    return device.client.runtime_type == COMPILE_ONLY


def name_of(device: Any) -> str:
    """The name by which a client's devices differ from others with the same ids: that of their
    topology, or else that of their platform."""
    return _NAMES.get(device.client) or device.platform


def devices_of(name: str) -> tuple[Any, ...]:
    """The devices of the topology with a name from `name_of`; none where there is no such one."""
    return next((t.devices for t in _TOPOLOGIES.values() if name_of(t.devices[0]) == name), ())
