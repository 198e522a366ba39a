"""What is recorded by the quick way is what the plain way records: types, numbers, places.

The quick way (`emit_alike`) remembers the types that operations give and the numbers of a trace.
Here both are asked in changing orders, by operands that are easily mistaken for one another.
"""

from __future__ import annotations

import functools
import inspect
import math
import struct
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xfront
import xfront.numpy as jnp
from xfront import lax
from xfront.binding.tracebacks import dressed
from xfront.tracing.trace import emit, emit_alike, scalar
from xfront_ir import dtypes
from xfront_ir.builder import Builder
from xfront_ir.definition import REGISTRY
from xfront_ir.errors import IRTypeError
from xfront_ir.opdef import Request, type_of_alike
from xfront_ir.passes.requests import GRAD, JVP, VECTORIZE
from xfront_ir.types import tensor

KINDS = [tensor(shape, d) for d in (
    dtypes.bool_, dtypes.i8, dtypes.u8, dtypes.i32, dtypes.u32, dtypes.bf16, dtypes.f16, dtypes.f32,
    dtypes.c64) for shape in ((), (3,), (0, 2))]

PLAIN = [d for d in REGISTRY.values()
         if d.n_operands in (1, 2) and d.single and all(k.optional for k in d.attrs.values())]
"""Operations that may be recorded without attributes."""


@given(st.lists(st.tuples(st.sampled_from(PLAIN), st.sampled_from(KINDS)), min_size=40,
                max_size=80))
def test_remembered_types_are_those_of_the_rule(asked) -> None:
    """Whatever else the operation was asked for before, with one answer or a refusal."""
    for definition, kind in asked:
        operands = (Builder().param(kind),) * definition.n_operands
        try:
            wanted = Builder().emit(definition, *operands).type
        except IRTypeError as error:
            with pytest.raises(IRTypeError) as refused:
                _ = definition.alike.get(kind) or type_of_alike(definition, kind)
            assert str(refused.value) == str(error)
            continue
        assert (definition.alike.get(kind) or type_of_alike(definition, kind)) is wanted


def quick_functions():
    """Public functions that record by the quick way, with their operations."""
    for module in (lax, jnp):
        for name in dir(module):
            function = getattr(module, name)
            function = getattr(function, "func", function)      # of a universal function's object
            if not inspect.isfunction(function) or not function.__code__.co_name == "public":
                continue
            held = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
            for key in ("definition", "fast"):
                found = held[key].cell_contents if key in held else None
                if found is not None:
                    yield module, name, function, found


QUICK = list(quick_functions())


def test_quick_functions_are_found() -> None:
    names = {name for _, name, _, _ in QUICK}
    assert {"sin", "neg", "add", "negative", "multiply"} <= names


@pytest.mark.parametrize(("module", "name", "function", "definition"), QUICK,
                         ids=[f"{m.__name__}.{n}" for m, n, _, _ in QUICK])
def test_quick_functions_give_as_many_operands_as_their_op_takes(module, name, function, definition
                                                                 ) -> None:
    """`type_of_alike` asks the type rule for that number."""
    taken = [p for p in inspect.signature(function).parameters.values()
             if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    assert len(taken) == definition.n_operands and not definition.attrs


def nan(payload):
    return struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0000 | payload))[0]


NUMBERS = [0, 1, -1, 2, 3, 2**24 + 1, 2**31 - 1, -(2**31), 0.0, -0.0, 1.0, -1.0, 2.0, 0.1, 0.5,
           float(2**24 + 1), 1e-46, -1e-46, 1e-40, 1e39, math.inf, -math.inf, nan(0), nan(1),
           nan(2), 0j, -0j, complex(0.0, -0.0), complex(-0.0, 0.0), 1 + 0j, complex(1.0, -0.0), 2j]
VECTORS = [t for t in KINDS if t.shape == (3,)]
BESIDE = {int: [t for t in VECTORS if t.dtype.is_numeric and not t.dtype.is_unsigned
                and t.dtype is not dtypes.i8],
          float: [t for t in VECTORS if t.dtype.is_inexact],
          complex: [t for t in VECTORS if t.dtype.is_complex]}
PAIRS = [(y, t) for y in NUMBERS for t in BESIDE[type(y)]]


@given(st.permutations(PAIRS))
def test_a_number_beside_a_tracer_is_itself(asked) -> None:
    """Bit for bit, in one trace with numbers that equal it and with other dtypes."""
    kinds = list(dict.fromkeys(t for _, t in asked))
    made = []

    def run(*xs):
        of_kind = dict(zip(kinds, xs, strict=True))
        for y, t in asked:
            made.append((y, t, emit_alike(REGISTRY["add"], of_kind[t], y)))
        return [z for _, _, z in made]

    with np.errstate(all="ignore"):
        traced = xfront.make_jaxpr(run)(*[
            xfront.ShapeDtypeStruct(t.shape, t.dtype.numpy) for t in kinds]).ir
        by_result = {op.results[0]: op for op in traced.ops}
        for (y, t, _), result in zip(made, traced.returns, strict=True):
            number = by_result[by_result[result].operands[1]]
            assert number.definition.name == "literal" and number.results[0].type is t
            assert number.attrs["value"].array.tobytes() == scalar(y, t.dtype).tobytes()


