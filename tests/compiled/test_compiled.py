"""The search for programs that are compiled wrongly: a sample, and that it finds what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from .catalogue import write
from .environments import BLOCK
from .expected import Expected
from .program import Program, Value
from .search import Finding, Search, Worker, blocks
from .worker import program_of, wrong_with

SAMPLE = (0, 4000, 4001, 4002)
"""Blocks of seeds of which the suite runs each program."""


@pytest.mark.slow
@pytest.mark.parametrize("block", SAMPLE)
def test_compiled_programs_give_what_the_evaluator_gives(block: int) -> None:
    found: list[Finding] = []
    search = Search(blocks(block * BLOCK, BLOCK), 1, float("inf"), found.append)
    search.run()
    assert search.programs == BLOCK
    assert not found, "\n\n".join(map(str, found))


def test_a_seed_stands_for_one_program_with_every_operation_among_many() -> None:
    assert str(write(7)) == str(write(7)) != str(write(8))
    words = {word for seed in range(400) for word in write(seed).source.split("(")}
    for name in ("reduce_max", "reduce_sum", "reduce_window", "conv_general_dilated", "pad",
                 "slice", "dynamic_slice", "dynamic_update_slice", "gather", "scatter_add",
                 "concatenate", "while_loop", "fori_loop", "scan", "sort", "top_k", "cumsum",
                 "associative_scan", "reduce_precision", "convert_element_type",
                 "bitcast_convert_type", "dot_general", "reduce", "argmax", "switch", "cond",
                 "clamp", "integer_pow"):
        assert any(word.endswith(f"lax.{name}") for word in words), name


def test_programs_print_as_python_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(str(program_of(3)), {})
    assert "Array(" in capsys.readouterr().out


def expected(*values: np.ndarray) -> Expected:
    """As if the evaluator had given these."""
    made = object.__new__(Expected)
    made.values = made.flushed = [*values]
    made.bounds = [np.full(v.shape, 0.5) for v in values]
    return made


@pytest.mark.parametrize(("right", "given", "facts", "said"), [
    ([1.0, 2.0], [1.0, 3.0], {}, "1 of 2 wrong; [1]: 3.0 for 2.0"),
    ([1.0, np.nan], [1.0, 2.0], {}, "2.0 for nan"),
    ([np.inf], [np.nan], {"rough": True}, "nan for inf"),
    ([0.0], [-0.0], {"moved": True}, "-0.0 for 0.0"),
    ([0.0], [-0.0], {}, ""),
    ([1.0], [1.25], {"rough": True}, ""),
    ([1.0], [1.75], {"rough": True}, "1.75 for 1.0"),
    ([1e-40], [0.0], {"moved": True}, ""),
    ([1e-30], [0.0], {}, "0.0 for"),
])
def test_results_are_compared_by_what_is_known_of_them(right: list[float], given: list[float],
                                                       facts: dict[str, bool], said: str) -> None:
    e, x = (np.array(values, np.float32) for values in (right, given))
    found = expected(e).differences([x], [Value("v", "f32", x.shape, **facts)])
    assert said in found if said else not found


def test_bounds_count_terms_and_are_of_the_size_of_the_terms() -> None:
    import xfront as jax
    import xfront.numpy as jnp

    x = np.array([1e4, -1e4, 1.0], np.float32)
    fn = jax.make_ir(lambda x: jnp.sum(x * x - x))(x).ir
    bound = Expected(fn, [x], True).bounds[0]
    assert bound is not None
    eps, size = np.finfo(np.float32).eps, 2e8 + 2e4 + 2
    assert size * eps < bound < 20 * size * eps


def test_a_program_that_is_compiled_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import xfront as jax

    program = next(p for p in map(program_of, range(100))
                   if "reduce_sum" in p.source and not p.mesh)
    assert not wrong_with(program)
    true = jax.jit

    def wrong(f: object) -> object:
        made = true(f)                                             # type: ignore[arg-type]
        return lambda *xs: [np.asarray(x) + 1 for x in made(*xs)]

    monkeypatch.setattr(jax, "jit", wrong)
    assert "wrong" in wrong_with(program)


def test_a_process_that_dies_is_a_finding_and_the_search_goes_on() -> None:
    worker = Worker(0)
    assert worker.ask(0) is None
    assert worker.process is not None
    worker.process.kill()
    found = worker.ask(1)
    assert found is not None and found.how == "crash" and "exit -9" in found.said
    assert "seed 1" in str(found) and "def program(" in str(found)
    assert worker.ask(1) is None
    worker.close()


def test_the_smallest_program_holds_what_its_last_statement_needs() -> None:
    program = next(p for p in map(program_of, range(100)) if len(p.statements) > 3)
    part: Program = program.up_to(1)
    assert part.returned == program.statements[1].values
    assert len(part.statements) <= 2
    names = {i.value.name for i in part.inputs}
    assert all(n in part.source for n in names)
