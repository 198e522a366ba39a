"""Primitives by name: identity, names, parameters as policies are given them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax
from xfront.eager.primitives import parameters, primitive_of
from xfront_ir.definition import REGISTRY

NAMES = """abs acos acosh add all_gather all_to_all and argmax argmin asin asinh atan atan2 atanh
axis_index bessel_i0e bessel_i1e broadcast_in_dim cbrt ceil cholesky clamp clz complex concatenate
cond conj conv_general_dilated copy cos cosh cumlogsumexp cummax cummin cumprod cumsum digamma div
dot_general dynamic_slice dynamic_update_slice eig eigh eq erf erf_inv erfc exp exp2 expm1 fft floor
gather ge gt householder_product igamma igamma_grad_a igammac imag integer_pow iota is_finite le
lgamma log log1p log2 logistic lt lu lu_pivots_to_permutation max min mul ne neg nextafter not
one_minus_square
optimization_barrier or pad pmax pmin polygamma pow ppermute psum qr random_bits random_fold_in
random_seed random_split real reduce reduce_and reduce_max reduce_min reduce_or reduce_precision
reduce_prod reduce_sum reduce_window reduce_window_max reduce_window_min reduce_window_sum
reduce_xor rem reshape rng_bit_generator rng_uniform dce_sink round rsqrt scan scatter
select_and_gather_add select_and_scatter_add
select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh
slice sort sqrt square stop_gradient sub svd tan tanh threefry2x32 top_k transpose triangular_solve
tridiagonal_solve while xor zeta""".split()
OTHERS = {"convert_element_type_p": "convert_element_type", "rev_p": "rev", "name_p": "name",
          "bitcast_convert_type_p": "bitcast_convert_type", "remat_p": "remat2", "jit_p": "jit",
          "population_count_p": "population_count", "custom_jvp_call_p": "custom_jvp_call",
          "custom_vjp_call_p": "custom_vjp_call", "scatter_add_p": "scatter-add",
          "scatter_mul_p": "scatter-mul", "scatter_min_p": "scatter-min",
          "scatter_max_p": "scatter-max",
          "linear_solve_p": "custom_linear_solve",
          "regularized_incomplete_beta_p": "regularized_incomplete_beta"}


def test_every_name_is_a_primitive_of_that_name():
    from xfront.extend.core import Primitive, primitives

    for name, own in {**{f"{n}_p": n for n in NAMES}, **OTHERS}.items():
        found = getattr(lax, name)
        assert isinstance(found, Primitive) and found.name == own == str(found)
        assert getattr(primitives, name) is found
        assert found.multiple_results is not found.definition.single
    assert lax.linalg.cholesky_p is lax.cholesky_p
    assert xfront.custom_derivatives.custom_jvp_call_p is lax.custom_jvp_call_p
    assert not hasattr(xfront.custom_derivatives, "add_p")
    assert lax.svd_p.multiple_results and not lax.add_p.multiple_results
    assert pickle.loads(pickle.dumps(lax.rev_p)) is lax.rev_p


def test_every_op_has_one_primitive():
    by_name = {}
    for definition in REGISTRY.values():
        by_name.setdefault(primitive_of(definition).name, []).append(definition.name)
    assert [ops for ops in by_name.values() if len(ops) > 1] == [["select", "select_n"]]


def test_primitives_that_are_never_recorded():
    """They can stand in a table of rules, and no two are one."""
    names = """add_jaxvals_p after_all_p approx_top_k_p call_p cholesky_update_p closed_call_p
        create_token_p custom_lin_p device_put_p empty2_p polynomial_p ragged_all_to_all_p
        remat_opt_p
        scatter_sub_p select_and_scatter_p split_p squeeze_p stack_p stage_p
        symmetric_product_p tile_p unstack_p""".split()
    found = {name: getattr(lax, name) for name in names}
    assert len(set(found.values())) == len(names)
    assert not {p.name for p in found.values()} & {
        primitive_of(d).name for d in REGISTRY.values()} - {"call"}
    for name, primitive in found.items():
        assert primitive.definition is None and getattr(lax.linalg, name) is primitive
        assert pickle.loads(pickle.dumps(primitive)) is primitive
    assert str(lax.scatter_sub_p) == "scatter-sub" and str(lax.add_jaxvals_p) == "add_any"
    assert lax.split_p.multiple_results and not lax.squeeze_p.multiple_results


@pytest.mark.parametrize("name", ["bitcast_p", "nonsense_p"])
def test_other_names_are_refused(name):
    with pytest.raises(AttributeError, match="no operation of that name"):
        getattr(lax, name)
    assert not hasattr(lax, "nonsense")


def ops_of(f, *args):
    found = {}
    for op in xfront.make_ir(f)(*args).eqns:
        found.setdefault(primitive_of(op.definition), parameters(op))
    return found


def test_parameters_have_jax_names():
    x = jnp.ones((4, 3))
    found = ops_of(lambda x: (lax.dot_general(x, x, (((1,), (1,)), ((), ())),
                                              preferred_element_type=np.float16),
                              lax.argmax(x, 1, np.int32), lax.rev(x, (0,)),
                              lax.pad(x, 0.0, ((1, 2, 0), (0, 0, 3))),
                              lax.convert_element_type(x, np.float16),
                              lax.reduce_window(x, 0.0, lax.add, (2, 1), (1, 1), "VALID"),
                              lax.slice(x, (0, 0), (4, 2), (2, 1)), x.at[1].add(2.0),
                              x[np.array([1, 0])],
                              lax.broadcast_in_dim(x, (4, 3, 2), (0, 1)),
                              lax.reshape(x, (12,)), lax.integer_pow(x, 3)), x)
    assert found[lax.dot_general_p] == {"dimension_numbers": (((1,), (1,)), ((), ())),
                                        "precision": None,
                                        "preferred_element_type": np.dtype(np.float16)}
    assert found[lax.argmax_p] == {"axes": (1,), "index_dtype": np.dtype(np.int32)}
    assert found[lax.rev_p] == {"dimensions": (0,)}
    assert found[lax.pad_p] == {"padding_config": ((1, 2, 0), (0, 0, 3))}
    assert found[lax.convert_element_type_p] == {"new_dtype": np.dtype(np.float16)}
    window = found[lax.reduce_window_sum_p]
    assert (window["window_dimensions"], window["window_strides"]) == ((2, 1), (1, 1))
    assert found[lax.slice_p] == {"start_indices": (0, 0), "limit_indices": (4, 2),
                                  "strides": (2, 1)}
    assert found[lax.scatter_add_p]["dimension_numbers"].inserted_window_dims == (0,)
    gathered = found[lax.gather_p]
    assert gathered["slice_sizes"] == (1, 3) and gathered["mode"] in lax.GatherScatterMode
    assert gathered["dimension_numbers"].collapsed_slice_dims == (0,)
    assert set(found[lax.broadcast_in_dim_p]) == {"shape", "broadcast_dimensions"}
    assert found[lax.reshape_p] == {"new_sizes": (12,)}
    assert found[lax.integer_pow_p] == {"y": 3}


def test_parameters_of_convolution_and_loops():
    x, k = jnp.ones((1, 2, 8, 8)), jnp.ones((4, 1, 3, 3))
    found = ops_of(lambda x, k: lax.conv_general_dilated(x, k, (2, 1), "SAME",
                                                         feature_group_count=2), x, k)
    given = found[lax.conv_general_dilated_p]
    assert given["window_strides"] == (2, 1) and given["feature_group_count"] == 2
    assert given["dimension_numbers"].rhs_spec == (0, 1, 2, 3)
    found = ops_of(lambda x: (lax.scan(lambda c, _: (c * 2, c), x, None, length=3),
                              lax.while_loop(lambda c: c < 9, lambda c: c * 2, x)), 1.0)
    assert found[lax.scan_p]["num_carry"] == 1 and found[lax.scan_p]["length"] == 3
    assert found[lax.while_p]["body_nconsts"] == 0


@pytest.mark.parametrize(("written", "shown"), [
    (None, None), ("default", (lax.Precision.DEFAULT,) * 2),
    ("highest", (lax.Precision.HIGHEST,) * 2),
    (("high", "highest"), (lax.Precision.HIGH, lax.Precision.HIGHEST)),
    ("F32_F32_F32", lax.DotAlgorithmPreset.F32_F32_F32)])
def test_precisions_are_members_of_their_class(written, shown):
    x = jnp.ones((2, 2))
    (eqn,) = xfront.make_jaxpr(lambda x: lax.dot(x, x, precision=written))(x).eqns
    assert eqn.params["precision"] == shown
    with xfront.default_matmul_precision("bfloat16"):
        (inner,) = xfront.make_jaxpr(lambda x: x @ x)(x).eqns
    assert inner.params["precision"] == (lax.Precision.DEFAULT,) * 2
    again = xfront.make_jaxpr(lambda x: eqn.primitive.bind(x, x, **eqn.params))(x).eqns[0]
    assert again.params == eqn.params


def test_parameters_with_a_meaning_of_none_and_those_that_a_rule_holds():
    x = jnp.ones((4, 4))
    (eqn,) = xfront.make_jaxpr(lambda x: lax.slice(x, (0, 1), (3, 4)))(x).eqns
    assert eqn.params["strides"] is None
    assert eqn.primitive.bind(x, **eqn.params).shape == (3, 3)
    for symbolic_zeros in (False, True):
        f = xfront.custom_jvp(lambda x: x * 2)
        f.defjvp(lambda p, t: (p[0] * 2, t[0] * 2), symbolic_zeros=symbolic_zeros)
        (eqn,) = xfront.make_jaxpr(f)(x).eqns
        assert eqn.params["symbolic_zeros"] is symbolic_zeros
        (again,) = eqn.primitive.bind(x, **eqn.params)
        np.testing.assert_array_equal(again, 2 * x)


def test_params_to_bind_with():
    (eqn,) = xfront.make_jaxpr(lambda x: x.sum(0))(jnp.ones((2, 3))).eqns
    made = eqn.primitive.get_bind_params(eqn.params)
    assert isinstance(made, dict) and made == dict(eqn.params)
    functions, params = made                     # as programs for JAX before 0.9.2 write it
    for out in (eqn.primitive.bind(jnp.ones((2, 3)), **made),
                eqn.primitive.bind(*functions, jnp.ones((2, 3)), **params)):
        assert out.tolist() == [2.0, 2.0, 2.0]


def test_params_of_a_call_with_a_rule_have_its_function():
    f = xfront.custom_jvp(lambda x: x * 2)
    f.defjvp(lambda p, t: (f(*p), 3 * t[0]))
    g = xfront.custom_vjp(lambda x: x * 2)
    g.defvjp(lambda x: (g(x), None), lambda _, ct: (3 * ct,))
    for h in (f, g):
        (eqn,) = xfront.make_jaxpr(h)(1.0).eqns
        made = eqn.primitive.get_bind_params(eqn.params)
        assert made["subfuns"][0].call_wrapped(4.0) == [8.0]
        assert xfront.grad(lambda x, e=eqn, p=made: e.primitive.bind(x, **p)[0])(1.0) == 3


def test_an_implementation_of_a_program_runs_where_nothing_is_traced():
    seen, sin = [], lax.sin_p.impl
    lax.sin_p.def_impl(lambda x, **params: (seen.append(x), sin(x, **params))[1])
    try:
        program = xfront.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)
        x = jnp.arange(3.0)
        for run in (lax.sin_p.bind, lax.sin_p.impl,
                    lambda x: xfront.core.eval_jaxpr(program.jaxpr, program.consts, x[0])[0]):
            seen.clear()
            run(x)
            assert len(seen) == 1
        seen.clear()
        assert xfront.grad(lax.sin_p.bind)(0.0) == 1 and xfront.jit(lax.sin_p.bind)(0.0) == 0
        assert seen == []
    finally:
        lax.sin_p.def_impl(sin)
    assert lax.sin_p.bind(0.0) == 0 and seen == []


def test_numbers_of_python_in_a_choice_have_the_dtype_of_the_other_case():
    program = xfront.make_jaxpr(xfront.nn.relu)(1.0)
    for x in (2.0, jnp.float32(2.0)):
        assert xfront.core.eval_jaxpr(program.jaxpr, program.consts, x) == [2.0]
