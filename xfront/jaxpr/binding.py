"""`bind` for the primitives of the IR's ops: it records or runs one op from operands and params."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.ops.families import batch_elementwise

from .. import binding
from ..eager.primitives import Primitive
from ..lax.control_flow import record
from ..running import programs
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from ..transforms.flat import as_operand, kind_of
from .attributes import attributes


def bind_op(primitive: Primitive, args: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """Record or run the op of a primitive. See `Primitive.bind`."""
    definition = primitive.definition
    if "subfuns" in params:                      # other params say the same
        params = {k: v for k, v in params.items() if k != "subfuns"}
    if definition is None:
        return _bind_apart(primitive, args, params)
    if definition in ON_REFS:
        return _bind_on_refs(definition.name, args)
    operands = [as_operand(x) for x in args]
    kinds = [kind_of(primitive.name, x) for x in operands]
    attrs = attributes(primitive, params)
    if definition is ops.select_n and len(args) == 3 and str(kinds[0][0].dtype) == "bool":
        return emit(ops.select, *_alike([operands[0], operands[2], operands[1]], operands[1:]))
    if definition.batch is batch_elementwise and len(args) > 1:
        operands = _alike(operands)
    if definition is ops.call:
        return programs.bind(attrs["body"], operands, name=attrs["name"])
    if definition in CONTROL_FLOW:               # results are as weak as those of the body
        body = attrs["branches"][0] if definition is ops.cond else attrs["body"]
        weaks = body.weak_returns or (False,) * len(body.returns)
        return record(definition, operands, weaks, **attrs)
    if definition.has_bodies and state.current is None and Tracer not in map(type, operands):
        types = [kind_of(primitive.name, x)[0] for x in operands]
        return programs.bind(programs.single_op(definition, types, attrs),
                             [programs.to_array(x) for x in operands], name=definition.name)
    results = emit(definition, *operands, **attrs)
    return list(results) if primitive.multiple_results else results


class Subfunction:
    """The function of a call as a callable, as readers of `subfuns` want it."""

    def __init__(self, body: Any) -> None:
        self.body = body

    def call_wrapped(self, *args: Any) -> list[Any]:
        """The results of the function."""
        from .evaluating import jaxpr_as_fun  # it stands beside this file

        return jaxpr_as_fun(self.body)(*args)

    __call__ = call_wrapped


def subfunctions(params: Mapping[str, Any]) -> tuple[Any, ...]:
    """The function of a call with a rule of its own, and the rule."""
    return Subfunction(params["call_jaxpr"]), params.get("jvp_jaxpr_fun",
                                                         params.get("fwd_jaxpr_thunk"))


CONTROL_FLOW = (ops.cond, ops.scan, ops.while_)
ON_REFS = (ops.addupdate, ops.freeze, ops.get, ops.new_ref, ops.swap)


def _bind_on_refs(name: str, args: Sequence[Any]) -> Any:
    from ..ref import references as ref

    if name in ("new_ref", "freeze"):
        return getattr(ref, name)(args[0])
    found = getattr(ref, name)(args[0], ..., *args[1:])
    return [] if name == "addupdate" else found


def _alike(operands: Sequence[Any], alike: Sequence[Any] | None = None) -> list[Any]:
    """Operands of an elementwise op: Python numbers get the dtype of the other operands, of those
    in `alike` where that is given, and scalars are broadcast to their shape."""
    shapes = [np.shape(x) for x in operands]
    whole = next((s for s in shapes if s), ())
    typed = next((x.dtype for x in (operands if alike is None else alike)
                  if hasattr(x, "dtype")), None)
    made = []
    for x, shape in zip(operands, shapes, strict=True):
        if typed is not None and type(x) in (int, float, complex):
            x = np.asarray(x, typed)
        if whole and not shape:
            x = _filled(x, whole)
        made.append(x)
    return made


def _filled(x: Any, shape: tuple[int, ...]) -> Any:
    if state.stack and not isinstance(x, binding.Array):
        home = state.current or state.stack[-1]
        return home.literal(binding.host_array(x), shape)
    return emit(ops.broadcast_in_dim, x, shape=shape, dims=())


def _bind_apart(primitive: Primitive, args: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """Record or run the ops that stand for a primitive without an op of its own."""
    from ..transforms.flat import name_of
    from .evaluating import jaxpr_as_fun
    from .views import ClosedJaxpr, Jaxpr

    if primitive.name == "add_any":
        from ..lax.elementwise import add

        return add(*args)
    if primitive.name == "squeeze":
        from ..lax.shape import squeeze

        return squeeze(args[0], params["dimensions"])
    if primitive.name == "scatter-sub":
        from .. import lax

        x, indices, updates = args
        return lax.scatter_add_p.bind(x, indices, lax.neg(updates), **params)
    if primitive.name in ("call", "closed_call"):
        body = params.get("call_jaxpr", params.get("jaxpr"))
        if body is None and args and callable(args[0]):
            call: Any = args[0]                  # the first operand of call_p is a function
            return list(call(*args[1:]))
        if isinstance(body, Jaxpr):
            body = ClosedJaxpr(body, [])
        if isinstance(body, ClosedJaxpr):
            from ..transforms.jit import jit

            fun = jaxpr_as_fun(body)
            fun.__name__ = str(params.get("name", name_of(fun)))
            return jit(fun)(*args)
    raise NotImplementedError(f"no operation is recorded as {primitive.name!r}, so it cannot be "
                              "bound: call the function of lax instead; docs/names.md says what is "
                              "recorded in its place")
