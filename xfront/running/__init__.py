"""Running Functions: the table of programs, their compilation, placements, and host functions."""
