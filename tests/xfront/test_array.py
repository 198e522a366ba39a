"""Arrays without operations: making, showing, reading, copying, placing."""

from __future__ import annotations

import copy
import gc
import importlib.util
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xfront.methods.of_arrays
import xfront.numpy as jnp
from xfront import binding
from xfront.binding import AbstractArray, put, to_numpy
from xfront.running import rows
from xfront.sharding import NamedSharding
from xfront.sharding import PartitionSpec as P

ROOT = Path(__file__).resolve().parents[2]
x = put(np.arange(3, dtype=np.float32))
s = put(1.5)
DTYPES = [
    "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32",
    "complex64", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint2,
    ml_dtypes.float4_e2m1fn,
]  # fmt: skip


# ---- types


def test_types_are_interned_and_immutable() -> None:
    a = AbstractArray((2, 3), "float32")
    assert a is AbstractArray([2, 3], np.float32) is pickle.loads(pickle.dumps(a))
    assert (a.shape, a.ndim, a.size, a.weak_type) == ((2, 3), 2, 6, False)
    assert a.update(weak_type=True).strip_weak_type() is a and a != a.update(shape=())
    assert repr(a.update(weak_type=True)) == "ShapedArray(float32[2,3], weak_type=True)"
    assert a.str_short(short_dtypes=True) == "f32[2,3]"
    with pytest.raises(AttributeError):
        a.shape = ()


# ---- making


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_go_there_and_back(dtype: Any) -> None:
    value = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    made = put(value)
    back = to_numpy(made)
    assert back.dtype == value.dtype == made.dtype and not back.flags.writeable
    assert back.shape == (3, 2) and back.tobytes() == value.tobytes()
    assert made.tolist() == value.tolist()


@pytest.mark.parametrize("dtype", [">f4", ">i8", ">u2", ">c16", "longlong", "longdouble"])
def test_byte_orders_and_wide_dtypes(dtype: str) -> None:
    value = np.array([1, 2, 300]).astype(dtype)
    np.testing.assert_array_equal(to_numpy(put(value)), value)


@pytest.mark.parametrize("dtype", [">f4", ">i2", ">f8", ">c8"])
def test_functions_refuse_the_other_byte_order_and_asarray_converts_it(dtype: str) -> None:
    """A call that C++ runs alone would read the bytes as they are."""
    value = np.ones((1, 5, 1, 7, 1), dtype)
    for call in (xfront.jit(lambda x: x + 1), xfront.vmap(jnp.square), jnp.square,
                 lambda x: xfront.grad(jnp.sum)(x), lambda x: jnp.zeros((7, 1)) * x):
        with pytest.raises(TypeError, match="byte order|newbyteorder"):
            call(value)
    for made in (jnp.asarray(value), xfront.device_put(value)):
        np.testing.assert_array_equal(made, value)


def test_64_bits_need_the_mode() -> None:
    assert put(np.arange(3)).dtype == np.int32 and put(1.0).dtype == np.float32
    before = binding.x64_state.swap_local(True)
    try:
        assert put(np.arange(3)).dtype == np.int64 and put(1j).dtype == np.complex128
    finally:
        binding.x64_state.set_local(before)


def test_layouts_of_numpy_arrays() -> None:
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    views = [value.T, value[:, ::2], value[::-1], np.broadcast_to(value[0], (2, 3, 4)), value[:0]]
    for view in views:
        np.testing.assert_array_equal(to_numpy(put(view)), view)


def test_a_later_write_does_not_reach_the_array() -> None:
    values = [np.zeros(64, np.float32) for _ in range(20)]
    arrays = [put(value) for value in values]
    for value in values:
        value[:] = 1
    assert not any(to_numpy(array).any() for array in arrays)


@pytest.mark.parametrize("wrong", ["text", object(), np.array(["a"]), np.array(["2020"], "M8[D]")])
def test_what_is_no_array_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="not a dtype that arrays can have"):
        put(wrong)


def test_integers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OverflowError):
        put(2**40)


# ---- showing

