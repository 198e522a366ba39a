"""Which forms a program takes, as people read it."""

from __future__ import annotations

import pytest

import xfront as jax
import xfront.numpy as jnp
from lowering.cpu import registry


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
    assert "reduce(" in lowered.as_text() and lowered.as_text() == jax.jit(positions).lower(
        jnp.zeros(2 ** 15)).as_text()


def test_what_is_compiled_can_be_printed() -> None:
    lowered = jax.jit(positions).lower(jnp.zeros(2 ** 15))
    text = lowered.as_text("ir", stage="compiled")
    assert text.count("call(") == 1 and 'name = "reduce.argmax"' in text
    assert text.count("= argmax(") == 1 and lowered.as_text("ir").count("= argmax(") == 2
    assert "call(" not in lowered.as_text("ir", stage="lowered")
    assert "optimization_barrier" in lowered.as_text(stage="compiled")
    assert lowered.as_text("hlo", stage="compiled") != lowered.as_text("hlo")
    with pytest.raises(ValueError, match="unknown stage 'optimised'; one of lowered, compiled"):
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
    from lowering.cpu.inspection import described
    from xfront_ir.core import Op
    from xfront_ir.ops import REGISTRY

    for definition in REGISTRY.values():
        registry.forms_of(definition)
    found = [form for forms in registry.FORMS.values() for form in forms]
    said = [described(Op(form.definition, (), {}, ()), form) for form in found]
    assert said and not [form.form for form in said if not form.why]
