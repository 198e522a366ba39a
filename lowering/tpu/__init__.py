"""Forms for TPUs: ops that XLA's compiler has no rule for there, or refuses.

Kernels that it knows by name are `platform_call`s. What it cannot do at all keeps its op, whose
rule refuses.
"""

import functools

from lowering.forms import registry

form = functools.partial(registry.form, platform="tpu")
