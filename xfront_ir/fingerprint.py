"""Structural hashes of Functions: the keys of caches of programs.

`fingerprint` covers everything that decides what a program computes: ops, attributes, literals,
bodies, types and weakness of parameters and returns. Names of values and of Functions and locations
are left out. `skeleton` leaves the values of literals out too and gives them beside the hash.
Both are the same in every process, unless an attribute holds Python without a `fingerprint`.

A program without derivatives does not depend on the custom rules of what it calls. Its skeleton can
leave them out, so that no rule is traced for it; rules below a transformation that differentiates
count all the same.

One walk gives both: each op adds a token (the hash of its name and attributes, memoised) and the
numbers of its operands. Result types are not hashed: they follow from the parameters' types.
"""

# hot: benchmarks/transforms.py

from __future__ import annotations

import os
import struct
import threading
import weakref
from _blake2 import blake2b  # hashlib has it too, and loads OpenSSL
from collections.abc import Callable, Iterator
from typing import Any

from .analysis import functions
from .core import Function, Op, Value
from .definition import OpDef
from .dtypes import DType
from .literal import Literal, literal
from .opdef import DERIVATIVE, Pending, Request
from .sharding import MeshAxes, Sharding, Spec
from .types import TensorType

SIZE = 16
"""Bytes of a fingerprint; two programs collide by accident with probability 2^-128."""

_MEMO, _FORWARD = "fingerprint", "forward fingerprint"
_MAX_TOKENS = 4096                    # an op's table of tokens is emptied when it gets longer


def fingerprint(fn: Function) -> bytes:
    """The hash of `fn` with its literals."""
    return _summary(fn).fingerprint


def skeleton(fn: Function, forward: bool = False) -> tuple[bytes, tuple[Literal, ...]]:
    """The hash of `fn` without the values of its literals, and the literals.

    With `forward` the hash covers what `fn` computes itself: rules for derivatives do not count.

    The dtypes and shapes of literals are part of the hash. The literals stand in the order of the
    ops, those of a body at the place of its op, once for each op that holds it. Literals that
    cannot become parameters are not given and stay in the hash: those that are attributes of other
    ops, and those in bodies that take nothing from outside.
    """
    found = fn.memo.get(_FORWARD if forward else _MEMO)
    if found is None or found.held:
        found = _summary(fn, forward)
    literals = found.literals
    if literals is None:
        literals = _literals(found)
    return found.skeleton, literals


def holders(fn: Function) -> list[tuple[Op, int]]:
    """The ops of `fn` that hold the literals of `skeleton`, in the same order, and how many each of
    them holds. An op with bodies is listed once for each body, in the order of its schema."""
    return [(op, 1 if type(item) is Literal else len(_literals(item)))
            for op, item in _summary(fn, True).items]


def same_structure(f: Function, g: Function) -> bool:
    """Whether `f` and `g` are the same program up to names and locations."""
    return f is g or _summary(f).fingerprint == _summary(g).fingerprint


def is_known_by_python(fn: Function) -> bool:
    """Whether the hash of `fn` depends on Python objects: custom rules and host functions."""
    return any([
        op.attrs.get(key) is not None and kind.text in ("python", "slot")
        for f in functions(fn, _bodies) for op in f.ops if op.definition.holds_python
        for key, kind in op.definition.attrs.items()]) or bool(_summary(fn).held)


def is_small(fn: Function, ops: int) -> bool:
    """Whether `fn` and its bodies have fewer than `ops` ops. For a pending transformation the ops
    of the Function that it starts from count."""
    return sum([len(f.ops) for f in functions(fn, _bodies)]) < ops


