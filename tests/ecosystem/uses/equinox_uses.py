"""Uses of equinox: layers, filtered transformations, stateful modules, serialisation. Each function
gives a tree of arrays and numbers, the same with JAX as here."""

from __future__ import annotations

import io
import json

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import optax
from jax import random

KEY = random.PRNGKey(0)
X = random.normal(random.PRNGKey(1), (6, 4))


def loss(model, x):
    return jnp.mean(jax.vmap(model)(x)**2)


def mlp(key=KEY, **options):
    return eqx.nn.MLP(4, 3, 8, 2, key=key, **options)


# --- layers ---------------------------------------------------------------------------------------

def linear():
    layer = eqx.nn.Linear(4, 3, key=KEY)
    bare = eqx.nn.Linear(4, "scalar", use_bias=False, key=KEY)
    return layer.weight, jax.vmap(layer)(X), jax.vmap(bare)(X)


def multilayer_perceptron():
    model = mlp(activation=jnp.tanh, final_activation=jax.nn.sigmoid)
    return loss(model, X), eqx.filter_jit(eqx.filter_vmap(model))(X)


def convolutions_and_pools():
    image = random.normal(KEY, (3, 8, 8))
    conv = eqx.nn.Conv2d(3, 4, 3, stride=2, padding="SAME", key=KEY)
    grouped = eqx.nn.Conv2d(3, 6, 3, groups=3, dilation=2, padding_mode="CIRCULAR", padding=2,
                            key=KEY)
    return (conv(image), grouped(image), eqx.nn.MaxPool2d(2, 2)(image),
            eqx.nn.AvgPool2d(3, 2, padding=1)(image), eqx.nn.AdaptiveAvgPool2d((3, 5))(image))


def transposed_convolution():
    layer = eqx.nn.ConvTranspose1d(2, 3, 4, stride=2, padding=1, output_padding=1, key=KEY)
    return layer(random.normal(KEY, (2, 7))), layer.weight.shape


def long_short_term_memory():
    cell = eqx.nn.LSTMCell(4, 5, key=KEY)

    @eqx.filter_grad
    def slope(cell):
        step = lambda carry, x: (cell(x, carry), None)
        (h, _), _ = jax.lax.scan(step, (jnp.zeros(5), jnp.zeros(5)), X)
        return jnp.sum(h**2)

    grads = slope(cell)
    return grads.weight_ih, grads.bias


def gated_recurrent_unit():
    cell = eqx.nn.GRUCell(4, 5, key=KEY)
    return jax.lax.scan(lambda h, x: (cell(x, h),) * 2, jnp.zeros(5), X)[1]


def attention_with_a_mask():
    layer = eqx.nn.MultiheadAttention(2, 4, output_size=6, key=KEY)
    mask = jnp.tril(jnp.ones((6, 6), bool))
    return layer(X, X, X, mask=mask), layer(X[:2], X, X)


def norms():
    x = random.normal(KEY, (4, 5)) * 3 + 1
    return (eqx.nn.LayerNorm((4, 5))(x), eqx.nn.GroupNorm(2, 4)(x), eqx.nn.RMSNorm((4, 5))(x),
            jax.grad(lambda x: eqx.nn.LayerNorm((4, 5), use_bias=False)(x)[0, 0])(x))


def embeddings():
    layer = eqx.nn.Embedding(10, 4, key=KEY)
    turned = eqx.nn.RotaryPositionalEmbedding(4)(X)
    rows = jax.vmap(layer)(jnp.array([1, 3, 3]))
    grads = eqx.filter_grad(lambda m: jnp.sum(jax.vmap(m)(jnp.array([1, 3, 3]))**2))(layer)
    return turned, rows, grads.weight


def layers_in_sequence():
    model = eqx.nn.Sequential([eqx.nn.Linear(4, 8, key=KEY), eqx.nn.Lambda(jax.nn.gelu),
                               eqx.nn.Identity(), eqx.nn.Dropout(0.5, inference=True),
                               eqx.nn.Linear(8, 2, key=KEY)])
    return jax.vmap(model)(X), model[0].bias, len(model), eqx.nn.PReLU(0.3)(X)


def a_shared_layer():
    class Tied(eqx.Module):
        shared: eqx.nn.Shared

        def __init__(self, key):
            embed = eqx.nn.Embedding(5, 4, key=key)
            out = eqx.nn.Linear(4, 5, use_bias=False, key=key)
            self.shared = eqx.nn.Shared((embed, out), lambda m: m[1].weight, lambda m: m[0].weight)

        def __call__(self, i):
            embed, out = self.shared()
            return out(embed(i))

    model = Tied(KEY)
    grads = eqx.filter_grad(lambda m: jnp.sum(m(2)**2))(model)
    return model(2), jax.tree.leaves(grads)


