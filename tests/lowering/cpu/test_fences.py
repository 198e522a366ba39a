"""Fences: where the pass places them, how they are spelled, that values stay the same."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import lowering
import xfront
import xfront.numpy as jnp
from lowering import disk_cache
from lowering.cpu import fences
from lowering.cpu.fences import NO_FACTS, Facts, fence_pass
from lowering.cpu.kernels import Region
from lowering.forms.extras import ALWAYS, FENCES, Extras, extras
from lowering.partitioning import Partition
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.dtypes import BY_NAME
from xfront_ir.fingerprint import fingerprint
from xfront_ir.parser import parse
from xfront_ir.types import tensor
from xfront_ir.verifier import verify

LARGE = tensor((64, 64), dtypes.f32)
SMALL = tensor((8, 8), dtypes.f32)
FILES = sorted((Path(__file__).parent / "golden").glob("*.ir"))
MARK = "// ---- expect\n"


def repeat(b, x, n, op=ops.floor):
    for _ in range(n):
        x = b.emit(op, x)
    return x


def square(b, x):
    """A product: what is behind it is no concern of its readers."""
    return b.emit(ops.dot_general, x, x, contract=((1,), (0,)), batch=((), ()))


def shared(b, x, n):
    """A chain of operations read by a product and by a kernel."""
    y = repeat(b, x, n)
    return [square(b, y), b.emit(ops.neg, y)]


def chosen(fn, facts=NO_FACTS) -> list[int]:
    """The positions of the ops whose results are fenced."""
    made = fence_pass(fn, facts)
    verify(made)
    fenced = {op.results[0] for op in made.ops if op.definition is ops.fence}
    return [i for i, op in enumerate(fn.ops) if not fenced.isdisjoint(op.results)]


def fenced_text(fn) -> str:
    return lowering.lower(fn, extras=Extras(fences=1)).as_text()


# --- where --------------------------------------------------------------------------------

@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden(path: Path, update_golden: bool) -> None:
    """`// pass: fence`, a program, and what the pass makes of it, as for the passes of the IR."""
    given, mark, expected = path.read_text().partition(MARK)
    first, program = given.split("\n", 1)
    assert first == "// pass: fence"
    made = fence_pass(parse(program))
    verify(made)
    if update_golden:
        path.write_text(f"{given}{MARK}{made}\n")
        return
    assert mark, f"{path.name} has no line {MARK!r}; run pytest --update-golden"
    assert f"{made}\n" == expected


def test_a_long_shared_value_is_fenced_once(func) -> None:
    assert chosen(func([LARGE], lambda b, x: shared(b, x, 70))) == [69]
    assert chosen(func([LARGE], lambda b, x: shared(b, x, 10))) == []


def test_a_program_without_fences_is_itself(func) -> None:
    body = func([LARGE], lambda b, x: [b.emit(ops.add, repeat(b, x, 9), x)])
    fn = func([LARGE], lambda b, x: b.emit(
        ops.scan, x, body=body, length=3, n_consts=0, n_carry=1, reverse=False, unroll=1))
    assert fence_pass(fn) is fn


def test_what_reads_a_fenced_value_stays(func) -> None:
    fn = func([LARGE], lambda b, x: shared(b, x, 70))
    made = fence_pass(fn)
    assert made.params == fn.params and made.returns == fn.returns
    assert made.ops[:69] == fn.ops[:69] and made.ops[71:] == fn.ops[70:]


def test_long_kernels_are_cut_where_little_is_read_behind(func) -> None:
    assert chosen(func([SMALL], lambda b, x: [repeat(b, x, 4200)])) == [1499, 2999]
    assert chosen(func([SMALL], lambda b, x: [repeat(b, x, 2900)])) == []
    few = tensor((2,), dtypes.f32)
    assert chosen(func([few], lambda b, x: [repeat(b, x, 4200)])) == []

    def gradient(b, x):
        values = [x]
        for _ in range(1550):
            values.append(b.emit(ops.floor, values[-1]))
        for v in reversed(values[:-1]):
            x = b.emit(ops.mul, x, v)
        return [x]

    assert chosen(func([SMALL], gradient)) == []        # all is read behind any place


@pytest.mark.parametrize("size", [2, 1024])
def test_gradients_of_long_chains_are_cut(func, size) -> None:
    """All values of the forward half are read in the other, in its reverse order: most are computed
    again there, from those at the cuts."""
    def gradient(b, x):
        values = [x]
        for _ in range(1200):
            values.append(b.emit(ops.add, b.emit(ops.mul, values[-1], values[-1]), x))
        ct = x
        for v in reversed(values):
            ct = b.emit(ops.mul, ct, v)
        return [ct]

    made = fence_pass(func([tensor((size,), dtypes.f32)], gradient))
    found = [n for n, op in enumerate(made.ops) if op.definition is ops.fence]
    assert 120 <= len(found) < 900
    short = func([tensor((size,), dtypes.f32)], lambda b, x: [repeat(b, x, 100)])
    assert fence_pass(short) is short


def test_small_arrays_are_repeated_further(func) -> None:
    for type, least in ((LARGE, 30), (SMALL, 100), (tensor((2, 2), dtypes.f32), 200)):
        lengths = [n for n in (10, 30, 100, 200)
                   if chosen(func([type], lambda b, x, n=n: shared(b, x, n)))]
        assert lengths[0] == least


def test_small_exponential_repetition_is_cut(func) -> None:
    def make(b, x):
        for _ in range(50):
            x = b.emit(ops.add, x, b.emit(ops.reverse, x, axes=(0,)))
        return [x]

    assert len(chosen(func([SMALL], make))) >= 2


def test_products_start_anew_and_reshapes_are_free(func) -> None:
    def make(b, x):
        y = square(b, repeat(b, x, 10))
        flat = b.emit(ops.reshape, repeat(b, y, 10), shape=(4096,))
        return [flat, b.emit(ops.neg, flat)]

    assert chosen(func([LARGE], make)) == []


def test_what_pads_are_added_to_is_fenced_not_each_pad(func) -> None:
    def build(b, x):
        zero = b.literal(0.0, dtypes.f32)
        halves = [b.emit(ops.pad, repeat(b, x, 70), zero, low=(lo, lo), high=(64 - lo, 64 - lo),
                         interior=(0, 0)) for lo in (0, 64)]
        whole = b.emit(ops.neg, b.emit(ops.abs, b.emit(ops.add, *halves)))
        return [b.emit(ops.floor, whole), b.emit(ops.ceil, whole)]

    fn = func([LARGE], build)
    assert [fn.ops[i].definition.name for i in chosen(fn)] == ["neg"]


def test_random_bits_read_by_several_kernels_are_fenced(func) -> None:
    key = tensor((2,), dtypes.u32)

    def make(b, x):
        bits = b.emit(ops.random_bits, b.emit(ops.random_wrap, x, impl="fry"), shape=(64, 64),
                      bit_width=32)
        y = b.emit(ops.bitcast, bits, dtype=dtypes.f32)
        return [b.emit(ops.neg, y), b.emit(ops.abs, y)]

    fn = func([key], make)
    assert [fn.ops[i].definition.name for i in chosen(fn)] == ["random_bits"]


def test_an_unrolled_loop_adds_up_over_its_turns(func) -> None:
    def make(b, c, x):
        y = repeat(b, c, 10)
        return [y, b.emit(ops.neg, y)]

    b = Builder("turn")
    body = b.close(make(b, b.param(LARGE), b.param(tensor((), dtypes.f32))))
    for unroll, expected in ((1, False), (10, True)):
        fn = func([LARGE, tensor((60,), dtypes.f32)], lambda b, x, xs, unroll=unroll: b.emit(
            ops.scan, x, xs, body=body, length=60, n_consts=0, n_carry=1, reverse=False,
            unroll=unroll))
        assert (fence_pass(fn) is not fn) == expected


def test_a_body_that_is_called_twice_stays_one(func) -> None:
    body = func([LARGE], lambda b, x: [repeat(b, x, 40)], "body")
    again = parse(str(body))                            # the same content
    fn = func([LARGE], lambda b, x: [
        square(b, y := b.emit(ops.call, x, body=body, name="body")[0]),
        b.emit(ops.call, y, body=again, name="body")[0], b.emit(ops.neg, y)])
    text = fenced_text(fn)
    assert text.count("call @body") == 2 and text.count("func.func private @body") == 1
    assert text.count("call @fence") == 1
    made = fence_pass(fn, Facts(lambda f: body if f is again else f))
    held = [op.attrs["body"] for op in made.ops if op.definition is ops.call]
    assert held[0] is held[1] and [op.definition.name for op in held[0].ops[-2:]] == [
        "floor", "fence"]


def test_fences_of_users_are_kept(func) -> None:
    fn = func([SMALL], lambda b, x: [b.emit(ops.neg, b.emit(ops.fence, b.emit(ops.tanh, x)))])
    assert fence_pass(fn) is fn
    assert "call @fence" in fenced_text(fn)
    long = func([LARGE], lambda b, x: shared(b, b.emit(ops.fence, repeat(b, x, 63)), 10))
    assert fence_pass(long) is long                     # and what stands behind it counts no more


def test_the_walk_grows_with_the_program(func, monkeypatch) -> None:
    """Each operation enters its operands once, however long the program is."""
    steps = []
    enter = Region._other
    monkeypatch.setattr(Region, "_other", lambda self, i, found: (
        steps.append(i), enter(self, i, found)))
    new = Region._new
    monkeypatch.setattr(Region, "_new", lambda self, *how: steps.append(0) or new(self, *how))

    def taken(n):
        def make(b, x):
            for _ in range(n):
                y = b.emit(ops.add, x, b.emit(ops.reverse, x, axes=(0,)))
                x = b.emit(ops.mul, b.emit(ops.tanh, y), b.emit(ops.sub, y, x))
            return [x]

        steps.clear()
        fence_pass(func([SMALL], make))
        return len(steps)

    assert taken(800) < 4.4 * taken(200)


# --- how ----------------------------------------------------------------------------------

def test_the_spelling(func) -> None:
    fn = func([LARGE], lambda b, x: shared(b, x, 70))
    text = fenced_text(fn)
    assert re.search(r'call @fence\(%\d+\) \{mhlo\.frontend_attributes = '
                     r'\{inlineable = "false"\}\} : \(tensor<64x64xf32>\)', text)
    assert text.count("func.func private @fence(") == 1


def test_who_has_them(func, monkeypatch) -> None:
    assert extras("jit", "cpu", 1).fences == FENCES
    assert extras("fast", "cpu", 1).fences and extras("eager", "cpu", 1).fences
    assert not extras("eager", "cpu", 1, tiny=True).fences
    assert extras("jit", "cpu", 1, tiny=True).fences
    assert extras("jit", "cpu", 2) == ALWAYS["cpu"] and not extras("jit", "cuda", 1).fences
    fn = func([LARGE], lambda b, x: shared(b, x, 70))
    assert "@fence" not in lowering.lower(fn).as_text()
    assert "@fence" not in lowering.lower(fn, partition=Partition(num_partitions=2)).as_text()
    monkeypatch.setenv("XFRONT_CPU_FENCES", "0")
    assert not extras("jit", "cpu", 1).fences


def test_they_are_part_of_the_key(func, cache, monkeypatch) -> None:
    fn = func([LARGE], lambda b, x: shared(b, x, 70))
    keys, real = [], disk_cache.key
    monkeypatch.setattr(disk_cache, "key", lambda *a: keys.append(real(*a)) or keys[-1])
    fenced = lowering.compile_function(fn, fingerprint=fingerprint(fn))
    monkeypatch.setenv("XFRONT_CPU_FENCES", "0")
    plain = lowering.compile_function(fn, fingerprint=fingerprint(fn))
    assert keys[0] != keys[1] and fenced is not plain


# --- values: everything fenced against nothing fenced --------------------------------------

def every_value(region, chosen) -> None:
    """In the place of the rule."""
    for _, op, *_ in region.rows:
        if op.definition is not ops.fence:
            chosen.update(op.results)


@pytest.fixture
def everywhere(run, monkeypatch, cache):
    """`everywhere(fn, *arrays)`: the results with every value fenced are those without, bit for
    bit, also from disk."""
    def check(fn, *arrays, **how):
        monkeypatch.setenv("XFRONT_CPU_FENCES", "0")
        want = run(fn, *arrays, **how)
        monkeypatch.setenv("XFRONT_CPU_FENCES", "1")
        monkeypatch.setattr(fences, "_choose", every_value)
        assert "call @fence" in fenced_text(fn)
        for _ in range(2):
            lowering._LIVE.clear()
            got = run(fn, *arrays, fingerprint=fingerprint(fn), **how)
            for a, c in zip(got, want, strict=True):
                assert a.dtype == c.dtype and a.shape == c.shape and a.tobytes() == c.tobytes()

    return check


@pytest.mark.parametrize("name", ["f32", "f64", "f16", "i8", "u8", "i32", "u64", "c64", "c128"])
@pytest.mark.parametrize("shape", [(), (3,), (0, 4), (70, 70)])
def test_arithmetic_of_each_dtype(func, everywhere, name, shape) -> None:
    type = tensor(shape, BY_NAME[name])
    x = (np.arange(type.size).reshape(shape) % 7).astype(type.dtype.numpy)
    everywhere(func([type], lambda b, x: [b.emit(ops.mul, y := b.emit(ops.add, x, x), y), y, x]), x)


def test_bool_and_bf16(func, everywhere) -> None:
    mask = tensor((5,), dtypes.bool_)
    everywhere(func([mask], lambda b, x: [b.emit(ops.not_, b.emit(ops.not_, x))]),
               np.array([True, False, True, True, False]))
    wide = tensor((5,), dtypes.f32)
    everywhere(func([wide], lambda b, x: [b.emit(ops.convert, b.emit(ops.neg, b.emit(
        ops.convert, x, dtype=dtypes.bf16)), dtype=dtypes.f32)]), np.arange(5, dtype=np.float32))


def test_several_results_sorts_and_conditions(func, everywhere) -> None:
    x = np.array([[3, 1, 2], [9, 7, 8]], np.float32)
    type = tensor((2, 3), dtypes.f32)
    everywhere(func([type], lambda b, x: b.emit(ops.top_k, b.emit(ops.neg, x), k=2, axis=1)), x)
    flag = tensor((), dtypes.bool_)
    branches = tuple(func([type], lambda b, x, op=op: [b.emit(op, b.emit(ops.neg, x))])
                     for op in (ops.exp, ops.tanh))
    fn = func([flag, type], lambda b, p, x: b.emit(ops.cond, p, x, branches=branches))
    everywhere(fn, np.array(True), x)


def test_loops_that_swap_and_update(func, everywhere) -> None:
    type = tensor((6,), dtypes.f32)
    b = Builder("turn")
    x, y, at = b.param(type), b.param(type), b.param(tensor((), dtypes.i32))
    one = b.emit(ops.dynamic_slice, x, at, sizes=(1,))
    turn = b.close([b.emit(ops.dynamic_update_slice, y, b.emit(ops.neg, one), at),
                    b.emit(ops.add, x, y)])
    fn = func([type, type, tensor((6,), dtypes.i32)], lambda b, x, y, at: b.emit(
        ops.scan, x, y, at, body=turn, length=6, n_consts=0, n_carry=2, reverse=False, unroll=1))
    a = np.arange(6, dtype=np.float32)
    everywhere(fn, a, a + 1, np.arange(6, dtype=np.int32))


def test_while_counts(func, everywhere) -> None:
    count = tensor((), dtypes.i32)
    test = func([count], lambda b, i: [b.emit(ops.lt, i, b.literal(9, dtypes.i32))])
    turn = func([count], lambda b, i: [b.emit(ops.add, i, b.literal(2, dtypes.i32))])
    everywhere(func([count], lambda b, i: b.emit(
        ops.while_, i, cond=test, body=turn, n_cond_consts=0, n_body_consts=0)),
        np.array(0, np.int32))


def test_random_bits(func, everywhere) -> None:
    def make(b, x):
        key = b.emit(ops.random_wrap, x, impl="fry")
        keys = b.emit(ops.random_split, key, shape=(3,))
        return [b.emit(ops.random_bits, keys, shape=(5, 5), bit_width=32)]

    everywhere(func([tensor((2,), dtypes.u32)], make), np.array([1, 2], np.uint32))


def test_donated_buffers(func, arrays) -> None:
    put, handlers_of, get = arrays
    fn = func([LARGE], lambda b, x: shared(b, x, 70))
    x = np.linspace(0, 1, LARGE.size, dtype=np.float32).reshape(LARGE.shape)
    want = [get(v) for v in lowering.compile_function(fn).execute([put(x)], handlers_of(fn))]
    given = put(x.copy())
    made = lowering.compile_function(fn, donated=(0,)).execute([given], handlers_of(fn))
    assert given.is_deleted()
    for v, w in zip(made, want, strict=True):
        np.testing.assert_array_equal(get(v), w)


# --- networks -----------------------------------------------------------------------------

def by_variance(x):
    return (x - jnp.mean(x, -1, keepdims=True)) / jnp.sqrt(jnp.var(x, -1, keepdims=True) + 1e-5)


def written_out(x):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred ** 2, -1, keepdims=True) + 1e-5)


def residual(layers, norm=written_out, dtype=np.float32):
    rng = np.random.default_rng(0)
    params = [(rng.normal(size=(32, 64)).astype(dtype) / 6, rng.normal(size=(64, 32)).astype(dtype)
               / 8) for _ in range(layers)]

    def loss(params, x):
        for up, down in params:
            x = x + jnp.tanh(norm(x) @ up) @ down
        return jnp.mean(x ** 2)

    return loss, (params, rng.normal(size=(128, 32)).astype(dtype))


def largest_fusion(text: str) -> int:
    """Instructions of the largest fused computation in HLO text."""
    return max(c.count(" = ") for c in re.split(r"\n\n", text) if "fused_computation" in
               c.strip()[:40])


@pytest.mark.parametrize("norm", [by_variance, written_out])
def test_a_residual_net_stays_small(norm) -> None:
    """Without fences the largest fusion of the first has 132 instructions, more with each layer. A
    jaxlib whose XLA inlines what is marked otherwise fails here."""
    loss, args = residual(6, norm)
    lowered = xfront.jit(xfront.value_and_grad(loss)).lower(*args)
    text = lowered.compile().as_text()
    assert largest_fusion(text) < 60
    assert text.count("\n") < 4 * lowered.as_text("hlo", stage="lowered").count("\n")


def test_gradients_stay_as_close_to_double_precision(monkeypatch) -> None:
    loss, (params, x) = residual(6)
    with xfront.enable_x64(True):
        wide = xfront.tree.map(lambda a: a.astype(np.float64), (params, x))
        want = xfront.jit(xfront.grad(loss))(*wide)
    errors = []
    for flag in ("0", "1"):
        monkeypatch.setenv("XFRONT_CPU_FENCES", flag)
        got = xfront.jit(xfront.grad(loss)).lower(params, x).compile()(params, x)
        errors.append(max(
            float(np.abs(np.asarray(a, np.float64) - np.asarray(w)).max() / np.abs(w).max())
            for a, w in zip(xfront.tree.leaves(got), xfront.tree.leaves(want), strict=True)))
    assert errors[1] < 1.5 * errors[0] and errors[1] < 1e-5


@pytest.mark.parametrize("place", range(5))
def test_an_effect_without_results_may_stand_anywhere(place: int) -> None:
    def made(with_effect: bool):
        b = Builder("f")
        x = b.param(LARGE)
        values = [x]
        for i in range(5):
            if i == place and with_effect:
                b.emit(ops.callback, values[-1], slot=0, result_types=(), kind="debug",
                       ordered=False, vmap_method=None)
            if i < 4:
                values.append(b.emit(ops.sin, values[-1]))
        return b.close([square(b, values[-1]), b.emit(ops.neg, values[-1])])

    found = fence_pass(made(True))
    verify(found)
    plain = fence_pass(made(False))
    assert sum(op.definition is ops.callback for op in found.ops) == 1
    assert [op.definition.name for op in plain.ops] == [
        op.definition.name for op in found.ops if op.definition is not ops.callback]
