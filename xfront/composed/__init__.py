"""Functions of `lax` and of the transformations that are written in those of `numpy`."""
