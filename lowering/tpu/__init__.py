"""Forms for TPUs: ops that XLA's compiler has no rule for there, refuses, or makes too much of.

Kernels that the compiler knows by name are `platform_call`s. An op that it does not support at all
gets no form, and its rule refuses.
"""

import functools

from lowering.forms import registry

form = functools.partial(registry.form, platform="tpu")
