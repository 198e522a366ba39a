"""A sample of `make numeric`: the recorded right values of every thirtieth point in float32."""

from __future__ import annotations

import json

import numpy as np

import xfront.scipy.special as special

from .errors import error
from .grid import GRID, OTHERS
from .page import PAGE, RECORDED, SAMPLE, STEP, page, worse
from .values import function_of, points, values


def test_every_special_function_is_measured() -> None:
    measured = {function_of(name) for name in GRID}
    assert measured | OTHERS.keys() == set(special.__all__)
    assert not measured & OTHERS.keys()


def test_no_error_is_larger_than_recorded() -> None:
    recorded, right = json.loads(RECORDED.read_text()), json.loads(SAMPLE.read_text())
    sample = {name: tuple(x[::STEP] for x in given) for name, given in GRID.items()}
    dtype, wrong = "float32", []
    for (name, _), got in values("xfront", sample, (dtype,)).items():
        near = np.array(right[name]).view(np.complex128 if got.dtype.kind == "c" else np.float64)
        worst = error(got, near, np.zeros_like(near), dtype).max()
        most = max(float(recorded["xfront"][name][dtype]) * 1.05, 2.0)
        if not worst <= most:
            wrong.append(f"{name}: {worst} ulp, recorded {most}; {points(name, dtype, sample)}")
    assert not wrong, "\n".join(wrong)


def test_errors_are_no_larger_than_those_of_the_library_of_reference() -> None:
    recorded = json.loads(RECORDED.read_text())
    assert not worse(recorded["xfront"], recorded["jax"])
    assert PAGE.read_text() == page(recorded), "python -m tests.accuracy --record writes it"