SHOWN = [
    (put(1.0, weak=True), "Array(1., dtype=float32, weak_type=True)"),
    (x, "Array([0., 1., 2.], dtype=float32)"),
    (put(np.zeros((0, 3), np.float32)), "Array([], shape=(0, 3), dtype=float32)"),
    (put(np.ones((2, 2), ml_dtypes.bfloat16)), "Array([[1, 1],\n       [1, 1]], dtype=bfloat16)"),
    (put(np.array([True, False])), "Array([ True, False], dtype=bool)"),
    (put(np.array([1 + 2j])), "Array([1.+2.j], dtype=complex64)"),
    (put(np.arange(2000)), "Array([   0,    1,    2, ..., 1997, 1998, 1999], dtype=int32)"),
    (
        put(np.arange(12).reshape(2, 6) * 10_000_000),
        "Array([[        0,  10000000,  20000000,  30000000,  40000000,  50000000],\n"
        "       [ 60000000,  70000000,  80000000,  90000000, 100000000, 110000000]],"
        "      dtype=int32)",
    ),
]


@pytest.mark.parametrize(("array", "text"), SHOWN)
def test_repr_is_as_in_jax(array: Any, text: str) -> None:
    assert repr(array) == text


def test_str_and_format() -> None:
    assert str(x) == f"{x}" == "[0. 1. 2.]" and f"{s:.3f}" == "1.500" and f"{s}" == "1.5"
    with pytest.raises(TypeError):
        format(x, ".3f")
    with np.printoptions(precision=2):
        assert repr(put(np.array([1.23456, 2]))) == "Array([1.23, 2.  ], dtype=float32)"


# ---- reading


def test_attributes() -> None:
    a = put(np.ones((2, 3), np.int16), weak=False)
    assert (a.shape, a.ndim, a.size, a.dtype) == ((2, 3), 2, 6, np.int16)
    assert (a.itemsize, a.nbytes, len(a), a.weak_type) == (2, 12, 2, False)
    assert isinstance(a, binding.Array) and not hasattr(a, "nothing")
    assert a.is_ready() and a.block_until_ready() is a and not a.is_deleted()
    assert a.on_device_size_in_bytes() == 12 and a.unsafe_buffer_pointer() > 0


def test_device_get_leaves_what_is_traced():
    def double(x):
        [same], n = xfront.device_get(([x], 2))
        assert same is x
        return same * n

    assert xfront.jit(double)(put(np.ones(2, np.float32))).tolist() == [2, 2]


def test_python_reads_scalars() -> None:
    one = put(np.ones((1, 1), np.float32))
    assert (float(s), int(s), complex(s), bool(s), bool(one)) == (1.5, 1, 1.5, True, True)
    assert [10, 20][put(1)] == 20 and hex(put(10)) == "0xa" and range(9)[put(np.uint8(3))] == 3
    assert (x.item(1), s.item(), one.item(), x.tolist(), s.tolist()) == (
        1.0,
        1.5,
        1.0,
        [0, 1, 2],
        1.5,
    )
    assert put(np.ones((2, 2))).item((0, 1)) == 1.0 == put(np.ones((2, 2))).item(put(1), 1)
    for function, error in ((int, TypeError), (float, TypeError), (complex, TypeError)):
        with pytest.raises(error, match="scalar"):
            function(one)
    for wrong in (s, put(True), put(np.ones(1, int))):
        with pytest.raises(TypeError, match="integer scalar"):
            wrong.__index__()
    with pytest.raises(TypeError):
        int(put(1 + 2j))
    with pytest.raises(ValueError):
        x.item()


def test_truth_of_many_or_none_is_refused() -> None:
    with pytest.raises(ValueError, match="more than one element"):
        bool(x)
    with pytest.raises(ValueError, match="empty"):
        bool(put(np.zeros(0)))


def test_lengths_hashes_and_assignment_are_refused() -> None:
    with pytest.raises(TypeError, match="unsized"):
        len(s)
    with pytest.raises(TypeError, match="0-d"):
        iter(s)
    with pytest.raises(TypeError, match="0-d"):
        reversed(s)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
        x[0] = 1
    with pytest.raises(TypeError, match="deletion"):
        del x[0]
    with pytest.raises(NotImplementedError, match="ravel"):
        _ = x.flat


