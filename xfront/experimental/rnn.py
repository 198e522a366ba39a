"""LSTMs of several layers whose weights lie in one array, in the order of cuDNN.

    weights = rnn.init_lstm_weight(key, 28, 128, 2, bidirectional=True)
    y, h_n, c_n = rnn.lstm(x, h_0, c_0, weights, lengths, 28, 128, 2, 0.0, True)

Each direction of a layer is one scan over time, after one product for the inputs of all times.
There are derivatives of every order in both modes, on every platform.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .. import lax, random
from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..binding.annotations import Array
from ..binding.tracebacks import front_door
from ..lax.precision import PrecisionLike
from ..nn import sigmoid
from ..values.arguments import only

ByLayer = dict[int, Array]

_GATES = 4


def _shapes(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
            ) -> Iterator[tuple[int, str, tuple[int, ...]]]:
    """The layer, the kind and the shape of each array of weights, in their order in memory; each
    direction counts as a layer."""
    directions, rows = 1 + bool(bidirectional), _GATES * hidden_size
    for layer in range(num_layers * directions):
        below = input_size if layer < directions else hidden_size * directions
        yield layer, "W_ih", (rows, below)
        yield layer, "W_hh", (rows, hidden_size)
    for layer in range(num_layers * directions):
        yield layer, "b_ih", (rows,)
        yield layer, "b_hh", (rows,)


def get_num_params_in_lstm(input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
                           ) -> int:
    """The number of weights of an LSTM.

    Args:
      input_size: number of inputs at each time.
      hidden_size: number of units of each layer and direction.
      num_layers: number of layers.
      bidirectional: whether each layer has a backward direction too.

    >>> from xfront.experimental import rnn
    >>> rnn.get_num_params_in_lstm(3, 4, 1, False)
    144
    """
    return sum(math.prod(shape) for _, _, shape in
               _shapes(input_size, hidden_size, num_layers, bidirectional))


def init_lstm_weight(rng: Any, input_size: int, hidden_size: int, num_layers: int,
                     bidirectional: bool) -> Array:
    """Random weights, uniform in [-k, k], where k is 1/√hidden_size.

    Args:
      rng: a random key.
      input_size, hidden_size, num_layers, bidirectional: as for `get_num_params_in_lstm`.
    Returns: float32 vector with `get_num_params_in_lstm(...)` elements.

    >>> sizes = {"input_size": 2, "hidden_size": 3, "num_layers": 1, "bidirectional": False}
    >>> rnn.init_lstm_weight(xfront.random.key(0), **sizes).shape
    (84,)
    """
    k = math.sqrt(1 / hidden_size)
    n = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    return random.uniform(rng, (n,), jnp.float32, -k, k)


def unpack_lstm_weights(weights: Any, input_size: int, hidden_size: int, num_layers: int,
                        bidirectional: bool) -> tuple[ByLayer, ByLayer, ByLayer, ByLayer]:
    """The parts `W_ih, W_hh, b_ih, b_hh` of one array of weights, each a dict by layer.

    With two directions, 2n is the forward and 2n + 1 the backward direction of layer n. The rows of
    each array belong to the gates i, f, g, o, in this order.

    Args:
      weights: vector of weights, as `init_lstm_weight` makes it.
      input_size, hidden_size, num_layers, bidirectional: as for `get_num_params_in_lstm`.

    >>> sizes = {"input_size": 2, "hidden_size": 3, "num_layers": 1, "bidirectional": False}
    >>> weights = rnn.init_lstm_weight(xfront.random.key(0), **sizes)
    >>> W_ih, W_hh, b_ih, b_hh = rnn.unpack_lstm_weights(weights, **sizes)
    >>> W_ih[0].shape, W_hh[0].shape, b_ih[0].shape
    ((12, 2), (12, 3), (12,))
    """
    found: dict[str, ByLayer] = {"W_ih": {}, "W_hh": {}, "b_ih": {}, "b_hh": {}}
    at = 0
    for layer, kind, shape in _shapes(input_size, hidden_size, num_layers, bidirectional):
        end = at + math.prod(shape)
        found[kind][layer] = jnp.reshape(weights[at:end], shape)
        at = end
    return found["W_ih"], found["W_hh"], found["b_ih"], found["b_hh"]


def swap_lstm_gates(weights: Any, input_size: int, hidden_size: int, num_layers: int,
                    bidirectional: bool) -> Array:
    """The vector of weights with the rows of the gates g and o exchanged; arguments as for
    `unpack_lstm_weights`.

    >>> sizes = {"input_size": 1, "hidden_size": 1, "num_layers": 1, "bidirectional": False}
    >>> rnn.swap_lstm_gates(jnp.arange(16), **sizes)
    Array([ 0,  1,  3,  2,  4,  5,  7,  6,  8,  9, 11, 10, 12, 13, 15, 14],      dtype=int32)
    """
    swapped, at = [], 0
    for _, _, shape in _shapes(input_size, hidden_size, num_layers, bidirectional):
        end = at + math.prod(shape)
        i, f, g, o = jnp.split(jnp.reshape(weights[at:end], shape), _GATES)
        swapped.append(jnp.concatenate([i, f, o, g]).ravel())
        at = end
    return jnp.concatenate(swapped)


@front_door
def lstm(x: Any, h_0: Any, c_0: Any, weights: Any, seq_lengths: Any, input_size: int,
         hidden_size: int, num_layers: int, dropout: float, bidirectional: bool,
         precision: PrecisionLike = None) -> tuple[Array, Array, Array]:
    """The outputs and final states of an LSTM on sequences.

    Args:
      x: inputs, [batch, time, input_size].
      h_0, c_0: initial states, [layers, batch, hidden_size], with a layer for each direction.
      weights: vector of weights, as `init_lstm_weight` makes it.
      seq_lengths: number of times of each sequence, [batch]; later inputs are not read.
      input_size, hidden_size, num_layers, bidirectional: as for `get_num_params_in_lstm`.
      dropout: 0 only.
      precision: precision of the products on accelerators; None means the default.
    Returns: `y`, [batch, time, hidden_size times directions], which is zero after the end of each
      sequence, and the states `h_n` and `c_n` at its end, shaped as `h_0`.
    Raises: NotImplementedError for another `dropout`; TypeError or ValueError where shapes do not
      fit.
    Source: Hochreiter and Schmidhuber 1997, with forget gates and two biases.

    >>> sizes = {"input_size": 2, "hidden_size": 3, "num_layers": 1, "bidirectional": False}
    >>> weights = rnn.init_lstm_weight(xfront.random.key(0), **sizes)
    >>> x, start = jnp.ones((1, 4, 2)), jnp.zeros((1, 1, 3))
    >>> y, h, c = rnn.lstm(x, start, start, weights, jnp.array([4]), **sizes, dropout=0.0)
    >>> y.shape, bool((y[:, -1] == h[0]).all())
    ((1, 4, 3), True)
    """
    unpacked = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return lstm_ref(x, h_0, c_0, *unpacked, seq_lengths, input_size, hidden_size, num_layers,
                    dropout, bidirectional, precision)


def lstm_ref(x: Any, h_0: Any, c_0: Any, W_ih: ByLayer, W_hh: ByLayer, b_ih: ByLayer,
             b_hh: ByLayer, seq_lengths: Any, input_size: int, hidden_size: int, num_layers: int,
             dropout: float, bidirectional: bool, precision: PrecisionLike = None
             ) -> tuple[Array, Array, Array]:
    """The outputs and final states of an LSTM, as `lstm`, from weights by layer.

    Args:
      x, h_0, c_0, seq_lengths, dropout, precision: as for `lstm`.
      W_ih, W_hh, b_ih, b_hh: dicts by layer, as `unpack_lstm_weights` returns them.
      input_size, hidden_size, num_layers, bidirectional: as for `get_num_params_in_lstm`.
    Returns: `(y, h_n, c_n)`, as `lstm`.

    >>> sizes = {"input_size": 2, "hidden_size": 3, "num_layers": 1, "bidirectional": False}
    >>> weights = rnn.init_lstm_weight(xfront.random.key(0), **sizes)
    >>> by_layer = rnn.unpack_lstm_weights(weights, **sizes)
    >>> x, start = jnp.ones((1, 4, 2)), jnp.zeros((1, 1, 3))
    >>> y, h, c = rnn.lstm_ref(x, start, start, *by_layer, jnp.array([4]), **sizes, dropout=0.0)
    >>> h.shape
    (1, 1, 3)
    """
    only("lstm", 0.0, "drop values of y between LSTMs of one layer",
         dropout=float(dropout))
    x = jnp.asarray(x)
    layers = num_layers * (1 + bool(bidirectional))
    batch = x.shape[0] if x.ndim == 3 else -1
    for name, given, want in (("x", x, (*x.shape[:2], input_size)),
                              ("h_0", h_0, (layers, batch, hidden_size)),
                              ("c_0", c_0, (layers, batch, hidden_size)),
                              ("seq_lengths", seq_lengths, (batch,))):
        if jnp.shape(given) != want:
            raise ValueError(f"lstm: {name} must have shape {want}, got {jnp.shape(given)}")
    going = jnp.arange(x.shape[1])[:, None] < jnp.asarray(seq_lengths)[None]
    y, h_n, c_n = jnp.swapaxes(x, 0, 1), [], []
    for layer in range(0, layers, 2 if bidirectional else 1):
        outs = []
        for k in range(layer, layer + (2 if bidirectional else 1)):
            inputs = jnp.matmul(y, W_ih[k].T, precision=precision) + b_ih[k] + b_hh[k]
            (h, c), out = lax.scan(
                _step(W_hh[k], precision), (jnp.asarray(h_0)[k], jnp.asarray(c_0)[k]),
                (inputs, going[:, :, None]), reverse=k != layer)
            h_n.append(h)
            c_n.append(c)
            outs.append(out)
        y = jnp.concatenate(outs, -1) if bidirectional else outs[0]
    return jnp.swapaxes(y, 0, 1), jnp.stack(h_n), jnp.stack(c_n)


def _step(W: Array, precision: PrecisionLike) -> Any:
    """One time step of one direction; sequences that have ended, or not begun, keep their state."""
    def step(state: tuple[Array, Array], seen: tuple[Array, Array]) -> tuple[Any, Array]:
        (h, c), (inputs, going) = state, seen
        i, f, g, o = jnp.split(inputs + jnp.matmul(h, W.T, precision=precision), _GATES, axis=-1)
        new_c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        new_h = sigmoid(o) * jnp.tanh(new_c)
        kept = jnp.where(going, new_h, h), jnp.where(going, new_c, c)
        return kept, jnp.where(going, new_h, 0)

    return step


__all__ = ["get_num_params_in_lstm", "init_lstm_weight", "lstm", "lstm_ref", "swap_lstm_gates",
           "unpack_lstm_weights"]
__dir__ = _shown(globals())
