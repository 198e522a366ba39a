"""Promotion: the dtype to which values of different dtypes are converted.

Types form a lattice: `bool` is below the weak integers (`int*`, the type of a Python int), these
are below every integer dtype, integers below the weak floats (`float*`), and so on. Values meet at
the least type that is above the types of all. All weak types of a kind are one node, whatever their
width; where values meet at a weak node, the result is weak and has the default dtype of the kind.
In the mode "strict" only weak values adapt; it holds for the user's own operands. Tables are
memoised; 64-bit mode and the mode of promotion are part of the key.
"""
# hot: benchmarks/trace.py

from __future__ import annotations

from collections.abc import Iterable

import ml_dtypes

import numpy as np

from . import make_state, x64_state
from .caller import users_own

# "standard" or "strict"; `xfront.config` sets it.
mode_state = make_state("numpy_dtype_promotion", "standard")


class TypePromotionError(ValueError):
    """The dtypes of the values have no common dtype, or none that the mode of promotion allows.

    >>> with xfront.numpy_dtype_promotion("strict"):
    ...     try:
    ...         jnp.ones(2, "int32") + jnp.ones(2)
    ...     except xfront.dtypes.TypePromotionError as error:
    ...         print(str(error).partition(" have")[0])
    Input dtypes float32 and int32
    """


_NARROW_INTS = ("int2", "int4", "uint2", "uint4")
_NARROW_FLOATS = tuple(
    name
    for name in (
        "float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz",
        "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "float6_e2m3fn",
        "float6_e3m2fn",
    )
    if hasattr(ml_dtypes, name)
)  # fmt: skip
_INTS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
_FLOATS = ("bfloat16", "float16", "float32", "float64")
_COMPLEX = ("complex64", "complex128")

# Each type and the types directly above it.
_STANDARD = {
    "bool": ("int*",),
    "int*": ("uint8", "int8", *_NARROW_INTS),
    "uint8": ("uint16", "int16"),
    "uint16": ("uint32", "int32"),
    "uint32": ("uint64", "int64"),
    "uint64": ("float*",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float*",),
    "float*": ("complex*", "bfloat16", "float16", *_NARROW_FLOATS),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex*": ("complex64",),
    "complex64": ("complex128",),
    "complex128": (),
    **{name: () for name in (*_NARROW_INTS, *_NARROW_FLOATS)},
}
# In the strict mode a dtype meets only itself; weak types adapt to dtypes of their kind and above.
_STRICT = {
    **{name: () for name in _STANDARD},
    "int*": ("float*", *_INTS, *_NARROW_INTS),
    "float*": ("complex*", *_FLOATS, *_NARROW_FLOATS),
    "complex*": _COMPLEX,
}
_WEAK_NODES = {"b": "bool", "i": "int*", "u": "int*", "f": "float*", "c": "complex*"}
_WEAK_DTYPES = {
    False: {"int*": "int32", "float*": "float32", "complex*": "complex64"},
    True: {"int*": "int64", "float*": "float64", "complex*": "complex128"},
}
_NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}


