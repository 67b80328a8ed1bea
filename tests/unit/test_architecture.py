"""The house keeps its shape: imports point down, and a run without suites loads nothing heavy."""

from __future__ import annotations

import ast
import graphlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import pytest_tooleval

PACKAGE = Path(pytest_tooleval.__file__).parent

# Lowest first. A part may import from its own layer and from those below it.
LAYERS = (
    "errors figures text tiers threads keys secrets writing files explain findings".split(),
    ("record",),
    ("replies",),
    ("checkout", "agents"),
    ("jsonschemas",),
    ("matchers",),
    ("worlds",),
    ("suite",),
    ("scoring",),
    ("engine",),
    ("verdicts",),
    ("history",),
    ("reports",),
    ("settings",),
    ("project", "run"),
    ("mcp",),
    ("imports", "mutation", "variants"),
    ("python",),
    ("plugin", "web", "cli"),
    ("__main__",),
)
# The folders of `engine`, lowest first. One imports only from those below it.
ENGINE = "models protocols exchange cassettes tools clients limits asking".split()
LAYER_OF = {part: number for number, parts in enumerate(LAYERS) for part in parts}

# Within one layer these never know of each other.
STRANGERS = (
    *({"plugin", "web"}, {"plugin", "cli"}, {"web", "cli"}),
    *({"imports", "mutation"}, {"imports", "variants"}, {"mutation", "variants"}),
)
ACQUAINTED = {("cli.ui", "web")}
# What the main job does without. The rest knows it only here, and imports it only where it is used.
SATELLITES = {"agents", "imports", "mcp", "mutation", "variants"}
DOORS = {
    ("plugin.settings", "imports"),  # --tooleval-transcripts
    ("plugin.suites", "mcp"),  # tools_from
    ("plugin.cases", "variants"),  # --tooleval-variant
    ("plugin.hookspecs", "variants"),
    ("__init__", "variants"),
    ("python.agents", "agents"),
    ("plugin.python_mutants", "mutation"),  # a plugin that `tooleval mutate` loads
    ("python.mutant", "mutation"),
}
# A CI service's variables, and the folder in which a command runs.
SURROUNDINGS = re.compile(r"""["'](GITHUB|GITLAB|CI)_\w*["']|\bPath\.cwd\(|\bgetcwd\(""")

# What every module of its folder has: a format's description, the API's routes.
ONE_PER_MODULE = ("FORMAT", "ROUTES")

