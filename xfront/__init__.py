"""xfront: numeric programs for CPU, GPU and TPU, traced into a typed IR and compiled by XLA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base.collector import collector_paused as _collector_paused

with _collector_paused():
    from . import dtypes, errors, numpy, tree_util
    from .base.config import (
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
    from .base.dtypes import float0
    from .base.on_demand import offer as _offer
    from .base.on_demand import on_demand as _on_demand
    from .binding import Array, Device
    from .eager.devices import (
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
    from .methods import of_arrays as _methods
    from .methods import operators as _operators
    from .transforms.jit import jit

# What files below these modules ask for by `above`.
_offer(__name__, {
    "binding": "jaxpr.binding", "chunks": "composed.chunks", "creation": "numpy.creation",
    "numpy": "numpy", "own": "jaxpr.own", "precision": "lax.precision",
    "sparse_arithmetic": "experimental.sparse.arithmetic",
    "sparse_moving": "experimental.sparse.moving",
    "sparse_products": "experimental.sparse.products", "views": "jaxpr.views",
})

if TYPE_CHECKING:
    from . import (
        ad_checkpoint,
        api_util,
        core,
        custom_batching,
        custom_derivatives,
        debug,
        distributed,
        dlpack,
        example_libraries,
        experimental,
        export,
        extend,
        interpreters,
        lax,
        memory,
        nn,
        random,
        scipy,
        sharding,
        tree,
        typing,
    )
    from .base import monitoring
    from .binding.partition_spec import P
    from .composed.jacobians import hessian, jacfwd, jacobian, jacrev
    from .debug import gradients as test_util
    from .dropin.finder import install_as_jax
    from .eager.fence_call import fence
    from .ffi import calls as ffi
    from .image import resizing as image
    from .lax.callbacks import pure_callback
    from .numpy.slices import ds
    from .ops import segments as ops
    from .profiler import sessions as profiler
    from .ref import references as ref
    from .ref.references import Ref, empty_ref, free_ref, freeze, new_ref
    from .running.concrete import ensure_compile_time_eval
    from .sharding.assembly import (
        make_array_from_callback,
        make_array_from_process_local_data,
        make_array_from_single_device_arrays,
    )
    from .sharding.context import get_abstract_mesh, get_mesh, set_mesh, use_abstract_mesh
    from .sharding.mesh import make_mesh
    from .sharding.named import NamedSharding
    from .tracing.naming import named_call, named_scope
    from .transforms import raveling as flatten_util
    from .transforms import stages
    from .transforms.autodiff import (
        fwd_and_bwd,
        grad,
        jvp,
        linear_transpose,
        linearize,
        value_and_grad,
        vjp,
    )
    from .transforms.axis_modes import reshard
    from .transforms.checkpoint import checkpoint, checkpoint_policies, remat
    from .transforms.custom_jvp import custom_jvp
    from .transforms.custom_vjp import closure_convert, custom_gradient, custom_vjp
    from .transforms.effort import CompilerEffortLevel, Inline
    from .transforms.from_ir import from_ir
    from .transforms.inspection import eval_shape, make_ir, make_jaxpr, typeof
    from .transforms.pmap import pmap
    from .transforms.shard_map import shard_map, smap
    from .transforms.structs import ShapeDtypeStruct
    from .transforms.vmap import vmap
    from .values.shards import Shard

    __all__ = [  # the names of this package for type checkers
        "Array", "CompilerEffortLevel", "Device", "Inline", "NamedSharding", "P", "Ref",
        "ShapeDtypeStruct", "Shard",
        "ad_checkpoint",
        "allow_f16_reductions", "api_util", "array_garbage_collection_guard", "auto_pcast",
        "block_until_ready", "check_tracer_leaks", "checking_leaks", "checkpoint",
        "checkpoint_policies", "clear_caches", "closure_convert", "config",
        "copy_to_host_async", "core", "custom_batching", "custom_derivatives",
        "custom_gradient", "custom_jvp", "custom_vjp", "debug", "debug_infs", "debug_key_reuse",
        "debug_nans", "default_backend", "default_device", "default_matmul_precision",
        "default_prng_impl", "device_count", "device_get", "device_put", "devices",
        "disable_jit", "distributed", "dlpack", "ds", "dtypes", "effects_barrier", "empty_ref",
        "enable_checks",
        "enable_custom_prng", "enable_x64", "ensure_compile_time_eval", "errors", "eval_shape",
        "example_libraries", "experimental", "explain_cache_misses", "export", "extend", "fence",
        "ffi",
        "flatten_util", "float0", "free_ref", "freeze", "from_ir", "fwd_and_bwd",
        "get_abstract_mesh", "get_mesh", "grad", "hessian",
        "host_count", "host_id", "host_ids", "image", "install_as_jax", "interpreters",
        "jacfwd", "jacobian", "jacrev", "jit", "jvp", "lax", "legacy_prng_key",
        "linear_transpose", "linearize", "live_arrays", "local_device_count", "local_devices",
        "log_compiles", "make_array_from_callback", "make_array_from_process_local_data",
        "make_array_from_single_device_arrays", "make_ir", "make_jaxpr", "make_mesh",
        "memory", "monitoring", "named_call", "named_scope", "new_ref", "nn", "no_execution",
        "no_tracing", "numpy", "numpy_dtype_promotion", "numpy_rank_promotion", "ops", "pmap",
        "print_environment_info", "process_count", "process_index", "process_indices",
        "profiler",
        "pure_callback", "random", "ref", "remat", "remove_size_one_mesh_axis_from_type",
        "reshard", "scipy", "set_mesh", "shard_map", "sharding", "smap", "softmax_custom_jvp",
        "stages", "test_util", "thread_guard", "threefry_partitionable", "transfer_guard",
        "transfer_guard_device_to_device", "transfer_guard_device_to_host",
        "transfer_guard_host_to_device", "tree", "tree_util", "typeof", "typing",
        "use_abstract_mesh", "value_and_grad", "vjp", "vmap", "while_checkpoint_bytes",
        "while_checkpoints",
    ]  # fmt: skip

__version__ = "0.1.0"

_FAMILIES = {
    "base.user_context": "make_user_context",
    "composed.jacobians": "hessian jacfwd jacobian jacrev",
    "dropin.finder": "install_as_jax",
    "eager.fence_call": "fence",
    "lax.callbacks": "pure_callback",
    "numpy.slices": "ds",
    "ref": "Ref empty_ref free_ref freeze new_ref",
    "running.concrete": "ensure_compile_time_eval",
    "sharding.assembly": "make_array_from_callback make_array_from_process_local_data "
                         "make_array_from_single_device_arrays",
    "sharding.context": "get_abstract_mesh get_mesh set_mesh use_abstract_mesh",
    "sharding.mesh": "make_mesh",
    "sharding.named": "NamedSharding",
    "binding.partition_spec": "P",
    "tracing.naming": "named_call named_scope",
    "transforms.autodiff": "fwd_and_bwd grad jvp linear_transpose linearize value_and_grad vjp",
    "transforms.axis_modes": "reshard",
    "transforms.checkpoint": "checkpoint checkpoint_policies remat",
    "transforms.custom_jvp": "custom_jvp",
    "transforms.custom_vjp": "closure_convert custom_gradient custom_vjp",
    "transforms.effort": "CompilerEffortLevel Inline",
    "transforms.from_ir": "from_ir",
    "transforms.pmap": "pmap",
    "transforms.shard_map": "shard_map smap",
    "transforms.inspection": "eval_shape make_ir make_jaxpr typeof",
    "transforms.structs": "ShapeDtypeStruct",
    "transforms.vmap": "vmap",
    "values.shards": "Shard",
}

_SUBMODULES = (
    "ad_checkpoint", "api_util", "core", "custom_batching", "custom_derivatives", "debug",
    "distributed", "dlpack", "dtypes", "errors", "example_libraries", "experimental", "export",
    "extend", "ffi", "flatten_util", "image", "interpreters", "lax", "memory", "monitoring", "nn",
    "numpy", "ops", "profiler", "random", "ref", "scipy", "sharding", "stages", "test_util", "tree",
    "tree_util", "typing",
)

_names, __getattr__, __dir__ = _on_demand(__name__, _FAMILIES, _SUBMODULES)
