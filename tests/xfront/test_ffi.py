"""Calls of compiled functions by name: C++ that is compiled here, and LAPACK's kernels."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from lowering.attributes import attribute_text
from lowering.targets import is_met
from tests.device_checks import errors_of
from xfront import ffi, lax
from xfront.errors import JaxRuntimeError
from xfront.experimental.layout import Layout
from xfront.extend.core import Primitive, jaxpr_as_fun
from xfront.interpreters import mlir
from xfront_ir.parser import parse
from xfront_ir.printer import print_function

from .ffi_checks import CHECKS

SOURCE = Path(__file__).parents[1] / "samples" / "kernels.cc"
S = jax.ShapeDtypeStruct
X = jnp.array([1., 2., 4.])
TYPED = ("scale", "attributes", "count", "fail", "rows", "memory")


def like(x: Any) -> Any:
    return S(x.shape, x.dtype)


def capsule_of(address: int) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared library of `kernels.cc`."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler here")
    made = tmp_path_factory.mktemp("kernels") / "kernels.so"
    subprocess.run([compiler, "-std=c++17", "-O0", "-w", "-fPIC", "-shared",
                    f"-I{ffi.include_dir()}", str(SOURCE), "-o", str(made)], check=True)
    return made


@pytest.fixture(scope="session")
def library(built: Path) -> Any:
    """The library, its functions registered under `t_` and their names."""
    found = ctypes.CDLL(str(built))
    for name in TYPED:
        ffi.register_ffi_target(f"t_{name}", ffi.pycapsule(getattr(found, name)), platform="cpu")
    ffi.register_ffi_target("t_twice", ffi.pycapsule(found.twice), api_version=0)
    found.state_type_id.restype = found.state_type_info.restype = ctypes.c_void_p
    ffi.register_ffi_type("State", {"type_id": capsule_of(found.state_type_id()),
                                    "type_info": capsule_of(found.state_type_info())})
    ffi.register_ffi_target("t_next", {"instantiate": ffi.pycapsule(found.begin),
                                       "execute": ffi.pycapsule(found.next)})
    return found


def scale(x: Any, factor: float = 2.0, shift: int = 1, **options: Any) -> Any:
    return ffi.ffi_call("t_scale", like(x), **options)(x, factor=np.float32(factor), shift=shift)


def rows(x: Any, y: Any, **options: Any) -> Any:
    return ffi.ffi_call("t_rows", S(x.shape[:-1], np.float32), **options)(x, y)


# --- values -----------------------------------------------------------------------------------

@pytest.mark.slow
def test_a_function_is_called_eagerly_and_in_traced_programs(library: Any) -> None:
    want = np.array([3, 5, 9], np.float32)
    np.testing.assert_array_equal(scale(X), want)
    np.testing.assert_array_equal(jax.jit(lambda x: scale(x) + 1)(X), want + 1)
    np.testing.assert_array_equal(lax.map(scale, jnp.stack([X, X])), [want, want])
    shaped = jax.eval_shape(scale, X)
    assert shaped.shape == (3,) and shaped.dtype == np.float32


def test_results_come_in_the_structure_that_was_asked_for(library: Any) -> None:
    for kind in (tuple, list):
        made = ffi.ffi_call("t_scale", kind([like(X)]))(X, factor=np.float32(1), shift=0)
        assert type(made) is kind and len(made) == 1
    assert float(scale(jnp.float32(3))) == 7


def test_attributes_of_every_kind_arrive(library: Any) -> None:
    given: dict[str, Any] = {
        "flag": True, "small": np.int8(-3), "wide": np.uint64(2 ** 63), "number": 2.5,
        "text": "aé\n\"", "ints": np.arange(3, dtype=np.int32),
        "floats": np.ones((2, 2), np.float32), "more": {"depth": 3, "a name": "xyz"}}
    want = 1000 - 3 + 8 + 2.5 + sum(given["text"].encode()) + 3 + 4 + 3 + 3
    call = ffi.ffi_call("t_attributes", S((), np.float32))
    assert float(call(**given)) == want
    with pytest.raises(JaxRuntimeError, match="lacks depth"):
        call(**{**given, "more": {}}).block_until_ready()


def test_equal_numbers_of_other_types_are_other_attributes(library: Any) -> None:
    """2 == 2.0 == np.float32(2), and programs are found by what they hold."""
    assert float(scale(X)[0]) == 3
    for wrong in (2.0, 2, np.float64(2)):
        with pytest.raises(JaxRuntimeError, match="Wrong scalar data type"):
            ffi.ffi_call("t_scale", like(X))(X, factor=wrong, shift=1).block_until_ready()


@pytest.mark.parametrize(("value", "text"), [
    (True, "true"), (3, "3 : i64"), (0.1, "0.1 : f64"),
    (np.float32(0.1), "0.10000000149011612 : f32"),
    (1e-30, "1.0e-30 : f64"), (-0.0, "-0.0 : f64"), (float("inf"), "0x7FF0000000000000 : f64"),
    (np.float32("nan"), "0x7FC00000 : f32"), (np.uint8(200), "200 : ui8"),
    (np.int16(-2), "-2 : i16"),
    (np.bool_(False), "false"), ("a\"\\é", '"a\\22\\5C\\C3\\A9"'), (b"x", '"x"'),
    ({"b": 1, "a b": {}}, '{"a b" = {}, b = 1 : i64}'),
    (np.array([[1, 2]], np.int32), "dense<[[1, 2]]> : tensor<1x2xi32>"),
    (np.zeros((2, 0)), "dense<> : tensor<2x0xf64>"),
    (np.array(2.5), "dense<2.5> : tensor<f64>"),
    (np.array([True, False]), "dense<[true, false]> : tensor<2xi1>"),
])
def test_the_text_of_an_attribute(value: Any, text: str) -> None:
    """MLIR reads it as the attribute of that value."""
    from jaxlib.mlir import ir

    assert attribute_text(value) == text
    with ir.Context():
        read = ir.Attribute.parse(text)
        if isinstance(value, float) and value == value:
            assert ir.FloatAttr(read).value == value


@pytest.mark.parametrize("value", [None, 1j, [1], (1, 2), np.complex64(1), np.array(["a"]),
                                   object(), np.dtype("f4"), {1: 2}, X, {"a": None}])
def test_other_attributes_are_refused_by_name(value: Any) -> None:
    with pytest.raises(TypeError, match="ffi_call: the attribute 'told'"):
        ffi.ffi_call("t_memory", like(X))(X, told=value)


def test_a_traced_attribute_and_a_long_int_are_refused() -> None:
    with pytest.raises(TypeError, match="pass values that are traced as operands"):
        jax.jit(lambda v: ffi.ffi_call("t_memory", like(X))(X, told=v))(1.0)
    with pytest.raises(OverflowError, match=r"np\.uint64"):
        ffi.ffi_call("t_memory", like(X))(X, told=2 ** 63)


def test_layouts_are_those_of_the_memory_that_the_function_sees(library: Any) -> None:
    x = jnp.arange(6.).reshape(2, 3)
    columns = [0, 3, 1, 4, 2, 5]
    flat = S((6,), np.float32)
    for layout in ((1, 0), [1, 0], Layout((1, 0))):
        found = ffi.ffi_call("t_memory", flat, input_layouts=[layout])(x)
        np.testing.assert_array_equal(found, columns)
    both = ffi.ffi_call("t_memory", like(x), input_layouts=[(1, 0)], output_layouts=(1, 0))(x)
    np.testing.assert_array_equal(both, x)
    other = ffi.ffi_call("t_memory", (like(x),), output_layouts=[(1, 0)])(x)[0]
    np.testing.assert_array_equal(other, np.arange(6).reshape(3, 2).T)


def test_aliases_leave_arguments_that_are_used_later(library: Any) -> None:
    made = scale(X, input_output_aliases={0: 0})
    np.testing.assert_array_equal(made, [3, 5, 9])
    np.testing.assert_array_equal(X, [1, 2, 4])
    double = jax.jit(lambda x: (scale(x, input_output_aliases={0: 0}), x + 1))(X)
    np.testing.assert_array_equal(double, [[3, 5, 9], [2, 3, 5]])


def test_effects_run_as_often_as_the_program_says(library: Any) -> None:
    kind = S((), np.int32)
    start = library.counted()
    jax.jit(lambda x: (ffi.ffi_call("t_count", kind)(x), x)[1])(X).block_until_ready()
    assert library.counted() == start            # without an effect it may be dropped
    effect = ffi.ffi_call("t_count", kind, has_side_effect=True)
    jax.jit(lambda x: (effect(x), effect(x), x)[2])(X).block_until_ready()
    assert library.counted() == start + 2


def test_a_state_lives_as_long_as_its_program(library: Any) -> None:
    step = jax.jit(lambda: ffi.ffi_call("t_next", S((), np.int32), has_side_effect=True)(start=7))
    assert [int(step()) for _ in range(3)] == [7, 8, 9]


def test_the_interface_without_types(library: Any) -> None:
    for version in (1, 2):
        call = ffi.ffi_call("t_twice", like(X), custom_call_api_version=version,
                            legacy_backend_config="any")
        np.testing.assert_array_equal(call(X), [2, 4, 8])
    with pytest.raises(ValueError, match="require custom_call_api_version=4"):
        call(X, factor=1)


def test_what_a_function_reports_is_raised(library: Any) -> None:
    with pytest.raises(JaxRuntimeError, match="INVALID_ARGUMENT: no such luck"):
        ffi.ffi_call("t_fail", like(X))(X).block_until_ready()
    with pytest.raises(JaxRuntimeError, match="Wrong number of attributes"):
        ffi.ffi_call("t_scale", like(X))(X, shift=1).block_until_ready()


@pytest.mark.parametrize("letter", "sdcz")
def test_lapack_is_called_by_its_names(letter: str) -> None:
    """In a process that has set it up or not: calling it before would end the process."""
    dtype = np.dtype({"s": "f4", "d": "f8", "c": "c8", "z": "c16"}[letter])
    a = np.array([[2, 1], [4, 5]], dtype)
    call = ffi.ffi_call(f"lapack_{letter}getrf_ffi", (
        a, S((2,), np.int32), S((), np.int32)), input_layouts=[(1, 0)],
        output_layouts=[(1, 0), None, None], input_output_aliases={0: 0})
    with jax.enable_x64(True):
        lu, pivots, info = jax.jit(call)(a)
    np.testing.assert_array_equal(lu, np.array([[4, 5], [0.5, -1.5]], dtype))
    assert [*np.asarray(pivots)] == [2, 2] and int(info) == 0 and lu.dtype == dtype


# --- transformations --------------------------------------------------------------------------

BATCHES = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]


@pytest.mark.parametrize("method", BATCHES)
@pytest.mark.parametrize("axes", [(0, 0), (1, None), (None, 1), (1, 0)])
def test_batches_are_those_of_a_loop(library: Any, method: str, axes: tuple) -> None:
    n, shape = 2, (3, 4)
    given = []
    for i, axis in enumerate(axes):
        full = shape if axis is None else (*shape[:axis], n, *shape[axis:])
        given.append(jnp.asarray(np.random.default_rng(i).integers(0, 9, full), jnp.float32))
    taken = [lambda k, x=x, a=a: x if a is None else jnp.take(x, k, a)
             for x, a in zip(given, axes, strict=True)]
    want = [np.sum(taken[0](k) + taken[1](k), -1) for k in range(n)]
    if method == "legacy_vectorized" and axes[0] is None:
        given.reverse()                          # the function takes its shape from the first
        axes = axes[::-1]
    call = lambda x, y: rows(x, y, vmap_method=method)
    np.testing.assert_array_equal(jax.vmap(call, axes)(*given), want)
    np.testing.assert_array_equal(jax.jit(jax.vmap(call, axes))(*given), want)


@pytest.mark.parametrize("method", ["broadcast_all", "sequential"])
def test_layouts_and_aliases_of_a_batch(library: Any, method: str) -> None:
    x = jnp.arange(24.).reshape(4, 2, 3)
    call = lambda x: ffi.ffi_call("t_memory", S((6,), np.float32), vmap_method=method,
                                  input_layouts=[(1, 0)])(x)
    np.testing.assert_array_equal(jax.vmap(call, 1)(x.swapaxes(0, 1)),
                                  x.swapaxes(1, 2).reshape(4, 6))
    aliased = lambda x: scale(x, vmap_method=method, input_output_aliases={0: 0})
    np.testing.assert_array_equal(jax.vmap(jax.vmap(aliased))(x), 2 * x + 1)


def test_an_alias_of_an_operand_without_a_batch_is_refused() -> None:
    call = ffi.ffi_call("t_two", like(X), vmap_method="expand_dims", input_output_aliases={1: 0})
    with pytest.raises(ValueError, match="operand 1 shares its memory with result 0"):
        jax.vmap(call, (0, None))(jnp.ones((2, 3)), X)


def test_vmap_without_a_method_is_refused_but_not_where_nothing_is_batched(library: Any) -> None:
    with pytest.raises(NotImplementedError, match="pass vmap_method, one of 'sequential'"):
        jax.vmap(scale)(jnp.ones((2, 3)))
    np.testing.assert_array_equal(jax.vmap(lambda y: y + scale(X))(jnp.ones((2, 3))),
                                  [[4, 6, 10]] * 2)


def test_derivatives_are_refused_and_can_be_given(library: Any) -> None:
    for wrong in (lambda: jax.jvp(scale, (X,), (X,)),
                  lambda: jax.grad(lambda x: scale(x).sum())(X)):
        with pytest.raises(ValueError, match="FFI call to `t_scale` cannot be differentiated"):
            wrong()
    held = jax.grad(lambda x: (x * scale(lax.stop_gradient(x))).sum())(X)
    np.testing.assert_array_equal(held, [3, 5, 9])

    @jax.custom_jvp
    def known(x: Any) -> Any:
        return scale(x, vmap_method="broadcast_all")

    known.defjvp(lambda primals, tangents: (known(*primals), 2 * tangents[0]))
    np.testing.assert_array_equal(jax.grad(lambda x: known(x).sum())(X), [2, 2, 2])
    np.testing.assert_array_equal(jax.jacrev(known)(X), 2 * np.eye(3))


def test_a_call_inside_control_flow_and_checkpoint(library: Any) -> None:
    looped = lax.fori_loop(0, 3, lambda i, x: scale(x), X)
    np.testing.assert_array_equal(looped, [15, 23, 39])
    slope = jax.grad(jax.checkpoint(lambda x: (x * scale(lax.stop_gradient(x))).sum()))(X)
    np.testing.assert_array_equal(slope, [3, 5, 9])
    choice = jax.vmap(lambda p, x: lax.cond(p, lambda x: scale(x, vmap_method="sequential"),
                                            lambda x: x, x))(jnp.array([True, False]),
                                                             jnp.stack([X, X]))
    np.testing.assert_array_equal(choice, [[3, 5, 9], [1, 2, 4]])


# --- several devices ----------------------------------------------------------------------------

@pytest.mark.parametrize("name", CHECKS)
def test_devices(name: str, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELS", str(built))
    error = errors_of("tests.xfront.ffi_checks", {name: CHECKS[name]})[name]
    assert error is None, error


# --- text, and lowerings of primitives ------------------------------------------------------------

def test_the_text_of_a_call_is_read_again(library: Any) -> None:
    def f(x: Any) -> Any:
        return ffi.ffi_call("t_scale", [like(x)], output_layouts=[(1, 0)], vmap_method="sequential",
                            input_output_aliases={0: 0})(x, factor=np.float32(2), shift=1,
                                                         text="\"}\n{")

    x = jnp.ones((2, 3))
    text = str(jax.make_ir(f)(x))
    assert print_function(parse(text)) == text
    plain = parse(str(jax.make_ir(lambda x: scale(x, factor=0.1))(X)))
    np.testing.assert_array_equal(jax.from_ir(plain)(X), scale(X, factor=0.1))
    closed = jax.make_jaxpr(lambda x: scale(x))(X)
    assert "target_name=t_scale" in str(closed)
    np.testing.assert_array_equal(jaxpr_as_fun(closed)(X)[0], [3, 5, 9])


def test_a_primitive_is_lowered_to_a_call(library: Any) -> None:
    def primitive(target: str, **options: Any) -> Any:
        made = Primitive(target)
        made.def_abstract_eval(lambda x, **params: jax.core.ShapedArray(x.shape, x.dtype))
        mlir.register_lowering(made, ffi.ffi_lowering(target, **options), platform="cpu")
        return jax.jit(lambda x: made.bind(x, factor=np.float32(3), shift=0))

    x = jnp.arange(6.).reshape(2, 3)
    np.testing.assert_array_equal(primitive("t_scale")(x), 3 * x)
    text = primitive("t_scale", has_side_effect=True, operand_layouts=[(0, 1)],
                     operand_output_aliases={0: 0}).lower(x).as_text()
    assert "has_side_effect = true" in text and "operand_layouts = [dense<[0, 1]>" in text
    assert "result_layouts = [dense<[1, 0]>" in text and "output_operand_alias" in text
    bare = primitive("t_scale", skip_ffi_layout_processing=True).lower(x).as_text()
    assert "layouts" not in bare
    with pytest.raises(JaxRuntimeError, match="NOT_FOUND"):
        primitive("t_nowhere")(x)
    for wrong in ({"backend_config": "text"}, {"api_version": 7}, {"operand_layouts": [None] * 2}):
        with pytest.raises(ValueError):
            primitive("t_scale", **wrong)(x)
    with pytest.raises(TypeError, match="called_computations"):
        ffi.ffi_lowering("t_scale", called_computations=())


# --- refusals ---------------------------------------------------------------------------------

@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_name_that_is_not_registered_is_an_error(version: int) -> None:
    call = ffi.ffi_call("t_nowhere", like(X), custom_call_api_version=version)
    for run in (call, jax.jit(call), lambda x: lax.map(call, x[None])):
        with pytest.raises(JaxRuntimeError, match=r"NOT_FOUND.*'t_nowhere'.*register_ffi_target"):
            run(X)
    assert "@t_nowhere" in jax.jit(call).lower(X).as_text()


@pytest.mark.parametrize(("options", "message"), [
    ({"vmap_method": "both"}, "vmap_method must be None or one of"),
    ({"custom_call_api_version": 5}, "must be 1, 2, 3 or 4"),
    ({"legacy_backend_config": "x"}, "requires custom_call_api_version < 4"),
    ({"input_layouts": [(0,), (0,)]}, "a layout for each of 1 arrays"),
    ({"input_layouts": [(1,)]}, "a permutation of the 1 axes"),
    ({"output_layouts": (0, 0)}, "a permutation of the 1 axes"),
    ({"input_output_aliases": {1: 0}}, "1 arguments and 1 results"),
    ({"input_output_aliases": {0: -1}}, "1 arguments and 1 results"),
    ({"vmap_method": []}, "vmap_method must be None or one of"),
])
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ffi.ffi_call("t_memory", like(X), **options)(X)


@pytest.mark.parametrize(("options", "message"), [
    ({"custom_call_api_version": 4.0}, "custom_call_api_version must be an integer"),
    ({"custom_call_api_version": 2, "legacy_backend_config": {"a": 1}}, "must be a string"),
    ({"input_layouts": [("a",)]}, "an axis in input_layouts must be an integer, got 'a'"),
    ({"input_layouts": [{0: 0}]}, "tuples of ints, Layouts or None"),
    ({"input_output_aliases": {"a": 0, 1: 0}}, "a position in input_output_aliases"),
    ({"input_output_aliases": [(0, 0)]}, "must be a dict"),
])
def test_options_of_other_types_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ffi.ffi_call("t_memory", like(X), **options)(X)


def test_integers_of_every_class_are_options(library: Any) -> None:
    one = np.int64(0)
    call = ffi.ffi_call("t_memory", like(X), custom_call_api_version=np.int64(4),
                        input_layouts=[np.array([0])], output_layouts=[one],
                        input_output_aliases={one: one})
    np.testing.assert_array_equal(call(X), X)


def test_names_that_are_no_words_arrive_as_they_are(library: Any) -> None:
    """A name is quoted, so it is no part of the text around it."""
    for name in ("a-b", "a = 1 : i64, b", 'a"', "é"):
        text = jax.jit(lambda x, name=name: ffi.ffi_call("t_memory", like(x))(
            x, **{name: 2, "c": {name: 3}})).lower(X).as_text("ir")
        assert text.count("i64") == 2 + 2 * name.count("i64"), text
        call = ffi.ffi_call("t_scale", like(X))
        with pytest.raises(JaxRuntimeError, match=f"got 3 with name.*{re.escape(name)}"):
            call(X, factor=np.float32(2), shift=1, **{name: 2})
    for wrong, message in [({"": 1}, "must have names"), ({"a": {"": 1}}, "'a' must have names"),
                           ({"a": "\ud800"}, "the attribute 'a' must be text"),
                           ({"\ud800": 1}, "must be text that UTF-8 can hold")]:
        with pytest.raises(ValueError, match=message):
            ffi.ffi_call("t_memory", like(X))(X, **wrong)
    for call in (lambda name: ffi.ffi_call(name, like(X)),
                 lambda name: ffi.register_ffi_target(name, ffi.pycapsule(library.scale)),
                 ffi.register_ffi_target_as_batch_partitionable):
        with pytest.raises(ValueError, match="must be text that UTF-8 can hold"):
            call("t_\ud800")


def test_results_and_arguments_that_are_no_arrays_are_refused() -> None:
    for shape, error, message in [((2.5,), TypeError, "result 0 must be an integer, got 2.5"),
                                  ((-1,), ValueError, "must not have negative sizes"),
                                  ((2**62, 2), ValueError, r"fewer than 2\*\*63 bytes")]:
        with pytest.raises(error, match=message):
            ffi.ffi_call("t_memory", S(shape, np.float32))(X)
    for wrong in (None, {"a": like(X)}, [[like(X)]]):
        with pytest.raises(ValueError, match="object with shape and dtype"):
            ffi.ffi_call("t_memory", wrong)
    with pytest.raises(TypeError, match="wrap_key_data"):
        ffi.ffi_call("t_memory", jax.random.key(0))
    with pytest.raises(TypeError, match="not a valid array type"):
        ffi.ffi_call("t_memory", like(X))([1.0])
    with pytest.raises(ValueError, match=r"argument 0 is f32\[3\] and result 0 is f32\[2\]"):
        ffi.ffi_call("t_memory", S((2,), np.float32), input_output_aliases={0: 0})(X)
    with pytest.raises(ValueError, match="write pure_callback"):
        ffi.ffi_call("xla_ffi_python_cpu_callback", like(X))(X, index=np.uint64(9))


def test_registrations_that_xla_could_not_use_are_refused(library: Any) -> None:
    held = ffi.pycapsule(library.scale)
    for wrong, message in [((1, held), "name must be a string"), (("t_a", 3), "PyCapsule"),
                           (("t_a", {"execute": None}), "the stage 'execute'")]:
        with pytest.raises(TypeError, match=message):
            ffi.register_ffi_target(*wrong)
    for wrong, message in [(("t_a", held, "vulkan"), "platform must be one of"),
                           (("t_a", held, "cpu", 2), "api_version must be 1"),
                           (("t_a", {"begin": held}), "must have the stage 'execute'"),
                           (("t_twice", held, "cpu", 0), "another function is registered")]:
        with pytest.raises(ValueError, match=message):
            ffi.register_ffi_target(*wrong)
    ffi.register_ffi_target("t_scale", held)     # the same one again
    with pytest.raises(JaxRuntimeError, match="Duplicate"):
        ffi.register_ffi_target("t_scale", ffi.pycapsule(library.rows))
    for wrong in (3, None, "scale", 140000000):
        with pytest.raises(TypeError, match="a library that ctypes loaded"):
            ffi.pycapsule(wrong)
    ffi.register_ffi_target("t_waiting", held, platform="ROCM")     # used when its plugin is loaded
    with pytest.raises(ValueError, match="register_ffi_type"):
        ffi.register_ffi_type_id("State", held)


# --- programs on disk ---------------------------------------------------------------------------

PROGRAM = """
import ctypes, sys
import numpy as np
import lowering.compile
import xfront as jax
from xfront import ffi
from xfront.errors import JaxRuntimeError

