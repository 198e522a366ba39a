"""Portable artifacts: programs as versioned StableHLO, which other processes merge into theirs.

An artifact for one platform is the module of the program. For several it is one module, whose
`main` takes the index of the platform before the arguments:

    func public @main(%index, %x) { case %index { call @p0.main(%x) } { call @p1.main(%x) } }
    func private @p0.main(%x) { ... }      and what it calls, @p0.…
    func private @p1.main(%x) { ... }      left out where a platform's module equals an earlier one

`merging.py` copies the functions of one platform into a module that calls the program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from xfront_ir.core import Function

from . import compat
from .forms.extras import ALWAYS, NOTHING
from .merging import kernel_of
from .module import MAX_PRIVATE_DEPTH, build_module

STABLE = re.compile(
    r"lapack_[sdcz][a-z]+_ffi|cusolver_(potrf|getrf|geqrf|orgqr|ormqr|syevd|gesvdj?|sytrd)_ffi|"
    r"cusparse_gtsv2_ffi|cu_lu_pivots_to_permutation|ApproxTopK|Qr|Eigh|LuDecomposition|"
    r"ProductOfElementaryHouseholderReflectors")
"""Names of kernels that stay what they are in later versions of jaxlib and of the platforms."""

MAX_CHAIN = 2 * MAX_PRIVATE_DEPTH
"""The longest chain of private functions in an artifact; several hundred end XLA's compiler."""


def write(function: Function, name: str, platforms: Sequence[str]) -> tuple[bytes, set[str]]:
    """The artifact of a Function for platforms, and the names of the kernels that it calls.

    It holds the plain StableHLO, without locations, and forms only where a platform's compiler
    needs them.

    Raises: MissingRule where an op has no lowering for a platform; NotImplementedError where the
      program holds what no artifact can, or calls exported programs too deep.
    """
    from jaxlib.mlir import ir  # with the first lowering

    built = [build_module(function, name=name, platform=p, extras=ALWAYS.get(p, NOTHING))
             for p in platforms]
    module = built[0].module
    with module.context, built[0].module.operation.location:
        if len(built) > 1:
            module = _of_platforms([b.module for b in built], name)
        kernels: set[str] = set()
        unknown = ir.Location.unknown()

        def visit(op: Any) -> Any:
            op.location = unknown
            kernels.update(kernel_of(op))
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        if (chain := _longest_chain(module)) > MAX_CHAIN:
            raise NotImplementedError(f"{name} has a chain of {chain} functions that call one "
                                      f"another, exported ones included; at most {MAX_CHAIN} can "
                                      "be exported")
        return compat.portable_artifact(module), kernels


# --- several platforms --------------------------------------------------------------------

def _of_platforms(modules: Sequence[Any], name: str) -> Any:
    """One module with the functions of several, and the `main` that chooses by its first argument.
    """
    from jaxlib.mlir import ir

    whole = ir.Module.create()
    at = ir.InsertionPoint(whole.body)
    top = whole.operation.attributes
    for key in ("mhlo.num_partitions", "mhlo.num_replicas", "sym_name"):
        top[key] = modules[0].operation.attributes[key]
    texts = [str(m) for m in modules]
    entries: list[str] = []
    type_: Any = None
    for i, module in enumerate(modules):
        if texts.index(texts[i]) < i:
            entries.append(entries[texts.index(texts[i])])
            continue
        names = [ir.StringAttr(op.attributes["sym_name"]).value for op in module.body.operations]
        for old in names:
            ir.SymbolTable.replace_all_symbol_uses(old, f"p{i}.{old}", module.operation)
        for op, old in zip(module.body.operations, names, strict=True):
            op.operation.attributes["sym_name"] = ir.StringAttr.get(f"p{i}.{old}")
            op.operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
            if old == "main":
                type_ = ir.FunctionType(op.operation.attributes["function_type"].value)
            op.operation.clone(at)
        entries.append(f"p{i}.main")
    _choosing(ir, ir.InsertionPoint(whole.body), type_, entries)
    return whole


def _choosing(ir: Any, at: Any, type_: Any, entries: Sequence[str]) -> None:
    """The function `main` that calls one of `entries`."""
    index = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
    ins, outs = [index, *type_.inputs], list(type_.results)
    made = ir.Operation.create("func.func", regions=1, ip=at, attributes={
        "sym_name": ir.StringAttr.get("main"), "sym_visibility": ir.StringAttr.get("public"),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(ins, outs))})
    block = made.regions[0].blocks.append(*ins)
    inside = ir.InsertionPoint(block)
    choice = ir.Operation.create("stablehlo.case", results=outs, operands=[block.arguments[0]],
                                 regions=len(entries), ip=inside)
    for region, entry in zip(choice.regions, entries, strict=True):
        to = ir.InsertionPoint(region.blocks.append())
        called = ir.Operation.create(
            "func.call", results=outs, operands=list(block.arguments)[1:], ip=to,
            attributes={"callee": ir.FlatSymbolRefAttr.get(entry)})
        ir.Operation.create("stablehlo.return", operands=list(called.results), ip=to)
    ir.Operation.create("func.return", operands=list(choice.results), ip=inside)


def _longest_chain(module: Any) -> int:
    """The most functions of a module that call one another in a row."""
    from jaxlib.mlir import ir

    called: dict[str, set[str]] = {}
    for op in module.body.operations:
        found: set[str] = set()

        def visit(inside: Any, found: set[str] = found) -> Any:
            if inside.name == "func.call":
                found.add(inside.attributes["callee"].value)
            return ir.WalkResult.ADVANCE

        op.operation.walk(visit)
        called[op.attributes["sym_name"].value] = found
    height: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in height:
            height[name] = 1 + max((of(n) for n in called[name]), default=0)
        return height[name]

    return max(map(of, called))
