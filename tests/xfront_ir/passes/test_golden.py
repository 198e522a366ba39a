"""Passes on text: each file of `golden/` is a program, the passes to run, and what they give.

    // pass: jvp(active = [true]), dead_code
    func @f(...) ...
    // ---- expect
    func @f(...) ...

`pytest --update-golden` rewrites what is expected; the change is read in review.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from xfront_ir.core import Function
from xfront_ir.parser import parse
from xfront_ir.passes.discharge import discharge
from xfront_ir.passes.jvp import jvp
from xfront_ir.passes.linearize import gradient, linearize
from xfront_ir.passes.literals import abstract
from xfront_ir.passes.pipeline import PASSES, simplify
from xfront_ir.passes.strong import strong
from xfront_ir.passes.transpose import transpose
from xfront_ir.passes.varying import varying
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.verifier import verify

FILES = sorted((Path(__file__).parent / "golden").glob("*.ir"))
MARK = "// ---- expect\n"


def _linearize(fn: Function, active: tuple) -> list[Function | str]:
    parts = linearize(fn, active)
    sources = ", ".join(f"{kind} {i}" for kind, i in parts.residuals)
    return [parts.forward, f"// residuals: {sources}", parts.linear]


NAMED: dict[str, Callable[..., Any]] = {
    "jvp": lambda fn, active: jvp(fn, active)[0],
    "linearize": _linearize,
    "transpose": lambda fn, n_residuals, active_ct: transpose(fn, n_residuals, active_ct)[0],
    "vectorize": lambda fn, positions, axis, out=None: vectorize(fn, positions, axis, out)[0],
    "gradient": gradient,
    "varying": lambda fn, sets, axes: varying(fn, tuple(map(frozenset, sets)), axes)[0],
    "strong": lambda fn, linear: strong(fn, linear)[0],
    "abstract": lambda fn, indices: abstract(fn, indices),
    "simplify": simplify,
    **PASSES,
    "discharge": lambda fn: discharge(fn)[0],
}


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value


def _calls(line: str) -> list[tuple[str, dict[str, Any]]]:
    """`a(x = [true]), b` as [("a", {"x": (True,)}), ("b", {})]."""
    words = {"true": "True", "false": "False", "none": "None"}
    text = re.sub(r"\b(true|false|none)\b", lambda m: words[m[0]], line)
    tree = ast.parse(f"[{text}]", mode="eval").body
    assert isinstance(tree, ast.List)
    found = []
    for item in tree.elts:
        if isinstance(item, ast.Call):
            given = {k.arg: _tuples(ast.literal_eval(k.value)) for k in item.keywords}
            found.append((item.func.id, given))      # type: ignore[attr-defined]
        else:
            found.append((item.id, {}))              # type: ignore[attr-defined]
    return found


def _run(text: str) -> str:
    first, rest = text.split("\n", 1)
    assert first.startswith("// pass: "), "the first line names the passes"
    made: list[Any] = [parse(rest)]
    for name, given in _calls(first.removeprefix("// pass: ")):
        made = [part if isinstance(part, str) else NAMED[name](part, **given) for part in made]
        made = [part for group in made for part in (group if isinstance(group, list) else [group])]
    for part in made:
        if isinstance(part, Function):
            verify(part)
    return "\n".join(str(part) for part in made) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden(path: Path, update_golden: bool) -> None:
    given, mark, expected = path.read_text().partition(MARK)
    got = _run(given)
    if update_golden:
        path.write_text(f"{given}{MARK}{got}")
        return
    assert mark, f"{path.name} has no line {MARK!r}; run pytest --update-golden"
    assert got == expected
