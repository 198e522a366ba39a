"""The search: programs one after the other, in processes that may die, and what they found."""

from __future__ import annotations

import contextlib
import json
import re
import selectors
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .environments import BLOCK, Environment, environment, variables
from .worker import program_of

SAID = 3
"""Findings of one family that are printed."""

PATIENCE = 600
"""Seconds for one program, after which it hangs."""


def _operations(text: str) -> set[str]:
    """The functions that a statement calls, other than those that write numbers down."""
    names = set(re.findall(r"(?:\blax|\bjnp|\])\.(\w+)\(", text))
    return {n for n in names if not re.fullmatch(
        r"array|asarray|zeros|u?int\d+|float\d+|bfloat16|bool_|\w*Numbers", n)}


@dataclass(frozen=True)
class Finding:
    """A program that does not give what it should.

    Attributes:
      how: `wrong`, `error`, `crash` or `hangs`.
      said: what is wrong, or what the process said last.
      upto: the first of its statements whose values are wrong, None where that is not so alone.
    """

    seed: int
    how: str
    said: str
    upto: int | None = None

    @property
    def kind(self) -> str:
        """The operations of the smallest program that shows it."""
        *before, last = [_operations("\n".join(s.lines))
                         for s in program_of(self.seed, self.upto).statements]
        earlier = sorted(set().union(*before))
        return f"{self.how}: {', '.join(sorted(last)) or 'arithmetic'}" \
            + (f" after {', '.join(earlier)}" if earlier else "")

    @property
    def family(self) -> str:
        """Its kind, without what comes before the operation that shows it."""
        return self.kind.partition(" after ")[0]

    def __str__(self) -> str:
        where = "".join(f"{k}={v} " for k, v in environment(self.seed).variables.items())
        return f"seed {self.seed}, {self.how}: {self.said}\n# {where}python -\n" \
               f"{program_of(self.seed, self.upto)}"


class Worker:
    """A process for the programs of one block of seeds, started anew when it has died."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.process: subprocess.Popen[str] | None = None

    def ask(self, seed: int, upto: int | None = None) -> Finding | None:
        """Run a program; what was found, if anything."""
        process = self._running()
        said = ""
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps({"seed": seed, "upto": upto}) + "\n")
            process.stdin.flush()
            said = self._line(process)
        except BrokenPipeError:
            pass
        if not said:
            hung = process.poll() is None and not self._ends(process)
            tail = self.close()
            return Finding(seed, "hangs" if hung else "crash", tail, upto)
        given = json.loads(said)
        if "error" in given:
            return Finding(seed, "error", given["error"] + "\n" + given["trace"], upto)
        return Finding(seed, "wrong", given["wrong"], upto) if given["wrong"] else None

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.compiled.worker"], env=variables(self.seed),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.tail: list[str] = []
            self.listener = threading.Thread(target=self._drain, args=(self.process,), daemon=True)
            self.listener.start()
        return self.process

    def _drain(self, process: subprocess.Popen[str]) -> None:
        """Keep the last lines that the process says."""
        assert process.stderr is not None
        for line in process.stderr:
            self.tail.append(line)
            del self.tail[:-200]

    def _line(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            return process.stdout.readline() if waiting.select(PATIENCE) else ""

    def _ends(self, process: subprocess.Popen[str]) -> bool:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> str:
        """End the process; what it said last."""
        process, self.process = self.process, None
        if process is None:
            return ""
        process.kill()
        code = process.wait()
        self.listener.join(10)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        checks = [line for line in self.tail if "Check failed" in line]
        return f"exit {code}; {''.join([*checks, *self.tail[-8:]])}"


@dataclass
class Search:
    """Programs of many seeds in several processes at once.

    Attributes:
      say: what is done with a finding: with the first of a kind, and with SAID of a family.
      known: findings by kind.
    """

    seeds: Iterator[range]
    workers: int
    until: float
    say: Callable[[Finding], Any]
    known: dict[str, list[Finding]] = field(default_factory=dict)
    said: Counter[str] = field(default_factory=Counter)
    programs: int = 0

    def run(self) -> None:
        """Search until the seeds or the time end."""
        self.lock = threading.Lock()
        threads = [threading.Thread(target=self._blocks) for _ in range(self.workers)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def _blocks(self) -> None:
        while time.monotonic() < self.until:
            with self.lock:
                block = next(self.seeds, None)
            if block is None:
                return
            self._block(block)

    def _block(self, block: range) -> None:
        worker = Worker(block.start)
        try:
            for seed in block:
                if time.monotonic() > self.until:
                    return
                found = worker.ask(seed)
                if found is not None:
                    found = smallest(worker, found)
                with self.lock:
                    self.programs += 1
                    if found is not None:
                        self._found(found)
        finally:
            worker.close()

    def _found(self, finding: Finding) -> None:
        of_kind = self.known.setdefault(finding.kind, [])
        of_kind.append(finding)
        if len(of_kind) == 1:
            self.said[finding.family] += 1
            if self.said[finding.family] <= SAID:
                self.say(finding)


def smallest(worker: Worker, finding: Finding) -> Finding:
    """The finding with the first of the program's statements that shows it."""
    if finding.how == "hangs":
        return finding
    for k in range(len(program_of(finding.seed).statements)):
        found = worker.ask(finding.seed, k)
        if found is not None and found.how == finding.how:
            return found
    return finding


def blocks(first: int, count: int | None = None, where: Environment | None = None
           ) -> Iterator[range]:
    """Seeds from `first`, in blocks that share a process, `count` of them or without end; with
    `where` those of one kind of process alone."""
    left = count
    while left is None or left > 0:
        stop = (first // BLOCK + 1) * BLOCK
        if where is None or environment(first) is where:
            block = range(first, stop if left is None else min(stop, first + left))
            yield block
            left = None if left is None else left - len(block)
        first = stop
