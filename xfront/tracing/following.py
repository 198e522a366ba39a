"""The axes of `shard_map`s over which the values of an open trace vary, found on request.

The pass that puts in casts (`xfront_ir/passes/varying.py`) goes over the ops recorded so far and
keeps its tables; the next request continues from there. Traces without requests pay nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xfront_ir.core import Function, Value
from xfront_ir.passes.varying import NOWHERE, Axes, Names, Sets, Varying, varying

from ..base.config import auto_pcast
from .regions import follows, regions

if TYPE_CHECKING:
    from .recording import Recording


class Following:
    """The axes over which values of one trace vary, inside a `shard_map` with `check_vma`.

    Args:
      origins: for each parameter with which the trace was opened, the outer value for which it
        stands, or the axes over which it varies; None where neither is known.
    """

    __slots__ = ("_run", "asked", "axes", "depth", "n_ops", "n_own", "n_params", "origins", "trace")

    def __init__(self, trace: Recording, outer: Following | None, origins: Sequence[Any] | None,
                 n_own: int) -> None:
        self.trace, self.origins, self.n_own = trace, origins, n_own
        self.n_params = self.n_ops = 0
        self.asked = False
        self._run: Varying | None = None
        self.depth = len(regions())
        own, before = (outer.axes, outer.depth) if outer is not None else ((), None)
        opened = regions()[before:]
        if outer is None:                        # begin at the outermost region that follows axes
            opened = opened[[r.check_vma for r in opened].index(True):]
        bound = () if trace.axis is None else (trace.axis[0],)
        self.axes: Axes = tuple([(a, n) for a, n in (
            *own, *[(a, r.mesh.shape[a]) for r in opened for a in r.axes]) if a not in bound])

    def of(self, value: Value) -> Names:
        """The axes over which a value of the trace varies.

        Raises: NotImplementedError where the axes of a parameter are not known yet.
        """
        self.asked = True
        run = self._run
        if run is None:
            run = self._run = Varying(self.trace.builder.name, self.axes)
        builder = self.trace.builder
        params, ops = builder.params[self.n_params:], builder.ops[self.n_ops:]
        run.take(params, [self._origin(i) for i in range(self.n_params, len(builder.params))])
        self.n_params, self.n_ops = self.n_params + len(params), self.n_ops + len(ops)
        run.step(ops)
        return run.of_original(value)

    def _origin(self, i: int) -> Names:
        if i >= self.n_own:
            source = self.trace.sources[i - self.n_own]
        elif self.origins is None:
            raise NotImplementedError(
                f"inside {self.trace.kind}, in a shard_map with check_vma=True, the axes over "
                "which arguments vary are not known, but vjp, linearize and types need them: use "
                f"grad or jvp, move the call outside {self.trace.kind}, or pass check_vma=False to "
                "shard_map")
        else:
            source = self.origins[i]
        return varies(source) & {a for a, _ in self.axes}

    def cast(self, function: Function) -> tuple[Function, Sets, Sets]:
        """`function`, which was traced here, with the casts that it needs, and the axes over which
        its parameters and results vary."""
        sets = [self._origin(i) for i in range(len(function.params))]
        made, results = varying(function, sets, self.axes, asked=not auto_pcast.value)
        return made, tuple(sets), results


def varies(x: Any) -> Names:
    """The axes over which a value varies, or a set of axes itself; an array varies over none."""
    return x if type(x) is frozenset else getattr(x, "varies", NOWHERE)


def followed(trace: Recording, outer: Recording | None, origins: Sequence[Any] | None, n_own: int
             ) -> Following | None:
    """The Following of a trace that is opened in `outer`; None where no axes are followed."""
    if not follows():
        return None
    return Following(trace, None if outer is None else outer.following, origins, n_own)


def sets_of(leaves: Sequence[Any]) -> Sets | None:
    """The axes over which arguments vary, for the keys of traces; None where they do not matter."""
    return tuple(map(varies, leaves)) if follows() else None


__all__ = ["Following", "followed", "sets_of", "varies"]
