"""What people are told of the forms that a program takes."""

from __future__ import annotations

import inspect
from typing import NamedTuple

from xfront_ir.core import Op

from .registry import FORMS, Form


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
    why: str
    """When it is taken, and what is slow about the plain rule."""

    def __str__(self) -> str:
        return f"{self.op} at {self.location}: {self.form} ({self.does} {self.why})"


def described(op: Op, form: Form) -> TakenForm:
    """The form in words: its docstring, and what is written above it or above another form under
    the same condition; else the name of the condition."""
    operands, results = (", ".join(str(v.type) for v in values)
                         for values in (op.operands, op.results))
    return TakenForm(f"{op.definition.name}({operands}) -> {results}", str(op.loc or "?"),
                     form.name, " ".join((form.write.__doc__ or "").split()), _why(form))


def _why(form: Form) -> str:
    same = [other for rows in FORMS.values() for other in rows if other.when is form.when]
    for found in (form, *same):
        comment = inspect.getcomments(inspect.unwrap(found.write))
        if comment:
            return " ".join(line.strip("# ") for line in comment.splitlines())
    return f"Where it {form.when.__name__.strip('_').replace('_', ' ')}."
