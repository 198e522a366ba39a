"""The user's settings hold for what the user wrote, and for nothing that the library does inside.

Every public function is called as in `tests/samples`, as it is, differentiated and batched. What
works under the defaults works under each setting; a function without a row fails here.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import xfront as jax
import xfront.numpy as jnp
import xfront.scipy.linalg as slinalg
from tests.samples import calls, numpy_rows
from tests.samples.calls import Call
from tests.samples.disagreeing import ROWS
from tests.samples.operands import OPERANDS
from xfront.tracing.trace import trace_function, type_of
from xfront_ir.core import Function, bodies_of
from xfront_ir.passes.pipeline import simplify

RECORD = Path(__file__).parent.parent / "recorded" / "refusals.json"

BETTER = {
    "jnp.trapezoid(m, x)": "x is documented to be 1-d",
    "jnp.polyval(m, j)": "each coefficient is an array of its own",
    "jax.random.bernoulli(jax.random.key(0), x, (2,3))": "the shape is asked for by name",
    "jax.random.truncated_normal(jax.random.key(0), x, m, (3,3))": "the shape is asked for by name",
}
"""Calls that JAX refuses by a check of its own inside, and that we take."""


@contextlib.contextmanager
def strictly() -> Iterator[None]:
    """No promotion of ranks and dtypes."""
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        yield


def traced(call: Call) -> Function:
    """The program of a call, its derivatives carried out; nothing is compiled."""
    def run(given: list) -> list:
        made = jax.tree.leaves(call.run(*given))
        return [x for x in made if hasattr(x, "dtype") and hasattr(x, "shape")]

    kinds = [type_of(jnp.asarray(x)) for x in call.operands]
    found = trace_function(run, [t for t, _ in kinds], [w for _, w in kinds], name="call",
                           kind="jit", staging=True)
    return simplify(found.function)


def refusal(call: Call) -> Exception | None:
    """What a call is refused with."""
    try:
        traced(call)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("package", calls.TABLES)
def test_every_public_function_has_a_row(package: str) -> None:
    rows, without = set(calls.TABLES[package]), set(calls.WITHOUT.get(package, ()))
    if package == "numpy":
        rows |= set(numpy_rows.CONCRETE) - set(numpy_rows.INDEXING)
    assert calls.public_functions(package) == rows | without
    assert not rows & without


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", [*calls.TABLES, "indexing"])
def test_the_library_promotes_nothing_of_the_users(package: str) -> None:
    rows = numpy_rows.INDEXING if package == "indexing" else calls.TABLES[package]
    wrong, derivatives = [], 0
    for text in calls.texts(rows):
        for call in calls.ways(text):
            usual = refusal(call)
            if call.way == "value":
                assert usual is None, f"{text}: {usual!r}"
            elif usual is None:
                derivatives += 1
            with strictly():
                if usual is None and (error := refusal(call)):
                    wrong.append(f"{call.way} of {text}: {error!r}")
    assert not wrong, "\n".join(wrong)
    assert derivatives or package in ("nn.initializers",)


WIDE = {"f": np.float64, "i": np.int64, "c": np.complex128, "b": np.bool_}
"""For the kind of a dtype, the one of 64 bits."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", [*calls.TABLES, "indexing"])
def test_the_library_promotes_nothing_where_numbers_have_64_bits(package: str) -> None:
    """Operands of 32 and of 64 bits; of three rows one in every run of the tests, all where
    `XFRONT_GENERATED` is set."""
    rows = numpy_rows.INDEXING if package == "indexing" else calls.TABLES[package]
    one_of = 1 if "XFRONT_GENERATED" in os.environ else 3
    wrong = []
    with jax.enable_x64(True):
        for text in itertools.islice(calls.texts(rows), None, None, one_of):
            for call, wide in itertools.product(calls.ways(text), (False, True)):
                operands = [x.astype(WIDE[x.dtype.kind]) if wide else x for x in call.operands]
                call = call._replace(operands=tuple(operands))
                if refusal(call) is None:
                    with strictly():
                        if error := refusal(call):
                            wrong.append(f"{call.way} of {text}, {operands}: {error!r}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")
def test_calls_that_need_to_know_their_operands_promote_nothing_either() -> None:
    for text in calls.texts(numpy_rows.CONCRETE):
        call = calls.value(text)
        with strictly():
            call.run(*map(jnp.asarray, call.operands))


