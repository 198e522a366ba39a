"""Sums that XLA computes wrongly before jaxlib 0.11: of repeated terms, and over many axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from lowering import compat
from lowering.cpu import libraries, repeated
from lowering.forms.facts import NO_FACTS
from lowering.forms.placing import place_forms, taken
from xfront import lax
from xfront_ir.passes.pipeline import simplify

TO = (4, 32, 96)


def forms_of(f: Any, *xs: np.ndarray) -> list[str]:
    """The names of the needed forms that a program takes."""
    fn = simplify(xfront.make_jaxpr(f)(*xs).ir)
    return [form.name for _, form in taken(place_forms(fn, NO_FACTS, needed_only=True))]


REPEATED = {
    "broadcast": lambda x: jnp.sum(jnp.broadcast_to(x, TO)),
    "elementwise": lambda x: jnp.sum(jnp.exp(jnp.broadcast_to(x, TO)) * 2 + jnp.ones(96)),
    "two": lambda x: jnp.sum(jnp.broadcast_to(x, TO) * jnp.broadcast_to(x[:4, None], TO)),
    "axes": lambda x: jnp.sum(jnp.broadcast_to(x, TO), axis=(1, 2)),
    "mean": lambda x: jnp.mean(jnp.broadcast_to(x, TO)),
    "tile": lambda x: jnp.sum(jnp.tile(x, (4, 96))),
    "reshaped": lambda x: jnp.sum(jnp.broadcast_to(x, TO).reshape(128, 96).T),
    "slice": lambda x: jnp.sum(jnp.broadcast_to(x, TO)[1:, ::-1]),
    "called": lambda x: jnp.sum(xfront.jit(lambda y: y * y)(jnp.broadcast_to(x, TO))),
    "narrow": lambda x: jnp.sum(jnp.broadcast_to(x.astype("bfloat16"), TO)).astype("float32"),
    "rows": lambda x: jnp.sum(jnp.broadcast_to(x[:, 0, None], (32, 128)), axis=1),
}
EACH = {
    "array": lambda x: jnp.sum(jnp.broadcast_to(x, TO) * jnp.arange(96.0)
                               * jnp.arange(4.0)[:, None, None]),
    "kept axes": lambda x: jnp.sum(jnp.broadcast_to(x, TO), axis=1),
    "integers": lambda x: jnp.sum(jnp.broadcast_to(x.astype(int), TO)),
    "few terms": lambda x: jnp.sum(jnp.broadcast_to(x[:, 0, None], (32, 127)), axis=1),
    "sorted": lambda x: jnp.sum(jnp.sort(jnp.broadcast_to(x, TO), axis=2)),
}


@pytest.mark.parametrize("name", [*REPEATED, *EACH])
def test_sums_of_repeated_terms(name: str) -> None:
    f = (REPEATED | EACH)[name]
    x = np.linspace(-2, 1, 32, dtype=np.float32)[:, None]
    assert forms_of(f, x).count("repeated.sum_of_repeated") == (name in REPEATED)
    with xfront.disable_jit():
        want = np.asarray(f(jnp.asarray(x)))
    got = np.asarray(xfront.jit(f)(x))
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-2 if name == "narrow" else 1e-5, atol=1e-3)


def flat(x: Any) -> Any:
    return jnp.broadcast_to(x, TO).reshape(-1)


MIXED = {
    "reshaped": lambda x: jnp.sum(flat(x)),
    "concatenated": lambda x: jnp.sum(jnp.concatenate([jnp.broadcast_to(x, TO)] * 2)),
    "padded": lambda x: jnp.sum(jnp.pad(jnp.broadcast_to(x, TO), 1)),
    "product": lambda x: flat(x) @ jnp.ones(4 * 32 * 96),
    "square": lambda x: jnp.vdot(flat(x), flat(x)),
    "windows": lambda x: lax.reduce_window(jnp.broadcast_to(x, TO), 0., lax.add, TO, (1, 1, 1),
                                           "VALID"),
    "sum called": lambda x: xfront.jit(lambda y: jnp.sum(y))(flat(x)),
    "tile": REPEATED["tile"],
}


@pytest.mark.parametrize("name", [*MIXED, *REPEATED, *EACH, "one of two"])
def test_programs_that_repeat_terms_in_ways_not_told_by_axes(name: str) -> None:
    f = (MIXED | REPEATED | EACH | {"one of two": lambda x: flat(x) @ jnp.arange(12288.0)})[name]
    x = np.linspace(-2, 1, 32, dtype=np.float32)[:, None]
    fn = simplify(xfront.make_jaxpr(f)(x).ir)
    assert repeated.repeats_somewhere(fn) == (name in MIXED)
    kept = dict(libraries.options(fn, False)).get(libraries.OPTION, "REDUCE")
    assert ("REDUCE" in kept) == (name not in MIXED or compat.VERSION >= (0, 11))


def test_zeros_infinities_and_nan_of_repeated_terms() -> None:
    run = xfront.jit(lambda x: jnp.sum(jnp.broadcast_to(x[:, None], (3, 5000)), axis=1))
    got = np.asarray(run(np.array([-0.0, np.inf, np.nan], np.float32)))
    assert got[0] == 0 and not np.signbit(got[0]) and np.isinf(got[1]) and np.isnan(got[2])


PRODUCTS = {
    "one element": (lambda x, y: (x * y).sum(3), (3, 1, 2, 2, 8, 8, 8), (3, 1, 2, 2, 8, 8, 8)),
    "repeated": (lambda x, y: (x * y).sum(3), (3, 3, 2, 2, 8, 8, 8), (3, 3, 2, 2, 1, 8, 8)),
    "mean": (lambda x, y: (x * y).mean(2), (3, 1, 2, 2, 8, 8, 8), (3, 1, 2, 2, 8, 8, 8)),
    "reshaped": (lambda x, y: (x.reshape(6, 2, 512) * y.reshape(6, 2, 512)).sum(1),
                 (3, 1, 2, 2, 8, 8, 8), (3, 1, 2, 2, 8, 8, 8)),
    "two of them": (lambda x, y: (x * y).sum((1, 3)), (3, 1, 2, 2, 8, 8, 8),
                    (3, 1, 2, 2, 8, 8, 8)),
    "eight axes": (lambda x, y: (x * y).sum(3), (3, 3, 2, 2, 2, 4, 8, 8), (3, 3, 2, 2, 1, 4, 8, 8)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_sums_of_products_over_many_axes(name: str) -> None:
    f, *shapes = PRODUCTS[name]
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    if compat.VERSION < (0, 11):                      # else the process might end here
        assert forms_of(f, x, y) == ["reduce.sum_over_merged_axes"]
    np.testing.assert_allclose(xfront.jit(f)(x, y), f(x, y), rtol=1e-5, atol=1e-5)


def test_few_axes_stay() -> None:
    x = np.ones((3, 1, 2, 2, 8, 8), np.float32)
    assert forms_of(lambda x: (x * x).sum(3), x) == []


def test_few_terms_or_axes_are_left_to_the_plain_rule() -> None:
    """XLA has its library from 4,096 terms on, and its fault from seven axes on."""
    for shape in ((3, 1, 2, 2, 8, 8, 2), (2, 1, 2, 2, 8, 64), (6, 2, 512)):
        x = np.ones(shape, np.float32)
        taken = forms_of(lambda x, y: (x * y).sum(1), x, x)
        assert "reduce.sum_over_merged_axes" not in taken, shape
