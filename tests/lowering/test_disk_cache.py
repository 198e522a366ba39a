"""The cache on disk: hits, keys, damage, permissions, eviction, several processes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lowering
import xfront_ir
from lowering import compat, disk_cache
from xfront_ir import dtypes, ops
from xfront_ir.fingerprint import fingerprint
from xfront_ir.types import tensor

V = tensor((3,), dtypes.f32)
X = np.array([0, 1, 2], np.float32)

PROGRAM = """
import sys
import lowering
from xfront_ir import dtypes, ops
from xfront_ir.builder import Builder
from xfront_ir.fingerprint import fingerprint
from xfront_ir.types import tensor
b = Builder('f')
x = b.param(tensor((3,), dtypes.f32))
fn = b.close([b.emit(ops.sin, x)])
lowering.compile_function(fn, fingerprint=fingerprint(fn))
print('jaxlib.mlir.ir' in sys.modules)
"""


@pytest.fixture
def sine(func):
    return func([V], lambda b, x: [b.emit(ops.sin, x)])


def compiled(fn, **how):
    lowering._LIVE.clear()
    return lowering.compile_function(fn, fingerprint=fingerprint(fn), **how)


@pytest.fixture
def no_compile(monkeypatch):
    """From its call on, compiling is a failure."""
    def forbid() -> None:
        def refuse(*args, **kwargs):
            raise AssertionError("compiled although the program is cached")

        monkeypatch.setattr(lowering, "_compile", refuse)

    return forbid


def test_the_second_time_is_a_hit(sine, cache, no_compile, execute) -> None:
    compiled(sine)
    assert len(list(cache.iterdir())) == 1
    no_compile()
    np.testing.assert_allclose(execute(compiled(sine), sine, X)[0], np.sin(X), rtol=1e-6)


def test_a_hit_imports_no_mlir(cache) -> None:
    def run() -> str:
        return subprocess.run([sys.executable, "-c", PROGRAM], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    assert [run(), run()] == ["True", "False"]


def test_many_processes_at_once(cache) -> None:
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.DEVNULL)
               for _ in range(3)]
    assert [p.wait() for p in running] == [0, 0, 0]
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("dies_in", ["write", "replace"])
def test_a_process_that_is_killed_in_a_write_leaves_no_entry(cache, execute, sine, dies_in) -> None:
    die = "lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)"
    how = {"replace": f"os.replace = {die}",
           "write": "real = os.fdopen\ndef opened(fd, mode):\n"
                    "    f = real(fd, mode)\n    f.write(b'xfront3')\n    f.flush()\n"
                    f"    ({die})()\nos.fdopen = opened"}[dies_in]
    killed = subprocess.run([sys.executable, "-c", f"import os, signal\n{how}\n{PROGRAM}"],
                            stdout=subprocess.DEVNULL)
    (left,) = cache.iterdir()
    assert killed.returncode == -signal.SIGKILL and left.name.startswith(".")
    np.testing.assert_allclose(execute(compiled(sine), sine, X)[0], np.sin(X), rtol=1e-6)
    assert left.exists() and len(list(cache.iterdir())) == 2        # it may still be written
    os.utime(left, (0, 0))
    disk_cache._entries(str(cache))
    assert not left.exists() and len(list(cache.iterdir())) == 1


def test_the_key_holds_all_that_the_bytes_depend_on(monkeypatch) -> None:
    base = disk_cache.key(b"f", ("jit", (1,)))
    assert disk_cache.key(b"f", ("jit", (1,))) == base
    others = [disk_cache.key(b"g", ("jit", (1,))), disk_cache.key(b"f", ("jit", (True,))),
              disk_cache.key(b"f", ("jit",)), disk_cache.key(b"f", ("jit", (1,), ""))]
    with monkeypatch.context() as m:
        m.setattr(disk_cache, "_flags", [])
        m.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
        others.append(disk_cache.key(b"f", ("jit", (1,))))
    for part in ("cpu_text", "source_text"):
        with monkeypatch.context() as m:
            m.setattr(disk_cache, "_environment", {})
            m.setattr(disk_cache, part, lambda: "another")
            others.append(disk_cache.key(b"f", ("jit", (1,))))
    with monkeypatch.context() as m:
        m.setattr(disk_cache, "_environment", {})
        m.setattr(compat, "JAXLIB_VERSION", "0.0.0")
        others.append(disk_cache.key(b"f", ("jit", (1,))))
    assert len({base, *others}) == 1 + len(others)


def test_flags_that_come_too_late_for_xla_are_not_in_the_key(cache) -> None:
    def digest(at_start: str, later: str) -> str:
        program = ("import os, lowering\nfrom lowering import clients, disk_cache\n"
                   "clients.default_client()\n"
                   f"os.environ['XLA_FLAGS'] = {later!r}\n"
                   "print(disk_cache.environment_digest().hex())")
        return subprocess.run([sys.executable, "-c", program], check=True, text=True,
                              stdout=subprocess.PIPE,
                              env={**os.environ, "XLA_FLAGS": at_start}).stdout

    fast = "--xla_cpu_enable_fast_math=true"
    assert digest("", fast) == digest("", "") != digest(fast, fast)


def test_flags_in_a_file_are_what_the_file_holds(tmp_path, monkeypatch) -> None:
    """XLA reads the file where the variable begins with no dash."""
    monkeypatch.setattr(disk_cache, "_flags", [])
    flags = tmp_path / "flags"

    def key(value: str, text: str) -> str:
        flags.write_text(text)
        monkeypatch.setenv("XLA_FLAGS", value)
        return disk_cache.key(b"f", ())

    fast, slow = (f"--xla_cpu_enable_fast_math={on}" for on in ("true", "false"))
    assert key(str(flags), fast) != key(str(flags), slow)
    assert key(fast, fast) == key(fast, slow)
    assert key(str(tmp_path / "none"), fast) == key(str(tmp_path / "none"), slow)


def test_the_sources_are_those_of_all_folders(monkeypatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(disk_cache, "files_text", lambda folders: seen.extend(folders) or "")
    disk_cache.source_text()
    roots = [Path(package.__file__).parent for package in (lowering, xfront_ir)]
    assert {str(file.parent) for root in roots for file in root.rglob("*.py")} <= {
        os.path.normpath(folder) for folder in seen}


def test_options_name_and_donation_are_different_programs(sine, cache) -> None:
    compiled(sine)
    compiled(sine, name="other")
    compiled(sine, donated=(0,))
    compiled(sine, options={"xla_cpu_enable_fast_math": True})
    compiled(sine, effort="fast")
    assert len(list(cache.iterdir())) == 5


@pytest.mark.parametrize("damage", ["empty", "truncated", "flipped", "text", "foreign executable"])
def test_damaged_entries_are_misses(sine, cache, execute, damage) -> None:
    compiled(sine)
    (entry,) = cache.iterdir()
    data = entry.read_bytes()
    if damage == "foreign executable":
        disk_cache.store(entry.name, {"name": "f", "requirements": []}, b"not an executable")
    else:
        entry.write_bytes({"empty": b"", "truncated": data[:-10], "text": b"hello",
                           "flipped": data[:-1] + bytes([data[-1] ^ 1])}[damage])
    np.testing.assert_allclose(execute(compiled(sine), sine, X)[0], np.sin(X), rtol=1e-6)
    assert len(entry.read_bytes()) > 1000                    # and a good one took its place


def test_entries_that_were_swapped_are_misses(sine, func, cache, execute) -> None:
    cosine = func([V], lambda b, x: [b.emit(ops.cos, x)])
    compiled(sine)
    (one,) = cache.iterdir()
    compiled(cosine)
    (other,) = {*cache.iterdir()} - {one}
    mine, its = one.read_bytes(), other.read_bytes()
    one.write_bytes(its)
    other.write_bytes(mine)
    for fn, f in ((sine, np.sin), (cosine, np.cos)):
        np.testing.assert_allclose(execute(compiled(fn), fn, X)[0], f(X), rtol=1e-6)


@pytest.mark.parametrize("header", [[], {}, {"name": "f", "requirements": ["unheard of"]}])
def test_headers_of_other_versions_are_misses(sine, cache, execute, header) -> None:
    executable = compiled(sine)
    (entry,) = cache.iterdir()
    disk_cache.store(entry.name, header, executable.serialize())
    np.testing.assert_allclose(execute(compiled(sine), sine, X)[0], np.sin(X), rtol=1e-6)


def test_permissions_are_private(sine, cache) -> None:
    compiled(sine)
    (entry,) = cache.iterdir()
    assert cache.stat().st_mode & 0o777 == 0o700 and entry.stat().st_mode & 0o777 == 0o600


def test_what_others_may_write_is_not_used(sine, cache) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    compiled(sine)
    assert not list(cache.iterdir())


def test_an_entry_that_others_may_write_is_a_miss(sine, cache) -> None:
    compiled(sine)
    (entry,) = cache.iterdir()
    entry.chmod(0o666)
    assert disk_cache.load(entry.name) is None


def test_a_folder_that_cannot_be_made_is_no_error(sine, tmp_path, monkeypatch, cache) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XFRONT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    compiled(sine)


def test_a_relative_folder_stays_where_it_was(sine, func, tmp_path, monkeypatch, cache) -> None:
    monkeypatch.setenv("XFRONT_CACHE_DIR", "programs-here")
    monkeypatch.setattr(disk_cache, "_absolute", {})
    for name, f in (("first", sine), ("second", func([V], lambda b, x: [b.emit(ops.cos, x)]))):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        compiled(f)
    assert len(list((tmp_path / "first" / "programs-here").iterdir())) == 2
    assert not list((tmp_path / "second").iterdir())


def test_a_full_disk_is_no_error(sine, cache, monkeypatch, execute) -> None:
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    np.testing.assert_allclose(execute(compiled(sine), sine, X)[0], np.sin(X), rtol=1e-6)
    assert not list(cache.iterdir())


def test_the_cache_can_be_off(sine, cache, monkeypatch) -> None:
    monkeypatch.setenv("XFRONT_CACHE", "0")
    compiled(sine)
    assert not cache.exists()
    monkeypatch.setenv("XFRONT_CACHE", "1")
    disk_cache.choose(enabled=False)
    assert not disk_cache.is_enabled()


def test_no_fingerprint_no_cache(sine, cache) -> None:
    lowering.compile_function(sine)
    assert not cache.exists()


def test_the_entries_unused_for_longest_go_first(cache, monkeypatch) -> None:
    monkeypatch.setattr(disk_cache, "_sizes", {})
    monkeypatch.setenv("XFRONT_CACHE_MAX_BYTES", "5000")
    now = time.time()
    for i in range(4):
        disk_cache.store(f"e{i}", {}, b"x" * 1000)
        os.utime(cache / f"e{i}", (now - 1000 + i, now - 1000 + i))
    os.utime(cache / "e0", (now, now))                       # used just now
    disk_cache.store("e4", {}, b"x" * 1000)
    assert sorted(p.name for p in cache.iterdir()) == ["e0", "e2", "e3", "e4"]
    disk_cache.store("huge", {}, b"x" * 6000)
    assert not (cache / "huge").exists()


def test_leftovers_of_dead_processes_go(cache, monkeypatch) -> None:
    monkeypatch.setattr(disk_cache, "_sizes", {})
    cache.mkdir(mode=0o700)
    old, new = cache / ".old.1.1", cache / ".new.1.1"
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (1, 1))
    disk_cache.store("entry", {}, b"x")
    assert not old.exists() and new.exists()


def test_a_hit_renews_an_old_entry(cache) -> None:
    disk_cache.store("entry", {"a": 1}, b"blob")
    os.utime(cache / "entry", (1, 1))
    assert disk_cache.load("entry") == ({"a": 1}, b"blob")
    assert time.time() - (cache / "entry").stat().st_mtime < 60


def test_clear(cache) -> None:
    disk_cache.store("entry", {}, b"x")
    disk_cache.clear()
    assert not list(cache.iterdir())
