"""Private modules of JAX that libraries import nevertheless, and the modules that stand for them.

`jax._src.core` is a view: it looks a name up in several public modules here, one after the other.
A name that is read becomes an attribute of the view, the same object as in the public module; what
is set on a view is set there too.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from ..base.absent import AbsentModule
from ..base.on_demand import AbsentAttribute, loaded_names
from ..binding import beside

OF_JAX_ALONE = ("_src", "lib", "version")
"""Modules of `jax` for which xfront has no module of that name."""

_CORE = "core extend.core interpreters.partial_eval"
_LAX = "lax extend.core.primitives"
_MEANING = {
    "lib": "dropin.versions",
    "lib.xla_bridge": "dropin.versions extend.backend eager.devices",
    "lib.xla_client": "dropin.jaxlib_names",
    "lib.xla_extension": "dropin.jaxlib_names",
    "version": "dropin.versions",
    "_src": "",
    "_src.abstract_arrays": "core",
    "_src.ad_checkpoint": "ad_checkpoint extend.core.primitives",
    "_src.ad_util": "dropin.primitives_elsewhere interpreters.ad extend.core.primitives",
    "_src.api": ".",
    "_src.api_util": "api_util dropin.arguments",
    "_src.array": "dropin.jaxlib_names .",
    "_src.basearray": ".",
    "_src.callback": "lax.callbacks experimental extend.core.primitives",
    "_src.checkify": "experimental.checkify",
    "_src.compiler": "dropin.compiling",
    "_src.config": "base.config",
    "_src.core": _CORE,
    "_src.custom_batching": "custom_batching",
    "_src.custom_derivatives": "custom_derivatives",
    "_src.debugging": "debug",
    "_src.deprecations": "dropin.deprecations",
    "_src.dispatch": "dropin.dispatching",
    "_src.distributed": "dropin.processes distributed",
    "_src.dlpack": "dlpack",
    "_src.dtypes": "dtypes dropin.dtypes_elsewhere",
    "_src.earray": "experimental dropin.jaxlib_names",
    "_src.effects": "debug",
    "_src.errors": "errors",
    "_src.flatten_util": "flatten_util",
    "_src.image": "image",
    "_src.interpreters": "",
    "_src.interpreters.ad": "interpreters.ad dropin.derivatives",
    "_src.interpreters.batching": "interpreters.batching",
    "_src.interpreters.mlir": "interpreters.mlir",
    "_src.interpreters.partial_eval": "interpreters.partial_eval",
    "_src.interpreters.pxla": "interpreters.pxla dropin.dispatching",
    "_src.interpreters.xla": "interpreters.xla",
    "_src.lax": _LAX,
    "_src.lax.control_flow": _LAX,
    "_src.lax.convolution": _LAX,
    "_src.lax.lax": _LAX,
    "_src.lax.linalg": "lax.linalg extend.core.primitives",
    "_src.lax.parallel": _LAX,
    "_src.lax.slicing": _LAX,
    "_src.lib": "dropin.versions dropin.jaxlib_names",
    "_src.lib.xla_client": "dropin.jaxlib_names",
    "_src.linear_util": "extend.linear_util",
    "_src.literals": "dropin.literals",
    "_src.mesh": "sharding",
    "_src.monitoring": "monitoring",
    "_src.named_sharding": "dropin.placements sharding",
    "_src.nn": "nn",
    "_src.nn.functions": "nn",
    "_src.nn.initializers": "nn.initializers",
    "_src.numpy": "numpy",
    "_src.numpy.lax_numpy": "numpy",
    "_src.numpy.ufunc_api": "numpy",
    "_src.numpy.ufuncs": "numpy",
    "_src.numpy.util": "dropin.promotions",
    "_src.op_shardings": "sharding",
    "_src.partition_spec": "sharding",
    "_src.path": "",
    "_src.pjit": ". extend.core.primitives sharding",
    "_src.prng": "random extend.random extend.core.primitives",
    "_src.public_test_util": "test_util dropin.comparing",
    "_src.random": "random extend.core.primitives",
    "_src.scipy": "scipy",
    "_src.scipy.special": "scipy.special",
    "_src.sharding": "sharding",
    "_src.sharding_impls": "dropin.placements sharding",
    "_src.source_info_util": "extend.source_info_util",
    "_src.stages": "stages",
    "_src.state": "ref",
    "_src.state.discharge": "ref",
    "_src.state.types": "ref core",
    "_src.test_util": "test_util",
    "_src.traceback_util": "extend.source_info_util dropin.boundaries",
    "_src.tree_util": "tree_util dropin.tree_registry",
    "_src.typing": "typing .",
    "_src.util": "dropin.sequences",
    "_src.xla_bridge": "dropin.backends dropin.versions extend.backend eager.devices",
}
"""Modules of xfront (`.` is xfront itself) in which the names of a private module are looked up."""


class View(ModuleType):
    """A private module, whose names are found in the modules that stand for it, and are replaced
    there."""

    def __init__(self, name: str, places: str) -> None:
        super().__init__(name, f"What {name} means in xfront.")
        self.__dict__.update(
            {beside.MARKER: True, "__path__": [], "_places": tuple(places.split()),
             "_replaced": {}, "__getattr__": self._first_read})

    def _modules(self) -> list[ModuleType]:
        found = []
        for place in self.__dict__["_places"]:
            try:
                name = "xfront" if place == "." else f"xfront.{place}"
                found.append(importlib.import_module(name))
            except ModuleNotFoundError as error:
                if type(error) is not AbsentModule and not str(error.name).startswith("xfront"):
                    raise
        return found

    def _first_read(self, name: str) -> Any:
        if name.startswith("__") and not name.startswith("__version"):
            raise AttributeError(name)
        for module in self._modules():
            try:
                found = getattr(module, name)
            except AttributeError:
                continue
            if name in loaded_names(module):     # else the module computes it at each reading
                self.__dict__[name] = found
            return found
        below = f"{self.__name__}.{name}".removeprefix("jax.")
        if below in _MEANING:
            return importlib.import_module(f"jax.{below}")
        raise AbsentAttribute(self.__name__, name, self.__dir__)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__") and not isinstance(value, ModuleType):
            for module in self._modules():
                if hasattr(module, name):
                    self._replaced.setdefault(name, (module, getattr(module, name)))
                    setattr(module, name, value)
                    break
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        """Delete what was set; the public module has again what it had before."""
        super().__delattr__(name)
        if name in self._replaced:
            module, before = self._replaced.pop(name)
            setattr(module, name, before)

    def __dir__(self) -> list[str]:
        below = f"{self.__name__}.".removeprefix("jax.")
        return sorted({*(n for module in self._modules() for n in dir(module)),
                       *(n.removeprefix(below) for n in _MEANING if n.startswith(below))})


_VIEWS: dict[str, View] = {}


def view(name: str) -> View | None:
    """The view that stands for a private module of JAX (`jax._src.core`), or None."""
    places = _MEANING.get(name.removeprefix("jax."))
    if places is None:
        return None
    if name not in _VIEWS:
        _VIEWS[name] = View(name, places)
    return _VIEWS[name]
