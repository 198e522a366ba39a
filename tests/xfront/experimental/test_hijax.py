"""Types and operations of a library's own in programs: values, rules, loops, batches, changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.experimental import cur_qdd, hijax
from xfront.experimental.hijax import HiPrim, HiType, MappingSpec, ShapedArray, register_hitype
from xfront.transforms.float0 import HIDES
from xfront.transforms.vmappable import RULES
from xfront.values.high import TYPES


@pytest.fixture(autouse=True, scope="module")
def types() -> Iterator[None]:
    """The types are registered here alone: the front doors look for them from then on."""
    before = dict(RULES)
    for cls, to_type in TYPES_HERE.items():
        register_hitype(cls, to_type)
    yield
    TYPES.clear()
    HIDES.clear()
    RULES.clear()
    RULES.update(before)


F32, I8 = np.dtype(np.float32), np.dtype(np.int8)


# --- a type whose tangents are of another type ---------------------------------------------------

@dataclass(frozen=True)
class Quantized:
    array: Any
    scale: Any


@dataclass(frozen=True)
class AlongAxis(MappingSpec):
    axis: int


@dataclass(frozen=True)
class QuantizedType(HiType):
    shape: tuple[int, ...]

    def lo_ty(self) -> list[Any]:
        return [ShapedArray(self.shape, I8), ShapedArray(self.shape[:-1], F32)]

    def lower_val(self, q: Quantized) -> list[Any]:
        return [q.array, q.scale]

    def raise_val(self, array: Any, scale: Any) -> Quantized:
        return Quantized(array, scale)

    def to_tangent_aval(self) -> Any:
        return ShapedArray(self.shape, F32)

    def dec_rank(self, size: Any, spec: Any) -> QuantizedType:
        return QuantizedType(self.shape[1:])

    def inc_rank(self, size: Any, spec: Any) -> QuantizedType:
        return QuantizedType((size, *self.shape))

    def leading_axis_spec(self) -> AlongAxis:
        return AlongAxis(0)

    def _add(self, x: Any, y: Any) -> Any:
        return restore(x) + y

    restored = hijax.aval_property(lambda q: restore(q))
    times = hijax.aval_method(lambda q, n: restore(q) * n)


class Quantize(HiPrim):
    def __init__(self, of: Any) -> None:
        self.in_avals, self.out_aval, self.params = (of,), QuantizedType(of.shape), {}
        super().__init__()

    def expand(self, x: Any) -> Quantized:
        scale = jnp.max(jnp.abs(x), axis=-1) / 32
        return Quantized((x / scale[..., None]).astype(jnp.int8), scale)

    def vjp_fwd(self, nzs_in: Any, x: Any) -> Any:
        return self(x), None

    def vjp_bwd_retval(self, res: Any, ct: Any) -> Any:
        return (ct,)

    def batch(self, data: Any, args: Any, dims: Any) -> Any:
        (x,) = hijax.bdims_at_front(data, args, dims)
        return quantize(x), AlongAxis(0)


class Restore(HiPrim):
    def __init__(self, of: QuantizedType) -> None:
        self.in_avals, self.out_aval, self.params = (of,), ShapedArray(of.shape, F32), {}
        super().__init__()

    def expand(self, q: Quantized) -> Any:
        assert type(q) is Quantized                # never what stands for it in a trace
        return q.array.astype(F32) * q.scale[..., None]

    def jvp(self, primals: Any, tangents: Any) -> Any:
        return self(*primals), tangents[0]

    def batch(self, data: Any, args: Any, dims: Any) -> Any:
        assert dims == (AlongAxis(0),)
        return restore(args[0]), 0


def quantize(x: Any) -> Any:
    return Quantize(jax.typeof(x))(x)


def restore(q: Any) -> Any:
    return Restore(jax.typeof(q))(q)


X = jnp.array([[1., 2., 4.], [3., 1., 2.]])
RESTORED = np.array([[1., 2., 4.], [3., 0.9375, 1.96875]], np.float32)


def test_values_of_a_type_of_ones_own_go_through_compiled_functions() -> None:
    q = jax.jit(quantize)(X)
    assert type(q) is Quantized and q.array.dtype == I8
    np.testing.assert_array_equal(restore(q), RESTORED)
    np.testing.assert_array_equal(jax.jit(restore)(q), RESTORED)
    assert jax.eval_shape(quantize, X) == QuantizedType((2, 3)) == jax.typeof(q)      # type: ignore[arg-type]
    assert jax.tree.leaves([q]) == [q]                 # it is a leaf for users


def test_a_compiled_function_is_traced_once_for_both_and_again_where_tangents_pass() -> None:
    traces = []
    f = jax.jit(lambda x: (traces.append(1), quantize(x))[1])
    g = jax.jit(lambda x: (traces.append(1), 2 * x)[1])
    f(X), g(X), f(X), g(X)
    assert len(traces) == 2
    jax.jit(lambda x: g(x) + 1)(X)
    assert len(traces) == 2                            # it returns no value of such a type
    np.testing.assert_array_equal(jax.grad(lambda x: restore(f(x)).sum())(X), np.ones((2, 3)))
    f(X)
    assert len(traces) == 3


def test_the_type_gives_traced_values_their_attributes() -> None:
    @jax.jit
    def f(q: Any) -> Any:
        assert q.shape == (2, 3)
        with pytest.raises(AttributeError, match="has no attribute 'array'"):
            _ = q.array
        with pytest.raises(TypeError, match="has no operator mul"):
            _ = q * 2
        return q + 1, q.restored, q.times(2)

    for found, wanted in zip(f(quantize(X)), (RESTORED + 1, RESTORED, RESTORED * 2), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.checkpoint], ids=["", "jit", "remat"])
def test_derivatives_through_such_values_are_those_of_the_rules(wrap: Callable[..., Any]) -> None:
    f = wrap(lambda x: (restore(quantize(x)) * x).sum())
    np.testing.assert_array_equal(jax.grad(f)(X), RESTORED + X)
    _, dot = jax.jvp(lambda q: restore(q) * 2, (quantize(X),), (X,))
    np.testing.assert_array_equal(dot, 2 * X)


def test_gradients_by_such_values_are_of_the_type_that_they_name() -> None:
    q = quantize(X)
    f = lambda q, y: (restore(q) * y).sum()
    np.testing.assert_array_equal(jax.grad(f)(q, X), X)
    value, (by_q, by_y) = jax.jit(jax.value_and_grad(f, (0, 1)))(q, X)
    np.testing.assert_array_equal(by_q, X)
    np.testing.assert_array_equal(by_y, RESTORED)
    np.testing.assert_allclose(value, (RESTORED * X).sum())
    np.testing.assert_array_equal(jax.linearize(restore, q)[1](X), X)
    np.testing.assert_array_equal(jax.vjp(restore, q)[1](X)[0], X)


def test_a_loop_carries_such_values_and_their_derivatives() -> None:
    @jax.grad
    def slope(x: Any) -> Any:
        q, _ = lax.scan(lambda q, _: (quantize(restore(q) * 2), None), quantize(x), None, length=3)
        return restore(lax.cond(x[0, 0] > 0, lambda q: q, lambda q: quantize(x), q)).sum()

    np.testing.assert_array_equal(slope(X), np.full((2, 3), 8))


def test_scan_takes_one_example_and_stacks_results() -> None:
    q = quantize(X)
    _, rows = lax.scan(lambda c, one: (c, restore(one)), 0, q, length=2)
    np.testing.assert_array_equal(rows, RESTORED)
    _, stacked = lax.scan(lambda c, x: (c, quantize(x)), 0, X)
    np.testing.assert_array_equal(restore(stacked), RESTORED)


def test_vmap_maps_such_values_by_specs() -> None:
    along = AlongAxis(0)
    q = jax.vmap(quantize, out_axes=along)(X)
    np.testing.assert_array_equal(restore(q), RESTORED)
    np.testing.assert_array_equal(jax.vmap(restore, in_axes=along, axis_size=2)(q), RESTORED)
    slope = jax.vmap(jax.grad(lambda x: (restore(quantize(x)) * x).sum()))(X)
    np.testing.assert_array_equal(slope, RESTORED + X)
    with pytest.raises(TypeError, match="mapped by a MappingSpec or None, got 0"):
        jax.vmap(restore)(q)


def test_rules_of_functions_take_such_values() -> None:
    @jax.custom_vjp
    def f(q: Any, y: Any) -> Any:
        return restore(q) * y

    f.defvjp(lambda q, y: (f(q, y), (q, y)), lambda saved, ct: (ct * saved[1] * 10, None))

    @jax.custom_jvp
    def g(q: Any, y: Any) -> Any:
        return quantize(restore(q) * y)

    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0] * 100 + tangents[1]))
    q = quantize(X)
    for wrap in (lambda h: h, jax.jit):
        np.testing.assert_array_equal(wrap(f)(q, X), RESTORED * X)
        np.testing.assert_array_equal(
            wrap(jax.grad(lambda x: f(quantize(x), X).sum()))(X), 10 * X)
        np.testing.assert_array_equal(
            wrap(jax.grad(lambda q, y: restore(g(q, y)).sum(), (0, 1)))(q, X),
            [np.full((2, 3), 100), np.ones((2, 3))])
    (value, aux), slope = jax.value_and_grad(
        lambda q: (restore(q).sum(), {"q": q}), has_aux=True)(q)
    assert type(aux["q"]) is Quantized and value == RESTORED.sum()
    np.testing.assert_array_equal(slope, np.ones((2, 3)))


# --- rules over arrays ---------------------------------------------------------------------------

class Twice(HiPrim):
    def __init__(self, of: Any) -> None:
        self.in_avals, self.out_aval, self.params = (of,), of, {}
        super().__init__()

    def expand(self, x: Any) -> Any:
        return 2 * x


class ByJvp(Twice):                                # its slope is another one, so that it shows
    def jvp(self, primals: Any, tangents: Any) -> Any:
        return self(*primals), 3 * tangents[0]


class ByLin(Twice):
    def lin(self, nzs_in: Any, x: Any) -> Any:
        assert nzs_in == (True,)
        return self(x), jnp.float32(3)

    def linearized(self, res: Any, dot: Any) -> Any:
        return res * dot


class ByVjp(Twice):
    def vjp_fwd(self, nzs_in: Any, x: Any) -> Any:
        return self(x), {"slope": jnp.float32(3)}

    def vjp_bwd_retval(self, res: Any, ct: Any) -> Any:
        return (res["slope"] * ct,)


class ByJvpInReverse(ByJvp):
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_jvp


class ByLinInReverse(ByLin):
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin
    jvp = hijax.jvp_from_lin


class ByLinOfJvp(ByJvp):
    lin, linearized = hijax.linearize_from_jvp


@pytest.mark.parametrize("kind", [ByJvp, ByLin, ByVjp, ByJvpInReverse, ByLinInReverse, ByLinOfJvp])
def test_each_kind_of_rule_gives_gradients(kind: Any) -> None:
    def f(x: Any) -> Any:
        y = kind(jax.typeof(x))(x)
        return (y * y).sum()

    x = jnp.arange(3.0)
    np.testing.assert_array_equal(jax.grad(f)(x), 2 * (2 * x) * 3)
    np.testing.assert_array_equal(jax.jit(jax.grad(f))(x), 2 * (2 * x) * 3)
    if kind is not ByVjp:
        np.testing.assert_array_equal(jax.jvp(f, (x,), (x,))[1], (2 * (2 * x) * 3 * x).sum())


def test_what_has_no_rule_says_which_method_it_needs() -> None:
    of, x = jax.typeof(1.0), 1.0
    with pytest.raises(NotImplementedError, match="must implement `jvp` or `vjp_fwd`"):
        jax.grad(Twice(of))(x)
    with pytest.raises(TypeError, match="it has a `vjp_fwd` alone; give it a `jvp`"):
        jax.jvp(ByVjp(of), (x,), (x,))
    with pytest.raises(AttributeError, match="must set `in_avals`"):
        HiPrim()


class Both(HiPrim):
    """Of two operands and two results; the second result's rule is never asked for."""

    def __init__(self, of: Any, n: int) -> None:
        self.in_avals, self.out_aval, self.params = (of, {"y": of}), (of, of), {"n": n}
        super().__init__()

    def expand(self, x: Any, y: Any) -> Any:
        return self.n * x, 3 * y["y"]

    def vjp_fwd(self, nzs_in: Any, x: Any, y: Any) -> Any:
        assert nzs_in == (True, {"y": False})
        return self(x, y), None

    def vjp_bwd(self, res: Any, ct: Any, x: Any, y: Any) -> None:
        assert type(ct[1]) is hijax.Zero and type(y["y"]) is hijax.NullAccum
        x.accum(self.n * ct[0])
        x.accum(ct[0])
        y["y"].accum(ct[0])


