"""The first runs of small un-jitted programs, which are computed without compiling them.

XLA takes 10 to 50 ms to compile the smallest program, and most programs with which a user's program
begins (keys, their splits, a product with a number, an element of an array) run a few times. NumPy
computes them in a tenth of a millisecond, and a small draw of random numbers is the beginning of a
longer one, whose program draws of all shapes share. So a program is compiled when it has run `RUNS`
times. `uncompiled` is the door.

`is_exact` says for which programs NumPy's results are bitwise those of the compiled one:

- integers, booleans and keys of threefry: whatever the compiler makes of them is the same;
- ops that move elements, and those that the IR knows to be exact (`EXACT`);
- at most one op that rounds, in a program without float constants: a compiler may contract two
  such ops, or multiply by the reciprocal of a constant;
- a quotient only in a program that does not broadcast, because XLA multiplies by the reciprocal of
  a broadcast scalar;
- no product with booleans, because XLA selects between 0 and the other factor.

`results` looks at the numbers too. It refuses infinities and NaN, and subnormal numbers, which
compiled programs flush to zero.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from xfront_ir import dtypes, ops, reference
from xfront_ir.core import Function, Op, Value
from xfront_ir.definition import OpDef
from xfront_ir.fingerprint import fingerprint
from xfront_ir.placed_builder import PlacedBuilder
from xfront_ir.traits import ELEMENTWISE, EXACT, MIXES_BITS, REARRANGES
from xfront_ir.types import TensorType

from .. import binding
from ..tracing import watching
from .compiled import Compiled, OutTypes, executable_of
from .keys import emptied
from .placement import Placement

RUNS = 16
"""How often NumPy runs a program before it is compiled; it takes less time for that than XLA takes
to compile the smallest."""

MOST_ELEMENTS = 4096
MOST_OPS = 16

DRAWN = (1024, 4096)
"""The elements of draws of all shapes. Their programs get the options of the smaller ones."""

LONGEST_WAIT = 0.01
"""Seconds for which a program waits for its operands: compiling it takes as long. Where they take
longer, it is compiled, and its user need not wait for it."""

_NUMBERS = frozenset((dtypes.bool_, dtypes.i32, dtypes.u32, dtypes.i64, dtypes.u64, dtypes.f32,
                      dtypes.f64))
_DTYPES = _NUMBERS | {dtypes.key_fry}
_MOVING = frozenset((ops.literal, ops.iota, ops.pad, ops.concatenate, ops.dynamic_slice,
                     ops.dynamic_update_slice))
_ROUNDING = frozenset((ops.add, ops.sub, ops.mul, ops.div, ops.square, ops.sqrt))
_OF_INTEGERS = frozenset((ops.max, ops.min))
"""Of floats, compilers may take either of two zeros."""

_CONSTANTS = frozenset((ops.literal, ops.iota))
_EXCLUDED: dict[OpDef, frozenset] = {
    ops.div: _CONSTANTS | {ops.broadcast_in_dim, ops.concatenate, ops.pad,
                           ops.dynamic_update_slice},
    ops.mul: _CONSTANTS | {"of booleans"}}
"""What may not stand in a program beside the op that rounds; by default only constants may not."""

_OF_DRAWS = frozenset((ops.erf, ops.erf_inv))
"""Further ops of which each element depends on the operands' elements at its place alone."""


def is_exact(function: Function) -> bool:
    """Whether NumPy, run on the ops of the program itself, gives bitwise the compiled results."""
    if len(function.ops) > MOST_OPS or not all([_is_small(v.type) for v in function.params]):
        return False
    rounding: list[OpDef] = []
    others: set[Any] = set()
    for op in function.ops:
        if not all([_is_small(v.type) for v in op.results]):
            return False
        kind = _kind(op)
        if kind is None:
            return False
        if kind:
            rounding += [op.definition] * kind
        else:
            others.add(_beside(op))
    return not rounding or len(rounding) == 1 and others.isdisjoint(
        _EXCLUDED.get(rounding[0], _CONSTANTS))


def _beside(op: Op) -> Any:
    """The key under which `_EXCLUDED` lists an op that does not round."""
    definition = op.definition
    if definition is ops.convert and op.results[0].type.dtype.is_inexact and (
            op.operands[0].type.dtype is dtypes.bool_):
        return "of booleans"
    if definition is ops.literal and not op.results[0].type.dtype.is_inexact:
        return None
    return definition


