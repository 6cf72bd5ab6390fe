"""Our modules are imported as they are, the suites with rewritten asserts, however the plugin was installed."""

from __future__ import annotations

import json

from tests.project import Project

LOADERS = """
import json, sys

def pytest_sessionfinish():
    loaders = {name: type(getattr(module, "__loader__", None)).__name__ for name, module in sys.modules.items()}
    with open("loaders.json", "w") as file:
        json.dump(loaders, file)
"""
REWRITING = "AssertionRewritingHook"


def test_pytest_rewrites_the_tests_and_none_of_our_modules(project: Project) -> None:
    as_a_wheel_is_installed(project)
    project.model("a")
    project.write("conftest.py", LOADERS)
    assert project.run("-k", "export").code == 0
    loaders = json.loads((project.folder / "loaders.json").read_text())
    assert loaders["test_models"] == loaders["stand_in"] == REWRITING
    rewritten = {name for name, loader in loaders.items() if loader == REWRITING and name.startswith("bench_plugin.")}
    # Only what registers the options and the fixtures is imported before our finder is asked.
    registering = {"plugin", "options", "plain_imports", "domain", "domain.axes", "fixtures"}
    assert {name for name in rewritten if not name.startswith("bench_plugin.fixtures.")} <= {
        f"bench_plugin.{name}" for name in registering
    }
    assert "bench_plugin.session.session" in loaders


def as_a_wheel_is_installed(project: Project) -> None:
    """A distribution that lists our package, as a wheel does and an editable installation does not."""
    metadata = "site/stand_in-1.dist-info"
    project.write("site/stand_in.py", "")
    project.write(f"{metadata}/METADATA", "Metadata-Version: 2.1\nName: stand-in\nVersion: 1\n")
    project.write(f"{metadata}/entry_points.txt", "[pytest11]\nstand_in = stand_in\n")
    project.write(f"{metadata}/RECORD", "bench_plugin/__init__.py,,\nstand_in.py,,\n")
    project.environment["PYTHONPATH"] = str(project.folder / "site")
