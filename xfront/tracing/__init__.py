"""Tracing: from Python that runs once to a Function of the IR."""
