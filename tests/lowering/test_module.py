"""IR to MLIR modules: private functions, inlining, names, constants, donation, errors."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowering
from lowering.context import element_text, mlir_context
from lowering.module import symbol_text
from lowering.partitioning import Partition
from tests.work import calls
from xfront_ir import dtypes, ops
from xfront_ir.definition import REGISTRY
from xfront_ir.dtypes import BY_NAME
from xfront_ir.errors import IRValueError, MissingRule
from xfront_ir.locations import Location
from xfront_ir.opdef import define
from xfront_ir.sharding import MeshAxes, Sharding, Spec
from xfront_ir.types import tensor

V = tensor((3,), dtypes.f32)


def call(b, body, *operands):
    return b.emit(ops.call, *operands, body=body, name=body.name)


@pytest.fixture
def big(func):
    """A body of more operations than are emitted in place."""
    def make(b, x):
        for _ in range(5):
            x = b.emit(ops.sin, x)
        return [x]

    return func([V], make, "big")


def test_importing_lowering_imports_no_jaxlib() -> None:
    code = "import sys, lowering, lowering.context, lowering.module; " \
           "sys.exit(any(m.startswith('jaxlib') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_main_has_types_names_and_module_name(func) -> None:
    fn = func([V, V], lambda b, x, y: [b.emit(ops.add, x, y), x])
    text = lowering.lower(fn, name="<lambda>").as_text(debug_info=True)
    assert "module @jit__lambda_" in text
    assert '@main(%arg0: tensor<3xf32> loc("x0")' in text.replace("#loc1", '"x0"')
    assert "-> (tensor<3xf32>, tensor<3xf32>)" in text
    assert "stablehlo.add %arg0, %arg1" in text


def test_a_body_used_twice_is_one_private_function(func, big, run) -> None:
    fn = func([V], lambda b, x: call(b, big, *call(b, big, x)))
    text = lowering.lower(fn).as_text()
    assert text.count("func.func private @big") == 1 and text.count("call @big") == 2
    x = np.array([1, 2, 3], np.float32)
    want = x
    for _ in range(10):
        want = np.sin(want)
    np.testing.assert_allclose(run(fn, x)[0], want, rtol=1e-6)


def test_bodies_of_equal_content_share_a_function(func, big) -> None:
    other = func([V], lambda b, x: b.inline(big, [x]), "other")
    fn = func([V], lambda b, x: call(b, big, *call(b, other, x)))
    text = lowering.lower(fn).as_text()
    assert text.count("func.func private") == 1


def test_different_bodies_of_one_name_are_numbered(func, big) -> None:
    other = func([V], lambda b, x: [b.emit(ops.cos, *b.inline(big, [x]))], "big")
    fn = func([V], lambda b, x: call(b, other, *call(b, other, *call(b, big, *call(b, big, x)))))
    text = lowering.lower(fn).as_text()
    assert "private @big(" in text and "private @big_0(" in text


def test_a_body_used_once_or_small_is_emitted_in_place(func, big) -> None:
    small = func([V], lambda b, x: [b.emit(ops.neg, x)], "small")
    fn = func([V], lambda b, x: call(b, small, *call(b, small, *call(b, big, x))))
    assert "func.call" not in (text := lowering.lower(fn).as_text()) and "private" not in text


def test_200_nested_calls(func, big, run) -> None:
    fn = big
    for i in range(200):
        fn = func([V], lambda b, x, f=fn: [b.emit(ops.add, *call(b, f, x), x)], f"g{i}")
    x = np.zeros(3, np.float32)
    np.testing.assert_array_equal(run(fn, x)[0], x)


def test_private_functions_nest_at_most_32_deep(func, big, run) -> None:
    nested, chain = big, []
    for i in range(40):                    # each is called by the next and by main: used twice
        nested = func([V], lambda b, x, f=nested: call(b, f, x), f"g{i}")
        chain.append(nested)
    fn = func([V], lambda b, x: [call(b, f, x)[0] for f in chain])
    assert lowering.lower(fn).as_text().count("func.func private") <= 33
    x = np.zeros(3, np.float32)
    assert len(run(fn, x)) == 40


def test_text_does_not_depend_on_what_was_lowered_before(func, big) -> None:
    fn = func([V], lambda b, x: call(b, big, *call(b, big, x)))
    before = lowering.lower(fn).as_text()
    lowering.lower(big)
    lowering.lower(func([V], lambda b, x: [b.literal(2.0, dtypes.f32, (3,))]))
    assert lowering.lower(fn).as_text() == before


def test_the_work_of_lowering_is_linear(func) -> None:
    def program(n):
        def make(b, x):
            for _ in range(n):
                x = b.emit(ops.sin, x)
            return [x]

        return func([V], make)

    small, large = program(1000), program(8000)
    lowering.lower(small)
    assert calls(lambda: lowering.lower(large)) < 8 * 1.5 * calls(lambda: lowering.lower(small))


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_element_type_has_an_mlir_name(name) -> None:
    mlir = mlir_context()
    with mlir.context, mlir.unknown:
        assert str(mlir.element(BY_NAME[name])) == element_text(BY_NAME[name])


@pytest.mark.parametrize(("value", "dtype"), [
    (1.5, dtypes.f32), (-0.0, dtypes.f64), (True, dtypes.bool_), (7, dtypes.u8), (1 + 2j,
    dtypes.c64), (2.5, dtypes.f16), (np.float64("nan"), dtypes.f32)])
@pytest.mark.parametrize("shape", [(), (2, 3), (0, 2)])
def test_constants_hold_their_bits(func, run, value, dtype, shape) -> None:
    got = run(func([], lambda b: [b.literal(value, dtype, shape)]))[0]
    want = np.full(shape, value, dtype.numpy)
    assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


def test_bfloat16_constants(func) -> None:
    value = np.array([1, 0.5], ml_dtypes.bfloat16)
    text = lowering.lower(func([], lambda b: [b.literal(value)])).as_text()
    assert "dense<[1.000000e+00, 5.000000e-01]> : tensor<2xbf16>" in text


def test_keys_have_their_words_behind_their_shape(func) -> None:
    keys = tensor((5,), dtypes.key_fry)
    assert "tensor<5x2xui32>" in lowering.lower(func([keys], lambda b, k: [k])).as_text()


def test_donation_pairs_parameters_with_results_of_their_type(func, execute, arrays) -> None:
    put, handlers_of, get = arrays
    fn = func([V, V, tensor((), dtypes.f32)], lambda b, x, y, z: [b.emit(ops.add, x, y)])
    text = lowering.lower(fn, donated=(1, 2)).as_text()
    assert "%arg1: tensor<3xf32> {tf.aliasing_output = 0 : i32}" in text
    assert "%arg2: tensor<f32> {jax.buffer_donor = true}" in text
    compiled = lowering.compile_function(fn, donated=(1,))
    x, y, z = (put(np.ones(3, np.float32)), put(np.ones(3, np.float32)), put(np.float32(0)))
    (total,) = compiled.execute([x, y, z], handlers_of(fn))
    assert y.is_deleted() and not x.is_deleted()
    np.testing.assert_array_equal(get(total), np.full(3, 2, np.float32))


def test_partition_puts_meshes_and_shardings_into_the_module(func) -> None:
    fn = func([tensor((8, 8), dtypes.f32)], lambda b, x: [b.emit(ops.sin, x)])
    mesh = MeshAxes(["x"], [4], ["explicit"], "cpu", range(4))
    partition = Partition(num_partitions=4, params=(Sharding(mesh, Spec([["x"], []])),),
                          results=(Sharding(mesh.abstract, Spec([[], []], open=[1])),))
    text = lowering.lower(fn, partition=partition).as_text()
    assert text.count("sdy.mesh ") == 1 and "[{}, {?}]" in text
    assert 'sdy.mesh @mesh = <["x"=4]>' in text and "mhlo.num_partitions = 4" in text
    assert '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}' in text


def test_a_constraint_is_that_of_shardy_and_nothing_where_there_is_one_device(func) -> None:
    def constrained(size: int, **where: Any):
        sharding = Sharding(MeshAxes(["x"], [size], **where), Spec([["x"], []], open=[1]))
        return func([tensor((8, 8), dtypes.f32)],
                    lambda b, x: [b.emit(ops.sharding_constraint, x, sharding=sharding)])

    text = lowering.lower(constrained(4), partition=Partition(num_partitions=4)).as_text()
    assert 'sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {?}]>' in text
    for abstract in (constrained(1), constrained(4)):      # it lies on the one device there is
        assert "sdy" not in lowering.lower(abstract).as_text()
    with pytest.raises(IRValueError, match="for 1 devices holds the mesh"):
        lowering.lower(constrained(4, platform="cpu", devices=range(4)))


@pytest.mark.parametrize("shape", [(2**62, 2**62), (2**61,), (2**62, 2**62, 0), (2**64,), (-1, 3)])
def test_a_type_of_which_there_are_no_arrays_is_refused(func, shape) -> None:
    """XLA would end the process for most of them."""
    big = tensor(shape, dtypes.f32)
    with pytest.raises(IRValueError, match=r"f32\[.*fewer than 2\*\*63 bytes"):
        lowering.lower(func([big], lambda b, x: [b.emit(ops.sin, x)]))
    lowering.lower(func([tensor((2**60,), dtypes.f32)], lambda b, x: [b.emit(ops.sin, x)]))


def test_an_op_without_lowering_names_op_and_file(func) -> None:
    made = define("op_without_lowering", infer=lambda types, attrs: types, operands=1)
    try:
        with pytest.raises(MissingRule, match="'op_without_lowering' has no lowering"):
            lowering.lower(func([V], lambda b, x: [b.emit(made, x)]))
    finally:
        del REGISTRY["op_without_lowering"]


def test_modules_verify(func, big) -> None:
    fn = func([V], lambda b, x: call(b, big, *call(b, big, x)))
    assert lowering.lower(fn).module.operation.verify()


@pytest.mark.parametrize(("name", "symbol"), [("f", "f"), ("a.b c<d>", "a.b_c_d_"), ("", "f")])
def test_symbols_have_plain_characters(name, symbol) -> None:
    assert symbol_text(name) == symbol


def test_reductions_that_repeat_are_copies_with_places_of_their_own(func, run) -> None:
    """Each in its block: what one in a branch reads is not there for one behind it."""
    def place(line):
        user = eval(compile("\n" * (line - 1) + "lambda: 0", f"user{line}.py", "eval"))
        return Location(user.__code__, 0, ())

    def total(b, x, line):
        b.loc = place(line)
        return b.emit(ops.broadcast_in_dim, b.emit(ops.reduce_sum, x, axes=(0,)), shape=(3,),
                      dims=())

    inside = func([V], lambda b, x: [total(b, total(b, x, 3), 4)], "inside")
    other = func([V], lambda b, x: [x], "other")

    def make(b, p, x):
        (x,) = b.emit(ops.cond, p, x, branches=(other, inside))
        return [total(b, total(b, x, 5), 6), b.emit(ops.reduce_max, x, axes=(0,))]

    fn = func([tensor((), dtypes.bool_), V], make)
    text = lowering.lower(fn).as_text(debug_info=True)
    assert lowering.lower(fn).module.operation.verify()
    assert text.count("applies stablehlo.add") == 4
    for line in (3, 4, 5, 6):
        assert text.count(f'"user{line}.py":{line}:0') == 1
    x = np.arange(3, dtype=np.float32)
    for p, expected in ((True, 3 ** 4), (False, 3 ** 2)):
        np.testing.assert_array_equal(run(fn, np.asarray(p), x)[0], [expected] * 3)


def test_scatters_that_repeat_are_copies(func, run) -> None:
    numbers = dict(update_window_dims=(), inserted_window_dims=(0,), operand_batching_dims=(),
                   scatter_indices_batching_dims=(), scatter_dims_to_operand_dims=(0,),
                   indices_are_sorted=False, unique_indices=False)
    indices, rows = tensor((2, 1), dtypes.i32), tensor((2,), dtypes.f32)

    def make(b, x, at, y):
        for mode in ("fill", "clip", "fill", "clip"):
            x = b.emit(ops.scatter_add, x, at, y, mode=mode, **numbers)
        return [b.emit(ops.scatter, x, at, y, mode="fill", **numbers), x]

    fn = func([V, indices, rows], make)
    assert lowering.lower(fn).module.operation.verify()
    args = np.zeros(3, np.float32), np.array([[0], [7]], np.int32), np.array([1, 10], np.float32)
    replaced, added = run(fn, *args)
    np.testing.assert_array_equal(added, [4, 0, 20])
    np.testing.assert_array_equal(replaced, [1, 0, 20])


def test_attributes_go_by_their_names_whatever_their_order(func) -> None:
    def make(b, x):
        zero = b.zeros(tensor((), dtypes.f32))
        left = b.emit(ops.pad, x, zero, low=(1,), high=(2,), interior=(0,))
        right = b.emit(ops.pad, x, zero, high=(1,), low=(2,), interior=(0,))
        return [left, right, b.emit(ops.pad, x, zero, interior=(0,), high=(2,), low=(1,))]

    text = lowering.lower(func([V], make)).as_text()
    assert [line.split("=", 1)[1] for line in text.splitlines() if "stablehlo.pad" in line] == [
        f" stablehlo.pad %arg0, %cst, low = [{low}], high = [{high}], interior = [0] : "
        "(tensor<3xf32>, tensor<f32>) -> tensor<6xf32>" for low, high in ((1, 2), (2, 1), (1, 2))]


def test_ops_that_are_their_operand_are_left_out(func) -> None:
    def make(b, x):
        same = b.emit(ops.broadcast_in_dim, x, shape=(3,), dims=(0,))
        return [b.emit(ops.transpose, same, permutation=(0,))]

    assert "return %arg0" in lowering.lower(func([V], make)).as_text()
