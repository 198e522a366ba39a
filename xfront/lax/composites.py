"""Functions chosen or named while tracing: composite, platform_dependent; tokens; dce_sink."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lowering.clients import default_client, platform_of
from xfront_ir import ops

from ..arrays.binding import Device
from ..arrays.operands import index_of
from ..config import config
from ..tracebacks import front_door_of
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer
from ..tree_util import register_pytree_node, tree_leaves


def composite(decomposition: Callable[..., Any], name: str, version: int = 0
              ) -> Callable[..., Any]:
    """A function with a name for the compiler; it computes what `decomposition` computes.

    Args:
      decomposition: of arrays; its keyword arguments are static attributes.
      name: with a namespace, such as "my.relu"; it becomes a scope in the names of operations.
      version: of what the name means.
    Returns: a function of the same arguments. Every transformation goes through it, since nothing
      but its decomposition is recorded; the compiler is not told of the composite.
    Source: StableHLO spec, composite.

    >>> lax.composite(lambda x: x + 1, "my.increment")(2.)
    Array(3., dtype=float32, weak_type=True)
    """
    if not callable(decomposition):
        raise TypeError(f"composite: expected a function, got {decomposition!r}")
    version = index_of(version, "version")
    from ..naming import named_scope  # late: most programs have no composite
    from ..transforms.jit import jit

    scope = name if version == 0 else f"{name}.v{version}"

    @front_door_of(decomposition)
    def composed(*args: Any, **attributes: Any) -> Any:
        return jit(named_scope(scope)(functools.partial(decomposition, **attributes)))(*args)

    return composed


def platform_dependent(*args: Any, default: Callable[..., Any] | None = None,
                       **per_platform: Callable[..., Any]) -> Any:
    """The function given for the platform that is traced for, applied to the arguments.

    Args:
      default: for platforms that are not named.
      per_platform: functions by platform: cpu, cuda, rocm, tpu; gpu stands for cuda and rocm.
    Raises: NotImplementedError where there is none for the platform. The choice is made while
      tracing: by the default device's platform.

    >>> lax.platform_dependent(2., cpu=lambda x: x + 1, default=lambda x: x)
    3.0
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
        return platform_of(device)
    return device or platform_of(default_client().local_devices()[0])


class Token:
    """A value that stands for an order of effects. It holds no array and changes nothing: a program
    keeps the order of callbacks with `ordered=True`, and of no others."""

    __slots__ = ()


def create_token(_: object = None) -> Token:
    """A token; see `Token`.

    >>> type(lax.create_token()).__name__
    'Token'
    """
    return Token()


def after_all(*operands: Token) -> Token:
    """A token that comes after several others. Raises: TypeError where one is no token.

    >>> token = lax.after_all(lax.create_token(), lax.create_token())
    >>> type(token).__name__
    'Token'
    """
    for x in operands:
        if not isinstance(x, Token):
            raise TypeError(f"Arguments to after_all must be tokens, got {type(x).__name__}")
    return Token()


def dce_sink(val: object, *, prevent_mlir_dce: bool = False) -> None:
    """Use a value, so that what computes it stays in programs (`make_ir`) that do not return it.

    Args:
      val: a tree of arrays.
      prevent_mlir_dce: compilers keep the value too; otherwise they drop it.
    Raises: TypeError where a leaf is no array.

    >>> def f(x):
    ...     lax.dce_sink(x + 1)
    ...     return x
    >>> print(xfront.make_ir(f)(1.0))
    func @f(%0: weak f32[]) -> (weak f32[]) {
      %1: f32[] = literal() {value = f32[] 1.0, shape = []}
      %2: f32[] = add(%0, %1)
      dce_sink(%2) {prevent_mlir_dce = false}
      return %0
    }
    """
    from ..transforms.flat import as_operand, kind_of

    leaves = tree_leaves(val)
    for x in leaves:
        kind_of("dce_sink", x)
    for x in leaves:
        if state.current is not None or type(x) is Tracer:
            emit(ops.dce_sink, as_operand(x), prevent_mlir_dce=bool(prevent_mlir_dce))


register_pytree_node(Token, lambda _: ((), None), lambda _, __: Token())

__all__ = ["after_all", "composite", "create_token", "dce_sink", "platform_dependent"]
