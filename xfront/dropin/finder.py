"""The finder of `jax` and its modules, and the module `jax` itself.

`jax.numpy` *is* `xfront.numpy`: no module is loaded twice, so functions, classes and registries
are the same under both names. Its names are imported when they are first read, and all of them
for `vars(jax.numpy)`. The module `jax` is xfront with a version of its own: a name that is read
becomes its attribute, and what is set or deleted on one of the two is set or deleted on both.
Private modules (`jax._src.core`) are views: see `private.py`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from lowering.compat import JAXLIB_VERSION

from ..base.absent import AbsentModule, is_public_module, sentence
from ..base.config import follow_environment
from ..base.on_demand import complete, loaded_names
from ..binding import beside
from ..tracing.tracer import Tracer
from . import private, stand_ins

xfront = sys.modules[__name__.partition(".")[0]]
"""The package that this file is part of, which is there before any of its files."""

API_LEVEL = JAXLIB_VERSION
"""`jax.__version__`: the version of JAX that belongs to the jaxlib which runs. Names and parameters
are those of the oldest and the newest supported one together."""


class _Jax(ModuleType):
    """The module `jax`: xfront with a few names of its own.

    What is asked for absent names is in its dictionary (`_jax`): a method `__getattr__` would make
    every attribute slower.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        own = (name.startswith("__") or name in private.OF_JAX_ALONE
               or isinstance(value, stand_ins.StandIn))
        (super() if own else xfront).__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        own = name.startswith("__") or name not in vars(xfront)
        (super() if own else xfront).__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(xfront), *(vars(self).keys() - vars(xfront).keys())})


class _Xfront(ModuleType):
    """The module `xfront` beside `jax`, which has its names too."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if not name.startswith("__"):
            vars(_jax())[name] = value

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        if not name.startswith("__"):
            vars(_jax()).pop(name, None)


def _first_read(name: str) -> Any:
    """A name of `jax` that it has not read yet; it keeps what xfront keeps."""
    if name in private.OF_JAX_ALONE or (
            f"jax.{name}" in stand_ins.MODULES and not hasattr(xfront, name)):
        return importlib.import_module(f"jax.{name}")
    found = getattr(xfront, name)
    if isinstance(found, ModuleType):
        complete(found)
    if name in vars(xfront) and not name.startswith("__"):
        vars(_jax())[name] = found
    return found


@functools.cache
def _jax() -> ModuleType:
    made = _Jax("jax", xfront.__doc__)
    vars(made).update({
        beside.MARKER: True, "__version__": API_LEVEL, "__path__": [],
        "__version_info__": _numbers(API_LEVEL),
        "__file__": xfront.__file__, "__getattr__": _first_read,
        "__all__": [n for n in dir(xfront) if not n.startswith("_")],
    })
    xfront.__class__ = _Xfront  # type: ignore[attr-defined]
    return made


def _numbers(version: str) -> tuple[int, ...]:
    return tuple([int(part) for part in version.split(".") if part.isdigit()])


def _make_jax() -> ModuleType:
    follow_environment()
    made = _jax()
    for name in ("core", "tree", "tree_util"):   # `import jax` imports these for libraries, too
        module = sys.modules.get(f"xfront.{name}")
        if module is not None:
            sys.modules.setdefault(f"jax.{name}", complete(module))
    return made


class _Loader(importlib.abc.Loader):
    """Loads a module that exists already, and leaves the facts about its own import unchanged."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        if self.spec is not None:
            module.__spec__ = self.spec


class _Finder(importlib.abc.MetaPathFinder):
    """Finds `jax` and the modules under it; for a missing one, the import error says so plainly."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != "jax" and not fullname.startswith("jax."):
            return None
        if beside.without_jax.quick:
            raise ModuleNotFoundError(fullname, name=fullname)
        module = _make_jax() if fullname == "jax" else module_of(fullname)
        if module is None:
            parent, _, name = fullname.rpartition(".")
            around = sys.modules.get(parent)
            if around is not None and name in loaded_names(around):
                return None                      # `from jax.x import name` finds the attribute
            if _is_asked_only():
                return None
            raise _not_found(fullname)
        made = importlib.machinery.ModuleSpec(
            fullname, _Loader(module), origin=getattr(module, "__file__", None),
            is_package=hasattr(module, "__path__"))
        return made


    def find_distributions(self, context: Any = None) -> Iterator[Any]:
        """The distribution `jax`, for programs that ask `importlib.metadata` for its version."""
        if getattr(context, "name", None) == "jax":
            from .metadata import Jax  # few programs ask

            yield Jax(API_LEVEL)


class _LastFinder(importlib.abc.MetaPathFinder):
    """The last finder for modules of xfront: `from jax.numpy import name` looks for the module
    `xfront.numpy.name`, because that is the package's own name."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("xfront."):
            return None
        found = stand_ins.stand_in("jax" + fullname.removeprefix("xfront"))
        if found is None:
            if _is_asked_only():
                return None
            raise _not_found(fullname)
        return importlib.machinery.ModuleSpec(fullname, _Loader(found), is_package=True)


def _is_asked_only() -> bool:
    """Whether `importlib.util.find_spec` has called a finder, not an import: it is to give None for
    a module that there is not."""
    util, frame = sys.modules.get("importlib.util"), sys._getframe(1)
    asking = () if util is None else (util.find_spec.__code__,)
    for _ in range(3):                           # the finder, importlib's loop over finders, and it
        if frame.f_back is None:
            return False
        frame = frame.f_back
        if frame.f_code in asking:
            return True
    return False


def _not_found(name: str) -> AbsentModule:
    parent, _, last = name.rpartition(".")
    around = sys.modules.get(parent)
    # no `name=`: Python hides an ImportError whose `name` is that of the from-import
    return AbsentModule(sentence(parent, last, dir(around) if around else ()))


def module_of(name: str) -> ModuleType | None:
    """The module that stands for one of JAX's modules here; None where no module does."""
    found = private.view(name)
    if found is not None:
        return found
    if not is_public_module(name):
        return None                              # xfront has modules that JAX does not have
    own = "xfront" + name.removeprefix("jax")
    try:
        return complete(importlib.import_module(own))
    except ModuleNotFoundError as error:
        if error.name is not None and not own.startswith(error.name):
            raise
        return stand_ins.stand_in(name)


def install_as_jax() -> None:
    """Have `import jax`, and imports from its modules, find xfront from now on in this process.

    Call it before anything imports jax. A second call does nothing. A `jax` package that is
    installed too is ignored afterwards.

    Raises: ImportError where the real jax, or part of it, is loaded already.

    >>> xfront.install_as_jax()
    >>> import jax.numpy
    >>> jax.numpy is xfront.numpy
    True
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for name in ("jax", "jax.numpy", "jax._src"):
        loaded = sys.modules.get(name)
        if loaded is not None and not beside.is_own_module(loaded):
            raise ImportError(
                f"install_as_jax: {name} is imported already, from "
                f"{getattr(loaded, '__file__', 'elsewhere')}. Call it at the start of the program, "
                "before anything imports jax, or run the program with `python -m xfront`.",
                name="jax")
    beside.install_finder()
    Tracer.__module__ = "jax.core"               # libraries choose a backend by a class's module
    sys.meta_path.insert(0, _Finder())
    sys.meta_path.append(_LastFinder())


def path_for_children() -> str:
    """A folder for PYTHONPATH, with which a new Python process finds xfront as `jax`."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "path")
