"""JAX's module of this name has no counterpart; messages say which names to use instead."""

from __future__ import annotations

from ..base.on_demand import shown as _shown
from ..jaxpr.classes import absent

__getattr__ = absent(__name__, {
    "xla_pmap_p": "pmap is recorded as jit of a shard_map",
    "Mesh": "write jax.sharding.Mesh",
    "create_compile_options": "give compiler_options to jax.jit",
    "thread_resources": "write jax.sharding.get_mesh()",
})
__all__: list[str] = []
__dir__ = _shown(globals())
