"""Names that the shell completes: of the configuration's compilers and importers, and the keys of the last results."""

from __future__ import annotations

from pathlib import Path

from bench_plugin.domain.errors import BenchError

RESULTS = Path("reports/results.jsonl")


def compilers() -> list[str]:
    """Every compiler, ``name[backend]`` included."""
    from bench_plugin.cli.about.list import rows_of
    from bench_plugin.domain.settings import settings_here
    from bench_plugin.inventory.workspace import Workspace

    settings = settings_here()
    rows = rows_of("compilers", Workspace.load(settings), settings)
    return [name for row in rows for name in (row["name"], *(f"{row['name']}[{one}]" for one in row["backends"]))]


def importers() -> list[str]:
    """Every importer."""
    from bench_plugin.domain.settings import settings_here
    from bench_plugin.inventory.adapters import Catalog

    frameworks = Catalog(settings_here().adapters).of_kind("framework").values()
    return [name for adapter in frameworks for name in adapter.importers]


def keys() -> list[str]:
    """The keys of the cells of the last run; none where there is no results file."""
    return [row["key"] for row in _cells()]


def failed_keys() -> list[str]:
    """The keys of the cells of the last run that failed."""
    return [row["key"] for row in _cells() if row["symptom"]]


def _cells() -> list[dict[str, str]]:
    from bench_plugin.results.rows import read_rows

    try:
        return [row for row in read_rows(RESULTS).rows if row["kind"] == "cell"]
    except BenchError:
        return []  # a completion has nobody to tell
