"""What programs take from jaxlib by way of private modules of JAX."""

from ..arrays.binding import ArrayImpl, Device, DeviceList, PjitFunction
from ..arrays.binding import JaxRuntimeError as XlaRuntimeError
from ..arrays.binding import Traceback

__all__ = ["ArrayImpl", "Device", "DeviceList", "PjitFunction", "Traceback", "XlaRuntimeError"]
