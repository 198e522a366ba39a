"""Quantum circuits and spins: state vectors, expectations, channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import normal
from benchmarks.workloads.measured import Program, workload


def applied(jnp: Any, state: Any, gate: Any, *qubits: int) -> Any:
    """The state after a gate on some of its qubits, each an axis of size two."""
    k = len(qubits)
    gate = gate.reshape((2,) * (2 * k))
    state = jnp.tensordot(gate, state, axes=(tuple(range(k, 2 * k)), qubits))
    return jnp.moveaxis(state, tuple(range(k)), qubits)


@workload("variational circuit of ten qubits, gradient")
def circuit(jax: Any, jnp: Any) -> Program:
    """Three layers of rotations and controlled signs, the energy of a chain of Ising."""
    n = 10

    def turn_y(angle: Any) -> Any:
        c, s = jnp.cos(angle / 2), jnp.sin(angle / 2)
        return jnp.stack([c, -s, s, c]).astype(jnp.complex64)

    def turn_z(angle: Any) -> Any:
        zero = jnp.zeros((), jnp.complex64)
        return jnp.stack([jnp.exp(-0.5j * angle), zero, zero, jnp.exp(0.5j * angle)])

    def energy(angles: Any) -> Any:
        state = jnp.zeros((2,) * n, jnp.complex64).at[(0,) * n].set(1.0)
        sign = jnp.array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1], jnp.complex64)
        for layer in angles:
            for i in range(n):
                state = applied(jnp, state, turn_y(layer[i, 0]), i)
                state = applied(jnp, state, turn_z(layer[i, 1]), i)
            for i in range(0, n - 1):
                state = applied(jnp, state, sign, i, i + 1)
        chance = jnp.abs(state) ** 2
        total = 0.0
        for i in range(n - 1):
            pair = chance.sum(tuple(a for a in range(n) if a not in (i, i + 1)))
            total = total + pair[0, 0] + pair[1, 1] - pair[0, 1] - pair[1, 0]
        flip = jnp.array([0, 1, 1, 0], jnp.complex64)
        for i in range(n):
            total = total + jnp.vdot(state, applied(jnp, state, flip, i)).real
        return total

    return jax.value_and_grad(energy), (normal(jnp, 3, n, 2),)


@workload("chain of spins in time (Trotter)")
def trotter(jax: Any, jnp: Any) -> Program:
    """Twelve spins, 20 steps of a scan, the magnetisation of each."""
    n = 12
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    z = 1.0 - 2.0 * bits
    bonds = (z * np.roll(z, 1, 1)).sum(1).astype(np.float32)

    def step(state: Any, bonds: Any, z: Any) -> Any:
        phase = jnp.exp(-0.05j * bonds)
        c, s = np.cos(0.05), np.sin(0.05)
        field = jnp.array([[c, -1j * s], [-1j * s, c]], jnp.complex64)

        def turn(state: Any, _: Any) -> Any:
            state = state * phase
            for i in range(n):
                state = jnp.einsum("ab,ibj->iaj", field, state.reshape(2**i, 2, -1)).reshape(-1)
            return state, jnp.abs(state) ** 2 @ z

        return jax.lax.scan(turn, state, None, length=20)

    start = jnp.zeros(2**n, jnp.complex64).at[5].set(1.0)
    return step, (start, jnp.asarray(bonds), jnp.asarray(z.astype(np.float32)))


@workload("density matrix with noise (Lindblad), complex128", x64=True)
def noise(jax: Any, jnp: Any) -> Program:
    """Runge and Kutta's method on matrices of 24 x 24, 10 steps, purity and entropy at last."""
    n = 24
    lower = np.diag(np.sqrt(np.arange(1.0, n)), 1).astype(complex)
    energy = np.diag(np.arange(n) + 0.05 * np.arange(n) ** 2) + 0.3 * (lower + lower.T)

    def step(rho: Any, energy: Any, lower: Any) -> Any:
        raised = lower.conj().T

        def slope(rho: Any) -> Any:
            lost = raised @ lower
            return (-1j * (energy @ rho - rho @ energy)
                    + 0.1 * (lower @ rho @ raised - 0.5 * (lost @ rho + rho @ lost)))

        def turn(rho: Any, _: Any) -> Any:
            k1 = slope(rho)
            k2 = slope(rho + 0.005 * k1)
            k3 = slope(rho + 0.005 * k2)
            k4 = slope(rho + 0.01 * k3)
            rho = rho + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return rho, jnp.trace(rho @ rho).real

        rho, purity = jax.lax.scan(turn, rho, None, length=10)
        values = jnp.linalg.eigvalsh(rho)
        return purity, -jnp.sum(jnp.where(values > 1e-9, values * jnp.log(
            jnp.maximum(values, 1e-9)), 0.0))

    start = np.zeros((n, n), complex)
    start[10, 10] = start[11, 11] = start[10, 11] = start[11, 10] = 0.5
    return step, (jnp.asarray(start), jnp.asarray(energy.astype(complex)), jnp.asarray(lower))
