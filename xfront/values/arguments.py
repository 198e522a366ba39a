"""Checks of arguments for which one value is supported; any other is refused by name."""

from __future__ import annotations

from typing import Any

from .. import binding


def only(function: str, accepted: Any, instead: str, **given: Any) -> None:
    """Refuse any value of an argument except the one that is accepted.

    Args:
      function: name of the function that the user called.
      accepted: the accepted value: None, a bool, or a value with `==`.
      instead: a clause that says what to write instead.
      given: the argument, by its name.
    Raises: NotImplementedError where the argument has another value.
    """
    for argument, value in given.items():
        if value is accepted:
            continue
        if accepted is None or type(value) is not type(accepted) or value != accepted:
            raise NotImplementedError(f"{function}: {argument}={value!r} is not supported, only "
                                      f"{argument}={accepted!r} is; {instead}")


def at_home(function: str, sharding: Any, argument: str = "out_sharding") -> None:
    """Raise unless `sharding` is None, names the default device, or divides over no mesh axes.
    All three leave the result where it is anyway.

    Raises: TypeError where `sharding` is not a Sharding; NotImplementedError for other devices.
    """
    if sharding is None:
        return
    if not isinstance(sharding, binding.Sharding):
        raise TypeError(f"{function}: {argument} must be a Sharding or None, got {sharding!r} of "
                        f"type {type(sharding).__name__}")
    mesh = getattr(sharding, "mesh", None)
    if mesh is not None and not mesh.axis_names:
        return                                   # the sharding in the type of one-device arrays
    if sharding != binding.default_sharding():
        raise NotImplementedError(
            f"{function}: {argument}={sharding!r} is not supported, only the default device's is "
            f"({binding.default_sharding()!r}); place the result with xfront.device_put")


__all__ = ["at_home", "only"]
