"""Wrong uses: the class of each error, what it says came, and what it says to write instead.

The table's rows are calls; every message is a sentence that reads aloud, and its traceback ends at
the line of the call or one frame of the library below it.
"""

from __future__ import annotations

import math
import os
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import errors, lax, random

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = tuple(str(ROOT / package) + os.sep for package in ("xfront", "xfront_ir", "lowering"))

X, I, M = jnp.arange(3.0), jnp.arange(3), jnp.ones((3, 4))
B, KEY = X > 1, random.key(0)
FLOAT = jax.ShapeDtypeStruct((), np.float32)
Call = Callable[[], Any]


class Wrong(NamedTuple):
    """A call, the class that users catch, and what the message says among other things."""

    call: Call
    kind: type[BaseException]
    says: tuple[str, ...]


def jitted(f: Callable[..., Any], *args: Any, **options: Any) -> Call:
    return lambda: jax.jit(f, **options)(*args)


def leaked(transform: Callable[..., Any]) -> Any:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return x

    transform(f)(1.0)
    return kept[0]


def consumed(read: Callable[[Any], Any]) -> Call:
    def call() -> Any:
        state = jnp.ones(3)
        step = jax.jit(lambda state: state + 1.0, donate_argnums=0)
        step(state)
        return read(step)(state)

    return call


def set_item(x: Any) -> None:
    x[0] = 1.0


def with_vjp(fwd: Callable[..., Any], bwd: Callable[..., Any]) -> Call:
    f = jax.custom_vjp(lambda a, b: a * b)
    f.defvjp(fwd, bwd)
    return lambda: jax.grad(f, (0, 1))(1.0, 2.0)


def with_jvp(rule: Callable[..., Any]) -> Call:
    f = jax.custom_jvp(lambda a: a * 2.0)
    f.defjvp(rule)
    return lambda: jax.grad(f)(1.0)


def saved(a: Any, b: Any) -> Any:
    return a * b, (a, b)


SIZES: dict[str, Wrong] = {
    "a mask": Wrong(jitted(lambda x: x[x > 1], X), errors.NonConcreteBooleanIndexError,
                    ("bool[3]", "traced by jit", "by gt", "jnp.where", "size=", "where=mask")),
    "nonzero": Wrong(jitted(jnp.nonzero, X), errors.ConcretizationTypeError,
                     ("nonzero", "f32[3]", "size")),
    "where": Wrong(jitted(lambda x: jnp.where(x > 1), X), errors.ConcretizationTypeError,
                   ("bool[3]", "size")),
    "unique": Wrong(jitted(jnp.unique, I), errors.ConcretizationTypeError,
                    ("unique", "i32[3]", "size")),
    "bincount": Wrong(jitted(jnp.bincount, I), errors.ConcretizationTypeError, ("length",)),
    "repeat": Wrong(jitted(lambda n: jnp.repeat(X, n), I), errors.ConcretizationTypeError,
                    ("total_repeat_length", "argument n")),
    "zeros": Wrong(jitted(jnp.zeros, 3), TypeError, ("known while tracing", "static_argnums")),
    "arange": Wrong(jitted(lambda n: jnp.arange(n), 3), errors.ConcretizationTypeError,
                    ("arange", "argument n", "static_argnums")),
    "reshape": Wrong(jitted(lambda x, n: x.reshape(n), X, 3), TypeError,
                     ("reshape", "argument n", "static_argnums")),
    "linspace": Wrong(jitted(lambda n: jnp.linspace(0, 1, n), 3), errors.ConcretizationTypeError,
                      ("num", "argument n", "static_argnums")),
    "an axis": Wrong(jitted(lambda x, a: jnp.sum(x, axis=a), X, 0), errors.ConcretizationTypeError,
                     ("sum: axis", "argument a", "static_argnums")),
    "one_hot": Wrong(jitted(lambda n: jax.nn.one_hot(I, n), 3), errors.ConcretizationTypeError,
                     ("num_classes", "argument n", "static_argnums")),
    "a slice": Wrong(jitted(lambda x, n: x[:n], X, 2), IndexError,
                     ("lax.dynamic_slice", "jnp.where")),
    "scan's length": Wrong(jitted(lambda n: lax.scan(lambda c, x: (c, x), 0.0, None, n), 3),
                           errors.ConcretizationTypeError, ("length", "fori_loop")),
}

