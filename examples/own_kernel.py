"""An operation in C++: compiled here, registered with XLA, called from a jitted program, batched by
`vmap` and differentiated by a rule of its own.

The operation divides each row by its root mean square. The function in C++ is called with whole
arrays, so a batch needs no loop (`vmap_method="broadcast_all"`); it also returns the factor of each
row, which the derivative needs. Run it: `python examples/own_kernel.py` (it needs g++ or clang++).
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import xfront as jax
import xfront.numpy as jnp
from xfront import ffi

SOURCE = r"""
#include <cmath>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;

static ffi::Error Normalize(float eps, F32 x, ffi::ResultBuffer<ffi::F32> y,
                            ffi::ResultBuffer<ffi::F32> factor) {
  size_t n = x.dimensions().back();
  for (size_t row = 0; row * n < x.element_count(); ++row) {
    const float* in = x.typed_data() + row * n;
    float sum = 0;
    for (size_t i = 0; i < n; ++i) sum += in[i] * in[i];
    float scale = 1 / std::sqrt(sum / n + eps);
    factor->typed_data()[row] = scale;
    for (size_t i = 0; i < n; ++i) y->typed_data()[row * n + i] = in[i] * scale;
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(normalize, Normalize, ffi::Ffi::Bind()
    .Attr<float>("eps").Arg<F32>().Ret<F32>().Ret<F32>());
"""


def build(folder: Path) -> Any:
    """The compiled library."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise SystemExit("own_kernel.py needs a C++ compiler: install g++ or clang++")
    source, library = folder / "normalize.cc", folder / "normalize.so"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-std=c++17", "-O2", "-w", "-fPIC", "-shared",
                    f"-I{ffi.include_dir()}", str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def call(x: Any) -> Any:
    """Rows divided by their root mean square, and the factor of each row."""
    kinds = [jax.ShapeDtypeStruct(shape, x.dtype) for shape in (x.shape, x.shape[:-1])]
    return ffi.ffi_call("normalize", kinds, vmap_method="broadcast_all")(x, eps=np.float32(1e-6))


@jax.custom_vjp
def normalize(x: Any) -> Any:
    """Each row divided by its root mean square."""
    return call(x)[0]


def forward(x: Any) -> Any:
    """The result, and what the derivative reads."""
    y, factor = call(x)
    return y, (y, factor)


def backward(saved: Any, ct: Any) -> Any:
    """The cotangent without its part along the result, times the factor."""
    y, factor = saved
    return ((ct - y * jnp.mean(ct * y, -1, keepdims=True)) * factor[..., None],)


normalize.defvjp(forward, backward)


def plain(x: Any) -> Any:
    """The same operation in xfront.numpy."""
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def main() -> dict[str, float]:
    """Compare the operation with the plain one; the largest differences by what is compared."""
    with tempfile.TemporaryDirectory() as folder:
        ffi.register_ffi_target("normalize", ffi.pycapsule(build(Path(folder)).normalize))
        x = jax.random.normal(jax.random.key(0), (4, 5, 8))
        w = jax.random.normal(jax.random.key(1), (4, 5, 8))

        def loss(f: Any) -> Any:
            return jax.jit(jax.grad(lambda x: jnp.sum(f(x) * w)))

        pairs = {"values": (jax.jit(normalize)(x), plain(x)),
                 "a batch": (jax.vmap(normalize, 1, 1)(x), plain(x)),
                 "gradients": (loss(normalize)(x), loss(plain)(x)),
                 "gradients of a batch": (loss(jax.vmap(normalize))(x), loss(plain)(x))}
        return {what: float(jnp.abs(a - b).max()) for what, (a, b) in pairs.items()}


if __name__ == "__main__":
    for what, difference in main().items():
        print(f"{what:22} differ by at most {difference:.1e}")
