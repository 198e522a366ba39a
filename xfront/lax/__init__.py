"""Operations close to XLA's: what `xfront.numpy` is written in."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any as _Any

from ..base.on_demand import on_demand as _on_demand

_FAMILIES = {
    ".composed.at_indices": "index_take scatter_apply",
    "associative": "associative_scan",
    "collectives":
        "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute "
        "pshuffle psum psum_scatter pswapaxes pvary",
    "contractions":
        "ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers DotDimensionNumbers batch_matmul "
        "conv conv_dimension_numbers conv_general_dilated conv_general_dilated_local "
        "conv_general_dilated_patches conv_general_permutations conv_general_shape_tuple "
        "conv_shape_tuple conv_transpose "
        "conv_transpose_shape_tuple conv_with_general_padding dot dot_general padtype_to_pads",
    "composites": "after_all composite create_token dce_sink platform_dependent",
    "control_flow": "cond fori_loop map scan switch while_loop",
    "elementwise":
        "AccuracyMode RoundingMethod Tolerance abs acos acosh add asin asinh atan atan2 atanh "
        "bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil clamp clz complex conj cos cosh "
        "div eq exp exp2 expm1 floor ge gt imag integer_pow is_finite le log log1p log2 logistic "
        "lt max min mul mulhi ne neg nextafter one_minus_square population_count pow real "
        "reciprocal rem round rsqrt select select_n shift_left shift_right_arithmetic "
        "shift_right_logical sign sin sinh sqrt square sub tan tanh",
    "fourier": "FftType fft",
    ".composed.exchange": "precv psend ragged_all_to_all",
    "gathering":
        "GatherDimensionNumbers GatherScatterMode ScatterDimensionNumbers gather scatter "
        "scatter_add scatter_max scatter_min scatter_mul scatter_sub",
    "generator": "RandomAlgorithm rng_bit_generator rng_uniform",
    "implicit": "custom_linear_solve custom_root",
    "polynomials": "polynomial",
    "indexing":
        "dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_update_index_in_dim "
        "dynamic_update_slice dynamic_update_slice_in_dim",
    "constraints": "with_sharding_constraint",
    "precision": "DotAlgorithm DotAlgorithmPreset Precision PrecisionLike",
    ".composed.ragged": "RaggedDotDimensionNumbers ragged_dot ragged_dot_general scaled_dot",
    "reductions":
        "approx_max_k approx_min_k argmax argmin cumlogsumexp cummax cummin cumprod cumsum reduce "
        "reduce_and reduce_max reduce_min reduce_or reduce_precision reduce_prod reduce_sum "
        "reduce_window reduce_window_shape_tuple reduce_xor sort sort_key_val top_k",
    "shape":
        "bitcast_convert_type broadcast broadcast_in_dim broadcast_like broadcast_shapes "
        "broadcast_to_rank broadcasted_iota collapse concatenate convert_element_type dtype empty "
        "expand_dims full full_like index_in_dim iota optimization_barrier pad reshape rev "
        "shape_as_value slice slice_in_dim split squeeze stack stage stop_gradient tile transpose "
        "unstack zeros_like_array",
    "special":
        "bessel_i0e bessel_i1e betainc digamma erf erf_inv erfc igamma igamma_grad_a igammac "
        "lgamma polygamma random_gamma_grad zeta",
}

if TYPE_CHECKING:
    from ..composed.at_indices import *
    from ..composed.exchange import *
    from ..composed.ragged import *
    from . import linalg
    from .associative import *
    from .collectives import *
    from .composites import *
    from .constraints import *
    from .contractions import *
    from .control_flow import *
    from .elementwise import *
    from .fourier import *
    from .gathering import *
    from .generator import *
    from .implicit import *
    from .indexing import *
    from .polynomials import *
    from .precision import *
    from .reductions import *
    from .shape import *
    from .special import *

    def __getattr__(name: str) -> _Any: ...        # primitives


def _primitive(name: str) -> _Any:
    """A primitive, looked up on first use: `lax.dot_general_p`."""
    if not name.endswith("_p"):
        return None
    from ..eager.primitives import named

    return named(name, __name__)


if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = _on_demand(__name__, _FAMILIES, ("linalg",), _primitive,
                                               quick="stop_gradient")