PYTHON: dict[str, Wrong] = {
    "if": Wrong(jitted(lambda x: 1 if x > 0 else 2, 1.0), errors.TracerBoolConversionError,
                ("`if`", "bool[]", "by gt", "jnp.where", "lax.cond", "static")),
    "and": Wrong(jitted(lambda x: x > 0 and x < 1, 1.0), errors.TracerBoolConversionError,
                 ("`and`", "bool[]")),
    "if, under vmap": Wrong(lambda: jax.vmap(lambda x: 1 if x > 0 else 2)(X),
                            errors.TracerBoolConversionError, ("traced by vmap", "jnp.where")),
    "if of an array": Wrong(lambda: 1 if X > 0 else 2, ValueError, ("bool[3]", ".any()", ".all()")),
    "if of a traced array": Wrong(jitted(lambda x: 1 if x > 0 else 2, X), ValueError,
                                  ("bool[3]", ".any()", ".all()")),
    "range": Wrong(jitted(lambda n: [*range(n)], 3), errors.TracerIntegerConversionError,
                   ("i32[]", "argument n", "fori_loop", "static_argnums")),
    "a list's index": Wrong(jitted(lambda n: [1, 2][n], 1), errors.TracerIntegerConversionError,
                            ("jnp.asarray(values)[i]",)),
    "np.asarray": Wrong(jitted(np.asarray, X), errors.TracerArrayConversionError,
                        ("numpy.asarray()", "f32[3]", "xfront.numpy")),
    "np.sin": Wrong(jitted(lambda x: np.sin(x), X), errors.TracerArrayConversionError,
                    ("f32[3]", "argument x", "xfront.numpy")),
    "float": Wrong(jitted(lambda x: float(x), 1.0), errors.ConcretizationTypeError,
                   ("float()", "argument x", "astype(float)", "debug.print")),
    "int": Wrong(jitted(lambda x: int(x), 1.0), errors.ConcretizationTypeError,
                 ("int()", "astype(int)")),
    "item": Wrong(jitted(lambda x: x.item(), 1.0), errors.ConcretizationTypeError, (".item()",)),
    "math": Wrong(jitted(lambda x: math.sin(x), 1.0), errors.ConcretizationTypeError,
                  ("float()", "f32[]")),
    "float, under grad": Wrong(lambda: jax.grad(lambda x: float(x) * x)(1.0),
                               errors.ConcretizationTypeError,
                               ("lose its derivative", "stop_gradient", "xfront.numpy")),
    "float of an array": Wrong(lambda: float(X), TypeError, ("float32[3]", ".item()")),
    "a format": Wrong(jitted(lambda x: f"{x:.2f}", 1.0), TypeError, ("format", "debug.print")),
    "a leak from jit": Wrong(lambda: leaked(jax.jit) + 1, errors.UnexpectedTracerError,
                             ("f32[]", "jit (@f)", "Return the value")),
    "a leak from grad": Wrong(lambda: jnp.sin(leaked(jax.grad)), errors.UnexpectedTracerError,
                              ("grad (@f)", "test_wrong_uses.py")),
    "a leak, read": Wrong(lambda: bool(leaked(jax.jit)), errors.UnexpectedTracerError,
                          ("escaped",)),
    "setting an item": Wrong(lambda: set_item(X), TypeError,
                             ("immutable", "x.at[index].set(y)", "x.at[index].add(y)")),
    "setting a traced item": Wrong(jitted(set_item, X), TypeError,
                                   ("immutable", "x.at[index].set(y)", "x.at[index].add(y)")),
    "a donated argument": Wrong(consumed(lambda step: step), RuntimeError,
                                ("deleted", "state, of type float32[3]", "donate_argnums")),
    "a donated operand": Wrong(consumed(lambda step: lambda x: x + 1), RuntimeError,
                               ("__add__", "f32[3]", "donate_argnums")),
    "a donated array's value": Wrong(consumed(lambda step: np.asarray), RuntimeError,
                                     ("float32[3]", "donated")),
}

