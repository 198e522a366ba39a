"""xfront: numeric programs for CPU, GPU and TPU, traced into a typed IR and compiled by XLA."""

from __future__ import annotations

from . import debug, dtypes, errors, lax, numpy, random, tree, tree_util
from .arrays import methods as _methods
from .arrays import operators as _operators
from .arrays.binding import Array, Device
from .callbacks import pure_callback
from .config import (
    check_tracer_leaks,
    checking_leaks,
    config,
    debug_infs,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    log_compiles,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    threefry_partitionable,
    transfer_guard,
)
from .devices import (
    block_until_ready,
    clear_caches,
    copy_to_host_async,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    effects_barrier,
    live_arrays,
    local_device_count,
    local_devices,
    process_count,
    process_index,
)
from .dtypes import float0
from .stages import ShapeDtypeStruct, eval_shape, make_ir, make_jaxpr
from .transforms.autodiff import grad, jvp, linearize, value_and_grad, vjp
from .transforms.checkpoint import checkpoint, remat
from .transforms.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
from .transforms.from_ir import from_ir
from .transforms.jacobians import hessian, jacfwd, jacrev
from .transforms.jit import jit
from .transforms.vmap import vmap

__version__ = "0.1.0"

_LAZY = ("nn", "scipy")


def __getattr__(name: str) -> object:
    """Subpackages that are imported when first asked for: `xfront.nn`."""
    if name in _LAZY:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
