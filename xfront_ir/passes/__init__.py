"""Passes from Function to Function, one in each file, with before and after as text at its top."""