ARRAYS: dict[str, Wrong] = {
    "matmul": Wrong(lambda: M @ M, TypeError, ("f32[3,4]", "axis 1 has 4", "matmul(a, b.T)")),
    "matmul of a number": Wrong(lambda: jnp.matmul(X, 2.0), ValueError, ("operand 1", "ndim")),
    "dot_general": Wrong(lambda: lax.dot_general(M, M, (((0,), (1,)), ((), ()))), TypeError,
                         ("f32[3,4]", "axes (0,)", "axes (1,)")),
    "shapes": Wrong(lambda: X + jnp.ones(4), TypeError, ("add", "(3,)", "(4,)", "axis -1")),
    "shapes of where": Wrong(lambda: jnp.where(B, jnp.ones(4), X), ValueError, ("(3,), (4,)",)),
    "an axis": Wrong(lambda: jnp.sum(X, axis=3), ValueError, ("sum: axis 3", "dimension 1")),
    "a method's axis": Wrong(lambda: X.mean(axis=-4), IndexError, ("mean: axis -4", "dimension 1")),
    "an axis twice": Wrong(lambda: jnp.sum(M, axis=(0, 0)), ValueError, ("sum", "(0, 0)")),
    "an axis of text": Wrong(lambda: jnp.sum(X, axis="a"), TypeError, ("sum: axis", "'a'")),
    "concatenate": Wrong(lambda: jnp.concatenate([M, X]), TypeError, ("(3, 4), (3,)",)),
    "stack": Wrong(lambda: jnp.stack([X, M]), ValueError, ("(3,), (3, 4)",)),
    "split": Wrong(lambda: jnp.split(X, 2), ValueError, ("axis 0 has size 3", "remainder of 1")),
    "a list": Wrong(lambda: jnp.sum([1.0, 2.0]), TypeError, ("list", "sum(jnp.array(...))")),
    "text": Wrong(lambda: jnp.sin("a"), TypeError, ("sin", "'a'", "str")),
    "None": Wrong(lambda: jnp.sin(None), TypeError, ("sin", "NoneType")),
    "an array of None": Wrong(lambda: jnp.array(None), ValueError, ("None", "nan")),
    "an array of text": Wrong(lambda: jnp.array(["a"]), TypeError, ("<U1", "'a'")),
    "comparing with a list": Wrong(lambda: X == [0.0, 1.0], TypeError, ("'list'", "jnp.array")),
    "adding a list": Wrong(lambda: X + [0.0], TypeError, ("+: 'Array' and 'list'", "jnp.array")),
    "a tuple minus": Wrong(lambda: (1, 2) - X, TypeError, ("-: 'tuple' and 'Array'", "jnp.array")),
    "times a list": Wrong(jitted(lambda x: [1.0] * x, X), TypeError,
                          ("*: 'list' and 'Array'", "jnp.array")),
    "to the power of a list": Wrong(lambda: X ** [2], TypeError, ("**", "'Array' and 'list'")),
    "a list to the power": Wrong(lambda: [2] ** X, TypeError, ("**", "'list' and 'Array'")),
    "shifting a list": Wrong(lambda: [2] >> I, TypeError, (">>: 'list' and 'Array'",)),
    "comparing with a dict": Wrong(lambda: X == {}, TypeError, ("==: 'Array' and 'dict'",)),
    "a list for a condition": Wrong(lambda: jnp.compress([True], X), TypeError,
                                    ("compress", "'condition'", "jnp.array")),
    "a list to compress": Wrong(lambda: jnp.compress(B, [1.0]), TypeError, ("compress", "'a'")),
    "a list to extract from": Wrong(lambda: jnp.extract(B, [1.0]), TypeError, ("extract", "'arr'")),
    "a list to extract by": Wrong(lambda: jnp.extract([True], X), TypeError,
                                  ("extract", "'condition'")),
    "a function that gives lists": Wrong(lambda: X.at[0].apply(lambda v: [v]), TypeError,
                                         ("at[].apply", "float32", "returned a list")),
    "a dtype's name": Wrong(lambda: jnp.zeros(3, "flaot32"), TypeError,
                            ("'flaot32'", "did you mean 'float32'?")),
    "a dtype's name in astype": Wrong(lambda: X.astype("bfloat61"), TypeError,
                                      ("did you mean 'bfloat16'?",)),
    "a size for the dtype": Wrong(lambda: jnp.ones(3, 3), TypeError, ("one tuple", "ones((2, 3))")),
    "a dtype of objects": Wrong(lambda: jnp.zeros(3, object), TypeError, ("zeros", "object")),
    "a float's bits": Wrong(lambda: X << 1, TypeError, ("left_shift", "float32", "integer")),
    "reshape": Wrong(lambda: X.reshape(2, 2), TypeError, ("(3,)", "(2, 2)")),
    "reshape by two -1": Wrong(lambda: X.reshape(-1, -1), TypeError, ("(-1, -1)",)),
    "a negative size": Wrong(lambda: jnp.zeros(-1), TypeError, ("zeros", "nonnegative", "-1")),
    "a size of 2.5": Wrong(lambda: jnp.zeros(2.5), TypeError, ("zeros", "2.5")),
    "too many indices": Wrong(lambda: X[0, 0], IndexError, ("1-dimensional", "2 were indexed")),
    "a float for an index": Wrong(lambda: X[1.5], TypeError, ("integer or boolean", "1.5")),
    "floats for indices": Wrong(lambda: X[X], TypeError, ("integer or boolean", "float32", "(3,)")),
    "text for an index": Wrong(lambda: X["a"], TypeError, ("text", "'a'")),
    "a list for an index": Wrong(lambda: X[[0, 1]], TypeError, ("x[jnp.array(sequence)]",)),
    "a slice of floats": Wrong(lambda: X[1.0:2], TypeError, ("slice(1.0, 2, None)", "integers")),
    "a mask of another size": Wrong(lambda: X[jnp.array([True])], IndexError, ("(1,)", "(3,)")),
    "indices of two shapes": Wrong(lambda: M[jnp.arange(2), I], ValueError, ("(2,), (3,)",)),
    "at[].set": Wrong(lambda: X.at[0].set(X), ValueError, ("at[].set", "(3,)", "()")),
    "a mode of at": Wrong(lambda: X.at[0].set(1.0, mode="foo"), ValueError, ("'foo'", "'drop'")),
    "take": Wrong(lambda: jnp.take(X, 1.5), ValueError, ("take", "integer", "f32[]")),
    "dynamic_slice": Wrong(lambda: lax.dynamic_slice(X, (0,), (5,)), TypeError, ("(5,)", "f32[3]")),
    "einsum's sizes": Wrong(lambda: jnp.einsum("ij,jk", M, M), ValueError, ("'j'", "3", "4")),
    "einsum's letters": Wrong(lambda: jnp.einsum("i->k", X), ValueError, ("'k'",)),
    "einsum's ranks": Wrong(lambda: jnp.einsum("ij->i", X), ValueError, ("'ij'", "(3,)")),
    "einsum's operands": Wrong(lambda: jnp.einsum("i,j", X), ValueError, ("2", "1", "operands")),
    "einsum without subscripts": Wrong(lambda: jnp.einsum(X, X), TypeError,
                                       ("'ij,jk'", "ArrayImpl")),
    "fft's lengths": Wrong(lambda: lax.fft(M, "fft", (5,)), ValueError, ("(5,)", "f32[3,4]")),
    "fft's axes": Wrong(lambda: lax.fft(X, "rfft", (1, 3)), ValueError, ("(1, 3)", "f32[3]")),
    "bits of the exponent": Wrong(lambda: lax.reduce_precision(X, 0, 5), ValueError, ("0 and 5",)),
    "bits of the mantissa": Wrong(lambda: lax.reduce_precision(X, 5, -1), ValueError, ("-1",)),
    "a convolution's strides": Wrong(
        lambda: lax.conv_general_dilated(jnp.ones((1, 1, 4)), jnp.ones((1, 1, 2)), (1, 1), "VALID"),
        ValueError, ("window_strides", "1 spatial", "(1, 1)")),
    "a convolution's dilations": Wrong(
        lambda: lax.conv_general_dilated(jnp.ones((1, 1, 4)), jnp.ones((1, 1, 2)), (1,), "VALID",
                                         rhs_dilation=(1, 1)),
        ValueError, ("rhs_dilation", "1 spatial", "(1, 1)")),
    "a stride of 0": Wrong(
        lambda: lax.conv_general_dilated(jnp.ones((1, 1, 4)), jnp.ones((1, 1, 2)), (0,), "VALID"),
        ValueError, ("window_strides", "positive", "(0,)")),
    "cuDNN's attention": Wrong(
        lambda: jax.nn.dot_product_attention(*[jnp.ones((1, 2, 2, 2))] * 3, implementation="cudnn"),
        NotImplementedError, ("implementation='cudnn'", "'xla'")),
    "a key of int": Wrong(lambda: random.normal(0, (3,)), TypeError, ("random.key", "i32[]")),
    "several keys": Wrong(lambda: random.normal(random.split(KEY)), ValueError, ("(2,)", "vmap")),
    "a seed": Wrong(lambda: random.key(1.5), TypeError, ("seed must be an integer", "1.5")),
    "an implementation of keys": Wrong(lambda: random.key(0, impl="fry2"), ValueError,
                                       ("'fry2'", "threefry2x32")),
    "a key among numbers": Wrong(lambda: KEY + 1, TypeError, ("KeyArray",)),
    "a key for a shape": Wrong(lambda: random.normal(KEY, KEY), TypeError, ("key", "shape")),
    "a key's words": Wrong(lambda: np.asarray(KEY), TypeError, ("random.key_data",)),
    "randint's dtype": Wrong(lambda: random.randint(KEY, (3,), 0, 3, float), TypeError,
                             ("randint", "integer dtype", "float32")),
    "normal's dtype": Wrong(lambda: random.normal(KEY, (3,), int), ValueError,
                            ("normal", "float dtype", "int32")),
    "inv": Wrong(lambda: jnp.linalg.inv(M), ValueError, ("inv", "(3, 4)", "[..., n, n]")),
    "lax.add's dtypes": Wrong(lambda: lax.add(X, I), TypeError, ("float32, int32", "xfront.numpy")),
    "top_k of complex numbers": Wrong(lambda: lax.top_k(X * 1j, 1), ValueError,
                                      ("c64[3]", "abs(x)")),
    "triangular_solve": Wrong(lambda: lax.linalg.triangular_solve(jnp.eye(4), M, left_side=True),
                              ValueError, ("f32[4,4]", "f32[3,4]", "left_side=True")),
    "bitcast": Wrong(lambda: lax.bitcast_convert_type(jnp.ones(3, "uint8"), "float32"), ValueError,
                     ("u8[3]", "must be 4")),
    "gather's indices": Wrong(lambda: lax.gather(X, X[:, None], lax.GatherDimensionNumbers(
        (), (0,), (0,)), (1,)), ValueError, ("gather: indices", "f32[3,1]")),
    "a device": Wrong(lambda: jax.device_put(X, "gpu7"), ValueError, ("'gpu7'", "devices()")),
}

