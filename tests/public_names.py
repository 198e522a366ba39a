"""Which names and parameters that users expect are there: `python -m tests.public_names` lists all
that are not, each with the reason; with `--record` it writes them to docs/absent.md.

`recorded/public_names.json` has the names of JAX 0.10.2, and the parameters that can be given by
name; `public_names_newest.json` those of 0.12.0.1. Those of both are wanted.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any

RECORDED = [Path(__file__).parent / "recorded" / f"public_names{which}.json"
            for which in ("", "_newest")]
"""Of JAX 0.10.2, and of 0.12.0.1."""
PAGE = Path(__file__).parents[1] / "docs" / "absent.md"

_HELPER = "a helper of the module's own, seen because it has no `__all__`"
_RULES = "operations are defined in the IR, with all their rules; registries take none from outside"
_ONE_BIT = "jaxlib has no arrays of it on any platform here; JAX makes bools"
_SIX_BITS = "XLA compiles nothing of this dtype for CPUs"
_QUANTISED = ("it quantises as cuDNN's kernels do, and runs on GPUs alone; quantise by astype and "
              "write `nn.scaled_matmul`")
_REFUSED = "JAX refuses it too: arrays are immutable; write `where`"
_SPARSE_OPS = "products of sparse arrays are dense operations on their parts"
_CUDNN = "of cuDNN's kernels; `lstm` is differentiated as any function"
_PRIVATE = "part of how JAX itself works"

_REASONS = {
    _HELPER: """example_libraries.optimizers.map example_libraries.optimizers.safe_map
        example_libraries.optimizers.safe_zip example_libraries.optimizers.unzip2
        example_libraries.optimizers.zip experimental.jet.register_pytree_node
        experimental.jet.fact experimental.jet.jet_fun experimental.jet.jet_subtrace
        experimental.jet.traceable experimental.ode.ravel_first_arg_
        experimental.jet.safe_zip experimental.jet.tree_structure
        experimental.jet.treedef_is_leaf experimental.jet.unzip2
        experimental.jet.weakref_lru_cache experimental.mesh_utils.device_kind_handler_dict
        experimental.multihost_utils.safe_zip experimental.ode.abs2
        experimental.ode.fit_4th_order_polynomial experimental.ode.initial_step_size
        experimental.ode.interp_fit_dopri experimental.ode.map experimental.ode.mean_error_ratio
        experimental.ode.optimal_step_size experimental.ode.promote_dtypes_inexact
        experimental.ode.ravel_first_arg experimental.ode.runge_kutta_step
        experimental.ode.safe_map experimental.ode.safe_zip experimental.ode.zip
        experimental.rnn.custom_vjp experimental.rnn.tanh ref.swap(_function_name)
        extend.core.find_top_trace(_) extend.linear_util.transformation_with_aux2(unk_names)""",
    _RULES: """experimental.jet.JetTrace experimental.jet.JetTracer experimental.jet.ZeroSeries
        experimental.jet.ZeroTerm experimental.jet.call_param_updaters experimental.jet.def_comp
        experimental.jet.def_deriv experimental.jet.deflinear experimental.jet.defzero
        experimental.jet.deriv_prop experimental.jet.jet_rules experimental.jet.linear_prop
        experimental.jet.zero_prop experimental.jet.zero_series experimental.jet.zero_term
        experimental.multihost_utils.global_array_to_host_local_array_impl
        experimental.multihost_utils.global_array_to_host_local_array_p
        experimental.multihost_utils.gtl_abstract_eval
        experimental.multihost_utils.host_local_array_to_global_array_impl
        experimental.multihost_utils.host_local_array_to_global_array_p
        experimental.multihost_utils.ltg_abstract_eval experimental.multihost_utils.ltg_batcher
        interpreters.mlir.ir_tree_registry interpreters.mlir.ir_type_handlers
        interpreters.mlir.ConstantHandler
        interpreters.mlir.lowerable_effects interpreters.partial_eval.dce_jaxpr_call_rule
        interpreters.partial_eval.dce_jaxpr_closed_call_rule""",
    _CUDNN: """experimental.rnn.lstm_bwd experimental.rnn.lstm_fwd
        experimental.rnn.rnn_abstract_eval experimental.rnn.rnn_bwd_abstract_eval
        experimental.rnn.rnn_bwd_p experimental.rnn.rnn_fwd_p""",
    _SPARSE_OPS: """experimental.sparse.CuSparseEfficiencyWarning experimental.sparse.SparseTracer
        experimental.sparse.bcoo_dot_general_p experimental.sparse.bcoo_dot_general_sampled_p
        experimental.sparse.bcoo_extract_p experimental.sparse.bcoo_fromdense_p
        experimental.sparse.bcoo_sort_indices_p experimental.sparse.bcoo_spdot_general_p
        experimental.sparse.bcoo_sum_duplicates_p experimental.sparse.bcoo_todense_p
        experimental.sparse.bcoo_transpose_p experimental.sparse.bcsr_dot_general_p
        experimental.sparse.bcsr_extract_p experimental.sparse.bcsr_fromdense_p
        experimental.sparse.bcsr_todense_p experimental.sparse.coo_fromdense_p
        experimental.sparse.coo_matmat_p experimental.sparse.coo_matvec_p
        experimental.sparse.coo_todense_p experimental.sparse.csr_fromdense_p
        experimental.sparse.csr_matmat_p experimental.sparse.csr_matvec_p
        experimental.sparse.csr_todense_p experimental.sparse.todense_p""",
    _PRIVATE: """jax2tf_associative_scan_reductions ad debug.DebugEffect debug.OrderedDebugEffect
        experimental.EArray
        interpreters.mlir.DEVICE_TO_DEVICE_TYPE interpreters.mlir.LoweringParameters
        interpreters.mlir.LoweringResult interpreters.mlir.RECV_FROM_HOST_TYPE
        interpreters.mlir.SEND_TO_HOST_TYPE interpreters.mlir.SPMDAxisContext
        interpreters.mlir.ShapePolyLoweringState interpreters.mlir.ShardingContext
        interpreters.mlir.Token interpreters.mlir.TokenSet interpreters.mlir.Value
        interpreters.mlir.flatten_ir_types interpreters.mlir.flatten_ir_values
        interpreters.mlir.shape_tensor interpreters.mlir.token_type
        interpreters.mlir.unflatten_ir_values_like_types
        interpreters.mlir.ir_constant(const_lowering) interpreters.mlir.ir_constant(aval)
        interpreters.mlir.ir_constants(const_lowering) interpreters.mlir.ir_constants(aval)
        interpreters.partial_eval.dce_jaxpr_consts interpreters.partial_eval.lower_jaxpr
        interpreters.partial_eval.lower_jaxpr2 interpreters.partial_eval.move_binders_to_back
        interpreters.partial_eval.new_eqn_recipe
        interpreters.partial_eval.partial_eval_jaxpr_nounits
        interpreters.partial_eval.prune_closed_jaxpr_outputs
        interpreters.batching.zero_if_mapped interpreters.mlir.AxisContext
        extend.backend.clear_backends(_crash) extend.linear_util.cache(explain)
        extend.linear_util.transformation(fun) extend.linear_util.transformation2(fun)
        extend.linear_util.transformation_with_aux(fun)
        extend.linear_util.transformation_with_aux2(fun)
        extend.linear_util.transformation_with_aux2(use_eq_store)""",
    "calls of functions are recorded as jit_p": " ".join([
        f"extend.core.{module}{name}" for module in ("", "primitives.") for name in (
            "create_call_primitive", "eval_jaxpr_transpose", "register_call_primitive_rules")]),
    "write `jax.vjp` of `jaxpr_as_fun(closed)`": "interpreters.ad.backward_pass",
    "write `jax.jvp` of `jaxpr_as_fun(closed)`": "interpreters.ad.jvp_jaxpr",
    "write `jax.vmap` of `jaxpr_as_fun(closed)`": "interpreters.batching.batch_jaxpr_axes",
    "every argument that is read counts as live":
        "interpreters.partial_eval.dce_jaxpr(live_inputs)",
    "give it as `env_options_overrides`": """extend.backend.get_compile_options(fdo_profile)
        extend.backend.get_compile_options(detailed_logging)""",
    "plugins register by their entry points": "extend.backend.register_backend_factory",
    "ask `get_backend(platform).platform_version`": "extend.backend.backend_xla_version",
    "what is kept of clients goes with `clear_backends`": "extend.backend.register_backend_cache",
    "its parameters are NumPy's, `arg1` and `arg2`": "dtypes.issubdtype(a) dtypes.issubdtype(b)",
    "write `sharding.Mesh`": "interpreters.mlir.Mesh",
    "give arrays of the one dtype and convert in a `custom_jvp`":
        "experimental.primal_tangent_dtype",
    _QUANTISED: "nn.get_scaled_dot_general_config nn.scaled_dot_general",
    _REFUSED: "numpy.modf(out) " + " ".join([
        f"numpy.{name}({argument})" for argument in ("out", "where") for name in (
            "add bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2 logical_and logical_or "
            "logical_xor maximum minimum multiply negative subtract").split()]),
    _ONE_BIT: "numpy.int1 numpy.uint1",
    _SIX_BITS: "numpy.float6_e2m3fn numpy.float6_e3m2fn",
}
ABSENT = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Why a name, or `name(parameter)`, is absent, where the module itself does not say so."""


