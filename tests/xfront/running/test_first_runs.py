"""The first runs of small programs by NumPy give every bit of what the compiled program gives."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from lowering import compile_function
from tests.work import calls
from xfront import binding, lax, random
from xfront.running import compiled, first_runs, programs
from xfront.running.placement import placement
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.core import Function, Value
from xfront_ir.passes.pipeline import simplify
from xfront_ir.types import tensor

FLOATS = {np.dtype(np.float32): 32, np.dtype(np.float64): 64}
DTYPES = (dtypes.bool_, dtypes.i32, dtypes.u32, dtypes.i64, dtypes.u64, dtypes.f32, dtypes.f64)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts without programs and transfer guards, and its second runs are compiled."""
    monkeypatch.setattr(first_runs, "RUNS", 1)
    monkeypatch.setattr(binding, "guarded", [])
    programs.clear()


def numbers(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of all sizes; some have zeros of both signs, subnormals, infinities and NaN."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        ends = np.array([0, 1, info.max, info.min, info.max - 1], dtype)
        short = wide >> dtype.type(rng.integers(8 * dtype.itemsize))
        return np.where(rng.random(shape) < 0.6, short, rng.choice(ends, shape)).astype(dtype)
    info = np.finfo(dtype)
    usual = (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4)).astype(dtype)
    odd = rng.choice(np.array([info.tiny, info.smallest_subnormal, info.max, np.inf, -np.inf,
                               np.nan], dtype), shape)
    zeros = rng.choice(np.array([0.0, -0.0], dtype), shape)
    bits = rng.integers(0, 2**FLOATS[dtype], shape, f"u{dtype.itemsize}")
    others = (usual, zeros, zeros, odd, np.asarray(bits).view(dtype))[rng.integers(5)]
    return np.asarray(np.where(rng.random(shape) < 0.8, usual, others))


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays have the same bits, and NaN at the same places."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    return bool(np.all((np.isnan(a) & np.isnan(b)) | (a == b) & (np.signbit(a) == np.signbit(b))))


# --- whole programs -----------------------------------------------------------------------

