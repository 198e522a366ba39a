"""Functions with their own rule for batches."""

from .transforms.custom_vmap import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
