"""Layouts: the order of the elements of an array in memory; formats: a layout with a sharding.

Arrays have the layout that the platform gives them; a request for any other layout is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import binding


class _Auto:
    """The type of `Layout.AUTO`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AUTO"

    def __reduce__(self) -> str:
        return "AUTO"


AUTO = _Auto()


class Layout:
    """The order of the elements of an array in memory.

    Args:
      major_to_minor: the dimensions, from the one along which neighbours are farthest apart in
        memory to the one along which they are adjacent.
      tiling: sizes of the tiles into which the innermost dimensions are divided; None means those
        of the platform.
      sub_byte_element_size_in_bits: number of bits of an element narrower than a byte; 0 means as
        the platform does.

    >>> jnp.ones((2, 3)).format.layout.major_to_minor
    (0, 1)
    """

    AUTO = AUTO
    """Stands for a layout that the compiler chooses."""

    __slots__ = ("major_to_minor", "sub_byte_element_size_in_bits", "tiling")

    def __init__(self, major_to_minor: Sequence[int],
                 tiling: Sequence[Sequence[int]] | None = None,
                 sub_byte_element_size_in_bits: int = 0) -> None:
        self.major_to_minor = tuple([int(d) for d in major_to_minor])
        self.tiling = None if tiling is None else tuple([tuple(t) for t in tiling])
        self.sub_byte_element_size_in_bits = sub_byte_element_size_in_bits

    @staticmethod
    def from_pjrt_layout(layout: Any) -> Layout:
        """The Layout of a layout of jaxlib, as arrays and programs have it."""
        written = layout._xla_layout()
        return Layout(tuple(reversed(written.minor_to_major())), written.tiling(),
                      written.element_size_in_bits())

    def check_compatible_aval(self, shape: Sequence[int]) -> None:
        """Check that an array of this shape can have the layout. Raises: ValueError."""
        if sorted(self.major_to_minor) != list(range(len(shape))):
            raise ValueError(
                "Length of major_to_minor and the rank of the value should match. Got "
                f"major_to_minor={self.major_to_minor} and shape={tuple(shape)}")

    def update(self, **changes: Any) -> Layout:
        """A copy with some fields changed."""
        fields = {name: getattr(self, name) for name in Layout.__slots__}
        return Layout(**{**fields, **changes})

    def _key(self) -> tuple:
        return self.major_to_minor, self.tiling, self.sub_byte_element_size_in_bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (f"Layout(major_to_minor={self.major_to_minor}, tiling={self.tiling}, "
                f"sub_byte_element_size_in_bits={self.sub_byte_element_size_in_bits})")


class Format:
    """A layout and a sharding.

    Args:
      layout: a Layout, `Layout.AUTO`, or None for that of the platform.
      sharding: the Sharding of an array, or None for any.
    Raises: TypeError for another layout or sharding; ValueError for a Layout without a sharding.

    >>> x = jnp.ones((2, 3))
    >>> columns = layout.Format(layout.Layout((1, 0)), x.sharding)
    >>> columns.layout.major_to_minor, x.format.layout.major_to_minor
    ((1, 0), (0, 1))
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Layout | _Auto | None = None, sharding: Any = None) -> None:
        if layout is not None and layout is not AUTO and not isinstance(layout, Layout):
            raise TypeError(
                "Invalid value received for the layout argument. Expected values are `None`, "
                f"`Layout.AUTO` or an instance of `Layout`. Got {layout} of type {type(layout)}")
        if sharding is not None and not isinstance(sharding, binding.Sharding):
            raise TypeError(
                "Invalid value received for the sharding argument. Expected values are `None` or "
                f"an instance of `Sharding`. Got {sharding} of type {type(sharding)}")
        if isinstance(layout, Layout) and sharding is None:
            raise ValueError("Format: a Layout can only be given together with the sharding of the "
                             "arrays; give sharding too")
        self.layout, self.sharding = layout, sharding

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and (
            self.layout == other.layout and self.sharding == other.sharding)

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"


def format_of(x: Any) -> Format:
    """Layout and sharding of an array. Raises: RuntimeError where it was deleted."""
    if x.is_deleted():
        raise binding.deleted_error(x)
    return Format(Layout.from_pjrt_layout(x._pjrt_layout), x._sharding)


def default_layout(sharding: Any, shape: Sequence[int], dtype: Any) -> Layout:
    """The layout that the platform gives an array of that type."""
    part = sharding.shard_shape(tuple(shape))
    device = sharding._device_assignment[0]
    return Layout.from_pjrt_layout(
        device.client.get_default_layout(np.dtype(dtype), part, device))


def check_layout(function: str, layout: Any, sharding: Any, shape: Sequence[int], dtype: Any
                 ) -> None:
    """Refuse a layout that arrays do not get.

    Raises: ValueError where it does not fit the shape; NotImplementedError where it is not the
      platform's own.
    """
    if not isinstance(layout, Layout):
        return                                   # the platform's layout
    layout.check_compatible_aval(shape)
    own = default_layout(sharding, shape, dtype)
    if layout.major_to_minor != own.major_to_minor or (
            layout.tiling not in (None, own.tiling)) or (
            layout.sub_byte_element_size_in_bits not in (0, own.sub_byte_element_size_in_bits)):
        raise NotImplementedError(
            f"{function}: {layout} is not supported, because it differs from the platform's own "
            f"layout, {own}; leave the layout out, or transpose the array")


def sharding_in(function: str, place: Any, shape: Sequence[int], dtype: Any) -> Any:
    """The sharding of a Format, after a check of its layout; any other `place` unchanged.

    Raises: the errors of `check_layout`.
    """
    if not isinstance(place, Format):
        return place
    check_layout(function, place.layout, place.sharding, shape, dtype)
    return place.sharding


__all__ = ["AUTO", "Format", "Layout", "check_layout", "default_layout", "format_of", "sharding_in"]
