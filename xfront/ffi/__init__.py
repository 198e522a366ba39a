"""Calls of compiled functions by name: XLA's foreign function interface.

A function in C or C++, compiled against the headers in `include_dir()`, is registered under a name
and called from traced programs:

    library = ctypes.CDLL("./libscale.so")
    ffi.register_ffi_target("scale", ffi.pycapsule(library.Scale), platform="cpu")
    ffi.ffi_call("scale", xfront.ShapeDtypeStruct(x.shape, x.dtype))(x, factor=np.float32(2))
"""

from ..base.on_demand import shown as _shown
from .calls import (
    build_ffi_lowering_function,
    ffi_call,
    ffi_lowering,
    include_dir,
    pycapsule,
    register_ffi_target,
    register_ffi_target_as_batch_partitionable,
    register_ffi_type,
    register_ffi_type_id,
)

__all__ = [
    "build_ffi_lowering_function", "ffi_call", "ffi_lowering", "include_dir", "pycapsule",
    "register_ffi_target", "register_ffi_target_as_batch_partitionable", "register_ffi_type",
    "register_ffi_type_id",
]  # fmt: skip
__dir__ = _shown(globals())
