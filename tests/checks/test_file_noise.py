"""The noise of a user's file: what rounding between its inputs and its outputs loses, and exponents that steer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.given_file import COMPILER, EQUIVALENCE, compiles, the_row, write_file
from tests.project import Project

# A layer whose result is added to a large number, which is taken away again, and then raised to a power.
MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(3)
weights = {"a": rng.standard_normal((8, 4)), "b": rng.standard_normal(4), "far": np.array([float(sys.argv[2])]),
           "three": np.array([3.0])}
nodes = [h.make_node("Gemm", ["x", "a", "b"], ["g"]), h.make_node("Pow", ["g", "three"], ["p"]),
         h.make_node("Add", ["p", "far"], ["s"]), h.make_node("Sub", ["s", "far"], ["y"])]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in weights.items()]
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""
PRECISIONS = {"fp32": ("-k", "fakec]", "--precisions=fp32"), "w16": ("-k", "w16 and own", "--precisions=w16")}


def run(project: Project, python: Path, far: float, *arguments: str, fault: str = "none") -> Mapping[str, Any]:
    compiles(project)
    path = write_file(project, python, MAKE, "far.onnx", far)
    options = (f"--bench-onnx={path}", "--compilers=fakec", f"--bench-option=fakec.fault={fault}")
    return the_row(project.run(*options, *arguments))


def test_what_rounding_between_the_layers_loses_is_noise(project: Project, tools_python: Path) -> None:
    row = run(project, tools_python, 3e5, *PRECISIONS["fp32"])
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["E"] > 4e-6 and row["numbers"]["noise_E"] > 0.3 * row["numbers"]["E"]
    row = run(project, tools_python, 3e5, *PRECISIONS["fp32"], fault="run-wrong")
    assert row["status"] == "mismatch", row["reason"]  # 1 % off everywhere


# A layer whose result is divided by a number that float16 does not reach, and multiplied by it again.
RANGE = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(4)
weights = {"a": rng.standard_normal((8, 4)), "b": rng.standard_normal(4), "far": np.array([float(sys.argv[2])])}
nodes = [h.make_node("Gemm", ["x", "a", "b"], ["g"]), h.make_node("Mul", ["g", "far"], ["m"]),
         h.make_node("Div", ["m", "far"], ["y"])]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in weights.items()]
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


@pytest.mark.parametrize(
    ("far", "status", "kind"), [(3e5, "unverified", "ill-conditioned"), (3.0, "mismatch", None)]
)  # fmt: skip
def test_an_overflow_between_the_layers_is_no_mistake_of_a_tool(
    project: Project, tools_python: Path, far: float, status: str, kind: str | None
) -> None:
    compiles(
        project,
        project.write("compiler.py", COMPILER.read_text().replace('"bf16": ["original"]', '"fp16": ["original"]')),
    )
    path = write_file(project, tools_python, RANGE, "range.onnx", far)
    options = (f"--bench-onnx={path}", "--compilers=fakec", "--precisions=fp16", "--bench-option=fakec.fault=run-nan")
    row = the_row(project.run(*options, "-k", "fakec-fp16"))
    assert (row["status"], row["unverified"]) == (status, kind), row["reason"]
    assert row["reason"].startswith("range: fp16 overflows between the layers") is (far > 65504)


# An index that is 1, or NaN where 300,000 is infinite, and so no index in float16.
INDEX = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(4)
weights = {"a": rng.standard_normal((8, 4)), "b": rng.standard_normal(4), "far": np.array([3e5]),
           "table": np.array([9.0, 1.0])}
nodes = [h.make_node("Gemm", ["x", "a", "b"], ["g"]), h.make_node("Abs", ["g"], ["p"]),
         h.make_node("Sign", ["p"], ["one"]), h.make_node("Mul", ["one", "far"], ["m"]),
         h.make_node("Div", ["m", "m"], ["d"]), h.make_node("Cast", ["d"], ["i"], to=7),
         h.make_node("Gather", ["table", "i"], ["t"]), h.make_node("Mul", ["g", "t"], ["y"])]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in weights.items()]
graph = h.make_graph(nodes, "g", [value("x", 8)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_one_precision_that_cannot_be_emulated_does_not_take_the_others_with_it(
    project: Project, tools_python: Path, precision: str
) -> None:
    text = COMPILER.read_text().replace('"bf16": ["original"]', f'"{precision}": ["original"]')
    compiles(project, project.write("compiler.py", text))
    path = write_file(project, tools_python, INDEX, "index.onnx")
    options = (f"--bench-onnx={path}", "--compilers=fakec", f"--precisions={precision}", "-k", f"fakec-{precision}")
    row = the_row(project.run(*options))
    if precision == "bf16":
        assert row["status"] == "supported", row["reason"]
    else:
        assert (row["status"], row["unverified"]) == ("unverified", "no reference"), row["reason"]
        assert row["reason"].startswith("fp16 could not be emulated: IndexError"), row["reason"]


# Two layers, of which the first adds five hundred products.
SUMS = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng, terms = np.random.default_rng(4), int(sys.argv[2])
weights = {"a": rng.standard_normal((terms, 16)) / terms**0.5, "b": rng.standard_normal(16),
           "c": rng.standard_normal((16, 4)), "d": rng.standard_normal(4)}
nodes = [h.make_node("Gemm", ["x", "a", "b"], ["g"]), h.make_node("Relu", ["g"], ["r"]),
         h.make_node("Gemm", ["r", "c", "d"], ["y"])]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in weights.items()]
if sys.argv[3:] == ["narrow"]:
    nodes[-1].output[0] = "z"
    nodes += [h.make_node("Cast", ["z"], ["n"], to=16), h.make_node("Cast", ["n"], ["y"], to=1)]
graph = h.make_graph(nodes, "g", [value("x", terms)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def test_sums_in_a_narrow_type_are_right_with_a_note_as_in_operator_cases(project: Project, tools_python: Path) -> None:
    compiles(project)
    path = write_file(project, tools_python, SUMS, "sums.onnx", 512)
    found = {
        fault: the_row(project.run(f"--bench-onnx={path}", "--compilers=fakec", "--precisions=bf16", "-k", "fakec-bf16",
                                   f"--bench-option=fakec.fault={fault}"))
        for fault in ("none", "sums-in-bf16", "sums-in-bf16-wrong")
    }  # fmt: skip
    plain, summed, wrong = found.values()
    assert plain["status"] == summed["status"] == "supported", summed["reason"]
    assert "low-precision accumulate" in summed["flags"] and "low-precision accumulate" not in plain["flags"]
    assert summed["numbers"]["E"] > plain["numbers"]["tolerance_E"], "one policy is needed for it"
    assert wrong["status"] == "mismatch", wrong["flags"]


def test_terms_of_float32_are_not_added_in_the_narrow_type_of_another_layer(
    project: Project, tools_python: Path
) -> None:
    """The file rounds its result to bfloat16: so much is its noise, and no more."""
    compiles(project)
    path = write_file(project, tools_python, SUMS, "sums.onnx", 512, "narrow")
    options = (f"--bench-onnx={path}", "--compilers=fakec", "--precisions=fp32", "-k", "fakec")
    plain, summed = (
        the_row(project.run(*options, f"--bench-option=fakec.fault={fault}")) for fault in ("none", "sums-in-bf16")
    )
    assert plain["status"] == "supported", plain["reason"]
    assert summed["status"] == "mismatch", summed["flags"]
    assert summed["numbers"]["tolerance_E"] == plain["numbers"]["tolerance_E"]


def test_sums_that_may_be_far_off_prove_nothing(project: Project, tools_python: Path) -> None:
    compiles(project)
    path = write_file(project, tools_python, SUMS, "sums.onnx", 24_000)
    options = (f"--bench-onnx={path}", "--compilers=fakec", "--precisions=bf16", "-k", "fakec-bf16")
    row = the_row(project.run(*options, "--bench-option=fakec.fault=sums-in-bf16"))
    assert (row["status"], row["unverified"]) == ("unverified", "ill-conditioned"), row["reason"]


# The mean of many squares, which changes little from input to input.
LONG = """
import sys
import numpy as np, onnx
from onnx import helper as h
size = int(sys.argv[2])
center = np.random.default_rng(4).standard_normal((1, size)).astype("float32")
nodes = [h.make_node("Sub", ["x", "c"], ["d"]), h.make_node("Mul", ["d", "d"], ["q"]),
         h.make_node("ReduceMean", ["q"], ["y"], axes=[1])]
