"""Rows for `lax`, `lax.linalg`, `nn`, `nn.initializers`, `random` and `scipy`."""

from __future__ import annotations

from .numpy_rows import Rows, rows

LAX: Rows = {
    **rows("lax", "abs acos acosh asin asinh atan atanh cbrt ceil cos cosh digamma erf erf_inv "
           "erfc exp exp2 expm1 floor is_finite lgamma log log1p log2 logistic neg "
           "one_minus_square reciprocal round "
           "rsqrt sign sin sinh sqrt square tan tanh bessel_i0e bessel_i1e stop_gradient "
           "optimization_barrier zeros_like_array stage dtype", "m"),
    **rows("lax", "add atan2 complex div eq ge gt igamma igammac igamma_grad_a le lt max min mul "
           "ne nextafter pow rem sub random_gamma_grad", "m, n"),
    **rows("lax", "bitwise_and bitwise_or bitwise_xor shift_left shift_right_arithmetic "
           "shift_right_logical mulhi", "j, j"),
    **rows("lax", "bitwise_not clz population_count", "j"),
    **rows("lax", "conj imag real", "c"),
    **rows("lax", "cumlogsumexp cummax cummin cumprod cumsum", "m"),
    "acosh": "lax.acosh(1.0 + m)", "betainc": "lax.betainc(m, n, m)",
    "polynomial": ("lax.polynomial(m, (n, 1.0))", "lax.polynomial(q, (1.0, 2.0, 0.5))"),
    "polygamma": "lax.polygamma(1.0 + m, n)", "zeta": "lax.zeta(1.5 + m, n)",
    "clamp": ("lax.clamp(0.2, m, 0.6)", "lax.clamp(q, m, 0.6)"),
    "integer_pow": ("lax.integer_pow(m, 3)", "lax.integer_pow(m, -2)"),
    "add": ("lax.add(m, n)", "lax.add(m, 1.0)"), "mul": ("lax.mul(m, n)", "lax.mul(2.0, m)"),
    "select": "lax.select(d, m, n)", "select_n": "lax.select_n(d, m, n)",
    "argmax": "lax.argmax(m, 0, 'int32')", "argmin": "lax.argmin(m, 1, 'int32')",
    "associative_scan": ("lax.associative_scan(jnp.add, m)", "lax.associative_scan(lambda a, b: a "
                         "* b, m, axis=1, reverse=True)"),
    "approx_max_k": "lax.approx_max_k(m, 2)", "approx_min_k": "lax.approx_min_k(m, 2)",
    "top_k": "lax.top_k(m, 2)", "sort": ("lax.sort(m)", "lax.sort((m, n), num_keys=1)"),
    "sort_key_val": "lax.sort_key_val(m, n)",
    "batch_matmul": "lax.batch_matmul(t, t)", "dot": ("lax.dot(m, n)", "lax.dot(x, y)"),
    "dot_general": "lax.dot_general(t, m, (((2,), (0,)), ((), ())))",
    "ragged_dot": "lax.ragged_dot(m, t, jnp.array([1, 2]))",
    "ragged_dot_general": "lax.ragged_dot_general(m, t, jnp.array([1, 2]), "
        "lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]))",
    "bitcast_convert_type": "lax.bitcast_convert_type(m, 'int32')",
    "broadcast": "lax.broadcast(x, (2,))",
    "broadcast_in_dim": "lax.broadcast_in_dim(x, (3, 2), (0,))",
    "broadcast_like": "lax.broadcast_like(x, m)",
    "broadcast_to_rank": "lax.broadcast_to_rank(x, 3)",
    "broadcast_shapes": "lax.broadcast_shapes((2, 1), (1, 3))",
    "broadcasted_iota": "lax.broadcasted_iota('int32', (2, 3), 1)", "iota": "lax.iota('int32', 3)",
    "collapse": "lax.collapse(t, 0, 2)", "concatenate": "lax.concatenate([m, n], 0)",
    "convert_element_type": ("lax.convert_element_type(m, 'bfloat16')",
                             "lax.convert_element_type(m, 'complex64')"),
    "expand_dims": "lax.expand_dims(m, (0,))", "full": "lax.full((2, 3), q)",
    "full_like": "lax.full_like(m, 2.0)", "empty": "lax.empty((2,), 'float32')",
    "index_in_dim": "lax.index_in_dim(m, 1)", "index_take": "lax.index_take(m, (i,), (0,))",
    "pad": "lax.pad(m, q, ((1, 0, 0), (0, 1, 1)))", "reshape": "lax.reshape(m, (9,))",
    "rev": "lax.rev(m, (0,))", "slice": "lax.slice(m, (0, 1), (2, 3))",
    "slice_in_dim": "lax.slice_in_dim(m, 0, 2)", "split": "lax.split(m, (1, 2))",
    "squeeze": "lax.squeeze(m[None], (0,))", "stack": "lax.stack([m, n])",
    "tile": "lax.tile(m, (2, 1))", "transpose": "lax.transpose(m, (1, 0))",
    "unstack": "lax.unstack(m)", "shape_as_value": "lax.shape_as_value((2, 3))",
    "cond": ("lax.cond(q > 0.5, jnp.sin, jnp.cos, m)", "lax.cond(q > 0.5, lambda: m, lambda: n)"),
    "switch": "lax.switch(i[0], [jnp.sin, jnp.cos, jnp.exp], m)",
    "fori_loop": ("lax.fori_loop(0, 3, lambda a, v: v * a, m)",
                  "lax.fori_loop(0, i[0], lambda a, v: v + 1.0, m)"),
    "map": ("lax.map(lambda r: r @ x, m)", "lax.map(jnp.sin, m, batch_size=2)"),
    "scan": ("lax.scan(lambda v, r: (v + r, v * r), x, m)",
             "lax.scan(lambda v, r: (v @ r, v), m, t, reverse=True)"),
    "while_loop": "lax.while_loop(lambda v: v[0] < 3, lambda v: (v[0] + 1, v[1] * x), (0, y))",
    "custom_linear_solve": "lax.custom_linear_solve(lambda v: m @ v, x, lambda f, v: "
        "jnp.linalg.solve(m, v), lambda f, v: jnp.linalg.solve(m.T, v))",
    "custom_root": "lax.custom_root(lambda v: v * v - q, 1.0, lambda f, v: jnp.sqrt(q), "
        "lambda g, v: v / g(1.0))",
    "dynamic_index_in_dim": "lax.dynamic_index_in_dim(m, i[0])",
    "dynamic_slice": ("lax.dynamic_slice(m, (i[0], 0), (2, 2))",
                      "lax.dynamic_slice(m, (i[0], i[1].astype('uint8')), (2, 2))"),
    "dynamic_slice_in_dim": "lax.dynamic_slice_in_dim(m, i[0], 2)",
    "dynamic_update_index_in_dim": "lax.dynamic_update_index_in_dim(m, x, i[0], 0)",
    "dynamic_update_slice": ("lax.dynamic_update_slice(m, n[:2], (i[0], 0))",
        "lax.dynamic_update_slice(m, n[:2], (i[0], i[1].astype('int8')))"),
    "dynamic_update_slice_in_dim": "lax.dynamic_update_slice_in_dim(m, n[:2], i[0], 0)",
    "gather": "lax.gather(m, j[:, :1], lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3), "
        "mode='fill')",
    **{name: f"lax.{name}(m, j[:, :1], n, lax.ScatterDimensionNumbers((1,), (0,), (0,)))"
       for name in ("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul",
                    "scatter_sub")},
    "scatter_apply": "lax.scatter_apply(m, j[:, :1], jnp.sin, lax.ScatterDimensionNumbers((1,), "
        "(0,), (0,)), update_shape=(3, 3))",
    **{name: f"lax.{name}(m, (0,))" for name in ("reduce_max", "reduce_min", "reduce_prod",
                                                 "reduce_sum")},
    **{name: f"lax.{name}(j, (0,))" for name in ("reduce_and", "reduce_or", "reduce_xor")},
    "reduce": ("lax.reduce(m, 0.0, lax.add, (0,))", "lax.reduce(m, 1.0, lambda a, b: a * b, (1,))"),
    "reduce_precision": "lax.reduce_precision(m, 5, 10)",
    "reduce_window": ("lax.reduce_window(m, 0.0, lax.add, (2, 2), (1, 1), 'VALID')",
                      "lax.reduce_window(m, -jnp.inf, lax.max, (2, 2), (1, 1), 'SAME')"),
    "reduce_window_shape_tuple": "lax.reduce_window_shape_tuple((3, 3), (2, 2), (1, 1), ((0, 0), "
        "(0, 0)))",
    "fft": "lax.fft(k, 'fft', (3,))",
    "rng_bit_generator": "lax.rng_bit_generator(jnp.zeros(4, 'uint32'), (3,))",
    "rng_uniform": "lax.rng_uniform(0.0, 1.0, (3,))",
    "conv_general_dilated": ("lax.conv_general_dilated(g, f, (1, 1), 'SAME', "
        "dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
        "lax.conv_general_dilated(g, f, (2, 1), 'VALID', rhs_dilation=(1, 2), "
        "dimension_numbers=('NHWC', 'HWIO', 'NHWC'))"),
    "conv": "lax.conv(g.transpose(0, 3, 1, 2), f.transpose(3, 2, 0, 1), (1, 1), 'SAME')",
    "conv_with_general_padding": "lax.conv_with_general_padding(g.transpose(0, 3, 1, 2), "
        "f.transpose(3, 2, 0, 1), (1, 1), 'SAME', None, None)",
    "conv_transpose": "lax.conv_transpose(g, f, (2, 2), 'SAME')",
    "conv_general_dilated_local": "lax.conv_general_dilated_local(g.transpose(0, 3, 1, 2), "
        "jnp.ones((5, 12, 3, 3)), (1, 1), 'VALID', (2, 2))",
    "conv_general_dilated_patches": "lax.conv_general_dilated_patches(g.transpose(0, 3, 1, 2), "
        "(2, 2), (1, 1), 'VALID')",
    "conv_dimension_numbers": "lax.conv_dimension_numbers((2, 3, 4, 4), (5, 3, 2, 2), None)",
    "conv_general_permutations": "lax.conv_general_permutations(('NHWC', 'HWIO', 'NHWC'))",
    "conv_shape_tuple": "lax.conv_shape_tuple((2, 3, 4, 4), (5, 3, 2, 2), (1, 1), "
        "((0, 0), (0, 0)))",
    "conv_general_shape_tuple": "lax.conv_general_shape_tuple((2, 4, 4, 3), (2, 2, 3, 5), (1, 1), "
        "'VALID', ('NHWC', 'HWIO', 'NHWC'))",
    "conv_transpose_shape_tuple": "lax.conv_transpose_shape_tuple((2, 4, 4, 3), (2, 2, 3, 5), "
        "(1, 1), 'VALID', ('NHWC', 'HWIO', 'NHWC'))",
    "padtype_to_pads": "lax.padtype_to_pads((4, 4), (2, 2), (1, 1), 'SAME')",
    "composite": "lax.composite(lambda v: v * 2.0, 'my.twice')(m)",
    "platform_dependent": "lax.platform_dependent(m, cpu=jnp.sin, default=jnp.cos)",
    "dce_sink": "lax.dce_sink(m)", "create_token": "lax.create_token()",
    "after_all": "lax.after_all(lax.create_token())",
    **{name: f"jax.vmap(lambda v: lax.{name}(v, 'a'), axis_name='a')(m)"
       for name in ("psum", "pmean", "pmax", "pmin", "all_gather")},
    "psum_scatter": "jax.vmap(lambda v: lax.psum_scatter(v, 'a'), axis_name='a')(m)",
    "ppermute": "jax.vmap(lambda v: lax.ppermute(v, 'a', [(0, 1), (1, 2), (2, 0)]), axis_name='a')"
        "(m)",
    "pshuffle": "jax.vmap(lambda v: lax.pshuffle(v, 'a', [1, 2, 0]), axis_name='a')(m)",
    "pbroadcast": "jax.vmap(lambda v: lax.pbroadcast(v, 'a', 1), axis_name='a')(m)",
    "pswapaxes": "jax.vmap(lambda v: lax.pswapaxes(v, 'a', 0), axis_name='a')(m)",
    "all_to_all": "jax.vmap(lambda v: lax.all_to_all(v, 'a', 0, 0), axis_name='a')(m)",
    "axis_index": "jax.vmap(lambda v: v[lax.axis_index('a')], axis_name='a')(m)",
    "axis_size": "jax.vmap(lambda v: v * lax.axis_size('a'), axis_name='a')(m)",
}
LAX_WITHOUT = {
    "DotDimensionNumbers": "a type", "pcast": "for shard_map alone", "pvary": "for shard_map alone",
    "psend": "for shard_map alone",
    "precv": "for shard_map alone", "ragged_all_to_all": "for several devices",
    "scaled_dot": "takes float8 blocks, checked in tests/xfront/lax",
    "with_sharding_constraint": "for several devices",
}

