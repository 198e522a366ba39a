"""Operators, indexing and NumPy's methods, on Array, Tracer and KeyArray alike.

On Array the operators are compiled functions that Python binds as methods; on Tracer they are plain
functions. For an operand that is not an array they return `NotImplemented`, so that Python asks the
other operand or raises its TypeError; lists, tuples, sets and dicts are refused here.
"""

# hot: benchmarks/eager.py

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import numpy as jnp
from ..base.config import debug_key_reuse
from ..binding.tracebacks import shorten
from ..eager.dispatch import Front
from ..eager.operands import SCALARS, is_array_like
from ..numpy import arithmetic, bits, complexes, logic
from ..numpy.creation import astype
from ..numpy.indexed_updates import At
from ..numpy.indexing import getitem
from ..tracing import tracer
from ..tracing.tracer import Tracer
from ..values.keys import KeyArray
from . import of_arrays as methods

# --- operators ----------------------------------------------------------------------------


def _matmul(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y)  # type: ignore[attr-defined]


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": arithmetic.add, "sub": arithmetic.subtract, "mul": arithmetic.multiply,
    "truediv": arithmetic.divide, "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder,
    "divmod": arithmetic.divmod, "matmul": _matmul, "and": bits.bitwise_and,
    "or": bits.bitwise_or, "xor": bits.bitwise_xor, "lshift": bits.left_shift,
    "rshift": bits.right_shift,
}  # fmt: skip
"""Operators that have a reflected form."""

COMPARISONS = {"lt": logic.less, "le": logic.less_equal, "gt": logic.greater,
               "ge": logic.greater_equal}
EQUALITIES = {"eq": logic.equal, "ne": logic.not_equal}
UNARY = {"neg": arithmetic.negative, "pos": arithmetic.positive, "abs": arithmetic.absolute,
         "invert": bits.invert}


class Operator(Front):
    """The compiled side of an operator."""

    __slots__ = ()

    def miss(self, *args: Any) -> tuple:
        """Called from C++, as for other functions; returns NotImplemented for operands that are not
        arrays."""
        for x in args:
            if not is_array_like(x):
                refuse_container(self.name, x)
                return NotImplemented, None, True
        return Front.miss(self, *args)


_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "divmod": "divmod()", "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<",
    "rshift": ">>", "pow": "** or pow()", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "eq": "==", "ne": "!=",
}  # fmt: skip


def refuse_container(name: str, x: Any) -> None:
    """Raise the TypeError of an operator whose operand is a list, tuple, set or dict.

    After NotImplemented, Python would return False for `==`, and raise an error about lists for `+`
    and `*`. Subclasses of these containers may have operators of their own, so Python asks them.
    """
    kind = type(x)
    if kind not in (list, tuple, set, dict):
        return
    own = name.strip("_")
    symbol = _SYMBOLS.get(own) or _SYMBOLS[own[1:]]
    kinds = ("Array", kind.__name__) if own in _SYMBOLS else (kind.__name__, "Array")
    hint = f"; convert the {kind.__name__} with jnp.array(...)" if kind in (list, tuple) else ""
    raise TypeError(f"unsupported operand type(s) for {symbol}: {kinds[0]!r} and {kinds[1]!r}"
                    f"{hint}")


def swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`function` with its two arguments exchanged."""
    def reflected(x: Any, y: Any) -> Any:
        return function(y, x)

    return reflected


def _plain(name: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator in Python, for Tracer and KeyArray."""
    def operator(self: Any, other: Any) -> Any:
        try:
            kind = type(other)
            if kind is not Tracer and kind not in SCALARS and not is_array_like(other):
                refuse_container(name, other)
                return NotImplemented
            return function(self, other)
        except BaseException as error:
            shorten(error)
            raise

    operator.__name__ = operator.__qualname__ = name
    return operator


def _body(function: Any) -> Any:
    return getattr(function, "body", function)


