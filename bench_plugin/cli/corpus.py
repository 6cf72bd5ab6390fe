"""``bench corpus check | update``: the index of ONNX's backend tests, beside what the locked onnx really holds."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.domain.errors import BenchError
from bench_plugin.domain.settings import settings_here
from bench_plugin.inventory.cases import FILE, index_text
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.cache import Cache, default_folder
from bench_plugin.pipeline.corpus import Corpus, CorpusFailed
from bench_plugin.pipeline.stages import Stages
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.zipapp import agent_digest

HELP = "compare the index of operator cases with the locked onnx, or write it anew"


class CannotCollect(BenchError):
    """The corpus could not be made."""

    exit_code = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which file."""
    parser.add_argument(
        "what", choices=("check", "update"), help="check: whether the index is what onnx holds; update: write it"
    )
    parser.add_argument(
        "--file", type=Path, default=Path("fixtures/operators") / FILE, help="the index (default %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """0 when the index is (or was made) what the corpus says, 1 when it differs."""
    cases = _collected()
    text = index_text(cases)
    before = args.file.read_text("utf-8") if args.file.is_file() else ""
    changed = set(before.splitlines()[1:]) ^ set(text.splitlines()[1:])
    named = {line.partition(",")[0] for line in changed}
    if args.what == "check":
        for name in sorted(named):
            print(f"{name}: differs")
        if before != text and not named:
            print("its header or the order of its lines differs")
        print(f"{args.file}: {len(cases)} cases in onnx, {len(named)} differ")
        return 0 if before == text else 1
    args.file.parent.mkdir(parents=True, exist_ok=True)
    args.file.write_text(text, "utf-8")
    print(f"{args.file}: {len(cases)} cases, {len(named)} changed")
    return 0


def _collected() -> Mapping[str, Any]:
    """The corpus's own descriptions, by name; from the cache where an operator run left it."""
    settings = settings_here()
    workspace = Workspace.load(settings)
    cache = Cache(settings.cache or default_folder(), note=_say)
    pool = AgentPool(
        environments=lambda name: workspace.toolchains.ensure(name, progress=_say),
        folder=settings.results.parent / "logs", adapters=workspace.catalog.sources,
    )  # fmt: skip
    try:
        stages = Stages(
            cache, pool, workspace.catalog, workspace.toolchains, agent_digest=agent_digest(), refresh=False
        )
        return Corpus(stages).rows
    except CorpusFailed as error:
        raise CannotCollect(str(error)) from error
    finally:
        pool.close()
        cache.close()


def _say(text: str) -> None:
    print(text, flush=True)
