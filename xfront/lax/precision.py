"""How exact products are: precisions, algorithms, and what users may write for them."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from ..base.config import default_matmul_precision
from ..base.dtypes import canonicalize_dtype


class Precision(enum.Enum):
    """How exact products of 32-bit floats are on hardware that has faster ones.

    Names work too: `Precision("highest")`, and the names of dtypes with such products.

    >>> lax.Precision("highest")
    Precision.HIGHEST
    >>> lax.dot(jnp.ones((2, 3)), jnp.ones(3), precision=lax.Precision.HIGHEST)
    Array([3., 3.], dtype=float32)
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        if value is None:
            return cls.DEFAULT
        return _BY_NAME.get(value) if isinstance(value, str) else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


_BY_NAME = {"default": Precision.DEFAULT, "fastest": Precision.DEFAULT,
            "bfloat16": Precision.DEFAULT, "high": Precision.HIGH, "bfloat16_3x": Precision.HIGH,
            "tensorfloat32": Precision.HIGH, "highest": Precision.HIGHEST,
            "float32": Precision.HIGHEST}


class DotAlgorithmPreset(enum.Enum):
    """Named ways to compute products: dtypes of both factors and of the sum, number of products.

    >>> lax.dot(jnp.ones((2, 3)), jnp.ones(3), precision=lax.DotAlgorithmPreset.F32_F32_F32)
    Array([3., 3.], dtype=float32)
    """

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


class DotAlgorithm(NamedTuple):
    """A way to compute products: dtypes of the factors and of the sum, and how many products.

    >>> f32 = np.float32
    >>> algorithm = lax.DotAlgorithm(f32, f32, f32)
    >>> lax.dot(jnp.ones((2, 3)), jnp.ones(3), precision=algorithm)
    Array([3., 3.], dtype=float32)
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


PrecisionLike = (None | str | Precision | tuple[str, str] | tuple[Precision, Precision]
                 | DotAlgorithm | DotAlgorithmPreset)

_SHORT = {"float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}


def precision_attr(precision: Any) -> Any:
    """A precision as the ops take it: None, a pair of words, or the name of an algorithm.

    Raises: ValueError for what is none.
    """
    if precision is None:
        precision = default_matmul_precision.value
        if precision is None:
            return None
    if isinstance(precision, DotAlgorithm):
        return _algorithm_name(precision)
    if isinstance(precision, DotAlgorithmPreset):
        return None if precision is DotAlgorithmPreset.DEFAULT else precision.name
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return precision_attr(DotAlgorithmPreset[precision])
    if isinstance(precision, (list, tuple)) and len(precision) == 2 and (
            type(precision[0]) is type(precision[1])):
        return tuple([_word(p) for p in precision])
    return (_word(precision),) * 2


def conv_precision(precision: Any) -> Any:
    """As `precision_attr`, for convolutions: they take pairs only, and ignore a user's default that
    is an algorithm for products of matrices.

    Raises: ValueError for an algorithm.
    """
    found = precision_attr(precision)
    if type(found) is not str:
        return found
    if precision is not None:
        raise ValueError(f"{found} is an algorithm for matrix products only; a convolution takes a "
                         "lax.Precision or a pair of them")
    return None


def _word(p: Any) -> str:
    found = p if isinstance(p, Precision) else _BY_NAME.get(p) if isinstance(p, str) else None
    if found is None:
        raise ValueError(f"{p!r} is not a precision: use None, a lax.Precision, one of "
                         f"{list(_BY_NAME)}, a pair of the same kind for lhs and rhs, a "
                         "lax.DotAlgorithm, or a lax.DotAlgorithmPreset")
    return found.name.lower()


def _algorithm_name(a: DotAlgorithm) -> str:
    """The name of an algorithm given by its parts. Raises: ValueError where none has them."""
    types = []
    for t in a[:3]:
        name = str(t) if isinstance(t, str) and t.lower() in ("tf32", "tensorfloat32") else \
            canonicalize_dtype(t).name
        types.append(_SHORT.get(name, "TF32" if name.lower().startswith("t") else name.upper()))
    n = a.num_primitive_operations
    found = "_".join(types) + (f"_X{n}" if n > 1 else "")
    if found not in DotAlgorithmPreset.__members__ or a.allow_imprecise_accumulation:
        raise ValueError(f"no known algorithm for matrix products matches {a}; the known ones are "
                         f"{list(DotAlgorithmPreset.__members__)}")
    return found


__all__ = [
    "DotAlgorithm", "DotAlgorithmPreset", "Precision", "PrecisionLike",
]  # fmt: skip
