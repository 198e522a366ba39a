"""Calls of every public function, as text: what a walk over all of them runs.

A row is one expression or several, written as a user writes it. Their free names are the operands
in `operands.py`, of which a row uses those that agree in dtype, and in rank where the function
broadcasts: what is then refused under a strict setting, the library did itself.
"""
