"""xfront: numeric programs for CPU, GPU and TPU, traced into a typed IR and compiled by XLA."""

from __future__ import annotations

from typing import Any

from . import debug, dtypes, errors, lax, numpy, random, tree, tree_util
from .arrays import methods as _methods
from .arrays import operators as _operators
from .arrays.binding import Array, Device
from .callbacks import pure_callback
from .config import (
    allow_f16_reductions,
    array_garbage_collection_guard,
    auto_pcast,
    check_tracer_leaks,
    checking_leaks,
    config,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    legacy_prng_key,
    log_compiles,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    remove_size_one_mesh_axis_from_type,
    softmax_custom_jvp,
    thread_guard,
    threefry_partitionable,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
    while_checkpoint_bytes,
    while_checkpoints,
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
    host_count,
    host_id,
    host_ids,
    live_arrays,
    local_device_count,
    local_devices,
    print_environment_info,
    process_count,
    process_index,
    process_indices,
)
from .dtypes import float0
from .naming import named_call, named_scope
from .stages import ShapeDtypeStruct, eval_shape, make_ir, make_jaxpr, typeof
from .tracing.concrete import ensure_compile_time_eval
from .transforms.autodiff import (
    fwd_and_bwd,
    grad,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from .transforms.checkpoint import checkpoint, checkpoint_policies, remat
from .transforms.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
from .transforms.from_ir import from_ir
from .transforms.jacobians import hessian, jacfwd, jacobian, jacrev
from .transforms.jit import jit
from .transforms.vmap import vmap

__version__ = "0.1.0"

_LAZY = ("ad_checkpoint", "core", "custom_batching", "custom_derivatives", "experimental", "extend",
         "nn", "scipy", "test_util")


def __getattr__(name: str) -> Any:
    """Subpackages that are imported when first asked for: `xfront.nn`."""
    if name in _LAZY:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
