"""Attributes for XLA on parts of a program, such as which operations it must fuse."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from xfront_ir import ops

from ..base.on_demand import shown as _shown
from ..binding.tracebacks import front_door_of
from ..lax.composites import quoted
from ..lax.control_flow import captures_in_front, record
from ..transforms.flat import Arguments, name_of
from ..tree_util import tree_unflatten


def xla_metadata_call(f: Callable[..., Any] | None = None, /, **meta: Any) -> Callable[..., Any]:
    """A function that computes what `f` does, as a function of the program whose call has
    attributes. XLA brings them to the operations inside (as `frontend_attributes`).

    Args:
      f: a function of arrays and trees; None gives a decorator.
      meta: strings, bools, ints and floats by name.
    Raises: TypeError for a value of another kind.

    >>> f = xla_metadata.xla_metadata_call(lambda x: 2 * x, tag="mine")
    >>> 'tag = "mine"' in xfront.jit(f).lower(1.0).as_text()
    True
    """
    return xla_metadata_call2(f, meta)


def xla_metadata_call2(f: Callable[..., Any] | None = None, /,
                       metadata: Mapping[str, Any] | None = None, *,
                       ad_metadata: str | Mapping[str, Any] = "same") -> Callable[..., Any]:
    """As `xla_metadata_call`, with the attributes as a dict.

    Args:
      f, metadata: a function or None, and its attributes.
      ad_metadata: those of the linear part of its derivatives, which gradients transpose: "same",
        "drop" for none, or another dict. What `jvp` computes has those of the function.
    Raises: TypeError for a value of another kind; ValueError for another `ad_metadata`.

    >>> f = xla_metadata.xla_metadata_call2(jnp.sin, {"tag": "sine"}, ad_metadata="drop")
    >>> xfront.grad(f)(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    if f is None:
        return functools.partial(xla_metadata_call2, metadata=metadata, ad_metadata=ad_metadata)
    if not callable(f):
        raise TypeError(f"xla_metadata_call: expected a function, got {f!r}")
    attributes = _dictionary(metadata or {})
    if ad_metadata == "same":
        of_derivatives = attributes
    elif ad_metadata == "drop":
        of_derivatives = ""
    elif isinstance(ad_metadata, Mapping):
        of_derivatives = _dictionary(ad_metadata)
    else:
        raise ValueError(f"xla_metadata_call2: ad_metadata must be 'same', 'drop' or a dict, got "
                         f"{ad_metadata!r}")
    name = name_of(f)

    @front_door_of(f)
    def tagged(*args: Any, **kwargs: Any) -> Any:
        given = Arguments(name, [args, kwargs])
        flat = given.trace(lambda args, kwargs: f(*args, **kwargs), name=name,
                           kind="xla_metadata_call", staging=True)
        if not attributes:
            from ..running.programs import bind

            return tree_unflatten(flat.out_tree, bind(
                flat.function, given.operands(flat), name=name))
        body, operands = captures_in_front(flat), given.operands(flat)
        n = len(given.leaves)
        results = record(ops.xla_metadata_call, [*operands[n:], *operands[:n]], body.weak_returns,
                         body=body, name=name, attributes=attributes, of_derivatives=of_derivatives)
        return tree_unflatten(flat.out_tree, results)

    return tagged


def must_fuse_call(identifier: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: XLA must make one fusion of the function's operations, on platforms where it
    knows `MUST_FUSE`. Raises: TypeError where the identifier is not a string.

    >>> xla_metadata.must_fuse_call("1")(lambda x: jnp.square(x).sum())(jnp.ones(3))
    Array(3., dtype=float32)
    """
    if not isinstance(identifier, str):
        raise TypeError(f"must_fuse_call: the identifier must be a string, got {identifier!r}")
    return functools.partial(xla_metadata_call, MUST_FUSE=identifier)


def set_xla_metadata(x: Any = None, **kwargs: Any) -> NoReturn:
    """Refuse to mark single operations. Raises: NotImplementedError: passes move, merge and rewrite
    operations, so attributes belong to functions.
    """
    raise NotImplementedError("set_xla_metadata: operations are merged and rewritten before XLA "
                              "sees them, so that only functions have attributes; write "
                              "xla_metadata_call(f, ...) for the function of these operations")


def fuse_limit() -> NoReturn:
    """Refuse to mark single operations. Raises: NotImplementedError, as `set_xla_metadata`.
    """
    raise NotImplementedError("fuse_limit: operations are merged and rewritten before XLA sees "
                              "them; lax.optimization_barrier keeps XLA from fusing across it")


def _dictionary(metadata: Mapping[str, Any]) -> str:
    """MLIR's text of the attributes, none where there are none. Raises: TypeError."""
    found = []
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, (str, bool, int, float)):
            raise TypeError("xla_metadata_call: attributes are strings, bools, ints and floats by "
                            f"name, got {key!r}: {value!r}")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        found.append(f"{quoted(key)} = {quoted(text)}")
    return f"{{{', '.join(found)}}}" if found else ""


__all__ = ["fuse_limit", "must_fuse_call", "set_xla_metadata", "xla_metadata_call",
           "xla_metadata_call2"]
__dir__ = _shown(globals())
