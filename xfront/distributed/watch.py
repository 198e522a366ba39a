"""Watches the other processes. Each keeps a connection to process 0, which tells all processes when
one breaks. That a process was killed is known at once, that a machine is silent after 20 seconds.
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


def begin(processes: Processes, host: str, patience: float) -> Callable[[], None]:
    """Start watching the other processes.

    Args:
      processes: the processes that this one has joined.
      host: host of process 0, by the name with which others reach it.
      patience: number of seconds to wait for process 0.
    Returns: a function that says goodbye to the others.
    """
    if processes.index == 0:
        return _Centre(processes).goodbye
    told = processes.client.blocking_key_value_get(KEY, int(patience * 1000))
    port, word, name = told.split(" ", 2)
    return _Spoke(processes, host, int(port), word, name, patience).goodbye


def _own_name() -> str:
    return f"host {socket.gethostname()}, pid {os.getpid()}"


def _keep_alive(s: socket.socket) -> None:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, seconds in (("TCP_KEEPIDLE", 8), ("TCP_KEEPINTVL", 4), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            s.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)


def report(processes: Processes, index: int, name: str) -> None:
    """Record that a process is lost, and end this one soon unless it may outlive others."""
    if index in processes.lost or index == processes.index:
        return
    processes.lost[index] = name
    if processes.recoverable:
        return
    print(f"xfront.distributed: process {index} ({name}) of {processes.count} has ended without "
          f"leaving. Process {processes.index} cannot continue without it and will end in "
          f"{GRACE:g} s.",
          file=sys.stderr, flush=True)
    timer = threading.Timer(GRACE, _end, [processes])
    timer.daemon = True
    timer.start()


def _end(processes: Processes) -> None:
    print(f"xfront.distributed: process {processes.index} is ending, because {processes.losses()} "
          f"of {processes.count} ended without leaving.", file=sys.stderr, flush=True)
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

    def __init__(self, processes: Processes) -> None:
        self.processes, self.word = processes, secrets.token_hex(16)
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
            self.told(s, line)
        if not data:
            self.ears.unregister(s)
            s.close()
            index, name = self.members.pop(s, (-1, ""))
            if index >= 0 and index not in self.left:
                report(self.processes, index, name)
                self.tell(f"lost {index} {name}\n")

    def told(self, s: socket.socket, line: list[str]) -> None:
        if line[0] == "bye" and s in self.members:
            self.left.add(self.members[s][0])
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

    def goodbye(self) -> None:
        self.tell("end\n")
        self.ended.set()
        self.door.close()


class _Spoke:
    """The part of any other process: process 0 tells it which processes are lost."""

    def __init__(self, processes: Processes, host: str, port: int, word: str, name: str,
                 patience: float) -> None:
        self.processes, self.centre, self.ended = processes, name, False
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
                if line[0] == "lost":
                    report(self.processes, int(line[1]), line[2])
                self.ended = self.ended or line[0] == "end"
            if self.ended:
                return
            if not data:
                report(self.processes, 0, self.centre)
                return

    def goodbye(self) -> None:
        self.ended = True
        try:
            self.line.sendall(b"bye\n")
        except OSError:
            pass                                 # process 0 is gone already


__all__ = ["begin", "report"]
