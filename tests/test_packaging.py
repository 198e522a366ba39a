"""What is built and installed is whole: the wheel, and the notebook, which installs it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("xfront", "xfront_ir", "lowering")
NOTEBOOK = ROOT / "examples" / "first_steps.ipynb"


def run(*command: str, cwd: Path) -> str:
    """What a command prints. Fails with what it says on the other stream."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_in_use() -> set[str]:
    """Files of the packages, as the wheel names them."""
    found = (path for package in PACKAGES for path in (ROOT / package).rglob("*.*"))
    names = {path.relative_to(ROOT) for path in found if path.is_file()}
    return {str(name) for name in names if name.suffix != ".pyc" and name.name != "ruff.toml"
            and ".ruff_cache" not in name.parts}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: building leaves files beside the sources."""
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("made")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package,
                        ignore=shutil.ignore_patterns("__pycache__", ".ruff_cache"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(made),
        str(source), cwd=source)
    (found,) = made.glob("xfront-*.whl")
    return found


@pytest.mark.slow
def test_the_wheel_holds_every_file_and_nothing_else(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == files_in_use()


@pytest.mark.slow
def test_what_the_wheel_installs_works(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "installed"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place),
        str(wheel), cwd=tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import xfront, xfront.numpy as jnp\n"
        "assert xfront.__file__.startswith(sys.argv[1]), xfront.__file__\n"
        "print(xfront.jit(xfront.grad(lambda x: jnp.sin(x) * x))(1.0))\n"
        "xfront.install_as_jax()\n"
        "import jax; print(jax.vmap(jax.numpy.sum)(jnp.ones((2, 3))))"
    )
    assert run(sys.executable, "-c", program, str(place), cwd=tmp_path) == "1.3817732\n[3. 3.]\n"


@pytest.mark.slow
def test_first_steps_are_executed(tmp_path: Path) -> None:
    """Each cell of the notebook runs; the line that is fitted is found."""
    stored = json.loads(NOTEBOOK.read_text())
    assert not [cell for cell in stored["cells"] if cell.get("outputs")], "outputs are not kept"
    program = (
        "import sys, nbformat, nbclient\n"
        "book = nbformat.read(sys.argv[1], 4)\n"
        "nbclient.NotebookClient(book, timeout=200, kernel_name='python3').execute()\n"
        "nbformat.write(book, sys.argv[2])"
    )
    run(sys.executable, "-c", program, str(NOTEBOOK), str(tmp_path / "executed.ipynb"), cwd=ROOT)
    cells = json.loads((tmp_path / "executed.ipynb").read_text())["cells"]
    shown = "\n".join(
        "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
        for cell in cells for output in cell.get("outputs", ())
    )
    for text in ("slope 3.0", "func @", "stablehlo.", "Write jnp.where", "Array([[2., 0.]"):
        assert text in shown, shown
