"""What launchers say of processes, by the variables of their documentation; and wrong arguments."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any

import pytest

import xfront
from lowering import clients
from tests.device_checks import ROOT
from xfront.distributed import clusters
from xfront.distributed.clusters import Cluster, detect, first_host, free_port, port_of

SLURM = {"SLURM_JOB_ID": "8215", "SLURM_PROCID": "5", "SLURM_NTASKS": "8",
         "SLURM_STEP_NODELIST": "node[003-004],other", "SLURM_LOCALID": "1"}
OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3",
            "OMPI_COMM_WORLD_LOCAL_RANK": "1",
            "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911"}


@pytest.mark.parametrize(("hosts", "first"), [
    ("node003", "node003"), ("a,b,c", "a"), ("node[003-007,9],other1", "node003"),
    ("rack[2,5]-gpu,x", "rack2-gpu"), ("n[7]", "n7"), ("big-1.site.org,n[1-2]", "big-1.site.org")])
def test_first_host_of_slurm(hosts: str, first: str) -> None:
    assert first_host(hosts) == first


def test_slurm() -> None:
    found = detect(None, SLURM)
    assert found == Cluster(f"node003:{port_of('8215')}", 8, 5, (1,))
    assert detect("slurm", SLURM) == found
    assert detect("deactivate", SLURM) is None
    alone = {k: v for k, v in SLURM.items() if k != "SLURM_PROCID"}     # a shell of salloc
    assert detect(None, alone) is None


def test_ports_are_those_that_programs_may_use() -> None:
    assert {49152 <= port_of(str(job)) < 57344 for job in (0, 17, 8191, 8192, 10**9)} == {True}
    assert port_of("17") == port_of("17") != port_of("18")


@pytest.mark.parametrize(("uri", "host"), [
    ("1531576320.0;tcp://10.96.0.1,10.148.0.1:34911", "10.96.0.1"),
    ("1531576320.0;tcp://10.96.0.1:34911", "10.96.0.1"),
    ("1531576320.0;tcp6://[fe80::1]:34911", "[fe80::1]"),
    ("1531576320.0;tcp6://[fe80::1,fe80::2]:34911", "[fe80::1]")])
def test_open_mpi(uri: str, host: str) -> None:
    found = detect(None, {**OPEN_MPI, "OMPI_MCA_orte_hnp_uri": uri})
    assert found == Cluster(f"{host}:{port_of('1531576320')}", 4, 3, (1,))


def test_open_mpi_that_does_not_say_where() -> None:
    env = {k: v for k, v in OPEN_MPI.items() if "uri" not in k}
    with pytest.raises(ValueError, match="mpi4py"):
        detect("ompi", env)


def test_kubernetes() -> None:
    env = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "2", "HOSTNAME": "p-2-x"}
    answers: dict[str, Any] = {
        "pods/p-2-x": {"metadata": {"labels": {"batch.kubernetes.io/job-name": "p"}},
                       "spec": {"subdomain": "net"}},
        "jobs/p": {"spec": {"completions": 4, "parallelism": 4}}}
    assert clusters.kubernetes(env, answers.__getitem__) == Cluster("p-0.net:1234", 4, 2)
    answers["pods/p-2-x"]["spec"] = {}
    with pytest.raises(ValueError, match="headless service"):
        clusters.kubernetes(env, answers.__getitem__)
    assert clusters.kubernetes({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) is None


def test_cloud_tpu() -> None:
    env = {"TPU_WORKER_ID": "1", "TPU_WORKER_HOSTNAMES": "t0.net,t1.net"}
    assert detect(None, env) == Cluster("t0.net:8476", 2, 1)
    slices = {**env, "MEGASCALE_NUM_SLICES": "3", "MEGASCALE_SLICE_ID": "2",
              "MEGASCALE_COORDINATOR_ADDRESS": "s0.net:9999"}
    assert detect("gcetpu", slices) == Cluster("s0.net:8477", 6, 5)
    machine = {"TPU_ACCELERATOR_TYPE": "v5litepod-16"}
    answers = {"agent-worker-number": "3",
               "worker-network-endpoints": "unknown:unknown:10.0.0.5,unknown:unknown:10.0.0.6"}
    assert clusters.cloud_tpu(machine, answers.get) == Cluster("10.0.0.5:8476", 2, 3)
    assert clusters.cloud_tpu(machine, lambda key: None) is None


def test_nothing_is_detected_where_no_launcher_is() -> None:
    assert detect(None, {}) is None
    with pytest.raises(ValueError, match="not started by it"):
        detect("slurm", {})
    with pytest.raises(ValueError, match=r"ompi, slurm, k8s, gcetpu, mpi4py"):
        detect("lsf", {})


@pytest.fixture
def unused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before the first use of a device, outside of any cluster."""
    monkeypatch.setattr(clients, "is_initialized", lambda: False)
    monkeypatch.setattr("xfront.distributed.membership.detect", lambda method, env: None)


@pytest.mark.usefixtures("unused")
@pytest.mark.parametrize(("error", "words", "arguments"), [
    (ValueError, "coordinator_address should be defined", {}),
    (ValueError, "Number of processes must be defined", {"coordinator_address": "localhost:1234"}),
    (ValueError, "process id of the current process must be defined",
     {"coordinator_address": "localhost:1234", "num_processes": 2}),
    (ValueError, "host:port",
     {"coordinator_address": "localhost", "num_processes": 2, "process_id": 0}),
    (ValueError, r"in \[0, num_processes\)",
     {"coordinator_address": "localhost:1", "num_processes": 2, "process_id": 2}),
    (NotImplementedError, "slice_index", {"slice_index": 1}),
    (TimeoutError, "does not listen", {"coordinator_address": "localhost:1", "num_processes": 2,
                                       "process_id": 1, "initialization_timeout": 0}),
])
def test_arguments_are_refused(error: type[Exception], words: str, arguments: dict[str, Any]
                               ) -> None:
    with pytest.raises(error, match=words):
        xfront.distributed.initialize(**arguments)
    assert not xfront.distributed.is_initialized()


@pytest.mark.usefixtures("unused")
def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("", 0)) as other, pytest.raises(RuntimeError, match="cannot listen"):
        port = other.getsockname()[1]
        xfront.distributed.initialize(f"localhost:{port}", 2, 0,
                                      coordinator_bind_address=f"0.0.0.0:{port}")


def test_after_the_first_use_of_a_device_it_is_too_late() -> None:
    xfront.devices()
    with pytest.raises(RuntimeError, match="before any devices"):
        xfront.distributed.initialize("localhost:1", 1, 0)
    xfront.distributed.shutdown()                # nothing was joined


def test_one_process_started_by_slurm_joins_itself() -> None:
    program = f"""
import xfront
xfront.distributed.initialize("localhost:{free_port()}")
assert xfront.distributed.is_initialized() and xfront.process_count() == 1
assert float(xfront.numpy.ones(3).sum()) == 3.0
"""
    env = {**os.environ, **SLURM, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=ROOT, env=env,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_processes_that_do_not_come_are_an_error() -> None:
    program = f"""
import xfront
xfront.distributed.initialize("localhost:{free_port()}", 2, 0, initialization_timeout=1)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=ROOT,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    complaint = "TimeoutError: not all of the 2 processes connected to localhost:"
    assert complaint in done.stderr, done.stderr
