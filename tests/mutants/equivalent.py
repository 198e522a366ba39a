"""Mutants that no test can notice, each with the reason."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
}
"""The file, the line and what it became."""
