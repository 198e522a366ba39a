"""What may still change."""

from ..callbacks import io_callback

__all__ = ["io_callback"]