value = lambda name, size: h.make_tensor_value_info(name, 1, ["n", size])
graph = h.make_graph(nodes, "g", [value("x", size)], [value("y", 1)], [onnx.numpy_helper.from_array(center, "c")])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
"""


def test_float32_terms_may_be_added_one_by_one(project: Project, tools_python: Path) -> None:
    compiles(project)
    path = write_file(project, tools_python, LONG, "long.onnx", 4096)
    plain, summed, wrong = (
        the_row(project.run(f"--bench-onnx={path}", "--compilers=fakec", "--precisions=fp32", "-k", "fakec]",
                            f"--bench-option=fakec.fault={fault}"))
        for fault in ("none", "sums-in-fp32", "sums-in-fp32-wrong")
    )  # fmt: skip
    assert plain["status"] == summed["status"] == "supported", summed["reason"]
    assert "one-by-one sums" in summed["flags"] and "one-by-one sums" not in plain["flags"]
    assert summed["numbers"]["E"] > plain["numbers"]["tolerance_E"], "one policy is needed for it"
    assert wrong["status"] == "mismatch", wrong["flags"]
    limit = summed["numbers"]["tolerance_E"]
    assert wrong["numbers"]["tolerance_E"] == limit > plain["numbers"]["tolerance_E"], "what decides is told"
    assert f" > {limit:.2e} " in wrong["reason"], wrong["reason"]


def test_float32_terms_may_be_added_one_by_one_in_a_round_trip_too(project: Project, tools_python: Path) -> None:
    """ONNX Runtime adds 65,536 numbers in blocks, which loses more than rounding every result once.

    Adding them one by one may lose so much that nothing is proven: it is no mismatch.
    """
    compiles(project, tests=EQUIVALENCE.replace("equivalence", "export"))
    row = the_row(project.run(f"--bench-onnx={write_file(project, tools_python, LONG, 'long.onnx', 65536)}"))
    assert (row["status"], row["unverified"]) == ("unverified", "ill-conditioned"), row["reason"]
    assert row["numbers"]["E"] > 1e-4


def test_it_is_noise_of_a_round_trip_too(project: Project, tools_python: Path) -> None:
    compiles(project, tests=EQUIVALENCE.replace("equivalence", "export"))
    path = write_file(project, tools_python, MAKE, "far.onnx", 3e5)
    row = the_row(project.run(f"--bench-onnx={path}"))  # in ONNX Runtime, which computes in float32
    assert row["check"] == "export" and row["status"] == "supported", row["reason"]
    assert row["numbers"]["E"] > 4e-6 and row["numbers"]["noise_E"] > 0.3 * row["numbers"]["E"]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_an_exponent_is_not_perturbed(project: Project, tools_python: Path, precision: str) -> None:
    row = run(project, tools_python, 0.0, *PRECISIONS[precision], fault="run-wrong")
    assert row["status"] == "mismatch" and 0 < row["numbers"]["noise_E"] < 1e-5, row["reason"]


# What is added to a large number and taken from it again is then rounded to integers; on every second input to none.
DYNAMIC = """
import sys
import numpy as np, onnx
from onnx import helper as h
rng = np.random.default_rng(3)
weights = {"a": rng.standard_normal((8, 16)), "v": rng.standard_normal((16, 4)), "far": np.array([float(sys.argv[2])])}
nodes = [h.make_node("Relu", ["m"], ["r"]), h.make_node("Mul", ["r", "far"], ["f"]),
         h.make_node("MatMul", ["x", "a"], ["g"]), h.make_node("Add", ["g", "f"], ["s"]),
         h.make_node("Sub", ["s", "f"], ["t"]), h.make_node("MatMul", ["t", "v"], ["y"])]
