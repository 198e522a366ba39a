"""Names of jaxlib that programs import from private modules of JAX."""

from ..arrays.binding import ArrayImpl, Device, DeviceList, PjitFunction
from ..arrays.binding import JaxRuntimeError as XlaRuntimeError

__all__ = ["ArrayImpl", "Device", "DeviceList", "PjitFunction", "XlaRuntimeError"]
