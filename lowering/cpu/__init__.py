"""Extras for CPU: forms of ops that run faster, fences, and the choice of XLA's libraries."""
