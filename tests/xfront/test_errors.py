"""Errors: names, base classes, plain messages."""

from __future__ import annotations

import pickle

import pytest

from xfront import errors

BASES = {
    "ConcretizationTypeError": (TypeError, errors.JAXTypeError),
    "TracerBoolConversionError": (TypeError, errors.ConcretizationTypeError),
    "TracerIntegerConversionError": (TypeError, errors.JAXTypeError),
    "TracerArrayConversionError": (TypeError, errors.JAXTypeError),
    "UnexpectedTracerError": (TypeError, errors.JAXTypeError),
    "KeyReuseError": (TypeError, errors.JAXTypeError),
    "NonConcreteBooleanIndexError": (IndexError, errors.JAXIndexError),
    "JAXTypeError": (TypeError,),
    "JAXIndexError": (IndexError,),
    "JaxprTypeError": (TypeError,),
    "BroadcastError": (TypeError,),
    "IndexBroadcastError": (IndexError,),
    "MatrixShapeError": (TypeError, ValueError),
    "MatrixDtypeError": (NotImplementedError, TypeError),
    "InconclusiveDimensionOperation": (Exception,),
    "JaxRuntimeError": (RuntimeError,),
}


def test_the_public_names() -> None:
    assert sorted(errors.__all__) == sorted(BASES)


@pytest.mark.parametrize("name", BASES)
def test_base_classes_and_plain_messages(name: str) -> None:
    cls = getattr(errors, name)
    assert issubclass(cls, BASES[name])
    assert str(cls("what happened")) == "what happened"


def test_shapes_that_do_not_broadcast_are_errors_of_values_too() -> None:
    assert issubclass(errors.BroadcastError, ValueError)
    assert issubclass(errors.IndexBroadcastError, ValueError)


@pytest.mark.parametrize("name", [name for name in BASES if name != "JaxRuntimeError"])
def test_errors_cross_processes(name: str) -> None:
    again = pickle.loads(pickle.dumps(getattr(errors, name)("said")))
    assert type(again).__name__ == name and str(again) == "said"


def test_a_tracer_in_place_of_a_message_is_described() -> None:
    class Traced:
        def __repr__(self) -> str:
            return "Traced<f32[3]>"

    assert "Traced<f32[3]>" in str(errors.TracerBoolConversionError(Traced()))
    text = str(errors.ConcretizationTypeError(Traced(), "as an axis"))
    assert "Traced<f32[3]>" in text and text.endswith("as an axis")
