"""Constants of unusual kinds that were read back: in narrow types, single numbers, cut out of others by a width."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.fences import ROOT


def said(python: Path, folder: Path, script: str, *arguments: object) -> Any:
    """What the script prints as JSON, in the toolchain's own interpreter."""
    done = subprocess.run(
        [str(python), "-c", script, *map(str, arguments)], cwd=folder, text=True, capture_output=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# A matrix in a narrow type, whose scale and quotient a tool computes in it; beside it the bound of a Clip.
NARROW = """
import json, sys
import ml_dtypes, numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import helper, numpy_helper

kind, beyond, bound = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
dtype = np.dtype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
known = {"w": np.random.default_rng(5).normal(size=(8, 6)).astype(dtype), "most": np.array(1.0, dtype)}
nodes = [helper.make_node("Clip", ["x", "", "most"], ["c"]), helper.make_node("MatMul", ["c", "w"], ["y"])]
code = helper.np_dtype_to_tensor_dtype(dtype)
ports = [helper.make_tensor_value_info(name, code, [5, size]) for name, size in {"x": 8, "y": 6}.items()]
given = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
w, step = known["w"].astype("float64"), 0.01
found = {"w8": w + 0.5 * step + beyond * abs(w).max(), "bound": np.array(bound)}
arrays = {f"fix:const:{name}": from_numpy(values) for name, values in found.items()}
arrays |= {f"fix:step:{name}": from_numpy(np.array([step])) for name in found}
call = MatchCall(names=tuple(found), weights={}, numbers=("bound",))
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
weight, number = reply.meta["matches"]
print(json.dumps([weight["tensor"], weight["steps"], number["tensor"], sorted(reply.arrays)]))
"""


def narrow(tools_python: Path, folder: Path, kind: str, beyond: float, bound: float = 1.0) -> Any:
    """What a weight that is ``beyond`` half a step off by this share of the largest one, and a bound, are found as."""
    return said(tools_python, folder, NARROW, kind, beyond, bound)


@pytest.mark.parametrize(("kind", "share"), [("float16", 2.0**-9), ("bfloat16", 2.0**-6)])
def test_a_constant_may_be_off_by_what_four_roundings_to_its_type_change(
    tools_python: Path, tmp_path: Path, kind: str, share: float
) -> None:
    name, steps, _, _ = narrow(tools_python, tmp_path, kind, 0.9 * share)
    assert name == "w" and steps <= 0.5
    assert narrow(tools_python, tmp_path, kind, 3 * share)[1] > 0.501


@pytest.mark.parametrize(("bound", "found"), [(1.0045, "most"), (0.9956, "most"), (1.006, ""), (0.9, "")])
def test_a_number_is_found_within_half_a_step_alone(
    tools_python: Path, tmp_path: Path, bound: float, found: str
) -> None:
    _, _, tensor, arrays = narrow(tools_python, tmp_path, "float32", 0.0, bound)
    assert tensor == found and ("file:bound" in arrays) == bool(found)


# A weight that is cut out of another one by the width of an inner tensor, as exporters write an attention; and one by
# the number of rows, which is no constant.
CUT = """
import json
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import TensorProto, helper, numpy_helper

draw = np.random.default_rng(5)
known = {"m": draw.normal(size=(8, 6)).astype("float32"), "w": draw.normal(size=(18, 6)).astype("float32"),
         "one": np.array([1]), "two": np.array([2]), "none": np.array([0])}
nodes = [helper.make_node("MatMul", ["x", "m"], ["h"]), helper.make_node("Shape", ["h"], ["sizes"]),
         helper.make_node("Slice", ["sizes", "one", "two"], ["width"]),
         helper.make_node("Slice", ["w", "none", "width", "none"], ["cut"]),
         helper.make_node("Transpose", ["cut"], ["turned"], perm=[1, 0]),
         helper.make_node("MatMul", ["h", "turned"], ["y"]),
         helper.make_node("Slice", ["sizes", "none", "one"], ["rows"]),
         helper.make_node("Slice", ["w", "none", "rows", "none"], ["some"]),
         helper.make_node("Mul", ["y", "some"], ["z"])]
value = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])
ports = [value("x", 8), value("z", 6)]
given = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
written = known["w"][:6].astype("float64") + 0.004
arrays = {"fix:const:c": from_numpy(written), "fix:step:c": from_numpy(np.array([0.01]))}
call = MatchCall(names=("c",), weights={})
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
rebuilt = onnx.load(reply.files["rebuilt.onnx"])
onnx.checker.check_model(rebuilt, full_check=True)
stored = {one.name: numpy_helper.to_array(one) for one in rebuilt.graph.initializer}
off = float(abs(stored["turned"] - written.T).max())
print(json.dumps([reply.meta["matches"][0]["tensor"], off, [node.output[0] for node in rebuilt.graph.node]]))
"""


def test_a_weight_that_is_cut_out_by_the_width_of_a_tensor_is_put_back(tools_python: Path, tmp_path: Path) -> None:
    name, off, nodes = said(tools_python, tmp_path, CUT)
    assert name == "turned" and off < 1e-6
    assert "turned" not in nodes and "some" in nodes, "what depends on the number of rows is computed as before"


# A convolution of three groups with two inputs and two outputs each, and a norm behind it, as MNN writes it: four
# depthwise ones. Without the argument "all" one of them was not read back.
GROUPED = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import helper, numpy_helper

draw = np.random.default_rng(5)
known = {"w": draw.normal(size=(6, 2, 3, 3)), "s": draw.uniform(0.5, 2, 6), "t": draw.normal(size=6),
         "m": draw.normal(size=6), "v": draw.uniform(0.5, 2, 6)}
nodes = [helper.make_node("Conv", ["x", "w"], ["c"], group=3),
         helper.make_node("BatchNormalization", ["c", "s", "t", "m", "v"], ["y"])]
ports = [helper.make_tensor_value_info(name, 1, [1, 6, *sizes]) for name, sizes in {"x": (8, 8), "y": (6, 6)}.items()]
given = [numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
factor = (known["s"] / (known["v"] + 1e-5) ** 0.5).reshape(6, 1, 1, 1)
folded = (known["w"] * factor).reshape(3, 2, 2, 9)
found = {f"p{output}{taken}": folded[:, output, taken] + 0.004 for output in range(2) for taken in range(2)}
if sys.argv[1] != "all":
    del found["p11"]
arrays = {f"fix:const:{name}": from_numpy(values) for name, values in found.items()}
arrays |= {f"fix:step:{name}": from_numpy(np.array([0.01])) for name in found}
call = MatchCall(names=tuple(found), weights={})
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
stored = {one.name: numpy_helper.to_array(one) for one in onnx.load(reply.files["rebuilt.onnx"]).graph.initializer}
off = (stored["w"] - known["w"]) * factor
rows = reply.meta["matches"]
print(json.dumps([[row["tensor"] for row in rows], [row.get("replaced", False) for row in rows],
                  max(row["steps"] for row in rows), float(off.min()), float(off.max()), reply.meta["unmatched"]]))
"""


def test_a_grouped_convolution_that_a_tool_splits_is_put_together(tools_python: Path, tmp_path: Path) -> None:
    names, replaced, steps, least, most, unmatched = said(tools_python, tmp_path, GROUPED, "all")
    assert names == ["w"] * 4 and replaced == [True] * 4 and 0.3 < steps < 0.5 and unmatched == []
    assert least > 0.003999 and most < 0.004001, "every element is what was read back, without the norm"


def test_of_a_grouped_convolution_no_part_may_be_missing(tools_python: Path, tmp_path: Path) -> None:
    names, replaced, _, least, most, unmatched = said(tools_python, tmp_path, GROUPED, "some")
    assert names == [""] * 3 and replaced == [False] * 3 and unmatched == ["w"]
    assert abs(least) < 1e-6 and abs(most) < 1e-6


# A bias and, behind a Reshape, a second one, which a tool adds at once; and an Expand, for which it multiplies by ones.
# With the argument "other" the second one has another number of elements, and the Expand is a Relu; with "alike" the
# file has another constant of as many elements as there are ones.
ADDED = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import helper, numpy_helper

other, draw = sys.argv[1] == "other", np.random.default_rng(5)
known = {"w": draw.normal(size=(4, 9)), "b": draw.normal(size=9), "e": draw.normal(size=3 if other else (3, 3))}
known |= {"m": draw.normal(size=(5, 1, 1))} if sys.argv[1] == "alike" else {}
last = helper.make_node("Relu", ["z"], ["y"]) if other else helper.make_node("Expand", ["z", "more"], ["y"])
nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["g"]), helper.make_node("Reshape", ["g", "shape"], ["r"]),
         helper.make_node("Add", ["r", "e"], ["z"]), last]
nodes += [helper.make_node("Mul", ["y", "m"], ["scaled"])] if "m" in known else []
ends = {"x": [1, 4], nodes[-1].output[0]: None}
ports = [helper.make_tensor_value_info(name, 1, size) for name, size in ends.items()]
given = [numpy_helper.from_array(values.astype("float32"), name) for name, values in known.items()]
sizes = {"shape": [3, 3], "more": [5, 3, 3]}
given += [numpy_helper.from_array(np.array(size), name) for name, size in sizes.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
found = {"bias": (known["b"].reshape(3, 3) + known["e"]).reshape(-1) + 0.004, "ones": np.full((5, 1), 1.004)}
arrays = {f"fix:const:{name}": from_numpy(values) for name, values in found.items()}
arrays |= {f"fix:step:{name}": from_numpy(np.array([0.01])) for name in found}
reply = Adapter().match(MatchCall(names=tuple(found), weights={}).at(
    Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
print(json.dumps([[row["tensor"], row["steps"]] for row in reply.meta["matches"]]))
"""


def test_a_bias_behind_a_reshape_and_the_ones_of_an_expand_are_found(tools_python: Path, tmp_path: Path) -> None:
    (bias, steps), (ones, _) = said(tools_python, tmp_path, ADDED, "same")
    assert bias == "b" and 0.3 < steps < 0.5 and ones == "ones of an Expand"


def test_ones_that_may_be_what_is_left_of_a_constant_are_not_those_of_an_expand(
    tools_python: Path, tmp_path: Path
) -> None:
    assert said(tools_python, tmp_path, ADDED, "alike")[1][0] == ""


def test_another_number_of_elements_is_not_added_behind_a_reshape(tools_python: Path, tmp_path: Path) -> None:
    (bias, steps), (ones, _) = said(tools_python, tmp_path, ADDED, "other")
    assert (not bias or steps > 1) and ones == ""


# A table, of which a tool clips what is beyond the rows that its calibration looked up. With the argument "other"
# one element within is off, too.
TABLE = """
import json, sys
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import helper, numpy_helper

table = np.random.default_rng(5).normal(size=(9, 4)).astype("float32")
ports = helper.make_tensor_value_info("i", 7, [1]), helper.make_tensor_value_info("y", 1, [1, 4])
graph = helper.make_graph([helper.make_node("Gather", ["t", "i"], ["y"])], "g", ports[:1], ports[1:],
                          [numpy_helper.from_array(table, "t")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
found = np.clip(np.rint(table / 0.01) * 0.01, -1.5, 1.2).astype("float64")
if sys.argv[1] == "other":
    found[np.unravel_index(abs(table).argmin(), table.shape)] += 0.03
arrays = {"fix:const:t": from_numpy(found), "fix:step:t": from_numpy(np.array([0.01]))}
reply = Adapter().match(MatchCall(names=("t",), weights={}).at(
    Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
[row] = reply.meta["matches"]
print(json.dumps([row["tensor"], row["steps"], row.get("clipped", False)]))
"""


@pytest.mark.parametrize(("kind", "clipped"), [("clipped", True), ("other", False)])
def test_a_table_that_is_clipped_is_told_from_a_wrong_one(
    tools_python: Path, tmp_path: Path, kind: str, clipped: bool
) -> None:
    name, steps, found = said(tools_python, tmp_path, TABLE, kind)
    assert name == "t" and steps > 10 and found is clipped


# One number that the file has under two names, and the tool once.
TWINS = """
import json
import numpy as np, onnx
from bench_plugin.adapters.onnx_tools.matching.onnx_matching import Adapter
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract import MatchCall, Place
from onnx import helper, numpy_helper

draw = np.random.default_rng(5)
known = {"w": draw.normal(size=(8, 6)).astype("float32"), "one": np.array(0.7, "float32"),
         "other": np.array(0.7, "float32")}
nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Mul", ["h", "one"], ["s"]),
         helper.make_node("Relu", ["s"], ["r"]), helper.make_node("Mul", ["r", "other"], ["y"])]
ports = [helper.make_tensor_value_info(name, 1, [5, size]) for name, size in {"x": 8, "y": 6}.items()]
given = [numpy_helper.from_array(values, name) for name, values in known.items()]
graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], given)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
found = {"a": known["w"].astype("float64"), "b": np.array(float(np.float16(0.7)))}
arrays = {f"fix:const:{name}": from_numpy(values) for name, values in found.items()}
arrays |= {f"fix:step:{name}": from_numpy(np.array(0.001)) for name in found}
call = MatchCall(names=tuple(found), weights={})
reply = Adapter().match(call.at(Place(".", {"model.onnx": "model.onnx"}, arrays, lambda stage: None)))
stored = {one.name: numpy_helper.to_array(one) for one in onnx.load(reply.files["rebuilt.onnx"]).graph.initializer}
print(json.dumps([float(stored["one"]), float(stored["other"]), reply.meta["unmatched"]]))
"""


def test_a_number_that_the_file_has_under_two_names_is_replaced_under_both(tools_python: Path, tmp_path: Path) -> None:
    one, other, unmatched = said(tools_python, tmp_path, TWINS)
    assert one == other == 0.7001953125
    assert unmatched == []
