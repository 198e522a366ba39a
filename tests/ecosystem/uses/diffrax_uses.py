"""Uses of diffrax: solvers, adjoints, events, controllers, stochastic equations. Each function
gives a tree of arrays and numbers, the same with JAX as here."""

from __future__ import annotations

import diffrax as dx
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import optimistix as ox
from jax import random

KEY = random.PRNGKey(0)
PRECISE = dx.PIDController(rtol=1e-5, atol=1e-6)


def decay(t, y, k):
    return -k * y


def pendulum(t, y, _):
    return jnp.stack([y[1], -jnp.sin(y[0])])


def spring(t, y, _):
    return jnp.stack([y[1], -y[0]])


def oscillator(t, y, mu):
    return jnp.stack([y[1], mu * (1 - y[0]**2) * y[1] - y[0]])


def solve(f, solver, y0, t1=1.0, dt=0.05, args=None, **options):
    terms = f if isinstance(f, (dx.AbstractTerm, tuple)) else dx.ODETerm(f)
    return dx.diffeqsolve(terms, solver, 0.0, t1, dt, y0, args=args, **options)


START = jnp.array([1.0, 0.5])


# --- solvers --------------------------------------------------------------------------------------

def explicit_solvers():
    solvers = (dx.Euler, dx.Heun, dx.Midpoint, dx.Ralston, dx.Bosh3, dx.Tsit5, dx.Dopri5, dx.Dopri8)
    return [solve(pendulum, s(), START, dt=0.1).ys for s in solvers]


def implicit_solvers():
    solvers = (dx.ImplicitEuler, dx.Kvaerno3, dx.Kvaerno4, dx.Kvaerno5)
    return [solve(oscillator, s(), START, args=3.0, stepsize_controller=dx.PIDController(
        rtol=1e-3, atol=1e-4)).ys for s in solvers[1:]], solve(
            decay, solvers[0](root_finder=dx.VeryChord(1e-5, 1e-6)), START, args=1.0).ys


def a_stiff_oscillator():
    found = solve(oscillator, dx.Kvaerno5(), jnp.array([2.0, 0.0]), t1=30.0, dt=1e-3, args=20.0,
                  stepsize_controller=PRECISE)
    return found.ys


def implicit_and_explicit_parts():
    stiff = dx.ODETerm(lambda t, y, _: -50 * y)
    mild = dx.ODETerm(lambda t, y, _: jnp.cos(t) + 0 * y)
    return [solve(dx.MultiTerm(mild, stiff), s(), jnp.array([1.0]), stepsize_controller=PRECISE).ys
            for s in (dx.KenCarp3, dx.KenCarp4, dx.KenCarp5, dx.Sil3)]


def symplectic_and_reversible_solvers():
    terms = (dx.ODETerm(lambda t, p, _: p), dx.ODETerm(lambda t, q, _: -q))
    split = solve(terms, dx.SemiImplicitEuler(), (jnp.array(1.0), jnp.array(0.0)), t1=3.0)
    return (split.ys, solve(spring, dx.LeapfrogMidpoint(), START, t1=3.0).ys,
            solve(spring, dx.ReversibleHeun(), START, t1=3.0).ys)


def a_tree_as_state():
    f = lambda t, y, _: {"x": y["v"], "v": jax.tree.map(jnp.negative, y["x"])}
    y0 = {"x": (jnp.array(1.0), jnp.ones(2)), "v": (jnp.array(0.0), jnp.zeros(2))}
    return solve(f, dx.Tsit5(), y0, t1=2.0).ys


def backward_in_time():
    return dx.diffeqsolve(dx.ODETerm(decay), dx.Tsit5(), 1.0, 0.0, -0.1, jnp.array(0.5),
                          args=0.7).ys


def many_starts_at_once():
    starts = random.normal(KEY, (5, 2))
    one = lambda y0: solve(pendulum, dx.Tsit5(), y0, t1=2.0, stepsize_controller=PRECISE)
    found = jax.jit(jax.vmap(one))(starts)
    return found.ys, found.stats["num_accepted_steps"]


def steps_by_hand():
    term, solver = dx.ODETerm(decay), dx.Tsit5()
    state, t, y, ys = solver.init(term, 0.0, 0.1, jnp.array(1.0), 2.0), 0.0, jnp.array(1.0), []
    for _ in range(5):
        y, error, _, state, _ = solver.step(term, t, t + 0.1, y, 2.0, state, made_jump=False)
        t += 0.1
        ys.append(y)
    return ys


def a_wrapped_solver():
    return solve(pendulum, dx.HalfSolver(dx.Heun()), START, t1=2.0,
                 stepsize_controller=dx.PIDController(rtol=1e-4, atol=1e-4)).ys


# --- what is saved --------------------------------------------------------------------------------

