"""Rotations of three dimensions, as unit quaternions (x, y, z, w).

Source: `scipy.spatial.transform`; Euler angles: Bernardes and Viollet, Quaternion to Euler angles
conversion, 2022; quaternions of matrices: Markley, Unit quaternion from rotation matrix, 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as jnp
from ... import random
from ...base.on_demand import shown as _shown
from ...binding.tracebacks import front_door
from ...eager.operands import array_like
from ...tracing.tracer import Tracer


def _inexact(name: str, x: Any, *lasts: int) -> Any:
    x = jnp.asarray(array_like(name, x))
    if x.shape[max(x.ndim - len(lasts), 0):] != lasts or x.ndim > len(lasts) + 1:
        wanted = ", ".join(map(str, lasts))
        raise ValueError(f"{name}: expected shape ({wanted}) or (N, {wanted}), got {x.shape}")
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(float)


def _length(x: Any) -> Any:
    """The norm along the last axis, kept, with a derivative of 0 at 0."""
    square = jnp.sum(x * x, -1, keepdims=True)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)


def _product(p: Any, q: Any) -> Any:
    u, v, a, b = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    return jnp.concatenate([a * v + b * u + jnp.cross(u, v),
                            a * b - jnp.sum(u * v, -1, keepdims=True)], -1)


class Rotation(NamedTuple("Rotation", [("quat", Any)])):
    """A rotation, or N of them: made by `from_...`, `identity` and `random`.

    Args:
      quat: unit quaternions [4] or [N, 4].

    >>> quarter = spatial.transform.Rotation.from_euler("z", 90, degrees=True)
    >>> quarter.apply(jnp.array([1., 0., 0.]))
    Array([0., 1., 0.], dtype=float32)
    """

    __slots__ = ()

    # --- construction ---

    @classmethod
    @front_door
    def from_quat(cls, quat: Any) -> Rotation:
        """Rotations from quaternions (x, y, z, w), [4] or [N, 4], of any length but 0."""
        q = _inexact("Rotation.from_quat", quat, 4)
        return cls(q / _length(q))

    @classmethod
    @front_door
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Rotations from matrices, [3, 3] or [N, 3, 3]."""
        m = _inexact("Rotation.from_matrix", matrix, 3, 3)
        d = jnp.diagonal(m, axis1=-2, axis2=-1)
        trace = jnp.sum(d, -1)
        rows = []
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            parts = {i: 1 - trace + 2 * d[..., i], j: m[..., j, i] + m[..., i, j],
                     k: m[..., k, i] + m[..., i, k], 3: m[..., k, j] - m[..., j, k]}
            rows.append(jnp.stack([parts[n] for n in range(4)], -1))
        rows.append(jnp.stack([m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0],
                               m[..., 1, 0] - m[..., 0, 1], 1 + trace], -1))
        best = jnp.argmax(jnp.concatenate([d, trace[..., None]], -1), -1)
        q = jnp.take_along_axis(jnp.stack(rows, -2), best[..., None, None], -2)[..., 0, :]
        return cls(q / _length(q))

    @classmethod
    @front_door
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Rotations from axes times angles, [3] or [N, 3]."""
        v = _inexact("Rotation.from_rotvec", rotvec, 3)
        v = jnp.deg2rad(v) if degrees else v
        angle = _length(v)
        return cls(jnp.concatenate([0.5 * jnp.sinc(angle / (2 * np.pi)) * v, jnp.cos(angle / 2)],
                                   -1))

    @classmethod
    @front_door
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Rotations from modified Rodrigues parameters: axes times tan(angle / 4), [3] or
        [N, 3]."""
        v = _inexact("Rotation.from_mrp", mrp, 3)
        square = jnp.sum(v * v, -1, keepdims=True)
        return cls(jnp.concatenate([2 * v, 1 - square], -1) / (1 + square))

    @classmethod
    @front_door
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Rotations from angles about axes in turn.

        Args:
          seq: one to three of "xyz", about fixed axes, or "XYZ", about those that turn along.
          angles: a number or [N] for one axis; for n axes [n] or [N, n].
        Raises: ValueError for another `seq` and shapes that do not fit.
        """
        axes, turning = _axes(seq, 1)
        x = jnp.asarray(array_like("Rotation.from_euler", angles))
        x = x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(float)
        x = jnp.deg2rad(x) if degrees else x
        if len(axes) == 1 and (x.ndim == 0 or x.ndim == 1):
            x = x[..., None]
        if x.ndim not in (1, 2) or x.shape[-1] != len(axes):
            raise ValueError(f"Rotation.from_euler: expected {len(axes)} angles for {seq!r} along "
                             f"the last axis, got shape {x.shape}")
        made = None
        for n, axis in enumerate(axes):
            half = x[..., n:n + 1] / 2
            q = jnp.concatenate([jnp.sin(half) * np.eye(3, dtype=x.dtype)[axis], jnp.cos(half)], -1)
            made = q if made is None else _product(made, q) if turning else _product(q, made)
        return cls(made)

    @classmethod
    @front_door
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The identity rotation, or `num` of them."""
        q = jnp.asarray(np.array([0, 0, 0, 1]), dtype)
        return cls(q if num is None else jnp.tile(q, (num, 1)))

    @classmethod
    @front_door
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """A rotation drawn uniformly, or `num` of them."""
        q = random.normal(random_key, (4,) if num is None else (num, 4))
        return cls(q / _length(q))

    @classmethod
    @front_door
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Several rotations one after the other, in one object."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    # --- representations ---

    @front_door
    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Unit quaternions; with `canonical` those whose w (or else first other part) is positive;
        with `scalar_first` as (w, x, y, z)."""
        q = self.quat
        if canonical:
            sign = jnp.zeros_like(q[..., 3:])
            for i in (3, 0, 1, 2):
                sign = jnp.where(sign == 0, jnp.sign(q[..., i:i + 1]), sign)
            q = q * sign
        return jnp.roll(q, 1, -1) if scalar_first else q

    @front_door
    def as_matrix(self) -> Any:
        """Rotation matrices."""
        q = self.quat
        x, y, z, w = [q[..., i] for i in range(4)]
        rows = [[x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w]]
        return jnp.stack([jnp.stack(row, -1) for row in rows], -2)

    @front_door
    def as_rotvec(self, degrees: bool = False) -> Any:
        """Axes times angles, which are at most pi."""
        q = self.quat * jnp.where(self.quat[..., 3:] < 0, -1, 1)
        angle = 2 * jnp.arctan2(_length(q[..., :3]), q[..., 3:])
        made = q[..., :3] * 2 / jnp.sinc(angle / (2 * np.pi))
        return jnp.rad2deg(made) if degrees else made

    @front_door
    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters, of length 1 at most."""
        q = self.quat * jnp.where(self.quat[..., 3:] < 0, -1, 1)
        return q[..., :3] / (1 + q[..., 3:])

    @front_door
    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Angles about three axes in turn, as in `from_euler`: in [-pi, pi], the second in
        [0, pi], or in [-pi/2, pi/2] where the axes differ. Where only the sum or difference of the
        others is known, the third is 0. Raises: ValueError for another `seq`."""
        axes, turning = _axes(seq, 3)
        i, j, k = axes[::-1] if turning else axes
        first, third = (2, 0) if turning else (0, 2)
        symmetric = i == k
        k = 3 - i - j if symmetric else k
        sign = (i - j) * (j - k) * (k - i) // 2
        q = self.quat
        a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
        if not symmetric:
            a, b, c, d = a - c, b + d, c + a, d - b
        middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
        half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
        eps = 1e-7 if q.dtype.itemsize > 4 else 1e-3
        none, half = jnp.abs(middle) <= eps, jnp.abs(middle - np.pi) <= eps
        lost = none | half
        angles = [None, middle, None]
        angles[first] = half_sum - half_difference
        angles[third] = half_sum + half_difference
        alone = jnp.where(none, 2 * half_sum, 2 * half_difference * (1 if turning else -1))
        angles[0] = jnp.where(lost, alone, angles[0])
        angles[2] = jnp.where(lost, 0, angles[2])
        if not symmetric:
            angles[third] = angles[third] * sign
            angles[1] = angles[1] - np.pi / 2
        made = jnp.stack(angles, -1)
        made = jnp.where(made < -np.pi, made + 2 * np.pi, jnp.where(made > np.pi,
                                                                    made - 2 * np.pi, made))
        return jnp.rad2deg(made) if degrees else made

    # --- operations ---

    @property
    def single(self) -> bool:
        """Whether this is one rotation, not N."""
        return self.quat.ndim == 1

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return type(self)(self.quat[index])

    def __iter__(self) -> Any:
        # iterates as a tuple, since trees unpack it
        return iter((self.quat,))

    def __mul__(self, other: Any) -> Any:
        """The rotation that applies `other` first, then this one."""
        if not isinstance(other, Rotation):
            return NotImplemented
        q = _product(self.quat, other.quat)
        return type(self)(q / _length(q))

    @front_door
    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Vectors [3] or [N, 3], rotated: by one rotation all, by N rotations one or N vectors."""
        v = _inexact("Rotation.apply", vectors, 3)
        m = self.as_matrix()
        m = jnp.matrix_transpose(m) if inverse else m
        return jnp.sum(m * v[..., None, :], -1)

    @front_door
    def inv(self) -> Rotation:
        """The inverse rotations."""
        return type(self)(self.quat * np.array([-1, -1, -1, 1], self.quat.dtype))

    @front_door
    def magnitude(self) -> Any:
        """Angles in [0, pi]."""
        q = self.quat
        return 2 * jnp.arctan2(_length(q[..., :3])[..., 0], jnp.abs(q[..., 3]))

    @front_door
    def mean(self, weights: Any = None) -> Rotation:
        """The rotation that differs least from these, with weights.

        Raises: ValueError where there are not as many weights.
        Source: Markley et al., Averaging quaternions, 2007.
        """
        q = jnp.atleast_2d(self.quat)
        w = jnp.ones(q.shape[0], q.dtype) if weights is None else jnp.asarray(
            array_like("Rotation.mean", weights), q.dtype)
        if w.shape != (q.shape[0],):
            raise ValueError(f"Rotation.mean: expected {q.shape[0]} weights, got shape {w.shape}")
        _, vectors = jnp.linalg.eigh(jnp.matmul((w[:, None] * q).T, q, precision="highest"))
        return type(self)(vectors[:, -1])


