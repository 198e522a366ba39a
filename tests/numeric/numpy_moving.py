"""Functions of `numpy` that move, choose, join and index elements."""

from __future__ import annotations

import numpy as np

from .row import Row


def row(name: str, *calls: str, **options: object) -> Row:
    return Row(f"numpy.{name}", calls, **options)


def rows(names: str, *calls: str, **options: object) -> list[Row]:
    return [row(name, *calls, **options) for name in names.split()]


DEEP = "f(a[1, 2, 1, 3, 1, 2])"


def _fill_diagonal(x: np.ndarray, value: object, wrap: bool = False, inplace: bool = False):
    made = x.copy()
    np.fill_diagonal(made, value, wrap)
    return made


def _put(x: np.ndarray, at: object, values: object, mode: str = "clip", inplace: bool = False):
    made = x.copy()
    np.put(made, at, values, mode)
    return made


def _extracted(mask: np.ndarray, x: np.ndarray, size: int, fill_value: int) -> np.ndarray:
    found = np.extract(mask, x)
    return np.concatenate([found, np.full(size - len(found), fill_value, x.dtype)])


def _place(x: np.ndarray, mask: object, values: object, inplace: bool = False):
    made = x.copy()
    np.place(made, mask, values)
    return made


def _put_along_axis(x: np.ndarray, at: object, values: object, axis: int, inplace: bool = False):
    made = x.copy()
    np.put_along_axis(made, at, values, axis)
    return made


