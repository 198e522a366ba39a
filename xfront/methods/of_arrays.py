"""Methods and properties of arrays that need no operation, and the hook for those that do.

They give an array's text, its type and placement, its value for Python and NumPy, copies and
pickles. `install_operations` attaches operators, indexing and NumPy's methods, which are public
functions.
"""
# hot: benchmarks/eager.py

from __future__ import annotations

import enum
import operator
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from .. import binding
from ..binding import ArrayImpl, deleted_error, device_arrays, put, to_numpy
from ..binding.promotion import dtype_kind
from ..binding.tracebacks import shorten
from ..running.rows import rows
from ..values.formats import format_of
from ..values.shards import shards_of

# ---- the text of an array


def _repr(x: ArrayImpl) -> str:
    """`Array([1., 2.], dtype=float32)`, with the weak type. Raises: RuntimeError where it was
    deleted."""
    aval = x.aval
    tail = f"dtype={aval.dtype.name}" + (", weak_type=True)" if aval.weak_type else ")")
    if not _is_readable(x):
        held = f"sharding={x._sharding}, " if binding.holds_terms(x._sharding) else ""
        return f"Array(shape={aval.shape}, {held}{tail}"
    return text_of(to_numpy(x), tail)


def text_of(value: np.ndarray, tail: str) -> str:
    """`Array([1., 2.], tail`, where `tail` ends with the parenthesis."""
    if value.size == 0:
        return f"Array([], shape={value.shape}, {tail}"
    width = np.get_printoptions()["linewidth"]
    text = np.array2string(value, prefix="Array(", suffix=",", separator=", ", max_line_width=width)
    last = len(text) - text.rfind("\n") - 1  # length of the last line, without the prefix
    gap = " " if last + len(tail) + 2 < width else " " * len("Array(")
    return f"Array({text},{gap}{tail}"


def _is_readable(x: ArrayImpl) -> bool:
    """Whether devices of this process hold the whole array."""
    sharding = x._sharding
    return (sharding.is_fully_addressable or sharding.is_fully_replicated) and not (
        binding.holds_terms(sharding))


def _str(x: ArrayImpl) -> str:
    return str(to_numpy(x)) if _is_readable(x) else _repr(x)


def _format(x: ArrayImpl, spec: str) -> str:
    if not _is_readable(x):
        return format(_repr(x), spec)
    value = to_numpy(x)
    return format(value[()] if value.ndim == 0 else value, spec)


# ---- values for Python


def _only_scalar(x: ArrayImpl, wanted: str) -> Any:
    aval = x.aval
    if aval.ndim:
        raise TypeError(
            f"only scalar arrays can be converted to a Python {wanted}, and this one is "
            f"{aval.str_short()}; x.item() reads an array of size 1 of any shape"
        )
    return to_numpy(x)


def _bool(x: ArrayImpl) -> bool:
    size = x.aval.size
    if size != 1:
        if size == 0:
            raise ValueError(
                "The truth value of an empty array is ambiguous: write `x.size > 0` to ask whether "
                "it has elements"
            )
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous: write x.any() or "
            f"x.all(). The array is {x.aval.str_short()}"
        )
    return bool(to_numpy(x).reshape(()))


def _int(x: ArrayImpl) -> int:
    try:
        return int(_only_scalar(x, "int").item())
    except BaseException as error:
        shorten(error)
        raise


def _float(x: ArrayImpl) -> float:
    try:
        return float(_only_scalar(x, "float").item())
    except BaseException as error:
        shorten(error)
        raise


def _complex(x: ArrayImpl) -> complex:
    try:
        return complex(_only_scalar(x, "complex").item())
    except BaseException as error:
        shorten(error)
        raise


def _index(x: ArrayImpl) -> int:
    aval = x.aval
    if aval.ndim or dtype_kind(aval.dtype) not in "iu":
        raise TypeError(
            "only integer scalar arrays can be converted to a scalar index; this one is "
            f"{aval.str_short()}"
        )
    return int(to_numpy(x).item())


