"""pmap: a function of one example, run on as many devices as there are examples.

This is a front door only: for each number of devices, it makes once a mesh of one axis, a
`shard_map` over it without `check_vma`, and a `jit` of that. Arguments are looked at in the first
call of a signature; C++ runs later ones by the record of that `jit`.
"""

# hot: benchmarks/sharding.py

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from lowering import clients
from xfront_ir import ops

from .. import binding
from ..base.dtypes import float0
from ..base.trees import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ..binding.partition_spec import PartitionSpec
from ..binding.tracebacks import front_door, named_after
from ..sharding.errors import IndivisibleError
from ..sharding.mesh import Mesh
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from .across_processes import is_of_several, joined, local_part, own_part
from .flat import kind_of, name_of, positions
from .jit import jit
from .shard_map import Mapped
from .vmap import _axes_of, _check_axes

UNNAMED = "_internal_pmap_axis_name"


@front_door
def pmap(fun: Callable[..., Any], axis_name: Hashable | None = None, *, in_axes: Any = 0,
         out_axes: Any = 0, static_broadcasted_argnums: int | Iterable[int] = (),
         devices: Sequence[Any] | None = None, backend: str | None = None,
         axis_size: int | None = None, donate_argnums: int | Iterable[int] = ()
        ) -> Callable[..., Any]:
    """A function that maps `fun` over an axis of its arguments, each element on its own device.

    Args:
      fun: a function of one element of arrays, and of trees of them.
      axis_name: a name for the axis, a string, for collectives in `fun`; None gives it no name.
      in_axes: which axis of each positional argument is mapped, by default axis 0: an int, None
        (every device has the whole argument), or a tuple or list with an entry for each argument,
        which is a tree prefix of the argument. Keyword arguments are mapped over axis 0.
      out_axes: position of the mapped axis in the results, by default 0; an int, None or a tree
        prefix of the result. For None, the result is that of one device.
      static_broadcasted_argnums: positions of arguments that are part of the program by value.
      devices: sequence of devices, of which the first are used, one for each element; None means
        the local ones, and with several processes the devices of all. Where they belong to several
        processes, each passes the elements of its own devices and gets their results, and
        collectives go over the elements of all; in the trace of another function a call is on the
        local devices.
      backend: name of the platform whose devices are used; None takes the default one.
      axis_size: number of elements, those of all processes; None reads it off the arguments.
      donate_argnums: positions of donated arguments, as for `jit`.
    Returns: a compiled function; its results have a NamedSharding over the axis. A call raises
      ValueError where sizes do not agree or do not fit the number of devices.
    Raises: TypeError where an axis or `axis_size` is not an int, or `backend` not a string;
      ValueError for both `devices` and `backend`; NotImplementedError for an axis name that is not
      a string.

    >>> mean = xfront.pmap(lambda x: lax.pmean(x, "i"), axis_name="i")
    >>> mean(jnp.array([[1., 2.]]))
    Array([[1., 2.]], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"pmap: expected a function, got {fun!r}")
    if axis_name is not None and not isinstance(axis_name, str):
        raise NotImplementedError(f"pmap: axis_name must be a string, got {axis_name!r}")
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"pmap: backend must be the name of a platform or None, got {backend!r}")
    if axis_size is not None and type(axis_size) is not int:
        raise TypeError(f"pmap: axis_size must be an int or None, got {axis_size!r}")
    if devices is not None and backend is not None:
        raise ValueError("pmap: devices and backend cannot both be given, since each says where "
                         "the function runs")
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    _check_axes(in_axes, out_axes)
    _, static = positions("pmap: static_broadcasted_argnums", static_broadcasted_argnums)
    _, donated = positions("pmap: donate_argnums", donate_argnums)
    made = _Parallel(fun, axis_name or UNNAMED, in_axes, out_axes, static,
                     None if devices is None else tuple(devices), backend, axis_size, donated)
    return made.function()


class _Parallel:
    """The Python side of one function that `pmap` returns."""

    def __init__(self, fun: Callable[..., Any], axis_name: str, in_axes: Any, out_axes: Any,
                 static: tuple[int, ...], devices: Any, backend: str | None,
                 axis_size: int | None, donated: tuple[int, ...]) -> None:
        self.fun, self.axis_name, self.name = fun, axis_name, name_of(fun)
        self.in_axes, self.out_axes, self.static = in_axes, out_axes, static
        self.devices, self.backend, self.size, self.donated = devices, backend, axis_size, donated
        self.compiled: dict[int, Any] = {}
        self.compiled_across: dict[Mesh, Any] = {}

    def function(self) -> Any:
        """The callable that users get. It holds this object, which must not hold it, as in `jit`.
        """
        @functools.wraps(self.fun)               # C++ asks it for the signature
        def call(*args: Any, **kwargs: Any) -> Any:
            mesh = self.across(args, kwargs)
            return self.chosen(args, kwargs)(*args, **kwargs) if mesh is None else (
                self.call_across(mesh, args, kwargs))

        made: Any = call
        if not (self.static or self.donated):    # with these, `jit` has more to do at each call
            made = binding.make_pjit(self.name, call, self.miss, global_cache_key=object())
        named_after(made, self.fun)
        own = weakref.ref(made)

        def clear_cache() -> None:
            self.compiled.clear()
            self.compiled_across.clear()
            if (there := own()) is not call and there is not None:
                there._clear_cache()

        def stage(name: str) -> Callable[..., Any]:
            def run(*args: Any, **kwargs: Any) -> Any:
                if name != "eval_shape" and self.across(args, kwargs) is not None:
                    raise NotImplementedError(
                        f"pmap of {self.name}: {name} is not there over devices of several "
                        "processes; use shard_map over a mesh of them, under jit")
                return getattr(self.chosen(args, kwargs), name)(*args, **kwargs)

            return run

        binding.give_stages(made, clear_cache=clear_cache, **{
            name: stage(name) for name in ("lower", "trace", "eval_shape")})
        return made

    def miss(self, *args: Any, **kwargs: Any) -> tuple:
        """Called from C++ with arguments of a new signature."""
        mesh = self.across(args, kwargs)
        if mesh is not None:
            return self.call_across(mesh, args, kwargs), None, True
        return self.chosen(args, kwargs)._jitted.miss(*args, **kwargs)

    def across(self, args: tuple, kwargs: dict) -> Mesh | None:
        """The mesh of devices of several processes on which a call runs; None where the devices
        are this process's, and in the trace of another function, which is this process's.

        Raises: ValueError where this process has none of them.
        """
        if clients.processes() is None or state.current is not None or any(
                [type(x) is Tracer for x in tree_leaves((args, kwargs))]):
            return None
        from ..eager.devices import devices  # stands beside this package

        chosen = devices(self.backend) if self.devices is None else self.devices
        mesh = Mesh(np.array(chosen[:self.size], object), (self.axis_name,))
        if not mesh.is_multi_process:
            return None
        if local_part(mesh) is None:
            raise ValueError(f"pmap of {self.name}: this process drives none of the devices "
                             f"{[d.id for d in mesh.devices.flat]}; only those that do can call it")
        return mesh

    def call_across(self, mesh: Mesh, args: tuple, kwargs: dict) -> Any:
        """Run on devices of several processes, each of which passes the elements of its own.

        Raises: IndivisibleError, a ValueError, where this process passes another number of
          elements than it has devices.
        """
        local = local_part(mesh)
        assert local is not None
        leaves, axes = self.axes(args, kwargs)
        whole = any([a is not None and is_of_several(x)
                     for x, a in zip(leaves, axes, strict=True)])
        n, wanted = self.count(args, kwargs, None), (mesh if whole else local).size
        if n != wanted:
            raise IndivisibleError(
                f"pmap of {self.name}: over devices of several processes each passes the elements "
                f"of its own devices, of which this one has {local.size}, or arrays of all "
                f"{mesh.size}, but got {n} elements")
        statics = {i % len(args): args[i % len(args)] for i in self.static
                   if -len(args) <= i < len(args)}
        given = [x for i, x in enumerate(args) if i not in statics]
        tree = tree_flatten((given, kwargs))[1]
        inner, named = tree_unflatten(tree, [
            joined(x, mesh, local, self.spec(None if a is None else a % np.ndim(x)))
            for x, a in zip(leaves, axes, strict=True)])
        full = list(inner)
        for i in sorted(statics):
            full.insert(i, statics[i])
        compiled = self.compiled_across.get(mesh)
        if compiled is None:
            compiled = self.compiled_across[mesh] = self.jitted_on(mesh)
        return tree_map(lambda y: own_part(y, mesh, local), compiled(*full, **named))

    def chosen(self, args: tuple, kwargs: dict) -> Any:
        """The compiled function for as many elements as these arguments have."""
        return self.of_size(self.count(args, kwargs, self.size))

    def axes(self, args: tuple, kwargs: dict) -> tuple[list[Any], list[int | None]]:
        """The leaves of all arguments but static ones, and the mapped axis of each or None."""
        if isinstance(self.in_axes, tuple) and len(self.in_axes) != len(args):
            raise ValueError(f"pmap of {self.name}: in_axes has {len(self.in_axes)} entries for "
                             f"{len(args)} positional arguments")
        statics = {i % len(args) for i in self.static if -len(args) <= i < len(args)}
        leaves: list[Any] = []
        axes: list[int | None] = []
        for i, x in enumerate(args):
            if i in statics:
                continue
            wanted = self.in_axes[i] if isinstance(self.in_axes, tuple) else self.in_axes
            axes += _axes_of(wanted, x, "in_axes", self.name)
            leaves += tree_flatten(x)[0]
        more = tree_flatten(kwargs)[0]
        return [*leaves, *more], [*axes, *[0] * len(more)]

    def count(self, args: tuple, kwargs: dict, size: int | None) -> int:
        """The number of elements, which is `size` unless that is None. Raises: ValueError where
        there is none, or it is out of bounds; IndivisibleError, a ValueError, where arguments do
        not agree."""
        for x, a in zip(*self.axes(args, kwargs), strict=True):
            if a is None:
                continue
            t, _ = kind_of(self.name, x)
            if not -t.ndim <= a < t.ndim:
                raise ValueError(f"pmap of {self.name}: axis {a} is out of bounds for an argument "
                                 f"of type {t}")
            if size is not None and t.shape[a] != size:
                raise IndivisibleError(
                    f"pmap got inconsistent sizes for array axes to be mapped in {self.name}: "
                    f"{size} and {t.shape[a]}, in an argument of type {t}")
            size = t.shape[a]
        if size is None:
            raise ValueError(f"pmap of {self.name} must have at least one non-None value in "
                             "in_axes, or an axis_size")
        return size

    def of_size(self, n: int) -> Any:
        """The compiled function for n elements, on the first n of the given devices or of the local
        ones. Raises: IndivisibleError, a ValueError, where there are fewer."""
        found = self.compiled.get(n)
        if found is None:
            there = self.devices
            if there is None:
                from ..eager.devices import local_devices  # stands beside this package

                there = local_devices(backend=self.backend)
            if n > len(there):
                raise IndivisibleError(
                    f"pmap of {self.name}: compiling computation that requires {n} logical "
                    f"devices, but {len(there)} XLA devices are available")
            array = np.empty(n, object)
            array[:] = there[:n]
            found = self.compiled[n] = self.jitted_on(Mesh(array, (self.axis_name,)))
        return found

    def jitted_on(self, mesh: Mesh) -> Any:
        """The compiled function on a mesh."""
        @functools.wraps(self.fun)
        def on_all_devices(*args: Any, **kwargs: Any) -> Any:
            statics = {i % len(args): args[i % len(args)] for i in self.static
                       if -len(args) <= i < len(args)}
            given = [x for i, x in enumerate(args) if i not in statics]
            tree = tree_flatten((given, kwargs))[1]
            leaves, axes = self.axes(args, kwargs)
            places = [None if a is None else a % x.ndim for x, a in zip(leaves, axes, strict=True)]
            out_tree: Any = None
            nothing: dict[int, np.ndarray] = {}      # results without values, by number

            def part(*parts: Any) -> list:
                nonlocal out_tree
                own = [x if p is None else _without(x, p)
                       for x, p in zip(parts, places, strict=True)]
                inner, named = tree_unflatten(tree, own)
                full = list(inner)
                for i in sorted(statics):
                    full.insert(i, statics[i])
                result = self.fun(*full, **named)
                made, out_tree = tree_flatten(result)
                wanted = _axes_of(self.out_axes, result, "out_axes", self.name)
                rows, specs = [], []
                nothing.clear()
                for i, (x, a) in enumerate(zip(made, wanted, strict=True)):
                    if getattr(x, "dtype", None) == float0:
                        nothing[i] = _float0(np.shape(x), a, mesh.size)
                        continue
                    ndim = kind_of(self.name, x)[0].ndim
                    if a is not None and not -ndim - 1 <= a <= ndim:
                        raise ValueError(f"pmap of {self.name}: out_axes has {a}, which is out of "
                                         f"bounds for a result of {ndim} axes")
                    at = a if a is None else a % (ndim + 1)
                    rows.append(x if at is None else _with(x, at))
                    specs.append(self.spec(at))
                mapped.out_specs = specs             # read once the body has been traced
                return rows

            mapped = Mapped(part, mesh, tuple(map(self.spec, places)), None, frozenset(), False)
            results = iter(mapped(tuple(leaves)))
            return tree_unflatten(out_tree, [
                nothing[i] if i in nothing else next(results) for i in range(out_tree.num_leaves)])

        return jit(on_all_devices, static_argnums=self.static or None,
                   donate_argnums=self.donated or None)

    def spec(self, place: int | None) -> PartitionSpec:
        """The spec of a value whose mapped axis is at `place`."""
        if place is None:
            return PartitionSpec()
        return PartitionSpec(*[None] * place, self.axis_name)


def _float0(shape: tuple[int, ...], axis: int | None, n: int) -> np.ndarray:
    """The result of dtype float0 whose part on each of n devices has `shape`."""
    at = None if axis is None else axis % (len(shape) + 1)
    return np.zeros(shape if at is None else (*shape[:at], n, *shape[at:]), float0)


def _without(x: Any, at: int) -> Any:
    """A part without its axis of size 1."""
    shape = x.value.type.shape
    return emit(ops.reshape, x, shape=(*shape[:at], *shape[at + 1:]))


def _with(x: Any, at: int) -> Any:
    """A result with an axis of size 1."""
    shape = kind_of("pmap", x)[0].shape
    return emit(ops.reshape, x, shape=(*shape[:at], 1, *shape[at:]))


__all__ = ["pmap"]
