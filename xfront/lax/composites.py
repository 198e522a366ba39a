"""Functions chosen or named while tracing: composite, platform_dependent; tokens; dce_sink."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from lowering.clients import default_client, platform_of
from lowering.context import element_text
from xfront_ir import dtypes, ops

from ..base.config import config
from ..base.dtypes import ScalarType
from ..base.trees import register_pytree_node, tree_leaves, tree_unflatten
from ..binding import Device
from ..binding.tracebacks import front_door_of
from ..eager.operands import index_of
from ..tracing.trace import emit, state
from ..tracing.tracer import Tracer

_NAMESPACED = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+")


def composite(decomposition: Callable[..., Any], name: str, version: int = 0
              ) -> Callable[..., Any]:
    """A function with a name for the compiler; it computes what `decomposition` computes.

    Args:
      decomposition: of arrays; its keyword arguments are static attributes.
      name: with a namespace, such as "my.relu".
      version: of what the name means.
    Returns: a function of the same arguments. StableHLO has a `stablehlo.composite` for it, with
      the decomposition as a function; arrays that it closes over are its first operands. What is
      not known of the composite (its derivatives, its batches) is known of the decomposition.
    Raises: ValueError for a name without a namespace; TypeError where an attribute is not a bool,
      number, string, dtype, NumPy array, None, or tuple, list or dict of these.
    Source: StableHLO spec, composite.

    >>> lax.composite(lambda x: x + 1, "my.increment")(2.)
    Array(3., dtype=float32, weak_type=True)
    """
    if not callable(decomposition):
        raise TypeError(f"composite: decomposition must be a function, got {decomposition!r}")
    if not isinstance(name, str):
        raise TypeError(f"composite: name must be a string, got {name!r}")
    if not _NAMESPACED.fullmatch(name):
        raise ValueError(f"composite: name must have a namespace, as 'my.relu' has, and consist of "
                         f"letters, digits, _, $ and dots, got {name!r}")
    version = index_of(version, "version")
    from ..transforms.flat import Arguments  # late: most programs have no composite
    from .control_flow import captures_in_front, record

    @front_door_of(decomposition)
    def composed(*args: Any, **attributes: Any) -> Any:
        given = Arguments(name, args)
        flat = given.trace(functools.partial(decomposition, **attributes), name=name,
                           kind="composite", staging=True)
        body, operands = captures_in_front(flat), given.operands(flat)
        n = len(given.leaves)
        results = record(ops.composite, [*operands[n:], *operands[:n]], body.weak_returns,
                         body=body, name=name, attributes=_dictionary(attributes), version=version)
        return tree_unflatten(flat.out_tree, results)

    return composed


def _dictionary(items: Mapping[str, Any]) -> str:
    """MLIR's text of a dictionary of attributes, without those that are None."""
    found = [f"{quoted(k)} = {_attribute(k, v)}" for k, v in items.items() if v is not None]
    return f"{{{', '.join(found)}}}"


def _attribute(name: str, x: Any) -> str:
    """MLIR's text of one attribute. Raises: TypeError."""
    if isinstance(x, bool | int | float) and not isinstance(x, np.generic):
        kind = np.bool_ if isinstance(x, bool) else np.int64 if isinstance(x, int) else np.float64
        return _attribute(name, kind(x))
    if isinstance(x, str):
        return quoted(x)
    if isinstance(x, tuple | list):
        return f"[{', '.join([_attribute(name, y) for y in x])}]"
    if isinstance(x, dict):
        return _dictionary(x)
    if isinstance(x, np.dtype | ScalarType) or (isinstance(x, type) and issubclass(x, np.generic)):
        return element_text(dtypes.from_numpy(np.dtype(x)))
    if isinstance(x, np.generic | np.ndarray) and x.dtype.kind in "biuf":
        element = element_text(dtypes.from_numpy(x.dtype))
        if isinstance(x, np.generic):
            return _number(x) + (f" : {element}" if element != "i1" else "")
        shape = "".join([f"{d}x" for d in x.shape])
        return f"dense<{_elements(x) if x.size else ''}> : tensor<{shape}{element}>"
    raise TypeError(f"composite: attribute {name} is {x!r} of type {type(x)}; attributes are "
                    "bools, numbers, strings, dtypes, NumPy arrays, None, and tuples, lists and "
                    "dicts of these")


def _elements(x: np.ndarray) -> str:
    if not x.ndim:
        return _number(x[()])
    return f"[{', '.join([_elements(row) for row in np.asarray(x)])}]"


def _number(x: Any) -> str:
    if x.dtype.kind == "b":
        return "true" if x else "false"
    if x.dtype.kind != "f":
        return str(int(x))
    return f"{float(x):.17e}" if np.isfinite(x) else f"0x{x.tobytes()[::-1].hex()}"


def quoted(text: str) -> str:
    """A string of MLIR: bytes that are not plain characters are hexadecimal."""
    plain = (chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in text.encode())
    return f'"{"".join(plain)}"'


def platform_dependent(*args: Any, default: Callable[..., Any] | None = None,
                       **per_platform: Callable[..., Any]) -> Any:
    """The function given for the platform that is traced for, applied to the arguments.

    Args:
      default: the function for platforms that are not named.
      per_platform: functions by platform: cpu, cuda, rocm, tpu; gpu means cuda and rocm.
    Raises: NotImplementedError where there is no function for the platform. The choice is made
      while tracing, by the platform of the default device.

    >>> lax.platform_dependent(2., cpu=lambda x: x + 1, default=lambda x: x)
    3.0
    """
    platform = _platform()
    names = (platform, "gpu") if platform in ("cuda", "rocm") else (platform,)
    for name in names:
        if name in per_platform:
            return per_platform[name](*args)
    if default is None:
        raise NotImplementedError("platform_dependent: there is no function for the platform "
                                  f"{platform}, only for "
                                  f"{', '.join(per_platform) or 'no platform'}; give `default`")
    return default(*args)


def _platform() -> str:
    device = config.jax_default_device
    if isinstance(device, Device):
        return platform_of(device)
    return device or platform_of(default_client().local_devices()[0])


class Token:
    """A value that stands for an order of effects. It holds no array and has no effect itself: a
    program keeps the order of callbacks that have `ordered=True`, and no other order."""

    __slots__ = ()


def create_token(_: object = None) -> Token:
    """A token; see `Token`.

    >>> type(lax.create_token()).__name__
    'Token'
    """
    return Token()


def after_all(*operands: Token) -> Token:
    """A token that comes after several others. Raises: TypeError where one is not a token.

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
      prevent_mlir_dce: whether compilers keep the value too; otherwise they drop it.
    Raises: TypeError where a leaf is not an array.

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