def _pow(x: Any, y: Any, mod: None = None) -> Any:
    if type(y) is int and mod is None:
        return arithmetic.integer_power(x, y)
    if mod is None and is_array_like(y):
        return arithmetic.power(x, y)
    try:
        refuse_container("__pow__", y)
    except BaseException as error:
        shorten(error)
        raise
    return NotImplemented


def _rpow(x: Any, y: Any, mod: None = None) -> Any:
    if mod is None and is_array_like(y):
        return arithmetic.power(y, x)
    try:
        refuse_container("__rpow__", y)
    except BaseException as error:
        shorten(error)
        raise
    return NotImplemented


def _round(x: Any, ndigits: int | None = None) -> Any:
    """Elements rounded to `ndigits` decimals; rounded to integers where that is None."""
    made = jnp.round(x, ndigits or 0)
    whole = ndigits is None and made.dtype != bool and not jnp.iscomplexobj(made)
    return made.astype(int) if whole else made


def operators() -> tuple[dict[str, Any], dict[str, Any]]:
    """The compiled operators for Array, and the Python operators for Tracer, by name."""
    compiled: dict[str, Any] = {}
    plain: dict[str, Any] = {}

    def both(name: str, function: Callable[[Any, Any], Any], body: Any) -> None:
        compiled[name] = Operator(body, name, ()).compiled
        plain[name] = _plain(name, function)

    for name, function in BINARY.items():
        body = _body(function)
        both(f"__{name}__", function, body)
        both(f"__r{name}__", swapped(function), swapped(body))
    for name, function in (COMPARISONS | EQUALITIES).items():
        both(f"__{name}__", function, _body(function))
    for name, unary in UNARY.items():
        compiled[f"__{name}__"] = Operator(_body(unary), name, ()).compiled
        plain[f"__{name}__"] = _as_method(f"__{name}__", unary)
    for table in (compiled, plain):
        table.update(__pow__=_pow, __rpow__=_rpow, __round__=_round, __getitem__=getitem)
    return compiled, plain


def _as_method(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return function(self)

    method.__name__ = method.__qualname__ = name
    return method


# --- methods ------------------------------------------------------------------------------

METHODS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "clip", "conj", "conjugate",
    "cumprod", "cumsum", "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ptp", "ravel",
    "repeat", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take", "trace",
    "var",
)  # fmt: skip
"""Methods that are the function of the same name with the array as first argument."""


def _method(name: str) -> Callable[..., Any]:
    function: Any = None

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal function
        try:
            if function is None:
                function = getattr(jnp, name)
            return function(self, *args, **kwargs)
        except BaseException as error:
            shorten(error)
            raise

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As `xfront.numpy.{name}` of this array."
    return method


def _reshape(self: Any, *args: Any, order: str = "C", **kwargs: Any) -> Any:
    """The elements in another shape, which is a tuple or several sizes; one size may be -1."""
    try:
        shape = args[0] if len(args) == 1 else args
        return jnp.reshape(self, kwargs.pop("shape", shape), order=order, **kwargs)  # type: ignore[attr-defined]
    except BaseException as error:
        shorten(error)
        raise


def _transpose(self: Any, *args: Any) -> Any:
    """The array with its axes in another order, a tuple or several numbers; by default reversed."""
    try:
        axes = None if not args else args[0] if len(args) == 1 else args
        if type(axes) is int:
            axes = (axes,)
        return jnp.transpose(self, axes)  # type: ignore[attr-defined]
    except BaseException as error:
        shorten(error)
        raise


