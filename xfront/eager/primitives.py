"""Primitives: ops under the names and parameters that policies and readers of programs know.

`named("dot_general_p")` is the object behind `lax.dot_general_p`; `primitive_of(definition)` is the
same object for the op, so `prim is lax.dot_general_p` holds in a policy. `parameters(op)` gives the
attributes under JAX's names. Some of JAX's primitives are never recorded. They exist here too,
because a program may use them as keys of a table of rules. The tables here and docs/names.md say
which names differ, and which ops are recorded in place of the primitives that are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xfront_ir import ops
from xfront_ir.core import Op
from xfront_ir.definition import REGISTRY, OpDef, lookup
from xfront_ir.dtypes import DType
from xfront_ir.types import TensorType

from ..base.dimension_numbers import (
    ConvDimensionNumbers,
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from ..base.on_demand import above
from ..binding import AbstractArray
from ..tracing.trace import state
from ..tracing.tracer import Tracer
from ..values.keys import key_dtype


class BindParams(dict[str, Any]):
    """The params of an eqn: a dict that unpacks as a pair, an empty list of functions and itself.

    Programs for JAX before 0.9.2 unpack what `get_bind_params` returns, `functions, params = ...`,
    and call `bind(*functions, *args, **params)`."""

    def __iter__(self) -> Iterator[Any]:
        return iter(([], dict(self.items())))


class Primitive:
    """An op in the form that users' programs see; primitives compare by identity.

    `Primitive("name")` makes a user's own: `def_impl`, `def_abstract_eval` and the tables of
    `interpreters` set its rules (docs/programs.md), and `bind` runs or records it.

    Fields: `name`; `multiple_results`, whether its result is a list; `definition`, the op, or None
    where other ops are recorded in its place.
    """

    multiple_results = False
    call_primitive = map_primitive = ref_primitive = False
    definition: OpDef | None = None
    is_own = True                                # whether it is a user's, not an op of the IR

    def __init__(self, name: str) -> None:
        self.name = name
        self._impl: Callable[..., Any] | None = None
        self._abstract_eval: Callable[..., Any] | None = None
        self.revision = 0                        # how often a rule was set

    def changed(self) -> None:
        """Note that a rule was set: programs traced under earlier rules are not used again."""
        self.revision += 1

    @staticmethod
    def of_op(name: str, definition: OpDef | None, multiple_results: bool) -> Primitive:
        """The primitive of an op of the IR, or of a name for which other ops are recorded."""
        made = Primitive(name)
        made.definition, made.multiple_results, made.is_own = definition, multiple_results, False
        return made

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple:
        if self.is_own:
            raise TypeError(f"primitive {self.name!r} cannot be pickled: its rules belong to the "
                            "process that defined it")
        if self.definition is not None:
            return primitive_of, (self.definition,)
        return named, (next(key for key, made in _PRIMITIVES_APART.items() if made is self),)

    # --- running and recording -----------------------------------------------------------

    def bind(self, *args: Any, **params: Any) -> Any:
        """Record the operation, or run it where nothing is traced.

        Args:
          args: arrays, traced arrays or numbers.
          params: parameters under JAX's names, as in `eqn.params`.
        Returns: an array; a list where `multiple_results` is set.
        Raises: TypeError where operands or params do not fit; NotImplementedError where nothing is
          recorded under this name, or a rule is missing.
        """
        if self.is_own:
            return above("own").bind_own(self, args, params)
        if self._impl is not None and state.current is None and Tracer not in map(type, args):
            return self._impl(*args, **params)
        return above("binding").bind_op(self, args, params)

    def get_bind_params(self, params: Mapping[str, Any]) -> BindParams:
        """The params of an eqn as `bind(*args, **params)` takes them. For a call with a rule of its
        own, `subfuns` has its function besides, with a method `call_wrapped(*args)`."""
        if self.name in ("custom_jvp_call", "custom_vjp_call") and "call_jaxpr" in params:
            return BindParams({**params, "subfuns": above("binding").subfunctions(params)})
        return BindParams(params)

    @property
    def impl(self) -> Callable[..., Any]:
        """The function that runs the primitive on arrays: the one given to `def_impl`, else one
        that runs its lowering. That raises NotImplementedError where there is no lowering."""
        return self._run if self._impl is None else self._impl

    def _run(self, *args: Any, **params: Any) -> Any:
        if self.is_own:
            return above("own").apply_primitive(self, *args, **params)
        return above("binding").bind_op(self, args, params)

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        """Types of the results and effects, from types of the operands. Raises: NotImplementedError
        where the primitive has no type rule."""
        if self._abstract_eval is None:
            raise NotImplementedError(f"Abstract evaluation for '{self.name}' not implemented")
        return self._abstract_eval(*avals, **params)

    # --- rules ---------------------------------------------------------------------------

    def _refuse_rule(self, what: str) -> None:
        if not self.is_own:
            raise NotImplementedError(f"{what}: {self.name} is a built-in operation, whose rules "
                                      "are fixed; make a Primitive of your own, or use custom_jvp")

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Set the function that runs the primitive on arrays: `impl(*args, **params)`.

        That of a built-in primitive runs where nothing is traced: in `bind`, and so in interpreters
        of programs. The functions of `lax` do not ask for it.

        >>> from xfront.extend.core import jaxpr_as_fun
        >>> counted, sin = [], lax.sin_p.impl
        >>> rule = lax.sin_p.def_impl(lambda x, **params: counted.append(x) or sin(x, **params))
        >>> jaxpr_as_fun(xfront.make_jaxpr(jnp.sin)(0.0))(jnp.zeros(2)), len(counted)
        ([Array([0., 0.], dtype=float32)], 1)
        >>> rule = lax.sin_p.def_impl(sin)
        """
        self.changed()
        self._impl = impl
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the type rule: `rule(*avals, **params)` returns a ShapedArray, or a list of them."""
        self._refuse_rule("def_abstract_eval")
        self.changed()
        self._abstract_eval = lambda *avals, **params: (rule(*avals, **params), frozenset())
        return rule

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the type rule, as `def_abstract_eval`, for a rule that returns (types, effects)."""
        self._refuse_rule("def_effectful_abstract_eval")
        self.changed()
        self._abstract_eval = rule
        return rule

    def def_custom_bind(self, bind: Callable[..., Any]) -> Callable[..., Any]:
        """Set the function that runs in place of `bind`."""
        self._refuse_rule("def_custom_bind")
        self.bind = bind  # type: ignore[method-assign]
        return bind