value = lambda name, size: h.make_tensor_value_info(name, 1, [1, size])
tensors = [onnx.numpy_helper.from_array(values.astype("float32"), name) for name, values in weights.items()]
graph = h.make_graph(nodes, "g", [value("x", 8), value("m", 1)], [value("y", 4)], tensors)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), sys.argv[1])
x, m = rng.standard_normal((16, 1, 8)), np.resize([1.0, -1.0], (16, 1, 1))
np.savez(sys.argv[3], x=x.astype("float32"), m=m.astype("float32"))
"""
FLAG = "float32's own rounding decides the integers of 8 inputs, which are not compared"


def dynamic(project: Project, python: Path, far: float, fault: str = "none") -> Mapping[str, Any]:
    """The row of a dynamically quantised file in the fake compiler, which computes in float32."""
    source = COMPILER.read_text().replace('"bf16": ["original"]', '"w8a8-dyn": ["dynamic"]')
    compiles(project, project.write("compiler.py", source))
    inputs = project.folder / "far.npz"
    path = write_file(project, python, DYNAMIC, "far.onnx", far, inputs)
    options = (f"--bench-onnx={path}", f"--bench-inputs={inputs}", "--compilers=fakec", "--precisions=w8a8-dyn")
    return the_row(project.run(*options, "-k", "fakec-", f"--bench-option=fakec.fault={fault}"))


def test_integers_that_the_rounding_of_float32_decides_are_not_compared(project: Project, tools_python: Path) -> None:
    row = dynamic(project, tools_python, 3e5)
    assert row["status"] == "supported", row["reason"]
    assert row["numbers"]["stable_inputs"] == 8 and FLAG in row["flags"], row


def test_a_fault_shows_on_the_inputs_that_are_left(project: Project, tools_python: Path) -> None:
    row = dynamic(project, tools_python, 3e5, "run-wrong")  # 1 % off everywhere
    assert row["status"] == "mismatch" and row["numbers"]["stable_inputs"] == 8, row


def test_without_a_large_number_all_inputs_are_compared(project: Project, tools_python: Path) -> None:
    row = dynamic(project, tools_python, 0.0)
    assert row["status"] == "supported" and row["numbers"]["stable_inputs"] >= 15, row
    assert not [flag for flag in row["flags"] if "which are not compared" in flag]
