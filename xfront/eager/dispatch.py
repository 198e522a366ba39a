"""Public functions: recorded where an argument is a tracer, else compiled once and run in C++.

`@eager` turns the body of a public function (which computes on tracers) into that function. Called
with a tracer, or inside a staging trace, the body runs and records. Otherwise the arguments go,
positionally and with hashable statics, to a C++ dispatched function. C++ passes signatures that it
has not seen to `Front.miss`, which traces the body and compiles it.
"""

# hot: benchmarks/eager.py

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np
from xfront_ir.core import Function
from xfront_ir.locations import capture as capture_location
from xfront_ir.types import tensor

from .. import binding
from ..base.holders import held_by
from ..base.trees import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from ..binding.tracebacks import shorten
from ..running import programs
from ..running.keys import SIMPLE, Latest, canonical, plain, signature
from ..running.placement import Placement, placement
from ..tracing import watching
from ..tracing.trace import Trace, is_number, leak_error, state, trace_function, type_of
from ..tracing.tracer import Tracer
from ..values.keys import KeyArray
from .operands import SCALARS, from_numpy, held_array
from .templates import NO_TEMPLATE, Templates

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

ArrayImpl = binding.ArrayImpl

def deepest(args: Sequence[Any], target: Trace | None) -> Trace | None:
    """The deepest among `target` and the traces of tracers in `args`, also of those inside lists
    and tuples and of those that `__jax_array__` returns."""
    for x in args:
        kind = type(x)
        if kind is Tracer:
            if target is None or x.home.level > target.level:
                target = x.home
        elif kind is list or kind is tuple:
            target = deepest(x, target)
        elif kind not in _NO_HOLDERS and hasattr(x, "__jax_array__"):
            target = deepest((held_by(x),), target)
    return target


_NO_HOLDERS = frozenset((ArrayImpl, KeyArray, np.ndarray, int, float, complex, bool, str,
                         type(None), type, slice, dict))
"""Usual types of arguments that hold no tracer."""


def abstract(name: str, x: Any) -> tuple[Any, bool]:
    """IR type and weakness of a concrete leaf of the arguments of a front door.

    Raises: TypeError where it is not an array.
    """
    if type(x) is KeyArray:
        return type_of(x)
    if isinstance(x, binding.ArrayImpl):
        aval = x.aval
        return aval.ir or tensor(aval.shape, from_numpy(aval.dtype)), aval.weak_type
    kind = type(x)
    if kind in SCALARS:
        return tensor((), from_numpy(binding.scalar_dtype(kind))), kind is not bool
    if kind is Tracer:
        raise TypeError(f"{name} requires ndarray or scalar arguments, got a traced array inside "
                        "a container")
    if kind is not np.ndarray:
        binding.refuse_mask(x)
    array = x if isinstance(x, np.ndarray) else np.asarray(x)
    if array.dtype.kind in "OUSMm":
        raise TypeError(f"{name}: {x!r} of type {kind} is not a valid array type")
    if not array.dtype.isnative:                 # C++ would read its bytes in the other order
        raise TypeError(f"{name}: an array of dtype {array.dtype.str} is not in the machine's byte "
                        "order; write x.astype(x.dtype.newbyteorder('='))")
    return tensor(array.shape, from_numpy(binding.canonical_dtype(array.dtype))), is_number(x)


