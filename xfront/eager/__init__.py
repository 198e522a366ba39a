"""Functions that run at once: their front doors, operands, templates, and where results lie."""
