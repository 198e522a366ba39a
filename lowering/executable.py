"""Programs that can run: jaxlib's executables, with the facts that callers need.

Results are wrapped by C++ handlers that the caller makes, so nothing here knows the array class
that users see.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xfront_ir.types import TensorType

from . import clients, compat
from .compile import Options
from .partitioning import Partition
from .topologies import name_of

Callbacks = Mapping[int, Callable[..., Any]] | Sequence[Callable[..., Any]]
"""Host functions by slot."""


_EXCHANGES = ("all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-", "send(",
              "recv(")
"""What the text of a program has in it whose devices exchange values."""


class Executable:
    """A compiled program without host calls.

    `loaded` is jaxlib's LoadedExecutable, which the C++ dispatcher runs by itself; `key` is the key
    by which `lowering.find` finds the program, None where it is not cached. `source()` gives the
    bytes from which it was loaded, and is None where it was compiled.
    """

    __slots__ = ("__weakref__", "devices", "key", "loaded", "name", "overrides",
                 "partition", "requirements", "source")

    has_callbacks = False
    has_ordered_effects = False

    def __init__(self, loaded: Any, name: str, devices: Sequence[Any], overrides: Options,
                 partition: Partition, requirements: Sequence[str] = (),
                 source: Callable[[], bytes | None] | None = None) -> None:
        self.loaded, self.name, self.devices = loaded, name, tuple(devices)
        self.overrides, self.partition = overrides, partition
        self.requirements, self.source = tuple(requirements), source
        self.key: str | None = None

    def execute(self, buffers: list[Any], handlers: Sequence[Any]) -> list[Any]:
        """Run on a list of arrays; `handlers`, one for each result, make the arrays returned."""
        return self.loaded.execute_sharded(buffers).consume_with_handlers(handlers)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate: `flops`, `bytes accessed`, …"""
        found = self.loaded.cost_analysis()
        return dict(found[0] if isinstance(found, list) else found)

    def memory_analysis(self) -> Any:
        """Sizes in bytes: `argument_size_in_bytes`, `output_…`, `temp_…`, `alias_…`, …"""
        return self.loaded.get_compiled_memory_stats()

    def hlo_text(self) -> str:
        """The text of the HLO that runs, after all of XLA's optimisation."""
        return compat.optimized_hlo(self.loaded)

    def exchanges(self) -> bool:
        """Whether its parts on several devices wait for one another, or for the host."""
        text = "" if self.has_callbacks else self.hlo_text()
        return self.has_callbacks or any([name in text for name in _EXCHANGES])

    def serialize(self) -> bytes:
        """The executable as bytes; `lowering.deserialize` loads it on a device of the same kind.

        Raises: RuntimeError where it came from the cache on disk, which has lost it.
        """
        if self.source is None:
            return self.loaded.client.serialize_executable(self.loaded)
        found = self.source()                    # jaxlib writes no code of what it has loaded
        if found is None:
            raise RuntimeError(f"{self.name} was loaded from the cache on disk, which no longer "
                               "has it: call xfront.clear_caches() and compile it again")
        return found


