"""What `xfront.dtypes` offers, whose file says how it is used."""

from __future__ import annotations

import copyreg
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, overload

import ml_dtypes

import numpy as np
from xfront_ir import dtypes as ir_dtypes

from .. import binding
from ..binding import canonical_dtype, promotion, scalar_dtype, x64_state
from ..binding.promotion import TypePromotionError
from ..binding.tracebacks import front_door, shorten, warn
from .holders import held_by
from .on_demand import above
from .on_demand import public as _public

if TYPE_CHECKING:
    from ..binding.likes import DTypeLike

bfloat16 = ml_dtypes.bfloat16
finfo = ml_dtypes.finfo
iinfo = ml_dtypes.iinfo
# the dtype of derivatives with respect to integers: its elements take no bytes
float0 = np.dtype([("float0", np.void, 0)])

__all__ = [
    "TypePromotionError", "bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo",
    "issubdtype", "itemsize_bits", "prng_key", "result_type", "scalar_type_of",
]  # fmt: skip

# ---- scalar type objects


class ScalarType(type):
    """Class of the scalar types; `dtype` is the NumPy dtype that one stands for."""

    dtype: np.dtype

    def __call__(cls, x: Any) -> binding.Array:
        """An array of this dtype, made from a number, from text ('inf'), from a nested list, or
        from an array, which may be traced."""
        if isinstance(x, _HOST):
            with np.errstate(all="ignore"):
                value = np.asarray(x, dtype=requested_dtype(cls.__name__, cls.dtype))
            return binding.put(value, copy=isinstance(x, np.ndarray))
        return above("creation").asarray(x, dtype=cls.dtype)

    def __eq__(cls, other: object) -> bool:
        if cls is other:
            return True
        if isinstance(other, ScalarType):
            return False
        if isinstance(other, np.dtype):
            return cls.dtype == other
        return isinstance(other, type) and cls.dtype.type is other

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.dtype.type)


_HOST = (bool, int, float, complex, str, np.generic, np.ndarray)
SCALAR_TYPES: dict[str, ScalarType] = {}


def _scalar_type(name: str) -> ScalarType:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    doc = (f"The dtype {name}; called, it makes an array of it.\n\n>>> np.dtype(jnp.{name})\n"
           f"{dtype!r}")
    made = ScalarType(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "xfront.numpy"})
    SCALAR_TYPES[name] = made
    return made


copyreg.pickle(ScalarType, lambda cls: (_named, (cls.__name__,)))


def _named(name: str) -> ScalarType:
    return SCALAR_TYPES[name]


bool_ = _scalar_type("bool")
uint2 = _scalar_type("uint2")
uint4 = _scalar_type("uint4")
uint8 = _scalar_type("uint8")
uint16 = _scalar_type("uint16")
uint32 = _scalar_type("uint32")
uint64 = _scalar_type("uint64")
int2 = _scalar_type("int2")
int4 = _scalar_type("int4")
int8 = _scalar_type("int8")
int16 = _scalar_type("int16")
int32 = _scalar_type("int32")
int64 = _scalar_type("int64")
float4_e2m1fn = _scalar_type("float4_e2m1fn")
float8_e3m4 = _scalar_type("float8_e3m4")
float8_e4m3 = _scalar_type("float8_e4m3")
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz")
float8_e4m3fn = _scalar_type("float8_e4m3fn")
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz")
float8_e5m2 = _scalar_type("float8_e5m2")
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz")
float8_e8m0fnu = _scalar_type("float8_e8m0fnu")
bfloat16 = _scalar_type("bfloat16")
float16 = _scalar_type("float16")
float32 = _scalar_type("float32")
float64 = _scalar_type("float64")
complex64 = _scalar_type("complex64")
complex128 = _scalar_type("complex128")
int_, uint, float_, complex_ = int64, uint64, float64, complex128
single, double, csingle, cdouble = float32, float64, complex64, complex128

# ---- extended types: elements that are not numbers


class extended(np.generic):
    """The kind of dtypes that NumPy does not know.

    >>> jnp.issubdtype(xfront.random.key(0).dtype, xfront.dtypes.extended)
    True
    """


class prng_key(extended):
    """The kind of dtypes of typed random keys.

    >>> jnp.issubdtype(xfront.random.key(0).dtype, xfront.dtypes.prng_key)
    True
    """