HEAVY = ("pydantic", "litellm", "mcp", "jsonschema", "starlette", "regex", "rapidfuzz")
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__"
)


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(path: Path, *, at_module_level: bool = False) -> Iterator[tuple[str, int]]:
    """The absolute names of what a module imports, with the line."""
    package = name_of(path).split(".")
    if path.stem != "__init__":
        package = package[:-1]
    tree = _parsed(path)
    for node in _module_level(tree) if at_module_level else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            yield from ((f"{origin}.{alias.name}", node.lineno) for alias in node.names)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _module_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements that run on import; not those for type checkers alone."""
    for statement in tree.body:
        if isinstance(statement, ast.If):
            if ast.unparse(statement.test) != "TYPE_CHECKING":
                yield from statement.body + statement.orelse
        else:
            yield statement


def own_part(name: str) -> str | None:
    """`suite` of `pytest_tooleval.suite.load.load_suite`; None for other packages and the top."""
    parts = name.split(".")
    return parts[1] if parts[0] == "pytest_tooleval" and len(parts) > 1 else None


def layer_of(name: str) -> int:
    """The layer of a module, or of the package that it is in."""
    module, part = ".".join(name.split(".")[1:3]), own_part(name)
    assert part in LAYER_OF, f"{name} belongs to no layer; add it to LAYERS"
    return LAYER_OF.get(module, LAYER_OF[part])


def test_imports_point_down() -> None:
    for path in MODULES:
        part = own_part(name_of(path))
        layer = layer_of(name_of(path))
        for name, line in imports(path):
            other = own_part(name)
            if other is None or other == part or other.startswith("__"):
                continue
            assert layer_of(name) <= layer, f"{path}:{line}: {part} must not import {name}"
            if {part, other} in STRANGERS:
                module = ".".join(name_of(path).split(".")[1:])
                assert (module, other) in ACQUAINTED, f"{path}:{line}: {part} must not import {other}"


def test_the_core_knows_its_satellites_at_the_doors_alone() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(name_of(path).split(".")[1:]) or "__init__"
        if module.partition(".")[0] in {*SATELLITES, "web", "cli"}:
            continue
        found |= {
            (module, other) for name, _ in imports(path) if (other := own_part(name)) in SATELLITES
        }
    assert found == DOORS


def test_the_main_job_runs_without_the_satellites(tmp_path: Path) -> None:
    missing = [f"pytest_tooleval.{name}" for name in sorted({*SATELLITES, "web", "cli", "python"})]
    arguments = "-q -pno:cacheprovider -pno:randomly --rootdir=. --tooleval-model=builtin/lexical "
    arguments += "--tooleval-report=run.json --tooleval-fail-under=0.1 --tooleval-baseline=good"
    code = f"import sys, pytest; sys.modules.update(dict.fromkeys({missing})); sys.exit(pytest.main())"
    suite = PACKAGE.parent / "examples" / "weather" / "weather.tooleval.json"
    (tmp_path / suite.name).write_bytes(suite.read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments.split(), suite.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_folders_of_engine_import_down() -> None:
    for path in (PACKAGE / "engine").glob("*/*.py"):
        folder = path.parent.name
        below = ENGINE[: ENGINE.index(folder) + 1]
        for name, line in imports(path):
            if name.startswith("pytest_tooleval.engine."):
                assert name.split(".")[2] in below, f"{path}:{line}: {folder} must not import {name}"


def test_surroundings_are_read_by_project_and_checkout_alone() -> None:
    """Not even by a name in another module. An agent's library is told its folder."""
    for path in MODULES:
        if own_part(name_of(path)) in ("project", "checkout", "agents"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not SURROUNDINGS.search(line), (
                f"{path}:{number}: project and checkout read it: {line}"
            )


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not even within a function, or for type checkers alone."""
    names = {name_of(path): path for path in PACKAGE.rglob("*.py")}

    def module_of(name: str) -> str:
        """The module behind `package.module.name`; a package's face, where the name stands there."""
        return name if name in names else name.rpartition(".")[0]

    needs = {
        module: {
            needed
            for name, _ in imports(path)
            if (needed := module_of(name)) in names and needed != module
        }
        for module, path in names.items()
    }
    graphlib.TopologicalSorter(needs).prepare()


def test_pytest_and_asyncio_enter_where_they_may() -> None:
    for path in MODULES:
        part = own_part(name_of(path))
        tops = {name.partition(".")[0] for name, _ in imports(path)}
        known = tops & {"pytest", "_pytest", "pluggy"}
        assert part == "plugin" or not known, f"{path}: {part} must not know {known}"
        if part in ("errors", "record", "text", "suite", "scoring"):
            assert "asyncio" not in tops, f"{path}: {part} must not know asyncio"
        if part != "engine" or not path.stem.startswith("litellm_"):
            assert "litellm" not in tops, f"{path}: only the client for litellm imports it"


def test_heavy_packages_are_imported_where_they_are_needed() -> None:
    for path in MODULES:
        part = own_part(name_of(path))
        allowed = {"suite": {"pydantic"}, "web": {"starlette"}, "mcp": {"mcp"}}.get(part or "", set())
        for name, line in imports(path, at_module_level=True):
            top = name.partition(".")[0]
            assert top not in HEAVY or top in allowed, f"{path}:{line}: import {top} inside a function"


def _depth(node: ast.AST) -> int:
    """How deep the blocks of a function are nested; `elif` is no deeper than its `if`."""
    blocks = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.AsyncFor, ast.AsyncWith)
    inner = 0
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and node.orelse == [child]
            inner = max(inner, _depth(child) + (isinstance(child, blocks) and not is_elif))
    return inner