def dropout():
    layer = eqx.nn.Dropout(0.4)
    still = eqx.nn.inference_mode(layer)
    return layer(X, key=KEY), still(X), eqx.nn.Dropout(0.9, inference=True)(X)


# --- filtered transformations ---------------------------------------------------------------------

def a_training_run():
    model, optimiser = mlp(), optax.adamw(1e-2)
    state = optimiser.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit(donate="all-except-first")
    def step(x, model, state):
        value, grads = eqx.filter_value_and_grad(loss)(model, x)
        updates, state = optimiser.update(grads, state, eqx.filter(model, eqx.is_inexact_array))
        return eqx.apply_updates(model, updates), state, value

    values = []
    for _ in range(10):
        model, state, value = step(X, model, state)
        values.append(value)
    return values


def a_frozen_layer():
    model = mlp()
    spec = jax.tree.map(lambda _: False, model)
    spec = eqx.tree_at(lambda m: (m.layers[-1].weight, m.layers[-1].bias), spec, (True, True))
    moving, still = eqx.partition(model, spec)
    grads = eqx.filter_grad(lambda moving: loss(eqx.combine(moving, still), X))(moving)
    return jax.tree.leaves(grads)


def an_ensemble():
    models = eqx.filter_vmap(mlp)(random.split(KEY, 3))
    each = eqx.filter_vmap(lambda m, x: jax.vmap(m)(x), in_axes=(eqx.if_array(0), None))
    values, grads = eqx.filter_vmap(eqx.filter_value_and_grad(loss),
                                    in_axes=(eqx.if_array(0), None))(models, X)
    return each(models, X), values, grads.layers[0].bias


def forward_and_reverse():
    model = mlp()
    tangent = eqx.filter(jax.tree.map(lambda x: x if eqx.is_array(x) else None, model),
                         eqx.is_inexact_array)
    out, slope = eqx.filter_jvp(lambda m: loss(m, X), (model,), (tangent,))
    value, pull = eqx.filter_vjp(lambda m: loss(m, X), model)
    return out, slope, value, pull(jnp.array(2.0))[0].layers[1].bias


def jacobians():
    model = mlp()
    return (eqx.filter_jacfwd(model)(X[0]), eqx.filter_jacrev(model)(X[0]),
            eqx.filter_hessian(lambda x: jnp.sum(model(x)**2))(X[0]))


def a_custom_rule():
    @eqx.filter_custom_vjp
    def clipped(x, factor):
        return x * factor

    @clipped.def_fwd
    def forward(perturbed, x, factor):
        return x * factor, x

    @clipped.def_bwd
    def backward(residual, grad, perturbed, x, factor):
        return jnp.clip(grad * factor, -1.0, 1.0) + 0 * residual

    @eqx.filter_custom_jvp
    def doubled(x, *, name):
        return 2 * x

    @doubled.def_jvp
    def rule(primals, tangents, *, name):
        return 2 * primals[0], 5 * tangents[0]

    return (jax.grad(lambda x: jnp.sum(clipped(x, 3.0) * jnp.arange(4.0)))(X[0]),
            jax.grad(lambda x: doubled(x, name="x").sum())(X[0]))


def checkpoints_and_converted_closures():
    model = mlp()
    again = eqx.filter_checkpoint(model)
    converted = eqx.filter_closure_convert(lambda x: model(x) * 2, X[0])
    return jax.grad(lambda x: again(x).sum())(X[0]), converted(X[1])


def shapes_and_jaxprs():
    shape = eqx.filter_eval_shape(jax.vmap(mlp()), X)
    closed, out, _ = eqx.filter_make_jaxpr(lambda x, f: f(x) + 1)(X, jnp.sin)
    names = sorted({eqn.primitive.name for eqn in closed.jaxpr.eqns})
    return shape.shape, [name in names for name in ("sin", "add")], out.shape


def a_callback():
    import numpy as np

    def host(x, power):
        return np.asarray(x)**power

    call = lambda x: eqx.filter_pure_callback(host, x, 3, result_shape_dtypes=x)
    return eqx.filter_jit(call)(X)


def errors_at_run_time():
    def checked(x):
        return eqx.error_if(x, x < 0, "negative") * 2

    right = eqx.filter_jit(checked)(jnp.array(1.0))
    try:
        eqx.filter_jit(checked)(jnp.array(-1.0)).block_until_ready()
    except Exception as error:
        return right, "negative" in str(error)
    return right, False


# --- modules --------------------------------------------------------------------------------------

