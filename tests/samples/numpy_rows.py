"""Rows for `numpy`, `numpy.linalg` and `numpy.fft`."""

from __future__ import annotations

Rows = dict[str, str | tuple[str, ...]]

_ONE = (
    "abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh argmax argmin "
    "argsort around array asarray asin asinh atan atanh atleast_1d "
    "atleast_2d atleast_3d bitwise_count cbrt ceil conj conjugate copy corrcoef cos cosh "
    "count_nonzero cumprod cumsum cumulative_prod:axis=0 cumulative_sum:axis=1 deg2rad degrees "
    "diagonal diag diagflat diff ediff1d empty_like exp exp2 expm1 fabs fix flip fliplr flipud "
    "floor frexp i0 imag iscomplex iscomplexobj isfinite isinf isnan isneginf isposinf isreal "
    "isrealobj isscalar iterable log log10 log1p log2 matrix_transpose mean median min max amin "
    "amax modf nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin "
    "nanprod nanstd nansum nanvar ndim negative ones_like permute_dims:axes=(1,0) positive prod "
    "ptp rad2deg radians ravel real reciprocal rint rot90 round shape sign signbit sin sinc sinh "
    "size sort sort_complex spacing sqrt square squeeze std sum tan tanh trace transpose tril triu "
    "trunc unstack var zeros_like lexsort all any"
)
_INTS = {"bitwise_count": "j", "argwhere": "j"}
_TWO = (
    "add arctan2 atan2 copysign divide divmod equal float_power floor_divide fmax fmin fmod "
    "greater greater_equal heaviside hypot isclose allclose array_equal array_equiv kron less "
    "less_equal logaddexp logaddexp2 logical_and logical_or logical_xor matmul maximum minimum mod "
    "multiply nextafter not_equal pow power remainder subtract true_divide vdot inner dot outer "
    "tensordot cross column_stack:! dstack:! hstack:! vstack:! concat:! concatenate:! stack:! "
    "block:! broadcast_arrays vecdot"
)
_TWO_INTS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm " \
    "left_shift right_shift"


def _call(module: str, spec: str, operands: str) -> str:
    name, _, options = spec.partition(":")
    if options == "!":
        return f"{module}.{name}([{operands}])"
    return f"{module}.{name}({operands}{', ' if options else ''}{options})"


def rows(module: str, names: str, operands: str) -> Rows:
    """A row for each name, all of the same operands; `name:axis=0` has an option, `name:!` takes
    them as a list."""
    return {spec.partition(":")[0]: _call(module, spec, operands) for spec in names.split()}