class KeyDType:
    """The dtype of typed random keys, `key<fry>`: one object per generator, compared with `is`.

    `tag` is the short name of the generator (`fry`, `rbg`, `urbg`), `impl` the full name; `words`
    is the shape of a key in `uint32`.
    """

    __slots__ = ("__weakref__", "impl", "tag", "words")

    tag: str
    impl: str
    words: tuple[int, ...]
    type = prng_key
    kind = "V"

    def __init__(self, tag: str, impl: str, words: tuple[int, ...]) -> None:
        self.tag, self.impl, self.words = tag, impl, words

    @property
    def name(self) -> str:
        """The dtype as text, `key<fry>`."""
        return f"key<{self.tag}>"

    @property
    def ir(self) -> Any:
        """The element type that stands for it in the IR."""
        return ir_dtypes.key_dtype(self.tag, self.words)

    @property
    def itemsize(self) -> int:
        """Size of a key in bytes."""
        return 4 * int(np.prod(self.words))

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple:
        return key_dtype, (self.tag,)


KEY_DTYPES: dict[str, KeyDType] = {}


def define_key_dtype(tag: str, impl: str, words: tuple[int, ...]) -> KeyDType:
    """The key dtype of a generator, made at the first call. Raises: ValueError where the tag is
    that of a dtype with other `words`."""
    made = KEY_DTYPES.setdefault(tag, KeyDType(tag, impl, words))
    if made.words != words:
        raise ValueError(f"key<{tag}> is already defined with keys of shape {made.words}, not "
                         f"{words}")
    return made


def key_dtype(tag: str) -> KeyDType:
    """The key dtype of a generator, by tag (`fry`) or full name (`threefry2x32`)."""
    for made in KEY_DTYPES.values():
        if tag in (made.tag, made.impl):
            return made
    raise ValueError(f"there is no key implementation called {tag!r}; the known ones are "
                     f"{sorted(made.impl for made in KEY_DTYPES.values())}")


define_key_dtype("fry", "threefry2x32", (2,))
define_key_dtype("rbg", "rbg", (4,))
define_key_dtype("urbg", "unsafe_rbg", (4,))


def is_extended(dtype: Any) -> bool:
    """Whether a dtype is one that NumPy does not know, a key type."""
    return type(dtype) is KeyDType


# ---- from what users write to a dtype

_PYTHON = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
_PYTHON_DTYPES = {kind: np.dtype(name) for kind, name in _PYTHON.items()}


def as_dtype(x: Any) -> Any:
    """The NumPy dtype (or key type) that `x` stands for; 64-bit dtypes stay. Raises: TypeError
    where `x` does not stand for a dtype."""
    if type(x) is np.dtype or is_extended(x):
        return x
    if isinstance(x, ScalarType):
        return x.dtype
    if type(x) is type and x in _PYTHON_DTYPES:
        return _PYTHON_DTYPES[x]
    if isinstance(x, str) and x in SCALAR_TYPES:
        return SCALAR_TYPES[x].dtype
    if isinstance(x, str) and x.startswith("key<"):
        return key_dtype(x.removeprefix("key<").removesuffix(">"))
    try:
        return np.dtype(x)
    except TypeError as error:
        raise TypeError(f"{error}{_meant(x)}") from None


