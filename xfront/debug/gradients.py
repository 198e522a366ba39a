"""Checks of derivatives against central differences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import float0
from ..base.trees import tree_flatten, tree_map, tree_structure
from ..numpy import asarray
from ..transforms.autodiff import jvp, vjp

_TOLERANCES = {"float16": 1e-2, "bfloat16": 1e-1, "float32": 2e-3, "complex64": 1e-3}
_WIDE_TOLERANCE = 1e-5
_STEPS = {"float16": 0.1, "bfloat16": 0.125}      # a shorter step is rounded away beside 1
_STEP = 1e-4


def check_grads(f: Callable[..., Any], args: Sequence[Any], order: int,
                modes: str | Sequence[str] = ("fwd", "rev"), atol: float | None = None,
                rtol: float | None = None, eps: float | None = None) -> None:
    """Check the derivatives of `f` at a point against central differences, up to an order.

    Args:
      f: any function of arrays and trees.
      args: its arguments; derivatives are taken with respect to all float and complex leaves.
      order: highest order of the checked derivatives; those of order k are checked against
        differences of those of order k - 1.
      modes: "fwd" (jvp), "rev" (vjp), or a sequence of both; higher orders use all combinations.
      atol, rtol: absolute and relative tolerances; None takes those for the dtype of the results.
        For an array they are multiplied by its number of elements, because each is rounded.
      eps: step of the differences; None means 1e-4, for float16 0.1 and for bfloat16 0.125.
    Raises: AssertionError where a derivative differs; ValueError for an unknown mode.
    Source: Press et al., "Numerical Recipes", 5.7 (step of a central difference).

    >>> test_util.check_grads(jnp.sin, (0.5,), order=2)
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if unknown := set(modes) - {"fwd", "rev"}:
        raise ValueError(f"check_grads: modes must be among 'fwd' and 'rev', got {sorted(unknown)}")
    _check(f, tree_map(asarray, tuple(args)), order, modes, atol, rtol, eps, "")


def _check(f: Callable[..., Any], args: tuple, order: int, modes: tuple[str, ...],
           atol: float | None, rtol: float | None, eps: float | None, path: str) -> None:
    for mode in modes:
        here = f"{path} of {mode}" if path else mode
        if mode == "fwd":
            check_jvp(f, functools.partial(jvp, f), args, atol, rtol, eps, here)
        else:
            check_vjp(f, functools.partial(vjp, f), args, atol, rtol, eps, here)
        if order > 1:
            inner = _pushed(f, args) if mode == "fwd" else _pulled(f, args)
            _check(inner, args, order - 1, modes, atol, rtol, eps, here)


def check_jvp(f: Callable[..., Any], f_jvp: Callable[..., Any], args: Sequence[Any],
              atol: float | None = None, rtol: float | None = None, eps: float | None = None,
              err_msg: str = "") -> None:
    """Check `f_jvp(args, tangents) -> (value, tangent)` against differences of `f`.

    Args:
      f, args, atol, rtol, eps: as for `check_grads`.
      f_jvp: function from arguments and tangents to value and tangent.
      err_msg: beginning of the message.
    Raises: AssertionError where they differ.

    >>> test_util.check_jvp(jnp.sin, lambda p, t: xfront.jvp(jnp.sin, p, t), (0.5,))
    """
    args = tree_map(asarray, tuple(args))
    tangents = tuple(_directions(args, 0))
    value, moved = f_jvp(args, tangents)
    _compare(value, f(*args), atol, rtol, f"{err_msg} value of jvp")
    _compare(moved, _difference(f, args, tangents, eps), atol, rtol, f"{err_msg} tangent of jvp")


def check_vjp(f: Callable[..., Any], f_vjp: Callable[..., Any], args: Sequence[Any],
              atol: float | None = None, rtol: float | None = None, eps: float | None = None,
              err_msg: str = "") -> None:
    """Check `f_vjp(*args) -> (value, pullback)` against differences of `f`.

    The product of a cotangent and the difference along a direction is compared with the product of
    the pulled back cotangent and the direction.

    Args:
      f, args, atol, rtol, eps: as for `check_grads`.
      f_vjp: function from arguments to the value and a function from cotangents to gradients.
      err_msg: beginning of the message.
    Raises: AssertionError where they differ.

    >>> test_util.check_vjp(jnp.sin, lambda x: xfront.vjp(jnp.sin, x), (0.5,))
    """
    args = tree_map(asarray, tuple(args))
    value, pullback = f_vjp(*args)
    _compare(value, f(*args), atol, rtol, f"{err_msg} value of vjp")
    tangents, cotangents = _directions((args, value), 0)
    pulled = pullback(tree_map(_conjugate, cotangents))
    got = _inner(tangents, tree_map(_conjugate, pulled))
    moved = _difference(f, args, tangents, eps)
    dtypes = [x.dtype for x in tree_flatten(moved)[0]]
    tolerance = max([_tolerance(t) for t in dtypes], default=_WIDE_TOLERANCE)
    np.testing.assert_allclose(
        got, _inner(moved, cotangents), atol=tolerance if atol is None else atol,
        rtol=tolerance if rtol is None else rtol,
        err_msg=f"{err_msg} cotangent of vjp, in product with a direction")


