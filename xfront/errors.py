"""The errors that users catch: names and base classes of `jax.errors`, messages of our own.

Each class takes a plain message; the code that raises writes it (what happened, where, what to
write instead). A class may get a tracer instead of a message, which is then made from the tracer.
"""

from .base.errors import (
    BroadcastError,
    ConcretizationTypeError,
    InconclusiveDimensionOperation,
    IndexBroadcastError,
    JAXIndexError,
    JaxprTypeError,
    JaxRuntimeError,
    JAXTypeError,
    KeyReuseError,
    MatrixDtypeError,
    MatrixShapeError,
    NonConcreteBooleanIndexError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from .base.on_demand import shown as _shown

__all__ = [
    "BroadcastError", "ConcretizationTypeError", "InconclusiveDimensionOperation",
    "IndexBroadcastError", "JAXIndexError", "JAXTypeError", "JaxRuntimeError", "JaxprTypeError",
    "KeyReuseError", "MatrixDtypeError", "MatrixShapeError", "NonConcreteBooleanIndexError",
    "TracerArrayConversionError", "TracerBoolConversionError", "TracerIntegerConversionError",
    "UnexpectedTracerError",
]  # fmt: skip
__dir__ = _shown(globals())
