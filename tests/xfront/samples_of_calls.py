"""Arguments with which public functions can be called, for tests that walk all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import xfront as jax
from xfront import lax

M = np.eye(3, dtype=np.float32) + 0.5
V = np.array([0.5, 0.25, 0.75], np.float32)
I = np.array([1, 2, 0], np.int32)
B = np.array([True, False, True])
S = np.float32(0.5)
KEY = jax.random.key(0)
HERE = KEY.sharding


def twice(x: Any) -> Any:
    return x * 2.0


SAMPLES: list[tuple] = [
    (),
    (M,), (V,), (M, M), (V, V), (I,), (I, I), (V, 0), (M, 0), (M, 1), (B,), (B, B), (V, I), (M, I),
    (3,), (3, 3), ((3,),), ((3,), 0), ([V, V],), ([M, M], 0), (KEY,), (KEY, V), (KEY, (3,)),
    (KEY, 3), (KEY, (3,), 0, 5), (V, V, V), (M, V), (M, M, M), (V, I, 3), (B, V, V), (M, (0,)),
    (V, (0,)), (M, 0, 1), (twice,), (twice, V), (twice, (V,), (V,)), ("float32",), (M, (9,)),
    (M, (1, 0)), (V, I, V), (S,), (S, S), (S, S, S), (0.0, 1.0), (0, 5), (V, (3,)), (V, 3),
    (KEY, V, (3,)), (twice, twice, V), ("ij,jk", M, M), (V, "float32"), (I, 3), (V, 0, 3),
    (lambda c, x: (c, x), S, V), (lambda c: c < 3, lambda c: c + 1, 0), (0, 3, lambda i, c: c, S),
    (True, twice, twice, V), (0, [twice, twice], V), (KEY, S), (KEY, S, S),
    (V, 0.0, lax.add, (0,)), (S, (3,)), (V, (3,), (0,)), ("float32", (3,), 0),
    (M, M, (((1,), (0,)), ((), ()))), (V, S, [(0, 0, 0)]), (M, (0, 0), (1, 1)), ((V,),),
    (lambda x: x, V, 2),
]

C = np.ones((1, 1, 3, 3), np.float32)
PART = np.ones((2, 3), np.float32)
SIZED = {"size": 2}
NUMBERS = lax.ScatterDimensionNumbers((), (0,), (0,))
SCATTER = (V, I[:, None], V, NUMBERS)


def mapped(function: Any, *args: Any, **fixed: Any) -> Any:
    """A collective over a mapped axis."""
    def call(**given: Any) -> Any:
        return jax.vmap(lambda x: function(x, "i", *args, **fixed, **given), axis_name="i")(M)

    return call


def after(function: Any, *args: Any) -> Any:
    """What a function that gives a function gives, called."""
    def call(*given: Any, **named: Any) -> Any:
        return function(*given, **named)(*args)

    return call


def in_context(mesh: Any, call: Any) -> Any:
    """A call where the mesh is the one in context."""
    def inside(*given: Any, **named: Any) -> Any:
        with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
            return call(*given, **named)

    return inside


CALLS: dict[str, tuple[Any, tuple, dict[str, Any]]] = {
    **{f"numpy.{name}": (None, args, SIZED) for name, args in (
        ("argwhere", (V,)), ("flatnonzero", (V,)), ("intersect1d", (V, V)),
        ("setdiff1d", (V, V)), ("setxor1d", (V, V)), ("union1d", (V, V)), ("extract", (B, V)),
        ("compress", (B, V)), ("nonzero", (V,)), ("where", (B,)))},
    "numpy.fromfunction": (None, (lambda i, j: i + j, (2, 2)), {}),
    "numpy.fromstring": (None, ("1 2",), {"sep": " "}),
    "numpy.frompyfunc": (None, (lambda x, y: x, 2, 1), {}),
    "numpy.place": (None, (V, B, V), {"inplace": False}),
    "numpy.polyfit": (None, (V, V, 1), {}),
    "nn.scaled_matmul": (None, (M[None],) * 4, {}),
    "numpy.unpackbits": (None, (I.astype(np.uint8),), {}),
    "numpy.mask_indices": (None, (3, jax.numpy.tril), {"size": 6}),
    "numpy.put": (None, (V, I, V), {"inplace": False}),
    "numpy.put_along_axis": (None, (M, I[None], M[:1], 0), {"inplace": False}),
    "numpy.ravel_multi_index": (None, ((I, I), (3, 3)), {}),
    "linalg.eigh_tridiagonal": (None, (V, V[1:]), {}),
    "linalg.hadamard": (None, (4,), {}),
    "special.bessel_jn": (None, (V,), {"v": 2}),
    "special.sph_harm_y": (None, (2, 1, V, V), {}),
    "special.lpmn": (None, (2, 2, V), {}), "special.lpmn_values": (None, (2, 2, V, True), {}),
    "ndimage.map_coordinates": (None, (V, (V,), 1), {}),
    "optimize.minimize": (None, (lambda x: (x * x).sum(), V), {"method": "BFGS"}),
    "image.resize": (None, (M, (2, 2), "linear"), {}),
    "image.scale_and_translate": (None, (M, (2, 3), (0,), V[:1], V[:1], "linear"), {}),
    "numpy.vectorize": (None, (lambda x, y: x,), {}),
    "lax.associative_scan": (None, (lax.add, V), {}),
    "lax.composite": (None, (twice, "my.twice"), {}),
    "lax.conv": (None, (C, C, (1, 1), "SAME"), {}),
    "lax.conv_general_dilated": (None, (C, C, (1, 1), "SAME"), {}),
    "lax.conv_general_dilated_local": (None, (C, np.ones((1, 9, 1, 1), np.float32), (1, 1),
                                              "VALID", (3, 3)), {}),
    "lax.conv_general_dilated_patches": (None, (C, (1, 1), (1, 1), "VALID"), {}),
    "lax.conv_shape_tuple": (None, ((1, 1, 3, 3), (1, 1, 1, 1), (1, 1), ((0, 0), (0, 0))), {}),
    "lax.conv_transpose": (None, (C, C, (1, 1), "SAME"), {}),
    "lax.conv_with_general_padding": (None, (C, C, (1, 1), "SAME", None, None), {}),
    "lax.custom_linear_solve": (None, (twice, V, lambda m, b: b / 2.0), {}),
    "lax.empty": (None, ((3,), "float32"), {}),
    "lax.gather": (None, (V, I[:, None], lax.GatherDimensionNumbers((), (0,), (0,)), (1,)), {}),
    "lax.platform_dependent": (None, (V,), {"default": twice}),
    "lax.ragged_dot": (None, (M, M[None], np.array([3], np.int32)), {}),
    "lax.ragged_dot_general": (None, (M, M[None], np.array([3], np.int32),
                                      lax.RaggedDotDimensionNumbers(
                                          (((1,), (1,)), ((), ())), [0], [0])), {}),
    **{f"lax.{name}": (None, (B, (0,)), {}) for name in ("reduce_and", "reduce_or", "reduce_xor")},
    "lax.reduce_window": (None, (V, 0.0, lax.add, (2,), (1,), "VALID"), {}),
    "lax.reduce_window_shape_tuple": (None, ((3,), (2,), (1,), ((0, 0),)), {}),
    "lax.rng_bit_generator": (None, (np.zeros(4, np.uint32), (3,)), {}),
    **{f"lax.{name}": (None, SCATTER, {}) for name in (
        "scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub")},
    "lax.scatter_apply": (None, (V, I[:, None], twice, NUMBERS), {"update_shape": (3,)}),
    "lax.all_gather": (mapped(lax.all_gather), (), {}),
    "lax.all_to_all": (mapped(lax.all_to_all, 0, 0), (), {}),
    "lax.pmean": (mapped(lax.pmean), (), {}),
    "lax.psum": (mapped(lax.psum), (), {}),
    "lax.pmax": (mapped(lax.pmax), (), {}),
    "lax.pmin": (mapped(lax.pmin), (), {}),
    "lax.psum_scatter": (mapped(lax.psum_scatter), (), {}),
    "lax.pswapaxes": (mapped(lax.pswapaxes, 0), (), {}),
    "nn.dot_product_attention": (None, (np.ones((1, 3, 1, 2), np.float32),) * 3, {}),
    "nn.glu": (None, (np.ones(4, np.float32),), {}),
    "random.multinomial": (None, (KEY, 10, np.ones(3, np.float32)), {}),
    "random.multivariate_normal": (
        None, (KEY, np.ones(2, np.float32), np.eye(2, dtype=np.float32)), {}),
    "random.triangular": (None, (KEY, 0.0, 1.0, 2.0), {}),
    "random.wrap_key_data": (None, (np.zeros(2, np.uint32),), {}),
    "linalg.lu_solve": (None, ((M, I), V), {}),
    "debug.visualize_sharding": (None, ((3,), HERE), {}),
    "xfront.make_mesh": (None, ((1,), ("i",)), {}),
    "xfront.make_array_from_callback": (None, ((3,), HERE, lambda i: np.ones(3)[i]), {}),
    "xfront.make_array_from_process_local_data": (None, (HERE, np.ones(3)), {}),
    "xfront.make_array_from_single_device_arrays": (None, ((3,), HERE, [jax.numpy.ones(3)]), {}),
    "tree_util.tree_map_with_path": (None, (lambda path, x: x, V), {}),
    **{f"xfront.{name}": (after(getattr(jax, name), S), (twice,), {}) for name in (
        "checkpoint", "grad", "hessian", "jacfwd", "jacobian", "jit", "named_call",
        "value_and_grad", "make_ir")},
    "xfront.fwd_and_bwd": (lambda *a, **k: jax.fwd_and_bwd(*a, **k)[0](S), (twice,),
                           {"argnums": 0}),
    "xfront.vmap": (after(jax.vmap, V), (twice,), {}),
    "xfront.pmap": (after(jax.pmap, np.ones((1, 3), np.float32)), (twice,), {}),
    "xfront.shard_map": (after(jax.shard_map, V), (twice,),
                         {"mesh": jax.make_mesh((1,), ("i",)), "in_specs": jax.P(),
                          "out_specs": jax.P()}),
    "xfront.smap": (in_context(jax.make_mesh((1,), ("i",), (jax.sharding.AxisType.Auto,)),
                               after(jax.smap, V)), (twice,),
                    {"in_axes": 0, "out_axes": 0, "axis_name": "i"}),
    "xfront.linear_transpose": (after(jax.linear_transpose, S), (twice, S), {}),
    **{f"initializers.{name}": (after(getattr(jax.nn.initializers, name), KEY, (3, 3)), args, {})
       for name, args in (
           ("constant", (1.0,)), ("normal", ()), ("orthogonal", ()), ("truncated_normal", ()),
           ("uniform", ()), ("glorot_normal", ()), ("glorot_uniform", ()), ("he_normal", ()),
           ("he_uniform", ()), ("lecun_normal", ()), ("lecun_uniform", ()),
           ("variance_scaling", (1.0, "fan_in", "normal")))},
    "initializers.delta_orthogonal": (
        after(jax.nn.initializers.delta_orthogonal, KEY, (3, 3, 3)), (), {}),
}
"""By name of the function: what to call in its place (None: itself) with the arguments by name that
are tried, the positional ones, and those by name that it needs."""

LEFT_OUT = {
    "lax.ragged_all_to_all": "its nine arguments have a test of their own",
    "tree_util.register_dataclass": "it changes the registry of trees",
    "tree_util.register_pytree_node": "it changes the registry of trees",
    "tree_util.register_pytree_with_keys": "it changes the registry of trees",
}
