"""A library's own types and operations in programs: quantized arrays, variables that change, and
whatever is made of arrays and has rules of its own. docs/hijax.md shows both with examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.on_demand import shown as _shown
from ..base.trees import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ..core import AbstractValue, ShapedArray
from ..eager.primitives import Primitive
from ..interpreters.ad import UndefinedPrimal, Zero
from ..jaxpr.accumulators import GradAccum, NullAccum, RefAccum, ValAccum
from ..jaxpr.high import record
from ..ref.references import AbstractRef
from ..tracing.trace import state
from ..transforms.autodiff import linear_transpose
from ..transforms.high import apply, lo_types, lowered, raised, register_hitype
from ..transforms.inspection import typeof
from ..transforms.vmap import vmap as _vmap
from ..values.high import (
    HiPspec,
    HiType,
    MappingSpec,
    MutableHiType,
    aval_method,
    aval_property,
)


class HiPrim:
    """The base of operations with rules of their own. An object of a class derived from it is one
    operation, on operands of fixed types; called, it runs, or is recorded in a trace.

    Its `__init__` sets `in_avals`, a tuple of types with one tree an operand, `out_aval`, a tree of
    the types of results, and `params`, a dict of hashable values that tell operations of the class
    apart; then it calls `super().__init__()`. `expand(*args)` computes the results. Derivatives
    are those of the methods that the class has:

    - `vjp_fwd(nzs_in, *args)`, which returns `(results, saved)`, with `vjp_bwd_retval(saved,
      cotangent)`, which returns a cotangent for each operand, or `vjp_bwd(saved, cotangent,
      *accumulators)`, which adds them to accumulators;
    - `lin(nzs_in, *args)`, which returns `(results, saved)`, with `linearized(saved, *tangents)`;
    - `jvp(primals, tangents)`, which returns `(results, tangent of the results)`;
    - `transpose(cotangent, *accumulators or operands)` for an operation that is linear.

    Tangents and cotangents that are zero are `Zero`s. `batch(axis_data, args, dims)`, which returns
    `(results, their dims)`, is the rule for `vmap`.

    >>> class Scale(hijax.HiPrim):
    ...     def __init__(self, of):
    ...         self.in_avals, self.out_aval, self.params = (of,), of, {}
    ...         super().__init__()
    ...     def expand(self, x): return x * 2
    ...     def jvp(self, primals, tangents): return self(*primals), tangents[0] * 3
    >>> xfront.grad(lambda x: Scale(xfront.typeof(x))(x))(1.0)
    Array(3., dtype=float32, weak_type=True)
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Any]
    effects: frozenset[Any] = frozenset()
    skip_linearization_on_zero_tangents = False

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(f"{type(self).__name__}.__init__ must set `{name}` before it "
                                     "calls super().__init__()")
        self.__dict__.update(self.params)
        kinds, tree = tree_flatten((tuple(self.in_avals), self.out_aval))
        self._key = type(self), tuple(kinds), tree, tuple(sorted(self.params.items()))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        shown = ", ".join([f"{k}={v!r}" for k, v in self.params.items()])
        return f"{type(self).__name__}{f'[{shown}]' if shown else ''}"

    def __call__(self, *args: Any) -> Any:
        self.check(*map(_type_tree, args))
        return record(self, args)

    def has(self, method: str) -> bool:
        """Whether the class defines a rule."""
        return getattr(type(self), method) is not getattr(HiPrim, method)

    def check(self, *arg_tys: Any) -> None:
        """Refuse operands of other types; called with the types of each call. A class may do more
        here, or less."""

    if TYPE_CHECKING:                            # what its rules take is a class's own matter
        batch: Any
        expand: Any
        jvp: Any
        lin: Any
        linearized: Any
        transpose: Any
        vjp_bwd: Any
        vjp_bwd_retval: Any
        vjp_fwd: Any

        def __getattr__(self, name: str) -> Any: ...
    else:
        def expand(self, *args: Any) -> Any:
            """The results, computed by other operations."""
            raise self._missing("use", "expand")

        def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> tuple[Any, Any]:
            """Results, and what the backward rule needs."""
            raise self._missing("grad", "vjp_fwd", "jvp")

        def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
            """Add to the accumulators of the operands; by default what `vjp_bwd_retval` returns."""
            found = self.vjp_bwd_retval(res, outgrad)
            _accumulate(arg_accums, found)

        def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> tuple[Any, ...]:
            """The cotangents of the operands."""
            raise self._missing("grad", "vjp_bwd_retval", "vjp_bwd")

        def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
            """Results and their tangents."""
            raise self._missing("derivative", "jvp", "vjp_fwd")

        def lin(self, nzs_in: Any, *primals: Any) -> tuple[Any, Any]:
            """Results, and what `linearized` needs."""
            raise self._missing("linearize", "lin", "linearized")

        def linearized(self, residuals: Any, *tangents: Any) -> Any:
            """The tangents of the results."""
            raise self._missing("linearize", "linearized")

        def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
            """Add to the accumulators of the operands in which the operation is linear."""
            raise self._missing("transpose", "transpose")

        def batch(self, axis_data: Any, args: Any, dims: Any) -> tuple[Any, Any]:
            """Results for a batch, and how it lies in them."""
            raise self._missing("vmap", "batch")

    def _missing(self, what: str, *methods: str) -> NotImplementedError:
        return NotImplementedError(f"for {what} support, subclass {type(self)} must implement "
                                   f"{' or '.join([f'`{m}`' for m in methods])}")


