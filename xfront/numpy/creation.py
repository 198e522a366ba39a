"""Arrays from values: from Python and NumPy data, filled with a value, with other dtypes.

Small arrays are made on the host and put on the device, which needs no compilation; while tracing
they are literals. Ranges and grids are in `ranges.py`.
"""

# hot: benchmarks/eager.py

from __future__ import annotations

import math
import operator
import os
from typing import IO, Any, NoReturn

import numpy as np
from xfront_ir import dtypes as ir_dtypes
from xfront_ir import ops
from xfront_ir.dtypes import from_numpy

from .. import binding
from ..base.dtypes import (
    KeyDType,
    bfloat16,
    canonicalize_dtype,
    dtype_and_weakness,
    float0,
    is_extended,
    requested_dtype,
    result_type,
)
from ..base.holders import held_by
from ..binding.annotations import (
    Array,
    ArrayLike,
    DeviceLike,
    DTypeLike,
    ShapeLike,
    ShardingLike,
    SupportsShape,
)
from ..binding.tracebacks import shorten, warn
from ..eager.dispatch import Front, eager
from ..eager.operands import (
    SCALARS,
    are_sizes,
    array_like,
    broadcast_to,
    convert,
    held_array,
    number_in,
    operand,
    warn_of_lost_parts,
)
from ..lax.shape import lying_as
from ..tracing.trace import emit, is_number, plain_number, state
from ..tracing.tracer import Tracer
from ..values.commitment import beside
from ..values.keys import KeyArray
from .ufuncs import traced

HOST_BYTES = 16384
"""Constants up to this size are made on the host, larger ones by a program."""


# --- from data ----------------------------------------------------------------------------

