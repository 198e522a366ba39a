"""Small libraries as examples: optimisers, and layers of neural networks."""

from . import optimizers, stax

__all__ = ["optimizers", "stax"]
