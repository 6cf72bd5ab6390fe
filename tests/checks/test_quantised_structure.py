"""Pre-quantised models: what shows that no block is missing between layers that are right one by one."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from bench_plugin.checks.equivalence import layers, prequantised
from bench_plugin.compare.table import DEFAULTS
from bench_plugin.compare.verdict import AGREE, MISMATCH, Comparison
from bench_plugin.pipeline.judge_quantised import BY_DISTANCE, BY_STABLE_INPUTS, IN_PLACE, LayerResults
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.checks.test_openvino_sums import SCRIPT
from tests.given_file import EQUIVALENCE, the_row, write_file
from tests.project import Project

BRANCH = "residual branch zeroed"


def row_of(project: Project, compiler: str, blocks: int) -> Mapping[str, Any]:
    """The row of a pre-quantised network of so many blocks, in which roundings grow from block to block."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), SCRIPT, "net.onnx", blocks)
    row = the_row(project.run(f"--compilers={compiler}", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "qdq"))
    assert row["status"] == "supported", row["reason"]
    return row


def test_where_the_rounding_is_stable_the_outputs_show_it(project: Project) -> None:
    numbers = row_of(project, "onnxruntime", 3)["numbers"]
    assert numbers["whole_by"] == BY_STABLE_INPUTS and numbers["mutants"][BRANCH]["ratio"] > 10


def test_where_it_is_not_the_layers_are_judged_in_their_places(project: Project) -> None:
    numbers = row_of(project, "onnxruntime", 14)["numbers"]
    assert numbers["whole_by"] == IN_PLACE and numbers["accumulated"] > 0.01
    assert BRANCH not in numbers["mutants"], "nothing end to end has to notice it"


def test_where_that_changes_the_result_a_missing_branch_has_to_change_the_distance(project: Project) -> None:
    numbers = row_of(project, "openvino", 14)["numbers"]
    assert numbers["whole_by"] == BY_DISTANCE and numbers["accumulated"] > 0.5, "a rounding is left out in each sum"
    assert 1 < numbers["mutants"][BRANCH]["ratio"] < 5, "over that distance, and not in steps of the outputs"


@pytest.mark.parametrize(
    ("off", "faithful", "status"), [(0.4, True, AGREE), (1.2, True, MISMATCH), (1.2, False, AGREE)]
)
def test_a_layer_that_is_wrong_in_its_place_is_a_mismatch_where_the_model_runs_as_ever(
    monkeypatch: pytest.MonkeyPatch, off: float, faithful: bool, status: str
) -> None:
    steps, nothing = np.arange(20.0), cast(Any, None)
    results = LayerResults({"conv": steps + off}, {"conv": steps.astype("int8")})
    inside = layers.Layers(results, nothing, nothing, faithful)
    monkeypatch.setattr(layers, "in_place", lambda *_: inside)
    run = cast(Any, SimpleNamespace(judge=SimpleNamespace(table=DEFAULTS)))
    apart = Comparison(AGREE, numbers={"whole_by": BY_DISTANCE, "accumulated": 1.5})
    found = prequantised._in_place(run, nothing, nothing, inside, nothing, apart)
    assert found.status == status and found.numbers["accumulated"] == 1.5
    assert found.numbers["whole_by"] == (IN_PLACE if faithful else BY_DISTANCE)
    assert ("within it one is wrong: layer conv" in found.reason) == (status == MISMATCH)
