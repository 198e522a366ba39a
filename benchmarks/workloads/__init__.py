"""Whole programs as people write them, a file for each field; `measured` makes rows of them."""
