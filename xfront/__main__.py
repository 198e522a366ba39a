"""Run a program that is written for JAX, unchanged.

    python -m xfront program.py [arguments]
    python -m xfront -m module [arguments]
    python -m xfront -c code [arguments]
    python -m xfront --path        a folder for PYTHONPATH with which `import jax` finds xfront

In the program, and in the Python processes that it starts, `import jax` finds xfront.
"""

from __future__ import annotations

import os
import runpy
import sys
from types import ModuleType

from .dropin.finder import install_as_jax, path_for_children


def _execute(source: str | bytes, file: str) -> None:
    """Run the text of a program as the main program, so that names in pickles are found."""
    main = ModuleType("__main__")
    main.__file__ = file if os.path.exists(file) else None
    main.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = main
    code = compile(source, file, "exec", dont_inherit=True)    # without this file's `annotations`
    exec(code, vars(main))


def _run_module(name: str, arguments: list[str]) -> None:
    sys.argv = [name, *arguments]
    sys.path.insert(0, os.getcwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run_code(code: str, arguments: list[str]) -> None:
    sys.argv = ["-c", *arguments]
    sys.path.insert(0, "")
    _execute(code, "<string>")


def _run_file(path: str, arguments: list[str]) -> None:
    sys.argv = [path, *arguments]
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.exit(f"python -m xfront: {path}: {error.strerror}")
    _execute(source, path)


_WITH_VALUE = {"-m": (_run_module, "the name of a module"), "-c": (_run_code, "a program's text")}


def main(arguments: list[str]) -> None:
    """Run `python -m xfront` with these arguments; see the top of this file."""
    first, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if first in ("-h", "--help"):
        print(__doc__)
        return
    if first == "--path":
        print(path_for_children())
        return
    if first.startswith("-") and first not in _WITH_VALUE or first in _WITH_VALUE and not rest:
        wanted = _WITH_VALUE.get(first, (None, ""))[1]
        sys.exit(f"python -m xfront: {first} needs {wanted}" if wanted
                 else f"python -m xfront: there is no option {first}\n{__doc__}")
    folder = path_for_children()
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, [
        os.environ.get("PYTHONPATH")])])
    install_as_jax()
    sys.path[0] = folder     # was where xfront was started; multiprocessing hands the path on
    if first in _WITH_VALUE:
        _WITH_VALUE[first][0](rest[0], rest[1:])
    else:
        _run_file(first, rest)


if __name__ == "__main__":
    main(sys.argv[1:])
