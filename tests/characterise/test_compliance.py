"""Which nodes a compiler takes: versions and types of operators, kinds of evidence, and what of a model is covered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bench_plugin.characterise.compliance.cases import (
    Tried,
    outcomes_of,
    outcomes_text,
    read_outcomes,
    read_signatures,
    signatures_text,
    tried,
)
from bench_plugin.characterise.compliance.coverage import complies
from bench_plugin.characterise.compliance.evidence import Evidence, compiled_of
from bench_plugin.characterise.compliance.judge import Asked, Compliance, Finding, Kind, judged
from bench_plugin.characterise.compliance.lists import Listed, lists_text, read_lists
from bench_plugin.characterise.compliance.schemas import Schemas, Signature, read_schemas, read_signature
from bench_plugin.inventory.cases import Case
from tests.characterise.graphs import Graph

# As ONNX has them, but for a few versions that are left out.
TABLE = """domain,operator,version,like,inputs,outputs,defaults
ai.onnx,Conv,1,1,T T T,T,auto_pad=NOTSET group=1
ai.onnx,Conv,11,1,T T T,T,auto_pad=NOTSET group=1
ai.onnx,Conv,22,1,T T T,T,auto_pad=NOTSET group=1
ai.onnx,Relu,14,14,T,T,
ai.onnx,Reshape,5,5,T -,T,
ai.onnx,Reshape,14,14,T -,T,
ai.onnx,Gather,13,13,T Tind,T,
ai.onnx,Concat,13,13,T*,T,
ai.onnx,Softmax,1,1,T,T,
ai.onnx,Softmax,13,13,T,T,
"""
SCHEMAS: Schemas = read_schemas(TABLE)
FLOAT, HALF = (("T", "float"),), (("T", "float16"),)
CONV_11 = Signature("ai.onnx", "Conv", 11, FLOAT)
CONV_22 = Signature("ai.onnx", "Conv", 22, FLOAT)


def case(name: str, status: str, *signatures: Signature, opset: int = 17) -> Tried:
    return Tried(name, status, opset, len(signatures) == 1, signatures)


def known(*cases: Tried, **more: Any) -> Evidence:
    by_operator: dict[tuple[str, str], list[Tried]] = {}
    for one in cases:
        for signature in one.signatures:
            by_operator.setdefault((signature.domain, signature.operator), []).append(one)
    return Evidence("tool", cases=by_operator, **more)


def verdict(evidence: Evidence, signature: Signature | None = CONV_11, **more: Any) -> Finding:
    operator = signature.operator if signature else more.pop("operator")
    asked = Asked(signature, operator, more.pop("domain", "ai.onnx"), more.pop("opset", 17), **more)
    return judged(asked, evidence, SCHEMAS)


def test_a_node_has_the_version_of_its_opset_and_the_types_of_its_tensors() -> None:
    graph = Graph((1, 3, 8, 8)).then("Conv", (1, 4, 8, 8), "w")
    graph.tensors["w"] = {"dtype": "float", "shape": [4, 3, 3, 3], "weight": True}
    facts = graph.facts(opsets={"ai.onnx": 17})
    found = SCHEMAS.signature(facts.nodes[0], facts)
    assert found is not None and (found.text, found.features) == ("Conv-11 (T float)", ("rank=4",))
    graph.then("Gather", (1,), "i")
    graph.tensors["i"] = {"dtype": "int64", "shape": [1], "weight": True}
    facts = graph.facts(opsets={"ai.onnx": 17})
    found = SCHEMAS.signature(facts.nodes[1], facts)
    assert found is not None and found.text == "Gather-13 (T float, Tind int64)"
    assert read_signature(found.code) == found


def test_an_operator_that_onnx_does_not_have_at_the_opset_has_no_signature() -> None:
    facts = Graph((1, 3)).then("Relu", (1, 3)).then("Gelu", (1, 3), domain="com.acme").facts(opsets={"ai.onnx": 13})
    assert [SCHEMAS.signature(node, facts) for node in facts.nodes] == [None, None]


def test_an_operator_with_any_number_of_inputs_has_the_type_of_its_first() -> None:
    facts = Graph((1, 3)).then("Concat", (1, 9), "x", "x").facts(opsets={"ai.onnx": 13})
    assert SCHEMAS.signature(facts.nodes[0], facts) == Signature(
        "ai.onnx", "Concat", 13, FLOAT, ("input_1_varies", "input_2_varies", "rank=2")
    )


def test_all_cases_passed_is_supported_and_says_how_many() -> None:
    found = verdict(known(case("a", "supported", CONV_11), case("b", "outside our bound", CONV_11)))
    assert (found.status, found.evidence) == (Compliance.SUPPORTED, Kind.PROVEN)
    assert found.why == "2 of 2 cases of Conv-11 (T float) passed" and found.shown == ("a", "b")


def test_a_version_with_the_same_interface_proves_the_other() -> None:
    assert verdict(known(case("a", "supported", CONV_22))).status is Compliance.SUPPORTED
    softmax = Signature("ai.onnx", "Softmax", 1, FLOAT)
    newer = Signature("ai.onnx", "Softmax", 13, FLOAT)
    found = verdict(known(case("a", "supported", newer)), softmax)
    assert found.status is Compliance.PARTIAL
    assert found.why == "proven for Softmax-13 (T float), not for Softmax-1 (T float)"


def test_a_case_proven_for_float32_is_partial_for_float16() -> None:
    found = verdict(known(case("a", "supported", CONV_11)), Signature("ai.onnx", "Conv", 11, HALF))
    assert (found.status, found.evidence) == (Compliance.PARTIAL, Kind.PROVEN)
    assert found.why == "proven for Conv-11 (T float), not for Conv-11 (T float16)"


def test_some_cases_failed_is_partial_with_the_known_cause() -> None:
    cases = case("good", "supported", CONV_11), case("bad", "ERROR", CONV_11)
    found = verdict(known(*cases, reasons={"bad": "groups are refused"}))
    assert found.status is Compliance.PARTIAL and found.shown == ("bad",)
    assert found.why == "1 of 2 cases of Conv-11 (T float) passed: groups are refused"


def test_all_cases_failed_is_unsupported_and_skew_says_nothing() -> None:
    found = verdict(known(case("bad", "mismatch", CONV_11), case("new", "version skew", CONV_11)))
    assert found.status is Compliance.UNSUPPORTED and found.why.endswith(
        "0 of 1 cases of Conv-11 (T float) passed: mismatch"
    )
    assert verdict(known(case("new", "version skew", CONV_11))).status is Compliance.UNKNOWN


def test_a_graph_of_several_operators_proves_them_where_it_passed_and_blames_none_where_it_failed() -> None:
    relu = Signature("ai.onnx", "Relu", 14, FLOAT)
    found = verdict(known(case("both", "supported", CONV_11, relu)))
    assert found.status is Compliance.SUPPORTED and "with it alone" in found.why
    assert verdict(known(case("both", "ERROR", CONV_11, relu))).status is Compliance.UNKNOWN


def test_every_case_of_other_types_refused_is_unsupported() -> None:
    half = Signature("ai.onnx", "Conv", 11, HALF)
    assert verdict(known(case("a", "unsupported", half))).status is Compliance.UNSUPPORTED
    assert verdict(known(case("a", "mismatch", half))).status is Compliance.UNKNOWN


def test_the_tools_own_list_counts_where_no_case_was_decided() -> None:
    listed = {"listed": frozenset({"Conv"}), "source": "its table"}
    found = verdict(known(**listed))
    assert (found.status, found.evidence) == (Compliance.SUPPORTED, Kind.DECLARED)
    lacks = verdict(known(**listed), Signature("ai.onnx", "Gather", 13, FLOAT))
    assert (lacks.status, lacks.why) == (Compliance.UNSUPPORTED, "its table does not have Gather")
    custom = verdict(known(**listed), None, operator="Conv", domain="com.acme")
    assert (custom.status, custom.why) == (Compliance.UNSUPPORTED, "its table does not have com.acme.Conv")
    proven = verdict(known(case("bad", "ERROR", CONV_11), **listed))
    assert proven.status is Compliance.UNSUPPORTED and proven.evidence is Kind.PROVEN


def test_nothing_known_is_unknown() -> None:
    assert verdict(known()).status is Compliance.UNKNOWN
    found = verdict(known(), None, operator="Gelu", domain="com.acme")
    assert (found.status, found.why) == (Compliance.UNKNOWN, "ONNX has no com.acme.Gelu at this opset")


def test_a_compiler_of_frameworks_models_takes_no_onnx_file() -> None:
    found = verdict(known(case("a", "supported", CONV_11), takes=("pytorch",)))
    assert (found.status, found.evidence) == (Compliance.UNSUPPORTED, Kind.DECLARED)
    assert found.why == "it compiles from pytorch, not from ONNX files"


def test_an_opset_beyond_the_declared_range_needs_cases_of_such_files() -> None:
    evidence = known(case("a", "supported", CONV_11, opset=11), opsets=(7, 16))
    found = verdict(evidence, opset=17)
    assert (found.status, found.evidence) == (Compliance.UNSUPPORTED, Kind.DECLARED)
    assert found.why == "opset 17 is newer than 16, the newest that it declares"
    found = verdict(known(case("a", "supported", CONV_11, opset=18), opsets=(7, 16)), opset=17)
    assert found.status is Compliance.PARTIAL and "though 1 such cases passed" in found.why
    assert verdict(known(case("a", "supported", CONV_11), opsets=(1, 0)), opset=17).status is Compliance.SUPPORTED
    older = verdict(known(case("a", "supported", CONV_11), opsets=(7, 20)), opset=6)
    assert older.why == "opset 6 is older than 7, the oldest that it declares"


def row(check: str, model: str, status: str, compiler: str = "tool", **more: Any) -> dict[str, Any]:
    cell = {"check": check, "model": model, "compiler": compiler, "framework": "onnx", "precision": "fp32"}
    return {
        "kind": "cell",
        "run": "r1",
        "key": f"key of {model}",
        "cell": cell,
        "status": status,
        "artefacts": {},
        **more,
    }


def of_model(name: str, status: str = "supported", operators: Mapping[str, int] = {}, size: int = 10) -> dict[str, Any]:
    said = {"opsets": {"ai.onnx": 17}, "operators": dict(operators), "bytes": size}
    return row("equivalence", name, status, artefacts={"model.onnx": said})


def test_a_model_that_passed_proves_itself_whatever_the_cases_say() -> None:
    compiled = compiled_of([of_model("net", size=10)], "tool")
    evidence = known(case("bad", "ERROR", CONV_11), compiled=compiled)
    found = verdict(evidence, model="net", size=10)
    assert (found.status, found.evidence, found.shown) == (Compliance.SUPPORTED, Kind.COMPILED, ("key of net",))
    assert verdict(evidence, model="net", size=11).status is not Compliance.SUPPORTED  # another file of that name


def test_another_model_with_the_operator_makes_the_unknown_partial() -> None:
    rows = [of_model("net", operators={"Conv": 2}), of_model("broken", "mismatch", {"Gather": 1})]
    evidence = known(compiled=compiled_of(rows, "tool"))
    found = verdict(evidence)
    assert (found.status, found.evidence, found.shown) == (Compliance.PARTIAL, Kind.COMPILED, ("key of net",))
    assert "models with Conv-11 were compiled and passed: net" in found.why
    assert verdict(evidence, Signature("ai.onnx", "Gather", 13, FLOAT)).status is Compliance.UNKNOWN
    assert verdict(evidence, CONV_22, opset=22).status is Compliance.UNKNOWN  # the model had Conv-11


def test_rows_of_other_precisions_and_of_frameworks_models_are_no_evidence() -> None:
    rounded = of_model("net")
    rounded["cell"]["precision"] = "w8a8"
    own = of_model("net")
    own["cell"]["framework"] = "pytorch"
    assert compiled_of([rounded, own], "tool") == ()


def net() -> Graph:
    """A convolution, its activation, and an operator that nobody knows."""
    graph = Graph((1, 3, 8, 8))
    graph.then("Conv", (1, 4, 8, 8), graph.weight((4, 3, 3, 3))).then("Relu", (1, 4, 8, 8))
    return graph.then("Magic", (1, 4, 8, 8), domain="com.acme")


def test_a_model_is_covered_by_nodes_and_by_operations() -> None:
    relu = Signature("ai.onnx", "Relu", 14, FLOAT)
    good = known(case("a", "supported", CONV_22), case("r", "supported", relu))
    poor = Evidence("poor", cases=known(case("r", "unsupported", relu)).cases)
    report = complies(net().facts(opsets={"ai.onnx": 17}), [good, poor], SCHEMAS, model="net")
    first, second = report.compilers
    assert [str(node.by_compiler["tool"].status) for node in report.nodes] == ["supported", "supported", "unknown"]
    assert (first.takes, first.first, first.nodes) == ("perhaps", "t2 (Magic)", {"supported": 2, "unknown": 1})
    assert first.node_share == 2 / 3 and first.operation_share == 1.0 and report.lower_bound
    assert (second.takes, second.first) == ("no", "t1 (Relu)")
    assert report.operations == 2 * 4 * 64 * 27 + 4 * 64  # the convolution and the comparisons of the activation
    assert [node.operations for node in report.nodes] == [2 * 4 * 64 * 27, 4 * 64, 0]


def test_a_compiler_that_supports_every_node_takes_the_whole_model() -> None:
    graph = Graph((1, 3, 8, 8))
    facts = graph.then("Conv", (1, 4, 8, 8), graph.weight((4, 3, 3, 3))).facts(opsets={"ai.onnx": 17})
    (found,) = complies(facts, [known(case("a", "supported", CONV_11))], SCHEMAS, model="net").compilers
    assert (found.takes, found.first, found.node_share, found.operation_share) == ("yes", "", 1.0, 1.0)


def test_outcomes_are_read_from_rows_written_and_read_again() -> None:
    rows = [
        row("operator", "test_a", "ERROR"), row("operator", "test_a", "supported"),
        row("operator", "test_b", "version skew", "other"), row("equivalence", "net", "supported"),
        row("operator", "test_c", "board-lost"),
    ]  # fmt: skip
    found = outcomes_of(rows)
    assert found.by_compiler == {"tool": {"test_a": "supported"}, "other": {"test_b": "version skew"}}
    text = outcomes_text(found, ["test_a", "test_b"])
    assert read_outcomes(text) == found and outcomes_text(read_outcomes(text), ["test_a", "test_b"]) == text
    newer = outcomes_of([row("operator", "test_b", "mismatch")])
    assert found.updated(newer).by_compiler["tool"] == {"test_b": "mismatch"}
    assert found.merged(newer).by_compiler["tool"] == {"test_a": "supported", "test_b": "mismatch"}


def test_cases_are_found_by_their_operators() -> None:
    signatures = read_signatures(signatures_text({"test_a": [CONV_11], "test_b": [CONV_11, CONV_22], "test_c": []}))
    cases = {name: Case(name, "node", 1, 7, 11, ("Conv",)) for name in ("test_a", "test_b")}
    found = tried({"test_a": "supported", "test_b": "ERROR", "test_c": "ERROR", "gone": "ERROR"}, signatures, cases)
    assert [(one.name, one.alone) for one in found["ai.onnx", "Conv"]] == [("test_a", True), ("test_b", False)]


def test_lists_are_written_and_read_again() -> None:
    lists = {"tool": Listed("its table, of 1.0", frozenset({"Conv", "ai.onnx.ml.Scaler"}))}
    assert read_lists(lists_text(lists)) == lists


@pytest.mark.parametrize("text", ["no table", "domain,operator,version\nai.onnx,Conv,one\n"])
def test_a_text_that_is_no_table_of_operators_is_an_error(text: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        read_schemas(text + "\nx")


def test_the_features_of_a_node_are_what_it_asks_for_beside_the_usual() -> None:
    graph = Graph((1, 4, 8, 8))
    attributes = {
        "auto_pad": "SAME_UPPER", "group": 2, "dilations": [1, 1], "pads": [0, 0, 1, 1], "strides": [2, 2],
        "kernel_shape": [1, 1],
    }  # fmt: skip
    graph.then("Conv", (1, 4, 8, 8), graph.weight((4, 2, 1, 1)), "b", attributes=attributes)
    facts = graph.facts(opsets={"ai.onnx": 17})
    found = SCHEMAS.signature(facts.nodes[0], facts)
    assert found is not None and found.features == (
        "auto_pad=SAME_UPPER", "group", "input_2_varies", "pads", "pads_uneven", "rank=4", "strides",
    )  # fmt: skip
    assert read_signature(found.code) == found


def used(*features: str) -> Signature:
    return Signature("ai.onnx", "Conv", 11, FLOAT, features)


def test_a_case_that_asks_for_more_than_the_node_says_nothing_of_it_where_it_failed() -> None:
    cases = case("plain", "supported", used("rank=4")), case("grouped", "ERROR", used("group", "rank=4"))
    found = verdict(known(*cases), used("rank=4"))
    assert found.status is Compliance.SUPPORTED
    assert found.why.endswith(
        "1 of 1 cases of Conv-11 (T float) passed (1 more failed that ask for what this node does not)"
    )
    assert verdict(known(*cases), used("group", "rank=4")).status is Compliance.PARTIAL
    assert verdict(known(*cases), used("group")).status is Compliance.PARTIAL  # its rank is not known: it may be 4
    assert verdict(known(*cases), used("group", "rank=3")).status is Compliance.PARTIAL  # nothing grouped passed
    assert verdict(known(cases[1]), used("rank=4")).status is Compliance.UNKNOWN


def test_what_no_case_that_passed_asks_for_is_not_proven() -> None:
    found = verdict(known(case("plain", "supported", used("rank=4"))), used("auto_pad=VALID", "rank=3"))
    assert found.status is Compliance.PARTIAL and found.why.endswith("passed, none of them with auto pad=VALID")
