"""What Python may ask of a tracer, under each transformation: a value or the typed error."""

import operator
import threading

import numpy as np
import pytest

import xfront as jax
import xfront.numpy as jnp
from xfront import errors, lax

ASK = {
    "bool": lambda x: bool(x > 0),
    "int": lambda x: int(x),
    "index": lambda x: [10, 20, 30][operator.index(lax.convert_element_type(x, np.int32))],
    "float": float,
    "complex": complex,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "asarray": np.asarray,
}
ANSWERS = {"bool": True, "int": 2, "index": 30}
LOST = {**dict.fromkeys(("float", "complex", "item", "tolist"), errors.ConcretizationTypeError),
        "asarray": errors.TracerArrayConversionError}
UNKNOWN = {"bool": errors.TracerBoolConversionError, "int": errors.ConcretizationTypeError,
           "index": errors.TracerIntegerConversionError, **LOST}


def asking(what, found):
    def f(x):
        found.append(ASK[what](x))
        return x * 3.0
    return f


KNOWN = {"grad": lambda f: jax.grad(f)(2.0), "jvp": lambda f: jax.jvp(f, (2.0,), (1.0,)),
         "vjp": lambda f: jax.vjp(f, 2.0), "linearize": lambda f: jax.linearize(f, 2.0),
         "grad of grad": lambda f: jax.grad(jax.grad(f))(2.0)}
HIDDEN = {"jit": lambda f: jax.jit(f)(2.0), "vmap": lambda f: jax.vmap(f)(jnp.array([2.0])),
          "grad in jit": lambda f: jax.jit(jax.grad(f))(2.0),
          "vmap of grad": lambda f: jax.vmap(jax.grad(f))(jnp.array([2.0])),
          "scan": lambda f: lax.scan(lambda c, x: (f(c), x), 2.0, None, 1)}


@pytest.mark.parametrize("what", ASK)
@pytest.mark.parametrize("how", KNOWN)
def test_where_values_are_known(what, how):
    found = []
    if what in ANSWERS:
        KNOWN[how](asking(what, found))
        assert found == [ANSWERS[what]]
    else:
        with pytest.raises(LOST[what], match="stop_gradient|numpy"):
            KNOWN[how](asking(what, found))


@pytest.mark.parametrize("what", ASK)
@pytest.mark.parametrize("how", HIDDEN)
def test_where_values_are_hidden(what, how):
    with pytest.raises(UNKNOWN[what]):
        HIDDEN[how](asking(what, []))


@pytest.mark.parametrize("ask", [
    lambda x: x.devices(), lambda x: x.addressable_data(0), lambda x: x.tobytes(), np.from_dlpack,
    lambda x: x.delete(), lambda x: x.on_device_size_in_bytes(), lambda x: x.addressable_shards,
    lambda x: x.unsafe_buffer_pointer(), lambda x: x.global_shards,
    lambda x: x.is_fully_addressable, lambda x: x.is_fully_replicated])
def test_what_only_arrays_on_devices_have(ask):
    for how in (jax.jit, jax.grad):
        with pytest.raises(errors.ConcretizationTypeError, match="outside of the traced function"):
            how(lambda x: (ask(x), x)[1])(2.0)


def test_a_traced_array_goes_to_a_device():
    device = jax.devices()[0]
    assert jax.jit(lambda x: x.to_device(device) + 1)(2.0) == 3.0
    assert jax.grad(lambda x: x.to_device(device) ** 2)(2.0) == 4.0
    assert jnp.ones(3).to_device(device).committed


def test_values_that_no_tangent_reaches_are_given():
    found = []

    def f(x):
        found.append((float(lax.stop_gradient(x)), (x > 1).item(), np.asarray(jnp.floor(x) > 0)))
        return x

    jax.grad(f)(2.0)
    assert found == [(2.0, True, True)]


def test_arguments_that_are_not_differentiated_come_as_they_are():
    found = []

    def f(x, n, flag):
        found.append((type(n), flag))
        return x ** n if flag else x

    assert jax.grad(f)(2.0, 3, True) == 12.0
    assert found == [(int, True)]


def test_python_branches_follow_the_value():
    def f(x):
        return x * x if x > 0 else -x
    assert jax.grad(f)(3.0) == 6.0
    assert jax.grad(f)(-3.0) == -1.0


def test_leaks_say_where_the_tracer_was_made():
    held = []

    def keep(x):
        held.append(jnp.sin(x))
        return x

    ways = {"jit": lambda: jax.jit(keep)(1.0), "grad": lambda: jax.grad(keep)(1.0),
            "vmap": lambda: jax.vmap(keep)(jnp.ones(2)),
            "scan": lambda: lax.scan(lambda c, _: (keep(c), None), 1.0, None, 2),
            "cond": lambda: lax.cond(True, keep, lambda x: x, 1.0)}
    for name, run in ways.items():
        held.clear()
        run()
        with pytest.raises(errors.UnexpectedTracerError) as e:
            held[0] + 1.0
        assert "test_questions.py" in str(e.value), name
        assert "keep" in str(e.value), name


def test_a_tracer_of_another_jit_is_refused():
    held = []
    jax.jit(lambda x: held.append(x) or x)(1.0)
    with pytest.raises(errors.UnexpectedTracerError):
        jax.jit(lambda y: y + held[0])(2.0)


def test_a_value_of_another_thread_is_refused_where_it_is_captured() -> None:
    """Its trace is open and less deep than the one that reads it, and still not around it."""
    said: list[Exception] = []

    def elsewhere(x) -> None:
        try:
            jax.jit(lambda a: (a, jax.eval_shape(lambda b: b * x, a))[0])(1.0)
        except errors.UnexpectedTracerError as error:
            said.append(error)

    def f(x):
        thread = threading.Thread(target=elsewhere, args=(x,))
        thread.start()
        thread.join()
        return x

    jax.jit(f)(2.0)
    assert "thread" in str(said[0])
