"""The library that a program's products and convolutions get, by their shapes."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from lowering import compat, compile
from lowering.cpu import beside_reductions, libraries
from lowering.forms.extras import NOTHING, Extras
from tests.lowering.cpu.against_plain import named
from xfront_ir import ops
from xfront_ir.passes.pipeline import simplify
from xfront_ir.reference import evaluate

FORMS = Extras(forms=1)
BEFORE_11 = compat.VERSION < (0, 11)


@pytest.fixture(autouse=True)
def on_x86(monkeypatch) -> None:
    monkeypatch.setattr(libraries.platform, "machine", lambda: "x86_64")


def product(func, rows, terms, columns, *, contract=((1,), (0,)), dtype="f32", times=1):
    """`times` products of matrices that do not follow from each other."""
    shapes = [(rows, terms), (terms, columns)]
    shapes = [shape[::-1] if contract[i] == (1 - given,) else shape
              for i, (shape, given) in enumerate(zip(shapes, (1, 0), strict=True))]
    return func([named(dtype, *shape) for shape in shapes] * times, lambda b, *xs: [
        b.emit(ops.dot_general, x, y, contract=contract, batch=((), ()), precision=None,
               preferred=None) for x, y in zip(xs[::2], xs[1::2], strict=True)])


@pytest.mark.parametrize("rows, terms, columns, chosen", (
    (256, 128, 128, True), (128, 192, 192, True), (64, 512, 128, True), (512, 128, 192, True),
    (128, 64, 192, BEFORE_11), (128, 128, 128, BEFORE_11),      # on 0.12 worth it from 3 * 2^20 on
    (64, 64, 64, False), (32, 128, 1024, False), (256, 256, 256, False), (512, 512, 512, False),
    (1, 4096, 1024, False), (4096, 1024, 1, False)))
def test_products(func, rows, terms, columns, chosen) -> None:
    """Eigen for those that YNNPACK computes on one core, with rows enough."""
    made = libraries.options(product(func, rows, terms, columns, times=4), True)
    assert bool(made) == chosen
    if chosen:
        ((name, value),) = made
        assert name == libraries.OPTION and "INDIVIDUAL_DOT" not in value and "REDUCE" in value
        assert ("CONVOLUTION" in value) == BEFORE_11


@pytest.mark.parametrize("contract, terms, chosen", (
    (((1,), (1,)), 192, True), (((1,), (1,)), 256, False), (((0,), (0,)), 192, False)))
def test_how_operands_are_read(func, contract, terms, chosen) -> None:
    """Eigen reads columns that lie a power of two apart slowly; what YNNPACK does not compute says
    nothing."""
    made = libraries.options(product(func, 192, terms, 128, contract=contract, times=4), True)
    assert bool(made) == chosen


@pytest.mark.parametrize("dtype", ("bf16", "f64", "i32"))
def test_other_dtypes(func, dtype) -> None:
    assert libraries.options(product(func, 256, 128, 128, dtype=dtype, times=4), True) == ()


def test_all_products_of_a_program_count() -> None:
    """Bodies too, each once."""
    def loss(x, ws, others):
        def step(x, both):
            w, other = both
            return jnp.tanh(x @ w), other @ other.T
        return xfront.lax.scan(step, x, (ws, others))

    def chosen(width):
        x, ws = jnp.ones((256, 128)), jnp.ones((3, 128, 128))
        compiled = xfront.jit(loss).lower(x, ws, jnp.ones((3, width, 256))).compile()
        return "__ynn_fusion" not in compiled.as_text()

    assert chosen(8)
    assert not chosen(512)


@pytest.mark.skipif(not BEFORE_11, reason="YNNPACK convolves before jaxlib 0.11 alone")
@pytest.mark.parametrize("channels, window, chosen", (
    (32, 3, True), (64, 5, True), (16, 3, False), (128, 3, False), (64, 1, False), (1, 3, False)))
def test_convolutions(func, channels, window, chosen) -> None:
    fn = func([named("f32", 8, 28, 28, channels), named("f32", window, window, channels, 32)],
              lambda b, x, w: [xfront_conv(b, x, w)])
    assert bool(libraries.options(fn, True)) == chosen


def reductions(func, count, *shape, definition=ops.reduce_sum, axes=(1,), dtype="f32"):
    """Reductions that do not follow from each other."""
    return func([named(dtype, *shape)] * count, lambda b, *xs: [
        b.emit(definition, x, axes=axes) for x in xs])


@pytest.mark.parametrize("count, shape, how, chosen", (
    (20, (128, 64), {}, True), (19, (128, 64), {}, False), (40, (512, 128), {}, False),
    (20, (1024, 128), {"axes": (0,)}, True), (20, (128, 64), {"definition": ops.reduce_max}, False),
    (20, (32, 64), {"definition": ops.reduce_max}, True), (20, (128, 64), {"dtype": "f64"}, False)))
def test_many_small_reductions(func, count, shape, how, chosen) -> None:
    """XLA's own loops, where YNNPACK's set-up takes longer than a hundred runs of them lose."""
    made = libraries.options(reductions(func, count, *shape, **how), True)
    assert bool(made) == chosen
    if chosen:
        ((_, value),) = made
        assert "REDUCE" not in value and "INDIVIDUAL_DOT" in value


def test_reductions_where_they_run() -> None:
    """Those of calls count, each body once; beside a loop they are left as they are."""
    def chosen(f):
        fn = xfront.jit(f).trace(jnp.ones((4, 8))).ir
        return "REDUCE" not in dict(libraries.options(fn, True)).get(libraries.OPTION, "REDUCE")

    def normed(x):
        for _ in range(20):
            x = x - x.sum(1, keepdims=True)
        return x

    assert chosen(normed)
    assert chosen(xfront.jit(normed))
    assert not chosen(lambda x: xfront.lax.fori_loop(0, 3, lambda i, x: normed(x), x))
    one = xfront.jit(lambda x: x - x.sum(1, keepdims=True))

    def called(x):
        for _ in range(20):
            x = one(x)
        return x

    assert not chosen(called)


def xfront_conv(b, x, w):
    return b.emit(ops.conv_general_dilated, x, w, lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1),
                  out_spec=(0, 3, 1, 2), strides=(1, 1), padding=((1, 1), (1, 1)),
                  lhs_dilation=(1, 1), rhs_dilation=(1, 1), feature_groups=1, batch_groups=1,
                  precision=None, preferred=None)


def test_where_it_holds(func, monkeypatch) -> None:
    """For jit on one CPU device with forms; under the user's own option; on x86."""
    fn = product(func, 256, 128, 128, times=4)
    name = libraries.OPTION
    assert name in dict(compile.all_options("jit", fn, "cpu", (), FORMS))
    assert name not in dict(compile.all_options("eager", fn, "cpu", (), FORMS))
    assert name not in dict(compile.all_options("jit", fn, "cpu", (), NOTHING))
    assert dict(compile.all_options("jit", fn, "cpu", {name: ""}, FORMS))[name] == ""
    monkeypatch.setattr(libraries.platform, "machine", lambda: "aarch64")
    assert libraries.options(fn, True) == ()