@pytest.mark.parametrize("y", [1.5, -0.0, 3])
def test_inside_a_deeper_trace_the_op_and_its_number_belong_to_it(y) -> None:
    """An operation on tracers of the outer function alone, inside a jitted one."""
    def outer(x):
        return xfront.jit(lambda: x * y)() + lax.add(x, x)

    traced = xfront.make_jaxpr(outer)(jnp.ones(3)).ir
    assert [op.definition.name for op in traced.ops] == ["call", "add", "add"]
    (body,) = traced.bodies()
    assert [op.definition.name for op in body.ops] == ["literal", "mul"]


@pytest.mark.parametrize("use", [lambda x: lax.sin(x), lambda x: lax.add(x, x), lambda x: x * 2.0,
                                 lambda x: lax.mul(x, 2.0), lambda x: 2.0 - x])
@pytest.mark.parametrize("inside", [False, True])
def test_a_tracer_that_escaped_is_refused(use, inside) -> None:
    """Outside of any trace, and inside another one."""
    kept = []
    xfront.jit(lambda x: kept.append(x) or x)(jnp.ones(3))
    with pytest.raises(xfront.errors.UnexpectedTracerError, match="escaped"):
        if inside:
            xfront.jit(lambda _: use(kept[0]))(1.0)
        else:
            use(kept[0])


def test_both_ways_record_the_same() -> None:
    """Operands, attributes, weakness and the line."""
    weak = []

    def quick(x, w):
        made = [lax.sin(x), lax.add(w, w), lax.lt(w, w)]
        weak.append([z.weak for z in made])
        return made

    def plain(x, w):
        made = [emit(REGISTRY["sin"], x), emit(REGISTRY["add"], w, w), emit(REGISTRY["lt"], w, w)]
        weak.append([z.weak for z in made])
        return made

    found = [xfront.make_jaxpr(f)(jnp.ones(3), 2.0).ir for f in (quick, plain)]
    assert str(found[0]).replace("quick", "plain") == str(found[1])
    assert weak[0] == weak[1] == [False, True, False]
    for f, ir in zip((quick, plain), found, strict=True):
        start = f.__code__.co_firstlineno
        assert [(op.loc.code, op.loc.line) for op in ir.ops] == [(f.__code__, start + 1)] * 3


KINDS_OF_ARRAYS = [np.bool_, np.int8, np.uint16, np.int32, np.float16, np.float32, np.complex64,
                   ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.dtype(">f4"), np.dtype(">i4")]


@pytest.mark.parametrize("weak", [False, True])
def test_the_type_that_an_array_remembers_is_its_own(weak) -> None:
    """Of types that differ in one thing, asked for in different words."""
    shapes: list[Any] = [(True,), (np.int64(7),), (), (2,), (2, 1), (1, 2), (0,), [2]]
    for shape in shapes:
        for dtype in KINDS_OF_ARRAYS:
            aval = xfront.core.ShapedArray(shape, dtype, weak)
            assert aval.ir is tensor(tuple(map(int, shape)), dtypes.from_numpy(dtype))
            assert all(type(d) is int for d in aval.shape)
    assert xfront.core.ShapedArray((2,), xfront.dtypes.float0).ir is None


STARTS = [lambda x, y: x * y, lambda x, y: (x, 2.0), lambda x, y: (jnp.sum(y), x, 1)]


@pytest.mark.parametrize("start", STARTS)
def test_types_of_a_transformation_are_those_of_what_it_makes(start) -> None:
    """Not yet carried out it says what it will have."""
    function = xfront.make_jaxpr(start)(jnp.ones(3), jnp.ones((2, 3))[0]).ir
    axis = ("i", 4)
    asked = [(JVP, Request("jvp", active)) for active in [(True, False), (True, True)]]
    asked += [(VECTORIZE, Request("vectorize", positions, axis, (0,) * len(function.returns)))
              for positions in [(0,), (0, 1), (None, 1), (1, None)]]
    asked += [(GRAD, Request("grad", active, 0, False)) for active in [(True, False), (False, True)]
              if not function.returns[0].type.shape]
    for transformation, request in asked:
        body = transformation.pending(function, request)
        made = transformation(function, request)
        assert body.param_types == made.param_types, request
        assert body.return_types == made.return_types, request
        assert body.forced is None


def sample(x: int, *rest: float, key: str = "a") -> float:
    """A function with all that another may take over."""
    return x


sample.mark = object()  # type: ignore[attr-defined]


@pytest.mark.parametrize("named", [
    sample, lambda: None, jnp.sin, functools.partial(sample, 1), np.sin, dict, sample.__call__])
def test_dressed_is_as_by_functools(named) -> None:
    by_hand, by_functools = (dress(lambda *args: args, named)
                             for dress in (dressed, functools.update_wrapper))
    assert vars(by_hand) == vars(by_functools)
    for name in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(named, name):
            assert getattr(by_hand, name) == getattr(by_functools, name), name


def test_attributes_of_ops_that_have_none_stay_empty() -> None:
    """They share one dictionary."""
    ir = xfront.make_jaxpr(lambda x: lax.sin(lax.add(x, x)))(1.0).ir
    assert ir.ops[0].attrs is ir.ops[1].attrs and not ir.ops[0].attrs
