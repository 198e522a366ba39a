"""composite, platform_dependent, tokens, dce_sink, and XLA's generators."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax


def test_a_composite_computes_its_decomposition():
    cubed = lax.composite(lambda x, *, scale=1.0: scale * x ** 3, "my.cube", version=2)
    assert cubed(2.0, scale=3.0) == 24.0 and isinstance(cubed(2.0), xfront.Array)
    assert xfront.grad(cubed)(2.0) == 12.0
    assert xfront.jvp(xfront.grad(cubed), (2.0,), (1.0,))[1] == 12.0
    np.testing.assert_array_equal(xfront.vmap(cubed)(jnp.arange(3.0)), [0.0, 1.0, 8.0])
    with pytest.raises(TypeError, match="function"):
        lax.composite(3, "my.three")  # type: ignore[arg-type]
    for name in ("relu", "1my.relu", "my-own.relu", "my."):
        with pytest.raises(ValueError, match="must have a namespace"):
            lax.composite(jnp.sin, name)
    with pytest.raises(TypeError, match="name must be a string"):
        lax.composite(lambda x: x, 3)  # type: ignore[arg-type]


def composites_of(f, *args):
    """The lines of a program in StableHLO that hold a composite."""
    return [line.strip() for line in xfront.jit(f).lower(*args).as_text().splitlines()
            if "stablehlo.composite" in line]


def test_the_compiler_is_told_of_a_composite():
    x = jnp.ones(3)
    cubed = lax.composite(lambda x, *, scale=1.0: scale * x ** 3, "my.cube", version=2)
    (line,) = composites_of(lambda x: cubed(x, scale=3.0), x)
    assert line == ('%0 = stablehlo.composite "my.cube" %arg0 {composite_attributes = {scale = '
                    '3.000000e+00 : f64}, decomposition = @my.cube, version = 2 : i32} : '
                    '(tensor<3xf32>) -> tensor<3xf32>')
    text = xfront.jit(cubed).lower(x).as_text()
    assert "func.func private @my.cube(%arg0: tensor<3xf32>) -> tensor<3xf32>" in text
    assert "%arg0, %arg0" not in text.partition("private")[0]
    twice = composites_of(lambda x: cubed(cubed(x)) + cubed(x, scale=2.0), x)
    assert len(twice) == 3 and "composite_attributes" not in twice[0]
    np.testing.assert_array_equal(xfront.jit(lambda x: cubed(cubed(x)) + cubed(x, scale=2.0))(x),
                                  [3.0, 3.0, 3.0])


def test_a_composite_in_bodies_and_with_rules():
    ordered = lax.composite(lambda x: jnp.sort(x, descending=True), "my.falling")

    def turn(x, _):
        return ordered(x) + jnp.arange(3.0), x.sum()

    x = jnp.array([2.0, 0.0, 1.0])
    wanted = x
    for _ in range(4):
        wanted = jnp.sort(wanted, descending=True) + jnp.arange(3.0)
    np.testing.assert_array_equal(xfront.jit(lambda x: lax.scan(turn, x, length=4)[0])(x), wanted)
    assert len(composites_of(lambda x: lax.scan(turn, x, length=4)[0], x)) == 1

    ruled = xfront.custom_jvp(lax.composite(jnp.sin, "my.sine"))
    ruled.defjvps(lambda t, y, x: 10 * t)
    assert xfront.grad(ruled)(0.0) == 10.0 and len(composites_of(ruled, 0.0)) == 1
    assert len(composites_of(lambda x: xfront.value_and_grad(ruled)(x)[0], 0.0)) == 1

    seen = []
    tells = lax.composite(lambda x: (xfront.debug.callback(seen.append, x, ordered=True), x)[1],
                          "my.telling")
    xfront.jit(lambda x: tells(tells(x) + 1))(1.0)
    xfront.effects_barrier()
    assert [float(x) for x in seen] == [1.0, 2.0]


def test_what_a_composite_closes_over_comes_first():
    x, c = jnp.arange(3.0), jnp.ones((2, 3))
    (line,) = composites_of(lambda x, y: lax.composite(lambda x: x + c - y, "my.sum")(x), x, 2.0)
    assert line.endswith("(tensor<2x3xf32>, tensor<f32>, tensor<3xf32>) -> tensor<2x3xf32>")
    np.testing.assert_array_equal(lax.composite(lambda x: x + c, "my.sum")(x), c + x)


@pytest.mark.parametrize(("value", "text"), [
    (True, "true"), (2, "2 : i64"), (-1.5, "-1.500000e+00 : f64"), ("a\"b", '"a\\22b"'),
    ((1, [2.0]), "[1, [2.000000e+00]]"), ({"b": 1}, "{b = 1 : i64}"),
    (np.array([[1, 2]], np.int32), "dense<[[1, 2]]> : tensor<1x2xi32>"),
    (np.float32(3), "3.000000e+00 : f32"), (float("inf"), "0x7FF0000000000000 : f64"),
    (np.array([True, False]), "dense<[true, false]> : tensor<2xi1>"),
    (np.zeros((0, 2), np.uint8), "dense<> : tensor<0x2xui8>"),
    (np.dtype(np.int32), "i32"), (np.uint8, "ui8"), (jnp.bfloat16, "bf16"), ((np.bool_,), "[i1]")])
def test_attributes_of_a_composite(value, text):
    (line,) = composites_of(lambda x: lax.composite(lambda x, k: x, "my.f")(x, k=value), 1.0)
    assert f"{{k = {text}}}" in line


def test_what_no_attribute_of_a_composite_can_be():
    f = lax.composite(lambda x, k: x, "my.f")
    for wrong in (jnp.ones(2), str, np.array([1j]), {1, 2}):
        with pytest.raises(TypeError, match="attribute k is"):
            f(1.0, k=wrong)
    assert f(1.0, k=None) == 1.0


def test_the_platform_chooses():
    def chosen(x, **options):
        return lax.platform_dependent(x, **options)

    twice = {"cpu": lambda x: 2 * x, "default": lambda x: 3 * x}
    assert chosen(1.0, **twice) == 2.0
    assert xfront.grad(lambda x: chosen(x, **twice))(1.0) == 2.0
    assert xfront.jit(lambda x: chosen(x, tpu=lambda x: x, default=lambda x: 3 * x))(1.0) == 3.0
    with pytest.raises(NotImplementedError, match="only for tpu"):
        chosen(1.0, tpu=lambda x: x)


def test_tokens():
    token = lax.create_token()
    assert isinstance(lax.after_all(token, lax.create_token()), type(token))
    x, after = xfront.jit(lambda x, t: (x + 1, lax.after_all(t)))(1.0, token)
    assert x == 2.0 and isinstance(after, type(token))
    with pytest.raises(TypeError, match="must be tokens, got float"):
        lax.after_all(token, 1.0)  # type: ignore[arg-type]


def test_a_sink_keeps_what_it_uses():
    def f(x, **options):
        lax.dce_sink({"of": jnp.sin(x), "none": None}, **options)
        return x * x

    def sinks(g):
        return sum(op.definition.name == "dce_sink" for op in xfront.make_ir(g)(2.0).eqns)

    assert lax.dce_sink((1.0, jnp.ones(3), xfront.random.key(0))) is None
    assert sinks(f) == 1 and xfront.jit(f)(2.0) == 4.0
    assert xfront.grad(f)(2.0) == xfront.jit(xfront.grad(f))(2.0) == 4.0
    np.testing.assert_array_equal(xfront.vmap(f)(jnp.arange(3.0)), [0.0, 1.0, 4.0])
    compiled = [xfront.jit(lambda x, keep=keep: f(x, prevent_mlir_dce=keep)).lower(2.0).compile()
                for keep in (False, True)]
    assert ["sine(" in c.as_text() for c in compiled] == [False, True]
    assert compiled[1](2.0) == 4.0
    with pytest.raises(TypeError, match="dce_sink"):
        lax.dce_sink("x")


def test_rng_bit_generator():
    key = jnp.array([1, 2, 3, 4], np.uint32)
    state, bits = lax.rng_bit_generator(key, (3, 2))
    assert bits.shape == (3, 2) and bits.dtype == np.uint32 and state.dtype == np.uint32
    again = xfront.jit(lambda k: lax.rng_bit_generator(k, (3, 2)))(key)
    np.testing.assert_array_equal(again[1], bits)
    np.testing.assert_array_equal(again[0], state)
    _, later = lax.rng_bit_generator(state, (3, 2))
    assert (np.asarray(later) != np.asarray(bits)).all()
    philox = lax.rng_bit_generator(key, (5,), algorithm=lax.RandomAlgorithm.RNG_PHILOX)
    np.testing.assert_array_equal(philox[0], [1, 2, 5, 4])      # observed of JAX
    for dtype in ("uint8", "uint16", "uint32"):
        assert lax.rng_bit_generator(key, (4,), dtype)[1].dtype.name == dtype
    _, many = lax.rng_bit_generator(key, (40_000,))
    mean = np.asarray(many, np.float64).mean() / 2 ** 32
    assert abs(mean - 0.5) < 5 * np.sqrt(1 / 12 / 40_000)


@pytest.mark.parametrize(("given", "error", "says"), [
    ({"dtype": np.int32}, TypeError, "int32"),
    ({"key": np.zeros(3, np.uint32)}, TypeError, r"u32\[3\]"),
    ({"algorithm": 7}, ValueError, "RandomAlgorithm"),
    ({"algorithm": lax.RandomAlgorithm.RNG_THREE_FRY}, NotImplementedError, "random.bits"),
])
def test_refusals_of_the_generator(given, error, says):
    with pytest.raises(error, match=says):
        lax.rng_bit_generator(**{"key": np.zeros(4, np.uint32), "shape": (2,), **given})


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "uint32"])
def test_uniform_numbers_lie_between_their_bounds(dtype):
    low, high = np.asarray([2, 9], jnp.dtype(dtype))
    drawn = lax.rng_uniform(low, high, (40, 500))
    assert drawn.shape == (40, 500) and drawn.dtype.name == dtype
    found = np.asarray(drawn, np.float64)
    integers = np.issubdtype(drawn.dtype, np.integer)
    # Rounding in half precision may give the upper bound itself.
    assert found.min() >= 2 and found.max() <= 9 - integers
    if integers:
        np.testing.assert_array_equal(np.unique(found), np.arange(2, 9))
    expected, spread = (5.0, 2.0) if integers else (5.5, 7 / np.sqrt(12))
    assert abs(found.mean() - expected) < 5 * spread / np.sqrt(found.size) + 0.01


def test_each_use_of_uniform_draws_other_numbers():
    def two(low):
        return lax.rng_uniform(low, 1.0, (4,)), lax.rng_uniform(low, 1.0, (4,))

    for first, second in (two(0.0), xfront.jit(two)(0.0)):
        assert not np.intersect1d(first, second).size
    draw = xfront.jit(lambda low: lax.rng_uniform(low, 1.0, (4,)))
    assert not np.intersect1d(draw(0.0), draw(0.0)).size
    _, many = lax.scan(lambda c, _: (c, lax.rng_uniform(0.0, 1.0, ())), 0.0, None, length=5)
    assert np.unique(many).size == 5
    lanes = xfront.vmap(lambda x: x + lax.rng_uniform(0.0, 1.0, ()))(jnp.zeros(3))
    assert np.unique(lanes).size == 1                # one number for all lanes, as in JAX
    assert lax.rng_uniform(0.0, 1.0, (0, 2)).shape == (0, 2)


def test_python_decides_by_the_number_that_the_program_goes_on_with():
    seen = []

    def scaled(x):
        factor = lax.rng_uniform(1.0, 2.0, ())
        seen.append(float(factor))
        return factor * x

    assert xfront.grad(scaled)(3.0) == seen[0]


@pytest.mark.parametrize(("bounds", "error", "says"), [
    ((0.0, 1), ValueError, "same dtype, got float32 and int32"),
    ((np.zeros(2, np.float32), np.float32(1)), ValueError, r"scalars, got shapes \(2,\)"),
    ((np.int8(0), np.int8(3)), ValueError, "int8"),
    ((False, True), ValueError, "bool"),
    ((0j, 1j), ValueError, "complex64"),
    (("a", 1), TypeError, "rng_uniform"),
])
def test_refusals_of_uniform(bounds, error, says):
    low, high = bounds
    with pytest.raises(error, match=says):
        lax.rng_uniform(low, high, (2,))
    with pytest.raises(error, match=says):
        xfront.jit(lambda: lax.rng_uniform(low, high, (2,)))()


def test_uniform_has_no_derivative_and_no_batch():
    def draw(low):
        return lax.rng_uniform(low, 1.0, (2,)).sum()

    for transformed, x in ((xfront.grad(draw), 0.0), (xfront.vmap(draw), jnp.zeros(3))):
        with pytest.raises(NotImplementedError, match="rng_uniform"):
            transformed(x)
