"""Checks that every function that can be told where its result lies does lay it there, with the
values that it has elsewhere."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, report
from xfront import lax, nn, ops, random
from xfront.binding.array_class import Array
from xfront.sharding import NamedSharding, set_mesh
from xfront.sharding import PartitionSpec as P

DEVICES = 8
A = np.sin(np.arange(32, dtype=np.float32)).reshape(8, 4)
B = np.cos(np.arange(24, dtype=np.float32)).reshape(4, 6)
N = np.arange(32).reshape(8, 4)
IDS = np.array([0, 1, 2, 3, 0, 1, 2, 3])
ROWS = (8, 4)

TOLD: dict[str, Callable[..., Any]] = {
    "numpy.arange": lambda **k: jnp.arange(8, **k), "numpy.array": lambda **k: jnp.array(A, **k),
    "numpy.asarray": lambda **k: jnp.asarray(A, **k),
    "numpy.astype": lambda **k: jnp.astype(A, int, **k),
    "numpy.bincount": lambda **k: jnp.bincount(IDS, length=8, **k),
    "numpy.broadcast_to": lambda **k: jnp.broadcast_to(A[0], ROWS, **k),
    "numpy.dot": lambda **k: jnp.dot(A, B, **k),
    "numpy.einsum": lambda **k: jnp.einsum("ij,jk", A, B, **k),
    "numpy.empty": lambda **k: jnp.empty(ROWS, **k),
    "numpy.empty_like": lambda **k: jnp.empty_like(A, **k),
    "numpy.eye": lambda **k: jnp.eye(8, **k),
    "numpy.full": lambda **k: jnp.full(ROWS, 2, **k),
    "numpy.full_like": lambda **k: jnp.full_like(A, 2, **k),
    "numpy.linspace": lambda **k: jnp.linspace(0, 1, 8, **k),
    "numpy.matmul": lambda **k: jnp.matmul(A, B, **k), "numpy.ones": lambda **k: jnp.ones(8, **k),
    "numpy.ones_like": lambda **k: jnp.ones_like(A, **k),
    "numpy.percentile": lambda **k: jnp.percentile(A, 50.0, axis=1, **k),
    "numpy.ravel": lambda **k: jnp.ravel(A, **k),
    "numpy.repeat": lambda **k: jnp.repeat(A, 2, 0, **k),
    "numpy.reshape": lambda **k: jnp.reshape(A, (16, 2), **k),
    "numpy.tensordot": lambda **k: jnp.tensordot(A, B, 1, **k),
    "numpy.zeros": lambda **k: jnp.zeros(8, **k),
    "numpy.zeros_like": lambda **k: jnp.zeros_like(A, **k),
    "numpy.linalg.matmul": lambda **k: jnp.linalg.matmul(A, B, **k),
    "numpy.linalg.tensordot": lambda **k: jnp.linalg.tensordot(A, B, axes=1, **k),
    "numpy.fft.fftfreq": lambda **k: jnp.fft.fftfreq(8, **k),
    "numpy.fft.rfftfreq": lambda **k: jnp.fft.rfftfreq(14, **k),
    "lax.broadcast": lambda **k: lax.broadcast(A, (8,), **k),
    "lax.broadcast_in_dim": lambda **k: lax.broadcast_in_dim(A[0], ROWS, (1,), **k),
    "lax.broadcasted_iota": lambda **k: lax.broadcasted_iota(np.int32, ROWS, 1, **k),
    "lax.conv_general_dilated": lambda **k: lax.conv_general_dilated(
        jnp.reshape(A, (8, 2, 2)), jnp.ones((3, 2, 1)), (1,), "VALID", **k),
    "lax.dot": lambda **k: lax.dot(A, B, **k),
    "lax.dot_general": lambda **k: lax.dot_general(A, B, (((1,), (0,)), ((), ())), **k),
    "lax.empty": lambda **k: lax.empty(ROWS, np.float32, **k),
    "lax.full": lambda **k: lax.full(ROWS, 2.0, **k),
    "lax.full_like": lambda **k: lax.full_like(A, 2.0, **k),
    "lax.ragged_dot": lambda **k: lax.ragged_dot(A, jnp.ones((2, 4, 6)), jnp.array([3, 5]), **k),
    "lax.ragged_dot_general": lambda **k: lax.ragged_dot_general(
        A, jnp.ones((2, 4, 6)), jnp.array([3, 5]),
        lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0]), **k),
    "lax.reduce": lambda **k: lax.reduce(A, 0.0, lax.add, (1,), **k),
    "lax.reshape": lambda **k: lax.reshape(A, (16, 2), **k),
    "lax.rng_bit_generator": lambda **k: lax.rng_bit_generator(
        jnp.zeros(4, "uint32"), (8,), **k)[1],
    **{f"lax.reduce_{name}": lambda name=name, **k: getattr(lax, f"reduce_{name}")(
        A if name in ("sum", "prod", "max", "min") else N, (1,), **k)
       for name in ("sum", "prod", "max", "min", "and", "or", "xor")},
    **{f"random.{name}": lambda name=name, given=given, **k: getattr(random, name)(
        random.key(0), *given, shape=ROWS, **k) for name, given in {
            "bernoulli": (0.5,), "beta": (1.0, 2.0), "bits": (), "cauchy": (), "chisquare": (2.0,),
            "exponential": (), "f": (1.0, 2.0), "gamma": (2.0,), "generalized_normal": (1.5,),
            "geometric": (0.3,), "gumbel": (), "laplace": (), "loggamma": (2.0,), "logistic": (),
            "lognormal": (), "maxwell": (), "normal": (), "pareto": (1.0,), "poisson": (3.0,),
            "rademacher": (), "rayleigh": (1.0,), "t": (2.0,), "triangular": (0.0, 0.5, 1.0),
            "truncated_normal": (-1.0, 1.0), "uniform": (), "wald": (1.0,)}.items()},
    "random.ball": lambda **k: random.ball(random.key(0), 4, shape=(8,), **k),
    "random.categorical": lambda **k: random.categorical(random.key(0), A, **k),
    "random.dirichlet": lambda **k: random.dirichlet(random.key(0), jnp.ones(4), (8,), **k),
    "random.multivariate_normal": lambda **k: random.multivariate_normal(
        random.key(0), jnp.zeros(2), jnp.eye(2), (8,), **k),
    "random.orthogonal": lambda **k: random.orthogonal(random.key(0), 2, (8,), **k),
    "random.permutation": lambda **k: random.permutation(random.key(0), A, **k),
    "random.randint": lambda **k: random.randint(random.key(0), ROWS, 0, 9, **k),
    **{f"ops.segment_{name}": lambda name=name, **k: getattr(ops, f"segment_{name}")(
        A, IDS, 8, **k) for name in ("max", "min", "prod", "sum")},
    **{f"Array.{name}": lambda name=name, given=given, **k: getattr(jnp.asarray(A), name)(
        *given, **k) for name, given in {
            "astype": (int,), "flatten": (), "ravel": (), "repeat": (2, 0)}.items()},
    "Array.to_device": lambda **k: jnp.asarray(A).to_device(**k) if k else A,
    **{f"at.{name}": lambda name=name, **k: getattr(jnp.asarray(A).at[IDS], name)(2.0, **k)
       for name in ("add", "divide", "max", "min", "mul", "multiply", "power", "set", "subtract")},
    "at.apply": lambda **k: jnp.asarray(A).at[IDS].apply(jnp.exp, **k),
    "at.get": lambda **k: jnp.asarray(A).at[IDS].get(**k),
    **{f"nn.initializers.{name}": lambda name=name, **k: getattr(nn.initializers, name)(
        random.key(0), ROWS, np.float32, **k) for name in ("zeros", "ones")},
}
NAMESPACES = ("numpy", "numpy.linalg", "numpy.fft", "lax", "random", "ops", "nn.initializers")
ON_ONE_DEVICE = {"numpy.from_dlpack"}
ARGUMENTS = ("out_sharding", "sharding", "device")


def arguments_of(name: str, function: Any) -> list[str]:
    """Names of the arguments that tell where the result of a function lies."""
    try:
        return [a for a in ARGUMENTS if a in inspect.signature(function).parameters]
    except (TypeError, ValueError):
        return []


OF_TWO_LENGTHS = {"numpy.histogram"}
"""Results of n and n + 1 elements, which no mesh axis divides both."""


def check_counts_and_edges_lie_where_they_are_told() -> None:
    mesh = xfront.make_mesh((4, 2), ("x", "y"))
    with set_mesh(mesh):
        for f in (jnp.histogram, xfront.jit(jnp.histogram, static_argnames=(
                "bins", "out_sharding"))):
            for found in f(A, bins=8, out_sharding=P()):
                assert found.sharding.is_equivalent_to(NamedSharding(mesh, P()), 1)
                assert len(found.sharding.device_set) == 8
            try:
                f(A, bins=8, out_sharding=P("x"))
            except ValueError as error:
                assert "9" in str(error), error
            else:
                raise AssertionError("nine edges are not divided by four devices")


def takes_out_sharding() -> dict[str, list[str]]:
    """The arguments of each public function that has some."""
    named = {f"{space}.{name}": getattr(module, name) for space in NAMESPACES
             for module in [importlib.import_module(f"xfront.{space}")] for name in dir(module)
             if not name.startswith("_")}
    for owner, kind in (("Array", Array), ("at", type(jnp.asarray(A).at[0]))):
        named |= {f"{owner}.{name}": getattr(kind, name) for name in dir(kind) if name[0] != "_"}
    found = {name: arguments_of(name, f) for name, f in named.items() if callable(f)}
    return {name: arguments for name, arguments in found.items() if arguments}


def check_every_function_lays_its_result_where_it_is_told() -> None:
    mesh = xfront.make_mesh((4, 2), ("x", "y"))
    there = NamedSharding(mesh, P("x"))
    functions = takes_out_sharding()
    missed = sorted(functions.keys() - TOLD.keys() - ON_ONE_DEVICE - OF_TWO_LENGTHS)
    assert not missed, f"without a row: {missed}"
    with set_mesh(mesh):
        for name, call in TOLD.items():
            expected = np.asarray(call())
            for argument in functions[name]:
                told = P("x") if argument == "out_sharding" else there
                for f in (call, lambda call=call, **k: xfront.jit(lambda: call(**k))()):
                    found = f(**{argument: told})
                    assert found.sharding.is_equivalent_to(there, found.ndim), (
                        name, argument, found.sharding)
                    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6,
                                               err_msg=f"{name} {argument}")


def check_dlpack_goes_to_one_device() -> None:
    mesh = xfront.make_mesh((8,), ("x",))
    try:
        jnp.from_dlpack(A, device=NamedSharding(mesh, P("x")))
    except ValueError as e:
        assert "8 devices" in str(e) and "device_put" in str(e), e
    else:
        raise AssertionError("it is accepted")
    device = xfront.devices()[1]
    one = xfront.make_mesh((1,), ("x",), devices=[device])
    assert jnp.from_dlpack(A, device=NamedSharding(one, P("x"))).devices() == {device}


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, DEVICES)
