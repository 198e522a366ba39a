"""Stages: trace, lower, compile; eval_shape, make_jaxpr."""

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp

X = jnp.arange(3.0)
SPEC = jax.ShapeDtypeStruct((3,), jnp.float32)


def test_compiled_functions_take_the_arguments_that_are_not_static():
    f = jax.jit(lambda x, n, *, k: x * n + k, static_argnums=1, static_argnames="k")
    compiled = f.lower(SPEC, 2, k=1).compile()
    assert compiled(X).tolist() == [1, 3, 5]
    with pytest.raises(TypeError, match="compiled for"):
        compiled(X, 2)
    with pytest.raises(TypeError, match="compiled"):
        compiled(jnp.arange(3))


def test_stages_are_shown_with_name_and_types():
    traced = jax.jit(jnp.sin).trace(SPEC)
    lowered = traced.lower()
    types = "sin: ((ShapedArray(float32[3]),), {})"
    assert [repr(s) for s in (traced, lowered, lowered.compile())] == [
        f"Traced({types})", f"Lowered({types})", f"Compiled({types})"]


def test_compiled_functions_run_in_cpp_and_refuse_what_they_cannot_take():
    compiled = jax.jit(lambda x: x + 1).lower(SPEC).compile()
    assert compiled(X).tolist() == [1, 2, 3]
    program, compiled._program = compiled._program, None        # Python has it no more
    assert compiled(X + 0).tolist() == [1, 2, 3]
    compiled._program = program
    assert compiled(np.arange(3.0)).tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match=r"x was f32\[3\], got f32\[4\]"):
        compiled(jnp.zeros(4))
    for transform in (jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())):
        with pytest.raises(TypeError, match="cannot be transformed or traced"):
            transform(compiled)(X)
    assert compiled(X).tolist() == [1, 2, 3]
    with jax.disable_jit():
        assert compiled(X).tolist() == [1, 2, 3]


def test_compiled_functions_name_what_is_gone():
    consume = jax.jit(lambda state: state + 1, donate_argnums=0).lower(SPEC).compile()
    read = jax.jit(lambda data: data * 2).lower(SPEC).compile()
    x = jnp.arange(3.0)
    assert read(x).tolist() == [0, 2, 4] and consume(x).tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="no longer there: state"):
        consume(x)
    with pytest.raises(RuntimeError, match="no longer there: data"):
        read(x)


def test_what_every_stage_knows_of_its_arguments():
    traced = jax.jit(lambda x, n, d: x * n, static_argnums=1, donate_argnums=0).trace(
        SPEC, 2, {"a": 1})
    lowered = traced.lower()
    compiled = lowered.compile()
    for stage in traced, lowered, compiled:
        args, kwargs = stage.args_info
        assert kwargs == {} and len(args) == 2
        assert args[0].shape == (3,) and args[0].donated and not args[1]["a"].donated
        assert stage.donate_argnums == (0,) and stage.in_avals[0][0].shape == (3,)
        assert stage.out_info.shape == (3,)
    assert traced.out_avals.shape == (3,) and traced.out_avals.dtype == "float32"
    assert lowered.out_info.sharding is None
    assert compiled.out_info.sharding == compiled.output_shardings
    assert "stablehlo" in lowered.as_text()


def test_compiled_costs():
    compiled = jax.jit(lambda x: x * 2).lower(SPEC).compile()
    assert compiled.cost_analysis()["flops"] == 3
    assert compiled.memory_analysis().output_size_in_bytes == 12
    assert "HloModule" in compiled.as_text()


def test_names_reach_the_program():
    def layer(x):
        with jax.named_scope("encoder"):
            return jnp.sin(x)

    text = jax.jit(layer).lower(1.0).compile().as_text()
    assert "jit(layer)" in text and "encoder/sin" in text


def test_eval_shape():
    made = jax.eval_shape(lambda x, y: {"a": x @ y, "b": None, "c": 1},
                          jax.ShapeDtypeStruct((2, 3), jnp.float32), SPEC)
    assert made["a"].shape == (2,) and made["b"] is None and made["c"].weak_type
    with pytest.raises(TypeError):
        jax.eval_shape(lambda x, s: x, X, "a")


def test_make_jaxpr():
    made, shape = jax.make_jaxpr(lambda x, n: x * n, static_argnums=1, return_shape=True)(X, 3)
    assert "mul" in str(made) and shape.shape == (3,)


def test_typeof():
    assert jax.typeof(X).shape == (3,) and jax.typeof(1.0).weak_type
    assert jax.typeof(1.0) and jax.typeof(X[:0])
    assert jax.jit(lambda x: x * jax.typeof(x).size)(X).tolist() == [0, 3, 6]


def test_infos_of_arguments_and_results_as_text():
    compiled = jax.jit(lambda x: (x.T, jax.random.key(0))).lower(jnp.ones((2, 3))).compile()
    (info,) = compiled.args_info[0]
    assert repr(info) == "ArgInfo(_aval=ShapedArray(float32[2,3]), donated=False)"
    made, key = compiled.out_info
    assert made.format.layout.major_to_minor == (0, 1) and "format=Layout(" in repr(made)
    assert made != made.update(sharding=made.sharding) and key.shape == ()
