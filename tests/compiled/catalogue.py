"""Which operations are written, and how often."""

from __future__ import annotations

from collections.abc import Callable

from . import loops, moves, scalars, sums
from .data import FLOATS, INTEGERS
from .program import Program, Refused, Writer

Operation = Callable[[Writer], None]

WEIGHTS: dict[Operation, int] = {
    moves.pad: 4, moves.pad_twice: 3, moves.crop: 2, moves.ends: 3, moves.reverse: 1,
    moves.transpose: 2, moves.reshape: 2, moves.broadcast: 2, moves.concatenate: 3,
    moves.concatenate_pads: 2, moves.halos: 3, moves.dynamic_slice: 3, moves.dynamic_slice_twice: 3,
    moves.dynamic_update: 2, moves.roll: 2, moves.take: 2, moves.take_along: 1, moves.gather: 6,
    moves.scatter: 3, moves.at: 2, moves.convert: 3, moves.bitcast: 1,
    moves.constrain: 2, moves.select: 2,
    sums.reduce: 14, sums.reduce_bits: 2, sums.reduce_body: 2, sums.arg: 2,
    sums.sum_of_broadcast: 8, sums.sum_of_product: 8, sums.running: 3, sums.associative: 1,
    sums.sort: 2, sums.argsort: 1, sums.top_k: 1, sums.reduce_window: 10, sums.window_of_pad: 5,
    sums.conv: 6, sums.dot: 5,
    loops.while_loop: 6, loops.fori_loop: 2, loops.scan: 2, loops.switch: 2, loops.in_loop: 1,
    scalars.add: 3, scalars.multiply: 3, scalars.extreme: 2, scalars.single: 2, scalars.compare: 2,
    scalars.clip: 1, scalars.bits: 2, scalars.divide: 1, scalars.power: 1,
    scalars.reduce_precision: 1, scalars.iota: 1}

MESHES = ((2,), (4,), (8,), (2, 2), (2, 4), (4, 2), (2, 2, 2), (3,), (6,))


def write(seed: int, devices: bool = False) -> Program:
    """The program of a seed; with `devices` its inputs are divided over a mesh."""
    w = Writer(seed)
    w.rough = w.chance(5)
    w.special = w.special and not w.rough
    if devices:
        w.program.mesh = w.choice(MESHES)
    dtype = w.choice(w.dtypes(("f32", "f32", "f32", "f32", "f64", "f64") if w.rough else
                              (*["f32"] * 12, *FLOATS, *FLOATS, *INTEGERS, "i32", "i32", "i8",
                               "bool", "c64", "c128")))
    shape = w.shape() if not devices else _divisible(w)
    w.seen.append(w.input(dtype, shape, constant=False))
    count = w.number(1, 8)
    operations, weights = [*WEIGHTS], [*WEIGHTS.values()]
    for _ in range(60):
        if len(w.program.statements) >= count:
            break
        add(w, w.draw.choices(operations, weights)[0])
    w.program.returned = tuple(_results(w))
    return w.program


def add(w: Writer, operation: Operation) -> None:
    """Write one operation, or nothing where it does not fit."""
    seen, inputs, statements = list(w.seen), list(w.program.inputs), list(w.program.statements)
    try:
        operation(w)
    except Refused:
        w.seen, w.program.inputs, w.program.statements = seen, inputs, statements


def _divisible(w: Writer) -> tuple[int, ...]:
    """A shape that a mesh divides, sometimes into single elements."""
    shape = list(w.shape(w.choice((8, 8, 64, 240, 1024, 4096, 6144))))
    for size in w.program.mesh:
        d = w.number(0, len(shape) - 1)
        if w.chance(2):
            shape[d] = size
        elif shape[d] % size:
            shape[d] *= size
    return tuple(shape)


def _results(w: Writer) -> list:
    """What nothing reads, and the last value; sometimes one in between too."""
    text = "\n".join(line for s in w.program.statements for line in s.lines)
    made = [v for s in w.program.statements for v in s.values if v.name[0] == "v"]
    if not made:
        return [w.seen[0]]
    from .program import names_in

    words = names_in(text)
    results = [v for v in made if words.count(v.name) == 1 or (v is not made[-1] and w.chance(8))]
    if made[-1] not in results:
        results.append(made[-1])
    return results