# --- names --------------------------------------------------------------------------------

_RENAMED = {                              # name with _p: (name of the op, name of the primitive)
    "bitcast_convert_type_p": ("bitcast", "bitcast_convert_type"),
    "convert_element_type_p": ("convert", "convert_element_type"),
    "custom_jvp_call_p": ("custom_jvp", "custom_jvp_call"),
    "custom_vjp_call_p": ("custom_vjp", "custom_vjp_call"),
    "jit_p": ("call", "jit"),
    "linear_solve_p": ("custom_linear_solve", "custom_linear_solve"),
    "name_p": ("checkpoint_name", "name"),
    "population_count_p": ("popcnt", "population_count"),
    "regularized_incomplete_beta_p": ("betainc", "regularized_incomplete_beta"),
    "remat_p": ("checkpoint", "remat2"),
    "rev_p": ("reverse", "rev"),
    "scatter_add_p": ("scatter_add", "scatter-add"),
    "scatter_max_p": ("scatter_max", "scatter-max"),
    "scatter_min_p": ("scatter_min", "scatter-min"),
    "scatter_mul_p": ("scatter_mul", "scatter-mul"),
    "select_n_p": ("select_n", "select_n"),
}
_OF_OP = {"select": "select_n", **dict(_RENAMED.values())}
_APART = {                               # name with _p: (name of the primitive, multiple_results)
    "add_jaxvals_p": ("add_any", False),                    # recorded as add
    "after_all_p": ("after_all", False),                    # not recorded
    "approx_top_k_p": ("approx_top_k", True),               # top_k
    "call_p": ("call", True),                               # call
    "cholesky_update_p": ("cholesky_update", False),        # scan
    "closed_call_p": ("closed_call", True),                 # call
    "create_token_p": ("create_token", False),              # not recorded
    "custom_lin_p": ("custom_lin", True),                   # custom_vjp
    "device_put_p": ("device_put", True),                   # not recorded
    "empty2_p": ("empty2", False),                          # a literal
    "polynomial_p": ("polynomial", False),                  # mul, add
    "ragged_all_to_all_p": ("ragged_all_to_all", False),    # all_gather, gather
    "remat_opt_p": ("remat_opt", True),                     # custom_vjp
    "scatter_sub_p": ("scatter-sub", False),                # neg, scatter_add
    "select_and_scatter_p": ("select_and_scatter", False),  # select_and_scatter_add
    "split_p": ("split", True),                             # slice
    "squeeze_p": ("squeeze", False),                        # reshape
    "stack_p": ("stack", False),                            # reshape, concatenate
    "stage_p": ("stage", False),                            # not recorded
    "symmetric_product_p": ("symmetric_product", False),    # dot_general
    "tile_p": ("tile", False),                              # broadcast_in_dim, reshape
    "unstack_p": ("unstack", True),                         # slice, reshape
}
_PRIMITIVES: dict[OpDef, Primitive] = {}
_PRIMITIVES_APART = {key: Primitive.of_op(name, None, multiple)
                     for key, (name, multiple) in _APART.items()}


