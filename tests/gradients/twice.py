"""First and second derivatives at special points: 0, ties, branch points, ends, infinities.

`at_special_points` gives those of a row, in double precision: of its weighted sum (`rows.weighted`)
the slopes, and the slopes of these along the vector of ones; each forward and in reverse. It
asks nothing of the library but its public functions, so that another one can answer
(`recorded/record_second_derivatives.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

INF = float("inf")
NUMBERS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 1e10, INF, -INF)
FEWER = (0.0, 1.0, -1.0, 2.5, INF, -INF)
FEWEST = (0.0, 1.0, 2.0, INF)
VECTORS = ([1, 1, 2, 2], [0, 0, 0, 0], [0, 0, 0, 3], [1, 2, 3, 4], [-1, 0, 1, 0], [3, 3, 3, 3],
           [1, INF, 2, 0], [1, -INF, 2, 0])
OTHERS = ([1, 2, 0, 1], [0, 0, 0, 0], [2, 1, 3, 4])
MATRICES = ([[2, 1], [1, 3]], [[1, 0], [0, 1]], [[1, 2], [2, 4]], [[0, 0], [0, 0]],
            [[2, 0], [0, 1]], [[0, 1], [-1, 0]])
IN_LINALG = {
    "det": lambda np, linalg: linalg.det, "slogdet": lambda np, linalg: linalg.slogdet,
    "inv": lambda np, linalg: linalg.inv, "pinv": lambda np, linalg: linalg.pinv,
    "cholesky": lambda np, linalg: linalg.cholesky,
    "eigvalsh": lambda np, linalg: linalg.eigvalsh,
    "svdvals": lambda np, linalg: lambda a: linalg.svd(a, compute_uv=False),
    "solve": lambda np, linalg: lambda a: linalg.solve(a, np.ones(2)),
    "matrix_power": lambda np, linalg: lambda a: linalg.matrix_power(a, 3),
    "multi_dot": lambda np, linalg: lambda a: linalg.multi_dot([a, a.T, a]),
    "norm, fro": lambda np, linalg: linalg.norm,
    "norm, nuc": lambda np, linalg: lambda a: linalg.norm(a, "nuc"),
    "norm, 2": lambda np, linalg: lambda a: linalg.norm(a, 2),
    "norm, 1": lambda np, linalg: lambda a: linalg.norm(a, 1),
    "qr": lambda np, linalg: lambda a: linalg.qr(a)[1],
    "vector_norm": lambda np, linalg: linalg.vector_norm,
    "trace": lambda np, linalg: np.trace,
}
"""Functions of numpy.linalg, of a matrix."""


def special_points(row: Any) -> tuple[np.ndarray, ...]:
    """Points for a row in place of its own: numbers for numbers, vectors for vectors."""
    kinds = [p.ndim for p in row.points]
    if kinds == [1]:
        tables: list[Any] = [NUMBERS]
    elif max(kinds) == 1:
        tables = [FEWER if len(kinds) == 2 else FEWEST] * len(kinds)
    else:
        tables = [VECTORS if i == 0 else OTHERS for i, _ in enumerate(kinds)]
        tables = [FEWEST if kind == 1 else table
                  for kind, table in zip(kinds, tables, strict=True)]
    chosen = list(itertools.product(*tables))
    return tuple(np.array(column, np.float64) for column in zip(*chosen, strict=True))


def all_cases(rows: Any) -> dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]]:
    """Weighted functions and their points, by name: the rows that are no derivatives themselves,
    and those of linear algebra."""
    cases = {row.name: (rows.weighted(row.f), special_points(row)) for row in rows.all_rows()
             if not row.name.endswith("[second]")}
    for name, of in IN_LINALG.items():
        f = of(rows.jnp, rows.jnp.linalg)
        cases[f"numpy.linalg.{name}"] = rows.weighted(f), (np.array(MATRICES, np.float64),)
    return cases


def first_and_second(jax: Any, f: Callable[..., Any], count: int, forward: bool
                     ) -> Callable[..., Any]:
    """The function of batches of points that gives both, each for every argument."""
    numbers = tuple(range(count))
    slopes = (jax.jacfwd if forward else jax.grad)(f, numbers)

    def both(*xs: Any) -> Any:
        return jax.jvp(slopes, xs, tuple(np.ones(x.shape, x.dtype) for x in xs))

    return jax.jit(jax.vmap(both))


def at_special_points(jax: Any, f: Callable[..., Any], given: tuple[np.ndarray, ...],
                      forward: bool = False) -> list[np.ndarray]:
    """Arrays (points, size) of the slopes, and of their slopes, of all arguments side by side."""
    with np.errstate(all="ignore"):
        made = first_and_second(jax, f, len(given), forward)(*given)
    return [np.concatenate([np.asarray(x, np.float64).reshape(len(given[0]), -1) for x in part], 1)
            for part in made]
