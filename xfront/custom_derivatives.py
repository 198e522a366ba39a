"""Functions with their own derivative rules, and the helpers for writing such rules."""

from typing import Any

import numpy as np

from .base.dtypes import float0
from .base.on_demand import absent as _absent
from .base.on_demand import shown as _shown
from .base.trees import tree_map
from .lax.linear_call import linear_call
from .numpy.creation import zeros_like
from .transforms.custom_jvp import custom_jvp
from .transforms.custom_vjp import closure_convert, custom_gradient, custom_vjp
from .transforms.flat import kind_of
from .transforms.symbolic import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
)


def __getattr__(name: str) -> Any:
    """Primitives such as `custom_jvp_call_p`, which are made when they are first read."""
    if name in ("custom_jvp_call_p", "custom_vjp_call_p", "remat_opt_p"):
        from .eager.primitives import named

        found = globals()[name] = named(name, __name__)
        return found
    raise _absent(__name__, name, __dir__)


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The tree of zero tangents of a tree `val`: arrays, or SymbolicZeros with `symbolic_zeros`.

    >>> custom_derivatives.zero_from_primal(jnp.array([1., 2.]))
    Array([0., 0.], dtype=float32)
    """
    return tree_map(SymbolicZero.from_primal_value if symbolic_zeros else _zero, val)


def _zero(val: Any) -> Any:
    t, _ = kind_of("zero_from_primal", val)
    if not t.is_inexact:
        return np.zeros(t.shape, float0)
    return zeros_like(val)


__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
           "custom_vjp", "custom_vjp_primal_tree_values", "linear_call", "zero_from_primal"]
__dir__ = _shown(globals())
