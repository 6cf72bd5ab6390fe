"""Hand-made results files, one per page: their rows reach every branch of the page, and no two figures are alike."""

from __future__ import annotations

from typing import Any

from tests.report.layer_scene import levels
from tests.report.made import Row, declared, header, plan
from tests.report.sweep_scene import swept

TITLES = {
    "frameworks": {
        "mxnet": {"title": "MXNet", "version": "1.9.1"},
        "pytorch": {"title": "PyTorch", "version": "2.13.0"},
    },
    "compilers": {
        "onnxruntime": {"title": "ONNX Runtime", "version": "1.31", "takes": ["onnx"],
                        "precisions": {"fp32": [], "w8a8": ["qdq"], "bf16": []}, "targets": ["local"]},
        "iree": {"title": "IREE", "version": "3.11", "takes": ["onnx", "pytorch"],
                 "precisions": {"fp32": [], "fp16": []}, "targets": ["local", "arm64", "riscv"]},
        "tvm": {"title": "TVM", "version": "0.20", "takes": ["onnx"], "precisions": {"fp32": []},
                "targets": ["local", "arm64"]},
        "ncnn": {"title": "ncnn", "version": "", "takes": ["onnx"], "precisions": {"fp32": []}, "targets": ["local"]},
    },
    "models": {"lstm": "LSTM", "vgg16": "VGG16", "resnet50": "ResNet50"},
    "families": {"lstm": "recurrent", "resnet50": "images"},
}  # fmt: skip
VERSIONS = {"tvm": {"apache-tvm": "0.20"}, "iree": {"iree-runtime": "3.11.1", "iree-base": "3.11"}}
LONG = "The tool said: " + "x" * 140
PASSED_AGAIN = {"result": "failed", "expected": {"reason": "a known failure that is gone"}}


def numbered(rows: list[Row]) -> list[Row]:
    """The rows, computed ones with a key that says which row it is."""
    for number, row in enumerate(rows):
        if row["kind"] == "cell":
            row["key"] = f"{number:04d}"
    return rows


def row(status: str, axes: Row, **more: Any) -> Row:
    return {"schema": 1, "kind": "cell", "key": "", "cell": axes, "check": axes["check"], "status": status, **more}


def known(reason: str, link: str = "") -> Row:
    return {"result": "xfailed", "expected": {"reason": reason, "link": link}}


def trip(
    status: str, check: str, model: str, framework: str, exporter: str = "", into: str = "", importer: str = "",
    **more: Any,
) -> Row:  # fmt: skip
    """A row of an export or import; without an exporter it is of a file."""
    axes: Row = {"check": check, "model": model, "framework": framework}
    axes |= {"exporter": exporter, "opset": 17} if exporter else {}
    axes |= {"importer_framework": into, "importer": importer} if importer else {}
    return row(status, axes, **more)


def support() -> list[Row]:
    table = {"bias dropped": {"killed": True, "ratio": 900.0}, "gelu": {"killed": False, "ratio": 0.4},
             "late": {"killed": False, "ratio": 0.012}}  # fmt: skip
    noticed = {"mutants": table, "mutants_applicable": 2, "mutants_missed": ["gelu"]}
    pytorch = ("pytorch", "dynamo")
    return numbered([
        header(titles=TITLES, versions=VERSIONS), plan(9, 20),
        trip("supported", "export", "lstm", *pytorch, numbers={"E": 1e-7, "tolerance_E": 8e-5, "dynamic": "batch"},
             timings={"export": 1.25, "run": 9.0}, peaks={"export": 1_500_000_000, "run": 2_000}, converted=True),
        trip("mismatch", "import", "lstm", *pytorch, "pytorch", "onnx2torch", numbers={"E": 2.1, "tolerance_E": 4e-5},
             timings={"import": 3.75}, peaks={"import": 2_700_000_000}, converted=True, stage="compare",
             symptom="mismatch", reason="out0 is off by 2.1\nsecond line", **known("bug <17>", "docs/findings/x.py")),
        trip("supported", "import", "lstm", *pytorch, "mxnet", "onnx2mx", numbers={"E": 3e-7} | noticed,
             converted=True),
        trip("supported", "export", "lstm", "pytorch", "script", flags=["invalid: bad | attribute", "loose"],
             converted=True, numbers={"mutants": {"alone": {"killed": True, "ratio": 5.0}}}, **PASSED_AGAIN),
        trip("ERROR", "export", "vgg16", *pytorch, stage="export", symptom="crash", reason=LONG),
        trip("unverified", "import", "vgg16", *pytorch, "pytorch", "onnx2torch", unverified="blocked",
             reason="export failed: crash at export", result="skipped"),
        trip("unverified", "export", "resnet50", *pytorch, unverified="not sensitive", reason="not sensitive: see",
             stage="compare", converted=True),
        trip("unsupported", "import", "resnet50", *pytorch, "pytorch", "onnx2torch", stage="import",
             symptom="refused", reason="  \n  no rule for Foo"),
        row("supported", {"check": "export", "model": "lstm", "framework": "mxnet", "exporter": "mx2onnx", "opset": 17,
                          "kept": 50}, numbers={"E": 4.5e-7}, converted=True),
        trip("supported", "export", "resnet50", "mxnet", "mx2onnx", numbers={"training": {"epochs": 3}, "E": 5e-7}),
        trip("ERROR", "import", "vgg16", "onnx", importer="onnx2torch", into="pytorch", stage="build",
             symptom="timeout", reason="too slow"),
        declared({"check": "export", "model": "lstm", "framework": "mxnet"}, "Not provided"),
        declared({"check": "export", "model": "unet", "framework": "keras"}, "Not provided", "not installed"),
    ])  # fmt: skip


