"""Universal functions as objects: `reduce`, `accumulate`, `at`, `outer`, `reduceat`, `frompyfunc`.

The functions themselves are written elsewhere and are called as they are: the class is a `partial`
without arguments, so that a call costs one more step in C. Users see these objects; the
package's own files call the functions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.dtypes import requested_dtype
from ..binding.annotations import Array, ArrayLike
from ..eager.operands import index_of, listed, normalize_axis
from ..tracing.tracer import Tracer
from . import arithmetic, bits, extremes, logic, reductions, running, transcendental
from .applying import of_scalars
from .creation import asarray, full
from .indexed_updates import At
from .manipulation import broadcast_to, concatenate, moveaxis
from .ufuncs import where as choose


def _fixed(name: str) -> property:
    """A read-only attribute, which is given when the function is made."""
    return property(lambda self: self.__dict__[name])


class ufunc(functools.partial[Array]):
    """A function of `nin` elements that gives `nout`, applied to arrays that broadcast together.

    Args:
      func: a function of scalars; or of arrays, where `call` is the same function.
      name: its name; None for the name of `func`.
      nargs: the number of arguments of a call; None for `nin`.
      identity: the x with func(x, y) = y for all y, with which reductions start; None for none.
      call, reduce, accumulate, at, reduceat: what the object and its methods do, where that is
        better than what follows from `func`.
    Source: `numpy.ufunc`.

    >>> hypotenuse = jnp.ufunc(lambda x, y: jnp.sqrt(x * x + y * y), nin=2, nout=1, identity=0)
    >>> hypotenuse(jnp.array([3., 5.]), jnp.array([4., 12.]))
    Array([ 5., 13.], dtype=float32)
    >>> hypotenuse.reduce(jnp.array([2., 3., 6.]))
    Array(7., dtype=float32)
    """

    __name__: str
    nin, nout, nargs, identity = map(_fixed, ("nin", "nout", "nargs", "identity"))
    _own: dict[str, Callable[..., Any] | None]

    def __new__(cls, func: Callable[..., Any], /, nin: int, nout: int, *, name: str | None = None,
                nargs: int | None = None, identity: Any = None,
                call: Callable[..., Any] | None = None, reduce: Callable[..., Any] | None = None,
                accumulate: Callable[..., Any] | None = None,
                at: Callable[..., Any] | None = None,
                reduceat: Callable[..., Any] | None = None) -> ufunc:
        if not callable(func):
            raise TypeError(f"ufunc: the function must be callable, got {func!r}")
        name = str(name or getattr(func, "__name__", "ufunc"))
        nin, nout = index_of(nin, "nin"), index_of(nout, "nout")
        nargs = nin if nargs is None else index_of(nargs, "nargs")
        self = super().__new__(cls, call or of_scalars(func, nargs, name))
        functools.update_wrapper(self, func)
        self.__dict__.update(
            __name__=name, __qualname__=name, nin=nin, nout=nout, nargs=nargs, identity=identity,
            _scalar=func, _own={"reduce": reduce, "accumulate": accumulate, "at": at,
                                "reduceat": reduceat})
        return self

    def __get__(self, instance: Any, owner: Any = None) -> ufunc:
        return self                              # as a class attribute it does not become a method

    def __repr__(self) -> str:
        return f"<jnp.ufunc {self.__name__!r}>"

    def __reduce__(self) -> Any:
        if globals().get(self.__name__) is self:
            return self.__name__
        return frompyfunc, (self.__dict__["_scalar"], self.nin, self.nout), {
            "identity": self.identity}

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)

    def _binary(self, method: str, out: Any = None) -> None:
        if self.nin != 2 or self.nout != 1:
            raise ValueError(f"{self.__name__}.{method}: the function must have two arguments and "
                             f"one result, but it has {self.nin} and {self.nout}")
        if out is not None:
            raise NotImplementedError(f"{self.__name__}.{method}: arrays are immutable, so `out` "
                                      "is not supported")

    def reduce(self, a: Any, axis: Any = 0, dtype: Any = None, out: None = None,
               keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
        """func(... func(func(x0, x1), x2) ..., xn) along an axis.

        Args:
          axis: one axis; None for the flattened array; several only where the function's own
            reduction takes them.
          initial: the value before x0; needed where there is no identity and no element.
          where: a mask of the elements that count; it needs `initial` or an identity.
        Raises: ValueError where there is no value to start with; NotImplementedError for `out`, and
          for several axes.
        """
        self._binary("reduce", out)
        if where is not None and self.identity is None and initial is None:
            raise ValueError(f"reduction operation {self.__name__!r} does not have an identity, so "
                             "to use a where mask one has to specify 'initial'.")
        x = asarray(a)
        own = self._own["reduce"]
        if own is not None:
            return own(x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
        axes = None if axis is None else tuple(listed(axis))
        if axes is not None and len(axes) != 1:
            raise NotImplementedError(f"{self.__name__}.reduce: axis must be a single axis, got "
                                      f"{axis}, because the order of several axes would matter")
        shape = x.shape
        mask = None if where is None else broadcast_to(asarray(where), shape)
        if axes is None:
            x, at = x.reshape(-1), 0
            mask = None if mask is None else mask.reshape(-1)
        else:
            at = normalize_axis("reduce", axes[0], x.ndim)
        made = self._folded(moveaxis(x, at, 0), dtype, initial,
                            None if mask is None else moveaxis(mask, at, 0))
        if not keepdims:
            return made
        return made.reshape((1,) * len(shape) if axis is None else
                            (*shape[:at], 1, *shape[at + 1:]))

    def _result(self, x: Any, dtype: Any) -> np.dtype:
        """The dtype that the function gives for elements of an array."""
        if dtype is not None:
            return requested_dtype(self.__name__, dtype)
        from ..transforms.inspection import eval_shape  # late: it is a floor above

        element = np.zeros((), x.dtype)
        return eval_shape(self, element, element).dtype

    def _folded(self, x: Any, dtype: Any, initial: Any, mask: Any) -> Any:
        """The function folded from left to right over the first axis."""
        from ..lax.control_flow import scan  # late: loaded on first use

        wanted = self._result(x, dtype)
        x = x.astype(wanted) if dtype is not None else x
        if initial is None and (mask is not None or not x.shape[0]):
            initial = self.identity
            if initial is None:
                raise ValueError(f"zero-size array to reduction operation {self.__name__} which "
                                 "has no identity; pass initial")
        if initial is None:
            start, x = x[0].astype(wanted), x[1:]
        else:
            start = full(x.shape[1:], initial, wanted)

        def step(total: Any, given: Any) -> Any:
            element, counts = given
            made = self(total, element).astype(wanted)
            return (made if counts is None else choose(counts, made, total)), None

        return scan(step, start, (x, mask))[0]

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """x0, func(x0, x1), func(func(x0, x1), x2), ... along an axis.

        Raises: ValueError for arrays without axes; NotImplementedError for `out`.
        """
        self._binary("accumulate", out)
        x = asarray(a)
        if not x.ndim:
            raise ValueError(f"{self.__name__}.accumulate: the array must have an axis, got a "
                             "scalar")
        at = normalize_axis("accumulate", axis, x.ndim)
        own = self._own["accumulate"]
        if own is not None:
            return own(x, axis=at, dtype=dtype)
        from ..lax.control_flow import scan  # late: loaded on first use

        wanted = self._result(x, dtype)
        x = moveaxis(x.astype(wanted) if dtype is not None else x, at, 0)
        if not x.shape[0]:
            return moveaxis(x.astype(wanted), 0, at)

        def step(total: Any, element: Any) -> Any:
            made = self(total, element).astype(wanted)
            return made, made

        first = x[0].astype(wanted)
        rest = scan(step, first, x[1:])[1]
        return moveaxis(concatenate([first[None], rest], 0), 0, at)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """`a` with func(a[i], b[i]) (of one argument: func(a[i])) put in for each index in turn.

        Raises: NotImplementedError where `inplace` is not False: arrays are immutable; ValueError
          where `b` does not match the number of arguments.
        """
        if inplace:
            raise NotImplementedError(f"{self.__name__}.at: arrays are immutable; pass "
                                      "inplace=False and use the array that is returned")
        if self.nout != 1 or self.nin not in (1, 2) or (b is None) != (self.nin == 1):
            raise ValueError(f"{self.__name__}.at: a function of {self.nin} arguments and "
                             f"{self.nout} results cannot be applied to {1 if b is None else 2} "
                             "operands")
        x = asarray(a)
        if self.nin == 1:
            return At(x)[indices].apply(self)
        own = self._own["at"]
        if own is not None:
            return own(x, indices, b)
        from ..lax.control_flow import scan  # late: loaded on first use

        places = asarray(np.arange(x.size, dtype=np.int32)).reshape(x.shape)[indices]
        values = broadcast_to(asarray(b), places.shape).reshape(-1)

        def step(flat: Any, given: Any) -> Any:
            place, value = given
            return flat.at[place].set(self(flat[place], value).astype(flat.dtype)), None

        return scan(step, x.reshape(-1), (places.reshape(-1), values))[0].reshape(x.shape)

    def outer(self, A: Any, B: Any, /) -> Any:
        """func of each element of `A` with each of `B`: array of shape A.shape + B.shape."""
        if self.nin != 2:
            raise ValueError(f"{self.__name__}.outer: the function must have two arguments, but it "
                             f"has {self.nin}")
        x, y = asarray(A), asarray(B)
        return self(x.reshape(x.shape + (1,) * y.ndim), y)

    def reduceat(self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
                 ) -> Any:
        """`reduce` of the slices a[i:j] for each pair of neighbouring indices; a[i] where j <= i.

        The last slice goes to the end. Raises: IndexError for known indices out of range;
        TypeError for lists; NotImplementedError for `out`.
        """
        self._binary("reduceat", out)
        if isinstance(indices, (list, tuple)):
            raise TypeError(f"{self.__name__}.reduceat: indices must be an array, got "
                            f"{type(indices)}; write jnp.array(indices)")
        x, i = asarray(a), asarray(indices)
        if i.ndim != 1 or i.dtype.kind not in "iu":
            raise ValueError(f"{self.__name__}.reduceat: indices must be 1-d integers, got shape "
                             f"{i.shape} of {i.dtype}")
        own = self._own["reduceat"]
        if own is not None:
            return own(x, i, axis=axis, dtype=dtype)
        at = normalize_axis("reduceat", axis, x.ndim)
        x = moveaxis(x, at, 0)
        wanted = self._result(x, dtype)
        return moveaxis(self._parts(x.astype(wanted) if dtype is not None else x, i, wanted), 0, at)

    def _parts(self, x: Any, i: Any, wanted: np.dtype) -> Any:
        """The function folded over slices of the first axis, all slices in step."""
        from ..lax.control_flow import fori_loop  # late: loaded on first use

        n = x.shape[0]
        if not i.shape[0]:
            return full((0, *x.shape[1:]), 0, wanted)
        i = i.astype(np.int32)
        longest: Any = None
        if type(i) is not Tracer:
            known = np.asarray(i)
            if ((known < 0) | (known >= n)).any():
                raise IndexError(f"{self.__name__}.reduceat: an index is out of range [0, {n}): "
                                 f"{known}")
            longest = max(1, int(np.diff(known, append=n).max()))
        ends = concatenate([i[1:], np.full(1, n, np.int32)])
        lengths = choose(ends > i, ends - i, 1)

        def step(k: Any, total: Any) -> Any:
            element = x.at[choose(k < lengths, i + k, 0)].get(mode="clip")
            going = (k < lengths).reshape((-1,) + (1,) * (x.ndim - 1))
            return choose(going, self(total, element).astype(wanted), total)

        return fori_loop(1, lengths.max() if longest is None else longest, step,
                         x[i].astype(wanted))


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *,
               identity: ArrayLike | None = None) -> ufunc:
    """A ufunc of a function of scalars.

    Args:
      nin, nout: the number of arguments and of results.
      identity: the x with func(x, y) = y for all y, or None.
    Raises: TypeError where `func` cannot be called.
    Source: `numpy.frompyfunc`.

    >>> jnp.frompyfunc(lambda x, y: x + 2 * y, 2, 1)(jnp.array([1, 2]), 1)
    Array([3, 4], dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


# --- the functions of NumPy ---------------------------------------------------------------

def _any_order(function: Callable[..., Any], identity: Any) -> Callable[..., Any]:
    """The reduction of a function that may take elements in any order."""
    def reduce(x: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        from ..lax.reductions import reduce as lax_reduce  # late: loaded on first use

        x = x if dtype is None else x.astype(requested_dtype("reduce", dtype))
        nothing = np.asarray(identity).astype(x.dtype)
        x = x if where is None else choose(where, x, nothing)
        axes = reductions.axes_of("reduce", axis, x.ndim)
        made = lax_reduce(x, nothing, function, axes)
        made = made if initial is None else function(made, initial).astype(made.dtype)
        return made.reshape([1 if i in axes else n for i, n in enumerate(x.shape)]) if (
            keepdims) else made

    return reduce


def _of_truth(quantifier: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        made = quantifier(x, axis=axis, keepdims=keepdims, where=where)
        made = made if initial is None else function(made, initial)
        return made if dtype is None else made.astype(requested_dtype("reduce", dtype))

    return reduce


def _odd(x: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Any:
    """Whether an odd number of elements are nonzero."""
    count = reductions.sum(x != 0, axis=axis, dtype=np.int32, keepdims=keepdims, where=where)
    return count % 2 == 1


def _log_sum(function: Callable[..., Any], rate: float) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        from .normalizers import logsumexp  # late: only this needs it

        x = x if dtype is None else x.astype(requested_dtype("reduce", dtype))
        made = logsumexp(x if rate == 1 else x * rate, axis=axis, keepdims=keepdims, where=where)
        made = made if rate == 1 else made / rate
        return made if initial is None else function(made, initial).astype(made.dtype)

    return reduce


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        x = x if dtype is None else x.astype(requested_dtype("reduce", dtype))
        return function(x, axis=axis, keepdims=keepdims, initial=initial, where=where)

    return reduce


def _running(name: str) -> Callable[..., Any]:
    """One of the running functions of `lax`."""
    def accumulate(x: Any, axis: int, dtype: Any) -> Any:
        from ..lax import reductions as lax  # late: loaded on first use

        x = x if dtype is None else x.astype(requested_dtype("accumulate", dtype))
        if x.dtype != bool:
            return getattr(lax, name)(x, axis)
        return getattr(lax, name)(x.astype("uint8"), axis).astype(bool)

    return accumulate


def _put(how: str) -> Callable[..., Any]:
    return lambda x, indices, b: getattr(At(x)[indices], how)(b)


def _ufunc(function: Callable[..., Any], nin: int = 2, identity: Any = None, **own: Any) -> ufunc:
    made = ufunc(function, nin, 1, identity=identity, call=function, **own)
    made.__dict__["__module__"] = "xfront.numpy"
    return made


add = _ufunc(arithmetic.add, identity=0, reduce=reductions.sum, accumulate=running.cumsum,
             at=_put("add"))
subtract = _ufunc(arithmetic.subtract, at=_put("subtract"))
multiply = _ufunc(arithmetic.multiply, identity=1, reduce=reductions.prod,
                  accumulate=running.cumprod, at=_put("multiply"))
negative = _ufunc(arithmetic.negative, 1)
maximum = _ufunc(extremes.maximum, reduce=_extreme(reductions.max), accumulate=_running("cummax"),
                 at=_put("max"))
minimum = _ufunc(extremes.minimum, reduce=_extreme(reductions.min), accumulate=_running("cummin"),
                 at=_put("min"))
bitwise_and = _ufunc(bits.bitwise_and, identity=-1, reduce=_any_order(bits.bitwise_and, -1))
bitwise_or = _ufunc(bits.bitwise_or, identity=0, reduce=_any_order(bits.bitwise_or, 0))
bitwise_xor = _ufunc(bits.bitwise_xor, identity=0, reduce=_any_order(bits.bitwise_xor, 0))
logical_and = _ufunc(logic.logical_and, identity=True,
                     reduce=_of_truth(reductions.all, logic.logical_and))
logical_or = _ufunc(logic.logical_or, identity=False,
                    reduce=_of_truth(reductions.any, logic.logical_or))
logical_xor = _ufunc(logic.logical_xor, identity=False, reduce=_of_truth(_odd, logic.logical_xor))
logaddexp = _ufunc(transcendental.logaddexp, identity=-math.inf,
                   reduce=_log_sum(transcendental.logaddexp, 1))
logaddexp2 = _ufunc(transcendental.logaddexp2, identity=-math.inf,
                    reduce=_log_sum(transcendental.logaddexp2, math.log(2)))

__all__ = ["add", "bitwise_and", "bitwise_or", "bitwise_xor", "frompyfunc", "logaddexp",
           "logaddexp2", "logical_and", "logical_or", "logical_xor", "maximum", "minimum",
           "multiply", "negative", "subtract", "ufunc"]
