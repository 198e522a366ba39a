"""Options without effect, which programs may set.

An option in `REFUSED` would change values, errors, placement or compiled programs: any value but
the default raises, and the text says what to do instead. An option in `IDLE` would change nothing
of this kind: any value of the default's type is accepted, and the text says why it has no effect.
Options with an effect are in `base/config.py`; docs/options.md lists all.
"""

from __future__ import annotations

from typing import Any

NO_TRANSFERS = "arrays move between processes by programs, as XLA's collectives do"
NO_ENCRYPTION = "what processes say to one another is not encrypted here: keep it in one network"
NO_PALLAS = "there is no Pallas here"
NO_EXPORT = "exported programs have one calling convention and one format; xfront.export says which"
NO_JAX2TF = "there is no jax2tf here"

REFUSED: dict[str, tuple[Any, str]] = {
    "check_vma": (False, "the argument check_vma of shard_map says it"),
    "eager_constant_folding": (False, "passes fold constants when a program is compiled"),
    "jax_accurate_erf_inv": (False, "erf_inv has one form here"),
    "jax_allow_f16_reductions": (True, "give sums a wider dtype with `dtype=float32`"),
    "jax_backend_target": ("", "programs run in this process"),
    "jax_compilation_cache_check_contents": (False, "call xfront.clear_caches() and compile under "
                                             "XFRONT_CACHE=0 to compare"),
    "jax_compilation_cache_expect_pgle": (False, "programs are not compiled from profiles"),
    "jax_compilation_cache_include_metadata_in_key": (
        False, "programs that differ only in lines of source are one entry"),
    "jax_custom_jvp3": (False, "custom_jvp has one behaviour here"),
    "jax_custom_vjp3": (False, "custom_vjp has one behaviour here"),
    "jax_custom_vjp_disable_shape_check": (False, "the backward function gives cotangents of the "
                                           "types of the arguments"),
    "jax_default_dtype_bits": ("64", "with jax_enable_x64 off, default dtypes have 32 bits, "
                               "with it on, 64"),
    "jax_disable_bwd_checks": (False, "the backward function gives cotangents of the types of the "
                               "arguments"),
    "jax_disable_vmap_shmap_error": (False, "shard_map has no such error"),
    "jax_distributed_debug": (False, "errors say which process they are about"),
    "jax_enable_pgle": (False, "programs are not compiled from profiles"),
    "jax_error_checking_behavior_divide": ("ignore", "set jax_debug_infs or jax_debug_nans"),
    "jax_error_checking_behavior_nan": ("ignore", "set jax_debug_nans"),
    "jax_error_checking_behavior_oob": ("ignore", "give indexing a mode, such as mode='fill'"),
    "jax_experimental_unsafe_xla_runtime_errors": (
        False, "a check raises by `experimental.checkify`, never from a device"),
    "jax_force_dcn_cross_host_transfers": (False, NO_TRANSFERS),
    "jax_hlo_source_file_canonicalization_regex": (None, "locations hold paths as Python has them"),
    "jax_log_checkpoint_residuals": (False, "ad_checkpoint.print_saved_residuals shows them"),
    "jax_mock_gpu_topology": ("", "programs run on devices that are there"),
    "mock_num_gpu_processes": (0, "programs run on devices that are there"),
    "jax_mtls_ca_file": (None, NO_ENCRYPTION),
    "jax_mtls_cert_file": (None, NO_ENCRYPTION),
    "jax_mtls_key_file": (None, NO_ENCRYPTION),
    "jax_mtls_peer_uri_prefix": (None, NO_ENCRYPTION),
    "jax_distributed_verify_secure_credentials": (False, NO_ENCRYPTION),
    "jax_pallas_enable_debug_checks": (False, NO_PALLAS),
    "jax_pallas_poison_buffers": (False, NO_PALLAS),
    "jax_pjrt_client_create_options": (None, "XLA_FLAGS and the XLA_PYTHON_CLIENT_* variables "
                                       "reach the client"),
    "jax_refs_to_pins": (False, "the content of a reference is an operand of the program"),
    "jax_remat_barrier_no_cotangents": (False, "the barrier of a checkpoint is on its cotangents "
                                        "too; checkpoint(prevent_cse=False) leaves it out"),
    "jax_remove_size_one_mesh_axis_from_type": (
        False, "types name all axes of a mesh; make the mesh without its axes of size 1"),
    "jax_scan3": (False, "scan has one behaviour here"),
    "jax_share_binary_between_hosts": (False, "each process compiles its programs"),
    "jax_threefry_partitionable": (True, "random bits are those of the partitionable generator"),
    "jax_use_hlo_logistic_lowering": (None, "logistic has one form here"),
    "jax_use_magma": ("auto", "MAGMA is not used; eig runs on the CPU"),
    "jax_use_simplified_jaxpr_constants": (False, "what a program captures is an argument of it"),
    "jax_xla_backend": ("", "jax_platforms chooses the platform"),
}

