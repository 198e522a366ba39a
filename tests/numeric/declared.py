"""The packages that the table is about, and their functions without a row, each with the reason."""

from __future__ import annotations

import importlib
import types

from tests.samples.calls import public_functions

PACKAGES = ("numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "scipy.special",
            "scipy.linalg", "scipy.stats", "scipy.signal", "scipy.fft", "scipy.ndimage",
            "scipy.integrate", "scipy.cluster.vq", "ops", "image")


def _of(package: str, names: str, why: str) -> dict[str, str]:
    return {f"{package}.{name}": why for name in names.split()}


def public(package: str) -> list[str]:
    """Names of the functions of a package, of those of its distributions too."""
    made = [f"{package}.{name}" for name in public_functions(package)]
    if package == "scipy.stats":
        module = importlib.import_module("xfront.scipy.stats")
        for name in module.__all__:
            if isinstance(held := getattr(module, name), types.ModuleType):
                made += [f"{package}.{name}.{f}" for f in held.__all__]
    return sorted(made)


WITHOUT = {
    **_of("numpy", "from_dlpack fromfile fromiter load save savez",
          "reads or writes, or is refused"),
    **_of("numpy", "get_printoptions set_printoptions printoptions array_repr array_str",
          "gives text"),
    **_of("numpy", "empty empty_like", "the values are not told"),
    **_of("numpy", "einsum_path", "gives a plan"),
    **_of("lax", "DotDimensionNumbers", "a type"),
    **_of("lax", "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin "
          "ppermute precv psend pshuffle psum psum_scatter pswapaxes pvary ragged_all_to_all "
          "with_sharding_constraint", "of several members or devices: tests/xfront/lax"),
    **_of("lax", "after_all create_token composite custom_linear_solve custom_root dce_sink "
          "platform_dependent scatter_apply stage dtype empty shape_as_value",
          "of Python functions, tokens or names: tests/xfront/lax"),
    **_of("lax", "broadcast_shapes conv_dimension_numbers conv_general_permutations "
          "conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple padtype_to_pads "
          "reduce_window_shape_tuple", "of shapes alone: tests/xfront/lax"),
    **_of("lax", "rng_bit_generator rng_uniform", "random"),
    **_of("lax", "igamma_grad_a random_gamma_grad", "are derivatives: tests/gradients"),
    **_of("lax", "conv_general_dilated conv_general_dilated_local conv_general_dilated_patches "
          "conv_transpose conv_with_general_padding",
          "every combination of their arguments against loops: tests/op_table/conv.py"),
    **_of("lax", "gather scatter scatter_add scatter_max scatter_min scatter_mul scatter_sub",
          "every combination of their numbers against loops: tests/op_table/gathering.py"),
    **_of("lax", "ragged_dot ragged_dot_general scaled_dot", "against loops: tests/xfront/lax"),
    **_of("lax.linalg", "cholesky cholesky_update eig eigh hessenberg householder_product lu "
          "lu_pivots_to_permutation ormqr qdwh qr schur svd symmetric_product triangular_solve "
          "tridiagonal tridiagonal_solve", "stands under the rows of numpy.linalg and "
          "scipy.linalg; tests/xfront/lax/test_lax_linalg.py"),
    **_of("nn", "scaled_matmul", "of float8 blocks: tests/xfront/nn"),
    **_of("scipy.special", "lpmn lpmn_values sph_harm_y", "SciPy has them no longer, or in another "
          "form: tests/xfront/scipy"),
    **_of("image", "scale_and_translate", "no reference has it: tests/xfront/test_image.py"),
}
"""By name, why a function has no row."""
