"""debug.breakpoint: a prompt with the values of the run, in every frame and transformation."""

from __future__ import annotations

import bdb
import io
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax


class Terminal:
    """Commands to be read, and what is answered."""

    def __init__(self, *commands: str) -> None:
        self.stdin, self.stdout = io.StringIO("\n".join(commands) + "\n"), io.StringIO()

    def stop(self, **options: Any) -> None:
        """A breakpoint that uses this terminal."""
        jax.debug.breakpoint(stdin=self.stdin, stdout=self.stdout, num_frames=9, **options)

    @property
    def answers(self) -> list[str]:
        """What was answered to each command."""
        jax.effects_barrier()
        return self.stdout.getvalue().split("(jdb) ")[1:]


def test_expressions_are_of_this_run_in_each_frame() -> None:
    terminal = Terminal("u", "p z", "z[0] + 1", "kept", "text", "u", "p x", "np.sum(x)", "d", "d",
                        "p z", "c")

    def inner(z: Any) -> Any:
        kept, text = {"a": z, "b": (1, z * 2)}, "unchanged"
        terminal.stop()
        return z + len(text) * kept["a"]

    @jax.jit
    def outer(x: Any) -> Any:
        return jax.jit(inner)(x * 2)

    outer(np.arange(2, dtype=np.float32))
    found = [a.rstrip("\n") for a in terminal.answers]
    assert "->          terminal.stop()" in found[0] and "in inner" in found[0]
    assert found[1:5] == [
        "Array([0., 2.], dtype=float32)", "Array(1., dtype=float32)",
        "{'a': Array([0., 2.], dtype=float32), 'b': (1, Array([0., 4.], dtype=float32))}",
        "'unchanged'"]
    assert "in outer" in found[5] and "return jax.jit(inner)" in found[5]
    assert found[6:8] == ["Array([0., 1.], dtype=float32)", "Array(1., dtype=float32)"]
    assert "in stop" in found[9] and "NameError: name 'z'" in found[10]
    with pytest.raises(bdb.BdbQuit):               # the second run finds no more commands
        outer(np.arange(2, dtype=np.float32))
        jax.effects_barrier()


def test_each_turn_and_each_batch_stops() -> None:
    terminal = Terminal(*["u", "i", "c"] * 5)

    def turn(c: Any, i: Any) -> tuple[Any, Any]:
        terminal.stop(ordered=in_turn)
        return c + i, None

    in_turn = True
    lax.scan(turn, 0, jnp.arange(3))
    in_turn = False
    jax.vmap(lambda i: turn(0, i)[0])(jnp.arange(2))
    found = [a.rstrip("\n") for a in terminal.answers[1::3]]
    assert found[:3] == [f"Array({i}, dtype=int32)" for i in range(3)]
    assert sorted(found[3:]) == [f"Array({i}, dtype=int32)" for i in range(2)]


def test_under_derivatives_and_values_of_traces_that_ended() -> None:
    terminal, left = Terminal("u", "x", "y", "w", "p nothing", "help p", "", "c"), []

    def f(x: Any) -> Any:
        y = left[0]
        terminal.stop()
        return x * 2 if y is not None else x

    jax.jit(lambda x: left.append(x) or x)(1.0)
    assert jax.grad(f)(3.0) == 2.0
    found = terminal.answers
    assert found[1] == "Array(3., dtype=float32)\n"
    assert found[2] == "<a value of type f32[], of a trace that has ended>\n"
    assert "in test_under" in found[3] and "->File" in found[3] and "terminal.stop()" in found[3]
    assert found[4] == "*** NameError: name 'nothing' is not defined\n"
    assert "its value" in found[5] and not found[6]


def test_quitting_and_the_end_of_commands_end_the_run() -> None:
    for commands in (["q"], ["p 1"]):
        with pytest.raises(bdb.BdbQuit):
            jax.jit(lambda x: Terminal(*commands).stop() or x)(1.0).block_until_ready()  # noqa: B023
            jax.effects_barrier()


@pytest.mark.parametrize("given", [{"backend": "web"}, {"num_frames": 0}])
def test_what_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        jax.debug.breakpoint(**given)
    with pytest.raises(NotImplementedError, match="token"):
        jax.debug.breakpoint(token=1)  # type: ignore[arg-type]
