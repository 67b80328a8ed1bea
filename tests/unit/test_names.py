"""Names in the architecture and in docstrings are names of the code: a rename forgets them."""

from __future__ import annotations

import ast
import builtins
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Names of the tests, other people's names, and examples.
FOREIGN = frozenset(
    "ACME_API_KEY CI city_name create_agent crm_find Desk DOORS execute_tool files_read_all gw3 "
    "HOME idempotentHint max_results maxResults mcp__crm__find mcp__SERVER__NAME mcp__shop__get "
    "mcp__suite__NAME MODELS nohup openWorldHint outputSchema PATH repo_path shop_get slow stage "
    "standardize_string STRING TARGETS trust_env tsc wrap_tool_call".split()
)
PATHS = [f"/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob("[!.]*/**/*")]
PATHS += [f"/{path.name}" for path in ROOT.glob("*.*")]
MODULES = sorted((ROOT / "pytest_tooleval").rglob("*.py"))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


KNOWN = FOREIGN.union(dir(builtins), *map(_words, PATHS))


def _parts(path: Path) -> tuple[str, str]:
    """The code of a module without docstrings and comments, and its docstrings."""
    tree, docs = ast.parse(path.read_text("utf-8")), []
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str() as text) as doc):
                docs.append(text)
                doc.value = ""
    return ast.unparse(tree), "\n".join(docs)


def test_docstrings_name_what_the_code_has() -> None:
    """A flag by its whole name, `is_...`, and an exception by its class."""
    parts = {path: _parts(path) for path in MODULES}
    code = "\n".join(code for code, _ in parts.values())
    known, classes = KNOWN | _words(code), {*dir(builtins), *re.findall(r"class (\w+)", code)}
    wrong = []
    for path, (code, docs) in parts.items():
        own = _words(code)
        for name, error in re.findall(r"`([a-zA-Z_][\w.]*)`|[Rr]aises? ([A-Z]\w+)", docs):
            unknown = [word for word in _words(name) - own if word not in known or f"is_{word}" in own]
            if unknown or (error and error not in own | classes):
                wrong.append((path, name or error))
    assert wrong == []


def test_the_architecture_names_what_is_there() -> None:
    """Paths may begin in any folder."""
    definition = r"(?m)(?:class|def|const) (\w+)|^(\w+)(?::.*)? =|[\s(](\w+): |^ *\"(\w+): "
    files = [*MODULES, *ROOT.glob("pytest_tooleval/web/static/*.js"), ROOT / "conftest.py"]
    found = re.findall(definition, "\n".join(path.read_text("utf-8") for path in files))
    known, wrong = KNOWN.union(*found), []
    for text in re.findall(r"`([^`]+)`", (ROOT / "ARCHITECTURE.md").read_text("utf-8")):
        paths = re.findall(r"(?<!\S)[\w/.-]+(?:/[\w-]+|\.(?:py|js))(?!\S)", text)
        if not all(any(each.endswith(f"/{path}") for each in PATHS) for path in paths):
            wrong.append(text)
        if not paths and re.fullmatch(r"[\w.]+(=True)?", text) and not _words(text) <= known:
            wrong.append(text)
    assert wrong == []
