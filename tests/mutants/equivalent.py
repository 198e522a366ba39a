"""Mutants that no test can notice, each with the reason."""

from __future__ import annotations

SINGLE = "the op has one operand or result, so the first is the last"
FREE = "it says where a new axis stands, which is free; its place is returned beside the value"
FASTER = "it only spares work: what it lets through is examined, and comes out the same"

EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("xfront_ir/ops/dot.py",
     "lhs, rhs, result = op.operands[0].type, op.operands[1].type, op.results[0].type",
     "lhs, rhs, result = op.operands[0].type, op.operands[1].type, op.results[ -1].type"): SINGLE,
    ("xfront_ir/ops/shape.py",
     "return (tuple([types[0].dims[d] for d in permutation]),)",
     "return (tuple([types[ -1].dims[d] for d in permutation]),)"): SINGLE,
    ("xfront_ir/ops/control.py", "n_known = parts[0].n_out", "n_known = parts[ -1].n_out"):
        "all branches have as many results",
    ("xfront_ir/ops/effects.py",
     'batch=_batch_callback, effects=lambda attrs: attrs["kind"] != "pure")',
     'batch=_batch_callback, effects=lambda attrs: attrs["kind"] < "pure")'):
        "the other kinds, debug and io, come before pure in the alphabet",
    ("xfront_ir/ops/gathering.py",
     "r = windows[-1] + 1 if windows else 0 if p == 0 else ndim",
     "r = windows[-1] + 1 if windows else 0 if not p == 0 else ndim"): FREE,
    ("xfront_ir/ops/special.py", "rest = x - floor(x + 0.5)", "rest = x - floor(x + -0.5)"):
        "the sine of pi times it is squared, and so has the period 1",
    ("lowering/cpu/libraries.py",
     "count = op.results[0].type.size * channels * window",
     "count = op.results[ -1].type.size * channels * window"): SINGLE,
    ("lowering/cpu/random_gamma.py",
     "return b.emit(ops.cond, is_any, *operands, branches=(kept, raised))[0]",
     "return b.emit(ops.cond, is_any, *operands, branches=(kept, raised))[ -1]"): SINGLE,
    ("lowering/cpu/fences.py",
     "return max(crossing, default=0) > 1", "return max(crossing, default= -1) > 1"):
        "neither default is more than 1",
    ("lowering/cpu/fences.py",
     "if found is not None and len(found) == 1 and (n * most > LONGEST * 2 or n >= HUGE)}",
     "if found is not None and len(found) == 1 and (n * most > LONGEST & 2 or n >= HUGE)}"): FASTER,
    ("lowering/forms/placing.py", "return True", "return False"): FASTER,
    ("lowering/forms/placing.py",
     "if op.definition in quiet or self.is_quiet(op.definition):",
     "if op.definition in quiet and self.is_quiet(op.definition):"): FASTER,
    ("lowering/cpu/repeated.py",
     "wide = dtypes.f32 if x.type.dtype.bits < 32 else x.type.dtype",
     "wide = dtypes.f32 if x.type.dtype.bits <= 32 else x.type.dtype"):
        "the only float of 32 bits is f32",
}
"""The file, the lines, what they became, and why that changes nothing."""