IDLE: dict[str, tuple[Any, str]] = {
    "jax2tf_associative_scan_reductions": (False, NO_JAX2TF),
    "jax2tf_default_native_serialization": (True, NO_JAX2TF),
    "jax_bcoo_cusparse_lowering": (
        False, "products of sparse arrays are dense operations on their parts"),
    "jax_captured_constants_report_frames": (0, "as jax_captured_constants_warn_bytes"),
    "jax_captured_constants_warn_bytes": (
        2_000_000_000, "captured arrays are arguments of programs, never constants in them"),
    "jax_check_proxy_envs": (True, "it is about TPU slices"),
    "jax_compiler_detailed_logging_min_ops": (10, "jax_log_compiles logs programs of every size"),
    "jax_cross_host_transfer_socket_address": ("", NO_TRANSFERS),
    "jax_cross_host_transfer_timeout_seconds": (None, NO_TRANSFERS),
    "jax_cross_host_transfer_transfer_size": (None, NO_TRANSFERS),
    "jax_cross_host_transport_addresses": ("", NO_TRANSFERS),
    "jax_debug_leaked_clients_on_clear_backends": (
        False, "clear_backends leaves clients to the arrays that lie on them"),
    "jax_embedded_constants_max_bytes": (32, "captured arrays are arguments of programs"),
    "jax_export_calling_convention_version": (10, NO_EXPORT),
    "jax_export_deserialize_expired_versions": (False, NO_EXPORT),
    "jax_export_ignore_forward_compatibility": (False, NO_EXPORT),
    "jax_include_debug_info_in_dumps": (True, "what jax_dump_ir_to writes has locations"),
    "jax_include_full_tracebacks_in_locations": (
        True, "a location is one line: the innermost of the user's code"),
    "jax_mosaic_allow_hlo": (False, NO_PALLAS),
    "jax_mosaic_unzip_debug_locations": (True, NO_PALLAS),
    "jax_mutable_array_checks": (True, "references are always checked: none may be given to "
                                 "an operation twice"),
    "jax_oneapi_visible_devices": ("all", "there is no client for oneAPI here"),
    "jax_pallas_auto_assign_collective_ids": ("no", NO_PALLAS),
    "jax_pallas_auto_assign_collective_ids_limit": (25, NO_PALLAS),
    "jax_pallas_use_mosaic_gpu": (True, NO_PALLAS),
    "jax_pallas_verbose_errors": (False, NO_PALLAS),
    "jax_persistent_cache_enable_xla_caches": (
        "xla_gpu_per_fusion_autotune_cache_dir", "XLA's own caches are not kept on disk"),
    "jax_pgle_aggregation_percentile": (90, "read where jax_enable_pgle is on, which is refused"),
    "jax_pgle_profiling_runs": (3, "read where jax_enable_pgle is on, which is refused"),
    "jax_pprint_use_color": (True, "programs print without colours"),
    "jax_ragged_dot_use_gpu_pallas_triton_lowering": (False, NO_PALLAS),
    "jax_ragged_dot_use_ragged_dot_instruction": (
        True, "ragged_dot is made of products that every platform has"),
    "jax_raise_on_ppermute_sort_diff": (True, "ppermute has its pairs in the order given"),
    "jax_remat3": (False, "checkpoint is a pass over the IR, which asks a policy about the "
                   "operations inside of loops, branches and inner checkpoints"),
    "jax_remove_custom_partitioning_ptr_from_cache_key": (False, "there is no custom_partitioning"),
    "jax_send_traceback_to_runtime": ("off", "the runtime gets no tracebacks"),
    "jax_serialization_version": (0, NO_EXPORT),
    "jax_share_binary_between_hosts_timeout_ms": (
        1_200_000, "each process compiles its programs"),
    "jax_softmax_custom_jvp": (True, "softmax has its own derivative, of the same values"),
    "jax_sort_devices_by_process_index": (True, "devices() is in the order of processes"),
    "jax_source_url_schema": (None, "there are no HTML dumps here"),
    "jax_thread_guard": (False, "it guards programs of several processes; threads of one process "
                         "may use the devices at the same time"),
    "jax_threefry_gpu_kernel_lowering": (False, "random bits are computed by the program itself"),
    "jax_traceback_in_locations_limit": (
        100, "a location is one line: the innermost of the user's code"),
    "jax_tracer_error_num_traceback_frames": (
        5, "errors name the line that made a value, not the frames around it"),
    "jax_use_cpp_shard_args": (False, "C++ hands arrays over, on one device and on several"),
    "jax_use_direct_linearize": (True, "linearize is one pass; both give the same"),
    "jax_use_emit_pipeline_primitive": (False, NO_PALLAS),
    "jax_use_rgv3": (True, "collectives list the devices of their groups"),
    "jax_use_shardy_partitioner": (True, "Shardy divides every program on several devices"),
}
