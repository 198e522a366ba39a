"""Random bits: the threefry cipher, XLA's generator, and ops on key types.

A key is one element of a key type, `key<fry>` (threefry), `key<rbg>` or `key<urbg>`; only
`random_wrap` and `random_unwrap` see its words. The streams are those of `jax.random`: the counters
are the 64-bit numbers of the elements, so that an element's bits do not depend on the whole shape.

Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import dtypes
from ..core import Op
from ..definition import NONE, ZERO, AttrKind
from ..errors import IRTypeError
from ..opdef import DTYPE, INT, SHAPE, define, enum
from ..spreading import alike, anyhow, leading, spreads
from ..traits import IN_ORDER, MERGED, MIXES_BITS, does, mark
from ..types import TensorType, tensor
from .families import batch_elementwise, move_batch
from .indexing import concatenate, slice
from .shape import position_of, reshape

if TYPE_CHECKING:
    from ..builder import Builder
    from ..rules import Attrs, Axis, Batched, Positions, Types, Values

KEY_DTYPES = {"fry": dtypes.key_fry, "rbg": dtypes.key_rbg, "urbg": dtypes.key_urbg}
IMPLEMENTATION = enum(*KEY_DTYPES)
KEY_TYPE = AttrKind("word", lambda x: type(x) is str and f"key<{x}>" in dtypes.BY_NAME)
"""A key type by the name in its brackets: that of a generator above, or of one that a program
defined, of which only the words are known here."""


# --- threefry -----------------------------------------------------------------------------

def _infer_threefry(types: Types, attrs: Attrs) -> Types:
    first = types[0]
    if first.dtype is not dtypes.u32 or any(t is not first for t in types):
        raise IRTypeError("threefry2x32 takes four u32 arrays of the same shape, got "
                          f"{', '.join(map(str, types))}")
    return types[:2]


threefry2x32 = define("threefry2x32", operands=4, infer=_infer_threefry, jvp=ZERO, single=False,
                      batch=batch_elementwise)
"""(key words 0 and 1, counter words 0 and 1) -> two words of bits, after 20 rounds."""


# --- keys and their words -----------------------------------------------------------------

def _check_key(name: str, type: TensorType) -> None:
    if not type.dtype.is_key:
        raise IRTypeError(f"{name} takes keys, got {type}")


def _infer_wrap(types: Types, attrs: Attrs) -> Types:
    (x,), dtype = types, dtypes.named(f"key<{attrs['impl']}>")
    n = len(dtype.physical)
    if x.dtype is not dtypes.u32 or x.shape[x.ndim - n:] != dtype.physical:
        words = ",".join(map(str, dtype.physical))
        raise IRTypeError(f"random_wrap: keys of {dtype} are made from u32[...,{words}], got {x}")
    return (tensor(x.shape[:x.ndim - n], dtype),)


def _batch_wrap(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    (x,), p = operands, position_of(positions)
    to = min(p, op.results[0].type.ndim)         # the words stay last
    x = move_batch(b, x, p, to, axis[1])
    return (b.emit(random_wrap, x, **op.attrs),), (to,)


random_wrap = define("random_wrap", attrs={"impl": KEY_TYPE}, operands=1, infer=_infer_wrap,
                     jvp=ZERO, batch=_batch_wrap)


def _infer_unwrap(types: Types, attrs: Attrs) -> Types:
    (key,) = types
    _check_key("random_unwrap", key)
    return (tensor((*key.shape, *key.dtype.physical), dtypes.u32),)


random_unwrap = define("random_unwrap", operands=1, infer=_infer_unwrap, jvp=ZERO,
                       batch=batch_elementwise)


# --- making keys --------------------------------------------------------------------------

def _infer_seed(types: Types, attrs: Attrs) -> Types:
    (seed,) = types
    if not seed.dtype.is_integer:
        raise IRTypeError(f"random_seed: seeds must be integers, got {seed}")
    return (seed.with_dtype(KEY_DTYPES[attrs["impl"]]),)


random_seed = define("random_seed", attrs={"impl": IMPLEMENTATION}, operands=1, infer=_infer_seed,
                     jvp=ZERO, batch=batch_elementwise)
"""A key for each integer, of its upper and lower 32 bits, without sign extension to the upper ones.
"""


def _infer_fold_in(types: Types, attrs: Attrs) -> Types:
    key, data = types
    _check_key("random_fold_in", key)
    if data.dtype is not dtypes.u32 or data.shape != key.shape:
        raise IRTypeError(f"random_fold_in takes u32 data of the keys' shape, got {key} and "
                          f"{data}")
    return (key,)


random_fold_in = define("random_fold_in", operands=2, infer=_infer_fold_in, jvp=ZERO,
                        batch=batch_elementwise)


def _infer_split(types: Types, attrs: Attrs) -> Types:
    (key,) = types
    _check_key("random_split", key)
    return (key.with_shape((*key.shape, *attrs["shape"])),)


def _batch_in_front(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis
                    ) -> Batched:
    """Batching of ops whose result has the axes of the keys, then its own axes."""
    return (b.emit(op.definition, *operands, **op.attrs),), positions


random_split = define("random_split", attrs={"shape": SHAPE}, operands=1, infer=_infer_split,
                      jvp=ZERO, batch=_batch_in_front)
"""An array of new keys of the given shape from each key."""


# --- bits ---------------------------------------------------------------------------------

def _infer_bits(types: Types, attrs: Attrs) -> Types:
    (key,), width = types, attrs["bit_width"]
    _check_key("random_bits", key)
    if width not in (8, 16, 32, 64):
        raise IRTypeError(f"random_bits: bit_width must be 8, 16, 32 or 64, got {width}")
    return (tensor((*key.shape, *attrs["shape"]), dtypes.named(f"u{width}")),)


random_bits = define("random_bits", attrs={"bit_width": INT, "shape": SHAPE}, operands=1,
                     infer=_infer_bits, jvp=ZERO, batch=_batch_in_front)
"""An array of unsigned integers of the given shape and width from each key."""


# --- XLA's generator ----------------------------------------------------------------------

STATES = (tensor((4,), dtypes.u32), tensor((2,), dtypes.u64))


def _infer_rng(types: Types, attrs: Attrs) -> Types:
    (state,), dtype = types, attrs["dtype"]
    if state not in STATES:
        raise IRTypeError(f"rng_bit_generator: the state must be u32[4] or u64[2], got {state}")
    if not dtype.is_unsigned or dtype.bits < 8:
        raise IRTypeError(f"rng_bit_generator: dtype must be u8, u16, u32 or u64, got {dtype}")
    return state, tensor(attrs["shape"], dtype)


def _batch_rng(b: Builder, op: Op, operands: Values, positions: Positions, axis: Axis) -> Batched:
    """The first lane's state gives the bits of all lanes, as in JAX; the other states stay."""
    states, size = move_batch(b, operands[0], positions[0], 0, axis[1]), axis[1]
    width, ones = states.type.shape[1], (1, 1)
    first = b.emit(slice, states, starts=(0, 0), limits=(1, width), strides=ones)
    after, bits = b.emit(rng_bit_generator, b.emit(reshape, first, shape=(width,)),
                         **{**op.attrs, "shape": (size, *op.attrs["shape"])})
    rest = b.emit(slice, states, starts=(1, 0), limits=(size, width), strides=ones)
    states = b.emit(concatenate, b.emit(reshape, after, shape=(1, width)), rest, dimension=0)
    return (states, bits), (0, 0)


