"""Derivatives of users' own primitives: tables of rules, and functions that enter the usual ones.

    primitive_jvps[p] = rule          rule(primals, tangents, **params) -> (results, tangents)
    primitive_transposes[p] = rule    rule(cotangents, *operands, **params) -> cotangents

A tangent or cotangent that is zero is a `Zero`. Where an op is transposed, operands in which it is
linear are `UndefinedPrimal`s; the rule returns a cotangent for these and None for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.on_demand import shown as _shown
from ..eager.primitives import Primitive
from ..jaxpr.classes import JVPTracer, absent
from ..jaxpr.own import JVPS, TRANSPOSES, UndefinedPrimal, Zero
from ..lax import add_jaxvals_p

primitive_jvps, primitive_transposes = JVPS, TRANSPOSES


def _jvp_of_op(primitive: Primitive) -> Any:
    from ..transforms.autodiff import jvp as jvp_of

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return jvp_of(lambda *xs: primitive.bind(*xs, **params), tuple(primals),
                      tuple([instantiate_zeros(t) for t in tangents]))

    return rule


def _transpose_of_op(primitive: Primitive) -> Any:
    from ..transforms.autodiff import linear_transpose
    from ..transforms.structs import ShapeDtypeStruct

    def rule(ct: Any, *args: Any, **params: Any) -> list[Any]:
        places = [i for i, x in enumerate(args) if is_undefined_primal(x)]

        def of_linear(*linear: Any) -> Any:
            given = list(args)
            for i, x in zip(places, linear, strict=True):
                given[i] = x
            return primitive.bind(*given, **params)

        shapes = [ShapeDtypeStruct(args[i].aval.shape, args[i].aval.dtype) for i in places]
        given = [instantiate_zeros(c) for c in ct] if primitive.multiple_results else (
            instantiate_zeros(ct))
        found: list[Any] = [None] * len(args)
        for i, x in zip(places, linear_transpose(of_linear, *shapes)(given), strict=True):
            found[i] = x
        return found

    return rule


JVPS._known, TRANSPOSES._known = _jvp_of_op, _transpose_of_op


def is_undefined_primal(x: Any) -> bool:
    """Whether an operand of a transpose rule stands for one in which the op is linear."""
    return type(x) is UndefinedPrimal


def instantiate_zeros(tangent: Any) -> Any:
    """A tangent or cotangent as an array, zeros for a `Zero`."""
    return tangent.instantiate() if type(tangent) is Zero else tangent


def zeros_like_aval(aval: Any) -> Any:
    """An array of zeros of a type."""
    return Zero(aval).instantiate()


def add_jaxvals(x: Any, y: Any) -> Any:
    """The sum of two arrays of one type."""
    return add_jaxvals_p.bind(x, y)


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents or cotangents, which may be `Zero`s."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_jaxvals(x, y)


def _single(primitive: Primitive, what: str) -> None:
    if primitive.multiple_results:
        raise TypeError(f"{what}: {primitive} has several results; set its rule as a function in "
                        "primitive_jvps")


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Enter a tangent rule that is a sum over operands.

    Args:
      primitive: the primitive.
      jvprules: for each operand `rule(tangent, *primals, **params)`, or None for zero.
    """
    _single(primitive, "defjvp")

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return primitive.bind(*primals, **params), _sum(primals, [
            f(t, *primals, **params) for f, t in zip(jvprules, tangents, strict=True)
            if f is not None and type(t) is not Zero])

    JVPS[primitive] = rule


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Enter a tangent rule as `defjvp`, of rules `rule(tangent, result, *primals, **params)`."""
    _single(primitive, "defjvp2")

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        result = primitive.bind(*primals, **params)
        return result, _sum([result], [
            f(t, result, *primals, **params) for f, t in zip(jvprules, tangents, strict=True)
            if f is not None and type(t) is not Zero])

    JVPS[primitive] = rule


def _sum(like: Sequence[Any], parts: Sequence[Any]) -> Any:
    total = Zero.from_primal_value(like[0])
    for part in parts:
        total = add_tangents(total, part)
    return total


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Enter the rules of an op that is linear in all its operands together.

    Args:
      primitive: the primitive.
      transpose_rule: `rule(cotangent, **params)`, which returns a cotangent for each operand.
    """
    deflinear2(primitive, lambda ct, *_, **params: transpose_rule(ct, **params))


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Enter rules as `deflinear`, from a rule `rule(cotangent, *operands, **params)`."""
    def jvp_rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        results = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            return results, ([Zero.from_primal_value(x) for x in results]
                             if primitive.multiple_results else Zero.from_primal_value(results))
        return results, primitive.bind(*map(instantiate_zeros, tangents), **params)

    JVPS[primitive] = jvp_rule
    _enter_transpose(primitive, transpose_rule)


def _enter_transpose(primitive: Primitive, rule: Callable[..., Any]) -> None:
    def transpose(ct: Any, *args: Any, **params: Any) -> Any:
        given = ct if primitive.multiple_results else [ct]
        if all(type(c) is Zero for c in given):
            return [Zero(x.aval) if is_undefined_primal(x) else None for x in args]
        return rule(ct, *args, **params)

    TRANSPOSES[primitive] = transpose


def defbilinear(prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]
                ) -> None:
    """Enter the rules of a product of two operands.

    Args:
      prim: the primitive.
      lhs_rule, rhs_rule: `rule(cotangent, x, y, **params)`, which returns the cotangent of the
        first or second operand; that operand is an `UndefinedPrimal`.
    """
    defjvp(prim, lambda t, _, y, **params: prim.bind(t, y, **params),
           lambda t, x, _, **params: prim.bind(x, t, **params))

    def rule(ct: Any, x: Any, y: Any, **params: Any) -> Any:
        if is_undefined_primal(x) == is_undefined_primal(y):
            raise TypeError(f"{prim} is bilinear: exactly one of its operands may be linear, but "
                            f"{'both are' if is_undefined_primal(x) else 'neither is'}")
        if is_undefined_primal(x):
            return lhs_rule(ct, x, y, **params), None
        return None, rhs_rule(ct, x, y, **params)

    _enter_transpose(prim, rule)


def get_primitive_transpose(p: Primitive) -> Any:
    """The transpose rule of a primitive. Raises: NotImplementedError where it has none."""
    if p not in TRANSPOSES:
        raise NotImplementedError(f"Transpose rule (for reverse-mode differentiation) for '{p}' "
                                  "not implemented")
    return TRANSPOSES[p]


__getattr__ = absent(__name__, {
    "JVPTrace": "traces are of one class here; ask a tracer with isinstance(x, ad.JVPTracer)",
    "jvp": "write jax.jvp(fun, primals, tangents)",
    "linearize": "write jax.linearize(fun, *primals)",
    "call_transpose": "ops with bodies have fixed rules; write jax.linear_transpose",
})

__all__ = [
    "JVPTracer", "UndefinedPrimal", "Zero", "add_jaxvals", "add_jaxvals_p", "add_tangents",
    "defbilinear", "defjvp", "defjvp2", "deflinear", "deflinear2", "get_primitive_transpose",
    "instantiate_zeros", "is_undefined_primal", "primitive_jvps", "primitive_transposes",
    "zeros_like_aval",
]
__dir__ = _shown(globals())