class Front:
    """The compiled side of one public function: traces and compiles what C++ has not seen.

    Leaves are those of the users' trees, where a key array is a leaf; the dispatch trees have its
    words in the same place, so flat positions agree.
    """

    __slots__ = ("__weakref__", "arguments", "body", "compiled", "memo", "name", "static_indices")

    def __init__(self, body: Callable[..., Any], name: str, static_indices: tuple[int, ...],
                 arguments: Sequence[str] = ()) -> None:
        self.body, self.name, self.static_indices = body, name, static_indices
        self.arguments = tuple(arguments) or body.__code__.co_varnames     # the names in errors
        self.memo: Latest[Any, Program] = Latest()

        def uncompiled(*args: Any) -> Any:       # runs where jit is disabled: a body needs a trace
            try:
                return self.miss(*args)[0]
            except BaseException as error:
                shorten(error)
                raise

        self.compiled = binding.make_pjit(name, uncompiled, self.miss, static_indices,
                                          global_cache_key="eager")

    def miss(self, *args: Any) -> tuple:
        """Called from C++: record, or trace, compile and run."""
        target = deepest(args, state.current)
        if target is not None:
            return record(target, self.body, args), None, True
        statics = tuple([(type(args[i]), args[i]) for i in self.static_indices])
        dynamic = [None if i in self.static_indices else x for i, x in enumerate(args)]
        leaves, tree = tree_flatten(dynamic)
        leaves = list(map(held_array, leaves))
        kinds = tuple([abstract(self.name, x) for x in leaves])
        place, committed = placement(leaves, self.name, lambda: self.paths(tree))
        key = signature(statics, tree, kinds, place)
        program = self.memo.get(key)
        if program is None:
            program = self.memo[key] = self.compile(args, tree, kinds, place)
        result, fast = program.call(leaves, committed)
        return result, fast, not program.compiled.is_final

    def paths(self, tree: Any) -> list[str]:
        """The names of the leaves, for errors."""
        filled = tree_unflatten(tree, range(tree.num_leaves))
        return [self.arguments[path[0].idx] + keystr(path[1:])
                for path, _ in tree_flatten_with_path(filled)[0]]

    def compile(self, args: tuple, tree: Any, kinds: tuple, place: Placement) -> Program:
        """The program for leaves of these types."""
        out_tree: Any = None

        def run(tracers: list[Tracer]) -> list[Any]:
            nonlocal out_tree
            dynamic = tree_unflatten(tree, tracers)
            given = [plain(a) if i in self.static_indices else d
                     for i, (a, d) in enumerate(zip(args, dynamic, strict=True))]
            flat, out_tree = tree_flatten(self.body(*given))
            return flat

        traced = trace_function(run, [t for t, _ in kinds], [w for _, w in kinds], name=self.name,
                                kind=self.name, staging=True)
        compiled = programs.compile_body(traced.function, name=self.name, place=place,
                                         n_explicit=len(kinds))
        return Program(compiled, traced.captures, out_tree, traced.function)


class Program:
    """A compiled front door for one signature and placement: the executable, the constants, and the
    structure of the result."""

    __slots__ = ("compiled", "constants", "function", "located", "out_tree")

    def __init__(self, compiled: Any, constants: Sequence[Any], out_tree: Any,
                 function: Function | None, located: bool = False) -> None:
        self.compiled, self.out_tree = compiled, out_tree
        self.constants = compiled.placed(constants)
        self.function, self.located = function, located

    def call(self, leaves: Sequence[Any], committed: bool) -> tuple[Any, Any]:
        """The result for these leaves, committed or not, and the record with which C++ runs the
        next call."""
        compiled = self.compiled
        flat = self.watched(leaves, committed) if watching.is_on() else compiled.run(
            [*self.constants, *leaves], committed)
        result = tree_unflatten(self.out_tree, flat)
        return result, self.fast(result, leaves, committed)

    def watched(self, leaves: Sequence[Any], committed: bool) -> list[Any]:
        """The flat results, after the checks that options ask for."""
        function = self.function
        if function is None:                     # read from bytes: it has no ops to look at
            return self.compiled.run([*self.constants, *leaves], committed)
        n = len(function.params) - len(leaves)   # constants behind those are literals
        return programs.watched_run(
            function.name, function, [*leaves, *self.constants[:n]], self.located,
            lambda: self.compiled.run([*self.constants, *leaves], committed))

    def fast(self, result: Any, leaves: Sequence[Any], committed: bool) -> Any:
        """The record for C++, or None where calls must go through Python, because of effects or of
        arrays that C++ does not move to the program."""
        compiled = self.compiled
        if not compiled.fast or not all(map(compiled.place.is_reached, leaves)):
            return None
        out_leaves, out_tree = binding.dispatch_registry.flatten(result)
        if any([not isinstance(x, ArrayImpl) for x in out_leaves]):
            return None                          # C++ does not make float0 arrays
        n = len(self.constants)
        kept_constants = [c for c, k in zip(self.constants, compiled.kept, strict=False) if k]
        kept = [True] * len(kept_constants) + list(compiled.kept[n:])
        return binding.fastpath(
            compiled.executable.loaded, out_tree, compiled.in_shardings, compiled.out_shardings,
            compiled.out_avals, [committed] * len(compiled.out_avals), kept, kept_constants)


_NO_KEYWORDS: dict[str, Any] = {}


