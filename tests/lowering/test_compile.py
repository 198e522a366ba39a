"""Compile options, clients, devices, plugins."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import lowering
import xfront
import xfront.numpy as jnp
from lowering import clients, compat, compile, devices, plugins
from lowering.forms.extras import NOTHING
from xfront import lax
from xfront_ir import dtypes, ops
from xfront_ir.types import tensor

V = tensor((3,), dtypes.f32)


@pytest.fixture
def sine(func):
    return func([V], lambda b, x: [b.emit(ops.sin, x)])


def process(code: str, **env: str) -> str:
    """What a fresh process prints."""
    kept = {k: v for k, v in os.environ.items() if "PLATFORM" not in k and "DEVICES" not in k}
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True,
                          env={**kept, **env})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_options_are_in_one_order() -> None:
    assert compile.normalize_options({"b": 1, "a": 2}) == (("a", 2), ("b", 1))
    assert compile.normalize_options((("b", 1), ("a", 2))) == (("a", 2), ("b", 1))


def test_efforts(func, sine) -> None:
    large = func([tensor((10_000,), dtypes.f32)], lambda b, x: [b.emit(ops.sin, x)])
    level = "xla_backend_optimization_level"
    assert dict(compile.effort_options("jit", sine, "cpu"))[level] == 1
    assert dict(compile.effort_options("eager", sine, "cpu"))[level] == 0
    assert dict(compile.effort_options("eager", large, "cpu"))[level] == 1
    assert dict(compile.effort_options("fast", large, "cpu"))[level] == 0
    for shape, expected in (((3, 2), 1), ((3,), 0)):      # of matrices; of a matrix and a vector
        product = func([tensor((2, 3), dtypes.f32), tensor(shape, dtypes.f32)],
                       lambda b, x, y: [b.emit(ops.dot_general, x, y, contract=((1,), (0,)),
                                               batch=((), ()))])
        assert dict(compile.effort_options("eager", product, "cpu"))[level] == expected
    few = func([tensor((64,), dtypes.f32)], lambda b, x: list(
        b.emit(ops.sort, x, dimension=0, n_keys=1, stable=True)))
    assert dict(compile.effort_options("eager", few, "cpu"))[level] == 1
    padded = func([tensor((3,), dtypes.f32)], lambda b, x: [b.emit(
        ops.pad, x, b.full(tensor((), dtypes.f32), 0.0), low=(1,), high=(0,), interior=(0,))])
    inside = func([tensor((3,), dtypes.f32)],
                  lambda b, x: [*b.emit(ops.call, x, body=padded, name="padded")])
    assert dict(compile.effort_options("jit", padded, "cpu"))[level] == 3
    assert dict(compile.effort_options("jit", inside, "cpu"))[level] == 3
    assert dict(compile.effort_options("fast", inside, "cpu"))[level] == 0

    def shifted(bits):
        return func([tensor((3,), dtypes.u32)], lambda b, x: [b.emit(
            ops.pad, bits(b, x), b.full(tensor((), dtypes.u32), 0), low=(1,), high=(0,),
            interior=(0,))])

    def mixed(b, x):
        for _ in range(20):
            x = b.emit(ops.xor, x, b.emit(ops.shift_left, x, x))
        return x

    for bits, expected in ((lambda b, x: b.emit(ops.xor, x, x), 3), (mixed, 1),
                           (lambda b, x: b.emit(ops.threefry2x32, x, x, x, x)[0], 1)):
        assert dict(compile.effort_options("jit", shifted(bits), "cpu"))[level] == expected
    assert compile.effort_options("jit", sine, "cuda") == ()
    with pytest.raises(ValueError, match="effort must be one of jit, eager, fast"):
        compile.effort_options("lazy", sine, "cpu")


@pytest.mark.parametrize(("f", "dtype", "expected"), [
    (lambda x: jnp.roll(x, (1, 1), (0, 1)), "int8", 3),
    (lambda x: jnp.zeros((3, 8), x.dtype).at[x[:, 0].astype(int)].add(x), "float32", 3),
    (lambda x: jnp.tile(x, (2, 3)), "float32", 3), (lambda x: jnp.repeat(x, 3, 1), "float32", 1),
    (lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x)[1], "bfloat16", 3),
    (lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x)[1], "float32", 1),
])
def test_kernels_that_need_level_3_for_vectors(f, dtype, expected) -> None:
    x = xfront.ShapeDtypeStruct((2000, 8), dtype)
    options = compile.effort_options("jit", xfront.jit(f).trace(x).ir, "cpu")
    assert dict(options)["xla_backend_optimization_level"] == expected


@pytest.mark.parametrize(("op", "few"),
                         [(ops.neg, 512), (ops.div, 128), (ops.exp, 85), (ops.sin, 17)])
def test_tiny_programs_with_much_to_compute_get_vectors(func, op, few) -> None:
    """At level 0, exp of 4,096 took 19 times the instructions of level 1."""
    def program(n: int):
        kind = tensor((n,), dtypes.f32)
        return func([kind] * 2, lambda b, x, y: [b.emit(op, x, y) if op is ops.div else
                                                 b.emit(op, x)])

    for n, expected in ((few, 0), (few + 1, 1), (4096, 1)):
        chosen = dict(compile.effort_options("eager", program(n), "cpu"))
        assert chosen["xla_backend_optimization_level"] == expected
        assert not chosen.get("xla_cpu_use_fusion_emitters", False)
    total = func([tensor((513,), dtypes.f32)],
                 lambda b, x: [b.emit(ops.reduce_sum, x, axes=(0,))])
    chosen = dict(compile.effort_options("eager", total, "cpu"))
    assert chosen["xla_backend_optimization_level"] == 1


def looped(func, elements: int):
    """A loop of eight turns on that many elements."""
    kind = tensor((elements,), dtypes.f32)
    body = func([kind], lambda b, x: [b.emit(ops.sin, x)])
    return func([kind], lambda b, x: [*b.emit(
        ops.scan, x, body=body, length=8, n_consts=0, n_carry=1, reverse=False, unroll=1)])


def test_small_programs_get_the_older_emitter(func) -> None:
    def chain(length: int, elements: int):
        def write(b, x):
            for _ in range(length):
                x = b.emit(ops.sin, x)
            return [x]
        return func([tensor((elements,), dtypes.f32)], write)

    assert compile.is_small(chain(20, 1024), "eager")
    assert not compile.is_small(chain(20, 1024), "jit")
    assert not compile.is_small(chain(20, 1025), "eager")
    assert not compile.is_small(chain(65, 8), "eager")
    for effort in ("eager", "jit"):
        assert compile.is_small(looped(func, 32), effort)
        assert not compile.is_small(looped(func, 33), effort)
    older = ("xla_cpu_use_fusion_emitters", False)
    has_two = compile.compat.HAS_FUSION_EMITTER_OPTION
    assert (older in compile.effort_options("jit", looped(func, 8), "cpu")) == has_two
    assert older not in compile.effort_options("jit", looped(func, 64), "cpu")
    assert older not in compile.effort_options("fast", looped(func, 8), "cpu")


@pytest.mark.parametrize("effort", compile.EFFORTS)
def test_every_effort_gives_the_result(sine, run, effort) -> None:
    x = np.array([0.5, 1, 2], np.float32)
    np.testing.assert_allclose(run(sine, x, effort=effort)[0], np.sin(x), rtol=1e-6)


def test_user_options_win_and_unknown_ones_are_errors(sine) -> None:
    chosen = compile.all_options(
        "jit", sine, "cpu", {"xla_backend_optimization_level": 2}, NOTHING)
    assert dict(chosen)["xla_backend_optimization_level"] == 2
    lowering.compile_function(sine, options={"xla_cpu_enable_fast_math": True})
    with pytest.raises(compat.RuntimeFailure, match="no_such_option"):
        lowering.compile_function(sine, options={"no_such_option": True})


def test_threads_compile_side_by_side(func) -> None:
    programs = [func([V], lambda b, x, i=i: [b.emit(ops.mul, x, b.literal(
        i + 2.0, dtypes.f32, (3,)))]) for i in range(6)]
    made: dict[int, Any] = {}

    def work(i: int) -> None:
        made[i] = lowering.compile_function(programs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(made) == list(range(6))
    assert all(f"constant({i + 2})" in made[i].hlo_text() for i in range(6))


def test_devices_of_the_default_platform() -> None:
    found = devices.devices()
    assert found and devices.device_count() == len(found)
    assert devices.local_devices(process_index=0) == found
    assert devices.process_index() == 0 and devices.process_count() == 1
    assert clients.device_kind(found[0]).startswith(found[0].platform)


def test_unknown_platforms_are_errors() -> None:
    with pytest.raises(RuntimeError, match="Unknown backend: platform 'abacus'"):
        clients.client("abacus")
    assert clients.client("cpu").platform == "cpu"


def test_platforms_that_are_not_installed_say_so() -> None:
    if plugins.library_of("cuda") or plugins.library_of("rocm"):
        pytest.skip("a GPU plugin is installed")
    with pytest.raises(RuntimeError, match="no cuda plugin is installed"):
        clients.client("gpu")


def test_virtual_cpu_devices_and_platforms_from_the_environment() -> None:
    count = "from lowering import devices; print(devices.device_count())"
    assert process(count, XFRONT_NUM_CPU_DEVICES="3") == "3"
    code = "from lowering import clients\n" \
           "try: clients.default_client()\nexcept RuntimeError as e: print(e)"
    assert "none of the requested platforms (abacus)" in process(code, XFRONT_PLATFORMS="abacus")
    code = "from lowering import clients; print(clients.default_backend())"
    assert process(code, JAX_PLATFORMS="abacus,cpu") == "cpu"
    code = "from lowering import clients, devices; clients.configure(cpu_devices=2); " \
           "print(devices.device_count())\n" \
           "try: clients.configure(cpu_devices=5)\nexcept RuntimeError as e: print(e)"
    assert process(code).startswith("2\nthe number of CPU devices must be chosen before")


def test_gpu_options_come_from_the_environment() -> None:
    env = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_CLIENT_MEM_FRACTION": ".5"}
    assert plugins.gpu_options(env) == {"preallocate": False, "memory_fraction": 0.5}
    with pytest.raises(ValueError, match="ALLOCATOR must be"):
        plugins.gpu_options({"XLA_PYTHON_CLIENT_ALLOCATOR": "mine"})


def test_requirements_are_set_up_once() -> None:
    assert compat.meet(["lapack"]) and compat.meet(["lapack"])
    assert not compat.meet(["what no version knows"])


def test_lapack_is_set_up_without_the_rest_of_scipy() -> None:
    code = """