def _meant(x: Any) -> str:
    """A hint about what the user may have meant by `x`, which is not a dtype."""
    if isinstance(x, str):
        import difflib  # only errors need it

        close = difflib.get_close_matches(x, SCALAR_TYPES, 1)
        return f"; did you mean {close[0]!r}?" if close else ""
    if isinstance(x, int):
        return "; if it is a size, write all sizes as one tuple: ones((2, 3)), not ones(2, 3)"
    return ""


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays get when a user names this one: 64-bit dtypes become 32-bit unless
    64-bit mode is on.

    Args:
      dtype: anything that stands for a dtype; None means the default float.
      allow_extended_dtype: whether key types are accepted.
    Raises: TypeError where `dtype` is not a dtype; ValueError for a key type that is not accepted.

    >>> xfront.dtypes.canonicalize_dtype("float64")
    dtype('float32')
    """
    found = as_dtype(dtype)
    if is_extended(found):
        if not allow_extended_dtype:
            raise ValueError(f"the dtype must be numeric or bool here, got the key type {found}")
        return found
    return canonical_dtype(found)


_LONG_DOUBLES = {np.dtype("g"), np.dtype("G")} - {np.dtype("float64"), np.dtype("complex128")}


def requested_dtype(where: str, dtype: Any) -> Any:
    """The dtype that arrays get for a dtype that the user wrote, as `canonicalize_dtype`; warns
    about a 64-bit dtype while 64-bit mode is off.

    Raises: TypeError for dtypes of text, objects and dates, of the other byte order and of long
      doubles; ValueError for key types and arrays.
    """
    if hasattr(dtype, "ndim") and not isinstance(dtype, (type, np.dtype, np.generic)):
        raise ValueError(f"{where}: dtype must not be an array; pass its dtype, {dtype.dtype}")
    found = as_dtype(dtype)
    if is_extended(found):
        return found
    if found.kind not in "biufc" and found.name not in SCALAR_TYPES and found != float0:
        raise TypeError(f"{where}: arrays cannot have the dtype {found}; they can only hold "
                        "numbers and bools")
    if not found.isnative or found in _LONG_DOUBLES:
        raise TypeError(f"{where}: arrays cannot have the dtype {found}, only dtypes of this "
                        "machine's byte order and of at most 64 bits, or 128 for complex numbers")
    narrow = canonical_dtype(found)
    if narrow is not found and narrow != found and type(dtype) is not type:
        advice = "Switch them on with config.update('jax_enable_x64', True) or JAX_ENABLE_X64=1"
        if explicit_x64_dtypes() == "error":
            raise ValueError(f"{where}: dtype {found} was requested, but 64-bit dtypes are off. "
                             f"{advice}")
        warn(
            f"Explicitly requested dtype {found} is not available, so {where} truncates it to "
            f"dtype {narrow}: 64-bit dtypes are off. {advice}",
            UserWarning,
        )
    return narrow


def explicit_x64_dtypes() -> str:
    """The value of the option `explicit_x64_dtypes`."""
    from .config import explicit_x64_dtypes as option  # late: options are read after dtypes

    return option.value


# ---- functions on dtypes

_KINDS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Whether dtype `arg1` is of the kind or dtype `arg2`, those of ml_dtypes and keys included.

    Args:
      arg1: anything that stands for a dtype, or a kind (`np.floating`).
      arg2: a kind (`np.integer`, `extended`, `prng_key`) or a dtype.
    Source: `numpy.issubdtype`.

    >>> issubdtype("bfloat16", np.floating), issubdtype("int4", np.unsignedinteger)
    (True, False)
    """
    try:
        kind_a, kind_b = _type_of(arg1), _type_of(arg2)
        if kind_a is kind_b:
            return True
        if issubclass(kind_b, extended) or issubclass(kind_a, extended):
            return issubclass(kind_a, kind_b)
        base = _ML_BASES.get(kind_a)
        if base is not None:
            return issubclass(base, kind_b) if kind_b not in _ML_BASES else False
        return issubclass(kind_a, kind_b)
    except BaseException as error:
        shorten(error)
        raise


def _type_of(x: Any) -> type:
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    if isinstance(getattr(x, "type", None), type) and issubclass(x.type, np.generic):
        return x.type
    return as_dtype(x).type


_ML_BASES: dict[type, type] = {}
for _scalar in SCALAR_TYPES.values():
    if _scalar.dtype.type.__module__.startswith("ml_dtypes"):
        _kind = promotion.dtype_kind(_scalar.dtype)
        _ML_BASES[_scalar.dtype.type] = {
            "f": np.floating, "i": np.signedinteger, "u": np.unsignedinteger,
        }[_kind]  # fmt: skip


def itemsize_bits(dtype: Any) -> int:
    """The number of bits of an element in an array on a device: 4 for `int4`.

    >>> xfront.dtypes.itemsize_bits("int4"), xfront.dtypes.itemsize_bits("float32")
    (4, 32)
    """
    found = as_dtype(dtype)
    if is_extended(found):
        return 8 * found.itemsize
    if found.name[-1:].isdigit() and promotion.dtype_kind(found) in "iu":
        return int(found.name.lstrip("uint"))
    return 4 if found.name == "float4_e2m1fn" else 8 * found.itemsize


def scalar_type_of(x: Any) -> type:
    """The Python scalar class of a value's kind: `bool`, `int`, `float` or `complex`.

    Raises: TypeError where the value is not a number.

    >>> xfront.dtypes.scalar_type_of(jnp.ones(2)), xfront.dtypes.scalar_type_of(True)
    (<class 'float'>, <class 'bool'>)
    """
    if type(x) in _KINDS.values():
        return type(x)
    dtype = None if isinstance(x, type) else getattr(x, "dtype", None)
    found = as_dtype(x if dtype is None else dtype)
    kind = None if is_extended(found) else promotion.dtype_kind(found)
    if kind not in _KINDS or found == float0:
        raise TypeError(f"values of dtype {found} are not numbers")
    return _KINDS[kind]