def test_in_asks_for_one_element() -> None:
    rows = jnp.ones((2, 3))
    assert 1 in rows and 2.0 not in rows and jnp.float32(1) in rows
    for value in (np.ones(3), jnp.ones(3), np.ones(2), [1.0]):
        for call in (lambda a, value=value: value in a,
                     xfront.jit(lambda a, value=value: value in a)):
            with pytest.raises(ValueError, match="asks for one element"):
                call(rows)


def test_iteration_gives_arrays() -> None:
    rows = list(put(np.arange(6).reshape(3, 2)))
    assert [row.tolist() for row in rows] == [[0, 1], [2, 3], [4, 5]]
    weak = put(np.arange(2.0, dtype=np.float32), weak=True)
    assert all(type(item) is binding.ArrayImpl and item.weak_type for item in weak)
    assert list(put(np.zeros((0, 2)))) == []


def test_rows_of_an_array_on_a_mesh_of_one_device() -> None:
    mesh = xfront.make_mesh((1,), ("a",))
    for spec in (P(), P("a"), P(None, "a")):
        x = xfront.device_put(np.arange(6.0).reshape(2, 3), NamedSharding(mesh, spec))
        for i, row in enumerate(x):
            assert row.tolist() == [3 * i, 3 * i + 1, 3 * i + 2]
            assert row.sharding == x[i].sharding and row.committed
    keys = xfront.device_put(xfront.random.split(xfront.random.key(0)), NamedSharding(mesh, P()))
    assert [k.shape for k in keys] == [(), ()]


@pytest.mark.parametrize(("dtype", "shape"), [
    ("float32", (40,)), ("bfloat16", (33, 2)), ("bool", (16, 2, 1)), ("int4", (35,)),
    ("complex64", (17, 4)), ("float32", (32, 0)), ("float32", (3, 4)), ("int4", (5,)),
    ("bfloat16", (2, 3, 5)), ("float32", (16, 8)), ("bool", (4, 0)),
])
def test_rows_taken_apart_by_a_program(dtype, shape, monkeypatch) -> None:
    """The same arrays, in chunks; what is left over comes from the host."""
    monkeypatch.setattr(rows, "ENOUGH", 0)
    monkeypatch.setattr(rows, "ENOUGH_OF_SMALL", 0)
    numbers = (np.arange(np.prod(shape)) % 5).reshape(shape)
    host = numbers.astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
    for weak, committed in ((False, False), (dtype == "float32", True)):
        x = put(host, binding.default_device() if committed else None, weak=weak)
        made = list(x)
        assert len(made) == len(host)
        for row, wanted in zip(made, host, strict=True):
            assert type(row) is binding.ArrayImpl and row.dtype == host.dtype
            assert (row.shape, row.weak_type, row.committed) == (wanted.shape, weak, committed)
            np.testing.assert_array_equal(np.asarray(row), wanted)
    assert rows._programs


