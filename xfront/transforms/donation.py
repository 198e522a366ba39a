"""Donated arguments: an array that a call consumed can no longer be read; the error names it.

C++ runs a known signature without Python. In jaxlib 0.10 it passes consumed buffers to the runtime,
which refuses them with a ValueError of its own, also in other programs that read them; in 0.12 C++
calls Python.
"""

# hot: benchmarks/call.py

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xfront_ir.types import TensorType

from ..base.trees import tree_leaves
from ..binding import ArrayImpl
from ..binding.tracebacks import shorten, warn
from ..values.keys import KeyArray


class ConsumedError(RuntimeError, ValueError):
    """An argument was deleted or donated before. JAX raises ValueError where C++ finds this,
    RuntimeError elsewhere."""


def donating(compiled: Any, before: Callable[[tuple, dict], None],
             refuse: Callable[[tuple, dict], None], after: Callable[[tuple, dict], None]) -> Any:
    """`compiled`, a jitted function, that calls `before(args, kwargs)` and `after(args, kwargs)`
    before and after each call, and `refuse(args, kwargs)` after a failed one, to name the arrays
    that are gone."""
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            before(args, kwargs)
            try:
                made = compiled(*args, **kwargs)
                after(args, kwargs)
                return made
            except ValueError:
                refuse(args, kwargs)
                raise
        except BaseException as error:
            shorten(error)
            raise

    return call


def warn_of_unusable(function: str, donated: Iterable[tuple[TensorType, Any]],
                     results: Iterable[tuple[TensorType, Any]]) -> None:
    """Warn of donated buffers that stay unused. A result is written to one of as many bytes.

    Args:
      function: name of the function, for the text.
      donated, results: type and sharding of each; the memory is that of one device's part.
    """
    free = Counter([_room(t, s) for t, s in results])
    left: list[str] = []
    for t, s in donated:
        room = _room(t, s)
        if free[room]:
            free[room] -= 1
        else:
            part = s.shard_shape(t.shape)
            left.append(f"{t}" if part == t.shape else f"{t} in parts of {t.with_shape(part)}")
    if left:
        warn(f"Some donated buffers were not usable: {', '.join(left)}. No result of "
             f"{function} that is left has as many bytes in the same memory, so these arguments "
             "keep theirs; donate only what a result can replace", UserWarning)


def _room(t: TensorType, sharding: Any) -> tuple[int, str | None]:
    words = sharding.shard_shape((*t.shape, *t.dtype.physical))
    return math.prod(words) * t.dtype.numpy.itemsize, t.memory


def refuse_twice(function: str, donated: Any, arguments: Any) -> None:
    """Refuse a call on several devices with an array that is donated and passed once more: C++ ends
    the process when it meets one.

    Args: the function's name, and the trees of its donated and of all arguments.
    Raises: ConsumedError.
    """
    times = Counter([id(_buffers(x)) for x in tree_leaves(arguments)])
    for x in tree_leaves(donated):
        if type(x := _buffers(x)) is ArrayImpl and times[id(x)] > 1:
            raise ConsumedError(
                f"{function} was called with an array of type {x.aval.str_short()} that is donated "
                "and is another argument too, whose memory would be gone; pass a copy of it, "
                "x.copy(), or do not donate it")


def _buffers(x: Any) -> Any:
    return x._base if type(x) is KeyArray else x


def forget_donated(arguments: Any) -> None:
    """Delete the arrays of a tree that were donated and lie on several devices: C++ ends the
    process when it meets one again, unless Python has deleted it."""
    for x in map(_buffers, tree_leaves(arguments)):
        if type(x) is ArrayImpl and x.is_deleted():
            x.delete()


def refuse_consumed(function: str, leaves: Iterable[Any], names: Sequence[str]) -> None:
    """Raise where a leaf is an array that was deleted or donated.

    Args: the function's name, the leaves of its arguments and their names.
    Raises: ConsumedError.
    """
    gone = [f"{name}, of type {x.aval.str_short()}" for x, name in zip(leaves, names, strict=True)
            if type(x) is ArrayImpl and x.is_deleted()]
    if gone:
        one = len(gone) == 1
        raise ConsumedError(
            f"Array has been deleted or donated: {function} was called with "
            f"{'an array that is' if one else 'arrays that are'} no longer there: "
            f"{'; '.join(gone)}. An argument named in donate_argnums or donate_argnames gives its "
            "memory to the results of the call: use those results, or do not donate the "
            "argument.") from None
