"""Random numbers from explicit keys; streams are those of the threefry generator by default."""

from .bits import bernoulli, bits, permutation, randint, uniform
from .distributions import categorical, exponential, gumbel, normal, truncated_normal
from .keys import PRNGKey, clone, fold_in, key, key_data, key_impl, split, wrap_key_data

__all__ = ["PRNGKey", "bernoulli", "bits", "categorical", "clone", "exponential", "fold_in",
           "gumbel", "key", "key_data", "key_impl", "normal", "permutation", "randint", "split",
           "truncated_normal", "uniform", "wrap_key_data"]
