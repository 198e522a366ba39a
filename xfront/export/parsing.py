"""Symbolic shapes and constraints from text.

    shape       dimension, dimension, ...    also in brackets; `...` last, and `_` for one of `like`
    dimension   sums and products of ints, names, powers `a^2`, brackets, and of
                floordiv(x, y), mod(x, y), max(x, y), min(x, y)
    constraint  dimension >= dimension       or with <= or ==
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

from .polynomials import Poly, applied, number, plus, product

CALLS = ("floordiv", "mod", "max", "min")
MAX_POWER = 64

_TOKEN = re.compile(r"\s*(\.\.\.|[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[-+*^(),])")


class _Parser:
    """Reads one text; `at` is the place of the next token."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.dim, self.depth = text, 0, 0, 0
        self.token = ""
        self.advance()

    def advance(self) -> str:
        """Take the token; the next one is \"\" at the end."""
        taken, rest = self.token, self.text[self.at:]
        found = _TOKEN.match(rest)
        if found is None:
            self.token = ""
            if rest.strip():
                self.fail(f"unexpected {rest.strip()[0]!r}")
        else:
            self.token = found.group(1)
            self.at += found.end()
        return taken

    def fail(self, message: str) -> NoReturn:
        """Raise the ValueError that says at which place the text is no longer a shape."""
        parsed = self.text[:self.at - len(self.token)]
        raise ValueError(f"syntax error in symbolic shape {self.text!r} in dimension {self.dim}: "
                         f"{message}. Parsed {parsed!r}, remaining "
                         f"{self.text[len(parsed):]!r}.")

    def expect(self, token: str) -> None:
        """Take this token."""
        if self.token != token:
            self.fail(f"expecting {token!r} but found {self.token or 'the end'!r}")
        self.advance()

    def shape(self, like: Sequence[Any] | None) -> list[Any]:
        """The dimensions: ints of `like`, and polynomials."""
        bracket = self.token == "(" and self._closes_at_end()
        if bracket:
            self.advance()
        end = ")" if bracket else ""
        found: list[Any] = []
        while self.token != end:
            self.dim = len(found)
            if self.token == "...":
                self.advance()
                if like is None:
                    self.fail("spec contains ... but no 'like' shape was given")
                found += [self.known(d) for d in like[len(found):]]
                break
            if self.token == "_":
                self.advance()
                if like is None:
                    self.fail("spec contains _ but no 'like' shape was given")
                if self.dim >= len(like):
                    self.fail(f"there is no such dimension in like={tuple(like)}")
                found.append(self.known(like[self.dim]))
            else:
                found.append(self.sum())
            if self.token != end:
                self.expect(",")
        if bracket:
            self.expect(")")
        if self.token:
            self.fail(f"expecting the end but found {self.token!r}")
        return found

    def known(self, d: Any) -> Any:
        """A dimension of `like`."""
        if d is None:
            self.fail("unexpected placeholder for unknown dimension, which is None in like")
        return d

    def _closes_at_end(self) -> bool:
        depth = 0
        text = self.text.strip()
        for i, c in enumerate(text):
            depth += (c == "(") - (c == ")")
            if not depth:
                return i == len(text) - 1
        return False

    def sum(self) -> Poly:
        """`term + term - term`."""
        self.depth += 1
        if self.depth > 50:
            self.fail("brackets nest too deep")
        times = 1
        if self.token in ("-", "+"):
            times = -1 if self.advance() == "-" else 1
        made = plus({}, self.term(), times)
        while self.token in ("+", "-"):
            times = -1 if self.advance() == "-" else 1
            made = plus(made, self.term(), times)
        self.depth -= 1
        return made

    def term(self) -> Poly:
        """`factor * factor`."""
        made = self.factor()
        while self.token == "*":
            self.advance()
            made = product(made, self.factor())
        return made

    def factor(self) -> Poly:
        """A number, name, call or bracket, and its power."""
        if self.token == "-":
            self.advance()
            return plus({}, self.factor(), -1)
        if self.token == "(":
            self.advance()
            made = self.sum()
            self.expect(")")
        elif self.token.isdigit():
            made = number(self.integer())
        elif self.token[:1].isalpha() or self.token.startswith("_"):
            name = self.advance()
            if name in CALLS and self.token == "(":
                self.advance()
                left = self.sum()
                self.expect(",")
                right = self.sum()
                self.expect(")")
                made = applied(name, left, right)
            else:
                made = {((name, 1),): 1}
        else:
            self.fail(f"expecting a number, a name or a bracket but found "
                      f"{self.token or 'the end'!r}")
        if self.token == "^":
            self.advance()
            base, made = made, number(1)
            for _ in range(self.integer(MAX_POWER)):
                made = product(made, base)
        return made

    def integer(self, most: int = 2**63 - 1) -> int:
        """A number up to `most`."""
        if not self.token.isdigit() or len(self.token) > 19 or int(self.token) > most:
            self.fail(f"expecting an int up to {most} but found {self.token or 'the end'!r}")
        return int(self.advance())


def parsed_shape(text: str, like: Sequence[Any] | None) -> list[Any]:
    """The dimensions that a text spells: polynomials, and those taken from `like`.

    Raises: ValueError for other text.
    """
    return _Parser(text).shape(like)


def parsed_constraint(text: Any) -> tuple[Poly, str, Poly]:
    """The two sides of a constraint and the sign between them.

    Raises: TypeError where it is no string; ValueError for other text.
    """
    if not isinstance(text, str):
        raise TypeError(f"a symbolic constraint must be a string, got {text!r}")
    for sign in ("==", ">=", "<="):
        left, found, right = text.partition(sign)
        if found:
            return _alone(left), sign, _alone(right)
    raise ValueError("Constraint parsing error: must contain one of '==' or '>=' or '<=', got "
                     f"{text!r}")


def _alone(text: str) -> Poly:
    parser = _Parser(text)
    made = parser.sum()
    if parser.token:
        parser.fail(f"expecting the end but found {parser.token!r}")
    return made


__all__ = ["parsed_constraint", "parsed_shape"]