LAX_LINALG: Rows = {
    "cholesky": ("lax.linalg.cholesky(s)", "lax.linalg.cholesky(h)"),
    "cholesky_update": "lax.linalg.cholesky_update(s, x)", "eig": "lax.linalg.eig(m)",
    "eigh": "lax.linalg.eigh(s)", "hessenberg": "lax.linalg.hessenberg(m)",
    "householder_product": "lax.linalg.householder_product(m, x)",
    "lu": ("lax.linalg.lu(m)", "lax.linalg.lu(t)", "lax.linalg.lu(z)"),
    "lu_pivots_to_permutation": "lax.linalg.lu_pivots_to_permutation(i, 3)",
    "ormqr": "lax.linalg.ormqr(m, x, n)", "qdwh": "lax.linalg.qdwh(m)",
    "qr": ("lax.linalg.qr(m)", "lax.linalg.qr(m[:, :2], full_matrices=False)"),
    "schur": "lax.linalg.schur(m)",
    "svd": "lax.linalg.svd(m, full_matrices=False)",
    "symmetric_product": "lax.linalg.symmetric_product(m, n)",
    "triangular_solve": ("lax.linalg.triangular_solve(m, n, left_side=True, lower=True)",
                         "lax.linalg.triangular_solve(z, k, conjugate_a=True, transpose_a=True)",
                         "lax.linalg.triangular_solve(t, t[:, 0], left_side=True)",
                         "lax.linalg.triangular_solve(t, t[:, :2], unit_diagonal=True)"),
    "tridiagonal": "lax.linalg.tridiagonal(s)",
    "tridiagonal_solve": "lax.linalg.tridiagonal_solve(x, 2.0 + y, x, n)",
}

