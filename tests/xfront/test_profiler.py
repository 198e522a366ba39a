"""Profiles: what is written, what is refused."""

from __future__ import annotations

import gzip
import json

import pytest

import xfront
import xfront.numpy as jnp
from xfront import profiler


def test_profiles_of_time(tmp_path):
    @profiler.annotate_function
    def step(x):
        with profiler.TraceAnnotation("inner work", rows=3):
            return jnp.sin(x).block_until_ready()

    with profiler.trace(tmp_path, create_perfetto_trace=True):
        for i in range(2):
            with profiler.StepTraceAnnotation("train", step_num=i):
                step(jnp.ones(3))
        with pytest.raises(RuntimeError, match="already been started"):
            profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match="No profile"):
        profiler.stop_trace()
    (folder,) = tmp_path.glob("plugins/profile/*")
    (file,) = folder.glob("*.xplane.pb")
    assert "/host:CPU" in [plane.name for plane in profiler.ProfileData.from_file(str(file)).planes]
    events = json.loads(gzip.decompress((folder / "perfetto_trace.json.gz").read_bytes()))
    names = [e.get("name") for e in events["traceEvents"]]
    assert names.count("train") == 2 and names.count("inner work") == 2
    assert any(name and name.endswith("step") for name in names)
    with pytest.raises(NotImplementedError, match="create_perfetto_trace"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)


def test_profiles_of_memory(tmp_path):
    kept = jnp.ones(1000)
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert gzip.decompress((tmp_path / "memory.prof").read_bytes())
    assert gzip.decompress(profiler.device_memory_profile("cpu")) and kept.size == 1000
    with pytest.raises(RuntimeError, match="nowhere"):
        profiler.device_memory_profile("nowhere")


def test_the_server():
    with pytest.raises(ValueError, match="No active"):
        profiler.stop_server()
    assert profiler.start_server(0) is not None
    with pytest.raises(ValueError, match="Only one"):
        profiler.start_server(0)
    profiler.stop_server()


def test_clients_by_platform():
    from xfront.extend import backend

    assert backend.get_backend() is backend.get_backend("cpu") is backend.backends()["cpu"]
    assert backend.get_default_device() == xfront.devices()[0]
    with xfront.default_device(xfront.devices("cpu")[0]):
        assert backend.get_default_device() == xfront.devices()[0]
    options = backend.get_compile_options(1, 1, env_options_overrides={"xla_dump_to": ""})
    assert options.num_replicas == options.num_partitions == 1
    with pytest.raises(RuntimeError, match="nowhere"):
        backend.get_backend("nowhere")


def test_sessions(tmp_path):
    session = profiler.ProfileSession()
    with pytest.raises(RuntimeError, match="stop the session first"):
        session.export_profile_data(tmp_path)
    with pytest.raises(RuntimeError, match="No profile started"):
        session.stop()
    with session:
        jnp.sin(jnp.ones(3)).block_until_ready()
        assert session.is_running
    data = session.profile_data
    assert not session.is_running and "/host:CPU" in [plane.name for plane in data.planes]
    profiler.export_profile_data(data, tmp_path, session_id="mine", create_perfetto_trace=True)
    names = [path.name for path in (tmp_path / "plugins/profile/mine").iterdir()]
    assert "perfetto_trace.json.gz" in names and any(n.endswith(".xplane.pb") for n in names)
    with pytest.raises(NotImplementedError, match="give the ProfileSession"):
        profiler.export_profile_data(profiler.ProfileData.from_serialized_xspace(b""), tmp_path)
    with pytest.raises(TypeError, match="expected a ProfileData"):
        profiler.export_profile_data(3, tmp_path)
