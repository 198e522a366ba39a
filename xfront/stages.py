"""Stages of a jitted function, which can be inspected: traced, lowered and compiled.

    traced = jit(f).trace(x)       the IR: `.ir`, `.jaxpr`, `.as_text()`
    lowered = traced.lower()       StableHLO: `.as_text()`, `.compiler_ir()`
    compiled = lowered.compile()   machine code: callable, `.as_text()`, `.cost_analysis()`
"""

from .base.on_demand import shown as _shown
from .transforms.inspection import ClosedProgram, eval_shape, make_ir, make_jaxpr, typeof
from .transforms.signature import ArgInfo
from .transforms.stages import Compiled, CompilerOptions, Lowered, Traced, Wrapped
from .transforms.structs import ShapeDtypeStruct

__all__ = [
    "ArgInfo", "ClosedProgram", "Compiled", "CompilerOptions", "Lowered", "ShapeDtypeStruct",
    "Traced", "Wrapped", "eval_shape", "make_ir", "make_jaxpr", "typeof",
]  # fmt: skip
__dir__ = _shown(globals())