NN: Rows = {
    **rows("nn", "celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu "
           "log1mexp log_sigmoid log_softmax logmeanexp logsumexp mish relu relu6 selu sigmoid "
           "silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus standardize "
           "swish tanh", "m"),
    "celu": ("nn.celu(m)", "nn.celu(m, q)"), "elu": ("nn.elu(m)", "nn.elu(m, q)"),
    "gelu": ("nn.gelu(m)", "nn.gelu(m, approximate=False)", "nn.gelu(m.astype('bfloat16'))"),
    "leaky_relu": ("nn.leaky_relu(m)", "nn.leaky_relu(m, q)"), "glu": "nn.glu(g[..., :2])",
    "one_hot": ("nn.one_hot(i, 3)", "nn.one_hot(j, 4, dtype='bfloat16', axis=0)"),
    "softmax": ("nn.softmax(m)", "nn.softmax(m, axis=0, where=b)"),
    "log_softmax": ("nn.log_softmax(m)", "nn.log_softmax(m, axis=0, where=d)"),
    "logsumexp": ("nn.logsumexp(m, axis=0)", "nn.logsumexp(m, where=b)", "nn.logsumexp(m, b=n)",
                  "nn.logsumexp(c)"),
    "logmeanexp": ("nn.logmeanexp(m)", "nn.logmeanexp(m, axis=0, where=b)"),
    "standardize": ("nn.standardize(m)", "nn.standardize(m, where=b)",
                    "nn.standardize(m, mean=m.mean(-1, keepdims=True), variance=n[:, :1])"),
    "dot_product_attention": (
        "nn.dot_product_attention(g, g, g)",
        "nn.dot_product_attention(g, g, g, bias=t[:1, None, :1, :1], is_causal=True)",
        "nn.dot_product_attention(g, g, g, mask=g[:1, :1] .transpose(0, 1, 2, 3)[..., :1] > 0.4)",
        "nn.dot_product_attention(g, g, g, query_seq_lengths=i[:2] + 1, "
        "key_value_seq_lengths=i[:2] + 1)",
        "nn.dot_product_attention(g[0], g[0], g[0], local_window_size=1)",
    ),
    "scaled_matmul": ("nn.scaled_matmul(t, t, t, t)",
                      "nn.scaled_matmul(g[0].astype('float8_e4m3fn'), g[1], g[0, ..., :1], "
                      "g[1, ..., :1].astype('float8_e8m0fnu'), 'bfloat16')"),
}

