"""The array API standard, 2024.12: its special cases and the parts that no other file holds."""

import math

import numpy as np
import pytest

import xfront as xf
import xfront.numpy as jnp
from tests.samples import array_api as api


@pytest.fixture(autouse=True, scope="module")
def wide():
    with xf.enable_x64():
        yield


def all_at_once(operands: dict) -> dict:
    """Each function of its arrays, all in one program."""
    run = xf.jit(lambda given: {name: getattr(jnp, name)(*xs) for name, xs in given.items()})
    return {name: np.asarray(made) for name, made in run(operands).items()}


def grouped(rows: list) -> dict:
    """The rows of each function."""
    made: dict = {}
    for name, *rest in rows:
        made.setdefault(name, []).append(rest)
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("table", [api.ONE, api.TWO], ids=["one operand", "two operands"])
def test_special_cases_of_real_numbers(table, dtype):
    groups = grouped(api.cases(table))
    operands = {name: tuple(np.array(xs, dtype) for xs in zip(*(o for o, _ in rows), strict=True))
                for name, rows in groups.items()}
    wrong = []
    for name, made in all_at_once(operands).items():
        for given, found, (_, (word,)) in zip(zip(*operands[name], strict=True), made,
                                              groups[name], strict=True):
            named = {"same": given[0], "first": given[0], "second": given[-1],
                     "|first|": abs(given[0]), "-|first|": -abs(given[0]),
                     "|second|": abs(given[-1])}
            if word in ("+", "-"):                        # the sign alone is said
                wanted = [math.copysign(float(found), -1 if word == "-" else 1)]
            else:
                wanted = [float(named[word])] if word in named else api.allowed(word)
            if not api.same(float(found), wanted, 4 * np.finfo(dtype).eps):
                wrong.append(f"{name}{tuple(map(float, given))} is {found}, not {word}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_special_cases_that_are_true_or_false(dtype):
    is_complex = np.dtype(dtype).kind == "c"
    groups = grouped(api.cases(api.COMPLEX_TRUTHS if is_complex else api.TRUTHS))
    operands = {}
    for name, rows in groups.items():
        parts = np.array([o for o, _ in rows])
        operands[name] = tuple(np.ascontiguousarray(x, dtype) for x in parts.T)
        if is_complex:
            operands[name] = (together(parts, dtype),)
    if is_complex:
        nan, one = np.array([np.nan, 1, 1j * np.nan], dtype), np.ones(3, dtype)
        operands.update(equal=(nan, one), not_equal=(nan, one))
        groups.update(equal=[(0, ["false"]), (0, ["true"]), (0, ["false"])],
                      not_equal=[(0, ["true"]), (0, ["false"]), (0, ["true"])])
    for name, made in all_at_once(operands).items():
        assert made.dtype == bool
        assert made.tolist() == [word == "true" for _, (word,) in groups[name]], name


def together(parts: np.ndarray, dtype: type) -> np.ndarray:
    """Complex numbers of their real and imaginary parts, zeros and NaNs as they are."""
    z = np.zeros(len(parts), dtype)
    z.real, z.imag = parts.T
    return z


@pytest.mark.parametrize("table", [api.ONE, api.TWO], ids=["one operand", "two operands"])
def test_un_jitted_calls_give_what_jitted_ones_give(table):
    groups = grouped(api.cases(table))
    operands = {name: tuple(np.array(xs, np.float32) for xs in zip(*(o for o, _ in rows),
                                                                   strict=True))
                for name, rows in groups.items()}
    for name, made in all_at_once(operands).items():
        alone = np.asarray(getattr(jnp, name)(*map(jnp.asarray, operands[name])))
        np.testing.assert_array_max_ulp(alone, made, 2)
        numbers = ~np.isnan(made)
        np.testing.assert_array_equal(np.signbit(alone[numbers]), np.signbit(made[numbers]), name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signs_of_nan_and_bounds_of_clip(dtype):
    nan = np.array([np.nan, -np.nan], dtype)
    assert np.signbit(nan).tolist() == [False, True]
    xs = np.array([-2, -0.0, 0, 3, np.inf], dtype)
    made = xf.jit(lambda nan, xs: {
        "signbit": jnp.signbit(nan), "numbers": jnp.copysign(xs[:, None], nan),
        "nans": jnp.signbit(jnp.copysign(nan, xs[:, None])),
        "of nans": jnp.signbit(jnp.copysign(nan[:, None], nan)),
        "clip": [jnp.clip(nan, -1, 1), jnp.clip(xs, nan[0], 1), jnp.clip(xs, -1, nan[0])],
        "same": jnp.clip(xs), "clipped": jnp.clip(xs, -1, 1)})(nan, xs)
    made = xf.tree.map(np.asarray, made)
    assert made["signbit"].tolist() == [False, True]
    assert np.signbit(made["numbers"]).tolist() == [[False, True]] * 5
    assert made["nans"].tolist() == [[True] * 2, [True] * 2, *[[False] * 2] * 3]
    assert made["of nans"].tolist() == [[False, True]] * 2
    assert all(np.isnan(x).all() for x in made["clip"])
    assert made["same"].tobytes() == xs.tobytes()
    assert made["clipped"].tolist() == [-1, 0, 0, 1, 1]
    ends = jnp.nextafter(np.array([1, 1, 0, np.inf], dtype), np.array([2, 1, 1, 0], dtype))
    info = np.finfo(dtype)
    assert ends.tolist() == [1 + info.eps, 1, info.smallest_subnormal, info.max]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_arithmetic_by_parts(dtype):
    nan, inf = np.nan, np.inf
    parts = np.array([(0.0, 0.0), (-0.0, -0.0), (0.0, -0.0), (2.5, -1.5), (nan, 2.5), (1.5, nan),
                      (inf, -0.5), (nan, nan), (0.5, -inf), (-inf, inf)])
    z = together(parts, dtype)
    xs, ys = (np.repeat(z, len(z)), np.tile(z, len(z)))
    nans = together(np.full((1, 2), nan), dtype)
    made = xf.tree.map(np.asarray, xf.jit(lambda z, xs, ys, nans: {
        "add": xs + ys, "subtract": xs - ys, "round": jnp.round(z), "abs": jnp.abs(z),
        "sign": jnp.sign(z), "real": jnp.real(z), "imag": jnp.imag(z), "conj": jnp.conj(z),
        "log": jnp.log(z), "log2": jnp.log2(z), "log10": jnp.log10(z),
        "nan": [nans * nans, nans / nans]})(z, xs, ys, nans))
    with np.errstate(all="ignore"):
        for part in ("real", "imag"):
            own, x, y = (getattr(v, part) for v in (z, xs, ys))
            for name, wanted in (("add", x + y), ("subtract", x - y), ("round", np.round(own)),
                                 ("conj", own if part == "real" else -own)):
                exactly(getattr(made[name], part), wanted)
            exactly(made[part], own)
            for name, base in (("log2", 2), ("log10", 10)):
                log = getattr(made["log"], part) / np.log(base).astype(own.dtype)
                np.testing.assert_allclose(getattr(made[name], part), log, rtol=1e-6)
            for found in made["nan"]:
                assert np.isnan(getattr(found, part)).all()
    flat = (parts == 0).any(axis=1)
    exactly(made["abs"][flat], np.abs(parts[flat]).max(axis=1).astype(made["abs"].dtype))
    assert np.isinf(made["abs"][np.isinf(parts).any(axis=1)]).all()
    assert made["sign"][:3].tolist() == [0, 0, 0]
    np.testing.assert_allclose(made["sign"][3], (2.5 - 1.5j) / abs(2.5 - 1.5j), rtol=1e-6)


def exactly(found: np.ndarray, wanted: np.ndarray) -> None:
    """Asserts that numbers are equal, zeros by sign, and NaN where NaN is wanted."""
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_special_cases_of_statistics(dtype):
    empty, mixed = np.zeros((0, 2), dtype), np.array([[1, 2], [np.nan, 3]], dtype)
    ordered = [] if np.dtype(dtype).kind == "c" else [jnp.max, jnp.min]
    spreads = [jnp.std, jnp.var] if ordered else []
    made = xf.tree.map(np.asarray, xf.jit(lambda e, x: {
        "sum": jnp.sum(e, axis=0), "prod": jnp.prod(e, axis=0), "mean": jnp.mean(e, axis=0),
        "sums": jnp.cumulative_sum(x[1], include_initial=True),
        "products": jnp.cumulative_prod(x[1], include_initial=True),
        "nans": [jnp.sum(x, axis=0), jnp.prod(x, axis=0), jnp.mean(x, axis=0)],
        "ordered": [f(x, axis=0) for f in (*ordered, *spreads)],
        "few": [f(x, axis=0, correction=c) for f in spreads for c in (2, 2.5)],
        "none": [f(e, axis=0) for f in spreads],
        "zeros": jnp.sum(jnp.full(3, -0.0, dtype)),
        "det": jnp.linalg.slogdet(x[:1].T * x[:1] * 0)})(empty, mixed))
    assert made["sum"].tolist() == [0, 0] and made["prod"].tolist() == [1, 1]
    assert np.isnan(made["mean"]).all()
    for name, first in (("sums", 0), ("products", 1)):
        assert made[name].dtype == dtype and made[name][0] == first
        assert np.isnan(made[name][1:]).all()
    for found in (*made["nans"], *made["ordered"]):
        assert np.isnan(found).tolist() == [True, False], made
    for found in (*made["few"], *made["none"]):
        assert np.isnan(found).all()
    sign, size = made["det"]
    assert sign == 0 and size == -np.inf
    assert sign.dtype == dtype and made["sum"].dtype == dtype


def test_python_numbers_of_arrays():
    for x, wanted in ((True, 1), (False, 0), (-0.0, 0), (2.9, 2), (-2.9, -2)):
        assert int(jnp.asarray(x)) == wanted
    for x, wanted in ((np.nan, True), (np.inf, True), (-np.inf, True), (0.0, False), (-0.0, False),
                      (complex(0, np.nan), True), (0j, False), (1j, True)):
        assert bool(jnp.asarray(x)) is wanted
    for x, error in ((np.inf, OverflowError), (-np.inf, OverflowError), (np.nan, ValueError)):
        with pytest.raises(error):
            int(jnp.asarray(x))
    assert [float(jnp.asarray(x)) for x in (True, False, -np.inf)] == [1.0, 0.0, -np.inf]
    assert [complex(jnp.asarray(x)) for x in (True, False, np.inf)] == [1, 0, complex(np.inf, 0)]
    with pytest.raises(TypeError):
        float(jnp.asarray(1j))
    assert jnp.asarray(5).__index__() == 5
    with pytest.raises(TypeError):
        jnp.asarray(5.0).__index__()


def complex_rows() -> list:
    """(function, (a, b), (re, im)) with the values that each part may have."""
    made = []
    for name, (a, b), words in api.cases(api.COMPLEX):
        if words[0].endswith("*cis"):
            size = api.VALUES[words[0][:-4]]
            parts = [[size * math.cos(b)], [size * math.sin(b) if b else b]]
        else:
            parts = [api.allowed(w) for w in words]
        rows = [(a, b, *parts)]
        if name in api.CONJUGATE:
            rows += [(a, -b, re, [-x for x in im]) for a, b, re, im in rows]
        if name in api.ODD:
            rows += [(-a, -b, [-x for x in re], [-x for x in im]) for a, b, re, im in rows]
        if name in api.EVEN:
            rows += [(-a, -b, re, im) for a, b, re, im in rows]
        made += [(name, (a, b), (re, im)) for a, b, re, im in rows]
    for turned, name in api.TURNED.items():         # f(z) = -i g(iz), iz = (-b) + ai
        made += [(turned, (b, -a), (im, [-x for x in re]))
                 for other, (a, b), (re, im) in made if other == name]
    made += [("cos", (b, -a), parts) for other, (a, b), parts in made if other == "cosh"]
    return made


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_special_cases_of_complex_numbers(dtype):
    groups = grouped(complex_rows())
    operands = {}
    for name, rows in groups.items():
        operands[name] = (together(np.array([o for o, _ in rows]), dtype),)
    wrong = []
    for name, made in all_at_once(operands).items():
        for z, found, (_, (re, im)) in zip(operands[name][0], made, groups[name], strict=True):
            eps = 16 * np.finfo(dtype).eps
            if not (api.same(float(found.real), re, eps) and api.same(float(found.imag), im, eps)):
                wrong.append(f"{name}({z.real}, {z.imag}) is ({found.real}, {found.imag}), "
                             f"not {re}, {im}")
    assert not wrong, f"{len(wrong)} cases\n" + "\n".join(wrong)
