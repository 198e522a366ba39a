"""Types for annotations of arguments that are arrays or dtypes.

`ArrayLike` is the type of values that public functions take as an array: an `Array`, a NumPy array
or scalar, or a Python number, but not a list. `DTypeLike` is the type of those that they take as a
dtype. `Array`, in `xfront` itself, is the class of results; `isinstance(x, Array)` holds for
tracers too.

>>> from xfront.typing import ArrayLike
>>> def double(x: ArrayLike) -> xfront.Array:
...     return jnp.multiply(x, 2)
>>> double(1.5)
Array(3., dtype=float32, weak_type=True)
"""

from .base.on_demand import shown as _shown
from .binding.annotations import ArrayLike, DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]
__dir__ = _shown(globals())