_SHAPES = "(jax.random.key(0), (3, 4))"
INITIALIZERS: Rows = {
    **{name: f"nn.initializers.{name}(){_SHAPES}" for name in (
        "glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform "
        "lecun_normal lecun_uniform normal orthogonal truncated_normal uniform xavier_normal "
        "xavier_uniform").split()},
    "constant": f"nn.initializers.constant(0.5){_SHAPES}", "ones": f"nn.initializers.ones{_SHAPES}",
    "zeros": f"nn.initializers.zeros{_SHAPES}",
    "delta_orthogonal": "nn.initializers.delta_orthogonal()(jax.random.key(0), (3, 3, 2, 4))",
    "variance_scaling": f"nn.initializers.variance_scaling(1.0, 'fan_avg', 'normal'){_SHAPES}",
}

_KEY = "jax.random.key(1)"
RANDOM: Rows = {
    **{name: f"jax.random.{name}({_KEY}, (3,))" for name in (
        "bits exponential gumbel normal uniform").split()},
    "normal": (f"jax.random.normal({_KEY}, (3,))", f"jax.random.normal({_KEY}, (3,), 'bfloat16')",
               f"jax.random.normal({_KEY}, (3,), 'complex64')"),
    "uniform": (f"jax.random.uniform({_KEY}, (3,))",
                f"jax.random.uniform({_KEY}, (3,), minval=x, maxval=1.0 + y)",
                f"jax.random.uniform({_KEY}, (3, 3), minval=x, maxval=2.0)"),
    "PRNGKey": "jax.random.PRNGKey(0)", "key": "jax.random.key(0)",
    "bernoulli": (f"jax.random.bernoulli({_KEY})", f"jax.random.bernoulli({_KEY}, m)",
                  f"jax.random.bernoulli({_KEY}, x, (2, 3))"),
    "categorical": (f"jax.random.categorical({_KEY}, m)",
                    f"jax.random.categorical({_KEY}, m, shape=(2, 3))"),
    "clone": f"jax.random.clone({_KEY})", "fold_in": f"jax.random.fold_in({_KEY}, i[0])",
    "key_data": f"jax.random.key_data({_KEY})", "key_impl": f"jax.random.key_impl({_KEY})",
    "permutation": (f"jax.random.permutation({_KEY}, 4)", f"jax.random.permutation({_KEY}, m)",
                    f"jax.random.permutation({_KEY}, m, axis=1, independent=True)"),
    "randint": (f"jax.random.randint({_KEY}, (3,), 0, 5)",
                f"jax.random.randint({_KEY}, (2, 3), i, i + 3)",
                f"jax.random.randint({_KEY}, (3,), 0, 5, 'uint8')"),
    "split": f"jax.random.split({_KEY})",
    "truncated_normal": (f"jax.random.truncated_normal({_KEY}, -1.0, 1.0, (3,))",
                         f"jax.random.truncated_normal({_KEY}, x, 2.0, (2, 3))"),
    **{name: f"jax.random.{name}({_KEY}, (3,))" for name in (
        "cauchy laplace logistic maxwell rademacher").split()},
    **{name: (f"jax.random.{name}({_KEY}, 0.5 + x)", f"jax.random.{name}({_KEY}, 0.5 + x, (2, 3))")
       for name in ("chisquare dirichlet gamma geometric loggamma lognormal pareto poisson "
                    "rayleigh t wald").split()},
    **{name: (f"jax.random.{name}({_KEY}, 0.5 + x, 1.0 + y)",
              f"jax.random.{name}({_KEY}, 0.5 + x, 1.0 + m)",
              f"jax.random.{name}({_KEY}, 0.5 + x, 2.0, (2, 3))") for name in ("beta", "f")},
    "ball": (f"jax.random.ball({_KEY}, 2)", f"jax.random.ball({_KEY}, 2, 1.0 + x, (2, 3))"),
    "binomial": (f"jax.random.binomial({_KEY}, 9, x)",
                 f"jax.random.binomial({_KEY}, i, x, (2, 3))"),
    "multinomial": (f"jax.random.multinomial({_KEY}, 9, x)",
                    f"jax.random.multinomial({_KEY}, 9, x, shape=(2, 3))"),
    "choice": (f"jax.random.choice({_KEY}, 5, (3,))", f"jax.random.choice({_KEY}, m, (2, 3), p=x)",
               f"jax.random.choice({_KEY}, m, (2,), False, x, axis=1)"),
    "double_sided_maxwell": (f"jax.random.double_sided_maxwell({_KEY}, x, y)",
                             f"jax.random.double_sided_maxwell({_KEY}, x, y, (2, 3))"),
    "weibull_min": (f"jax.random.weibull_min({_KEY}, 1.0, 2.0, (3,))",
                    f"jax.random.weibull_min({_KEY}, 0.5 + x, 0.5 + y)"),
    "generalized_normal": (f"jax.random.generalized_normal({_KEY}, 1.5, (3,))",
                           f"jax.random.generalized_normal({_KEY}, 0.5 + x, (2, 3))"),
    "triangular": (f"jax.random.triangular({_KEY}, 0.0, x, 1.0)",
                   f"jax.random.triangular({_KEY}, x, 1.0 + y, 3.0, (2, 3))"),
    "multivariate_normal": (f"jax.random.multivariate_normal({_KEY}, x, s)",
                            f"jax.random.multivariate_normal({_KEY}, x, s, (2,), method='eigh')"),
    "orthogonal": f"jax.random.orthogonal({_KEY}, 3)", "key_dtype": "jax.random.key_dtype('rbg')",
    "wrap_key_data": "jax.random.wrap_key_data(jnp.zeros(2, 'uint32'))",
}

