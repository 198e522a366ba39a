"""Rows of the NumPy evaluator, one module a family of ops; found by `xfront_ir.reference`."""
