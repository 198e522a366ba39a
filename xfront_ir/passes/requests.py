"""Transformations as requests: the contents of a body (Function, request) before any pass has run.

Each request has a class, with the pass that carries it out and with what is known before that pass
runs: the types of parameters and results, and the weakness of results. `pending` makes the body. A
Function that has got further parameters since (captures, abstracted literals) serves the same
request; the further ones are neither differentiated nor batched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ..core import Function, Op
from ..opdef import Pending, Request
from ..placed_builder import PlacedBuilder
from ..regions import select
from ..types import TensorType
from .bodies import jvp_to
from .discharge import Written, discharge
from .jvp import Flags, jvp
from .linearize import gradient
from .varying import Names
from .vectorize import batched, vectorize

Order = tuple[int, ...]
Types = tuple[tuple[TensorType, ...], tuple[TensorType, ...]]
T = TypeVar("T")


def padded(flags: tuple[T, ...], n: int, fill: T) -> tuple[T, ...]:
    """`flags` extended to n parameters; the further ones get `fill`."""
    return (*flags, *[fill] * (n - len(flags)))


class Transformation:
    """The base of the requests. An instance is called to carry a request out; the other methods
    describe the result without carrying it out."""

    def __call__(self, function: Function, request: Request) -> Function:
        """The transformed Function."""
        raise NotImplementedError

    def types(self, function: Function, request: Request) -> Types:
        """The types of the parameters and of the results."""
        raise NotImplementedError

    def weak_returns(self, function: Function, request: Request) -> Flags:
        """The weakness of the results."""
        raise NotImplementedError

    def pending(self, function: Function, request: Request) -> Pending:
        """The body of this request on `function`."""
        return Pending(function, request, self)

    # The next two methods tell over which axes of a mesh parameters and results vary: those of the
    # Function itself, and those of the transformed Function.

    def own_sets(self, request: Request, sets: Sequence[Names]) -> Sequence[Names]:
        """The axes of the Function's parameters, from those of the transformed parameters."""
        return sets

    def all_sets(self, request: Request, function: Function, sets: Sequence[Names],
                 results: Sequence[Names]) -> tuple[Sequence[Names], Sequence[Names]]:
        """The axes of the transformed parameters and results, from those of the Function's."""
        return sets, results

    def binds(self, request: Request) -> tuple[Any, ...]:
        """The names of the axes that the request binds."""
        return ()

    def discharged(self, function: Function, request: Request) -> tuple[Pending, Written, Order]:
        """The request on contents in place of references; see `Pending.discharged`."""
        made, written = discharge(function)
        self.refuse_written(made, len(function.returns), request)
        n, k = len(function.returns), len(written)
        moved = self.pending(made, request)
        total = len(moved.return_types)
        return moved, written, (*range(n), *range(n + k, total), *range(n, n + k))

    def refuse_written(self, function: Function, n: int, request: Request) -> None:
        """Raise ValueError where the contents of a reference from outside, a result after the first
        n, depend on a differentiated parameter: such a reference holds no tangent."""
        active = padded(request.details[0], len(function.params), False)
        if any(jvp(function, active)[1][n:]):
            raise ValueError(
                "performing a set/swap operation with a differentiated value on a "
                "non-differentiated array reference: its derivative would be lost. Write "
                "stop_gradient(value), or make the reference inside the function")


class Grad(Transformation):
    """details (active, seeded, strong): the results, then a cotangent for each active parameter.

    The result numbered `seeded` gets the cotangent 1, the others 0. `strong` asks for strong zeros.
    """

    def __call__(self, function: Function, request: Request) -> Function:
        """Carry the request out."""
        active, seeded, strong = request.details
        return seeded_gradient(function, padded(active, len(function.params), False), seeded,
                               strong)

    def types(self, function: Function, request: Request) -> Types:
        """The types of the parameters and of the results."""
        active = request.details[0]
        grads = [v.type.cotangent for v, a in zip(function.params, active, strict=False) if a]
        return function.param_types, (*function.return_types, *grads)

    def weak_returns(self, function: Function, request: Request) -> Flags:
        """The weakness of each result; a gradient is as weak as its parameter."""
        active = request.details[0]
        weak = padded(function.weak_params, len(function.params), False)
        outs = padded(function.weak_returns, len(function.returns), False)
        return (*outs, *[w for w, a in zip(weak, active, strict=False) if a])

    def all_sets(self, request: Request, function: Function, sets: Sequence[Names],
                 results: Sequence[Names]) -> tuple[Sequence[Names], Sequence[Names]]:
        """The axes of all parameters and results; a gradient varies as its parameter does."""
        return sets, (*results, *[s for s, a in zip(sets, request.details[0], strict=False) if a])


def seeded_gradient(function: Function, active: Flags, seeded: int, strong: bool) -> Function:
    """The gradient Function where result `seeded` has the cotangent one, the others zero."""
    given = tuple([i == seeded for i in range(len(function.returns))])
    full = gradient(function, active, given, strong)
    b = PlacedBuilder(full.name)
    n = len(function.params)
    seed = full.params[n]
    b.ones(seed.type)
    *before, last = b.ops
    one = Op(last.definition, last.operands, last.attrs, (seed,))
    return Function(full.name, full.params[:n], (*before, one, *full.ops), full.returns,
                    param_names=function.param_names, weak_params=function.weak_params,
                    weak_returns=full.weak_returns)