def test_values(monkeypatch) -> None:
    """As near to the exact ones as the other library's."""
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=shape).astype(np.float32) for shape in ((256, 128), (128, 128)))
    f = xfront.grad(lambda w, x: jnp.sum(jnp.tanh(jnp.tanh(x @ w) @ w)))
    made = []
    for flag in ("1", "0"):
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        compiled = xfront.jit(lambda w, x: f(w, x)).lower(w, x).compile()
        assert ("__ynn_fusion" in compiled.as_text()) == (flag == "0")
        made.append(np.asarray(compiled(w, x)))
    np.testing.assert_allclose(*made, rtol=1e-4, atol=1e-4)


def test_sums_of_differences_that_nothing_else_reads_are_left_to_xla() -> None:
    def differences(x):
        return sum([(jnp.diff(x, axis=axis) ** 2).sum() for axis in range(3)])

    def chosen(f, n):
        fn = simplify(xfront.make_jaxpr(f)(np.ones((n, n, n), np.float32)).ir)
        return libraries.options(fn, True)

    without = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
    assert dict(chosen(differences, 65))[libraries.OPTION].startswith(without)
    assert not chosen(differences, 32)
    assert not chosen(lambda x: differences(x) + (x * x).sum(), 65)
    assert not chosen(xfront.value_and_grad(differences), 65)
    assert not chosen(lambda x: (x[1:] ** 2).sum(), 65)



