"""Tells whether the operands that a check sees are the user's or the library's own.

Options like `numpy_rank_promotion` apply to the code that the user wrote: to the operands of the
function that the user called. The user cannot change what that function computes inside, or what a
rule of the library computes when a pass runs it. A check is made in the name of a function. A check
that fails looks at the Python frames, and counts only where the user called the function of that
name. A check that passes looks at no frames.
"""

from __future__ import annotations

import os
import sys
from types import FrameType

from xfront_ir.locations import is_library

_ROOM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_PUBLIC = (
    *[os.path.join(_ROOM, room, "") for room in (
        "composed", "image", "lax", "nn", "numpy", "ops", "random", "scipy")],
    os.path.join(_ROOM, "experimental", "sparse", ""),
    os.path.join(_ROOM, "transforms", "raveling.py"),
)
_OTHERS = tuple([os.path.join(_ROOM, *path) for path in (
    ("lax", "associative.py"), ("lax", "control_flow.py"), ("numpy", "applying.py"),
    ("numpy", "ufuncs.py"))])
"""Files of the library whose functions call functions that the user passes to them."""

_HANDS_ON = {
    "allclose": ("isclose",), "append": ("concatenate",), "array": ("result_type", "stack"),
    "block": ("concatenate",), "celu": ("divide", "multiply"), "clip": ("maximum", "minimum"),
    "corrcoef": ("cov",), "diff": ("concatenate",), "digitize": ("searchsorted",),
    "elu": ("multiply",), "fill_diagonal": ("set",), "hstack": ("concatenate",),
    "leaky_relu": ("multiply",), "logspace": ("linspace",), "logsumexp": ("multiply",),
    "multi_dot": ("einsum",), "multiply": ("mul",), "place": ("set",), "polymul": ("convolve",),
    "put": ("set",), "put_along_axis": ("set",), "standardize": ("multiply", "subtract"),
    "toeplitz": ("concatenate",), "union1d": ("concatenate",), "vdot": ("dot",),
    "vstack": ("concatenate",),
}  # fmt: skip
"""Functions that pass their operands on to others, so that these check the user's operands."""


def users_own(name: str) -> bool:
    """Whether a check made in the name of this function is about operands that the user gave to it.

    That is so where the function that the user's code called has this name or passes its operands
    on to the function of this name, or where the user's code called the check itself.
    """
    called = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_library(code := frame.f_code):
        if code.co_filename.startswith(_PUBLIC) and code.co_filename not in _OTHERS:
            called = code.co_name
        frame = frame.f_back
    if called is None:
        return True
    called = called.lstrip("_")
    return called == name or name in _HANDS_ON.get(called, ())