def _hex(x: ArrayImpl) -> str:
    return hex(_index(x))


def _oct(x: ArrayImpl) -> str:
    return oct(_index(x))


def _item(x: ArrayImpl, *args: Any) -> Any:
    """An element as a Python scalar: the only one, or the one at a flat or full index.

    Raises: ValueError where there is no index and the size is not 1; IndexError where the index is
      out of range.
    """
    try:
        return to_numpy(x).item(*map(_plain_index, args))
    except BaseException as error:
        shorten(error)
        raise


def _plain_index(index: Any) -> Any:
    return tuple(map(operator.index, index)) if isinstance(index, tuple) else operator.index(index)


def _tolist(x: ArrayImpl) -> Any:
    """The elements as nested lists of Python scalars."""
    try:
        return to_numpy(x).tolist()
    except BaseException as error:
        shorten(error)
        raise


def _tobytes(x: ArrayImpl, order: str = "C") -> bytes:
    """The bytes of the elements, in C order or the given order."""
    return to_numpy(x).tobytes(order)  # type: ignore[arg-type]


def _array(x: ArrayImpl, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """The value as a NumPy array, a read-only view unless a copy is asked for or needed."""
    try:
        value = to_numpy(x)
        if dtype is not None and np.dtype(dtype) != value.dtype:
            if copy is False:
                raise ValueError(f"converting {value.dtype} to {np.dtype(dtype)} needs a copy, but "
                                 "copy=False was given")
            return value.astype(dtype)
        return np.array(value) if copy else value
    except BaseException as error:
        shorten(error)
        raise


def _len(x: ArrayImpl) -> int:
    shape = x.aval.shape
    if not shape:
        raise TypeError("len() of unsized object: the array has no axes")
    return shape[0]


def _iter(x: ArrayImpl) -> Iterator[ArrayImpl]:
    shape = x.aval.shape
    if not shape:
        raise TypeError("iteration over a 0-d array: it has no axes")
    if type(x._sharding) is not binding.SingleDeviceSharding or not (
            x.platform() == "cpu" or x.nbytes < 65536):
        held = x.aval.axes
        if held is not None and held.spec.ndim and held.spec.dims[0]:     # rows are whole
            from ..eager.devices import device_put  # with the first such array

            lying: Any = x._sharding
            x = device_put(x, lying.update(spec=type(lying.spec)(None, *lying.spec[1:])))
        return (x[i] for i in range(shape[0]))
    if binding.guarded:
        allow = binding.guards.TransferGuardLevel.ALLOW    # nobody asked for these transfers
        with binding.asked_for("device_to_host", allow), binding.asked_for("host_to_device", allow):
            return iter(list(rows(x)))
    return rows(x)


def _contains(x: ArrayImpl, key: Any) -> bool:
    return bool((to_numpy(x) == np.asarray(one_value(x, key))).any())


def one_value(x: Any, key: Any) -> Any:
    """`key` of `key in x`. Raises: ValueError where it has axes: which elements are meant?"""
    if np.ndim(key):
        raise ValueError(f"`value in array` asks for one element, but the value has shape "
                         f"{np.shape(key)} and the array {x.shape}; to look for a row write "
                         "(array == row).all(-1).any()")
    return key


def _reversed(x: ArrayImpl) -> Iterator[ArrayImpl]:
    if not x.aval.shape:
        raise TypeError("reversed() of a 0-d array: it has no axes")
    return iter(x[::-1])


def _setitem(x: ArrayImpl, index: Any, value: Any) -> NoReturn:
    raise TypeError(
        "arrays are immutable and do not support item assignment: in place of `x[index] = y` write "
        "`x = x.at[index].set(y)`, in place of `x[index] += y` `x = x.at[index].add(y)`"
    )


def _delitem(x: ArrayImpl, index: Any) -> NoReturn:
    raise TypeError(
        "arrays are immutable and do not support item deletion: `xfront.numpy.delete(x, index, "
        "axis)` returns a new array"
    )


def _array_namespace(x: ArrayImpl, *, api_version: str | None = None) -> Any:
    """The module of functions for arrays, which the array API standard asks for."""
    import xfront.numpy  # late: it imports this file

    known = (None, "2021.12", "2022.12", "2023.12", "2024.12")
    if api_version not in known:
        raise ValueError(f"version {api_version!r} of the array API is not supported; the "
                         f"supported versions are {known[1:]}")
    return xfront.numpy


# ---- copies


def _unpickle(value: np.ndarray, weak: bool) -> ArrayImpl:
    return put(value, weak=weak)


def _reduce(x: ArrayImpl) -> tuple:
    value = to_numpy(x)
    return _unpickle, (np.array(value), x.aval.weak_type)


def _copy(x: ArrayImpl) -> ArrayImpl:
    if x.is_deleted():
        raise deleted_error(x)
    return binding.copy_array(x)


def _deepcopy(x: ArrayImpl, memo: dict | None) -> ArrayImpl:
    return _copy(x)


# ---- the placement of an array


def _addressable_data(x: ArrayImpl, index: int) -> ArrayImpl:
    """The part of the array on the device number `index` among those of this process."""
    if x.is_deleted():
        raise deleted_error(x)
    return device_arrays(x)[index]


def _device(x: ArrayImpl) -> Any:
    """The device of an array on one device; the sharding of an array on several."""
    sharding = x._sharding
    return next(iter(sharding.device_set)) if sharding.num_devices == 1 else sharding


def _devices(x: ArrayImpl) -> set:
    """The devices that hold the array. Raises: RuntimeError where it was deleted."""
    if x.is_deleted():
        raise deleted_error(x)
    return set(x._sharding.device_set)


def _copy_to_host_async(x: ArrayImpl) -> None:
    """Start to copy the value to the host, so that a later read finds it there."""
    if x.is_deleted():
        raise deleted_error(x)
    if len(x._sharding.device_set) == 1 and x.platform() == "cpu":
        return
    for part in device_arrays(x):
        part._copy_single_device_array_to_host_async()


def _nbytes(x: ArrayImpl) -> int:
    aval = x.aval
    return aval.size * aval.dtype.itemsize


def _sizeof(x: ArrayImpl) -> int:
    return object.__sizeof__(x) + (0 if x.is_deleted() else _nbytes(x))


# ---- DLPack

_delete = ArrayImpl.delete
_EXPORTED = "_exported"


def _dlpack(
    x: ArrayImpl,
    *,
    stream: Any = None,
    max_version: tuple | None = None,
    dl_device: tuple | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule over the array's memory, or with `copy=True` over that of a copy.

    Raises: BufferError where the array lies on several devices, or for another device.
    """
    if x.is_deleted():
        raise deleted_error(x)
    if len(x._sharding.device_set) != 1:
        raise BufferError("only arrays on one device can be exported by DLPack")
    if dl_device is not None and tuple(map(int, dl_device)) != _dlpack_device(x):
        raise BufferError(f"the array is on DLPack device {_dlpack_device(x)}, not {dl_device}")
    x = _copy(x) if copy else x
    setattr(x, _EXPORTED, True)  # deleting memory that others read would end the process
    return binding.to_dlpack(x, stream, max_version)


class DLDeviceType(enum.IntEnum):
    """Kinds of devices, numbered as DLPack's header does."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLROCM = 10


_DLPACK_KINDS = {"cpu": DLDeviceType.kDLCPU, "cuda": DLDeviceType.kDLCUDA,
                 "gpu": DLDeviceType.kDLCUDA, "rocm": DLDeviceType.kDLROCM}


def _dlpack_device(x: ArrayImpl) -> tuple[DLDeviceType, int]:
    """(kind, number) of the array's device in DLPack's terms."""
    device = _device(x)
    if device is x._sharding:
        raise BufferError("only arrays on one device have a DLPack device")
    kind = _DLPACK_KINDS.get(device.platform)
    if kind is None:
        raise BufferError(f"devices of the platform {device.platform!r} have no DLPack kind")
    return kind, 0 if kind == 1 else device.local_hardware_id or 0


def _delete_unless_exported(x: ArrayImpl) -> None:
    """Free the memory now; the array cannot be used afterwards. The last reader frees memory that
    was exported by DLPack."""
    if not getattr(x, _EXPORTED, False):
        _delete(x)


# ---- attached methods and properties

_aval = operator.attrgetter


def _gone(name: str, instead: str) -> property:
    def get(x: ArrayImpl) -> NoReturn:
        raise AttributeError(f"arrays have no {name}; {instead}")

    return property(get)


def _flat(x: ArrayImpl) -> NoReturn:
    raise NotImplementedError("arrays have no `flat`; x.ravel() gives the elements in order")


SURFACE: dict[str, Any] = {
    "__repr__": _repr,
    "__str__": _str,
    "__format__": _format,
    "__len__": _len,
    "__bool__": _bool,
    "__int__": _int,
    "__float__": _float,
    "__complex__": _complex,
    "__index__": _index,
    "__hex__": _hex,
    "__oct__": _oct,
    "__hash__": None,
    "__iter__": _iter,
    "__contains__": _contains,
    "__reversed__": _reversed,
    "__setitem__": _setitem,
    "__delitem__": _delitem,
    "__array__": _array,
    "__array_priority__": 100,
    "__array_namespace__": _array_namespace,
    "__reduce__": _reduce,
    "__copy__": _copy,
    "__deepcopy__": _deepcopy,
    "__sizeof__": _sizeof,
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack_device,
    "item": _item,
    "tolist": _tolist,
    "tobytes": _tobytes,
    "shape": property(_aval("aval.shape"), doc="Length of each axis."),
    "dtype": property(_aval("aval.dtype"), doc="The NumPy dtype of the elements."),
    "ndim": property(_aval("aval.ndim"), doc="Number of axes."),
    "size": property(_aval("aval.size"), doc="Number of elements."),
    "weak_type": property(_aval("aval.weak_type"), doc="Whether the dtype gives way in promotion."),
    "itemsize": property(_aval("aval.dtype.itemsize"), doc="Bytes of an element on the host."),
    "nbytes": property(_nbytes, doc="Bytes of the value on the host."),
    "flat": property(_flat),
    "device": property(_device, doc=_device.__doc__),
    "devices": _devices,
    "sharding": property(_aval("_sharding"), doc="How the array lies on devices."),
    "format": property(format_of, doc=format_of.__doc__),
    "committed": property(_aval("_committed"), doc="Whether operations must run where it lies."),
    "is_fully_addressable": property(
        _aval("_sharding.is_fully_addressable"), doc="Whether this process drives all its devices."
    ),
    "is_fully_replicated": property(
        _aval("_sharding.is_fully_replicated"), doc="Whether every device holds the whole value."
    ),
    "addressable_shards": property(
        lambda x: shards_of(x, False), doc="The parts on devices of this process."
    ),
    "global_shards": property(lambda x: shards_of(x, True), doc="The parts on all devices."),
    "addressable_data": _addressable_data,
    "copy_to_host_async": _copy_to_host_async,
    "delete": _delete_unless_exported,
    "device_buffer": _gone("device_buffer", "x.addressable_data(0) is the part on a device"),
    "device_buffers": _gone("device_buffers", "x.addressable_shards lists the parts"),
    "_value": property(to_numpy, doc="The value on the host."),
    "_check_and_rearrange": staticmethod(lambda arrays, sharding, aval: arrays),
}

binding.install(SURFACE)


def install_operations(table: Mapping[str, Any]) -> None:
    """Attach operators, indexing and methods to arrays.

    Args:
      table: for each name of an attribute a function whose first argument is the array, a compiled
        front door (which binds like a function), or a property. `__rsub__` and the like are
        functions of (array, other). Names in the table replace those of this file.
    """
    binding.install(table)