class VJPHiPrimitive(HiPrim):
    """`HiPrim`, by the name that it had before JAX 0.12.

    >>> issubclass(hijax.VJPHiPrimitive, hijax.HiPrim)
    True
    """


def _type_tree(x: Any) -> Any:
    return tree_map(typeof, x)


def _accumulate(accums: Any, found: Any) -> None:
    accums = tuple(accums)
    places, tree = tree_flatten(accums)
    for accum, ct in zip(places, tree.flatten_up_to(tuple(found)), strict=True):
        accum.accum(ct)


# --- rules of other rules -----------------------------------------------------------------------

def _is_zero(x: Any) -> bool:
    return type(x) is Zero


def _nonzero(tangents: Any) -> Any:
    return tree_map(lambda t: not _is_zero(t), tangents, is_leaf=_is_zero)


def jvp_from_lin(self: HiPrim, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The `jvp` of an operation that has `lin` and `linearized`: `jvp = jvp_from_lin` in its class.
    """
    value, saved = self.lin(_nonzero(tangents), *primals)
    return value, self.linearized(saved, *tangents)


def _lin_by_jvp(self: HiPrim, nzs_in: Any, *primals: Any) -> tuple[Any, Any]:
    return self(*primals), primals


def _linearized_by_jvp(self: HiPrim, residuals: Any, *tangents: Any) -> Any:
    return self.jvp(residuals, tangents)[1]


def _fwd_by_lin(self: HiPrim, nzs_in: Any, *args: Any) -> tuple[Any, Any]:
    return self.lin(nzs_in, *args)


def _bwd_by_lin(self: HiPrim, res: Any, outgrad: Any) -> tuple[Any, ...]:
    return _transposed(self, lambda *dots: self.linearized(res, *dots), outgrad)


def _bwd_by_jvp(self: HiPrim, res: Any, outgrad: Any) -> tuple[Any, ...]:
    return _transposed(self, lambda *dots: self.jvp(res, dots)[1], outgrad)


def _transposed(prim: HiPrim, moved: Callable[..., Any], outgrad: Any) -> tuple[Any, ...]:
    """The cotangents of the operands, by a linear map of their tangents."""
    kinds, tree = tree_flatten(tuple([tree_map(lambda a: a.to_tangent_aval(), a)
                                      for a in prim.in_avals]))
    outs, out_tree = tree_flatten(tree_map(lambda a: a.to_tangent_aval(), prim.out_aval))
    parts = [lo_types(kind) for kind in kinds]
    still = [any([t.ir is None for t in ts]) for ts in parts]          # tangents of integers

    def of_parts(*flat: Any) -> list[Any]:
        given, dots = iter(flat), []
        for kind, ts, zero in zip(kinds, parts, still, strict=True):
            dots.append(Zero(kind) if zero else raised(kind, [next(given) for _ in ts]))
        made = out_tree.flatten_up_to(moved(*tree_unflatten(tree, dots)))
        return [instantiate_zeros(x) for kind, d in zip(outs, made, strict=True)
                for x in lowered(kind, instantiate_zeros(d))]

    from ..transforms.structs import shape_struct

    shapes = [shape_struct(t.ir, False) for ts, zero in zip(parts, still, strict=True)
              if not zero for t in ts]
    cts = [x for kind, ct in zip(outs, out_tree.flatten_up_to(outgrad), strict=True)
           for x in lowered(kind, instantiate_zeros(ct))]
    found = iter(linear_transpose(of_parts, *shapes)(cts))
    return tree_unflatten(tree, [
        Zero(kind) if zero else raised(kind, [next(found) for _ in ts])
        for kind, ts, zero in zip(kinds, parts, still, strict=True)])


class _ByReverse(NamedTuple):
    vjp_fwd: Callable[..., Any]
    vjp_bwd_retval: Callable[..., Any]


class _ByForward(NamedTuple):
    lin: Callable[..., Any]
    linearized: Callable[..., Any]


linearize_from_jvp = _ByForward(_lin_by_jvp, _linearized_by_jvp)
"""The rules of an operation that has `jvp`: `lin, linearized = linearize_from_jvp` in its class."""
vjp_from_lin = _ByReverse(_fwd_by_lin, _bwd_by_lin)
"""The rules of an operation that has `lin` and `linearized`: `vjp_fwd, vjp_bwd_retval =
vjp_from_lin` in its class."""
vjp_from_jvp = _ByReverse(_lin_by_jvp, _bwd_by_jvp)
"""The rules of an operation that has `jvp`: `vjp_fwd, vjp_bwd_retval = vjp_from_jvp` in its class.
"""

# --- batches --------------------------------------------------------------------------------------


def _is_axis(x: Any) -> bool:
    return x is None or isinstance(x, (int, MappingSpec))


def bdims_at_front(axis_data: Any, args: Any, dims: Any) -> Any:
    """Operands of a `batch` rule with the batch along the first axis of each array; an array
    without a batch is repeated.

    >>> class Data: name, size = None, 2
    >>> hijax.bdims_at_front(Data, (jnp.zeros((3, 2)), jnp.zeros(3)), (1, None))[1].shape
    (2, 3)
    """
    from ..numpy import broadcast_to, moveaxis

    leaves, tree = tree_flatten(args)
    places = tree.flatten_up_to(dims) if not _is_axis(dims) else [dims] * len(leaves)
    return tree_unflatten(tree, [
        broadcast_to(x, (axis_data.size, *np.shape(x))) if d is None else moveaxis(x, d, 0)
        for x, d in zip(leaves, places, strict=True)])


def unmap_avals(axis_data: Any, avals: Any, dims: Any) -> Any:
    """The types of batches, from those of one example and from where the batch lies.

    >>> class Data: name, size = None, 2
    >>> hijax.unmap_avals(Data, hijax.ShapedArray((3,), np.float32), 0)
    ShapedArray(float32[2,3])
    """
    kinds, tree = tree_flatten(avals)
    places = tree.flatten_up_to(dims) if not _is_axis(dims) else [dims] * len(kinds)
    return tree_unflatten(tree, [_unmapped(axis_data.size, a, d)
                                 for a, d in zip(kinds, places, strict=True)])


def _unmapped(size: int, aval: Any, dim: Any) -> Any:
    if dim is None:
        return aval
    if aval.is_high:
        return aval.inc_rank(size, dim)
    return aval.update(shape=(*aval.shape[:dim], size, *aval.shape[dim:]))


def vmap_rule(axis_data: Any, f: Callable[..., Any], in_axes: Any, out_axes: Any, *,
              sum_match: bool = False) -> Callable[..., Any]:
    """`f` mapped along the axis that a `batch` rule is given.

    >>> class Data: name, size = None, 2
    >>> hijax.vmap_rule(Data, lambda x: x.sum(), (0,), 0)(jnp.ones((2, 3)))
    Array([3., 3.], dtype=float32)
    """
    return _vmap(f, in_axes, out_axes, axis_data.name, axis_data.size,
                getattr(axis_data, "spmd_name", None), sum_match)


# --- the names of JAX before 0.12 -----------------------------------------------------------------


class AvalQDD:
    """The type of a value that changes, with its state, `qdd`.

    >>> hijax.AvalQDD(hijax.ShapedArray((), np.float32), None).aval
    ShapedArray(float32[])
    """

    is_high = has_qdd = True

    def __init__(self, aval: Any, qdd: Any) -> None:
        self.aval, self.qdd = aval, qdd


class AvalMutableQDD:
    """The type of a value that changes, with a state that a type rule may set, `mutable_qdd`.

    >>> hijax.AvalMutableQDD(hijax.ShapedArray((), np.float32), None).aval
    ShapedArray(float32[])
    """

    def __init__(self, aval: Any, mutable_qdd: Any) -> None:
        self.aval, self.mutable_qdd = aval, mutable_qdd


class HiPrimitive(Primitive):
    """The base of operations with rules of their own, one object for all types of operands, as
    before JAX 0.12: `bind(*args, **params)` runs or records it. `HiPrim` is the newer one.

    A class derived from it has `abstract_eval(*types, **params)`, which returns `(types of results,
    effects)`, `to_lojax(*args, **params)`, which computes them, and of `impl`, `jvp(primals,
    tangents, **params)` and `transpose(cotangents, *args, **params)` what it needs. An operation
    that reads or changes a value that changes is done in the trace as it comes, by `to_lojax`.
    """

    def bind(self, *args: Any, **params: Any) -> Any:
        """Run the operation, or record it. Raises: NotImplementedError where a rule is missing."""
        if not state.stack:
            return self._direct(*args, **params)
        kinds = [typeof(x) for x in args]
        if any([_changes(a) for a in kinds]):
            return apply(lambda *xs: self._direct(*xs, **params), args)
        made, _ = self._types(kinds, params)
        if any([_changes(a) for a in tree_leaves(made)]):
            return apply(lambda *xs: self._direct(*xs, **params), args)
        return record(_OfParams(self, params, tuple(kinds), made), args)

    def _direct(self, *args: Any, **params: Any) -> Any:
        own = type(self).impl is not Primitive.impl
        return (self.impl if own else self.to_lojax)(*args, **params)

    def _types(self, kinds: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any]:
        made, effects = self.abstract_eval(*kinds, **params)
        return (tuple(made) if self.multiple_results else made), effects

    def abstract_eval(self, *arg_avals: Any, **params: Any) -> tuple[Any, Any]:
        """Types of the results, and effects. Raises: NotImplementedError unless a class has it."""
        raise NotImplementedError(f"{self.name}: {type(self).__name__} must define `abstract_eval`")

    def is_high(self, *avals: Any, **params: Any) -> bool:
        """Whether an operand or a result is of an own type."""
        return any([getattr(a, "is_high", False) for a in avals])

    def is_effectful(self, params: dict[str, Any]) -> bool:
        """False: effects are those that `abstract_eval` returns."""
        return False

    if TYPE_CHECKING:                            # as in HiPrim
        jvp: Any
        to_lojax: Any
        transpose: Any
    else:
        def to_lojax(self, *args: Any, **params: Any) -> Any:
            """The results, by other operations. Raises: NotImplementedError without the method."""
            raise NotImplementedError(f"{self.name}: {type(self).__name__} must define `to_lojax`")

        def jvp(self, primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
            """Results and tangents. Raises: NotImplementedError unless a class has it."""
            raise NotImplementedError(f"jvp rule for '{self.name}' not implemented")

        def transpose(self, *args: Any, **params: Any) -> Any:
            """Cotangents of linear operands. Raises: NotImplementedError unless a class has it."""
            raise NotImplementedError(f"transpose rule for '{self.name}' not implemented")


def _changes(aval: Any) -> bool:
    """Whether values of a type may change."""
    return isinstance(aval, (MutableHiType, AvalQDD))


class _OfParams(HiPrim):
    """A `HiPrimitive` with its params and types, as a `HiPrim`."""

    def __init__(self, primitive: HiPrimitive, params: dict[str, Any], kinds: tuple[Any, ...],
                 made: Any) -> None:
        self.in_avals, self.out_aval = kinds, made
        self.params = {"primitive": primitive, **params}
        self.given = params
        super().__init__()
        self.name = primitive.name
        self._key = (*self._key[:3], _hashable(self.params))

    def expand(self, *args: Any) -> Any:
        found = self.params["primitive"]._direct(*args, **self.given)
        return tuple(found) if self.params["primitive"].multiple_results else found

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        value, dot = self.params["primitive"].jvp(primals, tangents, **self.given)
        if not self.params["primitive"].multiple_results:
            return value, dot
        return tuple(value), tuple(dot)

    def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
        args = [UndefinedPrimal(a) if isinstance(x, GradAccum) else x
                for a, x in zip(self.in_avals, maybe_accums, strict=True)]
        found = self.params["primitive"].transpose(out_ct, *args, **self.given)
        for accum, ct in zip(maybe_accums, found, strict=True):
            if isinstance(accum, GradAccum):
                accum.accum(ct)


def _hashable(params: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted(params.items(), key=lambda item: item[0]))


# --- effects, zeros -----------------------------------------------------------------------------

class _Effects:
    """Classes of effects that a library declares as allowed in bodies of control flow, where all
    effects are."""

    def __init__(self) -> None:
        self.types: list[type] = []

    def add_type(self, effect: type) -> None:
        """Add a class of effects."""
        self.types.append(effect)


control_flow_allowed_effects = _Effects()


def instantiate_zeros(x: Any) -> Any:
    """An array of zeros for a symbolic zero; any other value unchanged.

    >>> hijax.instantiate_zeros(hijax.Zero(hijax.ShapedArray((2,), np.float32)))
    Array([0., 0.], dtype=float32)
    """
    return x.instantiate() if type(x) is Zero else x


def is_undefined_primal(x: Any) -> bool:
    """Whether a value stands for an operand with respect to which an op is transposed.

    >>> hijax.is_undefined_primal(1.0)
    False
    """
    return type(x) is UndefinedPrimal


__all__ = [
    "AbstractRef", "AbstractValue", "AvalMutableQDD", "AvalQDD", "GradAccum", "HiPrim",
    "HiPrimitive", "HiPspec", "HiType", "MappingSpec", "MutableHiType", "NullAccum", "RefAccum",
    "ShapedArray", "VJPHiPrimitive", "ValAccum", "Zero", "aval_method", "aval_property",
    "bdims_at_front", "control_flow_allowed_effects", "instantiate_zeros", "is_undefined_primal",
    "jvp_from_lin", "linearize_from_jvp", "register_hitype", "unmap_avals", "vjp_from_jvp",
    "vjp_from_lin", "vmap_rule",
]  # fmt: skip
__dir__ = _shown(globals())