NUMPY: Rows = {
    **rows("jnp", _ONE, "m"), **rows("jnp", _TWO, "m, n"), **rows("jnp", _TWO_INTS, "j, j"),
    "bitwise_count": "jnp.bitwise_count(j)", "bitwise_not": "jnp.bitwise_not(j)",
    "bitwise_invert": "jnp.bitwise_invert(j)", "invert": "jnp.invert(j)",
    "logical_not": "jnp.logical_not(b)", "diag": ("jnp.diag(m)", "jnp.diag(x)"),
    "all": ("jnp.all(d)", "jnp.all(d, axis=0, where=b)"),
    "any": ("jnp.any(d)", "jnp.any(d, axis=0, where=b)"),
    "sum": ("jnp.sum(m, axis=0)", "jnp.sum(m, where=b, initial=1.0)", "jnp.sum(j, where=b)"),
    "prod": ("jnp.prod(m, axis=0)", "jnp.prod(m, where=b)"),
    "mean": ("jnp.mean(m, axis=0)", "jnp.mean(m, where=b)", "jnp.mean(j)"),
    "std": ("jnp.std(m, axis=0)", "jnp.std(m, where=b)", "jnp.std(c)"),
    "var": ("jnp.var(m, axis=0)", "jnp.var(m, where=b, axis=0)", "jnp.var(c)"),
    "max": ("jnp.max(m, axis=0)", "jnp.max(m, where=b, initial=0.0)"),
    "min": ("jnp.min(m, axis=0)", "jnp.min(m, where=b, initial=0.0)"),
    "nansum": ("jnp.nansum(w, axis=0)", "jnp.nansum(m, where=b)"),
    "nanprod": ("jnp.nanprod(w, axis=0)", "jnp.nanprod(m, where=b)"),
    "nanmean": ("jnp.nanmean(w, axis=0)", "jnp.nanmean(m, where=b)"),
    "nanstd": ("jnp.nanstd(w, axis=0)", "jnp.nanstd(m, where=b)"),
    "nanvar": ("jnp.nanvar(w, axis=0)", "jnp.nanvar(m, where=b)"),
    "nanmax": ("jnp.nanmax(w, axis=0)", "jnp.nanmax(m, where=b, initial=0.0)"),
    "nanmin": ("jnp.nanmin(w, axis=0)", "jnp.nanmin(m, where=b, initial=0.0)"),
    "nanargmax": "jnp.nanargmax(w, axis=0)", "nanargmin": "jnp.nanargmin(w, axis=0)",
    "nanmedian": "jnp.nanmedian(w, axis=0)", "nancumsum": "jnp.nancumsum(w, axis=0)",
    "nancumprod": "jnp.nancumprod(w, axis=0)", "nan_to_num": "jnp.nan_to_num(w)",
    "nanquantile": ("jnp.nanquantile(w, 0.3, axis=0)", "jnp.nanquantile(w, x, axis=0)"),
    "nanpercentile": "jnp.nanpercentile(w, 30.0, axis=0)",
    "quantile": ("jnp.quantile(m, 0.3)", "jnp.quantile(m, x, axis=0, method='nearest')",
                 "jnp.quantile(j, 0.3)",
                 "jnp.quantile(m, q, axis=1, weights=n, method='inverted_cdf')"),
    "percentile": ("jnp.percentile(m, 30.0)", "jnp.percentile(m, x, axis=0)",
                   "jnp.percentile(j, 30)"),
    "median": ("jnp.median(m)", "jnp.median(j, axis=0)", "jnp.median(t, axis=(0, 1))"),
    "average": ("jnp.average(m, axis=0)", "jnp.average(m, axis=0, weights=x)",
                "jnp.average(m, weights=n)", "jnp.average(j, axis=1, weights=i)"),
    "cov": ("jnp.cov(m)", "jnp.cov(x, y)", "jnp.cov(m, fweights=i, aweights=x)"),
    "corrcoef": ("jnp.corrcoef(m)", "jnp.corrcoef(x, y)"),
    "choose": ("jnp.choose(i, [x, y, x], mode='clip')", "jnp.choose(i, [m, n], mode='wrap')"),
    "clip": ("jnp.clip(m, 0.2, 0.5)", "jnp.clip(m, q, None)", "jnp.clip(j, 1, 2)"),
    "compress": "jnp.compress(b, m, axis=0, size=2)", "extract": "jnp.extract(b, x, size=2)",
    "argpartition": "jnp.argpartition(x, 1)", "partition": "jnp.partition(m, 1)",
    "argwhere": "jnp.argwhere(j, size=4)", "nonzero": "jnp.nonzero(j, size=4)",
    "flatnonzero": "jnp.flatnonzero(j, size=4)",
    "lexsort": ("jnp.lexsort((i, x))", "jnp.lexsort((x, y), batch_size=1)"),
    "minmax": ("jnp.minmax(m, axis=0)", "jnp.minmax(m, where=b, initial=(1.0, 0.0))"),
    "top_k": ("jnp.top_k(m, 2)", "jnp.top_k(m, 2, mode='smallest')"),
    "sort": ("jnp.sort(m)", "jnp.sort(c)"),
    "argsort": ("jnp.argsort(m)", "jnp.argsort(c)"), "sort_complex": "jnp.sort_complex(c)",
    "searchsorted": ("jnp.searchsorted(p, x)", "jnp.searchsorted(p, m, method='sort')",
                     "jnp.searchsorted(p, x, method='compare_all')"),
    "digitize": "jnp.digitize(x, p)",
    "append": ("jnp.append(m, n, axis=0)", "jnp.append(x, y)"),
    "apply_along_axis": "jnp.apply_along_axis(lambda v: v / v.sum(), 0, m)",
    "apply_over_axes": "jnp.apply_over_axes(jnp.sum, m, [0])",
    "arange": ("jnp.arange(3)", "jnp.arange(0.5, 3.0, 0.5)"),
    "array": ("jnp.array(m)", "jnp.array([q, 1.0])", "jnp.array([[1, 2], [3, 4]], 'bfloat16')"),
    "array_split": "jnp.array_split(m, 2)", "split": "jnp.split(m, 3)",
    "dsplit": "jnp.dsplit(t, 3)", "hsplit": "jnp.hsplit(m, 3)", "vsplit": "jnp.vsplit(m, 3)",
    "astype": ("jnp.astype(m, 'bfloat16')", "jnp.astype(x, 'complex64')", "jnp.astype(x, int)"),
    "bincount": ("jnp.bincount(i, length=3)", "jnp.bincount(i, weights=x, length=3)"),
    "block": ("jnp.block([m, n])", "jnp.block([[m, n], [n, m]])"),
    "broadcast_shapes": "jnp.broadcast_shapes((2, 1), (3,))",
    "broadcast_to": "jnp.broadcast_to(x, (2, 3))",
    "convolve": ("jnp.convolve(x, y)", "jnp.convolve(x, p, mode='same')"),
    "correlate": "jnp.correlate(x, y, mode='full')", "cross": "jnp.cross(m, n)",
    "cumulative_prod": "jnp.cumulative_prod(x, include_initial=True)",
    "cumulative_sum": "jnp.cumulative_sum(x, include_initial=True)",
    "delete": ("jnp.delete(m, 1, axis=0)", "jnp.delete(x, np.array([0, 2]))"),
    "insert": ("jnp.insert(x, 1, y)", "jnp.insert(m, 1, 5.0, axis=0)"),
    "diag_indices": "jnp.diag_indices(3)", "diag_indices_from": "jnp.diag_indices_from(m)",
    "diff": ("jnp.diff(m)", "jnp.diff(m, n=2, axis=0)", "jnp.diff(d)"),
    "dot": ("jnp.dot(m, n)", "jnp.dot(m, x)", "jnp.dot(x, y)", "jnp.dot(m, q)"),
    "einsum": ("jnp.einsum('ij,jk->ik', m, n)", "jnp.einsum('ij,j->i', m, x)",
               "jnp.einsum('bij,j,i->b', t, x, y)"),
    "einsum_path": "jnp.einsum_path('ij,jk->ik', m, n)",
    "empty": "jnp.empty(3)", "zeros": "jnp.zeros(3)", "ones": "jnp.ones((2, 3), int)",
    "expand_dims": "jnp.expand_dims(m, (0, 3))", "eye": ("jnp.eye(3, k=1)", "jnp.eye(2, 3)"),
    "identity": "jnp.identity(3)",
    "fill_diagonal": ("jnp.fill_diagonal(m, 0.0, inplace=False)",
                      "jnp.fill_diagonal(m, x, inplace=False)"),
    "full": ("jnp.full((2, 3), q)", "jnp.full((2, 3), x)"),
    "full_like": ("jnp.full_like(m, 2)", "jnp.full_like(m, x)"),
    "fromfunction": "jnp.fromfunction(lambda a, b: a * b, (2, 3))",
    "frombuffer": "jnp.frombuffer(b'\\x01\\x02', 'uint8')",
    "fromstring": "jnp.fromstring('1 2', sep=' ')",
    "geomspace": "jnp.geomspace(1.0, 8.0, 4)",
    "linspace": ("jnp.linspace(0.0, 1.0, 5)", "jnp.linspace(x, y, 4)", "jnp.linspace(q, m, 4)",
                 "jnp.linspace(0, 1, 5, dtype='bfloat16')", "jnp.linspace(0, 9, 4, dtype=int)"),
    "logspace": ("jnp.logspace(0.0, 1.0, 4)", "jnp.logspace(x, y, 4)"),
    "gradient": ("jnp.gradient(x)", "jnp.gradient(m, axis=0)", "jnp.gradient(x, y)",
                 "jnp.gradient(m, 0.5)"),
    "histogram": ("jnp.histogram(x, 4)", "jnp.histogram(x, p)", "jnp.histogram(m, 4, weights=n)",
                  "jnp.histogram(j, 3, density=True)"),
    "histogram2d": ("jnp.histogram2d(x, y, 3)", "jnp.histogram2d(x, y, [p, p], weights=y)"),
    "histogramdd": ("jnp.histogramdd(m, 2)", "jnp.histogramdd(j, [2, 3, 4], weights=x, "
                    "density=True)",
                    "jnp.histogramdd([x, y], [p, 3], [(0.0, 1.0), (0.2, 0.8)])"),
    "histogram_bin_edges": "jnp.histogram_bin_edges(x, 3)",
    "i0": "jnp.i0(m)", "indices": "jnp.indices((2, 3))",
    "interp": ("jnp.interp(x, p, p)", "jnp.interp(m, p, p, left=0.0, right=1.0)",
               "jnp.interp(x, y, y, period=1.0)", "jnp.interp(j, i, x)"),
    "intersect1d": "jnp.intersect1d(i, i, size=3)", "isin": ("jnp.isin(m, x)", "jnp.isin(i, i)"),
    "setdiff1d": "jnp.setdiff1d(i, i, size=3)", "setxor1d": "jnp.setxor1d(i, i, size=3)",
    "union1d": "jnp.union1d(i, i, size=3)",
    "unique": ("jnp.unique(i, size=3)", "jnp.unique(m, axis=0, size=3)", "jnp.unique(x, size=3)",
               "jnp.unique(x, size=3, return_inverse=True, return_counts=True)"),
    "unique_all": "jnp.unique_all(i, size=3)", "unique_counts": "jnp.unique_counts(i, size=3)",
    "unique_inverse": "jnp.unique_inverse(x, size=3)",
    "unique_values": "jnp.unique_values(m, size=9)",
    "ix_": "jnp.ix_(i, i)", "kron": ("jnp.kron(m, n)", "jnp.kron(m, x)"),
    "isclose": ("jnp.isclose(m, n)", "jnp.isclose(j, j)"),
    "ldexp": "jnp.ldexp(x, i)", "mask_indices": "jnp.mask_indices(3, jnp.triu, size=6)",
    "matmul": ("jnp.matmul(m, n)", "jnp.matmul(m, x)", "jnp.matmul(x, m)", "jnp.matmul(t, m)",
               "m @ n", "x @ y"),
    "matvec": ("jnp.matvec(m, x)", "jnp.matvec(t, m[:2])"),
    "vecmat": ("jnp.vecmat(x, m)", "jnp.vecmat(m[:2], t)"),
    "vecdot": ("jnp.vecdot(m, n)", "jnp.vecdot(m, n, axis=0)"),
    "meshgrid": ("jnp.meshgrid(x, y)", "jnp.meshgrid(x, i, indexing='ij', sparse=True)"),
    "moveaxis": "jnp.moveaxis(t, 0, -1)", "outer": ("jnp.outer(x, y)", "jnp.outer(m, x)"),
    "pad": ("jnp.pad(m, 1)", "jnp.pad(m, 1, constant_values=2)", "jnp.pad(m, 1, mode='edge')",
            "jnp.pad(m, 2, mode='reflect')", "jnp.pad(m, 2, mode='mean')",
            "jnp.pad(m, 2, mode='linear_ramp')", "jnp.pad(m, 2, mode='symmetric')",
            "jnp.pad(x, 2, mode='median')", "jnp.pad(m, 1, mode='maximum')",
            "jnp.pad(m, 1, mode='wrap')", "jnp.pad(j, 1, mode='mean')"),
    "piecewise": "jnp.piecewise(x, [x < 0.3, x > 0.6], [0.0, lambda v: v * 2, lambda v: -v])",
    "polyadd": "jnp.polyadd(x, p)", "polysub": "jnp.polysub(x, p)", "polyder": "jnp.polyder(x)",
    "polydiv": "jnp.polydiv(p, x)", "polyint": ("jnp.polyint(x)", "jnp.polyint(x, 2)"),
    "polymul": "jnp.polymul(x, p)", "polyval": ("jnp.polyval(x, m)", "jnp.polyval(x, q)",
                                                 "jnp.polyval(x, y)"),
    "power": ("jnp.power(m, n)", "jnp.power(m, 2)", "m ** 3", "m ** 0.5", "2.0 ** m", "j ** j",
              "jnp.power(j, 2)"),
    "put": "jnp.put(x, i, y, inplace=False)",
    "put_along_axis": "jnp.put_along_axis(m, j, n, 0, inplace=False)",
    "promote_types": "jnp.promote_types('float32', 'float32')",
    "result_type": "jnp.result_type(m, n, 2.0)",
    "ravel_multi_index": "jnp.ravel_multi_index((i, i), (3, 3), mode='clip')",
    "unravel_index": "jnp.unravel_index(i, (2, 3))",
    "repeat": ("jnp.repeat(m, 2, axis=0)", "jnp.repeat(x, i, total_repeat_length=4)"),
    "reshape": ("jnp.reshape(m, 9)", "m.reshape(1, 9)"), "resize": "jnp.resize(m, (2, 7))",
    "roll": ("jnp.roll(m, 1)", "jnp.roll(m, (1, 2), axis=(0, 1))", "jnp.roll(m, i[0], axis=0)"),
    "rollaxis": "jnp.rollaxis(t, 2)", "swapaxes": "jnp.swapaxes(t, 0, 1)",
    "round": ("jnp.round(m, 2)", "jnp.round(j, 1)", "jnp.round(c, 1)"),
    "select": ("jnp.select([m > 0.5, m < 0.2], [m, n], 0.0)", "jnp.select([b], [x], 1)"),
    "sinc": "jnp.sinc(m)", "take": ("jnp.take(m, i, axis=0)", "jnp.take(m, 1)",
                                    "jnp.take(m, i, axis=1, mode='fill')"),
    "take_along_axis": ("jnp.take_along_axis(m, j, 0)", "jnp.take_along_axis(m, j, 1)"),
    "tensordot": ("jnp.tensordot(m, n, 1)", "jnp.tensordot(t, m, [[1, 2], [0, 1]])"),
    "tile": "jnp.tile(m, (2, 1))",
    "trapezoid": ("jnp.trapezoid(x)", "jnp.trapezoid(m, x)", "jnp.trapezoid(m, n, axis=0)",
                  "jnp.trapezoid(m, dx=0.5)"),
    "tri": "jnp.tri(3, k=1)", "tril_indices": "jnp.tril_indices(3)",
    "tril_indices_from": "jnp.tril_indices_from(m)", "triu_indices": "jnp.triu_indices(3)",
    "triu_indices_from": "jnp.triu_indices_from(m)",
    "vectorize": "jnp.vectorize(lambda u, v: u @ v, signature='(n),(n)->()')(m, n)",
    "where": ("jnp.where(d, m, n)", "jnp.where(d, m, 0.0)", "jnp.where(b, m, n)",
              "jnp.where(d, x, y)"),
    "can_cast": "jnp.can_cast('int32', 'float32')",
    "isdtype": "jnp.isdtype('int32', 'real floating')",
    "issubdtype": "jnp.issubdtype('int32', jnp.integer)",
    "zeros_like": "jnp.zeros_like(m, int)", "ones_like": "jnp.ones_like(x)",
    "squeeze": "jnp.squeeze(m[None])", "trace": ("jnp.trace(m)", "jnp.trace(t, axis1=1, axis2=2)"),
    "cumsum": ("jnp.cumsum(m, axis=1)", "jnp.cumsum(d)"), "unstack": "jnp.unstack(m)",
    **rows("jnp", "bartlett blackman hamming hanning", "4"),
    "kaiser": ("jnp.kaiser(4, 2.0)", "jnp.kaiser(4, q)", "jnp.kaiser(4, i[0])"),
    "frompyfunc": ("jnp.frompyfunc(lambda u, v: u * v, 2, 1)(m, n)",
                   "jnp.frompyfunc(lambda u, v: u + v, 2, 1, identity=0).reduce(m)",
                   "jnp.frompyfunc(jnp.maximum, 2, 1).accumulate(x)"),
    "packbits": ("jnp.packbits(d)", "jnp.packbits(j, axis=0, bitorder='little')"),
    "place": ("jnp.place(m, d, x, inplace=False)", "jnp.place(x, b, 0.5, inplace=False)",
              "jnp.place(j, d, i, inplace=False)"),
    "poly": ("jnp.poly(x)", "jnp.poly(m)", "jnp.poly(i)", "jnp.poly(c)"),
    "polyfit": ("jnp.polyfit(p, p * p, 2)", "jnp.polyfit(p, p, 1, w=p, cov=True)",
                "jnp.polyfit(x, m, 1, full=True)", "jnp.polyfit(x, m, 1, cov='unscaled')",
                "jnp.polyfit(p, p, 1, w=p, cov='unscaled')", "jnp.polyfit(j[:, 0], i, 1)"),
    "roots": ("jnp.roots(x, strip_zeros=False)", "jnp.roots(i, strip_zeros=False)",
              "jnp.roots(c, strip_zeros=False)"),
    "unpackbits": ("jnp.unpackbits(j.astype('uint8'))",
                   "jnp.unpackbits(j.astype('uint8'), axis=1, count=9, bitorder='little')"),
    "unwrap": ("jnp.unwrap(m)", "jnp.unwrap(m, discont=0.2, axis=0, period=0.5)",
               "jnp.unwrap(j, period=4)"),
    "vander": ("jnp.vander(x)", "jnp.vander(i, 4, increasing=True)", "jnp.vander(c, 2)"),
}

