"""The configuration file: misplaced keys, paths, and that every command reads it as pytest does."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.settings import read_settings_file, settings_here
from tests.project import Project

ROW = 'model = "b"\nreason = "too slow here"\n'


def wrong(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    with pytest.raises(UsageError) as caught:
        read_settings_file(folder)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"[project]\nname = 'x'\n[[exclude]]\n{ROW}", "pyproject.toml:3: exclude: nobody reads this here; write "
         "[[tool.bench_plugin.exclude]]"),
        ("models = ['mine']\n", "pyproject.toml:1: models: nobody reads this here; write models = ... below "
         "[tool.bench_plugin]"),
        ("[bench_plugin]\njobs = 1\n", "pyproject.toml:1: bench_plugin: nobody reads this here; write "
         "[tool.bench_plugin]"),
        ("[tool.bench-plugin]\njobs = 1\n", "pyproject.toml:1: tool.bench-plugin: the name of the table is "
         "[tool.bench_plugin]"),
        ("[tool.bench_plugin]\njob = 1\n", "pyproject.toml:2: tool.bench_plugin.job: unknown key; did you mean jobs?"),
        ("[tool.bench_plugin]\njobs = 0\n", "pyproject.toml:2: tool.bench_plugin.jobs: expected a whole number >= 1, "
         "found 0"),
        (f"[[tool.bench_plugin.exclude]]\nmodell = 1\n{ROW}", "pyproject.toml:2: tool.bench_plugin.exclude[1].modell: "
         "unknown key; did you mean model? valid keys are batch,"),
    ],
)  # fmt: skip
def test_keys_that_stand_at_the_wrong_place_in_pyproject(tmp_path: Path, text: str, message: str) -> None:
    assert wrong(tmp_path, "pyproject.toml", text).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.bench_plugin]\njobs = 1\n", "bench.toml:1: tool.bench_plugin: a bench.toml is this table: write its "
         "keys at the top level"),
        ("[bench_plugin]\njobs = 1\n", "bench.toml:1: bench_plugin: a bench.toml is this table"),
        ("profile = 'fast'\n", "bench.toml:1: profile: 'fast' is not valid; valid are: smoke, quick, published, full"),
        ("seed = -1\n", "bench.toml:1: seed: expected a whole number >= 0, found -1"),
        ("jobs = true\n", "bench.toml:1: jobs: expected a whole number, found True"),
        ("models = 'mine'\n", "bench.toml:1: models: expected a list, found 'mine'"),
        ("calibration = 'max'\n", "bench.toml:1: calibration: 'max' is not valid; valid are: minmax"),
        (f"[[exclude]]\nprecision = 'fp7'\n{ROW}", "bench.toml:2: exclude[1].precision: 'fp7' is not valid"),
        ("[[include]]\nmodel = 'a'\nreason = '  '\n", "bench.toml:3: include[1].reason: expected a text that is not"),
    ],
)  # fmt: skip
def test_a_bench_toml_that_may_not_be(tmp_path: Path, text: str, message: str) -> None:
    assert wrong(tmp_path, "bench.toml", text).startswith(message)


def test_two_configurations_in_one_folder_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.bench_plugin]\njobs = 1\n")
    assert "keep one of them" in wrong(tmp_path, "bench.toml", "jobs = 2\n")


def test_paths_of_the_file_are_relative_to_its_folder_wherever_the_user_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bench.toml").write_text(
        'cache = "stages"\nresults = "out/rows.jsonl"\nmodels = ["/absolute", "own"]\n'
    )
    (tmp_path / "deep/er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep/er")
    settings = settings_here()
    assert (settings.root, settings.cache) == (tmp_path, tmp_path / "stages")
    assert settings.results == tmp_path / "out/rows.jsonl"
    assert settings.models == (Path("/absolute"), tmp_path / "own")


def test_a_row_of_pyproject_works_as_it_stands_in_the_docs(project: Project) -> None:
    project.model("a")
    project.model("b")
    text = (project.folder / "bench.toml").read_text()
    (project.folder / "bench.toml").unlink()
    project.write("pyproject.toml", f"[tool.bench_plugin]\n{text}\n[[tool.bench_plugin.exclude]]\n{ROW}")
    assert set(project.run("-k", "export").cells()) == {"a"}


def test_pytest_and_every_command_use_the_results_and_the_cache_of_the_configuration(project: Project) -> None:
    project.model("a")
    text = (project.folder / "bench.toml").read_text()
    project.write("bench.toml", f'cache = "mine"\nresults = "out/rows.jsonl"\n{text}')
    command = [one for one in project.command("-k", "export") if not one.startswith("--bench-cache")]
    finished = project.finish(command)
    assert finished.returncode == 0, finished.stdout
    assert (project.folder / "mine").is_dir() and (project.folder / "out/rows.jsonl").is_file()
    assert f"{project.folder / 'mine'}: " in project.bench("cache", "info").stdout
    assert "0 entries" not in project.bench("cache", "info").stdout
    assert "Model a" in project.bench("grid").stdout
    assert (
        "test_export" in project.bench("repro", "test_models.py::test_export[a-fake-fakeout-opset17]", "--print").stdout
    )
    assert "fake" in project.bench("env", "list").stdout


def test_paths_on_the_command_line_are_relative_to_where_the_user_stands(project: Project) -> None:
    project.model("a")
    (project.folder / "below").mkdir()
    named = ["../test_models.py" if one == "test_models.py" else one for one in project.command("-k", "export")]
    command = [*(one for one in named if not one.startswith("--bench-cache")), "--bench-results=rows.jsonl"]
    finished = project.finish([*command, "--bench-cache=stages"], below="below")
    assert finished.returncode == 0, finished.stdout
    assert (project.folder / "below/rows.jsonl").is_file() and (project.folder / "below/stages").is_dir()
