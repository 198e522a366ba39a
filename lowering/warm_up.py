"""A matrix product in the background, so that the first program need not wait for its kernels.

On CPU the machine code of some products is generated when the first one runs in a process (20 to
50 ms, where the program itself runs in less than one). `begin` runs a tiny product on XLA's threads
while Python still traces and loads the user's program. The product comes from the cache on disk
like any program; without that cache, or on one core, it would gain nothing and is not run.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

from xfront_ir import dtypes, ops
from xfront_ir.core import Function
from xfront_ir.fingerprint import fingerprint
from xfront_ir.placed_builder import PlacedBuilder

from . import clients, compile_function, disk_cache

SIZE = 8
"""Rows and columns of the product; smaller products have no generated kernels."""

_begun = threading.Event()


def begin(arguments: Iterable[Any]) -> None:
    """Start the product before a program on these arrays, once in a process, on a CPU client with a
    core to spare.

    It is not started where no argument is a matrix that a library multiplies: such a program would
    wait for kernels that it does not need.
    """
    if _begun.is_set() or not any(_is_matrix(x) for x in arguments):
        return
    _begun.set()
    client = clients.default_client()
    if client.platform != "cpu" or not disk_cache.is_enabled() or cores() < 2:
        return
    product = transposed_product()
    made = compile_function(product, fingerprint=fingerprint(product))
    made.loaded.execute_sharded([])                # returns at once: it runs on XLA's threads


def transposed_product() -> Function:
    """The program `x.T @ x`, whose x is made inside it, so that no array need be transferred."""
    b = PlacedBuilder("warm_up")
    counted = b.emit(ops.iota, dtype=dtypes.f32, shape=(SIZE, SIZE), dimension=0)
    product = b.emit(ops.dot_general, counted, counted, contract=((0,), (0,)),
                     batch=((), ()), precision=None, preferred=None)
    return b.close([product])


def _is_matrix(x: Any) -> bool:
    return getattr(x, "ndim", 0) >= 2 and x.size > SIZE * SIZE


def cores() -> int:
    """The number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
