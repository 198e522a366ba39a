"""The tools of lowering rules: `RuleContext`, the registry of rules, the MLIR context.

A rule turns one IR op into MLIR values: `rule(ctx, op, *operands) -> value or values`. It builds
ops with `ctx.create`, takes result types from the IR op, and gets attributes from the memoised
helpers of `ctx`. Rules live in `rules/`, under the file names of `xfront_ir/ops/`; the file of a
family is imported when the first op of that family is lowered. The first lowering imports
`jaxlib.mlir`; importing this file does not.
"""

# hot: benchmarks/lower.py

from __future__ import annotations

import _thread  # threading.Thread.start waits, and a signal may interrupt that
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from math import isqrt, prod
from operator import attrgetter
from types import CodeType
from typing import Any

import numpy as np

from xfront_ir.analysis import functions
from xfront_ir.core import Function, Op, Value, forced
from xfront_ir.definition import OpDef
from xfront_ir.dtypes import DType
from xfront_ir.errors import IRValueError, MissingRule
from xfront_ir.literal import Literal, literal
from xfront_ir.locations import Location
from xfront_ir.ops.sharding import reshard
from xfront_ir.sharding import MeshAxes, Sharding, Spec
from xfront_ir.types import TensorType

from .partitioning import sharding_text

Rule = Callable[..., Any]
Region = Callable[..., Any]

RULES: dict[OpDef, Rule] = {}
SIMPLE: dict[OpDef, str] = {}
"""Ops that are lowered to one MLIR op with the same operands and results and no attributes."""
INLINED: dict[OpDef, str] = {}
"""Ops that are lowered as their body, with the attribute that holds it (call, custom_jvp, ...)."""
EXPANDED: dict[OpDef, Callable[[Op], Function]] = {}
"""Ops that are lowered as other ops, with the function that gives those."""
MARK = "stands for"
"""Key in the memo of the body of a call that stands for another op; its value says which op."""

MAX_CONTEXT_BYTES = 32 << 20
MAX_CONTEXT_USES = 2000
"""Limits of a context, which keeps all its types, attributes and constants; above them a new one is
made."""


def has_address(shape: Sequence[int], itemsize: int) -> bool:
    """Whether XLA can count the bytes of an array. Sizes of 0 make no array small enough: NumPy and
    XLA multiply the others all the same."""
    return min(shape, default=0) >= 0 and itemsize * prod([d or 1 for d in shape]) < 1 << 63


# --- registry -----------------------------------------------------------------------------

def rule(definition: OpDef) -> Callable[[Rule], Rule]:
    """Decorator that registers the lowering of `definition`: `fn(ctx, op, *operands) -> value(s)`.
    """
    def register(fn: Rule) -> Rule:
        RULES[definition] = fn
        return fn

    return register


def table(rows: Mapping[OpDef, str]) -> None:
    """Register ops that are one MLIR op of the given name, e.g. `{ops.sin: "stablehlo.sine"}`."""
    SIMPLE.update(rows)


Form = tuple[str, Any]
Written = Callable[["RuleContext", Op], Form | None]


def one_op(definition: OpDef, shared: Callable[..., Any] | None = None
           ) -> Callable[[Written], Written]:
    """Decorator for the lowering of an op to one MLIR op with the same operands and results.

    `fn(ctx, op)` gives the name and the attributes of that op, or None where the result is the
    operand. It may depend on types and attributes only: it is called once for all ops with the same
    ones. In a program for several devices, `shared(ctx, op, operand)` is what the op reads.
    """
    schema = tuple(definition.attrs)

    def register(fn: Written) -> Written:
        @rule(definition)
        def lower(ctx: RuleContext, op: Op, *operands: Any) -> Any:
            result = op.results[0].type
            key = (fn, result, *map(_type, op.operands), *map(op.attrs.get, schema))
            found = ctx._attrs.get(key)
            if found is None:
                found = ctx._attrs[key] = fn(ctx, op) or _OPERAND
            if found is _OPERAND:
                return operands[0]
            if shared is not None and ctx.is_shared:
                operands = (shared(ctx, op, *operands),)
            name, attrs = found
            made = ctx._types.get(result) or ctx.type(result)
            return ctx._create(name, [made], operands, attrs, None, 0, ctx.loc, ctx.ip).result

        return fn

    return register


