"""Programs compiled for devices that are not here, and how plugins are found and loaded.

What compiles needs the plugin of its platform and no device; `make accelerators` installs both.
"""

from __future__ import annotations

import functools
import os
import re
import types
from importlib import metadata
from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from lowering import clients, plugins, topologies
from xfront.ad_checkpoint import checkpoint_name
from xfront.experimental import io_callback
from xfront.experimental.topologies import get_topology_desc, make_mesh
from xfront.memory import Space
from xfront.sharding import Mesh, NamedSharding, PartitionSpec
from xfront_ir.errors import MissingRule

needs_tpu = pytest.mark.skipif(plugins.library_of("tpu") is None,
                               reason="the plugin libtpu is not installed")
needs_cuda = pytest.mark.skipif(plugins.library_of("cuda") is None,
                                reason="the plugin jax-cuda12-pjrt or jax-cuda13-pjrt is not "
                                       "installed")


# --- compiled for a topology ----------------------------------------------------------------

def _loss(x: Any) -> Any:
    return jnp.tanh(x @ x.T).sum()


X = np.ones((8, 8), np.float32)


@needs_tpu
def test_a_program_for_a_tpu_can_be_read() -> None:
    made = xfront.jit(xfront.grad(_loss)).lower(X).compile(topology="v5e:2x2")
    assert made.as_text().startswith("HloModule") and ":T(8,128)" in made.as_text()
    assert made.memory_analysis().argument_size_in_bytes >= X.nbytes
    assert made.cost_analysis()["flops"] > 0
    assert len(made.serialize()) > 1000
    with pytest.raises(RuntimeError,
                       match="compiled for v5e:2x2, described devices that are not present"):
        made(X)


@needs_tpu
@pytest.mark.parametrize("name", ["svd", "eigh", "qr", "cholesky"])
def test_linear_algebra_compiles_for_a_tpu(name: str) -> None:
    decompose = getattr(jnp.linalg, name)
    text = xfront.jit(lambda x: decompose(x @ x.T)).lower(X).compile(topology="v5e").as_text()
    assert text.startswith("HloModule")


@needs_tpu
def test_a_tpu_refuses_by_a_typed_error() -> None:
    with pytest.raises(MissingRule, match="not on tpu"):
        xfront.jit(jnp.linalg.eig).lower(X).compile(topology="v5e:2x2")


@needs_tpu
def test_a_program_for_described_devices_may_hold_arrays() -> None:
    """Those that it captures stay where they are."""
    held = jnp.arange(5000.0)
    made = xfront.jit(lambda x: x + held.sum()).lower(X).compile(topology="v5e")
    assert made.memory_analysis().argument_size_in_bytes >= held.nbytes
    with pytest.raises(RuntimeError, match="not present"):
        made(X)


def _calls_the_host(x: Any) -> Any:
    def turn(carry: Any, i: Any) -> Any:
        xfront.debug.print("{} {}", i, carry.sum())
        io_callback(lambda: None, None, ordered=True)
        return xfront.pure_callback(np.sin, carry, carry), i

    mask, key = xfront.pure_callback(lambda m, b, k: (m, k), (
        xfront.ShapeDtypeStruct(x.shape, bool), xfront.ShapeDtypeStruct((2,), np.uint32)),
        x > 0, x.astype(jnp.bfloat16), xfront.random.key_data(xfront.random.key(0)))
    return xfront.lax.scan(turn, x, jnp.arange(3)), mask, key


@needs_tpu
def test_host_calls_compile_for_a_tpu() -> None:
    text = xfront.jit(_calls_the_host).lower(X).compile(topology="v5e").as_text()
    channels = set(re.findall(r'_xla_host_transfer_rendezvous="(\d+)"', text))
    assert len(channels) == 12


@needs_tpu
def test_host_calls_over_described_devices() -> None:
    """The first device makes the calls, with whole values."""
    mesh = make_mesh(get_topology_desc("v5e:2x2", "tpu"), (4,), ("x",))

    def called(x: Any) -> Any:
        xfront.debug.print("{}", x.sum())
        return xfront.pure_callback(np.sin, x, x)

    lowered = xfront.jit(called, in_shardings=NamedSharding(mesh, PartitionSpec("x"))).lower(
        xfront.ShapeDtypeStruct(X.shape, X.dtype))
    assert lowered.as_text().count("device_ids=[0]") == 1
    assert "num_partitions=4" in lowered.compile().as_text()


@needs_tpu
def test_a_program_over_described_devices_has_its_exchanges() -> None:
    """As a mesh of them says, or as one of as many devices here says, if there are so many."""
    topology = get_topology_desc("v5e:2x2", "tpu")
    mesh = make_mesh(topology, (2, 2), ("x", "y"))
    rows = NamedSharding(mesh, PartitionSpec("x", "y"))
    made = xfront.jit(_loss, in_shardings=rows).lower(
        xfront.ShapeDtypeStruct(X.shape, X.dtype)).compile()
    assert "all-reduce" in made.as_text() and "num_partitions=4" in made.as_text()
    assert made.input_shardings[0][0].is_equivalent_to(rows, 2)
    one = Mesh(np.array(xfront.devices()[:1]), ("x",))
    spread = xfront.jit(_loss, in_shardings=NamedSharding(one, PartitionSpec("x"))).lower(X)
    assert spread.compile(topology="v5e:2x2").as_text().startswith("HloModule")