def named(name: str, module: str = "xfront.lax") -> Primitive:
    """The primitive with a name such as `dot_general_p`.

    Args:
      name: the name with `_p`.
      module: name of the module that was asked, for errors.
    Raises: AttributeError where there is no such primitive.
    """
    if name in _PRIMITIVES_APART:
        return _PRIMITIVES_APART[name]
    op = _RENAMED[name][0] if name in _RENAMED else name.removesuffix("_p")
    if op in REGISTRY and (name in _RENAMED or op not in _OF_OP):
        return primitive_of(lookup(op))
    raise AttributeError(f"module {module!r} has no attribute {name!r}; no operation of that name "
                         "is ever recorded")


def belongs(definition: OpDef, primitive: Primitive) -> None:
    """Register `primitive` as the primitive of an op."""
    _PRIMITIVES[definition] = primitive


def primitive_of(definition: OpDef) -> Primitive:
    """The one primitive of an op; `select` shares that of `select_n`, of which it is a case."""
    found = _PRIMITIVES.get(definition)
    if found is None:
        if definition is ops.select:
            found = primitive_of(lookup("select_n"))
        else:
            found = Primitive.of_op(_OF_OP.get(definition.name, definition.name), definition,
                                    not definition.single)
        found = _PRIMITIVES.setdefault(definition, found)
    return found


def aval_of(type: TensorType) -> Any:
    """The type of a value in the form of types of arrays; references have another type."""
    if type.dtype.is_ref:
        from ..values.refs import AbstractRef, content_type

        return AbstractRef(aval_of(content_type(type)))
    dtype = key_dtype(type.dtype) if type.dtype.is_key else type.dtype.numpy
    return AbstractArray(type.shape, dtype, sharding=type.sharding)


# --- parameters ---------------------------------------------------------------------------

Attrs = Mapping[str, Any]


def parameters(op: Op) -> dict[str, Any]:
    """The attributes of an op under JAX's names, with NumPy's dtypes."""
    own = _PRIMITIVES.get(op.definition)
    if own is not None and own.is_own:
        return dict(op.attrs["call"].params)
    attrs = {key: value.numpy if isinstance(value, DType) and not value.is_key else value
             for key, value in op.attrs.items()}
    name = op.definition.name
    grouped = _GROUPED.get(name)
    if grouped is not None:
        attrs = grouped(attrs)
    renamed = PARAMETERS.get(name)
    return attrs if renamed is None else {renamed.get(k, k): v for k, v in attrs.items()}


_WINDOW = {"window": "window_dimensions", "strides": "window_strides"}
_AXIS = {"axes": "axis_name", "groups": "axis_index_groups"}
PARAMETERS: dict[str, dict[str, str]] = {
    "all_gather": {**_AXIS, "dimension": "all_gather_dimension"},
    "all_to_all": {**_AXIS, "split": "split_axis", "concat": "concat_axis"},
    "axis_index": _AXIS,
    "bitcast": {"dtype": "new_dtype"},
    "broadcast_in_dim": {"dims": "broadcast_dimensions"},
    "call": {"body": "jaxpr"},
    "checkpoint": {"body": "jaxpr"},
    "convert": {"dtype": "new_dtype"},
    "custom_jvp": {"body": "call_jaxpr", "rule": "jvp_jaxpr_fun"},
    "custom_vjp": {"body": "call_jaxpr", "rule": "fwd_jaxpr_thunk"},
    "dynamic_slice": {"sizes": "slice_sizes"},
    "eig": {"left": "compute_left_eigenvectors", "right": "compute_right_eigenvectors",
            "vector_derivatives": "enable_eigvec_derivs"},
    "fft": {"kind": "fft_type", "lengths": "fft_lengths"},
    "integer_pow": {"exponent": "y"},
    "iota": {},
    "lu_pivots_to_permutation": {"size": "permutation_size"},
    "pmax": {"groups": "axis_index_groups"},
    "pmin": {"groups": "axis_index_groups"},
    "ppermute": _AXIS,
    "psum": {"groups": "axis_index_groups"},
    "psum_scatter": {**_AXIS, "dimension": "scatter_dimension"},
    "reduce": {"body": "jaxpr", "axes": "dimensions"},
    "reduce_window": {**_WINDOW, "body": "jaxpr"},
    "reduce_window_max": _WINDOW,
    "reduce_window_min": _WINDOW,
    "reduce_window_prod": _WINDOW,
    "reduce_window_sum": _WINDOW,
    "reshape": {"shape": "new_sizes"},
    "reverse": {"axes": "dimensions"},
    "round": {"method": "rounding_method"},
    "schur": {"vectors": "compute_schur_vectors"},
    "scan": {"body": "jaxpr", "n_consts": "num_consts", "n_carry": "num_carry"},
    "select_and_gather_add": {**_WINDOW, "select": "select_prim"},
    "select_and_scatter_add": {**_WINDOW, "select": "select_prim"},
    "slice": {"starts": "start_indices", "limits": "limit_indices"},
    "sort": {"n_keys": "num_keys", "stable": "is_stable"},
    "while": {"cond": "cond_jaxpr", "body": "body_jaxpr", "n_cond_consts": "cond_nconsts",
              "n_body_consts": "body_nconsts"},
}