class _Summary:
    """What is known of one Function.

    `items` are its literals and the summaries of its bodies, in order, each with the op that holds
    it; `literals` is made from them when it is asked for. `held` is the Python whose own
    fingerprint went in, with that fingerprint: a rule that has been traced since makes the summary
    stale. `rules` says whether the summary with `forward` leaves rules out.
    """

    __slots__ = ("_fingerprint", "_unfinished", "held", "items", "literals", "rules", "skeleton")

    def __init__(self, whole: Any, skeleton: bytes, items: list[tuple[Op, Any]],
                 held: dict[int, tuple[Any, bytes]], literals: tuple[Literal, ...] | None,
                 rules: bool) -> None:
        self.skeleton, self.items, self.held, self.literals = skeleton, items, held, literals
        self.rules = rules
        self._unfinished: Any = whole
        self._fingerprint = skeleton if whole is None else b""

    @property
    def fingerprint(self) -> bytes:
        """The hash of the Function: that of the skeleton, continued with the values of literals."""
        whole = self._unfinished
        if whole is not None:                    # several threads may come here
            whole = whole.copy()
            for _, x in self.items:
                if type(x) is Literal:
                    whole.update(x.key[2])
            self._fingerprint = whole.digest()
            self._unfinished = None
        return self._fingerprint


def _known(fn: Function, forward: bool) -> _Summary | None:
    found = fn.memo.get(_FORWARD if forward else _MEMO)
    if found is not None and found.held:
        for held, was in found.held.values():
            if held.fingerprint() != was:
                return None
    return found


def _summary(fn: Function, forward: bool = False) -> _Summary:
    found = _known(fn, forward) or _walk(fn, forward)
    while found is None:                             # a body has no summary: make all of them
        for f in functions(fn, lambda g: _bodies(g, forward)):
            found = _known(f, forward) or _walk(f, forward)
    return found


def _differentiates(body: Pending) -> bool:
    return body.request.role != "vectorize"


def _bodies(fn: Function, forward: bool = False) -> Iterator[Function]:
    """As `analysis.standing_bodies`, except that a transformation counts as the Function that it
    starts from even after it is carried out, because the hash must not depend on whether code has
    looked inside before. With `forward`, bodies that are differentiated are left out."""
    for op in fn.ops:
        for key in op.definition.body_attrs:
            held = op.attrs.get(key)
            if type(held) is tuple:
                yield from held
            elif type(held) is Pending:
                if not (forward and _differentiates(held)):
                    yield held.function
            elif held is not None:
                yield held


def _literals(summary: _Summary) -> tuple[Literal, ...]:
    stack = [summary]
    while stack:
        holder = stack[-1]
        if holder.literals is None:
            bodies = [i for _, i in holder.items if type(i) is _Summary and i.literals is None]
            if bodies:
                stack.extend(bodies)
                continue
            found: list[Literal] = []
            for _, item in holder.items:
                if type(item) is _Summary:
                    found.extend(item.literals)      # type: ignore[arg-type]
                else:
                    found.append(item)
            holder.literals = tuple(found)
        stack.pop()
    return summary.literals                          # type: ignore[return-value]


# --- the walk -----------------------------------------------------------------------------

_NUMBERS: list[bytes] = []
_GROWING = threading.Lock()
_PLAIN: dict[OpDef, bytes] = {}                      # tokens of ops of fixed arity, no attributes
_PLANS: dict[OpDef, _Plan] = {}


def _reserve(count: int) -> None:
    """Make sure that `_NUMBERS` has the bytes of the numbers below `count`."""
    if count > len(_NUMBERS):
        with _GROWING:
            more = range(len(_NUMBERS), max(2 * count, 256))
            _NUMBERS.extend([struct.pack("<I", i) for i in more])


