"""The guard that keeps the real jax and xfront out of one process, whichever is imported second.

Both fill the same process-wide slots of jaxlib. A module named jax that is xfront itself (the same
object, a module with the attribute `_xfront_alias`, a package with the file `_xfront_alias.py`)
may load.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import threading
import types

_BESIDE = (
    "xfront and jax cannot live in one process: both put their methods on jaxlib's array class. "
)
_NOW_JAX = _BESIDE + (
    "xfront is loaded here, so `import jax` is refused. Import from xfront instead "
    "(`import xfront as jax, xfront.numpy as jnp`), or run the part that needs jax in a process "
    "of its own and exchange NumPy arrays."
)
_NOW_XFRONT = _BESIDE + (
    "jax is loaded here already, so xfront is refused. Import xfront before anything that imports "
    "jax and replace those imports, or use a process of its own and exchange NumPy arrays."
)
MARKER = "_xfront_alias"  # an attribute of modules, or a file in packages, that stand for xfront


def is_own_module(module: types.ModuleType) -> bool:
    """Whether a module, whatever its name, is xfront itself or stands for it."""
    name = getattr(module, "__name__", "")
    return name.partition(".")[0] == "xfront" or hasattr(module, MARKER)


def _is_own_spec(spec: importlib.machinery.ModuleSpec) -> bool:
    places = spec.submodule_search_locations or ()
    return any(os.path.exists(os.path.join(p, MARKER + ".py")) for p in places)


def refuse_beside_jax(array_class: type) -> None:
    """Raise ImportError where the real jax is loaded in this process."""
    loaded = sys.modules.get("jax")
    if loaded is not None and not is_own_module(loaded):
        raise ImportError(_NOW_XFRONT, name="xfront")
    add = array_class.__dict__.get("__add__")  # jax may have left sys.modules, but not its methods
    if add is not None and str(getattr(add, "__module__", "")).startswith("jax."):
        raise ImportError(_NOW_XFRONT, name="xfront")


class _Refusal:
    """The loader of a jax that must not load; code can still ask whether jax is installed."""

    def create_module(self, spec: object) -> types.ModuleType:
        raise ImportError(_NOW_JAX, name="jax")

    def exec_module(self, module: types.ModuleType) -> None:
        raise ImportError(_NOW_JAX, name="jax")


class _JaxFinder(threading.local):
    """The finder of `jax`. It refuses the real one, and answers jaxlib's own attempts without a
    search (inside `without_jax`, where C++ tries the import at each call)."""

    quick = 0

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "jax":
            return None
        if self.quick:
            raise ModuleNotFoundError(name, name=name)
        for finder in sys.meta_path:
            if finder is self or (find := getattr(finder, "find_spec", None)) is None:
                continue
            spec = find(name, None)
            if spec is not None:
                if not _is_own_spec(spec) and spec.origin is not None:
                    spec.loader = _Refusal()  # type: ignore[assignment]
                return spec
        return None

    def __enter__(self) -> None:
        self.quick += 1

    def __exit__(self, *exc: object) -> None:
        self.quick -= 1


without_jax = _JaxFinder()


def install_finder() -> None:
    """Have `import jax` refused from now on, unless it finds what stands for xfront."""
    if without_jax not in sys.meta_path:
        sys.meta_path.insert(0, without_jax)  # type: ignore[arg-type]
