"""Signals and images: spectra, filters, edges, warps, blocks, echoes."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.sized import between, normal
from benchmarks.workloads.measured import Program, part, workload


@workload("mel spectrogram of four seconds of sound")
def spectrogram(jax: Any, jnp: Any) -> Program:
    """Frames of 512 every 128 of 64,000 samples, a Hann window, 40 bands, cosines."""
    n = 512
    bands = np.maximum(0, 1 - np.abs(np.arange(40)[:, None] - np.linspace(0, 40, 257)[None]))

    def step(x: Any, bands: Any) -> Any:
        starts = jnp.arange(0, len(x) - n, 128)
        frames = x[starts[:, None] + jnp.arange(n)] * jnp.hanning(n)
        power = jnp.abs(jnp.fft.rfft(frames)) ** 2
        mel = jnp.log(power @ bands.T + 1e-6)
        k = jnp.arange(13)[:, None] * (jnp.arange(40) + 0.5) * jnp.pi / 40
        return mel @ jnp.cos(k).T

    return step, (normal(jnp, 64_000), jnp.asarray(bands.astype(np.float32)))


@workload("edges of an image (Canny)")
def edges(jax: Any, jnp: Any) -> Program:
    """Blur, slopes, thinning along four directions, ten turns of growing; 256 x 256."""
    signal = part(jax, "scipy.signal")

    def step(image: Any) -> Any:
        w = jnp.exp(-jnp.arange(-3.0, 4.0) ** 2 / 2)
        blurred = signal.convolve2d(image, jnp.outer(w, w) / w.sum() ** 2, mode="same")
        sobel = jnp.array([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
        gx = signal.convolve2d(blurred, sobel, mode="same")
        gy = signal.convolve2d(blurred, sobel.T, mode="same")
        size = jnp.hypot(gx, gy)
        way = jnp.round(jnp.arctan2(gy, gx) * 4 / jnp.pi).astype(jnp.int32) % 4
        kept = jnp.zeros(image.shape, bool)
        for i, (a, b) in enumerate(((0, 1), (1, 1), (1, 0), (1, -1))):
            ahead, behind = (jnp.roll(size, (s * a, s * b), (0, 1)) for s in (1, -1))
            kept = kept | ((way == i) & (size >= ahead) & (size >= behind))
        strong, weak = kept & (size > 1.0), kept & (size > 0.5)

        def grow(_: Any, found: Any) -> Any:
            p = jnp.pad(found, 1)
            near = jnp.zeros_like(found)
            for i in range(3):
                for j in range(3):
                    near = near | p[i : i + 256, j : j + 256]
            return near & weak

        return jax.lax.fori_loop(0, 10, grow, strong)

    return step, (between(jnp, 0, 1, 256, 256),)


@workload("median filter and equalised histogram")
def median(jax: Any, jnp: Any) -> Program:
    """Windows of 3 x 3 of 160 x 160 bytes, then a cumulated histogram as a table."""
    def step(image: Any) -> Any:
        h, w = image.shape
        p = jnp.pad(image, 1, mode="edge")
        windows = jnp.stack([p[i : i + h, j : j + w] for i in range(3) for j in range(3)])
        calm = jnp.median(windows, 0).astype(jnp.uint8)
        counts = jnp.bincount(calm.ravel(), length=256)
        cumulated = jnp.cumsum(counts)
        low = jnp.min(jnp.where(cumulated > 0, cumulated, h * w))
        table = jnp.round((cumulated - low) / (h * w - low) * 255).astype(jnp.uint8)
        return table[calm]

    return step, (between(jnp, 20, 120, 160, 160, dtype=np.uint8),)


@workload("image turned and warped, gradient of the match")
def warp(jax: Any, jnp: Any) -> Program:
    """Bilinear samples of 256 x 256 under an affine map, differentiated by its six numbers."""
    sample = part(jax, "scipy.ndimage").map_coordinates

    def loss(p: Any, image: Any, target: Any) -> Any:
        y, x = jnp.meshgrid(jnp.arange(256.0) - 128, jnp.arange(256.0) - 128, indexing="ij")
        at = [p[0] * y + p[1] * x + p[2] + 128, p[3] * y + p[4] * x + p[5] + 128]
        return jnp.mean((sample(image, at, order=1, mode="nearest") - target) ** 2)

    angle = 0.1
    p = jnp.array([np.cos(angle), -np.sin(angle), 1.5, np.sin(angle), np.cos(angle), -2.5])
    return jax.value_and_grad(loss), (p, normal(jnp, 256, 256), normal(jnp, 256, 256, seed=1))


@workload("JPEG's blocks: cosines, rounding, back")
def jpeg(jax: Any, jnp: Any) -> Program:
    """A colour image of 256 x 256 in YCbCr, blocks of 8 x 8, and the error of it all."""
    k = np.arange(8)
    cosines = np.cos((2 * k[None] + 1) * k[:, None] * np.pi / 16) * np.where(k == 0, 0.125, 0.25)[
        :, None] ** 0.5
    colours = np.array([[0.299, 0.587, 0.114], [-0.169, -0.331, 0.5], [0.5, -0.419, -0.081]])

    def step(image: Any, cosines: Any, colours: Any) -> Any:
        x = (image.astype(jnp.float32) - 128.0) @ colours.T
        blocks = x.reshape(32, 8, 32, 8, 3).transpose(4, 0, 2, 1, 3)
        waves = cosines @ blocks @ cosines.T
        quality = 10.0 + 4.0 * (jnp.arange(8)[:, None] + jnp.arange(8))
        coded = jnp.round(waves / quality).astype(jnp.int16)
        back = cosines.T @ (coded * quality) @ cosines
        image2 = back.transpose(1, 3, 2, 4, 0).reshape(256, 256, 3) @ jnp.linalg.inv(colours).T
        out = jnp.clip(jnp.round(image2 + 128.0), 0, 255)
        return jnp.sum(coded != 0), jnp.mean((out - image.astype(jnp.float32)) ** 2)

    return step, (between(jnp, 0, 255, 256, 256, 3, dtype=np.uint8),
                  jnp.asarray(cosines.astype(np.float32)), jnp.asarray(colours.astype(np.float32)))


@workload("echo cancelled by adaptive filters, beams formed")
def adaptive(jax: Any, jnp: Any) -> Program:
    """Normalised least mean squares of 64 taps on eight channels of 500 samples, then delays."""
    taps = 64

    def step(far: Any, near: Any) -> Any:
        padded = jnp.concatenate([jnp.zeros(taps - 1), far])

        def one(near: Any) -> Any:
            def turn(w: Any, at: Any) -> Any:
                i, y = at
                x = jax.lax.dynamic_slice(padded, (i,), (taps,))
                error = y - w @ x
                return w + 0.5 * error * x / (x @ x + 1e-3), error

            return jax.lax.scan(turn, jnp.zeros(taps), (jnp.arange(len(near)), near))[1]

        clean = jax.vmap(one)(near)
        spectrum = jnp.fft.rfft(clean, 1024)
        delays = jnp.sin(jnp.linspace(-1.5, 1.5, 31))[:, None] * jnp.arange(8)
        waves = jnp.exp(2j * jnp.pi * jnp.arange(513)[None, None] / 1024 * delays[..., None])
        return clean, jnp.sum(jnp.abs(jnp.einsum("acf,cf->af", waves, spectrum)) ** 2, -1)

    return step, (normal(jnp, 500), normal(jnp, 8, 500, seed=1))