SPECIAL: Rows = {
    **rows("special", "dawsn digamma entr erf erfc erfcinv erfcx erfinv exp1 expi expit factorial "
           "fresnel gamma gammaln gammasgn i0 i0e i1 i1e log_ndtr log_softmax loggamma logit "
           "logsumexp ndtr ndtri sici softmax spence wofz", "m"),
    **rows("special", "beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div owens_t poch "
           "rel_entr xlog1py xlogy", "m, n"),
    "bernoulli": "special.bernoulli(4)", "bessel_jn": "special.bessel_jn(m, v=2, n_iter=8)",
    "expn": ("special.expn(2, m)", "special.expn(2.0, m)"),
    "gamma": ("special.gamma(m)", "special.gamma(c)"),
    "hyp1f1": "special.hyp1f1(m, n, m)", "hyp2f1": "special.hyp2f1(m, n, 1.0 + m, 0.5)",
    "lpmn": "special.lpmn(2, 2, x)",
    "lpmn_values": ("special.lpmn_values(2, 2, x, False)", "special.lpmn_values(3, 3, y, True)"),
    "sph_harm_y": "special.sph_harm_y(j, 1, m, n, n_max=3)",
    "betainc": ("special.betainc(m, n, m)", "special.betainc(2, 3.0, m)"),
    "multigammaln": "special.multigammaln(2.0 + m, 2)", "zeta": "special.zeta(1.5 + m, n)",
    "polygamma": ("special.polygamma(1, m)", "special.polygamma(2.0, m)"),
    "xlogy": ("special.xlogy(m, n)", "special.xlogy(2, m)"),
    "logsumexp": ("special.logsumexp(m)", "special.logsumexp(m, b=n, return_sign=True)"),
}