def _walk(fn: Function, forward: bool = False) -> _Summary | None:
    """The summary of `fn`, or None where the summary of a body is not known yet."""
    rules = False
    n = len(fn.params)
    most = n + sum([len(op.results) for op in fn.ops])
    if most > len(_NUMBERS):
        _reserve(most)
    numbers = _NUMBERS
    number: dict[Value, bytes] = dict(zip(fn.params, numbers))
    number_of = number.__getitem__
    parts = [_signature(fn)]
    add, extend = parts.append, parts.extend
    plain, plans = _PLAIN, _PLANS
    items: list[tuple[Op, Any]] = []                 # literals and summaries of bodies
    inner: list[_Summary] = []                       # bodies that take values from outside
    held: dict[int, tuple[Any, bytes]] = {}
    for op in fn.ops:
        definition = op.definition
        operands = op.operands
        token = plain.get(definition)
        if token is None:
            plan = plans.get(definition) or _plan(definition)
            attrs = op.attrs
            if plan.direct:
                key = (*attrs.items(),)
                token = plan.tokens.get(key) or plan.token(key, attrs)
            elif definition is literal:
                value = attrs["value"]
                items.append((op, value))
                name, shape, _ = value.key
                key = (name, shape, attrs["shape"])
                token = plan.tokens.get(key) or plan.enter(key, f"literal|{key!r}")
            else:
                collected = plan.collect(op, items, inner, held, forward)
                if collected is None:
                    return None
                token, left_out = collected
                rules = rules or left_out
            if plan.variadic:
                token += struct.pack("<I", len(operands))
        add(token)
        if operands:
            extend(map(number_of, operands))
        results = op.results
        if len(results) == 1:
            number[results[0]] = numbers[n]
            n += 1
        else:
            for v in results:
                number[v] = numbers[n]
                n += 1
    extend(map(number_of, fn.returns))
    bare = blake2b(b"".join(parts), digest_size=SIZE)
    literals: tuple[Literal, ...] | None = None
    whole = bare
    if inner:
        whole = bare.copy()
        for part in inner:
            bare.update(part.skeleton)
            whole.update(part.fingerprint)
            held.update(part.held)
    else:
        literals = tuple([x for _, x in items])
    made = _Summary(whole if items or inner else None, bare.digest(), items, held, literals, rules)
    fn.memo[_FORWARD if forward else _MEMO] = made
    if not rules:                                    # both summaries are the same
        fn.memo[_MEMO if forward else _FORWARD] = made
    return made


_SIGNATURES: dict[Any, bytes] = {}


def _signature(fn: Function) -> bytes:
    """The text of everything outside the ops, after its length, so that it has only one reading."""
    key = (*[v.type for v in fn.params], fn.weak_params, fn.weak_returns, len(fn.ops),
           len(fn.returns))
    found = _SIGNATURES.get(key)
    if found is None:
        types = ";".join([repr(v.type) for v in fn.params])
        text = (f"{types}|{_flags(fn.weak_params)}|{_flags(fn.weak_returns)}|{len(fn.ops)}|"
                f"{len(fn.returns)}").encode()
        if len(_SIGNATURES) >= _MAX_TOKENS:
            _SIGNATURES.clear()
        found = _SIGNATURES[key] = struct.pack("<I", len(text)) + text
    return found


def _flags(weak: tuple[bool, ...]) -> str:
    return "".join(["w" if w else "-" for w in weak]) if any(weak) else ""


# --- tokens -------------------------------------------------------------------------------

_DIRECT = frozenset(("int", "ints", "bool", "bools", "str", "tree", "dtype", "types", "word",
                     "mesh", "specs", "sharding"))
"""Kinds whose legal values are equal only if they mean the same, so that they can be keys."""