_OPERAND: Form = ("", None)
_type = attrgetter("type")


def inlined(definition: OpDef, body: str) -> None:
    """Register an op that is lowered as the ops of its attribute named `body`."""
    INLINED[definition] = body


def expanded(definition: OpDef) -> Callable[[Callable[[Op], Function]],
                                            Callable[[Op], Function]]:
    """Decorator for the lowering of an op as other ops: `fn(op)` gives the Function of them."""
    def register(fn: Callable[[Op], Function]) -> Callable[[Op], Function]:
        EXPANDED[definition] = fn
        RULES[definition] = lambda ctx, op, *operands: ctx.inline(fn(op), operands)
        return fn

    return register


def _call_body(ctx: RuleContext, op: Op, *operands: Any) -> Any:
    return ctx.body(body_of(op), operands)


def body_of(op: Op) -> Function:
    """The body of an op of `INLINED`; a pending transformation of it runs now."""
    return forced(op.attrs[INLINED[op.definition]])


def load_family(definition: OpDef, package: str = "lowering.rules") -> None:
    """Import a package's file for the family of an op, if there is one."""
    name = f"{package}.{definition.room}"
    if definition.room:
        try:
            import_module(name)
        except ModuleNotFoundError as e:
            if e.name != name:
                raise


def _find_rule(definition: OpDef) -> Rule:
    """The rule of an op, after its family is imported. Raises: MissingRule."""
    load_family(definition)
    if name := SIMPLE.get(definition):
        return _simple_rule(name)
    if definition in INLINED:
        return _call_body
    found = RULES.get(definition)
    if found is None:
        room = (f"lowering/rules/{definition.room}.py" if definition.room
                else f"{definition.family}, with lowering.context.rule")
        raise MissingRule(f"op {definition.name!r} has no lowering; its rule belongs in {room}")
    return found


def rule_of(definition: OpDef) -> Rule:
    """The lowering rule of an op. Raises: MissingRule."""
    return RULES.get(definition) or _find_rule(definition)


def _simple_rule(name: str) -> Rule:
    def simple(ctx: RuleContext, op: Op, *operands: Any) -> Any:
        return ctx.create(name, operands, op.results)

    return simple


# --- MLIR context -------------------------------------------------------------------------

_SPECIAL_ELEMENTS = {"bool": "i1", "c64": "complex<f32>", "c128": "complex<f64>"}


def element_text(dtype: DType) -> str:
    """MLIR's name of an element type (`u32` for keys)."""
    if dtype.is_key:
        return "ui32"
    name = dtype.name
    if dtype.kind == "uint":
        return f"ui{name[1:]}"
    if dtype.kind == "float" and "_" in name:                   # f8_e4m3fn -> f8E4M3FN
        return name.replace("_", "").upper().replace("F", "f", 1)
    return _SPECIAL_ELEMENTS.get(name, name)


_bindings: tuple[Any, Any, tuple] | None = None


def _import_bindings() -> tuple[Any, Any, tuple]:
    """jaxlib's modules `ir` and `_jax_mlir_ext`, and those of the dialects."""
    global _bindings
    from jaxlib.mlir import ir  # slower to import than numpy, so only at the first lowering
    from jaxlib.mlir._mlir_libs import (  # type: ignore[attr-defined]
        _chlo,
        _jax_mlir_ext,
        _sdy,
        _stablehlo,
    )

    _bindings = ir, _jax_mlir_ext, (_stablehlo, _chlo, _sdy)
    return _bindings