def _axes(seq: Any, least: int) -> tuple[list[int], bool]:
    """The numbers of the axes, and whether they rotate with the body."""
    if not isinstance(seq, str) or not least <= len(seq) <= 3 or not (
            set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(f"expected {least if least == 3 else '1 to 3'} axes, all of 'xyz' or all "
                         f"of 'XYZ', got {seq!r}")
    found = ["xyz".index(c) for c in seq.lower()]
    if any(a == b for a, b in zip(found, found[1:], strict=False)):
        raise ValueError(f"expected consecutive axes to be different, got {seq!r}")
    return found, seq.isupper()


class Slerp(NamedTuple("Slerp", [("times", Any), ("timedelta", Any), ("rotations", Rotation),
                                ("rotvecs", Any)])):
    """Rotations interpolated evenly between given ones; made by `Slerp.init(times, rotations)`.

    >>> turns = spatial.transform.Rotation.from_euler("z", jnp.array([[0.], [90.]]), degrees=True)
    >>> between = spatial.transform.Slerp.init(jnp.array([0., 1.]), turns)
    >>> between(jnp.array([0.5])).as_euler("xyz", degrees=True)
    Array([[ 0.,  0., 45.]], dtype=float32)
    """

    __slots__ = ()

    @classmethod
    @front_door
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """The interpolator of rotations at ascending times.

        Raises: ValueError for fewer than two rotations, where there are not as many times, and
          where times that are not traced do not ascend.
        """
        if not isinstance(rotations, Rotation) or rotations.single or len(rotations) < 2:
            raise ValueError("Slerp: rotations must be a Rotation of at least two rotations, got "
                             f"{rotations!r}")
        at = jnp.asarray(array_like("Slerp", times))
        at = at if jnp.issubdtype(at.dtype, jnp.inexact) else at.astype(float)
        if at.shape != (len(rotations),):
            raise ValueError(f"Slerp: expected a vector of {len(rotations)} times, got shape "
                             f"{at.shape}")
        if not isinstance(at, Tracer) and not np.greater(np.asarray(at)[1:],
                                                         np.asarray(at)[:-1]).all():
            raise ValueError(f"Slerp: times must be strictly ascending, got {np.asarray(at)}")
        turns = Rotation(rotations.quat[:-1]).inv() * Rotation(rotations.quat[1:])
        return cls(at, jnp.diff(at), rotations, turns.as_rotvec())

    @front_door
    def __call__(self, times: Any) -> Rotation:
        """The rotations at a time or times [N]; NaN before the first and after the last."""
        at = jnp.asarray(array_like("Slerp", times), self.times.dtype)
        i = jnp.clip(jnp.searchsorted(self.times, at, side="right") - 1, 0,
                     self.timedelta.shape[0] - 1)
        share = (at - self.times[i]) / self.timedelta[i]
        made = self.rotations[i] * Rotation.from_rotvec(self.rotvecs[i] * share[..., None])
        inside = (at >= self.times[0]) & (at <= self.times[-1])
        return Rotation(jnp.where(inside[..., None], made.quat, np.nan))


__all__ = ["Rotation", "Slerp"]
__dir__ = _shown(globals())
