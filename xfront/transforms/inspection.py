"""Inspection of a function without running it: its IR, its jaxpr, the shapes of its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xfront_ir.core import Function

from .. import binding
from ..base.on_demand import above
from ..base.on_demand import public as _public
from ..base.trees import tree_unflatten
from ..binding.annotations import ArrayLike
from ..binding.tracebacks import front_door_of
from ..sharding.context import get_abstract_mesh
from ..sharding.mesh import AbstractMesh
from ..tracing.trace import state
from ..tracing.tracer import Tracer
from ..values.arguments import only
from ..values.high import is_high, type_of_high
from ..values.refs import Ref
from .custom_rules import named_argnums
from .flat import Flat, kind_of, name_of, trace_call
from .float0 import flat_values
from .signature import argument_paths, result_paths
from .structs import ShapeDtypeStruct, shape_struct, struct_kind, with_arrays


class ClosedProgram:
    """The result of `make_ir`: the IR of a traced function, which prints as IR text.

    `ir` is the Function; its last parameters are for `consts`, the captured arrays.

    >>> program = xfront.make_ir(lambda x: x * x)(2.0)
    >>> print(program.ir)
    func @"<lambda>"(%0: weak f32[]) -> (weak f32[]) {
      %1: f32[] = mul(%0, %0)
      return %1
    }
    """

    __slots__ = ("consts", "ir", "out_tree")

    def __init__(self, ir: Function, consts: list[Any], out_tree: Any) -> None:
        self.ir, self.consts, self.out_tree = ir, consts, out_tree

    @property
    def jaxpr(self) -> Function:
        """The Function."""
        return self.ir

    @property
    def in_avals(self) -> list[Any]:
        """Types of the parameters, as the types of arrays."""
        given = self.ir.params[:len(self.ir.params) - len(self.consts)]
        weak = self.ir.weak_params or (False,) * len(given)
        return [shape_struct(v.type, w).aval for v, w in zip(given, weak, strict=False)]

    @property
    def out_avals(self) -> list[Any]:
        """Types of the results, as the types of arrays."""
        weak = self.ir.weak_returns or (False,) * len(self.ir.returns)
        return [shape_struct(v.type, w).aval for v, w in zip(self.ir.returns, weak, strict=True)]

    @property
    def eqns(self) -> tuple:
        """The ops."""
        return self.ir.ops

    def __repr__(self) -> str:
        return str(self.ir)


def typeof(x: ArrayLike) -> Any:
    """Shape, dtype and weakness of an array, traced or not, of a number or a ShapeDtypeStruct; of a
    reference its AbstractRef; the type of a value of a library's own. Raises: TypeError for others.

    >>> xfront.typeof(jnp.ones((2, 3)))
    ShapedArray(float32[2,3])
    """
    if isinstance(x, (binding.Array, Tracer, Ref)):
        whole = type(x) is binding.ArrayImpl and x.aval.axes is None and _mesh_of(x)
        return x.aval.on_mesh(whole) if whole else x.aval
    if is_high(x):
        return type_of_high(x)
    kind = struct_kind if type(x) is ShapeDtypeStruct else kind_of
    return shape_struct(*kind("typeof", x)).aval


def _mesh_of(x: Any) -> AbstractMesh | None:
    """The mesh of an array or struct that has one, without its devices."""
    sharding = getattr(x, "sharding", None)
    if type(sharding) is not binding.NamedSharding or not sharding.mesh.axis_names:
        return None
    return sharding.mesh.abstract_mesh


def make_jaxpr(fun: Callable[..., Any], static_argnums: int | Sequence[int] = (),
               axis_env: Sequence[tuple[Any, int]] | None = None, return_shape: bool = False,
               abstracted_axes: None = None) -> Callable[..., Any]:
    """A function that traces `fun` on its arguments and returns its jaxpr.

    Args:
      fun: any function of arrays and trees.
      static_argnums: position or positions of arguments that are not arrays; none by default.
      axis_env: pairs (name, size) of axes that are bound in `fun`, outermost first, or None.
      return_shape: whether the shapes of the result are returned too.
      abstracted_axes: None only; shapes are known while tracing.
    Returns: a function of the same arguments, or of ShapeDtypeStructs in their place, that returns
      a `ClosedJaxpr`, a view of the IR under JAX's names (docs/programs.md) whose `.ir` is the
      Function. With `return_shape` it returns a pair of that and the tree of the result's shapes.
    Raises: TypeError where `fun` is not callable; NotImplementedError for `abstracted_axes`; at the
      call, TypeError where an argument is not an array.

    >>> print(xfront.make_jaxpr(jnp.sin)(1.0))
    { lambda ; a:f32[]. let
        b:f32[] = sin a
      in (b,) }
    """
    only("make_jaxpr", None, "shapes are always known while "
                             "tracing", abstracted_axes=abstracted_axes)

    def close(flat: Flat, args: tuple, kwargs: dict) -> Any:
        made = above("views").ClosedJaxpr.of(flat.function, flat.captures, flat.out_tree)
        made.jaxpr.named(argument_paths(fun, args, kwargs), result_paths(flat))
        return made

    return _tracing(fun, "make_jaxpr", static_argnums, tuple(axis_env or ()), return_shape, close)


def make_ir(fun: Callable[..., Any], static_argnums: int | Sequence[int] = (),
            return_shape: bool = False) -> Callable[..., Any]:
    """A function that traces `fun` on its arguments and returns its IR.

    Args:
      fun, static_argnums, return_shape: as for `make_jaxpr`.
    Returns: a function that returns a `ClosedProgram`, which prints as IR text and whose `.ir` is
      the Function; with `return_shape`, a pair of that and the tree of the result's shapes.

    >>> print(xfront.make_ir(jnp.sin)(1.0))
    func @sin(%0: weak f32[]) -> (weak f32[]) {
      %1: f32[] = sin(%0)
      return %1
    }
    """
    return _tracing(
        fun, "make_ir", static_argnums, (), return_shape,
        lambda flat, args, kwargs: ClosedProgram(flat.function, flat.captures, flat.out_tree))


def _tracing(fun: Callable[..., Any], kind: str, static_argnums: int | Sequence[int],
             axis_env: tuple[tuple[Any, int], ...], return_shape: bool,
             close: Callable[[Flat, tuple, dict], Any]) -> Callable[..., Any]:
    """A function of the arguments of `fun` that traces it, and returns the result of `close` on the
    trace and the arguments, with None for static ones."""
    if not callable(fun):
        raise TypeError(f"{kind}: expected a function, got {fun!r}")
    chosen = named_argnums("static", fun, static_argnums, ())

    @front_door_of(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        statics = {i % len(args) for i in chosen if -len(args) <= i < len(args)}
        outer = state.axes
        state.axes = (*outer, *axis_env)
        try:
            flat, leaves = trace_for(fun, args, kwargs, statics, kind)
        finally:
            state.axes = outer
        given = tuple([None if i in statics else x for i, x in enumerate(args)])
        closed = close(flat, given, kwargs)
        return (closed, shapes_of(flat, leaves)) if return_shape else closed

    return wrapped


def trace_for(fun: Callable[..., Any], args: tuple, kwargs: dict, statics: set[int], kind: str
              ) -> tuple[Flat, list]:
    """The trace of a call for inspection, and the leaves of its arguments; objects with a shape and
    a dtype may stand for arrays."""
    places = [i for i in range(len(args)) if i not in statics]
    leaves, tree = flat_values(([args[i] for i in places], kwargs))
    kinds = [struct_kind(kind, x) for x in leaves]

    def call(tracers: list) -> Any:
        given, named = tree_unflatten(tree, tracers)
        full = list(args)
        for i, x in zip(places, given, strict=True):
            full[i] = x
        return fun(*full, **named)

    return trace_call(call, kinds, name=name_of(fun), kind=kind, staging=True,
                      origins=leaves), leaves


def shapes_of(flat: Flat, leaves: Sequence[Any]) -> Any:
    """The tree of result shapes of a traced call with these leaves of its arguments."""
    return tree_unflatten(flat.out_tree, structs_of(flat, leaves))


def structs_of(flat: Flat, leaves: Sequence[Any]) -> list[ShapeDtypeStruct]:
    """As `shapes_of`, flat."""
    structs = [shape_struct(v.type, w) for v, w in
               zip(flat.function.returns, flat.function.weak_returns, strict=True)]
    following = flat.trace.following
    if following is not None:
        structs = [s.update(vma=names) for s, names in
                   zip(structs, following.cast(flat.function)[2], strict=True)]
    meshes = [m for m in (get_abstract_mesh(), *map(_mesh_of, leaves)) if m is not None]
    whole = next((m for m in meshes if m.axis_names), None)
    if whole is not None and whole.explicit_axes == whole.axis_names:    # all axes are explicit
        structs = [s if s.sharding is not None else s.update(sharding=s.aval.on_mesh(
            whole).sharding) for s in structs]
    return structs


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of the result of `fun`, which is not computed.

    Args:
      fun: any function of arrays and trees; it may return `ShapeDtypeStruct`s too.
      args, kwargs: its arguments, arrays or `ShapeDtypeStruct`s in their place.
    Returns: the result's tree with `ShapeDtypeStruct` leaves.
    Raises: TypeError where an argument is not an array.

    >>> xfront.eval_shape(jnp.dot, jnp.ones((2, 3)), jnp.ones(3)).shape
    (2,)
    """
    own = getattr(fun, "eval_shape", None) if type(fun) is binding.PjitFunction else None
    if own is not None:
        return own(*args, **kwargs)
    return shapes_of(*trace_for(with_arrays(fun), args, kwargs, set(), "eval_shape"))


__all__ = ["eval_shape", "make_ir", "make_jaxpr", "typeof"]
_public("xfront", globals())