INDEXING: Rows = {
    "getitem": ("m[0]", "m[:, 1:]", "m[i]", "m[i, i]", "t[:, i]", "t[:, i[:, None], i]",
                "m[np.array([True, False, True])]", "m[..., None, 1]", "m[i, 0]", "m[i, 1:]",
                "t[i % 2, :, i]", "x[i[0]]", "m[j, i]", "m[::-1, i]"),
    "at.set": ("m.at[0].set(1)", "m.at[0].set(x)", "m.at[i].set(x)", "m.at[i, i].set(x)",
               "t.at[:, i].set(m)", "m.at[:, 1].set(0.5)", "m.at[i, 0].set(q)", "m.at[j, i].set(x)",
               "m.at[np.eye(3) > 0].set(0.0)"),
    "at.add": ("m.at[0].add(1.0)", "m.at[i].add(x)", "m.at[i, i].add(x)", "j.at[i].add(i)"),
    "at.multiply": ("m.at[i, i].multiply(x)", "m.at[0].multiply(2)"),
    "at.divide": "m.at[i, i].divide(x)", "at.subtract": "m.at[i].subtract(x)",
    "at.power": "m.at[0].power(2)", "at.min": "m.at[i].min(x)", "at.max": "m.at[i].max(x)",
    "at.apply": "m.at[i].apply(jnp.sin)",
    "at.get": ("m.at[i].get(mode='fill')", "m.at[i, i].get(mode='fill', fill_value=0)"),
}

