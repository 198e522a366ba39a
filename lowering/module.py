"""IR Function → MLIR module, in one walk.

    func @f(%x: f32[3]) -> (f32[3]) {           module @jit_f {
      %0: f32[3] = call(%x) {body = @g}           func.func public @main(%arg0) {
      %1: f32[3] = call(%0) {body = @g}             %0 = call @g(%arg0)
      return %1                                     %1 = call @g(%0)
    }                                               return %1
                                                  }
                                                  func.func private @g(%arg0) { … }
                                                }

Bodies used more than once become private functions; all others are emitted where they are used.
`rules/` says how each op becomes StableHLO; `context.py` has what a rule works with.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from xfront_ir.analysis import axis_names, functions
from xfront_ir.core import Function, Op, Value, bodies_of
from xfront_ir.errors import IRValueError
from xfront_ir.fingerprint import fingerprint
from xfront_ir.literal import Literal
from xfront_ir.ops.control import call
from xfront_ir.sharding import MeshAxes
from xfront_ir.types import TensorType

from .context import MARK, RuleContext, mlir_context
from .forms.extras import NOTHING, Extras
from .partitioning import FIRST_DEVICE, MESH, Partition, check_parted, mesh_text
from .platforms import for_platform

MAX_PRIVATE_DEPTH = 32
"""A longer chain of private functions crashes XLA's CPU compiler; the callers above are inlined."""

MIN_PRIVATE_OPS = 4
"""A body with fewer ops, and no bodies in them, is emitted in place: a call would cost as much."""

_REDUCING = frozenset(["reduce", "reduce_by_body", "window", "dot", "strong", "conv"])
"""The families of ops that XLA may compute as reductions."""


@dataclass
class Built:
    """A module, and the facts that are needed to compile and run it.

    `function` is the program from which the module was written, with the platform's fences and
    forms; `callbacks` are the host calls in the order of their index at run time; `requirements`
    are what the process must have set up (`lapack`, …) before the program may be loaded.
    """

    module: Any
    function: Function
    callbacks: list[Any] = field(default_factory=list)
    requirements: set[str] = field(default_factory=set)


def build_module(function: Function, *, name: str | None = None, platform: str = "cpu",
                 donated: Sequence[int] = (), partition: Partition | None = None,
                 extras: Extras | None = None) -> Built:
    """The MLIR module of a Function: `main` and the private functions that it calls.

    Args:
      function: what to lower; unused parameters stay parameters.
      name: of the program; the module is called `jit_<name>`.
      donated: positions of parameters whose buffers the program may overwrite.
      partition: how it spreads over devices.
      extras: what the platform gets beyond the plain StableHLO.
    """
    mlir = mlir_context()
    name = symbol_text(name or function.name)
    collecting = gc.isenabled()
    try:
        gc.disable()                # lowering makes many objects and no cycles
        with mlir.context, mlir.unknown:
            return _Module(mlir, function, f"jit({name})", platform, extras or NOTHING).build(
                f"jit_{name}", donated, partition or Partition())
    finally:
        if collecting:
            gc.enable()


