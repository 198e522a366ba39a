"""Names of JAX that libraries use to run primitives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.on_demand import shown as _shown
from ..eager.primitives import Primitive
from ..jaxpr.classes import absent
from ..jaxpr.own import apply_primitive as _apply
from ..transforms.inspection import typeof

canonicalize_dtype_handlers: dict[type, Any] = {
    kind: np.asarray for kind in (np.ndarray, bool, int, float, complex)}
"""A table by type of argument that nothing reads: arguments are arrays (also NumPy's subclasses),
numbers and objects with `__jax_array__`."""

pytype_aval_mappings: dict[type, Any] = {kind: typeof for kind in canonicalize_dtype_handlers}
"""A table that nothing reads, like `canonicalize_dtype_handlers`."""


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Run a primitive on arrays, compiled by its lowering, as in `p.def_impl(partial(
    apply_primitive, p))`. Raises: NotImplementedError where it has no lowering."""
    return _apply(prim, *args, **params)


__getattr__ = absent(__name__, {
    "xla_call_p": "jit is recorded as jax.extend.core.primitives.jit_p",
    "Backend": "write jax.extend.backend.get_backend()",
})

__all__ = ["apply_primitive", "canonicalize_dtype_handlers", "pytype_aval_mappings"]
__dir__ = _shown(globals())
