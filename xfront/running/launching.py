"""Makes programs on several devices begin one after another, whichever threads call them.

If two threads began such programs at once, their parts could reach the devices in different orders.
Each device would then wait for a part that is queued behind the other program on another device,
for ever. So Python begins these programs, under a lock. A process with one thread needs no lock,
and is faster without: C++ begins the programs of the thread that imported this module, until
another thread begins one.
"""

# hot: benchmarks/sharding.py

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from .. import binding

_FIRST = object()
_first = binding.make_state("first_thread", None, trace_key=False)
"""Has `_FIRST` as its value in the thread that imports this module. It is part of the key by which
C++ finds a program, so that no other thread finds what this one may run."""
_first.set_local(_FIRST)
_REFERENCES = sys.getrefcount(_FIRST)
"""How many there are while that thread runs no compiled function and C++ knows none."""

LONGEST = 10.0
"""For how many seconds a thread waits for the one call that another thread may be in. Longer calls
are traced or compiled, or wait for this thread."""

_shared = False
_turns = 0
"""How many turns the first thread has or waits for: one in another, where a launch needs others."""
_lock = threading.RLock()


def needs_turn(devices: Sequence[Any]) -> bool:
    """Whether this process drives several of these devices, so that two of its programs may reach
    them in different orders."""
    here = devices[0].client.process_index()
    return sum(d.process_index == here for d in devices) > 1


def is_free() -> bool:
    """Whether C++ may begin programs on several devices in this thread."""
    return not _shared and _first.value is _FIRST


class Turn:
    """A context in which this thread alone begins programs on several devices."""

    __slots__ = ()

    def __enter__(self) -> None:
        global _turns
        if _first.value is _FIRST:
            _turns += 1
            _lock.acquire()
        else:
            _lock.acquire()
            if not _shared:
                _share()

    def __exit__(self, *exc: object) -> None:
        global _turns
        if _first.value is _FIRST:
            _turns -= 1
        _lock.release()


turn = Turn()


_HELD = object()
_holder = threading.local()
"""The program whose host function this thread runs, where `_first` has `_HELD` as its value."""


def holding(function: Callable[..., Any], program: str, devices: Sequence[Any]
            ) -> Callable[..., Any]:
    """A host function of a program on `devices`, in which no program on several devices may begin
    if it would wait for ever; with `_HELD`, C++ finds none.

    It would wait for the devices of this one, where these are several. Virtual CPU devices share
    their threads, too, and it needs all of them: then no thread of theirs can wait in the host
    function. One device runs it in the thread that called the program if the arguments are there.
    """
    alone = len(devices) == 1
    if alone and (devices[0].platform != "cpu" or len(devices[0].client.local_devices()) == 1):
        return function

    def host(*arrays: Any) -> Any:
        if alone and not _is_of_runtime(threading.current_thread()):
            return function(*arrays)
        before = _first.swap_local(_HELD)
        _holder.program = program
        running = _running[threading.get_ident()] = program, threading.enumerate()
        try:
            return function(*arrays)
        finally:
            if _running.get(threading.get_ident()) is running:
                del _running[threading.get_ident()]
            _first.set_local(before)

    return host


_running: dict[int, tuple[str, list[threading.Thread]]] = {}
"""By thread: the program whose host function it runs, and the threads there were when that began.
"""

PATIENCE = 5.0
"""Seconds. A host function that has waited for other threads for longer is taken to wait for one
that it started, and that cannot go on before the host function returns."""


def _is_of_runtime(thread: threading.Thread) -> bool:
    return isinstance(thread, threading._DummyThread)        # Python did not start it


def refuse_held(program: str) -> None:
    """Raise a RuntimeError where a program on several devices would wait for ever: for a host
    function that runs in this thread, or for one that waits for this thread."""
    if _first.value is _HELD:
        raise RuntimeError(_refusal(program, _holder.program, "was called in"))
    if _running:
        _let_end(program)


def _let_end(program: str) -> None:
    """Wait until the host functions that began before this thread have returned, because one of
    them may have started it. Raises: RuntimeError where one waits for threads for PATIENCE."""
    me, since = threading.current_thread(), time.monotonic()
    while True:
        older = [(t, holder) for t, (holder, then) in [*_running.items()] if me not in then]
        waiting = [holder for t, holder in older if _waits(t)]
        now = time.monotonic()
        if not waiting:
            since = now
        elif now - since > PATIENCE:
            raise RuntimeError(_refusal(program, waiting[0],
                                        "was called in a thread that began during"))
        if not older:
            return
        time.sleep(0.001)


def _waits(thread: int) -> bool:
    """Whether a thread waits for another: joins it, or waits for a condition, event or queue."""
    frame = sys._current_frames().get(thread)
    return frame is not None and frame.f_code.co_filename == threading.__file__


def _refusal(program: str, holder: str, how: str) -> str:
    return (f"{program} runs on several devices, and {how} a host function (pure_callback, "
            f"io_callback or debug.callback) of {holder}, which holds devices or threads that "
            f"{program} needs until that function returns. Compute on one device there "
            f"(np.asarray(x), or device_put(x, device)), or call {program} before or after "
            f"{holder}")


def _share() -> None:
    """Make Python begin the programs of the first thread too, and return once C++ begins none.

    While C++ runs a call, it holds references to the values of the key by which it found the
    program, and so do the programs that it keeps. Those are forgotten here, so that the references
    left are those of running calls.
    """
    global _shared
    _shared = True
    last = time.monotonic() + LONGEST
    while True:
        binding.clear_pjit_caches()
        if _turns or sys.getrefcount(_FIRST) <= _REFERENCES or time.monotonic() > last:
            return
        time.sleep(0.001)
