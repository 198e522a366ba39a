"""Policies of `checkpoint`: which intermediate values are saved for the backward pass.

A policy is a function `(primitive, *avals, **parameters) -> answer`. The primitive has a `name` and
is an object such as `lax.dot_general_p`; the avals have the shapes and dtypes of the operands;
parameters have JAX's names (`docs/names.md`). An answer is a bool, `Saveable`, `Recompute` or an
`Offloadable`. Values that may be offloaded are saved in the host's memory, and moved back where the
backward pass reads them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from xfront_ir.fixed import Named
from xfront_ir.sharding import HOST

Policy = Callable[..., Any]


class _Answer(Named):
    __slots__ = ()

    def __reduce__(self) -> str:
        return self.name


Saveable = _Answer("Saveable")
"""The answer of a policy that saves a value."""

Recompute = _Answer("Recompute")
"""The answer of a policy that has a value computed again."""


class Offloadable(NamedTuple):
    """The answer of a policy that a value be saved in the host's memory.

    Args:
      src, dst: kinds of memory, "device" and "pinned_host"; `checkpoint` refuses others.

    >>> ad_checkpoint.Offloadable(src="device", dst="pinned_host")
    Offloadable(src='device', dst='pinned_host')
    """

    src: str
    dst: str


class AskedPolicy:
    """A policy in the form that passes ask."""

    __slots__ = ("policy",)

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def saveable(self, op: Any) -> bool:
        """Whether the results of an op are saved. Raises: TypeError where the policy returns no
        answer."""
        return is_saved(self._answer(op))

    def offloads(self, op: Any) -> bool:
        """Whether results that are saved are saved in the host's memory."""
        return isinstance(self._answer(op), Offloadable)

    def _answer(self, op: Any) -> Any:
        from ..eager.primitives import aval_of, parameters, primitive_of  # no policy, no import

        return self.policy(primitive_of(op.definition), *[aval_of(v.type) for v in op.operands],
                           **parameters(op))


@functools.lru_cache(256)
def asked_policy(policy: Policy) -> AskedPolicy:
    """The AskedPolicy of a policy, the same one each time."""
    return AskedPolicy(policy)


def is_saved(answer: Any) -> bool:
    """Whether an answer means that values are saved. Raises: TypeError where it is no answer."""
    if isinstance(answer, (bool, np.bool_)):
        return bool(answer)
    if isinstance(answer, Offloadable):
        if (answer.src, answer.dst) != ("device", HOST):
            raise NotImplementedError(f"checkpoint: a policy answered {answer}, but values are "
                                      f"offloaded from 'device' to {HOST!r} alone")
        return True
    if answer is Saveable:
        return True
    if answer is Recompute:
        return False
    raise TypeError("a policy of checkpoint must return a bool, or ad_checkpoint's Saveable, "
                    f"Recompute or Offloadable(src, dst); got {answer!r} of type "
                    f"{type(answer).__name__}")


# --- policies -----------------------------------------------------------------------------

def everything_saveable(*_: Any, **__: Any) -> bool:
    """The policy that saves every value, as without checkpoint."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """The policy that saves nothing: every value is computed again, as without a policy."""
    return False


def dots_saveable(prim: Any, *_: Any, **__: Any) -> bool:
    """The policy that saves the results of matrix products."""
    return prim.name == "dot_general"


def dots_with_no_batch_dims_saveable(prim: Any, *_: Any, **params: Any) -> bool:
    """The policy that saves the results of matrix products without batch axes."""
    return prim.name == "dot_general" and not params["dimension_numbers"][1][0]


def _is_named(prim: Any, params: dict[str, Any], names: frozenset[str]) -> bool:
    return prim.name == "name" and params["name"] in names


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """A policy that saves the values to which `checkpoint_name` gave one of these names."""
    names = frozenset(names_which_can_be_saved)
    return lambda prim, *_, **params: _is_named(prim, params, names)


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """A policy that saves the values to which `checkpoint_name` gave any other name than these."""
    names = frozenset(names_not_to_save)
    return lambda prim, *_, **params: prim.name == "name" and params["name"] not in names


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """A policy that saves all values except those that `checkpoint_name` gave one of these names.

    Values without a name are saved too.
    """
    names = frozenset(names_not_to_save)
    return lambda prim, *_, **params: not _is_named(prim, params, names)


def save_and_offload_only_these_names(*, names_which_can_be_saved: Sequence[str],
                                      names_which_can_be_offloaded: Sequence[str],
                                      offload_src: str, offload_dst: str) -> Policy:
    """A policy that saves or offloads the values to which `checkpoint_name` gave certain names.

    Args:
      names_which_can_be_saved: names of the values that are saved.
      names_which_can_be_offloaded: names of the values that are offloaded.
      offload_src, offload_dst: kinds of memory, see `Offloadable`.
    Raises: ValueError where a name is in both sequences.
    """
    saved = frozenset(names_which_can_be_saved)
    offloaded = frozenset(names_which_can_be_offloaded)
    if both := sorted(saved & offloaded):
        raise ValueError(f"save_and_offload_only_these_names: {both} appear both among the names "
                         "to save and among the names to offload; remove them from one of the two")
    offload = Offloadable(offload_src, offload_dst)

    def policy(prim: Any, *_: Any, **params: Any) -> Any:
        if _is_named(prim, params, offloaded):
            return offload
        return Saveable if _is_named(prim, params, saved) else Recompute

    return policy


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """A policy that offloads the results of matrix products without batch axes.

    Args:
      offload_src, offload_dst: kinds of memory, see `Offloadable`.
    """
    offload = Offloadable(offload_src, offload_dst)
    return lambda prim, *avals, **params: (
        offload if dots_with_no_batch_dims_saveable(prim, *avals, **params) else Recompute)


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """A policy that saves every value that at least one of two policies saves."""
    def policy(prim: Any, *avals: Any, **params: Any) -> bool:
        return (is_saved(policy_1(prim, *avals, **params))
                or is_saved(policy_2(prim, *avals, **params)))

    return policy


class checkpoint_policies:
    """Policies for `checkpoint`: which intermediate values are saved for the backward pass.

    >>> dots = xfront.checkpoint_policies.dots_saveable
    >>> xfront.grad(xfront.checkpoint(lambda x: jnp.sin(x @ x), policy=dots))(jnp.array([0., 1.]))
    Array([0.   , 1.081], dtype=float32)
    """

    everything_saveable = staticmethod(everything_saveable)
    nothing_saveable = staticmethod(nothing_saveable)
    dots_saveable = checkpoint_dots = staticmethod(dots_saveable)
    dots_with_no_batch_dims_saveable = checkpoint_dots_with_no_batch_dims = staticmethod(
        dots_with_no_batch_dims_saveable)
    offload_dot_with_no_batch_dims = staticmethod(offload_dot_with_no_batch_dims)
    save_only_these_names = staticmethod(save_only_these_names)
    save_any_names_but_these = staticmethod(save_any_names_but_these)
    save_anything_except_these_names = staticmethod(save_anything_except_these_names)
    save_and_offload_only_these_names = staticmethod(save_and_offload_only_these_names)
    save_from_both_policies = staticmethod(save_from_both_policies)
