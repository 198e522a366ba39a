"""`scipy.special` and the functions of `nn`."""

from __future__ import annotations

import json
from typing import Any

import mpmath
import numpy as np
import scipy.special as sp

from tests.accuracy.page import RECORDED
from tests.accuracy.values import function_of

from .row import REAL, Row, default_float

UNARY = ("f(a[()])", "f(a[0])", "f(a[7])", "f(a[2, 3])", "f(a[1, 2, 1, 3, 1, 2])")
BINARY = ("f(a[()], b[()])", "f(a[0], b[1])", "f(a[7], b[7])", "f(a[2, 1], b[3])", "f(a[3], 2)",
          "f(a[3], 1.5)")
TAKEN = ("int8", "int32", "uint8", "float16", "bfloat16", "float32", "float64")
WHY = "as docs/accuracy.md says: near zeros and at large arguments rounding is magnified"


MEASURED = json.loads(RECORDED.read_text())["xfront"]


def measured(name: str) -> float:
    """A function's largest error in docs/accuracy.md, and half as much again; 768 at most."""
    found = [float(v) for call, of in MEASURED.items() if function_of(call) == name
             for v in of.values()]
    return min(768.0, max([16.0, *[1.5 * v for v in found]]))


def special(names: str, calls: tuple[str, ...], *domains: str, **options: Any) -> list[Row]:
    return [Row(f"scipy.special.{name}", calls, domains, **{
        "dtypes": TAKEN, "backward": 16.0, "ulps": measured(name), "why": WHY, **options})
        for name in names.split()]


def nn(name: str, *calls: str, **options: Any) -> Row:
    return Row(f"nn.{name}", calls, **{"dtypes": REAL, "domains": ("any",), **options})


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _bernoulli(n: int) -> np.ndarray:
    """SciPy sums a series, to ten digits."""
    return np.array([float(mpmath.bernoulli(k)) for k in range(n + 1)])


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, np.zeros((), np.asarray(x).dtype))


def _normalized(x: Any, axis: int = -1, mean: Any = None, variance: Any = None,
                epsilon: float = 1e-5, where: Any = True) -> Any:
    mean = np.mean(x, axis, keepdims=True, where=where) if mean is None else mean
    if variance is None:
        variance = np.mean(np.square(x), axis, keepdims=True, where=where) - np.square(mean)
    return (x - mean) / np.sqrt(variance + epsilon)


def _one_hot(x: Any, n: int, dtype: Any = None, axis: int = -1) -> Any:
    made = (np.expand_dims(x, axis) == np.arange(n).reshape(
        [-1 if k == axis % (np.ndim(x) + 1) else 1 for k in range(np.ndim(x) + 1)]))
    return made.astype(dtype or np.float32)


def _masked_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    if where is None:
        return sp.softmax(x, axis)
    x = np.where(where, x, -np.inf)
    e = np.where(where, np.exp(x - np.max(x, axis, keepdims=True)), 0)
    return e / np.sum(e, axis, keepdims=True)


