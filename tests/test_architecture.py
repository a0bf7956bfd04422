"""The house rules that no linter knows: who imports whom, sizes, what is never used, no path of one machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "skillfit"
ENTRY_POINTS = (ROOT / "train.py", ROOT / "evaluate.py")

# Lowest first. A part may import those of lower rows, never of its own row or a higher one. "" is skillfit/__init__.py.
LAYERS = (
    ("errors", "resources"),
    ("types",),
    ("",),
    ("io", "progress"),
    ("provenance",),
    ("metrics", "losses"),
    ("data", "models", "quality"),
    ("predictor", "search"),
    ("routing",),
    ("evaluation", "training", "server"),
    ("analysis",),
    ("cli",),
    ("entry point",),
)
LEVEL = {part: level for level, row in enumerate(LAYERS) for part in row}

# Lower parts that are closed all the same: models know no loss, metrics and models meet only in evaluation and
# training, and analysis reads run folders alone.
CLOSED = {
    "models": {"losses", "metrics"},
    "search": {"losses", "metrics"},
    "routing": {"losses"},
    "analysis": {"losses", "models", "quality", "predictor", "search", "routing", "evaluation", "training", "server"},
}
ONLY_IN = {
    "hydra": ("cli/", "train.py", "evaluate.py"),
    "omegaconf": ("cli/", "train.py", "evaluate.py"),
    "pytorch_lightning": ("training/", "data/datamodule.py"),
}
NOWHERE = {
    "wandb": "trackers are named in conf/logger",
    "pickle": "loading one runs foreign code",
    "dill": "loading one runs foreign code",
    "cloudpickle": "loading one runs foreign code",
    "joblib": "its files are pickles",
    "shelve": "its files are pickles",
    "marshal": "loading one runs foreign code",
    "lightning": "pytorch_lightning is the one name for it here",
}
MOST_LINES_OF_A_FILE = 300
MOST_LINES_OF_A_FUNCTION = 50


def sources() -> list[Path]:
    return [*sorted(PACKAGE.rglob("*.py")), *ENTRY_POINTS]


def place(path: Path) -> str:
    return str(path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT))


def part_of_file(path: Path) -> str:
    """`data` for data/views.py, `types` for types.py, "" for the package's own __init__."""
    if path in ENTRY_POINTS:
        return "entry point"
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imports_of(source: str, module: str) -> Iterator[tuple[int, str]]:
    """Every imported module, those inside functions and under TYPE_CHECKING included. module: the importer's name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".")[: -node.level] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{name}.{alias.name}") for alias in node.names)


def part_of_import(name: str) -> str | None:
    """The part of skillfit that an import reaches; None for other packages. `skillfit.Skill` reaches ""."""
    words = name.split(".")
    if words[0] != "skillfit":
        return None
    known = len(words) > 1 and ((PACKAGE / words[1]).is_dir() or (PACKAGE / f"{words[1]}.py").is_file())
    return words[1] if known else ""


def breach(importer: str, imported: str) -> str | None:
    """Why a part may not import another; None if it may."""
    for part in (importer, imported):
        if part not in LEVEL:
            return f"{part!r} is in no layer: give it a row in LAYERS"
    if importer == imported:
        return None
    if LEVEL[imported] >= LEVEL[importer]:
        return f"{importer or 'skillfit'} may not import {imported or 'skillfit'}: it is not below"
    return f"{importer} is closed to {imported}" if imported in CLOSED.get(importer, ()) else None


def all_imports() -> Iterator[tuple[Path, int, str]]:
    for path in sources():
        module = "skillfit." + place(path).removesuffix(".py").replace("/", ".")
        for line, name in imports_of(path.read_text(encoding="utf-8"), module):
            yield path, line, name


def test_imports_point_down() -> None:
    faults = []
    for path, line, name in all_imports():
        imported = part_of_import(name)
        if imported is not None and (why := breach(part_of_file(path), imported)):
            faults.append(f"{place(path)}:{line}: {name}: {why}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("data", "io", True),
        ("io", "io", True),
        ("cli", "training", True),
        ("training", "metrics", True),
        ("types", "io", False),
        ("io", "progress", False),
        ("data", "models", False),
        ("metrics", "losses", False),
        ("evaluation", "training", False),
        ("models", "losses", False),
        ("analysis", "models", False),
        ("search", "cli", False),
        ("data", "helpers", False),
    ],
)
def test_the_rule_of_imports(importer: str, imported: str, allowed: bool) -> None:
    assert (breach(importer, imported) is None) == allowed


def test_imports_are_found_wherever_they_stand() -> None:
    source = "import a.b\nfrom skillfit import types\ndef f():\n    from ..search import base\n"
    assert [name for _, name in imports_of(source, "skillfit.data.views")] == [
        "a.b",
        "skillfit.types",
        "skillfit.search.base",
    ]
    assert [part_of_import(name) for name in ("a.b", "skillfit.types", "skillfit.io.files", "skillfit.Skill")] == [
        None,
        "types",
        "io",
        "",
    ]


@pytest.mark.parametrize("package", sorted(ONLY_IN))
def test_frameworks_stay_where_they_belong(package: str) -> None:
    found = {place(path) for path, _, name in all_imports() if name.split(".")[0] == package}
    assert found, f"nothing imports {package}: take it out of ONLY_IN"
    strays = sorted(path for path in found if not path.startswith(ONLY_IN[package]))
    assert not strays, f"{package} is imported outside {', '.join(ONLY_IN[package])}: {', '.join(strays)}"


def test_forbidden_modules_are_imported_nowhere() -> None:
    faults = [
        f"{place(path)}:{line}: {name}: {NOWHERE[name.split('.')[0]]}"
        for path, line, name in all_imports()
        if name.split(".")[0] in NOWHERE
    ]
    assert not faults, "\n".join(faults)


def test_text_is_never_run_as_code() -> None:
    faults = [
        f"{place(path)}:{node.lineno}: {node.func.id}()"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("eval", "exec", "compile")
    ]
    assert not faults, "\n".join(faults)


def test_files_and_functions_are_short() -> None:
    faults = []
    for path in sources():
        text = path.read_text(encoding="utf-8")
        if (lines := len(text.splitlines())) > MOST_LINES_OF_A_FILE:
            faults.append(f"{place(path)}: {lines} lines, at most {MOST_LINES_OF_A_FILE}")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_LINES_OF_A_FUNCTION:
                    faults.append(
                        f"{place(path)}:{node.lineno}: {node.name}: {lines} lines, at most {MOST_LINES_OF_A_FUNCTION}"
                    )
    assert not faults, "\n".join(faults)


def test_importing_skillfit_loads_nothing_heavy() -> None:
    code = "import sys, skillfit; print([m for m in ('torch', 'transformers', 'pyarrow', 'hydra') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Split, so that this file does not hold what it looks for.
MACHINE_PATHS = re.compile(r"(?<![\w.$}~-])/(?:work|root)/|(?<![\w.$}~-])/home/\w")
REGISTRIES = re.compile(
    r"(?:pypi|pythonhosted)\.(?:org|python)|download\.py" + r"torch\.org|registry\.npm|--(?:extra-)?index-u" + "rl"
)
QUOTED_DATA = "src/skillfit/resources/mini/skills/"  # skills speak of paths inside containers


def tracked_files() -> list[str]:
    done = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("not a git checkout: which files are tracked is unknown")
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_this_machine_or_a_registry() -> None:
    faults = []
    for name in tracked_files():
        if name.startswith(QUOTED_DATA) or name == "tests/test_architecture.py":
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # no text file
        for number, line in enumerate(text.splitlines(), start=1):
            if found := MACHINE_PATHS.search(line) or REGISTRIES.search(line):
                faults.append(f"{name}:{number}: {found.group()}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("line", "is_path"),
    [
        ("cd " + "/work" + "/main", True),
        ("open('/root/x')", True),
        ("/home/ann/skills", True),
        ("docs/work/x", False),
        ("$HOME/work/x", False),
        ("see ~/root/x", False),
    ],
)
def test_what_counts_as_a_machine_path(line: str, is_path: bool) -> None:
    assert bool(MACHINE_PATHS.search(line)) == is_path