def test_the_backward_rule_adds_to_accumulators() -> None:
    op = Both(jax.typeof(1.0), 5)
    assert op == Both(jax.typeof(1.0), 5) != Both(jax.typeof(1.0), 6)
    assert repr(op) == "Both[n=5]"
    assert jax.grad(lambda x: op(x, {"y": 2.0})[0])(1.0) == 6


class Linear(Twice):
    def transpose(self, ct: Any, x: Any) -> None:
        x.accum(5 * ct)


def test_an_operation_that_is_linear_has_a_transpose() -> None:
    of = jax.typeof(1.0)
    assert jax.linear_transpose(Linear(of), 1.0)(1.0) == (5.0,)
    assert jax.linear_transpose(Twice(of), 1.0)(1.0) == (2.0,)      # that of what it computes


def test_an_accumulator_adds_into_a_reference() -> None:
    @jax.jit
    def f(x: Any) -> Any:
        total = hijax.RefAccum(jax.typeof(x), jax.new_ref(x))
        total.accum(hijax.Zero(total.aval))
        total.accum(2 * x)
        return total.freeze()

    assert f(1.5) == 4.5
    assert type(hijax.RefAccum(jax.typeof(1.0)).freeze()) is hijax.Zero


# --- operations by params, as before 0.12 --------------------------------------------------------