class DescribedExecutable(Executable):
    """A program compiled for devices that are described but not present (topologies.py). It can be
    inspected and serialized, but not run."""

    __slots__ = ()

    def execute(self, buffers: list[Any], handlers: Sequence[Any]) -> list[Any]:
        """Always raises: the devices are not present. Raises: RuntimeError."""
        raise RuntimeError(f"{self.name} is compiled for {name_of(self.devices[0])}, described "
                           "devices that are not present: it can be inspected and serialized, but "
                           "not run")

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate. Raises: NotImplementedError where the compiler gives none."""
        try:
            return super().cost_analysis()
        except compat.RuntimeFailure as e:
            raise NotImplementedError(f"the compiler for {name_of(self.devices[0])} does not "
                                      f"provide a cost analysis: {e}") from None

    def serialize(self) -> bytes:
        """The executable as bytes, which load where such devices are present."""
        return self.loaded.serialize()


class HostCallExecutable(Executable):
    """A compiled program that calls the host.

    `hosts` answer the host calls of its ops, in the order of the ops. Where effects are ordered, a
    run begins when the effects of all earlier runs, of any program, are done.
    """

    __slots__ = ("has_ordered_effects", "hosts")

    has_callbacks = True

    def __init__(self, loaded: Any, name: str, devices: Sequence[Any], overrides: Options,
                 partition: Partition, requirements: Sequence[str], specs: Sequence[Any],
                 hosts: Sequence[HostCall]) -> None:
        super().__init__(loaded, name, devices, overrides, partition, requirements)
        self.hosts = tuple(hosts)
        self.has_ordered_effects = any(spec.ordered for spec in specs)

    def execute(self, buffers: list[Any], handlers: Sequence[Any]) -> list[Any]:
        """Run on a list of arrays. Raises: the exception of a host function, see `as_failure`."""
        if self.has_ordered_effects:
            effects_barrier()
        try:
            results = self.loaded.execute_sharded(buffers, with_tokens=True)
            token = results.consume_token()
            made = results.consume_with_handlers(handlers)
        except compat.EXECUTION_ERRORS as e:
            raise original_error(e) from None
        _remember(token, self.has_ordered_effects)
        return made


class SpreadHostCallExecutable(HostCallExecutable):
    """A program on several devices of this process that calls the host.

    If a host call of one device failed, that device would never reach the point where the others
    wait for it, and after a while the runtime would end the process. So the runtime gets other
    values in place of the results, and the exception is raised when the program has ended; each run
    waits for its end.
    """

    __slots__ = ("_alone",)

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._alone = threading.Lock()           # the host calls keep the exception of one run

    def execute(self, buffers: list[Any], handlers: Sequence[Any]) -> list[Any]:
        """As `HostCallExecutable.execute`; it returns when the program is done."""
        with self._alone:
            failure = Failure(len(self.devices))
            for host in self.hosts:
                host.failure = failure
            try:
                results = self.loaded.execute_sharded(buffers, with_tokens=True)
                token = results.consume_token()
                made = results.consume_with_handlers(handlers)
                token.block_until_ready()
            except compat.EXECUTION_ERRORS as e:
                raise failure.taken() or original_error(e) from None
            if (error := failure.taken()) is not None:
                raise error
            return made


# --- tokens -------------------------------------------------------------------------------

MAX_TOKENS = 32
_TOKENS: list[Any] = []
_TOKENS_LOCK = threading.Lock()


def _remember(token: Any, ordered: bool) -> None:
    with _TOKENS_LOCK:
        _TOKENS.append(token)
        oldest = _TOKENS.pop(0) if len(_TOKENS) > MAX_TOKENS else None
    if oldest is not None:
        _wait([oldest])


def effects_barrier() -> None:
    """Wait until the effects of all programs started so far are done.

    Raises: the exception of a host function that failed; ProcessLost where a process has ended.
    """
    with _TOKENS_LOCK:
        waiting, _TOKENS[:] = _TOKENS[:], []
    _wait(waiting)


atexit.register(effects_barrier)                 # a host function cannot run in a process that ends


def _wait(tokens: Sequence[Any]) -> None:
    failure: BaseException | None = None
    for token in tokens:
        try:
            token.block_until_ready()
        except compat.EXECUTION_ERRORS as e:
            failure = failure or original_error(e)
    if failure is not None:
        here = clients.processes()
        raise failure if here is None else here.named(failure)


# --- host functions -----------------------------------------------------------------------

_ERROR_MARK = "host function failed, error #"
_ERRORS: OrderedDict[int, BaseException] = OrderedDict()
_ERRORS_LOCK = threading.Lock()
_MAX_ERRORS = 64
_error_count = 0


class HostFunctionFailed(Exception):
    """An error that passes through the runtime in place of a host function's exception, which its
    number identifies."""


def _keep_error(error: BaseException) -> HostFunctionFailed:
    global _error_count
    with _ERRORS_LOCK:
        _error_count += 1
        number = _error_count
        _ERRORS[number] = error
        while len(_ERRORS) > _MAX_ERRORS:
            _ERRORS.popitem(last=False)
    return HostFunctionFailed(f"{_ERROR_MARK}{number}: {type(error).__name__}: {error}")


def original_error(error: BaseException) -> BaseException:
    """The exception of the host function that made an execution fail, else `error` itself.

    Code that waits for an array (read-back, `block_until_ready`) may meet such an error.
    """
    text = str(error)
    at = text.find(_ERROR_MARK)
    if at < 0:                                   # Ctrl-C may come before the `try` of HostCall
        return KeyboardInterrupt() if text.rstrip(": \n").endswith("\nKeyboardInterrupt") else error
    digits = text[at + len(_ERROR_MARK):].partition(":")[0]
    return _ERRORS.get(int(digits), error) if digits.isdigit() else error


def as_failure(error: BaseException) -> BaseException:
    """The exception of a host function, as an instance of RuntimeFailure too.

    Programs written for JAX catch that class. Two kinds are returned unchanged: one that is no
    Exception (a KeyboardInterrupt), and one that cannot be made from its arguments again.
    """
    kind = type(error)
    if not isinstance(error, Exception) or issubclass(kind, compat.RuntimeFailure):
        return error
    try:
        both = _both(kind)
        made = both.__new__(both, *error.args)
    except TypeError:                            # the class refuses to be a base, or its arguments
        return error
    compat.RuntimeFailure.__init__(made, f"INTERNAL: {error}")
    made.args = error.args
    made.__dict__.update(error.__dict__)
    made.__cause__, made.__context__ = error.__cause__, error.__context__
    made.__suppress_context__ = error.__suppress_context__
    return made.with_traceback(error.__traceback__)


@functools.lru_cache(256)
def _both(kind: type[Exception]) -> type[Exception]:
    """A class with the name of `kind` whose instances are RuntimeFailures too. They are pickled as
    instances of `kind`. Their text has the name of the class, as that of a RuntimeFailure has."""
    place = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    bases = () if issubclass(compat.RuntimeFailure, kind) else (kind,)
    return type(kind.__name__, (*bases, compat.RuntimeFailure), {
        "__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__,
        "__str__": lambda self: f"INTERNAL: {place}{kind.__qualname__}: {kind.__str__(self)}",
        "__repr__": kind.__repr__,
        "__reduce__": lambda self: (kind, self.args)})


class Failure:
    """The first exception of the host functions in one run of a program on `devices` devices.

    After it, no further host function is called in this run, and results of host calls are zeros.
    A call that is repeated, as in a loop, gets ones and zeros by turns, so that no loop waits for
    one of them for ever. Devices that each make the call in the same turn get the same.
    """

    __slots__ = ("devices", "error", "skipped")

    def __init__(self, devices: int) -> None:
        self.devices = devices
        self.error: BaseException | None = None
        self.skipped: dict[HostCall, Iterator[int]] = {}

    def instead(self, host: HostCall) -> int:
        """The number with which a call's results are filled."""
        return next(self.skipped.setdefault(host, itertools.count())) // self.devices % 2

    def taken(self) -> BaseException | None:
        """The exception; it is not kept after this."""
        error, self.error = self.error, None
        return error


