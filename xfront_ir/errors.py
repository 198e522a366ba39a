"""Errors of the IR. Each is also the builtin class that a caller would catch."""

from __future__ import annotations


class IRError(Exception):
    """Base class of every error that the IR raises on purpose."""


class IRTypeError(IRError, TypeError):
    """Operand types or attributes that an op's type rule refuses."""


class ShardingTypeError(IRError):
    """The shardings of an op's operands do not determine the sharding of its result."""


class MemorySpaceError(ShardingTypeError, ValueError):
    """Operands of one op lie in different memories."""


class IRValueError(IRError, ValueError):
    """A value (an attribute, a size) outside what an op or a pass accepts."""


class MissingRule(IRError, NotImplementedError):
    """An op lacks the rule that a pass needs; the message says where it would go."""


class VerifyError(IRError, ValueError):
    """A Function that breaks an invariant of the IR."""


class ParseError(IRError, ValueError):
    """Text that does not spell a Function; carries line, column and the offending line.

    Args:
      message: what is wrong, without the position.
      line: 1-based line number in the text.
      column: 1-based column in that line.
      source: the offending line.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0, source: str = "") -> None:
        self.message, self.line, self.column, self.source = message, line, column, source
        where = f"line {line}, column {column}: " if line else ""
        start = max(0, column - 80) if len(source) > 160 else 0         # a window on a long line
        shown = source[start:start + 160]
        caret = f"\n  {shown}\n  {' ' * (column - 1 - start)}^" if source else ""
        super().__init__(f"{where}{message}{caret}")
