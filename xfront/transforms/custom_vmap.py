"""Functions with their own rule for batches: custom_vmap."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from xfront_ir import ops
from xfront_ir.core import Function
from xfront_ir.opdef import Request
from xfront_ir.types import TensorType

from ..base.trees import tree_flatten, tree_unflatten
from ..tracing.trace import state
from .closing import rule_apart
from .custom_rules import Rule, Ruled, order_params
from .flat import Flat, kind_of, name_of, trace_call

P = ParamSpec("P")
R = TypeVar("R")


class BatchRule(Rule):
    """The Deferred of a custom_vmap. Its fingerprint is that of its Python, because the rule may do
    anything with the size of the batch."""

    def request(self) -> Request:
        """A request that is never answered: what the rule does depends on the batch, so that no
        Function can stand for it."""
        return Request("batch")

    def batch(self, types: tuple[TensorType, ...], flags: tuple[bool, ...], size: int) -> Function:
        """The results over a batch, with a batch axis in front where the rule says so."""
        n_own = self.n_own
        if any(flags[n_own:]):
            raise TypeError(f"custom_vmap function {self.name} closes over a batched value, which "
                            "its rule cannot see; pass the value as an argument")
        own = [(t, w) for t, (_, w) in zip(types, self.kinds, strict=False)]
        rule = self.custom.vmap_rule
        rule_name = name_of(rule)

        def call(tracers: list) -> Any:
            made = rule(size, list(tree_unflatten(self.tree, list(flags[:n_own]))),
                        *tree_unflatten(self.tree, tracers))
            return _checked(rule_name, made, self.flat, size)

        traced = trace_call(call, own, name=f"{self.name}_batch", kind="custom_vmap rule",
                            staging=True)
        return order_params(traced, self, types[n_own:], rule_name)

    def fingerprint(self) -> bytes:
        """The fingerprint of its Python functions and of the values that they hold."""
        return f"custom_vmap {rule_apart(self.custom, [])}".encode()

    def find_captures(self) -> None:
        """Trace the rule for the sizes of the batches around the call, with any of the first
        operands batched: once those traces have ended, its tracers are dead."""
        self._trace_open()
        if self.captures:
            self.memo.clear()
            self._trace_open()

    def _trace_open(self) -> None:
        n, n_all = self.n_own, len(self.types) + len(self.captures)
        patterns = itertools.product((True, False), repeat=min(n, MOST_PATTERNS))
        flags = [(*p, *[True] * (n - len(p)), *[False] * (n_all - n)) for p in patterns]
        sizes = {trace.axis[1] for trace in state.stack if trace.axis is not None}
        for size, batched in itertools.product(sorted(sizes), filter(any, flags)):
            types = (*self.types, *[x.value.type for x in self.captures])
            try:
                self.function(Request("batch", with_batch(types, batched, size), batched, size))
            except (TypeError, ValueError, NotImplementedError):
                continue                         # this batch may never come; if it does, it raises


MOST_PATTERNS = 4


def with_batch(types: Sequence[TensorType], batched: Sequence[bool], size: int
               ) -> tuple[TensorType, ...]:
    """The types with a batch axis in front of those that are batched."""
    return tuple([t.with_shape((size, *t.shape)) if b else t
                  for t, b in zip(types, batched, strict=False)])


class custom_vmap(Ruled[P, R]):
    """A function with its own rule for batches.

    Args:
      fun: a function of arrays and trees, without keyword-only parameters.
    Raises: AttributeError at a call where no rule was set; TypeError, ValueError under `vmap` where
      the result of the rule does not fit that of `fun`.

    `def_vmap(rule)` sets the rule: `rule(axis_size, in_batched, *args) -> (out, out_batched)`.
    Batched leaves of `args` have the batch axis in front. `in_batched` has the structure of `args`
    with bools for leaves, `out_batched` that of `out`. Derivatives of a batch are those of the
    rule, in both modes, also where the derivative is taken before the batch is made. The rule must
    do the same whenever it is called with the same arguments.

    >>> @xfront.custom_batching.custom_vmap
    ... def f(x): return jnp.sin(x)
    >>> @f.def_vmap
    ... def f_batch(axis_size, in_batched, x): return jnp.sin(x) + 1, in_batched[0]
    """

    definition, rule = ops.custom_vmap, BatchRule
    is_for_batches = True
    no_rule = "No batching rule defined for custom_vmap function {} using def_vmap."
    vmap_rule: Callable[..., Any] | None = None

    def __init__(self, fun: Callable[P, R]) -> None:
        super().__init__(fun)

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule and return it, so that this method can be a decorator."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    @property
    def python(self) -> tuple:
        """The functions of the rule."""
        return (self.vmap_rule,)


def _checked(rule: str, made: Any, flat: Flat, size: int) -> list:
    """The flat results of a rule. Raises: TypeError, ValueError where they do not fit."""
    if not isinstance(made, (tuple, list)) or len(made) != 2:
        raise TypeError(f"custom vmap rule ({rule}) must return a pair (out, out_batched), "
                        f"got {type(made).__name__}")
    leaves, tree = tree_flatten(made[0])
    flags, spec = tree_flatten(made[1])
    if tree != flat.out_tree:
        raise ValueError(f"structure of output returned by custom vmap rule ({rule}) does not "
                         f"match that of original custom-vmapped function.\n"
                         f"Original output: {flat.out_tree}\nRule output: {tree}")
    if tree != spec:
        raise ValueError(f"structure of output value and output batching specification returned "
                         f"by custom vmap rule ({rule}) do not match.\n"
                         f"Output values: {tree}\nBatching spec: {spec}")
    for i, (x, batched, one) in enumerate(zip(leaves, flags, flat.function.return_types,
                                              strict=True)):
        got, _ = kind_of(rule, x)
        wanted = one.with_shape((size, *one.shape)) if batched else one
        if got is not wanted:
            raise ValueError(f"custom vmap rule ({rule}): result leaf {i} has type {got} but must "
                             f"have type {wanted}, because the function returns {one} and "
                             f"out_batched is {bool(batched)} for it")
    return leaves


__all__ = ["custom_vmap"]
