"""Programs as data: Functions of the IR seen under JAX's names; see docs/programs.md."""
