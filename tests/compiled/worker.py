"""A process that runs programs: a request is one line of JSON, and so is the answer.

    {"seed": 7, "upto": null}  ->  {"wrong": ""}

`upto` asks for the program that ends with one of its statements. What a program does may end the
process: whoever asked sees that no answer comes.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any

import numpy as np

from .catalogue import write
from .environments import Environment, environment
from .expected import Expected
from .program import Program

CALLS = 40
SECONDS = 0.5
"""How long repeated calls may take."""


def program_of(seed: int, upto: int | None = None) -> Program:
    """The program that stands for a seed."""
    program = write(seed, devices=environment(seed) is Environment.DEVICES)
    return program if upto is None else program.up_to(upto)


def wrong_with(program: Program) -> str:
    """What is wrong with what the compiled program gives; empty where it is right.

    Raises: whatever tracing, compiling and running it raises.
    """
    import xfront as jax

    with jax.enable_x64(program.wide):
        f = program.function()
        given = [i.array() for i in program.inputs]
        made = jax.make_ir(f)(*given)
        expected = Expected(made.ir, [*given, *map(np.asarray, made.consts)],
                            any(v.rough for v in program.returned))
        placed = program.placed_inputs(given)
        compiled = jax.jit(f)
        start = time.perf_counter()
        first: list[bytes] = []
        for call in range(CALLS):
            results = [np.asarray(x) for x in compiled(*placed)]
            bits = [x.tobytes() for x in results]
            if bits != first:
                said = expected.differences(results, program.returned)
                if said:
                    return f"call {call + 1}:\n{said}" if call else said
                if call:
                    return f"call {call + 1} gives other bits than the first"
            first = bits
            if call and time.perf_counter() - start > SECONDS:
                break
    return ""


def answer(request: dict[str, Any]) -> dict[str, str]:
    """What one request is answered."""
    try:
        return {"wrong": wrong_with(program_of(request["seed"], request["upto"]))}
    except Exception as error:
        lines = traceback.format_exception(error)
        return {"error": f"{type(error).__name__}: {error}"[:2000], "trace": "".join(lines)[-3000:]}


def main() -> None:
    """Answer until the input ends. What others print goes to the error stream."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
