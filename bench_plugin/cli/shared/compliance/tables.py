"""The tables of operator evidence, written anew: from the locked onnx, from the tools' own lists, and from rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_plugin.characterise.compliance.cases import (
    outcomes_of,
    outcomes_text,
    read_outcomes,
    signatures_text,
)
from bench_plugin.characterise.compliance.lists import Listed, lists_text, read_lists
from bench_plugin.characterise.compliance.schemas import Schemas, Signature, read_schemas, schemas_text
from bench_plugin.characterise.facts import Facts
from bench_plugin.cli.shared.compliance.evidence import LISTS, OUTCOMES, SCHEMAS, SIGNATURES
from bench_plugin.domain.outcome import Stage
from bench_plugin.pipeline.stages import CallSpec, Stages, Task, failure_of
from bench_plugin.pipeline.tasks.corpus import COLLECTING, Corpus, CorpusFailed
from bench_plugin.reach.processes.leased_agent import AgentFailure

ADAPTER = "onnx_signatures"


def onnx_tables(stages: Stages) -> dict[str, str]:
    """The texts of ``schemas.csv`` and ``signatures.csv`` for the locked onnx. Raises CorpusFailed."""
    corpus = Corpus(stages)
    task = Task(
        Stage.BUILD, ADAPTER, (CallSpec("signatures", {}),), {"corpus": corpus.key}, COLLECTING, corpus.collected.given,
        refreshed=False,
    )  # fmt: skip
    try:
        done = stages.obtain(task)
    except AgentFailure as error:
        raise CorpusFailed(failure_of(error, task.stage)) from error
    if done.failure is not None:
        raise CorpusFailed(done.failure)
    schemas = schemas_text(json.loads(done.files["schemas.json"].read_bytes()))
    known = read_schemas(schemas)
    said = json.loads(done.files["facts.json"].read_bytes())
    signatures = {}
    for name in sorted(said):
        facts = Facts.read(said[name])
        signatures[name] = _of_case(facts, known)
    return {SCHEMAS: schemas, SIGNATURES: signatures_text(signatures)}


def _of_case(facts: Facts, schemas: Schemas) -> list[Signature]:
    """The signature of the only operator of a case, whatever stands in its body; else those of all, without features:
    only that the case passed counts then, whatever its nodes ask for.
    """
    outer = [node for node in facts.nodes if not node.within]
    nodes = outer if len(outer) == 1 else facts.nodes
    found = [one for node in nodes if (one := schemas.signature(node, facts)) is not None]
    return found if len(outer) == 1 else [replace(one, features=()) for one in found]


def outcomes_table(folder: Path, rows: Iterable[Mapping[str, Any]], cases: Iterable[str]) -> str:
    """The text of ``outcomes.csv`` with those of every compiler in the rows instead of what the table had of it."""
    path = folder / OUTCOMES
    new = outcomes_of(rows)
    return outcomes_text(read_outcomes(path.read_text("utf-8")).updated(new) if path.is_file() else new, cases)


def lists_table(folder: Path, found: Mapping[str, Listed]) -> str:
    """The text of ``lists.csv`` with these lists instead of what the table had of their compilers."""
    path = folder / LISTS
    return lists_text({**(read_lists(path.read_text("utf-8")) if path.is_file() else {}), **found})
