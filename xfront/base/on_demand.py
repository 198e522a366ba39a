"""Packages whose names are imported on first use, so that a start loads only what it uses.

    __all__, __getattr__, __dir__ = on_demand(__name__, {"sorting": "sort argsort", ...})

The table says which module of the package defines a name; `abs=absolute` says that the module calls
it by another name. The package keeps each value, so that it is looked up once.
"""

from __future__ import annotations
import __future__

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from ..binding.tracebacks import front_door, is_front_door

loaded_names = vars(ModuleType)["__dict__"].__get__
"""The names that a module has now, in its own dictionary: `vars(module)` of one that is `Complete`
would import all its names first."""


class Complete(ModuleType):
    """A package of `on_demand` whose `__dict__` has all its names, which are imported when someone
    reads that. Only programs that read `vars(jax.numpy)` pay for it: see `complete`."""

    @property
    def __dict__(self) -> dict[str, Any]:
        for name in loaded_names(self)["__all__"]:
            getattr(self, name)
        return loaded_names(self)

    def __dir__(self) -> list[str]:
        return loaded_names(self)["__dir__"]()   # ModuleType's own reads `__dict__`


def complete(module: ModuleType) -> ModuleType:
    """The module; where it has names that are not imported yet, as a `Complete`."""
    names = loaded_names(module)
    if type(module) is ModuleType and not names.keys() >= {*names.get("__all__", ())}:
        module.__class__ = Complete
    return module


def on_demand(
    package: str, families: Mapping[str, str], submodules: tuple[str, ...] = (),
    otherwise: Callable[[str], Any] | None = None, *, quick: str = "",
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package.

    Args:
      package: the `__name__` of the package.
      families: public names, with spaces between, by the module of the package that has them;
        one that begins with a dot is of the package above.
      submodules: public modules of the package, which are imported when they are first read too.
      otherwise: function that returns the value of any other name, or None. `__dir__` does not
        show such names.
      quick: names of functions that take less than a microsecond or two, and so stay unchanged.
        All other plain functions become front doors: see `xfront.binding.tracebacks`.
    """
    homes: dict[str, tuple[str, str]] = {}
    for family, names in families.items():
        for name in names.split():
            public, _, written = name.partition("=")
            homes[public] = family, written or public
    public_names = [*homes, *submodules]
    as_written = frozenset(quick.split())
    hidden: set[str] = set()

    def __getattr__(name: str) -> Any:
        home = homes.get(name)
        if home is not None:
            value = getattr(import_module(f".{home[0]}", package), home[1])
            if type(value) is FunctionType and name not in as_written:
                value = _as_shown(value, package, name)
        elif name in submodules:
            value = import_module(f"{package}.{name}")
        else:
            found = None if otherwise is None else otherwise(name)
            if found is None:
                raise absent(package, name, __dir__)
            hidden.add(name)
            value = found
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        here = loaded_names(sys.modules[package])
        return sorted({*public_names, *[name for name in here if name not in hidden
                                        and _is_shown(name, here[name])]})

    return public_names, __getattr__, __dir__


_ABOVE: dict[str, str] = {}


def offer(package: str, modules: Mapping[str, str]) -> None:
    """Let `above` find modules of a package by short names. The package that offers them is above
    all of them."""
    _ABOVE.update({name: f"{package}.{module}" for name, module in modules.items()})


def above(name: str) -> Any:
    """A module above the file that asks for it, by its name in `xfront/__init__.py`. It is imported
    when it is first asked for; a file below it must not import it."""
    module = _ABOVE[name]
    return sys.modules.get(module) or import_module(module)


def _is_shown(name: str, value: Any) -> bool:
    """Whether a package shows a name that is not in its table. Modules and names for its own use
    are not shown."""
    return name.startswith("__") or not (
        name.startswith("_") or name == "TYPE_CHECKING" or value is on_demand
        or isinstance(value, ModuleType | __future__._Feature))


def shown(module: dict[str, Any]) -> Callable[[], list[str]]:
    """The `__dir__` of a public module: the names in its `__all__`, and Python's dunder names.

        __dir__ = shown(globals())

    A module without a `__getattr__` gets one, which names the nearest match for a missing name.
    """
    def __dir__() -> list[str]:
        return sorted({*module["__all__"], *[name for name in module if name.startswith("__")]})

    def __getattr__(name: str) -> Any:
        raise absent(module["__name__"], name, __dir__)

    module.setdefault("__getattr__", __getattr__)
    return __dir__


def public(name: str, module: dict[str, Any]) -> None:
    """Let what a file has in its `__all__` say that it is of the public module `name`, from which
    users import it: tracebacks, pickles and documentation show where an object comes from. That
    module must be loaded whenever this file is, or there is no such place for a pickle.

        public("xfront.errors", globals())
    """
    for value in map(module.__getitem__, module["__all__"]):
        if getattr(value, "__module__", None) == module["__name__"]:
            value.__module__ = name


def absent(module: str, name: str, here: Callable[[], Iterable[str]]) -> Exception:
    """The error that a module's `__getattr__` raises for a missing name.

    It is an AbsentAttribute. For `from module import name`, which would hide the message of that,
    it is an ImportError with the same message.
    """
    from opcode import opmap  # late: few programs ask for a missing name

    frame = sys._getframe(2)                     # the code that uses the module
    if frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]:
        from .absent import sentence  # late: as above

        return ImportError(sentence(module, name, here()), name=module)
    return AbsentAttribute(module, name, here)


class AbsentAttribute(AttributeError):
    """A module has no such name. The message says whether JAX has the name and which name is
    nearest. It is built only when it is read, because `hasattr` raises this error too."""

    def __init__(self, module: str, absent: str, here: Callable[[], Iterable[str]]) -> None:
        super().__init__(f"module {module!r} has no attribute {absent!r}")
        self.module, self.absent, self.here = module, absent, here

    def __str__(self) -> str:
        from .absent import sentence  # late: few programs ask for a missing name

        return sentence(self.module, self.absent, self.here())

    def __reduce__(self) -> tuple:
        return AttributeError, (str(self),)


def _as_shown(function: Any, package: str, name: str) -> Any:
    """The front door of a function in a package, which pickle finds under `name`."""
    facts = vars(function)
    if "body" in facts or is_front_door(function) or not function.__module__.startswith("xfront"):
        return function                          # a function of `eager` is a front door already
    if "shown" not in facts:                     # one object under all its names
        made = function.shown = front_door(function)
        made.__module__, made.__qualname__ = package, name
    return facts["shown"]
