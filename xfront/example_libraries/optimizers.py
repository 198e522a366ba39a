"""Optimisers that use gradients, written for one array; `optimizer` makes them work on trees.

An optimiser is a triple of functions `(init_fn, update_fn, params_fn)`: from parameters to a state,
from (number of the step, gradients, state) to a state, and from a state to parameters.

>>> init, update, params = adam(1e-2)
>>> state = update(0, grads, init(parameters))
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import numpy as jnp
from ..base.on_demand import shown as _shown
from ..base.trees import (
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

Schedule = Callable[[Any], Any]


class Optimizer(NamedTuple):
    """The three functions of an optimiser: `init_fn`, `update_fn` and `params_fn`.

    >>> isinstance(optimizers.sgd(0.1), optimizers.Optimizer)
    True
    """

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """The state of an optimiser: the leaves of each parameter's state, and the structures.

    >>> state = optimizers.sgd(0.1).init_fn({"w": jnp.array([1., 2.])})
    >>> isinstance(state, optimizers.OptimizerState), state.tree_def
    (True, PyTreeDef({'w': *}))
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


register_pytree_node(
    OptimizerState,
    lambda s: ((s.packed_state,), (s.tree_def, s.subtree_defs)),
    lambda aux, children: OptimizerState(children[0], *aux))


class JoinPoint:
    """The leaf that holds the state of a parameter in the tree of parameters.

    >>> state = optimizers.sgd(0.1).init_fn({"w": jnp.array([1., 2.])})
    >>> tree = optimizers.unpack_optimizer_state(state)
    >>> tree["w"].subtree
    Array([1., 2.], dtype=float32)
    """

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Any:
        yield self.subtree