class Writer:
    """Writes random programs of the ops that NumPy may run, and of a few that it may not."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.b = Builder("written")
        self.values: list[Value] = []

    def pick(self, *wanted: Any) -> Value | None:
        """A value, of one of the wanted dtypes if some are given."""
        found = [v for v in self.values if not wanted or v.type.dtype in wanted]
        return found[self.rng.integers(len(found))] if found else None

    def alike(self, x: Value) -> Value:
        """A value of the same type."""
        found = [v for v in self.values if v.type == x.type]
        return found[self.rng.integers(len(found))]

    def program(self) -> Function:
        """A program of one to four parameters and up to twelve ops."""
        rng, b = self.rng, self.b
        shape = tuple(rng.integers(1, 9, rng.integers(0, 3)).tolist())
        kinds = rng.choice(len(DTYPES), rng.integers(1, 3))
        for i in kinds:
            self.values += [b.param(tensor(shape, DTYPES[i])) for _ in range(2)]
            scalar = b.param(tensor((), DTYPES[i]))
            self.values.append(b.emit(ops.broadcast_in_dim, scalar, shape=shape, dims=()))
            if rng.random() < 0.3 and shape:
                self.values.append(b.emit(ops.iota, dtype=dtypes.f32, shape=shape, dimension=0))
        for _ in range(rng.integers(1, 9)):
            made = self.op()
            self.values += [] if made is None else [made]
        return b.close(self.values[-3:])

    def op(self) -> Value | None:
        """The result of one more op."""
        rng, b = self.rng, self.b
        x = self.pick()
        assert x is not None
        kind, is_bool = int(rng.integers(12)), x.type.dtype is dtypes.bool_
        if kind <= 2 and not is_bool:
            binary = (ops.add, ops.sub, ops.mul, ops.max, ops.min, ops.div)
            return b.emit(binary[rng.integers(len(binary))], x, self.alike(x))
        if kind == 3 and x.type.dtype.is_float:
            unary = (ops.sqrt, ops.square, ops.floor, ops.ceil, ops.neg, ops.abs, ops.sign)
            return b.emit(unary[rng.integers(len(unary))], x)
        if kind == 4 and not is_bool:
            return b.emit((ops.lt, ops.eq, ops.ge)[rng.integers(3)], x, self.alike(x))
        p = self.pick(dtypes.bool_)
        if kind == 5 and p is not None and p.type.shape == x.type.shape:
            return b.emit(ops.select, p, x, self.alike(x))
        if kind == 6:
            return b.emit(ops.convert, x, dtype=DTYPES[rng.integers(len(DTYPES))])
        if kind == 7 and x.type.ndim:
            return b.emit(ops.concatenate, x, self.alike(x), dimension=0)
        if kind == 8:
            shape = (int(rng.integers(1, 4)), *x.type.shape)
            return b.emit(ops.broadcast_in_dim, x, shape=shape,
                          dims=tuple(range(1, len(shape))))
        if kind == 9 and x.type.ndim:
            return b.emit(ops.transpose, x, permutation=tuple(reversed(range(x.type.ndim))))
        if kind == 10 and x.type.ndim and x.type.shape[0]:
            return b.emit(ops.slice, x, starts=(1,) + (0,) * (x.type.ndim - 1),
                          limits=x.type.shape, strides=(1,) * x.type.ndim)
        if kind == 11 and x.type.dtype.is_integer:
            return b.emit((ops.xor, ops.and_, ops.or_)[rng.integers(3)], x, self.alike(x))
        return None


@pytest.mark.parametrize("batch", range(6))
def test_written_programs(batch: int) -> None:
    """Programs of random ops on numbers of all kinds."""
    taken = computed = 0
    for seed in range(batch * 1000, batch * 1000 + 60):
        writer = Writer(seed)
        function = writer.program()
        if not first_runs.is_exact(function):
            continue
        taken += 1
        executable = compile_function(function, effort="eager")
        for _ in range(6):
            arrays = [numbers(writer.rng, v.type.dtype.numpy, v.type.shape)
                      for v in function.params]
            with xfront.enable_x64(True):
                given = [jnp.asarray(x) for x in arrays]
            made = first_runs.results(function, given)
            if made is None:
                continue
            computed += 1
            place = compiled.Compiled(executable, [True] * len(arrays), [
                (v.type, False) for v in function.returns], _place(given))
            for a, b in zip(made, place.run(given), strict=True):
                assert same_bits(a, b), f"seed {seed}:\n{function}\n{arrays}\n{a}\n{b}"
    assert taken >= 10 and computed >= 30, (taken, computed)


def _place(arrays: list[Any]) -> Any:
    return placement(arrays, "written")[0]


# --- public functions ---------------------------------------------------------------------

def _calls(x: Any, y: Any, n: Any, key: Any) -> dict[str, Callable[[], Any]]:
    """Calls of public functions whose first runs NumPy may compute."""
    return {
        "add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "div": lambda: x / y,
        "scaled": lambda: x * 0.3, "square": lambda: x**2, "sqrt": lambda: jnp.sqrt(x),
        "by scalar": lambda: x / x[0, 0], "by row": lambda: x / x[0], "by count": lambda: n / n[1],
        "by number": lambda: x / 3, "by small": lambda: x[0] / 1e-30, "of scalar": lambda: 3 / x,
        "by itself": lambda: jnp.divide(x, jnp.broadcast_to(x[1, 1:2], x.shape)),
        "of bools": lambda: (x < y) * x[0, 0],
        "dot of bools": lambda: jnp.dot(x[0, 0] < 0, x[1, 1]),
        "less": lambda: x < 1.5, "where": lambda: jnp.where(x < y, x, y), "neg": lambda: -x,
        "sign": lambda: jnp.sign(x), "floor": lambda: jnp.floor(x), "abs": lambda: jnp.abs(x),
        "element": lambda: x[1], "row": lambda: x[-1, 1:], "transposed": lambda: x.T,
        "flat": lambda: x.reshape(-1), "joined": lambda: jnp.concatenate([x, y], axis=1),
        "stack": lambda: jnp.stack([x, y]), "padded": lambda: jnp.pad(x, 1),
        "as floats": lambda: n.astype(jnp.float32), "as bools": lambda: x.astype(bool),
        "n + n": lambda: n + n, "n * 7": lambda: n * 7, "n > 0": lambda: n > 0,
        "greatest": lambda: jnp.maximum(n, 3), "bits": lambda: n ^ (n << 3) | ~n,
        "arange": lambda: jnp.arange(7) * 2, "eye": lambda: jnp.eye(3),
        "of one": lambda: x[0, 0] * 2,
        "split": lambda: random.split(key, 3), "fold_in": lambda: random.fold_in(key, 7),
        "one of split": lambda: random.split(key)[1], "key_data": lambda: random.key_data(key),
        "chosen": lambda: jnp.where(x[0, :3] < y[0, :3], random.split(key, 3), key),
        "raw": lambda: random.split(random.PRNGKey(3), (2, 2)), "random bits": lambda: random.bits(
            key, (3, 5)), "seeded": lambda: random.key(n.shape[0]),
        "product of integers": lambda: xfront.vmap(lambda a: a * 3 - 1)(n),
        "tangent": lambda: xfront.jvp(lambda a: a[::-1], (x,), (y,)),
        "slope": lambda: xfront.grad(lambda a: a[0, 1])(x),
        **_calls_on_keys(random.split(key, (3, 2)), random.split(key, 2)),
    }


def _calls_on_keys(grid: Any, keys: Any) -> dict[str, Callable[[], Any]]:
    """Calls that move keys: each goes with all its words."""
    mask = jnp.array([True, False])              # as many as a key has words
    return {
        "where of keys": lambda: jnp.where(mask, keys, keys[1]),
        "where of rows of keys": lambda: jnp.where(mask, grid, keys),
        "where of one mask": lambda: jnp.where(mask[1], grid, keys),
        "select of keys": lambda: jnp.select([mask, ~mask], [keys, keys[::-1]], keys[0]),
        "select_n of keys": lambda: lax.select_n(mask.astype(int), keys, keys[::-1], keys),
        "select_n of an index": lambda: lax.select_n(mask[0], keys, keys[::-1]),
        "joined keys": lambda: jnp.concatenate([grid, keys[None]]),
        "stacked keys": lambda: jnp.stack([keys, keys], axis=1), "turned keys": lambda: grid.T,
        "flipped keys": lambda: grid[:, ::-1], "rolled keys": lambda: jnp.roll(grid, 1, 0),
        "taken keys": lambda: grid[jnp.array([2, 0])], "set keys": lambda: grid.at[1].set(keys),
        "spread keys": lambda: jnp.broadcast_to(keys, (3, 2)), "flat keys": lambda: grid.ravel(),
    }


def _facts(tree: Any) -> list[Any]:
    """The bits of all leaves, their types, and where they are."""
    found = []
    for leaf in xfront.tree.leaves(tree):
        x = random.key_data(leaf) if jnp.issubdtype(leaf.dtype, xfront.dtypes.prng_key) else leaf
        found.append((np.asarray(x).tobytes(), leaf.shape, str(leaf.dtype), x.weak_type,
                      leaf.committed, leaf.sharding))
    return found


@pytest.mark.parametrize("x64", [False, True])
def test_first_runs_of_public_functions(x64: bool) -> None:
    """The run by NumPy, the compiled one and the one by C++ agree in bits, types and places."""
    rng = np.random.default_rng(0)
    by_hand: set[str] = set()
    with xfront.enable_x64(x64):
        device = xfront.devices()[0]
        for committed in (False, True):
            dtype = np.float64 if x64 else np.float32
            arrays = [rng.normal(size=(3, 4)).astype(dtype), rng.normal(size=(3, 4)).astype(dtype),
                      rng.integers(-9, 9, (5,)).astype(np.int32)]
            x, y, n = [xfront.device_put(a, device) if committed else jnp.asarray(a)
                       for a in arrays]
            for name, call in _calls(x, y, n, random.key(5)).items():
                programs.clear()
                runs = [_facts(call()) for _ in range(4)]
                assert all(r == runs[0] for r in runs), (name, committed, runs)
                by_hand |= {name} if _computes(call) else set()
    assert len(by_hand) >= 30, by_hand


def _computes(call: Callable[[], Any]) -> bool:
    """Whether NumPy computes at least one program of a call."""
    programs.clear()
    count = 0
    real = first_runs.results

    def counted(*args: Any) -> Any:
        nonlocal count
        found = real(*args)
        count += found is not None
        return found

    first_runs.results = counted
    try:
        call()
    finally:
        first_runs.results = real
    return count > 0


MASK = np.array([[True, False, True], [False, True, False]])
ON_KEYS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: jnp.where(jnp.asarray(MASK), a, b), lambda a, b: jnp.where(MASK[:, :1], a, b[0]),
    lambda a, b: jnp.where(jnp.asarray(MASK[0, :2]), a[0, :2], b[1, :2]),
    lambda a, b: lax.select_n(jnp.asarray(MASK), a, b), lambda a, b: lax.select(True, a, b),
    lambda a, b: xfront.vmap(jnp.where)(jnp.asarray(MASK), a, b),
    lambda a, b: jnp.concatenate([a, b], 1), lambda a, b: jnp.stack([a, b], -1),
    lambda a, b: a.T[::-1], lambda a, b: a[:, ::2], lambda a, b: a[1, -1],
    lambda a, b: lax.dynamic_slice(a, (1, 5), (1, 2)),
    lambda a, b: lax.dynamic_update_slice(a, b[:, 1:], (0, 1)),
    lambda a, b: jnp.broadcast_to(a[:, None], (2, 2, 3)), lambda a, b: a.reshape(3, 2),
    lambda a, b: jnp.roll(a, 1, 1), lambda a, b: random.fold_in(a[0, 0], 7)]


def test_first_runs_on_arrays_of_keys() -> None:
    """The words of a key go where the key goes."""
    a, b = random.split(random.key(0), (2, 3)), random.split(random.key(1), (2, 3))
    for i, f in enumerate(ON_KEYS):
        first, second = [random.key_data(f(a, b)) for _ in range(2)]
        assert same_bits(first, second), i
    chosen = np.where(MASK[..., None], random.key_data(a), random.key_data(b))
    assert same_bits(random.key_data(ON_KEYS[0](a, b)), chosen)


def test_odd_numbers_are_left_to_the_program() -> None:
    """Infinities, NaN and subnormal numbers, and what overflows, give what the program gives."""
    odd = np.array([np.inf, -np.inf, np.nan, 1e-45, 3e38, -0.0, 1e-38, 2.0], np.float32)
    for f in (lambda x: x * 10.0, lambda x: x + x, jnp.sqrt, jnp.sign, lambda x: x / x,
              lambda x: x < 0.0, lambda x: x.astype(bool)):
        for i in range(len(odd)):
            programs.clear()
            x = jnp.asarray(odd[i:i + 1])
            first, second = np.asarray(f(x)), np.asarray(f(x))
            assert first.tobytes() == second.tobytes(), (odd[i], first, second)


def test_programs_that_may_round_otherwise_are_compiled() -> None:
    """Two ops that round, a constant beside one, and what no trait says is exact."""
    x = jnp.ones((3,))
    for f in (lambda x: x * 2.5 + 1.5, lambda x: x / 3.0, lambda x: x * x + x, jnp.exp,
              lambda x: x @ x, jnp.sum, jnp.mean, jnp.cumsum, lambda x: x**3,
              lambda x: jnp.maximum(x, 0.0), lambda x: x.astype(int),
              lambda x: x / x[0], lambda x: x / jnp.stack([x[1]] * 3), lambda x: x / jnp.repeat(
                  x[1:2], 3), lambda x: x[:1] + jnp.arange(1.0), lambda x: (x[:1] < x) * x,
              lambda x: x / (jnp.arange(3) + x.astype(bool)),
              lambda x: x.astype(jnp.bfloat16)):
        function = simplify(xfront.make_ir(f)(x).ir)
        assert not first_runs.is_exact(function), function
    assert first_runs.is_exact(simplify(xfront.make_ir(lambda x: (x * x)[::-1])(x).ir))
    assert not first_runs.is_exact(simplify(xfront.make_ir(jnp.negative)(jnp.ones(5000)).ir))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.is_integer], ids=str)
def test_quotients_of_integers(dtype: Any) -> None:
    """Quotients of integers by scalars are truncated, at every call."""
    numpy = np.dtype(dtype.numpy)
    whole = np.array([0, 1, 20, 25, np.iinfo(numpy).max, np.iinfo(numpy).max - 5], numpy)
    with xfront.enable_x64(numpy.itemsize == 8):
        x = jnp.asarray(whole)
        for divisor in (1, 3, 7, 100):
            scalar, plain = jnp.asarray(divisor, numpy), numpy.type(divisor)
            for divide, by in ((jnp.floor_divide, divisor), (jnp.floor_divide, scalar),
                               (lax.div, scalar), (lax.div, plain)):
                for _ in range(3):
                    made = np.asarray(divide(x, by))
                    assert made.dtype == numpy
                    assert np.array_equal(made, whole // numpy.type(divisor)), (divisor, made)


def test_results_are_memory_of_their_own() -> None:
    """A result keeps its numbers when the operand's memory is given to another program."""
    x = jnp.arange(12.0)
    moved, row, same = x.reshape(3, 4), x[2:5], x + 0.0
    xfront.jit(lambda a: a * 7.0 - 5.0, donate_argnums=0)(x)
    assert x.is_deleted()
    assert np.array_equal(moved, np.arange(12.0).reshape(3, 4))
    assert np.array_equal(row, [2.0, 3.0, 4.0]) and np.array_equal(same, np.arange(12.0))
    with pytest.raises(RuntimeError, match="deleted"):
        _ = x[0]


