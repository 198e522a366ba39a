"""Checks of values in traced programs: the first one that fails is a result, to be thrown outside.

    def f(x):
        checkify.check(x > 0, "x must be positive, got {x}", x=x)
        return jnp.log(x)

    error, y = jax.jit(checkify.checkify(f))(x)
    error.throw()

A check outside of any `checkify` raises at once where its value is known, and in a jitted function
when the program runs. Under `shard_map`, the error of the first device with a failed check is
reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from xfront_ir import ops
from xfront_ir.builder import Builder
from xfront_ir.core import Op, bodies_of
from xfront_ir.passes.checks import Failure, has_rule, index_inside, no_nan, no_zero, with_checks
from xfront_ir.traits import MOVES, REARRANGES

from .. import binding
from .. import numpy as jnp
from ..base.dtypes import is_extended
from ..base.on_demand import shown as _shown
from ..base.trees import register_pytree_node, tree_flatten, tree_unflatten
from ..binding.tracebacks import front_door, front_door_of
from ..lax.callbacks import known_now
from ..random import key_data
from ..running.host import slot_of, slots_in
from ..running.programs import bind
from ..tracing.trace import emit
from ..tracing.tracer import Tracer
from ..transforms.flat import as_operand, kind_of, name_of, trace_call


class JaxRuntimeError(ValueError):
    """The error that a failed check raises.

    >>> checkify.check(False, "{n} is too many", n=jnp.int32(3))
    Traceback (most recent call last):
        ...
    xfront.experimental.checkify.JaxRuntimeError: 3 is too many (`check` failed)
    """


class ErrorCategory:
    """The base of the kinds of checks; `user_checks` and the other sets hold its subclasses.

    >>> [category.__name__ for category in checkify.index_checks]
    ['OOBError']
    """


class FailedCheckError(ErrorCategory):
    """The kind of a `check` in the program."""


class NaNError(ErrorCategory):
    """The kind of a check that no operation makes NaN."""


class DivisionByZeroError(ErrorCategory):
    """The kind of a check that no divisor is zero."""


class OOBError(ErrorCategory):
    """The kind of a check that indices are within bounds."""


user_checks = frozenset({FailedCheckError})
nan_checks = frozenset({NaNError})
div_checks = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
index_checks = frozenset({OOBError})
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


class _Message:
    """The message of a user's check; called as a host function, it raises that message."""

    def __init__(self, text: str, tree: Any) -> None:
        self.text, self.tree = text, tree

    def said(self, reported: list[np.ndarray]) -> str:
        args, kwargs = tree_unflatten(self.tree, reported)
        return f"{self.text.format(*args, **kwargs)} (`check` failed)"

    def __call__(self, holds: Any, *reported: Any) -> tuple:
        if not holds:
            raise JaxRuntimeError(self.said(list(reported)))
        return ()


class _Generated:
    """The message for an operation that made NaN, or divided by zero."""

    def __init__(self, text: str) -> None:
        self.text = text

    def said(self, reported: list[np.ndarray]) -> str:
        assert not reported
        return self.text


