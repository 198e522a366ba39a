"""From a Function of the IR back to a Python function of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xfront_ir.core import Function
from xfront_ir.verifier import verify

from ..running.programs import bind
from .flat import as_operand, kind_of


def from_ir(function: Function) -> Callable[..., Any]:
    """A Python function that runs a Function of the IR.

    It can be jitted, differentiated and vectorised like any function of arrays. The Function is
    verified once, here.

    Args:
      function: a Function that was parsed (`xfront_ir.parse`), built, or traced
        (`make_jaxpr(f)(x).ir`).
    Returns: a function of one array for each parameter. It returns an array where the Function
      returns one value, else a tuple; it raises TypeError for another number of arguments, or for
      an argument whose shape or dtype differs from its parameter's.
    Raises: VerifyError where the Function is not a valid program.

    >>> double = xfront_ir.parse('''
    ... func @double(%x: f32[2]) -> (f32[2]) {
    ...   %0: f32[2] = add(%x, %x)
    ...   return %0
    ... }''')
    >>> jax.from_ir(double)(jnp.array([1.0, 2.0]))
    Array([2., 4.], dtype=float32)
    """
    verify(function)
    types = function.param_types

    def run(*args: Any) -> Any:
        if len(args) != len(types):
            raise TypeError(f"@{function.name} takes {len(types)} arguments, but got {len(args)}")
        for i, (x, t) in enumerate(zip(args, types, strict=True)):
            given, _ = kind_of(function.name, x)
            if given is not t:
                raise TypeError(f"@{function.name}: argument {i} has type {given}, but its "
                                f"parameter has type {t}; convert or reshape the argument")
        results = bind(function, [as_operand(x) for x in args], name=function.name)
        return results[0] if len(results) == 1 else tuple(results)

    run.__name__ = run.__qualname__ = function.name
    run.__doc__ = f"Runs the IR of @{function.name}."
    return run