def record_by(templates: Templates, target: Trace, body: Callable[..., Any], args: Sequence[Any]
              ) -> Any:
    """As `record`, by a template of the body where there is one."""
    made = templates.call(target, body, args, _NO_KEYWORDS)
    return record(target, body, args) if made is NO_TEMPLATE else made


def record_deepest(body: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """As `record`, in the deepest of the traces of the arguments and the current one."""
    target = deepest((*args, *kwargs.values()) if kwargs else args, state.current)
    assert target is not None, "an argument is a tracer"
    return record(target, body, args, kwargs)


def record(target: Trace, body: Callable[..., Any], args: Sequence[Any],
           kwargs: dict[str, Any] = _NO_KEYWORDS) -> Any:
    """Run a body so that its operations are recorded in `target`."""
    if target.closed:
        raise leak_error(next(x for x in (*args, *kwargs.values()) if type(x) is Tracer))
    before, place = state.current, state.place
    state.current = target
    if place is None:                            # the ops of the body get the caller's line
        state.place = capture_location(state.scope)
    try:
        return body(*args, **kwargs)
    finally:
        state.current, state.place = before, place


# --- the decorator ------------------------------------------------------------------------

@overload
def eager(body: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def eager(*, static: tuple[str, ...] = (), members: bool = False
          ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def eager(body: Any = None, /, *, static: tuple[str, ...] = (), members: bool = False) -> Any:
    """A public function made from a body that computes on tracers.

    Args:
      body: function of arrays (and lists or tuples of them) and static values, which calls
        `operand` on each array first.
      static: names of the parameters that are not arrays, such as axes, shapes, dtypes and flags.
      members: whether the first argument is a sequence of arrays, which may be of any class.
    """
    if body is None:
        return functools.partial(_eager, static=static, members=members)
    return _eager(body, static=())


def _eager(body: Callable[..., Any], *, static: tuple[str, ...], members: bool = False
           ) -> Callable[..., Any]:
    names, defaults = call_signature(body)
    places = dict(zip(names, range(len(names)), strict=True))
    static_indices = tuple([places[s] for s in static])
    dynamic_indices = tuple([i for i in places.values() if i not in static_indices])
    name = body.__name__.lstrip("_")             # users call a wrapper without the underscore
    call_body = positional(body, names, body.__code__.co_argcount)
    direct = Direct(body, call_body, names, defaults, static_indices)
    most, n_written = direct.most, direct.n_written
    takes_it = "out_sharding" in places
    n_written_out = len(names) if body.__code__.co_argcount == len(names) else -1
    templates = Templates()

    def public(*args: Any, **kwargs: Any) -> Any:
        try:
            if not kwargs and args and type(args[0]) is ArrayImpl and state.current is None:
                if len(args) == 1:                   # most calls are of one or two arrays alone
                    if direct.one is not None:
                        return direct.one(args[0])
                elif len(args) == 2 and direct.two is not None and type(args[1]) in _ARRAYS:
                    return direct.two(args[0], args[1])
            args = (members_of(args[0]), *args[1:]) if members and args else args
            if takes_it and kwargs and kwargs.get("out_sharding") is not None and (
                    made := _with_out_sharding(name, public, args, kwargs)):
                return made[0]
            kind = type(args[0]) if args else None
            if kind is Tracer:                       # Python itself fills in the arguments
                made = templates.call(args[0].home, body, args, kwargs)
                return record_deepest(body, args, kwargs) if made is NO_TEMPLATE else made
            n = len(args)
            if kind in _ARRAYS and n <= n_written and state.current is None and (
                    n == 1 or _ARRAYS.issuperset(map(type, args[1:most]))):
                found = direct.find(args, kwargs)
                if found is not None:
                    return found(*args[:most])
            elif hasattr(kind, "__xfront_call__"):   # elements whose number is not known
                return args[0].__xfront_call__(name, public, args, kwargs)
            full = [*args] if n == n_written_out and not kwargs else direct.complete(args, kwargs)
            target = deepest([full[i] for i in dynamic_indices], state.current) or deepest(
                full if static_indices else (), None)    # a traced size or axis is refused there
            if target is not None:
                return record_by(templates, target, call_body, full)
            return direct.call(full)
        except BaseException as error:
            if found := _of_float0(name, public, args, kwargs, error):
                return found[0]
            shorten(error)
            raise

    functools.update_wrapper(public, body)
    public.body = call_body  # type: ignore[attr-defined]
    return public


def _of_float0(name: str, public: Callable[..., Any], args: tuple, kwargs: dict[str, Any],
               error: BaseException) -> tuple[Any, ...]:
    """The result, in a tuple, where a call failed because its arrays are float0 arrays."""
    if not isinstance(error, TypeError) or "float0" not in str(error):
        return ()
    from .nothing import moved  # seldom needed

    return moved(name, public, args, kwargs)


def members_of(x: Any) -> Any:
    """The members of a sequence of arrays, of any class that knows its length; another value as it
    is."""
    kind = type(x)
    if kind is list or kind is tuple or kind in _NO_HOLDERS or kind is Tracer or isinstance(
            x, (str, bytes)) or not hasattr(kind, "__len__") or hasattr(x, "__array__"):
        return x
    return [*x]


def _with_out_sharding(name: str, public: Callable[..., Any], args: tuple, kwargs: dict[str, Any]
                       ) -> tuple:
    """The result of a call with `out_sharding`, in a tuple of one; an empty tuple if the sharding
    has no mesh axes, as that of one device."""
    from .out_sharding import (  # with the first call that has `out_sharding`
        asked_for,
        with_out_sharding,
    )

    asked = asked_for(name, kwargs["out_sharding"])
    if asked is None:
        return ()
    return (with_out_sharding(name, asked, public, args, {**kwargs, "out_sharding": None}),)


def takes_out_sharding(name: str) -> Callable[[F], F]:
    """A decorator for functions whose last parameter is `out_sharding`: where that names several
    devices, the function runs without it, and its result is placed afterwards."""
    def wrap(function: F) -> F:
        code = function.__code__
        place = code.co_varnames.index("out_sharding")
        by_position = place < code.co_argcount

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            given = by_position and len(args) > place
            sharding = args[place] if given else kwargs.get("out_sharding")
            if sharding is None:
                return function(*args, **kwargs)
            args, kwargs = args[:place] if given else args, {**kwargs, "out_sharding": sharding}
            made = _with_out_sharding(name, function, args, kwargs)
            return made[0] if made else function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    return wrap


MOST_OF_ONE = 256
"""The greatest number of combinations of static arguments of one function that get a C++ function
of their own, which need not compare them."""

_ARRAYS = frozenset((ArrayImpl, KeyArray, np.ndarray, int, float, complex, bool))
"""Types of arguments at the front that C++ takes as they are."""


def completed(body: Callable[..., Any], places: dict[str, int], defaults: tuple, n_positional: int,
              args: tuple, kwargs: dict[str, Any]) -> list[Any]:
    """All arguments of a call in the order of `places`. Raises: TypeError, as Python does."""
    given = len(args)
    if given > n_positional:
        body(*args, **kwargs)                    # raises Python's TypeError
    full = [*args, *defaults[given:]]
    for k, v in kwargs.items():
        i = places.get(k, -1)
        if i < given:
            body(*args, **kwargs)                # unknown or given twice: raises too
        full[i] = v
    if any([x is MISSING for x in full]):
        body(*args, **kwargs)                    # an argument is missing: raises too
    return full


class Direct:
    """The C++ functions for calls of one public function with arrays at the front.

    There is one for each combination of the other arguments, whose values are fixed in it: so C++
    compares the arrays alone, and defaults that are numbers are literals of the program. All other
    calls share one C++ function, which compares the other arguments too."""

    __slots__ = ("any", "call_body", "complete", "most", "n_written", "name", "names", "one",
                 "static", "static_indices", "table", "two")

    def __init__(self, body: Callable[..., Any], call_body: Callable[..., Any], names: list[str],
                 defaults: tuple, static_indices: tuple[int, ...]) -> None:
        n_positional = body.__code__.co_argcount  # type: ignore[attr-defined]
        self.call_body, self.names, self.static_indices = call_body, names, static_indices
        self.static = frozenset([names[i] for i in static_indices])
        self.name = body.__name__.lstrip("_")
        self.complete = functools.partial(
            completed, body, dict(zip(names, range(len(names)), strict=True)), defaults,
            n_positional)
        self.most, self.n_written = _leading(names[:n_positional], self.static)
        self.table: Latest[Any, Any] = Latest(MOST_OF_ONE)     # of tuples: by the types inside
        self.one: Any = None                     # the function of one array without other arguments
        self.two: Any = None                     # that of two arrays
        self.any: Any = None                     # the one that compares the other arguments

    def call(self, full: list[Any]) -> Any:
        """The result for all arguments, by the C++ function that compares the static ones."""
        for i in self.static_indices:
            full[i] = canonical(full[i])
        if self.any is None:
            self.any = Front(self.call_body, self.name, self.static_indices, self.names).compiled
        return self.any(*full)

    def find(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The C++ function of the arrays at the front, at most `most`, for these other arguments;
        None where one of them is not simple."""
        most = self.most
        key: Any = len(args)
        if key > most:
            key = most
            for x in args[most:]:
                key = key, x, type(x)            # 1 and True differ
        for k, x in kwargs.items():
            key = key, k, x, type(x)
        try:
            found = self.table.get(key)
        except TypeError:                        # a list has no hash
            return None
        return self.make(key, args, kwargs) if found is None or type(found) is dict else found

    def make(self, key: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """As `find`, for a key that is not in the table, or whose entry is a table by the types
        inside tuples."""
        kinds = _kinds((*args[self.most:], *kwargs.values()))
        if kinds is None or not self.static.issuperset(kwargs):
            return None
        found = self.table.get(key, {}).get(kinds)
        if found is not None:
            return found
        arrays = min(len(args), self.most)
        made = self.front(self.complete(args, kwargs)[arrays:], self.names[:arrays])
        if any([type(k) is tuple for k in kinds]):
            self.table[key] = {**self.table.get(key, {}), kinds: made}
        else:
            self.table[key] = made
        if key == 1:
            self.one = made
        elif key == 2:
            self.two = made
        return made

    def front(self, others: list[Any], arrays: list[str]) -> Any:
        """A C++ function of arrays with these names, and the other arguments fixed."""
        body = self.call_body

        def of_arrays(*args: Any) -> Any:
            return body(*args, *others)

        return Front(of_arrays, self.name, (), arrays).compiled


def _leading(names: Sequence[str], static: frozenset[str]) -> tuple[int, int]:
    """Two numbers about positional parameters: how many at the front are arrays, and how many
    parameters precede the next array after these; (0, 0) if the first parameter is static."""
    kinds = [n in static for n in names]
    n_arrays = kinds.index(True) if True in kinds else len(kinds)
    behind = kinds[n_arrays:]
    n_statics = behind.index(False) if False in behind else len(behind)
    return (n_arrays, n_arrays + n_statics) if n_arrays else (0, 0)


def _kinds(statics: tuple) -> tuple | None:
    """The types of static arguments, and of the elements of those that are tuples; None if one of
    these types is not in `SIMPLE`."""
    kinds = tuple([tuple(map(type, x)) if type(x) is tuple else type(x) for x in statics])
    simple = [SIMPLE.issuperset(k) if type(k) is tuple else k in SIMPLE for k in kinds]
    return kinds if all(simple) else None


MISSING = inspect.Parameter.empty


def call_signature(body: Callable[..., Any]) -> tuple[list[str], tuple]:
    """Names of the parameters in order (keyword-only ones last), and a default for each."""
    code = body.__code__  # type: ignore[attr-defined]
    n_keyword = code.co_kwonlyargcount
    names = list(code.co_varnames[: code.co_argcount + n_keyword])
    given = body.__defaults__ or ()  # type: ignore[attr-defined]
    defaults = [MISSING] * (code.co_argcount - len(given)) + list(given)
    by_keyword = body.__kwdefaults__ or {}  # type: ignore[attr-defined]
    defaults += [by_keyword.get(n, MISSING) for n in names[code.co_argcount:]]
    return names, tuple(defaults)


def positional(body: Callable[..., Any], names: list[str], n_positional: int) -> Callable[..., Any]:
    """`body` as a function that takes its keyword-only parameters by position too."""
    keywords = names[n_positional:]
    if not keywords:
        return body

    def call(*full: Any) -> Any:
        return body(*full[:n_positional], **dict(zip(keywords, full[n_positional:], strict=True)))

    return call


def by_name(function: Callable[..., R], *names: str) -> Callable[..., R]:
    """`function` with parameters that may also be given by these names."""
    signature = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                                   for n in names])

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> R:
        return function(*(signature.bind(*args, **kwargs).args if kwargs else args))

    public.__signature__ = signature  # type: ignore[attr-defined]
    return public