def test_functions_are_short_and_flat() -> None:
    for path in MODULES:
        for node in ast.walk(_parsed(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or 0) - node.lineno + 1
                assert lines <= 60, f"{path}:{node.lineno}: {node.name} has {lines} lines"
                assert _depth(node) <= 4, f"{path}:{node.lineno}: {node.name} is nested too deeply"


def test_every_public_name_is_there() -> None:
    assert pytest_tooleval.__all__ == sorted(pytest_tooleval.__all__)
    for name in pytest_tooleval.__all__:
        assert getattr(getattr(pytest_tooleval, name), "__name__", name) == name
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = pytest_tooleval.no_such_name


def run(code: str, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, pytest_tooleval; print(*sys.modules)"
    loaded = set(run(code, tmp_path).split())
    assert {name for name in loaded if name.startswith("pytest_tooleval")} == {"pytest_tooleval"}
    assert not loaded & set(HEAVY)


def test_nothing_heavy_is_loaded_by_xdist_without_suites(tmp_path: Path) -> None:
    """Neither by its controller nor by its workers."""
    pytest.importorskip("xdist")
    (tmp_path / "test_plain.py").write_text("def test_plain(): pass\n")
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "def pytest_unconfigure(config):\n"
        "    where = 'worker' if hasattr(config, 'workerinput') else 'controller'\n"
        "    Path(where).write_text(' '.join(sys.modules))\n"
    )
    run("import pytest; pytest.main(['-q', '-p', 'tooleval', '-p', 'xdist', '-n1'])", tmp_path)
    for process in ("controller", "worker"):
        loaded = set((tmp_path / process).read_text().split())
        assert not loaded & set(HEAVY)
        assert "pytest_tooleval.plugin" in loaded
        assert not [name for name in loaded if name.startswith("pytest_tooleval.engine.asking")]


@pytest.mark.parametrize(
    ("model", "beside"), [(None, False), ("builtin/lexical", False), (None, True)], ids=str
)
def test_a_run_without_suites_loads_nothing_heavy(
    tmp_path: Path, model: str | None, beside: bool
) -> None:
    """Nor one beside a suite, of which pytest makes a collector, too."""
    (tmp_path / "test_plain.py").write_text("def test_plain(): pass\n")
    if beside:
        (tmp_path / "w.tooleval.json").write_text("{}")
    arguments = ["-q", "-p", "tooleval", *([f"--tooleval-model={model}"] if model else [])]
    arguments += ["test_plain.py"] if beside else []
    code = f"""
import sys
import pytest
code = pytest.main({arguments!r})
print("exit", int(code))
print("loaded", *sys.modules)
"""
    output = run(code, tmp_path)
    assert "exit 0" in output
    loaded = set(output.partition("loaded ")[2].split())
    assert not loaded & set(HEAVY)
    assert "asyncio" not in loaded
    own = {name for name in loaded if name.startswith("pytest_tooleval.")}
    plugin = {
        "pytest_tooleval.errors",
        "pytest_tooleval.plugin",
        "pytest_tooleval.plugin.bytecode",
        "pytest_tooleval.plugin.gc_tuning",
        "pytest_tooleval.plugin.options",
        "pytest_tooleval.plugin.processes",
        "pytest_tooleval.plugin.hookspecs",
        "pytest_tooleval.run",
        "pytest_tooleval.run.process",
        "pytest_tooleval.settings",  # tables, for --help
        "pytest_tooleval.settings.options",
        "pytest_tooleval.suite",  # two lines, for the ending of suite files
        "pytest_tooleval.suite.discovery",
        "pytest_tooleval.text",
        "pytest_tooleval.tiers",
    }
    if model is None:
        assert own - {"pytest_tooleval.plugin.collection"} == plugin
    else:
        assert "pytest_tooleval.plugin.session" not in own
        assert "pytest_tooleval.engine.runner" not in own


def _own_names(path: Path) -> Iterator[str]:
    """The public classes, type aliases and constants of a module."""
    for statement in _parsed(path).body:
        if isinstance(statement, ast.ClassDef):
            yield statement.name
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and "TypeVar(" not in ast.unparse(
            statement
        ):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_a_class_alias_or_constant_has_its_own_name() -> None:
    found: dict[str, list[Path]] = {}
    for path in MODULES:
        for name in _own_names(path):
            if not name.startswith("_") and name not in ONE_PER_MODULE:
                found.setdefault(name, []).append(path)
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


# `shown` reads as `sorted` does, and users write `calls.unordered`.
PARTICIPLES = ("shown", "unordered")
IRREGULAR = frozenset(
    "begun built found given held known left made meant said seen sent spent taken told".split()
)


def test_a_bare_participle_is_a_flag_or_an_event() -> None:
    """Functions that act have a verb's name, and those that return something a noun's."""
    observer = next(
        node
        for node in _parsed(PACKAGE / "run" / "observers.py").body
        if isinstance(node, ast.ClassDef) and node.name == "Observer"
    )
    allowed = {*PARTICIPLES, *(node.name for node in _functions(observer))}
    for path in MODULES:
        owners: list[ast.Module | ast.ClassDef] = [_parsed(path)]
        owners += [node for node in _parsed(path).body if isinstance(node, ast.ClassDef)]
        for node in (function for owner in owners for function in _functions(owner)):
            is_flag = node.decorator_list and node.returns and ast.unparse(node.returns) == "bool"
            is_participle = re.fullmatch("[a-z]+[^e]ed", node.name) or node.name in IRREGULAR
            assert not is_participle or is_flag or node.name in allowed, (
                f"{path}:{node.lineno}: {node.name}"
            )


def _functions(owner: ast.Module | ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in owner.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
