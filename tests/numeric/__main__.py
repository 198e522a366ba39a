"""One row: python -m tests.numeric numpy.sum [bfloat16]."""

from __future__ import annotations

import sys

from . import checks
from .rows import ROWS

name, dtypes = sys.argv[1], sys.argv[2:]
for row in ROWS:
    if row.name == name:
        for dtype in dtypes or row.dtypes:
            report = checks.look(row, dtype)
            print(f"{name} {dtype}: {report.cases} cases", *report.faults, sep="\n  ")
