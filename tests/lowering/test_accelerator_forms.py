"""What the passes for TPU and CUDA write means what the ops mean: by the NumPy evaluator, which
knows the platforms' kernels, and where XLA has a kernel on CPU too, by running it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import xfront
import xfront.numpy as jnp
from lowering.forms.extras import ALWAYS
from lowering.forms.placing import taken
from lowering.forms.registry import FORMS_OF, Form, forms_of
from lowering.platforms import for_platform
from lowering.tpu.eigen import weights
from tests.op_table import all_rows
from tests.op_table.checks import check_text, compare, run_compiled
from xfront import lax
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function
from xfront_ir.dtypes import from_numpy
from xfront_ir.errors import MissingRule
from xfront_ir.ops import REGISTRY
from xfront_ir.parser import parse
from xfront_ir.passes.pipeline import simplify
from xfront_ir.reference import evaluate
from xfront_ir.types import tensor

PLATFORMS = tuple(p for p in ALWAYS if p != "cpu")


def special(fn: Function, platform: str = "tpu") -> Function:
    return for_platform(fn, platform, ALWAYS[platform])


for _definition in REGISTRY.values():
    for _platform in PLATFORMS:
        forms_of(_definition, _platform)

def _is_written(form: Form) -> bool:
    return form.write.__name__ != "refused"


LARGE = {"tpu_reduce.cumprod", "tpu_reduce.cummax", "tpu_reduce.cummin"}
"""Forms for larger arrays than the samples of the op table, checked by their texts."""
WRITTEN = [(platform, definition.name) for platform in PLATFORMS
           for definition, forms in FORMS_OF[platform].items()
           if any(_is_written(form) and not form.asks and f"{platform}_{form.name}" not in LARGE
                  for form in forms)]
FREE_SIGNS = {("tpu", "svd")}
"""Vectors have another sign than LAPACK's, which is free."""


@pytest.mark.parametrize(("platform", "name"), WRITTEN)
def test_forms_mean_what_their_op_means(platform: str, name: str) -> None:
    row, met = all_rows()[name], 0
    for sample, dtype in row.cases():
        fn, arrays = sample.made(name, dtype)
        made = special(fn, platform)
        if made is fn or (platform, name) in FREE_SIGNS:
            met += made is not fn
            continue
        met += 1
        check_text(made)
        tolerance = max(10 * row.tolerance_of(dtype), 1e-12)
        for got, expected in zip(evaluate(made, *arrays), evaluate(fn, *arrays), strict=True):
            compare(got, expected, tolerance, f"{name} of {dtype} on {platform}")
    assert met


def _svd(x: np.ndarray, **attrs: bool) -> Function:
    b = Builder("svd")
    made = b.emit(ops.svd, b.param(tensor(x.shape, from_numpy(x.dtype))), **attrs)
    return special(b.close(made))


def _matrices(dtype: str) -> list[np.ndarray]:
    """Square, tall and wide; of lower rank; of values far apart; great and small."""
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> np.ndarray:
        made = rng.normal(size=shape)
        return made + 1j * rng.normal(size=shape) if dtype.startswith("c") else made

    lower_rank = drawn(6, 6)
    lower_rank[:, 2], lower_rank[:, 5] = lower_rank[:, 1], 0
    (u, _), (v, _) = np.linalg.qr(drawn(8, 8)), np.linalg.qr(drawn(8, 8))
    return [x.astype(dtype) for x in (
        drawn(5, 5), drawn(9, 4), drawn(4, 9), np.zeros((4, 4)), np.ones((5, 3)), lower_rank,
        (u * np.logspace(0, -7, 8)) @ v, drawn(3, 3) * 1e20, drawn(3, 3) * 1e-20, -np.eye(3))]


def _check_svd(x: np.ndarray, found: Any, units: float) -> None:
    s, u, vh = (np.asarray(v, np.complex128 if x.dtype.kind == "c" else np.float64) for v in found)
    k, eps = min(x.shape), units * np.finfo(x.dtype).eps
    size = eps * max(x.shape) * np.abs(x).max()
    exact = np.linalg.svd(x.astype(u.dtype), compute_uv=False)
    assert np.all(np.diff(s) <= 0) and np.all(s >= 0)
    assert np.all(np.abs(s - exact) <= size)
    assert np.all(np.abs((u[:, :k] * s) @ vh[:k] - x) <= size)
    for q in (u.conj().T @ u, vh @ vh.conj().T):
        assert np.all(np.abs(q - np.eye(len(q))) <= eps)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_svd_by_the_polar_decomposition(dtype: str) -> None:
    for x in _matrices(dtype):
        for full in (False, True):
            made = _svd(x, full_matrices=full, compute_uv=True)
            _check_svd(x, evaluate(made, x), 10)
        values = evaluate(_svd(x, full_matrices=False, compute_uv=False), x)[0]
        assert np.array_equal(values, evaluate(made, x)[0])