def test_8_bit_integers_beside_reductions_leave_their_range(monkeypatch) -> None:
    """What XLA makes a product of elements, and windows that it makes a reduction, too."""
    lax = xfront.lax
    steps = {"product": lambda x, y: x * y, "sum": lambda x, y: x + y,
             "negative": lambda x, y: -x, "quotient": lambda x, y: lax.div(x, y),
             "matrices": lambda x, y: lax.dot_general(x, y, (((), ()), ((0, 1), (0, 1)))),
             "other": lambda x, y: x.astype("uint8" if x.dtype == "int8" else "int8")}

    def reductions(x):
        windows = lax.reduce_window(x, np.array(0, x.dtype), lax.max, (3, 1, 1), (3, 1, 1), "VALID")
        return [x.max(0), x.min(0), windows[0]]

    for flag in "01":
        monkeypatch.setenv("XFRONT_CPU_FORMS", flag)
        for dtype in ("int8", "uint8"):
            info, rng = np.iinfo(dtype), np.random.default_rng(0)
            x, y = (rng.integers(info.min, info.max, shape, dtype, endpoint=True)
                    for shape in ((3, 8, 700), (8, 700)))
            y[y == 0] = -1 if info.min else 1
            for name, step in steps.items():
                def run(x, y, step=step):
                    after = [step(r, y) for r in reductions(x)]
                    return [*after, *reductions(xfront.vmap(step, (0, None))(x, y))]

                made = xfront.make_ir(run)(x, y)
                right = evaluate(made.ir, x, y, *made.consts)
                for got, want in zip(xfront.jit(run)(x, y), right, strict=True):
                    np.testing.assert_array_equal(got, want, err_msg=f"{name}, {dtype}")


def test_programs_whose_8_bit_integers_meet_no_reduction_keep_the_library() -> None:
    def chosen(f, *args):
        return beside_reductions.meet(simplify(xfront.make_jaxpr(f)(*args).ir))

    x = np.ones((10000, 8), np.int8)
    assert chosen(lambda x: x.max(1) + 1, x)
    assert chosen(lambda x: xfront.jit(jnp.max, static_argnums=1)(x, 1) + 1, x)
    assert chosen(lambda x: (x + 1).T.max(1), x)
    assert not chosen(lambda x: x.max(0), x)
    assert not chosen(lambda x: xfront.lax.optimization_barrier((x, x)), x)
    assert not chosen(lambda x: (x + 1).max(), x[:500])
    assert not chosen(lambda x: x.max(1) + 1, x.astype(np.int16))
    assert not chosen(lambda x: jnp.maximum(x, 0.0).sum(), x.astype(np.float32))


def test_products_in_loops_count_at_every_turn() -> None:
    """One product gains with Eigen; forty turns of another, with few rows, lose more."""
    w, x, h = (np.ones(s, np.float32) for s in ((128, 64), (640, 128), (16, 512)))

    def run(w, x, h, turns):
        u = jnp.ones((128, 512))
        return x @ w, xfront.lax.fori_loop(0, turns, lambda i, h: (h @ u.T) @ u, h)

    def chosen(turns):
        fn = simplify(xfront.make_jaxpr(run, static_argnums=3)(w, x, h, turns).ir)
        return dict(libraries.options(fn, True)).get(libraries.OPTION, "")

    assert chosen(2) and "INDIVIDUAL_DOT" not in chosen(2)
    assert not chosen(40)
