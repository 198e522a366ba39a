"""A small transformer trained on eight devices: divided in four ways, each written in three.

What is divided:
  data      rows of the batch; every device has all weights, and gradients are summed
  tensor    heads and hidden units; what they give is summed twice in each layer
  fsdp      rows of the batch and every weight, which is gathered when its layer runs
  pipeline  layers; small batches follow one another from device to device

How it is written: `jit` and where arrays lie, `shard_map`, `pmap`. All twelve learn what one device
does, and each exchanges only what its way needs. Run it: `python examples/divided_transformer.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront import P, lax
from xfront.sharding import Mesh, NamedSharding

DEVICES, STEPS, RATE = 8, 3, 0.5
LAYERS, HEADS, DEPTH, WIDTH, HIDDEN = 16, 16, 2, 32, 64
LETTERS, LENGTH, BATCH, BATCHES = 16, 8, 16, 8      # the pipeline's small batches have two rows

Params = dict[str, Any]


# --- the model, which knows nothing of devices -------------------------------------------------

def init(seed: int = 0) -> Params:
    """Weights of all layers along a first axis, and the letters' vectors."""
    draw = np.random.default_rng(seed).standard_normal
    dense = lambda *shape, over: (draw(shape) / np.sqrt(over)).astype(np.float32)
    return {"qkv": dense(LAYERS, WIDTH, 3, HEADS, DEPTH, over=WIDTH),
            "out": dense(LAYERS, HEADS, DEPTH, WIDTH, over=HEADS * DEPTH * LAYERS),
            "up": dense(LAYERS, WIDTH, HIDDEN, over=WIDTH),
            "down": dense(LAYERS, HIDDEN, WIDTH, over=HIDDEN * LAYERS),
            "letters": dense(LETTERS, WIDTH, over=1)}


def text(seed: int = 1) -> np.ndarray:
    """Rows that count upwards, each from a letter of its own; the last letter is only foretold."""
    first = np.random.default_rng(seed).integers(0, LETTERS, (BATCH, 1))
    return ((first + np.arange(LENGTH + 1)) % LETTERS).astype(np.int32)


def norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(w: Params, x: Any) -> Any:
    """What the heads in `w` add to `x`."""
    q, k, v = jnp.einsum("blw,wchd->cblhd", norm(x), w["qkv"])
    past = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    scores = jnp.where(past, jnp.einsum("blhd,bmhd->bhlm", q, k) / DEPTH ** 0.5, -1e9)
    seen = jnp.einsum("bhlm,bmhd->blhd", jax.nn.softmax(scores), v)
    return jnp.einsum("blhd,hdw->blw", seen, w["out"])


def hidden(w: Params, x: Any) -> Any:
    """What the hidden units in `w` add to `x`."""
    return jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]


def layer(w: Params, x: Any, total: Callable[[Any], Any] = lambda part: part) -> Any:
    x = x + total(attention(w, x))
    return x + total(hidden(w, x))


def through(layers: Params, x: Any, layer: Callable[[Params, Any], Any] = layer) -> Any:
    """`x` after all layers."""
    return lax.scan(lambda x, w: (layer(w, x), None), x, layers)[0]


def loss(params: Params, rows: Any, through: Callable[[Params, Any], Any] = through) -> Any:
    """How badly each next letter is foretold."""
    layers = {name: p for name, p in params.items() if name != "letters"}
    x = through(layers, params["letters"][rows[:, :-1]])
    guess = jax.nn.log_softmax(norm(x) @ params["letters"].T)
    return -jnp.take_along_axis(guess, rows[:, 1:, None], -1).mean()


def descend(params: Params, slopes: Params) -> Params:
    return jax.tree.map(lambda p, s: p - RATE * s, params, slopes)


# --- where each part lies ----------------------------------------------------------------------

SPECS = {
    "data": dict.fromkeys(("qkv", "out", "up", "down", "letters"), P()),
    "tensor": {"qkv": P(None, None, None, "i"), "out": P(None, "i"), "up": P(None, None, "i"),
               "down": P(None, "i"), "letters": P()},
    "fsdp": {"qkv": P(None, "i"), "out": P(None, "i"), "up": P(None, "i"), "down": P(None, "i"),
             "letters": P("i")},
    "pipeline": {"qkv": P("i"), "out": P("i"), "up": P("i"), "down": P("i"), "letters": P()},
}
"""Of each way, which dimension of the weights is divided over the devices."""

ROWS = {"data": P("i"), "tensor": P(), "fsdp": P("i"), "pipeline": P()}
"""The same of the batch."""

LAYERS_OF_FSDP = {name: P(*spec[1:]) for name, spec in SPECS["fsdp"].items()}
"""Of the weights of one layer."""


# --- written with jit: one program, and where its values lie -----------------------------------