@pytest.mark.filterwarnings("ignore")
def test_the_users_operands_are_refused_where_jax_refuses_them() -> None:
    record, wrong = json.loads(RECORD.read_text()), []
    assert set(record) <= set(ROWS)
    operands = tuple(OPERANDS.values())
    for text, refused in record.items():
        call = Call(text, "value", calls.function(text, every=True)[0], operands)
        assert refusal(call) is None, text
        found = ""
        with jax.numpy_rank_promotion("raise"):
            found += "R" * isinstance(refusal(call), ValueError)
        with jax.numpy_dtype_promotion("strict"):
            found += "D" * isinstance(refusal(call), jax.dtypes.TypePromotionError)
        if found != (refused.replace("R", "") if text in BETTER else refused):
            wrong.append(f"{text}: {found or 'taken'}, JAX: {refused or 'taken'}")
    assert not wrong, "\n".join(wrong)


def test_a_program_of_one_setting_is_not_used_under_another() -> None:
    m, x, i = jnp.ones((2, 3)), jnp.ones(3), jnp.arange(3)
    for setting, error, run, operands in (
        (lambda: jax.numpy_rank_promotion("raise"), ValueError, jnp.add, (m, x)),
        (lambda: jax.numpy_dtype_promotion("strict"), jax.dtypes.TypePromotionError, jnp.add,
         (x, i)),
    ):
        jitted = jax.jit(lambda a, b, run=run: run(a, b))
        for tried in (run, jitted, jax.vmap(run, (None, None), axis_size=2)):
            for _ in range(2):
                tried(*operands)
                with setting(), pytest.raises(error):
                    tried(*operands)


def test_functions_of_the_library_are_checked_where_a_program_hands_them_on() -> None:
    m, x, i = jnp.ones((2, 3)), jnp.ones(3), jnp.arange(3)
    for run in (lambda y: jax.lax.cond(True, jnp.add, jnp.subtract, m, y),
                lambda y: jax.lax.switch(0, [jnp.multiply], m, y),
                lambda y: jax.lax.fori_loop(0, 2, lambda k, c: c * y, m),
                lambda y: jax.tree.map(jnp.add, (m,), (y,)),
                lambda y: jax.vjp(jnp.multiply, m, y), lambda y: jax.jit(jnp.add)(m, y)):
        run(x)
        with jax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank"):
            run(x)
        with jax.numpy_dtype_promotion("strict"), pytest.raises(jax.dtypes.TypePromotionError):
            run(i)


def test_a_warning_names_shapes_and_stands_at_the_users_line() -> None:
    m, x = jnp.ones((2, 3)), jnp.ones(3)
    for run in (jnp.subtract, lambda a, b: a - b, jax.jit(lambda a, b: a - b),
                jax.grad(lambda a, b: (a - b).sum())):
        with jax.numpy_rank_promotion("warn"), pytest.warns(
                UserWarning, match=r"^Following NumPy automatic rank promotion for subtract on "
                                   r"shapes \(2, 3\) \(3,\)") as found:
            run(m, x)
        assert [w.filename for w in found] == [__file__]


def test_warnings_of_conversions_stand_at_the_users_line() -> None:
    x, c, i = jnp.ones(3), jnp.ones(3, complex), jnp.arange(3)
    for run, category, text in (
        (lambda: c.astype("float32"), DeprecationWarning, "^Casting from complex to real dtypes"),
        (lambda: jnp.astype(c, int), DeprecationWarning, "^Casting from complex to real dtypes"),
        (lambda: i.at[0].set(x[0]), FutureWarning, "^scatter inputs have incompatible types"),
        (lambda: x.astype("float64"), UserWarning, "^Explicitly requested dtype float64"),
        (lambda: jnp.zeros(3, "float64"), UserWarning, "^Explicitly requested dtype float64"),
    ):
        with pytest.warns(category, match=text) as found:
            run()
        assert {w.filename for w in found} == {__file__}


LOSSY = """
jnp.array(c, 'float32')
jnp.asarray(c, dtype=int)
jnp.asarray(np.ones(3, 'complex64'), 'float32')
jnp.float32(c[0])
lax.convert_element_type(c, 'float32')
jnp.sum(c, dtype='float32')
jnp.prod(c, dtype='int32')
jnp.mean(c, dtype='float32')
jnp.cumsum(c, dtype='float32')
jnp.cumulative_prod(c, dtype='float32')
jnp.trace(k, dtype='float32')
jnp.concatenate([c, c], dtype='float32')
jnp.stack([c, c], dtype='float32')
jnp.full(3, c, 'float32')
jnp.full_like(x, c)
jnp.linspace(0, c, 3, dtype='float32')
jnp.cov(k, dtype='float32')
jnp.insert(x, 0, c[0])
jax.jit(lambda c: jnp.array(c, 'float32'))(c)
jax.vmap(lambda c: jnp.array(c, 'float32'))(c)
"""


