"""Joining the other processes of a program, and leaving them."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lowering import clients
from lowering.processes import join

from .. import binding
from ..base.config import config
from ..binding.tracebacks import front_door
from ..eager.moving import move
from ..values.arguments import only
from . import watch
from .clusters import detect


class _Membership(NamedTuple):
    address: str
    goodbye: Callable[[], bool]


_membership: _Membership | None = None


_UNENCRYPTED = "processes meet without encryption; use a private network between the hosts"


@front_door
def initialize(coordinator_address: str | None = None, num_processes: int | None = None,
               process_id: int | None = None, local_device_ids: int | Sequence[int] | None = None,
               cluster_detection_method: str | None = None, initialization_timeout: int = 300,
               heartbeat_timeout_seconds: int = 100, shutdown_timeout_seconds: int = 300,
               coordinator_bind_address: str | None = None, slice_index: int | None = None,
               partition_index: int | None = None, mtls_cert_file: str | None = None,
               mtls_key_file: str | None = None, mtls_ca_file: str | None = None,
               mtls_peer_uri_prefix: str | None = None,
               verify_secure_credentials: bool | None = None) -> None:
    """Join the other processes of this program; call it before the first use of a device.

    Afterwards `devices()` has the devices of all processes, `local_devices()` those of this one.
    The launcher that started this process (Slurm, Open MPI, Kubernetes or Cloud TPU) gives the
    values of arguments that are None.

    Args:
      coordinator_address: `host:port` where process 0 listens, the same in all processes.
      num_processes: number of all processes.
      process_id: number of this process, in [0, num_processes).
      local_device_ids: number or numbers of the GPUs that this process uses. None means all, or
        under Slurm and MPI the GPU with the number of the process on its host.
      cluster_detection_method: name of the only launcher to look for, `ompi`, `slurm`, `k8s`,
        `gcetpu` or `mpi4py`; with `deactivate`, no launcher is looked for.
      initialization_timeout: number of seconds to wait for all processes.
      heartbeat_timeout_seconds: number of seconds without a sign of life of another process after
        which this one ends. That a process was killed is known at once.
      shutdown_timeout_seconds: number of seconds to wait for all processes to leave.
      coordinator_bind_address: `host:port` on which process 0 listens; None means every address of
        its host, at the port of coordinator_address.
      slice_index, partition_index: None only; devices themselves say to which slice they belong.
      mtls_cert_file, mtls_key_file, mtls_ca_file, mtls_peer_uri_prefix: None only; processes meet
        without encryption, so in a network that others cannot reach.
      verify_secure_credentials: None or False, for the same reason.
    Raises: RuntimeError where this was called before, where a device has been used, or where the
      port of process 0 is in use; ValueError where arguments are missing or out of range;
      TimeoutError where process 0 or another process does not come; ConnectionError where process
      0 cannot be reached.
    """
    global _membership
    only("initialize", None, "the slice of a device is read from the "
                             "device", slice_index=slice_index)
    only("initialize", None, "the slice of a device is read from the device",
         partition_index=partition_index)
    only("initialize", None, _UNENCRYPTED, mtls_cert_file=mtls_cert_file,
         mtls_key_file=mtls_key_file, mtls_ca_file=mtls_ca_file,
         mtls_peer_uri_prefix=mtls_peer_uri_prefix)
    if verify_secure_credentials is not False:
        only("initialize", None, _UNENCRYPTED, verify_secure_credentials=verify_secure_credentials)
    if _membership is not None:
        raise RuntimeError("distributed.initialize should only be called once.")
    if clients.is_initialized():
        raise RuntimeError("distributed.initialize() must be called before any devices are used: "
                           "call it first in the program")
    found = None if None not in (coordinator_address, num_processes, process_id) else detect(
        cluster_detection_method, os.environ)
    if found is not None:
        address = coordinator_address or found.address
        count = found.size if num_processes is None else num_processes
        index = found.rank if process_id is None else process_id
        devices = found.local_devices if local_device_ids is None else local_device_ids
    else:
        address, count, index = _complete(coordinator_address, num_processes, process_id)
        devices = local_device_ids
    host, port = _host_and_port("coordinator_address", address)
    if not 0 <= index < count:
        raise ValueError("initialize: process_id must be in [0, num_processes), got "
                         f"process_id={index} and num_processes={count}")
    everywhere = "[::]" if socket.has_dualstack_ipv6() else "0.0.0.0"
    bind = coordinator_bind_address or f"{everywhere}:{port}"
    if index == 0:
        _refuse_taken(*_host_and_port("coordinator_bind_address", bind))
    else:
        _wait_for(host, port, initialization_timeout)
    if devices is not None:
        chosen = (devices,) if isinstance(devices, int) else tuple(devices)
        visible = ",".join(map(str, chosen))
        clients.configure(visible={"cuda": visible, "rocm": visible})
    processes = join(
        address, index, count, bind=bind, patience=initialization_timeout,
        heartbeat=heartbeat_timeout_seconds, farewell=shutdown_timeout_seconds,
        recoverable=config.jax_enable_recoverability,
        preemptible=config.jax_enable_preemption_service)
    clients.join(processes)
    _membership = _Membership(address, watch.begin(
        processes, host, initialization_timeout, shutdown_timeout_seconds))
    binding.moved_between_processes[:] = [move]
    binding.install({"block_until_ready": _block_until_ready})
    atexit.register(_leave_at_exit)


def _block_until_ready(x: Any) -> Any:
    """Wait for the value of an array; return the array. Raises: the errors of its computation."""
    binding.wait(x)
    return x


def _complete(address: str | None, count: int | None, index: int | None) -> tuple[str, int, int]:
    if address is None:
        raise ValueError("coordinator_address should be defined: no launcher (Slurm, Open MPI, "
                         "Kubernetes, Cloud TPU) was found that provides it")
    if count is None:
        raise ValueError("Number of processes must be defined: pass num_processes")
    if index is None:
        raise ValueError("The process id of the current process must be defined: pass process_id")
    return address, count, index


def _host_and_port(name: str, address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"initialize: {name} must have the form host:port, got {address!r}")
    return host, int(port)


def _refuse_taken(host: str, port: int) -> None:
    """Refuse a port on which another program listens, because the service would share it."""
    try:
        family, kind, _, _, where = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, kind) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(where)
    except OSError as e:
        raise RuntimeError(f"initialize: process 0 cannot listen at {host}:{port}: {e}") from None


def _wait_for(host: str, port: int, seconds: float) -> None:
    """Wait until process 0 listens, because otherwise jaxlib's client would end this process."""
    until = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection((host.strip("[]"), port), timeout=5):
                return
        except OSError as e:
            if time.monotonic() > until:
                raise TimeoutError(f"initialize: process 0 does not listen at {host}:{port} after "
                                   f"{seconds:g} s: {e}") from None
            time.sleep(0.1)


def is_initialized() -> bool:
    """Whether this process has joined other processes.

    >>> xfront.distributed.is_initialized()
    False
    """
    return _membership is not None


@front_door
def shutdown() -> None:
    """Leave the other processes, once all of them do so; do nothing where none were joined.

    Raises: JaxRuntimeError where the others do not leave in time.
    """
    global _membership
    if _membership is None:
        return
    membership, processes = _membership, clients.processes()
    _membership = None
    atexit.unregister(_leave_at_exit)
    clients.join(None)
    together = membership.goodbye()
    if together and processes is not None and not processes.lost:
        processes.leave()


def coordinator_address() -> str | None:
    """The address (`host:port`) at which the processes met; None where no processes were joined."""
    return None if _membership is None else _membership.address


def _leave_at_exit() -> None:
    if getattr(sys, "last_value", None) is None:     # others need not wait for a failed process
        shutdown()


__all__ = ["coordinator_address", "initialize", "is_initialized", "shutdown"]
