"""Names of jaxlib that programs import from private modules of JAX."""

from typing import Any

from ..binding import ArrayImpl, Device, DeviceList, PjitFunction, extension_version
from ..binding import JaxRuntimeError as XlaRuntimeError


def __getattr__(name: str) -> Any:
    """The number of jaxlib's C++ interface; jaxlib has it in a module that takes time to load."""
    if name != "jaxlib_extension_version":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = extension_version()
    return found


__all__ = ["ArrayImpl", "Device", "DeviceList", "PjitFunction", "XlaRuntimeError"]
