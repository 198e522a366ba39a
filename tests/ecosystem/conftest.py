"""These tests run where `import jax` finds xfront and the libraries are: `make ecosystem`."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("optax") else ["test_libraries.py"]
