"""Axes, profiles, markers and files: what is selected, and what is said of a wrong value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import Project

WRONG = {
    "--frameworks=fake,caffe": "unknown framework 'caffe'; valid are: fake, jax, mxnet, pytorch, tensorflow",
    "--models=lenet": "unknown model 'lenet'; valid are:",
    "--bench-exporters=nope": "unknown exporter 'nope'; valid are: dynamo, fakeout",
    "--bench-importers=nope": "unknown importer 'nope'; valid are:",
    "--compilers=gcc": "unknown compiler 'gcc'; bench list compilers prints all",
    "--targets=moon": "unknown target 'moon'; bench list targets prints all",
    "--precisions=fp7": "unknown precision 'fp7'; valid are: fp32, fp16",
    "--bench-profile=huge": "unknown profile 'huge'; valid are: smoke, quick, published, full",
    "--bench-opsets=x": "'x' is not a list of whole numbers",
    "--bench-jobs=0": "--bench-jobs: 0 is not a positive number",
    "--bench-onnx=nothing.onnx": "--bench-onnx: there is no file",
    "--bench-model=nothing.onnx": "--bench-onnx: there is no file",
    "--bench-inputs=a.npz": "a.npz has no --bench-onnx FILE.onnx that it is for",
    "--bench-onnx=bench.toml --bench-inputs=nothing.npz": "nothing.npz cannot be read: No such file or directory",
    "--bench-onnx=bench.toml --bench-inputs=bench.toml": "bench.toml is not an .npz file of numbers",
    "--bench-search=guess": "--bench-search: unknown name 'guess'; valid are: quick, nightly",
    "--bench-threads=0": "threads: 0 is not a positive number",
    "--bench-seed=-1": "--bench-seed: -1 is not a number from 0 to 4294967295",
    "--bench-seed=4294967296": "--bench-seed: 4294967296 is not a number from 0 to",
    "--compilers=": "--bench-compilers: '' names none; leave the option out",
    "--bench-checks=swim": "unknown check 'swim'; valid are: export, import, equivalence,",
    "--bench-results=.": "names a folder; name a file in it",
    "--bench-results=bench.toml/rows.jsonl": "--bench-results: the folder",
    "--bench-cache=bench.toml/stages": "--bench-cache: the folder",
    "--bench-cache=": "--bench-cache: the path is empty",
    "--bench-resume --bench-refresh": "--bench-resume reuses finished cells and --bench-refresh makes them again",
}


@pytest.mark.parametrize("option", WRONG)
def test_a_wrong_value_is_a_usage_error_that_lists_the_valid_ones(project: Project, option: str) -> None:
    project.model("a")
    finished = project.run(*option.split())
    assert finished.code == 4
    assert "Traceback" not in finished.text
    assert "ERROR: bench: " in finished.text
    assert WRONG[option] in finished.text
    assert not finished.rows


def test_wrong_markers_are_usage_errors(project: Project) -> None:
    project.model("a")
    test = "import pytest\n@pytest.mark.bench({})\n{}def test_a(bench_cell):\n    bench_cell.verify()\n"
    wrong = {
        test.format("check='swim'", ""): "check is 'swim'; one of export, import",
        test.format("check='export', colour=['red']", ""): "marker bench: unknown axis 'colour'",
        test.format("check='export', models=['nope']", ""): "unknown model 'nope'",
        test.format("check='export', opsets=['17']", ""): "opsets is ['17']; it takes one or a list of whole numbers",
        test.format("check='export', models={'a': 1}", ""): "models is {'a': 1}; it takes one or a list of names",
        test.format("check='export'", "@pytest.mark.tolerance(1e-4)\n"): "0.0001 has no name; write k=0.0001, floor=",
        test.format("check='export'", "@pytest.mark.tolerance(q=1)\n"): "marker tolerance: unknown name 'q'",
        test.format("check='export'", "@pytest.mark.tolerance(k=-1)\n"): "k must be a positive number, found -1",
    }
    for text, message in wrong.items():
        project.write("test_models.py", text)
        finished = project.run()
        assert (finished.code, message in finished.text) == (4, True), finished.text


def test_wrong_files_name_the_file_and_the_key(project: Project) -> None:
    path = project.model("a")
    good = path.read_text()
    for change, message in {
        good.replace('family = "mlp"', ""): "a.toml: family: missing",
        "colour = 1\n" + good: "a.toml:1: colour: unknown key; valid keys are",
        good.replace('"batch", 8', '"batch", "width"'): "dimension 'width' has no values",
        "not toml": "a.toml: not a TOML file",
    }.items():
        path.write_text(change)
        finished = project.run(models="a")
        assert (finished.code, message in finished.text) == (4, True), finished.text
    path.write_text(good)
    project.write("bench.toml", "colour = 1\n")
    assert "bench.toml:1: colour: unknown key; valid keys are adapters, cache" in project.run().text
    project.write("bench.toml", 'adapters = ["nothing.py"]\n')
    assert "nothing.py: cannot read the adapter: No such file" in project.run().text


def test_readable_ids_and_axes_in_the_properties(project: Project) -> None:
    project.model("a")
    finished = project.run("--junit-xml=junit.xml", "-v")
    assert "test_import[a-fake-fakeout-opset17-to-fake-fakein] PASSED" in finished.text
    xml = (project.folder / "junit.xml").read_text()
    assert '<property name="bench_model" value="a"' in xml
    assert '<property name="bench_exporter" value="fakeout"' in xml


def test_exporters_importers_and_opsets_are_axes(project: Project) -> None:
    project.model("a")
    finished = project.run("--bench-exporters=otherout", "--bench-importers=otherin", "--bench-opsets=13,14,19")
    cells = [row["cell"] for row in finished.rows if row["kind"] == "cell"]
    assert {(cell["exporter"], cell["opset"]) for cell in cells} == {("otherout", 13), ("otherout", 14)}
    declared = [row for row in finished.rows if row["kind"] == "declared"]
    assert {row["reason"] for row in declared} == {"otherout writes opsets 13 to 18, asked for 19"}
    assert "unsupported" in {row["status"] for row in declared}


def test_full_takes_every_pair(project: Project) -> None:
    project.model("a")
    finished = project.run("--bench-profile=full", "--collect-only", "-q")
    lines = [line for line in finished.text.splitlines() if "::test_import" in line and "-to-fake" in line]
    assert len(lines) == 4


def test_exclude_needs_a_reason_and_leaves_a_row(project: Project) -> None:
    project.model("a")
    project.model("b")
    settings = (project.folder / "bench.toml").read_text()
    project.write("bench.toml", settings + '[[exclude]]\nmodel = "b"\n')
    assert "exclude[1].reason: missing" in project.run().text
    project.write("bench.toml", settings + '[[exclude]]\nmodel = "b"\nreason = "too slow here"\n')
    finished = project.run()
    assert set(finished.cells()) == {"a"}
    assert {row["reason"] for row in finished.rows if row["kind"] == "declared"} == {"excluded: too slow here"}


def test_include_adds_cells_to_the_profile(project: Project) -> None:
    project.model("a")
    settings = (project.folder / "bench.toml").read_text()
    row = '[[include]]\nmodel = "a"\nframework = "fake"\nexporter = "otherout"\nopset = 15\nreason = "our customers"\n'
    project.write("bench.toml", settings + row)
    cells = [row["cell"] for row in project.run().rows if row["kind"] == "cell"]
    assert ("otherout", 15) in {(cell["exporter"], cell["opset"]) for cell in cells}


def test_a_users_own_test_reads_the_outcome(project: Project) -> None:
    project.model("a")
    project.write(
        "test_models.py",
        "import pytest\n"
        "@pytest.mark.bench(check='export', models=['a'], exporters=['fakeout'])\n"
        "def test_small(bench_outcome):\n"
        "    assert bench_outcome.numbers['E'] < 1e-5\n"
        "    assert bench_outcome.converted and bench_outcome.verified\n",
    )
    finished = project.run()
    assert finished.code == 0, finished.text


def test_without_the_marker_the_fixture_names_it(project: Project) -> None:
    project.model("a")
    project.write("test_models.py", "def test_plain(bench_cell):\n    bench_cell.verify()\n")
    finished = project.run()
    assert "fixture bench_cell needs a test marked @pytest.mark.bench(check='export')" in finished.text
    assert not finished.rows


def test_a_run_without_a_cell_writes_nothing(project: Project) -> None:
    project.model("a")
    project.write("test_models.py", "def test_plain():\n    pass\n")
    finished = project.run()
    assert finished.code == 0
    assert not (project.folder / "reports").exists()


def test_an_axis_name_that_is_taken_keeps_the_long_spelling(project: Project) -> None:
    project.model("a")
    project.write("conftest.py", "def pytest_addoption(parser):\n    parser.addoption('--targets')\n")
    finished = project.run("--targets=whatever", "--bench-targets=local")
    assert "bench: --targets belongs to another plugin, use --bench-targets" in finished.text
    assert finished.code == 0


def test_deselected_cells_are_not_computed(project: Project) -> None:
    project.model("a")
    project.model("b")
    finished = project.run("-k", "export and a-fake")
    assert [row["nodeid"] for row in finished.rows if row["kind"] == "cell"] == [
        "test_models.py::test_export[a-fake-fakeout-opset17]"
    ]
    assert "partial: 1 of" in finished.text


EQUIVALENCE = """
import pytest