def saved_at_times():
    at = dx.SaveAt(t0=True, ts=jnp.linspace(0.1, 1.9, 5), t1=True)
    found = solve(pendulum, dx.Dopri5(), START, t1=2.0, saveat=at, stepsize_controller=PRECISE)
    return found.ts, found.ys


def dense_output():
    found = solve(pendulum, dx.Tsit5(), START, t1=2.0, dt=0.25, saveat=dx.SaveAt(dense=True))
    return [(found.evaluate(t), found.derivative(t)) for t in (0.1, 0.77, 1.9)], found.evaluate(
        0.5, 1.5)


def saved_by_a_function_and_at_steps():
    at = dx.SaveAt(subs=[dx.SubSaveAt(ts=jnp.array([0.5, 1.0]), fn=lambda t, y, _: y.sum() + t),
                         dx.SubSaveAt(steps=True)])
    found = solve(pendulum, dx.Heun(), START, dt=0.25, saveat=at, max_steps=8)
    return found.ys[0], found.ys[1], found.stats["num_steps"]


# --- adjoints -------------------------------------------------------------------------------------

def slope(adjoint, solver=None, **options):
    def total(k, y0):
        return solve(oscillator, solver or dx.Tsit5(), y0, t1=2.0, args=k, adjoint=adjoint,
                     **options).ys.sum()

    return jax.grad(total, argnums=(0, 1))(jnp.array(0.8), START)


def adjoint_with_checkpoints():
    return (slope(dx.RecursiveCheckpointAdjoint(), stepsize_controller=PRECISE),
            slope(dx.RecursiveCheckpointAdjoint(checkpoints=3)))


def adjoint_of_operations():
    return slope(dx.DirectAdjoint(), max_steps=64)


def adjoint_backward_in_time():
    return slope(dx.BacksolveAdjoint(), stepsize_controller=PRECISE)


def forward_mode():
    f = lambda k: solve(oscillator, dx.Tsit5(), START, t1=2.0, args=k,
                        adjoint=dx.ForwardMode()).ys
    return jax.jvp(f, (jnp.array(0.8),), (jnp.array(1.0),)), jax.jacfwd(f)(jnp.array(0.8))


def adjoint_of_a_steady_state():
    def rest(k):
        f = lambda t, y, k: k - y**3
        event = dx.Event(dx.steady_state_event(rtol=1e-3, atol=1e-5))
        return solve(f, dx.Tsit5(), jnp.array(1.0), t1=jnp.inf, dt=0.1, args=k, event=event,
                     adjoint=dx.ImplicitAdjoint(), max_steps=None,
                     stepsize_controller=PRECISE).ys[0]

    return rest(jnp.array(2.0)), jax.grad(rest)(jnp.array(2.0))


def a_neural_equation_learns():
    class Field(eqx.Module):
        net: eqx.nn.MLP

        def __call__(self, t, y, _):
            return self.net(y)

    ts = jnp.linspace(0.0, 1.0, 5)
    target = solve(spring, dx.Tsit5(), START, saveat=dx.SaveAt(ts=ts)).ys
    model = Field(eqx.nn.MLP(2, 2, 8, 1, activation=jnp.tanh, key=KEY))
    optimiser = optax.adam(1e-2)
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state):
        def distance(model):
            found = solve(model, dx.Tsit5(), START, dt=0.1, saveat=dx.SaveAt(ts=ts))
            return jnp.mean((found.ys - target)**2)

        value, grads = eqx.filter_value_and_grad(distance)(model)
        updates, state = optimiser.update(grads, state)
        return eqx.apply_updates(model, updates), state, value

    values = []
    for _ in range(5):
        model, state, value = step(model, state)
        values.append(value)
    return values


# --- events ---------------------------------------------------------------------------------------

def fall(t, y, _):
    return jnp.stack([y[1], jnp.array(-9.81)])


def an_event_by_a_condition():
    event = dx.Event(lambda t, y, args, **_: y[0] < 0)
    found = solve(fall, dx.Tsit5(), jnp.array([2.0, 0.0]), t1=5.0, event=event)
    return found.ts, found.ys, found.event_mask


def an_event_at_a_root():
    event = dx.Event(lambda t, y, args, **_: y[0], ox.Newton(1e-5, 1e-5, ox.rms_norm))
    when = lambda v: solve(fall, dx.Tsit5(), jnp.stack([jnp.array(2.0), v]), t1=5.0, event=event,
                           stepsize_controller=PRECISE).ts[0]
    return when(jnp.array(1.0)), jax.grad(when)(jnp.array(1.0))


