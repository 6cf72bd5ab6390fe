"""Weights beside an ONNX file: found without onnx, copied with it, put beside it again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bench_plugin.agent import external
from bench_plugin.agent.adapter import InvalidModel
from bench_plugin.reach.environments.toolchains import Toolchains

MAKE = """
import sys
import numpy as np, onnx
from onnx import helper as h
folder, *places = sys.argv[1:]

def beside(name, place):
    tensor = onnx.numpy_helper.from_array(np.full((4, 4), 2, np.float32), name)
    with open(f"{folder}/{place}" if ".." not in place else "/dev/null", "ab") as file:
        file.write(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", place), ("offset", "0"), ("length", "64")):
        tensor.external_data.add(key=key, value=value)
    return tensor

value = lambda name: h.make_tensor_value_info(name, 1, [1, 4])
same = h.make_node("Identity", ["w1"], ["b"])
branch = h.make_graph([same], "branch", [], [h.make_tensor_value_info("b", 1, [4, 4])], [beside("w1", places[1])])
constant = h.make_node("Constant", [], ["c"], value=beside("c", places[2]))
nodes = [constant, h.make_node("If", ["flag"], ["chosen"], then_branch=branch, else_branch=branch),
         h.make_node("MatMul", ["x", "w0"], ["y"])]
graph = h.make_graph(nodes, "g", [value("x"), h.make_tensor_value_info("flag", 9, [])], [value("y")],
                     [beside("w0", places[0]), onnx.numpy_helper.from_array(np.ones(3, np.float32), "inline")])
onnx.save(h.make_model(graph), f"{folder}/m.onnx")
"""


def make(folder: Path, *places: str) -> str:
    for place in places:
        if ".." not in place:
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([str(Toolchains().ensure("onnxruntime")), "-c", MAKE, str(folder), *places], check=True)
    return str(folder / "m.onnx")


def test_files_are_found_in_the_graph_its_branches_and_its_constants(tmp_path: Path) -> None:
    path = make(tmp_path, "w.bin", "deep/branch.bin", "w.bin")
    assert external.locations(path) == ["deep/branch.bin", "w.bin"]


def test_a_copy_takes_them_along_and_is_put_together_again(tmp_path: Path) -> None:
    path = make(tmp_path, "w.bin", "deep/branch.bin", "w.bin")
    files = external.artefact(path, str(tmp_path / "copy"))
    assert sorted(files) == ["external/deep/branch.bin", "external/w.bin", "model.onnx"]
    scattered = {}
    for index, (name, source) in enumerate(files.items()):  # a result file keeps its suffix, not its place
        scattered[name] = str(tmp_path / f"moved-{index}.bin")
        os.replace(source, scattered[name])
    whole = external.placed(scattered, str(tmp_path / "call"))
    beside = Path(whole).parent
    assert Path(whole).read_bytes() == Path(path).read_bytes()
    assert (beside / "deep/branch.bin").read_bytes() == (tmp_path / "deep/branch.bin").read_bytes()
    assert (beside / "w.bin").read_bytes() == (tmp_path / "w.bin").read_bytes()


def test_a_file_without_any_is_used_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"")
    assert external.locations(str(path)) == [] and external.sources(str(path)) == {"model.onnx": str(path)}
    assert external.placed({"model.onnx": str(path)}, str(tmp_path)) == str(path)


@pytest.mark.parametrize("place", ["../secret", "deep/../../secret", "/etc/hostname/.."])
def test_what_leads_out_of_the_folder_is_refused(tmp_path: Path, place: str) -> None:
    path = make(tmp_path, "w.bin", place, "w.bin")
    with pytest.raises(InvalidModel, match="not below the model's folder"):
        external.locations(path)


@pytest.mark.parametrize("garbage", [b"PK\3\4" * 99, b"\x3a\xff\xff\xff\xff\x0f", b"\xff" * 64, b"\x3a\x02\x0a"])
def test_what_is_no_protobuf_has_none(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(garbage)
    assert external.locations(str(path)) == []
