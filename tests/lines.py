"""How many lines of code the engine has: `make lines`, or `python -m tests.lines [ROOT]`.

The engine is the IR without its ops, the passes, what traces and runs programs, the
transformations, programs under JAX's names, and the lowering without rules and platforms. Blank
lines, comments and docstrings are not counted.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _others(*folders: str) -> tuple[str, ...]:
    """All that lies in `xfront/` but these folders."""
    return tuple(sorted({path.name for path in (ROOT / "xfront").iterdir()} - {*folders}))


PARTS = {
    "the IR": ("xfront_ir", ("ops", "passes", "reference_ops")),
    "passes": ("xfront_ir/passes", ()),
    "binding, base, values": ("xfront", _others("binding", "base", "values")),
    "tracing": ("xfront/tracing", ()),
    "sharding": ("xfront/sharding", ()),
    "running": ("xfront/running", ()),
    "eager, methods": ("xfront", _others("eager", "methods")),
    "transformations": ("xfront/transforms", ()),
    "jaxpr": ("xfront/jaxpr", ()),
    "lowering": ("lowering", ("cpu", "forms", "gpu", "rules", "tpu")),
}
"""Each part: its folder, and the folders in it that are none of the engine."""

_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
            tokenize.ENCODING, tokenize.ENDMARKER)


def lines_of_code(source: str) -> int:
    """Lines that hold code: no blank ones, comments or strings that stand alone."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(
                node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def count(root: Path) -> dict[str, int]:
    """Lines of each part of the engine."""
    found = {}
    for part, (folder, without) in PARTS.items():
        top = root / folder
        files = [f for f in top.rglob("*.py") if f.relative_to(top).parts[0] not in without]
        found[part] = sum(lines_of_code(f.read_text()) for f in files)
    return found


if __name__ == "__main__":
    parts = count(Path(sys.argv[1]) if sys.argv[1:] else ROOT)
    for name, lines in {**parts, "the engine": sum(parts.values())}.items():
        print(f"{name:24}{lines:8,}")