STATS: Rows = {
    "mode": ("stats.mode(m)", "stats.mode(j, axis=None)"),
    "rankdata": ("stats.rankdata(m)", "stats.rankdata(j, 'dense', axis=1)"),
    "sem": ("stats.sem(m)", "stats.sem(m, axis=None, nan_policy='omit')"),
}
DISTRIBUTIONS = {
    "bernoulli": "m, n", "binom": "m, 3, n", "cauchy": "m, n, n",
    "gamma": "m, n", "norm": "m, n, n", "poisson": "m, n", "t": "m, n", "uniform": "m, n, n",
}
"""Of each kind of distribution one or two, whose functions are made alike, with their operands."""

SCIPY_LINALG: Rows = {
    "block_diag": "slinalg.block_diag(m, n)",
    "cho_factor": "slinalg.cho_factor(s)", "cho_solve": "slinalg.cho_solve((s, True), x)",
    "cholesky": "slinalg.cholesky(s, lower=True)", "det": "slinalg.det(m)",
    "eigh": "slinalg.eigh(s)", "expm": ("slinalg.expm(m)", "slinalg.expm(z)"),
    "inv": "slinalg.inv(m)", "lu": ("slinalg.lu(m)", "slinalg.lu(t)"),
    "lu_factor": "slinalg.lu_factor(m)",
    "lu_solve": ("slinalg.lu_solve(slinalg.lu_factor(m), x)",
                 "slinalg.lu_solve(slinalg.lu_factor(z), c)"),
    "qr": "slinalg.qr(m)",
    "solve": ("slinalg.solve(m, x)", "slinalg.solve(s, n, assume_a='pos')"),
    "solve_triangular": ("slinalg.solve_triangular(m, x, lower=True)",
                         "slinalg.solve_triangular(t, t)"),
    "svd": "slinalg.svd(m)", "toeplitz": ("slinalg.toeplitz(x)", "slinalg.toeplitz(x, y)"),
    "circulant": ("slinalg.circulant(x)", "slinalg.circulant(j)"),
    "companion": ("slinalg.companion(x)", "slinalg.companion(i + 1)"),
    "convolution_matrix": ("slinalg.convolution_matrix(x, 4)",
                           "slinalg.convolution_matrix(m, 2, mode='same')"),
    "dft": ("slinalg.dft(3)", "slinalg.dft(3, scale='sqrtn')"),
    "eigh_tridiagonal": ("slinalg.eigh_tridiagonal(x, y[1:])",
                         "slinalg.eigh_tridiagonal(m, n[:, 1:], eigvals_only=True, select='i', "
                         "select_range=(0, 1))",
                         "slinalg.eigh_tridiagonal(c, c[1:], eigvals_only=True)",
                         "slinalg.eigh_tridiagonal(i, i[1:])"),
    "expm_frechet": ("slinalg.expm_frechet(m, n)", "slinalg.expm_frechet(t, t)",
                     "slinalg.expm_frechet(z, k, method='blockEnlarge', compute_expm=False)"),
    "fiedler": ("slinalg.fiedler(x)", "slinalg.fiedler(j)"),
    "fiedler_companion": ("slinalg.fiedler_companion(x)", "slinalg.fiedler_companion(j + 1)"),
    "funm": ("slinalg.funm(m, jnp.exp)", "slinalg.funm(t, jnp.sin, disp=False)",
             "slinalg.funm(z, lambda v: v * v)"),
    "hadamard": ("slinalg.hadamard(4)", "slinalg.hadamard(2, 'complex64')"),
    "hankel": ("slinalg.hankel(x)", "slinalg.hankel(x, y)", "slinalg.hankel(j, j)"),
    "helmert": ("slinalg.helmert(3)", "slinalg.helmert(3, full=True)"),
    "hessenberg": ("slinalg.hessenberg(m)", "slinalg.hessenberg(z, calc_q=True)",
                   "slinalg.hessenberg(t, calc_q=True)"),
    "hilbert": "slinalg.hilbert(3)", "invhilbert": "slinalg.invhilbert(3)",
    "pascal": ("slinalg.pascal(3)", "slinalg.pascal(3, kind='lower')"),
    "invpascal": ("slinalg.invpascal(3)", "slinalg.invpascal(3, kind='upper')"),
    "leslie": ("slinalg.leslie(x, y[1:])", "slinalg.leslie(m, n[:, 1:])"),
    "polar": ("slinalg.polar(m)", "slinalg.polar(t, side='left')",
              "slinalg.polar(z, method='svd')", "slinalg.polar(m[:2], 'left', method='svd')"),
    "qr_multiply": ("slinalg.qr_multiply(m, n)", "slinalg.qr_multiply(m, x, mode='left')",
                    "slinalg.qr_multiply(z, k, conjugate=True)",
                    "slinalg.qr_multiply(m, n, pivoting=True)"),
    "rsf2csf": ("slinalg.rsf2csf(*slinalg.schur(m))", "slinalg.rsf2csf(*slinalg.schur(t))"),
    "schur": ("slinalg.schur(m)", "slinalg.schur(t, output='complex')", "slinalg.schur(z)"),
    "solve_sylvester": ("slinalg.solve_sylvester(m, s, n)", "slinalg.solve_sylvester(t, t, t)",
                        "slinalg.solve_sylvester(z, h, k, method='eigen')"),
    "sqrtm": ("slinalg.sqrtm(s)", "slinalg.sqrtm(t)", "slinalg.sqrtm(z)"),
}