class _Plan:
    """How the attributes of an op enter the hash."""

    __slots__ = ("definition", "derivative", "direct", "tokens", "variadic")

    def __init__(self, definition: OpDef) -> None:
        self.definition = definition
        self.direct = all(kind.text in _DIRECT for kind in definition.attrs.values())
        self.derivative = DERIVATIVE in definition.attrs.values()
        self.variadic = definition.n_operands is None
        self.tokens: dict[Any, bytes] = {}

    def enter(self, key: Any, text: str) -> bytes:
        """The token whose content is `text`, kept under `key`."""
        if len(self.tokens) >= _MAX_TOKENS:
            self.tokens.clear()
        found = self.tokens[key] = _hash(text)
        return found

    def token(self, key: Any, attrs: Any) -> bytes:
        """The token of an op whose attributes are `direct`; absent and None are the same."""
        schema = self.definition.attrs
        text = [f"|{k}={attrs[k]!r}" for k in schema if attrs.get(k) is not None]
        return self.enter(key, self.definition.name + "".join(text))

    def collect(self, op: Op, items: list[tuple[Op, Any]], inner: list[_Summary],
                held: dict[int, tuple[Any, bytes]], forward: bool) -> tuple[bytes, bool] | None:
        """Add an op's bodies to the lists of `_walk`.

        Returns: the op's token, and whether rules are left out of it with `forward`; None where the
          summary of a body is not known yet.
        """
        rules = self.derivative
        text = [self.definition.name]
        for key, kind in self.definition.attrs.items():
            value = op.attrs.get(key)
            if value is None or (forward and kind is DERIVATIVE):
                continue
            text.append(f"|{key}=")
            if kind.text in _DIRECT:
                text.append(repr(value))
            elif kind.text == "slot":
                text.append(str(int(value)))
            elif kind.text == "literal":
                text.append(repr(value.key))
            elif kind.text in ("function", "functions", "body"):
                bodies: list[Any] = [*value] if type(value) is tuple else [value]
                text.append(str(len(bodies)))
                alone = not self.definition.regions.takes_from_outside
                for body in bodies:
                    whole = alone
                    if type(body) is Pending:
                        text.append(f"pending {_content(body.request, held)}")
                        whole = alone or _differentiates(body)
                        body = body.function
                    # a body that counts whole is summarised here: nothing below it is forward
                    summary = _summary(body) if forward and whole else _known(body, forward)
                    if summary is None:
                        return None
                    rules = rules or (summary.rules and not whole)
                    if alone:
                        text.append(summary.fingerprint.hex())
                        held.update(summary.held)
                        continue
                    items.append((op, summary))
                    inner.append(summary)
            else:
                text.append(_content(value, held))
        return _hash("".join(text)), rules


def _plan(definition: OpDef) -> _Plan:
    made = _PLANS[definition] = _Plan(definition)
    if not definition.attrs and not made.variadic:         # otherwise tokens depend on the op
        _PLAIN[definition] = made.token((), {})
    return made


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


_kind_of: Callable[[Any], type[Any]] = type


def _content(value: Any, held: dict[int, tuple[Any, bytes]]) -> str:
    """Text that two values share only if they mean the same; floats by their bits."""
    kind = _kind_of(value)
    if value is None or kind in (int, bool, str, bytes, DType, TensorType, MeshAxes, Spec,
                                 Sharding):
        return f"{kind.__name__} {value!r}"
    if kind is float:
        return f"float {struct.pack('<d', value).hex()}"
    if kind is complex:
        return f"complex {struct.pack('<dd', value.real, value.imag).hex()}"
    if kind is tuple:
        return f"({','.join([_content(v, held) for v in value])})"
    if kind is Request:
        return f"request {value.role!r} {_content(value.details, held)}"
    if kind is Function:
        return f"function {_summary(value).fingerprint.hex()}"
    if kind is Literal:
        return f"literal {value.key!r}"
    own: Callable[[], bytes] | None = getattr(value, "fingerprint", None)
    if own is None:
        return f"object {identity(value)}"
    found = own()
    held[id(value)] = (value, found)
    return f"python {found.hex()}"


# --- Python without a fingerprint -----------------------------------------------------------

_IDENTITIES: dict[int, tuple[Any, str]] = {}         # id to (reference, token)


def identity(value: Any) -> str:
    """A random token of this object, which it keeps while it lives, in forked processes too."""
    found = _IDENTITIES.get(id(value))
    if found is not None:
        return found[1]
    key, token = id(value), os.urandom(SIZE).hex()
    try:
        reference: Any = weakref.ref(value, lambda _: _IDENTITIES.pop(key, None))
    except TypeError:
        reference = value                            # kept alive, so that its id stays its own
    return _IDENTITIES.setdefault(key, (reference, token))[1]
