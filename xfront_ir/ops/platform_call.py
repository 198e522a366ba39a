"""platform_call: a kernel by the name under which a platform's compiler or libraries know it.

Passes for platforms write it in place of ops for which the platform has a kernel. Programs have no
such call before lowering, so it has no derivative and no batching. The meaning of each kernel is in
`reference_ops/platform_call.py`.

Attributes: `target` is the name, `results` the types of the results, `api` the version of XLA's
interface for custom calls, `config` the kernel's configuration: MLIR's text of a dictionary for
api 4, any text for earlier versions. The first `batch_axes` axes are batches; a value with two more
axes is a matrix, which kernels of api 4 have column by column in memory. `in_place` lists pairs
(result, operand) that share their memory.

Source: StableHLO spec, `custom_call`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..definition import NONE
from ..errors import IRTypeError
from ..opdef import INT, INTS, STR, TREE, TYPES, define

if TYPE_CHECKING:
    from ..rules import Attrs, Types

APIS = (1, 2, 4)


def _infer_platform_call(types: Types, attrs: Attrs) -> Types:
    results, target = attrs["results"], attrs["target"]
    if not target or not results or attrs["api"] not in APIS:
        raise IRTypeError(f"platform_call takes a target, results and an api of {APIS}, got target "
                          f"{target!r}, {len(results)} results and api {attrs['api']}")
    for pair in attrs["in_place"]:
        k, i = pair if INTS.accepts(pair) and len(pair) == 2 else (-1, -1)
        if not (0 <= k < len(results) and 0 <= i < len(types) and results[k] is types[i]):
            raise IRTypeError("platform_call: in_place must have pairs of a result and an operand "
                              f"of the same type, got {pair} for @{target}")
    return results


platform_call = define("platform_call", infer=_infer_platform_call, single=False, jvp=NONE,
                       batch=NONE, attrs={
                           "target": STR, "results": TYPES, "api": INT, "config": STR,
                           "batch_axes": INT, "in_place": TREE})
"""(operands) -> the results of the kernel."""
