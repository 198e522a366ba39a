"""What `xfront.stages` offers, whose file says how it is used."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import lowering
from lowering import clients
from lowering.clients import platform_of
from lowering.topologies import is_described
from xfront_ir.core import Function
from xfront_ir.passes.pipeline import simplify

from .. import binding
from ..base.collector import uncollected
from ..base.on_demand import above
from ..base.trees import tree_flatten, tree_map, tree_unflatten
from ..binding.tracebacks import front_door
from ..eager.devices import devices as devices_here
from ..eager.dispatch import Program
from ..running.compiling import captures_first, compile_body, prune
from ..running.placement import Placement, Promised, commitment, placement_of
from ..sharding.context import abstract_alone, context_mesh, get_abstract_mesh, on_devices
from ..sharding.mesh import AbstractMesh
from ..sharding.named import replicated
from ..tracing.tracer import Tracer
from ..values.formats import Format, default_layout
from .assigned import assigned, there
from .donation import forget_donated, refuse_consumed, refuse_twice, warn_of_unusable
from .flat import Flat, as_operand, kind_of
from .inspection import structs_of
from .signature import ArgInfo, Signature, result_paths, signature_of
from .structs import ShapeDtypeStruct, shape_struct, struct_kind


def _format(place: Any, kind: Any) -> Format:
    shape = (*kind.shape, *kind.dtype.physical)
    return Format(default_layout(place, shape, kind.dtype.numpy), place)


class _Stage:
    """The base of all stages: facts about the arguments of the call, without static ones."""

    @functools.cached_property
    def signature(self) -> Signature:
        """Types and structure of arguments and result."""
        raise NotImplementedError

    @property
    def in_tree(self) -> Any:
        """The structure of (args, kwargs)."""
        return self.signature.in_tree

    @property
    def args_info(self) -> Any:
        """The tree (args, kwargs) of `ArgInfo`s."""
        return self.signature.args_info

    @property
    def in_avals(self) -> Any:
        """The tree (args, kwargs) of types."""
        return self.signature.in_avals

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Positions of the donated leaves."""
        return self.signature.donate_argnums

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.signature.name}: {self.in_avals})"


class Traced(_Stage):
    """A jitted function traced for a signature.

    >>> xfront.jit(lambda x: 2 * x).trace(jnp.ones(3)).out_info.shape
    (3,)
    """

    def __init__(self, jitted: Any, flat: Flat, leaves: list, donated: list[bool], tree: Any
                 ) -> None:
        self._jitted, self._flat, self._leaves, self._donated = jitted, flat, leaves, donated
        self._tree = tree                        # None stands for static arguments
        self.out_tree, self.fun_name = flat.out_tree, jitted.name

    @functools.cached_property
    def signature(self) -> Signature:
        """Types and structure of arguments and result."""
        return signature_of(self._jitted, self._flat, self._tree, self._donated)

    @property
    def ir(self) -> Function:
        """The Function."""
        return self._flat.function

    @property
    def jaxpr(self) -> Any:
        """The program as data: a `ClosedJaxpr`."""
        flat = self._flat
        made = above("views").ClosedJaxpr.of(flat.function, flat.captures, flat.out_tree)
        made.jaxpr.named(tuple(self.signature.names), result_paths(flat))
        return made

    @property
    def out_info(self) -> Any:
        """The result's tree with `ShapeDtypeStruct` leaves; `out_shardings` says how they lie."""
        return tree_unflatten(self.out_tree, self._structs())

    def _structs(self) -> list[ShapeDtypeStruct]:
        made, placing = structs_of(self._flat, self._leaves), self._jitted.options.placing
        return made if placing is None else placing.placed(self.out_tree, made)

    @property
    def out_avals(self) -> Any:
        """The result's tree of types."""
        return tree_map(lambda struct: struct.aval, self.out_info)

    def as_text(self) -> str:
        """The text of the IR."""
        return str(self.ir)

    @front_door
    def lower(self, *, lowering_platforms: Sequence[str] | None = None,
              passes: tuple[()] | None = None) -> Lowered:
        """Lower to StableHLO for the platform where the program runs.

        Args:
          lowering_platforms: sequence with the name of one platform: `tpu`, `cuda`, `rocm` or
            `cpu`; None means the platform of the program's devices. A program for another platform
            is text, and so is one whose arguments lie on an AbstractMesh;
            `compile(topology=...)` compiles it for devices that are not here.
          passes: None applies the passes of the platform, which rewrite ops that its compiler has
            no rule for, and on CPU ops that run faster otherwise. With `()` the text is the plain
            StableHLO of all platforms; `compile` applies the passes in any case.
        Raises: NotImplementedError for several platforms or an unknown one; ValueError for other
          passes; MissingRule where an op has no lowering for the platform: without passes mostly
          linear algebra off the CPU, with them the ops that docs/accelerators.md lists.
        """
        if passes not in (None, ()):
            raise ValueError("lower: passes must be None, which means those of the platform, or "
                             f"(), got {passes!r}")
        return Lowered(self, asked_platform(lowering_platforms), passes is not None)


