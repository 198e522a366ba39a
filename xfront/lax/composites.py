"""Functions chosen or named while tracing: composite, platform_dependent; and tokens."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..arrays.binding import Device
from ..config import config
from ..devices import default_backend
from ..tree_util import register_pytree_node


def composite(decomposition: Callable[..., Any], name: str, version: int = 0
              ) -> Callable[..., Any]:
    """A function that is known to compilers by a name; it computes what `decomposition` does.

    Args:
      decomposition: of arrays; its keyword arguments are static attributes.
      name: with a namespace, such as "my.relu"; it becomes a scope in the names of operations.
      version: of what the name means.
    Returns: a function of the same arguments. Every transformation goes through it, since nothing
      but its decomposition is recorded; the compiler is not told of the composite.
    Source: StableHLO spec, composite.
    """
    if not callable(decomposition):
        raise TypeError(f"composite: expected a function, got {decomposition!r}")
    from ..naming import named_scope  # late: most programs have no composite
    from ..transforms.jit import jit

    scope = name if version == 0 else f"{name}.v{version}"

    @functools.wraps(decomposition)
    def composed(*args: Any, **attributes: Any) -> Any:
        return jit(named_scope(scope)(functools.partial(decomposition, **attributes)))(*args)

    return composed


def platform_dependent(*args: Any, default: Callable[..., Any] | None = None,
                       **per_platform: Callable[..., Any]) -> Any:
    """The function of the platform that is traced for, applied to the arguments.

    Args:
      default: for platforms that are not named.
      per_platform: functions by platform: cpu, cuda, rocm, tpu; gpu stands for cuda and rocm.
    Raises: NotImplementedError where there is none for the platform. The choice is made while
      tracing: by the default device's platform.
    """
    platform = _platform()
    names = (platform, "gpu") if platform in ("cuda", "rocm") else (platform,)
    for name in names:
        if name in per_platform:
            return per_platform[name](*args)
    if default is None:
        raise NotImplementedError(f"platform_dependent: nothing is given for {platform}, only for "
                                  f"{', '.join(per_platform) or 'no platform'}; give `default`")
    return default(*args)


def _platform() -> str:
    device = config.jax_default_device
    if isinstance(device, Device):
        return device.platform
    return device or default_backend()


class Token:
    """A value that stands for an order of effects. It holds no array: what is ordered in a program
    are callbacks with `ordered=True`, and tokens add nothing to that."""

    __slots__ = ()


def create_token(_: Any = None) -> Token:
    """A token; see `Token`."""
    return Token()


def after_all(*operands: Token) -> Token:
    """A token for the effects of several. Raises: TypeError where one is no token."""
    for x in operands:
        if not isinstance(x, Token):
            raise TypeError(f"Arguments to after_all must be tokens, got {type(x).__name__}")
    return Token()


register_pytree_node(Token, lambda _: ((), None), lambda _, __: Token())

__all__ = ["after_all", "composite", "create_token", "platform_dependent"]