def _above(lattice: dict[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """For each node, itself and everything above it."""
    table: dict[str, frozenset[str]] = {}

    def collect(node: str) -> frozenset[str]:
        if node not in table:
            table[node] = frozenset({node}).union(*(collect(up) for up in lattice[node]))
        return table[node]

    for node in lattice:
        collect(node)
    return table


_ABOVE = {"standard": _above(_STANDARD), "strict": _above(_STRICT)}
_memo: dict[tuple, tuple[np.dtype, bool]] = {}


def dtype_kind(dtype: np.dtype) -> str:
    """The letter of a dtype's kind: b, i, u, f or c, also for dtypes that NumPy does not know."""
    if dtype.kind != "V":
        return dtype.kind
    name = dtype.name
    return "u" if name.startswith("uint") else "i" if name.startswith("int") else "f"


def _node(dtype: np.dtype, weak: bool) -> str:
    if weak:
        return _WEAK_NODES[dtype_kind(dtype)]
    name = dtype.name
    if name not in _STANDARD:
        raise TypePromotionError(f"{name} is not a dtype that arrays can have, so it cannot be "
                                 "promoted")
    return name


def join(types: Iterable[tuple[np.dtype, bool]], mode: str = "standard") -> str:
    """The node at which types (dtype, weak) meet: a dtype's name, or `int*`, `float*`, `complex*`.

    Raises: TypePromotionError where there is none.
    """
    above = _ABOVE[mode]
    nodes = {_node(dtype, weak) for dtype, weak in types}
    if len(nodes) == 1:
        return nodes.pop()
    common = frozenset.intersection(*(above[node] for node in nodes))
    least = [node for node in common if common <= above[node]]
    if len(least) == 1:
        return least[0]
    texts = sorted(nodes)
    shown = ", ".join(texts[:-1]) + " and " + texts[-1]
    if mode == "strict":
        try:
            wider = join(types)
        except TypePromotionError:
            wider = None
        hint = f"; under 'standard' they would be promoted to {wider}" if wider else ""
        raise TypePromotionError(
            f"Input dtypes {shown} have no available implicit dtype promotion path when "
            f"jax_numpy_dtype_promotion=strict{hint}. Cast one of them with x.astype(dtype)"
        )
    raise TypePromotionError(
        f"no dtype holds both {shown} without loss, so they are not promoted. "
        "Cast one of them with x.astype(dtype)"
    )


def _resolve(
    types: tuple[tuple[np.dtype, bool], ...], x64: bool, mode: str
) -> tuple[np.dtype, bool]:
    node = join(types, mode)
    if node.endswith("*"):
        unsigned = mode == "standard" and all(
            weak and dtype_kind(dtype) == "u" and dtype == types[0][0] for dtype, weak in types
        )
        name = _WEAK_DTYPES[x64][node]
        return np.dtype("u" + name if unsigned else name), True
    if not x64:
        node = _NARROW.get(node, node)
    return dtype_named(node), False


def dtype_named(name: str) -> np.dtype:
    """The NumPy dtype with a name, which may be that of a dtype of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name, name) if name not in ("finfo", "iinfo") else name)


def promote(d1: np.dtype, w1: bool, d2: np.dtype, w2: bool) -> tuple[np.dtype, bool]:
    """The dtype and weakness at which two values meet.

    Args:
      d1, d2: NumPy dtypes of the values.
      w1, w2: whether the values are weakly typed.
    Returns: (dtype, weak); dtypes of 64 bits only in 64-bit mode.
    Raises: TypePromotionError where they do not meet.
    Source: JAX's documentation, "Type promotion semantics".
    """
    key = (d1, w1, d2, w2, x64_state.value, mode_state.value)
    try:
        return _memo[key]
    except KeyError:
        found = _memo[key] = _resolve(((d1, w1), (d2, w2)), *key[4:])
        return found


def promote_all(name: str, types: Iterable[tuple[np.dtype, bool]]) -> tuple[np.dtype, bool]:
    """The dtype and weakness at which any number of values meet, all together.

    Args:
      name: name of the function whose operands they are. Strict promotion holds where the user
        called it, not where another function of the library did.
      types: a pair (dtype, weak) for each value.
    Raises: ValueError without values; TypePromotionError where they do not meet.
    """
    given = tuple(types)
    x64, mode = x64_state.value, mode_state.value
    key = (given, x64, mode)
    try:
        return _memo[key]
    except KeyError:
        if not given:
            raise ValueError("at least one array or dtype is required") from None
        try:
            found = _memo[key] = _resolve(given, x64, mode)
        except TypePromotionError:
            if mode == "standard" or users_own(name):
                raise
            found = _resolve(given, x64, "standard")   # not memoised: users' operands are refused
        return found
