"""Checks on eight CPU devices, run by `test_on_eight_devices.py`: values of which each device holds
a term of a sum (`unreduced`), and values whose cotangents are such (`reduced`).

The types and the classes of errors are JAX's, for the same functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import xfront
import xfront.numpy as jnp
from tests.device_checks import checks_in, report
from xfront import lax
from xfront.sharding import NamedSharding, reshard, set_mesh
from xfront.sharding import PartitionSpec as P
from xfront_ir.errors import ShardingTypeError
from xfront_ir.parser import parse
from xfront_ir.printer import print_function

from .checks import raises
from .explicit_checks import agrees, mesh, put

DEVICES = 8

TERMS, WHOLE = P(unreduced={"x"}), P(reduced={"x"})


def operands() -> tuple[Any, ...]:
    """Two factors, contracted along what "x" divides; weights; and examples."""
    return put((4, 8), None, "x"), put((8, 6), "x"), put((4, 6)), put((8, 4), "x")


def terms(a: Any, b: Any, *dims: Any) -> Any:
    return jnp.einsum("ij,jk->ik", a, b, out_sharding=P(*dims, unreduced={"x"}))


def exchanges(f: Callable[..., Any], *args: Any) -> list[str]:
    """The collectives of the compiled program, with the computation that each is in."""
    found, inside = [], ""
    for line in xfront.jit(f).lower(*args).compile().as_text().splitlines():
        if line and not line.startswith(" ") and "{" in line:
            inside = line.split()[0]
        if met := re.search(r" (all-[a-z]+|reduce-scatter|collective-permute)\(", line):
            found.append(f"{inside} {met[1]}")
    return found


def check_types_of_terms_are_those_of_jax() -> None:
    a, b, w, x = operands()
    ay, r = put((4, 8), "y", "x"), put((4, 8), None, "y")
    refused = "ShardingTypeError: "
    with set_mesh(mesh()):
        u = terms(a, b)
        red = reshard(r, P(None, "y", reduced={"x"}))
        table: list[tuple[Callable[..., Any], Any, str]] = [
            (terms, (a, b), "float32[4,6]{U:x}"), (terms, (ay, b), "float32[4,6]{U:x}"),
            (lambda a, b: terms(a, b, "y"), (ay, b), "float32[4@y,6]{U:x}"),
            (lambda a, b: jnp.dot(a, b, out_sharding=P(unreduced={"y"})), (a, b),
             refused + "unreduced axes"),
            (lambda a, w: jnp.dot(a, w, out_sharding=TERMS), (a, put((8, 6))),
             refused + "both sides"),
            (lambda u: u + u, (u,), "float32[4,6]{U:x}"),
            (lambda x: lax.reduce_sum(x, (0,), out_sharding=TERMS), (put((8, 4), "x"),),
             "float32[4]{U:x}"),
            (lambda u: u.T, (u,), "float32[6,4]{U:x}"),
            (lambda u: u.sum(0), (u,), "float32[6]{U:x}"),
            (lambda u: u - u, (u,), "float32[4,6]{U:x}"),
            (lambda u: jnp.concatenate([u, u]), (u,), "float32[8,6]{U:x}"),
            (lambda u: u.astype(jnp.bfloat16), (u,), "bfloat16[4,6]{U:x}"),
            (lambda u: u.astype(int), (u,), refused + "terms of a sum"),
            (lambda u: jnp.where(True, u, u), (u,), "float32[4,6]{U:x}"),
            (lambda u, w: u * reshard(w, WHOLE), (u, w), "float32[4,6]{U:x}"),
            (lambda u, w: u / reshard(w, WHOLE), (u, w), "float32[4,6]{U:x}"),
            (lambda u, w: reshard(w, WHOLE) / u, (u, w), refused + "terms of a sum"),
            (lambda u: u * 2, (u,), refused + "reduced"), (lambda u: u * u, (u,), refused),
            (lambda u: u + 1, (u,), refused + "unreduced inputs"), (jnp.sin, (u,), refused),
            (lambda u, w: u @ w.T, (u, w), refused), (lambda u: u.max(), (u,), refused),
            (lambda u: reshard(u, P()), (u,), "float32[4,6]"),
            (lambda u: reshard(u, P("x")), (u,), "float32[4@x,6]"),
            (lambda u: reshard(u, P(unreduced={"x", "y"})), (u,), "float32[4,6]{U:(x,y)}"),
            (lambda u: reshard(u, WHOLE), (u,), "float32[4,6]{R:x}"),
            (lambda u: lax.fori_loop(0, 2, lambda i, c: c + c, u), (u,), "float32[4,6]{U:x}"),
            (xfront.vmap(lambda u: u + u), (u,), "float32[4,6]{U:x}"),
            (jnp.sin, (red,), "float32[4,8@y]{R:x}"),
            (lambda r: r + 1, (red,), "float32[4,8@y]{R:x}"),
            (lambda r: r.T.sum(0), (red,), "float32[4]{R:x}"),
            (jnp.add, (red, r), refused + "reduced"),
            (jnp.multiply, (red, put((4, 8), "x", "y")), refused + "reduced"),
            (lambda r, v: v @ r, (red, put((4, 4), "x")), "float32[4@x,8@y]"),
            (xfront.grad(lambda r: (r * r).sum()), (red,), "float32[4,8@y]{U:x}"),
            (xfront.grad(lambda u: reshard(u, P()).sum()), (u,), "float32[4,6]{R:x}")]
        for i, (f, args, expected) in enumerate(table):
            agrees(f"row {i}", f, args, expected)


def check_terms_have_the_values_of_their_sum_by_one_exchange() -> None:
    a, b, w, x = operands()
    m = np.asarray(a) @ np.asarray(b)
    cases: list[tuple[Callable[..., Any], tuple, np.ndarray]] = [
        (lambda: reshard(terms(a, b), P()), (), m),
        (lambda: reshard(terms(a, b) + terms(a, 2 * b), P("x")), (), 3 * m),
        (lambda: reshard(terms(a, b) - (-terms(a, b).T).T, P()), (), 2 * m),
        (lambda: reshard(terms(a, b) * reshard(w, WHOLE), P("x")), (), m * np.asarray(w)),
        (lambda: reshard(terms(a, b).sum(0), P()), (), m.sum(0)),
        (lambda: reshard(xfront.jit(lambda u: u + u)(terms(a, b)), P()), (), 2 * m),
        (lambda: reshard(lax.scan(lambda c, s: (c + terms(a * s, b), None), terms(a, b),
                                  jnp.arange(3.0))[0], P()), (), 4 * m)]
    with set_mesh(mesh()):
        for i, (f, args, expected) in enumerate(cases):
            np.testing.assert_allclose(f(*args), expected, rtol=1e-5, err_msg=str(i))
            np.testing.assert_allclose(xfront.jit(f)(*args), expected, rtol=1e-5, err_msg=str(i))
            found = exchanges(f, *args)
            assert len(found) == 1 and re.search("all-reduce|reduce-scatter", found[0]), (i, found)


def check_scans_of_rows_of_terms() -> None:
    a, b, w, x = operands()
    m = np.asarray(a) @ np.asarray(b)

    def rows(a: Any, b: Any) -> Any:
        made = lax.scan(lambda c, r: (c + r, r + r), reshard(jnp.zeros(6), TERMS), terms(a, b))
        return reshard(made, P())

    def layers(ws: Any, x: Any) -> Any:
        return lax.scan(lambda c, w: (jnp.tanh(c @ w @ w.T), None), x, ws)[0].sum()

    with set_mesh(mesh()):
        total, doubled = xfront.jit(rows)(a, b)
        np.testing.assert_allclose(total, m.sum(0), rtol=1e-5)
        np.testing.assert_allclose(doubled, 2 * m, rtol=1e-5)
        alone = xfront.jit(lambda u: reshard(lax.scan(lambda c, r: (c, -r), 0.0, u)[1], P()))
        np.testing.assert_allclose(alone(terms(a, b).reshape(1, 4, 6)), -m[None], rtol=1e-5)
        ws = jnp.stack([w, w / 2, w / 5])
        slope = xfront.jit(xfront.grad(lambda ws, x: layers(reshard(ws, WHOLE), x)))(ws, x)
        np.testing.assert_allclose(slope, xfront.grad(layers)(np.asarray(ws), np.asarray(x)),
                                   rtol=1e-4, atol=1e-5)


def check_what_is_no_such_sum_becomes_terms() -> None:
    a, b, w, x = operands()
    cases = [(lambda: w, w), (lambda: x, x), (lambda: jnp.sin(w), np.sin(w)),
             (lambda: w @ w.T, np.asarray(w) @ np.asarray(w).T),
             (lambda: x.sum(0), np.asarray(x).sum(0)),
             (lambda: jnp.dot(a, b, out_sharding=P()), np.asarray(a) @ np.asarray(b))]
    with set_mesh(mesh()):
        for f, expected in cases:
            def there_and_back(f: Any = f) -> Any:
                return reshard(reshard(f(), TERMS), P())

            np.testing.assert_allclose(xfront.jit(there_and_back)(), expected, rtol=1e-5)
            np.testing.assert_allclose(there_and_back(), expected, rtol=1e-5)


def check_arrays_of_terms_are_placed_and_show_their_parts() -> None:
    a, b, w, _ = operands()
    with set_mesh(mesh()):
        u = terms(a, b)
        assert not u.is_fully_replicated and u.sharding.spec == P(None, None, unreduced={"x"})
        assert [s.data.shape for s in u.addressable_shards] == [(4, 6)] * 8
        total = sum([np.asarray(s.data) for s in u.addressable_shards][::2])
        np.testing.assert_allclose(total, np.asarray(a) @ np.asarray(b), rtol=1e-5)
        assert "unreduced={'x'}" in repr(u) and "-4." not in repr(u)
        assert "unreduced" in str(u)
        whole = NamedSharding(mesh(), P())
        for read in (np.asarray, lambda u: u.tolist(), lambda u: xfront.device_put(u, whole)):
            raises(NotImplementedError, ["terms of a sum", "reshard"], lambda read=read: read(u))
        for made in (xfront.device_put(w, NamedSharding(mesh(), TERMS)), reshard(w, TERMS),
                     xfront.device_put(np.asarray(w), NamedSharding(mesh(), TERMS))):
            assert str(xfront.typeof(made)) == "float32[4,6]{U:x}"
            np.testing.assert_array_equal(reshard(made, P()), w)
        there, parts = NamedSharding(mesh(), TERMS), [s.data for s in u.addressable_shards]
        put_together = xfront.make_array_from_single_device_arrays((4, 6), there, parts)
        np.testing.assert_array_equal(reshard(put_together, P()), reshard(u, P()))
        assert not there.is_equivalent_to(NamedSharding(mesh(), P()), 2)
        told = xfront.jit(lambda a, b: jnp.sin(a) @ b, out_shardings=there)
        np.testing.assert_allclose(reshard(told(np.asarray(a), np.asarray(b)), P()),
                                   np.sin(a) @ np.asarray(b), rtol=1e-4, atol=1e-5)
        held = xfront.device_put(w, NamedSharding(mesh(), WHOLE))
        assert str(xfront.typeof(held)) == "float32[4,6]{R:x}"
        np.testing.assert_array_equal(held, w)


def check_shard_map_takes_terms_only_where_specs_say_so() -> None:
    a, b, *_ = operands()

    def doubled(**specs: Any) -> Any:
        return xfront.shard_map(lambda v: v * 2, out_specs=P(), **specs)

    with set_mesh(mesh()):
        u = xfront.jit(terms)(a, b)
        table: list[tuple[Any, type[Exception], str]] = [
            (doubled(in_specs=P()), ValueError, "does not match the specs"),
            (doubled(), ShardingTypeError, "terms of a sum"),
            (lambda u: xfront.shard_map(lambda: -u, in_specs=(), out_specs=P())(),
             NotImplementedError, "closes over")]
        for f, kind, words in table:
            for call in (f, xfront.jit(f)):
                raises(kind, [words], lambda c=call: c(u))


def check_gradients_of_reduced_weights_are_summed_once() -> None:
    _, _, w, x = operands()

    def deep(w: Any, x: Any) -> Any:
        return jnp.tanh(jnp.tanh(x @ (w * 0.1)) @ (w.T / 3.0)).sum()

    def looped(w: Any, x: Any) -> Any:
        return lax.scan(lambda c, _: (jnp.tanh(c @ (w * 0.1) @ w.T), None), x, None,
                        length=3)[0].sum()

    def picked(w: Any, x: Any) -> Any:
        return (x @ xfront.nn.softmax(w))[:, 1:4].sum()

    with set_mesh(mesh()):
        for f in (deep, looped, picked, lambda w, x: xfront.checkpoint(deep)(w, x)):
            slope = xfront.grad(lambda w, x, f=f: f(reshard(w, WHOLE), x))
            expected = xfront.grad(f)(np.asarray(w), np.asarray(x))
            np.testing.assert_allclose(slope(w, x), expected, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(xfront.jit(slope)(w, x), expected, rtol=1e-4, atol=1e-5)
            found = exchanges(slope, w, x)
            assert len(found) == 1 and found[0].startswith("ENTRY"), found

        def accumulated(w: Any, x: Any) -> Any:
            def step(total: Any, rows: Any) -> Any:
                return total + xfront.grad(deep)(reshard(w, WHOLE), rows), None

            start = reshard(jnp.zeros((4, 6)), TERMS)
            return reshard(lax.scan(step, start, jnp.stack([x, 2 * x]))[0], P())

        expected = sum([np.asarray(xfront.grad(deep)(np.asarray(w), k * np.asarray(x)))
                        for k in (1, 2)])
        np.testing.assert_allclose(xfront.jit(accumulated)(w, x), expected, rtol=1e-4, atol=1e-5)
        assert [e.split()[0] for e in exchanges(accumulated, w, x)] == ["ENTRY"]


def check_text_of_terms_parses() -> None:
    a, b, w, x = operands()
    with set_mesh(mesh()):
        made = xfront.make_ir(lambda: reshard(terms(a, b) * reshard(w, WHOLE), P()))()
    text = print_function(made.ir)
    assert 'unreduced {"x"}' in text and 'reduced {"x"}' in text, text
    assert print_function(parse(text)) == text


CHECKS = checks_in(globals())

if __name__ == "__main__":
    report(CHECKS, DEVICES)
