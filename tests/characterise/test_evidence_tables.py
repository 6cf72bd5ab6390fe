"""The committed tables of operator evidence: they belong to the index of cases, and to the locked onnx."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.cli.main import main
from bench_plugin.cli.shared.compliance.evidence import (
    LISTS,
    OUTCOMES,
    SCHEMAS,
    SIGNATURES,
    Tables,
    evidence_folder,
    evidence_of,
    read_tables,
)
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import settings_here
from bench_plugin.inventory.cases import read_cases
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.results.known_failures.expectations import OperatorRows

ROOT = Path(__file__).parents[2]
OPERATORS = ROOT / "fixtures/operators"


@pytest.fixture(scope="module")
def tables() -> Tables:
    return read_tables(evidence_folder([OPERATORS]))


def test_every_case_of_the_index_has_its_signatures(tables: Tables) -> None:
    cases = read_cases(OPERATORS / "corpus.csv")
    assert set(tables.signatures) == set(cases)
    plain = {name: case for name, case in cases.items() if case.nodes == 1 and len(case.operators) == 1}
    one = {name: tables.signatures[name] for name in plain if len(tables.signatures[name]) == 1}
    assert len(one) > 1500
    assert all(signature.name.rpartition("-")[0] == plain[name].operators[0] for name, (signature,) in one.items())


def test_versions_of_an_operator_with_one_interface_are_alike(tables: Tables) -> None:
    found = [tables.schemas.at("ai.onnx", name, opset) for name, opset in (("Conv", 17), ("Softmax", 12), ("Abs", 5))]
    assert [(one.version, one.like) for one in found if one] == [(11, 1), (11, 1), (1, 1)]
    softmax = tables.schemas.at("ai.onnx", "Softmax", 13)
    assert softmax is not None and softmax.like == 13  # its axis has another default


def test_a_failure_that_is_known_has_not_passed_and_names_its_cause(tables: Tables) -> None:
    expected = OperatorRows([ROOT / "suites/expectations"])
    for compiler, statuses in tables.outcomes.by_compiler.items():
        known = expected.of(compiler)
        passed = [name for name, rows in known.items() if statuses.get(name) == "supported" and not rows[0].varies]
        assert passed == [], f"{compiler}: write the outcomes anew: bench corpus evidence ROWS"
    workspace = Workspace.load(settings_here())
    (found,) = evidence_of(workspace, ["iree"], tables, [])
    assert "torch-mlir" in found.reasons["test_cumsum_1d"] and found.run and found.opsets == (7, 22)


def test_a_case_that_is_right_now_and_then_proves_nothing(tables: Tables) -> None:
    case = "test_rotary_embedding_expanded"  # an empty part of a Split gets what memory held in MNN
    rows = [{"kind": "cell", "run": "r", "cell": {"check": "operator", "compiler": name, "model": case},
             "status": "supported"} for name in ("mnn", "tract")]  # fmt: skip
    workspace = Workspace.load(settings_here())
    found = {one.compiler: {other.name for tried in one.cases.values() for other in tried}
             for one in evidence_of(workspace, ["mnn", "tract"], tables, rows)}  # fmt: skip
    assert case in found["tract"] and case not in found["mnn"]


def test_the_lists_are_of_the_locked_versions(tables: Tables) -> None:
    workspace = Workspace.load(settings_here())
    for name, listed in tables.lists.items():
        adapter = workspace.catalog[f"listed_{name}"]
        assert workspace.lock(adapter.toolchain)[adapter.distribution] in listed.source, (
            f"bench corpus evidence --lists {name}"
        )
    assert {"Conv", "com.microsoft.FusedConv"} <= tables.lists["onnxruntime"].operators


def test_a_table_that_is_none_names_its_file(tmp_path: Path) -> None:
    for name in (SCHEMAS, SIGNATURES, OUTCOMES, LISTS):
        (tmp_path / name).write_text((OPERATORS / "evidence" / name).read_text())
    (tmp_path / OUTCOMES).write_text("case,tool\ntest_abs,Q\n")
    with pytest.raises(UsageError, match=r"outcomes\.csv: not a table of operator evidence"):
        read_tables(tmp_path)


@pytest.mark.nightly
def test_the_tables_are_those_of_the_locked_onnx(tmp_path: Path) -> None:
    assert main(["corpus", "evidence", "--output", str(tmp_path)]) == 0
    for name in (SCHEMAS, SIGNATURES):
        assert (tmp_path / name).read_text() == (OPERATORS / "evidence" / name).read_text(), "bench corpus evidence"
