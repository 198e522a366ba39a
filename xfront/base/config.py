"""Options of the process and of a thread: `config.update`, environment variables, context managers.

An option is a jaxlib `Config` with a name, a default and a parser of accepted values. Its
thread-local value, which a context manager sets, takes precedence over the global value, which
`config.update` sets. Options that change what a program computes or how it is traced are part of
the key of every compiled front door. An environment variable `XFRONT_<NAME>` or `JAX_<NAME>` sets
an option at import.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..binding import (
    Device,
    default_device_state,
    disable_jit_state,
    make_state,
    promotion,
    set_garbage_guard,
    set_transfer_guard,
    trace_context,
    x64_state,
)
from ..binding.tracebacks import filter_as, shorten
from .option_table import IDLE, REFUSED

_ABSENT: Any = object()
Parse = Callable[[str, Any], Any]

# This thread-local state is not False while a staging trace is open, so that calls of compiled
# front doors inside it miss and are recorded. Traces do not depend on it. `xfront.tracing` sets it,
# with `staging.swap_local`.
staging = make_state("staging", False, trace_key=False)


class Option:
    """One option. `value` reads it. A call with a value returns a context manager, or decorator,
    that sets the option for this thread."""

    def __init__(self, name: str, default: Any, parse: Parse, state: Any, doc: str,
                 how: str = "done") -> None:
        self.name, self.default, self.state, self._parse = name, default, state, parse
        self.how = how
        self.__doc__ = doc
        self._watchers: list[Callable[[Any], None]] = []
        self._on_local: Callable[[Any, bool], None] | None = None

    @property
    def value(self) -> Any:
        """The value for this thread."""
        return self.state.value

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self.name} is an option, not a value; read `.value` or config.{self.name}"
        )

    def __repr__(self) -> str:
        return f"<option {self.name} = {self.value!r}>"

    def __call__(self, new_val: Any = _ABSENT) -> Override:
        """A context manager under which this thread sees another value.

        Args:
          new_val: the value; an option that is True or False may leave it out, which means True.
        Raises: ValueError where the option does not accept the value; NotImplementedError where
          only the default is supported.
        """
        if new_val is _ABSENT:
            if not isinstance(self.default, bool):
                raise TypeError(f"{self.name} must be called with a value, for instance "
                                f"{self.default!r}")
            new_val = True
        try:
            return Override(self, self._parse(self.name, new_val))
        except ValueError as error:
            shorten(error)
            raise

    def get(self) -> Any:
        """The value for this thread."""
        return self.state.value

    def set(self, value: Any) -> None:
        """Set the global value. Raises: ValueError where the option does not accept it,
        NotImplementedError where only the default is supported."""
        value = self._parse(self.name, value)
        for watcher in self._watchers:  # before the value is set: a watcher may refuse it
            watcher(value)
        self.state.set_global(value)
        if self._on_local is not None:
            self._on_local(value, False)

    def watch(self, watcher: Callable[[Any], None]) -> None:
        """Have `watcher(value)` called now and before the global value is set; if it raises, the
        value stays as it was."""
        self._watchers.append(watcher)
        watcher(self.state.get_global())

    def _swap(self, value: Any) -> Any:
        before = self.state.swap_local(value)
        if self._on_local is not None:
            self._on_local(self.state.value, True)
        return before


class Override(contextlib.ContextDecorator):
    """A context in which an option has a value for this thread; it may be reused and nested."""

    def __init__(self, option: Option, value: Any) -> None:
        self.option, self.new_value = option, value
        self._before: list[Any] = []

    def _recreate_cm(self) -> Override:  # each call of a decorated function enters its own
        return Override(self.option, self.new_value)

    def __enter__(self) -> None:
        self._before.append(self.option._swap(self.new_value))

    def __exit__(self, *exc: object) -> None:
        self.option._swap(self._before.pop())


# ---- parsers: the values that options accept


def _bool(name: str, value: Any) -> bool:
    if isinstance(value, str):
        low = value.strip().lower()
        if low in ("1", "true", "t", "yes", "y", "on"):
            return True
        if low in ("0", "false", "f", "no", "n", "off", ""):
            return False
        raise ValueError(f"{name} must be true or false, got {value!r}")
    return bool(value)


def _number(kind: Callable[[Any], Any], wanted: str) -> Parse:
    def parse(name: str, value: Any) -> Any:
        try:
            return kind(value)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be {wanted}, got {value!r}") from None

    return parse


_int, _float = _number(int, "an integer"), _number(float, "a number")


def _positive(name: str, value: Any) -> int:
    if (found := _int(name, value)) < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    return found


def _any(name: str, value: Any) -> Any:
    return value


def _text(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise ValueError(f"{name} must be a string, got {value!r}")


def _one_of(*accepted: Any) -> Parse:
    def parse(name: str, value: Any) -> Any:
        value = value.value if isinstance(value, enum.Enum) else value
        if value not in accepted:
            raise ValueError(f"{name} must be one of {list(accepted)}, got {value!r}")
        return value

    return parse


def _refused(default: Any, instead: str) -> Parse:
    """A parser that accepts only the default, also as text."""
    kind = type(default)

    def parse(name: str, value: Any) -> Any:
        try:
            given = value if default is None else _KINDS.get(kind, _text)(name, value)
        except ValueError:
            given = value
        if given == default and type(given) is kind:
            return default
        raise NotImplementedError(f"{name}={value!r} is not supported, only {default!r} is; "
                                  f"{instead}")

    return parse


def _devices(name: str, value: Any) -> str:
    text = _text(name, value) or "all"
    if text == "all" or all(part.strip().isdigit() for part in text.split(",")):
        return text
    raise ValueError(f"{name} must be 'all' or numbers of devices separated by commas, got "
                     f"{value!r}")


def _modes(name: str, value: Any) -> str:
    for mode in (text := _text(name, value) or "").split(","):
        _one_of("stablehlo", "jaxpr")(name, mode.strip())
    return text


def _effort(name: str, value: Any) -> float:
    if not -1.0 <= (found := _float(name, value)) <= 1.0:
        raise ValueError(f"{name} must be a number from -1 to 1, got {value!r}")
    return found


def _is_platform(name: str) -> bool:
    from lowering import clients  # late: options are read without it

    return clients.is_known(name)


def _device(name: str, value: Any) -> Any:
    if value is None or isinstance(value, Device):
        return value
    if isinstance(value, str) and (not value or _is_platform(value)):
        return value or None
    raise ValueError(f"{name} must be a device or the name of a platform, got {value!r}")


def _precision(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return _one_of(None, *MATMUL_PRECISIONS)(name, value)
    return _precision(name, str(getattr(value, "name", value)).lower())


_KINDS: dict[type, Parse] = {bool: _bool, int: _int, float: _float}
LEVELS = ("UNKNOWN", "O0", "O1", "O2", "O3")
MATMUL_PRECISIONS = (
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16",
    "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9", "TF32_TF32_F32",
    "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
)  # fmt: skip
PRNG_IMPLS = ("threefry2x32", "rbg", "unsafe_rbg")
GUARD_LEVELS = (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit")

# ---- the options

_OPTIONS: dict[str, Option] = {}


def _environment(name: str, default: Any, parse: Parse,
                 environment: Mapping[str, str] = os.environ) -> Any:
    bare = name.removeprefix("jax_").upper()
    for variable in (f"XFRONT_{bare}", f"JAX_{bare}"):
        text = environment.get(variable)
        if text is not None:
            try:
                return parse(name, text)
            except (ValueError, NotImplementedError) as error:
                raise type(error)(f"environment variable {variable}: {error}") from None
    return default


_AT_START = {k: v for k, v in os.environ.items() if k.startswith(("XFRONT_", "JAX_"))}


def follow_environment() -> None:
    """Set the options whose environment variables have changed since this file was loaded.

    A program sets them before it imports jax, and xfront is there already when it runs under
    `python -m xfront`. An option that was set otherwise in between stays as it is.
    """
    for made in [*_OPTIONS.values()]:
        start = _environment(made.name, made.default, made._parse, _AT_START)
        wanted = _environment(made.name, made.default, made._parse)
        if wanted != start and made.state.get_global() == start:
            made.set(wanted)


def _option(
    name: str,
    default: Any,
    doc: str,
    parse: Parse | None = None,
    state: Any = None,
    key: bool = False,
    how: str = "done",
    trace_key: bool = True,
) -> Option:
    parse = parse or _KINDS.get(type(default), _text)
    start = _environment(name, default, parse)
    if state is None:
        state = make_state(name, start, jit_key=key, trace_key=trace_key)
    else:
        state.set_global(start)
    made = _OPTIONS[name] = Option(name, default, parse, state, doc, how)
    return made


enable_x64 = _option(
    "jax_enable_x64", False, "Offer 64-bit dtypes, and make them the default ones.", state=x64_state
)
_disable_jit = _option(
    "jax_disable_jit", False, "Run functions under jit operation by operation.",
    state=disable_jit_state,
)  # fmt: skip
debug_nans = _option(
    "jax_debug_nans", False, "FloatingPointError where a program's result has NaN; it is run again "
    "op by op, and the error names the first operation that gave one and its line.", key=True
)
debug_infs = _option(
    "jax_debug_infs", False, "As `jax_debug_nans`, for infinities.", key=True
)
default_matmul_precision = _option(
    "jax_default_matmul_precision", None, "Precision of products and convolutions of 32-bit floats "
    "that name none: from `default` (fastest) to `highest`.", _precision, key=True,
)  # fmt: skip
numpy_rank_promotion = _option(
    "jax_numpy_rank_promotion", "allow", "Whether operands of different rank are broadcast: "
    "`allow`, `warn` or `raise`.", _one_of("allow", "warn", "raise"), key=True,
)  # fmt: skip
numpy_dtype_promotion = _option(
    "jax_numpy_dtype_promotion", "standard", "Whether operands of different dtype are promoted: "
    "`standard`, or `strict` (only Python scalars adapt).",
    _one_of("standard", "strict"), promotion.mode_state,
)  # fmt: skip
default_device = _option(
    "jax_default_device", None, "Where new arrays go: a device, or the name of a platform.",
    _device, default_device_state,
)  # fmt: skip
default_prng_impl = _option(
    "jax_default_prng_impl", "threefry2x32", "Generator of keys that name none.",
    _one_of(*PRNG_IMPLS), key=True,
)  # fmt: skip
enable_custom_prng = _option(
    "jax_enable_custom_prng", False, "Have `random.PRNGKey` give typed keys.", key=True
)
explicit_x64_dtypes = _option(
    "jax_explicit_x64_dtypes", "warn", "What a 64-bit dtype that is asked for does while 64-bit "
    "dtypes are off: `warn` and narrow it, or `error` (ValueError).", _one_of("warn", "error"),
    key=True,
)  # fmt: skip
random_seed_offset = _option(
    "jax_random_seed_offset", 0, "Added to every seed that `random.key` and `PRNGKey` are given.",
    key=True,
)  # fmt: skip
high_dynamic_range_gumbel = _option(
    "jax_high_dynamic_range_gumbel", False, "Which `mode` of `random.gumbel`, `categorical` and "
    "`choice` None stands for: `high` instead of `low`.", key=True,
)  # fmt: skip
while_checkpoints = _option(
    "jax_while_checkpoints", 64, "Of how many turns reverse mode of a while loop keeps the carry.",
    _positive, key=True,
)  # fmt: skip
while_checkpoint_bytes = _option(
    "jax_while_checkpoint_bytes", 2**26, "How many bytes these carries may have together.",
    _positive, key=True,
)  # fmt: skip
legacy_prng_key = _option(
    "jax_legacy_prng_key", "allow", "What raw keys given to `random` do: `allow`, `warn` (where a "
    "function meets one for the first time) or `error` (ValueError).",
    _one_of("allow", "warn", "error"), key=True,
)  # fmt: skip
check_tracer_leaks = _option(
    "jax_check_tracer_leaks", False, "UnexpectedTracerError where a tracer outlives its trace.",
    key=True,
)
check_static_indices = _option(
    "jax_check_static_indices", False, "IndexError where a number that Python knows is outside of "
    "the axis that it indexes, in reads without a mode.", key=True
)
auto_pcast = _option(
    "jax_auto_pcast", True, "Whether `shard_map` casts floats that meet values that vary over more "
    "axes; if not, they are a ValueError without `lax.pcast(x, axes, to='varying')`.", key=True
)
debug_key_reuse = _option(
    "jax_debug_key_reuse", False, "KeyReuseError where a typed key is consumed twice.", key=True
)
enable_checks = _option(
    "jax_enable_checks", False, "Verify every Function that is traced, and again before it is "
    "lowered."
)  # fmt: skip
log_compiles = _option(
    "jax_log_compiles", False, "Log every trace and compilation with name, types and time, at "
    "WARNING (compilations else at DEBUG), to the loggers `jax._src.dispatch` and "
    "`jax._src.interpreters.pxla`."
)  # fmt: skip
explain_cache_misses = _option(
    "jax_explain_cache_misses", False, "Log why a function under jit is traced: at WARNING, to the "
    "logger `jax._src.interpreters.partial_eval`."
)  # fmt: skip
disallow_mesh_context_manager = _option(
    "jax_disallow_mesh_context_manager", False, "RuntimeError where `with mesh:` sets a mesh; "
    "`xfront.set_mesh(mesh)` does in its place."
)  # fmt: skip
no_tracing = _option(
    "jax_no_tracing", False, "RuntimeError where a function would be traced."
)  # fmt: skip
no_execution = _option(
    "jax_no_execution", False, "RuntimeError where a program would run.", key=True, trace_key=False
)
traceback_filtering = _option(
    "jax_traceback_filtering", "auto", "Whether tracebacks show the library's own frames: `off` "
    "shows all; `quiet_remove_frames` takes them out of the traceback; `remove_frames` does too, "
    "and the exception's `__cause__` has the whole traceback; `tracebackhide` marks them for "
    "pytest and IPython, which then leave them out; `auto` is `tracebackhide` in IPython and "
    "`quiet_remove_frames` elsewhere.",
    _one_of("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"),
)  # fmt: skip
filter_as(traceback_filtering.get)
_keep_freed_memory = _option(
    "jax_keep_freed_memory", False, "Keep memory that large arrays free with the process, on Linux "
    "with glibc: docs/cpu.md. To be set before the first use of a CPU device.",
)  # fmt: skip
array_garbage_collection_guard = _option(
    "jax_array_garbage_collection_guard", None, "What the collection of an array by the cyclic "
    "collector does: `allow`, `log`, `fatal` (the process ends).",
    _one_of(None, "allow", "log", "fatal"),
)  # fmt: skip
array_garbage_collection_guard._on_local = set_garbage_guard
if array_garbage_collection_guard.value is not None:
    set_garbage_guard(array_garbage_collection_guard.value, False)
_DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")


def _guard(direction: str) -> Option:
    made = _option(
        f"jax_transfer_guard_{direction}", None, "What a transfer in this direction does: `allow`, "
        "`log`, `disallow`, and for explicit ones too `log_explicit`, `disallow_explicit`.",
        _one_of(*GUARD_LEVELS),
        key=direction == "device_to_device",     # C++ moves arguments without this guard
    )  # fmt: skip
    made._on_local = lambda value, local: set_transfer_guard(direction, value, local)
    if made.value is not None:
        set_transfer_guard(direction, made.value, False)
    return made


transfer_guard_host_to_device, transfer_guard_device_to_device, transfer_guard_device_to_host = (
    _guard(direction) for direction in _DIRECTIONS
)

# ---- options of devices, compilation, the cache on disk and logs

for _name, _default, _doc, _parse in (
    ("jax_platforms", None, "Platforms, comma-separated; the first is the default. To be set "
     "before the first use of a device.", None),
    ("jax_platform_name", "", "The older name of `jax_platforms`.", None),
    ("jax_num_cpu_devices", -1, "How many CPU devices there are; -1 leaves it to XLA_FLAGS. To be "
     "set before the first use of a CPU device.", None),
    ("jax_cpu_enable_async_dispatch", True, "Whether programs on CPU run beside Python. To be set "
     "before the first use of a CPU device.", None),
    ("jax_cpu_collectives_implementation", "gloo", "What moves numbers between CPU devices of "
     "several processes: `gloo`, `mpi` or `none`. To be set before the first use of a CPU device.",
     _one_of("gloo", "mpi", "none")),
    ("jax_cpu_get_local_topology_timeout_minutes", 2, "How long a process waits for the CPU "
     "devices of others on its machine.", None),
    ("jax_cpu_get_global_topology_timeout_minutes", 5, "How long a process waits for the CPU "
     "devices of all others.", None),
    ("jax_enable_recoverability", False, "Whether processes outlive others that end; to be set "
     "before `distributed.initialize`.", None),
    ("jax_enable_preemption_service", True, "Whether `distributed.initialize` listens for a coming "
     "end of the machine (`multihost_utils.reached_preemption_sync_point`).", None),
    ("jax_cuda_visible_devices", "all", "Numbers of the GPUs to use, comma-separated. To be set "
     "before the first use of a GPU.", _devices),
    ("jax_rocm_visible_devices", "all", "As `jax_cuda_visible_devices`, for ROCm.", _devices),
    ("jax_enable_compilation_cache", True, "Whether programs are kept on disk.", None),
    ("jax_compilation_cache_dir", None, "The folder of programs on disk; None: as "
     "XFRONT_CACHE_DIR says, or ~/.cache/xfront.", None),
    ("jax_compilation_cache_max_size", -1, "Bytes that programs on disk may have; 0 keeps none, -1 "
     "is what XFRONT_CACHE_MAX_BYTES says, or 2 GiB.", None),
    ("jax_persistent_cache_min_compile_time_secs", 0.0, "Programs that compiled in less time are "
     "not kept on disk.", None),
    ("jax_persistent_cache_min_entry_size_bytes", 0, "Programs of fewer bytes are not kept on "
     "disk.", None),
    ("jax_raise_persistent_cache_errors", False, "Raise where a program cannot be written to disk.",
     None),
    ("jax_optimization_level", "UNKNOWN", "XLA's effort for fast programs: `O0` to `O3`; `UNKNOWN` "
     "leaves it to XLA.", _one_of(*LEVELS)),
    ("jax_memory_fitting_level", "O2", "XLA's effort for programs of little memory: `O0` to `O3`.",
     _one_of(*LEVELS)),
    ("jax_exec_time_optimization_effort", 0.0, "XLA's effort for fast programs, from -1 to 1; only "
     "jaxlib before 0.12 has it.", _effort),
    ("jax_memory_fitting_effort", 0.0, "XLA's effort for programs of little memory, from -1 to 1; "
     "only jaxlib before 0.12 has it.", _effort),
    ("jax_disable_most_optimizations", False, "Compile at XLA's lowest level.", None),
    ("jax_compiler_enable_remat_pass", True, "Whether XLA may compute values again to save memory.",
     None),
    ("jax_xla_profile_version", 0, "The profile version that XLA is given.", None),
    ("jax_dump_ir_to", "", "A folder to which every program is written when it is lowered; it is "
     "then lowered even where it is found on disk.", None),
    ("jax_dump_ir_modes", "stablehlo", "What is written there, comma-separated: `stablehlo`, and "
     "`jaxpr` for the IR.", _modes),
    ("jax_logging_level", "NOTSET", "The level of the logger `jax`, to which all that is logged "
     "goes.", _one_of(None, "NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")),
    ("jax_debug_log_modules", "", "Loggers to write to standard error from level DEBUG on, "
     "comma-separated.", None),
):  # fmt: skip
    _option(_name, _default, _doc, _parse or (_text if _default is None else None))

for _name, (_default, _doc) in REFUSED.items():
    _option(_name, _default, _doc, _refused(_default, _doc), how="refused")
for _name, (_default, _doc) in IDLE.items():
    _option(_name, _default, _doc, _any if _default is None else None, how="idle")


def _configure_clients(**choice: Any) -> None:
    from lowering import clients  # late: options are read without it

    clients.configure(**choice)


for _name in ("jax_platforms", "jax_platform_name"):
    _OPTIONS[_name]._watchers.append(lambda value: _configure_clients(platforms=value or ""))
_OPTIONS["jax_num_cpu_devices"]._watchers.append(
    lambda value: _configure_clients(cpu_devices=value)
)


def _configured(name: str, configure: Callable[[Any], None]) -> None:
    """Have `configure` called when an option is set, and now where the environment has set it."""
    found = _OPTIONS[name]
    found._watchers.append(configure)
    if found.value != found.default:
        configure(found.value)


def _configure_cache(**choice: Any) -> None:
    from lowering import disk_cache  # late: options are read without it

    disk_cache.choose(**choice)


_FORGET: list[Callable[[], None]] = []


def when_compiled_otherwise(forget: Callable[[], None]) -> None:
    """Have `forget()` called whenever an option changes how programs are compiled."""
    _FORGET.append(forget)


def _configure_compiler(name: str, value: Any) -> None:
    from lowering import compile  # late: options are read without it

    if compile.choose(name, value):
        for forget in _FORGET:
            forget()


def _configure_dump(**choice: Any) -> None:
    from lowering import dump  # late: options are read without it

    dump.choose(**choice)


def _configure_logs(level: Any, modules: str) -> None:
    from . import logs  # late: options are read without it

    logs.configure(level, modules)


_configured("jax_cpu_enable_async_dispatch", lambda v: _configure_clients(asynchronous=v))
_configured("jax_cpu_collectives_implementation",
            lambda v: _configure_clients(between_processes={"collectives": v}))
for _name in ("local", "global"):
    _configured(f"jax_cpu_get_{_name}_topology_timeout_minutes",
                lambda _: _configure_clients(between_processes={"topology_minutes": (
                    config.jax_cpu_get_local_topology_timeout_minutes,
                    config.jax_cpu_get_global_topology_timeout_minutes)}))
_configured("jax_cuda_visible_devices", lambda v: _configure_clients(visible={"cuda": v}))
_configured("jax_rocm_visible_devices", lambda v: _configure_clients(visible={"rocm": v}))
_configured("jax_enable_compilation_cache", lambda v: _configure_cache(enabled=None if v else v))
_configured("jax_compilation_cache_dir", lambda v: _configure_cache(directory=v))
_configured("jax_compilation_cache_max_size",
            lambda v: _configure_cache(max_bytes=None if v < 0 else v))
_configured("jax_persistent_cache_min_compile_time_secs",
            lambda v: _configure_cache(min_seconds=v or None))
_configured("jax_persistent_cache_min_entry_size_bytes",
            lambda v: _configure_cache(min_bytes=v if v > 0 else None))
_configured("jax_raise_persistent_cache_errors", lambda v: _configure_cache(raises=v or None))
for _name in ("optimization_level", "memory_fitting_level", "exec_time_optimization_effort",
              "memory_fitting_effort", "disable_most_optimizations", "compiler_enable_remat_pass",
              "xla_profile_version"):  # fmt: skip
    _configured(f"jax_{_name}", functools.partial(_configure_compiler, _name))
_configured("jax_dump_ir_to", lambda v: _configure_dump(folder=v))
_configured("jax_dump_ir_modes", lambda v: _configure_dump(modes=v))
_configured("jax_logging_level", lambda v: _configure_logs(v, config.jax_debug_log_modules))
_configured("jax_debug_log_modules", lambda v: _configure_logs(config.jax_logging_level, v))
_keep_freed_memory._watchers.append(lambda value: _configure_clients(keep_freed_memory=value))
if _keep_freed_memory.value:
    _configure_clients(keep_freed_memory=True)
remove_size_one_mesh_axis_from_type = _OPTIONS["jax_remove_size_one_mesh_axis_from_type"]
softmax_custom_jvp = _OPTIONS["jax_softmax_custom_jvp"]
threefry_partitionable = _OPTIONS["jax_threefry_partitionable"]
thread_guard = _OPTIONS["jax_thread_guard"]
allow_f16_reductions = _OPTIONS["jax_allow_f16_reductions"]


def option(name: str) -> Option:
    """The option with a name, spelled `jax_enable_x64`, `xfront_enable_x64` or `enable_x64`.

    Raises: AttributeError where there is none.
    """
    found = _OPTIONS.get(name if name in _OPTIONS else f"jax_{name.removeprefix('xfront_')}")
    if found is None:
        raise AttributeError(f"there is no option {name!r}{_near(name)}")
    return found


def _near(name: str) -> str:
    import difflib

    bare = {known.removeprefix("jax_"): known for known in _OPTIONS}
    close = difflib.get_close_matches(name.removeprefix("jax_"), bare, 1)
    return f"; did you mean {bare[close[0]]!r}?" if close else ""


class ConfigNamespace:
    """`config`: the options as attributes (`config.jax_enable_x64`), `update` and `read`."""

    __slots__ = ()

    def update(self, name: str, value: Any) -> None:
        """Set an option for the whole process.

        Args:
          name: name of the option, such as `jax_enable_x64`.
          value: the new value.
        Raises: AttributeError where there is no such option; ValueError where it does not accept
          the value; NotImplementedError where only the default is supported.
        """
        try:
            if name == "jax_transfer_guard":
                level = _one_of(*GUARD_LEVELS)(name, value)
                for direction in _DIRECTIONS:
                    option(f"jax_transfer_guard_{direction}").set(level)
                return
            option(name).set(value)
        except BaseException as error:
            shorten(error)
            raise

    def read(self, name: str) -> Any:
        """The value of an option for this thread. Raises: AttributeError where there is none."""
        return option(name).value

    def __getattr__(self, name: str) -> Any:
        prefixed = f"jax_{name[7:]}" if name.startswith("xfront_") else name
        if prefixed == "jax_transfer_guard":
            levels = {option(f"{prefixed}_{direction}").value for direction in _DIRECTIONS}
            return levels.pop() if len(levels) == 1 else None
        found = _OPTIONS.get(prefixed)
        if found is None:
            raise AttributeError(f"config has no option {name!r}{_near(prefixed)}")
        return found.value

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    def __dir__(self) -> list[str]:
        return [*_OPTIONS, "update", "read", "values", "x64_enabled"]

    def parse_flags_with_absl(self) -> None:
        """Set the options that the command line names (`--jax_enable_x64=1`), as `absl.flags`
        would. Arguments after `--` are left alone.

        Raises: ValueError, NotImplementedError where an option does not accept its value.
        """
        from .flags import parse_command_line  # seldom needed

        parse_command_line(self, _OPTIONS)

    @property
    def values(self) -> dict[str, Any]:
        """A dict of all options with their values for this thread."""
        return {name: found.value for name, found in _OPTIONS.items()}

    @property
    def x64_enabled(self) -> bool:
        """Whether 64-bit dtypes are on for this thread."""
        return x64_state.value


config = ConfigNamespace()


def documented() -> list[tuple[str, Any, str, str]]:
    """For each option its name, its default, whether it is done, refused or idle, and its text."""
    return [(o.name, o.default, o.how, o.__doc__ or "") for o in _OPTIONS.values()]


def disable_jit(disable: bool = True) -> Override:
    """A context manager under which functions under jit run operation by operation, so that
    Python's debugger and prints see values."""
    return _disable_jit(disable)


def checking_leaks() -> Override:
    """A context manager under which a tracer that outlives its trace raises."""
    return check_tracer_leaks(True)


@contextlib.contextmanager
def transfer_guard(new_val: str) -> Iterator[None]:
    """A context manager that guards transfers in all directions: see
    `transfer_guard_host_to_device`."""
    with contextlib.ExitStack() as stack:
        for direction in _DIRECTIONS:
            stack.enter_context(option(f"jax_transfer_guard_{direction}")(new_val))
        yield


def trace_key() -> tuple:
    """The options on which tracing depends, for the keys of caches in Python."""
    return trace_context()
