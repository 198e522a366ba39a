"""Reads portable artifacts: as text, and into a module that calls their program.

`artifacts.py` writes artifacts, and says what one is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import compat
from .context import mlir_context


def text(data: bytes) -> str:
    """The StableHLO of an artifact. Raises: ValueError where the bytes are none, or of a version
    of StableHLO that this jaxlib does not read."""
    return str(_read(data))


def _read(data: bytes) -> Any:
    mlir = mlir_context()
    with mlir.context, mlir.unknown:
        return compat.read_artifact(data, mlir.context)


def merged(data: bytes, index: int, several: bool, at: Any, free: Callable[[str], str],
           require: Callable[[str], None]) -> tuple[str, Any]:
    """Copy the functions of an artifact into another module.

    Args:
      data: the artifact.
      index: of the platform in it; several: whether it has more than one.
      at: insertion point in the other module, whose context is active.
      free: gives a symbol that the other module does not have yet.
      require: called with what the process must set up for the kernels that the program calls.
    Returns: the symbol of its entry, and the type of that function.
    Raises: ValueError where the bytes are no artifact for so many platforms.
    """
    from jaxlib.mlir import ir  # with the first lowering

    module = compat.read_artifact(data, at.block.owner.context)
    functions = {ir.StringAttr(op.attributes["sym_name"]).value: op
                 for op in module.body.operations if op.operation.name == "func.func"}
    try:
        entry = _entry(functions["main"], index) if several else "main"
        type_ = ir.TypeAttr(functions[entry].attributes["function_type"]).value
    except (KeyError, IndexError, ValueError, AttributeError):
        raise ValueError("an exported program is malformed: it has no function for platform "
                         f"number {index}") from None
    prefix = entry.rpartition("main")[0]
    names = {}
    for name in functions:
        if name.startswith(prefix) and not (several and name == "main"):
            made = free("call_exported" if name == entry else name[len(prefix):])
            while made in functions:
                made = free(made)
            names[name] = made
    for name, made in names.items():
        ir.SymbolTable.replace_all_symbol_uses(name, made, module.operation)
    for name, made in names.items():
        op = functions[name].operation
        op.attributes["sym_name"] = ir.StringAttr.get(made)
        op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        for held in ("arg_attrs", "res_attrs"):
            if held in op.attributes:
                del op.attributes[held]

        def visit(inside: Any) -> Any:
            for kernel in kernel_of(inside):
                if kernel.startswith("lapack_"):
                    require("lapack")
            return ir.WalkResult.ADVANCE

        op.walk(visit)
        op.clone(at)
    return names[entry], type_


def kernel_of(op: Any) -> list[str]:
    """The name of the kernel that an op calls, if it is such a call."""
    return [op.attributes["call_target_name"].value] if op.name == "stablehlo.custom_call" else []


def _entry(main: Any, index: int) -> str:
    """The function that `main` calls for the platform with this index."""
    choice = main.operation.regions[0].blocks[0].operations[0]
    call = choice.operation.regions[index].blocks[0].operations[0]
    return call.operation.attributes["callee"].value


__all__ = ["kernel_of", "merged", "text"]