def test_rows_of_a_small_array_are_copies(monkeypatch) -> None:
    for enough in (2 ** 40, 0):                  # from the host, by a program
        monkeypatch.setattr(rows, "ENOUGH_OF_SMALL", enough)
        x = xfront.numpy.arange(12.0).reshape(3, 4)
        a, b, c = x
        with pytest.raises(ValueError, match="unpack"):
            a, b = x
        xfront.jit(lambda x: x + 1, donate_argnums=0)(x)
        assert x.is_deleted()
        assert [r.tolist() for r in (a, b, c)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
        with pytest.raises(RuntimeError, match="deleted"):
            list(x)
        assert xfront.jit(lambda b=b: [r * 2 for r in b])()[1] == 10
        turned = xfront.jit(lambda x: x.T)(xfront.numpy.arange(12.0).reshape(3, 4))
        assert [r.tolist() for r in turned] == [[i, i + 4, i + 8] for i in range(4)]
        assert xfront.grad(lambda x: sum(r.sum() * i for i, r in enumerate(x)))(
            np.ones((2, 2), np.float32)).tolist() == [[0, 0], [1, 1]]


def test_a_program_for_rows_comes_late(monkeypatch) -> None:
    monkeypatch.setattr(rows, "_read", {})
    monkeypatch.setattr(rows, "_programs", {})
    monkeypatch.setattr(rows, "ENOUGH", 64)
    x = put(np.arange(96, dtype=np.float32).reshape(48, 2))
    list(x), next(iter(x))
    assert not rows._programs
    list(x)
    assert len(rows._programs) == 1
    large = put(np.zeros((128, 5), np.float32))
    list(large), list(large)
    assert len(rows._programs) == 1
    monkeypatch.setattr(rows, "ENOUGH_OF_SMALL", 6)
    few, others = put(np.zeros((3, 5), np.float32)), put(np.zeros((3, 64), np.float32))
    for made in (1, 1, 2, 2):
        list(few), list(others)
        assert len(rows._programs) == made
    row, *_ = x
    x.delete()
    assert row.tolist() == [0, 1]


def test_numpy_reads_without_a_copy() -> None:
    view = np.asarray(x)
    assert view.ctypes.data == x.unsafe_buffer_pointer() and not view.flags.writeable
    assert np.array(x).flags.writeable and x.__array__(dtype=np.float64).dtype == np.float64
    assert np.asarray(put(np.ones(2, ml_dtypes.bfloat16))).dtype == ml_dtypes.bfloat16
    assert x.tobytes() == np.arange(3, dtype=np.float32).tobytes()
    with pytest.raises(ValueError, match="copy"):
        x.__array__(dtype=np.float64, copy=False)


def test_a_view_outlives_its_array() -> None:
    array = put(np.arange(1000.0))
    view = to_numpy(array)
    del array
    gc.collect()
    assert view[999] == 999


# ---- copies


@pytest.mark.parametrize("weak", [False, True])
def test_pickles_keep_the_weak_type(weak: bool) -> None:
    again = pickle.loads(pickle.dumps(put(2.0, weak=weak)))
    assert again.weak_type is weak and again.item() == 2.0


@pytest.mark.parametrize("function", [copy.copy, copy.deepcopy, binding.copy_array])
def test_copies_have_memory_of_their_own(function: Any) -> None:
    original = put(np.arange(4.0), weak=True)
    made = function(original)
    assert made.unsafe_buffer_pointer() != original.unsafe_buffer_pointer()
    assert made.aval is original.aval and made.sharding is original.sharding
    original.delete()
    assert made.tolist() == [0, 1, 2, 3]


def test_rewrapping_shares_the_buffer() -> None:
    weak = binding.rewrap(x, weak=True, committed=True)
    assert weak.weak_type and weak.committed and not x.weak_type and not x.committed
    assert weak.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()


def test_a_deleted_array_says_so() -> None:
    array = put(np.ones(3))
    array.delete()
    assert array.is_deleted() and array.shape == (3,)
    reads = [
        repr,
        str,
        np.asarray,
        copy.copy,
        pickle.dumps,
        lambda a: a.devices(),
        lambda a: a.item(),
    ]
    for read in reads:
        with pytest.raises(RuntimeError, match=r"deleted.*float32\[3\]"):
            read(array)


def test_dlpack() -> None:
    array = put(np.arange(16, dtype=np.float32))
    view = np.from_dlpack(array)
    assert view.ctypes.data == array.unsafe_buffer_pointer() and array.__dlpack_device__() == (1, 0)
    assert array.__dlpack_device__()[0].name == "kDLCPU"
    array.delete()  # the view is alive, so the memory is too
    assert view.sum() == 120
    copied = np.from_dlpack(x, copy=True)
    assert copied.ctypes.data != x.unsafe_buffer_pointer()
    made = binding.from_dlpack(np.arange(4, dtype=np.int32))
    assert made.tolist() == [0, 1, 2, 3] and made.dtype == np.int32
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


# ---- where arrays are


def test_placement_on_one_device() -> None:
    device = binding.default_device()
    sharding = x.sharding
    assert sharding is binding.single_device_sharding(device)
    assert sharding == binding.SingleDeviceSharding(device)
    assert hash(sharding) == hash(binding.SingleDeviceSharding(device))
    assert (x.device, x.devices(), x.committed) == (device, {device}, False)
    assert sharding.device_set == {device} == sharding.addressable_devices
    assert sharding.memory_kind == "device" and sharding.num_devices == 1
    assert sharding.is_fully_addressable and sharding.is_fully_replicated
    assert sharding.shard_shape((3,)) == (3,) and sharding.is_equivalent_to(sharding, 1)
    assert sharding.devices_indices_map((3,)) == {device: (slice(None),)}
    assert str(sharding).startswith("SingleDeviceSharding(device=")
    assert sharding.with_memory_kind("pinned_host").memory_kind == "pinned_host"
    with pytest.raises(ValueError, match="memory"):
        sharding.with_memory_kind("bogus")
    [shard] = x.addressable_shards
    assert (shard.device, shard.index, shard.replica_id) == (device, (slice(None),), 0)
    assert shard.data.tolist() == [0, 1, 2] == x.addressable_data(0).tolist()
    assert len(x.global_shards) == 1


def test_a_device_commits() -> None:
    placed = put(np.ones(2), binding.default_device())
    assert placed.committed and x.to_device(binding.default_device()).committed
    with pytest.raises(ValueError, match="device or a sharding"):
        put(np.ones(2), "cpu:0")


# ---- compiled front doors


def test_a_miss_that_raises_leaves_no_entry() -> None:
    calls = []

    def miss(*args: Any) -> tuple:
        calls.append(args)
        if len(calls) == 1:
            raise ValueError("not now")
        return args[0], None, False

    function = binding.make_pjit("f", lambda a: a, miss, global_cache_key="test")
    with pytest.raises(ValueError, match="not now"):
        function(x)
    assert function._cache_size() == 0
    assert function(x) is x and len(calls) == 2


def test_callables_without_weak_references_are_wrapped() -> None:
    doors = [binding.make_pjit("sin", np.sin, lambda a: (a, None, False)) for _ in range(3)]
    assert all(door(x) is x for door in doors)


def test_options_that_a_key_holds_separate_entries() -> None:
    def fun(a: Any) -> Any:
        return a

    seen = []

    def door(key: str) -> Any:
        def miss(a: Any) -> tuple:
            seen.append(key)
            return a, None, False

        return binding.make_pjit("f", fun, miss, global_cache_key=key)

    for function in (door("one"), door("two")):
        function(x)
    assert seen == ["one", "two"]


def doubled() -> Any:
    """An executable that adds its one argument of f32[4] to itself."""
    import jaxlib.mlir.ir as ir
    from jaxlib import xla_client
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext, _stablehlo

    context, dialects = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(dialects)
    context.append_dialect_registry(dialects)
    _stablehlo.register_dialect(context)
    module = ir.Module.parse(
        """func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
             %y = stablehlo.add %x, %x : tensor<4xf32>
             return %y : tensor<4xf32> }""",
        context,
    )
    devices = binding.DeviceList((binding.default_device(),))
    return binding.client().compile_and_load(module, devices, xla_client.CompileOptions())


@pytest.mark.parametrize("weak", [False, True])
def test_a_known_signature_stays_in_cpp(weak: bool) -> None:
    executable, sharding = doubled(), binding.default_sharding()
    aval = AbstractArray((4,), np.float32, weak)
    misses = []

    def miss(a: Any) -> tuple:
        misses.append(a)
        [out] = executable.execute_sharded([put(a)]).consume_with_handlers(
            [binding.result_handler(aval, sharding)]
        )
        tree = binding.dispatch_registry.flatten(out)[1]
        record = binding.fastpath(executable, tree, [sharding], [sharding], [aval], [False], [True])
        return out, record, False

    function = binding.make_pjit("double", lambda a: a + a, miss, global_cache_key=weak)
    array = put(np.arange(4.0))
    for _ in range(3):
        out = function(array)
        assert out.tolist() == [0, 2, 4, 6] and out.weak_type is weak and out.aval is aval
        assert not out.committed and out.sharding is sharding
    assert len(misses) == 1
    from_numpy = [function(np.arange(4.0)).tolist() for _ in range(2)]
    assert from_numpy == [[0, 2, 4, 6]] * 2 and len(misses) == 2


def test_many_threads_make_arrays() -> None:
    failures: list[Any] = []

    def work(n: int) -> None:
        try:
            for i in range(50):
                assert put(np.full(n + 1, i)).tolist() == [i] * (n + 1)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---- beside the real jax


def run(script: str, *path: str) -> subprocess.CompletedProcess:
    """A process with the project and the folders given in front on its path."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, str(ROOT)])}
    return subprocess.run(
        [sys.executable, "-c", script], env=env, cwd="/", capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def stranger(tmp_path: Path) -> str:
    """A folder with a package named jax that is not ours."""
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("here = True\n")
    return str(tmp_path)


def test_jax_after_xfront_is_refused(stranger: str) -> None:
    done = run("import xfront.binding\nimport jax", stranger)
    assert "ImportError" in done.stderr and "import xfront as jax" in done.stderr


def test_asking_whether_jax_is_there_is_no_import(stranger: str) -> None:
    script = (
        "import xfront.binding, importlib.util as u; print(u.find_spec('jax') is not None)"
    )
    assert run(script, stranger).stdout.strip() == "True"
    if importlib.util.find_spec("jax") is None:
        assert run(script).stdout.strip() == "False"


def test_xfront_after_jax_is_refused(stranger: str) -> None:
    done = run("import jax, xfront.binding", stranger)
    assert "ImportError" in done.stderr and "xfront is refused" in done.stderr


def test_a_package_that_stands_for_xfront_is_welcome(stranger: str) -> None:
    (Path(stranger) / "jax" / "_xfront_alias.py").write_text("")
    (Path(stranger) / "jax" / "__init__.py").write_text("_xfront_alias = True\n")
    for script in ("import jax, xfront.binding", "import xfront.binding, jax"):
        done = run(script, stranger)
        assert done.returncode == 0, done.stderr
    alias = "import sys, xfront; sys.modules['jax'] = xfront; import xfront.binding"
    assert run(alias, stranger).returncode == 0


def test_parts_of_an_array_on_a_mesh_of_one_device():
    device = xfront.devices()[0]
    mesh = xfront.make_mesh((1,), ("a",))
    for spec in (P("a"), P()):
        x = xfront.device_put(np.arange(4.0, dtype=np.float32), NamedSharding(mesh, spec))
        for y in (x, xfront.jit(lambda v: v + 1)(x)):
            [shard] = y.addressable_shards
            assert shard.device == device and shard.index == (slice(None),)
            assert shard.replica_id == 0 and len(y.global_shards) == 1
            for part in (shard.data, y.addressable_data(0)):
                assert part.sharding == binding.SingleDeviceSharding(device)
                assert np.array_equal(part, y)


def test_reading_back_never_imports_jax(stranger: str) -> None:
    script = """
import sys, numpy as np, ml_dtypes
import xfront.methods.of_arrays
import xfront.numpy as jnp
from xfront.binding import put, to_numpy, from_dlpack
for dtype in ("f4", ml_dtypes.bfloat16, ml_dtypes.int4):
    x = put(np.ones(3, dtype)); to_numpy(x); x.addressable_shards; x.copy_to_host_async()
from_dlpack(np.ones(16, "f4"))
assert "jax" not in sys.modules
"""
    done = run(script, stranger)
    assert done.returncode == 0, done.stderr


def test_import_makes_no_client_and_brings_nothing_heavy() -> None:
    script = """
import sys, xfront.methods.of_arrays, xfront.base.config, xfront.dtypes, xfront.tree
from xfront import binding
from lowering import clients
heavy = ("jaxlib.mlir", "scipy", "jaxlib.lapack", "opt_einsum", "jax")
print([name for name in heavy if name in sys.modules],
      binding.default_client._client, clients.is_initialized())
"""
    done = run(script)
    assert done.stdout.strip() == "[] [] False", done.stdout + done.stderr


def test_every_attribute_is_attached() -> None:
    from xfront.methods.of_arrays import SURFACE

    attached = binding.ArrayImpl.__dict__
    assert not [
        name for name, value in SURFACE.items() if value is not None and name not in attached
    ]


def test_methods_without_an_array() -> None:
    assert xfront.Array.sum(put(np.ones(3, np.float32))).tolist() == 3
    assert (xfront.Array.__add__(put(1), 2).tolist(), xfront.Array.all.__name__) == (3, "all")
    assert isinstance(xfront.Array.at, property) and not hasattr(xfront.Array, "nothing")
    assert repr(xfront.Array) == "<class 'xfront.Array'>"
