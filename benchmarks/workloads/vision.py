"""Networks of images: convolutions, patches, a U-Net that removes noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, workload


def conv(jax: Any, x: Any, kernel: Any, stride: int = 1, groups: int = 1) -> Any:
    """A convolution of images whose channels are last."""
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups)


@workload("convolutional classifier, momentum step")
def classifier(jax: Any, jnp: Any) -> Program:
    """Two convolutions with pooling, two dense layers, 32 images of 28 x 28."""
    reduce_window = jax.lax.reduce_window
    params = [normal(jnp, 3, 3, 1, 16) * 0.3, normal(jnp, 3, 3, 16, 32, seed=1) * 0.1,
              normal(jnp, 7 * 7 * 32, 64, seed=2) * 0.03, normal(jnp, 64, 10, seed=3) * 0.1]

    def pooled(x: Any) -> Any:
        return reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(p: Any, x: Any, labels: Any) -> Any:
        x = pooled(jax.nn.relu(conv(jax, x, p[0])))
        x = pooled(jax.nn.relu(conv(jax, x, p[1])))
        x = jax.nn.relu(x.reshape(x.shape[0], -1) @ p[2])
        logp = jax.nn.log_softmax(x @ p[3])
        return -jnp.mean(logp[jnp.arange(x.shape[0]), labels])

    def step(p: Any, m: Any, x: Any, labels: Any) -> Any:
        value, g = jax.value_and_grad(loss)(p, x, labels)
        m = [0.9 * a + b for a, b in zip(m, g, strict=True)]
        return [a - 0.05 * b for a, b in zip(p, m, strict=True)], m, value

    images = normal(jnp, 32, 28, 28, 1)
    labels = between(jnp, 0, 10, 32, dtype=np.int32)
    return step, (params, [jnp.zeros_like(p) for p in params], images, labels)


@workload("residual network with batch norm, gradient")
def residual(jax: Any, jnp: Any) -> Program:
    """Three blocks of 16, 32 and 64 channels over four images of 32 x 32."""
    def block(i: int, inside: int, outside: int) -> Any:
        return {"a": normal(jnp, 3, 3, inside, outside, seed=i) * 0.1,
                "b": normal(jnp, 3, 3, outside, outside, seed=i + 1) * 0.1,
                "skip": normal(jnp, 1, 1, inside, outside, seed=i + 2) * 0.2,
                "scale": jnp.ones(outside), "shift": jnp.zeros(outside)}

    params = {"stem": normal(jnp, 3, 3, 3, 16, seed=9) * 0.2,
              "blocks": [block(10, 16, 16), block(20, 16, 32), block(30, 32, 64)],
              "head": normal(jnp, 64, 10, seed=8) * 0.1}

    def norm(x: Any, p: Any) -> Any:
        mean = jnp.mean(x, (0, 1, 2))
        var = jnp.var(x, (0, 1, 2))
        return (x - mean) / jnp.sqrt(var + 1e-5) * p["scale"] + p["shift"]

    def loss(p: Any, x: Any, labels: Any) -> Any:
        x = conv(jax, x, p["stem"])
        for i, b in enumerate(p["blocks"]):
            stride = 1 if i == 0 else 2
            y = jax.nn.relu(norm(conv(jax, x, b["a"], stride), b))
            y = norm(conv(jax, y, b["b"]), b)
            x = jax.nn.relu(y + conv(jax, x, b["skip"], stride))
        logits = jnp.mean(x, (1, 2)) @ p["head"]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - logits[jnp.arange(len(labels)), labels])

    labels = between(jnp, 0, 10, 4, dtype=np.int32)
    return jax.value_and_grad(loss), (params, normal(jnp, 4, 32, 32, 3), labels)


@workload("depthwise separable network, forward")
def depthwise(jax: Any, jnp: Any) -> Program:
    """Four inverted bottlenecks over four images of 32 x 32 with 24 channels."""
    params = [{"up": normal(jnp, 1, 1, 24, 96, seed=i) * 0.2,
               "deep": normal(jnp, 3, 3, 1, 96, seed=i + 1) * 0.2,
               "down": normal(jnp, 1, 1, 96, 24, seed=i + 2) * 0.1} for i in (0, 10, 20, 30)]

    def step(params: Any, x: Any) -> Any:
        for p in params:
            y = jax.nn.relu6(conv(jax, x, p["up"]))
            y = jax.nn.relu6(conv(jax, y, p["deep"], groups=96))
            x = x + conv(jax, y, p["down"])
        return jnp.mean(x, (1, 2))

    return step, (params, normal(jnp, 4, 32, 32, 24))


@workload("vision transformer of patches, forward")
def patches(jax: Any, jnp: Any) -> Program:
    """Patches of 4 x 4 of eight images of 32 x 32; three layers run by a scan over weights."""
    width, heads = 128, 4
    params = {
        "patch": normal(jnp, 48, width) * 0.1, "place": normal(jnp, 64, width, seed=1) * 0.1,
        "layers": {"qkv": normal(jnp, 3, width, 3 * width, seed=2) * 0.08,
                   "out": normal(jnp, 3, width, width, seed=3) * 0.08,
                   "up": normal(jnp, 3, width, 2 * width, seed=4) * 0.08,
                   "down": normal(jnp, 3, 2 * width, width, seed=5) * 0.08},
        "head": normal(jnp, width, 10, seed=6) * 0.1,
    }

    def norm(x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-6)

    def layer(x: Any, p: Any) -> Any:
        b, n, _ = x.shape
        qkv = (norm(x) @ p["qkv"]).reshape(b, n, 3, heads, -1)
        weights = jax.nn.softmax(
            jnp.einsum("bqhd,bkhd->bhqk", qkv[:, :, 0], qkv[:, :, 1]) / (width / heads) ** 0.5)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, qkv[:, :, 2]).reshape(b, n, -1) @ p["out"]
        return x + jax.nn.gelu(norm(x) @ p["up"], approximate=False) @ p["down"], None

    def step(p: Any, images: Any) -> Any:
        b = images.shape[0]
        x = images.reshape(b, 8, 4, 8, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 64, 48)
        x, _ = jax.lax.scan(layer, x @ p["patch"] + p["place"], p["layers"])
        return jax.nn.softmax(norm(x).mean(1) @ p["head"])

    return step, (params, normal(jnp, 8, 32, 32, 3))


@workload("U-Net that removes noise, diffusion step")
def denoiser(jax: Any, jnp: Any) -> Program:
    """The loss of predicted noise with its gradient, four images of 32 x 32, three scales."""
    sizes = {"in": (1, 16), "d1": (16, 32), "d2": (32, 32), "u1": (64, 16), "u0": (32, 16),
             "out": (16, 1)}
    params = {name: normal(jnp, 3, 3, *of, seed=i) * (0.5 / of[0] ** 0.5)
              for i, (name, of) in enumerate(sizes.items())}
    params["time"] = normal(jnp, 32, 32, seed=9) * 0.1

    def enlarged(x: Any) -> Any:
        b, h, w, c = x.shape
        return jax.image.resize(x, (b, 2 * h, 2 * w, c), "nearest")

    def predicted(p: Any, x: Any, t: Any) -> Any:
        waves = t[:, None] * jnp.exp(-jnp.linspace(0.0, 5.0, 16))
        of_time = jnp.concatenate([jnp.sin(waves), jnp.cos(waves)], -1) @ p["time"]
        a = jax.nn.silu(conv(jax, x, p["in"]))
        b = jax.nn.silu(conv(jax, a, p["d1"], 2) + of_time[:, None, None])
        c = jax.nn.silu(conv(jax, b, p["d2"], 2))
        b = jax.nn.silu(conv(jax, jnp.concatenate([enlarged(c), b], -1), p["u1"]))
        a = jax.nn.silu(conv(jax, jnp.concatenate([enlarged(b), a], -1), p["u0"]))
        return conv(jax, a, p["out"])

    def loss(p: Any, key: Any, images: Any) -> Any:
        a, b = jax.random.split(key)
        t = jax.random.uniform(a, (images.shape[0],), maxval=1000.0)
        noise = jax.random.normal(b, images.shape)
        kept = jnp.cos(t / 1000.0 * jnp.pi / 2)[:, None, None, None]
        noisy = kept * images + jnp.sqrt(1 - kept**2) * noise
        return jnp.mean((predicted(p, noisy, t) - noise) ** 2)

    def step(p: Any, key: Any, images: Any) -> Any:
        value, g = jax.value_and_grad(loss)(p, key, images)
        return jax.tree.map(lambda a, b: a - 1e-3 * b, p, g), value

    return step, (params, jax.random.key(0), normal(jnp, 4, 32, 32, 1))
