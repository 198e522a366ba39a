"""Messages about a missing name: whether JAX has it, and which name is nearest to it."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from importlib import resources


class PublicModule:
    """The public names of one of JAX's modules, and whether they exist here.

    Fields: `names`; `scope`, which is "in", "as used by libraries" or "out".
    """

    __slots__ = ("names", "scope")

    def __init__(self, names: frozenset[str], scope: str) -> None:
        self.names, self.scope = names, scope


_SCOPES = {"~": "as used by libraries", "!": "out"}


@functools.cache
def public_modules() -> dict[str, PublicModule]:
    """JAX's public modules by name, such as `jax.numpy`."""
    found, lines = {}, []
    for line in resources.files("xfront").joinpath("public_names.txt").read_text().splitlines():
        if line.startswith("  "):
            lines[-1] += line[1:]
        elif not line.startswith("#"):
            lines.append(line)
    for line in lines:
        module, _, names = line.partition(": ")
        scope = _SCOPES.get(module[0], "in")
        found[module.lstrip("~!")] = PublicModule(frozenset(names.split()), scope)
    return found


def is_public_module(name: str) -> bool:
    """Whether a name such as `jax.experimental` is, or begins, that of a public module of JAX."""
    return any(m == name or m.startswith(name + ".") for m in public_modules())


def nearest(name: str, among: Iterable[str]) -> str | None:
    """The name in `among` that is most similar to `name`; None where no name is similar."""
    import difflib  # only when something is absent

    found = difflib.get_close_matches(name, list(among), 1, 0.7)
    return found[0] if found else None


def sentence(module: str, name: str, here: Iterable[str]) -> str:
    """A sentence that says why `module` has no `name`.

    Args:
      module: the module's name under `jax` or `xfront`, such as `jax.lax`.
      name: the missing name.
      here: the names that the module has.
    """
    whole = f"{module}.{name}"
    jax_module = "jax" + module.removeprefix("xfront").removeprefix("jax")
    known = public_modules().get(jax_module)
    below = [m for key, m in public_modules().items()
             if (key + ".").startswith(f"{jax_module}.{name}.")]
    if name in REFUSED.get(jax_module, {}):
        return f"module {module!r} has no attribute {name!r}: {REFUSED[jax_module][name]}"
    if below or known is not None and name in known.names:
        out = all(m.scope == "out" for m in below or [known] if m)
        return f"{whole} is {'outside what xfront offers' if out else 'not in xfront yet'}"
    if name in REMOVED.get(jax_module, {}):
        return f"JAX has removed {whole}; use {REMOVED[jax_module][name]}"
    like = nearest(name, (n for n in here if not n.startswith("_")))
    if like is None:
        below = jax_module + "."
        modules = {m.removeprefix(below).partition(".")[0] for m in public_modules()
                   if m.startswith(below)}
        like = nearest(name, modules | (known.names if known is not None else set()))
    said = f"module {module!r} has no attribute {name!r}"
    return f"{said}; did you mean {like!r}?" if like else said


_TREE = "all flatten leaves map reduce structure transpose unflatten"
REMOVED = {
    "jax": {
        **{f"tree_{name}": f"jax.tree.{name}" for name in _TREE.split()},
        "abstract_arrays": "jax.core",
        "device_put_replicated": "jax.device_put with a sharding",
        "device_put_sharded": "jax.device_put with a sharding",
        "linear_util": "jax.extend.linear_util",
        "xla_computation": "jax.jit(f).lower(...).compiler_ir()",
        "KeyArray": "jax.Array",
    },
    "jax.numpy": {
        "DeviceArray": "jax.Array", "alltrue": "jnp.all", "cumproduct": "jnp.cumprod",
        "fix": "jnp.trunc", "in1d": "jnp.isin", "msort": "jnp.sort(x, axis=0)",
        "product": "jnp.prod", "row_stack": "jnp.vstack", "sometrue": "jnp.any",
        "trapz": "jnp.trapezoid",
    },
    "jax.random": {"KeyArray": "jax.Array", "PRNGKeyArray": "jax.Array"},
}
"""Names of older programs that JAX itself has removed, each with what to write instead."""


REFUSED = {
    "jax.lax": {
        "psum_scatter_start": "XLA begins exchanges early by itself; write lax.psum_scatter",
    },
    "jax.sharding": {
        "no_collectives": "what is exchanged over explicit axes is chosen while a program is "
                          "compiled; jit(f).lower(x).compile().as_text() shows it",
    },
    "jax.experimental.layout": {
        "explicit_layout": "arrays and programs have the platform's own layouts",
    },
    "jax.ffi": {
        "abstract_token": "effects are ordered by their place in programs, not by tokens",
    },
}
"""Names that JAX has and that will not be here, each with the reason."""


class AbsentModule(ModuleNotFoundError):
    """The module that a program imports does not exist here, whether or not JAX has it."""
