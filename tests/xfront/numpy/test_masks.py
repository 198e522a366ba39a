"""Updates and reductions at traced masks: as at known ones, wherever the shape does not depend on
the mask."""

import warnings

import numpy as np
import pytest

import xfront as xf
import xfront.numpy as jnp
from xfront.errors import NonConcreteBooleanIndexError

X = np.linspace(-2, 3, 24).astype(np.float32).reshape(2, 3, 4)
ROWS = np.array([True, False])
MASKS = {
    "rows": (ROWS, lambda m: m), "columns": (np.array([0, 1, 1, 0], bool), lambda m: (..., m)),
    "the middle": (np.array([1, 0, 1], bool), lambda m: (slice(None), m)),
    "two axes": (X[..., 0] > 0, lambda m: m), "all": (X > 0, lambda m: (m,)),
    "the last two": (X[0] > 0, lambda m: (slice(None), m, ...)), "none": (X > 99, lambda m: m),
    "no axis": (np.array(True), lambda m: m),
}
UPDATES = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")


@pytest.mark.parametrize("name", MASKS)
def test_updates_at_traced_masks(name):
    mask, index = MASKS[name]
    behind = X[0, 0] if name in ("rows", "the middle") else np.float32(2)
    for values in (np.float32(3), 2, *([behind] if name != "the middle" else [])):
        wanted = [getattr(jnp.asarray(np.abs(X)).at[index(mask)], how)(values) for how in UPDATES]
        made = xf.jit(lambda x, m, v=values: [
            getattr(x.at[index(m)], how)(v) for how in UPDATES])(np.abs(X), mask)
        for how, mine, theirs in zip(UPDATES, made, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, err_msg=how)
            assert mine.dtype == theirs.dtype


