"""Finds the operation that made a NaN or an infinity, by running the program again, op by op.

The NumPy evaluator runs calls by their bodies, branches, and loops turn by turn; ops without bodies
run as programs of their own. The location of the op that is found is a line of the function that
was traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir.core import Function, Op
from xfront_ir.literal import literal
from xfront_ir.passes.pipeline import simplify
from xfront_ir.reference import meaning, run

from .. import binding
from ..base.config import debug_infs, debug_nans
from ..tracing.watching import bad
from ..values.keys import key_base
from .compiling import unit_of
from .host import slots_in
from .placement import Placement, placement


class Blamed(Exception):
    """The error that names an op whose result is NaN or infinite."""

    def __init__(self, op: Op, what: str) -> None:
        super().__init__(what)
        self.op, self.what = op, what


def explain(name: str, function: Function, operands: Sequence[Any], located: bool) -> None:
    """Raise the FloatingPointError that names the operation, where running op by op finds it.

    Args:
      name, function, operands: the program and the arrays that it was called with.
      located: whether the Function was traced from the code that is running now.
    """
    if slots_in(simplify(function)) or any(
            [x.is_deleted() for x in operands if isinstance(x, binding.Array)]):
        return                                     # not to be run twice
    place = placement(operands, name)[0]
    if type(place) is not Placement:             # op by op on one device
        operands = [place.gathered(x) for x in operands]
        place = placement(operands, name)[0]
    try:
        evaluate(function, operands, place)
    except Blamed as found:
        op, what = found.op, found.what
        types = ", ".join([str(v.type) for v in op.operands])
        made = ", ".join([str(v.type) for v in op.results])
        where = f" at {op.loc.file}:{op.loc.line} ({op.loc.function})" if (
            located and op.loc is not None and op.loc.code is not None) else ""
        raise FloatingPointError(
            f"invalid value ({what}) encountered in {op.definition.name}({types}) -> "
            f"{made}{where}, in {name}; this error is raised because the option jax_debug_{what}s "
            "is set") from None


def evaluate(function: Function, operands: Sequence[Any], place: Placement) -> None:
    """Run a Function op by op. Raises: Blamed."""
    def result(op: Op, given: Sequence[np.ndarray]) -> Any:
        regions = op.definition.regions
        if op.definition is literal or regions is not None and (
                regions.value or regions.is_choice or regions.is_loop):
            return meaning(op, given)
        with debug_nans(False), debug_infs(False):
            made = [_words(x) for x in unit_of(op, place).run(given)]
        for x in made:
            if (what := bad(x)) is not None:
                raise Blamed(op, what)
        return tuple(made)

    run(function, [np.asarray(_words(x), v.type.dtype.numpy)
                   for x, v in zip(operands, function.params, strict=True)], result)


def _words(x: Any) -> np.ndarray:
    """The elements of an array, or the words of a key array."""
    return np.asarray(key_base(x))


__all__ = ["explain"]
