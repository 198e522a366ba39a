"""Writes one array and reads it: each process writes and reads the parts that its devices hold.

A TensorStore spec, a dict, says where a file is and how it is encoded; `get_tensorstore_spec` makes
the usual specs. The formats are zarr's, so that other programs can read the files.
"""

from __future__ import annotations

import asyncio
import functools
import math
import os
import re
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ... import binding
from ...base.on_demand import shown as _shown
from ...binding.tracebacks import front_door
from ...eager.devices import process_count, process_index
from ...transforms.structs import ShapeDtypeStruct
from ...values.formats import Format, sharding_in

_SCHEME = re.compile(r"^(gs|s3)://([^/]*)/?(.*)$")
_STORES = {"gs": "gcs", "s3": "s3"}


def tensorstore() -> ModuleType:
    """The package `tensorstore`. Raises: ImportError where it is not installed."""
    try:
        return import_module("tensorstore")
    except ImportError as error:
        raise ImportError("experimental.array_serialization writes and reads files with "
                          "TensorStore, which is not installed: pip install tensorstore",
                          name="tensorstore") from error


@functools.cache
def default_context() -> Any:
    """The context that limits reads and writes, to 128 files at a time and 10 GB of caches."""
    pool = {"total_bytes_limit": 10_000_000_000}
    return tensorstore().Context({"file_io_concurrency": {"limit": 128},
                                  "data_copy_concurrency": {"limit": 128},
                                  "cache_pool": pool, "cache_pool#remote": pool})


@front_door
def get_tensorstore_spec(ckpt_path: str | os.PathLike[str], ocdbt: bool = True,
                         process_idx: int | None = None, arr: Any = None,
                         driver: str = "zarr3") -> dict[str, Any]:
    """The spec of an array in a file system, at Google Cloud Storage (`gs://`) or S3 (`s3://`).

    Args:
      ckpt_path: path of the array.
      ocdbt: whether the arrays of a folder are kept in one database, as by default; `ckpt_path` is
        then the absolute path of the folder followed by the array's name.
      process_idx: number of this process, which gives it a folder of its own, or None for one
        folder; without `ocdbt` it has no effect.
      arr: array that the spec describes by its shape, by chunks that are its parts, and by the
        compression; None leaves this out.
      driver: "zarr" (version 2) or "zarr3".
    Returns: the spec, a dict.
    Raises: ValueError where the path lacks a part, or is relative with `ocdbt`, and for another
      driver.

    >>> from xfront.experimental.array_serialization import tensorstore_impl
    >>> tensorstore_impl.get_tensorstore_spec("/saved/weights", ocdbt=False, driver="zarr")
    {'driver': 'zarr', 'kvstore': {'driver': 'file', 'path': '/saved/weights'}}
    """
    if driver not in ("zarr", "zarr3"):
        raise ValueError(f"get_tensorstore_spec: driver must be 'zarr' or 'zarr3', got {driver!r}")
    path = os.fspath(ckpt_path)
    scheme = "://".join(path.split("://")[:-1])
    path = (f"{scheme}://" if scheme else "") + os.path.normpath(path.split("://")[-1])
    if ocdbt:
        folder, name = os.path.split(path)
        if scheme and path.count("/") < 4:
            raise ValueError("Using OCDBT requires the bucket name, the directory name and the "
                             f"array name, but your path is: {path}")
        if process_idx is not None:
            folder = os.path.join(folder, f"process_{process_idx}")
        if not scheme and not os.path.isabs(folder):
            raise ValueError(f"Checkpoint path should be absolute. Got {folder}")
        store: dict[str, Any] = {"driver": "ocdbt", "base": _store(folder), "path": name}
    else:
        store = _store(path)
    spec = {"driver": driver, "kvstore": store}
    return spec if arr is None else {**spec, "metadata": _metadata(driver, arr)}


def _store(path: str) -> dict[str, Any]:
    remote = _SCHEME.match(path)
    if remote is None:
        return {"driver": "file", "path": path}
    scheme, bucket, inside = remote.groups()
    if not bucket or not inside:
        raise ValueError("The ckpt_path should contain the bucket name and the file path inside "
                         f"the bucket. Got: {path}")
    return {"driver": _STORES[scheme], "bucket": bucket, "path": inside}


