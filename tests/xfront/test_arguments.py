"""No argument is accepted and ignored.

Three nets: every parameter of every function in `xfront/` is read by its body, or is a permission
that its docstring owns up to; nonsense given for an optional parameter of any public function is
refused while tracing; and what is supported with one value alone refuses others by name.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xfront
import xfront as jax
import xfront.numpy as jnp
from tests.xfront.samples_of_calls import CALLS, LEFT_OUT, SAMPLES
from xfront import lax
from xfront.values.arguments import at_home, only

ROOT = Path(xfront.__file__).parent

# --- every parameter is read ----------------------------------------------------------------

PERMISSIONS: dict[str, tuple[str, ...]] = {
    "experimental/mesh_utils.py create_device_mesh": ["allow_split_physical_axes"],
    "interpreters/mlir.py emit_python_callback": ("returns_token",),
    "interpreters/mlir.py register_lowering": ("cacheable",),
    "lax/control_flow.py scan": ("_split_transpose",),
    "lax/factorizations.py eigh": ("sort_eigenvalues",),
    "lax/reductions.py approx_max_k": ("reduction_input_size_override",),
    "composed/matrix_functions.py qdwh": ("is_hermitian",),
    "numpy/counting.py histogram_bin_edges": ("weights",),
    "numpy/manipulation.py reshape": ("copy",),
    "numpy/sets.py unique": ("sorted",),
    "numpy/sets.py isin": ("assume_unique",),
    "numpy/sets.py intersect1d": ("assume_unique",),
    "numpy/sets.py setxor1d": ("assume_unique",),
    "scipy/linalg.py cholesky": ("overwrite_a", "check_finite"),
    "scipy/linalg.py cho_factor": ("overwrite_a", "check_finite"),
    "scipy/linalg.py cho_solve": ("overwrite_b", "check_finite"),
    "scipy/linalg.py solve_triangular": ("overwrite_b", "check_finite"),
    "scipy/linalg.py solve": ("overwrite_a", "overwrite_b", "check_finite"),
    "scipy/linalg.py inv": ("overwrite_a", "check_finite"),
    "scipy/linalg.py det": ("overwrite_a", "check_finite"),
    "scipy/linalg.py lu_factor": ("overwrite_a", "check_finite"),
    "scipy/linalg.py lu_solve": ("overwrite_b", "check_finite"),
    "scipy/linalg.py lu": ("overwrite_a", "check_finite"),
    "scipy/linalg.py qr": ("overwrite_a", "lwork", "check_finite"),
    "scipy/linalg.py svd": ("overwrite_a", "check_finite"),
    "scipy/linalg.py eigh": ("overwrite_a", "overwrite_b", "turbo", "check_finite"),
    "scipy/cluster/vq.py vq": ("check_finite",),
    "scipy/signal/spectra.py detrend": ("overwrite_data",),
    "scipy/matrix_functions.py rsf2csf": ("check_finite",),
    "scipy/matrix_functions.py hessenberg": ("overwrite_a", "check_finite"),
    "scipy/matrix_functions.py eigh_tridiagonal": ("key", "tol"),
    "scipy/matrix_functions.py qr_multiply": ("overwrite_a", "overwrite_c"),
    "transforms/custom_vjp.py defvjp": ("optimize_remat",),
}
"""What a caller allows or promises, and no result depends on: the docstring says so."""

OF_A_PROTOCOL = {
    "values/high.py str_short", "experimental/hijax.py _lin_by_jvp",
    "experimental/hijax.py is_effectful", "experimental/hijax.py is_high",
    "transforms/high.py _to_elt",
    "base/config.py _any", "binding/beside.py create_module", "binding/beside.py exec_module",
    "binding/beside.py find_spec", "binding/default_client.py _accept",
    "binding/pjit.py _shard_arg", "binding/single_device.py _is_equivalent",
    "binding/single_device.py _replicate", "binding/single_device.py _shard_shape",
    "custom_batching.py rule", "dropin/finder.py create_module", "dropin/finder.py exec_module",
    "dropin/finder.py find_spec", "example_libraries/stax.py _flat_shape",
    "example_libraries/stax.py _shaped", "example_libraries/stax.py apply_fun",
    "example_libraries/stax.py init_fun", "jaxpr/own.py give", "lax/gathering.py _emit_scatter",
    "methods/of_arrays.py _array_namespace", "methods/of_arrays.py _deepcopy",
    "methods/of_arrays.py _flat", "methods/of_arrays.py get", "nn/initializers.py init",
    "nn/initializers.py ones", "nn/initializers.py zeros", "running/pacing.py _called",
    "running/programs.py __init__", "scipy/linalg.py _columns",
    "transforms/autodiff.py differentiable", "transforms/float0.py _children",
    "transforms/float0.py _shown",
}
"""Functions whose parameters are given by whoever calls them, no user: parsers, hooks, families."""


def loaded(function: ast.FunctionDef) -> set[str]:
    """Names that a body reads; `del x` and `_ = x` are no reading."""
    found = set()
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and all(
                    isinstance(t, ast.Name) and t.id == "_" for t in node.targets):
                thrown_away = {n for n in ast.walk(node.value) if isinstance(n, ast.Name)}
                for name in thrown_away:
                    name.id = "_"
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
    return found


def refuses_everything(function: ast.FunctionDef) -> bool:
    """Whether a body raises at once, or is none (of a protocol or an overload)."""
    body = [s for s in function.body if not (isinstance(s, ast.Expr)
                                             and isinstance(s.value, ast.Constant))]
    return not body or isinstance(body[0], ast.Raise)


def unread(source: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Parameters that nothing reads."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef) or refuses_everything(node):
            continue
        if node.name.startswith("__") and node.name not in ("__init__", "__call__", "__new__"):
            continue                               # Python's own protocols
        a = node.args
        given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        read = loaded(node)
        for name in [p.arg for p in given]:
            if name not in read and name not in ("self", "cls") and set(name) != {"_"}:
                yield node, name


def test_every_parameter_is_read() -> None:
    ignored = []
    permitted: dict[str, list[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        for function, name in unread(path.read_text()):
            place = f"{path.relative_to(ROOT).as_posix()} {function.name}"
            if name in PERMISSIONS.get(place, ()):
                permitted.setdefault(place, []).append(name)
                assert f"`{name}`" in (doc := ast.get_docstring(function) or "") or (
                    f"{name}:" in doc), f"{place}: the docstring does not speak of {name}"
            elif place not in OF_A_PROTOCOL:
                ignored.append(f"{place}({name})")
    assert ignored == []
    assert {k: sorted(v) for k, v in permitted.items()} == {
        k: sorted(v) for k, v in PERMISSIONS.items()}, "these are read: no permissions any more"


@pytest.mark.parametrize(("body", "wanted"), [
    ("return x", ["y"]), ("del y; return x", ["y"]), ("_ = y; return x", ["y"]),
    ("_ = (x, y)", ["x", "y"]), ("return lambda: x + y", []), ("raise TypeError(y)", []),
    ("y = 1; return x", ["y"]),
])
def test_what_counts_as_reading(body: str, wanted: list[str]) -> None:
    assert [name for _, name in unread(f"def f(x, y=None):\n    {body}")] == wanted


# --- nonsense is refused --------------------------------------------------------------------

class Nonsense:
    """No axis, dtype, shape, name, array, device or function."""

    def __repr__(self) -> str:
        return "<nonsense>"


SPACES = ("", ".numpy", ".numpy.linalg", ".numpy.fft", ".lax", ".lax.linalg", ".nn",
          ".nn.initializers", ".random", ".scipy.special", ".scipy.stats",
          ".scipy.linalg", ".tree_util", ".tree",
          ".debug", ".experimental", ".custom_batching", ".ad_checkpoint", ".dtypes",
          ".flatten_util", ".image", ".ops", ".scipy.sparse.linalg", ".scipy.fft",
          ".scipy.ndimage", ".scipy.integrate", ".scipy.cluster.vq", ".scipy.optimize",
          ".scipy.signal")

FLAGS = {                                          # what is asked for its truth, as NumPy does
    "device_put may_alias", "argmax keepdims", "argmin keepdims", "nanargmax keepdims",
    "nanargmin keepdims", "asarray copy", "histogram density", "histogram2d density",
    "histogramdd density",
}
READ_SOMETIMES = {                                 # the docstrings say when
    "einsum optimize", "polyval unroll", "nonzero fill_value", "where fill_value",
    "argwhere fill_value", "flatnonzero fill_value", "compress fill_value", "extract fill_value",
    "frompyfunc identity",
    "approx_min_k reduction_input_size_override", "tree_reduce_associative identity",
    "platform_dependent default", "jit static_argnames", "vmap axis_name",
    "checkpoint static_argnames", "keystr separator", "gather fill_value", "create_token _",
    "make_user_context default_value",             # any value with a hash
}


OF_THE_LIBRARY = ("xfront.values.arguments", "xfront.binding.tracebacks")
"""What modules without `__all__` import for themselves."""


def public_functions() -> Iterator[tuple[str, Any]]:
    """Each public function once, with its name."""
    seen = set()
    for space in SPACES:
        module = importlib.import_module(f"xfront{space}")
        for name in sorted(getattr(module, "__all__", None) or dir(module)):
            found = getattr(module, name, None)
            if (name.startswith("_") or not callable(found) or inspect.isclass(found)
                    or getattr(found, "__module__", "") in OF_THE_LIBRARY or id(found) in seen
                    or not str(getattr(found, "__module__", "")).startswith("xfront")
                    or type(found).__module__ == "xfront.base.config"):
                continue
            seen.add(id(found))
            yield f"{space.rsplit('.', 1)[-1] or 'xfront'}.{name}", found


def optional(function: Any) -> list[inspect.Parameter]:
    """Parameters with defaults that are no flags."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p for p in parameters if p.default is not p.empty and not isinstance(p.default, bool)
            and p.kind is not p.POSITIONAL_ONLY]


