"""`export`: from a jitted function to a program that leaves the process.

The function is traced for the types of the arguments, and lowered to the plain StableHLO of each
platform. What belongs to this process (host functions, references, other devices) is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lowering import artifacts, clients
from lowering.clients import platform_of
from xfront_ir import ops
from xfront_ir.analysis import belongs_to_process, has_effects, meshes
from xfront_ir.core import Function
from xfront_ir.fingerprint import fingerprint
from xfront_ir.literal import Literal
from xfront_ir.passes.pipeline import simplify
from xfront_ir.placed_builder import PlacedBuilder

from .. import binding
from ..base.collector import uncollected
from ..base.dtypes import float0
from ..base.trees import tree_leaves, tree_structure
from ..binding.tracebacks import front_door
from ..running.compiling import prune
from ..running.host import slots_in
from ..running.programs import bind
from ..tracing.tracer import Tracer
from ..transforms.autodiff import vjp
from ..transforms.flat import trace_call
from ..transforms.stages import Traced, Wrapped, promised
from ..values.arguments import only
from ..values.keys import KeyArray
from .checks import DisabledSafetyCheck
from .dimensions import symbolic_in
from .exported import Exported, aval_of, of_one_device, type_of

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def default_export_platform() -> str:
    """The platform for which `export` lowers by default: that of the default device.

    >>> export.default_export_platform() in ("cpu", "cuda", "rocm", "tpu")
    True
    """
    return platform_of(clients.default_client().local_devices()[0])


def export(fun_jit: Wrapped, *, platforms: Sequence[str] | None = None,
           disabled_checks: Sequence[DisabledSafetyCheck] = (),
           _override_lowering_rules: None = None) -> Callable[..., Exported]:
    """A function that exports `fun_jit` for the types of its arguments.

    Args:
      fun_jit: the result of `jit`.
      platforms: names of the platforms to lower for, of cpu, cuda, rocm and tpu; none of them need
        be here. None or empty means that of the default device.
      disabled_checks: checks to leave out.
      _override_lowering_rules: None only.
    Returns: a function of arguments of `fun_jit`, arrays or `ShapeDtypeStruct`s in their place,
      that returns an `Exported`. Arrays that the function captured become part of the program.
    Raises: ValueError where `fun_jit` is not jitted, for an unknown platform, and where the program
      calls kernels that later versions may not have; TypeError for another check, or where the
      function captured a traced value; NotImplementedError for programs with callbacks, effects or
      references, for several devices, and for what a platform cannot do (MissingRule).

    >>> exported = export.export(jax.jit(jnp.sin), platforms=("cpu", "tpu"))(
    ...     jax.ShapeDtypeStruct((3,), np.float32))
    >>> exported.platforms, exported.out_avals
    (('cpu', 'tpu'), (ShapedArray(float32[3]),))
    """
    only("export", None, "give the function another lowering instead",
         _override_lowering_rules=_override_lowering_rules)
    if not isinstance(fun_jit, Wrapped):
        raise ValueError("Function to be exported must be the result of `jit` but is: "
                         f"{fun_jit!r}")
    named = None if platforms is None else _platforms(platforms)
    disabled = tuple(disabled_checks)
    if strangers := [c for c in disabled if not isinstance(c, DisabledSafetyCheck)]:
        raise TypeError("export: disabled_checks must be DisabledSafetyChecks, got "
                        f"{strangers[0]!r}")

    @front_door
    def exporting(*args: Any, **kwargs: Any) -> Exported:
        shapes = [getattr(x, "shape", ()) for x in tree_leaves((args, kwargs))]
        if symbolic := symbolic_in(shapes):
            raise NotImplementedError(
                f"export: the dimension '{symbolic[0]}' of an argument is symbolic, but shapes are "
                "ints while a function is traced here; export it once for each shape")
        traced = fun_jit.trace(*args, **kwargs)
        if not isinstance(traced, Traced):
            raise ValueError("Function to be exported must be the result of `jit` but is: "
                             f"{fun_jit!r}")
        return _exported(traced, named, disabled)

    return exporting


def _platforms(asked: Sequence[str]) -> tuple[str, ...] | None:
    found = (asked,) if isinstance(asked, str) else tuple(asked)
    for p in found:
        if p not in PLATFORMS:
            hint = "; write cuda or rocm" if p == "gpu" else ""
            raise ValueError(f"export: unknown platform {p!r} in platforms; they must be among "
                             f"{', '.join(PLATFORMS)}{hint}")
    if len({*found}) != len(found):
        raise ValueError(f"export: platforms must differ, got {found}")
    return found or None


@uncollected
def _exported(traced: Traced, platforms: tuple[str, ...] | None,
              disabled: tuple[DisabledSafetyCheck, ...]) -> Exported:
    flat, jitted, signature = traced._flat, traced._jitted, traced.signature
    name = traced.fun_name
    place, _ = jitted.placement(flat, [promised(x, platforms[0] if platforms else None)
                                       for x in traced._leaves],
                                lambda: traced._tree)
    if len(place.devices) > 1 or meshes(flat.function):
        raise NotImplementedError(
            f"export: {name} runs on {len(place.devices)} devices or names a mesh, and programs "
            "can be exported for one device only: export the function without shardings, and "
            "give them to the jit that calls the exported program")
    if any(t.sharding is not None for t, _ in (*signature.kinds, *signature.outs)):
        raise NotImplementedError(f"export: {name} has arguments or results with explicit mesh "
                                  "axes in their types; export it without them")
    if any(t.dtype.is_ref for t, _ in signature.kinds):
        raise NotImplementedError(f"export: {name} takes references, whose contents belong to "
                                  "this process; pass arrays and return the new ones")
    function = _closed(flat.function, flat.captures, name)
    platforms = platforms or (platform_of(place.devices[0]),)
    return _exported_function(
        function, name, signature.in_tree, [aval_of(t, w) for t, w in signature.kinds],
        signature.out_tree, [aval_of(t, w) for t, w in signature.outs], platforms, disabled,
        jitted.options.keep_unused)


def _closed(function: Function, captures: Sequence[Any], name: str) -> Function:
    """The Function with the arrays that it captured as literals. Raises: TypeError where one is
    traced."""
    if not captures:
        return function
    if any(type(x) is Tracer for x in captures):
        raise TypeError(f"export: {name} closes over a value that is traced here, which has no "
                        "number yet; make it an argument of the function")
    n = len(function.params) - len(captures)
    b = PlacedBuilder(function.name)
    params = [b.param(v.type) for v in function.params[:n]]
    held = []
    for x, v in zip(captures, function.params[n:], strict=True):
        words = np.asarray(binding.to_numpy(x._base if type(x) is KeyArray else x))
        value = b.emit(ops.literal, value=Literal(words), shape=words.shape)
        held.append(b.emit(ops.random_wrap, value, impl=v.type.dtype.implementation)
                    if v.type.dtype.is_key else value)
    return b.close(b.inline(function, [*params, *held]), function.weak_returns)


def _exported_function(function: Function, name: str, in_tree: Any, in_avals: Sequence[Any],
                       out_tree: Any, out_avals: Sequence[Any], platforms: tuple[str, ...],
                       disabled: tuple[DisabledSafetyCheck, ...], keep_unused: bool = False
                       ) -> Exported:
    """The Exported of a Function whose parameters stand for the arguments that are not float0."""
    simple = simplify(function)
    kept = [True] * len(simple.params)
    if not keep_unused:
        simple, kept = prune(simple)
    if slots_in(simple):
        raise NotImplementedError(f"serialization of host_callbacks is not yet implemented: {name} "
                                  "calls a function of this process; leave the callback out of the "
                                  "function that is exported")
    if has_effects(simple) or belongs_to_process(simple):
        raise NotImplementedError(f"export: {name} has effects, or operations that this process "
                                  "defined, which no other process knows")
    module, kernels = artifacts.write(simple, name, platforms)
    allowed = {c.is_custom_call() for c in disabled}
    if bad := sorted(k for k in kernels - allowed if not artifacts.STABLE.fullmatch(k)):
        raise ValueError(
            "Cannot serialize code with custom calls whose targets have no compatibility "
            f"guarantees: {name} calls {', '.join(bad)}. Where the process that runs the program "
            f"has them, give disabled_checks=[DisabledSafetyCheck.custom_call({bad[0]!r})]")
    real = [i for i, a in enumerate(in_avals) if a.dtype != float0]
    places = [i for i, k in zip(real, kept, strict=True) if k]
    return of_one_device(name, in_tree, in_avals, out_tree, out_avals, platforms, disabled, module,
                         places, _Derived(function))


class _Derived:
    """The VJP that is derived from the Function when someone asks for it."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, exported: Exported) -> Exported:
        return _vjp(self.function, exported)

    def fingerprint(self, options: Any) -> bytes:
        """The bytes that tell it apart, where rules of the function are traced under `options`."""
        return b"derived" + fingerprint(self.function) + repr(options).encode()


