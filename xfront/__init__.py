"""xfront: numeric programs for CPU, GPU and TPU, traced into a typed IR and compiled by XLA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tracing.collector import collector_paused as _collector_paused

with _collector_paused():
    from . import (
        dtypes as dtypes,
    )
    from . import (
        errors as errors,
    )
    from . import (
        numpy as numpy,
    )
    from . import (
        tree_util as tree_util,
    )
    from .arrays import methods as _methods
    from .arrays import operators as _operators
    from .arrays.binding import (
        Array as Array,
    )
    from .arrays.binding import (
        Device as Device,
    )
    from .config import (
        allow_f16_reductions as allow_f16_reductions,
    )
    from .config import (
        array_garbage_collection_guard as array_garbage_collection_guard,
    )
    from .config import (
        auto_pcast as auto_pcast,
    )
    from .config import (
        check_tracer_leaks as check_tracer_leaks,
    )
    from .config import (
        checking_leaks as checking_leaks,
    )
    from .config import (
        config as config,
    )
    from .config import (
        debug_infs as debug_infs,
    )
    from .config import (
        debug_key_reuse as debug_key_reuse,
    )
    from .config import (
        debug_nans as debug_nans,
    )
    from .config import (
        default_device as default_device,
    )
    from .config import (
        default_matmul_precision as default_matmul_precision,
    )
    from .config import (
        default_prng_impl as default_prng_impl,
    )
    from .config import (
        disable_jit as disable_jit,
    )
    from .config import (
        enable_checks as enable_checks,
    )
    from .config import (
        enable_custom_prng as enable_custom_prng,
    )
    from .config import (
        enable_x64 as enable_x64,
    )
    from .config import (
        explain_cache_misses as explain_cache_misses,
    )
    from .config import (
        legacy_prng_key as legacy_prng_key,
    )
    from .config import (
        log_compiles as log_compiles,
    )
    from .config import (
        no_execution as no_execution,
    )
    from .config import (
        no_tracing as no_tracing,
    )
    from .config import (
        numpy_dtype_promotion as numpy_dtype_promotion,
    )
    from .config import (
        numpy_rank_promotion as numpy_rank_promotion,
    )
    from .config import (
        remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type,
    )
    from .config import (
        softmax_custom_jvp as softmax_custom_jvp,
    )
    from .config import (
        thread_guard as thread_guard,
    )
    from .config import (
        threefry_partitionable as threefry_partitionable,
    )
    from .config import (
        transfer_guard as transfer_guard,
    )
    from .config import (
        transfer_guard_device_to_device as transfer_guard_device_to_device,
    )
    from .config import (
        transfer_guard_device_to_host as transfer_guard_device_to_host,
    )
    from .config import (
        transfer_guard_host_to_device as transfer_guard_host_to_device,
    )
    from .config import (
        while_checkpoint_bytes as while_checkpoint_bytes,
    )
    from .config import (
        while_checkpoints as while_checkpoints,
    )
    from .devices import (
        block_until_ready as block_until_ready,
    )
    from .devices import (
        clear_caches as clear_caches,
    )
    from .devices import (
        copy_to_host_async as copy_to_host_async,
    )
    from .devices import (
        default_backend as default_backend,
    )
    from .devices import (
        device_count as device_count,
    )
    from .devices import (
        device_get as device_get,
    )
    from .devices import (
        device_put as device_put,
    )
    from .devices import (
        devices as devices,
    )
    from .devices import (
        effects_barrier as effects_barrier,
    )
    from .devices import (
        host_count as host_count,
    )
    from .devices import (
        host_id as host_id,
    )
    from .devices import (
        host_ids as host_ids,
    )
    from .devices import (
        live_arrays as live_arrays,
    )
    from .devices import (
        local_device_count as local_device_count,
    )
    from .devices import (
        local_devices as local_devices,
    )
    from .devices import (
        print_environment_info as print_environment_info,
    )
    from .devices import (
        process_count as process_count,
    )
    from .devices import (
        process_index as process_index,
    )
    from .devices import (
        process_indices as process_indices,
    )
    from .dtypes import float0 as float0
    from .on_demand import on_demand as _on_demand
    from .transforms.jit import jit as jit

if TYPE_CHECKING:
    from . import (
        ad_checkpoint as ad_checkpoint,
    )
    from . import (
        api_util as api_util,
    )
    from . import (
        core as core,
    )
    from . import (
        custom_batching as custom_batching,
    )
    from . import (
        custom_derivatives as custom_derivatives,
    )
    from . import (
        debug as debug,
    )
    from . import (
        dlpack as dlpack,
    )
    from . import (
        example_libraries as example_libraries,
    )
    from . import (
        experimental as experimental,
    )
    from . import (
        extend as extend,
    )
    from . import (
        flatten_util as flatten_util,
    )
    from . import (
        image as image,
    )
    from . import (
        interpreters as interpreters,
    )
    from . import (
        lax as lax,
    )
    from . import (
        monitoring as monitoring,
    )
    from . import (
        nn as nn,
    )
    from . import (
        ops as ops,
    )
    from . import (
        random as random,
    )
    from . import (
        ref as ref,
    )
    from . import (
        scipy as scipy,
    )
    from . import (
        sharding as sharding,
    )
    from . import (
        stages as stages,
    )
    from . import (
        test_util as test_util,
    )
    from . import (
        tree as tree,
    )
    from . import (
        typing as typing,
    )
    from .callbacks import pure_callback as pure_callback
    from .dropin.finder import install_as_jax as install_as_jax
    from .fencing import fence as fence
    from .naming import (
        named_call as named_call,
    )
    from .naming import (
        named_scope as named_scope,
    )
    from .ref import (
        Ref as Ref,
    )
    from .ref import (
        freeze as freeze,
    )
    from .ref import (
        new_ref as new_ref,
    )
    from .sharding.assembly import (
        make_array_from_callback as make_array_from_callback,
    )
    from .sharding.assembly import (
        make_array_from_process_local_data as make_array_from_process_local_data,
    )
    from .sharding.assembly import (
        make_array_from_single_device_arrays as make_array_from_single_device_arrays,
    )
    from .sharding.context import set_mesh as set_mesh
    from .sharding.mesh import make_mesh as make_mesh
    from .sharding.modes import reshard as reshard
    from .sharding.named import NamedSharding as NamedSharding
    from .sharding.partition_spec import P as P
    from .stages import (
        ShapeDtypeStruct as ShapeDtypeStruct,
    )
    from .stages import (
        eval_shape as eval_shape,
    )
    from .stages import (
        make_ir as make_ir,
    )
    from .stages import (
        make_jaxpr as make_jaxpr,
    )
    from .stages import (
        typeof as typeof,
    )
    from .tracing.concrete import ensure_compile_time_eval as ensure_compile_time_eval
    from .transforms.autodiff import (
        fwd_and_bwd as fwd_and_bwd,
    )
    from .transforms.autodiff import (
        grad as grad,
    )
    from .transforms.autodiff import (
        jvp as jvp,
    )
    from .transforms.autodiff import (
        linear_transpose as linear_transpose,
    )
    from .transforms.autodiff import (
        linearize as linearize,
    )
    from .transforms.autodiff import (
        value_and_grad as value_and_grad,
    )
    from .transforms.autodiff import (
        vjp as vjp,
    )
    from .transforms.checkpoint import (
        checkpoint as checkpoint,
    )
    from .transforms.checkpoint import (
        checkpoint_policies as checkpoint_policies,
    )
    from .transforms.checkpoint import (
        remat as remat,
    )
    from .transforms.custom import (
        closure_convert as closure_convert,
    )
    from .transforms.custom import (
        custom_gradient as custom_gradient,
    )
    from .transforms.custom import (
        custom_jvp as custom_jvp,
    )
    from .transforms.custom import (
        custom_vjp as custom_vjp,
    )
    from .transforms.from_ir import from_ir as from_ir
    from .transforms.jacobians import (
        hessian as hessian,
    )
    from .transforms.jacobians import (
        jacfwd as jacfwd,
    )
    from .transforms.jacobians import (
        jacobian as jacobian,
    )
    from .transforms.jacobians import (
        jacrev as jacrev,
    )
    from .transforms.pmap import pmap as pmap
    from .transforms.shard_map import (
        shard_map as shard_map,
    )
    from .transforms.shard_map import (
        smap as smap,
    )
    from .transforms.vmap import vmap as vmap

__version__ = "0.1.0"

_FAMILIES = {
    "callbacks": "pure_callback",
    "dropin.finder": "install_as_jax",
    "fencing": "fence",
    "naming": "named_call named_scope",
    "ref": "Ref freeze new_ref",
    "sharding.assembly": "make_array_from_callback make_array_from_process_local_data "
                         "make_array_from_single_device_arrays",
    "sharding.context": "set_mesh",
    "sharding.mesh": "make_mesh",
    "sharding.modes": "reshard",
    "sharding.named": "NamedSharding",
    "sharding.partition_spec": "P",
    "stages": "ShapeDtypeStruct eval_shape make_ir make_jaxpr typeof",
    "tracing.concrete": "ensure_compile_time_eval",
    "transforms.autodiff": "fwd_and_bwd grad jvp linear_transpose linearize value_and_grad vjp",
    "transforms.checkpoint": "checkpoint checkpoint_policies remat",
    "transforms.custom": "closure_convert custom_gradient custom_jvp custom_vjp",
    "transforms.from_ir": "from_ir",
    "transforms.jacobians": "hessian jacfwd jacobian jacrev",
    "transforms.chunks": "vmap",
    "transforms.pmap": "pmap",
    "transforms.shard_map": "shard_map smap",
}

_SUBMODULES = (
    "ad_checkpoint", "api_util", "core", "custom_batching", "custom_derivatives", "debug",
    "dlpack", "dtypes", "errors", "example_libraries", "experimental", "extend", "flatten_util",
    "image", "interpreters", "lax", "monitoring", "nn", "numpy", "ops", "random", "ref",
    "scipy", "sharding", "stages", "test_util", "tree", "tree_util", "typing",
)

_names, __getattr__, __dir__ = _on_demand(__name__, _FAMILIES, _SUBMODULES)
