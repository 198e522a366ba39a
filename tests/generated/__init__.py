"""Random typed programs over the public API, and what must hold for each of them.

`program.py` is the program as data, `writer.py` writes one with the choices of a hypothesis draw,
`straight.py` and `nested.py` hold what it may write, `checks.py` what must hold.
"""