def uninterrupted(load: Callable[[], Any]) -> Any:
    """The result of `load()`, which runs to its end even if a signal arrives meanwhile.

    Python forgets an import that Ctrl-C interrupts, but the C++ part of a module remembers it and
    refuses to be initialised again.

    Raises: what `load` raised; or, after `load` has ended, what the signal's handler raised.
    """
    done: list[Any] = []
    failed: list[BaseException] = []
    running = _thread.allocate_lock()            # an interrupted Thread.join counts as joined
    running.acquire()

    def run() -> None:
        try:
            done.append(load())
        except BaseException as e:
            failed.append(e)
        finally:
            running.release()

    try:
        _thread.start_new_thread(run, ())        # only the main thread handles signals
    except RuntimeError:                         # the interpreter is ending
        return load()
    signalled: BaseException | None = None
    while not (done or failed):
        try:
            running.acquire()
        except BaseException as e:
            signalled = e
    if signalled is not None:
        raise signalled
    if failed:
        raise failed[0]
    return done[0]


class MLIRContext:
    """One MLIR context with the dialects that lowering uses, and memo tables of its objects."""

    __slots__ = ("attrs", "bytes", "context", "elements", "ir", "mlirext", "operation", "per_value",
                 "types", "unknown", "uses")

    def __init__(self) -> None:
        self.ir, self.mlirext, dialects = _bindings or uninterrupted(_import_bindings)
        registry = self.ir.DialectRegistry()
        self.mlirext.register_dialects(registry)
        self.context = self.ir.Context()
        self.context.append_dialect_registry(registry)
        for dialect in dialects:
            dialect.register_dialect(self.context)
        self.context.dialects["func"]     # loads it: ops of unloaded dialects are not checked
        self.operation = self.ir.Operation.create
        self.per_value = dialects[-1].TensorShardingPerValueAttr.get
        self.unknown = self.ir.Location.unknown(self.context)
        self.types: dict[Any, Any] = {}
        self.elements: dict[DType, Any] = {}
        self.attrs: dict[Any, Any] = {}
        self.bytes = self.uses = 0

    def element(self, dtype: DType) -> Any:
        """The MLIR element type."""
        found = self.elements.get(dtype)
        if found is None:
            found = self.ir.Type.parse(element_text(dtype), self.context)
            self.elements[dtype] = found
        return found


_current: MLIRContext | None = None


def mlir_context() -> MLIRContext:
    """The context for one more lowering; lowerings share it until it has grown large."""
    global _current
    found = _current
    if found is None or found.uses >= MAX_CONTEXT_USES or found.bytes >= MAX_CONTEXT_BYTES:
        found = _current = MLIRContext()
    found.uses += 1
    return found


# --- rule context -------------------------------------------------------------------------