@needs_tpu
@pytest.mark.parametrize("scanned", [False, True])
def test_checkpoints_that_offload_keep_what_they_save_in_the_hosts_memory(scanned: bool) -> None:
    policy = xfront.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["h"], offload_src="device",
        offload_dst="pinned_host")

    @functools.partial(xfront.checkpoint, policy=policy)
    def block(x: Any, w: Any) -> Any:
        return jnp.tanh(checkpoint_name(jnp.sin(x @ w), "h") @ w)

    def loss(x: Any, ws: Any) -> Any:
        if scanned:
            return xfront.lax.scan(lambda x, w: (block(x, w), None), x, ws)[0].sum()
        return functools.reduce(block, ws, x).sum()

    x, ws = np.ones((128, 128), np.float32), np.ones((3, 128, 128), np.float32)
    made = xfront.jit(xfront.grad(loss)).lower(x, ws).compile(topology="v5e")
    assert made.memory_analysis().host_temp_size_in_bytes == 3 * x.nbytes
    assert "S(5)" in made.as_text()                        # the memory space of the host


@needs_tpu
def test_moments_in_the_hosts_memory_are_read_and_updated_there() -> None:
    """Arguments and results in pinned memory, divided over four chips; rows of a scan as well."""
    mesh = make_mesh(get_topology_desc("v5e:2x2", "tpu"), (4,), ("x",))
    rows = NamedSharding(mesh, PartitionSpec("x"))
    host = rows.with_memory_kind("pinned_host")
    whole = NamedSharding(mesh, PartitionSpec(), memory_kind="pinned_host")

    def step(w: Any, moments: Any, slopes: Any) -> Any:
        moments = 0.9 * xfront.device_put(moments, Space.Device) + slopes
        return w - 0.1 * moments, xfront.device_put(moments, Space.Host)

    x = xfront.ShapeDtypeStruct((256, 256), np.float32)
    analysis = xfront.jit(step, in_shardings=(rows, host, rows), out_shardings=(rows, host)).lower(
        x, x, x).compile().memory_analysis()
    quarter = 256 * 256
    assert analysis.host_argument_size_in_bytes == analysis.host_output_size_in_bytes == quarter

    def layers(x: Any, ws: Any) -> Any:
        return xfront.lax.scan(lambda x, w: (jnp.tanh(x @ xfront.device_put(w, Space.Device)),
                                             None), x, ws)[0].sum()

    weights = xfront.ShapeDtypeStruct((3, 256, 256), np.float32)
    analysis = xfront.jit(xfront.grad(layers, (0, 1)), in_shardings=(rows, whole), out_shardings=(
        rows, whole)).lower(x, weights).compile().memory_analysis()
    assert analysis.host_argument_size_in_bytes == 12 * quarter
    assert analysis.host_output_size_in_bytes == 12 * quarter


@needs_cuda
def test_a_program_for_an_h100_can_be_read() -> None:
    made = xfront.jit(xfront.grad(_loss)).lower(X).compile(topology="h100")
    assert made.as_text().startswith("HloModule")
    assert made.memory_analysis().argument_size_in_bytes >= X.nbytes
    assert len(made.serialize()) > 1000
    with pytest.raises(NotImplementedError,
                       match="for h100:1x1x1 does not provide a cost analysis"):
        made.cost_analysis()
    with pytest.raises(MissingRule, match="not on cuda"):
        xfront.jit(xfront.scipy.linalg.schur).lower(X).compile(topology="h100")


@needs_cuda
def test_a_program_over_four_h100s_has_one_exchange() -> None:
    """The gradient of a loss whose examples are divided: its terms are added once."""
    topology = get_topology_desc("h100:1x1x4", "cuda")
    assert len(topology.devices) == 4
    mesh = make_mesh(topology, (4,), ("data",))
    whole, rows = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), ("data",)))

    def step(w: Any, x: Any) -> Any:
        return w - 0.1 * xfront.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)

    made = xfront.jit(step, in_shardings=(whole, rows), out_shardings=whole).lower(X, X).compile()
    assert "num_partitions=4" in made.as_text()
    assert len(re.findall(r" all-reduce(-start)?\(", made.as_text())) == 1
    assert made.memory_analysis().argument_size_in_bytes < 2 * X.nbytes
    assert made.input_shardings[0][1].is_equivalent_to(rows, 2)
    assert made.output_shardings.is_equivalent_to(whole, 2)
    assert len(made.serialize()) > 1000
    with pytest.raises(RuntimeError, match="h100:1x1x4, described devices that are not present"):
        made(X, X)
    first = xfront.jit(step).lower(X, X).compile(topology="h100:1x1x4")
    assert "num_partitions" not in first.as_text().partition("\n")[0]