def symbol_text(name: str) -> str:
    """`name` with everything but letters, digits, dots and underscores replaced."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name) or "f"


class _Module:
    """One module under construction; `RuleContext.module` of its rules."""

    def __init__(self, mlir: Any, function: Function, scope: str, platform: str,
                 extras: Extras) -> None:
        self.mlir, self.ir = mlir, mlir.ir
        self.symbols: dict[Function, str] = {}
        self.taken = {"main"}
        self.queue: list[Function] = []
        self.fences: dict[TensorType, str] = {}
        self.meshes: dict[MeshAxes, str] = {}
        self.parted: list[tuple[MeshAxes, Sequence[str]]] = []     # shard_maps over some axes
        self.artifacts: dict[Any, tuple[str, Any]] = {}
        self.at_end: Any = None
        self.partition = Partition()
        self.first: dict[Function, Function] = {}
        self._analyse(function)
        self.has_fences = platform == "cpu" and bool(extras.fences or extras.forms)
        """Whether fences are written as such; elsewhere they are barriers."""
        if extras != NOTHING:
            function = for_platform(function, platform, extras, self._facts)
            if function is not self.function:
                self._analyse(function)
        self.needs_forms = platform == "cpu" and extras.needed != 0
        self.built = Built(None, function)
        self.ctx = RuleContext(mlir, self, platform, scope)

    @cached_property
    def has_reductions(self) -> bool:
        """Whether the CPU's library may compute extrema in one loop with reductions."""
        return self.needs_forms and _has_reductions(self.function)

    def build(self, name: str, donated: Sequence[int], partition: Partition) -> Built:
        ctx, ir, scope = self.ctx, self.ir, self.ctx.scope
        module = ir.Module.create(self.mlir.unknown)
        top = module.operation.attributes
        top["sym_name"] = ctx.string(name)
        top["mhlo.num_partitions"] = ctx.i32(partition.num_partitions)
        top["mhlo.num_replicas"] = ctx.i32(partition.num_replicas)
        self.partition, at_end = partition, ir.InsertionPoint(module.body)
        self.at_end = at_end
        self._function(at_end, "main", self.function, _param_attrs(
            ctx, self.function, donated, partition), _result_attrs(ctx, self.function, partition))
        done = 0
        while done < len(self.queue):
            body = self.queue[done]
            ctx.scope = f"{scope}/{body.name}"
            self._function(at_end, self.symbols[body], body)
            done += 1
        for type, symbol in self.fences.items():
            self._identity(at_end, symbol, type)
        for mesh, symbol in self._meshes():
            ir.Operation.create("sdy.mesh", attributes={
                "sym_name": ctx.string(symbol), "mesh": ctx.attr(f"#sdy.mesh{mesh_text(mesh)}")},
                loc=self.mlir.unknown, ip=ir.InsertionPoint.at_block_begin(module.body))
        self.built.module = module
        return self.built

    def _meshes(self) -> list[tuple[MeshAxes, str]]:
        """The meshes and their symbols, in the reverse of the order in which the module declares
        them. Shardy writes the program for the first declared mesh among those with the most axes,
        and manual axes must be complete axes of it. So meshes with a `shard_map` over some of their
        axes come last here."""
        parted = {_plain(mesh) for mesh, _ in self.parted}
        found = sorted(self.meshes.items(), key=lambda item: item[0] in parted)
        if parted:
            check_parted([mesh for mesh, _ in found], self.parted)
        return found

    def _analyse(self, function: Function) -> None:
        """Make `function` the one to be written, and decide which bodies are private functions."""
        self.function = function
        self.first.clear()
        self.private, self.ordered = _analyse(function, self.first)

    def _facts(self, function: Function) -> Any:
        """How the bodies of a Function will be written, for the passes of a platform."""
        from .forms.facts import Facts

        if function is not self.function:
            self._analyse(function)
        return Facts(lambda body: self.first.get(body, body), self.is_private)

    def _function(self, at_end: Any, name: str, function: Function, param_attrs: Any = None,
                  result_attrs: Any = None) -> None:
        ctx, ir, more = self.ctx, self.ir, {}
        if param_attrs:
            more["arg_attrs"] = param_attrs
        if result_attrs:
            more["res_attrs"] = result_attrs
        block = self._opened(at_end, name, function.param_types, function.return_types,
                             function.param_names, more)
        ctx.ip, ctx.loc, ctx.token = ir.InsertionPoint(block), self.mlir.unknown, None
        returned = ctx.inline(function, list(block.arguments))
        if name == "main":
            returned = [ctx.summed_if_needed(x, s, v.type) for x, s, v in zip(
                returned, self.partition.results or [None] * len(returned), function.returns,
                strict=True)]
        ir.Operation.create("func.return", operands=returned, loc=self.mlir.unknown, ip=ctx.ip)

    def _identity(self, at_end: Any, symbol: str, type: TensorType) -> None:
        """A private function that returns its operand."""
        block = self._opened(at_end, symbol, (type,), (type,), (), {})
        self.ir.Operation.create("func.return", operands=list(block.arguments),
                                 loc=self.mlir.unknown, ip=self.ir.InsertionPoint(block))

    def _opened(self, at_end: Any, name: str, ins: Sequence[TensorType], outs: Sequence[TensorType],
                names: Sequence[str], more: dict[str, Any]) -> Any:
        """The block of a new function, public where it is `main`; `more` are further attributes."""
        ctx, ir, unknown = self.ctx, self.ir, self.mlir.unknown
        taken = [ctx.type(t) for t in ins]
        made = ir.Operation.create("func.func", regions=1, loc=unknown, ip=at_end, attributes={
            "sym_name": ctx.string(name),
            "sym_visibility": ctx.string("public" if name == "main" else "private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(
                taken, [ctx.type(t) for t in outs])), **more})
        return made.regions[0].blocks.append(*taken, arg_locs=[
            ir.Location.name(n) if n else unknown for n in names or ("",) * len(taken)])

    def fence(self, type: TensorType) -> str:
        """The symbol of the identity function of `type`; the first call adds it to the module."""
        found = self.fences.get(type)
        if found is None:
            found = self.fences[type] = self._free("fence")
        return found

    def mesh(self, mesh: MeshAxes) -> str:
        """The symbol of a mesh; the first call adds it to the module. The compiler ignores the
        types of the axes, and the devices are those of the program."""
        plain = _plain(mesh)
        found = self.meshes.get(plain)
        if found is None:
            if plain != FIRST_DEVICE and plain.size != self.partition.num_partitions:
                raise IRValueError(f"a program for {self.partition.num_partitions} devices holds "
                                   f"the mesh {mesh} of {plain.size}")
            found = self.meshes[plain] = self._free(MESH)
        return found

    def exported(self, artifact: Literal, index: int, several: bool) -> tuple[str, Any]:
        """The symbol of an exported program for the platform with that index in its artifact, and
        the type of its function; the first call copies its functions into the module."""
        found = self.artifacts.get((artifact, index))
        if found is None:
            from .merging import merged  # few programs call exported ones

            found = self.artifacts[artifact, index] = merged(
                artifact.array.tobytes(), index, several, self.at_end, self._free,
                self.ctx.require)
        return found

    def is_private(self, body: Function) -> bool:
        """Whether `body` is a function of its own."""
        return self.first.get(body) in self.private

    def is_ordered(self, body: Function) -> bool:
        """Whether `body` has ordered effects."""
        return self.first.get(body) in self.ordered

    def symbol(self, body: Function) -> str:
        """The symbol of a private function; the first call adds the function to the module.

        Names depend on this program alone: the body's own name, with a number if it is taken.
        """
        body = self.first[body]
        found = self.symbols.get(body)
        if found is None:
            found = self.symbols[body] = self._free(symbol_text(body.name))
            self.queue.append(body)
        return found

    def _free(self, base: str) -> str:
        """A symbol that no function has: `base`, with a number if it is taken."""
        found, count = base, 0
        while found in self.taken:
            found = f"{base}_{count}"
            count += 1
        self.taken.add(found)
        return found


