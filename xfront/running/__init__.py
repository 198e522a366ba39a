"""What runs a Function: programs and what is compiled of them, placements, host functions."""
