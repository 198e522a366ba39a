"""Calls of host functions from traced programs: pure_callback, io_callback and debug_callback.

A callback op carries a slot (`running/host.py`). The function in the slot is passed to the compiler
with the program, and is freed with the last op that holds the slot.
Effects keep their place: in an un-jitted transformation whose inputs are known, the effect runs
when Python reaches the callback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from lowering.executable import as_failure
from xfront_ir import dtypes, ops
from xfront_ir.ops.batch_methods import AT_ONCE, METHODS
from xfront_ir.types import TensorType, tensor

from .. import binding
from ..base.config import staging
from ..base.trees import tree_flatten, tree_unflatten
from ..binding.annotations import ShardingLike
from ..binding.tracebacks import front_door
from ..eager.operands import shape_of
from ..running import concrete
from ..running.compiled import to_array
from ..running.host import slot_of
from ..tracing.following import varies
from ..tracing.perturbed import reaching
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from ..transforms.flat import kind_of, placed
from ..values.arguments import at_home, only
from ..values.keys import KeyArray, key_array
from .collectives import pcast

VMAP_METHODS = (None, *METHODS)


def pure_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any,
                  sharding: ShardingLike = None, vmap_method: str | None = None,
                  vectorized: None = None, **kwargs: Any) -> Any:
    """The results of a pure host function, which may be dropped where unread, or run twice.

    Args:
      callback: function that takes NumPy arrays in the structure of args and kwargs, and returns
        arrays of the shapes and dtypes of `result_shape_dtypes`. For keys it is given their words
        under `jit` and in bodies, and elsewhere an array of keys.
      result_shape_dtypes: tree of objects with shape and dtype. Inside `shard_map` results vary
        over the axes that arguments vary over and over those of a `manual_axis_type`.
      args, kwargs: trees of arrays; other leaves reach the callback unchanged.
      sharding: None, or the sharding of one device of this process. In a program on several
        devices the first one calls the host in any case, once and with whole values.
      vmap_method: how a batch reaches the callback: "sequential" or "sequential_unrolled" (example
        by example), "expand_dims" (axes of size 1 for arguments without a batch), "broadcast_all"
        (all arguments have the batch) or "legacy_vectorized" (arguments without a batch stay as
        they are); with None, `vmap` raises.
      vectorized: None only; the older spelling of `vmap_method`.
    Returns: tree of arrays.
    Raises: TypeError where `callback` is not a function; ValueError for another `vmap_method`, and
      where `callback` returns other shapes or dtypes; NotImplementedError for another placement and
      for `vectorized`.

    >>> kind = xfront.ShapeDtypeStruct((2,), np.float32)
    >>> xfront.jit(lambda x: xfront.pure_callback(np.cumsum, kind, x))(jnp.array([1., 2.]))
    Array([1., 3.], dtype=float32)
    """
    _on_one_device("pure_callback", sharding)
    only("pure_callback", None, "use vmap_method='expand_dims' for a function that takes batches, "
         "'sequential' for one that does not", vectorized=vectorized)
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"pure_callback: vmap_method must be one of "
                         f"{', '.join(map(repr, VMAP_METHODS))}, got {vmap_method!r}")
    return _call("pure", callback, result_shape_dtypes, args, kwargs, False, vmap_method)


@front_door
def io_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any,
                sharding: Any = None, ordered: bool = False, **kwargs: Any) -> Any:
    """The results of a host function with effects, which runs as often as the program says.

    Args:
      callback, result_shape_dtypes, args, kwargs, sharding: as for `pure_callback`.
      ordered: whether the callback keeps its order among ordered callbacks.
    Returns: tree of arrays.

    >>> from xfront.experimental import io_callback
    >>> seen, kind = [], xfront.ShapeDtypeStruct((), np.int32)
    >>> def note(x):
    ...     seen.append(int(x))
    ...     return x + 1
    >>> xfront.jit(lambda x: io_callback(note, kind, x))(jnp.int32(1)), seen
    (Array(2, dtype=int32), [1])
    """
    _on_one_device("io_callback", sharding)
    return _call("io", callback, result_shape_dtypes, args, kwargs, ordered, None)


@front_door
def debug_callback(callback: Callable[..., Any], *args: Any, ordered: bool = False,
                   partitioned: bool = False, **kwargs: Any) -> None:
    """Call a host function for its effect alone; derivatives ignore it.

    Args:
      callback, args, kwargs, ordered: as for `io_callback`; the result is ignored.
      partitioned: False only.

    >>> seen = []
    >>> result = xfront.jit(lambda x: xfront.debug.callback(seen.append, x + 1))(1.0)
    >>> xfront.effects_barrier()
    >>> seen
    [array(2., dtype=float32)]
    """
    only("debug_callback", False, "the callback always receives whole "
                                  "arrays", partitioned=partitioned)
    _call("debug", callback, (), args, kwargs, ordered, None)


def _on_one_device(name: str, sharding: Any) -> None:
    """Refuse another placement of a host call than one device of this process. Raises: TypeError
    where it is no sharding; NotImplementedError."""
    if isinstance(sharding, binding.SingleDeviceSharding):
        (device,) = sharding.device_set
        if device.process_index == device.client.process_index():
            return
    at_home(name, sharding, "sharding")


def _call(kind: str, callback: Callable[..., Any], results: Any, args: tuple, kwargs: dict,
          ordered: bool, vmap_method: str | None) -> Any:
    if not callable(callback):
        raise TypeError(f"{kind}_callback: first argument must be a function, got {callback!r}")
    leaves, tree = tree_flatten((args, kwargs))
    specs, out_tree = tree_flatten(results)
    shape = f"{kind}_callback: the shape of a result"
    types = tuple([tensor(shape_of(s.shape, shape), dtypes.from_numpy(
        binding.canonical_dtype(np.dtype(s.dtype)))) for s in specs])
    where: list[Any] = [None] * len(leaves)
    traced, kinds = [], []
    for i, x in enumerate(leaves):                 # a value that is not an array passes unchanged
        if type(x) is Tracer or isinstance(x, (binding.Array, np.ndarray, np.generic, bool, int,
                                               float, complex)):
            dtype = kind_of(f"{kind}_callback", x)[0].dtype
            kinds.append(dtype if dtype.is_key and not staging.value else None)
            traced.append(i)
        else:
            where[i] = x

    def host(*arrays: Any) -> Any:
        filled = list(where)
        for i, x, dtype in zip(traced, arrays, kinds, strict=True):
            filled[i] = x if dtype is None else key_array(dtype, binding.put(x, copy=True))
        given, named = tree_unflatten(tree, filled)
        try:
            made = callback(*given, **named)
        except Exception as e:
            _name_in(e, f"{kind}_callback", callback)
            raise
        if kind == "debug":
            return ()
        batches = vmap_method in AT_ONCE
        return _checked(f"{kind}_callback", callback, made, out_tree, types, batches)

    operands = [leaves[i] for i in traced]
    known = known_now(operands) if kind == "debug" or (
        kind == "io" and not any(map(reaching, operands))) else None
    if known is not None:
        if kind == "debug":
            host(*known)
            return None
        try:
            found = host(*known)
        except Exception as e:
            raise as_failure(e) from None
        return tree_unflatten(out_tree, [to_array(np.asarray(x, t.dtype.numpy).reshape(t.shape))
                                         for x, t in zip(found, types, strict=True)])
    made = emit(ops.callback, *operands, slot=slot_of(host), result_types=types,
                kind=kind, ordered=bool(ordered), vmap_method=vmap_method)
    if kind == "debug":
        return None
    return tree_unflatten(out_tree, [as_declared(f"{kind}_callback", x, s)
                                     for x, s in zip(made, specs, strict=True)])


def _name_in(error: Exception, name: str, callback: Callable[..., Any]) -> None:
    """Add a note to the exception of a host function that names the function."""
    note = f"raised in the host function of {name}: {placed(callback)}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def as_declared(name: str, x: Any, spec: Any) -> Any:
    """A result that varies over the axes of `shard_map` which its specification names.

    Raises: ValueError where it varies over others, too.
    """
    declared = getattr(spec, "manual_axis_type", None)
    if declared is None or declared.empty:
        return x
    if declared.unreduced or declared.reduced:
        raise NotImplementedError(f"{name}: a result is declared {declared}; a host function gives "
                                  "values that vary over axes, no terms of a sum")
    if more := varies(x) - declared.varying:
        raise ValueError(f"{name}: a result is declared to vary over {sorted(declared.varying)}, "
                         f"and the arguments vary over {sorted(more)} as well; add these to its "
                         "manual_axis_type")
    missing = tuple(sorted(declared.varying - varies(x)))
    return pcast(x, missing, to="varying") if missing else x


def _checked(name: str, callback: Callable[..., Any], made: Any, tree: Any,
             types: tuple[TensorType, ...], batches: bool) -> tuple[np.ndarray, ...]:
    """The arrays that a host function returned, with leading axes where `batches` allows them.

    Raises: ValueError where they do not fit `types`.
    """
    flat, made_tree = tree_flatten(made)
    if len(flat) != len(types):
        raise ValueError(f"{name}: {placed(callback)} returned {made_tree}, but "
                         f"result_shape_dtypes says {tree}")
    arrays = tuple([canonical(x) for x in flat])
    for i, (array, wanted) in enumerate(zip(arrays, types, strict=True)):
        own = array.shape[max(array.ndim - wanted.ndim, 0):] if batches else array.shape
        if own != wanted.shape or array.dtype != wanted.dtype.numpy:
            raise ValueError(f"{name}: {placed(callback)} returned {array.dtype}"
                             f"{list(array.shape)} as result {i}, but result_shape_dtypes says "
                             f"{wanted}")
    return arrays


def canonical(x: Any) -> np.ndarray:
    """A result of a host function as an array; 64-bit dtypes become 32-bit unless they are on."""
    array = np.asarray(x)
    return array.astype(binding.canonical_dtype(array.dtype), copy=False)


def key_words(x: Any) -> Any:
    """The words of an array of keys, as traced programs pass them; any other value unchanged."""
    return x._base if type(x) is KeyArray else x


def known_now(operands: list[Any]) -> list[np.ndarray] | None:
    """The values of the operands where all are known while Python runs, else None."""
    if state.current is not None and state.current.staging:
        return None
    known = []
    for x in operands:
        value = concrete.known(x) if type(x) is Tracer else x
        if value is None:
            return None
        known.append(canonical(key_words(value)))
    return known
