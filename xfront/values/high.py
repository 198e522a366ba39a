"""Types of a library's own: their base classes, and the tracers of their values.

A value of such a type is an object of a registered class. The type takes it apart into arrays, its
parts, and makes a value of parts again; programs know only the parts. In a trace a `HiTracer`
stands for a value that does not change; a value that changes is an object of its class there too,
with traced parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn


class aval_property(NamedTuple):
    """An attribute of a type that its traced values have: `fget(value)`.

    >>> class Doubled(hijax.HiType):
    ...     name = hijax.aval_property(lambda value: "doubled")
    """

    fget: Callable[[Any], Any]


class aval_method(NamedTuple):
    """A method of a type that its traced values have: `fun(value, *args)`.

    >>> class Doubled(hijax.HiType):
    ...     half = hijax.aval_method(lambda value: value)
    """

    fun: Callable[..., Any]


class MappingSpec:
    """The base of specs by which a value of a type of one's own is mapped over an axis."""


class HiPspec:
    """The base of specs by which a value of a type of one's own is divided over a mesh. They can be
    declared, but `shard_map` takes no values of such types."""

    def to_lo(self) -> NoReturn:
        """The specs of the parts. Raises: NotImplementedError unless a class derived from it has
        the method."""
        raise _missing(self, "to_lo")

    def to_tangent_spec(self) -> NoReturn:
        """The spec of tangents. Raises: NotImplementedError, as `to_lo`."""
        raise _missing(self, "to_tangent_spec")

    def to_ct_spec(self) -> Any:
        """The spec of cotangents: that of tangents."""
        return self.to_tangent_spec()


def _missing(self: Any, method: str) -> NotImplementedError:
    return NotImplementedError(f"{type(self).__name__} must define `{method}` for this")


class HiType:
    """The base of a type of one's own, whose values do not change. A class derived from it has `==`
    and a hash, and the methods

    - `lo_ty()`: a list of the types of the parts;
    - `lower_val(value)`: the parts; `raise_val(*parts)`: the value;
    - `to_tangent_aval()`: the type of tangents; `to_ct_aval()`, that of cotangents, is the same;
    - `dec_rank(size, spec)` and `inc_rank(size, spec)`: the type of one example and that of a
      batch, for `vmap` and `scan`; `leading_axis_spec()`: the spec where the first axis of each
      part is mapped.

    Operators of traced values are methods such as `_add(self, x, y)`; other attributes are declared
    with `aval_property` and `aval_method`.

    >>> class Pair(hijax.HiType):
    ...     def lo_ty(self): return [hijax.ShapedArray((), np.float32)] * 2
    >>> len(Pair().lo_ty())
    2
    """

    is_high = True
    has_qdd = False
    weak_type = False

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    if TYPE_CHECKING:                            # what they take is a type's own matter
        dec_rank: Any
        inc_rank: Any
        leading_axis_spec: Any
        lo_ty: Any
        lower_val: Any
        raise_val: Any
        to_ct_aval: Any
        to_tangent_aval: Any
        vspace_add: Any
        vspace_zero: Any
    else:
        def lo_ty(self) -> list[Any]:
            """Types of the parts. Raises: NotImplementedError unless the type has the method."""
            raise _missing(self, "lo_ty")

        def lower_val(self, hi_val: Any) -> list[Any]:
            """The parts of a value. Raises: NotImplementedError, as `lo_ty`."""
            raise _missing(self, "lower_val")

        def raise_val(self, *lo_vals: Any) -> Any:
            """The value of these parts. Raises: NotImplementedError, as `lo_ty`."""
            raise _missing(self, "raise_val")

        def to_tangent_aval(self) -> Any:
            """The type of tangents. Raises: NotImplementedError, as `lo_ty`."""
            raise _missing(self, "to_tangent_aval")

        def to_ct_aval(self) -> Any:
            """The type of cotangents: that of tangents."""
            return self.to_tangent_aval()

        def dec_rank(self, size: int | None, spec: Any) -> Any:
            """The type of one example. Raises: NotImplementedError, as `lo_ty`."""
            raise _missing(self, "dec_rank")

        def inc_rank(self, size: int | None, spec: Any) -> Any:
            """The type of a batch. Raises: NotImplementedError, as `lo_ty`."""
            raise _missing(self, "inc_rank")

        def leading_axis_spec(self) -> Any:
            """The spec of a batch along the first axes. Raises: NotImplementedError, as `lo_ty`."""
            raise _missing(self, "leading_axis_spec")

        def vspace_zero(self) -> Any:
            """The zero of a type of tangents. Raises: NotImplementedError, as `lo_ty`."""
            raise _missing(self, "vspace_zero")

        def vspace_add(self, x: Any, y: Any) -> Any:
            """The sum of two values of a type of tangents. Raises: NotImplementedError, likewise.
            """
            raise _missing(self, "vspace_add")

    def normalize(self) -> Any:
        """The type itself."""
        return self

    strip_weak_type = normalize

    def str_short(self, short_dtypes: bool = False, **_: Any) -> str:
        """The type as text."""
        return str(self)


