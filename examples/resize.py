"""Images in other sizes: a handwritten digit is enlarged by each method, and its picture is drawn.

`image.resize` is linear in the image, so its gradient is itself a resizing: a picture that is seen
only in small is drawn large by descent, such that in small it looks like the scan and in large its
neighbours differ little. Run it: `python examples/resize.py [picture.png]`.
"""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from digits import load

import xfront as jax
import xfront.numpy as jnp
from xfront import lax
from xfront.image import resize

SIDE = 96
METHODS = ("nearest", "linear", "cubic", "lanczos3")


def roughness(large: Any) -> Any:
    """The sum of squared differences between neighbours."""
    return (jnp.diff(large, axis=0) ** 2).sum() + (jnp.diff(large, axis=1) ** 2).sum()


def misfit(large: Any, small: Any) -> Any:
    """Squared distance of the picture, in small, from the scan."""
    return ((resize(large, small.shape, "linear") - small) ** 2).sum()


@jax.jit
def drawn_large(small: Any, steps: int = 200) -> Any:
    """A smooth large picture that is the scan in small, by gradient descent with momentum."""
    slope = jax.grad(lambda x: 100 * misfit(x, small) + 0.05 * roughness(x))

    def step(_: Any, state: Any) -> Any:
        x, speed = state
        speed = 0.9 * speed - 0.3 * slope(x)
        return x + speed, speed

    start = resize(small, (SIDE, SIDE), "cubic")
    return lax.fori_loop(0, steps, step, (start, 0 * start))[0]


def png(grey: np.ndarray) -> bytes:
    """A grey image with values from 0 to 1 as a file (PNG specification, chapters 5 and 11)."""
    height, width = grey.shape
    rows = np.zeros((height, width + 1), np.uint8)
    rows[:, 1:] = np.round(255 * np.clip(grey, 0, 1))

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))


def main() -> None:
    small = jnp.asarray(load()[0].images[13].reshape(8, 8))
    pictures = {method: resize(small, (SIDE, SIDE), method) for method in METHODS}
    pictures["by descent"] = drawn_large(small)
    for name, large in pictures.items():
        back = float(jnp.sqrt(misfit(large, small) / small.size))
        print(f"{name:10}: in small off by {back:.4f}, roughness {float(roughness(large)):6.2f}")
    if sys.argv[1:]:
        gap = np.ones((SIDE, 6), np.float32)
        tiles = [tile for large in pictures.values() for tile in (np.asarray(large), gap)]
        Path(sys.argv[1]).write_bytes(png(np.concatenate(tiles[:-1], axis=1)))
        print(f"drawn in {sys.argv[1]}")


if __name__ == "__main__":
    main()
