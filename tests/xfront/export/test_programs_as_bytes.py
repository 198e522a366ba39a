"""`serialize_executable`: compiled programs as bytes, in this process and in another one."""

from __future__ import annotations

import gc
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from lowering import disk_cache
from tests.device_checks import errors_of
from xfront.experimental import serialize_executable
from xfront.experimental.serialize_executable import deserialize_and_load, serialize

from .program_checks import CHECKS

HELD = np.arange(3, dtype=np.float32)


def compiled(f: Any, *args: Any, **options: Any) -> Any:
    return jax.jit(f, **options).lower(*args).compile()


PROGRAMS = {
    "tree": (lambda t, k: {"a": t["u"] + k, "b": (2 * k, None)},
             ({"u": jnp.ones(3)}, np.float32(2))),
    "captured": (lambda x: x * jnp.asarray(HELD) + jax.device_put(HELD), (np.float32(2),)),
    "weak": (lambda x: (x * 2, x), (1.5,)),
    "unread": (lambda x, y: y * 2, (jnp.ones(3), 2)),
    "nothing": (lambda: jnp.arange(3), ()),
    "half": (lambda x: x.astype(jnp.bfloat16), (jnp.arange(4, dtype=jnp.float16),)),
    "bits": (lambda x: (x > 2, x.astype(jnp.int4)), (jnp.arange(5, dtype=jnp.uint8),)),
    "complex": (lambda x: jnp.fft.fft(x), (jnp.arange(5.0),)),
    "library": (lambda x: jnp.linalg.qr(x), (jnp.eye(3) + 1,)),
    "loop": (lambda x: jax.lax.fori_loop(0, 5, lambda i, y: y * 2 + i, x), (jnp.ones(2),)),
    "keys": (lambda k: jax.random.split(k), (jax.random.key(1),)),
}


def assert_same(made: Any, wanted: Any) -> None:
    assert jax.tree.structure(made) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(made), jax.tree.leaves(wanted), strict=True):
        assert a.aval == b.aval
        if jnp.issubdtype(b.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loaded_program_gives_what_the_compiled_one_gives(name: str) -> None:
    f, args = PROGRAMS[name]
    program = compiled(f, *args)
    again = deserialize_and_load(*serialize(program))
    for _ in range(2):
        assert_same(again(*args), program(*args))
    assert (again.in_tree, again.out_tree) == (program.in_tree, program.out_tree)
    assert again.input_shardings == program.input_shardings
    assert again.output_shardings == program.output_shardings
    assert jax.tree.leaves(again.out_info) == jax.tree.leaves(program.out_info)
    assert again.cost_analysis() == program.cost_analysis()
    twice = deserialize_and_load(*serialize(again))
    assert_same(twice(*args), program(*args))


READ = """
import pickle, sys
import numpy as np
import xfront as jax
from xfront.experimental.serialize_executable import deserialize_and_load
for name, written, args in pickle.load(sys.stdin.buffer):
    made = deserialize_and_load(*written)(*args)
    print(name, [np.asarray(x).tobytes().hex() for x in jax.tree.leaves(made)])
"""


def test_another_process_runs_the_programs() -> None:
    rows, wanted = [], []
    for name, (f, args) in PROGRAMS.items():
        if name == "keys":
            continue
        program = compiled(f, *args)
        rows.append((name, serialize(program), jax.tree.map(np.asarray, args)
                     if name not in ("weak", "unread") else args))
        leaves = [np.asarray(x).tobytes().hex() for x in jax.tree.leaves(program(*args))]
        wanted.append(f"{name} {leaves}")
    done = subprocess.run([sys.executable, "-W", "error", "-c", READ], input=pickle.dumps(rows),
                          capture_output=True, cwd=Path(__file__).parents[3], timeout=280)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().splitlines() == wanted


def test_static_and_donated_arguments() -> None:
    program = jax.jit(lambda x, n, *, k: x * n + k, static_argnums=1, static_argnames="k").lower(
        np.float32(1), 3, k=2).compile()
    assert float(deserialize_and_load(*serialize(program))(np.float32(2))) == 8
    program = compiled(lambda x: x * 2, jnp.ones(3), donate_argnums=0)
    again, x = deserialize_and_load(*serialize(program)), jnp.ones(3)
    np.testing.assert_array_equal(again(x), 2 * np.ones(3))
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted or donated"):
        again(x)
    assert again.in_tree == program.in_tree


def test_wrong_calls_are_refused_as_by_the_compiled_program() -> None:
    f, args = PROGRAMS["tree"]
    program = compiled(f, *args)
    again = deserialize_and_load(*serialize(program))
    wrong: list[Any] = [({"u": jnp.ones(4)}, np.float32(2)), ({"u": jnp.ones(3)},),
                        ({"v": jnp.ones(3)}, np.float32(2)), ({"u": jnp.ones(3)}, 2)]
    for call in wrong:
        messages = []
        for p in (program, again):
            with pytest.raises(TypeError) as e:
                p(*call)
            messages.append(str(e.value))
        assert messages[0] == messages[1]
    with pytest.raises(TypeError, match="cannot be transformed or traced"):
        jax.jit(again)(*args)


def test_numbers_are_checked_under_debug_nans(restored: None) -> None:
    again = deserialize_and_load(*serialize(compiled(jnp.log, np.float32(1))))
    jax.config.update("jax_debug_nans", True)
    with pytest.raises(FloatingPointError):
        again(np.float32(-1))


def test_a_program_that_the_cache_on_disk_has_lost_says_so(tmp_path: Path) -> None:
    """jaxlib writes bytes without machine code for programs that it has loaded itself."""
    f = lambda x: x * 2 + 17
    disk_cache.choose(enabled=True, directory=str(tmp_path))
    try:
        compiled(f, np.float32(1))
        jax.clear_caches()
        gc.collect()
        loaded = compiled(f, np.float32(1))
        assert loaded._program.compiled.executable.source is not None
        assert float(deserialize_and_load(*serialize(loaded))(np.float32(3))) == 23
        disk_cache.clear()
        with pytest.raises(RuntimeError, match="no longer has it"):
            serialize(loaded)
    finally:
        disk_cache.choose(enabled=None, directory=None)


def test_what_has_no_bytes_is_refused() -> None:
    host = lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float32), x)
    with pytest.raises(NotImplementedError, match="calls functions of this process"):
        serialize(compiled(host, np.float32(1)))
    for wrong in (3, jax.jit(jnp.sin), jax.jit(jnp.sin).lower(1.0)):
        with pytest.raises(TypeError, match="expected a compiled program"):
            serialize(wrong)  # type: ignore[arg-type]


