"""Primitives that users define: ops made at run time, whose rules are Python functions.

The op of such a primitive holds a `Call`: the primitive, its params, and the results of the rules
that passes have asked for. A rule is traced on the types of the request, and the resulting Function
replaces the op; so one table of rules serves jit, derivatives, batching and control flow in any
nesting. Before lowering, the op is replaced by the ops of its `lower_fun`, so the key of a program
on disk depends on content alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from xfront_ir.analysis import functions
from xfront_ir.core import Function, Op
from xfront_ir.definition import LINEAR, OpDef
from xfront_ir.fingerprint import identity
from xfront_ir.opdef import PYTHON, define
from xfront_ir.types import TensorType

from .. import binding
from ..base.dtypes import float0
from ..base.errors import TracerArrayConversionError
from ..eager.dispatch import deepest
from ..eager.primitives import Primitive, aval_of, belongs, primitive_of
from ..running import programs
from ..running.keys import identity_text
from ..tracing.trace import emit, state, trace_function
from ..tracing.tracer import Tracer
from ..transforms.closing import with_constants
from ..transforms.flat import as_operand, kind_of
from ..transforms.structs import struct_kind
from ..transforms.symbolic import SymbolicZero
from .views import viewed_parameters

# --- the tables of rules ------------------------------------------------------------------------

class Rules(dict[Primitive, Any]):
    """A table of rules by primitive. The rules of the IR's ops are fixed and not in the table;
    `known` makes a function that acts like the rule of such an op."""

    def __init__(self, what: str, known: Callable[[Primitive], Any] | None = None) -> None:
        super().__init__()
        self.what, self._known = what, known

    def __setitem__(self, primitive: Primitive, rule: Any) -> None:
        if not isinstance(primitive, Primitive):
            raise TypeError(f"{self.what}: a key must be a Primitive, got {primitive!r}")
        if not primitive.is_own and not self.give(primitive):
            raise NotImplementedError(f"{self.what}: {primitive} is a built-in operation, whose "
                                      "rules are fixed; make a Primitive of your own, or use "
                                      "custom_jvp")
        super().__setitem__(primitive, rule)
        primitive.changed()

    def give(self, primitive: Primitive) -> bool:
        """Let an op of the IR take a missing rule from this table; return whether it does."""
        return False

    def __missing__(self, primitive: Primitive) -> Any:
        if self._known is None or getattr(primitive, "is_own", True) or (
                primitive.definition is None):
            raise KeyError(primitive)
        return self._known(primitive)

    def __contains__(self, primitive: object) -> bool:
        return super().__contains__(primitive) or (
            self._known is not None and isinstance(primitive, Primitive)
            and not primitive.is_own and primitive.definition is not None)

    def get(self, primitive: Primitive, default: Any = None) -> Any:
        """The rule of a primitive, or `default`."""
        return self[primitive] if primitive in self else default


class Zero:
    """A tangent or cotangent of type `aval` that is zero, with no array behind it.

    >>> hijax.Zero(hijax.ShapedArray((2,), np.float32)).aval
    ShapedArray(float32[2])
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        """The zero tangent of an array."""
        return Zero(value.aval if isinstance(value, binding.Array) else aval_of(
            kind_of("Zero", value)[0]))

    def instantiate(self) -> Any:
        """The zero as an array."""
        from ..numpy import zeros  # numpy stands above this file

        if getattr(self.aval, "is_high", False):
            return self.aval.vspace_zero()
        return zeros(self.aval.shape, self.aval.dtype)

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"