@needs_cuda
def test_linear_algebra_for_an_h100_is_cusolvers() -> None:
    made = xfront.jit(jnp.linalg.svd).lower(X).compile(topology="h100")
    assert "cusolver_gesvdj_ffi" in made.as_text()


# --- what is asked for ------------------------------------------------------------------------

@pytest.mark.parametrize(("name", "platform", "error", "message"), [
    ("b200", None, ValueError, "topology 'b200' is not known"),
    ("", "cpu", NotImplementedError, "topology not implemented for cpu"),
    ("h100:4", None, ValueError, "three numbers, slices x hosts x devices"),
    ("v5e:2x2", "rocm", NotImplementedError, "not implemented for rocm"),
])
def test_topologies_that_do_not_exist(name: str, platform: str | None, error: type[Exception],
                                      message: str) -> None:
    with pytest.raises(error, match=message):
        topologies.described(name, platform)


def test_what_is_here_is_a_topology_too() -> None:
    here = get_topology_desc()
    assert list(here.devices) == list(xfront.devices())
    assert not any(map(topologies.is_described, here.devices))
    with pytest.raises(ValueError, match="must equal the product of mesh_shape"):
        make_mesh(here, (len(here.devices) + 1,), ("x",))
    assert make_mesh(here, (len(here.devices),), ("x",)).devices.size == len(here.devices)


class _Extension(types.SimpleNamespace):
    """In place of jaxlib's: notes what it is asked."""

    def __init__(self, loaded: bool) -> None:
        calls: list[str] = []
        super().__init__(
            calls=calls, pjrt_plugin_loaded=lambda name: loaded,
            pjrt_plugin_initialized=lambda name: loaded,
            load_pjrt_plugin=lambda name, path, c_api: calls.append(f"load {path}") or "c api",
            initialize_pjrt_plugin=lambda name: calls.append("initialize"))


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`extension(loaded)`: what stands in place of jaxlib's functions for plugins."""
    import jaxlib._jax as jax_extension

    def replaced(loaded: bool) -> _Extension:
        made = _Extension(loaded)
        for name, function in vars(made).items():
            if name != "calls":
                monkeypatch.setattr(jax_extension, name, function)
        return made

    monkeypatch.setattr(plugins, "_LOADED", {})
    monkeypatch.setattr(plugins, "_REGISTERED", {"own": "/own.so"})
    return replaced


def test_a_plugin_is_loaded_once(extension: Any) -> None:
    made = extension(False)
    assert plugins.load("own") == plugins.load("own") == "c api"
    assert made.calls == ["load /own.so", "initialize"]


def test_a_plugin_that_is_there_already_is_taken(extension: Any) -> None:
    """Notebooks have some; to load one twice is an error that hides the first reason."""
    made = extension(True)
    assert plugins.load("own") is None
    assert made.calls == []


def test_a_plugin_that_is_not_installed_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "library_of", lambda platform: None)
    monkeypatch.setattr(plugins, "_LOADED", {})
    with pytest.raises(RuntimeError, match=r"no tpu plugin .* install '\.\[tpu"):
        topologies.described("v6e:8x8")


def test_plugins_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "rocket:/opt/rocket.so, tpu:/own/libtpu.so")
    assert plugins.library_of("rocket") == "/opt/rocket.so"
    assert plugins.library_of("tpu") == "/own/libtpu.so"
    assert plugins.is_known("rocket") and "rocket" in plugins.present()
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "rocket")
    with pytest.raises(ValueError, match="must hold name:path"):
        plugins.library_of("rocket")


def test_plugins_of_other_packages_are_found(tmp_path: Any, monkeypatch: pytest.MonkeyPatch
                                             ) -> None:
    """By their entry point; the package is not imported."""
    package = tmp_path / "rocket_plugins" / "engine"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('imported')")
    (package / "pjrt_rocket.so").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = types.SimpleNamespace(name="rocket", module="rocket_plugins.engine")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point])
    assert plugins.library_of("rocket") == str(package / "pjrt_rocket.so")
    assert plugins.is_known("rocket")


def test_what_libtpu_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"LIBTPU_INIT_ARGS": "--own=1", "TPU_WORKER_ID": "3"})
    plugins._tell_libtpu(True)
    plugins._tell_libtpu(True)
    assert os.environ["LIBTPU_INIT_ARGS"] == f"--own=1 --{plugins._BARRIER}=true"
    assert "TPU_SKIP_MDS_QUERY" not in os.environ
    plugins._tell_libtpu(False)
    assert os.environ["TPU_WORKER_ID"] == "3" and os.environ["TPU_SKIP_MDS_QUERY"] == "1"


def test_programs_of_plugins_are_kept_by_their_version() -> None:
    client = types.SimpleNamespace(platform_version="v1", _raw_platform="cuda")
    device = types.SimpleNamespace(platform="gpu", device_kind="H100", client=client)
    assert clients.device_kind(device) == "gpu:H100:v1:"
    assert clients.platform_of(device) == "cuda"
