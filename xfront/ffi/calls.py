"""What `xfront.ffi` offers, whose file says how it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from lowering import attributes, targets
from xfront_ir import dtypes, ops
from xfront_ir.ops.batch_methods import METHODS
from xfront_ir.types import TensorType, tensor

from ..base.on_demand import public as _public
from ..binding.annotations import ArrayLike
from ..binding.tracebacks import front_door
from ..eager.operands import are_sizes, index_of, shape_of
from ..interpreters import mlir
from ..lax.callbacks import as_declared
from ..tracing.trace import emit
from ..transforms.flat import as_operand, kind_of
from ..values.formats import Layout

FfiLayout = Layout | Sequence[int] | None


@front_door
def ffi_call(target_name: str, result_shape_dtypes: Any, *, has_side_effect: bool = False,
             vmap_method: str | None = None, input_layouts: Sequence[FfiLayout] | None = None,
             output_layouts: FfiLayout | Sequence[FfiLayout] = None,
             input_output_aliases: dict[int, int] | None = None, custom_call_api_version: int = 4,
             legacy_backend_config: str | None = None) -> Callable[..., Any]:
    """A function that calls the compiled function registered under a name.

    Args:
      target_name: the name, see `register_ffi_target`; programs are compiled for it, and whoever
        registers it, in each process, says what runs.
      result_shape_dtypes: an object with shape and dtype, or a tuple or list of them: what the
        function writes. (A ShapeDtypeStruct has 64 bits under `enable_x64` alone.) Inside
        `shard_map` results vary as those of `pure_callback`.
      has_side_effect: whether the call runs even where its results are not used; without, equal
        calls may run once.
      vmap_method: how a batch reaches the function: "sequential" or "sequential_unrolled" (example
        by example); "expand_dims", "broadcast_all" or "legacy_vectorized" (one call with a leading
        axis; arrays without a batch get it with size 1, with the size of the batch, or not at all).
        With None, `vmap` raises.
      input_layouts, output_layouts: for each array its axes from the slowest in memory to the
        fastest, or a `Layout`; None is row by row. XLA copies arrays that lie otherwise. Where
        there is one result, `output_layouts` is its layout.
      input_output_aliases: for positions of arguments the position of the result, of the same shape
        and dtype, that takes its memory; XLA copies arguments that are used later.
      custom_call_api_version: 4, XLA's interface with types; 1, 2 or 3 for a function registered
        with `api_version=0`.
      legacy_backend_config: the text that a function of these earlier versions is given.
    Returns: a function of arrays and, by keyword, of attributes (with version 4): bools, numbers,
      NumPy scalars and arrays, strings, and dicts of these. Python's ints are `int64_t` there, its
      floats `double`. It returns an array, or a tuple or list of them as `result_shape_dtypes` is.
    Raises: ValueError for a version, method, layout or alias that does not fit; TypeError for an
      attribute or argument of another type; JaxRuntimeError with NOT_FOUND where no function has
      the name when the program is compiled, and with what the function itself reports. Derivatives
      raise ValueError: wrap the call in `custom_jvp` or `custom_vjp`.
    Source: StableHLO spec, `custom_call`; XLA's documentation, "Custom calls".

    >>> from xfront import ffi
    >>> x = jnp.array([[2., 1.], [4., 5.]])
    >>> lu, pivots, info = ffi.ffi_call("lapack_sgetrf_ffi", (
    ...     x, xfront.ShapeDtypeStruct((2,), np.int32), xfront.ShapeDtypeStruct((), np.int32)),
    ...     input_layouts=[(1, 0)], output_layouts=[(1, 0), None, None])(x)
    >>> lu
    Array([[ 4. ,  5. ],
           [ 0.5, -1.5]], dtype=float32)
    """
    targets.check_name("ffi_call: target_name", target_name)
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(f"ffi_call: vmap_method must be None or one of "
                         f"{', '.join(map(repr, METHODS))}, got {vmap_method!r}")
    version = index_of(custom_call_api_version, "ffi_call: custom_call_api_version")
    if not 1 <= version <= 4:
        raise ValueError(f"ffi_call: custom_call_api_version must be 1, 2, 3 or 4, got {version!r}")
    if version == 4 and legacy_backend_config is not None:
        raise ValueError("ffi_call: legacy_backend_config requires custom_call_api_version < 4; "
                         "give attributes by keyword when the function is called")
    if not isinstance(legacy_backend_config, (str, type(None))):
        raise TypeError("ffi_call: legacy_backend_config must be a string, got "
                        f"{legacy_backend_config!r}")
    if not isinstance(has_side_effect, (bool, np.bool_)):
        raise TypeError(f"ffi_call: has_side_effect must be a bool, got {has_side_effect!r}")
    many = isinstance(result_shape_dtypes, (tuple, list))
    specs = [*result_shape_dtypes] if many else [result_shape_dtypes]
    results = tuple([_result_type(i, s) for i, s in enumerate(specs)])
    if output_layouts is None or not many:
        output_layouts = [output_layouts] * len(results)  # type: ignore[list-item]
    outs = _layouts("output_layouts", output_layouts, results)

    def call(*args: ArrayLike, **attrs: Any) -> Any:
        types = [kind_of("ffi_call", x)[0] for x in args]
        if version < 4 and attrs:
            raise ValueError("ffi_call: attributes require custom_call_api_version=4, got "
                             f"{', '.join(attrs)} with {version}; give legacy_backend_config")
        settings = (legacy_backend_config or "") if version < 4 else _config(attrs)
        made = emit(
            ops.ffi_call, *map(as_operand, args), target_name=target_name, result_types=results,
            config=settings, has_side_effect=bool(has_side_effect), vmap_method=vmap_method,
            input_layouts=_layouts(
                "input_layouts",
                [None] * len(types) if input_layouts is None else input_layouts, types),
            output_layouts=outs, custom_call_api_version=version,
            input_output_aliases=_aliases(input_output_aliases, types, results))
        made = [as_declared("ffi_call", x, s) for x, s in zip(made, specs, strict=True)]
        return type(result_shape_dtypes)(made) if many else made[0]

    return call


def _result_type(i: int, spec: Any) -> TensorType:
    """Raises: ValueError where it has no shape and dtype, or a negative size; TypeError where it is
    a key, or has a size that is no integer."""
    shape, dtype = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    if shape is None or dtype is None:
        raise ValueError("ffi_call: result_shape_dtypes must be an object with shape and dtype, or "
                         f"a tuple or list of them; got {spec!r} at position {i}")
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"ffi_call: result {i} cannot have dtype {dtype}; make keys of words by "
                        "random.wrap_key_data") from None
    return tensor(shape_of(shape, f"ffi_call: the shape of result {i}"), dtypes.from_numpy(found))


def _config(attrs: Mapping[str, Any]) -> str:
    return attributes.dict_text(attrs, lambda name: f"ffi_call: the attribute {name!r}")


def _layouts(name: str, given: Any, types: Sequence[TensorType]) -> tuple[tuple[int, ...], ...]:
    """Layouts as tuples. Raises: ValueError where they do not fit, TypeError for other objects."""
    if not isinstance(given, (tuple, list)) or len(given) != len(types):
        raise ValueError(f"ffi_call: {name} must have a layout for each of {len(types)} arrays, "
                         f"got {given!r}")
    made = []
    for layout, t in zip(given, types, strict=True):
        order = getattr(layout, "major_to_minor", layout)
        if order is None:
            order = range(t.ndim)
        elif not are_sizes(order):
            raise TypeError(f"ffi_call: {name} must have tuples of ints, Layouts or None, got "
                            f"{layout!r}")
        order = [index_of(d, f"ffi_call: an axis in {name}") for d in order]
        if sorted(order) != list(range(t.ndim)):
            raise ValueError(f"ffi_call: {name} must have a permutation of the {t.ndim} axes of "
                             f"{t}, got {layout!r}")
        made.append(tuple(order))
    return tuple(made)


def _aliases(given: Any, types: Sequence[TensorType], results: Sequence[TensorType]
             ) -> tuple[tuple[int, int], ...]:
    """Pairs of an argument and a result. Raises: TypeError, ValueError."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise TypeError("ffi_call: input_output_aliases must be a dict from positions of arguments "
                        f"to positions of results, got {given!r}")
    where = "ffi_call: a position in input_output_aliases"
    pairs = sorted([(index_of(i, where), index_of(k, where)) for i, k in given.items()])
    for i, k in pairs:
        if not (0 <= i < len(types) and 0 <= k < len(results)):
            raise ValueError(f"ffi_call: input_output_aliases has {i}: {k}, but there are "
                             f"{len(types)} arguments and {len(results)} results")
        if types[i] is not results[k]:
            raise ValueError(f"ffi_call: input_output_aliases has {i}: {k}, but argument {i} is "
                             f"{types[i]} and result {k} is {results[k]}")
    if len({k for _, k in pairs}) < len(pairs):
        raise ValueError("ffi_call: input_output_aliases gives a result the memory of two "
                         f"arguments: {given!r}")
    return tuple(pairs)