@dataclass(frozen=True)
class Pair:
    x: Any
    y: Any


@dataclass(frozen=True)
class PairType(HiType):
    of: Any

    def lo_ty(self) -> list[Any]:
        return [self.of, self.of]

    def lower_val(self, p: Pair) -> list[Any]:
        return [p.x, p.y]

    def raise_val(self, x: Any, y: Any) -> Pair:
        return Pair(x, y)

    def to_tangent_aval(self) -> PairType:
        return PairType(self.of.to_tangent_aval())


class MakePair(hijax.HiPrimitive):
    def abstract_eval(self, x: Any, y: Any) -> Any:
        return PairType(x.strip_weak_type()), set()

    def to_lojax(self, x: Any, y: Any) -> Pair:
        return Pair(x, y)

    def jvp(self, primals: Any, tangents: Any) -> Any:
        dots = map(hijax.instantiate_zeros, tangents)
        return make_pair.bind(*primals), make_pair.bind(*dots)

    def transpose(self, ct: Any, x: Any, y: Any) -> Any:
        return [take.bind(ct, i=i) if hijax.is_undefined_primal(a) else None
                for i, a in enumerate((x, y))]


class Take(hijax.HiPrimitive):
    def abstract_eval(self, p: Any, *, i: int) -> Any:
        return p.of, set()

    def to_lojax(self, p: Pair, *, i: int) -> Any:
        return (p.x, p.y)[i]

    def jvp(self, primals: Any, tangents: Any, *, i: int) -> Any:
        return take.bind(*primals, i=i), take.bind(*tangents, i=i)

    def transpose(self, ct: Any, p: Any, *, i: int) -> Any:
        zero = jnp.zeros_like(ct)
        return (make_pair.bind(*((ct, zero) if i == 0 else (zero, ct))),)


