"""Waiting for the effects of programs that were started."""

from ..eager.devices import effects_barrier


def wait_for_tokens() -> None:
    """Wait for all effects that were started, as `xfront.effects_barrier`."""
    effects_barrier()