DERIVATIVES: dict[str, Wrong] = {
    "grad of an array": Wrong(lambda: jax.grad(lambda x: x * 2)(X), TypeError,
                              ("scalar-output", "f32[3]", "shape (3,)", "jnp.sum", "jacrev")),
    "grad of an integer": Wrong(lambda: jax.grad(lambda x: x.astype(int))(1.0), TypeError,
                                ("real-valued", "i32[]", "float", "xfront.vjp")),
    "grad of a complex number": Wrong(lambda: jax.grad(lambda x: x * x)(1.0 + 2j), TypeError,
                                      ("real-valued", "c64[]", "holomorphic=True")),
    "grad of text": Wrong(lambda: jax.grad(lambda x: "a")(1.0), TypeError, ("returned 'a'", "str")),
    "grad of None": Wrong(lambda: jax.grad(lambda x: None)(1.0), TypeError,
                          ("returned None", "has_aux")),
    "grad by an integer": Wrong(lambda: jax.grad(lambda p: p["n"] * 2.0)({"n": 3}), TypeError,
                                ("argument 0['n']", "int32", "allow_int")),
    "holomorphic of a real number": Wrong(lambda: jax.grad(lambda x: x, holomorphic=True)(1.0),
                                          TypeError, ("float32", "astype(complex)")),
    "argnums out of range": Wrong(lambda: jax.grad(lambda x: x, argnums=2)(1.0), TypeError,
                                  ("argnums=2", "at least 3")),
    "argnums below": Wrong(lambda: jax.grad(lambda x: x, argnums=-2)(1.0), ValueError,
                           ("argnums=-2", "at least 2")),
    "jacrev, argnums out of range": Wrong(lambda: jax.jacrev(lambda x: x, argnums=2)(1.0),
                                          ValueError, ("argnums=2", "at least 3")),
    "argnums of text": Wrong(lambda: jax.grad(lambda x: x, argnums="x"), TypeError,
                             ("argnums", "'x'")),
    "no function": Wrong(lambda: jax.grad(3), TypeError, ("function", "3")),
    "jacrev by an integer": Wrong(lambda: jax.jacrev(lambda x: x * 2.0)(I), TypeError,
                                  ("jacrev", "i32[3]", "argument 0", "allow_int")),
    "jacfwd by a complex number": Wrong(lambda: jax.jacfwd(lambda x: x)([X + 1j]), TypeError,
                                        ("jacfwd", "c64[3]", "argument 0[0]", "holomorphic=True")),
    "jvp, dtypes": Wrong(lambda: jax.jvp(jnp.sin, (1.0,), (1,)), TypeError,
                         ("f32[]", "i32[]", "astype")),
    "jvp, shapes": Wrong(lambda: jax.jvp(jnp.sin, (X,), (1.0,)), ValueError, ("(3,)", "()")),
    "jvp, structures": Wrong(lambda: jax.jvp(jnp.sin, (X,), ((X,),)), TypeError,
                             ("PyTreeDef((*,))", "PyTreeDef(((*,),))")),
    "jvp of no tuple": Wrong(lambda: jax.jvp(jnp.sin, X, X), TypeError, ("tuples or lists",)),
    "vjp, shapes": Wrong(lambda: jax.vjp(jnp.sin, X)[1](1.0), ValueError, ("f32[]", "f32[3]")),
    "vjp, structures": Wrong(lambda: jax.vjp(jnp.sin, X)[1]((X,)), ValueError,
                             ("PyTreeDef(*)", "PyTreeDef((*,))")),
    "what is not linear": Wrong(lambda: jax.linear_transpose(jnp.sin, X)(X), NotImplementedError,
                                ("sin is not linear",)),
    "fwd without a pair": Wrong(with_vjp(lambda a, b: a * b, lambda r, c: (c, c)), TypeError,
                                ("fwd rule", "(value, residuals)")),
    "bwd of fewer": Wrong(with_vjp(saved, lambda r, c: (c,)), TypeError,
                          ("bwd rule", "each of the 2", "got 1")),
    "bwd without a tuple": Wrong(with_vjp(saved, lambda r, c: c), TypeError, ("bwd rule", "tuple")),
    "bwd of another shape": Wrong(with_vjp(saved, lambda r, c: (X, c)), ValueError,
                                  ("bwd rule", "argument 0 is f32[]", "f32[3]")),
    "jvp rule without a pair": Wrong(with_jvp(lambda p, t: p[0]), TypeError, ("JVP rule", "pair")),
    "jvp rule, the tangent's shape": Wrong(with_jvp(lambda p, t: (p[0], X)), TypeError,
                                           ("Expected f32[]", "f32[3]")),
    "jvp rule, the value's shape": Wrong(with_jvp(lambda p, t: (X, t[0])), TypeError,
                                         ("Expected f32[3]", "f32[]")),
    "no rule": Wrong(lambda: jax.custom_vjp(lambda a: a)(1.0), AttributeError, ("defvjp",)),
}

