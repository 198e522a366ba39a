"""Signals: convolutions, trends, spectra."""

from ...base.on_demand import shown as _shown
from .convolutions import convolve, convolve2d, correlate, correlate2d, fftconvolve
from .spectra import csd, detrend, istft, stft, welch

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve",
           "istft", "stft", "welch"]
__dir__ = _shown(globals())
