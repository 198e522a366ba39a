"""A divided model is saved shard by shard, and goes on learning on a mesh of another shape.

Each process writes the parts that its devices hold, one NumPy file a part, so no array is ever
whole in one memory; of copies, one device writes. A device reads what it needs from the files that
overlap with its part, whatever mesh wrote them. Run it: `python examples/save_shards.py`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront.sharding import AxisType, Mesh, NamedSharding
from xfront.sharding import PartitionSpec as P

DEVICES = 8
STEPS = 20
Tree = Any
Part = list[tuple[int, int]]
"""Where a part lies in its array: the first index and the one behind the last, for each axis."""


# --- saving and restoring -----------------------------------------------------------------

def named_leaves(tree: Tree) -> Iterator[tuple[str, Any]]:
    """The leaves of a tree, each with a name for its files."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        yield jax.tree_util.keystr(path, simple=True, separator="."), leaf


def part_of(index: tuple[slice, ...], shape: tuple[int, ...]) -> Part:
    """Slices of an array as numbers."""
    return [s.indices(size)[:2] for s, size in zip(index, shape, strict=True)]


def within(part: Part, whole: Part) -> tuple[slice, ...]:
    """A part as an index of an array that begins where `whole` does."""
    return tuple(slice(a - c, b - c) for (a, b), (c, _) in zip(part, whole, strict=True))


def save(folder: Path, tree: Tree) -> None:
    """Write the parts that this process holds, and beside each array's files its shape."""
    for name, leaf in named_leaves(tree):
        (folder / f"{name}.json").write_text(json.dumps([leaf.shape, leaf.dtype.name]))
        for shard in leaf.addressable_shards:
            if shard.replica_id == 0:            # one of the devices with the same part
                place = "_".join(f"{a}-{b}" for a, b in part_of(shard.index, leaf.shape))
                np.save(folder / f"{name}@{place}.npy", np.asarray(shard.data))


def restore(folder: Path, shardings: Tree) -> Tree:
    """The tree that was saved, each leaf divided as its sharding says."""
    leaves = [read(folder, name, sharding) for name, sharding in named_leaves(shardings)]
    return jax.tree.unflatten(jax.tree.structure(shardings), leaves)


def read(folder: Path, name: str, sharding: NamedSharding) -> jax.Array:
    """One array: each device gets its part, from the files that hold some of it."""
    shape, dtype = json.loads((folder / f"{name}.json").read_text())
    pieces = {}
    for file in folder.glob(f"{name}@*.npy"):
        place = file.stem.partition("@")[2]
        pieces[file] = [tuple(map(int, ends.split("-"))) for ends in place.split("_") if ends]

    def part(index: tuple[slice, ...]) -> np.ndarray:
        wanted = part_of(index, tuple(shape))
        made = np.empty([b - a for a, b in wanted], dtype)
        for file, held in pieces.items():
            common = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(wanted, held, strict=True)]
            if all(a < b for a, b in common):    # only these rows and columns are read
                made[within(common, wanted)] = np.load(file, mmap_mode="r")[within(common, held)]
        return made

    return jax.make_array_from_callback(tuple(shape), sharding, part)


# --- a model ------------------------------------------------------------------------------

SPECS = {"in": P(None, "model"), "out": P("model", "data"), "scale": P()}


def shardings(rows: int, columns: int) -> dict[str, NamedSharding]:
    """How the parameters lie on a mesh of this shape."""
    over: Mesh = jax.make_mesh((rows, columns), ("data", "model"),
                               axis_types=(AxisType.Auto,) * 2)
    return {name: NamedSharding(over, spec) for name, spec in SPECS.items()}


def init() -> dict[str, Any]:
    """Two layers and a number."""
    draw = np.random.default_rng(0).standard_normal
    return {"in": draw((16, 32), np.float32) / 4, "out": draw((32, 8), np.float32) / 6,
            "scale": np.float32(1.0)}


@jax.jit
def step(params: Tree) -> tuple[Tree, Any]:
    """A step down the slope of what the layers miss; no word of devices."""
    x = jnp.sin(jnp.arange(64.0 * 16).reshape(64, 16))

    def missed(params: Tree) -> Any:
        y = jnp.tanh(x @ params["in"]) @ params["out"] * params["scale"]
        return jnp.mean((y - jnp.cos(x[:, :8])) ** 2)

    value, slopes = jax.value_and_grad(missed)(params)
    return jax.tree.map(lambda p, s: p - 0.5 * s, params, slopes), value


def learn(params: Tree) -> tuple[Tree, float]:
    """The parameters after some steps, and what was missed at the last."""
    value = None
    for _ in range(STEPS):
        params, value = step(params)
    return params, float(value)  # type: ignore[arg-type]


def main() -> None:
    """Learns on a mesh of 4 x 2, saves, and goes on on one of 2 x 4 and on one device."""
    jax.config.update("jax_num_cpu_devices", DEVICES)
    params, _ = learn(jax.device_put(init(), shardings(4, 2)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(folder, params)
        files = sorted(folder.glob("*.npy"))
        largest = max(np.load(file).size for file in files)
        print(f"{len(files)} files for {sum(x.size for x in params.values())} numbers, "
              f"the largest with {largest}")
        elsewhere = restore(folder, shardings(2, 4))
        alone = restore(folder, shardings(1, 1))
    same = all(np.array_equal(params[k], elsewhere[k]) and np.array_equal(params[k], alone[k])
               for k in params)
    print("restored as saved:", same)
    print("parts of `out` before and after:", params["out"].addressable_shards[0].data.shape,
          elsewhere["out"].addressable_shards[0].data.shape)
    ends = [learn(each)[1] for each in (params, elsewhere, alone)]
    print("missed after more steps, by each:", *(f"{end:.5f}" for end in ends))


if __name__ == "__main__":
    main()