IMAGE: Rows = {
    "resize": tuple([f"jax.image.resize(m, (5, 2), '{method}')" for method in (
        "linear", "cubic", "lanczos3", "nearest", "area")]) + (
        "jax.image.resize(g, (2, 8, 2, 3), 'linear', antialias=False)",
        "jax.image.resize(j, (2, 2), 'linear')"),
    "scale_and_translate": (
        "jax.image.scale_and_translate(m, (4, 5), (0, 1), x[:2], y[:2], 'linear')",
        "jax.image.scale_and_translate(m, (3, 4), (1,), x[:1], y[:1], 'cubic', antialias=False)"),
}
OPS: Rows = {
    **{name: (f"jax.ops.{name}(x, i, 3)", f"jax.ops.{name}(m, i % 2, 2, True)",
              f"jax.ops.{name}(m, i, num_segments=3, bucket_size=2)")
       for name in ("segment_max", "segment_min", "segment_prod", "segment_sum")},
}
SIGNAL: Rows = {
    **{name: (f"jax.scipy.signal.{name}(x, y, mode='same')", f"jax.scipy.signal.{name}(m, n)")
       for name in ("convolve", "correlate", "fftconvolve")},
    "convolve2d": "jax.scipy.signal.convolve2d(m, n, mode='same', fillvalue=0.0)",
    "correlate2d": "jax.scipy.signal.correlate2d(m, n, mode='same', fillvalue=0.0)",
    "csd": "jax.scipy.signal.csd(g, g, nperseg=2)", "welch": "jax.scipy.signal.welch(g, nperseg=2)",
    "detrend": ("jax.scipy.signal.detrend(m)", "jax.scipy.signal.detrend(m, type='constant')"),
    "stft": "jax.scipy.signal.stft(p, nperseg=4)[2]",
    "istft": "jax.scipy.signal.istft(jnp.swapaxes(k, 0, 1), nperseg=4)[1]",
}
OTHER_SCIPY: dict[str, Rows] = {
    "scipy.ndimage": {"map_coordinates": (
        "jax.scipy.ndimage.map_coordinates(m, [x, y], 1)",
        "jax.scipy.ndimage.map_coordinates(j, [m, n], 0, mode='nearest')")},
    "scipy.fft": {
        **{name: (f"jax.scipy.fft.{name}(m)", f"jax.scipy.fft.{name}(x, n=4, norm='ortho')")
           for name in ("dct", "idct")},
        **{name: f"jax.scipy.fft.{name}(m, s=(3, 4), axes=(0, 1))" for name in ("dctn", "idctn")}},
    "scipy.integrate": {"trapezoid": ("jax.scipy.integrate.trapezoid(m, x)",
                                      "jax.scipy.integrate.trapezoid(m, dx=0.5, axis=0)")},
    "scipy.cluster.vq": {"vq": "jax.scipy.cluster.vq.vq(m, n)"},
    "scipy.optimize": {"minimize": "jax.scipy.optimize.minimize(lambda v: jnp.sum((v - x) ** 2), "
                                   "jnp.zeros_like(x), method='BFGS').x"},
    "scipy.sparse.linalg": {
        "bicgstab": "jax.scipy.sparse.linalg.bicgstab(s, x)[0]",
        "cg": "jax.scipy.sparse.linalg.cg(lambda v: y * v, x, tol=1e-3, maxiter=3)[0]",
        "gmres": "jax.scipy.sparse.linalg.gmres(s, x)[0]"},
}