library, what = sys.argv[1:]
if what != "none":
    ffi.register_ffi_target("t_kept", ffi.pycapsule(getattr(ctypes.CDLL(library), what)))
if what == "memory":
    ffi.register_ffi_target_as_batch_partitionable("t_kept")
compiled, real = [], lowering.compile.compile_module
lowering.compile.compile_module = lambda *a: (compiled.append(1), real(*a))[1]
x = np.float32([1, 2])
try:
    print(np.asarray(jax.jit(ffi.ffi_call("t_kept", x))(x)).tolist(), len(compiled))
except JaxRuntimeError as e:
    print(str(e)[:9], len(compiled))
"""


@pytest.mark.slow
def test_a_program_on_disk_is_that_of_the_name(built: Path, tmp_path: Path) -> None:
    """It calls what this process registered, or is refused as if it were new; and a program for
    functions that devices call for parts is not that for others."""
    def run(what: str) -> str:
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(built), what], text=True,
                              capture_output=True, env={**os.environ, "XFRONT_CACHE": "1",
                                                        "XFRONT_CACHE_DIR": str(tmp_path)})
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run("echo") == "[1.0, 2.0] 1"
    assert run("echo") == "[1.0, 2.0] 0"
    assert run("none") == "NOT_FOUND 1"
    assert run("negated") == "[-1.0, -2.0] 0"
    assert run("memory") == "[1.0, 2.0] 1"
    assert run("echo") == "[1.0, 2.0] 1"


def test_what_a_program_needs(library: Any) -> None:
    assert is_met("typed:t_scale") and is_met("untyped:t_twice") and is_met("plugin:t_any")
    assert not is_met("typed:t_nowhere") and not is_met("typed+batch:t_scale")
    assert not is_met("unknown:t_scale") and not is_met("")