make_pair, take = MakePair("make_pair"), Take("take")


def test_a_type_that_is_its_own_type_of_tangents_has_derivatives_of_every_order() -> None:
    def f(x: Any) -> Any:
        p = make_pair.bind(x * x, x)
        return take.bind(p, i=0) * take.bind(p, i=1)               # the cube

    x = jnp.float32(2)
    assert (f(x), jax.jit(f)(x), jax.grad(f)(x), jax.grad(jax.grad(f))(x)) == (8, 8, 12, 12)
    assert jax.jvp(jax.grad(f), (x,), (x,))[1] == 24
    g = jax.grad(lambda p: take.bind(p, i=0) * take.bind(p, i=1))(Pair(x, jnp.float32(3)))
    assert (type(g), g.x, g.y) == (Pair, 3, 2)


# --- values that change --------------------------------------------------------------------------

class Cell:
    """A tree that can be replaced, of any structure."""

    def __init__(self, tree: Any) -> None:
        self.leaves, self.structure = jax.tree.flatten(tree)

    def cur_qdd(self) -> Any:
        return self.structure, tuple(map(jax.typeof, self.leaves))

    def get(self) -> Any:
        structure, kinds = cur_qdd(self)
        return jax.tree.unflatten(structure, get.bind(self, kinds=kinds))

    def set(self, tree: Any) -> None:
        leaves, structure = jax.tree.flatten(tree)
        put.bind(self, *leaves, structure=structure)


class CellType(hijax.MutableHiType):
    def __eq__(self, other: object) -> bool:
        return type(other) is CellType

    def __hash__(self) -> int:
        return hash(CellType)

    def lo_ty_qdd(self, state: Any) -> list[Any]:
        return list(state[1])

    def new_from_loval(self, state: Any, *parts: Any) -> Cell:
        return Cell(jax.tree.unflatten(state[0], parts))

    def read_loval(self, state: Any, cell: Cell) -> list[Any]:
        return cell.leaves

    def update_from_loval(self, state: Any, cell: Cell, *parts: Any) -> None:
        cell.leaves, cell.structure = list(parts), state[0]


