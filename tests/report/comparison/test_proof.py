"""The table of ``benchmarks/against.py``: counts with binomial intervals, from the lines that it has written."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks/against.py"
ABOUT = {"model": "m", "framework": "f", "compiler": "c", "threads": 1, "bursts": False}


@pytest.fixture(scope="module")
def proof() -> Any:
    spec = spec_from_file_location("against", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pairs_in_turn_are_counted_with_intervals(proof: Any) -> None:
    said = [(0.0, "same")] * 98 + [(0.0, "slower")] * 2 + [(0.1, "slower")] * 95 + [(0.1, "too noisy to say")] * 5
    lines = [{"kind": "turn", **ABOUT, "injected": one, "verdict": verdict, "seconds": 6.0} for one, verdict in said]
    row = proof.table(lines).splitlines()[2]
    counted = "100 | 2 (0.2% to 7.0%) | 0 and 5 | 100 | 95 (88.7% to 98.4%) | 6.0, 6.0 |"
    assert row == f"| in turn | m, c, 1 thread | nothing | {counted}"


def test_stored_runs_are_compared_with_their_neighbours_and_far_apart_with_and_without_calibration(proof: Any) -> None:
    def line(level: float) -> dict[str, Any]:
        launches = [level * one for one in (1.0, 1.001, 0.999, 1.0, 1.0005)]
        return {"kind": "stored", **ABOUT, "launch_minima": launches, "calibration": [level] * 5, "seconds": 10.0}

    rows = proof.table([line(1.0), line(1.0), line(1.06), line(1.06)]).splitlines()[2:]
    found = {row.split(" | ")[0].removeprefix("| "): row.split(" | ")[3:5] for row in rows}
    assert found["stored, one after the other"][0] == "3" and found["stored, one after the other"][1].startswith("0 ")
    assert found["stored, without calibration, one after the other"][1].startswith("1 ")
    assert found["stored, without calibration, half the runs apart"][1].startswith("4 ")