def compiled_cell(
    status: str, compiler: str, precision: str = "fp32", model: str = "lstm", *, check: str = "equivalence",
    framework: str = "pytorch", exporter: str = "dynamo", target: str = "local", graph: str = "", **more: Any,
) -> Row:  # fmt: skip
    axes: Row = {"check": check, "model": model, "framework": framework}
    axes |= {"exporter": exporter, "opset": 17} if exporter else {}
    axes |= {"compiler": compiler, "precision": precision, "target": target}
    return row(status, axes | ({"graph": graph} if graph else {}), **more)


def compiled() -> list[Row]:
    def mutants(noticed: int, applicable: int) -> Row:
        table = {f"m{one}": {"killed": one < noticed, "ratio": float(one)} for one in range(applicable)}
        missed = [name for name, said in table.items() if not said["killed"]]
        share = noticed / applicable
        return {"mutants": table, "mutants_applicable": applicable, "mutants_missed": missed, "strength": share}

    artefacts = {
        "model": {"bytes": 1_230_000, "sha256": "a"}, "weights": {"bytes": 2_000_000, "sha256": "b"},
        "calibration": {"bytes": 9_000_000, "sha256": "c"}, "log": {"bytes": 7_000_000}, "note": "none",
    }  # fmt: skip
    placement = {"requested": 0.75, "effective": "int8", "effective_by_error": "int8?", "integer": "partly"}
    placement["integer_share"] = 0.5
    return numbered([
        header(titles=TITLES, versions=VERSIONS), plan(30, 30),
        compiled_cell("supported", "tvm", numbers={"E": 1.5e-7, "tolerance_E": 1e-5, "needed": 0.25, "dynamic": "yes",
                      "deterministic": True} | mutants(9, 10), timings={"compile": 12.34, "run": 1.0},
                      peaks={"compile": 345_000_000, "run": 2_000_000}, artefacts=artefacts, placement=placement),
        compiled_cell("supported", "iree", numbers={"E": 2.5e-7, "needed": 0.5, "deterministic": False}
                      | mutants(6, 10), flags=["weak: 60%", "loose"], peaks={"compile": 3_000_000, "run": 67_000_000},
                      placement={"requested": None, "integer_share": 0.25}),
        compiled_cell("mismatch", "iree", exporter="script", numbers={"E": 0.5, "needed": 7.0, "deterministic": True},
                      stage="compare", symptom="mismatch", reason="off by far\nmore", **known("fused twice")),
        compiled_cell("ERROR", "iree", "fp16", stage="compile", symptom="crash", reason="killed by SIGSEGV",
                      flags=["by approximation: 12 dB"]),
        compiled_cell("unsupported", "tvm", "fp16", stage="compile", symptom="refused", reason="no float16"),
        compiled_cell("supported", "onnxruntime", "bf16", numbers={"approximation": {"sqnr_db": 41.6}, "needed": 0.9},
                      flags=["bf16 only: weights"]),
        compiled_cell("unverified", "onnxruntime", "w8a8", unverified="no reference", reason="no reference: none",
                      numbers=mutants(2, 5), flags=["simulated: all", "something else"]),
        compiled_cell("supported", "onnxruntime", "w8a8", graph="qdq", numbers={"E": 0.0125} | mutants(3, 4)),
        compiled_cell("supported", "onnxruntime[xnnpack]", numbers={"E": 3.5e-7}, **PASSED_AGAIN),
        compiled_cell("unverified", "tvm", model="vgg16", unverified="blocked", reason="export failed", exporter="b"),
        compiled_cell("unverified", "tvm", model="vgg16", unverified="no reference", exporter="a"),
        compiled_cell("unverified", "iree", model="vgg16", unverified="ill-conditioned", exporter="a"),
        compiled_cell("supported", "iree", model="resnet50", exporter="", numbers={"E": 4.5e-7}),
        compiled_cell("supported", "tvm", model="mine", framework="onnx", exporter="", numbers={"E": 5.5e-7}),
        compiled_cell("supported", "tvm", model="resnet50", numbers={"training": {"epochs": 2}}),
        compiled_cell("unverified", "iree", target="arm64", unverified="not run", converted=True,
                      timings={"compile": 5.0}),
        compiled_cell("ERROR", "iree", model="vgg16", target="arm64", stage="compile", symptom="exception",
                      reason="no linker"),
        compiled_cell("ERROR", "tvm", target="arm64", stage="compile", symptom="exception",
                      reason="no cross\ncompiler"),
        compiled_cell("supported", "onnxruntime", target="pi4", numbers={"E": 6.5e-7, "tolerance_E": 1e-5},
                      converted=True, placement={"board": {"name": "pi4", "kind": "ssh"}}),
        compiled_cell("supported", "tvm", target="pi4", exporter="a", numbers={"E": 7.5e-7}, converted=True),
        compiled_cell("mismatch", "tvm", target="pi4", exporter="b", numbers={"E": 0.25}, stage="compare",
                      symptom="mismatch", reason="off on this board alone", converted=True),
        compiled_cell("mismatch", "tvm", model="mine", framework="onnx", exporter="", target="pi4", converted=True,
                      stage="compare", symptom="mismatch", reason="off on pi-b",
                      numbers={"boards": {"pi-a": {"status": "supported", "E": 9.5e-7},
                                          "pi-b": {"status": "mismatch", "reason": "off by 7", "E": 0.125},
                                          "pi-c": {"status": "unverified", "unverified": "not run"}}}),
        compiled_cell("supported", "tvm", model="resnet50", target="cortex-m3", converted=True,
                      numbers={"E": 8.5e-7, "timing": {"instructions": {"median": 1_234_567}}},
                      artefacts={"memory": {"flash_bytes": 123_456, "ram_bytes": 7_890, "stack_bytes": 512}},
                      placement={"board": {"name": "unicorn-m3", "kind": "uart"}, "timing": "emulated"}),
        compiled_cell("unsupported", "tvm", model="vgg16", target="cortex-m3", stage="compile", symptom="unsupported",
                      reason="needs 1.2 MB flash, board has 512 kB"),
        compiled_cell("supported", "onnxruntime", "w8a8", model="resnet50", check="quality", graph="qdq",
                      numbers={"accuracy": 0.975, "drop": {"top1": 0.0125}}),
        compiled_cell("supported", "tvm", "w8a8", model="resnet50", check="quality", graph="qdq",
                      numbers={"accuracy": 0.5, "drop": {"top1": -0.25}}, **PASSED_AGAIN),
        compiled_cell("mismatch", "tvm", model="vgg16", check="quality", numbers={"accuracy": 0.125, "drop": None},
                      stage="compare", symptom="mismatch", reason="it lost too much"),
        compiled_cell("ERROR", "iree", model="vgg16", check="quality", numbers={"accuracy": None}),
        declared({"check": "equivalence", "model": "lstm", "framework": "mxnet", "exporter": "mx2onnx", "opset": 17,
                  "compiler": "ncnn", "precision": "fp32", "target": "local"}, "Not provided"),
    ])  # fmt: skip


