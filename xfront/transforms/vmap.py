"""vmap: a function of one example becomes a function of many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ParamSpec, TypeVar

from xfront_ir import ops
from xfront_ir.core import Function
from xfront_ir.opdef import Request
from xfront_ir.passes.requests import VECTORIZE
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.sharding import DividedBatch, Sharding, Spec

from ..base.on_demand import above
from ..base.trees import (
    broadcast_prefix,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    tree_unflatten,
)
from ..binding.tracebacks import front_door
from ..running.programs import bind
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from ..values.arguments import only
from .flat import Flat, as_operand, kind_of, name_of, placed, positional_names, trace_call
from .structs import filled
from .vmappable import RULES, Apart, Results, holds_vmappable, is_spec

P = ParamSpec("P")
R = TypeVar("R")

def _axes_of(axes: Any, tree: Any, what: str, name: str) -> list[int | None]:
    """An axis (or None) for each leaf of `tree`. Raises: ValueError, TypeError."""
    if axes is None or type(axes) is int:
        return [axes] * len(tree_flatten(tree)[0])
    if type(axes) is tuple is type(tree) and len(axes) == len(tree) and all(
            [a is None or type(a) is int for a in axes]):
        return [a for a, part in zip(axes, tree, strict=True) for _ in tree_flatten(part)[0]]
    try:
        flat = broadcast_prefix(axes, tree, is_leaf=lambda x: x is None or is_spec(x))
    except ValueError:
        from ..base.tree_errors import first_difference, skeleton  # an error's costs

        structure = tree_structure(tree)
        where = first_difference(axes, skeleton(structure), None, what)
        raise ValueError(f"vmap {what} specification must be a tree prefix of the corresponding "
                         f"value, got specification {axes!r} for {name}, whose value has the "
                         f"structure {structure}; {where}") from None
    for a in flat:
        if a is not None and not hasattr(a, "__index__"):
            raise TypeError(f"vmap {what} of {name}: an array has an int or None for its axis, got "
                            f"{a!r}")
    return [None if a is None else int(a) for a in flat]


def _ask_nodes(tree: Any, axes: Sequence[int | None]) -> None:
    """Ask node classes with a `check_mapped` whether these axes of their leaves may be mapped."""
    if not any(axes):
        return
    at = 0
    for node in tree_flatten(tree, is_leaf=lambda x: hasattr(type(x), "check_mapped"))[0]:
        count = len(tree_flatten(node)[0])
        if hasattr(type(node), "check_mapped"):
            node.check_mapped(axes[at:at + count])
        at += count


def _check_axes(in_axes: Any, out_axes: Any) -> None:
    """Refuse trees of axes in which one is not an int. Raises: TypeError."""
    for axes, what in ((in_axes, "in_axes"), (out_axes, "out_axes")):
        if axes is None or type(axes) is int:
            continue
        for a in tree_flatten(axes, is_leaf=is_spec if RULES else None)[0]:
            if isinstance(a, bool) or not (hasattr(a, "__index__") or is_spec(a)):
                raise TypeError(f"vmap {what} must be an int, None, or a tree of them, got "
                                f"{axes!r}")
    if not (in_axes is None or isinstance(in_axes, tuple) or hasattr(in_axes, "__index__")
            or is_spec(in_axes)):
        raise TypeError(f"vmap in_axes must be an int, None, or a tuple of entries corresponding "
                        f"to the positional arguments passed to the function, but got {in_axes!r}.")


def vmap(fun: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0,
         axis_name: Hashable | None = None, axis_size: int | None = None,
         spmd_axis_name: str | tuple[str, ...] | None = None, sum_match: bool = False, *,
         chunk: int | None = None
         ) -> Callable[P, R]:
    """A function that maps `fun` over an axis of its arguments, as one program.

    Args:
      fun: a function of one example, of arrays and trees.
      in_axes: which axis of each positional argument is mapped, by default axis 0: an int, None
        (not mapped), or a tuple or list with an entry for each argument, which is a tree prefix of
        the argument. Keyword arguments are mapped over axis 0.
      out_axes: position of the mapped axis in the results, by default 0: an int, None for results
        that do not depend on the example, or a tree prefix of the result.
      axis_name: a name for the axis, for collectives such as `lax.psum` in `fun`; None gives none.
      axis_size: size of the mapped axis; needed only where no argument is mapped.
      spmd_axis_name: name of a mesh axis, or a tuple of names. Where `fun` says how values lie, in
        its sharding constraints and its `shard_map`s, the batch (with `chunk`, each chunk) is
        divided over these axes.
      sum_match: False only; other values concern results that are sums over devices.
      chunk: largest number of examples to be mapped at once; None maps all. The chunks run one
        after the other in a scan, with the same result and the memory of one chunk. The size need
        not be a multiple of it. Not with `axis_name`: a collective is over all examples.
    Returns: a function of arguments with the mapped axis. A call raises ValueError where sizes or
      axes do not fit the arguments or results, TypeError where a mapped argument is not an array.
    Raises: TypeError where an axis, `chunk` or `spmd_axis_name` is of the wrong type; ValueError
      for `chunk` below 1 or with `axis_name`; NotImplementedError for `sum_match`.

    >>> xfront.vmap(jnp.dot)(jnp.eye(2), jnp.ones((2, 2)))
    Array([1., 1.], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"vmap: expected a function, got {fun!r}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    name = name_of(fun)
    _check_arguments(name, in_axes, out_axes, axis_name, sum_match, chunk)
    spread = () if spmd_axis_name is None else _spmd_axes(name, spmd_axis_name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(f"vmap in_axes must be an int, None, or a tuple of entries "
                             f"corresponding to the positional arguments passed to the function, "
                             f"but got len(in_axes)={len(in_axes)}, len(args)={len(args)}")
        if RULES and holds_vmappable((args, kwargs)):
            return _of_types(fun, args, kwargs, in_axes, chunk, functools.partial(
                vmap, out_axes=out_axes, axis_name=axis_name, axis_size=axis_size,
                spmd_axis_name=spmd_axis_name))
        leaves, tree = tree_flatten((args, kwargs))
        axes = [0] * len(leaves) if in_axes == 0 and type(in_axes) is int else [
            *_axes_of(in_axes, args, "in_axes", name),
            *[0] * (len(leaves) - len(tree_flatten(args)[0]))]
        _ask_nodes(args, axes)
        kinds, positions, size = [], [], axis_size
        taken: list[tuple[Any, int]] = []
        divided = False
        for k, (x, a) in enumerate(zip(leaves, axes, strict=True)):
            if a is None:
                continue
            t, weak = kind_of("vmap", x)
            if not -t.ndim <= a < t.ndim:
                _refuse_axis(fun, args, kwargs, k, a, t)
            a %= t.ndim
            if size is not None and t.shape[a] != size:
                _refuse_sizes(fun, args, kwargs, axes, axis_size)
            size = t.shape[a]
            kinds.append((t.without(a), weak))
            taken.append((t, a))
            divided = divided or t.sharding is not None
            positions.append(a)
        if size is None or divided:
            size = _checked_batch(name, size, taken, spread)
        if chunk is not None and positions and size > chunk:
            return _by_chunks(fun, tree, leaves, axes, out_axes, size, chunk, spread)
        mapped = [k for k, a in enumerate(axes) if a is not None]
        bound = axis_name if axis_name is not None else ("vmap", len(state.stack))
        axis = DividedBatch(bound, size, spread) if spread else (bound, size)
        results = Results(out_axes, name) if RULES else None

        def call(tracers: list[Tracer]) -> Any:
            filled = list(leaves)
            for k, t in zip(mapped, tracers, strict=True):
                filled[k] = t
            inner: Any = fun
            inner_args, inner_kwargs = tree_unflatten(tree, filled)
            made = inner(*inner_args, **inner_kwargs)
            return results.arrays(made, size) if results else made

        given = list(map(leaves.__getitem__, mapped))
        flat = trace_call(call, kinds, name=name, kind="vmap", staging=False, axis=axis,
                          origins=given)
        function = flat.function
        out = _out_axes(name, results.axes if results else out_axes, flat)
        if None in out:
            _check_unbatched(fun, flat, positions, axis, out)
        request = Request("vectorize", tuple(positions), axis, out)
        operands = [*map(as_operand, given), *flat.captures]
        made = tree_unflatten(flat.out_tree, _mapped(function, request, operands, taken))
        return results.together(made) if results else made

    made = front_door(wrapped, fun)
    own = fun.__doc__
    made.__doc__ = (
        f"{name}, mapped over an axis of its arguments: it takes these with one more axis."
        f"{f'{_ORIGINAL}{own}' if own else ''}")
    return made


_ORIGINAL = "\n\nOriginal documentation:\n\n"


def _of_types(fun: Callable[..., Any], args: tuple, kwargs: dict, in_axes: Any, chunk: Any,
              mapped: Callable[..., Any]) -> Any:
    """A call where arguments are of types with rules of their own, by a call of their arrays."""
    name = name_of(fun)
    if chunk is not None:
        raise NotImplementedError(f"vmap of {name}: chunk={chunk} cannot be combined with values "
                                  "of types that have batching rules of their own")
    wanted = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    apart = Apart((args, kwargs), (wanted, 0), None, "in_axes", name)

    @functools.wraps(fun)
    def flat(*arrays: Any) -> Any:
        inner_args, inner_kwargs = apart.together(arrays)
        return fun(*inner_args, **inner_kwargs)

    arrays, axes = zip(*apart.steps, strict=True)
    return mapped(flat, axes)(*arrays)


def _checked_batch(name: str, size: int | None, taken: list, spread: tuple) -> int:
    """The size of a batch. Raises: ValueError where it is unknown, or where explicit axes divide
    the mapped dimension of two arguments differently, or are not those of `spmd_axis_name`."""
    if size is None:
        raise ValueError(f"vmap of {name} must have at least one non-None value in in_axes, "
                         "or an axis_size")
    for t, a in taken:
        first = taken[0][0].dims[taken[0][1]]
        if spread and t.dims[a] and tuple(t.dims[a]) != spread:
            raise ValueError("Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis "
                             f"type is allowed. Got spmd_axis_name={spread} and arrays sharded on "
                             f"explicit_mesh_axis={tuple(t.dims[a])}")
        if t.dims[a] != first:
            shown = [" and ".join(axes) or "None" for axes in (first, t.dims[a])]
            raise ValueError("Mapped away dimension of inputs passed to vmap should be sharded the "
                             f"same. Got inconsistent axis specs: {shown[0]} vs {shown[1]}; "
                             "reshard one of them, `xfront.sharding.reshard(x, P(...))`")
    return size


def _mapped(function: Function, request: Request, given: list, taken: list) -> list[Any]:
    """The results over a batch.

    `taken` are the types of the mapped arguments, each with its mapped dimension. Where there are
    explicit axes, they divide results as they do for one example, the batch as in the arguments.
    """
    body = VECTORIZE.pending(function, request)
    sharding = None
    for t in (*[t for t, _ in taken], *[v.type for v in function.returns]):
        if sharding is None and t.sharding is not None and t.sharding.mesh.names and (
                not t.is_manual):
            sharding = t.sharding
    if sharding is None:
        return bind(body, given, name=function.name)
    mesh = sharding.mesh
    along = taken[0][0].dims[taken[0][1]] if taken else ()

    def run(given: tuple, _: dict) -> list[Any]:
        results = list(bind(body, given, name=function.name))
        for i, (v, o) in enumerate(zip(function.returns, request.details[2], strict=True)):
            dims = list(v.type.dims)
            if o is not None:
                dims.insert(o, along)
            held = v.type.sharding
            sums = (held.spec.unreduced, held.spec.reduced) if held is not None else ((), ())
            if any(dims) or any(sums):
                results[i] = emit(ops.reshard, results[i],
                                  sharding=Sharding(mesh, Spec(dims, (), *sums), v.type.memory))
        return results

    from ..eager.out_sharding import in_a_trace  # with the first explicit axes

    return in_a_trace(function.name, run, tuple(given), {})


def _check_arguments(name: str, in_axes: Any, out_axes: Any, axis_name: Any, sum_match: Any,
                     chunk: Any) -> None:
    if type(in_axes) is not int or type(out_axes) is not int:
        _check_axes(in_axes, out_axes)
    if sum_match is not False:
        only("vmap", False, "the results of vmap are never sums over devices", sum_match=sum_match)
    if chunk is not None:
        _check_chunk(name, chunk, axis_name)


def _spmd_axes(name: str, spmd_axis_name: Any) -> tuple[str, ...]:
    """The axes of a mesh over which the batch is to be divided. Raises: TypeError."""
    names = (spmd_axis_name,) if isinstance(spmd_axis_name, str) else spmd_axis_name
    if not isinstance(names, tuple) or not all([isinstance(a, str) for a in names]):
        raise TypeError(f"vmap of {name}: spmd_axis_name must be the name of a mesh axis or a "
                        f"tuple of such names, got {spmd_axis_name!r}")
    return names


def _check_chunk(name: str, chunk: Any, axis_name: Any) -> None:
    if type(chunk) is bool or not hasattr(chunk, "__index__"):
        raise TypeError(f"vmap of {name}: chunk must be a number of examples (an int), got "
                        f"{chunk!r}")
    if chunk < 1:
        raise ValueError(f"vmap of {name}: chunk must be at least 1, got {chunk}")
    if axis_name is not None:
        raise ValueError(f"vmap of {name}: chunk={chunk} and axis_name={axis_name!r} cannot be "
                         "combined: a collective would only see the examples of one chunk")


def _by_chunks(fun: Callable[..., Any], tree: Any, leaves: list, axes: Sequence[int | None],
               out_axes: Any, size: int, chunk: int, spread: tuple[str, ...]) -> Any:
    @functools.wraps(fun)
    def flat(*leaves: Any) -> Any:
        args, kwargs = tree_unflatten(tree, leaves)
        made = fun(*args, **kwargs)
        if holds_vmappable(made):
            raise NotImplementedError(f"vmap of {name_of(fun)}: chunk={chunk} cannot be combined "
                                      "with results of types that have batching rules of their own")
        return made

    many = vmap(flat, tuple(axes), out_axes, spmd_axis_name=spread or None)

    def part(leaves: list[Any]) -> tuple[Any, list[int | None]]:
        made = many(*leaves)
        wanted = _axes_of(out_axes, made, "out_axes", name_of(fun))
        return made, [None if o is None else o % y.ndim
                      for o, y in zip(wanted, tree_flatten(made)[0], strict=True)]

    positive = [a if a is None else a % kind_of("vmap", x)[0].ndim
                for a, x in zip(axes, leaves, strict=True)]
    return above("chunks").in_chunks(part, leaves, positive, size, int(chunk))


def _out_axes(name: str, axes: Any, flat: Flat) -> tuple[int | None, ...]:
    """The position of the mapped axis in each result, counted from the front, or None."""
    returns = flat.function.returns
    if type(axes) is int and axes == 0:
        wanted = [0] * len(returns)
    else:
        shape = filled(flat.out_tree, [v.type for v in returns])
        wanted = _axes_of(axes, shape, "out_axes", name)
        _ask_nodes(shape, wanted)
    return tuple([o if o is None or 0 <= o <= v.type.ndim else _out_axis(name, o, v.type)
                  for o, v in zip(wanted, returns, strict=True)])


def _out_axis(name: str, axis: int, t: Any) -> int:
    ndim = t.ndim + 1
    if not -ndim <= axis < ndim:
        raise ValueError(f"vmap out_axes {axis} is out of bounds for a result of {name} of type "
                         f"{t}, which has {ndim} axes with the mapped one")
    return axis % ndim


def _check_unbatched(fun: Any, flat: Flat, positions: list, axis: Any, out: tuple) -> None:
    """Refuse out_axes=None for a result that depends on the mapped axis. Raises: ValueError."""
    function = flat.function
    every = (*positions, *[None] * (len(function.params) - len(positions)))
    _, natural = vectorize(function, every, axis)
    for k, (o, p) in enumerate(zip(out, natural, strict=True)):
        if o is None and p is not None:
            paths = tree_flatten_with_path(filled(flat.out_tree, function.return_types))[0]
            at = keystr(paths[k][0])
            raise ValueError(f"at vmap out_axes{at}, got axis spec None but output was batched on "
                             f"axis {p}: result{at} of {placed(fun)} depends on the mapped axis, "
                             "and out_axes is None for it; give it an axis in out_axes")


def _refuse_axis(fun: Any, args: Any, kwargs: Any, k: int, axis: int, t: Any) -> None:
    path = tree_flatten_with_path((args, kwargs))[0][k][0]
    rank = abs(axis) + (axis >= 0)
    raise ValueError(f"vmap was requested to map its argument along axis {axis}, which implies "
                     f"that its rank should be at least {rank}, but {_where(fun, path)} of "
                     f"{placed(fun)} has type {t}")


def _refuse_sizes(fun: Any, args: Any, kwargs: Any, axes: list, axis_size: int | None) -> None:
    by_size: dict[int, list[str]] = {}
    for (path, x), a in zip(tree_flatten_with_path((args, kwargs))[0], axes, strict=True):
        if a is not None:
            t, _ = kind_of("vmap", x)
            by_size.setdefault(t.shape[a], []).append(
                f"axis {a} of {_where(fun, path)} of type {t}")
    lines = [] if axis_size is None else [f"the `axis_size` argument was {axis_size}"]
    most = "most"
    for size, places in sorted(by_size.items(), key=lambda pair: -len(pair[1])):
        if len(places) == 1:
            lines.append(f"one axis had size {size}: {places[0]}")
        else:
            lines.append(f"{most} axes ({len(places)} of them) had size {size}, e.g. {places[0]}")
        most = "some"
    raise ValueError("vmap got inconsistent sizes for array axes to be mapped:\n  * "
                     + ";\n  * ".join(lines) + f"\nThe mapped function is {placed(fun)}.")


def _where(fun: Any, path: tuple) -> str:
    """An argument or a part of it in words, with its name in the function's signature."""
    if path[0].idx != 0:
        return f"keyword argument {path[1].key}{keystr(path[2:])}"
    names = positional_names(fun)
    place = path[1].idx
    name = names[place] if place < len(names) else f"number {place}"
    return f"argument {name}{keystr(path[2:])}"