CONCRETE: Rows = {
    "array_repr": "jnp.array_repr(m)", "array_str": "jnp.array_str(m)",
    "trim_zeros": "jnp.trim_zeros(i)", "nonzero": "jnp.nonzero(d)", "argwhere": "jnp.argwhere(j)",
    "unique": ("jnp.unique(j)", "jnp.unique(m, axis=0, return_inverse=True, return_counts=True)"),
    "unique_all": "jnp.unique_all(w)", "union1d": "jnp.union1d(x, y)",
    "intersect1d": "jnp.intersect1d(x, y, return_indices=True)",
    "setdiff1d": "jnp.setdiff1d(j, i)", "setxor1d": "jnp.setxor1d(j, i)",
    "choose": "jnp.choose(i, [x, y, x])", "compress": "jnp.compress(b, m, axis=1)",
    "extract": "jnp.extract(d, m)", "repeat": "jnp.repeat(m, i, axis=1)",
    "bincount": "jnp.bincount(i, weights=x)", "delete": "jnp.delete(m, b, axis=0)",
    "insert": "jnp.insert(m, i, x, axis=0)", "where": "jnp.where(d)",
    "ravel_multi_index": "jnp.ravel_multi_index((i, i), (3, 3))",
    "getitem": ("m[b]", "m[d]", "m[b, i[b]]"), "at.set": "m.at[d].set(0.0)",
    "histogram": "jnp.histogram(m)", "histogram2d": "jnp.histogram2d(x, y)",
    "histogramdd": "jnp.histogramdd(m, 3)", "trapezoid": "jnp.trapezoid(m, x)",
    "roots": ("jnp.roots(x)", "jnp.roots(i)", "jnp.roots(c)"),
}
"""Calls that need to know their operands."""