rng_bit_generator = define(
    "rng_bit_generator", operands=1, infer=_infer_rng, jvp=ZERO, single=False, batch=_batch_rng,
    attrs={"algorithm": enum("default", "philox"), "shape": SHAPE, "dtype": DTYPE})
"""(state) -> (next state, bits); the algorithm `default` is the platform's own."""


UNIFORM_DTYPES = (dtypes.f16, dtypes.bf16, dtypes.f32, dtypes.f64, dtypes.i32, dtypes.u32,
                  dtypes.i64, dtypes.u64)
"""The dtypes that XLA's generator knows; for others XLA ends the process."""


def _infer_uniform(types: Types, attrs: Attrs) -> Types:
    low, high = types
    if low is not high or low.ndim or low.dtype not in UNIFORM_DTYPES:
        names = ", ".join(map(str, UNIFORM_DTYPES))
        raise IRTypeError("rng_uniform takes two scalars of the same dtype, which must be one of "
                          f"{names}; got {low} and {high}")
    return (tensor(attrs["shape"], low.dtype),)


rng_uniform = define("rng_uniform", attrs={"shape": SHAPE}, operands=2, infer=_infer_uniform,
                     jvp=NONE, batch=NONE, effects=True)
"""Numbers in [low, high). The generator's state belongs to the program, and each use advances it,
which is the op's effect."""


# --- axes that divide ---------------------------------------------------------------------

spreads(alike, threefry2x32, random_seed, random_fold_in)
spreads(leading(1), random_wrap)
spreads(leading(0), random_unwrap, random_split, random_bits)
spreads(anyhow, rng_bit_generator, rng_uniform)


# --- what passes ask ----------------------------------------------------------------------

mark({MIXES_BITS}, threefry2x32, random_wrap, random_unwrap, random_seed, random_fold_in,
     random_split, random_bits, rng_bit_generator, rng_uniform)
mark({MERGED}, threefry2x32, random_wrap, random_unwrap, random_seed, random_fold_in, random_split,
     random_bits)
mark({IN_ORDER}, random_wrap, random_unwrap)
does(0, random_wrap, random_unwrap)
does(110, threefry2x32, random_fold_in, random_split, random_bits)