def _is_small(type: TensorType) -> bool:
    return (type.size <= MOST_ELEMENTS and type.dtype in _DTYPES and type.sharding is None
            and type.memory is None)


def _kind(op: Op) -> int | None:
    """How often an op rounds; None where it may not be computed here."""
    definition = op.definition
    if not op.results:
        return None
    result = op.results[0]
    traits, is_float = definition.traits, result.type.dtype.is_inexact
    if definition in _MOVING or REARRANGES in traits:
        return 0
    if MIXES_BITS in traits:
        return None if is_float or definition.effects else 0
    if EXACT not in traits:
        return None
    of_floats = op.operands[0].type.dtype.is_inexact
    if definition is ops.convert:
        if of_floats:                            # devices differ where the integer is out of range
            return int(is_float) if is_float or result.type.dtype is dtypes.bool_ else None
        return 0
    if definition in _OF_INTEGERS:
        return None if is_float else 0
    if definition is ops.div and not is_float:
        return None                              # n // 0 differs between devices
    return int(is_float and definition in _ROUNDING)


def results(function: Function, arrays: Sequence[Any]) -> list[np.ndarray] | None:
    """The results of an exact program for arrays on the CPU; None where they are not certain to be
    those of XLA, or an array is still being computed. No result shares memory with an array."""
    if not _are_ready(arrays):
        return None
    try:
        values = [np.array(memoryview(x)) for x in arrays]
    except (BufferError, RuntimeError, ValueError, NotImplementedError):
        return None                              # its computation failed: the program says so
    try:
        return reference.run(function, values, _certain)
    except _UncertainError:
        return None


# --- draws --------------------------------------------------------------------------------

def draw_of_all_shapes(function: Function) -> Function | None:
    """A program of 1,024 or 4,096 elements, of which the first ones are those that `function` draws
    in its own shape. None if `function` is no draw of which each element is computed from the
    random bits of its own number alone.

        %1: u32[3,4] = random_bits(%key) {shape = [3, 4]}    %1: u32[1024] = random_bits(%key) {...
        %2: f32[3,4] = bitcast(%1) {dtype = f32}             %2: f32[1024] = bitcast(%1) {...
    """
    if len(function.returns) != 1:
        return None
    shape = function.returns[0].type.shape
    if not shape or not 0 < math.prod(shape) <= DRAWN[-1] or not all([
            not v.type.shape or v.type.dtype.is_integer for v in function.params]):
        return None
    length = next(n for n in DRAWN if math.prod(shape) <= n)
    b = PlacedBuilder(function.name)
    env = {v: b.param(v.type) for v in function.params}
    wide: set[Value] = set()
    drawn = 0
    for op in function.ops:
        if len(op.results) != 1 or op.definition.has_bodies or op.definition.effects or not (
                _is_small(op.results[0].type)):
            return None
        (result,), attrs = op.results, op.attrs
        if _is_of_draw(op, shape, wide):
            wide.add(result)
            drawn += op.definition is ops.random_bits
            attrs = {**attrs, "shape": (length,)} if "shape" in attrs else attrs
        elif not wide.isdisjoint(op.operands) or result.type.shape:
            return None
        env[result] = b.emit(op.definition, *[env[v] for v in op.operands], **attrs)
    last = function.returns[0]
    return b.close([env[last]]) if drawn == 1 and last in wide else None


def _is_of_draw(op: Op, shape: tuple[int, ...], wide: set[Value]) -> bool:
    """Whether an op has one result for each element of a draw, from those in `wide` or from
    values that are the same for all."""
    definition = op.definition
    if op.results[0].type.shape != shape:
        return False
    if definition is ops.random_bits:
        key = op.operands[0].type
        return key.dtype is dtypes.key_fry and not key.shape
    if definition is ops.literal:
        return op.attrs["value"].array.ndim == 0
    if definition is ops.broadcast_in_dim:
        return not op.operands[0].type.shape
    return ((ELEMENTWISE in definition.traits or definition in _OF_DRAWS)
            and "shape" not in op.attrs and wide.issuperset(op.operands))


def first_of(drawn: Any, aval: Any) -> np.ndarray:
    """The first elements, as many as `aval` has, of what a program of all shapes gave."""
    return np.asarray(memoryview(drawn))[:math.prod(aval.shape)].reshape(aval.shape)


class _UncertainError(Exception):
    """A number is not finite, or subnormal."""