def optimizer(opt_maker: Callable[..., tuple]) -> Callable[..., Optimizer]:
    """Decorator for functions that return an optimiser of single arrays; it makes them return one
    of trees.

    Raises: TypeError, at an update, where gradients have another structure than the parameters.

    >>> @optimizers.optimizer
    ... def signs(step):
    ...     return lambda x: x, lambda i, g, x: x - step * jnp.sign(g), lambda x: x
    >>> start, update, params_of = signs(0.5)
    >>> params_of(update(0, [jnp.array(3.)], start([jnp.array(1.)])))
    [Array(0.5, dtype=float32, weak_type=True)]
    """
    @functools.wraps(opt_maker)
    def of_trees(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def init_fn(x0_tree: Any) -> OptimizerState:
            leaves, tree = tree_flatten(x0_tree)
            states = [tree_flatten(init(x)) for x in leaves]
            return OptimizerState(tuple([tuple(s) for s, _ in states]), tree,
                                  tuple([t for _, t in states]))

        def update_fn(i: Any, grad_tree: Any, opt_state: OptimizerState) -> OptimizerState:
            packed, tree, subtrees = opt_state
            grads, own = tree_flatten(grad_tree)
            if own != tree:
                raise TypeError("optimizer update function was passed a gradient tree that did not "
                                f"match the parameter tree structure: got {own}, expected {tree}")
            moved = [tree_flatten(update(i, g, tree_unflatten(subtree, s)))
                     for g, s, subtree in zip(grads, packed, subtrees, strict=True)]
            for (_, got), wanted in zip(moved, subtrees, strict=True):
                if got != wanted:
                    raise TypeError("optimizer update function produced a state of another "
                                    f"structure: got {got}, expected {wanted}")
            return OptimizerState(tuple([tuple(s) for s, _ in moved]), tree, subtrees)

        def params_fn(opt_state: OptimizerState) -> Any:
            packed, tree, subtrees = opt_state
            return tree_unflatten(tree, [get_params(tree_unflatten(subtree, s))
                                         for s, subtree in zip(packed, subtrees, strict=True)])

        return Optimizer(init_fn, update_fn, params_fn)

    return of_trees


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The tree of parameters with a JoinPoint for the state of each, for saving or changing it.

    >>> state = optimizers.sgd(0.1).init_fn({"w": jnp.array([1., 2.])})
    >>> type(optimizers.unpack_optimizer_state(state)["w"]).__name__
    'JoinPoint'
    """
    packed, tree, subtrees = opt_state
    return tree_unflatten(tree, [JoinPoint(tree_unflatten(subtree, s))
                                 for s, subtree in zip(packed, subtrees, strict=True)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The state that `unpack_optimizer_state` unpacked. Raises: TypeError for other leaves.

    >>> _, _, params_of = sgd = optimizers.sgd(0.1)
    >>> state = sgd.init_fn({"w": jnp.array([1., 2.])})
    >>> params_of(optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state)))
    {'w': Array([1., 2.], dtype=float32)}
    """
    points, tree = tree_flatten(marked_pytree)
    for point in points:
        if not isinstance(point, JoinPoint):
            raise TypeError(f"pack_optimizer_state: leaves must be JoinPoints, got {point!r}")
    states = [tree_flatten(point.subtree) for point in points]
    return OptimizerState(tuple([tuple(s) for s, _ in states]), tree,
                          tuple([t for _, t in states]))


# --- optimisers -----------------------------------------------------------------------------

@optimizer
def sgd(step_size: Any) -> tuple:
    """Gradient descent.

    Args:
      step_size: a number, or a schedule, a function from the number of a step to the step size.

    >>> start, update, params_of = optimizers.sgd(0.1)
    >>> state = start(jnp.array([1., 2.]))
    >>> params_of(update(0, jnp.array([1., -1.]), state))
    Array([0.9, 2.1], dtype=float32)
    """
    rate = make_schedule(step_size)
    return (lambda x: x), (lambda i, g, x: x - rate(i) * g), (lambda x: x)


@optimizer
def momentum(step_size: Any, mass: Any) -> tuple:
    """Gradient descent with momentum.

    Args:
      step_size: as for `sgd`.
      mass: the share of the last step that is kept, a number.
    Source: Polyak 1964.

    >>> start, update, params_of = optimizers.momentum(0.1, mass=0.9)
    >>> state = start(jnp.array([1., 2.]))
    >>> params_of(update(0, jnp.array([1., -1.]), state))
    Array([0.9, 2.1], dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return (lambda x: (x, jnp.zeros_like(x))), update, (lambda state: state[0])


@optimizer
def nesterov(step_size: Any, mass: Any) -> tuple:
    """Gradient descent with Nesterov's momentum; arguments as for `momentum`.

    Source: Sutskever et al. 2013.

    >>> start, update, params_of = optimizers.nesterov(0.1, mass=0.9)
    >>> state = start(jnp.array([1., 2.]))
    >>> params_of(update(0, jnp.array([1., -1.]), state))
    Array([0.81, 2.19], dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return (lambda x: (x, jnp.zeros_like(x))), update, (lambda state: state[0])


def _inverse_root(x: Any) -> Any:
    """1 / sqrt(x), and 0 where x is 0."""
    return jnp.where(x > 0, 1 / jnp.sqrt(jnp.where(x > 0, x, 1)), 0)


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> tuple:
    """Adagrad: steps are divided by the root of the sum of squared gradients.

    Args:
      step_size: as for `sgd`.
      momentum: the share of the last step that is kept, a number.
    Source: Duchi, Hazan and Singer 2011.

    >>> start, update, params_of = optimizers.adagrad(0.1)
    >>> state = start(jnp.array([1., 2.]))
    >>> params_of(update(0, jnp.array([1., -1.]), state))
    Array([0.99, 2.01], dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, m = state
        squares = squares + jnp.square(g)
        m = (1 - momentum) * (g * _inverse_root(squares)) + momentum * m
        return x - rate(i) * m, squares, m

    return (lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x))), update, (lambda state: state[0])


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> tuple:
    """RMSprop: steps are divided by the root of a running mean of squared gradients.

    Args:
      step_size: as for `sgd`.
      gamma: the share of the last mean that is kept, a number.
      eps: number added under the root.
    Source: Tieleman and Hinton 2012.

    >>> start, update, params_of = optimizers.rmsprop(0.1)
    >>> state = start(jnp.array([1., 2.]))
    >>> params_of(update(0, jnp.array([1., -1.]), state))
    Array([0.684, 2.316], dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean = state
        mean = mean * gamma + jnp.square(g) * (1 - gamma)
        return x - rate(i) * g / jnp.sqrt(mean + eps), mean

    return (lambda x: (x, jnp.zeros_like(x))), update, (lambda state: state[0])


@optimizer
def rmsprop_momentum(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9
                     ) -> tuple:
    """RMSprop with momentum; arguments as for `rmsprop` and `adagrad`.

    >>> start, update, params_of = optimizers.rmsprop_momentum(0.1)
    >>> state = start(jnp.array([1., 2.]))
    >>> params_of(update(0, jnp.array([1., -1.]), state))
    Array([0.684, 2.316], dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, m = state
        mean = mean * gamma + jnp.square(g) * (1 - gamma)
        m = momentum * m + rate(i) * g / jnp.sqrt(mean + eps)
        return x - m, mean, m

    return (lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x))), update, (lambda state: state[0])


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> tuple:
    """Adam.

    Args:
      step_size: as for `sgd`.
      b1, b2: the shares of the last means of gradients and of their squares that are kept.
      eps: number added to the root of the mean of squares.
    Source: Kingma and Ba 2015, algorithm 1.

    >>> start, update, params_of = optimizers.adam(0.1)
    >>> state = start(jnp.array([1., 2.]))
    >>> params_of(update(0, jnp.array([1., -1.]), state))
    Array([0.9, 2.1], dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        first = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        second = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - rate(i) * first / (jnp.sqrt(second) + eps), m, v

    return (lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x))), update, (lambda state: state[0])


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> tuple:
    """Adamax: Adam with a decaying maximum of gradients; arguments as for `adam`.

    Source: Kingma and Ba 2015, algorithm 2.

    >>> start, update, params_of = optimizers.adamax(0.1)
    >>> state = start(jnp.array([1., 2.]))
    >>> params_of(update(0, jnp.array([1., -1.]), state))
    Array([0.9, 2.1], dtype=float32)
    """
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = jnp.maximum(b2 * v, jnp.abs(g))
        return x - rate(i) / (1 - jnp.asarray(b1, m.dtype) ** (i + 1)) * m / (v + eps), m, v

    return (lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x))), update, (lambda state: state[0])


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> tuple:
    """SM3: Adagrad with one number for each index along each axis; arguments as for `adagrad`.

    Source: Anil et al. 2019.

    >>> start, update, params_of = optimizers.sm3(0.1)
    >>> state = start(jnp.array([1., 2.]))
    >>> params_of(update(0, jnp.array([1., -1.]), state))
    Array([0.99, 2.01], dtype=float32)
    """
    rate = make_schedule(step_size)

    def init(x: Any) -> Any:
        dtype = jnp.asarray(x).dtype
        return x, jnp.zeros_like(x), [jnp.zeros(n, dtype) for n in np.shape(x) or [()]]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, m, bounds = state
        spread = [jnp.reshape(v, [-1 if k == axis else 1 for k in range(x.ndim)])
                  for axis, v in enumerate(bounds)]
        least = functools.reduce(jnp.minimum, spread)
        squares = least + jnp.square(g)
        m = (1 - momentum) * (g * _inverse_root(squares)) + momentum * m
        bounds = [jnp.max(squares, axis=tuple([k for k in range(x.ndim) if k != axis]))
                  for axis in range(len(bounds))]
        return x - rate(i) * m, m, bounds

    return init, update, (lambda state: state[0])


