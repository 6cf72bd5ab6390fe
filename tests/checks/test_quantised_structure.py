"""Pre-quantised models: what shows that no block is missing between layers that are right one by one."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from bench_plugin.checks.equivalence import layers, prequantised
from bench_plugin.compare.table import DEFAULTS
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison, unverified
from bench_plugin.domain.outcome import Unverified
from bench_plugin.pipeline.judging.judge_quantised import BY_DISTANCE, BY_STABLE_INPUTS, IN_PLACE, LayerResults
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.checks.test_openvino_sums import SCRIPT
from tests.given_file import EQUIVALENCE, compiles, the_row, write_file
from tests.project import Project

BRANCH = "residual branch zeroed"


# Between two products all values lie in the middle of two steps, since 255 steps of 0.1 are their range of 0 to 25.5:
# float32 decides to which side they go.
IN_THE_MIDDLE = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(6)
known = {"least": 0.0, "most": 254.0, "half": 0.5, "tenth": 0.1, "ends": [[0.0, 25.5]]}
nodes, last = [], "x"
for number in range(4):
    known |= {f"w{number}": rng.normal(0, 1, (26 if number else 24, 24)), f"b{number}": rng.normal(60, 9, 24)}
    nodes += [h.make_node("MatMul", [last, f"w{number}"], [f"m{number}"]),
              h.make_node("Add", [f"m{number}", f"b{number}"], [f"a{number}"]),
              h.make_node("Round", [f"a{number}"], [f"r{number}"]),
              h.make_node("Clip", [f"r{number}", "least", "most"], [f"c{number}"]),
              h.make_node("Add", [f"c{number}", "half"], [f"h{number}"]),
              h.make_node("Mul", [f"h{number}", "tenth"], [f"t{number}"]),
              h.make_node("Concat", [f"t{number}", "ends"], [f"j{number}"], axis=1)]
    last = f"j{number}"
known["v"] = rng.normal(0, 1, (26, 5))
nodes.append(h.make_node("MatMul", [last, "v"], ["y"]))
tensors = [numpy_helper.from_array(np.asarray(values, "float32"), name) for name, values in known.items()]
ports = [h.make_tensor_value_info(name, 1, [1, size]) for name, size in (("x", 24), ("y", 5))]
graph = h.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def row_of(
    project: Project, compiler: str, blocks: int, *options: str, status: str = "supported"
) -> Mapping[str, Any]:  # fmt: skip
    """The row of a pre-quantised network of so many blocks, in which roundings grow from block to block."""
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), SCRIPT, "net.onnx", blocks)
    options = (f"--compilers={compiler}", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "qdq", *options)
    row = the_row(project.run(*options))
    assert row["status"] == status, row["reason"]
    return row


def test_where_the_rounding_is_stable_the_outputs_show_it(project: Project) -> None:
    numbers = row_of(project, "onnxruntime", 3)["numbers"]
    assert numbers["whole_by"] == BY_STABLE_INPUTS and numbers["mutants"][BRANCH]["ratio"] > 10


def test_where_it_is_not_the_layers_are_judged_in_their_places(project: Project) -> None:
    numbers = row_of(project, "onnxruntime", 14)["numbers"]
    assert numbers["whole_by"] == IN_PLACE and numbers["accumulated"] > 0.01
    assert BRANCH not in numbers["mutants"], "nothing end to end has to notice it"


def test_what_a_compiler_adds_in_place_is_judged_there_too(project: Project) -> None:
    row = row_of(project, "openvino", 14)
    numbers = row["numbers"]
    assert numbers["whole_by"] == IN_PLACE and numbers["accumulated"] > 0.5, "a rounding is left out in each sum"
    assert numbers["inside"] == 28, "both summands of each sum"
    assert numbers["worst_steps"] <= 0.51 and BRANCH not in numbers["mutants"]
    assert layers.UNFAITHFUL not in row["flags"]


def test_where_that_changes_the_result_a_missing_branch_has_to_change_the_distance(project: Project) -> None:
    row = of_fake_compiler(project, "wrong-within")
    assert f"with sums as they are: {layers.UNFAITHFUL}" in row["flags"]
    numbers = row["numbers"]
    assert numbers["whole_by"] == BY_DISTANCE and numbers["accumulated"] > 0.01
    assert numbers["mutants"][BRANCH]["ratio"] > 1, "over that distance, and not in steps of the outputs"


def test_a_mistake_that_is_made_only_where_nothing_is_exposed_is_not_excused(project: Project) -> None:
    row = of_fake_compiler(project, "wrong-hidden", blocks=3, status="unverified")
    assert row["unverified"] == "ill-conditioned"
    assert "a mistake between the layers cannot be ruled out" in row["reason"]
    assert row["numbers"]["accumulated"] > 0.1, "and within what single steps may add up to"


@pytest.mark.parametrize("compiler", ["onnxruntime", "tract"])
def test_a_graph_that_is_quantised_as_it_runs_is_judged_in_its_places(project: Project, compiler: str) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), IN_THE_MIDDLE, "net.onnx")
    row = the_row(project.run(f"--compilers={compiler}", "--precisions=w8a8-dyn", f"--bench-onnx={path}"))
    assert row["status"] == "supported", row["reason"]
    numbers = row["numbers"]
    assert numbers["stable_inputs"] == 0 and numbers["whole_by"] == IN_PLACE
    assert numbers["layers"] == 4 * 5, "of each product: real values, steps, scale and zero point"
    assert numbers["worst_steps"] <= 0.51 and numbers["strength"] == 1
    mutants = {name.partition(" at ")[0] for name in numbers["mutants"]}
    assert {"weights x1.01", "bias dropped", "channels swapped"} <= mutants


def test_layers_that_are_wrong_with_sums_inside_say_nothing_of_the_model(project: Project) -> None:
    row = of_fake_compiler(project, "wrong-sums")
    said = "with sums as they are a layer is wrong: layer "
    assert any(flag.startswith(said) for flag in row["flags"]), "it rounds both summands, and OpenVINO one of them"
    assert row["numbers"]["whole_by"] == BY_DISTANCE and row["numbers"]["inside"] is None


def of_fake_compiler(project: Project, fault: str, blocks: int = 6, status: str = "supported") -> Mapping[str, Any]:
    """The row of the fake compiler, which gives another result once integers of the model are outputs."""
    compiles(project)
    row = row_of(project, "fakec", blocks, f"--bench-option=fakec.fault={fault}", status=status)
    assert layers.UNFAITHFUL in row["flags"]
    return row


NUMBERS = {"whole_by": BY_DISTANCE, "accumulated": 1.5}


def in_place(
    monkeypatch: pytest.MonkeyPatch,
    apart: Comparison,
    off: np.ndarray[Any, Any],
    *,
    faithful: bool = True,
    graph: str = "qdq",
) -> Comparison:
    """The verdict ``apart``, settled by a layer that is so many steps ``off`` in its place."""
    steps, nothing = np.arange(float(off.size)) % 100, cast(Any, None)
    results = LayerResults({"conv": steps + off}, {"conv": steps.astype("int8")})
    inside = layers.Layers(results, nothing, nothing, faithful)
    monkeypatch.setattr(layers, "in_place", lambda *_: inside)
    run = cast(Any, SimpleNamespace(judge=SimpleNamespace(table=DEFAULTS), cell=SimpleNamespace(graph=graph)))
    found, _ = prequantised._in_place(run, nothing, nothing, nothing, nothing, apart)
    return found


@pytest.mark.parametrize(
    ("off", "faithful", "status"), [(0.4, True, AGREE), (1.2, True, MISMATCH), (1.2, False, AGREE)]
)
def test_a_layer_that_is_wrong_in_its_place_is_a_mismatch_where_the_model_runs_as_ever(
    monkeypatch: pytest.MonkeyPatch, off: float, faithful: bool, status: str
) -> None:
    found = in_place(monkeypatch, Comparison(AGREE, numbers=NUMBERS), np.full(20, off), faithful=faithful)
    assert found.status == status and found.numbers["accumulated"] == 1.5
    assert found.numbers["whole_by"] == (IN_PLACE if faithful else BY_DISTANCE)
    assert ("within it one is wrong: layer conv" in found.reason) == (status == MISMATCH)


@pytest.mark.parametrize(
    ("most", "faithful", "status"),
    [(0.4, True, AGREE), (0.7, True, UNVERIFIED), (0.4, False, UNVERIFIED), (1.2, True, MISMATCH)],
)
def test_what_nothing_bounds_is_settled_by_layers_in_their_places(
    monkeypatch: pytest.MonkeyPatch, most: float, faithful: bool, status: str
) -> None:
    apart = unverified(Unverified.ILL_CONDITIONED, "nothing bounds it", NUMBERS)
    off = np.zeros(1000)
    off[0] = most  # one element of a thousand may be a mistake that adds up
    found = in_place(monkeypatch, apart, off, faithful=faithful)
    assert found.status == status
    assert found.numbers["whole_by"] == (IN_PLACE if status != UNVERIFIED else BY_DISTANCE)
    assert any("in its place" in note for note in found.notes) == (status == AGREE)


def test_a_wrong_layer_of_a_graph_that_is_quantised_as_it_runs_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = unverified(Unverified.ILL_CONDITIONED, "no input whose rounding is stable", {})
    found = in_place(monkeypatch, whole, np.full(20, 1.2), graph="dynamic")
    assert found.status == MISMATCH and found.reason.startswith("within the model a layer is wrong: layer conv: ")


# Some results lie beside the middle of two steps by less than float32 tells; emx rounds those to the other side. The
# file was quantised before: nothing says how far the quantisation itself is from an unrounded model.
TIES = """
import sys
import numpy as np, onnx
from onnx import helper as h, numpy_helper
rng = np.random.default_rng(5)
known = {"s": np.float32(0.1), "z": np.int8(0), "ws": np.float32(0.05)}
nodes, last = [], "x"
for number in range(6):
    known[f"w{number}"] = rng.integers(-9, 10, (12, 12)).astype("int8")
    nodes += [h.make_node("QuantizeLinear", [last, "s", "z"], [f"q{number}"]),
              h.make_node("DequantizeLinear", [f"q{number}", "s", "z"], [f"d{number}"]),
              h.make_node("DequantizeLinear", [f"w{number}", "ws", "z"], [f"v{number}"]),
              h.make_node("MatMul", [f"d{number}", f"v{number}"], [f"m{number}"])]
    last = f"m{number}"
nodes += [h.make_node("QuantizeLinear", [last, "s", "z"], ["q"]),
          h.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
tensors = [numpy_helper.from_array(np.asarray(values), name) for name, values in known.items()]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, [1, 12])],
                     [h.make_tensor_value_info("y", 1, [1, 12])], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def test_a_file_that_was_quantised_before_is_settled_in_place(project: Project) -> None:
    project.write("test_models.py", EQUIVALENCE)
    path = write_file(project, Toolchains().ensure("onnxruntime"), TIES, "net.onnx")
    row = the_row(project.run("--compilers=emx", "--precisions=w8a8", f"--bench-onnx={path}", "-k", "qdq"))
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["whole_by"] == IN_PLACE
    assert "every layer is right in its place; end to end single steps add up" in row["flags"]
