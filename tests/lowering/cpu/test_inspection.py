"""Which forms a program takes, as people read it."""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path

import pytest

import xfront as jax
import xfront.numpy as jnp
from benchmarks import harness
from benchmarks.kernels import sized
from lowering import compat
from lowering.forms import registry
from lowering.forms.conditions import axis, condition, real, size
from lowering.forms.inspection import described, table
from xfront_ir import dtypes, ops
from xfront_ir.core import Op, Value
from xfront_ir.ops import REGISTRY
from xfront_ir.types import tensor


def positions(x):
    return jnp.argmax(x), jnp.argmax(x[:4])


def test_a_form_is_named_with_its_place_and_reason() -> None:
    lowered = jax.jit(positions).lower(jnp.zeros(2 ** 15))
    (taken,) = lowered.forms()                          # the short one takes its plain rule
    assert taken.op.startswith("argmax(f32[32768]) -> ") and taken.form == "reduce.argmax"
    assert taken.location == f"test_inspection.py:{positions.__code__.co_firstlineno + 1} " \
                             "(positions)"
    assert "Axes of 32 or more" in taken.why and "least position" in taken.does
    for part in taken:
        assert part in str(taken)


def test_what_runs_is_shown_and_the_plain_program_without_passes() -> None:
    x = jnp.zeros(2 ** 15)
    traced = jax.jit(positions).trace(x)
    lowered, plain = traced.lower(), traced.lower(passes=())
    text = lowered.as_text("ir")
    assert text.count("call(") == 1 and 'name = "reduce.argmax"' in text
    assert text.count("= argmax(") == 1 and plain.as_text("ir").count("= argmax(") == 2
    for dialect, form in (("ir", "call("), ("stablehlo", "optimization_barrier"),
                          ("hlo", "opt-barrier")):
        assert form in lowered.as_text(dialect) and form not in plain.as_text(dialect)
        assert plain.as_text(dialect, stage="compiled") == lowered.as_text(dialect)
        assert plain.as_text(dialect) == lowered.as_text(dialect, stage="lowered")
    assert str(lowered.compiler_ir()) == lowered.as_text()
    assert str(plain.compiler_ir()) == plain.as_text()
    with pytest.raises(ValueError,
                       match="unknown stage 'optimised'; it must be 'lowered' or 'compiled'"):
        lowered.as_text(stage="optimised")


def test_switched_off_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XFRONT_CPU_FORMS", "0")
    assert jax.jit(positions).lower(jnp.zeros(2 ** 15)).forms() == []


def test_bodies_of_loops_are_looked_into() -> None:
    def f(x):
        return jax.lax.fori_loop(0, 3, lambda i, x: jnp.sort(x) * 2, x)

    (taken,) = jax.jit(f).lower(jnp.zeros(512)).forms()
    assert taken.form.startswith("sort.")


def test_every_form_says_why() -> None:
    for definition in REGISTRY.values():
        registry.forms_of(definition)
    found = [form for forms in registry.FORMS_OF["cpu"].values() for form in forms]
    said = [described(Op(form.definition, (), {}, ()), form) for form in found]
    assert said and not [form.form for form in said if not form.why]


def test_the_table_of_the_documentation_is_theirs(update_golden: bool) -> None:
    path = Path(__file__).parents[3] / "docs" / "cpu.md"
    before, rest = path.read_text().split("<!-- forms -->\n")
    shown, after = rest.split("<!-- /forms -->")
    if update_golden:
        path.write_text(f"{before}<!-- forms -->\n{table()}\n<!-- /forms -->{after}")
    else:
        assert shown == f"{table()}\n", "pytest --update-golden writes the table anew"


WITHOUT_FENCES = {"reduce.extremum_or_flag", "window.extremum_or_flag_in_windows"}
"""Forms of programs without fences, whose row measures another form of the op."""


def takes(form: registry.Form) -> bool:
    """Whether the program that measures a form takes it, at one of its sizes."""
    make, sizes, x64 = sized.PROGRAMS[form.row]
    with jax.enable_x64(True) if x64 else contextlib.nullcontext():
        for n in sizes:
            f, args = make(jax, jnp, *(n if isinstance(n, tuple) else (n,)))
            if form.name in [taken.form for taken in jax.jit(f).lower(*args).forms()]:
                return True
    return False


def test_the_benchmarks_have_the_rows_that_measure_them() -> None:
    for group in harness.KERNELS:
        importlib.import_module(f"benchmarks.{group}")
    found = [form for forms in registry.FORMS_OF["cpu"].values() for form in forms]
    assert found and not [form.name for form in found if form.row not in sized.PROGRAMS]
    assert not [form.name for form in found
                if form.is_on and form.name not in WITHOUT_FENCES and not takes(form)]


def test_conditions_print_and_hold() -> None:
    asked = real & axis(32) & size(2 ** 15)
    assert str(asked) == "real & axis(32) & size(2**15)" and str(size(1000)) == "size(1000)"
    for shape, dtype, holds in (((32, 1024), dtypes.f32, True), ((31, 2000), dtypes.f32, False),
                                ((32, 1023), dtypes.f32, False), ((32, 1024), dtypes.c64, False)):
        op = Op(ops.cumsum, (Value(tensor(shape, dtype)),), {"axis": 0, "reverse": False}, ())
        assert asked(op) == holds
    with pytest.raises(TypeError, match="silent needs a docstring"):
        @condition
        def silent(op: Op) -> bool:
            return True


def test_versions_of_jaxlib_are_part_of_a_form(monkeypatch: pytest.MonkeyPatch) -> None:
    (form,) = registry.forms_of(ops.atan)
    for version, on in (((0, 10, 2), True), ((0, 11, 0), False), ((0, 12, 0), False)):
        monkeypatch.setattr(compat, "VERSION", version)
        assert form.is_on == on
    (form,) = registry.forms_of(ops.while_)
    assert form.is_on and form.condition == "reads_late & jaxlib(>= 0.12)"