import sys
import numpy as np
import xfront
import xfront.numpy as jnp
print(jnp.linalg.eigvals(jnp.diag(jnp.arange(1., 9.))).real.sum(), "scipy.linalg" in sys.modules)
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack
print("dgemm" in scipy.linalg.cython_blas.__pyx_capi__, "dpotrf" in
      scipy.linalg.cython_lapack.__pyx_capi__, scipy.linalg.eigvals(np.eye(2)).real.sum(),
      jnp.linalg.eigvals(jnp.eye(9)).real.sum())
"""
    assert process(code).splitlines() == ["36.0 False", "True True 2.0 9.0"]


def test_a_program_on_four_devices() -> None:
    code = """
import numpy as np
import lowering
import xfront
import xfront.numpy as jnp
from lowering import devices
from lowering.partitioning import Partition
from xfront import lax
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.sharding import MeshAxes, Sharding, Spec
from xfront_ir.types import tensor
b = Builder('f')
x = b.param(tensor((8,), dtypes.f32))
fn = b.close([b.emit(ops.reduce_sum, x, axes=(0,))])
mesh = MeshAxes(['x'], [4])
p = Partition(num_partitions=4, params=(Sharding(mesh, Spec([['x']])),),
              results=(Sharding(mesh, Spec([])),))
for _ in range(2):
    exe = lowering.compile_function(fn, fingerprint=b'sum', partition=p)
    assert len(exe.devices) == 4 and 'all-reduce' in exe.hlo_text()
    lowering._LIVE.clear()
try:
    lowering.compile_function(fn, partition=p, devices=devices.devices()[:2])
except ValueError as e:
    print(e)
"""
    message = process(code, XFRONT_NUM_CPU_DEVICES="4")
    assert message == "the program runs on 4 devices, but 2 were given"
