"""ExecuTorch's int8: its quantised program is read back, and what XNNPACK computes is judged layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.adapters.compilers import executorch
from bench_plugin.reach.environments.toolchains import Toolchains
from tests.given_file import EQUIVALENCE, compiles, the_row
from tests.project import Project

MODEL = """
name = "net"
title = "Net"
family = "cnn"
task = "classification"

[symbols]
batch = [1, 2]

[[inputs]]
name = "x"
shape = {shape}
values = "normal"

[constructors.pytorch]
callable = "torch.nn.Sequential"
positional = [
{layers}
]

[missing]
tensorflow = "only for PyTorch"
mxnet = "only for PyTorch"
"""
IMAGES = """
  {{ callable = "torch.nn.Conv2d", positional = [3, 8, 3], keyword = {{ padding = 1, stride = 2 }} }},
  {{ callable = "torch.nn.BatchNorm2d", positional = [8] }},
  {{ callable = "torch.nn.ReLU6" }},
  {{ callable = "torch.nn.Conv2d", positional = [8, 8, 3], keyword = {{ padding = 1, groups = 8, bias = false }} }},
  {{ callable = "torch.nn.{activation}" }},
  {{ callable = "torch.nn.{pool}", positional = [2] }},
  {{ callable = "torch.nn.AdaptiveAvgPool2d", positional = [1] }},
  {{ callable = "torch.nn.Flatten" }},
  {{ callable = "torch.nn.Linear", positional = [8, 10] }},
"""
ROWS = """
  {{ callable = "torch.nn.Linear", positional = [12, 16] }},
  {{ callable = "torch.nn.LayerNorm", positional = [16] }},
  {{ callable = "torch.nn.GELU" }},
  {{ callable = "torch.nn.Linear", positional = [16, 8], keyword = {{ bias = false }} }},
  {{ callable = "torch.nn.Tanh" }},
  {{ callable = "torch.nn.Linear", positional = [8, 6] }},
"""
# The quantised program ``prepared`` before it is saved: what a faulty converter would have written.
CONVERTER = {
    "weight": "prepared._frozen_param0[2] += 1",
    "bias": "next(one for name, one in prepared.named_parameters() if name.endswith('bias')).data[1] *= 1.05",
    "left out": """
