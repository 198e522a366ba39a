"""Products of arrays, einsum, convolutions, polynomials, norms against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from tests.against import agree, check, weakly

R = np.random.default_rng(0)
A = R.normal(size=(3, 4)).astype(np.float32)
B = R.normal(size=(4, 5)).astype(np.float32)
T = R.normal(size=(2, 3, 4)).astype(np.float32)
V = np.arange(1, 5, dtype=np.float32)
I = np.arange(6, dtype=np.int32).reshape(2, 3)


def test_products() -> None:
    check({
        "dot": lambda m, a, b, t, v, i: [m.dot(a, b), m.dot(v, v), m.dot(a, v), m.dot(t, b),
                                         m.dot(2, a), m.dot(a, m.ones((2, 4, 3), "float32"))],
        "matmul": lambda m, a, b, t, v, i: [
            m.matmul(a, b), m.matmul(t, b), m.matmul(a, v), m.matmul(v, b), m.matmul(v, v),
            m.matmul(t, b[None]), m.matmul(a[None], m.swapaxes(t, 1, 2)), m.matmul(t, v),
            m.matmul(a[:, None], b[None])],
        "integers": lambda m, a, b, t, v, i: [m.dot(i, i.T), m.matmul(i > 1, i.T > 2)],
        "vdot": lambda m, a, b, t, v, i: [m.vdot(a * 1j, a), m.inner(a, t), m.outer(v, a)],
        "tensordot": lambda m, a, b, t, v, i: [
            m.tensordot(a, t, ((0, 1), (1, 2))), m.tensordot(a, b, 1), m.tensordot(v, a, 0),
            m.tensordot(t, a, (1, 0))],
        "kron": lambda m, a, b, t, v, i: [m.kron(a, b), m.kron(v, a), m.kron(t, v)],
        "cross": lambda m, a, b, t, v, i: [m.cross(a[:, :3], a[:, 1:]), m.cross(v[:3], v[1:]),
                                           m.cross(a.T, a.T[::-1]), m.cross(a, a[::-1], axis=0)],
        "convolve": lambda m, a, b, t, v, i: [
            f(x, y, mode) for f in (m.convolve, m.correlate)
            for x, y in ((v, a[0, :3]), (a[0, :2], v)) for mode in ("full", "same", "valid")],
    }, A, B, T, V, I, eagerly=1)


def test_vectors_in_matrices() -> None:
    agree("vecdot", jnp.vecdot(A * 1j, T), (np.conj(A * 1j) * T).sum(-1))
    agree("vecdot axis", jnp.vecdot(A, A, axis=0), (A * A).sum(0))
    agree("matvec", jnp.matvec(T, V), T @ V)
    agree("vecmat", jnp.vecmat(A[:, 0] * 1j, T), np.einsum("n,bnm->bm", -1j * A[:, 0], T))


EQUATIONS = ["ij,jk->ik", "ij,jk", "ij,jk->ki", "ij,jk->", "ij->ji", "ij->", "ij->i", "ij,ij->ij",
             "ij,kj->ik", "bij,jk->bik", "bij,jk->kib", "bij,bij->b", "bij,ij->bj", "i,j->ij",
             "...j,jk->...k", "b...,b...->...", "ij,jk,bij->bk", "ij,bij,jk,i->kb", "i j , j k"]


def test_einsum() -> None:
    sides = {"ij": A, "jk": B, "kj": B.T.copy(), "bij": T, "i": A[:, 0].copy(), "j": V,
             "...j": T, "b...": T}

    def arrays(equation):
        return [sides[term] for term in equation.replace(" ", "").split("->")[0].split(",")]

    traced = xfront.jit(lambda given: [jnp.einsum(e, *xs) for e, xs in
                                       zip(EQUATIONS, given, strict=True)])
    made = traced([arrays(e) for e in EQUATIONS])
    for equation, x in zip(EQUATIONS, made, strict=True):
        np.testing.assert_allclose(x, np.einsum(equation, *arrays(equation)), rtol=2e-5, atol=2e-5,
                                   err_msg=equation)
    agree("digits", jnp.einsum("0i,i1->10", A, B), (A @ B).T)
    agree("lists", jnp.einsum(A, [0, 1], B, [1, 2], [2, 0]), (A @ B).T)
    agree("diagonal", jnp.einsum("ii->i", jnp.array(B[:, :4])), np.diag(B))
    agree("trace", jnp.einsum("ii", jnp.array(B[:, :4])), np.trace(B[:, :4]))
    agree("one size", jnp.einsum("ij,ik->jk", A, A[:1]), np.einsum("ij,k->jk", A, A[0]))
    for optimize in (False, True, "greedy", [(0, 1), (0, 1)]):
        agree("three", jnp.einsum("ij,jk,k->i", A, B, B[0], optimize=optimize), A @ B @ B[0])
    assert jnp.einsum_path("ij,jk,k->i", A, B, B[0])[0] == [(1, 2), (0, 1)]
    chain = [np.ones(shape) for shape in ((2, 3), (3, 4), (4, 5))]
    assert jnp.einsum_path("ij,jk,kl->il", *chain)[0] == [(0, 1), (0, 1)]
    assert jnp.einsum_path("ij,jk,kl->il", *chain, optimize="greedy")[0] == [(1, 2), (0, 1)]


def test_einsum_by_a_product_of_the_callers_own() -> None:
    met = []

    def tripled(x, y, numbers, precision=None, preferred_element_type=None):
        met.append((x.shape, y.shape, numbers, precision, preferred_element_type))
        return 3 * xfront.lax.dot_general(x, y, numbers).astype(np.float16)

    sides = {"ab": A, "cb": B.T, "bc": B, "ca": (A @ B).T, "aab": T[:, :2], "zb": A[:1]}
    for equation, products in (("ab,bc->ac", 1), ("ab,cb->ca", 1), ("ab,bc,ca->", 2), ("aab->b", 0),
                               ("ab,zb->a", 1), ("ab,bc", 1), ("ab,cb->acb", 1)):
        xs = [sides[t] for t in equation.split("->")[0].split(",")]
        wanted, before = np.einsum(equation, *xs) * 3 ** products, len(met)

        def made(*xs, equation=equation):
            return jnp.einsum(equation, *xs, _dot_general=tripled, optimize=False)

        assert made(*xs).dtype == np.float32 and len(met) - before == products, equation
        for found in (made(*xs), xfront.jit(made)(*xs)):
            np.testing.assert_allclose(found, wanted, rtol=1e-2, atol=0.02, err_msg=equation)
    met.clear()
    jnp.einsum("ab,bc->ca", jnp.array(A, jnp.bfloat16), B, precision=("high", "default"),
               _dot_general=tripled)
    assert met == [(B.shape, A.shape, (((0,), (1,)), ((), ())), ("default", "high"), np.float32)]
    slope = xfront.grad(lambda x: jnp.einsum("ab,bc->", x, B, _dot_general=tripled))(A)
    np.testing.assert_allclose(slope, 3 * np.tile(B.sum(1), (len(A), 1)), rtol=1e-2)


def test_einsum_needs_no_transposes() -> None:
    for equation, xs in (("ij,jk->ik", (A, B)), ("ij,jk->ki", (A, B)), ("bij,bkj->bik", (T, T)),
                         ("bij,bkj->bki", (T, T)), ("i,j->ji", (V, V))):
        text = xfront.jit(lambda *x, e=equation: jnp.einsum(e, *x)).lower(*xs).as_text()
        assert "transpose" not in text, f"{equation}:\n{text}"


def test_types() -> None:
    half = jnp.array(A, jnp.bfloat16)
    assert weakly(jnp.dot(half, half.T)) == "bfloat16"
    assert weakly(jnp.dot(half, half.T, preferred_element_type=jnp.float32)) == "float32"
    assert weakly(jnp.einsum("ij,kj->ik", half, A)) == "float32"
    assert weakly(jnp.dot(jnp.asarray(3), 2)) == "int32*"
    assert weakly(jnp.convolve(jnp.arange(3), jnp.arange(2))) == "float32"
    assert weakly(jnp.matmul(I, I.T, precision="highest")) == "int32"


def test_polynomials() -> None:
    check({
        "polyval": lambda m, p, x: [m.polyval(p, x), m.polyval(m.concatenate([p] * 6), x / 4)],
        "polyadd": lambda m, p, x: [m.polyadd(p, x), m.polysub(x, p), m.polymul(p, x)],
        "polyder": lambda m, p, x: [m.polyder(p), m.polyder(p, 2), m.polyint(p), m.polyint(p, 2)],
        "polyint k": lambda m, p, x: m.polyint(p, 2, k=np.array([1.0, 2.0], np.float32)),
    }, V, A[0])
    agree("polydiv", jnp.polydiv(jnp.array([1.0, 5, 2]), jnp.array([2.0, 1])),
          (np.array([0.5, 2.25]), np.array([0.0, 0.0, -0.25])))


def test_linalg() -> None:
    check({
        "norm": lambda m, a, t: [m.linalg.norm(a), m.linalg.norm(t), m.linalg.norm(a, axis=1),
                                 m.linalg.norm(a, "fro", keepdims=True),
                                 m.linalg.norm(t, axis=(0, 2))],
        "orders": lambda m, a, t: [m.linalg.norm(a, order, axis) for axis in (0, None)
                                   for order in (1, -1, np.inf, -np.inf)],
        "vectors": lambda m, a, t: [m.linalg.norm(a, order, 1) for order in (0, 2, 3, 0.5)],
        "vector_norm": lambda m, a, t: m.linalg.vector_norm(t, axis=(0, 1), ord=1),
        "matrix_norm": lambda m, a, t: m.linalg.matrix_norm(t, ord=1, keepdims=True),
        "multi_dot": lambda m, a, t: m.linalg.multi_dot([a, a.T, a, a[0]]),
        "matrix_power": lambda m, a, t: [m.linalg.matrix_power(a[:, :3], n) for n in range(4)],
        "trace": lambda m, a, t: [m.linalg.trace(t, offset=1), m.linalg.diagonal(t)],
    }, A, T, eagerly=1)


def test_functions_of_functions() -> None:
    agree("vectorize", jnp.vectorize(jnp.dot, signature="(n),(n)->()")(T, V), T @ V)
    agree("vectorize, two", jnp.vectorize(lambda x, y: (x + y, x * y))(A, V), (A + V, A * V))
    agree("vectorize, size 1", jnp.vectorize(lambda x: x[::-1], signature="(n)->(n)")(A[None]),
          A[None, :, ::-1])
    agree("excluded", jnp.vectorize(lambda x, n: x**n, excluded={1})(A, 2), A**2)
    agree("apply_along_axis", jnp.apply_along_axis(lambda v: jnp.outer(v, v), 1, jnp.array(T)),
          np.apply_along_axis(lambda v: np.outer(v, v), 1, T))
    agree("apply_over_axes", jnp.apply_over_axes(jnp.sum, jnp.array(T), [0, 2]),
          T.sum((0, 2), keepdims=True))
    agree("apply_over_axes, one", jnp.apply_over_axes(jnp.sum, jnp.array(T), 1),
          T.sum(1, keepdims=True))
    agree("piecewise", jnp.piecewise(A, [A < 0, A > 1], [lambda x: -x, lambda x: x * 2, 5.0]),
          np.piecewise(A, [A < 0, A > 1], [lambda x: -x, lambda x: x * 2, 5.0]))
    agree("the last condition", jnp.piecewise(A, [A < 1, A < 0, A < 0.5], [1.0, 2.0, lambda x: x]),
          np.piecewise(A, [A < 1, A < 0, A < 0.5], [1.0, 2.0, lambda x: x]))


@pytest.mark.parametrize(("call", "error"), [
    (lambda x: jnp.dot(x, x), TypeError),
    (lambda x: jnp.dot([1], [2]), TypeError),
    (lambda x: jnp.dot(x, x.T, precision="best"), ValueError),
    (lambda x: jnp.matmul(x, 2), ValueError),
    (lambda x: jnp.matmul(jnp.ones((3, 3, 4)), jnp.ones((2, 4, 2))), ValueError),
    (lambda x: jnp.tensordot(x, x, 3), TypeError),
    (lambda x: jnp.tensordot(x, x, ((0, 1), (0,))), TypeError),
    (lambda x: jnp.einsum("ij,jk->ik", x, x), ValueError),
    (lambda x: jnp.einsum("ij->ik", x), ValueError),
    (lambda x: jnp.einsum("ij->ij", x, x), ValueError),
    (lambda x: jnp.einsum("i->", x), ValueError),
    (lambda x: jnp.einsum("ij->ij", x, out=x), NotImplementedError),
    (lambda x: jnp.cross(x, x), ValueError),
    (lambda x: jnp.vecdot(x, jnp.ones(3)), ValueError),
    (lambda x: jnp.convolve(x, x), ValueError),
    (lambda x: jnp.convolve(x[0], x[0], mode="best"), ValueError),
    (lambda x: jnp.linalg.norm(x, 3), ValueError),
    (lambda x: jnp.linalg.norm(x[0], "fro"), ValueError),
    (lambda x: jnp.linalg.matrix_power(x, 2), TypeError),
    (lambda x: jnp.vectorize(jnp.dot, signature="n->n"), ValueError),
    (lambda x: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(x, jnp.ones(3)), ValueError),
    (lambda x: jnp.piecewise(x, [x < 1], [1, 2, 3]), ValueError),
])
def test_refusals(call, error) -> None:
    with pytest.raises(error):
        call(jnp.array(A))


def test_dot_says_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"Did you mean dot\(a, b.T\)"):
        jnp.dot(A, A)


def test_gradients_and_batches() -> None:
    def f(a, b):
        return jnp.sum(jnp.sin(jnp.einsum("ij,jk->ki", a, b))) + jnp.vdot(a @ b, a @ b)

    da, db = xfront.jit(xfront.grad(f, (0, 1)))(A, B)
    inner = np.cos(A @ B) + 2 * A @ B
    np.testing.assert_allclose(da, inner @ B.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(db, A.T @ inner, rtol=1e-4, atol=1e-4)
    made = xfront.jit(xfront.vmap(lambda t: (t @ B, jnp.einsum("ij,ij->i", t, A))))(T)
    agree("vmap", made, (T @ B, np.einsum("bij,ij->bi", T, A)))