class Jvp(Transformation):
    """details (active): takes parameters, then the tangents of active ones; returns results, then
    a tangent for each inexact result, zeros where none reaches it."""

    def __call__(self, function: Function, request: Request) -> Function:
        """Carry the request out."""
        (active,) = request.details
        return full_jvp(function, padded(active, len(function.params), False), len(active))

    def discharged(self, function: Function, request: Request) -> tuple[Pending, Written, Order]:
        """As for other requests; the tangents of contents, which are zero, come last."""
        made, written, _ = super().discharged(function, request)
        (active,) = request.details
        n, k = len(function.returns), len(written)
        # tangents stand between its own parameters and the later ones
        places = tuple([i if i < len(active) else i + sum(active) for i in written])
        returns = made.function.returns
        m = sum([v.type.is_inexact for v in returns[:n]])
        total = len(made.return_types)
        return made, places, (*range(n), *range(n + k, n + k + m), *range(n, n + k),
                              *range(n + k + m, total))

    def types(self, function: Function, request: Request) -> Types:
        """The types of the parameters and of the results."""
        (active,) = request.details
        n = len(active)
        types = function.param_types
        given = [t for t, a in zip(types, active, strict=False) if a]
        outs = function.return_types
        return (*types[:n], *given, *types[n:]), (*outs, *[t for t in outs if t.is_inexact])

    def weak_returns(self, function: Function, request: Request) -> Flags:
        """The weakness of each result; a tangent is as weak as its primal."""
        outs = padded(function.weak_returns, len(function.returns), False)
        return (*outs, *[w for v, w in zip(function.returns, outs, strict=True)
                         if v.type.is_inexact])

    def own_sets(self, request: Request, sets: Sequence[Names]) -> Sequence[Names]:
        """The axes of the Function's parameters; a tangent's axes count for its parameter too."""
        (active,) = request.details
        n = len(active)
        given = iter(sets[n:])
        own = [s | next(given) if a else s for s, a in zip(sets, active, strict=False)]
        return (*own, *given)

    def all_sets(self, request: Request, function: Function, sets: Sequence[Names],
                 results: Sequence[Names]) -> tuple[Sequence[Names], Sequence[Names]]:
        """The axes of all parameters and results; a tangent varies as its primal does."""
        (active,) = request.details
        n = len(active)
        given = [s for s, a in zip(sets, active, strict=False) if a]
        return ((*sets[:n], *given, *sets[n:]),
                (*results, *[s for v, s in zip(function.returns, results, strict=True)
                             if v.type.is_inexact]))


def full_jvp(function: Function, active: Flags, n_own: int) -> Function:
    """The jvp with tangents after the first `n_own` parameters and zeros made explicit."""
    n, out = len(function.params), tuple([v.type.is_inexact for v in function.returns])
    made = jvp_to(function, active, out)
    weak = padded(function.weak_returns, len(out), False)
    return Function(made.name, (*made.params[:n_own], *made.params[n:], *made.params[n_own:n]),
                    made.ops, made.returns, weak_returns=(*weak, *select(weak, out)))


class Vectorize(Transformation):
    """details (positions, axis, out): the Function over a batch."""

    def discharged(self, function: Function, request: Request) -> tuple[Pending, Written, Order]:
        """As for other requests; a reference with a batch axis keeps it where it is."""
        positions, axis, out = request.details
        made, written = discharge(function)
        filled = padded(positions, len(made.params), None)
        last = [filled[i] for i in written]
        _, places = vectorize(made, filled, axis)
        if any([w is None and p is not None
                for w, p in zip(last, places[len(out):], strict=True)]):
            raise ValueError(
                "performing a set/swap operation with a vmapped value on an unbatched array "
                "reference. Move the reference to be an argument of the vmapped function")
        wanted = Request(request.role, positions, axis, (*out, *last))
        return self.pending(made, wanted), written, tuple(range(len(made.returns)))

    def __call__(self, function: Function, request: Request) -> Function:
        """Carry the request out."""
        positions, axis, out = request.details
        made, _ = vectorize(function, padded(positions, len(function.params), None), axis, out)
        return made.replace(weak_returns=function.weak_returns)

    def types(self, function: Function, request: Request) -> Types:
        """The types of the parameters and of the results."""
        positions, (_, size), out = request.details
        filled = padded(positions, len(function.params), None)
        return (tuple([batched(t, p, size) for t, p in
                       zip(function.param_types, filled, strict=True)]),
                tuple([batched(t, p, size) for t, p in
                       zip(function.return_types, out, strict=True)]))

    def weak_returns(self, function: Function, request: Request) -> Flags:
        """The weakness of each result; a batch is as weak as one example."""
        return function.weak_returns

    def binds(self, request: Request) -> tuple[Any, ...]:
        """The names of the axes that the request binds."""
        return (request.details[1][0],)


GRAD, JVP, VECTORIZE = Grad(), Jvp(), Vectorize()
