"""Layers of neural networks, as pairs of functions `(init_fun, apply_fun)`.

`init_fun(key, input_shape)` returns the shape of the output and the parameters;
`apply_fun(params, inputs, **kwargs)` returns the output. Layers that draw random numbers take a
random key as `rng=`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax, random
from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from ..nn.initializers import glorot_normal, normal, ones, zeros

Layer = tuple[Callable[..., Any], Callable[..., Any]]
glorot, randn, logsoftmax = glorot_normal, normal, log_softmax


def Dense(out_dim: int, W_init: Any = None, b_init: Any = None) -> Layer:
    """The layer `x W + b`.

    Args:
      out_dim: size of the last axis of the output.
      W_init, b_init: initializers of W and b; None means `glorot_normal()` and `normal()`.

    >>> start, apply = stax.Dense(3)
    >>> shape, (W, b) = start(xfront.random.key(0), (5, 2))
    >>> shape, W.shape, b.shape
    ((5, 3), (2, 3), (3,))
    """
    draw_w, draw_b = W_init or glorot_normal(), b_init or normal()

    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        first, second = random.split(rng)
        return (*input_shape[:-1], out_dim), (draw_w(first, (input_shape[-1], out_dim)),
                                              draw_b(second, (out_dim,)))

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        w, b = params
        return jnp.dot(inputs, w) + b

    return init_fun, apply_fun


def _conv(transposed: bool, dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int],
          strides: Any, padding: Any, W_init: Any, b_init: Any) -> Layer:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    step = tuple(strides or (1,) * len(filter_shape))
    draw_w = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))
    draw_b = b_init or normal(1e-6)
    shape_of = (lax.conv_transpose_shape_tuple if transposed else lax.conv_general_shape_tuple)
    convolve = lax.conv_transpose if transposed else lax.conv_general_dilated

    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        sizes = iter(filter_shape)
        kernel = tuple([out_chan if c == "O" else input_shape[lhs_spec.index("C")] if c == "I"
                        else next(sizes) for c in rhs_spec])
        output = shape_of(tuple(input_shape), kernel, step, padding, dimension_numbers)
        first, second = random.split(rng)
        bias = tuple([out_chan if c == "C" else 1 for c in out_spec])
        return tuple(output), (draw_w(first, kernel), draw_b(second, bias))

    def apply_fun(params: Any, inputs: Any, **_: Any) -> Any:
        w, b = params
        return convolve(inputs, w, step, padding, dimension_numbers=dimension_numbers) + b

    return init_fun, apply_fun


def GeneralConv(dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int],
                strides: Any = None, padding: Any = "VALID", W_init: Any = None, b_init: Any = None
                ) -> Layer:
    """A convolution with `out_chan` filters, and a bias for each.

    Args:
      dimension_numbers: three strings of axes, as for `lax.conv_general_dilated`.
      out_chan: number of filters.
      filter_shape: spatial sizes of a filter.
      strides: an int for each spatial axis; None means ones.
      padding: "VALID", "SAME" or pairs of ints, as for `lax.conv_general_dilated`.
      W_init, b_init: initializers; None means `glorot_normal` and `normal(1e-6)`.

    >>> start, apply = stax.GeneralConv(("NHWC", "HWIO", "NHWC"), out_chan=4, filter_shape=(3, 3))
    >>> start(xfront.random.key(0), (1, 8, 8, 2))[0]
    (1, 6, 6, 4)
    """
    return _conv(False, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init)


def GeneralConvTranspose(dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int],
                         strides: Any = None, padding: Any = "VALID", W_init: Any = None,
                         b_init: Any = None) -> Layer:
    """A transposed convolution, `lax.conv_transpose`; arguments as for `GeneralConv`.

    >>> axes = ("NHC", "HIO", "NHC")
    >>> start, apply = stax.GeneralConvTranspose(axes, out_chan=4, filter_shape=(3,))
    >>> start(xfront.random.key(0), (1, 8, 2))[0]
    (1, 10, 4)
    """
    return _conv(True, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init)


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))


def BatchNorm(axis: Any = (0, 1, 2), epsilon: float = 1e-5, center: bool = True, scale: bool = True,
              beta_init: Any = zeros, gamma_init: Any = ones) -> Layer:
    """Inputs standardized over `axis`, times gamma (with `scale`), plus beta (with `center`).

    Args:
      axis: axis or axes over which mean and variance are taken.
      epsilon: number added to the variance.
      center, scale: whether there are parameters beta and gamma.
      beta_init, gamma_init: their initializers.

    >>> start, normalize = stax.BatchNorm(axis=0)
    >>> _, params = start(xfront.random.key(0), (3, 1))
    >>> normalize(params, jnp.array([[1.], [2.], [3.]])).ravel()
    Array([-1.225,  0.   ,  1.225], dtype=float32)
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        shape = tuple([n for i, n in enumerate(input_shape) if i not in axes])
        first, second = random.split(rng)
        beta = beta_init(first, shape) if center else ()
        gamma = gamma_init(second, shape) if scale else ()
        return tuple(input_shape), (beta, gamma)

    def apply_fun(params: Any, x: Any, **_: Any) -> Any:
        beta, gamma = params
        made = standardize(x, axes, epsilon=epsilon)
        place = tuple([None if i in axes else slice(None) for i in range(jnp.ndim(x))])
        if scale:
            made = gamma[place] * made
        return made + beta[place] if center else made

    return init_fun, apply_fun


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A function of each element, without parameters.

    >>> _, leaky = stax.elementwise(nn.leaky_relu, negative_slope=0.5)
    >>> leaky((), jnp.array([-1., 2.]))
    Array([-0.5,  2. ], dtype=float32)
    """
    return _shaped, lambda params, inputs, **_: fun(inputs, **fun_kwargs)


def _shaped(_rng: Any, input_shape: Any) -> Any:
    return input_shape, ()


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)


# --- pooling --------------------------------------------------------------------------------

def _pool(reducer: Any, initial: Any, mean: bool, window_shape: Sequence[int], strides: Any,
          padding: Any, spec: str | None) -> Layer:
    step = tuple(strides or (1,) * len(window_shape))
    n = len(window_shape) + 2
    others = (0, n - 1) if spec is None else (spec.index("N"), spec.index("C"))

    def full(sizes: Sequence[int]) -> tuple[int, ...]:
        given = iter(sizes)
        return tuple([1 if i in others else next(given) for i in range(n)])

    window, step = full(window_shape), full(step)

    def init_fun(_rng: Any, input_shape: Sequence[int]) -> Any:
        pads = lax.padtype_to_pads(input_shape, window, step, padding) if isinstance(
            padding, str) else padding
        return lax.reduce_window_shape_tuple(tuple(input_shape), window, step, pads), ()

    def apply_fun(_params: Any, inputs: Any, **_: Any) -> Any:
        made = lax.reduce_window(inputs, jnp.asarray(initial, inputs.dtype), reducer, window, step,
                                 padding)
        if not mean:
            return made
        counts = lax.reduce_window(jnp.ones_like(inputs), jnp.zeros((), inputs.dtype), lax.add,
                                   window, step, padding)
        return made / counts

    return init_fun, apply_fun


def MaxPool(window_shape: Sequence[int], strides: Any = None, padding: Any = "VALID",
            spec: str | None = None) -> Layer:
    """The maximum of each window. `spec` names the axes, "NHWC" unless given; `strides` are ones,
    unless given.

    >>> _, largest = stax.MaxPool((2, 2))
    >>> largest((), jnp.arange(4.).reshape(1, 2, 2, 1)).ravel()
    Array([3.], dtype=float32)
    """
    return _pool(lax.max, -np.inf, False, window_shape, strides, padding, spec)


def SumPool(window_shape: Sequence[int], strides: Any = None, padding: Any = "VALID",
            spec: str | None = None) -> Layer:
    """The sum of each window; arguments as for `MaxPool`.

    >>> _, total = stax.SumPool((2, 2))
    >>> total((), jnp.arange(4.).reshape(1, 2, 2, 1)).ravel()
    Array([6.], dtype=float32)
    """
    return _pool(lax.add, 0.0, False, window_shape, strides, padding, spec)


def AvgPool(window_shape: Sequence[int], strides: Any = None, padding: Any = "VALID",
            spec: str | None = None) -> Layer:
    """The mean of the part of each window inside the image; arguments as for `MaxPool`.

    >>> _, mean = stax.AvgPool((2, 2))
    >>> mean((), jnp.arange(4.).reshape(1, 2, 2, 1)).ravel()
    Array([1.5], dtype=float32)
    """
    return _pool(lax.add, 0.0, True, window_shape, strides, padding, spec)


# --- shapes, branches, chains ---------------------------------------------------------------

def _flat_shape(_rng: Any, input_shape: Sequence[int]) -> Any:
    return (input_shape[0], math.prod(input_shape[1:])), ()


Flatten: Layer = _flat_shape, lambda params, inputs, **_: jnp.reshape(
    inputs, (inputs.shape[0], math.prod(inputs.shape[1:])))
Identity: Layer = _shaped, lambda params, inputs, **_: inputs


def FanOut(num: int) -> Layer:
    """A list of `num` times the input.

    >>> _, copies = stax.FanOut(2)
    >>> copies((), jnp.array([1.]))
    [Array([1.], dtype=float32), Array([1.], dtype=float32)]
    """
    return (lambda rng, input_shape: ([input_shape] * num, ()),
            lambda params, inputs, **_: [inputs] * num)


FanInSum: Layer = (lambda rng, input_shape: (input_shape[0], ()),
                   lambda params, inputs, **_: sum(inputs))


def FanInConcat(axis: int = -1) -> Layer:
    """The inputs joined along an axis.

    >>> _, join = stax.FanInConcat()
    >>> join((), (jnp.array([1., 2.]), jnp.array([3.])))
    Array([1., 2., 3.], dtype=float32)
    """
    def init_fun(_rng: Any, input_shape: Any) -> Any:
        at = axis % len(input_shape[0])
        total = sum([shape[at] for shape in input_shape])
        return (*input_shape[0][:at], total, *input_shape[0][at + 1:]), ()

    return init_fun, lambda params, inputs, **_: jnp.concatenate(inputs, axis)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Elements that are dropped at random.

    Args:
      rate: the probability with which an element is kept; kept elements are divided by it.
      mode: "train", or "test" for a layer that returns its input.
    Raises: ValueError for other modes, and where `apply_fun` gets no `rng` in the mode "train".

    >>> _, drop = stax.Dropout(0.5)
    >>> drop((), jnp.ones(4), rng=xfront.random.key(0))
    Array([0., 0., 2., 2.], dtype=float32)
    """
    if mode not in ("train", "test"):
        raise ValueError(f"Dropout: mode must be 'train' or 'test', got {mode!r}")

    def apply_fun(_params: Any, inputs: Any, **kwargs: Any) -> Any:
        key = kwargs.get("rng")
        if key is None:
            raise ValueError("Dropout layer requires apply_fun to be called with a random key: "
                             "write apply_fun(params, inputs, rng=key)")
        if mode == "test":
            return inputs
        keep = random.bernoulli(key, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return _shaped, apply_fun


def serial(*layers: Layer) -> Layer:
    """Layers one after the other; the parameters are a list.

    >>> start, apply = stax.serial(stax.Dense(3), stax.Relu, stax.Dense(1))
    >>> shape, params = start(xfront.random.key(0), (5, 2))
    >>> shape, apply(params, jnp.ones((5, 2))).shape
    ((5, 1), (5, 1))
    """
    def init_fun(rng: Any, input_shape: Any) -> Any:
        params = []
        for init, _ in layers:
            rng, own = random.split(rng)
            input_shape, made = init(own, input_shape)
            params.append(made)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.pop("rng", None)
        keys = random.split(rng, len(layers)) if rng is not None else (None,) * len(layers)
        for (_, apply), own, key in zip(layers, params, keys, strict=True):
            inputs = apply(own, inputs, rng=key, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Layers side by side, one for each of the inputs, such as those of `FanOut`.

    >>> start, apply = stax.parallel(stax.Relu, stax.Identity)
    >>> _, params = start(xfront.random.key(0), [(2,), (2,)])
    >>> apply(params, [jnp.array([-1., 1.]), jnp.array([-1., 1.])])
    [Array([0., 1.], dtype=float32), Array([-1.,  1.], dtype=float32)]
    """
    def init_fun(rng: Any, input_shape: Any) -> Any:
        keys = random.split(rng, len(layers))
        made = [init(key, shape) for (init, _), key, shape in zip(layers, keys, input_shape,
                                                                  strict=True)]
        return [shape for shape, _ in made], tuple([params for _, params in made])

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.pop("rng", None)
        keys = random.split(rng, len(layers)) if rng is not None else (None,) * len(layers)
        return [apply(own, x, rng=key, **kwargs)
                for (_, apply), own, x, key in zip(layers, params, inputs, keys, strict=True)]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """The layer that `make_layer` makes for the shape of the inputs.

    >>> start, apply = stax.shape_dependent(lambda shape: stax.Dense(shape[-1]))
    >>> start(xfront.random.key(0), (5, 2))[0]
    (5, 2)
    """
    return (lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
            lambda params, inputs, **kwargs: make_layer(jnp.shape(inputs))[1](params, inputs,
                                                                              **kwargs))


__all__ = ["AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense", "Dropout",
           "Elu", "Exp", "FanInConcat", "FanInSum", "FanOut", "Flatten", "Gelu", "GeneralConv",
           "GeneralConvTranspose", "Identity", "LeakyRelu", "LogSoftmax", "MaxPool", "Relu", "Selu",
           "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh", "elementwise", "elu", "gelu",
           "glorot", "glorot_normal", "leaky_relu", "log_softmax", "logsoftmax", "normal", "ones",
           "parallel", "randn", "relu", "selu", "serial", "shape_dependent", "sigmoid", "softmax",
           "softplus", "standardize", "zeros"]
__dir__ = _shown(globals())
