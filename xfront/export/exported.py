"""`Exported`: a program as StableHLO, with the types and trees of its arguments and results.

It is called as a function of arrays. A call is one op of the IR that holds the program; around it
stands a rule for cotangents, which calls the program of the cotangents where there is one.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from lowering import merging
from xfront_ir import dtypes as ir_dtypes
from xfront_ir import ops
from xfront_ir.errors import IRError
from xfront_ir.fingerprint import identity
from xfront_ir.literal import Literal
from xfront_ir.types import TensorType, tensor

from .. import binding
from ..base.config import trace_key
from ..base.containers import Container
from ..base.dtypes import float0
from ..base.trees import PyTreeDef, keystr, tree_flatten_with_path, tree_unflatten
from ..binding.tracebacks import front_door
from ..sharding.mesh import AbstractMesh, Mesh
from ..tracing.trace import emit
from ..transforms.custom_vjp import custom_vjp
from ..transforms.flat import as_operand, kind_of
from ..transforms.float0 import is_float0
from ..transforms.jit import jit
from ..values.keys import key_dtype
from .checks import DisabledSafetyCheck
from .trees import read as read_tree
from .trees import written as written_tree

BYTES = Container("an exported program", b"xfront-hlo\n", 1, 1)

minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10

Aval = Any
"""The type of an array, `ShapedArray`."""


class _Called(custom_vjp):
    """The function that calls an exported program, with the rule for its cotangents."""

    def __init__(self, run: Callable[..., Any], exported: Exported) -> None:
        super().__init__(run)
        self.exported = exported

    def deferred(self, name: str, static: list, given: Any, flat: Any, reached: Any) -> Any:
        """The Deferred of one call. Its fingerprint is that of the data from which the VJP is made.
        It cannot be that of its Functions: these call the VJP, whose own rule calls the VJP of the
        VJP, and so on without end."""
        rule = super().deferred(name, static, given, flat, reached)
        rule.print = _rule_print(self.exported)
        return rule


def _rule_print(exported: Exported) -> bytes:
    """The bytes that two exported programs share only where their VJPs are the same programs."""
    get = exported._get_vjp
    own = getattr(get, "fingerprint", None)
    if get is not None and own is None:
        return identity(exported).encode()
    facts = [b"" if own is None else own(vars(exported).get("_traced_under", trace_key()))]
    facts += [repr(x).encode() for x in (
        _written(exported.in_avals), _written(exported.out_avals), exported.platforms,
        [c._impl for c in exported.disabled_safety_checks])]
    return hashlib.blake2b(b"".join(hashlib.blake2b(x).digest() for x in facts)).digest()


@dataclass(frozen=True, eq=False, repr=False)
class Exported:
    """A function exported for one signature; `export` and `deserialize` make it.

    Fields:
      fun_name: name of the function.
      in_tree, in_avals: structure of (args, kwargs), and the types of its leaves.
      out_tree, out_avals: the same of the result.
      in_shardings_hlo, out_shardings_hlo: None for each leaf: programs are of one device.
      nr_devices: 1.
      platforms: names of the platforms that the program was lowered for.
      ordered_effects, unordered_effects: empty: programs with effects are refused.
      disabled_safety_checks: those that were disabled when it was exported.
      mlir_module_serialized: the program, a portable artifact of StableHLO.
      calling_convention_version: of that program. Its `main` takes the arguments that it reads, in
        order; for several platforms the index of the platform, an i32, comes before them.
      module_kept_var_idx: which arguments the program takes.
      uses_global_constants: whether it takes that index.

    >>> exported = export.export(jax.jit(lambda x, y: 2 * x))(jnp.ones(3), 1)
    >>> exported.in_avals, exported.module_kept_var_idx
    ((ShapedArray(float32[3]), ShapedArray(int32[], weak_type=True)), (0,))
    >>> exported.call(jnp.arange(3.), 5)
    Array([0., 2., 4.], dtype=float32)
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[Aval, ...]
    out_tree: PyTreeDef
    out_avals: tuple[Aval, ...]
    _has_named_shardings: bool
    _in_named_shardings: tuple[None, ...]
    _out_named_shardings: tuple[None, ...]
    in_shardings_hlo: tuple[None, ...]
    out_shardings_hlo: tuple[None, ...]
    nr_devices: int
    platforms: tuple[str, ...]
    ordered_effects: tuple[()]
    unordered_effects: tuple[()]
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...]
    mlir_module_serialized: bytes
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    uses_global_constants: bool
    _get_vjp: Callable[[Exported], Exported] | None

    def __repr__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    def mlir_module(self, serialized: bool = True) -> Any:
        """The program as text of StableHLO.

        Args:
          serialized: True only; the program is held as bytes.
        Raises: NotImplementedError for False; ValueError where this jaxlib does not read the
          program's version of StableHLO.
        """
        if not serialized:
            raise NotImplementedError("Exported.mlir_module: serialized must be True; the program "
                                      "is held as bytes alone")
        return merging.text(self.mlir_module_serialized)

    def in_shardings_jax(self, mesh: Any) -> tuple[None, ...]:
        """None for each argument: programs are of one device, so none is divided over `mesh`.

        Raises: TypeError where `mesh` is no mesh.
        """
        _check_mesh(mesh)
        return self._in_named_shardings

    def out_shardings_jax(self, mesh: Any) -> tuple[None, ...]:
        """None for each leaf of the result, as for `in_shardings_jax`."""
        _check_mesh(mesh)
        return self._out_named_shardings

    # --- derivatives ----------------------------------------------------------------------

    def has_vjp(self) -> bool:
        """Whether there is a program of the cotangents, so that `call` has a gradient."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """The program of the cotangents: a function of the flat arguments and of the cotangents of
        the flat results, which returns a tuple with those of the arguments.

        Raises: ValueError where there is none; after `deserialize` there is one for each order that
          `serialize` was asked for.
        """
        if self._get_vjp is None:
            raise ValueError("No VJP is available")
        return self._vjp

    @functools.cached_property
    def _vjp(self) -> Exported:
        assert self._get_vjp is not None
        vars(self)["_traced_under"] = trace_key()    # rules of the function may read options
        return self._get_vjp(self)

    # --- calls ----------------------------------------------------------------------------

    @front_door
    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function for arguments of its signature.

        It may be called in traces: `jit`, `scan`, `cond` and so on hold the program, and reverse
        mode takes `vjp()`. Donation is up to the caller's `jit`.

        Raises: ValueError for arguments of another structure, shape or dtype, for a platform that
          the program was not exported for, and under reverse mode where there is no VJP; TypeError
          for arguments that are no arrays, and under forward mode; NotImplementedError under vmap.
        """
        paths, tree = tree_flatten_with_path((args, kwargs))
        if tree != self.in_tree:
            raise ValueError(
                "The invocation args and kwargs must have the same pytree structure as when the "
                f"function '{self.fun_name}' was exported, but it was exported for {self.in_tree} "
                f"and called with {tree}")
        leaves = []
        for (path, x), aval in zip(paths, self.in_avals, strict=True):
            if self._fits(path, x, aval):
                leaves.append(x)
        made = iter(self._program(*leaves))
        return tree_unflatten(self.out_tree, [
            np.zeros(a.shape, float0) if a.dtype == float0 else next(made)
            for a in self.out_avals])

    def _fits(self, path: Sequence[Any], x: Any, aval: Aval) -> bool:
        """Refuse an argument of another type; whether the program may take it (float0 arrays hold
        nothing)."""
        if is_float0(x):
            shape, dtype = x.shape, float0
        else:
            t, _ = kind_of(self.fun_name, x)
            shape, dtype = t.shape, key_dtype(t.dtype) if t.dtype.is_key else t.dtype.numpy
        if shape == aval.shape and dtype == aval.dtype:
            return dtype != float0
        name = ("args", "kwargs")[path[0].idx] + keystr(tuple(path[1:]))
        if dtype != aval.dtype:
            raise ValueError(f"Dtype mismatch for {name}: expected {aval.dtype.name} and called "
                             f"with {getattr(dtype, 'name', dtype)}")
        differing = [i for i, (a, b) in enumerate(zip(aval.shape, shape, strict=False)) if a != b]
        where = f".shape[{differing[0]}]" if differing and len(shape) == len(aval.shape) else ""
        raise ValueError(f"Shape mismatch for {name}{where} (expected same constant): expected "
                         f"{aval.shape} and called with {shape}")

    @functools.cached_property
    def _program(self) -> Callable[..., list[Any]]:
        """The program as a function of its flat arguments, without those of dtype float0."""
        real = [a for a in self.in_avals if a.dtype != float0]
        outs = [a for a in self.out_avals if a.dtype != float0]
        places = {i: k for k, i in enumerate(
            [i for i, a in enumerate(self.in_avals) if a.dtype != float0])}
        kept = [places[i] for i in self.module_kept_var_idx]
        attrs = dict(name=self.fun_name, platforms=self.platforms,
                     params=tuple([type_of(real[k]) for k in kept]),
                     results=tuple([type_of(a) for a in outs]),
                     module=Literal(np.frombuffer(self.mlir_module_serialized, np.uint8)),
                     anywhere=DisabledSafetyCheck.platform() in self.disabled_safety_checks)

        def run(*leaves: Any) -> list[Any]:
            made = emit(ops.call_exported, *[as_operand(leaves[k]) for k in kept], **attrs)
            for x, a in zip(made, outs, strict=True):
                x.weak = a.weak_type
            return list(made)

        def back(leaves: tuple, cotangents: list[Any]) -> tuple:
            given = [ct for ct, a in zip(cotangents, outs, strict=True) if type_of(a).is_inexact]
            made = iter(self.vjp()._program(*leaves, *given))
            return tuple([next(made) if type_of(a).is_inexact else None for a in real])

        run.__name__ = run.__qualname__ = self.fun_name
        ruled = _Called(run, self)
        ruled.defvjp(lambda *leaves: (ruled(*leaves), leaves), back)
        return jit(ruled)

    # --- bytes ----------------------------------------------------------------------------

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The program as bytes that `deserialize` reads, in any process and in later versions.

        Args:
          vjp_order: how often the program can be differentiated after it is read.
        Raises: ValueError for a negative or fractional order, for trees with classes that are not
          registered, and where there are fewer VJPs; TypeError for dicts whose keys are not
          strings.

        >>> exported = export.export(jax.jit(jnp.sin))(1.0)
        >>> again = export.deserialize(exported.serialize(vjp_order=1))
        >>> jax.grad(again.call)(0.0)
        Array(1., dtype=float32, weak_type=True)
        """
        if not isinstance(vjp_order, int) or isinstance(vjp_order, bool) or vjp_order < 0:
            raise ValueError(f"Exported.serialize: vjp_order must be an int from 0 on, got "
                             f"{vjp_order!r}")
        header = {
            "fun_name": self.fun_name, "nr_devices": self.nr_devices,
            "in_tree": written_tree(self.in_tree), "out_tree": written_tree(self.out_tree),
            "in_avals": _written(self.in_avals), "out_avals": _written(self.out_avals),
            "platforms": self.platforms, "kept": self.module_kept_var_idx,
            "disabled_checks": [c._impl for c in self.disabled_safety_checks],
            "calling_convention_version": self.calling_convention_version}
        blobs = [self.mlir_module_serialized]
        if vjp_order:
            blobs.append(bytes(self.vjp().serialize(vjp_order - 1)))
        return bytearray(BYTES.write(header, blobs))


def of_one_device(name: str, in_tree: PyTreeDef, in_avals: Sequence[Aval], out_tree: PyTreeDef,
                  out_avals: Sequence[Aval], platforms: Sequence[str],
                  disabled: Sequence[DisabledSafetyCheck], module: bytes, kept: Sequence[int],
                  get_vjp: Callable[[Exported], Exported] | None,
                  version: int = maximum_supported_calling_convention_version) -> Exported:
    """The Exported of a program for one device."""
    ins, outs = (None,) * len(in_avals), (None,) * len(out_avals)
    return Exported(name, in_tree, tuple(in_avals), out_tree, tuple(out_avals), True, ins, outs,
                    ins, outs, 1, tuple(platforms), (), (), tuple(disabled), module, version,
                    tuple(kept), len(platforms) > 1, get_vjp)


def _check_mesh(mesh: Any) -> None:
    if not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"Exported: mesh must be a Mesh or an AbstractMesh, got {mesh!r} of type "
                        f"{type(mesh).__name__}")


def _written(avals: Sequence[Aval]) -> list[Any]:
    return [["float0" if a.dtype == float0 else type_of(a).dtype.name, a.shape, a.weak_type]
            for a in avals]


def deserialize(blob: bytes | bytearray) -> Exported:
    """The exported program that `Exported.serialize` wrote.

    The program itself is read when it is first called or shown. It is compiled and run then, so
    take bytes only from where you would take a program.

    Raises: TypeError where `blob` is not bytes; ValueError where it is damaged, of a version that
      is not read here (the message names both), or names a class of trees that is not registered.

    >>> exported = export.export(jax.jit(lambda x: x + 1))(jnp.ones(2))
    >>> export.deserialize(exported.serialize()).call(jnp.zeros(2))
    Array([1., 1.], dtype=float32)
    """
    header, blobs = BYTES.read(blob)
    try:
        return _read(header, blobs)
    except (KeyError, IndexError, TypeError, AttributeError, IRError, RecursionError) as e:
        raise ValueError(f"an exported program is malformed: {type(e).__name__}: {e}") from e


def _read(header: dict[str, Any], blobs: list[bytes]) -> Exported:
    version = header["calling_convention_version"]
    if not (minimum_supported_calling_convention_version <= version
            <= maximum_supported_calling_convention_version):
        raise ValueError(
            f"The program uses version {version} of the calling convention; this xfront reads "
            f"{minimum_supported_calling_convention_version} to "
            f"{maximum_supported_calling_convention_version}")
    if header["nr_devices"] != 1 or len(blobs) not in (1, 2):
        raise ValueError(f"The program is for {header['nr_devices']} devices and has {len(blobs)} "
                         "parts; this xfront reads programs for one device")
    ins, outs = (_avals(header[k]) for k in ("in_avals", "out_avals"))
    in_tree, out_tree = read_tree(header["in_tree"]), read_tree(header["out_tree"])
    platforms, kept = [str(p) for p in header["platforms"]], header["kept"]
    if (in_tree.num_leaves, out_tree.num_leaves) != (len(ins), len(outs)) or not platforms or any(
            type(i) is not int or not 0 <= i < len(ins) or ins[i].dtype == float0 for i in kept):
        raise ValueError("an exported program is malformed: its types do not fit its trees")
    checks = [DisabledSafetyCheck(str(c)) for c in header["disabled_checks"]]
    get_vjp = None
    if len(blobs) == 2:
        get_vjp = _Stored(blobs[1])
    return of_one_device(str(header["fun_name"]), in_tree, ins, out_tree, outs, platforms, checks,
                         blobs[0], kept, get_vjp, version)


class _Stored:
    """The VJP that was written beside a program."""

    def __init__(self, blob: bytes) -> None:
        self.blob = blob

    def __call__(self, _: Exported) -> Exported:
        return deserialize(self.blob)

    def fingerprint(self, _: Any) -> bytes:
        """The bytes that tell this program apart."""
        return b"stored" + self.blob


def _avals(written: Any) -> list[Aval]:
    found = []
    for name, shape, weak in written:
        if any(type(n) is not int or n < 0 for n in shape):
            raise ValueError(f"an exported program is malformed: shape {shape}")
        if name == "float0":
            found.append(binding.AbstractArray(tuple(shape), float0))
        else:
            found.append(aval_of(tensor(tuple(shape), ir_dtypes.named(name)), bool(weak)))
    return found


def aval_of(t: TensorType, weak: bool) -> Aval:
    """The public form of an IR type."""
    dtype = key_dtype(t.dtype) if t.dtype.is_key else t.dtype.numpy
    return binding.AbstractArray(t.shape, dtype, weak)


def type_of(aval: Aval) -> TensorType:
    """The IR type of arrays of a public type, which is not that of float0 arrays."""
    return tensor(aval.shape, getattr(aval.dtype, "ir", None) or aval.ir.dtype)


__all__ = ["Exported", "deserialize", "maximum_supported_calling_convention_version",
           "minimum_supported_calling_convention_version"]