def the_first_of_several_events():
    conditions = {"low": lambda t, y, args, **_: y[0] + 0.5, "slow": lambda t, y, args, **_: y[1]}
    event = dx.Event(conditions, ox.Newton(1e-5, 1e-5, ox.rms_norm))
    found = solve(spring, dx.Tsit5(), START, t1=5.0, event=event, stepsize_controller=PRECISE)
    return found.ts, found.ys, found.event_mask


# --- controllers ----------------------------------------------------------------------------------

def steps_that_are_given():
    ts = jnp.array([0.0, 0.1, 0.4, 1.0])
    found = dx.diffeqsolve(dx.ODETerm(pendulum), dx.Heun(), 0.0, 1.0, None, START,
                           stepsize_controller=dx.StepTo(ts), saveat=dx.SaveAt(steps=True),
                           max_steps=4)
    return found.ts, found.ys


def coefficients_and_jumps():
    switched = lambda t, y, _: jnp.where(t < 0.5, -y, 3 * y)
    pid = dx.PIDController(rtol=1e-4, atol=1e-6, pcoeff=0.3, icoeff=0.4, dcoeff=0.1, dtmax=0.3)
    clipped = dx.ClipStepSizeController(pid, step_ts=[0.25], jump_ts=[0.5])
    found = solve(switched, dx.Dopri5(), jnp.array(1.0), stepsize_controller=clipped,
                  saveat=dx.SaveAt(steps=True), max_steps=32)
    return found.ys, found.stats["num_accepted_steps"], found.stats["num_rejected_steps"]


def too_many_steps():
    found = solve(pendulum, dx.Tsit5(), START, t1=10.0, dt=0.1, max_steps=5, throw=False)
    try:
        solve(pendulum, dx.Tsit5(), START, t1=10.0, dt=0.1, max_steps=5).ys.block_until_ready()
    except Exception:
        return found.result == dx.RESULTS.max_steps_reached, True
    return found.result == dx.RESULTS.max_steps_reached, False


# --- stochastic and controlled equations ----------------------------------------------------------

def noisy(solver, area=dx.BrownianIncrement, shape=(), **options):
    path = dx.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=shape, levy_area=area, key=KEY)
    terms = dx.MultiTerm(dx.ODETerm(lambda t, y, _: -y),
                         dx.ControlTerm(lambda t, y, _: 0.3 * y, path))
    return solve(terms, solver, jnp.array(1.0), **options).ys


def stochastic_solvers():
    return [noisy(s()) for s in (dx.Euler, dx.EulerHeun, dx.Heun, dx.ItoMilstein,
                                 dx.StratonovichMilstein)]


def stochastic_solvers_of_high_order():
    return [noisy(s(), dx.SpaceTimeLevyArea) for s in (dx.SPaRK, dx.GeneralShARK)]


def stochastic_steps_that_adapt():
    return noisy(dx.SPaRK(), dx.SpaceTimeLevyArea, stepsize_controller=dx.PIDController(
        rtol=1e-2, atol=1e-2, dtmin=1e-2))


def brownian_paths():
    tree = dx.VirtualBrownianTree(0.0, 2.0, tol=1e-3, shape=(3,), key=KEY)
    quick = dx.UnsafeBrownianPath((3,), KEY)
    return tree.evaluate(0.3, 1.7), tree.evaluate(1.1), quick.evaluate(0.3, 1.7)


def langevin():
    path = dx.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(2,), levy_area=dx.SpaceTimeLevyArea,
                                  key=KEY)
    drift = dx.UnderdampedLangevinDriftTerm(1.0, 0.5, lambda x, _: x)
    terms = dx.MultiTerm(drift, dx.UnderdampedLangevinDiffusionTerm(1.0, 0.5, path))
    return solve(terms, dx.ALIGN(0.1), (jnp.ones(2), jnp.zeros(2))).ys


def slope_of_a_stochastic_equation():
    def end(s):
        path = dx.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(), key=KEY)
        terms = dx.MultiTerm(dx.ODETerm(lambda t, y, s: -y),
                             dx.ControlTerm(lambda t, y, s: s * y, path))
        return solve(terms, dx.Heun(), jnp.array(1.0), dt=0.1, args=s).ys[0]

    return jax.value_and_grad(end)(jnp.array(0.3))


def an_equation_driven_by_data():
    ts = jnp.linspace(0.0, 1.0, 6)
    data = jnp.stack([ts, jnp.sin(5 * ts)], 1)
    cubic = dx.CubicInterpolation(ts, dx.backward_hermite_coefficients(ts, data))
    linear = dx.LinearInterpolation(ts, data)
    f = lambda t, y, _: jnp.stack([jnp.tanh(y), jnp.cos(y)], -1)
    return [solve(dx.ControlTerm(f, path).to_ode(), dx.Tsit5(), START).ys
            for path in (cubic, linear)], cubic.derivative(0.37), linear.evaluate(0.2, 0.5)