# --- schedules ------------------------------------------------------------------------------

def constant(step_size: Any) -> Schedule:
    """The schedule with the same step size at every step.

    >>> optimizers.constant(0.1)(1000)
    0.1
    """
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """The schedule `step_size * decay_rate ** (i / decay_steps)` of the step i.

    >>> optimizers.exponential_decay(1.0, decay_steps=10, decay_rate=0.5)(20)
    0.25
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
                       ) -> Schedule:
    """The schedule `step_size / (1 + decay_rate * i / decay_steps)` of the step i; `staircase`
    rounds i / decay_steps down.

    >>> optimizers.inverse_time_decay(1.0, decay_steps=10, decay_rate=0.5)(20)
    0.5
    """
    def schedule(i: Any) -> Any:
        periods = jnp.floor(i / decay_steps) if staircase else i / decay_steps
        return step_size / (1 + decay_rate * periods)

    return schedule


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0
                     ) -> Schedule:
    """The schedule from `step_size` to `final_step_size` in `decay_steps` steps, by the given power
    of the remaining share of steps.

    >>> optimizers.polynomial_decay(1.0, decay_steps=10, final_step_size=0.5)(5)
    Array(0.75, dtype=float32, weak_type=True)
    """
    def schedule(i: Any) -> Any:
        left = 1 - jnp.minimum(i, decay_steps) / decay_steps
        return left ** power * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """The schedule with step size `values[k]` after k of the boundaries.

    Raises: ValueError unless there is one value more than boundaries.

    >>> optimizers.piecewise_constant([10, 20], [1.0, 0.5, 0.1])(15)
    Array(0.5, dtype=float32)
    """
    boundaries, values = jnp.asarray(boundaries), jnp.asarray(values)
    if boundaries.ndim != 1 or values.ndim != 1 or values.shape[0] != boundaries.shape[0] + 1:
        raise ValueError("piecewise_constant: boundaries and values must be vectors, with one "
                         f"value more than boundaries; got shapes {boundaries.shape} and "
                         f"{values.shape}")
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """The schedule itself, or the constant schedule of a number. Raises: TypeError otherwise.

    >>> optimizers.make_schedule(0.1)(1000)
    0.1
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if np.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError("make_schedule: scalar_or_schedule must be a number or a function, got "
                    f"{type(scalar_or_schedule)}")


# --- gradients ------------------------------------------------------------------------------

def l2_norm(tree: Any) -> Any:
    """The Euclidean norm of all elements of a tree.

    >>> optimizers.l2_norm([jnp.array(3.), jnp.array(4.)])
    Array(5., dtype=float32, weak_type=True)
    """
    return jnp.sqrt(sum([jnp.real(jnp.vdot(x, x)) for x in tree_leaves(tree)]))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Gradients scaled down to the norm `max_norm` where theirs is greater.

    >>> optimizers.clip_grads([jnp.array([3., 4.])], 1.0)
    [Array([0.6, 0.8], dtype=float32)]
    """
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


__all__ = ["JoinPoint", "Optimizer", "OptimizerState", "Schedule", "adagrad", "adam", "adamax",
           "clip_grads", "constant", "exponential_decay", "inverse_time_decay", "l2_norm",
           "make_schedule", "momentum", "nesterov", "optimizer", "pack_optimizer_state",
           "piecewise_constant", "polynomial_decay", "rmsprop", "rmsprop_momentum", "sgd", "sm3",
           "unpack_optimizer_state"]
__dir__ = _shown(globals())