def pipelined(layers: Params, x: Any) -> Any:
    """`through`, for layers that are divided: all stages run at once, each on its small batch."""
    count = jax.device_count()
    along = lambda v: lax.with_sharding_constraint(v, P("i"))
    here = lambda stage, v, other: jnp.where(jnp.arange(count).reshape(-1, *[1] * (v.ndim - 1))
                                             == stage, v, other)
    stages = jax.tree.map(lambda w: along(w.reshape(count, -1, *w.shape[1:])), layers)
    batches = x.reshape(BATCHES, -1, *x.shape[1:])
    batches = along(jnp.broadcast_to(batches, (count, *batches.shape)))

    def turn(carry: Any, t: Any) -> Any:
        arrived, done = carry
        entering = lax.dynamic_index_in_dim(batches, jnp.minimum(t, BATCHES - 1), 1, False)
        made = along(jax.vmap(through)(stages, here(0, entering, arrived)))
        onwards = along(lax.pad(made, 0.0, [(1, -1, 0), *[(0, 0, 0)] * (made.ndim - 1)]))
        return (onwards, along(store(done, made, t - (count - 1), axis=1))), None

    start = jax.tree.map(along, (jnp.zeros_like(batches[:, 0]), jnp.zeros_like(batches)))
    (_, done), _ = lax.scan(turn, start, jnp.arange(count - 1 + BATCHES))
    return here(count - 1, done, 0.0).sum(0).reshape(x.shape)     # what has left the last stage


def store(done: Any, made: Any, at: Any, axis: int) -> Any:
    """`done` with what was made at a place along the axis; nothing leaves before its turn."""
    stored = lax.dynamic_update_index_in_dim(done, made, jnp.maximum(at, 0), axis)
    return jnp.where(at >= 0, stored, done)


def gathered(w: Params, x: Any) -> Any:
    """A layer whose weights are made whole for as long as it runs."""
    return layer(jax.tree.map(lambda v: lax.with_sharding_constraint(v, P()), w), x)


THROUGH = {"data": through, "tensor": through, "pipeline": pipelined,
           "fsdp": partial(through, layer=jax.checkpoint(gathered))}


def with_jit(way: str, mesh: Mesh) -> Any:
    where = partial(NamedSharding, mesh)
    lies = jax.tree.map(where, SPECS[way])

    @partial(jax.jit, in_shardings=(lies, where(ROWS[way])), out_shardings=(lies, where(P())))
    def step(params: Params, rows: Any) -> tuple[Params, Any]:
        value, slopes = jax.value_and_grad(loss)(params, rows, THROUGH[way])
        return descend(params, slopes), value

    return step


# --- one device's share of the loss, for shard_map and pmap ------------------------------------

def share_of_data(params: Params, rows: Any) -> Any:
    return loss(params, rows) / lax.axis_size("i")


def share_of_tensor(params: Params, rows: Any) -> Any:
    summed = partial(layer, total=lambda part: lax.psum(part, "i"))
    return loss(params, rows, partial(through, layer=summed)) / lax.axis_size("i")


def share_of_fsdp(params: Params, rows: Any) -> Any:
    whole = lambda w, spec: lax.all_gather(w, "i", axis=tuple(spec).index("i"), tiled=True)

    @jax.checkpoint
    def gathered(w: Params, x: Any) -> Any:
        return layer({name: whole(v, LAYERS_OF_FSDP[name]) for name, v in w.items()}, x)

    params = params | {"letters": whole(params["letters"], SPECS["fsdp"]["letters"])}
    return loss(params, rows, partial(through, layer=gathered)) / lax.axis_size("i")


def share_of_pipeline(params: Params, rows: Any) -> Any:
    me, count = lax.axis_index("i"), lax.axis_size("i")

    def stages(layers: Params, x: Any) -> Any:
        batches = x.reshape(BATCHES, -1, *x.shape[1:])

        def turn(carry: Any, t: Any) -> Any:
            arrived, done = carry
            here = jnp.where(me == 0, batches[jnp.minimum(t, BATCHES - 1)], arrived)
            made = through(layers, here)
            done = store(done, made, t - (count - 1), axis=0)
            return (lax.ppermute(made, "i", [(k, k + 1) for k in range(count - 1)]), done), None

        start = jnp.zeros_like(batches[0]), jnp.zeros_like(batches)
        (_, done), _ = lax.scan(turn, start, jnp.arange(count - 1 + BATCHES))
        return done.reshape(x.shape)

    return jnp.where(me == count - 1, loss(params, rows, stages), 0.0)


SHARES = {"data": share_of_data, "tensor": share_of_tensor, "fsdp": share_of_fsdp,
          "pipeline": share_of_pipeline}


