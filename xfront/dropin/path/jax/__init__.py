"""On PYTHONPATH, this folder has every `import jax` find xfront: see `xfront.dropin`."""

import importlib
import sys

del sys.modules["jax"]                           # this module gives way to what is installed
importlib.import_module("xfront").install_as_jax()
importlib.import_module("jax")
