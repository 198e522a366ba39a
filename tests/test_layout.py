"""The house keeps its shape: imports go one way, files stay small, op families have both rooms.

The rules are those of CONTRIBUTING.md; each test collects every offending place before it fails.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import xfront.core
import xfront_ir.ops
from xfront_ir.traits import ELEMENTWISE

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("xfront_ir", "lowering", "xfront")
MAX_LINES = 800
MOST_LOADED = 202
"""Modules of the three packages that `import xfront, xfront.numpy` loads: what programs need."""

# What each package may import of its siblings.
BELOW = {"xfront_ir": (), "lowering": ("xfront_ir",), "xfront": ("xfront_ir", "lowering")}

# Floors of xfront_ir: a module imports its own floor or lower ones.
FLOORS = {
    "errors": 0,
    "dtypes": 1,
    "types": 2,
    "definition": 3,
    "traits": 4,
    "core": 4,
    "regions": 5,
    "opdef": 5,
    "builder": 6,
    "ops": 7,
    "passes": 7,
}
# Floors of xfront, from the lowest: a folder is a floor, and a file imports files of its own floor
# or of lower ones, at its top, in functions and for type checkers alike. One file stands higher
# than its folder. Methods and operators of Array, what Python asks of tracers and what runs single
# ops are attached from above.
FLOORS_OF_XFRONT = (
    ("binding",),            # jaxlib's classes, types of arrays, promotion, Python's frames
    ("base",),               # options, dtypes, trees, errors, logs
    ("values",),             # keys, references, commitment, formats
    ("tracing",),            # recording a Function
    ("sharding",),           # meshes, specs, shardings
    ("running",),            # programs: compiled, placed, launched
    ("eager",),              # front doors of functions that run at once
    ("transforms",),
    ("lax",),
    ("numpy",),
    ("composed", "lax.linalg"),   # of lax and the transformations: what is written in numpy
    ("methods",),            # what is put on Array and Tracer
    ("image", "nn", "random", "scipy"),
    ("",),                   # all else
)
# Of the ops, only the families with bodies, or with rules made of several ops, see the passes, and
# through one door.
BODY_FAMILIES = ("collective", "control", "custom", "custom_vmap", "families", "lanes",
                 "linear_call", "reduce_by_body", "refs", "shard_map",
                 "while_loop")
DOOR = "xfront_ir.passes.bodies"

# Families whose ops are resolved by passes and so have nothing to lower.
NOT_LOWERED = ("batch_methods", "families", "formulas", "lanes", "refs", "words")
# What lowering rules of several families are written with.
SHARED = ("complexes", "expressions", "narrow", "padding", "starts")

JAXLIB_ROOMS = ("lowering/", "xfront/binding/")


def sources(*folders: str) -> Iterator[Path]:
    """The Python files of the given folders of the project."""
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


@functools.cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), str(path))


@functools.cache
def imports(path: Path, checked: bool = False) -> list[tuple[int, str]]:
    """(line, absolute dotted name) of everything that a file imports, wherever in it; with
    `checked`, what it imports for type checkers alone too."""
    package = list(path.relative_to(ROOT).with_suffix("").parts[:-1])
    tree = _parsed(path)
    found = []
    for node in ast.walk(tree) if checked else _running(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            found += [(node.lineno, f"{name}.{alias.name}") for alias in node.names]
    return found


def _running(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _running(child)


def place(path: Path, line: int | None = None) -> str:
    """Where a complaint is about, as `file:line`."""
    name = path.relative_to(ROOT).as_posix()
    return name if line is None else f"{name}:{line}"


def test_imports_between_packages_go_down() -> None:
    """xfront imports lowering and xfront_ir, lowering imports xfront_ir, xfront_ir neither."""
    wrong = [
        f"{place(path, line)}: {package} imports {name}"
        for package in PACKAGES
        for path in sources(package)
        for line, name in imports(path)
        if (top := name.partition(".")[0]) in PACKAGES
        and top != package
        and top not in BELOW[package]
    ]
    assert not wrong, "\n".join(wrong)


def _floor(module: str) -> int | None:
    parts = module.split(".")
    return FLOORS.get(parts[1]) if len(parts) > 1 else None


def _sizes_of_groups() -> set[str]:
    """The attributes that say how large a group of operands is."""
    return {
        size
        for definition in xfront_ir.ops.REGISTRY.values()
        if definition.regions is not None
        for size in definition.regions.operands.values()
        if isinstance(size, str)
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_sizes_of_groups_of_operands_are_read_in_one_module(package: str) -> None:
    """Ops declare the groups of their operands; what these sizes are, and so where a group begins,
    xfront_ir/regions.py alone knows."""
    sizes, wrong = _sizes_of_groups(), []
    assert {"n_consts", "n_carry", "n_linear"} <= sizes
    for path in sources(package):
        for node in ast.walk(_parsed(path)):
            if isinstance(node, ast.Subscript):
                name = node.slice.value if isinstance(node.slice, ast.Constant) else None
            elif isinstance(node, ast.keyword):
                name = node.arg if node.arg and node.arg.startswith("n_") else None
            else:
                continue
            if name in sizes:
                wrong.append(f"{place(path, node.lineno)}: {name}")
    assert not wrong, "\n".join(wrong)


def test_nothing_decides_by_the_name_of_an_op() -> None:
    """What is true of an op stands on its definition: no pass, form or cost compares its name or
    the path of its file."""
    wrong = [
        f"{place(path, node.lineno)}: {ast.unparse(node)}"
        for path in sources(*PACKAGES)
        for node in ast.walk(_parsed(path))
        if isinstance(node, ast.Compare)
        and any(_is_of_definition(part) for part in (node.left, *node.comparators))
    ]
    assert not wrong, "\n".join(wrong)


def _is_of_definition(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ("name", "family")
        and ast.unparse(node.value).endswith("definition")
    )


def _op_emitted(node: ast.AST) -> str:
    """The name of the op that an expression emits by hand, or an empty text."""
    if not (isinstance(node, ast.Call) and node.args):
        return ""
    function, op = ast.unparse(node.func), ast.unparse(node.args[0])
    if not function.endswith(".emit") and not (function == "emit" and op.startswith("ops.")):
        return ""
    return op.removeprefix("lookup(").removeprefix("ops.").strip("'\")_")


def _emitted(node: ast.AST) -> bool:
    """Whether an expression emits one of the elementwise ops by hand."""
    found = xfront_ir.ops.REGISTRY.get(_op_emitted(node))
    return found is not None and ELEMENTWISE in found.traits


def test_formulas_are_written_in_one_notation() -> None:
    """Mathematics is written with operators: on Terms (`ops/formulas.py`) in the rules of ops, in
    passes and in forms, on tracers in public functions. No elementwise op is emitted by hand of
    what another gives."""
    for text in ("b.emit(lookup('add'), x, y)", "b.emit(ops.and_, x, y)", "emit(ops.add, x, y)"):
        assert _emitted(ast.parse(text, mode="eval").body)
    wrong = [
        f"{place(path, node.lineno)}: {ast.unparse(node)}"
        for path in sources(*PACKAGES)
        for node in ast.walk(_parsed(path))
        if isinstance(node, ast.Call) and _emitted(node) and any(map(_emitted, node.args))
    ]
    assert not wrong, "\n".join(wrong)


PUBLIC_ROOMS = ("composed", "image", "nn", "numpy", "ops", "random", "scipy")
OPERATORS = frozenset("add sub mul neg abs and or xor not eq ne lt le gt ge".split())
"""The ops that an operator of Python writes for every dtype that they take."""


def _by_hand(node: ast.AST, own: frozenset[str] = frozenset()) -> Iterator[ast.AST]:
    """The ops of `OPERATORS` emitted by hand, but for those that a decorator around names: the
    function is the operator itself."""
    if isinstance(node, ast.FunctionDef):
        named = " ".join(map(ast.unparse, node.decorator_list))
        own |= {name.strip("_") for name in re.findall(r"ops\.(\w+)", named)}
    if _op_emitted(node) in OPERATORS - own:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _by_hand(child, own)


def test_public_functions_are_written_with_operators() -> None:
    """In the bodies of public functions, what has an operator is written with it."""
    text = "@binary(ops.add)\ndef add(x, y):\n return emit(ops.add, x, emit(ops.mul, x, y))"
    assert [_op_emitted(node) for node in _by_hand(ast.parse(text))] == ["mul"]
    wrong = [
        f"{place(path, node.lineno)}: {ast.unparse(node)}"
        for path in sources(*[f"xfront/{room}" for room in PUBLIC_ROOMS])
        for node in _by_hand(_parsed(path))
        if isinstance(node, ast.Call)
    ]
    assert not wrong, "\n".join(wrong)


def test_names_of_one_file_stay_in_it() -> None:
    """A name with an underscore in front is of its file."""
    wrong = [
        f"{place(path, line)}: imports {name}"
        for path in sources("xfront_ir", "lowering")
        for line, name in imports(path)
        if name.startswith(PACKAGES) and name.rpartition(".")[2].startswith("_")
    ]
    assert not wrong, "\n".join(wrong)


def _files() -> dict[str, Path]:
    """The modules of the three packages by their names."""
    found = {}
    for path in sources(*PACKAGES):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _named_files() -> dict[str, dict[str, int]]:
    """For each module the modules that it names in imports, those for type checkers included, and
    the line of each. What a package shows to type checkers is what it loads on demand."""
    files = _files()
    found: dict[str, dict[str, int]] = {name: {} for name in files}
    for name, path in files.items():
        for line, target in imports(path, checked=True):
            while target and target not in files:
                target = target.rpartition(".")[0]
            if target and target != name:
                found[name].setdefault(target, line)
    return found


def _imported_files() -> dict[str, dict[str, int]]:
    """For each module the modules of the three packages that it imports, wherever in it, with the
    packages that are loaded on the way, and the line of each."""
    files = _files()
    found: dict[str, dict[str, int]] = {name: {} for name in files}
    for name, path in files.items():
        for line, target in imports(path):
            while target and target not in files:
                target = target.rpartition(".")[0]
            held = target
            while target and not f"{name}.".startswith(f"{target}."):
                if target == held or any(imports(files[target])):
                    found[name].setdefault(target, line)
                target = target.rpartition(".")[0]
    return found


def _floor_in_xfront(module: str) -> int:
    own = module.removeprefix("xfront").lstrip(".")
    fitting = [(len(name), floor) for floor, names in enumerate(FLOORS_OF_XFRONT) for name in names
               if not name or own == name or own.startswith(f"{name}.")]
    return max(fitting)[1]


def test_imports_inside_xfront_go_down() -> None:
    """No file of xfront imports one of a floor above its own, in a function or for type checkers
    neither; but packages show them names from anywhere, which they load on demand."""
    files, wrong = _files(), set()
    for name, targets in [*_imported_files().items(), *[
            (name, targets) for name, targets in _named_files().items()
            if files[name].name != "__init__.py"]]:
        for target, line in targets.items():
            if name.split(".")[0] == target.split(".")[0] == "xfront" and (
                    _floor_in_xfront(target) > _floor_in_xfront(name)):
                wrong.add(f"{place(files[name], line)}: imports {target}, which stands above it")
    assert not wrong, "\n".join(sorted(wrong))


def _circles(graph: dict[str, dict[str, int]]) -> list[list[str]]:
    """The sets of files that import one another, however far round (Tarjan, 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for target in graph[name]:
            if target not in number:
                visit(target)
            if target in stack:
                low[name] = min(low[name], low[target])
        if low[name] == number[name]:
            at = stack.index(name)
            circle = stack[at:]
            del stack[at:]
            if len(circle) > 1:
                found.append(sorted(circle))

    for name in graph:
        if name not in number:
            visit(name)
    return found


def test_no_files_import_one_another() -> None:
    """Imports of the three packages have no circle, those in functions and those for type checkers
    included."""
    wrong = [" <-> ".join(circle) for graph in (_imported_files(), _named_files())
             for circle in _circles(graph)]
    assert not wrong, "\n".join(wrong)


def test_a_folder_of_xfront_is_a_floor() -> None:
    """At most five files stand elsewhere than their folder, and what lies beside the folders is
    what users import: thin files that name it."""
    names = [name for floor in FLOORS_OF_XFRONT for name in floor if name]
    folders = {path.name for path in (ROOT / "xfront").iterdir() if (path / "__init__.py").exists()}
    assert len(set(names) - folders) <= 5, sorted(set(names) - folders)
    public = {name.removeprefix("xfront").lstrip(".") for name in _names_of_jax()}
    files = {path.stem: path for path in (ROOT / "xfront").glob("*.py")}
    assert not files.keys() - public - {"__init__", "__main__", "doctor"}
    long = [f"{place(path)}: {n} lines" for path in files.values()
            if (n := len(path.read_bytes().splitlines())) > 160 and path.stem != "__init__"]
    assert not long, "\n".join(long)


def test_the_core_of_the_ir_knows_no_mesh() -> None:
    """Where values lie is asked by the builder of traces and passes, not by the plain one."""
    for name in ("core", "builder", "literal"):
        named = _named_files()[f"xfront_ir.{name}"]
        assert not {"xfront_ir.sharding", "xfront_ir.spreading"} & named.keys(), name


def test_imports_inside_the_ir_go_down() -> None:
    """types, core, opdef, builder, then ops and passes: none imports what stands above it."""
    wrong = []
    for path in sources("xfront_ir"):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        own = _floor(module)
        if own is None:
            continue
        for line, name in imports(path):
            if not name.startswith("xfront_ir"):
                continue
            other = _floor(name)
            if other is not None and other > own:
                wrong.append(f"{place(path, line)}: imports {name}, which stands above it")
            if module.startswith("xfront_ir.ops.") and name.startswith("xfront_ir.passes"):
                if path.stem not in BODY_FAMILIES or not (name + ".").startswith(DOOR + "."):
                    wrong.append(
                        f"{place(path, line)}: imports {name}; ops with bodies see {DOOR} only"
                    )
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", [*PACKAGES, "tests", "examples", "benchmarks"])
def test_no_file_is_too_long(folder: str) -> None:
    """A file over 800 lines is two ideas: split it by family."""
    counts = {path: len(path.read_bytes().splitlines()) for path in sources(folder)}
    wrong = [f"{place(path)}: {n} lines" for path, n in counts.items() if n > MAX_LINES]
    assert not wrong, "\n".join(wrong)


def test_every_op_family_has_its_lowering() -> None:
    """xfront_ir/ops/<family>.py and lowering/rules/<family>.py come in pairs."""
    rooms = [
        {path.stem for path in (ROOT / folder).glob("*.py")} - {"__init__", *NOT_LOWERED, *SHARED}
        for folder in ("xfront_ir/ops", "lowering/rules")
    ]
    assert rooms[0] == rooms[1], (
        f"without lowering: {sorted(rooms[0] - rooms[1])}; "
        f"without ops: {sorted(rooms[1] - rooms[0])}"
    )


def test_jaxlib_is_touched_in_its_rooms_only() -> None:
    """jaxlib is imported in lowering/ and in xfront/binding/."""
    wrong = [
        f"{place(path, line)}: imports {name}"
        for path in sources(*PACKAGES, "examples")
        if not place(path).startswith(JAXLIB_ROOMS)
        for line, name in imports(path)
        if name.partition(".")[0] == "jaxlib"
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_imports_jax() -> None:
    """xfront stands on jaxlib alone, its tests, examples and benchmarks included; but for
    what runs under another library or is written for it."""
    wrong = [
        f"{place(path, line)}: imports {name}"
        for path in sources(*PACKAGES, "tests", "examples", "benchmarks")
        if not place(path).startswith(("tests/recorded/", "tests/programs/", "tests/ecosystem/"))
        for line, name in imports(path)
        if name.partition(".")[0] == "jax"
    ]
    assert not wrong, "\n".join(wrong)


def _loaded_by(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def _heavy(loaded: set[str], *names: str) -> list[str]:
    return sorted(m for m in loaded if any(m == n or m.startswith(n + ".") for n in names))


def test_import_of_xfront_is_light() -> None:
    """`import xfront` brings neither the MLIR bindings nor scipy nor jax."""
    loaded = _loaded_by("import xfront, xfront.numpy")
    assert not _heavy(loaded, "jaxlib.mlir", "scipy", "jax", "opt_einsum")
    own = _heavy(loaded, *PACKAGES)
    assert len(own) <= MOST_LOADED, f"{len(own)} modules are loaded; ask for what few programs need"


def test_the_ir_works_alone() -> None:
    """`import xfront_ir` brings no jaxlib and nothing of the packages above."""
    assert not _heavy(
        _loaded_by("import xfront_ir"), "jaxlib", "lowering", "xfront", "jax", "scipy"
    )


def test_documents_and_docstrings_name_files_that_exist() -> None:
    """A path is that of a file, complete or from one of the folders above it on. In a document, a
    name after a path and a colon (`running/programs.py: Units`) stands in that file."""
    folders = (*PACKAGES, "tests", "benchmarks", "examples", "docs")
    files = {f"/{place(p)}": p for folder in folders for p in (ROOT / folder).rglob("*.*")}
    houses = {name.rpartition("/")[0] for name in files}
    pattern = re.compile(r"([\w./<>{},*-]+/[\w.<>*]+\.(?:py|ir))\b(?:: (\w+)`)?")
    wrong = []
    for document in (ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *sources(*PACKAGES)):
        is_code = document.suffix == ".py"
        for line, text in enumerate(document.read_text().splitlines(), 1):
            said = "".join(re.findall("`[^`]+`", text)) if is_code else text
            for path, name in pattern.findall(said):
                if "<" in path:                  # `ops/<family>.py`: its folder exists
                    folder = path.partition("<")[0].rpartition("/")[0]
                    if "{" not in path and not any(h.endswith(f"/{folder}") for h in houses):
                        wrong.append(f"{place(document, line)}: {path}")
                    continue
                found = [p for n, p in files.items() if n.endswith(f"/{path}")]
                if not found or name and not any(name in p.read_text() for p in found):
                    wrong.append(f"{place(document, line)}: {path} {name}")
    assert not wrong, "\n".join(wrong)


def test_packages_are_typed_and_documented() -> None:
    """Each package says that it is typed, and every module opens with what it holds."""
    wrong = [package for package in PACKAGES if not (ROOT / package / "py.typed").exists()]
    wrong += [
        f"{place(path)}: no docstring at its top"
        for path in sources(*PACKAGES)
        if path.read_bytes().strip() and not ast.get_docstring(_parsed(path))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", ["xfront", "xfront.numpy", "xfront.lax"])
def test_names_on_demand_are_those_of_their_modules(package: str) -> None:
    """The tables say what the modules export, and no module hides a function of its name."""
    module = importlib.import_module(package)
    wrong, names = [], set()
    for family, listed in module._FAMILIES.items():
        written = {name.partition("=")[2] or name for name in listed.split()}
        names |= {name.partition("=")[0] for name in listed.split()}
        if package == "xfront":  # its modules hold more than what it shows
            continue
        exported = set(importlib.import_module(f".{family}", package).__all__)
        if written != exported:
            wrong.append(f"{package}.{family}: {sorted(written ^ exported)}")
    files = {path.stem for path in (ROOT / package.replace(".", "/")).glob("*.py")}
    wrong += [f"{package}.{name}: a module and a function" for name in sorted(names & files)]
    assert not wrong, "\n".join(wrong)


def _names_of_jax() -> dict[str, set[str]]:
    """The public names of JAX by the module of xfront that has them."""
    text = (ROOT / "xfront" / "public_names.txt").read_text()
    found = re.findall(r"^[~!]?jax([.\w]*): ((?:.|\n )*)", text, re.M)
    return {f"xfront{module}": set(names.split()) for module, names in found}


def test_dir_of_public_modules_shows_public_names() -> None:
    """What a user sees by `dir` is what a module offers: no imports, helpers or rooms."""
    wrong = []
    for name, names in _names_of_jax().items():
        try:
            module = importlib.import_module(name)
        except (ImportError, AttributeError):
            continue                             # a class, or not offered
        shown = {n for n in dir(module) if not n.startswith("__")}
        offered = {*getattr(module, "__all__", ()), *vars(module).get("_names", ())}
        if name == "xfront":                     # options and functions of devices are at hand
            offered |= {n for n in shown if not isinstance(getattr(module, n), ModuleType)}
        if name.endswith("core"):                # names for programs as data, found when asked for
            offered |= {*xfront.core._HOMES, *xfront.core.__all__}
        wrong += [f"{name} shows {n}" for n in sorted(shown - offered)]
        wrong += [f"{name} hides {n}" for n in sorted(
            n for n in names & set(vars(module)) - shown
            if getattr(getattr(module, n), "__module__", "") == name)]
    assert not wrong, "\n".join(wrong)
