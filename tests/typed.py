"""What values of generated programs have in common: a dtype, by its short name, and a shape."""

from __future__ import annotations

import math


class Typed:
    """Something of a dtype and a shape; it prints as `f32[2,3]`."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)
