"""`debug.breakpoint`: a prompt in the middle of a traced program, with the values of its run."""

from __future__ import annotations

import bdb
import cmd
import linecache
import pprint
import sys
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, NamedTuple, TextIO

from xfront_ir.locations import is_library

from .. import binding
from ..base.trees import tree_flatten, tree_unflatten
from ..binding.tracebacks import front_door
from ..lax.callbacks import debug_callback
from ..tracing.trace import state
from ..tracing.tracer import Tracer
from ..values.arguments import only

AROUND = 5
"""How many lines `list` shows before and behind the one of the frame."""


class Frame(NamedTuple):
    """A call of the user's program as it stood when the program was traced."""

    code: CodeType
    line: int
    variables: dict[str, Any]
    outer: dict[str, Any]


@front_door
def breakpoint(*, backend: str | None = None, filter_frames: bool = True,
               num_frames: int | None = None, ordered: bool = False, token: None = None,
               stdin: TextIO | None = None, stdout: TextIO | None = None) -> None:
    """Open a prompt when the program gets there, with the variables of the calls around it.

    `p` prints an expression, `u` and `d` go to the caller and back, `l` lists the lines around, `w`
    shows the calls, `c` goes on, `q` ends the run by an error; `help` says so too.

    Args:
      backend: "cli" or None: the terminal.
      filter_frames: whether frames of the library are left out.
      num_frames: how many calls are kept, from the innermost; None for all.
      ordered: whether the prompt keeps its order among ordered effects.
      token: None only.
      stdin, stdout: where commands are read and answers written; None for the process's own.
    Raises: ValueError for another backend, or a number of frames below 1; TypeError where `stdin`
      or `stdout` is no text stream.

    >>> import io
    >>> answers = io.StringIO()
    >>> def f(x):
    ...     y = x * 2
    ...     xfront.debug.breakpoint(stdin=io.StringIO("p y, 1 + 1\\nc\\n"), stdout=answers)
    ...     return y
    >>> result = xfront.jit(f)(3.0)
    >>> xfront.effects_barrier()
    >>> answers.getvalue().splitlines()[1]
    '(jdb) (Array(6., dtype=float32), 2)'
    """
    if backend not in (None, "cli"):
        raise ValueError(f"debug.breakpoint: backend must be 'cli' or None, got {backend!r}")
    if num_frames is not None and num_frames < 1:
        raise ValueError(f"debug.breakpoint: num_frames must be at least 1, got {num_frames}")
    for name, stream, method in (("stdin", stdin, "readline"), ("stdout", stdout, "write")):
        if stream is not None and not hasattr(stream, method):
            raise TypeError(f"debug.breakpoint: {name} must be a text stream, got {stream!r}")
    only("debug.breakpoint", None, "effects keep their order by `ordered`", token=token)
    operands: list[Tracer] = []
    frames = _frames(sys._getframe(2), filter_frames, num_frames, operands)

    def open_prompt(*arrays: Any) -> None:
        values = [binding.put(x) for x in arrays]
        Prompt([f._replace(variables={k: _filled(values, v) for k, v in f.variables.items()})
                for f in frames], stdin, stdout).cmdloop()

    debug_callback(open_prompt, *operands, ordered=ordered)


@dataclass(frozen=True)
class _Slot:
    """Stands for a traced value: its place among the operands, or -1 and why it has none."""

    place: int
    text: str

    def __repr__(self) -> str:
        return self.text


def _frames(innermost: FrameType, filtered: bool, most: int | None, operands: list[Tracer]
            ) -> list[Frame]:
    """The calls from the innermost one on. What is traced in their variables joins `operands`."""
    found: list[Frame] = []
    frame: FrameType | None = innermost
    while frame is not None and (most is None or len(found) < most):
        code = frame.f_code
        if not (filtered and (is_library(code) or code.co_filename.startswith("<frozen "))):
            own = {name: _held(value, operands) for name, value in frame.f_locals.items()
                   if not name.startswith("__")}
            found.append(Frame(code, frame.f_lineno, own, frame.f_globals))
        frame = frame.f_back
    return found


