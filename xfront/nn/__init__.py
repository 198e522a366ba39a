"""Functions of neural networks, and initializers of their parameters."""

from ..base.on_demand import shown as _shown
from ..numpy.normalizers import log_softmax, logmeanexp, logsumexp, one_hot, softmax, standardize
from . import initializers
from .attention import dot_product_attention
from .functions import (
    celu,
    elu,
    gelu,
    glu,
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    identity,
    leaky_relu,
    log1mexp,
    log_sigmoid,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    soft_sign,
    softplus,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
    swish,
    tanh,
)
from .scaled import scaled_matmul

__all__ = ["celu", "dot_product_attention", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu",
           "hard_swish", "hard_tanh", "identity", "initializers", "leaky_relu", "log1mexp",
           "log_sigmoid", "log_softmax", "logmeanexp", "logsumexp", "mish", "one_hot", "relu",
           "relu6", "scaled_matmul", "selu", "sigmoid", "silu", "soft_sign", "softmax", "softplus",
           "sparse_plus", "sparse_sigmoid", "squareplus", "standardize", "swish", "tanh"]
__dir__ = _shown(globals())