# --- attributes of main -------------------------------------------------------------------

def _param_attrs(ctx: RuleContext, function: Function, donated: Sequence[int],
                 partition: Partition) -> Any:
    if not donated and not any(partition.params) and not _on_host(function.params):
        return None
    dicts = [_memory(ctx, v) for v in function.params]
    for i, sharding in enumerate(partition.params):
        if sharding is not None:
            dicts[i]["sdy.sharding"] = ctx.sharding(sharding, function.params[i].type)
    free: dict[TensorType, list[int]] = {}
    if partition.num_partitions == 1:             # with several, the compiler pairs them itself
        for i, v in reversed(list(enumerate(function.returns))):
            free.setdefault(v.type, []).append(i)
    for i in donated:
        results = free.get(function.params[i].type)
        if results:
            dicts[i]["tf.aliasing_output"] = ctx.i32(results.pop())
        elif (kind := function.params[i].type.memory) is None or kind in [
                v.type.memory for v in function.returns]:
            dicts[i]["jax.buffer_donor"] = ctx.bool(True)
    return ctx.array([ctx.ir.DictAttr.get(d) for d in dicts])


def _result_attrs(ctx: RuleContext, function: Function, partition: Partition) -> Any:
    if not any(partition.results) and not _on_host(function.returns):
        return None
    dicts = [_memory(ctx, v) for v in function.returns]
    for i, sharding in enumerate(partition.results):
        if sharding is not None:
            dicts[i]["sdy.sharding"] = ctx.sharding(sharding, function.returns[i].type)
    return ctx.array([ctx.ir.DictAttr.get(d) for d in dicts])