def asked_platform(platforms: Sequence[str] | None) -> str | None:
    """The only platform of a sequence; None for None. Raises: NotImplementedError for several, or
    an unknown one."""
    if platforms is None:
        return None
    names = {clients.ALIASES.get(name, ("",))[0] for name in platforms}
    if len(names) != 1 or "" in names:
        raise NotImplementedError(f"lower: lowering_platforms={tuple(platforms)!r} is not "
                                  "supported; give exactly one of cpu, cuda, rocm and tpu")
    return names.pop()


class Lowered(_Stage):
    """A jitted function lowered to StableHLO for a signature.

    >>> lowered = xfront.jit(lambda x: 2 * x).lower(jnp.ones(3))
    >>> lowered.out_info.shape, "stablehlo.multiply" in lowered.as_text()
    ((3,), True)
    """

    @uncollected
    def __init__(self, traced: Traced, platform: str | None = None, plain: bool = False) -> None:
        self._traced = traced
        flat = traced._flat
        self._is_abstract = context_mesh() is None and any(
            [is_abstract(x) for x in traced._leaves])
        self._place, self._committed = traced._jitted.placement(
            flat, [promised(x, platform) for x in traced._leaves], lambda: traced._tree)
        n = len(flat.function.params) - len(flat.captures)
        function = captures_first(simplify(flat.function), n)
        self._unpruned = function
        options = traced._jitted.options
        kept = [True] * len(function.params)
        if not options.keep_unused:
            function, kept = prune(function)
        shift = len(flat.captures)
        donated = [sum(kept[:i + shift]) for i, d in enumerate(traced._donated)
                   if d and kept[i + shift]]
        partition = None
        ins: Sequence[Any] = [self._place.sharding] * len(function.params)
        outs: Sequence[Any] = [self._place.sharding] * len(function.returns)
        types = [v.type for v in function.returns]
        if type(self._place) is not Placement:
            own = self._place.params(self._unpruned, n)
            ins = [s or self._place.sharding for s, k in zip(own, kept, strict=True) if k]
            outs = self._place.known(types)
            partition = self._place.partition(
                function, [s for s, k in zip(own, kept, strict=True) if k])
        if donated and None not in outs:         # else the compiler has still to choose
            warn_of_unusable(traced.fun_name, [(function.params[i].type, ins[i]) for i in donated],
                             zip(types, outs, strict=True))
        wanted: str = platform or platform_of(self._place.devices[0])
        self._lowered = lowering.lower(
            function, name=traced.fun_name, donated=donated, platform=wanted, partition=partition,
            extras=None if plain else lowering.needed(wanted))
        self._stage = "lowered" if plain else "compiled"
        self.out_tree = traced.out_tree
        self._structs = traced._structs()        # on the mesh in context now

    @property
    def out_info(self) -> Any:
        """The result's tree with `ShapeDtypeStruct` leaves."""
        return tree_unflatten(self.out_tree, self._structs)

    @functools.cached_property
    def signature(self) -> Signature:
        """Types and structure of arguments and result."""
        return self._traced.signature

    def as_text(self, dialect: str | None = None, *, stage: str | None = None,
                debug_info: bool = False) -> str:
        """The program as text.

        Args:
          dialect: "stablehlo", "hlo", or "ir" for our own; None means "stablehlo".
          stage: "compiled" for the program that runs on the default device, on CPU with fences and
            with calls of forms (docs/cpu.md), or "lowered" for the program without these. None
            means "lowered" where the program was lowered with `passes=()`, else "compiled".
          debug_info: whether StableHLO has locations.
        Raises: ValueError for another dialect or stage.
        """
        stage = stage or self._stage
        if stage not in ("lowered", "compiled"):
            raise ValueError(f"as_text: unknown stage {stage!r}; it must be 'lowered' or "
                             "'compiled'")
        shown = self._lowered if stage == "lowered" else self._compiled
        if dialect in (None, "stablehlo"):
            return shown.as_text(debug_info=debug_info)
        if dialect == "hlo":
            return shown.as_hlo_text()
        if dialect == "ir":
            return str(self._unpruned if stage == "lowered" else shown.function_written)
        raise ValueError(f"as_text: unknown dialect {dialect!r}; it must be 'stablehlo', 'hlo' or "
                         "'ir'")

    @functools.cached_property
    def _compiled(self) -> lowering.LoweredModule:
        """The module that is compiled, lowered on first use."""
        return lowering.as_compiled(self._lowered, self._traced._jitted.options.effort,
                                    len(self._place.devices))

    def forms(self) -> list[Any]:
        """The operations that take a form of their platform, in the order of the program.

        `as_text` shows them as calls of their forms (docs/cpu.md); after `lower(passes=())` it
        shows the plain StableHLO of every platform.

        Returns: a list with an object for each operation, which has `op`, `location`, `form`,
          `does` and `why`, and prints as one line. Under `XFRONT_CPU_FORMS=0` it has those without
          which XLA computes wrong values.

        >>> print(*xfront.jit(jnp.argmax).lower(jnp.zeros(64)).forms(), sep="\n")
        """
        return self._compiled.forms

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program that `as_text` shows.

        Args:
          dialect: "stablehlo" for an MLIR module, or "hlo" for a computation of XLA; None means
            "stablehlo".
        Raises: ValueError for another dialect.
        """
        shown = self._lowered if self._stage == "lowered" else self._compiled
        if dialect in (None, "stablehlo"):
            return shown.module
        if dialect == "hlo":
            return shown.as_hlo()
        raise ValueError(f"compiler_ir: unknown dialect {dialect!r}; it must be 'stablehlo' or "
                         "'hlo'")

    def cost_analysis(self) -> Any:
        """A dict of XLA's costs of the program, such as flops and bytes accessed; it compiles."""
        return self.compile().cost_analysis()

    @front_door
    def compile(self, compiler_options: dict[str, Any] | None = None, *,
                device_assignment: Sequence[Any] | None = None, topology: str | None = None
                ) -> Compiled:
        """Compile to machine code.

        Args:
          compiler_options: dict of XLA options by name, which override those given to `jit`.
          device_assignment: the devices of the program, in the order of its mesh, for a program
            that was lowered for an abstract mesh; for others None, or the devices that it has.
          topology: name of a topology, whose devices need not be present, such as `v5e:2x2`, `h100`
            or `h100:1x1x4` (docs/accelerators.md). The program is compiled for the first of them,
            or for as many as it is spread over, in their order; it can be read and serialized. None
            compiles for the devices of the program.
        Raises: JaxRuntimeError where XLA does not know an option; NotImplementedError where the
          program was lowered for another platform than that of its devices; ValueError where the
          topology is unknown or has fewer devices than the program, or is None for arguments on an
          abstract mesh; RuntimeError where the plugin
          of its platform is not installed; MissingRule where the platform has no rule for an
          operation.
        """
        place = self._place if topology is None else there(self._place, topology)
        if device_assignment is not None:
            place = assigned(self._place, tuple(device_assignment), topology, self._is_abstract)
        home, wanted = platform_of(place.devices[0]), self._lowered.platform
        if topology is None and device_assignment is None and self._is_abstract:
            raise ValueError("compile: the program was lowered for an abstract mesh, which has no "
                             "devices; give device_assignment or a topology, or lower it with the "
                             "mesh in context, `with xfront.set_mesh(mesh)`")
        if topology is None and wanted != home:
            raise NotImplementedError(f"compile: the program was lowered for {wanted}, but its "
                                      f"devices belong to {home}; lower it for {home}")
        return Compiled.of(self, compiler_options or {}, place)


