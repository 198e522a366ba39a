"""The Tracer: the object with which a traced function computes in place of an array.

It holds its trace and its IR value. Other files attach the rest: `methods/operators.py` the methods
and operators of Array, `running/concrete.py` what answers Python's questions (`bool`, `int`, ...).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from xfront_ir.core import Value
from xfront_ir.passes.varying import NOWHERE

from .. import binding
from ..values.keys import key_dtype


class Tracer(binding.Array):  # type: ignore[misc]
    """A value that is being recorded: shape and dtype are known, elements are not.

    Its `home` is the `Trace` that records it.
    """

    __slots__ = ("__weakref__", "home", "value", "weak")

    __array_priority__ = 1000

    def __init__(self, home: Any, value: Value, weak: bool) -> None:
        self.home, self.value, self.weak = home, value, weak

    def _is_traced_array(self) -> bool:
        return True

    # --- known facts ---------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape, a tuple of ints."""
        return self.value.type.shape

    @property
    def dtype(self) -> Any:
        """Element type: a NumPy dtype or a key dtype."""
        dtype = self.value.type.dtype
        return dtype.numpy if not dtype.is_key else key_dtype(dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.value.type.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.value.type.size

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes."""
        return self.value.type.dtype.numpy.itemsize

    @property
    def nbytes(self) -> int:
        """Size of all elements in bytes."""
        return self.size * self.itemsize

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to that of the other operand in promotion."""
        return self.weak

    @property
    def aval(self) -> Any:
        """Shape, dtype and weakness as one object, with the explicit mesh axes that divide the
        array and the `shard_map` axes over which it varies."""
        made = binding.AbstractArray(self.shape, self.dtype, self.weak,
                                     sharding=self.value.type.sharding)
        return made if self.home.following is None else made.varying_as(self)

    @property
    def varies(self) -> frozenset[str]:
        """The axes of the `shard_map`s around over which the value may differ between devices;
        none for `shard_map`s without `check_vma`.

        Raises: NotImplementedError where the axes are not known yet.
        """
        following = self.home.following
        return NOWHERE if following is None else following.of(self.value)

    @property
    def sharding(self) -> NoReturn:
        """Unknown while tracing. Raises: AttributeError."""
        raise AttributeError("a traced array has no sharding: it is not on a device")

    @property
    def committed(self) -> bool:
        """False: a traced array is not committed to a device."""
        return False

    @property
    def _trace(self) -> Any:
        """The trace of this tracer, by the name that libraries use."""
        return self.home

    def __len__(self) -> int:
        if not self.value.type.shape:
            raise TypeError("len() of unsized object")
        return self.value.type.shape[0]

    def __repr__(self) -> str:
        return f"Tracer<{self.value.type}{' weak' if self.weak else ''}, {self.home.kind}>"

    __str__ = __repr__

    __hash__ = None  # type: ignore[assignment]

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def block_until_ready(self) -> Tracer:
        """The tracer itself: there is nothing to wait for while tracing."""
        return self

    def copy_to_host_async(self) -> None:
        """Do nothing: there is no array to copy while tracing."""

    def is_deleted(self) -> bool:
        """False: a traced array cannot be deleted."""
        return False

    def __iter__(self) -> Any:
        if not self.value.type.shape:
            raise TypeError("iteration over a 0-d array")
        return iter([self[i] for i in range(self.value.type.shape[0])])

    def __reduce__(self) -> NoReturn:
        raise TypeError("a traced array cannot be pickled; return it from the traced function")

    if TYPE_CHECKING:                            # attached by methods/operators.py
        def __abs__(self) -> Tracer: ...
        def __neg__(self) -> Tracer: ...
        def __invert__(self) -> Tracer: ...
        def __add__(self, other: Any, /) -> Tracer: ...
        def __radd__(self, other: Any, /) -> Tracer: ...
        def __sub__(self, other: Any, /) -> Tracer: ...
        def __rsub__(self, other: Any, /) -> Tracer: ...
        def __mul__(self, other: Any, /) -> Tracer: ...
        def __rmul__(self, other: Any, /) -> Tracer: ...
        def __truediv__(self, other: Any, /) -> Tracer: ...
        def __rtruediv__(self, other: Any, /) -> Tracer: ...
        def __and__(self, other: Any, /) -> Tracer: ...
        def __or__(self, other: Any, /) -> Tracer: ...
        def __xor__(self, other: Any, /) -> Tracer: ...
        def __eq__(self, other: Any, /) -> Tracer: ...  # type: ignore[override]
        def __ne__(self, other: Any, /) -> Tracer: ...  # type: ignore[override]
        def __lt__(self, other: Any, /) -> Tracer: ...
        def __le__(self, other: Any, /) -> Tracer: ...
        def __gt__(self, other: Any, /) -> Tracer: ...
        def __ge__(self, other: Any, /) -> Tracer: ...

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TypeError("arrays are immutable and do not support item assignment: in place of "
                        "`x[index] = y` write `x = x.at[index].set(y)`, in place of "
                        "`x[index] += y` `x = x.at[index].add(y)`")


def as_tracer(x: Any) -> Tracer:
    """`x` itself, typed as a Tracer: the result of a public function inside a traced body."""
    return x


def install(members: dict[str, Any]) -> None:
    """Attach operators and methods (plain Python functions) to the class Tracer."""
    for name, member in members.items():
        setattr(Tracer, name, member)
