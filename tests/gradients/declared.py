"""The public functions without a row, each with what is true of it.

A name is `module.function`. A function that is called here what it is not hides its gradients from
the checks, so the lists are read with care: `WITHOUT` has no derivative, `MOVES` only places its
elements (the gradient is made of zeros and ones), of `ELSEWHERE` other tests look at gradients.
"""

from __future__ import annotations


def _names(module: str, text: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for name in text.split())


WITHOUT = _names("numpy", """
    all allclose any arange argmax argmin argpartition argsort argwhere array_equal array_equiv
    array_repr array_str bincount bitwise_and bitwise_count bitwise_invert bitwise_left_shift
    bitwise_not bitwise_or bitwise_right_shift bitwise_xor broadcast_shapes can_cast count_nonzero
    diag_indices diag_indices_from digitize einsum_path empty empty_like equal eye flatnonzero
    from_dlpack frombuffer fromfile fromiter fromstring frompyfunc full_like gcd get_printoptions
    greater
    greater_equal histogram histogram2d histogram_bin_edges histogramdd identity indices invert
    isclose iscomplex iscomplexobj isdtype isfinite isin isinf isnan isneginf isposinf isreal
    isrealobj isscalar issubdtype iterable lcm left_shift less less_equal lexsort logical_and
    logical_not logical_or logical_xor mask_indices nanargmax nanargmin ndim nextafter nonzero
    not_equal ones ones_like printoptions promote_types ravel_multi_index result_type right_shift
    bartlett blackman hamming hanning load packbits unpackbits
    save savez searchsorted set_printoptions shape signbit size spacing tri tril_indices
    tril_indices_from triu_indices triu_indices_from unravel_index zeros zeros_like
""") | _names("nn", "one_hot") | _names("special", "bernoulli") | _names("lax", """
    DotDimensionNumbers after_all approx_max_k approx_min_k argmax argmin axis_index axis_size
    bitwise_and bitwise_not bitwise_or bitwise_xor broadcast_shapes broadcasted_iota clz
    conv_dimension_numbers conv_general_permutations conv_general_shape_tuple conv_shape_tuple
    conv_transpose_shape_tuple create_token dce_sink dtype empty eq full full_like ge gt
    igamma_grad_a iota is_finite le lt mulhi ne nextafter padtype_to_pads population_count
    random_gamma_grad reduce_and reduce_or reduce_window_shape_tuple reduce_xor rng_bit_generator
    rng_uniform shape_as_value shift_left shift_right_arithmetic shift_right_logical stage
    stop_gradient zeros_like_array bitcast_convert_type
""")

MOVES = _names("numpy", """
    append array array_split asarray astype atleast_1d atleast_2d atleast_3d block broadcast_arrays
    broadcast_to choose column_stack compress concat concatenate copy delete diag diagflat
    diagonal dsplit dstack expand_dims extract fill_diagonal flip fliplr flipud full hsplit hstack
    insert intersect1d ix_ matrix_transpose meshgrid moveaxis pad permute_dims place put
    put_along_axis ravel repeat reshape resize roll rollaxis rot90 select setdiff1d setxor1d
    sort_complex split squeeze
    stack swapaxes take take_along_axis tile trace transpose tril trim_zeros triu union1d unique
    unwrap
    unique_all unique_counts unique_inverse unique_values unstack vsplit vstack
""") | _names("lax", """
    all_gather all_to_all broadcast broadcast_in_dim broadcast_like broadcast_to_rank collapse
    concatenate convert_element_type dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim
    dynamic_update_index_in_dim dynamic_update_slice dynamic_update_slice_in_dim expand_dims gather
    imag index_in_dim index_take optimization_barrier pad pbroadcast pcast ppermute precv psend
    pshuffle pswapaxes pvary ragged_all_to_all real reduce_precision reshape rev scatter scatter_add
    scatter_sub select select_n slice slice_in_dim sort_key_val split squeeze stack tile transpose
    unstack with_sharding_constraint
""")

ELSEWHERE = _names("numpy", """
    apply_along_axis apply_over_axes einsum fromfunction kaiser matvec piecewise poly polyfit roots
    tensordot vander vecmat vectorize
""") | _names("nn", "dot_product_attention scaled_matmul") | _names("special", """
    bessel_jn comb hyp1f1 hyp2f1 lpmn lpmn_values owens_t sph_harm_y wofz
""") | _names("lax", """
    associative_scan batch_matmul composite cond conv conv_general_dilated
    conv_general_dilated_local conv_general_dilated_patches conv_transpose conv_with_general_padding
    custom_linear_solve custom_root dot dot_general fft fori_loop map platform_dependent pmax pmean
    pmin psum psum_scatter ragged_dot ragged_dot_general scaled_dot scan scatter_apply scatter_max
    scatter_min scatter_mul switch while_loop
""")

DECLARED = WITHOUT | MOVES | ELSEWHERE
