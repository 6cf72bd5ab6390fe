"""Files that are wrong: the message names the file, the line, the key, and what would be right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.domain.configuration import ConfigurationFile
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.records import line_of, read
from bench_plugin.domain.texts.choices import hint
from bench_plugin.inventory.adapters import Catalog, read_adapter
from bench_plugin.inventory.budget_file import BudgetFile
from bench_plugin.inventory.hardware.target_file import read_target
from bench_plugin.inventory.models import load_model

MODEL = """\
name = "m"
family = "mlp"
task = "classification"

[[inputs]]
name = "x"
shape = ["batch", 8]

[[inputs]]
name = "y"
shape = [1]

[symbols]
batch = [1, 2]

[constructors.pytorch]
callable = "net.py:make"
"""
COMMAND = """\
command = ["tool", "{model}"]
artefact = "model.so"
[precisions]
fp32 = ["original"]
"""


def said(path: Path, text: str, reader: Callable[[Path], Any]) -> str:
    """What reading a file says, without the folder."""
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        reader(path)
    return str(caught.value).replace(f"{path.parent}/", "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('family = "mlp"\n', "", "m.toml: family: missing"),
        ('name = "y"', 'name = "y"\ndtype = "float31"',
         "m.toml:11: inputs[2].dtype: 'float31' is not valid; valid are: float32, float64, int32, int64, bool"),
        ('name = "y"', 'nam = "y"', "m.toml:10: inputs[2].nam: unknown key; did you mean name? valid keys"),
        ('name = "y"', 'name = "y"\nshap = 1', "m.toml:11: inputs[2].shap: unknown key; did you mean shape?"),
        ("batch = [1, 2]", "batch = [1, 0]", "m.toml:14: symbols.batch[2]: expected a whole number >= 1, found 0"),
        ("batch = [1, 2]", "batch = 1", "m.toml:14: symbols.batch: expected a list, found 1"),
        ("batch = [1, 2]", "other = [1, 2]", "m.toml: inputs: dimension 'batch' has no values; add them"),
        ('"net.py:make"', "7", "m.toml:17: constructors.pytorch.callable: expected a text, found 7"),
        ('"net.py:make"', '"net.py:make"', "m.toml:17: constructors.pytorch.callable: cannot read net.py"),
    ],
)  # fmt: skip
def test_a_model_that_may_not_be(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in said(tmp_path / "m.toml", MODEL.replace(old, new), load_model)


def test_a_target_that_may_not_be(tmp_path: Path) -> None:
    path = tmp_path / "board.toml"
    assert said(path, 'name = "board"\ncpus = 4\n', read_target).startswith(
        "board.toml:2: cpus: unknown key; did you mean cpu? valid keys are abi, architecture,"
    )
    assert said(path, 'title = "x"\nname = "bord"\n', read_target) == (
        "board.toml:2: name: it is 'bord'; it must be that of the file, 'board'"
    )
    path.write_text('name = "board"\nflags = ["-O2"]\n')
    assert read_target(path) == {"name": "board", "flags": ["-O2"]}  # as its file says it: recipes are made from it


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{COMMAND}fp31 = ['original']\n", "tool.toml:5: precisions.fp31: 'fp31' is not valid; valid are: fp32, fp16"),
        (f"colour = 1\n{COMMAND}", "tool.toml:1: colour: unknown key; valid keys are artefact, bind"),
        (COMMAND.replace('"model.so"', "[1]"), "tool.toml:2: artefact[1]: expected a text, found 1"),
        (COMMAND.replace('command = ["tool", "{model}"]\n', ""), "tool.toml: command: missing"),
        (f"{COMMAND}[[errors]]\npattern = 'x'\nsymptom = 'bad'\n",
         "tool.toml:7: errors[1].symptom: 'bad' is not valid; valid are: unsupported, invalid-model"),
    ],
)  # fmt: skip
def test_a_described_compiler_that_may_not_be(tmp_path: Path, text: str, message: str) -> None:
    assert message in said(tmp_path / "tool.toml", text, Catalog().describe)


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ({"kind": "compiler", "toolchain": "t"}, "a.py: ADAPTER.name: missing"),
        ({"name": "a", "kind": "compilr", "toolchain": "t"}, "a.py: ADAPTER.kind: 'compilr' is not valid; valid are:"),
        ({"name": "a", "kind": "compiler", "toolchain": "t", "target": ["local"]},
         "a.py: ADAPTER.target: unknown key; did you mean targets? valid keys are"),
        ({"name": "a", "kind": "compiler", "toolchain": "t", "precisions": {"fp31": ["original"]}},
         "a.py: ADAPTER.precisions.fp31: 'fp31' is not valid; valid are: fp32"),
        ({"name": "a", "kind": "framework", "toolchain": "t", "exporters": {"e": {"opset": 17}}},
         "a.py: ADAPTER.exporters.e.opsets: missing"),
        ({"name": "a", "kind": "tool", "toolchain": "t", "unsupported": [{"exception": "E", "pattern": "("}]},
         "a.py: ADAPTER.unsupported[1]: pattern is not a regular expression"),
    ],
)  # fmt: skip
def test_an_adapter_that_may_not_be(tmp_path: Path, literal: dict[str, Any], message: str) -> None:
    assert message in said(tmp_path / "a.py", f"ADAPTER = {literal!r}\n", read_adapter)


def test_budgets_are_seconds_above_zero(tmp_path: Path) -> None:
    text = "[seconds_per_case]\nmnn = 1\ntvm = -2\n"
    message = said(tmp_path / "budgets.toml", text, lambda path: read(path, BudgetFile))
    assert message == "budgets.toml:3: seconds_per_case.tvm: expected a number > 0.0, found -2"
    committed = Path(__file__).parents[2] / "fixtures/operators/budgets.toml"
    assert "mnn" in read(committed, BudgetFile).seconds_per_case


def test_a_file_that_cannot_be_read_or_is_no_toml(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.toml: cannot be read: No such file"):
        read(tmp_path / "nothing.toml", ConfigurationFile)
    assert "x.toml: not a TOML file" in said(tmp_path / "x.toml", "a = ", lambda path: read(path, ConfigurationFile))


def test_the_line_of_a_key_below_arrays_of_tables_and_dotted_names() -> None:
    text = '[a]\nx = 1\n[[a.rows]]\nx = 2\n[[a.rows]]\n"x y" = 3\n[b."c d"] # comment\nz.deep = 4\n'
    assert line_of(text, ("a", "x")) == 2
    assert line_of(text, ("a", "rows", 1, "x y")) == 6
    assert line_of(text, ("a", "rows", 1, "absent")) == 5
    assert line_of(text, ("b", "c d", "z", "deep")) == 8
    assert line_of(text, ("absent",)) == 0


def test_few_values_are_listed_and_of_many_the_nearest_five() -> None:
    many = [f"test_relu_{index}" for index in range(50)]
    assert hint("x", ["b", "a"]) == "valid are: b, a"
    assert hint("test_relu_7x", many, listed="cases").count("test_relu") == 5
    assert hint("test_relu_7x", many, listed="cases").endswith("? bench list cases prints all 50")
    assert hint("zzz", many, listed="cases") == "bench list cases prints all 50"
    assert hint("RELU", ["Relu", *many], listed="cases") == "did you mean Relu? bench list cases prints all 51"
