"""Results files of any size with rows like real ones, the same at every call: what benchmarks/report.py measures with.

    python benchmarks/report_rows.py FOLDER [--cells 10000]

Writes FOLDER/results.jsonl and the run before it, FOLDER/history/<run id>.jsonl, in which 40 cells were better. The
shares of checks and statuses, the lengths of texts and the digits of numbers are those of runs of this project.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench_plugin.results.numbers import complete

Row = dict[str, Any]
MODELS = [f"{name}_{size}" for name in ("resnet", "mobilenet", "vit", "bert", "lstm", "unet", "yolo", "gpt")
          for size in ("s", "m", "l", "xl")]  # fmt: skip
COMPILERS = (
    "emx", "executorch", "inductor", "iree", "mnn", "native", "ncnn", "onnxruntime", "openvino", "tflite", "tvm", "xla",
)  # fmt: skip
PRECISIONS = ("fp32", "fp16", "bf16", "w16", "w8a8", "w8")
EXPORTERS = {"pytorch": ("torchscript", "dynamo"), "tensorflow": ("tf2onnx",)}
OPERATORS = ("add", "conv", "matmul", "resize", "softmax", "lstm", "reduce_mean", "gather", "cast", "topk", "einsum")
# share of the cells of each check
CHECKS = {"operator": 0.4, "equivalence": 0.38, "quality": 0.1, "timing": 0.1, "export": 0.02}
STATUSES = (("supported", 0.84), ("unsupported", 0.06), ("mismatch", 0.03), ("ERROR", 0.03), ("unverified", 0.04))
FAILURES = {
    "unsupported": ("compile", "unsupported", "{tool}: operator {op} (opset {n}) with inputs of type {t} is refused"),
    "mismatch": ("compare", "mismatch", "out0: E {e:.2e} > {b:.2e} (noise {c:.1e}, max abs {a:.2e})"),
    "ERROR": ("compile", "exception", "RuntimeError: {tool}: lowering of {op}_{n} failed: expected rank {r}, got {s}"),
    "unverified": ("export", None, "the export failed: {op}_{n} has no symbolic function"),
}  # fmt: skip
MUTANTS = ("mean output", "rows permuted", "bias dropped", "bias in float16", "channel zeroed", "channels swapped",
           "classes swapped", "weights x 1.01", "last layer in float16")  # fmt: skip
BROKEN = 40
HEADER = {
    "schema": 1, "kind": "header", "machine": {"architecture": "x86_64", "cpu": "Some Processor", "cpus": 2},
    "host": {"digest": "6bf1f39e4803"}, "command": ["pytest", "suites"], "seeds": {"weights": 0},
    "titles": {"frameworks": {}, "compilers": {}, "models": {}}, "bench_plugin": "0.1.0", "python": "3.11.7",
}  # fmt: skip


def write(folder: Path, cells: int) -> Path:
    """Write the results file and the run before it; returns the path of the first."""
    rows = list(made(cells))
    now, before = folder / "results.jsonl", folder / "history" / "20261120-020000-aaaaaa.jsonl"
    before.parent.mkdir(parents=True, exist_ok=True)
    _write(now, _head("20261121-020000-bbbbbb", "0.27.0", cells), rows)
    failed = [number for number, row in enumerate(rows) if row["status"] in ("mismatch", "ERROR")][:BROKEN]
    for number in failed:
        rows[number] = {**rows[number], "status": "supported", "result": "passed", "stage": None, "symptom": None,
                        "reason": "", "detail": ""}  # fmt: skip
    _write(before, _head("20261120-020000-aaaaaa", "0.26.0", cells), rows)
    return now


def made(cells: int) -> Iterator[Row]:
    """Rows of computed cells: each combination of axes once, in the order of the checks."""
    dice = random.Random(0)
    counts = {check: int(share * cells) for check, share in CHECKS.items()}
    counts["operator"] += cells - sum(counts.values())
    for check, count in counts.items():
        for number in range(count):
            yield _row(dice, check, _axes(check, number))


def _axes(check: str, number: int) -> Row:
    compiler, rest = COMPILERS[number % len(COMPILERS)], number // len(COMPILERS)
    if check == "operator":
        case = f"test_{OPERATORS[rest % len(OPERATORS)]}_{rest // len(OPERATORS)}"
        return {"check": check, "model": case, "framework": "onnx", "compiler": compiler, "precision": "fp32",
                "target": "local"}  # fmt: skip
    if check == "export":
        framework, rest = ("pytorch", "tensorflow")[number % 2], number // 2
        return {"check": check, "model": MODELS[rest % len(MODELS)], "framework": framework,
                "exporter": EXPORTERS[framework][0], "opset": 8 + rest // len(MODELS)}  # fmt: skip
    model, rest = MODELS[rest % len(MODELS)], rest // len(MODELS)
    precision, rest = PRECISIONS[rest % len(PRECISIONS)], rest // len(PRECISIONS)
    framework = ("pytorch", "tensorflow")[rest % 2]
    return {"check": check, "model": model, "framework": framework, "exporter": EXPORTERS[framework][0],
            "opset": 17 + rest // 2, "compiler": compiler, "precision": precision, "target": "local"}  # fmt: skip


def _row(dice: random.Random, check: str, axes: Row) -> Row:
    status = dice.choices([name for name, _ in STATUSES], [share for _, share in STATUSES])[0]
    stage, symptom, reason = FAILURES.get(status, (None, None, ""))
    words = {
        "tool": axes.get("compiler", ""), "op": dice.choice(OPERATORS), "n": dice.randrange(8, 23),
        "t": dice.choice(("float16", "int64", "bool")), "r": dice.randrange(1, 5), "s": dice.randrange(0, 4),
        **{name: dice.lognormvariate(-6, 2) for name in "eabc"},
    }  # fmt: skip
    known = status not in ("supported", "unverified") and dice.random() < 0.9
    text = "-".join(str(value) for value in axes.values())
    repro = [f"suites/{check}/test_{check}.py::test_{check}[{text}]", f"--bench-models={axes['model']}"]
    return {
        "schema": 1, "kind": "cell", "run": "20261121-020000-bbbbbb",
        "key": hashlib.sha256(text.encode()).hexdigest()[:12], "cell": axes, "check": check, "status": status,
        "result": "xfailed" if known else {"supported": "passed", "unverified": "skipped"}.get(status, "failed"),
        "stage": stage, "symptom": symptom, "unverified": "blocked" if status == "unverified" else None,
        "expected": {"reason": f"{words['tool']} has no kernel", "link": "docs/findings/x.py"} if known else None,
        "reason": reason.format(**words), "detail": _traceback(dice, words) if status == "ERROR" else "",
        "converted": status in ("supported", "mismatch"), "verified": status == "supported",
        "numbers": complete(check, _numbers(dice, check, axes.get("precision", "fp32"))),
        "timings": {name: round(dice.lognormvariate(-1, 1), 6) for name in ("build", "export", "compile", "run")},
        "peaks": {name: dice.randrange(5 * 10**7, 4 * 10**8) for name in ("build", "export", "compile", "run")},
        "versions": {"torch": "2.13.0+cpu", "onnx": "1.23.2", f"{words['tool']}-runtime": "1.31.1"},
        "artefacts": {"model.onnx": {"bytes": dice.randrange(10**4, 10**8), "sha256": _digest(dice)}},
        "stages_cached": ["export", "compile"], "flags": [], "retry": {}, "reusable": True, "log": "",
        "placement": {"effective": "fp32", "threads": 2, "switches": {"level": "99", "fast": "0"}},
        "settings": {"seed": 0, "threads": 0, "calibration": "minmax", "search": "quick", "options": {}},
        "host": "6bf1f39e4803", "repro": repro, "nodeid": repro[0],
    }  # fmt: skip


def _numbers(dice: random.Random, check: str, precision: str) -> Row:
    if check == "operator":
        return {"category": "node", "opset": 17, "ir": 8, "rule": "elementwise", "strict": "pass", "stock": "pass",
                "needed": dice.random(), "truth": "file in float64", "operators": [dice.choice(OPERATORS)]}  # fmt: skip
    if check == "quality":
        correct = dice.uniform(0.7, 0.99)
        return {"inputs": 360, "accuracy": correct, "reference_accuracy": correct + 0.002, "top5": 1.0,
                "precision": [dice.random() for _ in range(10)], "sensitivity": [dice.random() for _ in range(10)],
                "confusion": [[dice.randrange(40) for _ in range(10)] for _ in range(10)],
                "drop": {"top1": 0.002, "lower": -0.001, "upper": dice.random()}}  # fmt: skip
    size = {"fp32": 1e-6, "fp16": 1e-3, "bf16": 1e-2}.get(precision, 1e-2)
    outputs = [_output(dice, size, f"out{number}") for number in range(dice.choice((1, 1, 2)))]
    found: Row = {**{key: value for key, value in outputs[0].items() if key not in ("name", "status")},
                  "outputs": outputs, "truth": "file in float64", "end_to_end_E": dice.random() * size}  # fmt: skip
    if precision == "fp32":
        found["mutants"] = {name: {"kind": "layer", "killed": True, "ratio": dice.lognormvariate(5, 3),
                                   "noticeable": True} for name in MUTANTS}  # fmt: skip
    if precision.startswith("w8"):
        found["per_layer"] = [{"name": f"/{n}/Conv_output_0", "within": 1.0, "largest_steps": dice.random() / 2}
                              for n in range(12)]  # fmt: skip
    return found | (_timing(dice) if check == "timing" else {})


def _output(dice: random.Random, size: float, name: str) -> Row:
    names = ("E", "M", "tolerance_E", "tolerance_M", "noise_E", "noise_M", "max_abs", "max_rel", "needed")
    return {"name": name, "status": "agree", **{key: dice.lognormvariate(0, 1) * size for key in names},
            "cosine": 1 - dice.random() * 1e-12, "elements": 1000, "nan": 0, "inf": 0}  # fmt: skip


def _timing(dice: random.Random) -> Row:
    median = dice.lognormvariate(-6, 1.2)
    around = [median * dice.gauss(1, 0.02) for _ in range(24)]
    series = {
        name: {"unit": unit, "source": "/proc", "place": "process tree", "hz": 5.0, "samples": 45,
               **{key: dice.lognormvariate(4, 1) for key in ("mean", "median", "min", "max", "sd")},
               "file": f"series/{_digest(dice)}.npy", "times": f"series/{_digest(dice)}.npy"}
        for name, unit in (("cpu", "%"), ("cpu.core0", "%"), ("cpu.core1", "%"), ("memory.rss", "B"),
                           ("clock.core0", "Hz"), ("clock.core1", "Hz"))
    }  # fmt: skip
    return {
        "series": series, "deterministic": True,
        "timing": {
            "launches": 5, "seed": 0, "inputs": 64,
            "compute": {"median": median, "mean": around[0], "min": around[1], "max": around[2], "mad": around[3],
                        "samples": 50000, "launch_medians": around[4:9], "inner": 69, "settled": True},
            "interval": {"centre": around[9], "low": around[10], "high": around[11], "half_width": 0.02},
            "percentiles": {"p50": around[12], "p90": around[13], "p99": around[14]}, "first_inference": around[15],
            "throughput": {"per_second": 1 / around[16], "kind": "closed loop", "clients": 1},
            "system": {"median": around[17], "mean": around[18], "min": around[19], "max": around[20], "samples": 1000},
        },
    }  # fmt: skip


def _traceback(dice: random.Random, words: Row) -> str:
    lines = ["Traceback (most recent call last):"]
    for _ in range(dice.randrange(6, 20)):
        lines += [f'  File "/tools/{words["tool"]}/passes/{dice.choice(OPERATORS)}.py", line {dice.randrange(2000)}',
                  f"    lowered = self.lower(node, {dice.randrange(10**6)})"]  # fmt: skip
    return "\n".join(lines)


def _digest(dice: random.Random) -> str:
    return f"{dice.getrandbits(256):064x}"


def _head(run: str, version: str, cells: int) -> list[Row]:
    started = f"{run[:4]}-{run[4:6]}-{run[6:8]}T02:00:00Z"
    header = {**HEADER, "run": run, "started": started, "commit": run[-6:],
              "versions": {"tvm": {"apache-tvm": version}, "pytorch": {"torch": "2.13.0+cpu"}}}  # fmt: skip
    return [header, {"schema": 1, "kind": "plan", "count": cells, "total": cells, "hash": "b7a8b4b420fda09b",
                     "selection": {"profile": "full"}}]  # fmt: skip


def _write(path: Path, head: list[Row], rows: list[Row]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in (*head, *rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cells", type=int, default=10_000)
    arguments = parser.parse_args()
    print(write(arguments.folder, arguments.cells))
