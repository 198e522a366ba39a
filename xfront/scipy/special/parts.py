"""What special functions are written in: how they take their arguments, and become public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...arrays.dispatch import eager
from ...arrays.operands import broadcast_shapes, broadcast_to, promote_inexact
from ...nn.parts import inexact
from ...tracing.trace import emit


def one(name: str, definition: Any, doc: str) -> Callable[[Any], Any]:
    """A function of one argument that is one op."""
    def body(x: Any) -> Any:
        return emit(definition, real(name, x))

    return public(body, name, doc)


def several(name: str, definition: Any, doc: str, count: int = 2) -> Callable[..., Any]:
    """A function of two or three arguments that is one op."""
    def two(x: Any, y: Any) -> Any:
        return emit(definition, *together(name, x, y))

    def three(a: Any, b: Any, x: Any) -> Any:
        return emit(definition, *together(name, a, b, x))

    return public(two if count == 2 else three, name, doc)


def public(body: Callable[..., Any], name: str, doc: str) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__code__ = body.__code__.replace(co_name=name)      # what frames show
    body.__doc__ = doc
    return eager(body)


def real(name: str, x: Any) -> Any:
    x = inexact(name, x)
    if x.value.type.dtype.is_complex:
        raise ValueError(f"{name} takes real numbers, got {x.value.type}")
    return x


def together(name: str, *xs: Any) -> list[Any]:
    """Arguments of one float dtype and one shape."""
    made = promote_inexact(name, *xs)
    shape = broadcast_shapes(name, [x.shape for x in made])
    return [broadcast_to(x, shape) for x in made]
