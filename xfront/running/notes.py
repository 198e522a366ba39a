"""Notes beside the programs on disk, by which a program is found before it is simplified.

The cache on disk is keyed on simplified programs. A second process would differentiate and simplify
a program only to compute its key, which takes a third of the time that loading it takes. So a note
is kept under the fingerprint of the program as it was traced: the key of the entry, the XLA
options, and the parameters and results of the simplified program.

There is no note for programs that Python is part of (custom rules, host functions), for programs on
several devices, and where options ask to look at programs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import lowering
from xfront_ir import dtypes
from xfront_ir.core import Function
from xfront_ir.fingerprint import fingerprint, is_known_by_python, is_small
from xfront_ir.types import tensor

from ..base.config import enable_checks
from ..tracing import watching
from .compiled import OutTypes
from .placement import Placement

LEAST = 64
"""The fewest ops of a program with a note: reading one takes longer than simplifying fewer."""

_ROOM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SOURCES = tuple([os.path.join(_ROOM, folder) for folder in ("tracing", "running", "transforms")])
"""Sources that decide what a traced program becomes; keys of all programs depend on others too."""


def name_of(body: Any, place: Placement, effort: str, request: tuple) -> str | None:
    """The name of the note on a traced program; None where the program gets none. `request` holds
    the arguments of `compile_body` that are part of the name."""
    from lowering import compile as xla  # with the first program, not with the library
    from lowering import disk_cache, dump
    from lowering.clients import device_kind, platform_of
    from lowering.forms.extras import extras
    from lowering.topologies import is_described

    if (type(body) is not Function or "simple" in body.memo or len(place.devices) != 1
            or not disk_cache.is_enabled() or dump.is_on() or enable_checks.value
            or watching.is_heard() or is_small(body, LEAST) or is_known_by_python(body)):
        return None
    device = place.devices[0]
    if is_described(device):
        return None
    return disk_cache.key(fingerprint(body), (
        "note", effort, request, extras(effort, platform_of(device), 1), device_kind(device),
        xla.all_of_process(), disk_cache.files_text(_SOURCES)))


def read(name: str, place: Placement) -> tuple[Any, list[bool], OutTypes] | None:
    """The executable of a program, which parameters it takes, types and weakness of its results;
    None where there is no note, or its program is gone."""
    from lowering import disk_cache  # as in `name_of`

    entry = disk_cache.load(name)
    if entry is None:
        return None
    note, _ = entry
    executable = lowering.find(note["key"], note["options"], place.devices)
    if executable is None:
        return None
    return executable, note["kept"], [(tensor(shape, dtypes.named(dtype)), weak)
                                      for dtype, shape, weak in note["results"]]


def write(name: str, executable: Any, kept: Sequence[bool], out_types: OutTypes) -> None:
    """Write the note that `read` reads; write nothing where the program is in no cache."""
    from lowering import disk_cache  # as in `name_of`

    if executable.key is not None:
        disk_cache.store(name, {
            "key": executable.key, "options": executable.overrides, "kept": list(kept),
            "results": [(t.dtype.name, t.shape, weak) for t, weak in out_types]},
            b"", float("inf"))
