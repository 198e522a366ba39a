"""example_libraries: what JAX 0.10 gives, and wrong uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront.example_libraries import optimizers, stax

PARAMS = {"a": np.array([[1.0, -2.0], [3.0, 0.5]], np.float32), "b": np.array(0.25, np.float32)}

# parameters after three steps of the gradient below
STEPPED: dict[str, tuple[tuple, list[float]]] = {
    "sgd": ((0.1,), [0.7528999, -1.42735, 2.2063999, 0.389525, 0.2078375]),
    "momentum": ((0.1, 0.9), [0.6125, -1.075, 1.7375, 0.33125, 0.190625]),
    "nesterov": ((0.1, 0.9), [0.4486496, -0.7076052, 1.219486, 0.2559405, 0.1595859]),
    "adagrad": ((0.1,), [0.9474492, -1.948172, 2.9477503, 0.4469272, 0.1956729]),
    "rmsprop": ((0.1,), [0.2211999, -1.1739709, 2.1539772, 0.1445071, -0.0255895]),
    "rmsprop_momentum": ((0.1,), [-0.4085531, -0.411244, 1.3731062, -0.3604707, 0.2096006]),
    "adam": ((0.1,), [0.7068976, -1.7054018, 2.7074525, 0.2058184, 0.004466]),
    "adamax": ((0.1,), [0.7528578, -1.749352, 2.75418, 0.2493118, 0.0177048]),
    "sm3": ((0.1,), [0.9559533, -1.948172, 2.9477503, 0.4640253, 0.1956729]),
}


def test_steps() -> None:
    def stepped(params: Any, made: Any) -> Any:
        state = made.init_fn(params)
        for k in range(3):
            grads = jax.tree.map(lambda x, k=k: x * (k + 1) * 0.5 - 0.1, made.params_fn(state))
            state = made.update_fn(k, grads, state)
        return made.params_fn(state)

    got = jax.jit(lambda p: [stepped(p, getattr(optimizers, name)(*args))
                             for name, (args, _) in STEPPED.items()])(PARAMS)
    for (name, (_, wanted)), tree in zip(STEPPED.items(), got, strict=True):
        np.testing.assert_allclose([*np.ravel(tree["a"]), tree["b"]], wanted, rtol=1e-5, atol=1e-6,
                                   err_msg=name)


SCHEDULES = [
    (optimizers.constant(0.1), [0.1, 0.1, 0.1, 0.1]),
    (optimizers.exponential_decay(1.0, 2, 0.5), [1, 0.7071068, 0.3535534, 0.0883883]),
    (optimizers.inverse_time_decay(1.0, 2, 0.5), [1, 0.8, 0.5714286, 0.3636364]),
    (optimizers.inverse_time_decay(1.0, 2, 0.5, staircase=True), [1, 1, 0.6666667, 0.4]),
    (optimizers.polynomial_decay(1.0, 4, 0.1), [1, 0.775, 0.325, 0.1]),
    (optimizers.polynomial_decay(1.0, 4, 0.1, 2.0), [1, 0.60625, 0.15625, 0.1]),
    (optimizers.piecewise_constant([2, 4], [1.0, 0.5, 0.1]), [1, 1, 0.5, 0.1]),
]


def test_schedules_and_norms() -> None:
    got = jax.jit(lambda steps: [[f(i) for i in steps] for f, _ in SCHEDULES])([0, 1, 3, 7])
    for made, (_, wanted) in zip(got, SCHEDULES, strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-6)
    np.testing.assert_allclose(optimizers.l2_norm(PARAMS), 3.7831864, rtol=1e-6)
    np.testing.assert_allclose(optimizers.clip_grads(PARAMS, 1.0)["a"][0], [0.2643274, -0.5286549],
                               rtol=1e-5)
    np.testing.assert_array_equal(optimizers.clip_grads(PARAMS, 100.0)["a"], PARAMS["a"])


def test_states_and_wrong_uses() -> None:
    init, update, get = optimizers.adam(0.1)
    state = init(PARAMS)
    marked = optimizers.unpack_optimizer_state(state)
    assert isinstance(marked["b"], optimizers.JoinPoint)
    again = optimizers.pack_optimizer_state(marked)
    assert jax.tree.structure(again) == jax.tree.structure(state)
    np.testing.assert_array_equal(get(again)["a"], PARAMS["a"])
    with pytest.raises(TypeError, match="gradient tree"):
        update(0, PARAMS["a"], state)
    with pytest.raises(TypeError, match="JoinPoints"):
        optimizers.pack_optimizer_state(PARAMS)
    with pytest.raises(TypeError, match="number or a function"):
        optimizers.sgd([0.1])
    with pytest.raises(ValueError, match="one value more"):
        optimizers.piecewise_constant([2, 4], [1.0])


# --- layers ---------------------------------------------------------------------------------

# layer, shape of the input, of the output, and the output's first elements
LAYERS: dict[str, tuple[Any, tuple, tuple, list[float]]] = {
    "Dense": (stax.Dense(3), (2, 4), (2, 3), [-0.3059407, -0.4039906, 0.2396752, -0.5735078]),
    "Conv": (stax.Conv(2, (3, 3)), (1, 4, 4, 1), (1, 2, 2, 2),
             [0.3595017, -0.2967057, 0.4036371, -0.4079672]),
    "Conv strided": (stax.Conv(2, (3, 2), strides=(2, 1), padding="SAME"), (1, 5, 4, 2),
                     (1, 3, 4, 2), [0.5066039, 0.1395904, 0.657935, 0.0914123]),
    "ConvTranspose": (stax.ConvTranspose(2, (3, 3), strides=(2, 2)), (1, 3, 3, 2), (1, 7, 7, 2),
                      [0.0202889, -0.0050493, 0.04264, -0.0292354]),
    "Conv1DTranspose": (stax.Conv1DTranspose(2, (3,)), (1, 4, 2), (1, 6, 2),
                        [-0.055245, 0.0059152, 0.003858, -0.1788684]),
    "BatchNorm": (stax.BatchNorm(), (2, 3, 3, 2), (2, 3, 3, 2), [-1.6383485, -1.6383485]),
    "BatchNorm bare": (stax.BatchNorm(axis=0, center=False, scale=False), (4, 2), (4, 2),
                       [-1.3415068, -1.3415064, -0.447169]),
    "MaxPool": (stax.MaxPool((2, 2)), (1, 4, 4, 1), (1, 3, 3, 1), [0.5, 0.6, 0.7, 0.9]),
    "MaxPool strided": (stax.MaxPool((2, 2), strides=(2, 2), padding="SAME"), (1, 5, 4, 1),
                        (1, 3, 2, 1), [0.5, 0.7, 1.3, 1.5]),
    "MaxPool NCHW": (stax.MaxPool((2, 2), spec="NCHW"), (1, 1, 4, 4), (1, 1, 3, 3), [0.5, 0.6]),
    "SumPool": (stax.SumPool((2, 2)), (1, 4, 4, 1), (1, 3, 3, 1), [1.0, 1.4, 1.8, 2.6]),
    "AvgPool": (stax.AvgPool((2, 2), padding="SAME"), (1, 3, 3, 1), (1, 3, 3, 1),
                [0.2, 0.3, 0.35, 0.5]),
    "Flatten": (stax.Flatten, (2, 3, 4), (2, 12), [0.0, 0.1, 0.2, 0.3]),
    "FanInSum": (stax.serial(stax.FanOut(2), stax.parallel(stax.Dense(2), stax.Dense(2)),
                             stax.FanInSum), (2, 3), (2, 2),
                 [0.0225807, 0.0498228, 0.2326069, 0.1750511]),
    "FanInConcat": (stax.serial(stax.FanOut(2), stax.parallel(stax.Dense(2), stax.Identity),
                                stax.FanInConcat()), (2, 3), (2, 5),
                    [0.272024, -0.2005238, 0.0, 0.1]),
    "Dropout": (stax.Dropout(0.5), (8,), (8,), [0.0, 0.0, 0.4, 0.6]),
    "serial": (stax.serial(stax.Dense(3), stax.Relu, stax.Dense(2), stax.LogSoftmax), (2, 4),
               (2, 2), [-0.5659675, -0.8388913, -0.405006]),
    "shape_dependent": (stax.shape_dependent(lambda shape: stax.Dense(shape[-1])), (2, 3), (2, 3),
                        [-0.0059924, -0.2003545, 0.2336096, 0.0997577]),
    "Tanh": (stax.Tanh, (2, 2), (2, 2), [0.0, 0.099668, 0.1973753, 0.2913126]),
    "Softmax": (stax.Softmax, (2, 2), (2, 2), [0.4750208, 0.5249792]),
    "Gelu": (stax.Gelu, (2, 2), (2, 2), [0.0, 0.0539828, 0.1158514]),
}


def test_layers() -> None:
    shapes: dict[str, Any] = {}

    @jax.jit
    def made(key: Any, drawn: Any) -> Any:
        outputs = {}
        for name, ((init, apply), shape, _, _) in LAYERS.items():
            shapes[name], params = init(key, shape)
            x = jnp.arange(float(np.prod(shape))).reshape(shape) / 10
            outputs[name] = apply(params, x, rng=drawn)
        return outputs

    outputs = made(jax.random.key(0), jax.random.key(1))
    for name, (_, _, shape, first) in LAYERS.items():
        assert outputs[name].shape == tuple(shapes[name]) == shape, name
        np.testing.assert_allclose(np.ravel(outputs[name])[:len(first)], first, rtol=2e-5,
                                   atol=2e-6, err_msg=name)


def test_dropout() -> None:
    x = np.ones(8, np.float32)
    np.testing.assert_array_equal(stax.Dropout(0.5, mode="test")[1]((), x, rng=jax.random.key(0)),
                                  x)
    with pytest.raises(ValueError, match="rng=key"):
        stax.Dropout(0.5)[1]((), x)
    with pytest.raises(ValueError, match="mode"):
        stax.Dropout(0.5, mode="x")