@pytest.mark.bench(check="equivalence", compilers=["onnxruntime"])
def test_equivalence(bench_cell):
    bench_cell.verify()
"""


def test_an_empty_part_of_a_selection_is_skipped_and_said_in_one_line(project: Project) -> None:
    project.model("a")
    tests = (project.folder / "test_models.py").read_text()
    project.write("test_models.py", tests + EQUIVALENCE)
    finished = project.run("--bench-exporters=otherout", "--compilers=tvm")
    assert finished.code == 0, finished.text
    said = "test_equivalence: no cell in this selection: a: the test's marker selects other compilers"
    assert finished.text.count(said) == 1
    collected = project.run("--compilers=tvm", "--collect-only", "-q")
    assert "NOTSET" not in collected.text
    assert "test_export[a-fake" in collected.text


@pytest.mark.parametrize("workers", [[], ["-n2"]])
def test_an_empty_whole_is_a_usage_error_that_says_why(project: Project, workers: list[str]) -> None:
    project.model("a")
    finished = project.run("--precisions=bf16", *workers)
    assert finished.code == 4
    assert "ERROR: bench: no cell matches this selection" in finished.text
    assert "round trips are checked at fp32, asked for bf16" in finished.text
    assert "INTERNALERROR" not in finished.text


def test_a_named_model_without_a_cell_says_why_in_one_line(project: Project) -> None:
    project.model("a")
    path = project.model("other")
    path.write_text(path.read_text().replace("[constructors.fake]", "[constructors.pytorch]"))
    finished = project.run("--collect-only", "-q")
    line = (
        "model other has no cell: export: Not provided: other has no constructor for fake; import: Not provided: other"
    )
    assert finished.text.count(line) == 1 and "model a has no cell" not in finished.text


def test_an_empty_selection_leaves_tests_of_other_plugins(project: Project) -> None:
    project.model("a")
    project.write("test_other.py", "def test_other():\n    pass\n")
    finished = project.run("test_other.py", "--precisions=bf16")
    assert finished.code == 0 and "1 passed" in finished.text
    assert finished.text.count("no cell in this selection") == 2


def test_with_xdist_wrong_options_end_the_run_before_its_workers_start(project: Project) -> None:
    project.model("a")
    finished = project.run("--models=lenet", "-n2")
    assert finished.code == 4
    assert "ERROR: bench: unknown model 'lenet'" in finished.text
    assert "INTERNALERROR" not in finished.text and "workers" not in finished.text


def test_with_xdist_a_wrong_marker_is_the_same_usage_error(project: Project) -> None:
    project.model("a")
    text = "import pytest\n@pytest.mark.bench(check='swim')\ndef test_a(bench_cell):\n    bench_cell.verify()\n"
    project.write("test_models.py", text)
    finished = project.run("-n2")
    assert finished.code == 4
    assert "check is 'swim'; one of export, import" in finished.text
    assert "INTERNALERROR" not in finished.text


def test_a_selection_on_the_command_line_wins_over_an_include_row(project: Project) -> None:
    project.model("a")
    project.model("b")
    settings = (project.folder / "bench.toml").read_text()
    project.write("bench.toml", settings + '[[include]]\nmodel = "b"\nframework = "fake"\nreason = "customers"\n')
    assert set(project.run(models="a").cells()) == {"a"}


def test_xdist_writes_each_row_once(project: Project) -> None:
    for name in "abc":
        project.model(name)
    finished = project.run("-n2")
    assert finished.code == 0, finished.text
    kinds = [row["kind"] for row in finished.rows]
    assert (kinds.count("header"), kinds.count("plan"), kinds.count("cell")) == (1, 1, 6)
    assert "Model a" in finished.text


def test_an_axis_of_a_marker_takes_one_name_as_well_as_a_list(project: Project) -> None:
    project.model("a")
    project.model("b")
    project.write(
        "test_models.py",
        "import pytest\n"
        "@pytest.mark.bench('export', models='a', opsets=17, precisions=['fp32'])\n"
        "def test_one(bench_cell):\n"
        "    bench_cell.verify()\n",
    )
    assert set(project.run().cells()) == {"a"}


def test_the_alias_of_a_precision_works_in_a_marker(project: Project) -> None:
    project.model("a")
    text = "import pytest\n@pytest.mark.bench('equivalence', precisions=['int8'], compilers='onnxruntime')\n"
    project.write("test_models.py", f"{text}def test_a(bench_cell):\n    bench_cell.verify()\n")
    collected = project.run("--collect-only", "-q")
    assert "unknown precision" not in collected.text
    assert "-onnxruntime-w8a8-" in collected.text, collected.text


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('importer = "nope"', "bench.toml: exclude row 1: unknown importer 'nope'; valid are:"),
        ('exporter = ["fakeout", "nope"]', "bench.toml: exclude row 1: unknown exporter 'nope'; valid are:"),
        ('compiler = "gcc"', "bench.toml: exclude row 1: unknown compiler 'gcc'; bench list compilers prints all"),
        ('target = "moon"', "bench.toml: exclude row 1: unknown target 'moon'; bench list targets prints all"),
        ('framework = "caffe"', "bench.toml: exclude row 1: unknown framework 'caffe'; valid are: fake"),
        ('opset = "new"', "bench.toml: exclude row 1: opset is 'new'; it takes whole numbers"),
        ('dtype = "float16"', "bench.toml:5: exclude[1].dtype: unknown key"),
    ],
)
def test_a_row_with_a_value_that_there_is_not_is_a_usage_error(project: Project, row: str, message: str) -> None:
    project.model("a")
    settings = (project.folder / "bench.toml").read_text()
    project.write("bench.toml", f'{settings}[[exclude]]\n{row}\nreason = "why not"\n')
    finished = project.run()
    assert (finished.code, message in finished.text) == (4, True), finished.text


def test_an_include_row_cannot_ask_for_what_follows_from_other_axes(project: Project) -> None:
    project.model("a")
    settings = (project.folder / "bench.toml").read_text()
    project.write("bench.toml", f'{settings}[[include]]\nimporter_framework = "fake"\nreason = "why not"\n')
    assert "importer_framework cannot be asked for, it follows from the others: check, model" in project.run().text


def test_a_model_that_hides_one_of_the_projects_is_said_once(project: Project) -> None:
    project.model("digits_mlp")
    finished = project.run("--collect-only", "-q")
    said = "bench: model digits_mlp: "
    assert finished.text.count(said) == 1 and "digits_mlp.toml is used, it hides" in finished.text


def test_the_help_of_options_and_of_the_marker_names_every_axis_and_check(project: Project) -> None:
    options = project.finish([*project.command()[:3], "--help"]).stdout
    for name in ("checks", "models", "frameworks", "exporters", "opsets", "importers", "compilers", "precisions"):
        assert f"--bench-{name}=" in options
    assert "--bench-onnx=" in options and "--bench-model=" not in options
    markers = project.finish([*project.command()[:3], "--markers"]).stdout
    assert "opsets=None, importers=None, compilers=None, precisions=None, targets=None" in markers
    assert "export, import, equivalence, operator, property, quality" in markers


def test_kinds_of_check_are_selected_by_name(project: Project) -> None:
    project.model("a")
    finished = project.run("--bench-checks=import")
    assert {row["check"] for row in finished.rows if row["kind"] == "cell"} == {"import"}
    assert "test_export: no cell in this selection: --bench-checks asks for import, this is export" in finished.text
    (plan,) = (row for row in finished.rows if row["kind"] == "plan")
    assert plan["selection"]["checks"] == ["import"]


def test_a_wheels_suites_are_narrowed_to_a_kind_of_check(project: Project) -> None:
    project.model("a")
    suites = project.folder / "site/whole/suites"
    suites.mkdir(parents=True)
    for package in (suites, suites.parent):
        (package / "__init__.py").touch()
    for path in (Path(__file__).parents[2] / "suites").glob("*/test_*.py"):
        (suites / path.name).write_text(path.read_text())
    project.environment["PYTHONPATH"] = str(project.folder / "site")
    command = [
        "--pyargs" if one == "test_models.py" else one for one in project.command("--bench-checks=export,import")
    ]
    finished = project.finish([*command, "whole", "--collect-only", "-q"])
    assert finished.returncode == 0, finished.stdout
    collected = [line for line in finished.stdout.splitlines() if "[" in line and "::" in line]
    assert collected and all("test_roundtrip.py" in line for line in collected), finished.stdout