def dtype_and_weakness(x: Any) -> tuple[Any, bool]:
    """(dtype, weak) of an array, of a scalar, or of anything that stands for a dtype, with 64-bit
    dtypes only in 64-bit mode. Raises: TypeError for lists and other objects."""
    kind = type(x)
    if kind in _PYTHON_DTYPES:
        return scalar_dtype(kind), kind is not bool
    if kind is type and x in _PYTHON_DTYPES:
        return scalar_dtype(x), x is not bool
    if isinstance(x, ScalarType):
        return canonical_dtype(x.dtype), False
    dtype = getattr(x, "dtype", None)
    if dtype is not None and not isinstance(x, type):
        weak = bool(getattr(x, "weak_type", False))
        return (dtype if is_extended(dtype) else canonical_dtype(np.dtype(dtype))), weak
    for python in (bool, int, float, complex):  # subclasses; NumPy's scalars have been found before
        if isinstance(x, python):
            return scalar_dtype(python), python is not bool
    if x is None or isinstance(x, str | np.dtype | type | KeyDType):
        return canonicalize_dtype(x, allow_extended_dtype=True), False
    if hasattr(x, "__jax_array__"):
        return dtype_and_weakness(held_by(x))
    if hasattr(x, "__array__"):
        return canonical_dtype(np.asarray(x).dtype), False
    raise TypeError(f"{x!r} of {kind} has no dtype; pass an array, a scalar or a dtype")


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> np.dtype: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> tuple[np.dtype, bool]: ...
@overload
def result_type(*args: Any, return_weak_type_flag: bool = False
               ) -> np.dtype | tuple[np.dtype, bool]: ...
def result_type(*args: Any, return_weak_type_flag: bool = False
               ) -> np.dtype | tuple[np.dtype, bool]:
    """The dtype to which operands promote together.

    Args:
      *args: arrays, scalars and dtypes; Python scalars and their classes are weakly typed.
      return_weak_type_flag: whether the result is (dtype, weak) instead.
    Raises: ValueError without operands; TypePromotionError (a ValueError) where they have no common
      dtype; TypeError for an operand without a dtype.
    Source: JAX's documentation, "Type promotion semantics".

    >>> result_type(1, np.float16), result_type("int8", "uint8")
    (dtype('float16'), dtype('int16'))
    """
    try:
        if not args:
            raise ValueError("result_type: at least one array or dtype is required")
        types = [dtype_and_weakness(arg) for arg in args]
        if any(is_extended(dtype) for dtype, _ in types):
            found = _only_extended(types)
        else:
            found = promotion.promote_all("result_type", types)
        return found if return_weak_type_flag else found[0]
    except BaseException as error:
        shorten(error)
        raise


def _only_extended(types: Iterable[tuple[Any, bool]]) -> tuple[Any, bool]:
    kinds = list({id(dtype): dtype for dtype, _ in types}.values())
    if len(kinds) > 1:
        shown = " and ".join(str(dtype) for dtype in kinds)
        raise TypePromotionError(f"{shown} cannot be promoted: a key array can only be combined "
                                 "with keys of its own dtype")
    return kinds[0], False


@front_door
def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype:
    """The dtype to which two dtypes promote. Where one of them has 64 bits, it may have 64 bits
    even with 64-bit mode off.

    Args:
      a, b: anything that stands for a dtype; Python's `int`, `float`, `complex` are weak.
    Raises: TypePromotionError where they have no common dtype.
    Source: `numpy.promote_types`.

    >>> jnp.promote_types("int32", "float16")
    dtype('float16')
    """
    types = []
    for x in (a, b):
        dtype = as_dtype(x)
        types.append((dtype, type(x) is type and x in (int, float, complex)))
    if any(is_extended(dtype) for dtype, _ in types):
        return _only_extended(types)[0]
    before = x64_state.swap_local(True)
    try:
        found = promotion.promote_all("promote_types", types)[0]
    finally:
        x64_state.set_local(before)
    narrow = all([dtype.itemsize < 8 for dtype, _ in types])
    return canonicalize_dtype(found) if narrow else found      # int64 of uint32 and int32


_public("xfront.dtypes", globals())
