"""``bench schema``: schemas that hold for the project's own files, and the page that lists every key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_plugin.cli.about.schema import FILES, NAMES, schema
from bench_plugin.cli.main import main
from bench_plugin.domain.records import read

ROOT = Path(__file__).parents[2]
OWN = {
    "model": "fixtures/models/*.toml",
    "target": "boards/targets/*.toml",
    "toolchain": "bench_plugin/toolchains/*.toml",
    "compiler": "fixtures/compilers/*.toml",
    "expectations": "suites/expectations/**/*.toml",
    "budgets": "fixtures/operators/budgets.toml",
}


@pytest.mark.parametrize("name", OWN)
def test_the_projects_own_files_are_of_their_types(name: str) -> None:
    paths = sorted(ROOT.glob(OWN[name]))
    assert paths
    for path in paths:
        read(path, FILES[name][0])


def test_the_page_of_keys_is_what_the_types_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--markdown"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs/configuration.md").read_text("utf-8")


def test_schemas_are_written_one_file_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--output", str(tmp_path / "schemas")]) == 0
    assert {path.name for path in (tmp_path / "schemas").iterdir()} == {f"{name}.schema.json" for name in NAMES}
    written = json.loads((tmp_path / "schemas/model.schema.json").read_text())
    assert written == json.loads(json.dumps(schema("model")))
    assert written["$defs"]["InputSpec"]["properties"]["dtype"]["enum"] == [
        "bool", "float32", "float64", "int32", "int64",
    ]  # fmt: skip
    assert "null" not in json.dumps([schema(name) for name in FILES if name != "model"])
    assert "wrote" in capsys.readouterr().out


def test_a_table_within_reach_is_no_kind_of_reach() -> None:
    made = schema("board")["$defs"]
    kinds = {one["$ref"].rpartition("/")[2] for one in made["BoardFile"]["properties"]["reach"]["anyOf"]}
    assert kinds == {name for name, one in made.items() if "kind" in one["properties"] and name != "PowerSensor"}
    assert "BoardLimits" in made and "BoardLimits" not in kinds


def test_one_schema_is_printed_and_a_wrong_name_lists_the_valid_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "target"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "bench_plugin: target"
    assert main(["schema", "targets"]) == 2
    assert "there is no schema 'targets'; valid are: configuration, model, target" in capsys.readouterr().err
