"""Linear algebra and Fourier transforms: `numpy.linalg`, `scipy.linalg`, `numpy.fft`, `scipy.fft`.

Factors are unique up to signs and phases: their products are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg

from .numpy_products import ROWS as PRODUCTS
from .row import FULL, WIDE, Row

EQUATIONS = dict(dtypes=FULL, domains=("usual",), scale="largest", ulps=32.0, backward=32.0,
                 why="solutions move with the operands as far as these are ill-conditioned")
REALS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")


def at(home: str, name: str, *calls: str, **options: Any) -> Row:
    return Row(f"{home}.{name}", calls, **options)


def linalg(name: str, *calls: str, **options: Any) -> Row:
    return at("numpy.linalg", name, *calls, **{**EQUATIONS, **options})


def slinalg(name: str, *calls: str, **options: Any) -> Row:
    return at("scipy.linalg", name, *calls, **{**EQUATIONS, **options})


def fft(names: str, *calls: str, **options: Any) -> list[Row]:
    made = []
    for name in names.split():
        result = kept if "shift" in name else of_reals if name.startswith(("irfft", "hfft")) else \
            of_complex
        made.append(at("numpy.fft", name, *calls, **{
            "domains": ("usual",), "scale": "largest", "result": result, **options}))
    return made


def kept(dtype: str) -> str:
    return dtype


def of_reals(dtype: str) -> str:
    """There are no transforms of 16 bits."""
    return "float64" if dtype in WIDE else "float32"


def of_complex(dtype: str) -> str:
    return "complex128" if dtype in WIDE else "complex64"


_OF_NUMPY = {row.name: row for row in PRODUCTS}
BUILT = "(lambda u, s, v: (u * s[..., None, :]) @ v)"
SPECTRAL = "(lambda w, v: (v * w[..., None, :]) @ np.conj(np.swapaxes(v, -1, -2)))"

NUMPY = [
    linalg("matmul", *_OF_NUMPY["numpy.matmul"].calls, ulps=8, backward=0, scale="terms"),
    linalg("tensordot", "f(a[2, 3, 4], b[3, 4, 2], axes=2)", "f(a[2, 3], b[3, 2], axes=1)",
           ulps=8, backward=0, scale="terms"),
    linalg("outer", "f(a[3], b[2])", "f(a[0], b[2])", ulps=8, backward=0),
    linalg("cross", "f(a[3], b[3])", "f(a[3, 4], b[3, 4], axis=0)", ulps=8, backward=0),
    linalg("vecdot", "f(a[4], b[4])", "f(a[3, 4], b[4])", "f(a[3, 4], b[3, 4], axis=0)",
           ulps=8, backward=0, scale="terms"),
    linalg("multi_dot", "f([a[2, 3], b[3, 2], c[2, 4]])", "f([a[3], b[3, 2], c[2]])", ulps=16,
           backward=0),
    linalg("diagonal", "f(a[3, 4])", "f(a[2, 3, 3], offset=1)"),
    linalg("trace", "f(a[3, 4])", "f(a[2, 3, 3], offset=-1)", ulps=8, backward=0, scale="terms"),
    linalg("matrix_transpose", "f(a[3, 4])", "f(a[2, 3, 4])"),
    linalg("cholesky", "f(s[3, 3])", "f(s[2, 3, 3])", "f(s[1, 1])", "f(s[3, 3], upper=True)",
           "f(a[3, 3] @ np.conj(a[3, 3].T) + np.eye(3, dtype=a[3, 3].dtype))"),
    linalg("det", "f(a[3, 3])", "f(a[2, 4, 4])", "f(a[1, 1])", "f(a[0, 0])"),
    linalg("slogdet", "f(a[3, 3])", "f(a[2, 4, 4])", "f(a[0, 0])"),
    linalg("inv", "f(a[3, 3])", "f(a[2, 3, 3])", "f(a[1, 1])", "f(s[4, 4])"),
    linalg("solve", "f(a[3, 3], b[3])", "f(a[3, 3], b[3, 2])", "f(a[2, 3, 3], b[2, 3, 1])",
           "f(a[2, 2, 2], b[2])", "f(a[1, 1], b[1])"),
    linalg("lstsq", "f(a[5, 3], b[5])[0]", "f(a[5, 3], b[5, 2])[0]", "f(a[3, 5], b[3])[0]",
           "f(a[4, 3], b[4])[2:]"),
    linalg("matrix_power", "f(a[3, 3], 3)", "f(a[2, 2], 0)", "f(a[2, 2, 2], 5)", "f(a[3, 3], -2)"),
    linalg("pinv", "f(a[4, 3])", "f(a[2, 2, 3])", "f(s[3, 3], hermitian=True)"),
    linalg("qr", "(lambda q, r: q @ r)(*f(a[4, 3]))", "(lambda q, r: q @ r)(*f(a[2, 3, 3]))",
           "(lambda q, r: np.conj(np.swapaxes(q, -1, -2)) @ q)(*f(a[4, 3]))",
           "np.abs(f(a[4, 3], 'r'))", "(lambda q, r: q @ r)(*f(a[3, 4], 'complete'))"),
    linalg("svd", f"{BUILT}(*f(a[4, 3], full_matrices=False))", f"{BUILT}(*f(a[2, 3, 4], False))",
           "f(a[3, 4], compute_uv=False)", "(lambda u, s, v: v @ np.conj(v.T))(*f(a[3, 3]))"),
    linalg("svdvals", "f(a[4, 3])", "f(a[2, 3, 3])"),
    linalg("eigh", f"{SPECTRAL}(*f(s[3, 3]))", f"{SPECTRAL}(*f(s[2, 3, 3]))", "f(s[3, 3])[0]",
           f"{SPECTRAL}(*f(a[3, 3] + np.conj(a[3, 3].T)))"),
    linalg("eigvalsh", "f(s[3, 3])", "f(s[2, 4, 4])", "f(a[3, 3] + np.conj(a[3, 3].T))",
           "f(a[3, 3] + np.conj(a[3, 3].T), UPLO='U')"),
    linalg("eig", "(lambda w, v: np.sort_complex((v * w) @ np.linalg.inv(v)))(*f(a[3, 3]))",
           grad=False, result=lambda d: d if "complex" in d else {
               "float32": "complex64", "float64": "complex128"}[d], ulps=128),
    linalg("eigvals", "np.sort_complex(f(a[4, 4]))", "np.sort_complex(f(s[3, 3]))", grad=False,
           result=lambda d: d if "complex" in d else {
               "float32": "complex64", "float64": "complex128"}[d], ulps=128),
    linalg("cond", "f(a[3, 3])", "f(a[3, 3], 1)", "f(a[3, 3], 'fro')", "f(a[2, 3, 3], 2)",
           "f(a[3, 3], -2)", "f(a[3, 3], np.inf)"),
    linalg("matrix_rank", "f(a[3, 4])", "f(a[2, 3, 3])", "f(np.zeros((3, 3), a[3, 4].dtype))",
           "f(s[3, 3], hermitian=True)", grad=False),
    linalg("norm", "f(a[5])", "f(a[3, 4])", "f(a[5], 1)", "f(a[5], np.inf)", "f(a[5], -np.inf)",
           "f(a[5], 0)", "f(a[5], 3)", "f(a[3, 4], 1)", "f(a[3, 4], np.inf)", "f(a[3, 4], 2)",
           "f(a[3, 4], 'nuc')", "f(a[3, 4], -2)", "f(a[3, 4], axis=1)", "f(a[0])",
           "f(a[2, 3, 4], axis=(0, 2))", "f(a[3, 4], 1, axis=0, keepdims=True)"),
    linalg("vector_norm", "f(a[5])", "f(a[3, 4])", "f(a[3, 4], axis=0, ord=1)",
           "f(a[2, 3, 4], axis=(0, 2), ord=3)", "f(a[3, 4], axis=1, ord=np.inf, keepdims=True)"),
    linalg("matrix_norm", "f(a[3, 4])", "f(a[2, 3, 4], ord='nuc')", "f(a[3, 4], ord=-1)",
           "f(a[3, 4], keepdims=True)"),
    linalg("tensorinv", "f(a[4, 2, 2], ind=1)", "f(a[2, 3, 3, 2])"),
    linalg("tensorsolve", "f(a[2, 3, 6], b[2, 3])", "f(a[4, 2, 2], b[4])"),
]

FFT = [
    *fft("fft ifft", "f(a[5])", "f(a[3, 4])", "f(a[3, 4], axis=0)", "f(a[5], 8)", "f(a[5], 3)",
         "f(a[6], norm='ortho')", "f(a[6], norm='forward')", "f(a[2, 1, 3, 2], axis=-2)"),
    *fft("rfft ihfft", "f(a[5])", "f(a[6])", "f(a[3, 4], axis=0)", "f(a[5], 8)",
         "f(a[6], norm='ortho')", "f(a[6], norm='forward')"),
    *fft("irfft hfft", "f(a[4])", "f(a[4], 5)", "f(a[3, 4], axis=0)", "f(a[4], norm='ortho')",
         "f(a[4], 6, norm='forward')"),
    *fft("fft2 ifft2", "f(a[3, 4])", "f(a[2, 3, 4])", "f(a[3, 4], (4, 3))",
         "f(a[2, 3, 4], axes=(0, 2), norm='ortho')"),
    *fft("fftn ifftn", "f(a[3, 4])", "f(a[2, 3, 4])", "f(a[2, 3, 4], axes=(0, 1))",
         "f(a[2, 3, 4], (3, 2), axes=(0, 2))"),
    *fft("rfft2 rfftn", "f(a[3, 4])", "f(a[2, 3, 4])", "f(a[2, 3, 4], (4, 4), axes=(1, 2))"),
    *fft("irfft2 irfftn", "f(a[3, 4])", "f(a[2, 3, 3])", "f(a[3, 3], (3, 5), axes=(0, 1))"),
    *fft("fftshift ifftshift", "f(a[5])", "f(a[3, 4])", "f(a[3, 4], axes=1)"),
    *fft("fftfreq rfftfreq", "f(5)", "f(6, 0.5)", dtypes=REALS, vmap=False, result=of_reals),
    *[at("scipy.fft", name, "f(a[5])", "f(a[3, 4], axis=0)", "f(a[6], norm='ortho')",
         "f(a[5], n=7)", "f(a[5], 3)", domains=("usual",), scale="largest",
         dtypes=("float16", "bfloat16", *REALS), result=of_reals)
      for name in ("dct", "idct")],
    *[at("scipy.fft", name, "f(a[5])", "f(a[3, 4])", "f(a[3, 4], norm='ortho')",
         "f(a[2, 3, 4], axes=(0, 2))", domains=("usual",), scale="largest",
         dtypes=("float16", "bfloat16", *REALS), result=of_reals)
      for name in ("dctn", "idctn")],
]

SCIPY = [
    slinalg("block_diag", "f(a[2, 2], b[1, 3])", "f(a[3], b[()])", "f(a[2, 2])"),
    slinalg("cholesky", "f(s[3, 3])", "f(s[3, 3], lower=True)"),
    slinalg("cho_factor", "np.triu(f(s[3, 3])[0])", "np.tril(f(s[3, 3], lower=True)[0])"),
    slinalg("cho_solve", "f((np.linalg.cholesky(s[3, 3]), True), b[3])",
            "f((np.linalg.cholesky(s[3, 3]), True), b[3, 2])"),
    slinalg("det", "f(a[3, 3])", "f(a[1, 1])"), slinalg("inv", "f(a[3, 3])", "f(s[4, 4])"),
    slinalg("eigh", f"{SPECTRAL}(*f(s[3, 3]))", "f(s[3, 3], eigvals_only=True)"),
    slinalg("expm", "f(a[3, 3])", "f(a[2, 2, 2])", "f(a[1, 1])", "f(a[3, 3] * 4)"),
    slinalg("expm_frechet", "f(a[3, 3], b[3, 3])", "f(a[3, 3], b[3, 3], compute_expm=False)"),
    slinalg("sqrtm", "f(s[3, 3])", "f(s[2, 2])", grad=False,
            result=lambda d: d if "complex" in d else {
                "float32": "complex64", "float64": "complex128"}[d]),
    slinalg("funm", "f(s[3, 3], np.exp)", grad=False, ulps=256,
            result=lambda d: d if "complex" in d else {
                "float32": "complex64", "float64": "complex128"}[d]),
    slinalg("polar", "f(a[3, 3])", "f(a[3, 3], side='left')", "f(a[4, 3])", ulps=64),
    slinalg("lu", "(lambda p, l, u: p @ l @ u)(*f(a[3, 3]))", "f(a[3, 4])", "f(a[4, 3])",
            "f(a[3, 3], permute_l=True)", "f(a[2, 3, 3])"),
    slinalg("lu_factor", "f(a[3, 3])[0]", grad=False),
    slinalg("lu_solve", "f(g(a[3, 3]), b[3])", "f(g(a[3, 3]), b[3, 2], trans=1)",
            "f(g(a[3, 3]), b[3], trans=2)",
            scope={"g": (__import__("xfront.scipy.linalg").scipy.linalg.lu_factor,
                         scipy.linalg.lu_factor)}),
    slinalg("qr", "(lambda q, r: q @ r)(*f(a[4, 3]))", "np.abs(f(a[3, 3], mode='r')[0])",
            "(lambda q, r: q @ r)(*f(a[4, 3], mode='economic'))",
            "np.abs(f(a[4, 3], mode='economic', pivoting=True)[1])"),
    slinalg("qr_multiply", "np.abs(f(a[3, 3], b[2, 3])[0])",
            "np.abs(f(a[3, 3], b[3, 2], 'left')[0])"),
    slinalg("schur", "(lambda t, z: z @ t @ np.conj(z.T))(*f(a[3, 3]))",
            "(lambda t, z: z @ t @ np.conj(z.T))(*f(s[3, 3]))", grad=False),
    slinalg("rsf2csf", "(lambda t, z: z @ t @ np.conj(z.T))(*f(np.triu(a[3, 3]), np.eye(3, "
            "dtype=a[3, 3].dtype)))", "(lambda t, z: z @ t @ np.conj(z.T))(*f(np.triu("
            "a[4, 4], -1) * N.array([1, 1, 0, 1])[:, None], np.eye(4, dtype=a[4, 4].dtype)))",
            reference=lambda t, z: (t, z), why="unitarily similar to the given matrix; SciPy's "
            "rotations of complex blocks are not unitary", grad=False, ulps=64,
            result=lambda d: d if "complex" in d else {
                "float32": "complex64", "float64": "complex128"}[d]),
    slinalg("hessenberg", "np.abs(f(a[3, 3]))", "(lambda h, q: q @ h @ np.conj(q.T))(*f(a[4, 4], "
            "calc_q=True))", ulps=64, grad=False),
    slinalg("solve", "f(a[3, 3], b[3])", "f(a[3, 3], b[3, 2])", "f(s[3, 3], b[3], assume_a='pos')",
            "f(np.tril(a[3, 3]) + 3 * np.eye(3, dtype=a[3, 3].dtype), b[3], lower=True)"),
    slinalg("solve_triangular", "f(t(a[3, 3]), b[3])", "f(t(a[3, 3]), b[3, 2], trans=1)",
            "f(t(a[3, 3]).T, b[3], lower=True)", "f(t(a[3, 3]), b[3], unit_diagonal=True)",
            "f(t(a[3, 3]), b[3], trans=2)",
            scope={"t": (lambda x: __import__("xfront.numpy").numpy.triu(x)
                         + 3 * __import__("xfront.numpy").numpy.eye(3, dtype=x.dtype),
                         lambda x: np.triu(x) + 3 * np.eye(3, dtype=x.dtype))}),
    slinalg("solve_sylvester", "f(s[3, 3], s[2, 2], b[3, 2])", ulps=256),
    slinalg("svd", f"{BUILT}(*f(a[4, 3], full_matrices=False))", "f(a[3, 4], compute_uv=False)"),
    slinalg("eigh_tridiagonal", "f(a[4], b[3], eigvals_only=True)", dtypes=REALS, ulps=64),
    slinalg("toeplitz", "f(a[3])", "f(a[3], b[2])"), slinalg("circulant", "f(a[3])"),
    slinalg("companion", "f(a[4])", domains=("nonzero",)),
    slinalg("convolution_matrix", "f(a[3], 4)", "f(a[3], 4, mode='same')", "f(a[3], 4, 'valid')"),
    slinalg("fiedler", "f(a[4])"),
    slinalg("fiedler_companion", "f(a[5])", "f(a[2])", domains=("nonzero",)),
    slinalg("hankel", "f(a[3])", "f(a[3], b[4])"), slinalg("leslie", "f(a[4], b[3])"),
    slinalg("dft", "f(4)", "f(5, scale='sqrtn')", "f(3, scale='n')", vmap=False, dtypes=REALS),
    slinalg("hadamard", "f(4)", vmap=False, dtypes=REALS),
    slinalg("hadamard", "f(2, 'complex64')", vmap=False, dtypes=("float32",), typed=True),
    slinalg("helmert", "f(4)", "f(3, full=True)", vmap=False, dtypes=REALS),
    slinalg("hilbert", "f(3)", vmap=False, dtypes=REALS),
    slinalg("invhilbert", "f(4)", vmap=False, dtypes=REALS),
    slinalg("pascal", "f(4)", "f(4, kind='lower')", "f(3, kind='upper')", vmap=False, dtypes=REALS,
            result=lambda d: d),
    slinalg("invpascal", "f(4)", "f(4, kind='lower')", vmap=False, dtypes=REALS,
            result=lambda d: d),
]

ROWS = [*NUMPY, *FFT, *SCIPY]
