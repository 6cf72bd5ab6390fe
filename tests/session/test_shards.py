"""``--bench-shard``: a user's project in shards, alone and with workers, narrowed, resumed, and merged again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench_plugin.results.planned import unpacked
from tests.project import Finished, Project, make_project

MODELS = "abcd"
PLAIN = "def test_one():\n    pass\n\n\ndef test_two():\n    pass\n"


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory, tools_python: Path) -> Project:
    project = make_project(tmp_path_factory.mktemp("sharded"), tools_python)
    for name in MODELS:
        project.model(name)
    project.write("test_plain.py", PLAIN)
    return project


def results(shard: int | str) -> str:
    return f"reports/{shard}.jsonl"


def listed(project: Project, *arguments: str) -> list[str]:
    text = project.run("test_plain.py", "--collect-only", "-q", *arguments).text
    return [line for line in text.splitlines() if "::" in line]


def shard_of(project: Project, shard: str, *arguments: str) -> Finished:
    number = shard.partition("/")[0]
    finished = project.run(f"--bench-shard={shard}", "--bench-results", results(number), *arguments)
    return Finished(finished.code, finished.text, project.rows(results(number)))


def test_the_shards_together_are_the_selection_and_have_nothing_in_common(sharded: Project) -> None:
    whole = listed(sharded, "-k", "not export-b and not two")
    parts = [listed(sharded, "-k", "not export-b and not two", f"--bench-shard={one}/3") for one in (1, 2, 3)]
    assert sorted(test for part in parts for test in part) == sorted(whole) and all(parts)
    for model in MODELS:  # an import stays with its export
        assert sum(any(f"[{model}-" in test for test in part) for part in parts) == 1


def test_a_shard_takes_of_what_failed_last(sharded: Project) -> None:
    sharded.write("test_three.py", "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_it(n): assert 0\n")
    sharded.write("test_four.py", "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_it(n): assert n\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:benchmark", "-p", "no:hypothesispytest"]
    assert "4 failed, 3 passed" in sharded.finish([*command, "test_three.py", "test_four.py"]).stdout
    again = [*command, "--lf", "test_three.py", "test_four.py"]
    parts = [sharded.finish([*again, f"--bench-shard={one}/2"]).stdout for one in (1, 2)]
    assert [("3 failed" in part, "1 failed" in part) for part in parts] == [(True, False), (False, True)]


@pytest.fixture(scope="module")
def halves(sharded: Project) -> tuple[Finished, Finished]:
    return shard_of(sharded, "1/2"), shard_of(sharded, "2/2")


def test_the_plan_says_the_shard_and_all_planned_cells(halves: tuple[Finished, Finished]) -> None:
    first, second = halves
    assert first.code == second.code == 0, first.text + second.text
    assert "bench: shard 1/2: 4 of 8 tests" in first.text and "shard 1 of 2, without shard 2" in first.text
    plans = [next(row for row in one.rows if row["kind"] == "plan") for one in (first, second)]
    assert [plan["shard"]["index"] for plan in plans] == [1, 2] and [plan["count"] for plan in plans] == [4, 4]
    assert plans[0]["shard"]["whole"] == plans[1]["shard"]["whole"] and plans[0]["hash"] != plans[1]["hash"]
    assert plans[0]["planned"] == plans[1]["planned"] and plans[0]["shard"]["cells"] == 8
    for plan, finished in zip(plans, (first, second), strict=True):
        mine = [axes for axes, shard in unpacked(plan["planned"]) if shard == plan["shard"]["index"]]
        assert sorted(map(str, mine)) == sorted(str(row["cell"]) for row in finished.rows if row["kind"] == "cell")


def test_shards_are_balanced_by_the_durations_of_an_earlier_run(
    sharded: Project, halves: tuple[Finished, Finished]
) -> None:
    rows = [dict(row) for one in halves for row in one.rows]
    for row in rows:
        if row["kind"] == "cell":
            row["timings"] = {"run": 500.0 if row["cell"]["model"] == "b" else 1.0}
    sharded.write("reports/durations.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    given = "--bench-shard-durations=reports/durations.jsonl"
    first, second = (listed(sharded, f"--bench-shard={one}/2", given) for one in (1, 2))
    assert [test for test in first if "[" in test and "[b-" not in test] == [] and len(first) == 2
    assert len(second) == 8


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "with workers"])
def test_an_empty_shard_is_fine_and_says_so(sharded: Project, workers: tuple[str, ...]) -> None:
    finished = sharded.run("--bench-shard=9/9", "--bench-results", "reports/empty.jsonl", *workers)
    assert finished.code == 0, finished.text
    assert "bench: shard 9/9: 0 of 8 tests; the shard is empty" in finished.text
    assert not sharded.rows("reports/empty.jsonl")


def test_workers_share_a_shard(sharded: Project) -> None:
    finished = shard_of(sharded, "2/2", "-n2")
    assert finished.code == 0, finished.text
    assert "bench: shard 2/2: 4 of 8 tests" in finished.text
    kinds = [row["kind"] for row in finished.rows]
    assert (kinds.count("header"), kinds.count("plan"), kinds.count("cell")) == (1, 1, 4)


def test_a_shard_is_resumed(sharded: Project) -> None:
    shard_of(sharded, "3/4")
    again = shard_of(sharded, "3/4", "--bench-resume")
    assert again.code == 0 and "2 rows reused" in again.text
    assert len(again.cells("export")) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--bench-shard=0/3",), "'0/3' is not a shard I/N with I from 1 to N, as 1/3, 2/3 and 3/3 are"),
        (("--bench-shard=4/3", "-n1"), "'4/3' is not a shard"),
        (("--bench-shard=1/2", "--bench-shard-durations=none.jsonl"), "none.jsonl: neither a results file nor a"),
    ],
)  # fmt: skip
def test_wrong_shards_are_usage_errors(sharded: Project, options: tuple[str, ...], said: str) -> None:
    finished = sharded.run(*options)
    assert finished.code == 4 and said in finished.text and "INTERNALERROR" not in finished.text
