"""What programs take from jaxlib by way of private modules of JAX."""

from ..arrays.binding import ArrayImpl, Device, DeviceList, PjitFunction
from ..arrays.binding import JaxRuntimeError as XlaRuntimeError

__all__ = ["ArrayImpl", "Device", "DeviceList", "PjitFunction", "XlaRuntimeError"]
