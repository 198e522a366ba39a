"""The arguments of custom rules with `symbolic_zeros=True`: tangents and cotangents that are known
to be zero, and primals that say whether they are differentiated."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import float0
from ..base.trees import tree_map
from ..binding import AbstractArray
from .flat import kind_of


class SymbolicZero:
    """A tangent or cotangent that is zero, with no array behind it.

    Args:
      aval: shape, dtype and weakness of the zero, an object like those that `xfront.typeof`
        returns; the zero has its attributes too. An integer's tangent has dtype float0.

    >>> zero = custom_derivatives.SymbolicZero(xfront.typeof(jnp.ones(2)))
    >>> zero.shape, zero.dtype
    ((2,), dtype('float32'))
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return "SymbolicZero"

    def __getattr__(self, name: str) -> Any:
        if name == "aval" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.aval, name)

    @staticmethod
    def from_primal_value(value: Any) -> SymbolicZero:
        """The zero tangent of an array or number."""
        t, weak = kind_of("SymbolicZero", value)
        return SymbolicZero(zero_aval(t, weak))


def zero_aval(t: Any, weak: bool = False) -> Any:
    """The type of the zero tangent of a value of IR type `t`."""
    return AbstractArray(t.shape, t.dtype.numpy if t.is_inexact else float0, weak)


class CustomVJPPrimal:
    """A leaf of the arguments of a fwd rule.

    Args:
      value: the array or tracer.
      perturbed: whether it is differentiated.

    >>> @xfront.custom_vjp
    ... def product(x, y):
    ...     return x * y
    >>> def fwd(x, y):
    ...     return x.value * y.value, y.value
    >>> product.defvjp(fwd, lambda y, ct: (ct * y, None), symbolic_zeros=True)
    >>> xfront.grad(product)(2.0, 3.0)
    Array(3., dtype=float32, weak_type=True)
    """

    __slots__ = ("perturbed", "value")

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value, self.perturbed = value, perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The tree of the values of a tree of CustomVJPPrimals.

    Raises: TypeError where a leaf is not a CustomVJPPrimal.

    >>> leaf = custom_derivatives.CustomVJPPrimal(2.0, perturbed=True)
    >>> custom_derivatives.custom_vjp_primal_tree_values({"x": leaf})
    {'x': 2.0}
    """
    def value(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"unexpected leaf type {type(leaf)}, must be CustomVJPPrimal")
        return leaf.value

    return tree_map(value, tree)


__all__ = ["CustomVJPPrimal", "SymbolicZero", "custom_vjp_primal_tree_values", "zero_aval"]
