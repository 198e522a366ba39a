"""Functions of `lax`: element-wise ones, reductions, shapes; what has a like in NumPy or SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from xfront import lax

from .row import DTYPES, INEXACT, REAL, Row

INTEGERS = tuple(d for d in DTYPES if "int" in d)
WHOLE = ("bool", *INTEGERS)
ORDERED = tuple(d for d in DTYPES if "complex" not in d)
NUMBERS = tuple(d for d in DTYPES if d != "bool")
SIGNED = tuple(d for d in NUMBERS if "uint" not in d)
COMPLEX = ("complex64", "complex128")
UNARY = ("f(a[()])", "f(a[0])", "f(a[7])", "f(a[2, 3])", "f(a[1, 2, 1, 3, 1, 2])", "f(e[9])")
BINARY = ("f(a[()], b[()])", "f(a[0], b[0])", "f(a[7], b[7])", "f(a[2, 3], b[2, 3])",
          "f(a[1, 2, 1, 3, 1, 2], b[1, 2, 1, 3, 1, 2])", "f(a[3], b[()])")


NEAR_ZEROS = "near zeros the terms are larger than the value, as docs/accuracy.md says"


def same(dtype: str) -> str:
    return dtype


def row(name: str, *calls: str, **options: Any) -> Row:
    return Row(f"lax.{name}", calls, **options)


def likes(table: dict[str, Callable[..., Any]], calls: tuple[str, ...], dtypes: tuple[str, ...],
          *domains: str, **options: Any) -> list[Row]:
    return [Row(f"lax.{name}", calls, domains or ("any",), reference=f, dtypes=dtypes, **options)
            for name, f in table.items()]


def unsigned(x: Any) -> np.ndarray:
    x = np.asarray(x)
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "i" else x


def _bits(x: Any) -> int:
    return 8 * np.asarray(x).dtype.itemsize


def _shift_left(x: Any, n: Any) -> Any:
    n = unsigned(n)
    made = np.left_shift(x, np.minimum(n, _bits(x) - 1).astype(x.dtype))
    return np.where(n >= _bits(x), 0, made).astype(x.dtype)


def _shift_right_logical(x: Any, n: Any) -> Any:
    n, u = unsigned(n), unsigned(x)
    made = np.right_shift(u, np.minimum(n, _bits(x) - 1).astype(u.dtype))
    return np.where(n >= _bits(x), 0, made).astype(u.dtype).view(x.dtype)


def _shift_right_arithmetic(x: Any, n: Any) -> Any:
    n = np.minimum(unsigned(n), _bits(x) - 1)
    signed = x.view(f"i{x.dtype.itemsize}")
    return np.right_shift(signed, n.astype(signed.dtype)).view(x.dtype)


def _div(x: Any, y: Any) -> Any:
    if np.asarray(x).dtype.kind in "ui":
        x, y, dtype = x.astype(object), y.astype(object), x.dtype
        sign = np.where((x < 0) == (y < 0), 1, -1).astype(object)
        return np.asarray(np.abs(x) // np.abs(y) * sign).astype(dtype)
    return np.true_divide(x, y)


def _mulhi(x: Any, y: Any) -> Any:
    return np.asarray((x.astype(object) * y.astype(object)) >> _bits(x)).astype(x.dtype)


def _clz(x: Any) -> Any:
    return np.vectorize(lambda v: _bits(x) - int(v).bit_length(), otypes=[x.dtype])(unsigned(x))


def _round(x: Any, method: Any = None) -> Any:
    return np.where(np.isfinite(x), np.sign(x) * np.floor(np.abs(x) + 0.5), x)


def _sign(x: Any) -> Any:
    return np.sign(x)


def _reduce_precision(x: Any, exponent: int, mantissa: int) -> Any:
    scale = 2.0 ** (np.floor(np.log2(np.abs(np.where(x == 0, 1, x)))) - mantissa)
    return np.where(x == 0, x, np.rint(x / scale) * scale)


def _pad(x: Any, value: Any, config: Any) -> Any:
    for axis, (low, high, inner) in enumerate(config):
        n = x.shape[axis]
        spread = np.full((*x.shape[:axis], max(n + (n - 1) * inner, 0), *x.shape[axis + 1:]), value,
                         x.dtype)
        spread[(slice(None),) * axis + (slice(None, None, inner + 1),)] = x
        widths = [(0, 0)] * x.ndim
        widths[axis] = (max(low, 0), max(high, 0))
        x = np.pad(spread, widths, constant_values=value)
        m = x.shape[axis]
        x = x[(slice(None),) * axis + (slice(max(-low, 0), m - max(-high, 0)),)]
    return x


def _running(f: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any, axis: int = 0, reverse: bool = False) -> Any:
        return np.flip(f(np.flip(x, axis), axis), axis) if reverse else f(x, axis)

    return run


def _slice(x: Any, start: Any, stop: Any, strides: Any = None) -> Any:
    return x[tuple(map(slice, start, stop, strides or (1,) * x.ndim))]


def _dynamic_slice(x: Any, start: Any, sizes: Any) -> Any:
    at = [min(max(int(s), 0), d - n) for s, n, d in zip(start, sizes, x.shape)]
    return x[tuple([slice(s, s + n) for s, n in zip(at, sizes)])]


def _dynamic_update_slice(x: Any, new: Any, start: Any) -> Any:
    at = [min(max(int(s), 0), d - n) for s, n, d in zip(start, new.shape, x.shape)]
    made = x.copy()
    made[tuple([slice(s, s + n) for s, n in zip(at, new.shape)])] = new
    return made


def _broadcast_in_dim(x: Any, shape: Any, dims: Any) -> Any:
    kept = [1] * len(shape)
    for d, n in zip(dims, np.shape(x)):
        kept[d] = n
    return np.broadcast_to(np.reshape(x, kept), shape)


def _dot_general(x: Any, y: Any, numbers: Any) -> Any:
    (cx, cy), (bx, by) = numbers
    names = iter("abcdefghijklmnop")
    of_x, of_y = [""] * x.ndim, [""] * y.ndim
    for i, j in (*zip(bx, by), *zip(cx, cy)):
        of_x[i] = of_y[j] = next(names)
    of_x = [n or next(names) for n in of_x]
    of_y = [n or next(names) for n in of_y]
    out = [of_x[i] for i in bx] + [n for i, n in enumerate(of_x) if i not in (*bx, *cx)]
    out += [n for j, n in enumerate(of_y) if j not in (*by, *cy)]
    return np.einsum(f"{''.join(of_x)},{''.join(of_y)}->{''.join(out)}", x, y)


def _reduce_window(x: Any, init: Any, f: Any, window: Any, strides: Any, padding: str) -> Any:
    if padding == "SAME":
        total = [max((-(-n // s) - 1) * s + w - n, 0) for n, w, s in zip(x.shape, window, strides)]
        x = np.pad(x, [(t // 2, t - t // 2) for t in total], constant_values=init)
    views = np.lib.stride_tricks.sliding_window_view(x, window)
    views = views[tuple([slice(None, None, s) for s in strides])]
    return f(views.reshape(*views.shape[:x.ndim], -1), axis=-1).astype(x.dtype)


def _top_k(x: Any, k: int, is_stable: bool = True) -> Any:
    order = np.argsort(-x.astype(np.float64), axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


def _conv(x: Any, w: Any, strides: Any, padding: str) -> Any:
    """NCHW and OIHW."""
    if padding == "SAME":
        total = [max((-(-n // s) - 1) * s + k - n, 0)
                 for n, k, s in zip(x.shape[2:], w.shape[2:], strides)]
        x = np.pad(x, [(0, 0), (0, 0)] + [(t // 2, t - t // 2) for t in total])
    views = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    views = views[:, :, ::strides[0], ::strides[1]]
    return np.einsum("nchwij,ocij->nohw", views, w)


ELEMENTWISE = [
    *likes({"abs": np.abs}, UNARY, SIGNED), *likes({"neg": np.negative}, UNARY, NUMBERS),
    *likes({"sign": _sign}, UNARY, NUMBERS),
    *likes({"ceil": np.ceil, "floor": np.floor, "round": _round}, UNARY, REAL),
    *likes({"is_finite": np.isfinite}, UNARY, REAL),
    *likes({"cos": np.cos, "sin": np.sin, "tan": np.tan, "tanh": np.tanh, "atan": np.arctan,
            "asinh": np.arcsinh}, UNARY, INEXACT),
    *likes({"square": np.square}, UNARY, NUMBERS),
    *likes({"one_minus_square": lambda x: (1 + x) * (1 - x)}, UNARY, NUMBERS),
    *likes({"cbrt": np.cbrt}, UNARY, REAL),
    *likes({"cosh": np.cosh, "sinh": np.sinh, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
            "logistic": lambda x: 1 / (1 + np.exp(-x))}, UNARY, INEXACT, "usual"),
    *likes({"log": np.log, "log1p": np.log1p, "log2": np.log2, "sqrt": np.sqrt,
            "rsqrt": lambda x: 1 / np.sqrt(x)}, UNARY, INEXACT, "positive"),
    *likes({"reciprocal": lambda x: 1 / x}, UNARY, INEXACT, "nonzero"),
    *likes({"asin": np.arcsin, "acos": np.arccos, "atanh": np.arctanh}, UNARY, INEXACT, "unit"),
    *likes({"acosh": np.arccosh}, UNARY, INEXACT, "above 1"),
    *likes({"erf": scipy.special.erf, "erfc": scipy.special.erfc, "bessel_i0e": scipy.special.i0e,
            "bessel_i1e": scipy.special.i1e}, UNARY[:-1], REAL, "usual", backward=4,
           why="as docs/accuracy.md"),
    *likes({"erf_inv": scipy.special.erfinv}, UNARY[:-1], REAL, "unit", backward=4,
           why="as docs/accuracy.md"),
    *likes({"lgamma": scipy.special.gammaln, "digamma": scipy.special.digamma}, UNARY[:-1], REAL,
           "positive", backward=16, floor=2.0, why=NEAR_ZEROS),
    *likes({"real": np.real, "imag": np.imag, "conj": np.conj}, UNARY[:-1], COMPLEX),
    *likes({"bitwise_not": np.bitwise_not}, UNARY[:-1], WHOLE),
    *likes({"population_count": lambda x: np.bitwise_count(unsigned(x)).astype(x.dtype),
            "clz": _clz}, UNARY[:-1], INTEGERS),
    *likes({"add": np.add, "sub": np.subtract, "mul": np.multiply, "eq": np.equal,
            "ne": np.not_equal}, BINARY, NUMBERS),
    *likes({"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal},
           BINARY, ORDERED),
    *likes({"max": np.maximum, "min": np.minimum}, BINARY, ORDERED),
    *likes({"div": _div, "rem": np.fmod}, BINARY, NUMBERS, "any", "nonzero"),
    *likes({"pow": np.power}, BINARY, INEXACT, "positive", "small"),
    *likes({"atan2": np.arctan2}, BINARY, REAL),
    *likes({"nextafter": np.nextafter}, BINARY[:-1], ("float32",), exact=True,
           grad=False),
    *likes({"complex": lambda x, y: x + 1j * y}, BINARY[:-1], ("float32", "float64")),
    *likes({"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
            "bitwise_xor": np.bitwise_xor}, BINARY, WHOLE),
    *likes({"shift_left": _shift_left, "shift_right_logical": _shift_right_logical,
            "shift_right_arithmetic": _shift_right_arithmetic}, BINARY[:-1], INTEGERS, "any",
           "any"),
    *likes({"mulhi": _mulhi}, BINARY[:-1], INTEGERS),
    *likes({"igamma": scipy.special.gammainc, "igammac": scipy.special.gammaincc}, BINARY[:-1],
           REAL, "positive", "positive", backward=32, ulps=160, why="as docs/accuracy.md"),
    *likes({"zeta": scipy.special.zeta}, BINARY[:-1], ("float32", "float64"), "above 1",
           "positive", backward=32, why="as docs/accuracy.md", grad=False),
    *likes({"polygamma": lambda n, x: scipy.special.polygamma(np.asarray(n, np.float64), x)},
           ("f(np.asarray(N.array([1.0, 2.0, 3.0]), a[3].dtype), a[3])",), ("float32", "float64"),
           "positive", backward=32, why="as docs/accuracy.md"),
    row("betainc", "f(a[5], b[5], c[5])", "f(a[2, 2], b[2, 2], c[2, 2])",
        domains=("positive", "positive", "share"), dtypes=REAL, backward=64,
        reference=scipy.special.betainc, why="as docs/accuracy.md", grad=False),
    row("integer_pow", "f(a[7], 3)", "f(a[7], 0)", "f(a[2, 3], 5)", "f(a[0], 2)", dtypes=NUMBERS,
        domains=("nonzero",), reference=np.power),
    row("integer_pow", "f(a[7], -2)", "f(a[7], -3)", dtypes=INEXACT, domains=("nonzero",),
        reference=lambda x, n: np.power(x, n * np.ones((), x.dtype))),
    row("clamp", "f(a[()], b[5], c[()])", "f(a[5], b[5], c[5])", "f(a[0], b[0], c[0])",
        domains=("small", "any", "above 1"), dtypes=ORDERED[1:],
        reference=lambda low, x, high: np.minimum(np.maximum(low, x), high)),
    row("select", "f(k[5], a[5], b[5])", "f(k[()], a[2, 3], b[2, 3])",
        reference=np.where),
    row("select_n", "f(k[5], a[5], b[5])", "f(i[5], a[5], b[5], c[5])",
        reference=lambda which, *cases: np.choose(which, cases)),
    row("reduce_precision", "f(a[7], 8, 5)", "f(a[2, 3], 8, 3)", dtypes=("float32",),
        reference=_reduce_precision, grad=False),
    row("stop_gradient", "f(a[5])", reference=lambda x: x, grad=False),
    row("optimization_barrier", "f(a[5])", reference=lambda x: x),
    row("zeros_like_array", "f(a[5])", "f(a[2, 0])", reference=np.zeros_like),
    row("convert_element_type", "f(a[5], np.float32)", "f(a[5], np.int32)", "f(a[5], np.complex64)",
        dtypes=("bool", "int8", "uint8", "int32", "float32"), domains=("usual",),
        reference=lambda x, to: x.astype(to), typed=True),
    row("bitcast_convert_type", "f(a[5], np.int32)", "f(a[2, 3], np.uint32)",
        dtypes=("uint32", "int32"), reference=lambda x, to: x.view(to), typed=True),
]

SHAPES = [
    *likes({"reduce_sum": lambda x, axes: np.sum(x, axes).astype(x.dtype)},
           ("f(a[7], (0,))", "f(a[2, 3, 4], (0, 2))", "f(a[2, 0], (1,))", "f(a[3], ())"),
           NUMBERS, scale="terms"),
    *likes({"reduce_prod": lambda x, axes: np.prod(x, axes).astype(x.dtype)},
           ("f(a[5], (0,))", "f(a[2, 3, 2], (0, 2))", "f(a[2, 0], (1,))"), NUMBERS, "nonzero"),
    *likes({"reduce_max": np.max, "reduce_min": np.min},
           ("f(a[7], (0,))", "f(a[2, 3, 4], (0, 2))"), ORDERED, "apart"),
    *likes({"reduce_and": np.bitwise_and.reduce, "reduce_or": np.bitwise_or.reduce,
            "reduce_xor": np.bitwise_xor.reduce}, ("f(a[7], (0,))", "f(a[2, 3, 4], (0, 2))"),
           WHOLE),
    *likes({"argmax": lambda x, axis, to: np.argmax(x, axis).astype(to),
            "argmin": lambda x, axis, to: np.argmin(x, axis).astype(to)},
           ("f(a[7], 0, np.int32)", "f(a[3, 4], 1, np.int32)"), ORDERED, "ties",
           result=lambda d: "int32"),
    *likes({"cumsum": _running(lambda x, axis: np.cumsum(x, axis, x.dtype))},
           ("f(a[7])", "f(a[3, 4], 1)", "f(a[3, 4], 0, reverse=True)", "f(a[2, 0], 1)"), NUMBERS,
           scale="terms"),
    *likes({"cumprod": _running(lambda x, axis: np.cumprod(x, axis, x.dtype))},
           ("f(a[7])", "f(a[3, 4], 1)", "f(a[3, 4], 0, reverse=True)"), NUMBERS, "nonzero"),
    *likes({"cummax": _running(np.maximum.accumulate), "cummin": _running(np.minimum.accumulate)},
           ("f(a[7])", "f(a[3, 4], 1)", "f(a[3, 4], 0, reverse=True)"), ORDERED[1:], "apart"),
    *likes({"cumlogsumexp": _running(np.logaddexp.accumulate)},
           ("f(a[7])", "f(a[3, 4], 1)", "f(a[3, 4], 0, reverse=True)"), REAL, "usual",
           scale="largest"),
    row("sort", "f(a[7])", "f(a[3, 4], dimension=0)", "f(a[0])", domains=("apart",),
        reference=lambda x, dimension=-1: np.sort(x, dimension)),
    row("sort_key_val", "f(a[6], b[6])", domains=("apart", "any"),
        reference=lambda x, y: (np.sort(x), np.take_along_axis(y, np.argsort(x), -1))),
    row("top_k", "f(a[7], 3)", "f(a[3, 4], 2)", "f(a[7], 3, is_stable=False)",
        domains=("apart",), reference=_top_k,
        dtypes=ORDERED[1:], result=lambda dtype: f"{dtype} int32"),
    row("polynomial", "f(a[5], (b[()], b[5], c[()]))", "f(a[2, 1], (b[1, 3], c[2, 3]))",
        "f(a[3], (b[()],))", "f(a[0], (b[()], c[()]))", "f(a[3], (b[3],) * 10)",
        "f(a[3], (b[3], c[3]), unroll=0)", domains=("any", "any", "any"), dtypes=NUMBERS,
        scale="terms", reference=lambda x, cs, unroll=8: sum(
            (c * x ** x.dtype.type(k) for k, c in enumerate(cs)), 0 * x)),
    *likes({"approx_max_k": _top_k, "approx_min_k": lambda x, k: (
        np.sort(x)[..., :k], np.argsort(x)[..., :k].astype(np.int32))}, ("f(a[7], 3)",),
        ("float32", "bfloat16"), "apart"),
    row("broadcast", "f(a[3], (2,))", "f(a[()], (2, 3))", "f(a[2, 0], (1,))",
        reference=lambda x, sizes: np.broadcast_to(x, (*sizes, *x.shape))),
    row("broadcast_in_dim", "f(a[3], (3, 2), (0,))", "f(a[2, 1], (4, 2, 3), (1, 2))",
        "f(a[()], (2,), ())", reference=_broadcast_in_dim),
    row("broadcast_to_rank", "f(a[3], 3)", "f(a[()], 2)",
        reference=lambda x, rank: x.reshape((1,) * (rank - x.ndim) + x.shape)),
    row("broadcast_like", "f(a[3], b[2, 3])", reference=lambda x, y: np.broadcast_to(x, y.shape)),
    row("broadcasted_iota", "f('int32', (2, 3), 1)", "f('float32', (3,), 0)", vmap=False,
        dtypes=("float32",), reference=lambda d, shape, axis: np.indices(shape)[axis].astype(d)),
    row("iota", "f('int32', 4)", "f('float32', 0)", vmap=False, dtypes=("float32",),
        reference=lambda d, n: np.arange(n, dtype=d)),
    row("collapse", "f(a[2, 3, 4], 0, 2)", "f(a[2, 3], 1)",
        reference=lambda x, start, stop=None: x.reshape(
            x.shape[:start] + (-1,) + (x.shape[stop:] if stop else ()))),
    row("concatenate", "f([a[3], b[2]], 0)", "f([a[2, 3], b[2, 1], c[2, 0]], 1)",
        reference=np.concatenate),
    row("stack", "f([a[3], b[3]])", "f([a[2, 3], b[2, 3]], 1)", reference=np.stack),
    row("unstack", "f(a[3, 2])", "f(a[3, 2], 1)",
        reference=lambda x, axis=0: np.unstack(x, axis=axis)),
    row("expand_dims", "f(a[3], (0,))", "f(a[3, 2], (0, 3))", reference=np.expand_dims),
    row("squeeze", "f(a[1, 3, 1], (0,))", "f(a[1, 3, 1], (0, -1))", reference=np.squeeze),
    row("reshape", "f(a[6], (2, 3))", "f(a[2, 0], (0, 7))", "f(a[2, 3], (3, 2), (1, 0))",
        reference=lambda x, shape, dims=None: (x.transpose(dims) if dims else x).reshape(shape)),
    row("rev", "f(a[5], (0,))", "f(a[2, 3, 2], (0, 2))", reference=np.flip),
    row("transpose", "f(a[2, 3], (1, 0))", "f(a[2, 3, 4], (1, 2, 0))", reference=np.transpose),
    row("tile", "f(a[3], (2,))", "f(a[2, 3], (2, 1))", reference=np.tile),
    row("split", "f(a[5], (2, 3))", "f(a[2, 4], (1, 3), 1)",
        reference=lambda x, sizes, axis=0: np.split(x, np.cumsum(sizes)[:-1], axis)),
    row("full", "f((2, 3), a[()])", "f((0,), a[()])", reference=np.full),
    row("full_like", "f(a[2, 3], 1)", "f(a[3], b[()])", reference=np.full_like),
    row("pad", "f(a[4], b[()], ((1, 2, 0),))", "f(a[2, 3], b[()], ((0, 1, 2), (-1, 1, 1)))",
        "f(a[0], b[()], ((1, 1, 0),))", reference=_pad),
    row("slice", "f(a[5], (1,), (4,))", "f(a[3, 4], (0, 1), (3, 4), (2, 1))", reference=_slice),
    row("slice_in_dim", "f(a[5], 1, 4)", "f(a[3, 4], 0, 4, 2, axis=1)", "f(a[5], -3, None)",
        reference=lambda x, start, stop, stride=1, axis=0: x[
            (slice(None),) * axis + (slice(start, stop, stride),)]),
    row("index_in_dim", "f(a[5], 2)", "f(a[3, 4], -1, 1, keepdims=False)",
        reference=lambda x, k, axis=0, keepdims=True: np.take(x, [k] if keepdims else k, axis)),
    row("index_take", "f(a[3, 4], (i[2],), (0,))", "f(a[3, 4], (i[2], i[2]), (0, 1))",
        reference=lambda x, at, axes: x[tuple(at)]),
    row("dynamic_slice", "f(a[6], (i[()],), (3,))", "f(a[3, 4], (i[()], 2), (2, 3))",
        "f(a[5], (7,), (2,))", reference=_dynamic_slice),
    row("dynamic_slice_in_dim", "f(a[6], i[()], 3)", "f(a[3, 4], 3, 2, axis=1)",
        reference=lambda x, start, n, axis=0: _dynamic_slice(
            x, [start if k == axis else 0 for k in range(x.ndim)],
            [n if k == axis else d for k, d in enumerate(x.shape)])),
    row("dynamic_index_in_dim", "f(a[6], i[()])", "f(a[3, 4], i[()], 1, keepdims=False)",
        reference=lambda x, k, axis=0, keepdims=True: np.take(x, [k] if keepdims else k, axis)),
    row("dynamic_update_slice", "f(a[6], b[2], (i[()],))", "f(a[3, 4], b[2, 2], (i[()], 3))",
        reference=_dynamic_update_slice),
    row("dynamic_update_slice_in_dim", "f(a[6], b[2], i[()], 0)",
        "f(a[3, 4], b[3, 2], i[()], 1)", reference=lambda x, new, start, axis:
        _dynamic_update_slice(x, new, [start if k == axis else 0 for k in range(x.ndim)])),
    row("dynamic_update_index_in_dim", "f(a[3, 4], b[4], i[()], 0)",
        "f(a[3, 4], b[3, 1], i[()], 1)", reference=lambda x, new, k, axis: _dynamic_update_slice(
            x, new if new.ndim == x.ndim else np.expand_dims(new, axis),
            [k if j == axis else 0 for j in range(x.ndim)])),
    row("dot", "f(a[4], b[4])", "f(a[3, 4], b[4, 2])", "f(a[3, 4], b[4])", "f(a[2, 0], b[0, 2])",
        domains=("usual",), scale="terms", reference=np.dot, dtypes=NUMBERS),
    row("batch_matmul", "f(a[2, 3, 4], b[2, 4, 2])", domains=("usual",), scale="terms",
        reference=np.matmul, dtypes=NUMBERS),
    row("dot_general", "f(a[2, 3, 4], b[4, 2, 3], (((2,), (0,)), ((0,), (1,))))",
        "f(a[2, 3], b[3, 2], (((0, 1), (1, 0)), ((), ())))", domains=("usual",), scale="terms",
        reference=_dot_general, dtypes=NUMBERS),
    row("reduce", "f(a[3, 4], np.zeros((), a[3, 4].dtype), g, (1,))",
        "f(a[2, 3, 2], np.zeros((), a[2, 3, 2].dtype), g, (0, 2))",
        scope={"g": (lax.add, np.sum)}, scale="terms", dtypes=NUMBERS,
        reference=lambda x, init, g, axes: g(x, axis=axes).astype(x.dtype)),
    row("reduce_window", "f(a[6], z(a[6]), g, (3,), (1,), 'VALID')",
        "f(a[4, 5], z(a[4, 5]), g, (2, 2), (1, 2), 'SAME')", dtypes=NUMBERS, scale="terms",
        scope={"g": (lax.add, np.sum), "z": (lambda x: np.zeros((), x.dtype),) * 2},
        reference=_reduce_window),
    row("reduce_window", "f(a[6], -np.inf, g, (3,), (1,), 'VALID')",
        "f(a[4, 5], -np.inf, g, (2, 2), (1, 2), 'SAME')", dtypes=REAL, domains=("apart",),
        scope={"g": (lax.max, np.max)}, reference=_reduce_window),
    row("conv", "f(a[1, 2, 4, 5], b[3, 2, 2, 3], (1, 1), 'VALID')",
        "f(a[2, 1, 4, 4], b[2, 1, 3, 3], (2, 1), 'SAME')", dtypes=NUMBERS, domains=("usual",),
        scale="terms", reference=_conv),
    row("associative_scan", "f(np.add, a[6])", "f(np.add, a[3, 4], axis=1, reverse=True)",
        scale="terms", dtypes=NUMBERS,
        reference=lambda g, x, axis=0, reverse=False: _running(
            lambda y, k: np.cumsum(y, k, x.dtype))(x, axis, reverse)),
    row("map", "f(lambda v: v * v, a[4])", "f(np.sin, a[4, 2])  # f",
        reference=lambda g, x: g(x)),
    row("cond", "f(k[()], lambda v: v + v, lambda v: v * v, a[4])", dtypes=NUMBERS,
        reference=lambda which, yes, no, x: yes(x) if which else no(x)),
    row("switch", "f(i[()], [lambda v: v + v, lambda v: v * v, lambda v: v], a[4])",
        dtypes=NUMBERS, reference=lambda which, cases, x: cases[int(which)](x)),
    row("fori_loop", "f(0, 3, lambda k, v: v + v, a[4])", dtypes=NUMBERS, domains=("small",),
        reference=lambda low, high, body, x: body(0, body(0, body(0, x)))),
    row("while_loop", "f(lambda v: v[0] < 3, lambda v: (v[0] + 1, v[1] + a[4]), (0, b[4]))",
        dtypes=NUMBERS, scale="terms", reference=lambda test, body, x: _while(test, body, x)),
    row("scan", "f(lambda v, x: (v + x, v * x), b[2], a[3, 2])", dtypes=NUMBERS, scale="terms",
        reference=lambda body, init, xs: _scan(body, init, xs)),
    row("fft", "f(a[6], 'fft', (6,))", "f(a[2, 4], 'ifft', (4,))", dtypes=COMPLEX,
        domains=("usual",), scale="largest", reference=lambda x, kind, n: {
            "fft": np.fft.fft, "ifft": np.fft.ifft}[kind](x)),
]


def _while(test: Any, body: Any, x: Any) -> Any:
    while test(x):
        x = body(x)
    return x


def _scan(body: Any, carry: Any, xs: Any) -> Any:
    made = []
    for x in xs:
        carry, y = body(carry, x)
        made.append(y)
    return carry, np.stack(made)


ROWS = [*ELEMENTWISE, *SHAPES]
