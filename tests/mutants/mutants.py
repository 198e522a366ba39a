"""The faults that are planted: changes of one operator, number, keyword, loop or decorator.

They are cosmic-ray's. A draw takes places in the sources by chance, each as likely as any other,
and at each place one of the changes that are possible there. What no program can tell from the
original is no mutant: changes of annotations, of caches of functions, of what type checkers alone
import and of `strict` in zips, which asserts what always holds; and `is` for `==`, for types are
interned and small numbers are one object.
"""

from __future__ import annotations

import ast
import itertools
import random
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import cosmic_ray.ast
import cosmic_ray.mutating
import cosmic_ray.plugins

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("xfront_ir/passes", "xfront_ir/ops", "lowering/forms", "lowering/cpu")

CACHES = ("cache", "lru_cache")
SAME = ("_Eq_Is", "_Is_Eq", "_NotEq_IsNot", "_IsNot_NotEq")


class Mutant(NamedTuple):
    """A file with one fault."""

    path: str
    lines: range
    """The lines that differ, as the original numbers them."""
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lines.start}: `{self.before}` became `{self.after}`"


def draw(count: int, seed: int) -> list[Mutant]:
    """`count` mutants of different places, the same for the same seed and sources."""
    rng = random.Random(seed)
    changes = {
        (path, start): found
        for room in ROOMS
        for path in sorted((ROOT / room).glob("*.py"))
        for start, found in sorted(_changes(path.read_text()).items())
    }
    places = list(changes)
    rng.shuffle(places)
    mutants = (_planted(*place, changes[place], rng) for place in places)
    return list(itertools.islice((mutant for mutant in mutants if mutant), count))


def _operators() -> list[Any]:
    names = cosmic_ray.plugins.operator_names()
    classes = [cosmic_ray.plugins.get_operator(name) for name in names]
    return [
        each() for each in classes if not each.arguments() and not each.__name__.endswith(SAME)
    ]


OPERATORS = _operators()
KINDS = frozenset(
    "operator keyword number comparison test factor not_test except_clause if_stmt while_stmt "
    "assert_stmt for_stmt decorator".split()
)
"""Nodes at which they change something; to ask each about the others takes a minute."""
PUNCTUATION = frozenset("()[]{},:.=")


def _changes(source: str) -> dict[tuple[int, int], list[tuple[Any, int]]]:
    """At each place what can be changed: the operator and which of its occurrences."""
    counts: dict[Any, int] = defaultdict(int)
    found: dict[tuple[int, int], list[tuple[Any, int]]] = defaultdict(list)
    for node in cosmic_ray.ast.ast_nodes(cosmic_ray.ast.get_ast(source)):
        if node.type not in KINDS or getattr(node, "value", "") in PUNCTUATION:
            continue
        for operator in OPERATORS:
            for start, _ in operator.mutation_positions(node):
                found[start].append((operator, counts[operator]))
                counts[operator] += 1
    return found


def _planted(
    path: Path, start: tuple[int, int], changes: list[tuple[Any, int]], rng: random.Random
) -> Mutant | None:
    """The file with one of the changes; None where the program stays the same."""
    original = path.read_text()
    source = cosmic_ray.mutating.mutate_code(original, *rng.choice(changes))
    try:
        if not source or _meaning(source) == _meaning(original):
            return None
    except SyntaxError:
        return None
    old, new = original.splitlines(), source.splitlines()
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new)))
    rest = zip(reversed(old[same:]), reversed(new[same:]))
    after = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], rest))
    old_lines, new_lines = old[same : len(old) - after], new[same : len(new) - after]
    before, instead = (" ".join(" ".join(lines).split()) for lines in (old_lines, new_lines))
    lines = range(same + 1, same + 1 + max(len(old_lines), 1))
    return Mutant(str(path.relative_to(ROOT)), lines, before, instead, source)


class _Bare(ast.NodeTransformer):
    """Leaves out annotations, caches, imports for type checkers and `strict`."""

    def visit_If(self, node: ast.If) -> ast.AST:
        return ast.Pass() if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.keywords = [each for each in node.keywords if each.arg != "strict"]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return ast.AnnAssign(node.target, ast.Constant(None), node.value, node.simple)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        node.decorator_list = [
            each for each in node.decorator_list
            if ast.unparse(each).partition("(")[0].rpartition(".")[2] not in CACHES
        ]
        return self.generic_visit(node)


def _meaning(source: str) -> str:
    return ast.dump(_Bare().visit(ast.parse(source)))