def test_options_that_look_at_programs() -> None:
    """A check of numbers sees what NumPy computes; a log of compilations has every program."""
    zero = jnp.zeros((2,))
    with xfront.debug_nans(True), pytest.raises(FloatingPointError):
        _ = zero / zero
    with xfront.debug_infs(True), pytest.raises(FloatingPointError):
        _ = jnp.ones((2,)) / zero


def test_threads() -> None:
    """Threads that run the same new programs at once get the same numbers."""
    key, wrong = random.key(3), []
    rows = np.asarray(random.key_data(random.split(key, 6)))
    x = jnp.arange(6.0)
    wanted = np.arange(6.0, dtype=np.float32) * np.float32(0.3)

    def work() -> None:
        for _ in range(20):
            if not np.array_equal(random.key_data(random.split(key, 6)), rows):
                wrong.append("split")
            if not np.array_equal(x * 0.3, wanted):
                wrong.append("product")

    for _ in range(3):
        programs.clear()
        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


DRAWS: dict[str, Callable[..., Any]] = {
    "normal": random.normal, "uniform": random.uniform, "bits": random.bits,
    "between": lambda k, s: random.uniform(k, s, minval=-2.5, maxval=3.25),
    "truncated": lambda k, s: random.truncated_normal(k, -2, 2, s),
    "exponential": random.exponential, "gumbel": random.gumbel, "laplace": random.laplace,
    "logistic": random.logistic, "cauchy": random.cauchy, "rademacher": random.rademacher,
    "bernoulli": lambda k, s: random.bernoulli(k, 0.3, s),
    "randint": lambda k, s: random.randint(k, s, 0, 17),
    "bfloat16": lambda k, s: random.normal(k, s, jnp.bfloat16)}