def case(status: str, compiler: str, name: str, operators: list[str] | None, opset: int = 14, **more: Any) -> Row:
    axes = {"check": "operator", "model": name, "framework": "onnx", "compiler": compiler}
    numbers = more.pop("numbers", {}) | {"operators": operators, "opset": opset}
    return row(status, axes, numbers=numbers, **more)


def operators() -> list[Row]:
    failed = {"stage": "compile", "symptom": "exception"}
    return numbered([
        header(titles=TITLES, versions=VERSIONS), plan(21, 21),
        case("supported", "iree", "test_relu", ["Relu"], numbers={"stock": "pass", "deterministic": True}),
        case("ERROR", "iree", "test_relu_big", ["Relu"], 6, reason="no Relu at 0x7f", **failed),
        case("ERROR", "iree", "test_relu_small", ["Relu"], 21, reason="no Relu at 0x80", **failed),
        case("ERROR", "iree", "test_relu_other", ["Relu"], 14, reason="no float8", **failed),
        case("unsupported", "iree", "test_cos", ["Cos"], 7, reason="raw", **failed,
             **known("Cos is <not> lowered", "docs/findings/cos.py")),
        case("unsupported", "iree", "test_cosh", ["Cosh"], 9, reason="raw", **failed,
             **known("Cos is <not> lowered", "docs/findings/cos.py")),
        case("mismatch", "iree", "test_sin", ["Sin"], stage="compare", symptom="mismatch", reason="off\nby 3",
             numbers={"stock": "pass", "deterministic": False}, **known("not analysed")),
        case("version skew", "iree", "test_new", ["Sin"], 28, reason="opset 28",
             numbers={"converted": {"status": "supported"}}),
        case("version skew", "iree", "test_newer", ["Sin"], 29, reason="opset 29",
             numbers={"converted": {"status": "ERROR"}}),
        case("outside our bound", "iree", "test_mean", ["ReduceMean"], stage="compare", reason="1.2 of the bound",
             numbers={"stock": "pass"}),
        case("unverified", "iree", "test_text", ["StringConcat"], unverified="harness", reason="harness: strings"),
        case("supported", "onnxruntime", "test_relu", ["Relu"], numbers={"stock": "pass", "deterministic": True}),
        case("supported", "onnxruntime", "test_relu_big", ["Relu"], 6, numbers={"deterministic": True}),
        case("supported", "onnxruntime", "test_cos", ["Cos"], 7, **PASSED_AGAIN),
        case("supported", "onnxruntime", "test_loop", ["Loop", "Relu", "Add"], 11, numbers={"category": "node"}),
        case("ERROR", "onnxruntime", "test_net", ["Conv", "Relu"], 12, numbers={"category": "light"}, **failed),
        case("supported", "onnxruntime", "test_none", None, 0, numbers={"category": "simple"}),
        case("supported", "onnxruntime", "test_odd", [], 3, numbers={"category": "else"}),
        case("unverified", "reference", "test_text", ["StringConcat"], unverified="harness"),
        case("supported", "a-tool", "test_pt", ["Add", "Mul"], 5, numbers={"category": "pytorch-operator"}),
    ])  # fmt: skip


