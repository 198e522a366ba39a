"""jit: a function that is traced once for each signature and runs compiled.

A jitted function is a C++ dispatched function. A call that C++ has not seen goes to `Jitted.miss`,
which traces, finds the program by content (so a fresh closure with a known program costs tracing
only) and returns the record with which C++ runs later calls alone.
"""

# hot: benchmarks/call.py

from __future__ import annotations

import copyreg
import functools
import inspect
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

import numpy as np
from xfront_ir.analysis import axis_names, meshes

from .. import binding
from ..base.config import explain_cache_misses
from ..base.trees import keystr, tree_flatten_with_path, tree_leaves, tree_unflatten
from ..binding.tracebacks import front_door, named_after
from ..eager.dispatch import Program, deepest
from ..running import programs
from ..running.keys import Latest, latest, signature
from ..running.placement import Placement, captured_on_several, placement
from ..running.programs import bind, in_place
from ..tracing.following import sets_of
from ..tracing.trace import state
from ..tracing.tracer import Tracer
from ..tracing.watching import explain_miss
from .effort import Inline, is_early
from .flat import Flat, as_operand, kind_of, name_of, positional_names, positions, trace_call
from .float0 import HIDES, flat_values, hidden, is_hidden
from .pickling import name_in_module
from .structs import filled
from .with_refs import call_with_refs, uses_refs

if TYPE_CHECKING:
    from .signatures import Wrapped

P = ParamSpec("P")
R = TypeVar("R")


@overload
def jit(fun: Callable[P, R], /, *, in_shardings: Any = None, out_shardings: Any = None,
        static_argnums: int | Sequence[int] | None = None,
        static_argnames: str | Sequence[str] | None = None,
        donate_argnums: int | Sequence[int] | None = None,
        donate_argnames: str | Sequence[str] | None = None, keep_unused: bool = False,
        device: Any = None, backend: str | None = None, inline: bool | Inline = False,
        compiler_options: dict[str, Any] | None = None, compile_effort: str = "full"
        ) -> Wrapped[P, R]: ...
@overload
def jit(*, in_shardings: Any = None, out_shardings: Any = None,
        static_argnums: int | Sequence[int] | None = None,
        static_argnames: str | Sequence[str] | None = None,
        donate_argnums: int | Sequence[int] | None = None,
        donate_argnames: str | Sequence[str] | None = None, keep_unused: bool = False,
        device: Any = None, backend: str | None = None, inline: bool | Inline = False,
        compiler_options: dict[str, Any] | None = None, compile_effort: str = "full"
        ) -> Callable[[Callable[P, R]], Wrapped[P, R]]: ...
@front_door
def jit(fun: Callable[..., Any] | None = None, /, *, in_shardings: Any = None,
        out_shardings: Any = None, static_argnums: int | Sequence[int] | None = None,
        static_argnames: str | Sequence[str] | None = None,
        donate_argnums: int | Sequence[int] | None = None,
        donate_argnames: str | Sequence[str] | None = None, keep_unused: bool = False,
        device: Any = None, backend: str | None = None, inline: bool | Inline = False,
        compiler_options: dict[str, Any] | None = None, compile_effort: str = "full"
        ) -> Any:
    """Compile `fun` with XLA, once for each signature of its arguments.

    Args:
      fun: a pure function of arrays, trees of arrays, and static values.
      in_shardings, out_shardings: placements of the positional arguments and of the result. Each is
        a Sharding, a PartitionSpec on the mesh in context, None, or a tree prefix of these.
        Arguments are moved there (one that is committed to another sharding of several devices is
        refused), and results are committed there. Where a result has None, the compiler chooses.
      static_argnums, static_argnames: positions and names of hashable arguments that are part of
        the signature by value; none by default. Where only one of the two is given, the arguments
        that it names are static by position and by name; where both are given, each holds as
        written.
      donate_argnums, donate_argnames: positions and names of arguments whose memory results may
        take; the call deletes these arguments. None by default, and completed like the static ones.
        A call under another transformation, or in a trace, deletes none.
      keep_unused: whether arguments that the function does not read stay arguments of the program.
      device, backend: a device, or the name of a platform, whose first device is used. Arguments
        are moved there and results are committed there.
      inline: whether a call inside a trace is recorded as its ops, not as a call; or an `Inline`,
        of which JAX_EARLY says that it is, and the others that it is not: XLA puts calls in place
        anyway.
      compiler_options: dict of XLA options by name; also `optimization_level` and
        `memory_fitting_level` ("O0" to "O3", or the number).
      compile_effort: "full" or "fast". With "fast", XLA compiles on CPU in about half the time a
        program that runs up to 6 times slower, which pays for programs that run once or twice. A
        jitted function that is called in the trace of another is compiled with that one, at its
        effort.
    Returns: the compiled function, with methods `lower`, `trace`, `eval_shape` and `clear_cache`.
    Raises: TypeError where `fun` is not a function, or a device or placement is of the wrong type;
      ValueError for another effort, for positions or names that `fun` does not have, or where both
      a device (or backend) and placements are given. At the call, ValueError where a static
      argument is not hashable, or where arguments and placements name different devices; TypeError
      where an argument is not an array; RuntimeError for an unknown backend; NotImplementedError in
      the trace of another function for a single device that is not the default one.

    >>> xfront.jit(lambda x: x + 1)(1)
    Array(2, dtype=int32, weak_type=True)
    """
    options = dict(static_argnums=static_argnums, static_argnames=static_argnames,
                   donate_argnums=donate_argnums, donate_argnames=donate_argnames,
                   keep_unused=keep_unused, device=device, backend=backend, inline=inline,
                   compiler_options=compiler_options, compile_effort=compile_effort,
                   in_shardings=in_shardings, out_shardings=out_shardings)
    if fun is None:
        return functools.partial(jit, **options)
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}")
    return Jitted(fun, **options).function()


