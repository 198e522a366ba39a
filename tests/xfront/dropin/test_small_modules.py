"""Public modules that libraries ask for: typing, dlpack, monitoring, api_util, linear_util."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import api_util, dlpack, monitoring, stages, tree_util
from xfront.dropin import arguments, sequences
from xfront.extend import linear_util as lu


def test_listeners_are_told_of_what_is_recorded() -> None:
    heard: list[tuple] = []

    def listener(event: str, *facts: float, **more: object) -> None:
        heard.append((event, *facts, more))

    monitoring.register_event_listener(listener)
    monitoring.register_event_duration_secs_listener(listener)
    monitoring.register_scalar_listener(listener)
    try:
        monitoring.record_event("/a", x=3)
        monitoring.record_event_duration_secs("/b", 0.5)
        monitoring.record_event_time_span("/nobody", 1.0, 2.0)
        monitoring.record_scalar("/c", 7)
        monitoring.unregister_event_listener(listener)
        with pytest.raises(ValueError, match="not a registered listener"):
            monitoring.unregister_event_listener(listener)
    finally:
        monitoring.clear_event_listeners()
    monitoring.record_scalar("/d", 8)
    assert heard == [("/a", {"x": 3}), ("/b", 0.5, {}), ("/c", 7, {})]


def test_which_dtypes_are_shared() -> None:
    assert dlpack.is_supported_dtype(jnp.bfloat16) and not dlpack.is_supported_dtype(jnp.int4)


def test_flattened_functions() -> None:
    tree = tree_util.tree_structure(((1, {"a": 2}), {"k": 3}))
    flat, out_tree = api_util.flatten_fun(lu.wrap_init(lambda x, y, k: {"s": x + y["a"] * k}), tree)
    with pytest.raises(lu.StoreException):
        out_tree()
    assert flat.call_wrapped(1, 2, 3) == [7]
    assert out_tree() == tree_util.tree_structure({"s": 0})
    part, given = api_util.argnums_partial(lu.wrap_init(lambda a, b, c: (a, b, c)), 1, (1, 2, 3))
    assert given == (2,) and part.call_wrapped(9) == (1, 9, 3)
    info = api_util.debug_info("jit", lambda a, b: a, (1, {"x": 2}), {})
    assert info.arg_names == ("a", "b['x']")
    assert api_util.flatten_axes("in_axes", tree_util.tree_structure([1, (2, 3)]), [0, None]) == [
        0, None, None]


def test_transformations_by_generators() -> None:
    @lu.transformation
    def doubled(x: int) -> object:
        result = yield (2 * x,), {}
        yield result + 1

    @lu.transformation_with_aux
    def counted(n: int, *args: int) -> object:
        result = yield args, {}
        yield result, n

    fun, aux = counted(doubled(lu.wrap_init(lambda x: x * 10)), 5)
    assert fun.call_wrapped(3) == 61 and aux() == 5
    assert lu.merge_linear_aux(aux, lu.Store().__bool__ and (lambda: lu.Store().val)) == (True, 5)


def test_sequences() -> None:
    assert sequences.split_list([1, 2, 3, 4], [1, 2]) == [[1], [2, 3], [4]]
    apart = sequences.partition_list([True, False, True], "abc")
    assert apart == (["b"], ["a", "c"])
    assert sequences.merge_lists([True, False, True], *apart) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="argument 2"):
        sequences.safe_zip([1], [1, 2])


def test_residuals_that_python_knows_stay_known() -> None:
    @xfront.custom_vjp
    def f(x: object) -> object:
        return x

    f.defvjp(lambda x: (x, (True, 2)), lambda r, g: (g * 3 if r[0] else g.reshape(r[1]),))
    assert float(xfront.jit(xfront.grad(lambda x: f(x)))(1.0)) == 3.0


def test_functions_may_return_shapes_to_eval_shape() -> None:
    shape = xfront.ShapeDtypeStruct((2,), np.float32)
    assert xfront.eval_shape(lambda x: {"a": shape, "b": x}, 1)["a"].shape == (2,)


def test_types_tell_those_of_tangents() -> None:
    assert xfront.typeof(jnp.arange(2)).to_tangent_aval().dtype == xfront.float0
    assert isinstance(xfront.jit(lambda x: x), stages.Wrapped)
    assert xfront.typeof(jnp.ones((2, 3))).sharding.spec == xfront.P(None, None)


def test_positions_and_names_of_the_same_parameters() -> None:
    def f(a, b=1, *c, d=2, **e): ...

    sig = inspect.signature(f)
    for given, both in (((None, None), ((), ())), ((0, None), ((0,), ("a",))),
                        (([0, 1], None), ((0, 1), ("a", "b"))), ((None, "b"), ((1,), ("b",))),
                        ((None, ("a", "d")), ((0,), ("a", "d"))), ((0, "d"), ((0,), ("d",))),
                        ((-1, None), ((-1,), ())), ((7, None), ((7,), ()))):
        assert arguments.infer_argnums_and_argnames(sig, *given) == both


def test_placements_become_those_of_types() -> None:
    """`canonicalize_sharding`, which libraries call as JAX does."""
    from xfront.dropin.placements import canonicalize_sharding
    from xfront.sharding import AxisType, NamedSharding, PartitionSpec, SingleDeviceSharding

    mesh = xfront.make_mesh((1,), ("a",), axis_types=(AxisType.Explicit,))
    placed = NamedSharding(mesh, PartitionSpec("a"))
    typed = NamedSharding(mesh.abstract_mesh, PartitionSpec("a"))
    assert typed.mesh._any_axis_explicit
    assert canonicalize_sharding(None, "f") is None
    assert canonicalize_sharding(xfront.typeof(jnp.ones(3)).sharding, "f") is None
    assert canonicalize_sharding(placed, "f") == typed
    with pytest.raises(ValueError, match="no mesh is set"):
        canonicalize_sharding(PartitionSpec("a"), "f")
    with pytest.raises(TypeError, match="only supports"):
        canonicalize_sharding(SingleDeviceSharding(xfront.devices()[0]), "f")
    other = xfront.make_mesh((1,), ("b",), axis_types=(AxisType.Explicit,))
    with xfront.set_mesh(mesh):
        assert canonicalize_sharding(PartitionSpec("a"), "f") == typed
        on_b = NamedSharding(other, PartitionSpec())
        with pytest.raises(ValueError, match="mesh that is set"):
            canonicalize_sharding(on_b, "f")
        assert canonicalize_sharding(on_b, "f", False).mesh == other.abstract_mesh
