"""``ADAPTER`` literals that may not be: each ends in a usage error that names the file and the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.adapters import Catalog, read_adapter

BASE = {
    "framework": {"operations": '["reference", "export", "import_model", "run_imported"]'},
    "compiler": {"operations": '["compile", "run"]', "precisions": '{"fp32": ["original"]}'},
    "runtime": {"operations": '["compile", "run"]', "precisions": '{"fp32": ["original"]}'},
    "dataset": {"operations": '["fetch"]', "classes": "10"},
    "tool": {},
}
HALF = '"\\ud800"'  # the source text of half a character

# The kind of the adapter, the key, the source text of its value (empty: the key is missing), and what is said.
WRONG = [
    ("tool", "name", "", "ADAPTER.name: missing"),
    ("tool", "name", "7", "ADAPTER.name: expected a text, found 7"),
    ("tool", "name", "None", "ADAPTER.name: expected a text, found None"),
    ("tool", "name", '["mine"]', "ADAPTER.name: expected a text, found ['mine']"),
    ("tool", "name", '""', "ADAPTER.name: "),
    ("tool", "name", '"a,b"', "ADAPTER.name: "),
    ("tool", "name", '"a[b]"', "ADAPTER.name: "),
    ("tool", "name", 'b"mine"', ":2: ADAPTER.name: expected a text, a number, a list or a table, found b'mine'"),
    ("tool", "name", HALF, ":2: ADAPTER.name: half a character (a lone surrogate), found '\\ud800'"),
    ("tool", "name", '"a" + "b"', ":2: ADAPTER.name: not a literal"),
    ("tool", "name", "NAME", ":2: ADAPTER.name: not a literal"),
    ("tool", "name", 'f"{1}"', ":2: ADAPTER.name: not a literal"),
    ("tool", "kind", "", "ADAPTER.kind: None is not valid; valid are: framework"),
    ("tool", "kind", '"tol"', "ADAPTER.kind: 'tol' is not valid"),
    ("tool", "kind", "[]", "ADAPTER.kind: [] is not valid"),
    ("tool", "kind", '{"a": 1}', "ADAPTER.kind: {'a': 1} is not valid"),
    ("tool", "kind", "1", "ADAPTER.kind: 1 is not valid"),
    ("tool", "toolchain", "", "ADAPTER.toolchain: missing"),
    ("tool", "toolchain", "None", "ADAPTER.toolchain: expected a text"),
    ("tool", "toolchain", '"  "', "ADAPTER.toolchain: "),
    ("tool", "toolchain", '("t",)', "ADAPTER.toolchain: expected a text"),
    ("tool", "title", "3", "ADAPTER.title: expected a text, found 3"),
    ("tool", "title", HALF, "ADAPTER.title: half a character"),
    ("tool", "title", "{}", "ADAPTER.title: expected a text, found {}"),
    ("tool", "distribution", "True", "ADAPTER.distribution: expected a text, found True"),
    ("tool", "distributions", '"numpy"', "ADAPTER.distributions: expected a list, found 'numpy'"),
    ("tool", "distributions", '["numpy", 1]', "ADAPTER.distributions[2]: expected a text, found 1"),
    ("tool", "operations", '"check"', "ADAPTER.operations: expected a list, found 'check'"),
    ("tool", "operations", '{"check"}', "ADAPTER.operations: expected a list, found a set: write [...]"),
    ("tool", "operations", '[["check"]]', "ADAPTER.operations[1]: expected a text, found ['check']"),
    ("tool", "operations", "None", "ADAPTER.operations: expected a list, found None"),
    ("tool", "uses", '"onnx_check"', "ADAPTER.uses: expected a list, found 'onnx_check'"),
    ("tool", "uses", "12", "ADAPTER.uses: expected a list, found 12"),
    ("tool", "imports", '"numpy"', "ADAPTER.imports: expected a list, found 'numpy'"),
    ("tool", "imports", "[None]", "ADAPTER.imports[1]: expected a text, found None"),
    ("tool", "unsupported", '"KeyError"', "ADAPTER.unsupported: expected a list, found 'KeyError'"),
    ("tool", "unsupported", '["KeyError"]', "ADAPTER.unsupported[1]: expected a table, found 'KeyError'"),
    ("tool", "unsupported", '[{"exception": "KeyError"}]', "ADAPTER.unsupported[1].pattern: missing"),
    ("tool", "unsupported", '[{"exception": "E", "pattern": "("}]', "ADAPTER.unsupported[1]: pattern is not a regular"),
    ("tool", "unsupported", '[{"exception": "E", "pattern": 1}]', "ADAPTER.unsupported[1].pattern: expected a text"),
    ("tool", "unsupported", '[{"exception": "E", "pattern": "", "x": 1}]', "ADAPTER.unsupported[1].x: unknown key"),
    ("tool", "unsupported", "[{1: 2}]", "ADAPTER.unsupported[1]: keys are texts, found 1"),
    ("tool", "on_request", '"yes"', "ADAPTER.on_request: expected true or false, found 'yes'"),
    ("tool", "on_request", "1", "ADAPTER.on_request: expected true or false, found 1"),
    ("tool", "colour", '"red"', "ADAPTER.colour: unknown key; valid keys are"),
    ("tool", "operation", "[]", "ADAPTER.operation: unknown key; did you mean operations?"),
    ("tool", "title", '"a", "title": "b"', "ADAPTER.title: the key stands here twice"),
    ("tool", "title", '"a", **{}', "ADAPTER: ** is not a literal"),
    ("tool", "title", '"a", 1: "b"', "ADAPTER: keys are texts, found 1"),
    ("tool", "title", '"a", (): "b"', "ADAPTER: keys are texts, found ()"),
    ("tool", "title", '"a", []: "b"', "ADAPTER: keys are texts, found []"),
    ("tool", "title", f'"a", {HALF}: "b"', "ADAPTER: half a character"),
    ("tool", "title", "...", "ADAPTER.title: expected a text, a number, a list or a table, found Ellipsis"),
    ("tool", "title", "1j", "ADAPTER.title: expected a text, a number, a list or a table, found 1j"),
    ("tool", "title", "-1e999", "ADAPTER.title: expected a finite number"),
    ("tool", "title", "9" * 30, "ADAPTER.title: a number of more than 63 bits"),
    ("tool", "title", "9" * 5000, "the adapter cannot be read"),
    ("tool", "title", "[" * 300 + "]" * 300, "the adapter cannot be read"),
    ("tool", "title", "-" * 5000 + "1", "ADAPTER or another value is nested too deeply"),
    ("framework", "operations", '["export"]', "ADAPTER: operations: 'reference' is missing, which every framework has"),
    ("framework", "exporters", '["e"]', "ADAPTER.exporters: expected a table, found ['e']"),
    ("framework", "exporters", '{"e": "opsets"}', "ADAPTER.exporters.e: expected a table, found 'opsets'"),
    ("framework", "exporters", '{"e": {"opset": 17}}', "ADAPTER.exporters.e.opsets: missing"),
    ("framework", "exporters", '{"e": {"opsets": "13-18"}}', "ADAPTER.exporters.e.opsets: expected a list"),
    ("framework", "exporters", '{"e": {"opsets": [13]}}', "ADAPTER.exporters.e.opsets: "),
    ("framework", "exporters", '{"e": {"opsets": [13, "18"]}}', "ADAPTER.exporters.e.opsets[2]: expected a whole"),
    ("framework", "exporters", '{"e": {"opsets": [13, 18.5]}}', "ADAPTER.exporters.e.opsets[2]: expected a whole"),
    ("framework", "exporters", '{"e": {"opsets": [0, 18]}}', "ADAPTER.exporters.e.opsets[1]: "),
    ("framework", "exporters", '{"e": {"opsets": [18, 13]}}', "opsets: [18, 13] is not [low, high]"),
    ("framework", "exporters", '{"e": {"opsets": [13, 18], "opset": 99}}', "opset: 99 is not one of its opsets"),
    ("framework", "importers", '{"e": {"opsets": [1, 2], "range": 3}}', "ADAPTER.importers.e.range: unknown key"),
    ("framework", "default_pairs", '["a", "b"]', "ADAPTER.default_pairs[1]: expected a list, found 'a'"),
    ("framework", "default_pairs", '[["a"]]', "ADAPTER.default_pairs[1]: "),
    ("framework", "default_pairs", '[["a", "b"]]', "ADAPTER: default_pairs: 'a' is not an exporter of it"),
    ("compiler", "operations", '["compile"]', "ADAPTER: operations: 'run' is missing, which every compiler has"),
    ("compiler", "precisions", '"fp32"', "ADAPTER.precisions: "),
    ("compiler", "precisions", '["fp31"]', "ADAPTER.precisions[1]: 'fp31' is not valid"),
    ("compiler", "precisions", '{"fp31": ["original"]}', "ADAPTER.precisions.fp31: 'fp31' is not valid"),
    ("compiler", "precisions", '{"fp32": "original"}', "ADAPTER.precisions.fp32: "),
    ("compiler", "precisions", '{"fp32": ["orignal"]}', "ADAPTER.precisions.fp32[1]: 'orignal' is not valid"),
    ("compiler", "precisions", '{"fp32": {"original"}}', "ADAPTER.precisions.fp32: expected a list, found a set"),
    ("compiler", "precisions", '{b"fp32": ["original"]}', "ADAPTER.precisions: keys are texts, found b'fp32'"),
    ("compiler", "takes", '"onnx"', "ADAPTER.takes: expected a list, found 'onnx'"),
    ("compiler", "targets", '"local"', "ADAPTER.targets: expected a list, found 'local'"),
    ("compiler", "backends", '"xnnpack"', "ADAPTER.backends: expected a list, found 'xnnpack'"),
    ("compiler", "jit_backends", '["fast"]', "ADAPTER: jit_backends: 'fast' is not one of its backends"),
    ("compiler", "artefact", '"no"', "ADAPTER.artefact: expected true or false, found 'no'"),
    ("compiler", "portable", "None", "ADAPTER.portable: expected true or false, found None"),
    ("compiler", "operators", "[]", "ADAPTER.operators: expected true or false, found []"),
    ("compiler", "toolchains", '["pytorch"]', "ADAPTER.toolchains: expected a table, found ['pytorch']"),
    ("compiler", "toolchains", '{"pytorch": 1}', "ADAPTER.toolchains.pytorch: expected a text, found 1"),
    ("compiler", "options", '["level"]', "ADAPTER.options: expected a table, found ['level']"),
    ("compiler", "options", '{"level": "high"}', "ADAPTER.options.level: expected a list, found 'high'"),
    ("compiler", "options", '{"level": [1]}', "ADAPTER.options.level[1]: expected a text, found 1"),
    ("compiler", "options", '{"level": []}', "ADAPTER.options.level: "),
    ("compiler", "needs", '"gcc"', "ADAPTER.needs: expected a list, found 'gcc'"),
    ("compiler", "loose", '["bf16"]', "ADAPTER: loose: 'bf16' is not one of its precisions; valid are: fp32"),
    ("compiler", "loose", '"fp32"', "ADAPTER.loose: expected a list, found 'fp32'"),
    ("compiler", "opsets", "17", "ADAPTER.opsets: expected a list or nothing, found 17"),
    ("compiler", "opsets", "[18, 13]", "ADAPTER: opsets: [18, 13] is not [low, high]"),
    ("compiler", "ir", '["a", "b"]', "ADAPTER.ir[1]: expected a whole number, found 'a'"),
    ("compiler", "values", '"sequence"', "ADAPTER.values: expected a list, found 'sequence'"),
    ("compiler", "rounds", '"w17"', "ADAPTER.rounds: 'w17' is not valid"),
    ("compiler", "classes", "10", "ADAPTER.classes: unknown key"),
    ("runtime", "backends", "{}", "ADAPTER.backends: expected a list, found {}"),
    ("dataset", "classes", "", "ADAPTER.classes: missing"),
    ("dataset", "classes", "1", "ADAPTER.classes: expected a whole number >= 2, found 1"),
    ("dataset", "classes", '"ten"', "ADAPTER.classes: expected a whole number, found 'ten'"),
    ("dataset", "classes", "10.0", "ADAPTER.classes: "),
    ("dataset", "classes", "True", "ADAPTER.classes: expected a whole number, found True"),
    ("dataset", "takes", "[]", "ADAPTER.takes: unknown key"),
]  # fmt: skip


def literal(kind: str, /, **changed: str) -> str:
    """The source text of an adapter of this kind; an empty text leaves a key out."""
    said = {"name": '"mine"', "kind": f'"{kind}"', "toolchain": '"tools"', **BASE[kind], **changed}
    return "ADAPTER = {\n" + "".join(f'    "{key}": {value},\n' for key, value in said.items() if value) + "}\n"


@pytest.mark.parametrize("kind", BASE)
def test_an_adapter_of_each_kind(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(literal(kind))
    assert read_adapter(path).kind == kind


@pytest.mark.parametrize(("kind", "key", "value", "message"), WRONG)
def test_a_wrong_literal_is_named_with_its_file_and_key(
    tmp_path: Path, kind: str, key: str, value: str, message: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(literal(kind, **{key: value}))
    with pytest.raises(UsageError) as caught:
        read_adapter(path)
    assert str(caught.value).startswith(f"{path}:") and message in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        b"", b"ADAPTER = []\n", b'ADAPTER = "name"\n', b"ADAPTER = None\n", b"ADAPTER = dict(name=1)\n",
        b"ADAPTER: dict\n", b"ADAPTER = {\n", b"\xff\xfe\n", b"ADAPTER = {}\x00\n", b"1 +" * 20_000 + b"1",
    ],
)  # fmt: skip
def test_a_file_without_a_literal_is_named(tmp_path: Path, source: bytes) -> None:
    path = tmp_path / "mine.py"
    path.write_bytes(source)
    with pytest.raises(UsageError, match=r"mine\.py: the adapter cannot be read: ."):
        read_adapter(path)


def write(folder: Path, name: str, /, **changed: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(literal("tool", **{"name": f'"{name}"', **changed}))
    return path


def test_an_adapter_that_uses_one_that_is_not_there(tmp_path: Path) -> None:
    path = write(tmp_path, "first", uses='["onnx_check", "onnx_chek"]')
    with pytest.raises(UsageError, match=r"first\.py: ADAPTER\.uses\[2\]: no adapter is named 'onnx_chek'"):
        Catalog([path])


def test_adapters_that_use_each_other(tmp_path: Path) -> None:
    write(tmp_path, "first", uses='["second"]')
    write(tmp_path, "second", uses='["first"]')
    with pytest.raises(UsageError, match=r"second\.py: ADAPTER\.uses\[1\]: .* first -> second -> first"):
        Catalog([tmp_path])


def test_two_adapters_of_one_name(tmp_path: Path) -> None:
    write(tmp_path, "first")
    write(tmp_path, "second", name='"first"')
    with pytest.raises(UsageError, match=r"second\.py: ADAPTER\.name: .*first\.py has the name 'first' too"):
        Catalog([tmp_path])


def test_an_adapter_may_replace_a_built_in_one(tmp_path: Path) -> None:
    path = write(tmp_path, "onnx_check")
    assert Catalog([path, path])["onnx_check"].path == path