def names_of(function: Any) -> frozenset[str] | None:
    """The parameters that a function takes by name; None where it takes any, or is no function."""
    if not callable(function) or isinstance(function, type):
        return None
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in given):
        return None
    return frozenset(p.name for p in given
                     if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))


def wanted() -> dict[str, dict[str, list[str]]]:
    """Modules, their names, and the parameters of these, of all releases together."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in RECORDED:
        for module, names in json.loads(path.read_text()).items():
            for name, parameters in names.items():
                known = found.setdefault(module, {}).setdefault(name, [])
                known += [p for p in parameters if p not in known]
    return found


def missing() -> dict[str, str]:
    """Names and `name(parameter)` that are recorded and not there, with the reason; "" where
    neither the module nor ABSENT gives one."""
    found: dict[str, str] = {}
    for module, names in wanted().items():
        held = importlib.import_module(f"xfront.{module}".rstrip("."))
        for name, parameters in names.items():
            whole = f"{module}.{name}".lstrip(".")
            try:
                own = names_of(getattr(held, name))
            except AttributeError as error:
                _, _, said = str(error).partition(f"{name!r}: ")
                found[whole] = said or ABSENT.get(whole, "")
                continue
            if own is not None:
                found |= {f"{whole}({p})": ABSENT.get(f"{whole}({p})", "") for p in parameters
                          if p not in own}
    return found


def page() -> str:
    """docs/absent.md: what is absent, by reason and module."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in missing().items():
        by_reason.setdefault(reason, []).append(f"`{name}`")
    lines = [f"| {', '.join(names)} | {reason} |" for reason, names in by_reason.items()]
    return "\n".join([_HEAD, "| names | why, or what to write |", "|---|---|", *lines, ""])


_HEAD = """# Names that are absent

Public names and parameters of JAX 0.10.2 and 0.12.0.1 that are not here; a test compares this page
with what `python -m tests.public_names --record` writes. `name(parameter)` is a parameter of a
function that is here. Whole areas that are not offered: Pallas, `jax2tf`,
`custom_partitioning`, `compute_on`, `buffer_callback`, `fused`, `scheduling_groups`,
`transfer`, `colocated_python`.
"""


if __name__ == "__main__":
    if "--record" in sys.argv:
        PAGE.write_text(page())
    for name, reason in missing().items():
        print(f"{name}: {reason or 'missing'}")