# --- registering ----------------------------------------------------------------------------------

def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = 1, *,
                        traits: int = 0) -> None:
    """Register a compiled function under a name.

    Args:
      name: name of the function in `ffi_call`.
      fn: a capsule of its address (`pycapsule`), or a dict of capsules by stage: "execute" and any
        of "instantiate", "prepare" and "initialize".
      platform: `cpu`, `cuda` (or `gpu`) or `rocm`. A function for a GPU is
        registered when the plugin of its platform is loaded.
      api_version: 1 for XLA's interface with types, 0 for the one without.
      traits: the flags of a handler that XLA's headers define.
    Raises: ValueError for another platform, version or stage; TypeError where `fn` holds anything
      but capsules; JaxRuntimeError or ValueError where the name has another function.

    >>> from xfront import ffi
    >>> ffi.register_ffi_target("scale", 3)
    Traceback (most recent call last):
    TypeError: register_ffi_target: fn must be a PyCapsule of a function's address, got 3; \
pycapsule makes one of a function of ctypes
    """
    targets.register(name, fn, platform, api_version, int(traits))


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Permit XLA to let each device call a function for its part of a batch.

    In a program on several devices, XLA may then divide a call along leading axes, which all arrays
    must share. Calls that it does not divide are made for whole arrays. `shard_map` of a function
    with such a call always divides it.

    Args:
      name: name of the function, which need not be registered yet.

    >>> from xfront import ffi
    >>> ffi.register_ffi_target_as_batch_partitionable("scale_rows")
    """
    targets.register_as_batch_partitionable(name)


def register_ffi_type(name: str, type_registration: Mapping[str, Any], platform: str = "cpu"
                      ) -> None:
    """Register the type of a state that functions keep between their stages.

    Args:
      name: name of the type, which a process registers once.
      type_registration: a dict with the capsule `type_id`, of the address of an `ffi::TypeId`, and
        `type_info`, of that of an `ffi::TypeInfo`.
      platform: as for `register_ffi_target`.
    Raises: TypeError for another `type_registration`; JaxRuntimeError where XLA refuses.

    >>> from xfront import ffi
    >>> ffi.register_ffi_type("State", {})
    Traceback (most recent call last):
    TypeError: register_ffi_type: type_registration must be a dict with the capsules 'type_id' \
