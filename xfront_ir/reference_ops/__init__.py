"""Rows of the NumPy evaluator, with one module for each family of ops, which
`xfront_ir.reference` finds."""
