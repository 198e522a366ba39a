"""The only folder of this package that uses jaxlib.

It has the process-wide states that jaxlib's C++ needs, the guard against the real jax, placement on
one device, arrays to and from NumPy, compiled front doors (`make_pjit`) and the hooks that attach
methods to jaxlib's classes. Differences between jaxlib's versions are found here, by features.
`lowering.clients` makes clients, on first use.
"""

from .abstract import AbstractArray
from .buffers import (
    WEAK_SCALARS,
    begins_with,
    canonical_dtype,
    copy_array,
    deleted_error,
    device_arrays,
    holds_terms,
    host_array,
    moved_between_processes,
    of_processes,
    put,
    put_computed,
    put_copy,
    put_explicitly,
    put_parts,
    put_sharded,
    refuse_mask,
    result_handler,
    rewrap,
    scalar_dtype,
    sharding_of,
    to_numpy,
    wait,
)
from .classes import (
    Array,
    ArrayImpl,
    Config,
    Device,
    DeviceList,
    GSPMDSharding,
    JaxRuntimeError,
    NamedSharding,
    PjitFunction,
    Sharding,
    SingleDeviceSharding,
    extension_version,
    hlo,
    install,
    install_on,
    jaxlib_version,
    op_sharding_type,
    pytree,
    trace_context,
)
from .default_client import (
    check_pspec,
    client,
    default_device,
    default_sharding,
    prime,
    prime_specs,
    set_check_pspec,
)
from .dlpack import (
    from_dlpack,
    to_dlpack,
)
from .pjit import (
    FastPath,
    clear_pjit_caches,
    dispatch_registry,
    fastpath,
    give_stages,
    make_pjit,
    make_registry,
    pjit_cache,
    weakly_referenced,
)
from .single_device import (
    single_device_sharding,
)
from .states import (
    TRACE_STATES,
    asked_for,
    default_device_state,
    disable_jit_state,
    guarded,
    guards,
    make_state,
    mesh_state,
    post_hook_state,
    set_garbage_guard,
    set_transfer_guard,
    x64_state,
)