class UndefinedPrimal:
    """Stands for an operand with respect to which an op is transposed; `aval` is its type."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.str_short()})"


class AxisData(NamedTuple):
    """The batch axis that a batching rule gets: its name and size."""

    name: Any
    size: int
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


class LoweredFun:
    """The result of `mlir.lower_fun(fun)`: a lowering to the ops that `fun` records."""

    def __init__(self, fun: Callable[..., Any], multiple_results: bool) -> None:
        self.fun, self.multiple_results = fun, multiple_results

    def __call__(self, ctx: Any, *args: Any, **params: Any) -> Any:
        raise NotImplementedError("the result of lower_fun cannot be called on values of MLIR; "
                                  "pass it to register_lowering")


class Transposes(Rules):
    """The table of transposes. An op of the IR without one may get one, for `linear_transpose`."""

    def give(self, primitive: Primitive) -> bool:
        """Let an op of the IR without a transpose take it from this table; say whether it does."""
        definition = primitive.definition
        if definition is None or definition.transpose not in (None, _transpose_given):
            return False
        definition.transpose = _transpose_given
        return True


JVPS = Rules("ad.primitive_jvps")
TRANSPOSES = Transposes("ad.primitive_transposes")
BATCHERS = Rules("batching.primitive_batchers")
FANCY_BATCHERS = Rules("batching.fancy_primitive_batchers")
AXIS_BATCHERS = Rules("batching.axis_primitive_batchers")
LOWERINGS: dict[Primitive, dict[str | None, Any]] = {}
"""Lowerings by primitive, then by platform; those under None are for all other platforms."""


# --- one use of a primitive ---------------------------------------------------------------------

Types = tuple[TensorType, ...]


class Call:
    """A primitive with its params, as an op holds it; `weak`: which operands are weakly typed."""

    def __init__(self, primitive: Primitive, params: Mapping[str, Any],
                 weak: tuple[bool, ...] = ()) -> None:
        self.primitive, self.params, self.weak = primitive, dict(params), weak
        self.name = primitive.name
        self.place = (state.axes, state.scope)
        self.effects: frozenset[Any] = frozenset()
        self.memo: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return self.name

    def fingerprint(self) -> bytes:
        """The bytes that distinguish this call from others in this process."""
        return (f"{identity(self.primitive)} {self.primitive.revision} "
                f"{identity_text(self.params)} {self.weak if any(self.weak) else ''}").encode()

    def out_avals(self, avals: Sequence[Any]) -> list[Any]:
        """Types of the results, from the abstract evaluation of the primitive."""
        made, effects = self.primitive.abstract_eval(*avals, **self.params)
        self.effects = frozenset(effects)
        return list(made) if self.primitive.multiple_results else [made]

    def types(self, types: Types) -> Types:
        """As `out_avals`, for types of the IR."""
        found = self.memo.get(types)
        if found is None:
            found = self.memo[types] = tuple(
                [struct_kind(self.name, a)[0] for a in self.out_avals(list(map(aval_of, types)))])
        return found

    def asked(self, key: Any, make: Callable[[], Any]) -> Any:
        """The result of `make()`, which is called once for each key."""
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = make()
        return found

    def rule(self, table: Mapping[Primitive, Any], what: str) -> Any:
        """The primitive's rule in a table. Raises: NotImplementedError."""
        if self.primitive not in table:
            raise NotImplementedError(f"{what} rule for '{self.name}' not implemented")
        return table[self.primitive]

    def traced(self, run: Callable[[list[Tracer]], Sequence[Any]], types: Sequence[TensorType],
               what: str, weak: tuple[bool, ...] = ()) -> Function:
        """The closed Function of a rule, traced under the axes and scopes of its op's place; `weak`
        tells of the first parameters whether they are weakly typed."""
        outer = state.axes, state.scope, state.current
        (state.axes, state.scope), state.current = self.place, None
        label = f"the {what} rule of primitive {self.name}"
        try:
            made = trace_function(run, types, [*weak, *[False] * (len(types) - len(weak))],
                                  name=self.name, kind=label, staging=True)
        finally:
            state.axes, state.scope, state.current = outer
        return with_constants(made, len(types), label)  # type: ignore[arg-type]

    def results(self, made: Any) -> list[Any]:
        """The values that a rule returned for the results, as a list."""
        return list(made) if self.primitive.multiple_results else [made]

    # --- rules ---------------------------------------------------------------------------

    def jvp(self, types: Types, active: tuple[bool, ...]) -> tuple[Function, tuple[bool, ...]]:
        """The Function from operands and active tangents to results and nonzero tangents, and for
        each result whether it has such a tangent."""
        rule, n, flags = self.rule(JVPS, "Differentiation"), len(types), []

        def run(tracers: list[Tracer]) -> list[Any]:
            given = iter(tracers[n:])
            tangents = [next(given) if a else Zero(aval_of(t))
                        for t, a in zip(types, active, strict=True)]
            primals_out, tangents_out = rule(tracers[:n], tangents, **self.params)
            outs, dots = self.results(primals_out), self.results(tangents_out)
            flags[:] = [not _is_zero(d) for d in dots]
            return [*outs, *_fitting(self.name, "tangent", [
                d for d, f in zip(dots, flags, strict=True) if f], [
                x for x, f in zip(outs, flags, strict=True) if f])]

        def make() -> Any:
            dots = [t for t, a in zip(types, active, strict=True) if a]
            return self.traced(run, (*types, *dots), "jvp", self.weak), tuple(flags)

        return self.asked(("jvp", types, active), make)

    def transpose(self, types: Types, linear: tuple[bool, ...], out_types: Types,
                  active: tuple[bool, ...]) -> tuple[Function, tuple[bool, ...]]:
        """The Function from known operands and active cotangents to nonzero cotangents of the
        linear operands, and for each linear operand whether it has one."""
        rule, flags = self.rule(TRANSPOSES, "Transpose"), []
        known = [t for t, is_linear in zip(types, linear, strict=True) if not is_linear]
        cts = [t for t, a in zip(out_types, active, strict=True) if a]

        def run(tracers: list[Tracer]) -> list[Any]:
            values, given = iter(tracers[:len(known)]), iter(tracers[len(known):])
            args = [UndefinedPrimal(aval_of(t)) if is_linear else next(values)
                    for t, is_linear in zip(types, linear, strict=True)]
            seeds = [next(given) if a else Zero(aval_of(t))
                     for t, a in zip(out_types, active, strict=True)]
            made = rule(seeds if self.primitive.multiple_results else seeds[0], *args,
                        **self.params)
            mine = [x for x, is_linear in zip(made, linear, strict=True) if is_linear]
            flags[:] = [not _is_zero(x) for x in mine]
            wanted = [a for a, is_linear in zip(args, linear, strict=True) if is_linear]
            return _fitting(self.name, "cotangent",
                            [x for x, f in zip(mine, flags, strict=True) if f],
                            [w.aval for w, f in zip(wanted, flags, strict=True) if f])

        def make() -> Any:
            return self.traced(run, (*known, *cts), "transpose"), tuple(flags)

        return self.asked(("transpose", types, linear, active), make)

    def batch(self, types: Types, positions: tuple[int | None, ...], axis: Any
              ) -> tuple[Function, tuple[int | None, ...]]:
        """The Function from batched operands to batched results, and the batch axis of each one."""
        dims: list[int | None] = []

        def run(tracers: list[Tracer]) -> list[Any]:
            made, places = self._batched(tracers, positions, axis)
            outs = self.results(made)
            dims[:] = self.results(places)
            if len(dims) != len(outs):
                dims[:] = list(places) if isinstance(places, (tuple, list)) else [
                    places] * len(outs)
            return outs

        def make() -> Any:
            return self.traced(run, types, "batching", self.weak), tuple(dims)

        return self.asked(("batch", types, positions, axis), make)

    def _batched(self, args: list[Any], dims: Sequence[int | None], axis: Any) -> Any:
        data = AxisData(*axis)
        if self.primitive in FANCY_BATCHERS:
            return FANCY_BATCHERS[self.primitive](data, args, dims, **self.params)
        if self.primitive in AXIS_BATCHERS:       # the third argument is the kind of the trace
            return AXIS_BATCHERS[self.primitive](data.size, data.name, None, args, dims,
                                                 **self.params)
        return self.rule(BATCHERS, "Batching")(args, dims, **self.params)

    def written(self, types: Types) -> Function | None:
        """The Function that replaces the operation; None where its lowering writes MLIR.

        Raises: NotImplementedError where the primitive has neither lowering nor implementation.
        """
        rule = lowering_of(self.primitive)
        if rule is not None and not isinstance(rule, LoweredFun):
            return None
        return self.asked(("written", types, id(rule)), lambda: self._written(rule, types))

    def _written(self, rule: LoweredFun | None, types: Types) -> Function:
        made = None
        if rule is not None or self.primitive._impl is not None:
            made = self._of_python(rule, types)
        if made is None or rule is None and self._is_in(made, types):
            raise NotImplementedError(f"MLIR translation rule for primitive '{self.name}' not "
                                      f"found for platform {platform()}")
        wanted = self.types(types)
        if made.return_types != wanted:
            raise TypeError(f"primitive {self.name}: its lowering returns "
                            f"{', '.join(map(str, made.return_types))}, but its abstract "
                            f"evaluation says {', '.join(map(str, wanted))}")
        return made

    def _of_python(self, rule: LoweredFun | None, types: Types) -> Function:
        if rule is not None:
            def run(tracers: list[Tracer]) -> list[Any]:
                made = rule.fun(*tracers, **self.params)
                return list(made) if rule.multiple_results else [made]

            return self.traced(run, types, "lowering")
        impl = self.primitive._impl
        assert impl is not None
        try:                                     # an implementation for arrays may take tracers
            return self.traced(
                lambda tracers: self.results(impl(*tracers, **self.params)), types, "lowering")
        except TracerArrayConversionError:       # the function reads elements: run on the host
            return self.traced(lambda tracers: self._on_host(impl, types, tracers), types,
                               "lowering")

    def _is_in(self, function: Function, types: Types) -> bool:
        """Whether a Function contains this call. An implementation that binds its own primitive, as
        `apply_primitive` and `jit(p.bind)` do, is no lowering."""
        definition, mine = self.primitive.definition, self.fingerprint()
        return any([op.definition is definition and _types(op.operands) == types
                    and op.attrs["call"].fingerprint() == mine
                    for fn in functions(function) for op in fn.ops])

    def _on_host(self, impl: Callable[..., Any], types: Types, tracers: list[Tracer]) -> list[Any]:
        from ..lax.callbacks import pure_callback
        from ..transforms.structs import shape_struct

        structs = [shape_struct(t, False) for t in self.types(types)]

        def call(*arrays: Any) -> list[Any]:
            return [np.asarray(x) for x in self.results(impl(*arrays, **self.params))]

        return list(pure_callback(call, structs, *tracers))


