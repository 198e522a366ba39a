"""The largest error of each special function, in units in the last place.

    make numeric                                       measures, and compares with what is recorded
    python -m tests.accuracy --record                  writes what was measured, and the page of it
    python -m tests.accuracy --against FILE --record   records another library's errors, too

FILE is what `PYTHON -m tests.accuracy.values MODULE FILE` wrote, under an interpreter that has that
library. An error above 2 and above the other library's needs a reason in `page.py`.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from .errors import error
from .grid import GRID
from .page import PAGE, RECORDED, SAMPLE, STEP, page, worse
from .right import right
from .values import DTYPES, points, values


def _rounded(x: float) -> float | str:
    return float(f"{x:.3g}") if np.isfinite(x) else "inf"


def main(arguments: list[str]) -> int:
    """Measure; see the top of the file."""
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    measured = {"xfront": values("xfront", GRID)}
    if "--against" in arguments:
        with np.load(arguments[arguments.index("--against") + 1]) as file:
            measured["jax"] = {tuple(key.split("|")): file[key] for key in file.files}
    sample: dict[str, list[float]] = {}
    for library in measured:
        recorded[library] = {}
    for name in GRID:
        for dtype in DTYPES:
            given = points(name, dtype)
            near, rest = right(name, given)
            if dtype == "float32":
                sample[name] = near[::STEP].copy().view(np.float64).tolist()
            for library, held in measured.items():
                worst = error(held[name, dtype], near, rest, dtype)
                recorded[library].setdefault(name, {})[dtype] = _rounded(worst.max())
                at = int(np.argmax(worst))
                print(f"{library:8} {name:20} {dtype} {worst.max():10.3g} ulp at",
                      *(f"{x[at]:.6g}" for x in given), flush=True)
    if "--record" in arguments:
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
        SAMPLE.write_text(json.dumps(sample) + "\n")
        PAGE.write_text(page(recorded))
    complaints = worse(recorded["xfront"], recorded["jax"])
    print(*complaints, sep="\n")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
