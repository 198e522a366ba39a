"""Finds from the launcher how many processes there are, which one this is, and where they meet.

Each function reads the environment variables (or the service) that the launcher documents.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

Environment = Mapping[str, str]


class Cluster(NamedTuple):
    """The address where processes meet (`host:port`), their number, the number of this process, and
    the devices for it (None means all)."""

    address: str
    size: int
    rank: int
    local_devices: tuple[int, ...] | None = None


_FIRST_PORT, _PORTS = 49152, 8192


def port_of(job: str) -> int:
    """A port that all processes compute from the name of their job, by its number if it has one."""
    digits = re.sub(r"\D", "", job)
    return _FIRST_PORT + int(digits or "0") % _PORTS


# --- Slurm ------------------------------------------------------------------------------------

def first_host(hosts: str) -> str:
    """The first host of Slurm's list: `node003` of `node[003-007,9],other1`."""
    head = re.match(r"([^,\[]*)(?:\[([^\],-]*)[^\]]*\]([^,]*))?", hosts)
    if head is None or not head.group(0):
        raise ValueError(f"expected a list of hosts in Slurm's notation, got {hosts!r}")
    return "".join(part or "" for part in head.groups())


def slurm(env: Environment) -> Cluster | None:
    """The Cluster of a step of Slurm's `srun`, or None; each process takes the device of its number
    on its host."""
    names = ("SLURM_JOB_ID", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NODELIST",
             "SLURM_LOCALID")
    if any(name not in env for name in names):
        return None
    job, index, count, hosts, local = (env[name] for name in names)
    return Cluster(f"{first_host(hosts)}:{port_of(job)}", int(count), int(index), (int(local),))


# --- MPI --------------------------------------------------------------------------------------

def open_mpi(env: Environment) -> Cluster | None:
    """The Cluster of a process of Open MPI's `mpirun`, or None; `mpirun` must run on the host of
    process 0."""
    names = ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")
    if any(name not in env for name in names):
        return None
    count, index, local = (int(env[name]) for name in names)
    uri = env.get("OMPI_MCA_orte_hnp_uri", "")
    found = re.match(r"(\d+)\.\d+;tcp6?://(?:(\[[^,\]]+)|([^,:]+))", uri)
    if found is None:
        raise ValueError(
            "initialize: this is a process of Open MPI, but OMPI_MCA_orte_hnp_uri does not say "
            'where mpirun runs (Open MPI 5 does not set it); pass cluster_detection_method='
            '"mpi4py" or coordinator_address')
    job, six, four = found.groups()
    host = f"{six}]" if six else four
    return Cluster(f"{host}:{port_of(job)}", count, index, (local,))


def mpi4py() -> Cluster:
    """The Cluster of a process of any MPI, by the package mpi4py."""
    from mpi4py import MPI  # type: ignore[import-not-found]    # only where it is asked for

    world = MPI.COMM_WORLD
    index, count = world.Get_rank(), world.Get_size()
    on_host = world.Split_type(MPI.COMM_TYPE_SHARED)
    address = world.bcast(f"{socket.gethostname()}:{free_port()}" if index == 0 else None, root=0)
    return Cluster(address, count, index, (on_host.Get_rank(),))


def free_port() -> int:
    """A port on which no program listens now."""
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


# --- Kubernetes -------------------------------------------------------------------------------

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_COORDINATOR_PORT = 1234


def kubernetes(env: Environment, ask: Callable[[str], Any] | None = None) -> Cluster | None:
    """The Cluster of a pod of an indexed Job, or None. The API server tells the number of pods, if
    the pod's service account may read pods and jobs; a headless service gives process 0 its name.
    """
    if "KUBERNETES_SERVICE_HOST" not in env or "JOB_COMPLETION_INDEX" not in env:
        return None
    if ask is None:
        ask = _api_server(env)
    pod = ask(f"pods/{env.get('HOSTNAME') or socket.gethostname()}")
    labels = pod["metadata"]["labels"]
    job = labels.get("batch.kubernetes.io/job-name") or labels["job-name"]
    spec = ask(f"jobs/{job}")["spec"]
    subdomain = pod["spec"].get("subdomain")
    if not subdomain:
        raise ValueError(f"initialize: the pods of the job {job} have no host names; give the job "
                         "a headless service and its pods the name of the service as `subdomain`, "
                         "or pass coordinator_address")
    count = spec.get("completions") or spec.get("parallelism") or 1
    return Cluster(f"{job}-0.{subdomain}:{_COORDINATOR_PORT}", int(count),
                   int(env["JOB_COMPLETION_INDEX"]))


