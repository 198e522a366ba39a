"""Every option is done, refused or idle, and says so; what the small ones do."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from lowering import disk_cache, plugins
from xfront.base.config import ConfigNamespace, config, documented, option
from xfront.base.option_table import IDLE, REFUSED

pytestmark = pytest.mark.usefixtures("restored")

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = json.loads((ROOT / "tests/recorded/options.json").read_text())

OWN_DEFAULTS = {
    "jax_persistent_cache_min_compile_time_secs": "small programs are worth keeping, too",
    "jax_softmax_custom_jvp": "softmax has its own derivative",
    "jax_transfer_guard": "not one option: it stands for those of the three directions",
}
"""Options whose default is not the one that users expect, and why."""


def test_all_that_users_expect_are_known() -> None:
    known = {name: default for name, default, _, _ in documented()}
    missing = {*EXPECTED} - {*known} - {"jax_transfer_guard"}
    assert missing == set()
    others = {n for n in EXPECTED if n in known and known[n] != EXPECTED[n]}
    assert others == {*OWN_DEFAULTS} - {"jax_transfer_guard"}


def test_each_has_documentation_and_one_standing() -> None:
    for name, _, how, doc in documented():
        assert how in ("done", "refused", "idle") and len(doc) > 10, name
        assert (how == "refused") == (name in REFUSED) and (how == "idle") == (name in IDLE), name


def test_the_page_lists_them(update_golden: bool) -> None:
    rows = [f"| `{name}` | `{default!r}` | {how} | {' '.join(doc.split())} |"
            for name, default, how, doc in documented()]
    page = ROOT / "docs/options.md"
    if update_golden:
        head = page.read_text().split("| `jax_")[0]
        page.write_text(head + "\n".join(rows) + "\n")
    assert [r for r in page.read_text().splitlines() if r.startswith("| `")] == rows


OTHER = {bool: lambda x: not x, int: lambda x: x + 1, float: lambda x: x + 0.5,
         str: lambda x: x + "x", type(None): lambda x: "x"}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_ones_name_themselves_and_what_to_do(name: str) -> None:
    default, instead = REFUSED[name]
    config.update(name, default)
    with pytest.raises(NotImplementedError, match=name) as caught:
        config.update(name, OTHER[type(default)](default))
    assert instead in str(caught.value) and config.read(name) == default
    with pytest.raises(NotImplementedError, match=name):
        option(name)(OTHER[type(default)](default))


@pytest.mark.parametrize("name", sorted(IDLE))
def test_idle_ones_take_values_of_their_type(name: str) -> None:
    default, _ = IDLE[name]
    config.update(name, OTHER[type(default)](default))
    assert config.read(name) == OTHER[type(default)](default)


def there_are() -> set[str]:
    """The words for which something stands here: modules, and what public modules offer."""
    modules = {part.lower() for path in (ROOT / "xfront").rglob("*.py")
               for part in path.relative_to(ROOT).with_suffix("").parts}
    found = set()
    for path in (ROOT / "xfront").rglob("*.py"):
        if "__all__" in (text := path.read_text()):
            found |= {*re.findall(r'"(\w+)"', text[text.index("__all__"):])}
    return modules | found


ABSENT = re.compile(r"there (?:is|are) no (?:client for )?(\w+)")
NAMED = re.compile(r"\b(?:xfront|ad_checkpoint|experimental)\.[\w.]*\w|\b(?:jax|xfront)_\w+")


def test_reasons_are_true() -> None:
    """What a reason says to be absent is absent; what it tells the user to write exists."""
    here, wrong = there_are(), []
    known = {name for name, _, _, _ in documented()}
    for name, (_, reason) in {**REFUSED, **IDLE}.items():
        wrong += [f"{name}: there is {w}" for w in ABSENT.findall(reason)
                  if w in here or w.lower() in here]
        for written in NAMED.findall(reason):
            if "." not in written:
                there = written in known
            else:
                module, _, last = written.rpartition(".")
                module = module if module.startswith("xfront") else f"xfront.{module}"
                there = hasattr(importlib.import_module(module), last) or bool(
                    importlib.util.find_spec(f"{module}.{last}"))
            wrong += [] if there else [f"{name}: there is no {written}"]
    assert not wrong, "\n".join(wrong)
    assert "clear_caches" in here and ABSENT.findall("there are no meshes here") == ["meshes"]


def read_by_sources() -> str:
    """All code but the table of options."""
    return "".join(path.read_text() for folder in ("xfront", "lowering") for path in
                   sorted((ROOT / folder).rglob("*.py")) if path.name != "option_table.py")


def test_what_is_done_is_read() -> None:
    """A done option is read, watched or part of jaxlib's state: by the name of its object, by its
    attribute of `config`, or by a watcher."""
    text = read_by_sources()
    aliases = re.findall(r"\b(\w+) as (\w+)", text)
    module = importlib.import_module("xfront.base.config")
    held = {id(v): k for k, v in vars(module).items() if type(v).__name__ == "Option"}
    for name, _, how, _ in documented():
        found = option(name)
        variable = held.get(id(found))
        called = {variable, *(alias for one, alias in aliases if one == variable)} - {None}
        read = f"config.{name}" in text or any(
            f"{one}.{how_read}" in text for one in called for how_read in ("value", "state", "get"))
        watched = bool(found._watchers) or found._on_local is not None
        of_jaxlib = name in ("jax_enable_x64", "jax_numpy_dtype_promotion")   # by their states
        if how == "done":
            assert read or watched or of_jaxlib, f"nothing reads {name}"


def test_refused_by_the_environment() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import xfront"], env={**os.environ, "JAX_ENABLE_PGLE": "1"},
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert "environment variable JAX_ENABLE_PGLE: jax_enable_pgle='1' is not" in done.stderr


def test_the_environment_reaches_the_cache_and_the_compiler(tmp_path: Path) -> None:
    script = ("import xfront, lowering.disk_cache as d, lowering.compile as c;"
              "print(d.directory(), d.is_enabled(), dict(c.all_of_process()))")
    env = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
           "JAX_ENABLE_COMPILATION_CACHE": "0", "JAX_OPTIMIZATION_LEVEL": "O1"}
    done = subprocess.run([sys.executable, "-c", script], env=env, cwd=ROOT, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.stdout.split(None, 2)[:2] == [str(tmp_path), "False"], done.stderr
    assert "'optimization_level': 'O1'" in done.stdout


# --- the command line -----------------------------------------------------------------------

def test_flags_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [
        "prog", "--jax_debug_nans", "--nojax_pprint_use_color", "--jax_default_matmul_precision",
        "highest", "--xfront_random_seed_offset=3", "--other=1", "--", "--jax_debug_infs"])
    config.parse_flags_with_absl()
    assert config.jax_debug_nans and not config.jax_pprint_use_color
    assert config.jax_default_matmul_precision == "highest" and config.jax_random_seed_offset == 3
    assert not config.jax_debug_infs
    monkeypatch.setattr(sys, "argv", ["prog", "--jax_enable_pgle=true"])
    with pytest.raises(NotImplementedError, match="jax_enable_pgle"):
        config.parse_flags_with_absl()


def test_absl_learns_of_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    defined: list[tuple[str, str]] = []

    class Known(list):
        parsed = False

        def mark_as_parsed(self) -> None:
            self.parsed = True

    class Flags:
        FLAGS = Known(["jax_debug_nans"])
        DEFINE_boolean = staticmethod(lambda name, default, doc: defined.append((name, "bool")))
        DEFINE_string = staticmethod(lambda name, default, doc: defined.append((name, "text")))

    monkeypatch.setitem(sys.modules, "absl.flags", Flags)
    monkeypatch.setattr(sys, "argv", ["prog"])
    config.parse_flags_with_absl()
    assert ("jax_enable_x64", "bool") in defined and ("jax_platforms", "text") in defined
    assert "jax_debug_nans" not in [name for name, _ in defined]
    assert Flags.FLAGS.parsed


# --- the cache on disk, dumps, the compiler -------------------------------------------------

def test_the_cache_on_disk(tmp_path: Path) -> None:
    usual = disk_cache.directory()
    config.update("jax_compilation_cache_dir", str(tmp_path))
    assert disk_cache.directory() == str(tmp_path)
    for name, value, kept in (
            ("jax_persistent_cache_min_compile_time_secs", 1e6, False),
            ("jax_persistent_cache_min_entry_size_bytes", 10**9, False),
            ("jax_enable_compilation_cache", False, False),
            ("jax_compilation_cache_max_size", 0, False), ("jax_debug_infs", False, True)):
        config.update(name, value)
        disk_cache.store("entry", {}, b"code", 0.5)
        assert (tmp_path / "entry").exists() == kept, name
        config.update(name, option(name).default)
    config.update("jax_compilation_cache_dir", None)
    assert disk_cache.directory() == usual


def test_errors_of_the_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    config.update("jax_compilation_cache_dir", str(tmp_path / "file" / "below"))
    disk_cache.store("entry", {}, b"code")
    config.update("jax_raise_persistent_cache_errors", True)
    with pytest.raises(OSError, match="file"):
        disk_cache.store("entry", {}, b"code")


def test_programs_are_written_where_they_are_asked_for(tmp_path: Path) -> None:
    config.update("jax_dump_ir_to", str(tmp_path))
    config.update("jax_dump_ir_modes", "stablehlo,jaxpr")
    jax.jit(lambda x: x * 3.0 + 17.25)(1.0)
    [ir] = tmp_path.glob("*_ir.txt")
    [module] = tmp_path.glob("*.mlir")
    assert "mul" in ir.read_text() and "stablehlo.multiply" in module.read_text()
    with pytest.raises(ValueError, match="jax_dump_ir_modes"):
        config.update("jax_dump_ir_modes", "pprof")


@pytest.mark.parametrize(("name", "value"), [
    ("jax_optimization_level", "O1"), ("jax_memory_fitting_level", "O0"),
    ("jax_disable_most_optimizations", True), ("jax_compiler_enable_remat_pass", False),
    ("jax_xla_profile_version", 1)])
def test_what_xla_is_told(name: str, value: Any) -> None:
    from lowering import compile
    from lowering.forms.extras import NOTHING

    function = jax.make_jaxpr(jnp.sin)(1.0).ir
    before = compile.all_options("jit", function, "gpu", (), NOTHING)
    config.update(name, value)
    assert compile.all_options("jit", function, "gpu", (), NOTHING) != before
    np.testing.assert_allclose(jax.jit(jnp.tan)(0.5), np.tan(0.5), rtol=1e-6)
    config.update(name, option(name).default)
    assert compile.all_options("jit", function, "gpu", (), NOTHING) == before


def test_efforts_are_from_minus_one_to_one() -> None:
    with pytest.raises(ValueError, match="jax_memory_fitting_effort"):
        config.update("jax_memory_fitting_effort", 2.0)


def test_visible_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    from lowering import clients

    config.update("jax_cuda_visible_devices", "0, 2")
    assert clients._visible["cuda"] == "0, 2"
    with pytest.raises(ValueError, match="jax_cuda_visible_devices"):
        config.update("jax_cuda_visible_devices", "first")
    monkeypatch.setattr(plugins, "library_of", lambda platform: None)
    with pytest.raises(RuntimeError, match="no cuda plugin"):
        plugins.make_client("cuda", "0, 2")


def test_what_must_be_chosen_before_the_first_device() -> None:
    jax.devices()
    with pytest.raises(RuntimeError, match="cpu_enable_async_dispatch"):
        config.update("jax_cpu_enable_async_dispatch", False)
    assert config.jax_cpu_enable_async_dispatch


# --- random keys and dtypes -----------------------------------------------------------------

def test_the_offset_of_seeds() -> None:
    wanted = [np.asarray(jax.random.key_data(jax.random.key(s))) for s in (3, 2, -2)]
    raw = np.asarray(jax.random.PRNGKey(4))
    config.update("jax_random_seed_offset", 3)
    for seed, words in zip((0, 2**32 - 1, -5), wanted, strict=True):
        np.testing.assert_array_equal(jax.random.key_data(jax.random.key(seed)), words)
    np.testing.assert_array_equal(jax.random.PRNGKey(1), raw)
    many = jax.vmap(jax.random.key)(jnp.arange(2))
    np.testing.assert_array_equal(jax.random.key_data(many[0]), wanted[0])
    np.testing.assert_array_equal(jax.random.key_data(jax.random.key(np.int8(127))),
                                  [0, 2**32 - 126])


def test_typed_keys_of_prngkey() -> None:
    with jax.enable_custom_prng(True):
        assert jax.dtypes.issubdtype(jax.random.PRNGKey(0).dtype, jax.dtypes.prng_key)
    assert jax.random.PRNGKey(0).dtype == np.uint32


def test_raw_keys() -> None:
    raw = jax.random.PRNGKey(0)
    jax.random.uniform(raw)
    with jax.legacy_prng_key("error"):
        for use in (jax.random.uniform, jax.random.split, jax.random.key_data,
                    lambda k: jax.random.fold_in(k, 1), jax.jit(jax.random.bits)):
            with pytest.raises(ValueError, match="legacy uint32 key"):
                use(raw)
        jax.random.uniform(jax.random.key(0))
    with jax.legacy_prng_key("warn"), pytest.warns(UserWarning, match="legacy uint32 key"):
        jax.random.bits(raw)


def test_explicit_wide_dtypes() -> None:
    with pytest.warns(UserWarning, match="requested dtype float64 is not available"):
        jnp.zeros(3, "float64")
    config.update("jax_explicit_x64_dtypes", "error")
    with pytest.raises(ValueError, match="float64 was requested"):
        jnp.zeros(3, "float64")
    with pytest.raises(ValueError, match="float64 was requested"):
        jnp.arange(3).astype("float64")


def test_arrays_in_cycles() -> None:
    """What C++ is told; it says so on its own log."""
    from jaxlib._jax import guard_lib

    with jax.array_garbage_collection_guard("log"):
        assert guard_lib.thread_local_state().garbage_collect_array == (
            guard_lib.GarbageCollectionGuardLevel.LOG)
    assert guard_lib.thread_local_state().garbage_collect_array is None


def test_config_is_one_object() -> None:
    assert isinstance(config, ConfigNamespace)


def test_with_mesh_is_refused_where_the_option_asks_for_it() -> None:
    mesh = jax.make_mesh((1,), ("x",))
    with mesh:
        pass
    config.update("jax_disallow_mesh_context_manager", True)
    try:
        with pytest.raises(RuntimeError, match="set_mesh"), mesh:
            pass
        with jax.set_mesh(mesh):
            pass
    finally:
        config.update("jax_disallow_mesh_context_manager", False)