def test_svd_by_the_compilers_own_kernels() -> None:
    """XLA has `Qr`, `ProductOfElementaryHouseholderReflectors` and `Eigh` on CPU too."""
    x = _matrices("float32")[5]
    _check_svd(x, run_compiled(_svd(x, full_matrices=False, compute_uv=True), [x]), 20)


def test_eigh_by_the_compilers_own_kernel() -> None:
    for lower in (True, False):
        x = np.random.default_rng(1).normal(size=(2, 5, 5)).astype(np.float32)
        b = Builder("eigh")
        made = special(b.close(b.emit(ops.eigh, b.param(tensor(x.shape, dtypes.f32)),
                                      lower=lower)))
        vectors, values = run_compiled(made, [x])
        whole = np.tril(x) + np.tril(x, -1).swapaxes(1, 2) if lower else \
            np.triu(x) + np.triu(x, 1).swapaxes(1, 2)
        assert np.all(np.diff(values) >= 0)
        assert np.allclose(whole @ vectors, vectors * values[:, None], atol=1e-5)


def test_steps_of_the_polar_decomposition_reach_one() -> None:
    for smallest in (1e-7, 1e-16):
        steps = weights(smallest, 10 * smallest)
        x = np.logspace(np.log10(smallest), 0, 1000)
        for a, b, c in steps:
            x = x * (a + b * x * x) / (1 + c * x * x)
        assert len(steps) <= 6 and np.all(np.abs(1 - x) <= 1e-6 + 10 * smallest)


def test_tridiagonal_systems_exchange_rows() -> None:
    """Without exchanges these need a pivot of zero; of singular ones all is NaN."""
    below, diagonal, above = (np.array(v) for v in ([9., 2., 1., 3.], [0., 0., 4., 0.],
                                                    [1., 5., 2., np.nan]))
    whole = np.diag(diagonal) + np.diag(below[1:], -1) + np.diag(above[:-1], 1)
    b = Builder("solve")
    three, side = tensor((4,), dtypes.f64), tensor((4, 2), dtypes.f64)
    params = [b.param(t) for t in (three, three, three, side)]
    made = special(b.close([b.emit(ops.tridiagonal_solve, *params, perturb_singular=False)]))
    rhs = np.arange(8.0).reshape(4, 2)
    assert np.allclose(whole @ evaluate(made, below, diagonal, above, rhs)[0], rhs)
    assert np.isnan(evaluate(made, below * 0, diagonal, above, rhs)[0]).all()


def test_what_a_platform_cannot_do_is_refused_by_its_name() -> None:
    b = Builder("f")
    y = b.param(tensor((2, 2), dtypes.f32))
    made = b.emit(ops.dot_general, y, y, contract=((1,), (0,)), batch=((), ()),
                  precision="TF32_TF32_F32_X3", preferred=None)
    with pytest.raises(MissingRule, match="a tpu has the algorithms BF16_BF16_F32, "):
        special(b.close([made]))


@pytest.mark.parametrize("dtype", [dtypes.i64, dtypes.u64], ids=str)
def test_upper_halves_of_products_on_tpu(dtype: Any) -> None:
    """At the ends of the type and of its halves, against Python's integers."""
    ends = np.iinfo(dtype.numpy)
    middle = (-1, -2**32, -2**31 - 1) if dtype is dtypes.i64 else (2**63, 2**64 - 2**32, 2**33 - 1)
    values = np.array([ends.min, ends.max, 0, 1, 5, 2**31, 2**32, 2**32 - 1, *middle], dtype.numpy)
    x, y = (m.ravel() for m in np.meshgrid(values, values))
    b = Builder("f")
    fn = b.close([b.emit(ops.mulhi, *[b.param(tensor(x.shape, dtype)) for _ in range(2)])])
    made = special(fn)
    assert made is not fn
    expected = np.array([int(p) * int(q) >> 64 for p, q in zip(x, y, strict=True)], object)
    np.testing.assert_array_equal(evaluate(made, x, y)[0], expected.astype(dtype.numpy))


@pytest.mark.parametrize("reverse", [False, True])
def test_running_reductions_in_blocks(reverse: bool) -> None:
    """Along as many rows as blocks hold, and some more; with totals in one tree, and in blocks."""
    rng = np.random.default_rng(0)
    for rows in (129, 136, 257, 300, 2051):
        x = rng.normal(size=(rows, 128))
        x[rng.integers(rows), 0], x[rng.integers(rows), 1] = np.nan, np.inf
        for definition in (ops.cumprod, ops.cummax, ops.cummin):
            b = Builder("f")
            fn = b.close([b.emit(definition, b.param(tensor(x.shape, dtypes.f64)), axis=0,
                                 reverse=reverse)])
            made = special(fn)
            assert made is not fn
            compare(evaluate(made, x)[0], evaluate(fn, x)[0], 1e-12, f"{definition.name} of {rows}")