node = next(node for node in prepared.graph.nodes if "relu" in str(node.target))
node.replace_all_uses_with(node.args[0])
prepared.graph.erase_node(node)
prepared.recompile()
""",
}


def run(
    project: Project, layers: str, shape: str, *, compiler: str = "executorch", precision: str = "w8a8"
) -> Mapping[str, Any]:  # fmt: skip
    """The row of w8a8, or of another precision, of a model of these layers."""
    for name in ("executorch", "pytorch", "onnxruntime"):
        if not Toolchains().folder(name).is_dir():
            pytest.skip(f"the toolchain {name} is not made: bench env sync {name}")
    if compiler == "executorch":
        project.write("test_models.py", EQUIVALENCE)
    project.write("fixtures/models/net.toml", MODEL.format(shape=shape, layers=layers))
    chosen = ["--models=net", "--frameworks=pytorch", f"--compilers={compiler}", f"--precisions={precision}"]
    return the_row(project.run(*chosen))


def images(project: Project, activation: str = "ReLU", pool: str = "MaxPool2d", **more: Any) -> Mapping[str, Any]:
    layers = IMAGES.format(activation=activation, pool=pool)
    return run(project, layers, '["batch", 3, 16, 16]', **more)


def planted(project: Project, place: str, body: str) -> str:
    """The name of a compiler with this source before or after the quantised program is saved."""
    source = Path(executorch.__file__).read_text("utf-8").replace('"name": "executorch"', '"name": "planted"')
    line = {
        "converter": "                program = torch.export.export(prepared, tuple(examples))\n",
        "calibration": "                prepared = _quantised(program.module(), calibration, *tools)\n",
        "lowering": "            lowered = exir.to_edge_transform_and_lower(program, partitioner=partitioners)\n",
    }[place]
    indent = " " * (len(line) - len(line.lstrip()))
    lines = "".join(f"{indent}{one}\n" for one in body.strip().splitlines())
    assert line in source, "the place of the fault"
    compiles(project, project.write("planted.py", source.replace(line, lines + line, 1)))
    return "planted"


def is_right(row: Mapping[str, Any]) -> None:
    assert row["status"] == "supported", row["reason"]
    said = " ".join(row["flags"])
    assert "by approximation" not in said and "read back" not in said and "exposing" not in said, said
    numbers = row["numbers"]
    assert numbers["converter"]["constants"] == numbers["converter"]["compared"] > 0
    assert all(one["within"] == 1 and one["largest_steps"] <= 0.51 for one in numbers["per_layer"] if "within" in one)
    assert numbers["whole_E"] < 1e-5
    assert numbers["mutants"], "the rule of layers has mutants"


@pytest.mark.parametrize(("activation", "pool"), [("Hardswish", "MaxPool2d"), ("SiLU", "AvgPool2d")])
def test_convolutions_pools_and_activations_are_read_back(project: Project, activation: str, pool: str) -> None:
    is_right(images(project, activation, pool))


def test_matrices_and_normalisations_are_read_back(project: Project) -> None:
    is_right(run(project, ROWS.format(), '["batch", 5, 12]'))


@pytest.mark.parametrize("fault", CONVERTER)
def test_what_a_converter_writes_wrongly_is_a_mismatch(project: Project, fault: str) -> None:
    row = images(project, compiler=planted(project, "converter", CONVERTER[fault]))
    assert row["status"] == "mismatch", row["reason"]
    reason = "are not the model" if fault == "left out" else f"converter: {fault} of "
    assert reason in row["reason"], row["reason"]


@pytest.mark.parametrize(
    ("factor", "said"), [(10, ", that of the calibration "), (0.1, ", which leaves out values of ")]
)
def test_a_calibration_with_other_inputs_is_a_mismatch(project: Project, factor: float, said: str) -> None:
    body = f"calibration = [[x * {factor} for x in xs] for xs in calibration]"
    row = images(project, compiler=planted(project, "calibration", body))
    assert row["status"] == "mismatch", row["reason"]
    assert row["reason"].startswith("converter: the range of ") and said in row["reason"], row["reason"]


def test_an_artefact_of_another_program_is_not_judged_by_its_layers(project: Project) -> None:
    body = "next(one for name, one in program.state_dict.items() if name.endswith('bias')).data[:] = 9"
    row = images(project, compiler=planted(project, "lowering", body))
    assert "exposing the tensors of the model changes its result" in row["flags"]
    assert row["status"] == "mismatch" and "under our own quantisation" in row["reason"], row


def test_an_operator_without_a_kernel_is_a_refusal(project: Project) -> None:
    row = run(
        project, '{ callable = "torch.nn.LocalResponseNorm", positional = [3] }', '["batch", 4, 6, 6]', precision="fp32"
    )
    assert (row["status"], row["stage"]) == ("unsupported", "run")
    assert row["reason"] == "the runtime has no kernel of aten::avg_pool3d.out"


# A table of positions that is added: the quantiser takes its range from a histogram, which leaves out its ends.
POSITIONS = """
import torch

class Positions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(16, 16), torch.nn.Linear(16, 6)
        places = torch.arange(20.0)[:, None] / 10000 ** (torch.arange(8.0) / 8)
        self.register_buffer("positions", torch.cat([places.sin(), places.cos()], 1))

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x) + self.positions))
"""


def test_a_constant_that_is_observed_like_an_activation_may_lose_its_ends(project: Project) -> None:
    project.write("positions.py", POSITIONS)
    project.write("test_models.py", EQUIVALENCE)
    text = MODEL.format(shape='["batch", 20, 16]', layers="")
    start = text.index('callable = "torch.nn.Sequential"')
    text = text[:start] + 'callable = "../../positions.py:Positions"\n' + text[text.index("[missing]") :]
    project.write("fixtures/models/net.toml", text)
    chosen = ["--models=net", "--frameworks=pytorch", "--compilers=executorch", "--precisions=w8a8"]
    row = the_row(project.run(*chosen))
    assert row["status"] == "supported", row["reason"]
    assert 0.51 < row["numbers"]["converter"]["worst_steps"] <= 1