def graphs(status: str, compiler: str, operator: str, **more: Any) -> Row:
    return row(status, {"check": "property", "model": operator, "framework": "onnx", "compiler": compiler}, **more)


def properties() -> list[Row]:
    tanh = {"stage": "compare", "symptom": "mismatch", "operators": ["Tanh", "Add"], "message": "out of # ULP"}
    nan = tanh | {"operators": ["Sin"], "message": "NaN", "stage": "run"}
    return numbered([
        header(titles=TITLES, versions=VERSIONS), plan(7, 8),
        graphs("supported", "tvm", "Relu", numbers={"tried": 11, "agreed": 11}, flags=["out of time"]),
        graphs("supported", "tvm", "Tanh", numbers={"tried": 7, "agreed": 3, "refused": 1, "known": 2, "silent": 1,
               "first": {"refused": "of a scalar"}, "seen": [tanh | {"row": "tvm.toml row 2"}]}),
        graphs("mismatch", "tvm", "Sin", stage="compare",
               numbers={"tried": 5, "agreed": 3, "found": [nan, tanh | {"reproduced": False}]},
               symptom="mismatch", reason="Sin gives NaN"),
        graphs("ERROR", "iree", "Relu", numbers={"tried": 0}, stage="compile", symptom="timeout",
               flags=["out of time"], **known("slow")),
        graphs("supported", "iree", "Tanh", numbers={"tried": 2, "seen": [tanh | {"row": "iree.toml row 1"}]},
               **PASSED_AGAIN),
        graphs("unverified", "iree", "graphs", numbers={"tried": 3}, reason="harness: none", unverified="harness"),
    ])  # fmt: skip


