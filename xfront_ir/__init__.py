"""The typed SSA IR of xfront; see docs/ir.md. Needs numpy and ml_dtypes only."""