def test_trigamma_is_exact_to_a_few_units_in_the_last_place() -> None:
    x = np.concatenate([np.logspace(-15, 15, 2001), np.linspace(0.01, 20, 2000),
                        [0.0, -0.0, np.inf, -1.0, -2.5, np.nan]]).astype(np.float32)
    b = Builder("f")
    param = b.param(tensor(x.shape, dtypes.f32))
    made = special(b.close([b.emit(ops.polygamma, b.full(param.type, 1), param)]))
    got = evaluate(made, x)[0].astype(np.float64)
    assert np.array_equal(got[-6:], [np.inf, np.inf, 0, np.inf, np.nan, np.nan], equal_nan=True)
    expected = scipy.special.polygamma(1, x[:-6].astype(np.float64))
    assert np.max(np.abs(got[:-6] / expected - 1)) < 4e-7


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.complex64])
def test_halves_are_interleaved_before_short_axes(dtype: Any) -> None:
    """Every number is kept as it is, -0.0 and NaN too; before 65 elements nothing changes."""
    def scanned(*shape: int) -> tuple[Any, Any]:
        def last(x: Any) -> Any:
            return lax.associative_scan(jnp.multiply if dtype != np.bool_ else jnp.logical_xor, x,
                                        axis=1)

        fn = simplify(xfront.make_ir(last)(np.zeros(shape, dtype)).ir)
        return fn, special(fn)

    for shape in ((4, 16, 64), (2, 7), (1, 9, 1)):
        fn, made = scanned(*shape)
        assert {form.name for _, form in taken(made)} == {"shape.interleave"}
        drawn = np.random.default_rng(0).choice(
            [-1.0, 1.0, -0.0, 0.0, np.nan], shape, p=[0.3, 0.6, 0.04, 0.04, 0.02])
        with np.errstate(invalid="ignore"):
            x = drawn.astype(dtype)
        got, expected = evaluate(made, x)[0], evaluate(fn, x)[0]
        assert np.array_equal(got, expected, equal_nan=np.dtype(dtype).kind in "fc")
        if np.dtype(dtype).kind == "f":
            assert np.array_equal(np.signbit(got), np.signbit(expected))
    for shape in ((4, 16, 65), (4, 2, 64)):
        fn, made = scanned(*shape)
        assert made is fn


def test_halves_that_are_parted_again_are_not_interleaved() -> None:
    """As in the gradient of a function of interleaved numbers."""
    def total(x: Any) -> Any:
        return jnp.sum(jnp.sin(jnp.stack([x, -x], -1).ravel()))

    fn = simplify(xfront.make_ir(xfront.grad(total))(np.ones(64, np.float32)).ir)
    assert special(fn) is fn
    fn = simplify(xfront.make_ir(total)(np.ones(64, np.float32)).ir)
    assert [form.name for _, form in taken(special(fn))] == ["shape.interleave"]


# --- text -----------------------------------------------------------------------------------

FILES = sorted((Path(__file__).parent / "golden" / "accelerators").glob("*.ir"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden(path: Path, update_golden: bool) -> None:
    """`// pass: for_platform tpu` or `cuda`, a program with one op that has a form, its text after.
    """
    given, _, expected = path.read_text().partition("// ---- expect\n")
    head, program = given.split("\n", 1)
    made = special(parse(program), head.removeprefix("// pass: for_platform "))
    assert [form.name for _, form in taken(made)][0] == path.stem.partition("_")[2]
    if update_golden:
        path.write_text(f"{given}// ---- expect\n{made}\n")
    else:
        assert f"{made}\n" == expected, "pytest --update-golden writes what the forms write now"


def _has_no_samples(path: Path) -> bool:
    platform, _, name = path.stem.partition("_")
    return path.stem in LARGE or any(
        form.asks for forms in FORMS_OF[platform].values() for form in forms if form.name == name)


@pytest.mark.parametrize("path", list(filter(_has_no_samples, FILES)),
                         ids=lambda p: p.stem)
def test_forms_without_samples_mean_what_their_program_means(path: Path) -> None:
    fn = parse(path.read_text().partition("// ---- expect\n")[0].split("\n", 1)[1])
    made, rng = special(fn), np.random.default_rng(0)
    arrays = [(100 ** p.type.dtype.is_integer * rng.normal(size=p.type.shape)).astype(
        p.type.dtype.numpy) for p in fn.params]
    for got, expected in zip(evaluate(made, *arrays), evaluate(fn, *arrays), strict=True):
        compare(got, expected, 1e-6, path.stem)


def test_every_form_has_its_text() -> None:
    names = sorted(f"{platform}_{form.name}" for platform in PLATFORMS
                   for forms in FORMS_OF[platform].values() for form in filter(_is_written, forms))
    assert names == [path.stem for path in FILES]