def timed(
    median: float, *, launches: int = 5, system: float | None = None, busy: float | None = 0.02
) -> dict[str, Any]:
    """The times of a row."""
    over = {"kind": "over launches"} if launches > 1 else {"kind": "within-run"}
    return {
        "compute": {"median": median, "samples": 300 * launches}, "launches": launches, "first_inference": 40 * median,
        "interval": {"low": median * 0.99, "high": median * 1.02, "half_width": 0.015, **over},
        "percentiles": {"p50": median} | ({"p90": 1.1 * median, "p99": 1.5 * median} if launches > 1 else {}),
        "throughput": {"per_second": 0.9 / median, "kind": "closed loop", "clients": 1},
        **({} if system is None else {"system": {"median": system}}),
        "error_budget": {
            "clock_cost": 4.5e-8, "clock_share": 4.5e-8 / median, "drift": -0.012, "half_width": 0.015,
            "spread_over_launches": 0.008 if launches > 1 else None, "bare_loop_ratio": 1.001 if launches > 1 else None,
        },
        "conditions": {"load_before": {"busy": busy}},
        "caps": [] if launches > 1 else ["1 launches in 41 s, fewer than 5: a cell has a last cap of 40 s"],
    }  # fmt: skip


def times() -> list[Row]:
    def cell(status: str, compiler: str, model: str = "lstm", **more: Any) -> Row:
        axes = {"check": "timing", "model": model, "framework": "pytorch", "exporter": "dynamo", "compiler": compiler,
                "precision": "fp32", "target": "local"}  # fmt: skip
        timing = more.pop("timing", None)
        return row(status, axes | more.pop("axes", {}), numbers={"timing": timing}, **more)

    emulated = {"launches": 1, "instructions": {"median": 1234567.0}}
    none = "toolchain tvm is not made; bench env sync tvm, or --compilers tvm, adds it"
    return numbered([
        header(titles=TITLES, versions=VERSIONS), plan(6, 7),
        cell("supported", "onnxruntime", timing=timed(0.0021, system=0.0034)),
        cell("supported", "iree", timing=timed(4.2e-6, launches=1), axes={"exporter": ""}),
        cell("mismatch", "ncnn", timing=timed(1.9e-6), stage="compare", symptom="mismatch", reason="E 0.5"),
        cell("ERROR", "onnxruntime", stage="run", symptom="crash", reason="it is gone", axes={"precision": "w8a8",
             "graph": "qdq"}),
        cell("supported", "iree", timing=emulated, axes={"target": "riscv"}),
        cell("supported", "onnxruntime", "vgg16", timing=timed(1.5, busy=None)),
        declared({"check": "timing", "model": "lstm", "framework": "pytorch", "compiler": "tvm",
                  "precision": "fp32"}, "Not provided", none),
    ])  # fmt: skip


def others() -> list[Row]:
    axes = {"check": "energy", "model": "lstm", "framework": "pytorch", "target": "local", "exporter": ""}
    return numbered([
        header(titles=TITLES, versions={}, commit=None, python="", machine={"cpus": 2}, run=""), plan(3, 3),
        row("supported", axes, numbers={"E": 0.5, "tolerance_E": 0.75}, converted=True),
        row("ERROR", axes | {"model": "vgg16", "target": "board"}, stage="run", symptom="crash",
            reason="a * b_c | <d>\nmore"),
        row("supported", axes | {"model": "resnet50"}, **PASSED_AGAIN),
    ])  # fmt: skip


def layers() -> list[Row]:
    return numbered(levels(TITLES, VERSIONS))


def sweep() -> list[Row]:
    return numbered(swept(TITLES, VERSIONS))


SCENES = {
    "onnx-support": support, "equivalence": compiled, "onnx-operators": operators, "onnx-properties": properties,
    "timing": times, "timing-sweep": sweep, "layers": layers, "other-checks": others,
}  # fmt: skip
