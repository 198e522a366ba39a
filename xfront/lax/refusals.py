"""Errors of control flow whose bodies do not fit together: which leaf, of which function, and how.

This file is imported only when something is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..base.tree_errors import differences, skeleton
from ..base.trees import keystr, tree_flatten_with_path
from ..transforms.flat import placed


def branch_names(what: str, n: int) -> list[str]:
    """The names of the branches for users, in the op's order: a cond's false branch is first."""
    return ["false_fun", "true_fun"] if what == "cond" else [f"branches[{i}]" for i in range(n)]


def refuse_branch_structure(what: str, funs: Sequence[Callable[..., Any]], trees: Sequence[Any],
                            k: int) -> NoReturn:
    """Raise the TypeError of a branch `k` whose result has another structure than the first's."""
    names = branch_names(what, len(funs))
    difference = difference_of(trees[k], trees[0], "result")
    raise TypeError(f"{names[k]} and {names[0]} output must have same type structure, got "
                    f"{trees[k]} and {trees[0]}: {difference}. {names[k]} is {placed(funs[k])}, "
                    f"{names[0]} is {placed(funs[0])}.")


def refuse_branch_types(what: str, funs: Sequence[Callable[..., Any]], tree: Any,
                        results: Sequence[Sequence[Any]]) -> NoReturn:
    """Raise the TypeError of branches whose results differ in type; each result has its types in
    all branches."""
    names = branch_names(what, len(funs))
    found = []
    for i, types in enumerate(results):
        odd = next((k for k, t in enumerate(types) if t is not types[0]), None)
        if odd is not None:
            shown = [1, 0] if what == "cond" else [0, odd]
            listed = ", ".join(f"{names[k]} ({placed(funs[k])}) returns {types[k]}" for k in shown)
            found.append(f"at result{path_of(tree, i)} they differ in {way(types[0], types[odd])}: "
                         f"{listed}")
    together = "true_fun and false_fun" if what == "cond" else "branches"
    raise TypeError(f"{together} output must have identical types, but {_each(found)}Convert "
                    "them to the same shape and dtype.")


def _each(found: Sequence[str]) -> str:
    """The end of an error's sentence: a single fault in the same line, several on lines of their
    own."""
    if len(found) == 1:
        return f"{found[0]}. "
    return "".join(["these differ:", *[f"\n  {line};" for line in found], "\n"])


def refuse_carry_structure(what: str, fun: Any, carry: Any, returned: Any) -> NoReturn:
    """Raise the TypeError of a body that returns another structure than its carry's."""
    what, fun, role, start, skipped = loop_of(what, fun)
    if skipped:
        carry, returned = carry.children()[-1], returned.children()[-1]
    difference = difference_of(carry, returned, start)
    raise TypeError(f"{what} {role} output and input must have the same type structure: the carry "
                    f"is {carry}, but {role} returned {returned}; {difference}. {role} is "
                    f"{placed(fun)}.")


def refuse_carry_types(what: str, fun: Any, carry: Any, wrong: Sequence[tuple[int, Any, Any]]
                       ) -> NoReturn:
    """Raise the TypeError of a body that returns leaves of its carry with other types. `wrong` has,
    for each of these leaves, its number, its type and the type that was returned."""
    what, fun, role, start, skipped = loop_of(what, fun)
    found = [f"they differ in {way(given, returned)}: {start}{path_of(carry, i, skipped)} has type "
             f"{given}, and {role} ({placed(fun)}) returned {returned} for it"
             for i, given, returned in wrong]
    raise TypeError(f"{what} {role} output and input must have identical types, but {_each(found)}"
                    "Convert the initial value or the returned one, for instance with "
                    ".astype(...).")


def refuse_carry_axes(what: str, fun: Any, carry: Any, i: int, more: frozenset[str]) -> NoReturn:
    """Raise the TypeError of a carry whose leaf `i` varies over `more` axes than its start."""
    what, fun, role, start, skipped = loop_of(what, fun)
    path = path_of(carry, i, skipped)
    axes = ", ".join(map(repr, sorted(more)))
    raise TypeError(f"{what} {role} carry input and carry output must have equal types, but they "
                    f"differ: {start}{path} varies over {axes} after an iteration of {placed(fun)} "
                    "but not before the first one, so the manual axis types do not match. This "
                    f"might be fixed by applying `lax.pcast(..., ({axes},), to='varying')` to its "
                    "initial value.")


def refuse_sizes(xs: Any, sizes: Sequence[int]) -> NoReturn:
    """Raise the ValueError of a scan over leaves of different lengths."""
    paths = [path for path, _ in tree_flatten_with_path(xs)[0]]
    listed = ", ".join(f"xs{keystr(p)} has {n}" for p, n in zip(paths, sizes, strict=True))
    raise ValueError(f"scan got values with different leading axis sizes: {listed}.")


def loop_of(what: str, fun: Any) -> tuple[str, Any, str, str, int]:
    """(name of the loop, user's function, its role, name of its carry, keys to skip before that).

    A fori_loop is a scan or a while_loop whose carry holds the counter too.
    """
    inner = getattr(fun, "body_of_loop", None)
    if inner is not None:
        return "fori_loop", inner, "body_fun", "init_val", 1
    if what == "scan":
        return what, fun, "body function carry", "carry", 0
    return what, fun, "body_fun", "carry", 0


def difference_of(one: Any, other: Any, root: str) -> str:
    """The first place where two structures differ, in words."""
    found = next(differences(skeleton(one), skeleton(other), root=root), None)
    if found is None:                            # one is a prefix of the other
        return next(differences(skeleton(other), skeleton(one), root=root), "leaves against trees")
    return found


def path_of(tree: Any, i: int, skipped: int = 0) -> str:
    """The path of leaf `i`, as users write it, without its first keys."""
    return keystr(tree_flatten_with_path(skeleton(tree))[0][i][0][skipped:])


def way(a: Any, b: Any) -> str:
    """The ways in which two types differ."""
    found = ["shape"] * (a.shape != b.shape) + ["dtype"] * (a.dtype is not b.dtype)
    found += ["sharding"] * (a.sharding is not b.sharding and not found)
    return " and ".join(found) or "weakness"