def _vjp(function: Function, exported: Exported) -> Exported:
    """The program of the cotangents of an exported Function."""
    ins = list(exported.in_avals)
    outs = list(exported.out_avals)
    cotangents = [a.to_tangent_aval().strip_weak_type() for a in outs]
    real = [a for a in ins if a.dtype != float0]
    returned = [a for a in outs if a.dtype != float0]
    n = len(real)

    def call(tracers: list[Any]) -> list[Any]:
        def flat(*leaves: Any) -> tuple:
            return tuple(bind(function, leaves, name=exported.fun_name))

        given = iter(tracers[n:])
        _, pull = vjp(flat, *tracers[:n])
        made = pull(tuple([next(given) if type_of(a).is_inexact else np.zeros(a.shape, float0)
                           for a in returned]))
        return [x for x, a in zip(made, real, strict=True) if type_of(a).is_inexact]

    kinds = [(type_of(a), False) for a in real] + [(type_of(a), False) for a in cotangents
                                             if a.dtype != float0]
    traced = trace_call(call, kinds, name="fun_vjp_jax", kind="export", staging=True)
    in_avals = [a.strip_weak_type() if a.dtype != float0 else a for a in ins]
    every = [*in_avals, *cotangents]
    back = [a.to_tangent_aval() for a in in_avals]
    return _exported_function(_closed(traced.function, traced.captures, exported.fun_name),
                              "fun_vjp_jax", tree_structure(((0,) * len(every), {})), every,
                              tree_structure((0,) * len(back)), back, exported.platforms,
                              exported.disabled_safety_checks)


__all__ = ["default_export_platform", "export"]
