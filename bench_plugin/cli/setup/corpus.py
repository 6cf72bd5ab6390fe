"""``bench corpus check | update | evidence``: the index of ONNX's backend tests, and what they prove of compilers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench_plugin.cli.shared.arguments import Actions, add_json
from bench_plugin.cli.shared.compliance.evidence import FOLDER, LISTS, OUTCOMES
from bench_plugin.cli.shared.compliance.own_lists import own_lists
from bench_plugin.cli.shared.compliance.tables import lists_table, onnx_tables, outcomes_table
from bench_plugin.cli.shared.output import note, print_json, shown
from bench_plugin.domain.errors import BenchError, UsageError
from bench_plugin.domain.paths import PACKAGE
from bench_plugin.domain.settings import Settings, settings_here
from bench_plugin.inventory.cases import find_index, index_text
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.cache import Cache, default_folder
from bench_plugin.pipeline.stages import Stages
from bench_plugin.pipeline.tasks.corpus import Corpus, CorpusFailed
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.zipapp import agent_digest
from bench_plugin.results.history import find_run
from bench_plugin.results.rows import read_rows

HELP = "compare the index of operator cases with the locked onnx, write it anew, or keep what the cases prove"


class CannotCollect(BenchError):
    """The corpus could not be made."""

    exit_code = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The actions check and update."""
    actions = Actions(parser)
    check = actions.add("check", _check, "say which cases of the index differ from those that the locked onnx holds")
    check.add_argument("--file", type=Path, help="the index (default: the one that a run reads)")
    add_json(check)
    update = actions.add("update", _update, "write anew the index that a run reads")
    update.add_argument("--file", type=Path, help="the index (default: the one that a run reads)")
    add_json(update)
    evidence = actions.add("evidence", _evidence, "write the tables that bench complies reads as evidence")
    evidence.add_argument(
        "rows", nargs="*", metavar="ROWS", help="results files or ids of runs of the operators' suite"
    )
    evidence.add_argument(
        "--lists", default="", metavar="NAMES", help="compilers whose own lists of operators are read anew, or all"
    )
    evidence.add_argument("--output", type=Path, metavar="FOLDER", help="where to (default: the folder that is read)")
    add_json(evidence)


def run(args: argparse.Namespace) -> int:
    """0 when the index is (or was made) what the corpus says, 1 when it differs; 0 when the tables were written."""
    code: int = args.do(args)
    return code


def _check(args: argparse.Namespace) -> int:
    settings, workspace = _opened()
    file: Path = args.file or find_index(workspace.operator_folders)
    if not file.is_file():
        raise UsageError(f"{file}: there is no such file")
    cases = _collected(settings, workspace)
    text, before = index_text(cases), file.read_text("utf-8")
    names = _differing(before, text)
    if args.json:
        print_json({"file": file, "cases": len(cases), "differ": names, "same": before == text})
        return 0 if before == text else 1
    for name in names:
        print(f"{name}: differs")
    if before != text and not names:
        print("its header or the order of its lines differs")
    print(f"{shown(file)}: {len(cases)} cases in onnx, {len(names)} differ")
    return 0 if before == text else 1


def _update(args: argparse.Namespace) -> int:
    settings, workspace = _opened()
    file: Path = args.file or _own_index(workspace)
    cases = _collected(settings, workspace)
    text, before = index_text(cases), file.read_text("utf-8") if file.is_file() else ""
    names = _differing(before, text)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    if args.json:
        print_json({"file": file, "cases": len(cases), "changed": names})
    else:
        print(f"{shown(file)}: {len(cases)} cases, {len(names)} changed")
    return 0


def _evidence(args: argparse.Namespace) -> int:
    """Write the tables: of the locked onnx, of the rows that are named, and of the tools' lists that are asked for."""
    settings, workspace = _opened()
    folder: Path = args.output or _own_index(workspace).parent / FOLDER
    rows = [row for one in args.rows for row in read_rows(find_run(one, settings.results)).rows]
    with _stages(settings, workspace) as (stages, pool):
        texts = onnx_tables(stages)
        found = own_lists(workspace, pool, args.lists)
    texts[OUTCOMES] = outcomes_table(folder, rows, sorted(workspace.cases()))
    texts[LISTS] = lists_table(folder, found)
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, text in texts.items():
        path = folder / name
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            changed.append(name)
    if args.json:
        print_json({"folder": folder, "tables": list(texts), "changed": changed})
    else:
        print(f"{shown(folder)}: {', '.join(changed) or 'nothing'} changed")
    return 0


def _own_index(workspace: Workspace) -> Path:
    """The index that a run reads. Raises UsageError where it belongs to the installed package."""
    file = find_index(workspace.operator_folders)
    if PACKAGE in file.resolve().parents:
        raise UsageError(
            f"bench corpus update does not write {file}: it belongs to the installed package; run it in a checkout of "
            "bench_plugin (pip install -e .), or name the file to write: --file FILE"
        )
    return file


def _differing(before: str, after: str) -> list[str]:
    """The names of the cases whose lines differ."""
    changed = set(before.splitlines()[1:]) ^ set(after.splitlines()[1:])
    return sorted({line.partition(",")[0] for line in changed})


def _opened() -> tuple[Settings, Workspace]:
    settings = settings_here()
    return settings, Workspace.load(settings)


def _collected(settings: Settings, workspace: Workspace) -> Mapping[str, Any]:
    """The corpus's own descriptions, by name; from the cache where an operator run left it."""
    with _stages(settings, workspace) as (stages, _):
        return Corpus(stages).rows


@contextmanager
def _stages(settings: Settings, workspace: Workspace) -> Iterator[tuple[Stages, AgentPool]]:
    """What obtains stages, and its agents. A corpus that cannot be made is CannotCollect."""
    cache = Cache(settings.cache or default_folder(), note=note)
    pool = AgentPool(
        environments=lambda name: workspace.toolchains.ensure(name, progress=note),
        folder=settings.results.parent / "logs", adapters=workspace.catalog.sources,
        variables=workspace.variables,
    )  # fmt: skip
    try:
        stages = Stages(
            cache, pool, workspace.catalog, workspace.fingerprints, agent_digest=agent_digest(), refresh=False
        )
        yield stages, pool
    except CorpusFailed as error:
        raise CannotCollect(str(error)) from error
    finally:
        pool.close()
        cache.close()