def traced(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> None:
    """Call it in a trace, which compiles nothing."""
    jax.eval_shape(lambda: [function(*args, **kwargs), 0.0][1])


def sample_of(name: str, function: Any) -> tuple[Any, tuple, dict[str, Any]] | None:
    """What to call, and with what; None where no sample fits."""
    if name in CALLS:
        instead, args, kwargs = CALLS[name]
        traced(instead or function, args, kwargs)
        return instead or function, args, kwargs
    for args in SAMPLES:
        try:
            traced(function, args, {})
            return function, args, {}
        except Exception:
            continue
    return None


def test_nonsense_is_refused() -> None:
    accepted, without = [], []
    known = {*FLAGS, *READ_SOMETIMES,
             *[f"{k.split()[-1]} {v}" for k, names in PERMISSIONS.items() for v in names]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in public_functions():
            asked = [p for p in optional(function)
                     if f"{name.rsplit('.', 1)[-1]} {p.name}" not in known]
            if not asked or name in LEFT_OUT:
                continue
            sample = sample_of(name, function)
            if sample is None:
                without.append(name)
                continue
            call, args, kwargs = sample
            order = list(inspect.signature(function).parameters)
            for p in asked:
                if p.kind is p.POSITIONAL_OR_KEYWORD and order.index(p.name) < len(args):
                    continue
                try:
                    traced(call, args, {**kwargs, p.name: Nonsense()})
                except Exception:
                    continue
                accepted.append(f"{name}({p.name}=...)")
    assert accepted == []
    assert without == [], "give a call of these in samples_of_calls.py"


# --- one value alone is supported -----------------------------------------------------------

X, M = np.arange(3, dtype=np.float32), np.eye(3, dtype=np.float32)


def mapped(x: Any) -> Any:
    return lax.all_gather(x, "i", to="reduced")


REFUSED: list[tuple[str, type[Exception], Callable[[], Any]]] = [
    ("device", TypeError, lambda: jax.jit(jnp.sin, device="cuda:7")(X)),
    ("backend", RuntimeError, lambda: jax.jit(jnp.sin, backend="nonsense")(X)),
    ("backend", RuntimeError, lambda: jax.jit(jnp.sin, backend="rocm")(X)),
    ("backend", TypeError, lambda: jax.jit(jnp.sin, backend=3)),
    ("in_shardings", TypeError, lambda: jax.jit(jnp.sin, in_shardings="zzz")),
    ("out_shardings", TypeError, lambda: jax.jit(jnp.sin, out_shardings=42)),
    ("in_shardings", ValueError, lambda: jax.jit(jnp.sin, in_shardings=(home(), home()))(X)),
    ("out_shardings", ValueError, lambda: jax.jit(jnp.sin, out_shardings=(home(),))(X)),
    ("in_shardings", ValueError, lambda: jax.jit(lambda x: x, in_shardings=home())(x=X)),
    ("reduce_axes", NotImplementedError, lambda: jax.grad(jnp.sum, reduce_axes=("i",))),
    ("reduce_axes", NotImplementedError, lambda: jax.value_and_grad(jnp.sum, reduce_axes=("i",))),
    ("reduce_axes", NotImplementedError, lambda: jax.vjp(jnp.sum, X, reduce_axes=("i",))),
    ("reduce_axes", NotImplementedError, lambda: jax.linear_transpose(
        jnp.sum, X, reduce_axes=("i",))),
    ("spmd_axis_name", TypeError, lambda: jax.vmap(jnp.sin, spmd_axis_name=3)),
    ("sum_match", NotImplementedError, lambda: jax.vmap(jnp.sin, sum_match=True)),
    ("concrete", NotImplementedError, lambda: jax.checkpoint(jnp.sin, concrete=True)),
    ("concrete", NotImplementedError, lambda: jax.checkpoint(concrete=True)(jnp.sin)),
    ("abstracted_axes", NotImplementedError, lambda: jax.make_jaxpr(jnp.sin, abstracted_axes=1)),
    ("lowering_platforms", NotImplementedError, lambda: jax.jit(jnp.sin).trace(X).lower(
        lowering_platforms=("rocm", "cpu"))),
    ("dialect", ValueError, lambda: jax.jit(jnp.sin).lower(X).compiler_ir("zz")),
    ("sharding", ValueError, lambda: jax.ShapeDtypeStruct((3,), "float32", sharding=5)),
    ("manual_axis_type", ValueError, lambda: jax.eval_shape(jnp.sin, jax.ShapeDtypeStruct(
        (3,), "float32", vma={"i"}))),
    ("manual_axis_type", TypeError, lambda: jax.ShapeDtypeStruct(
        (3,), "float32", manual_axis_type={"i"})),
    ("is_ref", NotImplementedError, lambda: jax.ShapeDtypeStruct((3,), "float32", is_ref=True)),
    ("src", NotImplementedError, lambda: jax.device_put(X, src=3)),
    ("may_alias", ValueError, lambda: jax.device_put(X, donate=True, may_alias=True)),
    ("platform", RuntimeError, lambda: jax.live_arrays("zz")),
    ("sharding", TypeError, lambda: jax.pure_callback(np.sin, X, X, sharding=5)),
    ("vectorized", NotImplementedError, lambda: jax.pure_callback(np.sin, X, X, vectorized=True)),
    ("partitioned", NotImplementedError, lambda: jax.debug.callback(print, X, partitioned=True)),
    ("partitioned", NotImplementedError, lambda: jax.debug.print("x", partitioned=True)),
    ("to=", NotImplementedError, lambda: jax.vmap(mapped, axis_name="i")(X)),
    ("use_magma", NotImplementedError, lambda: lax.linalg.eig(M, use_magma=True)),
    ("use_magma", NotImplementedError, lambda: lax.linalg.qr(M, use_magma=True)),
    ("aggregate_to_topk", NotImplementedError, lambda: lax.approx_max_k(
        X, 1, aggregate_to_topk=False)),
    ("aggregate_to_topk", NotImplementedError, lambda: lax.approx_min_k(
        X, 1, aggregate_to_topk=False)),
    ("algorithm", ValueError, lambda: jax.nn.standardize(X, algorithm="zz")),
    ("copy", ValueError, lambda: jnp.meshgrid(X, copy=False)),
    ("mode", ValueError, lambda: jax.random.gumbel(jax.random.key(0), (3,), mode="zz")),
    ("blocksize", NotImplementedError, lambda: jax.scipy.linalg.sqrtm(M, blocksize=2)),
    ("eps", NotImplementedError, lambda: jax.scipy.linalg.polar(M, method="svd", eps=1e-3)),
    ("select_range", NotImplementedError, lambda: jax.scipy.linalg.eigh_tridiagonal(
        X, X[1:], select_range=(0, 1))),
    ("lapack_driver", ValueError, lambda: jax.scipy.linalg.svd(M, lapack_driver="zz")),
    ("debug", NotImplementedError, lambda: jax.scipy.linalg.solve(M, X, debug=True)),
    ("debug", NotImplementedError, lambda: jax.scipy.linalg.solve_triangular(M, X, debug=True)),
    ("out_sharding cannot both", ValueError, lambda: jnp.zeros(
        3, device=jax.devices()[0], out_sharding=home())),
    ("linear", TypeError, lambda: lax.cond(True, jnp.sin, jnp.cos, X, linear=(False,))),
    ("memory_fitting_level", ValueError, lambda: jax.jit(
        jnp.sin, compiler_options={"memory_fitting_level": "O7"})(X)),
]


def home() -> Any:
    return jnp.zeros(1).sharding


@pytest.mark.parametrize(("argument", "kind", "call"), REFUSED,
                         ids=[f"{i}-{argument}" for i, (argument, _, _) in enumerate(REFUSED)])
def test_one_value_alone(argument: str, kind: type, call: Callable[[], Any]) -> None:
    match = argument if argument != "backend" else "(?i)backend"
    with pytest.raises(kind, match=match.replace(" both", "")):
        call()


def test_what_names_the_default_is_accepted() -> None:
    device = jax.devices()[0]
    for options in ({"device": device}, {"backend": "cpu"}, {"in_shardings": home()},
                    {"in_shardings": (None,), "out_shardings": home()},
                    {"compiler_options": {"memory_fitting_level": "O1"}}):
        np.testing.assert_allclose(jax.jit(jnp.cos, **options)(X), np.cos(X), rtol=1e-6)
    np.testing.assert_array_equal(jnp.dot(M, X, out_sharding=home()), X)
    np.testing.assert_allclose(jnp.fft.fftfreq(3, device=device), np.fft.fftfreq(3), rtol=1e-6)


def test_jit_takes_specs_on_the_mesh_in_context():
    spec = jax.sharding.PartitionSpec
    with jax.set_mesh(jax.sharding.Mesh(jax.devices()[:1], ("x",))):
        made = jax.jit(lambda x: 2 * x, in_shardings=(spec("x"),), out_shardings=spec())(X)
    np.testing.assert_array_equal(made, 2 * np.asarray(X))


def test_a_placement_is_looked_at_though_the_function_is_known() -> None:
    f = jax.jit(jnp.sin)
    f(X)
    with pytest.raises(RuntimeError, match="nonsense"):
        jax.jit(jnp.sin, backend="nonsense")(X)
    f(X)


def test_what_a_refusal_says() -> None:
    with pytest.raises(NotImplementedError, match="f: a=2 is not supported, only a=1 is; do this"):
        only("f", 1, "do this", a=2)
    with pytest.raises(TypeError, match="g: out_sharding must be a Sharding or None"):
        at_home("g", 5)
    only("f", 1, "do this", a=1)
    with pytest.raises(NotImplementedError):
        only("f", False, "do this", a=0)           # of another type


def test_may_alias_false_gives_memory_of_its_own() -> None:
    x = jnp.ones(3)
    y = jax.device_put(x, may_alias=False)
    assert y.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert jax.device_put(x).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