def _attention(q: Any, k: Any, v: Any, bias: Any = None, mask: Any = None, *, scale: Any = None,
               is_causal: bool = False) -> Any:
    """Of operands [batch, length, heads, size]."""
    logits = np.einsum("bqhd,bkhd->bhqk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        logits = logits + bias
    if mask is not None:
        logits = np.where(mask, logits, -np.inf)
    if is_causal:
        logits = np.where(np.tri(q.shape[1], k.shape[1], dtype=bool), logits, -np.inf)
    return np.einsum("bhqk,bkhd->bqhd", sp.softmax(logits, -1), v)


UNDERFLOWS = dict(floor=1e-30, why="the sigmoid is below the normal numbers before the product is")
SELU = (1.0507009873554804934193349852946, 1.6732632423543772848170429916717)
NN = [
    nn("relu", *UNARY, reference=lambda x: np.maximum(x, 0)),
    nn("relu6", *UNARY, reference=lambda x: np.clip(x, 0, 6)),
    nn("sigmoid", *UNARY, reference=_sigmoid), nn("identity", *UNARY, reference=lambda x: x),
    nn("tanh", *UNARY, reference=np.tanh),
    nn("softplus", *UNARY, reference=_softplus),
    nn("log_sigmoid", *UNARY, reference=lambda x: -_softplus(-x)),
    nn("silu", *UNARY, reference=lambda x: x * _sigmoid(x), **UNDERFLOWS),
    nn("swish", *UNARY, reference=lambda x: x * _sigmoid(x), **UNDERFLOWS),
    nn("soft_sign", *UNARY, reference=lambda x: x / (1 + np.abs(x))),
    nn("hard_sigmoid", *UNARY, reference=lambda x: np.clip(x + 3, 0, 6) / 6),
    nn("hard_silu", *UNARY, reference=lambda x: x * np.clip(x + 3, 0, 6) / 6),
    nn("hard_swish", *UNARY, reference=lambda x: x * np.clip(x + 3, 0, 6) / 6),
    nn("hard_tanh", *UNARY, reference=lambda x: np.clip(x, -1, 1)),
    nn("mish", *UNARY, reference=lambda x: x * np.tanh(_softplus(x))),
    nn("squareplus", *UNARY, "f(a[5], 2)", domains=("usual",),
       reference=lambda x, b=4: (x + np.sqrt(x * x + b)) / 2,
       scale="largest"),
    nn("sparse_plus", *UNARY, reference=lambda x: np.where(x <= -1, 0, np.where(
        x >= 1, x, (x + 1) ** 2 / 4))),
    nn("sparse_sigmoid", *UNARY, reference=lambda x: np.clip(x + 1, 0, 2) / 2),
    nn("elu", *UNARY, "f(a[5], 0.5)", reference=lambda x, alpha=1.0: np.where(
        x > 0, x, alpha * np.expm1(np.minimum(x, 0)))),
    nn("celu", *UNARY, "f(a[5], 0.5)", reference=lambda x, alpha=1.0: np.where(
        x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))),
    nn("selu", *UNARY, reference=lambda x: SELU[0] * np.where(
        x > 0, x, SELU[1] * np.expm1(np.minimum(x, 0)))),
    nn("leaky_relu", *UNARY, "f(a[5], 0.25)", reference=lambda x, slope=0.01: np.where(
        x >= 0, x, slope * x)),
    nn("gelu", *UNARY, domains=("small",), backward=2, why="it is a cubic inside tanh",
       reference=lambda x: x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))),
    nn("gelu", "f(a[7], approximate=False)", domains=("small",), backward=2,
       why="as erfc in docs/accuracy.md",
       reference=lambda x, approximate: x * sp.ndtr(x)),
    nn("log1mexp", *UNARY, domains=("positive",),
       reference=lambda x: np.where(x < 0.7, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))),
    nn("glu", "f(a[4])", "f(a[3, 4])", "f(a[4, 3], axis=0)", reference=lambda x, axis=-1: (
        lambda u, v: u * _sigmoid(v))(*np.split(x, 2, axis))),
    nn("softmax", "f(a[5])", "f(a[3, 4])", "f(a[3, 4], axis=0)", "f(a[2, 3, 4], axis=(0, 2))",
       "f(a[3, 4], where=np.arange(4) < 3)", domains=("usual",), reference=_masked_softmax,
       backward=2, why="differences of operands are rounded before the exponential"),
    nn("log_softmax", "f(a[5])", "f(a[3, 4])", "f(a[3, 4], axis=0)", domains=("usual",),
       scale="largest", reference=lambda x, axis=-1: sp.log_softmax(x, axis)),
    nn("logsumexp", "f(a[5])", "f(a[3, 4])", "f(a[3, 4], axis=0)", "f(a[3, 4], axis=(0, 1))",
       "f(a[3, 4], axis=1, keepdims=True)", "f(a[5], b=b[5])", domains=("usual", "positive"),
       scale="largest", reference=sp.logsumexp, floor=1.0,
       why="a sum of the largest operand and a logarithm"),
    nn("logmeanexp", "f(a[5])", "f(a[3, 4], axis=0)", "f(a[3, 4], axis=1, keepdims=True)",
       domains=("usual",), scale="largest", backward=1,
       why="the logarithm of the count is taken off",
       reference=lambda x, axis=None, keepdims=False: sp.logsumexp(x, axis, keepdims=keepdims)
       - np.log(x.size if axis is None else x.shape[axis])),
    nn("standardize", "f(a[5])", "f(a[3, 4])", "f(a[3, 4], axis=0)",
       "f(a[3, 4], mean=b[4], variance=c[4])", domains=("usual", "usual", "positive"),
       scale="largest", ulps=16, backward=2, why="of differences of squares",
       reference=_normalized),
    nn("one_hot", "f(i[4], 3)", "f(i[2, 3], 4, axis=0)", "f(i[()], 3)", "f(i[3], 3, dtype='int8')",
       dtypes=("float32",), reference=_one_hot, grad=False),
    nn("dot_product_attention", "f(a[1, 3, 2, 2], b[1, 3, 2, 2], c[1, 3, 2, 2])",
       "f(a[1, 3, 1, 2], b[1, 3, 1, 2], c[1, 3, 1, 2], is_causal=True)",
       "f(a[2, 2, 1, 2], b[2, 3, 1, 2], c[2, 3, 1, 2], scale=0.5)",
       "f(a[1, 2, 1, 2], b[1, 3, 1, 2], c[1, 3, 1, 2], d[1, 1, 2, 3])", domains=("small",),
       scale="largest", ulps=16, reference=_attention, why="of products and a softmax"),
]

