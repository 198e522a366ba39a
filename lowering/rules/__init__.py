"""How each op becomes StableHLO: one file per family, imported when the family is first lowered.

`expressions.py` is the notation of formulas, `complexes.py` has those of complex numbers.
"""
