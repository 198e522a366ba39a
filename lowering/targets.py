"""Functions of compiled code that programs call by name: their registration with XLA, and checks
that a name is registered.

XLA looks a function up by its name when a program is compiled, and when one is loaded from disk. So
a program on disk holds the name alone, and works in a process only if the name is registered there
(`requirement`, `is_met`).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import Any

import jaxlib._jax as jax_extension

from .attributes import utf8

PLATFORMS = {"cpu": "Host", "Host": "Host", "cuda": "CUDA", "CUDA": "CUDA", "gpu": "CUDA",
             "rocm": "ROCM", "ROCM": "ROCM"}
"""XLA's names of the platforms that have functions by name."""

STAGES = ("instantiate", "prepare", "initialize", "execute")
_HOST_CALLS = ("xla_ffi_python_cpu_callback", "xla_buffer_python_cpu_callback",
               "xla_ffi_partitioned_python_cpu_callback", "xla_ffi_python_gpu_callback",
               "xla_ffi_partitioned_python_gpu_callback", "xla_buffer_python_gpu_callback")
"""Targets that are given the number of a Python function; a wrong one ends the process."""

_UNTYPED: dict[tuple[str, str], int] = {}
"""Addresses of the functions without types, by platform and name: XLA does not list them."""

_WAITING: dict[str, list[Any]] = {}
_OPEN: dict[str, Any] = {}
"""By platform: what is to be registered when its plugin is loaded, and the plugin."""


def include_dir() -> str:
    """The folder of the header files of XLA's interface."""
    import jaxlib

    return os.path.join(os.path.dirname(os.path.abspath(jaxlib.__file__)), "include")


# --- capsules -----------------------------------------------------------------------------

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)

CAPSULE = type(_new(1, None, None))
_FUNCTION = type(_new).__mro__[1]                # the class of any library's functions


def capsule(function: Any) -> Any:
    """A capsule of a function of `ctypes`. Raises: TypeError for anything else; ValueError for
    NULL."""
    if not isinstance(function, _FUNCTION):
        raise TypeError("pycapsule: expected a function of a library that ctypes loaded, got "
                        f"{function!r}")
    address = ctypes.cast(function, ctypes.c_void_p).value
    if not address:
        raise ValueError("pycapsule: the function's address is NULL")
    return _new(address, None, None)


def _checked(what: str, found: Any) -> Any:
    if type(found) is not CAPSULE:
        raise TypeError(f"{what} must be a PyCapsule of a function's address, got {found!r}; "
                        "pycapsule makes one of a function of ctypes")
    return found


# --- registering --------------------------------------------------------------------------

def check_name(what: str, name: Any) -> None:
    """Raise TypeError where a name is no string or empty, ValueError where UTF-8 cannot hold it."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"{what} must be a string, got {name!r}")
    utf8(name, what)


def _platform(name: str) -> str:
    found = PLATFORMS.get(name)
    if found is None:
        raise ValueError(f"platform must be one of {', '.join(map(repr, PLATFORMS))}, got {name!r}")
    return found


def register(name: str, fn: Any, platform: str, api_version: int, traits: int = 0) -> None:
    """Register a function under a name.

    Args:
      fn: a capsule, or a dict of capsules by stage (`STAGES`).
      api_version: 1 for XLA's interface with types, 0 for the one without.
      traits: numbers that XLA defines.
    Raises: TypeError, ValueError; JaxRuntimeError where XLA refuses, as for a second function under
      a name.
    """
    where = _platform(platform)
    check_name("register_ffi_target: name", name)
    if api_version not in (0, 1):
        raise ValueError("register_ffi_target: api_version must be 1, or 0 for a function without "
                         f"types, got {api_version!r}")
    if isinstance(fn, dict):
        if api_version == 0 or "execute" not in fn or not set(fn) <= set(STAGES):
            raise ValueError(
                f"register_ffi_target: a dict must have the stage 'execute' and may have "
                f"{', '.join(map(repr, STAGES[:3]))}, with api_version 1; got {[*fn]} for "
                f"{name!r} with api_version {api_version}")
        for stage, found in fn.items():
            _checked(f"register_ffi_target: the stage {stage!r}", found)
    else:
        _checked("register_ffi_target: fn", fn)
    if api_version == 0:
        address = _pointer(fn, _name_of(fn))
        if _UNTYPED.setdefault((where, name), address) != address:
            raise ValueError(f"register_ffi_target: another function is registered under {name!r}")
    _enter(where, "register_custom_call_target", name, fn, where, api_version, traits)


def register_type(name: str, registration: Any, platform: str) -> None:
    """Register the type of a state: a dict with the capsules `type_id` and `type_info`."""
    where = _platform(platform)
    check_name("register_ffi_type: name", name)
    if not isinstance(registration, Mapping) or "type_id" not in registration or not (
            set(registration) <= {"type_id", "type_info"}):
        raise TypeError("register_ffi_type: type_registration must be a dict with the capsules "
                        f"'type_id' and, if need be, 'type_info', got {registration!r}")
    for key, found in registration.items():
        _checked(f"register_ffi_type: {key!r}", found)
    _enter(where, "register_custom_type", name, dict(registration))


def _enter(where: str, function: str, *args: Any) -> None:
    """Call a function of jaxlib, or of the platform's plugin once it is loaded."""
    if where == "Host":
        getattr(jax_extension, function)(*args)
    elif where in _OPEN:
        extension, c_api = _OPEN[where]
        getattr(extension, function)(c_api, *args)
    else:
        _WAITING.setdefault(where, []).append((function, args))


