"""From MLIR modules to loaded executables: which options XLA gets, and why.

All efforts give the same results, but for the last bits of sums and transcendental functions:
  jit     XLA optimises machine code at level 1. Such programs compile in up to a fifth less time
          than at the default level, and run as fast. Short programs that pad get the default, level
          3: below it, their kernels, which branch between elements and padding, use no vectors
  eager   the same, but programs of few operations on few elements get the older emitter, and level
          0 where there is little to compute: that takes a quarter less time to compile than level
          1, and at most 6,000 instructions more in each call. Products of matrices compile as fast
          at level 1, which rounds once where they multiply and add, as in jitted functions
  fast    level 0 for all sizes: programs compile in about half the time and run up to 6 times
          slower

Where XLA has two emitters of fused kernels, small programs get the older one, which takes half the
time and makes kernels that run as fast on few elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xfront_ir import ops
from xfront_ir.analysis import functions
from xfront_ir.core import Function, bodies_of
from xfront_ir.traits import BRANCHES, CONTRACTS, ELEMENTWISE, MIXES_BITS, MOVES, ORDERS

from . import compat
from .partitioning import Partition
from .topologies import is_described

if TYPE_CHECKING:
    from .forms.extras import Extras
    from .module import Built

Options = tuple[tuple[str, Any], ...]

EFFORTS = ("jit", "eager", "fast")
TINY_ELEMENTS = 4096
TINY_OPS = 4
TINY_WORK = 512
"""The most operations on numbers in a tiny program at level 0, where loops use no vectors: each
takes about 12 instructions there, and one or none at level 1."""
LONGEST_BRANCHING = 2048
MOST_ON_BITS = 16
"""The most operations on bits in a program at level 3, fewer than a generator of numbers has."""

SMALL_ELEMENTS = 1024
"""The most elements of an array in a small program; in loops the older emitter divides the work of
larger ones between threads, which costs more than the work."""
LOOPED_ELEMENTS = 32
"""The most elements that an op in a loop of a small program computes."""
SMALL_OPS, LOOPED_OPS = 64, 600
"""The most ops of a small program, without loops and with loops. In longer ones the older emitter
repeats operations, and does not share equal kernels."""


_CHOSEN: dict[str, Options] = {}
"""What each option that `choose` set is for XLA."""

_DEFAULTS = {"optimization_level": "UNKNOWN", "memory_fitting_level": "O2",
             "exec_time_optimization_effort": 0.0, "memory_fitting_effort": 0.0,
             "disable_most_optimizations": False, "compiler_enable_remat_pass": True,
             "xla_profile_version": 0}


def choose(name: str, value: Any) -> bool:
    """Set a compile option for the whole process; returns whether that changed it.

    Raises: NotImplementedError where this jaxlib does not have the option.
    """
    if value == _DEFAULTS[name]:
        chosen: Options = ()
    elif name == "disable_most_optimizations":
        chosen = (("xla_backend_optimization_level", 0),
                  ("xla_llvm_disable_expensive_passes", True))
    elif name == "compiler_enable_remat_pass":
        chosen = (("xla_disable_hlo_passes", "rematerialization"),)
    elif name != "xla_profile_version" and not compat.has_build_option(name):
        raise NotImplementedError(f"jax_{name}={value!r} is not supported by jaxlib "
                                  f"{compat.JAXLIB_VERSION}; leave it at {_DEFAULTS[name]!r}")
    else:
        chosen = ((name, value),)
    before = _CHOSEN.get(name, ())
    _CHOSEN[name] = chosen
    return chosen != before


def all_of_process() -> Options:
    """The options that `choose` set; the options of a program override them."""
    return normalize_options([pair for pairs in _CHOSEN.values() for pair in pairs])


def normalize_options(options: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> Options:
    """Compile options, sorted, so that they can be part of a key."""
    pairs = options.items() if isinstance(options, Mapping) else options
    return tuple(sorted((str(name), value) for name, value in pairs))


def is_tiny(function: Function) -> bool:
    """Whether a program has few operations on few elements, none with bodies, none that multiplies
    matrices and none that sorts: at level 1 a sort of 64 elements compiles 1.5 ms longer, and takes
    1.7 µs less of 9 in each call."""
    return (len(function.ops) <= TINY_OPS
            and all(v.type.size <= TINY_ELEMENTS for v in function.params)
            and all(v.type.size <= TINY_ELEMENTS and not op.definition.has_bodies
                    and ORDERS not in op.definition.traits
                    and not (CONTRACTS in op.definition.traits and v.type.ndim > 1)
                    for op in function.ops for v in op.results))


def work(function: Function) -> int:
    """How many operations on numbers the ops of a program without bodies take."""
    return sum([max(1, op.definition.work) * max([v.type.size for v in (*op.operands, *op.results)])
                for op in function.ops])


def gains_vectors(function: Function) -> bool:
    """Whether a program gets vectors at level 3 alone, bodies included: it decides for each element
    where it comes from, tiles an array, or has loops over floats of 16 bits.

    At that level, LLVM follows the uses of each loop-invariant value along every path
    (`onlyFirstLaneUsed`), which takes minutes for the rounds of threefry.
    """
    inside = functions(function)
    traits = [op.definition.traits for fn in inside for op in fn.ops]
    return (len(traits) <= LONGEST_BRANCHING
            and not any([MIXES_BITS in t and ELEMENTWISE not in t for t in traits])
            and sum([MIXES_BITS in t for t in traits]) <= MOST_ON_BITS
            and (any([BRANCHES in t for t in traits]) or any([
                _tiles(fn) or _loops_over_halves(fn) for fn in inside])))


def _tiles(fn: Function) -> bool:
    """Whether rows are repeated as wholes, and the copies become part of another axis. Where each
    element is repeated beside itself, the vectors of level 3 take twice as long."""
    copies = {op.results[0] for op in fn.ops if op.definition is ops.broadcast_in_dim
              and op.attrs["dims"][-1:] == (op.results[0].type.ndim - 1,)}
    return bool(copies) and any([
        op.definition is ops.reshape and op.operands[0] in copies for op in fn.ops])


def _loops_over_halves(fn: Function) -> bool:
    return any([op.definition.has_bodies and any([
        v.type.dtype.is_float and v.type.dtype.bits == 16 for v in (*op.operands, *op.results)])
        for op in fn.ops])


def is_small(function: Function, effort: str) -> bool:
    """Whether a program has few operations on few elements, so that XLA's older emitter suits it.

    Without a loop, only programs of effort `eager` may count as small.
    """
    if any(v.type.size > SMALL_ELEMENTS for v in function.params):
        return False
    count, has_loop = 0, False
    left, seen = [(function, False)], {(function, False)}
    while left:
        fn, in_loop = left.pop()
        count += len(fn.ops)
        if count > LOOPED_OPS:
            return False
        for op in fn.ops:
            definition = op.definition
            most = LOOPED_ELEMENTS if in_loop and MOVES not in definition.traits else SMALL_ELEMENTS
            if any(v.type.size > most for v in op.results):
                return False
            if definition.has_bodies:
                is_loop = definition.regions.is_loop
                has_loop = has_loop or is_loop
                inside = {(body, in_loop or is_loop) for body in bodies_of(op)} - seen
                seen |= inside
                left.extend(inside)
    return has_loop or (effort == "eager" and count <= SMALL_OPS)


def effort_options(effort: str, function: Function, platform: str) -> Options:
    """The XLA options of an effort. Raises: ValueError where there is no such effort."""
    if effort not in EFFORTS:
        raise ValueError(f"compile effort must be one of {', '.join(EFFORTS)}, got {effort!r}")
    if platform != "cpu":
        return ()
    has_older = compat.HAS_FUSION_EMITTER_OPTION
    takes_older = False
    if effort == "fast":
        level = 0
    elif effort == "eager" and is_tiny(function):
        level, takes_older = int(work(function) > TINY_WORK), has_older
    elif has_older and is_small(function, effort):
        level, takes_older = 1, True
    else:
        level = 3 if gains_vectors(function) else 1
    chosen: Options = (("xla_backend_optimization_level", level),)
    return (("xla_cpu_use_fusion_emitters", False), *chosen) if takes_older else chosen


def all_options(effort: str, function: Function, platform: str, options: Any,
                extras: Extras) -> Options:
    """The options of the effort and of the CPU's libraries; `options`, the user's, override them.
    """
    chosen = dict(effort_options(effort, function, platform))
    if platform == "cpu":
        from .cpu import libraries, vectors, width

        if extras.forms:
            chosen.update(vectors.options(function))
            chosen.update(width.options(function))
        chosen.update(libraries.options(function, bool(extras.forms) and effort == "jit"))
    chosen.update(all_of_process())
    chosen.update(normalize_options(options))
    return normalize_options(chosen)


def _loaded(client: Any, *args: Any) -> Any:
    return client.compile_and_load(*args)


loaded_by: Callable[..., Any] = _loaded
"""Compiles and loads; a place for what is asked before each compilation."""


def compile_module(built: Built, devices: Sequence[Any], overrides: Options,
                   partition: Partition, hosts: Sequence[Any]) -> Any:
    """Compile a module for `devices` and load it; for described devices, only compile it.

    Raises: JaxRuntimeError with XLA's message, or for a function by name that is not registered.
    """
    requirements = sorted(built.requirements)
    if not compat.meet(requirements):
        from .targets import refuse_missing  # only to say what is wrong

        refuse_missing(requirements)
    options, client = _options(devices, overrides, partition), devices[0].client
    if is_described(devices[0]):
        return client.compile(built.module, compat.device_list(devices), options)
    return loaded_by(client, built.module, compat.device_list(devices), options, list(hosts))


def _options(devices: Sequence[Any], overrides: Options, partition: Partition) -> Any:
    return compat.compile_options(partition.num_replicas, partition.num_partitions,
                                  [d.id for d in devices], overrides)


def load_serialized(blob: bytes, devices: Sequence[Any], overrides: Options, partition: Partition
                    ) -> Any:
    """Load the bytes of `Executable.serialize`. Raises: JaxRuntimeError where they are not that."""
    options = _options(devices, overrides, partition)
    return devices[0].client.deserialize_executable(blob, compat.device_list(devices), options)