def _on_host(values: Sequence[Value]) -> bool:
    return any([v.type.sharding is not None and v.type.memory is not None for v in values])


def _memory(ctx: RuleContext, value: Value) -> dict[str, Any]:
    """The attribute of a parameter or result in another memory than the devices' own."""
    kind = value.type.memory
    return {} if kind is None else {"mhlo.memory_kind": ctx.string(kind)}


# --- which bodies are private functions ---------------------------------------------------

def _analyse(function: Function, first: dict[Function, Function]
             ) -> tuple[set[Function], set[Function]]:
    """The bodies that become private functions, and the bodies with ordered effects.

    A body becomes private if it is used more than once, has no ordered effects (their token would
    have to be passed) and ends no chain of private calls longer than MAX_PRIVATE_DEPTH. `first` is
    filled with the first body of the same content for each body.
    """
    uses: dict[Function, int] = {}
    order = list(_postorder(function, uses, first))
    private: set[Function] = set()
    ordered: set[Function] = set()
    if not uses:
        return private, ordered
    height: dict[Function, int] = {}          # the longest chain of private calls in each body
    for fn, bodies in order:
        height[fn] = max((height[b] + (b in private) for b in bodies), default=0)
        if not ordered.isdisjoint(bodies) or any([
                op.definition.effects is not None and op.attrs.get("ordered") for op in fn.ops]):
            ordered.add(fn)
        elif (uses.get(fn, 0) > 1 and _may_be_private(fn)
                and height[fn] < MAX_PRIVATE_DEPTH):
            private.add(fn)
    return private, ordered


def _may_be_private(fn: Function) -> bool:
    """Whether a body may become a private function.

    The body of a call that stands for another op may not: such a call is written out in place and
    counts as one op. Nor may a body that reads axes of a mesh, which depend on its place.
    """
    return MARK not in fn.memo and not axis_names(fn) and (len(fn.ops) >= MIN_PRIVATE_OPS or any(
        [op.definition.has_bodies and _stands_for(op) is None for op in fn.ops]))


def _stands_for(op: Op) -> Any:
    """The op for which a call of a form stands; None for other ops."""
    return op.attrs["body"].memo.get(MARK) if op.definition is call else None


def _has_reductions(function: Function) -> bool:
    """Whether a program adds up anything, or finds the extremum of anything."""
    return not _REDUCING.isdisjoint(
        [op.definition.room for fn in functions(function) for op in fn.ops])


def _holds_program(op: Op) -> bool:
    """Whether an op holds bodies of the program. The form of an op without bodies holds none."""
    found = _stands_for(op)
    return found is None or found.definition.has_bodies


def _postorder(function: Function, uses: dict[Function, int], first: dict[Function, Function]
               ) -> Iterator[tuple[Function, list[Function]]]:
    """Yield each Function reachable through bodies, once, callees first, with its own bodies."""
    by_content: dict[bytes, Function] = {}

    def bodies_in(fn: Function) -> list[Function]:
        found = [b for op in fn.ops if op.definition.has_bodies and _holds_program(op)
                 for b in bodies_of(op)]
        for b in found:
            if b not in first:
                first[b] = (by_content.setdefault(fingerprint(b), b) if _may_be_private(b) else b)
        return [first[b] for b in found]

    seen = {function}
    stack = [(function, bodies_in(function), 0)]
    while stack:
        fn, bodies, at = stack.pop()
        if at == len(bodies):
            yield fn, bodies
            continue
        stack.append((fn, bodies, at + 1))
        body = bodies[at]
        uses[body] = uses.get(body, 0) + 1
        if body not in seen:
            seen.add(body)
            stack.append((body, bodies_in(body), 0))


@lru_cache(maxsize=256)
def _plain(mesh: MeshAxes) -> MeshAxes:
    """The mesh without devices and types of its axes."""
    return MeshAxes(mesh.names, mesh.sizes)