class HostCall:
    """The function that the runtime calls: it calls the user's function and checks its results.

    The runtime copies results as raw bytes, so a wrong shape or dtype must be found here. An
    exception goes to the runtime, or is kept in `failure` where that is not None.
    """

    __slots__ = ("failure", "function", "n_tokens", "result_types")

    def __init__(self, function: Callable[..., Any], result_types: Sequence[TensorType],
                 has_token: bool) -> None:
        self.function, self.result_types = function, tuple(result_types)
        self.n_tokens = int(has_token)
        self.failure: Failure | None = None

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        failure = self.failure
        if failure is not None and failure.error is not None:
            return self._instead(failure)
        try:
            given = self.function(*arrays[self.n_tokens:])
            results = (None,) * self.n_tokens
            return (*results, *self._checked(given))
        except BaseException as e:  # any exception goes to the caller of the program
            if failure is None:
                raise _keep_error(as_failure(e)) from e
            failure.error = failure.error or as_failure(e)
            return self._instead(failure)

    def _instead(self, failure: Failure) -> tuple[Any, ...]:
        """Values in place of results, which nobody sees."""
        value = failure.instead(self)
        return tuple([np.full((*t.shape, *t.dtype.physical), value, t.dtype.numpy)
                      for t in self.result_types])

    def _checked(self, given: Any) -> list[np.ndarray]:
        results = () if given is None else given
        if not isinstance(results, (tuple, list)):
            results = (results,)
        if len(results) != len(self.result_types):
            raise ValueError(f"host function returned {len(results)} results, but "
                             f"{len(self.result_types)} were declared")
        checked = []
        for i, (result, wanted) in enumerate(zip(results, self.result_types, strict=True)):
            array = np.asarray(result)
            shape = (*wanted.shape, *wanted.dtype.physical)
            if array.shape != shape or array.dtype != wanted.dtype.numpy:
                raise ValueError(f"host function: result {i} was declared as {wanted}, but it "
                                 f"returned {array.dtype}{list(array.shape)}")
            checked.append(np.ascontiguousarray(array).reshape(shape))
        return checked


class HostTransfer:
    """The function that the runtime of a TPU calls when its host has received the operands.

    A call without operands sends a number to the host, and one without results receives one.
    """

    __slots__ = ("call", "n_operands")

    def __init__(self, call: HostCall, n_operands: int) -> None:
        self.call, self.n_operands = call, n_operands

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self.call(*arrays[:self.n_operands]) or (np.zeros((), np.float32),)


def for_runtime(client: Any, calls: Sequence[HostCall], specs: Sequence[Any]) -> list[Any]:
    """The host calls in the form that a client takes when it compiles: unchanged, or with their
    channels if the values go by transfers."""
    return [compat.by_transfers(client, HostTransfer(call, len(spec.operand_types)), spec.sends,
                                spec.receives) if spec.sends else call
            for call, spec in zip(calls, specs, strict=True)]


def host_calls(specs: Sequence[Any], callbacks: Callbacks) -> list[HostCall]:
    """The HostCalls that answer the host calls of a program, given the functions by slot.

    Raises: ValueError where a slot has no function (the runtime would end the process).
    """
    made = []
    callbacks = callbacks if isinstance(callbacks, Mapping) else dict(enumerate(callbacks))
    for spec in specs:
        if spec.function is None and spec.slot not in callbacks:
            raise ValueError(f"the program calls host function number {spec.slot}, but only "
                             f"{len(callbacks)} were given")
        has_token = spec.ordered and not spec.sends
        function = callbacks[spec.slot] if spec.function is None else spec.function
        made.append(HostCall(function, spec.result_types, has_token))
    return made