def array(object: Any, dtype: DTypeLike | None = None, copy: bool = True, order: str | None = "K",
          ndmin: int = 0, *, device: DeviceLike = None, out_sharding: ShardingLike = None) -> Array:
    """An array of a scalar, an array, or nested sequences of them, traced ones included.

    Args:
      object: a scalar, an array or nested sequences. Python numbers have the default dtypes; a
        single one is weakly typed.
      dtype: dtype of the result; None for the one that the elements promote to.
      copy: whether the result always has memory of its own.
      order: "K", "C" or None, which all mean the same.
      ndmin: the least number of axes; axes of size 1 are added in front.
      device, out_sharding: the device or sharding to place the array on; at most one of them.
    Raises: TypeError for text and objects; ValueError for ragged sequences and None; OverflowError
      for a Python integer that does not fit.
    Source: `numpy.array`.

    >>> jnp.array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if order not in (None, "K", "C"):
        raise NotImplementedError(f"array: order={order!r} is not supported, since arrays have no "
                                  "memory order; leave it out")
    made = _array(object, dtype if dtype is None else requested_dtype("array", dtype), copy)
    if made.ndim < ndmin:
        from .manipulation import reshape  # late: only this needs it

        made = reshape(made, (1,) * (ndmin - made.ndim) + made.shape)
    return _placed(made, place_of("array", device, out_sharding, made.ndim))


def asarray(a: Any, dtype: DTypeLike | None = None, order: str | None = None, *,
            copy: bool | None = None, device: DeviceLike = None, out_sharding: ShardingLike = None
           ) -> Array:
    """`a` itself if it is an array of the dtype; otherwise as `array`. Source: `numpy.asarray`.

    >>> jnp.asarray([1., 2., 3.])
    Array([1., 2., 3.], dtype=float32)
    """
    if type(a) is binding.ArrayImpl and not copy and dtype is None and order is None \
            and device is None and out_sharding is None and state.current is None:
        return a
    try:
        return array(a, dtype, bool(copy), order, device=device, out_sharding=out_sharding)
    except BaseException as error:
        shorten(error)
        raise


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """A copy of an array. Source: `numpy.copy`.

    >>> jnp.copy(jnp.array([1, 2, 3]))
    Array([1, 2, 3], dtype=int32)
    """
    return array(array_like("copy", a), copy=True, order=order)


def place_of(name: str, device: DeviceLike, out_sharding: ShardingLike, ndim: int) -> Any:
    """The place of a new array of `ndim` axes: `device` or `out_sharding`, whichever is given.

    Raises: ValueError for both, and for an `out_sharding` with axes that are not explicit.
    """
    if device is not None and out_sharding is not None:
        raise ValueError(f"{name}: device and out_sharding cannot both be given, since each says "
                         "where the array goes")
    found = out_sharding if device is None else device
    if type(found).__name__ in ("PartitionSpec", "NamedSharding"):
        from ..sharding import context  # late: needed for specs only

        found = context.as_sharding(name, found, "out_sharding")
        return found if out_sharding is None else context.with_entries(
            context.of_explicit_axes(name, found), ndim)
    return found


def _placed(x: Any, device: DeviceLike) -> Any:
    if device is None:
        return x
    from ..eager.devices import device_put  # late: it imports this file

    return device_put(x, device)


def _array(x: Any, dtype: Any, copy: bool) -> Any:
    kind = type(x)
    if (getattr(x, "dtype", None) if dtype is None else dtype) == float0:
        return _of_float0(np.shape(x))
    if kind is Tracer or (kind is binding.ArrayImpl and state.current is not None):
        _warn_of_lost_parts(x, dtype)
        return traced(_converted, x, dtype)
    if isinstance(x, binding.ArrayImpl):
        if dtype is not None and (x.aval.dtype != dtype or x.aval.weak_type):
            _warn_of_lost_parts(x, dtype)
            return _compiled_convert()(x, dtype)
        return binding.copy_array(x) if copy else x
    if kind is KeyArray:
        if dtype is not None and dtype != x.dtype:
            raise ValueError(f"keys of dtype {x.dtype} cannot be converted to {dtype}")
        return x
    if kind in SCALARS:
        return constant(x, dtype, kind is not bool and dtype is None)
    if is_number(x):
        return _array(plain_number(x), dtype, copy)
    if hasattr(x, "__jax_array__"):
        return _array(held_by(x), dtype, copy)
    if kind is list or kind is tuple or isinstance(x, (list, tuple)):
        return _from_sequence(x, dtype)
    if x is None:
        raise ValueError("None is not a valid value of an array; use nan, or leave it out")
    return constant(_host(x, dtype), dtype, False)


def _host(x: Any, dtype: Any) -> np.ndarray:
    if type(x) is not np.ndarray:
        binding.refuse_mask(x)
    value = np.asarray(x)
    if value.dtype.kind in "OUSMm":
        raise TypeError(f"a value of dtype {value.dtype} is not a valid array: {x!r}")
    if dtype is None and value.dtype == np.int64 and not isinstance(x, (np.ndarray, np.generic)):
        value = np.asarray(x, binding.canonical_dtype(value.dtype))
    return value


def on_mesh(ndim: int = 0) -> Any:
    """The sharding of a new array for which the user names no place: replicated on the mesh in
    context. None where there is no such mesh."""
    found = binding.mesh_state.value
    if found is None or found[0] is None:
        return None
    from ..sharding.named import replicated_for  # late: needed with a mesh only

    return replicated_for(found[0], ndim)


def constant(value: Any, dtype: Any, weak: bool, ndim: int = 0) -> Any:
    """A value on the host as an array, or as a literal of the current trace. On a mesh the array's
    spec has `ndim` entries."""
    if isinstance(dtype, KeyDType):
        raise ValueError(f"values cannot be converted to keys of dtype {dtype}; use "
                        "random.wrap_key_data")
    if dtype is None:
        made = binding.host_array(value)
    elif isinstance(value, (np.ndarray, np.generic)):
        if _warn_of_lost_parts(value, dtype):
            value = value.real
        with np.errstate(all="ignore"):
            made = value.astype(dtype)
    else:
        made = np.asarray(value, dtype)
    target = state.current
    if target is None:
        return binding.put(made, on_mesh(ndim), weak=weak)
    if made.nbytes <= 4096:
        return target.literal(np.array(made), made.shape, weak)
    return target.lift(binding.put(made, weak=weak))


def _from_sequence(x: Any, dtype: Any) -> Any:
    kinds: set[type] = set()
    leaves: list[Any] = []
    _collect(x, kinds, leaves)
    if kinds <= SCALARS:
        if dtype is None:
            value = np.array(x)
            narrow = binding.canonical_dtype(value.dtype)
            if narrow != value.dtype:
                value = np.array(x, narrow)        # refuses integers that do not fit
            elif value.dtype.kind in "uO":
                value = np.array(x, binding.scalar_dtype(int))
        else:
            value = np.array(x, dtype)
        return constant(value, dtype, False)
    if type(None) in kinds:
        raise ValueError("None is not a valid value of an array; use nan, or leave it out")
    if any(issubclass(k, binding.Array) or hasattr(k, "__jax_array__") for k in kinds):
        rows = None
        if dtype is None and not kinds.isdisjoint(SCALARS) and KeyArray not in kinds:
            rows = result_type(*map(held_array, leaves))      # numbers are weak in every row
        return _stacked(x, dtype, rows)
    if dtype is None:
        for leaf in leaves:
            if not isinstance(leaf, (np.ndarray, np.generic)):
                _host(leaf, None)
        dtype = result_type(*[v if isinstance(v, (np.ndarray, np.generic)) or type(v) in SCALARS
                              else np.asarray(v) for v in leaves])
    return constant(np.array(x).astype(dtype), dtype, False)


def _collect(x: Any, kinds: set[type], leaves: list[Any]) -> None:
    for item in x:
        if isinstance(item, (list, tuple)):
            _collect(item, kinds, leaves)
        else:
            kinds.add(type(item))
            leaves.append(item)


def _stacked(x: Any, dtype: Any, of_numbers: Any = None) -> Any:
    """The items of nested sequences that hold arrays, stacked along new axes; numbers among them
    get the dtype `of_numbers`, where one is given."""
    from .manipulation import stack  # late: only this needs it

    items = [_stacked(i, None, of_numbers) if isinstance(i, (list, tuple)) and i else
             _array(i, of_numbers if type(i) in SCALARS else None, False) for i in x]
    shapes = {i.shape for i in items}
    if len(shapes) > 1:
        listed = ", ".join(map(str, sorted(shapes)))
        raise ValueError("array: nested items must all have the same shape at each level, got "
                         f"{listed}")
    made = stack(items)
    return made if dtype is None and not _is_weak(made) else astype(
        made, made.dtype if dtype is None else dtype)


def _is_weak(x: Any) -> bool:
    return bool(getattr(x, "weak_type", False))


# --- other dtypes -------------------------------------------------------------------------

_CONVERT: list[Any] = []


def _compiled_convert() -> Any:
    if not _CONVERT:
        _CONVERT.append(Front(_converted, "astype", (1,)).compiled)
    return _CONVERT[0]


def _converted(x: Any, dtype: Any) -> Any:
    x = operand("astype", x)
    if dtype is None:
        return x
    own = x.value.type.dtype
    if is_extended(dtype):
        if not own.is_key or x.dtype != dtype:
            raise ValueError(f"{x.dtype} cannot be converted to {dtype}")
        return x
    wanted = from_numpy(dtype)
    if own.is_complex and not wanted.is_complex and wanted is not ir_dtypes.bool_:
        x = emit(ops.real, x)
    return convert(x, wanted)


def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: DeviceLike = None
          ) -> Array:
    """`x` converted to another dtype; a real dtype keeps the real part of complex elements.

    Args:
      dtype: None for the default float.
    Raises: TypeError for dtypes that arrays cannot have.
    Source: `numpy.astype`.

    >>> jnp.astype(jnp.array([1.5, -1.5]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    if type(dtype) is not np.dtype or dtype.num > 12:
        dtype = canonicalize_dtype(float) if dtype is None else requested_dtype("astype", dtype)
    else:
        dtype = requested_dtype("astype", dtype)
    if dtype == float0:
        return _of_float0(np.shape(x))
    if type(x) is Tracer or state.current is not None:
        _warn_complex(x, dtype)
        made = traced(_converted, x, dtype)
    else:
        x = array_like("astype", x)
        _warn_complex(x, dtype)
        if isinstance(x, binding.ArrayImpl) and x.aval.dtype == dtype and not x.aval.weak_type:
            made = binding.copy_array(x) if copy else x
        else:
            made = _compiled_convert()(x, dtype)
    return _placed(made, device)


def _loses_parts(x: Any, dtype: Any) -> bool:
    """Whether complex values become real ones."""
    return (getattr(getattr(x, "dtype", None), "kind", "") == "c"
            and not is_extended(dtype) and dtype.kind not in "cb")


def _warn_complex(x: Any, dtype: Any) -> None:
    if _loses_parts(x, dtype):
        warn("Casting from complex to real dtypes loses the imaginary part: a complex array "
             "becomes a real one. Write real(x) or imag(x) first", DeprecationWarning)


def _warn_of_lost_parts(x: Any, dtype: Any) -> bool:
    if dtype is None or not _loses_parts(x, dtype):
        return False
    warn_of_lost_parts()
    return True


# --- filled with one value ----------------------------------------------------------------

def sizes(name: str, shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of ints. Raises: TypeError where a size is negative or no integer."""
    given: Any = shape if are_sizes(shape) else (shape,)
    made = []
    for d in given:
        if type(d) is not int:
            try:
                d = operator.index(d)
            except TypeError:
                if type(d) is Tracer:
                    raise
                raise TypeError(f"{name}: a shape must consist of integers known while tracing, "
                                f"got {shape!r}") from None
        if d < 0:
            raise TypeError(f"{name}: every size in a shape must be nonnegative, got {shape!r}")
        made.append(d)
    return tuple(made)


def filled(value: Any, shape: tuple[int, ...], dtype: np.dtype, weak: bool = False,
           device: DeviceLike = None) -> Any:
    """An array of one known value."""
    if isinstance(dtype, KeyDType):
        from ..lax.shape import keys_of_word  # late: keys are rarely filled with numbers

        return _placed(keys_of_word("an array of keys", value, shape, dtype), device)
    if dtype == float0:
        return _of_float0(shape)
    element = np.asarray(value, dtype)
    target = state.current
    if target is not None:
        return _placed(target.literal(element, shape, weak), device)
    if device is not None or math.prod(shape) * dtype.itemsize <= HOST_BYTES:
        place = on_mesh(len(shape)) if device is None else device
        return binding.put(np.full(shape, element), place, weak=weak)
    return _filled(element.tobytes(), shape, dtype, weak)


def _of_float0(shape: tuple[int, ...]) -> Any:
    """An array of float0, NumPy's: it has no elements, and lies on no device."""
    return np.zeros(shape, float0)


@eager(static=("data", "shape", "dtype", "weak"))
def _filled(data: bytes, shape: tuple[int, ...], dtype: Any, weak: bool) -> Any:
    assert state.current is not None
    return state.current.literal(np.frombuffer(data, dtype).reshape(()), shape, weak)


def _number_dtype(name: str, dtype: Any) -> np.dtype:
    return canonicalize_dtype(float) if dtype is None else requested_dtype(name, dtype)


def zeros(shape: ShapeLike, dtype: DTypeLike | None = None, *, device: DeviceLike = None,
          out_sharding: ShardingLike = None) -> Array:
    """Zeros, float by default. Raises: TypeError for sizes that are negative or no integers.

    Source: `numpy.zeros`.

    >>> jnp.zeros((2, 2))
    Array([[0., 0.],
           [0., 0.]], dtype=float32)
    """
    dims = sizes("zeros", shape)
    return filled(0, dims, _number_dtype("zeros", dtype), False,
                  place_of("zeros", device, out_sharding, len(dims)))


def ones(shape: ShapeLike, dtype: DTypeLike | None = None, *, device: DeviceLike = None,
         out_sharding: ShardingLike = None) -> Array:
    """Ones, float by default. Raises: as `zeros`. Source: `numpy.ones`.

    >>> jnp.ones((2, 2))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    dims = sizes("ones", shape)
    return filled(1, dims, _number_dtype("ones", dtype), False,
                  place_of("ones", device, out_sharding, len(dims)))


def empty(shape: ShapeLike, dtype: DTypeLike | None = None, *, device: DeviceLike = None,
          out_sharding: ShardingLike = None) -> Array:
    """Zeros: there is no uninitialised memory. Source: `numpy.empty`.

    >>> jnp.empty((2,)).shape
    (2,)
    """
    dims = sizes("empty", shape)
    return filled(0, dims, _number_dtype("empty", dtype), False,
                  place_of("empty", device, out_sharding, len(dims)))


def full(shape: ShapeLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, *,
         device: DeviceLike = None, out_sharding: ShardingLike = None) -> Array:
    """`fill_value`, a number or an array that broadcasts to `shape`, in every place.

    Args:
      dtype: dtype of the result; None for that of the fill value, weak for a Python number unless
        a `device` is given outside of programs.
    Source: `numpy.full`.

    >>> jnp.full((2, 2), 7)
    Array([[7, 7],
           [7, 7]], dtype=int32, weak_type=True)
    """
    shape = sizes("full", shape)
    kind = type(fill_value)
    place = place_of("full", device, out_sharding, len(shape))
    wanted = None if dtype is None else requested_dtype("full", dtype)
    strong = _is_strong_on(device)
    if kind in SCALARS:
        if wanted is None:
            return filled(fill_value, shape, binding.scalar_dtype(kind),
                          kind is not bool and not strong, place)
        return filled(_number(fill_value, wanted), shape, wanted, False, place)
    made = _placed(_full(array_like("full", fill_value), shape, wanted), place)
    return _strong(made) if strong else made


def _is_strong_on(device: DeviceLike) -> bool:
    """Whether an array made of a number is strongly typed: one put directly on `device` is."""
    return device is not None and state.current is None


def _strong(x: Any) -> Any:
    weak = type(x) is binding.ArrayImpl and x.aval.weak_type
    return binding.rewrap(x, weak=False) if weak else x


def _number(value: Any, dtype: Any) -> Any:
    """A Python number in a dtype; unchanged if the dtype is that of keys. Raises: TypeError for a
    complex number in a real dtype."""
    if isinstance(dtype, KeyDType) or dtype == float0:
        return value
    if type(value) is complex and dtype.kind not in "cb":
        raise TypeError(f"{value} has an imaginary part, which dtype {dtype} cannot hold; take its "
                        "real part first")
    value = number_in(value, dtype, wraps=True)
    if type(value) is np.ndarray:
        return value
    with np.errstate(all="ignore"):
        return binding.host_array(value).astype(dtype)


@eager(static=("shape", "dtype"))
def _full(fill_value: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    from ..eager.operands import broadcast_shapes

    x = operand("full", fill_value)
    _warn_of_lost_parts(x, dtype)
    x = _converted(x, dtype)
    if broadcast_shapes("full", (x.shape, shape)) != shape:
        raise ValueError(f"full: a fill value of shape {x.shape} does not broadcast to {shape}")
    return broadcast_to(x, shape)


def _prototype(a: Any) -> Any:
    """`a`, or the array that it stands for."""
    return held_by(a) if hasattr(type(a), "__jax_array__") else a


def _like(name: str, a: Any, dtype: Any, shape: Any) -> tuple[tuple[int, ...], Any, bool]:
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        a = array_like(name, a)
    own, weak = dtype_and_weakness(a)
    if dtype is not None:
        own, weak = requested_dtype(name, dtype), False
    return (tuple(getattr(a, "shape", ())) if shape is None else sizes(name, shape)), own, weak


def _lies(made: Any, a: Any, place: Any) -> Any:
    """`made`, an array like `a`; moved to where `a` lies if the user named no place."""
    return made if place is not None else lying_as(made, a)


def zeros_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, *,
               device: DeviceLike = None, out_sharding: ShardingLike = None) -> Array:
    """Zeros of a's shape and dtype, or of those given. Source: `numpy.zeros_like`.

    >>> jnp.zeros_like(jnp.array([1, 2, 3]))
    Array([0, 0, 0], dtype=int32)
    """
    a = _prototype(a)
    made = _like("zeros_like", a, dtype, shape)
    place = place_of("zeros_like", device, out_sharding, len(made[0]))
    return _lies(filled(0, *made, place or beside(a, made[0])), a, place)


def ones_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, *,
              device: DeviceLike = None, out_sharding: ShardingLike = None) -> Array:
    """Ones of a's shape and dtype, or of those given. Source: `numpy.ones_like`.

    >>> jnp.ones_like(jnp.array([1, 2, 3]))
    Array([1, 1, 1], dtype=int32)
    """
    a = _prototype(a)
    made = _like("ones_like", a, dtype, shape)
    place = place_of("ones_like", device, out_sharding, len(made[0]))
    return _lies(filled(1, *made, place or beside(a, made[0])), a, place)


def empty_like(prototype: ArrayLike | SupportsShape, dtype: DTypeLike | None = None,
               shape: ShapeLike | None = None, *,
               device: DeviceLike = None, out_sharding: ShardingLike = None) -> Array:
    """Zeros of the prototype's shape and dtype. Source: `numpy.empty_like`.

    >>> jnp.empty_like(jnp.array([1, 2, 3])).dtype
    dtype('int32')
    """
    prototype = _prototype(prototype)
    made = _like("empty_like", prototype, dtype, shape)
    place = place_of("empty_like", device, out_sharding, len(made[0]))
    return _lies(filled(0, *made, place or beside(prototype, made[0])), prototype, place)


def full_like(a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None,
              shape: ShapeLike | None = None, *, device: DeviceLike = None,
              out_sharding: ShardingLike = None
              ) -> Array:
    """`fill_value` in a's shape and dtype, or in those given. Source: `numpy.full_like`.

    >>> jnp.full_like(jnp.array([1, 2, 3]), 7)
    Array([7, 7, 7], dtype=int32)
    """
    a = _prototype(a)
    shape, kind, weak = _like("full_like", a, dtype, shape)
    asked = place_of("full_like", device, out_sharding, len(shape))
    place = asked or beside(a, shape)
    if is_extended(kind) and type(fill_value) not in SCALARS:
        if getattr(fill_value, "dtype", None) != kind:
            raise TypeError(f"full_like: an array of {kind} is filled with a key, or with an "
                            f"integer for each word, got {fill_value!r}")
        return _lies(_placed(broadcast_keys(fill_value, shape), place), a, asked)
    strong = _is_strong_on(device)
    if type(fill_value) in SCALARS:
        made = filled(_number(fill_value, kind), shape, kind, weak and not strong, place)
        return _lies(made, a, asked)
    made = _lies(_placed(_full(array_like("full_like", fill_value), shape, kind), place), a, asked)
    return _strong(made) if strong else made


@eager(static=("shape",))
def broadcast_keys(keys: Any, shape: tuple[int, ...]) -> Any:
    """Keys repeated to a shape."""
    return broadcast_to(operand("full_like", keys), shape)


# --- from bytes and text ------------------------------------------------------------------

def frombuffer(buffer: bytes | bytearray | memoryview | np.ndarray, dtype: DTypeLike = float,
               count: int = -1, offset: int = 0) -> Array:
    """The bytes of a buffer read as elements, copied. Source: `numpy.frombuffer`.

    >>> jnp.frombuffer(np.array([1, 2], np.uint8).tobytes(), dtype=jnp.uint8)
    Array([1, 2], dtype=uint8)
    """
    return asarray(np.frombuffer(buffer, dtype=np.dtype(dtype), count=count, offset=offset))


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """Numbers written in text with a separator. Source: `numpy.fromstring`.

    >>> jnp.fromstring('1 2 3', dtype=int, sep=' ')
    Array([1, 2, 3], dtype=int32)
    """
    requested_dtype("fromstring", dtype)  # NumPy reads numbers of the other byte order wrongly
    return asarray(np.fromstring(string, dtype=dtype, count=count, sep=sep))


def load(file: str | os.PathLike[str] | IO[bytes], *args: Any, **kwargs: Any) -> Any:
    """The array in a file written by `save`, or the archive in a file written by `savez`.

    The arguments are those of `numpy.load`, which reads it. NumPy writes bfloat16 as unnamed
    elements of two bytes, so such elements are read as bfloat16.

    Source: `numpy.load`.

    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     jnp.save(file, jnp.array([1, 2, 3]))
    ...     start = file.seek(0)
    ...     jnp.load(file)
    Array([1, 2, 3], dtype=int32)
    """
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray):
        return found
    return asarray(found.view(bfloat16) if found.dtype == np.dtype("V2") else found)


def fromiter(*args: object, **kwargs: object) -> NoReturn:
    """Not supported: an iterator is used up by the first trace. Write `asarray(list(it))`.

    >>> jnp.asarray(list(n * n for n in range(4)))
    Array([0, 1, 4, 9], dtype=int32)
    """
    raise NotImplementedError("fromiter is not supported; use asarray(list(iterable))")


def fromfile(*args: object, **kwargs: object) -> NoReturn:
    """Not supported: reading a file is not an operation. Write `asarray(numpy.fromfile(...))`.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     np.arange(3, dtype=np.float32).tofile(file.name)
    ...     jnp.asarray(np.fromfile(file.name, np.float32))
    Array([0., 1., 2.], dtype=float32)
    """
    raise NotImplementedError("fromfile is not supported; use asarray(numpy.fromfile(...))")


def from_dlpack(x: ArrayLike, /, *, device: DeviceLike = None, copy: bool | None = None) -> Array:
    """An array over the memory of an object that supports DLPack.

    Args:
      device: the device to place the array on; None for the default device.
      copy: True for memory of its own; False for an error where a copy is needed; None for a copy
        only where one is needed.
    Raises: ValueError where a copy is needed and refused.
    Source: `numpy.from_dlpack`.

    >>> jnp.from_dlpack(np.array([1, 2], np.int32))
    Array([1, 2], dtype=int32)
    """
    made = binding.from_dlpack(x, device, copy)
    narrow = binding.canonical_dtype(made.dtype)
    if narrow == made.dtype:
        return made
    if copy is False:
        raise ValueError(f"from_dlpack: copy=False was given, but {made.dtype} must be converted "
                         f"to {narrow}, because 64-bit dtypes are off (jax_enable_x64)")
    return asarray(binding.to_numpy(made).astype(narrow), device=device)


__all__ = [
    "array", "asarray", "astype", "copy", "empty", "empty_like", "from_dlpack", "frombuffer",
    "fromfile", "fromiter", "fromstring", "full", "full_like", "load", "ones", "ones_like", "zeros",
    "zeros_like",
]  # fmt: skip

