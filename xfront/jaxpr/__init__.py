"""Programs as data: views of Functions of the IR under JAX's names; see docs/programs.md."""
