"""Compiled programs as bytes, for another process with the same jaxlib and devices of that kind.

The bytes hold machine code: load only bytes that you trust. They are checked (docs/export.md)
before jaxlib sees them, and nothing in them is unpickled. `xfront.export` writes programs that
other machines and later versions can read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lowering
import numpy as np
from lowering import clients, compat, disk_cache
from lowering.clients import device_kind, platform_of
from lowering.partitioning import Partition
from xfront_ir.errors import IRError
from xfront_ir.parser import parse_mesh, parse_sharding, parse_type
from xfront_ir.sharding import MeshAxes

from .. import binding
from ..base.containers import Container
from ..base.on_demand import shown as _shown
from ..base.trees import PyTreeDef
from ..eager.dispatch import Program
from ..running.compiled import Compiled as CompiledBody
from ..running.compiled import SpreadProgram
from ..running.placement import Placement, placement_of
from ..sharding.mesh import AxisType, Mesh
from ..sharding.named import NamedSharding, abstract_sharding, ir_sharding
from ..sharding.spread import spread_over
from ..transforms.signature import Kind, Signature
from ..transforms.stages import Compiled

BYTES = Container("a serialized executable", b"xfront-exe\n", 1, 1)


def serialize(compiled: Compiled) -> tuple[bytes, Any, Any]:
    """A compiled program as bytes.

    Args:
      compiled: the result of `jit(f).lower(...).compile()`. Arrays that `f` captured become part of
        the bytes.
    Returns: (bytes, in_tree, out_tree), the arguments of `deserialize_and_load`. The trees hold
      what the registered classes put in them; pickle them, or make them anew in the process that
      loads the bytes.
    Raises: TypeError where `compiled` is of another class; NotImplementedError for programs that
      call functions of this process, that take references, or that run on devices of several
      processes.

    >>> from xfront.experimental import serialize_executable
    >>> compiled = xfront.jit(lambda x: 2 * x).lower(jnp.ones(3)).compile()
    >>> again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    >>> again(jnp.arange(3.))
    Array([0., 2., 4.], dtype=float32)
    """
    if not isinstance(compiled, Compiled):
        raise TypeError("serialize: expected a compiled program, the result of "
                        f"jit(f).lower(...).compile(), got {compiled!r} of type "
                        f"{type(compiled).__name__}")
    program, signature, place = compiled._program, compiled.signature, compiled._place
    body = program.compiled
    executable = body.executable
    if executable.has_callbacks:
        raise NotImplementedError(f"serialize: {signature.name} calls functions of this process, "
                                  "which have no bytes; compile it in the process that runs it")
    if any(t.dtype.is_ref for t, _ in signature.kinds):
        raise NotImplementedError(f"serialize: {signature.name} takes references; pass their "
                                  "contents and return the new ones")
    spread = None
    if type(place) is not Placement:
        if not place.is_of_one_process or not place.sharding.is_fully_addressable:
            raise NotImplementedError(f"serialize: {signature.name} runs on devices of several "
                                      "processes; compile it in each of them")
        spread = _spread(body, executable.partition)
    captures = [np.ascontiguousarray(binding.to_numpy(x)) for x in program.constants]
    first = place.devices[0]
    header = {
        "name": signature.name, "executable": executable.name, "options": executable.overrides,
        "requirements": executable.requirements, "kept": body.kept,
        "committed": compiled._committed, "kinds": _written(signature.kinds),
        "outs": _written(signature.outs), "donated": signature.donated, "read": signature.read,
        "names": signature.names, "spread": spread,
        "captures": [[np.dtype(x.dtype).name, x.shape, bool(c.aval.weak_type)]
                     for x, c in zip(captures, program.constants, strict=True)],
        "jaxlib": compat.JAXLIB_VERSION, "platform": platform_of(first),
        "device_kind": device_kind(first), "host": _host(first),
        "devices": [d.id for d in place.devices]}
    blobs = [executable.serialize(), *[x.tobytes() for x in captures]]
    return BYTES.write(header, blobs), compiled.in_tree, compiled.out_tree


def deserialize_and_load(serialized: bytes, in_tree: Any, out_tree: Any,
                         backend: str | Any | None = None,
                         execution_devices: Sequence[Any] | None = None) -> Compiled:
    """The compiled program of `serialize`.

    Args:
      serialized, in_tree, out_tree: what `serialize` returned.
      backend: name of a platform, or a client; None means the platform of the program.
      execution_devices: the devices that run the program, as many as it was compiled for; None
        means those of the backend with the ids that it was compiled for, or, for a program of one
        device that is not here, the first device.
    Returns: a program that is called as the one that was serialized. It has no trace, so options
      that look for the operation that made a NaN only say that there was one.
    Raises: TypeError where the arguments are of another type; ValueError where the bytes are
      damaged, where another version of jaxlib, platform, kind of device or CPU made them, or where
      trees or devices do not fit; RuntimeError where the backend cannot be used.

    >>> from xfront.experimental import serialize_executable
    >>> compiled = xfront.jit(lambda x: x + 1).lower(jnp.ones(2)).compile()
    >>> code, in_tree, out_tree = serialize_executable.serialize(compiled)
    >>> serialize_executable.deserialize_and_load(code, in_tree, out_tree)(jnp.zeros(2))
    Array([1., 1.], dtype=float32)
    """
    header, blobs = BYTES.read(serialized)
    for name, tree in (("in_tree", in_tree), ("out_tree", out_tree)):
        if not isinstance(tree, PyTreeDef):
            raise TypeError(f"deserialize_and_load: {name} must be the tree that serialize "
                            f"returned, got {tree!r} of type {type(tree).__name__}")
    try:
        return _loaded(header, blobs, in_tree, out_tree, backend, execution_devices)
    except (KeyError, IndexError, TypeError, AttributeError, IRError, compat.RuntimeFailure) as e:
        raise ValueError(f"a serialized executable is malformed: {type(e).__name__}: {e}") from e


def _loaded(header: dict[str, Any], blobs: list[bytes], in_tree: Any, out_tree: Any,
            backend: Any, execution_devices: Sequence[Any] | None) -> Compiled:
    kinds, outs = _read_kinds(header["kinds"]), _read_kinds(header["outs"])
    _check_tree("in_tree", in_tree, len(kinds))
    _check_tree("out_tree", out_tree, len(outs))
    devices = _devices(header, backend, execution_devices)
    spread = header["spread"]
    partition = Partition() if spread is None else Partition(
        1, len(devices), _shardings(spread["params"]), _shardings(spread["results"]),
        parse_mesh(spread["mesh"]))
    requirements = [str(r) for r in header["requirements"]]
    if not compat.meet(requirements):
        raise ValueError(f"the program needs {requirements}, which this xfront does not have")
    executable = lowering.deserialize(
        blobs[0], name=header["executable"], devices=devices, partition=partition,
        options=[tuple(pair) for pair in header["options"]], requirements=requirements)
    if spread is None:
        place: Any = placement_of(binding.single_device_sharding(devices[0]))
        body = CompiledBody(executable, header["kept"], outs, place)
    else:
        place, ins = _place(spread, devices)
        body = SpreadProgram(executable, header["kept"], outs, place, ins)
    signature = Signature(header["name"], in_tree, kinds, header["donated"], header["read"],
                          header["names"], out_tree, outs)
    captures = [_capture(facts, blob) for facts, blob in
                zip(header["captures"], blobs[1:], strict=True)]
    committed = bool(header["committed"]) or execution_devices is not None
    return Compiled(Program(body, captures, out_tree, None, True), signature, place, committed)


def _check_tree(name: str, tree: PyTreeDef, n: int) -> None:
    if name == "in_tree" and [c.node_data() and c.node_data()[0] for c in tree.children()] != [
            tuple, dict]:
        raise ValueError("deserialize_and_load: in_tree must be the structure of a pair of the "
                         f"positional arguments and the keyword arguments, got {tree}")
    if tree.num_leaves != n:
        raise ValueError(f"deserialize_and_load: {name} has {tree.num_leaves} leaves, but the "
                         f"program has {n}: {tree}")


# --- devices ------------------------------------------------------------------------------

def _host(device: Any) -> str:
    """A text of the features of a CPU on which machine code depends besides the kind of device."""
    return disk_cache.cpu_text() if platform_of(device) == "cpu" else ""


def _devices(header: dict[str, Any], backend: Any, asked: Sequence[Any] | None) -> list[Any]:
    """The devices that run the program. Raises: ValueError where they do not fit it."""
    ids, platform = header["devices"], header["platform"]
    if header["jaxlib"] != compat.JAXLIB_VERSION:
        raise ValueError(f"the program was compiled by jaxlib {header['jaxlib']}, but this is "
                         f"jaxlib {compat.JAXLIB_VERSION}: compile it anew, or keep programs for "
                         "several versions with xfront.export")
    if backend is None or isinstance(backend, str):
        wanted = clients.ALIASES.get(backend, (backend,))[0] if backend else platform
        if wanted != platform:
            raise ValueError(f"the program was compiled for {platform}, but backend is "
                             f"{backend!r}")
        client = clients.client(platform)
    else:
        client = backend
    here = client.local_devices()
    if asked is None:
        by_id = {d.id: d for d in here}
        if len(ids) == 1:
            found = [by_id.get(ids[0], here[0])]
        elif missing := [i for i in ids if i not in by_id]:
            raise ValueError(f"the program was compiled for {len(ids)} devices, ids {ids}, but "
                             f"there are none with ids {missing}: give execution_devices")
        else:
            found = [by_id[i] for i in ids]
    else:
        found = list(asked)
        if strangers := [d for d in found if d not in here]:
            raise ValueError(f"execution_devices must be local devices of {client.platform}, got "
                             f"{strangers[0]!r}")
        if len(found) != len(ids) or len({*found}) != len(ids):
            raise ValueError(f"the program was compiled for {len(ids)} devices, but "
                             f"execution_devices has {len({*found})} different ones: {found}")
    for what, of in (("kind", header["device_kind"]), ("platform", platform), ("CPU", "")):
        there = {"kind": device_kind, "platform": platform_of, "CPU": _host}[what](found[0])
        if what == "CPU" and there != header["host"]:
            raise ValueError("the program was compiled for a CPU of another model or with other "
                             "features: compile it anew, or use xfront.export")
        if what != "CPU" and there != of:
            raise ValueError(f"the program was compiled for devices of {what} {of}, but "
                             f"{found[0]} is of {what} {there}")
    return found


# --- what the header holds ----------------------------------------------------------------

def _written(kinds: Sequence[Kind]) -> list[Any]:
    return [[repr(t), w] for t, w in kinds]


def _read_kinds(written: Sequence[Any]) -> list[Kind]:
    return [(parse_type(t), bool(w)) for t, w in written]


def _capture(facts: Any, blob: bytes) -> Any:
    name, shape, weak = facts
    array = np.frombuffer(blob, np.dtype(name)).reshape(shape)
    return binding.put(array, weak=weak, copy=True)


def _spread(body: SpreadProgram, partition: Partition) -> dict[str, Any]:
    """The shardings of a program on several devices."""
    mesh = body.place.mesh
    return {"axes": repr(mesh.axes.abstract), "mesh": repr(partition.mesh),
            "params": [s and repr(s) for s in partition.params],
            "results": [s and repr(s) for s in partition.results],
            "ins": [_placed(s) for s in body.ins], "outs": [_placed(s) for s in body.out_shardings],
            "given": [_placed(s) for s in body.place.ins]}


def _placed(sharding: Any) -> Any:
    """A sharding of an array: its axes as text, and its kind of memory."""
    if sharding is None:
        return None
    if type(sharding) is not NamedSharding:
        raise NotImplementedError(f"serialize: the compiler chose the sharding {sharding}, which "
                                  "no spec expresses; give out_shardings to jit")
    return [repr(ir_sharding(sharding, len(sharding.spec))), sharding._memory_kind]


def _shardings(texts: Sequence[str | None]) -> tuple[Any, ...]:
    return tuple([t and parse_sharding(t) for t in texts])


def _place(spread: dict[str, Any], devices: list[Any]) -> tuple[Any, list[Any]]:
    """The placement of a program on several devices, and the shardings of its arguments."""
    def mesh(axes: MeshAxes) -> Mesh:
        return Mesh(np.array(devices, object).reshape(axes.sizes), axes.names,
                    tuple([AxisType[t.capitalize()] for t in axes.types]))

    def named(placed: Any) -> Any:
        if placed is None:
            return None
        sharding, memory = parse_sharding(placed[0]), placed[1]
        return NamedSharding(mesh(sharding.mesh), abstract_sharding(sharding).spec,
                             memory_kind=memory)

    ins = [named(s) for s in spread["ins"]]
    given = [named(s) for s in spread["given"]]
    home = mesh(parse_mesh(spread["axes"]))
    return spread_over(home, given, [named(s) for s in spread["outs"]]), ins


__all__ = ["deserialize_and_load", "serialize"]
__dir__ = _shown(globals())
