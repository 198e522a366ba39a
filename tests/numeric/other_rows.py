"""`scipy.signal`, `scipy.ndimage`, `scipy.integrate`, `scipy.cluster`, `ops` and `image`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate
import scipy.ndimage

from .row import DTYPES, FULL, REAL, Row

REALS = ("float32", "float64")
NUMBERS = tuple(d for d in DTYPES if d != "bool")
ORDERED = tuple(d for d in NUMBERS if "complex" not in d)


def signal(name: str, *calls: str, **options: Any) -> Row:
    return Row(f"scipy.signal.{name}", calls, ("usual",),
               **{"scale": "largest", "dtypes": ("float32", "float64"), **options})


SPECTRA = dict(ulps=16.0, why="of several transforms")


def _segments(f: Any, start: Any) -> Any:
    def run(x: Any, ids: Any, num_segments: int, **_: Any) -> Any:
        first = start(x.dtype)
        made = np.full((num_segments, *x.shape[1:]), first, x.dtype)
        for row, k in zip(x, ids):
            made[k] = f(made[k], row)
        return made

    return run


def _least(dtype: np.dtype) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _most(dtype: np.dtype) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _linear(image: Any, shape: Any, method: str, antialias: bool = True) -> Any:
    """Each axis by weights that fall off linearly; wider where an axis shrinks."""
    for axis, (old, new) in enumerate(zip(image.shape, shape)):
        if old == new:
            continue
        scale = new / old
        wide = max(1 / scale, 1) if antialias else 1
        at = (np.arange(new) + 0.5) / scale - 0.5
        w = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(old)) / wide)
        w = w / w.sum(1, keepdims=True)
        image = np.moveaxis(np.tensordot(w, image, (1, axis)), 0, axis)
    return image


def _nearest(image: Any, shape: Any, method: str) -> Any:
    for axis, (old, new) in enumerate(zip(image.shape, shape)):
        at = np.floor((np.arange(new) + 0.5) * old / new).astype(int)
        image = np.take(image, at, axis)
    return image


def _map_coordinates(x: Any, at: Any, order: int, mode: str = "constant", cval: float = 0.0
                     ) -> Any:
    made = scipy.ndimage.map_coordinates(x.astype(float), np.array(at, float), order=order,
                                         mode=mode, cval=cval)
    return made.astype(x.dtype)


SEGMENTS = ("f(a[6], N.array([0, 0, 1, 1, 3, 3]), num_segments=4)",
            "f(a[4, 3], N.array([2, 0, 2, 1]), num_segments=3)",
            "f(a[4], i[4], num_segments=3)")
ROWS = [
    signal("convolve", "f(a[5], b[3])", "f(a[5], b[3], 'same')", "f(a[5], b[3], 'valid')",
           "f(a[3, 4], b[2, 2])", "f(a[5], b[3], method='fft')", dtypes=FULL),
    signal("correlate", "f(a[5], b[3])", "f(a[5], b[3], 'same')", "f(a[5], b[3], 'valid')",
           "f(a[3, 4], b[2, 2])", dtypes=FULL),
    *[signal(name, "f(a[3, 4], b[2, 2])", "f(a[3, 4], b[2, 3], 'same')",
             "f(a[3, 4], b[2, 2], 'valid')", dtypes=FULL)
      for name in ("convolve2d", "correlate2d")],
    signal("fftconvolve", "f(a[5], b[3])", "f(a[3, 4], b[2, 2], 'same')",
           "f(a[3, 4], b[3, 2], axes=1)", dtypes=FULL,
           **SPECTRA),
    signal("detrend", "f(a[6])", "f(a[3, 5], axis=0)", "f(a[6], type='constant')", "f(a[8], bp=3)",
           dtypes=("float32", "float64", "int32"), ulps=32, why="a fit is a solution of equations"),
    signal("welch", "f(a[16], nperseg=8)", "f(a[2, 16], nperseg=8, noverlap=2)",
           "f(a[16], fs=2.0, nperseg=8, scaling='spectrum')", **SPECTRA),
    signal("csd", "f(a[16], b[16], nperseg=8)", **SPECTRA),
    signal("stft", "f(a[16], nperseg=8)", "f(a[2, 16], nperseg=8, noverlap=6)", **SPECTRA),
    signal("istft", "f(a[5, 4] + 1j * b[5, 4], nperseg=8)", **SPECTRA),
    Row("scipy.ndimage.map_coordinates", ("f(a[4, 5], [b[6] + 1, b[6] + 2], 1)",
        "f(a[4, 5], [b[6] + 1, b[6] + 2], 0)", "f(a[6], [c[5]], 1, mode='nearest')",
        "f(a[6], [c[5]], 1, cval=2.0)", "f(a[6], [c[5]], 1, mode='mirror')"),
        ("usual", "unit", "positive"), scale="largest", backward=4, dtypes=REALS,
        reference=_map_coordinates,
        why="places are rounded"),
    Row("scipy.integrate.trapezoid", ("f(a[5])", "f(a[5], b[5])", "f(a[3, 4], dx=0.5, axis=0)"),
        ("usual", "ordered"), scale="largest", dtypes=(*REAL, "int32")),
    Row("scipy.cluster.vq.vq", ("f(a[5, 2], b[3, 2])", "f(a[5, 3], b[4, 3])"), ("usual",),
        scale="largest", dtypes=REALS),
    Row("ops.segment_sum", SEGMENTS, ("usual",), dtypes=NUMBERS, scale="terms",
        reference=_segments(np.add, lambda d: 0)),
    Row("ops.segment_prod", SEGMENTS, ("nonzero",), dtypes=NUMBERS, grad=False,
        reference=_segments(np.multiply, lambda d: 1)),
    Row("ops.segment_max", SEGMENTS, ("apart",), dtypes=ORDERED,
        reference=_segments(np.maximum, _least)),
    Row("ops.segment_min", SEGMENTS, ("apart",), dtypes=ORDERED,
        reference=_segments(np.minimum, _most)),
    Row("image.resize", ("f(a[4, 5], (8, 3), 'linear')", "f(a[4, 3], (2, 3), 'linear')",
        "f(a[4, 3], (2, 3), 'bilinear', antialias=False)", "f(a[4, 3, 2], (7, 3, 2), 'linear')"),
        ("usual",), scale="largest", dtypes=REAL, reference=_linear, ulps=16,
        why="of weights that are quotients"),
    Row("image.resize", ("f(a[4, 5], (8, 3), 'nearest')", "f(a[6], (4,), 'nearest')"), ("usual",),
        dtypes=REAL, reference=_nearest),
]