_FFT_ONE = "fft fft2 fftn fftshift ifft ifft2 ifftn ifftshift"
FFT: Rows = {
    **rows("jnp.fft", _FFT_ONE, "m"), **rows("jnp.fft", "rfft rfft2 rfftn ihfft", "m"),
    **rows("jnp.fft", "hfft irfft irfft2 irfftn", "k"),
    "fft": ("jnp.fft.fft(m)", "jnp.fft.fft(c)", "jnp.fft.fft(m, 5, norm='ortho')"),
    "fftfreq": "jnp.fft.fftfreq(4, 0.5)", "rfftfreq": "jnp.fft.rfftfreq(4)",
}

LINALG: Rows = {
    **rows("jnp.linalg", "diagonal eigvalsh matrix_norm matrix_rank matrix_transpose svdvals trace "
           "vector_norm pinv", "m"),
    **rows("jnp.linalg", "matmul outer vecdot tensordot", "m, n"),
    "outer": "jnp.linalg.outer(x, y)", "cross": "jnp.linalg.cross(m, n)",
    "eigvalsh": "jnp.linalg.eigvalsh(s)",
    "cholesky": ("jnp.linalg.cholesky(s)", "jnp.linalg.cholesky(h)"),
    "cond": ("jnp.linalg.cond(m)", "jnp.linalg.cond(m, 1)"),
    "det": ("jnp.linalg.det(m)", "jnp.linalg.det(z)"), "eig": "jnp.linalg.eig(m)",
    "eigvals": "jnp.linalg.eigvals(m)",
    "eigh": ("jnp.linalg.eigh(s)", "jnp.linalg.eigh(h)"),
    "inv": ("jnp.linalg.inv(m)", "jnp.linalg.inv(t)", "jnp.linalg.inv(z)"),
    "lstsq": ("jnp.linalg.lstsq(m, x)", "jnp.linalg.lstsq(m, n)", "jnp.linalg.lstsq(z, z)"),
    "matrix_power": ("jnp.linalg.matrix_power(m, 3)", "jnp.linalg.matrix_power(m, -2)"),
    "multi_dot": ("jnp.linalg.multi_dot([m, n, m])", "jnp.linalg.multi_dot([x, m, y])"),
    "norm": ("jnp.linalg.norm(m)", "jnp.linalg.norm(x, 3)", "jnp.linalg.norm(m, 2)",
             "jnp.linalg.norm(m, 'nuc')", "jnp.linalg.norm(m, 1, axis=0)", "jnp.linalg.norm(z)"),
    "pinv": ("jnp.linalg.pinv(m)", "jnp.linalg.pinv(z)"),
    "qr": ("jnp.linalg.qr(m)", "jnp.linalg.qr(z)", "jnp.linalg.qr(t[:, :, :2])"),
    "slogdet": ("jnp.linalg.slogdet(m)", "jnp.linalg.slogdet(z)"),
    "solve": ("jnp.linalg.solve(m, n)", "jnp.linalg.solve(m, x)", "jnp.linalg.solve(t, t)",
              "jnp.linalg.solve(z, c)"),
    "svd": ("jnp.linalg.svd(m)", "jnp.linalg.svd(z, full_matrices=False)"),
    "tensorinv": "jnp.linalg.tensorinv(m, ind=1)", "tensorsolve": "jnp.linalg.tensorsolve(m, x)",
    "matrix_norm": ("jnp.linalg.matrix_norm(m)", "jnp.linalg.matrix_norm(m, ord=2)"),
    "matrix_rank": "jnp.linalg.matrix_rank(t)",
}
