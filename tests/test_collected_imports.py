"""The tests can be collected where ``pip install '.[test]'`` was all, as the README says: no import needs more.

An environment for development has more packages than that, so that an import of one of them is noticed by others
first. Here the imports of every file that is collected are read, and of all that it imports of this project.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
OWN = ("bench_plugin", "tests")
BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)
# By the plugin's layers nothing on the side of pytest imports these; agents do, in environments of toolchains.
ELSEWHERE = (ROOT / "bench_plugin/adapters", ROOT / "bench_plugin/data", ROOT / "tests/outside/project")


def collected(root: Path) -> list[Path]:
    """What pytest imports when it collects: test files and conftest files."""
    found = [*root.rglob("test_*.py"), *root.rglob("conftest.py"), *root.glob("*.py")]
    return sorted(path for path in set(found) if not any(path.is_relative_to(folder) for folder in ELSEWHERE))


def module_level(tree: ast.AST) -> Iterator[ast.stmt]:
    """The statements that an import executes, in their order: not those in functions, nor those for type checkers."""
    for one in ast.iter_child_nodes(tree):
        if not isinstance(one, BLOCKS) or isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(one, ast.If) and "TYPE_CHECKING" in ast.dump(one.test):
            yield from (later for other in one.orelse for later in (other, *module_level(other)))
            continue
        if isinstance(one, ast.Try) and any("ImportError" in ast.dump(handler) for handler in one.handlers):
            continue  # it is prepared for the absence
        if isinstance(one, ast.stmt):
            yield one
        yield from module_level(one)


@cache
def imported(path: Path) -> tuple[tuple[int, str], ...]:
    """(line, dotted name) of what an import of the file imports, without what importorskip looked for before."""
    return tuple(_imported(ast.parse(path.read_text("utf-8"))))


def _imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    skipped: set[str] = set()
    for one in module_level(tree):
        if isinstance(one, ast.Expr | ast.Assign) and isinstance(call := one.value, ast.Call):
            if ast.unparse(call.func).endswith("importorskip") and isinstance(name := call.args[0], ast.Constant):
                skipped.add(str(name.value).partition(".")[0])
        elif isinstance(one, ast.Import):
            yield from ((one.lineno, alias.name) for alias in one.names if top(alias.name) not in skipped)
        elif isinstance(one, ast.ImportFrom) and not one.level and one.module and top(one.module) not in skipped:
            yield one.lineno, one.module
            if top(one.module) in OWN:  # the name may be a module of a package
                yield from ((one.lineno, f"{one.module}.{alias.name}") for alias in one.names)


def top(name: str) -> str:
    return name.partition(".")[0]


def reached(files: Iterable[Path]) -> list[Path]:
    """The files and every file of this project that they import, also through other ones."""
    found = list(dict.fromkeys(files))
    known = set(found)
    for path in found:
        for _, name in imported(path):
            parts = name.split(".")
            for length in range(1, len(parts) + 1) if parts[0] in OWN else ():
                place = ROOT.joinpath(*parts[:length])
                for one in (place / "__init__.py", place.with_suffix(".py")):
                    if one.is_file() and one not in known:
                        known.add(one)
                        found.append(one)
    return found


def installed_with(extra: str) -> set[str]:
    """The distributions that an installation of this project with an extra brings, also through other ones."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras: Mapping[str, list[str]] = project["optional-dependencies"]
    waiting = [Requirement(text) for text in (*project["dependencies"], *extras[extra])]
    known: set[tuple[str, frozenset[str]]] = set()
    for one in waiting:
        name = canonicalize_name(one.name)
        if (name, frozenset(one.extras)) in known:
            continue
        known.add((name, frozenset(one.extras)))
        if name == "bench-plugin":
            waiting += [Requirement(text) for chosen in one.extras for text in extras[chosen]]
            continue
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # an extra of an extra that is not installed here
        for text in needed:
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": chosen}) for chosen in (*one.extras, "")):
                waiting.append(requirement)
    return {name for name, _ in known}


def lacking(files: Iterable[Path], extra: str = "test") -> list[str]:
    """The imports of third parties that the extra does not bring: file, line, what is missing, what would be right."""
    allowed, distributions = installed_with(extra), metadata.packages_distributions()
    found = []
    for path in reached(files):
        folder = {one.stem for one in path.parent.glob("*.py")} | {one.name for one in path.parent.iterdir()}
        for line, name in imported(path):
            module = top(name)
            if module in OWN or module in sys.stdlib_module_names or module in folder:
                continue
            of = [canonicalize_name(one) for one in distributions.get(module, [])]
            if not allowed.intersection(of):
                found.append(
                    f"{path}:{line}: {module} (of {', '.join(of) or 'nothing that is installed'}) does not come with "
                    f"the extra {extra!r}; add it there, or import it in the tests that need it, behind "
                    f"pytest.importorskip({module!r})"
                )
    return found


def test_every_test_can_be_collected_with_the_extra_test_alone() -> None:
    files = [ROOT / "conftest.py", ROOT / "bench_plugin/plugin.py", *collected(ROOT / "tests")]
    assert len(files) > 200 and ROOT / "tests/project.py" in reached(files)
    found = lacking(files)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import mypy.api\n", 1),
        ("if True:\n    from playwright.sync_api import Page\n", 2),
        ("class A:\n    import axe_playwright_python\n", 2),
        ("import nothing_that_exists\n", 1),
        ("from tests.report.interactive import planted\n", 0),
    ],
)
def test_a_planted_import_is_found(tmp_path: Path, text: str, line: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the package is installed, as in an environment for development, and behind a module of ours."""
    if not line:
        folder = tmp_path / "tests/report/interactive"
        folder.mkdir(parents=True)
        (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text("utf-8"))
        (folder / "planted.py").write_text("import sys\nimport mypy\n")
        monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    planted = tmp_path / "test_planted.py"
    planted.write_text(text)
    [said] = lacking([planted])
    where = f"{planted}:{line}" if line else f"{tmp_path}/tests/report/interactive/planted.py:2"
    assert said.startswith(f"{where}: ") and "does not come with the extra 'test'" in said


@pytest.mark.parametrize(
    "text",
    [
        "import pytest\nplaywright = pytest.importorskip('playwright.sync_api')\nfrom playwright import sync_api\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import mypy\n",
        "def test() -> None:\n    import mypy\n",
        "try:\n    import mypy\nexcept ImportError:\n    mypy = None\n",
        "import markupsafe, hypothesis, orjson, xdist\n",
    ],
)
def test_imports_that_need_nothing_more_are_fine(tmp_path: Path, text: str) -> None:
    planted = tmp_path / "test_planted.py"
    planted.write_text(text)
    assert lacking([planted]) == []