def is_abstract(x: Any) -> bool:
    """Whether a leaf of the arguments is a struct on a mesh without devices, or is uncommitted
    while the mesh in context has no devices."""
    if isinstance(x, ShapeDtypeStruct) and x.sharding is not None:
        return type(getattr(x.sharding, "mesh", 0)) is AbstractMesh
    return abstract_alone() is not None and commitment(x) is None


def promised(x: Any, platform: str | None = None) -> Any:
    """A leaf of the arguments, array or struct, in the form that `placement` takes. For a leaf on a
    mesh without devices, the devices of this process stand in, if a platform or kind of device is
    named. Raises: ValueError if there are fewer of these, or none is named."""
    sharding: Any = x.sharding if isinstance(x, ShapeDtypeStruct) else None
    if is_abstract(x):
        sharding = sharding or replicated(get_abstract_mesh())
        known = platform is not None or sharding.mesh.abstract_device is not None
        sharding = on_devices(
            "lower", sharding, devices_here() if known else (), "" if known else
            ", or name the platform, jit(f).trace(x).lower(lowering_platforms=('tpu',))")
    elif sharding is None:
        return as_operand(x)
    return Promised(getattr(x, "aval", None), sharding)


class Compiled(_Stage):
    """A jitted function compiled for one signature and device. It is called with arguments of that
    signature that lie on that device or are uncommitted.

    >>> compiled = xfront.jit(lambda x: 2 * x).lower(jnp.ones(3)).compile()
    >>> compiled(jnp.array([1., 2., 3.]))
    Array([2., 4., 6.], dtype=float32)
    """

    def __init__(self, program: Program, signature: Signature, place: Any, committed: bool, *,
                 structs: Sequence[Any] = ()) -> None:
        self._program, self.signature, self.out_tree = program, signature, signature.out_tree
        self._place, self._committed = place, committed
        self._structs = structs or [shape_struct(*kind) for kind in signature.outs]
        self._called = binding.make_pjit(signature.name, lambda *a, **k: self._miss(*a, **k)[0],
                                         self._miss, global_cache_key="compiled")

    @classmethod
    def of(cls, lowered: Lowered, compiler_options: dict[str, Any], place: Any) -> Compiled:
        """A lowered function compiled for a placement. Raises: as `Lowered.compile`."""
        traced = lowered._traced
        flat, options = traced._flat, traced._jitted.options
        n = len(flat.function.params) - len(flat.captures)
        shift = len(flat.captures)
        donated = tuple([i + shift for i, d in enumerate(traced._donated) if d])
        chosen = {**dict(options.compiler_options), **compiler_options}
        compiled = compile_body(flat.function, name=traced.fun_name, place=place,
                                effort=options.effort, donated=donated,
                                options=tuple(sorted(chosen.items())),
                                keep_unused=options.keep_unused, n_explicit=n)
        program = Program(compiled, flat.captures, flat.out_tree, flat.function, True)
        return cls(program, traced.signature, place, lowered._committed,
                   structs=lowered._structs)

    @front_door
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result for arguments of the signature, static ones left out.

        Raises:
          TypeError: for arguments of another signature, and for traced ones.
          ValueError: for arguments that are committed to another device.
          RuntimeError: where an argument was deleted or donated before.
        """
        watched = len(self._place.devices) > 1 and any(self.signature.donated)
        if watched:
            refuse_twice(self.signature.name, self.signature.consumed(args, kwargs), (args, kwargs))
        try:
            made = self._called(*args, **kwargs)
            if watched:
                forget_donated((args, kwargs))
            return made
        except (RuntimeError, ValueError):
            self._refuse_consumed(args, kwargs)
            raise

    def _miss(self, *args: Any, **kwargs: Any) -> tuple:
        """Run a call with arguments that C++ has not seen; C++ calls this method."""
        name = self.signature.name
        if is_described(self._place.devices[0]):
            self._program.compiled.executable.execute([], [])      # raises: it cannot run here
        leaves, tree = tree_flatten((args, kwargs))
        if any(type(x) is Tracer for x in leaves):
            raise TypeError(f"{name} is compiled, so it cannot be transformed or traced. Call the "
                            "function that was lowered instead, or its jit.")
        if tree != self.in_tree:
            raise TypeError(f"{name} was compiled for arguments of structure {self.in_tree}, but "
                            f"was called with {tree}")
        for i, (x, (t, _)) in enumerate(zip(leaves, self.signature.kinds, strict=True)):
            given, _ = kind_of(name, x)
            if given is not t:
                path = self.signature.names[i]
                raise TypeError(f"Argument types differ from the types for which this computation "
                                f"was compiled: {path} was {t}, got {given}")
        operands = [as_operand(x) for x in leaves]
        self._refuse_elsewhere(operands)
        return *self._program.call(operands, self._committed), False

    def _refuse_elsewhere(self, leaves: list) -> None:
        """Raise the ValueError that names the arguments committed to another device."""
        required = self._program.compiled.shardings_of_arguments(len(leaves))
        elsewhere = [(i, there) for i, x in enumerate(leaves) if self.signature.read[i]
                     and (there := commitment(x)) is not None
                     and not self._is_here(there, required[i], len(x.shape))]
        if elsewhere:
            names = self.signature.names
            listed = "\n".join([
                f"Argument {names[i]} with shape {leaves[i].aval.str_short()}:\n"
                f"  Passed sharding: {there}\n  Required sharding: {required[i]}"
                for i, there in elsewhere])
            raise ValueError(
                "Computation was compiled for input shardings that disagree with the shardings of "
                f"arguments passed to it. Here are the {len(elsewhere)} mismatches:\n{listed}\n"
                f"Move {'it' if len(elsewhere) == 1 else 'them'} with device_put, or call the "
                "function that was lowered, which is compiled anew for other devices.")

    def _is_here(self, there: Any, required: Any, ndim: int) -> bool:
        """Whether an argument lies where the program takes it, in any memory of the device."""
        if type(self._place) is Placement:
            return (type(there) is binding.SingleDeviceSharding
                    and placement_of(there) is self._place)
        return required.is_equivalent_to(there, ndim)

    @property
    def input_shardings(self) -> Any:
        """The tree (args, kwargs) of the shardings of arguments; None for unused arguments.

        Static arguments are left out.
        """
        read = self.signature.read
        required = self._program.compiled.shardings_of_arguments(len(read))
        return tree_unflatten(self.in_tree, [s if r else None
                                             for s, r in zip(required, read, strict=True)])

    @property
    def input_formats(self) -> Any:
        """The tree (args, kwargs) of layouts and shardings of arguments; see `input_shardings`."""
        kinds = iter(self.signature.kinds)

        def format_(place: Any) -> Any:
            kind, _ = next(kinds)
            return None if place is None else _format(place, kind)

        return tree_map(format_, self.input_shardings, is_leaf=lambda x: x is None)

    @property
    def output_formats(self) -> Any:
        """The result's tree of layouts and shardings."""
        compiled = self._program.compiled
        return tree_unflatten(self.out_tree, [_format(s, t) for s, (t, _) in zip(
            compiled.out_shardings, compiled.out_types, strict=True)])

    @property
    def out_info(self) -> Any:
        """The result's tree of `ShapeDtypeStruct`s with their shardings and layouts."""
        compiled = self._program.compiled
        return tree_unflatten(self.out_tree, [
            struct.update(sharding=s if t.dtype.is_key else _format(s, t)) for struct, s, (t, _) in
            zip(self._structs, compiled.out_shardings, compiled.out_types, strict=True)])

    @property
    def output_shardings(self) -> Any:
        """The result's tree of shardings."""
        return tree_unflatten(self.out_tree, self._program.compiled.out_shardings)

    def _refuse_consumed(self, args: tuple, kwargs: dict) -> None:
        leaves, tree = tree_flatten((args, kwargs))
        if tree == self.in_tree:
            refuse_consumed(self.signature.name, leaves, self.signature.names)

    def as_text(self) -> str:
        """The text of the HLO after optimisation."""
        return self._program.compiled.executable.hlo_text()

    def cost_analysis(self) -> Any:
        """A dict of XLA's costs of the program, such as flops and bytes accessed."""
        return self._program.compiled.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes of arguments, results and temporary memory, in bytes."""
        return self._program.compiled.executable.memory_analysis()

    def serialize(self) -> bytes:
        """The executable as bytes of machine code, for devices of the same kind."""
        return self._program.compiled.executable.serialize()

    def runtime_executable(self) -> Any:
        """jaxlib's executable, which is loaded unless the program is for a topology."""
        return self._program.compiled.executable.loaded