SHAPES = ((1,), (2,), (3,), (8,), (1, 16), (16, 1), (17, 3), (2, 3, 4), (1000,), (1024,),
          (0,), (1025,), (5, 400), (32, 128), (4097,))


@pytest.mark.parametrize("x64", [False, True])
def test_draws(x64: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning of a longer draw is the draw that is compiled for its shape, and the one under
    `jit` in that program."""
    rng, taken, small = np.random.default_rng(), 0, 0
    one_of = 3 if x64 else 2                             # of the shapes, others for each function
    real = first_runs.first_of

    def counted(*args: Any) -> Any:
        nonlocal taken
        taken += 1
        return real(*args)

    monkeypatch.setattr(first_runs, "first_of", counted)
    with xfront.enable_x64(x64):
        for i, (name, draw) in enumerate(DRAWS.items()):
            for shape in SHAPES[i % one_of::one_of]:
                small += 1 < np.prod(shape) <= first_runs.MOST_ELEMENTS
                seed = int(rng.integers(2**31))
                for key in (random.key(seed), random.PRNGKey(seed)):
                    runs = [_facts(draw(key, shape)) for _ in range(3)]
                    assert runs[0] == runs[1] == runs[2], (name, shape, seed)
    assert taken >= 1.5 * small, (taken, small)


def test_draws_of_all_shapes_are_told_apart() -> None:
    """Programs whose elements depend on others, or on arrays, have a program of their own."""
    key, x = random.key(0), jnp.ones((4,))
    for f in (lambda k: random.normal(k, (4,)) + x, lambda k: random.normal(k, (4,)).sum(),
              lambda k: random.normal(k, (4,)) - random.normal(k, (4,)).sum(),
              lambda k: random.normal(k, (4,))[::-1], lambda k: random.permutation(k, 4),
              lambda k: random.normal(k, ()), lambda k: random.bits(k, (4,), "uint8") + jnp.arange(
                  4, dtype="uint8"), lambda k: jnp.sort(random.normal(k, (4,)))):
        function = simplify(xfront.make_ir(f)(key).ir)
        assert first_runs.draw_of_all_shapes(function) is None, function


SCRIPT = """
import hashlib, sys
import numpy as np
import xfront as jax, xfront.numpy as jnp
from xfront.running import first_runs
first_runs.RUNS = int(sys.argv[1])
digest = hashlib.sha256()
for seed in range(4):
    for i, key in enumerate(jax.random.split(jax.random.key(seed), 5)):
        x = jax.random.normal(key, (3, 4)) * jnp.sqrt(2 / (i + 1))
        digest.update(np.asarray(jax.random.truncated_normal(key, -1, 2, (i + 1, 5))).tobytes())
        digest.update(np.asarray(jnp.stack([x[0] * x[1], x[1] / x[2], -x[2]])).tobytes())
        digest.update(np.asarray(jax.random.key_data(jax.random.fold_in(key, i))).tobytes())
print(digest.hexdigest())
"""


def test_processes(tmp_path: Any) -> None:
    """A process that compiles everything, and one that finds its cache, give the same bits."""
    printed = [subprocess.run([sys.executable, "-c", SCRIPT, runs], check=True, text=True,
                              capture_output=True,
                              env={**os.environ, "XFRONT_CACHE_DIR": str(tmp_path)}).stdout
               for runs in ("16", "0", "16", "2")]
    assert len(set(printed)) == 1 and printed[0]


def test_later_runs_are_those_of_a_program_that_was_compiled_at_first(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """C++ runs them alone, by the number of Python calls."""
    x, key = jnp.ones((4, 5)), random.key(0)
    functions: list[Callable[[], Any]] = [
        lambda: x + x, lambda: x[0], lambda: x * 2.0, lambda: jnp.concatenate([x, x]),
        lambda: random.normal(key, (5,)), lambda: random.split(key), lambda: x.astype(jnp.int32)]
    found = []
    for runs in (0, 3):
        monkeypatch.setattr(first_runs, "RUNS", runs)
        programs.clear()
        for f in functions:
            for _ in range(runs + 3):
                f()
        found.append([calls(f) for f in functions])
    assert found[0] == found[1]


def test_effects_beside_a_draw_or_exact_ops_happen_at_each_run() -> None:
    """Such programs are compiled, whether the effect has a result or none."""
    seen: list[Any] = []

    def told(x: Any) -> np.ndarray:
        seen.append(float(x))
        return np.float32(x)

    def f(x: Any) -> Any:
        xfront.debug.callback(told, x)
        return x[0] if x.ndim else x * 2

    def g(x: Any) -> Any:
        scale = xfront.experimental.io_callback(
            told, xfront.ShapeDtypeStruct((), jnp.float32), xfront.lax.stop_gradient(x))
        return random.uniform(random.key(0), (3,)) * scale

    for _ in range(3):
        assert float(xfront.vmap(f)(jnp.array([1.0]))[0]) == 2.0
        assert float(xfront.grad(f)(1.0)) == 2.0
        value, _slope = xfront.jvp(f, (3.0,), (1.0,))
        drawn, _slope = xfront.jvp(g, (2.0,), (1.0,))
        assert float(value) == 6.0
        np.testing.assert_array_equal(drawn, 2 * random.uniform(random.key(0), (3,)))
    xfront.effects_barrier()
    assert seen == [1.0, 1.0, 3.0, 2.0] * 3


def _layouts(x: np.ndarray) -> dict[str, np.ndarray]:
    """Two-dimensional arrays with the elements of `x` that lie in memory in another way."""
    padded = np.zeros((x.shape[0], 2 * x.shape[1]), x.dtype)
    padded[:, ::2] = x
    misaligned = np.ndarray(x.shape, x.dtype, bytearray(x.nbytes + 1), 1)
    misaligned[...] = x
    return {"Fortran order": np.asfortranarray(x), "every second": padded[:, ::2],
            "backwards": x[::-1, ::-1].copy()[::-1, ::-1], "misaligned": misaligned,
            "one row": np.broadcast_to(x[:1], x.shape)}


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bfloat16"])
def test_layouts_of_numpy_arrays_do_not_change_values(dtype: str) -> None:
    """Un-jitted (by NumPy, or compiled) and jitted, with NaN of two payloads and the ends."""
    x = np.array([[0, 1, 2, 100], [3, 4, 5, 7], [1, 0, 9, 2]]).astype(jnp.dtype(dtype))
    if "float" in dtype:
        x[0] = -0.0, np.inf, np.nan, jnp.finfo(dtype).smallest_subnormal
        bits = x.view(f"uint{8 * x.itemsize}")
        bits[1, 0] = bits[0, 2] | 3
    functions = [jnp.negative, jnp.square, lambda x: jnp.add(x, x), jnp.sum, jnp.ravel, jnp.flip,
                 lambda x: jnp.multiply(x, x[0]), lambda x: jnp.maximum(x, x[:, ::-1])]
    for f in functions:
        for run in (f, xfront.jit(f)):
            for name, lying in _layouts(x).items():
                got, want = run(lying), run(np.array(lying, order="C"))
                assert (got.dtype, got.shape) == (want.dtype, want.shape), name
                assert np.asarray(got).tobytes() == np.asarray(want).tobytes(), name
