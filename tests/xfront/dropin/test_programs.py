"""Programs written for JAX run unchanged and compute what they compute there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.recorded.record_programs import PROGRAMS
from tests.xfront.dropin.running import output

TESTS = Path(__file__).parents[2]
RECORDED = json.loads((TESTS / "recorded" / "programs.json").read_text())
SAMPLE = ("kalman", "nbody")


def check(program: Path) -> None:
    """The numbers that a program prints last are those recorded."""
    found = json.loads(output("-m", "xfront", str(program)).splitlines()[-1])
    np.testing.assert_allclose(found, RECORDED[program.stem], rtol=1e-3)


def test_every_program_is_recorded() -> None:
    assert sorted(RECORDED) == [p.stem for p in PROGRAMS] and len(PROGRAMS) == 10


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.stem in SAMPLE], ids=lambda p: p.stem)
def test_a_program_computes_what_is_recorded(program: Path) -> None:
    check(program)


@pytest.mark.slow
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.stem not in SAMPLE],
                         ids=lambda p: p.stem)
def test_the_other_programs_do_so_too(program: Path) -> None:
    check(program)
