"""Memories: `Space.Device` is that of the devices, `Space.Host` the host's, which they read from.

`device_put(x, memory.Space.Host)` moves an array there, outside and inside of programs, and
`typeof(x).memory_space` tells where it is. docs/sharding.md says what operations do with such
arrays.

>>> parked = xfront.device_put(jnp.arange(3.), xfront.memory.Space.Host)
>>> xfront.typeof(parked), parked.sharding.memory_kind
(ShapedArray(float32<host>[3]), 'pinned_host')
>>> xfront.device_put(parked * 2, xfront.memory.Space.Device).sharding.memory_kind
'device'
"""

from .binding.memory_space import MemorySpace as Space

__all__ = ["Space"]
