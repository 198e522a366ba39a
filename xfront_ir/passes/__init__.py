"""Passes: Function to Function. One a file, with before and after as text at its top."""
