"""`einsum`: sums of products named by the axes that they run over.

Two arrays make one dot_general, with the operands in the order that gives the result its order of
axes where one does. For three or more, opt_einsum chooses the order of the pairs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..binding.annotations import Array, ArrayLike, DTypeLike, ShardingLike
from ..eager.dispatch import canonical, eager
from ..eager.operands import array_like, convert
from ..lax.precision import PrecisionLike
from ..tracing.tracer import Tracer
from ..values.arguments import at_home
from .pairs import How, Labels, distinct, factors, ordered, paired, summed

# --- subscripts ---------------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def _terms(subscripts: str) -> tuple[tuple[Labels, ...], Labels | None]:
    """Labels of each operand and of the result (None if not given); Ellipsis is a label too."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")

    def labels(term: str) -> Labels:
        if term.count(".") not in (0, 3) or "." in term.replace("...", "", 1):
            raise ValueError(f"einsum: invalid ellipsis in {term!r} of {subscripts!r}")
        before, dots, after = term.partition("...")
        made: list[Hashable] = [*before, *([...] if dots else []), *after]
        wrong = [c for c in made if isinstance(c, str) and not c.isalnum()]
        if wrong:
            raise ValueError(f"einsum: character {wrong[0]!r} of {subscripts!r} is not a letter or "
                             "digit")
        return tuple(made)

    return tuple([labels(term) for term in left.split(",")]), labels(right) if arrow else None


def _interleaved(args: Sequence[Any]) -> tuple[list[Any], tuple[Labels, ...], Labels | None]:
    """Operands, labels and result of the form einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    pairs = len(args) // 2
    for labels in args[1::2]:
        if not isinstance(labels, (list, tuple)):
            raise TypeError("einsum takes subscripts as text, einsum('ij,jk', a, b), or a list of "
                            f"labels after each array, got {type(labels).__name__} there")
    result = tuple(args[-1]) if len(args) % 2 else None
    return (list(args[0:2 * pairs:2]), tuple([tuple(sub) for sub in args[1:2 * pairs:2]]), result)


@functools.lru_cache(maxsize=1024)
def _resolve(terms: tuple[Labels, ...], result: Labels | None, shapes: tuple[tuple[int, ...], ...]
             ) -> tuple[tuple[Labels, ...], Labels]:
    """Labels of operands and result, with ellipses written out (-1 for the last axis, -2, ...)."""
    if len(terms) != len(shapes):
        raise ValueError(f"Number of einsum subscripts, {len(terms)}, must be equal to the number "
                         f"of operands, {len(shapes)}.")
    widest, full = 0, []
    for place, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        n = len(shape) - len(term) + 1 if ... in term else 0
        if n < 0 or (... not in term and len(term) != len(shape)):
            raise ValueError(f"Einstein sum subscript {_shown(term)!r} does not contain the "
                             f"correct number of indices for operand {place} of shape {shape}.")
        widest = max(widest, n)
        full.append(_written_out(term, n))
    sizes: dict[Hashable, int] = {}
    for place, (term, shape) in enumerate(zip(full, shapes, strict=True)):
        for label, n in zip(term, shape, strict=True):
            if sizes.get(label, 1) == 1:
                sizes[label] = n
            elif n not in (1, sizes[label]):
                raise ValueError(f"Size of label {_name(label)!r} for operand {place} ({n}) does "
                                 f"not match previous terms ({sizes[label]}).")
    if result is None:
        seen = [one for term in terms for one in _written_out(term, 0)]
        once = sorted([one for one in set(seen) if seen.count(one) == 1])  # type: ignore[type-var]
        made: Labels = (*range(-widest, 0), *once)
    else:
        made = _written_out(result, widest)
    for one in made:
        if one not in sizes:
            raise ValueError(f"Output character {_name(one)!r} did not appear in the input "
                             "subscripts of einsum")
        if made.count(one) > 1:
            raise ValueError(f"Output character {_name(one)!r} appeared more than once in the "
                             "output.")
    return tuple(full), made


def _written_out(term: Labels, n: int) -> Labels:
    if ... not in term:
        return tuple([("axis", one) if isinstance(one, int) else one for one in term])
    at = term.index(...)
    return (*_written_out(term[:at], 0), *range(-n, 0), *_written_out(term[at + 1:], 0))


def _name(label: Hashable) -> Any:
    return label[1] if isinstance(label, tuple) else label


def _shown(term: Labels) -> str:
    return "".join(["..." if one is ... else str(one) for one in term])


# --- order --------------------------------------------------------------------------------

@functools.lru_cache(maxsize=1024)
def _path(terms: tuple[Labels, ...], result: Labels, shapes: tuple[tuple[int, ...], ...],
          optimize: Any) -> tuple[tuple[int, ...], ...]:
    """Which operands each step contracts; the step's result is appended to the operands."""
    n = len(terms)
    if n <= 2:
        return (tuple(range(n)),)
    if isinstance(optimize, tuple):
        steps = optimize[1:] if optimize and optimize[0] == "einsum_path" else optimize
        return tuple([tuple(step) for step in steps])
    if optimize is False:
        return ((0, 1), *[(0, n - 2 - i) for i in range(n - 2)])
    import opt_einsum  # late: only programs with such products pay for it

    symbols: dict[Hashable, str] = {}
    for term in terms:
        for one in term:
            symbols.setdefault(one, opt_einsum.get_symbol(len(symbols)))
    text = ",".join(["".join([symbols[one] for one in term]) for term in terms])
    equation = f"{text}->{''.join([symbols[one] for one in result])}"
    found, _ = opt_einsum.contract_path(equation, *shapes, shapes=True,
                                        optimize="optimal" if optimize is True else optimize)
    return tuple([tuple(step) for step in found])


