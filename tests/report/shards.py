"""Rows of the shards of a run, as each shard's own results file has them: a header, its plan and its cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench_plugin.domain.cell import Cell, Check
from bench_plugin.matrix.matrix import plan_hash
from bench_plugin.matrix.shard import division_hash
from bench_plugin.results.planned import packed

Row = dict[str, Any]


def cell(model: str, check: Check = Check.EXPORT) -> Cell:
    return Cell(check, model, "pytorch", "dynamo", 20)


def opening(run: str, **more: Any) -> Row:
    return {"schema": 1, "kind": "header", "run": run, "started": run, "command": ["pytest", run], **more}


def computed(run: str, of: Cell, status: str, **more: Any) -> Row:
    return {
        "schema": 1, "kind": "cell", "run": run, "key": f"{of.model}-{run}", "cell": of.axes(),
        "check": str(of.check), "status": status, "result": "passed" if status == "supported" else "failed", **more,
    }  # fmt: skip


def plan(run: str, index: int, shards: Mapping[Cell, int], count: int) -> Row:
    shard = {
        "index": index, "count": count, "cells": len(shards), "whole": plan_hash(list(shards)),
        "division": division_hash(shards),
    }  # fmt: skip
    own = sum(shard == index for shard in shards.values())
    return {
        "schema": 1, "kind": "plan", "run": run, "count": own, "total": len(shards), "totals": {"export": len(shards)},
        "shard": shard, "planned": packed([(one, number) for one, number in _plain(shards)]),
    }  # fmt: skip


def _plain(shards: Mapping[Cell, int]) -> list[tuple[dict[str, Any], int]]:
    return [(one.axes(), shards[one]) for one in sorted(shards)]


def shard(index: int, shards: Mapping[Cell, int], statuses: Mapping[Cell, str], run: str = "") -> list[Row]:
    run = run or f"run-{index}"
    mine = [one for one in shards if shards[one] == index and one in statuses]
    count = max(shards.values())
    return [opening(run), plan(run, index, shards, count), *(computed(run, one, statuses[one]) for one in mine)]
