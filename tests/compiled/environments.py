"""In which kind of process a seed's program runs."""

from __future__ import annotations

import enum
import os

BLOCK = 50
"""So many seeds in a row share a process."""


class Environment(enum.Enum):
    """A kind of process, with the variables that make it so."""

    PLAIN = "on one device"
    DEVICES = "divided over up to eight devices"
    FORMLESS = "without forms for the CPU"
    THREADS = "on sixteen threads"

    @property
    def variables(self) -> dict[str, str]:
        """What is set in the environment."""
        return {"PLAIN": {}, "DEVICES": {"XFRONT_NUM_CPU_DEVICES": "8"},
                "FORMLESS": {"XFRONT_CPU_FORMS": "0"}, "THREADS": {"NPROC": "16"}}[self.name]


_TURNS = (Environment.PLAIN, Environment.DEVICES, Environment.PLAIN, Environment.FORMLESS,
          Environment.PLAIN, Environment.DEVICES, Environment.PLAIN, Environment.THREADS)


def environment(seed: int) -> Environment:
    """The kind of process for a seed: a quarter run on several devices."""
    return _TURNS[seed // BLOCK % len(_TURNS)]


def variables(seed: int) -> dict[str, str]:
    """The whole environment of a process for a seed: nothing is read from or kept on disk."""
    mine = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "XFRONT_CPU_FORMS")}
    return {**mine, "XFRONT_CACHE": "0", "XFRONT_NUM_CPU_DEVICES": "1", "TF_CPP_MIN_LOG_LEVEL": "1",
            **environment(seed).variables}