EFFORTS = {"full": "jit", "fast": "fast"}
"""The values of `compile_effort`, each with its name in lowering/compile.py."""


def _numbers(name: str, x: Any) -> tuple[int, ...]:
    return () if x is None else positions(f"jit: {name}", x)[1]


def _names(x: Any) -> tuple:
    return () if x is None else (x,) if isinstance(x, str) else tuple(x)


class Options:
    """The options of one `jit`, with positions and names of arguments made to agree."""

    __slots__ = ("_names", "compiler_options", "donate_argnames", "donate_argnums", "effort", "fun",
                 "inline", "keep_unused", "key", "static_argnames", "static_argnums", "placing")

    def __init__(self, fun: Any, given: dict[str, Any]) -> None:
        self.fun, self._names = fun, None
        statics, donated = [
            (_numbers(nums, given[nums]), _names(given[names])) for nums, names in (
                ("static_argnums", "static_argnames"), ("donate_argnums", "donate_argnames"))]
        self.static_argnums, self.static_argnames = statics
        self.donate_argnums, self.donate_argnames = donated
        if any(statics) or any(donated):          # reading a signature takes long
            params = parameters(fun)
            self.static_argnums, self.static_argnames = agree(
                "static", fun, params, *statics, given["static_argnums"], given["static_argnames"])
            self.donate_argnums, self.donate_argnames = agree(
                "donate", fun, params, *donated, given["donate_argnums"], given["donate_argnames"])
        both = {*self.static_argnums} & {*self.donate_argnums}
        if both:
            raise ValueError(f"static_argnums and donate_argnums cannot intersect, got argument "
                             f"{sorted(both)[0]} in both")
        placed = (given["device"], given["backend"], given["in_shardings"],
                  given["out_shardings"])
        self.placing = None
        if any([x is not None for x in placed]):
            from .placing import Placing  # seldom needed

            self.placing = Placing(*placed)
        self.keep_unused, self.inline = bool(given["keep_unused"]), is_early(given["inline"])
        chosen = given["compiler_options"] or {}
        self.compiler_options = tuple(sorted(chosen.items()))
        if (asked := given["compile_effort"]) not in EFFORTS:
            raise ValueError(f"jit: compile_effort must be one of {', '.join(EFFORTS)}, got "
                             f"{asked!r}")
        self.effort = EFFORTS[asked]
        self.key = ("jit", self.static_argnums, self.static_argnames, self.donate_argnums,
                    self.donate_argnames, self.keep_unused, self.inline, self.compiler_options,
                    self.effort, self.placing)   # placing compares by identity

    @property
    def names(self) -> list[str]:
        """Names of the function's positional parameters; none where it has no signature."""
        if self._names is None:
            self._names = positional_names(self.fun)
        return self._names


