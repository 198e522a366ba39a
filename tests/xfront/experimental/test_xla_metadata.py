"""Attributes for XLA on functions of a program: where they stand, in derivatives too."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.experimental import xla_metadata
from xfront.experimental.xla_metadata import must_fuse_call, xla_metadata_call, xla_metadata_call2

X = jnp.arange(3.0)


def text(f, *args):
    return jax.jit(f).lower(*args).as_text()


def test_a_call_has_its_attributes_and_computes_what_its_function_does():
    scale = jnp.float32(2)
    f = xla_metadata_call(lambda x, *, n: {"y": jnp.sin(x) * scale + n}, tag='a "b"', n=3, on=True)
    wanted = np.sin(X) * 2 + 1
    for made in (f(X, n=1.0), jax.jit(lambda x: f(x, n=1.0))(X),
                 jax.vmap(lambda x: f(x, n=1.0))(X)):
        np.testing.assert_allclose(made["y"], wanted, rtol=1e-6)
    assert r'mhlo.frontend_attributes = {n = "3", on = "true", tag = "a \22b\22"}' in text(
        lambda x: f(x, n=1.0), X)
    assert 'MUST_FUSE = "1"' in text(must_fuse_call("1")(jnp.sin), X)
    assert "frontend_attributes" not in text(xla_metadata_call(jnp.sin), X)
    compiled = jax.jit(xla_metadata_call(lambda x: lax.dot(x, x), tag="here")).lower(X).compile()
    assert 'frontend_attributes={tag="here"}' in compiled.as_text()


@pytest.mark.parametrize(("derived", "wanted"), [
    ("same", ['{k = "v"}', '{k = "v"}']), ("drop", ['{k = "v"}']),
    ({"k": "back"}, ['{k = "v"}', '{k = "back"}'])])
def test_the_linear_part_of_a_derivative_has_attributes_of_its_own(derived, wanted):
    f = xla_metadata_call2(jnp.sin, {"k": "v"}, ad_metadata=derived)
    slope = jax.grad(lambda x: f(x).sum())
    np.testing.assert_allclose(slope(X), np.cos(X), rtol=1e-6)
    lines = [line for line in text(slope, X).splitlines() if "frontend_attributes" in line]
    assert [line.split("frontend_attributes = ")[1].split("}")[0] + "}" for line in lines] == wanted
    np.testing.assert_allclose(jax.jvp(f, (X,), (X,))[1], np.cos(X) * X, rtol=1e-6)


def test_attributes_are_part_of_the_key_of_a_program():
    one, two = [jax.jit(xla_metadata_call(lambda x: x + 1, tag=tag)) for tag in ("one", "two")]
    assert one(1.0) == two(1.0) == 2
    assert '"one"' in one.lower(X).as_text() and '"two"' in two.lower(X).as_text()


def test_single_operations_have_no_attributes():
    with pytest.raises(NotImplementedError, match="write xla_metadata_call"):
        xla_metadata.set_xla_metadata(tag="x")
    with pytest.raises(NotImplementedError, match="optimization_barrier"):
        xla_metadata.fuse_limit()
    with pytest.raises(TypeError, match="strings, bools, ints and floats"):
        xla_metadata_call(jnp.sin, tag=[1])
    with pytest.raises(ValueError, match="'same', 'drop' or a dict"):
        xla_metadata_call2(jnp.sin, {}, ad_metadata="other")