def _is_zero(x: Any) -> bool:
    """Whether a tangent or cotangent is zero: a Zero, None, or of dtype float0."""
    return x is None or type(x) in (Zero, SymbolicZero) or getattr(x, "dtype", None) == float0


def _fitting(name: str, what: str, found: Sequence[Any], wanted: Sequence[Any]) -> list[Any]:
    """Tangents or cotangents `found` in the dtypes of `wanted`. Raises: TypeError where a shape
    differs."""
    from ..lax import convert_element_type

    made = []
    for x, w in zip(found, wanted, strict=True):
        if np.shape(x) != tuple(w.shape):
            raise TypeError(f"primitive {name}: its rule returned a {what} of shape {np.shape(x)} "
                            f"for a value of shape {tuple(w.shape)}")
        made.append(x if getattr(x, "dtype", None) == w.dtype else convert_element_type(x, w.dtype))
    return made


# --- the op -----------------------------------------------------------------------------------

def _types(values: Sequence[Any]) -> Types:
    return tuple([v.type for v in values])


def _infer(types: Types, attrs: Any) -> Types:
    return attrs["call"].types(types)


def _jvp(b: Any, attrs: Any, operands: Any, tangents: Any) -> Any:
    active = tuple([t is not None for t in tangents])
    made, flags = attrs["call"].jvp(_types(operands), active)
    returned = b.inline(made, (*operands, *[t for t in tangents if t is not None]))
    n = len(flags)
    given = iter(returned[n:])
    return returned[:n], [next(given) if f else None for f in flags]


