"""A search for programs that XLA compiles wrongly.

Random programs of one to eight operations, at the sizes, ranks, windows and special values where
XLA changes its ways, are compiled and compared with the NumPy evaluator. `python -m tests.compiled`
says how to run it; the suite has a sample (`test_compiled.py`).
"""
