"""`import jax` finds xfront: for programs and libraries that are written for JAX.

    python -m xfront program.py          runs an unchanged program
    xfront.install_as_jax()              the same for the rest of this process
    PYTHONPATH=$(python -m xfront --path) pytest    the same for a command and its children

`finder.py` resolves `jax` and its modules to the modules here. `private.py` says which objects here
stand for the names under `jax._src` that libraries import; the small files define some of those
objects. `xfront/base/absent.py` has the messages about missing names. `import xfront` loads none of
this.
"""
