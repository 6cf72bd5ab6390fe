"""The folder of a reduction: the model, one sample, the expected outputs, and a script that shows the defect."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from bench_plugin.diagnosis.part_verdict import VALUES, OutputVerdict
from bench_plugin.diagnosis.parts import CannotSay, Ran
from bench_plugin.diagnosis.reduce import Defect, Reduction
from bench_plugin.diagnosis.scripts import Needs, has_template, packages, script
from bench_plugin.diagnosis.trials import Trials
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.outcome import Symptom
from bench_plugin.reach.environments.toolchain_file import normal


class Allowed(NamedTuple):
    """The permitted error of an output, in its unit: of one element, and its root mean square; None: no limit."""

    largest: float | None
    rms: float | None


def write(trials: Trials, cell: Cell, found: Reduction, folder: Path) -> list[str]:
    """Write ``model.onnx``, ``inputs.npz``, ``expected.npz`` and ``repro.py``; returns notes on the script."""
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(found.part.path, folder / "model.onnx")
    sample, limits, expected = _sample(trials, found)
    np.savez(folder / "inputs.npz", **{f"in{index}": values for index, values in enumerate(sample.values())})
    np.savez(folder / "expected.npz", **{f"out{index}": values for index, values in enumerate(expected)})
    (folder / "reduction.json").write_text(json.dumps(described(trials, cell, found), indent=1) + "\n", "utf-8")
    if not has_template(trials.tool):
        return [f"no repro.py: there is no template for {trials.tool}"]
    (folder / "repro.py").write_text(_script(trials, cell, found, list(sample), limits, expected), "utf-8")
    return _tried(trials, folder, found)


def _script(
    trials: Trials, cell: Cell, found: Reduction, inputs: list[str], limits: Sequence[Allowed], expected: Sequence[Any]
) -> str:
    """The text of ``repro.py``."""
    part, defect = found.part, found.defect
    shapes = [list(values.shape) for values in expected] or [list(row["shape"]) for row in part.outputs]
    allowed = list(limits) or [Allowed(None, None)] * len(part.outputs)
    outputs = {
        str(row["name"]): {"dtype": str(row["dtype"]), "shape": shape, "largest": limit.largest, "rms": limit.rms}
        for row, shape, limit in zip(part.outputs, shapes, allowed, strict=True)
    }
    toolchain = trials.environment
    versions = {name: toolchain.locked_versions[normal(name)] for name in packages(trials.tool)}
    kinds = f"{found.nodes} of {found.of} nodes" if found.nodes > 1 else f"one node of {found.of}"
    operators = ", ".join(part.described["operators"])
    return script(
        trials.tool, _as_seen(defect),
        title=f"{trials.tool}: {defect.symptom} at {defect.stage} with {operators}",
        said=f"{defect.text}\nReduced from {cell.id}: {kinds}.", graph=part.described["text"],
        needs=Needs(toolchain.interpreter, versions, toolchain.overrides),
        facts={
            "TOOL": trials.tool, "SAYS": _says(defect), "HOW": trials.options(), "INPUTS": inputs, "OUTPUTS": outputs,
            "SECONDS": int(trials.seconds),
        },
        short=found.nodes == 1,
    )  # fmt: skip


def described(trials: Trials, cell: Cell, found: Reduction) -> dict[str, Any]:
    """The content of ``reduction.json``: plain data on the defect, its nodes and the search."""
    defect = found.defect
    return {
        "cell": cell.axes(), "defect": defect.text, "detail": defect.failure.detail if defect.failure else "",
        "nodes": found.nodes, "of": found.of, "operators": found.part.described["operators"],
        "versions": trials.versions(), "trials": found.trials, "seconds": round(found.seconds, 1),
        "notes": found.notes,
    }  # fmt: skip


def _as_seen(defect: Defect) -> Symptom:
    """The symptom that the script shows, where every refusal of a tool is an exception."""
    plain = (Symptom.CRASH, Symptom.TIMEOUT, Symptom.MISMATCH)
    return defect.symptom if defect.symptom in plain else Symptom.EXCEPTION


def _limits(verdict: OutputVerdict | None) -> Allowed:
    """The permitted error of an output; there is no limit for one that was right."""
    if verdict is None:
        return Allowed(None, None)
    return Allowed(verdict.limit if isfinite(verdict.limit) else 0.0, verdict.rms if isfinite(verdict.rms) else 0.0)


def _says(defect: Defect) -> str:
    """The longest run of plain words in an exception's message, by which a script recognises the same exception."""
    if defect.failure is None or _as_seen(defect) is not Symptom.EXCEPTION:
        return ""
    chunks = re.split(r"['\"`\\]|\S*[\d/]\S*|\n", defect.failure.message)
    longest = max((chunk.strip() for chunk in chunks), key=len, default="")
    kind = defect.failure.types[0].rpartition(".")[2] if defect.failure.types else ""
    return longest if len(longest) > 3 else kind


def _sample(trials: Trials, found: Reduction) -> tuple[dict[str, Any], list[Allowed], list[Any]]:
    """The sample [1, ...] that shows the defect best, the errors permitted, and the expected outputs."""
    import numpy as np

    part = found.part
    arrays = {name.partition(":")[2]: values for name, values in part.arrays.items()}
    try:
        truth = trials.truth(part)
    except CannotSay as error:  # a crash needs no numbers
        found.notes.append(f"no expected outputs: {error}")
        return {name: values[0] for name, values in arrays.items()}, [], []
    count = len(next(iter(truth.values())))
    verdicts = {one.name: one for one in found.defect.wrong}
    worst = 0
    limits: list[Allowed] = []
    ran = trials.run(part) if found.defect.wrong else Ran(None)
    for index, (name, want) in enumerate(truth.items()):
        verdict = verdicts.get(name)
        limits.append(_limits(verdict))
        if verdict and verdict.wrong == VALUES and index < len(ran.outputs) and want.dtype.kind == "f":
            errors = np.abs(ran.outputs[index].astype(np.float64) - want).reshape(count, -1).max(axis=1)
            worst = int(errors.argmax())
    expected = [values[worst] for values in truth.values()]
    return {name: values[worst] for name, values in arrays.items()}, limits, expected


def _tried(trials: Trials, folder: Path, found: Reduction) -> list[str]:
    """Run the script once in the tool's environment and return notes on what it printed."""
    command = [str(trials.python()), "-I", "repro.py"]
    allowed = 2 * trials.seconds + 60
    try:
        done = subprocess.run(
            command, cwd=folder, timeout=allowed, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [f"repro.py: no end after {allowed:.0f} s"]
    text = done.stdout.decode("utf-8", "replace")
    (folder / "repro.txt").write_text(text, "utf-8")
    if done.returncode == 1 and f"happened: {_as_seen(found.defect)}" in text.splitlines():
        return ["repro.py shows it with the tool alone (its words are in repro.txt)"]
    return [f"repro.py ends with {done.returncode}, not 1: with the tool alone it does not show; see repro.txt"]