LOOPS: dict[str, Wrong] = {
    "scan's carry": Wrong(lambda: lax.scan(lambda c, _: (c[:2], None), X, None, 3), TypeError,
                          ("carry", "f32[3]", "f32[2]", "test_wrong_uses.py")),
    "scan's carry, a tree": Wrong(lambda: lax.scan(lambda c, _: ((c, c), None), X, None, 3),
                                  TypeError, ("`carry`", "a tuple", "a leaf")),
    "scan without a pair": Wrong(lambda: lax.scan(lambda c, _: c, X, None, 3), TypeError,
                                 ("must be a pair", "test_wrong_uses.py")),
    "scan's unroll": Wrong(lambda: lax.scan(lambda c, x: (c, x), 0.0, X, unroll=1.5),
                           TypeError, ("unroll", "1.5")),
    "fori_loop's unroll": Wrong(lambda: lax.fori_loop(0, 3, lambda i, c: c, X, unroll=-1),
                                ValueError, ("unroll", "-1")),
    "associative_scan's tree": Wrong(lambda: lax.associative_scan(lambda a, b: (a, b), X),
                                     ValueError, ("PyTreeDef((*, *))",)),
    "scan's length": Wrong(lambda: lax.scan(lambda c, x: (c, x), 0.0, X, 5), ValueError,
                           ("length", "5", "[3]")),
    "scan's xs": Wrong(lambda: lax.scan(lambda c, x: (c, x), 0.0, (X, jnp.ones(4))), ValueError,
                       ("xs[0] has 3", "xs[1] has 4")),
    "cond's dtypes": Wrong(lambda: lax.cond(True, lambda x: x, lambda x: x.astype(int), X),
                           TypeError, ("f32[3]", "i32[3]", "true_fun", "false_fun", "dtype")),
    "cond's trees": Wrong(lambda: lax.cond(True, lambda x: {"a": x}, lambda x: {"b": x}, X),
                          TypeError, ("keys ['b']", "keys ['a']", "`result`")),
    "cond's predicate": Wrong(lambda: lax.cond(B, lambda x: x, lambda x: x, X), TypeError,
                              ("bool[3]", "jnp.where")),
    "cond of values": Wrong(lambda: lax.cond(True, X, X), TypeError, ("callable",)),
    "switch of a function": Wrong(lambda: lax.switch(0, jnp.sin, X), TypeError,
                                  ("branches", "sequence", "sin")),
    "while_loop's carry": Wrong(lambda: lax.while_loop(lambda c: True, lambda c: c[:1], X),
                                TypeError, ("f32[3]", "f32[1]", "body_fun")),
    "while_loop's test": Wrong(lambda: lax.while_loop(lambda c: c, lambda c: c, X), TypeError,
                               ("boolean scalar", "f32[3]")),
    "fori_loop's value": Wrong(lambda: lax.fori_loop(0, 3, lambda i, c: c[:1], X), TypeError,
                               ("init_val", "f32[3]", "f32[1]")),
}

