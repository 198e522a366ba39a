"""Forms for CUDA: of ops for which XLA's compiler has no rule there, or that it refuses.

NVIDIA's kernels are `platform_call`s. An op that CUDA does not support at all gets no form, and its
rule refuses.
"""

import functools

from lowering.forms import registry

form = functools.partial(registry.form, platform="cuda")
