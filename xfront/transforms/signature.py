"""The signature of a traced call: types and structure of its arguments and of its result.

A program that was read back from bytes has one too, and no trace.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from xfront_ir.types import TensorType

from ..base.trees import (
    keystr,
    tree_flatten_with_path,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)
from .structs import filled, shape_struct

Kind = tuple[TensorType, bool]
"""An IR type, and whether it is weak."""


class ArgInfo:
    """The type of an argument of a stage, and whether it is donated.

    >>> lowered = xfront.jit(jnp.add, donate_argnums=0).lower(1.0, 2.0)
    >>> [info.donated for info in lowered.args_info[0]]
    [True, False]
    """

    __slots__ = ("aval", "donated")

    def __init__(self, aval: Any, donated: bool) -> None:
        self.aval, self.donated = aval, donated

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)

    def __repr__(self) -> str:
        return f"ArgInfo(_aval={self.aval!r}, donated={self.donated})"


class Signature:
    """Arguments and result of a call, flat and as trees; static arguments are no part of it.

    `in_tree` is the structure of (args, kwargs). Of each leaf of the arguments there are `kinds`,
    `donated`, `read` (whether the program takes it) and `names`; of those of the result `outs`.
    """

    __slots__ = ("donated", "in_tree", "kinds", "name", "names", "out_tree", "outs", "read")

    def __init__(self, name: str, in_tree: Any, kinds: Sequence[Kind], donated: Sequence[bool],
                 read: Sequence[bool], names: Sequence[str], out_tree: Any, outs: Sequence[Kind]
                 ) -> None:
        self.name, self.in_tree, self.out_tree = name, in_tree, out_tree
        self.kinds, self.outs = tuple(kinds), tuple(outs)
        self.donated, self.read, self.names = tuple(donated), tuple(read), tuple(names)

    @property
    def args_info(self) -> Any:
        """The tree (args, kwargs) of `ArgInfo`s."""
        return tree_unflatten(self.in_tree, [
            ArgInfo(shape_struct(t, w).aval, d)
            for (t, w), d in zip(self.kinds, self.donated, strict=True)])

    @property
    def in_avals(self) -> Any:
        """The tree (args, kwargs) of types."""
        return tree_unflatten(self.in_tree, [shape_struct(t, w).aval for t, w in self.kinds])

    def consumed(self, args: tuple, kwargs: dict) -> list[Any]:
        """The leaves of arguments that a call donates."""
        return [x for x, d in zip(tree_leaves((args, kwargs)), self.donated, strict=False) if d]

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Positions of the donated leaves."""
        return tuple([i for i, d in enumerate(self.donated) if d])

    @property
    def out_info(self) -> Any:
        """The result's tree with `ShapeDtypeStruct` leaves."""
        return tree_unflatten(self.out_tree, [shape_struct(t, w) for t, w in self.outs])


def signature_of(jitted: Any, flat: Any, tree: Any, donated: Sequence[bool]) -> Signature:
    """The signature of a traced call of a jitted function.

    Args:
      flat: the trace.
      tree: the structure of the arguments as `Jitted.divide` gives it, with None for static ones.
      donated: whether each leaf of the arguments is donated.
    """
    function, options = flat.function, jitted.options
    n = len(function.params) - len(flat.captures)
    args, kwargs = filled(tree, [v.type for v in function.params[:n]])
    statics = {i % len(args) for i in options.static_argnums if -len(args) <= i < len(args)}
    in_tree = tree_structure((
        tuple([a for i, a in enumerate(args) if i not in statics]),
        {k: a for k, a in kwargs.items() if k not in options.static_argnames}))
    weaks = function.weak_returns or (False,) * len(function.returns)
    read = [True] * n if options.keep_unused else flat.read()[:n]
    return Signature(
        jitted.name, in_tree, list(zip([v.type for v in function.params[:n]],
                                       function.weak_params or (False,) * n, strict=False)),
        donated, read, jitted.param_names((args, kwargs)), flat.out_tree,
        list(zip([v.type for v in function.returns], weaks, strict=True)))


def argument_paths(fun: Any, args: tuple, kwargs: dict) -> tuple[str, ...]:
    """The leaves of the arguments by the names that the function has for them, as in "x['w']",
    "rest[0]" and "options['rate']"."""
    try:
        signature = inspect.signature(fun)
        held = signature.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):              # no signature, or other arguments
        held = {"args": args, **kwargs}
    return tuple([name + keystr(path) for name, x in held.items()
                  for path, _ in tree_flatten_with_path(x)[0]])


def result_paths(flat: Any) -> tuple[str, ...]:
    """The leaves of the result of a traced call, as in "result[0]['w']"."""
    tree = filled(flat.out_tree, flat.function.return_types)
    return tuple(["result" + keystr(path) for path, _ in tree_flatten_with_path(tree)[0]])


__all__ = ["ArgInfo", "Signature", "argument_paths", "result_paths", "signature_of"]
