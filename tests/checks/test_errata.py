"""The errata of the checkout: they name cases that there are, and say which failures they explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.checks.operators.errata import ErrataFile, errata_digest, errata_of
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Failure, Stage, Symptom
from bench_plugin.domain.records import read
from bench_plugin.inventory.adapters import read_adapter
from bench_plugin.inventory.cases import read_cases

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "fixtures/operators",)
WINDOW, CAUSAL = "test_attention_local_window", "test_attention_4d_causal_nonpad_batch_prefill"
REFUSED = "Error Unrecognized attribute: left_window_size for operator Attention"


def failure(symptom: Symptom, message: str) -> Failure:
    return Failure(Stage.COMPILE, symptom, message)


def test_every_case_exists_and_has_the_operator() -> None:
    cases = read_cases(FOLDERS[0] / "corpus.csv")
    rows = read(FOLDERS[0] / "errata.toml", ErrataFile).erratum
    assert {row.pull_request for row in rows} == {7867, 8068, 8108}
    for row in rows:
        assert row.link.endswith(f"/pull/{row.pull_request}")
        for case in row.cases:
            assert cases[case].operators == (row.operator,), case
            assert cases[case].opset >= row.opset, case


def test_a_refusal_counts_only_where_it_names_what_was_added() -> None:
    (window,) = errata_of(WINDOW, FOLDERS)
    assert window.refused(failure(Symptom.EXCEPTION, REFUSED))
    assert not window.refused(failure(Symptom.UNSUPPORTED, "Unsupported op Attention"))
    assert not window.refused(failure(Symptom.CRASH, REFUSED)), "a crash is no refusal"
    (causal,) = errata_of(CAUSAL, FOLDERS)
    assert not causal.refused(failure(Symptom.EXCEPTION, "is_causal is not supported")), "nothing was added"


def test_a_mismatch_counts_in_the_outputs_that_the_change_concerns() -> None:
    (causal,) = errata_of(CAUSAL, FOLDERS)
    assert causal.explains([0]) and causal.explains([0, 3]) and not causal.explains([3]) and not causal.explains([])
    (window,) = errata_of(WINDOW, FOLDERS)
    assert window.explains([3])
    assert "8108 (https://github.com/onnx/onnx/pull/8108)" in window.text


def test_other_cases_and_projects_have_none(tmp_path: Path) -> None:
    assert errata_of("test_abs", FOLDERS) == ()
    assert errata_of(WINDOW, (tmp_path,)) == () and errata_digest((tmp_path,)) == ""
    assert len(errata_digest(FOLDERS)) == 64


def test_a_file_that_is_not_valid_is_a_usage_error(tmp_path: Path) -> None:
    row = (
        'operator = "Abs"\nopset = 13\npull_request = 1\nlink = "https://x.org"\nchanged = "it"\ncases = ["test_abs"]\n'
    )
    (tmp_path / "errata.toml").write_text(f'[[erratum]]\n{row}refusals = "("\n')
    with pytest.raises(UsageError, match="refusals: not a regular expression"):
        errata_of("test_abs", (tmp_path,))


def test_every_compiler_of_operators_declares_its_range_of_opsets() -> None:
    folder = ROOT / "bench_plugin/adapters/compilers"
    found = {path.stem: read_adapter(path).declaration for path in sorted(folder.glob("[!_]*.py"))}
    ranges = {name: said.get("opsets") for name, said in found.items() if said.get("operators")}
    assert set(ranges) >= {
        "emx",
        "iree",
        "mnn",
        "ncnn",
        "onnxruntime",
        "openvino",
        "reference",
        "tflite",
        "tract",
        "tvm",
    }
    for name, given in ranges.items():
        assert given is not None, name
        assert given[0] >= 1 and (given[1] == 0 or given[0] <= given[1]), name