class MutableHiType(HiType):
    """The base of a type of one's own whose values change. Beside the type, a value has a state,
    which can change: `jax.experimental.cur_qdd(value)`, the result of its method `cur_qdd`.
    A class derived from it has the methods

    - `lo_ty_qdd(state)`: a list of the types of the parts;
    - `read_loval(state, value)`: the parts; `new_from_loval(state, *parts)`: a value of them;
    - `update_from_loval(state, value, *parts)`: give a value another state.

    >>> issubclass(hijax.MutableHiType, hijax.HiType)
    True
    """

    has_qdd = True


class HiTracer:
    """A traced value of a type of one's own: `aval`, its type, and its parts.

    The tangents of such a value mostly have another type than its parts. So beside the parts stand
    carriers: zeros of the type of tangents, which nothing reads and whose tangents are those of the
    value.
    """

    __slots__ = ("aval", "carriers", "parts")

    def __init__(self, aval: Any, parts: Sequence[Any], carriers: Sequence[Any] | None) -> None:
        self.aval, self.parts, self.carriers = aval, tuple(parts), carriers

    def __repr__(self) -> str:
        return f"HiTracer<{self.aval}>"

    def __getattr__(self, name: str) -> Any:
        try:
            found = getattr(self.aval, name)
        except AttributeError:
            raise AttributeError(f"a traced value of type {self.aval} has no attribute {name!r}; "
                                 "its type may have it, as an aval_property or aval_method"
                                 ) from None
        if type(found) is aval_property:
            return found.fget(self)
        return MethodType(found.fun, self) if type(found) is aval_method else found


_OPERATORS = """add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or
radd rsub rmul rmatmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand rxor ror
neg pos abs invert eq ne lt le gt ge getitem setitem len iter contains bool int float complex
index round""".split()


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: HiTracer, *args: Any) -> Any:
        found = getattr(self.aval, f"_{name}", None)
        if found is None:
            if name in ("eq", "ne"):
                return (self is args[0]) == (name == "eq")
            if name == "bool":
                return True
            raise TypeError(f"a traced value of type {self.aval} has no operator {name}: its type "
                            f"has no method `_{name}`")
        return found(self, *args)

    apply.__name__ = f"__{name}__"
    return apply


for _name in _OPERATORS:
    setattr(HiTracer, f"__{_name}__", _operator(_name))
HiTracer.__hash__ = object.__hash__  # type: ignore[method-assign]

TYPES: dict[type, Callable[[Any], Any]] = {}
"""For each registered class, the function from a value to its type."""


def is_high(x: Any) -> bool:
    """Whether a value is of a type of a library's own."""
    return type(x) is HiTracer or type(x) in TYPES


def type_of_high(x: Any) -> Any:
    """The type of such a value."""
    return x.aval if type(x) is HiTracer else TYPES[type(x)](x)
