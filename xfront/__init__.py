"""xfront: numeric programs for CPU, GPU and TPU, traced into a typed IR and compiled by XLA."""

from __future__ import annotations

from . import lax, tree, tree_util
from .arrays import methods as _methods  # noqa: F401  attaches the methods of Array
from .arrays.binding import Array, Device
from .config import config
from .stages import ShapeDtypeStruct, eval_shape, make_ir, make_jaxpr
from .transforms.autodiff import grad, jvp, linearize, value_and_grad, vjp
from .transforms.checkpoint import checkpoint, remat
from .transforms.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
from .transforms.jit import jit
from .transforms.vmap import vmap

__version__ = "0.1.0"