CompilerOptions = dict[str, str | bool]
"""The type of XLA's options by name, as `Lowered.compile` takes them."""


@runtime_checkable
class Wrapped(Protocol):
    """The result of `jit`: a function with stages. `isinstance` checks for these methods.

    >>> isinstance(xfront.jit(jnp.sin), xfront.stages.Wrapped)
    True
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function, compiled."""
        ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The function traced for such arguments."""
        ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function lowered for such arguments."""
        ...


def takes(fun: Any, name: str) -> bool:
    """Whether a function may take an argument of this name."""
    try:
        params = inspect.signature(fun).parameters
    except (TypeError, ValueError):
        return True
    return name in params or any(p.kind is p.VAR_KEYWORD for p in params.values())


def attach(compiled: Any, jitted: Any, forget: Callable[[], None]) -> None:
    """Give a jitted function its stages: `.trace`, `.lower`, `.eval_shape`, `.clear_cache`.

    `forget` empties C++'s cache of the function.
    """
    @front_door
    def trace(*args: Any, **kwargs: Any) -> Traced:
        divided = jitted.divide(args, kwargs)
        flat, leaves, donated = jitted.trace(args, kwargs, struct_kind, divided)
        return Traced(jitted, flat, leaves, donated, divided[2])

    @front_door
    def lower(*args: Any, **kwargs: Any) -> Lowered:
        asked = {"passes": kwargs.pop("passes")} if (
            "passes" in kwargs and not takes(jitted.fun, "passes")) else {}
        return trace(*args, **kwargs).lower(**asked)

    def shape(*args: Any, **kwargs: Any) -> Any:
        return trace(*args, **kwargs).out_info

    def clear() -> None:
        jitted.traces.clear()
        forget()

    binding.give_stages(compiled, trace=trace, lower=lower, eval_shape=shape, clear_cache=clear)


__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
