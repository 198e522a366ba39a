"""NumPy rows of the platform kernels that passes write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import MissingRule
from ..reference import reference, row_of

KERNELS: dict[str, Callable[..., Any]] = {}


@reference("platform_call")
def _platform_call(attrs: Any, types: Any, *operands: np.ndarray) -> Any:
    found = KERNELS.get(attrs["target"])
    if found is None:
        raise MissingRule(f"platform_call: NumPy cannot evaluate the kernel @{attrs['target']}")
    return found(attrs, types, *operands)


def _is(*targets: str) -> Callable[..., Any]:
    def enter(row: Callable[..., Any]) -> Callable[..., Any]:
        KERNELS.update(dict.fromkeys(targets, row))
        return row

    return enter


def _flags(attrs: Any) -> dict[str, bool]:
    """The flags of a configuration: `{left = true, lower = false}`."""
    pairs = [part.partition("=") for part in attrs["config"].strip("{}").split(",") if "=" in part]
    return {key.strip(): value.strip() == "true" for key, _, value in pairs}


def _with_info(types: Any, *made: Any) -> Any:
    """The results, and an `info` that reports success where they are finite."""
    lead = types[-1].ndim
    good = [np.isfinite(x).all(axis=tuple(range(lead, np.ndim(x)))) for x in made]
    return (*made, np.where(np.logical_and.reduce(good), 0, 1))


# --- XLA's own ----------------------------------------------------------------------------

@_is("LuDecomposition")
def _lu(attrs: Any, types: Any, x: np.ndarray) -> Any:
    return row_of("lu")({}, types, x)


@_is("Qr", "cusolver_geqrf_ffi")
def _geqrf(attrs: Any, types: Any, x: np.ndarray) -> Any:
    return row_of("geqrf")({}, types, x)


@_is("ProductOfElementaryHouseholderReflectors", "cusolver_orgqr_ffi")
def _orgqr(attrs: Any, types: Any, x: np.ndarray, taus: np.ndarray) -> Any:
    return row_of("householder_product")({}, types, x, taus)


@_is("Eigh")
def _eigh(attrs: Any, types: Any, x: np.ndarray) -> Any:
    lower = attrs["config"].startswith("1")
    return row_of("eigh")({"lower": lower}, types, x)


# --- NVIDIA's -----------------------------------------------------------------------------

@_is("cusolver_potrf_ffi")
def _potrf(attrs: Any, types: Any, x: np.ndarray) -> Any:
    return _with_info(types, row_of("cholesky")({}, types[:1], x))


@_is("cusolver_getrf_ffi")
def _getrf(attrs: Any, types: Any, x: np.ndarray) -> Any:
    m = types[0].shape[-2]
    order = types[1].with_shape((*types[1].shape[:-1], m))
    made, pivots, _ = row_of("lu")({}, (*types[:2], order), x)
    return made, pivots + 1, np.zeros(types[2].shape, np.int32)


@_is("cu_lu_pivots_to_permutation")
def _permutation(attrs: Any, types: Any, pivots: np.ndarray) -> Any:
    return row_of("lu_pivots_to_permutation")({"size": types[0].shape[-1]}, types, pivots)


@_is("cusolver_syevd_ffi")
def _syevd(attrs: Any, types: Any, x: np.ndarray) -> Any:
    return _with_info(types, *row_of("eigh")(_flags(attrs), types[:2], x))


@_is("cusolver_gesvdj_ffi")
def _gesvdj(attrs: Any, types: Any, x: np.ndarray) -> Any:
    u, s, vh = np.linalg.svd(x)
    return _with_info(types, x, s, u, vh.conj().swapaxes(-1, -2))


@_is("cusolver_gesvd_ffi")
def _gesvd(attrs: Any, types: Any, x: np.ndarray) -> Any:
    flags = _flags(attrs)
    u, s, vh = np.linalg.svd(x, full_matrices=flags["full_matrices"])
    if not flags["compute_uv"]:
        u, vh = (np.zeros(t.shape) for t in types[2:4])
    return _with_info(types, x, s, u, vh)


@_is("cuhybrid_eig_real", "cuhybrid_eig_comp")
def _geev(attrs: Any, types: Any, x: np.ndarray) -> Any:
    values = types[-2].with_shape(types[-2].shape[:-1])
    found, left, right = row_of("eig")({"left": True, "right": True},
                                       (values, types[-2], types[-2]), x)
    parts = [found] if np.iscomplexobj(x) else [np.real(found), np.imag(found)]
    return _with_info(types, *parts, left, right)


@_is("cusolver_sytrd_ffi")
def _sytrd(attrs: Any, types: Any, x: np.ndarray) -> Any:
    return _with_info(types, *row_of("tridiagonal")(_flags(attrs), types[:4], x))


@_is("cusolver_ormqr_ffi")
def _ormqr(attrs: Any, types: Any, a: np.ndarray, taus: np.ndarray, c: np.ndarray) -> Any:
    return row_of("ormqr")(_flags(attrs), types, a, taus, c)


@_is("cusparse_gtsv2_ffi", "cu_tridiagonal_solve_perturbed")
def _gtsv(attrs: Any, types: Any, *operands: np.ndarray) -> Any:
    return row_of("tridiagonal_solve")({}, types, *operands)
