"""Jaxpr, ClosedJaxpr and JaxprEqn: a Function of the IR in the form of JAX's programs.

Nothing is converted: an eqn is an op, a Var is a value, and the parts of a view are made when they
are first read. Only literals look different than in the IR, because they are not eqns. Scalars
stand where they are read, and arrays are `constvars`. A scalar that fills an array stands as itself
where an elementwise op reads that array, and is a `broadcast_in_dim` elsewhere. Derivatives and
batched functions stand as their ops; calls are shown where the program called a jitted function.

Views are read only. `Jaxpr(...)` and `new_jaxpr_eqn` make programs from parts, and these run and
print too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from xfront_ir import ops
from xfront_ir.analysis import op_has_effects
from xfront_ir.core import Function, Op, Value
from xfront_ir.definition import lookup
from xfront_ir.fingerprint import fingerprint, identity
from xfront_ir.literal import literal
from xfront_ir.opdef import Pending
from xfront_ir.ops.families import batch_elementwise
from xfront_ir.passes.inline import inline_pending

from ..eager.primitives import Primitive, aval_of, parameters, primitive_of
from ..running.keys import identity_text
from ..values.arguments import only
from .atoms import (
    CONTEXT,
    DebugInfo,
    DropVar,
    EqnContext,
    Literal,
    OpEffect,
    SourceInfo,
    Var,
    no_effects,
)
from .printing import Shown, print_eqn, print_jaxpr


class JaxprEqn:
    """One operation of a program: `outvars = primitive[params] invars`.

    Fields: `invars` (Vars and Literals), `outvars` (Vars), `primitive`, `params` (a dict under
    JAX's names, with views in place of bodies), `effects` and `source_info`.
    """

    __slots__ = ("_params", "effects", "invars", "op", "outvars", "primitive", "source_info")

    ctx = CONTEXT

    def __init__(self, invars: Sequence[Any], outvars: Sequence[Var], primitive: Primitive,
                 params: Mapping[str, Any] | None, effects: Iterable[Any] = no_effects,
                 source_info: SourceInfo | None = None, op: Op | None = None) -> None:
        self.invars, self.outvars, self.primitive = list(invars), list(outvars), primitive
        self._params, self.effects, self.op = params, frozenset(effects), op
        self.source_info = source_info or SourceInfo(None if op is None else op.loc)

    @property
    def params(self) -> dict[str, Any]:
        """Parameters under JAX's names; `bind` of the primitive takes them."""
        if self._params is None:
            assert self.op is not None
            self._params = viewed_parameters(self.op)
        return dict(self._params)

    def replace(self, **changes: Any) -> JaxprEqn:
        """A copy of the eqn with some fields changed. Raises: TypeError for another name."""
        parts: dict[str, Any] = dict(
            invars=self.invars, outvars=self.outvars, primitive=self.primitive, params=self.params,
            effects=self.effects, source_info=self.source_info)
        return JaxprEqn(**{**parts, **_known("JaxprEqn", parts, changes)})

    def __repr__(self) -> str:
        return print_eqn(self)


def _known(kind: str, parts: Mapping[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in changes:
        if key not in parts:
            raise TypeError(f"{kind}.replace: there is no part called {key!r}; the parts are "
                            f"{', '.join(parts)}")
    return changes


def new_jaxpr_eqn(invars: Sequence[Any], outvars: Sequence[Var], primitive: Primitive,
                  params: Mapping[str, Any], effects: Iterable[Any] = no_effects,
                  source_info: SourceInfo | None = None, ctx: EqnContext | None = None
                  ) -> JaxprEqn:
    """An eqn made of parts.

    Args:
      invars, outvars, primitive, params, effects, source_info: the fields of `JaxprEqn`.
      ctx: None or the `ctx` of another eqn; the params hold the context of an eqn here.
    Raises: TypeError for another `ctx`.
    """
    if ctx is not None and type(ctx) is not EqnContext:
        raise TypeError(f"new_jaxpr_eqn: ctx must be None or the ctx of an eqn, got {ctx!r}")
    return JaxprEqn(invars, outvars, primitive, dict(params), effects, source_info)


class Jaxpr:
    """A program that reads `constvars` and `invars`, runs `eqns` in order and returns `outvars`.

    It is a view of `function`, or made of parts; then `function` is None.

    Args:
      constvars, invars: Vars of the constants and of the arguments.
      outvars: Vars and Literals of the results.
      eqns: the operations, a sequence of JaxprEqns.
      effects: effects of the eqns; none by default.
      debug_info: the DebugInfo of the program, or None.
      is_high: False only.
    Raises: NotImplementedError for `is_high`.
    """

    __slots__ = ("_debug_info", "_parts", "function", "n_consts", "open")

    def __init__(self, constvars: Sequence[Var], invars: Sequence[Var], outvars: Sequence[Any],
                 eqns: Sequence[JaxprEqn], effects: Iterable[Any] = no_effects,
                 debug_info: DebugInfo | None = None, is_high: bool = False) -> None:
        if is_high:
            raise NotImplementedError("Jaxpr: is_high must be False")
        self.function: Function | None = None
        self.n_consts, self.open = 0, False
        self._debug_info = debug_info
        self._parts: _Parts | None = _Parts(list(constvars), list(invars), list(outvars),
                                            list(eqns), [], frozenset(effects))

    @staticmethod
    def of(function: Function, n_consts: int = 0, *, open: bool = False) -> Jaxpr:
        """The view of a Function whose last `n_consts` parameters are constants.

        With `open`, arrays among its literals stand where they are read, so that the view needs no
        constants for them.
        """
        made = object.__new__(Jaxpr)
        made.function, made.n_consts, made.open = function, n_consts, open
        made._parts, made._debug_info = None, None
        return made

    def _all(self) -> _Parts:
        if self._parts is None:
            assert self.function is not None
            self._parts = _view(inline_pending(self.function), self.n_consts, self.open)
        return self._parts

    @property
    def constvars(self) -> list[Var]:
        """Vars of the constants."""
        return self._all().constvars

    @property
    def invars(self) -> list[Var]:
        """Vars of the arguments."""
        return self._all().invars

    @property
    def outvars(self) -> list[Any]:
        """Vars and Literals of the results."""
        return self._all().outvars

    @property
    def eqns(self) -> list[JaxprEqn]:
        """The operations in order."""
        return self._all().eqns

    @property
    def array_consts(self) -> list[np.ndarray]:
        """Values of the last constvars, those that are not parameters of the Function."""
        return self._all().arrays

    @property
    def effects(self) -> frozenset[Any]:
        """The effects of all eqns."""
        return self._all().effects

    @property
    def in_avals(self) -> list[Any]:
        """Types of the arguments."""
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        """Types of the results."""
        return [v.aval for v in self.outvars]

    @property
    def debug_info(self) -> DebugInfo:
        """The transformation and the function for which the program was traced."""
        if self._debug_info is not None:
            return self._debug_info
        f = self.function
        return DebugInfo("jit", f.name if f else "<unknown>", f.param_names if f else None)

    def named(self, arguments: tuple[str, ...], results: tuple[str, ...]) -> None:
        """Set the names of arguments and results, which the Function does not have."""
        self._debug_info = self.debug_info._replace(arg_names=arguments, result_paths=results)

    def replace(self, **changes: Any) -> Jaxpr:
        """A Jaxpr made of these parts, with some of them changed."""
        parts: dict[str, Any] = dict(
            constvars=self.constvars, invars=self.invars, outvars=self.outvars, eqns=self.eqns,
            effects=self.effects, debug_info=self.debug_info)
        return Jaxpr(**{**parts, **_known("Jaxpr", parts, changes)})

    def __repr__(self) -> str:
        return print_jaxpr(self)

    def pretty_print(self, *, source_info: bool = False, print_shapes: bool = True,
                     custom_pp_eqn_rules: bool = True, name_stack: bool = False,
                     print_effects: bool = False, use_color: bool | None = None) -> str:
        """The program as text.

        Args:
          source_info, name_stack: whether the user's line, and the scopes, stand beside each eqn.
          print_shapes: whether values have their types.
          custom_pp_eqn_rules: whether parameters of eqns that say nothing are left out.
          print_effects: whether the effects stand behind the results.
          use_color: None or False only.
        Raises: NotImplementedError for colours.
        """
        only("pretty_print", False, "programs are printed without colours",
             use_color=bool(use_color))
        return print_jaxpr(self, Shown(source_info, name_stack, print_shapes,
                                       not custom_pp_eqn_rules, print_effects))


class ClosedJaxpr:
    """A Jaxpr with the values of its constants.

    Args:
      jaxpr: the Jaxpr.
      consts: a value for each of its constvars.
      out_tree: structure of the result of a traced program, or None.
    Raises: ValueError where there are more or fewer `consts` than constvars.
    """

    __slots__ = ("_consts", "has_own_consts", "jaxpr", "out_tree")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any], out_tree: Any = None) -> None:
        if len(consts) != len(jaxpr.constvars):
            raise ValueError("ClosedJaxpr: there must be one constant for each of the "
                             f"{len(jaxpr.constvars)} constvars, got {len(consts)}")
        self.jaxpr, self._consts, self.out_tree = jaxpr, list(consts), out_tree
        self.has_own_consts = False              # whether they are the captures of its Function

    @staticmethod
    def of(function: Function, consts: Sequence[Any] = (), out_tree: Any = None) -> ClosedJaxpr:
        """The view of a Function whose last parameters stand for `consts`."""
        made = object.__new__(ClosedJaxpr)
        made.jaxpr, made.out_tree = Jaxpr.of(function, len(consts)), out_tree
        made._consts = _Lazy(consts, made.jaxpr)  # type: ignore[assignment]
        made.has_own_consts = True
        return made

    @property
    def consts(self) -> list[Any]:
        """Values of the constvars."""
        if type(self._consts) is _Lazy:
            self._consts = self._consts.all()
        return self._consts

    def _identity_text(self) -> str:
        if self.jaxpr.function is None or not self.has_own_consts:
            return identity(self)
        return f"jaxpr {fingerprint(self.ir).hex()} {identity_text(self.consts)}"

    @property
    def ir(self) -> Function:
        """The Function of the program; its last parameters are the captured constants.

        Raises: AttributeError where the program was made of parts.
        """
        if self.jaxpr.function is None:
            raise AttributeError("this ClosedJaxpr was assembled from parts, so it has no "
                                 "Function; make_ir(jaxpr_as_fun(closed)) traces one")
        return self.jaxpr.function

    in_avals = property(lambda self: self.jaxpr.in_avals)
    out_avals = property(lambda self: self.jaxpr.out_avals)
    eqns = property(lambda self: self.jaxpr.eqns)
    effects = property(lambda self: self.jaxpr.effects)
    literals = property(lambda self: self.consts)

    def replace(self, **changes: Any) -> ClosedJaxpr:
        """A ClosedJaxpr with another `jaxpr` or other `consts`."""
        parts: dict[str, Any] = dict(jaxpr=self.jaxpr, consts=self.consts)
        return ClosedJaxpr(**{**parts, **_known("ClosedJaxpr", parts, changes)},
                           out_tree=self.out_tree)

    def map_jaxpr(self, change: Any) -> ClosedJaxpr:
        """A ClosedJaxpr of `change(jaxpr)` with the same constants."""
        return self.replace(jaxpr=change(self.jaxpr))

    def __repr__(self) -> str:
        return repr(self.jaxpr)

    def pretty_print(self, **options: bool) -> str:
        """The program as text, see `Jaxpr.pretty_print`."""
        return self.jaxpr.pretty_print(**options)


class _Lazy:
    """The captured constants of a view, and the view, which adds its arrays when it is read."""

    __slots__ = ("captured", "jaxpr")

    def __init__(self, captured: Sequence[Any], jaxpr: Jaxpr) -> None:
        self.captured, self.jaxpr = captured, jaxpr

    def all(self) -> list[Any]:
        return [*self.captured, *self.jaxpr.array_consts]


# --- from a Function to a view ------------------------------------------------------------------

class _Parts(NamedTuple):
    constvars: list[Var]
    invars: list[Var]
    outvars: list[Any]
    eqns: list[JaxprEqn]
    arrays: list[np.ndarray]
    effects: frozenset[Any]


def is_elementwise(op: Op) -> bool:
    """Whether a scalar may stand for an operand whose elements are all the same."""
    return op.definition.batch is batch_elementwise and len(op.operands) > 1


def _view(function: Function, n_consts: int, open: bool) -> _Parts:
    n = len(function.params) - n_consts
    weak = function.weak_params or (False,) * len(function.params)
    atoms: dict[Value, Any] = {
        v: Var(_aval(v, w)) for v, w in zip(function.params, weak, strict=True)}
    scalars: dict[Value, Literal] = {}           # scalars of the literals that fill arrays
    constvars = [atoms[v] for v in function.params[n:]]
    arrays: list[np.ndarray] = []
    read = _reads(function)
    weak_out = dict(zip(function.returns, function.weak_returns, strict=False))
    eqns: list[JaxprEqn] = []
    for op in function.ops:
        if op.definition is literal:
            (v,) = op.results
            value = op.attrs["value"].array
            if value.shape == op.attrs["shape"] and (value.ndim == 0 or open):
                atoms[v] = Literal(value[()] if value.ndim == 0 else value, aval_of(v.type))
            elif value.ndim:
                atoms[v] = Var(aval_of(v.type))
                constvars.append(atoms[v])
                arrays.append(value)
            else:
                scalars[v] = Literal(value[()], aval_of(v.type.with_shape(())))
                if v in read.plainly:
                    atoms[v] = Var(aval_of(v.type))
                    eqns.append(_filling(op, scalars[v], atoms[v]))
            continue
        eqns.append(_eqn(op, atoms, scalars, read.at_all, weak_out))
    outvars = [atoms[v] for v in function.returns]
    effects = frozenset([e for eqn in eqns for e in eqn.effects])
    return _Parts(constvars, [atoms[v] for v in function.params[:n]], outvars, eqns, arrays,
                  effects)


class _Reads(NamedTuple):
    at_all: set[Value]
    plainly: set[Value]                          # read where a scalar cannot stand for an array


def _reads(function: Function) -> _Reads:
    plainly = set(function.returns)
    scalars = {op.results[0] for op in function.ops
               if op.definition is literal and not op.attrs["value"].array.ndim}
    at_all = set(function.returns)
    for op in function.ops:
        at_all.update(op.operands)
        if not is_elementwise(op) or scalars.issuperset(op.operands):
            plainly.update(op.operands)
    return _Reads(at_all, plainly)


def _aval(v: Value, weak: bool) -> Any:
    found = aval_of(v.type)
    return found.update(weak_type=True) if weak and not v.type.dtype.is_key else found


def _filling(op: Op, scalar: Literal, out: Var) -> JaxprEqn:
    broadcast = primitive_of(lookup("broadcast_in_dim"))
    params = {"shape": op.attrs["shape"], "broadcast_dimensions": ()}
    return JaxprEqn([scalar], [out], broadcast, params, source_info=SourceInfo(op.loc))


def _eqn(op: Op, atoms: dict[Value, Any], scalars: dict[Value, Literal], read: set[Value],
         weak: Mapping[Value, bool]) -> JaxprEqn:
    operands: Sequence[Value] = op.operands
    if op.definition is ops.select:           # it is shown as a select_n
        operands = (operands[0], operands[2], operands[1])
    filled = is_elementwise(op) and any([v not in scalars for v in operands])
    invars = [scalars[v] if filled and v in scalars else atoms[v] for v in operands]
    outvars = []
    for v in op.results:
        made = (Var if v in read else DropVar)(_aval(v, weak.get(v, False)))
        atoms[v] = made
        outvars.append(made)
    primitive = primitive_of(op.definition)
    if primitive.is_own:
        invars = [_as_given(x, w) for x, w in zip_longest(invars, op.attrs["call"].weak)]
    effects = (OpEffect(primitive.name),) if op_has_effects(op) else ()
    return JaxprEqn(invars, outvars, primitive, None, effects, op=op)


def _as_given(x: Any, weak: bool | None) -> Any:
    """An operand of a user's primitive; a weak scalar becomes the Python number that it was."""
    if weak and isinstance(x, Literal):
        return Literal(x.val.item(), x.aval.update(weak_type=True))
    return x


def each_jaxpr(params: Mapping[str, Any]) -> Iterator[Jaxpr]:
    """The Jaxprs among the values of params, also those inside lists and tuples."""
    for value in params.values():
        for x in value if type(value) in (tuple, list) else (value,):
            if isinstance(x, Jaxpr):
                yield x
            elif isinstance(x, ClosedJaxpr):
                yield x.jaxpr


# --- parameters -----------------------------------------------------------------------------------

def viewed_parameters(op: Op) -> dict[str, Any]:
    """The attributes of an op under JAX's names, with views in place of bodies."""
    name = op.definition.name
    found = {key: _viewed(value, name == "checkpoint" and key == "jaxpr")
             for key, value in parameters(op).items()}
    if name == "checkpoint":
        found["differentiated"] = bool(found.get("differentiated"))
    if name == "call":
        n, m = len(op.operands), len(op.results)
        found.update(donated_invars=(False,) * n, keep_unused=False, inline=False,
                     in_shardings=(None,) * n, out_shardings=(None,) * m,
                     in_layouts=(None,) * n, out_layouts=(None,) * m, compiler_options_kvs=())
    return found


def _viewed(value: Any, open: bool) -> Any:
    if isinstance(value, Pending):
        value = value.force()
    if isinstance(value, Function):
        return Jaxpr.of(value, open=True) if open else ClosedJaxpr.of(value)
    if type(value) is tuple and value and isinstance(value[0], Function):
        return tuple([ClosedJaxpr.of(f) for f in value])
    return value