ROWS = [
    *rows("array asarray copy ravel", "f(a[()])", "f(a[0])", "f(a[3, 4])", DEEP),
    *rows("atleast_1d atleast_2d atleast_3d", "f(a[()])", "f(a[0])", "f(a[3, 4])", DEEP,
          "f(a[()], a[2], a[2, 2])"),
    row("array", "f([a[2], b[2]])", "f([a[()], 1, 2.5])  # fc", "f(a[3], dtype='float32')  # buif",
        "f(a[3], ndmin=3)"),
    row("astype", "f(a[5], np.float32)  # buif", "f(a[5], np.int32)  # bui",
        "f(a[5], np.complex64)", "f(a[5], np.bool_)", "f(a[5], np.int8)  # bui",
        "f(a[5], np.uint8)  # bu", reference=lambda x, to: x.astype(to), typed=True,
        grad=False),
    *rows("array_split", "f(a[7], 3)", "f(a[3, 4], 2, axis=1)", "f(a[5, 2], [1, 3])"),
    *rows("split", "f(a[6], 3)", "f(a[3, 4], 2, axis=1)", "f(a[5, 2], [1, 3])", "f(a[0], 1)"),
    *rows("hsplit", "f(a[6], 3)", "f(a[3, 4], 2)", "f(a[2, 4, 2], [1])"),
    row("vsplit", "f(a[6, 2], 3)", "f(a[4, 1, 2], [1])"),
    row("dsplit", "f(a[2, 1, 4], 2)", "f(a[2, 3, 4, 2], [1, 3])"),
    *rows("concatenate concat", "f([a[3], b[2]])", "f([a[2, 3], b[2, 1]], axis=1)",
          "f((a[0, 2], b[2, 2]))", "f([a[2, 3], b[2, 1]], axis=None)"),
    row("stack", "f([a[()], b[()]])", "f([a[3], b[3]], axis=-1)", "f([a[2, 0], b[2, 0]])",
        "f([a[1, 2, 1, 3], b[1, 2, 1, 3]], axis=2)"),
    *rows("hstack vstack dstack", "f([a[()], b[()]])", "f([a[3], b[3]])",
          "f([a[2, 3], b[2, 3]])", "f([a[2, 0, 3], b[2, 0, 3]])"),
    row("column_stack", "f([a[3], b[3]])", "f([a[3, 2], b[3]])"),
    row("block", "f([[a[2, 2], b[2, 1]], [b[1, 2], a[1, 1]]])", "f([a[3], b[2]])", "f(a[()])"),
    row("append", "f(a[3], b[2])", "f(a[2, 3], b[1, 3], axis=0)", "f(a[2, 3], b[3])",
        "f(a[3], 1.5)", "f(a[0], b[2])"),
    row("delete", "f(a[5], 1)", "f(a[3, 4], 1, axis=1)", "f(a[5], N.array([0, -1]))",
        "f(a[3, 4], slice(1, 3), axis=1)", "f(a[3, 4], N.array([0, 2]), axis=0)", "f(a[2, 3], 2)"),
    row("insert", "f(a[5], 1, b[()])", "f(a[3, 4], 1, b[4], axis=0)",
        "f(a[5], N.array([1, 3]), b[2])",
        "f(a[3, 4], 1, 2, axis=1)", "f(a[2, 2], 1, b[()])", "f(a[4], slice(1, 3), b[2])"),
    row("resize", "f(a[3], (2, 4))", "f(a[2, 2], (3,))", "f(a[3], 7)", "f(a[0], (2,))"),
    *rows("repeat", "f(a[3], 2)", "f(a[2, 3], 2, axis=1)", "f(a[2, 3], N.array([1, 0, 2]), axis=1)",
          "f(a[()], 3)", "f(a[2, 2], 2)", "f(a[0], 3)"),
    row("tile", "f(a[3], 2)", "f(a[2, 3], (2, 1))", "f(a[2], (2, 1, 2))", "f(a[()], 3)",
        "f(a[0], 2)"),
    row("reshape", "f(a[6], (2, 3))", "f(a[2, 3], -1)", "f(a[2, 3], (3, -1), order='F')",
        "f(a[2, 0], (0, 5))", "f(a[()], (1, 1))", "f(a[1, 2, 1, 3, 1, 2], (4, 3))"),
    row("transpose", "f(a[()])", "f(a[3])", "f(a[2, 3])", "f(a[2, 3, 4], (1, 2, 0))", DEEP,
        "f(a[2, 3, 4], (-1, 0, 1))"),
    row("permute_dims", "f(a[2, 3], (1, 0))", "f(a[2, 3, 4], (1, 2, 0))", "f(a[2, 0], (1, 0))"),
    row("matrix_transpose", "f(a[2, 3])", "f(a[2, 3, 4])", DEEP),
    row("swapaxes", "f(a[2, 3], 0, 1)", "f(a[2, 3, 4], 0, -1)", "f(a[1, 2, 1, 3, 1, 2], 1, 3)"),
    row("moveaxis", "f(a[2, 3, 4], 0, -1)", "f(a[2, 3, 4], (0, 1), (2, 0))",
        "f(a[1, 2, 1, 3, 1, 2], 1, -1)"),
    row("rollaxis", "f(a[2, 3, 4], 2)", "f(a[2, 3, 4], 0, 2)"),
    row("squeeze", "f(a[1, 3, 1])", "f(a[1, 3, 1], axis=0)", "f(a[1, 3, 1], axis=(0, 2))",
        "f(a[1, 1])", "f(a[0, 1])"),
    row("expand_dims", "f(a[3], 0)", "f(a[3, 2], (0, -1))", "f(a[()], 0)", "f(a[0], 1)"),
    row("flip", "f(a[5])", "f(a[2, 3])", "f(a[2, 3], axis=1)", "f(a[2, 3, 2], axis=(0, -1))",
        "f(a[()])", "f(a[0])"),
    row("fliplr", "f(a[2, 3])", "f(a[2, 3, 2])"), row("flipud", "f(a[5])", "f(a[2, 3])"),
    row("rot90", "f(a[2, 3])", "f(a[2, 3], 2)", "f(a[2, 3], -1)", "f(a[2, 3, 2], 1, (1, 2))"),
    row("roll", "f(a[5], 2)", "f(a[3, 4], -1, axis=0)", "f(a[3, 4], (1, 2), axis=(0, 1))",
        "f(a[3, 4], 5)", "f(a[0], 1)", "f(a[()], 1)"),
    row("broadcast_to", "f(a[3], (2, 3))", "f(a[()], (2, 2))", "f(a[2, 1], (3, 2, 4))",
        "f(a[1], (0,))"),
    row("broadcast_arrays", "f(a[3], b[2, 1])", "f(a[()], b[2])", "f(a[0], b[1])", "f(a[3])"),
    row("meshgrid", "f(a[3], b[2])", "f(a[3], b[2], indexing='ij')", "f(a[3], b[2], sparse=True)",
        "f(a[2], b[2], c[2])", "f(a[()], b[2])"),
    row("ix_", "f(i[3], i[2])", jit=False, vmap=False, grad=False,
        dtypes=("int32",)),
    row("pad", "f(a[3], 1)", "f(a[2, 3], ((1, 0), (0, 2)))", "f(a[2, 3], 1, mode='edge')",
        "f(a[4], 3, mode='reflect')", "f(a[4], 2, mode='symmetric')", "f(a[3], 4, mode='wrap')",
        "f(a[2, 3], 1, constant_values=2)", "f(a[4], 2, mode='maximum')",
        "f(a[4], 2, mode='minimum', stat_length=2)", "f(a[0], 1)",
        "f(a[4], (1, 2), constant_values=(3, 5))",
        "f(a[4], 3, mode='reflect', reflect_type='odd')  # uifc",
        "f(a[3], 2, mode='linear_ramp', end_values=4)  # fc"),
    row("pad", "f(a[4], 2, mode='mean')", "f(a[4], 2, mode='median')  # f",
        "f(a[2, 4], 1, mode='mean', stat_length=3)", domains=("usual",), scale="largest",
        dtypes=("float16", "bfloat16", "float32", "float64", "complex64", "complex128")),
    *rows("take", "f(a[5], i[2])", "f(a[3, 4], i[2], axis=1)", "f(a[3, 4], i[2, 2], axis=0)",
          "f(a[3, 4], 1, axis=-1)", "f(a[3, 4], i[3])", "f(a[5], N.array([7, -9]), mode='wrap')",
          "f(a[5], N.array([7, -9]), mode='clip')"),
    row("take_along_axis", "f(a[3, 4], i[3, 2], 1)", "f(a[3, 4], i[1, 4], 0)",
        "f(a[5], i[3], -1)", "f(a[3, 4], i[7], None)"),
    row("choose", "f(i[5], [a[5], b[5], c[5]])", jit=False, vmap=False, grad=False),
    row("choose", "f(i[5] + 2, [a[5], b[5]], mode='wrap')",
        "f(i[5], [a[5], b[()]], mode='clip')",
        vmap=False),
    row("select", "f([a[5] > 1, b[5] < 0], [a[5], b[5]], 0)  # uif",
        "f([k[5]], [a[5]], 2)", "f([k[5], k[()]], [a[5], b[5]])"),
    row("where", "f(k[5], a[5], b[5])", "f(k[3, 1], a[4], b[3, 4])", "f(k[()], a[3], b[3])",
        "f(k[5], a[5], 1)", "f(k[5], 2.5, b[5])", "f(a[5], b[5], c[5])", "f(k[0], a[0], b[1])"),
    row("piecewise", "f(a[5], [a[5] < 0, a[5] > 1], [b[()], c[()], 2])  # if",
        "f(a[5], [a[5] < 1, a[5] < 2], [b[()], c[()]])  # if",
        "f(a[5], [a[5] > 1], [lambda v: v * v, lambda v: -v])  # f"),
    row("clip", "f(a[5], 1, 3)", "f(a[3, 4], b[4], None)", "f(a[5], None, 2)", "f(a[()], 0, 2)",
        "f(a[0], 0, 2)", "f(a[5], b[5], c[5])", domains=("any", "unit", "above 1"),
        dtypes=[d for d in ("uint8", "uint16", "uint32", "int8", "int16", "int32", "float16",
                            "bfloat16", "float32", "uint64", "int64", "float64")]),
    row("diag", "f(a[3])", "f(a[3, 4])", "f(a[3], 1)", "f(a[3, 4], -1)", "f(a[3, 4], k=2)"),
    row("diagflat", "f(a[3])", "f(a[2, 2])", "f(a[3], -1)", "f(a[()])"),
    row("diagonal", "f(a[3, 4])", "f(a[3, 4], 1)", "f(a[2, 3, 4], 0, 1, 2)",
        "f(a[2, 3, 4], -1, axis1=2, axis2=0)"),
    row("trace", "f(a[3, 4])", "f(a[3, 4], 1)", "f(a[2, 3, 4], 0, 1, 2)", "f(a[0, 2])",
        scale="terms"),
    *rows("tril triu", "f(a[3, 4])", "f(a[3, 4], 1)", "f(a[2, 3, 3], -1)"),
    row("fill_diagonal", "f(a[3, 3], b[()], inplace=False)", "f(a[4, 3], b[3], inplace=False)",
        "f(a[3, 3, 3], 2, inplace=False)  # uifc",
        reference=_fill_diagonal),
    row("put", "f(a[5], N.array([1, 3]), b[2], inplace=False)",
        "f(a[2, 3], N.array([1, 4]), b[()], inplace=False)",
        "f(a[5], N.array([7, -8]), b[2], mode='wrap', inplace=False)", reference=_put),
    row("place", "f(a[5], k[5], b[5], inplace=False)", "f(a[2, 3], k[2, 3], b[2], inplace=False)",
        reference=_place),
    row("put_along_axis", "f(a[3, 4], N.array([[1], [0], [2]]), b[3, 1], 1, inplace=False)",
        "f(a[3, 4], N.array([[1, 0, 2, 1]]), 2, 0, inplace=False)  # uifc",
        reference=_put_along_axis),
    row("compress", "f(N.array([True, False, True]), a[3, 4], axis=0)",
        "f(N.array([True, False, True]), a[5])", jit=False, grad=False),
    row("extract", "f(N.array([True, False, True]), a[3])", jit=False, grad=False),
    row("extract", "f(k[5], a[5], size=5, fill_value=0)", reference=_extracted),
    row("unstack", "f(a[3, 2])", "f(a[2, 3, 2], axis=1)", "f(a[3])"),
    row("shape", "f(a[3, 2])", static=True), row("ndim", "f(a[3, 2])", static=True),
    row("size", "f(a[3, 2])", "f(a[3, 2], 1)", static=True),
    *rows("zeros_like ones_like", "f(a[3, 2])", "f(a[()])", "f(a[2, 0])",
          "f(a[3], dtype='int32')  # bui",
          "f(a[3], shape=(2, 2))", grad=False),
    row("full_like", "f(a[3, 2], 1)", "f(a[()], 2)", "f(a[2, 0], 1)", "f(a[2, 3], b[3])"),
    row("full", "f((2, 3), a[()])", "f((2, 3), a[3])", "f((0,), a[()])"),
    row("unravel_index", "f(i[4], (2, 3))", "f(i[()], (3, 1, 2))", dtypes=("int32",), grad=False),
    row("ravel_multi_index", "f((i[4], i[4]), (3, 4), mode='clip')",
        "f((i[3], i[3]), (2, 2), mode='wrap')", dtypes=("int32",), grad=False),
    row("apply_along_axis", "f(lambda v: v.sum() * v, 0, a[3, 4])",
        "f(lambda v: v[::-1], 1, a[3, 4])", domains=("usual",), scale="largest"),
    row("apply_over_axes", "f(np.sum, a[2, 3, 4], [0, 2])", "f(np.max, a[3, 4], 1)  # uif",
        domains=("usual",), scale="largest"),
    row("vectorize", "f(lambda u, v: u * v)(a[3, 1], b[4])",
        "f(lambda u: u.sum(), signature='(n)->()')(a[3, 4])", domains=("usual",), scale="largest"),
    row("trim_zeros", "f(a[7])", "f(a[7], 'f')", domains=("ties",), jit=False, vmap=False,
        grad=False),
]
