"""Watches the other processes. Each keeps a connection to process 0, which tells all processes when
one breaks. That a process was killed is known at once, that a machine is silent after 20 seconds.

A process that leaves says how much it has begun with each of the others, and waits until they leave
too. One that has begun more would wait for it for ever: it tells the one that leaves, which then
ends without the others, so that what waits for its numbers fails.
"""

from __future__ import annotations

import os
import secrets
import selectors
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

from lowering.processes import Processes

KEY = "xfront/watch"
"""The key under which process 0 writes its port and the word that lets others in."""
GRACE = 15.0
"""The number of seconds in which a process may end by its own error, once another one is lost."""


def begin(processes: Processes, host: str, patience: float, farewell: float
          ) -> Callable[[], bool]:
    """Start watching the other processes.

    Args:
      processes: the processes that this one has joined.
      host: host of process 0, by the name with which others reach it.
      patience: number of seconds to wait for process 0.
      farewell: number of seconds to wait until the others leave.
    Returns: a function that says goodbye to the others, and whether they leave too.
    """
    if processes.index == 0:
        return _Centre(processes, farewell).goodbye
    answer = processes.client.blocking_key_value_get(KEY, int(patience * 1000))
    port, word, name = answer.split(" ", 2)
    return _Spoke(processes, host, int(port), word, name, patience, farewell).goodbye


def _own_name() -> str:
    return f"host {socket.gethostname()}, pid {os.getpid()}"


def _keep_alive(s: socket.socket) -> None:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, seconds in (("TCP_KEEPIDLE", 8), ("TCP_KEEPINTVL", 4), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            s.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)


def _counts(processes: Processes) -> str:
    """The number of programs that this process has begun with each other one: `1:12,2:12`."""
    return ",".join([f"{i}:{n}" for i, n in sorted(processes.begun.items())])


class _Leaving:
    """Who has left, and whether this process is to end without the others."""

    def __init__(self, processes: Processes) -> None:
        self.processes, self.here = processes, processes.index
        self.alone = False
        self.decided = threading.Event()
        self.decide()                            # there may be no others

    def heard(self, index: int, counts: str, name: str) -> bool:
        """Record that a process has left; whether this one waits for it for ever."""
        begun = dict([c.split(":") for c in counts.split(",") if c])
        self.processes.left[index] = int(begun.get(str(self.here), 0))
        waits = self.processes.waits_for(index)
        if waits:
            report(self.processes, index, name, "has left")
        self.decide()
        return waits

    def end_alone(self) -> None:
        """Let this process end without the others, because one of them waits for it in vain."""
        self.alone = True
        self.decided.set()

    def decide(self) -> None:
        """If all others have left or are lost, note that there is nobody to wait for."""
        if len({*self.processes.left, *self.processes.lost} - {self.here}) == (
                self.processes.count - 1):
            self.decided.set()

    def together(self, seconds: float) -> bool:
        """Wait until all others have left, or one of them waits for this process; whether none
        does."""
        self.decided.wait(seconds)
        return not self.alone


def report(processes: Processes, index: int, name: str, how: str = "has ended without leaving"
           ) -> None:
    """Record that a process is lost, and end this one soon unless it may outlive others."""
    if index in processes.lost or index == processes.index:
        return
    processes.lost[index] = name
    if processes.recoverable:
        return
    print(f"xfront.distributed: process {index} ({name}) of {processes.count} {how}. Process "
          f"{processes.index} cannot continue without it and will end in {GRACE:g} s.",
          file=sys.stderr, flush=True)
    timer = threading.Timer(GRACE, _end, [processes])
    timer.daemon = True
    timer.start()


