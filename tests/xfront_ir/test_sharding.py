"""Meshes and specs as data: what they refuse, shapes of parts, and their text in attributes."""

from __future__ import annotations

import copy
import pickle
import random

import pytest

from xfront_ir import Builder, ParseError, dtypes, ops, parse, print_function
from xfront_ir.errors import IRValueError
from xfront_ir.fingerprint import fingerprint
from xfront_ir.ops.shard_map import global_type, part_type
from xfront_ir.passes.jvp import jvp
from xfront_ir.passes.vectorize import vectorize
from xfront_ir.sharding import AXIS_TYPES, MeshAxes, Sharding, Spec, replicated
from xfront_ir.types import tensor

MESH = MeshAxes(["x", "y"], [4, 2])


def constrained(sharding: Sharding, shape: tuple[int, ...]):
    """A Function that constrains its parameter."""
    b = Builder("f")
    x = b.param(tensor(shape, dtypes.f32), "x")
    return b.close([b.emit(ops.sharding_constraint, x, sharding=sharding)])


def test_shapes_of_parts_and_of_the_whole() -> None:
    """Each dimension is divided by the sizes of its axes."""
    spec = Spec([["x", "y"], []])
    assert spec.local_shape(MESH, (16, 3)) == (2, 3)
    assert spec.global_shape(MESH, (2, 3)) == (16, 3)
    assert Spec([["y"], ["x"]]).local_shape(MESH, (2, 4)) == (1, 1)
    assert spec.axes == ("x", "y") and not spec.is_replicated and replicated(2).is_replicated
    assert spec.insert(1, open=True) == Spec([["x", "y"], [], []], open=[1])
    assert Spec([[], ["x"]], open=[1]).insert(0, ["y"]) == Spec([["y"], [], ["x"]], open=[2])


def test_what_is_no_mesh_or_spec_is_refused() -> None:
    """Each with what is wrong."""
    for message, make in (
            ("different names", lambda: MeshAxes(["x", "x"], [1, 1])),
            ("positive", lambda: MeshAxes(["x"], [0])),
            ("a size and a type", lambda: MeshAxes(["x"], [1, 2])),
            ("one of auto", lambda: MeshAxes(["x"], [1], ["any"])),
            ("different devices", lambda: MeshAxes(["x"], [2], [], "cpu", [0])),
            ("only one dimension", lambda: Spec([["x"], ["x"]])),
            ("only one dimension", lambda: Spec([["x"]], unreduced=["x"])),
            ("open dimensions", lambda: Spec([[]], open=[1])),
            ("no axis 'z'", lambda: Sharding(MESH, Spec([["z"]]))),
            ("cannot be divided", lambda: Spec([["x"]]).check(MESH, (6,))),
            ("has 1 dimensions", lambda: Spec([["x"]]).check(MESH, (4, 4)))):
        with pytest.raises(IRValueError, match=message):
            make()


def drawn(rng: random.Random) -> Sharding:
    """A random sharding, of names that need quotes too."""
    names = rng.sample(["x", "y", "model", 'a "b"', "ü", "open", "on"], rng.randint(0, 4))
    sizes = [rng.choice([1, 2, 4]) for _ in names]
    mesh = MeshAxes(names, sizes, [rng.choice(AXIS_TYPES) for _ in names])
    if rng.random() < 0.5:
        mesh = MeshAxes(names, sizes, mesh.types, "cpu", rng.sample(range(1000), mesh.size))
    dims: list[list[str]] = [[] for _ in range(rng.randint(0, 3))]
    unreduced = []
    for name in names:
        if dims and rng.random() < 0.6:
            rng.choice(dims).append(name)
        elif rng.random() < 0.3:
            unreduced.append(name)
    opened = [i for i in range(len(dims)) if rng.random() < 0.3]
    return Sharding(mesh, Spec(dims, opened, unreduced), rng.choice([None, "pinned_host"]))


def test_shardings_come_back_from_text() -> None:
    """Equal, with the same fingerprint; copies and pickles too."""
    rng = random.Random(0)
    for _ in range(200):
        sharding = drawn(rng)
        shape = sharding.spec.global_shape(sharding.mesh, (2,) * sharding.spec.ndim)
        fn = constrained(sharding, shape)
        again = parse(print_function(fn))
        assert again.ops[0].attrs["sharding"] == sharding
        assert print_function(again) == print_function(fn)
        assert fingerprint(again) == fingerprint(fn)
        assert copy.deepcopy(sharding) is sharding
        assert pickle.loads(pickle.dumps(sharding)) == sharding
        assert hash(pickle.loads(pickle.dumps(sharding))) == hash(sharding)


def test_text_that_is_no_sharding_is_a_parse_error() -> None:
    """At its line and column."""
    fn = constrained(Sharding(MESH, Spec([["x"]])), (4,))
    text = print_function(fn)
    assert '{sharding = ["x" = 4, "y" = 2] [{"x"}]}' in text
    for old, new in (('"y" = 2', '"x" = 2'), ('"y" = 2', '"y" = 0'), ('[{"x"}]', '[{"z"}]'),
                     ('[{"x"}]', '[{"x"}, {}]'), ('[{"x"}]', '[{"x" "y"}]'), ("= 4,", "= 4 any,")):
        with pytest.raises(ParseError):
            parse(text.replace(old, new))


def test_a_constraint_stays_through_derivatives_and_gets_an_open_dimension_for_a_batch() -> None:
    """The tangent and the cotangent are constrained alike."""
    fn = constrained(Sharding(MESH, Spec([["x"], []])), (4, 3))
    both = jvp(fn, (True,))[0]
    assert [op.attrs["sharding"].spec for op in both.ops] == [Spec([["x"], []])] * 2
    batched = vectorize(fn, (1,), ("b", 5))
    assert batched[0].ops[0].attrs["sharding"].spec == Spec([["x"], [], []], open=[1])


def test_types_of_parts_and_of_wholes() -> None:
    """A part lies on no mesh unless another explicit axis still divides it, or devices hold it as
    terms of a sum or reduced; a whole value is divided by its spec where the mesh has explicit
    axes."""
    plain = tensor((8, 4), dtypes.f32)
    explicit = MESH.with_types({"x": "explicit", "y": "explicit"})
    by_x, by_y = Spec([["x"], []]), Spec([[], ["y"]])
    assert part_type(MESH, ("x",), plain, by_x) is tensor((2, 4), dtypes.f32)
    assert part_type(explicit, ("x",), plain.over(Sharding(explicit, by_y)), by_x).dims == (
        (), ("y",))
    assert part_type(explicit, ("x", "y"), plain.over(Sharding(explicit, by_y)), by_y).dims == (
        (), ())
    for spec in (Spec([[], []], unreduced=["x"]), Spec([[], []], reduced=["x"])):
        part = part_type(explicit, ("x",), plain, spec)
        assert part.plain is plain and part.sums == (spec.unreduced, spec.reduced)
    assert global_type(MESH, tensor((2, 4), dtypes.f32), by_x) is plain
    assert global_type(explicit, tensor((2, 4), dtypes.f32), by_x) is plain.over(
        Sharding(explicit, by_x))
