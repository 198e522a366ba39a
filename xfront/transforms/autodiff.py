"""Derivatives: grad, value_and_grad, jvp, vjp, linearize and functions built on them.

Each traces its function once, on the arguments that are differentiated; a pass does the rest. On
arrays the transformed Function runs at once, as one program; on tracers a call of it is recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, TypeVarTuple, overload

import numpy as np
from xfront_ir import ops
from xfront_ir.opdef import Request
from xfront_ir.ops.sharding import lying
from xfront_ir.passes.inline import inline_calls
from xfront_ir.passes.linearize import linear_transpose as linear_transpose_pass
from xfront_ir.passes.linearize import linearize as linearize_pass
from xfront_ir.passes.requests import GRAD, JVP
from xfront_ir.passes.transpose import transpose as transpose_pass
from xfront_ir.types import TensorType

from .. import binding
from ..base.dtypes import float0
from ..base.trees import (
    Partial,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    tree_unflatten,
)
from ..binding.tracebacks import front_door, front_door_of
from ..eager.devices import device_put
from ..eager.operands import is_array_like
from ..running.programs import bind
from ..sharding.named import abstract_sharding
from ..tracing.following import varies
from ..tracing.trace import emit, pcast
from ..tracing.tracer import Tracer
from ..values.arguments import only
from ..values.commitment import commitment
from .flat import (
    Arguments,
    Flat,
    as_operand,
    check_pair,
    fill,
    is_plain,
    kind_of,
    name_of,
    positions,
    trace_call,
    typed,
)
from .float0 import HIDES
from .narrowed import moving_leaves

if TYPE_CHECKING:
    from .signatures import (
        Gradient,
        GradientAndAux,
        GradientByBoth,
        GradientBySecond,
        ValueAndGradient,
        ValueAndGradientByBoth,
        ValueAndGradientBySecond,
    )

P = ParamSpec("P")
Ts = TypeVarTuple("Ts")
R = TypeVar("R")
S = TypeVar("S")

Argnums = int | Sequence[int]


# --- grad -----------------------------------------------------------------------------------

# The first signature returns a more precise type than the last, which is for arguments that are not
# literals. Pyright cannot compare the parameters of a `Gradient` with those of a `Callable`.

@overload
def value_and_grad(fun: Callable[P, R], argnums: Literal[0] = 0,  # pyright: ignore[reportOverlappingOverload]
                   has_aux: Literal[False] = False, holomorphic: bool = False,
                   allow_int: bool = False, reduce_axes: Sequence[Any] = (), *,
                   strong_zero: bool = False
                   ) -> ValueAndGradient[P, R]: ...
@overload
def value_and_grad(fun: Callable[P, R], argnums: Literal[0] = 0, *,
                   has_aux: Literal[True], holomorphic: bool = False, allow_int: bool = False,
                   reduce_axes: Sequence[Any] = (), strong_zero: bool = False
                   ) -> ValueAndGradient[P, R]: ...
@overload
def value_and_grad(fun: Callable[P, R], argnums: Literal[1],
                   has_aux: Literal[False] = False, holomorphic: bool = False,
                   allow_int: bool = False, reduce_axes: Sequence[Any] = (), *,
                   strong_zero: bool = False
                   ) -> ValueAndGradientBySecond[P, R]: ...
@overload
def value_and_grad(fun: Callable[P, R], argnums: tuple[Literal[0], Literal[1]],
                   has_aux: Literal[False] = False, holomorphic: bool = False,
                   allow_int: bool = False, reduce_axes: Sequence[Any] = (), *,
                   strong_zero: bool = False
                   ) -> ValueAndGradientByBoth[P, R]: ...
@overload
def value_and_grad(fun: Callable[P, R], argnums: Argnums = 0, has_aux: bool = False,
                   holomorphic: bool = False, allow_int: bool = False,
                   reduce_axes: Sequence[Any] = (), *, strong_zero: bool = False
                   ) -> Callable[P, tuple[R, Any]]: ...
def value_and_grad(fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
                   holomorphic: bool = False, allow_int: bool = False,
                   reduce_axes: Sequence[Any] = (), *, strong_zero: bool = False) -> Any:
    """A function that returns the value of `fun` and its gradient.

    Args:
      fun: a function whose result is a real scalar, or with `has_aux` a pair of one and any tree.
      argnums: position of the argument to differentiate with respect to, by default the first, or a
        sequence of positions. The arguments there are trees of float or complex arrays.
      has_aux: whether `fun` returns a pair whose second part is not differentiated.
      holomorphic: whether `fun` is promised to be holomorphic; then inputs and result are complex.
      allow_int: whether integer arguments are accepted; their gradient has dtype float0.
      reduce_axes: the empty sequence only; a `psum` inside `fun` sums over named axes.
      strong_zero: whether zero times infinity or NaN is zero in the backward pass, so that an
        infinity in the branch of a `where` that is not taken stays out of the gradient. Each
        product then costs two more comparisons and a selection, each matrix product a test that it
        is finite.
    Returns: a function of the same arguments that returns `(value, gradient)`; the gradient has the
      structure of the argument, or is a tuple of gradients where `argnums` is a sequence.
    Raises: TypeError where the result is not a scalar or an argument has no derivative;
      NotImplementedError for `reduce_axes`.
    Source: reverse accumulation; Griewank and Walther, "Evaluating Derivatives", ch. 3.

    >>> xfront.value_and_grad(lambda x: x ** 2)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    if not callable(fun):
        raise TypeError(f"grad: expected a function, got {fun!r}")
    no_axes("grad", reduce_axes)
    one, places = positions("grad: argnums", argnums)
    name = name_of(fun)

    @front_door_of(fun)
    def wrapped(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        chosen = resolve(name, places, args)
        picked = [args[i] for i in chosen]
        if HIDES and (moving := _moving("grad", picked)) is not None:
            value, found = value_and_grad(
                lambda *xs: fun(*fill(args, chosen, moving.completed([*xs])), **kwargs),
                tuple(range(len(picked))), has_aux, holomorphic, allow_int,
                strong_zero=strong_zero)(*moving.starts())
            found = moving.cotangents([*found])
            return value, (found[0] if one else tuple(found))
        given = Arguments("grad", picked)
        active = differentiable(given.kinds, args, chosen, holomorphic, allow_int)
        def call(*xs: Any) -> Any:
            result = fun(*fill(args, chosen, xs), **kwargs)
            if has_aux:
                check_pair(name, result)
            check_scalar(name, result[0] if has_aux else result, holomorphic)
            return result

        flat = given.trace(call, name=name, kind="grad", staging=False, inputs=given.leaves,
                           has_aux=has_aux)
        request = Request("grad", active, 0, bool(strong_zero))
        results = bind(GRAD.pending(flat.function, request), given.operands(flat), name=name)
        n_out = len(flat.function.returns)
        value = tree_unflatten(flat.out_tree, results[:n_out])
        found = iter(results[n_out:])
        grads = tree_unflatten(given.tree, [
            next(found) if a else np.zeros(t.shape, float0)
            for a, (t, _) in zip(active, given.kinds, strict=True)])
        value = value if flat.aux is None else flat.aux.restore(value)
        return value, (grads[0] if one else tuple(grads))

    return wrapped


@overload
def grad(fun: Callable[P, Any], argnums: Literal[0] = 0,  # pyright: ignore[reportOverlappingOverload]
         has_aux: Literal[False] = False, holomorphic: bool = False, allow_int: bool = False,
         reduce_axes: Sequence[Any] = (), *, strong_zero: bool = False
         ) -> Gradient[P]: ...
@overload
def grad(fun: Callable[P, tuple[Any, R]], argnums: Literal[0] = 0, *,
         has_aux: Literal[True], holomorphic: bool = False,
         allow_int: bool = False, reduce_axes: Sequence[Any] = (), strong_zero: bool = False
         ) -> GradientAndAux[P, R]: ...
@overload
def grad(fun: Callable[P, Any], argnums: Literal[1],
         has_aux: Literal[False] = False, holomorphic: bool = False, allow_int: bool = False,
         reduce_axes: Sequence[Any] = (), *, strong_zero: bool = False
         ) -> GradientBySecond[P]: ...
@overload
def grad(fun: Callable[P, Any], argnums: tuple[Literal[0], Literal[1]],
         has_aux: Literal[False] = False, holomorphic: bool = False, allow_int: bool = False,
         reduce_axes: Sequence[Any] = (), *, strong_zero: bool = False
         ) -> GradientByBoth[P]: ...
@overload
def grad(fun: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False,
         holomorphic: bool = False, allow_int: bool = False,
         reduce_axes: Sequence[Any] = (), *, strong_zero: bool = False
         ) -> Callable[P, Any]: ...
def grad(fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
         holomorphic: bool = False, allow_int: bool = False,
         reduce_axes: Sequence[Any] = (), *, strong_zero: bool = False) -> Any:
    """A function that returns the gradient of `fun`; arguments as for `value_and_grad`.

    Returns: a function of the same arguments that returns the gradient, or with `has_aux`
      `(gradient, aux)`.

    >>> xfront.grad(jnp.tanh)(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes,
                          strong_zero=strong_zero)

    @front_door_of(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapped


def no_axes(name: str, reduce_axes: Sequence[Any]) -> None:
    """Refuse axes to sum a gradient over. Raises: NotImplementedError."""
    only(name, (), "to sum over the axis, call psum over it inside the function",
         reduce_axes=reduce_axes if reduce_axes else ())


def resolve(name: str, places: Sequence[int], args: Sequence[Any],
            too_great: type[Exception] = TypeError) -> list[int]:
    """Positions in [0, n) of the arguments named by argnums. Raises: ValueError for -n - 1 and
    below, `too_great` for n and above, TypeError for an argument named twice."""
    n = len(args)
    for i in places:
        if not -n <= i < n:
            raise (ValueError if i < 0 else too_great)(
                f"differentiating {name} with respect to argnums={i} requires at least "
                f"{i + 1 if i >= 0 else -i} positional arguments to be passed by the caller, but "
                f"got only {n} positional arguments.")
    chosen = [i % n for i in places]
    if len(set(chosen)) != len(chosen):
        raise TypeError(f"differentiating {name}: argnums={tuple(places)} names the same argument "
                        "twice")
    return chosen


def differentiable(kinds: Sequence[tuple[Any, bool]], args: Sequence[Any], chosen: Sequence[int],
                   holomorphic: bool, allow_int: bool) -> tuple[bool, ...]:
    """For each leaf whether it is differentiated. Raises: TypeError for a dtype that cannot be."""
    for k, (t, _) in enumerate(kinds):
        dtype = t.dtype
        fine = dtype.is_complex if holomorphic else dtype.is_inexact or allow_int
        if not fine:
            paths = tree_flatten_with_path([args[i] for i in chosen])[0]
            where = f"argument {chosen[paths[k][0][0].idx]}{keystr(paths[k][0][1:])}"
            wants = ("complex inputs, as holomorphic=True" if holomorphic else
                     "real- or complex-valued inputs (input dtype that is a sub-dtype of "
                     "np.inexact)")
            dtype_name = dtype.name if dtype.is_key else dtype.numpy.name
            instead = ("Convert it with .astype(complex), or leave holomorphic out"
                       if holomorphic else
                       "Convert it to a float to differentiate with respect to it, or pass "
                       "allow_int=True for a gradient of dtype float0")
            raise TypeError(f"grad requires {wants}, but {where} has dtype {dtype_name}. "
                            f"{instead}.")
    return tuple([t.dtype.is_inexact for t, _ in kinds])


def check_scalar(name: str, value: Any, holomorphic: bool) -> None:
    """Refuse a result that has no gradient. Raises: TypeError."""
    flat, _ = tree_flatten(value)
    if len(flat) != 1 or flat[0] is not value:
        shown = "None" if value is None else f"a {type(value).__name__}, {tree_structure(value)}"
        raise TypeError(f"Gradient only defined for scalar-output functions. {name} returned "
                        f"{shown}; return one scalar, and the rest with has_aux=True.")
    if not is_array_like(value):
        raise TypeError(f"Gradient only defined for scalar-output functions. {name} returned "
                        f"{value!r} of type {type(value)}, which is not a valid array type.")
    t, _ = kind_of("grad", value)
    if t.shape != ():
        raise TypeError(f"Gradient only defined for scalar-output functions. {name} returned an "
                        f"array of type {t}, of shape {t.shape}; reduce it (for instance "
                        "jnp.sum), or use xfront.jacrev for the derivatives of every element.")
    wanted = t.dtype.is_complex if holomorphic else t.dtype.is_float
    if not wanted:
        if holomorphic:
            instead = "Leave holomorphic out for a function with a real result"
        elif t.dtype.is_complex:
            instead = ("Pass holomorphic=True for a holomorphic function of complex arguments; "
                       "otherwise differentiate the real part, the imaginary part or the absolute "
                       "value of the result, or use xfront.vjp")
        else:
            instead = ("An integer has no derivative: return a float, computed without rounding or "
                       "counting, or use xfront.vjp")
        raise TypeError(f"grad requires {'complex' if holomorphic else 'real'}-valued outputs "
                        f"(output dtype that is a sub-dtype of np."
                        f"{'complexfloating' if holomorphic else 'floating'}), but {name} "
                        f"returned {t}. {instead}.")


# --- jvp and linearize ----------------------------------------------------------------------

@overload
def jvp(fun: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any],
        has_aux: Literal[False] = False) -> tuple[R, R]: ...
@overload
def jvp(fun: Callable[..., tuple[R, S]], primals: Sequence[Any], tangents: Sequence[Any],
        has_aux: Literal[True]) -> tuple[R, R, S]: ...
@overload
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any],
        has_aux: bool) -> tuple[Any, ...]: ...
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any],
        has_aux: bool = False) -> Any:
    """The value of `fun` and its directional derivative (forward mode).

    Args:
      fun: any function of arrays and trees.
      primals: tuple or list of the arguments of `fun`.
      tangents: one tree per primal, of the same structure, shapes and dtypes (float0 for integers).
      has_aux: whether `fun` returns a pair whose second part is not differentiated.
    Returns: `(value, tangent)`, or with `has_aux` `(value, tangent, aux)`.
    Raises: TypeError where structures or dtypes of tangents and primals differ; ValueError where
      their shapes do.
    Source: forward accumulation; Griewank and Walther, "Evaluating Derivatives", ch. 3.

    >>> xfront.jvp(lambda x: x ** 2, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    name = name_of(fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(f"primal and tangent arguments to jvp must be tuples or lists; found "
                        f"{type(primals).__name__} and {type(tangents).__name__}.")
    if HIDES and (moving := _moving("jvp", [*primals])) is not None:
        return jvp(lambda *xs: fun(*moving.completed([*xs])), moving.starts(),
                   moving.lower([*tangents]), has_aux)
    given = Arguments("jvp", list(primals))
    dots, dot_tree = tree_flatten(list(tangents))
    if given.tree != dot_tree:
        shown = [tree_structure(tuple(x)) for x in (primals, tangents)]
        raise TypeError(f"primal and tangent arguments to jvp must have the same tree structure; "
                        f"primals have {shown[0]} and tangents {shown[1]}.")
    active = check_tangents(name, given.kinds, dots)
    flat = given.trace(fun, name=name, kind="jvp", staging=False, inputs=given.leaves,
                       has_aux=has_aux)
    moved = JVP.pending(flat.function, Request("jvp", active))
    moving = [d if type(d) is binding.ArrayImpl and d.aval.ir is t else typed(d, t)
              for d, (t, _), a in zip(dots, given.kinds, active, strict=True) if a]
    results = bind(moved, [*map(as_operand, given.leaves), *moving, *flat.captures], name=name)
    return unpack_tangents(flat, results)


def unpack_tangents(flat: Flat, results: list) -> tuple:
    """(value, tangent[, aux]) from flat results: values, then tangents of the inexact values."""
    n = len(flat.function.returns)
    given = iter(results[n:])
    dots = [next(given) if v.type.is_inexact else np.zeros(v.type.shape, float0)
            for v in flat.function.returns]
    value = tree_unflatten(flat.out_tree, results[:n])
    dot = _tangent_tree(flat, dots)
    if flat.aux is None:
        return value, dot
    return value[0], dot[0], flat.aux.restore(value)[1]


def _tangent_tree(flat: Flat, dots: Sequence[Any]) -> Any:
    """The tree of tangents of the results of a traced call."""
    if flat.hides:
        from .high import shown_tangents  # few results are of a library's own types

        return shown_tangents(flat.out_tree, dots)
    return tree_unflatten(flat.out_tree, dots)


def _moving(name: str, args: list[Any]) -> Any:
    """A `Moving` for the arguments if values of a library's own types are among them; else None."""
    from .high import Moving, has_high  # loaded already

    return Moving(name, args) if has_high(args) else None


def check_tangents(name: str, kinds: Sequence[tuple[Any, bool]], dots: Sequence[Any]
                   ) -> tuple[bool, ...]:
    """For each primal whether it has a tangent. Raises: TypeError, ValueError for a mismatch."""
    active = []
    for i, ((t, _), d) in enumerate(zip(kinds, dots, strict=True)):
        if type(d) is binding.ArrayImpl and t.is_inexact and d.aval.ir is t:
            active.append(True)
            continue
        shape = np.shape(d) if type(d) is not Tracer else d.shape
        is_zero = getattr(d, "dtype", None) == float0
        if shape != t.shape:
            raise ValueError(f"jvp called with different primal and tangent shapes; got primal "
                             f"shape {t.shape} and tangent shape {shape} at leaf {i} of {name}")
        if not t.is_inexact and not is_zero:
            raise TypeError("primal and tangent arguments to jvp do not match; dtypes must be "
                            "equal, or in case of int/bool primal dtype the tangent dtype must be "
                            f"float0. Got primal {t} and tangent {kind_of('jvp', d)[0]} at leaf "
                            f"{i} of {name}")
        if t.is_inexact and not is_zero:
            dot_type, _ = kind_of("jvp", d)
            if dot_type.dtype is not t.dtype:
                raise TypeError(f"primal and tangent arguments to jvp do not match; dtypes must be "
                                f"equal. Got primal {t} and tangent {dot_type} at leaf {i} of "
                                f"{name}; convert it with tangent.astype(primal.dtype)")
        active.append(t.is_inexact and not is_zero)
    return tuple(active)


@overload
def linearize(fun: Callable[[*Ts], R], *primals: *Ts, has_aux: Literal[False] = False,
              in_nzs: Any = None) -> tuple[R, Callable[[*Ts], R]]: ...
@overload
def linearize(fun: Callable[[*Ts], tuple[R, S]], *primals: *Ts, has_aux: Literal[True],
              in_nzs: Any = None) -> tuple[R, Callable[[*Ts], R], S]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool, in_nzs: Any = None
              ) -> tuple[Any, ...]: ...
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, in_nzs: Any = None
              ) -> Any:
    """The value of `fun` at a point and the linear map of tangents there.

    Args:
      fun: any function of arrays and trees.
      primals: arguments of `fun`, trees of arrays.
      has_aux: whether `fun` returns a pair whose second part is not differentiated.
      in_nzs: a tree prefix of the tuple of primals, of bools: where it is False, tangents count as
        zero, whatever they are. None means True everywhere.
    Returns: `(value, f_jvp)`, or with `has_aux` `(value, f_jvp, aux)`; `f_jvp(*tangents)` returns
      the tangent of the value without computing the value again. It raises TypeError where the
      tangents have another structure than the primals, ValueError for another shape or dtype.
      `f_jvp.out_nzs` is a tree of bools like the value: False where the tangent is always zero.
      Where the value has containers of users' classes, which may refuse bools, it is a tuple with
      one bool for each leaf.
    Raises: TypeError where a leaf of the primals is not an array; ValueError where `in_nzs` is no
      tree prefix, or has other leaves than bools.

    >>> value, move = xfront.linearize(lambda x: x ** 2, 3.0)
    >>> value, move(1.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    if in_nzs is not None:
        return narrowed("linearize", linearize, fun, primals, in_nzs, has_aux=has_aux)
    if HIDES and (moving := _moving("linearize", [*primals])) is not None:
        value, move, *aux = linearize(lambda *xs: fun(*moving.completed([*xs])), *moving.starts(),
                                      has_aux=has_aux)
        return value, lambda *dots: move(*moving.lower([*dots])), *aux
    at = _Linearized(fun, primals, "linearize", has_aux)
    move = functools.partial(_apply_linear, at.name, at.split, at.given.tree, at.flat,
                             tuple(at.given.kinds), has_aux)
    return at.with_aux(Partial(move, at.residuals))


class _Linearized:
    """A function linearized at a point, where its value has been computed."""

    def __init__(self, fun: Callable[..., Any], primals: Sequence[Any], kind: str, has_aux: bool,
                 strong_zero: bool = False) -> None:
        self.name = name_of(fun)
        self.given = Arguments(kind, list(primals))
        self.flat = self.given.trace(fun, name=self.name, kind=kind, staging=False,
                                     inputs=self.given.leaves, has_aux=has_aux)
        function, captures = self.flat.function, self.flat.captures
        self.sets: Any = None                    # over which axes of shard_map results vary
        following = self.flat.trace.following
        if following is not None:
            function, _, self.sets = following.cast(function)
        active = (*[t.is_inexact for t, _ in self.given.kinds], *[False] * len(captures))
        self.split = linearize_pass(function, active, strong_zero)
        operands = self.given.operands(self.flat)
        returned = bind(self.split.forward, operands, name=self.name)
        outs = [reweak(x, w) for x, w in zip(returned[:self.split.n_out], function.weak_returns,
                                             strict=True)]
        value = tree_unflatten(self.flat.out_tree, outs)
        self.residuals = list(self.split.pick(tuple(operands), tuple(returned)))
        aux = self.flat.aux
        self.value, *self.aux = (value,) if aux is None else aux.restore(value)

    def with_aux(self, linear: Any) -> tuple:
        """The value, the linear map, and aux where there is one."""
        tree = tree_structure(self.value)
        moving = self.split.active_out[:tree.num_leaves]
        linear.out_nzs = tree_unflatten(tree, moving) if is_plain(tree) else moving
        return self.value, linear, *self.aux


def reweak(x: Any, weak: bool) -> Any:
    """`x`, weakly typed where `weak` says so."""
    if type(x) is Tracer:
        return x if x.weak == weak else Tracer(x.home, x.value, weak)
    if isinstance(x, binding.ArrayImpl) and x.aval.weak_type != weak:
        return binding.rewrap(x, weak=weak)
    return x


@front_door
def _apply_linear(name: str, split: Any, tree: Any, flat: Flat, kinds: tuple, has_aux: bool,
                  residuals: list, *tangents: Any) -> Any:
    dots, dot_tree = tree_flatten(list(tangents))
    if dot_tree != tree:
        raise TypeError(f"the tangents given to the linear map of {name} have structure "
                        f"{dot_tree}, but its primals have structure {tree}")
    try:
        check_tangents(name, kinds, dots)
    except TypeError as e:
        raise ValueError(f"linear map of {name}: {e}") from None
    weak = all([kind_of("jvp", d)[1] for d, (t, _) in zip(dots, kinds, strict=True)
                if t.is_inexact])
    given = [typed(d, t) if getattr(d, "dtype", None) != float0 else
             binding.put(np.zeros(t.shape, t.dtype.numpy))
             for d, (t, _) in zip(dots, kinds, strict=True) if t.is_inexact]
    moved = iter(bind(split.linear, [*given, *residuals], name=name))
    near = [*given, *residuals]
    outs = [reweak(next(moved) if a else zeros_like_type(v.type, near), weak and w)
            for v, a, w in zip(flat.function.returns, split.active_out, flat.function.weak_returns,
                               strict=True)]
    dot = _tangent_tree(flat, outs)
    return dot[0] if has_aux else dot


def zeros_like_type(t: TensorType, near: Iterable[Any]) -> Any:
    """Zeros for the absent tangent of a value of type t: of dtype float0 if t is not inexact. If
    explicit axes divide t, they are divided alike, on the devices of the first value in `near`
    that is on a mesh."""
    if not t.is_inexact:
        return np.zeros(t.shape, float0)
    made = binding.put(np.zeros(t.shape, t.dtype.numpy))
    if t.sharding is None or t.is_manual:
        return made
    for place in map(commitment, near):
        if type(place) is binding.NamedSharding:
            spec = abstract_sharding(t.sharding).spec
            return device_put(made, binding.NamedSharding(place.mesh, spec, memory_kind=t.memory))
    return emit(ops.reshard, made, sharding=t.sharding)


def narrowed(name: str, function: Callable[..., Any], fun: Callable[..., Any],
             primals: Sequence[Any], in_nzs: Any, **options: Any) -> tuple:
    """The result of `vjp` or `linearize` (`function`) if only the leaves of the primals at which
    `in_nzs` is True are differentiated."""
    tree, leaves, marks = moving_leaves(name, in_nzs, tuple(primals))

    def completed(some: Iterable[Any]) -> Any:
        found = iter(some)
        return tree_unflatten(tree, [
            next(found) if m else x for x, m in zip(leaves, marks, strict=True)])

    value, linear, *aux = function(lambda *some: fun(*completed(some)), *[
        x for x, m in zip(leaves, marks, strict=True) if m], **options)

    @front_door
    def of_all(*given: Any) -> Any:
        if function is vjp:
            found = iter(linear(*given))
            return tree_unflatten(tree, [
                next(found) if m else _zeros_of(name, x)
                for x, m in zip(leaves, marks, strict=True)])
        dots, dot_tree = tree_flatten(given)
        if dot_tree != tree:
            raise TypeError(f"the tangents given to the linear map of {name_of(fun)} have "
                            f"structure {dot_tree}, but its primals have structure {tree}")
        return linear(*[d for d, m in zip(dots, marks, strict=True) if m])

    of_all.out_nzs = linear.out_nzs  # type: ignore[attr-defined]
    return value, of_all, *aux


def _zeros_of(name: str, primal: Any) -> Any:
    t, weak = kind_of(name, primal)
    return reweak(zeros_like_type(t, (primal,)), weak)


# --- vjp ------------------------------------------------------------------------------------

@overload
def vjp(fun: Callable[[*Ts], R], *primals: *Ts, has_aux: Literal[False] = False,
        reduce_axes: Sequence[Any] = (), strong_zero: bool = False, saveable_args: Any = True,
        in_nzs: Any = None) -> tuple[R, Callable[[R], tuple[*Ts]]]: ...
@overload
def vjp(fun: Callable[[*Ts], tuple[R, S]], *primals: *Ts, has_aux: Literal[True],
        reduce_axes: Sequence[Any] = (), strong_zero: bool = False, saveable_args: Any = True,
        in_nzs: Any = None) -> tuple[R, Callable[[R], tuple[*Ts]], S]: ...
@overload
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool, reduce_axes: Sequence[Any] = (),
        strong_zero: bool = False, saveable_args: Any = True, in_nzs: Any = None
        ) -> tuple[Any, ...]: ...
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False,
        reduce_axes: Sequence[Any] = (), strong_zero: bool = False, saveable_args: Any = True,
        in_nzs: Any = None) -> Any:
    """The value of `fun` at a point and the map from its cotangent to those of the arguments.

    Args:
      fun: any function of arrays and trees.
      primals: arguments of `fun`, trees of arrays.
      has_aux: whether `fun` returns a pair whose second part is not differentiated.
      reduce_axes, strong_zero: as in `value_and_grad`.
      saveable_args: True only; what is kept for the backward pass is found by the passes.
      in_nzs: a tree prefix of the tuple of primals, of bools: where it is False, the cotangent is
        zero, and nothing is differentiated. None means True everywhere. `f_vjp.out_nzs` says, as a
        tree of bools like the value, which results depend on the arguments.
    Returns: `(value, f_vjp)`, or with `has_aux` `(value, f_vjp, aux)`; `f_vjp(cotangent)` returns a
      tuple with one tree per primal, and raises ValueError where the structure, a shape or a dtype
      of the cotangent is not that of the value. `f_vjp` is itself a tree of arrays, so that a
      jitted function may return it.
    Raises: TypeError where a leaf of the primals is not an array; ValueError where `in_nzs` is no
      tree prefix, or has other leaves than bools; NotImplementedError for `reduce_axes` and
      `saveable_args`.

    >>> value, pull = xfront.vjp(jnp.sin, 0.0)
    >>> pull(2.0)
    (Array(2., dtype=float32, weak_type=True),)
    """
    no_axes("vjp", reduce_axes)
    only("vjp", True, "close over the arguments that are not to be kept, and compute them again "
         "under jax.checkpoint", saveable_args=saveable_args)
    if in_nzs is not None:
        return narrowed("vjp", vjp, fun, primals, in_nzs, has_aux=has_aux, strong_zero=strong_zero)
    if HIDES and (moving := _moving("vjp", [*primals])) is not None:
        value, back, *aux = vjp(lambda *xs: fun(*moving.completed([*xs])), *moving.starts(),
                                has_aux=has_aux, strong_zero=strong_zero)
        return value, lambda ct: tuple(moving.cotangents([*back(ct)])), *aux
    at = _Linearized(fun, primals, "vjp", has_aux, strong_zero)
    value_tree = tree_structure(at.value)
    types = at.flat.function.return_types[:value_tree.num_leaves]
    return at.with_aux(Partial(functools.partial(
        _apply_transposed, at.name, at.split, at.given.tree, tuple(at.given.kinds), value_tree,
        types, at.sets), at.residuals))


@front_door
def _apply_transposed(name: str, split: Any, tree: Any, kinds: tuple, value_tree: Any,
                      types: tuple, sets: Any, residuals: list, cotangent: Any) -> tuple:
    cts, ct_tree = tree_flatten(cotangent)
    if ct_tree != value_tree:
        raise ValueError(f"unexpected tree structure of argument to vjp function of {name}: "
                         f"expected {value_tree}, got {ct_tree}")
    given = []
    for i, (ct, t) in enumerate(zip(cts, types, strict=True)):
        if not t.is_inexact:
            _check_nothing(name, ct, t, i)
            continue
        ct_type, _ = kind_of("vjp", ct)
        wanted = t.cotangent
        if ct_type is not wanted and (wanted.is_manual or ct_type.is_manual):
            raise ValueError(f"unexpected JAX type (e.g. shape/dtype) for argument to vjp function "
                             f"of {name}: got {ct_type}, but the cotangent of output leaf {i}, "
                             f"of type {t}, has type {wanted}; cast it with lax.pcast")
        if ct_type is not wanted and ct_type.plain is t.plain and type(ct) is Tracer:
            ct = emit(ops.reshard, ct, sharding=lying(wanted, ct_type))
        elif ct_type.plain is not t.plain:
            raise ValueError(f"unexpected JAX type (e.g. shape/dtype) for argument to vjp function "
                             f"of {name}: got {ct_type}, but expected {t} because the "
                             f"corresponding output (leaf {i}) has that type")
        if sets is not None:
            ct = varying_alike(name, ct, sets[i])
        given.append((i, typed(ct, t)))
    active_ct = tuple([a and i < len(types) for i, a in enumerate(split.active_out)])
    linear_cts = tuple([a for a, whole in zip(active_ct, split.active_out, strict=True) if whole])
    back, active_in = transpose_pass(split.linear, len(split.residuals), linear_cts)
    used = [ct for i, ct in given if active_ct[i]]
    moved = iter(bind(back, [*residuals, *used], name=name))
    received = iter([next(moved) if a else None for a in active_in])
    outs = []
    for t, weak in kinds:
        got = next(received) if t.is_inexact else None
        made = zeros_like_type(t, [*used, *residuals]) if got is None else got
        outs.append(reweak(made, weak))
    return tuple(tree_unflatten(tree, outs))


def _check_nothing(name: str, ct: Any, t: TensorType, leaf: int) -> None:
    """Raises: ValueError where `ct` is no cotangent of a value of an integer type t: neither zeros
    of dtype float0 nor, as users also pass, an array of type t."""
    is_zero = getattr(ct, "dtype", None) == float0
    if np.shape(ct) != t.shape or not (is_zero or kind_of("vjp", ct)[0].plain is t.plain):
        got = f"float0{list(np.shape(ct))}" if is_zero else kind_of("vjp", ct)[0]
        raise ValueError(f"unexpected JAX type (e.g. shape/dtype) for argument to vjp function of "
                         f"{name}: got {got}, but expected zeros of dtype float0 and shape "
                         f"{t.shape} because the corresponding output (leaf {leaf}) has type {t}")


def varying_alike(name: str, ct: Any, wanted: frozenset[str]) -> Any:
    """The cotangent `ct`, made to vary over the `shard_map` axes `wanted`, those of its value.

    Raises: ValueError where it varies over other axes too.
    """
    own = varies(ct)
    if more := own - wanted:
        raise ValueError(
            f"unexpected JAX type (e.g. shape/dtype) for argument to vjp function of {name}: the "
            f"cotangent varies over {_braced(own)}, but the corresponding output varies over "
            f"{_braced(wanted)}: sum the cotangent over {_braced(more)} with `lax.psum`, or make "
            "the output vary there with `lax.pcast(..., to='varying')`")
    return pcast(ct, wanted - own) if wanted - own else ct


def _braced(names: frozenset[str]) -> str:
    return "{" + ", ".join(sorted(names)) + "}"


def fwd_and_bwd(fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False,
                jitted: bool = True) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`vjp` as two functions: forward, and backward from the values that forward saved.

    Args:
      fun: any function of arrays and trees.
      argnums, has_aux: as for `grad`.
      jitted: whether both functions are compiled by `jit`, as they are by default.
    Returns: `fwd(*args) -> (value, saved)` (with `has_aux`, `(value, saved, aux)`), and
      `bwd(saved, cotangent)`, a tuple of gradients (one gradient for an int `argnums`).

    >>> fwd, bwd = xfront.fwd_and_bwd(lambda x: x ** 2)
    >>> value, saved = fwd(3.0)
    >>> bwd(saved, 1.0)
    Array(6., dtype=float32, weak_type=True)
    """
    one, places = positions("fwd_and_bwd: argnums", argnums)

    def fwd(*args: Any, **kwargs: Any) -> tuple:
        chosen = resolve(name_of(fun), places, args)
        return vjp(lambda *xs: fun(*fill(args, chosen, xs), **kwargs),
                   *[args[i] for i in chosen], has_aux=has_aux)

    def bwd(saved: Any, cotangent: Any) -> Any:
        found = saved(cotangent)
        return found[0] if one else found

    if not jitted:
        return fwd, bwd
    from .jit import jit  # jit stands beside this file

    return jit(fwd), jit(bwd)


def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()
                     ) -> Callable[..., tuple]:
    """The transpose of a function that is promised to be linear.

    Args:
      fun: a linear function of float and complex arrays, or of integers to integers, and of trees
        of them.
      primals: arrays or `ShapeDtypeStruct`s in place of the arguments of `fun`; only their shapes
        and dtypes are read.
      reduce_axes: the empty sequence only, as in `value_and_grad`.
    Returns: a function from a cotangent of the result to a tuple of cotangents of the arguments.
      It raises NotImplementedError where `fun` uses an operation that is not linear, TypeError
      where the cotangent has another structure or type than the result.
    Raises: TypeError where `fun` takes or returns integers beside floats, or bools;
      NotImplementedError for `reduce_axes`.

    >>> xfront.linear_transpose(lambda x: 3 * x, 1.0)(2.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    from .structs import struct_kind  # it stands on this floor

    no_axes("linear_transpose", reduce_axes)
    name = name_of(fun)
    leaves, tree = tree_flatten(list(primals))
    kinds = [struct_kind("linear_transpose", x) for x in leaves]
    flat = trace_call(lambda ts: fun(*tree_unflatten(tree, ts)), kinds, name=name,
                      kind="linear_transpose", staging=True, origins=leaves)
    types = flat.function.return_types
    every = [*[t for t, _ in kinds], *types]
    if not (all([t.is_inexact for t in every]) or all([t.dtype.is_integer for t in every])):
        raise TypeError(
            "linear_transpose only supports [float and complex -> float and complex], and integer "
            f"-> integer functions, but {name} takes {', '.join([str(t) for t, _ in kinds])} and "
            f"returns {', '.join(map(str, types))}; bind other inputs with functools.partial")

    @front_door
    def transposed(cotangent: Any) -> tuple:
        cts, ct_tree = tree_flatten(cotangent)
        if ct_tree != flat.out_tree:
            raise TypeError(f"cotangent tree does not match function output, expected "
                            f"{flat.out_tree} but got {ct_tree}")
        for ct, t in zip(cts, types, strict=True):
            if kind_of("linear_transpose", ct)[0] is not t:
                raise TypeError(f"cotangent type does not match function output, expected {t} but "
                                f"got {kind_of('linear_transpose', ct)[0]}")
        function, sets = flat.function, None
        if flat.trace.following is not None:
            function, _, sets = flat.trace.following.cast(function)
        function = inline_calls(function)
        linear = (*[True] * len(kinds), *[False] * len(flat.captures))
        back, active = linear_transpose_pass(function, linear, (True,) * len(types))
        if sets is not None:
            cts = [varying_alike(name, ct, s) for ct, s in zip(cts, sets, strict=True)]
        moved = iter(bind(back, [*flat.captures, *map(as_operand, cts)], name=name))
        return tuple(tree_unflatten(tree, [
            reweak(next(moved) if a else zeros_like_type(t, cts), weak)
            for a, (t, weak) in zip(active, kinds, strict=True)]))

    return transposed
