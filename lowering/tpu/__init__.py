"""Forms for TPUs: of ops for which XLA's compiler has no rule there, or that it refuses, or for
which it does too much work.

Kernels that the compiler knows by name are `platform_call`s. An op that it does not support at all
gets no form, and its rule refuses.
"""

import functools

from lowering.forms import registry

form = functools.partial(registry.form, platform="tpu")
