"""scipy.spatial.transform against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import transform as expected

import xfront as jax
import xfront.numpy as jnp
from xfront.scipy.spatial.transform import Rotation, Slerp

RNG = np.random.default_rng(8)
QUATS = RNG.normal(size=(5, 4))
VECTORS = RNG.normal(size=(5, 3))
SEQUENCES = ("xyz", "XYZ", "zxz", "ZYX", "YXY", "yzx")


def of(kind: Any, quats: Any) -> Any:
    """All that is asked of rotations, of this library's or SciPy's."""
    r = kind.from_quat(quats)
    names = ("as_matrix", "as_rotvec", "as_mrp", "as_quat", "magnitude")
    return {
        **{name: getattr(r, name)() for name in names}, "degrees": r.as_rotvec(degrees=True),
        **{seq: r.as_euler(seq) for seq in SEQUENCES}, "xyz deg": r.as_euler("xyz", degrees=True),
        "canonical": r.as_quat(canonical=True), "first": r.as_quat(scalar_first=True),
        "inverse": r.inv().as_matrix(), "twice": (r * r).as_matrix(),
        "apply": r.apply(VECTORS), "apply back": r.apply(VECTORS, inverse=True),
        "one": r[1].apply(VECTORS), "mean": r.mean().as_matrix(),
        "weighted": r.mean(np.arange(1.0, 6)).as_matrix(),
        "matrix": kind.from_matrix(r.as_matrix()).as_matrix(),
        "rotvec": kind.from_rotvec(3 * VECTORS).as_matrix(),
        "rotvec degrees": kind.from_rotvec(90 * VECTORS, degrees=True).as_matrix(),
        "nothing": kind.from_rotvec(0 * VECTORS).as_rotvec(),
        "mrp": kind.from_mrp(VECTORS).as_matrix(),
        **{f"from {seq}": kind.from_euler(seq, VECTORS[:, :len(seq)]).as_matrix()
           for seq in (*SEQUENCES, "xz", "ZX")},
        "axis": kind.from_euler("z", np.array([[90.0], [45.0]]), degrees=True).as_matrix(),
        "identity": kind.identity(2).as_quat(),
        "both": kind.concatenate([r, r[0]]).as_quat(),
    }


def test_values() -> None:
    with jax.enable_x64(True):
        made = jax.jit(lambda q: of(Rotation, q))(QUATS)
    for name, wanted in of(expected.Rotation, QUATS).items():
        np.testing.assert_allclose(made[name], wanted, atol=1e-10, err_msg=name)


def test_lost_angles() -> None:
    with jax.enable_x64(True):
        for seq in ("xyz", "ZYX", "zxz", "ZXZ"):
            for middle in (0.0, np.pi / 2, -np.pi / 2, np.pi):
                r = expected.Rotation.from_euler(seq, [0.3, middle, 0.5])
                got = Rotation.from_quat(r.as_quat()).as_euler(seq)
                back = expected.Rotation.from_euler(seq, np.asarray(got))
                np.testing.assert_allclose(back.as_matrix(), r.as_matrix(), atol=1e-6)


def test_between() -> None:
    times = np.array([0.0, 1.0, 2.5, 3.0, 4.0])
    asked = np.array([0.0, 0.3, 1.7, 2.9, 4.0])
    with jax.enable_x64(True):
        slerp = Slerp.init(times, Rotation.from_quat(QUATS))
        got = jax.jit(lambda s, t: s(t).as_matrix())(slerp, asked)
        known = expected.Slerp(times, expected.Rotation.from_quat(QUATS))
        np.testing.assert_allclose(got, known(asked).as_matrix(), atol=1e-10)
        assert np.isnan(slerp(5.0).quat).all()


def test_derivatives_batches_and_trees() -> None:
    r = Rotation.from_quat(QUATS.astype(np.float32))
    assert jax.tree.structure(r).num_leaves == 1 and len(r) == 5 and not r.single
    grad = jax.jacfwd(lambda v: Rotation.from_rotvec(v).as_rotvec())(jnp.zeros(3))
    np.testing.assert_allclose(grad, np.eye(3), atol=1e-6)
    turned = jax.vmap(lambda r, v: r.apply(v))(r, VECTORS.astype(np.float32))
    np.testing.assert_allclose(turned, r.apply(VECTORS.astype(np.float32)), rtol=1e-5)
    np.testing.assert_allclose(Rotation.from_euler("z", np.array([0.0, np.pi])).quat,
                               [[0, 0, 0, 1], [0, 0, 1, 0]], atol=1e-6)
    drawn = Rotation.random(jax.random.key(0), 3)
    np.testing.assert_allclose(np.linalg.norm(drawn.quat, axis=-1), 1, rtol=1e-6)


def test_refuses() -> None:
    one = Rotation.identity()
    for kind, match, call in (
            (TypeError, "no len", lambda: len(one)), (TypeError, "subscriptable", lambda: one[0]),
            (TypeError, "unsupported", lambda: one * 2),
            (ValueError, "expected shape", lambda: Rotation.from_quat(np.ones(3))),
            (ValueError, "axes", lambda: Rotation.from_euler("xY", np.ones(2))),
            (ValueError, "different", lambda: Rotation.from_euler("xx", np.ones(2))),
            (ValueError, "3 axes", lambda: one.as_euler("xy")),
            (ValueError, "angles", lambda: Rotation.from_euler("xy", np.ones(3))),
            (ValueError, "weights", lambda: one.mean(np.ones(2))),
            (ValueError, "at least two", lambda: Slerp.init(np.ones(1), one)),
            (ValueError, "times", lambda: Slerp.init(np.ones(1), Rotation.identity(2))),
            (ValueError, "ascending", lambda: Slerp.init(
                np.array([2.0, 1.0]), Rotation.identity(2))),
            (ValueError, "ascending", lambda: Slerp.init(np.zeros(2), Rotation.identity(2)))):
        with pytest.raises(kind, match=match):
            call()
