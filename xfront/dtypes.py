"""Dtypes: the scalar type objects that users name (`float32`), and functions on dtypes.

A scalar type is a class that stands for a dtype: calling it makes an array, and it is accepted
wherever a dtype is. Dtypes themselves are those of NumPy and ml_dtypes, and key types.
`binding/promotion.py` decides to which dtype two others promote.
"""

from .base.dtypes import (
    TypePromotionError,
    bfloat16,
    canonicalize_dtype,
    extended,
    finfo,
    float0,
    iinfo,
    issubdtype,
    itemsize_bits,
    prng_key,
    result_type,
    scalar_type_of,
)
from .base.on_demand import shown as _shown

__all__ = [
    "TypePromotionError", "bfloat16", "canonicalize_dtype", "extended", "finfo", "float0",
    "iinfo", "issubdtype", "itemsize_bits", "prng_key", "result_type", "scalar_type_of",
]  # fmt: skip
__dir__ = _shown(globals())