def _flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements along one axis."""
    return jnp.ravel(self, order=order, out_sharding=out_sharding)  # type: ignore[attr-defined]


def _to_device(self: Any, device: Any, *, stream: None = None) -> Any:
    """The array on a device or with a sharding, committed there."""
    if stream is not None:
        raise NotImplementedError("to_device: stream is not supported; leave it out")
    from ..eager.devices import device_put  # late: it builds on arrays

    return device_put(self, device)


def _copy(self: Any) -> Any:
    """A copy in memory of its own."""
    return jnp.copy(self)


def _compress(self: Any, condition: Any, axis: int | None = None, *, out: None = None,
              **kwargs: Any) -> Any:
    """The slices along an axis where `condition` is true."""
    return jnp.compress(condition, self, axis=axis, out=out, **kwargs)  # type: ignore[attr-defined]


def _choose(self: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """Elements of the arrays `choices`, each from the array whose number is the element here."""
    return jnp.choose(self, choices, out=out, mode=mode)  # type: ignore[attr-defined]


def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """The elements converted to another dtype."""
    try:
        return astype(self, dtype, copy=copy, device=device)
    except BaseException as error:
        shorten(error)
        raise


def _view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """The same bytes read as another dtype; the last axis changes by the ratio of the widths."""
    from ..numpy.views import view

    if type is not None:
        raise NotImplementedError("view: arrays have no subclasses, so `type` is not supported")
    return view(self, dtype)


def _byteswap(self: Any) -> Any:
    """The bytes of each element in the opposite order."""
    from ..numpy.views import byteswap

    return byteswap(self)


def _transposed(self: Any) -> Any:
    return self if self.ndim < 2 else jnp.transpose(self)  # type: ignore[attr-defined]


def _matrix_transposed(self: Any) -> Any:
    return jnp.matrix_transpose(self)  # type: ignore[attr-defined]


def _clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """Elements raised to `min` where they are below it, then lowered to `max`."""
    return jnp.clip(self, min, max)


SHAPE_MEMBERS: dict[str, Any] = {
    "reshape": _reshape, "transpose": _transpose, "flatten": _flatten, "copy": _copy,
    "to_device": _to_device,
    "ravel": _method("ravel"), "squeeze": _method("squeeze"), "swapaxes": _method("swapaxes"),
    "take": _method("take"), "repeat": _method("repeat"), "diagonal": _method("diagonal"),
    "T": property(_transposed, doc="The array with its axes reversed."),
    "mT": property(_matrix_transposed, doc="The array with its last two axes exchanged."),
    "at": property(At, doc="Index it for updates: `x.at[index].set(y)`; see `AtIndex`."),
    "__getitem__": getitem,
}  # fmt: skip
"""Methods and properties that key arrays have too."""

MEMBERS: dict[str, Any] = {
    **{name: _method(name) for name in METHODS}, **SHAPE_MEMBERS,
    "clip": _clip, "compress": _compress, "choose": _choose, "astype": _astype, "view": _view,
    "byteswap": _byteswap,
    "real": property(complexes.real, doc="Real part."),
    "imag": property(complexes.imag, doc="Imaginary part."),
}  # fmt: skip


def _taken(getitem: Any) -> Any:
    """Indexing of key arrays, which consumes keys under the option `jax_debug_key_reuse`."""
    def public(self: KeyArray, index: Any) -> Any:
        if not debug_key_reuse.value:
            return getitem(self, index)
        from ..running.key_reuse import taken  # seldom needed

        return taken(getitem, self, index)

    public.__doc__ = getitem.__doc__
    return public


def install() -> None:
    """Attach all operators and methods; called once, when the package is imported."""
    compiled, plain = operators()
    methods.install_operations({**MEMBERS, **compiled})
    tracer.install({**MEMBERS, **plain, "__hash__": None,
                    "__array_namespace__": lambda self, *, api_version=None: jnp,
                    "__contains__": lambda self, key: bool(
                        (self == methods.one_value(self, key)).any())})
    keys = {**SHAPE_MEMBERS, "__eq__": plain["__eq__"], "__ne__": plain["__ne__"],
            "itemsize": property(lambda self: self.dtype.itemsize),
            "nbytes": property(lambda self: self._base.nbytes), "__hash__": None}
    for name, member in keys.items():
        setattr(KeyArray, name, member)
    KeyArray.__getitem__ = _taken(keys["__getitem__"])  # type: ignore[attr-defined]


install()

__all__ = ["MEMBERS", "install"]