def _held(value: Any, operands: list[Tracer]) -> Any:
    """A variable's value, with slots for what is traced in it: no trace is kept alive."""
    def slot(x: Any) -> Any:
        if type(x) is not Tracer:
            return x
        if x.home not in state.stack:
            return _Slot(-1, f"<a value of type {x.value.type}, of a trace that has ended>")
        operands.append(x)
        return _Slot(len(operands) - 1, "<a traced value>")

    try:
        leaves, tree = tree_flatten(value)
        if not any([type(x) is Tracer for x in leaves]):
            return value
        return tree_unflatten(tree, [slot(x) for x in leaves])
    except Exception:
        return _Slot(-1, f"<a {type(value).__name__} of traced values>")


def _filled(values: list[Any], variable: Any) -> Any:
    """A variable's value with the values of this run."""
    if type(variable) is _Slot:
        return values[variable.place] if variable.place >= 0 else variable
    try:
        leaves, tree = tree_flatten(variable)
        if not any([type(x) is _Slot for x in leaves]):
            return variable
        return tree_unflatten(tree, [_filled(values, x) if type(x) is _Slot else x for x in leaves])
    except Exception:
        return variable


class Prompt(cmd.Cmd):
    """Reads commands and answers them, until one goes on or ends the run."""

    prompt = "(jdb) "
    doc_header = "Commands (help NAME tells more; any other line is an expression):"

    def __init__(self, frames: list[Frame], stdin: TextIO | None, stdout: TextIO | None) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.frames, self.at = frames, 0
        self.intro = "Entering jdb:"

    def tell(self, *lines: str) -> None:
        """Write lines to the user."""
        self.stdout.write("".join([f"{line}\n" for line in lines]))

    def value(self, text: str) -> tuple[bool, Any]:
        """Whether an expression has a value in the frame, and that value or the error's text."""
        frame = self.frames[self.at]
        try:
            return True, eval(text, {**frame.outer, **frame.variables})
        except Exception as error:
            return False, f"*** {type(error).__name__}: {error}"

    def do_p(self, line: str) -> None:
        """p EXPRESSION: its value."""
        good, value = self.value(line)
        self.tell(repr(value) if good else value)

    def do_pp(self, text: str) -> None:
        """pp EXPRESSION: its value over several lines."""
        good, value = self.value(text)
        self.tell(pprint.pformat(value) if good else value)

    default = do_p

    def emptyline(self) -> bool:
        """An empty line does nothing."""
        return False

    def do_list(self, _: str = "") -> None:
        """l: the lines around the one of this frame."""
        frame = self.frames[self.at]
        lines = linecache.getlines(frame.code.co_filename, frame.outer)
        first = max(frame.line - AROUND, frame.code.co_firstlineno, 1)
        shown = enumerate(lines[first - 1:frame.line + AROUND - 1], first)
        self.tell(f"> {frame.code.co_filename}({frame.line}) in {frame.code.co_name}",
                  *[f"{'->' if n == frame.line else '  '}  {line.rstrip()}" for n, line in shown])

    def do_up(self, _: str) -> None:
        """u: to the caller."""
        self.move(1, "This is the outermost frame.")

    def do_down(self, _: str) -> None:
        """d: back to what it called."""
        self.move(-1, "This is the innermost frame.")

    def move(self, by: int, otherwise: str) -> None:
        """Go to another frame and show it."""
        if not 0 <= self.at + by < len(self.frames):
            self.tell(otherwise)
            return
        self.at += by
        self.do_list()

    def do_where(self, _: str) -> None:
        """w: the calls, the innermost last; an arrow points at the one whose variables are read."""
        for i, frame in reversed([*enumerate(self.frames)]):
            line = linecache.getline(frame.code.co_filename, frame.line, frame.outer).strip()
            self.tell(f"{'->' if i == self.at else '  '}File \"{frame.code.co_filename}\", line "
                      f"{frame.line}, in {frame.code.co_name}", f"      {line}")

    def do_continue(self, _: str) -> bool:
        """c: go on with the program."""
        return True

    def do_quit(self, _: str) -> bool:
        """q: end the run by an error."""
        raise bdb.BdbQuit("the run was ended at debug.breakpoint")

    do_l, do_u, do_d, do_w, do_bt = do_list, do_up, do_down, do_where, do_where
    do_c = do_cont = do_continue
    do_q = do_exit = do_EOF = do_quit