def _without(attrs: Attrs, *keys: str) -> dict[str, Any]:
    return {k: v for k, v in attrs.items() if k not in keys}


def _dot_general(attrs: Attrs) -> dict[str, Any]:
    return {"dimension_numbers": (attrs["contract"], attrs["batch"]),
            "precision": _precision(attrs.get("precision")),
            "preferred_element_type": attrs.get("preferred")}


def _conv(attrs: Attrs) -> dict[str, Any]:
    specs = ("lhs_spec", "rhs_spec", "out_spec")
    renamed = {"strides": "window_strides", "feature_groups": "feature_group_count",
               "batch_groups": "batch_group_count", "preferred": "preferred_element_type"}
    return {"dimension_numbers": ConvDimensionNumbers(*[attrs[s] for s in specs]),
            **{renamed.get(k, k): v for k, v in _without(attrs, *specs).items()},
            "precision": _precision(attrs.get("precision"))}


def _precision(found: Any) -> Any:
    """The members of `lax.Precision` that words name, or the algorithm of that name."""
    if found is None:
        return None
    precision = above("precision")
    return precision.DotAlgorithmPreset[found] if isinstance(found, str) else tuple(
        [precision.Precision(word) for word in found])


def _slice(attrs: Attrs) -> dict[str, Any]:
    return {**attrs, "strides": attrs["strides"] if any(s != 1 for s in attrs["strides"]) else None}


def _custom_jvp(attrs: Attrs) -> dict[str, Any]:
    return {**attrs, "symbolic_zeros": getattr(attrs["rule"], "symbolic_zeros", False)}


def _gather(attrs: Attrs) -> dict[str, Any]:
    return _numbers(GatherDimensionNumbers, attrs)


def _scatter(attrs: Attrs) -> dict[str, Any]:
    return _numbers(ScatterDimensionNumbers, attrs)


def _numbers(made: Any, attrs: Attrs) -> dict[str, Any]:
    mode = {"clip": GatherScatterMode.CLIP, "fill": GatherScatterMode.FILL_OR_DROP,
            "drop": GatherScatterMode.FILL_OR_DROP}
    return {"dimension_numbers": made(**{f: attrs[f] for f in made._fields}),
            **_without(attrs, *made._fields),
            "mode": mode.get(attrs["mode"], GatherScatterMode.PROMISE_IN_BOUNDS)}


def _pad(attrs: Attrs) -> dict[str, Any]:
    keys = ("low", "high", "interior")
    return {"padding_config": tuple(zip(*[attrs[k] for k in keys], strict=True))}


def _extremum(attrs: Attrs) -> dict[str, Any]:
    return {"axes": (attrs["axis"],), **_without(attrs, "axis")}


_GROUPED: dict[str, Callable[[Attrs], dict[str, Any]]] = {
    "argmax": _extremum, "argmin": _extremum, "conv_general_dilated": _conv,
    "custom_jvp": _custom_jvp, "dot_general": _dot_general, "gather": _gather, "pad": _pad,
    "scatter": _scatter, "scatter_add": _scatter, "scatter_max": _scatter,
    "scatter_min": _scatter, "scatter_mul": _scatter, "slice": _slice,
}