and, if need be, 'type_info', got {}
    """
    targets.register_type(name, type_registration, platform)


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """The older form of `register_ffi_type`, which the installed jaxlib does not take any more.

    Args:
      name, obj, platform: the name, the capsule of an `ffi::TypeId`, and the platform.
    Raises: ValueError, whatever the arguments.

    >>> from xfront import ffi
    >>> ffi.register_ffi_type_id("State", None)
    Traceback (most recent call last):
    ValueError: register_ffi_type_id('State') is not supported by this jaxlib; write \
register_ffi_type('State', {'type_id': obj, 'type_info': ...})
    """
    raise ValueError(f"register_ffi_type_id({name!r}) is not supported by this jaxlib; write "
                     f"register_ffi_type({name!r}, {{'type_id': obj, 'type_info': ...}})")


def pycapsule(funcptr: Any) -> Any:
    """A capsule of the address of a function, for `register_ffi_target`.

    Args:
      funcptr: a function of a library that `ctypes` loaded.
    Raises: TypeError for anything else.

    >>> import ctypes
    >>> from xfront import ffi
    >>> type(ffi.pycapsule(ctypes.pythonapi.Py_IncRef)).__name__
    'PyCapsule'
    """
    return targets.capsule(funcptr)


def include_dir() -> str:
    """The folder with the headers of XLA's interface, for the compiler's option `-I`.

    >>> import os
    >>> from xfront import ffi
    >>> os.path.exists(os.path.join(ffi.include_dir(), "xla", "ffi", "api", "ffi.h"))
    True
    """
    return targets.include_dir()


# --- lowerings of primitives ----------------------------------------------------------------------

def build_ffi_lowering_function(
        call_target_name: str, *, operand_layouts: Sequence[FfiLayout] | None = None,
        result_layouts: Sequence[FfiLayout] | None = None,
        backend_config: Mapping[str, Any] | str | None = None,
        skip_ffi_layout_processing: bool = False, **lowering_args: Any) -> Callable[..., Any]:
    """A function that makes the MLIR op of a call, for a lowering of a user's own primitive.

    Args:
      call_target_name: the name under which the compiled function is registered.
      operand_layouts, result_layouts: for each array its axes from the fastest in memory to the
        slowest (the other way round than in `ffi_call`), or a `Layout`; None is row by row.
      backend_config: MLIR attributes by name, to which the primitive's params are added; a text
        with an `api_version` below 4.
      skip_ffi_layout_processing: write only the layouts that are given.
      lowering_args: `has_side_effect`, `api_version`, `operand_output_aliases`, `result_types` (of
        MLIR) and `extra_attributes`.
    Returns: a function `(ctx, *operands, **params) -> op`, where `ctx` is a LoweringRuleContext.
    Raises: TypeError for other `lowering_args`; ValueError where `backend_config` does not fit.

    >>> from xfront import ffi
    >>> make = ffi.build_ffi_lowering_function("scale", has_side_effect=True)
    """
    return mlir.custom_call_builder(
        call_target_name, operand_layouts, result_layouts, backend_config,
        bool(skip_ffi_layout_processing), lowering_args)


def ffi_lowering(call_target_name: str, *, operand_layouts: Sequence[FfiLayout] | None = None,
                 result_layouts: Sequence[FfiLayout] | None = None,
                 backend_config: Mapping[str, Any] | str | None = None,
                 skip_ffi_layout_processing: bool = False, **lowering_args: Any
                 ) -> Callable[..., Any]:
    """A lowering of a user's own primitive to the call of a compiled function.

    Args:
      call_target_name, operand_layouts, result_layouts, backend_config,
        skip_ffi_layout_processing, lowering_args: as for `build_ffi_lowering_function`.
    Returns: a rule for `interpreters.mlir.register_lowering`.

    >>> from xfront import ffi
    >>> from xfront.extend.core import Primitive
    >>> from xfront.interpreters import mlir
    >>> scale_p = Primitive("scale")
    >>> rule = mlir.register_lowering(scale_p, ffi.ffi_lowering("scale"), platform="cpu")
    """
    build = build_ffi_lowering_function(
        call_target_name, operand_layouts=operand_layouts, result_layouts=result_layouts,
        backend_config=backend_config, skip_ffi_layout_processing=skip_ffi_layout_processing,
        **lowering_args)

    def rule(ctx: mlir.LoweringRuleContext, *operands: Any, **params: Any) -> list[Any]:
        return list(build(ctx, *operands, **params).results)

    return rule


__all__ = [
    "build_ffi_lowering_function", "ffi_call", "ffi_lowering", "include_dir", "pycapsule",
    "register_ffi_target", "register_ffi_target_as_batch_partitionable", "register_ffi_type",
    "register_ffi_type_id",
]
_public("xfront.ffi", globals())
