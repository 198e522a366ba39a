"""Operations close to XLA's: what `xfront.numpy` is written in."""

from .control_flow import cond, fori_loop, map, scan, switch, while_loop

__all__ = ["cond", "fori_loop", "map", "scan", "switch", "while_loop"]