def a_module_of_ones_own():
    class Scaled(eqx.Module):
        scale: jax.Array = eqx.field(converter=jnp.asarray)
        power: int = eqx.field(static=True, default=2)

        def __check_init__(self):
            if self.power < 1:
                raise ValueError("power")

        @jax.jit
        def __call__(self, x):
            return self.scale * x**self.power

    made = Scaled(2.0)
    try:
        Scaled(2.0, 0)
    except ValueError:
        refused = True
    grads = jax.grad(lambda m: m(jnp.array(3.0)))(made)
    return made(X), grads.scale, refused, len(jax.tree.leaves(made))


def surgery():
    model = mlp()
    other = eqx.tree_at(lambda m: m.layers[0].weight, model, replace_fn=lambda w: w * 0)
    new = eqx.tree_at(lambda m: m.layers[1], model, eqx.nn.Identity())
    return (jax.vmap(other)(X), jax.vmap(new)(X), bool(eqx.tree_equal(model, mlp())),
            bool(eqx.tree_equal(model, other)))


# --- state ----------------------------------------------------------------------------------------

def batch_norm_in_training_and_after():
    results = []
    for mode in ("ema", "batch"):
        norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(4, "batch", mode=mode)
        over = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
        for i in range(3):
            out, state = eqx.filter_jit(over)(X * (i + 1), state)
        still = eqx.nn.inference_mode(norm)
        results.append((out, jax.vmap(lambda x, n=still, s=state: n(x, s)[0])(X)))
    return results


def spectral_norm():
    made = eqx.nn.make_with_state(lambda key: eqx.nn.SpectralNorm(
        eqx.nn.Linear(4, 3, key=key), "weight", key=key))
    layer, state = made(KEY)
    for x in X:
        out, state = eqx.filter_jit(layer)(x, state)
    return out


def a_counter_in_a_state():
    class Counter(eqx.Module):
        index: eqx.nn.StateIndex

        def __init__(self):
            self.index = eqx.nn.StateIndex(jnp.array(0))

        def __call__(self, x, state):
            count = state.get(self.index) + 1
            return x * count, state.set(self.index, count)

    model, state = eqx.nn.make_with_state(lambda: [Counter(), Counter()])()
    for _ in range(3):
        x, state = model[0](X, state)
    part = state.substate(model[1])
    _, part = model[1](X, part)
    state = state.update(part)
    return x, [state.get(m.index) for m in model]


# --- files ----------------------------------------------------------------------------------------

def a_model_with_its_hyperparameters_in_a_file():
    file, sizes = io.BytesIO(), {"in_size": 4, "out_size": 3, "width_size": 8, "depth": 2}
    file.write((json.dumps(sizes) + "\n").encode())
    eqx.tree_serialise_leaves(file, mlp())
    file.seek(0)
    read = json.loads(file.readline().decode())
    skeleton = eqx.filter_eval_shape(lambda: eqx.nn.MLP(**read, key=random.PRNGKey(7)))
    back = eqx.tree_deserialise_leaves(file, skeleton)
    return jax.vmap(back)(X), len(file.getvalue())


def a_stateful_model_in_a_file():
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(4, "batch", mode="ema")
    over = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    _, state = over(X, state)
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, (norm, state))
    file.seek(0)
    like = eqx.nn.make_with_state(eqx.nn.BatchNorm)(4, "batch", mode="ema")
    back, kept = eqx.tree_deserialise_leaves(file, like)
    return jax.vmap(lambda x: eqx.nn.inference_mode(back)(x, kept)[0])(X)


# --- loops ----------------------------------------------------------------------------------------

def functions_kept_out_of_programs():
    """`noinline` calls the function from the program; one program serves all such functions."""
    wave = eqxi.noinline(lambda x: jnp.sin(x) * 2)
    value, slope = jax.jit(jax.value_and_grad(lambda x: (wave(x)**2).sum()))(X)
    return (jax.vmap(wave)(X), value, slope, jax.jvp(wave, (X,), (X,)),
            jax.vmap(jax.grad(lambda x: wave(x).sum()))(X))


def loops_with_checkpoints():
    def slope(kind):
        def total(x):
            out = eqxi.while_loop(lambda c: c[0] < 7, lambda c: (c[0] + 1, jnp.sin(c[1]) * 1.1),
                                  (0, x), max_steps=16, kind=kind)
            return jnp.sum(out[1])
        return jax.grad(total)(X[0])

    scanned = eqxi.scan(lambda c, x: (c * x.sum(), c), jnp.array(1.0), X, kind="checkpointed",
                        checkpoints=2)
    return slope("checkpointed"), slope("bounded"), scanned
