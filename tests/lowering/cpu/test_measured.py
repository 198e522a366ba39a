"""The numbers by which forms, fences and libraries are chosen. They were measured, so a change of
one is read in review: `pytest --update-golden` writes them anew.

Tests of forms look at both sides of these sizes, and take them from the modules. Coefficients of
formulas are not here: the errors of what they compute are tested."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lowering import compat

GOLDEN = Path(__file__).parent / "golden" / "measured.txt"


def is_measured(value: Any) -> bool:
    """Whether it is a number or some whole numbers."""
    if isinstance(value, tuple):
        return bool(value) and all(type(each) is int for each in value)
    return type(value) in (int, float)


def measured() -> Iterator[str]:
    """A line for each number that a module names, and for each in a table."""
    for path in sorted((Path(compat.__file__).parent / "cpu").glob("[a-z]*.py")):
        module = importlib.import_module(f"lowering.cpu.{path.stem}")
        for name, value in sorted(vars(module).items()):
            if name.strip("_").isupper():
                table = value if isinstance(value, dict) else {"": value}
                for key, found in table.items():
                    if is_measured(found):
                        yield f"{path.stem}.{name}{key and f'[{key}]'} = {found!r}\n"


@pytest.mark.skipif(compat.VERSION >= (0, 11), reason="some numbers are those of jaxlib 0.10")
def test_numbers_are_those_that_were_measured(update_golden: bool) -> None:
    text = "".join(measured())
    if update_golden:
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
