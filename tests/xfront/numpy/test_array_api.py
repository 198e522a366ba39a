"""The array API standard, 2024.12: its special cases and the parts that no other file holds."""

import math

import numpy as np
import pytest

import xfront as xf
import xfront.numpy as jnp
from tests.samples import array_api as api


@pytest.fixture(autouse=True, scope="module")
def wide():
    with xf.enable_x64():
        yield


def all_at_once(operands: dict) -> dict:
    """Each function of its arrays, all in one program."""
    run = xf.jit(lambda given: {name: getattr(jnp, name)(*xs) for name, xs in given.items()})
    return {name: np.asarray(made) for name, made in run(operands).items()}


def grouped(rows: list) -> dict:
    """The rows of each function."""
    made: dict = {}
    for name, *rest in rows:
        made.setdefault(name, []).append(rest)
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("table", [api.ONE, api.TWO], ids=["one operand", "two operands"])
def test_special_cases_of_real_numbers(table, dtype):
    groups = grouped(api.cases(table))
    operands = {name: tuple(np.array(xs, dtype) for xs in zip(*(o for o, _ in rows), strict=True))
                for name, rows in groups.items()}
    wrong = []
    for name, made in all_at_once(operands).items():
        for given, found, (_, (word,)) in zip(zip(*operands[name], strict=True), made,
                                              groups[name], strict=True):
            named = {"same": given[0], "first": given[0], "second": given[-1]}
            wanted = [float(named[word])] if word in named else api.allowed(word)
            if not api.same(float(found), wanted, 4 * np.finfo(dtype).eps):
                wrong.append(f"{name}{tuple(map(float, given))} is {found}, not {word}")
    assert not wrong, "\n".join(wrong)


def complex_rows() -> list:
    """(function, (a, b), (re, im)) with the values that each part may have."""
    made = []
    for name, (a, b), words in api.cases(api.COMPLEX):
        if words[0].endswith("*cis"):
            size = api.VALUES[words[0][:-4]]
            parts = [[size * math.cos(b)], [size * math.sin(b) if b else b]]
        else:
            parts = [api.allowed(w) for w in words]
        rows = [(a, b, *parts)]
        if name in api.CONJUGATE:
            rows += [(a, -b, re, [-x for x in im]) for a, b, re, im in rows]
        if name in api.ODD:
            rows += [(-a, -b, [-x for x in re], [-x for x in im]) for a, b, re, im in rows]
        if name in api.EVEN:
            rows += [(-a, -b, re, im) for a, b, re, im in rows]
        made += [(name, (a, b), (re, im)) for a, b, re, im in rows]
    for turned, name in api.TURNED.items():         # f(z) = -i g(iz), iz = (-b) + ai
        made += [(turned, (b, -a), (im, [-x for x in re]))
                 for other, (a, b), (re, im) in made if other == name]
    made += [("cos", (b, -a), parts) for other, (a, b), parts in made if other == "cosh"]
    return made


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_special_cases_of_complex_numbers(dtype):
    groups = grouped(complex_rows())
    operands = {}
    for name, rows in groups.items():
        z = np.zeros(len(rows), dtype)
        z.real, z.imag = np.array([o for o, _ in rows]).T
        operands[name] = (z,)
    wrong = []
    for name, made in all_at_once(operands).items():
        for z, found, (_, (re, im)) in zip(operands[name][0], made, groups[name], strict=True):
            eps = 16 * np.finfo(dtype).eps
            if not (api.same(float(found.real), re, eps) and api.same(float(found.imag), im, eps)):
                wrong.append(f"{name}({z.real}, {z.imag}) is ({found.real}, {found.imag}), "
                             f"not {re}, {im}")
    assert not wrong, f"{len(wrong)} cases\n" + "\n".join(wrong)
