"""Accumulators of cotangents, one for each operand, to which a backward rule adds."""

from __future__ import annotations

from typing import Any

from .own import Zero


class GradAccum:
    """The base of accumulators of cotangents of a type `aval`."""

    aval: Any

    def accum(self, x: Any) -> None:
        """Add a cotangent; a `Zero` and None add nothing. Raises: NotImplementedError here."""
        raise NotImplementedError(f"{type(self).__name__} has no `accum`")

    def freeze(self) -> Any:
        """The sum, or a `Zero` where nothing was added. Raises: NotImplementedError here."""
        raise NotImplementedError(f"{type(self).__name__} has no `freeze`")


def _is_zero(x: Any) -> bool:
    return x is None or type(x) is Zero


class ValAccum(GradAccum):
    """The sum of the cotangents so far.

    >>> total = hijax.ValAccum(xfront.typeof(1.0))
    >>> total.accum(jnp.array(2.0)); total.accum(jnp.array(3.0)); total.freeze()
    Array(5., dtype=float32, weak_type=True)
    """

    def __init__(self, aval: Any, val: Any = None) -> None:
        self.aval = aval
        self.val = Zero(aval) if val is None else val

    def __repr__(self) -> str:
        return f"ValAccum({self.aval})"

    def accum(self, x: Any) -> None:
        """Add a cotangent; a `Zero` and None add nothing."""
        if not _is_zero(x):
            self.val = x if _is_zero(self.val) else added(self.aval, self.val, x)

    def freeze(self) -> Any:
        """The sum, or a `Zero` where nothing was added."""
        return self.val


def added(aval: Any, x: Any, y: Any) -> Any:
    """The sum of two cotangents of a type."""
    return aval.vspace_add(x, y) if getattr(aval, "is_high", False) else x + y


class NullAccum(GradAccum):
    """The accumulator of an operand that is not differentiated: what is added is dropped.

    >>> hijax.NullAccum(xfront.typeof(1.0)).freeze()
    Zero(float32[])
    """

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"NullAccum({self.aval})"

    def accum(self, x: Any) -> None:
        """Drop a cotangent."""

    def freeze(self) -> Any:
        """A `Zero`."""
        return Zero(self.aval)


class RefAccum(GradAccum):
    """An accumulator that adds into a reference, `ref`; without one it makes one when it is needed.

    >>> total = hijax.RefAccum(xfront.typeof(1.0))
    >>> total.accum(jnp.array(2.0)); total.accum(jnp.array(3.0)); total.freeze()
    Array(5., dtype=float32)
    """

    def __init__(self, aval: Any, ref: Any = None) -> None:
        self.aval, self.ref = aval, ref

    def __repr__(self) -> str:
        return f"RefAccum({self.aval})"

    def inst(self) -> RefAccum:
        """The accumulator itself, with a reference to zeros where it had none."""
        if self.ref is None:
            from ..ref import new_ref  # it stands above this file

            self.ref = new_ref(Zero(self.aval).instantiate())
        return self

    def accum(self, x: Any) -> None:
        """Add a cotangent into the reference; a `Zero` and None add nothing."""
        if not _is_zero(x):
            self.inst().ref.addupdate(x)

    def freeze(self) -> Any:
        """The sum, or a `Zero` where nothing was added; the reference cannot be used then."""
        if self.ref is None:
            return Zero(self.aval)
        from ..ref import freeze  # as above

        return freeze(self.ref)


__all__ = ["GradAccum", "NullAccum", "RefAccum", "ValAccum", "added"]
