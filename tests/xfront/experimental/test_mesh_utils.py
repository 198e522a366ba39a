"""Arrays of devices for meshes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from xfront.experimental import mesh_utils


def test_devices_stand_in_the_shape_of_the_mesh():
    made = mesh_utils.create_device_mesh((2, 3), list(range(6)))
    assert made.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="must equal the product"):
        mesh_utils.create_device_mesh((2, 2), list(range(6)))
    with pytest.raises(NotImplementedError, match="contiguous_submeshes"):
        mesh_utils.create_device_mesh((6,), list(range(6)), contiguous_submeshes=True)


def test_granules_are_apart_along_their_axes():
    devices = [SimpleNamespace(id=i, process_index=i // 2) for i in range(4)]
    made = mesh_utils.create_hybrid_device_mesh((1, 2), (2, 1), devices, process_is_granule=True)
    assert [[d.id for d in row] for row in made] == [[0, 1], [2, 3]]
    made = mesh_utils.create_hybrid_device_mesh((1, 2), (1, 2), devices, process_is_granule=True)
    assert [[d.id for d in row] for row in made] == [[0, 1, 2, 3]]
    for wrong in (((1, 2), (2,)), ((1, 2), (3, 1))):
        with pytest.raises(ValueError):
            mesh_utils.create_hybrid_device_mesh(*wrong, devices, process_is_granule=True)
    with pytest.raises(ValueError, match="process_is_granule"):
        mesh_utils.create_hybrid_device_mesh((1, 2), (2, 1), devices)