def _kind_without_elements(name: str, x: Any) -> Any:
    """Type and weakness of a ShapeDtypeStruct, which stands for an argument that a function does
    not read; None for others."""
    from .structs import ShapeDtypeStruct, struct_kind  # it stands on this floor

    if type(x) is not ShapeDtypeStruct:
        return None
    found = struct_kind(name, x)
    return None if found[0].dtype.is_key else found


def parameters(fun: Any) -> list[inspect.Parameter] | None:
    """Parameters of a function, or None where it has no signature."""
    try:
        return list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return None


def agree(what: str, fun: Any, params: list[inspect.Parameter] | None, nums: tuple, names: tuple,
          *asked: Any) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of arguments; if the user gave only one of the two, the other follows.

    Args:
      what: "static" or "donate", for errors.
      fun, params: the function and its parameters, None where they are unknown.
      nums, names: the positions and names that the user gave.
      asked: both options as the user wrote them; where neither is None, nothing is completed.
    Raises: ValueError for a position or name that does not exist; TypeError for a wrong type.
    """
    if any(not isinstance(n, str) for n in names):
        raise TypeError(f"{what}_argnames must be strings, got {names}")
    if params is None:
        return nums, names
    positional = [p for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in params)
    for n in nums:
        if not variadic and not -len(positional) <= n < len(positional):
            raise ValueError(f"jitted function {name_of(fun)} has {what}_argnums={nums}, but has "
                             f"only {len(positional)} positional arguments")
    known = {p.name for p in params if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if not any(p.kind is p.VAR_KEYWORD for p in params):
        for n in names:
            if n not in known:
                raise ValueError(f"jitted function {name_of(fun)} has {what}_argnames={names}, "
                                 f"but takes no argument called {n!r}")
    order = {p.name: i for i, p in enumerate(positional)}
    resolved = {n if variadic else n % len(positional) for n in nums}
    if None not in asked:
        return tuple(sorted(resolved)), tuple(sorted({*names}))
    resolved |= {order[n] for n in names if n in order}
    all_names = {*names, *[positional[n].name for n in resolved if 0 <= n < len(positional)
                           and positional[n].kind is not inspect.Parameter.POSITIONAL_ONLY]}
    return tuple(sorted(resolved)), tuple(sorted(all_names))


_TRACES: weakref.WeakKeyDictionary[Any, Latest] = weakref.WeakKeyDictionary()


def _forget(compiled: weakref.ref) -> None:
    function = compiled()
    if function is not None:
        function._clear_cache()


class Jitted:
    """The Python side of one jitted function."""

    __slots__ = ("finals", "fun", "given", "name", "on_several", "options", "traces")

    def __init__(self, fun: Callable[..., Any], **given: Any) -> None:
        self.fun, self.name, self.given = fun, name_of(fun), given
        self.options = Options(fun, given)
        self.on_several = False                  # whether some call ran on several devices
        self.finals: Any = None                  # for arguments that change, see high.py
        self.traces = latest(_TRACES, fun)

    def __reduce__(self) -> tuple:
        return functools.partial(Jitted, **self.given), (self.fun,)

    def function(self) -> Any:
        """The callable that users get. It holds this object, which must not hold it, so that it
        dies with its last reference."""
        options = self.options
        compiled = cached = binding.make_pjit(
            self.name, self.fun, self.miss, options.static_argnums, options.static_argnames,
            options.donate_argnums, options.donate_argnames, global_cache_key=options.key)
        forget = functools.partial(_forget, weakref.ref(compiled))
        if options.donate_argnums or options.donate_argnames:
            from .donation import donating  # most functions donate nothing

            compiled = donating(compiled, self.refuse_twice, self.refuse_consumed,
                                self.forget_donated)
        named_after(compiled, self.fun)
        cached._jitted = self
        if compiled is not cached:               # methods of C++ cannot be pickled
            forget = compiled._clear_cache = lambda: cached._clear_cache()
            compiled._cache_size = lambda: cached._cache_size()
        from .stages import attach  # the stages stand on this file

        attach(compiled, self, forget)
        return compiled

    # --- from a call to a traced Function ---------------------------------------------------

    def divide(self, args: tuple, kwargs: dict) -> tuple[tuple, list, Any]:
        """(static key, leaves, tree) of a call; in the tree, static arguments are None."""
        statics, given = self.split(args, kwargs)
        leaves, tree = flat_values(given)
        return statics, leaves, tree

    def split(self, args: tuple, kwargs: dict) -> tuple[tuple, tuple[list, dict]]:
        """The static key of a call, and its arguments with None for static ones."""
        statics = []
        given, named = list(args), dict(kwargs)
        for i in self.options.static_argnums:
            if -len(given) <= i < len(given):
                statics.append((i, type(given[i]), given[i]))
                given[i] = None
        for k in self.options.static_argnames:
            if k in named:
                statics.append((k, type(named[k]), named[k]))
                named[k] = None
        return tuple(statics), (given, named)

    def trace(self, args: tuple, kwargs: dict, kind: Callable[..., Any] = kind_of,
              divided: tuple[tuple, list, Any] | None = None) -> tuple[Flat, list, list]:
        """The traced Function of a call, the leaves of its arguments, and which are donated. `kind`
        gives type and weakness of a leaf: with `struct_kind`, ShapeDtypeStructs may be among them.
        `divided` is what `divide` gives for the arguments, where that is known.

        Raises: ValueError where a static argument is not hashable.
        """
        statics, leaves, tree = divided or self.divide(args, kwargs)
        kinds, structs = [], []
        for k, x in enumerate(leaves):
            try:
                kinds.append(kind(self.name, x))
            except TypeError:
                if (found := _kind_without_elements(self.name, x)) is None:
                    self.refuse(args, kwargs, k)
                kinds.append(found)
                structs.append(k)
        if self.options.placing is not None:
            kinds = self.options.placing.typed(kinds, self.dynamic(args), kwargs)
        sets = sets_of(leaves)
        key = signature(statics, tree, tuple(kinds), state.axes, sets)
        try:
            found = self.traces.get(key)
        except TypeError:
            raise ValueError(f"Non-hashable static arguments are used in a jitted function: "
                             f"{[s for _, _, s in statics]}; make them tuples, or frozen and "
                             "hashable objects") from None
        if found is None or (found.is_bare and state.stack):
            def call(tracers: list[Tracer]) -> Any:
                given, named = tree_unflatten(tree, tracers)
                for place, _, x in statics:
                    if type(place) is int:
                        given[place] = x
                    else:
                        named[place] = x
                return self.fun(*given, **named)

            names = self.names_of(args, kwargs, leaves)
            if explain_cache_misses.value:
                explain_miss(self.name, self.fun, key, [*self.traces], names)
            outer, state.scope = state.scope, ()      # names inside are relative to the call
            try:
                found = trace_call(call, kinds, name=self.name, kind="jit", staging=True,
                                   param_names=names, origins=sets)
            finally:
                state.scope = outer
            if not any(type(x) is Tracer for x in found.captures):
                self.traces[key] = found         # other `jit`s of the function use it too
        if self.options.placing is not None:
            found = self.options.placing.moved(found)
        for k in structs:
            if self.options.keep_unused or found.read()[k]:
                self.refuse(args, kwargs, k)
            t = kinds[k][0]
            leaves[k] = np.broadcast_to(np.zeros((), t.dtype.numpy), t.shape)     # not looked at
        return found, leaves, self.donated(tree, len(leaves))

    def names_of(self, args: tuple, kwargs: dict, leaves: list) -> list[str]:
        """Names of the leaves of the arguments: parameter names with paths into trees."""
        if len(args) == len(leaves) and all(map(operator.is_, args, leaves)):
            names = self.options.names
            return [*names[: len(args)], *[f"args[{i}]" for i in range(len(names), len(args))]]
        return self.param_names(hidden(self.split(args, kwargs)[1]))

    def param_names(self, given: Any) -> list[str]:
        """As `names_of`, for the tree (positional, keyword arguments) without static ones;
        any leaves will do."""
        names = self.options.names
        found = []
        for path, _ in tree_flatten_with_path(given)[0]:
            place = path[1]
            if path[0].idx == 0:
                first = names[place.idx] if place.idx < len(names) else f"args[{place.idx}]"
            else:
                first = str(place.key)
            found.append(first + keystr(path[2:]))
        return found

    def refuse(self, args: tuple, kwargs: dict, k: int) -> None:
        """Raise the TypeError that names the k-th leaf, which is not an array."""
        leaves = self.divide(args, kwargs)[1]
        name = self.names_of(args, kwargs, leaves)[k]
        x = leaves[k]
        instead = "mark the argument static with static_argnums or static_argnames"
        if isinstance(x, np.ndarray) and not x.dtype.isnative:
            instead = "write x.astype(x.dtype.newbyteorder('=')) for the machine's byte order"
        raise TypeError(f"Error interpreting argument to {self.name} as an abstract array. The "
                        f"problematic value is of type {type(x)} and was passed to the function at "
                        f"path {name}. Value {x!r} is not a valid array type; {instead}.")

    def refuse_consumed(self, args: tuple, kwargs: dict) -> None:
        """Raise the RuntimeError that names the arguments which were deleted or donated before."""
        from .donation import refuse_consumed  # an error's costs

        leaves = self.divide(args, kwargs)[1]
        refuse_consumed(self.name, leaves, self.names_of(args, kwargs, leaves))

    def forget_donated(self, args: tuple, kwargs: dict) -> None:
        """Called after each call; see `donation.forget_donated`."""
        if self.on_several:
            from .donation import forget_donated  # few functions run on several devices

            forget_donated(self.consumed(args, kwargs))

    def refuse_twice(self, args: tuple, kwargs: dict) -> None:
        """Called before each call; see `donation.refuse_twice`."""
        if self.on_several:
            from .donation import refuse_twice  # as above

            refuse_twice(self.name, self.consumed(args, kwargs), (args, kwargs))

    def consumed(self, args: tuple, kwargs: dict) -> tuple[list[Any], list[Any]]:
        """The arguments that a call donates."""
        options = self.options
        return ([args[i] for i in options.donate_argnums if -len(args) <= i < len(args)],
                [kwargs[k] for k in options.donate_argnames if k in kwargs])

    def donated(self, tree: Any, n: int) -> list[bool]:
        """For each leaf, whether its argument is donated."""
        if not self.options.donate_argnums and not self.options.donate_argnames:
            return [False] * n
        given, named = tree.children()
        flags, n_given = [], len(given.children())
        for i, part in enumerate(given.children()):
            held = (i in self.options.donate_argnums
                    or i - n_given in self.options.donate_argnums)
            flags += [held] * part.num_leaves
        for k, part in zip(named.node_data()[1], named.children(), strict=True):
            flags += [k in self.options.donate_argnames] * part.num_leaves
        return flags

    # --- calls ---------------------------------------------------------------------------------

    def miss(self, *args: Any, **kwargs: Any) -> tuple:
        """Called from C++ with arguments of a new signature: record, or trace, compile and run."""
        if HIDES:
            from .high import call_and_write, changing  # loaded already

            given = self.split(args, kwargs)[1]
            if changing(given) and not self.returns_finals:
                return call_and_write(self.with_finals(), args, kwargs, given), None, True
        flat, leaves, donated = self.trace(args, kwargs)
        if uses_refs(flat, leaves):
            names = self.names_of(args, kwargs, leaves)
            return call_with_refs(self, flat, leaves, donated, names), None, True
        captured_tracer = any(type(x) is Tracer for x in flat.captures)
        if (state.current is not None or captured_tracer
                or deepest(leaves, None) is not None
                or (state.axes and axis_names(flat.function))):
            ins: Sequence[Any] = ()
            outs: Sequence[Any] = ()
            if self.options.placing is not None:
                ins, outs = self.options.placing.constraints(*self.placed(flat, args, kwargs))
            operands = [*map(as_operand, leaves), *flat.captures]
            if any([s is not None for s in (*ins, *outs)]):
                from ..eager.constraint import constrained  # with the first sharding

                operands = constrained(operands, ins)
                results = constrained(bind(flat.function, operands, name=self.name), outs)
                return tree_unflatten(flat.out_tree, results), None, True
            results = bind(flat.function, operands, name=self.name)
            if self.options.inline:
                results = in_place(results)
            return tree_unflatten(flat.out_tree, results), None, True
        operands = [as_operand(x) for x in leaves]
        place, committed = self.placement(flat, operands, lambda: self.divide(args, kwargs)[2])
        self.on_several = self.on_several or len(place.devices) > 1
        if any(donated):
            self.refuse_twice(args, kwargs)
        program = self.program(flat, donated, place)
        try:
            called = program.call(operands, committed)
        except (RuntimeError, ValueError):
            self.refuse_consumed(args, kwargs)
            raise
        result, fast = called
        if fast is not None and any(map(is_hidden, tree_leaves((args, kwargs)))):
            fast = None                          # C++ cannot pass such leaves
        # C++ does not know the sizes of mapped axes, which tracing may have read
        return result, fast, bool(state.axes)

    @property
    def returns_finals(self) -> bool:
        """Whether the function returns what its arguments that change hold at its end."""
        return hasattr(self.fun, "returns_finals")

    def with_finals(self) -> Any:
        """The compiled function that also returns what its arguments that change hold."""
        if self.finals is None:
            from .high import with_finals  # loaded already, as above

            given = dict(self.given)
            if given["out_shardings"] is not None:
                given["out_shardings"] = (given["out_shardings"], None)
            self.finals = Jitted(with_finals(self.fun), **given).function()
        return self.finals

    def placement(self, flat: Flat, operands: Sequence[Any], tree: Callable[[], Any]
                  ) -> tuple[Placement, bool]:
        """Where a traced call runs, and whether its results are committed there.

        Raises: ValueError where arguments that it reads are committed to different devices.
        """
        def names() -> list[str]:
            structure = tree()
            return self.param_names(tree_unflatten(structure, [object()] * structure.num_leaves))

        read = None if self.options.keep_unused else flat.read
        named = meshes(flat.function)
        operands = [*operands, *captured_on_several(flat.captures)]
        if self.options.placing is None:
            return placement(operands, self.name, names, read, named=named)
        structure = tree()
        given, by_name = tree_unflatten(structure, operands[:structure.num_leaves])
        return self.options.placing.placement(
            self.name, operands, *self.placed(flat, given, by_name), names, read, named)

    def placed(self, flat: Flat, given: Sequence[Any], named: dict) -> tuple[tuple, dict, Any]:
        """The trees of which shardings may be prefixes: positional arguments without static ones,
        keyword arguments, and the result."""
        return (self.dynamic(given), named,
                filled(flat.out_tree, flat.function.return_types))

    def dynamic(self, args: Sequence[Any]) -> tuple:
        """Positional arguments without static ones."""
        statics = {i % len(args) for i in self.options.static_argnums
                   if -len(args) <= i < len(args)}
        return tuple([x for i, x in enumerate(args) if i not in statics])

    def program(self, flat: Flat, donated: list[bool], place: Placement) -> Program:
        """The compiled program of a traced call, for one placement."""
        n = len(flat.function.params) - len(flat.captures)
        given = tuple([i for i, d in enumerate(donated) if d])
        options = self.options

        def compile_(body: Any) -> Any:
            shifted = tuple([i + len(body.params) - n for i in given])
            return programs.compile_body(
                body, name=self.name, place=place, effort=options.effort, donated=shifted,
                n_explicit=n, options=options.compiler_options, keep_unused=options.keep_unused)

        key = ("jit", self.name, n, given, options.keep_unused, options.compiler_options,
               options.effort)
        compiled, literals, _ = programs.find(flat.function, key, place, compile_)
        if given:
            from .donation import warn_of_unusable  # as in `function`

            kept, ins = compiled.kept[len(compiled.kept) - n:], compiled.shardings_of_arguments(n)
            warn_of_unusable(
                self.name, [(flat.function.params[i].type, ins[i]) for i in given if kept[i]],
                zip([t for t, _ in compiled.out_types], compiled.out_shardings, strict=True))
        return Program(compiled, [*flat.captures, *literals], flat.out_tree, flat.function, True)


def pickled(function: Any) -> Any:
    """The pickled form of a compiled function: its name where its module has it by a name, else the
    function under it and the options of `jit`. Traces and programs are not part of it.

    Raises: TypeError where it has neither.
    """
    name = name_in_module(function)
    if name is not None:
        return name
    jitted = getattr(function, "_jitted", None)
    if jitted is None:
        raise TypeError(f"cannot pickle the compiled function {function!r}: it has no name in a "
                        "module")
    return jitted.function, ()


copyreg.pickle(binding.PjitFunction, pickled)


__all__ = ["Jitted", "Options", "jit"]
