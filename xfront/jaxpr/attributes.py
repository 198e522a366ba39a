"""Params of eqns as attributes of ops, for `bind`: the inverse of `views.viewed_parameters`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xfront_ir.core import Function
from xfront_ir.definition import AttrKind, OpDef
from xfront_ir.dtypes import DType, from_numpy
from xfront_ir.literal import Literal as IRLiteral

from .. import binding
from ..eager.primitives import PARAMETERS, Primitive
from ..lax.precision import precision_attr
from ..tracing.trace import state
from .views import ClosedJaxpr, Jaxpr


def attributes(primitive: Primitive, params: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of the op behind a primitive, from params under JAX's names.

    A param without an attribute is accepted where its value is None, False, or a tuple of these.
    Raises: TypeError where a param is missing, unknown or of another type.
    """
    definition = primitive.definition
    assert definition is not None
    given = dict(params)
    regrouped = _REGROUPED.get(definition.name)
    if regrouped is not None:
        try:
            given = regrouped(given)
        except KeyError as e:
            raise TypeError(f"{primitive.name}.bind: missing params: {e.args[0]}") from None
    back = {v: k for k, v in PARAMETERS.get(definition.name, {}).items()}
    attrs: dict[str, Any] = {}
    for key, value in given.items():
        name = back.get(key, key)
        if name in definition.attrs:
            attrs[name] = _attribute(definition.attrs[name], value)
        elif not _asks_nothing(value):
            raise TypeError(f"{primitive.name}.bind: param {key!r} must be None or left out, got "
                            f"{value!r}; it takes {', '.join(_names(definition)) or 'none'}")
    if "sizes" in definition.attrs and "sizes" not in attrs:     # sizes of named axes
        attrs["sizes"] = _sizes(attrs["axes"])
    missing = [k for k, kind in definition.attrs.items() if k not in attrs and not kind.optional]
    if missing:
        names = dict(zip(definition.attrs, _names(definition), strict=True))
        raise TypeError(f"{primitive.name}.bind: missing params: "
                        f"{', '.join(names[k] for k in missing)}")
    return attrs


def _names(definition: OpDef) -> list[str]:
    renamed = PARAMETERS.get(definition.name, {})
    return [renamed.get(k, k) for k in definition.attrs]


def _asks_nothing(value: Any) -> bool:
    return value is None or value is False or (
        type(value) in (tuple, list) and all(map(_asks_nothing, value)))


def _sizes(axes: Any) -> tuple[int, ...]:
    bound = dict(state.axes)
    for name in axes:
        if type(name) is str and name not in bound:
            raise NameError(f"unbound axis name: {name}")
    return tuple([bound[name] for name in axes if name in bound])


def _attribute(kind: AttrKind, value: Any) -> Any:
    if value is None and kind.optional:
        return value
    return _fitted(kind, value)


def _fitted(kind: AttrKind, value: Any) -> Any:
    text = kind.text
    if text == "ints":
        return tuple([int(i) for i in value])
    if text == "bools":
        return tuple([bool(i) for i in value])
    if text == "int":
        return int(value)
    if text == "tree":
        return _tree(value)
    if text == "dtype":
        return value if isinstance(value, DType) else from_numpy(
            binding.canonical_dtype(np.dtype(value)))
    if text in ("function", "body"):
        return as_function(value)
    if text == "functions":
        return tuple([as_function(f) for f in value])
    if text == "literal" and not isinstance(value, IRLiteral):
        return IRLiteral(np.asarray(value))
    if text == "word" and not isinstance(value, str):
        return getattr(value, "name", str(value)).lower()
    return value


def _tree(value: Any) -> Any:
    if type(value) in (tuple, list):
        return tuple([_tree(x) for x in value])
    return value if isinstance(value, str) else int(value)


def as_function(value: Any) -> Function:
    """The Function of a body that is given as a view, a program made of parts, or a Function.

    Raises: TypeError for anything else; NotImplementedError where the body has constants that are
      not literals.
    """
    if isinstance(value, Function):
        return value
    if isinstance(value, (Jaxpr, ClosedJaxpr)):
        jaxpr = value if isinstance(value, Jaxpr) else value.jaxpr
        if jaxpr.function is not None and not jaxpr.n_consts and (
                isinstance(value, Jaxpr) or value.has_own_consts):
            return jaxpr.function
        from .evaluating import traced

        return traced(value)
    raise TypeError(f"a body must be a ClosedJaxpr, a Jaxpr or a Function of the IR, got {value!r} "
                    f"of type {type(value).__name__}")


def _dot_general(params: dict[str, Any]) -> dict[str, Any]:
    contract, batch = params.pop("dimension_numbers")
    preferred = params.pop("preferred_element_type", None)
    return {**params, "contract": contract, "batch": batch, "preferred": preferred,
            "precision": _precision(params.get("precision"))}


def _precision(given: Any) -> Any:
    return None if given is None else precision_attr(given)


def _conv(params: dict[str, Any]) -> dict[str, Any]:
    numbers = params.pop("dimension_numbers")
    renamed = {"window_strides": "strides", "feature_group_count": "feature_groups",
               "batch_group_count": "batch_groups", "preferred_element_type": "preferred"}
    return {"lhs_spec": numbers[0], "rhs_spec": numbers[1], "out_spec": numbers[2],
            **{renamed.get(k, k): v for k, v in params.items()},
            "precision": _precision(params.get("precision"))}


def _indexed(params: dict[str, Any]) -> dict[str, Any]:
    numbers = params.pop("dimension_numbers")
    mode = getattr(params["mode"], "name", str(params["mode"])).lower()
    return {**numbers._asdict(), **params, "mode": "fill" if mode == "fill_or_drop" else mode}


def _pad(params: dict[str, Any]) -> dict[str, Any]:
    config = tuple(params.pop("padding_config"))
    low, high, interior = zip(*config, strict=True) if config else ((), (), ())
    return {**params, "low": low, "high": high, "interior": interior}


def _extremum(params: dict[str, Any]) -> dict[str, Any]:
    axes = tuple(params.pop("axes"))
    if len(axes) != 1:
        raise TypeError(f"argmax and argmin take exactly one axis, got axes={axes}")
    return {**params, "axis": axes[0]}


def _reduce(params: dict[str, Any]) -> dict[str, Any]:
    params.pop("computation", None)              # the Python function behind the jaxpr
    return params


def _slice(params: dict[str, Any]) -> dict[str, Any]:
    return {**params, "strides": params.get("strides") or (1,) * len(params["start_indices"])}


def _custom_jvp(params: dict[str, Any]) -> dict[str, Any]:
    params.pop("symbolic_zeros", None)           # the rule knows
    return params


_REGROUPED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "argmax": _extremum, "argmin": _extremum, "conv_general_dilated": _conv,
    "custom_jvp": _custom_jvp, "dot_general": _dot_general, "gather": _indexed, "pad": _pad,
    "reduce": _reduce, "scatter": _indexed, "scatter_add": _indexed, "scatter_max": _indexed,
    "scatter_min": _indexed, "scatter_mul": _indexed, "slice": _slice,
}
