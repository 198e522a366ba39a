"""The mark of functions that users call: errors leave them without the library's frames."""

from ..tracebacks import front_door as api_boundary

__all__ = ["api_boundary"]
