"""Forms: what a platform gets for an op in place of its plain rule, and under which condition.

    # arrays that the plain rule reduces one element at a time
    @form(ops.argmax, when=real & axis(32) & size(2 ** 15))
    def argmax(b, op, x):
        ...

A form is data and a function that writes the op as other ops of the IR. The data are the op, a
condition that prints (`conditions.py`), what the form asks of the place, and the versions of jaxlib
that it is for. Of several forms of an op, the first whose condition holds is taken. Forms are in
the folder of their platform under the file names of the rules, and a file is imported when the
first op of its family is met. `placing.py` puts forms into programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from lowering import compat, context
from xfront_ir.core import Function, Op, Value, bodies_of
from xfront_ir.definition import OpDef
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.types import TensorType

from .conditions import Condition
from .places import Place

Version = tuple[int, int]
Write = Callable[..., Any]
Only = Callable[[Place, Op], bool]
Known = Callable[[Place, Op], Any]
Reads = Callable[[Place, Op], "Sequence[Value] | None"]


class Form(NamedTuple):
    """One form of an op: when it is taken, and the function that writes it."""

    definition: OpDef
    when: Condition
    write: Write
    only: Only | None
    known: Known | None
    reads: Reads | None
    since: Version | None
    before: Version | None
    row: str
    is_cheap: bool
    needed: bool

    @property
    def is_on(self) -> bool:
        """Whether the form is for this version of jaxlib."""
        version = compat.VERSION
        return (self.before is None or version < self.before) and (
            self.since is None or version >= self.since)

    @property
    def asks(self) -> tuple[Callable[..., Any], ...]:
        """The functions by which the form queries the place."""
        return tuple([ask for ask in (self.only, self.known, self.reads) if ask is not None])

    @property
    def condition(self) -> str:
        """When the form is taken, as text: `small & in_loops`."""
        texts = [str(self.when), *[ask.__name__ for ask in self.asks]]
        versions = [f"jaxlib({sign} {v[0]}.{v[1]})"
                    for sign, v in ((">=", self.since), ("<", self.before)) if v is not None]
        return " & ".join([*texts, *versions])

    @property
    def name(self) -> str:
        """Module and function: `reduce.argmax`."""
        return f"{self.write.__module__.rpartition('.')[2]}.{self.write.__name__}"


class Written(NamedTuple):
    """What the body of a call stands for: an op, and its form. `form` is None where the op itself
    has none, but its expansion holds ops that take one."""

    definition: OpDef
    form: Form | None
    n_operands: int


FOLDERS = {"cpu": "lowering.cpu", "tpu": "lowering.tpu", "cuda": "lowering.gpu"}
"""The package with the forms of each platform."""

FORMS_OF: dict[str, dict[OpDef, list[Form]]] = {platform: {} for platform in FOLDERS}
"""The forms of the families met so far, by platform."""

_loaded: set[tuple[str, str]] = set()


def form(definition: OpDef, when: Condition, only: Only | None = None, known: Known | None = None,
         reads: Reads | None = None, since: Version | None = None, before: Version | None = None,
         row: str = "", is_cheap: bool = False, needed: bool = False,
         platform: str = "cpu") -> Callable[[Write], Write]:
    """Decorator for the form `fn(b, op, *operands) -> value(s)` of `definition`.

    Ops of `definition` that the form writes stay as they are, and the result of `ops.fence` is
    computed once.

    Args:
      when: the condition on the op.
      only: condition on the place of the op: `in_loops`, `near_memory` or `in_programs`, which
        leaves out ops that are compiled one by one.
      known: finds what the form must know of the operands, which the form reads as
        `op.attrs["known"]`; the form is not taken where it finds None.
      reads: finds values that the form reads beyond the operands; not taken where it finds None.
      since: the first version of jaxlib that the form is for.
      before: the first version of jaxlib that it is no longer for.
      row: the row of the benchmarks that measures the form.
      is_cheap: whether it writes an expensive op as cheap ops, which compilers fuse into each
        reader.
      needed: whether XLA computes wrong values without the form, or ends the process: every program
        for the platform takes it then. Others exist for speed.
      platform: the platform of the form.
    """
    def register(fn: Write) -> Write:
        FORMS_OF[platform].setdefault(definition, []).append(
            Form(definition, when, fn, only, known, reads, since, before, row, is_cheap, needed))
        return fn

    return register


def forms_of(definition: OpDef, platform: str = "cpu") -> Sequence[Form]:
    """The forms of an op, in the order in which they are tried."""
    if (platform, definition.room) not in _loaded:
        _loaded.add((platform, definition.room))
        context.load_family(definition)
        context.load_family(definition, FOLDERS[platform])
    return FORMS_OF[platform].get(definition, ())


# --- places -------------------------------------------------------------------------------

def in_loops(place: Place, op: Op) -> bool:
    """The op is in the body of a loop."""
    return place.in_loop


def in_programs(place: Place, op: Op) -> bool:
    """The op is in a program, where it may be merged with its readers."""
    return place.has_fences


def near_memory(place: Place, op: Op) -> bool:
    """Fewer than 8 operations compute each operand: a form may repeat them in the code."""
    return all(place.work(v, 8) < 8 for v in op.operands)


# --- what is written ----------------------------------------------------------------------

@lru_cache(maxsize=512)
def written(found: Form, types: tuple[TensorType, ...], attrs: tuple
            ) -> tuple[Function, frozenset[Op]]:
    """The body of a form, and the ops of the form's own definition that the form wrote in it."""
    definition = found.definition
    b = PlacedBuilder(definition.name)
    operands = tuple(b.param(t) for t in types)
    op = Op(definition, operands, dict(attrs), ())
    made = found.write(b, op, *operands)
    body = b.close(list(made) if isinstance(made, (list, tuple)) else [made])
    own = _ops_inside(body.ops, definition)
    if definition.has_bodies:
        own -= _ops_inside([op], definition)
    return body, frozenset(own)


def _ops_inside(found: Sequence[Op], definition: OpDef) -> set[Op]:
    """The ops of a definition among `found` and in their bodies."""
    inside = {op for op in found if op.definition is definition}
    for op in found:
        if op.definition.has_bodies:
            for body in bodies_of(op):
                inside |= _ops_inside(body.ops, definition)
    return inside