def test_dtypes_are_those_of_known_masks():
    numbers = np.arange(4)
    for how, value in (("multiply", 0.5), ("divide", 2), ("add", 1.5), ("set", 7.9)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            made = xf.jit(lambda x, m, h=how, v=value: getattr(x.at[m], h)(np.float32(v)))(
                numbers, numbers > 1)
            wanted = getattr(jnp.asarray(numbers).at[numbers > 1], how)(np.float32(value))
        np.testing.assert_array_equal(made, wanted)
        assert made.dtype == wanted.dtype


def test_apply_and_other_transformations():
    roots = xf.jit(lambda x: x.at[x > 0].apply(jnp.sqrt))(X)
    np.testing.assert_allclose(roots, np.sqrt(X, where=X > 0, out=X.copy()), rtol=1e-6)
    made = xf.vmap(lambda x, m: x.at[m].set(0))(X, X[:, :, 0] > 0)
    np.testing.assert_array_equal(made, np.where((X[..., 0] > 0)[..., None], 0, X))
    x = np.array([0.0, 4.0, -1.0], np.float32)
    slope = xf.jit(xf.grad(lambda x, v: x.at[x > 0].power(v).sum(), (0, 1)))(x, np.float32(0.5))
    np.testing.assert_allclose(slope[0], [1, 0.25, 1])      # finite also where it does not hold
    np.testing.assert_allclose(slope[1], 2 * np.log(4.0), rtol=1e-6)


def test_what_is_refused_says_what_to_write():
    for call, message in (
            (lambda x, m: x.at[m].set(x), r"jnp.where\(mask, x.at\[...\].set\(values\), x\)"),
            (lambda x, m: x.at[m].add(jnp.ones((2, 3))), r"size=n, fill_value=x.shape\[0\]"),
            (lambda x, m: x.at[m].get(), r"jnp.where\(mask, x, fill\)"),
            (lambda x, m: x.at[m, 0].set(1), r"jnp.where\(mask, x, fill\)"),
            (lambda x, m: x[m], r"jnp.where\(mask, x, fill\)"),
            (lambda x, m: x[m, 0], r"jnp.where\(mask, x, fill\)")):
        with pytest.raises(NonConcreteBooleanIndexError, match=message):
            xf.jit(call)(jnp.ones((3, 3)), np.array([True, False, True]))
    with pytest.raises(IndexError, match="does not match the shape"):
        xf.jit(lambda x, m: x.at[m].set(1))(X, np.ones(3, bool))


REDUCTIONS = ("sum", "prod", "mean", "std", "var", "max", "min", "any", "all")


@pytest.mark.parametrize("name", [n for n in MASKS if n not in ("no axis", "none")])
def test_reductions_of_elements_at_traced_masks(name):
    mask, index = MASKS[name]
    axis = next(i for i, (a, b) in enumerate(zip(X[index(mask)].shape, (*X.shape, 0), strict=False))
                if a != b)
    ways = [{}, {"axis": axis}, {"axis": axis - X[index(mask)].ndim, "keepdims": True},
            {"keepdims": True}]
    if axis:
        ways.append({"axis": (0, axis)})
    made = xf.jit(lambda x, m: [[getattr(x[index(m)], how)(**way), getattr(jnp, how)(
        x[index(m)], *([way["axis"]] if "axis" in way else []),
        **{k: v for k, v in way.items() if k != "axis"})] for how in REDUCTIONS for way in ways]
    )(X, mask)
    wanted = [getattr(X[index(mask)], how)(**way) for how in REDUCTIONS for way in ways]
    for mine, theirs in zip(made, wanted, strict=True):
        for one in mine:
            assert one.shape == theirs.shape
            np.testing.assert_allclose(one, theirs, rtol=1e-5)


def test_reductions_of_elements_under_transformations():
    np.testing.assert_allclose(xf.vmap(lambda x: x[x > 0].sum())(X),
                               [x[x > 0].sum() for x in X], rtol=1e-6)
    slope = xf.jit(xf.grad(lambda x: x[x > 0].max() + jnp.mean(x[x < 0])))(X)
    np.testing.assert_allclose(slope, (X == X.max()) + (X < 0) / np.float32((X < 0).sum()))
    x = np.array([1, np.nan, 3, -2], np.float32)
    made = xf.jit(lambda x, m: (jnp.nansum(x[m]), jnp.nanmax(x[m]), xf.nn.logsumexp(x[~m]),
                                x[m & ~m].max(), x[m & ~m].sum(), x.astype(int)[m & ~m].min(),
                                x[m].max(initial=7)))(x, x != -2)
    np.testing.assert_allclose(made[:5], [4, 3, -2, -np.inf, 0])
    assert made[5] == np.iinfo(np.int32).max and np.isnan(made[6])


@pytest.mark.parametrize(("use", "message"), [
    (lambda s: s * 2, r"x\[mask\] \* y"), (lambda s: 2 - s, r"y - x\[mask\]"), (len, "len"),
    (lambda s: s.shape, "shape"), (lambda s: s, "as an array"), (jnp.sin, "as an array"),
    (lambda s: jnp.median(s), r"median\(jnp.where\(mask, x, fill\)"), (lambda s: [*s], "a loop"),
    (lambda s: jnp.sum(s, where=True), "where=mask & condition"), (np.sin, "as an array"),
    (lambda s: s.sum(axis=1), "over axis 1"),
    (lambda s: xf.lax.sin(s), r"sin\(jnp.where\(mask, x, fill\)"),
    (lambda s: xf.lax.cond(True, lambda: s, lambda: s), "as an array"), (bool, "truth"),
    (lambda s: jnp.stack([s]), "as an array"), (lambda s: s == s, "=="), (abs, "abs")])
def test_other_uses_of_elements_at_traced_masks_are_refused(use, message):
    with pytest.raises(NonConcreteBooleanIndexError, match=message):
        xf.jit(lambda x, m: use(x[m]))(np.ones((3, 3), np.float32), np.array([True, False, True]))
