"""These tests run where `import jax` finds xfront and the libraries are: `make ecosystem`. They are
for four CPU devices."""

import importlib.util

collect_ignore_glob = []
if importlib.util.find_spec("optax") and importlib.util.find_spec("jax"):
    import jax

    jax.config.update("jax_num_cpu_devices", 4)
else:
    collect_ignore_glob.append("test_*.py")