@pytest.mark.parametrize("text", LOSSY.split("\n")[1:-1])
def test_lost_imaginary_parts_are_warned_of_at_the_users_line(text: str) -> None:
    run, used = calls.function(text)
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part") as found:
        made = jax.eval_shape(run, *[OPERANDS[n] for n in used])
    assert made.dtype.kind != "c"
    assert not any(w.filename.startswith(str(Path(jax.__file__).parent)) for w in found)


@pytest.mark.filterwarnings("error")
def test_no_warning_where_nothing_is_lost() -> None:
    c = jnp.ones(3, complex)
    assert c.astype(bool).all() and jnp.array(c, bool).all()
    jnp.array(c, "complex64"), jnp.sum(c), jnp.abs(c).astype("float32"), jnp.std(c), jnp.real(c)
    jax.grad(lambda x: jnp.abs(x.astype("complex64") * c).sum())(jnp.ones(3))
    with pytest.raises(TypeError, match="imaginary part"):
        jnp.full(3, 1j, "float32")


def test_warnings_are_not_of_what_the_library_does_inside() -> None:
    t, m, x = jnp.ones((2, 3, 3)), jnp.ones((3, 3)), jnp.ones(3)
    with jax.numpy_rank_promotion("warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        jnp.average(m, axis=0, weights=x)
        jnp.linalg.solve(m, x)
        jax.grad(lambda a: jnp.quantile(a, 0.3).sum())(t)
        np.asarray(jax.nn.softmax(m, where=x > 0))


# --- how exact products are -------------------------------------------------------------------

PRODUCTS = """
batch_matmul conv_general_dilated_local dot dot_general dot_product_attention einsum inner
matmul matvec multi_dot ragged_dot ragged_dot_general tensordot vdot vecdot vecmat
custom_linear_solve map scan vectorize
""".split()
"""Functions that are products, or are given functions that are: they obey the user's precision."""

CONVOLUTIONS = """
conv conv_general_dilated conv_general_dilated_local conv_general_dilated_patches conv_transpose
conv_with_general_padding convolve correlate convolve2d correlate2d
""".split()


def precisions(function: Function) -> set[object]:
    """The precisions of all products of a program."""
    found = {op.attrs["precision"] for op in function.ops if "precision" in op.attrs}
    return found.union(*[precisions(body) for op in function.ops if op.definition.has_bodies
                         for body in bodies_of(op)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", calls.TABLES)
def test_products_obey_the_users_precision_and_algorithms_do_not(package: str) -> None:
    highest, chosen = ("highest", "highest"), "BF16_BF16_F32"
    for name, rows in calls.TABLES[package].items():
        seen: set[object] = set()
        for call in [way for text in calls.texts({name: rows}) for way in calls.ways(text)]:
            with jax.default_matmul_precision(chosen):
                try:
                    found = precisions(traced(call))
                except (TypeError, ValueError, NotImplementedError):
                    continue                     # without a derivative
            wanted = {chosen} if name in PRODUCTS else {highest}
            if name in CONVOLUTIONS:             # for which there are no algorithms
                wanted = {None, chosen} if name in PRODUCTS else {None}
            assert found <= wanted, f"{call.way} of {call.row}: {found}"
            seen |= found
        assert name not in PRODUCTS or chosen in seen, name


def test_convolutions_obey_the_users_precision() -> None:
    for name in CONVOLUTIONS:
        package = "lax" if name.startswith("conv_") or name == "conv" else (
            "scipy.signal" if name.endswith("2d") else "numpy")
        for text in calls.texts({name: calls.TABLES[package][name]}):
            with jax.default_matmul_precision("highest"):
                assert precisions(traced(calls.value(text))) == {("highest", "highest")}
    with pytest.raises(ValueError, match="matrix products"):
        jnp.convolve(jnp.ones(3), jnp.ones(3), precision="BF16_BF16_F32")


def test_an_algorithm_stays_exact_with_the_least_precise_products() -> None:
    m = OPERANDS["m"].astype(np.float64)
    with jax.default_matmul_precision("BF16_BF16_BF16"):
        found = jax.jit(lambda m: (
            jnp.linalg.inv(m), jnp.cov(m), jnp.linalg.pinv(m), slinalg.expm(m),
            jnp.linalg.matrix_power(m, 3), jnp.linalg.lstsq(m, m)[0],
            jnp.polymul(m[0], m[1])))(OPERANDS["m"])
    wanted = (np.linalg.inv(m), np.cov(m), np.linalg.pinv(m), scipy.linalg.expm(m),
              np.linalg.matrix_power(m, 3), np.eye(3), np.polymul(m[0], m[1]))
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


# --- NaN and infinities that the library masks ------------------------------------------------

MASKED = """
jnp.nanmean(w, axis=0)
jnp.nanmedian(w)
jnp.nan_to_num(w)
jnp.max(m, where=d, initial=0.5)
jnp.var(m, where=d)
jnp.sinc(x - x)
jnp.interp(x, p, p, left=0.0)
nn.softmax(m, where=d.at[0].set(True), axis=0)
nn.logsumexp(m, where=d)
nn.dot_product_attention(g, g, g, is_causal=True)
special.xlogy(x - x, y)
lax.reduce_window(m, -jnp.inf, lax.max, (2, 2), (1, 1), 'SAME')
lax.reduce(m, -jnp.inf, lambda a, b: jnp.where(a > b, a, b), (0,))
""".strip().splitlines()


def numbers(made: Any) -> np.ndarray:
    """All elements of a result."""
    return np.concatenate([np.ravel(x) for x in jax.tree.leaves(made)])


def test_debug_nans_and_infs_leave_alone_what_the_library_masks() -> None:
    for text in MASKED:
        for call in calls.ways(text):
            if call.way in ("value", "grad"):
                operands = [jnp.asarray(x) for x in call.operands]
                with jax.debug_nans(True), jax.debug_infs(True):
                    made = call.run(*operands)
                assert np.isfinite(numbers(made)).all(), text


def test_a_program_that_runs_by_units_is_looked_at_as_a_whole() -> None:
    def made(k: int) -> Any:
        def loss(x: Any) -> Any:                     # each a new program of the same name
            for _ in range(k):
                x = jnp.sin(x)
            return jnp.where(x > 0, jnp.log(x), 0.0).sum()

        return loss

    x = jnp.array([-1.0, 2.0])
    with jax.debug_nans(True), jax.debug_infs(True):
        for k in range(5):
            safe = made(k)
            jax.grad(lambda x, safe=safe: safe(jnp.where(x > 0, x, 1.0)))(x)
        for k in range(5):
            with pytest.raises(FloatingPointError, match=r"invalid value \((nan|inf)\)"):
                jax.grad(lambda x, k=k: jnp.sqrt(x * k - k).sum())(x - 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", [*calls.TABLES, "indexing"])
def test_debug_nans_raises_nowhere_else_than_where_a_result_has_one(package: str) -> None:
    """Of three rows one in every run of the tests, all where `XFRONT_GENERATED` is set."""
    rows = numpy_rows.INDEXING if package == "indexing" else calls.TABLES[package]
    one_of = 1 if "XFRONT_GENERATED" in os.environ else 3
    for text in itertools.islice(calls.texts(rows), None, None, one_of):
        call = calls.value(text)
        operands = [jnp.asarray(x) for x in call.operands]
        found = [np.asarray(x) for x in jax.tree.leaves(call.run(*operands))
                 if getattr(x, "dtype", np.dtype(int)).kind in "fc"]
        for setting, test in ((jax.debug_nans, np.isnan), (jax.debug_infs, np.isinf)):
            if not any(test(x).any() for x in found):
                with setting(True):
                    call.run(*operands)


@pytest.mark.parametrize("name", [n for n in jax.lax.DotAlgorithmPreset.__members__ if "F8" in n])
def test_algorithms_for_floats_of_8_bits_refuse_others(name: str) -> None:
    wide, narrow = np.ones((2, 2), np.float32), jnp.ones((2, 2), jnp.float8_e4m3fn)
    with pytest.raises(ValueError, match="multiplies floats of 8 bits, but was given f32"):
        jax.lax.dot(wide, wide, precision=jax.lax.DotAlgorithmPreset[name])
    made = jax.jit(lambda x: jax.lax.dot(x, x, precision=name)).lower(narrow).as_text()
    assert ("allow_imprecise_accumulation = true" in made) == name.endswith("FAST_ACCUM")