def with_shard_map(way: str, mesh: Mesh) -> Any:
    @jax.shard_map(mesh=mesh, in_specs=(SPECS[way], ROWS[way]), out_specs=P())
    def whole(params: Params, rows: Any) -> Any:
        return lax.psum(SHARES[way](params, rows), "i")

    @jax.jit
    def step(params: Params, rows: Any) -> tuple[Params, Any]:
        value, slopes = jax.value_and_grad(whole)(params, rows)
        return descend(params, slopes), value

    return step


def with_pmap(way: str, mesh: Mesh) -> Any:
    """Takes and gives parts along a first axis; see `parts`."""
    axes = {name: 0 if "i" in spec else None for name, spec in SPECS[way].items()}

    @partial(jax.pmap, axis_name="i", devices=mesh.devices.tolist(), axis_size=mesh.size,
             in_axes=(axes, 0 if "i" in ROWS[way] else None), out_axes=(axes, None))
    def step(params: Params, rows: Any) -> tuple[Params, Any]:
        value, slopes = jax.value_and_grad(SHARES[way])(params, rows)
        slopes = {name: lax.psum(s, "i") if axes[name] is None else s for name, s in slopes.items()}
        return descend(params, slopes), lax.psum(value, "i")

    return step


def parts(x: Any, spec: P, count: int) -> np.ndarray:
    """The devices' parts of an array along a first axis."""
    return np.stack(np.split(np.asarray(x), count, tuple(spec).index("i"))) if "i" in spec else x


def joined(x: Any, spec: P) -> np.ndarray:
    """The array of such parts."""
    return np.concatenate(np.asarray(x), tuple(spec).index("i")) if "i" in spec else x


# --- training ----------------------------------------------------------------------------------

WRITTEN = {"jit": with_jit, "shard_map": with_shard_map, "pmap": with_pmap}


def made(way: str, written: str, mesh: Mesh) -> tuple[Any, Params, Any]:
    """A step, and the weights and rows that it begins with."""
    step, specs = WRITTEN[written](way, mesh), SPECS[way]
    if written == "pmap":
        params = {name: parts(p, specs[name], mesh.size) for name, p in init().items()}
        return step, params, parts(text(), ROWS[way], mesh.size)
    put = lambda x, spec: jax.device_put(x, NamedSharding(mesh, spec))
    return step, jax.tree.map(put, init(), specs), put(text(), ROWS[way])


def learn(step: Any, params: Params, rows: Any) -> tuple[Params, list[float]]:
    losses = []
    for _ in range(STEPS):
        params, now = step(params, rows)
        losses.append(float(now))
    return params, losses


def exchanges(hlo: str) -> dict[str, int]:
    """How many arrays the compiled program exchanges, by kind. Several may go together, and one in
    pieces, which have the same channel."""
    kinds = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute"
    found = re.findall(rf" ({kinds})(?:-start)?\(([^)]*)\).*?channel_id=(\d+)", hlo)
    sent = [kind for kind, arrays, _ in {x[2]: x for x in found}.values()
            for _ in arrays.split(",")]
    return {kind: sent.count(kind) for kind in sorted(set(sent))}


@jax.jit
def alone(params: Params, rows: Any) -> tuple[Params, Any]:
    """A step on one device."""
    value, slopes = jax.value_and_grad(loss)(params, rows)
    return descend(params, slopes), value


def described(topology: str) -> None:
    """What programs for sixteen devices exchange when they are compiled for a topology."""
    jax.config.update("jax_num_cpu_devices", 16)
    mesh = Mesh(np.array(jax.devices()), ("i",))
    for way in SPECS:
        for written in WRITTEN:
            with jax.set_mesh(mesh):
                step, params, rows = made(way, written, mesh)
                compiled = step.lower(params, rows).compile(topology=topology)
            print(f"{way:8} {written:10} {exchanges(compiled.as_text())}", flush=True)


def main() -> None:
    jax.config.update("jax_num_cpu_devices", DEVICES)
    mesh = Mesh(np.array(jax.devices()), ("i",))
    expected, losses = learn(alone, init(), text())
    print("one device          losses", " ".join(f"{x:.5f}" for x in losses))
    for way in SPECS:
        for written in WRITTEN:
            with jax.set_mesh(mesh):
                step, params, rows = made(way, written, mesh)
                hlo = step.lower(params, rows).compile().as_text()
                params, losses = learn(step, params, rows)
            if written == "pmap":
                params = {name: joined(p, SPECS[way][name]) for name, p in params.items()}
            apart = max(float(np.abs(np.asarray(params[k]) - expected[k]).max()) for k in expected)
            print(f"{way:8} {written:10} losses {' '.join(f'{x:.5f}' for x in losses)}  weights "
                  f"differ by {apart:.1e}  {exchanges(hlo)}", flush=True)


if __name__ == "__main__":
    described(sys.argv[1]) if sys.argv[1:] else main()
