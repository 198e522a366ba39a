"""What type checkers see: a user's project, the public signatures, the class of arrays."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import FunctionType
from typing import get_overloads

import pytest

import xfront as jax
import xfront.methods.of_arrays
import xfront.sharding.named
from xfront import binding

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "tests" / "user_project.py"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project alone in a folder, outside of this checkout and its settings."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "program.py").write_text(PROJECT.read_text())
    return folder


def checked(command: list[str], folder: Path) -> str:
    """What a checker prints of the project, run there on the packages of this interpreter."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True,
                          text=True, timeout=600)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_pyright_knows_the_types_of_a_users_project(project: Path) -> None:
    """Strict mode: nothing in it is unknown."""
    settings = {"typeCheckingMode": "strict", "reportMissingTypeStubs": "none",
                "extraPaths": [str(ROOT)]}
    (project / "pyrightconfig.json").write_text(json.dumps(settings))
    told = checked(["pyright", "--pythonpath", sys.executable, "program.py"], project)
    assert "0 errors" in told, told


@pytest.mark.slow
def test_mypy_knows_the_types_of_a_users_project(project: Path) -> None:
    pytest.importorskip("mypy")
    (project / "mypy.ini").write_text(f"[mypy]\nmypy_path = {ROOT}\nfollow_imports = silent\n"
                                      "strict = True\n")
    told = checked(["mypy", "program.py"], project)
    assert "no issues found" in told, told


def test_the_project_runs(project: Path) -> None:
    done = subprocess.run([sys.executable, str(project / "program.py")], capture_output=True,
                          text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_the_ir_is_checked_in_strict_mode() -> None:
    """All of it; lines that are excused from it become no more."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
    assert "xfront_ir" in settings["strict"]
    excused = [line for file in (ROOT / "xfront_ir").rglob("*.py")
               for line in file.read_text().splitlines() if re.search(r"# (type|pyright): ", line)]
    assert len(excused) <= 14, excused


def test_an_editable_install_is_a_path() -> None:
    """With packages under "" setuptools writes a .pth file; its other way is a finder in Python,
    which no checker runs, and which a folder of the name xfront beside a program comes before."""
    settings = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'^package-dir = \{ "" = "\." \}$', settings, re.MULTILINE)


# --- the class of arrays ------------------------------------------------------------------

def declared(name: str, file: str = "array_class.py") -> set[str]:
    """Names of the members of a class in a file for checkers."""
    tree = ast.parse((ROOT / "xfront" / "binding" / file).read_text())
    (found,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name]
    return {n.name for n in found.body if isinstance(n, ast.FunctionDef)} | {
        n.target.id for n in found.body
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}


INTERNAL = {"__hash__", "__repr__", "__str__", "__format__", "__hex__", "__oct__", "__setitem__",
            "__delitem__", "__reduce__", "__sizeof__", "__cuda_array_interface__", "__del__",
            "clone", "traceback", "platform", "flat", "device_buffer", "device_buffers",
            "__buffer__", "__release_buffer__", "unsafe_raw_buffer"}
"""Members that `object` has for checkers, that refuse, or that programs do not use; the last three
are of newer Pythons and of jaxlib 0.12."""


def test_checkers_know_the_members_of_arrays() -> None:
    runs = {n for n in vars(binding.ArrayImpl)
            if not n.startswith("_") or n.startswith("__")}
    runs = runs - set(dir(object)) | {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
    assert declared("Array") - runs == set()
    assert runs - declared("Array") - INTERNAL - {"__module__", "__dict__", "__doc__"} == set()


def test_checkers_know_the_updates_of_arrays() -> None:
    from xfront.numpy.indexed_updates import AtIndex

    assert {n for n in vars(AtIndex) if not n.startswith("_")} == declared("AtIndex")


@pytest.mark.parametrize("name", ["Device", "SingleDeviceSharding", "NamedSharding"])
def test_checkers_know_the_members_of_devices_and_shardings(name: str) -> None:
    told = declared(name, "placement_classes.py")
    if name != "Device":
        told |= declared("Sharding", "placement_classes.py")
    public = {n for n in told if not n.startswith("_")}
    runs = {n for n in dir(getattr(binding, name)) if not n.startswith("_")}
    runs -= {"get_stream_for_external_ready_events", "live_buffers", "poison_execution"}
    assert public == runs


# --- Any in public signatures ---------------------------------------------------------------

PACKAGES = ("", "numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "random", "image",
            "ops", "tree_util", "scipy.special", "scipy.linalg", "scipy.signal", "scipy.fft",
            "scipy.stats")
RECORD = ROOT / "tests" / "recorded" / "any_in_signatures.json"


def with_any(package: str) -> list[str]:
    """Public functions of a package with an argument or a result of which nothing is said."""
    module = jax
    for part in package.split(".") if package else ():
        module = getattr(module, part)
    names = getattr(module, "_names", None) or getattr(module, "__all__", None) or dir(module)
    found = set()
    for name in names:
        function = getattr(module, name)
        if name.startswith("_") or not isinstance(function, FunctionType):
            continue
        if not function.__module__.startswith("xfront"):
            continue
        own = inspect.unwrap(function)
        for seen in get_overloads(own) or [own]:     # checkers see the overloads alone
            notes = seen.__annotations__
            found |= {f"{name}({k})" for k, v in notes.items() if v in ("Any", "'Any'")}
    return sorted(found)


def test_any_stands_in_public_signatures_where_it_is_listed(update_golden: bool) -> None:
    """The list, by the reasons for which nothing can be said, is to shrink: `--update-golden`
    takes out what is gone, and what is new has to be put under a reason by hand."""
    found = {f"xfront.{p}.{n}" if p else f"xfront.{n}" for p in PACKAGES for n in with_any(p)}
    known = json.loads(RECORD.read_text())
    if update_golden:
        known = {why: [n for n in names if n in found] for why, names in known.items()}
        RECORD.write_text(json.dumps(known, indent=1) + "\n")
    assert found == {n for names in known.values() for n in names}