def test_trees_and_backends_are_checked() -> None:
    f, args = PROGRAMS["tree"]
    blob, ins, outs = serialize(compiled(f, *args))
    with pytest.raises(TypeError, match="in_tree must be the tree"):
        deserialize_and_load(blob, None, outs)
    with pytest.raises(ValueError, match="in_tree must be the structure of a pair"):
        deserialize_and_load(blob, outs, outs)
    with pytest.raises(ValueError, match="in_tree has 3 leaves, but the program has 2"):
        deserialize_and_load(blob, jax.tree.structure(((1, 2, 3), {})), outs)
    with pytest.raises(ValueError, match="out_tree has 1 leaves, but the program has 2"):
        deserialize_and_load(blob, ins, jax.tree.structure(1))
    with pytest.raises(ValueError, match="compiled for cpu, but backend is 'tpu'"):
        deserialize_and_load(blob, ins, outs, backend="tpu")
    with pytest.raises(TypeError, match="must be bytes"):
        deserialize_and_load("text", ins, outs)  # type: ignore[arg-type]
    loaded = deserialize_and_load(blob, ins, outs, "cpu", jax.devices()[:1])
    assert_same(loaded(*args), compiled(f, *args)(*args))


@pytest.mark.parametrize("changed, match", [
    ({"jaxlib": "0.1.0"}, "compiled by jaxlib 0.1.0"),
    ({"platform": "tpu"}, "Unknown backend|kind"),
    ({"device_kind": "cpu:other"}, "devices of kind cpu:other"),
    ({"host": "other"}, "CPU of another model"), ({"requirements": ["magic"]}, "needs"),
    ({"kinds": [["nonsense", False]]}, "malformed|leaves"), ({"outs": 3}, "malformed"),
    ({"options": [["no_such_option", 1]]}, "."), ({"captures": [["f4", [2], False]]}, "."),
])
def test_programs_made_elsewhere_are_refused(changed: dict[str, Any], match: str) -> None:
    blob, *trees = serialize(compiled(lambda x: x + 1, np.float32(1)))
    header, blobs = serialize_executable.BYTES.read(blob)
    with pytest.raises((ValueError, RuntimeError), match=match):
        deserialize_and_load(serialize_executable.BYTES.write({**header, **changed}, blobs), *trees)


def test_every_damaged_byte_is_noticed() -> None:
    blob, *trees = serialize(compiled(lambda x: x + 1, np.float32(1)))
    chance = random.Random(3)
    places = [*range(70), *[chance.randrange(len(blob)) for _ in range(200)]]
    for i in places:
        bad = bytearray(blob)
        bad[i] ^= 1 << chance.randrange(8)
        with pytest.raises(ValueError, match="damaged|are not|of version"):
            deserialize_and_load(bytes(bad), *trees)
    for n in (0, 1, 12, 40, 56, len(blob) // 2, len(blob) - 1):
        with pytest.raises(ValueError, match="damaged|cut short"):
            deserialize_and_load(blob[:n], *trees)
    header, blobs = serialize_executable.BYTES.read(blob)
    for code in (b"", blobs[0][:50], b"x" * 100):
        with pytest.raises(ValueError, match="malformed"):
            deserialize_and_load(serialize_executable.BYTES.write(header, [code]), *trees)


@pytest.fixture(scope="module")
def errors() -> dict[str, str | None]:
    """By name of the check: the traceback of the error that it met, or None."""
    return errors_of("tests.xfront.export.program_checks", CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_on_several_devices(name: str, errors: dict[str, str | None]) -> None:
    assert errors[name] is None, errors[name]
