"""`import jax` finds xfront: for programs and libraries that are written for JAX.

    python -m xfront program.py          runs an unchanged program
    xfront.install_as_jax()              the same for the rest of this process
    PYTHONPATH=$(python -m xfront --path) pytest    the same for a command and its children

`finder.py` resolves `jax` and its modules to the modules here, `private.py` says what the names
under `jax._src` that libraries import mean here; the small files are what some of those mean.
`xfront/absent.py` has what is said of names that are not here. None of it is loaded by
`import xfront`.
"""
