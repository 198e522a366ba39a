"""`x[mask]` for traced masks: the number of elements is unknown, but reductions can be computed.

    x[x > 0].sum()             is  x.sum(where=x > 0)
    jnp.mean(x[rows], axis=0)  is  jnp.mean(x, axis=0, where=rows[:, None])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from xfront_ir.dtypes import DType, from_numpy, greatest, least

from ..base.errors import NonConcreteBooleanIndexError
from ..base.on_demand import above
from ..binding.tracebacks import shorten
from ..eager.operands import index_of, listed
from .masks import Mask, traced_mask

_REDUCTIONS: dict[str, Callable[[DType], Any] | None] = {
    **dict.fromkeys(("sum", "prod", "mean", "std", "var", "any", "all", "nansum", "nanprod",
                     "nanmean", "nanstd", "nanvar", "logsumexp")),
    "max": least, "nanmax": least, "min": greatest, "nanmin": greatest,
}
"""Functions that take `where=`, and the result over no elements of those that have no identity."""


def selected(x: Any, index: Any) -> Selection | None:
    """`x[index]` for an index that is one traced mask beside whole axes; None for other indices."""
    mask = traced_mask(x, index)
    return None if mask is None or not mask.value.ndim else Selection(x, mask)


class Selection:
    """The elements of an array at the true places of a traced mask, as `x[mask]` gives them.

    Reductions over the axis of these elements are computed, as methods and as functions of `numpy`.
    All else raises NonConcreteBooleanIndexError, since the shape is not known. The extremum of no
    elements is the least or greatest value of the dtype.

    >>> f = xfront.jit(lambda x: (x[x > 1].sum(), jnp.max(x[x > 9])))
    >>> f(jnp.array([1., 2., 3.]))
    (Array(5., dtype=float32), Array(-inf, dtype=float32))
    """

    __slots__ = ("_array", "_mask")

    def __init__(self, array: Any, mask: Mask) -> None:
        self._array, self._mask = array, mask

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """The number of axes: those of the mask are one."""
        return self._array.ndim - self._mask.value.ndim + 1

    def __xfront_call__(self, name: str, function: Callable[..., Any], args: tuple,
                    kwargs: dict[str, Any]) -> Any:
        """The result of a public function whose first argument this is.

        Raises: NonConcreteBooleanIndexError where that is no reduction over the elements.
        """
        if name not in _REDUCTIONS:
            self._refuse(f"{name} of x[mask]", f"{name}(jnp.where(mask, x, fill), ...), or "
                         "a reduction with where=mask of what is computed for all of x")
        signature = inspect.signature(function)
        given = signature.bind(self._array, *args[1:], **kwargs).arguments
        for other in ("where", "b"):
            if given.get(other) is not None:
                self._refuse(f"{name} of x[mask] with `{other}`",
                             f"{name}(x, where=mask & condition)")
        first, covered = self._mask.axis, self._mask.value.ndim
        behind = self._array.ndim - first - covered
        flags = self._mask.value.reshape((1,) * first + self._mask.value.shape + (1,) * behind)
        end = _REDUCTIONS[name]
        if end is not None and given.get("initial") is None:
            given["initial"] = end(from_numpy(self._array.dtype))
        axes = self._axes(name, given.get("axis"))
        made = function(**{**given, "axis": axes, "where": flags})
        if not given.get("keepdims") or covered == 1:
            return made
        return _one_axis(made, first, covered)

    def _axes(self, name: str, axis: Any) -> tuple[int, ...] | None:
        """The axes of the array for those of the elements."""
        if axis is None:
            return None
        first, more = self._mask.axis, self._mask.value.ndim - 1
        given = [index_of(i, f"{name}: axis") for i in listed(axis)]
        places = [i + self.ndim if -self.ndim <= i < 0 else i for i in given]
        if first not in places:
            self._refuse(f"{name} of x[mask] over axis {axis!r}",
                         f"a reduction over axis {first}, whose length is not known, or "
                         f"{name}(jnp.where(mask, x, fill), axis=...)")
        return tuple([j for i in places for j in (
            range(first, first + more + 1) if i == first else (i + more * (i > first),))])

    def _refuse(self, use: str, instead: str = "") -> NoReturn:
        raise NonConcreteBooleanIndexError(
            self._mask.value, instead=f"It was used for {use}. Write {instead or _INSTEAD}")

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            function = getattr(above("numpy"), name)
            return lambda *args, **kwargs: function(self, *args, **kwargs)
        if name.startswith("_"):
            raise AttributeError(f"x[mask] has no attribute {name!r}")
        refused(self, f"x[mask].{name}")

    def __repr__(self) -> str:
        return (f"<{self.dtype} elements of an array of shape {self._array.shape} where a mask of "
                f"shape {self._mask.value.shape} is true, as many as there are>")


_METHODS = frozenset(("sum", "prod", "mean", "std", "var", "any", "all", "max", "min"))

_INSTEAD = ("a reduction of x[mask] itself, such as x[mask].sum(); f(x).sum(where=mask) where more "
            "is computed from the elements; jnp.where(mask, x, fill) to keep the shape; or "
            "x[jnp.nonzero(mask, size=n, fill_value=i)] for a known number of elements")


def _one_axis(made: Any, first: int, covered: int) -> Any:
    """Results whose axes of the mask, of size 1, are one axis."""
    if isinstance(made, tuple):
        return tuple([_one_axis(x, first, covered) for x in made])
    return made.reshape(made.shape[:first + 1] + made.shape[first + covered:])


def refused(selection: Selection, use: str) -> NoReturn:
    """Raises the error that says what to write in place of a use of x[mask], at the user's line."""
    try:
        selection._refuse(use)
    except NonConcreteBooleanIndexError as error:
        shorten(error)
        raise


def _refusing(use: str) -> Callable[..., NoReturn]:
    def refuse(self: Selection, *_: Any) -> NoReturn:
        refused(self, use)

    return refuse


_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
            "pow": "**", "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<",
            "rshift": ">>"}
_USES = {
    **{f"__{name}__": f"x[mask] {symbol} y" for name, symbol in _SYMBOLS.items()},
    **{f"__r{name}__": f"y {symbol} x[mask]" for name, symbol in _SYMBOLS.items()},
    "__lt__": "x[mask] < y", "__le__": "x[mask] <= y", "__eq__": "x[mask] == y",
    "__ne__": "x[mask] != y", "__gt__": "x[mask] > y", "__ge__": "x[mask] >= y",
    "__neg__": "-x[mask]", "__pos__": "+x[mask]", "__abs__": "abs(x[mask])",
    "__invert__": "~x[mask]", "__bool__": "the truth of x[mask]", "__int__": "int(x[mask])",
    "__float__": "float(x[mask])", "__complex__": "complex(x[mask])",
    "__index__": "x[mask] as an index", "__len__": "len(x[mask])",
    "__iter__": "a loop over x[mask]",
    "__getitem__": "x[mask][...]", "__contains__": "a search in x[mask]",
    "__array__": "x[mask] as an array", "__jax_array__": "x[mask] as an array",
}
for _name, _use in _USES.items():
    setattr(Selection, _name, _refusing(_use))
Selection.__hash__ = object.__hash__  # type: ignore[method-assign]
