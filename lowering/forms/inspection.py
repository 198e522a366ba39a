"""Descriptions, for people, of the forms that a program takes."""

from __future__ import annotations

import inspect
from typing import NamedTuple

from xfront_ir.core import Op
from xfront_ir.ops import REGISTRY

from .registry import FORMS_OF, Form, forms_of


class TakenForm(NamedTuple):
    """One op that is lowered by a form for the CPU; prints as one line."""

    op: str
    """The op with the types of its operands and results: `argmax(f32[1000]) -> i32[]`."""
    location: str
    """The user's file, line and function."""
    form: str
    """Module and name of the form: `reduce.argmax`."""
    does: str
    """What the form computes."""
    when: str
    """The condition under which it is taken: `real & axis(32) & size(2**15)`."""
    why: str
    """The condition in words, and what is slow about the plain rule."""

    def __str__(self) -> str:
        said = f"{self.form} where {self.when} ({self.does} {self.why})"
        return f"{self.op} at {self.location}: {said}"


def described(op: Op, form: Form) -> TakenForm:
    """The form in words: its docstring, its condition, and why it exists.

    The reason is the comment above the form, or above another form of its file with the same
    condition; without one, it is the text of the condition.
    """
    operands, results = (", ".join(str(v.type) for v in values)
                         for values in (op.operands, op.results))
    return TakenForm(f"{op.definition.name}({operands}) -> {results}", str(op.loc or "?"),
                     form.name, " ".join((form.write.__doc__ or "").split()), form.condition,
                     _why(form))


def _why(form: Form) -> str:
    module = form.write.__module__
    same = [other for found in FORMS_OF.values() for rows in found.values() for other in rows
            if other.write.__module__ == module and other.condition == form.condition]
    for found in (form, *same):
        comment = inspect.getcomments(inspect.unwrap(found.write))
        if comment:
            return " ".join(line.strip("# ") for line in comment.splitlines())
    return " ".join(says for _, says in form.when.named)


# --- the table of the documentation -------------------------------------------------------

def table() -> str:
    """The forms for CPU with their conditions, and the meanings of the names in these; Markdown."""
    for definition in REGISTRY.values():
        forms_of(definition)
    found = FORMS_OF["cpu"]
    forms = [form for definition in sorted(found, key=lambda d: d.name)
             for form in found[definition]]
    meanings = {name: says for form in forms for name, says in form.when.named}
    meanings |= {ask.__name__: " ".join((ask.__doc__ or "").split())
                 for form in forms for ask in form.asks}
    lines = ["| op | form | condition | for | benchmark |", "|---|---|---|---|---|"]
    lines += [f"| {form.definition.name} | `{form.name}` | `{form.condition}` | "
              f"{'right values' if form.needed else 'speed'} | {form.row} |"
              for form in forms]
    lines += ["", "`of`, `size`, `below` and `axis` are about the first operand: its dtype, so "
              "many elements or more, fewer, so many or more along the op's axis. Names mean:", ""]
    lines += [f"- `{name}`: {says}" for name, says in sorted(meanings.items())]
    return "\n".join(lines)
