"""must be a Layout and formats of arrays, memories of devices, and which of them are refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront.experimental.layout import Format, Layout, with_layout_constraint
from xfront.sharding import Mesh, NamedSharding, SingleDeviceSharding
from xfront.sharding import PartitionSpec as P

ROWS, COLUMNS = Layout((0, 1)), Layout((1, 0))


def grid() -> xfront.Array:
    return jnp.arange(12.0).reshape(4, 3)


def memory(kind: str) -> SingleDeviceSharding:
    return SingleDeviceSharding(xfront.devices()[0], memory_kind=kind)


def test_arrays_tell_their_format() -> None:
    for x in (grid(), jnp.float32(1), jnp.ones(4, jnp.int4), jnp.ones((2, 3, 4), jnp.bfloat16)):
        assert x.format.sharding == x.sharding
        assert x.format.layout.major_to_minor == tuple(range(x.ndim))
    gone = grid()
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        _ = gone.format


def test_formats_compare_print_and_are_stored() -> None:
    x = grid()
    found = {x.format: 1, Format(COLUMNS, x.sharding): 2, Format(): 3}
    assert found[Format(x.format.layout, x.sharding)] == 1
    assert repr(COLUMNS) == ("Layout(major_to_minor=(1, 0), tiling=None, "
                             "sub_byte_element_size_in_bits=0)")
    assert repr(Format(Layout.AUTO)) == "Format(layout=AUTO, sharding=None)"
    for stored in (COLUMNS, x.format, Format(Layout.AUTO), Layout((0,), ((8, 128),))):
        assert pickle.loads(pickle.dumps(stored)) == copy.deepcopy(stored) == stored
    assert copy.deepcopy(Layout.AUTO) is Layout.AUTO
    assert COLUMNS.update(tiling=((2, 2),)) == Layout((1, 0), ((2, 2),))


def test_what_is_no_format_is_refused() -> None:
    with pytest.raises(TypeError, match="layout argument"):
        Format(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sharding argument"):
        Format(ROWS, 3)
    with pytest.raises(ValueError, match="sharding"):
        Format(ROWS)


def test_the_own_layout_is_accepted() -> None:
    x = grid()
    for layout in (None, Layout.AUTO, ROWS, x.format.layout):
        y = xfront.device_put(jnp.asarray(np.asarray(x)), Format(layout, x.sharding))
        assert y.committed and np.array_equal(y, x)
    assert xfront.device_put(2.0, Format(None, x.sharding)) == 2.0
    for place in (xfront.lax.with_sharding_constraint,
                  xfront.jit(xfront.lax.with_sharding_constraint, static_argnums=1)):
        for layout in (None, Layout.AUTO, ROWS):
            assert np.array_equal(place(x, Format(layout, x.sharding)), x)
    assert np.array_equal(with_layout_constraint({"a": x}, ROWS)["a"], x)
    assert np.array_equal(xfront.jit(lambda a: with_layout_constraint(a, ROWS) + 1)(x), x + 1)
    auto = Format(Layout.AUTO, x.sharding)
    compiled = xfront.jit(lambda a: (a.T, 2 * a), in_shardings=auto, out_shardings=(auto, None)
                          ).lower(x).compile()
    [given] = compiled.input_formats[0]
    assert given.layout == x.format.layout
    turned, _ = compiled(xfront.device_put(x, given))
    assert turned.format == compiled.output_formats[0]
    kind = xfront.ShapeDtypeStruct((4, 3), jnp.float32, sharding=x.format)
    assert kind.format == x.format == kind.update(dtype=jnp.int32).format
    assert xfront.ShapeDtypeStruct((4, 3), jnp.float32).format == Format()


def test_other_layouts_are_refused_by_name() -> None:
    x = grid()
    there = Format(COLUMNS, x.sharding)
    for call in (lambda: xfront.device_put(x, there),
                 lambda: with_layout_constraint(x, COLUMNS),
                 lambda: xfront.lax.with_sharding_constraint({"a": x}, there),
                 lambda: xfront.jit(lambda a: with_layout_constraint(a, COLUMNS))(x),
                 lambda: xfront.jit(jnp.sin, in_shardings=there),
                 lambda: xfront.jit(jnp.sin, out_shardings=(there,)),
                 lambda: xfront.device_put(x, Format(ROWS.update(tiling=((2, 2),)), x.sharding)),
                 lambda: xfront.ShapeDtypeStruct((4, 3), jnp.float32, sharding=there)):
        with pytest.raises(NotImplementedError, match="platform's own"):
            call()
    with pytest.raises(ValueError, match="rank of the value"):
        xfront.device_put(x, Format(Layout((0,)), x.sharding))
    with pytest.raises(TypeError, match="must be a Layout"):
        with_layout_constraint(x, x.sharding)


def test_arrays_in_the_memory_of_the_host() -> None:
    x, host = grid(), memory("pinned_host")
    there = xfront.device_put(x, host)
    assert there.sharding == host and there.sharding.memory_kind == "pinned_host"
    assert np.array_equal(there + 1, x + 1) and (there + 1).sharding == host
    assert xfront.device_put(there, x.sharding).sharding.memory_kind == "device"
    mesh = Mesh(np.array(xfront.devices()[:1]), ("x",))
    named = NamedSharding(mesh, P("x"), memory_kind="pinned_host")
    assert xfront.device_put(x, named).sharding.memory_kind == "pinned_host"


def test_memories_inside_programs_are_refused_by_name() -> None:
    x, host = grid(), memory("unpinned_host")
    for call in (lambda: xfront.jit(lambda a: xfront.device_put(a, host))(x),
                 lambda: xfront.jit(jnp.sin, out_shardings=host)(x),
                 lambda: xfront.jit(jnp.sin, in_shardings=host)(x)):
        with pytest.raises(NotImplementedError, match=r"(?s)unpinned_host.*device's own memory"):
            call()
    with pytest.raises(ValueError, match="memory kinds"):
        xfront.device_put(x, memory("none"))