def _pushed(f: Callable[..., Any], args: tuple) -> Callable[..., Any]:
    tangents = tuple(_directions(args, 2))
    return lambda *xs: _without_float0(jvp(f, xs, tangents)[1])


def _pulled(f: Callable[..., Any], args: tuple) -> Callable[..., Any]:
    cotangents = _directions(f(*args), 3)
    return lambda *xs: _without_float0(vjp(f, *xs)[1](cotangents))


def _without_float0(tree: Any) -> list[Any]:
    return [x for x in tree_flatten(tree)[0] if getattr(x, "dtype", None) != float0]


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def _on_host(x: Any) -> np.ndarray:
    return x if _is_array(x) else np.asarray(asarray(x))


def _is_inexact(x: Any) -> bool:
    dtype = asarray(x).dtype
    return np.issubdtype(dtype, np.inexact) or dtype.name == "bfloat16"


def _directions(tree: Any, seed: int) -> Any:
    """A random tree of tangents like `tree`, the same at each call."""
    random = np.random.RandomState(seed)

    def draw(x: Any) -> Any:
        shape = np.shape(x)
        if not _is_inexact(x):
            return np.zeros(shape, float0)
        dtype = asarray(x).dtype
        made = random.standard_normal(shape)
        if np.issubdtype(dtype, np.complexfloating):
            made = made + 1j * random.standard_normal(shape)
        return np.asarray(made).astype(dtype)

    return tree_map(draw, tree)


def _difference(f: Callable[..., Any], args: Any, tangents: tuple, eps: float | None) -> Any:
    """The central difference of `f` along `tangents`; float0 where a result is not inexact."""
    dtypes = [t.dtype for t in tree_flatten(tangents)[0] if t.dtype != float0]
    step = eps if eps is not None else max([_STEPS.get(t.name, _STEP) for t in dtypes], default=1.0)

    def moved(by: float) -> Any:
        return f(*tree_map(lambda x, t: x if t.dtype == float0 else
                           asarray((np.asarray(x) + by * t).astype(t.dtype)), args, tangents))

    def slope(up: Any, down: Any) -> Any:
        up, down = _on_host(up), _on_host(down)
        if not _is_inexact(up):
            return np.zeros(up.shape, float0)
        wide = np.result_type(up.dtype, np.float64) if up.dtype.kind in "fc" else np.float64
        return ((up.astype(wide) - down.astype(wide)) / (2 * step)).astype(up.dtype)

    return tree_map(slope, moved(step), moved(-step))


def _tolerance(dtype: Any) -> float:
    return _TOLERANCES.get(dtype.name, _WIDE_TOLERANCE)


def _conjugate(x: Any) -> Any:
    x = _on_host(x)
    return np.conj(x) if x.dtype.kind == "c" else x


def _inner(xs: Any, ys: Any) -> float:
    """The real part of the inner product of two trees; leaves without a derivative do not count."""
    total = 0.0
    for x, y in zip(tree_flatten(xs)[0], tree_flatten(ys)[0], strict=True):
        x, y = _on_host(x), _on_host(y)
        if x.dtype != float0:
            wide = np.complex128 if x.dtype.kind == "c" else np.float64
            total += np.real(np.vdot(x.astype(wide), y.astype(wide)))
    return float(total)


def _compare(got: Any, wanted: Any, atol: float | None, rtol: float | None, what: str) -> None:
    assert tree_structure(got) == tree_structure(wanted), (
        f"{what}: {tree_structure(got)} instead of {tree_structure(wanted)}")
    for x, y in zip(tree_flatten(got)[0], tree_flatten(wanted)[0], strict=True):
        x, y = _on_host(x), _on_host(y)
        assert x.dtype == y.dtype, f"{what}: dtype {x.dtype} instead of {y.dtype}"
        if x.dtype == float0:
            continue
        wide = np.complex128 if x.dtype.kind == "c" else np.float64
        tolerance = _tolerance(x.dtype)
        np.testing.assert_allclose(
            x.astype(wide), y.astype(wide), atol=x.size * (tolerance if atol is None else atol),
            rtol=x.size * (tolerance if rtol is None else rtol), err_msg=what)


__all__ = ["check_grads", "check_jvp", "check_vjp"]