# --- einsum -------------------------------------------------------------------------------

@eager(static=("terms", "result", "path", "precision", "preferred"))
def _einsum(operands: Sequence[Any], terms: Any, result: Any, path: Any, precision: Any,
            preferred: Any) -> Any:
    how = How("einsum", precision, preferred)
    xs = factors("einsum", *operands)
    given: list[tuple[Tracer, Labels]] = [distinct(x, tuple(t)) for x, t in
                                          zip(xs, terms, strict=True)]
    for step in path:
        taken = [given.pop(i) for i in sorted(step, reverse=True)][::-1]
        outer = {one for _, labels in given for one in labels} | set(result)
        x, labels = taken[0]
        for i, (y, others) in enumerate(taken[1:]):
            later = {one for _, rest in taken[i + 2:] for one in rest} | outer
            last = not given and i == len(taken) - 2
            wanted = result if last else tuple(
                [one for one in dict.fromkeys((*labels, *others)) if one in later])
            x, labels = paired(x, labels, y, others, wanted, how, exact=last)
        given.append((x, labels))
    x, labels = given[0]
    x, labels = summed(x, labels, result)
    x = ordered(x, labels, result)
    return x if how.preferred is None else convert(x, how.preferred)


def _one(x: Any, labels: Labels, wanted: Labels) -> Array:
    """The axes `wanted` of an array, in that order, summed over the others."""
    return _einsum((x,), (labels,), wanted, ((0,),), None, None)


def einsum(subscripts: str | ArrayLike, /, *operands: Any, out: None = None,
           optimize: bool | str | Sequence[tuple[int, ...]] = "auto",
           precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
           _dot_general: Callable[..., Any] | None = None, out_sharding: ShardingLike = None
          ) -> Array:
    """Sums of products over named axes.

    Args:
      subscripts: a letter for each axis of each operand, `"ij,jk->ik"`; `...` stands for axes that
        broadcast. Letters that are not in the result are summed over; without `->` it has those
        that occur once, sorted. Axes of one letter in one operand give their diagonal.
      operands: arrays; also in the form einsum(a, [0, 1], b, [1, 2], [0, 2]).
      optimize: how opt_einsum orders three or more operands: "auto", "optimal", "greedy", ...,
        True, a list of pairs, or False for left to right.
      precision: precision of the multiplications on accelerators.
      preferred_element_type: dtype of the sums and the result; None for that of the operands.
      _dot_general: a product in the place of `lax.dot_general`; it is called with two operands,
        dimension numbers, `precision` and `preferred_element_type=`.
    Raises: ValueError where the subscripts do not match the operands; TypeError for lists;
      NotImplementedError where `out` is given.
    Source: `numpy.einsum`.

    >>> einsum("ij,kj->ik", np.ones((2, 3)), np.ones((4, 3))).shape
    (2, 4)
    """
    if out_sharding is not None:
        from ..eager.out_sharding import asked_for, with_out_sharding  # late: few calls give it

        if (asked := asked_for("einsum", out_sharding)) is not None:
            return with_out_sharding("einsum", asked, einsum, (subscripts, *operands), {
                "optimize": optimize, "precision": precision,
                "preferred_element_type": preferred_element_type, "_dot_general": _dot_general})
        at_home("einsum", out_sharding)
    if out is not None:
        raise NotImplementedError("The 'out' argument to einsum is not supported.")
    if isinstance(subscripts, str):
        terms, result = _terms(subscripts)
        arrays = list(operands)
    else:
        arrays, terms, result = _interleaved((subscripts, *operands))
    arrays = [array_like("einsum", x) for x in arrays]
    shapes = tuple([tuple(getattr(x, "shape", ())) for x in arrays])
    full, wanted = _resolve(terms, result, shapes)
    path = _path(full, wanted, shapes, canonical(optimize))
    if _dot_general is not None:
        if not callable(_dot_general):
            raise TypeError("einsum: _dot_general must be a function such as lax.dot_general, got "
                            f"{_dot_general!r}")
        from . import own_products  # late: few calls give a product

        return own_products.contracted(_dot_general, _one, arrays, full, wanted, path, precision,
                                       preferred_element_type)
    return _einsum(arrays, full, wanted, path, precision, preferred_element_type)


def einsum_path(subscripts: str | ArrayLike, /, *operands: Any,
                optimize: bool | str | Sequence[tuple[int, ...]] = "auto"
                ) -> tuple[list[tuple[int, ...]], Any]:
    """The order in which `einsum` would contract its operands, and opt_einsum's report.

    `optimize` is that of `einsum`, "auto" by default.

    Source: `numpy.einsum_path`.

    >>> jnp.einsum_path('ij,jk,k', jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4))[0]
    [(1, 2), (0, 1)]
    """
    import opt_einsum  # late: as above

    how: Any = canonical(optimize)               # opt_einsum's type lists the names that it knows
    if type(how) is tuple:                       # it asks whether a path is a list
        how = [how[0], *how[1:]] if how and how[0] == "einsum_path" else list(how)
    path, report = opt_einsum.contract_path(subscripts, *operands, optimize=how)
    return list(path), report


__all__ = ["einsum", "einsum_path"]