class RuleContext:
    """State of one lowering: the insertion point `ip`, the current location `loc`, memo tables.

    `module` gives rules the state of the whole module; `platform` is `cpu`, `cuda`, `rocm` or
    `tpu`. `scope` is the prefix of op names in profiles, e.g. `jit(f)`. `mesh` is the mesh of the
    `shard_map` whose region is being written, or None; `indices` has the device's index along those
    mesh axes for which the region receives it as a value.
    """

    __slots__ = ("_attrs", "_create", "_lines", "_locations", "_models", "_named", "_places",
                 "_prefixes", "_types", "channels", "indices", "ip", "ir", "loc", "mesh", "mlir",
                 "module", "platform", "scope", "token")

    def __init__(self, mlir: MLIRContext, module: Any = None, platform: str = "cpu",
                 scope: str = "") -> None:
        self.mlir, self.module, self.platform, self.scope = mlir, module, platform, scope
        self.ir = mlir.ir
        self.ip: Any = None
        self.loc: Any = mlir.unknown
        self.token: Any = None
        self.mesh: MeshAxes | None = None
        self.indices: dict[str, Any] = {}
        self.channels = 0                        # the number of the last collective
        self._attrs, self._types, self._create = mlir.attrs, mlir.types, mlir.operation
        self._named = mlir.ir.Location.name
        self._models: dict[Any, Any] = {}
        self._locations: dict[Any, Any] = {}
        self._places: dict[Any, Any] = {}
        self._prefixes: dict[Any, str] = {}
        self._lines: dict[CodeType, Any] = {}

    # ops

    def create(self, name: str, operands: Sequence[Any], result_types: Sequence[Any], /,
               regions: Sequence[Region] = (), region_args: Sequence[Any] = (),
               terminator: str = "stablehlo.return", **attrs: Any) -> Any:
        """Create one MLIR op. Returns its value if it has one result, else the list of its values.

        Args:
          name: full MLIR name, e.g. `stablehlo.add`.
          operands: MLIR values.
          result_types: IR types (or the IR values that have them, or MLIR types).
          regions: one callable for each region, `fn(ctx, *block_args) -> value or values`; the
            region returns these values.
          region_args: types of the block arguments, the same for every region.
          terminator: the op that returns from regions.
          attrs: MLIR attributes, from the helpers below.
        """
        types = [*map(self._types.get, result_types)]
        if None in types:
            types = [self.type(t) for t in result_types]
        made = self._create(name, types, operands, attrs or None, None,
                            len(regions) if regions else 0, self.loc, self.ip)
        if regions:
            arg_types = [self.type(t) for t in region_args]
            self._fill(made, regions, arg_types, terminator)
        return made.result if len(types) == 1 else list(made.results)

    def copied(self, key: Any, operands: Sequence[Any], **attrs: Any) -> Any:
        """The value of a copy of the op that was `kept` under `key` in this block, with `operands`
        as its first ones and these attributes of its own; None where none was kept. Copying regions
        is cheaper than filling them."""
        model = self._models.get((self.ip, key))
        if model is None:
            return None
        made = model.clone(self.ip)
        made.location = self.loc
        for i, v in enumerate(operands):
            made.operands[i] = v
        for name, value in attrs.items():
            made.attributes[name] = value
        return made.result

    def kept(self, key: Any, value: Any) -> Any:
        """`value`, after its op is kept as the model of later ops with this key in this block."""
        self._models[self.ip, key] = value.owner
        return value

    def _fill(self, made: Any, regions: Sequence[Region], arg_types: Sequence[Any],
              terminator: str) -> None:
        ip, loc, token = self.ip, self.loc, self.token
        try:
            for region, fill in zip(made.regions, regions, strict=True):
                block = region.blocks.append(*arg_types, arg_locs=[loc] * len(arg_types))
                self.ip = self.ir.InsertionPoint(block)
                self.token = None
                values = fill(self, *block.arguments)
                values = values if isinstance(values, (list, tuple)) else [values]
                self._create(terminator, [], values, None, None, 0, loc, self.ip)
        finally:
            self.ip, self.loc, self.token = ip, loc, token

    def inline(self, function: Function, operands: Sequence[Any]) -> list[Any]:
        """Emit the ops of `function` at the insertion point, with MLIR `operands` as parameters.

        Calls that are not private functions are emitted in place, without recursion.
        Returns: the MLIR values of its returns.
        """
        env = dict(zip(function.params, self._entered(function, operands), strict=True))
        simple, rules, find = SIMPLE, RULES, _find_rule
        types, create = self._types, self._create
        before, scope = self.loc, self.scope
        stack: list[Any] = []
        ops = iter(function.ops)
        while True:
            for op in ops:
                definition = op.definition
                values = [*map(env.__getitem__, op.operands)]
                if op.loc is not None:
                    self.loc = self.location(op.loc, definition.name)
                name = simple.get(definition)
                if name is not None:
                    result = op.results[0]
                    made_type = types.get(result.type) or self.type(result.type)
                    env[result] = create(name, [made_type], values, None, None, 0, self.loc,
                                         self.ip).result
                    if result.type.sharding is not None:
                        env[result] = self.as_typed(result, env[result])
                    continue
                lower = rules.get(definition) or find(definition)
                if lower is _call_body:
                    body = body_of(op)
                    if not self.is_private(body):
                        stack.append((ops, env, function, op, self.scope))
                        stands_for = body.memo.get(MARK)
                        if stands_for is None:
                            self.scope = self._scope_of(op)
                        elif op.loc is not None:
                            self.loc = self.location(op.loc, stands_for.definition.name)
                        env, ops = dict(zip(body.params, values, strict=True)), iter(body.ops)
                        function = body
                        break
                made = lower(self, op, *values)
                if definition.single:
                    env[op.results[0]] = made[0] if type(made) in (list, tuple) else made
                else:
                    env.update(zip(op.results, made if isinstance(made, (list, tuple)) else [made],
                                   strict=True))
                for result in op.results:
                    if result.type.sharding is not None and definition is not reshard:
                        env[result] = self.as_typed(result, env[result])
            else:
                returned = [env[v] for v in function.returns]
                if not stack:
                    self.loc, self.scope = before, scope
                    return returned
                ops, env, function, op, self.scope = stack.pop()
                env.update(zip(op.results, returned, strict=True))

    def _entered(self, function: Function, operands: Sequence[Any]) -> Sequence[Any]:
        """The operands as parameters. Those that are unreduced are marked again, because Shardy
        does not carry that into a region."""
        return [self.as_typed(v, x) if v.type.sharding is not None
                and v.type.sharding.spec.unreduced else x
                for v, x in zip(function.params, operands, strict=True)]

    def _scope_of(self, op: Op) -> str:
        parts = [self.scope, *(op.loc.scope if op.loc else ()), op.attrs.get("name") or ""]
        return "/".join([p for p in parts if p])

    def is_private(self, body: Function) -> bool:
        """Whether the module holds `body` as a function of its own."""
        return self.module is not None and self.module.is_private(body)

    def is_ordered(self, body: Function) -> bool:
        """Whether `body` has ordered effects."""
        return self.module is not None and self.module.is_ordered(body)

    def body(self, function: Function, operands: Sequence[Any]) -> list[Any]:
        """The results of `function` for `operands`: of a call where the module holds it as a
        private function (because it is used more than once), else of its ops, emitted here."""
        if not self.is_private(function):
            return self.inline(function, operands)
        symbol = self._memo(("symbol", name := self.module.symbol(function)),
                            lambda: self.ir.FlatSymbolRefAttr.get(name))
        made = self._create("func.call", [self.type(v) for v in function.returns], operands,
                            {"callee": symbol}, None, 0, self.loc, self.ip)
        return list(made.results)

    def barrier(self, value: Any, type_: TensorType) -> Any:
        """The same value, which XLA computes by itself. Terms of a sum stay as they are: behind a
        barrier in a body Shardy would take them for the sum."""
        held = type_.sharding
        if held is not None and held.spec.unreduced:
            return value
        return self.create("stablehlo.optimization_barrier", [value], [type_])

    def fence(self, value: Any, type_: TensorType) -> Any:
        """The same value, behind a fence: XLA's CPU compiler then computes it once, however many
        ops read it. On other platforms, and where fences are off, it is a barrier."""
        if self.module is None or not self.module.has_fences:
            return self.create("stablehlo.optimization_barrier", [value], [type_])
        return self.create("func.call", [value], [type_], **{
            "callee": self.ir.FlatSymbolRefAttr.get(self.module.fence(type_)),
            "mhlo.frontend_attributes": self.attr('{inlineable = "false"}')})

    def as_typed(self, value: Value, made: Any) -> Any:
        """`made`, constrained to the sharding in the type of `value`; the compiler chooses for mesh
        axes that are not explicit."""
        found = value.type.sharding
        if found is None or self.num_partitions == 1 or not found.mesh.names or (
                value.type.is_manual):
            return made
        return self.constrained(made, found, value.type)

    def constrained(self, made: Any, sharding: Sharding, type_: TensorType) -> Any:
        """`made`, constrained to a sharding; the compiler may divide it over auto axes as well."""
        spec = sharding.spec
        if sharding.mesh.of_type("auto"):
            spec = Spec(spec.dims, range(spec.ndim), spec.unreduced)
        return self.create("sdy.sharding_constraint", [made], [type_], sharding=self.sharding(
            Sharding(sharding.mesh, spec), type_))

    def summed_if_needed(self, made: Any, wanted: Sharding | None, type_: TensorType) -> Any:
        """`made`, summed if `wanted` is unreduced and its own type is not. Without this, Shardy
        ends the process, or takes the complete value on each device for a term of the sum."""
        held = type_.sharding
        if wanted is None or not wanted.spec.unreduced or (
                held is not None and held.spec.unreduced == wanted.spec.unreduced):
            return made
        spec = Spec(held.spec.dims if held is not None else ((),) * type_.ndim)
        return self.constrained(made, Sharding(wanted.mesh, spec), type_)

    def undivided(self, made: Any, type_: TensorType, axes: Collection[int]) -> Any:
        """`made`, not divided along these axes; the compiler may divide the others. Rules use it
        for operands and results that XLA's partitioner cannot divide."""
        if not axes or not self.is_shared or self.module is None:
            return made
        held, mesh = type_.sharding, self.module.partition.mesh
        if held is not None and held.mesh.names:
            mesh = held.mesh
        if mesh is None:
            return made
        dims = held.spec.dims if held is not None and mesh is held.mesh else ((),) * type_.ndim
        spec = Spec(tuple([() if d in axes else names for d, names in enumerate(dims)]),
                    [d for d in range(type_.ndim) if d not in axes])
        return self.create("sdy.sharding_constraint", [made], [type_],
                           sharding=self.sharding(Sharding(mesh, spec), type_))

    def total(self, made: Any, type_: TensorType) -> Any:
        """`made`, summed if its type is unreduced."""
        held = type_.sharding
        if held is None or not held.spec.unreduced or self.num_partitions == 1 or type_.is_manual:
            return made
        return self.constrained(made, Sharding(held.mesh, Spec(held.spec.dims)), type_)

    def sharding(self, sharding: Sharding, type_: TensorType) -> Any:
        """The attribute `#sdy.sharding` of a value of `type_`; declares its mesh in the module.

        The compiler divides open dimensions by auto axes alone: explicit ones are those of types.
        """
        symbol, spec = self.module.mesh(sharding.mesh), sharding.spec
        named = {*spec.axes, *spec.unreduced}
        whole = [a for a in sharding.mesh.of_type("explicit") if a not in named] if (
            spec.open and self.is_shared) else []
        return self.attr(f"#sdy.sharding{sharding_text(symbol, spec, type_, tuple(whole))}")

    def shardings(self, texts: Sequence[str]) -> Any:
        """The attribute `#sdy.sharding_per_value` of values with the shardings of these texts."""
        return self.mlir.per_value([self.attr(f"#sdy.sharding{t}") for t in texts])

    @property
    def is_shared(self) -> bool:
        """Whether the next value belongs to several devices together. It does not in a program of
        one device, nor in the region of a `shard_map`, where each device has values of its own."""
        if self.num_partitions == 1:
            return False
        op = None if self.ip is None else self.ip.block.owner      # none: what a function takes
        while op is not None and op.name != "func.func":
            if op.name == "sdy.manual_computation":
                return False
            op = op.parent
        return True

    @property
    def shared_mesh(self) -> MeshAxes | None:
        """The mesh of values that belong to several devices together, where some can divide them
        while others hold copies: the number of devices is not prime."""
        mesh = self.module.partition.mesh if self.is_shared and self.module is not None else None
        if mesh is None:
            return None
        n = prod(mesh.sizes)
        return mesh if any([n % part == 0 for part in range(2, isqrt(n) + 1)]) else None

    @property
    def num_partitions(self) -> int:
        """The number of devices over which the values of the program are divided."""
        return 1 if self.module is None else self.module.partition.num_partitions

    def next_channel(self) -> int:
        """A number for one more collective."""
        self.channels += 1
        return self.channels

    @property
    def unit(self) -> Any:
        """The unit attribute, whose presence is its meaning."""
        return self._memo(("unit",), lambda: self.ir.UnitAttr.get())

    def require(self, what: str) -> None:
        """Record that `what`, a key of `compat.REQUIREMENTS`, must be set up to load the program.
        """
        self.module.built.requirements.add(what)

    def add_callback(self, spec: Any) -> int:
        """Add a host call to the program; returns the index by which the runtime finds it."""
        self.module.built.callbacks.append(spec)
        return len(self.module.built.callbacks) - 1

    def constant(self, value: Any, type_: TensorType) -> Any:
        """A constant of `type_`: a scalar is a splat, an array must have the type's shape.

        `value` is a Literal, a NumPy array, or a Python or NumPy scalar.
        """
        kind = type(value)
        key: Any
        if kind is Literal:
            key = (value.key, type_)
        elif kind is int or kind is bool:
            key = (kind, value, type_)
        elif kind is float:
            key = (repr(value), type_)          # 0.0 == -0.0 and NaN != NaN, so not by value
        else:
            value = Literal(np.asarray(value).astype(type_.dtype.numpy))
            key = (value.key, type_)
        found = self._attrs.get(key)
        if found is None:
            array = (value.array if type(value) is Literal
                     else np.asarray(value).astype(type_.dtype.numpy))
            found = self._attrs[key] = self._dense(array, type_)
        return self._create("stablehlo.constant", [self.type(type_)], [], {"value": found}, None, 0,
                            self.loc, self.ip).result

    def constant_of(self, value: Any) -> Any:
        """The op of `value` for `constant_again` where it is a constant, else None."""
        made = value.owner
        if isinstance(made, self.ir.Block):
            return None
        made = made.operation
        return made if made.name == "stablehlo.constant" else None

    def number(self, value: Any) -> int | None:
        """The number of `value`, an integer scalar, if it is a constant; else None."""
        constant = self.constant_of(value)
        if constant is None:
            return None
        return int(self.ir.DenseIntElementsAttr(constant.attributes["value"])[0])

    def constant_again(self, constant: Any) -> Any:
        """A copy, at the insertion point, of the constant that `constant_of` found."""
        return constant.clone(self.ip).result   # no Python binding reads a complex attribute

    def _dense(self, array: np.ndarray, type: TensorType) -> Any:
        flat = array.reshape(1) if array.shape == () else array
        if type.size == 0:
            flat = np.zeros((*type.shape, *type.dtype.physical), array.dtype)
        self.mlir.bytes += flat.nbytes
        make: Any = self.ir.DenseElementsAttr.get
        return make(flat, type=self.type(type))

    # types

    def type(self, t: Any) -> Any:
        """The MLIR type of an IR type (or value). Keys get their physical dimensions here."""
        found = self._types.get(t)
        if found is None:
            if type(t) is Value:
                return self.type(t.type)
            if isinstance(t, TensorType):
                shape = (*t.shape, *t.dtype.physical)
                if not has_address(shape, t.dtype.numpy.itemsize):
                    self._refuse_size(t)
                found = self.ir.RankedTensorType.get(shape, self.mlir.element(t.dtype),
                                                     loc=self.mlir.unknown)
                self._types[t] = found
            else:
                return t                         # an MLIR type: tokens have none in the IR
        return found

    def _refuse_size(self, t: TensorType) -> None:
        """Raise IRValueError for a type that no array can have; XLA ends the process for some."""
        whole = () if self.module is None else functions(self.module.function)
        found = [op for fn in whole for op in fn.ops if t in [v.type for v in op.results]]
        made = f", made at {found[0].loc}," if found and found[0].loc is not None else ""
        raise IRValueError(f"{t}{made} cannot be an array: its sizes must be 0 or more, and it "
                           "must have fewer than 2**63 bytes")

    @property
    def token_type(self) -> Any:
        """`!stablehlo.token`."""
        return self._memo(("token",), lambda: self.ir.Type.parse("!stablehlo.token"))

    # attributes

    def _memo(self, key: Any, make: Callable[[], Any]) -> Any:
        found = self._attrs.get(key)
        if found is None:
            found = self._attrs[key] = make()
        return found

    def attr(self, text: str) -> Any:
        """The attribute that MLIR parses from `text`, e.g. `#stablehlo<precision HIGHEST>`."""
        found = self._attrs.get(text)
        if found is None:
            found = self._attrs[text] = self.ir.Attribute.parse(text)
        return found

    def int_array(self, values: Sequence[int]) -> Any:
        """`array<i64: ...>`."""
        key = ("ints", *values)
        found = self._attrs.get(key)
        if found is None:
            found = self._attrs[key] = self.ir.DenseI64ArrayAttr.get(list(values))
        return found

    def i64(self, value: int) -> Any:
        """`value : i64`."""
        return self.attr(f"{value} : i64")

    def i32(self, value: int) -> Any:
        """`value : i32`."""
        return self.attr(f"{value} : i32")

    def bool(self, value: bool) -> Any:
        """`true` or `false`."""
        return self.attr("true" if value else "false")

    def string(self, text: str) -> Any:
        """A string attribute."""
        return self._memo(("string", text), lambda: self.ir.StringAttr.get(text))

    def array(self, items: Sequence[Any]) -> Any:
        """An array of attributes: `[a, b]`."""
        return self.ir.ArrayAttr.get(list(items))

    def padding(self, pairs: Sequence[Sequence[int]]) -> Any:
        """`dense<[[low, high], ...]> : tensor<Nx2xi64>`."""
        rows = tuple(map(tuple, pairs))
        make: Any = self.ir.DenseElementsAttr.get
        return self._memo(("padding", rows),
                          lambda: make(np.array(rows, np.int64).reshape(len(rows), 2)))

    # locations

    def location(self, loc: Location, name: str) -> Any:
        """The MLIR location of op `name` at `loc`: `jit(f)/scope/name`, then function, file, line.

        Memoised by code position.
        """
        code, scope = loc.code, loc.scope
        key = (id(code), loc.lasti, scope, name, self.scope)
        found = self._locations.get(key)
        if found is None:
            prefix = self._prefixes.get((self.scope, scope))
            if prefix is None:
                parts = [self.scope, *scope, ""] if self.scope else [*scope, ""]
                prefix = self._prefixes[self.scope, scope] = "/".join(parts)
            found = self._locations[key] = self._named(prefix + name, self._where(loc))
        return found

    def _where(self, loc: Location) -> Any:
        """The MLIR location of a code position: function, file and line."""
        code = loc.code
        if code is None:
            return self.mlir.unknown
        key = (id(code), loc.lasti)
        found = self._places.get(key)
        if found is None:
            file = self.ir.Location.file(code.co_filename, self._line(loc), 0)
            found = self._places[key] = self._named(code.co_qualname, file)
        return found

    def _line(self, loc: Location) -> int:
        code = loc.code
        if code is None:
            return 0
        found = self._lines.get(code)
        if found is None:
            spans = [(start, line) for start, _, line in code.co_lines() if line is not None]
            found = self._lines[code] = ([s for s, _ in spans], [line for _, line in spans])
        starts, lines = found
        at = bisect_right(starts, loc.lasti) - 1
        return lines[at] if at >= 0 else code.co_firstlineno


@rule(literal)
def _literal(ctx: RuleContext, op: Op) -> Any:
    return ctx.constant(op.attrs["value"], op.results[0].type)