class _OutOfBounds:
    """The message for an index out of bounds: the array's shape, and the axes that are indexed."""

    def __init__(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
        self.shape, self.axes = shape, axes

    def said(self, reported: list[np.ndarray]) -> str:
        index, column = (int(x) for x in reported)
        axis = self.axes[column]
        return (f"out-of-bounds indexing for array of shape {self.shape}: index {index} is out of "
                f"bounds for axis {axis} with size {self.shape[axis]}.")


class Error:
    """The first failed check of a program, if any. It is a pytree, so functions can return it.

    Under `vmap` it has one entry for each example.

    >>> error, _ = checkify.checkify(jnp.log, errors=checkify.nan_checks)(-1.0)
    >>> error.get() is None
    False
    """

    def __init__(self, number: Any, reported: Any, sites: tuple) -> None:
        self._number, self._reported, self._sites = number, reported, sites

    def get(self) -> str | None:
        """The message of the failed check, or None where all hold.

        For a batch, the message has a line for each example with a failed check.
        """
        numbers = np.asarray(self._number)
        reported = list(self._reported)
        if not numbers.ndim:
            return self._said(int(numbers), reported)
        lines = []
        for place in np.ndindex(numbers.shape):
            said = self._said(int(numbers[place]), [x[place] for x in reported])
            if said is not None:
                where = ", ".join(map(str, place))
                lines.append(f"at mapped index {where}: {said}")
        return "\n".join(lines) or None

    def _said(self, number: int, reported: list[Any]) -> str | None:
        if number == 0:
            return None
        site, places = self._sites[number - 1]
        return site.said([reported[i] for i in places])

    def throw(self) -> None:
        """Raise JaxRuntimeError where a check failed; in a traced program, act as `check_error`."""
        check_error(self)

    def __repr__(self) -> str:
        if type(self._number) is Tracer:
            return f"Error({self._number})"
        return f"Error({self.get()})"


register_pytree_node(Error, lambda e: ((e._number, e._reported), e._sites),
                     lambda sites, children: Error(children[0], children[1], sites))


def _no_error() -> Error:
    return Error(np.zeros((), np.int32), (), ())


init_error = _no_error()
"""The error of a program whose checks all hold."""


@front_door
def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Check that `pred` holds.

    Args:
      pred: a bool scalar, which may be traced.
      msg: message for a failed check, a format string for the arguments after it.
      *fmt_args, **fmt_kwargs: trees of arrays for the message.
      debug: whether the check is left out unless it is inside a `checkify`; see `debug_check`.
    Raises: JaxRuntimeError where the check fails and no `checkify` is around, at once where `pred`
      is known, else when the program runs; TypeError where `pred` is not a bool scalar, or a leaf
      of the other arguments is not an array.

    >>> def f(x):
    ...     checkify.check(x > 0, "x must be positive, got {x}", x=x)
    ...     return x
    >>> error, value = checkify.checkify(f)(-1.0)
    >>> error.throw()
    Traceback (most recent call last):
        ...
    xfront.experimental.checkify.JaxRuntimeError: x must be positive, got -1.0 (`check` failed)
    """
    if np.shape(pred) != () or getattr(pred, "dtype", np.asarray(pred).dtype if not isinstance(
            pred, Tracer) else None) != np.bool_:
        raise TypeError(f"check takes a scalar pred as argument, got {pred}")
    leaves, tree = tree_flatten((fmt_args, fmt_kwargs))
    for x in leaves:
        if not isinstance(x, Tracer | binding.Array | np.ndarray | np.generic):
            raise TypeError("Formatting arguments to checkify.check need to be PyTrees of arrays, "
                            f"but got {x!r} of type {type(x)}.")
    if debug and not _CHECKED:
        return
    leaves = [key_data(x) if is_extended(x.dtype) else x for x in leaves]
    message = _Message(msg, tree)
    known = None if _CHECKED else known_now([pred, *leaves])
    if known is not None:
        message(*known)
        return
    emit(ops.callback, pred, *leaves, slot=slot_of(message), result_types=(), kind="debug",
         ordered=False, vmap_method=None)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Check that `pred` holds, as `check`, but only inside a `checkify`.

    >>> def f(x):
    ...     checkify.debug_check(x > 0, "not positive")
    ...     return x
    >>> xfront.jit(f)(-1.0)
    Array(-1., dtype=float32, weak_type=True)
    >>> checkify.checkify(f)(-1.0)[0].get()
    'not positive (`check` failed)'
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Raise an error where `error` holds a failed check; inside a `checkify`, pass it on to that.

    Args:
      error: the Error that a function of `checkify` returned.
    Raises: JaxRuntimeError where a check failed; TypeError where `error` is not an `Error`. In a
      traced program, the first failed check of a batch counts.

    >>> error, _ = checkify.checkify(lambda x: checkify.check(x > 0, "not positive"))(-1.0)
    >>> checkify.check_error(error)
    Traceback (most recent call last):
        ...
    xfront.experimental.checkify.JaxRuntimeError: not positive (`check` failed)
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error as argument, got type {type(error)}")
    if type(error._number) is not Tracer:
        said = error.get()
        if said is not None:
            raise JaxRuntimeError(said)
        return
    error = _first_of(error)
    for number, (site, places) in enumerate(error._sites, 1):
        reported = [error._reported[i] for i in places]
        emit(ops.callback, error._number != number, *reported, slot=slot_of(_Handed(site)),
             result_types=(), kind="debug", ordered=False, vmap_method=None)


def _first_of(error: Error) -> Error:
    """The error of the first example of a batch with a failed check."""
    batch = np.shape(error._number)
    if not batch:
        return error
    numbers = jnp.reshape(error._number, -1)
    first = jnp.argmax(numbers != 0)
    reported = [jnp.reshape(x, (-1, *np.shape(x)[len(batch):]))[first] for x in error._reported]
    return Error(numbers[first], reported, error._sites)


class _Handed:
    """A check of another program, whose failure an `Error` brought into this one."""

    def __init__(self, site: Any) -> None:
        self.site = site

    def said(self, reported: list[np.ndarray]) -> str:
        return self.site.said(reported)

    def __call__(self, holds: Any, *reported: Any) -> tuple:
        if not holds:
            raise JaxRuntimeError(self.said(list(reported)))
        return ()


_CHECKED: list[Any] = []
"""The functions that `checkify` is tracing."""


@front_door
def checkify(f: Callable[..., Any], errors: Iterable[type] = user_checks) -> Callable[..., Any]:
    """A function that returns `(error, result)`, where `error` is the first failed check of `f`.

    Args:
      f: a function of trees of arrays. It may contain jitted, differentiated and vectorised
        functions; checks in branches and in the bodies of loops count.
      errors: the kinds of checks, by default `user_checks`; other sets are `nan_checks`,
        `div_checks`, `float_checks`, `index_checks`, `automatic_checks`, `all_checks`, and unions.
    Returns: a function of the same arguments that returns the `Error` and the result of `f`; it can
      be jitted, differentiated and vectorised.
    Raises: TypeError for other `errors`; at the call, NotImplementedError where a `check` is in a
      body that `checkify` cannot change (such as that of `custom_linear_solve` or `reduce`).

    >>> from xfront.experimental import checkify
    >>> def f(x):
    ...     checkify.check(x > 0, "{x} is not positive", x=x)
    ...     return jnp.log(x)
    >>> error, y = checkify.checkify(f)(jnp.float32(-1.0))
    >>> error.get()
    '-1.0 is not positive (`check` failed)'
    """
    wanted = frozenset(errors)
    if not wanted <= all_checks:
        raise TypeError(f"checkify: errors must be a set of checks, such as user_checks, got "
                        f"{errors!r}")
    name = name_of(f)

    @front_door_of(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, tree = tree_flatten((args, kwargs))
        kinds = [kind_of(name, x) for x in leaves]

        def call(tracers: list) -> Any:
            given, named = tree_unflatten(tree, tracers)
            return f(*given, **named)

        _CHECKED.append(f)
        try:
            flat = trace_call(call, kinds, name=name, kind="checkify", staging=True)
        finally:
            _CHECKED.pop()
        key = ("checks", wanted)
        made = flat.function.memo.get(key)
        if made is None:
            made = with_checks(flat.function, lambda b, op: _checks_of(b, op, wanted))
            n_more = len(made.function.returns) - len(flat.function.returns)
            weak = (*flat.function.weak_returns, *[False] * n_more)
            made = flat.function.memo[key] = made._replace(
                function=made.function.replace(weak_returns=weak))
        operands = [*map(as_operand, leaves), *flat.captures]
        results = bind(made.function, operands, name=name)
        n = len(flat.function.returns)
        return (Error(results[n], tuple(results[n + 1:]), made.sites),
                tree_unflatten(flat.out_tree, results[:n]))

    return checked


def _checks_of(b: Builder, op: Op, wanted: frozenset[type]) -> list[Failure]:
    """The failures to check for after an op."""
    definition = op.definition
    if definition is ops.callback:
        host = getattr(op.attrs["slot"], "host", None)
        site = host.function if host is not None else None
        if not isinstance(site, _Message | _Handed):
            return []
        if FailedCheckError not in wanted:
            return [Failure(b.full(op.operands[0].type, True), site, [])]
        return [Failure(op.operands[0], site, op.operands[1:])]
    if definition.has_bodies and (
            definition is ops.shard_map or definition.discharge is not None or has_rule(op)):
        return []                                # checks go inside the bodies of these ops
    if FailedCheckError in wanted and definition.has_bodies:
        _refuse_checks_in(op)
    found = []
    if OOBError in wanted:
        inside = index_inside(b, op)
        if inside is not None:
            shape = op.operands[0].type.shape
            found.append(Failure(inside[0], _OutOfBounds(shape, inside[2]), inside[1]))
    if DivisionByZeroError in wanted and definition in (ops.div, ops.rem):
        found.append(Failure(no_zero(b, op.operands[1]), _Generated("division by zero"), []))
    if NaNError in wanted and _may_make_nan(op):
        text = f"nan generated by primitive: {definition.name}."
        found += [Failure(no_nan(b, v), _Generated(text), []) for v in op.results
                  if v.type.dtype.is_inexact]
    return found


def _refuse_checks_in(op: Op) -> None:
    """Raise NotImplementedError where a user's check is in a body that checkify cannot change."""
    for body in bodies_of(op):
        for slot in slots_in(body):
            if isinstance(getattr(slot, "host", None) and slot.host.function, _Message | _Handed):  # type: ignore[attr-defined]
                raise NotImplementedError(
                    f"checkify: a check in the body of {op.definition.name} (at {op.loc}) is not "
                    "supported; check the arguments or the result of that function instead")


def _may_make_nan(op: Op) -> bool:
    """Whether an op computes new floats, and does not only move those of its operands."""
    traits = op.definition.traits
    return MOVES not in traits and REARRANGES not in traits and any(
        v.type.dtype.is_inexact for v in op.operands)


__all__ = [
    "Error", "ErrorCategory", "JaxRuntimeError", "all_checks", "automatic_checks", "check",
    "check_error", "checkify", "debug_check", "div_checks", "float_checks", "index_checks",
    "init_error", "nan_checks", "user_checks",
]  # fmt: skip
__dir__ = _shown(globals())
