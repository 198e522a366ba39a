"""Names of transformations on the locations of the ops that they emit."""

from __future__ import annotations

from ..locations import Location


class Scoped(dict[Location | None, Location | None]):
    """Maps a location to the same location inside the scope `name`; each is made once."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__({None: None})
        self.name = name

    def __missing__(self, loc: Location) -> Location:
        made = self[loc] = loc.scoped(self.name)
        return made
