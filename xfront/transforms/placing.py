"""What `jit` is told of devices: the default one, or refused when a signature is traced."""

from __future__ import annotations

from typing import Any

from lowering import clients

from ..arrays import binding
from ..arrays.arguments import at_home
from ..tree_util import broadcast_prefix, tree_flatten


def check_given(device: Any, backend: Any, in_shardings: Any, out_shardings: Any) -> None:
    """Refuse what names no device, platform or placement; makes no client.

    Raises: TypeError.
    """
    if device is not None and not isinstance(device, binding.Device):
        raise TypeError(f"jit: device must be a Device or None, got {device!r} of type "
                        f"{type(device).__name__}")
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"jit: backend must be the name of a platform or None, got {backend!r}")
    for name, shardings in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        for x in tree_flatten(shardings)[0]:
            if not isinstance(x, binding.Sharding):
                raise TypeError(f"jit: {name} must be a Sharding, None or a tree of them, got "
                                f"{x!r} of type {type(x).__name__}")


def check_places(device: Any, backend: Any, in_shardings: Any, args: tuple, kwargs: dict) -> None:
    """Refuse another device, platform or placement of arguments than the default.

    Raises: RuntimeError where the platform is unknown; NotImplementedError; ValueError where the
      shardings are no tree prefix of the arguments.
    """
    home = binding.default_device()
    if device is not None and device != home:
        raise NotImplementedError(f"jit: device={device!r} is not supported, only the default "
                                  f"device {home!r} is; place the arguments with xfront.device_put")
    if backend is not None:
        names = clients.ALIASES.get(backend)
        if names is None:
            raise RuntimeError(f"Unknown backend {backend}. Known are {', '.join(clients.ALIASES)}")
        if home.client.platform not in names:
            raise NotImplementedError(
                f"jit: backend={backend!r} is not supported, only the default device's "
                f"({home.client.platform}) is; set config.update('jax_platforms', {backend!r}) "
                "before the first use of a device")
    if in_shardings is None:
        return
    if kwargs:
        raise ValueError("jit: in_shardings are those of positional arguments, got keyword "
                         f"arguments {sorted(kwargs)}; pass them by position")
    _check_tree("in_shardings", in_shardings, args)


def check_results(out_shardings: Any, result: Any) -> None:
    """Refuse a placement of results other than the default device's.

    Raises: NotImplementedError; ValueError where the shardings are no tree prefix of the result.
    """
    if out_shardings is not None:
        _check_tree("out_shardings", out_shardings, result)


def _check_tree(name: str, shardings: Any, tree: Any) -> None:
    for x in tree_flatten(shardings)[0]:
        at_home("jit", x, name)
    if not isinstance(shardings, binding.Sharding):
        try:
            broadcast_prefix(shardings, tree, is_leaf=lambda s: s is None)
        except ValueError as e:
            raise ValueError(f"jit: {name} must be a tree prefix of what it places: {e}") from None


__all__ = ["check_given", "check_places", "check_results"]