def plugin_loaded(where: str, extension: Any, c_api: Any) -> None:
    """Register the functions that waited until the plugin of their platform was loaded."""
    _OPEN[where] = extension, c_api
    for function, args in _WAITING.pop(where, ()):
        _enter(where, function, *args)
    for name in _BY_BATCH:
        jax_extension.register_custom_call_as_batch_partitionable(name, c_api=c_api)


_BY_BATCH: dict[str, None] = {}


def register_as_batch_partitionable(name: str) -> None:
    """Tell XLA that devices may call the function each for its part of the leading axes."""
    check_name("register_ffi_target_as_batch_partitionable: name", name)
    if name in _BY_BATCH:
        return
    _BY_BATCH[name] = None
    jax_extension.register_custom_call_as_batch_partitionable(name)
    for _, c_api in _OPEN.values():
        jax_extension.register_custom_call_as_batch_partitionable(name, c_api=c_api)


# --- what a program needs -----------------------------------------------------------------

def requirement(platform: str, target: str, api: int) -> str:
    """The requirement that must be met before a program with this call is loaded (`compat.meet`).
    Only a plugin knows which names are registered with it, and it reports a missing one itself.

    Raises: ValueError for a target that only the library itself can call.
    """
    if target in _HOST_CALLS:
        raise ValueError(f"ffi_call: {target!r} calls a Python function by a number; write "
                         "pure_callback, which knows the number")
    if platform == "cpu" and api == 4 and target.endswith("_ffi"):
        from jaxlib import cpu_sparse, lapack

        for what, module in (("lapack", lapack), ("sparse", cpu_sparse)):
            if any([target == name for name, *_ in module.registrations()["cpu"]]):
                return what
    kind = "plugin" if platform != "cpu" else "typed" if api == 4 else "untyped"
    return f"{kind}{_BATCH if target in _BY_BATCH else ''}:{target}"


_BATCH = "+batch"
"""Marks in a requirement a function that devices call for parts: a program that divides such a call
is for processes that registered it so."""


def is_met(requirement: str) -> bool:
    """Whether the function of a requirement is registered, and as batch partitionable or not."""
    kind, _, name = requirement.partition(":")
    if kind.endswith(_BATCH) is not (name in _BY_BATCH):
        return False
    kind = kind.removesuffix(_BATCH)
    if kind == "untyped":
        return ("Host", name) in _UNTYPED
    return kind == "plugin" or (
        kind == "typed" and name in jax_extension.custom_call_targets("Host"))


def refuse_missing(requirements: list[str]) -> None:
    """Raise a JaxRuntimeError that names a function that is not registered."""
    for what in requirements:
        kind, _, name = what.partition(":")
        if name and not is_met(what):
            raise jax_extension.JaxRuntimeError(
                f"NOT_FOUND: no function is registered under the name {name!r} for platform cpu; "
                "call register_ffi_target before the program is compiled"
                + (", with api_version=0" if kind.startswith("untyped") else ""))