class New(hijax.HiPrimitive):
    def abstract_eval(self, *kinds: Any, structure: Any) -> Any:
        return hijax.AvalQDD(CellType(), (structure, kinds)), set()

    def to_lojax(self, *leaves: Any, structure: Any) -> Cell:
        return Cell(jax.tree.unflatten(structure, leaves))


class Get(hijax.HiPrimitive):
    multiple_results = True

    def to_lojax(self, cell: Cell, *, kinds: Any) -> Any:
        return cell.leaves


class Put(hijax.HiPrimitive):
    multiple_results = True

    def to_lojax(self, cell: Cell, *leaves: Any, structure: Any) -> Any:
        cell.leaves, cell.structure = list(leaves), structure
        return []


new, get, put = New("new"), Get("get"), Put("put")


def cell_of(tree: Any) -> Cell:
    leaves, structure = jax.tree.flatten(tree)
    return new.bind(*leaves, structure=structure)


def test_an_argument_that_changes_holds_what_the_call_wrote() -> None:
    @jax.jit
    def f(cell: Cell, x: Any) -> Any:
        cell.set(cell.get() + x)
        cell.set(cell.get() * 2)
        return cell.get() + 1

    cell = Cell(jnp.float32(1))
    assert [f(cell, 2.0), cell.get(), f(cell, 2.0), cell.get()] == [7, 6, 17, 16]
    assert jax.jit(lambda c: f(c, 1.0) + c.get())(cell) == 35 + 34
    assert cell.get() == 34
    assert jax.eval_shape(f, cell, 1.0).shape == () and cell.get() == 34
    with pytest.raises(ValueError, match="is an argument twice"):
        jax.jit(lambda a, b: a.get())(cell, cell)


def test_a_call_may_change_the_structure_of_its_argument() -> None:
    cell = Cell({})
    jax.jit(lambda c, x: c.set({"sum": x.sum(), "x": x}))(cell, jnp.ones(3))
    assert cell.get()["sum"] == 3 and cell.get()["x"].shape == (3,)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["un-jitted", "jit"])
def test_functions_that_close_over_a_value_read_and_write_it_in_order(wrap: Any) -> None:
    cell = Cell(jnp.float32(1))

    def step(carry: Any, x: Any) -> Any:
        cell.set(cell.get() + x)
        return carry, lax.cond(x > 1, lambda: cell.get(), lambda: -cell.get())

    f = wrap(lambda xs: lax.scan(step, None, xs)[1])
    for start in (1, 4):
        np.testing.assert_array_equal(f(jnp.array([1., 2.])), [-start - 1, start + 3])
        assert cell.get() == start + 3


def test_a_derivative_leaves_what_its_function_wrote() -> None:
    cell = Cell(jnp.float32(2))

    def f(x: Any, cell: Cell) -> Any:
        cell.set(lax.stop_gradient(3 * x))
        return x ** 2 + cell.get()

    assert jax.grad(f)(jnp.float32(4), cell) == 8 and cell.get() == 12
    assert jax.jit(jax.grad(f))(jnp.float32(5), cell) == 10 and cell.get() == 15
    with pytest.raises(NotImplementedError, match="changes, so it is not differentiated"):
        jax.grad(f, 1)(1.0, cell)


def test_a_value_made_in_a_trace_is_changed_by_functions_inside() -> None:
    @jax.jit
    def f(x: Any) -> Any:
        cell = cell_of(x)
        lax.fori_loop(0, 3, lambda i, c: (cell.set(2 * cell.get()), c)[1], None)
        found = cell.get()
        cell.set(found + 1)
        return found, cell.get()

    for x in (1.0, 2.0):                       # the second call starts anew
        assert f(x) == (8 * x, 8 * x + 1)


def test_what_cannot_be_done_with_a_value_that_changes_is_refused() -> None:
    cell = Cell(jnp.float32(1))
    with pytest.raises(NotImplementedError, match="closes over a value .* changes its structure"):
        jax.jit(lambda x: cell.set((x, x)))(1.0)
    f = jax.jit(lambda x: cell.get() + x)
    assert f(1.0) == 2
    cell.set((jnp.float32(1), jnp.float32(2)))
    with pytest.raises(TypeError, match="traced when its state was"):
        f(1.0)
    with pytest.raises(TypeError, match="takes a value of a type that changes"):
        cur_qdd(1.0)


TYPES_HERE = {
    Quantized: lambda q: QuantizedType(q.array.shape),
    Pair: lambda p: PairType(jax.typeof(p.x).strip_weak_type()),
    Cell: lambda cell: CellType(),
}