def _metadata(driver: str, x: Any) -> dict[str, Any]:
    """Shape and chunks in the form of the format; each part of the array is a chunk."""
    part = [max(1, n) for n in x.sharding.shard_shape(x.shape)]
    if driver == "zarr":
        return {"compressor": {"id": "zstd"}, "shape": list(x.shape), "chunks": part}
    return {"codecs": [], "shape": list(x.shape), "data_type": np.dtype(x.dtype).name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": part}}}


def _described(spec: Any, x: Any) -> dict[str, Any]:
    """The spec, completed by the array's dtype, shape and chunks where it does not give them."""
    said = dict(spec.to_json() if hasattr(spec, "to_json") else spec)
    if said.get("driver") in ("zarr", "zarr3"):
        said["metadata"] = {**_metadata(said["driver"], x), **said.get("metadata", {})}
        if said["driver"] == "zarr3" and not said["metadata"]["codecs"]:
            del said["metadata"]["codecs"]       # leaves the format's default
    return {"dtype": np.dtype(x.dtype).name, **said}


async def async_serialize(arr_inp: Any, tensorstore_spec: Any, commit_future: Any = None,
                          context: Any = None, chunk_layout: Any = None,
                          primary_host: int | None = None, replica_id: int = 0,
                          transaction: Any = None) -> None:
    """Write an array; each process writes the parts that its devices hold.

    Args:
      arr_inp: the array.
      tensorstore_spec: the spec of the file. Where it does not give a shape or chunks, the file has
        the shape of the array and its parts as chunks.
      commit_future: list to which TensorStore's futures are added; the function then returns when
        the data have been copied from the devices, and they are in the file when the futures are
        done. With None it returns when they are in the file.
      context, chunk_layout: a context and a chunk layout of TensorStore; None means `TS_CONTEXT`
        and the layout of the format.
      primary_host: number of the only process that makes the file; None lets any process make it.
      replica_id: number of the copy of each part that is written.
      transaction: a transaction of TensorStore that the caller commits; None writes at once.
    Raises: TypeError where `arr_inp` is not an array; ValueError for an array of one process in a
      program of several, and where TensorStore refuses; ImportError without TensorStore.
    """
    ts = tensorstore()
    if not isinstance(arr_inp, binding.ArrayImpl):
        raise TypeError("async_serialize: arr_inp must be an array (convert it with device_put, or "
                        f"a random key with random.key_data), got {type(arr_inp).__name__}")
    if process_count() > 1 and arr_inp.is_fully_addressable:
        raise ValueError("async_serialize: the array lies only on devices of this process, so "
                         "every process would write to the same file; pass an array on the devices "
                         f"of all processes. The file is {tensorstore_spec}")
    makes = primary_host is None or process_index() == primary_host
    held = [s for s in arr_inp.addressable_shards if s.replica_id == replica_id]
    for shard in held:
        shard.data.copy_to_host_async()
    file = await ts.open(
        ts.Spec(_described(tensorstore_spec, arr_inp)), create=makes, open=True,
        assume_metadata=not makes, context=context or default_context(), transaction=transaction,
        **({} if chunk_layout is None else {"chunk_layout": chunk_layout}))

    async def write(shard: Any) -> None:
        writing = file[shard.index].write(np.asarray(shard.data))
        if transaction is not None:              # the file stays empty until the commit
            await writing.copy
        elif commit_future is None:
            await writing.commit
        else:
            commit_future.append(writing.commit)
            await writing.copy

    await asyncio.gather(*[write(shard) for shard in held])


def estimate_read_memory_footprint(t: Any, domain: Any) -> int:
    """The number of bytes that a read of a domain of a TensorStore takes, with all chunks that the
    domain touches."""
    ts = tensorstore()
    read = t.chunk_layout.read_chunk
    size = t.dtype.numpy_dtype.itemsize
    if read.shape is None:
        return domain.size * size
    origin = t.chunk_layout.grid_origin or (0,) * t.rank
    spans = []
    for span, start, n in zip(domain, origin, read.shape, strict=True):
        first = (span.inclusive_min - start) // n
        spans.append((math.ceil((span.exclusive_max - start) / n) - first) * n if span.size else 0)
    return ts.IndexDomain(shape=spans).size * size


class ByteLimiter:
    """Lets reads run while they take at most `limit` bytes together; a read that takes more alone
    waits until no other runs."""

    def __init__(self, limit: int) -> None:
        self._limit, self._taken = limit, 0
        self._changed = asyncio.Condition()

    async def wait_for_bytes(self, requested_bytes: int) -> None:
        """Wait until there is room."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: not self._taken or self._taken + requested_bytes <= self._limit)
            self._taken += requested_bytes

    async def release_bytes(self, requested_bytes: int) -> None:
        """Return the bytes that `wait_for_bytes` took."""
        async with self._changed:
            self._taken -= requested_bytes
            self._changed.notify_all()


async def async_deserialize(in_type: Any, tensorstore_spec: Any,
                            global_shape: Sequence[int] | None = None, dtype: Any = None,
                            byte_limiter: Any = None, context: Any = None, chunk_layout: Any = None,
                            assume_metadata: bool = False) -> Any:
    """Read an array; each process reads the parts that its devices hold.

    Args:
      in_type: a Sharding, a Format, or a ShapeDtypeStruct with one of them, whose shape and dtype
        are `global_shape` and `dtype` where these are None.
      tensorstore_spec: the spec of the file.
      global_shape: shape of the result; elements beyond the file are zero, and elements of the file
        beyond the shape are left out. None means the shape of the file.
      dtype: dtype of the result, to which numbers are converted; None means that of the file.
      byte_limiter: object with coroutines `wait_for_bytes(n)` and `release_bytes(n)`, which are
        called around each read; None sets no limit.
      context, chunk_layout: a context and a chunk layout of TensorStore; None means `TS_CONTEXT`
        and the layout of the file.
      assume_metadata: whether the spec is taken to describe the file, which is then not checked.
    Raises: TypeError for another `in_type`; ValueError where the file does not exist or has another
      number of dimensions, where the shape does not divide, or a ShapeDtypeStruct has no sharding;
      ImportError without TensorStore.
    """
    ts = tensorstore()
    place = in_type
    if isinstance(in_type, ShapeDtypeStruct):
        place = in_type.format
        if in_type.sharding is None:
            raise ValueError(f"async_deserialize: {in_type} has no sharding, which is needed to "
                             "place the array")
        global_shape = in_type.shape if global_shape is None else global_shape
        dtype = in_type.dtype if dtype is None else dtype
    if not isinstance(place, (binding.Sharding, Format)) or (
            isinstance(place, Format) and place.sharding is None):
        raise TypeError("async_deserialize: in_type must be a sharding, or a Format or "
                        f"ShapeDtypeStruct that has one, got {in_type!r}")
    file = await ts.open(
        tensorstore_spec if isinstance(tensorstore_spec, ts.Spec) else ts.Spec(tensorstore_spec),
        open=True, assume_metadata=assume_metadata, context=context or default_context(),
        **({} if chunk_layout is None else {"chunk_layout": chunk_layout}))
    shape = tuple(file.shape if global_shape is None else [int(n) for n in global_shape])
    if len(shape) != file.rank:
        raise ValueError(f"async_deserialize: global_shape is {shape}, but the array in the file "
                         f"has shape {tuple(file.shape)}; both must have the same number of "
                         "dimensions")
    kind = binding.canonical_dtype(np.dtype(file.dtype.numpy_dtype if dtype is None else dtype))
    sharding = sharding_in("async_deserialize", place, shape, kind)
    sharding.shard_shape(shape)                  # refuses shapes that do not divide

    async def read(index: tuple[slice, ...]) -> np.ndarray:
        wanted = ts.IndexTransform(domain=ts.IndexDomain(shape=shape))[index].domain
        there = wanted.intersect(file.domain)
        part = np.zeros(wanted.shape, file.dtype.numpy_dtype)
        size = estimate_read_memory_footprint(file, there)
        if byte_limiter is not None:
            await byte_limiter.wait_for_bytes(size)
        try:
            await ts.array(part)[ts.d[:].translate_to[wanted.origin]][there].write(file[there])
        finally:
            if byte_limiter is not None:
                await byte_limiter.release_bytes(size)
        return part.astype(kind, copy=False)

    indices = sharding.addressable_devices_indices_map(shape)
    places: dict[Any, tuple[slice, ...]] = {}
    for index in indices.values():
        places.setdefault(_key(index, shape), index)
    parts = dict(zip(places, await asyncio.gather(*map(read, places.values())), strict=True))
    return binding.put_parts(shape, sharding,
                             {d: parts[_key(index, shape)] for d, index in indices.items()})


def _key(index: tuple[slice, ...], shape: tuple[int, ...]) -> Any:
    return tuple([span.indices(n) for span, n in zip(index, shape, strict=True)])


__all__ = ["async_deserialize", "async_serialize", "estimate_read_memory_footprint",
           "get_tensorstore_spec"]
__dir__ = _shown(globals())
