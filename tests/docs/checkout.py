"""A copy of the checkout to run the documents' commands in: what they write stays out of the real one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.docs.fences import ROOT
from tests.project import kept_environment

COPIED = ("bench_plugin", "suites", "fixtures", "boards", "benchmarks", "docs", "conftest.py", "pyproject.toml")
# A case that onnxruntime is known to compute wrongly: every command about a failing cell has something to say of it.
FAILING = "test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal"
KEY = re.compile(r"^[0-9a-f]{12}$")  # of a row: documents show one of their own
RUN = re.compile(r"^\d{8}-\d{6}-[0-9a-f]{6}$")  # the id of a run, likewise
MODEL = """
import numpy as np
import onnx
from onnx import helper, numpy_helper

weights = numpy_helper.from_array(np.random.default_rng(0).standard_normal((8, 4)).astype("float32"), "w")
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])], "mine",
    [helper.make_tensor_value_info("x", 1, ["n", 8])], [helper.make_tensor_value_info("y", 1, ["n", 4])], [weights],
)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "my.onnx")
np.savez("my.npz", x=np.random.default_rng(1).standard_normal((16, 8)).astype("float32"))
"""
PROGRAMS = {"pytest": ("-m", "pytest", "-p", "no:cacheprovider"), "bench": ("-m", "bench_plugin.cli.main")}


def interpreted(words: Sequence[str], python: Path, shown: Mapping[re.Pattern[str], str] = {}) -> list[str]:
    """A document's command as a process: ours by this interpreter, scripts by ``python``, that of a toolchain.

    ``shown`` says what replaces a key or a run id that the document shows.
    """
    if words[0] == "python":
        return [str(python), *words[1:]]
    if words[0] not in PROGRAMS:
        raise ValueError(f"{words[0]!r} is neither of {', '.join(PROGRAMS)}")
    real = (next((text for kind, text in shown.items() if kind.match(word)), word) for word in words[1:])
    return [sys.executable, *PROGRAMS[words[0]], *real]


@dataclass(frozen=True)
class Checkout:
    """The copy's folder, after one run of a cell that fails; ``shown`` has that cell's key and that run's id."""

    folder: Path
    python: Path
    shown: Mapping[re.Pattern[str], str] = field(default_factory=dict)

    def run(self, words: Sequence[str], *, seconds: float = 300) -> subprocess.CompletedProcess[str]:
        """Run a command line of a document at the root of the copy."""
        return subprocess.run(
            interpreted(words, self.python, self.shown), cwd=self.folder, env=kept_environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
        )  # fmt: skip


def make_checkout(folder: Path, python: Path) -> Checkout:
    """Copy the checkout, write an ONNX file of a user's own, and run one failing cell."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    subprocess.run([str(python), "-c", MODEL], cwd=folder, check=True)
    (folder / "reports").mkdir()
    made = Checkout(folder, python)
    done = made.run(["pytest", "suites/operators", "--bench-cases", FAILING])
    rows = [json.loads(line) for line in (folder / "reports/results.jsonl").read_text().splitlines()]
    keys = [row["key"] for row in rows if row["kind"] == "cell"]
    assert (done.returncode, len(keys)) == (0, 1), done.stdout
    return replace(made, shown={KEY: keys[0], RUN: rows[0]["run"]})