SPECIAL = [
    *special("erf erfc ndtr log_ndtr dawsn i0 i0e i1 i1e sici fresnel", UNARY, "usual"),
    *special("erfcx expit", UNARY, "usual"),
    *special("gamma", UNARY, "positive"),
    *special("factorial", UNARY, "positive", result=default_float),
    *special("gammaln loggamma digamma", UNARY, "positive", floor=2.0, ulps=16.0),
    *special("gammasgn", UNARY, "any"),
    *special("exp1 expi spence entr", UNARY, "positive"),
    *special("erfinv", UNARY, "unit"), *special("erfcinv logit ndtri", UNARY, "share"),
    *special("wofz", UNARY, "usual", dtypes=("complex64", "complex128"), grad=False),
    *special("loggamma", UNARY, "usual", dtypes=("complex64", "complex128"), grad=False),
    *special("betaln", BINARY, "positive", "positive", floor=2.0,
             ulps=16.0),
    *special("beta gammainc gammaincc kl_div rel_entr xlogy xlog1py boxcox boxcox1p poch",
             BINARY, "positive", "positive"),
    *special("comb", BINARY[:-1], "above 1", "share", ulps=measured("beta")),
    *special("owens_t", BINARY, "usual", "usual", backward=32),
    *special("betainc", ("f(a[5], b[5], c[5])", "f(a[2, 1], b[3], c[()])"),
             "positive", "positive", "share", backward=64, grad=False),
    *special("betainc", ("f(2, 3, a[4])", "f(0.5, 2.5, a[3])"), "share", backward=64),
    *special("zeta", ("f(a[5], b[5])", "f(a[2, 1], b[3])"), "above 1", "positive",
             backward=32, grad=False),
    *special("polygamma", ("f(1, a[5])", "f(N.array([[0], [2]]), a[3])", "f(3, a[2, 2])"),
             "positive", backward=32),
    *special("multigammaln", ("f(a[5], 1)", "f(a[5] + 2, 3)"), "above 1", floor=2.0),
    *special("expn", ("f(1, a[5])", "f(2, a[2, 3])", "f(0, a[3])", "f(5, a[5])"), "positive"),
    *special("hyp1f1", ("f(a[5], b[5], c[5])",), "positive", "positive", "small", backward=64),
    *special("hyp2f1", ("f(a[5], b[5], d[5], c[5])",), "positive", "share", "unit", "above 1",
             backward=256, dtypes=("float32", "float64")),
    *special("logsumexp", ("f(a[5])", "f(a[3, 4], axis=0)", "f(a[5], b=b[5], return_sign=True)",
                           "f(a[3, 4], axis=(0, 1), keepdims=True)", "f(a[0])"),
             "usual", "nonzero", scale="largest", floor=1.0),
    *special("softmax log_softmax", ("f(a[5])", "f(a[3, 4], axis=0)", "f(a[3, 4], axis=(0, 1))"),
             "usual", scale="largest"),
    *special("bernoulli", ("f(6)",), "usual", dtypes=("float32", "float64"), vmap=False,
             reference=_bernoulli),
    *special("bessel_jn", ("f(a[5], v=3, n_iter=40)",), "small", dtypes=("float32", "float64"),
             reference=lambda z, v, n_iter: np.stack([sp.jv(k, np.asarray(z, float))
                                                      for k in range(v + 1)]), scale="largest"),
]

ROWS = [*NN, *SPECIAL]