def _certain(op: Op, operands: Sequence[np.ndarray]) -> Any:
    made = reference.meaning(op, operands)
    if ELEMENTWISE in op.definition.traits or op.definition is ops.convert:
        rounded = np.asarray(made, op.results[0].type.dtype.numpy)
        if not all(map(_is_usual, (*operands, rounded))):
            raise _UncertainError
    return made


def _is_usual(x: np.ndarray) -> bool:
    """Whether all elements are zeros or finite normal numbers."""
    if x.dtype.kind != "f":
        return True
    size = np.abs(x)
    return bool(np.all((size == 0) | ((size >= np.finfo(x.dtype).tiny) & (size < np.inf))))


def _are_ready(arrays: Sequence[Any]) -> bool:
    end: float | None = None
    for x in arrays:
        while not x.is_ready():
            now = time.monotonic()
            if end is None:
                end = now + LONGEST_WAIT
            elif now > end:
                return False
            time.sleep(1e-4)
    return True


# --- the door -----------------------------------------------------------------------------

def uncompiled(function: Function, name: str, kept: Sequence[bool], out_types: OutTypes,
               place: Placement) -> Compiled | None:
    """The program of a Function that NumPy or a longer draw can run for the first times; None if
    neither gives bitwise the compiled results, or if an option looks at what is compiled."""
    if not _is_alone(place):
        return None
    if is_exact(function):
        return FirstRuns(function, name, kept, out_types, place)
    longer = draw_of_all_shapes(function)
    return None if longer is None else FirstDraws(longer, function, name, kept, out_types, place)


def _is_alone(place: Placement) -> bool:
    """Whether the first runs of a program may do without compiling it: it runs on one device of a
    CPU, and no option logs, dumps or checks programs when they are compiled."""
    if type(place) is not Placement or binding.guarded:
        return False
    from lowering import clients, dump  # with the first program, not with the library

    return (clients.platform_of(place.devices[0]) == "cpu" and not watching.is_heard()
            and not dump.is_on())


# --- the programs -------------------------------------------------------------------------

class FirstRuns(Compiled):
    """A small un-jitted program. NumPy computes the results of its first runs; then it is compiled.
    """

    __slots__ = ("function", "left", "named")

    def __init__(self, function: Function, name: str, kept: Sequence[bool], out_types: OutTypes,
                 place: Placement) -> None:
        super().__init__(None, kept, out_types, place)
        self.function, self.named, self.left = function, name, RUNS

    @property
    def is_final(self) -> bool:
        """Whether it is compiled."""
        return self.executable is not None

    @property
    def name(self) -> str:
        """As `Compiled.name`."""
        return self.named

    @property
    def fast(self) -> bool:
        """As `Compiled.fast`, once the program is compiled."""
        return self.executable is not None and super().fast

    def executed(self, buffers: list[Any], committed: bool) -> list[Any]:
        """As `Compiled.executed`, without compiling for the first few times."""
        if self.executable is None:
            if self.left > 0:
                self.left -= 1
                if (values := self.computed(buffers)) is not None:
                    return [binding.put_copy(a, self.place.sharding, x, committed)
                            for x, a in zip(values, self.out_avals, strict=True)]
            self.executable = executable_of(     # if two threads make it, either serves
                self.function, name=self.named, devices=self.place.devices, effort="eager")
        return super().executed(buffers, committed)

    def computed(self, buffers: list[Any]) -> list[np.ndarray] | None:
        """The results by NumPy, or None."""
        return results(self.function, buffers)


class FirstDraws(FirstRuns):
    """A small draw of random numbers. Its first runs draw more numbers than it needs with `longer`,
    a program that draws of all shapes share, and keep the first ones; then it is compiled."""

    __slots__ = ("longer",)

    def __init__(self, longer: Function, *rest: Any) -> None:
        super().__init__(*rest)
        self.longer = longer

    def computed(self, buffers: list[Any]) -> list[np.ndarray]:
        """The results as the first elements of a longer draw."""
        key = self.place, fingerprint(self.longer)
        found = _DRAWS.get(key)
        if found is None:
            made = executable_of(self.longer, name=self.named, devices=self.place.devices,
                                 effort="eager")
            found = _DRAWS[key] = Compiled(
                made, self.kept, [(self.longer.returns[0].type, False)], self.place)
        (drawn,) = found.executed(buffers, False)
        return [first_of(drawn, self.out_avals[0])]


_DRAWS: dict[Any, Compiled] = {}
emptied(_DRAWS.clear)
