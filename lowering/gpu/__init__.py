"""Forms for CUDA: ops that XLA's compiler has no rule for there, or refuses.

NVIDIA's kernels are `platform_call`s. What CUDA cannot do at all keeps its op, whose rule refuses.
"""

import functools

from lowering.forms import registry

form = functools.partial(registry.form, platform="cuda")
