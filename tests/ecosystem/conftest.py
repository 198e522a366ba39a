"""These tests run where `import jax` finds xfront and the libraries are: `make ecosystem`."""

import sys

collect_ignore = [] if "jax" in sys.modules else ["test_libraries.py"]
