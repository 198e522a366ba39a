"""The functions of NumPy on arrays that live on devices and trace into programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.on_demand import on_demand
from . import metadata, scalar_types
from .metadata import *
from .scalar_types import *

__array_api_version__ = "2024.12"

_FAMILIES = {
    "arithmetic":
        "abs=absolute absolute cbrt divide divmod fabs float_power floor_divide fmod gcd hypot "
        "lcm mod positive pow power reciprocal remainder sign sqrt square true_divide",
    "array_namespace": "__array_namespace_info__=ArrayNamespaceInfo",
    "bits":
        "bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_right_shift copysign "
        "frexp invert ldexp left_shift nextafter right_shift signbit spacing",
    "extremes": "clip fmax fmin heaviside nan_to_num",
    "complexes": "angle conj conjugate imag real",
    "contractions":
        "convolve correlate cross dot inner kron matmul matvec outer tensordot vdot vecdot vecmat",
    "counting": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "creation":
        "array asarray astype copy empty empty_like from_dlpack frombuffer fromfile fromiter "
        "fromstring full full_like load ones ones_like zeros zeros_like",
    "diagonals": "diag diagflat diagonal fill_diagonal trace tril triu",
    "differences": "diff ediff1d gradient interp trapezoid unwrap",
    "editing": "append delete insert resize trim_zeros",
    "einstein": "einsum einsum_path",
    "applying": "apply_along_axis apply_over_axes piecewise vectorize",
    "index_tricks": "c_ r_",
    "logic":
        "allclose array_equal array_equiv equal greater greater_equal isclose iscomplex isfinite "
        "isinf isnan isneginf isposinf isreal less less_equal logical_not not_equal",
    "manipulation":
        "array_split atleast_1d atleast_2d atleast_3d block broadcast_arrays broadcast_shapes "
        "broadcast_to column_stack concat concatenate dsplit dstack expand_dims flip fliplr "
        "flipud hsplit hstack matrix_transpose moveaxis permute_dims ravel reshape "
        "rollaxis rot90 split squeeze stack swapaxes tile transpose unstack vsplit vstack",
    "packing": "packbits unpackbits",
    "padding": "pad",
    "polynomials":
        "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots vander",
    "ranges":
        "arange eye fromfunction geomspace identity indices linspace logspace meshgrid mgrid "
        "ogrid tri",
    "reductions":
        "all amax amin any argmax argmin count_nonzero max min nanargmax nanargmin nanmax nanmin "
        "minmax nanprod nansum prod ptp sum",
    "repeating": "repeat roll",
    "rounding": "around ceil fix floor modf rint round trunc",
    "running": "cumprod cumsum cumulative_prod cumulative_sum nancumprod nancumsum",
    "positions":
        "argwhere choose compress diag_indices diag_indices_from extract flatnonzero ix_ "
        "mask_indices nonzero place put put_along_axis ravel_multi_index select take "
        "take_along_axis tril_indices tril_indices_from triu_indices triu_indices_from "
        "unravel_index where",
    "sets":
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts "
        "unique_inverse unique_values",
    "sorting": "argpartition argsort digitize lexsort partition searchsorted sort sort_complex "
        "top_k",
    "statistics":
        "average corrcoef cov mean median nanmean nanmedian nanpercentile nanquantile nanstd "
        "nanvar percentile quantile std var",
    "transcendental":
        "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 "
        "atanh cos cosh deg2rad degrees exp exp2 expm1 i0 log log10 log1p log2 rad2deg radians "
        "sin sinc sinh tan tanh",
    "ufunc_objects":
        "add bitwise_and bitwise_or bitwise_xor frompyfunc logaddexp logaddexp2 logical_and "
        "logical_or logical_xor maximum minimum multiply negative subtract ufunc",
    "windows": "bartlett blackman hamming hanning kaiser",
}

if TYPE_CHECKING:
    from . import fft, linalg
    from .applying import *
    from .arithmetic import *
    from .arithmetic import absolute as abs
    from .array_namespace import ArrayNamespaceInfo as __array_namespace_info__
    from .bits import *
    from .complexes import *
    from .contractions import *
    from .counting import *
    from .creation import *
    from .diagonals import *
    from .differences import *
    from .editing import *
    from .einstein import *
    from .extremes import *
    from .index_tricks import *
    from .logic import *
    from .manipulation import *
    from .packing import *
    from .padding import *
    from .polynomials import *
    from .positions import *
    from .ranges import *
    from .reductions import *
    from .repeating import *
    from .rounding import *
    from .running import *
    from .sets import *
    from .sorting import *
    from .statistics import *
    from .transcendental import *
    from .ufunc_objects import *
    from .windows import *
else:
    __all__, __getattr__, __dir__ = on_demand(__name__, _FAMILIES, ("fft", "linalg"),
                                              quick="asarray broadcast_shapes")
    __all__ += [*metadata.__all__, *scalar_types.__all__]
