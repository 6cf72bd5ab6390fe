"""Predictions beside and in the place of what was measured, accuracies of elsewhere, and names that tell apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_plugin.characterise.choice.candidate import Basis, Candidate, Figure
from bench_plugin.characterise.choice.completing import completed
from bench_plugin.characterise.choice.predictions import Prediction, is_predictions, read_predictions
from bench_plugin.domain.errors import UsageError
from tests.characterise.choice.made import candidate

PRICE = Figure(99.0, Basis.PUBLISHED, "a list")


def facts(target: str) -> tuple[dict[str, Figure], dict[str, tuple[str, ...]]]:
    return ({"price": PRICE}, {"os": ("Linux",)}) if target == "coral" else ({}, {})


def prediction(target: str, rate: float, mode: str = "", precision: str = "fp32") -> Prediction:
    places = {"model": "net", "target": target, "precision": precision} | ({"mode": mode} if mode else {})
    figures = {"latency": 1 / rate, "throughput": rate}
    return Prediction(places, {name: Figure(value, Basis.PREDICTED, "roof") for name, value in figures.items()})


def named(found: list[Candidate]) -> dict[str, Candidate]:
    assert len({one.name for one in found}) == len(found), "each candidate has a name of its own"
    return {one.name: one for one in found}


def test_a_prediction_of_a_place_where_nothing_ran_is_a_candidate_with_the_published_figures() -> None:
    rows = [candidate("tvm", latency=0.01, accuracy=0.9, drop=0.01), candidate("iree", accuracy=0.8, drop=0.11)]
    rows.append(candidate("bad", accuracy=0.1, status="mismatch"))
    found = named(completed(rows, [prediction("coral", 200.0)], facts, {}))
    made = found["any compiler fp32 on coral"]
    assert (made.status, made.basis, made.value("latency")) == ("", "predicted", 0.005)
    assert made.figures["price"] == PRICE and made.attributes == {"os": ("Linux",)}
    accuracy = made.figures["accuracy"]
    assert (accuracy.value, accuracy.basis) == (0.8, Basis.ELSEWHERE), "the worst one that is right"
    assert accuracy.source == "row k: iree fp32 on local"
    assert found["iree fp32 on local"].figures["accuracy"].basis is Basis.MEASURED


def test_a_prediction_stands_beside_a_measured_time_and_in_the_place_of_a_missing_one() -> None:
    rows = [
        candidate("tvm", target="pi", latency=0.02, throughput=50.0), candidate("emx", target="pi"),
        candidate("tvm", target="pi", latency=0.1, throughput=80.0, places={"batch": "8"}),
        candidate("tvm", target="pi", places={"precision": "w8a8"}),
    ]  # fmt: skip
    found = named(completed(rows, [prediction("pi", 100.0)], facts, {}))
    assert set(found) == {"tvm fp32 on pi", "emx fp32 on pi", "tvm fp32 on pi, batch 8", "tvm w8a8 on pi"}
    timed, untimed = found["tvm fp32 on pi"], found["emx fp32 on pi"]
    assert timed.value("latency") == 0.02 and timed.predicted["latency"].value == 0.01 and timed.basis == "measured"
    assert untimed.value("latency") == 0.01 and untimed.basis == "predicted"
    assert found["tvm fp32 on pi, batch 8"].predicted == {}, "a run of one input was predicted"
    assert found["tvm w8a8 on pi"].predicted == {} and found["tvm w8a8 on pi"].basis == "unknown"


def test_a_mode_decides_which_prediction_is_meant() -> None:
    both = [prediction("pi", 100.0, "fast"), prediction("pi", 50.0, "slow")]
    found = named(completed([candidate("tvm", target="pi", places={"mode": "slow"})], both, facts, {}))
    assert found["tvm fp32 on pi, mode slow"].value("latency") == 0.02
    assert found["any compiler fp32 on pi, mode fast"].value("latency") == 0.01
    unknown = named(completed([candidate("tvm", target="pi")], both, facts, {}))
    assert unknown["tvm fp32 on pi"].value("latency") is None and len(unknown) == 3
    alone = named(completed([candidate("tvm", target="pi")], both[:1], facts, {}))
    assert alone["tvm fp32 on pi"].value("latency") == 0.01


def test_the_drop_follows_from_the_accuracy_of_the_frameworks_own_model() -> None:
    rows = [candidate("tvm", accuracy=0.9, places={"framework": "pytorch"})]
    (found,) = completed(rows, [], facts, {"net pytorch": 0.95})
    assert found.value("drop") == pytest.approx(0.05)
    assert completed(rows, [], facts, {"net mxnet": 0.95})[0].value("drop") is None


def test_predictions_are_read_and_an_unsupported_pair_is_no_candidate(tmp_path: Path) -> None:
    path = tmp_path / "predictions.json"
    row = {"model": "net", "target": "coral", "mode": "fast", "precision": "w8a8", "inputs_per_s": 250.0,
           "bound": "memory", "assumption": "weights off-chip"}  # fmt: skip
    path.write_text(
        json.dumps({"predictions": [row, {**row, "inputs_per_s": None}, {**row, "mode": None, "batch": 4}]})
    )
    assert is_predictions(path)
    first, second = read_predictions(path)
    assert first.places == {"model": "net", "target": "coral", "mode": "fast", "precision": "w8a8"}
    assert first.figures["latency"] == Figure(0.004, Basis.PREDICTED, "memory; weights off-chip")
    assert second.figures["latency"].value == pytest.approx(0.016) and second.places["batch"] == "4"
    assert "mode" not in second.places
    rows = tmp_path / "results.jsonl"
    for text in ('{"kind": "header"}\n{"kind": "cell"}\n', '{"kind": "header", "predictions": []}\n', "", "no JSON"):
        rows.write_text(text)
        assert not is_predictions(rows)


WRONG = {
    '{"predictions": {}}': "'predictions' is no list",
    '{"predictions": [3]}': "predictions[0]: it is no object",
    '{"predictions": [{"target": "x", "precision": "fp32"}]}': "predictions[0]: model is missing, or no text",
    '{"predictions": [{"model": "m", "target": "x", "precision": "fp32", "inputs_per_s": 0}]}': "is 0, and not a n",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_predictions_are_refused_with_their_place(tmp_path: Path, text: str) -> None:
    path = tmp_path / "predictions.json"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        read_predictions(path)
    assert WRONG[text] in str(raised.value) and str(path) in str(raised.value)


def test_a_name_says_no_more_than_it_needs() -> None:
    rows = [
        candidate("native", places={"framework": "pytorch"}), candidate("native", places={"framework": "mxnet"}),
        candidate("tvm", places={"framework": "pytorch", "exporter": "dynamo", "opset": "17"}),
        candidate("mnn", places={"precision": "w16", "graph": "w16"}), candidate("mnn", places={"precision": "w16"}),
        candidate("ort", places={"precision": "w8a8", "graph": "qdq", "batch": "8"}),
    ]  # fmt: skip
    again = [prediction("coral", 2.0), prediction("coral", 2.0)]
    assert set(named(completed(rows, again, facts, {}))) == {
        "native fp32 on local, framework pytorch", "native fp32 on local, framework mxnet", "tvm fp32 on local",
        "mnn w16 on local, graph w16", "mnn w16 on local, no graph", "ort w8a8 qdq on local, batch 8",
        "any compiler fp32 on coral",
    }  # fmt: skip
