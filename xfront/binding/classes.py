"""jaxlib's classes under the names that xfront uses, and the guard against the real jax."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read once, by the first jaxlib extension

import jaxlib._jax as cpp

from .beside import install_finder, refuse_beside_jax

refuse_beside_jax(cpp.ArrayImpl)
install_finder()

if TYPE_CHECKING:
    from .array_class import Array as Array
    from .placement_classes import Device, NamedSharding, Sharding, SingleDeviceSharding
else:
    Array = cpp.Array
    Device = cpp.Device
    NamedSharding = cpp.NamedSharding
    Sharding = cpp.Sharding
    SingleDeviceSharding = cpp.SingleDeviceSharding
ArrayImpl = cpp.ArrayImpl
Config = cpp.config.Config
DeviceList = cpp.DeviceList
GSPMDSharding = cpp.GSPMDSharding
JaxRuntimeError = cpp.JaxRuntimeError
PjitFunction = cpp.PjitFunction
pytree = cpp.pytree
trace_context: Callable[[], tuple] = cpp.config.trace_context


def extension_version() -> int:
    """The number of the interface of jaxlib's C++ extension, which rises with changes of it."""
    from jaxlib import xla_client  # late: few programs ask

    return xla_client._version  # type: ignore[attr-defined]


def jaxlib_version() -> str:
    """The version of the jaxlib in use."""
    import jaxlib.version

    return jaxlib.version.__version__


def _let_go(*_: object) -> None:
    """Free the objects that C++ has dropped without the interpreter's lock and still keeps."""
    cpp.collect_garbage()


gc.callbacks.append(_let_go)


def hlo() -> Any:
    """jaxlib's module of XLA's shardings."""
    import jaxlib._hlo as found  # only programs of several devices need it

    return found


def op_sharding_type() -> Any:
    """The kinds of XLA's shardings."""
    return hlo().OpSharding.Type


def install_on(cls: type, surface: Mapping[str, Any]) -> None:
    """Attach attributes to one of jaxlib's classes."""
    for name, value in surface.items():
        setattr(cls, name, value)


def install(surface: Mapping[str, Any]) -> None:
    """Attach methods and properties to the array class; later ones replace earlier ones."""
    install_on(ArrayImpl, surface)


def _of_class(cls: type, name: str) -> Any:
    """The value of `Array.<name>`, read on the class: that of the class of arrays."""
    if cls is Array and hasattr(ArrayImpl, name):
        return getattr(ArrayImpl, name)
    raise AttributeError(f"type object '{cls.__qualname__}' has no attribute {name!r}")


type(Array).__getattr__ = _of_class  # type: ignore[attr-defined]
Array.__module__, Array.__qualname__ = "xfront", "Array"
Array.__doc__ = """The type of arrays, and of tracers that stand for them, for `isinstance`.

>>> isinstance(jnp.arange(3), xfront.Array), isinstance(np.arange(3), xfront.Array)
(True, False)
"""
