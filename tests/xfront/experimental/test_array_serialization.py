"""Specs of files and what is refused; tests/ecosystem writes and reads them, with TensorStore."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront.experimental.array_serialization import serialization, tensorstore_impl

HERE = xfront.sharding.SingleDeviceSharding(xfront.devices()[0])


@pytest.mark.parametrize("path, store", [
    ("/a/b", {"driver": "file", "path": "/a/b"}),
    ("a/b/", {"driver": "file", "path": "a/b"}),
    ("gs://bucket/a/b", {"driver": "gcs", "bucket": "bucket", "path": "a/b"}),
    ("s3://bucket/a//b/", {"driver": "s3", "bucket": "bucket", "path": "a/b"}),
])
def test_a_spec_says_where_an_array_is(path: str, store: dict[str, str]) -> None:
    spec = serialization.get_tensorstore_spec(path)
    assert spec == {"driver": "zarr", "kvstore": store}
    assert serialization.is_remote_storage(spec) == (store["driver"] != "file")


def test_a_spec_in_the_database_of_a_folder() -> None:
    spec = tensorstore_impl.get_tensorstore_spec("gs://bucket/a/b", process_idx=3)
    base = {"driver": "gcs", "bucket": "bucket", "path": "a/process_3"}
    assert spec == {"driver": "zarr3", "kvstore": {"driver": "ocdbt", "base": base, "path": "b"}}
    assert serialization.is_remote_storage(spec)


@pytest.mark.parametrize("driver, described", [
    ("zarr", {"compressor": {"id": "zstd"}, "shape": [0, 3], "chunks": [1, 3]}),
    ("zarr3", {"codecs": [], "shape": [0, 3], "data_type": "bfloat16", "chunk_grid": {
        "name": "regular", "configuration": {"chunk_shape": [1, 3]}}}),
])
def test_a_spec_describes_an_array(driver: str, described: dict[str, Any]) -> None:
    x = jnp.zeros((0, 3), jnp.bfloat16)
    spec = tensorstore_impl.get_tensorstore_spec("/a/b", arr=x, driver=driver)
    assert spec["metadata"] == described


@pytest.mark.parametrize("arguments, words", [
    (("gs://bucket", False), "bucket name and the file path"),
    (("gs://bucket/a",), "directory name and the array name"),
    (("a/b",), "should be absolute"),
    (("/a", False, None, None, "csv"), "'zarr' or 'zarr3'"),
])
def test_a_path_that_is_none(arguments: tuple, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tensorstore_impl.get_tensorstore_spec(*arguments)


def test_without_tensorstore_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch
                                                           ) -> None:
    monkeypatch.setitem(sys.modules, "tensorstore", None)
    spec = serialization.get_tensorstore_spec("/a")
    for call in (lambda: serialization.run_serialization([jnp.ones(2)], [spec]),
                 lambda: serialization.run_deserialization([HERE], [spec]),
                 lambda: serialization.GlobalAsyncCheckpointManager().serialize([jnp.ones(2)],
                                                                                [spec]),
                 lambda: serialization.TS_CONTEXT):
        with pytest.raises(ImportError, match="pip install tensorstore"):
            call()


def test_lists_of_other_lengths() -> None:
    spec = serialization.get_tensorstore_spec("/a")
    with pytest.raises(ValueError, match="shardings has 2 entries, but tensorstore_specs has 1"):
        serialization.run_deserialization([HERE, HERE], [spec])
    with pytest.raises(ValueError, match="dtypes has 2; each must have one entry for each"):
        serialization.run_deserialization([HERE], [spec], dtypes=[np.int8, np.int8])
    with pytest.raises(ValueError, match="trees differ"):
        serialization.run_serialization([jnp.ones(2)], [spec, spec])


def test_a_manager_of_ones_own_has_all_methods() -> None:
    with pytest.raises(TypeError, match="abstract"):
        serialization.GlobalAsyncCheckpointManagerBase()
    assert issubclass(serialization.GlobalAsyncCheckpointManager,
                      serialization.GlobalAsyncCheckpointManagerBase)


class Future:
    """What TensorStore gives: its result comes later."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.asked = error, False

    def result(self) -> None:
        self.asked = True
        if self.error is not None:
            raise self.error


def test_a_manager_calls_back_when_all_is_written() -> None:
    manager, done, future = serialization.AsyncManager(), [], Future()
    manager._add_futures([future])
    manager._start_async_commit(lambda: done.append(future.asked))
    manager.wait_until_finished()
    assert done == [True]


def test_a_manager_raises_once_what_failed_in_the_background() -> None:
    manager, done = serialization.AsyncManager(), []
    manager._add_futures([Future(OSError("disk full"))])
    manager._start_async_commit(lambda: done.append(True))
    with pytest.raises(OSError, match="disk full"):
        manager.wait_until_finished()
    manager.wait_until_finished()
    assert not done
