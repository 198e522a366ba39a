"""The version of JAX's API under the names of `jax.version` and `jax.lib`."""

from .finder import API_LEVEL as __version__

__version_info__ = tuple(int(part) for part in __version__.split("."))
__all__ = ["__version__", "__version_info__"]