def _end(processes: Processes) -> None:
    print(f"xfront.distributed: process {processes.index} is ending, because {processes.losses()} "
          f"of {processes.count} ended before it.", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(1)                                  # the main thread may wait forever


class _Lines:
    """Lines of text, put together from the pieces that come over a socket."""

    def __init__(self) -> None:
        self.rest = b""

    def of(self, data: bytes) -> list[list[str]]:
        *whole, self.rest = (self.rest + data).split(b"\n")
        return [line.decode(errors="replace").split(" ", 2) for line in whole]


class _Centre:
    """The part of process 0: it accepts connections, and tells all processes of one that breaks."""

    def __init__(self, processes: Processes, farewell: float) -> None:
        self.processes, self.word = processes, secrets.token_hex(16)
        self.leaving, self.farewell = _Leaving(processes), farewell
        processes.on_wait = self.waits
        self.members: dict[socket.socket, tuple[int, str]] = {}
        self.lines: dict[socket.socket, _Lines] = {}
        self.left: set[int] = set()
        self.ears = selectors.DefaultSelector()
        dual = socket.has_dualstack_ipv6()
        self.door = socket.create_server(
            ("", 0), family=socket.AF_INET6 if dual else socket.AF_INET, dualstack_ipv6=dual)
        self.door.setblocking(False)
        self.ears.register(self.door, selectors.EVENT_READ)
        self.ended = threading.Event()
        port = self.door.getsockname()[1]
        processes.client.key_value_set(KEY, f"{port} {self.word} {_own_name()}")
        threading.Thread(target=self.listen, name="xfront-watch", daemon=True).start()

    def listen(self) -> None:
        while not self.ended.is_set():
            for key, _ in self.ears.select(0.5):
                s: Any = key.fileobj
                if s is self.door:
                    self.admit()
                else:
                    self.hear(s)

    def admit(self) -> None:
        try:
            s, _ = self.door.accept()
        except OSError:
            return
        s.setblocking(False)
        _keep_alive(s)
        self.lines[s] = _Lines()
        self.ears.register(s, selectors.EVENT_READ)

    def hear(self, s: socket.socket) -> None:
        try:
            data = s.recv(4096)
        except OSError:
            data = b""
        for line in self.lines[s].of(data):
            self.heard(s, line)
        if not data:
            self.ears.unregister(s)
            s.close()
            index, name = self.members.pop(s, (-1, ""))
            if index >= 0 and index not in self.left:
                report(self.processes, index, name)
                self.tell(f"lost {index} {name}\n")
                self.leaving.decide()

    def heard(self, s: socket.socket, line: list[str]) -> None:
        if line[0] == "bye" and s in self.members:
            index, name = self.members[s]
            self.left.add(index)
            counts = line[1] if len(line) > 1 else ""
            if self.leaving.heard(index, counts, name):
                self.waits(index)
            self.tell(f"left {index} {counts}|{name}\n")
        elif line[0] == "waits" and s in self.members:
            self.waits(int(line[1]))
        elif len(line) == 3 and secrets.compare_digest(line[0].encode(), self.word.encode()):
            index = int(line[1])
            self.members[s] = (index, line[2])
            for lost, name in self.processes.lost.items():
                self.send(s, f"lost {lost} {name}\n")

    def tell(self, text: str) -> None:
        for s in list(self.members):
            self.send(s, text)

    def send(self, s: socket.socket, text: str) -> None:
        try:
            s.send(text.encode())
        except OSError:
            pass                                 # the process is gone, as `hear` will find

    def waits(self, index: int) -> None:
        """Tell a process that has left that this one, or another, waits for it."""
        if index == 0:
            self.leaving.end_alone()
        for s, (i, _) in list(self.members.items()):
            if i == index:
                self.send(s, "alone\n")

    def goodbye(self) -> bool:
        """Say goodbye; whether the others leave too."""
        self.tell(f"left 0 {_counts(self.processes)}|{_own_name()}\n")
        together = self.leaving.together(self.farewell)
        if together:
            self.tell("end\n")
        self.ended.set()
        self.door.close()
        return together


class _Spoke:
    """The part of any other process: process 0 tells it which processes are lost."""

    def __init__(self, processes: Processes, host: str, port: int, word: str, name: str,
                 patience: float, farewell: float) -> None:
        self.processes, self.centre, self.ended = processes, name, False
        self.leaving, self.farewell = _Leaving(processes), farewell
        processes.on_wait = self.waits
        try:
            self.line = socket.create_connection((host.strip("[]"), port), timeout=patience)
        except OSError as e:
            raise ConnectionError(
                f"process {processes.index} cannot connect to process 0 at {host}:{port}, where "
                f"process 0 listens for the processes that watch it: {e}") from None
        self.line.settimeout(None)
        _keep_alive(self.line)
        self.line.sendall(f"{word} {processes.index} {_own_name()}\n".encode())
        threading.Thread(target=self.listen, name="xfront-watch", daemon=True).start()

    def listen(self) -> None:
        lines = _Lines()
        while True:
            try:
                data = self.line.recv(4096)
            except OSError:
                data = b""
            for line in lines.of(data):
                self.heard(line)
            if not data and not self.ended:
                report(self.processes, 0, self.centre)
                self.leaving.decide()
            if not data or self.ended:
                self.line.close()
                return

    def heard(self, line: list[str]) -> None:
        if line[0] == "lost":
            report(self.processes, int(line[1]), line[2])
            self.leaving.decide()
        elif line[0] == "left":
            counts, name = line[2].split("|", 1)
            if self.leaving.heard(int(line[1]), counts, name):
                self.waits(int(line[1]))
        elif line[0] == "alone":
            self.leaving.end_alone()
        elif line[0] == "end":
            self.ended = True

    def waits(self, index: int) -> None:
        """Tell a process that has left that this one waits for it."""
        self.say(f"waits {index}\n")

    def say(self, text: str) -> None:
        try:
            self.line.sendall(text.encode())
        except OSError:
            pass                                 # process 0 is gone already

    def goodbye(self) -> bool:
        """Say goodbye; whether the others leave too."""
        self.say(f"bye {_counts(self.processes)}\n")
        together = self.leaving.together(self.farewell)
        self.ended = True
        return together


__all__ = ["begin", "report"]
