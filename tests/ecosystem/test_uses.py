"""Uses of libraries give the values that were recorded with JAX (`uses/record.py`)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from .uses import diffrax_uses, equinox_uses, small_uses
from .uses.record import RECORDED, flat, uses_of

MODULES = {"equinox": equinox_uses, "diffrax": diffrax_uses, "small": small_uses}

# Uses that take more than a few seconds: each compiles many solvers.
SLOW = """a_neural_equation_learns adjoint_of_a_steady_state adjoint_with_checkpoints
    an_equation_driven_by_data an_event_at_a_root explicit_solvers implicit_and_explicit_parts
    implicit_solvers langevin mjx_bodies_that_touch slope_of_a_stochastic_equation
    stochastic_solvers stochastic_solvers_of_high_order stochastic_steps_that_adapt
    the_first_of_several_events
    """.split()


def recorded(library):
    return json.loads((Path(RECORDED) / f"{library}.json").read_text())


@pytest.mark.parametrize("library, use", [
    pytest.param(library, use, marks=[pytest.mark.slow] * (use in SLOW))
    for library, module in MODULES.items() for use in uses_of(module)])
def test_a_use_gives_the_recorded_values(library, use):
    found, wanted = flat(uses_of(MODULES[library])[use]()), recorded(library)[use]
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        a, b = np.array(a, np.float64), np.array(b, np.float64)
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("library", MODULES)
def test_every_use_is_recorded_and_nothing_else(library):
    uses = uses_of(MODULES[library])
    assert len(uses) >= (6 if library == "small" else 25)
    assert uses.keys() == recorded(library).keys()