CALLS: dict[str, Wrong] = {
    "make_jaxpr of no function": Wrong(lambda: jax.make_jaxpr(3), TypeError,  # pyright: ignore
                                       ("make_jaxpr", "expected a function", "3")),
    "vmap's sizes": Wrong(lambda: jax.vmap(lambda a, b: a)(X, jnp.ones(4)), ValueError,
                          ("argument a", "f32[3]", "argument b", "f32[4]")),
    "vmap's axis": Wrong(lambda: jax.vmap(lambda a: a, in_axes=2)(X), ValueError,
                         ("axis 2", "argument a", "f32[3]")),
    "vmap without axes": Wrong(lambda: jax.vmap(lambda a: a, in_axes=None)(X), ValueError,
                               ("in_axes", "axis_size")),
    "vmap's axes of text": Wrong(lambda: jax.vmap(lambda a: a, in_axes="a"), TypeError, ("'a'",)),
    "vmap's axes, a tree": Wrong(lambda: jax.vmap(lambda a: a, in_axes=({"v": 0},))({"w": X}),
                                 ValueError, ("`in_axes[0]`", "keys ['v']", "keys ['w']")),
    "vmap's result, a tree": Wrong(lambda: jax.vmap(lambda a: a, out_axes=(0, 0))(X), ValueError,
                                   ("`out_axes`", "a tuple", "a leaf")),
    "vmap's result": Wrong(lambda: jax.vmap(lambda a: a, out_axes=None)(X), ValueError,
                           ("axis spec None", "give it an axis")),
    "trees of other keys": Wrong(lambda: jax.tree.map(lambda a, b: a, {"a": 1, "b": 2}, {"a": 1}),
                                 ValueError, ("keys ['b'] are missing",)),
    "trees of other lengths": Wrong(lambda: jax.tree.map(lambda a, b: a, [1, 2], [1, 2, 3]),
                                    ValueError, ("length 2", "length 3")),
    "too few leaves": Wrong(lambda: jax.tree.unflatten(jax.tree.structure([0, 0]), [1]), ValueError,
                            ("expected 2, got 1",)),
    "a static list": Wrong(jitted(lambda x, n: x, X, [1], static_argnums=1), ValueError,
                           ("hash", "list")),
    "text to jit": Wrong(jitted(lambda x: x, {"a": X, "b": "s"}), TypeError,
                         ("x['b']", "str", "static_argnums")),
    "text from jit": Wrong(jitted(lambda x: {"f": "a"}, X), TypeError, ("result['f']", "str")),
    "jit of no function": Wrong(lambda: jax.jit(3), TypeError, ("callable", "3")),
    "jit's static_argnums": Wrong(lambda: jax.jit(lambda x: x, static_argnums=3), ValueError,
                                  ("static_argnums=(3,)", "1 positional")),
    "jit's static_argnames": Wrong(lambda: jax.jit(lambda x: x, static_argnames="y"), ValueError,
                                   ("'y'",)),
    "jit's compiler_options": Wrong(jitted(lambda x: x + 1, X, compiler_options={"nonsense": 1}),
                                    RuntimeError, ("nonsense",)),
    "jit, an option": Wrong(lambda: jax.jit(lambda x: x, nonsense=1), TypeError, ("nonsense",)),
    "a compiled function": Wrong(lambda: jax.jit(jnp.sin).lower(X).compile()(I), TypeError,
                                 ("f32[3]", "i32[3]")),
    "psum of no axis": Wrong(lambda: lax.psum(X, "i"), NameError, ("unbound axis name: i", "vmap")),
    "an option's name": Wrong(lambda: jax.config.update("jax_enable_x46", True), AttributeError,
                              ("did you mean 'jax_enable_x64'",)),
    "an option's value": Wrong(lambda: jax.config.update("jax_numpy_rank_promotion", "foo"),
                               ValueError, ("'foo'", "'allow'")),
    "an option's attribute": Wrong(lambda: jax.config.jax_enable_x46, AttributeError,
                                   ("did you mean 'jax_enable_x64'",)),
    "a platform": Wrong(lambda: jax.devices("nonsense"), RuntimeError, ("nonsense", "cpu")),
    "a callback's derivative": Wrong(lambda: jax.grad(
        lambda x: jax.pure_callback(np.sin, FLOAT, x))(1.0), ValueError, ("custom_jvp",)),
    "a callback's batch": Wrong(lambda: jax.vmap(
        lambda x: jax.pure_callback(np.sin, FLOAT, x))(X), NotImplementedError, ("vmap_method",)),
    "a callback's size": Wrong(lambda: jax.pure_callback(
        np.sin, jax.ShapeDtypeStruct((2.5,), np.float32), X), TypeError,
        ("pure_callback", "must be an integer, got 2.5")),
    "a size of no array": Wrong(lambda: jax.eval_shape(
        jnp.sin, jax.ShapeDtypeStruct((-1,), np.float32)), ValueError, ("negative sizes", "(-1,)")),
    "too many bytes": Wrong(lambda: jnp.eye(2 ** 40), ValueError,
                            ("f32[1099511627776,1099511627776]", "test_wrong_uses.py", "2**63")),
    "too many bytes in a program": Wrong(jitted(lambda x: jnp.broadcast_to(
        x, (2 ** 62, 4)).sum(), 1.0), ValueError, ("4611686018427387904", "2**63")),
    "debug.print's format": Wrong(lambda: jax.debug.print("{} {}", X), IndexError,
                                  ("'{} {}'", "1 positional")),
    "vectorize's signature": Wrong(lambda: jnp.vectorize(jnp.sin, signature="(n->()")(X),
                                   ValueError, ("(n->()",)),
}

ALL = {f"{group}: {name}": wrong for group, table in (
    ("sizes", SIZES), ("Python", PYTHON), ("arrays", ARRAYS), ("derivatives", DERIVATIVES),
    ("loops", LOOPS), ("calls", CALLS)) for name, wrong in table.items()}

STUMBLES = re.compile(
    r"truth was asked|^it was|^its |the one is|is no index|Tracer<[^>]*> [A-Z]|\w {2,}\w")
"""What makes a reader stop: pronouns for nothing, `the one`, sentences without an end, gaps."""


@pytest.mark.parametrize("name", ALL)
def test_wrong_use(name: str) -> None:
    wrong = ALL[name]
    with pytest.raises(wrong.kind) as caught:
        wrong.call()
    message = str(caught.value)
    assert not [part for part in wrong.says if part not in message], message
    assert not STUMBLES.search(message), message
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert len([f for f in frames if f.filename.startswith(LIBRARY)]) <= 1, frames
    assert len([f for f in frames if f.filename != __file__]) <= 1, frames