def _api_server(env: Environment) -> Callable[[str], Any]:
    account = Path(_ACCOUNT)
    token = (account / "token").read_text().strip()
    space = (account / "namespace").read_text().strip()
    trusted = ssl.create_default_context(cafile=str(account / "ca.crt"))
    host = env["KUBERNETES_SERVICE_HOST"]
    host = f"[{host}]" if ":" in host else host
    base = f"https://{host}:{env.get('KUBERNETES_SERVICE_PORT', '443')}"

    def ask(what: str) -> Any:
        group = "api/v1" if what.startswith("pods/") else "apis/batch/v1"
        url = f"{base}/{group}/namespaces/{space}/{what}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=20, context=trusted) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            raise ValueError(
                f"initialize: the API server answered {url} with status {e.code}: the service "
                "account of this pod must be allowed to get pods and jobs; otherwise pass "
                "coordinator_address, num_processes and process_id") from None

    return ask


# --- Cloud TPU --------------------------------------------------------------------------------

_METADATA = "http://metadata.google.internal/computeMetadata/v1/instance/attributes/"
_TPU_PORT = 8476
_SLICES_PORT = 8477


def cloud_tpu(env: Environment, ask: Callable[[str], str | None] | None = None) -> Cluster | None:
    """The Cluster of a host of one or several Cloud TPU slices, or None, from the variables TPU_*
    and MEGASCALE_* (which Kubernetes Engine sets), or from the machine's metadata."""
    ask = _metadata if ask is None else ask
    if "TPU_WORKER_ID" in env and "TPU_WORKER_HOSTNAMES" in env:
        index, hosts = int(env["TPU_WORKER_ID"]), env["TPU_WORKER_HOSTNAMES"].split(",")
    elif "TPU_SKIP_MDS_QUERY" not in env and _is_tpu_machine(env):
        worker, endpoints = ask("agent-worker-number"), ask("worker-network-endpoints")
        if worker is None or endpoints is None:
            return None
        index, hosts = int(worker), [end.split(":")[-1] for end in endpoints.split(",")]
    else:
        return None
    slices = int(env.get("MEGASCALE_NUM_SLICES", "1"))
    if slices > 1:
        if "MEGASCALE_COORDINATOR_ADDRESS" not in env:
            raise ValueError("initialize: MEGASCALE_NUM_SLICES says that there are several slices, "
                             "but MEGASCALE_COORDINATOR_ADDRESS, the address of the coordinator, "
                             "is not set")
        host = env["MEGASCALE_COORDINATOR_ADDRESS"].partition(":")[0]
        index += int(env["MEGASCALE_SLICE_ID"]) * len(hosts)
        return Cluster(f"{host}:{_SLICES_PORT}", slices * len(hosts), index)
    return Cluster(f"{hosts[0]}:{_TPU_PORT}", len(hosts), index)


def _is_tpu_machine(env: Environment) -> bool:
    return "TPU_ACCELERATOR_TYPE" in env or Path("/dev/accel0").exists() or \
        Path("/dev/vfio/0").exists() and "CLOUD_TPU_TASK_ID" not in env


def _metadata(key: str) -> str | None:
    request = urllib.request.Request(_METADATA + key, headers={"Metadata-Flavor": "Google"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, OSError):
        return None


# --- the choice -------------------------------------------------------------------------------

_KINDS: dict[str, Callable[[Environment], Cluster | None]] = {
    "ompi": open_mpi, "slurm": slurm, "k8s": kubernetes, "gcetpu": cloud_tpu,
    "mpi4py": lambda _: mpi4py()}
_UNASKED = ("ompi", "slurm", "k8s", "gcetpu")


def detect(method: str | None, env: Environment) -> Cluster | None:
    """The Cluster that the launcher describes; None where there is no launcher.

    Args:
      method: name of the only launcher to look for: `ompi`, `slurm`, `k8s`, `gcetpu` or `mpi4py`;
        None takes the first of them that is there, without `mpi4py`; `deactivate` takes none.
      env: the environment variables.
    Raises: ValueError for another method, or where the named launcher is not there.
    """
    if method == "deactivate":
        return None
    if method is None:
        return next((c for name in _UNASKED if (c := _KINDS[name](env)) is not None), None)
    if method not in _KINDS:
        raise ValueError(f"initialize: cluster_detection_method must be one of {', '.join(_KINDS)} "
                         f"and deactivate, got {method!r}")
    found = _KINDS[method](env)
    if found is None:
        raise ValueError(f"initialize: cluster_detection_method={method!r}, but this process was "
                         "not started by it: the environment has none of its variables")
    return found


__all__ = ["Cluster", "detect", "first_host", "free_port", "port_of"]
