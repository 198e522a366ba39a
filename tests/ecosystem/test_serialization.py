"""Arrays to files and back by TensorStore: `jax.experimental.array_serialization`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.array_serialization import serialization
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

HERE = jax.sharding.SingleDeviceSharding(jax.devices()[0])
X = np.arange(32, dtype=np.float32).reshape(8, 4)


def on(*spec, shape=(2, 2)):
    devices = np.array(jax.devices()[:4]).reshape(shape)
    return NamedSharding(Mesh(devices, ("x", "y")), P(*spec))


def saved(folder, x, **described):
    spec = serialization.get_tensorstore_spec(folder / "array", **described)
    serialization.run_serialization([x], [spec])
    return spec


def read(spec, sharding=HERE, shape=None, dtype=None):
    return serialization.run_deserialization([sharding], [spec], [shape], [dtype])[0]


@pytest.mark.parametrize("dtype", """bool int4 int8 int32 uint16 float8_e4m3fn bfloat16 float16
    float32 complex64""".split())
@pytest.mark.parametrize("shape", [(), (5,), (0, 3), (2, 3)])
def test_dtypes_and_shapes(tmp_path, dtype, shape):
    x = jnp.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    back = read(saved(tmp_path, x))
    assert back.dtype == x.dtype and back.sharding == x.sharding and back.committed
    assert np.array_equal(back, x)


@pytest.mark.parametrize("described", [{}, {"driver": "zarr3"}, {"ocdbt": True},
                                       {"arr": X, "driver": "zarr"}])
def test_a_divided_array_goes_to_other_shardings(tmp_path, described):
    x = jax.device_put(X, on("x", "y"))
    spec = saved(tmp_path, x, **{**described, **({"arr": x} if "arr" in described else {})})
    for place in (on("x", "y"), on("y"), on(), on(None, ("x", "y")), on("x", shape=(4, 1)), HERE):
        back = read(spec, place)
        assert back.sharding == place and np.array_equal(back, X)


def test_the_chunks_of_a_file_are_the_parts_of_the_array(tmp_path):
    saved(tmp_path, jax.device_put(X, on("x")))
    assert json.loads((tmp_path / "array" / ".zarray").read_text()) == {
        "chunks": [4, 4], "compressor": {"id": "zstd", "level": 1}, "dimension_separator": ".",
        "dtype": "<f4", "fill_value": None, "filters": None, "order": "C", "shape": [8, 4],
        "zarr_format": 2}
    assert {p.name for p in (tmp_path / "array").iterdir()} == {".zarray", "0.0", "1.0"}


def test_other_shapes_and_dtypes(tmp_path):
    spec = saved(tmp_path, jax.device_put(X, on("x", "y")))
    for shape in ((12, 4), (4, 4), (6, 8), (2, 6)):
        wanted = np.zeros(shape, np.float32)
        rows, columns = min(8, shape[0]), min(4, shape[1])
        wanted[:rows, :columns] = X[:rows, :columns]
        assert np.array_equal(read(spec, on("x", "y"), shape), wanted)
    assert np.array_equal(read(spec, dtype=jnp.int8), X.astype(np.int8))
    given = jax.ShapeDtypeStruct((8, 4), jnp.bfloat16, sharding=on("y"))
    back = asyncio.run(serialization.async_deserialize(given, spec))
    assert back.dtype == jnp.bfloat16 and back.sharding == on("y")


def test_what_is_refused(tmp_path):
    spec = saved(tmp_path, jnp.arange(5))
    none = serialization.get_tensorstore_spec(tmp_path / "none")
    other = serialization.get_tensorstore_spec(tmp_path / "other")
    for error, words, call in (
        (ValueError, "NOT_FOUND", lambda: read(none)),
        (ValueError, "divi", lambda: read(spec, on("x"))),
        (ValueError, "the same number of dimensions", lambda: read(spec, shape=(5, 1))),
        (ValueError, "no sharding", lambda: read(spec, jax.ShapeDtypeStruct((5,), jnp.int32))),
        (TypeError, "in_type must be a sharding", lambda: read(spec, jax.devices()[0])),
        (ValueError, "shape", lambda: serialization.run_serialization([jnp.ones(3)], [spec])),
        (TypeError, "ndarray", lambda: serialization.run_serialization([np.ones(3)], [other])),
        (TypeError, "key_data", lambda: serialization.run_serialization([jax.random.key(0)],
                                                                        [other])),
    ):
        with pytest.raises(error, match=words):
            call()


def test_reads_that_wait_for_room(tmp_path):
    specs = [serialization.get_tensorstore_spec(tmp_path / str(i)) for i in range(4)]
    serialization.run_serialization([jnp.full(3, i) for i in range(4)], specs)
    back = serialization.run_deserialization([HERE] * 4, specs, concurrent_gb=0)
    assert [int(x[0]) for x in back] == [0, 1, 2, 3]


def test_a_manager_writes_in_the_background(tmp_path):
    manager, done = serialization.GlobalAsyncCheckpointManager(), []
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    x = jax.device_put(X, on("x"))
    manager.serialize_with_paths([x, x + 1], paths, on_commit_callback=lambda: done.append(1))
    jax.jit(lambda x: x * 0, donate_argnums=0)(x)              # it has been copied
    manager.wait_until_finished()
    assert done == [1]
    a, b = manager.deserialize_with_paths([on("y"), HERE], paths)
    assert np.array_equal(a, X) and np.array_equal(b, X + 1)

    def fails():
        raise OSError("not committed")

    manager.serialize([x := jnp.ones(2)], [serialization.get_tensorstore_spec(tmp_path / "c")],
                      on_commit_callback=fails)
    with pytest.raises(OSError, match="not committed"):
        manager.serialize([x], [serialization.get_tensorstore_spec(tmp_path / "d")])


def test_nothing_is_written_before_the_commit_of_a_transaction(tmp_path):
    import tensorstore

    spec = serialization.get_tensorstore_spec(tmp_path / "a")
    transaction = tensorstore.Transaction()
    manager = serialization.GlobalAsyncCheckpointManager()
    manager.serialize([jnp.arange(3)], [spec], transaction=transaction)
    manager.wait_until_finished()
    assert not (tmp_path / "a").exists()
    transaction.commit_sync()
    assert np.array_equal(read(spec), [0, 1, 2])


PROGRAM = """
import sys, jax, numpy as np
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
from jax.experimental.array_serialization import serialization
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
on = lambda *spec: jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
data = np.arange(16.0, dtype=np.float32).reshape(8, 2)
x = jax.make_array_from_callback(data.shape, on("x"), lambda i: data[i])
manager, done = serialization.GlobalAsyncCheckpointManager(60), []
manager.serialize_with_paths([x], [sys.argv[3]], on_commit_callback=lambda: done.append(1))
manager.wait_until_finished()
assert done == [1] * (jax.process_index() == 0)
back, = manager.deserialize_with_paths([on()], [sys.argv[3]])
assert np.array_equal(back.addressable_data(0), data)
try:
    manager.serialize_with_paths([jax.numpy.ones(2)], [sys.argv[3] + "2"])
except ValueError as e:
    assert "only on devices of this process" in str(e)
else:
    raise AssertionError("an array of one process was written")

def fails():
    raise OSError("not committed")

manager.serialize_with_paths([x], [sys.argv[3] + "3"], on_commit_callback=fails)
try:
    manager.wait_until_finished()
except (OSError if jax.process_index() == 0 else RuntimeError) as e:
    print("refused", e)
"""


def test_two_processes_write_one_array(tmp_path):
    from xfront.distributed.clusters import free_port

    (tmp_path / "program.py").write_text(PROGRAM)
    start = [sys.executable, "-m", "xfront", str(tmp_path / "program.py"),
             f"localhost:{free_port()}"]
    running = [subprocess.Popen([*start, str(i), str(tmp_path / "array")], text=True,
                                cwd=Path(__file__).parents[2], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
               for i in range(2)]
    try:
        written = [p.communicate(timeout=120) for p in running]
    finally:
        for p in running:
            p.kill()
    for p, (out, err) in zip(running, written, strict=True):
        assert p.returncode == 0 and "refused" in out, err