def _transpose(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    return _transposed(b, op, op.attrs["call"], cotangents, known)


def _transpose_given(b: Any, op: Op, cotangents: Any, known: Any) -> Any:
    call = Call(primitive_of(op.definition), viewed_parameters(op))
    return _transposed(b, op, call, cotangents, known)


def _transposed(b: Any, op: Op, call: Call, cotangents: Any, known: Any) -> Any:
    linear = tuple([k is LINEAR for k in known])
    active = tuple([ct is not None for ct in cotangents])
    made, flags = call.transpose(_types(op.operands), linear, _types(op.results), active)
    given = iter(b.inline(made, (*[k for k in known if k is not LINEAR],
                                 *[ct for ct in cotangents if ct is not None])))
    which = iter(flags)
    return [(next(given) if next(which) else None) if is_linear else None for is_linear in linear]


def _batch(b: Any, op: Op, operands: Any, positions: Any, axis: Any) -> Any:
    made, dims = op.attrs["call"].batch(_types(operands), tuple(positions), axis)
    return b.inline(made, operands), dims


def definition_of(primitive: Primitive) -> OpDef:
    """The op of a user's primitive, made when the primitive is first recorded."""
    if primitive.definition is None:
        primitive.definition = define(
            f"own.{primitive.name}", attrs={"call": PYTHON}, infer=_infer, single=False,
            own_primal=True, jvp=_jvp, transpose=_transpose, batch=_batch, apart=True,
            effects=lambda attrs: bool(attrs["call"].effects), family=__name__,
            written=lambda op: op.attrs["call"].written(_types(op.operands)))
        belongs(primitive.definition, primitive)
    return primitive.definition


def bind_own(primitive: Primitive, args: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """Record the op of a primitive, or run it where nothing is traced. See `Primitive.bind`."""
    operands = [as_operand(x) for x in args]
    if deepest(operands, state.current) is None:
        return primitive.impl(*args, **params)
    kinds = [kind_of(primitive.name, x) for x in operands]
    call = Call(primitive, params, tuple([w for _, w in kinds]))
    avals = [aval_of(t).update(weak_type=True) if w else aval_of(t) for t, w in kinds]
    out_avals = call.out_avals(avals)
    call.memo[tuple([t for t, _ in kinds])] = tuple(
        [struct_kind(primitive.name, a)[0] for a in out_avals])
    results = emit(definition_of(primitive), *operands, call=call)
    for x, aval in zip(results, out_avals, strict=True):
        x.weak = bool(getattr(aval, "weak_type", False))
    return results if primitive.multiple_results else results[0]


def apply_primitive(primitive: Primitive, *args: Any, **params: Any) -> Any:
    """Run a primitive on arrays, compiled by its lowering.

    Raises: NotImplementedError where it has no lowering.
    """
    if not primitive.is_own:
        return primitive.bind(*args, **params)
    if deepest(args, state.current) is not None:
        return bind_own(primitive, args, params)
    if primitive not in LOWERINGS:
        raise NotImplementedError(f"Evaluation rule for '{primitive.name}' not implemented")
    kinds = [kind_of(primitive.name, x) for x in map(as_operand, args)]
    function = programs.single_op(definition_of(primitive), [t for t, _ in kinds],
                                  {"call": Call(primitive, params)})
    results = programs.bind(function, [programs.to_array(as_operand(x)) for x in args],
                            name=primitive.name)
    return results if primitive.multiple_results else results[0]


# --- lowering -----------------------------------------------------------------------------------

def platform() -> str:
    """The name of the platform on which programs run."""
    return binding.default_device().client.platform


def lowering_of(primitive: Primitive) -> Any:
    """The lowering registered for the platform of programs, or for all; None without one."""
    known = LOWERINGS.get(primitive, {})
    return known.get(platform(), known.get(None))
